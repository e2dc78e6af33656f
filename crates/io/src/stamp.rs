//! A stamp on a file: a few words beside its content, by which a later run knows a file that this program made.
//!
//! It belongs to the file, not to its name: it goes when the file is deleted, stays when it is renamed, and is not in its
//! content. On Linux it is the extended attribute `user.straddle.bench`, on Windows the stream `straddle.bench`. Filesystems
//! without either (FAT, old NFS) refuse it.

use std::io;
use std::path::Path;

/// Longest stamp that is read.
#[cfg(target_os = "linux")]
const LONGEST: usize = 256;

#[cfg(target_os = "linux")]
const NAME: &str = "user.straddle.bench";

/// The stamp of a file; `None` when it has none, also because its filesystem knows no stamps.
///
/// # Errors
/// Those of the system.
#[cfg(target_os = "linux")]
pub fn read(path: &Path) -> io::Result<Option<String>> {
    use rustix::io::Errno;
    let mut text = [0; LONGEST];
    match rustix::fs::getxattr(path, NAME, &mut text[..]) {
        Ok(len) => {
            let text = text.get(..len).unwrap_or_default();
            Ok(Some(String::from_utf8_lossy(text).into_owned()))
        }
        Err(Errno::NODATA | Errno::NOTSUP | Errno::RANGE) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Stamps a file, in place of what it was stamped with before. Its time of modification stays.
///
/// # Errors
/// Those of the system; [`io::ErrorKind::Unsupported`] when the filesystem knows no stamps.
#[cfg(target_os = "linux")]
pub fn write(path: &Path, text: &str) -> io::Result<()> {
    use rustix::fs::XattrFlags;
    use rustix::io::Errno;
    match rustix::fs::setxattr(path, NAME, text.as_bytes(), XattrFlags::empty()) {
        Err(Errno::NOTSUP) => Err(io::ErrorKind::Unsupported.into()),
        result => result.map_err(io::Error::from),
    }
}

/// The stamp of a file; `None` when it has none.
///
/// # Errors
/// Those of the system.
#[cfg(not(target_os = "linux"))]
pub fn read(path: &Path) -> io::Result<Option<String>> {
    let Some(stream) = stream(path) else {
        return Ok(None);
    };
    match std::fs::read(stream) {
        Ok(text) => Ok(Some(String::from_utf8_lossy(&text).into_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Stamps a file, in place of what it was stamped with before.
///
/// # Errors
/// Those of the system; [`io::ErrorKind::Unsupported`] where there are no stamps.
#[cfg(not(target_os = "linux"))]
pub fn write(path: &Path, text: &str) -> io::Result<()> {
    let stream = stream(path).ok_or(io::ErrorKind::Unsupported)?;
    // Writing a stream is a modification of its file: the time is put back, or no stamp could tell it.
    let modified = std::fs::metadata(path)?.modified()?;
    std::fs::write(stream, text)?;
    let file = std::fs::OpenOptions::new().write(true).open(path)?;
    file.set_modified(modified)
}

/// The name of the stream beside the content of a file, where the system has such a thing.
#[cfg(not(target_os = "linux"))]
fn stream(path: &Path) -> Option<std::ffi::OsString> {
    if !cfg!(windows) {
        return None;
    }
    let mut name = path.as_os_str().to_owned();
    name.push(":straddle.bench");
    Some(name)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_stays_with_its_file() {
        let directory = tempfile::tempdir().expect("a directory");
        let (file, other) = (directory.path().join("a"), directory.path().join("b"));
        std::fs::write(&file, "content").expect("a file");
        assert_eq!(read(&file).expect("it exists"), None);
        let before = std::fs::metadata(&file).and_then(|m| m.modified());
        match write(&file, "made by a test") {
            Err(error) if error.kind() == io::ErrorKind::Unsupported => return,
            result => result.expect("the filesystem knows stamps"),
        }
        let after = std::fs::metadata(&file).and_then(|m| m.modified());
        assert_eq!(before.expect("a time"), after.expect("a time"));
        std::fs::rename(&file, &other).expect("renamed");
        let stamp = read(&other).expect("it exists");
        assert_eq!(stamp.as_deref(), Some("made by a test"));
        std::fs::copy(&other, &file).expect("copied");
        assert_eq!(read(&file).expect("it exists"), None);
        assert!(read(&directory.path().join("c")).is_err());
    }
}
