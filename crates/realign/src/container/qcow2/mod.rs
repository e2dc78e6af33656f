//! qcow2 in place, versions 2 and 3.
//!
//! New clusters are taken behind the end of the file only, where nothing has ever been. In this order:
//!
//! 1. Features that whoever writes the file without knowing them has to take back. Flush.
//! 2. Where the table of reference counts has no room, a longer one in new clusters, flush, and its place in the header, flush.
//!    Blocks of reference counts that are missing, with the counts of the new clusters, and the counts in blocks that exist. Flush. The
//!    entry of the block that counts the new blocks. Flush. Those of the others. Flush. A count that is too high only keeps a cluster out
//!    of use, which `qemu-img check` calls a leak; one that is missing would give a cluster two owners.
//! 3. The clusters themselves: zeroes for data (also in a cluster that an entry with the flag for zeroes has kept), and new tables of the
//!    second level with their entries. Flush.
//! 4. Entries in tables of the second level that exist, and entries of the first level. Flush. Each is 8 bytes in one sector.
//!
//! A disk becomes longer in this order: empty entries of the first level behind those in use, as far as its last cluster has room (or,
//! where it has not, a longer table in new clusters, counted as above), flush; size, number of entries and place, which the header has
//! in one sector, flush; the counts of the former table are taken back, flush.
//!
//! Before any of this all tables are walked: each cluster must have one owner and the count 1.

mod refcounts;
mod walk;

use std::sync::Arc;

use straddle_geometry::{Bytes, SectorSize};

use super::append;
use super::blocks::{Layout, Opened};
use super::error::ContainerError;
use super::recognised::{Found, recognised};
use crate::Store;
use crate::format::bits::{be32, be64, bytes, pieces, put, read};
use crate::format::qcow2::{
    AUTOCLEAR, CLUSTER_BITS, COPIED, INCOMPATIBLE, L1_ENTRIES, L1_OFFSET, OFFSET, PACKED, SIZE,
    VERSION, ZERO,
};
use crate::ids::Ids;
use refcounts::Refcounts;

const FORMAT: &str = "qcow2";
const EXTENDED_L2: u64 = 1 << 4;
const BITMAPS: u64 = 1 << 0;
/// QEMU refuses longer L1 tables.
const MAX_L1: u64 = 32 << 20;

/// An image without snapshots, parents, compressed or encrypted clusters.
struct Qcow2 {
    header: [u8; 112],
    cluster: u64,
    l1: u64,
    l1_entries: u64,
    refcounts: Refcounts,
}

/// A cluster that gets a place.
enum Wanted {
    /// A new one.
    New,
    /// It has one, and is said to read as zeroes.
    Kept(u64),
}

pub(super) fn open(file: &Arc<dyn Store>) -> Result<Opened, String> {
    let found = recognised(file, FORMAT, &Found::default())?;
    let table = found.table.ok_or("it has no table of clusters")?;
    let failed = |error: std::io::Error| error.to_string();
    let header: [u8; 112] = read(&**file, 0).map_err(failed)?;
    let is_v3 = be32(&header, VERSION) >= 3;
    if is_v3 && be64(&header, INCOMPATIBLE) & EXTENDED_L2 != 0 {
        return Err("its clusters have subclusters, which are not allocated in place".to_owned());
    }
    if is_v3 && be64(&header, AUTOCLEAR) & BITMAPS != 0 {
        return Err(
            "it has bitmaps of what was changed, which a move would make wrong: remove them with `qemu-img bitmap --remove FILE NAME`"
                .to_owned(),
        );
    }
    let cluster = 1_u64
        .checked_shl(be32(&header, CLUSTER_BITS))
        .filter(|cluster| (512..=2 << 20).contains(cluster));
    let cluster = cluster.ok_or("its clusters have no usual size")?;
    let mut layout = Qcow2 {
        header,
        cluster,
        l1: be64(&header, L1_OFFSET),
        l1_entries: u64::from(be32(&header, L1_ENTRIES)),
        refcounts: Refcounts::new(&header, cluster),
    };
    layout.check(&**file)?;
    Ok(Opened {
        table,
        layout: Box::new(layout),
        sector: SectorSize::B512,
        permitted: Found::default(),
    })
}

impl Qcow2 {
    fn refused(why: String) -> ContainerError {
        ContainerError::Refused {
            format: FORMAT,
            why,
        }
    }

    /// Entries of a table of the second level.
    fn per_l2(&self) -> u64 {
        self.cluster / 8
    }

    fn l1_entry(&self, file: &dyn Store, index: u64) -> Result<u64, ContainerError> {
        if index >= self.l1_entries {
            let why = format!(
                "its L1 table has {} entries; number {} is beyond them",
                Bytes::new(self.l1_entries).grouped(),
                Bytes::new(index).grouped()
            );
            return Err(Qcow2::refused(why));
        }
        Ok(be64(&read::<8>(file, self.l1 + index * 8)?, 0) & OFFSET)
    }

    /// What has to be done for each of `blocks`: by its entry, when it has a table of the second level.
    fn wanted(
        &self,
        file: &dyn Store,
        blocks: &[u64],
    ) -> Result<Vec<(u64, Wanted)>, ContainerError> {
        let mut out = Vec::with_capacity(blocks.len());
        for block in blocks {
            let l2 = self.l1_entry(file, block / self.per_l2())?;
            if l2 == 0 {
                out.push((*block, Wanted::New));
                continue;
            }
            let at = l2.saturating_add(block % self.per_l2() * 8);
            let entry = be64(&read::<8>(file, at)?, 0);
            let has = entry & OFFSET;
            match (entry & PACKED != 0, has, entry & ZERO != 0) {
                (false, 0, _) => out.push((*block, Wanted::New)),
                (false, has, true) => out.push((*block, Wanted::Kept(has))),
                // It got one meanwhile.
                _ => {}
            }
        }
        Ok(out)
    }

    /// Writes the fields of the header from the size to the place of the L1 table, which are in one sector.
    fn write_l1_fields(&mut self, file: &dyn Store, size: Bytes) -> Result<(), ContainerError> {
        let entries = u32::try_from(self.l1_entries);
        let entries = entries.map_err(|_| Qcow2::refused("the L1 table is too long".to_owned()))?;
        put(&mut self.header, SIZE, &size.get().to_be_bytes());
        put(&mut self.header, L1_ENTRIES, &entries.to_be_bytes());
        put(&mut self.header, L1_OFFSET, &self.l1.to_be_bytes());
        let at = Bytes::new(u64::try_from(SIZE).unwrap_or(0));
        file.write_at(at, &bytes::<24>(&self.header, SIZE))
            .map_err(ContainerError::io("writing the header"))?;
        file.flush()?;
        Ok(())
    }
}

impl Layout for Qcow2 {
    fn touch(&mut self, file: &dyn Store, _: &mut Ids) -> Result<(), ContainerError> {
        if be32(&self.header, VERSION) >= 3 && be64(&self.header, AUTOCLEAR) != 0 {
            put(&mut self.header, AUTOCLEAR, &[0; 8]);
            file.write_at(Bytes::new(u64::try_from(AUTOCLEAR).unwrap_or(0)), &[0; 8])?;
            file.flush()?;
        }
        Ok(())
    }

    fn allocate(&mut self, file: &dyn Store, blocks: &[u64]) -> Result<(), ContainerError> {
        let wanted = self.wanted(file, blocks)?;
        let mut without_l2: Vec<u64> = Vec::new();
        for (block, _) in &wanted {
            let index = block / self.per_l2();
            if without_l2.last() != Some(&index) && self.l1_entry(file, index)? == 0 {
                without_l2.push(index);
            }
        }
        let new = wanted.iter().filter(|(_, how)| matches!(how, Wanted::New));
        let data = u64::try_from(new.count()).unwrap_or(u64::MAX);
        let tables = u64::try_from(without_l2.len()).unwrap_or(u64::MAX);
        let first = self.refcounts.reserve(file, data.saturating_add(tables))?;
        let place = |n: u64| first.saturating_add(n).saturating_mul(self.cluster);
        // New tables first, so that data that follow each other in the disk do so in the file.
        let mut entries: Vec<(u64, u64)> = Vec::with_capacity(wanted.len());
        let mut next = tables;
        for (block, how) in &wanted {
            match how {
                Wanted::New => {
                    entries.push((*block, place(next)));
                    next += 1;
                }
                Wanted::Kept(at) => {
                    append::zeroes(file, *at, at.saturating_add(self.cluster))?;
                    entries.push((*block, *at));
                }
            }
        }
        append::zeroes(file, place(0), place(next))?;
        let mut l1 = Vec::with_capacity(without_l2.len());
        for (index, n) in without_l2.iter().zip(0..) {
            let mut raw = vec![0; usize::try_from(self.cluster).unwrap_or(0)];
            for (block, at) in entries
                .iter()
                .filter(|(block, _)| block / self.per_l2() == *index)
            {
                let at_entry = usize::try_from(block % self.per_l2() * 8).unwrap_or(usize::MAX);
                put(&mut raw, at_entry, &(at | COPIED).to_be_bytes());
            }
            file.write_at(Bytes::new(place(n)), &raw)?;
            l1.push((*index, (place(n) | COPIED).to_be_bytes()));
        }
        file.flush()?;
        // In order: entries of one table are a run.
        for run in entries.chunk_by(|a, b| a.0 / self.per_l2() == b.0 / self.per_l2()) {
            let index = run.first().map_or(0, |(block, _)| block / self.per_l2());
            if without_l2.binary_search(&index).is_err() {
                let table = self.l1_entry(file, index)?;
                let run = run
                    .iter()
                    .map(|(block, at)| (block % self.per_l2(), (at | COPIED).to_be_bytes()));
                append::entries(file, table, run)?;
            }
        }
        append::entries(file, self.l1, l1.into_iter())?;
        file.flush()?;
        Ok(())
    }

    fn grow(&mut self, file: &dyn Store, size: Bytes) -> Result<(), ContainerError> {
        let needed = size.get().div_ceil(self.cluster).div_ceil(self.per_l2());
        let had = self.l1_entries;
        if needed.saturating_mul(8) > MAX_L1 {
            let why = format!(
                "a disk of {size} needs an L1 table of {needed} entries, more than QEMU reads: write a new file with larger clusters with -o"
            );
            return Err(Qcow2::refused(why));
        }
        let clusters = |entries: u64| (entries * 8).div_ceil(self.cluster);
        if clusters(needed) <= clusters(had) {
            if needed > had {
                append::entries(file, self.l1, (had..needed).map(|index| (index, [0; 8])))?;
                file.flush()?;
                self.l1_entries = needed;
            }
            return self.write_l1_fields(file, size);
        }
        let count = clusters(needed);
        let first = self.refcounts.reserve(file, count)?;
        let (old, start) = (self.l1, first * self.cluster);
        append::zeroes(file, start, start + count * self.cluster)?;
        pieces(file, old, had * 8, |at, raw| {
            file.write_at(Bytes::new(start + (at - old)), raw)
        })?;
        file.flush()?;
        let given_up = (old / self.cluster, clusters(had));
        (self.l1, self.l1_entries) = (start, needed);
        self.write_l1_fields(file, size)?;
        self.refcounts.give_up(file, given_up.0, given_up.1)
    }
}
