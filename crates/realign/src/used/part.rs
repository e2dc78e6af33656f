use std::io;

use straddle_geometry::{Bytes, Extent};
use straddle_io::ReadAt;

use crate::store::read_exact;

/// Longest map that is read: clusters of 4 KiB on 64 TiB.
const MAX_MAP: u64 = 2 << 30;

/// One partition of a disk.
pub(super) struct Part<'a> {
    pub(super) disk: &'a dyn ReadAt,
    pub(super) place: Extent,
}

impl Part<'_> {
    /// Bytes of it, which have to be there.
    pub(super) fn read(&self, at: u64, len: u64) -> io::Result<Vec<u8>> {
        let end = at
            .checked_add(len)
            .filter(|end| *end <= self.place.len().get() && len <= MAX_MAP);
        let start = self.place.start().checked_add(Bytes::new(at));
        let (Some(_), Some(start)) = (end, start) else {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "its map of free space is said to be where it cannot be",
            ));
        };
        let mut bytes = vec![0; usize::try_from(len).unwrap_or(0)];
        read_exact(self.disk, start, &mut bytes)?;
        Ok(bytes)
    }

    /// A little-endian number of up to eight bytes.
    pub(super) fn number(&self, at: u64, len: u64) -> io::Result<u64> {
        let bytes = self.read(at, len)?;
        let mut raw = [0; 8];
        raw[..bytes.len().min(8)].copy_from_slice(&bytes[..bytes.len().min(8)]);
        Ok(u64::from_le_bytes(raw))
    }
}

/// What was found to be free, joined where it goes on.
pub(super) struct Free {
    pub(super) found: Vec<Extent>,
    pub(super) place: Extent,
}

impl Free {
    /// So many bytes at `at` of the partition.
    pub(super) fn add(&mut self, at: u64, len: u64) {
        let end = at.saturating_add(len).min(self.place.len().get());
        let Some(start) = self
            .place
            .start()
            .checked_add(Bytes::new(at))
            .filter(|_| at < end)
        else {
            return;
        };
        if let Some(last) = self.found.last_mut()
            && last.end() == start
            && let Some(longer) = last.len().checked_add(Bytes::new(end - at))
            && let Some(joined) = Extent::new(last.start(), longer)
        {
            *last = joined;
            return;
        }
        self.found.extend(Extent::new(start, Bytes::new(end - at)));
    }

    /// Clusters whose bit is 0, the first of the map being at `first`.
    pub(super) fn add_map(&mut self, map: &[u8], clusters: u64, first: u64, cluster: u64) {
        for n in 0..clusters.min(map.len() as u64 * 8) {
            let byte = map.get(usize::try_from(n / 8).unwrap_or(usize::MAX));
            if byte.is_some_and(|byte| byte & (1 << (n % 8)) == 0) {
                self.add(first.saturating_add(n.saturating_mul(cluster)), cluster);
            }
        }
    }
}
