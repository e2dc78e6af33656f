//! ext directories: entries one after another in each block.
//!
//! ```text
//! entry  0  inode, 0 if unused (4)   4  length (2)   6  length of the name (1)   7  type (1)   8  name
//! ```
//!
//! The blocks of a hash tree look like blocks with one unused entry, so all blocks are read alike, without the tree. A
//! small directory may lie in its inode: the number of its parent, then entries.
//!
//! Source: Linux documentation, `filesystems/ext4/{directory,inlinedata}.rst`.

use super::volume::{BLOCKS, ENCRYPTED, INLINE_DATA, Inode, Volume, u16_at, u32_at};
use crate::FindError;
use crate::find::{Flaw, Nearby, cleaned};

/// Directories are read up to here: hundreds of thousands of entries.
const MAX_READ: u64 = 32 << 20;

/// Where the name is in an entry.
const NAME: usize = 8;

impl Volume<'_> {
    /// The inode of the entry that has the name.
    pub(super) fn entry(
        &self,
        directory: &Inode,
        name: &str,
        nearby: &mut Nearby<'_>,
    ) -> Result<Option<u64>, FindError> {
        if directory.has(ENCRYPTED) {
            return Err(FindError::NotRead {
                detail: format!(
                    "`{}` is in a directory with encrypted names, inode {}",
                    cleaned(name),
                    directory.number
                ),
            });
        }
        if directory.has(INLINE_DATA) {
            let (at, field) = (
                directory.at.saturating_add(BLOCKS as u64),
                directory.blocks(),
            );
            // Behind the parent's number.
            let first = self.search(field.get(4..).unwrap_or(&[]), at, name, nearby)?;
            return match first {
                Some(found) => Ok(Some(found)),
                None => self.search(directory.more_inline_data(), directory.at, name, nearby),
            };
        }
        let layout = self.layout(directory)?;
        let mut block = vec![0; usize::try_from(self.block).unwrap_or(0)];
        let mut read = 0_u64;
        for run in layout.content.into_segments(directory.size) {
            let mut pos = 0;
            while pos < run.upper.len().get() {
                read = read.saturating_add(self.block);
                if read > MAX_READ {
                    return Err(FindError::Limit {
                        what: format!("bytes of the directory in inode {}", directory.number),
                        limit: MAX_READ,
                    });
                }
                let at = run.lower.get().saturating_add(pos);
                self.window.fill(at, &mut block)?;
                if let Some(found) = self.search(&block, at, name, nearby)? {
                    return Ok(Some(found));
                }
                pos = pos.saturating_add(self.block);
            }
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
        let mut pos = 0;
        // Every entry has 8 bytes or more, so the loop ends with the block.
        while pos + NAME <= block.len() {
            let len = u16_at(block, pos + 4).map_or(0, |raw| entry_len(raw, block.len()));
            let entry = pos.checked_add(len).and_then(|end| block.get(pos..end));
            let Some(entry) = entry.filter(|entry| entry.len() >= NAME) else {
                let found = format!("an entry of {len} bytes");
                let flaw = Flaw::new(pos + 4, found, "8 or more, inside the block");
                return Err(self.flaw(flaw, at, "directory block"));
            };
            pos += len;
            let inode = u32_at(entry, 0).unwrap_or(0);
            let name_len = usize::from(entry.get(6).copied().unwrap_or(0));
            let Some(have) = entry.get(NAME..NAME + name_len).filter(|_| inode != 0) else {
                continue;
            };
            if have == name.as_bytes() {
                return Ok(Some(u64::from(inode)));
            }
            if !matches!(have, b"." | b"..") {
                nearby.offer(&String::from_utf8_lossy(have));
            }
        }
        Ok(None)
    }
}

/// In blocks of 64 KiB, lengths that do not fit use the two lowest bits, which are otherwise zero.
fn entry_len(raw: u16, block: usize) -> usize {
    match usize::from(raw) {
        0 | 65_535 if block == 65_536 => block,
        raw if block == 65_536 => raw & 0xfffc | (raw & 3) << 16,
        raw => raw,
    }
}
