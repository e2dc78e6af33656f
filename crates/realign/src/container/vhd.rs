//! VHD in place.
//!
//! Nothing is allocated in a fixed disk. In a dynamic one, in this order:
//!
//! 1. Both footers are made alike, from the one that counts. Flush.
//! 2. The bitmaps of the new blocks, all ones, behind the end of the file, and the footer behind the last of them. The blocks between
//!    are holes. Flush. Until here the copy of the footer at byte 0 is what readers use when the one at the end is missing; that is why
//!    it is looked at first.
//! 3. The entries of the table. Flush. Each is 4 bytes in one sector.
//!
//! The footer that was at the end stays where it is, as bytes that nothing refers to, so that it is never written over. A new block's
//! data is placed at a multiple of 4 KiB of the file, whatever those before it are.
//!
//! A disk becomes longer in this order: free entries behind the table (or, where a block is in the way, a longer copy of the table behind
//! the end of the file), flush; the sector of the header that has the number of entries, the place of the table and its own checksum,
//! flush; the footer at the end, flush; its copy, flush. A fixed disk: the footer at the new end, flush; zeroes over the old one, flush.
//! Stopped between the two, the disk is longer and has the old footer's bytes behind its former end, where nothing was.

use std::ops::Range;
use std::sync::Arc;

use straddle_geometry::{Bytes, SectorSize};
use straddle_io::ReadAt;

use super::append;
use super::blocks::{Layout, Opened};
use super::claims::{self, Rules};
use super::error::ContainerError;
use super::recognised::{Found, recognised};
use crate::Store;
use crate::format::bits::{be32, be64, fill, pieces, put, read, up};
use crate::format::vhd::{
    FREE, KIND, SECTOR, SIZE, TABLE_ENTRIES, TABLE_OFFSET, bitmap_len, is_footer, seal_footer,
    seal_header, set_size,
};
use crate::ids::Ids;

const FORMAT: &str = "vhd";
const HEADER: u64 = 1024;
/// Of which a new block's data is a multiple.
const GRID: u64 = 4096;

/// A dynamic disk.
struct Dynamic {
    footer: [u8; 512],
    /// Where a footer that counts is at the end.
    footer_at: Option<u64>,
    has_copy: bool,
    header_at: u64,
    header: [u8; 1024],
    table: Range<u64>,
    block: u64,
    /// End of all that is in use.
    end: u64,
    /// Where the first block begins.
    first: u64,
}

fn footer_at(file: &dyn ReadAt, at: u64) -> Result<Option<[u8; 512]>, String> {
    let found: [u8; 512] = read(file, at).map_err(|error| error.to_string())?;
    Ok(is_footer(&found).then_some(found))
}

/// Where the footer of a fixed disk is, which is where its data ends.
pub(super) fn fixed(file: &Arc<dyn Store>) -> Result<Option<Bytes>, String> {
    let at = file.size().get().saturating_sub(SECTOR);
    let Some(footer) = footer_at(&**file, at)? else {
        return Ok(None);
    };
    if be32(&footer, KIND) != 2 {
        return Ok(None);
    }
    recognised(file, FORMAT, &Found::default())?;
    Ok(Some(Bytes::new(at)))
}

/// See the head of this file.
pub(super) fn grow_fixed(file: &dyn Store, size: Bytes) -> Result<(), ContainerError> {
    let old = file.size().get().saturating_sub(SECTOR);
    let mut footer: [u8; 512] = read(file, old)?;
    set_size(&mut footer, size);
    file.write_at(size, &footer)?;
    file.flush()?;
    let rest = size.get().saturating_sub(old).min(SECTOR);
    file.zero(Bytes::new(old), Bytes::new(rest))?;
    file.flush()?;
    Ok(())
}

pub(super) fn open(file: &Arc<dyn Store>) -> Result<Opened, String> {
    // What a call that was stopped leaves: no footer at the end, or one that differs from its copy.
    let permitted = Found {
        copies: true,
        ..Found::default()
    };
    let found = recognised(file, FORMAT, &permitted)?;
    let table = found.table.ok_or(
        "a fixed disk whose footer has 511 bytes, as versions before Virtual PC 2004 wrote it",
    )?;
    let failed = |error: std::io::Error| error.to_string();
    let size = file.size().get();
    let end = size.checked_sub(SECTOR).filter(|at| *at > 0);
    let copy = footer_at(&**file, 0)?;
    let (footer, at) = match (end, copy) {
        (Some(end), copy) => match (footer_at(&**file, end)?, copy) {
            (Some(footer), _) => (footer, Some(end)),
            (None, Some(copy)) => (copy, None),
            (None, None) => return Err("neither of its footers is valid".to_owned()),
        },
        (None, _) => return Err("the file is too short".to_owned()),
    };
    let header_at = be64(&footer, 0x10);
    let mut header = [0; 1024];
    fill(&**file, header_at, &mut header).map_err(failed)?;
    let start = be64(&header, TABLE_OFFSET);
    let entries = u64::from(be32(&header, TABLE_ENTRIES));
    let block = table.block().get();
    if !start.is_multiple_of(SECTOR) || !header_at.is_multiple_of(SECTOR) {
        return Err(format!(
            "its header lies at byte {header_at} and its table at byte {start}; expected multiples of 512, so that a sector that is \
             torn has one of them whole"
        ));
    }
    let mut layout = Dynamic {
        footer,
        footer_at: at,
        has_copy: copy == Some(footer),
        header_at,
        header,
        table: start..start.saturating_add(entries.saturating_mul(4)),
        block,
        end: 0,
        first: u64::MAX,
    };
    let needed = be64(&footer, SIZE).div_ceil(block);
    layout
        .survey(&**file, needed.min(entries))
        .map_err(failed)?;
    let mut taken = vec![
        ("the copy of the footer", 0..SECTOR),
        ("the header", header_at..header_at.saturating_add(HEADER)),
        ("the table", layout.table.clone()),
    ];
    taken.extend(at.map(|at| ("the footer", at..at.saturating_add(SECTOR))));
    taken.sort_by_key(|(_, place)| place.start);
    let rules = Rules {
        front: bitmap_len(block),
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

impl Dynamic {
    /// Finds where blocks begin and end.
    fn survey(&mut self, file: &dyn ReadAt, entries: u64) -> Result<(), std::io::Error> {
        let len = self.block + bitmap_len(self.block);
        let header_end = self.header_at.saturating_add(HEADER);
        self.end = self.table.end.max(header_end).max(SECTOR);
        let (mut first, mut end) = (u64::MAX, self.end);
        pieces(
            file,
            self.table.start,
            entries.saturating_mul(4),
            |_, raw| {
                for entry in raw.as_chunks::<4>().0 {
                    let sector = u32::from_be_bytes(*entry);
                    if sector != FREE {
                        let at = u64::from(sector) * SECTOR;
                        first = first.min(at);
                        end = end.max(at + len);
                    }
                }
                Ok::<_, std::io::Error>(())
            },
        )?;
        (self.first, self.end) = (first, end);
        Ok(())
    }

    /// The first sector that nothing uses, now or before.
    fn free(&self, file: &dyn Store) -> u64 {
        up(self.end.max(file.size().get()), SECTOR)
    }

    fn write_footer(&mut self, file: &dyn Store, at: u64) -> Result<(), ContainerError> {
        file.write_at(Bytes::new(at), &self.footer)
            .map_err(ContainerError::io("writing the footer"))?;
        self.footer_at = Some(at);
        self.end = self.end.max(at);
        Ok(())
    }
}

impl Layout for Dynamic {
    fn touch(&mut self, file: &dyn Store, _: &mut Ids) -> Result<(), ContainerError> {
        if !self.has_copy {
            file.write_at(Bytes::ZERO, &self.footer)?;
            file.flush()?;
            self.has_copy = true;
        }
        if self.footer_at.is_none() {
            let at = self.free(file);
            self.write_footer(file, at)?;
            file.flush()?;
        }
        Ok(())
    }

    fn allocate(&mut self, file: &dyn Store, blocks: &[u64]) -> Result<(), ContainerError> {
        let bitmap = bitmap_len(self.block);
        let ones = vec![0xff; usize::try_from(bitmap).unwrap_or(0)];
        let mut at = self.free(file);
        let mut placed = Vec::with_capacity(blocks.len());
        for block in blocks {
            let start = up(at.saturating_add(bitmap), GRID).saturating_sub(bitmap);
            let sector = u32::try_from(start / SECTOR).ok().filter(|n| *n != FREE);
            let sector = sector.ok_or_else(|| ContainerError::Refused {
                format: FORMAT,
                why: "the file has no room for another block: a VHD has at most 2 TiB; write a VHDX with -o".to_owned(),
            })?;
            placed.push((*block, sector.to_be_bytes()));
            at = start.saturating_add(bitmap).saturating_add(self.block);
            append::zeroes(file, start, at)?;
            file.write_at(Bytes::new(start), &ones)?;
        }
        self.write_footer(file, at)?;
        file.flush()?;
        append::entries(file, self.table.start, placed.into_iter())?;
        file.flush()?;
        Ok(())
    }

    fn grow(&mut self, file: &dyn Store, size: Bytes) -> Result<(), ContainerError> {
        let refused = |why: String| ContainerError::Refused {
            format: FORMAT,
            why,
        };
        // 2,040 GiB is what Hyper-V and Virtual PC allow.
        if size.get() > 2040 << 30 {
            let why =
                format!("a disk of {size}; a VHD has at most 2,040 GiB: write a VHDX with -o");
            return Err(refused(why));
        }
        let entries = size.get().div_ceil(self.block);
        let had = (self.table.end - self.table.start) / 4;
        if entries > had {
            let mut start = self.table.start;
            let end = up(start + entries * 4, SECTOR);
            let in_the_way = [
                self.first,
                self.footer_at.unwrap_or(u64::MAX),
                self.header_at,
            ];
            let is_free = |at: &u64| *at < self.table.start || *at >= end;
            let free = vec![0xff; usize::try_from(end - start - had * 4).unwrap_or(0)];
            if in_the_way.iter().all(is_free) {
                file.write_at(Bytes::new(start + had * 4), &free)?;
            } else {
                start = self.free(file);
                pieces(file, self.table.start, had * 4, |at, raw| {
                    let at = start + (at - self.table.start);
                    file.write_at(Bytes::new(at), raw)
                })?;
                file.write_at(Bytes::new(start + had * 4), &free)?;
                self.write_footer(file, start + (end - self.table.start))?;
            }
            file.flush()?;
            let count = u32::try_from(entries);
            let count = count.map_err(|_| refused("more blocks than a VHD has".to_owned()))?;
            put(&mut self.header, TABLE_ENTRIES, &count.to_be_bytes());
            put(&mut self.header, TABLE_OFFSET, &start.to_be_bytes());
            seal_header(&mut self.header);
            file.write_at(Bytes::new(self.header_at), &self.header[..512])?;
            file.flush()?;
            self.table = start..start + entries * 4;
            self.end = self.end.max(self.table.end);
        }
        set_size(&mut self.footer, size);
        seal_footer(&mut self.footer);
        let at = self.footer_at.unwrap_or_else(|| self.free(file));
        self.write_footer(file, at)?;
        file.flush()?;
        file.write_at(Bytes::ZERO, &self.footer)?;
        file.flush()?;
        Ok(())
    }
}
