//! How far the figures can be trusted: blocks, noise, drift, noise floor, a line for each cell.

use straddle_bench::results::Experiment;

use super::super::wording::{Group, at_most, cell, load, percent};
use super::figures::LOAD;
use super::heading;
use crate::text::table::{self, Cell, Column};

/// Writes a line for each cell of a group that has at least one block.
pub(super) fn render(experiment: &Experiment, group: &Group<'_>, width: usize, out: &mut String) {
    let mut rows: [Vec<Cell>; 6] = Default::default();
    for index in &group.cells {
        let workload = experiment.plan.cells.get(*index);
        let (Some(workload), Some(result)) = (workload, cell(experiment, *index)) else {
            continue;
        };
        if result.blocks == 0 {
            continue;
        }
        let drift = result.drift;
        let none = || Cell::from("–");
        let values: [Cell; 6] = [
            load(workload).into(),
            result.blocks.to_string().into(),
            drift.map_or_else(none, |d| percent(d.noise, 2).into()),
            drift.map_or_else(none, |d| signed(d.change).into()),
            drift.map_or_else(none, |d| chance(d.p).into()),
            result.noise_floor.map_or_else(none, |n| at_most(n).into()),
        ];
        for (column, value) in rows.iter_mut().zip(values) {
            column.push(value);
        }
    }
    if rows[0].is_empty() {
        return;
    }
    heading(
        out,
        width,
        "How far to trust it",
        &format!(", {}", group.title),
    );
    let [loads, blocks, noise, drift, p, floor] = rows;
    let columns = [
        Column::figures("blocks", blocks),
        Column::figures("noise of\none run", noise),
        Column::figures("drift of the\nbaseline", drift),
        Column::figures("chance of that\nwithout drift", p),
        Column::figures("noise\nfloor", floor),
    ];
    table::render(&[Column::figures(LOAD, loads)], &columns, width, out);
}

fn signed(share: f64) -> String {
    let text = percent(share, 1);
    if text.starts_with('−') {
        text
    } else {
        format!("+{text}")
    }
}

/// A probability in the digits that matter.
fn chance(p: f64) -> String {
    if p < 0.001 {
        "< 0.001".to_owned()
    } else {
        format!("{p:.3}")
    }
}
