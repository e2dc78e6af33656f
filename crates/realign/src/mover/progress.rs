use std::ops::ControlFlow;

use straddle_geometry::Bytes;

use super::error::MoveError;

/// What a move is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Comparing what is there with the journal, before anything is written.
    Verifying,
    /// Copying blocks to their new places.
    Moving,
    /// Comparing everything that was moved with what was read.
    ReadingBack,
    /// Making edits.
    Editing,
    /// Taking edits back.
    UndoingEdits,
    /// Copying blocks to their old places.
    MovingBack,
    /// Writing back free space that had been written over.
    RestoringFreeSpace,
}

/// How far a move is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// In which phase; one comes after the other.
    pub phase: Phase,
    /// Bytes of this phase that are done.
    pub done: Bytes,
    /// Of how many.
    pub of: Bytes,
}

/// Who hears of progress, and may ask to stop.
pub(super) type Watch<'a> = &'a mut dyn FnMut(Progress) -> ControlFlow<()>;

/// Counts what is done in one phase.
pub(super) struct Count<'a, 'b> {
    progress: Progress,
    watch: &'a mut Watch<'b>,
}

impl<'a, 'b> Count<'a, 'b> {
    pub(super) fn new(
        phase: Phase,
        done: Bytes,
        of: Bytes,
        watch: &'a mut Watch<'b>,
    ) -> Count<'a, 'b> {
        Count {
            progress: Progress { phase, done, of },
            watch,
        }
    }

    /// So many more bytes are done.
    pub(super) fn add(&mut self, bytes: Bytes) -> Result<(), MoveError> {
        let done = self.progress.done.checked_add(bytes);
        self.progress.done = done.unwrap_or(Bytes::MAX);
        match (self.watch)(self.progress) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(MoveError::Stopped),
        }
    }
}
