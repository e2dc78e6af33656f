//! Where the blocks of an XFS inode lie: extents in the inode, or a B+-tree of them.
//!
//! ```text
//! extent  bit 127 not written, 126..73 first block in the file, 72..21 where, 20..0 blocks
//!
//! root    0  level (2)       block   0  "BMAP" or, from version 5, "BMA3" (4)
//!         2  entries (2)             4  level (2)
//!         4  first blocks (8 each)   6  entries (2)
//!         …  where (8 each)         24  or, from version 5, 72: extents, or first blocks and where, as in the root
//! ```
//!
//! The second array of a node begins where the first would end if the node were full.
//!
//! Source: "XFS Algorithms & Data Structures", 3rd edition, chapter 18.

use super::volume::{Format, Inode, Volume, u16_at, u64_at};
use crate::FindError;
use crate::filesystem::content::Layout;
use crate::find::Flaw;

/// The limit of the format is 9 for any size of block.
const MAX_DEPTH: u16 = 9;
const EXTENT: usize = 16;
const ADDRESS: usize = 8;

impl Volume<'_> {
    pub(super) fn layout(&self, inode: &Inode) -> Result<Layout, FindError> {
        let mut walk = Walk {
            volume: self,
            layout: Layout::default(),
            next: 0,
            size: inode.size,
        };
        let at = inode.at + inode.fork_at as u64;
        match inode.format {
            Format::Extents => {
                let count = usize::try_from(inode.extents).unwrap_or(usize::MAX);
                let room = inode.fork.len() / EXTENT;
                if count > room {
                    let flaw = Flaw::new(76, format!("{count} extents"), format!("at most {room}"));
                    return Err(self.flaw(flaw, inode.at, format!("inode {}", inode.number)));
                }
                let records = inode.fork.get(..count * EXTENT).unwrap_or(&[]);
                walk.extents(records, at, 0)?;
            }
            Format::Tree => walk.root(&inode.fork, at)?,
            Format::Local | Format::Other => {
                let flaw = Flaw::new(5, "data that does not lie in blocks", "extents, 2 or 3");
                return Err(self.flaw(flaw, inode.at, format!("inode {}", inode.number)));
            }
        }
        Ok(walk.layout)
    }
}

/// Extents ascend, and no node is empty: whoever comes to a node for the second time has gone backwards, so a tree cannot
/// be larger than what it has of blocks.
struct Walk<'w, 'a> {
    volume: &'w Volume<'a>,
    layout: Layout,
    /// The first block of the file that may come next.
    next: u64,
    size: u64,
}

impl Walk<'_, '_> {
    fn flaw(&self, at: u64, pos: usize, found: String, expected: String) -> FindError {
        let flaw = Flaw::new(pos, found, expected);
        self.volume.flaw(flaw, at, "extent tree node")
    }

    fn root(&mut self, fork: &[u8], at: u64) -> Result<(), FindError> {
        let level = u16_at(fork, 0).unwrap_or(0);
        if !(1..=MAX_DEPTH).contains(&level) {
            return Err(self.flaw(at, 0, format!("level {level}"), format!("1 to {MAX_DEPTH}")));
        }
        let entries = usize::from(u16_at(fork, 2).unwrap_or(0));
        self.below(fork, at, 4, entries, level)
    }

    /// Follows the addresses of a node whose arrays begin at byte `start` of it.
    fn below(
        &mut self,
        node: &[u8],
        at: u64,
        start: usize,
        entries: usize,
        level: u16,
    ) -> Result<(), FindError> {
        let room = node.len().saturating_sub(start) / (2 * ADDRESS);
        if entries == 0 || entries > room {
            let found = format!("{entries} entries");
            return Err(self.flaw(at, start, found, format!("1 to {room}")));
        }
        for n in 0..entries {
            let pos = start + (room + n) * ADDRESS;
            let block = u64_at(node, pos).unwrap_or(u64::MAX);
            self.node(block, level - 1, at, pos)?;
        }
        Ok(())
    }

    /// Reads the node at `block`, an address that stands at byte `pos` of the node at `from`.
    fn node(&mut self, block: u64, level: u16, from: u64, pos: usize) -> Result<(), FindError> {
        let Some(at) = self.volume.place_of(block, 1) else {
            let expected = "one inside the filesystem".to_owned();
            return Err(self.flaw(from, pos, format!("a node at block {block:#x}"), expected));
        };
        let mut node = vec![0; usize::try_from(self.volume.block).unwrap_or(0)];
        self.volume.window.fill(at, &mut node)?;
        let (magic, start) = if self.volume.is_v5 {
            (b"BMA3", 72)
        } else {
            (b"BMAP", 24)
        };
        let have = node.get(..4).unwrap_or(&[]);
        if have != magic {
            let found = format!("`{}`", have.escape_ascii());
            return Err(self.flaw(at, 0, found, format!("`{}`", magic.escape_ascii())));
        }
        let own = u16_at(&node, 4).unwrap_or(0);
        if own != level {
            return Err(self.flaw(at, 4, format!("level {own}"), level.to_string()));
        }
        let entries = usize::from(u16_at(&node, 6).unwrap_or(0));
        if level > 0 {
            return self.below(&node, at, start, entries, level);
        }
        let records = node.get(start..start + entries * EXTENT);
        match records.filter(|records| !records.is_empty()) {
            Some(records) => self.extents(records, at, start),
            None => {
                let expected = "at least one, inside the block".to_owned();
                Err(self.flaw(at, 6, format!("{entries} extents"), expected))
            }
        }
    }

    fn extents(&mut self, records: &[u8], at: u64, start: usize) -> Result<(), FindError> {
        for (n, record) in records.chunks_exact(EXTENT).enumerate() {
            let pos = start + n * EXTENT;
            let (high, low) = (u64_at(record, 0), u64_at(record, 8));
            let (high, low) = (high.unwrap_or(0), low.unwrap_or(0));
            let written = high >> 63 == 0;
            let first = high >> 9 & ((1 << 54) - 1);
            let block = (high & 0x1ff) << 43 | low >> 21;
            let count = low & 0x1f_ffff;
            // Addresses in the file stay below 2⁶³.
            let start = first.checked_mul(self.volume.block);
            let start = start.filter(|start| start >> 62 == 0 && first >= self.next);
            let place = self.volume.place_of(block, count).filter(|_| count > 0);
            let (Some(start), Some(place)) = (start, place) else {
                let found =
                    format!("{count} blocks at block {block:#x} for block {first} of the file");
                let expected = format!("a run inside one group, for block {} or later", self.next);
                return Err(self.flaw(at, pos, found, expected));
            };
            self.next = first + count;
            let len = count * self.volume.block;
            let recorded = at.saturating_add(pos as u64);
            self.layout
                .add((start, place, len), (recorded, EXTENT), written, self.size)?;
        }
        Ok(())
    }
}
