use std::io;

use straddle_geometry::Extent;

use crate::journal::JournalError;

/// Why a move did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum MoveError {
    /// The journal does not allow it. Nothing was written.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A place is beyond the end of the target. Nothing was written.
    #[error("the target ends at byte {size}, and the move needs bytes up to {needed}")]
    Outside {
        /// How long the target is.
        size: u64,
        /// Where the farthest place ends.
        needed: u64,
    },
    /// It is being rolled back, and cannot go forward any more.
    #[error("this move is being rolled back: go on with that")]
    Back,
    /// What an edit is to change is not what it was planned for, or was changed since the move was stopped. No byte was changed.
    #[error(
        "the target was changed: the {} bytes at byte {} are not what the move expects there ({what})", .place.len().get(), .place.start().get()
    )]
    Changed {
        /// Where.
        place: Extent,
        /// What should be there, for people.
        what: String,
    },
    /// A block is nowhere as it was read: the target was changed by something else, or did not keep what it said it kept.
    #[error(
        "the block of {} bytes that lay at byte {} is neither there nor at byte {} as it was read, and not in the journal: the device lost \
         it, or something else wrote there since", .from.len().get(), .from.start().get(), .to.start().get()
    )]
    Lost {
        /// Its old place.
        from: Extent,
        /// Its new place.
        to: Extent,
    },
    /// Something was written, flushed, and is not there.
    #[error("{} bytes at byte {} are not what was written there, although the device said that they are kept", .place.len().get(), .place.start().get())]
    Dropped {
        /// Where it should be.
        place: Extent,
    },
    /// Whoever looks on asked to stop. It can be taken up again.
    #[error("stopped as asked for; it can be resumed or rolled back")]
    Stopped,
    /// The target could not be read or written.
    #[error("the target, {what} {} bytes at byte {}: {source}", .place.len().get(), .place.start().get())]
    Target {
        /// `reading`, `writing`.
        what: &'static str,
        /// Where.
        place: Extent,
        /// Why.
        source: io::Error,
    },
    /// The target could not be told to keep what was written.
    #[error("the target did not keep what was written (flush): {0}")]
    Flush(io::Error),
    /// There is not enough memory, or no thread to be had.
    #[error("{0}")]
    System(io::Error),
}

/// One of the two places of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Old,
    New,
}
