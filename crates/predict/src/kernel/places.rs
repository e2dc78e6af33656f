//! Places that are taken for a while: how many at once, added up over time.

use super::Time;

/// So many places, and the time for which they were taken.
#[derive(Debug, Default)]
pub(crate) struct Places {
    taken: u64,
    /// Nanoseconds, of all of them together, up to `seen`.
    sum: u64,
    seen: Time,
}

impl Places {
    fn see(&mut self, now: Time) {
        self.sum = self.until(now);
        self.seen = now;
    }

    fn until(&self, now: Time) -> u64 {
        let more = (now - self.seen).get().saturating_mul(self.taken);
        self.sum.saturating_add(more)
    }

    /// From now on, so many are taken.
    #[inline]
    pub(crate) fn set(&mut self, now: Time, taken: usize) {
        self.see(now);
        self.taken = taken as u64;
    }

    /// Time for which they were taken before `now` since the last [`Places::forget`], all together.
    pub(crate) fn busy_until(&self, now: Time) -> Time {
        Time::nanoseconds(self.until(now))
    }

    /// Counts from `now` on only.
    pub(crate) fn forget(&mut self, now: Time) {
        self.see(now);
        self.sum = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_that_of_all_places_together() {
        let at = Time::nanoseconds;
        let mut places = Places::default();
        places.set(at(10), 2);
        places.set(at(15), 3);
        assert_eq!(places.busy_until(at(20)), at(25));
        places.forget(at(20));
        places.set(at(22), 0);
        assert_eq!(places.busy_until(at(100)), at(6));
    }
}
