//! VDI in place.
//!
//! The place of a block is its number times the distance of blocks. A new one gets a number that no entry has, below the highest, where
//! a call that was stopped or another program has left one, or else the next. In this order:
//!
//! 1. The UUID of the last change, so that children notice. Flush.
//! 2. Zeroes where the new blocks will be. Flush.
//! 3. The number of allocated blocks. Flush. It is what VirtualBox takes for the next free number: were it behind the table, a block
//!    would get two owners. Ahead of the table it only leaves blocks out of use, and the next call corrects it.
//! 4. The entries of the table. Flush. Each is 4 bytes in one sector.
//!
//! A disk becomes longer in this order: free entries behind the table, flush; size and number of blocks, which the first sector has both,
//! flush. The data begins right behind the table, at a place on which those of all blocks depend: where there is no room, there is none.

use std::sync::Arc;

use straddle_geometry::{Bytes, SectorSize};
use straddle_io::ReadAt;

use super::append;
use super::blocks::{Layout, Opened};
use super::claims::{self, Rules};
use super::error::ContainerError;
use super::recognised::{Found, recognised};
use crate::Store;
use crate::format::bits::{le32, le64, pieces, put, read};
use crate::format::vdi::{
    ALLOCATED, BLOCK_EXTRA, BLOCK_SIZE, BLOCKS, DATA_OFFSET, DISK_SIZE, KIND, LAST_CHANGE,
    TABLE_OFFSET, ZERO,
};
use crate::ids::Ids;

const FORMAT: &str = "vdi";
/// Numbers out of use that are used again; more only stay out of use.
const MAX_GAPS: usize = 1 << 20;

struct Vdi {
    /// The first sector of the file.
    header: [u8; 512],
    table: u64,
    blocks: u64,
    data: u64,
    block: u64,
    extra: u64,
    /// Behind the highest number that the table names.
    end: u64,
    /// Numbers below that which it does not name, in descending order.
    gaps: Vec<u64>,
}

pub(super) fn open(file: &Arc<dyn Store>) -> Result<Opened, String> {
    let allocated_field = u64::try_from(ALLOCATED).ok();
    let permitted = Found {
        field: allocated_field,
        ..Found::default()
    };
    let found = recognised(file, FORMAT, &permitted)?;
    let table = found.table.ok_or("it has no table of blocks")?;
    let failed = |error: std::io::Error| error.to_string();
    let header: [u8; 512] = read(&**file, 0).map_err(failed)?;
    let field = |at| u64::from(le32(&header, at));
    let mut layout = Vdi {
        header,
        table: field(TABLE_OFFSET),
        blocks: field(BLOCKS),
        data: field(DATA_OFFSET),
        block: field(BLOCK_SIZE),
        extra: field(BLOCK_EXTRA),
        end: 0,
        gaps: Vec::new(),
    };
    let needed = le64(&header, DISK_SIZE).div_ceil(layout.block.max(1));
    if !layout.table.is_multiple_of(4) || needed > layout.blocks {
        return Err("its table is not where or as long as it should be".to_owned());
    }
    let room = file.size().get().saturating_sub(layout.data);
    let most = room.div_ceil(layout.block.saturating_add(layout.extra).max(1));
    layout
        .survey(&**file, most.min(layout.blocks))
        .map_err(failed)?;
    let end = layout.table + layout.blocks * 4;
    let taken = [
        ("the header", 0..512),
        ("the table", layout.table.max(512)..end),
    ];
    let rules = Rules {
        front: layout.extra,
        file: file.size().get(),
        taken: &taken,
    };
    claims::check(&*table, &rules).map_err(|error| error.to_string())?;
    Ok(Opened {
        table,
        layout: Box::new(layout),
        sector: SectorSize::B512,
        permitted,
    })
}

impl Vdi {
    /// Finds which numbers the table names, of which there are at most `most` in the file.
    fn survey(&mut self, file: &dyn ReadAt, most: u64) -> Result<(), std::io::Error> {
        let mut named = vec![0_u64; usize::try_from(most.div_ceil(64)).unwrap_or(0)];
        let mut end = 0;
        pieces(file, self.table, self.blocks * 4, |_, raw| {
            for entry in raw.as_chunks::<4>().0 {
                let number = u32::from_le_bytes(*entry);
                if number < ZERO {
                    end = end.max(u64::from(number) + 1);
                    if let Some(word) = named.get_mut(number as usize / 64) {
                        *word |= 1 << (number % 64);
                    }
                }
            }
            Ok::<_, std::io::Error>(())
        })?;
        let is_free = |number: &u64| {
            let word = usize::try_from(number / 64).ok().and_then(|n| named.get(n));
            word.is_some_and(|word| word >> (number % 64) & 1 == 0)
        };
        self.gaps = (0..end).filter(is_free).take(MAX_GAPS).collect();
        self.gaps.reverse();
        self.end = end;
        Ok(())
    }

    /// Where the block with this number in the file begins.
    fn place(&self, number: u64) -> u64 {
        let stride = self.block.saturating_add(self.extra);
        self.data.saturating_add(number.saturating_mul(stride))
    }

    fn refused(why: String) -> ContainerError {
        ContainerError::Refused {
            format: FORMAT,
            why,
        }
    }

    fn write_allocated(&mut self, file: &dyn Store, count: u64) -> Result<(), ContainerError> {
        let count = u32::try_from(count).map_err(|_| Vdi::refused("too many blocks".to_owned()))?;
        if le32(&self.header, ALLOCATED) != count {
            put(&mut self.header, ALLOCATED, &count.to_le_bytes());
            let at = Bytes::new(u64::try_from(ALLOCATED).unwrap_or(0));
            file.write_at(at, &count.to_le_bytes())?;
            file.flush()?;
        }
        Ok(())
    }
}

impl Layout for Vdi {
    fn touch(&mut self, file: &dyn Store, ids: &mut Ids) -> Result<(), ContainerError> {
        let id = ids.guid()?;
        put(&mut self.header, LAST_CHANGE, &id);
        let at = Bytes::new(u64::try_from(LAST_CHANGE).unwrap_or(0));
        file.write_at(at, &id)?;
        file.flush()?;
        self.write_allocated(file, self.end)
    }

    fn allocate(&mut self, file: &dyn Store, blocks: &[u64]) -> Result<(), ContainerError> {
        let mut placed = Vec::with_capacity(blocks.len());
        for block in blocks {
            let number = self.gaps.pop().unwrap_or(self.end);
            self.end = self.end.max(number + 1);
            let entry = u32::try_from(number).ok().filter(|_| number < self.blocks);
            let entry =
                entry.ok_or_else(|| Vdi::refused("more blocks than the disk has".to_owned()))?;
            append::zeroes(file, self.place(number), self.place(number + 1))?;
            placed.push((*block, entry.to_le_bytes()));
        }
        file.flush()?;
        self.write_allocated(file, self.end)?;
        append::entries(file, self.table, placed.into_iter())?;
        file.flush()?;
        Ok(())
    }

    fn grow(&mut self, file: &dyn Store, size: Bytes) -> Result<(), ContainerError> {
        let blocks = size.get().div_ceil(self.block).max(self.blocks);
        let room = self.data.saturating_sub(self.table) / 4;
        let count = u32::try_from(blocks).ok().filter(|n| u64::from(*n) <= room);
        let Some(count) = count else {
            return Err(Vdi::refused(format!(
                "the table has room for {} blocks of {}, up to byte {} where the data begins; a disk of {} needs {}: write a longer one \
                 with -o",
                Bytes::new(room).grouped(),
                Bytes::new(self.block),
                Bytes::new(self.data).grouped(),
                size,
                Bytes::new(blocks).grouped()
            )));
        };
        let added = (self.blocks..blocks).map(|index| (index, [0xff; 4]));
        append::entries(file, self.table, added)?;
        file.flush()?;
        put(&mut self.header, DISK_SIZE, &size.get().to_le_bytes());
        put(&mut self.header, BLOCKS, &count.to_le_bytes());
        file.write_at(Bytes::ZERO, &self.header)?;
        file.flush()?;
        self.blocks = blocks;
        Ok(())
    }

    fn is_full(&self) -> bool {
        le32(&self.header, KIND) == 2
    }
}
