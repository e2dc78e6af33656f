//! The journal of a move: what is known of it that the target itself does not say.
//!
//! It is a file on another device than the one that the move is on, as long from the beginning as it will ever be. Its pages have
//! 4 KiB:
//!
//! ```text
//! page 0, 1        header: how long journal and target are, and the digest of the contents
//! page 2, 3        moved: all parts are at their new places, and were read back; edits may have been begun
//! page 4, 5        done: all edits are made, and were read back
//! page 6, 7        back: it was decided to roll back
//! page 8, 9        undone: no edit is made any more; parts may be on their way back
//! page 10, 11      restored: everything is as it was, and was read back
//! page 12+2n, +1   batch n: digests of its blocks, taken when they were read, before any of them is written
//! then             contents: parts, edits, label, digests of what follows; twice, each from the beginning of a page
//! then             free space that will be written over, when it is at most 64 MiB
//! then             two slots, each with room for a batch: the data journal, where batch n is in slot n mod 2
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
//! Order: contents and free space are written, and all pages made empty ones, flush; first header, flush; second header, flush. A
//! record: first copy, flush; second copy, flush; and only then what it is about. So of a loss of power at most one copy of one page
//! is torn, and a page that is neither whole nor empty twice was damaged by something else. A journal never says less than what was
//! done to the target: what was not recorded was not begun. That is why a journal that was cut is refused (its length is in it),
//! and one in which a record is missing before another.
//!
//! A batch that goes through the data journal is in its slot, flushed, before any block of it is written to the target, and the
//! slot is used again only when that batch is flushed at the target. Slots have no record: what is in one is known by its digest.
//!
//! There is no record of progress: whether a block was copied is seen by its digest, at its places and in its slot. And there is
//! none for a single edit: each sector of its place holds what was there before or what is there afterwards.

mod contents;
mod page;

use std::io;

use straddle_geometry::Bytes;
use xxhash_rust::xxh3::xxh3_128;

use crate::job::Job;
use crate::sequence::{Sequence, Sizes};
use crate::store::{Store, in_memory, read_exact};

use contents::MAX_CONTENTS;
pub(crate) use contents::{Contents, Saved, sampled};
pub use contents::{MAX_EDITS, MAX_FREE_SPACE, MAX_LABEL, MAX_PARTS};
use page::{Kind, PAGE, Pair, at, damaged, digests, header, kind_of, page, pair};

/// First page of the batches.
const BATCHES_AT: u64 = 12;

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
        "the journal is that of another move: resume that one, or roll it back, before a new one is begun"
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
    /// The job is larger than a journal has room for, or cannot be cut as asked for.
    #[error(
        "the move needs more than a journal has room for ({MAX_PARTS} parts, {MAX_EDITS} edits, 8 MiB for them all), or a data journal that \
         it was not granted"
    )]
    Sizes,
    /// It could not be read or written.
    #[error("the journal: {0}")]
    Io(#[from] io::Error),
}

/// A step that a move has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// All parts are at their new places.
    Moved,
    /// All edits are made.
    Done,
    /// It goes back.
    Back,
    /// No edit is made any more.
    Undone,
    /// Everything is as it was.
    Restored,
}

impl Mark {
    const ALL: [Mark; 5] = [
        Mark::Moved,
        Mark::Done,
        Mark::Back,
        Mark::Undone,
        Mark::Restored,
    ];

    /// Page and kind.
    fn page(self) -> (u64, Kind) {
        match self {
            Mark::Moved => (2, Kind::Moved),
            Mark::Done => (4, Kind::Done),
            Mark::Back => (6, Kind::Back),
            Mark::Undone => (8, Kind::Undone),
            Mark::Restored => (10, Kind::Restored),
        }
    }
}

/// What a journal says of how far a move has come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Recorded {
    /// Batches that may have been begun.
    pub(crate) batches: u64,
    marks: [bool; Mark::ALL.len()],
}

impl Recorded {
    pub(crate) fn has(&self, mark: Mark) -> bool {
        let mut all = Mark::ALL.iter().zip(self.marks);
        all.any(|(one, is_there)| *one == mark && is_there)
    }

    pub(crate) fn set(&mut self, mark: Mark) {
        let all = Mark::ALL.iter().zip(&mut self.marks);
        all.filter(|(one, _)| **one == mark)
            .for_each(|(_, is_there)| *is_there = true);
    }
}

/// Where what is in a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Layout {
    /// First page of each copy of the contents.
    contents: [u64; 2],
    free_space: u64,
    slots: [u64; 2],
    /// Pages of it all.
    pages: u64,
}

impl Layout {
    fn new(contents: &Contents, len: u64) -> Option<Layout> {
        let pages = |bytes: u64| bytes.div_ceil(PAGE as u64);
        let first = contents.sequence.batches().checked_mul(2)?;
        let first = first.checked_add(BATCHES_AT)?;
        let second = first.checked_add(pages(len))?;
        let free_space = second.checked_add(pages(len))?;
        let mut saved = contents.saved.iter().map(|one| one.place.len().get());
        let saved = saved.try_fold(0_u64, u64::checked_add)?;
        let slot = free_space.checked_add(pages(saved))?;
        let other = slot.checked_add(pages(contents.slot.get()))?;
        let pages = other.checked_add(pages(contents.slot.get()))?;
        pages.checked_mul(PAGE as u64)?;
        Some(Layout {
            contents: [first, second],
            free_space,
            slots: [slot, other],
            pages,
        })
    }
}

/// How long the journal of a job on a target of `target` bytes is.
///
/// # Errors
/// The job is more than a journal has room for.
pub fn len(job: &Job, sizes: &Sizes, label: &[u8], target: Bytes) -> Result<Bytes, JournalError> {
    let contents = Contents::new(job, sizes, label, target)?;
    let layout = Layout::new(&contents, contents.encode().len() as u64);
    Ok(at(layout.ok_or(JournalError::Sizes)?.pages))
}

/// The journal of one move.
#[derive(Debug)]
pub struct Journal<S> {
    store: S,
    token: Token,
    contents: Contents,
    layout: Layout,
    /// Whether the free space that is kept is as it was written.
    is_free_space_whole: bool,
}

impl<S: Store> Journal<S> {
    /// Makes a journal of a store that is as [long](len) as it has to be: `free_space` gives what it keeps of the target. When this
    /// comes back, the move may begin.
    pub(crate) fn create(
        store: S,
        token: Token,
        contents: Contents,
        mut free_space: impl FnMut(&Saved) -> io::Result<Vec<u8>>,
    ) -> Result<Journal<S>, JournalError> {
        let raw = contents.encode();
        let layout = Layout::new(&contents, raw.len() as u64).ok_or(JournalError::Sizes)?;
        let expected = at(layout.pages);
        if store.size() != expected {
            return Err(JournalError::Length {
                found: store.size().get(),
                expected: expected.get(),
            });
        }
        if header(&store)?.is_some() {
            return Err(JournalError::Taken);
        }
        let journal = Journal {
            store,
            token,
            contents,
            layout,
            is_free_space_whole: true,
        };
        let empty = page(Kind::Empty, &token, 0, &[]);
        for number in 0..layout.contents[0] {
            journal.store.write_at(at(number), &empty)?;
        }
        for copy in layout.contents {
            journal.store.write_at(at(copy), &raw)?;
        }
        let mut place = at(layout.free_space);
        for saved in &journal.contents.saved {
            journal.store.write_at(place, &free_space(saved)?)?;
            place = sum(place, saved.place.len())?;
        }
        journal.store.flush()?;
        let header = Header {
            token,
            target: journal.contents.target.get(),
            len: expected.get(),
            batches: journal.sequence().batches(),
            contents: raw.len() as u64,
            digest: digest(&raw),
        };
        journal.write(0, Kind::Header, 0, &header.figures())?;
        Ok(journal)
    }

    /// Takes up the journal of a move that was stopped, on a target of this length.
    pub(crate) fn open(store: S, target: Bytes) -> Result<(Journal<S>, Recorded), JournalError> {
        let header = Header::read(&store)?.ok_or(JournalError::NoHeader)?;
        if store.size().get() != header.len {
            return Err(JournalError::Length {
                found: store.size().get(),
                expected: header.len,
            });
        }
        if target.get() != header.target {
            return Err(JournalError::Target {
                found: target.get(),
                expected: header.target,
            });
        }
        let (contents, layout) = find_contents(&store, &header)?.ok_or(damaged(0))?;
        let is_sound = contents.target == target
            && contents.sequence.batches() == header.batches
            && at(layout.pages) == store.size();
        if !is_sound {
            return Err(damaged(0));
        }
        let mut journal = Journal {
            store,
            token: header.token,
            contents,
            layout,
            is_free_space_whole: true,
        };
        let mut is_whole = true;
        journal.free_space(|_, bytes| {
            is_whole &= bytes.is_some();
            Ok(())
        })?;
        journal.is_free_space_whole = is_whole;
        let recorded = journal.read()?;
        Ok((journal, recorded))
    }

    pub(crate) fn contents(&self) -> &Contents {
        &self.contents
    }

    pub(crate) fn sequence(&self) -> &Sequence {
        &self.contents.sequence
    }

    pub(crate) fn into_store(self) -> S {
        self.store
    }

    /// What it says of how far the move has come.
    pub(crate) fn read(&self) -> Result<Recorded, JournalError> {
        let mut recorded = Recorded::default();
        for mark in Mark::ALL {
            let (number, kind) = mark.page();
            if let Pair::Whole { .. } = pair(&self.store, &self.token, number, kind)? {
                recorded.set(mark);
            }
        }
        let mut is_over = false;
        for batch in 0..self.sequence().batches() {
            let number = BATCHES_AT + 2 * batch;
            match pair(&self.store, &self.token, number, Kind::Batch)? {
                Pair::Empty => is_over = true,
                // Of the one that was being written, and of no other.
                Pair::Torn if !is_over => is_over = true,
                Pair::Whole { number: its, .. } if !is_over && its == batch => {
                    recorded.batches = batch + 1;
                }
                Pair::Torn | Pair::Whole { .. } => return Err(damaged(number)),
            }
        }
        Ok(recorded)
    }

    /// Makes sure that what was read of it is there to stay, twice: a process that was killed may have left it in a cache, and one
    /// copy of it only; a flush that failed may have lost it, and said so only once. Gives what it says then. Until this comes
    /// back, nothing may rest on it.
    pub(crate) fn settle(&self) -> Result<Recorded, JournalError> {
        self.store.flush()?;
        self.store.uncache()?;
        let recorded = self.read()?;
        let mut is_complete = true;
        for number in (0..self.layout.contents[0]).step_by(2) {
            let mut copies = [[0; PAGE]; 2];
            read_exact(&self.store, at(number), &mut copies[0])?;
            read_exact(&self.store, at(number + 1), &mut copies[1])?;
            let is_said = |page: &[u8; PAGE]| kind_of(page).is_some_and(|(kind, _)| kind != 0);
            let (whole, other) = match copies.each_ref().map(is_said) {
                [true, false] => (copies[0], number + 1),
                [false, true] => (copies[1], number),
                _ => continue,
            };
            self.store.write_at(at(other), &whole)?;
            is_complete = false;
        }
        if !is_complete {
            self.store.flush()?;
        }
        Ok(recorded)
    }

    /// Records the digests of the blocks of a batch. When this comes back, they may be written.
    pub(crate) fn batch(&self, number: u64, digests: &[Digest]) -> io::Result<()> {
        let figures = digests.iter().flat_map(|digest| digest.to_le_bytes());
        let figures: Vec<u8> = figures.collect();
        self.write(BATCHES_AT + 2 * number, Kind::Batch, number, &figures)
    }

    /// The digests of a batch that was recorded.
    pub(crate) fn digests(&self, number: u64) -> Result<Vec<Digest>, JournalError> {
        let page = BATCHES_AT + 2 * number;
        let batch = self.sequence().batch(number).ok_or(damaged(page))?;
        match pair(&self.store, &self.token, page, Kind::Batch)? {
            Pair::Whole { figures, .. } => {
                Ok(digests(&figures, batch.blocks.end - batch.blocks.start))
            }
            Pair::Empty | Pair::Torn => Err(damaged(page)),
        }
    }

    /// Records that a step is reached.
    pub(crate) fn mark(&self, mark: Mark) -> io::Result<()> {
        let (number, kind) = mark.page();
        self.write(number, kind, 0, &[])
    }

    /// Whether there is a data journal.
    pub(crate) fn has_slots(&self) -> bool {
        self.contents.slot > Bytes::ZERO
    }

    /// Writes a batch into its slot, without a flush.
    pub(crate) fn write_slot(&self, batch: u64, bytes: &[u8]) -> io::Result<()> {
        self.store.write_at(self.slot(batch), bytes)
    }

    pub(crate) fn flush(&self) -> io::Result<()> {
        self.store.flush()
    }

    /// What the slot of its batch has at the place of a block, if there are slots.
    pub(crate) fn read_slot(&self, n: u64, buf: &mut [u8]) -> io::Result<bool> {
        let (Some(within), true) = (self.sequence().place_in_batch(n), self.has_slots()) else {
            return Ok(false);
        };
        let batch = self.sequence().batch_of(n);
        read_exact(&self.store, sum(self.slot(batch), within)?, buf)?;
        Ok(true)
    }

    /// Whether all free space that is written over is here, and as it was.
    pub(crate) fn keeps_free_space(&self) -> bool {
        self.contents.keeps_free_space && self.is_free_space_whole
    }

    /// Free space that is kept, each piece with its bytes; `None` for one that is not as it was written.
    pub(crate) fn free_space(
        &self,
        mut each: impl FnMut(&Saved, Option<&[u8]>) -> Result<(), JournalError>,
    ) -> Result<(), JournalError> {
        let mut place = at(self.layout.free_space);
        for saved in &self.contents.saved {
            let mut bytes = vec![0; in_memory(saved.place.len())];
            read_exact(&self.store, place, &mut bytes)?;
            let is_whole = digest(&bytes) == saved.digest;
            each(saved, is_whole.then_some(&bytes))?;
            place = sum(place, saved.place.len())?;
        }
        Ok(())
    }

    fn slot(&self, batch: u64) -> Bytes {
        let [even, odd] = self.layout.slots;
        at(if batch.is_multiple_of(2) { even } else { odd })
    }

    /// Writes both copies of a page, one after the other.
    fn write(&self, number: u64, kind: Kind, of: u64, figures: &[u8]) -> io::Result<()> {
        let page = page(kind, &self.token, of, figures);
        for copy in [number, number + 1] {
            self.store.write_at(at(copy), &page)?;
            self.store.flush()?;
        }
        Ok(())
    }
}

/// What a header says.
struct Header {
    token: Token,
    target: u64,
    /// Bytes of the journal.
    len: u64,
    batches: u64,
    /// Bytes of the contents, and their digest.
    contents: u64,
    digest: Digest,
}

impl Header {
    fn figures(&self) -> Vec<u8> {
        let figures = [self.target, self.len, self.batches, self.contents];
        let figures = figures.iter().flat_map(|figure| figure.to_le_bytes());
        figures.chain(self.digest.to_le_bytes()).collect()
    }

    fn read(store: &impl Store) -> Result<Option<Header>, JournalError> {
        let Some((token, figures)) = header(store)? else {
            return Ok(None);
        };
        let figure = |n: usize| {
            let raw = figures.get(8 * n..)?.first_chunk()?;
            Some(u64::from_le_bytes(*raw))
        };
        let figure = |n| figure(n).ok_or(damaged(0));
        Ok(Some(Header {
            token,
            target: figure(0)?,
            len: figure(1)?,
            batches: figure(2)?,
            contents: figure(3)?,
            digest: u128::from(figure(5)?) << 64 | u128::from(figure(4)?),
        }))
    }
}

/// The first copy of the contents that has its digest, and where all is.
fn find_contents(
    store: &impl Store,
    header: &Header,
) -> Result<Option<(Contents, Layout)>, JournalError> {
    if header.contents > MAX_CONTENTS {
        return Ok(None);
    }
    let pages = header.contents.div_ceil(PAGE as u64);
    let first = header.batches.saturating_mul(2).saturating_add(BATCHES_AT);
    for copy in [first, first.saturating_add(pages)] {
        let place = at(copy);
        let end = place.checked_add(Bytes::new(header.contents));
        if end.is_none_or(|end| end > store.size()) {
            continue;
        }
        let mut raw = vec![0; in_memory(Bytes::new(header.contents))];
        read_exact(store, place, &mut raw)?;
        if digest(&raw) == header.digest {
            let contents = Contents::decode(&raw).filter(Contents::is_sound);
            let layout = contents
                .as_ref()
                .and_then(|it| Layout::new(it, header.contents));
            return Ok(contents.zip(layout));
        }
    }
    Ok(None)
}

fn sum(one: Bytes, other: Bytes) -> io::Result<Bytes> {
    let sum = one.checked_add(other);
    sum.ok_or_else(|| io::ErrorKind::InvalidInput.into())
}
