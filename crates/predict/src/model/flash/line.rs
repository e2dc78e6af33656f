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
    /// Since when it has been held: by something that is done, but has not left.
    held: Option<Time>,
}

impl<T: Copy> Line<T> {
    pub(super) fn new() -> Line<T> {
        Line {
            until: Time::NEVER,
            current: None,
            waiting: VecDeque::new(),
            served: Time::ZERO,
            held: None,
        }
    }

    /// `thing` comes and needs the server for `service`.
    #[inline]
    pub(super) fn submit(&mut self, now: Time, service: Time, thing: T) {
        if self.current.is_none() && self.held.is_none() {
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

    /// The one that is done at `now`; it stays until [`Line::release`].
    #[inline]
    pub(super) fn take_and_hold(&mut self, now: Time) -> Option<T> {
        self.until = Time::NEVER;
        self.held = Some(now);
        self.current.take()
    }

    /// What was held leaves; the next begins.
    #[inline]
    pub(super) fn release(&mut self, now: Time) {
        if let Some(since) = self.held.take() {
            self.served += now - since;
        }
        if let Some((service, thing)) = self.waiting.pop_front() {
            self.begin(now, service, thing);
        }
    }

    fn ahead(&self, now: Time) -> Time {
        match self.current {
            Some(_) => self.until - now,
            None => Time::ZERO,
        }
    }

    /// Service that fell before `now`.
    pub(super) fn busy(&self, now: Time) -> Time {
        let held = self.held.map_or(Time::ZERO, |since| now - since);
        self.served - self.ahead(now) + held
    }

    /// Counts service from `now` on only.
    pub(super) fn forget(&mut self, now: Time) {
        self.served = self.ahead(now);
        self.held = self.held.map(|_| now);
    }
}
