use std::fmt;
use std::io;
use std::sync::Arc;
use straddle_geometry::Bytes;

/// A read that did not succeed: what kind, where, how much.
#[derive(Clone, Debug, thiserror::Error)]
pub struct ReadError {
    /// What kind of failure it is.
    pub kind: ReadErrorKind,
    /// First byte that was asked for.
    pub offset: Bytes,
    /// How many bytes were asked for.
    pub len: Bytes,
    /// The operating system's error, for [`ReadErrorKind::Device`].
    #[source]
    pub source: Option<Arc<io::Error>>,
}

/// Kinds of [`ReadError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReadErrorKind {
    /// The range reaches beyond the end.
    PastEnd {
        /// Where the end is.
        size: Bytes,
    },
    /// The device or file gave an error, or fewer bytes than it has.
    Device,
    /// The bytes lie on a member of an array or volume group that was not given. Whatever stands for the whole says so by an
    /// error of the kind [`io::ErrorKind::NotFound`].
    NotGiven,
    /// The target has already cost as many bytes as it may.
    BudgetSpent {
        /// The cap.
        budget: Bytes,
    },
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (len, offset) = (self.len.grouped(), self.offset.get());
        match self.kind {
            ReadErrorKind::PastEnd { size } => {
                write!(
                    f,
                    "{len} bytes at {offset:#x} reach beyond the end at {:#x}",
                    size.get()
                )
            }
            ReadErrorKind::Device => match &self.source {
                Some(source) => write!(f, "reading {len} bytes at {offset:#x} failed: {source}"),
                None => write!(
                    f,
                    "reading {len} bytes at {offset:#x} gave fewer bytes than the size promised"
                ),
            },
            ReadErrorKind::NotGiven => {
                write!(
                    f,
                    "{len} bytes at {offset:#x} lie on a member that was not given"
                )
            }
            ReadErrorKind::BudgetSpent { budget } => {
                write!(
                    f,
                    "reading {len} bytes at {offset:#x} would exceed the limit of {budget} for one target"
                )
            }
        }
    }
}

/// Whether a file was not opened because another program has it open and shares it with nobody, as databases do on Windows.
#[must_use]
pub fn is_shared_with_nobody(error: &std::io::Error) -> bool {
    const SHARING_VIOLATION: i32 = 32;
    cfg!(windows) && error.raw_os_error() == Some(SHARING_VIOLATION)
}
