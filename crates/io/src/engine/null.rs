use std::io;
use straddle_geometry::Bytes;

use super::buffer::Buffers;
use super::{Ended, Engine, Request, Setup, Wait};

/// Every request ends at once, and nothing is moved: what a run on this engine takes is the tool's own time.
#[derive(Debug)]
pub struct Null {
    buffers: Buffers,
    slots: u32,
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
            slots: setup.slots,
            started: Vec::new(),
        })
    }
}

impl Engine for Null {
    fn slots(&self) -> u32 {
        self.slots
    }

    fn buffer(&mut self, slot: u32) -> Option<&mut [u8]> {
        self.buffers.get(slot)
    }

    fn start(&mut self, request: Request) {
        self.started.push((request.slot, request.len));
    }

    fn finish(&mut self, _: Wait, ended: &mut Vec<Ended>) -> io::Result<()> {
        ended.extend(self.started.drain(..).map(|(slot, len)| Ended {
            slot,
            moved: Ok(len),
        }));
        Ok(())
    }
}
