//! `sgdisk`, which makes the entry of a partition again; the data are copied away and back.

use std::fmt::Write;

use super::copies::{self, away, back};
use super::{Language, Refusal, Tool, Writer, shell};
use crate::Step;
use crate::change::Change;
use crate::change::partitions::Entry;

pub(super) static TOOL: Tool = Tool {
    name: "sgdisk",
    title: "sgdisk of gptfdisk, for GPT; the data are copied away and back",
    language: Language::Shell,
    does: |change| matches!(change, Change::Partitions(p) if p.table == "gpt"),
    script: |job, tool| shell::script(job, tool, step),
};

fn step(writer: &Writer<'_>, step: &Step) -> Result<String, Refusal> {
    let partitions = super::partitions_of(&step.change)?;
    let disk = writer.disk(partitions.device);
    let changed: Vec<&Entry> = partitions.entries.iter().filter(|e| e.changes()).collect();
    let mut out = String::from("need sgdisk gdisk\n");
    out += &copies::begin(writer, step, copies::length(changed.iter().copied()))?;
    let _ = writeln!(
        out,
        "# The table as it was: `sgdisk --load-backup=table.before DISK` brings it back, not the data.\n\
         sgdisk --backup=\"$work/table.before\" {disk} > /dev/null || die 'sgdisk cannot read the table'\n\
         # field NUMBER TITLE: what sgdisk says of a partition\n\
         field() {{ sgdisk --info=\"$1\" {disk} | sed -n \"s/^$2: //p\"; }}"
    );
    let count = format!("sgdisk --print {disk} | grep -c '^ *[0-9][0-9]* '");
    out += &copies::as_many(partitions, &count);
    for entry in &changed {
        away(&mut out, &disk, partitions, entry);
    }
    // All are deleted before one is made, so that none is in the way of another.
    let mut options = String::new();
    for entry in &changed {
        let n = entry.number;
        let _ = writeln!(
            out,
            "type_{n}=$(field {n} 'Partition GUID code' | cut -d ' ' -f 1)\n\
             guid_{n}=$(field {n} 'Partition unique GUID')\n\
             flags_{n}=$(field {n} 'Attribute flags')\n\
             name_{n}=$(field {n} 'Partition name' | sed \"s/^'\\(.*\\)'\\$/\\1/\")\n\
             [ ${{#guid_{n}}} = 36 ] || die 'sgdisk does not know partition {n}'"
        );
        let _ = write!(options, " --delete={n}");
    }
    for entry in &changed {
        let n = entry.number;
        let sectors = |bytes: straddle_geometry::Bytes| bytes.div_rem(partitions.sector.unit()).0;
        let (start, end) = (sectors(entry.to.start()), sectors(entry.to.end()));
        let _ = write!(
            options,
            " \\\n    --new={n}:{start}:{} --typecode={n}:\"$type_{n}\" --partition-guid={n}:\"$guid_{n}\" --attributes={n}:=:\"$flags_{n}\" --change-name={n}:\"$name_{n}\"",
            end.saturating_sub(1)
        );
    }
    let _ = writeln!(
        out,
        "doing='writing the table'\nsgdisk --set-alignment=1{options} {disk} > \"$work/sgdisk.log\""
    );
    for entry in &changed {
        back(&mut out, &disk, entry);
    }
    out += &copies::end(&disk);
    Ok(out)
}
