//! Which clusters were named as tables already.

/// The clusters that are L2 tables. No two entries of an L1 table may name the same one. Without this, a small file whose
/// entries all name one table could keep a reader busy for days.
pub(super) struct Used {
    /// A bit for each cluster of the file, as far as there is room for it.
    bits: Vec<u64>,
    /// How many tables there can be.
    room: u64,
}

impl Used {
    /// Most clusters that have a bit: 4 MiB of them.
    const MAX: u64 = 1 << 25;

    pub(super) fn of(clusters: u64) -> Used {
        let words = clusters.min(Used::MAX).div_ceil(64);
        Used {
            bits: vec![0; usize::try_from(words).unwrap_or(0)],
            room: clusters,
        }
    }

    /// False when `cluster` was taken before, or more are taken than there are.
    pub(super) fn take(&mut self, cluster: u64) -> bool {
        let Some(room) = self.room.checked_sub(1) else {
            return false;
        };
        self.room = room;
        let word = usize::try_from(cluster / 64).ok();
        let Some(word) = word.and_then(|index| self.bits.get_mut(index)) else {
            return true;
        };
        let bit = 1 << (cluster % 64);
        let is_free = *word & bit == 0;
        *word |= bit;
        is_free
    }
}
