//! A hard disk: zones, an arm with a seek curve, platters that really turn, a queue that knows both, sectors that are
//! larger than what is written, and the drive's memory.

mod ahead;
mod arm;
mod build;
mod cache;
mod clock;
mod keys;
mod queue;
mod seek;
mod zones;

use std::collections::VecDeque;
use std::sync::Arc;

use super::device::{Device, Ended, Granules, Operation, Tally, Use};
use crate::kernel::Time;
use crate::profile::{Refusal, Section};
use ahead::Ahead;
use arm::{Mechanics, Motion};
use cache::{Batch, Cache};
pub(crate) use keys::MODEL;
use queue::{Entry, Queue, Sectors};
use zones::Place;

/// What the arm is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Current {
    Nothing,
    Command(Entry),
    /// Writes what is cached.
    Pass,
}

/// A hard disk.
#[derive(Debug)]
pub(crate) struct Disk {
    capacity: u64,
    /// Bytes of a logical sector.
    logical: u64,
    /// Bytes of the first physical sector that lie in front of the first logical one.
    shift: u64,
    /// Binary logarithm of a physical sector's bytes.
    sector_bits: u32,
    seconds_per_byte: f64,
    overhead: Time,
    /// Commands that it holds.
    depth: usize,
    /// Runs of a pass.
    batch: Batch,
    /// Steps to prepare a pass.
    gap: u64,
    is_sorted: bool,
    mechanics: Mechanics,
    /// Cylinder and head of the arm at rest.
    place: Place,
    queue: Queue,
    /// Commands that it does not understand yet, and when it will.
    arriving: VecDeque<(Time, Entry)>,
    /// Commands for which it has no place, and when they came.
    outside: VecDeque<Entry>,
    /// Writes for which the cache has no room.
    blocked: VecDeque<(u32, Operation)>,
    /// Commands that need no arm any more, and when they are answered.
    answers: VecDeque<(Time, u32)>,
    cache: Cache,
    ahead: Ahead,
    /// Runs of the pass.
    pass: Vec<Sectors>,
    current: Current,
    /// When the arm is done with that.
    ends: Time,
    next: Time,
    /// When the interface has transferred what it has to.
    bus_free: Time,
    /// The arm's last work was a pass.
    was_pass: bool,
    tally: Tally,
    busy: Time,
}

impl Disk {
    #[inline]
    fn sectors(&self, operation: Operation) -> Sectors {
        Sectors::of(
            operation.start + self.shift,
            operation.end() + self.shift,
            self.sector_bits,
        )
    }

    #[inline]
    fn transfer(&self, len: u64) -> Time {
        #[expect(clippy::cast_precision_loss, reason = "a length is far below 2⁵³")]
        let seconds = len as f64 * self.seconds_per_byte;
        Time::seconds(seconds)
    }

    /// A command that does not need the arm, understood at `from`, is answered once its data are there and the interface has
    /// passed them.
    fn answer(&mut self, from: Time, ticket: u32, len: u64, ready: Time) {
        let transfer = self.transfer(len);
        let answered = (from.max(self.bus_free) + transfer).max(ready);
        self.bus_free = answered;
        self.answers.push_back((answered, ticket));
    }

    fn read(&mut self, now: Time, ticket: u32, operation: Operation, sectors: Sectors) -> bool {
        let (start, end) = (operation.start + self.shift, operation.end() + self.shift);
        if !self.cache.is_empty() && self.cache.holds(start, end) {
            self.answer(now + self.overhead, ticket, operation.len, now);
            return true;
        }
        if self.queue.len() + self.arriving.len() > 0 || self.current != Current::Nothing {
            return false;
        }
        let (first, end) = (sectors.first, sectors.first + sectors.count);
        let Some(hit) = self.ahead.read(now, first, end, &self.mechanics) else {
            return false;
        };
        self.busy += hit.busy;
        self.answer(now + self.overhead, ticket, operation.len, hit.ready);
        true
    }

    /// A write that the cache takes. True when it does, now or later.
    fn write(&mut self, now: Time, ticket: u32, operation: Operation) -> bool {
        if !self.cache.takes(operation.len) {
            return false;
        }
        if self.blocked.is_empty() && self.cache.has_room(operation.len) {
            self.cache
                .write(operation.start + self.shift, operation.end() + self.shift);
            self.answer(now + self.overhead, ticket, operation.len, now);
        } else {
            self.blocked.push_back((ticket, operation));
        }
        true
    }

    /// A command enters the drive's queue, once the drive has understood it.
    #[inline]
    fn enter(&mut self, now: Time, entry: Entry, len: u64) {
        let mut ready = now + self.overhead;
        if entry.is_write {
            ready = ready.max(self.bus_free) + self.transfer(len);
            self.bus_free = ready;
        }
        // While the arm works until later, nobody can tell the difference.
        if self.arriving.is_empty() && self.current != Current::Nothing && ready <= self.ends {
            self.push(entry);
        } else {
            self.arriving.push_back((ready, entry));
        }
    }

    #[inline]
    fn is_full(&self) -> bool {
        let working = usize::from(matches!(self.current, Current::Command(_)));
        self.queue.len() + self.arriving.len() + working >= self.depth
    }

    /// A command joins those that the arm chooses from.
    #[inline]
    fn push(&mut self, entry: Entry) {
        let run = self.mechanics.zones.run(entry.sectors.first);
        let (mut place, mut settle) = (run.place, 0);
        if entry.is_write {
            match entry.sectors.first_read() {
                None => settle = self.mechanics.moves.settle,
                Some(first) => place = self.mechanics.zones.place(first),
            }
        }
        self.queue.push(entry, run, place, settle);
    }

    #[inline]
    fn admit(&mut self, now: Time) {
        while let Some((ready, entry)) = self.arriving.front() {
            if *ready > now {
                return;
            }
            let entry = *entry;
            self.arriving.pop_front();
            self.push(entry);
        }
    }

    /// The only command that there is, if the drive understands it by now: the arm need not choose.
    #[inline]
    fn alone(&mut self, now: Time) -> Option<Entry> {
        if self.queue.len() > 0 || !self.cache.is_empty() {
            return None;
        }
        let (ready, entry) = self.arriving.front().copied()?;
        let is_followed = self.arriving.get(1).is_some_and(|next| next.0 <= now);
        if ready > now || is_followed {
            return None;
        }
        self.arriving.pop_front();
        Some(entry)
    }

    /// The arm takes up what is next, if it can.
    #[inline]
    fn start(&mut self, now: Time) {
        if self.current != Current::Nothing || self.ahead.free() > now {
            self.admit(now);
            return;
        }
        let alone = self.alone(now);
        if alone.is_none() {
            self.admit(now);
            if self.queue.len() == 0 && self.cache.is_empty() {
                return;
            }
        }
        self.take_up(now, alone);
    }

    /// The arm takes up a command that is alone, or the next of those that wait, or a pass.
    #[inline(never)]
    fn take_up(&mut self, now: Time, alone: Option<Entry>) {
        let has_commands = alone.is_some() || self.queue.len() > 0;
        let has_writes = !self.cache.is_empty();
        if let Some(place) = self.ahead.interrupt(now, &self.mechanics) {
            self.place = place;
        }
        let from = Place {
            angle: self.mechanics.clock.angle(now),
            ..self.place
        };
        let is_pass = has_writes && (!has_commands || !self.blocked.is_empty() && !self.was_pass);
        let mut motion = Motion::new(&self.mechanics, from);
        if is_pass {
            let granules = write_back(
                &mut self.cache,
                &mut self.pass,
                &mut motion,
                (self.batch, self.gap, self.is_sorted, self.sector_bits),
                &self.mechanics,
            );
            self.tally.granules_read += granules;
            self.current = Current::Pass;
        } else if let Some((entry, run)) = alone
            .map(|entry| (entry, self.mechanics.zones.run(entry.sectors.first)))
            .or_else(|| self.queue.take(now, &self.mechanics.moves, from))
        {
            if entry.is_write {
                read_edges(&mut motion, entry.sectors);
            }
            let Sectors { first, count, .. } = entry.sectors;
            motion.pass_from(run, first, count, entry.is_write);
            self.current = Current::Command(entry);
        }
        self.was_pass = is_pass;
        let span = self.mechanics.clock.span(motion.spent);
        self.place = motion.place();
        self.busy += span;
        self.ends = now + span;
    }

    /// The arm is done.
    #[inline]
    fn end(&mut self, now: Time, ended: &mut Ended) {
        match std::mem::replace(&mut self.current, Current::Nothing) {
            Current::Nothing => {}
            Current::Command(entry) => {
                ended.push(entry.ticket);
                if let Some(entry) = self.outside.pop_front() {
                    let len = entry.sectors.count << self.sector_bits;
                    self.enter(now, entry, len);
                }
                if !entry.is_write && self.queue.len() + self.arriving.len() == 0 {
                    let Sectors { first, count, .. } = entry.sectors;
                    let last = self.mechanics.zones.sectors();
                    self.ahead
                        .begin(now, first, first + count, self.place, last);
                }
            }
            Current::Pass => {
                self.cache.end();
                while let Some((ticket, operation)) = self.blocked.front().copied() {
                    if !self.cache.has_room(operation.len) {
                        break;
                    }
                    self.blocked.pop_front();
                    self.cache
                        .write(operation.start + self.shift, operation.end() + self.shift);
                    self.answer(now, ticket, operation.len, now);
                }
            }
        }
        self.ends = Time::NEVER;
    }

    #[inline]
    fn set_next(&mut self) {
        let arm = if self.current == Current::Nothing {
            let waits = self.queue.len() > 0 || !self.cache.is_empty();
            let waiting = if waits {
                self.ahead.free()
            } else {
                Time::NEVER
            };
            let arriving = self.arriving.front().map_or(Time::NEVER, |first| first.0);
            waiting.min(arriving.max(self.ahead.free()))
        } else {
            self.ends
        };
        let answer = self.answers.front().map_or(Time::NEVER, |first| first.0);
        self.next = arm.min(answer);
    }
}

/// Reads the sectors of a write that it covers in part only.
#[inline]
fn read_edges(motion: &mut Motion<'_>, sectors: Sectors) {
    let Some(first) = sectors.first_read() else {
        return;
    };
    motion.pass(first, 1, false);
    if sectors.is_last_partial && sectors.last() != first {
        motion.pass(sectors.last(), 1, false);
    }
}

/// A pass over cached writes: those of their sectors that are covered in part are read first, then all are written. How
/// many were read.
fn write_back(
    cache: &mut Cache,
    pass: &mut Vec<Sectors>,
    motion: &mut Motion<'_>,
    (batch, gap, is_sorted, bits): (Batch, u64, bool, u32),
    mechanics: &Mechanics,
) -> u64 {
    let from = motion.place();
    let first = if is_sorted {
        cache.next()
    } else {
        let moves = &mechanics.moves;
        cache.nearest(bits, |sectors| {
            let target = sectors.first_read();
            let place = mechanics.zones.place(target.unwrap_or(sectors.first));
            let settle = if target.is_none() { moves.settle } else { 0 };
            let cylinder = place.cylinder.cast_signed();
            arm::cost(moves, from, cylinder, place.head, place.angle, settle)
        })
    };
    let goes_on = cache.begin(first, batch, bits, pass);
    if !goes_on {
        motion.spent += gap;
    }
    let mut granules = 0;
    for sectors in &*pass {
        read_edges(motion, *sectors);
        granules += sectors.partial();
    }
    for sectors in &*pass {
        motion.pass(sectors.first, sectors.count, true);
    }
    granules
}

impl Device for Disk {
    const SECTION: &'static str = "disk";

    fn build(section: &Section, random: u64) -> Result<Disk, Refusal> {
        Disk::of(section, random)
    }

    fn another(&self, section: &Section, random: u64) -> Result<Disk, Refusal> {
        let mut disk = Disk::build(section, random)?;
        disk.mechanics.zones = Arc::clone(&self.mechanics.zones);
        Ok(disk)
    }

    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn sector(&self) -> u64 {
        self.logical
    }

    #[inline]
    fn submit(&mut self, now: Time, ticket: u32, operation: Operation) {
        let sectors = self.sectors(operation);
        let is_write = !operation.is_read();
        self.tally.bytes += operation.len;
        self.tally.granules += sectors.count;
        let is_done = if is_write {
            self.tally.writes += 1;
            self.tally.written += operation.len;
            self.ahead
                .write(sectors.first, sectors.first + sectors.count);
            self.write(now, ticket, operation)
        } else {
            self.tally.reads += 1;
            self.read(now, ticket, operation, sectors)
        };
        if !is_done {
            if is_write {
                self.tally.granules_read += sectors.partial();
            }
            let entry = Entry {
                ticket,
                came: now,
                sectors,
                is_write,
            };
            if self.is_full() {
                self.outside.push_back(entry);
            } else {
                self.enter(now, entry, operation.len);
            }
        }
        self.start(now);
        self.set_next();
    }

    #[inline]
    fn next(&self) -> Time {
        self.next
    }

    #[inline]
    fn advance(&mut self, now: Time, ended: &mut Ended) {
        while let Some((answered, ticket)) = self.answers.front() {
            if *answered > now {
                break;
            }
            ended.push(*ticket);
            self.answers.pop_front();
        }
        if self.ends <= now {
            self.end(now, ended);
        }
        self.start(now);
        self.set_next();
    }

    fn queued(&self) -> u32 {
        let working = usize::from(matches!(self.current, Current::Command(_)));
        let waiting = self.queue.len() + self.arriving.len() + self.outside.len();
        let cached = self.blocked.len() + self.answers.len();
        u32::try_from(working + waiting + cached).unwrap_or(u32::MAX)
    }

    fn stored(&self) -> Option<(&'static str, u64)> {
        Some(("drive caches", self.cache.bytes()))
    }

    fn tally(&self) -> Tally {
        self.tally
    }

    fn uses(&self, now: Time, report: &mut dyn FnMut(Use)) {
        report(Use {
            resource: "disks",
            count: 1,
            busy: self.busy - self.ahead_of(now),
        });
    }

    fn forget(&mut self, now: Time) {
        self.busy = self.ahead_of(now);
        self.tally = Tally::default();
    }

    fn granules(&self) -> Option<Granules> {
        Some(Granules {
            unit: 1 << self.sector_bits,
            shift: self.shift,
        })
    }
}

impl Disk {
    /// Work that was counted and lies behind `now`.
    fn ahead_of(&self, now: Time) -> Time {
        match self.current {
            Current::Nothing => self.ahead.free() - now,
            Current::Command(_) | Current::Pass => self.ends - now,
        }
    }
}

#[cfg(test)]
mod tests;
