//! Where the journal of a move is, and whether that is a place for it.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
#[cfg(target_os = "linux")]
use anyhow::bail;
#[cfg(target_os = "linux")]
use straddle::geometry::Bytes;
#[cfg(target_os = "linux")]
use straddle::io::linux::{available, is_in_memory};

use super::consent::is_device;
use crate::args::realign::Realign;

const ENDING: &str = ".realign-journal";

/// The file that is meant: the one that was named, one beside an image, one for a device in the user's directory for state.
pub(super) fn place(args: &Realign) -> anyhow::Result<PathBuf> {
    if let Some(named) = &args.journal {
        return Ok(named.clone());
    }
    let name = args.target.file_name().unwrap_or_default();
    let mut file = name.to_owned();
    file.push(ENDING);
    if !is_device(&args.target) {
        return Ok(args.target.with_file_name(file));
    }
    let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".local/state"));
    let state = state.filter(|state| state.is_absolute()).or_else(home);
    let state =
        state.context("there is no home directory for the journal: name a file with --journal")?;
    Ok(state.join("straddle").join(file))
}

#[cfg(target_os = "linux")]
/// Refuses a place that does not outlive a loss of power, or has no room.
pub(super) fn check(path: &Path, target: &Path, len: Bytes) -> anyhow::Result<()> {
    let shown = path.display();
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    if !folder.exists() {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make {}", folder.display()))?;
    }
    if path.exists() {
        bail!(
            "{shown} exists: if it is the journal of a move of {target} that was stopped, go on with --resume or undo it with --rollback; else \
             name another with --journal",
            target = target.display()
        );
    }
    // An image in memory is lost with its journal; everything else outlives it.
    let is_image_too = !is_device(target) && is_in_memory(target).unwrap_or(false);
    if is_in_memory(folder).unwrap_or(false) && !is_image_too {
        bail!(
            "{shown} would be in memory, and be lost with the power; name a file on a disk with --journal, not on the device that is moved"
        );
    }
    let room = available(folder).with_context(|| format!("cannot look at {}", folder.display()))?;
    if room < len {
        bail!(
            "{shown} needs {}, and {} are free there; name another place with --journal",
            len.rounded(),
            room.rounded()
        );
    }
    Ok(())
}
