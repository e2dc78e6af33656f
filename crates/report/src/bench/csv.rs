//! Experiments for spreadsheets: a line for each cell and offset ([`results`]), or one for each run ([`samples`]).

use std::io::Write;
use std::time::Duration;

use straddle_bench::results::{Experiment, Gain};
use straddle_bench::sample::{Sample, Side};
use straddle_workload::Workload;
use straddle_workload::histogram::LatencySummary;
use straddle_workload::interval::Verdict;

use super::document::summary;
use super::wording::{cell, class, delivered, pattern};
use crate::cells::Cells;

/// What every line begins with: the requests and the offset.
const REQUESTS: [&str; 11] = [
    "target",
    "cell",
    "pattern",
    "reads_percent",
    "request_bytes",
    "threads",
    "outstanding",
    "think_us",
    "offered_per_second",
    "offset",
    "offset_bytes",
];

/// The columns of a line for each cell and offset behind those. Behind them come two for each device ([`OF_DEVICE`]).
const RESULTS: [&str; 37] = [
    "class",
    "runs",
    "reads_per_second",
    "writes_per_second",
    "bytes_per_second",
    "least_per_second",
    "most_per_second",
    "mean_outstanding",
    "read_mean_ms",
    "read_p50_ms",
    "read_p90_ms",
    "read_p95_ms",
    "read_p99_ms",
    "read_p99.9_ms",
    "read_max_ms",
    "write_mean_ms",
    "write_p50_ms",
    "write_p90_ms",
    "write_p95_ms",
    "write_p99_ms",
    "write_p99.9_ms",
    "write_max_ms",
    "gain_percent",
    "gain_low_percent",
    "gain_high_percent",
    "p",
    "p_adjusted",
    "verdict",
    "no_difference_above_percent",
    "blocks",
    "noise_percent",
    "drift_percent",
    "noise_floor_percent",
    "name",
    "least_request_bytes",
    "largest_request_bytes",
    "request_sizes",
];

/// What a device did for each request: `reads_per_request:sda`.
const OF_DEVICE: [&str; 2] = ["reads_per_request", "writes_per_request"];

/// The columns of a line for each run behind the requests and the offset. Behind them come five for each device ([`COUNTED`]).
const SAMPLES: [&str; 27] = [
    "block",
    "position",
    "began_s",
    "took_s",
    "requests_per_second",
    "reads",
    "read_bytes",
    "read_mean_ms",
    "read_p50_ms",
    "read_p90_ms",
    "read_p95_ms",
    "read_p99_ms",
    "read_p99.9_ms",
    "read_max_ms",
    "writes",
    "write_bytes",
    "write_mean_ms",
    "write_p50_ms",
    "write_p90_ms",
    "write_p95_ms",
    "write_p99_ms",
    "write_p99.9_ms",
    "write_max_ms",
    "processor_s",
    "least_per_tenth",
    "most_per_tenth",
    "name",
];

/// What a device counted during a run: `busy_s:sda`.
const COUNTED: [&str; 5] = ["reads", "writes", "read_bytes", "write_bytes", "busy_s"];

/// Writes a header, then a line for each cell and offset that had a run.
///
/// Each column holds one value. Of requests of several lengths `request_bytes` is the mean; each device has columns of its own, with
/// its name behind a colon, which are empty in the lines of cells that did not reach it.
///
/// # Errors
/// Those of `out`.
pub fn results(experiment: &Experiment, out: impl Write) -> csv::Result<()> {
    let mut writer = Cells::new(out);
    let operations = experiment.cells.iter().flat_map(|cell| &cell.offsets);
    let operations = operations.flat_map(|offset| &offset.device_operations);
    let devices = names(operations.map(|of| of.device.as_str()));
    writer.record(heading(&RESULTS, &OF_DEVICE, &devices))?;
    for (index, workload) in experiment.plan.cells.iter().enumerate() {
        for offset in 0..experiment.plan.offsets.len() {
            let mut record = requests(experiment, index, workload, offset);
            if result(experiment, index, offset, &mut record).is_some() {
                result_of_devices(experiment, index, offset, &devices, &mut record);
                writer.record(&record)?;
            }
        }
    }
    writer.end()
}

/// Writes a header, then a line for each run, in the order in which they were made.
///
/// Each column holds one value; devices are as in [`results`]. Of the tenths of a second of a run there are the one with the fewest
/// requests and that with the most; JSON has all of them.
///
/// # Errors
/// Those of `out`.
pub fn samples(experiment: &Experiment, out: impl Write) -> csv::Result<()> {
    let mut writer = Cells::new(out);
    let counted = experiment.samples.iter().flat_map(|sample| &sample.devices);
    let devices = names(counted.map(|device| device.name.as_str()));
    writer.record(heading(&SAMPLES, &COUNTED, &devices))?;
    for sample in &experiment.samples {
        let index = sample.slot.cell as usize;
        let Some(workload) = experiment.plan.cells.get(index) else {
            continue;
        };
        let offset = sample.slot.offset as usize;
        let mut record = requests(experiment, index, workload, offset);
        run(sample, &mut record);
        record.push(experiment.plan.name(index).unwrap_or_default().to_owned());
        run_of_devices(sample, &devices, &mut record);
        writer.record(&record)?;
    }
    writer.end()
}

/// Names in the order in which they first come.
fn names<'a>(all: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut names = Vec::new();
    for name in all {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn heading(columns: &[&str], of_device: &[&str], devices: &[&str]) -> Vec<String> {
    let plain = REQUESTS
        .iter()
        .chain(columns)
        .map(|name| (*name).to_owned());
    let devices = devices
        .iter()
        .flat_map(|device| of_device.iter().map(move |name| format!("{name}:{device}")));
    plain.chain(devices).collect()
}

fn result_of_devices(
    experiment: &Experiment,
    index: usize,
    offset: usize,
    devices: &[&str],
    record: &mut Vec<String>,
) {
    let operations = delivered(experiment, index, offset).map(|of| &of.device_operations);
    for device in devices {
        let found = operations.and_then(|all| all.iter().find(|of| of.device == *device));
        match found {
            Some(of) => record.extend([decimals(of.reads, 4), decimals(of.writes, 4)]),
            None => record.extend([String::new(), String::new()]),
        }
    }
}

fn run_of_devices(sample: &Sample, devices: &[&str], record: &mut Vec<String>) {
    for device in devices {
        let found = sample.devices.iter().find(|of| of.name == *device);
        match found {
            Some(of) => record.extend([
                of.reads.to_string(),
                of.writes.to_string(),
                of.bytes_read.get().to_string(),
                of.bytes_written.get().to_string(),
                decimals(of.busy.as_secs_f64(), 3),
            ]),
            None => record.extend(vec![String::new(); COUNTED.len()]),
        }
    }
}

/// Mean length of the requests of a workload, in bytes.
#[expect(
    clippy::cast_precision_loss,
    reason = "lengths and weights have 32 bits, so that sums stay below 2⁵³ but for absurd mixes"
)]
fn mean_length(workload: &Workload) -> f64 {
    let all: u64 = workload.sizes.iter().map(|(_, n)| u64::from(*n)).sum();
    let sizes = workload.sizes.iter();
    let bytes: f64 = sizes.map(|(s, n)| s.get() as f64 * f64::from(*n)).sum();
    bytes / (all.max(1)) as f64
}

fn requests(
    experiment: &Experiment,
    index: usize,
    workload: &Workload,
    offset: usize,
) -> Vec<String> {
    let offset = experiment.plan.offsets.get(offset);
    vec![
        experiment.setting.target.clone(),
        index.to_string(),
        pattern(workload.pattern),
        workload.reads.get().to_string(),
        decimals(mean_length(workload), 3),
        workload.workers.to_string(),
        workload.outstanding.to_string(),
        decimals(workload.think.as_secs_f64() * 1e6, 3),
        workload
            .rate
            .map_or_else(String::new, |rate| decimals(rate, 3)),
        offset.map_or_else(String::new, |o| o.name.clone()),
        offset.map_or_else(String::new, |o| o.bytes.get().to_string()),
    ]
}

/// Adds what an offset delivered; `None` where it had no run.
fn result(
    experiment: &Experiment,
    index: usize,
    offset: usize,
    record: &mut Vec<String>,
) -> Option<()> {
    let delivered = delivered(experiment, index, offset)?;
    let cell = cell(experiment, index)?;
    let gain = cell.gains.iter().find(|gain| gain.offset == offset);
    let place = experiment.setting.places.get(offset);
    let per_second = |rate: f64| decimals(rate, 3);
    record.extend([
        place.map_or_else(String::new, |place| class(place.class)),
        delivered.runs.to_string(),
        per_second(delivered.reads_per_second),
        per_second(delivered.writes_per_second),
        per_second(delivered.bytes_per_second),
        per_second(delivered.range.0),
        per_second(delivered.range.1),
        decimals(delivered.mean_outstanding, 3),
    ]);
    latency(delivered.read_latency, record);
    latency(delivered.write_latency, record);
    let percent = |share: Option<f64>| share.map_or_else(String::new, |s| decimals(s * 100.0, 4));
    let ratio = gain.and_then(|gain| gain.ratio);
    let chance = |p: Option<f64>| p.map_or_else(String::new, |p| format!("{p:.3e}"));
    record.extend([
        percent(ratio.map(|r| r.mean - 1.0)),
        percent(ratio.map(|r| r.low - 1.0)),
        percent(ratio.map(|r| r.high - 1.0)),
        chance(gain.and_then(|gain| gain.p)),
        chance(gain.and_then(|gain| gain.p_adjusted)),
        gain.map_or("", verdict).to_owned(),
        percent(gain.and_then(bound)),
        cell.blocks.to_string(),
        percent(cell.drift.map(|drift| drift.noise)),
        percent(cell.drift.map(|drift| drift.change)),
        percent(cell.noise_floor),
        experiment.plan.name(index).unwrap_or_default().to_owned(),
    ]);
    let workload = experiment.plan.cells.get(index)?;
    let least = workload.sizes.iter().map(|(size, _)| size.get()).min();
    record.extend([
        least.unwrap_or_default().to_string(),
        workload.largest().get().to_string(),
        workload.sizes.len().to_string(),
    ]);
    Some(())
}

fn verdict(gain: &Gain) -> &'static str {
    match gain.verdict {
        Verdict::Faster => "faster",
        Verdict::Slower => "slower",
        Verdict::NoDifferenceAbove(_) => "no difference",
        Verdict::NotEnoughEvidence => "not enough evidence",
    }
}

fn bound(gain: &Gain) -> Option<f64> {
    match gain.verdict {
        Verdict::NoDifferenceAbove(share) => Some(share),
        _ => None,
    }
}

fn run(sample: &Sample, record: &mut Vec<String>) {
    record.extend([
        sample.slot.block.to_string(),
        sample.slot.position.to_string(),
        decimals(sample.began.as_secs_f64(), 3),
        decimals(sample.took.as_secs_f64(), 6),
        decimals(sample.rate(), 3),
    ]);
    side(&sample.reads, record);
    side(&sample.writes, record);
    record.push(decimals(sample.processor.as_secs_f64(), 6));
    let tenth = |tick: Option<&u32>| tick.map_or_else(String::new, u32::to_string);
    record.extend([
        tenth(sample.ticks.iter().min()),
        tenth(sample.ticks.iter().max()),
    ]);
}

fn side(side: &Side, record: &mut Vec<String>) {
    record.push(side.requests.to_string());
    record.push(side.bytes.get().to_string());
    let some = side.latencies.count() > 0;
    latency(some.then(|| summary(&side.latencies)), record);
}

/// Adds seven columns, empty ones where there were no requests.
pub(crate) fn latency(summary: Option<LatencySummary>, record: &mut Vec<String>) {
    let Some(s) = summary else {
        record.extend(vec![String::new(); 7]);
        return;
    };
    let times = [s.mean, s.p50, s.p90, s.p95, s.p99, s.p999, s.most];
    let ms = |time: Duration| decimals(time.as_secs_f64() * 1e3, 6);
    record.extend(times.map(ms));
}

/// A number with at most `digits` decimals, without zeros at the end.
pub(crate) fn decimals(number: f64, digits: usize) -> String {
    let text = format!("{number:.digits$}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0" } else { text }.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_no_idle_zeros() {
        assert_eq!(decimals(2412.5, 3), "2412.5");
        assert_eq!(decimals(100.0, 3), "100");
        assert_eq!(decimals(-0.000_01, 3), "0");
        assert_eq!(decimals(0.125, 6), "0.125");
    }
}
