//! A disk that may be overwritten: its volumes locked and dismounted, and nobody else's to write to.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::windows::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use straddle_geometry::Bytes;

use super::disk::{length, number, number_at};
use super::file::{READ, SHARE_READ, SHARE_WRITE, WRITE};
use super::sole::{Sole, named};
use super::{Access, control, open, paths_of_volume, positioned, volumes};
use crate::{Opening, ReadAt};

/// `IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS`, `FSCTL_LOCK_VOLUME`, `FSCTL_DISMOUNT_VOLUME`.
const EXTENTS: u32 = 0x0056_0000;
const LOCK: u32 = 0x0009_0018;
const DISMOUNT: u32 = 0x0009_0020;
/// What a volume says that is on no disk, or whose drive is empty: no such function, not ready, not supported, no medium.
const ON_NO_DISK: [i32; 4] = [1, 21, 50, 1112];

/// Why a disk cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum ClaimError {
    /// Somebody uses it; in words.
    #[error("{0}")]
    InUse(String),
    /// It is none, or the system refused.
    #[error(transparent)]
    Os(#[from] io::Error),
}

/// A disk that is held. Nobody else can write to it, or mount what is on it, until this is dropped.
#[derive(Debug)]
pub struct Disk {
    path: PathBuf,
    size: Bytes,
    reader: File,
    sole: Sole,
    /// Locked as long as they are open.
    _volumes: Vec<File>,
}

impl Disk {
    /// Takes the disk at `path` (`\\.\PhysicalDrive1`): each volume on it is locked, which the system refuses while a file on it is open, and
    /// dismounted; then the disk is opened so that nobody else can write to it. Without `write` nothing is dismounted, and the disk is
    /// opened for reading only.
    ///
    /// # Errors
    /// [`ClaimError`].
    pub fn claim(path: &Path, write: bool) -> Result<Disk, ClaimError> {
        let reader = opened(path, READ, SHARE_READ | SHARE_WRITE)?;
        let number = number_at(&reader)?;
        let mut held = Vec::new();
        for name in volumes()? {
            // With a backslash at its end it is the directory on the volume.
            let plain = name.to_string_lossy().trim_end_matches('\\').to_owned();
            if is_on(&plain, number)? {
                held.push(locked(&name, &plain, write)?);
            }
        }
        let disk = Disk {
            path: path.to_owned(),
            size: length(&reader)?,
            reader,
            sole: Sole::default(),
            _volumes: held,
        };
        if write {
            disk.writer().map_err(|error| match error.kind() {
                io::ErrorKind::WouldBlock => ClaimError::InUse(
                    "another program has it open for writing; end that".to_owned(),
                ),
                _ => error.into(),
            })?;
        }
        Ok(disk)
    }

    /// The handle that reads.
    #[must_use]
    pub fn file(&self) -> &File {
        &self.reader
    }

    /// The handle to write by; those of [`Disk::reopen`] must be closed.
    ///
    /// # Errors
    /// Those of the system.
    pub fn writer(&self) -> io::Result<Arc<File>> {
        self.sole.writer(|opening| self.open(opening))
    }

    /// Another handle of the disk. Those that write are one file object, as for files ([`crate::owned::Owned::reopen`]).
    ///
    /// # Errors
    /// Those of the system.
    pub fn reopen(&self, opening: Opening) -> io::Result<File> {
        self.sole
            .writer_as(opening, |opening| self.open(opening))?
            .try_clone()
    }

    fn open(&self, opening: Opening) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options
            .access_mode(READ | WRITE)
            .share_mode(SHARE_READ)
            .custom_flags(opening.windows_flags());
        options.open(&self.path).map_err(named)
    }
}

impl ReadAt for Disk {
    fn size(&self) -> Bytes {
        self.size
    }

    fn read_at(&self, offset: Bytes, buf: &mut [u8]) -> io::Result<usize> {
        let left = self.size.checked_sub(offset).unwrap_or(Bytes::ZERO);
        let len = usize::try_from(left.get())
            .unwrap_or(usize::MAX)
            .min(buf.len());
        let bytes = buf.get_mut(..len).unwrap_or_default();
        positioned::read_exact_at(&self.reader, bytes, offset.get())?;
        Ok(len)
    }
}

fn opened(path: &Path, access: u32, share: u32) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.access_mode(access).share_mode(share).open(path)
}

/// Whether a volume has a part of this disk. What cannot be asked may have one, and is an error.
fn is_on(volume: &str, number: u64) -> io::Result<bool> {
    let asked = open(Path::new(volume), Access::Questions)
        .and_then(|volume| control(&volume, EXTENTS, &[], 512));
    match asked {
        Ok(answer) => Ok(disks(&answer)?.contains(&number)),
        Err(error)
            if error
                .raw_os_error()
                .is_some_and(|code| ON_NO_DISK.contains(&code)) =>
        {
            Ok(false)
        }
        Err(error) => Err(io::Error::new(
            error.kind(),
            format!("cannot find out whether the volume {volume} is on it: {error}"),
        )),
    }
}

/// The disks of a volume: their number, 8 bytes in all, and 24 bytes for each, which begin with the number of a disk.
fn disks(answer: &[u8]) -> io::Result<Vec<u64>> {
    let count = number(answer, 0)?;
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    if count > answer.len() / 24 {
        return Err(io::ErrorKind::InvalidData.into());
    }
    (0..count).map(|one| number(answer, 8 + 24 * one)).collect()
}

/// Locks a volume, and dismounts it if it is to be written over.
fn locked(name: &OsStr, plain: &str, write: bool) -> Result<File, ClaimError> {
    let refused = |doing: &str, error: &io::Error| {
        let paths = paths_of_volume(name).unwrap_or_default();
        let paths: Vec<_> = paths.iter().map(|path| path.to_string_lossy()).collect();
        let at = match paths.is_empty() {
            true => String::new(),
            false => format!(", mounted at {}", paths.join(" and ")),
        };
        ClaimError::InUse(format!(
            "the volume {plain}{at} is on it and cannot be {doing} ({error}); close what uses it, or dismount it"
        ))
    };
    let volume = opened(Path::new(plain), READ | WRITE, SHARE_READ | SHARE_WRITE)
        .map_err(|error| refused("opened", &error))?;
    control(&volume, LOCK, &[], 16).map_err(|error| refused("locked", &error))?;
    if write {
        control(&volume, DISMOUNT, &[], 16).map_err(|error| refused("dismounted", &error))?;
    }
    Ok(volume)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_disks_of_a_volume_are_read() {
        let mut answer = vec![0; 56];
        answer[0] = 2;
        (answer[8], answer[32]) = (3, 7);
        assert_eq!(disks(&answer).expect("whole"), [3, 7]);
        answer[0] = 3;
        assert!(disks(&answer).is_err(), "it is cut");
        assert!(disks(&[]).is_err());
    }

    #[test]
    fn what_is_no_disk_is_not_taken() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("file");
        std::fs::write(&path, [7; 8192]).expect("writes");
        assert!(Disk::claim(&path, true).is_err());
        assert_eq!(std::fs::read(&path).expect("reads"), [7; 8192]);
    }
}
