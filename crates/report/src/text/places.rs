//! The table from a guest's page to the host's sector.

use std::fmt::Write;
use straddle_geometry::{Bytes, Unit};
use straddle_stack::{Layer, LayerKind, Stack};

use super::snippet::sanitise;
use super::stack::file_name;
use super::style::{FAINT, STRONG, paint};
use crate::Checked;
use crate::places::{Place, places};

/// Most tables that are printed; the JSON document has more.
const MOST: usize = 4;

/// Writes a table for each topmost layer of a guest.
pub(super) fn render(checked: &Checked, out: &mut String) {
    let all = places(checked);
    for place in all.iter().take(MOST) {
        table(checked, place, out);
    }
    if all.len() > MOST {
        let more = format!("and {} more; --json has them", all.len() - MOST);
        let _ = writeln!(out, "{}", paint(FAINT, more));
    }
}

fn table(checked: &Checked, place: &Place, out: &mut String) {
    let Some(first) = place.steps.first() else {
        return;
    };
    let top = checked.stack.layer(first.layer);
    let title = format!(
        "where byte {} of {} lies",
        first.offset.grouped(),
        sanitise(&top.name)
    );
    let _ = writeln!(out, "\n{}", paint(STRONG, title));
    let mut rows = vec![
        [
            "layer",
            "byte",
            "512-byte sector",
            "behind a 4 KiB boundary",
        ]
        .map(str::to_owned),
    ];
    rows.extend(place.steps.iter().map(|step| {
        let layer = checked.stack.layer(step.layer);
        [
            sanitise(&named(&checked.stack, layer)).into_owned(),
            step.offset.grouped().to_string(),
            sector(step.offset),
            step.offset.div_rem(Unit::B4096).1.grouped().to_string(),
        ]
    }));
    let mut widths = [0; 4];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    for (index, row) in rows.iter().enumerate() {
        let line = format!(
            "{:<w0$}  {:>w1$}  {:>w2$}  {:>w3$}",
            row[0],
            row[1],
            row[2],
            row[3],
            w0 = widths[0],
            w1 = widths[1],
            w2 = widths[2],
            w3 = widths[3],
        );
        let line = if index == 0 { paint(FAINT, line) } else { line };
        let _ = writeln!(out, "{line}");
    }
    if let Some(why) = place.ends {
        let _ = writeln!(out, "{why}");
    }
}

/// `partition 1`, `disk.vhd (file)`, `vhd (container in disk.vhd)`.
fn named(stack: &Stack, layer: &Layer) -> String {
    let kind = layer.kind.name();
    let holder = layer.below.first().map(|below| stack.layer(*below));
    match holder {
        Some(file) if layer.kind == LayerKind::Container && file.kind == LayerKind::File => {
            let name = file_name(&file.name);
            format!("{} ({kind} in {name})", layer.name)
        }
        _ if layer.name.starts_with(kind) => layer.name.clone(),
        _ => format!("{} ({kind})", layer.name),
    }
}

/// `2,048`, or `63 + 100 B`.
fn sector(offset: Bytes) -> String {
    let Some(unit) = Unit::new(512) else {
        return String::new();
    };
    let (sector, rest) = offset.div_rem(unit);
    let sector = Bytes::new(sector).grouped();
    if rest == Bytes::ZERO {
        sector.to_string()
    } else {
        format!("{sector} + {} B", rest.grouped())
    }
}
