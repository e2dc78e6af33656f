//! A script as a source of requests.

use rand_xoshiro::Xoshiro256PlusPlus;
use straddle_geometry::{Bytes, Extent};
use straddle_workload::generator::{Generator, streams};

use super::{Kind, Phase, Record, Script, Stream};
use crate::kernel::Time;
use crate::profile::Refusal;
use crate::requests::{Ground, Next, Requests};

/// Parts of a region begin on multiples of this from its beginning, so that a stream's places are alike at every offset.
const PART: u64 = 1 << 20;

/// Where the streams of a script lie.
pub(crate) struct Grounds(Vec<Vec<Ground>>);

impl Grounds {
    /// In an extent that begins where the region does.
    pub(crate) fn new(script: &Script, extent: Extent, seed: u64) -> Result<Grounds, Refusal> {
        let Kind::Phases(phases) = &script.kind else {
            return Ok(Grounds(Vec::new()));
        };
        let of = |stream: &Stream| {
            let at = |share: f64| {
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    clippy::cast_precision_loss,
                    reason = "a share of a region"
                )]
                let bytes = (extent.len().get() as f64 * share) as u64;
                bytes / PART * PART
            };
            let (from, to) = (at(stream.part.0), at(stream.part.1));
            let start = extent.start().checked_add(Bytes::new(from));
            let part = start.and_then(|start| Extent::new(start, Bytes::new(to - from)));
            let part = part
                .filter(|part| part.len() > Bytes::ZERO)
                .ok_or_else(|| {
                    let found = format!("{} of {}", stream.name, Bytes::new(to - from));
                    Refusal::new(
                        "a part",
                        found,
                        "at least 1 MiB for each stream: a larger region",
                    )
                })?;
            Ground::new(&stream.workload, part, seed)
        };
        let phases = phases
            .iter()
            .map(|phase| phase.streams.iter().map(of).collect());
        Ok(Grounds(phases.collect::<Result<_, _>>()?))
    }
}

/// A script at work.
pub(crate) enum Source<'a> {
    Phases(Phases<'a>),
    Recorded(Recorded<'a>),
}

/// Phases at work.
pub(crate) struct Phases<'a> {
    phases: Vec<Turn<'a>>,
    /// The phase that is going on, and the requests that it still has.
    now: usize,
    left: u64,
    slots: u32,
    /// Slots that have no part in the phase that is going on.
    parked: Vec<u32>,
    woken: bool,
}

struct Turn<'a> {
    requests: u64,
    /// For each slot of the phase, its generator and how long it pauses.
    slots: Vec<(usize, Time)>,
    generators: Vec<Generator<'a>>,
}

impl<'a> Source<'a> {
    /// The same seed draws the same places at whatever offset the grounds lie.
    pub(crate) fn new(
        script: &'a Script,
        grounds: &'a Grounds,
        region: Extent,
        outstanding: u64,
        seed: u64,
    ) -> Source<'a> {
        match &script.kind {
            Kind::Recorded(records) => {
                Source::Recorded(Recorded::new(records, region, outstanding, seed))
            }
            Kind::Phases(phases) => {
                let mut random = streams(seed);
                let turns = phases.iter().zip(&grounds.0);
                let turns = turns.map(|(phase, grounds)| Turn::new(phase, grounds, &mut random));
                let turns: Vec<Turn<'a>> = turns.collect();
                let most = turns.iter().map(|turn| turn.slots.len()).max().unwrap_or(0);
                Source::Phases(Phases {
                    left: turns.first().map_or(0, |turn| turn.requests),
                    phases: turns,
                    now: 0,
                    slots: u32::try_from(most).unwrap_or(u32::MAX),
                    parked: Vec::new(),
                    woken: false,
                })
            }
        }
    }
}

impl<'a> Turn<'a> {
    fn new(
        phase: &'a Phase,
        grounds: &'a [Ground],
        random: &mut impl Iterator<Item = Xoshiro256PlusPlus>,
    ) -> Turn<'a> {
        let (mut generators, mut slots) = (Vec::new(), Vec::new());
        for (stream, ground) in phase.streams.iter().zip(grounds) {
            let think = Time::seconds(stream.workload.think.as_secs_f64());
            for generator in ground.generators(random) {
                slots.extend((0..stream.workload.outstanding).map(|_| (generators.len(), think)));
                generators.push(generator);
            }
        }
        Turn {
            requests: phase.requests,
            slots,
            generators,
        }
    }
}

impl Requests for Source<'_> {
    fn streams(&self) -> u32 {
        match self {
            Source::Phases(phases) => phases.slots,
            Source::Recorded(recorded) => recorded.slots,
        }
    }

    fn next(&mut self, now: Time, stream: u32) -> Option<Next> {
        match self {
            Source::Phases(phases) => phases.next(now, stream),
            Source::Recorded(recorded) => Some(recorded.next(now)),
        }
    }

    fn is_open(&self) -> bool {
        false
    }

    fn before(&mut self, stream: u32) -> Option<Next> {
        match self {
            Source::Phases(phases) => phases.before(stream),
            Source::Recorded(recorded) => Some(recorded.next(Time::ZERO)),
        }
    }

    fn wake(&mut self, ready: &mut Vec<u32>) {
        if let Source::Phases(phases) = self
            && std::mem::take(&mut phases.woken)
        {
            ready.append(&mut phases.parked);
        }
    }
}

impl Phases<'_> {
    /// A request of the phases as they went before: every slot has a part in each.
    fn before(&mut self, slot: u32) -> Option<Next> {
        self.turn();
        let slots = self.phases.get(self.now)?.slots.len();
        self.draw(Time::ZERO, slot as usize % slots.max(1))
    }

    /// The next phase, when the one that is going on has had its requests.
    fn turn(&mut self) {
        if self.left > 0 {
            return;
        }
        self.now = (self.now + 1) % self.phases.len().max(1);
        self.left = self.phases.get(self.now).map_or(0, |turn| turn.requests);
        self.woken = true;
    }

    fn next(&mut self, now: Time, slot: u32) -> Option<Next> {
        self.turn();
        let next = self.draw(now, slot as usize);
        if next.is_none() {
            // It has no part in this phase, and waits for one in which it has.
            self.parked.push(slot);
        }
        next
    }

    /// A request of a slot, where it has a part in the phase.
    fn draw(&mut self, now: Time, slot: usize) -> Option<Next> {
        let turn = self.phases.get_mut(self.now)?;
        let (generator, think) = turn.slots.get(slot).copied()?;
        self.left -= 1;
        let drawn = turn.generators.get_mut(generator)?.draw();
        Some(Next {
            due: if now == Time::ZERO { now } else { now + think },
            access: drawn.access,
            start: drawn.offset,
            len: drawn.len,
        })
    }
}

/// A recording at work.
pub(crate) struct Recorded<'a> {
    records: &'a [Record],
    at: usize,
    region: Extent,
    slots: u32,
}

impl<'a> Recorded<'a> {
    fn new(records: &'a [Record], region: Extent, outstanding: u64, seed: u64) -> Recorded<'a> {
        // Replicates begin at different places of the recording, spread evenly over it.
        const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
        let spread = u128::from(seed.wrapping_mul(GOLDEN)) * (records.len() as u128);
        Recorded {
            records,
            at: usize::try_from(spread >> 64).unwrap_or(0),
            region,
            slots: u32::try_from(outstanding).unwrap_or(u32::MAX),
        }
    }

    fn next(&mut self, now: Time) -> Next {
        let record = self.records.get(self.at).copied().unwrap_or(Record {
            access: straddle_geometry::Access::Read,
            start: 0,
            len: 512,
        });
        self.at = (self.at + 1) % self.records.len().max(1);
        Next {
            due: now,
            access: record.access,
            start: Bytes::new(
                self.region
                    .start()
                    .get()
                    .saturating_add(place(record, self.region.len().get())),
            ),
            len: Bytes::new(record.len),
        }
    }
}

/// Where a recorded request lies in a region of so many bytes: where it was, or as far from a MiB, where the region is
/// shorter than what was recorded.
fn place(record: Record, region: u64) -> u64 {
    let fits = |start: u64| {
        start
            .checked_add(record.len)
            .is_some_and(|end| end <= region)
    };
    if fits(record.start) {
        return record.start;
    }
    let within = record.start % PART;
    let whole = region.saturating_sub(record.len.saturating_add(within)) / PART + 1;
    let wrapped = record.start / PART % whole * PART + within;
    if fits(wrapped) { wrapped } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use straddle_geometry::Access;

    #[test]
    fn what_is_longer_than_the_region_is_wrapped_as_far_from_a_mib() {
        let record = |start, len| Record {
            access: Access::Write,
            start,
            len,
        };
        let mib = 1 << 20;
        assert_eq!(
            place(record(7 * mib + 4096, 8192), 10 * mib),
            7 * mib + 4096
        );
        for start in [10 * mib - 4096, 25 * mib + 512, 1 << 50] {
            let at = place(record(start, 8192), 10 * mib);
            assert!(at + 8192 <= 10 * mib, "{start}: {at}");
            assert_eq!(at % mib, start % mib, "{start}");
        }
        assert_eq!(place(record(512, mib), mib), 0);
    }
}
