//! A hosted sparse extent in place.
//!
//! Directory and tables are there twice; which is read is the first, as VMware and QEMU do. In this order:
//!
//! 1. A new content identifier in the descriptor, where there is one, so that snapshots notice. Flush.
//! 2. Zeroes for the new grains behind the end of the file, at multiples of a grain, and whole new tables where the directory has none.
//!    Flush.
//! 3. The entries of the second directory's tables and its own. Flush.
//! 4. Those of the first. Flush. Each is 4 bytes in one sector.
//!
//! Stopped between 3 and 4 the second knows grains that the first does not: they read as zeroes and are only out of use.
//!
//! An extent becomes longer in this order: empty tables behind the end of the file, and directories with them (the same, as far as their
//! last sector has room, or longer ones behind the end too), flush; capacity and the places of the directories, which the first sector
//! has, flush; the number of sectors in the descriptor, which nobody reads where the header has the capacity, flush.

use std::ops::Range;
use std::sync::Arc;

use straddle_geometry::{Bytes, SectorSize};
use straddle_io::ReadAt;

use super::super::append;
use super::super::blocks::{Layout, Opened};
use super::super::claims::{self, Rules};
use super::super::error::ContainerError;
use super::super::recognised::{Found, recognised};
use super::descriptor::{MAX_BYTES, with_content_id, with_last_extent};
use super::{FORMAT, untracked};
use crate::Store;
use crate::format::bits::{fill, le32, le64, pieces, put, read, up};
use crate::format::vmdk::{
    CAPACITY, COMPRESSED, DESCRIPTOR, DESCRIPTOR_LEN, DIRECTORY, FLAGS, HAS_SECOND_DIRECTORY,
    MARKERS, PER_TABLE, SECOND_DIRECTORY, SECTOR,
};
use crate::ids::Ids;

/// Most tables of an extent: 32 TiB with the usual grains.
const MAX_TABLES: u64 = 1 << 20;

struct Sparse {
    /// The first sector of the file.
    header: [u8; 512],
    /// The second directory, where there is one, and then the first: in the order in which they are written. With the field of each.
    directories: Vec<(usize, u64)>,
    grain: u64,
    per_table: u64,
    tables: u64,
    /// End of all that is in use.
    end: u64,
}

pub(super) fn open(file: &Arc<dyn Store>) -> Result<Opened, String> {
    let permitted = Found {
        copies: true,
        ..Found::default()
    };
    let found = recognised(file, FORMAT, &permitted)?;
    let table = found.table.ok_or("it has no table of grains")?;
    let failed = |error: std::io::Error| error.to_string();
    let header: [u8; 512] = read(&**file, 0).map_err(failed)?;
    let flags = le32(&header, FLAGS);
    if flags & (COMPRESSED | MARKERS) != 0 || le64(&header, DIRECTORY) == u64::MAX {
        return Err(
            "it is compressed (streamOptimized): grains have no place that could be written"
                .to_owned(),
        );
    }
    let mut directories = vec![(DIRECTORY, le64(&header, DIRECTORY).saturating_mul(SECTOR))];
    if flags & HAS_SECOND_DIRECTORY != 0 {
        let second = le64(&header, SECOND_DIRECTORY).saturating_mul(SECTOR);
        directories.insert(0, (SECOND_DIRECTORY, second));
    }
    let grain = table.block().get();
    let per_table = u64::from(le32(&header, PER_TABLE)).max(1);
    let tables = table.size().get().div_ceil(grain).div_ceil(per_table);
    if tables > MAX_TABLES {
        return Err(format!(
            "{tables} grain tables; at most {MAX_TABLES} are followed in place"
        ));
    }
    let mut layout = Sparse {
        header,
        directories,
        grain,
        per_table,
        tables,
        end: 0,
    };
    untracked(&layout.text(&**file).map_err(failed)?)?;
    let taken = layout.survey(&**file)?;
    let size = file.size().get();
    if taken
        .last()
        .is_some_and(|(_, last)| last.end > up(size, SECTOR))
    {
        return Err("a grain directory or grain table lies beyond the end of the file".to_owned());
    }
    let overlap = taken
        .windows(2)
        .find(|pair| pair[0].1.end > pair[1].1.start);
    if let Some([(one, _), (two, place)]) = overlap {
        return Err(format!(
            "{two} at byte {} lies over {one}",
            Bytes::new(place.start).grouped()
        ));
    }
    let rules = Rules {
        front: 0,
        file: size,
        taken: &taken,
    };
    let end = claims::check(&*table, &rules).map_err(|error| error.to_string())?;
    layout.end = layout.end.max(end);
    Ok(Opened {
        table,
        layout: Box::new(layout),
        sector: SectorSize::B512,
        permitted,
    })
}

impl Sparse {
    fn refused(why: impl Into<String>) -> ContainerError {
        ContainerError::Refused {
            format: FORMAT,
            why: why.into(),
        }
    }

    fn table_len(&self) -> u64 {
        up(self.per_table.saturating_mul(4), SECTOR)
    }

    /// Where the descriptor lies, and its length; empty when there is none.
    fn descriptor(&self) -> Range<u64> {
        let start = le64(&self.header, DESCRIPTOR).saturating_mul(SECTOR);
        let len = le64(&self.header, DESCRIPTOR_LEN).saturating_mul(SECTOR);
        match start {
            0 => 0..0,
            start => start..start.saturating_add(len.min(MAX_BYTES)),
        }
    }

    fn text(&self, file: &dyn ReadAt) -> std::io::Result<Vec<u8>> {
        let place = self.descriptor();
        let mut raw = vec![0; usize::try_from(place.end - place.start).unwrap_or(0)];
        fill(file, place.start, &mut raw)?;
        Ok(raw)
    }

    /// Where everything that is not a grain lies, in order; and where all that is in use ends.
    fn survey(&mut self, file: &dyn ReadAt) -> Result<Vec<(&'static str, Range<u64>)>, String> {
        let mut taken = vec![
            ("the header", 0..SECTOR),
            ("the descriptor", self.descriptor()),
        ];
        let (len, count) = (self.table_len(), self.tables);
        for (_, start) in &self.directories {
            let end = start.saturating_add(up(count * 4, SECTOR));
            taken.push(("a grain directory", *start..end));
            pieces(file, *start, count * 4, |_, raw| {
                for entry in raw.as_chunks::<4>().0 {
                    let at = u64::from(u32::from_le_bytes(*entry)) * SECTOR;
                    if at > 0 {
                        taken.push(("a grain table", at..at + len));
                    }
                }
                Ok::<_, std::io::Error>(())
            })
            .map_err(|error| error.to_string())?;
        }
        taken.retain(|(_, place)| place.start < place.end);
        taken.sort_by_key(|(_, place)| place.start);
        self.end = taken.last().map_or(0, |(_, place)| place.end);
        Ok(taken)
    }

    /// The first place that nothing uses, now or before.
    fn free(&self, file: &dyn Store) -> u64 {
        up(self.end.max(file.size().get()), SECTOR)
    }

    fn entry(&self, file: &dyn Store, directory: u64, index: u64) -> Result<u64, ContainerError> {
        let raw: [u8; 4] = read(file, directory.saturating_add(index.saturating_mul(4)))?;
        Ok(u64::from(u32::from_le_bytes(raw)) * SECTOR)
    }

    fn sector_of(at: u64) -> Result<[u8; 4], ContainerError> {
        let sector = u32::try_from(at / SECTOR);
        let sector = sector.map_err(|_| {
            Sparse::refused(
                "the file has no room for another grain: a sparse extent has at most 2 TiB",
            )
        })?;
        Ok(sector.to_le_bytes())
    }

    /// True when the last sector of a directory has room for the entries of so many tables.
    fn room_for_tables(&self, count: u64) -> bool {
        up(count * 4, SECTOR) == up(self.tables * 4, SECTOR)
    }
}

impl Layout for Sparse {
    fn touch(&mut self, file: &dyn Store, ids: &mut Ids) -> Result<(), ContainerError> {
        let text = self.text(file)?;
        let id = le32(&ids.bits()?, 0);
        if let Some(patch) = with_content_id(&text, id) {
            let at = u64::try_from(patch.at).unwrap_or(0);
            file.write_at(Bytes::new(self.descriptor().start + at), &patch.bytes)?;
            file.flush()?;
        }
        Ok(())
    }

    fn allocate(&mut self, file: &dyn Store, blocks: &[u64]) -> Result<(), ContainerError> {
        let start = up(self.free(file), self.grain);
        let count = u64::try_from(blocks.len()).unwrap_or(u64::MAX);
        let mut end = start.saturating_add(count.saturating_mul(self.grain));
        append::zeroes(file, start, end)?;
        let mut placed = Vec::with_capacity(blocks.len());
        let mut at = start;
        for block in blocks {
            placed.push((*block, Sparse::sector_of(at)?));
            at += self.grain;
        }
        // For each directory: entries of tables that exist, and new tables.
        let mut existing = Vec::new();
        let mut new = Vec::new();
        for (n, (_, directory)) in self.directories.iter().enumerate() {
            for run in placed.chunk_by(|a, b| a.0 / self.per_table == b.0 / self.per_table) {
                let index = run.first().map_or(0, |(block, _)| block / self.per_table);
                let within: Vec<(u64, [u8; 4])> = run
                    .iter()
                    .map(|(block, sector)| (block % self.per_table, *sector))
                    .collect();
                match self.entry(file, *directory, index)? {
                    0 => {
                        let mut raw = vec![0; usize::try_from(self.table_len()).unwrap_or(0)];
                        for (entry, sector) in &within {
                            let at = usize::try_from(entry * 4).unwrap_or(usize::MAX);
                            put(&mut raw, at, sector);
                        }
                        file.write_at(Bytes::new(end), &raw)?;
                        new.push((n, index, Sparse::sector_of(end)?));
                        end += self.table_len();
                    }
                    table => existing.push((n, table, within)),
                }
            }
        }
        file.flush()?;
        for (n, (_, directory)) in self.directories.iter().enumerate() {
            for (_, table, within) in existing.iter().filter(|(of, ..)| *of == n) {
                append::entries(file, *table, within.iter().copied())?;
            }
            let new = new.iter().filter(|(of, ..)| *of == n);
            append::entries(
                file,
                *directory,
                new.map(|(_, index, sector)| (*index, *sector)),
            )?;
            file.flush()?;
        }
        self.end = end;
        Ok(())
    }

    fn grow(&mut self, file: &dyn Store, size: Bytes) -> Result<(), ContainerError> {
        let tables = size.get().div_ceil(self.grain).div_ceil(self.per_table);
        if tables > MAX_TABLES {
            return Err(Sparse::refused("a sparse extent of more than 32 TiB"));
        }
        let text = self.text(file)?;
        let base = usize::try_from(self.descriptor().start).unwrap_or(0);
        let patch = with_last_extent(&text, size.get() / SECTOR, base).map_err(Sparse::refused)?;
        if tables > self.tables {
            let mut at = self.free(file);
            let is_in_place = self.room_for_tables(tables);
            let added = tables - self.tables;
            for (field, directory) in &mut self.directories {
                let first = at;
                at = at.saturating_add(added.saturating_mul(up(self.per_table * 4, SECTOR)));
                append::zeroes(file, first, at)?;
                let mut entries = Vec::new();
                for n in 0..added {
                    let table = first + n * up(self.per_table * 4, SECTOR);
                    entries.push((self.tables + n, Sparse::sector_of(table)?));
                }
                if !is_in_place {
                    let (old, new) = (*directory, at);
                    at += up(tables * 4, SECTOR);
                    append::zeroes(file, new, at)?;
                    pieces(file, old, self.tables * 4, |from, raw| {
                        file.write_at(Bytes::new(new + (from - old)), raw)
                    })?;
                    *directory = new;
                    put(&mut self.header, *field, &(new / SECTOR).to_le_bytes());
                }
                append::entries(file, *directory, entries.into_iter())?;
            }
            file.flush()?;
            (self.tables, self.end) = (tables, at);
        }
        put(
            &mut self.header,
            CAPACITY,
            &(size.get() / SECTOR).to_le_bytes(),
        );
        file.write_at(Bytes::ZERO, &self.header)?;
        file.flush()?;
        if let Some(patch) = patch {
            let at = u64::try_from(patch.at).unwrap_or(0);
            file.write_at(Bytes::new(self.descriptor().start + at), &patch.bytes)?;
            file.flush()?;
        }
        Ok(())
    }
}
