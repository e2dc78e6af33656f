//! The few members of `straddle bench`'s document that are needed to fit. What else it says is passed over.

use serde::Deserialize;
use std::time::Duration;
use straddle_geometry::{Bytes, Unit};
use straddle_workload::{Pattern, Percent, Workload};

use super::{Measured, Observation};
use crate::profile::Refusal;

/// Name and version of the documents that are read.
const SCHEMA: &str = "straddle.bench/1";
/// Most observations of one document.
const MAX: usize = 256;

#[derive(Deserialize)]
struct Document {
    schema: String,
    plan: Plan,
    setting: Setting,
    cells: Vec<Cell>,
}

#[derive(Deserialize)]
struct Plan {
    cells: Vec<Asked>,
    offsets: Vec<Offset>,
}

#[derive(Deserialize)]
struct Asked {
    reads_percent: Percent,
    pattern: Pattern,
    sizes: Vec<Size>,
    threads: u32,
    outstanding: u32,
    think_seconds: f64,
    offered_per_second: Option<f64>,
}

#[derive(Deserialize)]
struct Size {
    bytes: u64,
    weight: u32,
}

#[derive(Deserialize)]
struct Offset {
    name: String,
    bytes: u64,
}

#[derive(Deserialize)]
struct Setting {
    span_bytes: u64,
}

#[derive(Deserialize)]
struct Cell {
    offsets: Vec<Delivered>,
}

#[derive(Deserialize)]
struct Delivered {
    runs: u32,
    reads_per_second: f64,
    writes_per_second: f64,
}

pub(super) fn read(name: &str, text: &str) -> Result<Measured, Refusal> {
    let expected = format!("a document that `straddle bench --format json` printed ({SCHEMA})");
    let refuse = |found: &dyn std::fmt::Display| Refusal::new(name, found, &expected);
    let document: Document = serde_json::from_str(text)
        .map_err(|error| refuse(&error.to_string().replace('\n', " ")))?;
    if document.schema != SCHEMA {
        return Err(refuse(&format!("schema `{}`", document.schema)));
    }
    let mut observations = Vec::new();
    for (asked, cell) in document.plan.cells.iter().zip(&document.cells) {
        let workload = workload(asked).ok_or_else(|| refuse(&"a workload that is none"))?;
        for (offset, delivered) in document.plan.offsets.iter().zip(&cell.offsets) {
            let rate = delivered.reads_per_second + delivered.writes_per_second;
            if delivered.runs == 0 || !(rate.is_finite() && rate > 0.0) {
                continue;
            }
            observations.push(Observation {
                workload: workload.clone(),
                offset: offset.name.clone(),
                at: Bytes::new(offset.bytes),
                rate,
            });
        }
    }
    if observations.is_empty() {
        return Err(refuse(&"without a rate"));
    }
    if observations.len() > MAX {
        let found = format!("{} rates", observations.len());
        return Err(Refusal::new(name, found, format!("at most {MAX}")));
    }
    if observations.iter().all(|o| o.workload.rate.is_some()) {
        return Err(refuse(
            &"of open loops only, whose rates are those that were offered",
        ));
    }
    observations.retain(|o| o.workload.rate.is_none());
    Ok(Measured {
        span: Bytes::new(document.setting.span_bytes),
        observations,
    })
}

/// `None` for what no `bench` would have done.
fn workload(asked: &Asked) -> Option<Workload> {
    let size = |size: &Size| {
        let unit = Unit::new(size.bytes).filter(|unit| unit.get() <= 64 << 20)?;
        (size.weight > 0).then_some((unit, size.weight))
    };
    let sizes: Vec<_> = asked.sizes.iter().map(size).collect::<Option<_>>()?;
    let is_sound = !sizes.is_empty()
        && (1..=1024).contains(&asked.threads)
        && (1..=4096).contains(&asked.outstanding);
    is_sound.then_some(())?;
    Some(Workload {
        reads: asked.reads_percent,
        pattern: asked.pattern,
        sizes,
        workers: asked.threads,
        outstanding: asked.outstanding,
        think: Duration::try_from_secs_f64(asked.think_seconds).ok()?,
        rate: asked.offered_per_second,
    })
}
