//! A member that serves in a fixed or a random time, whatever is asked: the disk of queueing theory, and of the lab.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::Model;
use super::device::{Device, Ended, Operation, Tally, Use};
use crate::kernel::{Servers, Time};
use crate::profile::{Key, Refusal, Section};

const SERVICE: Key = Key::time("service", 1e-9, 1e3, "Time to serve one operation.");
const PER_BYTE: Key = Key::rate(
    "bandwidth",
    1e3,
    1e15,
    "Transfer rate, which adds to the service time.",
)
.optional();
const DISTRIBUTION: Key = Key::word(
    "distribution",
    &["fixed", "exponential"],
    "Whether every service takes the same time, or an exponentially distributed one with that mean.",
)
.or_word("fixed", "servers with a time of their own are made so");
const COUNT: Key = Key::count(
    "servers",
    1.0,
    4096.0,
    "Operations that are served at the same time.",
)
.or(1.0, "one arm, one operation");
const CAPACITY: Key = Key::bytes("capacity", 4096.0, 4e18, "Bytes that it holds.");

/// Its parameters.
pub(crate) static MODEL: Model = Model {
    section: "server",
    title: "Server",
    keys: &[&SERVICE, &PER_BYTE, &DISTRIBUTION, &COUNT, &CAPACITY],
};

/// A queue and its servers.
#[derive(Debug)]
pub(crate) struct Server {
    servers: Servers<u32>,
    service: f64,
    seconds_per_byte: f64,
    random: Option<Xoshiro256PlusPlus>,
    capacity: u64,
    tally: Tally,
}

impl Server {
    fn service(&mut self, len: u64) -> Time {
        #[expect(clippy::cast_precision_loss, reason = "a length is far below 2⁵³")]
        let transfer = len as f64 * self.seconds_per_byte;
        let times = self.random.as_mut().map_or(1.0, exponential);
        Time::seconds(self.service * times + transfer)
    }
}

/// An exponentially distributed number with mean 1.
pub(crate) fn exponential(random: &mut Xoshiro256PlusPlus) -> f64 {
    -libm::log(even(random))
}

/// An evenly distributed number between 0 and 1, neither of which it is.
pub(crate) fn even(random: &mut Xoshiro256PlusPlus) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "53 bits are kept")]
    let share = ((random.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
    share
}

impl Device for Server {
    const SECTION: &'static str = "server";

    fn build(section: &Section, random: u64) -> Result<Server, Refusal> {
        let is_random = section.word(&DISTRIBUTION) == "exponential";
        Ok(Server {
            servers: Servers::new(usize::try_from(section.whole(&COUNT)).unwrap_or(1)),
            service: section.number(&SERVICE),
            seconds_per_byte: section.optional(&PER_BYTE).map_or(0.0, |rate| 1.0 / rate),
            random: is_random.then(|| Xoshiro256PlusPlus::seed_from_u64(random)),
            capacity: section.whole(&CAPACITY),
            tally: Tally::default(),
        })
    }

    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn submit(&mut self, now: Time, ticket: u32, operation: Operation) {
        let done = if operation.is_read() {
            &mut self.tally.reads
        } else {
            self.tally.written += operation.len;
            &mut self.tally.writes
        };
        *done += 1;
        self.tally.bytes += operation.len;
        let service = self.service(operation.len);
        self.servers.submit(now, ticket, service);
    }

    fn next(&self) -> Time {
        self.servers.next()
    }

    fn advance(&mut self, now: Time, ended: &mut Ended) {
        ended.extend(self.servers.take(now));
    }

    fn queued(&self) -> u32 {
        u32::try_from(self.servers.len()).unwrap_or(u32::MAX)
    }

    fn tally(&self) -> Tally {
        self.tally
    }

    fn uses(&self, now: Time, report: &mut dyn FnMut(Use)) {
        report(Use {
            resource: "disks",
            count: u32::try_from(self.servers.count()).unwrap_or(1),
            busy: self.servers.busy_until(now),
        });
    }

    fn forget(&mut self, now: Time) {
        self.servers.forget(now);
        self.tally = Tally::default();
    }
}
