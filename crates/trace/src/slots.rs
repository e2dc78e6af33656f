//! Places in a list, found by a digest of what is there: of each only the place is kept, four bytes, since there may be a hundred thousand.

/// At most half of the slots are taken, each by the place of what has this digest, or one a little before it.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    slots: Vec<u32>,
    taken: usize,
}

const FREE: u32 = u32::MAX;
/// As many are there from the beginning.
const LEAST: usize = 64;

impl Slots {
    /// The place of what has this digest and is it.
    #[inline]
    pub(crate) fn find(&self, digest: usize, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        let mask = self.slots.len().wrapping_sub(1);
        let mut slot = digest & mask;
        loop {
            match self.slots.get(slot) {
                Some(&FREE) | None => return None,
                Some(place) if is_it(*place) => return Some(*place),
                Some(_) => slot = (slot + 1) & mask,
            }
        }
    }

    /// Adds a place that is not there, of something with this digest; `digest_of` gives those of the others.
    pub(crate) fn add(&mut self, place: u32, digest: usize, digest_of: impl Fn(u32) -> usize) {
        self.taken += 1;
        if 2 * self.taken > self.slots.len() {
            let more = (2 * self.slots.len()).max(LEAST);
            let before = std::mem::replace(&mut self.slots, vec![FREE; more]);
            for place in before.into_iter().filter(|place| *place != FREE) {
                self.put(place, digest_of(place));
            }
        }
        self.put(place, digest);
    }

    fn put(&mut self, place: u32, digest: usize) {
        let mask = self.slots.len() - 1;
        let mut slot = digest & mask;
        while self.slots[slot] != FREE {
            slot = (slot + 1) & mask;
        }
        self.slots[slot] = place;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Digests that meet in one slot, and at the end of the table, too.
        #[test]
        fn what_was_added_is_found_and_nothing_else(digests in proptest::collection::vec(0_usize..90, 0..300)) {
            let mut slots = Slots::default();
            prop_assert_eq!(slots.find(7, |_| true), None);
            for (place, digest) in (0_u32..).zip(&digests) {
                slots.add(place, *digest, |place| digests[place as usize]);
            }
            for (place, digest) in (0_u32..).zip(&digests) {
                prop_assert_eq!(slots.find(*digest, |other| other == place), Some(place));
            }
            let most = u32::try_from(digests.len()).expect("few");
            prop_assert_eq!(slots.find(digests.first().copied().unwrap_or(0), |place| place >= most), None);
        }
    }
}
