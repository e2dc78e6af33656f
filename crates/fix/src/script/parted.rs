//! `parted`, which makes the entry of a partition again; the data are copied away and back. It can set no GUID of a partition and
//! no type of an MBR by its number: these are put back as they were, in a GPT with its checksums.

use std::fmt::Write;
use straddle_geometry::{Bytes, Extent};

use super::copies::{self, away, back};
use super::{Language, Refusal, Tool, Writer, shell};
use crate::Step;
use crate::change::Change;
use crate::change::partitions::{Entry, Partitions};

pub(super) static TOOL: Tool = Tool {
    name: "parted",
    title: "parted 3; the data are copied away and back",
    language: Language::Shell,
    does: |change| matches!(change, Change::Partitions(p) if keeps_numbers(p)),
    script: |job, tool| shell::script(job, tool, step),
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

fn step(writer: &Writer<'_>, step: &Step) -> Result<String, Refusal> {
    let partitions = super::partitions_of(&step.change)?;
    let disk = writer.disk(partitions.device);
    let changed: Vec<&Entry> = partitions.entries.iter().filter(|e| e.changes()).collect();
    let mut out = String::from("need parted parted\n");
    out += &copies::begin(writer, step, copies::length(changed.iter().copied()))?;
    let _ = writeln!(
        out,
        "parted --script {disk} unit s print > \"$work/table.before\" || die 'parted does not take this table'\n\
         # Its first sector: what parted does not know (boot code, types) is taken from it.\n\
         dd if={disk} of=\"$work/sector.before\" bs={} count=1 status=none",
        partitions.sector.get()
    );
    out += &copies::as_many(
        partitions,
        "grep -c '^ *[0-9][0-9]* ' \"$work/table.before\"",
    );
    writer.know(if partitions.table == "gpt" { GPT } else { MBR });
    for entry in &partitions.entries {
        if partitions.table == "gpt" {
            let n = entry.number;
            let _ = writeln!(
                out,
                "at=$(entry_at {disk} {sector} {sector} {n})\n\
                 dd if={disk} of=\"$work/entry-{n}\" bs=128 count=1 iflag=skip_bytes skip=\"$at\" status=none",
                sector = partitions.sector.get()
            );
        }
        if entry.is_logical(&partitions.table) {
            let n = entry.number;
            let _ = writeln!(
                out,
                "at_{n}=$(record {disk} {} {n} {})\ntype_{n}=$(number {disk} $((at_{n} + 4)) 1)\nflag_{n}=$(number {disk} \"$at_{n}\" 1)",
                extended_at(partitions).get(),
                partitions.sector.get()
            );
        }
    }
    for entry in &changed {
        away(&mut out, &disk, partitions, entry);
    }
    out += "doing='writing the table'\n";
    table(&mut out, &disk, partitions);
    for entry in &changed {
        back(&mut out, &disk, entry);
    }
    out += &copies::end(&disk);
    Ok(out)
}

fn extended_at(partitions: &Partitions) -> Bytes {
    let extended = partitions.extended.as_ref();
    extended.map_or(Bytes::ZERO, |extended| extended.from.start())
}

fn table(out: &mut String, disk: &str, partitions: &Partitions) {
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
    let begin = format!("parted --script --align none {disk} unit s");
    // The chain of logical partitions is made again as a whole; each primary so that it keeps its number.
    if again {
        // From the last, because the numbers of those behind one that is deleted change.
        for number in (5..)
            .take(logicals.len())
            .collect::<Vec<u64>>()
            .iter()
            .rev()
        {
            let _ = writeln!(out, "{begin} rm {number}");
        }
    }
    if let Some(extended) = partitions.extended.as_ref().filter(|_| moves_extended) {
        let _ = writeln!(out, "{begin} rm {}", extended.number);
    }
    let mut primary: Vec<(u64, &str, Extent)> = changed()
        .filter(|entry| !logical(entry))
        .map(|entry| (entry.number, "primary", entry.to))
        .collect();
    for (number, _, _) in &primary {
        let _ = writeln!(out, "{begin} rm {number}");
    }
    let extended = partitions.extended.iter().filter(|_| moves_extended);
    primary.extend(extended.map(|e| (e.number, "extended", e.to)));
    primary.sort_unstable_by_key(|(number, ..)| *number);
    for (_, kind, to) in &primary {
        let _ = writeln!(out, "{begin} mkpart {kind} {}", place(*to));
    }
    if again {
        for entry in &logicals {
            let _ = writeln!(out, "{begin} mkpart logical {}", place(entry.to));
        }
    }
    if partitions.table == "gpt" {
        let numbers: Vec<String> = partitions
            .entries
            .iter()
            .map(|e| e.number.to_string())
            .collect();
        let _ = writeln!(
            out,
            "entries_as_before {disk} {} {}",
            partitions.sector.get(),
            numbers.join(" ")
        );
    } else {
        for (number, ..) in &primary {
            let _ = writeln!(out, "type_as_before {disk} {number}");
        }
    }
    if let Some(extended) = partitions.extended.as_ref().filter(|_| again) {
        for entry in &logicals {
            let n = entry.number;
            let _ = writeln!(
                out,
                "at=$(record {disk} {} {n} {})\nput_number \"$type_{n}\" 1 {disk} $((at + 4))\nput_number \"$flag_{n}\" 1 {disk} \"$at\"",
                extended.to.start().get(),
                partitions.sector.get()
            );
        }
    }
    let _ = writeln!(
        out,
        "dd if=\"$work/sector.before\" of={disk} bs=1 count=446 conv=notrunc status=none"
    );
}

const MBR: &str = r#"# record DISK EXTENDED NUMBER SECTOR: the byte at which the entry of a logical partition stands
record() {
    here=$2
    n=5
    while [ "$n" -lt "$3" ]; do
        here=$(($2 + $(number "$1" $((here + 446 + 16 + 8)) 4) * $4))
        n=$((n + 1))
    done
    echo $((here + 446))
}

# type_as_before DISK NUMBER: flag and type of a primary partition
type_as_before() {
    entry=$((446 + ($2 - 1) * 16))
    put_number "$(number "$work/sector.before" "$entry" 1)" 1 "$1" "$entry"
    put_number "$(number "$work/sector.before" $((entry + 4)) 1)" 1 "$1" $((entry + 4))
}
"#;

const GPT: &str = r#"# entry_at DISK HEADER SECTOR NUMBER: the byte at which the entry stands that belongs to the header at that byte
entry_at() { echo $(($(number "$1" $(($2 + 72)) 8) * $3 + ($4 - 1) * $(number "$1" $(($2 + 84)) 4))); }

# crc32 FILE BYTE LENGTH: gzip writes this sum before the length, at its end
crc32() {
    dd if="$1" bs=1M iflag=skip_bytes,count_bytes,fullblock skip="$2" count="$3" status=none |
        gzip -1 -c | tail -c 8 | od -An -v --endian=little -t u4 -N 4 | tr -d ' \n'
}

# entries_as_before DISK SECTOR NUMBER…: type, GUID, attributes and name of each, in both copies of the table
entries_as_before() {
    gpt=$1
    sector=$2
    shift 2
    for header in "$sector" $(($(number "$gpt" $((sector + 32)) 8) * sector)); do
        for n in "$@"; do
            at=$(entry_at "$gpt" "$header" "$sector" "$n")
            dd if="$work/entry-$n" of="$gpt" bs=32 count=1 oflag=seek_bytes seek="$at" conv=notrunc status=none
            dd if="$work/entry-$n" of="$gpt" bs=16 skip=3 count=5 oflag=seek_bytes seek=$((at + 48)) conv=notrunc status=none
        done
        first=$(entry_at "$gpt" "$header" "$sector" 1)
        length=$(($(number "$gpt" $((header + 80)) 4) * $(number "$gpt" $((header + 84)) 4)))
        put_number "$(crc32 "$gpt" "$first" "$length")" 4 "$gpt" $((header + 88))
        put_number 0 4 "$gpt" $((header + 16))
        put_number "$(crc32 "$gpt" "$header" "$(number "$gpt" $((header + 12)) 4)")" 4 "$gpt" $((header + 16))
    done
}
"#;
