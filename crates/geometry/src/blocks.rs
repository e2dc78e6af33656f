use std::error::Error as StdError;
use std::fmt;

use crate::{Bytes, Extent, Segment, Unit};

/// Why an entry of a block table could not be had: the reason of whoever reads it.
pub type TableError = Box<dyn StdError + Send + Sync>;

/// Where one address of a virtual disk lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the layer below.
    At {
        /// Which of the layers below.
        target: usize,
        /// The address there.
        offset: Bytes,
        /// How many bytes from here on stay contiguous, at least 1.
        run: Bytes,
    },
    /// Not in this table: in the parent at the same address, or, without a parent, nowhere (it reads as zeroes).
    Absent {
        /// How many bytes from here on are absent too, at least 1; more may follow.
        run: Bytes,
    },
    /// Recorded as zeroes, whatever a parent holds.
    Zero {
        /// How many bytes from here on are zeroes too, at least 1; more may follow.
        run: Bytes,
    },
    /// Compressed together with its neighbours.
    Packed {
        /// The addresses that are compressed as one.
        upper: Extent,
        /// Which of the layers below.
        target: usize,
        /// Where the compressed bytes lie there; their end may be known only roughly.
        lower: Extent,
    },
}

impl Place {
    /// How many bytes from the address on, at least 1, the answer holds for. `from` is the address that was asked for.
    #[must_use]
    pub fn run(&self, from: Bytes) -> Bytes {
        match self {
            Place::At { run, .. } | Place::Absent { run } | Place::Zero { run } => *run,
            Place::Packed { upper, .. } => upper
                .end()
                .checked_sub(from)
                .unwrap_or(Bytes::ZERO)
                .max(Bytes::new(1)),
        }
    }
}

/// What a part of a virtual disk has instead of a place below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gap {
    /// Not in this table; see [`Place::Absent`].
    Absent,
    /// Recorded as zeroes.
    Zero,
    /// Compressed.
    Packed,
}

/// Marks in a batch of entries, see [`Sink::blocks`]. The last addresses of 64 bits are no place of a block.
pub mod entry {
    use super::Gap;

    /// The block is [`Gap::Absent`].
    pub const ABSENT: u64 = u64::MAX;
    /// The block is [`Gap::Zero`].
    pub const ZERO: u64 = u64::MAX - 1;
    /// The block is [`Gap::Packed`].
    pub const PACKED: u64 = u64::MAX - 2;
    /// Entries from here on are marks, not addresses.
    pub const FIRST_MARK: u64 = u64::MAX - 15;

    /// What a mark stands for; `None` for an address.
    #[must_use]
    pub const fn gap(entry: u64) -> Option<Gap> {
        match entry {
            ABSENT => Some(Gap::Absent),
            ZERO => Some(Gap::Zero),
            FIRST_MARK.. => Some(Gap::Packed),
            _ => None,
        }
    }
}

/// Takes what a block table says, in the order of the virtual disk's addresses, every address once.
pub trait Sink {
    /// Consecutive whole blocks, the first at `first`: for each the address below in `target`, or a mark of [`entry`].
    ///
    /// A block at the end of a disk that is not a whole number of blocks is not whole: it comes through [`Sink::piece`] or
    /// [`Sink::gap`], cut at the end.
    fn blocks(&mut self, first: Bytes, target: usize, lower: &[u64]);

    /// A part that lies in one piece: some sectors of a block, or several blocks in a row.
    fn piece(&mut self, piece: Segment);

    /// A part, of any length, that has no place in this table.
    fn gap(&mut self, upper: Extent, gap: Gap);

    /// Whole blocks that lie at even distances below, as a writer leaves them who allocates in the disk's order: the same
    /// as [`Sink::blocks`] with their addresses, which is what happens unless a sink knows better.
    fn row(&mut self, row: Row) {
        let mut left = row;
        while left.count > 0 {
            let mut lower = [0; 256];
            let count = left.count.min(256);
            let (now, rest) = left.split(count);
            for (index, place) in (0..count).zip(&mut lower) {
                *place = now.at(index);
            }
            let len = usize::try_from(count).unwrap_or(0);
            self.blocks(now.first, now.target, &lower[..len]);
            left = rest;
        }
    }
}

/// See [`Sink::row`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Address of the first block in the disk.
    pub first: Bytes,
    /// Size of a block.
    pub block: Unit,
    /// Which of the layers below.
    pub target: usize,
    /// Address of the first block there.
    pub lower: Bytes,
    /// From the start of a block there to the start of the next. The start of the last is no mark of [`entry`].
    pub stride: Unit,
    /// How many blocks.
    pub count: u64,
}

impl Row {
    /// Where block `index` lies below.
    #[must_use]
    pub fn at(&self, index: u64) -> u64 {
        let behind = index.saturating_mul(self.stride.get());
        self.lower
            .get()
            .saturating_add(behind)
            .min(entry::FIRST_MARK - 1)
    }

    /// The first `count` blocks, and the others.
    #[must_use]
    pub fn split(self, count: u64) -> (Row, Row) {
        let count = count.min(self.count);
        let skipped = count.saturating_mul(self.block.get());
        let rest = Row {
            first: Bytes::new(self.first.get().saturating_add(skipped)),
            lower: Bytes::new(self.at(count)),
            count: self.count - count,
            ..self
        };
        (Row { count, ..self }, rest)
    }
}

/// The table of a virtual disk that says for each block where it lies in the layers below.
///
/// A table may have more entries than memory could hold, so it is never held: it is asked for one address, or streamed.
pub trait BlockTable: fmt::Debug + Send + Sync {
    /// Size of a block.
    fn block(&self) -> Unit;

    /// Size of the virtual disk.
    fn size(&self) -> Bytes;

    /// Which of the layers below is the parent that holds what is [`Gap::Absent`].
    fn parent(&self) -> Option<usize>;

    /// Where `offset` lies.
    ///
    /// # Errors
    /// When its entry cannot be read, or cannot be believed.
    fn locate(&self, offset: Bytes) -> Result<Place, TableError>;

    /// Sends all that `range`, cut at the end of the disk, holds to `sink`. Memory stays bounded whatever the size of
    /// the table. A range that begins or ends inside a block sends the parts of that block through [`Sink::piece`].
    ///
    /// # Errors
    /// When a part of the table cannot be read; what came before it has been sent.
    fn stream(&self, range: Extent, sink: &mut dyn Sink) -> Result<(), TableError>;

    /// Fills `out` with the whole of a [`Place::Packed`] part, whose compressed bytes are `packed` (cut at the end of the
    /// file where the recorded end is beyond it).
    ///
    /// # Errors
    /// When they cannot be unpacked. The default: when the format has no compression.
    fn unpack(&self, packed: &[u8], out: &mut [u8]) -> Result<(), TableError> {
        let _ = (packed, out);
        Err("this format has no compressed blocks".into())
    }
}

/// A part of a virtual disk, as long as what it says stays the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listed {
    /// It lies in one piece below.
    Piece(Segment),
    /// It has no place in the table.
    Gap(Extent, Gap),
}

impl Listed {
    /// The addresses of the virtual disk.
    #[must_use]
    pub const fn upper(&self) -> Extent {
        match self {
            Listed::Piece(piece) => piece.upper,
            Listed::Gap(upper, _) => *upper,
        }
    }

    /// Both as one, when `next` goes on where `self` ends.
    fn joined(self, next: Listed) -> Option<Listed> {
        let (upper, more) = (self.upper(), next.upper());
        let len = upper.len().checked_add(more.len())?;
        let both = Extent::new(upper.start(), len).filter(|_| upper.end() == more.start())?;
        match (self, next) {
            (Listed::Piece(a), Listed::Piece(b)) => (a.target == b.target
                && a.lower.checked_add(a.upper.len()) == Some(b.lower))
            .then_some(Listed::Piece(Segment { upper: both, ..a })),
            (Listed::Gap(_, a), Listed::Gap(_, b)) => (a == b).then_some(Listed::Gap(both, a)),
            _ => None,
        }
    }
}

/// The beginning of what a table says, with neighbours joined: for listings, and to compare with other readers.
#[derive(Clone, Debug)]
pub struct Listing {
    block: Unit,
    most: usize,
    parts: Vec<Listed>,
    left_out: bool,
}

impl Listing {
    /// Lists at most `most` parts of `range`.
    ///
    /// # Errors
    /// As [`BlockTable::stream`].
    pub fn of(table: &dyn BlockTable, range: Extent, most: usize) -> Result<Listing, TableError> {
        let mut listing = Listing {
            block: table.block(),
            most,
            parts: Vec::new(),
            left_out: false,
        };
        table.stream(range, &mut listing)?;
        Ok(listing)
    }

    /// The parts, in the order of the disk's addresses.
    #[must_use]
    pub fn parts(&self) -> &[Listed] {
        &self.parts
    }

    /// True when there are more parts than were asked for.
    #[must_use]
    pub const fn left_out(&self) -> bool {
        self.left_out
    }

    fn add(&mut self, part: Listed) {
        if part.upper().is_empty() {
            return;
        }
        if let Some(last) = self.parts.last_mut()
            && let Some(both) = last.joined(part)
            && !self.left_out
        {
            *last = both;
        } else if self.parts.len() < self.most {
            self.parts.push(part);
        } else {
            self.left_out = true;
        }
    }
}

impl Sink for Listing {
    fn blocks(&mut self, first: Bytes, target: usize, lower: &[u64]) {
        let block = self.block.bytes();
        let mut at = first;
        for place in lower {
            let Some(upper) = Extent::new(at, block) else {
                return;
            };
            self.add(match entry::gap(*place) {
                Some(gap) => Listed::Gap(upper, gap),
                None => Listed::Piece(Segment {
                    upper,
                    target,
                    lower: Bytes::new(*place),
                }),
            });
            at = upper.end();
        }
    }

    fn piece(&mut self, piece: Segment) {
        self.add(Listed::Piece(piece));
    }

    fn gap(&mut self, upper: Extent, gap: Gap) {
        self.add(Listed::Gap(upper, gap));
    }
}
