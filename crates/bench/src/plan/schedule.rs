//! The state machine: what is next, given what came out so far.

use std::time::Duration;

use super::{Plan, PlanError, Slot, order};
use crate::results::End;
use crate::statistics::add_block;
use crate::statistics::blocks::Collector;
use straddle_workload::interval::Estimate;

/// The order of runs, decided as their outcomes come in.
///
/// The same plan and the same recorded rates give the same order, so a journal of them is enough to go on where an
/// experiment was interrupted; runs of a block that was not finished are repeated.
#[derive(Debug)]
pub struct Schedule {
    plan: Plan,
    rates: Collector<f64>,
    /// For each cell, one for each candidate.
    estimates: Vec<Vec<Estimate>>,
    /// For each cell, whether it has its least blocks and every interval of it is narrow enough.
    precise: Vec<bool>,
    /// The block under way: its runs that are still to be made, the next one last.
    ahead: Vec<Slot>,
    clock: Clock,
    /// The budget has kept a block from being made.
    out_of_time: bool,
}

/// How far an experiment has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Runs that count: those of complete blocks and of the one under way.
    pub made: u64,
    /// Runs that it will take altogether as far as is known now: the least number at first, then what the spreads so
    /// far call for. The budget is left out: compare times for that.
    pub expected: u64,
}

/// How long blocks really take.
#[derive(Debug, Default)]
struct Clock {
    /// When the block under way was begun, and how many runs it has had.
    begun: Option<Duration>,
    blocks: u32,
    sum: Duration,
    last: Duration,
}

impl Clock {
    /// A block was finished and is followed by whatever comes next, now.
    fn stop(&mut self, now: Duration) {
        if let Some(begun) = self.begun.take() {
            self.last = now.saturating_sub(begun);
            self.sum = self.sum.saturating_add(self.last);
            self.blocks = self.blocks.saturating_add(1);
        }
    }

    /// How long the next one will take: the mean so far, or longer if the last took longer or the plan says so.
    fn block(&self, planned: Duration) -> Duration {
        let mean = self.sum.checked_div(self.blocks).unwrap_or_default();
        planned.max(mean).max(self.last)
    }
}

impl Schedule {
    /// Nothing has been run yet.
    ///
    /// # Errors
    /// [`PlanError`] for a plan that cannot be carried out or cannot prove anything.
    pub fn new(plan: Plan) -> Result<Schedule, PlanError> {
        plan.check()?;
        let estimate = Estimate::new(plan.least_blocks);
        let cell = vec![estimate; plan.offsets.len() - 1];
        Ok(Schedule {
            rates: Collector::new(&plan),
            estimates: vec![cell; plan.cells.len()],
            precise: vec![false; plan.cells.len()],
            ahead: Vec::new(),
            clock: Clock::default(),
            out_of_time: false,
            plan,
        })
    }

    /// The plan.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The next run, or `None` when it is enough. `elapsed` is the time since the experiment began.
    ///
    /// A run that was handed out and is not recorded is handed out again.
    pub fn next(&mut self, elapsed: Duration) -> Option<Slot> {
        if let Some(slot) = self.ahead.last() {
            return Some(*slot);
        }
        self.clock.stop(elapsed);
        let (cell, block) = self.next_block()?;
        if block > 0
            && let Some(budget) = self.plan.budget
        {
            let runs = u32::try_from(self.plan.runs_per_block()).unwrap_or(u32::MAX);
            let planned = self.plan.run_time().saturating_mul(runs);
            if elapsed.saturating_add(self.clock.block(planned)) > budget {
                self.out_of_time = true;
                return None;
            }
        }
        self.ahead = order::block(&self.plan, cell, block);
        self.ahead.reverse();
        self.clock.begun = Some(elapsed);
        self.ahead.last().copied()
    }

    /// A run was made; `rate` is its requests each second.
    ///
    /// Also takes the runs of a journal, in their order, before the first call of [`Schedule::next`]; a block that is
    /// not complete there begins again.
    pub fn record(&mut self, slot: Slot, rate: f64) {
        if self.ahead.last() == Some(&slot) {
            self.ahead.pop();
        }
        if !self.rates.push(slot, rate) {
            return;
        }
        let cell = slot.cell as usize;
        // Pushing has shown that the cell exists and has a complete block.
        let blocks = &self.rates.cells()[cell].complete;
        let estimates = &mut self.estimates[cell];
        if let Some(runs) = blocks.last() {
            add_block(estimates, runs, |rate| *rate, self.plan.measured);
        }
        let half = self.plan.half_width();
        self.precise[cell] = blocks.len() >= self.plan.least_blocks as usize
            && estimates.iter().all(|estimate| estimate.is_within(half));
    }

    /// Why there is nothing more to do; `None` as long as there is.
    #[must_use]
    pub fn end(&self) -> Option<End> {
        if self.out_of_time {
            return Some(End::OutOfTime);
        }
        if self.next_block().is_some() {
            return None;
        }
        let precise = self.precise.iter().all(|precise| *precise);
        Some(if precise {
            End::Precise
        } else {
            End::OutOfBlocks
        })
    }

    /// Seeds the addresses of a run: the same for all runs of a block, so that every offset gets the same sequence of
    /// places on its lattice, and another for every block.
    #[must_use]
    pub fn address_seed(&self, slot: Slot) -> u64 {
        order::addresses(self.plan.seed, slot.cell, slot.block)
    }

    /// How far it has come.
    #[must_use]
    pub fn progress(&self) -> Progress {
        let each = self.plan.runs_per_block() as u64;
        let (mut made, mut expected) = (0_u64, 0_u64);
        for (cell, blocks) in self.rates.cells().iter().enumerate() {
            let complete = blocks.complete.len() as u64;
            made += complete * each;
            let needed = if self.is_done(cell) {
                complete
            } else {
                let half = self.plan.half_width();
                let all = self.estimates[cell].iter().filter_map(|e| e.needed(half));
                let most = all.max().unwrap_or(self.plan.least_blocks);
                u64::from(most.min(self.plan.most_blocks)).max(complete + 1)
            };
            expected = expected.saturating_add(needed * each);
        }
        if !self.ahead.is_empty() {
            made += each - self.ahead.len() as u64;
        }
        Progress { made, expected }
    }

    /// Cell and number of the next block: of the cells that need one, the one with the fewest, so that each has one in
    /// every round; among those, the order of the round.
    fn next_block(&self) -> Option<(u32, u32)> {
        let cells = self.rates.cells().iter().enumerate();
        let open = cells.filter(|(cell, _)| !self.is_done(*cell));
        let blocks = open.filter_map(|(cell, blocks)| {
            let block = u32::try_from(blocks.complete.len()).ok()?;
            Some((block, u32::try_from(cell).ok()?))
        });
        let next = blocks.min_by_key(|(block, cell)| {
            (
                *block,
                order::place_in_round(self.plan.seed, *cell, *block),
                *cell,
            )
        });
        next.map(|(block, cell)| (cell, block))
    }

    /// Whether a cell needs no more blocks, or may not have them.
    fn is_done(&self, cell: usize) -> bool {
        let blocks = self.rates.cells()[cell].complete.len();
        self.precise[cell] || blocks >= self.plan.most_blocks as usize
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::plan;
    use super::*;
    use proptest::prelude::*;

    /// A rate for each slot that follows from the slot alone, with noise of a few percent: what a run would measure
    /// again.
    fn rate(slot: Slot) -> f64 {
        let words = [slot.cell, slot.block, slot.position];
        let hash = words.iter().fold(0x9e37_79b9_u64, |hash, word| {
            let mixed = (hash ^ u64::from(*word)).wrapping_mul(0xff51_afd7_ed55_8ccd);
            mixed ^ (mixed >> 29)
        });
        let noise = (hash >> 40) as f64 / (1_u64 << 24) as f64;
        1e6 * (1.0 + 0.05 * f64::from(slot.cell + 1) * (noise - 0.5))
    }

    /// Makes all runs that are still to be made, each taking a second.
    fn finish(schedule: &mut Schedule, journal: &mut Vec<Slot>, most: usize) {
        while journal.len() < most {
            let now = Duration::from_secs(journal.len() as u64);
            let Some(slot) = schedule.next(now) else {
                break;
            };
            schedule.record(slot, rate(slot));
            journal.push(slot);
        }
    }

    fn start(plan: &Plan) -> Schedule {
        Schedule::new(plan.clone()).expect("a good plan")
    }

    fn whole(plan: &Plan) -> (Schedule, Vec<Slot>) {
        let (mut schedule, mut journal) = (start(plan), Vec::new());
        finish(&mut schedule, &mut journal, usize::MAX);
        (schedule, journal)
    }

    /// The runs of complete blocks, without those that were repeated later.
    fn counted(plan: &Plan, journal: &[Slot]) -> Vec<Slot> {
        let mut collector = Collector::new(plan);
        for slot in journal {
            collector.push(*slot, ());
        }
        let cells = collector.cells().iter();
        cells
            .flat_map(|cell| cell.complete.iter().flatten().map(|(slot, ())| *slot))
            .collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Interrupted anywhere, twice, an experiment goes on as if nothing had happened: the same runs, the same end.
        #[test]
        fn it_goes_on_where_it_was_interrupted(
            (cells, offsets) in (1..4_usize, 1..4_u64),
            seed in 0..1000_u64,
            first in 0.0..1.0_f64,
            second in 0.0..1.0_f64,
        ) {
            let mut plan = plan(cells, offsets);
            plan.seed = seed;
            plan.most_blocks = 40;
            let (uninterrupted, all) = whole(&plan);
            let share = |of: f64| (all.len() as f64 * of) as usize;
            let cut = share(first);
            let mut journal = all[..cut].to_vec();
            // A new process reads the journal, makes some more runs, and is interrupted again.
            let mut resumed = start(&plan);
            for slot in &journal {
                resumed.record(*slot, rate(*slot));
            }
            let again = journal.len() + share(second * (1.0 - first));
            finish(&mut resumed, &mut journal, again);
            let mut resumed = start(&plan);
            for slot in &journal {
                resumed.record(*slot, rate(*slot));
            }
            finish(&mut resumed, &mut journal, usize::MAX);
            prop_assert_eq!(counted(&plan, &journal), counted(&plan, &all));
            prop_assert_eq!(resumed.end(), uninterrupted.end());
            // The order after the cut is the same too, from the start of the block that was cut.
            let block = cut - cut % plan.runs_per_block();
            let mut resumed = start(&plan);
            for slot in &all[..cut] {
                resumed.record(*slot, rate(*slot));
            }
            let mut rest = Vec::new();
            finish(&mut resumed, &mut rest, usize::MAX);
            prop_assert_eq!(&rest[..], &all[block..]);
        }

        /// Every cell has a block in every round, and stops by the rule: at the first block at which all of its
        /// intervals are narrow enough.
        #[test]
        fn rounds_are_fair_and_cells_stop_in_time(cells in 1..5_usize, seed in 0..1000_u64) {
            let mut plan = plan(cells, 3);
            plan.seed = seed;
            let (schedule, journal) = whole(&plan);
            let mut made = vec![0_u32; cells];
            for block in journal.chunks(plan.runs_per_block()) {
                let cell = block[0].cell as usize;
                prop_assert_eq!(block, order::block(&plan, cell as u32, made[cell]));
                made[cell] += 1;
                // Nobody is a round ahead of a cell that still needs blocks.
                let behind = made.iter().enumerate().all(|(other, n)| {
                    *n + 1 >= made[cell] || *n as usize == schedule.rates.cells()[other].complete.len()
                });
                prop_assert!(behind);
            }
            for (cell, blocks) in schedule.rates.cells().iter().enumerate() {
                let mut estimates = vec![Estimate::new(plan.least_blocks); 2];
                let mut stop = None;
                for (number, block) in blocks.complete.iter().enumerate() {
                    prop_assert_eq!(stop, None, "cell {} went on", cell);
                    add_block(&mut estimates, block, |rate| *rate, plan.measured);
                    let narrow = |e: &Estimate| e.half_width().is_some_and(|w| w <= plan.half_width());
                    if number + 1 >= plan.least_blocks as usize && estimates.iter().all(narrow) {
                        stop = Some(number);
                    }
                }
                prop_assert!(stop.is_some() || blocks.complete.len() == plan.most_blocks as usize);
            }
            let progress = schedule.progress();
            prop_assert_eq!(progress.made, journal.len() as u64);
            prop_assert_eq!(progress.made, progress.expected);
        }
    }

    #[test]
    fn the_first_stage_is_made_round_by_round() {
        let plan = plan(3, 2);
        let (_, journal) = whole(&plan);
        for (number, round) in journal.chunks(9).take(5).enumerate() {
            let mut cells: Vec<u32> = round.chunks(3).map(|block| block[0].cell).collect();
            cells.sort_unstable();
            assert_eq!(cells, [0, 1, 2]);
            assert!(round.iter().all(|slot| slot.block as usize == number));
        }
    }

    #[test]
    fn no_block_is_begun_that_would_not_end_in_time() {
        let mut plan = plan(2, 2);
        plan.most_blocks = 40;
        // Blocks of three seconds by the plan; really a run takes two.
        for (budget, blocks) in [(1, 2), (12, 2), (17, 2), (18, 3), (23, 3), (24, 4)] {
            plan.budget = Some(Duration::from_secs(budget));
            let mut schedule = start(&plan);
            let mut now = Duration::ZERO;
            let mut runs = 0;
            while let Some(slot) = schedule.next(now) {
                schedule.record(slot, 100.0 + f64::from(slot.block % 2));
                now += Duration::from_secs(2);
                runs += 1;
            }
            assert_eq!(runs, blocks * 3, "{budget} s");
            assert_eq!(schedule.end(), Some(End::OutOfTime));
        }
    }

    #[test]
    fn ends_are_told_apart() {
        let mut plan = plan(1, 2);
        let mut quiet = start(&plan);
        assert_eq!(quiet.end(), None);
        while let Some(slot) = quiet.next(Duration::ZERO) {
            quiet.record(slot, 1e6);
        }
        assert_eq!(quiet.end(), Some(End::Precise));
        assert_eq!(quiet.rates.cells()[0].complete.len(), 5);
        plan.most_blocks = 6;
        let mut noisy = start(&plan);
        while let Some(slot) = noisy.next(Duration::ZERO) {
            noisy.record(
                slot,
                if slot.block % 2 == slot.offset {
                    1e6
                } else {
                    2e6
                },
            );
        }
        assert_eq!(noisy.end(), Some(End::OutOfBlocks));
    }

    #[test]
    fn without_candidates_a_block_is_a_run() {
        let plan = plan(2, 1);
        let (schedule, journal) = whole(&plan);
        assert_eq!(journal.len(), 10);
        assert_eq!(schedule.end(), Some(End::Precise));
    }

    #[test]
    fn a_run_that_is_not_recorded_is_handed_out_again() {
        let mut schedule = start(&plan(1, 2));
        let first = schedule.next(Duration::ZERO);
        assert_eq!(schedule.next(Duration::from_secs(9)), first);
        assert!(first.is_some_and(|slot| slot.position == 0));
    }

    #[test]
    fn runs_of_another_plan_change_nothing() {
        let mut schedule = start(&plan(1, 2));
        let stranger = |cell, block, position| Slot {
            cell,
            block,
            position,
            offset: 7,
        };
        for slot in [stranger(9, 0, 0), stranger(0, 3, 0), stranger(0, 0, 2)] {
            schedule.record(slot, f64::NAN);
        }
        assert_eq!(schedule.progress().made, 0);
        assert_eq!(
            schedule
                .next(Duration::ZERO)
                .map(|s| (s.cell, s.block, s.position)),
            Some((0, 0, 0))
        );
    }

    #[test]
    fn addresses_are_those_of_the_block() {
        let schedule = start(&plan(1, 2));
        let slot = |block, position, offset| Slot {
            cell: 0,
            block,
            position,
            offset,
        };
        let first = schedule.address_seed(slot(0, 0, 0));
        assert_eq!(schedule.address_seed(slot(0, 1, 1)), first);
        assert_ne!(schedule.address_seed(slot(1, 0, 0)), first);
    }
}
