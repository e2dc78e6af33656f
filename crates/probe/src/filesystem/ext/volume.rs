//! An ext filesystem as inodes.
//!
//! ```text
//! group descriptor  8  inode table (4), high half at 40    inode  0  mode (2)       40  blocks, extents or data (60)
//!                                                                 4  size (4)      108  size, high half (4)
//! extended attributes in an inode, behind its fields:            26  links (2)     116  512s, high half (2)
//!   0  0xea020000                                                28  512s (4)      128  length of further fields (2)
//!   4  entries: length of the name (1), namespace (1),           32  flags (4)
//!      value: where from here (2), inode (4), length (4), hash (4), name
//! ```
//!
//! The table of group descriptors lies behind the superblock, or, with meta block groups, each of its blocks lies in the
//! first of the groups that it describes.
//!
//! Source: Linux documentation, `filesystems/ext4/{group_descr,inodes,attributes,inlinedata}.rst`.

use straddle_geometry::Bytes;
use zerocopy::FromBytes;
use zerocopy::byteorder::little_endian::{U16, U32};

use super::{
    BACKUPS, HIGH_HALVES, HUGE_FILES, LARGE_DIRECTORIES, META_GROUPS, SPARSE_COPIES,
    SPARSE_COPIES_2, SUPERBLOCK_AT, Superblock,
};
use crate::find::Flaw;
use crate::{FindError, Window};

/// Incompatible features that are understood, or that do not matter for finding a file: compression of single files, file
/// types, needs recovery, meta groups, extents, 64 bits, multiple mount protection, flexible groups, attributes in inodes,
/// checksum seed, large directories, inline data, encryption, case folding.
const KNOWN: u32 = 0x3_e7d7;

pub(super) const EXTENTS: u32 = 0x8_0000;
pub(super) const INLINE_DATA: u32 = 0x1000_0000;
pub(super) const ENCRYPTED: u32 = 0x800;
pub(super) const COMPRESSED: u32 = 0x4;
const HUGE_FILE: u32 = 0x4_0000;

/// Where the fields of an inode are.
pub(super) const SIZE: usize = 4;
pub(super) const COUNT: usize = 28;
pub(super) const FLAGS: usize = 32;
pub(super) const BLOCKS: usize = 40;
const BLOCKS_LEN: usize = 60;

const LARGEST_INODE: u64 = 4096;

pub(super) struct Volume<'a> {
    pub(super) window: &'a Window<'a>,
    pub(super) superblock: Superblock,
    pub(super) block: u64,
}

/// An inode.
pub(super) struct Inode {
    /// Where it is in the window.
    pub(super) at: u64,
    pub(super) number: u64,
    pub(super) mode: u16,
    pub(super) size: u64,
    pub(super) flags: u32,
    /// Bytes set aside.
    pub(super) allocated: u64,
    bytes: Vec<u8>,
}

impl Inode {
    /// The field that holds block numbers, extents, or data.
    pub(super) fn blocks(&self) -> &[u8] {
        self.bytes.get(BLOCKS..BLOCKS + BLOCKS_LEN).unwrap_or(&[])
    }

    pub(super) fn has(&self, flag: u32) -> bool {
        self.flags & flag != 0
    }

    /// The part of inline data that does not fit among the block numbers: the attribute `system.data`.
    pub(super) fn more_inline_data(&self) -> &[u8] {
        self.attribute(7, b"data").unwrap_or(&[])
    }

    fn attribute(&self, namespace: u8, name: &[u8]) -> Option<&[u8]> {
        let further = usize::from(u16_at(&self.bytes, 128)?);
        let all = self.bytes.get(128 + further..)?;
        if u32_at(all, 0)? != 0xea02_0000 {
            return None;
        }
        let entries = all.get(4..)?;
        let mut at = 0;
        // Every entry has 16 bytes or more, so the loop ends with the inode.
        while u32_at(entries, at)? != 0 {
            let entry = entries.get(at..)?;
            let name_len = usize::from(*entry.first()?);
            let have = entry.get(16..16 + name_len)?;
            if *entry.get(1)? == namespace && have == name {
                let value = usize::from(u16_at(entry, 2)?);
                let len = usize::try_from(u32_at(entry, 8)?).ok()?;
                return entries.get(value..value.checked_add(len)?);
            }
            at += (16 + name_len).next_multiple_of(4);
        }
        None
    }
}

impl<'a> Volume<'a> {
    pub(super) fn open(window: &'a Window<'a>) -> Result<Volume<'a>, FindError> {
        let absent = |detail: &str| FindError::NotThisFormat {
            format: "ext",
            detail: detail.to_owned(),
        };
        let mut found = None;
        for at in [SUPERBLOCK_AT].into_iter().chain(BACKUPS) {
            if window.matches(at + super::MAGIC_AT, &super::MAGIC)? {
                let superblock: Superblock = window.get(at)?;
                found = superblock.block_size().map(|block| (superblock, block));
            }
            if found.is_some() {
                break;
            }
        }
        let (superblock, block) = found.ok_or_else(|| absent("there is no superblock"))?;
        if superblock.version() == "ext-journal" {
            return Err(absent("it is the journal of another filesystem"));
        }
        let unknown = superblock.incompatible.get() & !KNOWN;
        if unknown != 0 {
            return Err(FindError::NotRead {
                detail: format!(
                    "the filesystem has incompatible features {unknown:#x}, whose files are not read"
                ),
            });
        }
        let volume = Volume {
            window,
            superblock,
            block,
        };
        let inode = volume.inode_size();
        if !(128..=LARGEST_INODE).contains(&inode) || volume.superblock.inodes_per_group.get() == 0
        {
            return Err(absent("its inodes have an impossible size or number"));
        }
        Ok(volume)
    }

    fn inode_size(&self) -> u64 {
        match self.superblock.revision.get() {
            0 => 128,
            _ => u64::from(self.superblock.inode_size.get()),
        }
    }

    /// Where a block is in the window; `None` when it is not part of the filesystem, or not there.
    pub(super) fn place_of(&self, block: u64, count: u64) -> Option<u64> {
        let end = block.checked_add(count)?;
        let at = block.checked_mul(self.block)?;
        let inside = block != 0
            && end <= self.superblock.block_count()
            && end.checked_mul(self.block)? <= self.window.size().get();
        inside.then_some(at)
    }

    pub(super) fn flaw(&self, flaw: Flaw, at: u64, what: impl Into<String>) -> FindError {
        flaw.inside(self.window, at, what)
    }

    /// Reads an inode.
    pub(super) fn inode(&self, number: u64) -> Result<Inode, FindError> {
        let (table, index) = self.inode_table(number)?;
        let size = self.inode_size();
        let at = index.saturating_mul(size).saturating_add(table);
        let mut bytes = vec![0; usize::try_from(size).unwrap_or(0)];
        self.window.fill(at, &mut bytes)?;
        let what = || format!("inode {number}");
        let u32_of = |at| u64::from(u32_at(&bytes, at).unwrap_or(0));
        let u16_of = |at| u16_at(&bytes, at).unwrap_or(0);
        let mode = u16_of(0);
        if u16_of(26) == 0 || mode == 0 {
            let flaw = Flaw::new(26, "an inode that is not in use", "one with a link to it");
            return Err(self.flaw(flaw, at, what()));
        }
        let flags = u32_at(&bytes, FLAGS).unwrap_or(0);
        let features = &self.superblock;
        let is_file = mode & 0xf000 == 0x8000;
        let large = is_file || features.incompatible.get() & LARGE_DIRECTORIES != 0;
        let high = if large { u32_of(108) << 32 } else { 0 };
        let huge = features.read_only.get() & HUGE_FILES != 0;
        let count_high = if huge {
            u64::from(u16_of(116)) << 32
        } else {
            0
        };
        let unit = if huge && flags & HUGE_FILE != 0 {
            self.block
        } else {
            512
        };
        let size = u32_of(SIZE) | high;
        // What is laid out later stays below 2⁶³.
        if size > i64::MAX.unsigned_abs() {
            let flaw = Flaw::new(SIZE, format!("a size of {size} bytes"), "less than 2^63");
            return Err(self.flaw(flaw, at, what()));
        }
        Ok(Inode {
            at,
            number,
            mode,
            size,
            flags,
            allocated: (u32_of(COUNT) | count_high).saturating_mul(unit),
            bytes,
        })
    }

    /// Where the inode table that has the inode is in the window, and the inode's place in it.
    fn inode_table(&self, number: u64) -> Result<(u64, u64), FindError> {
        let sb = &self.superblock;
        let inodes = u64::from(sb.inodes.get());
        let Some(index) = number.checked_sub(1).filter(|_| number <= inodes) else {
            let flaw = Flaw::new(0, format!("inode {number}"), format!("1 to {inodes}"));
            return Err(self.flaw(
                flaw,
                SUPERBLOCK_AT,
                "a directory of the filesystem with superblock",
            ));
        };
        let per_group = u64::from(sb.inodes_per_group.get());
        let (group, index) = (index / per_group, index % per_group);
        let has_high = sb.incompatible.get() & HIGH_HALVES != 0;
        let descriptor = match u64::from(sb.descriptor_size.get()) {
            size @ 64..=1024 if has_high && size.is_power_of_two() => size,
            _ if has_high => 64,
            _ => 32,
        };
        let per_block = self.block / descriptor;
        let block = self.descriptor_block(group / per_block, per_block);
        let at = block
            .checked_mul(self.block)
            .and_then(|at| at.checked_add(group % per_block * descriptor))
            .unwrap_or(u64::MAX);
        let mut field = [0; 64];
        let len = if has_high { 64 } else { 32 };
        if let Some(field) = field.get_mut(..len) {
            self.window.fill(at, field)?;
        }
        let half = |at| u64::from(u32_at(&field, at).unwrap_or(0));
        let table = half(8) | half(40) << 32;
        let blocks = per_group
            .saturating_mul(self.inode_size())
            .div_ceil(self.block);
        match self.place_of(table, blocks) {
            Some(place) => Ok((place, index)),
            None => {
                let found = format!("an inode table of {blocks} blocks at block {table}");
                let expected = format!("inside {} blocks", sb.block_count());
                let what = format!("descriptor of group {group}");
                Err(self.flaw(Flaw::new(8, found, expected), at, what))
            }
        }
    }

    /// The block with the descriptors of groups `index × per_block` and following.
    fn descriptor_block(&self, index: u64, per_block: u64) -> u64 {
        let sb = &self.superblock;
        let meta = sb.incompatible.get() & META_GROUPS != 0;
        // The block of the superblock: with large clusters, blocks of 1 KiB are counted from 0 too.
        let own = SUPERBLOCK_AT / self.block;
        if !meta || index < u64::from(sb.first_meta_group.get()) {
            return own.saturating_add(1).saturating_add(index);
        }
        if index == 0 {
            return own.saturating_add(1);
        }
        let group = index.saturating_mul(per_block);
        u64::from(sb.blocks_per_group.get())
            .saturating_mul(group)
            .saturating_add(u64::from(sb.first_data_block.get()))
            .saturating_add(u64::from(self.has_superblock(group)))
    }

    /// Whether a group begins with a copy of the superblock.
    fn has_superblock(&self, group: u64) -> bool {
        let sb = &self.superblock;
        if sb.compatible.get() & SPARSE_COPIES_2 != 0 {
            let copies = sb.backup_groups;
            return group == 0 || copies.iter().any(|copy| u64::from(copy.get()) == group);
        }
        if sb.read_only.get() & SPARSE_COPIES == 0 || group <= 1 {
            return true;
        }
        // At most 64 rounds: the smallest base is 3.
        let is_power = |base: u64| {
            let mut left = group;
            while left.is_multiple_of(base) {
                left /= base;
            }
            left == 1
        };
        [3, 5, 7].into_iter().any(is_power)
    }

    /// The length as a fact is in two halves; the lower one is shown.
    pub(super) fn size_fact(&self, inode: &Inode) -> straddle_stack::Fact<Bytes> {
        let at = inode.at.saturating_add(SIZE as u64);
        self.window.fact(Bytes::new(inode.size), at, 4)
    }
}

pub(super) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let (value, _) = U16::read_from_prefix(bytes.get(at..)?).ok()?;
    Some(value.get())
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let (value, _) = U32::read_from_prefix(bytes.get(at..)?).ok()?;
    Some(value.get())
}
