//! An array's controller: processors that spend time on each command and on each piece that it is split into.

mod rounds;

use super::Model;
use super::device::Operation;
use crate::kernel::{Servers, Time};
use crate::profile::{Key, Section};
use rounds::Rounds;

const PROCESSORS: Key = Key::count(
    "processors",
    1.0,
    1024.0,
    "Processors that share the work; each command is served by one.",
)
.or(1.0, "what is not told apart is one");
const READ: Key = Key::time(
    "read",
    0.0,
    1.0,
    "Processor time for a read command of one piece.",
);
const WRITE: Key = Key::time(
    "write",
    0.0,
    1.0,
    "Processor time for a write command of one piece.",
);
const PIECE: Key = Key::number(
    "piece",
    0.0,
    10.0,
    "of a command",
    "Processor time for each further piece (stripe unit touched), as a multiple of that for a command.",
)
.or(0.0, "splitting costs the controller nothing unless measured");
const OPERATION: Key = Key::time(
    "operation",
    0.0,
    1.0,
    "Processor time for each operation of a member that the cache makes by itself (destage, backfill, read-ahead). With it, \
     a write that goes to the cache has one piece: it is split when it is destaged.",
)
.optional();
const ROUND: Key = Key::time(
    "round",
    0.0,
    0.1,
    "Processor time spent once for each round, in which a processor takes all that waits and then serves it.",
)
.or(0.0, "each command is taken by itself");
const BANDWIDTH: Key = Key::rate(
    "bandwidth",
    1e5,
    1e13,
    "Data rate of one processor's path, which adds to its time.",
)
.optional();

/// Its parameters.
pub(crate) static MODEL: Model = Model {
    section: "controller",
    title: "Controller",
    keys: &[
        &PROCESSORS,
        &READ,
        &WRITE,
        &PIECE,
        &OPERATION,
        &ROUND,
        &BANDWIDTH,
    ],
};

/// Processors and their times.
#[derive(Debug)]
pub(crate) struct Controller {
    processors: Processors,
    read: f64,
    write: f64,
    piece: f64,
    operation: Option<f64>,
    /// Member operations that the next command's processor does first.
    owed: u32,
    seconds_per_byte: f64,
}

#[derive(Debug)]
enum Processors {
    Shared(Servers<u32>),
    InRounds(Rounds),
}

impl Controller {
    pub(crate) fn build(section: &Section) -> Controller {
        let count = usize::try_from(section.whole(&PROCESSORS)).unwrap_or(1);
        let round = section.time(&ROUND);
        Controller {
            processors: if round == Time::ZERO {
                Processors::Shared(Servers::new(count))
            } else {
                Processors::InRounds(Rounds::new(count, round))
            },
            read: section.number(&READ),
            write: section.number(&WRITE),
            piece: section.number(&PIECE),
            operation: section.optional(&OPERATION),
            owed: 0,
            seconds_per_byte: section.optional(&BANDWIDTH).map_or(0.0, |rate| 1.0 / rate),
        }
    }

    /// A command comes that touches so many stripe units.
    #[inline]
    pub(crate) fn submit(&mut self, now: Time, command: u32, operation: Operation, pieces: u32) {
        let base = if operation.is_read() {
            self.read
        } else {
            self.write
        };
        let extra = f64::from(pieces.saturating_sub(1)) * self.piece;
        #[expect(clippy::cast_precision_loss, reason = "a length is far below 2⁵³")]
        let transfer = operation.len as f64 * self.seconds_per_byte;
        let mut service = base * (1.0 + extra) + transfer;
        if self.owed > 0 {
            service += f64::from(self.owed) * self.operation.unwrap_or(0.0);
            self.owed = 0;
        }
        let service = Time::seconds(service);
        match &mut self.processors {
            Processors::Shared(servers) => servers.submit(now, command, service),
            Processors::InRounds(rounds) => rounds.submit(now, command, service),
        }
    }

    /// True when the member operations of a write that went to the cache are paid when it is destaged.
    #[inline]
    pub(crate) fn pays_destages(&self) -> bool {
        self.operation.is_some()
    }

    /// The cache made so many member operations; the next command's processor does them first. They delay commands, as they
    /// would in any order, and never wait themselves.
    pub(crate) fn owe(&mut self, operations: usize) {
        if self.operation.is_some() {
            let operations = u32::try_from(operations).unwrap_or(u32::MAX);
            self.owed = self.owed.saturating_add(operations);
        }
    }

    /// When the next command has been served.
    #[inline]
    pub(crate) fn next(&self) -> Time {
        match &self.processors {
            Processors::Shared(servers) => servers.next(),
            Processors::InRounds(rounds) => rounds.next(),
        }
    }

    /// The command that has been served at `now`, which is [`Controller::next`].
    #[inline]
    pub(crate) fn take(&mut self, now: Time) -> Option<u32> {
        match &mut self.processors {
            Processors::Shared(servers) => servers.take(now),
            Processors::InRounds(rounds) => rounds.take(now),
        }
    }

    /// How many processors there are.
    pub(crate) fn count(&self) -> usize {
        match &self.processors {
            Processors::Shared(servers) => servers.count(),
            Processors::InRounds(rounds) => rounds.count(),
        }
    }

    /// Time that they were busy before `now` since the last [`Controller::forget`], all together.
    pub(crate) fn busy_until(&self, now: Time) -> Time {
        match &self.processors {
            Processors::Shared(servers) => servers.busy_until(now),
            Processors::InRounds(rounds) => rounds.busy_until(now),
        }
    }

    /// Counts from `now` on only.
    pub(crate) fn forget(&mut self, now: Time) {
        match &mut self.processors {
            Processors::Shared(servers) => servers.forget(now),
            Processors::InRounds(rounds) => rounds.forget(now),
        }
    }
}

#[cfg(test)]
mod tests;
