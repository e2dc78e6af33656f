//! `sfdisk`, which moves the data of a partition with its start.

use std::fmt::Write;

use super::shell::hidden_sectors;
use super::{Language, Refusal, Tool, Writer};
use crate::Step;
use crate::change::Change;
use crate::change::partitions::{Entry, Partitions};

pub(super) static TOOL: Tool = Tool {
    name: "sfdisk",
    title: "sfdisk of util-linux 2.35 or later, which moves the data with the partition",
    language: Language::Shell,
    does: |change| matches!(change, Change::Partitions(_)),
    step,
};

fn step(writer: &Writer<'_>, step: &Step) -> Result<String, Refusal> {
    let Change::Partitions(partitions) = &step.change else {
        return Ok(String::new());
    };
    let disk = writer.disk(partitions.device);
    let mut out = format!(
        "need sfdisk fdisk\n\
         # The table as it was: `sfdisk DISK < table.before` brings it back, not the data.\n\
         work=$(mktemp -d ./straddle-fix.XXXXXX)\n\
         sfdisk --dump {disk} > \"$work/table.before\"\n\
         say \"the table as it was, and a log of what is moved: $work\"\n",
    );
    // Partitions move towards the end, so the last makes room for the one before it.
    for entry in partitions.entries.iter().rev().filter(|e| e.changes()) {
        moved(&mut out, &disk, partitions, entry);
    }
    Ok(out)
}

fn moved(out: &mut String, disk: &str, partitions: &Partitions, entry: &Entry) {
    let sectors = |bytes: straddle_geometry::Bytes| bytes.div_rem(partitions.sector.unit()).0;
    let size = if entry.to.len() == entry.from.len() {
        String::new()
    } else {
        format!(", size={}", sectors(entry.to.len()))
    };
    let _ = writeln!(
        out,
        "echo 'start={}{size}' | sfdisk --quiet --no-reread --no-tell-kernel --force --move-data=\"$work/moved-{n}\" -N {n} {disk}",
        sectors(entry.to.start()),
        n = entry.number,
    );
    if entry.records_start {
        hidden_sectors(out, disk, entry, sectors(entry.to.start()));
    }
}
