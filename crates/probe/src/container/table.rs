//! Block tables in files: read in chunks, never held.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use straddle_geometry::{
    BlockTable, Bytes, Extent, Gap, Place, Row, Segment, Sink, TableError, Unit, entry,
};
use straddle_io::ReadAt;

/// Bytes of a table that are read at once when it is streamed: a few times a level-2 cache would only be slower.
const CHUNK: u64 = 256 << 10;
/// Entries that are decoded and sent at once, so that they stay in the level-1 cache.
pub(crate) const BATCH: usize = 1024;
/// Bytes that are read and kept when one entry is asked for.
const PAGE: u64 = 4096;

/// The file that holds a table.
pub(crate) struct TableFile {
    file: Arc<dyn ReadAt>,
    /// The page that was read last: whoever asks for one entry asks for its neighbour next.
    page: Mutex<(u64, Vec<u8>)>,
}

impl std::fmt::Debug for TableFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "file of {}", self.file.size())
    }
}

impl TableFile {
    pub(crate) fn new(file: &Arc<dyn ReadAt>) -> TableFile {
        TableFile {
            file: Arc::clone(file),
            page: Mutex::new((0, Vec::new())),
        }
    }

    /// Fills `buf` with the bytes at `offset`, past the page that is kept.
    pub(crate) fn fill(&self, offset: u64, buf: &mut [u8]) -> Result<(), TableError> {
        let mut done = 0;
        while done < buf.len() {
            let at = offset.saturating_add(u64::try_from(done)?);
            match self.file.read_at(Bytes::new(at), &mut buf[done..]) {
                Ok(0) => {
                    return Err(format!(
                        "the table ends at byte {}, where the file ends; {} more bytes of it were expected",
                        Bytes::new(at).grouped(),
                        buf.len() - done
                    )
                    .into());
                }
                Ok(n) => done += n,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => {
                    return Err(format!(
                        "reading the table at byte {} failed: {error}",
                        Bytes::new(at).grouped()
                    )
                    .into());
                }
            }
        }
        Ok(())
    }

    /// The `N` bytes at `offset`, a multiple of `N`, which is a power of two.
    pub(crate) fn get<const N: usize>(&self, offset: u64) -> Result<[u8; N], TableError> {
        let mut out = [0; N];
        let start = offset / PAGE * PAGE;
        let within = usize::try_from(offset - start)?;
        let mut page = self.page.lock().unwrap_or_else(PoisonError::into_inner);
        if page.0 != start || page.1.is_empty() {
            let left = self.file.size().get().saturating_sub(start).min(PAGE);
            let mut bytes = vec![0; usize::try_from(left)?];
            self.fill(start, &mut bytes)?;
            *page = (start, bytes);
        }
        match page.1.get(within..within.saturating_add(N)) {
            Some(bytes) => out.copy_from_slice(bytes),
            None => self.fill(offset, &mut out)?,
        }
        Ok(out)
    }

    /// Calls `each` with `len` bytes from `offset` on, chunk by chunk; all chunks but the last are multiples of 4 KiB long.
    pub(crate) fn chunks(
        &self,
        offset: u64,
        len: u64,
        mut each: impl FnMut(&[u8]) -> Result<(), TableError>,
    ) -> Result<(), TableError> {
        let mut chunk = vec![0; usize::try_from(len.min(CHUNK))?];
        let mut at = 0;
        while at < len {
            let part = &mut chunk[..usize::try_from((len - at).min(CHUNK))?];
            self.fill(offset.saturating_add(at), part)?;
            each(part)?;
            at += CHUNK;
        }
        Ok(())
    }
}

/// A range of a virtual disk by its blocks: a part of a block, whole blocks, a part of a block.
pub(crate) struct Cut {
    pub(crate) head: Option<Extent>,
    pub(crate) whole: Range<u64>,
    pub(crate) tail: Option<Extent>,
}

impl Cut {
    /// `range`, ended at the end of the disk.
    pub(crate) fn new(range: Extent, block: Unit, size: Bytes) -> Cut {
        let unit = block.get();
        let (start, end) = (range.start().get(), range.end().min(size).get());
        let part = |from: u64, to: u64| {
            Extent::new(Bytes::new(from), Bytes::new(to.checked_sub(from)?))
                .filter(|extent| !extent.is_empty())
        };
        let first = start.div_ceil(unit);
        let last = end / unit;
        if start >= end {
            return Cut {
                head: None,
                whole: 0..0,
                tail: None,
            };
        }
        if first > last {
            // Inside one block.
            return Cut {
                head: part(start, end),
                whole: 0..0,
                tail: None,
            };
        }
        Cut {
            head: part(start, first.saturating_mul(unit)),
            whole: first..last,
            tail: part(last.saturating_mul(unit), end),
        }
    }
}

/// Sends what `table` says about `part`, which lies inside one block, answer by answer.
pub(crate) fn send_part(
    table: &dyn BlockTable,
    part: Extent,
    sink: &mut dyn Sink,
) -> Result<(), TableError> {
    let mut at = part.start();
    while at < part.end() {
        let place = table.locate(at)?;
        let left = part.end().checked_sub(at).unwrap_or(Bytes::ZERO);
        let run = place.run(at).min(left).max(Bytes::new(1));
        let upper = Extent::new(at, run).ok_or("a virtual disk beyond 2⁶⁴ bytes")?;
        match place {
            Place::At { target, offset, .. } => sink.piece(Segment {
                upper,
                target,
                lower: offset,
            }),
            Place::Absent { .. } => sink.gap(upper, Gap::Absent),
            Place::Zero { .. } => sink.gap(upper, Gap::Zero),
            Place::Packed { .. } => sink.gap(upper, Gap::Packed),
        }
        at = upper.end();
    }
    Ok(())
}

/// How a format writes the entries of a flat table: one after the other, each for one block.
pub(crate) trait Entries: std::fmt::Debug + Send + Sync {
    /// Bytes of an entry; a power of two.
    const WIDTH: u64;

    /// Appends for each entry in `raw` the address of its block in the container's file, or a mark of [`entry`].
    fn decode(&self, raw: &[u8], out: &mut Vec<u64>);

    /// What the first entries in `raw` stand for, as long as one follows the other evenly. It need not be found.
    fn even(&self, raw: &[u8]) -> Option<Even> {
        let _ = raw;
        None
    }
}

/// Entries that follow each other evenly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Even {
    /// Where the block of the first lies, or a mark of [`entry`] that all of them stand for.
    pub(crate) lower: u64,
    /// From one block to the next; 0 for a mark.
    pub(crate) stride: u64,
    /// How many entries.
    pub(crate) count: usize,
}

impl Even {
    /// Sends it to `sink` as the blocks from address `first` on.
    pub(crate) fn send(
        self,
        first: Bytes,
        block: Unit,
        sink: &mut dyn Sink,
    ) -> Result<(), TableError> {
        let count = u64::try_from(self.count)?;
        match (entry::gap(self.lower), Unit::new(self.stride)) {
            (Some(gap), _) => {
                let upper = Extent::new(first, Bytes::new(count.saturating_mul(block.get())));
                sink.gap(upper.ok_or("a virtual disk beyond 2⁶⁴ bytes")?, gap);
            }
            (None, Some(stride)) => sink.row(Row {
                first,
                block,
                target: 0,
                lower: Bytes::new(self.lower),
                stride,
                count,
            }),
            (None, None) => {}
        }
        Ok(())
    }
}

/// How many of `entries` follow each other at one distance, and that distance; `None` when they are too few to be worth
/// it. `value` must not depend on anything but the entry, so that the comparison can be done on several at once.
macro_rules! evenly {
    ($entries:expr, $value:expr) => {{
        let entries = $entries;
        let value = $value;
        match entries {
            [first, second, ..] => {
                let first = value(first);
                let step = value(second).wrapping_sub(first);
                let (mut count, mut expected) = (0, first);
                // Where the order is random the first few tell.
                let mut part = crate::container::table::MIN;
                while count < entries.len() {
                    let end = entries.len().min(count + part);
                    let mut next = expected;
                    let differs = entries[count..end].iter().fold(0, |differs, entry| {
                        let differs = differs | (value(entry) ^ next);
                        next = next.wrapping_add(step);
                        differs
                    });
                    if differs != 0 {
                        break;
                    }
                    (count, expected) = (end, next);
                    part = count.min(crate::container::table::BATCH);
                }
                (count >= crate::container::table::MIN).then_some((first, step, count))
            }
            _ => None,
        }
    }};
}
pub(crate) use evenly;

/// Fewest entries that are looked at as one.
pub(crate) const MIN: usize = 16;

/// A flat table in one file: dynamic VHD, VDI.
#[derive(Debug)]
pub(crate) struct Flat<E> {
    pub(crate) file: TableFile,
    /// Where the table starts.
    pub(crate) start: u64,
    /// Number of entries that it has; blocks beyond them are an error.
    pub(crate) entries: u64,
    pub(crate) block: Unit,
    pub(crate) size: Bytes,
    pub(crate) parent: Option<usize>,
    pub(crate) format: E,
}

impl<E: Entries> Flat<E> {
    /// The position of an entry in the file.
    fn at(&self, index: u64) -> Result<u64, TableError> {
        if index >= self.entries {
            return Err(format!(
                "the table has {} entries; block {} is beyond them",
                Bytes::new(self.entries).grouped(),
                Bytes::new(index).grouped()
            )
            .into());
        }
        let at = index
            .checked_mul(E::WIDTH)
            .and_then(|n| self.start.checked_add(n));
        Ok(at.ok_or("the table lies beyond 2⁶⁴ bytes")?)
    }
}

impl<E: Entries> Flat<E> {
    /// Calls `each` with the entries of `blocks`, chunk by chunk. When the table is too short, what it does hold comes
    /// first, then the error that names the last block.
    pub(crate) fn chunks(
        &self,
        blocks: Range<u64>,
        each: impl FnMut(&[u8]) -> Result<(), TableError>,
    ) -> Result<(), TableError> {
        let have = blocks.end.min(self.entries);
        let count = have.saturating_sub(blocks.start);
        let start = self
            .start
            .saturating_add(blocks.start.saturating_mul(E::WIDTH));
        self.file
            .chunks(start, count.saturating_mul(E::WIDTH), each)?;
        self.at(blocks.end.saturating_sub(1))?;
        Ok(())
    }
}

impl<E: Entries> BlockTable for Flat<E> {
    fn block(&self) -> Unit {
        self.block
    }

    fn size(&self) -> Bytes {
        self.size
    }

    fn parent(&self) -> Option<usize> {
        self.parent
    }

    fn locate(&self, offset: Bytes) -> Result<Place, TableError> {
        let (index, within) = offset.div_rem(self.block);
        let at = self.at(index)?;
        let mut lower = Vec::with_capacity(1);
        if E::WIDTH == 4 {
            self.format.decode(&self.file.get::<4>(at)?, &mut lower);
        } else {
            self.format.decode(&self.file.get::<8>(at)?, &mut lower);
        }
        let run = self
            .block
            .bytes()
            .checked_sub(within)
            .unwrap_or(Bytes::new(1));
        let place = lower.first().copied().unwrap_or(entry::ABSENT);
        Ok(match entry::gap(place) {
            Some(Gap::Absent) => Place::Absent { run },
            Some(Gap::Zero | Gap::Packed) => Place::Zero { run },
            None => Place::At {
                target: 0,
                offset: Bytes::new(place)
                    .checked_add(within)
                    .ok_or("a block beyond 2⁶⁴ bytes")?,
                run,
            },
        })
    }

    fn stream(&self, range: Extent, sink: &mut dyn Sink) -> Result<(), TableError> {
        let cut = Cut::new(range, self.block, self.size);
        if let Some(head) = cut.head {
            send_part(self, head, sink)?;
        }
        if !cut.whole.is_empty() {
            let mut lower = Vec::new();
            let mut first = cut.whole.start;
            let width = usize::try_from(E::WIDTH)?;
            self.chunks(cut.whole, |mut raw| {
                while !raw.is_empty() {
                    let at = Bytes::new(first.saturating_mul(self.block.get()));
                    let count = if let Some(even) = self.format.even(raw) {
                        even.send(at, self.block, sink)?;
                        even.count
                    } else {
                        lower.clear();
                        let most = raw.len().min(BATCH * width);
                        self.format.decode(&raw[..most], &mut lower);
                        sink.blocks(at, 0, &lower);
                        lower.len()
                    };
                    first = first.saturating_add(u64::try_from(count)?);
                    raw = raw.get(count.max(1) * width..).unwrap_or(&[]);
                }
                Ok(())
            })?;
        }
        match cut.tail {
            Some(tail) => send_part(self, tail, sink),
            None => Ok(()),
        }
    }
}
