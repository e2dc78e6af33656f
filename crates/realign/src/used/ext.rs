//! ext2, ext3, ext4: a map of blocks in each group, set where one is used.
//!
//! ```text
//! superblock   0x04 blocks (4)  0x14 first data block (4)  0x18 log2 of the block, less 10 (4)  0x20 blocks of a group (4)
//!              0x60 incompatible features (4): 0x80 64 bits, 0x10 meta groups   0x64 read-only ones: 0x200 bigalloc
//!              0xfe length of a descriptor (2)  0x150 blocks, high half (4)
//! descriptor   0x00 block of the map (4)  0x12 flags (2): 0x2 the map was never written   0x20 its high half (4)
//! ```
//!
//! Groups whose map was never written are kept, and so is all of a filesystem whose descriptors are elsewhere (meta groups), or whose map
//! counts clusters (bigalloc). Source: Linux Documentation/filesystems/ext4.

use std::io;

use super::part::{Free, Part};

const SUPERBLOCK: u64 = 1024;
/// More groups than any filesystem has that fits into memory here: 16 TiB in groups of 128 MiB, 64 times.
const MAX_GROUPS: u64 = 8 << 20;

pub(super) fn free(part: &Part<'_>, free: &mut Free) -> io::Result<bool> {
    let field = |at, len| part.number(SUPERBLOCK + at, len);
    let (incompatible, read_only) = (field(0x60, 4)?, field(0x64, 4)?);
    let log = field(0x18, 4)?;
    let per_group = field(0x20, 4)?;
    if incompatible & 0x10 != 0 || read_only & 0x200 != 0 || log > 6 || per_group == 0 {
        return Ok(false);
    }
    let block = 1024_u64 << log;
    let is_64 = incompatible & 0x80 != 0;
    let high = if is_64 { field(0x150, 4)? } else { 0 };
    let blocks = field(0x04, 4)? | high << 32;
    let first = field(0x14, 4)?;
    let len = match (is_64, field(0xfe, 2)?) {
        (true, len @ 64..) => len,
        (true, _) => return Ok(false),
        (false, _) => 32,
    };
    let groups = blocks.saturating_sub(first).div_ceil(per_group);
    if groups > MAX_GROUPS || per_group > block * 8 {
        return Ok(false);
    }
    let descriptors = part.read((first + 1) * block, groups * len)?;
    let stride = usize::try_from(len).unwrap_or(usize::MAX);
    for (n, descriptor) in (0_u64..).zip(descriptors.chunks_exact(stride)) {
        let number = |at: usize| {
            u64::from(u32::from_le_bytes([
                descriptor[at],
                descriptor[at + 1],
                descriptor[at + 2],
                descriptor[at + 3],
            ]))
        };
        let is_written = descriptor[0x12] & 2 == 0;
        let map = number(0) | if is_64 { number(0x20) << 32 } else { 0 };
        if !is_written {
            continue;
        }
        let start = first + n * per_group;
        let count = per_group.min(blocks.saturating_sub(start));
        let map = part.read(map.saturating_mul(block), count.div_ceil(8))?;
        free.add_map(&map, count, start * block, block);
    }
    Ok(true)
}
