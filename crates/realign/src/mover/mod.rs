//! A move carried out: forward, taken up where it was stopped, or back.
//!
//! Block after block is copied in the order of [`Sequence`](crate::Sequence), and whatever a block is written over was flushed at its new place before,
//! or is in the data journal. So at any instant every block is whole at one of its places or in the journal, whichever writes since
//! the last flush a loss of power takes; and where that is its digest says, which the journal has from before any block of its
//! batch was written. Edits are made when all parts were read back, and rolling back takes them back first.

mod blocks;
mod copy;
mod edits;
mod error;
mod progress;
mod state;
mod verify;

use std::ops::ControlFlow;

use straddle_geometry::{Bytes, Extent};

use crate::job::{Edit, Job};
use crate::journal::{Contents, Journal, JournalError, Mark, Recorded, Token, digest};
use crate::store::{Store, in_memory, read_exact};

use copy::Direction;
use edits::{Side, check_before};
pub use error::MoveError;
use error::Place;
use progress::{Count, Watch};
pub use progress::{Phase, Progress};
pub use state::{Check, Method, Move, Options};

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
}
