//! Studies as people and programs read them: what was published beside what was simulated.
//!
//! One file a form: [`text`] for terminals, [`Document`] for JSON, [`csv`] for spreadsheets.

pub mod csv;
mod document;
pub mod text;

pub use document::{Document, SCHEMA};

use straddle_predict::profile::Refusal;
use straddle_predict::study::{FittedFigure, Run, Study};

/// A study and what became of it.
#[derive(Debug)]
pub struct Studied {
    /// The study.
    pub study: Study,
    /// Fitted parameters of its profiles.
    pub fitted: Vec<FittedFigure>,
    /// What was simulated, or why it was not.
    pub run: Result<Run, Refusal>,
}

impl Studied {
    /// True when every cell was simulated and lies within its tolerance.
    #[must_use]
    pub fn is_within(&self) -> bool {
        let run = self.run.as_ref();
        run.is_ok_and(|run| run.cells.iter().all(|cell| cell.is_within))
    }
}

/// A study with the cells that were simulated, for the scoreboard.
fn simulated(studies: &[Studied]) -> impl Iterator<Item = (&Study, &Run)> + Clone {
    let pairs = studies.iter();
    pairs.filter_map(|one| Some((&one.study, one.run.as_ref().ok()?)))
}

/// Figures of a table with so many significant digits that an error of a tenth of a percent shows; `largest` decides for
/// all of them, so that they stand under each other.
fn digits(largest: f64) -> usize {
    match largest {
        value if value >= 1000.0 => 0,
        value if value >= 100.0 => 1,
        value if value >= 10.0 => 2,
        _ => 3,
    }
}
