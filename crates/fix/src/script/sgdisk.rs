//! `sgdisk`, which makes the entry of a partition again.

use std::fmt::Write;

use super::copies;
use super::{Language, Tool, shell};
use crate::change::Change;
use crate::change::partitions::{Entry, Partitions};

pub(super) static TOOL: Tool = Tool {
    name: "sgdisk",
    title: "sgdisk of gptfdisk, for GPT; the script moves the data, and can be stopped at any place",
    language: Language::Shell,
    does: |change| matches!(change, Change::Partitions(p) if p.table == "gpt"),
    script: |order| shell::script(order, |writer, step| copies::step(writer, step, edit)),
};

fn edit(partitions: &Partitions) -> String {
    let changed: Vec<&Entry> = partitions.entries.iter().filter(|e| e.changes()).collect();
    let mut out = String::from("need sgdisk gdisk\nsgdisk --set-alignment=1");
    // All are deleted before one is made, so that none is in the way of another.
    for entry in &changed {
        let _ = write!(out, " --delete={}", entry.number);
    }
    for entry in &changed {
        let sectors = |bytes: straddle_geometry::Bytes| bytes.div_rem(partitions.sector.unit()).0;
        let (start, end) = (sectors(entry.to.start()), sectors(entry.to.end()));
        let _ = write!(
            out,
            " \\\n    --new={}:{start}:{}",
            entry.number,
            end.saturating_sub(1)
        );
    }
    out += " \"$tables\" > \"$work/sgdisk.log\" 2>&1 || die \"sgdisk does not take the new table: $(cat \"$work/sgdisk.log\")\"\n";
    out
}
