//! Which files an image may lead to.
//!
//! A header can name any file, and who checks an image of somebody else's as root would read it for him. So an image leads to
//! the files of its own folder, to those that were named beside it, and to those that its owner can read without anybody's
//! help: then the report tells him nothing that he could not look up. The same goes for every image on the way, so that a
//! chain leads no further than its first link. All of it is asked of the file that was found, before it is opened.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use straddle_io::{Found, ReadAt, Reader, Target, TargetKind};
use straddle_probe::container::recognise;

/// The files outside of an image's folder that it may lead to, whoever may read them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outside {
    /// All of them.
    pub all: bool,
    /// Those that were named on the command line, their real paths.
    pub named: Vec<PathBuf>,
}

/// Where an image is on this machine, and whose it is.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// The path as it was named: what the image refers to counts from there.
    pub(crate) path: PathBuf,
    /// The path without symbolic links, which alone tells two ways to one file.
    pub(crate) real: Option<PathBuf>,
    /// The folder whose files are the image's own. A device has none, since what is in /dev does not belong together, nor has a
    /// file in a folder to which everybody may add one.
    folder: Option<PathBuf>,
    owner: Option<u32>,
}

impl Place {
    pub(crate) fn of(target: &Target) -> Place {
        let real = target.real_path();
        let folder = real.and_then(Path::parent);
        let is_own = |folder: &&Path| target.kind() == TargetKind::File && !is_open_to_all(folder);
        Place {
            path: target.path().to_owned(),
            folder: folder.filter(is_own).map(Path::to_owned),
            real: real.map(Path::to_owned),
            owner: owner(target),
        }
    }

    /// What is called so in an archive, and is no file of this machine.
    pub(super) fn beside(name: &str) -> Place {
        Place {
            path: PathBuf::from(name),
            real: None,
            folder: None,
            owner: None,
        }
    }

    /// True when the file at `real` is in the folder of this one, or further below.
    fn is_around(&self, real: &Path) -> bool {
        let folder = self.folder.as_deref();
        folder.is_some_and(|folder| real.starts_with(folder))
    }
}

#[cfg(unix)]
fn is_open_to_all(folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    const WRITE_BY_OTHERS: u32 = 0o002;
    std::fs::metadata(folder).map_or(true, |folder| folder.mode() & WRITE_BY_OTHERS != 0)
}

#[cfg(not(unix))]
fn is_open_to_all(_: &Path) -> bool {
    false
}

#[cfg(target_os = "linux")]
fn owner(target: &Target) -> Option<u32> {
    use std::os::unix::fs::MetadataExt;
    target.file().metadata().ok().map(|metadata| metadata.uid())
}

#[cfg(not(target_os = "linux"))]
fn owner(_: &Target) -> Option<u32> {
    None
}

impl Outside {
    /// Opens the file at `path`, to which the last of `images` leads, the others to each other.
    pub(super) fn open(&self, path: &Path, images: &[Place]) -> Result<Arc<Target>, String> {
        let found = Found::look(path).map_err(|error| error.to_string())?;
        let real = found.real_path().map_err(|error| error.to_string())?;
        let is_named = self.all || self.named.contains(&real);
        let refusing: Vec<&Place> = images
            .iter()
            .filter(|image| !is_named && !image.is_around(&real) && !may_read(image, &found))
            .collect();
        let open = || {
            found
                .open()
                .map(Arc::new)
                .map_err(|error| error.to_string())
        };
        let Some(first) = refusing.first() else {
            return open();
        };
        // Of a container nothing is told but where its blocks lie, and what lies in them only through an image of root's own.
        // Where owners are unknown, nothing else can be asked.
        if refusing
            .iter()
            .all(|image| image.owner.is_none_or(|uid| uid == 0))
        {
            let target = open()?;
            let bytes: Arc<dyn ReadAt> = target.clone();
            if matches!(recognise(&Reader::new(&*bytes), &bytes), Ok(Some(_))) {
                return Ok(target);
            }
        }
        let whose = match first.owner {
            Some(0) => "not everybody may read it".to_owned(),
            Some(uid) => format!("the owner of the image, user {uid}, may not read it"),
            None => "who may read it is not known on this system".to_owned(),
        };
        Err(format!(
            "{} lies outside the folder of {}, and {whose}; --follow-outside follows it",
            path.display(),
            first.path.display()
        ))
    }
}

#[cfg(target_os = "linux")]
fn may_read(image: &Place, found: &Found) -> bool {
    use straddle_io::linux::Who;
    let who = image.owner.map(Who::user);
    // Where it cannot be found out, nobody may.
    who.is_some_and(|who| who.may_read(found).unwrap_or(false))
}

#[cfg(not(target_os = "linux"))]
fn may_read(_: &Place, _: &Found) -> bool {
    false
}
