use crate::{Bytes, Extent, Grid, Lattice};

/// What requests that lie end to end do on one piece of their addresses, counted exactly and not as a mean: pieces are
/// finite, and in a short one the residues of the starts need not be evenly spread.
///
/// A request that reaches beyond the piece counts with the part that lies in it: where the piece ends, what comes next
/// lies elsewhere, so the part is an operation of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Bytes of the piece.
    pub bytes: u128,
    /// Granules touched, once for every part of a request that touches them.
    pub granules: u128,
    /// Granules that a part covers only in part.
    pub partial: u128,
    /// Bytes that belong to parts with a boundary strictly inside.
    pub straddling: u128,
}

impl Totals {
    /// The same `times` over.
    #[must_use]
    pub fn times(self, times: u64) -> Option<Totals> {
        let times = u128::from(times);
        Some(Totals {
            bytes: self.bytes.checked_mul(times)?,
            granules: self.granules.checked_mul(times)?,
            partial: self.partial.checked_mul(times)?,
            straddling: self.straddling.checked_mul(times)?,
        })
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, other: Totals) -> Option<Totals> {
        Some(Totals {
            bytes: self.bytes.checked_add(other.bytes)?,
            granules: self.granules.checked_add(other.granules)?,
            partial: self.partial.checked_add(other.partial)?,
            straddling: self.straddling.checked_add(other.straddling)?,
        })
    }

    /// One part of a request.
    fn of_part(part: Part, unit: u128) -> Totals {
        let (first, last) = (part.start / unit, (part.end - 1) / unit);
        let head = u128::from(!part.start.is_multiple_of(unit));
        let tail = u128::from(!part.end.is_multiple_of(unit));
        let len = part.end - part.start;
        Totals {
            bytes: len,
            granules: last - first + 1,
            partial: if first == last {
                head | tail
            } else {
                head + tail
            },
            straddling: if first == last { 0 } else { len },
        }
    }
}

/// Addresses of a part of a request, counted so that a boundary is a multiple of the unit; never empty.
#[derive(Clone, Copy)]
struct Part {
    start: u128,
    end: u128,
}

impl Lattice {
    /// What the requests do on `piece`, whose addresses meet the boundaries of `grid`. The lattice is taken to go on in
    /// both directions.
    ///
    /// `None` when the requests do not lie end to end.
    #[must_use]
    pub fn totals(self, piece: Extent, grid: Grid) -> Option<Totals> {
        if self.step() != self.len() {
            return None;
        }
        if piece.is_empty() {
            return Some(Totals::default());
        }
        let (unit, len) = (u128::from(grid.unit().get()), u128::from(self.len().get()));
        // Shifted so that a boundary lies at 0 and nothing is negative. All values stay below 2⁶⁶.
        let shift = unit - u128::from(grid.phase().get());
        let at = |offset: Bytes| u128::from(offset.get()) + shift;
        let (start, end) = (at(piece.start()), at(piece.end()));
        let first = at(Grid::with_phase(self.len(), self.start()).ceiling(piece.start()));
        if first >= end {
            return Some(Totals::of_part(Part { start, end }, unit));
        }
        let count = (end - first) / len;
        let tail = first + count * len;
        let mut sum = Totals::whole_requests(count, first, len, unit)?;
        if first > start {
            sum = sum.plus(Totals::of_part(Part { start, end: first }, unit))?;
        }
        if tail < end {
            sum = sum.plus(Totals::of_part(Part { start: tail, end }, unit))?;
        }
        Some(sum)
    }

    /// The part of `window` that whole requests cover: what is left over at its ends is shorter than a request. `None`
    /// when not even one fits.
    #[must_use]
    pub fn whole_within(self, window: Extent) -> Option<Extent> {
        let starts = Grid::with_phase(self.step(), self.start());
        let first = starts.first_at_or_after(window.start()).ok()?;
        let count = window.end().checked_sub(first)?.div_rem(self.step()).0;
        let len = self.step().bytes().checked_mul(count)?;
        Extent::new(first, len).filter(|extent| !extent.is_empty())
    }
}

impl Grid {
    /// The first boundary at or after `offset`, or the end of the address space where there is none.
    fn ceiling(self, offset: Bytes) -> Bytes {
        self.first_at_or_after(offset).unwrap_or(Bytes::MAX)
    }
}

impl Totals {
    /// `count` whole requests of `len` bytes, end to end from `start`.
    fn whole_requests(count: u128, start: u128, len: u128, unit: u128) -> Option<Totals> {
        if count == 0 {
            return Some(Totals::default());
        }
        if len.is_multiple_of(unit) {
            let one = Part {
                start,
                end: start + len,
            };
            return Totals::of_part(one, unit).times(u64::try_from(count).ok()?);
        }
        // Σ ⌊(start + k·len + add) / unit⌋ over the requests.
        let sum = |add: u128| floor_sum(count, unit, len, start + add);
        let starts = sum(0)?;
        let ends = sum(len)?;
        let crossed = sum(len - 1)? - starts;
        // ⌊x/u⌋ − ⌊(x−1)/u⌋ is 1 where x is a boundary.
        let starts_on = starts - floor_sum(count, unit, len, start - 1)?;
        let ends_on = ends - sum(len - 1)?;
        // Both ends strictly inside one granule: residues from 1 to unit − len − 1. ⌊(x + u − t)/u⌋ − ⌊x/u⌋ is 1 where the
        // residue of x is at least t.
        let inside = if len < unit {
            (sum(unit - 1)? - starts) - (ends - starts)
        } else {
            0
        };
        Some(Totals {
            bytes: count * len,
            granules: crossed + count,
            partial: (count - starts_on) + (count - ends_on) - inside,
            straddling: if len > unit { count } else { crossed } * len,
        })
    }
}

/// Σ ⌊(a·k + b) / m⌋ for k from 0 to n − 1, by the Euclidean algorithm on (a, m); `None` when it exceeds 128 bits.
fn floor_sum(mut n: u128, mut m: u128, mut a: u128, mut b: u128) -> Option<u128> {
    let mut sum = 0_u128;
    loop {
        if a >= m {
            // n·(n − 1) is even.
            let pairs = n.checked_mul(n.saturating_sub(1))? / 2;
            sum = sum.checked_add(pairs.checked_mul(a / m)?)?;
            a %= m;
        }
        if b >= m {
            sum = sum.checked_add(n.checked_mul(b / m)?)?;
            b %= m;
        }
        let top = a.checked_mul(n)?.checked_add(b)?;
        if top < m {
            return Some(sum);
        }
        (n, b) = (top / m, top % m);
        (m, a) = (a, m);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Unit;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn unit(n: u64) -> Unit {
        Unit::new(n).expect("not zero")
    }

    fn extent(start: u64, len: u64) -> Extent {
        Extent::new(Bytes::new(start), Bytes::new(len)).expect("small")
    }

    /// The same, byte by byte.
    fn walked(start: u64, io: u64, piece: Extent, grid: Grid) -> Totals {
        let mut sum = Totals::default();
        let request = |x: u64| (x + 1_000 * io - start) / io;
        let granule = |x: u64| (x + grid.unit().get() - grid.phase().get()) / grid.unit().get();
        // (request, granule) → bytes.
        let mut parts: BTreeMap<u64, BTreeMap<u64, u64>> = BTreeMap::new();
        for x in piece.start().get()..piece.end().get() {
            *parts
                .entry(request(x))
                .or_default()
                .entry(granule(x))
                .or_default() += 1;
        }
        for granules in parts.values() {
            let bytes: u64 = granules.values().sum();
            let partial = granules
                .values()
                .filter(|n| **n < grid.unit().get())
                .count();
            sum.bytes += u128::from(bytes);
            sum.granules += granules.len() as u128;
            sum.partial += partial as u128;
            sum.straddling += if granules.len() > 1 {
                u128::from(bytes)
            } else {
                0
            };
        }
        sum
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]
        #[test]
        fn totals_match_a_walk_over_the_bytes(
            start in 0_u64..60, io in 1_u64..25, from in 0_u64..80, len in 0_u64..150, u in 1_u64..25, phase in 0_u64..40,
        ) {
            let grid = Grid::with_phase(unit(u), Bytes::new(phase));
            let requests = Lattice::back_to_back(Bytes::new(start), unit(io));
            let piece = extent(from, len);
            prop_assert_eq!(requests.totals(piece, grid), Some(walked(start, io, piece, grid)));
        }

        #[test]
        fn floor_sums_match_enumeration(n in 0_u128..40, m in 1_u128..40, a in 0_u128..60, b in 0_u128..60) {
            let want: u128 = (0..n).map(|k| (a * k + b) / m).sum();
            prop_assert_eq!(floor_sum(n, m, a, b), Some(want));
        }

        #[test]
        fn any_input_has_totals_or_none(start: u64, io in 1_u64..=1 << 62, from: u64, len: u64, u in 1_u64..=1 << 62, phase: u64) {
            let grid = Grid::with_phase(unit(u), Bytes::new(phase));
            let len = len.min(u64::MAX - from);
            let requests = Lattice::back_to_back(Bytes::new(start), unit(io));
            if let Some(totals) = requests.totals(extent(from, len), grid) {
                prop_assert_eq!(totals.bytes, u128::from(len));
                prop_assert!(totals.straddling <= totals.bytes && totals.partial <= 2 * totals.granules);
            }
        }
    }

    #[test]
    fn a_long_piece_has_the_mean_of_the_endless_lattice() {
        // 2 MiB in 64 KiB requests on a unit of 320 KiB: 32 requests, so the five residues are not evenly spread.
        let grid = Grid::new(unit(320 << 10));
        let requests = Lattice::back_to_back(Bytes::new(32_256), unit(64 << 10));
        let totals = |len: u64| requests.totals(extent(32_256, len), grid).expect("small");
        assert_eq!(totals(2 << 20).granules, 32 + 6);
        assert_eq!(requests.mean_crossings(grid).to_string(), "20%");
        let whole = totals(10 << 20);
        assert_eq!((whole.granules, whole.straddling), (160 + 32, 32 * 65_536));
    }

    #[test]
    fn what_is_left_at_the_ends_is_no_request() {
        let requests = Lattice::back_to_back(Bytes::new(512), unit(4096));
        assert_eq!(
            requests.whole_within(extent(0, 10_000)),
            Some(extent(512, 8192))
        );
        assert_eq!(requests.whole_within(extent(600, 4000)), None);
    }
}
