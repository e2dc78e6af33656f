//! `(Get-Counter …).CounterSamples | Export-Csv`: a row for each figure.

use straddle_stack::activity::Span;

use super::{Path, is_idle, perfmon};
use crate::format::{Format, Shape};
use crate::notes::Notes;
use crate::table::Row;

pub(crate) static FORMAT: Format = Format {
    name: "counter-samples",
    commands: &["(Get-Counter …).CounterSamples | Export-Csv"],
    says: "counters of disks and volumes, a row for each figure",
    shape: Shape::Table {
        marks: &["cookedvalue"],
        is: |head| head.has(&["path", "cookedvalue"]),
        read,
    },
};

fn read(row: &Row<'_>, notes: &mut Notes<'_>) {
    let path = row.text(&["path"]).and_then(Path::of);
    let known = path.and_then(|path| Some((perfmon::meaning(&path)?, path.host)));
    let Some((meaning, host)) = known else { return };
    notes.of_host(host, &row.line);
    let moment = row
        .text(&["timestamp"])
        .and_then(|text| notes.time_of(text));
    let at = notes.at(row.line, moment);
    match row.number(&["cookedvalue"]) {
        Some((value, _)) => {
            let value = meaning.factor.apply(value);
            if is_idle(meaning.quantity, value) {
                return;
            }
            let subject = notes.subject_on(host, meaning.subject);
            notes.add(at, &subject, meaning.quantity, Span::Interval, value);
        }
        None => notes.unread(&row.line),
    }
}
