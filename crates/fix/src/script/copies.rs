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
const FUNCTIONS: &str = r#"
work=
loops=
# When it was refused, copies are of no use; what tools said about it stays. What a tool told the kernel of a loop device would
# outlive it.
tidy() {
    if [ "$status" = 2 ] && [ -z "$doing" ] && [ -n "$work" ] && [ ! -e "$work/ready" ]; then
        rm -f "$work"/partition-*[0-9] "$work"/table.* "$work"/areas* "$work"/sum-* "$work"/at-*
        rmdir "$work" "$run" 2> /dev/null || :
    fi
    for loop in $loops; do
        partx --delete "$loop" > /dev/null 2>&1 || :
        losetup --detach "$loop" || :
    done
}
at_end tidy

# begin STEP: its folder in that of this run
begin() {
    if [ -z "$run" ]; then run=$(mktemp -d "$folder/straddle-fix.XXXXXX") || die "cannot make a folder in $folder"; fi
    work=$run/step-$1
    mkdir -p "$work"
}

# is_begun STEP: whether the folder of the run that this one goes on with has all that this step needs
is_begun() {
    [ -n "$run" ] && [ -e "$run/step-$1/ready" ] || return 1
    work=$run/step-$1
}

# size_of FILE
size_of() { if [ -b "$1" ]; then blockdev --getsize64 "$1"; else stat -L -c %s "$1"; fi; }

# counts_in DISK SECTOR: what the tools count in must be what the table counts in; sets what the disk is reached as
counts_in() {
    attached=$1
    if [ ! -b "$1" ] && [ "$2" != 512 ]; then
        need losetup mount
        attached=$(losetup --find --show --sector-size "$2" "$1") || die "$1 counts in $2 bytes and cannot be attached to a loop device"
        loops="$loops $attached"
    fi
    if [ -b "$attached" ]; then
        counted=$(blockdev --getss "$attached")
        [ "$counted" = "$2" ] || die "$1 has sectors of $counted bytes, its table counts in $2"
    fi
}

# sum_of FILE START BYTES
sum_of() { dd if="$1" bs=1M iflag=skip_bytes,count_bytes,fullblock skip="$2" count="$3" status=none | sha256sum; }

# lay PIECE DISK BYTE
lay() { dd if="$1" of="$2" bs=1M oflag=seek_bytes seek="$3" conv=notrunc,fsync status=none; }

# forward DISK FROM TO BYTES NUMBER: the last piece first, so that each is read before something is written over it. Each is on stable
# storage in a file of its own while it is written, and where that belongs stands in another, so that this goes on where it was stopped
forward() {
    [ ! -e "$work/moved-$5" ] || return 0
    say "moving partition $5: $4 bytes from byte $2 to byte $3"
    left=$4
    piece=a
    if [ -s "$work/at-$5" ]; then
        read -r left length piece < "$work/at-$5"
        [ "$(stat -c %s "$work/piece-$piece")" = "$length" ]
        lay "$work/piece-$piece" "$1" $(($3 + left))
    fi
    while [ "$left" -gt 0 ]; do
        length=16777216
        [ "$left" -gt "$length" ] || length=$left
        left=$((left - length))
        case $piece in a) piece=b ;; *) piece=a ;; esac
        dd if="$1" of="$work/piece-$piece" bs=1M iflag=skip_bytes,count_bytes,fullblock skip=$(($2 + left)) count="$length" conv=fsync status=none
        [ "$(stat -c %s "$work/piece-$piece")" = "$length" ]
        printf '%20d %20d %s\n' "$left" "$length" "$piece" | dd of="$work/at-$5" conv=notrunc,fsync status=none
        lay "$work/piece-$piece" "$1" $(($3 + left))
    done
    [ "$(sum_of "$1" "$3" "$4")" = "$(cat "$work/sum-$5")" ] || fail "partition $5 is not what it was before it was moved"
    : > "$work/moved-$5"
    sync "$work/moved-$5" "$work"
}

# shorten KIND FILE BYTES: the copy of a filesystem, so that nothing is lost when it has no room for that
shorten() {
    say "making $2 $3 bytes long"
    case $1 in
    ext)
        e2fsck -f -p "$2" > "$2.log" 2>&1 || [ $? = 1 ] || die "e2fsck finds fault with it: $2.log"
        resize2fs "$2" "$(($3 / 1024))K" >> "$2.log" 2>&1 || die "resize2fs cannot make it shorter: $2.log"
        ;;
    ntfs)
        ntfsresize --force --no-progress-bar --size "$3" "$2" > "$2.log" 2>&1 || die "ntfsresize cannot make it shorter: $2.log"
        ;;
    esac
    truncate -s "$3" "$2" || die "$2 cannot be shortened"
}

# put_number NUMBER LENGTH FILE BYTE: the same, written
put_number() {
    value=$1
    left=$2
    escaped=
    while [ "$left" -gt 0 ]; do
        escaped=$escaped$(printf '\\0%03o' $((value & 255)))
        value=$((value >> 8))
        left=$((left - 1))
    done
    printf '%b' "$escaped" | dd of="$3" bs=1 seek="$4" conv=notrunc status=none
}

# records_start KIND FILE BYTE SECTORS: the filesystem that begins at that byte says in which sector its partition begins
records_start() {
    per=512
    case $1 in
    fat)
        per=$(number "$2" $(($3 + 11)) 2)
        second=0
        # Only FAT32 has no 16-bit length of its table, and has a second boot sector.
        [ "$(number "$2" $(($3 + 22)) 2)" != 0 ] || second=$(number "$2" $(($3 + 50)) 2)
        ;;
    ntfs)
        per=$(number "$2" $(($3 + 11)) 2)
        second=$(number "$2" $(($3 + 40)) 8)
        ;;
    exfat)
        per=$((1 << $(number "$2" $(($3 + 108)) 1)))
        for region in "$3" $(($3 + 12 * per)); do
            put_number "$4" 8 "$2" $((region + 64))
            boot_checksum "$2" "$region" "$per"
        done
        return
        ;;
    esac
    second=$(($3 + second * per))
    if [ "$second" != "$3" ] && cmp -s -i "$3:$second" -n 512 "$2" "$2"; then
        put_number "$4" 4 "$2" $((second + 28))
    fi
    put_number "$4" 4 "$2" $(($3 + 28))
}

# boot_checksum FILE BYTE SECTOR: that of exFAT, over eleven sectors but for three bytes, fills the twelfth
boot_checksum() {
    sum=0
    at=0
    for byte in $(od -An -v -tu1 -j "$2" -N $((11 * $3)) "$1"); do
        case $at in
        106 | 107 | 112) ;;
        *) sum=$(((((sum & 1) << 31) + (sum >> 1) + byte) & 0xffffffff)) ;;
        esac
        at=$((at + 1))
    done
    put_number "$sum" 4 "$1" $(($2 + 11 * $3))
    at=4
    while [ "$at" -lt "$3" ]; do
        dd if="$1" of="$1" bs="$at" count=1 iflag=skip_bytes oflag=seek_bytes skip=$(($2 + 11 * $3)) seek=$(($2 + 11 * $3 + at)) conv=notrunc status=none
        at=$((at * 2))
    done
}

# reread DISK: where the kernel knows partitions of it
reread() {
    real=$(readlink -f "$1")
    for known in "/sys/class/block/${real##*/}"/*/partition; do
        [ -e "$known" ] || continue
        blockdev --rereadpt "$1" || say 'the kernel keeps the table as it was until it is started again'
        break
    done
}

"#;
