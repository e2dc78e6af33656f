//! `sys.dm_io_virtual_file_stats`, `fn_virtualfilestats`, and what people make of them.

use straddle_stack::activity::{Quantity, Span};

use super::names::meaning;
use super::{LOGICAL, PATHS, file_of};
use crate::format::{Body, Format, Shape, Taken};
use crate::line::Line;
use crate::notes::{At, Notes};
use crate::stamp::{self, Order};
use crate::subject::Subject;
use crate::table::{Head, Row};

pub(crate) static FORMAT: Format = Format {
    name: "file-statistics",
    commands: &[
        "SELECT * FROM sys.dm_io_virtual_file_stats(NULL, NULL)",
        "SELECT * FROM ::fn_virtualfilestats(-1, -1)",
    ],
    says: "reads, writes, bytes and the sums of their times since the start of SQL Server, by file",
    shape: Shape::Table {
        marks: &[
            "num_of_reads",
            "numberreads",
            "numberofreads",
            "readlatency",
            "read latency",
            "read_latency",
            "read stall",
            "avg read",
            "avg_read",
            "avgread",
            "average read",
            "average_read",
            "read wait",
            "io_stall",
            "physical_name",
            // The first and the second name in lists of dbatools.
            "computername",
            "physicalname",
        ],
        is,
        read,
    },
};

/// The same without the names of its columns: nothing can be read.
pub(crate) static NAMELESS: Format = Format {
    name: "file-statistics-without-names",
    commands: &["SELECT * FROM sys.dm_io_virtual_file_stats(NULL, NULL)"],
    says: "nothing, because the names of the columns are missing: rows are counted as not understood",
    shape: Shape::Lines {
        marks: &["dm_io_virtual_file_stats("],
        begins: |line, _| {
            let text = line.text.to_ascii_lowercase();
            let asked = text.contains("select") && text.contains("dm_io_virtual_file_stats(");
            asked.then(|| Box::new(Nameless) as Box<dyn Body>)
        },
    },
};

struct Nameless;

impl Body for Nameless {
    fn line(&mut self, line: &Line<'_>, notes: &mut Notes<'_>) -> Taken {
        if line.trimmed().is_empty() {
            return Taken::Yes;
        }
        let cells: Vec<&str> = line.text.split('\t').collect();
        let numbers = cells
            .iter()
            .filter(|cell| crate::number::plain(cell).is_some());
        if cells.len() >= 8 && numbers.count() + 2 >= cells.len() {
            notes.unread(line);
            return Taken::Yes;
        }
        Taken::Ended
    }
}

/// Tables of other servers have files with reads and writes, too.
const OF_OTHERS: [&str; 3] = ["count_read", "event_name", "datname"];

fn is(head: &Head) -> bool {
    let who = [
        &PATHS[..],
        &LOGICAL[..],
        &["file_id", "fileid", "drive", "volume_mount_point"],
    ]
    .concat();
    let says = |quantities: &[Quantity]| {
        let mut meanings = head.meanings(meaning).iter();
        meanings.any(|(_, meaning)| quantities.contains(&meaning.quantity))
    };
    let what = [
        Quantity::ReadLatency,
        Quantity::WriteLatency,
        Quantity::ReadTime,
        Quantity::WriteTime,
    ];
    let raw = head.has_any(&["num_of_reads", "num_of_writes", "numberreads"]);
    head.has_any(&who) && (raw || says(&what)) && !head.has_any(&OF_OTHERS)
}

fn read(row: &Row<'_>, notes: &mut Notes<'_>) {
    let Some(subject) = file_of(row, notes).or_else(|| volume(row)) else {
        return notes.unread(&row.line);
    };
    let moment = row
        .text(&[
            "capture_time",
            "capturetime",
            "collection_time",
            "sample_time",
            "checkdate",
            "snapshot_time",
            "date",
            "time",
        ])
        .and_then(|text| stamp::local(text, stamp::order_of(text).unwrap_or(Order::MonthFirst)));
    let at = notes.at(row.line, moment);
    for (said, value, line) in row.meant(meaning) {
        let span = match said.quantity {
            Quantity::FileSize => Span::State,
            _ => Span::SinceStart,
        };
        let at = At { line, ..at };
        notes.add(at, &subject, said.quantity, span, value * said.factor);
    }
}

/// `C:\mnt\data\` is a folder, `C:\` a letter.
fn volume(row: &Row<'_>) -> Option<Subject> {
    let name = row.text(&["volume_mount_point", "drive"])?;
    Some(Subject::volume(name.trim_end_matches('\\')))
}
