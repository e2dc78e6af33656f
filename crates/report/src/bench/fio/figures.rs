//! Figures of runs as fio reckons them.

use std::time::Duration;

use straddle_bench::sample::{Sample, Side};
use straddle_workload::Workload;
use straddle_workload::histogram::Latencies;

use super::{Direction, Disk, Latency, Pairs, Shares};

/// Longest latency that fio's histogram tells from longer ones, in nanoseconds; `fio_jsonplus_clat2csv` never ends on a bin
/// above it.
const MAX_LEN: u64 = 17_112_760_320;

/// The percentiles that fio writes unless told otherwise.
const PERCENTILES: [f64; 17] = [
    1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95,
    99.99,
];

/// What all runs come to in one direction.
pub(super) fn side(samples: &[&Sample], took: Duration, of: fn(&Sample) -> &Side) -> Direction {
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
            end if end < MAX_LEN => bins.push((end.to_string(), count)),
            _ => beyond += count,
        }
    }
    if beyond > 0 {
        bins.push((MAX_LEN.to_string(), beyond));
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
pub(super) struct Spread {
    pub(super) nanoseconds: Shares,
    pub(super) microseconds: Shares,
    pub(super) milliseconds: Shares,
}

impl Spread {
    pub(super) fn of(latencies: &Latencies) -> Spread {
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
pub(super) fn depth(names: &[&str], workload: &Workload) -> Shares {
    let at = workload.outstanding.max(1).ilog2() as usize;
    let at = at.min(names.len() - 1);
    let share = |(index, name): (usize, &&str)| {
        let share = if index == at { 100.0 } else { 0.0 };
        ((*name).to_owned(), share)
    };
    Pairs(names.iter().enumerate().map(share).collect())
}

/// What is not counted.
pub(super) fn nothing(names: &[&str]) -> Shares {
    Pairs(names.iter().map(|name| ((*name).to_owned(), 0.0)).collect())
}

/// What all runs together did to each device.
pub(super) fn disks(samples: &[Sample]) -> Vec<Disk> {
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
pub(super) fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 {
        part / whole * 100.0
    } else {
        0.0
    }
}

pub(super) fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float becomes the nearest integer there is"
)]
pub(super) fn rounded(number: f64) -> u64 {
    number.round() as u64
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts of requests and bytes stay far below 2⁵³"
)]
pub(super) fn float(number: u64) -> f64 {
    number as f64
}
