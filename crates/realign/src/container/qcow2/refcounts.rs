//! The reference counts of a qcow2 image.
//!
//! ```text
//! table: u64 per block of counts: its offset, a multiple of the cluster; 0: all its counts are 0
//! block: one cluster of counts of 2^order bits; where that is less than a byte, the first is in the lowest bits
//! ```

use straddle_geometry::Bytes;
use straddle_io::ReadAt;

use super::super::append;
use super::super::error::ContainerError;
use crate::Store;
use crate::format::bits::{be32, be64, fill, put, read, up};
use crate::format::qcow2::{REFCOUNT_ORDER, REFCOUNTS_CLUSTERS, REFCOUNTS_OFFSET, VERSION};

/// QEMU refuses longer tables.
const MAX_TABLE: u64 = 8 << 20;

/// Where the counts are, and which clusters may be taken.
#[derive(Debug)]
pub(super) struct Refcounts {
    pub(super) table: u64,
    /// Clusters of the table.
    pub(super) clusters: u64,
    cluster: u64,
    /// Bits of a count, as a power of two.
    order: u32,
    /// The first cluster that nothing uses, now or before.
    pub(super) next: u64,
}

impl Refcounts {
    pub(super) fn new(header: &[u8], cluster: u64) -> Refcounts {
        let is_v3 = be32(header, VERSION) >= 3;
        Refcounts {
            table: be64(header, REFCOUNTS_OFFSET),
            clusters: u64::from(be32(header, REFCOUNTS_CLUSTERS)),
            cluster,
            order: if is_v3 {
                be32(header, REFCOUNT_ORDER).min(6)
            } else {
                4
            },
            next: 0,
        }
    }

    /// Entries of the table.
    pub(super) fn entries(&self) -> u64 {
        self.clusters.saturating_mul(self.cluster / 8)
    }

    /// Counts of a block.
    pub(super) fn per_block(&self) -> u64 {
        self.cluster.saturating_mul(8) >> self.order
    }

    /// Where the block with this number lies; 0 when there is none.
    pub(super) fn block(&self, file: &(impl ReadAt + ?Sized), index: u64) -> std::io::Result<u64> {
        let at = self.table.saturating_add(index.saturating_mul(8));
        Ok(be64(&read::<8>(file, at)?, 0) & !0x1ff)
    }

    /// The count with number `n` of a block.
    pub(super) fn count(&self, block: &[u8], n: u64) -> u64 {
        let bit = n << self.order;
        let at = usize::try_from(bit / 8).unwrap_or(usize::MAX);
        if self.order < 3 {
            let byte = u64::from(block.get(at).copied().unwrap_or(0));
            return byte >> (bit % 8) & ((1 << (1 << self.order)) - 1);
        }
        let len = 1_usize << (self.order - 3);
        let raw = block.get(at..at.saturating_add(len)).unwrap_or(&[]);
        raw.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
    }

    fn set(&self, block: &mut [u8], n: u64, value: u8) {
        let bit = n << self.order;
        let at = usize::try_from(bit / 8).unwrap_or(usize::MAX);
        if self.order < 3 {
            if let Some(byte) = block.get_mut(at) {
                let mask = ((1_u16 << (1 << self.order)) - 1) << (bit % 8);
                let rest = u16::from(*byte) & !mask;
                *byte = u8::try_from(rest | u16::from(value) << (bit % 8)).unwrap_or(*byte);
            }
            return;
        }
        let len = 1_usize << (self.order - 3);
        if let Some(raw) = block.get_mut(at..at.saturating_add(len)) {
            raw.fill(0);
            if let Some(last) = raw.last_mut() {
                *last = value;
            }
        }
    }

    /// Sets the counts of the clusters `first..end`, which blocks that exist have.
    fn set_all(
        &self,
        file: &dyn Store,
        first: u64,
        end: u64,
        value: u8,
    ) -> Result<(), ContainerError> {
        let per = self.per_block();
        let mut at = first;
        while at < end {
            let index = at / per;
            let stop = end.min((index + 1).saturating_mul(per));
            let block = self.block(file, index)?;
            if block > 0 {
                // Whole bytes around the counts.
                let from = (at % per) << self.order >> 3;
                let last = ((stop - 1) % per) << self.order >> 3;
                let width = 1_u64 << self.order.saturating_sub(3);
                let len = usize::try_from(last + width - from).unwrap_or(0);
                let mut raw = vec![0; len];
                fill(file, block + from, &mut raw)?;
                for cluster in at..stop {
                    let skipped = (from << 3) >> self.order;
                    self.set(&mut raw, cluster % per - skipped, value);
                }
                file.write_at(Bytes::new(block + from), &raw)?;
            }
            at = stop;
        }
        Ok(())
    }

    /// Takes `count` clusters in a row, with the count 1. Blocks of counts that are missing for them are put in front.
    ///
    /// New blocks lie where one block has the counts of them all, which is entered before the others: so none is ever entered and not
    /// counted.
    pub(super) fn reserve(&mut self, file: &dyn Store, count: u64) -> Result<u64, ContainerError> {
        if count == 0 {
            return Ok(self.next);
        }
        let what = || ContainerError::io("writing reference counts");
        let free = self.next.max(file.size().get().div_ceil(self.cluster));
        let per = self.per_block();
        let mut missing: Vec<u64> = Vec::new();
        let mut first = free;
        let (end, missing) = loop {
            let blocks = u64::try_from(missing.len()).unwrap_or(u64::MAX);
            if (first % per).saturating_add(blocks) > per {
                // It stays there, so that what is missing only becomes more.
                first = up(first, per);
            }
            if blocks > per {
                return Err(ContainerError::Refused {
                    format: super::FORMAT,
                    why: format!(
                        "{} clusters more need {} blocks of reference counts at once, of which one counts {per}: write a new file with larger \
                         clusters with -o",
                        Bytes::new(count).grouped(),
                        Bytes::new(blocks).grouped()
                    ),
                });
            }
            let end = first.saturating_add(count).saturating_add(blocks);
            let mut found = Vec::new();
            for index in first / per..end.div_ceil(per) {
                if index >= self.entries() {
                    self.enlarge(file, free, count)?;
                    return self.reserve(file, count);
                }
                if self.block(file, index)? == 0 {
                    found.push(index);
                }
            }
            if found.len() == missing.len() {
                break (end, found);
            }
            missing = found;
        };
        let mut placed = Vec::with_capacity(missing.len());
        for (index, cluster) in missing.iter().zip(first..) {
            let mut raw = vec![0; usize::try_from(self.cluster).unwrap_or(0)];
            for own in first.max(index * per)..end.min((index + 1) * per) {
                self.set(&mut raw, own % per, 1);
            }
            let at = cluster.saturating_mul(self.cluster);
            file.write_at(Bytes::new(at), &raw).map_err(what())?;
            placed.push((*index, at.to_be_bytes()));
        }
        // In blocks that exist; the new ones have theirs.
        self.set_all(file, first, end, 1)?;
        file.flush()?;
        let counts_them = placed.iter().filter(|(index, _)| *index == first / per);
        append::entries(file, self.table, counts_them.copied())?;
        file.flush()?;
        let others = placed.iter().filter(|(index, _)| *index != first / per);
        append::entries(file, self.table, others.copied())?;
        file.flush()?;
        self.next = end;
        Ok(end - count)
    }

    /// Puts a longer table behind the end of the file, from cluster `first` on, which has room for itself and `count` clusters more.
    fn enlarge(&mut self, file: &dyn Store, first: u64, count: u64) -> Result<(), ContainerError> {
        let per = self.per_block();
        let mut clusters = self.clusters.saturating_mul(2).max(1);
        let mut missing: Vec<u64> = Vec::new();
        let end = loop {
            let blocks = u64::try_from(missing.len()).unwrap_or(u64::MAX);
            let end = first.saturating_add(clusters).saturating_add(blocks);
            let needed = end.saturating_add(count).div_ceil(per);
            let mut found = Vec::new();
            for index in first / per..end.div_ceil(per) {
                if index >= self.entries() || self.block(file, index)? == 0 {
                    found.push(index);
                }
            }
            // And one for what is reserved next.
            let long = (needed + 2).saturating_mul(8).div_ceil(self.cluster);
            if found.len() == missing.len() && long <= clusters {
                break end;
            }
            clusters = clusters.max(long);
            missing = found;
        };
        if clusters.saturating_mul(self.cluster) > MAX_TABLE {
            return Err(ContainerError::Refused {
                format: super::FORMAT,
                why: format!(
                    "its table of reference counts would have more than {}, which QEMU does not read: write a new file with larger clusters \
                     with -o",
                    Bytes::new(MAX_TABLE)
                ),
            });
        }
        let mut table =
            vec![0; usize::try_from(clusters.saturating_mul(self.cluster)).unwrap_or(0)];
        let old = usize::try_from(self.clusters.saturating_mul(self.cluster)).unwrap_or(0);
        if let Some(old) = table.get_mut(..old) {
            fill(file, self.table, old)?;
        }
        for (index, cluster) in missing.iter().zip(first + clusters..) {
            let mut raw = vec![0; usize::try_from(self.cluster).unwrap_or(0)];
            for own in first.max(index * per)..end.min((index + 1) * per) {
                self.set(&mut raw, own % per, 1);
            }
            let at = cluster.saturating_mul(self.cluster);
            file.write_at(Bytes::new(at), &raw)?;
            put(
                &mut table,
                usize::try_from(index * 8).unwrap_or(usize::MAX),
                &at.to_be_bytes(),
            );
        }
        let start = first.saturating_mul(self.cluster);
        file.write_at(Bytes::new(start), &table)?;
        // In blocks that exist.
        let exist = self.entries().saturating_mul(per);
        self.set_all(file, first, end.min(exist), 1)?;
        file.flush()?;
        // Both fields are in one sector.
        let length = u32::try_from(clusters).unwrap_or(u32::MAX);
        let fields = [&start.to_be_bytes()[..], &length.to_be_bytes()].concat();
        file.write_at(
            Bytes::new(u64::try_from(REFCOUNTS_OFFSET).unwrap_or(0)),
            &fields,
        )?;
        file.flush()?;
        let given_up = (self.table / self.cluster, self.clusters);
        (self.table, self.clusters, self.next) = (start, clusters, end);
        self.give_up(file, given_up.0, given_up.1)
    }

    /// Sets the counts of clusters that nothing refers to any more to 0.
    pub(super) fn give_up(
        &self,
        file: &dyn Store,
        first: u64,
        count: u64,
    ) -> Result<(), ContainerError> {
        self.set_all(file, first, first.saturating_add(count), 0)?;
        file.flush()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_every_width_are_set_and_read() {
        for order in 0..7 {
            let refcounts = Refcounts {
                table: 0,
                clusters: 1,
                cluster: 512,
                order,
                next: 0,
            };
            let mut block = vec![0; 512];
            let per = refcounts.per_block();
            assert_eq!(per, 4096 >> order);
            for n in [0, 1, 5, per - 1] {
                refcounts.set(&mut block, n, 1);
            }
            for n in 0..per {
                let wanted = u64::from([0, 1, 5, per - 1].contains(&n));
                assert_eq!(refcounts.count(&block, n), wanted, "{order} {n}");
            }
            refcounts.set(&mut block, 5, 0);
            assert_eq!(refcounts.count(&block, 5), 0);
            assert_eq!(refcounts.count(&block, 1), 1);
        }
        // 16 bits are big-endian.
        let refcounts = Refcounts {
            table: 0,
            clusters: 1,
            cluster: 512,
            order: 4,
            next: 0,
        };
        let mut block = [0; 4];
        refcounts.set(&mut block, 1, 1);
        assert_eq!(block, [0, 0, 0, 1]);
    }
}
