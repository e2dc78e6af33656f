use crate::arithmetic::{div_rem, gcd, inverse_mod, mul_mod, rem};
use crate::{Bytes, Error, Unit};

/// A set of equally spaced boundaries: every address ≡ `phase` (mod `unit`), with 0 ≤ phase < unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Grid {
    unit: Unit,
    phase: Bytes,
}

impl Grid {
    /// Boundaries at every multiple of `unit`.
    #[must_use]
    pub const fn new(unit: Unit) -> Grid {
        Grid {
            unit,
            phase: Bytes::ZERO,
        }
    }

    /// Boundaries at every address that leaves the remainder `phase mod unit`.
    #[must_use]
    pub const fn with_phase(unit: Unit, phase: Bytes) -> Grid {
        Grid {
            unit,
            phase: Bytes::new(rem(phase.get(), unit.get())),
        }
    }

    /// Distance between boundaries.
    #[must_use]
    pub const fn unit(self) -> Unit {
        self.unit
    }

    /// The first boundary at or after address 0.
    #[must_use]
    pub const fn phase(self) -> Bytes {
        self.phase
    }

    /// How far `offset` lies behind the boundary before it; zero when it is on one.
    #[inline]
    #[must_use]
    pub const fn remainder(self, offset: Bytes) -> Bytes {
        let r = rem(offset.get(), self.unit.get());
        let phase = self.phase.get();
        Bytes::new(if r >= phase {
            r - phase
        } else {
            r + (self.unit.get() - phase)
        })
    }

    /// True when `offset` is a boundary.
    #[must_use]
    pub const fn contains(self, offset: Bytes) -> bool {
        self.remainder(offset).get() == 0
    }

    /// The first boundary at or after `offset`.
    ///
    /// # Errors
    /// [`Error::Overflow`] when it lies past 2⁶⁴ − 1.
    #[inline]
    pub const fn first_at_or_after(self, offset: Bytes) -> Result<Bytes, Error> {
        let behind = self.remainder(offset).get();
        if behind == 0 {
            return Ok(offset);
        }
        match offset.get().checked_add(self.unit.get() - behind) {
            Some(n) => Ok(Bytes::new(n)),
            None => Err(Error::Overflow),
        }
    }

    /// The last boundary at or before `offset`; `None` when there is none.
    #[must_use]
    pub const fn last_at_or_before(self, offset: Bytes) -> Option<Bytes> {
        offset.checked_sub(self.remainder(offset))
    }

    /// The same boundaries seen from a layer whose address 0 lies at `start` here: how a grid is projected up through
    /// a linear map.
    #[must_use]
    pub const fn seen_from(self, start: Bytes) -> Grid {
        let behind = self.remainder(start).get();
        let phase = if behind == 0 {
            0
        } else {
            self.unit.get() - behind
        };
        Grid {
            unit: self.unit,
            phase: Bytes::new(phase),
        }
    }

    /// The boundaries that both grids share: their unit is the least common multiple (the Chinese remainder theorem
    /// for moduli that need not be coprime).
    ///
    /// # Errors
    /// [`Error::Disjoint`] when no address is on both, [`Error::Overflow`] when the common unit exceeds 2⁶² bytes.
    pub fn intersect(self, other: Grid) -> Result<Grid, Error> {
        // Nested units, by far the commonest pair, need no multiplication and no inverse.
        let (coarse, fine) = if self.unit >= other.unit {
            (self, other)
        } else {
            (other, self)
        };
        let g = gcd(coarse.unit.get(), fine.unit.get());
        if g == fine.unit.get() {
            return if fine.contains(coarse.phase) {
                Ok(coarse)
            } else {
                Err(disjoint(g, self, other))
            };
        }
        if rem(coarse.phase.get(), g) != rem(fine.phase.get(), g) {
            return Err(disjoint(g, self, other));
        }
        let (m, n) = (coarse.unit.get(), fine.unit.get());
        let steps = div_rem(n, g).0;
        let unit = m
            .checked_mul(steps)
            .and_then(Unit::new)
            .ok_or(Error::Overflow)?;
        // Solve phase ≡ p + m·t with m·t ≡ q − p (mod n): t = (q − p)/g · (m/g)⁻¹ (mod n/g).
        // Units are at most 2⁶², so sums fit in 64 bits; so does m·t, which is below the common unit.
        let (p, q) = (coarse.phase.get(), fine.phase.get());
        let difference = div_rem(rem(q + n - rem(p, n), n), g).0;
        let t = match difference {
            // The coarse grid starts on the fine one; so do all that start at 0.
            0 => 0,
            _ => mul_mod(
                difference,
                inverse_mod(rem(div_rem(m, g).0, steps), steps),
                steps,
            ),
        };
        let phase = p + m * t;
        Ok(Grid {
            unit,
            phase: Bytes::new(phase),
        })
    }

    /// The boundaries that all of `grids` share; every address when there are none.
    ///
    /// The smallest good offset at or after `x` is then [`Grid::first_at_or_after`] of the result.
    ///
    /// # Errors
    /// As [`Grid::intersect`].
    pub fn intersect_all(grids: impl IntoIterator<Item = Grid>) -> Result<Grid, Error> {
        const EVERYWHERE: Grid = Grid::new(match Unit::new(1) {
            Some(unit) => unit,
            None => unreachable!(),
        });
        grids.into_iter().try_fold(EVERYWHERE, Grid::intersect)
    }
}

fn disjoint(gcd: u64, left: Grid, right: Grid) -> Error {
    Error::Disjoint {
        gcd,
        left: rem(left.phase.get(), gcd),
        right: rem(right.phase.get(), gcd),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn grid(unit: u64, phase: u64) -> Grid {
        Grid::with_phase(Unit::new(unit).expect("not zero"), Bytes::new(phase))
    }

    /// Units as they occur: small odd factors times powers of two, and arbitrary small numbers.
    fn small_unit() -> impl Strategy<Value = u64> {
        prop_oneof![
            1_u64..40,
            (0_u32..6, 1_u64..8).prop_map(|(shift, odd)| odd << shift)
        ]
    }

    proptest! {
        #[test]
        fn membership_and_rounding_match_enumeration(unit in small_unit(), phase in 0_u64..200, x in 0_u64..400) {
            let g = grid(unit, phase);
            let on = |a: u64| a % unit == phase % unit;
            prop_assert_eq!(g.contains(Bytes::new(x)), on(x));
            prop_assert_eq!(g.first_at_or_after(Bytes::new(x)).map(Bytes::get).ok(), (x..x + unit).find(|a| on(*a)));
            prop_assert_eq!(g.last_at_or_before(Bytes::new(x)).map(Bytes::get), (0..=x).rev().find(|a| on(*a)));
        }

        #[test]
        fn projection_shifts_the_phase(unit in small_unit(), phase in 0_u64..200, start in 0_u64..200, x in 0_u64..200) {
            let below = grid(unit, phase);
            prop_assert_eq!(below.seen_from(Bytes::new(start)).contains(Bytes::new(x)), below.contains(Bytes::new(start + x)));
        }

        #[test]
        fn intersection_matches_enumeration(a in small_unit(), p in 0_u64..200, b in small_unit(), q in 0_u64..200) {
            let (x, y) = (grid(a, p), grid(b, q));
            let shared: Vec<u64> = (0..2 * a * b).filter(|n| x.contains(Bytes::new(*n)) && y.contains(Bytes::new(*n))).collect();
            match x.intersect(y) {
                Ok(both) => {
                    let members: Vec<u64> = (0..2 * a * b).filter(|n| both.contains(Bytes::new(*n))).collect();
                    prop_assert_eq!(members, shared);
                }
                Err(Error::Disjoint { .. }) => prop_assert!(shared.is_empty()),
                Err(Error::Overflow) => prop_assert!(false, "small units cannot overflow"),
            }
        }

        #[test]
        fn large_units_give_a_right_answer_or_an_error(a in 1_u64..=1 << 62, p: u64, b in 1_u64..=1 << 62, q: u64, x: u64) {
            let (left, right) = (grid(a, p), grid(b, q));
            if let Ok(both) = left.intersect(right) {
                prop_assert!(left.contains(both.phase()) && right.contains(both.phase()));
                prop_assert_eq!(both.unit().get() % a, 0);
                prop_assert_eq!(both.unit().get() % b, 0);
                if let Ok(next) = both.first_at_or_after(Bytes::new(x)) {
                    prop_assert!(next.get() >= x && left.contains(next) && right.contains(next));
                }
            }
        }

        #[test]
        fn a_set_of_grids_is_solved_like_enumeration(
            parts in proptest::collection::vec((1_u64..12, 0_u64..12), 0..4),
            x in 0_u64..500,
        ) {
            let brute = (x..x + 12 * 11 * 10 * 9 * 8).find(|n| parts.iter().all(|(u, p)| n % u == p % u));
            let solved = Grid::intersect_all(parts.iter().map(|(u, p)| grid(*u, *p)))
                .and_then(|g| g.first_at_or_after(Bytes::new(x)));
            prop_assert_eq!(solved.ok().map(Bytes::get), brute);
        }
    }

    #[test]
    fn offsets_for_real_geometries() {
        let after = |x: u64, grids: &[(u64, u64)]| {
            Grid::intersect_all(grids.iter().map(|(u, p)| grid(*u, *p)))
                .and_then(|g| g.first_at_or_after(Bytes::new(x)))
                .map(Bytes::get)
        };
        // 1 MiB and a 3 × 64 KiB stripe width: 3 MiB.
        assert_eq!(after(1, &[(1 << 20, 0), (3 << 16, 0)]), Ok(3 << 20));
        // A drive whose lowest aligned LBA is 7 wants sector 63 = 7 × 4,096 + 3,584.
        assert_eq!(after(32_000, &[(4096, 3584), (512, 0)]), Ok(32_256));
        // The same drive can never satisfy a grid of 64 KiB that starts at 0.
        assert_eq!(
            after(0, &[(4096, 3584), (65_536, 0)]),
            Err(Error::Disjoint {
                gcd: 4096,
                left: 3584,
                right: 0
            })
        );
        // 520-byte sectors and 4,096-byte pages meet every 266,240 bytes.
        assert_eq!(after(1, &[(520, 0), (4096, 0)]), Ok(266_240));
        assert_eq!(after(u64::MAX, &[(4096, 0)]), Err(Error::Overflow));
        assert_eq!(
            after(0, &[((1 << 62) - 1, 0), (1 << 62, 0)]),
            Err(Error::Overflow)
        );
    }
}
