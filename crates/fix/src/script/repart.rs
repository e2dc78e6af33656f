//! `systemd-repart`, which makes a table from definitions.

use std::fmt::Write;
use straddle_geometry::{Bytes, SectorSize};

use super::copies;
use super::{Language, Tool, shell};
use crate::change::Change;
use crate::change::partitions::Partitions;

pub(super) static TOOL: Tool = Tool {
    name: "systemd-repart",
    title: "systemd-repart of systemd 252 or later, for GPT; a new table; the script moves the data, and can be stopped at any place",
    language: Language::Shell,
    does: |change| matches!(change, Change::Partitions(p) if can(p)),
    script: |order| shell::script(order, |writer, step| copies::step(writer, step, edit)),
};

/// systemd-repart numbers from 1 in the order of the disk, begins at 1 MiB, counts in 4 KiB, and knows sectors of 512 bytes
/// before version 254: only such tables can come of it.
fn can(partitions: &Partitions) -> bool {
    let block = |bytes: Bytes| bytes.get().is_multiple_of(4096);
    let first = partitions.entries.first();
    partitions.table == "gpt"
        && partitions.sector == SectorSize::B512
        && first.is_some_and(|first| first.to.start() == Bytes::mib(1))
        && (1..)
            .zip(&partitions.entries)
            .all(|(n, e)| e.number == n && block(e.to.start()) && block(e.to.len()))
}

fn edit(partitions: &Partitions) -> String {
    let mut out = String::from("need systemd-repart systemd\nmkdir \"$work/repart.d\"\n");
    let nexts = partitions.entries.iter().skip(1).map(Some).chain([None]);
    for (entry, next) in partitions.entries.iter().zip(nexts) {
        let n = entry.number;
        let gap = next.and_then(|next| next.to.start().checked_sub(entry.to.end()));
        let gap = gap.map_or(0, Bytes::get);
        // Of which type it is comes back with its name.
        let _ = writeln!(
            out,
            "printf '%s\\n' '[Partition]' Type=linux-generic SizeMinBytes={len} SizeMaxBytes={len} PaddingMinBytes={gap} PaddingMaxBytes={gap} > \"$work/repart.d/{n:03}.conf\"",
            len = entry.to.len().get(),
        );
    }
    out += "systemd-repart --dry-run=no --empty=force --discard=no --pretty=no --definitions=\"$work/repart.d\" \"$tables\" > \"$work/repart.log\" 2>&1 || die \"systemd-repart does not take the new table: $(cat \"$work/repart.log\")\"\n";
    out
}
