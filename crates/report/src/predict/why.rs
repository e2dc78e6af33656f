//! The mechanism: what was done for each request, which resource is busy with it, and why the gain is what it is.

use straddle_predict::mechanism::{Busiest, Cause, Mechanism, SATURATED};
use straddle_predict::prediction::{Prediction, gain, quantity};

use super::words::{names, prose};
use crate::bench::text::heading;
use crate::bench::wording::{decimals, gain as signed, list, percent, rate_text};
use crate::escape::terminal;
use crate::text::table::{self, Cell, Column};

/// Writes the table of what was done, then sentences.
pub(super) fn render(prediction: &Prediction, width: usize, out: &mut String) {
    heading(out, width, "Why", ", for each request");
    let mechanisms = &prediction.mechanisms;
    let column = |of: &dyn Fn(&Mechanism) -> String| -> Vec<Cell> {
        mechanisms.iter().map(|m| of(m).into()).collect()
    };
    let mut columns = Vec::new();
    if has_stripes(prediction) {
        columns.push(Column::figures(
            "straddle",
            column(&|m| percent(m.straddling, 2)),
        ));
    }
    columns.push(Column::figures(
        "member\noperations",
        column(&|m| decimals(m.member_operations, 3)),
    ));
    if mechanisms.iter().any(Mechanism::is_read_modify_write) {
        columns.push(Column::figures(
            "reads before\nwrites",
            column(&|m| decimals(m.reads_before_writes, 3)),
        ));
        columns.push(Column::figures(
            format!("{} read\nfor writes", granules(prediction)),
            column(&|m| decimals(m.granules_read, 3)),
        ));
    }
    columns.push(Column::words("busiest", column(&busiest)));
    let labels = [Column::words("offset", names(&prediction.question.offsets))];
    table::render(&labels, &columns, width, out);
    if !prediction.overloaded.is_empty() {
        out.push('\n');
        prose(out, width, &overloaded(prediction));
    }
    if let Some(mut text) = sentences(prediction) {
        text.push_str(&also(prediction));
        out.push('\n');
        prose(out, width, &text);
    }
}

/// What else is full at the baseline, besides the resource that was named.
fn also(prediction: &Prediction) -> String {
    let Some(baseline) = prediction.mechanisms.first() else {
        return String::new();
    };
    let named = baseline.busiest.as_ref().map_or("", |busiest| busiest.name);
    let others = baseline.full.iter().filter(|name| **name != named);
    let others: Vec<String> = others.map(|name| (*name).to_owned()).collect();
    match others.is_empty() {
        true => String::new(),
        false => format!(" Full as well: {}.", list(&others)),
    }
}

/// False where there is nothing to straddle but the members' own granules.
fn has_stripes(prediction: &Prediction) -> bool {
    let mut figures = prediction.question.profile.figures();
    figures.any(|(model, key, _)| (model.section, key.name) == ("array", "stripe_unit"))
}

/// Whether there are stripes, and what members rewrite as a whole.
type Grids = (bool, &'static str);

fn granules(prediction: &Prediction) -> &'static str {
    let profile = &prediction.question.profile;
    match () {
        () if profile.section("disk").is_some() => "physical sectors",
        () if profile.section("flash").is_some() => "indirection units",
        () => "granules",
    }
}

/// `8 disks, 98% busy`.
fn busiest(mechanism: &Mechanism) -> String {
    mechanism.busiest.as_ref().map_or_else(
        || "nothing".to_owned(),
        |busiest| {
            let most = if busiest.most - busiest.mean > 0.05 {
                format!(", one of them {}", percent(busiest.most, 0))
            } else {
                String::new()
            };
            let (count, name) = (busiest.count, named(busiest));
            format!("{count} {name}, {} busy{most}", percent(busiest.mean, 0))
        },
    )
}

/// `disks`, or `disk` where there is one.
fn named(busiest: &Busiest) -> &'static str {
    let name = busiest.name;
    match (busiest.count, name) {
        (1, "engines for partial units") => "engine for partial units",
        (1, _) => name.strip_suffix('s').unwrap_or(name),
        _ => name,
    }
}

/// `The disks are`.
fn subject(busiest: &Busiest) -> String {
    let verb = if busiest.count == 1 { "is" } else { "are" };
    format!("The {} {verb}", named(busiest))
}

fn sentences(prediction: &Prediction) -> Option<String> {
    let question = &prediction.question;
    let baseline = prediction.mechanisms.first()?;
    let best = prediction.best;
    let other = prediction.mechanisms.get(best)?;
    let name = |at: usize| {
        let offset = question.offsets.get(at);
        offset.map_or_else(String::new, |o| terminal(&o.name).into_owned())
    };
    let (from, to) = (name(0), name(best));
    let grids = (has_stripes(prediction), granules(prediction));
    if best == 0 {
        let mut text = done(&from, baseline, grids);
        text.push_str(&full(baseline));
        return Some(text);
    }
    let mut text = done(&from, baseline, grids);
    text.push_str(&done(&to, other, grids));
    let gain = gain(
        prediction.trials.cases.get(best)?,
        quantity(&question.workload),
    )?;
    match prediction.cause.as_ref()? {
        Cause::Saturated { busy, .. } if *busy < SATURATED && !starved(prediction) => {
            text.push_str(&elsewhere(prediction, baseline, other, (&from, &to)));
            if prediction.overloaded.is_empty() {
                text.push_str(&format!(" The gain is {}.", signed(gain)));
            }
        }
        Cause::Saturated {
            baseline_seconds,
            seconds,
            baseline_busy,
            busy,
            ..
        } => {
            let one = baseline.busiest.as_ref().is_some_and(|b| b.count == 1);
            let (them, they) = if one {
                ("it", "it is")
            } else {
                ("them", "they are")
            };
            let quotient = if *seconds > 0.0 {
                baseline_seconds / seconds
            } else {
                1.0
            };
            let alike = (quotient - 1.0).abs() < 0.001;
            let taken = if alike {
                format!("a request takes {} of {them} at both", time(*seconds))
            } else {
                format!(
                    "a request takes {} of {them} at {from} and {} at {to}, {} times as much",
                    time(*baseline_seconds),
                    time(*seconds),
                    decimals(quotient, 3)
                )
            };
            // What is less than full at the one and not at the other accounts for the rest of a gain.
            let used = if (baseline_busy - busy).abs() > 0.005 {
                format!(
                    "; {they} busy for {} of the time instead of {}",
                    percent(*busy, 1),
                    percent(*baseline_busy, 1)
                )
            } else {
                String::new()
            };
            let who = baseline.busiest.as_ref().map_or_else(String::new, subject);
            text.push_str(&format!("{who} the limit: {taken}{used}."));
            if prediction.overloaded.is_empty() {
                text.push_str(&format!(" The gain is {}.", signed(gain)));
            }
        }
        Cause::Latency { busiest, full } => {
            let at = if full.is_some() {
                format!(" at {from}")
            } else {
                String::new()
            };
            let mut idle = format!("Nothing is saturated{at}");
            if let Some((name, share)) = busiest {
                let share = percent(*share, 0);
                idle.push_str(&format!(" (the busiest, {name}, for {share} of the time)"));
            }
            if let (Some(_), Some(limit)) = (full, &other.busiest) {
                idle.push_str(&format!(
                    ", and {} the limit at {to}",
                    subject(limit).replacen("The", "the", 1)
                ));
            }
            let cases = &prediction.trials.cases;
            let mean = |at: usize| cases.get(at).map_or(0.0, |case| case.latency.mean);
            let lasts = format!(
                "{idle}: a request lasts {} at {from} and {} at {to}",
                time(mean(0)),
                time(mean(best))
            );
            let then = match question.workload.rate {
                Some(_) => ", while as much is done as is offered.".to_owned(),
                None => format!(
                    ", and the next one begins when it ends, so the gain is {}.",
                    signed(gain)
                ),
            };
            text.push_str(&(lasts + &then));
        }
    }
    Some(text)
}

/// `At unaligned, 12.5% of requests straddle a stripe unit, and members do 1.125 operations for each. `
fn done(name: &str, mechanism: &Mechanism, (stripes, granules): Grids) -> String {
    let straddle = match mechanism.straddling {
        _ if !stripes => String::new(),
        0.0 => "no request straddles a stripe unit, and ".to_owned(),
        share if share >= 0.999_95 => "every request straddles a stripe unit, and ".to_owned(),
        share => format!(
            "{} of requests straddle a stripe unit, and ",
            percent(share, 1)
        ),
    };
    let who = if stripes { "members do" } else { "there are" };
    let mut text = format!(
        "At {name}, {straddle}{who} {} operations for each request",
        decimals(mechanism.member_operations, 3)
    );
    if mechanism.reads_before_writes > 0.000_5 {
        let reads = decimals(mechanism.reads_before_writes, 3);
        text.push_str(&format!(
            ", {reads} of them reads that have to end before a write can begin"
        ));
    }
    if mechanism.granules_read > 0.000_5 {
        let read = decimals(mechanism.granules_read, 3);
        text.push_str(&format!(
            "; {read} {granules} are read because they are written in part"
        ));
    }
    text + ". "
}

/// True in an open loop that is kept up with: nothing is full because nothing more is asked for.
fn starved(prediction: &Prediction) -> bool {
    prediction.question.workload.rate.is_some() && prediction.overloaded.is_empty()
}

/// What is the limit at the baseline is not at the other offset.
fn elsewhere(
    prediction: &Prediction,
    baseline: &Mechanism,
    other: &Mechanism,
    (from, to): (&str, &str),
) -> String {
    let Some(limit) = &baseline.busiest else {
        return String::new();
    };
    let mut text = format!(
        "{} the limit at {from}: a request takes {} of {}. ",
        subject(limit),
        time(limit.demand_seconds),
        if limit.count == 1 { "it" } else { "them" }
    );
    let case = prediction.trials.cases.get(prediction.best);
    let lasts = case.map_or(0.0, |case| case.latency.mean);
    match &other.busiest {
        Some(found) if found.is_saturated() => text.push_str(&format!(
            "{} the limit at {to}: {} for a request.",
            subject(found),
            time(found.demand_seconds)
        )),
        _ => text.push_str(&format!(
            "At {to} nothing is saturated, and a request lasts {}.",
            time(lasts)
        )),
    }
    text
}

/// What an open loop offers and nobody serves.
fn overloaded(prediction: &Prediction) -> String {
    let question = &prediction.question;
    let which = prediction.overloaded.iter().filter_map(|index| {
        let (offset, case) = (
            question.offsets.get(*index)?,
            prediction.trials.cases.get(*index)?,
        );
        Some(format!(
            "{} ({}/s)",
            terminal(&offset.name),
            rate_text(case.rate.mean)
        ))
    });
    format!(
        "More is offered than is served at {}: requests pile up for as long as it lasts, so latencies there are those of the \
         run's length.",
        list(&which.collect::<Vec<_>>())
    )
}

fn full(mechanism: &Mechanism) -> String {
    match &mechanism.busiest {
        Some(busiest) if busiest.is_saturated() => format!("{} the limit.", subject(busiest)),
        Some(_) => "Nothing is saturated.".to_owned(),
        None => String::new(),
    }
}

/// A time in seconds in the unit that suits it, with three digits.
pub(super) fn time(seconds: f64) -> String {
    let (value, unit) = match seconds {
        s if s < 1e-3 => (s * 1e6, "µs"),
        s if s < 1.0 => (s * 1e3, "ms"),
        s => (s, "s"),
    };
    let digits = match value {
        v if v < 9.995 => 2,
        v if v < 99.95 => 1,
        _ => 0,
    };
    format!("{} {unit}", decimals(value, digits))
}
