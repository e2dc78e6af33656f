//! Which station is next: a tournament in which each station has one entry, the time at which something happens to it.
//!
//! A station that changes its mind overwrites its entry; nothing is ever cancelled, and memory does not grow. A change
//! costs one comparison on each level. Of stations whose time is the same, the one with the lowest number comes first, so
//! that a run is the same everywhere.

use super::Time;

/// The next event of each of a fixed number of stations.
#[derive(Debug)]
pub(crate) struct Calendar {
    /// A complete binary tree of winners, the root at 1, the children of n at 2n and 2n + 1; the second half are the stations.
    winners: Vec<(Time, u32)>,
    leaves: usize,
}

impl Calendar {
    /// Nothing is going to happen to any of so many stations.
    pub(crate) fn new(stations: usize) -> Calendar {
        let leaves = stations.next_power_of_two().max(2);
        let mut winners = vec![(Time::NEVER, 0); 2 * leaves];
        for (station, leaf) in (0..).zip(&mut winners[leaves..]) {
            leaf.1 = station;
        }
        for node in (1..leaves).rev() {
            winners[node] = winners[2 * node].min(winners[2 * node + 1]);
        }
        Calendar { winners, leaves }
    }

    /// What happens next, and to which station. [`Time::NEVER`] when nothing does.
    #[inline]
    pub(crate) fn first(&self) -> (Time, usize) {
        let (time, station) = self.winners[1];
        (time, station as usize)
    }

    /// The next event of a station is at `time` now.
    #[inline]
    pub(crate) fn set(&mut self, station: usize, time: Time) {
        let mut node = self.leaves + station;
        if self.winners[node].0 == time {
            return;
        }
        self.winners[node].0 = time;
        let mut best = self.winners[node];
        while node > 1 {
            best = best.min(self.winners[node ^ 1]);
            node /= 2;
            if self.winners[node] == best {
                return;
            }
            self.winners[node] = best;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_earliest_is_first_and_ties_go_to_the_lowest(
            stations in 1_usize..70,
            changes in proptest::collection::vec((0_usize..70, 0_u64..20), 0..300),
        ) {
            let mut calendar = Calendar::new(stations);
            let mut times = vec![Time::NEVER; stations];
            for (station, time) in changes {
                let station = station % stations;
                let time = if time == 19 { Time::NEVER } else { Time::nanoseconds(time) };
                calendar.set(station, time);
                times[station] = time;
                let best = times.iter().enumerate().map(|(n, time)| (*time, n)).min();
                prop_assert_eq!(Some(calendar.first()), best);
            }
        }
    }
}
