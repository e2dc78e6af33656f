//! Grain directory and grain tables: the block table of all sparse extents.
//!
//! ```text
//! directory: u32 per table: the sector where it lies, 0 when no grain of it exists
//! table:     u32 per grain: the sector where it lies, 0 absent, 1 zeroes (only where the header allows it)
//! packed grain: u64 first sector of the disk   u32 bytes that follow   zlib stream
//! ```

use std::collections::HashSet;
use std::io::Read;

use straddle_geometry::{BlockTable, Bytes, Extent, Gap, Place, Sink, TableError, Unit, entry};

use crate::container::table::{Cut, TableFile, send_part};

pub(super) const SECTOR: u64 = 512;
/// Bytes of an entry, of the directory and of a table.
const WIDTH: u64 = 4;

/// What the entries of the tables mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Meaning {
    /// An entry of 1 stands for zeroes.
    pub(super) zeroes: bool,
    /// Grains are compressed.
    pub(super) packed: bool,
    /// A compressed grain begins with its address and length.
    pub(super) markers: bool,
}

/// Most grain tables of which is known that they were read. No two entries of a directory may name one table: else a small file
/// could keep a reader busy for long.
const MAX_REMEMBERED: usize = 1 << 18;

#[derive(Debug)]
pub(super) struct GrainTable {
    /// Each keeps the page that it read last: the directory and the tables are asked in turns.
    pub(super) directory: TableFile,
    pub(super) tables: TableFile,
    pub(super) markers: TableFile,
    /// Where the directory starts.
    pub(super) start: u64,
    /// Tables that the directory has; grains beyond them are an error.
    pub(super) count: u64,
    /// Grains of a table.
    pub(super) per_table: Unit,
    pub(super) grain: Unit,
    pub(super) size: Bytes,
    pub(super) parent: Option<usize>,
    pub(super) meaning: Meaning,
}

impl Meaning {
    fn place(self, sector: u32) -> u64 {
        match sector {
            0 => entry::ABSENT,
            1 if self.zeroes => entry::ZERO,
            _ if self.packed => entry::PACKED,
            n => u64::from(n) * SECTOR,
        }
    }

    fn decode(self, raw: &[u8], out: &mut Vec<u64>) {
        let (entries, _) = raw.as_chunks::<4>();
        out.extend(
            entries
                .iter()
                .map(|raw| self.place(u32::from_le_bytes(*raw))),
        );
    }
}

impl GrainTable {
    /// Bytes of a table.
    fn table_len(&self) -> u64 {
        self.per_table.get().saturating_mul(WIDTH)
    }

    fn check(&self, table: u64) -> Result<(), TableError> {
        if table < self.count {
            return Ok(());
        }
        Err(format!(
            "the grain directory has {} entries; grain table {} is beyond them",
            Bytes::new(self.count).grouped(),
            Bytes::new(table).grouped()
        )
        .into())
    }

    /// What a packed grain at byte `at` takes: its marker tells; where it cannot, twice a grain, as nothing is longer.
    fn packed(&self, at: u64) -> Extent {
        let rough = self.grain.get().saturating_mul(2);
        let len = if self.meaning.markers {
            match self.markers.get::<16>(at) {
                Ok([_, _, _, _, _, _, _, _, a, b, c, d, ..]) => {
                    (u64::from(u32::from_le_bytes([a, b, c, d])) + 12).min(rough)
                }
                Err(_) => rough,
            }
        } else {
            rough
        };
        Extent::new(Bytes::new(at), Bytes::new(len)).unwrap_or(Extent::whole(Bytes::ZERO))
    }

    /// Sends the grains `first..end` of one table, or of several that lie one after another; the first of them has
    /// its entry at byte `at`.
    fn send(&self, at: u64, first: u64, end: u64, sink: &mut dyn Sink) -> Result<(), TableError> {
        let mut lower = Vec::new();
        let mut grain = first;
        self.tables
            .chunks(at, (end - first).saturating_mul(WIDTH), |raw| {
                lower.clear();
                self.meaning.decode(raw, &mut lower);
                sink.blocks(
                    Bytes::new(grain.saturating_mul(self.grain.get())),
                    0,
                    &lower,
                );
                grain = grain.saturating_add(u64::try_from(lower.len())?);
                Ok(())
            })
    }

    /// Sends the grains in `first..end` of the tables whose directory entries are `entries`, the first for `table`.
    fn send_tables(
        &self,
        entries: &[u32],
        table: u64,
        first: u64,
        end: u64,
        used: &mut HashSet<u32>,
        sink: &mut dyn Sink,
    ) -> Result<(), TableError> {
        let per_table = self.per_table.get();
        // Tables in a row are read as one, where a table ends with a sector.
        let step = self
            .table_len()
            .is_multiple_of(SECTOR)
            .then(|| self.table_len() / SECTOR);
        let mut index = 0;
        while let Some(sector) = entries.get(index) {
            let follows = |n: usize, next: u32| match (sector, step) {
                (0, _) => next == 0,
                (_, Some(step)) => u64::try_from(n)
                    .ok()
                    .and_then(|n| n.checked_mul(step)?.checked_add(u64::from(*sector)))
                    .is_some_and(|want| want == u64::from(next)),
                (_, None) => false,
            };
            let run = entries[index..]
                .iter()
                .enumerate()
                .skip(1)
                .take_while(|(n, next)| follows(*n, **next))
                .count()
                + 1;
            let start = table
                .saturating_add(u64::try_from(index)?)
                .saturating_mul(per_table);
            let from = start.max(first);
            let to = start
                .saturating_add(u64::try_from(run)?.saturating_mul(per_table))
                .min(end);
            if *sector == 0 {
                let unit = self.grain.get();
                let upper = Bytes::new(from.saturating_mul(unit));
                let len = Bytes::new((to - from).saturating_mul(unit));
                let upper = Extent::new(upper, len).ok_or("a disk beyond 2⁶⁴ bytes")?;
                sink.gap(upper, Gap::Absent);
            } else {
                let mut tables = entries[index..index + run].iter();
                // What is not remembered was read from a file that is as long.
                let is_new = |sector: &u32| used.len() >= MAX_REMEMBERED || used.insert(*sector);
                if !tables.all(is_new) {
                    return Err(format!(
                        "two entries of the grain directory, one of them of table {} or later, name one grain table: what follows is not read",
                        table.saturating_add(u64::try_from(index)?)
                    )
                    .into());
                }
                let at = u64::from(*sector) * SECTOR + (from - start).saturating_mul(WIDTH);
                self.send(at, from, to, sink)?;
            }
            index += run;
        }
        Ok(())
    }
}

impl BlockTable for GrainTable {
    fn block(&self) -> Unit {
        self.grain
    }

    fn size(&self) -> Bytes {
        self.size
    }

    fn parent(&self) -> Option<usize> {
        self.parent
    }

    fn locate(&self, offset: Bytes) -> Result<Place, TableError> {
        let (grain, within) = offset.div_rem(self.grain);
        let (table, index) = Bytes::new(grain).div_rem(self.per_table);
        self.check(table)?;
        let at = table.saturating_mul(WIDTH).saturating_add(self.start);
        let sector = u32::from_le_bytes(self.directory.get(at)?);
        let left = |len: u64, done: u64| Bytes::new(len.saturating_sub(done).max(1));
        if sector == 0 {
            let reach = self.per_table.get().saturating_mul(self.grain.get());
            let done = index
                .get()
                .saturating_mul(self.grain.get())
                .saturating_add(within.get());
            return Ok(Place::Absent {
                run: left(reach, done),
            });
        }
        let at = u64::from(sector) * SECTOR + index.get().saturating_mul(WIDTH);
        let sector = u32::from_le_bytes(self.tables.get(at)?);
        let run = left(self.grain.get(), within.get());
        let place = self.meaning.place(sector);
        Ok(match entry::gap(place) {
            Some(Gap::Absent) => Place::Absent { run },
            Some(Gap::Zero) => Place::Zero { run },
            Some(Gap::Packed) => {
                let start = Bytes::new(offset.get() - within.get());
                let end = start.checked_add(self.grain.bytes()).unwrap_or(Bytes::MAX);
                let len = Bytes::new(end.min(self.size).get().saturating_sub(start.get()));
                Place::Packed {
                    upper: Extent::new(start, len).ok_or("a disk beyond 2⁶⁴ bytes")?,
                    target: 0,
                    lower: self.packed(u64::from(sector) * SECTOR),
                }
            }
            None => Place::At {
                target: 0,
                offset: Bytes::new(place.saturating_add(within.get())),
                run,
            },
        })
    }

    fn stream(&self, range: Extent, sink: &mut dyn Sink) -> Result<(), TableError> {
        let cut = Cut::new(range, self.grain, self.size);
        if let Some(head) = cut.head {
            send_part(self, head, sink)?;
        }
        if !cut.whole.is_empty() {
            let per_table = self.per_table.get();
            let (first, end) = (cut.whole.start, cut.whole.end);
            let mut table = first / per_table;
            let last = (end - 1) / per_table;
            // Names the table that is missing; what the directory does hold is sent first.
            let have = last.saturating_add(1).min(self.count);
            let at = table.saturating_mul(WIDTH).saturating_add(self.start);
            let len = have.saturating_sub(table).saturating_mul(WIDTH);
            let mut entries: Vec<u32> = Vec::new();
            let mut used = HashSet::new();
            self.directory.chunks(at, len, |raw| {
                entries.clear();
                let (raw, _) = raw.as_chunks::<4>();
                entries.extend(raw.iter().map(|raw| u32::from_le_bytes(*raw)));
                self.send_tables(&entries, table, first, end, &mut used, sink)?;
                table = table.saturating_add(u64::try_from(entries.len())?);
                Ok(())
            })?;
            self.check(last)?;
        }
        match cut.tail {
            Some(tail) => send_part(self, tail, sink),
            None => Ok(()),
        }
    }

    fn unpack(&self, packed: &[u8], out: &mut [u8]) -> Result<(), TableError> {
        let stream = if self.meaning.markers {
            let (marker, rest) = packed
                .split_first_chunk::<12>()
                .ok_or("a compressed grain that ends inside its marker")?;
            let [.., a, b, c, d] = *marker;
            let len = usize::try_from(u32::from_le_bytes([a, b, c, d]))?;
            rest.get(..len).ok_or_else(|| {
                format!(
                    "a compressed grain of {len} bytes by its marker, of which {} are there",
                    rest.len()
                )
            })?
        } else {
            packed
        };
        let mut decoder = flate2::read::ZlibDecoder::new(stream);
        let len = out.len();
        let failed = |error: std::io::Error| {
            format!("a compressed grain does not unpack to its {len} bytes: {error}")
        };
        decoder.read_exact(out).map_err(failed)?;
        // The disk may end inside the grain. The stream's end also proves its checksum; but no more than a grain is asked
        // of the decoder, however much the stream would give.
        let mut rest = self.grain.get().saturating_sub(u64::try_from(len)?);
        let mut spare = [0; 4096];
        loop {
            let n = u64::try_from(decoder.read(&mut spare).map_err(failed)?)?;
            if n == 0 {
                return Ok(());
            }
            rest = rest.checked_sub(n).ok_or_else(|| {
                format!(
                    "a compressed grain unpacks to more than the {} of a grain",
                    self.grain
                )
            })?;
        }
    }
}
