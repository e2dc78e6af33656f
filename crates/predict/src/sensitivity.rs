//! How far a prediction rests on what nobody measured: each assumption at both ends of its range, one at a time, with the
//! same random numbers.

use straddle_bench::results::Interval;

use crate::experiment::{Case, Effort, compare};
use crate::profile::{Kind, Profile, Refusal, Value, value};
use crate::scenario::Scenario;

/// Most parameters that are varied unless more are asked for.
pub const MOST: usize = 8;

/// What became of the gain.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sensitivity {
    /// The gain where the assumptions are as in the profile, from as many requests as the others.
    pub nominal: f64,
    /// Half the width of its interval: movements within it may be chance.
    pub noise: f64,
    /// Parameters that were varied, the one that moves the gain most first.
    pub varied: Vec<Varied>,
    /// Assumptions with a range that were left out because there were too many.
    pub left_out: Vec<String>,
    /// Assumptions for which the profile gives no range.
    pub without_range: Vec<String>,
}

/// A parameter at both ends of its range.
#[derive(Clone, Debug, PartialEq)]
pub struct Varied {
    /// `section.key`.
    pub path: String,
    /// What it is, as a sentence.
    pub meaning: &'static str,
    /// As in the profile.
    pub value: String,
    /// At the least and at the largest value.
    pub ends: [End; 2],
}

/// One end of a range.
#[derive(Clone, Debug, PartialEq)]
pub struct End {
    /// The value there.
    pub value: String,
    /// The gain there, or why it cannot be simulated.
    pub gain: Result<f64, String>,
}

impl Varied {
    /// How far the gain moves at most.
    #[must_use]
    pub fn movement(&self, nominal: f64) -> f64 {
        let ends = self.ends.iter().filter_map(|end| end.gain.as_ref().ok());
        ends.map(|gain| (gain - nominal).abs()).fold(0.0, f64::max)
    }
}

impl Sensitivity {
    /// Least and largest gain at any end; `None` when nothing was varied. A movement that may be chance is none.
    #[must_use]
    pub fn ends(&self) -> Option<(f64, f64)> {
        let ends = self.varied.iter().flat_map(|varied| &varied.ends);
        let gains = ends.filter_map(|end| end.gain.as_ref().ok().copied());
        let moved = |gain: f64| match (gain - self.nominal).abs() > self.noise {
            true => gain,
            false => self.nominal,
        };
        let gains = gains.map(moved);
        let mut ends = gains.map(|gain| (gain, gain));
        let first = ends.next()?;
        let ends = ends.fold(first, |a, b| (a.0.min(b.0), a.1.max(b.1)));
        // Where it stands now is between its ends, or one of them.
        Some((ends.0.min(self.nominal), ends.1.max(self.nominal)))
    }
}

/// An assumption that can be varied.
struct Assumption {
    path: String,
    kind: Kind,
    meaning: &'static str,
    value: f64,
    range: (f64, f64),
}

/// Varies what is assumed in two scenarios that differ in their offset only, and looks at the gain of the second.
///
/// # Errors
/// A pair that cannot be simulated as it is. An end of a range that cannot be is noted with its parameter.
pub fn vary(
    pair: &[Scenario; 2],
    gain: impl Fn(&Case) -> Option<Interval>,
    effort: Effort,
    most: usize,
    mut step: impl FnMut(&str),
) -> Result<Sensitivity, Refusal> {
    let profile = pair[0].profile.complete()?;
    let mut sensitivity = Sensitivity::default();
    let mut assumptions = assumptions(&profile, &mut sensitivity.without_range);
    let rest = assumptions.split_off(most.min(assumptions.len()));
    sensitivity.left_out = rest.into_iter().map(|a| a.path).collect();
    if assumptions.is_empty() {
        return Ok(sensitivity);
    }
    let run = |pair: &[Scenario]| -> Result<Interval, Refusal> {
        let trials = compare(pair, effort)?;
        let gain = trials.cases.last().and_then(&gain);
        gain.ok_or_else(|| Refusal::new("sensitivity", "no gain", "two scenarios"))
    };
    let nominal = run(pair)?;
    sensitivity.nominal = nominal.mean;
    sensitivity.noise = (nominal.high - nominal.low) / 2.0;
    for assumption in assumptions {
        step(&assumption.path);
        let at = |end: f64| {
            let gain = with(pair, &assumption.path, end).and_then(|pair| run(&pair));
            End {
                value: value::show(assumption.kind, end),
                gain: gain
                    .map(|gain| gain.mean)
                    .map_err(|refusal| refusal.to_string()),
            }
        };
        sensitivity.varied.push(Varied {
            ends: [at(assumption.range.0), at(assumption.range.1)],
            value: value::show(assumption.kind, assumption.value),
            meaning: assumption.meaning,
            path: assumption.path,
        });
    }
    let nominal = sensitivity.nominal;
    // Stable: what moves the gain equally far stays in the order of the stack.
    sensitivity
        .varied
        .sort_by(|a, b| b.movement(nominal).total_cmp(&a.movement(nominal)));
    Ok(sensitivity)
}

/// Scenarios with another value of one parameter.
fn with(pair: &[Scenario; 2], path: &str, number: f64) -> Result<Vec<Scenario>, Refusal> {
    let set = |scenario: &Scenario| {
        let origin = crate::profile::Origin::Assumed("an end of its range".to_owned());
        let number = toml::Value::Float(number);
        let profile = scenario.profile.clone().with(path, &number, origin)?;
        Ok(Scenario {
            profile,
            ..scenario.clone()
        })
    };
    pair.iter().map(set).collect()
}

fn assumptions(profile: &Profile, without_range: &mut Vec<String>) -> Vec<Assumption> {
    let mut out = Vec::new();
    for (model, key, figure) in profile.figures() {
        if !figure.origin.is_assumed() {
            continue;
        }
        let path = format!("{}.{}", model.section, key.name);
        match (&figure.value, figure.range) {
            (Value::Number(number), Some(range)) if range.0 < range.1 => out.push(Assumption {
                path,
                kind: key.kind,
                meaning: key.meaning,
                value: *number,
                range,
            }),
            _ => without_range.push(path),
        }
    }
    out
}
