use straddle_geometry::{Bytes, Family, Grid, Unit, lcm};

use super::curve::STEP;
use crate::statistics::Key;

/// What is asked of counted requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The boundaries, in recorded addresses as they are today if those are absolute, else in addresses from whose 0 on starts are
    /// counted; and what crossing one costs. Units are multiples of 512 bytes.
    pub grids: Vec<(Grid, Family)>,
    /// Where what was recorded begins today.
    pub today: Bytes,
    /// Recorded addresses have that in them; otherwise they count from there.
    pub is_absolute: bool,
    /// Other places where it could begin.
    pub starts: Vec<Bytes>,
    /// Only devices of these names; none: all of them.
    pub only: Vec<String>,
    /// As many devices, those with most requests, are looked at at every start.
    pub devices: usize,
}

/// What sectors are counted in.
const PAGES: Grid = match Unit::new(4096) {
    Some(unit) => Grid::new(unit),
    None => unreachable!(),
};

/// More starts than this are not tried.
const MAX_STARTS: u64 = 1 << 17;

impl Question {
    /// How far behind a boundary a recorded address of 0 lies when it begins at `start`.
    pub(crate) const fn shift(&self, start: Bytes, grid: Grid) -> u64 {
        let unit = grid.unit().get();
        // All three are below the unit, which is at most 2⁶².
        let from = match self.is_absolute {
            true => self.today.get() % unit,
            false => 0,
        };
        (start.get() % unit + (unit - from) + (unit - grid.phase().get())) % unit
    }

    /// Where in 4 KiB the requests of a key begin today.
    pub(crate) const fn place(&self, key: Key) -> u64 {
        (key.place() + self.shift(self.today, PAGES)) % PAGES.unit().get()
    }

    /// The least common multiple of all units: starts that differ by it are alike. `None` when there are too many below it to try
    /// them all.
    pub(crate) fn common(&self) -> Option<u64> {
        let mut common = STEP;
        for (grid, _) in &self.grids {
            common = lcm(common, grid.unit().get())?;
            if common / STEP > MAX_STARTS {
                return None;
            }
        }
        Some(common)
    }
}
