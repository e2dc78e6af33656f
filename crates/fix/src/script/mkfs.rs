//! `mkfs.*`, which make filesystems again: label and identifier stay, files do not.
//!
//! A filesystem that is not empty, or of which nobody can tell, is refused unless its contents are said to be backed up.

use std::fmt::Write;
use std::path::Path;

use super::fragment::filled;
use super::words::{comment, quoted};
use super::{Language, Refusal, Tool, Writer, shell};
use crate::Step;
use crate::change::Change;
use crate::change::filesystem::{Family, Filesystem};

pub(super) static TOOL: Tool = Tool {
    name: "mkfs",
    title: "mkfs.ext4, mkfs.xfs, mkfs.btrfs, mkntfs, mkfs.vfat or mkfs.exfat",
    language: Language::Shell,
    does: |change| matches!(change, Change::Filesystem(_)),
    script: |order| shell::script(order, step),
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
        "tag LABEL \"$part\"\nlabel=$tagged\n\
         tag UUID \"$part\"\nuuid=$tagged\n\
         {}\
         say {}\n\
         {}\
         # Read back as any other program reads it.\n\
         tag LABEL \"$part\"\n\
         [ \"$tagged\" = \"$label\" ] || fail 'the filesystem is made; only its label is another'\n\
         tag UUID \"$part\"\n\
         [ \"$tagged\" = \"$uuid\" ] || fail 'the filesystem is made; only its identifier is another'\n\
         doing=\n",
        refuse(filesystem, &what),
        quoted(Path::new(&comment(&format!(
            "making {} again; label and identifier stay",
            filesystem.format
        ))))?,
        make(filesystem, &what).replacen(MAKING, &making(&what), 1),
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
            Family::Ext => (
                "mke2fs",
                "e2fsprogs",
                &[("debugfs", "e2fsprogs"), ("e2fsck", "e2fsprogs")],
            ),
            Family::Xfs => (
                "mkfs.xfs",
                "xfsprogs",
                &[
                    ("xfs_db", "xfsprogs"),
                    ("xfs_logprint", "xfsprogs"),
                    ("xfs_repair", "xfsprogs"),
                ],
            ),
            Family::Btrfs => (
                "mkfs.btrfs",
                "btrfs-progs",
                &[("btrfs", "btrfs-progs"), ("wipefs", "util-linux")],
            ),
            Family::Ntfs => (
                "mkntfs",
                "ntfs-3g",
                &[
                    ("ntfsls", "ntfs-3g"),
                    ("ntfscat", "ntfs-3g"),
                    ("ntfslabel", "ntfs-3g"),
                ],
            ),
            Family::Fat => ("mkfs.vfat", "dosfstools", &[]),
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
        // Counted in the superblock, which e2fsck finds right: reserved inodes, lost+found, and those of two features. What has the
        // number of lost+found must be a directory.
        Family::Ext => {
            include_str!("fragments/empty_ext.sh")
        }
        // Three inodes are its own: the root directory and two of the realtime section; with a log that is clean.
        Family::Xfs => {
            include_str!("fragments/empty_xfs.sh")
        }
        // One inode and no name in the tree of files, no other tree, no other device, no log of what was written last. Names can only
        // add to what is looked for here.
        Family::Btrfs => {
            include_str!("fragments/empty_btrfs.sh")
        }
        // Each name has its number before it, so that none looks like that of the root directory, and no record behind those of the
        // system is in use.
        Family::Ntfs => {
            include_str!("fragments/empty_ntfs.sh")
        }
        // By the bytes: no cluster is in use but that of the root directory, and that has no entry but a label.
        Family::Fat => {
            include_str!("fragments/empty_fat.sh")
        }
        // No tool looks into one without mounting it.
        Family::Exfat => "empty=no\n",
    };
    format!("{look}[ \"$empty\" = yes ] || contents_may_go {what}\n")
}

/// What stands before the line that writes first.
const MAKING: &str = "(making)\n";

/// What that becomes.
fn making(what: &str) -> String {
    format!(
        "doing='making it again'\nway_back={what}' is neither the old one nor the new; the script can be run again with --contents-are-backed-up once the cause is gone'\n"
    )
}

/// Lines that make it.
fn make(filesystem: &Filesystem, what: &str) -> String {
    let unit = filesystem.allocation_unit.get();
    let failed = format!("fail {what} 'could not be made'");
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
                 {MAKING}mke2fs {options} || {failed}\n"
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
                 {MAKING}mkfs.xfs {options} || {failed}\n"
            )
        }
        Family::Btrfs => format!(
            "{MAKING}wipefs -q -a \"$part\" || {failed}\n\
             mkfs.btrfs -q -f -s {unit} -n {} ${{label:+-L \"$label\"}} ${{uuid:+-U \"$uuid\"}} \"$part\" || {failed}\n",
            unit.max(16_384)
        ),
        Family::Ntfs => format!(
            "# -p: the sector at which its partition begins, which its boot sector records.\n\
             {MAKING}mkntfs -q -Q -F -s {} -c {unit} -p {} ${{label:+-L \"$label\"}} \"$part\" > /dev/null || {failed}\n\
             [ -z \"$uuid\" ] || ntfslabel --new-serial=\"$uuid\" \"$part\" > /dev/null || fail 'the filesystem is made; only its serial number is another'\n",
            sector(filesystem),
            start(filesystem),
        ),
        Family::Fat => fat(filesystem, &failed),
        Family::Exfat => format!(
            "{MAKING}mkfs.exfat -c {unit} -b {} ${{label:+-L \"$label\"}} \"$part\" > /dev/null || {failed}\n\
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
    let least = if kind == "32" { "32" } else { "1" };
    let every = filesystem
        .heap_unit
        .map_or(sector, straddle_geometry::Bytes::get);
    let every = every.checked_div(sector).unwrap_or(1).max(1);
    let options = format!(
        "-F {kind} -S {sector} -s {per_cluster} -h {} -R \"$reserved\"",
        start(filesystem)
    );
    let reserved = filled(
        include_str!("fragments/fat_reserved.sh"),
        &[
            ("every", &every.to_string()),
            ("least", least),
            ("options", &options),
            ("sector", &sector.to_string()),
        ],
    );
    format!(
        "{reserved}{MAKING}mkfs.vfat -I {options} ${{label:+-n \"$label\"}} ${{uuid:+-i \"$(printf '%s' \"$uuid\" | tr -d -)\"}} \"$part\" > /dev/null || {failed}\n"
    )
}
