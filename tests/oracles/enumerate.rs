//! What requests cost, by looking at every one of them: no formula, and nothing shared with the program.

/// What the requests of one period come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Walked {
    pub(crate) requests: u64,
    /// Requests that lie in more than one granule.
    pub(crate) straddling: u64,
    /// Granules touched, summed over the requests.
    pub(crate) touched: u64,
    /// Granules covered in part, summed over the requests.
    pub(crate) partial: u64,
}

/// Walks requests of `io` bytes that lie end to end from `start`, on granules of `unit` bytes from 0, until they lie
/// to the granules as the first one did.
pub(crate) fn walk(start: u64, io: u64, unit: u64) -> Walked {
    let mut sum = Walked::default();
    let mut at = start;
    loop {
        let end = at + io;
        let mut touched = 0;
        let mut granule = at - at % unit;
        while granule < end {
            touched += 1;
            if granule < at || granule + unit > end {
                sum.partial += 1;
            }
            granule += unit;
        }
        sum.touched += touched;
        sum.straddling += u64::from(touched > 1);
        sum.requests += 1;
        at = end;
        if at % unit == start % unit {
            return sum;
        }
    }
}

/// A fraction, not reduced.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fraction(pub(crate) u64, pub(crate) u64);

impl Fraction {
    pub(crate) fn equals(self, numerator: u64, denominator: u64) -> bool {
        denominator != 0
            && u128::from(self.0) * u128::from(denominator)
                == u128::from(numerator) * u128::from(self.1)
    }

    pub(crate) fn percent(self) -> f64 {
        100.0 * self.0 as f64 / self.1 as f64
    }

    fn max(self, other: Fraction) -> Fraction {
        if u128::from(self.0) * u128::from(other.1) >= u128::from(other.0) * u128::from(self.1) {
            self
        } else {
            other
        }
    }
}

/// How many more operations `now` is than `aligned`, relative to it. The periods may differ in length.
fn more(now: (u64, u64), aligned: (u64, u64)) -> Fraction {
    // (a/b − c/d) ÷ (c/d) = (ad − cb) ÷ cb
    let (a, b) = now;
    let (c, d) = aligned;
    Fraction((a * d).saturating_sub(c * b), c * b)
}

/// Where a boundary splits a request: extra operations of requests from `start`.
pub(crate) fn extra_by_splitting(start: u64, io: u64, unit: u64) -> Fraction {
    let (now, aligned) = (walk(start, io, unit), walk(0, io, unit));
    more(
        (now.touched, now.requests),
        (aligned.touched, aligned.requests),
    )
}

/// Where a granule written in part must first be read: the worse of reads and writes.
pub(crate) fn extra_by_rewriting(start: u64, io: u64, unit: u64) -> Fraction {
    let (now, aligned) = (walk(start, io, unit), walk(0, io, unit));
    let writes = |w: Walked| (w.touched + w.partial, w.requests);
    extra_by_splitting(start, io, unit).max(more(writes(now), writes(aligned)))
}

#[test]
fn the_walk_agrees_with_what_is_counted_by_hand() {
    // Eight requests of 8 KiB in 64 KiB from sector 63; the fifth lies across 65,536.
    assert_eq!(
        walk(32_256, 8192, 65_536),
        Walked {
            requests: 8,
            straddling: 1,
            touched: 9,
            partial: 9
        }
    );
    assert_eq!(extra_by_splitting(32_256, 8192, 65_536).percent(), 12.5);
    assert_eq!(extra_by_splitting(32_256, 65_536, 65_536).percent(), 100.0);
    assert_eq!(extra_by_splitting(32_768, 32_768, 65_536).percent(), 0.0);
    assert_eq!(extra_by_rewriting(32_256, 4096, 4096).percent(), 300.0);
    // 3 units of 3 against requests of 2: 0-2, 2-4, 4-6; the second straddles.
    assert_eq!(walk(0, 2, 3).straddling, 1);
    assert_eq!(walk(0, 2, 3).requests, 3);
}
