//! What a page needs of predictions.

use serde::Deserialize;
use straddle_geometry::Bytes;

use crate::pages::read::{Interval, Latency, Verdict, Workload};

/// What a page needs of predictions.
#[derive(Deserialize)]
pub(crate) struct Document {
    #[serde(default)]
    pub(super) predictions: Vec<Prediction>,
    pub(super) comparison: Option<Comparison>,
}

#[derive(Deserialize)]
pub(super) struct Prediction {
    pub(super) place: Option<Place>,
    pub(super) asked: Asked,
    pub(super) offsets: Vec<Offset>,
    pub(super) best: usize,
    pub(super) sensitivity: Sensitivity,
    pub(super) decision: Option<Decision>,
    #[serde(default)]
    pub(super) missed: Vec<Missed>,
}

#[derive(Deserialize)]
pub(super) struct Place {
    pub(super) name: String,
    pub(super) base: String,
}

#[derive(Deserialize)]
pub(super) struct Asked {
    pub(super) profile: Profile,
    pub(super) workload: Workload,
    pub(super) scenario: Option<String>,
    pub(super) replicates: u32,
    pub(super) requests: u64,
}

#[derive(Deserialize)]
pub(super) struct Profile {
    pub(super) name: String,
    pub(super) title: String,
    #[serde(default)]
    pub(super) figures: Vec<Set>,
}

/// A figure of a profile.
#[derive(Deserialize)]
pub(super) struct Set {
    pub(super) path: String,
    pub(super) shown: String,
}

#[derive(Deserialize)]
pub(super) struct Offset {
    pub(super) name: String,
    pub(super) bytes: Bytes,
    pub(super) requests_per_second: Interval,
    pub(super) read_latency: Option<Latency>,
    pub(super) write_latency: Option<Latency>,
    #[serde(default)]
    pub(super) resources: Vec<Resource>,
    pub(super) gain: Option<Gain>,
}

#[derive(Deserialize)]
pub(super) struct Resource {
    pub(super) name: String,
    pub(super) count: u64,
    pub(super) mean: f64,
}

#[derive(Deserialize)]
pub(super) struct Gain {
    pub(super) ratio: Interval,
    pub(super) verdict: Verdict,
}

#[derive(Deserialize)]
pub(super) struct Sensitivity {
    pub(super) nominal: Option<f64>,
    #[serde(default)]
    pub(super) varied: Vec<Varied>,
}

#[derive(Deserialize)]
pub(super) struct Varied {
    pub(super) path: String,
    pub(super) value: String,
    pub(super) ends: Vec<End>,
}

#[derive(Deserialize)]
pub(super) struct End {
    pub(super) value: String,
    pub(super) gain: Option<f64>,
    pub(super) refused: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Decision {
    pub(super) call: String,
    #[serde(default)]
    pub(super) depends: Vec<Turn>,
}

#[derive(Deserialize)]
pub(super) struct Turn {
    pub(super) values: Vec<Parameter>,
    pub(super) gain: f64,
    pub(super) call: String,
}

#[derive(Deserialize)]
pub(super) struct Parameter {
    pub(super) path: String,
    pub(super) value: String,
    pub(super) found_by: String,
}

#[derive(Deserialize)]
pub(super) struct Missed {
    pub(super) study: String,
    pub(super) cells: Vec<String>,
}

#[derive(Deserialize)]
pub(super) struct Comparison {
    pub(super) asked: Asked,
    pub(super) keys: Vec<String>,
    pub(super) variants: Vec<Variant>,
}

#[derive(Deserialize)]
pub(super) struct Variant {
    pub(super) values: Vec<String>,
    pub(super) offsets: Vec<Offset>,
}
