//! One pass over a block table, kept as counts.
//!
//! A table may have tens of millions of entries, so what is kept of it is not where each block lies but how many runs of
//! blocks lie how: at which place modulo all boundaries below, and at which place modulo all requests above. That is
//! enough to price any stream of those requests exactly, in memory that does not grow with the table.

mod descend;
mod document;
mod kept;
mod overlap;
mod places;
mod segments;
mod tally;

use std::sync::Arc;
use straddle_geometry::{Map, Unit};

use crate::{LayerId, Stack};
pub(crate) use document::SurveyDocument;
pub use kept::{Base, Class, Run, Survey, Window};
pub(crate) use segments::{cut, segments_of};
use tally::Tally;

impl Stack {
    /// Goes over every block table once and keeps what [`Stack::grids_seen_from`] needs of it. `steps` are the sizes of
    /// requests that will be priced.
    ///
    /// What is wrong with a table (entries beyond the end of the file, blocks that overlap, parts that cannot be read)
    /// becomes an anomaly of its layer.
    pub fn survey(&mut self, steps: &[Unit]) {
        let containers: Vec<LayerId> = self
            .iter()
            .filter(|(_, layer)| matches!(layer.map, Map::Blocks(_)) && layer.survey.is_none())
            .map(|(id, _)| id)
            .collect();
        for id in containers {
            let (survey, anomalies) = Tally::of(self, id, steps);
            let layer = self.layer_mut(id);
            layer.survey = survey.map(Arc::new);
            layer.anomalies.extend(anomalies);
        }
    }
}
