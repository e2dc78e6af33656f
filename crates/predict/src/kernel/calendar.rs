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
    ///
    /// Each is its time and, in the lower half, its number: one comparison of whole numbers, which needs no branch that could be
    /// guessed wrongly, finds the earlier one and of two at once the lower.
    winners: Vec<u128>,
    leaves: usize,
}

impl Calendar {
    /// Nothing is going to happen to any of so many stations.
    pub(crate) fn new(stations: usize) -> Calendar {
        let leaves = stations.next_power_of_two().max(2);
        let mut winners = vec![0; 2 * leaves];
        for (station, leaf) in winners[leaves..].iter_mut().enumerate() {
            *leaf = entry(station, Time::NEVER);
        }
        for node in (1..leaves).rev() {
            winners[node] = winners[2 * node].min(winners[2 * node + 1]);
        }
        Calendar { winners, leaves }
    }

    /// What happens next, and to which station. [`Time::NEVER`] when nothing does.
    #[inline]
    pub(crate) fn first(&self) -> (Time, usize) {
        let first = self.winners[1];
        (Time::nanoseconds((first >> 64) as u64), first as usize)
    }

    /// The next event of a station is at `time` now.
    #[inline]
    pub(crate) fn set(&mut self, station: usize, time: Time) {
        let mut node = self.leaves + station;
        let mut best = entry(station, time);
        while self.winners[node] != best {
            self.winners[node] = best;
            if node == 1 {
                break;
            }
            best = best.min(self.winners[node ^ 1]);
            node /= 2;
        }
    }
}

#[inline]
fn entry(station: usize, time: Time) -> u128 {
    u128::from(time.get()) << 64 | station as u128
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
