//! All starts that a rounded figure leaves open, beside a grid: counted, never enumerated.

use straddle_geometry::{Bytes, Error, Grid, SectorSize, Unit, gcd};
use straddle_stack::{GridRole, Interval, LayerId, Seen};

use crate::{Context, PriceRow, Prices};

/// The whole sectors within what a rounded start can have been.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Candidates {
    pub(crate) sector: Unit,
    pub(crate) first: Bytes,
    pub(crate) last: Bytes,
    pub(crate) count: u64,
}

/// How many of the candidates are on a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// All of them: it is on the grid whichever is true.
    On,
    /// None: it is off the grid whichever is true.
    Off,
    /// Some, and the first of these.
    Open { on: u64, first_on: Bytes },
}

impl Candidates {
    /// `None` when no whole sector is within `shown`: then the figure is wrong, not rounded.
    pub(crate) fn of(shown: Interval, sector: Unit) -> Option<Candidates> {
        let sectors = shown.multiples_of(sector)?;
        Some(Candidates {
            sector,
            first: sectors.from(),
            last: sectors.to(),
            count: shown.count(sector),
        })
    }

    /// The verdict on one grid; `None` when it takes more than 64 bits to know.
    pub(crate) fn on(&self, grid: Grid) -> Option<Verdict> {
        let common = match Grid::new(self.sector).intersect(grid) {
            Ok(common) => common,
            Err(Error::Disjoint { .. }) => return Some(Verdict::Off),
            Err(_) => return None,
        };
        let Some(first_on) = self.first_on(common) else {
            return Some(Verdict::Off);
        };
        let on = 1 + (self.last.get() - first_on.get()) / common.unit().get();
        Some(if on == self.count {
            Verdict::On
        } else {
            Verdict::Open { on, first_on }
        })
    }

    /// The first candidate on a grid that has boundaries at whole sectors only.
    fn first_on(&self, common: Grid) -> Option<Bytes> {
        let first = common.first_at_or_after(self.first).ok()?;
        (first <= self.last).then_some(first)
    }

    /// The number of its sector, when `start` is one.
    pub(crate) fn number(&self, start: Bytes) -> u64 {
        start.div_rem(self.sector).0
    }

    /// The least and the most that requests pay over all candidates, size by size.
    ///
    /// Requests of s bytes lie end to end. Their places modulo u are spread evenly over those congruent to the start modulo
    /// g = gcd(s, u), so the price depends only on whether the start is on the grid of g. Two neighbours and the first
    /// candidate on that grid therefore stand for all.
    pub(crate) fn prices(&self, role: GridRole, grid: Grid, ios: &[Unit]) -> Option<Bounds> {
        let mut stand_for_all = vec![self.first];
        stand_for_all.extend(
            self.first
                .checked_add(self.sector.bytes())
                .filter(|second| *second <= self.last),
        );
        for io in ios {
            let g = Unit::new(gcd(io.get(), grid.unit().get()))?;
            let common = Grid::new(self.sector).intersect(Grid::with_phase(g, grid.phase()));
            stand_for_all.extend(common.ok().and_then(|common| self.first_on(common)));
        }
        let of = |start: Bytes| {
            let seen = Seen::Uniform(grid.seen_from(start));
            Prices::of(role, grid.unit(), &seen, Bytes::ZERO, ios)
        };
        let mut all = stand_for_all.into_iter().map(of);
        let first = all.next()?;
        let mut bounds = Bounds {
            least: first.clone(),
            most: first,
        };
        for prices in all {
            take(&mut bounds.least, &prices, |new, old| new.extra < old.extra);
            take(&mut bounds.most, &prices, |new, old| new.extra > old.extra);
        }
        Some(bounds)
    }
}

/// What requests pay at least and at most.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    pub(crate) least: Prices,
    pub(crate) most: Prices,
}

/// Takes over the rows of `from` that `better` prefers; both have rows for the same sizes.
fn take(into: &mut Prices, from: &Prices, better: fn(&PriceRow, &PriceRow) -> bool) {
    for (have, new) in into.rows.iter_mut().zip(&from.rows) {
        if have.io == new.io && better(new, have) {
            *have = *new;
        }
    }
    if let (Some(have), Some(new)) = (&mut into.at_unit, &from.at_unit)
        && better(new, have)
    {
        *have = *new;
    }
}

/// The logical sector of a disk; 512 bytes when nothing says so, since the larger ones are multiples of it.
pub(crate) fn logical_sector(context: &Context<'_>, disk: LayerId) -> Unit {
    let seen = context.seen(disk).iter();
    let sectors = seen.filter(|grid| grid.role == GridRole::LogicalSector);
    let largest = sectors.map(|grid| grid.fact.value.unit()).max();
    largest.unwrap_or(SectorSize::B512.unit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(n: u64) -> Unit {
        Unit::new(n).expect("not zero")
    }

    fn shown(from: u64, to: u64) -> Interval {
        Interval::new(Bytes::new(from), Bytes::new(to)).expect("in order")
    }

    fn candidates(from: u64, to: u64) -> Candidates {
        Candidates::of(shown(from, to), unit(512)).expect("a sector is in it")
    }

    #[test]
    fn thirty_two_kb_is_sector_63_64_or_65() {
        let all = candidates(31_745, 33_280);
        assert_eq!(
            (all.number(all.first), all.number(all.last), all.count),
            (63, 65, 3)
        );
        let on = |n| all.on(Grid::new(unit(n)));
        let open = Verdict::Open {
            on: 1,
            first_on: Bytes::new(32_768),
        };
        assert_eq!(on(4096), Some(open));
        assert_eq!(on(32_768), Some(open));
        assert_eq!(on(65_536), Some(Verdict::Off));
        assert_eq!(on(512), Some(Verdict::On));
        // Boundaries between sectors only.
        assert_eq!(
            all.on(Grid::with_phase(unit(4096), Bytes::new(100))),
            Some(Verdict::Off)
        );
        assert_eq!(Candidates::of(shown(131_172, 131_172), unit(512)), None);
    }

    #[test]
    fn counting_by_arithmetic_finds_what_counting_finds() {
        for (from, to) in [(0, 9_000), (31_745, 33_280), (63_489, 90_111)] {
            let all = candidates(from, to);
            for (size, phase) in [
                (512, 0),
                (1536, 512),
                (4096, 0),
                (4096, 3584),
                (196_608, 0),
                (65_536, 0),
                (5000, 8),
            ] {
                let grid = Grid::with_phase(unit(size), Bytes::new(phase));
                let each = || (0..all.count).map(|n| all.first.get() + n * 512);
                let on: Vec<u64> = each().filter(|s| grid.contains(Bytes::new(*s))).collect();
                let expected = match on.as_slice() {
                    [] => Verdict::Off,
                    some if some.len() as u64 == all.count => Verdict::On,
                    [first, ..] => Verdict::Open {
                        on: on.len() as u64,
                        first_on: Bytes::new(*first),
                    },
                };
                assert_eq!(all.on(grid), Some(expected), "{from} to {to}, {size}");

                let ios = [4096, 6144, 8192, 65_536].map(unit);
                for role in [GridRole::PhysicalSector, GridRole::StripeUnit] {
                    let found = all.prices(role, grid, &ios).expect("small");
                    for (index, io) in ios.iter().enumerate() {
                        let extras = each().map(|start| {
                            let seen = Seen::Uniform(grid.seen_from(Bytes::new(start)));
                            Prices::of(role, grid.unit(), &seen, Bytes::ZERO, &[*io]).rows[0].extra
                        });
                        let extras: Vec<_> = extras.collect();
                        assert_eq!(Some(&found.least.rows[index].extra), extras.iter().min());
                        assert_eq!(Some(&found.most.rows[index].extra), extras.iter().max());
                    }
                }
            }
        }
    }

    #[test]
    fn gigabytes_take_no_longer_than_kilobytes() {
        let all = candidates(1 << 62, (1 << 62) + (1 << 50));
        assert_eq!(all.count, (1 << 41) + 1);
        let Some(Verdict::Open { on, .. }) = all.on(Grid::new(unit(1 << 20))) else {
            panic!("some are on it");
        };
        assert_eq!(on, (1 << 30) + 1);
        assert!(
            all.prices(GridRole::StripeUnit, Grid::new(unit(65_536)), &[unit(8192)])
                .is_some()
        );
    }
}
