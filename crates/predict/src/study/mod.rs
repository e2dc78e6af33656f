//! Published experiments as data, compared with the models.
//!
//! A study is TOML: where an experiment was published, how it was set up, and its cells, each with what was published, how
//! far a simulation may be off (where it does not say, its [`Band`] is fixed by what was measured), and a mark. Cells marked calibration may be what a profile's parameters were fitted on; those
//! marked validation never are, and their errors are kept apart everywhere.

mod band;
mod cell;
pub(crate) mod fields;
mod metric;
mod read;
pub mod registry;
mod run;
mod score;
mod whole;
pub(crate) mod workload;

pub use band::Band;
pub use cell::{Cell, Mark, Published};
pub use metric::Metric;
pub use run::{Run, Simulated, effort};
pub use score::{FittedFigure, Missed, Score, Tally, fitted_figures, missed, scoreboard};
pub use whole::Study;
