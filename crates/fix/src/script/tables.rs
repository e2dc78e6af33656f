//! Shell that carries the edits of a table of partitions out on a copy that holds nothing else, compares what came of them with the plan,
//! and later writes that very table.

use std::fmt::Write;
use straddle_geometry::Bytes;

use crate::change::partitions::{Entry, Partitions};

/// Lines that copy the table of `$disk` to `$tables`, where a tool edits it.
pub(super) fn copied(disk: &str, partitions: &Partitions) -> String {
    format!(
        "copy_of_table {disk}\n\
         [ \"$(partitions_in \"$tables\")\" = {many} ] || die 'the table has not {many} partitions, as the plan expects: it was changed'\n",
        many = many(partitions),
    )
}

fn many(partitions: &Partitions) -> usize {
    partitions.entries.len() + partitions.extended.iter().count()
}

/// Lines that give everything but the places of partitions back what it was, and refuse a table that is not the planned one.
pub(super) fn compared(partitions: &Partitions) -> String {
    let sectors = |bytes: Bytes| bytes.div_rem(partitions.sector.unit()).0;
    let entries = partitions.entries.iter();
    let all = entries
        .map(|entry: &Entry| (entry.number, entry.to))
        .chain(partitions.extended.iter().map(|e| (e.number, e.to)));
    let all: Vec<_> = all.collect();
    let numbers: Vec<String> = all.iter().map(|(n, _)| n.to_string()).collect();
    let mut out = format!("as_before {}\n", numbers.join(" "));
    for (number, to) in all {
        let _ = writeln!(
            out,
            "is_planned {number} {} {}",
            sectors(to.start()),
            sectors(to.len())
        );
    }
    let _ = writeln!(out, "rehearsed {}", many(partitions));
    out
}

/// What these lines call. `table` and `sector` say of which kind the table is, and what it counts in.
pub(super) const FUNCTIONS: &str = include_str!("fragments/tables.sh");
