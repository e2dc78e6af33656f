//! File statistics: of `performance_schema`, in picoseconds, and as the views of `sys` show them, with units.

use straddle_stack::activity::{Quantity, Span, Unit};

use crate::errorlog::role_of;
use crate::format::{Format, Shape};
use crate::notes::{At, Notes};
use crate::number;
use crate::subject::Subject;
use crate::table::{Head, Row};

pub(crate) static FORMAT: Format = Format {
    name: "mysql-file-statistics",
    commands: &[
        "SELECT * FROM performance_schema.file_summary_by_instance",
        "SELECT * FROM performance_schema.file_summary_by_event_name",
        "SELECT * FROM sys.io_global_by_file_by_latency",
        "SELECT * FROM sys.io_global_by_file_by_bytes",
        "SELECT * FROM sys.io_global_by_wait_by_latency",
        "SELECT * FROM sys.io_global_by_wait_by_bytes",
    ],
    says: "reads and writes with their bytes and times since the server's start, by file or by kind of file",
    shape: Shape::Table {
        marks: &["count_read", "count_write", "sum_timer_", "read_latency"],
        is,
        read,
    },
};

const UNTIMED: &str = "with operations that took no time, because the server did not measure it (TIMED of setup_instruments)";

/// Operations of a kind, and then their time. Other columns are sums of these, means, or opening, closing and syncing in one.
const COLUMNS: [(&[&str], Quantity); 6] = [
    (&["count_read"], Quantity::Reads),
    (&["sum_timer_read", "read_latency"], Quantity::ReadTime),
    (
        &["sum_number_of_bytes_read", "total_read"],
        Quantity::ReadBytes,
    ),
    (&["count_write"], Quantity::Writes),
    (&["sum_timer_write", "write_latency"], Quantity::WriteTime),
    (
        &["sum_number_of_bytes_write", "total_written"],
        Quantity::WrittenBytes,
    ),
];

fn is(head: &Head) -> bool {
    head.has_any(&["file_name", "event_name", "file"])
        && COLUMNS.iter().any(|(columns, _)| head.has_any(columns))
}

fn read(row: &Row<'_>, notes: &mut Notes<'_>) {
    let subject = match (row.text(&["file_name", "file"]), row.text(&["event_name"])) {
        (Some(file), _) => {
            let subject = Subject::file(file);
            notes.describe(&subject, None, role_of(file, None));
            subject
        }
        // A kind of file of the whole server.
        (None, Some(event)) => Subject::server(event),
        (None, None) => return notes.unread(&row.line),
    };
    let (mut operations, mut untimed) = (None, false);
    for (columns, quantity) in COLUMNS {
        let Some((text, line)) = row.cell_of(columns) else {
            continue;
        };
        let value = match quantity.unit() {
            Unit::Seconds => duration(text),
            Unit::Bytes => bytes(text),
            _ => number::plain(text),
        };
        match quantity {
            Quantity::Reads | Quantity::Writes => operations = value,
            // Instruments are not always timed, and have no time then.
            Quantity::ReadTime | Quantity::WriteTime => {
                let took_none = value == Some(0.0) && operations.is_some_and(|count| count > 0.0);
                operations = None;
                if took_none {
                    untimed = true;
                    continue;
                }
            }
            _ => {}
        }
        match value {
            Some(value) => {
                let at = At { line, moment: None };
                notes.add(at, &subject, quantity, Span::SinceStart, value);
            }
            None => notes.unread(&line),
        }
    }
    if untimed {
        notes.remark(UNTIMED, &row.line);
    }
}

/// `12.34 ms`; without a unit, in picoseconds. Minutes are `m` up to 5.7.
fn duration(text: &str) -> Option<f64> {
    let (value, unit) = number::leading(text)?;
    let seconds = match unit.trim() {
        "" | "ps" => 1e-12,
        "ns" => 1e-9,
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        "w" => 604_800.0,
        _ => return None,
    };
    Some(value * seconds)
}

/// `12.34 KiB`; without a unit, in bytes.
fn bytes(text: &str) -> Option<f64> {
    let (value, unit) = number::leading(text)?;
    let unit = unit.trim();
    if matches!(unit, "" | "bytes") {
        return Some(value);
    }
    Some(value * number::prefix(unit.strip_suffix('B')?)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_those_of_the_views() {
        for (text, seconds) in [
            ("2500000000000", Some(2.5)),
            ("0 ps", Some(0.0)),
            ("2.00 h", Some(7200.0)),
            ("1.50 m", Some(90.0)),
            ("1.50 min", Some(90.0)),
            ("2.00 d", Some(172_800.0)),
            ("1 x", None),
            ("", None),
        ] {
            assert_eq!(duration(text), seconds, "{text}");
        }
        for (text, size) in [
            ("512", Some(512.0)),
            ("0 bytes", Some(0.0)),
            ("1.50 KiB", Some(1536.0)),
            ("2.00 TiB", Some(2_199_023_255_552.0)),
            ("1 x", None),
        ] {
            assert_eq!(bytes(text), size, "{text}");
        }
    }
}
