//! One server with a queue, first come, first served: a die, a channel, a link.

use std::collections::VecDeque;

use crate::kernel::Time;

/// A server and those that wait for it. `T` is what is served.
#[derive(Debug)]
pub(super) struct Line<T> {
    until: Time,
    current: Option<T>,
    waiting: VecDeque<(Time, T)>,
    served: Time,
}

impl<T: Copy> Line<T> {
    pub(super) fn new() -> Line<T> {
        Line {
            until: Time::NEVER,
            current: None,
            waiting: VecDeque::new(),
            served: Time::ZERO,
        }
    }

    /// `thing` comes and needs the server for `service`.
    #[inline]
    pub(super) fn submit(&mut self, now: Time, service: Time, thing: T) {
        if self.current.is_none() {
            self.begin(now, service, thing);
        } else {
            self.waiting.push_back((service, thing));
        }
    }

    #[inline]
    fn begin(&mut self, now: Time, service: Time, thing: T) {
        self.until = now + service;
        self.served += service;
        self.current = Some(thing);
    }

    /// When the one in service is done.
    #[inline]
    pub(super) fn next(&self) -> Time {
        self.until
    }

    /// The one that is done at `now`; the next begins.
    #[inline]
    pub(super) fn take(&mut self, now: Time) -> Option<T> {
        let done = self.current.take();
        self.until = Time::NEVER;
        if let Some((service, thing)) = self.waiting.pop_front() {
            self.begin(now, service, thing);
        }
        done
    }

    fn ahead(&self, now: Time) -> Time {
        match self.current {
            Some(_) => self.until - now,
            None => Time::ZERO,
        }
    }

    /// Service that fell before `now`.
    pub(super) fn busy(&self, now: Time) -> Time {
        self.served - self.ahead(now)
    }

    /// Counts service from `now` on only.
    pub(super) fn forget(&mut self, now: Time) {
        self.served = self.ahead(now);
    }
}
