//! A flash device: a controller, channels, dies; reads, programs, erases; units that are written in part.
//!
//! ```text
//! command ─ processor ─┬─ read:  (engine) ─ die ─ channel ─ link ─ answer
//!                      └─ write: link ─ buffer ─ (engine ─ die ─ channel) ─ channel ─ die
//!                                         └─ answer
//! ```
//!
//! Every server keeps working while there is something to do for it. What is where: addresses are striped over dies by
//! *rows* (neighbouring pages on the planes of one die), or units are scattered; writes go to the dies in turn, or, on block-mapped devices, to the
//! die of their address. See `docs/models/flash.md`.

mod cards;
mod collection;
mod engine;
mod flow;
mod geometry;
mod keys;
mod line;
mod segments;
mod times;
mod writes;

use slab::Slab;

use self::cards::OpenBlocks;
use self::collection::Collection;
use self::engine::{Engines, Whole};
use self::geometry::Geometry;
pub(crate) use self::keys::MODEL;
use self::line::Line;
use self::segments::Segments;
use self::times::Times;
use self::writes::Buffer;
use super::device::{Device, Ended, Granules, Operation, Tally, Use};
use crate::kernel::{Calendar, Servers, Time};
use crate::profile::{Refusal, Section};

/// No request waits for it, or it has been answered.
const NONE: u32 = u32::MAX;

// Stations of the calendar; channels and then dies follow.
const FRONT: usize = 0;
const LINK_IN: usize = 1;
const LINK_OUT: usize = 2;
const ENGINE: usize = 3;
const OTHERS: usize = 4;

/// What a die does.
#[derive(Clone, Copy, Debug)]
enum Task {
    /// Reads a row; then its channel is busy for that time, and the die's register until it is over.
    Read {
        request: u32,
        transfer: Time,
    },
    /// Programs a row; then so much of the buffer is free.
    Program {
        request: u32,
        release: u32,
    },
    Erase,
}

/// What a channel does.
#[derive(Clone, Copy, Debug)]
enum Transfer {
    /// From a die, which is held until then.
    Out { die: u32, request: u32 },
    /// To a die, which then programs it.
    In {
        die: u32,
        request: u32,
        release: u32,
    },
}

/// A request under way.
#[derive(Clone, Copy, Debug)]
struct Request {
    /// Whom to answer; [`NONE`] when that has been done.
    ticket: u32,
    operation: Operation,
    /// What of the flash has to be read; those that are empty need not.
    ranges: [(u64, u64); 2],
    /// Things that it waits for.
    pending: u32,
    is_partial: bool,
    has_engine: bool,
    is_committed: bool,
}

/// How commands are treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Buffered,
    Merged,
    Programmed,
}

/// A flash device.
#[derive(Debug)]
pub(crate) struct Flash {
    geometry: Geometry,
    times: Times,
    calendar: Calendar,
    front: Servers<u32>,
    link_in: Line<u32>,
    link_out: Line<u32>,
    channels: Vec<Line<Transfer>>,
    dies: Vec<Line<Task>>,
    /// Rows programmed since each die last erased.
    programmed: Vec<u32>,
    requests: Slab<Request>,
    engines: Engines,
    reads_need_engine: bool,
    answer: Answer,
    buffer: Buffer,
    collection: Option<Collection>,
    open_blocks: Option<OpenBlocks>,
    segments: Option<Segments>,
    queued: u32,
    tally: Tally,
}

impl Device for Flash {
    const SECTION: &'static str = "flash";

    fn build(section: &Section, _random: u64) -> Result<Flash, Refusal> {
        let geometry = Geometry::build(section)?;
        let count = |key| usize::try_from(section.whole(key)).unwrap_or(1);
        let spare = section.optional(&keys::OVER_PROVISION);
        let is_block_mapped = section.optional(&keys::OPEN_BLOCKS).is_some();
        if is_block_mapped && spare.is_some() {
            let expected = "absent beside open_blocks: block-mapped devices collect no garbage";
            return Err(section.refuse(&keys::OVER_PROVISION, expected));
        }
        if is_block_mapped && section.word(&keys::LAYOUT) != "striped" {
            let expected = "striped beside open_blocks: blocks are mapped as a whole";
            return Err(section.refuse(&keys::LAYOUT, expected));
        }
        if let Some(buffer) = section.optional(&keys::BUFFER)
            && buffer < libm::round(section.number(&keys::UNIT))
        {
            let expected = format!("at least a unit's {} bytes", geometry.unit);
            return Err(section.refuse(&keys::BUFFER, expected));
        }
        let segment = section.whole(&keys::MAP_SEGMENT);
        if segment > geometry.capacity {
            let expected = format!("at most the device's {} bytes", geometry.capacity);
            return Err(section.refuse(&keys::MAP_SEGMENT, expected));
        }
        let engines = section
            .optional(&keys::ENGINES)
            .map(|_| count(&keys::ENGINES));
        let engines = match (engines, section.optional(&keys::ENGINE_TIME)) {
            (None, None) => Engines::None,
            (None, Some(_)) => {
                return Err(section.refuse(&keys::ENGINE_TIME, "absent without engines"));
            }
            (Some(count), None) => Engines::Whole(Whole::new(count)),
            (Some(count), Some(time)) => Engines::Timed(Servers::new(count), Time::seconds(time)),
        };
        let (channels, dies) = (geometry.channels as usize, geometry.dies as usize);
        Ok(Flash {
            times: Times::build(section, &geometry),
            calendar: Calendar::new(OTHERS + channels + dies),
            front: Servers::new(count(&keys::PROCESSORS)),
            link_in: Line::new(),
            link_out: Line::new(),
            channels: (0..channels).map(|_| Line::new()).collect(),
            dies: (0..dies).map(|_| Line::new()).collect(),
            programmed: vec![0; dies],
            requests: Slab::new(),
            engines,
            reads_need_engine: section.word(&keys::ENGINE_SERVES) == "all",
            answer: match section.word(&keys::PARTIAL) {
                "merged" => Answer::Merged,
                "programmed" => Answer::Programmed,
                _ => Answer::Buffered,
            },
            buffer: Buffer::new(
                section
                    .optional(&keys::BUFFER)
                    .map(|_| section.whole(&keys::BUFFER)),
            ),
            collection: spare.map(|spare| Collection::new(&geometry, spare)),
            open_blocks: is_block_mapped
                .then(|| OpenBlocks::new(geometry.block, count(&keys::OPEN_BLOCKS))),
            segments: (segment > 0).then(|| Segments::new(segment, count(&keys::MAP_CACHE))),
            geometry,
            queued: 0,
            tally: Tally::default(),
        })
    }

    fn granules(&self) -> Option<Granules> {
        Some(Granules {
            unit: self.geometry.unit,
            shift: 0,
        })
    }

    fn capacity(&self) -> u64 {
        self.geometry.capacity
    }

    #[inline]
    fn submit(&mut self, now: Time, ticket: u32, operation: Operation) {
        self.queued += 1;
        let units = self.geometry.units(operation);
        let is_read = operation.is_read();
        self.tally.bytes += operation.len;
        self.tally.granules += units;
        let partial = self.geometry.partial(operation);
        let is_partial = partial != [(0, 0); 2];
        let ranges = if is_read {
            self.tally.reads += 1;
            [(operation.start, operation.end()), (0, 0)]
        } else {
            self.tally.writes += 1;
            self.tally.written += operation.len;
            let count = partial.iter().filter(|(start, end)| start < end).count();
            self.tally.granules_read += count as u64;
            partial
        };
        let request = self.requests.insert(Request {
            ticket,
            operation,
            ranges,
            pending: 0,
            is_partial,
            has_engine: false,
            is_committed: false,
        });
        let maps = match &mut self.segments {
            Some(segments) => segments.misses(operation.start, operation.end()),
            None => 0,
        };
        let service = self.times.command(is_read, units, maps);
        self.front.submit(now, key(request), service);
        self.calendar.set(FRONT, self.front.next());
    }

    #[inline]
    fn next(&self) -> Time {
        self.calendar.first().0
    }

    fn advance(&mut self, now: Time, ended: &mut Ended) {
        loop {
            let (time, station) = self.calendar.first();
            if time != now {
                return;
            }
            self.happen(now, station, ended);
        }
    }

    fn queued(&self) -> u32 {
        self.queued
    }

    fn stored(&self) -> Option<(&'static str, u64)> {
        Some(("flash buffers", self.buffer.used()))
    }

    fn tally(&self) -> Tally {
        self.tally
    }

    fn uses(&self, now: Time, report: &mut dyn FnMut(Use)) {
        let sum = |times: &mut dyn Iterator<Item = Time>| times.fold(Time::ZERO, |a, b| a + b);
        let processors = u32::try_from(self.front.count()).unwrap_or(1);
        let mut all = vec![
            (
                "dies",
                self.geometry.dies,
                sum(&mut self.dies.iter().map(|die| die.busy(now))),
            ),
            (
                "channels",
                self.geometry.channels,
                sum(&mut self.channels.iter().map(|channel| channel.busy(now))),
            ),
            ("device processors", processors, self.front.busy_until(now)),
        ];
        if self.times.link.is_some() {
            all.push(("links out", 1, self.link_out.busy(now)));
            all.push(("links in", 1, self.link_in.busy(now)));
        }
        let engines = u32::try_from(self.engines.count()).unwrap_or(1);
        if engines > 0 {
            all.push(("engines for partial units", engines, self.engines.busy(now)));
        }
        for (resource, count, busy) in all {
            report(Use {
                resource,
                count,
                busy,
            });
        }
    }

    fn forget(&mut self, now: Time) {
        self.dies.iter_mut().for_each(|die| die.forget(now));
        self.channels.iter_mut().for_each(|line| line.forget(now));
        self.front.forget(now);
        self.link_in.forget(now);
        self.link_out.forget(now);
        self.engines.forget(now);
        self.tally = Tally::default();
    }
}

/// Slab keys and dies are far below 2³².
#[inline]
fn key(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(NONE)
}

#[cfg(test)]
mod tests;
