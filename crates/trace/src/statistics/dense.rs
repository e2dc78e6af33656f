//! Counts of keys that differ in the page of 4 KiB only, side by side: most requests of a trace are of a few devices and lengths, and
//! begin at the same places of pages. So their counts lie near the processor, four bytes each, and are found without a search for each.

use super::key::Key;

/// So many keys differ in the page only.
const PAGES: usize = 256;
const PAGES_BITS: u32 = PAGES.ilog2();
/// So many blocks at most: more would not stay near the processor.
const MAX_BLOCKS: usize = 2048;
/// Four slots for each block, so that hardly two meet.
const SLOTS_BITS: u32 = 13;
/// Emptied before a count could overflow.
const MAX_COUNTED: u64 = 1 << 31;

/// A block's key and its number.
#[derive(Clone, Copy, Debug)]
struct Head {
    key: Key,
    block: u32,
}

/// A request has at least one byte, so its key is none of zeros.
const FREE: Head = Head {
    key: Key::from_words(0, 0),
    block: 0,
};

/// Blocks of counts. Keys for which there is no room are left to others.
#[derive(Debug, Default)]
pub(super) struct Dense {
    heads: Vec<Head>,
    /// One block after another.
    counts: Vec<u32>,
    used: usize,
    /// Most blocks that the memory allows.
    most: usize,
    /// Keys that were counted and that were left, since it was empty.
    counted: u64,
    left: u64,
}

impl Dense {
    pub(super) fn new(memory: usize) -> Dense {
        let block = PAGES * size_of::<u32>();
        Dense {
            most: (memory / block).min(MAX_BLOCKS),
            ..Dense::default()
        }
    }

    /// Counts the keys that have a block, and leaves the others in the list.
    #[inline]
    pub(super) fn count(&mut self, keys: &mut Vec<Key>) {
        if self.most == 0 {
            return;
        }
        if self.heads.is_empty() {
            self.heads = vec![FREE; 1 << SLOTS_BITS];
        }
        let all = keys.len();
        keys.retain(|key| {
            let (key, page) = key.page();
            match self.block(key) {
                Some(block) => {
                    if let Some(count) = self.counts.get_mut(block << PAGES_BITS | page) {
                        *count += 1;
                    }
                    false
                }
                None => true,
            }
        });
        self.left += keys.len() as u64;
        self.counted += (all - keys.len()) as u64;
    }

    /// The number of a key's block, a new one where there is room.
    #[inline]
    fn block(&mut self, key: Key) -> Option<usize> {
        let mask = (1 << SLOTS_BITS) - 1;
        let mut at = usize::try_from(key.digest() >> (64 - SLOTS_BITS)).unwrap_or(0);
        loop {
            let head = self.heads.get(at & mask)?;
            if head.key == key {
                return Some(head.block as usize);
            }
            if head.key == FREE.key {
                return self.enter(key, at & mask);
            }
            at += 1;
        }
    }

    #[cold]
    fn enter(&mut self, key: Key, at: usize) -> Option<usize> {
        if self.used == self.most {
            return None;
        }
        let block = self.used;
        self.heads[at] = Head {
            key,
            block: u32::try_from(block).ok()?,
        };
        self.used += 1;
        self.counts.resize(self.used << PAGES_BITS, 0);
        Some(block)
    }

    /// Whether other keys come by now than those that there are blocks for, or a count might overflow.
    pub(super) const fn is_to_be_emptied(&self) -> bool {
        let is_stale = self.left > self.counted && self.left > (64 * MAX_BLOCKS) as u64;
        is_stale || self.counted > MAX_COUNTED
    }

    /// Every key once, with its count.
    pub(super) fn counts(&self) -> impl Iterator<Item = (Key, u64)> {
        let heads = self.heads.iter().filter(|head| head.key != FREE.key);
        heads.flat_map(|head| {
            let block = (head.block as usize) << PAGES_BITS;
            let counts = self.counts.get(block..block + PAGES).unwrap_or_default();
            let counted = counts.iter().enumerate().filter(|(_, count)| **count > 0);
            counted.map(|(page, count)| (head.key.with_page(page), u64::from(*count)))
        })
    }

    /// The same without counts.
    pub(super) fn emptied(mut self) -> Dense {
        self.heads.fill(FREE);
        self.counts.clear();
        Dense {
            used: 0,
            counted: 0,
            left: 0,
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use straddle_geometry::Access;

    proptest! {
        #[test]
        fn a_page_taken_out_of_a_key_can_be_put_back(device in 0_u32..1 << 20, place: u32, len: u32) {
            let key = Key::new(device, 7, Access::Write, place.into(), len.into());
            let (block, page) = key.page();
            prop_assert!(page < PAGES);
            prop_assert_eq!(block.with_page(page), key);
            prop_assert_eq!(block.page(), (block, 0));
        }
    }

    #[test]
    fn counts_are_taken_away_before_one_could_overflow() {
        let mut dense = Dense {
            counted: MAX_COUNTED,
            ..Dense::new(1 << 20)
        };
        assert!(!dense.is_to_be_emptied());
        let mut keys = vec![Key::new(0, 0, Access::Read, 4096, 512)];
        dense.count(&mut keys);
        assert!(keys.is_empty() && dense.is_to_be_emptied());
        let dense = dense.emptied();
        assert!(!dense.is_to_be_emptied() && dense.counts().next().is_none());
    }
}
