//! The stack as a tree: every layer with its place, its grids, and the two classical correlations.

use std::fmt::Write;

use straddle_geometry::{Bytes, Grid, Unit, both_ways};
use straddle_rules::{Correlation, division, is_said_to_be_aligned};
use straddle_stack::{
    Fact, GridFact, GridRole, Interval, Key, Layer, LayerId, LayerKind, NOT_GIVEN, Seen, SeenGrid,
    Source, Trust, Value,
};

use super::page::joined;
use super::style::{ERROR, FAINT, FRAME, GOOD, STRONG, paint};
use crate::Checked;
use crate::document::{
    allocation_unit_above, between, correlations, first_correlation, has_correlations, start_below,
};
use crate::escape::terminal;
use crate::places::ends;

/// Width of the lines of attributes.
const WIDTH: usize = 92;

/// Stripe units that arrays use; what is printed when the stripe unit is not known.
const PLAUSIBLE_STRIPE_UNITS: [u64; 7] = [16, 32, 64, 128, 256, 512, 1024];

/// Said of what lies in pieces, all of them well.
const EVERY_PIECE: &str = "every piece starts on a boundary";

/// Writes every root with what rests on it.
pub(super) fn render(checked: &Checked, out: &mut String) {
    let roots: Vec<LayerId> = checked.stack.roots().collect();
    for root in roots {
        Tree { checked, out }.layer(root, None, "", "");
    }
}

struct Tree<'a> {
    checked: &'a Checked,
    out: &'a mut String,
}

impl Tree<'_> {
    /// Writes `id` behind `first`, and what belongs to it behind `rest`.
    fn layer(&mut self, id: LayerId, from: Option<LayerId>, first: &str, rest: &str) {
        let stack = &self.checked.stack;
        let layer = stack.layer(id);
        let above: Vec<LayerId> = stack.above(id).collect();
        // A layer over several others (an array) is told in full below the first of them only.
        let repeated = from.is_some_and(|below| layer.below.first() != Some(&below));
        let headline = if repeated {
            self.reference(layer)
        } else if layer.anomalies.iter().any(|odd| odd.detail == NOT_GIVEN) {
            format!(
                "{}  {}",
                paint(STRONG, terminal(&layer.name)),
                paint(FAINT, "not given")
            )
        } else {
            self.headline(id, layer)
        };
        let _ = writeln!(self.out, "{}{headline}", paint(FRAME, first));
        if repeated {
            return;
        }
        let bar = if above.is_empty() { "   " } else { "│  " };
        for line in self.details(id, layer) {
            let _ = writeln!(self.out, "{}{line}", paint(FRAME, format!("{rest}{bar}")));
        }
        for (index, child) in above.iter().enumerate() {
            let last = index + 1 == above.len();
            let (branch, stem) = if last {
                ("└─ ", "   ")
            } else {
                ("├─ ", "│  ")
            };
            self.layer(
                *child,
                Some(id),
                &format!("{rest}{branch}"),
                &format!("{rest}{stem}"),
            );
        }
    }

    /// `qcow2 of top.qcow2  shown above`: a virtual disk below one of the other files that it needs; `md0  shown above`: an
    /// array below its other members.
    fn reference(&self, layer: &Layer) -> String {
        let file = layer.below.first().map(|id| self.checked.stack.layer(*id));
        let file = file.filter(|_| layer.kind == LayerKind::Container);
        let of = file.map_or_else(String::new, |file| format!(" of {}", file_name(&file.name)));
        format!(
            "{}  {}",
            paint(STRONG, terminal(&format!("{}{of}", layer.name))),
            paint(FAINT, "shown above")
        )
    }

    /// `partition 1  type 07, 20 GiB, starts at 31.5 KiB = 63 sectors = 32,256 B`.
    fn headline(&self, id: LayerId, layer: &Layer) -> String {
        let mut parts: Vec<String> = Vec::new();
        if layer.kind != LayerKind::Partition || layer.format.is_some() {
            let kind = match &layer.format {
                Some(format) if **format == *layer.name => layer.kind.name().to_owned(),
                Some(format) => format!("{} {format}", layer.kind.name()),
                None => layer.kind.name().to_owned(),
            };
            parts.push(kind);
        }
        if let Some(kind) = layer.text(Key::PartitionType) {
            parts.push(match layer.text(Key::PartitionTypeName) {
                Some(name) => format!("type {kind} ({name})"),
                None => format!("type {kind}"),
            });
        }
        if let Some(label) = layer.text(Key::Label).filter(|label| !label.is_empty()) {
            parts.push(format!("\"{label}\""));
        }
        if let Some(size) = &layer.size {
            parts.push(size.value.rounded());
        } else if let Some((shown, trust)) = between(layer, Key::SizeShown) {
            parts.push(rounded(shown, trust));
        }
        if layer.kind == LayerKind::Partition {
            if let Some(start) = start_below(&self.checked.stack, id) {
                parts.push(format!("starts at {}", both_ways(start)));
            } else if let Some((shown, trust)) = between(layer, Key::StartShown) {
                parts.push(format!("starts at {}", rounded(shown, trust)));
            } else if is_said_to_be_aligned(&self.checked.stack, layer) {
                parts.push("starts on a physical sector, as its system says".to_owned());
            }
        }
        if let Some(mounted) = layer.text(Key::MountPoint) {
            parts.push(format!("on {mounted}"));
        }
        format!(
            "{}  {}",
            paint(STRONG, terminal(&layer.name)),
            terminal(&parts.join(", "))
        )
    }

    fn details(&self, id: LayerId, layer: &Layer) -> Vec<String> {
        let mut lines = Vec::new();
        let mut grids: Vec<String> = Vec::new();
        // Members bring the same ones, each with its own provenance.
        for grid in layer.grids.iter().map(grid) {
            if !grids.contains(&grid) {
                grids.push(grid);
            }
        }
        if !grids.is_empty() {
            lines.extend(joined(grids.iter().map(String::as_str), "; ", WIDTH));
        }
        let facts: Vec<String> = layer
            .attributes
            .iter()
            .filter(|a| shown(a.key) && tells(&a.value.value))
            .map(|a| attribute(a.key, &a.value))
            .collect();
        lines.extend(joined(
            counted(facts).iter().map(String::as_str),
            "; ",
            WIDTH,
        ));
        if layer.kind == LayerKind::Partition {
            lines.extend(self.place_of_guest(id));
        }
        let correlated = has_correlations(&self.checked.stack, id);
        if correlated
            || matches!(
                layer.kind,
                LayerKind::File | LayerKind::Volume | LayerKind::Encryption
            )
        {
            lines.extend(self.places(id));
        }
        if correlated {
            lines.extend(self.correlations(id));
        }
        lines
    }

    /// Where a guest's partition starts in the file that holds its disk, and on the device below.
    fn place_of_guest(&self, id: LayerId) -> Option<String> {
        let stack = &self.checked.stack;
        let path = stack.path_of(id, Bytes::ZERO);
        let kind = |id: LayerId| stack.layer(id).kind;
        let container = path
            .iter()
            .position(|(id, _)| kind(*id) == LayerKind::Container)?;
        let below = path.get(container + 1..)?;
        let told = |(id, at): &(LayerId, Bytes)| {
            format!(
                "byte {} of {}",
                at.grouped(),
                terminal(&stack.layer(*id).name)
            )
        };
        let mut places: Vec<String> = below
            .iter()
            .filter(|(id, _)| kind(*id) == LayerKind::File)
            .map(told)
            .collect();
        let bottom = below
            .last()
            .filter(|(id, _)| kind(*id) == LayerKind::Device);
        places.extend(bottom.map(told));
        if places.is_empty() {
            let why = path
                .last()
                .and_then(|(id, at)| ends(self.checked, *id, *at))
                .unwrap_or("no place below is known");
            return Some(format!("its first byte lies in no file: {why}"));
        }
        Some(format!("its first byte is {}", places.join(", ")))
    }

    /// How the start of a partition divides by each grid below that something is rewritten or split at.
    fn places(&self, id: LayerId) -> Vec<String> {
        let stack = &self.checked.stack;
        let told = |role| {
            matches!(
                role,
                GridRole::PhysicalSector
                    | GridRole::StripeUnit
                    | GridRole::FullStripe
                    | GridRole::IndirectionUnit
            )
        };
        let mut lines = Vec::new();
        let all = stack.grids_seen_from(id);
        let all: Vec<&SeenGrid<'_>> = all
            .iter()
            .filter(|g| g.layer != id && told(g.role))
            .collect();
        // The files of a chain have each a grid of their own.
        let of = |seen: &SeenGrid<'_>| {
            let layer = stack.layer(seen.layer);
            let alone = all.iter().filter(|g| g.role == seen.role).count() == 1;
            if alone || layer.kind != LayerKind::File {
                return String::new();
            }
            format!(" of {}", terminal(file_name(&layer.name)))
        };
        for seen in &all {
            let up_here = match &seen.seen {
                Seen::Uniform(grid) => *grid,
                pieces @ Seen::Pieces(_) => {
                    lines.extend(
                        pieces
                            .off_grid(Bytes::ZERO)
                            .map(|(off, all)| in_pieces(seen, &of(seen), off, all)),
                    );
                    continue;
                }
            };
            let on = up_here.contains(Bytes::ZERO);
            let mark = if on {
                paint(GOOD, "on ")
            } else {
                paint(ERROR, "off")
            };
            let start = stack.start_in(id, seen.layer);
            let line = match start.filter(|start| seen.fact.value.contains(*start) == on) {
                Some(start) => division(start, seen.fact.value),
                None if on => EVERY_PIECE.to_owned(),
                None => format!("first boundary {} inside", up_here.phase()),
            };
            let line = format!(
                "{mark} {} {}{}: {line}{}",
                seen.role.name(),
                seen.fact.value.unit(),
                of(seen),
                trust(seen.fact)
            );
            // The sectors of one member after the other.
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        lines
    }

    fn correlations(&self, id: LayerId) -> Vec<String> {
        let stack = &self.checked.stack;
        let known = correlations(stack, id);
        if !known.is_empty() {
            return known.iter().map(correlation).collect();
        }
        let mut lines = Vec::new();
        // In a virtual disk the offset says nothing about what lies below its file.
        let in_guest = |below: &LayerId| stack.layer(*below).kind == LayerKind::Container;
        let start = start_below(stack, id);
        if let Some(start) = start.filter(|_| !stack.foundations(id).iter().any(in_guest)) {
            let integer =
                |kib: &u64| Unit::new(kib * 1024).is_some_and(|unit| start.is_multiple_of(unit));
            let list = |which: Vec<&u64>| match which.as_slice() {
                [first, .., last] if which.len() == PLAUSIBLE_STRIPE_UNITS.len() => {
                    format!("{first}K to {last}K")
                }
                _ => {
                    let each: Vec<String> = which.iter().map(|kib| format!("{kib}K")).collect();
                    each.join(" ")
                }
            };
            let (yes, no): (Vec<_>, Vec<_>) =
                PLAUSIBLE_STRIPE_UNITS.iter().partition(|kib| integer(kib));
            let mut line = format!(
                "{}: stripe unit not known;",
                first_correlation(stack.layer(id))
            );
            if !yes.is_empty() {
                let _ = write!(line, " an integer for {}", list(yes));
            }
            if !no.is_empty() {
                let comma = if line.ends_with(';') { "" } else { "," };
                let _ = write!(line, "{comma} not for {}", list(no));
            }
            lines.push(line);
        }
        if let Some(unit) = allocation_unit_above(stack, id) {
            let verdict = match PLAUSIBLE_STRIPE_UNITS
                .iter()
                .find(|kib| Bytes::kib(**kib).is_multiple_of(unit))
            {
                Some(kib) => format!("an integer for stripe units from {kib}K up"),
                None => "not an integer for any usual stripe unit".to_owned(),
            };
            lines.push(format!(
                "stripe unit ÷ allocation unit: {verdict} (allocation unit {unit})"
            ));
        }
        lines
    }
}

/// `31 to 32.5 KiB (rounded)`, or `131,172 B (not believed)`.
fn rounded(shown: Interval, trust: Trust) -> String {
    let how = match trust {
        Trust::Doubtful => "not believed",
        _ => "rounded",
    };
    format!("{} ({how})", span(shown))
}

/// Both ends in the largest unit that the upper one reaches, with two decimals at most: `31 to 32.5 KiB`.
fn span(shown: Interval) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let (from, to) = (shown.from().get(), shown.to().get());
    if from == to || to < 1024 {
        return shown.to_string();
    }
    let shift = (to.ilog2() / 10) * 10;
    let number = |n: u64| {
        let hundredths = (u128::from(n) * 100 + (1 << (shift - 1))) >> shift;
        let text = format!("{}.{:02}", hundredths / 100, hundredths % 100);
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    let unit = UNITS.get((shift / 10 - 1) as usize).copied();
    let (from, to) = (number(from), number(to));
    let unit = unit.unwrap_or("EiB");
    if from == to {
        format!("≈{to} {unit}")
    } else {
        format!("{from} to {to} {unit}")
    }
}

/// How much of a layer in pieces starts off a grid.
fn in_pieces(seen: &SeenGrid<'_>, of: &str, off: Bytes, all: Bytes) -> String {
    let (mark, how_much) = if off == Bytes::ZERO {
        (paint(GOOD, "on "), EVERY_PIECE.to_owned())
    } else {
        (
            paint(ERROR, "off"),
            format!("{off} of {all} lie in pieces off the boundaries"),
        )
    };
    format!(
        "{mark} {} {}{of}: {how_much}{}",
        seen.role.name(),
        seen.fact.value.unit(),
        trust(seen.fact)
    )
}

fn correlation(c: &Correlation) -> String {
    let verdict = if c.integer {
        paint(GOOD, "an integer")
    } else {
        paint(ERROR, "not an integer")
    };
    format!("{}: {}, {verdict}", c.name, c.arithmetic())
}

fn grid(fact: &GridFact) -> String {
    let g: Grid = fact.grid.value;
    let phase = if g.phase() == Bytes::ZERO {
        String::new()
    } else {
        format!(" from {}", g.phase())
    };
    format!(
        "{} {}{phase}{}",
        fact.role.name(),
        g.unit(),
        trust(&fact.grid)
    )
}

/// Says when a fact is not simply read: assumed, told by a flag, known to be false.
fn trust<T>(fact: &Fact<T>) -> String {
    let word = match (&fact.trust, &fact.source) {
        (Trust::Doubtful, _) => "not believed",
        (Trust::Assumed, _) => "assumed",
        (_, Source::Flag { .. }) => "as given",
        _ => return String::new(),
    };
    paint(FAINT, format!(" ({word})"))
}

/// Attributes that a reader of the tree wants; the others are in the JSON document.
fn shown(key: Key) -> bool {
    !matches!(
        key,
        Key::PartitionNumber
            | Key::PartitionType
            | Key::PartitionTypeName
            | Key::MemberOf
            | Key::StartSector
            | Key::Label
            | Key::VolumeId
            | Key::MountPoint
            | Key::TableSectorSize
            | Key::MaxRequest
            | Key::BlockSize
            | Key::MftOffset
            | Key::Serial
            | Key::MountOptions
            | Key::ToolsVersion
            | Key::HardwareVersion
            | Key::StartShown
            | Key::SizeShown
            | Key::Platform
            | Key::SystemGeneration
    )
}

/// False for the answers that nearly every device gives to a question about something special.
fn tells(value: &Value) -> bool {
    match value {
        Value::Bytes(bytes) => *bytes != Bytes::ZERO,
        Value::SignedBytes(n) => *n != 0,
        Value::Text(text) => text != "none",
        Value::Flag(flag) => *flag,
        Value::Between(_) => true,
        Value::Count(_) => true,
    }
}

fn attribute(key: Key, fact: &Fact<Value>) -> String {
    format!(
        "{} {}{}",
        key.name(),
        terminal(&fact.value.to_string()),
        trust(fact)
    )
}

/// The last part of a path.
pub(super) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// What is said several times, once for each member: `data offset 1 MiB (6 ×)`.
fn counted(facts: Vec<String>) -> Vec<String> {
    let mut all: Vec<(String, usize)> = Vec::new();
    for fact in facts {
        match all.iter_mut().find(|(known, _)| *known == fact) {
            Some((_, count)) => *count += 1,
            None => all.push((fact, 1)),
        }
    }
    all.into_iter()
        .map(|(fact, count)| match count {
            1 => fact,
            _ => format!("{fact} ({count} ×)"),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounded_figures_are_told_in_their_unit() {
        let told = |from, to| {
            let shown = Interval::new(Bytes::new(from), Bytes::new(to)).expect("in order");
            rounded(shown, Trust::Reported)
        };
        assert_eq!(told(31 * 1024 + 1, 33_280), "31 to 32.5 KiB (rounded)");
        assert_eq!(
            told((32 << 30) + 1, (33 << 30) + (1 << 29)),
            "32 to 33.5 GiB (rounded)"
        );
        assert_eq!(told((2 << 40) - 1024, (2 << 40) + 1024), "≈2 TiB (rounded)");
        assert_eq!(told(1, 1 << 9), "1 to 512 B (rounded)");
        let wrong = Interval::exact(Bytes::new(131_172));
        assert_eq!(
            rounded(wrong, Trust::Doubtful),
            format!("{} (not believed)", Bytes::new(131_172))
        );
        let all = Interval::new(Bytes::ZERO, Bytes::new(u64::MAX)).expect("in order");
        assert_eq!(rounded(all, Trust::Reported), "0 to 16 EiB (rounded)");
    }
}
