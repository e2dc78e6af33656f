//! An experiment in the JSON that fio 3 writes with `--output-format=json+`, for tools that read it.
//!
//! Every cell and offset is a job, named like `8K-randread-t4-o32-off64K`; all runs of it together are what fio would call
//! one. Where the two tools do not count the same, this is what the members hold:
//!
//! - `clat_ns` and `lat_ns`: from the start of a request (in an open loop, from when it was due) to its end. Submission is
//!   not timed by itself, so `slat_ns` is zero. Keys of `bins` are the upper ends of this program's own buckets, at most
//!   0.1% from the truth, in place of fio's; nothing is longer than the 17.1 s that fio's own scripts reckon with.
//! - `iops_min`, `iops_max`, `iops_mean`, `iops_stddev` and the same of `bw`: over whole runs, not over half seconds.
//! - `usr_cpu`: processor time in user mode and in the kernel; they are not told apart, and `sys_cpu` is zero.
//! - `iodepth_level`: what was asked for. `iodepth_submit` and `iodepth_complete` are not counted and zero, and so are
//!   context switches, page faults, and the `ticks` of devices.
//!
//! Tools that take one job a file, fio-plot among them, want [`Document::split`].

mod figures;
mod jobs;
mod options;

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use std::collections::BTreeMap;

use straddle_bench::results::Experiment;

use self::figures::milliseconds;
use crate::utc::Utc;

/// What fio would have written.
#[derive(Clone, Debug, Serialize)]
pub struct Document {
    /// `straddle-0.1.0`, where fio writes `fio-3.33`.
    #[serde(rename = "fio version")]
    version: String,
    timestamp: u64,
    timestamp_ms: u64,
    time: String,
    #[serde(rename = "global options")]
    global_options: Options,
    jobs: Vec<Job>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    disk_util: Vec<Disk>,
}

/// Options as a job file would give them, all of them text.
type Options = BTreeMap<&'static str, String>;

#[derive(Clone, Debug, Serialize)]
struct Job {
    jobname: String,
    groupid: u32,
    error: u32,
    eta: u64,
    elapsed: u64,
    #[serde(rename = "job options")]
    options: Options,
    read: Direction,
    write: Direction,
    trim: Direction,
    sync: Sync,
    job_runtime: u64,
    usr_cpu: f64,
    sys_cpu: f64,
    ctx: u64,
    majf: u64,
    minf: u64,
    iodepth_level: Shares,
    iodepth_submit: Shares,
    iodepth_complete: Shares,
    latency_ns: Shares,
    latency_us: Shares,
    latency_ms: Shares,
    latency_depth: u32,
    latency_target: u64,
    latency_percentile: f64,
    latency_window: u64,
}

#[derive(Clone, Debug, Default, Serialize)]
struct Direction {
    io_bytes: u64,
    io_kbytes: u64,
    bw_bytes: u64,
    bw: u64,
    iops: f64,
    runtime: u64,
    total_ios: u64,
    short_ios: u64,
    drop_ios: u64,
    slat_ns: Latency,
    clat_ns: Latency,
    lat_ns: Latency,
    bw_min: u64,
    bw_max: u64,
    bw_agg: f64,
    bw_mean: f64,
    bw_dev: f64,
    bw_samples: u64,
    iops_min: u64,
    iops_max: u64,
    iops_mean: f64,
    iops_stddev: f64,
    iops_samples: u64,
}

#[derive(Clone, Debug, Default, Serialize)]
struct Latency {
    min: u64,
    max: u64,
    mean: f64,
    stddev: f64,
    #[serde(rename = "N")]
    n: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    percentile: Option<Pairs<u64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bins: Option<Pairs<u64>>,
}

#[derive(Clone, Debug, Serialize)]
struct Sync {
    total_ios: u64,
    lat_ns: Latency,
}

#[derive(Clone, Debug, Default, Serialize)]
struct Disk {
    name: String,
    read_ios: u64,
    write_ios: u64,
    read_merges: u64,
    write_merges: u64,
    read_ticks: u64,
    write_ticks: u64,
    in_queue: u64,
    util: f64,
}

/// An object whose members have an order.
#[derive(Clone, Debug)]
struct Pairs<T>(Vec<(String, T)>);

/// Shares of requests in percent.
type Shares = Pairs<f64>;

impl<T: Serialize> Serialize for Pairs<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

impl Document {
    /// All cells and offsets that had a run, a job each.
    #[must_use]
    pub fn new(experiment: &Experiment) -> Document {
        let setting = &experiment.setting;
        let last = experiment.samples.iter().map(|s| s.began + s.took).max();
        let ended = setting.began + last.unwrap_or_default();
        Document {
            version: format!("straddle-{}", setting.machine.version),
            timestamp: ended.as_secs(),
            timestamp_ms: milliseconds(ended),
            time: Utc::new(ended).ctime(),
            global_options: options::global(experiment),
            jobs: jobs::all(experiment),
            disk_util: figures::disks(&experiment.samples),
        }
    }

    /// The same, a document for each job, with the job's name: for tools that take one job a file. Devices are left out,
    /// whose counts belong to all jobs together.
    #[must_use]
    pub fn split(mut self) -> Vec<(String, Document)> {
        self.disk_util.clear();
        let jobs = std::mem::take(&mut self.jobs);
        jobs.into_iter()
            .map(|job| {
                let jobs = vec![job.clone()];
                (
                    job.jobname,
                    Document {
                        jobs,
                        ..self.clone()
                    },
                )
            })
            .collect()
    }
}
