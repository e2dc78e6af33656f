//! The table from a guest's page to the host's sector.

use std::fmt::{Display, Formatter, Write};
use straddle_geometry::{Bytes, Share, Unit};
use straddle_stack::{Layer, LayerId, LayerKind, Stack, WrittenRun};

use super::stack::file_name;
use super::style::{FAINT, STRONG, paint};
use crate::Checked;
use crate::escape::terminal;
use crate::places::{GapDocument, Place, places};

/// Most tables that are printed; the JSON document has more.
const MAX: usize = 4;
/// Most rows of what a write changes, and most lines on what is not known of it.
const MAX_ROWS: usize = 32;

/// Writes a table for each layer that was asked for, or each topmost layer of a guest.
pub(super) fn render(checked: &Checked, out: &mut String) {
    let all = places(checked);
    for place in all.iter().take(MAX) {
        path(checked, place, out);
        if place.length > Bytes::new(1) {
            changes(checked, place, out);
        }
        unknown(checked, place, out);
    }
    if all.len() > MAX {
        let more = format!("and {} more; --json has them", all.len() - MAX);
        let _ = writeln!(out, "{}", paint(FAINT, more));
    }
    if let Some(name) = checked.asked.of.as_deref().filter(|_| all.is_empty()) {
        let _ = writeln!(out, "\nno layer is called {}", terminal(name));
    }
}

/// The way of the first byte; below it, copies and parities of a byte that is asked for alone.
fn path(checked: &Checked, place: &Place, out: &mut String) {
    let stack = &checked.stack;
    let Some(first) = place.steps.first() else {
        return;
    };
    let top = stack.layer(first.layer);
    let title = format!(
        "where byte {} of {} lies",
        first.offset.grouped(),
        terminal(&top.name)
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
    let row = |layer: LayerId, offset: Bytes, share: Share| {
        [
            on(stack, layer, share),
            offset.grouped().to_string(),
            sector(offset),
            offset.div_rem(Unit::B4096).1.grouped().to_string(),
        ]
    };
    let steps = place.steps.iter();
    rows.extend(steps.map(|step| row(step.layer, step.offset, Share::Data)));
    if place.length == Bytes::new(1) {
        let others = bottom(checked, place).filter(|run| run.share != Share::Data);
        let others = others.map(|run| row(run.layer, run.extent.start(), run.share));
        rows.extend(others.take(MAX_ROWS));
    }
    table(&rows, out);
    if let Some(why) = place.ends {
        let _ = writeln!(out, "{why}");
    }
}

/// What a write changes on the layers that rest on nothing: data, then copies and parities, by address.
fn changes(checked: &Checked, place: &Place, out: &mut String) {
    let mut runs: Vec<&WrittenRun> = bottom(checked, place).collect();
    if runs.is_empty() {
        return;
    }
    runs.sort_by_key(|run| (run.layer, run.extent, run.share));
    let title = format!("what a write of {} there changes", Amount(place.length));
    let _ = writeln!(out, "\n{}", paint(STRONG, title));
    let mut rows = vec![["layer", "byte", "bytes", "512-byte sector"].map(str::to_owned)];
    rows.extend(runs.iter().take(MAX_ROWS).map(|run| {
        [
            on(&checked.stack, run.layer, run.share),
            run.extent.start().grouped().to_string(),
            run.extent.len().grouped().to_string(),
            sector(run.extent.start()),
        ]
    }));
    table(&rows, out);
    if runs.len() > MAX_ROWS {
        let more = format!("and {} more; --json has them", runs.len() - MAX_ROWS);
        let _ = writeln!(out, "{}", paint(FAINT, more));
    }
}

/// What else is written, when somebody asked, and the path has not said so.
fn unknown(checked: &Checked, place: &Place, out: &mut String) {
    if checked.asked.extents.is_empty() {
        return;
    }
    let told = |gap: &&GapDocument| {
        let is_last = place
            .steps
            .last()
            .is_some_and(|last| last.layer == gap.layer);
        place.length > Bytes::new(1) || !is_last || place.ends != Some(gap.why)
    };
    for gap in place.gaps.iter().filter(told).take(MAX_ROWS) {
        let layer = on(&checked.stack, gap.layer, Share::Data);
        let line = match gap.beside {
            Some(other) => format!(
                "{layer} writes to {} too: {}",
                on(&checked.stack, other, Share::Data),
                gap.why
            ),
            None => format!(
                "{} from byte {} of {layer}: {}",
                Amount(gap.extent.len()),
                gap.extent.start().grouped(),
                gap.why
            ),
        };
        let _ = writeln!(out, "{line}");
    }
}

/// Runs on layers that rest on nothing.
fn bottom<'a>(checked: &'a Checked, place: &'a Place) -> impl Iterator<Item = &'a WrittenRun> {
    let is_bottom = |run: &&WrittenRun| checked.stack.layer(run.layer).below.is_empty();
    place.written.iter().filter(is_bottom)
}

/// Writes rows whose first is their heading; numbers to the right.
fn table(rows: &[[String; 4]], out: &mut String) {
    let mut widths = [0; 4];
    for row in rows {
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
}

/// A number of bytes in a sentence.
struct Amount(Bytes);

impl Display for Amount {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let noun = if self.0 == Bytes::new(1) {
            "byte"
        } else {
            "bytes"
        };
        write!(f, "{} {noun}", self.0.grouped())
    }
}

/// `sdb (device)`, `sdb (device), parity`.
fn on(stack: &Stack, layer: LayerId, share: Share) -> String {
    let name = named(stack, stack.layer(layer));
    let name = terminal(&name);
    match share {
        Share::Data => name.into_owned(),
        _ => format!("{name}, {}", share.name()),
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
