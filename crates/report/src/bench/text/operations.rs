//! Operations per request: what geometry expects, and what the kernel counted.

use straddle_bench::place::{SizePrice, Standing};
use straddle_bench::results::{DeviceOperations, Experiment};
use straddle_geometry::{Family, Price, Unit};
use straddle_stack::LayerId;
use straddle_workload::{Pattern, Workload};

use crate::text::page::folded;
use std::fmt::Write;

use super::super::wording::{Group, decimals, delivered, list, load, offset_name};
use super::heading;
use super::placing::same_grid;
use crate::escape::terminal;
use crate::text::table::{self, Cell, Column};

/// Operations for each request that do not come from it: a filesystem writes its journal now and then.
const STRAY: f64 = 0.01;

/// Devices below an array that are told by name.
const NAMED: usize = 4;

/// Writes a row for each grid that tells the offsets apart, then one for each cell and kind of device.
pub(super) fn render(experiment: &Experiment, group: &Group<'_>, width: usize, out: &mut String) {
    if !group.is_measured(experiment) {
        return;
    }
    let mut rows = expected(experiment, group.workload);
    for devices in device_groups(experiment, group) {
        rows.extend(counted(experiment, group, &devices));
    }
    if rows.is_empty() {
        return;
    }
    heading(
        out,
        width,
        "Operations per request",
        &format!(", {}", group.title),
    );
    let labels = rows.iter().map(|row| row.0.as_str().into()).collect();
    let offsets = 0..experiment.plan.offsets.len();
    let columns: Vec<Column> = offsets
        .map(|offset| {
            let name = terminal(offset_name(&experiment.plan, offset)).into_owned();
            let cells = rows.iter();
            let cells = cells.map(|row| row.1.get(offset).cloned().unwrap_or("–".into()));
            Column::figures(name, cells.collect())
        })
        .collect();
    table::render(&[Column::words("", labels)], &columns, width, out);
    if let Some(text) = disagreement(experiment, group) {
        for line in folded(&text, width - 2) {
            let _ = writeln!(out, "  {line}");
        }
    }
}

/// Counts that are off by more than this share of what geometry expects are explained.
const AGREE: f64 = 0.1;

/// Why what was counted is not what geometry expects, and which of them to believe; `None` where they agree.
fn disagreement(experiment: &Experiment, group: &Group<'_>) -> Option<String> {
    let lowest = device_groups(experiment, group).pop()?;
    let counted = |offset: usize| {
        let sums = group.cells.iter().filter_map(|cell| {
            let result = delivered(experiment, *cell, offset)?;
            let all = result.device_operations.iter();
            let of = all.filter(|device| lowest.contains(&device.device));
            Some(of.map(|device| device.reads + device.writes).sum::<f64>())
        });
        sums.reduce(f64::max).filter(|counted| *counted > 0.0)
    };
    // Of a mix, as often as each comes.
    let share = f64::from(group.workload.reads.get()) / 100.0;
    let mean = |standing: &Standing| {
        let part = |share: f64, of: fn(&SizePrice) -> Option<Price>| match share > 0.0 {
            true => mean_operations(standing, group.workload, of).map(|mean| mean * share),
            false => Some(0.0),
        };
        Some(part(share, |price| price.read)? + part(1.0 - share, |price| price.write)?)
    };
    let places = &experiment.setting.places;
    let first = places.first()?;
    first.standings.iter().find_map(|grid| {
        let means: Vec<Option<f64>> = places
            .iter()
            .map(|place| place.standings.iter().find(|s| same_grid(s, grid)))
            .map(|standing| mean(standing?))
            .collect();
        // What is the same for all offsets is not told.
        let is_told = means.iter().any(|mean| *mean != means[0]);
        let mut pairs = means.iter().enumerate().filter(|_| is_told);
        pairs.find_map(|(offset, expected)| {
            let (expected, counted) = ((*expected)?, counted(offset)?);
            let is_off = (counted / expected - 1.0).abs() > AGREE;
            is_off.then(|| {
                let figures = [expected, counted].map(figure_text);
                why(grid.role.family(), &figures, &lowest)
            })
        })
    })
}

fn why(family: Family, [expected, counted]: &[String; 2], devices: &[String]) -> String {
    let devices: Vec<String> = devices.iter().map(|d| terminal(d).into_owned()).collect();
    let devices = match devices.len() > NAMED {
        true => format!("{} devices", devices.len()),
        false => list(&devices),
    };
    match family {
        Family::ReadModifyWrite => format!(
            "Geometry {expected} and counted {counted} do not contradict each other: geometry counts sectors that a drive touches inside, the kernel commands that it \
             sends to {devices}. Believe the count for commands. What the sectors cost, only the rates above show; where they show nothing, the sector is \
             another than was read or assumed, or a cache of the drive gathers writes."
        ),
        Family::Splitting => format!(
            "Geometry {expected}, counted {counted} on {devices}: believe the count where these are the members of the array; the stripe unit is another then, or the kernel \
             merged requests. Where they are a volume that an array shows, it splits requests behind it, and only the rates above show what that costs."
        ),
    }
}

type Row = (String, Vec<Cell>);

/// What geometry expects on every grid on which the offsets differ.
fn expected(experiment: &Experiment, workload: &Workload) -> Vec<Row> {
    // Recorded requests are no lattice, of which that could be said; `straddle trace` counts them.
    if matches!(workload.pattern, Pattern::Recorded(_)) {
        return Vec::new();
    }
    let places = &experiment.setting.places;
    let Some(first) = places.first() else {
        return Vec::new();
    };
    let mut rows: Vec<Row> = Vec::new();
    // Two grids with the same boundaries, such as physical sector and minimum I/O size, say the same.
    let mut told: Vec<(Unit, LayerId, &str, Vec<Option<f64>>)> = Vec::new();
    for grid in &first.standings {
        let standings: Vec<Option<&Standing>> = places
            .iter()
            .map(|p| p.standings.iter().find(|s| same_grid(s, grid)))
            .collect();
        type Of = fn(&SizePrice) -> Option<Price>;
        let directions: [(&str, bool, Of); 2] = [
            ("reads", workload.reads.get() > 0, |p| p.read),
            ("writes", !workload.is_read_only(), |p| p.write),
        ];
        let mut found: Vec<(&str, Vec<Option<f64>>)> = Vec::new();
        for (name, asked, of) in directions {
            if !asked {
                continue;
            }
            let all = standings.iter();
            let means: Vec<Option<f64>> = all
                .map(|standing| standing.and_then(|s| mean_operations(s, workload, of)))
                .collect();
            if means.iter().any(|mean| *mean != means[0]) {
                found.push((name, means));
            }
        }
        // A split costs reads and writes the same.
        if let [(_, reads), (_, writes)] = found.as_slice()
            && reads == writes
        {
            found.pop();
            found[0].0 = "";
        }
        for (name, means) in found {
            let line = (grid.unit, grid.layer, name, means.clone());
            if told.contains(&line) {
                continue;
            }
            told.push(line);
            // What a read or write touches there is counted in sectors, or whatever they are called.
            let granules = match grid.role.family() {
                Family::Splitting => "",
                Family::ReadModifyWrite => "s",
            };
            let name = if name.is_empty() || group_is_pure(workload) {
                String::new()
            } else {
                format!(", {name}")
            };
            let cells = means.into_iter().map(|m| m.map_or("–".into(), figure));
            rows.push((
                format!(
                    "geometry: {}{granules} of {}{name}",
                    grid.role.name(),
                    terminal(&grid.layer_name)
                ),
                cells.collect(),
            ));
        }
    }
    rows
}

fn group_is_pure(workload: &Workload) -> bool {
    matches!(workload.reads.get(), 0 | 100)
}

/// Mean operations of a request over the sizes of a workload, as often as each comes.
fn mean_operations(
    standing: &Standing,
    workload: &Workload,
    of: fn(&SizePrice) -> Option<Price>,
) -> Option<f64> {
    let (mut sum, mut all) = (0.0, 0.0);
    for (size, weight) in &workload.sizes {
        let price = standing.prices.iter().find(|p| {
            let stride = workload.stride().filter(|stride| stride != size);
            p.size == *size && p.stride == stride
        });
        let price = price.and_then(of)?;
        sum += price.now.to_f64() * f64::from(*weight);
        all += f64::from(*weight);
    }
    (all > 0.0).then(|| sum / all)
}

/// Devices whose counts belong together: the lowest of the stack, then every other one by itself.
fn device_groups(experiment: &Experiment, group: &Group<'_>) -> Vec<Vec<String>> {
    let mut names: Vec<&str> = Vec::new();
    for cell in &group.cells {
        for offset in 0..experiment.plan.offsets.len() {
            let Some(result) = delivered(experiment, *cell, offset) else {
                continue;
            };
            for device in &result.device_operations {
                if !names.contains(&device.device.as_str()) {
                    names.push(&device.device);
                }
            }
        }
    }
    let lowest = |name: &str| {
        experiment.setting.stack.as_ref().is_some_and(|stack| {
            stack
                .iter()
                .any(|(_, layer)| layer.below.is_empty() && layer.name == name)
        })
    };
    let (mut members, others): (Vec<&str>, Vec<&str>) = names.into_iter().partition(|n| lowest(n));
    // sda, sdb, …, sdaa: the stack lists them as it found them.
    members.sort_by_key(|name| (name.len(), *name));
    let mut out: Vec<Vec<String>> = others.iter().map(|name| vec![(*name).to_owned()]).collect();
    if !members.is_empty() {
        out.push(members.into_iter().map(str::to_owned).collect());
    }
    out
}

/// What was counted on some devices together: their names, then a row for each cell.
fn counted(experiment: &Experiment, group: &Group<'_>, devices: &[String]) -> Vec<Row> {
    let names: Vec<String> = devices.iter().map(|d| terminal(d).into_owned()).collect();
    let name = if names.len() > NAMED {
        format!("{} devices", names.len())
    } else {
        list(&names)
    };
    let offsets = experiment.plan.offsets.len();
    let mut rows = vec![(format!("counted on {name}"), vec!["".into(); offsets])];
    for cell in &group.cells {
        let cells: Vec<Option<Cell>> = (0..offsets)
            .map(|offset| {
                let result = delivered(experiment, *cell, offset)?;
                let all = result.device_operations.iter();
                let these = all.filter(|d| devices.contains(&d.device));
                let these: Vec<&DeviceOperations> = these.collect();
                (!these.is_empty()).then(|| operations(&these, group.workload))
            })
            .collect();
        if cells.iter().all(Option::is_none) {
            continue;
        }
        let load = experiment.plan.cells.get(*cell).map(load);
        rows.push((
            format!("  {}", load.unwrap_or_default()),
            cells.into_iter().map(|c| c.unwrap_or("–".into())).collect(),
        ));
    }
    rows
}

/// `1.125`, or `1.000 r + 2.000 w` where there are both in a workload that has only one, which is what read-modify-write
/// looks like from below.
fn operations(devices: &[&DeviceOperations], workload: &Workload) -> Cell {
    let sum = |of: fn(&DeviceOperations) -> f64| devices.iter().map(|d| of(d)).sum::<f64>();
    let (reads, writes) = (sum(|d| d.reads), sum(|d| d.writes));
    let both = match workload.reads.get() {
        0 => reads >= STRAY,
        100 => writes >= STRAY,
        _ => true,
    };
    if both {
        format!("{} r + {} w", figure_text(reads), figure_text(writes)).into()
    } else {
        figure(reads + writes)
    }
}

fn figure(operations: f64) -> Cell {
    figure_text(operations).into()
}

fn figure_text(operations: f64) -> String {
    decimals(operations, 3)
}
