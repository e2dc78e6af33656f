//! Writes: the buffer, programs in the background, copies.

use std::collections::VecDeque;

use super::cards::Step;
use super::{Answer, Flash, NONE, Task, Times, Transfer};
use crate::kernel::Time;
use crate::model::Ended;

/// The write buffer.
#[derive(Debug)]
pub(super) struct Buffer {
    /// Without a buffer, all there is: nothing waits, but answers do.
    capacity: u64,
    is_there: bool,
    used: u64,
    waiting: VecDeque<u32>,
    /// Bytes that wait until a row is full.
    gathered: u64,
    /// The die whose turn it is.
    die: u32,
    steps: Vec<Step>,
}

impl Buffer {
    pub(super) fn new(capacity: Option<u64>) -> Buffer {
        Buffer {
            capacity: capacity.unwrap_or(u64::MAX),
            is_there: capacity.is_some(),
            used: 0,
            waiting: VecDeque::new(),
            gathered: 0,
            die: 0,
            steps: Vec::new(),
        }
    }

    /// Bytes that have not been programmed yet.
    pub(super) fn used(&self) -> u64 {
        if self.is_there { self.used } else { 0 }
    }
}

impl Flash {
    /// A write's data has come to the device.
    pub(super) fn place(&mut self, now: Time, id: u32, ended: &mut Ended) {
        self.buffer.waiting.push_back(id);
        self.fill(now, ended);
    }

    /// Takes writes into the buffer while there is room, in their order.
    fn fill(&mut self, now: Time, ended: &mut Ended) {
        while let Some(id) = self.buffer.waiting.front().copied() {
            let bytes = self.unit_bytes(id);
            // One that is larger than the buffer has it for itself.
            let needed = bytes.min(self.buffer.capacity);
            if self.buffer.used.saturating_add(needed) > self.buffer.capacity {
                self.unblock(now);
                return;
            }
            self.buffer.used = self.buffer.used.saturating_add(bytes);
            self.buffer.waiting.pop_front();
            let request = &self.requests[id as usize];
            let (is_partial, answer) = (request.is_partial, self.answer);
            if self.buffer.is_there && (!is_partial || answer == Answer::Buffered) {
                self.answer(id, ended);
            }
            if is_partial {
                self.read(now, id);
            } else {
                self.commit(now, id, ended);
            }
        }
    }

    /// Where writes wait, and nothing else will make room, rows are programmed that are not full.
    fn unblock(&mut self, now: Time) {
        let gathered = self.buffer.gathered;
        if gathered > 0 && gathered == self.buffer.used && !self.buffer.waiting.is_empty() {
            self.program_gathered(now, NONE);
        }
    }

    /// Bytes of the units that a request touches.
    fn unit_bytes(&self, id: u32) -> u64 {
        let units = self.geometry.units(self.requests[id as usize].operation);
        units * self.geometry.unit
    }

    /// All of a write's units are complete: they are to be programmed.
    pub(super) fn commit(&mut self, now: Time, id: u32, ended: &mut Ended) {
        let request = &mut self.requests[id as usize];
        request.is_committed = true;
        let (operation, is_partial) = (request.operation, request.is_partial);
        let waits = request.ticket != NONE
            && (!self.buffer.is_there || is_partial && self.answer == Answer::Programmed);
        // Held by one more than the programs, so that it cannot end while they are being made.
        request.pending = 1;
        let waiter = if waits { id } else { NONE };
        if !waits {
            self.release_engine(now, id);
        }
        let bytes = self.unit_bytes(id);
        if self.open_blocks.is_some() {
            let start = operation.start / self.geometry.unit * self.geometry.unit;
            self.program_in_place(now, start, start + bytes, waiter);
        } else {
            self.program_log(now, bytes, waiter);
            self.collect(now, operation.start, operation.end(), bytes);
            self.unblock(now);
        }
        self.progress(now, id, ended);
    }

    /// Data joins what waits for a full row; full rows are programmed on the dies in turn.
    fn program_log(&mut self, now: Time, bytes: u64, waiter: u32) {
        self.buffer.gathered += bytes;
        while self.buffer.gathered >= self.geometry.row {
            self.buffer.gathered -= self.geometry.row;
            let die = self.turn();
            self.program(now, die, self.geometry.row, waiter, self.geometry.row);
        }
        if waiter != NONE && self.buffer.gathered > 0 {
            self.program_gathered(now, waiter);
        }
    }

    /// Programs a row that is not full.
    fn program_gathered(&mut self, now: Time, waiter: u32) {
        let bytes = std::mem::take(&mut self.buffer.gathered);
        let die = self.turn();
        self.program(now, die, bytes, waiter, bytes);
    }

    fn turn(&mut self) -> u32 {
        let die = self.buffer.die;
        self.buffer.die = (die + 1) % self.geometry.dies;
        die
    }

    /// Copies what garbage collection has to for a write.
    fn collect(&mut self, now: Time, start: u64, end: u64, bytes: u64) {
        let Some(collection) = &mut self.collection else {
            return;
        };
        let rows = collection.write(start, end, bytes);
        let reads_per_row = collection.reads_per_row();
        let row_time = self.times.row(&self.geometry, self.geometry.row);
        let transfer = Times::share(row_time, reads_per_row);
        for _ in 0..rows {
            let reads = self.collection.as_mut().map_or(0, |all| all.reads());
            let die = self.turn();
            for _ in 0..reads {
                let task = Task::Read {
                    request: NONE,
                    transfer,
                };
                self.on_die(now, die, self.times.read, task);
            }
            self.program(now, die, self.geometry.row, NONE, 0);
        }
    }

    /// Block-mapped: programs the rows of an address range on their dies, and copies what has to be copied for it.
    fn program_in_place(&mut self, now: Time, start: u64, end: u64, waiter: u32) {
        let mut steps = std::mem::take(&mut self.buffer.steps);
        steps.clear();
        if let Some(blocks) = &mut self.open_blocks {
            blocks.write(start, end, &mut steps);
        }
        for step in &steps {
            let (from, to, is_copy) = match *step {
                Step::Copy(from, to) => (from, to, true),
                Step::Program(from, to) => (from, to, false),
            };
            let mut at = from;
            while at < to {
                let part = self.geometry.part(at, to);
                let stop = part.end.min(to);
                if is_copy {
                    let task = Task::Read {
                        request: NONE,
                        transfer: self.times.part(part),
                    };
                    self.on_die(now, part.die, self.times.read, task);
                }
                let release = if is_copy { 0 } else { stop - at };
                self.program(now, self.geometry.die(at), stop - at, waiter, release);
                at = stop;
            }
        }
        self.buffer.steps = steps;
    }

    /// Programs bytes of a row; a request may wait for it.
    fn program(&mut self, now: Time, die: u32, bytes: u64, waiter: u32, release: u64) {
        if waiter != NONE {
            self.requests[waiter as usize].pending += 1;
        }
        let service = self.times.row(&self.geometry, bytes);
        let transfer = Transfer::In {
            die,
            request: waiter,
            release: u32::try_from(release).unwrap_or(u32::MAX),
        };
        self.on_channel(now, die, service, transfer);
    }

    /// A row has been programmed.
    pub(super) fn programmed(&mut self, now: Time, request: u32, release: u32, ended: &mut Ended) {
        if request != NONE {
            self.progress(now, request, ended);
        }
        if release > 0 {
            self.buffer.used = self.buffer.used.saturating_sub(u64::from(release));
            self.fill(now, ended);
        }
    }
}
