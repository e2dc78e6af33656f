//! Pages: each says what it is, and is there twice.

use std::io;

use straddle_geometry::Bytes;
use xxhash_rust::xxh3::xxh3_128;

use crate::store::{Store, read_exact};

use super::{Digest, JournalError, Token};

/// Bytes of a page: no disk tears less than a whole one of its sectors.
pub(super) const PAGE: usize = 4096;
const MAGIC: &[u8; 8] = b"STRMOVE1";
/// Where the digest of a page is.
const SEAL: usize = PAGE - 16;
const FIGURES: usize = 40;

/// What a page is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Kind {
    Empty = 0,
    Header = 1,
    Moved = 2,
    Done = 3,
    Back = 4,
    Undone = 5,
    Restored = 6,
    Batch = 7,
}

/// What two copies of a page come to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Pair {
    Empty,
    /// The first copy was being written; what it is about was not begun.
    Torn,
    Whole {
        number: u64,
        figures: Vec<u8>,
    },
}

/// What one copy is found to be.
enum Copy {
    Empty,
    Whole { number: u64, figures: Vec<u8> },
    Other,
}

/// A page as it is written.
pub(super) fn page(kind: Kind, token: &Token, number: u64, figures: &[u8]) -> [u8; PAGE] {
    let mut page = [0; PAGE];
    page[..8].copy_from_slice(MAGIC);
    page[8..12].copy_from_slice(&(kind as u32).to_le_bytes());
    page[16..24].copy_from_slice(&number.to_le_bytes());
    page[24..FIGURES].copy_from_slice(token);
    let room = page[FIGURES..SEAL].iter_mut();
    room.zip(figures).for_each(|(into, from)| *into = *from);
    let seal = xxh3_128(&page[..SEAL]);
    page[SEAL..].copy_from_slice(&seal.to_le_bytes());
    page
}

/// Kind and token of a page that is whole.
pub(super) fn kind_of(page: &[u8; PAGE]) -> Option<(u32, Token)> {
    let seal = xxh3_128(&page[..SEAL]).to_le_bytes();
    let is_whole = page[..8] == *MAGIC && page[SEAL..] == seal;
    let kind = u32::from_le_bytes(page[8..12].try_into().ok()?);
    let token = page[24..FIGURES].try_into().ok()?;
    is_whole.then_some((kind, token))
}

/// Both copies of the page with this number.
pub(super) fn pair(
    store: &impl Store,
    token: &Token,
    number: u64,
    kind: Kind,
) -> Result<Pair, JournalError> {
    let [first, second] = [number, number + 1].map(|number| copy(store, token, number, kind));
    match (first?, second?) {
        (
            Copy::Whole { number, figures },
            Copy::Whole {
                number: other,
                figures: others,
            },
        ) if (number, &figures) == (other, &others) => Ok(Pair::Whole { number, figures }),
        (Copy::Whole { .. }, Copy::Whole { .. }) => Err(damaged(number)),
        (Copy::Whole { number, figures }, _) | (_, Copy::Whole { number, figures }) => {
            Ok(Pair::Whole { number, figures })
        }
        (Copy::Empty, Copy::Empty) => Ok(Pair::Empty),
        (Copy::Other, Copy::Empty) => Ok(Pair::Torn),
        (_, Copy::Other) => Err(damaged(number)),
    }
}

fn copy(store: &impl Store, token: &Token, number: u64, kind: Kind) -> io::Result<Copy> {
    let mut page = [0; PAGE];
    read_exact(store, at(number), &mut page)?;
    Ok(match kind_of(&page) {
        Some((found, its)) if its != *token || found != kind as u32 && found != 0 => Copy::Other,
        Some((0, _)) => Copy::Empty,
        Some(_) => Copy::Whole {
            number: u64_at(&page, 16),
            figures: page[FIGURES..SEAL].to_vec(),
        },
        None => Copy::Other,
    })
}

/// Token and figures of a header, from whichever copy is whole.
pub(super) fn header(store: &impl Store) -> io::Result<Option<(Token, Vec<u8>)>> {
    for number in [0, 1] {
        let mut page = [0; PAGE];
        if store.size() >= at(number + 1) {
            read_exact(store, at(number), &mut page)?;
        }
        if let Some((kind, token)) = kind_of(&page)
            && kind == Kind::Header as u32
        {
            return Ok(Some((token, page[FIGURES..SEAL].to_vec())));
        }
    }
    Ok(None)
}

/// The digests of a batch of so many blocks.
pub(super) fn digests(figures: &[u8], blocks: u64) -> Vec<Digest> {
    let blocks = usize::try_from(blocks).unwrap_or(0);
    let here = figures.chunks_exact(16).take(blocks);
    here.filter_map(|raw| Some(u128::from_le_bytes(raw.try_into().ok()?)))
        .collect()
}

/// Where a page begins.
pub(super) fn at(number: u64) -> Bytes {
    Bytes::new(number.saturating_mul(PAGE as u64))
}

pub(super) fn damaged(number: u64) -> JournalError {
    JournalError::Damaged {
        at: at(number).get(),
    }
}

fn u64_at(page: &[u8; PAGE], at: usize) -> u64 {
    let mut raw = [0; 8];
    raw.copy_from_slice(&page[at..at + 8]);
    u64::from_le_bytes(raw)
}
