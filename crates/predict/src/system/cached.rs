//! A cache between controller and array: what becomes of a command there, and what the cache does by itself.
//!
//! ```text
//!             ┌─ write: wait for room ─ into pages ─ mirror ─ answered
//! controller ─┤─ read: all there ─ answered
//!             └─ read: what is missing ─ array ─ answered
//!    pages ─ run ─ backfills ─ array ─ write ─ array          (destage)
//! ```
//!
//! What the cache does by itself are *tasks*: commands of no visit that return here. Without a cache, nothing of this costs
//! anything but the question whether there is one.

use slab::Slab;
use std::collections::VecDeque;

use super::flow::{Command, NO_TASK, key};
use super::{Start, System};
use crate::kernel::{Places, Time};
use crate::model::cache::{Cache, Found, Held};
use crate::model::soft::{Fragment, To};
use crate::model::{Device, Operation};
use crate::requests::Requests;

/// Requests without a write among them after which none is waited for.
const FEW: u64 = 1000;
/// Most requests that fill a cache before time begins.
const MAX_DRAWN: u64 = 1 << 22;

/// A cache at work.
#[derive(Debug)]
pub(super) struct Cached {
    cache: Cache,
    tasks: Slab<Task>,
    /// Writes that wait for room, and how far each has been taken.
    waiting: VecDeque<(u32, u64)>,
    /// Writes that are being mirrored, and until when.
    answers: VecDeque<(Time, u32)>,
    /// Reads ahead that are under way.
    aheads: Vec<u32>,
    idle_at: Time,
    is_idle: bool,
    backfills: Vec<Operation>,
    /// Destages under way.
    slots: Places,
}

/// What the cache does by itself.
#[derive(Debug)]
enum Task {
    /// A run, and how many backfills it waits for.
    Destage { write: Operation, backfills: usize },
    /// A read that a destage waits for.
    Backfill { destage: u32 },
    /// A read ahead, and the commands that wait for it.
    ReadAhead { read: Operation, waiting: Vec<u32> },
}

impl Cached {
    pub(super) fn new(cache: Cache) -> Cached {
        Cached {
            cache,
            tasks: Slab::new(),
            waiting: VecDeque::new(),
            answers: VecDeque::new(),
            aheads: Vec::new(),
            idle_at: Time::NEVER,
            is_idle: false,
            backfills: Vec::new(),
            slots: Places::default(),
        }
    }

    /// Destages that may be under way at once, and the time for which they were.
    pub(super) fn slots(&self, now: Time) -> (usize, Time) {
        (self.cache.destages(), self.slots.busy_until(now))
    }

    /// Counts from `now` on only.
    pub(super) fn forget(&mut self, now: Time) {
        self.slots.forget(now);
    }

    pub(super) fn is_write_back(&self) -> bool {
        self.cache.is_write_back
    }

    pub(super) fn pages(&self) -> Held {
        self.cache.held()
    }

    fn next(&self) -> Time {
        let answer = self.answers.front().map_or(Time::NEVER, |(at, _)| *at);
        answer.min(self.idle_at)
    }
}

impl<D: Device> System<D> {
    /// Fills the cache as it is after a long time of work, before time begins: requests are drawn and only their places
    /// matter. As many are drawn at every offset, so that common random numbers stay common.
    pub(super) fn warm(&mut self, requests: &mut impl Requests, start: Start) {
        self.fill(requests, start);
        if let Some(cached) = &mut self.cached {
            cached.cache.leave_out(start.fill, start.spread);
        }
    }

    fn fill(&mut self, requests: &mut impl Requests, start: Start) {
        let System {
            cached: Some(Cached { cache, .. }),
            soft,
            fragments,
            capacity,
            ..
        } = self
        else {
            return;
        };
        let streams = requests.streams();
        let made = cache.made(start.fill, start.spread);
        let (enough_written, enough) = cache.warm_after(start.drawn, start.spread);
        let (mut written, mut all) = (0, 0);
        for (drawn, stream) in (0_u64..).zip((0..streams).cycle()) {
            let is_written = written >= enough_written || (written == 0 && drawn > FEW);
            if (is_written && all >= enough) || drawn > MAX_DRAWN {
                return;
            }
            let Some(operation) = requests.before(stream) else {
                return;
            };
            if operation.start.get().saturating_add(operation.len.get()) > *capacity {
                return;
            }
            let operation = Operation {
                access: operation.access,
                start: operation.start.get(),
                len: operation.len.get(),
            };
            let pages = cache.pages_of(operation.len);
            all += pages;
            if !operation.is_read() {
                written += pages;
            }
            soft.translate(Time::ZERO, operation, fragments);
            for Fragment { operation, to, .. } in fragments.drain(..) {
                if to == To::Array {
                    cache.warm(operation, made);
                }
            }
        }
    }

    /// A command comes to the cache.
    pub(super) fn enter_cache(&mut self, now: Time, key: u32) {
        let operation = self.commands[key as usize].operation;
        let units = self.layout.units(operation);
        self.measure.cached().touch(units);
        let Some(cached) = &mut self.cached else {
            return;
        };
        cached.is_idle = false;
        cached.idle_at = cached.cache.idle.map_or(Time::NEVER, |idle| now + idle);
        if operation.is_read() {
            self.read_cached(now, key);
            self.read_ahead(now, operation);
        } else if cached.cache.is_write_back {
            cached.waiting.push_back((key, operation.start));
            self.take_writes(now);
        } else {
            self.issue(now, key);
        }
        self.set_cache();
    }

    fn set_cache(&mut self) {
        if let Some(cached) = &self.cached {
            self.calendar.set(self.cache_station(), cached.next());
        }
    }

    /// A read is answered from the cache, waits for what is being read ahead, or goes to the array for what is missing.
    fn read_cached(&mut self, now: Time, key: u32) {
        let Some(cached) = &mut self.cached else {
            return;
        };
        let operation = &mut self.commands[key as usize].operation;
        let missing = match cached.cache.read(*operation) {
            Found::All => {
                self.measure.cached().cache_hits += 1;
                self.end_command(now, key);
                return;
            }
            Found::AllBut(missing) => missing,
        };
        for ahead in &cached.aheads {
            if let Task::ReadAhead { read, waiting } = &mut cached.tasks[*ahead as usize]
                && read.start < missing.end()
                && missing.start < read.end()
            {
                waiting.push(key);
                return;
            }
        }
        *operation = missing;
        self.issue(now, key);
    }

    fn read_ahead(&mut self, now: Time, read: Operation) {
        let Some(cached) = &mut self.cached else {
            return;
        };
        if let Some(read) = cached.cache.read_ahead(read) {
            self.measure.cached().cache_read_aheads += 1;
            let waiting = Vec::new();
            let task = key(cached.tasks.insert(Task::ReadAhead { read, waiting }));
            cached.aheads.push(task);
            self.send(now, task, read);
        }
    }

    /// Writes go into the cache, the first first, as far as there is room.
    fn take_writes(&mut self, now: Time) {
        while let Some(cached) = &mut self.cached
            && let Some((key, at)) = cached.waiting.front_mut()
        {
            let end = self.commands[*key as usize].operation.end();
            *at = cached.cache.write(*at, end);
            if *at < end {
                break;
            }
            let key = *key;
            cached.waiting.pop_front();
            if cached.cache.mirror == Time::ZERO {
                self.end_command(now, key);
            } else {
                cached.answers.push_back((now + cached.cache.mirror, key));
            }
        }
        self.destage(now);
    }

    /// Sends runs to the array as long as there is reason to.
    fn destage(&mut self, now: Time) {
        while let Some(cached) = &mut self.cached {
            let is_urgent = cached.is_idle || !cached.waiting.is_empty();
            let Some(write) = cached.cache.next_run(is_urgent, &mut cached.backfills) else {
                break;
            };
            cached.slots.set(now, cached.cache.under_way());
            let reads = cached.backfills.len();
            let counts = self.measure.cached();
            counts.cache_destages += 1;
            counts.cache_destaged_bytes += write.len;
            counts.cache_backfills += reads as u64;
            let destage = Task::Destage {
                write,
                backfills: reads,
            };
            let destage = key(cached.tasks.insert(destage));
            if reads == 0 {
                self.send(now, destage, write);
                continue;
            }
            let mut backfills = std::mem::take(&mut cached.backfills);
            for read in backfills.drain(..) {
                let Some(cached) = &mut self.cached else {
                    return;
                };
                let backfill = key(cached.tasks.insert(Task::Backfill { destage }));
                self.send(now, backfill, read);
            }
            if let Some(cached) = &mut self.cached {
                cached.backfills = backfills;
            }
        }
    }

    /// A task's operation goes to the array.
    fn send(&mut self, now: Time, task: u32, operation: Operation) {
        let command = Command {
            visit: None,
            task,
            operation,
            to: To::Array,
            pending: 0,
        };
        let key = key(self.commands.insert(command));
        self.issue(now, key);
    }

    /// A command has come back from the array. True when it was a task's, which is nobody else's business.
    pub(super) fn return_to_cache(&mut self, now: Time, key: u32) -> bool {
        let Some(cached) = &mut self.cached else {
            return false;
        };
        let Command {
            task,
            operation,
            to,
            ..
        } = self.commands[key as usize];
        if task == NO_TASK {
            if to == To::Array && cached.cache.keeps_reads() {
                cached.cache.fill(operation);
            }
            return false;
        }
        self.commands.remove(key as usize);
        match cached.tasks.remove(task as usize) {
            Task::Destage { write, .. } => {
                cached.cache.destaged(write);
                cached.slots.set(now, cached.cache.under_way());
                self.take_writes(now);
            }
            Task::Backfill { destage } => {
                if let Some(Task::Destage { write, backfills }) =
                    cached.tasks.get_mut(destage as usize)
                {
                    *backfills -= 1;
                    let (write, rest) = (*write, *backfills);
                    if rest == 0 {
                        self.send(now, destage, write);
                    }
                }
            }
            Task::ReadAhead { read, waiting } => {
                cached.aheads.retain(|ahead| *ahead != task);
                cached.cache.fill(read);
                for key in waiting {
                    self.read_cached(now, key);
                }
            }
        }
        self.set_cache();
        true
    }

    /// A write has been mirrored, or nothing was asked for a while.
    pub(super) fn wake_cache(&mut self, now: Time) {
        while let Some(cached) = &mut self.cached
            && let Some((at, key)) = cached.answers.front().copied()
            && at <= now
        {
            cached.answers.pop_front();
            self.end_command(now, key);
        }
        if let Some(cached) = &mut self.cached
            && cached.idle_at <= now
        {
            cached.idle_at = Time::NEVER;
            cached.is_idle = true;
            self.destage(now);
        }
        self.set_cache();
    }
}
