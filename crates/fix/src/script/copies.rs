//! Shell that copies the bytes of partitions away and back, compares them, and makes their filesystems say where they lie.

use std::fmt::Write;
use straddle_geometry::Bytes;
use straddle_stack::Source;

use super::shell::comment;
use super::{Refusal, Writer};
use crate::Step;
use crate::change::partitions::{Entry, Partitions, Resize};

/// The beginning of every step about partitions: the folder of this run with room for `copied`, and the kind of
/// device that the table is for.
pub(super) fn begin(writer: &Writer<'_>, step: &Step, copied: Bytes) -> Result<String, Refusal> {
    let partitions = super::partitions_of(&step.change)?;
    let disk = writer.disk(partitions.device);
    writer.know(FUNCTIONS);
    let mut out = String::new();
    let _ = writeln!(
        out,
        "work=$(mktemp -d \"$folder/straddle-fix.XXXXXX\") || die \"cannot make a folder in $folder\"\n\
         way_back=\"$work holds the table as it was, and the copies; do not mount anything of this disk: put back both, or go on by hand from there\""
    );
    if copied > Bytes::ZERO {
        let _ = writeln!(out, "room_for {}", copied.get());
    }
    out += &as_planned(writer, partitions, &disk);
    let sector = partitions.sector.get();
    let _ = writeln!(
        out,
        "counts_in {disk} {sector}\n{}=$attached",
        disk.trim_matches(['"', '$'])
    );
    for entry in partitions.entries.iter().filter(|e| e.resize.is_some()) {
        out += match entry.resize {
            Some(Resize::Ext) => "need resize2fs e2fsprogs\n",
            Some(Resize::Ntfs) => "need ntfsresize ntfs-3g\n",
            None => "",
        };
    }
    Ok(out)
}

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

/// A line that refuses a table with more partitions than the plan knows; `count` prints how many there are.
pub(super) fn as_many(partitions: &Partitions, count: &str) -> String {
    let many = partitions.entries.len() + partitions.extended.iter().count();
    format!(
        "[ \"$({count})\" = {many} ] || die 'the table has not {many} partitions, as the plan expects: it was changed'\n"
    )
}

/// What entries take when they are copied away.
pub(super) fn length<'a>(entries: impl Iterator<Item = &'a Entry>) -> Bytes {
    entries.fold(Bytes::ZERO, |sum, entry| {
        sum.checked_add(entry.from.len()).unwrap_or(Bytes::MAX)
    })
}

/// Copies a partition away and makes the copy ready for its new place. Nothing is written to the disk, so all may refuse.
pub(super) fn away(out: &mut String, disk: &str, partitions: &Partitions, entry: &Entry) {
    let n = entry.number;
    let _ = writeln!(
        out,
        "keep {disk} {} {} \"$work/partition-{n}\"",
        entry.from.start().get(),
        entry.from.len().get()
    );
    if entry.shrinks() {
        let kind = match entry.resize {
            Some(Resize::Ext) => "ext",
            Some(Resize::Ntfs) => "ntfs",
            None => "none",
        };
        let _ = writeln!(
            out,
            "shorten {kind} \"$work/partition-{n}\" {}",
            entry.to.len().get()
        );
    }
    records_start(
        out,
        &format!("\"$work/partition-{n}\""),
        0,
        partitions,
        entry,
    );
}

/// Copies a partition to its new place.
pub(super) fn back(out: &mut String, disk: &str, entry: &Entry) {
    let n = entry.number;
    let _ = writeln!(
        out,
        "doing='copying partition {n} back'\nput \"$work/partition-{n}\" {disk} {} {}",
        entry.to.start().get(),
        entry.to.len().get()
    );
}

/// Makes a filesystem that begins at byte `at` of `file` say where its partition begins now.
pub(super) fn records_start(
    out: &mut String,
    file: &str,
    at: u64,
    partitions: &Partitions,
    entry: &Entry,
) {
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

/// The end: what the kernel should know, and what may be thrown away.
pub(super) fn end(disk: &str) -> String {
    format!(
        "doing=\nreread {disk}\nsay \"copies and the table as it was are kept in $work; delete it when all is well\"\n"
    )
}

/// Functions of scripts about partitions. Numbers are bytes unless it is said otherwise.
const FUNCTIONS: &str = r#"
loops=
work=
# When it was refused, copies are of no use; what tools said about it stays. What a tool told the kernel of a loop device would
# outlive it.
tidy() {
    if [ "$status" = 2 ] && [ -z "$doing" ] && [ -n "$work" ]; then
        rm -f "$work"/partition-*[0-9]
        rmdir "$work" 2> /dev/null || :
    fi
    for loop in $loops; do
        partx --delete "$loop" > /dev/null 2>&1 || :
        losetup --detach "$loop" || :
    done
}
at_end tidy

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

# forward DISK FROM TO BYTES: the last piece first, so that each is read before something is written over it
forward() {
    say "moving $4 bytes from byte $2 to byte $3"
    sum=$(sum_of "$1" "$2" "$4")
    left=$4
    while [ "$left" -gt 0 ]; do
        piece=16777216
        [ "$left" -gt "$piece" ] || piece=$left
        left=$((left - piece))
        dd if="$1" of="$1" bs="$piece" count=1 iflag=skip_bytes,fullblock oflag=seek_bytes skip=$(($2 + left)) seek=$(($3 + left)) conv=notrunc status=none
    done
    [ "$(sum_of "$1" "$3" "$4")" = "$sum" ]
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

# number FILE BYTE LENGTH: an unsigned number there, lowest byte first
number() { od -An -v --endian=little -t "u$3" -j "$2" -N "$3" "$1" | tr -d ' \n'; }

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
