//! A directory: the filesystem that it lies on, and what some of its files look like from below.

use straddle_stack::LayerId;

use super::Root;
use super::answer::Question;
use super::host::Host;
use super::words::{device_number, word};
use crate::part::of;
use crate::place::Place;
use crate::{Settings, SourceError};

/// See [`super::super::place`].
pub(super) fn place(
    root: &Root,
    path: &str,
    files: &[String],
    settings: &Settings,
) -> Result<Place, SourceError> {
    let failed = |detail: String| SourceError::File {
        path: path.to_owned(),
        detail,
    };
    let stat = root
        .answer(&Question::Stat(path.to_owned()))
        .map_err(|error| failed(error.why().to_owned()))?;
    let mut host = Host::read(root, &settings.overrides)?;
    host.build_all();
    let real = stat.split_once(" path=").map_or(path, |(_, real)| real);
    let device = word(&stat, "dev").and_then(device_number);
    let holder = device.and_then(|device| host.filesystem_of(device, real));
    let Some(holder) = holder else {
        let kind = host
            .format_of(real)
            .map_or_else(String::new, |kind| format!(" ({kind})"));
        return Err(failed(format!(
            "it lies on no block device that is known here{kind}: a memory, network or layered filesystem has no disk below it to check; \
             name the directory or device that it rests on"
        )));
    };
    let ids: Vec<LayerId> = files.iter().map(|file| host.file_layer(file)).collect();
    let whole = host.into_stack();
    let mut wanted = whole.foundations(holder.layer);
    wanted.push(holder.layer);
    wanted.sort_unstable();
    let mut stack = of(&whole, &wanted);
    stack.survey(&settings.io);
    Ok(Place {
        stack,
        with_files: whole,
        files: ids,
    })
}
