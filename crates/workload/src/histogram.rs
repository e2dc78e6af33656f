//! Latencies, counted in a High Dynamic Range histogram: 1 ns to one hour, three significant digits, merged exactly.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer as _, V2Serializer};
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::time::Duration;

/// Longest latency that is told from longer ones, in nanoseconds.
const MAX_LEN: u64 = 3_600_000_000_000;
const DIGITS: u8 = 3;

/// Bytes of the V2 encoding before its counts: cookie, length, offset, digits, lowest, highest, ratio; all big-endian.
const HEADER: usize = 40;

/// Latencies of requests.
#[derive(Clone, Debug)]
pub struct Latencies(Counts);

/// An open histogram has 264 KiB, whatever it holds; a hundred thousand runs are kept packed.
#[derive(Clone, Debug)]
enum Counts {
    Open(Histogram<u64>),
    /// As [`Latencies::encode`] has it.
    Packed {
        count: u64,
        bytes: Box<[u8]>,
    },
}

impl Default for Latencies {
    fn default() -> Latencies {
        Latencies::new()
    }
}

impl PartialEq for Latencies {
    fn eq(&self, other: &Latencies) -> bool {
        *self.histogram() == *other.histogram()
    }
}

fn empty() -> Histogram<u64> {
    let histogram = Histogram::new_with_bounds(1, MAX_LEN, DIGITS);
    // The bounds are constants that the crate accepts, as every test here shows.
    histogram.expect("constant bounds")
}

/// What the encoding begins with when it is not compressed: version 2, words of variable length.
const COOKIE: u32 = 0x1c84_9313;

/// Reads the encoding, if its bounds are ours and its counts are as long as it says: both decide how much memory it takes, before
/// anything is read.
fn decoded(bytes: &[u8]) -> Option<Histogram<u64>> {
    let (header, counts) = bytes.split_first_chunk::<HEADER>()?;
    let len = u32::try_from(counts.len()).ok()?.to_be_bytes();
    if header.get(..4)? != COOKIE.to_be_bytes() || header.get(4..8)? != len {
        return None;
    }
    let number = |at: usize| {
        let field = header.get(at..)?.first_chunk::<8>()?;
        Some(u64::from_be_bytes(*field))
    };
    let digits = header.get(12..16)? == u32::from(DIGITS).to_be_bytes();
    if !digits || number(16) != Some(1) || number(24) != Some(MAX_LEN) {
        return None;
    }
    let mut bytes = bytes;
    Deserializer::new().deserialize(&mut bytes).ok()
}

impl Latencies {
    /// None yet.
    #[must_use]
    pub fn new() -> Latencies {
        Latencies(Counts::Open(empty()))
    }

    fn histogram(&self) -> Cow<'_, Histogram<u64>> {
        match &self.0 {
            Counts::Open(histogram) => Cow::Borrowed(histogram),
            // What was packed was open before, or was decoded when it was read.
            Counts::Packed { bytes, .. } => Cow::Owned(decoded(bytes).unwrap_or_else(empty)),
        }
    }

    #[inline]
    fn open(&mut self) -> &mut Histogram<u64> {
        if let Counts::Packed { .. } = self.0 {
            self.0 = Counts::Open(self.histogram().into_owned());
        }
        match &mut self.0 {
            Counts::Open(histogram) => histogram,
            Counts::Packed { .. } => unreachable!("it was opened just now"),
        }
    }

    /// Takes as little memory as it can, for when nothing is recorded any more.
    pub fn pack(&mut self) {
        if let Counts::Open(histogram) = &self.0 {
            self.0 = Counts::Packed {
                count: histogram.len(),
                bytes: self.encode().into(),
            };
        }
    }

    /// One request; longer than an hour counts as an hour.
    #[inline]
    pub fn record(&mut self, nanoseconds: u64) {
        self.open().saturating_record(nanoseconds);
    }

    /// Those of another histogram too.
    pub fn merge(&mut self, other: &Latencies) {
        // Bounds are always the same, so nothing can lie outside.
        let _ = self.open().add(&*other.histogram());
    }

    /// Requests counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        match &self.0 {
            Counts::Open(histogram) => histogram.len(),
            Counts::Packed { count, .. } => *count,
        }
    }

    /// The latency that `percent` of the requests do not exceed; zero when there is none.
    #[must_use]
    pub fn percentile(&self, percent: f64) -> Duration {
        Duration::from_nanos(self.histogram().value_at_percentile(percent))
    }

    /// Their mean.
    #[must_use]
    pub fn mean(&self) -> Duration {
        Duration::from_secs_f64(self.histogram().mean() / 1e9)
    }

    /// Their standard deviation.
    #[must_use]
    pub fn deviation(&self) -> Duration {
        Duration::from_secs_f64(self.histogram().stdev() / 1e9)
    }

    /// Shortest.
    #[must_use]
    pub fn least(&self) -> Duration {
        Duration::from_nanos(self.histogram().min())
    }

    /// Longest.
    #[must_use]
    pub fn most(&self) -> Duration {
        Duration::from_nanos(self.histogram().max())
    }

    /// Every bucket that holds something: its upper end, and how many.
    pub fn buckets(&self) -> impl Iterator<Item = (Duration, u64)> + use<> {
        let histogram = self.histogram();
        let recorded = histogram.iter_recorded();
        let buckets: Vec<_> = recorded
            .map(|at| {
                (
                    Duration::from_nanos(at.value_iterated_to()),
                    at.count_at_value(),
                )
            })
            .collect();
        buckets.into_iter()
    }

    /// The V2 encoding that other tools for such histograms read.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        match &self.0 {
            Counts::Packed { bytes, .. } => bytes.to_vec(),
            Counts::Open(histogram) => {
                let mut out = Vec::new();
                // Writing to memory does not fail.
                let _ = V2Serializer::new().serialize(histogram, &mut out);
                out
            }
        }
    }

    /// Reads [`Latencies::encode`]'s bytes back, packed; `None` when they are none of ours.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Latencies> {
        Some(Latencies(Counts::Packed {
            count: decoded(bytes)?.len(),
            bytes: bytes.into(),
        }))
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

/// Latencies of many requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LatencySummary {
    /// Requests.
    pub requests: u64,
    /// Shortest.
    pub least: Duration,
    /// Mean.
    pub mean: Duration,
    /// Half of them are not above.
    pub p50: Duration,
    /// 90%.
    pub p90: Duration,
    /// 95%.
    pub p95: Duration,
    /// 99%.
    pub p99: Duration,
    /// 99.9%.
    pub p999: Duration,
    /// Longest.
    pub most: Duration,
}

impl Latencies {
    /// Their percentiles.
    #[must_use]
    pub fn summary(&self) -> LatencySummary {
        LatencySummary {
            requests: self.count(),
            least: self.least(),
            mean: self.mean(),
            p50: self.percentile(50.0),
            p90: self.percentile(90.0),
            p95: self.percentile(95.0),
            p99: self.percentile(99.0),
            p999: self.percentile(99.9),
            most: self.most(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_that_are_not_as_long_as_is_said_are_none() {
        let mut latencies = Latencies::new();
        latencies.record(5_000);
        let bytes = latencies.encode();
        assert!(Latencies::decode(&bytes).is_some());
        for said in [0, 1, 1 << 20, 0xe000_002a, u32::MAX] {
            let mut other = bytes.clone();
            other[4..8].copy_from_slice(&u32::to_be_bytes(said));
            assert_eq!(Latencies::decode(&other), None, "{said}");
        }
        // A compressed one could hold bounds that are not ours.
        let mut other = bytes.clone();
        other[3] = 0x14;
        assert_eq!(Latencies::decode(&other), None);
        assert_eq!(Latencies::decode(&bytes[..bytes.len() - 1]), None);
    }

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
    fn packed_they_say_the_same_and_can_be_added_to() {
        let mut open = Latencies::new();
        for n in 0..1000 {
            open.record(n * n * 977);
        }
        let mut packed = open.clone();
        packed.pack();
        assert_eq!(packed, open);
        assert_eq!(packed.count(), 1000);
        assert_eq!(packed.percentile(99.0), open.percentile(99.0));
        assert_eq!(packed.mean(), open.mean());
        assert!(packed.buckets().eq(open.buckets()));
        packed.record(5);
        open.record(5);
        assert_eq!(packed, open);
        assert_eq!(packed.encode(), open.encode());
    }

    #[test]
    fn an_encoding_with_other_bounds_is_none_of_ours() {
        let wide = Histogram::<u64>::new_with_bounds(1, u64::MAX / 2, 5).expect("bounds");
        let mut bytes = Vec::new();
        let written = V2Serializer::new().serialize(&wide, &mut bytes);
        written.expect("it is written");
        assert_eq!(Latencies::decode(&bytes), None);
        let mut bytes = Latencies::new().encode();
        assert!(Latencies::decode(&bytes).is_some());
        bytes[15] = 5;
        assert_eq!(Latencies::decode(&bytes), None);
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
