//! An experiment in JSON: everything that is known of it, raw samples included.
//!
//! Times are seconds or nanoseconds, as the names of the members say; sizes and places are bytes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use schemars::JsonSchema;
use serde::Serialize;
use std::time::Duration;

use straddle_bench::place::Placed;
use straddle_bench::plan::{Plan, Replayed};
use straddle_bench::results::{
    CellResult, DeviceOperations, Drift, End, EngineChoice, Experiment, Gain, Knee, Machine,
    Medium, OffsetResult, Setting,
};
use straddle_bench::sample::{DeviceCounts, Sample, Side};
use straddle_bench::validity::Warning;
use straddle_geometry::{Bytes, Unit};
use straddle_io::engine::Durability;
use straddle_stack::Stack;
use straddle_workload::histogram::{Latencies, LatencySummary};
use straddle_workload::offset::Offset;
use straddle_workload::{Pattern, Workload};

use crate::utc::Utc;

/// Name and version of the JSON document that `bench` prints. The number changes when a reader would have to.
pub const SCHEMA: &str = "straddle.bench/1";

/// An experiment in JSON.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "straddle bench")]
pub struct Document<'a> {
    /// Name and version of this schema.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: &'static str,
    /// What was asked for.
    plan: PlanOut<'a>,
    /// What it was done on, and how.
    setting: SettingOut<'a>,
    /// Why it ended. A run that failed is named in words.
    end: &'a End,
    /// What the samples prove, a cell each, in the order of the plan. Shorter than the plan when cells were not reached.
    cells: Vec<CellOut<'a>>,
    /// Where more concurrency stops to help, for each offset and each group of cells that differ in nothing else.
    knees: &'a [Knee],
    /// What could make it worthless.
    warnings: &'a [Warning],
    /// Every run that was finished, in the order in which they were made.
    samples: Vec<SampleOut<'a>>,
}

/// What was asked for.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Plan")]
struct PlanOut<'a> {
    /// The workloads.
    cells: Vec<WorkloadOut>,
    /// What the workloads are called where they have names, as the sections of a job file have: one for each, or none at all.
    names: &'a [String],
    /// Offsets; the first is the baseline.
    offsets: &'a [Offset],
    /// The recording whose requests are made, where that is so.
    #[serde(skip_serializing_if = "Option::is_none")]
    replay: Option<&'a Replayed>,
    /// How long one run is measured.
    measured_seconds: f64,
    /// How long it runs before that.
    warm_up_seconds: f64,
    /// Blocks of each cell that are made in any case.
    least_blocks: u32,
    /// Most blocks of each cell.
    most_blocks: u32,
    /// Half the width of the 95% interval of a ratio at which it is narrow enough: 0.01 is 1%.
    precision: f64,
    /// Time after which no block is begun.
    budget_seconds: Option<f64>,
    /// Seeds the order of runs and the addresses of requests.
    seed: u64,
}

/// What is asked of the storage, all but the offset.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Workload")]
pub(crate) struct WorkloadOut {
    /// Share of requests that read, in percent; the others write.
    reads_percent: u8,
    /// Access pattern.
    pattern: Pattern,
    /// Request sizes, and how often each comes relative to the others.
    sizes: Vec<SizeOut>,
    /// Threads that issue requests.
    threads: u32,
    /// Requests that each thread keeps under way.
    outstanding: u32,
    /// Pause of a thread between the end of a request and the start of the next.
    think_seconds: f64,
    /// Requests each second, all threads together, of an open loop; `null` in a closed one.
    offered_per_second: Option<f64>,
}

/// A request size.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Size")]
struct SizeOut {
    /// The size.
    bytes: Unit,
    /// How often it comes, relative to the others.
    weight: u32,
}

/// What an experiment is done on, and how.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Setting")]
struct SettingOut<'a> {
    /// The target as the user named it.
    target: &'a str,
    /// What kind of thing it is, and whether its page cache is in the way.
    medium: Medium,
    /// Bytes that requests of one offset are spread over.
    span_bytes: Bytes,
    /// When it began: RFC 3339, UTC.
    began: String,
    /// The same in seconds since 1970-01-01 00:00 UTC.
    began_unix_seconds: f64,
    /// The engine, and why it was taken.
    engine: &'a EngineChoice,
    /// How requests were made.
    requests: RequestsOut,
    /// The machine.
    machine: &'a Machine,
    /// Where each offset of the plan lies, in the plan's order.
    places: &'a [Placed],
    /// The stack below, as `check` sees it; `null` where nothing is known of it.
    stack: Option<&'a Stack>,
}

/// How requests were made.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Requests")]
struct RequestsOut {
    /// What writes promise when they end.
    durability: DurabilityOut,
    /// Writes are never torn (`RWF_ATOMIC`).
    atomic: bool,
    /// Completions are polled for.
    polled: bool,
    /// Every block written is stamped, every block read is compared with what was last written there.
    verified: bool,
}

/// What a write promises when it ends.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Durability")]
enum DurabilityOut {
    /// That the device has it, perhaps in a volatile cache.
    Cached,
    /// That it is on stable storage (`O_DSYNC`, on Windows `FILE_FLAG_WRITE_THROUGH`).
    WriteThrough,
    /// The same for each write by itself (`RWF_DSYNC`, on Linux only).
    ForcedUnitAccess,
}

/// What the samples of one cell prove.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Cell")]
struct CellOut<'a> {
    /// One for each offset of the plan, the baseline first.
    offsets: Vec<OffsetOut<'a>>,
    /// One for each offset but the baseline. Ratios are of requests each second.
    gains: &'a [Gain],
    /// What happened to the baseline meanwhile; shares, not percent.
    drift: Option<Drift>,
    /// Largest ratio between offsets that stand alike on every known grid, less 1.
    noise_floor: Option<f64>,
    /// Complete blocks.
    blocks: u32,
}

/// What one offset delivered in one cell, all its runs together.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "OffsetResult")]
struct OffsetOut<'a> {
    /// Runs.
    runs: u32,
    /// Reads each second: the mean of the runs.
    reads_per_second: f64,
    /// Writes each second.
    writes_per_second: f64,
    /// Bytes each second, both directions.
    bytes_per_second: f64,
    /// Least requests each second of any run.
    least_per_second: f64,
    /// Most requests each second of any run.
    most_per_second: f64,
    /// Latency of reads.
    read_latency: Option<LatencyOut>,
    /// Latency of writes.
    write_latency: Option<LatencyOut>,
    /// Requests under way on average, by Little's law.
    mean_outstanding: f64,
    /// Device operations for each request, by the kernel's counters.
    device_operations: &'a [DeviceOperations],
}

/// Latencies of many requests.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Latency")]
pub(crate) struct LatencyOut {
    /// Requests.
    requests: u64,
    /// Shortest.
    least_nanoseconds: u64,
    /// Mean.
    mean_nanoseconds: u64,
    /// Half of them are not above.
    p50_nanoseconds: u64,
    /// 90%.
    p90_nanoseconds: u64,
    /// 95%.
    p95_nanoseconds: u64,
    /// 99%.
    p99_nanoseconds: u64,
    /// 99.9%.
    p999_nanoseconds: u64,
    /// Longest.
    most_nanoseconds: u64,
}

/// One run of one cell at one offset: raw, before any judgement.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Sample")]
struct SampleOut<'a> {
    /// Index of the cell in the plan.
    cell: u32,
    /// Which block of that cell, counted from 0.
    block: u32,
    /// Which run of that block, counted from 0.
    position: u32,
    /// Index of the offset in the plan.
    offset: u32,
    /// When the measured part began, since the experiment began.
    began_seconds: f64,
    /// How long the measured part took.
    took_seconds: f64,
    /// Requests each second, both directions.
    requests_per_second: f64,
    /// Requests that read.
    reads: SideOut,
    /// Requests that wrote.
    writes: SideOut,
    /// Requests that ended in each tenth of a second of the measured part.
    requests_per_tenth: &'a [u32],
    /// Most by which a shared time stamp made a latency longer than it was, as far as that was sampled.
    stamp_error_nanoseconds: u64,
    /// Everything that was asked of the storage, also before and after the measured part.
    issued: IssuedOut,
    /// What the kernel counted on each device below for all that was issued; empty where it does not count.
    devices: Vec<DeviceOut<'a>>,
    /// Processor time of the program meanwhile.
    processor_seconds: f64,
}

/// What was asked of the storage.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Issued")]
struct IssuedOut {
    /// Requests that read.
    reads: u64,
    /// Bytes they asked for.
    bytes_read: u64,
    /// Requests that wrote.
    writes: u64,
    /// Bytes they brought.
    bytes_written: u64,
}

/// Requests of a run in one direction.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Side")]
struct SideOut {
    /// Requests that ended.
    requests: u64,
    /// Bytes they moved.
    bytes: Bytes,
    /// Requests each second.
    requests_per_second: f64,
    /// Their latencies; `null` when there were none.
    latency: Option<LatencyOut>,
    /// The same in full, in nanoseconds: an HdrHistogram in its V2 encoding, base64. `null` when there were none.
    histogram_v2_base64: Option<String>,
}

/// What the kernel counted on one device during a run.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "DeviceCounts")]
struct DeviceOut<'a> {
    /// Its name.
    name: &'a str,
    /// Reads completed.
    reads: u64,
    /// Reads that were merged into another request.
    reads_merged: u64,
    /// Bytes read.
    bytes_read: Bytes,
    /// Writes completed.
    writes: u64,
    /// Writes that were merged into another request.
    writes_merged: u64,
    /// Bytes written.
    bytes_written: Bytes,
    /// Time in which at least one request was under way.
    busy_seconds: f64,
}

impl<'a> Document<'a> {
    /// An experiment as `bench --json` prints it.
    #[must_use]
    pub fn new(experiment: &'a Experiment) -> Document<'a> {
        Document {
            schema: SCHEMA,
            plan: plan(&experiment.plan),
            setting: setting(&experiment.setting),
            end: &experiment.end,
            cells: experiment.cells.iter().map(cell).collect(),
            knees: &experiment.knees,
            warnings: &experiment.warnings,
            samples: experiment.samples.iter().map(sample).collect(),
        }
    }
}

fn plan(plan: &Plan) -> PlanOut<'_> {
    PlanOut {
        cells: plan.cells.iter().map(workload).collect(),
        names: &plan.names,
        replay: plan.replay.as_ref(),
        offsets: &plan.offsets,
        measured_seconds: plan.measured.as_secs_f64(),
        warm_up_seconds: plan.warm_up.as_secs_f64(),
        least_blocks: plan.least_blocks,
        most_blocks: plan.most_blocks,
        precision: plan.precision,
        budget_seconds: plan.budget.map(|budget| budget.as_secs_f64()),
        seed: plan.seed,
    }
}

pub(crate) fn workload(workload: &Workload) -> WorkloadOut {
    let size = |&(bytes, weight): &(Unit, u32)| SizeOut { bytes, weight };
    WorkloadOut {
        reads_percent: workload.reads.get(),
        pattern: workload.pattern,
        sizes: workload.sizes.iter().map(size).collect(),
        threads: workload.workers,
        outstanding: workload.outstanding,
        think_seconds: workload.think.as_secs_f64(),
        offered_per_second: workload.rate,
    }
}

fn setting(setting: &Setting) -> SettingOut<'_> {
    let options = &setting.options;
    SettingOut {
        target: &setting.target,
        medium: setting.medium,
        span_bytes: setting.span,
        began: Utc::new(setting.began).rfc3339(),
        began_unix_seconds: setting.began.as_secs_f64(),
        engine: &setting.engine,
        requests: RequestsOut {
            durability: match options.durability {
                Durability::Cached => DurabilityOut::Cached,
                Durability::WriteThrough => DurabilityOut::WriteThrough,
                Durability::ForcedUnitAccess => DurabilityOut::ForcedUnitAccess,
            },
            atomic: options.atomic,
            polled: options.polled,
            verified: options.verify,
        },
        machine: &setting.machine,
        places: &setting.places,
        stack: setting.stack.as_ref(),
    }
}

fn cell(result: &CellResult) -> CellOut<'_> {
    CellOut {
        offsets: result.offsets.iter().map(offset).collect(),
        gains: &result.gains,
        drift: result.drift,
        noise_floor: result.noise_floor,
        blocks: result.blocks,
    }
}

fn offset(result: &OffsetResult) -> OffsetOut<'_> {
    OffsetOut {
        runs: result.runs,
        reads_per_second: result.reads_per_second,
        writes_per_second: result.writes_per_second,
        bytes_per_second: result.bytes_per_second,
        least_per_second: result.range.0,
        most_per_second: result.range.1,
        read_latency: result.read_latency.map(latency),
        write_latency: result.write_latency.map(latency),
        mean_outstanding: result.mean_outstanding,
        device_operations: &result.device_operations,
    }
}

pub(crate) fn latency(summary: LatencySummary) -> LatencyOut {
    LatencyOut {
        requests: summary.requests,
        least_nanoseconds: nanoseconds(summary.least),
        mean_nanoseconds: nanoseconds(summary.mean),
        p50_nanoseconds: nanoseconds(summary.p50),
        p90_nanoseconds: nanoseconds(summary.p90),
        p95_nanoseconds: nanoseconds(summary.p95),
        p99_nanoseconds: nanoseconds(summary.p99),
        p999_nanoseconds: nanoseconds(summary.p999),
        most_nanoseconds: nanoseconds(summary.most),
    }
}

fn sample(sample: &Sample) -> SampleOut<'_> {
    SampleOut {
        cell: sample.slot.cell,
        block: sample.slot.block,
        position: sample.slot.position,
        offset: sample.slot.offset,
        began_seconds: sample.began.as_secs_f64(),
        took_seconds: sample.took.as_secs_f64(),
        requests_per_second: sample.rate(),
        reads: side(&sample.reads, sample.took),
        writes: side(&sample.writes, sample.took),
        requests_per_tenth: &sample.ticks,
        stamp_error_nanoseconds: nanoseconds(sample.stamp_error),
        issued: IssuedOut {
            reads: sample.issued.reads,
            bytes_read: sample.issued.bytes_read.get(),
            writes: sample.issued.writes,
            bytes_written: sample.issued.bytes_written.get(),
        },
        devices: sample.devices.iter().map(device).collect(),
        processor_seconds: sample.processor.as_secs_f64(),
    }
}

fn side(side: &Side, took: Duration) -> SideOut {
    let latencies = &side.latencies;
    let some = latencies.count() > 0;
    SideOut {
        requests: side.requests,
        bytes: side.bytes,
        requests_per_second: side.rate(took),
        latency: some.then(|| latency(summary(latencies))),
        histogram_v2_base64: some.then(|| STANDARD.encode(latencies.encode())),
    }
}

/// The percentiles of a histogram.
pub(super) fn summary(latencies: &Latencies) -> LatencySummary {
    LatencySummary {
        requests: latencies.count(),
        least: latencies.least(),
        mean: latencies.mean(),
        p50: latencies.percentile(50.0),
        p90: latencies.percentile(90.0),
        p95: latencies.percentile(95.0),
        p99: latencies.percentile(99.0),
        p999: latencies.percentile(99.9),
        most: latencies.most(),
    }
}

fn device(counts: &DeviceCounts) -> DeviceOut<'_> {
    DeviceOut {
        name: &counts.name,
        reads: counts.reads,
        reads_merged: counts.reads_merged,
        bytes_read: counts.bytes_read,
        writes: counts.writes,
        writes_merged: counts.writes_merged,
        bytes_written: counts.bytes_written,
        busy_seconds: counts.busy.as_secs_f64(),
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
