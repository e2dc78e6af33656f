//! What requests do on one grid, for every shift at once.

use super::load::Load;

/// Shifts are multiples of a sector.
pub const STEP: u64 = 512;

/// What requests do on the grid of one unit, when all of them are shifted by 0, 512, 1,024, … bytes.
///
/// Whether a request of length s crosses one boundary more than ⌊(s − 1) / u⌋ depends on its shifted place only: it does for
/// (s − 1) mod u neighbouring places. So each kind of request changes four places of a table of differences, and the sums along
/// the table are the figures for every shift.
#[derive(Clone, Debug)]
pub struct Curve {
    unit: u64,
    requests: u64,
    /// Boundaries inside requests that are there whatever the shift.
    crossings: u64,
    /// Requests that straddle whatever the shift.
    always: u64,
    /// Differences along the shifts: requests that cross one boundary more; those of them that would not straddle otherwise.
    more: Vec<i64>,
    sometimes: Vec<i64>,
    /// Differences: requests with both ends strictly inside one granule.
    inside: Vec<i64>,
    /// Ends that lie on a boundary.
    on: Vec<u64>,
}

impl Curve {
    /// Nothing yet. `unit` is a multiple of 512 bytes; `None` for another one.
    #[must_use]
    pub fn new(unit: u64) -> Option<Curve> {
        if unit == 0 || !unit.is_multiple_of(STEP) {
            return None;
        }
        let steps = usize::try_from(unit / STEP).ok()?;
        Some(Curve {
            unit,
            requests: 0,
            crossings: 0,
            always: 0,
            more: vec![0; steps + 1],
            sometimes: vec![0; steps + 1],
            inside: vec![0; steps + 1],
            on: vec![0; steps],
        })
    }

    /// Adds `count` requests of `len` bytes that begin at `place`, modulo the unit.
    pub fn add(&mut self, place: u64, len: u64, count: u64) {
        let unit = self.unit;
        let place = place % unit;
        let (whole, rest) = ((len - 1) / unit, (len - 1) % unit);
        let signed = i64::try_from(count).unwrap_or(i64::MAX);
        self.requests += count;
        self.crossings = self.crossings.saturating_add(whole.saturating_mul(count));
        // The shifted place lies in the last `rest` bytes before a boundary.
        let from = (2 * unit - rest - place) % unit;
        change(&mut self.more, unit, from, rest, signed);
        if whole > 0 {
            self.always += count;
        } else {
            change(&mut self.sometimes, unit, from, rest, signed);
        }
        // The shifted place lies 1 to unit − len − 1 bytes behind a boundary.
        if len + 1 < unit {
            change(
                &mut self.inside,
                unit,
                (unit + 1 - place) % unit,
                unit - len - 1,
                signed,
            );
        }
        for end in [place, (place + len) % unit] {
            let shift = (unit - end) % unit;
            if shift.is_multiple_of(STEP)
                && let Some(on) = usize::try_from(shift / STEP)
                    .ok()
                    .and_then(|at| self.on.get_mut(at))
            {
                *on += count;
            }
        }
    }

    /// What they do for each shift: the first for 0, the next for 512 bytes, up to the unit.
    #[must_use]
    pub fn loads(&self) -> Vec<Load> {
        let (mut more, mut sometimes, mut inside) = (0_i64, 0_i64, 0_i64);
        self.on
            .iter()
            .enumerate()
            .map(|(at, on)| {
                more += self.more[at];
                sometimes += self.sometimes[at];
                inside += self.inside[at];
                Load {
                    requests: self.requests,
                    straddling: self.always + more_than_none(sometimes),
                    granules: (self.requests + more_than_none(more)).saturating_add(self.crossings),
                    partial: 2 * self.requests - on - more_than_none(inside),
                }
            })
            .collect()
    }
}

/// Sums along the differences are counts.
fn more_than_none(sum: i64) -> u64 {
    u64::try_from(sum).unwrap_or(0)
}

/// Adds to all shifts in the circular range of `len` bytes from `from`, of which the multiples of [`STEP`] are there.
fn change(differences: &mut [i64], unit: u64, from: u64, len: u64, count: i64) {
    let mut range = |from: u64, to: u64| {
        let at = |byte: u64| usize::try_from(byte.div_ceil(STEP)).unwrap_or(usize::MAX);
        if let Some(first) = differences.get_mut(at(from)) {
            *first += count;
        }
        if let Some(behind) = differences.get_mut(at(to)) {
            *behind -= count;
        }
    };
    let end = from + len;
    if end <= unit {
        range(from, end);
    } else {
        range(from, unit);
        range(0, end - unit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn each_shift_is_as_if_counted_one_by_one(
            steps in 1_u64..40,
            requests in proptest::collection::vec((0_u64..100_000, prop_oneof![1_u64..300, (1_u64..100).prop_map(|n| n * 512)], 1_u64..9), 0..40),
        ) {
            let unit = steps * STEP;
            let mut curve = Curve::new(unit).expect("a multiple of a sector");
            for (place, len, count) in &requests {
                curve.add(*place, *len, *count);
            }
            let loads = curve.loads();
            prop_assert_eq!(loads.len() as u64, steps);
            for (at, load) in loads.iter().enumerate() {
                let mut expected = Load::default();
                for (place, len, count) in &requests {
                    expected.add(Load::of(unit, place + at as u64 * STEP, *len, *count));
                }
                prop_assert_eq!(*load, expected);
            }
        }

        /// The simplest thing there is: byte by byte.
        #[test]
        fn one_request_is_as_if_its_bytes_were_looked_at(unit in 1_u64..50, place in 0_u64..200, len in 1_u64..200) {
            let bytes: Vec<u64> = (place..place + len).collect();
            let mut granules: Vec<u64> = bytes.iter().map(|byte| byte / unit).collect();
            granules.dedup();
            let partial = granules.iter().filter(|granule| (**granule * unit..(*granule + 1) * unit).any(|byte| !bytes.contains(&byte))).count();
            let load = Load::of(unit, place, len, 1);
            prop_assert_eq!(load.granules, granules.len() as u64);
            prop_assert_eq!(load.partial, partial as u64);
            prop_assert_eq!(load.straddling, u64::from(granules.len() > 1));
        }
    }

    #[test]
    fn a_unit_is_made_of_sectors() {
        assert!(
            Curve::new(0).is_none() && Curve::new(520).is_none() && Curve::new(3 << 16).is_some()
        );
    }
}
