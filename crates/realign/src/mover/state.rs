//! What is known of a move, and how it is to be carried out.

use std::sync::Mutex;

use straddle_geometry::Bytes;

use crate::job::Job;
use crate::journal::{Digest, Journal, Mark, Recorded, digest};
use crate::sequence::{Sequence, Sizes};
use crate::store::Store;

/// When what was written is read back and compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Check {
    /// When everything was moved.
    #[default]
    AtTheEnd,
    /// And each block before its source is written over as well: for disks that are not trusted.
    Each,
}

/// What sees to it that no block is lost while it is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Method {
    /// Ordered at first, journaled when flushes turn out to take longer than writing everything twice would.
    #[default]
    Measured,
    /// One flush for each distance moved: a block is whole at its old place until it is flushed at its new one.
    Ordered,
    /// Blocks are written to the journal first: one flush for each batch.
    Journaled,
    /// Ordered for so many batches of a run, journaled from there on: what a measurement may come to, the same each time.
    JournaledAfter(u64),
}

/// What is decided when a move begins.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Into how large pieces it is cut.
    pub sizes: Sizes,
    /// Kept in the journal, for whoever began the move: which target that was. At most [`MAX_LABEL`](crate::journal::MAX_LABEL) bytes.
    pub label: Vec<u8>,
}

/// A job carried out on `T`, with its journal in `J`.
#[derive(Debug)]
pub struct Move<T, J> {
    pub(super) target: T,
    pub(super) journal: Journal<J>,
    pub(super) recorded: Recorded,
    /// Blocks before this one, in the order of copying, are at their new places; this one and those behind it at their old ones.
    pub(super) copied: u64,
    /// Whether that may be wrong: it was not looked at wholly since it was opened, or something failed since, and a device that failed
    /// to keep what was written may say the next time that all is kept.
    pub(super) is_in_doubt: bool,
    pub(super) method: Method,
    pub(super) is_ahead: bool,
    /// The digest of so many zeroes.
    zeroes: Mutex<Option<(usize, Digest)>>,
}

impl<T: Store, J: Store> Move<T, J> {
    pub(super) fn new(
        target: T,
        journal: Journal<J>,
        recorded: Recorded,
        is_in_doubt: bool,
    ) -> Move<T, J> {
        Move {
            target,
            journal,
            recorded,
            copied: 0,
            is_in_doubt,
            method: Method::default(),
            is_ahead: true,
            zeroes: Mutex::new(None),
        }
    }

    /// How no block is lost; measured unless said otherwise. It may differ each time that a move is taken up.
    #[must_use]
    pub fn with_method(mut self, method: Method) -> Move<T, J> {
        self.method = method;
        self
    }

    /// Whether threads of its own read ahead, as they do unless said otherwise. Without them everything is done in the same order
    /// each time.
    #[must_use]
    pub fn with_threads(mut self, is_ahead: bool) -> Move<T, J> {
        self.is_ahead = is_ahead;
        self
    }

    /// What is done. Its parts and edits have the order in which they are carried out.
    pub fn job(&self) -> &Job {
        &self.journal.contents().job
    }

    /// Into which blocks its parts are cut.
    pub fn sequence(&self) -> &Sequence {
        self.journal.sequence()
    }

    /// What was given when it began.
    pub fn label(&self) -> &[u8] {
        &self.journal.contents().label
    }

    /// Whether rolling back gives back every byte of the free space that is written over, too. Otherwise copies of what was moved
    /// stay there.
    pub fn keeps_free_space(&self) -> bool {
        self.journal.keeps_free_space()
    }

    /// Bytes of parts that are at their new places, of how many: since it was opened, or when it last came to an end.
    pub fn progress(&self) -> (Bytes, Bytes) {
        let all = self.sequence();
        (all.bytes_before(self.copied), all.bytes())
    }

    /// True when all parts are at their new places, and were read back; edits may have been begun.
    pub fn is_moved(&self) -> bool {
        self.recorded.has(Mark::Moved) && !self.is_going_back()
    }

    /// True when everything was done, and read back.
    pub fn is_done(&self) -> bool {
        self.recorded.has(Mark::Done) && !self.is_going_back()
    }

    /// True when everything is as it was again, and was read back.
    pub fn is_restored(&self) -> bool {
        self.recorded.has(Mark::Restored)
    }

    /// True when it was decided to roll back.
    pub fn is_going_back(&self) -> bool {
        self.recorded.has(Mark::Back)
    }

    /// The target and where the journal is.
    pub fn into_stores(self) -> (T, J) {
        (self.target, self.journal.into_store())
    }

    /// Whether an edit may be made already, or still.
    pub(super) fn may_be_edited(&self) -> bool {
        self.recorded.has(Mark::Moved) && !self.recorded.has(Mark::Undone)
    }

    /// The digest of a buffer of zeroes, which is computed once for all of one length.
    pub(super) fn of_zeroes(&self, buf: &[u8]) -> Digest {
        let Ok(mut kept) = self.zeroes.lock() else {
            return digest(buf);
        };
        match *kept {
            Some((len, found)) if len == buf.len() => found,
            _ => {
                let found = digest(buf);
                *kept = Some((buf.len(), found));
                found
            }
        }
    }
}
