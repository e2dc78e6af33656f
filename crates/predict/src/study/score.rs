//! The scoreboard: how far off studies are, calibration and validation apart.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Cell, Mark, Run, Study, registry};
use crate::profile::{self, Origin, Refusal, value};

/// How far off some cells are, by their mark.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Score {
    /// Cells that parameters may be fitted on.
    pub calibration: Tally,
    /// Those of them on which nothing was fitted.
    pub unfitted: Tally,
    /// Cells on which nothing is fitted by rule.
    pub validation: Tally,
    /// Calibration cells on which something was fitted: their errors are no test.
    pub fitted: Tally,
}

/// How far off some cells are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Tally {
    /// Cells.
    pub cells: usize,
    /// Those within their tolerance.
    pub within: usize,
    /// Median error.
    #[serde(rename = "median_percent")]
    pub median: Option<f64>,
    /// Largest error.
    #[serde(rename = "worst_percent")]
    pub worst: Option<f64>,
    /// Ratios that go the other way than what was published.
    pub sign_errors: usize,
}

impl Tally {
    fn new(mut errors: Vec<f64>, within: usize, sign_errors: usize) -> Tally {
        errors.sort_by(f64::total_cmp);
        let middle = errors.len() / 2;
        let upper = errors.get(middle).copied();
        let lower = middle.checked_sub(1).and_then(|at| errors.get(at)).copied();
        let median = match (lower, upper) {
            (Some(lower), Some(upper)) if errors.len().is_multiple_of(2) => {
                Some(f64::midpoint(lower, upper))
            }
            _ => upper,
        };
        Tally {
            cells: errors.len(),
            within,
            median,
            worst: errors.last().copied(),
            sign_errors,
        }
    }
}

/// How studies came out together, cell by cell.
#[must_use]
pub fn scoreboard<'a>(studies: impl Iterator<Item = (&'a Study, &'a Run)> + Clone) -> Score {
    let tally = |is_meant: fn(&Cell) -> bool| {
        let (mut errors, mut within, mut sign_errors) = (Vec::new(), 0, 0);
        for (study, run) in studies.clone() {
            for (cell, simulated) in study.cells.iter().zip(&run.cells) {
                if is_meant(cell) {
                    errors.push(simulated.error.abs());
                    within += usize::from(simulated.is_within);
                    sign_errors += usize::from(simulated.is_sign_error);
                }
            }
        }
        Tally::new(errors, within, sign_errors)
    };
    Score {
        calibration: tally(|cell| cell.mark == Mark::Calibration),
        unfitted: tally(|cell| cell.mark == Mark::Calibration && !cell.fitted),
        validation: tally(|cell| cell.mark == Mark::Validation),
        fitted: tally(|cell| cell.fitted),
    }
}

/// A study in which the profile is out of tolerance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Missed {
    /// The study.
    pub study: String,
    /// Its cells that are out of tolerance.
    pub cells: Vec<String>,
    /// Why, where that is known.
    pub why: Vec<String>,
}

/// The studies in which a profile is known to be out of tolerance: what their cells say, which a test compares with what is
/// simulated.
#[must_use]
pub fn missed(profile: &str) -> Vec<Missed> {
    let mut found = Vec::new();
    for (name, _) in registry::STUDIES {
        let Ok(study) = registry::load(name) else {
            continue;
        };
        let mut missed = Missed {
            study: study.name,
            cells: Vec::new(),
            why: Vec::new(),
        };
        for cell in study
            .cells
            .into_iter()
            .filter(|cell| cell.profile == profile)
        {
            if let Some(why) = cell.misses {
                missed.cells.push(cell.id);
                if !missed.why.contains(&why) {
                    missed.why.push(why);
                }
            }
        }
        if !missed.cells.is_empty() {
            found.push(missed);
        }
    }
    found
}

/// A fitted parameter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Fitted")]
pub struct FittedFigure {
    /// The profile.
    pub profile: String,
    /// `SECTION.KEY`.
    pub parameter: String,
    /// Its value, with its unit.
    pub value: String,
    /// What it was fitted on.
    pub on: String,
}

/// Every fitted parameter of the profiles of a study.
///
/// # Errors
/// A profile that there is not.
pub fn fitted_figures(study: &Study) -> Result<Vec<FittedFigure>, Refusal> {
    let mut fitted = Vec::new();
    for name in study.profiles() {
        let profile = profile::registry::load(name)?;
        for (model, key, figure) in profile.figures() {
            let Origin::Fitted(on) = &figure.origin else {
                continue;
            };
            let value = match &figure.value {
                value::Value::Number(number) => value::show(key.kind, *number),
                value::Value::Word(word) => (*word).to_owned(),
                value::Value::Table(rows) => format!("{rows:?}"),
            };
            fitted.push(FittedFigure {
                profile: name.to_owned(),
                parameter: format!("{}.{}", model.section, key.name),
                value,
                on: on.clone(),
            });
        }
    }
    Ok(fitted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_worsts_are_those_of_the_errors() {
        let tally = |errors: &[f64]| Tally::new(errors.to_vec(), 0, 0);
        assert_eq!(tally(&[]).median, None);
        assert_eq!(tally(&[3.0]).median, Some(3.0));
        assert_eq!(tally(&[4.0, 1.0]).median, Some(2.5));
        assert_eq!(tally(&[9.0, 1.0, 2.0]).median, Some(2.0));
        assert_eq!(tally(&[9.0, 1.0, 2.0]).worst, Some(9.0));
    }
}
