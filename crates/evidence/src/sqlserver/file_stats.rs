//! `sys.dm_io_virtual_file_stats`, `fn_virtualfilestats`, and what people make of them.

use straddle_stack::activity::{Quantity, Span};

use super::{PATHS, file_of};
use crate::format::{Body, Format, Shape, Taken};
use crate::line::Line;
use crate::notes::Notes;
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

const READS: [&str; 4] = ["num_of_reads", "numberreads", "num_reads", "numberofreads"];
const READ_LATENCY: [&str; 11] = [
    "readlatency",
    "read_latency",
    "read_latency_ms",
    "readlatencyms",
    "avg_read_latency_ms",
    "avg_read_stall_ms",
    "read_latency_(ms)",
    "avg_read_latency",
    "avg_read_latency_(ms)",
    "avg_read_stall",
    "avg_read_stall_(ms)",
];
const WRITE_LATENCY: [&str; 11] = [
    "writelatency",
    "write_latency",
    "write_latency_ms",
    "writelatencyms",
    "avg_write_latency_ms",
    "avg_write_stall_ms",
    "write_latency_(ms)",
    "avg_write_latency",
    "avg_write_latency_(ms)",
    "avg_write_stall",
    "avg_write_stall_(ms)",
];

fn is(head: &Head) -> bool {
    let who = [
        &PATHS[..],
        &["file_id", "fileid", "drive", "volume_mount_point"],
    ]
    .concat();
    let what = [
        &READS[..],
        &READ_LATENCY[..],
        &WRITE_LATENCY[..],
        &["num_of_writes"],
    ]
    .concat();
    head.has_any(&who) && head.has_any(&what)
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
    let columns: [(&[&str], Quantity, Span, f64); 13] = [
        (&READS, Quantity::Reads, Span::SinceStart, 1.0),
        (
            &[
                "num_of_writes",
                "numberwrites",
                "num_writes",
                "numberofwrites",
            ],
            Quantity::Writes,
            Span::SinceStart,
            1.0,
        ),
        (
            &[
                "num_of_bytes_read",
                "bytesread",
                "numberofbytesread",
                "bytes_read",
            ],
            Quantity::ReadBytes,
            Span::SinceStart,
            1.0,
        ),
        (
            &[
                "num_of_bytes_written",
                "byteswritten",
                "numberofbyteswritten",
                "bytes_written",
            ],
            Quantity::WrittenBytes,
            Span::SinceStart,
            1.0,
        ),
        (
            &["io_stall_read_ms", "iostallreadms", "iostallread"],
            Quantity::ReadTime,
            Span::SinceStart,
            1e-3,
        ),
        (
            &["io_stall_write_ms", "iostallwritems", "iostallwrite"],
            Quantity::WriteTime,
            Span::SinceStart,
            1e-3,
        ),
        (
            &["size_on_disk_bytes", "bytesondisk", "sizeondiskbytes"],
            Quantity::FileSize,
            Span::State,
            1.0,
        ),
        (
            &["sizeondiskmb"],
            Quantity::FileSize,
            Span::State,
            1024.0 * 1024.0,
        ),
        (&READ_LATENCY, Quantity::ReadLatency, Span::SinceStart, 1e-3),
        (
            &WRITE_LATENCY,
            Quantity::WriteLatency,
            Span::SinceStart,
            1e-3,
        ),
        (
            &[
                "latency",
                "overall_latency",
                "avg_io_latency_ms",
                "overall_latency_(ms)",
                "avg_io_latency",
                "avg_io_latency_(ms)",
                "avg_io_stall_ms",
            ],
            Quantity::TransferLatency,
            Span::SinceStart,
            1e-3,
        ),
        (
            &["avgbperread", "avg_bytes/read", "avg_bytes_per_read"],
            Quantity::ReadSize,
            Span::SinceStart,
            1.0,
        ),
        (
            &["avgbperwrite", "avg_bytes/write", "avg_bytes_per_write"],
            Quantity::WriteSize,
            Span::SinceStart,
            1.0,
        ),
    ];
    for (names, quantity, span, factor) in columns {
        let counts = matches!(
            quantity,
            Quantity::Reads
                | Quantity::Writes
                | Quantity::ReadBytes
                | Quantity::WrittenBytes
                | Quantity::ReadTime
                | Quantity::WriteTime
                | Quantity::FileSize
        );
        let read = if counts {
            row.count(names)
        } else {
            row.number(names)
        };
        if let Some((value, line)) = read {
            notes.add(
                crate::notes::At { line, ..at },
                &subject,
                quantity,
                span,
                value * factor,
            );
        }
    }
    if let Some((value, line)) = row.number(&[
        "avgbpertransfer",
        "avg_bytes/transfer",
        "avg_bytes_per_transfer",
    ]) {
        notes.add(
            crate::notes::At { line, ..at },
            &subject,
            Quantity::TransferSize,
            Span::SinceStart,
            value,
        );
    }
}

/// `C:\mnt\data\` is a folder, `C:\` a letter.
fn volume(row: &Row<'_>) -> Option<Subject> {
    let name = row.text(&["volume_mount_point", "drive"])?;
    Some(Subject::volume(name.trim_end_matches('\\')))
}
