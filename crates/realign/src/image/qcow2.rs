//! A qcow2 of version 3, with clusters of 64 KiB.
//!
//! ```text
//! header | table of reference counts | their blocks | L1 table | the L2 tables that are needed | from a multiple of 1 MiB on: data
//! ```
//!
//! Data follow each other in the order of the disk, and no table is between them: of a disk that is full each MiB lies at a multiple of
//! 1 MiB of the file. Clusters between the tables and the data are free, with the count 0.

use std::path::Path;

use straddle_geometry::Bytes;

use super::error::ImageError;
use super::input::Input;
use super::output::{Output, Table};
use super::settings::Settings;
use crate::format::bits::{put, up};
use crate::format::qcow2::{
    CLUSTER_BITS, COPIED, HEADER_LEN, L1_ENTRIES, L1_OFFSET, MAGIC, REFCOUNT_ORDER,
    REFCOUNTS_CLUSTERS, REFCOUNTS_OFFSET, SIZE, VERSION,
};

const CLUSTER: u64 = 1 << 16;
/// Entries of a table of either level, and of the table of reference counts.
const ENTRIES: u64 = CLUSTER / 8;
/// Counts of a block, of 16 bits each.
const COUNTS: u64 = CLUSTER / 2;
/// QEMU refuses longer L1 tables.
const MAX_L1: u64 = (32 << 20) / 8;

/// How many clusters each part of the file takes.
struct Plan {
    table: u64,
    blocks: u64,
    l1: u64,
    l2: u64,
}

impl Plan {
    /// With room for `data` clusters of data.
    fn new(tables: u64, l2: u64, data: u64) -> Plan {
        let l1 = tables.div_ceil(ENTRIES).max(1);
        let (mut table, mut blocks) = (1, 1);
        loop {
            let plan = Plan {
                table,
                blocks,
                l1,
                l2,
            };
            let all = plan.data() + data;
            let needed = (all.div_ceil(COUNTS)).max(1);
            if needed <= blocks {
                return plan;
            }
            (table, blocks) = (needed.div_ceil(ENTRIES), needed);
        }
    }

    /// The first cluster behind the tables.
    fn end(&self) -> u64 {
        1 + self.table + self.blocks + self.l1 + self.l2
    }

    /// The first cluster of data.
    fn data(&self) -> u64 {
        up(self.end(), (1 << 20) / CLUSTER)
    }
}

pub(super) fn write(
    input: &mut Input<'_>,
    path: &Path,
    _: &mut Settings,
) -> Result<(), ImageError> {
    let size = input.size();
    let per_table = ENTRIES * CLUSTER;
    let tables = size.div_ceil(per_table);
    if tables > MAX_L1 {
        return Err(ImageError::Refused {
            format: "qcow2",
            why: format!(
                "a disk of {}; with clusters of 64 KiB it has at most 2 PiB",
                Bytes::new(size)
            ),
        });
    }
    let has_data =
        |table: u64| input.data_from(table * per_table) < size.min((table + 1) * per_table);
    let needed: Vec<bool> = (0..tables).map(has_data).collect();
    let count = needed.iter().filter(|needed| **needed).count();
    let count = u64::try_from(count).unwrap_or(u64::MAX);
    let most = size.div_ceil(CLUSTER).min(count.saturating_mul(ENTRIES));
    let plan = Plan::new(tables, count, most);
    let blocks_at = 1 + plan.table;
    let l1_at = blocks_at + plan.blocks;
    let l2_at = l1_at + plan.l1;
    let mut out = Output::create(path)?;
    let mut l1 = Table::new(l1_at * CLUSTER);
    let (mut next, mut l2) = (plan.data(), l2_at);
    for (table, needed) in (0..tables).zip(needed) {
        if !needed {
            l1.push(&mut out, &[0; 8])?;
            input.skip((table + 1) * per_table);
            continue;
        }
        l1.push(&mut out, &((l2 * CLUSTER) | COPIED).to_be_bytes())?;
        let mut entries = Table::new(l2 * CLUSTER);
        l2 += 1;
        for n in 0..ENTRIES {
            let (at, place) = (table * per_table + n * CLUSTER, next * CLUSTER);
            if at >= size {
                break;
            }
            let entry = match input.copy(at, CLUSTER, &mut out, || place)? {
                true => {
                    next += 1;
                    place | COPIED
                }
                false => 0,
            };
            entries.push(&mut out, &entry.to_be_bytes())?;
        }
        entries.flush(&mut out)?;
    }
    l1.flush(&mut out)?;
    let mut table = Table::new(CLUSTER);
    let mut counts = Table::new(blocks_at * CLUSTER);
    for block in 0..plan.blocks {
        table.push(&mut out, &((blocks_at + block) * CLUSTER).to_be_bytes())?;
        if block * COUNTS < next {
            for cluster in block * COUNTS..next.min((block + 1) * COUNTS) {
                let is_used = cluster < plan.end() || cluster >= plan.data();
                counts.push(&mut out, &u16::from(is_used).to_be_bytes())?;
            }
        }
    }
    table.flush(&mut out)?;
    counts.flush(&mut out)?;
    out.extend(next * CLUSTER)?;
    // With the end of the header extensions behind it.
    let mut header = [0; 112];
    put(&mut header, 0, MAGIC);
    put(&mut header, VERSION, &3_u32.to_be_bytes());
    put(&mut header, CLUSTER_BITS, &16_u32.to_be_bytes());
    put(&mut header, SIZE, &size.to_be_bytes());
    let entries = u32::try_from(tables).unwrap_or(0);
    put(&mut header, L1_ENTRIES, &entries.to_be_bytes());
    put(&mut header, L1_OFFSET, &(l1_at * CLUSTER).to_be_bytes());
    put(&mut header, REFCOUNTS_OFFSET, &CLUSTER.to_be_bytes());
    let clusters = u32::try_from(plan.table).unwrap_or(0);
    put(&mut header, REFCOUNTS_CLUSTERS, &clusters.to_be_bytes());
    put(&mut header, REFCOUNT_ORDER, &4_u32.to_be_bytes());
    put(&mut header, HEADER_LEN, &104_u32.to_be_bytes());
    out.write(0, &header)?;
    out.finish()
}
