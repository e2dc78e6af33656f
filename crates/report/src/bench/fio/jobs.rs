//! One job: all runs of a cell at an offset.

use std::time::Duration;

use straddle_bench::results::Experiment;
use straddle_bench::sample::Sample;
use straddle_workload::Workload;
use straddle_workload::histogram::Latencies;

use super::figures::{Spread, depth, float, milliseconds, nothing, rounded, share, side};
use super::{Direction, Job, Latency, Options, Sync, options};
use crate::bench::wording::offset_name;

/// A job for each cell and offset that had a run.
pub(super) fn all(experiment: &Experiment) -> Vec<Job> {
    let mut out: Vec<Job> = Vec::new();
    for (cell, workload) in experiment.plan.cells.iter().enumerate() {
        for (offset, place) in experiment.plan.offsets.iter().enumerate() {
            let of_job = |sample: &&Sample| {
                sample.slot.cell as usize == cell && sample.slot.offset as usize == offset
            };
            let samples: Vec<&Sample> = experiment.samples.iter().filter(of_job).collect();
            if samples.is_empty() {
                continue;
            }
            let mut name = options::job_name(
                experiment.plan.name(cell),
                workload,
                offset_name(&experiment.plan, offset),
            );
            if out.iter().any(|job| job.jobname == name) {
                // Cells that differ in think time or offered rate only.
                name.push_str(&format!("-cell{cell}"));
            }
            let mut options = options::of_job(workload);
            options.insert("name", name.clone());
            options.insert("offset", place.bytes.get().to_string());
            out.push(job(experiment, workload, name, options, &samples));
        }
    }
    out
}

fn job(
    experiment: &Experiment,
    workload: &Workload,
    jobname: String,
    options: Options,
    samples: &[&Sample],
) -> Job {
    let took: Duration = samples.iter().map(|sample| sample.took).sum();
    let warm_up = experiment.plan.warm_up.as_secs_f64() * float(samples.len() as u64);
    let busy: Duration = samples.iter().map(|sample| sample.processor).sum();
    let mut all = Latencies::new();
    for sample in samples {
        all.merge(&sample.reads.latencies);
        all.merge(&sample.writes.latencies);
    }
    let spread = Spread::of(&all);
    let none = Direction::default();
    Job {
        jobname,
        groupid: 0,
        error: 0,
        eta: 0,
        elapsed: rounded(took.as_secs_f64() + warm_up),
        options,
        read: side(samples, took, |sample| &sample.reads),
        write: side(samples, took, |sample| &sample.writes),
        trim: none,
        sync: Sync {
            total_ios: 0,
            lat_ns: Latency::default(),
        },
        job_runtime: milliseconds(took) * u64::from(workload.workers),
        usr_cpu: share(busy.as_secs_f64(), took.as_secs_f64()),
        sys_cpu: 0.0,
        ctx: 0,
        majf: 0,
        minf: 0,
        iodepth_level: depth(&["1", "2", "4", "8", "16", "32", ">=64"], workload),
        iodepth_submit: nothing(&["0", "4", "8", "16", "32", "64", ">=64"]),
        iodepth_complete: nothing(&["0", "4", "8", "16", "32", "64", ">=64"]),
        latency_ns: spread.nanoseconds,
        latency_us: spread.microseconds,
        latency_ms: spread.milliseconds,
        latency_depth: workload.outstanding,
        latency_target: 0,
        latency_percentile: 100.0,
        latency_window: 0,
    }
}
