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
//! | `Overlapped` | up to 4,096 | Windows |
//! | [`Pread`] | one | everywhere |
//! | [`Null`] | up to 4,096 | everywhere; nothing is moved |
//!
//! [`Kind::available`] tells whether one works here by trying, [`open`] makes one of a kind that is known only at run time,
//! and [`faulty`] has one that fails as told.

mod buffer;
pub mod faulty;
mod null;
#[cfg(windows)]
mod overlapped;
mod pread;
mod request;
mod slots;
#[cfg(target_os = "linux")]
mod uring;

use std::fmt;
use std::io;
use std::str::FromStr;

pub(crate) use buffer::Buffers;
pub use null::Null;
#[cfg(windows)]
pub use overlapped::Overlapped;
pub use pread::Pread;
pub use request::{Durability, Ended, Engine, Request, Setup, Wait};
#[cfg(target_os = "linux")]
pub use uring::Uring;

/// An engine of a kind that is known only at run time. It belongs to the thread that opens it.
///
/// # Errors
/// When this system has no such engine or forbids it, and when there is not enough memory; the message says which.
pub fn open(kind: Kind, setup: Setup) -> io::Result<Box<dyn Engine>> {
    Ok(match kind {
        #[cfg(target_os = "linux")]
        Kind::IoUring => Box::new(Uring::new(setup)?),
        #[cfg(windows)]
        Kind::Overlapped => Box::new(Overlapped::new(setup)?),
        Kind::Pread => Box::new(Pread::new(setup)?),
        Kind::Null => Box::new(Null::new(&setup)?),
    })
}

/// The engines there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A ring of the kernel's, many requests a system call.
    #[cfg(target_os = "linux")]
    IoUring,
    /// Overlapped requests, each with a completion routine.
    #[cfg(windows)]
    Overlapped,
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
        #[cfg(windows)]
        Kind::Overlapped,
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
            #[cfg(windows)]
            Kind::Overlapped => Ok(()),
            Kind::Pread | Kind::Null => Ok(()),
        }
    }

    /// What it is called on the command line and in results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            #[cfg(target_os = "linux")]
            Kind::IoUring => "io_uring",
            #[cfg(windows)]
            Kind::Overlapped => "overlapped",
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
            #[cfg(windows)]
            Kind::Overlapped => 4096,
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
