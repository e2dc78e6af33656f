//! A system, a workload and a place for it: what one run simulates.

use straddle_geometry::{Bytes, Extent};
use straddle_workload::{Pattern, Workload};

use crate::model::Device;
use crate::model::cache::Spread;
use crate::profile::{Profile, Refusal};
use crate::requests::{Arrivals, Ground, Requests, Synthetic};
use crate::script::{Grounds, Kind, Script, Source};
use crate::system::{Length, Outcome, Start, System, WithDevice, with_device};

/// What one run simulates.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The system. Defaults need not be in their place yet.
    pub profile: Profile,
    /// What is asked of it; of a script, its summary.
    pub workload: Workload,
    /// What is asked in place of the workload, where it is more than that.
    pub script: Option<Script>,
    /// How requests of an open loop arrive.
    pub arrivals: Arrivals,
    /// Where the region that requests go to begins: in the addresses of the array, which begin on all of its grids.
    pub offset: Bytes,
    /// Length of that region; without it, all that is there behind the offset.
    pub span: Option<Bytes>,
}

impl Scenario {
    /// One run whose stores of work are as full as said when time begins.
    pub(crate) fn simulate_from(
        &self,
        start: Start,
        seed: u64,
        length: Length,
    ) -> Result<Outcome, Refusal> {
        let profile = self.profile.complete()?;
        let run = Run {
            scenario: self,
            start,
            seed,
            length,
        };
        with_device(&profile, run)
    }

    /// Refuses requests that are not whole logical sectors of so many bytes: such a device does not serve them.
    fn check(&self, sector: u64) -> Result<(), Refusal> {
        let mut asked: Vec<&Workload> = vec![&self.workload];
        if let Some(Script {
            kind: Kind::Phases(phases),
            ..
        }) = &self.script
        {
            let streams = phases.iter().flat_map(|phase| &phase.streams);
            asked = streams.map(|stream| &stream.workload).collect();
        }
        asked
            .into_iter()
            .try_for_each(|workload| self.check_one(workload, sector))
    }

    fn check_one(&self, workload: &Workload, sector: u64) -> Result<(), Refusal> {
        let sizes = workload.sizes.iter();
        let sizes = sizes.map(|(size, _)| ("workload.io", size.bytes()));
        let stride = match workload.pattern {
            Pattern::RandomEvery(step) | Pattern::Strided(step) | Pattern::Recorded(step) => {
                Some(("workload.pattern", step.bytes()))
            }
            Pattern::Columns(row) => Some(("workload.pattern", row.bytes())),
            Pattern::Random | Pattern::Sequential => None,
        };
        let mut all = std::iter::once(("workload.offset", self.offset))
            .chain(sizes)
            .chain(stride);
        match all.find(|(_, bytes)| !bytes.get().is_multiple_of(sector)) {
            None => Ok(()),
            Some((key, bytes)) => Err(Refusal::new(
                key,
                bytes,
                format!(
                    "whole logical sectors of {}: the device serves nothing else",
                    Bytes::new(sector)
                ),
            )),
        }
    }

    /// Where the workload's requests lie in a system of so many bytes.
    pub(crate) fn ground(&self, capacity: u64, seed: u64) -> Result<Ground, Refusal> {
        Ground::new(&self.workload, self.region(capacity)?, seed)
    }

    /// The region that requests go to in a system of so many bytes.
    pub(crate) fn region(&self, capacity: u64) -> Result<Extent, Refusal> {
        let capacity = Bytes::new(capacity);
        let room = capacity.checked_sub(self.offset).unwrap_or(Bytes::ZERO);
        let span = self.span.unwrap_or(room);
        Extent::new(self.offset, span)
            .filter(|_| span <= room && span > Bytes::ZERO)
            .ok_or_else(|| {
                Refusal::new(
                    "workload.span",
                    format!("{} from byte {}", span, self.offset.grouped()),
                    format!("to end within the system's {capacity}"),
                )
            })
    }
}

struct Run<'a> {
    scenario: &'a Scenario,
    start: Start,
    seed: u64,
    length: Length,
}

impl WithDevice for Run<'_> {
    type Output = Outcome;

    fn run<D: Device>(self, profile: &Profile) -> Result<Outcome, Refusal> {
        let Scenario {
            workload, arrivals, ..
        } = self.scenario;
        let system = System::<D>::build(profile, self.seed)?;
        self.scenario.check(system.sector())?;
        if let Some(script) = &self.scenario.script {
            let region = self.scenario.region(system.capacity())?;
            let grounds = Grounds::new(script, region, self.seed)?;
            let outstanding = workload.concurrency();
            let mut source = Source::new(script, &grounds, region, outstanding, self.seed);
            return system.run(&mut source, self.length, self.start);
        }
        let ground = self.scenario.ground(system.capacity(), self.seed)?;
        let mut requests = Synthetic::new(workload, *arrivals, &ground, self.seed);
        let room = system.capacity() - self.scenario.offset.get();
        let span = self.scenario.span.map_or(room, Bytes::get);
        let spread = match workload.pattern {
            Pattern::Random => Spread::Random(span),
            Pattern::Sequential => Spread::InOrder(span),
            _ => Spread::Unknown,
        };
        let start = Start {
            spread,
            ..self.start
        };
        system.run(&mut requests, self.length, start)
    }
}

/// Works through any stream of requests, such as a recorded one, on the system of a profile.
///
/// # Errors
/// As [`Scenario::simulate`]; besides, a request beyond the system's end.
pub fn replay(
    profile: &Profile,
    requests: &mut impl Requests,
    seed: u64,
    length: Length,
) -> Result<Outcome, Refusal> {
    struct Replay<'a, R>(&'a mut R, u64, Length);
    impl<R: Requests> WithDevice for Replay<'_, R> {
        type Output = Outcome;
        fn run<D: Device>(self, profile: &Profile) -> Result<Outcome, Refusal> {
            System::<D>::build(profile, self.1)?.run(self.0, self.2, Start::default())
        }
    }
    with_device(&profile.complete()?, Replay(requests, seed, length))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::registry;
    use std::time::Duration;
    use straddle_geometry::Unit;
    use straddle_workload::Percent;

    fn scenario(io: u64, offset: u64) -> Scenario {
        Scenario {
            profile: registry::load("fixed-service").expect("it is one of ours"),
            workload: Workload {
                reads: Percent::ALL,
                pattern: Pattern::Random,
                sizes: vec![(Unit::new(io).expect("not zero"), 1)],
                workers: 4,
                outstanding: 16,
                think: Duration::ZERO,
                rate: None,
            },
            script: None,
            arrivals: Arrivals::Even,
            offset: Bytes::new(offset),
            span: None,
        }
    }

    #[test]
    fn a_request_that_is_no_whole_sector_is_refused() {
        let run = |profile: &str, io, offset| {
            let mut scenario = scenario(io, offset);
            scenario.profile = registry::load(profile).expect("it is one of ours");
            scenario.simulate(1, LENGTH).map(|_| ())
        };
        let refusal = run("ultrastar-hc310-4kn", 4096, 512).expect_err("it lies on no sector");
        assert_eq!(refusal.key, "workload.offset");
        let refusal = run("ultrastar-hc310-4kn", 512, 4096).expect_err("it is shorter");
        assert_eq!(refusal.key, "workload.io");
        assert_eq!(run("ultrastar-hc310-4kn", 4096, 4096), Ok(()));
        assert_eq!(run("ultrastar-hc310-512e", 4096, 512), Ok(()));
    }

    const LENGTH: Length = Length {
        warm_up: 1_000,
        measured: 20_000,
    };

    #[test]
    fn a_request_on_every_boundary_halves_the_rate() {
        let run = |offset| {
            scenario(65_536, offset)
                .simulate(1, LENGTH)
                .expect("it runs")
        };
        let (aligned, misaligned) = (run(65_536), run(32_256));
        assert_eq!(aligned.counts.units, aligned.counts.commands);
        assert_eq!(misaligned.counts.units, 2 * misaligned.counts.commands);
        let ratio = aligned.rate() / misaligned.rate();
        assert!((1.9..2.1).contains(&ratio), "{ratio}");
        assert_eq!(misaligned, run(32_256), "a run is the same every time");
    }
}
