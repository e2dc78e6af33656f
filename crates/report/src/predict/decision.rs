//! What to do, in words, with the rule that says so.

use anstyle::Style;
use std::fmt::Write;
use std::time::Duration;

use straddle_predict::decision::{
    AWAY_AND_BACK, Decision, LARGE, PAID_BACK_WITHIN, Quantity, Recommendation, SHORTENED, SMALL,
    SURE, Turn,
};
use straddle_predict::prediction::{Mix, Prediction};
use straddle_predict::sensitivity::tells;

use super::sensitivity::plus;
use super::words::prose;
use crate::bench::text::heading;
use crate::bench::wording::{asked, gain as signed, list, time};
use crate::escape::terminal;
use crate::text::style::{GOOD, STRONG, WARNING, paint};
use crate::text::table::{self, Cell, Column};

/// The word where mixes of reads and writes come to different calls.
pub(super) const DEPENDS: &str = "it depends on the workload";

/// Writes the call, why, and the rule.
pub(super) fn render(prediction: &Prediction, width: usize, out: &mut String) {
    let Some(decision) = &prediction.decision else {
        return;
    };
    heading(out, width, "What to do", "");
    // Nothing of it holds for another workload.
    let workload = super::words::asked(&prediction.question);
    match prediction.call() {
        Some(call) => {
            let turns = decision.turns(&prediction.sensitivity);
            let on = match turns.is_empty() {
                true => String::new(),
                false => format!(" on {}", deciding(&turns)),
            };
            let text = format!("{}{on}", word(call));
            let _ = writeln!(out, "  {}  ({workload})", paint(style(call), text));
        }
        None => {
            let _ = writeln!(out, "  {}", paint(WARNING, DEPENDS));
        }
    }
    mixes(prediction, width, out);
    prose(out, width, &why(prediction, decision));
    prose(out, width, &effort(prediction, decision));
    turned(prediction, decision, width, out);
    prose(out, width, &rule());
}

/// What each value of the assumptions that decide comes to, and how they are found out.
fn turned(prediction: &Prediction, decision: &Decision, width: usize, out: &mut String) {
    let turns = decision.turns(&prediction.sensitivity);
    if turns.is_empty() {
        return;
    }
    let as_is = format!(
        "As assumed it would be: {} ({}).",
        word(decision.as_assumed),
        plus(prediction.sensitivity.nominal)
    );
    prose(out, width, &as_is);
    let mut told: Vec<&str> = Vec::new();
    for turn in &turns {
        let values = turn.values.iter();
        let values: Vec<String> = values
            .map(|(path, value)| format!("{path} = {value}"))
            .collect();
        let text = format!(
            "With {} it would be: {} ({}).",
            list(&values),
            word(turn.call),
            plus(turn.gain)
        );
        prose(out, width, &text);
        for (path, _) in &turn.values {
            if !told.contains(&path.as_str()) {
                told.push(path);
                prose(out, width, &format!("Find out {path} by {}.", tells(path)));
            }
        }
    }
}

/// `cache.write`, `cache.write and cache.page`.
fn deciding(turns: &[Turn]) -> String {
    let mut paths: Vec<String> = Vec::new();
    for (path, _) in turns.iter().flat_map(|turn| &turn.values) {
        if !paths.contains(path) {
            paths.push(path.clone());
        }
    }
    list(&paths)
}

fn style(call: Recommendation) -> Style {
    match call {
        Recommendation::FixNow | Recommendation::ItDepends => WARNING,
        Recommendation::NextRebuild | Recommendation::Undecided | Recommendation::OutageUnknown => {
            STRONG
        }
        Recommendation::NotWorthIt => GOOD,
    }
}

/// Mixes of reads and writes side by side, where there is more than one.
fn mixes(prediction: &Prediction, width: usize, out: &mut String) {
    if prediction.mixes.is_empty() {
        return;
    }
    let column = |head: &str, cell: &dyn Fn(&Mix) -> Cell| {
        Column::words(head, prediction.mixes.iter().map(cell).collect())
    };
    let labels = [
        column("workload", &|mix| {
            let mut question = prediction.question.clone();
            question.workload.reads = mix.reads;
            Cell::from(super::words::asked(&question))
        }),
        column("gain", &|mix| {
            Cell::from(signed(mix.decision.evidence.gain))
        }),
    ];
    let verdicts = column("verdict", &|mix| {
        let call = mix.decision.call;
        Cell::styled(word(call).to_owned(), style(call))
    });
    table::render(&labels, &[verdicts], width, out);
    let text = match (prediction.call(), prediction.are_usual_mixes) {
        (Some(_), false) => {
            "All of these mixes come to the same. The figures here are of the first."
        }
        (None, false) => {
            "Which of these mixes is yours decides. The figures here are of the first."
        }
        (Some(_), true) => {
            "No mix of reads and writes was given: all three come to the same. The figures here are of the first."
        }
        (None, true) => {
            "No mix of reads and writes was given, and it decides: say what is yours with --rw, such as --rw 70/30. The figures here are of the first."
        }
    };
    prose(out, width, text);
}

/// The call in words.
pub(super) fn word(call: Recommendation) -> &'static str {
    match call {
        Recommendation::FixNow => "fix now",
        Recommendation::NextRebuild => "at the next rebuild",
        Recommendation::NotWorthIt => "not worth it",
        Recommendation::Undecided => "not enough evidence",
        Recommendation::OutageUnknown => "no verdict: the outage is not known",
        Recommendation::ItDepends => "it depends",
    }
}

fn why(prediction: &Prediction, decision: &Decision) -> String {
    let offset = prediction.question.offsets.get(prediction.best);
    let to = offset.map_or_else(String::new, |o| terminal(&o.name).into_owned());
    let gain = signed(decision.evidence.gain);
    let mean = |at: usize| {
        let case = prediction.trials.cases.get(at);
        case.map_or_else(String::new, |case| super::why::time(case.latency.mean))
    };
    let what = match decision.evidence.quantity {
        Quantity::Rate if prediction.overloaded.is_empty() => {
            format!("{gain} requests each second")
        }
        Quantity::Rate => format!("{gain} requests each second, and does not keep up either"),
        Quantity::Latency if prediction.overloaded.contains(&0) => {
            "what keeps up with the rate in place of what does not".to_owned()
        }
        Quantity::Latency => format!(
            "a mean latency of {} in place of {}, {gain}",
            mean(prediction.best),
            mean(0)
        ),
    };
    match decision.call {
        Recommendation::Undecided => format!(
            "Moving to {to} brings {what}: too wide to decide on; simulate more with --requests or a smaller --precision."
        ),
        _ => format!("Moving to {to} brings {what}."),
    }
}

fn effort(prediction: &Prediction, decision: &Decision) -> String {
    let (Some(outage), Some(data)) = (decision.outage, decision.data) else {
        return "How long the outage is depends on the data to move: give it with --data, such as --data 500G.".to_owned();
    };
    let rate = decision.move_rate / 1e6;
    let times = match decision.passes {
        AWAY_AND_BACK => ", copied away and back,",
        SHORTENED => ", copied away and back and compared, as it has no room behind it,",
        _ => ", checked before and after,",
    };
    let mut text = format!(
        "Moving {}{times} at {rate:.0} MB/s is an outage of {}",
        data.rounded(),
        long(outage)
    );
    let keeps_up = prediction.overloaded.is_empty() || decision.evidence.quantity == Quantity::Rate;
    if let Some(paid) = decision.paid_back.filter(|_| keeps_up) {
        let _ = write!(
            text,
            ", made up after {} of full load at the new offset",
            long(paid)
        );
    }
    text + "."
}

fn rule() -> String {
    format!(
        "The rule: fix now from a gain of {} whose interval lies above {} and that makes up the outage within {}; at the next \
         rebuild from a proven {}; otherwise not worth it.",
        asked(LARGE),
        asked(SURE),
        long(PAID_BACK_WITHIN),
        asked(SMALL)
    )
}

/// Days where hours would not be read any more.
fn long(span: Duration) -> String {
    let days = span.as_secs_f64() / 86_400.0;
    match days {
        d if d < 2.0 => time(span),
        d if d < 10.0 => format!("{d:.1} days"),
        d if d < 10_000.0 => format!("{d:.0} days"),
        _ => "many years".to_owned(),
    }
}
