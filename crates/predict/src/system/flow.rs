//! The way down and up again: a visit becomes commands, these become groups of pieces, and all of them end.

use super::cached::Cached;
use super::{Due, System};
use crate::kernel::{Calendar, Time};
use crate::model::array::Piece;
use crate::model::soft::{Fragment, To};
use crate::model::{Device, Operation};

/// A request of a host.
#[derive(Debug)]
pub(super) struct Visit {
    due: Due,
    /// Fragments under way.
    pending: u32,
    /// Fragments of later phases, the last first.
    later: Vec<Fragment>,
}

/// A fragment on its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Command {
    /// Whose it is; `None` in the background.
    pub(super) visit: Option<u32>,
    /// What the cache sent it for; [`NO_TASK`] when it did not.
    pub(super) task: u32,
    pub(super) operation: Operation,
    pub(super) to: To,
    /// Pieces without a group and groups that have not ended.
    pub(super) pending: u32,
}

/// Of commands that come from above.
pub(super) const NO_TASK: u32 = u32::MAX;

/// Pieces that go together, of which some wait for others.
#[derive(Debug)]
pub(super) struct Group {
    command: u32,
    pending: u32,
    later: Vec<Piece>,
}

/// What a piece's end means: to its command if nothing waits for it, else to its group, which has this bit.
const OF_A_GROUP: u32 = 1 << 31;

impl<D: Device> System<D> {
    /// A host's request comes.
    pub(super) fn start(&mut self, now: Time, due: Due) {
        self.measure.arrive(now);
        if self.soft.is_absent() {
            let visit = Visit {
                due,
                pending: 1,
                later: Vec::new(),
            };
            let key = key(self.visits.insert(visit));
            self.command(now, Some(key), due.operation, To::Array);
            return;
        }
        let mut later = self.spare_fragments.pop().unwrap_or_default();
        self.soft.translate(now, due.operation, &mut later);
        later.reverse();
        let visit = Visit {
            due,
            pending: 0,
            later,
        };
        let key = key(self.visits.insert(visit));
        self.next_phase(now, key);
    }

    /// Starts the fragments of a visit's next phase; without any left, the visit ends.
    fn next_phase(&mut self, now: Time, key: u32) {
        loop {
            let visit = &mut self.visits[key as usize];
            let Some(phase) = visit.later.last().map(|fragment| fragment.phase) else {
                self.end_visit(now, key);
                return;
            };
            let mut starting = std::mem::take(&mut self.fragments);
            while let Some(fragment) = visit.later.pop_if(|next| next.phase == phase) {
                visit.pending += u32::from(!fragment.is_background);
                starting.push(fragment);
            }
            let is_waited_for = visit.pending > 0;
            for fragment in starting.drain(..) {
                let visit = (!fragment.is_background).then_some(key);
                self.command(now, visit, fragment.operation, fragment.to);
            }
            self.fragments = starting;
            if is_waited_for {
                return;
            }
        }
    }

    /// A command sets out.
    fn command(&mut self, now: Time, visit: Option<u32>, operation: Operation, to: To) {
        let command = Command {
            visit,
            task: NO_TASK,
            operation,
            to,
            pending: 0,
        };
        let key = key(self.commands.insert(command));
        match &mut self.port {
            Some(port) => {
                port.enter(now, key, operation.len);
                let next = port.next();
                self.calendar.set(self.port_station(), next);
            }
            None => self.enter_controller(now, key),
        }
    }

    pub(super) fn leave_port(&mut self, now: Time) {
        let Some(port) = &mut self.port else { return };
        let command = port.advance(now);
        let next = port.next();
        self.calendar.set(self.port_station(), next);
        if let Some(command) = command {
            self.enter_controller(now, command);
        }
    }

    fn enter_controller(&mut self, now: Time, command: u32) {
        match &mut self.controller {
            Some(controller) => {
                let operation = self.commands[command as usize].operation;
                let is_split_later = controller.pays_destages()
                    && !operation.is_read()
                    && self.cached.as_ref().is_some_and(Cached::is_write_back);
                let pieces = if is_split_later {
                    1
                } else {
                    self.layout.units(operation)
                };
                controller.submit(now, command, operation, pieces);
                let next = controller.next();
                self.calendar.set(self.controller_station(), next);
            }
            None => self.go_down(now, command),
        }
    }

    pub(super) fn leave_controller(&mut self, now: Time) {
        let Some(controller) = &mut self.controller else {
            return;
        };
        let command = controller.take(now);
        let next = controller.next();
        self.calendar.set(self.controller_station(), next);
        if let Some(command) = command {
            self.go_down(now, command);
        }
    }

    /// A command leaves the controller: to the cache, or to the members.
    #[inline]
    fn go_down(&mut self, now: Time, key: u32) {
        if self.cached.is_some() && self.commands[key as usize].to == To::Array {
            self.enter_cache(now, key);
        } else {
            self.issue(now, key);
        }
    }

    /// A command goes to the members, through the thread that works parity out where that takes time.
    pub(super) fn issue(&mut self, now: Time, key: u32) {
        let Command { operation, to, .. } = self.commands[key as usize];
        let service = self.layout.thread_time(operation);
        match &mut self.thread {
            Some(thread) if to == To::Array && service > Time::ZERO => {
                thread.submit(now, key, service);
                let next = thread.next();
                self.calendar.set(self.thread_station(), next);
            }
            _ => self.reach(now, key),
        }
    }

    pub(super) fn leave_thread(&mut self, now: Time) {
        let Some(thread) = &mut self.thread else {
            return;
        };
        let command = thread.take(now);
        let next = thread.next();
        self.calendar.set(self.thread_station(), next);
        if let Some(command) = command {
            self.reach(now, command);
        }
    }

    /// A command reaches the members.
    fn reach(&mut self, now: Time, key: u32) {
        let Command {
            operation,
            to,
            task,
            ..
        } = self.commands[key as usize];
        match to {
            To::Array => {
                let devices = &self.devices;
                let queued = |member: u32| devices[member as usize].queued();
                self.layout.split(operation, queued, &mut self.split);
                if self.cached.is_none() {
                    let units = self.layout.units(operation);
                    self.measure.split(units, &self.split);
                } else {
                    self.measure.cached().read_before_write(&self.split);
                }
                if task != NO_TASK
                    && let Some(controller) = &mut self.controller
                {
                    controller.owe(self.split.pieces.len());
                }
            }
            To::EachMember => {
                self.split.clear();
                for member in 0..self.layout.members() {
                    self.split.pieces.push(Piece { member, operation });
                    self.split.groups.push((1, 0));
                }
            }
        }
        if let [piece] = self.split.pieces.as_slice() {
            self.commands[key as usize].pending = 1;
            submit(&mut self.devices, &mut self.calendar, now, key, *piece);
            return;
        }
        self.issue_groups(now, key);
    }

    /// Starts what a command was split into.
    fn issue_groups(&mut self, now: Time, key: u32) {
        // Until all have been submitted, the command itself is one more that has to end.
        let mut pending = 1;
        let mut at = 0;
        for index in 0..self.split.groups.len() {
            let (first, then) = self.split.groups[index];
            let middle = at + first as usize;
            let end = middle + then as usize;
            let ticket = if then == 0 {
                pending += first;
                key
            } else {
                pending += 1;
                let mut later = self.spare_pieces.pop().unwrap_or_default();
                later.extend_from_slice(&self.split.pieces[middle..end]);
                let group = Group {
                    command: key,
                    pending: first,
                    later,
                };
                OF_A_GROUP | self::key(self.groups.insert(group))
            };
            for piece in &self.split.pieces[at..middle] {
                submit(&mut self.devices, &mut self.calendar, now, ticket, *piece);
            }
            if first == 0 && ticket != key {
                self.start_later(now, ticket & !OF_A_GROUP);
            }
            at = end;
        }
        self.commands[key as usize].pending = pending;
        self.end_part(now, key);
    }

    /// A piece has ended on its member.
    #[inline]
    pub(super) fn end_piece(&mut self, now: Time, ticket: u32) {
        if ticket & OF_A_GROUP == 0 {
            self.end_part(now, ticket);
            return;
        }
        let key = ticket & !OF_A_GROUP;
        let group = &mut self.groups[key as usize];
        group.pending -= 1;
        if group.pending > 0 {
            return;
        }
        if group.later.is_empty() {
            let Group { command, later, .. } = self.groups.remove(key as usize);
            self.spare_pieces.push(later);
            self.end_part(now, command);
            return;
        }
        self.start_later(now, key);
    }

    /// Those that went first have ended.
    fn start_later(&mut self, now: Time, key: u32) {
        let group = &mut self.groups[key as usize];
        group.pending = u32::try_from(group.later.len()).unwrap_or(u32::MAX);
        let ticket = OF_A_GROUP | key;
        for piece in group.later.drain(..) {
            submit(&mut self.devices, &mut self.calendar, now, ticket, piece);
        }
    }

    /// A part of a command has ended: a piece that nothing waits for, or a group.
    fn end_part(&mut self, now: Time, key: u32) {
        let command = &mut self.commands[key as usize];
        command.pending -= 1;
        if command.pending > 0 {
            return;
        }
        if self.cached.is_some() && self.return_to_cache(now, key) {
            return;
        }
        self.end_command(now, key);
    }

    /// A command has been served.
    pub(super) fn end_command(&mut self, now: Time, key: u32) {
        let Command { visit, .. } = self.commands.remove(key as usize);
        if let Some(port) = &mut self.port {
            port.leave(now);
            let next = port.next();
            self.calendar.set(self.port_station(), next);
        }
        if let Some(key) = visit {
            let visit = &mut self.visits[key as usize];
            visit.pending -= 1;
            if visit.pending == 0 {
                self.next_phase(now, key);
            }
        }
    }

    /// A host's request is answered.
    fn end_visit(&mut self, now: Time, key: u32) {
        let Visit { due, later, .. } = self.visits.remove(key as usize);
        if later.capacity() > 0 {
            self.spare_fragments.push(later);
        }
        if !self.is_open {
            self.ready.push(due.stream);
        }
        if self.measure.answer(now, due.at, due.operation) {
            for device in &mut self.devices {
                device.forget(now);
            }
            if let Some(port) = &mut self.port {
                port.forget(now);
            }
            if let Some(controller) = &mut self.controller {
                controller.forget(now);
            }
            if let Some(cached) = &mut self.cached {
                cached.forget(now);
            }
            if let Some(thread) = &mut self.thread {
                thread.forget(now);
            }
            self.stores = self.stores();
        }
    }
}

#[inline]
fn submit<D: Device>(
    devices: &mut [D],
    calendar: &mut Calendar,
    now: Time,
    ticket: u32,
    piece: Piece,
) {
    let member = piece.member as usize;
    let device = &mut devices[member];
    device.submit(now, ticket, piece.operation);
    calendar.set(member, device.next());
}

/// Slab keys are as many as things are under way at once, far below 2³¹.
#[inline]
pub(super) fn key(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
