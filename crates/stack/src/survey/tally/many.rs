//! Many whole blocks at once: what is usual is recognised by passes without a decision in them, and counted without
//! looking at each block by itself.

use straddle_geometry::{Row, lcm};

use super::{Quick, Tally, Way, counters};
use crate::survey::places::GRAIN;

/// Blocks that are looked at together: they stay in the level-1 cache.
pub(super) const BATCH: usize = 1024;
/// Fewer are not worth it.
const MIN: usize = 4;
/// The sign of a difference.
const SIGN: u64 = 1 << 63;

/// What is true of the entries of a batch. Bits instead of comparisons: vectors of 64 bits have none without SSE4.
struct Look {
    /// None is a mark, or begins behind the end of the file.
    usual: bool,
    /// None begins before the end of the one before.
    ascending: bool,
    /// One begins at the end of the one before.
    touching: bool,
    /// Bits in which they differ.
    differ: u64,
}

impl Look {
    fn at(places: &[u64], block: u64, limit: u64) -> Look {
        // All but marks and nonsense is below, so that differences have a sign.
        let limit = limit.min(SIGN - 1);
        let outside = |place: u64| place | limit.wrapping_sub(place);
        let first = places.first().copied().unwrap_or(0);
        let next = places.get(1..).unwrap_or(&[]);
        let (mut beyond, mut back, mut apart, mut differ) = (outside(first), 0, u64::MAX, 0);
        for (before, place) in places.iter().zip(next) {
            let between = place.wrapping_sub(*before).wrapping_sub(block);
            beyond |= outside(*place);
            back |= between;
            // A number that is not zero, or its negative, has a sign.
            apart &= between | between.wrapping_neg();
            differ |= place ^ first;
        }
        Look {
            usual: beyond & SIGN == 0,
            ascending: back & SIGN == 0,
            touching: apart & SIGN == 0,
            differ,
        }
    }
}

impl Tally<'_> {
    /// Counts a batch when there is nothing unusual about it; false when its entries must be looked at one by one.
    pub(super) fn many(&mut self, upper: u64, target: usize, places: &[u64]) -> bool {
        let (Some(quick), Some(Way::Base(base))) = (self.quick, self.ways.get(target)) else {
            return false;
        };
        let base = *base;
        let ([first, inner @ .., last], true) = (places, places.len() >= MIN) else {
            return false;
        };
        if base != quick.base {
            return false;
        }
        let look = Look::at(places, self.block, self.overlap.last_start());
        if !look.usual || look.touching || !(look.differ | first).is_multiple_of(GRAIN) {
            return false;
        }
        self.flush_absent();
        if target == 0 {
            self.overlap.blocks(upper, places, look.ascending);
        }
        // The first may continue the run before it, and the last may be continued.
        self.add(base, upper, *first, self.block, true);
        self.flush();
        let count = u64::try_from(inner.len()).unwrap_or(0);
        let from = upper + self.block;
        let to = from + count * self.block;
        if self.calm.start < from && to < self.calm.end {
            let alike = look.differ & quick.mask == 0;
            self.count_inner(quick, from, inner, alike);
        } else {
            let mut upper = from;
            for place in inner {
                self.add(base, upper, *place, self.block, true);
                upper += self.block;
            }
        }
        self.add(base, to, *last, self.block, true);
        true
    }

    /// Counts blocks in a calm stretch of which none continues another.
    fn count_inner(&mut self, quick: Quick, upper: u64, places: &[u64], alike: bool) {
        let (count, phases) = self.counted(quick, upper, places.len());
        let slots = usize::try_from(quick.slots).unwrap_or(usize::MAX);
        let slot = |place: u64| usize::try_from((place & quick.mask) / GRAIN).unwrap_or(0);
        if phases.period > 1 {
            let mut phase = phases.first;
            for place in places {
                if let Some(counter) = self.current.blocks.get_mut(phase * slots + slot(*place)) {
                    *counter += 1;
                }
                phase = if phase + 1 == phases.period {
                    0
                } else {
                    phase + 1
                };
            }
        } else if alike {
            let slot = places.first().map_or(0, |place| slot(*place));
            if let Some(counter) = self.current.blocks.get_mut(slot) {
                *counter += count;
            }
        } else if let Some(counters) = self.current.blocks.get_mut(..slots) {
            for place in places {
                if let Some(counter) = counters.get_mut(slot(*place)) {
                    *counter += 1;
                }
            }
        }
    }

    /// Adds whole blocks of one run each to the sums, and makes sure that there are counters for them; their number, and
    /// where they begin in the period.
    fn counted(&mut self, quick: Quick, upper: u64, count: usize) -> (u64, Phases) {
        let count = u64::try_from(count).unwrap_or(0);
        self.runs += count;
        self.mapped = self.mapped.saturating_add(count.saturating_mul(self.block));
        if self.current.blocks.is_empty() {
            self.current.blocks = vec![0; counters(self.period, self.block, quick)];
        }
        let number = |n: u64| usize::try_from(n).unwrap_or(0);
        let phases = Phases {
            first: number(upper % self.period / self.block),
            period: number(self.period / self.block),
        };
        (count, phases)
    }

    /// Counts blocks at even distances.
    pub(super) fn evenly(&mut self, row: Row) {
        let last = row.at(row.count.saturating_sub(1));
        let end = row.count.checked_mul(self.block);
        let end = end.and_then(|len| row.first.get().checked_add(len));
        let stride = row.stride.get();
        let way = self.ways.get(row.target).copied();
        let usual = row.block.get() == self.block
            && row.count > 0
            && end.is_some()
            && last <= self.overlap.last_start()
            // Not so where an address was cut at the last that there is.
            && row.lower.get().checked_add((row.count - 1).saturating_mul(stride)) == Some(last);
        match (way, self.quick) {
            (Some(Way::Base(base)), _) if usual && stride == self.block => {
                self.flush_absent();
                if row.target == 0 {
                    self.overlap.row(row);
                }
                let len = row.count * self.block;
                self.add(base, row.first.get(), row.lower.get(), len, row.count == 1);
            }
            (Some(Way::Base(base)), Some(quick))
                if usual
                    && base == quick.base
                    && stride.is_multiple_of(GRAIN)
                    && row.lower.get().is_multiple_of(GRAIN) =>
            {
                self.flush_absent();
                if row.target == 0 {
                    self.overlap.row(row);
                }
                self.strewn(base, quick, row);
            }
            _ => self.each_of(row),
        }
    }

    /// Hands a row on in batches.
    fn each_of(&mut self, row: Row) {
        let mut left = row;
        let mut places = Vec::with_capacity(BATCH);
        while left.count > 0 {
            let count = left.count.min(BATCH as u64);
            let (now, rest) = left.split(count);
            places.clear();
            places.extend((0..count).map(|index| now.at(index)));
            self.one_by_one(now.first.get(), now.target, &places);
            left = rest;
        }
    }

    /// Counts blocks of which none continues another.
    fn strewn(&mut self, base: usize, quick: Quick, row: Row) {
        let (first, block) = (row.first.get(), self.block);
        let upper = |index: u64| first + index * block;
        let mut index = 0;
        while index < row.count {
            // The last may be continued, and the first may continue the run before it.
            let calm = if index == 0 || index + 1 == row.count {
                0
            } else {
                self.flush();
                let from = upper(index);
                let room = self.calm.end.saturating_sub(from).saturating_sub(1) / self.block;
                let most = if self.calm.start < from { room } else { 0 };
                most.min(row.count - 1 - index)
            };
            if calm == 0 {
                self.add(base, upper(index), row.at(index), self.block, true);
                index += 1;
                continue;
            }
            self.count_row(quick, upper(index), row.at(index), row.stride.get(), calm);
            index += calm;
        }
    }

    /// Counts `count` blocks in a calm stretch, the first at `lower`: kinds of them come again and again, so those of one
    /// round are counted at once.
    fn count_row(&mut self, quick: Quick, upper: u64, lower: u64, stride: u64, count: u64) {
        let (count, phases) = self.counted(quick, upper, usize::try_from(count).unwrap_or(0));
        // The modulus is a power of two.
        let modulus = quick.mask + 1;
        let turn = modulus >> modulus.trailing_zeros().min(stride.trailing_zeros());
        let period = u64::try_from(phases.period).unwrap_or(1).max(1);
        let round = lcm(turn, period).unwrap_or(u64::MAX);
        let first = u64::try_from(phases.first).unwrap_or(0);
        for index in 0..round.min(count) {
            let place = lower.wrapping_add(index.wrapping_mul(stride)) & quick.mask;
            let slot = (first + index) % period * quick.slots + place / GRAIN;
            let slot = usize::try_from(slot).unwrap_or(usize::MAX);
            if let Some(counter) = self.current.blocks.get_mut(slot) {
                *counter += (count - index).div_ceil(round);
            }
        }
    }
}

/// Where blocks begin in the period, and how many there are in it.
struct Phases {
    first: usize,
    period: usize,
}
