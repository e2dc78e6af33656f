//! An XFS filesystem as inodes.
//!
//! ```text
//! inode   0  "IN"                        76  extents (4)
//!         2  mode (2)                    82  where the attributes begin, in units of 8 (1)
//!         4  version (1)                 90  flags: 1 is the realtime device (2)
//!         5  format of the data (1)     100  the data, up to version 2
//!        16  links (4)                  120  flags: 0x10 for wide counts (8), version 3
//!        24  extents, when wide (8)     176  the data, version 3
//!        56  size (8)
//!        64  blocks (8)
//! ```
//!
//! Numbers of inodes and blocks have the number of the allocation group in their high bits.
//!
//! Source: "XFS Algorithms & Data Structures", 3rd edition, chapters 13, 16 and 17.

use zerocopy::FromBytes;
use zerocopy::byteorder::big_endian::{U16, U32, U64};

use super::Superblock;
use crate::find::Flaw;
use crate::{FindError, Window};

pub(super) const SIZE: usize = 56;
pub(super) const BLOCKS: usize = 64;
const REALTIME: u16 = 1;
const WIDE_COUNTS: u64 = 0x10;
/// Incompatible features up to parent pointers and the directory of metadata; none changes what is read here.
const KNOWN: u32 = 0x1ff;
const TYPES_V5: u32 = 0x1;
const TYPES_V4: u32 = 0x200;

/// How the data of an inode is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Local,
    Extents,
    Tree,
    Other,
}

pub(super) struct Volume<'a> {
    pub(super) window: &'a Window<'a>,
    pub(super) superblock: Superblock,
    pub(super) block: u64,
    /// Directories keep the type of each entry.
    pub(super) has_types: bool,
    pub(super) is_v5: bool,
}

/// An inode.
pub(super) struct Inode {
    /// Where it is in the window.
    pub(super) at: u64,
    pub(super) number: u64,
    pub(super) mode: u16,
    pub(super) format: Format,
    pub(super) size: u64,
    pub(super) blocks: u64,
    pub(super) extents: u64,
    pub(super) is_realtime: bool,
    /// Where the data is in the inode.
    pub(super) fork_at: usize,
    pub(super) fork: Vec<u8>,
}

impl<'a> Volume<'a> {
    pub(super) fn open(window: &'a Window<'a>) -> Result<Volume<'a>, FindError> {
        let absent = |detail: &str| FindError::NotThisFormat {
            format: "xfs",
            detail: detail.to_owned(),
        };
        if super::PROBER.run(window)?.is_none() {
            return Err(absent("there is no superblock in the first sector"));
        }
        let superblock: Superblock = window.get(0)?;
        let is_v5 = superblock.version.get() & 0xf == 5;
        let unknown = superblock.incompatible.get() & !KNOWN;
        if is_v5 && unknown != 0 {
            return Err(FindError::NotRead {
                detail: format!(
                    "the filesystem has incompatible features {unknown:#x}, whose files are not read"
                ),
            });
        }
        let block = u64::from(superblock.block_size.get());
        let inode = u64::from(superblock.inode_size.get());
        let consistent = (256..=2048).contains(&inode)
            && inode.is_power_of_two()
            && block >= inode
            && block / inode == 1_u64 << superblock.log_inodes_per_block.min(63)
            && superblock.log_group_blocks <= 31
            && u64::from(superblock.group_blocks.get()) <= 1 << superblock.log_group_blocks
            && superblock.log_directory_block <= 7
            && block << superblock.log_directory_block <= 65_536;
        if !consistent {
            return Err(absent("sizes in the superblock contradict each other"));
        }
        let has_types = if is_v5 {
            superblock.incompatible.get() & TYPES_V5 != 0
        } else {
            superblock.features.get() & TYPES_V4 != 0
        };
        Ok(Volume {
            window,
            superblock,
            block,
            has_types,
            is_v5,
        })
    }

    pub(super) fn flaw(&self, flaw: Flaw, at: u64, what: impl Into<String>) -> FindError {
        flaw.inside(self.window, at, what)
    }

    /// Where `count` blocks are in the window; `None` when they are not part of one group, or not there.
    pub(super) fn place_of(&self, block: u64, count: u64) -> Option<u64> {
        let sb = &self.superblock;
        let per_group = u64::from(sb.group_blocks.get());
        let (group, within) = (
            block >> sb.log_group_blocks,
            block & ((1 << sb.log_group_blocks) - 1),
        );
        if within.checked_add(count)? > per_group {
            return None;
        }
        let linear = group.checked_mul(per_group)?.checked_add(within)?;
        let end = linear.checked_add(count)?;
        let inside =
            end <= sb.data_blocks.get() && end.checked_mul(self.block)? <= self.window.size().get();
        inside.then(|| linear * self.block)
    }

    /// Reads an inode.
    pub(super) fn inode(&self, number: u64) -> Result<Inode, FindError> {
        let sb = &self.superblock;
        let index = number & ((1 << sb.log_inodes_per_block) - 1);
        let Some(block) = self.place_of(number >> sb.log_inodes_per_block, 1) else {
            let found = format!("inode {number}");
            let expected = format!("one inside {} blocks", sb.data_blocks.get());
            return Err(self.flaw(
                Flaw::new(0, found, expected),
                0,
                "filesystem with superblock",
            ));
        };
        let size = usize::from(sb.inode_size.get());
        // An index below the number of inodes in a block.
        let at = block + index * u64::from(sb.inode_size.get());
        let mut bytes = vec![0; size];
        self.window.fill(at, &mut bytes)?;
        let flaw = |pos, found: String, expected: &str| {
            self.flaw(
                Flaw::new(pos, found, expected),
                at,
                format!("inode {number}"),
            )
        };
        let byte = |pos: usize| bytes.get(pos).copied().unwrap_or(0);
        let u16_of = |pos| u16_at(&bytes, pos).unwrap_or(0);
        let u64_of = |pos| u64_at(&bytes, pos).unwrap_or(0);
        if bytes.get(..2) != Some(b"IN") {
            let found = format!("`{}`", bytes.get(..2).unwrap_or(&[]).escape_ascii());
            return Err(flaw(0, found, "`IN`"));
        }
        let version = byte(4);
        let mode = u16_of(2);
        if !(1..=3).contains(&version) || mode == 0 {
            let found = format!("version {version}, mode {mode}");
            return Err(flaw(2, found, "an inode in use of version 1 to 3"));
        }
        let fork_at = if version == 3 { 176 } else { 100 };
        let attributes = usize::from(byte(82)) * 8;
        let fork_end = match attributes {
            0 => size,
            attributes => fork_at + attributes,
        };
        let Some(fork) = bytes.get(fork_at..fork_end) else {
            return Err(flaw(
                82,
                format!("a data fork of {attributes} bytes"),
                "one inside the inode",
            ));
        };
        let wide = version == 3 && u64_of(120) & WIDE_COUNTS != 0;
        let extents = if wide {
            u64_of(24)
        } else {
            u64::from(u32_at(&bytes, 76).unwrap_or(0))
        };
        let length = u64_of(SIZE);
        // What is laid out later stays below 2⁶³.
        if length > i64::MAX.unsigned_abs() {
            return Err(flaw(
                SIZE,
                format!("a size of {length} bytes"),
                "less than 2^63",
            ));
        }
        Ok(Inode {
            at,
            number,
            mode,
            format: match byte(5) {
                1 => Format::Local,
                2 => Format::Extents,
                3 => Format::Tree,
                _ => Format::Other,
            },
            size: length,
            blocks: u64_of(BLOCKS),
            extents,
            is_realtime: u16_of(90) & REALTIME != 0,
            fork_at,
            fork: fork.to_vec(),
        })
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

pub(super) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    let (value, _) = U64::read_from_prefix(bytes.get(at..)?).ok()?;
    Some(value.get())
}
