//! Whether a plan can be carried out, and can prove anything.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use super::Plan;
use straddle_workload::{Pattern, Workload};

/// Least blocks with which a spread says anything: with two, the 97.5% point of Student's distribution is 12.7.
const MIN_BLOCKS: u32 = 3;
/// Most runs that a plan may ask for in any case. A million runs of a second each take eleven days.
const MAX_RUNS: u64 = 1_000_000;
/// Most threads.
const MAX_WORKERS: u32 = 4096;
/// Most requests that one worker keeps under way: the largest ring that `io_uring` makes.
const MAX_OUTSTANDING_PER_WORKER: u32 = 32_768;
/// Limit of requests under way at once: with engines that block, each needs a thread.
const MAX_OUTSTANDING: u64 = 65_536;
/// Limit of bytes under way at once: each needs a buffer.
const MAX_UNDER_WAY: u64 = 16 << 30;
/// Limit of workloads and of offsets.
const MAX_NAMED: usize = 4096;
/// Limit of every time: a year.
const MAX_TIME: Duration = Duration::from_secs(366 * 86_400);
/// Limit of an offset: an EiB is more than any target has.
const MAX_OFFSET: u64 = 1 << 60;

/// What is wrong with a plan.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{what}: {found}; expected {expected}")]
pub struct PlanError {
    /// Which part of it.
    pub what: &'static str,
    /// What it says.
    pub found: String,
    /// What it could say.
    pub expected: String,
}

/// An error unless `good`.
fn require(
    good: bool,
    what: &'static str,
    found: impl FnOnce() -> String,
    expected: &str,
) -> Result<(), PlanError> {
    if good {
        return Ok(());
    }
    Err(PlanError {
        what,
        found: found(),
        expected: expected.to_owned(),
    })
}

impl Plan {
    /// Looks for everything that makes it impossible or worthless.
    ///
    /// # Errors
    /// The first thing found.
    pub fn check(&self) -> Result<(), PlanError> {
        let none = || "none".to_owned();
        require(!self.cells.is_empty(), "workloads", none, "at least one")?;
        require(
            !self.offsets.is_empty(),
            "offsets",
            none,
            "the baseline at least, such as 1M",
        )?;
        for (what, found) in [
            ("workloads", self.cells.len()),
            ("offsets", self.offsets.len()),
        ] {
            require(
                found <= MAX_NAMED,
                what,
                || found.to_string(),
                &format!("at most {MAX_NAMED}"),
            )?;
        }
        require(
            self.names.is_empty() || self.names.len() == self.cells.len(),
            "names of workloads",
            || format!("{} for {} workloads", self.names.len(), self.cells.len()),
            "one for each, or none",
        )?;
        let speed = self.replay.as_ref().and_then(|replay| replay.speed);
        require(
            speed.is_none_or(|speed| speed.is_finite() && speed > 0.0),
            "speed of the replay",
            || format!("{} times", speed.unwrap_or_default()),
            "a number above 0, such as 1 or 2.5",
        )?;
        self.check_offsets()?;
        require(
            !self.measured.is_zero(),
            "time of a run",
            || "0 s".to_owned(),
            "a second or more; a tenth is enough on fast storage only",
        )?;
        for (what, time) in [
            ("time of a run", self.measured),
            ("warm-up", self.warm_up),
            ("time for all runs", self.budget.unwrap_or_default()),
        ] {
            check_time(what, time)?;
        }
        require(
            self.budget != Some(Duration::ZERO),
            "time for all runs",
            || "0 s".to_owned(),
            "some, or no limit",
        )?;
        // NaN is in no range.
        require(
            self.precision > 0.0 && self.precision <= 1.0,
            "precision",
            || format!("{}%", self.precision * 100.0),
            "above 0% and up to 100%; 1% is usual",
        )?;
        self.check_blocks()?;
        for (number, workload) in self.cells.iter().enumerate() {
            check_workload(workload).map_err(|error| PlanError {
                found: format!("{} in workload {}", error.found, number + 1),
                ..error
            })?;
        }
        Ok(())
    }

    fn check_offsets(&self) -> Result<(), PlanError> {
        let (mut places, mut names) = (HashMap::new(), HashSet::new());
        for offset in &self.offsets {
            require(
                offset.bytes.get() <= MAX_OFFSET,
                "offsets",
                || format!("{} bytes", offset.bytes.grouped()),
                "at most 1 EiB",
            )?;
            let other = places.insert(offset.bytes, offset);
            require(
                other.is_none(),
                "offsets",
                || {
                    let other = other.unwrap_or(offset);
                    format!(
                        "{other} and {offset} are both {} bytes",
                        offset.bytes.grouped()
                    )
                },
                "different ones, each named once",
            )?;
            require(
                names.insert(&offset.name),
                "offsets",
                || format!("two are called {offset}"),
                "different names",
            )?;
        }
        Ok(())
    }

    fn check_blocks(&self) -> Result<(), PlanError> {
        let least = if self.offsets.len() > 1 {
            MIN_BLOCKS
        } else {
            1
        };
        require(
            self.least_blocks >= least,
            "least blocks",
            || self.least_blocks.to_string(),
            &format!("{least} or more: an interval needs the spread of several"),
        )?;
        require(
            self.most_blocks >= self.least_blocks,
            "most blocks",
            || self.most_blocks.to_string(),
            &format!("at least the least blocks, {}", self.least_blocks),
        )?;
        require(
            u32::try_from(self.cells.len()).is_ok() && self.runs(self.least_blocks) <= MAX_RUNS,
            "runs",
            || {
                format!(
                    "{} ({} workloads × {} blocks × {} runs)",
                    self.runs(self.least_blocks),
                    self.cells.len(),
                    self.least_blocks,
                    self.runs_per_block(),
                )
            },
            &format!("at most {MAX_RUNS}: fewer workloads, offsets or blocks"),
        )
    }

    /// Runs when every cell makes this many blocks; saturates.
    pub(super) fn runs(&self, blocks: u32) -> u64 {
        let round = (self.cells.len() as u64).saturating_mul(self.runs_per_block() as u64);
        round.saturating_mul(u64::from(blocks))
    }
}

/// A time that arithmetic and patience allow for.
fn check_time(what: &'static str, time: Duration) -> Result<(), PlanError> {
    require(
        time <= MAX_TIME,
        what,
        || format!("{} s", time.as_secs()),
        "at most a year",
    )
}

/// Whether requests of these sizes can come in this order.
fn check_pattern(workload: &Workload) -> Result<(), PlanError> {
    let largest = workload.largest();
    let bytes = |unit: straddle_geometry::Unit| unit.bytes().grouped();
    match workload.pattern {
        Pattern::Random | Pattern::RandomEvery(_) | Pattern::Recorded(_) | Pattern::Sequential => {
            Ok(())
        }
        Pattern::Strided(stride) => require(
            stride >= largest,
            "stride",
            || {
                format!(
                    "{} bytes between the beginnings of requests of up to {}",
                    bytes(stride),
                    bytes(largest)
                )
            },
            &format!("{} bytes or more, so that none overlap", bytes(largest)),
        ),
        Pattern::Columns(row) => require(
            workload.sizes.len() == 1 && row.bytes().is_multiple_of(largest),
            "rows of a table",
            || format!("{} bytes for {} size(s)", bytes(row), workload.sizes.len()),
            &format!("a multiple of one request size, {} bytes", bytes(largest)),
        ),
    }
}

fn check_workload(workload: &Workload) -> Result<(), PlanError> {
    require(
        !workload.sizes.is_empty(),
        "request sizes",
        || "none".to_owned(),
        "at least one",
    )?;
    for (size, weight) in &workload.sizes {
        require(
            *weight > 0,
            "request sizes",
            || format!("{} bytes with weight 0", size.bytes().grouped()),
            "a weight of 1 or more, or the size left out",
        )?;
    }
    let weights: u64 = workload.sizes.iter().map(|(_, w)| u64::from(*w)).sum();
    require(
        u32::try_from(weights).is_ok(),
        "request sizes",
        || format!("weights with a sum of {weights}"),
        "a sum below 2³²; percent are fine enough",
    )?;
    let count = |what, found: u32, most: u32| {
        require(
            (1..=most).contains(&found),
            what,
            || found.to_string(),
            &format!("1 to {most}"),
        )
    };
    check_pattern(workload)?;
    count("threads", workload.workers, MAX_WORKERS)?;
    count(
        "outstanding requests",
        workload.outstanding,
        MAX_OUTSTANDING_PER_WORKER,
    )?;
    let all = workload.concurrency();
    let bytes = workload.largest().get().checked_mul(all);
    require(
        all <= MAX_OUTSTANDING && bytes.is_some_and(|bytes| bytes <= MAX_UNDER_WAY),
        "requests under way",
        || {
            format!(
                "{} threads × {} outstanding × {} bytes",
                workload.workers,
                workload.outstanding,
                workload.largest().bytes().grouped(),
            )
        },
        &format!("at most {MAX_OUTSTANDING} requests and 16 GiB under way at once"),
    )?;
    check_time("think time", workload.think)?;
    if let Some(rate) = workload.rate {
        require(
            rate.is_finite() && rate > 0.0,
            "offered rate",
            || format!("{rate} requests each second"),
            "a number above 0, or none for as fast as it goes",
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::tests::plan;
    use super::*;
    use straddle_geometry::{Bytes, Unit};

    /// A change that makes a plan bad, and the part that is blamed for it.
    type Case = (&'static str, fn(&mut Plan));

    const CASES: [Case; 37] = [
        ("names of workloads", |p| p.names = vec!["a".to_owned()]),
        ("workloads", |p| p.cells.clear()),
        ("offsets", |p| p.offsets.clear()),
        ("offsets", |p| p.offsets[1].bytes = p.offsets[0].bytes),
        ("offsets", |p| p.offsets[1].name = p.offsets[0].name.clone()),
        ("time of a run", |p| p.measured = Duration::ZERO),
        ("time for all runs", |p| p.budget = Some(Duration::ZERO)),
        ("precision", |p| p.precision = 0.0),
        ("precision", |p| p.precision = -0.0),
        ("precision", |p| p.precision = 1.001),
        ("precision", |p| p.precision = f64::NAN),
        ("precision", |p| p.precision = f64::INFINITY),
        ("least blocks", |p| p.least_blocks = 2),
        ("most blocks", |p| p.most_blocks = p.least_blocks - 1),
        ("runs", |p| {
            p.least_blocks = u32::MAX;
            p.most_blocks = u32::MAX;
        }),
        ("request sizes", |p| p.cells[1].sizes.clear()),
        ("request sizes", |p| p.cells[1].sizes[0].1 = 0),
        ("request sizes", |p| {
            let size = p.cells[0].sizes[0].0;
            p.cells[0].sizes = vec![(size, u32::MAX), (size, 1)];
        }),
        ("stride", |p| {
            let size = p.cells[1].largest().get();
            p.cells[1].pattern = Pattern::Strided(Unit::new(size - 1).expect("not zero"));
        }),
        ("rows of a table", |p| {
            let size = p.cells[0].largest().get();
            p.cells[0].pattern = Pattern::Columns(Unit::new(size + 512).expect("not zero"));
        }),
        ("rows of a table", |p| {
            let size = p.cells[0].largest();
            p.cells[0].sizes = vec![(size, 1), (size, 1)];
            p.cells[0].pattern = Pattern::Columns(size);
        }),
        ("threads", |p| p.cells[0].workers = 0),
        ("threads", |p| p.cells[0].workers = u32::MAX),
        ("outstanding requests", |p| p.cells[0].outstanding = 0),
        ("outstanding requests", |p| {
            p.cells[0].outstanding = u32::MAX
        }),
        ("requests under way", |p| {
            p.cells[0].sizes[0].0 = Unit::new(1 << 50).expect("not zero");
        }),
        ("requests under way", |p| {
            p.cells[0].workers = 4096;
            p.cells[0].outstanding = 17;
        }),
        ("workloads", |p| p.cells = vec![p.cells[0].clone(); 4097]),
        ("offsets", |p| {
            p.offsets = super::super::tests::plan(1, 4097).offsets;
        }),
        ("offsets", |p| p.offsets[1].bytes = Bytes::MAX),
        ("time of a run", |p| p.measured = Duration::MAX),
        ("warm-up", |p| p.warm_up = Duration::from_secs(1 << 40)),
        ("time for all runs", |p| p.budget = Some(Duration::MAX)),
        ("think time", |p| p.cells[0].think = Duration::MAX),
        ("offered rate", |p| p.cells[0].rate = Some(0.0)),
        ("offered rate", |p| p.cells[0].rate = Some(f64::NAN)),
        ("offered rate", |p| p.cells[0].rate = Some(f64::INFINITY)),
    ];

    #[test]
    fn each_mistake_is_named() {
        assert_eq!(plan(2, 3).check(), Ok(()));
        for (number, (what, spoil)) in CASES.into_iter().enumerate() {
            let mut plan = plan(2, 3);
            spoil(&mut plan);
            let error = plan.check().expect_err(what);
            assert_eq!(error.what, what, "case {number}: {error}");
        }
    }

    #[test]
    fn without_candidates_one_repeat_will_do() {
        let mut plan = plan(1, 1);
        plan.least_blocks = 1;
        assert_eq!(plan.check(), Ok(()));
        plan.least_blocks = 0;
        assert_eq!(plan.check().expect_err("none").what, "least blocks");
    }

    #[test]
    fn messages_say_what_was_found_and_where() {
        let mut bad = plan(2, 2);
        bad.cells[1].workers = 0;
        let message = bad.check().expect_err("no workers").to_string();
        assert_eq!(message, "threads: 0 in workload 2; expected 1 to 4096");
        let mut bad = plan(2, 2);
        bad.cells[1].sizes = vec![(Unit::B4096, 1)];
        bad.cells[1].pattern = Pattern::Strided(Unit::new(512).expect("not zero"));
        let message = bad.check().expect_err("they overlap").to_string();
        assert_eq!(
            message,
            "stride: 512 bytes between the beginnings of requests of up to 4,096 in workload 2; expected 4,096 bytes or more, so that none overlap"
        );
        bad.cells[1].pattern = Pattern::Strided(Unit::B4096);
        assert_eq!(bad.check(), Ok(()));
        let mut bad = plan(1, 2);
        bad.offsets[1].bytes = Bytes::new(0);
        let message = bad.check().expect_err("twice the same").to_string();
        assert!(message.contains("are both 0 bytes"), "{message}");
    }
}
