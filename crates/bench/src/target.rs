//! What is measured on: a file that this program made, or a device whose data may be destroyed.

mod reusable;

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use straddle_geometry::{Bytes, Unit};
use straddle_io::engine::Durability;

use crate::results::Medium;

pub use reusable::{ReusableError, TestFile};

/// A file or device of known length, which may be read, and written as far as it was asked for and granted.
#[derive(Debug)]
pub struct Target {
    path: PathBuf,
    size: Bytes,
    medium: Medium,
    writable: bool,
    limits: Limits,
}

/// What requests have to be aligned to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Buffers in memory.
    pub memory: Unit,
    /// Offset and length of requests.
    pub offset: Unit,
}

impl Target {
    /// A target that exists, for reading only.
    ///
    /// # Errors
    /// Those of opening it.
    pub fn existing(path: &Path, direct: bool) -> io::Result<Target> {
        let size =
            straddle_io::ReadAt::size(&straddle_io::Target::open(path).map_err(io::Error::other)?);
        Ok(Target {
            path: path.to_owned(),
            size,
            medium: if direct {
                Medium::FileDirect
            } else {
                Medium::FileBuffered
            },
            writable: false,
            limits: Limits {
                memory: Unit::new(4096).ok_or(io::ErrorKind::InvalidInput)?,
                offset: Unit::new(512).ok_or(io::ErrorKind::InvalidInput)?,
            },
        })
    }

    /// The path as the user named it.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its length.
    #[must_use]
    pub fn size(&self) -> Bytes {
        self.size
    }

    /// What kind of thing it is, and whether the page cache is in the way.
    #[must_use]
    pub fn medium(&self) -> Medium {
        self.medium
    }

    /// What requests have to be aligned to.
    #[must_use]
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// A new handle, one for each thread: where handles are locked (Windows), a shared one would make threads wait for each
    /// other.
    ///
    /// # Errors
    /// Those of the system.
    pub fn handle(&self, durability: Durability) -> io::Result<File> {
        let _ = durability;
        OpenOptions::new()
            .read(true)
            .write(self.writable)
            .open(&self.path)
    }
}
