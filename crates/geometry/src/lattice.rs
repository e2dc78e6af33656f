use crate::arithmetic::{div_rem, gcd, rem};
use crate::{Bytes, Extent, Grid, Ratio, Unit};

/// Whether a request reads or writes. Only writes can force a read-modify-write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Access {
    /// Data comes from below.
    Read,
    /// Data goes below.
    Write,
}

/// One request: where, how much, which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Request {
    /// The bytes it covers, in the address space of some layer.
    pub extent: Extent,
    /// Read or write.
    pub access: Access,
}

/// Equally spaced requests of one size: they start at `start`, `start + step`, `start + 2·step`, … without end.
///
/// A table of 8 KiB pages that begins at byte 32,256 of a disk is the lattice (32,256, 8,192, 8,192): requests may come
/// in any order, only their places matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lattice {
    start: Bytes,
    step: Unit,
    len: Unit,
}

/// How a lattice of requests meets a grid. All figures are exact means over the endless lattice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crossings {
    /// Mean number of boundaries strictly inside a request.
    pub mean: Ratio,
    /// Fraction of requests with at least one boundary strictly inside: those that straddle.
    pub straddling: Ratio,
    /// Mean number of granules covered only in part, at either end (0 to 2): each costs a write a read-modify-write.
    pub partial: Ratio,
    /// Largest number of distinct granules any request touches.
    pub worst_units: u64,
}

impl Lattice {
    /// Requests of `len` bytes, one every `step` bytes, the first at `start`.
    #[must_use]
    pub const fn new(start: Bytes, step: Unit, len: Unit) -> Lattice {
        Lattice { start, step, len }
    }

    /// Requests of `len` bytes laid end to end from `start`: the pages of a file.
    #[must_use]
    pub const fn back_to_back(start: Bytes, len: Unit) -> Lattice {
        Lattice::new(start, len, len)
    }

    /// Where the first request starts.
    #[must_use]
    pub const fn start(self) -> Bytes {
        self.start
    }

    /// Distance between the starts of neighbouring requests.
    #[must_use]
    pub const fn step(self) -> Unit {
        self.step
    }

    /// Size of each request.
    #[must_use]
    pub const fn len(self) -> Unit {
        self.len
    }

    /// The same requests, the first of them at `start`.
    #[must_use]
    pub const fn starting_at(self, start: Bytes) -> Lattice {
        Lattice { start, ..self }
    }

    /// Mean number of boundaries strictly inside a request, exactly.
    ///
    /// With g = gcd(step, unit), the starts fall evenly on the `unit/g` residues c₀, c₀ + g, c₀ + 2g, …, where c₀ is the
    /// start, measured from a boundary, modulo g. Summing ⌊(residue + len − 1)/unit⌋ over them is Hermite's identity:
    /// the mean is `g·⌊(c₀ + len − 1)/g⌋ / unit`.
    #[inline]
    #[must_use]
    pub const fn mean_crossings(self, grid: Grid) -> Ratio {
        let (unit, g, c0) = self.residues(grid);
        // c0 < g ≤ unit ≤ 2⁶² and len ≤ 2⁶²: the sum stays below 2⁶³.
        let crossed = g * div_rem(c0 + self.len.get() - 1, g).0;
        ratio(crossed, unit)
    }

    /// Fraction of requests that straddle: that have at least one boundary strictly inside.
    ///
    /// A request no longer than the unit has at most one boundary inside, so the mean is the fraction; a longer one
    /// always has one.
    #[inline]
    #[must_use]
    pub const fn straddling(self, grid: Grid) -> Ratio {
        if self.len.get() > grid.unit().get() {
            Ratio::ONE
        } else {
            self.mean_crossings(grid)
        }
    }

    /// Mean number of granules that a request covers only in part, at either end: 0 to 2.
    ///
    /// The head is partial unless the request starts on a boundary, the tail unless it ends on one; both ends in one
    /// granule make one partial granule, not two. Each condition holds for one residue in `unit/g` or for none.
    #[inline]
    #[must_use]
    pub const fn partial(self, grid: Grid) -> Ratio {
        let (unit, g, c0) = self.residues(grid);
        let len = self.len.get();
        // All three counts are taken in bytes of residue (count × g), so that the denominator is the unit itself.
        let head = if c0 == 0 { unit - g } else { unit };
        let tail = if rem(c0 + len, g) == 0 {
            unit - g
        } else {
            unit
        };
        let inside = if len >= unit {
            0
        } else {
            // Residues r with 1 ≤ r ≤ unit − len − 1: both ends strictly inside one granule.
            let last = unit - len - 1;
            let first = if c0 == 0 { g } else { c0 };
            if last < first {
                0
            } else {
                (div_rem(last - first, g).0 + 1) * g
            }
        };
        ratio(head + tail - inside, unit)
    }

    /// Mean number of distinct granules a request touches: the mean number of boundaries inside, plus one.
    #[inline]
    #[must_use]
    pub const fn mean_units(self, grid: Grid) -> Ratio {
        let mean = self.mean_crossings(grid);
        ratio(mean.numerator() + mean.denominator(), mean.denominator())
    }

    /// Largest number of distinct granules any request of the lattice touches.
    #[inline]
    #[must_use]
    pub const fn worst_units(self, grid: Grid) -> u64 {
        let (unit, g, c0) = self.residues(grid);
        // The residue nearest to the next boundary is c0 + unit − g.
        div_rem(c0 + (unit - g) + self.len.get() - 1, unit).0 + 1
    }

    /// All figures at once.
    #[must_use]
    pub const fn crossings(self, grid: Grid) -> Crossings {
        Crossings {
            mean: self.mean_crossings(grid),
            straddling: self.straddling(grid),
            partial: self.partial(grid),
            worst_units: self.worst_units(grid),
        }
    }

    /// (unit, g, c₀): the residues of the starts modulo the unit are c₀, c₀ + g, …, c₀ + unit − g.
    #[inline]
    const fn residues(self, grid: Grid) -> (u64, u64, u64) {
        let unit = grid.unit().get();
        let g = gcd(self.step.get(), unit);
        (unit, g, rem(grid.remainder(self.start).get(), g))
    }
}

/// The unit is never zero, so neither is the denominator.
#[inline]
const fn ratio(numerator: u64, denominator: u64) -> Ratio {
    match Ratio::new(numerator, denominator) {
        Some(ratio) => ratio,
        None => Ratio::ZERO,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn unit(n: u64) -> Unit {
        Unit::new(n).expect("not zero")
    }

    fn lattice(start: u64, step: u64, len: u64) -> Lattice {
        Lattice::new(Bytes::new(start), unit(step), unit(len))
    }

    /// What a request at `start` does, found by walking over its bytes.
    struct Walked {
        boundaries: u64,
        partial: u64,
        units: u64,
    }

    fn walk(start: u64, len: u64, grid: Grid) -> Walked {
        let granule = |a: u64| (a + grid.unit().get() - grid.phase().get()) / grid.unit().get();
        let mut covered = std::collections::BTreeMap::new();
        for a in start..start + len {
            *covered.entry(granule(a)).or_insert(0) += 1;
        }
        Walked {
            boundaries: (start + 1..start + len)
                .filter(|a| grid.contains(Bytes::new(*a)))
                .count() as u64,
            partial: covered.values().filter(|n| **n < grid.unit().get()).count() as u64,
            units: covered.len() as u64,
        }
    }

    fn small() -> impl Strategy<Value = u64> {
        prop_oneof![
            1_u64..30,
            (0_u32..5, 1_u64..6).prop_map(|(shift, odd)| odd << shift)
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        #[test]
        fn closed_forms_match_enumeration(start in 0_u64..100, step in small(), len in small(), u in small(), phase in 0_u64..100) {
            let grid = Grid::with_phase(unit(u), Bytes::new(phase));
            let requests = lattice(start, step, len);
            // The pattern repeats after lcm(step, u)/step requests; `u` of them are a whole number of periods.
            let walked: Vec<Walked> = (0..u).map(|k| walk(start + k * step, len, grid)).collect();
            let mean = |f: fn(&Walked) -> u64| Ratio::new(walked.iter().map(f).sum(), u).expect("u is not zero");
            prop_assert_eq!(requests.mean_crossings(grid), mean(|w| w.boundaries));
            prop_assert_eq!(requests.straddling(grid), mean(|w| u64::from(w.boundaries > 0)));
            prop_assert_eq!(requests.partial(grid), mean(|w| w.partial));
            prop_assert_eq!(requests.mean_units(grid), mean(|w| w.units));
            prop_assert_eq!(Some(requests.worst_units(grid)), walked.iter().map(|w| w.units).max());
        }

        #[test]
        fn any_input_gives_figures_within_their_bounds(start: u64, step in 1_u64..=1 << 62, len in 1_u64..=1 << 62, u in 1_u64..=1 << 62, phase: u64) {
            let grid = Grid::with_phase(unit(u), Bytes::new(phase));
            let c = lattice(start, step, len).crossings(grid);
            prop_assert!(c.straddling <= Ratio::ONE);
            prop_assert!(c.partial <= Ratio::from(2));
            prop_assert!(c.worst_units >= 1);
        }
    }

    #[test]
    fn the_classical_cases_come_out_by_hand_arithmetic() {
        let straddling = |start: u64, io: u64, stripe: u64| {
            lattice(start, io, io)
                .straddling(Grid::new(unit(stripe)))
                .to_string()
        };
        const K: u64 = 1024;
        // Sector 63: 32,256 bytes.
        assert_eq!(straddling(32_256, 8 * K, 64 * K), "12.5%");
        assert_eq!(straddling(32_256, 64 * K, 64 * K), "100%");
        assert_eq!(straddling(32_256, 8 * K, 128 * K), "6.25%");
        // 32 KiB on a 64 KiB stripe unit: free up to 32 KiB, everything at 64 KiB.
        for io in [4, 8, 16, 32] {
            assert_eq!(straddling(32 * K, io * K, 64 * K), "0%");
        }
        assert_eq!(straddling(32 * K, 64 * K, 64 * K), "100%");
        // All of these are equally good for 8 KiB requests.
        for start in [64 * K, 128 * K, 1024 * K, 2048 * K] {
            assert_eq!(straddling(start, 8 * K, 64 * K), "0%");
        }
    }

    #[test]
    fn one_sector_off_rewrites_both_ends() {
        let sectors = Grid::new(Unit::B4096);
        let four = lattice(32_256, 4096, 4096);
        assert_eq!(four.partial(sectors), Ratio::from(2));
        assert_eq!(four.worst_units(sectors), 2);
        let eight = lattice(32_256, 8192, 8192);
        assert_eq!(
            (eight.partial(sectors), eight.worst_units(sectors)),
            (Ratio::from(2), 3)
        );
        assert_eq!(lattice(1 << 20, 8192, 8192).partial(sectors), Ratio::ZERO);
    }
}
