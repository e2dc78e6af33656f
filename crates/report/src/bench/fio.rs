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

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use std::collections::BTreeMap;
use std::time::Duration;

use straddle_bench::histogram::Latencies;
use straddle_bench::results::{Experiment, Medium};
use straddle_bench::sample::{Sample, Side};
use straddle_bench::workload::{Pattern, Percent, Workload};
use straddle_geometry::Unit;
use straddle_io::engine::Durability;

use super::when::Utc;
use super::wording::offset_name;

/// Longest latency that fio's histogram tells from longer ones, in nanoseconds; `fio_jsonplus_clat2csv` never ends on a bin
/// above it.
const LONGEST: u64 = 17_112_760_320;

/// The percentiles that fio writes unless told otherwise.
const PERCENTILES: [f64; 17] = [
    1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95,
    99.99,
];

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
            global_options: global_options(experiment),
            jobs: jobs(experiment),
            disk_util: disks(&experiment.samples),
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

/// What all jobs have in common.
fn global_options(experiment: &Experiment) -> Options {
    let (plan, setting) = (&experiment.plan, &experiment.setting);
    let direct = matches!(setting.medium, Medium::FileDirect | Medium::DeviceDirect);
    // fio's own names of the engines.
    let engine = match setting.engine.name.as_str() {
        "pread" => "psync",
        name => name,
    };
    let mut out = BTreeMap::from([
        ("direct", u8::from(direct).to_string()),
        ("filename", setting.target.clone()),
        ("group_reporting", "1".to_owned()),
        ("ioengine", engine.to_owned()),
        ("ramp_time", format!("{}ms", plan.warm_up.as_millis())),
        ("randseed", plan.seed.to_string()),
        ("runtime", format!("{}ms", plan.measured.as_millis())),
        ("size", setting.span.get().to_string()),
        ("time_based", "1".to_owned()),
    ]);
    if setting.options.durability != Durability::Cached {
        out.insert("sync", "dsync".to_owned());
    }
    out
}

fn jobs(experiment: &Experiment) -> Vec<Job> {
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
            let mut name = job_name(workload, offset_name(&experiment.plan, offset));
            if out.iter().any(|job| job.jobname == name) {
                // Cells that differ in think time or offered rate only.
                name.push_str(&format!("-cell{cell}"));
            }
            let mut options = job_options(workload);
            options.insert("name", name.clone());
            options.insert("offset", place.bytes.get().to_string());
            out.push(job(experiment, workload, name, options, &samples));
        }
    }
    out
}

/// `8K-randread-t4-o32-off64K`.
fn job_name(workload: &Workload, offset: &str) -> String {
    let sizes = workload.sizes.iter().map(|(size, _)| short(*size));
    let sizes: Vec<String> = sizes.collect();
    let share = match workload.reads {
        Percent::ALL | Percent::NONE => String::new(),
        share => share.get().to_string(),
    };
    // The name becomes a file's.
    let plain = |c: char| match c {
        c if c.is_alphanumeric() || matches!(c, '.' | '-' | '_') => c,
        _ => '_',
    };
    format!(
        "{}-{}{share}-t{}-o{}-off{}",
        sizes.join("+"),
        direction(workload),
        workload.workers,
        workload.outstanding,
        offset.chars().map(plain).collect::<String>()
    )
}

/// A size as options of fio give it: `8K`, `512`.
fn short(size: Unit) -> String {
    match size.get() {
        n if n.is_multiple_of(1 << 20) => format!("{}M", n >> 20),
        n if n.is_multiple_of(1 << 10) => format!("{}K", n >> 10),
        n => n.to_string(),
    }
}

/// fio's `rw`.
fn direction(workload: &Workload) -> &'static str {
    match (workload.pattern, workload.reads) {
        (Pattern::Random, Percent::ALL) => "randread",
        (Pattern::Random, Percent::NONE) => "randwrite",
        (Pattern::Random, _) => "randrw",
        (Pattern::Sequential, Percent::ALL) => "read",
        (Pattern::Sequential, Percent::NONE) => "write",
        (Pattern::Sequential, _) => "rw",
    }
}

fn job_options(workload: &Workload) -> Options {
    let mut out = BTreeMap::from([
        ("bs", short(workload.largest())),
        ("iodepth", workload.outstanding.to_string()),
        ("numjobs", workload.workers.to_string()),
        ("rw", direction(workload).to_owned()),
    ]);
    if workload.sizes.len() > 1 {
        let all: u64 = workload.sizes.iter().map(|(_, n)| u64::from(*n)).sum();
        let parts = workload.sizes.iter().map(|(size, n)| {
            let share = (u64::from(*n) * 100 + all / 2).checked_div(all);
            format!("{}/{}", short(*size), share.unwrap_or(0))
        });
        out.insert("bssplit", parts.collect::<Vec<_>>().join(":"));
    }
    if !matches!(workload.reads, Percent::ALL | Percent::NONE) {
        out.insert("rwmixread", workload.reads.get().to_string());
    }
    if !workload.think.is_zero() {
        out.insert("thinktime", format!("{}us", workload.think.as_micros()));
    }
    if let Some(rate) = workload.rate {
        out.insert("rate_iops", format!("{rate:.0}"));
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

fn side(samples: &[&Sample], took: Duration, of: fn(&Sample) -> &Side) -> Direction {
    let sides = samples.iter().map(|sample| (of(sample), sample.took));
    let total: u64 = sides.clone().map(|(side, _)| side.requests).sum();
    if total == 0 {
        return Direction::default();
    }
    let bytes: u64 = sides.clone().map(|(side, _)| side.bytes.get()).sum();
    let mut latencies = Latencies::new();
    for (side, _) in sides.clone() {
        latencies.merge(&side.latencies);
    }
    let seconds = took.as_secs_f64().max(f64::MIN_POSITIVE);
    let rates: Vec<f64> = sides.clone().map(|(side, took)| side.rate(took)).collect();
    let bandwidth = |(side, took): (&Side, Duration)| {
        float(side.bytes.get()) / 1024.0 / took.as_secs_f64().max(f64::MIN_POSITIVE)
    };
    let bandwidths: Vec<f64> = sides.map(bandwidth).collect();
    let (iops, bw) = (Moments::of(&rates), Moments::of(&bandwidths));
    let latency = latency(&latencies);
    Direction {
        io_bytes: bytes,
        io_kbytes: bytes / 1024,
        bw_bytes: rounded(float(bytes) / seconds),
        bw: rounded(float(bytes) / seconds / 1024.0),
        iops: float(total) / seconds,
        runtime: milliseconds(took),
        total_ios: total,
        short_ios: 0,
        drop_ios: 0,
        slat_ns: Latency::default(),
        clat_ns: latency.clone(),
        lat_ns: Latency {
            percentile: None,
            bins: None,
            ..latency
        },
        bw_min: rounded(bw.least),
        bw_max: rounded(bw.most),
        bw_agg: 100.0,
        bw_mean: bw.mean,
        bw_dev: bw.deviation,
        bw_samples: bandwidths.len() as u64,
        iops_min: rounded(iops.least),
        iops_max: rounded(iops.most),
        iops_mean: iops.mean,
        iops_stddev: iops.deviation,
        iops_samples: rates.len() as u64,
    }
}

fn latency(latencies: &Latencies) -> Latency {
    let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    let percentile = |p: &f64| (format!("{p:.6}"), nanoseconds(latencies.percentile(*p)));
    let mut bins: Vec<(String, u64)> = Vec::new();
    let mut beyond = 0;
    for (end, count) in latencies.buckets() {
        match nanoseconds(end) {
            end if end < LONGEST => bins.push((end.to_string(), count)),
            _ => beyond += count,
        }
    }
    if beyond > 0 {
        bins.push((LONGEST.to_string(), beyond));
    }
    Latency {
        min: nanoseconds(latencies.least()),
        max: nanoseconds(latencies.most()),
        mean: latencies.mean().as_secs_f64() * 1e9,
        stddev: latencies.deviation().as_secs_f64() * 1e9,
        n: latencies.count(),
        percentile: Some(Pairs(PERCENTILES.iter().map(percentile).collect())),
        bins: Some(Pairs(bins)),
    }
}

/// Requests by latency as fio tells them: those below each bound, and not below the one before.
struct Spread {
    nanoseconds: Shares,
    microseconds: Shares,
    milliseconds: Shares,
}

impl Spread {
    fn of(latencies: &Latencies) -> Spread {
        const BOUNDS: [u64; 10] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000];
        // Per unit: the bounds, for milliseconds one of two seconds, and what lies beyond.
        let mut counts = [[0_u64; 12]; 3];
        for (end, count) in latencies.buckets() {
            let nanoseconds = u64::try_from(end.as_nanos()).unwrap_or(u64::MAX);
            let (unit, number) = match nanoseconds {
                n @ 0..1_000 => (0, n),
                n @ 1_000..1_000_000 => (1, n / 1_000),
                n => (2, n / 1_000_000),
            };
            let at = match BOUNDS.iter().position(|bound| number < *bound) {
                Some(at) => at,
                None if number < 2000 => 10,
                None => 11,
            };
            counts[unit][at] += count;
        }
        let all = float(latencies.count());
        let shares = |unit: usize, len: usize| {
            let names = BOUNDS.iter().map(u64::to_string);
            let names = names.chain(["2000".to_owned(), ">=2000".to_owned()]);
            let counts = counts[unit].iter();
            let pairs = names.zip(counts.map(|n| share(float(*n), all)));
            Pairs(pairs.take(len).collect())
        };
        Spread {
            nanoseconds: shares(0, 10),
            microseconds: shares(1, 10),
            milliseconds: shares(2, 12),
        }
    }
}

/// All requests at the depth that was asked for.
fn depth(names: &[&str], workload: &Workload) -> Shares {
    let at = workload.outstanding.max(1).ilog2() as usize;
    let at = at.min(names.len() - 1);
    let share = |(index, name): (usize, &&str)| {
        let share = if index == at { 100.0 } else { 0.0 };
        ((*name).to_owned(), share)
    };
    Pairs(names.iter().enumerate().map(share).collect())
}

fn nothing(names: &[&str]) -> Shares {
    Pairs(names.iter().map(|name| ((*name).to_owned(), 0.0)).collect())
}

/// What all runs together did to each device.
fn disks(samples: &[Sample]) -> Vec<Disk> {
    let mut out: Vec<Disk> = Vec::new();
    let took: Duration = samples.iter().map(|sample| sample.took).sum();
    for counts in samples.iter().flat_map(|sample| &sample.devices) {
        let known = out.iter().position(|disk| disk.name == counts.name);
        let at = known.unwrap_or_else(|| {
            out.push(Disk {
                name: counts.name.clone(),
                ..Disk::default()
            });
            out.len() - 1
        });
        let disk = &mut out[at];
        disk.read_ios += counts.reads;
        disk.write_ios += counts.writes;
        disk.read_merges += counts.reads_merged;
        disk.write_merges += counts.writes_merged;
        disk.util += share(counts.busy.as_secs_f64(), took.as_secs_f64());
    }
    out
}

struct Moments {
    least: f64,
    most: f64,
    mean: f64,
    deviation: f64,
}

impl Moments {
    /// Of at least one number.
    fn of(numbers: &[f64]) -> Moments {
        let n = float(numbers.len() as u64);
        let mean = numbers.iter().sum::<f64>() / n;
        let squares: f64 = numbers.iter().map(|x| (x - mean) * (x - mean)).sum();
        Moments {
            least: numbers.iter().copied().fold(f64::INFINITY, f64::min),
            most: numbers.iter().copied().fold(0.0, f64::max),
            mean,
            deviation: (squares / (n - 1.0).max(1.0)).sqrt(),
        }
    }
}

/// `part` of `whole` in percent; zero of nothing.
fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 {
        part / whole * 100.0
    } else {
        0.0
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float becomes the nearest integer there is"
)]
fn rounded(number: f64) -> u64 {
    number.round() as u64
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts of requests and bytes stay far below 2⁵³"
)]
fn float(number: u64) -> f64 {
    number as f64
}
