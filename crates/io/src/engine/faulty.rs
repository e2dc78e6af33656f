//! An engine around another one, in which things go wrong as told: what tests and drills are made with.
//!
//! Faults are counted over all engines that share a [`Faults`], so that "the hundredth request" is one request of a run and
//! not one of each worker.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use straddle_geometry::{Access, Bytes, Extent};

use super::{Ended, Engine, Request, Wait};

/// When a fault strikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// At this request, counted from 1.
    Request(u64),
    /// At every request that touches one of these bytes.
    Touching(Extent),
    /// At every read that touches one of these bytes.
    Reading(Extent),
    /// At every write that touches one of these bytes.
    Writing(Extent),
    /// At every write beyond this many bytes written, the write that would exceed it included.
    Written(Bytes),
}

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The request ends with this error code of the system (on Linux 5 is `EIO`, 28 `ENOSPC`, 30 `EROFS`); nothing is moved.
    Error(i32),
    /// These bits of this byte of the buffer are flipped after a read.
    Flip {
        /// Counted from the beginning of the request.
        byte: usize,
        /// The bits.
        mask: u8,
    },
    /// A write is acknowledged and never made.
    Lost,
    /// A request goes to the wrong place.
    Misdirected {
        /// First byte of that place.
        to: Bytes,
    },
    /// A request moves only so many bytes.
    Short(Bytes),
    /// The engine, and all that is under way in it, stands still for so long before the request is handed over.
    Stall(Duration),
}

/// A fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// When it strikes.
    pub when: When,
    /// What goes wrong.
    pub what: What,
}

/// Faults, and what has been counted towards them.
#[derive(Debug, Default)]
pub struct Faults {
    faults: Vec<Fault>,
    requests: AtomicU64,
    written: AtomicU64,
    struck: AtomicU64,
}

impl Faults {
    /// These, in order: the first that applies to a request strikes.
    #[must_use]
    pub fn new(faults: Vec<Fault>) -> Faults {
        Faults {
            faults,
            ..Faults::default()
        }
    }

    /// How often any has struck.
    pub fn struck(&self) -> u64 {
        self.struck.load(Ordering::Relaxed)
    }

    fn next(&self, request: &Request) -> Option<What> {
        let number = self.requests.fetch_add(1, Ordering::Relaxed) + 1;
        let write = request.access == Access::Write;
        let written = if write {
            self.written
                .fetch_add(request.len.get(), Ordering::Relaxed)
                .saturating_add(request.len.get())
        } else {
            0
        };
        let touched = Extent::new(request.offset, request.len);
        let touches = |extent: &Extent| touched.is_some_and(|touched| touched.overlaps(*extent));
        let fault = self.faults.iter().find(|fault| match &fault.when {
            When::Request(n) => number == *n,
            When::Touching(extent) => touches(extent),
            When::Reading(extent) => !write && touches(extent),
            When::Writing(extent) => write && touches(extent),
            When::Written(most) => write && written > most.get(),
        })?;
        self.struck.fetch_add(1, Ordering::Relaxed);
        Some(fault.what)
    }
}

/// An engine with faults. See the [module](self).
#[derive(Debug)]
pub struct Faulty<'a, E> {
    engine: E,
    faults: &'a Faults,
    /// Requests that the engine below never sees, in their slots until the next [`Engine::finish`].
    held: Vec<Ended>,
    /// Reads whose buffer is to be spoilt when they end.
    flips: Vec<(u32, usize, u8)>,
    stall: Duration,
}

impl<'a, E: Engine> Faulty<'a, E> {
    /// An engine around `engine`.
    pub fn new(engine: E, faults: &'a Faults) -> Faulty<'a, E> {
        Faulty {
            engine,
            faults,
            held: Vec::new(),
            flips: Vec::new(),
            stall: Duration::ZERO,
        }
    }

    fn hold(&mut self, request: &Request, moved: io::Result<Bytes>) {
        // A slot that is taken below, or none, is the engine's to refuse.
        if self.engine.buffer(request.slot).is_none() {
            self.engine.start(*request);
            return;
        }
        self.held.push(Ended {
            slot: request.slot,
            moved,
        });
    }

    fn is_held(&self, slot: u32) -> bool {
        self.held.iter().any(|ended| ended.slot == slot)
    }
}

impl<E: Engine> Engine for Faulty<'_, E> {
    fn slots(&self) -> u32 {
        self.engine.slots()
    }

    fn buffer(&mut self, slot: u32) -> Option<&mut [u8]> {
        if self.is_held(slot) {
            return None;
        }
        self.engine.buffer(slot)
    }

    fn start(&mut self, mut request: Request) {
        if self.is_held(request.slot) {
            let what = "a request is under way in this slot; wait until it has ended";
            self.held.push(Ended {
                slot: request.slot,
                moved: Err(io::Error::new(io::ErrorKind::InvalidInput, what)),
            });
            return;
        }
        match self.faults.next(&request) {
            Some(What::Error(code)) => {
                self.hold(&request, Err(io::Error::from_raw_os_error(code)));
                return;
            }
            Some(What::Lost) if request.access == Access::Write => {
                self.hold(&request, Ok(request.len));
                return;
            }
            Some(What::Flip { byte, mask }) if request.access == Access::Read => {
                self.flips.push((request.slot, byte, mask));
            }
            Some(What::Misdirected { to }) => request.offset = to,
            Some(What::Short(len)) => request.len = request.len.min(len),
            Some(What::Stall(time)) => self.stall += time,
            Some(What::Lost | What::Flip { .. }) | None => {}
        }
        self.engine.start(request);
    }

    fn finish(&mut self, wait: Wait, ended: &mut Vec<Ended>) -> io::Result<()> {
        if !self.stall.is_zero() {
            std::thread::sleep(std::mem::take(&mut self.stall));
        }
        let before = ended.len();
        let wait = if self.held.is_empty() { wait } else { Wait::No };
        ended.append(&mut self.held);
        self.engine.finish(wait, ended)?;
        for ended in ended.iter().skip(before) {
            let Some(at) = self.flips.iter().position(|flip| flip.0 == ended.slot) else {
                continue;
            };
            let (slot, byte, mask) = self.flips.swap_remove(at);
            if let Some(byte) = self
                .engine
                .buffer(slot)
                .and_then(|buffer| buffer.get_mut(byte))
            {
                *byte ^= mask;
            }
        }
        Ok(())
    }
}
