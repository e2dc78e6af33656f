//! FAT16 and FAT32: an entry for each cluster, 0 where it is free. FAT12 is kept whole: its volumes are small.
//!
//! ```text
//! 11 bytes per sector (2)  13 sectors per cluster  14 reserved sectors (2)  16 tables  17 root entries (2)  19 sectors (2)
//! 22 sectors of a table (2)  32 sectors (4)  36 sectors of a table, FAT32 (4)
//! ```
//!
//! Source: Microsoft, FAT: General Overview of On-Disk Format.

use std::io;

use super::part::{Free, Part};

pub(super) fn free(part: &Part<'_>, free: &mut Free) -> io::Result<bool> {
    let boot = part.read(0, 512)?;
    let word = |at: usize| u64::from(u16::from_le_bytes([boot[at], boot[at + 1]]));
    let long = |at: usize| word(at) | word(at + 2) << 16;
    let either = |short: u64, long: u64| if short == 0 { long } else { short };
    let (sector, per_cluster, tables) = (word(11), u64::from(boot[13]), u64::from(boot[16]));
    let table = either(word(22), long(36));
    let root = (word(17) * 32).div_ceil(sector.max(1));
    let data = word(14) + tables * table + root;
    let sectors = either(word(19), long(32));
    let clusters = sectors
        .saturating_sub(data)
        .checked_div(per_cluster)
        .unwrap_or(0);
    // Which of the three it is, the number of clusters says, and nothing else.
    let entry = match clusters {
        0..4085 => return Ok(false),
        4085..65_525 => 2,
        _ => 4,
    };
    let bytes = ((clusters + 2) * entry).min(table * sector);
    let map = part.read(word(14) * sector, bytes)?;
    let cluster = per_cluster * sector;
    let entries = map
        .chunks_exact(usize::try_from(entry).unwrap_or(4))
        .skip(2);
    for (n, said) in (0_u64..)
        .zip(entries)
        .take(usize::try_from(clusters).unwrap_or(usize::MAX))
    {
        // The top four bits of an entry of FAT32 mean nothing.
        let is_free = match said {
            [a, b] => [a, b] == [&0, &0],
            [a, b, c, d] => (*a, *b, *c, d & 0x0f) == (0, 0, 0, 0),
            _ => false,
        };
        if is_free {
            free.add((data * sector).saturating_add(n * cluster), cluster);
        }
    }
    Ok(true)
}
