//! Recorded requests, to be replayed on a target of another size and at other offsets.
//!
//! A recording that reaches past what there is for the requests of one offset is brought into it by one of two rules ([`Fit`]). Both
//! leave each request its place within its MiB, so that it stands on every grid up to 1 MiB whose unit divides that as it did when it was
//! recorded, and what an offset changes is the offset alone. No request is split, and none is left out.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;
use straddle_geometry::{Access, Bytes, Unit, gcd};

use crate::workload::{Pattern, Percent, Workload};

/// What the rules move requests by multiples of.
pub const GRAIN: u64 = 1 << 20;
/// Longest request that is replayed: each one under way has a buffer of that length.
pub const MAX_LEN: u64 = 64 << 20;
/// Lengths that a workload lists: the most frequent, and the longest.
const LISTED: usize = 64;

/// One recorded request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// Which way.
    pub access: Access,
    /// Its first byte, from where the data of the recording begin.
    pub start: u64,
    /// How many bytes; not zero.
    pub len: u64,
    /// When, in nanoseconds from any beginning.
    pub time: Option<u64>,
}

/// How a recording is brought into a target that is smaller than what was recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Fit {
    /// Addresses go round: each is taken modulo the largest number of whole MiB that leaves room for the longest request. What was near
    /// stays near, and how often one place is hit again changes.
    #[default]
    Wrap,
    /// The numbers of MiB are multiplied down. What was far apart stays far apart, and neighbouring MiB come to lie on each other.
    Scale,
}

/// What a recording cannot be used for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{found}; expected {expected}")]
pub struct Unusable {
    /// What there is.
    pub found: String,
    /// What there would have to be.
    pub expected: String,
}

fn unusable(found: impl Into<String>, expected: impl Into<String>) -> Unusable {
    Unusable {
        found: found.into(),
        expected: expected.into(),
    }
}

/// The requests of one device in their order. Never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    requests: Vec<Recorded>,
    /// End of the last byte that any of them touches.
    end: u64,
    longest: u64,
    /// What all starts and lengths are multiples of.
    grain: Unit,
}

impl Recording {
    /// A recording of these requests, in the order in which they were made. Times are counted from the first one on; one before the one
    /// that stands before it counts as simultaneous, and without a time for each of them there are none.
    ///
    /// # Errors
    /// When there is none, or one is empty, longer than 64 MiB, or ends behind the last address.
    pub fn new(mut requests: Vec<Recorded>) -> Result<Recording, Unusable> {
        let (mut end, mut longest, mut grain) = (0, 0, 0);
        for request in &requests {
            let last = request.start.checked_add(request.len);
            let Some(last) = last.filter(|_| (1..=MAX_LEN).contains(&request.len)) else {
                return Err(unusable(
                    format!(
                        "a request of {} bytes from byte {} on",
                        request.len, request.start
                    ),
                    "1 byte to 64 MiB, and an end below 2^64",
                ));
            };
            end = end.max(last);
            longest = longest.max(request.len);
            grain = gcd(gcd(grain, request.start), request.len);
        }
        let grain = Unit::new(grain)
            .ok_or_else(|| unusable("no requests", "a recording with one at least"))?;
        let first = requests.first().and_then(|request| request.time);
        let is_timed = requests.iter().all(|request| request.time.is_some());
        let mut before = 0;
        for request in &mut requests {
            let since = request.time.zip(first).filter(|_| is_timed);
            request.time = since.map(|(time, first)| {
                before = time.saturating_sub(first).max(before);
                before
            });
        }
        Ok(Recording {
            requests,
            end,
            longest,
            grain,
        })
    }

    /// The requests, with their times from the first on.
    #[must_use]
    pub fn requests(&self) -> &[Recorded] {
        &self.requests
    }

    /// End of the last byte that is touched.
    #[must_use]
    pub fn end(&self) -> Bytes {
        Bytes::new(self.end)
    }

    /// How long it took, where each request has its time: until one would follow the last at the mean distance.
    #[must_use]
    pub fn took(&self) -> Option<Duration> {
        let last = self.requests.last()?.time?;
        let between = self.requests.len().saturating_sub(1).max(1) as u64;
        // Requests that all came at one instant are a nanosecond apart, so that going round takes time.
        let all = last.saturating_add((last / between).max(1));
        Some(Duration::from_nanos(all))
    }

    /// What it asks for in the words of a workload, for reports, for buffers, and to find a place for it.
    #[must_use]
    pub fn workload(&self, workers: u32, outstanding: u32) -> Workload {
        let mut lengths: BTreeMap<u64, u32> = BTreeMap::new();
        let mut reads = 0_u64;
        for request in &self.requests {
            let count = lengths.entry(request.len).or_default();
            *count = count.saturating_add(1);
            reads += u64::from(request.access == Access::Read);
        }
        let mut sizes: Vec<(u64, u32)> = lengths.into_iter().collect();
        sizes.sort_by_key(|(len, count)| (*len != self.longest, std::cmp::Reverse(*count), *len));
        sizes.truncate(LISTED);
        sizes.sort_unstable();
        let all = self.requests.len() as u64;
        // A share that is not all and not nothing is rounded to neither.
        let percent = match reads {
            0 => 0,
            reads if reads == all => 100,
            reads => ((reads * 100 + all / 2) / all).clamp(1, 99),
        };
        let sizes = sizes.into_iter();
        Workload {
            reads: u8::try_from(percent)
                .ok()
                .and_then(Percent::new)
                .unwrap_or(Percent::ALL),
            pattern: Pattern::Recorded(self.grain),
            sizes: sizes
                .filter_map(|(len, count)| Some((Unit::new(len)?, count)))
                .collect(),
            workers,
            outstanding,
            think: Duration::ZERO,
            rate: None,
        }
    }

    /// Where each request begins in so many bytes.
    ///
    /// # Errors
    /// When there is no room for the longest request and a MiB before it.
    pub fn placing(&self, len: Bytes, fit: Fit) -> Result<Placing, Unusable> {
        if self.end <= len.get() {
            return Ok(Placing::Same);
        }
        let usable = len.get().saturating_sub(self.longest) / GRAIN;
        if usable == 0 {
            return Err(unusable(
                format!("{} bytes for one offset", len.grouped()),
                format!(
                    "{} bytes at least: 1 MiB and the longest request",
                    Bytes::new(self.longest.saturating_add(GRAIN)).grouped()
                ),
            ));
        }
        Ok(match fit {
            Fit::Wrap => Placing::Wrapped(usable * GRAIN),
            Fit::Scale => Placing::Scaled {
                to: usable,
                from: self.end.div_ceil(GRAIN),
            },
        })
    }
}

/// Where requests begin in a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placing {
    /// Where they did.
    Same,
    /// Modulo so many bytes.
    Wrapped(u64),
    /// So many MiB brought into so many.
    Scaled {
        /// MiB that there are.
        to: u64,
        /// MiB that were recorded.
        from: u64,
    },
}

impl Placing {
    /// The first byte of a request that began here.
    #[must_use]
    #[inline]
    pub fn of(self, start: u64) -> u64 {
        match self {
            Placing::Same => start,
            Placing::Wrapped(bytes) => start % bytes,
            Placing::Scaled { to, from } => {
                let mib = u128::from(start / GRAIN) * u128::from(to) / u128::from(from.max(1));
                u64::try_from(mib).unwrap_or(u64::MAX) * GRAIN + start % GRAIN
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(start: u64, len: u64, time: Option<u64>) -> Recorded {
        Recorded {
            access: Access::Read,
            start,
            len,
            time,
        }
    }

    #[test]
    fn rules_by_value() {
        let mib = GRAIN;
        let requests = vec![read(512, 4096, None), read(9 * mib + 32_256, 8192, None)];
        let recording = Recording::new(requests).expect("two requests");
        let len = |mib: u64, more: u64| Bytes::new(mib * GRAIN + more);
        assert_eq!(recording.placing(len(10, 0), Fit::Wrap), Ok(Placing::Same));
        // 4 MiB and the longest request: 9 MiB are 1 MiB, modulo 4.
        let wrapped = recording.placing(len(4, 8192), Fit::Wrap).expect("fits");
        assert_eq!(wrapped, Placing::Wrapped(4 * mib));
        assert_eq!(wrapped.of(9 * mib + 32_256), mib + 32_256);
        assert_eq!(wrapped.of(512), 512);
        // Ten MiB into four: the tenth is the fourth.
        let scaled = recording.placing(len(4, 8192), Fit::Scale).expect("fits");
        assert_eq!(scaled.of(9 * mib + 32_256), 3 * mib + 32_256);
        assert_eq!(scaled.of(5 * mib), 2 * mib);
        // A byte less than 4 MiB and the longest request is 3 MiB.
        assert_eq!(
            recording.placing(len(4, 8191), Fit::Wrap),
            Ok(Placing::Wrapped(3 * mib))
        );
        assert!(recording.placing(len(1, 8191), Fit::Wrap).is_err());
    }

    #[test]
    fn times_count_from_the_first_and_never_run_backwards() {
        let recording = |times: &[Option<u64>]| {
            let requests = times.iter().map(|time| read(0, 512, *time)).collect();
            let recording = Recording::new(requests).expect("requests");
            let times: Vec<_> = recording.requests().iter().map(|r| r.time).collect();
            (times, recording.took())
        };
        let (times, took) = recording(&[Some(100), Some(300), Some(200), Some(700)]);
        assert_eq!(times, [Some(0), Some(200), Some(200), Some(600)]);
        assert_eq!(took, Some(Duration::from_nanos(800)));
        assert_eq!(recording(&[Some(1), None]), (vec![None, None], None));
        assert_eq!(
            recording(&[Some(5), Some(5)]).1,
            Some(Duration::from_nanos(1))
        );
    }

    #[test]
    fn what_is_no_request_is_refused() {
        assert!(Recording::new(Vec::new()).is_err());
        for (start, len) in [(0, 0), (0, MAX_LEN + 1), (u64::MAX, 1)] {
            assert!(
                Recording::new(vec![read(start, len, None)]).is_err(),
                "{start} {len}"
            );
        }
    }

    #[test]
    fn a_workload_says_what_was_recorded() {
        let mut requests = vec![read(4096, 8192, None); 199];
        requests.push(Recorded {
            access: Access::Write,
            ..read(512, 65_536, None)
        });
        let workload = Recording::new(requests).expect("requests").workload(2, 4);
        // 99.5% is neither all nor nothing.
        assert_eq!(workload.reads.get(), 99);
        let unit = |bytes| Unit::new(bytes).expect("not zero");
        assert_eq!(workload.sizes, [(unit(8192), 199), (unit(65_536), 1)]);
        assert_eq!(workload.pattern, Pattern::Recorded(unit(512)));
        let many = (1..=100).map(|n| read(0, n * 512, None)).collect();
        let workload = Recording::new(many).expect("requests").workload(1, 1);
        assert_eq!(
            (workload.sizes.len(), workload.largest()),
            (64, unit(51_200))
        );
    }

    proptest! {
        /// Every request lies inside, with its place within its MiB.
        #[test]
        fn requests_are_inside_and_keep_their_phase(
            starts in proptest::collection::vec((0_u64..1 << 42, 1_u64..1 << 21), 1..20),
            len in 1_u64..1 << 32,
            scale in any::<bool>(),
        ) {
            let requests = starts.iter().map(|(start, len)| read(*start, *len, None)).collect();
            let recording = Recording::new(requests).expect("requests");
            let fit = if scale { Fit::Scale } else { Fit::Wrap };
            let longest = starts.iter().map(|(_, len)| *len).max().unwrap_or(0);
            match recording.placing(Bytes::new(len), fit) {
                Ok(placing) => for (start, size) in &starts {
                    let placed = placing.of(*start);
                    prop_assert!(placed + size <= len);
                    prop_assert_eq!(placed % GRAIN, start % GRAIN);
                },
                Err(_) => prop_assert!(len < longest + GRAIN),
            }
        }
    }
}
