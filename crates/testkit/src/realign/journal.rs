//! A journal of a move from bytes: its pages with the digests that no fuzzer guesses.

use std::io;
use std::ops::ControlFlow;
use std::sync::Mutex;

use straddle_geometry::Bytes;
use straddle_io::ReadAt;
use straddle_realign::{Check, Move, Store, journal::digest};

const PAGE: usize = 4096;
/// Longest target: whatever a journal says that there is.
const MAX_TARGET: u64 = 1 << 20;

/// Bytes in memory.
#[derive(Debug)]
struct Memory(Mutex<Vec<u8>>);

impl ReadAt for Memory {
    fn size(&self) -> Bytes {
        self.0.lock().map_or(Bytes::ZERO, |bytes| bytes.size())
    }

    fn read_at(&self, offset: Bytes, buf: &mut [u8]) -> io::Result<usize> {
        let bytes = self.0.lock().map_err(|_| io::ErrorKind::Other)?;
        bytes.read_at(offset, buf)
    }
}

impl Store for Memory {
    fn write_at(&self, offset: Bytes, bytes: &[u8]) -> io::Result<()> {
        let mut all = self.0.lock().map_err(|_| io::ErrorKind::Other)?;
        let start = usize::try_from(offset.get()).map_err(|_| io::ErrorKind::InvalidInput)?;
        let end = start.saturating_add(bytes.len());
        let into = all.get_mut(start..end).ok_or(io::ErrorKind::InvalidInput)?;
        into.copy_from_slice(bytes);
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }
}

/// Takes up a move by a journal of these bytes. What is refused leaves the target alone; what is not comes to an end.
///
/// # Panics
/// When a journal that is refused changed the target.
pub fn journal(data: &[u8]) {
    let mut log = data.to_vec();
    let len = seal(&mut log);
    let target = vec![7; usize::try_from(len.min(MAX_TARGET)).unwrap_or(0)];
    for to_back in [false, true] {
        let (one, other) = (
            Memory(Mutex::new(target.clone())),
            Memory(Mutex::new(log.clone())),
        );
        let Ok(it) = Move::open(one, other) else {
            return;
        };
        let mut it = it.with_threads(false);
        let watch = |_| ControlFlow::Continue(());
        let ended = match to_back {
            true => it.back(Check::Each, watch),
            false => it.forward(Check::Each, watch),
        };
        let done = it.is_done() || it.is_restored() || ended.is_err();
        assert!(done, "it ended well and is at no end");
    }
}

/// Gives pages and contents their digests; the length of the target that the header says.
fn seal(log: &mut [u8]) -> u64 {
    let figure = |log: &[u8], at: usize| {
        let raw = log.get(at..)?.first_chunk()?;
        Some(u64::from_le_bytes(*raw))
    };
    let (target, batches, len) = (figure(log, 40), figure(log, 56), figure(log, 64));
    if let (Some(batches), Some(len)) = (batches, len) {
        let start = batches.saturating_mul(2).saturating_add(12);
        let start = usize::try_from(start.saturating_mul(PAGE as u64)).unwrap_or(usize::MAX);
        let end = start.saturating_add(usize::try_from(len).unwrap_or(usize::MAX));
        if let Some(found) = log.get(start..end).map(digest) {
            for header in [0, PAGE] {
                if let Some(into) = log.get_mut(header + 72..header + 88) {
                    into.copy_from_slice(&found.to_le_bytes());
                }
            }
        }
    }
    for page in log.chunks_exact_mut(PAGE) {
        let (body, its) = page.split_at_mut(PAGE - 16);
        if body.starts_with(b"STRMOVE1") {
            its.copy_from_slice(&digest(body).to_le_bytes());
        }
    }
    target.unwrap_or(0)
}
