//! `sadf -d`: a report of sar for databases.

use straddle_stack::activity::{Moment, Quantity, Span};

use super::clock::Day;
use super::rows::{Columns, Rows, figure};
use crate::format::{Body, Format, Shape, Taken};
use crate::line::Line;
use crate::notes::Notes;
use crate::stamp;

pub(crate) static FORMAT: Format = Format {
    name: "sadf",
    commands: &["sadf -d … -- -d"],
    says: "what `sar -d` says, with semicolons",
    shape: Shape::Lines {
        // Rows alone begin with one of a disk: every line would be asked about else.
        marks: &[
            "hostname;interval;timestamp;",
            ";dev",
            ";sd",
            ";nvme",
            ";dm-",
            ";vd",
            ";xvd",
            ";hd",
            ";md",
            ";mmcblk",
            ";mpath",
            ";emcpower",
        ],
        begins,
    },
};

/// The quantities that `sar -d` has of a disk.
pub(super) const QUANTITIES: [Quantity; 7] = [
    Quantity::TransferRate,
    Quantity::ReadThroughput,
    Quantity::WriteThroughput,
    Quantity::TransferSize,
    Quantity::QueueLength,
    Quantity::TransferLatency,
    Quantity::Utilization,
];

fn begins(line: &Line<'_>, notes: &mut Notes<'_>) -> Option<Box<dyn Body>> {
    let columns = head(line.text);
    let is_named = columns.is_some();
    let mut report = Report {
        rows: Rows::new(columns.or_else(|| nameless(line.text))?, Span::Interval),
        text: String::new(),
    };
    if !is_named {
        report.line(line, notes);
    }
    Some(Box::new(report))
}

/// The columns of a row whose names are missing, by what its figures come to: the size of a request, times the requests, is what was
/// transferred. Where the size comes first, what was transferred may be in sectors or in kB, and is left out.
fn nameless(text: &str) -> Option<Columns> {
    const NEW: &str = "DEV tps rkB/s wkB/s dkB/s areq-sz aqu-sz await %util";
    const OLD: &str = "DEV tps read written size aqu-sz await svctm %util";
    const MAX_HOST: usize = 256;
    let text = text.trim_ascii_end();
    if !text.ends_with(|c: char| c.is_ascii_digit()) || text.len() > LONGEST {
        return None;
    }
    let mut cells = text.split(';');
    let host = cells.next()?;
    let interval: Option<u32> = cells.next()?.trim_start_matches('-').parse().ok();
    let is_row = host.len() <= MAX_HOST && !host.contains([' ', '\t']);
    (is_row && interval.is_some() && moment(cells.next()?).is_some()).then_some(())?;
    let device = cells.next()?;
    let has_letter = device.bytes().any(|byte| byte.is_ascii_alphabetic());
    let figures: Vec<f64> = cells
        .map(|cell| figure(cell).map(|figure| figure.value))
        .collect::<Option<_>>()?;
    let [tps, read, written, fourth, fifth, ..] = *figures.as_slice() else {
        return None;
    };
    if !has_letter || device == "all" || figures.len() != 8 {
        return None;
    }
    // Each is rounded to two decimals.
    let is = |size: f64, sum: f64| (size * tps - sum).abs() <= 0.02 * (1.0 + size + tps);
    let columns = match tps > 0.0 {
        true if is(fifth, read + written + fourth) => NEW,
        true if is(fourth, read + written) => OLD,
        // A disk that did nothing has the same row in both.
        false if figures.iter().all(|figure| *figure == 0.0) => NEW,
        _ => return None,
    };
    Columns::of(columns, &["DEV"])
}

/// A row over more characters is none.
const LONGEST: usize = 1024;
const NAMES: &str = "hostname;interval;timestamp;";

fn head(text: &str) -> Option<Columns> {
    let names = text.trim().trim_start_matches(['#', ' ']);
    let names = names.strip_prefix(NAMES)?;
    Columns::of(&names.replace(';', " "), &["DEV"])
}

struct Report {
    rows: Rows,
    /// The cells with blanks between them.
    text: String,
}

impl Body for Report {
    fn line(&mut self, line: &Line<'_>, notes: &mut Notes<'_>) -> Taken {
        let text = line.trimmed();
        if text.is_empty() {
            return Taken::No;
        }
        if text.trim_start_matches(['#', ' ']).starts_with(NAMES) {
            return Taken::Ended;
        }
        let mut cells = text.splitn(4, ';');
        let (Some(host), Some(_), Some(time), Some(rest)) =
            (cells.next(), cells.next(), cells.next(), cells.next())
        else {
            // The end of a row, or something else.
            if text.contains(';') {
                notes.unread(line);
                return Taken::Yes;
            }
            return Taken::No;
        };
        let Some(moment) = moment(time) else {
            notes.unread(line);
            return Taken::Yes;
        };
        if rest.len() > LONGEST {
            notes.unread(line);
            return Taken::Yes;
        }
        if rest.starts_with("LINUX-RESTART") || rest.starts_with("COM ") {
            return Taken::Yes;
        }
        notes.on_host(host, line);
        self.text.clear();
        self.text.extend(rest.chars().map(|c| match c {
            ';' => ' ',
            c => c,
        }));
        if !self.rows.line(line, &self.text, Some(moment), notes) {
            notes.unread(line);
        }
        // A row is a line.
        self.rows.end(notes);
        Taken::Yes
    }
}

/// `2024-11-27 04:10:01 UTC`, `2014-02-20 03-15-01`, `1732680601`.
pub(super) fn moment(text: &str) -> Option<Moment> {
    if let Some((moment, _)) = stamp::date_and_time(text) {
        return Some(moment);
    }
    if text.len() >= 9 && text.bytes().all(|byte| byte.is_ascii_digit()) {
        let seconds: i64 = text.parse().ok()?;
        return Some(Moment::from_micros(seconds.checked_mul(1_000_000)?));
    }
    let (day, time) = text.split_once(' ')?;
    let time = time.split(' ').next()?.replace('-', ":");
    let (time, half, _) = super::clock::time(&time)?;
    Day::of(day)?.moment(time, half, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_without_names_are_those_whose_figures_fit() {
        let columns = |figures: &str| nameless(&format!("db1;600;1719907801;sda;{figures}"));
        let new = Columns::of(
            "DEV tps rkB/s wkB/s dkB/s areq-sz aqu-sz await %util",
            &["DEV"],
        );
        let old = Columns::of(
            "DEV tps read written size aqu-sz await svctm %util",
            &["DEV"],
        );
        assert_eq!(
            columns("60.50;384.00;1164.00;0.00;25.59;0.44;7.25;21.30"),
            new
        );
        assert_eq!(columns("0.00;0.00;0.00;0.00;0.00;0.00;0.00;0.00"), new);
        assert_eq!(
            columns("60.50;768.00;2328.00;51.17;0.44;7.25;3.52;21.30"),
            old
        );
        for other in [
            "60.50;384.00;1164.00;0.00;99.00;0.44;7.25;21.30",
            "60.50;384.00;1164.00;0.00;25.59;0.44;7.25",
            "60.50;384.00;1164.00;x;25.59;0.44;7.25;21.30",
            "",
        ] {
            assert_eq!(columns(other), None, "{other}");
        }
        assert_eq!(nameless("db1;600;noon;sda;0;0;0;0;0;0;0;0"), None);
        assert_eq!(nameless("db1;600;1719907801;all;0;0;0;0;0;0;0;0"), None);
    }
}
