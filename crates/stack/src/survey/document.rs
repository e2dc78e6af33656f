//! How a survey looks in JSON.

use schemars::JsonSchema;
use straddle_geometry::{Bytes, Extent, Unit};

use super::{Survey, Window};
use crate::LayerId;

/// How a [`Survey`] looks in JSON. Long lists are cut; the counts beside them are not.
#[derive(serde::Serialize, JsonSchema)]
#[schemars(rename = "Survey")]
pub(crate) struct SurveyDocument {
    /// Bytes that lie somewhere below.
    mapped: Bytes,
    /// Those of them that lie in a parent.
    in_parent: Bytes,
    /// Bytes that lie nowhere and read as zeroes.
    absent: Bytes,
    /// Bytes recorded as zeroes.
    zero: Bytes,
    /// Bytes that are compressed.
    packed: Bytes,
    /// Runs of bytes that lie in one piece below.
    runs: u64,
    window_count: usize,
    /// What lies in each part of the disk that some layer above consists of.
    first_windows: Vec<WindowDocument>,
}

#[derive(serde::Serialize, JsonSchema)]
#[schemars(rename = "SurveyWindow")]
struct WindowDocument {
    /// The part, in addresses of the disk.
    upper: Extent,
    kind_count: usize,
    /// Runs of one length that start at one residue below.
    first_kinds: Vec<KindDocument>,
}

#[derive(serde::Serialize, JsonSchema)]
#[schemars(rename = "SurveyKind")]
struct KindDocument {
    /// The layer that the runs lie in.
    layer: LayerId,
    /// Length of a run.
    len: Bytes,
    /// Where the runs start there, modulo `modulus`.
    residue: Bytes,
    modulus: Unit,
    count: u64,
}

impl SurveyDocument {
    const MAX_WINDOWS: usize = 16;
    const MAX_KINDS: usize = 64;

    pub(crate) fn of(survey: &Survey) -> SurveyDocument {
        let window = |window: &Window| WindowDocument {
            upper: window.extent,
            kind_count: window.classes.len(),
            first_kinds: window
                .classes
                .iter()
                .take(Self::MAX_KINDS)
                .filter_map(|class| {
                    let base = survey.bases.get(class.base)?;
                    Some(KindDocument {
                        layer: base.layer,
                        len: class.len,
                        residue: class.lower,
                        modulus: base.modulus,
                        count: class.count,
                    })
                })
                .collect(),
        };
        SurveyDocument {
            mapped: survey.mapped,
            in_parent: survey.in_parent,
            absent: survey.absent,
            zero: survey.zero,
            packed: survey.packed,
            runs: survey.runs,
            window_count: survey.windows.len(),
            first_windows: survey
                .windows
                .iter()
                .take(Self::MAX_WINDOWS)
                .map(window)
                .collect(),
        }
    }
}
