//! Single blocks: read, written, found by their digests.

use straddle_geometry::{Bytes, Extent};

use crate::journal::{Digest, JournalError, digest};
use crate::shift::Block;
use crate::store::{Store, in_memory, read_exact};

use super::error::{MoveError, Place};
use super::state::Move;

/// A shorter hole is written: a call for each costs more.
const SHORTEST_HOLE: usize = 64 << 10;

/// The holes of a block that was read: where they start and how long they are, from its beginning. None touches another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Holes(Vec<(usize, usize)>);

impl Holes {
    pub(super) fn are_none(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn are_all_of(&self, len: usize) -> bool {
        self.0 == [(0, len)]
    }
}

/// Where a block was found. It was read from there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// At the place that was looked at first.
    First(Holes),
    /// At the other place, and not at the first.
    Other,
    /// In the data journal only.
    Slot,
}

impl<T: Store, J: Store> Move<T, J> {
    /// Reads a block, and finds out which of it are holes.
    pub(super) fn read(&self, place: Extent, buf: &mut [u8]) -> Result<Holes, MoveError> {
        self.read_run(place, buf)?;
        Ok(self.holes(place, buf))
    }

    /// Reads blocks that are next to each other. What is nothing but a hole is not read.
    pub(super) fn read_run(&self, place: Extent, buf: &mut [u8]) -> Result<(), MoveError> {
        match self.hole_at(place.start()) >= place.len() {
            true => buf.fill(0),
            false => self.read_all(place, buf)?,
        }
        Ok(())
    }

    /// Which of a block that was read are holes. Nothing tells where data end, but only where there are zeroes can be a hole.
    pub(super) fn holes(&self, place: Extent, buf: &[u8]) -> Holes {
        let hole_at = |within: usize| {
            let at = place.start().checked_add(length(within));
            self.hole_at(at.unwrap_or(Bytes::MAX))
        };
        if is_zero(buf) && hole_at(0) >= place.len() {
            return Holes(vec![(0, buf.len())]);
        }
        let mut holes: Vec<(usize, usize)> = Vec::new();
        for (n, piece) in buf.chunks_exact(SHORTEST_HOLE).enumerate() {
            let start = n * SHORTEST_HOLE;
            if !is_zero(piece) || hole_at(start) < length(SHORTEST_HOLE) {
                continue;
            }
            match holes.last_mut() {
                Some((at, len)) if *at + *len == start => *len += SHORTEST_HOLE,
                _ => holes.push((start, SHORTEST_HOLE)),
            }
        }
        Holes(holes)
    }

    /// How long the hole is that begins there, if one does.
    fn hole_at(&self, at: Bytes) -> Bytes {
        let data = self.target.data_from(at);
        data.checked_sub(at).unwrap_or_default()
    }

    /// Reads bytes, holes or not.
    pub(super) fn read_all(&self, place: Extent, buf: &mut [u8]) -> Result<(), MoveError> {
        let read = read_exact(&self.target, place.start(), buf);
        read.map_err(|source| failed("reading", place, source))
    }

    /// Writes a block, its holes as holes.
    pub(super) fn write(
        &self,
        place: Extent,
        bytes: &[u8],
        holes: &Holes,
    ) -> Result<(), MoveError> {
        let mut done = 0;
        for (start, len) in &holes.0 {
            self.write_all(place, done, bytes.get(done..*start))?;
            let at = place.start().checked_add(length(*start));
            let zeroed = self.target.zero(at.unwrap_or(Bytes::MAX), length(*len));
            zeroed.map_err(|source| failed("writing", place, source))?;
            done = start + len;
        }
        self.write_all(place, done, bytes.get(done..))
    }

    fn write_all(&self, place: Extent, from: usize, bytes: Option<&[u8]>) -> Result<(), MoveError> {
        let Some(bytes) = bytes.filter(|bytes| !bytes.is_empty()) else {
            return Ok(());
        };
        let at = place.start().checked_add(length(from));
        let written = self.target.write_at(at.unwrap_or(Bytes::MAX), bytes);
        written.map_err(|source| failed("writing", place, source))
    }

    /// Reads a block from wherever it is as it was: from one of its places, `first` that one, or from its slot.
    pub(super) fn find(
        &self,
        n: u64,
        wanted: Digest,
        first: Place,
        buf: &mut [u8],
    ) -> Result<Found, MoveError> {
        let block = self.block(n)?;
        let holes = self.read(block.at(first), buf)?;
        if digest(buf) == wanted {
            return Ok(Found::First(holes));
        }
        self.read_all(block.at(first.other()), buf)?;
        if digest(buf) == wanted {
            return Ok(Found::Other);
        }
        let read = self.journal.read_slot(n, buf);
        if read.map_err(JournalError::Io)? && digest(buf) == wanted {
            return Ok(Found::Slot);
        }
        Err(MoveError::Lost {
            from: block.from,
            to: block.to,
        })
    }

    /// Fails when something is not where it was written.
    pub(super) fn expect(
        &self,
        place: Extent,
        wanted: Digest,
        buf: &mut [u8],
    ) -> Result<(), MoveError> {
        self.read_all(place, buf)?;
        match digest(buf) == wanted {
            true => Ok(()),
            false => Err(MoveError::Dropped { place }),
        }
    }

    pub(super) fn block(&self, n: u64) -> Result<Block, MoveError> {
        let block = self.journal.sequence().block(n);
        Ok(block.ok_or(JournalError::Damaged { at: 0 })?)
    }

    pub(super) fn flush(&self) -> Result<(), MoveError> {
        self.target.flush().map_err(MoveError::Flush)
    }
}

impl Block {
    /// One of its places.
    pub(super) fn at(&self, place: Place) -> Extent {
        match place {
            Place::Old => self.from,
            Place::New => self.to,
        }
    }

    /// Its length in memory.
    pub(super) fn size(&self) -> usize {
        in_memory(self.from.len())
    }
}

impl Place {
    pub(super) fn other(self) -> Place {
        match self {
            Place::Old => Place::New,
            Place::New => Place::Old,
        }
    }
}

pub(super) fn failed(what: &'static str, place: Extent, source: std::io::Error) -> MoveError {
    MoveError::Target {
        what,
        place,
        source,
    }
}

pub(super) fn length(len: usize) -> Bytes {
    Bytes::new(u64::try_from(len).unwrap_or(u64::MAX))
}

/// Whether there are zeroes only.
pub(super) fn is_zero(bytes: &[u8]) -> bool {
    let mut pieces = bytes.chunks(64);
    pieces.all(|piece| piece.iter().fold(0, |all, byte| all | byte) == 0)
}
