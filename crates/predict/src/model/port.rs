//! Host ports: what a command occupies on its way in and out, and how many may be inside.

use std::collections::VecDeque;

use super::Model;
use crate::kernel::{Servers, Time};
use crate::profile::{Key, Section};

const COUNT: Key =
    Key::count("count", 1.0, 64.0, "Ports that commands are spread over.").or(1.0, "one path");
const COMMAND: Key = Key::time(
    "command",
    0.0,
    0.1,
    "Time that a command occupies a port besides its data.",
)
.or(0.0, "small beside the service behind it");
const BANDWIDTH: Key = Key::rate("bandwidth", 1e5, 1e13, "Data rate of one port.").optional();
const DEPTH: Key = Key::count(
    "depth",
    1.0,
    65_536.0,
    "Commands that may be inside at once; others wait with the host.",
)
.optional();

/// Its parameters.
pub(crate) static MODEL: Model = Model {
    section: "port",
    title: "Host ports",
    keys: &[&COUNT, &COMMAND, &BANDWIDTH, &DEPTH],
};

/// Ports and those that wait for them.
#[derive(Debug)]
pub(crate) struct Port {
    pub(crate) servers: Servers<u32>,
    command: f64,
    seconds_per_byte: f64,
    depth: usize,
    inside: usize,
    waiting: VecDeque<(u32, u64)>,
}

impl Port {
    pub(crate) fn build(section: &Section) -> Port {
        let count = |key| usize::try_from(section.whole(key)).unwrap_or(usize::MAX);
        Port {
            servers: Servers::new(count(&COUNT)),
            command: section.number(&COMMAND),
            seconds_per_byte: section.optional(&BANDWIDTH).map_or(0.0, |rate| 1.0 / rate),
            depth: section
                .optional(&DEPTH)
                .map_or(usize::MAX, |_| count(&DEPTH)),
            inside: 0,
            waiting: VecDeque::new(),
        }
    }

    /// A command of `len` bytes comes.
    pub(crate) fn enter(&mut self, now: Time, command: u32, len: u64) {
        if self.inside >= self.depth {
            self.waiting.push_back((command, len));
            return;
        }
        self.inside += 1;
        #[expect(clippy::cast_precision_loss, reason = "a length is far below 2⁵³")]
        let transfer = len as f64 * self.seconds_per_byte;
        self.servers
            .submit(now, command, Time::seconds(self.command + transfer));
    }

    /// A command has left, and makes room.
    pub(crate) fn leave(&mut self, now: Time) {
        self.inside -= 1;
        if let Some((command, len)) = self.waiting.pop_front() {
            self.enter(now, command, len);
        }
    }
}
