//! What is counted while a system works.

use schemars::JsonSchema;
use serde::Serialize;
use std::ops::AddAssign;
use straddle_workload::histogram::Latencies;

use super::{Length, Store};
use crate::kernel::Time;
use crate::model::array::Split;
use crate::model::{Operation, Tally, Use};

/// What a run came to, its warm-up left out.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Requests that read and were answered.
    pub reads: Latencies,
    /// Requests that wrote and were answered.
    pub writes: Latencies,
    /// Bytes of both.
    pub bytes: u64,
    /// Simulated time in which they were.
    pub elapsed: Time,
    /// Requests under way, averaged over that time.
    pub mean_outstanding: f64,
    /// What was done for them.
    pub counts: Counts,
    /// How busy each kind of resource was.
    pub resources: Vec<Resource>,
    /// Nanoseconds that these requests took, each from when it was due, all together.
    pub waited: u128,
    /// What happened between up to [`MARKS`] instants spread over the run, its warm-up included: for the warm-up rule.
    pub marks: Vec<Mark>,
    /// Requests between two marks.
    pub mark_every: u64,
    /// What was in each store of work at the beginning and at the end, its warm-up left out.
    pub stores: Vec<Store>,
}

/// An instant at which so many requests had been answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// When.
    pub at: Time,
    /// Nanoseconds that the requests since the last mark took, all together.
    pub waited: u128,
}

/// Most instants that a run notes.
pub const MARKS: usize = 1024;

impl Outcome {
    /// Requests answered.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.reads.count() + self.writes.count()
    }

    /// Requests each second.
    #[must_use]
    pub fn rate(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a rate needs no 64 bits")]
        let requests = self.requests() as f64;
        requests / self.elapsed.to_seconds()
    }

    /// Mean latency in seconds, exact but for the last rounding.
    #[must_use]
    pub fn mean_latency(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a mean needs no 128 bits")]
        let mean = self.waited as f64 / self.requests() as f64;
        mean / 1e9
    }
}

/// What was done for the requests of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Commands that reached the array.
    pub commands: u64,
    /// Stripe units that they touched, each counted for each command that touches it.
    pub units: u64,
    /// Commands that touched more than one stripe unit.
    pub straddling: u64,
    /// Operations of members that had to be done first, so that others could: a parity update's reads.
    pub reads_before_writes: u64,
    /// Reads of members.
    pub member_reads: u64,
    /// Writes of members.
    pub member_writes: u64,
    /// Bytes of both.
    pub member_bytes: u64,
    /// Granules of members (physical sectors, indirection units) read because they were written in part.
    pub granules_read: u64,
    /// Granules of members that operations touched.
    pub granules: u64,
    /// Reads that the array's cache answered.
    pub cache_hits: u64,
    /// Reads that completed cache pages before these were destaged.
    pub cache_backfills: u64,
    /// Writes of the cache to the array.
    pub cache_destages: u64,
    /// Bytes that these wrote.
    pub cache_destaged_bytes: u64,
    /// Reads of the cache ahead of a sequential stream.
    pub cache_read_aheads: u64,
}

impl Counts {
    /// A command that touches so many stripe units is split.
    #[inline]
    pub(crate) fn split(&mut self, units: u32, split: &Split) {
        self.touch(units);
        self.read_before_write(split);
    }

    /// A command comes that touches so many stripe units.
    #[inline]
    pub(crate) fn touch(&mut self, units: u32) {
        self.commands += 1;
        self.units += u64::from(units);
        self.straddling += u64::from(units > 1);
    }

    /// Pieces that wait for others.
    #[inline]
    pub(crate) fn read_before_write(&mut self, split: &Split) {
        for (first, then) in &split.groups {
            if *then > 0 {
                self.reads_before_writes += u64::from(*first);
            }
        }
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        self.commands += other.commands;
        self.units += other.units;
        self.straddling += other.straddling;
        self.reads_before_writes += other.reads_before_writes;
        self.member_reads += other.member_reads;
        self.member_writes += other.member_writes;
        self.member_bytes += other.member_bytes;
        self.granules_read += other.granules_read;
        self.granules += other.granules;
        self.cache_hits += other.cache_hits;
        self.cache_backfills += other.cache_backfills;
        self.cache_destages += other.cache_destages;
        self.cache_destaged_bytes += other.cache_destaged_bytes;
        self.cache_read_aheads += other.cache_read_aheads;
    }
}

/// How busy a kind of resource was.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Resource {
    /// What it is, in the plural.
    pub name: &'static str,
    /// How many there are.
    pub count: u64,
    /// Share of the time for which they were busy, on average.
    pub mean: f64,
    /// The same of the busiest member.
    pub most: f64,
}

/// Resources by name, as members report them.
#[derive(Debug, Default)]
pub(super) struct Resources(Vec<(&'static str, u64, Time, f64)>);

impl Resources {
    pub(super) fn add(&mut self, used: Use) {
        let share = used.busy.to_seconds() / f64::from(used.count.max(1));
        match self.0.iter_mut().find(|(name, ..)| *name == used.resource) {
            Some((_, count, busy, most)) => {
                *count += u64::from(used.count);
                *busy += used.busy;
                *most = most.max(share);
            }
            None => self
                .0
                .push((used.resource, u64::from(used.count), used.busy, share)),
        }
    }
}

/// Counters of a run.
#[derive(Debug, Default)]
pub(super) struct Measure {
    warm_up: u64,
    until: u64,
    answered: u64,
    since: Time,
    reads: Latencies,
    writes: Latencies,
    bytes: u64,
    counts: Counts,
    inside: u64,
    /// Requests under way times nanoseconds, up to `seen`.
    area: u128,
    seen: Time,
    waited: u128,
    marks: Vec<Mark>,
    mark_every: u64,
    /// Of the next mark.
    marking: u128,
    /// Answers until then.
    until_mark: u64,
}

impl Measure {
    pub(super) fn new(length: Length) -> Measure {
        let until = length.warm_up.saturating_add(length.measured);
        let mark_every = until.div_ceil(MARKS as u64).max(1);
        Measure {
            warm_up: length.warm_up,
            until,
            mark_every,
            until_mark: mark_every,
            ..Measure::default()
        }
    }

    pub(super) fn is_complete(&self) -> bool {
        self.answered >= self.until
    }

    #[inline]
    fn see(&mut self, now: Time) {
        self.area += u128::from(self.inside) * u128::from((now - self.seen).get());
        self.seen = now;
    }

    #[inline]
    pub(super) fn arrive(&mut self, now: Time) {
        self.see(now);
        self.inside += 1;
    }

    /// A request is answered. True when the warm-up ends with it: everything counted so far is forgotten.
    #[inline]
    pub(super) fn answer(&mut self, now: Time, due: Time, operation: Operation) -> bool {
        self.see(now);
        self.inside -= 1;
        self.answered += 1;
        let latency = (now - due).get();
        self.marking += u128::from(latency);
        self.until_mark -= 1;
        if self.until_mark == 0 {
            self.until_mark = self.mark_every;
            self.marks.push(Mark {
                at: now,
                waited: std::mem::take(&mut self.marking),
            });
        }
        if self.answered > self.warm_up {
            let latencies = if operation.is_read() {
                &mut self.reads
            } else {
                &mut self.writes
            };
            latencies.record(latency);
            self.waited += u128::from(latency);
            self.bytes += operation.len;
            return false;
        }
        if self.answered == self.warm_up {
            self.since = now;
            self.area = 0;
            self.counts = Counts::default();
            return true;
        }
        false
    }

    /// Requests that have not been answered, and those that have.
    pub(super) fn inside(&self) -> (u64, u64) {
        (self.inside, self.answered)
    }

    /// A command is split.
    #[inline]
    pub(super) fn split(&mut self, units: u32, split: &Split) {
        self.counts.split(units, split);
    }

    /// What the cache counts, and what it hides.
    pub(super) fn cached(&mut self) -> &mut Counts {
        &mut self.counts
    }

    pub(super) fn finish(
        mut self,
        now: Time,
        tally: Tally,
        resources: Resources,
        stores: Vec<Store>,
    ) -> Outcome {
        self.see(now);
        let elapsed = now - self.since;
        // In no time at all, nothing was busy.
        let seconds = elapsed.to_seconds().max(1e-9);
        #[expect(clippy::cast_precision_loss, reason = "a mean needs no 128 bits")]
        let mean_outstanding = self.area as f64 / elapsed.get().max(1) as f64;
        let resources = resources.0.into_iter().map(|(name, count, busy, most)| {
            #[expect(clippy::cast_precision_loss, reason = "members are few")]
            let mean = busy.to_seconds() / seconds / count as f64;
            Resource {
                name,
                count,
                mean,
                most: most / seconds,
            }
        });
        Outcome {
            reads: self.reads,
            writes: self.writes,
            bytes: self.bytes,
            elapsed,
            mean_outstanding,
            counts: Counts {
                member_reads: tally.reads,
                member_writes: tally.writes,
                member_bytes: tally.bytes,
                granules_read: tally.granules_read,
                granules: tally.granules,
                ..self.counts
            },
            resources: resources.collect(),
            waited: self.waited,
            marks: self.marks,
            mark_every: self.mark_every,
            stores,
        }
    }
}
