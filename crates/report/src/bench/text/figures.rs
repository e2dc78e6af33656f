//! The two tables that people publish, and latencies.

use std::time::Duration;

use straddle_bench::results::{Experiment, OffsetResult};
use straddle_workload::histogram::LatencySummary;

use super::super::wording::{Group, decimals, delivered, load, offset_name, rate_text};
use super::heading;
use crate::escape::terminal;
use crate::text::table::{self, Cell, Column};

/// Head of the column that says how much was under way.
pub(super) const LOAD: &str = "threads ×\noutstanding";
/// Where nothing was measured.
const NOTHING: &str = "–";

/// A column with the load of every cell of a group.
pub(super) fn loads(experiment: &Experiment, group: &Group<'_>) -> Column {
    let cells = group.cells.iter();
    let cells = cells.filter_map(|cell| experiment.plan.cells.get(*cell));
    Column::figures(LOAD, cells.map(|w| load(w).into()).collect())
}

/// A column for each offset of the plan from `first` on.
pub(super) fn by_offset(
    experiment: &Experiment,
    group: &Group<'_>,
    first: usize,
    figure: impl Fn(usize, usize) -> Cell,
) -> Vec<Column> {
    let offsets = first..experiment.plan.offsets.len();
    offsets
        .map(|offset| {
            let name = terminal(offset_name(&experiment.plan, offset)).into_owned();
            let cells = group.cells.iter().map(|cell| figure(*cell, offset));
            Column::figures(name, cells.collect())
        })
        .collect()
}

/// Writes reads each second and writes each second.
pub(super) fn rates(experiment: &Experiment, group: &Group<'_>, width: usize, out: &mut String) {
    let share = group.workload.reads.get();
    if !group.is_measured(experiment) {
        return;
    }
    let mut table = |name: &str, rate: fn(&OffsetResult) -> f64| {
        heading(out, width, name, &format!(", {}", group.title));
        let figure = |cell, offset| {
            delivered(experiment, cell, offset)
                .map_or(NOTHING.into(), |result| rate_text(rate(result)).into())
        };
        let columns = by_offset(experiment, group, 0, figure);
        table::render(&[loads(experiment, group)], &columns, width, out);
    };
    if share > 0 {
        table("Reads/s", |result| result.reads_per_second);
    }
    if share < 100 {
        table("Writes/s", |result| result.writes_per_second);
    }
}

/// Writes a table of latencies for each direction.
pub(super) fn latencies(
    experiment: &Experiment,
    group: &Group<'_>,
    width: usize,
    out: &mut String,
) {
    type Of = fn(&OffsetResult) -> Option<LatencySummary>;
    let directions: [(&str, Of); 2] = [
        ("Latency of reads", |r| r.read_latency),
        ("Latency of writes", |r| r.write_latency),
    ];
    for (name, of) in directions {
        let mut rows: Vec<(Cell, Cell, LatencySummary)> = Vec::new();
        for cell in &group.cells {
            let mut label = experiment.plan.cells.get(*cell).map(load);
            for offset in 0..experiment.plan.offsets.len() {
                let Some(latency) = delivered(experiment, *cell, offset).and_then(of) else {
                    continue;
                };
                let name = terminal(offset_name(&experiment.plan, offset)).into_owned();
                rows.push((
                    label.take().unwrap_or_default().into(),
                    name.into(),
                    latency,
                ));
            }
        }
        if rows.is_empty() {
            continue;
        }
        let scale = Scale::of(rows.iter().map(|(_, _, latency)| latency.p50));
        heading(
            out,
            width,
            name,
            &format!(" in {}, {}", scale.unit, group.title),
        );
        let column = |name: &str, of: fn(&LatencySummary) -> Duration| {
            let times: Vec<Duration> = rows.iter().map(|(_, _, latency)| of(latency)).collect();
            Column::figures(name, scale.figures(&times))
        };
        let columns = [
            column("mean", |l| l.mean),
            column("p50", |l| l.p50),
            column("p95", |l| l.p95),
            column("p99", |l| l.p99),
            column("p99.9", |l| l.p999),
            column("max", |l| l.most),
        ];
        let (load, names) = rows.iter().map(|r| (r.0.clone(), r.1.clone())).unzip();
        let labels = [Column::figures(LOAD, load), Column::words("offset", names)];
        table::render(&labels, &columns, width, out);
    }
}

/// The unit of a table of times.
pub(crate) struct Scale {
    pub(crate) unit: &'static str,
    /// Its length in seconds.
    seconds: f64,
}

impl Scale {
    /// Milliseconds, as targets for databases are given in them; microseconds where all medians are below a tenth of one.
    pub(crate) fn of(medians: impl Iterator<Item = Duration>) -> Scale {
        if medians
            .max()
            .is_some_and(|m| m < Duration::from_micros(100))
        {
            return Scale {
                unit: "µs",
                seconds: 1e-6,
            };
        }
        Scale {
            unit: "ms",
            seconds: 1e-3,
        }
    }

    /// One column: as many decimals for all of it as give the shortest time three digits, but at most three.
    pub(crate) fn figures(&self, times: &[Duration]) -> Vec<Cell> {
        let least = times.iter().filter(|time| !time.is_zero()).min();
        let least = least.map_or(1.0, |time| time.as_secs_f64() / self.seconds);
        let digits = match least {
            n if n < 10.0 => 2 + usize::from(n < 1.0),
            n if n < 100.0 => 1,
            _ => 0,
        };
        let figure = |time: &Duration| {
            let number = time.as_secs_f64() / self.seconds;
            decimals(number, digits).into()
        };
        times.iter().map(figure).collect()
    }
}
