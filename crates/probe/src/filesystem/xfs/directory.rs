//! XFS directories: in the inode, or in blocks of entries. The hash tables, which lie behind 32 GiB, are not needed.
//!
//! ```text
//! in the inode   0  entries (1)        block   0  "XD2B", "XD2D", or from version 5 "XDB3", "XDD3"
//!                1  wide entries (1)          16  or, from version 5, 64: entries, at multiples of 8
//!                2  parent (4 or 8)
//!                …  entries            entry   0  inode (8)                or  0  0xffff (2)
//! entry          0  length (1)                 8  length of the name (1)       2  length of what is unused (2)
//!                1  position (2)               9  name, type (1) if there are types
//!                3  name, type (1), inode (4 or 8)
//! ```
//!
//! In a directory of a single block ("B") a table of hashes lies at the end: eight bytes each, then their number (4)
//! and the number of unused ones (4).
//!
//! Source: "XFS Algorithms & Data Structures", 3rd edition, chapter 20.

use super::volume::{Format, Inode, Volume, u16_at, u32_at, u64_at};
use crate::FindError;
use crate::find::{Flaw, Nearby};

/// Directories are read up to here: hundreds of thousands of entries.
const MAX_READ: u64 = 32 << 20;
/// Where the hash tables begin in a directory.
const HASHES: u64 = 32 << 30;

impl Volume<'_> {
    /// The inode of the entry that has the name.
    pub(super) fn entry(
        &self,
        directory: &Inode,
        name: &str,
        nearby: &mut Nearby<'_>,
    ) -> Result<Option<u64>, FindError> {
        if directory.format == Format::Local {
            return self.short(directory, name, nearby);
        }
        let content = self.layout(directory)?.content;
        let size = self.block << self.superblock.log_directory_block;
        let mut block = vec![0; usize::try_from(size).unwrap_or(0)];
        let (mut offset, mut read) = (0_u64, 0_u64);
        for run in content.clone().into_segments(HASHES) {
            // Each block is read once, also when it lies in several runs.
            offset = offset.max(run.upper.start().get() / size * size);
            while offset < run.upper.end().get() {
                read = read.saturating_add(size);
                if read > MAX_READ {
                    return Err(FindError::Limit {
                        what: format!("bytes of the directory in inode {}", directory.number),
                        limit: MAX_READ,
                    });
                }
                content.fill(self.window, offset, &mut block)?;
                let at = content.locate(offset).map_or(0, |(at, _)| at);
                if let Some(found) = self.search(&block, at, name, nearby)? {
                    return Ok(Some(found));
                }
                offset = offset.saturating_add(size);
            }
        }
        Ok(None)
    }

    /// Looks through a directory in its inode.
    fn short(
        &self,
        directory: &Inode,
        name: &str,
        nearby: &mut Nearby<'_>,
    ) -> Result<Option<u64>, FindError> {
        let fork = &directory.fork;
        let byte = |at: usize| fork.get(at).copied().map(usize::from);
        let (Some(entries), Some(wide)) = (byte(0), byte(1)) else {
            return Ok(None);
        };
        let number = if wide > 0 { 8 } else { 4 };
        let mut at = 2 + number;
        // At most 255 of them.
        for _ in 0..entries {
            let len = byte(at).unwrap_or(0);
            let name_at = at + 3;
            let inode_at = name_at + len + usize::from(self.has_types);
            let have = fork.get(name_at..name_at + len);
            let inode = if wide > 0 {
                u64_at(fork, inode_at)
            } else {
                u32_at(fork, inode_at).map(u64::from)
            };
            let (Some(have), Some(inode)) = (have, inode) else {
                let flaw = Flaw::new(
                    directory.fork_at + at,
                    "an entry cut short",
                    "one inside the inode",
                );
                let what = format!("directory in inode {}", directory.number);
                return Err(self.flaw(flaw, directory.at, what));
            };
            if have == name.as_bytes() {
                return Ok(Some(inode));
            }
            nearby.offer(&String::from_utf8_lossy(have));
            at = inode_at + number;
        }
        Ok(None)
    }

    /// Looks through the entries in `block`, which is at `at` of the window.
    fn search(
        &self,
        block: &[u8],
        at: u64,
        name: &str,
        nearby: &mut Nearby<'_>,
    ) -> Result<Option<u64>, FindError> {
        let flaw = |pos, found: String, expected: &str| {
            self.flaw(Flaw::new(pos, found, expected), at, "directory block")
        };
        let (single, magic): (&[u8], &[u8]) = if self.is_v5 {
            (b"XDB3", b"XDD3")
        } else {
            (b"XD2B", b"XD2D")
        };
        let have = block.get(..4).unwrap_or(&[]);
        let mut end = block.len();
        if have == single {
            let tail = end.saturating_sub(8);
            let hashes = u32_at(block, tail).and_then(|n| usize::try_from(n).ok());
            let table = hashes.and_then(|n| n.checked_mul(8));
            let Some(start) = table.and_then(|table| tail.checked_sub(table)) else {
                return Err(flaw(
                    tail,
                    "a table longer than its block".to_owned(),
                    "a shorter one",
                ));
            };
            end = start;
        } else if have != magic {
            let found = format!("`{}`", have.escape_ascii());
            let expected = format!("`{}` or `{}`", single.escape_ascii(), magic.escape_ascii());
            return Err(flaw(0, found, &expected));
        }
        let mut pos = if self.is_v5 { 64 } else { 16 };
        // Every step is at least 8 bytes, so the loop ends with the block.
        while pos + 8 <= end {
            let unused = u16_at(block, pos) == Some(0xffff);
            let name_len = usize::from(block.get(pos + 8).copied().unwrap_or(0));
            let len = if unused {
                usize::from(u16_at(block, pos + 2).unwrap_or(0))
            } else {
                // With the type, and two bytes that point back here.
                (9 + name_len + usize::from(self.has_types) + 2).next_multiple_of(8)
            };
            if len < 8 || !len.is_multiple_of(8) || len > end - pos {
                let found = format!("an entry of {len} bytes");
                return Err(flaw(pos, found, "a multiple of 8 inside the block"));
            }
            let have = block.get(pos + 9..pos + 9 + name_len).unwrap_or(&[]);
            let inode = u64_at(block, pos);
            pos += len;
            if unused {
                continue;
            }
            if have == name.as_bytes() {
                return Ok(inode);
            }
            if !matches!(have, b"." | b"..") {
                nearby.offer(&String::from_utf8_lossy(have));
            }
        }
        Ok(None)
    }
}
