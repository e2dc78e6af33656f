//! What can be known of a machine while runs are made, and of their samples afterwards.

use std::path::Path;
use straddle_io::engine::Kind;

use super::kernel::Kernel;
use super::{Warning, cache, other_io, processor};
use crate::place::Devices;
use crate::plan::Plan;
use crate::sample::Sample;

/// Looks at the machine from its making until [`Observer::finish`].
#[derive(Debug)]
pub struct Observer {
    kernel: Kernel,
    devices: Devices,
    engine: Option<Kind>,
    began: processor::Snapshot,
    /// The highest clock of any processor at each look, in kHz.
    clocks: Vec<u64>,
}

impl Observer {
    /// Takes the first look. `root` is `/`, or the root of another machine's files.
    #[must_use]
    pub fn new(devices: &Devices, root: &Path) -> Observer {
        let kernel = Kernel::at(root);
        Observer {
            began: processor::Snapshot::read(&kernel),
            devices: devices.clone(),
            engine: None,
            clocks: Vec::new(),
            kernel,
        }
    }

    /// The engine that runs use: how many threads a worker has depends on it. Without this a worker counts as one.
    #[must_use]
    pub fn with_engine(mut self, engine: Kind) -> Observer {
        self.engine = Some(engine);
        self
    }

    /// Notes how fast the processors are clocked. Call it while a run goes on, about once a second: between runs they rest,
    /// and rest slowly.
    pub fn look(&mut self) {
        self.clocks.extend(processor::highest_clock(&self.kernel));
    }

    /// What was seen, and what the samples say that were made meanwhile.
    #[must_use]
    pub fn finish(self, samples: &[Sample], plan: &Plan) -> Vec<Warning> {
        let ended = processor::Snapshot::read(&self.kernel);
        let processors = ended.processors();
        let mut warnings = Vec::new();
        warnings.extend(processor::throttled(&self.began, &ended, &self.clocks));
        warnings.extend(processor::busy(samples, plan, processors, self.engine));
        warnings.extend(other_io::seen(&self.kernel, &self.devices, samples, plan));
        warnings.extend(cache::larger(&self.kernel, &self.devices, samples, plan));
        warnings
    }
}

#[cfg(test)]
pub(super) mod testing {
    use std::time::Duration;
    use straddle_geometry::{Bytes, Unit};

    use crate::plan::{Plan, Slot};
    use crate::sample::{DeviceCounts, Sample, Side};
    use straddle_workload::{Pattern, Percent, Workload};

    /// A cell of random reads of 64 KiB by one worker for each number of outstanding requests.
    pub(in crate::validity) fn plan(outstanding: &[u32]) -> Plan {
        let cell = |outstanding: &u32| Workload {
            reads: Percent::ALL,
            pattern: Pattern::Random,
            sizes: vec![(Unit::new(65_536).expect("not zero"), 1)],
            workers: 1,
            outstanding: *outstanding,
            think: Duration::ZERO,
            rate: None,
        };
        Plan {
            cells: outstanding.iter().map(cell).collect(),
            names: Vec::new(),
            replay: None,
            offsets: Vec::new(),
            measured: Duration::from_secs(10),
            warm_up: Duration::ZERO,
            least_blocks: 3,
            most_blocks: 10,
            precision: 0.01,
            budget: None,
            seed: 1,
        }
    }

    /// A run of ten seconds that read `requests` times 64 KiB in `latency` each, all of them on sda.
    pub(in crate::validity) fn sample(cell: u32, requests: u64, latency: Duration) -> Sample {
        let mut reads = Side {
            requests,
            bytes: Bytes::new(requests * 65_536),
            ..Side::default()
        };
        for _ in 0..requests {
            let nanoseconds = u64::try_from(latency.as_nanos()).expect("short");
            reads.latencies.record(nanoseconds);
        }
        Sample {
            slot: Slot {
                cell,
                block: 0,
                position: 0,
                offset: 0,
            },
            began: Duration::ZERO,
            took: Duration::from_secs(10),
            devices: vec![DeviceCounts {
                name: "sda".into(),
                reads: requests,
                bytes_read: reads.bytes,
                ..DeviceCounts::default()
            }],
            issued: crate::sample::Issued::of(&reads, &Side::default()),
            reads,
            writes: Side::default(),
            ticks: Vec::new(),
            stamp_error: Duration::ZERO,
            processor: Duration::from_millis(100),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::WarningKind;
    use super::super::kernel::testing::put;
    use super::testing::{plan, sample};
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_quiet_machine_and_good_samples_are_not_warned_of_and_others_are() {
        let root = tempfile::tempdir().expect("temporary directory");
        let stat = |steal: u64| {
            let text = format!(
                "cpu  1000 0 500 8000 0 0 0 {steal} 0 0\ncpu0 500 0 250 4000 0 0 0 0 0 0\ncpu1 1 1 1 1\nintr 5\n"
            );
            put(root.path(), "/proc/stat", &text);
        };
        let clock = |khz: &str| {
            put(
                root.path(),
                "/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq",
                khz,
            );
        };
        put(root.path(), "/sys/block/sda/queue/rotational", "1\n");
        let devices = Devices {
            all: vec!["sda".into()],
            path: vec!["sda".into()],
            disks: vec!["sda".into()],
            cached: Vec::new(),
        };
        let plan = plan(&[1, 32]);
        let good = [sample(0, 1200, Duration::from_millis(8))];
        let kinds = |samples: &[Sample], steal, khz: [&str; 4]| -> Vec<WarningKind> {
            stat(0);
            let mut observer = Observer::new(&devices, root.path()).with_engine(Kind::Pread);
            for khz in khz {
                clock(khz);
                observer.look();
            }
            stat(steal);
            let warnings = observer.finish(samples, &plan);
            assert!(
                warnings
                    .iter()
                    .all(|w| !w.cause.is_empty() && !w.advice.is_empty())
            );
            warnings.iter().map(|w| w.kind).collect()
        };
        assert_eq!(kinds(&good, 0, ["3000000"; 4]), []);
        let mut bad = sample(0, 30_000, Duration::from_micros(300));
        bad.processor = Duration::from_secs(10);
        bad.devices[0].reads *= 2;
        assert_eq!(
            kinds(&[bad], 500, ["3000000", "3000000", "1200000", "1200000"]),
            [
                WarningKind::ThrottledProcessor,
                WarningKind::BusyProcessor,
                WarningKind::OtherIo,
                WarningKind::CacheLargerThanFile
            ]
        );
    }
}
