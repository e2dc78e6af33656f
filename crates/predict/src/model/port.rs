//! Host ports: what a command occupies on its way in and out, and how many may be inside.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use std::collections::VecDeque;

use super::Model;
use super::server::even;
use crate::kernel::{Places, Servers, Time};
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
const LATENCY: Key = Key::time(
    "latency",
    0.0,
    1.0,
    "Time that a command and its answer are on their way besides, driver, adapter and fabric included: on average, as it \
     varies evenly by a quarter either way. It occupies nothing.",
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
    keys: &[&COUNT, &COMMAND, &LATENCY, &BANDWIDTH, &DEPTH],
};

/// Ports and those that wait for them.
#[derive(Debug)]
pub(crate) struct Port {
    servers: Servers<u32>,
    command: f64,
    /// Seconds.
    latency: f64,
    /// Where every way took the same time, a closed loop would go round in step for ever.
    random: Xoshiro256PlusPlus,
    seconds_per_byte: f64,
    depth: usize,
    inside: usize,
    places: Places,
    /// Those that wait with the host, and their bytes.
    waiting: VecDeque<(u32, u64)>,
    /// Those on their way, when they get there, and their bytes; the first first.
    coming: VecDeque<(Time, u32, u64)>,
}

impl Port {
    /// `random` is a number of its own for each replicate.
    pub(crate) fn build(section: &Section, random: u64) -> Port {
        let count = |key| usize::try_from(section.whole(key)).unwrap_or(usize::MAX);
        Port {
            servers: Servers::new(count(&COUNT)),
            command: section.number(&COMMAND),
            latency: section.number(&LATENCY),
            random: Xoshiro256PlusPlus::seed_from_u64(random),
            seconds_per_byte: section.optional(&BANDWIDTH).map_or(0.0, |rate| 1.0 / rate),
            depth: section
                .optional(&DEPTH)
                .map_or(usize::MAX, |_| count(&DEPTH)),
            inside: 0,
            places: Places::default(),
            waiting: VecDeque::new(),
            coming: VecDeque::new(),
        }
    }

    /// A command of `len` bytes comes.
    #[inline]
    pub(crate) fn enter(&mut self, now: Time, command: u32, len: u64) {
        if self.inside >= self.depth {
            self.waiting.push_back((command, len));
            return;
        }
        self.inside += 1;
        self.places.set(now, self.inside);
        if self.latency == 0.0 {
            self.occupy(now, command, len);
            return;
        }
        let latency = self.latency * (1.0 + (even(&mut self.random) - 0.5) / 2.0);
        let at = now + Time::seconds(latency);
        let behind = self.coming.iter().rposition(|(other, ..)| *other <= at);
        let place = behind.map_or(0, |behind| behind + 1);
        self.coming.insert(place, (at, command, len));
    }

    #[inline]
    fn occupy(&mut self, now: Time, command: u32, len: u64) {
        #[expect(clippy::cast_precision_loss, reason = "a length is far below 2⁵³")]
        let transfer = len as f64 * self.seconds_per_byte;
        let service = Time::seconds(self.command + transfer);
        self.servers.submit(now, command, service);
    }

    /// When something happens next.
    #[inline]
    pub(crate) fn next(&self) -> Time {
        let comes = self.coming.front().map_or(Time::NEVER, |(at, ..)| *at);
        self.servers.next().min(comes)
    }

    /// It happens: the command that has passed a port at `now`, if one has.
    #[inline]
    pub(crate) fn advance(&mut self, now: Time) -> Option<u32> {
        if let Some((at, command, len)) = self.coming.front().copied()
            && at <= now
        {
            self.coming.pop_front();
            self.occupy(now, command, len);
            return None;
        }
        self.servers.take(now)
    }

    /// A command has left the array, and makes room.
    #[inline]
    pub(crate) fn leave(&mut self, now: Time) {
        self.inside -= 1;
        self.places.set(now, self.inside);
        if let Some((command, len)) = self.waiting.pop_front() {
            self.enter(now, command, len);
        }
    }

    /// How many ports there are.
    pub(crate) fn count(&self) -> usize {
        self.servers.count()
    }

    /// Commands that may be inside at once, where there is a limit, and the time for which they were.
    pub(crate) fn places(&self, now: Time) -> Option<(usize, Time)> {
        let is_limited = self.depth != usize::MAX;
        is_limited.then(|| (self.depth, self.places.busy_until(now)))
    }

    /// Time that they were busy before `now` since the last [`Port::forget`], all together.
    pub(crate) fn busy_until(&self, now: Time) -> Time {
        self.servers.busy_until(now)
    }

    /// Counts from `now` on only.
    pub(crate) fn forget(&mut self, now: Time) {
        self.servers.forget(now);
        self.places.forget(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Profile;

    fn port(text: &str) -> Port {
        let text = format!("title = \"t\"\nsummary = \"t\"\n[port]\n{text}");
        let profile = Profile::read("test", &text).and_then(|profile| profile.complete());
        let profile = profile.expect("a profile");
        Port::build(profile.section("port").expect("it has one"), 7)
    }

    fn us(count: u64) -> Time {
        Time::nanoseconds(count * 1000)
    }

    #[test]
    fn no_more_than_the_limit_are_inside_and_they_come_in_order() {
        let mut port = port(
            "count = { value = 2, assumed = \"t\" }\ncommand = { value = \"10 us\", assumed = \"t\" }\n\
             bandwidth = { value = \"100 MB/s\", assumed = \"t\" }\ndepth = { value = 3, assumed = \"t\" }\n\
             latency = { value = \"5 us\", assumed = \"t\" }",
        );
        for command in 0..10 {
            port.enter(Time::ZERO, command, 1000);
        }
        let (mut inside, mut passed) = (3, Vec::new());
        let mut now = Time::ZERO;
        while port.next() < Time::NEVER {
            now = port.next();
            if let Some(command) = port.advance(now) {
                passed.push(command);
                // The array answers at once.
                port.leave(now);
                inside = port.inside.max(inside);
            }
        }
        assert_eq!(inside, 3);
        assert_eq!(passed, (0..10).collect::<Vec<u32>>());
        // Ten commands of 20 us on two ports, each of the later ones held up by 5 us of way.
        assert_eq!(port.busy_until(now), us(200));
        assert!(now >= us(105) && now <= us(145), "{now:?}");
    }
}
