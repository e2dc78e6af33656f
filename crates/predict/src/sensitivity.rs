//! How far a prediction rests on what nobody measured.
//!
//! Each assumption takes the other values that it may plausibly have, one at a time: both ends of a range, or every other
//! word. The two or three that move the gain furthest are then moved together, because what two assumptions do at once is
//! not the sum of what each does. Every run is as long as the headline's and draws the same random numbers as one of its
//! replicates, so what is known closely is by how much the gain moves; the gain shown is the headline's, moved by that. So
//! the same setting has one figure everywhere. Caches begin as full as they stay with those values, and runs that are no
//! steady state are repeated by themselves, longer; where that does not help, nothing is known of that value.

pub(crate) mod assumptions;
mod look;
mod tells;

use crate::profile::{Kind, Origin, Profile, Refusal, Value, value};
pub(crate) use assumptions::Assumption;
pub use look::Look;
pub use tells::tells;

/// Most assumptions that are moved together.
const TOGETHER: usize = 3;

/// What became of the gain.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sensitivity {
    /// The gain with the assumptions as in the profile: the headline's.
    pub nominal: f64,
    /// Parameters that were varied, the one that moves the gain most first.
    pub varied: Vec<Varied>,
    /// The strongest of them moved together.
    pub corners: Vec<Corner>,
    /// Assumptions with a range that were left out because there were too many.
    pub left_out: Vec<String>,
    /// Assumptions for which the profile gives no range.
    pub without_range: Vec<String>,
}

/// A parameter at the other values that it may have.
#[derive(Clone, Debug, PartialEq)]
pub struct Varied {
    /// `section.key`.
    pub path: String,
    /// What it is, as a sentence.
    pub meaning: &'static str,
    /// As in the profile.
    pub value: String,
    /// At the least and at the largest value; of words, at every other one. Never empty.
    pub ends: Vec<End>,
}

/// Another value of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct End {
    /// The value there.
    pub value: String,
    /// The gain there, or why it is not known.
    pub gain: Result<Moved, NotKnown>,
}

/// Why the gain at another value is not known.
#[derive(Clone, Debug, PartialEq)]
pub enum NotKnown {
    /// It cannot be simulated: why.
    Impossible(String),
    /// What was simulated is no steady state.
    Unsettled,
}

impl NotKnown {
    /// As a sentence's end.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            NotKnown::Impossible(why) => why,
            NotKnown::Unsettled => "it came to no steady state, so nothing is known there",
        }
    }
}

impl From<Refusal> for NotKnown {
    fn from(refusal: Refusal) -> NotKnown {
        NotKnown::Impossible(refusal.to_string())
    }
}

/// Several parameters moved together.
#[derive(Clone, Debug, PartialEq)]
pub struct Corner {
    /// Each parameter that is not as in the profile, and its value.
    pub values: Vec<(String, String)>,
    /// The gain there.
    pub gain: Moved,
}

/// A gain at other values than the profile's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moved {
    /// The gain.
    pub gain: f64,
    /// How closely it is known by how much it moved: half the width of the 95% interval.
    pub half_width: f64,
    /// By how much it moved, where that is more than chance does; else zero.
    pub by: f64,
}

impl Varied {
    /// How far the gain moves at most. What may be chance is no movement.
    #[must_use]
    pub fn movement(&self) -> f64 {
        let ends = self.ends.iter().filter_map(|end| end.gain.as_ref().ok());
        ends.map(|gain| gain.by.abs()).fold(0.0, f64::max)
    }

    /// What chance may have moved the gain by.
    #[must_use]
    pub fn chance(&self) -> f64 {
        let ends = self.ends.iter().filter_map(|end| end.gain.as_ref().ok());
        ends.map(|gain| gain.half_width).fold(0.0, f64::max)
    }
}

impl Sensitivity {
    /// Least and largest gain at any other value and at any corner; `None` when nothing was varied.
    #[must_use]
    pub fn ends(&self) -> Option<(f64, f64)> {
        let ends = self.varied.iter().flat_map(|varied| &varied.ends);
        let ends = ends.filter_map(|end| end.gain.as_ref().ok());
        let all = ends.chain(self.corners.iter().map(|corner| &corner.gain));
        let mut all = all.map(|moved| self.nominal + moved.by).peekable();
        all.peek()?;
        // Where it is now is between its ends, or one of them.
        let now = (self.nominal, self.nominal);
        Some(all.fold(now, |(least, most), gain| (least.min(gain), most.max(gain))))
    }
}

/// Varies what is assumed in two scenarios that differ in their offset only, and looks at the gain of the second.
///
/// # Errors
/// A pair that cannot be simulated as it is. A value at which it cannot be is noted with its parameter.
pub fn vary(look: Look<'_>, mut step: impl FnMut(&str)) -> Result<Sensitivity, Refusal> {
    let profile = look.pair[0].profile.complete()?;
    let mut sensitivity = Sensitivity {
        nominal: look.headline,
        ..Sensitivity::default()
    };
    let mut assumptions = assumptions::of(&profile, &mut sensitivity.without_range);
    let rest = assumptions.split_off(look.most.min(assumptions.len()));
    sensitivity.left_out = rest.into_iter().map(|a| a.path).collect();
    if assumptions.is_empty() {
        return Ok(sensitivity);
    }
    step("assumptions");
    let mut all: Vec<Vec<(&str, &Value)>> = Vec::new();
    for Assumption { path, others, .. } in &assumptions {
        all.extend(others.iter().map(|other| vec![(path.as_str(), other)]));
    }
    let narrowed = match look.is_whole {
        true => &look.narrowed(&all)?,
        false => look.pair,
    };
    let look = Look {
        pair: narrowed,
        ..look
    };
    let nominal = look.nominal()?;
    let mut gains = look.gains(&all, &nominal).into_iter();
    let mut found: Vec<(Varied, &Assumption)> = Vec::new();
    for assumption in &assumptions {
        let pairs = assumption.others.iter().zip(gains.by_ref());
        let ends = pairs.map(|(other, gain)| End {
            value: shown(assumption.kind, other),
            gain,
        });
        let varied = Varied {
            ends: ends.collect(),
            value: shown(assumption.kind, &assumption.value),
            meaning: assumption.meaning,
            path: assumption.path.clone(),
        };
        found.push((varied, assumption));
    }
    // Stable: what moves the gain equally far stays in the order of the stack.
    found.sort_by(|(a, _), (b, _)| b.movement().total_cmp(&a.movement()));
    let strong = found.iter().filter(|(varied, _)| varied.movement() > 0.0);
    let strong: Vec<_> = strong.take(TOGETHER).collect();
    step("several assumptions together");
    let corners = corners(&strong);
    let settings: Vec<Vec<(&str, &Value)>> = corners
        .iter()
        .map(|corner| corner.iter().map(|(a, v)| (a.path.as_str(), *v)).collect())
        .collect();
    for (corner, gain) in corners.iter().zip(look.gains(&settings, &nominal)) {
        let values = corner
            .iter()
            .map(|(a, v)| (a.path.clone(), shown(a.kind, v)));
        // What does not go together is no corner of what is plausible.
        sensitivity.corners.extend(gain.ok().map(|gain| Corner {
            values: values.collect(),
            gain,
        }));
    }
    sensitivity.varied = found.into_iter().map(|(varied, _)| varied).collect();
    Ok(sensitivity)
}

/// Combinations of the values at which each assumption has its least and its largest gain, at least two of them not being
/// as in the profile.
fn corners<'a>(strong: &[&'a (Varied, &'a Assumption)]) -> Vec<Vec<(&'a Assumption, &'a Value)>> {
    if strong.len() < 2 {
        return Vec::new();
    }
    let mut corners: Vec<Vec<(&Assumption, &Value)>> = vec![Vec::new()];
    for (varied, assumption) in strong.iter().copied() {
        let gains = varied.ends.iter().zip(&assumption.others);
        let gains = gains.filter_map(|(end, value)| Some((end.gain.as_ref().ok()?.by, value)));
        let mut gains: Vec<(f64, &Value)> = gains.collect();
        gains.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut values: Vec<Option<&Value>> = Vec::new();
        match gains.as_slice() {
            [] => values.push(None),
            // Where it is now is its other end.
            [(_, one)] => values.extend([None, Some(*one)]),
            [(_, least), .., (_, most)] => values.extend([Some(*least), Some(*most)]),
        }
        let longer = corners.iter().flat_map(|corner| {
            values.iter().map(move |value| {
                let mut corner = corner.clone();
                corner.extend(value.map(|value| (*assumption, value)));
                corner
            })
        });
        corners = longer.collect();
    }
    corners.retain(|corner| corner.len() > 1);
    corners
}

/// A profile with another value of one parameter, which stays an assumption.
pub(crate) fn with(profile: Profile, path: &str, value: &Value) -> Result<Profile, Refusal> {
    let value = match value {
        Value::Number(number) => toml::Value::Float(*number),
        Value::Word(word) => toml::Value::String((*word).to_owned()),
        // No range is of tables.
        Value::Table(_) => return Ok(profile),
    };
    let origin = Origin::Assumed("another value of its range".to_owned());
    profile.with(path, &value, origin)
}

/// A value with its unit.
pub(crate) fn shown(kind: Kind, value: &Value) -> String {
    match value {
        Value::Number(number) => value::show(kind, *number),
        Value::Word(word) => (*word).to_owned(),
        Value::Table(rows) => format!("{} rows", rows.len()),
    }
}

#[cfg(test)]
mod tests;
