//! Systems other than Linux. On Windows the handle denies renaming and deleting, so that names stay what they are while it
//! is held.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use super::{Mark, NotOwned, Removal};

/// Fills `bytes` with random ones. The keys of the standard library's hashes come from the system; asking the system by itself
/// needs a library that Windows before 10, and Wine, do not have.
#[expect(clippy::unnecessary_wraps, reason = "Linux asks the system")]
pub(super) fn random(bytes: &mut [u8]) -> io::Result<()> {
    use std::hash::{BuildHasher, RandomState};
    for (number, piece) in bytes.chunks_mut(8).enumerate() {
        let random = RandomState::new().hash_one(number).to_le_bytes();
        let (random, _) = random.split_at(piece.len());
        piece.copy_from_slice(random);
    }
    Ok(())
}

/// A name.
#[derive(Debug)]
pub(super) struct Place(PathBuf);

impl Place {
    #[expect(clippy::unnecessary_wraps, reason = "Linux opens the directory")]
    pub(super) fn of(path: &Path) -> io::Result<Place> {
        Ok(Place(path.to_owned()))
    }

    #[expect(clippy::unused_self, reason = "Linux compares")]
    pub(super) fn leads_to(&self, _: &File) -> bool {
        true
    }

    #[expect(
        clippy::unnecessary_wraps,
        clippy::unused_self,
        reason = "directories cannot be synced here"
    )]
    pub(super) fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    pub(super) fn remove(&self, file: &File, mark: &Mark) -> Removal {
        match mark.is_in(file) {
            Ok(true) => {}
            Ok(false) => return Removal::Changed,
            Err(error) => return Removal::Failed(error),
        }
        match delete(&self.0, file) {
            Ok(()) => Removal::Done,
            Err(error) => Removal::Failed(error),
        }
    }
}

/// Deletes the file of a handle, as soon as all handles are closed.
#[cfg(windows)]
#[allow(unsafe_code)]
fn delete(_: &Path, file: &File) -> io::Result<()> {
    use std::os::windows::io::AsRawHandle;
    use windows_sys::Win32::Storage::FileSystem::{
        FILE_DISPOSITION_INFO, FileDispositionInfo, SetFileInformationByHandle,
    };
    let info = FILE_DISPOSITION_INFO { DeleteFile: true };
    let size = u32::try_from(size_of::<FILE_DISPOSITION_INFO>()).unwrap_or(0);
    // SAFETY: the handle is open as long as `file` is, and `info` is a live value of the type that the class takes, of
    // the size that is given.
    let done = unsafe {
        SetFileInformationByHandle(
            file.as_raw_handle(),
            FileDispositionInfo,
            (&raw const info).cast(),
            size,
        )
    };
    if done == 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

#[cfg(not(windows))]
fn delete(path: &Path, _: &File) -> io::Result<()> {
    std::fs::remove_file(path)
}

/// Reading, writing and deleting, and nobody else may rename or delete meanwhile.
#[cfg(windows)]
fn held(options: &mut OpenOptions) {
    use std::os::windows::fs::OpenOptionsExt;
    const GENERIC_READ: u32 = 0x8000_0000;
    const GENERIC_WRITE: u32 = 0x4000_0000;
    const DELETE: u32 = 0x0001_0000;
    const SHARE_READ_AND_WRITE: u32 = 0x3;
    options
        .access_mode(GENERIC_READ | GENERIC_WRITE | DELETE)
        .share_mode(SHARE_READ_AND_WRITE);
}

#[cfg(not(windows))]
fn held(_: &mut OpenOptions) {}

pub(super) fn create(
    path: &Path,
    prepare: impl Fn(&File) -> io::Result<()>,
) -> io::Result<(Place, File)> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    held(&mut options);
    let file = options.open(path)?;
    if let Err(error) = prepare(&file) {
        let _ = delete(path, &file);
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

pub(super) fn writable(place: &Place, _: &File) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    held(&mut options);
    options.open(&place.0)
}

#[expect(clippy::unnecessary_wraps, reason = "Linux asks the system")]
pub(super) fn is_same(_: &File, _: &File) -> io::Result<bool> {
    Ok(true)
}

pub(super) fn way(_: &File, path: &Path) -> PathBuf {
    path.to_owned()
}

#[expect(clippy::unnecessary_wraps, reason = "Linux asks the system")]
pub(super) fn scratch(_: &Path) -> io::Result<Option<File>> {
    Ok(None)
}
