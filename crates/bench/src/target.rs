//! What is measured on: a file that this program made, a device whose data may be destroyed, or anything that is only
//! read.
//!
//! Nothing else is ever opened for writing. A file that was made is removed when its [`Target`] is dropped. How it is known
//! for ours, and why nobody else's can be taken for it, is said in [`straddle_io::owned`]; every descriptor that requests go
//! through is opened by way of the one that the target was known by, never by a name.

mod aligned;
mod blank;
mod consent;
mod create;
mod device;
mod error;
mod identity;
mod label;
mod limits;
mod medium;
mod reusable;
mod signatures;
mod space;

use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use straddle_geometry::Bytes;
use straddle_io::engine::Durability;
use straddle_io::owned::{NotOwned, Owned, reopen};
use straddle_io::{OpenError, Opening, TargetKind};

pub use aligned::{Limits, LimitsFrom};
pub use consent::Consent;
pub use create::{Draft, FILE_NAME, place, rehearse, remove_unfilled, taken};
pub use device::{Purpose, name_of};
pub use error::TargetError;
pub use identity::Identity;
pub use label::Owner;
pub use medium::Medium;
pub use reusable::{ReusableError, TestFile, data_length};
pub use space::space;

use crate::plan::Plan;

/// A file or device of known length, which may be read, and written as far as it was asked for and granted.
#[derive(Debug)]
pub struct Target {
    path: PathBuf,
    size: Bytes,
    medium: Medium,
    limits: Limits,
    limits_from: LimitsFrom,
    guard: Guard,
}

/// What a target is held by, and so what may be done to it. Its descriptor stays open as long as the target lives.
#[derive(Debug)]
enum Guard {
    /// Somebody's file or device: it is only read.
    ReadOnly(File),
    /// A file of this run, to be removed.
    Made(create::Made),
    /// A file of ours that stays for later runs.
    Reused(Arc<Owned>),
    /// A device that nobody else can hold or mount meanwhile.
    Device(device::Claim),
    /// No storage.
    Nothing(File),
}

impl Guard {
    fn file(&self) -> Result<&File, NotOwned> {
        Ok(match self {
            Guard::ReadOnly(file) | Guard::Nothing(file) => file,
            Guard::Made(made) => made.owned()?.file(),
            Guard::Reused(owned) => owned.file(),
            Guard::Device(claim) => claim.file(),
        })
    }

    /// Another descriptor of what is held, as long as what says that it is ours is where it was put.
    fn reopen(&self, path: &Path, opening: Opening) -> Result<File, NotOwned> {
        match self {
            Guard::ReadOnly(file) | Guard::Nothing(file) => Ok(reopen(file, path, opening)?),
            Guard::Made(made) => made.owned()?.reopen(opening),
            Guard::Reused(owned) => owned.reopen(opening),
            Guard::Device(claim) => {
                let file = claim.reopen(opening)?;
                if claim.is_ours()? {
                    Ok(file)
                } else {
                    Err(NotOwned::Foreign)
                }
            }
        }
    }
}

impl Target {
    /// A file or device that exists, for reading only.
    ///
    /// # Errors
    /// [`TargetError`] when it cannot be opened, or not with direct I/O where that is asked for.
    pub fn existing(path: &Path, direct: bool) -> Result<Target, TargetError> {
        let os = |source| TargetError::Os {
            doing: "open",
            path: path.to_owned(),
            source,
        };
        let opened = straddle_io::Target::open(path).map_err(|error| match error {
            OpenError::Os { source, .. } => os(source),
            OpenError::WrongType { found, .. } => TargetError::WrongType {
                path: path.to_owned(),
                found: found.to_owned(),
            },
        })?;
        let is_device = opened.kind() == TargetKind::Device;
        let file = opened.into_file();
        let (limits, limits_from) = if is_device {
            Limits::of_device(path, &file, direct)?
        } else {
            Limits::of_file(path, &file, direct)?
        };
        Ok(Target {
            path: path.to_owned(),
            size: size_of(&file).map_err(os)?,
            medium: match (is_device, direct) {
                (false, true) => Medium::FileDirect,
                (false, false) => Medium::FileBuffered,
                (true, true) => Medium::DeviceDirect,
                (true, false) => Medium::DeviceBuffered,
            },
            limits,
            limits_from,
            guard: Guard::ReadOnly(file),
        })
    }

    /// No storage at all, `size` bytes of it: for the engine that makes no requests.
    ///
    /// # Errors
    /// When this system has no null device.
    pub fn null(size: Bytes) -> Result<Target, TargetError> {
        let path = Path::new(if cfg!(windows) { "NUL" } else { "/dev/null" });
        let opening = Opening {
            write: true,
            ..Opening::default()
        };
        let file = opening.open(path).map_err(|source| TargetError::Os {
            doing: "open",
            path: path.to_owned(),
            source,
        })?;
        Ok(Target {
            path: path.to_owned(),
            size,
            medium: Medium::Null,
            limits: Limits::any(),
            limits_from: LimitsFrom::Nothing,
            guard: Guard::Nothing(file),
        })
    }

    /// The path as the user named it, or the file in the directory that was named.
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

    /// Where those are known from.
    #[must_use]
    pub fn limits_from(&self) -> LimitsFrom {
        self.limits_from
    }

    /// Holds what a plan asks for against the limits.
    ///
    /// # Errors
    /// [`TargetError::Misaligned`] for an offset or a size that cannot be had.
    pub fn check(&self, plan: &Plan) -> Result<(), TargetError> {
        self.limits.check(self.limits_from, plan, &self.path)
    }

    /// Which file or device it is.
    ///
    /// # Errors
    /// Those of the system.
    pub fn identity(&self) -> io::Result<Identity> {
        let file = self.guard.file().map_err(io::Error::other)?;
        Identity::of(file)
    }

    /// Leaves the file where it is when this is dropped.
    pub fn keep(&mut self) {
        if let Guard::Made(made) = &mut self.guard {
            made.keep = true;
        }
    }

    /// The run is over, and nobody will go on with it: a file of its own is removed, and a device that was blank looks blank
    /// again.
    ///
    /// # Errors
    /// [`TargetError::NotRemoved`] when another file has its name, or somebody has written to it; nothing of theirs is touched.
    pub fn remove(self) -> Result<(), TargetError> {
        match self.guard {
            Guard::Made(made) => create::removed(&self.path, made.remove()),
            Guard::Device(claim) => claim.release().map_err(|source| TargetError::Os {
                doing: "blank the label of",
                path: self.path,
                source,
            }),
            Guard::ReadOnly(_) | Guard::Reused(_) | Guard::Nothing(_) => Ok(()),
        }
    }

    /// A new handle, one for each thread. It is for engines, which know that it may be an overlapped one (Windows). It is opened by way of the one that the target is held by, so that it is the same file whatever has its name by now.
    ///
    /// # Errors
    /// Those of the system; that what says that it is ours is gone.
    pub fn handle(&self, durability: Durability) -> io::Result<File> {
        let opening = Opening {
            write: !matches!(self.guard, Guard::ReadOnly(_)),
            direct: matches!(self.medium, Medium::FileDirect | Medium::DeviceDirect),
            through: durability == Durability::WriteThrough,
            overlapped: true,
            ..Opening::default()
        };
        self.guard
            .reopen(&self.path, opening)
            .map_err(|error| match error {
                NotOwned::Os(error) => error,
                NotOwned::Foreign => io::Error::other(TargetError::Changed {
                    path: self.path.clone(),
                    found: "somebody else has written to it".to_owned(),
                    expected: "the token of this run in it".to_owned(),
                }),
                error @ NotOwned::WrongType(_) => io::Error::other(error),
            })
    }
}

/// The length of a file or device; metadata says 0 for a device.
fn size_of(mut file: &File) -> io::Result<Bytes> {
    // The end of a disk cannot be sought on Windows.
    #[cfg(windows)]
    if let Ok(length) = straddle_io::windows::length(file) {
        return Ok(length);
    }
    Ok(Bytes::new(file.seek(SeekFrom::End(0))?))
}

/// That writing to a device was not agreed to.
#[must_use]
pub fn no_consent(path: &Path) -> TargetError {
    TargetError::NoConsent {
        path: path.to_owned(),
        name: device::name_of(path),
    }
}
