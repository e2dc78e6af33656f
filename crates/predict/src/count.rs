//! Exact operation counts without time: what each request becomes on the members, and nothing of when.
//!
//! Requests pass through the same software layers, the same layout and the same arithmetic of granules as in a timed run,
//! one after the other, so the counts are those of a run in which every member is idle. What depends on time is left out:
//! a cache (every command goes to the members), writes that a device joins before it reads around them, and of mirrors,
//! which copy is read (counts are the same for each).

use std::marker::PhantomData;

use crate::kernel::Time;
use crate::model::array::{Layout, Split};
use crate::model::soft::{Fragment, Soft, To};
use crate::model::{Device, Granules, Operation};
use crate::profile::{Profile, Refusal};
use crate::requests::{Next, Requests, Synthetic};
use crate::scenario::Scenario;
use crate::script::{Grounds, Source};
use crate::system::{Counts, WithDevice, admit, with_device};

/// What so many requests of a scenario, of all its threads in turn, become. The same seed draws the same places as in
/// [`Scenario::simulate`].
///
/// # Errors
/// As [`Scenario::simulate`].
pub fn count(scenario: &Scenario, seed: u64, requests: u64) -> Result<Counts, Refusal> {
    struct Run<'a>(&'a Scenario, u64, u64);
    impl WithDevice for Run<'_> {
        type Output = Counts;
        fn run<D: Device>(self, profile: &Profile) -> Result<Counts, Refusal> {
            let Run(scenario, seed, requests) = self;
            let counter = Counter::<D>::build(profile)?;
            if let Some(script) = &scenario.script {
                let region = scenario.region(counter.layout.capacity())?;
                let grounds = Grounds::new(script, region, seed)?;
                let outstanding = scenario.workload.concurrency();
                let mut source = Source::new(script, &grounds, region, outstanding, seed);
                return counter.run(&mut source, requests);
            }
            let ground = scenario.ground(counter.layout.capacity(), seed)?;
            let Scenario {
                workload, arrivals, ..
            } = scenario;
            let mut source = Synthetic::new(workload, *arrivals, &ground, seed);
            counter.run(&mut source, requests)
        }
    }
    with_device(&scenario.profile.complete()?, Run(scenario, seed, requests))
}

/// What a stream of requests becomes, such as a recorded one: at most so many of them, of all its streams in turn.
///
/// # Errors
/// As [`replay`](crate::replay).
pub fn count_requests(
    profile: &Profile,
    requests: &mut impl Requests,
    most: u64,
) -> Result<Counts, Refusal> {
    struct Run<'a, R>(&'a mut R, u64);
    impl<R: Requests> WithDevice for Run<'_, R> {
        type Output = Counts;
        fn run<D: Device>(self, profile: &Profile) -> Result<Counts, Refusal> {
            Counter::<D>::build(profile)?.run(self.0, self.1)
        }
    }
    with_device(&profile.complete()?, Run(requests, most))
}

/// A system that does nothing but count.
struct Counter<D> {
    soft: Soft,
    layout: Layout,
    granules: Option<Granules>,
    fragments: Vec<Fragment>,
    split: Split,
    counts: Counts,
    member: PhantomData<D>,
}

impl<D: Device> Counter<D> {
    fn build(profile: &Profile) -> Result<Counter<D>, Refusal> {
        let member = D::build(profile.required(D::SECTION)?, 0)?;
        let layout = Layout::build(profile, member.capacity())?;
        Ok(Counter {
            soft: Soft::build(profile, layout.capacity(), member.capacity())?,
            layout,
            granules: member.granules(),
            fragments: Vec::new(),
            split: Split::default(),
            counts: Counts::default(),
            member: PhantomData,
        })
    }

    fn run(mut self, requests: &mut impl Requests, most: u64) -> Result<Counts, Refusal> {
        let capacity = self.layout.capacity();
        let mut left = most;
        let mut streams: Vec<u32> = (0..requests.streams()).collect();
        while !streams.is_empty() && left > 0 {
            let mut kept = 0;
            for index in 0..streams.len() {
                let stream = streams[index];
                if left == 0 {
                    break;
                }
                let Some(next) = requests.next(Time::ZERO, stream) else {
                    continue;
                };
                admit(next, capacity)?;
                left -= 1;
                self.request(next);
                streams[kept] = stream;
                kept += 1;
            }
            streams.truncate(kept);
        }
        Ok(self.counts)
    }

    #[inline]
    fn request(&mut self, next: Next) {
        let operation = Operation {
            access: next.access,
            start: next.start.get(),
            len: next.len.get(),
        };
        if self.soft.is_absent() {
            self.command(operation);
            return;
        }
        let mut fragments = std::mem::take(&mut self.fragments);
        // Without time, a bit of a bitmap that was set stays set.
        self.soft.translate(Time::ZERO, operation, &mut fragments);
        for Fragment { operation, to, .. } in fragments.drain(..) {
            match to {
                To::Array => self.command(operation),
                To::EachMember => {
                    for _ in 0..self.layout.members() {
                        piece(&mut self.counts, self.granules, operation);
                    }
                }
            }
        }
        self.fragments = fragments;
    }

    #[inline]
    fn command(&mut self, operation: Operation) {
        let Counter {
            layout,
            split,
            counts,
            granules,
            ..
        } = self;
        layout.split(operation, |_| 0, split);
        counts.split(layout.units(operation), split);
        for part in &split.pieces {
            piece(counts, *granules, part.operation);
        }
    }
}

/// Counts an operation of a member.
#[inline]
fn piece(counts: &mut Counts, granules: Option<Granules>, operation: Operation) {
    counts.member_reads += u64::from(operation.is_read());
    counts.member_writes += u64::from(!operation.is_read());
    counts.member_bytes += operation.len;
    if let Some(granules) = granules {
        let (touched, partial) = granules.of(operation);
        counts.granules += touched;
        counts.granules_read += if operation.is_read() { 0 } else { partial };
    }
}

#[cfg(test)]
mod tests;
