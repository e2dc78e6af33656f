//! Shell that moves the bytes of partitions, so that it can be stopped at any place and go on, and makes their filesystems say where
//! they lie.

use std::fmt::Write;
use straddle_stack::Source;

use super::prelude::Choice;
use super::words::comment;
use super::{Refusal, Writer, indented, tables};
use crate::Step;
use crate::change::partitions::{Entry, Partitions, Resize};

/// What a tool does to the copy of the table, `$tables`, from where its partitions lie to where they will.
pub(super) type Edit = fn(&Partitions) -> String;

/// The lines of a step about partitions. Until the table was rehearsed and what becomes shorter was made so on a copy, nothing is
/// written to the disk, so all may refuse; what follows can be stopped at any place, and goes on from there.
pub(super) fn step(writer: &Writer<'_>, step: &Step, edit: Edit) -> Result<String, Refusal> {
    let partitions = super::partitions_of(&step.change)?;
    let disk = writer.disk(partitions.device);
    writer.know(FUNCTIONS);
    writer.know(tables::FUNCTIONS);
    let is_packed = writer.packed.contains(&partitions.device);
    if !is_packed {
        writer.choice(&GO_ON);
    }
    // Partitions move towards the end, so the last makes room for the one before it.
    let changed = || partitions.entries.iter().rev().filter(|e| e.changes());
    let mut ready = String::new();
    let room = super::price::moved(partitions).room;
    let _ = writeln!(ready, "begin {}\nroom_for {}", step.number, room.get());
    ready += &as_planned(writer, partitions, &disk);
    let _ = writeln!(ready, "counts_in {disk} {}", partitions.sector.get());
    ready += &tables::copied(&disk, partitions);
    ready += &edit(partitions);
    ready += &tables::compared(partitions);
    for entry in changed() {
        let n = entry.number;
        if entry.shrinks() {
            ready += match entry.resize {
                Some(Resize::Ext) => "need resize2fs e2fsprogs\n",
                Some(Resize::Ntfs) => "need ntfsresize ntfs-3g\n",
                None => "",
            };
            away(&mut ready, &disk, partitions, entry);
        } else {
            let _ = writeln!(
                ready,
                "sum_of {disk} {} {} > \"$work/sum-{n}\"\n: > \"$work/at-{n}\"",
                entry.from.start().get(),
                entry.to.len().get()
            );
        }
    }
    ready += ": > \"$work/piece-a\"\n: > \"$work/piece-b\"\nsync \"$work\"/* \"$work\"\n: > \"$work/ready\"\nsync \"$work\"\n";
    let mut out = format!(
        "table={}\nsector={}\n",
        partitions.table,
        partitions.sector.get()
    );
    if is_packed {
        let _ = write!(out, "run=\n{ready}{}", moved(partitions, &disk));
        return Ok(out);
    }
    let _ = write!(
        out,
        "if is_begun {number}; then\n    \
             old_or_new {disk} || die \"the table of {bare} is neither the old one nor the new: it was changed since $run was made\"\n\
         else\n{}fi\n\
         if [ ! -e \"$work/done\" ]; then\n    \
             go_on=\"sh $0 --yes --go-on $run\"\n    \
             way_back=\"every byte is at its old place, at its new one, or in $work; do not mount anything of this disk, and go on with: $go_on\"\n    \
             say \"should this be killed, or the power fail, go on with: $go_on\"\n{}fi\n",
        indented(&ready),
        indented(&moved(partitions, &disk)),
        number = step.number,
        bare = disk.trim_matches('"'),
    );
    Ok(out)
}

/// Lines that move what was made ready; each can be done again.
fn moved(partitions: &Partitions, disk: &str) -> String {
    let mut out = String::new();
    let changed = || partitions.entries.iter().rev().filter(|e| e.changes());
    for entry in changed() {
        let n = entry.number;
        let _ = writeln!(out, "doing='moving partition {n}'");
        let (from, to) = (entry.from.start().get(), entry.to.start().get());
        let len = entry.to.len().get();
        if entry.shrinks() {
            let _ = writeln!(out, "put \"$work/partition-{n}\" {disk} {to} {len}");
        } else {
            let _ = writeln!(out, "forward {disk} {from} {to} {len} {n}");
            records_start(&mut out, disk, to, partitions, entry);
        }
    }
    let _ = write!(
        out,
        "doing='writing the table'\nwrite_table {disk}\ndoing=\n: > \"$work/done\"\nreread {disk}\n\
         say \"the table as it was, and what was copied on the way, are in $work; delete it when all is well\"\n"
    );
    out
}

/// The option after a script that was stopped while it moved something.
static GO_ON: Choice = Choice {
    flag: "--go-on",
    value: Some("FOLDER"),
    variable: "run",
};

/// Lines that refuse a table that was changed since: where each partition begins and how long it is, as it stands on the disk.
fn as_planned(writer: &Writer<'_>, partitions: &Partitions, disk: &str) -> String {
    let entries = partitions.entries.iter().map(|entry| entry.layer);
    let extended = partitions.extended.iter().map(|extended| extended.layer);
    let mut out = String::new();
    for id in entries.chain(extended) {
        let layer = writer.job.stack.layer(id);
        let start = layer.placement.as_ref().map(|start| &start.source);
        let size = layer.size.as_ref().map(|size| &size.source);
        for (source, what) in [(start, "start"), (size, "length")] {
            let Some(Source::Image(image)) = source else {
                continue;
            };
            let field = image.field();
            let hex: String = field.iter().map(|byte| format!("{byte:02x}")).collect();
            if !hex.is_empty() {
                let at = image.offset().get();
                let name = comment(&layer.name).replace('\'', " ");
                let _ = writeln!(out, "bytes_are {disk} {at} {hex} '{what} of {name}'");
            }
        }
    }
    out
}

/// Copies a partition away, makes the copy shorter, and ready for its new place.
fn away(out: &mut String, disk: &str, partitions: &Partitions, entry: &Entry) {
    let n = entry.number;
    let kind = match entry.resize {
        Some(Resize::Ext) => "ext",
        Some(Resize::Ntfs) => "ntfs",
        None => "none",
    };
    let _ = writeln!(
        out,
        "keep {disk} {} {} \"$work/partition-{n}\"\nshorten {kind} \"$work/partition-{n}\" {}",
        entry.from.start().get(),
        entry.from.len().get(),
        entry.to.len().get()
    );
    records_start(
        out,
        &format!("\"$work/partition-{n}\""),
        0,
        partitions,
        entry,
    );
}

/// Makes a filesystem that begins at byte `at` of `file` say where its partition begins now.
fn records_start(out: &mut String, file: &str, at: u64, partitions: &Partitions, entry: &Entry) {
    let (sectors, _) = entry.to.start().div_rem(partitions.sector.unit());
    // The field of FAT and NTFS has 32 bits; what does not fit is left as it is.
    let is_exfat = entry.filesystem.as_deref() == Some("exfat");
    if entry.records_start && entry.changes() && (is_exfat || u32::try_from(sectors).is_ok()) {
        let kind = match entry.filesystem.as_deref() {
            Some("ntfs") => "ntfs",
            Some("exfat") => "exfat",
            _ => "fat",
        };
        let _ = writeln!(out, "records_start {kind} {file} {at} {sectors}");
    }
}

/// Functions of scripts about partitions. Numbers are bytes unless it is said otherwise.
const FUNCTIONS: &str = include_str!("fragments/moving.sh");
