//! Traces as text: what was read, where requests begin, what each start costs, which devices.

use std::borrow::Cow;
use std::fmt::Write;

use straddle_geometry::{Access, Bytes, Family};
use straddle_rules::Severity;
use straddle_rules::figures::{counted, percent, time};
use straddle_trace::{Cost, DeviceAnswer, GridAnswer, Load, Shape};

use super::doubts::{doubts, seconds, share};
use super::result::{Boundary, Section, Trace};
use super::words::{best_place, grouped, place, signed};
use crate::escape::terminal;
use crate::text::page::folded;
use crate::text::snippet::WIDTH;
use crate::text::style::{FAINT, STRONG, paint, severity_style};
use crate::text::table::{Cell, Column, render};

/// As many devices are listed.
const DEVICES: usize = 20;
/// As many windows.
const WINDOWS: usize = 24;
/// As many kinds of requests.
const SHAPES: usize = 5;

/// The whole report.
#[must_use]
pub fn report(trace: &Trace) -> String {
    let mut out = String::new();
    for section in &trace.sections {
        self::section(section, &mut out);
    }
    let warning = |text: &str| paint(severity_style(Severity::Warning), text);
    for doubt in doubts(trace) {
        let _ = writeln!(out, "{}: {}", warning("note"), terminal(&doubt));
    }
    bad_lines(trace, &mut out);
    let _ = writeln!(out, "{}", verdict(trace));
    out
}

fn section(section: &Section, out: &mut String) {
    let answer = &section.answer;
    if let Some(title) = &section.title {
        let _ = writeln!(out, "{}", paint(STRONG, terminal(title)));
    }
    head(&answer.all, answer.left_out, out);
    let is_known = section.title.is_some() || section.question.today != Bytes::ZERO;
    sectors(&answer.all, is_known, out);
    if section.boundaries.is_empty() {
        let _ = writeln!(
            out,
            "No grid below is known that could be straddled; --units asks about any.\n"
        );
        return;
    }
    starts(section, out);
    shapes(section, out);
    devices(section, out);
    windows(section, out);
}

/// How many requests there are, and of what kind.
fn head(all: &DeviceAnswer, left_out: u64, out: &mut String) {
    let [reads, writes] = all.requests;
    let requests = reads + writes;
    let of = |count: u64, bytes: u64, what: &str| match count {
        0 => format!("no {what}s"),
        count => format!(
            "{} {} of {} on average",
            percent(share(count, requests)),
            what.to_owned() + "s",
            Bytes::new(bytes / count).rounded()
        ),
    };
    let sequential = share(all.sequential[0] + all.sequential[1], requests);
    let _ = writeln!(
        out,
        "{}: {}, {}; {} go on where the one before ended",
        counted(requests, "request"),
        of(reads, all.bytes[0], "read"),
        of(writes, all.bytes[1], "write"),
        percent(sequential)
    );
    if left_out > 0 {
        let lines = counted(left_out, "line");
        let are = if left_out == 1 { "is" } else { "are" };
        let _ = writeln!(
            out,
            "{}",
            paint(
                FAINT,
                format!("{lines} of other steps of the same requests {are} left out")
            )
        );
    }
}

/// Where in 4 KiB requests begin.
fn sectors(all: &DeviceAnswer, is_known: bool, out: &mut String) {
    let requests = all.requests[0] + all.requests[1];
    let shares: Vec<String> = all
        .sectors
        .iter()
        .enumerate()
        .filter(|(_, count)| **count > 0)
        .map(|(sector, count)| format!("{sector}: {}", percent(share(*count, requests))))
        .collect();
    let _ = writeln!(
        out,
        "They begin in these sectors of 4 KiB: {}",
        shares.join(", ")
    );
    // The last sector of a page, as 63 is the last of eight.
    let [.., last] = all.sectors;
    if share(last, requests) >= 0.5 {
        let _ = writeln!(
            out,
            "Most begin 3.5 KiB behind a multiple of 4 KiB, as those of a partition at sector 63 do{}",
            if is_known {
                ""
            } else {
                ": then add --start 63s"
            }
        );
    }
    out.push('\n');
}

fn name(boundary: &Boundary) -> String {
    let unit = boundary.grid.unit().bytes();
    match boundary.role {
        Some(role) => format!("{}\n{unit}", role.name()),
        None => unit.to_string(),
    }
}

/// The table of starts: how many requests straddle, and how many operations more than at the best one there are.
fn starts(section: &Section, out: &mut String) {
    let (question, answer) = (&section.question, &section.answer);
    let mut labels = vec![Cell::styled(
        format!("{} (today)", place(question.today)),
        STRONG,
    )];
    labels.extend(
        question
            .starts
            .iter()
            .map(|start| Cell::from(place(*start))),
    );
    if let Some(best) = answer.all.best {
        labels.push(Cell::styled(
            format!("{} (best)", best_place(best, answer.common)),
            STRONG,
        ));
    }
    let rows = |of: &dyn Fn(&GridAnswer, &[Load; 2]) -> String| -> Vec<Column> {
        let grids = section.boundaries.iter().zip(&answer.all.grids);
        grids
            .map(|(boundary, grid)| {
                let mut cells = vec![Cell::styled(of(grid, &grid.today), STRONG)];
                cells.extend(grid.starts.iter().map(|loads| Cell::from(of(grid, loads))));
                if let Some(best) = &grid.best {
                    cells.push(Cell::styled(of(grid, best), STRONG));
                }
                Column::figures(name(boundary), cells)
            })
            .collect()
    };
    let _ = writeln!(
        out,
        "{}",
        paint(
            STRONG,
            "Requests that straddle a boundary, by where the data begin"
        )
    );
    let straddling =
        rows(&|_, loads| GridAnswer::straddling(loads).map_or_else(|| "-".to_owned(), percent));
    render(
        &[Column::words("start", labels.clone())],
        &straddling,
        WIDTH,
        out,
    );
    out.push('\n');
    if answer
        .all
        .best
        .is_some_and(|best| best != question.today.get() % answer.common.unwrap_or(u64::MAX))
    {
        let _ = writeln!(
            out,
            "{}",
            paint(STRONG, "Operations more than at the best start")
        );
        let extra = rows(&|grid, loads| grid.extra(loads).map_or_else(|| "-".to_owned(), signed));
        render(&[Column::words("start", labels)], &extra, WIDTH, out);
        let how = |family: Family| {
            let of = section.boundaries.iter();
            let of = of.filter(|boundary| boundary.family == family);
            let names = of.map(|boundary| name(boundary).replace('\n', " of "));
            names.collect::<Vec<_>>().join(", ")
        };
        let (split, rewritten) = (how(Family::Splitting), how(Family::ReadModifyWrite));
        let mut lines = vec!["Counted, not measured.".to_owned()];
        if !split.is_empty() {
            let says = "each unit that a request touches is an operation.";
            lines.push(format!("{split}: {says}"));
        }
        if !rewritten.is_empty() {
            let says = "each unit that a request touches is an operation, and one more if a write covers it only in part: it is read first.";
            lines.push(format!("{rewritten}: {says}"));
        }
        for line in folded(&lines.join(" "), WIDTH - 2) {
            let _ = writeln!(out, "  {}", paint(FAINT, line));
        }
        out.push('\n');
    }
}

/// Which requests cost more than they have to.
fn shapes(section: &Section, out: &mut String) {
    let dear = &section.answer.all.dear;
    let most = dear.most(SHAPES);
    if most.is_empty() {
        return;
    }
    let head = "Which requests cost more today than at the best start";
    let _ = writeln!(out, "{}", paint(STRONG, head));
    let extra = dear.extra();
    let cells = |of: &dyn Fn(&Shape, &Cost) -> String| -> Vec<Cell> {
        let cells = most.iter().map(|(shape, cost)| Cell::from(of(shape, cost)));
        cells.collect()
    };
    let columns = [
        Column::figures(
            "length",
            cells(&|shape, _| Bytes::new(shape.len).to_string()),
        ),
        Column::figures(
            "behind 4 KiB",
            cells(&|shape, _| Bytes::new(shape.place).to_string()),
        ),
        Column::figures("requests", cells(&|_, cost| grouped(cost.requests))),
        Column::figures("extra operations", cells(&|_, cost| grouped(cost.extra))),
        Column::figures(
            "share of all",
            cells(&|_, cost| percent(share(cost.extra, extra))),
        ),
    ];
    let kinds = cells(&|shape, _| match shape.access {
        Access::Read => "reads".to_owned(),
        Access::Write => "writes".to_owned(),
    });
    render(&[Column::words("kind", kinds)], &columns, WIDTH, out);
    if dear.bound > 0 {
        let bound = format!("each may cost up to {} more", grouped(dear.bound));
        let _ = writeln!(out, "  {}", paint(FAINT, bound));
    }
    out.push('\n');
}

fn devices(section: &Section, out: &mut String) {
    let devices = &section.answer.devices;
    if devices.len() < 2 {
        return;
    }
    let _ = writeln!(out, "{}", paint(STRONG, "Devices"));
    let shown: Vec<Cow<'_, DeviceAnswer>> = devices.iter().take(DEVICES).collect();
    let words = |of: &dyn Fn(&DeviceAnswer) -> String| -> Vec<Cell> {
        shown.iter().map(|device| Cell::from(of(device))).collect()
    };
    let requests = |device: &DeviceAnswer| device.requests[0] + device.requests[1];
    let mut columns = vec![
        Column::figures("requests", words(&|device| grouped(requests(device)))),
        Column::figures(
            "writes",
            words(&|device| percent(share(device.requests[1], requests(device)))),
        ),
        Column::figures(
            "sequential",
            words(&|device| {
                percent(share(
                    device.sequential[0] + device.sequential[1],
                    requests(device),
                ))
            }),
        ),
    ];
    for (at, boundary) in section.boundaries.iter().enumerate() {
        let cell = |device: &DeviceAnswer| {
            let straddling = device
                .grids
                .get(at)
                .and_then(|grid| GridAnswer::straddling(&grid.today));
            straddling.map_or_else(|| "-".to_owned(), percent)
        };
        columns.push(Column::figures(name(boundary), words(&cell)));
    }
    let best = |device: &DeviceAnswer| {
        device
            .best
            .map_or_else(String::new, |best| best_place(best, section.answer.common))
    };
    columns.push(Column::figures("best start", words(&best)));
    let names = words(&|device| {
        device
            .device
            .as_ref()
            .map_or_else(String::new, |device| terminal(&device.name).into_owned())
    });
    render(&[Column::words("device", names)], &columns, WIDTH, out);
    if devices.len() > DEVICES {
        let more = format!(
            "{} more; --json has all of them",
            counted(devices.len() - DEVICES, "device")
        );
        let _ = writeln!(out, "  {}", paint(FAINT, more));
    }
    out.push('\n');
}

/// What it costs over time.
fn windows(section: &Section, out: &mut String) {
    let windows = &section.answer.windows;
    let Some(first) = windows.first() else {
        return;
    };
    let _ = writeln!(
        out,
        "{}",
        paint(STRONG, "Over time: operations more than at the best start")
    );
    let shown = &windows[..windows.len().min(WINDOWS)];
    let from = shown
        .iter()
        .map(|window| match window.from - first.from {
            0 => Cell::from("0"),
            after => Cell::from(time(seconds(after))),
        })
        .collect();
    let mut columns = vec![Column::figures(
        "requests",
        shown
            .iter()
            .map(|window| Cell::from(grouped(window.requests[0] + window.requests[1])))
            .collect(),
    )];
    for (at, (boundary, grid)) in section
        .boundaries
        .iter()
        .zip(&section.answer.all.grids)
        .enumerate()
    {
        let cell = |(today, best): &([Load; 2], Option<[Load; 2]>)| {
            let of_window = GridAnswer {
                best: *best,
                ..grid.clone()
            };
            of_window
                .extra(today)
                .map_or_else(|| "-".to_owned(), signed)
        };
        columns.push(Column::figures(
            name(boundary),
            shown
                .iter()
                .map(|window| Cell::from(cell(&window.grids[at])))
                .collect(),
        ));
    }
    render(&[Column::figures("after", from)], &columns, WIDTH, out);
    if windows.len() > WINDOWS {
        let more = format!(
            "{} more; --json has all of them",
            counted(windows.len() - WINDOWS, "window")
        );
        let _ = writeln!(out, "  {}", paint(FAINT, more));
    }
    out.push('\n');
}

fn bad_lines(trace: &Trace, out: &mut String) {
    let style = severity_style(Severity::Warning);
    for (file, summary) in trace.files.iter().zip(&trace.summaries) {
        for (fault, count) in &summary.faults {
            let head = format!("{}: {}", counted(*count, "line"), fault.says());
            let first = summary.bad.iter().find(|bad| bad.fault == *fault);
            let first = first.map_or_else(String::new, |bad| {
                format!(
                    ", the first {}:{} (byte {}): {}",
                    file.name, bad.line, bad.at, bad.text
                )
            });
            let _ = writeln!(
                out,
                "{}{}",
                paint(style, head),
                paint(FAINT, terminal(&first))
            );
        }
        if let Some(why) = &file.stopped {
            let name = terminal(&file.name);
            let _ = writeln!(
                out,
                "{}",
                paint(
                    style,
                    format!("{name}: not read to its end: {}", terminal(why))
                )
            );
        }
    }
}

/// One line: what was read, and what it comes to.
fn verdict(trace: &Trace) -> String {
    let counts = trace.summaries.iter().fold([0_u64; 3], |sum, summary| {
        let counts = summary.counts;
        [
            sum[0] + counts.requests,
            sum[1] + counts.other,
            sum[2] + counts.bad,
        ]
    });
    let mut formats: Vec<&str> = trace.files.iter().map(|file| file.format).collect();
    formats.sort_unstable();
    formats.dedup();
    let formats = match formats.as_slice() {
        [] => String::new(),
        formats => format!(" ({})", formats.join(", ")),
    };
    let span = match trace.span {
        Some((from, to)) if to > from => format!(" over {}", time(seconds(to - from))),
        _ => String::new(),
    };
    let bad = match counts[2] {
        0 => String::new(),
        n => format!(
            "; {} not understood ({})",
            counted(n, "line"),
            percent(share(n, counts.iter().sum()))
        ),
    };
    let elsewhere: u64 = trace
        .summaries
        .iter()
        .map(|summary| summary.elsewhere)
        .sum();
    let elsewhere = match elsewhere {
        0 => String::new(),
        n => format!("; {} lie nowhere below", counted(n, "request")),
    };
    let passed_over = match trace.passed_over {
        0 => String::new(),
        n => format!("; {} of no known recorder", counted(n, "file")),
    };
    let failed = match trace.failures.len() {
        0 => String::new(),
        n => format!("; {} failed", counted(n, "input")),
    };
    let gain = trace
        .sections
        .iter()
        .filter_map(gain)
        .collect::<Vec<_>>()
        .join("; ");
    let gain = match gain.as_str() {
        "" => String::new(),
        gain => format!(": {gain}"),
    };
    format!(
        "{}{formats}: {}{span}{gain}{elsewhere}{bad}{passed_over}{failed}",
        terminal(&trace.name),
        counted(counts[0], "request")
    )
}

/// What the best start would save, on the grid on which it saves most.
fn gain(section: &Section) -> Option<String> {
    let all = &section.answer.all;
    let best = all.best?;
    let most = section
        .boundaries
        .iter()
        .zip(&all.grids)
        .filter_map(|(boundary, grid)| Some((grid.extra(&grid.today)?, boundary)))
        .max_by(|(a, _), (b, _)| a.total_cmp(b));
    let (extra, boundary) = most?;
    let at = match &section.title {
        Some(title) => format!("{}: ", terminal(title)),
        None => String::new(),
    };
    Some(match extra > 0.0 {
        false => format!("{at}no start is better than today's"),
        true => format!(
            "{at}{} operations on {} than from {}",
            signed(extra),
            boundary.grid.unit().bytes(),
            best_place(best, section.answer.common)
        ),
    })
}
