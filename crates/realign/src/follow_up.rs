//! What somebody has to do by hand once partitions are elsewhere: boot loaders that know places, Windows that knows partitions by theirs.

use straddle_geometry::{Bytes, Extent};
use straddle_io::{ReadAt, Reader};
use straddle_probe::{Window, find_file};

use crate::Refusal;
use crate::store::read_exact;
use crate::table::{Layout, Place, Table};

/// Most of the gap in front of the first partition that is looked at.
const MAX_GAP: u64 = 2 << 20;
/// Boot code of an MBR and of a partition ends before this.
const BOOT_CODE: usize = 440;

/// What is to be done after the move, each with the command.
///
/// # Errors
/// When a boot loader lies where a partition would be.
pub(crate) fn of(disk: &dyn ReadAt, layout: &Layout, name: &str) -> Result<Vec<String>, Refusal> {
    let mut out = Vec::new();
    grub_of_disk(disk, layout, name, &mut out)?;
    for place in layout.moved() {
        grub_of_partition(disk, place, name, &mut out);
        windows(disk, layout, place, &mut out);
    }
    Ok(out)
}

/// GRUB keeps its core image in the gap between the MBR and the first partition.
fn grub_of_disk(
    disk: &dyn ReadAt,
    layout: &Layout,
    name: &str,
    out: &mut Vec<String>,
) -> Result<(), Refusal> {
    if !has_grub(disk, Bytes::ZERO) || layout.table != Table::Mbr {
        return Ok(());
    }
    let first = layout
        .partitions
        .iter()
        .map(|place| place.from.start())
        .min();
    let first = first.unwrap_or_default().min(Bytes::new(MAX_GAP));
    let sector = layout.sector.unit().bytes();
    let gap = first
        .checked_sub(sector)
        .and_then(|len| Extent::new(sector, len));
    let mut over = layout
        .moved()
        .filter(|place| gap.is_some_and(|gap| gap.overlaps(place.to)));
    if let Some(place) = over.next() {
        return Err(Refusal::new(
            format_args!(
                "partition {} would lie on GRUB's core image, which is between the MBR and the first partition",
                place.number
            ),
            "choose a start of 1 MiB or more",
        ));
    }
    out.push(format!(
        "GRUB: its core image in front of the first partition stays where it is, and finds partitions by their numbers. Should it not start: \
         from a rescue system, `mount {name}N /mnt && grub-install --boot-directory=/mnt/boot {name}`, N being the partition with /boot"
    ));
    Ok(())
}

/// GRUB in a partition's own boot sector knows its files by sectors of the disk.
fn grub_of_partition(disk: &dyn ReadAt, place: &Place, name: &str, out: &mut Vec<String>) {
    if has_grub(disk, place.from.start()) {
        let number = place.number;
        out.push(format!(
            "GRUB in the boot sector of partition {number} knows its files by their places on the disk: from a rescue system, \
             `mount {name}{number} /mnt && grub-install --force --boot-directory=/mnt/boot {name}{number}`"
        ));
    }
}

fn has_grub(disk: &dyn ReadAt, at: Bytes) -> bool {
    let mut code = [0; BOOT_CODE];
    read_exact(disk, at, &mut code).is_ok() && code.windows(4).any(|word| word == b"GRUB")
}

/// Windows knows a partition of an MBR by the disk's signature and where it starts, that of a GPT by its GUID.
fn windows(disk: &dyn ReadAt, layout: &Layout, place: &Place, out: &mut Vec<String>) {
    let reader = Reader::new(disk);
    let Some(window) = Window::whole(&reader, None).part(place.from) else {
        return;
    };
    let number = place.number;
    let has = |path: &str| find_file(&window, "ntfs", path).is_ok();
    let has_store = has("/bootmgr") || has("/Boot/BCD");
    if layout.table == Table::Mbr && (has_store || has("/Windows/System32/config/SYSTEM")) {
        out.push(format!(
            "Windows: boot configuration data name partition {number} by the disk's signature and the place where it starts. Start from the \
             installation medium, Repair, Command Prompt: `bcdboot D:\\Windows /s S:`, D: being the letter there of the partition with \
             Windows, S: of the active one; or `bootrec /rebuildbcd`"
        ));
    }
    if has("/ntldr") {
        out.push(format!(
            "Windows 2000 to Server 2003: boot.ini names partition {number} by its number, which stays. Should it not start: `fixboot` from \
             the recovery console"
        ));
    }
    let mut head = [0; 11];
    let is_ntfs =
        read_exact(disk, place.from.start(), &mut head).is_ok() && head[3..] == *b"NTFS    ";
    if layout.table == Table::Mbr && is_ntfs {
        out.push(format!(
            "Windows keeps drive letters by the disk's signature and the place of the partition: partition {number} may come up under another \
             letter, or none. Give it back before services start: `mountvol X: \\\\?\\Volume{{GUID}}\\` (`mountvol` lists the GUIDs), or diskpart: \
             `select volume N`, `assign letter=X`"
        ));
    }
}
