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
        let less = |left: u64| left.checked_sub(1);
        let took = self
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        took.is_ok()
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
    /// The write with this number, from 0, fails once, and some of it comes to the disk.
    fails: Option<u64>,
    /// Whether sectors of zeroes are holes.
    has_holes: bool,
    /// Bytes that were written, and those that became holes.
    written: (u64, u64),
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
                fails: None,
                has_holes: false,
                written: (0, 0),
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

    /// Fails to write once.
    pub(crate) fn fail_at_write(&self, number: u64) {
        self.inner.lock().expect("no panic while held").fails = Some(number);
    }

    /// The same disk, whose sectors of zeroes are holes.
    pub(crate) fn with_holes(self) -> Disk {
        self.inner.lock().expect("no panic while held").has_holes = true;
        self
    }

    /// Bytes that were written, and bytes that became holes.
    pub(crate) fn written(&self) -> (u64, u64) {
        self.inner.lock().expect("no panic while held").written
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
        let inner = self.inner.lock().expect("no panic while held");
        let read = inner.kept.as_slice().read_at(offset, buf)?;
        let at = usize::try_from(offset.get()).expect("small");
        for write in &inner.loose {
            let (start, end) = (
                write.at.max(at),
                (write.at + write.bytes.len()).min(at + read),
            );
            if start < end {
                let from = &write.bytes[start - write.at..end - write.at];
                buf[start - at..end - at].copy_from_slice(from);
            }
        }
        Ok(read)
    }

    fn data_from(&self, offset: Bytes) -> Bytes {
        if !self.inner.lock().expect("no panic while held").has_holes {
            return offset;
        }
        let (seen, at) = (self.seen(), usize::try_from(offset.get()).expect("small"));
        let whole = seen.chunks(SECTOR).skip(at / SECTOR);
        let holes = whole.take_while(|sector| sector.iter().all(|byte| *byte == 0));
        let data = (at / SECTOR + holes.count()) * SECTOR;
        Bytes::new(data.max(at) as u64)
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
        inner.written.0 += bytes.len() as u64;
        let (is_failing, fails) = match inner.fails {
            Some(0) => (true, None),
            fails => (false, fails.map(|more| more - 1)),
        };
        inner.fails = fails;
        if is_failing {
            let some = bytes.len() / SECTOR / 2 * SECTOR;
            let bytes = bytes[..some].to_vec();
            inner.loose.push(Write { at, bytes });
            return Err(io::Error::other("input/output error"));
        }
        if !is_dropped {
            // The one at which power fails may have come to the disk, in parts.
            inner.loose.push(Write {
                at,
                bytes: bytes.to_vec(),
            });
        }
        is_on.then_some(()).ok_or_else(off)
    }

    fn zero(&self, at: Bytes, len: Bytes) -> io::Result<()> {
        let zeroes = vec![0; usize::try_from(len.get()).expect("small")];
        self.write_at(at, &zeroes)?;
        let mut inner = self.inner.lock().expect("no panic while held");
        inner.written.0 -= len.get();
        inner.written.1 += len.get();
        Ok(())
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
