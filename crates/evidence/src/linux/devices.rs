use std::collections::HashMap;

use straddle_stack::activity::{Quantity, Span};

use crate::notes::Channel;
use crate::subject::Subject;

/// The series of each device, so that a row does not have to look for each of its figures.
#[derive(Default)]
pub(super) struct Devices {
    known: Vec<(Box<str>, Vec<Channel>)>,
    by_name: HashMap<Box<str>, usize>,
    /// The one behind the last: rows come in the same order again and again.
    next: usize,
    /// The series of one that is not kept; they are looked for again each time.
    spare: Vec<Channel>,
}

/// Which figure of a row is what, and by what it is multiplied.
pub(super) type Counter = (usize, Quantity, f64);

/// A series for each quantity of a device.
pub(super) fn channels(
    subject: &Subject,
    quantities: impl Iterator<Item = Quantity>,
    span: Span,
) -> Vec<Channel> {
    quantities
        .map(|quantity| Channel::new(subject, quantity, span))
        .collect()
}

/// The series of counters since the start.
pub(super) fn since_start(subject: &Subject, counters: &[Counter]) -> Vec<Channel> {
    let quantities = counters.iter().map(|(_, quantity, _)| *quantity);
    channels(subject, quantities, Span::SinceStart)
}

/// Devices that are kept, and characters of their names.
const MAX_DEVICES: usize = 1024;
const MAX_NAME: usize = 256;

impl Devices {
    /// The series of a device; `make` makes those of one that is new.
    pub(super) fn of(
        &mut self,
        name: &str,
        make: impl Fn(&Subject) -> Vec<Channel>,
    ) -> &mut Vec<Channel> {
        let guess = self.known.get(self.next);
        let index = match guess.is_some_and(|(known, _)| **known == *name) {
            true => Some(self.next),
            false => self.find(name, &make),
        };
        let known = index.and_then(|index| {
            self.next = match index + 1 < self.known.len() {
                true => index + 1,
                false => 0,
            };
            self.known.get_mut(index)
        });
        match known {
            Some((_, channels)) => channels,
            None => {
                self.spare = make(&Subject::disk(name));
                &mut self.spare
            }
        }
    }

    /// `None` when there are too many, or it is no name.
    fn find(&mut self, name: &str, make: impl Fn(&Subject) -> Vec<Channel>) -> Option<usize> {
        if let Some(index) = self.by_name.get(name) {
            return Some(*index);
        }
        let index = self.known.len();
        if index >= MAX_DEVICES || name.len() > MAX_NAME {
            return None;
        }
        self.known.push((name.into(), make(&Subject::disk(name))));
        self.by_name.insert(name.into(), index);
        Some(index)
    }
}
