//! `mkfs.*`, which make filesystems again: label and identifier stay, files do not.
//!
//! A filesystem that is not empty, or of which nobody can tell, is refused unless its contents are said to be backed up.

use std::fmt::Write;
use std::path::Path;

use super::shell::{comment, quoted};
use super::{Language, Refusal, Tool, Writer, shell};
use crate::Step;
use crate::change::Change;
use crate::change::filesystem::{Family, Filesystem};

pub(super) static TOOL: Tool = Tool {
    name: "mkfs",
    title: "mkfs.ext4, mkfs.xfs, mkfs.btrfs, mkntfs, mkfs.vfat or mkfs.exfat",
    language: Language::Shell,
    does: |change| matches!(change, Change::Filesystem(_)),
    script: |job, tool| shell::script(job, tool, step),
};

fn step(writer: &Writer<'_>, step: &Step) -> Result<String, Refusal> {
    let Change::Filesystem(filesystem) = &step.change else {
        return Ok(String::new());
    };
    writer.first(step)?;
    let maker = Maker::of(filesystem);
    let name = &writer.job.stack.layer(filesystem.device).name;
    let what = quoted(Path::new(&comment(&format!(
        "{} on {name}",
        filesystem.format
    ))))?;
    let mut out = format!(
        "need {} {}\nneed blkid util-linux\n",
        maker.program, maker.package
    );
    for (program, package) in maker.others {
        let _ = writeln!(out, "need {program} {package}");
    }
    out += &writer.reach(filesystem.device)?;
    let _ = write!(
        out,
        "label=$(blkid -p -o value -s LABEL \"$part\") || label=''\n\
         uuid=$(blkid -p -o value -s UUID \"$part\") || uuid=''\n\
         {}\
         say {}\n\
         {}",
        refuse(filesystem, &what),
        quoted(Path::new(&comment(&format!(
            "making {} again; label and identifier stay",
            filesystem.format
        ))))?,
        make(filesystem, &what),
    );
    out += writer.release(filesystem.device)?;
    Ok(out)
}

/// The programs that make a family of filesystems, and their Debian packages.
struct Maker {
    program: &'static str,
    package: &'static str,
    others: &'static [(&'static str, &'static str)],
}

impl Maker {
    fn of(filesystem: &Filesystem) -> Maker {
        let (program, package, others): (_, _, &'static [_]) = match filesystem.family {
            Family::Ext => ("mke2fs", "e2fsprogs", &[("debugfs", "e2fsprogs")]),
            Family::Xfs => (
                "mkfs.xfs",
                "xfsprogs",
                &[("xfs_db", "xfsprogs"), ("xfs_logprint", "xfsprogs")],
            ),
            Family::Btrfs => (
                "mkfs.btrfs",
                "btrfs-progs",
                &[("btrfs", "btrfs-progs"), ("wipefs", "util-linux")],
            ),
            Family::Ntfs => (
                "mkntfs",
                "ntfs-3g",
                &[("ntfsls", "ntfs-3g"), ("ntfslabel", "ntfs-3g")],
            ),
            Family::Fat => ("mkfs.vfat", "dosfstools", &[("mdir", "mtools")]),
            Family::Exfat => ("mkfs.exfat", "exfatprogs", &[("exfatlabel", "exfatprogs")]),
        };
        Maker {
            program,
            package,
            others,
        }
    }
}

/// Lines that refuse a filesystem with files in it.
fn refuse(filesystem: &Filesystem, what: &str) -> String {
    let look = match filesystem.family {
        // The names of the root directory, one a line.
        Family::Ext => {
            "names=$(debugfs -R 'ls -p /' \"$part\" 2> /dev/null | cut -d/ -f6) || names='?'\n\
             names=$(printf '%s\\n' \"$names\" | grep -v -x -e '' -e '\\.' -e lost+found) || names='?'\n\
             empty=no\n\
             [ \"$names\" != .. ] || empty=yes\n"
        }
        // Three inodes are its own: the root directory and two of the realtime section; with a log that is clean.
        Family::Xfs => {
            "empty=no\n\
             used=$(xfs_db -r -c 'sb 0' -c 'print icount ifree' \"$part\" 2> /dev/null | awk '{ n = n ? n - $3 : $3 } END { print n }') || used=''\n\
             if [ \"$used\" = 3 ] && xfs_logprint -t \"$part\" 2> /dev/null | grep -q 'state: <CLEAN>'; then empty=yes; fi\n"
        }
        Family::Btrfs => {
            "empty=no\n\
             tree=$(btrfs inspect-internal dump-tree -t fs \"$part\" 2> /dev/null) || tree='DIR_ITEM'\n\
             subvolumes=$(btrfs inspect-internal dump-tree -t root \"$part\" 2> /dev/null) || subvolumes='ROOT_REF'\n\
             case $subvolumes in\n\
             *ROOT_REF*) ;;\n\
             *)\n    case $tree in\n    *DIR_ITEM*) ;;\n    *INODE_ITEM*) empty=yes ;;\n    esac\n    ;;\n\
             esac\n"
        }
        Family::Ntfs => {
            "empty=no\n\
             if names=$(ntfsls -a \"$part\" 2> /dev/null); then\n    \
                 names=$(printf '%s\\n' \"$names\" | grep -v -x -e '' -e '\\.' -e '\\.\\.') || empty=yes\n\
             fi\n"
        }
        Family::Fat => {
            "empty=no\n\
             if names=$(mdir -i \"$part\" -a -b :: 2> /dev/null) && [ -z \"$names\" ]; then empty=yes; fi\n"
        }
        // No tool looks into one without mounting it.
        Family::Exfat => "empty=no\n",
    };
    format!("{look}[ \"$empty\" = yes ] || contents_may_go {what}\n")
}

/// Lines that make it.
fn make(filesystem: &Filesystem, what: &str) -> String {
    let unit = filesystem.allocation_unit.get();
    let failed = format!(
        "fail {what} 'could not be made: it is neither the old one nor the new; the script can be run again with --contents-are-backed-up once the cause is mended'"
    );
    match filesystem.family {
        Family::Ext => {
            let block = filesystem.block().get();
            let blocks = |bytes: u64| bytes.checked_div(block).unwrap_or(0);
            let mut options = format!("-b {block}");
            if unit > block {
                let _ = write!(options, " -O bigalloc -C {unit}");
            }
            if filesystem.stripe_unit.get() > 0 {
                let _ = write!(
                    options,
                    " -E stride={},stripe_width={}",
                    blocks(filesystem.stripe_unit.get()),
                    blocks(filesystem.full_stripe.get())
                );
            }
            let options = format!(
                "-q -F -t {} {options} ${{label:+-L \"$label\"}} ${{uuid:+-U \"$uuid\"}} \"$part\"",
                filesystem.format
            );
            format!(
                "mke2fs -n {options} > /dev/null || die 'mke2fs would not make it'\n\
                 mke2fs {options} || {failed}\n"
            )
        }
        Family::Xfs => {
            let sector = filesystem.sector.map_or(512, straddle_geometry::Bytes::get);
            let stripes = match (filesystem.stripe_unit.get(), filesystem.full_stripe.get()) {
                (0, _) => "noalign".to_owned(),
                (unit, 0) => format!("su={unit},sw=1"),
                (unit, full) => format!("su={unit},sw={}", full.checked_div(unit).unwrap_or(1)),
            };
            let options = format!(
                "-q -f -s size={sector} -b size={unit} -d {stripes} ${{label:+-L \"$label\"}} ${{uuid:+-m uuid=\"$uuid\"}} \"$part\""
            );
            format!(
                "mkfs.xfs -N {options} > /dev/null || die 'mkfs.xfs would not make it'\n\
                 mkfs.xfs {options} || {failed}\n"
            )
        }
        Family::Btrfs => format!(
            "wipefs -q -a \"$part\" || {failed}\n\
             mkfs.btrfs -q -f -s {unit} -n {} ${{label:+-L \"$label\"}} ${{uuid:+-U \"$uuid\"}} \"$part\" || {failed}\n",
            unit.max(16_384)
        ),
        Family::Ntfs => format!(
            "# -p: the sector at which its partition begins, which its boot sector records.\n\
             mkntfs -q -Q -F -s {} -c {unit} -p {} ${{label:+-L \"$label\"}} \"$part\" > /dev/null || {failed}\n\
             [ -z \"$uuid\" ] || ntfslabel --new-serial=\"$uuid\" \"$part\" > /dev/null || fail 'the filesystem is made; only its serial number is another'\n",
            sector(filesystem),
            start(filesystem),
        ),
        Family::Fat => fat(filesystem, &failed),
        Family::Exfat => format!(
            "mkfs.exfat -c {unit} -b {} ${{label:+-L \"$label\"}} \"$part\" > /dev/null || {failed}\n\
             [ -z \"$uuid\" ] || exfatlabel -i \"$part\" \"0x$(printf '%s' \"$uuid\" | tr -d -)\" > /dev/null || fail 'the filesystem is made; only its serial number is another'\n",
            filesystem
                .heap_unit
                .map_or(1 << 20, |heap| heap.get().max(1 << 20)),
        ),
    }
}

fn sector(filesystem: &Filesystem) -> u64 {
    filesystem.sector.map_or(512, straddle_geometry::Bytes::get)
}

fn start(filesystem: &Filesystem) -> u64 {
    let start = filesystem.start.get();
    start.checked_div(sector(filesystem)).unwrap_or(0)
}

/// FAT: the tables before the first cluster are as long as the number of clusters asks for, so that the number of reserved
/// sectors which puts it on its boundary is found on an empty file of the same size.
fn fat(filesystem: &Filesystem, failed: &str) -> String {
    let sector = sector(filesystem);
    let per_cluster = filesystem
        .allocation_unit
        .get()
        .checked_div(sector)
        .unwrap_or(1);
    let kind: String = filesystem
        .format
        .chars()
        .filter(char::is_ascii_digit)
        .collect();
    let least = if kind == "32" { 32 } else { 1 };
    let every = filesystem
        .heap_unit
        .map_or(sector, straddle_geometry::Bytes::get);
    let every = every.checked_div(sector).unwrap_or(1).max(1);
    let options = format!(
        "-F {kind} -S {sector} -s {per_cluster} -h {} -R \"$reserved\"",
        start(filesystem)
    );
    format!(
        "# The first cluster is to lie on a multiple of {every} sectors. Where it comes to lie is tried on an empty file of the same size.\n\
         if [ -b \"$part\" ]; then size=$(blockdev --getsize64 \"$part\"); else size=$(stat -L -c %s \"$part\"); fi\n\
         trial=$(mktemp)\n\
         field() {{ od -An -v -tu1 -j \"$1\" -N \"$2\" \"$trial\" | awk '{{ for (i = NF; i > 0; i--) n = n * 256 + $i; print n }}'; }}\n\
         reserved={least}\n\
         rest=1\n\
         for round in 1 2 3 4 5 6 7 8; do\n    \
             rm -f \"$trial\"\n    \
             truncate -s \"$size\" \"$trial\"\n    \
             mkfs.vfat {options} \"$trial\" > /dev/null || die 'mkfs.vfat would not make it'\n    \
             tables=$(field 22 2)\n    \
             [ \"$tables\" != 0 ] || tables=$(field 36 4)\n    \
             heap=$(($(field 14 2) + $(field 16 1) * tables + $(field 17 2) * 32 / {sector}))\n    \
             rest=$((heap % {every}))\n    \
             if [ \"$rest\" = 0 ]; then break; fi\n    \
             reserved=$(($(field 14 2) + {every} - rest))\n\
         done\n\
         rm -f \"$trial\"\n\
         [ \"$rest\" = 0 ] || die \"its first cluster cannot be put on a boundary after $round attempts\"\n\
         mkfs.vfat -I {options} ${{label:+-n \"$label\"}} ${{uuid:+-i \"$(printf '%s' \"$uuid\" | tr -d -)\"}} \"$part\" > /dev/null || {failed}\n"
    )
}
