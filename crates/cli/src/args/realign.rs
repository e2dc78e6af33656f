use clap::{Args, ValueEnum};
use std::path::PathBuf;
use straddle::geometry::{Bytes, Unit};

use super::geometry::Geometry;
use super::sizes::{growth, request, start};

/// Moves partitions onto the boundaries below them, in place or into a new file, and loses nothing.
///
/// Without --yes, prints what would be moved and written, and changes nothing. A journal in another file makes it safe to stop at
/// any instant: by Ctrl-C, kill -9, a loss of power, a full disk or an I/O error. --resume goes on, --rollback undoes. Every byte
/// that was moved is read back before the partition table is written.
///
/// An image (raw, VHD, VHDX, VMDK, VDI, qcow2) is changed in place, or with -o copied into a new file, in which the partitions are
/// aligned; the source is then not written. A block device must not be in use.
///
/// Exit status: 0 if it was done, or could be; 2 if it could not, or was stopped.
#[derive(Debug, Args)]
#[command(after_help = concat!(
    "Examples:",
    "\n  straddle realign disk.img                       what would be done",
    "\n  straddle realign disk.img --dry-run             every byte of metadata, before and after",
    "\n  straddle realign disk.img --yes                 do it",
    "\n  straddle realign /dev/sdb --yes-move sdb        a device is named twice",
    "\n  straddle realign old.vmdk -o new.vhdx           a new file; old.vmdk is only read",
    "\n  straddle realign disk.img --resume              go on after an interruption (--rollback: undo)",
))]
pub(crate) struct Realign {
    /// A disk image, or a block device that nothing uses
    #[arg(value_name = "TARGET")]
    pub(crate) target: PathBuf,

    /// Where the partition is to start, such as 1MiB or 2048s [default: the place that `straddle fix` proposes]
    #[arg(long, value_name = "OFFSET", value_parser = start)]
    pub(crate) to: Option<Bytes>,

    /// Only this partition, by its number; may be repeated
    #[arg(long = "partition", value_name = "N")]
    pub(crate) partitions: Vec<u64>,

    /// Only if this saved plan (`straddle fix --json`) still describes the target
    #[arg(long, value_name = "PLAN.json")]
    pub(crate) plan: Option<PathBuf>,

    /// Change the image
    #[arg(long, conflicts_with_all = ["dry_run", "output"])]
    pub(crate) yes: bool,

    /// Change the device: its name once more, such as sdb
    #[arg(long, value_name = "NAME", conflicts_with_all = ["yes", "dry_run", "output"])]
    pub(crate) yes_move: Option<String>,

    /// Print every byte of metadata that would be written, before and after, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Go on with a move that was stopped
    #[arg(long, conflicts_with_all = ["rollback", "to", "partitions", "plan", "output", "dry_run", "grow"])]
    pub(crate) resume: bool,

    /// Undo a move that was stopped, or one whose journal was kept
    #[arg(long, conflicts_with_all = ["to", "partitions", "plan", "output", "dry_run", "grow"])]
    pub(crate) rollback: bool,

    /// When to read back what was written: at the end, or also each block before its source is overwritten, for disks that are not
    /// trusted
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = When::End)]
    pub(crate) verify: When,

    /// Journal of the move: a file on another device than the one that is moved [default: beside an image; for a device in the
    /// directory for state of the user]
    #[arg(long, value_name = "FILE")]
    pub(crate) journal: Option<PathBuf>,

    /// Keep the journal when all is done, so that --rollback undoes it as long as the target is not used
    #[arg(long)]
    pub(crate) keep_journal: bool,

    /// Write a new file instead, and leave the target as it is
    #[arg(short, long, value_name = "NEW")]
    pub(crate) output: Option<PathBuf>,

    /// Format of the new file [default: by its extension, else that of the target]
    #[arg(long, value_name = "FORMAT", requires = "output")]
    pub(crate) format: Option<String>,

    /// Leave out of the new file what its filesystems call free (NTFS, FAT16, FAT32, exFAT, ext)
    #[arg(long, requires = "output")]
    pub(crate) used_only: bool,

    /// Make the disk of an image longer by this much at its end, where partitions need room
    #[arg(long, value_name = "SIZE", value_parser = growth)]
    pub(crate) grow: Option<Unit>,

    /// Request sizes to compute the cost for
    #[arg(long, visible_alias = "bs", value_name = "SIZE,…", value_delimiter = ',', value_parser = request, default_value = "4K,8K,64K")]
    pub(crate) io: Vec<Unit>,

    #[command(flatten)]
    pub(crate) geometry: Geometry,

    /// Print one JSON document (see `straddle schema realign`)
    #[arg(long)]
    pub(crate) json: bool,
}

/// When what was written is read back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    /// When everything was moved
    End,
    /// And each block before its source is overwritten
    Each,
}
