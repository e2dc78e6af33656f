//! XFS: a log whose last record does not say that it was unmounted.
//!
//! The log is a ring of blocks of 512 bytes. Each begins with the number of its turn around the ring, or is the head of a record, which has
//! that number in its second word. So the head of the log is where the number falls by one; before it is the last record, and a clean one is
//! a single operation that says "unmount".
//!
//! ```text
//! superblock    4 block size (4)  48 first block of the log (8)  96 blocks of the log (4)  84 blocks per group (4)  124 log2 of that, rounded up
//! record        0 feed babe  4 turn (4)  40 operations (4)  320 length of its buffers (4)
//! operation     9 flags: 0x20 unmount     after the heads: one for each 32 KiB of buffers
//! ```
//!
//! Source: XFS Algorithms and Data Structures, chapter on the journal. A log on a device of its own is not looked at.

use straddle_io::ReadError;
use straddle_probe::Window;

const BLOCK: u64 = 512;
const MAGIC: u32 = 0xfeed_babe;
const UNMOUNT: u8 = 0x20;
/// Longest record: 256 KiB of buffers and their heads.
const MAX_RECORD: u64 = 8 + 512;
/// Most that a log has: 2 GiB.
const MAX_LOG: u64 = 2 << 30;

pub(super) fn unclean(window: &Window<'_>) -> Result<Option<String>, ReadError> {
    let log = Log::of(window)?;
    match log {
        Some(log) if !log.is_clean()? => Ok(Some(
            "has a log that was not replayed: it was not unmounted".to_owned(),
        )),
        _ => Ok(None),
    }
}

struct Log<'a> {
    window: &'a Window<'a>,
    start: u64,
    blocks: u64,
}

impl<'a> Log<'a> {
    fn of(window: &'a Window<'a>) -> Result<Option<Log<'a>>, ReadError> {
        let block = u64::from(u32::from_be_bytes(window.get(4)?));
        let first = u64::from_be_bytes(window.get(48)?);
        let blocks = u64::from(u32::from_be_bytes(window.get(96)?));
        let per_group = u64::from(u32::from_be_bytes(window.get(84)?));
        let [shift] = window.get::<[u8; 1]>(124)?;
        if first == 0 || shift > 31 {
            return Ok(None);
        }
        // The high bits of a block's number are its group.
        let (group, within) = (first >> shift, first & ((1 << shift) - 1));
        let start = group
            .checked_mul(per_group)
            .and_then(|blocks| blocks.checked_add(within));
        let start = start.and_then(|blocks| blocks.checked_mul(block));
        let len = (blocks * block).min(MAX_LOG);
        Ok(start.map(|start| Log {
            window,
            start,
            blocks: len / BLOCK,
        }))
    }

    /// The two words that a block begins with.
    fn words(&self, n: u64) -> Result<[u32; 2], ReadError> {
        let raw: [u8; 8] = self.window.get(self.start + n * BLOCK)?;
        let word = |at: usize| u32::from_be_bytes([raw[at], raw[at + 1], raw[at + 2], raw[at + 3]]);
        Ok([word(0), word(4)])
    }

    /// The turn in which a block was written.
    fn turn(&self, n: u64) -> Result<u32, ReadError> {
        let [first, second] = self.words(n)?;
        Ok(if first == MAGIC { second } else { first })
    }

    fn is_clean(&self) -> Result<bool, ReadError> {
        if self.blocks == 0 {
            return Ok(true);
        }
        let newest = self.turn(0)?;
        if newest == 0 {
            // Never written.
            return Ok(true);
        }
        // Blocks of the newest turn come first, those of the one before it, or none, behind them.
        let (mut low, mut high) = (0, self.blocks);
        while high - low > 1 {
            let middle = low.midpoint(high);
            if self.turn(middle)? == newest {
                low = middle;
            } else {
                high = middle;
            }
        }
        let head = high % self.blocks;
        for back in 1..=MAX_RECORD.min(self.blocks) {
            let n = (head + self.blocks - back) % self.blocks;
            if self.words(n)?[0] == MAGIC {
                return self.is_unmount(n);
            }
        }
        // No record where one must be: nothing to replay can be found either.
        Ok(false)
    }

    fn is_unmount(&self, n: u64) -> Result<bool, ReadError> {
        let at = self.start + n * BLOCK;
        let operations = u32::from_be_bytes(self.window.get(at + 40)?);
        let buffers = u64::from(u32::from_be_bytes(self.window.get(at + 320)?));
        let heads = buffers.div_ceil(32 << 10).clamp(1, 8);
        let first = (n + heads) % self.blocks;
        let [flags] = self.window.get::<[u8; 1]>(self.start + first * BLOCK + 9)?;
        Ok(operations == 1 && flags & UNMOUNT != 0)
    }
}
