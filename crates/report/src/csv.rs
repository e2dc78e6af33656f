//! One line per partition, for many targets: what a spreadsheet wants.

use std::collections::BTreeMap;
use std::io::Write;

use straddle_geometry::{Bytes, Ratio, Unit};
use straddle_rules::{Finding, Why};
use straddle_stack::{GridRole, Key, LayerId, LayerKind, Seen, Trust};

use crate::cells::Cells;
use crate::document::{allocation_unit_above, between, stripe_unit_below};
use crate::{Checked, Counts};

/// The columns, in order. New ones are only ever added at the end.
pub const COLUMNS: [&str; 19] = [
    "target",
    "layer",
    "type",
    "start_bytes",
    "start_sectors_512",
    "size_bytes",
    "filesystem",
    "allocation_unit",
    "physical_sector",
    "physical_sector_assumed",
    "start_mod_physical_sector",
    "stripe_unit",
    "start_mod_stripe_unit",
    "severity",
    "codes",
    "worst_extra_percent",
    "device",
    "start_from",
    "start_to",
];

/// Writes the header line.
///
/// # Errors
/// Those of `out`.
pub fn header(out: impl Write) -> csv::Result<()> {
    let mut writer = Cells::new(out);
    writer.record(COLUMNS)?;
    writer.end()
}

/// The columns of a line per target, in order. New ones are only ever added at the end.
pub const TARGET_COLUMNS: [&str; 9] = [
    "target",
    "severity",
    "worst_extra_percent",
    "worst_code",
    "worst_title",
    "errors",
    "warnings",
    "notes",
    "nothing_checked",
];

/// Writes the header of lines per target.
///
/// # Errors
/// Those of `out`.
pub fn target_header(out: impl Write) -> csv::Result<()> {
    let mut writer = Cells::new(out);
    writer.record(TARGET_COLUMNS)?;
    writer.end()
}

/// Writes the line of a target.
///
/// # Errors
/// Those of `out`.
pub fn target(checked: &Checked, out: impl Write) -> csv::Result<()> {
    let mut writer = Cells::new(out);
    let counts = Counts::of(&checked.findings);
    let worst = checked.findings.first();
    let text = |of: fn(&Finding) -> String| worst.map_or_else(String::new, of);
    writer.record([
        checked.name.clone(),
        text(|finding| finding.severity.name().to_owned()),
        text(|finding| percent(finding.worst_price())),
        text(|finding| finding.code.to_string()),
        text(|finding| finding.title.clone()),
        counts.errors.to_string(),
        counts.warnings.to_string(),
        counts.notes.to_string(),
        checked.coverage.why().map_or("", Why::words).to_owned(),
    ])?;
    writer.end()
}

/// The columns of a line per finding, in order. New ones are only ever added at the end.
pub const FINDING_COLUMNS: [&str; 8] = [
    "target",
    "severity",
    "code",
    "layer",
    "start_bytes",
    "extra_percent",
    "title",
    "nothing_checked",
];

/// Writes the header of lines per finding.
///
/// # Errors
/// Those of `out`.
pub fn findings_header(out: impl Write) -> csv::Result<()> {
    let mut writer = Cells::new(out);
    writer.record(FINDING_COLUMNS)?;
    writer.end()
}

/// Writes a line for each finding of a target; one without a code when there is none, so that no target is missing.
///
/// # Errors
/// Those of `out`.
pub fn findings(checked: &Checked, out: impl Write) -> csv::Result<()> {
    let mut writer = Cells::new(out);
    let unchecked = checked.coverage.why().map_or("", Why::words);
    if checked.findings.is_empty() {
        let mut row = [const { String::new() }; 8];
        row[0].clone_from(&checked.name);
        row[7] = unchecked.to_owned();
        writer.record(row)?;
    }
    for finding in &checked.findings {
        let layer = checked.stack.layer(finding.layer);
        let start = layer
            .placement
            .as_ref()
            .map(|fact| fact.value.start().get());
        writer.record([
            checked.name.clone(),
            finding.severity.name().to_owned(),
            finding.code.to_string(),
            layer.name.to_string(),
            start.map_or_else(String::new, |start| start.to_string()),
            percent(finding.worst_price()),
            finding.title.clone(),
            unchecked.to_owned(),
        ])?;
    }
    writer.end()
}

/// Writes one line per partition of a target; one line for the whole target when it has none.
///
/// # Errors
/// Those of `out`.
pub fn rows(checked: &Checked, out: impl Write) -> csv::Result<()> {
    let mut writer = Cells::new(out);
    let stack = &checked.stack;
    let partitions = stack
        .iter()
        .filter(|(_, layer)| layer.kind == LayerKind::Partition);
    let mut subjects: Vec<LayerId> = partitions.map(|(id, _)| id).collect();
    if subjects.is_empty() {
        subjects.extend(stack.roots());
    }
    let about = by_subject(checked);
    for id in subjects {
        let about = about.get(&id).map_or(&[][..], Vec::as_slice);
        writer.record(row(checked, id, about))?;
    }
    writer.end()
}

/// The findings about each layer and everything that rests on it; of a virtual disk, and the files and virtual disks that
/// it needs, also for what lies in it, since it has no line of its own.
fn by_subject(checked: &Checked) -> BTreeMap<LayerId, Vec<&Finding>> {
    let mut out: BTreeMap<LayerId, Vec<&Finding>> = BTreeMap::new();
    for finding in &checked.findings {
        let below = checked.stack.foundations(finding.layer);
        for id in below.into_iter().chain([finding.layer]) {
            out.entry(id).or_default().push(finding);
        }
        if holds_a_guest(checked, finding.layer) {
            for (id, layer) in checked.stack.iter() {
                if layer.kind == LayerKind::Partition
                    && checked.stack.foundations(id).contains(&finding.layer)
                {
                    out.entry(id).or_default().push(finding);
                }
            }
        }
    }
    out
}

/// True for virtual disks and the files that hold them.
fn holds_a_guest(checked: &Checked, id: LayerId) -> bool {
    let stack = &checked.stack;
    match stack.layer(id).kind {
        LayerKind::Container => true,
        LayerKind::File => stack
            .above(id)
            .any(|above| stack.layer(above).kind == LayerKind::Container),
        _ => false,
    }
}

fn percent(ratio: Ratio) -> String {
    format!("{:.2}", ratio.to_f64() * 100.0)
}

fn row(checked: &Checked, id: LayerId, about: &[&Finding]) -> [String; COLUMNS.len()] {
    let stack = &checked.stack;
    let layer = stack.layer(id);
    let number = |bytes: Option<Bytes>| bytes.map_or(String::new(), |b| b.get().to_string());
    let start = layer
        .placement
        .as_ref()
        .map(|placement| placement.value.start());
    let sectors = start.and_then(|s| Unit::new(512).map(|unit| s.div_rem(unit)));
    let filesystem = stack
        .above(id)
        .find_map(|above| stack.layer(above).format.clone());
    let seen = stack.grids_seen_from(id);
    let off = |role: GridRole| {
        seen.iter()
            .find(|grid| grid.role == role && grid.layer != id)
            .map(|grid| {
                let rest = match grid.seen {
                    Seen::Uniform(g) => Some(g.remainder(Bytes::ZERO)),
                    Seen::Pieces(_) => None,
                };
                (
                    grid.fact.value.unit().bytes(),
                    grid.fact.trust == Trust::Assumed,
                    rest,
                )
            })
    };
    let physical = off(GridRole::PhysicalSector);
    let stripe = off(GridRole::StripeUnit);
    let mut codes: Vec<String> = about.iter().map(|f| f.code.to_string()).collect();
    codes.sort();
    codes.dedup();
    let worst = about.iter().map(|f| f.worst_price()).max();
    let device = stack
        .foundations(id)
        .last()
        .map_or(String::new(), |base| stack.layer(*base).name.clone());
    // Of a start that is known only as a rounded figure: what it can be. A figure that cannot be right is left out.
    let rounded = between(layer, Key::StartShown)
        .filter(|(_, trust)| *trust != Trust::Doubtful)
        .map(|(shown, _)| shown);
    [
        checked.name.clone(),
        layer.name.clone(),
        layer
            .text(Key::PartitionType)
            .unwrap_or_default()
            .to_owned(),
        number(start),
        sectors
            .filter(|(_, rest)| *rest == Bytes::ZERO)
            .map_or(String::new(), |(n, _)| n.to_string()),
        number(layer.size.as_ref().map(|size| size.value)),
        filesystem.map_or(String::new(), |f| f.into_owned()),
        number(allocation_unit_above(stack, id).map(Unit::bytes)),
        number(physical.map(|(unit, _, _)| unit)),
        physical.map_or(String::new(), |(_, assumed, _)| assumed.to_string()),
        number(physical.and_then(|(_, _, rest)| rest)),
        number(stripe_unit_below(stack, id).map(|(_, unit)| unit.bytes())),
        number(stripe.and_then(|(_, _, rest)| rest)),
        about
            .iter()
            .map(|f| f.severity)
            .max()
            .map_or("", |s| s.name())
            .to_owned(),
        codes.join(" "),
        worst.map_or(String::new(), percent),
        device,
        number(rounded.map(|shown| shown.from())),
        number(rounded.map(|shown| shown.to())),
    ]
}
