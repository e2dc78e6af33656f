//! An experiment as it goes: run after run as the schedule has it, each into the journal, until it is enough, somebody
//! stops it, or a run fails. Nothing measured is lost.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use straddle_geometry::Access;

use crate::journal::{Journal, JournalError};
use crate::plan::{Plan, PlanError, Schedule, Slot};
use crate::results::{End, Experiment, Setting};
use crate::run::{RunError, Subject, Task, Watch};
use crate::sample::Sample;
use crate::statistics::{analyse, warnings};
use crate::validity::Warning;

/// An experiment under way.
#[derive(Debug)]
pub struct Session {
    schedule: Schedule,
    journal: Option<Journal>,
    samples: Vec<Sample>,
    /// When it would have begun if there had been no interruption.
    began: Instant,
    failure: Option<Failure>,
}

/// Why an experiment failed.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// A run did.
    #[error(transparent)]
    Run(RunError),
    /// Its sample could not be written down.
    #[error(transparent)]
    Journal(JournalError),
}

impl Failure {
    /// True when the target could not be written to: the disk is full, or worse. A run would not fare better on it later.
    #[must_use]
    pub fn is_of_writing(&self) -> bool {
        match self {
            Failure::Run(RunError::Request { access, .. }) => *access == Access::Write,
            Failure::Run(_) => false,
            Failure::Journal(_) => true,
        }
    }
}

/// What is known when a run begins.
#[derive(Clone, Copy, Debug)]
pub struct Beginning<'a> {
    /// The run.
    pub task: Task<'a>,
    /// Runs that were made before it, those of an earlier process included.
    pub made: u64,
    /// Runs that it will take altogether, as far as is known now and if time permits.
    pub expected: u64,
    /// Time spent so far, by earlier processes too.
    pub elapsed: Duration,
}

impl Session {
    /// A new experiment, which begins now. Without a journal it cannot be resumed.
    ///
    /// # Errors
    /// [`PlanError`] for a plan that cannot be carried out.
    pub fn new(plan: Plan, journal: Option<Journal>) -> Result<Session, PlanError> {
        Session::resume(plan, journal, Vec::new())
    }

    /// An experiment that goes on behind the samples of its journal.
    ///
    /// # Errors
    /// [`PlanError`] for a plan that cannot be carried out.
    pub fn resume(
        plan: Plan,
        journal: Option<Journal>,
        samples: Vec<Sample>,
    ) -> Result<Session, PlanError> {
        let mut schedule = Schedule::new(plan)?;
        for sample in &samples {
            schedule.record(sample.slot, sample.rate());
        }
        let ends = samples.iter().map(|sample| sample.began + sample.took);
        let earlier = ends.max().unwrap_or_default();
        let now = Instant::now();
        Ok(Session {
            schedule,
            journal,
            began: now.checked_sub(earlier).unwrap_or(now),
            samples,
            failure: None,
        })
    }

    /// Its journal, where it has one.
    #[must_use]
    pub fn journal(&self) -> Option<&std::path::Path> {
        self.journal.as_ref().map(Journal::path)
    }

    /// The plan.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        self.schedule.plan()
    }

    /// When it began, interruptions left out: what samples count their time from.
    #[must_use]
    pub fn began(&self) -> Instant {
        self.began
    }

    /// Every run that was finished.
    #[must_use]
    pub fn samples(&self) -> &[Sample] {
        &self.samples
    }

    /// Why the last [`Session::run`] ended with [`End::Failed`].
    #[must_use]
    pub fn failure(&self) -> Option<&Failure> {
        self.failure.as_ref()
    }

    /// Makes runs until there is nothing more to do, `watch` says stop, or one fails. `tell` hears of every run before it
    /// begins; the figures of `watch` start from zero then.
    pub fn run(
        &mut self,
        subject: &mut dyn Subject,
        watch: &Watch,
        mut tell: impl FnMut(Beginning<'_>),
    ) -> End {
        self.failure = None;
        loop {
            if watch.stop.load(Ordering::Relaxed) {
                return End::Stopped;
            }
            let elapsed = self.began.elapsed();
            let Some(slot) = self.schedule.next(elapsed) else {
                return self.schedule.end().unwrap_or(End::OutOfBlocks);
            };
            let made = self.one(slot, elapsed, subject, watch, &mut tell);
            match made {
                Ok(()) => {}
                Err(Failure::Run(RunError::Stopped(_))) => return End::Stopped,
                Err(failure) => {
                    let end = End::Failed(failure.to_string());
                    self.failure = Some(failure);
                    return end;
                }
            }
        }
    }

    fn one(
        &mut self,
        slot: Slot,
        elapsed: Duration,
        subject: &mut dyn Subject,
        watch: &Watch,
        tell: &mut impl FnMut(Beginning<'_>),
    ) -> Result<(), Failure> {
        let progress = self.schedule.progress();
        let plan = self.schedule.plan();
        let (Some(workload), Some(offset)) = (
            plan.cells.get(slot.cell as usize),
            plan.offsets.get(slot.offset as usize),
        ) else {
            // A schedule only names what its plan has.
            return Err(Failure::Run(RunError::Stopped(None)));
        };
        let task = Task {
            slot,
            workload,
            offset,
            warm_up: plan.warm_up,
            measured: plan.measured,
            seed: self.schedule.address_seed(slot),
        };
        watch.requests.store(0, Ordering::Relaxed);
        watch.nanoseconds.store(0, Ordering::Relaxed);
        tell(Beginning {
            task,
            made: progress.made,
            expected: progress.expected,
            elapsed,
        });
        let mut sample = subject.run(&task, watch).map_err(Failure::Run)?;
        sample.pack();
        let ends_block = slot.position as usize + 1 == plan.runs_per_block();
        // It was measured, whatever becomes of the journal.
        self.schedule.record(slot, sample.rate());
        self.samples.push(sample);
        if let (Some(journal), Some(sample)) = (&mut self.journal, self.samples.last()) {
            journal.sample(sample).map_err(Failure::Journal)?;
            if ends_block {
                journal.sync().map_err(Failure::Journal)?;
            }
        }
        Ok(())
    }

    /// What it all came to, and the journal, to be kept or removed. `known` are the warnings that others have; those of the
    /// samples themselves are added.
    #[must_use]
    pub fn finish(
        self,
        end: End,
        setting: Setting,
        mut known: Vec<Warning>,
    ) -> (Experiment, Option<Journal>) {
        let classes: Vec<usize> = setting.places.iter().map(|place| place.class).collect();
        let plan = self.schedule.plan().clone();
        let (cells, knees) = analyse(&plan, &self.samples, &classes);
        known.extend(warnings(&plan, &self.samples, &cells, &classes));
        let experiment = Experiment {
            plan,
            setting,
            samples: self.samples,
            end,
            cells,
            knees,
            warnings: known,
        };
        (experiment, self.journal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::{Arrangement, DurabilityName, Header, Ready, Role, SCHEMA};
    use crate::sample::Side;
    use crate::target::Identity;
    use std::path::Path;
    use straddle_geometry::{Bytes, Unit};
    use straddle_workload::offset::Offset;
    use straddle_workload::{Pattern, Percent, Workload};

    /// Every run takes no time and makes as many requests as `rate` says.
    struct Model<F> {
        rate: F,
        made: Vec<Slot>,
    }

    impl<F: FnMut(Slot) -> Result<u64, RunError>> Subject for Model<F> {
        fn run(&mut self, task: &Task<'_>, _: &Watch) -> Result<Sample, RunError> {
            let requests = (self.rate)(task.slot)?;
            self.made.push(task.slot);
            let mut reads = Side::default();
            for _ in 0..requests {
                reads.latencies.record(1_000_000);
            }
            reads.requests = requests;
            reads.bytes = Bytes::new(requests * 8192);
            Ok(Sample {
                slot: task.slot,
                began: Duration::ZERO,
                took: task.measured,
                reads,
                writes: Side::default(),
                ticks: Vec::new(),
                stamp_error: Duration::ZERO,
                issued: crate::sample::Issued::default(),
                devices: Vec::new(),
                processor: Duration::ZERO,
            })
        }
    }

    fn plan() -> Plan {
        let offset = |name: &str, bytes| Offset {
            name: name.to_owned(),
            bytes: Bytes::new(bytes),
        };
        Plan {
            cells: vec![Workload {
                reads: Percent::ALL,
                pattern: Pattern::Random,
                sizes: vec![(Unit::new(8192).expect("not zero"), 1)],
                workers: 1,
                outstanding: 1,
                think: Duration::ZERO,
                rate: None,
            }],
            names: Vec::new(),
            replay: None,
            offsets: vec![
                offset("unaligned", 32_256),
                offset("64K", 65_536),
                offset("1M", 1 << 20),
            ],
            measured: Duration::from_millis(100),
            warm_up: Duration::ZERO,
            least_blocks: 4,
            most_blocks: 4,
            precision: 0.000_1,
            budget: None,
            seed: 11,
        }
    }

    /// Deterministic rates with some noise.
    fn steady(slot: Slot) -> Result<u64, RunError> {
        Ok(100 + u64::from(slot.offset) * 20 + u64::from(slot.block * 7 + slot.position) % 5)
    }

    fn journal(path: &Path) -> Journal {
        let header = Header {
            schema: SCHEMA.to_owned(),
            version: "0.1.0".to_owned(),
            token: "0".repeat(32),
            began: Duration::ZERO,
            named: "model".to_owned(),
            path: "model".into(),
            role: Role::Null,
            direct: false,
            engine: None,
            durability: DurabilityName::Cached,
            atomic: false,
            polled: false,
            verify: false,
            span: None,
            stripe_unit: None,
            stripe_width: None,
            plan: plan(),
        };
        let mut journal = Journal::create(path, header).expect("is made");
        let identity = Identity {
            device: 0,
            inode: 0,
        };
        let size = Bytes::mib(1);
        journal.ready(Ready { identity, size }).expect("writes");
        let placed = Arrangement {
            base: Bytes::ZERO,
            span: size,
            engine: "null".to_owned(),
            reason: String::new(),
            trial: Vec::new(),
        };
        journal.placed(&placed).expect("writes");
        journal
    }

    fn slots(samples: &[Sample]) -> Vec<Slot> {
        samples.iter().map(|sample| sample.slot).collect()
    }

    #[test]
    fn interrupted_anywhere_it_comes_to_the_same_runs() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let mut whole = Session::new(plan(), None).expect("a plan");
        let mut model = Model {
            rate: steady,
            made: Vec::new(),
        };
        let end = whole.run(&mut model, &Watch::default(), |_| ());
        assert_eq!(end, End::OutOfBlocks);
        let all = slots(whole.samples());
        assert_eq!(all.len(), 4 * 5);
        for stop_after in 0..all.len() {
            let path = dir.path().join(format!("journal-{stop_after}"));
            let watch = Watch::default();
            let mut count = 0;
            let interrupted = |slot| {
                if count == stop_after {
                    return Err(RunError::Stopped(None));
                }
                count += 1;
                steady(slot)
            };
            let mut session = Session::new(plan(), Some(journal(&path))).expect("a plan");
            let mut model = Model {
                rate: interrupted,
                made: Vec::new(),
            };
            assert_eq!(session.run(&mut model, &watch, |_| ()), End::Stopped);
            assert_eq!(
                session.samples().len(),
                stop_after,
                "what was measured is kept"
            );
            drop(session);
            let (journal, recorded) = Journal::resume(&path).expect("reads");
            assert_eq!(recorded.samples.len(), stop_after / 5 * 5, "whole blocks");
            let session = Session::resume(plan(), Some(journal), recorded.samples);
            let mut session = session.expect("a plan");
            let mut model = Model {
                rate: steady,
                made: Vec::new(),
            };
            let end = session.run(&mut model, &watch, |_| ());
            assert_eq!(end, End::OutOfBlocks);
            assert_eq!(slots(session.samples()), all);
            drop(session);
            let (_, recorded) = Journal::resume(&path).expect("reads");
            assert_eq!(slots(&recorded.samples), all);
        }
    }

    #[test]
    fn a_run_that_fails_ends_it_and_what_was_measured_is_kept() {
        let failing = |slot: Slot| match (slot.block, slot.position) {
            (1, 2) => Err(RunError::Request {
                target: "disk".to_owned(),
                access: Access::Write,
                at: Bytes::new(4096),
                len: Bytes::new(8192),
                source: std::io::ErrorKind::StorageFull.into(),
            }),
            _ => steady(slot),
        };
        let mut session = Session::new(plan(), None).expect("a plan");
        let mut model = Model {
            rate: failing,
            made: Vec::new(),
        };
        let end = session.run(&mut model, &Watch::default(), |_| ());
        let End::Failed(text) = end else {
            panic!("{end:?}");
        };
        assert!(
            text.contains("writing 8,192 bytes at byte 4,096 of disk"),
            "{text}"
        );
        assert!(session.failure().is_some_and(Failure::is_of_writing));
        assert_eq!(session.samples().len(), 7);
    }

    #[test]
    fn stop_is_heard_between_runs_and_time_goes_on_where_it_stood() {
        let watch = Watch::default();
        let mut session = Session::new(plan(), None).expect("a plan");
        let mut model = Model {
            rate: |slot| {
                watch.stop.store(true, Ordering::Relaxed);
                steady(slot)
            },
            made: Vec::new(),
        };
        assert_eq!(session.run(&mut model, &watch, |_| ()), End::Stopped);
        let mut samples = session.samples().to_vec();
        assert_eq!(samples.len(), 1);
        samples[0].began = Duration::from_secs(60);
        let mut session = Session::resume(plan(), None, samples).expect("a plan");
        let mut told = Vec::new();
        let mut model = Model {
            rate: steady,
            made: Vec::new(),
        };
        session.run(&mut model, &Watch::default(), |beginning| {
            told.push(beginning.elapsed)
        });
        assert!(told[0] >= Duration::from_secs(60) && told[0] < Duration::from_secs(70));
    }
}
