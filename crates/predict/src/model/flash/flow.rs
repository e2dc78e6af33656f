//! The way of requests through processors, dies, channels and links.

use super::engine::Engines;
use super::{ENGINE, FRONT, Flash, LINK_IN, LINK_OUT, NONE, OTHERS, Task, Transfer, key};
use crate::kernel::Time;
use crate::model::Ended;

impl Flash {
    /// A station has done what it was at.
    pub(super) fn happen(&mut self, now: Time, station: usize, ended: &mut Ended) {
        let channels = self.channels.len();
        match station {
            FRONT => {
                let done = self.front.take(now);
                self.calendar.set(FRONT, self.front.next());
                if let Some(request) = done {
                    self.leave_front(now, request, ended);
                }
            }
            LINK_IN => {
                let done = self.link_in.take(now);
                self.calendar.set(LINK_IN, self.link_in.next());
                if let Some(request) = done {
                    self.place(now, request, ended);
                }
            }
            LINK_OUT => {
                let done = self.link_out.take(now);
                self.calendar.set(LINK_OUT, self.link_out.next());
                if let Some(request) = done {
                    self.end(request, ended);
                }
            }
            ENGINE => {
                let Engines::Timed(servers, _) = &mut self.engines else {
                    return;
                };
                let done = servers.take(now);
                self.calendar.set(ENGINE, servers.next());
                if let Some(request) = done {
                    self.read_all(now, request);
                }
            }
            _ if station < OTHERS + channels => self.leave_channel(now, station - OTHERS, ended),
            _ => self.leave_die(now, station - OTHERS - channels, ended),
        }
    }

    #[inline]
    fn leave_front(&mut self, now: Time, request: u32, ended: &mut Ended) {
        let operation = self.requests[request as usize].operation;
        if operation.is_read() {
            self.read(now, request);
            return;
        }
        match self.times.link {
            Some(link) => {
                self.link_in.submit(now, link.time(operation.len), request);
                self.calendar.set(LINK_IN, self.link_in.next());
            }
            None => self.place(now, request, ended),
        }
    }

    /// Reads what a request needs of the flash, if it may now.
    pub(super) fn read(&mut self, now: Time, id: u32) {
        let request = &mut self.requests[id as usize];
        let needs_engine =
            request.is_partial && (self.reads_need_engine || !request.operation.is_read());
        match &mut self.engines {
            Engines::Whole(engines) if needs_engine => {
                if engines.take(now, id) {
                    self.with_engine(now, id);
                }
            }
            Engines::Timed(servers, time) if needs_engine => {
                servers.submit(now, id, *time);
                self.calendar.set(ENGINE, servers.next());
            }
            _ => self.read_all(now, id),
        }
    }

    /// A request has got an engine, which reads one row after the other.
    fn with_engine(&mut self, now: Time, id: u32) {
        self.requests[id as usize].has_engine = true;
        self.read_next(now, id);
    }

    /// Reads the next row of a request. False when there is no more.
    fn read_next(&mut self, now: Time, id: u32) -> bool {
        let request = &mut self.requests[id as usize];
        let Some(range) = request.ranges.iter_mut().find(|(start, end)| start < end) else {
            return false;
        };
        let part = self.geometry.part(range.0, range.1);
        range.0 = part.end;
        request.pending += 1;
        let transfer = self.times.part(part);
        let task = Task::Read {
            request: id,
            transfer,
        };
        self.on_die(now, part.die, self.times.read, task);
        true
    }

    #[inline]
    fn read_all(&mut self, now: Time, id: u32) {
        while self.read_next(now, id) {}
    }

    /// Something that a request waits for has come.
    #[inline]
    pub(super) fn progress(&mut self, now: Time, id: u32, ended: &mut Ended) {
        let request = &mut self.requests[id as usize];
        request.pending -= 1;
        if request.pending > 0 {
            return;
        }
        if request.is_committed {
            self.release_engine(now, id);
            self.end(id, ended);
            return;
        }
        let (is_read, len) = (request.operation.is_read(), request.operation.len);
        if request.has_engine && self.read_next(now, id) {
            return;
        }
        if !is_read {
            self.commit(now, id, ended);
            return;
        }
        self.release_engine(now, id);
        match self.times.link {
            Some(link) => {
                self.link_out.submit(now, link.time(len), id);
                self.calendar.set(LINK_OUT, self.link_out.next());
            }
            None => self.end(id, ended),
        }
    }

    pub(super) fn release_engine(&mut self, now: Time, id: u32) {
        let request = &mut self.requests[id as usize];
        if !std::mem::take(&mut request.has_engine) {
            return;
        }
        if let Engines::Whole(engines) = &mut self.engines
            && let Some(next) = engines.give(now)
        {
            self.with_engine(now, next);
        }
    }

    /// A request is answered, if it has not been, and forgotten.
    #[inline]
    fn end(&mut self, id: u32, ended: &mut Ended) {
        self.answer(id, ended);
        self.requests.remove(id as usize);
    }

    #[inline]
    pub(super) fn answer(&mut self, id: u32, ended: &mut Ended) {
        let ticket = std::mem::replace(&mut self.requests[id as usize].ticket, NONE);
        if ticket != NONE {
            ended.push(ticket);
            self.queued -= 1;
        }
    }

    #[inline]
    pub(super) fn on_die(&mut self, now: Time, die: u32, service: Time, task: Task) {
        let die = die as usize;
        self.dies[die].submit(now, service, task);
        let station = OTHERS + self.channels.len() + die;
        self.calendar.set(station, self.dies[die].next());
    }

    #[inline]
    pub(super) fn on_channel(&mut self, now: Time, die: u32, service: Time, transfer: Transfer) {
        let channel = (die % self.geometry.channels) as usize;
        self.channels[channel].submit(now, service, transfer);
        self.calendar
            .set(OTHERS + channel, self.channels[channel].next());
    }

    #[inline]
    fn leave_die(&mut self, now: Time, die: usize, ended: &mut Ended) {
        let task = self.dies[die].take_and_hold(now);
        let number = key(die);
        match task {
            Some(Task::Read { request, transfer }) => {
                let station = OTHERS + self.channels.len() + die;
                self.calendar.set(station, Time::NEVER);
                let out = Transfer::Out {
                    die: number,
                    request,
                };
                self.on_channel(now, number, transfer, out);
            }
            Some(Task::Program { request, release }) => {
                self.release_die(now, die);
                self.programmed[die] += 1;
                if self.programmed[die] >= self.geometry.pages {
                    self.programmed[die] = 0;
                    self.on_die(now, number, self.times.erase, Task::Erase);
                }
                self.programmed(now, request, release, ended);
            }
            Some(Task::Erase) | None => self.release_die(now, die),
        }
    }

    #[inline]
    fn leave_channel(&mut self, now: Time, channel: usize, ended: &mut Ended) {
        let transfer = self.channels[channel].take(now);
        self.calendar
            .set(OTHERS + channel, self.channels[channel].next());
        match transfer {
            Some(Transfer::Out { die, request }) => {
                self.release_die(now, die as usize);
                if request != NONE {
                    self.progress(now, request, ended);
                }
            }
            Some(Transfer::In {
                die,
                request,
                release,
            }) => {
                let task = Task::Program { request, release };
                self.on_die(now, die, self.times.program, task);
            }
            None => {}
        }
    }

    /// A die's register is free.
    #[inline]
    fn release_die(&mut self, now: Time, die: usize) {
        self.dies[die].release(now);
        let station = OTHERS + self.channels.len() + die;
        self.calendar.set(station, self.dies[die].next());
    }
}
