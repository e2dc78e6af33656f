//! Everything that is known of, read and compared.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;

use straddle_geometry::Bytes;
use straddle_io::{AlignedBytes, ReadAt};

use crate::journal::{Digest, JournalError, digest, sampled};
use crate::sequence::Sequence;
use crate::shift::Block;
use crate::store::{Store, read_exact};

use super::blocks::{Found, failed};
use super::copy::{Direction, MAX_DEPTH};
use super::error::MoveError;
use super::error::Place;
use super::progress::Count;
use super::state::Move;

/// Threads that read at once: while one compares, the other reads.
const READERS: usize = 2;
/// Of the beginning of a block that is sampled.
const SAMPLE: Bytes = Bytes::kib(4);

/// What is done with one block that is known.
type Work<'a> =
    dyn Fn(u64, Digest, &Block, &mut [u8]) -> Result<Option<u64>, MoveError> + Sync + 'a;

impl<T: Store, J: Store> Move<T, J> {
    /// Forward, how many blocks are at their new places before the first that is not; back, behind which block all are at their old
    /// places. Each block of these batches has to be somewhere.
    pub(super) fn locate(
        &self,
        direction: Direction,
        batches: Range<u64>,
        count: &mut Count<'_, '_>,
    ) -> Result<u64, MoveError> {
        let sequence = self.journal.sequence();
        let work = |n: u64, wanted: Digest, _: &Block, buf: &mut [u8]| {
            let found = self.find(n, wanted, direction.target(), buf)?;
            Ok((!matches!(found, Found::First(_))).then_some(n))
        };
        let (start, end) = (
            sequence.first_of(batches.start),
            sequence.first_of(batches.end),
        );
        let (first, last) = self.scan(batches, &work, count)?;
        Ok(match direction {
            Direction::Forward => first.unwrap_or(end),
            Direction::Back => last.map_or(start, |last| last + 1),
        })
    }

    /// The same where it was stopped, at what cannot be far from there, and by samples: quick, and without a write.
    pub(super) fn glance(&self) -> Result<u64, MoveError> {
        let sequence = self.journal.sequence();
        let known = sequence.first_of(self.recorded.batches);
        self.compare_samples(known)?;
        let mut watch = |_| std::ops::ControlFlow::Continue(());
        let mut watch: super::progress::Watch<'_> = &mut watch;
        let mut count = Count::new(
            super::Phase::Verifying,
            Bytes::ZERO,
            sequence.bytes(),
            &mut watch,
        );
        if self.direction() == Direction::Forward {
            // Before the last two batches all but the last few blocks were flushed.
            let batch = self.recorded.batches.saturating_sub(2);
            let first = sequence.first_of(batch).saturating_sub(MAX_DEPTH);
            let batches = sequence.batch_of(first)..self.recorded.batches;
            return self.locate(Direction::Forward, batches, &mut count);
        }
        let mut last = 0;
        for n in sampled(known) {
            let mut buf = self.block_memory()?;
            let wanted = self.digest_of(n)?;
            let block = self.block(n)?;
            let buf = buf.get_mut(..block.size()).unwrap_or_default();
            if !matches!(self.find(n, wanted, Place::Old, buf)?, Found::First(_)) {
                last = n + 1;
            }
        }
        Ok(last)
    }

    /// Compares everything at one of its places with what was read when it was recorded.
    pub(super) fn read_back(
        &self,
        place: Place,
        count: &mut Count<'_, '_>,
    ) -> Result<(), MoveError> {
        self.target.uncache().map_err(MoveError::Flush)?;
        let work = |_: u64, wanted: Digest, block: &Block, buf: &mut [u8]| {
            self.expect(block.at(place), wanted, buf)?;
            Ok(None)
        };
        self.scan(0..self.recorded.batches, &work, count)?;
        Ok(())
    }

    /// The same for parts in which edits may have been made: what those change is left out.
    pub(super) fn compare_edited(&self, count: &mut Count<'_, '_>) -> Result<(), MoveError> {
        let work = |_: u64, wanted: Digest, block: &Block, buf: &mut [u8]| {
            self.read(block.to, buf)?;
            self.without_edits(block.to.start(), buf);
            if digest(buf) != wanted {
                return Err(MoveError::Changed {
                    place: block.to,
                    what: "what was moved there".to_owned(),
                });
            }
            Ok(None)
        };
        self.scan(0..self.recorded.batches, &work, count)?;
        Ok(())
    }

    /// Compares samples of blocks of which no more is known, which therefore are at their old places.
    fn compare_samples(&self, known: u64) -> Result<(), MoveError> {
        let samples = &self.journal.contents().samples;
        let all = sampled(self.journal_blocks()).zip(samples);
        for (n, wanted) in all.filter(|(n, _)| *n >= known) {
            if sample(&self.target, self.journal.sequence(), n)? != *wanted {
                return Err(MoveError::Changed {
                    place: self.block(n)?.from,
                    what: "a part that was not moved yet".to_owned(),
                });
            }
        }
        Ok(())
    }

    /// Goes over known blocks, in threads of its own; the least and the greatest number that `work` gives.
    fn scan(
        &self,
        batches: Range<u64>,
        work: &Work<'_>,
        count: &mut Count<'_, '_>,
    ) -> Result<(Option<u64>, Option<u64>), MoveError> {
        let mut noted = (None::<u64>, None::<u64>);
        let mut note = |of: Option<u64>| {
            if let Some(n) = of {
                noted.0 = Some(noted.0.map_or(n, |least| least.min(n)));
                noted.1 = Some(noted.1.map_or(n, |greatest| greatest.max(n)));
            }
        };
        if !self.is_ahead {
            let mut memory = self.block_memory()?;
            for batch in batches {
                self.scan_batch(batch, work, &mut memory, &mut |len, of| {
                    note(of);
                    count.add(len)
                })?;
            }
            return Ok(noted);
        }
        let (next, is_over) = (AtomicU64::new(batches.start), AtomicBool::new(false));
        let memories: Result<Vec<AlignedBytes>, MoveError> =
            (0..READERS).map(|_| self.block_memory()).collect();
        let mut failure = None;
        std::thread::scope(|scope| {
            let (send, found) = sync_channel::<Result<(Bytes, Option<u64>), MoveError>>(64);
            for mut memory in memories? {
                let send = send.clone();
                let (next, is_over, batches) = (&next, &is_over, &batches);
                let reader = move || {
                    loop {
                        let batch = next.fetch_add(1, Ordering::Relaxed);
                        if batch >= batches.end || is_over.load(Ordering::Relaxed) {
                            return;
                        }
                        let mut tell =
                            |len, of| send.send(Ok((len, of))).map_err(|_| MoveError::Stopped);
                        if let Err(error) = self.scan_batch(batch, work, &mut memory, &mut tell) {
                            is_over.store(true, Ordering::Relaxed);
                            let _ = send.send(Err(error));
                            return;
                        }
                    }
                };
                let thread = std::thread::Builder::new().name("realign: reads back".to_owned());
                thread
                    .spawn_scoped(scope, reader)
                    .map_err(MoveError::System)?;
            }
            drop(send);
            for one in found {
                let told = one.and_then(|(len, of)| {
                    note(of);
                    count.add(len)
                });
                if let Err(error) = told {
                    is_over.store(true, Ordering::Relaxed);
                    failure.get_or_insert(error);
                }
            }
            Ok::<(), MoveError>(())
        })?;
        match failure {
            None => Ok(noted),
            Some(error) => Err(error),
        }
    }

    fn scan_batch(
        &self,
        number: u64,
        work: &Work<'_>,
        memory: &mut AlignedBytes,
        tell: &mut dyn FnMut(Bytes, Option<u64>) -> Result<(), MoveError>,
    ) -> Result<(), MoveError> {
        let digests = self.journal.digests(number)?;
        let first = self.journal.sequence().first_of(number);
        let mut all: Vec<(u64, Digest)> = (first..).zip(digests).collect();
        let is_down = |pair: &[(u64, Digest)]| {
            let [one, other] = [pair.first(), pair.last()].map(|one| {
                let block = self.journal.sequence().block(one?.0)?;
                Some(block.from.start())
            });
            one > other
        };
        if is_down(&all) {
            all.reverse();
        }
        for (n, wanted) in all {
            let block = self.block(n)?;
            let buf = memory.get_mut(..block.size()).unwrap_or_default();
            let noted = work(n, wanted, &block, buf)?;
            tell(block.from.len(), noted)?;
        }
        Ok(())
    }

    fn digest_of(&self, n: u64) -> Result<Digest, MoveError> {
        let batch = self.journal.sequence().batch_of(n);
        let digests = self.journal.digests(batch)?;
        let within = n - self.journal.sequence().first_of(batch);
        let digest = usize::try_from(within).ok().and_then(|n| digests.get(n));
        Ok(*digest.ok_or(JournalError::Damaged { at: 0 })?)
    }

    fn journal_blocks(&self) -> u64 {
        self.journal.sequence().blocks()
    }

    /// Room for any block.
    pub(super) fn block_memory(&self) -> Result<AlignedBytes, MoveError> {
        let len = self.journal.sequence().largest_block();
        AlignedBytes::new(len).map_err(MoveError::System)
    }
}

/// Digests of the beginnings of some blocks at their old places, to know the target again.
pub(super) fn samples(target: &impl ReadAt, all: &Sequence) -> Result<Vec<Digest>, MoveError> {
    let samples = sampled(all.blocks()).map(|n| sample(target, all, n));
    samples.collect()
}

fn sample(target: &impl ReadAt, all: &Sequence, n: u64) -> Result<Digest, MoveError> {
    let place = all.block(n).ok_or(JournalError::Damaged { at: 0 })?.from;
    let len = place.len().min(SAMPLE);
    let mut bytes = AlignedBytes::new(len).map_err(MoveError::System)?;
    let read = read_exact(target, place.start(), &mut bytes);
    read.map_err(|source| failed("reading", place, source))?;
    Ok(digest(&bytes))
}
