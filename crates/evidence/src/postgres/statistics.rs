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

/// The server's own log.
pub(crate) static WAL: Format = Format {
    name: "pg_stat_wal",
    commands: &["SELECT * FROM pg_stat_wal"],
    says: "writes and syncs of the write-ahead log, and their times (with track_wal_io_timing)",
    shape: Shape::Table {
        marks: &["wal_write", "wal_sync"],
        is: |head| {
            head.has_any(&["wal_write", "wal_write_time"])
                && head.has_any(&["wal_sync", "wal_sync_time"])
        },
        read: wal,
    },
};

/// Says that the times of a row were not measured.
const UNTIMED: &str = "with operations that took no time, because the server did not measure it (track_io_timing, track_wal_io_timing)";

/// How many operations took no time at all: that is no time that was measured. PostgreSQL measures it when it is told to, and has zero there
/// else.
fn untimed(row: &Row<'_>, time: Names, operations: Names) -> Option<f64> {
    let value = |columns| row.number(columns).map(|(value, _)| value);
    let took_none = value(time) == Some(0.0);
    value(operations).filter(|count| took_none && *count > 0.0)
}

/// Counts a row with so many operations whose time was not measured. Of a server that measures, a few have none, either: what is copied from
/// the template of a new database is not timed, and by a clock that ticks each 10 ms a few blocks in memory take nothing.
fn say_untimed(count: f64, row: &Row<'_>, notes: &mut Notes<'_>) {
    const MANY: f64 = 10_000.0;
    if count >= MANY {
        notes.remark(UNTIMED, &row.line);
    }
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
    let times: [(Names, _); 2] = [
        (&["blk_read_time"], Quantity::ReadTime),
        (&["blk_write_time"], Quantity::WriteTime),
    ];
    if let Some(count) = untimed(row, times[0].0, &["blks_read"]) {
        return say_untimed(count, row, notes);
    }
    for (column, quantity) in times {
        add(row, notes, &database, column, (quantity, MILLI));
    }
}

fn wal(row: &Row<'_>, notes: &mut Notes<'_>) {
    let subject = Subject::server("wal");
    let columns: [(Names, Names, _, _); 2] = [
        (
            &["wal_write"],
            &["wal_write_time"],
            Quantity::Writes,
            Quantity::WriteTime,
        ),
        (
            &["wal_sync"],
            &["wal_sync_time"],
            Quantity::Flushes,
            Quantity::FlushTime,
        ),
    ];
    let mut most = 0.0_f64;
    for (count, time, operations, took) in columns {
        add(row, notes, &subject, count, (operations, 1.0));
        match untimed(row, time, count) {
            Some(count) => most = most.max(count),
            None => add(row, notes, &subject, time, (took, MILLI)),
        }
    }
    say_untimed(most, row, notes);
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
    let mut most = 0.0_f64;
    for (column, quantity, factor) in columns {
        let operations: Names = match quantity {
            Quantity::ReadTime => &["reads"],
            Quantity::WriteTime => &["writes"],
            Quantity::FlushTime => &["fsyncs"],
            _ => &[],
        };
        if let Some(count) = untimed(row, column, operations) {
            most = most.max(count);
            continue;
        }
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
    say_untimed(most, row, notes);
}
