//! Variants of a system at every offset, in one table, and what is easily overlooked in it.

use straddle_predict::design::{Cell as At, Comparison, Remark};
use straddle_predict::experiment::Case;
use straddle_predict::mechanism::Mechanism;
use straddle_predict::prediction::{Question, gain, quantity};

use super::header::varied;
use super::why::time;
use super::words::prose;
use crate::bench::text::heading;
use crate::bench::wording::{decimals, percent, rate_text};
use crate::escape::terminal;
use crate::text::table::{self, Cell, Column};

/// Writes the table and the remarks.
pub(super) fn render(question: &Question, comparison: &Comparison, width: usize, out: &mut String) {
    let offsets = comparison.offsets.len();
    let cells: Vec<At> = (0..comparison.variants.len())
        .flat_map(|variant| (0..offsets).map(move |offset| (variant, offset)))
        .collect();
    heading(
        out,
        width,
        "Variants at each offset",
        &format!(", {}", varied(question, comparison)),
    );
    let mechanism = |cell: &At| -> Option<Mechanism> {
        let workload = &comparison.variants.get(cell.0)?.workload;
        Some(Mechanism::of(comparison.case(*cell)?, workload))
    };
    let done = |of: &dyn Fn(&Mechanism) -> String| -> Vec<Cell> {
        let text = |cell: &At| mechanism(cell).as_ref().map_or_else(String::new, of);
        cells.iter().map(|cell| text(cell).into()).collect()
    };
    let column = |of: &dyn Fn(&Case) -> String| -> Vec<Cell> {
        let text = |cell: &At| comparison.case(*cell).map_or_else(String::new, of);
        cells.iter().map(|cell| text(cell).into()).collect()
    };
    let mut labels: Vec<Column> = Vec::new();
    for (index, axis) in comparison.axes.iter().enumerate() {
        // A value stands where it first holds.
        let mut last: Option<&str> = None;
        let values = cells.iter().map(|(variant, offset)| {
            let values = comparison.variants.get(*variant).map(|v| &v.values);
            let value = values.and_then(|v| v.get(index)).map_or("", String::as_str);
            let is_new = *offset == 0 && last != Some(value);
            last = Some(value);
            let text = if is_new || *offset == 0 { value } else { "" };
            terminal(text).into_owned().into()
        });
        labels.push(Column::words(axis.label(), values.collect()));
    }
    let names = cells.iter().map(|(_, offset)| name(comparison, *offset));
    labels.push(Column::words("offset", names.map(Cell::from).collect()));
    let ratio = |cell: &At| -> Cell {
        let case = comparison.case(*cell);
        let ratio = case.and_then(|case| gain(case, quantity(&question.workload)));
        ratio.map_or_else(
            || "1".into(),
            |ratio| {
                format!(
                    "{} ({} to {})",
                    decimals(ratio.mean, 2),
                    decimals(ratio.low, 2),
                    decimals(ratio.high, 2)
                )
                .into()
            },
        )
    };
    let first = name(comparison, 0);
    let columns = [
        Column::figures("IOPS", column(&|case| rate_text(case.rate.mean))),
        Column::figures(
            "MB/s",
            column(&|case| decimals(case.bytes_per_second / 1e6, 1)),
        ),
        Column::figures("mean\nlatency", column(&|case| time(case.latency.mean))),
        Column::figures("straddle", done(&|m| percent(m.straddling, 1))),
        Column::figures(
            "member\noperations",
            done(&|m| decimals(m.member_operations, 2)),
        ),
        Column::figures(
            format!("times the first\nat {first}"),
            cells.iter().map(ratio).collect(),
        ),
    ];
    table::render(&labels, &columns, width, out);
    for remark in &comparison.remarks {
        out.push('\n');
        prose(out, width, &said(comparison, remark));
    }
}

fn name(comparison: &Comparison, offset: usize) -> String {
    let offset = comparison.offsets.get(offset);
    offset.map_or_else(String::new, |o| terminal(&o.name).into_owned())
}

fn variant(comparison: &Comparison, (variant, offset): At) -> String {
    let found = comparison.variants.get(variant);
    let variant = found.map_or_else(String::new, |v| v.name(&comparison.axes));
    format!("{} at {}", terminal(&variant), name(comparison, offset))
}

fn said(comparison: &Comparison, remark: &Remark) -> String {
    match remark {
        Remark::FewerDoMore { fewer, more, ratio } => format!(
            "Fewer disks do more: {} delivers {} times the requests of {}.",
            variant(comparison, *fewer),
            decimals(*ratio, 2),
            variant(comparison, *more)
        ),
        Remark::LargerIsSlower {
            smaller,
            larger,
            bytes,
            straddling,
            operations_per_byte,
        } => {
            let moved = if *bytes < 1.0 {
                format!(
                    "moves {} fewer bytes each second than",
                    percent(1.0 - bytes, 0)
                )
            } else {
                "takes more operations for each byte than".to_owned()
            };
            let mut text = format!(
                "The larger request {moved} the smaller one: {} against {}",
                variant(comparison, *larger),
                variant(comparison, *smaller)
            );
            text.push_str(&match () {
                () if *operations_per_byte > 1.01 => format!(
                    ". {} of the larger ones are longer than what is left of their stripe unit, so members do {} times as many \
                     operations for each byte.",
                    percent(*straddling, 0),
                    decimals(*operations_per_byte, 2)
                ),
                () if *straddling > 0.0 => format!(
                    ". {} of the larger ones occupy several members at once and end when the slowest of them has ended.",
                    percent(*straddling, 0)
                ),
                () => ", although neither straddles: they occupy the same resource for longer.".to_owned(),
            });
            text
        }
    }
}
