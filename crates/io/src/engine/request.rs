//! What callers and engines have in common: requests, what came of them, and what an engine is made for.

use std::fs::File;
use std::io;
use std::time::Duration;
use straddle_geometry::{Access, Bytes, Unit};

/// Flag of a write: it ends when the data, and what is needed to read it back, is on stable storage.
#[cfg(target_os = "linux")]
pub(super) const RWF_DSYNC: u32 = 0x2;
/// Flag of a write: it is never torn (Linux 6.11).
#[cfg(target_os = "linux")]
pub(super) const RWF_ATOMIC: u32 = 0x40;

/// A request for an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Read into the slot's buffer, or write from it.
    pub access: Access,
    /// First byte in the file or device.
    pub offset: Bytes,
    /// Bytes from the beginning of the slot's buffer; at most [`Setup::largest`].
    pub len: Bytes,
    /// A slot in which nothing is under way.
    pub slot: u32,
}

/// A request that has ended.
#[derive(Debug)]
pub struct Ended {
    /// Its slot, free again, unless the error is that the slot was taken.
    pub slot: u32,
    /// Bytes moved; fewer than asked for at the end of a file, on a full one, and wherever the system stopped short.
    pub moved: io::Result<Bytes>,
}

/// How long [`Engine::finish`] waits for a request to end; with none under way it never waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Not at all.
    No,
    /// Until at least one has ended.
    One,
    /// Until at least one has ended, or for this long; a signal may end it earlier.
    For(Duration),
}

/// Moves bytes. See the [module](super).
pub trait Engine {
    /// Requests that can be under way at once: slots are numbered from 0 to below this.
    fn slots(&self) -> u32;

    /// The buffer of a slot; `None` while a request is under way in it, and for a slot that does not exist.
    fn buffer(&mut self, slot: u32) -> Option<&mut [u8]>;

    /// Takes a request on. It may be handed over at once or by the next [`Engine::finish`]; what comes of it is told there,
    /// also that its slot is not free or its length too large.
    fn start(&mut self, request: Request);

    /// Hands over what was started and appends what has ended to `ended`.
    ///
    /// # Errors
    /// Those of the engine itself; the error of a request is in its [`Ended`].
    fn finish(&mut self, wait: Wait, ended: &mut Vec<Ended>) -> io::Result<()>;
}

impl<E: Engine + ?Sized> Engine for Box<E> {
    fn slots(&self) -> u32 {
        (**self).slots()
    }

    fn buffer(&mut self, slot: u32) -> Option<&mut [u8]> {
        (**self).buffer(slot)
    }

    fn start(&mut self, request: Request) {
        (**self).start(request);
    }

    fn finish(&mut self, wait: Wait, ended: &mut Vec<Ended>) -> io::Result<()> {
        (**self).finish(wait, ended)
    }
}

/// What a write promises when it ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// That the device has it, perhaps in a volatile cache.
    #[default]
    Cached,
    /// That it is on stable storage, data and what is needed to read it back: the file is opened with `O_DSYNC`. Windows
    /// (`FILE_FLAG_WRITE_THROUGH`) asks the device for it, and has no flush for one that does not know how.
    WriteThrough,
    /// The same for each write by itself (`RWF_DSYNC`), which Linux turns into a forced unit access where the device knows
    /// that, in place of a write and a flush. Windows has no flag for one write.
    ForcedUnitAccess,
}

/// What an engine is made for.
#[derive(Debug)]
pub struct Setup {
    /// Opened as its requests need it: for writing, past the page cache, writing through.
    pub file: File,
    /// Slots, each with a buffer. As many requests can be started at once, but not more than [`Kind::most_slots`](super::Kind::most_slots) are really
    /// under way at once.
    pub slots: u32,
    /// Longest request; below 2³².
    pub largest: Unit,
    /// What buffers are aligned to in memory.
    pub memory_alignment: Unit,
    /// What writes promise.
    pub durability: Durability,
    /// Writes are never torn (`RWF_ATOMIC`); the device must know atomic writes of their length.
    pub atomic: bool,
    /// Completions are polled for, not interrupted for; only with direct I/O on a device that has polled queues.
    pub polled: bool,
}
