//! Experiments that were never made. Rates follow a closed queueing model and a little noise from a fixed sequence, so that
//! tables look as they do in practice and never change.

use std::time::Duration;
use straddle_bench::place::{Placed, SizePrice, Standing};
use straddle_bench::plan::{Plan, Slot};
use straddle_bench::results::{
    CellResult, DeviceOperations, Drift, End, EngineChoice, Experiment, Gain, Knee, Machine,
    Medium, OffsetResult, Setting,
};
use straddle_bench::run::Options;
use straddle_bench::sample::{DeviceCounts, Sample, Side};
use straddle_bench::validity::{Warning, WarningKind};
use straddle_geometry::{Access, Bytes, Grid, Lattice, Unit};
use straddle_io::engine::{Durability, Kind};
use straddle_stack::{Fact, GridRole, Layer, LayerId, LayerKind, Stack};
use straddle_workload::histogram::{Latencies, LatencySummary};
use straddle_workload::interval::{Interval, Verdict};
use straddle_workload::offset::Offset;
use straddle_workload::{Pattern, Percent, Workload};

pub fn unit(bytes: u64) -> Unit {
    Unit::new(bytes).expect("not zero")
}

/// What to make; a field each for what tests change.
pub struct Recipe {
    pub cells: Vec<Workload>,
    pub offsets: Vec<Offset>,
    /// Requests each second of one spindle set that is asked for one at a time, as a share for each offset.
    pub speed: Vec<f64>,
    /// Half the width of intervals.
    pub half: f64,
    pub blocks: u32,
    pub medium: Medium,
    pub stack: bool,
    /// Physical sector of the disks, which call it their minimum I/O size too.
    pub sector: u64,
    pub counted: bool,
    pub warnings: Vec<Warning>,
    pub end: End,
    /// Cells that were reached.
    pub reached: usize,
}

pub fn offsets(names: &[(&str, u64)]) -> Vec<Offset> {
    let offset = |&(name, bytes): &(&str, u64)| Offset {
        name: name.to_owned(),
        bytes: Bytes::new(bytes),
    };
    names.iter().map(offset).collect()
}

/// The offsets of the classical experiment.
pub fn five() -> Vec<Offset> {
    offsets(&[
        ("unaligned", 32_256),
        ("64K", 64 << 10),
        ("128K", 128 << 10),
        ("1M", 1 << 20),
        ("2M", 2 << 20),
    ])
}

pub fn workload(reads: u8, size: u64, workers: u32, outstanding: u32) -> Workload {
    Workload {
        reads: Percent::new(reads).expect("a share"),
        pattern: Pattern::Random,
        sizes: vec![(unit(size), 1)],
        workers,
        outstanding,
        think: Duration::ZERO,
        rate: None,
    }
}

impl Recipe {
    /// Six thread counts, five offsets, 8 KiB random reads on an array with a stripe unit of 64 KiB.
    pub fn classical() -> Recipe {
        let threads = [1, 2, 4, 8, 16, 32];
        Recipe {
            cells: threads.map(|n| workload(100, 8192, n, 32)).to_vec(),
            offsets: five(),
            speed: vec![1.0, 1.021, 1.024, 1.025, 1.0245],
            half: 0.004,
            blocks: 4,
            medium: Medium::FileDirect,
            stack: true,
            sector: 512,
            counted: true,
            warnings: Vec::new(),
            end: End::Precise,
            reached: threads.len(),
        }
    }

    /// One cell, two offsets.
    pub fn one_cell() -> Recipe {
        Recipe {
            cells: vec![workload(100, 65_536, 1, 8)],
            offsets: offsets(&[("unaligned", 32_256), ("1M", 1 << 20)]),
            speed: vec![1.0, 1.31],
            reached: 1,
            ..Recipe::classical()
        }
    }

    pub fn make(self) -> Experiment {
        let setting = self.setting();
        let samples = self.samples();
        let cells = self.results(&samples);
        let knees = self.knees();
        Experiment {
            plan: Plan {
                cells: self.cells,
                names: Vec::new(),
                replay: None,
                offsets: self.offsets,
                measured: Duration::from_secs(10),
                warm_up: Duration::from_secs(2),
                least_blocks: 4,
                most_blocks: 20,
                precision: 0.01,
                budget: Some(Duration::from_secs(2 * 3600)),
                seed: 42,
            },
            setting,
            samples,
            end: self.end,
            cells,
            knees,
            warnings: self.warnings,
        }
    }

    fn setting(&self) -> Setting {
        Setting {
            target: "/data/straddle.test".to_owned(),
            medium: self.medium,
            span: Bytes::new(32 << 30),
            engine: EngineChoice {
                name: "pread".to_owned(),
                reason: "the fastest in a trial, reads/s: pread 4,120, io_uring 3,960".to_owned(),
                trial: vec![
                    ("pread".to_owned(), 4_120.4),
                    ("io_uring".to_owned(), 3_960.0),
                ],
            },
            options: Options {
                engine: Kind::Pread,
                durability: Durability::Cached,
                atomic: false,
                polled: false,
                verify: false,
            },
            began: Duration::from_secs(1_795_331_527),
            places: self.places(),
            stack: self.stack.then(stack),
            machine: Machine {
                host: "db7".to_owned(),
                system: "Linux 6.18.2".to_owned(),
                processors: "8 × Example CPU 3.0 GHz".to_owned(),
                memory: Some(Bytes::new(16 << 30)),
                version: "0.1.0".to_owned(),
            },
        }
    }

    fn places(&self) -> Vec<Placed> {
        let sizes = self.cells.iter().flat_map(|cell| &cell.sizes);
        let mut sizes: Vec<Unit> = sizes.map(|(size, _)| *size).collect();
        sizes.sort();
        sizes.dedup();
        let base = 512 << 20;
        let place = |offset: &Offset| {
            let standing = |role: GridRole, layer: usize, name: &str, grid: u64| {
                let grid = Grid::new(unit(grid));
                let price = |size: Unit, access: Access| {
                    let lattice = Lattice::back_to_back(offset.bytes, size);
                    role.family().price(lattice, grid, access)
                };
                Standing {
                    role,
                    layer: layer_id(layer),
                    layer_name: name.to_owned(),
                    unit: grid.unit(),
                    phase: Some(grid.remainder(offset.bytes)),
                    prices: sizes
                        .iter()
                        .map(|size| SizePrice {
                            stride: None,
                            size: *size,
                            read: price(*size, Access::Read),
                            write: price(*size, Access::Write),
                        })
                        .collect(),
                }
            };
            let standings = if self.stack {
                vec![
                    standing(GridRole::StripeUnit, 4, "md0", 65_536),
                    standing(GridRole::PhysicalSector, 0, "sda", self.sector),
                    standing(GridRole::MinimumIo, 0, "sda", self.sector),
                ]
            } else {
                Vec::new()
            };
            Placed {
                offset: offset.clone(),
                device: self
                    .stack
                    .then(|| ("md0".to_owned(), Bytes::new(base + offset.bytes.get()))),
                standings,
                class: usize::from(offset.bytes.is_multiple_of(unit(65_536))),
            }
        };
        self.offsets.iter().map(place).collect()
    }

    /// Requests each second and their mean latency: eight spindles of 5.5 ms each, so many requests at once.
    fn truth(&self, cell: usize, offset: usize) -> (f64, f64) {
        #[expect(clippy::cast_precision_loss, reason = "small")]
        let under_way = self.cells[cell].concurrency() as f64;
        let spindles = 8.0;
        let busy = spindles * under_way / (under_way + spindles - 1.0);
        let rate = busy / 0.005_5 * self.speed[offset] * (1.0 + under_way.ln() / 20.0);
        (rate, under_way / rate)
    }

    fn samples(&self) -> Vec<Sample> {
        let mut out: Vec<Sample> = Vec::new();
        let mut noise = Noise(0x5eed);
        let mut now = 0.0;
        for block in 0..self.blocks {
            for cell in 0..self.reached.min(self.cells.len()) {
                // A x A y A: the baseline between all others.
                let others = 1..self.offsets.len();
                let order = others.flat_map(|offset| [0, offset]).chain([0]);
                for (position, offset) in order.enumerate() {
                    now += 2.0;
                    let slot = Slot {
                        cell: u32::try_from(cell).expect("small"),
                        block,
                        position: u32::try_from(position).expect("small"),
                        offset: u32::try_from(offset).expect("small"),
                    };
                    out.push(self.sample(slot, now, &mut noise));
                    now += 10.0;
                }
            }
        }
        out
    }

    fn sample(&self, slot: Slot, now: f64, noise: &mut Noise) -> Sample {
        let (cell, offset) = (slot.cell as usize, slot.offset as usize);
        let (rate, latency) = self.truth(cell, offset);
        let rate = rate * (1.0 + 0.006 * noise.next());
        let workload = &self.cells[cell];
        let side = |share: f64| {
            let mut latencies = Latencies::new();
            let requests = whole(rate * 10.0 * share);
            for n in 0..requests {
                // Evenly over the quantiles of a gamma-like shape: a long tail, the mean kept.
                #[expect(clippy::cast_precision_loss, reason = "small")]
                let quantile = (n as f64 + 0.5) / requests as f64;
                let time = latency * 0.5 * (1.0 - (1.0 - quantile).ln());
                latencies.record(whole(time * 1e9));
            }
            Side {
                requests,
                bytes: Bytes::new(requests * workload.largest().get()),
                latencies,
            }
        };
        let reads = f64::from(workload.reads.get()) / 100.0;
        let (reads, writes) = (side(reads), side(1.0 - reads));
        let ticks = (0..100).map(|_| u32::try_from(whole(rate / 10.0)).expect("small"));
        let straddling = if offset == 0 { 9 } else { 8 };
        let device = |name: &str| DeviceCounts {
            name: name.to_owned(),
            reads: reads.requests * straddling / 32,
            writes: writes.requests * straddling / 16,
            bytes_read: Bytes::new(reads.bytes.get() / 4),
            bytes_written: Bytes::new(writes.bytes.get() / 2),
            busy: Duration::from_millis(9_870),
            ..DeviceCounts::default()
        };
        Sample {
            slot,
            began: Duration::from_secs_f64(now),
            took: Duration::from_secs(10),
            ticks: ticks.collect(),
            stamp_error: Duration::from_micros(3),
            issued: straddle_bench::sample::Issued::of(&reads, &writes),
            devices: if self.counted {
                ["sda", "sdb", "sdc", "sdd"].map(device).to_vec()
            } else {
                Vec::new()
            },
            processor: Duration::from_millis(410),
            reads,
            writes,
        }
    }

    fn results(&self, samples: &[Sample]) -> Vec<CellResult> {
        let cell = |cell: usize| {
            let offsets = (0..self.offsets.len()).map(|offset| {
                let runs: Vec<&Sample> = samples
                    .iter()
                    .filter(|s| s.slot.cell as usize == cell && s.slot.offset as usize == offset)
                    .collect();
                self.delivered(&runs)
            });
            let offsets: Vec<OffsetResult> = offsets.collect();
            let gains = (1..self.offsets.len()).map(|offset| self.gain(cell, offset));
            CellResult {
                gains: if self.blocks < 2 || cell >= self.reached {
                    Vec::new()
                } else {
                    gains.collect()
                },
                drift: (self.blocks > 2 && cell < self.reached).then_some(Drift {
                    change: -0.002,
                    p: 0.41,
                    noise: 0.006_1,
                    runs: self.blocks * 5,
                }),
                noise_floor: (self.offsets.len() > 2 && cell < self.reached).then_some(0.003_4),
                blocks: if cell < self.reached { self.blocks } else { 0 },
                offsets,
            }
        };
        (0..self.cells.len()).map(cell).collect()
    }

    fn gain(&self, cell: usize, offset: usize) -> Gain {
        let mean = self.truth(cell, offset).0 / self.truth(cell, 0).0;
        let half = self.half * if cell == 0 { 4.0 } else { 1.0 };
        let ratio = Interval {
            mean,
            low: mean - half,
            high: mean + half,
        };
        let verdict = match ratio {
            r if r.low > 1.0 => Verdict::Faster,
            r if r.high < 1.0 => Verdict::Slower,
            r if half <= 0.01 => Verdict::NoDifferenceAbove((r.high - 1.0).max(1.0 - r.low)),
            _ => Verdict::NotEnoughEvidence,
        };
        Gain {
            offset,
            ratio: Some(ratio),
            p: Some(0.000_4),
            p_adjusted: Some(0.003),
            verdict,
        }
    }

    fn delivered(&self, runs: &[&Sample]) -> OffsetResult {
        #[expect(clippy::cast_precision_loss, reason = "small")]
        let n = runs.len().max(1) as f64;
        let mean = |of: &dyn Fn(&Sample) -> f64| runs.iter().map(|s| of(s)).sum::<f64>() / n;
        let rates: Vec<f64> = runs.iter().map(|s| s.rate()).collect();
        let summary = |of: fn(&Sample) -> &Side| {
            let mut all = Latencies::new();
            for run in runs {
                all.merge(&of(run).latencies);
            }
            (all.count() > 0).then(|| LatencySummary {
                requests: all.count(),
                least: all.least(),
                mean: all.mean(),
                p50: all.percentile(50.0),
                p90: all.percentile(90.0),
                p95: all.percentile(95.0),
                p99: all.percentile(99.0),
                p999: all.percentile(99.9),
                most: all.most(),
            })
        };
        let mut all = Latencies::new();
        for run in runs {
            all.merge(&run.latencies());
        }
        let rate = mean(&Sample::rate);
        let devices = runs.first().map_or(&[][..], |run| run.devices.as_slice());
        let operations = |device: &DeviceCounts| {
            let requests = runs[0].reads.requests + runs[0].writes.requests;
            #[expect(clippy::cast_precision_loss, reason = "small")]
            let each = |count: u64| count as f64 / requests as f64;
            DeviceOperations {
                device: device.name.clone(),
                reads: each(device.reads),
                writes: each(device.writes),
            }
        };
        OffsetResult {
            runs: u32::try_from(runs.len()).expect("small"),
            reads_per_second: mean(&|s| s.reads.rate(s.took)),
            writes_per_second: mean(&|s| s.writes.rate(s.took)),
            #[expect(clippy::cast_precision_loss, reason = "small")]
            bytes_per_second: mean(&|s| {
                (s.reads.bytes.get() + s.writes.bytes.get()) as f64 / s.took.as_secs_f64()
            }),
            range: (
                rates
                    .iter()
                    .copied()
                    .fold(f64::INFINITY, f64::min)
                    .min(1e12),
                rates.iter().copied().fold(0.0, f64::max),
            ),
            read_latency: summary(|s| &s.reads),
            write_latency: summary(|s| &s.writes),
            mean_outstanding: rate * all.mean().as_secs_f64(),
            device_operations: devices.iter().map(operations).collect(),
        }
    }

    /// At the fourth load of those that differ in nothing else; the last offset still rises.
    fn knees(&self) -> Vec<Knee> {
        if self.reached < 3 {
            return Vec::new();
        }
        let first = &self.cells[0];
        let alike = |w: &Workload| w.sizes == first.sizes && w.reads == first.reads;
        let cells: Vec<usize> = (0..self.reached)
            .filter(|n| alike(&self.cells[*n]))
            .collect();
        if cells.len() < 3 {
            return Vec::new();
        }
        let knee = |offset: usize| Knee {
            offset,
            cells: cells.clone(),
            at: (offset + 1 < self.offsets.len()).then_some(cells.len() - 3),
        };
        (0..self.offsets.len()).map(knee).collect()
    }
}

/// Four disks and an array over them.
fn stack() -> Stack {
    let mut stack = Stack::new();
    let disks: Vec<LayerId> = ["sda", "sdb", "sdc", "sdd"]
        .map(|name| {
            let mut disk = Layer::new(LayerKind::Device, name);
            disk.add_grid(
                GridRole::PhysicalSector,
                Fact::reported(
                    Grid::new(unit(512)),
                    format!("sys/block/{name}/queue/physical_block_size"),
                    "512",
                ),
            );
            stack.push(disk)
        })
        .to_vec();
    let mut array = Layer::new(LayerKind::Array, "md0");
    array.below = disks;
    array.add_grid(
        GridRole::StripeUnit,
        Fact::reported(
            Grid::new(unit(65_536)),
            "sys/block/md0/md/chunk_size",
            "65536",
        ),
    );
    stack.push(array);
    stack
}

/// The index of a layer of [`stack`].
fn layer_id(index: usize) -> LayerId {
    let stack = stack();
    let id = stack.iter().nth(index).map(|(id, _)| id);
    id.expect("the stack has five layers")
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "small and positive"
)]
fn whole(number: f64) -> u64 {
    number.round() as u64
}

/// Numbers between −1 and 1 from a linear congruence.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        #[expect(clippy::cast_precision_loss, reason = "31 bits")]
        let number = (self.0 >> 33) as f64;
        number / f64::from(1_u32 << 30) - 1.0
    }
}

pub fn warning(kind: WarningKind, cause: &str, advice: &str) -> Warning {
    Warning {
        kind,
        cause: cause.to_owned(),
        advice: advice.to_owned(),
    }
}
