//! What was read ahead: runs of sectors that a read finds in the drive's memory.

use super::arm::{Mechanics, Motion};
use super::clock::TURN;
use super::zones::Place;
use crate::kernel::Time;

/// Where the drive reads on while it has nothing else to do.
#[derive(Clone, Copy, Debug)]
struct Stream {
    /// The first sector that it holds.
    start: u64,
    /// The first that it had not read by `at`.
    reached: u64,
    at: Time,
    /// Sector at which it stops.
    stop: u64,
    /// Cylinder and head at `at`.
    place: Place,
}

/// Segments of memory for reads.
#[derive(Debug)]
pub(super) struct Ahead {
    /// Sectors that it reads ahead.
    most: u64,
    segments: usize,
    stream: Option<Stream>,
    /// First sectors and those behind the last. Once there are as many as fit, a new one takes the place of the oldest.
    kept: Vec<(u64, u64)>,
    /// The number of the oldest.
    oldest: usize,
}

impl Ahead {
    /// Reads so many sectors ahead, and keeps so many runs.
    pub(super) fn new(most: u64, segments: usize) -> Ahead {
        Ahead {
            most,
            segments,
            stream: None,
            kept: Vec::new(),
            oldest: 0,
        }
    }

    /// The arm has nothing to do behind a read of sectors `start` to `end`, which ended now at `place`.
    #[inline]
    pub(super) fn begin(&mut self, now: Time, start: u64, end: u64, place: Place, last: u64) {
        if self.most > 0 {
            self.stream = Some(Stream {
                start,
                reached: end,
                at: now,
                stop: (end + self.most).min(last),
                place,
            });
        }
    }

    /// When sectors `start` to `end` are in memory, if they are or soon will be; then, how long the arm worked for it, and
    /// where it is.
    #[inline]
    pub(super) fn read(
        &mut self,
        now: Time,
        start: u64,
        end: u64,
        mechanics: &Mechanics,
    ) -> Option<Hit> {
        // One comparison that is nearly always false: whether each end alone lies behind another is anybody's guess. Several are looked
        // at before it is asked whether one was it.
        let is_in = |kept: &(u64, u64)| {
            start.wrapping_sub(kept.0) < kept.1.saturating_sub(kept.0) && end <= kept.1
        };
        let is_among =
            |kept: &[(u64, u64)]| kept.iter().fold(false, |found, kept| found | is_in(kept));
        if self.kept.chunks(8).any(is_among) {
            return Some(Hit::at(now));
        }
        self.read_on(now, start, end, mechanics)
    }

    fn read_on(&mut self, now: Time, start: u64, end: u64, mechanics: &Mechanics) -> Option<Hit> {
        let most = self.most;
        let stream = self.stream.as_mut()?;
        if start < stream.start || start > stream.stop {
            return None;
        }
        let clock = &mechanics.clock;
        if start > stream.reached {
            // Whether it is worth waiting for: positioning takes about as long as a revolution.
            let mut motion = Motion::new(mechanics, stream.place);
            motion.follow(stream.reached, start - stream.reached, false);
            if stream.at + clock.span(motion.spent) > now + clock.span(u64::from(TURN)) {
                return None;
            }
        }
        let mut busy = Time::ZERO;
        if end > stream.reached {
            // It may have stopped, its memory being full; then it goes on from there now.
            let rest = stream.stop - stream.reached;
            let mut motion = Motion::new(mechanics, stream.place);
            if rest > 0 && stream.at < now {
                motion.follow(stream.reached, rest, false);
            }
            let stopped = stream.at + clock.span(motion.spent);
            if stopped < now && end > stream.stop {
                busy += clock.span(motion.spent);
                stream.reached = stream.stop;
                let angle = clock.angle(now);
                let from = Place {
                    angle,
                    ..motion.place()
                };
                let mut motion = Motion::new(mechanics, from);
                motion.go(mechanics.zones.place(stream.stop), false);
                stream.at = now + clock.span(motion.spent);
                stream.place = motion.place();
            }
            let mut motion = Motion::new(mechanics, stream.place);
            motion.follow(stream.reached, end - stream.reached, false);
            let span = clock.span(motion.spent);
            stream.at += span;
            busy += span;
            stream.reached = end;
            stream.place = motion.place();
        }
        stream.stop = stream.stop.max((end + most).min(mechanics.zones.sectors()));
        stream.start = stream.start.max(end.saturating_sub(most));
        Some(Hit {
            ready: stream.at.max(now),
            busy,
        })
    }

    /// When the arm is free for something else.
    #[inline]
    pub(super) fn free(&self) -> Time {
        self.stream.map_or(Time::ZERO, |stream| stream.at)
    }

    /// The arm has something else to do: where it is by now, if it had been reading ahead.
    #[inline]
    pub(super) fn interrupt(&mut self, now: Time, mechanics: &Mechanics) -> Option<Place> {
        let stream = self.stream.take()?;
        let mut motion = Motion::new(mechanics, stream.place);
        let steps = mechanics.clock.steps((now - stream.at).to_seconds());
        let rest = stream.stop - stream.reached;
        let end = stream.reached + motion.follow_for(stream.reached, rest, steps);
        self.keep((stream.start, end));
        Some(motion.place())
    }

    #[inline]
    fn keep(&mut self, run: (u64, u64)) {
        if self.kept.len() < self.segments {
            self.kept.push(run);
        } else if let Some(oldest) = self.kept.get_mut(self.oldest) {
            *oldest = run;
            self.oldest += 1;
            if self.oldest == self.kept.len() {
                self.oldest = 0;
            }
        }
    }

    /// Sectors `start` to `end` are written: what was read of them is no longer true.
    #[inline]
    pub(super) fn write(&mut self, start: u64, end: u64) {
        if let Some(stream) = &mut self.stream
            && start < stream.stop
            && stream.start < end
        {
            stream.start = end;
        }
        let is_true = |kept: &(u64, u64)| kept.1 <= start || end <= kept.0;
        if !self.kept.iter().all(is_true) {
            self.kept.rotate_left(self.oldest);
            self.oldest = 0;
            self.kept.retain(is_true);
        }
    }
}

/// Sectors that are read without moving the arm elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hit {
    /// When they are in memory.
    pub(super) ready: Time,
    /// Time for which the arm read.
    pub(super) busy: Time,
}

impl Hit {
    fn at(now: Time) -> Hit {
        Hit {
            ready: now,
            busy: Time::ZERO,
        }
    }
}
