use std::fs::File;
use std::io;
use straddle_geometry::{Access, Bytes};

use super::buffer::Buffers;
use super::{Ended, Engine, Request, Setup, Wait};

/// One system call a request, which blocks: one slot, and a thread for each outstanding I/O.
#[derive(Debug)]
pub struct Pread {
    file: File,
    buffers: Buffers,
    started: Option<Request>,
}

impl Pread {
    /// An engine with one slot.
    ///
    /// # Errors
    /// When there is not enough memory for the buffer.
    pub fn new(setup: Setup) -> io::Result<Pread> {
        Ok(Pread {
            buffers: Buffers::new(1, setup.largest, setup.memory_alignment)?,
            file: setup.file,
            started: None,
        })
    }

    fn perform(&mut self, request: Request) -> io::Result<Bytes> {
        let buffer = self.buffers.get(request.slot);
        let len = usize::try_from(request.len.get()).unwrap_or(usize::MAX);
        let bytes = buffer.and_then(|buffer| buffer.get_mut(..len));
        let bytes = bytes.ok_or(io::ErrorKind::InvalidInput)?;
        let moved = match request.access {
            Access::Read => read_at(&self.file, bytes, request.offset)?,
            Access::Write => write_at(&self.file, bytes, request.offset)?,
        };
        Ok(Bytes::new(moved as u64))
    }
}

impl Engine for Pread {
    fn slots(&self) -> u32 {
        1
    }

    fn buffer(&mut self, slot: u32) -> Option<&mut [u8]> {
        self.buffers.get(slot)
    }

    fn start(&mut self, request: Request) {
        self.started = Some(request);
    }

    fn finish(&mut self, _: Wait, ended: &mut Vec<Ended>) -> io::Result<()> {
        if let Some(request) = self.started.take() {
            let moved = self.perform(request);
            ended.push(Ended {
                slot: request.slot,
                moved,
            });
        }
        Ok(())
    }
}

#[cfg(unix)]
fn read_at(file: &File, bytes: &mut [u8], offset: Bytes) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, bytes, offset.get())
}

#[cfg(unix)]
fn write_at(file: &File, bytes: &[u8], offset: Bytes) -> io::Result<usize> {
    std::os::unix::fs::FileExt::write_at(file, bytes, offset.get())
}

#[cfg(windows)]
fn read_at(file: &File, bytes: &mut [u8], offset: Bytes) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, bytes, offset.get())
}

#[cfg(windows)]
fn write_at(file: &File, bytes: &[u8], offset: Bytes) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_write(file, bytes, offset.get())
}
