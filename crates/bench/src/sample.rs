//! What one run measured.

use serde::{Deserialize, Serialize};
use std::time::Duration;
use straddle_geometry::{Access, Bytes};

use crate::plan::Slot;
use straddle_workload::histogram::Latencies;

/// One run of one cell at one offset: raw, before any judgement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Its place in the plan.
    pub slot: Slot,
    /// When the measured part began, since the experiment began.
    pub began: Duration,
    /// How long the measured part took, warm-up left out.
    pub took: Duration,
    /// Requests that read.
    pub reads: Side,
    /// Requests that wrote.
    pub writes: Side,
    /// Requests that ended in each whole tenth of a second of the measured part; what is left at its end is in none.
    pub ticks: Vec<u32>,
    /// Most by which a shared time stamp made a latency longer than it was, as far as that was sampled; see
    /// [`crate::run`].
    pub stamp_error: Duration,
    /// Everything that was asked of the storage, from the first request to the end of the last: also before and after the
    /// measured part.
    pub issued: Issued,
    /// What the kernel counted on each device below for all that was issued: nothing was under way when it was looked at.
    /// Empty where it does not count.
    pub devices: Vec<DeviceCounts>,
    /// Processor time of this process meanwhile.
    pub processor: Duration,
}

/// Requests in one direction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Side {
    /// Requests that ended; as many as are in `latencies`.
    pub requests: u64,
    /// Bytes they moved.
    pub bytes: Bytes,
    /// From start (or, in an open loop, from when they were due) to end.
    pub latencies: Latencies,
}

/// What was asked of the storage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Issued {
    /// Requests that read.
    pub reads: u64,
    /// Bytes they asked for.
    pub bytes_read: Bytes,
    /// Requests that wrote.
    pub writes: u64,
    /// Bytes they brought.
    pub bytes_written: Bytes,
}

impl Issued {
    /// Of a run in which nothing was issued outside of the measured part.
    #[must_use]
    pub fn of(reads: &Side, writes: &Side) -> Issued {
        Issued {
            reads: reads.requests,
            bytes_read: reads.bytes,
            writes: writes.requests,
            bytes_written: writes.bytes,
        }
    }

    /// One more request, which has ended.
    #[inline]
    pub(crate) fn add(&mut self, access: Access, len: u64) {
        let (requests, bytes) = match access {
            Access::Read => (&mut self.reads, &mut self.bytes_read),
            Access::Write => (&mut self.writes, &mut self.bytes_written),
        };
        *requests += 1;
        *bytes = Bytes::new(bytes.get() + len);
    }

    /// Those of another thread too.
    pub(crate) fn merge(&mut self, other: &Issued) {
        self.reads += other.reads;
        self.writes += other.writes;
        self.bytes_read = Bytes::new(self.bytes_read.get() + other.bytes_read.get());
        self.bytes_written = Bytes::new(self.bytes_written.get() + other.bytes_written.get());
    }
}

/// What the kernel counted on one device during a run (`/proc/diskstats`, differences).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceCounts {
    /// Its name, such as `sda`.
    pub name: String,
    /// Reads completed.
    pub reads: u64,
    /// Reads that were merged into another request.
    pub reads_merged: u64,
    /// Bytes read.
    pub bytes_read: Bytes,
    /// Writes completed.
    pub writes: u64,
    /// Writes that were merged into another request.
    pub writes_merged: u64,
    /// Bytes written.
    pub bytes_written: Bytes,
    /// Time in which at least one request was under way.
    pub busy: Duration,
}

impl Sample {
    /// Takes as little memory as it can: an experiment keeps every one.
    pub(crate) fn pack(&mut self) {
        self.reads.latencies.pack();
        self.writes.latencies.pack();
    }

    /// Requests each second, both directions.
    #[must_use]
    pub fn rate(&self) -> f64 {
        per_second(self.reads.requests + self.writes.requests, self.took)
    }

    /// All latencies.
    #[must_use]
    pub fn latencies(&self) -> Latencies {
        let mut all = self.reads.latencies.clone();
        all.merge(&self.writes.latencies);
        all
    }
}

impl Side {
    /// Requests each second over `took`.
    #[must_use]
    pub fn rate(&self, took: Duration) -> f64 {
        per_second(self.requests, took)
    }
}

/// `count` over `took`; zero over no time.
#[expect(
    clippy::cast_precision_loss,
    reason = "counts of requests stay far below 2⁵³"
)]
fn per_second(count: u64, took: Duration) -> f64 {
    if took.is_zero() {
        return 0.0;
    }
    count as f64 / took.as_secs_f64()
}
