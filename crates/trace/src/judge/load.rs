use straddle_geometry::{Access, Family};

/// What some requests do on a grid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// How many there are.
    pub requests: u64,
    /// Those with a boundary strictly inside.
    pub straddling: u64,
    /// Granules that they touch, each request for itself: operations, where each granule is one.
    pub granules: u64,
    /// Granules that they cover only in part: each costs a write a read before it.
    pub partial: u64,
}

impl Load {
    /// Of `count` requests of `len` bytes that begin `place` bytes behind a boundary of granules of `unit` bytes.
    #[inline]
    #[must_use]
    pub const fn of(unit: u64, place: u64, len: u64, count: u64) -> Load {
        let begin = place % unit;
        let last = begin + len - 1;
        let granules = last / unit + 1;
        let head = !begin.is_multiple_of(unit) as u64;
        let tail = !(last + 1).is_multiple_of(unit) as u64;
        let partial = match granules {
            1 => head | tail,
            _ => head + tail,
        };
        Load {
            requests: count,
            straddling: if granules > 1 { count } else { 0 },
            granules: granules.saturating_mul(count),
            partial: partial * count,
        }
    }

    /// Both together.
    pub const fn add(&mut self, other: Load) {
        self.requests += other.requests;
        self.straddling += other.straddling;
        self.granules = self.granules.saturating_add(other.granules);
        self.partial += other.partial;
    }

    /// How many operations they come to, where crossing a boundary costs what this family says.
    #[must_use]
    pub const fn operations(self, family: Family, access: Access) -> u64 {
        match (family, access) {
            (Family::ReadModifyWrite, Access::Write) => self.granules.saturating_add(self.partial),
            _ => self.granules,
        }
    }
}
