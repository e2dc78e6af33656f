//! Engines: how requests get to a file or device, and what came of them.
//!
//! One file an engine. An [`Engine`] belongs to one thread and has a fixed number of *slots*, each with a buffer of its
//! own; a slot has at most one request under way. The caller starts requests in free slots, then asks for those that have
//! ended. That is the shape of io_uring; an engine whose calls block makes one request after the other, and its users take
//! a thread for each outstanding I/O.
//!
//! | engine | requests at once | where |
//! |---|---|---|
//! | [`Uring`] | up to 4,096 | Linux from 5.11 on, where nothing forbids it |
//! | [`Pread`] | one | everywhere |
//! | [`Null`] | up to 4,096 | everywhere; nothing is moved |
//!
//! [`Kind::available`] tells whether one works here by trying, [`open`] makes one of a kind that is known only at run time,
//! and [`faulty`] has one that fails as told.

mod buffer;
pub mod faulty;
mod null;
mod pread;
mod slots;
#[cfg(target_os = "linux")]
mod uring;

use std::fmt;
use std::fs::File;
use std::io;
use std::str::FromStr;
use std::time::Duration;
use straddle_geometry::{Access, Bytes, Unit};

pub use null::Null;
pub use pread::Pread;
#[cfg(target_os = "linux")]
pub use uring::Uring;

/// Flag of a write: it ends when the data, and what is needed to read it back, is on stable storage.
#[cfg(target_os = "linux")]
const RWF_DSYNC: u32 = 0x2;
/// Flag of a write: it is never torn (Linux 6.11).
#[cfg(target_os = "linux")]
const RWF_ATOMIC: u32 = 0x40;

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

/// Moves bytes. See the [module](self).
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

/// An engine of a kind that is known only at run time. It belongs to the thread that opens it.
///
/// # Errors
/// When this system has no such engine or forbids it, and when there is not enough memory; the message says which.
pub fn open(kind: Kind, setup: Setup) -> io::Result<Box<dyn Engine>> {
    Ok(match kind {
        #[cfg(target_os = "linux")]
        Kind::IoUring => Box::new(Uring::new(setup)?),
        Kind::Pread => Box::new(Pread::new(setup)?),
        Kind::Null => Box::new(Null::new(&setup)?),
    })
}

/// What a write promises when it ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// That the device has it, perhaps in a volatile cache.
    #[default]
    Cached,
    /// That it is on stable storage, data and what is needed to read it back: the file is opened with `O_DSYNC`.
    WriteThrough,
    /// The same for each write by itself (`RWF_DSYNC`), which Linux turns into a forced unit access where the device knows
    /// that, in place of a write and a flush.
    ForcedUnitAccess,
}

/// What an engine is made for.
#[derive(Debug)]
pub struct Setup {
    /// Opened as its requests need it: for writing, with `O_DIRECT`, with `O_DSYNC`.
    pub file: File,
    /// Slots, each with a buffer. As many requests can be started at once, but not more than [`Kind::most_slots`] are really
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

/// The engines there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A ring of the kernel's, many requests a system call.
    #[cfg(target_os = "linux")]
    IoUring,
    /// One `pread` or `pwrite` a request; a thread for each outstanding I/O.
    Pread,
    /// No I/O at all: what is measured is the tool itself.
    Null,
}

impl Kind {
    /// Every engine of this system, the usual one first.
    pub const ALL: &[Kind] = &[
        #[cfg(target_os = "linux")]
        Kind::IoUring,
        Kind::Pread,
        Kind::Null,
    ];

    /// Whether it works here, found out by trying.
    ///
    /// # Errors
    /// Why it does not: no such engine in this kernel, or forbidden (seccomp, sysctl `kernel.io_uring_disabled`).
    pub fn available(self) -> io::Result<()> {
        match self {
            #[cfg(target_os = "linux")]
            Kind::IoUring => Uring::probe(),
            Kind::Pread | Kind::Null => Ok(()),
        }
    }

    /// What it is called on the command line and in results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            #[cfg(target_os = "linux")]
            Kind::IoUring => "io_uring",
            Kind::Pread => "pread",
            Kind::Null => "null",
        }
    }

    /// Most requests really under way at once in one engine of this kind.
    #[must_use]
    pub fn most_slots(self) -> u32 {
        match self {
            #[cfg(target_os = "linux")]
            Kind::IoUring => 4096,
            Kind::Pread => 1,
            Kind::Null => 4096,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that is no engine's.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is no engine; expected one of {known}", known = names())]
pub struct UnknownEngine(String);

impl FromStr for Kind {
    type Err = UnknownEngine;

    fn from_str(name: &str) -> Result<Kind, UnknownEngine> {
        let kind = Kind::ALL.iter().find(|kind| kind.name() == name);
        kind.copied().ok_or_else(|| UnknownEngine(name.to_owned()))
    }
}

fn names() -> String {
    let names: Vec<&str> = Kind::ALL.iter().map(|kind| kind.name()).collect();
    names.join(", ")
}
