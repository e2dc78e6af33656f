//! Every cluster of an image, before one is written: each must have one owner, and the count 1.

use straddle_geometry::Bytes;
use straddle_io::ReadAt;

use super::Qcow2;
use crate::format::bits::{fill, pieces};
use crate::format::qcow2::{OFFSET, PACKED};

/// Most clusters of a file, one bit each: 256 MiB, enough for 128 TiB with clusters of 64 KiB.
const MAX_CLUSTERS: u64 = 1 << 31;

/// Which clusters have an owner.
struct Owned {
    cluster: u64,
    bits: Vec<u64>,
    count: u64,
    /// Behind the last one.
    end: u64,
}

/// Why a walk ends.
enum Fault {
    Io(std::io::Error),
    Found(String),
}

impl From<std::io::Error> for Fault {
    fn from(error: std::io::Error) -> Fault {
        Fault::Io(error)
    }
}

impl Owned {
    /// That `what` is the only owner of the cluster at byte `at`.
    fn claim(&mut self, at: u64, what: &str) -> Result<(), Fault> {
        let grouped = Bytes::new(at).grouped();
        let index = at / self.cluster;
        if !at.is_multiple_of(self.cluster) || index >= self.count {
            return Err(Fault::Found(format!(
                "{what} lies at byte {grouped}, which is no cluster of {} of the file",
                Bytes::new(self.cluster)
            )));
        }
        let word = usize::try_from(index / 64).unwrap_or(usize::MAX);
        let bit = 1_u64 << (index % 64);
        match self.bits.get_mut(word) {
            Some(word) if *word & bit == 0 => *word |= bit,
            _ => {
                return Err(Fault::Found(format!(
                    "{what} at byte {grouped} lies over something else: a cluster has two owners; `qemu-img check` says which"
                )));
            }
        }
        self.end = self.end.max(index + 1);
        Ok(())
    }

    fn claim_all(&mut self, at: u64, clusters: u64, what: &str) -> Result<(), Fault> {
        for n in 0..clusters {
            self.claim(at.saturating_add(n.saturating_mul(self.cluster)), what)?;
        }
        Ok(())
    }

    fn has(&self, index: u64) -> bool {
        let word = usize::try_from(index / 64).ok();
        let word = word.and_then(|word| self.bits.get(word));
        word.is_some_and(|word| word >> (index % 64) & 1 == 1)
    }
}

impl Qcow2 {
    /// Walks all tables; what is behind all that is in use is where new clusters are taken.
    pub(super) fn check(&mut self, file: &dyn ReadAt) -> Result<(), String> {
        match self.walk(file) {
            Ok(()) => Ok(()),
            Err(Fault::Io(error)) => Err(error.to_string()),
            Err(Fault::Found(what)) => Err(what),
        }
    }

    fn walk(&mut self, file: &dyn ReadAt) -> Result<(), Fault> {
        let count = file.size().get().div_ceil(self.cluster);
        if count > MAX_CLUSTERS {
            return Err(Fault::Found(format!(
                "the file has {} clusters of {}; at most {} are checked for two owners",
                Bytes::new(count).grouped(),
                Bytes::new(self.cluster),
                Bytes::new(MAX_CLUSTERS).grouped()
            )));
        }
        let words = usize::try_from(count.div_ceil(64)).unwrap_or(0);
        let mut owned = Owned {
            cluster: self.cluster,
            bits: vec![0; words],
            count,
            end: 0,
        };
        owned.claim(0, "the header")?;
        let l1_len = self.l1_entries.saturating_mul(8);
        owned.claim_all(self.l1, l1_len.div_ceil(self.cluster), "the L1 table")?;
        owned.claim_all(
            self.refcounts.table,
            self.refcounts.clusters,
            "the table of reference counts",
        )?;
        let mut tables = vec![0; usize::try_from(self.cluster).unwrap_or(0)];
        pieces(file, self.l1, l1_len, |_, raw| {
            for entry in raw.as_chunks::<8>().0 {
                let l2 = u64::from_be_bytes(*entry) & OFFSET;
                if l2 == 0 {
                    continue;
                }
                owned.claim(l2, "an L2 table")?;
                fill(file, l2, &mut tables)?;
                for entry in tables.as_chunks::<8>().0 {
                    let entry = u64::from_be_bytes(*entry);
                    if entry & PACKED != 0 {
                        return Err(Fault::Found(
                            "it has compressed clusters, which have no place that could be written"
                                .to_owned(),
                        ));
                    }
                    if entry & OFFSET != 0 {
                        owned.claim(entry & OFFSET, "a cluster of the disk")?;
                    }
                }
            }
            Ok(())
        })?;
        self.counts(file, &mut owned)?;
        self.refcounts.next = owned.end;
        Ok(())
    }

    /// Claims the blocks of counts, and compares the counts with the owners.
    fn counts(&self, file: &dyn ReadAt, owned: &mut Owned) -> Result<(), Fault> {
        let refcounts = &self.refcounts;
        // Also those for clusters behind the end of the file, which it will have.
        let mut blocks = Vec::new();
        let len = refcounts.entries().saturating_mul(8);
        let needed = owned.count.div_ceil(refcounts.per_block());
        pieces(file, refcounts.table, len, |_, raw| {
            for entry in raw.as_chunks::<8>().0 {
                let block = u64::from_be_bytes(*entry) & !0x1ff;
                if block > 0 {
                    owned.claim(block, "a block of reference counts")?;
                }
                if u64::try_from(blocks.len()).is_ok_and(|had| had < needed) {
                    blocks.push(block);
                }
            }
            Ok::<_, Fault>(())
        })?;
        let mut raw = vec![0; usize::try_from(self.cluster).unwrap_or(0)];
        let per = refcounts.per_block();
        for index in 0..needed {
            let block = usize::try_from(index).ok().and_then(|n| blocks.get(n));
            let block = block.copied().unwrap_or(0);
            match block {
                0 => raw.fill(0),
                block => fill(file, block, &mut raw)?,
            }
            let first = index.saturating_mul(per);
            for cluster in first..owned.end.min(first.saturating_add(per)) {
                let counted = refcounts.count(&raw, cluster - first);
                if owned.has(cluster) && counted != 1 {
                    return Err(Fault::Found(format!(
                        "the cluster at byte {} is used once and counted {counted} times: `qemu-img check -r all` counts again",
                        Bytes::new(cluster.saturating_mul(self.cluster)).grouped()
                    )));
                }
            }
        }
        Ok(())
    }
}
