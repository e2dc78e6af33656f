//! exFAT: the allocation bitmap, a file that the root directory names first of all, one bit a cluster, set where it is used.
//!
//! ```text
//! 80 sector of the table (4)  88 sector of the clusters (4)  92 clusters (4)  96 cluster of the root (4)  108 log2 of a sector  109 of sectors
//! per cluster      entry of the root: 0 81  1 flags: bit 0, the second map  20 first cluster (4)  24 bytes (8)
//! ```
//!
//! The map is one run as every tool makes it; where the table says otherwise all is kept. Source: Microsoft, exFAT specification, 7.1.

use std::io;

use super::part::{Free, Part};

const BITMAP: u8 = 0x81;
const ENTRY: usize = 32;

pub(super) fn free(part: &Part<'_>, free: &mut Free) -> io::Result<bool> {
    let boot = part.read(0, 512)?;
    let long = |bytes: &[u8], at: usize| {
        u64::from(u32::from_le_bytes([
            bytes[at],
            bytes[at + 1],
            bytes[at + 2],
            bytes[at + 3],
        ]))
    };
    if !(9..=12).contains(&boot[108]) || boot[109] > 25 - boot[108] {
        return Ok(false);
    }
    let sector = 1_u64 << boot[108];
    let cluster = sector << boot[109];
    let (table, heap, clusters, root) = (
        long(&boot, 80),
        long(&boot, 88),
        long(&boot, 92),
        long(&boot, 96),
    );
    let place = |n: u64| {
        n.checked_sub(2)
            .map(|n| (heap * sector).saturating_add(n.saturating_mul(cluster)))
    };
    let Some(root) = place(root) else {
        return Ok(false);
    };
    let entries = part.read(root, cluster.min(64 << 10))?;
    let entry = entries
        .chunks_exact(ENTRY)
        .find(|entry| entry[0] == BITMAP && entry[1] & 1 == 0);
    let Some(entry) = entry else {
        return Ok(false);
    };
    let (first, len) = (long(entry, 20), long(entry, 24));
    let count = len.div_ceil(cluster);
    if len < clusters.div_ceil(8) || count == 0 {
        return Ok(false);
    }
    // One run: each cluster of it leads to the next.
    let chain = part.read((table * sector).saturating_add(first * 4), count * 4)?;
    let leads_on = |n: u64| {
        let at = usize::try_from(n * 4).unwrap_or(usize::MAX);
        chain.get(at..at.saturating_add(4)).map(|raw| long(raw, 0)) == Some(first + n + 1)
    };
    let Some(start) = place(first).filter(|_| (0..count - 1).all(leads_on)) else {
        return Ok(false);
    };
    let map = part.read(start, clusters.div_ceil(8))?;
    free.add_map(&map, clusters, heap * sector, cluster);
    Ok(true)
}
