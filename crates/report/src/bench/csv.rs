//! Experiments for spreadsheets: a line for each cell and offset ([`results`]), or one for each run ([`samples`]).

use std::io::Write;
use std::time::Duration;

use straddle_bench::results::{Experiment, Gain};
use straddle_bench::sample::{DeviceCounts, Sample, Side};
use straddle_geometry::Bytes;
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

/// The columns of a line for each cell and offset behind those. New ones are only ever added at the end.
const RESULTS: [&str; 34] = [
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
    "device_operations",
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
];

/// The columns of a line for each run behind the requests and the offset. New ones are only ever added at the end.
const SAMPLES: [&str; 26] = [
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
    "devices",
    "requests_per_tenth",
];

/// Writes a header, then a line for each cell and offset that had a run.
///
/// Operations for each request of several devices share a column: `sda 0.281 0.000; sdb 0.282 0.000`, reads and writes.
///
/// # Errors
/// Those of `out`.
pub fn results(experiment: &Experiment, out: impl Write) -> csv::Result<()> {
    let mut writer = Cells::new(out);
    writer.record(REQUESTS.iter().chain(&RESULTS))?;
    for (index, workload) in experiment.plan.cells.iter().enumerate() {
        for offset in 0..experiment.plan.offsets.len() {
            let mut record = requests(experiment, index, workload, offset);
            if result(experiment, index, offset, &mut record).is_some() {
                writer.record(&record)?;
            }
        }
    }
    writer.end()
}

/// Writes a header, then a line for each run, in the order in which they were made.
///
/// Devices share a column: `sda 1200 0 9830400 0 0.981` is its name, reads and writes completed, bytes read and written,
/// and busy seconds. So do the requests of each tenth of a second, with blanks between them.
///
/// # Errors
/// Those of `out`.
pub fn samples(experiment: &Experiment, out: impl Write) -> csv::Result<()> {
    let mut writer = Cells::new(out);
    writer.record(REQUESTS.iter().chain(&SAMPLES))?;
    for sample in &experiment.samples {
        let index = sample.slot.cell as usize;
        let Some(workload) = experiment.plan.cells.get(index) else {
            continue;
        };
        let offset = sample.slot.offset as usize;
        let mut record = requests(experiment, index, workload, offset);
        run(sample, &mut record);
        writer.record(&record)?;
    }
    writer.end()
}

fn requests(
    experiment: &Experiment,
    index: usize,
    workload: &Workload,
    offset: usize,
) -> Vec<String> {
    // Several sizes with their weights as fio writes them: `8192/3:65536/1`.
    let sizes = match workload.sizes.as_slice() {
        [(size, _)] => size.get().to_string(),
        many => {
            let each = many.iter().map(|(s, n)| format!("{}/{n}", s.get()));
            each.collect::<Vec<_>>().join(":")
        }
    };
    let offset = experiment.plan.offsets.get(offset);
    vec![
        experiment.setting.target.clone(),
        index.to_string(),
        pattern(workload.pattern),
        workload.reads.get().to_string(),
        sizes,
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
    let devices = delivered.device_operations.iter();
    let devices = devices.map(|d| format!("{} {:.4} {:.4}", d.device, d.reads, d.writes));
    record.push(devices.collect::<Vec<_>>().join("; "));
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
    let devices: Vec<String> = sample.devices.iter().map(device).collect();
    record.push(devices.join("; "));
    let ticks: Vec<String> = sample.ticks.iter().map(u32::to_string).collect();
    record.push(ticks.join(" "));
}

fn side(side: &Side, record: &mut Vec<String>) {
    record.push(side.requests.to_string());
    record.push(side.bytes.get().to_string());
    let some = side.latencies.count() > 0;
    latency(some.then(|| summary(&side.latencies)), record);
}

fn device(counts: &DeviceCounts) -> String {
    let bytes = |bytes: Bytes| bytes.get();
    format!(
        "{} {} {} {} {} {:.3}",
        counts.name,
        counts.reads,
        counts.writes,
        bytes(counts.bytes_read),
        bytes(counts.bytes_written),
        counts.busy.as_secs_f64()
    )
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
