//! `parted`, which makes the entry of a partition again.

use std::fmt::Write;
use straddle_geometry::{Bytes, Extent};

use super::copies;
use super::{Language, Tool, shell};
use crate::change::Change;
use crate::change::partitions::{Entry, Partitions};

pub(super) static TOOL: Tool = Tool {
    name: "parted",
    title: "parted 3; the script moves the data, and can be stopped at any place",
    language: Language::Shell,
    does: |change| matches!(change, Change::Partitions(p) if keeps_numbers(p)),
    script: |order| shell::script(order, |writer, step| copies::step(writer, step, edit)),
};

/// parted gives a new partition (in an MBR: a primary one) the lowest number that is free: it can make one again only when no lower one is.
fn keeps_numbers(partitions: &Partitions) -> bool {
    let primary = |number: &u64| partitions.table != "mbr" || *number <= 4;
    let entries = partitions.entries.iter();
    let extended = || partitions.extended.iter();
    let used: Vec<u64> = entries
        .map(|entry| entry.number)
        .chain(extended().map(|extended| extended.number))
        .collect();
    let again = partitions.entries.iter().filter(|entry| entry.changes());
    let mut again = again
        .map(|entry| entry.number)
        .chain(extended().filter(|e| e.from != e.to).map(|e| e.number))
        .filter(primary);
    again.all(|number| (1..number).all(|lower| used.contains(&lower)))
}

fn edit(partitions: &Partitions) -> String {
    let mut out = String::from("need parted parted\n");
    let place = |to: Extent| {
        let sectors = |bytes: Bytes| bytes.div_rem(partitions.sector.unit()).0;
        let last = sectors(to.end()).saturating_sub(1);
        format!("{} {last}", sectors(to.start()))
    };
    let logical = |entry: &Entry| entry.is_logical(&partitions.table);
    let changed = || partitions.entries.iter().filter(|e| e.changes());
    let moves_extended = partitions.extended.as_ref().is_some_and(|e| e.from != e.to);
    let again = moves_extended || changed().any(logical);
    let entries = partitions.entries.iter();
    let logicals: Vec<&Entry> = entries.filter(|entry| logical(entry)).collect();
    let begin = "parted --script --align none \"$tables\" unit s";
    let no = "die 'parted does not take the new table'";
    // The chain of logical partitions is re-created as a whole; each primary so that it keeps its number.
    if again {
        // From the last, because the numbers of those behind one that is deleted change.
        for number in (5..)
            .take(logicals.len())
            .collect::<Vec<u64>>()
            .iter()
            .rev()
        {
            let _ = writeln!(out, "{begin} rm {number} || {no}");
        }
    }
    if let Some(extended) = partitions.extended.as_ref().filter(|_| moves_extended) {
        let _ = writeln!(out, "{begin} rm {} || {no}", extended.number);
    }
    let mut primary: Vec<(u64, &str, Extent)> = changed()
        .filter(|entry| !logical(entry))
        .map(|entry| (entry.number, "primary", entry.to))
        .collect();
    for (number, _, _) in &primary {
        let _ = writeln!(out, "{begin} rm {number} || {no}");
    }
    let extended = partitions.extended.iter().filter(|_| moves_extended);
    primary.extend(extended.map(|e| (e.number, "extended", e.to)));
    primary.sort_unstable_by_key(|(number, ..)| *number);
    for (_, kind, to) in &primary {
        let _ = writeln!(out, "{begin} mkpart {kind} {} || {no}", place(*to));
    }
    if again {
        for entry in &logicals {
            let _ = writeln!(out, "{begin} mkpart logical {} || {no}", place(entry.to));
        }
    }
    out
}
