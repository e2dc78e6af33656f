use std::io;
use straddle_geometry::Bytes;

use super::buffer::Buffers;
use super::slots::Slots;
use super::{Ended, Engine, Request, Setup, Wait};

/// Every request ends at once, and nothing is moved: what a run on this engine takes is the tool's own time.
#[derive(Debug)]
pub struct Null {
    buffers: Buffers,
    slots: Slots,
    started: Vec<(u32, Bytes)>,
}

impl Null {
    /// As many slots as asked for; the file is not touched.
    ///
    /// # Errors
    /// When there is not enough memory for the buffers.
    pub fn new(setup: &Setup) -> io::Result<Null> {
        Ok(Null {
            buffers: Buffers::new(setup.slots, setup.largest, setup.memory_alignment)?,
            slots: Slots::new(setup),
            started: Vec::new(),
        })
    }
}

impl Engine for Null {
    fn slots(&self) -> u32 {
        self.slots.count()
    }

    fn buffer(&mut self, slot: u32) -> Option<&mut [u8]> {
        if self.slots.is_taken(slot) {
            return None;
        }
        self.buffers.get(slot)
    }

    #[inline]
    fn start(&mut self, request: Request) {
        if self.slots.take(&request) {
            self.started.push((request.slot, request.len));
        }
    }

    #[inline]
    fn finish(&mut self, _: Wait, ended: &mut Vec<Ended>) -> io::Result<()> {
        self.slots.refused(ended);
        for (slot, len) in self.started.drain(..) {
            self.slots.give_back(slot);
            ended.push(Ended {
                slot,
                moved: Ok(len),
            });
        }
        Ok(())
    }
}
