use schemars::JsonSchema;
use serde::Serialize;
use straddle_geometry::{Family, Grid};
use straddle_stack::GridRole;
use straddle_trace::{Answer, FileRead, FileSummary, Question};

/// Everything that traces came to.
#[derive(Clone, Debug)]
pub struct Trace {
    /// What was read, for the headline.
    pub name: String,
    /// The files.
    pub files: Vec<FileRead>,
    /// What is known of each of them.
    pub summaries: Vec<FileSummary>,
    /// From the earliest to the latest time, in nanoseconds.
    pub span: Option<(u64, u64)>,
    /// One for each place in the stack, or one for all.
    pub sections: Vec<Section>,
    /// Inputs that came to nothing.
    pub failures: Vec<Failure>,
    /// Files in folders that are of no known recorder.
    pub passed_over: u64,
}

/// What is asked and answered of the requests that lie in one place.
#[derive(Clone, Debug)]
pub struct Section {
    /// The place; none: wherever they lie.
    pub title: Option<String>,
    /// The grids of the question, as they are called.
    pub boundaries: Vec<Boundary>,
    /// What was asked.
    pub question: Question,
    /// What is answered.
    pub answer: Answer,
}

/// A grid, and what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Boundary {
    /// What its boundaries are, where a stack says so.
    pub role: Option<GridRole>,
    /// The layer that contributes it.
    pub layer: Option<String>,
    /// Where they lie.
    pub grid: Grid,
    /// What crossing one costs.
    pub family: Family,
}

/// An input that came to nothing, and why.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Failure {
    /// Why.
    pub error: String,
}
