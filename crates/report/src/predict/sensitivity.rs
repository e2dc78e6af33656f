//! How far the gain rests on assumptions.

use straddle_predict::prediction::Prediction;
use straddle_predict::sensitivity::{Corner, End, NotKnown, Varied};

use super::words::prose;
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
        &format!(": the gain of {name}, each assumption at its other values"),
    );
    let nominal = sensitivity.nominal;
    let shown: Vec<&Varied> = sensitivity
        .varied
        .iter()
        .filter(|varied| {
            varied.movement() > LITTLE || varied.ends.iter().any(|end| end.gain.is_err())
        })
        .collect();
    if !shown.is_empty() {
        let gain = |end: &End| match &end.gain {
            Ok(moved) => plus(moved.gain),
            Err(NotKnown::Impossible(_)) => "impossible".to_owned(),
            Err(NotKnown::Unsettled) => "not known".to_owned(),
        };
        let column =
            |of: &dyn Fn(&Varied) -> String| shown.iter().map(|varied| of(varied).into()).collect();
        // Of words, some have one other value and some several.
        let value = |v: &Varied, at: usize| {
            v.ends
                .get(at)
                .map_or_else(String::new, |end| end.value.clone())
        };
        let there = |v: &Varied, at: usize| v.ends.get(at).map_or_else(String::new, gain);
        let most = shown
            .iter()
            .map(|varied| varied.ends.len())
            .max()
            .unwrap_or(0);
        let labels = [Column::words("parameter", column(&|v| v.path.clone()))];
        let mut columns = vec![
            Column::figures("value", column(&|v| v.value.clone())),
            Column::figures("gain", column(&|_| plus(nominal))),
        ];
        for at in 0..most {
            columns.push(Column::figures("or", column(&|v| value(v, at))));
            columns.push(Column::figures("gain", column(&|v| there(v, at))));
        }
        table::render(&labels, &columns, width, out);
    }
    if prediction.question.sensitivities == 0 {
        prose(out, width, "Not looked at: --sensitivity 0.");
        return;
    }
    let mut said = Vec::new();
    let rest = || {
        sensitivity
            .varied
            .iter()
            .filter(|v| !shown.iter().any(|s| s.path == v.path))
    };
    let named = |is_meant: &dyn Fn(&Varied) -> bool| -> Vec<String> {
        rest()
            .filter(|v| is_meant(v))
            .map(|v| v.path.clone())
            .collect()
    };
    let (still, quiet) = (named(&|v| v.chance() == 0.0), named(&|v| v.chance() > 0.0));
    if !still.is_empty() {
        said.push(format!("The gain does not depend on {}.", list(&still)));
    }
    if !quiet.is_empty() {
        let chance = rest().map(Varied::chance).fold(LITTLE, f64::max);
        said.push(format!(
            "The gain moves by less than {}, which may be chance, with {}.",
            at_most(chance),
            list(&quiet)
        ));
    }
    let corners = sensitivity.corners.iter();
    let least = corners
        .clone()
        .min_by(|a, b| a.gain.gain.total_cmp(&b.gain.gain));
    if let (Some(least), Some(most)) = (
        least,
        corners.max_by(|a, b| a.gain.gain.total_cmp(&b.gain.gain)),
    ) {
        said.push(format!(
            "The strongest together: from {} with {} to {} with {}.",
            plus(least.gain.gain),
            values(least),
            plus(most.gain.gain),
            values(most)
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

/// `cache.write = through and cache.page = 4 KiB`.
fn values(corner: &Corner) -> String {
    let each = corner.values.iter();
    let each: Vec<String> = each
        .map(|(path, value)| format!("{path} = {value}"))
        .collect();
    list(&each)
}

/// `+12.3%`.
pub(super) fn plus(gain: f64) -> String {
    let text = percent(gain - 1.0, 1);
    if text.starts_with('−') {
        text
    } else {
        format!("+{text}")
    }
}
