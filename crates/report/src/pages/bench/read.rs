//! What a page needs of an experiment.

use serde::Deserialize;

use crate::pages::read::{Interval, Latency, Layer, Verdict, Workload};

/// What a page needs of an experiment.
#[derive(Deserialize)]
pub(crate) struct Document {
    pub(super) plan: Plan,
    pub(super) setting: Setting,
    pub(super) end: serde_json::Value,
    #[serde(default)]
    pub(super) cells: Vec<Cell>,
    #[serde(default)]
    pub(super) knees: Vec<Knee>,
    #[serde(default)]
    pub(super) warnings: Vec<Warning>,
    #[serde(default)]
    pub(super) samples: Vec<Sample>,
}

#[derive(Deserialize)]
pub(super) struct Plan {
    pub(super) cells: Vec<Workload>,
    #[serde(default)]
    pub(super) names: Vec<String>,
    pub(super) offsets: Vec<Offset>,
    pub(super) precision: f64,
}

#[derive(Deserialize)]
pub(super) struct Offset {
    pub(super) name: String,
}

#[derive(Deserialize)]
pub(super) struct Setting {
    pub(super) target: String,
    pub(super) medium: String,
    pub(super) began: String,
    pub(super) began_unix_seconds: Option<f64>,
    pub(super) stack: Option<Vec<Layer>>,
    pub(super) engine: Engine,
    pub(super) machine: Machine,
}

#[derive(Deserialize)]
pub(super) struct Engine {
    pub(super) name: String,
}

#[derive(Deserialize)]
pub(super) struct Machine {
    pub(super) host: String,
    pub(super) system: String,
    pub(super) processors: String,
    pub(super) version: String,
}

#[derive(Deserialize)]
pub(super) struct Cell {
    pub(super) offsets: Vec<Delivered>,
    #[serde(default)]
    pub(super) gains: Vec<Gain>,
    pub(super) drift: Option<Drift>,
    pub(super) noise_floor: Option<f64>,
}

#[derive(Deserialize)]
pub(super) struct Delivered {
    pub(super) runs: u32,
    pub(super) reads_per_second: f64,
    pub(super) writes_per_second: f64,
    pub(super) read_latency: Option<Latency>,
    pub(super) write_latency: Option<Latency>,
}

#[derive(Deserialize)]
pub(super) struct Gain {
    pub(super) offset: usize,
    pub(super) ratio: Option<Interval>,
    pub(super) verdict: Verdict,
}

#[derive(Deserialize)]
pub(super) struct Drift {
    pub(super) change: f64,
    pub(super) p: f64,
    pub(super) runs: u32,
}

#[derive(Deserialize)]
pub(super) struct Knee {
    pub(super) offset: usize,
    pub(super) cells: Vec<usize>,
    pub(super) at: Option<usize>,
}

#[derive(Deserialize)]
pub(super) struct Warning {
    pub(super) cause: String,
    pub(super) advice: String,
}

#[derive(Deserialize)]
pub(super) struct Sample {
    pub(super) cell: usize,
    pub(super) offset: usize,
    pub(super) began_seconds: f64,
    pub(super) took_seconds: f64,
    pub(super) requests_per_second: f64,
    pub(super) reads: Side,
    pub(super) writes: Side,
    #[serde(default)]
    pub(super) requests_per_tenth: Vec<u32>,
}

#[derive(Deserialize)]
pub(super) struct Side {
    pub(super) requests_per_second: f64,
    pub(super) histogram_v2_base64: Option<String>,
}
