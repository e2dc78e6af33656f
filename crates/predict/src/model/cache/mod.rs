//! An array's cache: writes are answered when they are in it, and destaged later; reads find what is there.
//!
//! This part knows pages only; when what happens is the system's business. Addresses are the array's. A byte that was
//! written is dirty until a run that holds it has been destaged, and a byte that is written while its run is on its way is
//! dirty again: each byte is destaged once after it was written last.

mod ahead;
mod gather;
mod keys;
mod pages;

pub(crate) use keys::MODEL;

use super::Operation;
use crate::kernel::Time;
use crate::profile::{Profile, Refusal, Section};
use ahead::Ahead;
use gather::Gather;
use keys::{
    DESTAGES, HIGH, IDLE, LOW, MAX_PAGES, MIRROR, PAGE, PARTIAL, READ, READ_AHEAD, SIZE, STREAMS,
    WRITE,
};
use pages::{List, MAX_SECTORS, Pages, SECTOR, Sectors};

/// Most dirty pages that are made before time begins where few would be met again, ...
const MADE: usize = 1 << 13;
/// ... which is where they are at most this part of the working set: half a percent, to which gains are known.
const SMALL: u64 = 200;
/// The working set, in dirty data, up to which pages are often written again while they are dirty: how much of each
/// is dirty then takes ...
const HOT: u64 = 8;
/// ... so many turns of all that is dirty to become what it stays.
const TURNS: u64 = 6;
/// Streams of writes that are gathered: pages say of themselves what is dirty, so that a cache need not tell streams apart for it.
const GATHERED: usize = 256;
/// A stream's piece is at most this part of what may be dirty.
const PIECES: u64 = 16;

/// Longest run that is destaged at once: a row of a very wide array goes in parts.
const LONGEST_RUN: u64 = 16 << 20;

/// Destages that may be under way at once; none without a write-back cache.
pub(crate) fn destages(profile: &Profile) -> u64 {
    match profile.section(MODEL.section) {
        Some(section) if section.word(&WRITE) != "through" => section.whole(&DESTAGES),
        _ => 0,
    }
}

/// The working set, as far as it says how soon a page is met again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Spread {
    /// So many bytes, in no order.
    Random(u64),
    /// So many bytes, one after the other: none is met again before all of them were.
    InOrder(u64),
    /// Not known: as a recording or a description has it.
    #[default]
    Unknown,
}

impl Spread {
    /// True where so many bytes are a small part of it: none is met again.
    fn is_wide(self, bytes: u64) -> bool {
        match self {
            Spread::Random(span) | Spread::InOrder(span) => bytes.saturating_mul(SMALL) <= span,
            Spread::Unknown => false,
        }
    }

    /// True where so many dirty bytes are often written again while they are dirty.
    fn is_hot(self, bytes: u64) -> bool {
        matches!(self, Spread::Random(span) if span / HOT <= bytes)
    }
}

/// Pages and the rules by which they come and go.
#[derive(Debug)]
pub(crate) struct Cache {
    pages: Pages,
    page: u64,
    /// Bytes of the array; a page that reaches beyond has fewer sectors.
    capacity: u64,
    /// Runs do not reach beyond a multiple of this.
    row: u64,
    most: usize,
    high: usize,
    low: usize,
    destages: usize,
    under_way: usize,
    fills_pages: bool,
    keeps: bool,
    ahead: Ahead,
    gather: Gather,
    /// Pages that became dirty, since the beginning.
    dirtied: u64,
    /// Dirty pages that are not made: those written last.
    left_out: usize,
    /// Before time begins, as many pages as should stay dirty did.
    is_filled: bool,
    /// A buffer for what happens before time begins.
    backfills: Vec<Operation>,
    /// Writes are answered from here.
    pub(crate) is_write_back: bool,
    pub(crate) mirror: Time,
    pub(crate) idle: Option<Time>,
}

/// Bytes of pages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    /// Pages that hold what the array does not know.
    pub(crate) dirty: u64,
    /// Pages that came to do so, since the beginning.
    pub(crate) dirtied: u64,
    /// All pages.
    pub(crate) all: u64,
    /// Pages that came in, since the beginning.
    pub(crate) inserted: u64,
    /// What was read is kept.
    pub(crate) keeps: bool,
}

/// What a read finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    All,
    /// From the first byte that is missing to the last.
    AllBut(Operation),
}

impl Cache {
    /// Of an array of `capacity` bytes that has `row` bytes of data in each row of stripe units.
    pub(crate) fn build(section: &Section, capacity: u64, row: u64) -> Result<Cache, Refusal> {
        let (size, page) = (section.whole(&SIZE), section.whole(&PAGE));
        if !page.is_power_of_two() {
            return Err(section.refuse(&PAGE, "a power of two"));
        }
        let most = size / page;
        if most > MAX_PAGES {
            let least = size.div_ceil(MAX_PAGES).next_power_of_two();
            return Err(section.refuse(
                &PAGE,
                format!("at least {least} B: a cache of {size} B has at most {MAX_PAGES} pages"),
            ));
        }
        let (low, high) = (section.number(&LOW), section.number(&HIGH));
        if low > high {
            return Err(section.refuse(&LOW, format!("at most {high}, the high-water mark")));
        }
        let most = usize::try_from(most).unwrap_or(1).max(1);
        let share = |share: f64| {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                clippy::cast_precision_loss,
                reason = "a share of at most 2¹⁹"
            )]
            let pages = (share * most as f64) as usize;
            pages.min(most)
        };
        let count = |key| usize::try_from(section.whole(key)).unwrap_or(usize::MAX);
        Ok(Cache {
            pages: Pages::new(most),
            page,
            capacity,
            row: row.clamp(1, LONGEST_RUN),
            most,
            high: share(high).max(1),
            low: share(low),
            destages: count(&DESTAGES),
            under_way: 0,
            fills_pages: section.word(&PARTIAL) == "backfill",
            keeps: section.word(&READ) == "on",
            gather: Gather::new(
                GATHERED,
                gathered(page, row.clamp(1, LONGEST_RUN), share(high).max(1)),
            ),
            dirtied: 0,
            left_out: 0,
            is_filled: false,
            backfills: Vec::new(),
            ahead: Ahead::new(count(&STREAMS), section.whole(&READ_AHEAD), capacity),
            is_write_back: section.word(&WRITE) == "back",
            mirror: section.time(&MIRROR),
            idle: section.optional(&IDLE).map(Time::seconds),
        })
    }

    /// Pages that hold what the array does not know yet, or is being told.
    pub(crate) fn used(&self) -> usize {
        self.pages.len(List::Dirty) + self.pages.len(List::Neither) + self.left_out
    }

    /// What is in it, and what came in.
    pub(crate) fn held(&self) -> Held {
        let bytes = |pages: usize| self.page * pages as u64;
        Held {
            dirty: bytes(self.used()),
            dirtied: self.page * self.dirtied,
            all: bytes(self.used() + self.pages.clean()),
            inserted: self.page * self.pages.inserted,
            keeps: self.keeps,
        }
    }

    /// Destages that may be under way at once.
    pub(crate) fn destages(&self) -> usize {
        self.destages
    }

    /// Destages that are under way.
    pub(crate) fn under_way(&self) -> usize {
        self.under_way
    }

    /// Pages at a share of the way from the low-water mark to the high-water mark.
    pub(crate) fn between_marks(&self, share: f64) -> usize {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a share of at most 2¹⁹"
        )]
        let above = (share.clamp(0.0, 1.0) * self.high.saturating_sub(self.low) as f64) as usize;
        self.low + above
    }

    /// True of pages none of which is met again.
    fn is_small(&self, pages: usize, spread: Spread) -> bool {
        spread.is_wide(self.page.saturating_mul(pages as u64))
    }

    /// How many of the pages between the marks are made before time begins: where none is met again, only those that come to be
    /// destaged.
    pub(crate) fn made(&self, share: f64, spread: Spread) -> usize {
        let pages = self.between_marks(share);
        match self.is_small(pages, spread) {
            true => pages.min(MADE),
            false => pages,
        }
    }

    /// Pages that were not made are there nevertheless: dirty ones, the ones written last; clean ones, the least recently used.
    pub(crate) fn leave_out(&mut self, share: f64, spread: Spread) {
        // Where writes are few, fewer were made.
        if self.is_filled {
            self.left_out = self.between_marks(share).saturating_sub(self.used());
        }
        self.pages.leave_out_dirty(self.left_out);
        if self.keeps && self.is_small(self.most, spread) {
            self.pages.leave_out_clean();
        }
    }

    /// Pages of writes, and of all requests, after which the cache is as after a long time of work with so much between its
    /// marks: half as many again as it may hold, and several times that where dirty pages are written again before they are
    /// destaged. A request has as many as it would touch if it were aligned, wherever it is.
    pub(crate) fn warm_after(&self, share: f64, spread: Spread) -> (u64, u64) {
        let some = |pages: usize| {
            let pages = pages as u64;
            pages + pages / 2
        };
        let made = self.made(share, spread);
        let written = if self.is_write_back { made } else { 0 };
        let is_hot = spread.is_hot(made as u64 * self.page);
        let turns = if is_hot { TURNS } else { 1 };
        let kept = self.keeps && !self.is_small(self.most, spread);
        let all = if kept { self.most } else { 0 };
        (some(written) * turns, some(all))
    }

    /// Pages of a request of so many bytes that is aligned.
    pub(crate) fn pages_of(&self, len: u64) -> u64 {
        len.div_ceil(self.page)
    }

    /// A request before time begins. So many pages stay dirty; what was written before them has been destaged as it would be.
    pub(crate) fn warm(&mut self, operation: Operation, dirty: usize) {
        if operation.is_read() || !self.is_write_back {
            if self.keeps {
                self.fill(operation);
            }
            return;
        }
        let mut at = operation.start;
        loop {
            if at < operation.end() {
                at = self.write(at, operation.end());
            }
            if at >= operation.end() && self.used() <= dirty {
                return;
            }
            self.is_filled = true;
            let mut backfills = std::mem::take(&mut self.backfills);
            let run = self.next_run(true, &mut backfills);
            self.backfills = backfills;
            match run {
                Some(run) => self.destaged(run),
                None => return,
            }
        }
    }

    /// True when what was read is kept.
    pub(crate) fn keeps_reads(&self) -> bool {
        self.keeps
    }

    fn sectors(&self) -> u64 {
        self.page / SECTOR
    }

    /// All sectors that a page has.
    fn whole(&self, number: u64) -> Sectors {
        let end = (number + 1).saturating_mul(self.page).min(self.capacity);
        mask(0, (end - number * self.page).div_ceil(SECTOR))
    }

    /// The sectors of a page that lie in a range, those that are covered in part included.
    fn covered(&self, number: u64, start: u64, end: u64) -> Sectors {
        let base = number * self.page;
        let from = start.max(base) - base;
        let to = end.min(base + self.page) - base;
        mask(from / SECTOR, to.div_ceil(SECTOR))
    }

    fn touched(&self, start: u64, end: u64) -> std::ops::RangeInclusive<u64> {
        start / self.page..=(end - 1) / self.page
    }

    /// Takes what a write brings, page by page, until there is no room: the byte behind what was taken.
    pub(crate) fn write(&mut self, start: u64, end: u64) -> u64 {
        let held = self.gather.observe(Operation::write(start, end - start));
        let held = held.unwrap_or(u64::MAX);
        self.release();
        for number in self.touched(start, end) {
            let found = self.pages.find(number);
            let is_counted = found.is_some_and(|index| {
                let page = self.pages.get(index);
                page.dirty != 0 || page.in_flight
            });
            if !is_counted && self.used() >= self.high {
                return (number * self.page).max(start);
            }
            let Some(index) = found.or_else(|| self.pages.insert(number)) else {
                return (number * self.page).max(start);
            };
            self.dirtied += u64::from(!is_counted);
            let covered = self.covered(number, start, end);
            let page = self.pages.get_mut(index);
            page.dirty |= covered;
            page.valid |= covered;
            let is_held = number.saturating_mul(self.page) >= held;
            if !page.in_flight {
                let list = if is_held { List::Held } else { List::Dirty };
                self.pages.put(index, list);
            }
        }
        end
    }

    /// Pages that are not held back any longer wait with the others.
    fn release(&mut self) {
        while let Some((from, to)) = self.gather.released() {
            for number in self.touched(from, to.max(from + 1)) {
                if let Some(index) = self.pages.find(number)
                    && self.pages.get(index).list == List::Held
                {
                    self.pages.put(index, List::Dirty);
                }
            }
        }
    }

    /// What a read finds here.
    pub(crate) fn read(&mut self, read: Operation) -> Found {
        let (mut first, mut last) = (u64::MAX, 0);
        for number in self.touched(read.start, read.end()) {
            let mut missing = self.covered(number, read.start, read.end());
            if let Some(index) = self.pages.find(number) {
                let page = self.pages.get(index);
                missing &= !page.valid;
                if page.dirty == 0 && !page.in_flight {
                    self.pages.put(index, List::Clean);
                }
            }
            if missing != 0 {
                let base = number * self.page;
                first = first.min(base + u64::from(missing.trailing_zeros()) * SECTOR);
                last = base + u64::from(Sectors::BITS - missing.leading_zeros()) * SECTOR;
            }
        }
        if last == 0 {
            return Found::All;
        }
        let first = first.max(read.start);
        Found::AllBut(Operation::read(first, last.min(read.end()) - first))
    }

    /// A read of the array has ended; what it brought is kept as far as there is room.
    pub(crate) fn fill(&mut self, read: Operation) {
        for number in self.touched(read.start, read.end()) {
            let covered = self.covered(number, read.start, read.end());
            let Some(index) = self
                .pages
                .find(number)
                .or_else(|| self.pages.insert(number))
            else {
                return;
            };
            let page = self.pages.get_mut(index);
            page.valid |= covered;
            if page.dirty == 0 && !page.in_flight {
                self.pages.put(index, List::Clean);
            }
        }
    }

    /// What to read ahead now that a read has come.
    pub(crate) fn read_ahead(&mut self, read: Operation) -> Option<Operation> {
        let ahead = self.ahead.observe(read)?;
        match self.read(ahead) {
            Found::All => None,
            Found::AllBut(missing) => Some(missing),
        }
    }

    /// The next run to destage, and what has to be read first, into `backfills`. `is_urgent` when room is needed or nothing
    /// else is to be done: then also below the low-water mark.
    pub(crate) fn next_run(
        &mut self,
        is_urgent: bool,
        backfills: &mut Vec<Operation>,
    ) -> Option<Operation> {
        backfills.clear();
        if is_urgent && self.pages.len(List::Dirty) == 0 {
            self.gather.give_up();
            self.release();
        }
        let least = if is_urgent { 0 } else { self.low };
        // Those that were not made wait with the others.
        let waiting = self.pages.len(List::Dirty) + self.left_out;
        if self.under_way >= self.destages || waiting <= least {
            return None;
        }
        let oldest = self.pages.first(List::Dirty)?;
        self.under_way += 1;
        Some(if self.fills_pages {
            self.run_of_pages(oldest, backfills)
        } else {
            self.run_of_sectors(oldest)
        })
    }

    /// Sectors of a page go on their way.
    fn take(&mut self, index: u32, sectors: Sectors) {
        let page = self.pages.get_mut(index);
        page.dirty &= !sectors;
        page.in_flight = true;
        self.pages.put(index, List::Neither);
    }

    /// A page that could join a run: dirty, not on its way, and not held back.
    fn neighbour(&self, number: u64) -> Option<u32> {
        let index = self.pages.find(number)?;
        let page = self.pages.get(index);
        (page.dirty != 0 && !page.in_flight && page.list != List::Held).then_some(index)
    }

    /// The first dirty sectors of a page and what is dirty beside them in the same row.
    fn run_of_sectors(&mut self, index: u32) -> Operation {
        let page = *self.pages.get(index);
        let base = page.number * self.page;
        let from = u64::from(page.dirty.trailing_zeros());
        let to = from + u64::from((page.dirty >> from).trailing_ones());
        let (mut start, mut end) = (base + from * SECTOR, base + to * SECTOR);
        let row = start / self.row * self.row;
        let row_end = row.saturating_add(self.row).min(self.capacity);
        end = end.min(row_end);
        let first = self.covered(page.number, start, end);
        self.take(index, first);
        while start > row && start.is_multiple_of(self.page) {
            let Some(index) = self.neighbour(start / self.page - 1) else {
                break;
            };
            let dirty = self.pages.get(index).dirty;
            let unused = MAX_SECTORS - self.sectors();
            let count = u64::from((dirty << unused).leading_ones());
            let from = (start - count * SECTOR).max(row);
            if from == start {
                break;
            }
            let joins = self.covered(start / self.page - 1, from, start);
            self.take(index, joins);
            start = from;
        }
        while end < row_end && end.is_multiple_of(self.page) {
            let Some(index) = self.neighbour(end / self.page) else {
                break;
            };
            let count = u64::from(self.pages.get(index).dirty.trailing_ones());
            let to = (end + count * SECTOR).min(row_end);
            if to == end {
                break;
            }
            let joins = self.covered(end / self.page, end, to);
            self.take(index, joins);
            end = to;
        }
        Operation::write(start, end - start)
    }

    /// A whole page and the dirty pages beside it in the same row, and what is missing in them.
    fn run_of_pages(&mut self, index: u32, backfills: &mut Vec<Operation>) -> Operation {
        let number = self.pages.get(index).number;
        let per_row = (self.row / self.page).max(1);
        let row = number / per_row * per_row;
        let mut first = number;
        while first > row && self.neighbour(first - 1).is_some() {
            first -= 1;
        }
        let mut last = number;
        while last + 1 < row + per_row && self.neighbour(last + 1).is_some() {
            last += 1;
        }
        for number in first..=last {
            let Some(index) = self.pages.find(number) else {
                continue;
            };
            let missing = self.whole(number) & !self.pages.get(index).valid;
            if missing != 0 {
                let from = u64::from(missing.trailing_zeros());
                let to = u64::from(Sectors::BITS - missing.leading_zeros());
                let start = number * self.page + from * SECTOR;
                let end = (number * self.page + to * SECTOR).min(self.capacity);
                backfills.push(Operation::read(start, end - start));
            }
            self.take(index, Sectors::MAX);
        }
        let start = first * self.page;
        let end = (last + 1).saturating_mul(self.page).min(self.capacity);
        Operation::write(start, end - start)
    }

    /// A run has reached the array.
    pub(crate) fn destaged(&mut self, write: Operation) {
        self.under_way -= 1;
        for number in self.touched(write.start, write.end()) {
            let Some(index) = self.pages.find(number) else {
                continue;
            };
            let whole = self.whole(number);
            let (fills, keeps) = (self.fills_pages, self.keeps);
            let page = self.pages.get_mut(index);
            page.in_flight = false;
            if fills {
                page.valid |= whole;
            }
            if page.dirty != 0 {
                self.pages.put(index, List::Dirty);
            } else if keeps {
                self.pages.put(index, List::Clean);
            } else {
                self.pages.remove(index);
            }
        }
    }
}

/// Bytes that a stream of writes gathers: a row, or as many pages of it as there is room for.
fn gathered(page: u64, row: u64, high: usize) -> u64 {
    let room = (high as u64 / PIECES).max(1) * page;
    row.min(room).div_ceil(page) * page
}

/// Sectors `from` to `to`, the last left out.
fn mask(from: u64, to: u64) -> Sectors {
    let below = |sector: u64| match sector {
        0..MAX_SECTORS => (1 << sector) - 1,
        _ => Sectors::MAX,
    };
    below(to) & !below(from)
}

#[cfg(test)]
mod tests;
