//! What a partition holds: whether its bytes mean the same elsewhere, and whether whoever wrote them was done.
//!
//! A filesystem that was not unmounted has a journal that its next mount replays, and that mount should find what the last one left: so
//! it is mounted first, or checked, and moved afterwards.

mod ext;
mod fat;
mod ntfs;
mod xfs;

use straddle_geometry::Extent;
use straddle_io::{ReadAt, ReadError, Reader};
use straddle_probe::Window;

use crate::Refusal;

/// Most that is read of one partition: of a large log, only some blocks.
const BUDGET: straddle_geometry::Bytes = straddle_geometry::Bytes::mib(64);

/// Finds out why a filesystem was not left in order; `None` where it was.
type Unclean = fn(&Window<'_>) -> Result<Option<String>, ReadError>;

/// What is known of formats, by how their names begin.
struct Known {
    name: &'static str,
    unclean: Option<Unclean>,
    /// Who brings it in order.
    by: &'static str,
}

const fn independent(name: &'static str) -> Known {
    Known {
        name,
        unclean: None,
        by: "",
    }
}

const fn checked(name: &'static str, unclean: Unclean, by: &'static str) -> Known {
    Known {
        name,
        unclean: Some(unclean),
        by,
    }
}

const WINDOWS: &str = "start Windows and shut it down fully (`shutdown /s /t 0`, with fast startup off), or run `chkdsk /f`";

/// Formats that record no place on the disk but those in fields that a move rewrites.
const INDEPENDENT: &[Known] = &[
    checked("ntfs", ntfs::unclean, WINDOWS),
    checked("exfat", fat::exfat, "run chkdsk /f or fsck.exfat"),
    checked("fat", fat::fat, "run chkdsk /f or fsck.fat -a"),
    checked(
        "ext",
        ext::unclean,
        "mount and unmount it, or run e2fsck -p",
    ),
    checked(
        "xfs",
        xfs::unclean,
        "mount and unmount it: xfs_repair would throw its log away",
    ),
    checked("btrfs", btrfs, "mount and unmount it"),
    checked(
        "swap",
        swap,
        "start the system that hibernated, and shut it down",
    ),
    independent("luks"),
    independent("lvm2"),
    independent("md"),
    independent("zfs"),
    independent("bcache"),
    independent("integrity"),
    independent("verity"),
    independent("hfs"),
    independent("apfs"),
    independent("refs"),
    independent("sqlserver"),
    independent("asm"),
    independent("innodb"),
    independent("oracle"),
    independent("postgresql"),
    independent("wiredtiger"),
];

/// Formats that do record places, or of which something outside the partition does.
const DEPENDENT: &[(&str, &str, &str)] = &[
    (
        "ldm",
        "a dynamic disk: its database at the end of the disk records where each volume is",
        "back the volumes up, convert the disk to a basic one, and restore them",
    ),
    (
        "bsd",
        "a BSD disklabel, whose partitions count from the start of the disk",
        "restore its filesystems from a backup in a new partition",
    ),
    (
        "vtoc",
        "a Solaris label, whose slices may count from the start of the disk",
        "restore its filesystems from a backup in a new partition",
    ),
    (
        "vmfs",
        "a VMFS datastore, which ESXi knows by its place on the device",
        "move its virtual machines to another datastore, and create this one again",
    ),
    (
        "spaces",
        "a member of a storage pool, which only Windows writes",
        "remove it from the pool, and add it again",
    ),
    (
        "bitlocker",
        "a BitLocker volume, whose own boot sector is encrypted and records where it starts",
        "suspend it and turn it off (`manage-bde -off`), move it, and turn it on again",
    ),
];

/// What is said of the contents of a partition that moves. `None` where they are known to mean the same elsewhere.
///
/// # Errors
/// When they do not, or whoever wrote them was not done.
pub fn check(
    disk: &dyn ReadAt,
    number: u64,
    place: Extent,
    format: Option<&str>,
) -> Result<Option<String>, Refusal> {
    let Some(format) = format else {
        return Ok(Some(format!(
            "nothing was recognised in partition {number}: its bytes are moved as they are"
        )));
    };
    let dependent = DEPENDENT.iter().find(|(name, ..)| format.starts_with(name));
    if let Some((_, what, instead)) = dependent {
        return Err(Refusal::new(
            format_args!("partition {number} is {what}"),
            instead,
        ));
    }
    let Some(known) = INDEPENDENT
        .iter()
        .find(|known| format.starts_with(known.name))
    else {
        return Ok(Some(format!(
            "whether {format} records where it is on the disk is not known: have a backup of partition {number} that was restored once"
        )));
    };
    let Some(unclean) = known.unclean else {
        return Ok(None);
    };
    let reader = Reader::with_budget(disk, BUDGET);
    let Some(window) = Window::whole(&reader, None).part(place) else {
        return Ok(None);
    };
    match unclean(&window) {
        Ok(None) => Ok(None),
        Ok(Some(why)) => Err(Refusal::new(
            format_args!("the {format} in partition {number} {why}"),
            format_args!("{}; then try again", known.by),
        )),
        Err(error) => Err(Refusal::new(
            format_args!(
                "whether the {format} in partition {number} was left in order cannot be told: {error}"
            ),
            format_args!("{}; then try again", known.by),
        )),
    }
}

/// A log tree that is there is replayed by the next mount.
fn btrfs(window: &Window<'_>) -> Result<Option<String>, ReadError> {
    const SUPERBLOCK: u64 = 64 << 10;
    let log: [u8; 8] = window.get(SUPERBLOCK + 96)?;
    Ok((log != [0; 8])
        .then(|| "has a log tree that was not replayed: it was not unmounted".to_owned()))
}

/// The mark of swap, at the end of its first page, says when a system sleeps in it.
fn swap(window: &Window<'_>) -> Result<Option<String>, ReadError> {
    for page in [4096, 8192, 16384, 65536] {
        let mut mark = [0; 9];
        if window.fill(page - 10, &mut mark).is_ok()
            && [&b"S1SUSPEND"[..], b"S2SUSPEND", b"ULSUSPEND", b"LINHIB000"].contains(&&mark[..])
        {
            return Ok(Some("holds a system that hibernated".to_owned()));
        }
    }
    Ok(None)
}
