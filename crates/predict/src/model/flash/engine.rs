//! What requests that cover a unit in part have to wait for.

use std::collections::VecDeque;

use crate::kernel::{Servers, Time};

/// The engines of a device.
#[derive(Debug)]
pub(super) enum Engines {
    /// Such requests are served like others.
    None,
    /// Each is held until the flash has answered.
    Whole(Whole),
    /// Each is held for a time, then the request goes on.
    Timed(Servers<u32>, Time),
}

/// Engines that are held.
#[derive(Debug)]
pub(super) struct Whole {
    count: usize,
    free: usize,
    waiting: VecDeque<u32>,
    /// Time for which engines were held, up to `seen`.
    held: u64,
    seen: Time,
}

impl Whole {
    pub(super) fn new(count: usize) -> Whole {
        Whole {
            count: count.max(1),
            free: count.max(1),
            waiting: VecDeque::new(),
            held: 0,
            seen: Time::ZERO,
        }
    }

    fn see(&mut self, now: Time) {
        let held = (self.count - self.free) as u64;
        self.held = self
            .held
            .saturating_add((now - self.seen).get().saturating_mul(held));
        self.seen = now;
    }

    /// True when the request has got one; otherwise it waits.
    pub(super) fn take(&mut self, now: Time, request: u32) -> bool {
        self.see(now);
        if self.free == 0 {
            self.waiting.push_back(request);
            return false;
        }
        self.free -= 1;
        true
    }

    /// One is given back; the request that gets it.
    pub(super) fn give(&mut self, now: Time) -> Option<u32> {
        self.see(now);
        let next = self.waiting.pop_front();
        if next.is_none() {
            self.free += 1;
        }
        next
    }

    pub(super) fn busy(&self, now: Time) -> Time {
        let held = (self.count - self.free) as u64;
        Time::nanoseconds(
            self.held
                .saturating_add((now - self.seen).get().saturating_mul(held)),
        )
    }
}

impl Engines {
    pub(super) fn count(&self) -> usize {
        match self {
            Engines::None => 0,
            Engines::Whole(whole) => whole.count,
            Engines::Timed(servers, _) => servers.count(),
        }
    }

    pub(super) fn busy(&self, now: Time) -> Time {
        match self {
            Engines::None => Time::ZERO,
            Engines::Whole(whole) => whole.busy(now),
            Engines::Timed(servers, _) => servers.busy_until(now),
        }
    }

    pub(super) fn forget(&mut self, now: Time) {
        match self {
            Engines::None => {}
            Engines::Whole(whole) => {
                whole.see(now);
                whole.held = 0;
            }
            Engines::Timed(servers, _) => servers.forget(now),
        }
    }
}
