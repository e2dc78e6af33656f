//! Edits: made, taken back, and told from what somebody else wrote.

use straddle_geometry::{Bytes, Extent};
use straddle_io::{AlignedBytes, ReadAt};

use crate::job::{Edit, Job};
use crate::journal::Saved;
use crate::store::{Store, in_memory, read_exact};

use super::blocks::{failed, is_zero, length};
use super::error::MoveError;
use super::progress::Count;
use super::state::Move;

/// What no disk tears.
const SECTOR: u64 = 512;

/// Which of its bytes an edit leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Before,
    After,
}

impl Side {
    fn of(self, edit: &Edit) -> &[u8] {
        match self {
            Side::Before => &edit.before,
            Side::After => &edit.after,
        }
    }
}

impl<T: Store, J: Store> Move<T, J> {
    /// Every sector of every edit has to be as it was before, or as it is afterwards.
    pub(super) fn check_edits(&self) -> Result<(), MoveError> {
        for edit in self.job().edits() {
            let (found, within) = self.read_edit(edit)?;
            let found = found.get(within..).unwrap_or_default();
            for piece in pieces(edit) {
                let here = found.get(piece.clone());
                if here != edit.before.get(piece.clone()) && here != edit.after.get(piece) {
                    return Err(changed(edit));
                }
            }
        }
        Ok(())
    }

    /// As long as parts are on their way, edits have not been made: where no part comes, everything is as before.
    pub(super) fn check_unedited(&self) -> Result<(), MoveError> {
        for edit in self.job().edits() {
            let (found, within) = self.read_edit(edit)?;
            let mut done = 0;
            while done < edit.before.len() {
                let at = edit.at.checked_add(length(done)).unwrap_or(Bytes::MAX);
                let (origin, rest) = self.job().origin(at);
                let end = edit.before.len().min(done.saturating_add(in_memory(rest)));
                let here = found.get(within + done..within + end);
                if origin == at && here != edit.before.get(done..end) {
                    return Err(changed(edit));
                }
                done = end;
            }
        }
        Ok(())
    }

    /// Makes all edits, or takes them back, and reads back what was written.
    pub(super) fn edit(&self, bytes: Side, count: &mut Count<'_, '_>) -> Result<(), MoveError> {
        let edits = self.job().edits();
        let edits: Vec<&Edit> = match bytes {
            Side::After => edits.iter().collect(),
            Side::Before => edits.iter().rev().collect(),
        };
        for edit in &edits {
            let (mut cover, within) = self.read_edit(edit)?;
            let new = bytes.of(edit);
            let old = cover.get_mut(within..within + new.len());
            old.unwrap_or_default().copy_from_slice(new);
            let place = self.cover(edit);
            let written = self.target.write_at(place.start(), &cover);
            written.map_err(|source| failed("writing", place, source))?;
            // One after the other: of two copies of a table one is whole at any instant.
            self.flush()?;
            count.add(length(new.len()))?;
        }
        self.target.uncache().map_err(MoveError::Flush)?;
        for edit in &edits {
            let (found, within) = self.read_edit(edit)?;
            let new = bytes.of(edit);
            if found.get(within..within + new.len()) != Some(new) {
                let place = self.cover(edit);
                return Err(MoveError::Dropped { place });
            }
        }
        Ok(())
    }

    /// Bytes of parts that were read at `offset`, as they are without edits.
    pub(super) fn without_edits(&self, offset: Bytes, bytes: &mut [u8]) {
        lay(self.job(), Side::Before, offset, bytes);
    }

    /// Whole sectors around an edit, and where in them it begins.
    fn read_edit(&self, edit: &Edit) -> Result<(AlignedBytes, usize), MoveError> {
        let place = self.cover(edit);
        let mut bytes = AlignedBytes::new(place.len()).map_err(MoveError::System)?;
        self.read_all(place, &mut bytes)?;
        let within = edit.at.checked_sub(place.start()).unwrap_or_default();
        Ok((bytes, in_memory(within)))
    }

    fn cover(&self, edit: &Edit) -> Extent {
        let sector = u64::from(self.target.sector().get());
        let end = edit.place().map_or(edit.at, Extent::end).get();
        let end = end.checked_next_multiple_of(sector).unwrap_or(u64::MAX);
        let end = end.min(self.target.size().get());
        let start = edit.at.get() - edit.at.get() % sector;
        let place = Extent::new(Bytes::new(start), Bytes::new(end.saturating_sub(start)));
        place.unwrap_or(Extent::whole(Bytes::ZERO))
    }

    /// Writes back what had been written over. What is not in the journal as it was stays as it is.
    pub(super) fn restore_free_space(&self, count: &mut Count<'_, '_>) -> Result<(), MoveError> {
        for is_written in [false, true] {
            let mut failure = None;
            self.journal.free_space(|saved, bytes| {
                if let (Some(bytes), None) = (bytes, &failure) {
                    let done = match is_written {
                        false => self.restore(saved, bytes, count),
                        true => self.expect_restored(saved),
                    };
                    failure = done.err();
                }
                Ok(())
            })?;
            if let Some(error) = failure {
                return Err(error);
            }
            self.flush()?;
            self.target.uncache().map_err(MoveError::Flush)?;
        }
        Ok(())
    }

    fn restore(
        &self,
        saved: &Saved,
        bytes: &[u8],
        count: &mut Count<'_, '_>,
    ) -> Result<(), MoveError> {
        let (at, len) = (saved.place.start(), saved.place.len());
        let written = match is_zero(bytes) {
            true => self.target.zero(at, len),
            false => self.target.write_at(at, bytes),
        };
        written.map_err(|source| failed("writing", saved.place, source))?;
        count.add(len)
    }

    fn expect_restored(&self, saved: &Saved) -> Result<(), MoveError> {
        let mut buf = AlignedBytes::new(saved.place.len()).map_err(MoveError::System)?;
        self.expect(saved.place, saved.digest, &mut buf)
    }
}

/// What will be at the place of each edit has to be what it says.
pub(super) fn check_before(target: &impl ReadAt, job: &Job) -> Result<(), MoveError> {
    for edit in job.edits() {
        let mut done = 0;
        while done < edit.before.len() {
            let at = edit.at.checked_add(length(done)).unwrap_or(Bytes::MAX);
            let (origin, rest) = job.origin(at);
            let len = (edit.before.len() - done).min(in_memory(rest));
            let mut found = vec![0; len];
            read_exact(target, origin, &mut found).map_err(|source| {
                let place = Extent::new(origin, length(len));
                failed(
                    "reading",
                    place.unwrap_or(Extent::whole(Bytes::ZERO)),
                    source,
                )
            })?;
            if edit.before.get(done..done + len) != Some(&found) {
                return Err(changed(edit));
            }
            done += len;
        }
    }
    Ok(())
}

/// Lays what edits leave over bytes that were read at `offset`.
fn lay(job: &Job, which: Side, offset: Bytes, bytes: &mut [u8]) {
    let (start, end) = (
        offset.get(),
        offset.get().saturating_add(bytes.len() as u64),
    );
    for edit in job.edits() {
        let new = which.of(edit);
        let first = edit.at.get();
        if first >= end || first.saturating_add(new.len() as u64) <= start {
            continue;
        }
        let ahead = in_memory(Bytes::new(first.saturating_sub(start)));
        let skipped = in_memory(Bytes::new(start.saturating_sub(first)));
        let (Some(into), Some(from)) = (bytes.get_mut(ahead..), new.get(skipped..)) else {
            continue;
        };
        into.iter_mut()
            .zip(from)
            .for_each(|(into, from)| *into = *from);
    }
}

/// The sectors of an edit, as ranges of its bytes.
fn pieces(edit: &Edit) -> impl Iterator<Item = std::ops::Range<usize>> {
    let len = edit.before.len();
    let first = in_memory(Bytes::new(SECTOR - edit.at.get() % SECTOR));
    let starts = std::iter::once(0).chain((first..len).step_by(in_memory(Bytes::new(SECTOR))));
    starts.map(move |start| {
        let whole = if start == 0 {
            first
        } else {
            in_memory(Bytes::new(SECTOR))
        };
        start..len.min(start + whole)
    })
}

fn changed(edit: &Edit) -> MoveError {
    MoveError::Changed {
        place: edit.place().unwrap_or(Extent::whole(Bytes::ZERO)),
        what: edit.what.clone(),
    }
}
