//! dm-integrity with a journal: a write goes to the journal, and then in the background to its place and its tags.

use super::{Fragment, To};
use crate::model::{Model, Operation};
use crate::profile::{Key, Refusal, Section};

const JOURNAL: Key = Key::bytes(
    "journal",
    65_536.0,
    68_719_476_736.0,
    "Bytes of the journal, at the beginning of the volume.",
);
const BLOCK: Key = Key::bytes(
    "block",
    512.0,
    4096.0,
    "Bytes that have a tag of their own.",
)
.or(512.0, "dm-integrity's default");
const TAG: Key = Key::bytes("tag", 1.0, 256.0, "Bytes of a tag.").or(4.0, "CRC-32C");
const INTERLEAVE: Key = Key::bytes(
    "interleave",
    65_536.0,
    1e12,
    "Bytes of data between two areas of tags.",
)
.or(16_777_216.0, "dm-integrity's default, 32768 sectors");
const PADDING: Key = Key::bytes(
    "padding",
    4096.0,
    1_048_576.0,
    "Areas of tags have a multiple of so many bytes.",
)
.or(4096.0, "since Linux 5.10 (fix_padding); 128 KiB before");

/// Its parameters.
pub(crate) static MODEL: Model = Model {
    section: "integrity",
    title: "dm-integrity",
    keys: &[&JOURNAL, &BLOCK, &TAG, &INTERLEAVE, &PADDING],
};

/// Bytes of the superblock, and of what tags are written in.
const SUPERBLOCK: u64 = 4096;
const TAG_PAGE: u64 = 4096;

/// A journal, and areas of tags and data in turn.
#[derive(Debug)]
pub(super) struct Integrity {
    journal: u64,
    block: u64,
    tag: u64,
    interleave: u64,
    /// Bytes of an area of tags.
    tags: u64,
    /// Where the first area of tags begins.
    areas: u64,
    capacity: u64,
    /// Where in the journal the next entry goes.
    cursor: u64,
}

impl Integrity {
    pub(super) fn build(section: &Section, volume: u64) -> Result<Integrity, Refusal> {
        let block = section.whole(&BLOCK);
        if !block.is_power_of_two() {
            return Err(section.refuse(&BLOCK, "512, 1024, 2048 or 4096"));
        }
        let interleave = section.whole(&INTERLEAVE);
        if !interleave.is_multiple_of(block) {
            return Err(section.refuse(&INTERLEAVE, format!("a multiple of {block} bytes")));
        }
        let padding = section.whole(&PADDING);
        if !padding.is_multiple_of(TAG_PAGE) {
            return Err(section.refuse(&PADDING, format!("a multiple of {TAG_PAGE} bytes")));
        }
        let tag = section.whole(&TAG);
        let tags = (interleave / block * tag).next_multiple_of(padding);
        let journal = section.whole(&JOURNAL) / 512 * 512;
        let areas = (SUPERBLOCK + journal).next_multiple_of(padding);
        let capacity = volume.saturating_sub(areas) / (tags + interleave) * interleave;
        if capacity == 0 {
            let expected = format!("room for it, tags and data in the volume's {volume} bytes");
            return Err(section.refuse(&JOURNAL, expected));
        }
        Ok(Integrity {
            journal,
            block,
            tag,
            interleave,
            tags,
            areas,
            capacity,
            cursor: 0,
        })
    }

    pub(super) fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Where an area, tags first, begins.
    fn area(&self, number: u64) -> u64 {
        self.areas + number * (self.tags + self.interleave)
    }

    /// What an operation becomes on the volume.
    pub(super) fn map(&mut self, operation: Operation, out: &mut Vec<Fragment>) {
        let is_write = !operation.is_read();
        if is_write {
            self.enter(operation, out);
        }
        let (mut at, end) = (operation.start, operation.end());
        while at < end {
            let (number, within) = (at / self.interleave, at % self.interleave);
            let len = (self.interleave - within).min(end - at);
            let area = self.area(number);
            let start = area + self.tags + within;
            let piece = Fragment {
                operation: Operation {
                    start,
                    len,
                    ..operation
                },
                phase: u8::from(is_write),
                is_background: is_write,
                to: To::Array,
            };
            out.push(piece);
            if is_write {
                let first = within / self.block * self.tag / TAG_PAGE;
                let last = ((within + len - 1) / self.block * self.tag + self.tag - 1) / TAG_PAGE;
                let tags = Operation::write(area + first * TAG_PAGE, (last - first + 1) * TAG_PAGE);
                out.push(Fragment {
                    operation: tags,
                    ..piece
                });
            }
            at += len;
        }
    }

    /// A write enters the journal: its blocks, and for each an entry with place, tag and the ends of its sectors.
    fn enter(&mut self, operation: Operation, out: &mut Vec<Fragment>) {
        let first = operation.start / self.block;
        let blocks = (operation.end() - 1) / self.block - first + 1;
        let entry = (8 + 8 * (self.block / 512) + self.tag).next_multiple_of(8);
        let mut left = blocks * self.block + (blocks * entry).next_multiple_of(512);
        while left > 0 {
            let len = left.min(self.journal - self.cursor);
            out.push(Fragment {
                operation: Operation::write(SUPERBLOCK + self.cursor, len),
                phase: 0,
                is_background: false,
                to: To::Array,
            });
            self.cursor = (self.cursor + len) % self.journal;
            left -= len;
        }
    }
}
