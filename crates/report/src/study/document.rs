//! Studies in JSON.

use schemars::JsonSchema;
use serde::Serialize;
use straddle_geometry::Bytes;
use straddle_predict::study::{Cell, FittedFigure, Score, Simulated, Study, scoreboard};
use straddle_workload::Workload;
use straddle_workload::interval::Interval;

use super::{Studied, simulated};

/// Name and version of the JSON document that `study` prints. The number changes when a reader would have to.
pub const SCHEMA: &str = "straddle.study/1";

/// Studies in JSON.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "straddle study")]
pub struct Document<'a> {
    /// Name and version of this schema.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: &'static str,
    /// The studies.
    studies: Vec<StudyOut<'a>>,
    /// All of them together, cell by cell.
    score: Score,
}

/// A study and what became of it.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Study")]
struct StudyOut<'a> {
    /// What it is called in commands.
    name: &'a str,
    /// What it is.
    title: &'a str,
    /// Where it was published.
    source: &'a str,
    /// What was published of the setup.
    configuration: &'a str,
    /// What these data cannot tell apart.
    identifies: Option<&'a str>,
    /// Why it could not be simulated; `null` when it was.
    refused: Option<String>,
    /// Its cells.
    cells: Vec<CellOut<'a>>,
    /// How far off they are; `null` when it could not be simulated.
    score: Option<Score>,
    /// Fitted parameters of its profiles.
    fitted: &'a [FittedFigure],
}

/// A published cell and what was simulated.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Cell")]
struct CellOut<'a> {
    /// What it is called.
    id: &'a str,
    /// `calibration` or `validation`.
    mark: &'static str,
    /// Whether a parameter was fitted on it.
    fitted: bool,
    /// The profile that it is simulated with.
    profile: &'a str,
    /// Parameters that the experiment sets.
    set: Vec<SetOut<'a>>,
    /// What was asked of the storage.
    workload: &'a Workload,
    /// The offset as it was written.
    offset: &'a str,
    /// The same in bytes.
    offset_bytes: Bytes,
    /// What was measured.
    metric: &'static str,
    /// The cell that a ratio is against.
    against: Option<&'a str>,
    /// What was published.
    published: PublishedOut,
    /// How far it may be off: `10%`, `1 point`, `25% of the effect`, `0.9 of it`, `exact`.
    tolerance: String,
    /// What was simulated; `null` when it could not be.
    simulated: Option<SimulatedOut>,
    /// What the source does not state, and what is taken in its place.
    assumed: Option<&'a str>,
    /// What else should be known.
    note: Option<&'a str>,
    /// Why the model is known to be off by more than the tolerance.
    misses: Option<&'a str>,
}

/// A parameter that an experiment sets.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Setting")]
struct SetOut<'a> {
    /// `SECTION.KEY`.
    parameter: &'a str,
    /// Its value as it was written.
    value: String,
}

/// What was published: a value, then both are the same, a range, or a bound.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Published")]
struct PublishedOut {
    /// The least; `null` below an upper bound.
    least: Option<f64>,
    /// The most; `null` above a lower bound.
    most: Option<f64>,
    /// True for a bound that says which of two is better, and nothing of how much.
    order: bool,
}

/// What was simulated of a cell.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Simulated")]
struct SimulatedOut {
    /// In the cell's metric.
    value: f64,
    /// 95% interval over replicates.
    interval: Option<Interval>,
    /// How far it is off.
    error_percent: f64,
    /// Whether that is within the tolerance.
    within: bool,
    /// Whether it is a ratio that goes the other way than what was published.
    sign_error: bool,
    /// Requests that counted, all replicates together.
    requests: u64,
    /// Replicates.
    replicates: u32,
}

impl<'a> Document<'a> {
    /// Studies in JSON.
    #[must_use]
    pub fn new(studies: &'a [Studied]) -> Document<'a> {
        Document {
            schema: SCHEMA,
            studies: studies.iter().map(study).collect(),
            score: scoreboard(simulated(studies)),
        }
    }
}

fn study(studied: &Studied) -> StudyOut<'_> {
    let study = &studied.study;
    let run = studied.run.as_ref();
    let cells = study.cells.iter().enumerate().map(|(index, one)| {
        let simulated = run.ok().and_then(|run| run.cells.get(index));
        cell(study, one, simulated)
    });
    StudyOut {
        name: &study.name,
        title: &study.title,
        source: &study.source,
        configuration: &study.configuration,
        identifies: study.identifies.as_deref(),
        refused: run.err().map(ToString::to_string),
        cells: cells.collect(),
        score: run
            .ok()
            .map(|run| scoreboard(std::iter::once((study, run)))),
        fitted: &studied.fitted,
    }
}

fn cell<'a>(study: &'a Study, cell: &'a Cell, simulated: Option<&Simulated>) -> CellOut<'a> {
    let published = cell.published;
    let against = cell.against.and_then(|other| study.cells.get(other));
    let set = cell.set.iter().map(|(parameter, value)| SetOut {
        parameter,
        value: value.to_string(),
    });
    CellOut {
        id: &cell.id,
        mark: cell.mark.name(),
        fitted: cell.fitted,
        profile: &cell.profile,
        set: set.collect(),
        workload: &cell.workload,
        offset: &cell.offset_name,
        offset_bytes: cell.offset,
        metric: cell.metric.name(),
        against: against.map(|other| other.id.as_str()),
        published: PublishedOut {
            least: (published.least > 0.0).then_some(published.least),
            most: Some(published.most).filter(|most| most.is_finite()),
            order: published.is_order,
        },
        tolerance: cell.band.to_string(),
        simulated: simulated.map(|one| SimulatedOut {
            value: one.value,
            interval: one.interval,
            error_percent: one.error,
            within: one.is_within,
            sign_error: one.is_sign_error,
            requests: one.requests,
            replicates: one.replicates,
        }),
        assumed: cell.assumed.as_deref(),
        note: cell.note.as_deref(),
        misses: cell.misses.as_deref(),
    }
}
