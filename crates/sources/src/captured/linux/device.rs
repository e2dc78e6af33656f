//! What the tools of Linux have in common: how disks and partitions are called, and how tables count.
//!
//! All of them take the path of an image file where they take that of a device. Such a path is kept as a whole in the
//! name, so that two images with one file name are two disks; on screen is the file's name.

use straddle_geometry::{Bytes, Grid, Unit};
use straddle_stack::{
    Anomaly, AnomalyKind, Fact, GridFact, GridRole, Interval, Key, LayerKind, Trust, Value,
};

use crate::captured::esxi;
use crate::captured::text::Line;
use crate::captured::tool::Notes;
use crate::inventory::{Name, Space, Thing};

/// True for the path of an image file. Sector sizes and I/O sizes that a tool prints for one are its defaults: a file has
/// none.
pub(super) fn is_image(path: &str) -> bool {
    !path.starts_with("/dev/") && of_esxi(path).is_none()
}

/// The name of a device or image file.
pub(super) fn name(path: &str) -> Name {
    match of_esxi(path) {
        Some(id) => Name::new(Space::EsxiDevice, id.to_owned()),
        None => Name::new(Space::Device, path.to_owned()),
    }
}

/// What ESXi calls the device at this path: its `fdisk` is that of Linux, its devices have names of their own.
fn of_esxi(path: &str) -> Option<&str> {
    let folders = ["/dev/disks/", "/vmfs/devices/disks/"];
    let id = folders.iter().find_map(|folder| path.strip_prefix(folder));
    id.filter(|id| esxi::is_device(id))
}

/// What to call it on screen.
pub(super) fn title(path: &str) -> String {
    if let Some(id) = of_esxi(path) {
        return id.to_owned();
    }
    let short = path.strip_prefix("/dev/").unwrap_or(path);
    if is_image(path) {
        short.rsplit('/').next().unwrap_or(short).to_owned()
    } else {
        short.to_owned()
    }
}

/// A disk, or what a tool that lists disks takes for one.
pub(super) fn disk(path: &str) -> Thing {
    let short = path.strip_prefix("/dev/").unwrap_or(path);
    let follows = |prefix: &str| {
        let rest = short.strip_prefix(prefix)?;
        rest.bytes().next()
    };
    let kind = if follows("md").is_some_and(|next| next == b'/' || next.is_ascii_digit()) {
        LayerKind::Array
    } else if short.strip_prefix("mapper/").is_some_and(is_multipath) {
        LayerKind::Device
    } else if follows("mapper/").is_some() || follows("dm-").is_some() {
        LayerKind::Volume
    } else {
        LayerKind::Device
    };
    Thing::new(kind, title(path), name(path))
}

/// The name that multipath gives to a LUN that is reached several ways: `mpathb`, or its identifier, `3600508b400105e21`.
fn is_multipath(name: &str) -> bool {
    let letters = name.strip_prefix("mpath").unwrap_or_default();
    let numbered = !letters.is_empty()
        && letters
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    let hex = name
        .bytes()
        .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    numbered || hex && matches!(name.len(), 17 | 33) && name.starts_with(['1', '2', '3', '8'])
}

/// A partition by its node, `/dev/sda1`, on the disk at `path`. Its number follows from its node.
pub(super) fn partition(node: &str, path: &str, line: &Line<'_>, notes: &Notes<'_>) -> Thing {
    let number = number_of(node, path);
    let thing = match (of_esxi(path), number) {
        (Some(id), Some(number)) => esxi::partition(id, number),
        _ => Thing::new(LayerKind::Partition, title(node), name(node)).on(name(path)),
    };
    match number {
        Some(number) => numbered(thing, number, line, notes),
        None => thing,
    }
}

fn numbered(mut thing: Thing, number: u64, line: &Line<'_>, notes: &Notes<'_>) -> Thing {
    thing.set(Key::PartitionNumber, notes.said(line, Value::Count(number)));
    thing
}

/// Partition `number` of the disk at `path`, for tools that print no nodes.
pub(super) fn numbered_partition(
    path: &str,
    number: u64,
    line: &Line<'_>,
    notes: &Notes<'_>,
) -> Thing {
    let letter = path.ends_with(|c: char| c.is_ascii_digit());
    let node = format!("{path}{}{number}", if letter { "p" } else { "" });
    let mut thing = Thing::new(LayerKind::Partition, title(&node), name(&node)).on(name(path));
    // How the partitions of mapped devices and of links are called depends on who made them.
    if path.starts_with("/dev/mapper/") || path.starts_with("/dev/disk/") {
        for separator in ["", "p", "-part"] {
            thing = thing.named(name(&format!("{path}{separator}{number}")));
        }
    }
    numbered(thing, number, line, notes)
}

/// A partition of the disk at `path` whose number is not said, known by the sector of 512 bytes that it starts at.
pub(super) fn partition_at(path: &str, sector: u64) -> Thing {
    let title = format!("{} partition at sector {sector}", title(path));
    let own = name(&format!("{path} at sector {sector}"));
    Thing::new(LayerKind::Partition, title, own).on(name(path))
}

fn number_of(node: &str, path: &str) -> Option<u64> {
    let rest = node.strip_prefix(path)?;
    let digits = rest
        .strip_prefix("-part")
        .or_else(|| rest.strip_prefix(['p', ':']))
        .unwrap_or(rest);
    digits.parse().ok()
}

/// Sets where a partition starts, counted in sectors.
pub(super) fn start(
    thing: &mut Thing,
    sectors: u64,
    size: u64,
    line: &Line<'_>,
    notes: &Notes<'_>,
) {
    if let Some(bytes) = Bytes::new(size).checked_mul(sectors) {
        thing.start = Some(notes.said(line, Interval::exact(bytes)));
        thing.set(Key::StartSector, notes.said(line, Value::Count(sectors)));
    }
}

/// Sets how long a partition is, counted in sectors.
pub(super) fn size(thing: &mut Thing, sectors: u64, size: u64, line: &Line<'_>, notes: &Notes<'_>) {
    if let Some(bytes) = Bytes::new(size).checked_mul(sectors) {
        thing.size = Some(notes.said(line, Interval::exact(bytes)));
    }
}

/// Marks start and size as counted in sectors of a size that was taken for granted.
pub(super) fn assumed(thing: &mut Thing) {
    for fact in [&mut thing.start, &mut thing.size].into_iter().flatten() {
        fact.trust = Trust::Assumed;
    }
}

/// Kind of a partition table, as the tools call it.
pub(super) fn table(thing: &mut Thing, label: &str, line: &Line<'_>, notes: &Notes<'_>) {
    let kind = match label {
        "dos" | "msdos" => "mbr",
        other => other,
    };
    thing.set_text(Key::PartitionTable, notes.said(line, kind.to_owned()));
}

/// Adds the signature of an MBR or the disk GUID of a GPT. A signature of zero is none.
pub(super) fn table_id(thing: Thing, text: &str, line: &Line<'_>, notes: &Notes<'_>) -> Thing {
    let bare = text.trim();
    let bare = bare.strip_prefix("0x").unwrap_or(bare);
    if bare.is_empty() || bare.bytes().all(|b| matches!(b, b'0' | b'-')) {
        return thing;
    }
    let mut thing = thing.named(Name::new(Space::TableId, bare.to_owned()));
    thing.set_text(Key::TableId, notes.said(line, bare.to_owned()));
    thing
}

/// Adds a partition's type: two hexadecimal digits, or a GUID. An extended partition is marked as one.
pub(super) fn partition_type(thing: &mut Thing, text: &str, line: &Line<'_>, notes: &Notes<'_>) {
    let bare = text.trim().trim_start_matches("0x");
    if bare.len() == 36 {
        thing.set_text(
            Key::PartitionType,
            notes.said(line, bare.to_ascii_uppercase()),
        );
    } else if let Ok(byte) = u8::from_str_radix(bare, 16) {
        thing.set_text(Key::PartitionType, notes.said(line, format!("{byte:02x}")));
        if matches!(byte, 0x05 | 0x0f | 0x85) {
            holds_partitions(thing, line, notes);
        }
    }
}

/// Common types of a GPT: GUID, sgdisk's code, fdisk's name, parted's flag. Few tools print the GUID itself.
const TYPES: [(&str, &str, &str, &str); 10] = [
    // The last, small partition of a disk that ZFS was given whole.
    (
        "6A945A3B-1DD2-11B2-99A6-080020736631",
        "BF07",
        "Solaris reserved 1",
        "",
    ),
    (
        "C12A7328-F81F-11D2-BA4B-00A0C93EC93B",
        "EF00",
        "EFI System",
        "esp",
    ),
    (
        "21686148-6449-6E6F-744E-656564454649",
        "EF02",
        "BIOS boot",
        "bios_grub",
    ),
    (
        "E3C9E316-0B5C-4DB8-817D-F92DF00215AE",
        "0C01",
        "Microsoft reserved",
        "msftres",
    ),
    (
        "EBD0A0A2-B9E5-4433-87C0-68B6B72699C7",
        "0700",
        "Microsoft basic data",
        "msftdata",
    ),
    (
        "DE94BBA4-06D1-4D40-A16A-BFD50179D6AC",
        "2700",
        "Windows recovery environment",
        "diag",
    ),
    (
        "0FC63DAF-8483-4772-8E79-3D69D8477DE4",
        "8300",
        "Linux filesystem",
        "",
    ),
    (
        "0657FD6D-A4AB-43C4-84E5-0933C84B4F4F",
        "8200",
        "Linux swap",
        "swap",
    ),
    (
        "E6D6D379-F507-44C2-A23C-238F2A3DF928",
        "8E00",
        "Linux LVM",
        "lvm",
    ),
    (
        "A19D880F-05FC-4D3B-A006-743F0F84911E",
        "FD00",
        "Linux RAID",
        "raid",
    ),
];

/// Adds a partition's type in a GPT by what a tool calls it.
pub(super) fn gpt_type(thing: &mut Thing, called: &str, line: &Line<'_>, notes: &Notes<'_>) {
    let called = called.trim();
    let known = TYPES.iter().find(|(_, code, name, flag)| {
        !called.is_empty() && [*code, *name, *flag].contains(&called)
    });
    if let Some((guid, ..)) = known {
        partition_type(thing, guid, line, notes);
    }
}

/// Marks an extended partition.
pub(super) fn holds_partitions(thing: &mut Thing, line: &Line<'_>, notes: &Notes<'_>) {
    thing.set(Key::HoldsPartitions, notes.said(line, Value::Flag(true)));
}

/// True for the entry of an MBR that only protects a GPT.
pub(super) fn is_protective(kind: &str) -> bool {
    kind.trim_start_matches("0x").eq_ignore_ascii_case("ee")
}

/// True for what disks have. Logical sectors are a power of two from 512 bytes on, and up to an eighth of it more for what
/// protects the data (520, 522, 524, 528, 4,104, 4,160, 4,224). The other limits need no power of two: flash writes six units of
/// 4 KiB at a time.
fn exists(role: GridRole, bytes: u64) -> bool {
    match role {
        GridRole::LogicalSector => {
            let data = bytes.checked_ilog2().map_or(0, |log| 1_u64 << log);
            data >= 512 && bytes.is_multiple_of(2) && bytes - data <= data / 8
        }
        GridRole::PhysicalSector | GridRole::MinimumIo | GridRole::OptimalIo => bytes >= 512,
        _ => true,
    }
}

/// Adds a grid with a boundary at byte `phase`; sizes of zero say nothing.
pub(super) fn grid(
    thing: &mut Thing,
    role: GridRole,
    bytes: u64,
    phase: u64,
    line: &Line<'_>,
    notes: &Notes<'_>,
) {
    if bytes > 0 && !exists(role, bytes) {
        let detail = format!("{} of {bytes} bytes: no disk has that", role.name());
        let anomaly = Anomaly::at(AnomalyKind::Misprint, detail, notes.source(line));
        thing.remarks.push(anomaly);
        return;
    }
    if let Some(unit) = Unit::new(bytes) {
        let grid: Fact<Grid> = notes.said(line, Grid::with_phase(unit, Bytes::new(phase)));
        thing.grids.push(GridFact { role, grid });
    }
}

/// Adds a limit of a device's queue. What a stacked device repeats from below would be counted twice: it counts where nothing
/// describes what it lies on. An image file has none.
pub(super) fn limit(
    thing: &mut Thing,
    path: &str,
    role: GridRole,
    bytes: u64,
    phase: u64,
    line: &Line<'_>,
    notes: &Notes<'_>,
) {
    if is_image(path) {
        return;
    }
    let own = std::mem::take(&mut thing.grids);
    grid(thing, role, bytes, phase, line, notes);
    let said = std::mem::replace(&mut thing.grids, own);
    if thing.kind == LayerKind::Device {
        thing.grids.extend(said);
    } else {
        thing.passed_on.extend(said);
    }
}

/// What a filesystem is called by the image probers; `None` for signatures of what is no filesystem.
pub(super) fn filesystem(kind: &str, version: Option<&str>) -> Option<String> {
    let lower = kind.trim().to_lowercase();
    let known = match lower.as_str() {
        "" | "zfs" | "unknown" | "free" | "bitlocker" | "crypto_luks" => return None,
        other if other.ends_with("_member") || other.ends_with("_log") => return None,
        other if other.starts_with("linux-swap") || other.starts_with("swsuspend") => "swap",
        "vfat" => match version {
            Some("FAT12") => "fat12",
            Some("FAT16") => "fat16",
            Some("FAT32") => "fat32",
            _ => "vfat",
        },
        "hfs+" => "hfsplus",
        "jbd" => "ext-journal",
        other => other,
    };
    Some(known.to_owned())
}

/// A filesystem of this kind on the device called `on`.
pub(super) fn filesystem_on(kind: &str, on: &Name, line: &Line<'_>, notes: &Notes<'_>) -> Thing {
    let mut thing = Thing::new(LayerKind::Filesystem, kind.to_owned(), on.clone()).on(on.clone());
    // Which FAT it is decides how it is laid out, and not every tool says so.
    if kind != "vfat" {
        thing.format = Some(notes.said(line, kind.to_owned().into()));
    }
    thing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sectors_have_lengths_that_disks_have() {
        for bytes in [
            512, 520, 528, 1024, 2048, 4096, 4104, 4160, 4224, 16_384, 131_072,
        ] {
            assert!(exists(GridRole::LogicalSector, bytes), "{bytes}");
        }
        for bytes in [0, 1, 256, 513, 578, 2049, 4755, 5272] {
            assert!(!exists(GridRole::LogicalSector, bytes), "{bytes}");
        }
        assert!(exists(GridRole::PhysicalSector, 24_576));
        assert!(!exists(GridRole::PhysicalSector, 256));
    }

    #[test]
    fn numbers_follow_from_nodes() {
        let number = |node, path| number_of(node, path);
        assert_eq!(number("/dev/sda12", "/dev/sda"), Some(12));
        assert_eq!(number("/dev/nvme0n1p2", "/dev/nvme0n1"), Some(2));
        assert_eq!(number("/tmp/x/disk.img1", "/tmp/x/disk.img"), Some(1));
        assert_eq!(
            number("/dev/disk/by-id/x-part3", "/dev/disk/by-id/x"),
            Some(3)
        );
        assert_eq!(number("/dev/sdb1", "/dev/sda"), None);
    }

    #[test]
    fn images_are_called_by_their_files() {
        assert_eq!(title("/tmp/x/disk.img"), "disk.img");
        assert_eq!(title("/dev/mapper/vg-data"), "mapper/vg-data");
        assert_eq!(disk("/dev/md0").kind, LayerKind::Array);
        assert_eq!(disk("/dev/mapper/vg-data").kind, LayerKind::Volume);
        assert_eq!(disk("/dev/mdx").kind, LayerKind::Device);
    }

    #[test]
    fn signatures_of_members_are_no_filesystems() {
        assert_eq!(filesystem("LVM2_member", None), None);
        assert_eq!(filesystem("crypto_LUKS", None), None);
        assert_eq!(filesystem("vfat", Some("FAT32")).as_deref(), Some("fat32"));
        assert_eq!(filesystem("linux-swap(v1)", None).as_deref(), Some("swap"));
    }
}
