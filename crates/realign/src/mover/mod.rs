//! A move carried out: forward, taken up where it was stopped, or back.
//!
//! Block after block is copied in the order of [`Sequence`], and whatever a block is written over was flushed at its new place before,
//! or is in the data journal. So at any instant every block is whole at one of its places or in the journal, whichever writes since
//! the last flush a loss of power takes; and where that is its digest says, which the journal has from before any block of its
//! batch was written. Edits are made when all parts were read back, and rolling back takes them back first.

mod blocks;
mod copy;
mod edits;
mod error;
mod progress;
mod verify;

use std::ops::ControlFlow;
use std::sync::Mutex;

use straddle_geometry::{Bytes, Extent};

use crate::job::{Edit, Job};
use crate::journal::{Contents, Digest, Journal, JournalError, Mark, Recorded, Token, digest};
use crate::sequence::{Sequence, Sizes};
use crate::store::{Store, in_memory, read_exact};

use copy::Direction;
use edits::{Side, check_before};
pub use error::MoveError;
use error::Place;
use progress::{Count, Watch};
pub use progress::{Phase, Progress};

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
    target: T,
    journal: Journal<J>,
    recorded: Recorded,
    /// Blocks before this one, in the order of copying, are at their new places; this one and those behind it at their old ones.
    copied: u64,
    /// Whether that may be wrong: it was not looked at wholly since it was opened, or something failed since, and a device that failed
    /// to keep what was written may say the next time that all is kept.
    is_in_doubt: bool,
    method: Method,
    is_ahead: bool,
    /// The digest of so many zeroes.
    zeroes: Mutex<Option<(usize, Digest)>>,
}

impl<T: Store, J: Store> Move<T, J> {
    /// Begins a move: makes its journal, which has to be as [long](crate::journal::len) as it will be, and changes nothing else.
    ///
    /// # Errors
    /// The target is too short, is not what the edits say, or the journal cannot be made.
    pub fn create(
        target: T,
        journal: J,
        token: Token,
        job: &Job,
        options: &Options,
    ) -> Result<Move<T, J>, MoveError> {
        let size = target.size();
        let parts = job.parts().iter();
        let places = parts.flat_map(|part| [part.source(), part.destination()]);
        let ends = places.chain(job.edits().iter().map(Edit::place));
        let ends = ends.map(|place| place.map_or(Bytes::MAX, Extent::end));
        let needed = ends.max().unwrap_or_default();
        if needed > size {
            return Err(MoveError::Outside {
                size: size.get(),
                needed: needed.get(),
            });
        }
        check_before(&target, job)?;
        let mut contents = Contents::new(job, &options.sizes, &options.label, size)?;
        let read = |place: Extent| {
            let mut bytes = vec![0; in_memory(place.len())];
            let read = read_exact(&target, place.start(), &mut bytes);
            read.map(|()| bytes)
        };
        for saved in &mut contents.saved {
            let bytes = read(saved.place)
                .map_err(|source| blocks::failed("reading", saved.place, source))?;
            saved.digest = digest(&bytes);
        }
        contents.samples = verify::samples(&target, &contents.sequence)?;
        let journal = Journal::create(journal, token, contents, |saved| read(saved.place))?;
        Ok(Move::new(target, journal, Recorded::default(), false))
    }

    /// Takes up a move that was stopped, and looks how far it came. Changes nothing.
    ///
    /// # Errors
    /// The journal is none of this target, which may have been changed since, or a block is nowhere.
    pub fn open(target: T, journal: J) -> Result<Move<T, J>, MoveError> {
        let (journal, recorded) = Journal::open(journal, target.size())?;
        let mut found = Move::new(target, journal, recorded, true);
        if found.is_done() || found.is_restored() {
            found.copied = match found.is_done() {
                true => found.sequence().blocks(),
                false => 0,
            };
        } else if found.may_be_edited() {
            found.check_edits()?;
            found.copied = found.sequence().blocks();
        } else {
            found.check_unedited()?;
            found.copied = found.glance()?;
        }
        Ok(found)
    }

    fn new(target: T, journal: Journal<J>, recorded: Recorded, is_in_doubt: bool) -> Move<T, J> {
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

    /// Does all that is not done yet, and reads it back. `watch` hears how far it is, and can stop it at any time.
    ///
    /// # Errors
    /// It is being rolled back, or something failed: it can be taken up again then, as long as no block is [lost](MoveError::Lost).
    pub fn forward(
        &mut self,
        check: Check,
        mut watch: impl FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<(), MoveError> {
        let mut watch: Watch<'_> = &mut watch;
        self.settle(&mut watch)?;
        if self.is_going_back() {
            return Err(MoveError::Back);
        }
        if self.is_done() {
            self.is_in_doubt = false;
            return Ok(());
        }
        let all = self.sequence().bytes();
        if !self.is_moved() {
            let batches = self.sequence().batch_of(self.copied)..self.sequence().batches();
            let first = self.sequence().first_of(batches.start);
            let done = self.sequence().bytes_before(first);
            let mut count = Count::new(Phase::Moving, done, all, &mut watch);
            self.copy(Direction::Forward, batches, check, &mut count)?;
            self.recorded.batches = self.sequence().batches();
            self.copied = self.sequence().blocks();
            let mut count = Count::new(Phase::ReadingBack, Bytes::ZERO, all, &mut watch);
            self.read_back(Place::New, &mut count)?;
            self.mark(Mark::Moved)?;
        }
        self.check_edits()?;
        let mut count = Count::new(Phase::Editing, Bytes::ZERO, self.edited(), &mut watch);
        self.edit(Side::After, &mut count)?;
        self.mark(Mark::Done)?;
        self.is_in_doubt = false;
        Ok(())
    }

    /// Takes back all that was done, and reads it back. `watch` hears how far it is, and can stop it at any time.
    ///
    /// # Errors
    /// As [`forward`](Move::forward).
    pub fn back(
        &mut self,
        check: Check,
        mut watch: impl FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<(), MoveError> {
        let mut watch: Watch<'_> = &mut watch;
        self.settle(&mut watch)?;
        if self.is_restored() {
            self.is_in_doubt = false;
            return Ok(());
        }
        if self.is_done() && !self.is_going_back() {
            // Everything may have been used since.
            self.verify(&mut watch)?;
        }
        if !self.is_going_back() {
            self.mark(Mark::Back)?;
            // Of those that were recorded, more may have been written than are whole.
            self.copied = self.sequence().first_of(self.recorded.batches);
        }
        if self.may_be_edited() {
            self.check_edits()?;
            let all = self.edited();
            let mut count = Count::new(Phase::UndoingEdits, Bytes::ZERO, all, &mut watch);
            self.edit(Side::Before, &mut count)?;
            self.mark(Mark::Undone)?;
        }
        let all = self.sequence().bytes_before(self.copied);
        let batches = match self.copied.checked_sub(1) {
            Some(last) => 0..self.sequence().batch_of(last) + 1,
            None => 0..0,
        };
        let mut count = Count::new(Phase::MovingBack, Bytes::ZERO, all, &mut watch);
        self.copy(Direction::Back, batches.rev(), check, &mut count)?;
        self.copied = 0;
        let saved = self.journal.contents().saved.iter();
        let free = saved.fold(0_u64, |sum, one| sum.saturating_add(one.place.len().get()));
        let free = Bytes::new(free);
        let mut count = Count::new(Phase::RestoringFreeSpace, Bytes::ZERO, free, &mut watch);
        self.restore_free_space(&mut count)?;
        let known = self.sequence().first_of(self.recorded.batches);
        let all = self.sequence().bytes_before(known);
        let mut count = Count::new(Phase::ReadingBack, Bytes::ZERO, all, &mut watch);
        self.read_back(Place::Old, &mut count)?;
        self.mark(Mark::Restored)?;
        self.is_in_doubt = false;
        Ok(())
    }

    /// Makes sure that what was found is there to stay, and is all that there should be: another process may have left it in a
    /// cache only, and something else may have written to the target.
    fn settle(&mut self, watch: &mut Watch<'_>) -> Result<(), MoveError> {
        self.recorded = self.journal.settle()?;
        self.flush()?;
        self.target.uncache().map_err(MoveError::Flush)?;
        let is_over = self.is_restored() || self.is_done();
        if self.is_in_doubt && !is_over {
            self.verify(watch)?;
        }
        self.is_in_doubt = true;
        Ok(())
    }

    /// Compares all that is known of with what is there.
    fn verify(&mut self, watch: &mut Watch<'_>) -> Result<(), MoveError> {
        let known = self.sequence().first_of(self.recorded.batches);
        let all = self.sequence().bytes_before(known);
        let mut count = Count::new(Phase::Verifying, Bytes::ZERO, all, watch);
        if self.may_be_edited() {
            self.check_edits()?;
            self.compare_edited(&mut count)?;
            self.copied = self.sequence().blocks();
        } else {
            self.check_unedited()?;
            let batches = 0..self.recorded.batches;
            self.copied = self.locate(self.direction(), batches, &mut count)?;
        }
        Ok(())
    }

    /// Whether an edit may be made already, or still.
    fn may_be_edited(&self) -> bool {
        self.recorded.has(Mark::Moved) && !self.recorded.has(Mark::Undone)
    }

    fn direction(&self) -> Direction {
        match self.is_going_back() {
            true => Direction::Back,
            false => Direction::Forward,
        }
    }

    fn mark(&mut self, mark: Mark) -> Result<(), MoveError> {
        self.journal.mark(mark).map_err(JournalError::Io)?;
        self.recorded.set(mark);
        Ok(())
    }

    /// Bytes of all edits.
    fn edited(&self) -> Bytes {
        let edits = self.job().edits().iter();
        let sum = edits.fold(0_u64, |sum, edit| {
            sum.saturating_add(edit.after.len() as u64)
        });
        Bytes::new(sum)
    }

    /// The digest of a buffer of zeroes, which is computed once for all of one length.
    fn of_zeroes(&self, buf: &[u8]) -> Digest {
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
