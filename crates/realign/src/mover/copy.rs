//! Batches copied: one is read, recorded and, where there is need, written to the data journal, while the one before it is written.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use straddle_geometry::{Bytes, Extent};
use straddle_io::AlignedBytes;

use crate::journal::{Digest, JournalError, digest};
use crate::sequence::{Batch, stride};
use crate::store::{Store, in_memory};

use super::blocks::{Found, Holes};
use super::error::MoveError;
use super::error::Place;
use super::progress::Count;
use super::state::{Check, Method, Move};

/// Most blocks that are written without a flush: so much may have to be looked at again when a move is taken up.
pub(super) const MAX_DEPTH: u64 = 256;
/// Batches that are in memory at once, each with a slot of the data journal.
const AHEAD: usize = 2;

/// As much is read or written at once: the kernel cuts it into requests that are under way together.
const MAX_RUN: Bytes = Bytes::mib(8);
/// Fewer blocks are compared without another thread.
const FEW: usize = 4;

/// Which way blocks go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Forward,
    Back,
}

impl Direction {
    fn source(self) -> Place {
        match self {
            Direction::Forward => Place::Old,
            Direction::Back => Place::New,
        }
    }

    pub(super) fn target(self) -> Place {
        self.source().other()
    }
}

/// A batch in memory, ready to be written.
struct Load {
    batch: Batch,
    memory: AlignedBytes,
    /// In the order in which they are written.
    blocks: Vec<Ready>,
    is_journaled: bool,
}

/// A block of a batch in memory.
struct Ready {
    to: Extent,
    /// Where it is in memory.
    at: usize,
    digest: Digest,
    /// `None` for one that is in its place already.
    holes: Option<Holes>,
}

/// What is not flushed yet, and what that costs.
struct Writing {
    /// Blocks since the last flush, also those that had not to be written.
    since: u64,
    /// What was written since then.
    loose: Vec<(Extent, Digest)>,
    part: Option<usize>,
    writing: Duration,
    flushing: Duration,
}

impl<T: Store, J: Store> Move<T, J> {
    /// Which way it goes.
    pub(super) fn direction(&self) -> Direction {
        match self.is_going_back() {
            true => Direction::Back,
            false => Direction::Forward,
        }
    }

    /// Copies batches, in this order. What was recorded of them is used, and what was not is recorded.
    pub(super) fn copy(
        &self,
        direction: Direction,
        batches: impl Iterator<Item = u64> + Send,
        check: Check,
        count: &mut Count<'_, '_>,
    ) -> Result<(), MoveError> {
        let is_slow = AtomicBool::new(self.method == Method::Journaled);
        let len = self.journal.sequence().largest_batch();
        let memory = || AlignedBytes::new(len).map_err(MoveError::System);
        let mut writing = Writing {
            since: 0,
            loose: Vec::new(),
            part: None,
            writing: Duration::ZERO,
            flushing: Duration::ZERO,
        };
        let mut write = |load: Load| {
            let written = self.write_load(&load, check, &mut writing, count);
            if self.method == Method::Measured && is_flush_slow(&writing) {
                is_slow.store(true, Ordering::Relaxed);
            }
            written.map(|()| load.memory)
        };
        let loads = AtomicU64::new(0);
        let load = |number, memory| {
            let is_journaled = match self.method {
                Method::JournaledAfter(batches) => loads.fetch_add(1, Ordering::Relaxed) >= batches,
                _ => is_slow.load(Ordering::Relaxed),
            };
            self.load(direction, number, is_journaled, memory)
        };
        if self.is_ahead {
            ahead(batches, memory, load, &mut write)?;
        } else {
            // The same order as with a thread that is ahead by one.
            let mut free = vec![memory()?, memory()?];
            let mut waiting: Option<Load> = None;
            for number in batches {
                let next = load(number, free.pop().map_or_else(memory, Ok)?)?;
                if let Some(one) = waiting.replace(next) {
                    free.push(write(one)?);
                }
            }
            if let Some(one) = waiting {
                write(one)?;
            }
        }
        self.flush_loose(check, &mut writing)
    }

    /// Reads a batch, and sees to it that its blocks may be written: their digests are recorded, and the data journal has them, where
    /// it is to have them.
    fn load(
        &self,
        direction: Direction,
        number: u64,
        is_slow: bool,
        mut memory: AlignedBytes,
    ) -> Result<Load, MoveError> {
        let damaged = || MoveError::Journal(JournalError::Damaged { at: 0 });
        let sequence = self.journal.sequence();
        let batch = sequence.batch(number).ok_or_else(damaged)?;
        let shift = sequence.shift(batch.part).ok_or_else(damaged)?;
        let known = match number < self.recorded.batches {
            true => Some(self.journal.digests(number)?),
            false => {
                self.load_all(direction, &batch, &mut memory)?;
                None
            }
        };
        let (mut blocks, mut is_from_slot) = (Vec::new(), false);
        for (index, n) in batch.blocks.clone().enumerate() {
            let block = self.block(n)?;
            let at = sequence
                .place_in_batch(n)
                .map(in_memory)
                .ok_or_else(damaged)?;
            let buf = memory.get_mut(at..at + block.size()).ok_or_else(damaged)?;
            let (digest, holes) = match &known {
                None => {
                    let holes = self.holes(block.at(direction.source()), buf);
                    let digest = match holes.are_all_of(buf.len()) {
                        true => self.of_zeroes(buf),
                        false => digest(buf),
                    };
                    (digest, Some(holes))
                }
                Some(known) => {
                    let wanted = *known.get(index).ok_or_else(damaged)?;
                    let holes = match self.find(n, wanted, direction.source(), buf)? {
                        Found::First(holes) => Some(holes),
                        Found::Other => None,
                        Found::Slot => {
                            is_from_slot = true;
                            Some(Holes::default())
                        }
                    };
                    (wanted, holes)
                }
            };
            blocks.push(Ready {
                to: block.at(direction.target()),
                at,
                digest,
                holes,
            });
        }
        let digests: Vec<Digest> = blocks.iter().map(|ready| ready.digest).collect();
        // What is in a slot only has to be flushed at its place before the slot is used again, as everything that goes through it.
        let is_journaled =
            self.journal.has_slots() && (is_slow || is_from_slot || shift.depth() == 0);
        if is_journaled && blocks.iter().any(|ready| ready.holes.is_some()) {
            let len = in_memory(stride(shift)) * blocks.len();
            let bytes = memory.get(..len).ok_or_else(damaged)?;
            self.journal
                .write_slot(number, bytes)
                .map_err(JournalError::Io)?;
            if known.is_some() {
                self.journal.flush().map_err(JournalError::Io)?;
            }
        }
        if known.is_none() {
            // Its flush is that of the slot, too.
            self.journal
                .batch(number, &digests)
                .map_err(JournalError::Io)?;
        }
        if direction == Direction::Back {
            blocks.reverse();
        }
        Ok(Load {
            batch,
            memory,
            blocks,
            is_journaled,
        })
    }

    /// Writes a batch. Whatever a block is written over was flushed at its new place before, or is flushed in the data journal.
    fn write_load(
        &self,
        load: &Load,
        check: Check,
        writing: &mut Writing,
        count: &mut Count<'_, '_>,
    ) -> Result<(), MoveError> {
        let shift = self.journal.sequence().shift(load.batch.part);
        let depth = shift.map_or(0, |shift| shift.depth()).min(MAX_DEPTH);
        if writing.part != Some(load.batch.part) || load.is_journaled {
            self.flush_loose(check, writing)?;
        }
        writing.part = Some(load.batch.part);
        let mut rest = &load.blocks[..];
        while !rest.is_empty() {
            if !load.is_journaled && writing.since >= depth {
                self.flush_loose(check, writing)?;
            }
            let most = match load.is_journaled {
                true => u64::MAX,
                false => depth - writing.since,
            };
            let (run, others) = rest.split_at(run_of(rest, most));
            rest = others;
            let began = Instant::now();
            self.write_run(run, &load.memory)?;
            writing.writing += began.elapsed();
            let written = run.iter().filter(|ready| ready.holes.is_some());
            writing
                .loose
                .extend(written.map(|ready| (ready.to, ready.digest)));
            writing.since += run.len() as u64;
            let lens = run.iter().map(|ready| ready.to.len().get());
            if let Err(stopped) = count.add(Bytes::new(lens.sum())) {
                self.flush_loose(check, writing)?;
                return Err(stopped);
            }
        }
        if load.is_journaled {
            self.flush_loose(check, writing)?;
        }
        Ok(())
    }

    /// Writes blocks that are next to each other, or one.
    fn write_run(&self, run: &[Ready], memory: &[u8]) -> Result<(), MoveError> {
        let [Some(one), Some(other)] = [run.first(), run.last()] else {
            return Ok(());
        };
        let Some(holes) = &one.holes else {
            return Ok(());
        };
        let first = if one.at < other.at { one } else { other };
        let len = run.iter().map(|ready| ready.to.len().get()).sum();
        let bytes = memory.get(first.at..first.at + in_memory(Bytes::new(len)));
        let place = Extent::new(first.to.start(), Bytes::new(len)).unwrap_or(first.to);
        self.write(place, bytes.unwrap_or_default(), holes)
    }

    /// Reads a batch of which nothing is known yet, as many blocks at once as are next to each other.
    fn load_all(
        &self,
        direction: Direction,
        batch: &Batch,
        memory: &mut [u8],
    ) -> Result<(), MoveError> {
        let mut blocks = Vec::new();
        for n in batch.blocks.clone() {
            let place = self.block(n)?.at(direction.source());
            let at = self.journal.sequence().place_in_batch(n);
            blocks.push((at.map_or(usize::MAX, in_memory), place));
        }
        blocks.sort_by_key(|(at, _)| *at);
        let mut runs: Vec<(usize, Extent)> = Vec::new();
        for (at, place) in blocks {
            if let Some((start, run)) = runs.last_mut()
                && *start + in_memory(run.len()) == at
                && run.end() == place.start()
                && let Some(len) = run.len().checked_add(place.len())
                && len <= MAX_RUN
                && let Some(longer) = Extent::new(run.start(), len)
            {
                *run = longer;
                continue;
            }
            runs.push((at, place));
        }
        for (at, run) in runs {
            let buf = memory.get_mut(at..at.saturating_add(in_memory(run.len())));
            self.read_run(run, buf.unwrap_or_default())?;
        }
        Ok(())
    }

    /// Flushes what was written, and compares it when each block is compared.
    fn flush_loose(&self, check: Check, writing: &mut Writing) -> Result<(), MoveError> {
        writing.since = 0;
        if writing.loose.is_empty() {
            return Ok(());
        }
        let began = Instant::now();
        self.flush()?;
        writing.flushing += began.elapsed();
        if check == Check::Each {
            self.target.uncache().map_err(MoveError::Flush)?;
            self.compare(&writing.loose)?;
        }
        writing.loose.clear();
        Ok(())
    }

    /// Compares what was written with what was read.
    fn compare(&self, written: &[(Extent, Digest)]) -> Result<(), MoveError> {
        let compare = |written: &[(Extent, Digest)]| {
            let mut buf = self.block_memory()?;
            for (place, wanted) in written {
                let buf = buf.get_mut(..in_memory(place.len())).unwrap_or_default();
                self.expect(*place, *wanted, buf)?;
            }
            Ok(())
        };
        if !self.is_ahead || written.len() < FEW {
            return compare(written);
        }
        let (some, others) = written.split_at(written.len() / 2);
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().name("realign: compares".to_owned());
            let other = thread.spawn_scoped(scope, || compare(others));
            let other = other.map_err(MoveError::System)?;
            let one = compare(some);
            let other = other.join();
            one.and(other.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        })
    }
}

/// How many of these blocks are written at once: those that are next to each other, in memory, too, and have no holes.
fn run_of(blocks: &[Ready], most: u64) -> usize {
    let is_plain = |ready: &Ready| ready.holes.as_ref().is_some_and(Holes::are_none);
    let follows = |one: &Ready, other: &Ready| {
        let len = in_memory(one.to.len());
        one.to.end() == other.to.start() && one.at + len == other.at
    };
    let mut len = blocks.first().map_or(0, |ready| ready.to.len().get());
    let mut run = 1;
    for pair in blocks.windows(2) {
        let [one, other] = pair else { break };
        len = len.saturating_add(other.to.len().get());
        let is_next = follows(one, other) || follows(other, one);
        if !(is_plain(one) && is_plain(other) && is_next)
            || run as u64 >= most
            || len > MAX_RUN.get()
        {
            break;
        }
        run += 1;
    }
    run.min(blocks.len())
}

/// Whether flushes cost more than writing everything twice would.
fn is_flush_slow(writing: &Writing) -> bool {
    writing.flushing > writing.writing
}

/// Loads batches in a thread of its own while others are written. Memory is given back when a batch is written, and flushed if it
/// went through the data journal: so two batches are in memory at most, and no slot is used again too early.
fn ahead<I: Iterator<Item = u64> + Send>(
    batches: I,
    memory: impl Fn() -> Result<AlignedBytes, MoveError>,
    load: impl Fn(u64, AlignedBytes) -> Result<Load, MoveError> + Send,
    write: &mut impl FnMut(Load) -> Result<AlignedBytes, MoveError>,
) -> Result<(), MoveError> {
    let (give, free): (SyncSender<AlignedBytes>, Receiver<AlignedBytes>) = sync_channel(AHEAD);
    for _ in 0..AHEAD {
        // There is room, and the other end is here.
        let _ = give.send(memory()?);
    }
    // `give` goes with an error, which ends the thread.
    std::thread::scope(move |scope| {
        let (send, loaded) = sync_channel::<Result<Load, MoveError>>(AHEAD);
        let reader = move || {
            for number in batches {
                // When the writer gave up, there is nothing more to do.
                let Ok(memory) = free.recv() else { return };
                let next = load(number, memory);
                let is_over = next.is_err();
                if send.send(next).is_err() || is_over {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("realign: reads ahead".to_owned());
        thread
            .spawn_scoped(scope, reader)
            .map_err(MoveError::System)?;
        for one in loaded {
            let memory = write(one?)?;
            let _ = give.send(memory);
        }
        Ok(())
    })
}
