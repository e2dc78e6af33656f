use straddle_geometry::{Bytes, Unit, lcm};

use super::curve::STEP;

/// What is asked of counted requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The units of grids whose boundaries lie at multiples of them. Multiples of 512 bytes.
    pub units: Vec<Unit>,
    /// Where what was recorded begins today, in the addresses of the grids.
    pub today: Bytes,
    /// Recorded addresses are those of the grids; otherwise they count from where it begins.
    pub is_absolute: bool,
    /// Other places where it could begin.
    pub starts: Vec<Bytes>,
    /// As many devices, those with most requests, are looked at at every start.
    pub devices: usize,
}

/// More starts than this are not tried.
const MAX_STARTS: u64 = 1 << 17;

impl Question {
    /// By how much recorded addresses are shifted when it begins at `start`, modulo any unit: never negative.
    pub(crate) fn shift(&self, start: Bytes, unit: u64) -> u64 {
        let start = start.get() % unit;
        match self.is_absolute {
            true => (start + unit - self.today.get() % unit) % unit,
            false => start,
        }
    }

    /// The least multiple of all units: starts that differ by it are alike. `None` when there are too many below it to try
    /// them all.
    pub(crate) fn common(&self) -> Option<u64> {
        let mut common = STEP;
        for unit in &self.units {
            common = lcm(common, unit.get())?;
            if common / STEP > MAX_STARTS {
                return None;
            }
        }
        Some(common)
    }
}
