//! The pages of a cache: found by number, in two lists of which the oldest comes first.
//!
//! Memory is bounded by the number of pages. Pages are found by open addressing with linear probing; what is taken out
//! closes its gap, so that nothing is ever searched beyond a free place. Sectors of a page are bits of a word.

/// Bytes that one bit of a page stands for.
pub(super) const SECTOR: u64 = 512;
/// Most sectors of a page.
pub(super) const MAX_SECTORS: u64 = 128;

const NONE: u32 = u32::MAX;

/// Places of a table at first.
const PLACES: usize = 1 << 10;

/// Sectors of a page, the first in the lowest bit.
pub(super) type Sectors = u128;

/// One page.
#[derive(Clone, Copy, Debug)]
pub(super) struct Page {
    pub(super) number: u64,
    /// What the cache knows.
    pub(super) valid: Sectors,
    /// What the array does not know yet.
    pub(super) dirty: Sectors,
    /// It is being destaged: what was dirty then is on its way.
    pub(super) in_flight: bool,
    pub(super) list: List,
    before: u32,
    after: u32,
}

/// Which list a page is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum List {
    /// What the array knows too; the least recently used comes first.
    Clean,
    /// What is to be destaged; what was written longest ago comes first.
    Dirty,
    /// To be destaged, but not yet: a stream goes on there.
    Held,
    /// In flight, or free.
    Neither,
}

#[derive(Clone, Copy, Debug)]
struct Ends {
    first: u32,
    last: u32,
    len: usize,
}

/// All pages that the cache holds.
#[derive(Debug)]
pub(super) struct Pages {
    pages: Vec<Page>,
    free: Vec<u32>,
    most: usize,
    /// Clean pages that are not made, and that nothing is ever looked for in: the least recently used.
    left_out: usize,
    /// Indices of pages by a hash of their numbers; a power of two, at least twice as many as pages. It grows with them: few
    /// pages are made of many caches, and what is small stays near the processor.
    table: Vec<u32>,
    /// Right shift of a 64-bit hash to the table's width.
    shift: u32,
    clean: Ends,
    dirty: Ends,
    /// Pages that came in, since the beginning.
    pub(super) inserted: u64,
}

impl Pages {
    /// Room for so many pages, none of them used.
    pub(super) fn new(most: usize) -> Pages {
        let places = (2 * most).next_power_of_two().clamp(2, PLACES);
        let none = Ends {
            first: NONE,
            last: NONE,
            len: 0,
        };
        Pages {
            // Room that nobody writes to is none, and what grew would be copied: half of all memory that a run touches.
            pages: Vec::with_capacity(most),
            free: Vec::new(),
            most,
            left_out: 0,
            table: vec![NONE; places],
            shift: shift(places),
            clean: none,
            dirty: none,
            inserted: 0,
        }
    }

    /// Four times the table, with what is in it: what a cache that is filled moves all in all is a third of its pages.
    #[cold]
    fn grow(&mut self) {
        let places = 4 * self.table.len();
        let old = std::mem::replace(&mut self.table, vec![NONE; places]);
        self.shift = shift(places);
        for index in old.into_iter().filter(|index| *index != NONE) {
            let place = self.place(self.pages[index as usize].number);
            self.table[place] = index;
        }
    }

    #[inline]
    fn home(&self, number: u64) -> usize {
        // Fibonacci hashing: the golden ratio spreads numbers that follow each other.
        #[expect(
            clippy::cast_possible_truncation,
            reason = "shifted to the table's width"
        )]
        let home = (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize;
        home
    }

    /// The place of a number in the table: where it is, or where it would go.
    #[inline]
    fn place(&self, number: u64) -> usize {
        let mask = self.table.len() - 1;
        let mut place = self.home(number);
        loop {
            let index = self.table[place];
            if index == NONE || self.pages[index as usize].number == number {
                return place;
            }
            place = (place + 1) & mask;
        }
    }

    /// The page of that number.
    #[inline]
    pub(super) fn find(&self, number: u64) -> Option<u32> {
        let index = self.table[self.place(number)];
        (index != NONE).then_some(index)
    }

    /// A page as it is.
    #[inline]
    pub(super) fn get(&self, index: u32) -> &Page {
        &self.pages[index as usize]
    }

    /// A page to be changed; not its list.
    #[inline]
    pub(super) fn get_mut(&mut self, index: u32) -> &mut Page {
        &mut self.pages[index as usize]
    }

    /// How many pages a list has.
    pub(super) fn len(&self, list: List) -> usize {
        match list {
            List::Clean => self.clean.len,
            List::Dirty => self.dirty.len,
            List::Held | List::Neither => self.made() - self.clean.len - self.dirty.len,
        }
    }

    /// Clean pages, with those that are not made.
    pub(super) fn clean(&self) -> usize {
        self.clean.len + self.left_out
    }

    /// So many dirty pages that are not made take up room for good.
    pub(super) fn leave_out_dirty(&mut self, pages: usize) {
        self.most = self.most.saturating_sub(pages).max(self.made());
    }

    /// What is free is taken up by clean pages that are not made; they make room before all others.
    pub(super) fn leave_out_clean(&mut self) {
        self.left_out = self.most - self.made();
    }

    /// Pages that are made.
    fn made(&self) -> usize {
        self.pages.len() - self.free.len()
    }

    /// The page that has been in a list for longest.
    #[inline]
    pub(super) fn first(&self, list: List) -> Option<u32> {
        let first = match list {
            List::Clean => self.clean.first,
            List::Dirty => self.dirty.first,
            List::Held | List::Neither => NONE,
        };
        (first != NONE).then_some(first)
    }

    /// A new page, empty and in neither list, of a number that is not there; a clean one makes room when there is no other.
    /// `None` when all that is there is dirty or in flight.
    pub(super) fn insert(&mut self, number: u64) -> Option<u32> {
        if self.made() + self.left_out >= self.most && self.left_out > 0 {
            self.left_out -= 1;
        } else if self.made() >= self.most {
            let oldest = self.first(List::Clean)?;
            self.remove(oldest);
        }
        if 2 * (self.made() + 1) > self.table.len() {
            self.grow();
        }
        let page = Page {
            number,
            valid: 0,
            dirty: 0,
            in_flight: false,
            list: List::Neither,
            before: NONE,
            after: NONE,
        };
        let place = self.place(number);
        let index = match self.free.pop() {
            Some(index) => {
                self.pages[index as usize] = page;
                index
            }
            None => {
                self.pages.push(page);
                u32::try_from(self.pages.len() - 1).ok()?
            }
        };
        self.table[place] = index;
        self.inserted += 1;
        Some(index)
    }

    /// Forgets a page.
    pub(super) fn remove(&mut self, index: u32) {
        self.put(index, List::Neither);
        let mask = self.table.len() - 1;
        let mut gap = self.place(self.pages[index as usize].number);
        let mut place = gap;
        loop {
            place = (place + 1) & mask;
            let next = self.table[place];
            if next == NONE {
                break;
            }
            let home = self.home(self.pages[next as usize].number);
            // It may move into the gap unless its home lies behind the gap.
            let from_home = place.wrapping_sub(home) & mask;
            let from_gap = place.wrapping_sub(gap) & mask;
            if from_home >= from_gap {
                self.table[gap] = next;
                gap = place;
            }
        }
        self.table[gap] = NONE;
        self.free.push(index);
    }

    fn ends(&mut self, list: List) -> Option<&mut Ends> {
        match list {
            List::Clean => Some(&mut self.clean),
            List::Dirty => Some(&mut self.dirty),
            List::Held | List::Neither => None,
        }
    }

    fn unlink(&mut self, index: u32) {
        let Page {
            list,
            before,
            after,
            ..
        } = self.pages[index as usize];
        let Some(ends) = self.ends(list) else { return };
        ends.len -= 1;
        if before == NONE {
            ends.first = after;
        }
        if after == NONE {
            ends.last = before;
        }
        if before != NONE {
            self.pages[before as usize].after = after;
        }
        if after != NONE {
            self.pages[after as usize].before = before;
        }
    }

    /// Moves a page to the end of a list, wherever it was.
    #[inline]
    pub(super) fn put(&mut self, index: u32, list: List) {
        self.unlink(index);
        let mut before = NONE;
        if let Some(ends) = self.ends(list) {
            before = ends.last;
            ends.last = index;
            ends.len += 1;
            if before == NONE {
                ends.first = index;
            }
        }
        if before != NONE {
            self.pages[before as usize].after = index;
        }
        let page = &mut self.pages[index as usize];
        page.list = list;
        page.before = before;
        page.after = NONE;
    }
}

/// Right shift of a 64-bit hash to so many places, a power of two.
fn shift(places: usize) -> u32 {
    u64::BITS - places.trailing_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn pages_are_found_and_lists_keep_their_order(
            most in 1_usize..40,
            steps in proptest::collection::vec((0_u64..60, 0_u8..4), 0..400),
        ) {
            let mut pages = Pages::new(most);
            let (mut clean, mut dirty) = (VecDeque::new(), VecDeque::new());
            for (number, step) in steps {
                let number = number * 0x1_0000;
                let known = clean.contains(&number) || dirty.contains(&number);
                prop_assert_eq!(pages.find(number).is_some(), known);
                let list = if step == 0 { List::Clean } else { List::Dirty };
                match (pages.find(number), step) {
                    (Some(index), 3) => {
                        pages.remove(index);
                        clean.retain(|n| *n != number);
                        dirty.retain(|n| *n != number);
                    }
                    (None, 3) => {}
                    (found, _) => {
                        if found.is_none() && clean.len() + dirty.len() == most && clean.pop_front().is_none() {
                            prop_assert_eq!(pages.insert(number), None);
                            continue;
                        }
                        let index = found.or_else(|| pages.insert(number)).expect("there is room");
                        prop_assert_eq!(pages.get(index).number, number);
                        pages.put(index, list);
                        clean.retain(|n| *n != number);
                        dirty.retain(|n| *n != number);
                        if step == 0 { clean.push_back(number) } else { dirty.push_back(number) }
                    }
                }
                prop_assert_eq!(pages.len(List::Clean), clean.len());
                prop_assert_eq!(pages.len(List::Dirty), dirty.len());
                let first = pages.first(List::Dirty).map(|index| pages.get(index).number);
                prop_assert_eq!(first, dirty.front().copied());
                let first = pages.first(List::Clean).map(|index| pages.get(index).number);
                prop_assert_eq!(first, clean.front().copied());
            }
        }
    }

    #[test]
    fn a_table_grows_and_loses_nothing() {
        let mut pages = Pages::new(1 << 17);
        let number = |n: u64| n * n * 0x1_0001;
        for n in 0..50_000 {
            let index = pages.insert(number(n)).expect("there is room");
            pages.put(index, List::Dirty);
            if n % 3 == 0 {
                let index = pages.find(number(n / 2)).filter(|_| n % 2 == 0);
                index.into_iter().for_each(|index| pages.remove(index));
            }
            assert!(2 * pages.made() <= pages.table.len());
        }
        let gone = |n: u64| n < 25_000 && n.is_multiple_of(3);
        for n in 0..50_000 {
            let found = pages.find(number(n)).map(|index| pages.get(index).number);
            assert_eq!(found, (!gone(n)).then_some(number(n)), "{n}");
        }
        assert_eq!(pages.table.len(), 1 << 18);
    }
}
