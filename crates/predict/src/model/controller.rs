//! An array's controller: processors that spend time on each command and on each piece that it is split into.

use super::Model;
use super::device::Operation;
use crate::kernel::{Servers, Time};
use crate::profile::{Key, Section};

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
    keys: &[&PROCESSORS, &READ, &WRITE, &PIECE, &BANDWIDTH],
};

/// Processors and their times.
#[derive(Debug)]
pub(crate) struct Controller {
    pub(crate) servers: Servers<u32>,
    read: f64,
    write: f64,
    piece: f64,
    seconds_per_byte: f64,
}

impl Controller {
    pub(crate) fn build(section: &Section) -> Controller {
        Controller {
            servers: Servers::new(usize::try_from(section.whole(&PROCESSORS)).unwrap_or(1)),
            read: section.number(&READ),
            write: section.number(&WRITE),
            piece: section.number(&PIECE),
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
        let service = Time::seconds(base * (1.0 + extra) + transfer);
        self.servers.submit(now, command, service);
    }
}
