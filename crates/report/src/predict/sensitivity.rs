//! How far the gain rests on assumptions.

use straddle_predict::prediction::Prediction;
use straddle_predict::sensitivity::End;

use super::text::prose;
use crate::bench::text::heading;
use crate::bench::wording::{at_most, list, percent};
use crate::escape::terminal;
use crate::text::table::{self, Column};

/// A gain that moves by less than this share is not worth a line.
const LITTLE: f64 = 0.001;

/// Writes the table of parameters, the one that moves the gain most first.
pub(super) fn render(prediction: &Prediction, width: usize, out: &mut String) {
    let sensitivity = &prediction.sensitivity;
    let Some(offset) = prediction.question.offsets.get(prediction.best) else {
        return;
    };
    if prediction.decision.is_none() {
        return;
    }
    let name = terminal(&offset.name);
    heading(
        out,
        width,
        "How far it rests on assumptions",
        &format!(": the gain of {name}, each assumption at both ends of its range"),
    );
    let nominal = sensitivity.nominal;
    // What chance may have done is no movement.
    let little = sensitivity.noise.max(LITTLE);
    let moves = |movement: f64| movement > little;
    let shown: Vec<_> = sensitivity
        .varied
        .iter()
        .filter(|varied| {
            moves(varied.movement(nominal)) || varied.ends.iter().any(|end| end.gain.is_err())
        })
        .collect();
    if !shown.is_empty() {
        let gain = |end: &End| match &end.gain {
            Ok(gain) => plus(*gain),
            Err(_) => "impossible".to_owned(),
        };
        let column = |of: &dyn Fn(&straddle_predict::sensitivity::Varied) -> String| {
            shown.iter().map(|varied| of(varied).into()).collect()
        };
        let labels = [Column::words("parameter", column(&|v| v.path.clone()))];
        let columns = [
            Column::figures("value", column(&|v| v.value.clone())),
            Column::figures("gain", column(&|_| plus(nominal))),
            Column::figures("least", column(&|v| v.ends[0].value.clone())),
            Column::figures("gain", column(&|v| gain(&v.ends[0]))),
            Column::figures("largest", column(&|v| v.ends[1].value.clone())),
            Column::figures("gain", column(&|v| gain(&v.ends[1]))),
        ];
        table::render(&labels, &columns, width, out);
    }
    if prediction.question.sensitivities == 0 {
        prose(out, width, "Not looked at: --sensitivity 0.");
        return;
    }
    let mut said = Vec::new();
    let quiet: Vec<String> = sensitivity
        .varied
        .iter()
        .filter(|varied| !shown.iter().any(|s| s.path == varied.path))
        .map(|varied| varied.path.clone())
        .collect();
    if !quiet.is_empty() {
        said.push(format!(
            "The gain moves by less than {}, which may be chance, with {}.",
            at_most(little),
            list(&quiet)
        ));
    }
    if !sensitivity.left_out.is_empty() {
        said.push(format!(
            "Not varied, because there are more than --sensitivity allows: {}.",
            list(&sensitivity.left_out)
        ));
    }
    if !sensitivity.without_range.is_empty() {
        said.push(format!(
            "Assumed without a range, so not varied: {}.",
            list(&sensitivity.without_range)
        ));
    }
    if said.is_empty() && shown.is_empty() {
        said.push("Nothing that counts here is assumed.".to_owned());
    }
    for text in said {
        prose(out, width, &text);
    }
}

/// `+12.3%`.
fn plus(gain: f64) -> String {
    let text = percent(gain - 1.0, 1);
    if text.starts_with('−') {
        text
    } else {
        format!("+{text}")
    }
}
