//! Jobs on a small disk, and what must come of them.

use std::ops::ControlFlow;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use straddle_geometry::Bytes;
use straddle_realign::{Check, Edit, Job, Method, Move, MoveError, Options, Part, Sizes, journal};

use crate::disk::{Disk, SECTOR};

pub(crate) const TOKEN: journal::Token = *b"0123456789abcdef";

/// Sectors of a disk.
const DISK: u64 = 64;

/// A job on a small disk, in sectors.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// From, to, length.
    pub(crate) parts: Vec<(u64, u64, u64)>,
    pub(crate) block: u64,
    /// Blocks that are recorded together.
    pub(crate) batch: u64,
    /// So many different sectors; few make blocks that are alike.
    pub(crate) contents: u64,
    pub(crate) has_edits: bool,
    pub(crate) method: Method,
    pub(crate) check: Check,
    pub(crate) has_threads: bool,
}

impl Case {
    /// One part, without edits, recorded three blocks at a time, copied in the order of its blocks without another thread.
    pub(crate) fn new(parts: &[(u64, u64, u64)], block: u64) -> Case {
        Case {
            parts: parts.to_vec(),
            block,
            batch: 3,
            contents: 200,
            has_edits: false,
            method: Method::Ordered,
            check: Check::AtTheEnd,
            has_threads: false,
        }
    }

    pub(crate) fn disk(&self) -> Vec<u8> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(self.contents);
        let sectors = (0..DISK).map(|n| {
            let is_moved = self
                .parts
                .iter()
                .any(|(from, _, len)| (*from..from + len).contains(&n));
            match is_moved {
                true => u8::try_from(random.next_u64() % self.contents).expect("few"),
                false => 0xF0,
            }
        });
        sectors.flat_map(|byte| [byte; SECTOR]).collect()
    }

    pub(crate) fn job(&self) -> Job {
        let bytes = |sectors: u64| Bytes::new(sectors * SECTOR as u64);
        let parts = self.parts.iter().map(|(from, to, len)| Part {
            from: bytes(*from),
            to: bytes(*to),
            len: bytes(*len),
        });
        let parts: Vec<Part> = parts.collect();
        let job = Job::new(parts.clone(), Vec::new()).expect("a job");
        let mut edits = Vec::new();
        if self.has_edits {
            let moved = apply(&job, &self.disk());
            let mut edit = |at: usize, len: usize| {
                let before = moved[at..at + len].to_vec();
                let after = before.iter().map(|byte| !byte).collect();
                let at = Bytes::new(at as u64);
                let what = format!("bytes at {at:?}");
                edits.push(Edit {
                    at,
                    before,
                    after,
                    what,
                });
            };
            // An entry of a table, one that is longer than a sector, and a field in each part.
            edit(446, 16);
            edit(60 * SECTOR + 100, 700);
            for part in &parts {
                edit(usize::try_from(part.to.get()).expect("small") + 28, 4);
            }
        }
        Job::new(parts, edits).expect("a job")
    }

    pub(crate) fn options(&self) -> Options {
        let journaled_below = match self.method {
            Method::Ordered => Bytes::ZERO,
            // All the same whether a part has to be.
            Method::Measured | Method::Journaled | Method::JournaledAfter(_) => {
                Bytes::new(3 * SECTOR as u64)
            }
        };
        let sizes = Sizes {
            block: Bytes::new(self.block * SECTOR as u64),
            batch: Bytes::new(self.batch * (self.block * SECTOR as u64).next_multiple_of(4096)),
            journaled_below,
        };
        Options {
            sizes,
            label: b"target 7".to_vec(),
        }
    }

    /// Room for its journal.
    pub(crate) fn journal(&self) -> Vec<u8> {
        let options = self.options();
        let target = Bytes::new(DISK * SECTOR as u64);
        let len = journal::len(&self.job(), &options.sizes, &options.label, target);
        vec![0; usize::try_from(len.expect("sound").get()).expect("small")]
    }

    /// The disk when everything is done.
    pub(crate) fn done(&self) -> Vec<u8> {
        let job = self.job();
        let mut bytes = apply(&job, &self.disk());
        for edit in job.edits() {
            let at = usize::try_from(edit.at.get()).expect("small");
            bytes[at..at + edit.after.len()].copy_from_slice(&edit.after);
        }
        bytes
    }

    pub(crate) fn create(&self, disk: &Disk, log: &Disk) -> Result<Move<Disk, Disk>, MoveError> {
        let begun = Move::create(
            disk.clone(),
            log.clone(),
            TOKEN,
            &self.job(),
            &self.options(),
        );
        begun.map(|it| self.set(it))
    }

    pub(crate) fn open(&self, disk: &Disk, log: &Disk) -> Result<Move<Disk, Disk>, MoveError> {
        Move::open(disk.clone(), log.clone()).map(|it| self.set(it))
    }

    fn set(&self, it: Move<Disk, Disk>) -> Move<Disk, Disk> {
        it.with_method(self.method).with_threads(self.has_threads)
    }
}

fn apply(job: &Job, disk: &[u8]) -> Vec<u8> {
    let mut bytes = disk.to_vec();
    for part in job.parts() {
        let [from, to, len] = [part.from, part.to, part.len]
            .map(|bytes| usize::try_from(bytes.get()).expect("small"));
        bytes.copy_within(from..from + len, to);
    }
    bytes
}

/// Forward, without a look at progress.
pub(crate) fn forward(it: &mut Move<Disk, Disk>, check: Check) -> Result<(), MoveError> {
    it.forward(check, |_| ControlFlow::Continue(()))
}

/// Back, without a look at progress.
pub(crate) fn back(it: &mut Move<Disk, Disk>, check: Check) -> Result<(), MoveError> {
    it.back(check, |_| ControlFlow::Continue(()))
}
