//! Whether the entries of a block table contradict each other or the file.

use straddle_geometry::{BlockTable, Bytes, Extent, Gap, Row, Segment, Sink, entry};

use super::places::{GRAIN, Places};
use crate::{Anomaly, AnomalyKind};

/// Notes, entry by entry, what may be wrong. Blocks in ascending order cannot overlap; from the first that is not behind
/// all before it, places are remembered.
pub(super) struct Overlap<'a> {
    table: &'a dyn BlockTable,
    block: u64,
    end: u64,
    /// From block to block, as far as the format says.
    stride: u64,
    /// End of the highest block so far, as long as all are in order.
    highest: u64,
    places: Option<Places>,
    beyond: u64,
    first_beyond: Option<(u64, u64)>,
}

impl<'a> Overlap<'a> {
    /// For the blocks of `table` in a file that ends at `end`; `stride` is the distance that its writer leaves between
    /// them, where it is known.
    pub(super) fn new(table: &'a dyn BlockTable, end: Bytes, stride: Option<Bytes>) -> Overlap<'a> {
        Overlap {
            table,
            block: table.block().get(),
            end: end.get(),
            stride: stride.map_or(0, Bytes::get),
            highest: 0,
            places: None,
            beyond: 0,
            first_beyond: None,
        }
    }

    /// The last place at which a block still ends inside the file, by the sector: some writers leave out the end of the last
    /// block of a file.
    pub(super) fn last_start(&self) -> u64 {
        self.end
            .saturating_sub(GRAIN.min(self.block))
            .min(entry::FIRST_MARK - 1)
    }

    /// The block of the disk's address `upper`, inside the file.
    #[inline]
    pub(super) fn block(&mut self, upper: u64, start: u64) {
        if self.places.is_none() && start >= self.highest {
            self.highest = start.saturating_add(self.block);
        } else {
            self.remember(upper, &[start]);
        }
    }

    /// Several blocks in a row, inside the file; `ascending` when none starts before the end of the one before.
    pub(super) fn blocks(&mut self, upper: u64, starts: &[u64], ascending: bool) {
        let (Some(first), Some(last)) = (starts.first(), starts.last()) else {
            return;
        };
        if self.places.is_none() && ascending && *first >= self.highest {
            self.highest = last.saturating_add(self.block);
        } else {
            self.remember(upper, starts);
        }
    }

    /// The same for blocks at even distances.
    pub(super) fn row(&mut self, row: Row) {
        let ascending = row.stride.get() >= self.block || row.count < 2;
        if self.places.is_none() && ascending && row.lower.get() >= self.highest {
            let last = row.at(row.count.saturating_sub(1));
            self.highest = last.saturating_add(self.block);
        } else {
            let upper = row.first.get();
            self.remembered(upper).row(row);
        }
    }

    /// A block, of the disk's address `upper`, that starts beyond the end of the file.
    pub(super) fn beyond(&mut self, upper: u64, start: u64) {
        self.beyond += 1;
        self.first_beyond.get_or_insert((upper, start));
        if let Some(places) = &mut self.places {
            places.add(upper, &[start]);
        }
    }

    #[inline]
    fn remember(&mut self, upper: u64, starts: &[u64]) {
        self.remembered(upper).add(upper, starts);
    }

    /// The places of all blocks before the address `upper`.
    fn remembered(&mut self, upper: u64) -> &mut Places {
        let Overlap {
            table,
            block,
            end,
            stride,
            places,
            ..
        } = self;
        places.get_or_insert_with(|| {
            let mut places = Places::new(*block, *end, *stride);
            let before = Extent::whole(Bytes::new(upper));
            // What cannot be read there has been reported.
            let _ = table.stream(before, &mut places);
            places
        })
    }

    /// What was found.
    pub(super) fn findings(&self) -> Vec<Anomaly> {
        let mut out = Vec::new();
        if let Some((upper, start)) = self.first_beyond {
            let detail = format!(
                "{} of its blocks start beyond the end of the file at byte {}; the first, at byte {} of the disk, is said to start at byte {}",
                Bytes::new(self.beyond).grouped(),
                Bytes::new(self.end).grouped(),
                Bytes::new(upper).grouped(),
                Bytes::new(start).grouped()
            );
            out.push(Anomaly::new(AnomalyKind::Damaged, detail));
        }
        out.extend(self.places.as_ref().and_then(Places::finding));
        out
    }
}

impl Sink for Places {
    fn blocks(&mut self, first: Bytes, target: usize, lower: &[u64]) {
        if target == 0 {
            self.add(first.get(), lower);
        }
    }

    fn piece(&mut self, _: Segment) {}

    fn gap(&mut self, _: Extent, _: Gap) {}
}
