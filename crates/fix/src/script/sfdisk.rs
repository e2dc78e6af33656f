//! `sfdisk`, which takes a table as text.

use std::fmt::Write;
use straddle_geometry::{Bytes, Extent};

use super::copies;
use super::{Language, Tool, shell};
use crate::change::Change;
use crate::change::partitions::Partitions;

pub(super) static TOOL: Tool = Tool {
    name: "sfdisk",
    title: "sfdisk of util-linux 2.35 or later; the script moves the data, and can be stopped at any place",
    language: Language::Shell,
    does: |change| matches!(change, Change::Partitions(_)),
    script: |order| shell::script(order, |writer, step| copies::step(writer, step, edit)),
};

/// The whole table at once: sfdisk (2.38) does not take a partition by itself that comes to end where the next one begins.
fn edit(partitions: &Partitions) -> String {
    let sectors = |bytes: Bytes| bytes.div_rem(partitions.sector.unit()).0;
    let changed = partitions.entries.iter().filter(|e| e.changes());
    let extended = partitions.extended.iter().map(|e| (e.number, e.from, e.to));
    let all = changed.map(|entry| (entry.number, entry.from, entry.to));
    let lines: Vec<(u64, Extent, Extent)> = extended
        .chain(all)
        .filter(|(_, from, to)| from != to)
        .collect();
    let mut out = String::from(
        "need sfdisk fdisk\nsfdisk --dump \"$tables\" > \"$work/sfdisk.before\" || die 'sfdisk cannot read the table'\nsed",
    );
    for (number, from, to) in &lines {
        let [from_start, from_len, to_start, to_len] =
            [from.start(), from.len(), to.start(), to.len()].map(sectors);
        let _ = write!(
            out,
            " \\\n    -e 's/\\([^0-9]{number}\\) : start= *{from_start}, size= *{from_len},/\\1 : start={to_start}, size={to_len},/'"
        );
    }
    let _ = writeln!(
        out,
        " \\\n    \"$work/sfdisk.before\" > \"$work/sfdisk.after\"\n\
         [ \"$(diff \"$work/sfdisk.before\" \"$work/sfdisk.after\" | grep -c '^>')\" = {} ] || die 'sfdisk has another idea of this table'\n\
         sfdisk --quiet --no-reread --no-tell-kernel --force --wipe never --wipe-partitions never \"$tables\" < \"$work/sfdisk.after\" || die 'sfdisk does not take the new table: it wants 1 MiB between logical partitions behind a gap of that size; parted does not (straddle fix --script parted)'",
        lines.len()
    );
    out
}
