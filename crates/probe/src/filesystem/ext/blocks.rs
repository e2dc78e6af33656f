//! Where the blocks of an ext inode lie: a tree of extents (ext4), or block numbers with up to three levels of blocks
//! full of them (ext2, ext3).
//!
//! ```text
//! node    0  0xf30a (2)        extent  0  first block in the file (4)   below  0  first block in the file (4)
//!         2  entries (2)               4  blocks (2)                           4  block of the node (4)
//!         6  levels below (2)          6  where: high half (2)                 8  its high half (2)
//!        12  entries, 12 bytes each    8  where (4)
//! ```
//!
//! More than 32,768 blocks: 32,768 less, and not written yet.
//!
//! Source: Linux documentation, `filesystems/ext4/{ifork,blockmap}.rst`.

use std::collections::HashSet;

use super::volume::{BLOCKS, EXTENTS, Inode, Volume, u16_at, u32_at};
use crate::FindError;
use crate::filesystem::content::Layout;
use crate::find::Flaw;

/// The kernel's limit.
const MAX_DEPTH: u16 = 5;
const ENTRY: usize = 12;
const MAX_EXTENT: u64 = 32_768;

impl Volume<'_> {
    pub(super) fn layout(&self, inode: &Inode) -> Result<Layout, FindError> {
        let mut layout = Layout::default();
        let at = inode.at.saturating_add(BLOCKS as u64);
        if inode.has(EXTENTS) {
            let mut walk = Extents {
                volume: self,
                layout: &mut layout,
                next: 0,
                size: inode.size,
            };
            walk.node(inode.blocks(), at, None)?;
        } else {
            let mut walk = Numbers {
                volume: self,
                layout: &mut layout,
                seen: HashSet::new(),
                next: 0,
                end: inode.size.div_ceil(self.block),
            };
            walk.inode(inode.blocks(), at)?;
        }
        Ok(layout)
    }
}

/// A walk over the tree of extents. The entries of each node ascend, and no node but the root is empty: whoever comes to
/// a node for the second time has gone backwards, so a tree cannot be larger than what it has of blocks.
struct Extents<'w, 'a> {
    volume: &'w Volume<'a>,
    layout: &'w mut Layout,
    /// The first block of the file that may come next.
    next: u64,
    size: u64,
}

impl Extents<'_, '_> {
    fn flaw(&self, at: u64, pos: usize, found: String, expected: String) -> FindError {
        let flaw = Flaw::new(pos, found, expected);
        self.volume.flaw(flaw, at, "extent tree node")
    }

    /// Walks the node in `bytes`, which are at `at` of the window; its parent says how many levels it has below.
    fn node(&mut self, bytes: &[u8], at: u64, levels: Option<u16>) -> Result<(), FindError> {
        let field = |pos| u16_at(bytes, pos).unwrap_or(0);
        if field(0) != 0xf30a {
            let found = format!("{:#06x}", field(0));
            return Err(self.flaw(at, 0, found, "0xf30a".to_owned()));
        }
        let (entries, depth) = (usize::from(field(2)), field(6));
        if depth > MAX_DEPTH || levels.is_some_and(|levels| levels != depth) {
            let expected =
                levels.map_or(format!("at most {MAX_DEPTH}"), |levels| levels.to_string());
            return Err(self.flaw(at, 6, format!("{depth} levels below"), expected));
        }
        let room = (bytes.len() / ENTRY).saturating_sub(1);
        if entries > room || (entries == 0 && levels.is_some()) {
            let expected = format!("1 to {room}");
            return Err(self.flaw(at, 2, format!("{entries} entries"), expected));
        }
        for (n, entry) in bytes.chunks_exact(ENTRY).enumerate().skip(1).take(entries) {
            let pos = n * ENTRY;
            let first = u64::from(u32_at(entry, 0).unwrap_or(0));
            if first < self.next {
                let found = format!("an entry for block {first} of the file");
                return Err(self.flaw(at, pos, found, format!("{} or later", self.next)));
            }
            match depth.checked_sub(1) {
                None => self.extent(entry, at, pos, first)?,
                Some(below) => self.below(entry, at, pos, below)?,
            }
        }
        Ok(())
    }

    fn below(&mut self, entry: &[u8], at: u64, pos: usize, levels: u16) -> Result<(), FindError> {
        let high = u64::from(u16_at(entry, 8).unwrap_or(0));
        let block = u64::from(u32_at(entry, 4).unwrap_or(0)) | high << 32;
        let Some(place) = self.volume.place_of(block, 1) else {
            let found = format!("a node at block {block}");
            let expected = self.blocks();
            return Err(self.flaw(at, pos + 4, found, expected));
        };
        let mut bytes = vec![0; usize::try_from(self.volume.block).unwrap_or(0)];
        self.volume.window.fill(place, &mut bytes)?;
        self.node(&bytes, place, Some(levels))
    }

    fn blocks(&self) -> String {
        format!("inside {} blocks", self.volume.superblock.block_count())
    }

    fn extent(&mut self, entry: &[u8], at: u64, pos: usize, first: u64) -> Result<(), FindError> {
        let raw = u64::from(u16_at(entry, 4).unwrap_or(0));
        let (count, written) = match raw.checked_sub(MAX_EXTENT) {
            Some(count @ 1..) => (count, false),
            _ => (raw, true),
        };
        let high = u64::from(u16_at(entry, 6).unwrap_or(0));
        let block = u64::from(u32_at(entry, 8).unwrap_or(0)) | high << 32;
        let place = self.volume.place_of(block, count).filter(|_| count > 0);
        let Some(place) = place else {
            let found = format!("an extent of {count} blocks at block {block}");
            let expected = self.blocks();
            return Err(self.flaw(at, pos, found, expected));
        };
        self.next = first + count;
        // Numbers of blocks have 33 bits here, and their size 16.
        let (start, len) = (first * self.volume.block, count * self.volume.block);
        let recorded = at.saturating_add(u64::try_from(pos).unwrap_or(0));
        self.layout
            .add((start, place, len), (recorded, ENTRY), written, self.size)
    }
}

/// A walk over block numbers.
struct Numbers<'w, 'a> {
    volume: &'w Volume<'a>,
    layout: &'w mut Layout,
    /// Blocks full of numbers that were read: each can be part of the file only once.
    seen: HashSet<u32>,
    /// The next block of the file.
    next: u64,
    /// Blocks of the file.
    end: u64,
}

const DIRECT: usize = 12;
const NUMBER: usize = 4;

impl Numbers<'_, '_> {
    fn flaw(&self, at: u64, block: u32, found: &str) -> FindError {
        let expected = format!(
            "a block of its own inside {}",
            self.volume.superblock.block_count()
        );
        let flaw = Flaw::new(0, format!("{found} {block}"), expected);
        self.volume.flaw(flaw, at, "block number")
    }

    fn inode(&mut self, numbers: &[u8], at: u64) -> Result<(), FindError> {
        for (n, number) in numbers.chunks_exact(NUMBER).enumerate() {
            let levels = n.saturating_sub(DIRECT - 1);
            self.number(number, at.saturating_add((n * NUMBER) as u64), levels)?;
        }
        Ok(())
    }

    /// One number, of a block with `levels` levels of numbers above the data.
    fn number(&mut self, number: &[u8], at: u64, levels: usize) -> Result<(), FindError> {
        if self.next >= self.end {
            return Ok(());
        }
        let block = u32_at(number, 0).unwrap_or(0);
        if block == 0 {
            let per_block = self.volume.block / NUMBER as u64;
            let hole = (0..levels).fold(1_u64, |n, _| n.saturating_mul(per_block));
            self.next = self.next.saturating_add(hole);
            return Ok(());
        }
        let Some(place) = self.volume.place_of(u64::from(block), 1) else {
            return Err(self.flaw(at, block, "block"));
        };
        let Some(below) = levels.checked_sub(1) else {
            let unit = self.volume.block;
            // `next` is below `end`, which is the size in blocks.
            let run = (self.next.saturating_mul(unit), place, unit);
            self.layout
                .add(run, (at, NUMBER), true, self.end.saturating_mul(unit))?;
            self.next += 1;
            return Ok(());
        };
        if !self.seen.insert(block) {
            return Err(self.flaw(at, block, "a second use of block"));
        }
        let mut numbers = vec![0; usize::try_from(self.volume.block).unwrap_or(0)];
        self.volume.window.fill(place, &mut numbers)?;
        for (n, number) in numbers.chunks_exact(NUMBER).enumerate() {
            self.number(number, place.saturating_add((n * NUMBER) as u64), below)?;
        }
        Ok(())
    }
}
