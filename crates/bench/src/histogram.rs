//! Latencies, counted in a High Dynamic Range histogram: 1 ns to one hour, three significant digits, merged exactly.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hdrhistogram::serialization::{Deserializer, Serializer as _, V2Serializer};
use serde::de::Error as _;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::time::Duration;

/// Longest latency that is told from longer ones, in nanoseconds.
const LONGEST: u64 = 3_600_000_000_000;
const DIGITS: u8 = 3;

/// Latencies of requests.
#[derive(Clone, Debug, PartialEq)]
pub struct Latencies(hdrhistogram::Histogram<u64>);

impl Default for Latencies {
    fn default() -> Latencies {
        Latencies::new()
    }
}

impl Latencies {
    /// None yet.
    #[must_use]
    pub fn new() -> Latencies {
        let histogram = hdrhistogram::Histogram::new_with_bounds(1, LONGEST, DIGITS);
        // The bounds are constants that the crate accepts, as every test here shows.
        Latencies(histogram.expect("constant bounds"))
    }

    /// One request; longer than an hour counts as an hour.
    #[inline]
    pub fn record(&mut self, nanoseconds: u64) {
        self.0.saturating_record(nanoseconds);
    }

    /// Those of another histogram too.
    pub fn merge(&mut self, other: &Latencies) {
        // Bounds are always the same, so nothing can lie outside.
        let _ = self.0.add(&other.0);
    }

    /// Requests counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// The latency that `percent` of the requests do not exceed; zero when there is none.
    #[must_use]
    pub fn percentile(&self, percent: f64) -> Duration {
        Duration::from_nanos(self.0.value_at_percentile(percent))
    }

    /// Their mean.
    #[must_use]
    pub fn mean(&self) -> Duration {
        Duration::from_secs_f64(self.0.mean() / 1e9)
    }

    /// Their standard deviation.
    #[must_use]
    pub fn deviation(&self) -> Duration {
        Duration::from_secs_f64(self.0.stdev() / 1e9)
    }

    /// Shortest.
    #[must_use]
    pub fn least(&self) -> Duration {
        Duration::from_nanos(self.0.min())
    }

    /// Longest.
    #[must_use]
    pub fn most(&self) -> Duration {
        Duration::from_nanos(self.0.max())
    }

    /// Every bucket that holds something: its upper end, and how many.
    pub fn buckets(&self) -> impl Iterator<Item = (Duration, u64)> + '_ {
        let recorded = self.0.iter_recorded();
        recorded.map(|at| {
            (
                Duration::from_nanos(at.value_iterated_to()),
                at.count_at_value(),
            )
        })
    }

    /// The V2 encoding that other tools for such histograms read.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        // Writing to memory does not fail.
        let _ = V2Serializer::new().serialize(&self.0, &mut out);
        out
    }

    /// Reads [`Latencies::encode`]'s bytes back; `None` when they are none of ours.
    #[must_use]
    pub fn decode(mut bytes: &[u8]) -> Option<Latencies> {
        let histogram = Deserializer::new().deserialize(&mut bytes).ok()?;
        let mut out = Latencies::new();
        out.0.add(histogram).ok()?;
        Some(out)
    }
}

/// As [`Latencies::encode`] has it, in base64.
impl Serialize for Latencies {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&BASE64.encode(self.encode()))
    }
}

impl<'de> Deserialize<'de> for Latencies {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Latencies, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        let bytes = BASE64.decode(text.as_bytes()).ok();
        let latencies = bytes.and_then(|bytes| Latencies::decode(&bytes));
        latencies.ok_or_else(|| D::Error::custom("no histogram of latencies in base64"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_reads_back() {
        let mut latencies = Latencies::new();
        for nanoseconds in [0, 1, 900, 1_000_000, u64::MAX] {
            latencies.record(nanoseconds);
        }
        assert_eq!(latencies.count(), 5);
        assert_eq!(
            Latencies::decode(&latencies.encode()).as_ref(),
            Some(&latencies)
        );
        assert_eq!(Latencies::decode(b"nothing of ours"), None);
        let text = serde_json::to_string(&latencies).expect("serialises");
        assert_eq!(
            serde_json::from_str::<Latencies>(&text).expect("reads back"),
            latencies
        );
        serde_json::from_str::<Latencies>("\"AAAA\"").expect_err("none of ours");
    }

    #[test]
    fn merging_is_the_same_as_recording_in_one() {
        let (mut all, mut even, mut odd) = (Latencies::new(), Latencies::new(), Latencies::new());
        let mut latency = 17_u64;
        for n in 0..10_000 {
            latency = latency
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(n);
            let latency = latency >> (latency % 40 + 20);
            all.record(latency);
            if n % 2 == 0 { &mut even } else { &mut odd }.record(latency);
        }
        even.merge(&odd);
        assert_eq!(even, all);
        assert_eq!(even.encode(), all.encode());
        assert_eq!(even.mean(), all.mean());
    }
}
