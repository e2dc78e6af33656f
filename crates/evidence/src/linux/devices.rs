use std::collections::HashMap;

use crate::notes::Channel;
use crate::subject::Subject;

/// The series of each device, so that a row does not have to look for each of its figures.
#[derive(Default)]
pub(super) struct Devices {
    known: Vec<(Box<str>, Vec<Channel>)>,
    by_name: HashMap<Box<str>, usize>,
    /// The one behind the last: rows come in the same order again and again.
    next: usize,
}

/// Devices that are kept, and characters of their names.
const MAX_DEVICES: usize = 1024;
const MAX_NAME: usize = 256;

impl Devices {
    /// The series of a device; `make` makes those of one that is new. `None` when there are too many, or it is no name.
    pub(super) fn of(
        &mut self,
        name: &str,
        make: impl FnOnce(&Subject) -> Vec<Channel>,
    ) -> Option<&mut Vec<Channel>> {
        let guess = self.known.get(self.next);
        let index = match guess.is_some_and(|(known, _)| **known == *name) {
            true => self.next,
            false => self.find(name, make)?,
        };
        self.next = match index + 1 < self.known.len() {
            true => index + 1,
            false => 0,
        };
        self.known.get_mut(index).map(|(_, channels)| channels)
    }

    fn find(&mut self, name: &str, make: impl FnOnce(&Subject) -> Vec<Channel>) -> Option<usize> {
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
