//! The disk that is written, block by block, without its holes.

use std::io;

use straddle_geometry::Bytes;
use straddle_io::ReadAt;

use super::error::ImageError;
use super::output::Output;
use crate::format::bits::is_zero;

/// Bytes that are read at once.
const PIECE: usize = 1 << 20;
/// What is looked at for zeroes by itself.
const GRAIN: usize = 64 << 10;

/// What a file is made of.
pub(super) struct Input<'a> {
    view: &'a dyn ReadAt,
    size: u64,
    progress: &'a mut dyn FnMut(Bytes),
    buffer: Vec<u8>,
}

impl<'a> Input<'a> {
    pub(super) fn new(view: &'a dyn ReadAt, progress: &'a mut dyn FnMut(Bytes)) -> Input<'a> {
        Input {
            view,
            size: view.size().get(),
            progress,
            buffer: Vec::new(),
        }
    }

    /// Size of the disk.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// The first byte from `at` on that need not be zero; the size when there is none.
    pub(super) fn data_from(&self, at: u64) -> u64 {
        self.view
            .data_from(Bytes::new(at))
            .get()
            .max(at)
            .min(self.size)
    }

    /// Reports that all before `end` needs nothing.
    pub(super) fn skip(&mut self, end: u64) {
        (self.progress)(Bytes::new(end.min(self.size)));
    }

    /// Fills `buf` from `at` on, with zeroes behind the end of the disk.
    fn fill(&self, at: u64, buf: &mut [u8]) -> Result<(), ImageError> {
        let mut done = 0;
        while done < buf.len() {
            let from = at.saturating_add(u64::try_from(done).unwrap_or(u64::MAX));
            if from >= self.size {
                buf[done..].fill(0);
                break;
            }
            match self.view.read_at(Bytes::new(from), &mut buf[done..]) {
                Ok(0) => {
                    let source = io::ErrorKind::UnexpectedEof.into();
                    return Err(ImageError::Read { at: from, source });
                }
                Ok(n) => done += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => return Err(ImageError::Read { at: from, source }),
            }
        }
        Ok(())
    }

    /// Copies `len` bytes at `at` of the disk to `to` in the file, without what is zero: at most 1 MiB is held. False, with nothing
    /// written, when all of it is zero. To be called with ascending addresses.
    ///
    /// `place` is asked for `to` before the first write, and is not asked when there is none.
    pub(super) fn copy(
        &mut self,
        at: u64,
        len: u64,
        out: &mut Output,
        mut place: impl FnMut() -> u64,
    ) -> Result<bool, ImageError> {
        let mut buffer = std::mem::take(&mut self.buffer);
        let done = self.copy_through(&mut buffer, at, len, out, &mut place);
        self.buffer = buffer;
        let end = at.saturating_add(len).min(self.size);
        (self.progress)(Bytes::new(end));
        done
    }

    fn copy_through(
        &self,
        buffer: &mut Vec<u8>,
        start: u64,
        len: u64,
        out: &mut Output,
        place: &mut dyn FnMut() -> u64,
    ) -> Result<bool, ImageError> {
        let end = start.saturating_add(len).min(self.size);
        let mut to = None;
        let mut at = start;
        while at < end {
            let data = self.data_from(at);
            if data >= end {
                break;
            }
            // From a multiple of the grain, so that runs that are not zero are written as one.
            at = data - (data - start) % GRAIN as u64;
            let part = usize::try_from(end - at).unwrap_or(usize::MAX).min(PIECE);
            buffer.resize(part, 0);
            self.fill(at, buffer)?;
            let grains: Vec<bool> = buffer.chunks(GRAIN).map(|grain| !is_zero(grain)).collect();
            let mut from = 0;
            for run in grains.chunk_by(|a, b| a == b) {
                let until = (from + run.len() * GRAIN).min(part);
                if run.first() == Some(&true) {
                    let to = *to.get_or_insert_with(&mut *place);
                    let skipped = at - start + u64::try_from(from).unwrap_or(u64::MAX);
                    let bytes = buffer.get(from..until).unwrap_or(&[]);
                    out.write(to.saturating_add(skipped), bytes)?;
                }
                from = until;
            }
            at += u64::try_from(part).unwrap_or(u64::MAX);
        }
        Ok(to.is_some())
    }
}
