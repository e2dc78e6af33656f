//! Several equal servers behind one queue, first come, first served.

use std::collections::VecDeque;

use super::Time;

/// Servers and those that wait for them. `T` is what is served.
#[derive(Debug)]
pub(crate) struct Servers<T> {
    /// What each is busy with, and until when.
    busy: Vec<Option<(Time, T)>>,
    waiting: VecDeque<(Time, T)>,
    next: Time,
    /// Time for which servers were busy, all together.
    served: Time,
}

impl<T: Copy> Servers<T> {
    /// So many servers, at least one, with nothing to do.
    pub(crate) fn new(count: usize) -> Servers<T> {
        Servers {
            busy: vec![None; count.max(1)],
            waiting: VecDeque::new(),
            next: Time::NEVER,
            served: Time::ZERO,
        }
    }

    /// `thing` comes and needs a server for `service`.
    #[inline]
    pub(crate) fn submit(&mut self, now: Time, thing: T, service: Time) {
        match self.busy.iter_mut().find(|server| server.is_none()) {
            Some(server) => {
                let end = now + service;
                *server = Some((end, thing));
                self.served += service;
                self.next = self.next.min(end);
            }
            None => self.waiting.push_back((service, thing)),
        }
    }

    /// When the next one is done.
    #[inline]
    pub(crate) fn next(&self) -> Time {
        self.next
    }

    /// The one that is done at `now`, which is [`Servers::next`]; its server takes the next that waits.
    #[inline]
    pub(crate) fn take(&mut self, now: Time) -> Option<T> {
        let is_done = |server: &&mut Option<(Time, T)>| server.is_some_and(|(end, _)| end == now);
        let server = self.busy.iter_mut().find(is_done)?;
        let done = server.take().map(|(_, thing)| thing);
        if let Some((service, thing)) = self.waiting.pop_front() {
            *server = Some((now + service, thing));
            self.served += service;
        }
        let ends = self.busy.iter().flatten().map(|(end, _)| *end);
        self.next = ends.min().unwrap_or(Time::NEVER);
        done
    }

    /// Served and waiting.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.busy.iter().flatten().count() + self.waiting.len()
    }

    /// How many servers there are.
    pub(crate) fn count(&self) -> usize {
        self.busy.len()
    }

    /// Service that fell before `now` since the last [`Servers::forget`], all servers together.
    pub(crate) fn busy_until(&self, now: Time) -> Time {
        let ahead = self.busy.iter().flatten().map(|(end, _)| *end - now);
        self.served - ahead.fold(Time::ZERO, |sum, rest| sum + rest)
    }

    /// Counts service from `now` on only.
    pub(crate) fn forget(&mut self, now: Time) {
        let ahead = self.busy.iter().flatten().map(|(end, _)| *end - now);
        self.served = ahead.fold(Time::ZERO, |sum, rest| sum + rest);
    }
}
