use std::io;
use straddle_geometry::Unit;

use super::{Ended, Request, Setup};

/// Which slots are taken, and the requests that could not be taken on.
#[derive(Debug)]
pub(super) struct Slots {
    taken: Vec<bool>,
    largest: Unit,
    refused: Vec<Ended>,
}

impl Slots {
    pub(super) fn new(setup: &Setup) -> Slots {
        Slots {
            taken: vec![false; usize::try_from(setup.slots).unwrap_or(0)],
            largest: setup.largest,
            refused: Vec::new(),
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "made from a u32")]
    pub(super) fn count(&self) -> u32 {
        self.taken.len() as u32
    }

    #[inline]
    pub(super) fn is_taken(&self, slot: u32) -> bool {
        self.taken.get(slot as usize).is_some_and(|taken| *taken)
    }

    /// Takes the slot of a request; false when that cannot be, and then [`Slots::refused`] tells why.
    #[inline]
    pub(super) fn take(&mut self, request: &Request) -> bool {
        if let Some(taken) = self.taken.get_mut(request.slot as usize)
            && !*taken
            && request.len <= self.largest.bytes()
        {
            *taken = true;
            return true;
        }
        self.refuse(request);
        false
    }

    #[inline]
    pub(super) fn give_back(&mut self, slot: u32) {
        if let Some(taken) = self.taken.get_mut(slot as usize) {
            *taken = false;
        }
    }

    /// Requests that were not taken on, each with its reason. Their slots are as they were: one that was taken still is.
    #[inline]
    pub(super) fn refused(&mut self, ended: &mut Vec<Ended>) -> bool {
        if self.refused.is_empty() {
            return false;
        }
        ended.append(&mut self.refused);
        true
    }

    #[cold]
    fn refuse(&mut self, request: &Request) {
        let slot = request.slot;
        let count = self.taken.len();
        let what = if slot as usize >= count {
            format!("slot {slot} does not exist; the engine was opened with {count}")
        } else if self.is_taken(slot) {
            format!("a request is under way in slot {slot}; wait until it has ended")
        } else {
            format!(
                "{} bytes are longer than the {} that the engine was opened for",
                request.len.grouped(),
                self.largest.bytes().grouped()
            )
        };
        self.refused.push(Ended {
            slot,
            moved: Err(io::Error::new(io::ErrorKind::InvalidInput, what)),
        });
    }
}
