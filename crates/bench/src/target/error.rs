use std::io;
use std::path::PathBuf;
use straddle_geometry::Bytes;
use straddle_io::owned::Removal;

use super::Consent;
use crate::place::NotPermitted;

/// Why something cannot be measured on.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// The system refused.
    #[error("cannot {doing} {}: {source}", path.display())]
    Os {
        /// What was tried: `open`, `write`.
        doing: &'static str,
        /// The target.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Somebody else's file.
    #[error(
        "{} exists, and bench writes only to files that it made itself; name a directory or a path that does not exist yet, or only read from it with --rw read",
        path.display()
    )]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// A test file that an earlier run left.
    #[error("{} is the test file of an earlier run; remove it, or name another place", path.display())]
    LeftOver {
        /// The file.
        path: PathBuf,
    },
    /// A run is going on with it.
    #[error("{} is in use: another run of straddle is at work on it; wait for its end, or name another place", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// What went wrong, and what cannot be removed after it: a filesystem that fails turns read-only.
    #[error("{cause}; {left}")]
    Left {
        /// What went wrong.
        cause: Box<TargetError>,
        /// Why the file is still there.
        left: Box<TargetError>,
    },
    /// It is not what was to be removed, or cannot be removed safely.
    #[error("{} is not removed: {removal}", path.display())]
    NotRemoved {
        /// The file.
        path: PathBuf,
        /// What became of it.
        removal: Removal,
    },
    /// A device without room for anything.
    #[error("{} has {} bytes; expected at least 8,192", path.display(), size.grouped())]
    TooSmall {
        /// The device.
        path: PathBuf,
        /// Its size.
        size: Bytes,
    },
    /// Neither a file nor a block device nor a place for a new file.
    #[error("{} is {found}; expected a directory, a path that does not exist yet, a file or a block device", path.display())]
    WrongType {
        /// The path.
        path: PathBuf,
        /// What it is.
        found: String,
    },
    /// The filesystem is too full.
    #[error(
        "a test file of {} (--size, the largest offset, and room to find a place in) does not fit at {}: its filesystem has {} left; choose a smaller --size or another place",
        needed.rounded(), path.display(), available.rounded()
    )]
    Space {
        /// The file.
        path: PathBuf,
        /// Its size.
        needed: Bytes,
        /// What is left.
        available: Bytes,
    },
    /// Space ran out though there was enough at first, or the quota does not suffice.
    #[error(
        "a test file of {} (--size, the largest offset, and room to find a place in) does not fit at {}: {reason}; choose a smaller --size or another place",
        needed.rounded(), path.display()
    )]
    Full {
        /// The file.
        path: PathBuf,
        /// Its size.
        needed: Bytes,
        /// What the system said.
        reason: io::Error,
    },
    /// Direct I/O is not to be had.
    #[error(
        "direct I/O to {} is refused ({reason}), so the page cache would be in the way; choose a place on a filesystem that knows O_DIRECT, or add --buffered to measure memory on purpose",
        path.display()
    )]
    NoDirectIo {
        /// The file.
        path: PathBuf,
        /// By whom, in words.
        reason: String,
    },
    /// An offset or a size that the target cannot be asked for.
    #[error("{}: {reason}", path.display())]
    Misaligned {
        /// The target.
        path: PathBuf,
        /// Which one, and what could be asked for in its place.
        reason: NotPermitted,
    },
    /// What is written to a device is gone, and nobody agreed to that.
    #[error(
        "{} is a block device, and writing destroys what is on it; if it may be lost, add --destroy-data {} --yes-destroy {name}; to read only, use --rw read",
        path.display(), path.display()
    )]
    NoConsent {
        /// The device.
        path: PathBuf,
        /// Its last component.
        name: String,
    },
    /// The second look at the device's name saw another one.
    #[error(
        "--yes-destroy says `{}`, but the device of --destroy-data {} is called `{name}`; nothing was written",
        consent.name, path.display()
    )]
    OtherConsent {
        /// The device.
        path: PathBuf,
        /// What was said.
        consent: Consent,
        /// Its last component.
        name: String,
    },
    /// Not a device.
    #[error("--destroy-data {} is no block device; test files need no consent, name them as TARGET", path.display())]
    NoDevice {
        /// The path.
        path: PathBuf,
    },
    /// This system has no exclusive opens.
    #[error("{}: devices can be written to on Linux and Windows only; only read from it with --rw read, or name a file", path.display())]
    DeviceElsewhere {
        /// The path.
        path: PathBuf,
    },
    /// Somebody uses it.
    #[error("{} is in use: {by}; nothing was written", path.display())]
    InUse {
        /// The device.
        path: PathBuf,
        /// By whom, and what to do.
        by: String,
    },
    /// Something is on it.
    #[error(
        "{} carries {found}; if that may be lost, add --overwrite-signatures; nothing was written",
        path.display()
    )]
    Signature {
        /// The device.
        path: PathBuf,
        /// What was recognised.
        found: String,
    },
    /// It is not the file or device that was made or opened.
    #[error("{} is no longer what it was: {found}, expected {expected}; it is left alone", path.display())]
    Changed {
        /// The target.
        path: PathBuf,
        /// What it is now.
        found: String,
        /// What it was.
        expected: String,
    },
    /// The user stopped it.
    #[error("stopped while {} was filled", path.display())]
    Stopped {
        /// The file.
        path: PathBuf,
    },
}

impl From<TargetError> for io::Error {
    fn from(error: TargetError) -> io::Error {
        io::Error::other(error)
    }
}
