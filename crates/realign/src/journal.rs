//! The journal of a move: what is known of it that the moved bytes themselves do not say.
//!
//! It is a file of pages of 4 KiB, all written before the move begins, on another device than the one that the move is on:
//!
//! ```text
//! page 0, 1        header: the move, and how long journal and target are
//! page 2, 3        back: it was decided to roll back, and how many blocks had been moved
//! page 4, 5        moved: everything is at its new place, and was read back
//! page 6, 7        restored: everything is at its old place again, and was read back
//! page 8+2n, 9+2n  batch n: digests of the blocks of a batch, taken when they were read, before any of them is written
//! ```
//!
//! Every page is there twice, and says what it is:
//!
//! ```text
//!    0   8  magic
//!    8   4  kind
//!   16   8  number of the batch
//!   24  16  token, the same on all pages
//!   40      figures, little endian
//! 4080  16  XXH3 (128 bits) of all before it
//! ```
//!
//! Order: all pages are made empty ones, flush; first header, flush; second header, flush. A record: first copy, flush; second
//! copy, flush; and only then what it is about. So of a loss of power at most one copy of one page is torn, and a page that is
//! neither whole nor empty twice was damaged by something else. A journal never says less than what was done to the target: what was
//! not recorded was not begun. That is why a journal that was cut is refused (its length is in it), and one in which a record is
//! missing before another.
//!
//! There is no record of progress: whether a block was copied is seen by its digest, at both places.

use std::io;

use straddle_geometry::Bytes;
use xxhash_rust::xxh3::xxh3_128;

use crate::shift::Shift;
use crate::store::{Store, read_exact};

/// Bytes of a page: no disk tears less than a whole one of its sectors.
const PAGE: usize = 4096;
const MAGIC: &[u8; 8] = b"STRMOVE1";
/// Where the digest of a page is.
const SEAL: usize = PAGE - 16;
const FIGURES: usize = 40;
/// Most blocks of a batch: as many digests as fit.
const MAX_BATCH: u64 = ((SEAL - FIGURES) / 16) as u64;
/// Bytes of a batch, which are held in memory.
const BATCH_BYTES: u64 = 32 << 20;

const EMPTY: u32 = 0;
const HEADER: u32 = 1;
const BACK: u32 = 2;
const MOVED: u32 = 3;
const RESTORED: u32 = 4;
const BATCH: u32 = 5;

/// First page of each pair.
const HEADER_AT: u64 = 0;
const BACK_AT: u64 = 2;
const MOVED_AT: u64 = 4;
const RESTORED_AT: u64 = 6;
const BATCHES_AT: u64 = 8;

/// Tells the journal of one move from that of another.
pub type Token = [u8; 16];
/// Of one block.
pub type Digest = u128;

/// The digest of a block.
#[must_use]
pub fn digest(bytes: &[u8]) -> Digest {
    xxh3_128(bytes)
}

/// Why a journal is not taken up. Nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// It was never finished, so that nothing was moved, or is no journal.
    #[error(
        "no journal of a move: expected its header in the first 8 KiB. If a move was just begun, nothing has been moved yet"
    )]
    NoHeader,
    /// Another move is in it, which may not be over.
    #[error(
        "the journal is that of another move: go on with that, or take it back, before a new one is begun"
    )]
    Taken,
    /// Some of it is gone, or something was added.
    #[error(
        "the journal has {found} bytes, and had {expected}: it was cut, or is a part of another"
    )]
    Length {
        /// How long it is.
        found: u64,
        /// How long it was made.
        expected: u64,
    },
    /// A page is neither what was written nor what a loss of power leaves.
    #[error(
        "the journal is damaged at byte {at}: both copies of a page are not as they were written"
    )]
    Damaged {
        /// Where the first copy begins.
        at: u64,
    },
    /// The target is none that this move can be on.
    #[error("the target has {found} bytes, and had {expected} when the move began")]
    Target {
        /// How long it is.
        found: u64,
        /// How long it was.
        expected: u64,
    },
    /// It could not be read or written.
    #[error("the journal: {0}")]
    Io(#[from] io::Error),
}

/// The journal of one move.
#[derive(Debug)]
pub struct Journal<S> {
    store: S,
    token: Token,
    shift: Shift,
    /// How many blocks are recorded together.
    batch: u64,
}

/// What a journal says of a move that was stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// Digests of the blocks of all batches that may have been begun, in the order in which they are copied.
    pub digests: Vec<Digest>,
    /// It was being rolled back: how many blocks had been copied.
    pub back: Option<u64>,
    /// Everything is at its new place.
    pub is_moved: bool,
    /// Everything is at its old place again.
    pub is_restored: bool,
}

/// How many blocks are recorded together, unless somebody has a reason for another number: what may be held in memory.
#[must_use]
pub fn usual_batch(shift: &Shift) -> u64 {
    (BATCH_BYTES / shift.block_len().get()).clamp(1, MAX_BATCH)
}

/// How long the journal of a move is, in which so many blocks are recorded together. `None` for more or less than a page has room
/// for.
#[must_use]
pub fn len(shift: &Shift, batch: u64) -> Option<Bytes> {
    if !(1..=MAX_BATCH).contains(&batch) {
        return None;
    }
    let batches = shift.count().div_ceil(batch);
    let pages = batches.checked_mul(2)?.checked_add(BATCHES_AT)?;
    Some(Bytes::new(pages.checked_mul(PAGE as u64)?))
}

/// What a page is found to be.
enum Page {
    Empty,
    Whole { number: u64, figures: Vec<u8> },
    Other,
}

/// What two copies of a page come to.
enum Pair {
    Empty,
    /// The first copy was being written; what it is about was not begun.
    Torn,
    Whole {
        number: u64,
        figures: Vec<u8>,
    },
}

impl<S: Store> Journal<S> {
    /// Makes a journal of a store that is as [long](len) as it has to be. When this comes back, the move may begin.
    ///
    /// # Errors
    /// The store has another length, holds the journal of another move, or cannot be written.
    pub fn create(
        store: S,
        token: Token,
        shift: Shift,
        batch: u64,
        target: Bytes,
    ) -> Result<Journal<S>, JournalError> {
        let expected = len(&shift, batch).unwrap_or(Bytes::MAX);
        if store.size() != expected {
            return Err(JournalError::Length {
                found: store.size().get(),
                expected: expected.get(),
            });
        }
        if found_header(&store)?.is_some() {
            return Err(JournalError::Taken);
        }
        let journal = Journal {
            store,
            token,
            shift,
            batch,
        };
        let empty = journal.page(EMPTY, 0, &[]);
        for number in 0..expected.get() / PAGE as u64 {
            journal.store.write_at(at(number), &empty)?;
        }
        journal.store.flush()?;
        let figures = [
            shift.from(),
            shift.to(),
            shift.len(),
            shift.block_len(),
            Bytes::new(batch),
            target,
            expected,
        ];
        let figures: Vec<u8> = figures
            .iter()
            .flat_map(|figure| figure.get().to_le_bytes())
            .collect();
        journal.write(HEADER_AT, HEADER, 0, &figures)?;
        Ok(journal)
    }

    /// Takes up the journal of a move that was stopped, on a target of this length.
    ///
    /// # Errors
    /// It is none, was cut or damaged, or belongs to another target.
    pub fn open(store: S, target: Bytes) -> Result<(Journal<S>, Recorded), JournalError> {
        let Some((token, [from, to, len, block, batch, long, expected])) = found_header(&store)?
        else {
            return Err(JournalError::NoHeader);
        };
        if store.size().get() != expected {
            return Err(JournalError::Length {
                found: store.size().get(),
                expected,
            });
        }
        let bytes = Bytes::new;
        let shift = Shift::new(bytes(from), bytes(to), bytes(len), bytes(block));
        let Some(shift) = shift.filter(|shift| self::len(shift, batch) == Some(bytes(expected)))
        else {
            return Err(JournalError::Damaged { at: 0 });
        };
        if target.get() != long {
            return Err(JournalError::Target {
                found: target.get(),
                expected: long,
            });
        }
        let journal = Journal {
            store,
            token,
            shift,
            batch,
        };
        let recorded = journal.read()?;
        Ok((journal, recorded))
    }

    /// The move.
    pub fn shift(&self) -> &Shift {
        &self.shift
    }

    /// How many blocks are recorded together.
    pub fn batch_len(&self) -> u64 {
        self.batch
    }

    /// Where it is.
    pub fn into_store(self) -> S {
        self.store
    }

    /// Makes sure that what was read of it is there to stay, twice: a process that was killed may have left it in a cache, and one
    /// copy of it only. Until this comes back, nothing may rest on it.
    ///
    /// # Errors
    /// It could not be read or written.
    pub fn settle(&self) -> io::Result<()> {
        self.store.flush()?;
        let pages = len(&self.shift, self.batch).map_or(0, |len| len.get() / PAGE as u64);
        for number in (0..pages).step_by(2) {
            let mut copies = [[0; PAGE]; 2];
            read_exact(&self.store, at(number), &mut copies[0])?;
            read_exact(&self.store, at(number + 1), &mut copies[1])?;
            let is_said = |page: &[u8; PAGE]| kind_of(page).is_some_and(|(kind, _)| kind != EMPTY);
            let (whole, other) = match copies.each_ref().map(is_said) {
                [true, false] => (copies[0], number + 1),
                [false, true] => (copies[1], number),
                _ => continue,
            };
            self.store.write_at(at(other), &whole)?;
            self.store.flush()?;
        }
        Ok(())
    }

    /// Records the digests of the blocks of a batch. When this comes back, they may be written.
    ///
    /// # Errors
    /// It could not be written.
    pub fn batch(&self, number: u64, digests: &[Digest]) -> io::Result<()> {
        let figures: Vec<u8> = digests
            .iter()
            .flat_map(|digest| digest.to_le_bytes())
            .collect();
        self.write(BATCHES_AT + 2 * number, BATCH, number, &figures)
    }

    /// Records that it is going to be rolled back, from so many blocks that were copied.
    ///
    /// # Errors
    /// It could not be written.
    pub fn back(&self, copied: u64) -> io::Result<()> {
        self.write(BACK_AT, BACK, copied, &[])
    }

    /// Records that everything is at its new place.
    ///
    /// # Errors
    /// It could not be written.
    pub fn moved(&self) -> io::Result<()> {
        self.write(MOVED_AT, MOVED, 0, &[])
    }

    /// Records that everything is at its old place again.
    ///
    /// # Errors
    /// It could not be written.
    pub fn restored(&self) -> io::Result<()> {
        self.write(RESTORED_AT, RESTORED, 0, &[])
    }

    fn read(&self) -> Result<Recorded, JournalError> {
        let number = |pair| match pair {
            Pair::Whole { number, .. } => Some(number),
            Pair::Empty | Pair::Torn => None,
        };
        let back = number(self.pair(BACK_AT, BACK)?);
        let is_moved = number(self.pair(MOVED_AT, MOVED)?).is_some();
        let is_restored = number(self.pair(RESTORED_AT, RESTORED)?).is_some();
        let (count, each) = (self.shift.count(), self.batch);
        if back.is_some_and(|copied| copied > count) {
            return Err(damaged(BACK_AT));
        }
        let mut digests: Vec<Digest> = Vec::new();
        let mut is_over = false;
        for batch in 0..count.div_ceil(each) {
            let page = BATCHES_AT + 2 * batch;
            match self.pair(page, BATCH)? {
                Pair::Empty => is_over = true,
                // Of the one that was being written, and of no other.
                Pair::Torn if !is_over => is_over = true,
                Pair::Whole { number, figures } if !is_over && number == batch => {
                    let blocks = each.min(count - batch * each);
                    let here = figures
                        .chunks_exact(16)
                        .take(usize::try_from(blocks).unwrap_or(0));
                    digests.extend(
                        here.filter_map(|raw| Some(u128::from_le_bytes(raw.try_into().ok()?))),
                    );
                }
                Pair::Torn | Pair::Whole { .. } => return Err(damaged(page)),
            }
        }
        Ok(Recorded {
            digests,
            back,
            is_moved,
            is_restored,
        })
    }

    /// Writes both copies of a page, one after the other.
    fn write(&self, number: u64, kind: u32, of: u64, figures: &[u8]) -> io::Result<()> {
        let page = self.page(kind, of, figures);
        for copy in [number, number + 1] {
            self.store.write_at(at(copy), &page)?;
            self.store.flush()?;
        }
        Ok(())
    }

    fn page(&self, kind: u32, number: u64, figures: &[u8]) -> [u8; PAGE] {
        let mut page = [0; PAGE];
        page[..8].copy_from_slice(MAGIC);
        page[8..12].copy_from_slice(&kind.to_le_bytes());
        page[16..24].copy_from_slice(&number.to_le_bytes());
        page[24..FIGURES].copy_from_slice(&self.token);
        page[FIGURES..][..figures.len()].copy_from_slice(figures);
        let seal = xxh3_128(&page[..SEAL]);
        page[SEAL..].copy_from_slice(&seal.to_le_bytes());
        page
    }

    fn pair(&self, number: u64, kind: u32) -> Result<Pair, JournalError> {
        let [first, second] = [number, number + 1].map(|copy| self.copy(copy, kind));
        match (first?, second?) {
            (
                Page::Whole { number, figures },
                Page::Whole {
                    number: other,
                    figures: others,
                },
            ) if (number, &figures) == (other, &others) => Ok(Pair::Whole { number, figures }),
            (Page::Whole { .. }, Page::Whole { .. }) => Err(damaged(number)),
            (Page::Whole { number, figures }, _) | (_, Page::Whole { number, figures }) => {
                Ok(Pair::Whole { number, figures })
            }
            (Page::Empty, Page::Empty) => Ok(Pair::Empty),
            (Page::Other, Page::Empty) => Ok(Pair::Torn),
            (_, Page::Other) => Err(damaged(number)),
        }
    }

    fn copy(&self, number: u64, kind: u32) -> io::Result<Page> {
        let mut page = [0; PAGE];
        read_exact(&self.store, at(number), &mut page)?;
        Ok(match kind_of(&page) {
            Some((EMPTY, token)) if token == self.token => Page::Empty,
            Some((found, token)) if found == kind && token == self.token => Page::Whole {
                number: u64_at(&page, 16),
                figures: page[FIGURES..SEAL].to_vec(),
            },
            _ => Page::Other,
        })
    }
}

fn damaged(number: u64) -> JournalError {
    JournalError::Damaged {
        at: at(number).get(),
    }
}

fn at(number: u64) -> Bytes {
    Bytes::new(number.saturating_mul(PAGE as u64))
}

fn u64_at(page: &[u8; PAGE], at: usize) -> u64 {
    let mut raw = [0; 8];
    raw.copy_from_slice(&page[at..at + 8]);
    u64::from_le_bytes(raw)
}

/// Kind and token of a page that is whole.
fn kind_of(page: &[u8; PAGE]) -> Option<(u32, Token)> {
    let seal = xxh3_128(&page[..SEAL]).to_le_bytes();
    let is_whole = page[..8] == *MAGIC && page[SEAL..] == seal;
    let kind = u32::from_le_bytes(page[8..12].try_into().ok()?);
    let token = page[24..FIGURES].try_into().ok()?;
    is_whole.then_some((kind, token))
}

/// What the first copy of a header that is whole says.
fn found_header(store: &impl Store) -> io::Result<Option<(Token, [u64; 7])>> {
    for number in [HEADER_AT, HEADER_AT + 1] {
        let mut page = [0; PAGE];
        if store.size() >= at(number + 1) {
            read_exact(store, at(number), &mut page)?;
        }
        if let Some(found) = header(&page) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Token and figures of a header.
fn header(page: &[u8; PAGE]) -> Option<(Token, [u64; 7])> {
    let (kind, token) = kind_of(page)?;
    let figure = |n: usize| u64_at(page, FIGURES + 8 * n);
    (kind == HEADER).then(|| (token, [0, 1, 2, 3, 4, 5, 6].map(figure)))
}
