//! Systems other than Linux and Windows: names, and nothing that keeps them from being moved.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::{Mark, NotOwned, Removal};
use crate::Opening;

/// Fills `bytes` with random ones.
pub(super) fn random(bytes: &mut [u8]) -> io::Result<()> {
    File::open("/dev/urandom")?.read_exact(bytes)
}

/// A name.
#[derive(Debug)]
pub(super) struct Place(PathBuf);

impl Place {
    #[expect(clippy::unnecessary_wraps, reason = "Linux opens the directory")]
    pub(super) fn of(path: &Path) -> io::Result<Place> {
        Ok(Place(path.to_owned()))
    }

    pub(super) fn leads_to(&self, file: &File) -> bool {
        File::open(&self.0).is_ok_and(|found| is_same(&found, file).unwrap_or(false))
    }

    pub(super) fn sync(&self) -> io::Result<()> {
        let parent = self.0.parent().filter(|parent| *parent != Path::new(""));
        File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
    }

    #[expect(
        clippy::unnecessary_wraps,
        clippy::unused_self,
        reason = "Windows has two"
    )]
    pub(super) fn writer<'a>(&self, file: &'a File) -> io::Result<&'a File> {
        Ok(file)
    }

    pub(super) fn reopen(&self, file: &File, opening: Opening) -> io::Result<File> {
        reopen(file, &self.0, opening)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "Windows closes it")]
pub(super) fn remove(place: &Place, file: File, mark: &Mark) -> Removal {
    if !place.leads_to(&file) {
        return Removal::Stranger;
    }
    match mark.is_in(&file) {
        Ok(true) => {}
        Ok(false) => return Removal::Changed,
        Err(error) => return Removal::Failed(error),
    }
    match std::fs::remove_file(&place.0) {
        Ok(()) => Removal::Done,
        Err(error) => Removal::Failed(error),
    }
}

pub(super) fn create(
    path: &Path,
    prepare: impl Fn(&File) -> io::Result<()>,
) -> io::Result<(Place, File)> {
    let mut options = OpenOptions::new();
    let file = options.read(true).write(true).create_new(true).open(path)?;
    if let Err(error) = prepare(&file) {
        let _ = std::fs::remove_file(path);
        return Err(error);
    }
    Ok((Place(path.to_owned()), file))
}

pub(super) fn look(place: &Place) -> Result<File, NotOwned> {
    let metadata = std::fs::symlink_metadata(&place.0)?;
    if !metadata.is_file() {
        return Err(NotOwned::WrongType("no regular file"));
    }
    Ok(File::open(&place.0)?)
}

pub(super) fn writable(place: &Place, seen: &File) -> io::Result<File> {
    let mut options = OpenOptions::new();
    super::the_same(options.read(true).write(true).open(&place.0)?, seen)
}

pub(super) fn is_held(place: &Place) -> Result<bool, NotOwned> {
    Ok(super::is_locked(&look(place)?))
}

pub(super) fn is_same(one: &File, other: &File) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let (one, other) = (one.metadata()?, other.metadata()?);
    Ok((one.dev(), one.ino()) == (other.dev(), other.ino()))
}

pub(super) fn reopen(file: &File, path: &Path, opening: Opening) -> io::Result<File> {
    super::the_same(opening.open(path)?, file)
}

pub(super) fn way(_: &File, path: &Path) -> PathBuf {
    path.to_owned()
}

#[expect(clippy::unnecessary_wraps, reason = "Linux asks the system")]
pub(super) fn scratch(_: &Path) -> io::Result<Option<File>> {
    Ok(None)
}
