//! Experiments with made-up rates, for tests of this folder.

use std::time::Duration;
use straddle_geometry::{Bytes, Unit};

use crate::plan::{Plan, Schedule, Slot};
use crate::sample::{Sample, Side};
use straddle_workload::offset::Offset;
use straddle_workload::{Pattern, Percent, Workload};

/// A plan of that many equal cells and offsets with a precision of 1%.
pub(super) fn plan(cells: usize, offsets: u64) -> Plan {
    let workload = Workload {
        reads: Percent::ALL,
        pattern: Pattern::Random,
        sizes: vec![(Unit::new(8192).expect("not zero"), 1)],
        workers: 1,
        outstanding: 1,
        think: Duration::ZERO,
        rate: None,
    };
    let offset = |number: u64| Offset {
        name: format!("{number}M"),
        bytes: Bytes::mib(number),
    };
    Plan {
        cells: vec![workload; cells],
        names: Vec::new(),
        replay: None,
        offsets: (0..offsets).map(offset).collect(),
        measured: Duration::from_secs(1),
        warm_up: Duration::ZERO,
        least_blocks: Plan::FIRST_STAGE,
        most_blocks: 200,
        precision: 0.01,
        budget: None,
        seed: 1,
    }
}

/// A run of a second with that many reads each second, evenly spread, without latencies.
pub(super) fn sample(slot: Slot, began: Duration, rate: f64) -> Sample {
    let requests = rate.round() as u64;
    Sample {
        slot,
        began,
        took: Duration::from_secs(1),
        reads: Side {
            requests,
            bytes: Bytes::new(requests * 8192),
            ..Side::default()
        },
        writes: Side::default(),
        ticks: vec![(requests / 10) as u32; 10],
        stamp_error: Duration::ZERO,
        issued: crate::sample::Issued::default(),
        devices: Vec::new(),
        processor: Duration::ZERO,
    }
}

/// All runs of a plan; `rate` makes the rate of a slot, given noise that is even between −1 and 1.
pub(super) fn experiment(plan: &Plan, rate: impl Fn(Slot, f64) -> f64) -> Vec<Sample> {
    let mut schedule = Schedule::new(plan.clone()).expect("a good plan");
    let mut samples = Vec::new();
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    loop {
        let now = Duration::from_secs(samples.len() as u64);
        let Some(slot) = schedule.next(now) else {
            return samples;
        };
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let noise = (state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0;
        let made = sample(slot, now, rate(slot, noise));
        schedule.record(slot, made.rate());
        samples.push(made);
    }
}
