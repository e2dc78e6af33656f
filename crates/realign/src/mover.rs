//! A move carried out: forward, taken up where it was stopped, or back.
//!
//! Block after block is copied in the order of [`Shift`], and whatever a block is written over was flushed at its new place
//! before. So at any instant every block is whole at one of its two places at least, whichever writes since the last flush a loss of power
//! takes; and which place that is its digest says, which the journal has from before any block of its batch was written.

use std::io;

use straddle_geometry::{Bytes, Extent};

use crate::journal::{Digest, Journal, JournalError, Recorded, Token, digest};
use crate::shift::Shift;
use crate::store::{Store, read_exact};

/// When what was written is read back and compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Check {
    /// When everything was moved.
    #[default]
    AtTheEnd,
    /// And each block before its source is written over as well: for disks that are not trusted.
    Each,
}

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
        /// Where the farther of the two places ends.
        needed: u64,
    },
    /// It is being rolled back, and cannot go forward any more.
    #[error("this move is being rolled back: go on with that")]
    Back,
    /// A block is at neither place as it was read: the target was changed by something else, or did not keep what it said it kept.
    #[error(
        "the block of {} bytes that lay at byte {} is neither there nor at byte {} as it was read: the device lost it, or something else \
         wrote there since", .from.len().get(), .from.start().get(), .to.start().get()
    )]
    Lost {
        /// Its old place.
        from: Extent,
        /// Its new place.
        to: Extent,
    },
    /// A block was written, flushed, and is not there.
    #[error("{} bytes at byte {} are not what was written there, although the device said that they are kept", .place.len().get(), .place.start().get())]
    Dropped {
        /// Where it should be.
        place: Extent,
    },
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
}

/// A move of a range within `T`, with its journal in `J`.
#[derive(Debug)]
pub struct Move<T, J> {
    target: T,
    journal: Journal<J>,
    recorded: Recorded,
    /// Blocks before this one, in the order of copying, are at their new place; this one and those behind it at their old one.
    copied: u64,
    /// Whether `copied` may be wrong: something failed since it was found out, and a device that failed to keep what was written
    /// may say the next time that all is kept.
    is_in_doubt: bool,
}

impl<T: Store, J: Store> Move<T, J> {
    /// Begins a move: makes its journal, in which `batch` blocks are recorded together, and changes nothing else.
    ///
    /// # Errors
    /// The target is too short, or the journal cannot be made.
    pub fn create(
        target: T,
        journal: J,
        token: Token,
        shift: Shift,
        batch: u64,
    ) -> Result<Move<T, J>, MoveError> {
        let size = target.size();
        let farther = shift.from().max(shift.to());
        let needed = farther.checked_add(shift.len()).unwrap_or(Bytes::MAX);
        if needed > size {
            return Err(MoveError::Outside {
                size: size.get(),
                needed: needed.get(),
            });
        }
        let journal = Journal::create(journal, token, shift, batch, size)?;
        Ok(Move {
            target,
            journal,
            recorded: Recorded {
                digests: Vec::new(),
                back: None,
                is_moved: false,
                is_restored: false,
            },
            copied: 0,
            is_in_doubt: false,
        })
    }

    /// Takes up a move that was stopped, and finds out how far it came. Changes nothing.
    ///
    /// # Errors
    /// The journal is none of this target, or a block is at neither place.
    pub fn open(target: T, journal: J) -> Result<Move<T, J>, MoveError> {
        let (journal, recorded) = Journal::open(journal, target.size())?;
        let mut found = Move {
            target,
            journal,
            recorded,
            copied: 0,
            is_in_doubt: false,
        };
        found.copied = found.locate()?;
        Ok(found)
    }

    /// What is moved.
    pub fn shift(&self) -> &Shift {
        self.journal.shift()
    }

    /// How many blocks are at their new place, of how many.
    pub fn progress(&self) -> (u64, u64) {
        (self.copied, self.shift().count())
    }

    /// True when everything is at its new place, and was read back.
    pub fn is_moved(&self) -> bool {
        self.recorded.is_moved && self.recorded.back.is_none()
    }

    /// True when everything is at its old place again, and was read back.
    pub fn is_restored(&self) -> bool {
        self.recorded.is_restored
    }

    /// True when it was decided to take it back.
    pub fn is_going_back(&self) -> bool {
        self.recorded.back.is_some()
    }

    /// The target and where the journal is.
    pub fn into_stores(self) -> (T, J) {
        (self.target, self.journal.into_store())
    }

    /// Moves everything that is not moved yet, and reads it back. `step` hears how many blocks are moved.
    ///
    /// # Errors
    /// It is being rolled back, or something failed: it can be taken up again then, as long as no block is [lost](MoveError::Lost).
    pub fn forward(&mut self, check: Check, mut step: impl FnMut(u64)) -> Result<(), MoveError> {
        if self.is_going_back() {
            return Err(MoveError::Back);
        }
        if self.is_moved() {
            return Ok(());
        }
        self.settle()?;
        let (count, each, depth) = (
            self.shift().count(),
            self.journal.batch_len(),
            self.shift().depth(),
        );
        let mut kept = self.copied;
        while self.copied < count {
            let batch = self.copied / each;
            let end = count.min((batch + 1) * each);
            let blocks = self.read_batch(batch, self.copied..end)?;
            for (n, bytes) in (self.copied..end).zip(blocks) {
                if n >= kept + depth {
                    self.flush()?;
                    if check == Check::Each {
                        self.compare(kept..n, Place::New)?;
                    }
                    kept = n;
                }
                if let Some(bytes) = bytes {
                    self.write(self.place(n, Place::New)?, &bytes)?;
                }
                self.copied = n + 1;
                step(self.copied);
            }
        }
        self.flush()?;
        self.compare(0..count, Place::New)?;
        self.journal.moved().map_err(JournalError::Io)?;
        self.recorded.is_moved = true;
        self.is_in_doubt = false;
        Ok(())
    }

    /// Brings everything that was moved back to its old place, and reads it back. `step` hears how many blocks are still to go.
    ///
    /// # Errors
    /// As [`forward`](Move::forward).
    pub fn back(&mut self, check: Check, mut step: impl FnMut(u64)) -> Result<(), MoveError> {
        if self.is_restored() {
            return Ok(());
        }
        self.settle()?;
        let depth = self.shift().depth();
        // Those that were recorded may have been written, too.
        let known = self.known();
        if self.recorded.back.is_none() {
            self.journal.back(known).map_err(JournalError::Io)?;
            self.recorded.back = Some(known);
        }
        let mut kept = known;
        for n in (0..known).rev() {
            if kept > n + depth {
                self.flush()?;
                if check == Check::Each {
                    self.compare(n + 1..kept, Place::Old)?;
                }
                kept = n + 1;
            }
            let wanted = self.digest(n);
            let bytes = self.read(self.place(n, Place::New)?)?;
            if Some(digest(&bytes)) == wanted {
                self.write(self.place(n, Place::Old)?, &bytes)?;
            } else if !self.is_at(n, Place::Old)? {
                return Err(self.lost(n)?);
            }
            self.copied = self.copied.min(n);
            step(n);
        }
        self.flush()?;
        self.compare(0..known, Place::Old)?;
        self.journal.restored().map_err(JournalError::Io)?;
        self.recorded.is_restored = true;
        self.is_in_doubt = false;
        Ok(())
    }

    /// How many blocks are at their new place: found by digests, at both places.
    fn locate(&self) -> Result<u64, MoveError> {
        let known = self.known();
        if self.recorded.back.is_some() {
            // From the last one on they are restored.
            let mut at = known;
            while at > 0 && self.is_at(at - 1, Place::Old)? {
                at -= 1;
            }
            if at > 0 && !self.is_at(at - 1, Place::New)? {
                return Err(self.lost(at - 1)?);
            }
            return Ok(at);
        }
        let (each, depth) = (self.journal.batch_len(), self.shift().depth());
        // Whatever is before the last batch, and not among those that were not flushed when it was begun, was flushed.
        let last = known.saturating_sub(1) / each * each;
        let mut at = last.saturating_sub(depth);
        while at < known && self.is_at(at, Place::New)? {
            at += 1;
        }
        for n in at..known {
            if !self.is_at(n, Place::Old)? && !self.is_at(n, Place::New)? {
                return Err(self.lost(n)?);
            }
        }
        Ok(at)
    }

    /// The blocks of a batch from their old places, and their digests into the journal before any of them is written. `None` for one
    /// that is at its new place only.
    fn read_batch(
        &mut self,
        batch: u64,
        blocks: std::ops::Range<u64>,
    ) -> Result<Vec<Option<Vec<u8>>>, MoveError> {
        let mut read = Vec::new();
        let is_recorded = self.known() >= blocks.end;
        let mut fresh = Vec::new();
        for n in blocks {
            let bytes = self.read(self.place(n, Place::Old)?)?;
            let found = digest(&bytes);
            if !is_recorded {
                fresh.push(found);
            } else if Some(found) != self.digest(n) {
                if !self.is_at(n, Place::New)? {
                    return Err(self.lost(n)?);
                }
                read.push(None);
                continue;
            }
            read.push(Some(bytes));
        }
        if !fresh.is_empty() {
            self.journal
                .batch(batch, &fresh)
                .map_err(JournalError::Io)?;
            self.recorded.digests.extend(fresh);
        }
        Ok(read)
    }

    /// Compares what lies there with what was read before.
    fn compare(&self, blocks: std::ops::Range<u64>, place: Place) -> Result<(), MoveError> {
        for n in blocks {
            if !self.is_at(n, place)? {
                let place = self.place(n, place)?;
                return Err(MoveError::Dropped { place });
            }
        }
        Ok(())
    }

    /// How many blocks have a digest.
    fn known(&self) -> u64 {
        u64::try_from(self.recorded.digests.len()).unwrap_or(u64::MAX)
    }

    fn digest(&self, n: u64) -> Option<Digest> {
        self.recorded.digests.get(usize::try_from(n).ok()?).copied()
    }

    fn is_at(&self, n: u64, place: Place) -> Result<bool, MoveError> {
        let bytes = self.read(self.place(n, place)?)?;
        Ok(Some(digest(&bytes)) == self.digest(n))
    }

    fn place(&self, n: u64, place: Place) -> Result<Extent, MoveError> {
        let block = self
            .shift()
            .block(n)
            .ok_or(JournalError::Damaged { at: 0 })?;
        Ok(match place {
            Place::Old => block.from,
            Place::New => block.to,
        })
    }

    fn lost(&self, n: u64) -> Result<MoveError, MoveError> {
        Ok(MoveError::Lost {
            from: self.place(n, Place::Old)?,
            to: self.place(n, Place::New)?,
        })
    }

    fn read(&self, place: Extent) -> Result<Vec<u8>, MoveError> {
        let mut bytes = vec![0; usize::try_from(place.len().get()).unwrap_or(usize::MAX)];
        let read = read_exact(&self.target, place.start(), &mut bytes);
        let what = "reading";
        read.map_err(|source| MoveError::Target {
            what,
            place,
            source,
        })?;
        Ok(bytes)
    }

    fn write(&self, place: Extent, bytes: &[u8]) -> Result<(), MoveError> {
        let what = "writing";
        let written = self.target.write_at(place.start(), bytes);
        written.map_err(|source| MoveError::Target {
            what,
            place,
            source,
        })
    }

    /// What was found may still be in a cache only, if another process left it there.
    fn settle(&mut self) -> Result<(), MoveError> {
        self.journal.settle().map_err(JournalError::Io)?;
        self.flush()?;
        if self.is_in_doubt {
            self.copied = self.locate()?;
        }
        self.is_in_doubt = true;
        Ok(())
    }

    fn flush(&self) -> Result<(), MoveError> {
        self.target.flush().map_err(MoveError::Flush)
    }
}

/// One of the two places of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Old,
    New,
}
