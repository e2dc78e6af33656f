//! A profile from a measurement: parameters with which simulated rates come out as they were measured.
//!
//! Minimised is the sum of the squared logarithms of simulated over measured rates, every cell and offset alike, with the
//! same random numbers at every step, so that the sum is a smooth function of the parameters. The search is Nelder and
//! Mead's in the logarithms of the parameters, inside their ranges.
//!
//! What the measurement cannot tell is said: a parameter whose change moves no rate, and two whose changes move all rates
//! in the same proportion, of which only the combination is known.

use straddle_geometry::Bytes;
use straddle_workload::Workload;

use crate::profile::{Figure, Kind, Origin, Profile, Range, Refusal, Value, value};
use crate::requests::Arrivals;
use crate::scenario::Scenario;
use crate::system::Length;

mod document;
mod minimise;
pub mod ranges;
mod write;

pub use write::toml_of;

/// Most parameters that are fitted unless they are named.
pub const MAX: usize = 4;
/// Most parameters that can be fitted at once.
const MAX_NAMED: usize = 8;
/// Rates that move by less than this share when a parameter moves by [`STEP`] do not tell what it is.
const FLAT: f64 = 0.002;
/// A step of a parameter, as a share of itself: to find out what rates it moves.
const STEP: f64 = 0.05;
/// Cosine of two parameters' effects from which on they cannot be told apart.
const TOGETHER: f64 = 0.995;

/// What was measured at one offset in one cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    /// What was asked for.
    pub workload: Workload,
    /// The offset's name.
    pub offset: String,
    /// The offset.
    pub at: Bytes,
    /// Requests each second.
    pub rate: f64,
}

/// What a document of `straddle bench` says, as far as it is needed.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Bytes that requests were spread over.
    pub span: Bytes,
    /// Cell after cell, in each offset after offset.
    pub observations: Vec<Observation>,
}

impl Measured {
    /// Reads what `straddle bench --format json` printed.
    ///
    /// # Errors
    /// Text that is no such document, or without a rate in it.
    pub fn read(name: &str, text: &str) -> Result<Measured, Refusal> {
        document::read(name, text)
    }
}

/// How much is simulated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Search {
    /// Requests for each cell and offset.
    pub requests: u64,
    /// Most times that all of them are simulated.
    pub evaluations: u32,
    /// Seed of all of them.
    pub seed: u64,
}

/// A parameter that was fitted.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// `section.key`.
    pub path: String,
    /// What it is, as a sentence.
    pub meaning: &'static str,
    /// What values it takes.
    pub kind: Kind,
    /// Where the search began.
    pub before: f64,
    /// Where it ended; where it began when nothing depends on it.
    pub after: f64,
    /// What it was confined to.
    pub range: (f64, f64),
    /// Largest share by which any rate moves when it moves by 5%.
    pub effect: f64,
}

impl Parameter {
    /// False when no rate depends on it: its value is where the search left it, not a measurement.
    #[must_use]
    pub fn is_identified(&self) -> bool {
        self.effect >= FLAT
    }

    /// True when it ended at an end of its range.
    #[must_use]
    pub fn is_at_an_end(&self) -> bool {
        let (least, most) = self.range;
        let share = |a: f64, b: f64| (a / b - 1.0).abs() < 0.005;
        share(self.after, least) || share(self.after, most)
    }
}

/// A measured rate and the simulated one.
#[derive(Clone, Debug, PartialEq)]
pub struct Residual {
    /// What was measured.
    pub observation: Observation,
    /// Requests each second with the profile as it was.
    pub before: f64,
    /// With the fitted one.
    pub after: f64,
}

/// What a fit came to.
#[derive(Clone, Debug)]
pub struct Fitted {
    /// The profile with the fitted figures in it.
    pub profile: Profile,
    /// The parameters.
    pub parameters: Vec<Parameter>,
    /// Pairs whose effects are the same: only their combination is known.
    pub together: Vec<(String, String)>,
    /// One for each observation.
    pub residuals: Vec<Residual>,
    /// Root of the mean square of the residuals' logarithms, before and after.
    pub error: (f64, f64),
    /// The same between two seeds: what a residual is made of chance by.
    pub noise: f64,
    /// Times that all observations were simulated.
    pub evaluations: u32,
}

/// Fits parameters of a profile. Without names, those that are assumed with a range, at most [`MAX`] of them. `from` says
/// what they were fitted to, for the figures.
///
/// # Errors
/// An unknown parameter or one without a range, nothing to fit, a measurement that cannot be simulated.
pub fn fit(
    profile: &Profile,
    measured: &Measured,
    names: &[String],
    search: Search,
    from: &str,
    mut step: impl FnMut(u32),
) -> Result<Fitted, Refusal> {
    let profile = profile.complete()?;
    let mut parameters = chosen(&profile, names)?;
    let bench = Bench::of(&profile, measured, search.requests)?;
    let logs = |of: &dyn Fn(&Parameter) -> f64| -> Vec<f64> {
        parameters.iter().map(|p| libm::log(of(p))).collect()
    };
    let (start, least, most) = (
        logs(&|p| p.before),
        logs(&|p| p.range.0),
        logs(&|p| p.range.1),
    );
    let at = |logs: &[f64]| with(&profile, &parameters, logs);
    let first = bench.rates(&at(&start)?, search.seed)?;
    let mut made = 0;
    let objective = |logs: &[f64]| {
        made += 1;
        step(made);
        // What cannot be simulated is as bad as can be; the search turns round there.
        at(logs)
            .and_then(|profile| bench.rates(&profile, search.seed))
            .map_or(f64::INFINITY, |rates| bench.error(&rates))
    };
    let best = minimise::minimise(objective, &start, &least, &most, search.evaluations);
    let rates = bench.rates(&at(&best)?, search.seed)?;
    let again = bench.rates(&at(&best)?, search.seed.wrapping_add(1))?;
    let effects: Vec<Vec<f64>> = (0..best.len())
        .map(|index| bench.effect(&at, &best, index, &rates, (&least, &most)))
        .collect::<Result<_, _>>()?;
    let fitted = at(&best)?;
    let together = together(&parameters, &effects);
    for ((parameter, log), effect) in parameters.iter_mut().zip(&best).zip(&effects) {
        parameter.after = rounded(parameter.kind, libm::exp(*log));
        parameter.effect = effect.iter().fold(0.0, |most, e| e.abs().max(most));
        if !parameter.is_identified() {
            parameter.after = parameter.before;
        }
    }
    let residuals = measured.observations.iter().zip(&first).zip(&rates);
    let residuals = residuals.map(|((observation, before), after)| Residual {
        observation: observation.clone(),
        before: *before,
        after: *after,
    });
    Ok(Fitted {
        profile: said(fitted, &parameters, &together, from, measured)?,
        residuals: residuals.collect(),
        error: (bench.error(&first), bench.error(&rates)),
        noise: difference(&rates, &again),
        parameters,
        together,
        evaluations: made,
    })
}

/// The measurement, ready to be simulated.
struct Bench<'a> {
    measured: &'a Measured,
    span: Bytes,
    requests: u64,
}

impl Bench<'_> {
    fn of<'a>(
        profile: &Profile,
        measured: &'a Measured,
        requests: u64,
    ) -> Result<Bench<'a>, Refusal> {
        let capacity = crate::system::capacity(profile)?;
        let offsets = measured.observations.iter().map(|o| o.at.get());
        let room = capacity.saturating_sub(offsets.max().unwrap_or(0));
        Ok(Bench {
            measured,
            // What was measured on more than the model holds is simulated on all that it does.
            span: Bytes::new(room.min(measured.span.get())),
            requests,
        })
    }

    fn rates(&self, profile: &Profile, seed: u64) -> Result<Vec<f64>, Refusal> {
        let rate = |observation: &Observation| {
            let scenario = Scenario {
                profile: profile.clone(),
                workload: observation.workload.clone(),
                script: None,
                arrivals: Arrivals::Even,
                offset: observation.at,
                span: Some(self.span),
            };
            let length = Length {
                warm_up: observation.workload.concurrency().saturating_mul(4) + self.requests / 8,
                measured: self.requests,
            };
            scenario
                .simulate(seed, length)
                .map(|outcome| outcome.rate())
        };
        self.measured.observations.iter().map(rate).collect()
    }

    fn error(&self, rates: &[f64]) -> f64 {
        let measured: Vec<f64> = self.measured.observations.iter().map(|o| o.rate).collect();
        difference(rates, &measured)
    }

    /// By which share each rate moves when a parameter moves by [`STEP`].
    fn effect(
        &self,
        at: &dyn Fn(&[f64]) -> Result<Profile, Refusal>,
        best: &[f64],
        index: usize,
        rates: &[f64],
        (least, most): (&[f64], &[f64]),
    ) -> Result<Vec<f64>, Refusal> {
        let mut moved = best.to_vec();
        let by = libm::log1p(STEP);
        let (Some(log), Some(least), Some(most)) =
            (moved.get_mut(index), least.get(index), most.get(index))
        else {
            return Ok(Vec::new());
        };
        // Away from the end that is near.
        *log = if *log + by <= *most {
            *log + by
        } else {
            *log - by
        };
        *log = log.max(*least);
        let others = match at(&moved).and_then(|profile| self.rates(&profile, 0)) {
            Ok(others) => others,
            // A whole number, or a step out of what goes together.
            Err(_) => return Ok(vec![0.0; rates.len()]),
        };
        let base = self.rates(&at(best)?, 0)?;
        let pairs = others.iter().zip(&base);
        Ok(pairs.map(|(other, rate)| libm::log(other / rate)).collect())
    }
}

/// Root of the mean square of logarithms of ratios.
fn difference(a: &[f64], b: &[f64]) -> f64 {
    let squares = a.iter().zip(b).map(|(a, b)| {
        let log = libm::log(a / b);
        log * log
    });
    #[expect(clippy::cast_precision_loss, reason = "observations are few")]
    let count = a.len().max(1) as f64;
    (squares.sum::<f64>() / count).sqrt()
}

fn chosen(profile: &Profile, names: &[String]) -> Result<Vec<Parameter>, Refusal> {
    let parameter = |path: String, key: &'static crate::profile::Key, figure: &Figure| {
        let (Value::Number(before), Some(range)) = (&figure.value, figure.ends()) else {
            return None;
        };
        // The search is in logarithms, and a range of nothing needs none.
        let can_be = *before > 0.0 && range.0 > 0.0 && range.0 < range.1;
        can_be.then(|| Parameter {
            path,
            meaning: key.meaning,
            kind: key.kind,
            before: before.clamp(range.0, range.1),
            after: *before,
            range,
            effect: 0.0,
        })
    };
    let all = || {
        profile.figures().map(|(model, key, figure)| {
            let path = format!("{}.{}", model.section, key.name);
            (path, key, figure)
        })
    };
    let paths = |parameters: Vec<Parameter>| {
        let paths: Vec<String> = parameters.into_iter().map(|p| p.path).collect();
        paths.join(", ")
    };
    let can = || -> Vec<Parameter> {
        all()
            .filter_map(|(path, key, figure)| parameter(path, key, figure))
            .collect()
    };
    if names.is_empty() {
        let assumed = all().filter(|(_, _, figure)| figure.origin.is_assumed());
        let mut found: Vec<Parameter> = assumed
            .filter_map(|(path, key, figure)| parameter(path, key, figure))
            .collect();
        found.truncate(MAX);
        if found.is_empty() {
            let expected = format!("--fit with some of: {}", paths(can()));
            return Err(Refusal::new(
                "the profile",
                "without an assumption that has a range",
                expected,
            ));
        }
        return Ok(found);
    }
    if names.len() > MAX_NAMED {
        let expected = format!("at most {MAX_NAMED} parameters");
        return Err(Refusal::new("--fit", names.len(), expected));
    }
    let named = |name: &String| {
        let found = all().find(|(path, _, _)| path == name);
        let found = found.and_then(|(path, key, figure)| parameter(path, key, figure));
        found.ok_or_else(|| {
            let expected = format!("parameters above zero with a range: {}", paths(can()));
            Refusal::new("--fit", name, expected)
        })
    };
    names.iter().map(named).collect()
}

/// A whole number where it has to be.
fn rounded(kind: Kind, number: f64) -> f64 {
    match kind {
        Kind::Bytes(..) | Kind::Count(..) => libm::round(number),
        _ => number,
    }
}

fn with(profile: &Profile, parameters: &[Parameter], logs: &[f64]) -> Result<Profile, Refusal> {
    let mut out = profile.clone();
    for (parameter, log) in parameters.iter().zip(logs) {
        let (least, most) = parameter.range;
        let number = rounded(parameter.kind, libm::exp(*log).clamp(least, most));
        out = out.with(&parameter.path, &toml::Value::Float(number), Origin::Flag)?;
    }
    Ok(out)
}

/// Pairs of parameters that move all rates in the same proportion.
fn together(parameters: &[Parameter], effects: &[Vec<f64>]) -> Vec<(String, String)> {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let mut out = Vec::new();
    for (i, (first, a)) in parameters.iter().zip(effects).enumerate() {
        for (second, b) in parameters.iter().zip(effects).skip(i + 1) {
            let cosine = dot(a, b) / (dot(a, a) * dot(b, b)).sqrt();
            if cosine.abs() > TOGETHER {
                out.push((first.path.clone(), second.path.clone()));
            }
        }
    }
    out
}

/// The fitted figures say what they are; those that the measurement does not tell stay what they were.
fn said(
    fitted: Profile,
    parameters: &[Parameter],
    together: &[(String, String)],
    from: &str,
    measured: &Measured,
) -> Result<Profile, Refusal> {
    let mut profile = fitted;
    for parameter in parameters {
        let path = &parameter.path;
        let others: Vec<&str> = together
            .iter()
            .filter_map(|(a, b)| match () {
                () if a == path => Some(b.as_str()),
                () if b == path => Some(a.as_str()),
                () => None,
            })
            .collect();
        let (number, origin) = if parameter.is_identified() {
            let mut text = format!("{from}, {} cells", measured.observations.len());
            if !others.is_empty() {
                let others = others.join(" and ");
                text.push_str(&format!("; known in combination with {others} only"));
            }
            (parameter.after, Origin::Fitted(text))
        } else {
            let text = format!("as it was: {from} does not depend on it");
            (parameter.before, Origin::Assumed(text))
        };
        profile = profile.with(path, &toml::Value::Float(number), origin)?;
        if !parameter.is_identified() {
            profile = profile.ranged(path, Range::Numbers(parameter.range.0, parameter.range.1));
        }
    }
    Ok(profile)
}

/// A value of a fitted parameter, for people.
#[must_use]
pub fn shown(parameter: &Parameter, number: f64) -> String {
    value::show(parameter.kind, number)
}

#[cfg(test)]
mod tests;
