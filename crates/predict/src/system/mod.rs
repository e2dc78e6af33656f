//! A whole system at work: requests of hosts, software layers, ports, a controller, an array, its members.
//!
//! ```text
//! requests ─ soft ─ port ─ controller ─ array ─┬─ member
//!    (visit)  (fragments)   (command)  (groups) ├─ member
//!                                               └─ member
//! ```
//!
//! A *visit* is one request of a host from the time at which it was due until it is answered. It goes down as one or more
//! *commands*, each of which becomes *groups* of pieces on members; in a group, later pieces wait for earlier ones (a parity
//! update reads before it writes). Everything is a number in a slab, so a run allocates what is under way at once, whatever
//! its length.

mod measure;

use slab::Slab;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use crate::kernel::{Calendar, Time};
use crate::model::array::{Layout, Piece, Split};
use crate::model::controller::Controller;
use crate::model::port::Port;
use crate::model::soft::{Fragment, Soft, To};
use crate::model::{self, Device, Ended, Operation, Tally, Use};
use crate::profile::{Profile, Refusal};
use crate::requests::Requests;
use measure::Measure;
pub use measure::{Counts, MARKS, Mark, Outcome, Resource};

/// Most requests that wait at once in an open loop: beyond that, more arrive than are served.
const MOST_WAITING: usize = 1 << 20;
/// Most answers at one instant: beyond that, time stands still.
const MOST_AT_ONCE: u64 = 10_000_000;

/// How much of a run counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Length {
    /// Requests answered before anything is counted.
    pub warm_up: u64,
    /// Requests answered that count.
    pub measured: u64,
}

/// A request and when it is due. Ordered by that, then by its stream, so that a run is the same everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Due {
    at: Time,
    stream: u32,
    operation: Operation,
}

impl Ord for Due {
    fn cmp(&self, other: &Due) -> Ordering {
        (self.at, self.stream).cmp(&(other.at, other.stream))
    }
}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Due) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A request of a host.
#[derive(Debug)]
struct Visit {
    due: Due,
    /// Fragments under way.
    pending: u32,
    /// Fragments of later phases, the last first.
    later: Vec<Fragment>,
}

/// A fragment on its way.
#[derive(Clone, Copy, Debug)]
struct Command {
    /// Whose it is; `None` in the background.
    visit: Option<u32>,
    operation: Operation,
    to: To,
    /// Groups that have not ended.
    pending: u32,
}

/// Pieces that go together.
#[derive(Debug)]
struct Group {
    command: u32,
    pending: u32,
    later: Vec<Piece>,
}

/// Checks a complete profile as building it would, and that what it has goes together.
///
/// # Errors
/// The first parameter that makes no sense.
pub fn check(profile: &Profile) -> Result<(), Refusal> {
    struct Check;
    impl WithDevice for Check {
        type Output = ();
        fn run<D: Device>(self, profile: &Profile) -> Result<(), Refusal> {
            System::<D>::build(profile, 0).map(drop)
        }
    }
    with_device(profile, Check)
}

/// Something to do with a system whose members are of one kind.
pub(crate) trait WithDevice {
    type Output;
    fn run<D: Device>(self, profile: &Profile) -> Result<Self::Output, Refusal>;
}

/// Does it with the kind of member that the profile has.
pub(crate) fn with_device<W: WithDevice>(profile: &Profile, with: W) -> Result<W::Output, Refusal> {
    let mut kinds = model::DEVICES
        .iter()
        .filter(|kind| profile.section(kind).is_some());
    let kind = (kinds.next(), kinds.next());
    match kind {
        (Some(&"server"), None) => with.run::<model::server::Server>(profile),
        (None, _) => Err(Refusal::new(
            "the profile",
            "without a device",
            model::DEVICES.join(", "),
        )),
        _ => Err(Refusal::new(
            "the profile",
            "of several devices",
            "one of them",
        )),
    }
    .map_err(|refusal| refusal.of(&profile.name))
}

/// A system at work.
pub(crate) struct System<D> {
    soft: Soft,
    port: Option<Port>,
    controller: Option<Controller>,
    layout: Layout,
    devices: Vec<D>,
    calendar: Calendar,
    visits: Slab<Visit>,
    commands: Slab<Command>,
    groups: Slab<Group>,
    measure: Measure,
    /// Streams that are to make their next request now.
    ready: Vec<u32>,
    /// Requests that are due later.
    later: BinaryHeap<Reverse<Due>>,
    is_open: bool,
    // Buffers, so that a run does not allocate.
    split: Split,
    ended: Ended,
    fragments: Vec<Fragment>,
}

impl<D: Device> System<D> {
    /// As a complete profile says. `seed` turns the platters.
    pub(crate) fn build(profile: &Profile, seed: u64) -> Result<System<D>, Refusal> {
        let mut random = seed;
        let first = D::build(profile, random)?;
        let layout = Layout::build(profile, first.capacity())?;
        let members = layout.members();
        let mut devices = vec![first];
        for _ in 1..members {
            random = random.wrapping_add(0x9e37_79b9_7f4a_7c15);
            devices.push(D::build(profile, random)?);
        }
        let calendar = Calendar::new(devices.len() + 3);
        Ok(System {
            soft: Soft::build(profile)?,
            port: profile.section("port").map(Port::build),
            controller: profile.section("controller").map(Controller::build),
            layout,
            devices,
            calendar,
            visits: Slab::new(),
            commands: Slab::new(),
            groups: Slab::new(),
            measure: Measure::default(),
            ready: Vec::new(),
            later: BinaryHeap::new(),
            is_open: false,
            split: Split::default(),
            ended: Vec::new(),
            fragments: Vec::new(),
        })
    }

    /// Bytes that the array holds.
    pub(crate) fn capacity(&self) -> u64 {
        self.layout.capacity()
    }

    fn port_station(&self) -> usize {
        self.devices.len()
    }

    fn controller_station(&self) -> usize {
        self.devices.len() + 1
    }

    fn source_station(&self) -> usize {
        self.devices.len() + 2
    }

    /// Works until so many requests have been answered, or until there are no more.
    pub(crate) fn run(
        mut self,
        requests: &mut impl Requests,
        length: Length,
    ) -> Result<Outcome, Refusal> {
        self.measure = Measure::new(length);
        self.is_open = requests.is_open();
        self.ready.extend((0..requests.streams()).rev());
        let mut at_once = 0_u64;
        let mut now = Time::ZERO;
        self.begin(now, requests)?;
        while !self.measure.is_complete() {
            let (time, station) = self.calendar.first();
            if time == Time::NEVER {
                break;
            }
            at_once = if time == now { at_once + 1 } else { 0 };
            if at_once > MOST_AT_ONCE {
                return Err(Refusal::new(
                    "the system",
                    "one in which requests take no time at all",
                    "a service time above zero somewhere",
                ));
            }
            now = time;
            if let Some(device) = self.devices.get_mut(station) {
                let mut ended = std::mem::take(&mut self.ended);
                device.advance(now, &mut ended);
                let next = device.next();
                self.calendar.set(station, next);
                for group in ended.drain(..) {
                    self.end_piece(now, group);
                }
                self.ended = ended;
            } else if station == self.port_station() {
                self.leave_port(now);
            } else if station == self.controller_station() {
                self.leave_controller(now);
            } else {
                self.wake(now)?;
            }
            self.begin(now, requests)?;
        }
        Ok(self.finish(now))
    }

    /// Makes the next request of every stream that is ready.
    fn begin(&mut self, now: Time, requests: &mut impl Requests) -> Result<(), Refusal> {
        while let Some(stream) = self.ready.pop() {
            let Some(next) = requests.next(now, stream) else {
                continue;
            };
            let due = Due {
                at: next.due,
                stream,
                operation: Operation {
                    access: next.access,
                    start: next.start.get(),
                    len: next.len.get(),
                },
            };
            if due.at > now {
                self.later.push(Reverse(due));
                self.set_source();
            } else {
                self.arrive(now, due)?;
            }
        }
        Ok(())
    }

    /// A request is due. In an open loop, the stream's next one does not wait for its answer.
    fn arrive(&mut self, now: Time, due: Due) -> Result<(), Refusal> {
        self.start(now, due);
        if self.is_open {
            self.ready.push(due.stream);
            if self.visits.len() > MOST_WAITING {
                return Err(Refusal::new(
                    "the rate",
                    format!("more than the system serves: {MOST_WAITING} requests wait"),
                    "a lower rate",
                ));
            }
        }
        Ok(())
    }

    fn set_source(&mut self) {
        let next = self.later.peek().map_or(Time::NEVER, |Reverse(due)| due.at);
        self.calendar.set(self.source_station(), next);
    }

    fn wake(&mut self, now: Time) -> Result<(), Refusal> {
        while let Some(Reverse(due)) = self.later.peek().copied() {
            if due.at > now {
                break;
            }
            self.later.pop();
            self.arrive(now, due)?;
        }
        self.set_source();
        Ok(())
    }

    /// A host's request comes.
    fn start(&mut self, now: Time, due: Due) {
        self.measure.arrive(now);
        let visit = Visit {
            due,
            pending: 0,
            later: Vec::new(),
        };
        let key = key(self.visits.insert(visit));
        if self.soft.is_absent() {
            self.visits[key as usize].pending = 1;
            self.command(now, Some(key), due.operation, To::Array);
            return;
        }
        let mut fragments = std::mem::take(&mut self.fragments);
        fragments.clear();
        self.soft.translate(due.operation, &mut fragments);
        self.visits[key as usize]
            .later
            .extend(fragments.iter().rev());
        self.fragments = fragments;
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
            let mut first = visit.later.len();
            while first > 0 && visit.later[first - 1].phase == phase {
                first -= 1;
            }
            let mut starting = visit.later.split_off(first);
            let waited = starting
                .iter()
                .filter(|fragment| !fragment.is_background)
                .count();
            visit.pending = u32::try_from(waited).unwrap_or(u32::MAX);
            while let Some(fragment) = starting.pop() {
                let visit = (!fragment.is_background).then_some(key);
                self.command(now, visit, fragment.operation, fragment.to);
            }
            if waited > 0 {
                return;
            }
        }
    }

    /// A command sets out.
    fn command(&mut self, now: Time, visit: Option<u32>, operation: Operation, to: To) {
        let command = Command {
            visit,
            operation,
            to,
            pending: 0,
        };
        let key = key(self.commands.insert(command));
        match &mut self.port {
            Some(port) => {
                port.enter(now, key, operation.len);
                let next = port.servers.next();
                self.calendar.set(self.port_station(), next);
            }
            None => self.enter_controller(now, key),
        }
    }

    fn leave_port(&mut self, now: Time) {
        let Some(port) = &mut self.port else { return };
        let command = port.servers.take(now);
        let next = port.servers.next();
        self.calendar.set(self.port_station(), next);
        if let Some(command) = command {
            self.enter_controller(now, command);
        }
    }

    fn enter_controller(&mut self, now: Time, command: u32) {
        match &mut self.controller {
            Some(controller) => {
                let operation = self.commands[command as usize].operation;
                let pieces = self.layout.units(operation);
                controller.submit(now, command, operation, pieces);
                let next = controller.servers.next();
                self.calendar.set(self.controller_station(), next);
            }
            None => self.go_down(now, command),
        }
    }

    fn leave_controller(&mut self, now: Time) {
        let Some(controller) = &mut self.controller else {
            return;
        };
        let command = controller.servers.take(now);
        let next = controller.servers.next();
        self.calendar.set(self.controller_station(), next);
        if let Some(command) = command {
            self.go_down(now, command);
        }
    }

    /// A command reaches the members.
    fn go_down(&mut self, now: Time, key: u32) {
        let Command { operation, to, .. } = self.commands[key as usize];
        let mut split = std::mem::take(&mut self.split);
        match to {
            To::Array => {
                let devices = &self.devices;
                let queued = |member: u32| devices[member as usize].queued();
                self.layout.split(operation, queued, &mut split);
                self.measure.split(self.layout.units(operation), &split);
            }
            To::EachMember => {
                split.clear();
                for member in 0..self.layout.members() {
                    split.pieces.push(Piece { member, operation });
                    split.groups.push((1, 0));
                }
            }
        }
        self.commands[key as usize].pending = u32::try_from(split.groups.len()).unwrap_or(u32::MAX);
        let mut pieces = split.pieces.iter();
        for (first, then) in &split.groups {
            let group = self.groups.vacant_key();
            let now_pieces = pieces.as_slice().get(..*first as usize).unwrap_or(&[]);
            let rest = pieces.as_slice().get(now_pieces.len()..).unwrap_or(&[]);
            let later = rest.get(..*then as usize).unwrap_or(&[]);
            self.groups.insert(Group {
                command: key,
                pending: *first,
                later: later.to_vec(),
            });
            pieces = rest.get(later.len()..).unwrap_or(&[]).iter();
            for piece in now_pieces {
                submit(&mut self.devices, &mut self.calendar, now, group, *piece);
            }
        }
        self.split = split;
    }

    /// A piece of a group has ended on its member.
    #[inline]
    fn end_piece(&mut self, now: Time, key: u32) {
        let group = &mut self.groups[key as usize];
        group.pending -= 1;
        if group.pending > 0 {
            return;
        }
        if group.later.is_empty() {
            let command = group.command;
            self.groups.remove(key as usize);
            self.end_group(now, command);
            return;
        }
        let later = std::mem::take(&mut group.later);
        group.pending = u32::try_from(later.len()).unwrap_or(u32::MAX);
        for piece in later {
            submit(
                &mut self.devices,
                &mut self.calendar,
                now,
                key as usize,
                piece,
            );
        }
    }

    fn end_group(&mut self, now: Time, key: u32) {
        let command = &mut self.commands[key as usize];
        command.pending -= 1;
        if command.pending > 0 {
            return;
        }
        let visit = command.visit;
        self.commands.remove(key as usize);
        if let Some(port) = &mut self.port {
            port.leave(now);
            let next = port.servers.next();
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
        let visit = self.visits.remove(key as usize);
        if !self.is_open {
            self.ready.push(visit.due.stream);
        }
        if self.measure.answer(now, visit.due.at, visit.due.operation) {
            for device in &mut self.devices {
                device.forget(now);
            }
            if let Some(port) = &mut self.port {
                port.servers.forget(now);
            }
            if let Some(controller) = &mut self.controller {
                controller.servers.forget(now);
            }
        }
    }

    fn finish(self, now: Time) -> Outcome {
        let mut tally = Tally::default();
        let mut resources = measure::Resources::default();
        for device in &self.devices {
            tally += device.tally();
            device.uses(now, &mut |used| resources.add(used));
        }
        let mut servers = |resource, servers: &crate::kernel::Servers<u32>| {
            resources.add(Use {
                resource,
                count: u32::try_from(servers.count()).unwrap_or(1),
                busy: servers.busy_until(now),
            });
        };
        if let Some(port) = &self.port {
            servers("ports", &port.servers);
        }
        if let Some(controller) = &self.controller {
            servers("controller processors", &controller.servers);
        }
        self.measure.finish(now, tally, resources)
    }
}

#[inline]
fn submit<D: Device>(
    devices: &mut [D],
    calendar: &mut Calendar,
    now: Time,
    group: usize,
    piece: Piece,
) {
    let member = piece.member as usize;
    let device = &mut devices[member];
    device.submit(now, key(group), piece.operation);
    calendar.set(member, device.next());
}

/// Slab keys are as many as things are under way at once, far below 2³².
#[inline]
fn key(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
