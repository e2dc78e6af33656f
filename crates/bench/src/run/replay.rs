//! Recorded requests, replayed: each once in its order, over and over until the run ends.
//!
//! All threads of a run take from one cursor, so that requests start in the order of the recording with as many under way as the
//! workload says. Runs of one block begin with the same request, chosen at random, and blocks with others: so every offset gets
//! the same requests, and many blocks see all of a long recording.
//!
//! As fast as possible, the next request starts when one has ended. Timed, it is due at its distance from the first one, divided by the
//! speed, and latency counts from there, as in an open loop.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use straddle_geometry::{Access, Bytes, Extent};
use straddle_workload::generator::Drawn;
use straddle_workload::recording::{Fit, Placing, Recording, Unusable};

/// A recording, and how it is replayed.
#[derive(Clone, Debug)]
pub struct Replay {
    /// The requests.
    pub recording: Arc<Recording>,
    /// How they are brought into a smaller target.
    pub fit: Fit,
    /// How many times as fast as recorded they are due; `None` is as fast as possible.
    pub speed: Option<f64>,
}

/// A request, and when it is due in nanoseconds from the beginning of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// What is asked for, and where.
    pub drawn: Drawn,
    /// When; `None` is at once.
    pub due: Option<u64>,
}

impl Replay {
    /// SHA-256 of the requests, in hexadecimal digits: what goes on later has to be the same recording.
    #[must_use]
    pub fn digest(&self) -> String {
        let mut hash = hmac_sha256::Hash::new();
        for request in self.recording.requests() {
            let time = request.time.unwrap_or(u64::MAX);
            for number in [request.start, request.len, time] {
                hash.update(number.to_le_bytes());
            }
            hash.update([u8::from(request.access == Access::Write)]);
        }
        let sum = hash.finalize();
        sum.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The requests of a run in these bytes, from the request with this number on, and round again.
    ///
    /// # Errors
    /// When there is too little room for them, or they have no times and are to be timed.
    pub fn run(&self, extent: Extent, first: u64) -> Result<Replaying<'_>, Unusable> {
        let took = self.recording.took();
        let pace = match (self.speed, took) {
            (None, _) => None,
            (Some(speed), Some(took)) => Some((speed, took.as_nanos())),
            (Some(_), None) => {
                return Err(Unusable {
                    found: "requests without times".to_owned(),
                    expected:
                        "a recording with a time for each request, or a replay as fast as possible"
                            .to_owned(),
                });
            }
        };
        Ok(Replaying {
            recording: &self.recording,
            placing: self.recording.placing(extent.len(), self.fit)?,
            base: extent.start().get(),
            first: first % self.recording.requests().len() as u64,
            taken: AtomicU64::new(0),
            pace,
        })
    }
}

/// A replay under way.
#[derive(Debug)]
pub struct Replaying<'a> {
    recording: &'a Recording,
    placing: Placing,
    base: u64,
    first: u64,
    taken: AtomicU64,
    /// Speed, and nanoseconds of one time round.
    pace: Option<(f64, u128)>,
}

impl Replaying<'_> {
    /// The next request that nobody has taken; `None` never comes, since a recording is never empty.
    pub fn take(&self) -> Option<Taken> {
        let number = self.taken.fetch_add(1, Ordering::Relaxed);
        let requests = self.recording.requests();
        let all = requests.len() as u64;
        let at = |number: u64| requests.get(usize::try_from(number % all).ok()?);
        let request = at(self.first + number)?;
        let due = self.pace.and_then(|(speed, round)| {
            let began = u128::from(at(self.first)?.time?);
            let rounds = u128::from((self.first + number) / all);
            let since = rounds * round + u128::from(request.time?) - began;
            Some(sooner(since, speed))
        });
        Some(Taken {
            drawn: Drawn {
                access: request.access,
                offset: Bytes::new(self.base + self.placing.of(request.start)),
                len: Bytes::new(request.len),
            },
            due,
        })
    }
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a week has 6 × 10¹⁴ nanoseconds, far below 2⁵³; the quotient is positive and saturates"
)]
fn sooner(nanoseconds: u128, speed: f64) -> u64 {
    (nanoseconds as f64 / speed) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use straddle_workload::recording::Recorded;

    fn recording() -> Arc<Recording> {
        let request = |access, start, len, time| Recorded {
            access,
            start,
            len,
            time: Some(time),
        };
        let requests = vec![
            request(Access::Read, 0, 4096, 1_000),
            request(Access::Write, (5 << 20) + 512, 8192, 3_000),
            request(Access::Read, 1 << 20, 512, 9_000),
        ];
        Arc::new(Recording::new(requests).expect("three requests"))
    }

    fn extent(start: u64, len: u64) -> Extent {
        Extent::new(Bytes::new(start), Bytes::new(len)).expect("an extent")
    }

    /// (address, length, writes) of the next ones.
    fn next(replaying: &Replaying<'_>, count: usize) -> Vec<(u64, u64, bool)> {
        let all = std::iter::from_fn(|| replaying.take()).take(count);
        all.map(|taken| {
            let drawn = taken.drawn;
            (
                drawn.offset.get(),
                drawn.len.get(),
                drawn.access == Access::Write,
            )
        })
        .collect()
    }

    /// Those that were recorded, shifted by where the extent begins, in their order and round again.
    #[test]
    fn requests_are_the_recorded_ones_shifted() {
        let replay = Replay {
            recording: recording(),
            fit: Fit::Wrap,
            speed: None,
        };
        for shift in [0, 32_256, 1 << 20] {
            let run = replay.run(extent(shift, 8 << 20), 0).expect("room");
            let expected = [
                (shift, 4096, false),
                (shift + (5 << 20) + 512, 8192, true),
                (shift + (1 << 20), 512, false),
                (shift, 4096, false),
            ];
            assert_eq!(next(&run, 4), expected);
            let run = replay.run(extent(shift, 8 << 20), 4).expect("room");
            assert_eq!(next(&run, 3), expected[1..]);
        }
        // In 3 MiB the fifth MiB is the second, modulo two.
        let run = replay.run(extent(0, 3 << 20), 1).expect("room");
        assert_eq!(next(&run, 1), [((1 << 20) + 512, 8192, true)]);
        assert!(replay.run(extent(0, 1 << 20), 0).is_err());
    }

    #[test]
    fn times_are_those_of_the_recording_by_the_speed() {
        let times = |speed, first| {
            let replay = Replay {
                recording: recording(),
                fit: Fit::Wrap,
                speed: Some(speed),
            };
            let run = replay.run(extent(0, 8 << 20), first).expect("room");
            let taken = std::iter::from_fn(|| run.take()).take(5);
            taken
                .map(|taken| taken.due.expect("timed"))
                .collect::<Vec<u64>>()
        };
        // 0, 2,000 and 8,000 ns, and again after 8,000 and the mean distance, 4,000.
        assert_eq!(times(1.0, 0), [0, 2_000, 8_000, 12_000, 14_000]);
        assert_eq!(times(2.0, 0), [0, 1_000, 4_000, 6_000, 7_000]);
        assert_eq!(times(1.0, 2), [0, 4_000, 6_000, 12_000, 16_000]);
    }
}
