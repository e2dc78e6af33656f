//! VDI in place.
//!
//! The place of a block is its number times the distance of blocks, so a new one gets the next number. In this order:
//!
//! 1. The UUID of the last change, so that children notice. Flush.
//! 2. Zeroes where the new blocks will be, which is at the end of the file. Flush.
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
use crate::bits::{le32, le64, pieces, put, read};
use crate::ids::Ids;
use crate::vdi::{
    ALLOCATED, BLOCK_EXTRA, BLOCK_SIZE, BLOCKS, DATA_OFFSET, DISK_SIZE, KIND, LAST_CHANGE,
    TABLE_OFFSET, ZERO,
};

const FORMAT: &str = "vdi";

struct Vdi {
    /// The first sector of the file.
    header: [u8; 512],
    table: u64,
    blocks: u64,
    data: u64,
    block: u64,
    extra: u64,
    /// Blocks that the table names; their numbers are all below that.
    used: u64,
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
        used: 0,
    };
    let needed = le64(&header, DISK_SIZE).div_ceil(layout.block.max(1));
    if !layout.table.is_multiple_of(4) || needed > layout.blocks {
        return Err("its table is not where or as long as it should be".to_owned());
    }
    let highest = layout.survey(&**file).map_err(failed)?;
    if highest != layout.used {
        return Err(format!(
            "its table names {} blocks, with numbers up to {}: numbers were given up, and which are free cannot be told from the number \
             of blocks; `VBoxManage modifymedium disk FILE --compact` numbers them again",
            Bytes::new(layout.used).grouped(),
            Bytes::new(highest).grouped()
        ));
    }
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
    /// Counts the blocks that the table names, and finds the number behind the highest.
    fn survey(&mut self, file: &dyn ReadAt) -> Result<u64, std::io::Error> {
        let (mut used, mut highest) = (0, 0);
        pieces(file, self.table, self.blocks * 4, |_, raw| {
            for entry in raw.as_chunks::<4>().0 {
                let number = u32::from_le_bytes(*entry);
                if number < ZERO {
                    used += 1;
                    highest = highest.max(u64::from(number) + 1);
                }
            }
            Ok::<_, std::io::Error>(())
        })?;
        self.used = used;
        Ok(highest)
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
        self.write_allocated(file, self.used)
    }

    fn allocate(&mut self, file: &dyn Store, blocks: &[u64]) -> Result<(), ContainerError> {
        let count = u64::try_from(blocks.len()).unwrap_or(u64::MAX);
        let end = self.used.saturating_add(count);
        if end > self.blocks {
            let why = "more blocks than the disk has".to_owned();
            return Err(Vdi::refused(why));
        }
        append::zeroes(file, self.place(self.used), self.place(end))?;
        file.flush()?;
        self.write_allocated(file, end)?;
        let numbers = (self.used..end).map(|n| u32::try_from(n).unwrap_or(u32::MAX).to_le_bytes());
        append::entries(file, self.table, blocks.iter().copied().zip(numbers))?;
        file.flush()?;
        self.used = end;
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
