//! What documents of several verbs have in common, read back.

use serde::Deserialize;
use std::time::Duration;
use straddle_geometry::{Bytes, Unit};
use straddle_workload::{Pattern, Percent};

/// A layer of a stack.
#[derive(Deserialize)]
pub(crate) struct Layer {
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) format: Option<String>,
    pub(crate) size: Option<Fact<Bytes>>,
    #[serde(default)]
    pub(crate) below: Vec<usize>,
    pub(crate) map: Option<Map>,
    pub(crate) placement: Option<Fact<Extent>>,
    #[serde(default)]
    pub(crate) grids: Vec<Grid>,
}

impl Layer {
    /// Where it starts in the one layer below it.
    pub(crate) fn start(&self) -> Option<Bytes> {
        if let Some(placement) = &self.placement {
            return Some(placement.value.start);
        }
        match &self.map {
            Some(map) if map.shape == "linear" => map.start,
            _ => None,
        }
    }

    /// What is compared of it: its name, and the rest in words.
    pub(crate) fn fact(&self) -> (String, String) {
        let mut words = vec![self.format.clone().unwrap_or_else(|| self.kind.clone())];
        words.extend(
            self.start()
                .map(|start| format!("starts at {} B", start.grouped())),
        );
        words.extend(
            self.size
                .as_ref()
                .map(|size| format!("{} B long", size.value.grouped())),
        );
        words.extend(self.grids.iter().map(Grid::words));
        (format!("layer {}", self.name), words.join(", "))
    }
}

impl Grid {
    /// `stripe unit 64 KiB, the first at 31.5 KiB (assumed)`.
    pub(crate) fn words(&self) -> String {
        let value = self.grid.value;
        let role = self.role.replace('-', " ");
        let phase = match value.phase.get() {
            0 => String::new(),
            _ => format!(", the first at {}", value.phase),
        };
        let trust = match self.grid.trust.as_str() {
            "assumed" => " (assumed)",
            "doubtful" => " (not believed)",
            _ => "",
        };
        format!("{role} {}{phase}{trust}", value.unit)
    }
}

#[derive(Deserialize)]
pub(crate) struct Fact<T> {
    pub(crate) value: T,
    pub(crate) trust: String,
}

#[derive(Clone, Copy, Deserialize)]
pub(crate) struct Extent {
    pub(crate) start: Bytes,
    pub(crate) len: Bytes,
}

#[derive(Deserialize)]
pub(crate) struct Map {
    pub(crate) shape: String,
    pub(crate) start: Option<Bytes>,
}

#[derive(Deserialize)]
pub(crate) struct Grid {
    pub(crate) role: String,
    pub(crate) grid: Fact<GridValue>,
}

#[derive(Clone, Copy, Deserialize)]
pub(crate) struct GridValue {
    pub(crate) unit: Unit,
    pub(crate) phase: Bytes,
}

/// A number of which only the value is shown.
#[derive(Clone, Copy, Default, Deserialize)]
pub(crate) struct Ratio {
    pub(crate) value: f64,
}

/// An estimate and its 95% interval.
#[derive(Clone, Copy, Deserialize)]
pub(crate) struct Interval {
    pub(crate) mean: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl From<Interval> for straddle_workload::interval::Interval {
    fn from(from: Interval) -> Self {
        let Interval { mean, low, high } = from;
        straddle_workload::interval::Interval { mean, low, high }
    }
}

/// What a comparison proves.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Verdict {
    Faster,
    Slower,
    NoDifferenceAbove(f64),
    NotEnoughEvidence,
}

impl From<Verdict> for straddle_workload::interval::Verdict {
    fn from(from: Verdict) -> Self {
        match from {
            Verdict::Faster => Self::Faster,
            Verdict::Slower => Self::Slower,
            Verdict::NoDifferenceAbove(share) => Self::NoDifferenceAbove(share),
            Verdict::NotEnoughEvidence => Self::NotEnoughEvidence,
        }
    }
}

/// What was asked of storage.
#[derive(Clone, Deserialize)]
pub(crate) struct Workload {
    reads_percent: u8,
    pattern: Pattern,
    sizes: Vec<Size>,
    threads: u32,
    outstanding: u32,
    think_seconds: f64,
    offered_per_second: Option<f64>,
}

#[derive(Clone, Copy, Deserialize)]
struct Size {
    bytes: Unit,
    weight: u32,
}

impl From<&Workload> for straddle_workload::Workload {
    fn from(from: &Workload) -> Self {
        straddle_workload::Workload {
            reads: Percent::new(from.reads_percent.min(100)).unwrap_or(Percent::ALL),
            pattern: from.pattern,
            sizes: from.sizes.iter().map(|s| (s.bytes, s.weight)).collect(),
            workers: from.threads,
            outstanding: from.outstanding,
            think: Duration::try_from_secs_f64(from.think_seconds).unwrap_or_default(),
            rate: from.offered_per_second,
        }
    }
}

/// Latencies of many requests.
#[derive(Clone, Copy, Deserialize)]
pub(crate) struct Latency {
    pub(crate) mean_nanoseconds: u64,
    pub(crate) p99_nanoseconds: u64,
    #[serde(rename = "most_nanoseconds")]
    pub(crate) max_nanoseconds: u64,
}
