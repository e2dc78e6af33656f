//! The arm over the turning platters: where it is, and how many steps of a revolution it spends.

use std::sync::Arc;

use super::clock::{Clock, MASK};
use super::seek::Moves;
use super::zones::{Place, Run, Zones};

/// Steps by which the head may come late and still catches a sector: less than the gap in front of it. Rounding needs it,
/// so that what follows each other does.
const GAP: u32 = 64;

/// What moves and turns.
#[derive(Debug)]
pub(super) struct Mechanics {
    pub(super) clock: Clock,
    /// The same for all disks of an array, so that many of them stay near the processor.
    pub(super) zones: Arc<Zones>,
    pub(super) moves: Moves,
    /// Steps from one track to the next while reading, in the same cylinder and to the next.
    read: [u64; 2],
    /// The same while writing.
    write: [u64; 2],
}

impl Mechanics {
    pub(super) fn new(clock: Clock, zones: Zones, moves: Moves) -> Mechanics {
        let crossing = |settle: u32| {
            let ways = [
                (moves.steps(0, true, settle), zones.track_skew),
                (moves.steps(1, true, settle), zones.cylinder_skew),
            ];
            ways.map(|(steps, skew)| wait(skew, steps) + u64::from(steps))
        };
        Mechanics {
            read: crossing(0),
            write: crossing(moves.settle),
            clock,
            zones: Arc::new(zones),
            moves,
        }
    }
}

/// Steps until an angle comes round, for a head that has arrived at another.
#[inline]
fn wait(target: u32, arrived: u32) -> u64 {
    let steps = target.wrapping_sub(arrived).wrapping_add(GAP) & MASK;
    u64::from(steps.saturating_sub(GAP))
}

/// Steps of positioning, for comparison: what [`Motion::go`] spends, and [`GAP`] more.
#[inline]
pub(super) fn cost(
    moves: &Moves,
    from: Place,
    cylinder: i32,
    head: u32,
    angle: u32,
    settle: u32,
) -> u32 {
    let distance = (cylinder - from.cylinder.cast_signed()).abs();
    let steps = moves.steps(distance, head != from.head, settle);
    let arrived = from.angle.wrapping_add(steps);
    steps + (angle.wrapping_sub(arrived).wrapping_add(GAP) & MASK)
}

/// An arm at work.
#[derive(Clone, Copy, Debug)]
pub(super) struct Motion<'a> {
    mechanics: &'a Mechanics,
    /// Cylinder and head that it is at, and the angle at which the platter stood at first.
    from: Place,
    /// Steps since then.
    pub(super) spent: u64,
}

impl<'a> Motion<'a> {
    /// From a cylinder and head, at an angle of the platter.
    #[inline]
    pub(super) fn new(mechanics: &'a Mechanics, from: Place) -> Motion<'a> {
        Motion {
            mechanics,
            from,
            spent: 0,
        }
    }

    /// Cylinder and head that it has come to, and the angle at which the platter stood at first.
    #[inline]
    pub(super) fn place(&self) -> Place {
        self.from
    }

    /// To a place, which then is about to pass.
    #[inline]
    pub(super) fn go(&mut self, to: Place, is_write: bool) {
        let moves = &self.mechanics.moves;
        let distance = (to.cylinder.cast_signed() - self.from.cylinder.cast_signed()).abs();
        let settle = if is_write { moves.settle } else { 0 };
        let steps = moves.steps(distance, to.head != self.from.head, settle);
        self.spent += u64::from(steps);
        #[expect(
            clippy::cast_possible_truncation,
            reason = "whole revolutions do not matter"
        )]
        let arrived = self.from.angle.wrapping_add(self.spent as u32);
        self.spent += wait(to.angle, arrived);
        self.from.cylinder = to.cylinder;
        self.from.head = to.head;
    }

    /// To a sector, and over so many from there, track after track.
    #[inline]
    pub(super) fn pass(&mut self, sector: u64, count: u64, is_write: bool) {
        let run = self.mechanics.zones.run(sector);
        self.pass_from(run, sector, count, is_write);
    }

    /// The same to a sector whose run is known.
    #[inline]
    pub(super) fn pass_from(&mut self, run: Run, sector: u64, count: u64, is_write: bool) {
        self.go(run.place, is_write);
        self.follow_from(run, sector, count, is_write);
    }

    /// Over so many sectors from one that is about to pass.
    #[inline]
    pub(super) fn follow(&mut self, sector: u64, count: u64, is_write: bool) {
        let run = self.mechanics.zones.run(sector);
        self.follow_from(run, sector, count, is_write);
    }

    #[inline]
    fn follow_from(&mut self, mut run: Run, mut sector: u64, mut count: u64, is_write: bool) {
        let Mechanics {
            zones, read, write, ..
        } = self.mechanics;
        let crossing = if is_write { write } else { read };
        loop {
            let here = count.min(u64::from(run.left));
            self.spent += (here * zones.step(run)) >> 16;
            self.from.cylinder = run.place.cylinder;
            self.from.head = run.place.head;
            sector += here;
            count -= here;
            if count == 0 {
                return;
            }
            self.spent += crossing[usize::from(!zones.is_followed(run.place))];
            run = zones.next(run, sector);
        }
    }

    /// Over as many sectors from one that is about to pass as fit into so many steps, at most `count`: how many.
    pub(super) fn follow_for(&mut self, sector: u64, count: u64, steps: u64) -> u64 {
        if count == 0 {
            return 0;
        }
        let Mechanics { zones, read, .. } = self.mechanics;
        let end = self.spent + steps;
        let mut done = 0;
        let mut run = zones.run(sector);
        loop {
            let (room, step) = ((end.saturating_sub(self.spent)) << 16, zones.step(run));
            let most = (count - done).min(u64::from(run.left));
            let here = if room >= most * step {
                most
            } else {
                room / step
            };
            self.spent += (here.max(1) * step) >> 16;
            self.from.cylinder = run.place.cylinder;
            self.from.head = run.place.head;
            done += here;
            if here < u64::from(run.left) || done >= count {
                return done;
            }
            self.spent += read[usize::from(!zones.is_followed(run.place))];
            if self.spent >= end {
                return done;
            }
            run = zones.next(run, sector + done);
        }
    }
}
