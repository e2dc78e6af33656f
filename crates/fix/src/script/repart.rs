//! `systemd-repart`, which makes a table from definitions; the data of all partitions are copied away and back.

use std::fmt::Write;
use straddle_geometry::{Bytes, SectorSize};

use super::copies::{self, away, back};
use super::{Language, Refusal, Tool, Writer, shell};
use crate::Step;
use crate::change::Change;
use crate::change::partitions::Partitions;

pub(super) static TOOL: Tool = Tool {
    name: "systemd-repart",
    title: "systemd-repart of systemd 252 or later, for GPT; a new table, the data of all partitions are copied away and back",
    language: Language::Shell,
    does: |change| matches!(change, Change::Partitions(p) if can(p)),
    script: |job, tool| shell::script(job, tool, step),
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

fn step(writer: &Writer<'_>, step: &Step) -> Result<String, Refusal> {
    let partitions = super::partitions_of(&step.change)?;
    let disk = writer.disk(partitions.device);
    let mut out = String::from("need systemd-repart systemd\nneed sfdisk fdisk\n");
    out += &copies::begin(writer, step, copies::length(partitions.entries.iter()))?;
    let _ = writeln!(
        out,
        "# The table as it was: `sfdisk DISK < table.before` brings it back, not the data.\n\
         sfdisk --dump {disk} > \"$work/table.before\" || die 'sfdisk cannot read the table'\n\
         dd if={disk} of=\"$work/boot.before\" bs=440 count=1 status=none\n\
         identifier=$(sfdisk --disk-id {disk}) || die 'the table has no identifier'\n\
         mkdir \"$work/repart.d\"\n\
         # has_place DISK NUMBER START SECTORS\n\
         has_place() {{ sfdisk --dump \"$1\" | grep -q \"[^0-9]$2 : start= *$3, size= *$4,\"; }}"
    );
    out += &copies::as_many(partitions, "grep -c ' : start=' \"$work/table.before\"");
    let nexts = partitions.entries.iter().skip(1).map(Some).chain([None]);
    for (entry, next) in partitions.entries.iter().zip(nexts) {
        let n = entry.number;
        let kind = entry.kind.as_deref().unwrap_or_default();
        let gap = next.and_then(|next| next.to.start().checked_sub(entry.to.end()));
        let gap = gap.map_or(0, Bytes::get);
        let _ = writeln!(
            out,
            "uuid_{n}=$(sfdisk --part-uuid {disk} {n})\n\
             type_{n}=$(sfdisk --part-type {disk} {n})\n\
             name_{n}=$(sfdisk --part-label {disk} {n})\n\
             flags_{n}=$(sfdisk --part-attrs {disk} {n})\n\
             [ \"$type_{n}\" = '{kind}' ] || die \"partition {n} has the type $type_{n}, the plan was made for {kind}\"\n\
             cat > \"$work/repart.d/{n:03}.conf\" << END\n\
             [Partition]\n\
             Type=$type_{n}\n\
             UUID=$uuid_{n}\n\
             SizeMinBytes={len}\n\
             SizeMaxBytes={len}\n\
             PaddingMinBytes={gap}\n\
             PaddingMaxBytes={gap}\n\
             END",
            len = entry.to.len().get(),
        );
    }
    for entry in &partitions.entries {
        away(&mut out, &disk, partitions, entry);
    }
    let _ = writeln!(
        out,
        "doing='making the table'\n\
         systemd-repart --dry-run=no --empty=force --discard=no --pretty=no --seed=\"$identifier\" --definitions=\"$work/repart.d\" \"$(readlink -f {disk})\" > \"$work/repart.log\" 2>&1\n\
         sfdisk --quiet --disk-id {disk} \"$identifier\" > /dev/null"
    );
    for entry in &partitions.entries {
        let n = entry.number;
        let _ = writeln!(
            out,
            "sfdisk --quiet --part-label {disk} {n} \"$name_{n}\" > /dev/null\n\
             sfdisk --quiet --part-attrs {disk} {n} \"$flags_{n}\" > /dev/null\n\
             has_place {disk} {n} {} {}",
            entry.to.start().div_rem(partitions.sector.unit()).0,
            entry.to.len().div_rem(partitions.sector.unit()).0
        );
    }
    let _ = writeln!(
        out,
        "dd if=\"$work/boot.before\" of={disk} bs=440 count=1 conv=notrunc status=none"
    );
    for entry in &partitions.entries {
        back(&mut out, &disk, entry);
    }
    out += &copies::end(&disk);
    Ok(out)
}
