//! A disk that fails, tears and loses writes.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use straddle_geometry::Bytes;
use straddle_io::ReadAt;
use straddle_realign::Store;

/// What no disk tears.
pub(crate) const SECTOR: usize = 512;

/// Counts what several disks are told to do, and ends everything at one of it.
#[derive(Debug)]
pub(crate) struct Power {
    /// Writes and flushes until power fails.
    left: AtomicU64,
}

impl Power {
    /// Fails at the write or flush with this number, from 0.
    pub(crate) fn until(left: u64) -> Arc<Power> {
        Arc::new(Power {
            left: AtomicU64::new(left),
        })
    }

    pub(crate) fn steady() -> Arc<Power> {
        Power::until(u64::MAX)
    }

    fn is_on(&self) -> bool {
        let left = self.left.load(Ordering::Relaxed);
        self.left.store(left.saturating_sub(1), Ordering::Relaxed);
        left > 0
    }
}

/// A disk. Clones are the same disk.
#[derive(Clone, Debug)]
pub(crate) struct Disk {
    inner: Arc<Mutex<Inner>>,
    power: Arc<Power>,
}

#[derive(Debug)]
struct Inner {
    kept: Vec<u8>,
    /// Written since the last flush.
    loose: Vec<Write>,
    /// Writes to a range that are said to be kept and are not.
    drops: Option<std::ops::Range<usize>>,
    /// The flush with this number, from 0, fails and forgets what it was to keep; the next ones are as if nothing had been.
    forgets: Option<u64>,
}

#[derive(Clone, Debug)]
pub(crate) struct Write {
    pub(crate) at: usize,
    pub(crate) bytes: Vec<u8>,
}

impl Disk {
    pub(crate) fn new(bytes: Vec<u8>, power: Arc<Power>) -> Disk {
        Disk {
            inner: Arc::new(Mutex::new(Inner {
                kept: bytes,
                loose: Vec::new(),
                drops: None,
                forgets: None,
            })),
            power,
        }
    }

    /// The same disk under another process: what was not flushed is still to be had, and may still be lost.
    pub(crate) fn taken_up(&self, power: Arc<Power>) -> Disk {
        Disk {
            inner: Arc::clone(&self.inner),
            power,
        }
    }

    /// Forgets what is written there, and says nothing.
    pub(crate) fn drop_writes_to(&self, range: std::ops::Range<usize>) {
        self.inner.lock().expect("no panic while held").drops = Some(range);
    }

    /// Fails once to keep what was written, and forgets it, as Linux does with pages that could not be written.
    pub(crate) fn forget_at_flush(&self, number: u64) {
        self.inner.lock().expect("no panic while held").forgets = Some(number);
    }

    /// What is kept, and what a loss of power may take.
    pub(crate) fn after_power_loss(&self) -> (Vec<u8>, Vec<Write>) {
        let inner = self.inner.lock().expect("no panic while held");
        (inner.kept.clone(), inner.loose.clone())
    }

    /// What a reader sees.
    pub(crate) fn seen(&self) -> Vec<u8> {
        let (mut bytes, loose) = self.after_power_loss();
        loose.iter().for_each(|write| write.apply(&mut bytes));
        bytes
    }
}

impl Write {
    pub(crate) fn apply(&self, bytes: &mut [u8]) {
        bytes[self.at..][..self.bytes.len()].copy_from_slice(&self.bytes);
    }

    /// The sectors of it, each a write of its own.
    pub(crate) fn torn(&self) -> impl Iterator<Item = Write> {
        let pieces = self.bytes.chunks(SECTOR).enumerate();
        pieces.map(|(n, piece)| Write {
            at: self.at + n * SECTOR,
            bytes: piece.to_vec(),
        })
    }
}

fn off() -> io::Error {
    io::Error::other("no power")
}

impl ReadAt for Disk {
    fn size(&self) -> Bytes {
        let inner = self.inner.lock().expect("no panic while held");
        Bytes::new(inner.kept.len() as u64)
    }

    fn read_at(&self, offset: Bytes, buf: &mut [u8]) -> io::Result<usize> {
        self.seen().as_slice().read_at(offset, buf)
    }
}

impl Store for Disk {
    fn write_at(&self, offset: Bytes, bytes: &[u8]) -> io::Result<()> {
        let is_on = self.power.is_on();
        let mut inner = self.inner.lock().expect("no panic while held");
        let at = usize::try_from(offset.get()).expect("small");
        assert!(at + bytes.len() <= inner.kept.len(), "beyond the end");
        let is_dropped = inner
            .drops
            .as_ref()
            .is_some_and(|drops| drops.contains(&at));
        if !is_dropped {
            // The one at which power fails may have come to the disk, in parts.
            inner.loose.push(Write {
                at,
                bytes: bytes.to_vec(),
            });
        }
        is_on.then_some(()).ok_or_else(off)
    }

    fn flush(&self) -> io::Result<()> {
        if !self.power.is_on() {
            return Err(off());
        }
        let mut inner = self.inner.lock().expect("no panic while held");
        match inner.forgets {
            Some(0) => {
                inner.forgets = None;
                inner.loose.clear();
                return Err(io::Error::other("input/output error"));
            }
            Some(more) => inner.forgets = Some(more - 1),
            None => {}
        }
        let Inner { kept, loose, .. } = &mut *inner;
        loose.drain(..).for_each(|write| write.apply(kept));
        Ok(())
    }
}
