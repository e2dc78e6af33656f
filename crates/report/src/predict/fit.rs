//! A fit for terminals: residuals of every cell, the parameters, and what the measurement does not tell.

use straddle_predict::fit::ranges::{Left, Narrowed};
use straddle_predict::fit::{Fitted, Parameter, shown};
use straddle_rules::figures::counted;

use super::words::prose;
use crate::bench::text::heading;
use crate::bench::wording::{list, load, percent, rate_text, title};
use crate::escape::terminal;
use crate::text::table::{self, Cell, Column};

/// The report, in lines of at most `width` columns where a table permits that.
#[must_use]
pub fn report(fitted: &Fitted, from: &str, width: usize) -> String {
    let mut out = String::new();
    residuals(fitted, from, width, &mut out);
    parameters(fitted, width, &mut out);
    out
}

/// What a measurement leaves of the assumptions.
#[must_use]
pub fn narrowed(narrowed: &Narrowed, from: &str, width: usize) -> String {
    let mut out = String::new();
    heading(
        &mut out,
        width,
        "What the measurement leaves of the assumptions",
        &format!(", {}", terminal(from)),
    );
    let rows = &narrowed.assumptions;
    let column = |of: &dyn Fn(&Left) -> String| -> Vec<Cell> {
        rows.iter().map(|row| of(row).into()).collect()
    };
    let said = |left: &Left, values: &[String]| match values {
        [least, most] if !left.is_of_words => format!("{least} to {most}"),
        words => words.join(", "),
    };
    let labels = [Column::words("parameter", column(&|row| row.path.clone()))];
    let columns = [
        Column::words("assumed", column(&|row| row.value.clone())),
        Column::words("might be", column(&|row| said(row, &row.before))),
        Column::words("may be still", column(&|row| said(row, &row.after))),
        Column::words(
            "",
            column(&|row| if row.is_narrower() { "narrower" } else { "" }.to_owned()),
        ),
    ];
    table::render(&labels, &columns, width, &mut out);
    out.push('\n');
    let mut text = format!(
        "{} of {} give every rate within 10% and every gain within the bands of published ones.",
        counted(narrowed.kept, "set"),
        narrowed.sets
    );
    if !narrowed.is_telling() {
        text.push_str(&format!(
            " Too few to rule anything out: the nearest is off by {}. Another profile may be nearer, --sets tries more, and what is not \
             modelled no set gives.",
            percent(narrowed.nearest, 0)
        ));
    }
    prose(&mut out, width, &text);
    if !narrowed.untold.is_empty() {
        out.push('\n');
        let text = format!(
            "The measurement does not tell {}: no rate depends on it.",
            list(&narrowed.untold)
        );
        prose(&mut out, width, &text);
    }
    out
}

fn residuals(fitted: &Fitted, from: &str, width: usize, out: &mut String) {
    heading(
        out,
        width,
        "Measured and simulated",
        &format!(", requests each second, {}", terminal(from)),
    );
    let rows = &fitted.residuals;
    let mut last: Option<String> = None;
    let mut workloads: Vec<Cell> = Vec::new();
    for row in rows {
        let workload = &row.observation.workload;
        let text = format!("{}, {}", title(workload), load(workload));
        let is_new = last.as_ref() != Some(&text);
        workloads.push(if is_new { text.clone() } else { String::new() }.into());
        last = Some(text);
    }
    let column = |of: &dyn Fn(&straddle_predict::fit::Residual) -> String| -> Vec<Cell> {
        rows.iter().map(|row| of(row).into()).collect()
    };
    let labels = [
        Column::words("workload", workloads),
        Column::words(
            "offset",
            column(&|row| terminal(&row.observation.offset).into_owned()),
        ),
    ];
    let off = |simulated: f64, measured: f64| signed(simulated / measured - 1.0);
    let columns = [
        Column::figures("measured", column(&|row| rate_text(row.observation.rate))),
        Column::figures("before", column(&|row| rate_text(row.before))),
        Column::figures(
            "off by",
            column(&|row| off(row.before, row.observation.rate)),
        ),
        Column::figures("fitted", column(&|row| rate_text(row.after))),
        Column::figures(
            "off by",
            column(&|row| off(row.after, row.observation.rate)),
        ),
    ];
    table::render(&labels, &columns, width, out);
    out.push('\n');
    let (before, after) = fitted.error;
    let text = format!(
        "Rates were off by {} before and are off by {} now (root of the mean square); with other random numbers, simulated ones \
         differ by {}. {}.",
        percent(before, 1),
        percent(after, 1),
        percent(fitted.noise, 1),
        counted(fitted.evaluations, "set") + " of parameters were tried"
    );
    prose(out, width, &text);
}

fn parameters(fitted: &Fitted, width: usize, out: &mut String) {
    heading(out, width, "Parameters", "");
    let parameters = &fitted.parameters;
    let column = |of: &dyn Fn(&Parameter) -> String| -> Vec<Cell> {
        parameters.iter().map(|p| of(p).into()).collect()
    };
    let labels = [Column::words("parameter", column(&|p| p.path.clone()))];
    let columns = [
        Column::figures("before", column(&|p| shown(p, p.before))),
        Column::figures("fitted", column(&|p| shown(p, p.after))),
        Column::figures("least", column(&|p| shown(p, p.range.0))),
        Column::figures("largest", column(&|p| shown(p, p.range.1))),
        Column::words("", column(&|p| remark(p).to_owned())),
    ];
    table::render(&labels, &columns, width, out);
    let flat = parameters.iter().filter(|p| !p.is_identified());
    let flat: Vec<String> = flat.map(|p| p.path.clone()).collect();
    let mut said = Vec::new();
    if !flat.is_empty() {
        said.push(format!(
            "The measurement does not tell {}: no rate depends on it, and the profile keeps what it had.",
            list(&flat)
        ));
    }
    for (first, second) in &fitted.together {
        said.push(format!(
            "{first} and {second} move all rates in the same proportion: only their combination is known, not each of them."
        ));
    }
    let edge = parameters
        .iter()
        .filter(|p| p.is_identified() && p.is_at_an_end());
    let edge: Vec<String> = edge.map(|p| p.path.clone()).collect();
    if !edge.is_empty() {
        said.push(format!(
            "At an end of its range, where the truth may lie beyond, or the model may be another: {}.",
            list(&edge)
        ));
    }
    for text in said {
        out.push('\n');
        prose(out, width, &text);
    }
}

fn remark(parameter: &Parameter) -> &'static str {
    match () {
        () if !parameter.is_identified() => "not told by the measurement",
        () if parameter.is_at_an_end() => "at an end of its range",
        () => "",
    }
}

/// `+1.2%`.
fn signed(share: f64) -> String {
    let text = percent(share, 1);
    if text.starts_with('−') {
        text
    } else {
        format!("+{text}")
    }
}
