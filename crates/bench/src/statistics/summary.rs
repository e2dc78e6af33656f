//! What one offset delivered in one cell.

use std::time::Duration;

use super::blocks::CellBlocks;
use crate::results::{DeviceOperations, OffsetResult};
use crate::sample::Sample;
use straddle_workload::histogram::{Latencies, LatencySummary};

/// All runs of an offset together, those of an unfinished block too.
#[must_use]
pub fn offset(cell: &CellBlocks<&Sample>, offset: usize) -> OffsetResult {
    let of_offset = cell
        .runs()
        .filter(|(slot, _)| slot.offset as usize == offset);
    let runs: Vec<&Sample> = of_offset.map(|(_, sample)| *sample).collect();
    let mean = |of: &dyn Fn(&Sample) -> f64| {
        if runs.is_empty() {
            0.0
        } else {
            runs.iter().map(|run| of(run)).sum::<f64>() / as_float(runs.len() as u64)
        }
    };
    let bytes = |run: &Sample| as_float(run.reads.bytes.get()) + as_float(run.writes.bytes.get());
    let reads = merged(runs.iter().map(|run| &run.reads.latencies));
    let writes = merged(runs.iter().map(|run| &run.writes.latencies));
    let took: f64 = runs.iter().map(|run| run.took.as_secs_f64()).sum();
    let rates = || runs.iter().map(|run| run.rate());
    OffsetResult {
        runs: u32::try_from(runs.len()).unwrap_or(u32::MAX),
        reads_per_second: mean(&|run| run.reads.rate(run.took)),
        writes_per_second: mean(&|run| run.writes.rate(run.took)),
        bytes_per_second: mean(&|run| share(bytes(run), run.took.as_secs_f64())),
        range: if runs.is_empty() {
            (0.0, 0.0)
        } else {
            (
                rates().fold(f64::MAX, f64::min),
                rates().fold(0.0, f64::max),
            )
        },
        mean_outstanding: share(waited(reads.as_ref()) + waited(writes.as_ref()), took),
        read_latency: reads.as_ref().map(Latencies::summary),
        write_latency: writes.as_ref().map(Latencies::summary),
        device_operations: device_operations(&runs),
    }
}

/// All of them in one histogram; `None` when there are none. A copy is half a megabyte, so empty ones are passed over.
fn merged<'a>(all: impl Iterator<Item = &'a Latencies>) -> Option<Latencies> {
    let mut filled = all.filter(|latencies| latencies.count() > 0);
    let mut sum = filled.next()?.clone();
    for latencies in filled {
        sum.merge(latencies);
    }
    Some(sum)
}

/// Seconds that all requests waited, one after the other: rate times mean latency is this over the time it took (J. D.
/// C. Little, *A proof for the queuing formula L = λW*, Operations Research 9, 1961).
fn waited(latencies: Option<&Latencies>) -> f64 {
    latencies.map_or(0.0, |l| as_float(l.count()) * l.mean().as_secs_f64())
}

/// Device operations for each request, devices in the order in which they first appear; those that did nothing are left
/// out.
fn device_operations(runs: &[&Sample]) -> Vec<DeviceOperations> {
    let requests = runs.iter().map(|run| run.issued.reads + run.issued.writes);
    let requests = as_float(requests.sum());
    let mut sums: Vec<(&str, u64, u64)> = Vec::new();
    for device in runs.iter().flat_map(|run| &run.devices) {
        let known = sums.iter_mut().find(|(name, ..)| *name == device.name);
        match known {
            Some((_, reads, writes)) => {
                *reads = reads.saturating_add(device.reads);
                *writes = writes.saturating_add(device.writes);
            }
            None => sums.push((&device.name, device.reads, device.writes)),
        }
    }
    sums.retain(|(_, reads, writes)| requests > 0.0 && (*reads > 0 || *writes > 0));
    sums.into_iter()
        .map(|(device, reads, writes)| DeviceOperations {
            device: device.to_owned(),
            reads: as_float(reads) / requests,
            writes: as_float(writes) / requests,
        })
        .collect()
}

/// Mean latency of reads and writes together; `None` without any.
#[must_use]
pub fn mean_latency(offset: &OffsetResult) -> Option<Duration> {
    let sides = [&offset.read_latency, &offset.write_latency];
    let sides: Vec<&LatencySummary> = sides.into_iter().flatten().collect();
    let requests: f64 = sides.iter().map(|side| as_float(side.requests)).sum();
    let waited: f64 = sides
        .iter()
        .map(|side| as_float(side.requests) * side.mean.as_secs_f64())
        .sum();
    (requests > 0.0).then(|| Duration::from_secs_f64(waited / requests))
}

fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "beyond 2⁵³ the last digits do not matter"
)]
fn as_float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::super::collect;
    use super::super::fixture::{plan, sample};
    use super::*;
    use crate::plan::Slot;
    use crate::sample::DeviceCounts;
    use crate::sample::Issued;
    use proptest::prelude::*;
    use straddle_geometry::Bytes;

    fn device(name: &str, reads: u64, writes: u64) -> DeviceCounts {
        DeviceCounts {
            name: name.to_owned(),
            reads,
            writes,
            ..DeviceCounts::default()
        }
    }

    /// A run of the baseline with these latencies in nanoseconds.
    fn run(block: u32, seconds: u64, reads: &[u64], writes: &[u64]) -> Sample {
        let slot = Slot {
            cell: 0,
            block,
            position: 0,
            offset: 0,
        };
        let mut sample = sample(slot, Duration::from_secs(u64::from(block)), 0.0);
        sample.took = Duration::from_secs(seconds);
        for (side, latencies) in [(&mut sample.reads, reads), (&mut sample.writes, writes)] {
            side.requests = latencies.len() as u64;
            side.bytes = Bytes::new(latencies.len() as u64 * 8192);
            latencies.iter().for_each(|l| side.latencies.record(*l));
        }
        sample.issued = Issued::of(&sample.reads, &sample.writes);
        sample
    }

    fn summary(samples: &[Sample]) -> OffsetResult {
        let collected = collect(&plan(1, 1), samples.iter().map(|s| (s.slot, s)));
        offset(&collected.cells()[0], 0)
    }

    #[test]
    fn device_operations_are_those_of_each_request() {
        let mut first = run(0, 1, &[100; 60], &[100; 20]);
        first.devices = vec![device("sda", 60, 21), device("idle", 0, 0)];
        let mut second = run(1, 1, &[100; 20], &[]);
        second.devices = vec![device("sdb", 0, 50), device("sda", 65, 0)];
        let found = summary(&[first, second]).device_operations;
        let expected = |device: &str, reads, writes| DeviceOperations {
            device: device.to_owned(),
            reads,
            writes,
        };
        assert_eq!(
            found,
            [expected("sda", 1.25, 0.21), expected("sdb", 0.0, 0.5)]
        );
    }

    #[test]
    fn runs_without_requests_have_no_latency() {
        let mut silent = run(0, 1, &[], &[]);
        silent.devices = vec![device("sda", 5, 0)];
        let found = summary(&[silent]);
        assert_eq!((found.runs, found.range), (1, (0.0, 0.0)));
        assert_eq!((found.read_latency, found.write_latency), (None, None));
        assert_eq!(found.mean_outstanding, 0.0);
        assert!(found.device_operations.is_empty());
        assert_eq!(mean_latency(&found), None);
    }

    proptest! {
        // A histogram is half a megabyte: fewer cases than usual.
        #![proptest_config(ProptestConfig::with_cases(48))]

        /// Against sorted lists: percentiles over all runs together, and Little's law from the sum of all waiting.
        #[test]
        fn it_is_what_sorted_lists_say(
            runs in proptest::collection::vec(
                (proptest::collection::vec(1..2_000_000_u64, 0..60), proptest::collection::vec(1..2000_u64, 1..60)),
                1..4,
            ),
        ) {
            let samples: Vec<Sample> = (0..)
                .zip(&runs)
                .map(|(block, (reads, writes))| run(block, 2, reads, writes))
                .collect();
            let found = summary(&samples);
            let mut writes: Vec<u64> = runs.iter().flat_map(|(_, writes)| writes).copied().collect();
            writes.sort_unstable();
            let latency = found.write_latency.expect("writes in every run");
            prop_assert_eq!(latency.requests, writes.len() as u64);
            // Below 2,048 ns the histogram has a bucket for every nanosecond.
            for (percent, value) in [(50, latency.p50), (90, latency.p90), (95, latency.p95), (99, latency.p99)] {
                let rank = (writes.len() * percent).div_ceil(100);
                prop_assert_eq!(value.as_nanos(), u128::from(writes[rank - 1]));
            }
            prop_assert_eq!(latency.least.as_nanos(), u128::from(writes[0]));
            prop_assert_eq!(latency.most.as_nanos(), u128::from(writes[writes.len() - 1]));
            let n = runs.len() as f64;
            let rate = writes.len() as f64 / 2.0 / n;
            prop_assert!((found.writes_per_second - rate).abs() < 1e-9);
            let reads: Vec<u64> = runs.iter().flat_map(|(reads, _)| reads).copied().collect();
            let bytes = (reads.len() + writes.len()) as f64 * 8192.0 / 2.0 / n;
            prop_assert!((found.bytes_per_second - bytes).abs() < 1e-6);
            let waited: u64 = reads.iter().chain(&writes).sum();
            let outstanding = waited as f64 / 1e9 / (2.0 * n);
            prop_assert!((found.mean_outstanding / outstanding - 1.0).abs() < 3e-3);
            let mean = waited as f64 / (reads.len() + writes.len()) as f64;
            let found = mean_latency(&found).expect("requests").as_secs_f64() * 1e9;
            prop_assert!((found / mean - 1.0).abs() < 3e-3 || (found - mean).abs() <= 1.0);
        }
    }
}
