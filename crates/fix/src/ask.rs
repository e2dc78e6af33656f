use straddle_geometry::{Bytes, Unit};
use straddle_rules::Options;
use straddle_stack::LayerId;

/// What the user asked for.
#[derive(Clone, Debug, Default)]
pub struct Ask {
    /// Request sizes to price.
    pub options: Options,
    /// Kinds of change to be planned, by their names; all when there is none.
    pub only: Vec<&'static str>,
    /// Bytes that are copied each second; `None` for the usual assumption.
    pub rate: Option<Bytes>,
    /// What a simulation predicts, as a multiple of today's rate with its interval; `None` without one.
    pub gain: Option<straddle_predict::decision::Evidence>,
    /// The workload of that simulation, in words.
    pub workload: Option<String>,
    /// The same for each mix of reads and writes, where none was given.
    pub mixes: Vec<(String, straddle_predict::decision::Evidence)>,
    /// Allocation unit that new filesystems are to have, where it is not the old one.
    pub allocation_unit: Option<Unit>,
    /// Kinds of change, by their names, that are left out for a layer.
    pub without: Vec<(LayerId, &'static str)>,
}

impl Ask {
    /// Bytes each second unless the user knows better: what one disk reads or writes in order.
    pub const RATE: Bytes = Bytes::new(200_000_000);
}
