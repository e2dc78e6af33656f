//! `sfdisk`, which moves the data of a partition with its start.

use std::fmt::Write;
use straddle_geometry::{Bytes, Extent};

use super::copies::{self, away, back, records_start};
use super::{Language, Refusal, Tool, Writer, shell};
use crate::Step;
use crate::change::Change;
use crate::change::partitions::{Entry, Partitions};

pub(super) static TOOL: Tool = Tool {
    name: "sfdisk",
    title: "sfdisk of util-linux 2.35 or later, which moves the data with the partition",
    language: Language::Shell,
    does: |change| matches!(change, Change::Partitions(_)),
    script: |job, tool| shell::script(job, tool, step),
};

fn step(writer: &Writer<'_>, step: &Step) -> Result<String, Refusal> {
    let partitions = super::partitions_of(&step.change)?;
    let disk = writer.disk(partitions.device);
    let changed = || partitions.entries.iter().rev().filter(|e| e.changes());
    let shrinking = || changed().filter(|entry| entry.shrinks());
    let mut out = String::from("need sfdisk fdisk\n");
    out += &copies::begin(writer, step, copies::length(shrinking()))?;
    let _ = writeln!(
        out,
        "# The table as it was: `sfdisk DISK < table.before` brings it back, not the data.\n\
         sfdisk --dump {disk} > \"$work/table.before\"\n\
         say \"the table as it was, and a log of what is moved: $work\""
    );
    out += &copies::as_many(partitions, "grep -c ' : start=' \"$work/table.before\"");
    for entry in shrinking() {
        away(&mut out, &disk, partitions, entry);
    }
    let has_logical = changed().any(|entry| entry.is_logical(&partitions.table));
    let moves_extended = partitions.extended.as_ref().is_some_and(|e| e.from != e.to);
    if has_logical || moves_extended {
        rewritten(&mut out, &disk, partitions);
    } else {
        // Partitions move towards the end, so the last makes room for the one before it.
        for entry in changed() {
            moved(&mut out, &disk, partitions, entry);
        }
    }
    out += &copies::end(&disk);
    Ok(out)
}

fn sectors(partitions: &Partitions, bytes: Bytes) -> u64 {
    bytes.div_rem(partitions.sector.unit()).0
}

const QUIETLY: &str = "sfdisk --quiet --no-reread --no-tell-kernel --force";

/// A partition that sfdisk moves.
fn moved(out: &mut String, disk: &str, partitions: &Partitions, entry: &Entry) {
    let n = entry.number;
    let start = sectors(partitions, entry.to.start());
    let _ = writeln!(out, "doing='moving partition {n}'");
    if entry.shrinks() {
        let size = sectors(partitions, entry.to.len());
        let _ = writeln!(
            out,
            "echo 'start={start}, size={size}' | {QUIETLY} --wipe never --wipe-partitions never -N {n} {disk}"
        );
        back(out, disk, entry);
        return;
    }
    let (from, to, len) = (
        entry.from.start().get(),
        entry.to.start().get(),
        entry.to.len().get(),
    );
    let _ = writeln!(
        out,
        "sum=$(sum_of {disk} {from} {len})\n\
         echo 'start={start}' | {QUIETLY} --wipe never --wipe-partitions never --move-data=\"$work/moved-{n}\" -N {n} {disk}\n\
         [ \"$(sum_of {disk} {to} {len})\" = \"$sum\" ]"
    );
    records_start(out, disk, to, partitions, entry);
}

/// All of a table whose logical partitions, or whose extended one, begin elsewhere: their boot records have to be written as a
/// whole, after the data have left the places where these come to lie.
fn rewritten(out: &mut String, disk: &str, partitions: &Partitions) {
    let changed = || partitions.entries.iter().filter(|e| e.changes());
    let extended = partitions.extended.iter().map(|e| (e.number, e.from, e.to));
    let all = changed().map(|entry| (entry.number, entry.from, entry.to));
    let lines: Vec<(u64, Extent, Extent)> = extended
        .chain(all)
        .filter(|(_, from, to)| from != to)
        .collect();
    *out += "sed";
    for (number, from, to) in &lines {
        let [from_start, from_len, to_start, to_len] =
            [from.start(), from.len(), to.start(), to.len()]
                .map(|bytes| sectors(partitions, bytes));
        let _ = write!(
            out,
            " \\\n    -e 's/\\([^0-9]{number}\\) : start= *{from_start}, size= *{from_len},/\\1 : start={to_start}, size={to_len},/'"
        );
    }
    let count = lines.len();
    let _ = writeln!(
        out,
        " \\\n    \"$work/table.before\" > \"$work/table.after\"\n\
         [ \"$(diff \"$work/table.before\" \"$work/table.after\" | grep -c '^>')\" = {count} ] || die 'sfdisk has another idea of this table'\n\
         {QUIETLY} --no-act --wipe never --wipe-partitions never {disk} < \"$work/table.after\" || die 'sfdisk does not take the new table: it wants 1 MiB between logical partitions behind a gap of that size; parted does not (straddle fix --script parted)'"
    );
    for entry in changed().rev() {
        let to = entry.to.start().get();
        if entry.shrinks() {
            back(out, disk, entry);
            continue;
        }
        let _ = writeln!(
            out,
            "doing='moving partition {}'\nforward {disk} {} {to} {}",
            entry.number,
            entry.from.start().get(),
            entry.to.len().get()
        );
        records_start(out, disk, to, partitions, entry);
    }
    let _ = writeln!(
        out,
        "doing='writing the table'\n\
         {QUIETLY} --wipe never --wipe-partitions never {disk} < \"$work/table.after\""
    );
}
