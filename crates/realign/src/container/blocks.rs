//! A disk whose blocks a table places in one file: what all such formats have in common.

use std::fmt;
use std::io;
use std::sync::Arc;

use straddle_geometry::{BlockTable, Bytes, Extent, Place, SectorSize};
use straddle_io::ReadAt;

use super::error::ContainerError;
use super::flat::{grown, inside, len_of};
use super::guest::Guest;
use super::recognised::{Found, recognised};
use crate::Store;
use crate::format::bits::is_zero;
use crate::ids::Ids;

/// Blocks that get their place together: one flush for what is in front of the tables, and one for the tables.
const BATCH: usize = 1024;

/// What one format knows of its tables. It keeps up with what it writes.
pub(super) trait Layout: Send + Sync {
    /// Notes that the contents change, and makes good what a call that was stopped has left. Done before anything else.
    fn touch(&mut self, file: &dyn Store, ids: &mut Ids) -> Result<(), ContainerError>;

    /// Gives places to blocks that have none, in ascending order: first zeroes that are there to stay, then the entries.
    fn allocate(&mut self, file: &dyn Store, blocks: &[u64]) -> Result<(), ContainerError>;

    /// Makes the disk `size` bytes long, which is longer than it is.
    fn grow(&mut self, file: &dyn Store, size: Bytes) -> Result<(), ContainerError>;

    /// True when all blocks of such a disk are meant to have a place.
    fn is_full(&self) -> bool {
        false
    }
}

/// A file as it was read.
pub(super) struct Opened {
    pub(super) table: Arc<dyn BlockTable>,
    pub(super) layout: Box<dyn Layout>,
    pub(super) sector: SectorSize,
    /// What is no reason to refuse the file when it is looked at again.
    pub(super) permitted: Found,
}

/// Reads the file; the sentence says why it is not changed in place.
pub(super) type Open = fn(&Arc<dyn Store>) -> Result<Opened, String>;

/// A disk in blocks.
pub(super) struct Image {
    file: Arc<dyn Store>,
    format: &'static str,
    now: Opened,
    ids: Ids,
}

impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.format, self.size())
    }
}

/// A range of the disk that is in one piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece {
    /// In the file, from there on.
    At(Bytes, u64),
    /// Nowhere.
    Gap(u64),
}

impl Image {
    pub(super) fn new(file: Arc<dyn Store>, format: &'static str, now: Opened, ids: Ids) -> Image {
        Image {
            file,
            format,
            now,
            ids,
        }
    }

    /// What lies at `offset`, no longer than `len`, which ends on the disk. Blocks that follow each other in the file are one piece.
    fn piece(&self, offset: Bytes, len: u64) -> io::Result<Piece> {
        let mut whole: Option<Piece> = None;
        let mut done = 0;
        while done < len {
            let at = offset.checked_add(Bytes::new(done)).unwrap_or(Bytes::MAX);
            let place = self.now.table.locate(at).map_err(io::Error::other)?;
            let run = place.run(at).get().min(len - done);
            let next = match place {
                Place::At { offset, .. } => Piece::At(offset, run),
                Place::Absent { .. } | Place::Zero { .. } => Piece::Gap(run),
                Place::Packed { .. } => {
                    return Err(io::Error::other("a compressed block, which has no place"));
                }
            };
            whole = match (whole, next) {
                (None, next) => Some(next),
                (Some(Piece::At(start, had)), Piece::At(more, run))
                    if start.get().checked_add(had) == Some(more.get()) =>
                {
                    Some(Piece::At(start, had + run))
                }
                (Some(Piece::Gap(had)), Piece::Gap(run)) => Some(Piece::Gap(had + run)),
                (done, _) => return done.ok_or_else(|| io::ErrorKind::InvalidInput.into()),
            };
            done += run.max(1);
        }
        whole.ok_or_else(|| io::ErrorKind::InvalidInput.into())
    }

    /// Takes the table as it is now, after its entries were changed.
    fn again(&mut self) -> Result<(), ContainerError> {
        let refused = |why: String| ContainerError::Refused {
            format: self.format,
            why,
        };
        let found = recognised(&self.file, self.format, &self.now.permitted).map_err(refused)?;
        let table = found.table;
        self.now.table = table.ok_or_else(|| refused("its table of blocks is gone".to_owned()))?;
        Ok(())
    }

    /// Gives a place to each block that begins in `ranges` or before, and has none.
    fn allocate(&mut self, ranges: &[Extent]) -> Result<(), ContainerError> {
        let block = self.now.table.block().get();
        // In order and apart, so that no block is looked at twice.
        let mut wanted: Vec<(u64, u64)> = ranges
            .iter()
            .filter(|range| !range.is_empty())
            .map(|range| {
                let end = range.end().min(self.size()).get();
                (range.start().get() / block, end.div_ceil(block))
            })
            .collect();
        wanted.sort_unstable();
        let mut missing = Vec::new();
        let mut at = 0;
        for (first, end) in wanted {
            at = at.max(first);
            while at < end {
                let start = Bytes::new(at.saturating_mul(block));
                let place = self.now.table.locate(start).map_err(|error| {
                    let why = error.to_string();
                    ContainerError::Refused {
                        format: self.format,
                        why,
                    }
                })?;
                if let Place::Absent { .. } | Place::Zero { .. } = place {
                    missing.push(at);
                }
                at += 1;
                if missing.len() >= BATCH {
                    self.now.layout.allocate(&*self.file, &missing)?;
                    missing.clear();
                    self.again()?;
                }
            }
        }
        if !missing.is_empty() {
            self.now.layout.allocate(&*self.file, &missing)?;
            self.again()?;
        }
        Ok(())
    }

    /// What the last block holds behind the end of the disk would be the guest's when that moves.
    fn clear_tail(&mut self) -> Result<(), ContainerError> {
        let (block, size) = (self.now.table.block(), self.size());
        let (_, within) = size.div_rem(block);
        let last = size.checked_sub(Bytes::new(1));
        let (Some(last), true) = (last, within > Bytes::ZERO) else {
            return Ok(());
        };
        if let Piece::At(place, _) = self.piece(last, 1)? {
            let from = place.checked_add(Bytes::new(1)).unwrap_or(Bytes::MAX);
            let rest = block.bytes().checked_sub(within).unwrap_or_default();
            // A file that ends inside its last block has nothing there.
            let there = self.file.size().checked_sub(from).unwrap_or_default();
            self.file.zero(from, rest.min(there))?;
            self.file.flush()?;
        }
        Ok(())
    }
}

impl ReadAt for Image {
    fn size(&self) -> Bytes {
        self.now.table.size()
    }

    fn read_at(&self, offset: Bytes, buf: &mut [u8]) -> io::Result<usize> {
        let left = self.size().checked_sub(offset).unwrap_or_default();
        let len = left.min(len_of(buf)).get();
        if len == 0 {
            return Ok(0);
        }
        let piece = self.piece(offset, len)?;
        let (Piece::At(_, len) | Piece::Gap(len)) = piece;
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        let Some(buf) = buf.get_mut(..len) else {
            return Ok(0);
        };
        match piece {
            Piece::At(place, _) => crate::format::bits::fill(&*self.file, place.get(), buf)?,
            Piece::Gap(_) => buf.fill(0),
        }
        Ok(len)
    }

    fn data_from(&self, offset: Bytes) -> Bytes {
        let mut at = offset;
        while at < self.size() {
            match self.now.table.locate(at) {
                Ok(place @ (Place::Absent { .. } | Place::Zero { .. })) => {
                    at = at.checked_add(place.run(at)).unwrap_or(Bytes::MAX);
                }
                Ok(Place::At {
                    offset: place, run, ..
                }) => {
                    // The file may have a hole there.
                    let data = self.file.data_from(place).max(place);
                    let skipped = data.checked_sub(place).unwrap_or_default();
                    if skipped < run {
                        return at.checked_add(skipped).unwrap_or(at);
                    }
                    at = at.checked_add(run).unwrap_or(Bytes::MAX);
                }
                Ok(Place::Packed { .. }) | Err(_) => return at,
            }
        }
        self.size().max(offset)
    }
}

impl Store for Image {
    fn write_at(&self, offset: Bytes, bytes: &[u8]) -> io::Result<()> {
        inside(self.size(), offset, len_of(bytes))?;
        let mut done = 0;
        while let Some(rest) = bytes.get(done..).filter(|rest| !rest.is_empty()) {
            let at = offset.checked_add(len_of(&bytes[..done]));
            let at = at.ok_or(io::ErrorKind::InvalidInput)?;
            let piece = self.piece(at, len_of(rest).get())?;
            let (Piece::At(_, len) | Piece::Gap(len)) = piece;
            let len = usize::try_from(len).unwrap_or(usize::MAX).min(rest.len());
            match piece {
                Piece::At(place, _) => self.file.write_at(place, &rest[..len])?,
                Piece::Gap(_) if is_zero(&rest[..len]) => {}
                Piece::Gap(_) => {
                    return Err(io::Error::other(format!(
                        "bytes for byte {} of the disk, which has no place in the {} file: its table was changed meanwhile",
                        at.grouped(),
                        self.format
                    )));
                }
            }
            done += len;
        }
        Ok(())
    }

    fn zero(&self, at: Bytes, len: Bytes) -> io::Result<()> {
        inside(self.size(), at, len)?;
        let mut done = 0;
        while done < len.get() {
            let from = at.checked_add(Bytes::new(done));
            let from = from.ok_or(io::ErrorKind::InvalidInput)?;
            let piece = self.piece(from, len.get() - done)?;
            if let Piece::At(place, run) = piece {
                self.file.zero(place, Bytes::new(run))?;
            }
            let (Piece::At(_, run) | Piece::Gap(run)) = piece;
            done += run.max(1);
        }
        Ok(())
    }

    fn uncache(&self) -> io::Result<()> {
        self.file.uncache()
    }

    fn sector(&self) -> SectorSize {
        self.file.sector()
    }

    fn flush(&self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Guest for Image {
    fn format(&self) -> &'static str {
        self.format
    }

    fn guest_sector(&self) -> SectorSize {
        self.now.sector
    }

    fn prepare(&mut self, ranges: &[Extent]) -> Result<(), ContainerError> {
        self.now.layout.touch(&*self.file, &mut self.ids)?;
        self.again()?;
        self.allocate(ranges)
    }

    fn grow(&mut self, by: Bytes) -> Result<(), ContainerError> {
        let before = self.size();
        let size = grown(self.format, before, by, self.guest_sector())?;
        if by == Bytes::ZERO {
            return Ok(());
        }
        self.now.layout.touch(&*self.file, &mut self.ids)?;
        self.again()?;
        self.clear_tail()?;
        self.now.layout.grow(&*self.file, size)?;
        self.again()?;
        if self.now.layout.is_full() {
            let added = Extent::new(before, by).unwrap_or(Extent::whole(Bytes::ZERO));
            self.allocate(&[added])?;
        }
        Ok(())
    }
}
