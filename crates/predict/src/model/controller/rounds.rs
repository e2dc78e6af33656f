//! Processors that work in rounds: each takes what waits, spends some time once, then serves it one after the other.
//!
//! In queueing theory, gated service with a set-up time. What a round costs is shared by all that it serves, so that a
//! processor becomes more efficient the more waits, and a closed loop approaches its limit slowly.

use std::collections::VecDeque;

use crate::kernel::Time;

#[derive(Debug)]
struct Processor {
    serving: Option<u32>,
    end: Time,
    /// What is left of its round.
    round: VecDeque<(Time, u32)>,
}

/// All processors of a controller, and what waits for a round.
#[derive(Debug)]
pub(super) struct Rounds {
    processors: Vec<Processor>,
    waiting: VecDeque<(Time, u32)>,
    round: Time,
    served: Time,
    next: Time,
}

impl Rounds {
    pub(super) fn new(processors: usize, round: Time) -> Rounds {
        let processor = || Processor {
            serving: None,
            end: Time::NEVER,
            round: VecDeque::new(),
        };
        Rounds {
            processors: std::iter::repeat_with(processor)
                .take(processors.max(1))
                .collect(),
            waiting: VecDeque::new(),
            round,
            served: Time::ZERO,
            next: Time::NEVER,
        }
    }

    /// A command comes that needs a processor for `service`.
    pub(super) fn submit(&mut self, now: Time, command: u32, service: Time) {
        self.waiting.push_back((service, command));
        if let Some(idle) = self.processors.iter().position(|p| p.serving.is_none()) {
            self.start(now, idle);
        }
        self.set_next();
    }

    /// The processor goes on with its round, or begins one with its share of what waits.
    fn start(&mut self, now: Time, which: usize) {
        let processors = self.processors.len();
        let Some(processor) = self.processors.get_mut(which) else {
            return;
        };
        let mut begin = Time::ZERO;
        if processor.round.is_empty() {
            let share = self.waiting.len().div_ceil(processors);
            processor.round.extend(self.waiting.drain(..share));
            begin = self.round;
        }
        match processor.round.pop_front() {
            Some((service, command)) => {
                let busy = begin + service;
                processor.serving = Some(command);
                processor.end = now + busy;
                self.served += busy;
            }
            None => processor.end = Time::NEVER,
        }
    }

    fn set_next(&mut self) {
        let ends = self.processors.iter().map(|processor| processor.end);
        self.next = ends.min().unwrap_or(Time::NEVER);
    }

    /// When the next command has been served.
    pub(super) fn next(&self) -> Time {
        self.next
    }

    /// The command that has been served at `now`, which is [`Rounds::next`].
    pub(super) fn take(&mut self, now: Time) -> Option<u32> {
        let which = self.processors.iter().position(|p| p.end == now)?;
        let done = self.processors.get_mut(which)?.serving.take();
        self.start(now, which);
        self.set_next();
        done
    }

    pub(super) fn count(&self) -> usize {
        self.processors.len()
    }

    fn ahead(&self, now: Time) -> Time {
        let busy = self.processors.iter().filter(|p| p.serving.is_some());
        busy.fold(Time::ZERO, |sum, p| sum + (p.end - now))
    }

    /// Time that processors were busy before `now` since the last [`Rounds::forget`], all together.
    pub(super) fn busy_until(&self, now: Time) -> Time {
        self.served - self.ahead(now)
    }

    /// Counts from `now` on only.
    pub(super) fn forget(&mut self, now: Time) {
        self.served = self.ahead(now);
    }
}
