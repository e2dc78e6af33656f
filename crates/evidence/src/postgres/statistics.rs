//! Statistics views. Their times are in milliseconds.

use straddle_stack::activity::{Quantity, Span};

use crate::format::{Format, Shape};
use crate::notes::{At, Notes};
use crate::subject::{Subject, SubjectKind};
use crate::table::{Head, Names, Row};

/// `pg_stat_bgwriter` up to version 16, then `pg_stat_checkpointer` with other names.
pub(crate) static CHECKPOINTS: Format = Format {
    name: "pg_stat_checkpointer",
    commands: &[
        "SELECT * FROM pg_stat_bgwriter",
        "SELECT * FROM pg_stat_checkpointer",
    ],
    says: "buffers and times of all checkpoints since the statistics were reset",
    shape: Shape::Table {
        marks: &[
            "checkpoint_write_time",
            "buffers_checkpoint",
            "buffers_written",
        ],
        is: |head| {
            head.has_any(&["checkpoint_write_time", "buffers_checkpoint"])
                || head.has(&["buffers_written"]) && head.has_any(&["write_time", "sync_time"])
        },
        read: checkpoints,
    },
};

/// Databases.
pub(crate) static DATABASES: Format = Format {
    name: "pg_stat_database",
    commands: &["SELECT * FROM pg_stat_database"],
    says: "reads, and time of reads and writes (with track_io_timing), by database",
    shape: Shape::Table {
        marks: &["blks_read", "blk_read_time", "blk_write_time"],
        is: |head| {
            head.has(&["datname"])
                && head.has_any(&["blks_read", "blk_read_time", "blk_write_time"])
        },
        read: databases,
    },
};

/// Kinds of processes, objects and contexts.
pub(crate) static IO: Format = Format {
    name: "pg_stat_io",
    commands: &["SELECT * FROM pg_stat_io"],
    says: "reads, writes and syncs with bytes and times (with track_io_timing), by kind of process, object and context",
    shape: Shape::Table {
        marks: &["backend_type"],
        is: is_io,
        read: io,
    },
};

fn is_io(head: &Head) -> bool {
    head.has(&["backend_type"])
        && head.has_any(&[
            "reads",
            "read_time",
            "writes",
            "write_time",
            "fsyncs",
            "fsync_time",
        ])
}

/// Notes what is in a column, if it is there.
fn add(
    row: &Row<'_>,
    notes: &mut Notes<'_>,
    subject: &Subject,
    columns: Names,
    (quantity, factor): (Quantity, f64),
) {
    if row.text(columns).is_none() {
        return;
    }
    match row.number(columns) {
        Some((value, line)) => {
            let at = At { line, moment: None };
            notes.add(at, subject, quantity, Span::SinceStart, value * factor);
        }
        None => notes.unread(&row.line),
    }
}

const MILLI: f64 = 1e-3;

fn checkpoints(row: &Row<'_>, notes: &mut Notes<'_>) {
    let server = Subject::whole_server();
    let columns: [(Names, _); 3] = [
        (
            &["checkpoint_write_time", "write_time"],
            (Quantity::CheckpointWrite, MILLI),
        ),
        (
            &["checkpoint_sync_time", "sync_time"],
            (Quantity::CheckpointSync, MILLI),
        ),
        (
            &["buffers_checkpoint", "buffers_written"],
            (Quantity::CheckpointBuffers, 1.0),
        ),
    ];
    for (columns, meaning) in columns {
        add(row, notes, &server, columns, meaning);
    }
}

fn databases(row: &Row<'_>, notes: &mut Notes<'_>) {
    // Objects that all databases share have a row without a name.
    let Some(name) = row.text(&["datname"]) else {
        return;
    };
    let database = Subject::database(name);
    add(
        row,
        notes,
        &database,
        &["blks_read"],
        (Quantity::Reads, 1.0),
    );
    let time = |quantity| (quantity, MILLI);
    add(
        row,
        notes,
        &database,
        &["blk_read_time"],
        time(Quantity::ReadTime),
    );
    add(
        row,
        notes,
        &database,
        &["blk_write_time"],
        time(Quantity::WriteTime),
    );
}

fn io(row: &Row<'_>, notes: &mut Notes<'_>) {
    let parts: [Names; 3] = [&["backend_type"], &["object"], &["context"]];
    let parts: Vec<&str> = parts.iter().filter_map(|part| row.text(part)).collect();
    if parts.is_empty() {
        return;
    }
    let subject = Subject::new(SubjectKind::Server, &parts.join("/"));
    // Up to version 17 all operations have one size.
    let size = row.number(&["op_bytes"]).map(|(size, _)| size);
    let columns: [(Names, Quantity, f64); 8] = [
        (&["reads"], Quantity::Reads, 1.0),
        (&["read_bytes"], Quantity::ReadBytes, 1.0),
        (&["read_time"], Quantity::ReadTime, MILLI),
        (&["writes"], Quantity::Writes, 1.0),
        (&["write_bytes"], Quantity::WrittenBytes, 1.0),
        (&["write_time"], Quantity::WriteTime, MILLI),
        (&["fsyncs"], Quantity::Flushes, 1.0),
        (&["fsync_time"], Quantity::FlushTime, MILLI),
    ];
    for (column, quantity, factor) in columns {
        // Where bytes are not counted, operations are.
        let (column, factor): (Names, f64) = match (quantity, size) {
            (Quantity::ReadBytes | Quantity::WrittenBytes, _) if row.text(column).is_some() => {
                (column, factor)
            }
            (Quantity::ReadBytes, Some(size)) => (&["reads"], size),
            (Quantity::WrittenBytes, Some(size)) => (&["writes"], size),
            (Quantity::ReadBytes | Quantity::WrittenBytes, None) => continue,
            _ => (column, factor),
        };
        add(row, notes, &subject, column, (quantity, factor));
    }
}
