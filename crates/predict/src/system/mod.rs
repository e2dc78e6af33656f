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

mod cached;
mod due;
mod flow;
mod length;
mod measure;
mod store;
mod stores;

use slab::Slab;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use straddle_geometry::Bytes;

use crate::kernel::{Calendar, Servers, Time};
use crate::model::array::{Layout, Piece, Split};
use crate::model::cache::Cache;
use crate::model::controller::Controller;
use crate::model::port::Port;
use crate::model::soft::{Fragment, Soft};
use crate::model::{self, Device, Ended, Operation, Tally, Use};
use crate::profile::{Profile, Refusal};
use crate::requests::{Next, Requests};
use cached::Cached;
use due::Due;
use flow::{Command, Group, Visit};
pub use length::Length;
pub(crate) use length::Start;
use measure::Measure;
pub use measure::{Counts, MARKS, Mark, Outcome, Resource};
pub(crate) use store::{DIRTY, REQUESTS};
pub use store::{LEVEL, Store};

/// Destages of a write-back cache, of which only so many may be under way.
pub(crate) const DESTAGING: &str = "destages at once (cache.destages)";
/// Most requests that wait at once in an open loop: beyond that, more arrive than are served.
const MAX_WAITING: usize = 1 << 20;
/// Most answers at one instant: beyond that, time stands still.
const MAX_AT_ONCE: u64 = 10_000_000;

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

/// Bytes that the system of a complete profile holds.
///
/// # Errors
/// As [`check`].
pub(crate) fn capacity(profile: &Profile) -> Result<u64, Refusal> {
    struct Capacity;
    impl WithDevice for Capacity {
        type Output = u64;
        fn run<D: Device>(self, profile: &Profile) -> Result<u64, Refusal> {
            System::<D>::build(profile, 0).map(|system| system.capacity())
        }
    }
    with_device(profile, Capacity)
}

/// Bytes of the logical sector of the members of a complete profile.
///
/// # Errors
/// As [`check`].
pub(crate) fn sector(profile: &Profile) -> Result<u64, Refusal> {
    struct Sector;
    impl WithDevice for Sector {
        type Output = u64;
        fn run<D: Device>(self, profile: &Profile) -> Result<u64, Refusal> {
            System::<D>::build(profile, 0).map(|system| system.sector())
        }
    }
    with_device(profile, Sector)
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
        (Some(&"flash"), None) => with.run::<model::flash::Flash>(profile),
        (Some(&"disk"), None) => with.run::<model::disk::Disk>(profile),
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
    cached: Option<Cached>,
    layout: Layout,
    /// Works parity out, where that takes time.
    thread: Option<Servers<u32>>,
    devices: Vec<D>,
    calendar: Calendar,
    visits: Slab<Visit>,
    commands: Slab<Command>,
    groups: Slab<Group>,
    measure: Measure,
    /// As they were when the count began.
    stores: Vec<Store>,
    capacity: u64,
    /// Streams that are to make their next request now.
    ready: Vec<u32>,
    /// Requests that are due later.
    later: BinaryHeap<Reverse<Due>>,
    is_open: bool,
    // Buffers, so that a run does not allocate.
    split: Split,
    ended: Ended,
    fragments: Vec<Fragment>,
    spare_fragments: Vec<Vec<Fragment>>,
    spare_pieces: Vec<Vec<Piece>>,
}

impl<D: Device> System<D> {
    /// As a complete profile says. `seed` turns the platters.
    pub(crate) fn build(profile: &Profile, seed: u64) -> Result<System<D>, Refusal> {
        let mut random = seed;
        let section = profile.required(D::SECTION)?;
        let first = D::build(section, random)?;
        let layout = Layout::build(profile, first.capacity())?;
        let soft = Soft::build(profile, layout.capacity(), first.capacity())?;
        let members = layout.members();
        let mut devices = Vec::with_capacity(members as usize);
        for _ in 1..members {
            random = random.wrapping_add(0x9e37_79b9_7f4a_7c15);
            devices.push(first.another(section, random)?);
        }
        devices.insert(0, first);
        let calendar = Calendar::new(devices.len() + 5);
        Ok(System {
            port: profile
                .section("port")
                .map(|section| Port::build(section, !seed)),
            controller: profile.section("controller").map(Controller::build),
            cached: match profile.section("cache") {
                Some(section) => {
                    let cache = Cache::build(section, layout.capacity(), layout.row())?;
                    Some(Cached::new(cache))
                }
                None => None,
            },
            capacity: soft.capacity(),
            soft,
            thread: layout.has_thread().then(|| Servers::new(1)),
            layout,
            devices,
            calendar,
            visits: Slab::new(),
            commands: Slab::new(),
            groups: Slab::new(),
            measure: Measure::default(),
            stores: Vec::new(),
            ready: Vec::new(),
            later: BinaryHeap::new(),
            is_open: false,
            split: Split::default(),
            ended: Vec::new(),
            fragments: Vec::new(),
            spare_fragments: Vec::new(),
            spare_pieces: Vec::new(),
        })
    }

    /// Bytes of a member's logical sector.
    pub(crate) fn sector(&self) -> u64 {
        self.devices.first().map_or(1, Device::sector)
    }

    /// Bytes that the host sees.
    pub(crate) fn capacity(&self) -> u64 {
        self.capacity
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

    fn cache_station(&self) -> usize {
        self.devices.len() + 3
    }

    fn thread_station(&self) -> usize {
        self.devices.len() + 4
    }

    /// Works until so many requests have been answered, or until there are no more.
    pub(crate) fn run(
        mut self,
        requests: &mut impl Requests,
        length: Length,
        start: Start,
    ) -> Result<Outcome, Refusal> {
        self.measure = Measure::new(length);
        self.is_open = requests.is_open();
        self.ready.extend((0..requests.streams()).rev());
        let mut at_once = 0_u64;
        let mut now = Time::ZERO;
        self.warm(requests, start);
        self.stores = self.stores();
        self.begin(now, requests)?;
        while !self.measure.is_complete() {
            let (time, station) = self.calendar.first();
            if time == Time::NEVER {
                break;
            }
            at_once = if time == now { at_once + 1 } else { 0 };
            if at_once > MAX_AT_ONCE {
                return Err(Refusal::new(
                    "the system",
                    "one in which requests take no time at all",
                    "a service time above zero somewhere",
                ));
            }
            now = time;
            if let Some(device) = self.devices.get_mut(station) {
                device.advance(now, &mut self.ended);
                let next = device.next();
                self.calendar.set(station, next);
                // Nothing ends while others are told of their end, so that the buffer can stay where it is.
                for index in 0..self.ended.len() {
                    let ticket = self.ended[index];
                    self.end_piece(now, ticket);
                }
                self.ended.clear();
            } else if station == self.port_station() {
                self.leave_port(now);
            } else if station == self.controller_station() {
                self.leave_controller(now);
            } else if station == self.thread_station() {
                self.leave_thread(now);
            } else if station == self.cache_station() {
                self.wake_cache(now);
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
                requests.wake(&mut self.ready);
                continue;
            };
            admit(next, self.capacity)?;
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
            requests.wake(&mut self.ready);
        }
        Ok(())
    }

    /// A request is due. In an open loop, the stream's next one does not wait for its answer.
    fn arrive(&mut self, now: Time, due: Due) -> Result<(), Refusal> {
        self.start(now, due);
        if self.is_open {
            self.ready.push(due.stream);
            if self.visits.len() > MAX_WAITING {
                return Err(Refusal::new(
                    "the rate",
                    format!("more than the system serves: {MAX_WAITING} requests wait"),
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

    fn finish(self, now: Time) -> Outcome {
        let stores = store::between(&self.stores, self.stores());
        let mut tally = Tally::default();
        let mut resources = measure::Resources::default();
        let use_of = |resource, count: usize, busy| Use {
            resource,
            count: u32::try_from(count).unwrap_or(u32::MAX),
            busy,
        };
        // Places are taken for as long as what lies below takes: they are the limit where that is not, so they come first.
        if let Some((count, busy)) = self.port.as_ref().and_then(|port| port.places(now)) {
            resources.add(use_of("places inside (port.depth)", count, busy));
        }
        if let Some(cached) = self.cached.as_ref().filter(|cached| cached.is_write_back()) {
            let (count, busy) = cached.slots(now);
            resources.add(use_of(DESTAGING, count, busy));
        }
        for device in &self.devices {
            tally += device.tally();
            device.uses(now, &mut |used| resources.add(used));
        }
        if let Some(thread) = &self.thread {
            let busy = thread.busy_until(now);
            resources.add(use_of("parity threads", thread.count(), busy));
        }
        if let Some(port) = &self.port {
            resources.add(use_of("ports", port.count(), port.busy_until(now)));
        }
        if let Some(controller) = &self.controller {
            let busy = controller.busy_until(now);
            resources.add(use_of("controller processors", controller.count(), busy));
        }
        self.measure.finish(now, tally, resources, stores)
    }
}

/// Refuses a request that has no length or does not end within a system of so many bytes.
#[inline]
pub(crate) fn admit(next: Next, capacity: u64) -> Result<(), Refusal> {
    let end = next.start.get().checked_add(next.len.get());
    if next.len > Bytes::ZERO && end.is_some_and(|end| end <= capacity) {
        return Ok(());
    }
    Err(refuse(next, capacity))
}

#[cold]
fn refuse(next: Next, capacity: u64) -> Refusal {
    let (start, len) = (next.start.grouped(), next.len.grouped());
    let capacity = Bytes::new(capacity).grouped();
    Refusal::new(
        "a request",
        format!("{len} bytes from byte {start}"),
        format!("at least one byte, to end within the system's {capacity} bytes"),
    )
}
