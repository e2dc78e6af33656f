//! How much may be said of one thing. A forged text has no say in how long anything takes that goes through these lists once
//! for each of their entries, as joining by names and finding members do.

use straddle_stack::{Anomaly, AnomalyKind};

use super::{Placing, Thing};

/// Most names of one thing.
pub(crate) const MAX_NAMES: usize = 64;
/// Most things that one lies on. The largest arrays have some hundred members.
pub(crate) const MAX_BELOW: usize = 1024;
/// Most facts of one sort that are kept: grids, attributes, remarks. One of each is usual.
pub(crate) const MAX_FACTS: usize = 128;

impl Thing {
    /// Leaves out what is too much, and says how much that is.
    pub(super) fn bound(&mut self) {
        let mut left_out = Vec::new();
        let mut count = |what: &'static str, len: usize, most: usize| {
            if len > most {
                left_out.push(format!("{} more {what}", len - most));
            }
        };
        count("names", self.names.len(), MAX_NAMES);
        count("things below it", self.on.len(), MAX_BELOW);
        let facts = [
            self.grids.len() + self.in_blocks.len() + self.passed_on.len(),
            self.attributes.len(),
            self.remarks.len(),
        ];
        let most = [2 * MAX_FACTS, MAX_FACTS, MAX_FACTS];
        for ((len, most), what) in facts
            .into_iter()
            .zip(most)
            .zip(["units", "facts", "remarks"])
        {
            count(what, len, most);
        }
        self.names.truncate(MAX_NAMES);
        self.grids.truncate(MAX_FACTS);
        self.in_blocks.truncate(MAX_FACTS);
        self.passed_on.truncate(MAX_FACTS);
        self.attributes.truncate(MAX_FACTS);
        self.remarks.truncate(MAX_FACTS);
        let pieces = match &self.placing {
            Placing::Striped { starts, .. } => starts.len(),
            Placing::Segments(pieces) => pieces.len(),
            Placing::Raid(raid) => raid.members.len(),
            Placing::Extents(extents) => extents.pieces.len(),
            Placing::Linear | Placing::Chunks | Placing::Unknown => 0,
        };
        count("pieces", pieces, MAX_BELOW);
        if self.on.len() > MAX_BELOW || pieces > MAX_BELOW {
            // Without all of them nothing is where it was.
            self.on.truncate(MAX_BELOW);
            self.placing = Placing::Unknown;
        }
        if !left_out.is_empty() {
            let said = left_out.join(", ");
            let detail = format!("too much is said of it; left out: {said}");
            self.remarks
                .push(Anomaly::new(AnomalyKind::LimitReached, detail));
        }
    }
}
