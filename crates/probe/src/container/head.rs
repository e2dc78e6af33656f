//! What can be said about a table of blocks by a look at its beginning.
//!
//! Blocks of a long table are not compared with each other: that would need memory for all of them. Damage by a program
//! shows in the first thousands as well.

use straddle_geometry::Bytes;
use straddle_stack::{AnomalyKind, Key};

use crate::record::{Place, Recorder};

/// How much of a table is looked at when the container is opened.
pub(crate) const LOOKED_AT: u64 = 64 << 10;

/// An allocated block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lying {
    /// Where it starts in the file, with what stands in front of its data.
    pub(crate) at: u64,
    /// Its number.
    pub(crate) block: u64,
    /// Where its entry starts, from the beginning of the table.
    pub(crate) field: usize,
}

/// The beginning of a table.
pub(crate) struct Head<'a> {
    /// Where the table starts.
    pub(crate) start: u64,
    /// Bytes of an entry.
    pub(crate) width: usize,
    /// The blocks in the order of their entries.
    pub(crate) blocks: Vec<Lying>,
    /// What stands in front of a block's data.
    pub(crate) front: u64,
    /// Length of a block with what stands in front of it.
    pub(crate) len: u64,
    /// Size of the file.
    pub(crate) file: u64,
    /// Structures that no block may lie over: name, start, end.
    pub(crate) taken: &'a [(&'a str, u64, u64)],
}

impl Head<'_> {
    /// Records where the first block's data lies, and for each way in which blocks can be wrong the first that is.
    pub(crate) fn record(mut self, record: &mut Recorder<'_>) {
        let start = self.start;
        record.at_base(start, |record| self.look(record));
    }

    fn look(&mut self, record: &mut Recorder<'_>) {
        let grouped = |n: u64| Bytes::new(n).grouped();
        let field = |lying: &Lying| Place::new(lying.field, self.width);
        let end = |lying: &Lying| lying.at.saturating_add(self.len);
        if let Some(first) = self.blocks.first() {
            let data = first.at.saturating_add(self.front);
            record.bytes(Key::DataOffset, data, field(first));
        }
        if let Some(beyond) = self.blocks.iter().find(|lying| end(lying) > self.file) {
            let detail = format!(
                "block {} lies at bytes {} to {}, the file ends at {}",
                beyond.block,
                grouped(beyond.at),
                grouped(end(beyond)),
                grouped(self.file)
            );
            record.odd(AnomalyKind::Damaged, detail, field(beyond));
        }
        for (what, from, to) in self.taken {
            let over = |lying: &&Lying| lying.at < *to && end(lying) > *from;
            if let Some(over) = self.blocks.iter().find(over) {
                let detail = format!(
                    "block {} at byte {} lies over {what}",
                    over.block,
                    grouped(over.at)
                );
                record.odd(AnomalyKind::Damaged, detail, field(over));
            }
        }
        let mut sorted = self.blocks.clone();
        sorted.sort_by_key(|lying| lying.at);
        let shared = sorted.windows(2).find(|pair| end(&pair[0]) > pair[1].at);
        if let Some([one, two]) = shared {
            let detail = format!(
                "block {} at byte {} lies over block {} at byte {}",
                two.block,
                grouped(two.at),
                one.block,
                grouped(one.at)
            );
            record.odd(AnomalyKind::Damaged, detail, field(two));
        }
    }
}
