//! Where the offsets lie: on the device, and on every grid below.

use std::fmt::Write;

use straddle_bench::place::{Placed, SizePrice, Standing};
use straddle_bench::results::Experiment;
use straddle_geometry::{Bytes, Family, Price, Ratio, both_ways};

use super::super::wording::{class, list};
use super::heading;
use crate::escape::terminal;
use crate::text::page::folded;
use crate::text::style::{FAINT, GOOD, WARNING, paint};
use crate::text::table::{self, Column};

/// Writes a line for each offset, then a paragraph for each grid.
pub(super) fn render(experiment: &Experiment, width: usize, out: &mut String) {
    let places = &experiment.setting.places;
    if places.is_empty() {
        return;
    }
    heading(out, width, "Where the offsets lie", "");
    addresses(experiment, width, out);
    grids(experiment, width, out);
}

fn addresses(experiment: &Experiment, width: usize, out: &mut String) {
    let places = &experiment.setting.places;
    let names = places.iter().map(|p| terminal(&p.offset.name).into());
    let mut columns = vec![Column::words(
        "shifted by",
        places
            .iter()
            .map(|p| both_ways(p.offset.bytes).into())
            .collect(),
    )];
    if let Some(device) = places.iter().find_map(|p| p.device.as_ref()) {
        let at = |p: &Placed| p.device.as_ref().map_or("–".into(), |(_, at)| grouped(*at));
        columns.push(Column::figures(
            format!("on {} at byte", terminal(&device.0)),
            places.iter().map(|p| at(p).into()).collect(),
        ));
    }
    let classes = places.iter().map(|p| class(p.class).into());
    columns.push(Column::words("class", classes.collect()));
    table::render(
        &[Column::words("offset", names.collect())],
        &columns,
        width,
        out,
    );
    let shared = |p: &&Placed| places.iter().filter(|q| q.class == p.class).count() > 1;
    if places.iter().any(|p| shared(&p)) {
        let note = "Offsets of one class stand alike on every known grid: what differs between them is noise, or a grid \
                    that nothing here knows of.";
        for line in folded(note, width - 2) {
            let _ = writeln!(out, "  {}", paint(FAINT, line));
        }
    }
}

fn grouped(bytes: Bytes) -> String {
    bytes.grouped().to_string()
}

/// `stripe unit 64 KiB of md0`.
fn grid_name(standing: &Standing) -> String {
    let name = format!(
        "{} {} of {}",
        standing.role.name(),
        standing.unit,
        standing.layer_name
    );
    terminal(&name).into_owned()
}

/// The same grid of another offset.
pub(super) fn same_grid(a: &Standing, b: &Standing) -> bool {
    a.role == b.role && a.layer == b.layer && a.unit == b.unit
}

fn grids(experiment: &Experiment, width: usize, out: &mut String) {
    let places = &experiment.setting.places;
    let Some(first) = places.iter().max_by_key(|p| p.standings.len()) else {
        return;
    };
    if first.standings.is_empty() {
        let _ = writeln!(
            out,
            "\n  {}",
            paint(
                WARNING,
                "No grid below is known: geometry has nothing to say."
            )
        );
        return;
    }
    let (reads, writes) = directions(experiment);
    let mut told: Vec<(Vec<String>, &Standing, Vec<Kind<'_>>)> = Vec::new();
    let mut harmless: Vec<String> = Vec::new();
    for grid in &first.standings {
        let kinds = kinds(places, grid);
        if let [(_, standing)] = kinds.as_slice()
            && standing.phase == Some(Bytes::ZERO)
        {
            harmless.push(grid_name(grid));
            continue;
        }
        // Two grids with the same boundaries, such as physical sector and minimum I/O size, are told once.
        let same = |(_, other, theirs): &&mut (Vec<String>, &Standing, Vec<Kind<'_>>)| {
            other.unit == grid.unit
                && other.layer == grid.layer
                && alike(theirs, &kinds, (reads, writes))
        };
        match told.iter_mut().find(same) {
            Some((roles, ..)) => roles.push(grid.role.name().to_owned()),
            None => told.push((vec![grid.role.name().to_owned()], grid, kinds)),
        }
    }
    for (roles, grid, kinds) in &told {
        let name = format!("{} {} of {}", list(roles), grid.unit, grid.layer_name);
        let _ = writeln!(out, "\n  {}", terminal(&name));
        let names: Vec<String> = kinds
            .iter()
            .map(|(names, _)| {
                if names.len() > 1 && names.len() == places.len() {
                    "all of them".to_owned()
                } else {
                    list(names)
                }
            })
            .collect();
        let pad = names.iter().map(|n| n.chars().count()).max().unwrap_or(0);
        for (name, (_, standing)) in names.iter().zip(kinds) {
            let padding = " ".repeat(pad - name.chars().count());
            let text = stands(standing, reads, writes);
            let hang = " ".repeat(pad + 6);
            let lines = folded(&text, width.saturating_sub(hang.len()).max(30));
            for (index, line) in lines.iter().enumerate() {
                let line = if standing.phase == Some(Bytes::ZERO) {
                    paint(GOOD, line)
                } else {
                    line.clone()
                };
                let _ = match index {
                    0 => writeln!(out, "    {name}{padding}  {line}"),
                    _ => writeln!(out, "{hang}{line}"),
                };
            }
        }
    }
    if !harmless.is_empty() {
        out.push('\n');
        let text = format!("All of them lie on a boundary of: {}.", list(&harmless));
        for line in folded(&text, width - 2) {
            let _ = writeln!(out, "  {line}");
        }
    }
}

/// Offsets that stand alike on a grid, and how.
type Kind<'a> = (Vec<String>, &'a Standing);

/// The offsets on a grid, those that stand alike together.
fn kinds<'a>(places: &'a [Placed], grid: &Standing) -> Vec<Kind<'a>> {
    let mut out: Vec<Kind<'a>> = Vec::new();
    for place in places {
        let Some(standing) = place.standings.iter().find(|s| same_grid(s, grid)) else {
            continue;
        };
        let name = terminal(&place.offset.name).into_owned();
        let same = |s: &Standing| s.phase == standing.phase && s.prices == standing.prices;
        match out.iter_mut().find(|(_, s)| same(s)) {
            Some((names, _)) => names.push(name),
            None => out.push((vec![name], standing)),
        }
    }
    out
}

/// True when on both grids the same is to be said of the same offsets.
fn alike(a: &[Kind<'_>], b: &[Kind<'_>], (reads, writes): (bool, bool)) -> bool {
    let said = |kind: &Kind<'_>| stands(kind.1, reads, writes);
    let mut pairs = a.iter().zip(b);
    a.len() == b.len() && pairs.all(|(a, b)| a.0 == b.0 && said(a) == said(b))
}

/// Whether the plan reads, and whether it writes.
fn directions(experiment: &Experiment) -> (bool, bool) {
    let cells = &experiment.plan.cells;
    (
        cells.iter().any(|w| w.reads.get() > 0),
        cells.iter().any(|w| !w.is_read_only()),
    )
}

/// `31.5 KiB past a boundary; 8 KiB reads: 12.5% straddle, +12.5% operations`.
fn stands(standing: &Standing, reads: bool, writes: bool) -> String {
    let at = match standing.phase {
        None => "differs from piece to piece of the file".to_owned(),
        Some(Bytes::ZERO) => "on a boundary".to_owned(),
        Some(off) => format!("{off} past a boundary"),
    };
    let prices: Vec<String> = standing
        .prices
        .iter()
        .map(|p| price(standing, p, reads, writes))
        .collect();
    if prices.is_empty() {
        return at;
    }
    let paid = |price: Option<Price>| price.is_none_or(|p| !p.extra.is_zero());
    let free = standing
        .prices
        .iter()
        .all(|p| !(reads && paid(p.read) || writes && paid(p.write)));
    if free {
        let sizes = standing.prices.iter().map(|p| p.size.to_string());
        let mut sizes: Vec<String> = sizes.collect();
        sizes.dedup();
        return format!("{at}; nothing extra for {} requests", list(&sizes));
    }
    format!("{at}; {}", prices.join("; "))
}

/// `8 KiB reads: 12.5% straddle, +12.5% operations`.
fn price(standing: &Standing, price: &SizePrice, reads: bool, writes: bool) -> String {
    let extra = |price: Option<Price>| match price {
        None => "price not known".to_owned(),
        Some(p) if p.extra.is_zero() => "nothing extra".to_owned(),
        Some(p) => format!("+{} operations", p.extra),
    };
    // One boundary at most lies in a request that fits the unit, so what is extra is what straddles.
    let single = |p: &Price| {
        let splits = standing.role.family() == Family::Splitting;
        splits && p.aligned == Ratio::ONE && !p.extra.is_zero()
    };
    let straddling = match price.read.filter(single) {
        Some(p) if price.size <= standing.unit => format!("{} straddle, ", p.extra),
        _ => String::new(),
    };
    let every = price.stride.map(|stride| format!(" every {stride}"));
    let every = every.unwrap_or_default();
    let size = price.size;
    let (read, write) = (extra(price.read), extra(price.write));
    match (reads, writes) {
        (true, true) if read == write => {
            format!("{size} reads and writes{every}: {straddling}{read}")
        }
        (true, true) => format!("{size} reads{every}: {straddling}{read}, writes: {write}"),
        (false, true) => format!("{size} writes{every}: {straddling}{write}"),
        _ => format!("{size} reads{every}: {straddling}{read}"),
    }
}
