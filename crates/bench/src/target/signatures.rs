//! What a device that may be written to carries, by name: everything that `straddle-probe` recognises, members of volume
//! managers, arrays and encryption, which no prober reads because their devices are looked at from above, and formats that nobody
//! asks about alignment. The list is for the message; whether a device is blank is decided in [`super::blank`].

#[cfg(not(windows))]
use std::path::Path;
use straddle_geometry::{Bytes, SectorSize};
#[cfg(not(windows))]
use straddle_io::{OpenError, Target};
use straddle_io::{ReadAt, Reader};
use straddle_probe::{Limits, inspect};
use straddle_stack::{AnomalyKind, Key, Layer, LayerKind, Stack};

/// From where a place is counted.
#[derive(Clone, Copy)]
enum From {
    Start,
    End,
}

/// Name, from where, how far, the bytes there. Sources: the `libblkid` probers of these names and the formats' own
/// documentation.
const MEMBERS: &[(&str, From, u64, &[u8])] = &[
    ("an LVM physical volume", From::Start, 0, b"LABELONE"),
    ("an LVM physical volume", From::Start, 512, b"LABELONE"),
    ("an LVM physical volume", From::Start, 1024, b"LABELONE"),
    ("an LVM physical volume", From::Start, 1536, b"LABELONE"),
    ("a LUKS volume", From::Start, 0, b"LUKS\xba\xbe"),
    (
        "a LUKS volume (second header)",
        From::Start,
        0x4000,
        b"SKUL\xba\xbe",
    ),
    ("a BitLocker volume", From::Start, 3, b"-FVE-FS-"),
    ("an md array's member", From::Start, 0, b"\xfc\x4e\x2b\xa9"),
    (
        "an md array's member",
        From::Start,
        4096,
        b"\xfc\x4e\x2b\xa9",
    ),
    ("a bcache device", From::Start, 4096 + 24, BCACHE),
    ("a VDO volume", From::Start, 0, b"dmvdo001"),
    ("a Ceph OSD", From::Start, 0, b"bluestore block device"),
    ("an Oracle ASM disk", From::Start, 32, b"ORCLDISK"),
    ("a VMFS extent", From::Start, 1 << 20, b"\x0d\xd0\x01\xc0"),
    ("an APFS container", From::Start, 32, b"NXSB"),
    ("an HFS+ filesystem", From::Start, 1024, b"H+\x00\x04"),
    ("an HFSX filesystem", From::Start, 1024, b"HX\x00\x05"),
    ("an F2FS filesystem", From::Start, 1024, b"\x10\x20\xf5\xf2"),
    (
        "an EROFS filesystem",
        From::Start,
        1024,
        b"\xe2\xe1\xf5\xe0",
    ),
    ("a SquashFS filesystem", From::Start, 0, b"hsqs"),
    ("a JFS filesystem", From::Start, 0x8000, b"JFS1"),
    ("a ReiserFS filesystem", From::Start, 0x1_0034, b"ReIsEr"),
    (
        "a bcachefs filesystem",
        From::Start,
        4096 + 24,
        b"\xc6\x85\x73\xf6\x66\xce\x90\xa9",
    ),
    ("an ISO 9660 filesystem", From::Start, 0x8001, b"CD001"),
    ("a UDF filesystem", From::Start, 0x8001, b"BEA01"),
    (
        "a Stratis pool's device",
        From::Start,
        512 + 4,
        b"!Stra0tis\x86\xff\x02^\x41rh",
    ),
    ("a DDF array's member", From::End, 512, b"\xde\x11\xde\x11"),
    (
        "an Intel array's member",
        From::End,
        1024,
        b"Intel Raid ISM Cfg",
    ),
];

/// Others that no prober of ours reads, by the same sources.
const OTHERS: &[(&str, From, u64, &[u8])] = &[
    ("a Sun disklabel", From::Start, 508, b"\xda\xbe"),
    ("an SGI disklabel", From::Start, 0, b"\x0b\xe5\xa9\x41"),
    ("an Apple partition map", From::Start, 512, b"PM\0\0"),
    ("an Amiga partition table", From::Start, 0, b"RDSK"),
    ("an AIX disklabel", From::Start, 0, b"\xc9\xc2\xd4\xc1"),
    (
        "a GFS2 filesystem",
        From::Start,
        0x1_0000,
        b"\x01\x16\x19\x70",
    ),
    ("an OCFS2 filesystem", From::Start, 1024, b"OCFSV2"),
    ("an OCFS2 filesystem", From::Start, 2048, b"OCFSV2"),
    ("an OCFS2 filesystem", From::Start, 4096, b"OCFSV2"),
    ("an OCFS2 filesystem", From::Start, 8192, b"OCFSV2"),
    ("a DRBD device", From::End, 4096 - 60, b"\x83\x74\x02\x6b"),
    ("a DRBD device", From::End, 4096 - 60, b"\x83\x74\x02\x6c"),
    ("a DRBD device", From::End, 4096 - 60, b"\x83\x74\x02\x6d"),
    ("a Minix filesystem", From::Start, 1040, b"\x7f\x13"),
    ("a Minix filesystem", From::Start, 1040, b"\x8f\x13"),
    ("a Minix filesystem", From::Start, 1040, b"\x68\x24"),
    ("a Minix filesystem", From::Start, 1040, b"\x78\x24"),
    ("a Minix filesystem", From::Start, 1048, b"\x5a\x4d"),
    ("a cramfs filesystem", From::Start, 0, b"\x45\x3d\xcd\x28"),
    ("a cramfs filesystem", From::Start, 0, b"\x28\xcd\x3d\x45"),
    ("a romfs filesystem", From::Start, 0, b"-rom1fs-"),
    (
        "a UFS filesystem",
        From::Start,
        8192 + 1372,
        b"\x54\x19\x01\x00",
    ),
    (
        "a UFS filesystem",
        From::Start,
        8192 + 1372,
        b"\x00\x01\x19\x54",
    ),
    (
        "a UFS filesystem",
        From::Start,
        0x1_0000 + 1372,
        b"\x19\x01\x54\x19",
    ),
    (
        "a UFS filesystem",
        From::Start,
        0x1_0000 + 1372,
        b"\x19\x54\x01\x19",
    ),
    ("a VxFS filesystem", From::Start, 1024, b"\xf5\xfc\x01\xa5"),
    ("a VxFS filesystem", From::Start, 8192, b"\xa5\x01\xfc\xf5"),
    ("a Reiser4 filesystem", From::Start, 0x1_0000, b"ReIsEr4"),
    (
        "an HPFS filesystem",
        From::Start,
        0x2000,
        b"\x49\xe8\x95\xf9",
    ),
    ("an HFS filesystem", From::Start, 1024, b"BD"),
    ("a BeFS filesystem", From::Start, 544, b"1SFB"),
    ("a NILFS2 filesystem", From::Start, 1030, b"\x34\x34"),
    ("a zonefs filesystem", From::Start, 0, b"SFOZ"),
    ("a UBI volume", From::Start, 0, b"UBI#"),
    ("a UBIFS filesystem", From::Start, 0, b"\x31\x18\x10\x06"),
    (
        "an external log of XFS",
        From::Start,
        0,
        b"\xfe\xed\xba\xbe",
    ),
    (
        "a device-mapper snapshot's COW store",
        From::Start,
        0,
        b"SnAp",
    ),
    ("hashes of dm-verity", From::Start, 0, b"verity\0\0"),
    ("a dm-integrity device", From::Start, 0, b"integrt\0"),
    (
        "a dm-writecache device",
        From::Start,
        0,
        b"\x21\x93\x48\x23",
    ),
    (
        "metadata of a thin pool",
        From::Start,
        32,
        b"\xba\x52\x9c\x01",
    ),
    ("metadata of dm-cache", From::Start, 32, b"\x33\xb8\x5d\x00"),
    ("metadata of dm-era", From::Start, 32, b"\x7b\x07\xc1\x7e"),
    ("an LVM1 physical volume", From::Start, 0, b"HM\x01\x00"),
    ("a hibernation image", From::Start, 4086, b"S1SUSPEND"),
    ("an NVIDIA RAID member", From::End, 1024, b"NVIDIA"),
    ("an LSI MegaRAID member", From::End, 512, b"$XIDE$"),
    ("a qcow2 virtual disk", From::Start, 0, b"QFI\xfb"),
    ("a VHDX virtual disk", From::Start, 0, b"vhdxfile"),
    ("a VMDK virtual disk", From::Start, 0, b"KDMV"),
    ("a VHD virtual disk", From::End, 512, b"conectix"),
];

const BCACHE: &[u8] = &[
    0xc6, 0x85, 0x73, 0xf6, 0x4e, 0x1a, 0x45, 0xca, 0x82, 0x65, 0xf5, 0x7f, 0x48, 0xba, 0x6d, 0x81,
];

/// What a device carries, in words, each once.
///
/// # Errors
/// Those of opening it. What cannot be read counts as carried.
#[cfg(not(windows))]
pub(super) fn signatures(path: &Path) -> Result<Vec<String>, OpenError> {
    let target = Target::open(path)?;
    Ok(found(&target, sector(&target)))
}

/// What a disk that is held carries, in words, each once. What cannot be read counts as carried.
#[cfg(windows)]
pub(super) fn of_disk(disk: &straddle_io::windows::Disk) -> Vec<String> {
    let sector = straddle_io::windows::logical_sector(disk.file()).ok();
    let sector = sector.and_then(|sector| SectorSize::new(u32::try_from(sector.get()).ok()?));
    found(disk, sector)
}

#[cfg(target_os = "linux")]
fn sector(target: &Target) -> Option<SectorSize> {
    straddle_io::linux::logical_sector(target.file()).ok()
}

#[cfg(not(any(target_os = "linux", windows)))]
fn sector(_: &Target) -> Option<SectorSize> {
    None
}

fn found(bytes: &dyn ReadAt, sector: Option<SectorSize>) -> Vec<String> {
    let reader = Reader::new(bytes);
    let mut stack = Stack::new();
    let base = stack.push(Layer::new(LayerKind::Device, "device"));
    inspect(&mut stack, base, &reader, sector, Limits::default());
    let mut found = Vec::new();
    let mut add = |name: String| {
        if !found.contains(&name) {
            found.push(name);
        }
    };
    for layer in stack.layers() {
        if let Some(table) = layer.text(Key::PartitionTable) {
            add(format!("a partition table ({table})"));
        }
        match (layer.kind, layer.format.as_deref()) {
            (LayerKind::Device | LayerKind::Partition, _) => {}
            (kind, Some(format)) => add(format!("{} {format}", kind.name())),
            (kind, None) => add(format!("{} {}", kind.name(), layer.name)),
        }
        let mut anomalies = layer.anomalies.iter();
        if let Some(anomaly) = anomalies.find(|anomaly| anomaly.kind == AnomalyKind::Unreadable) {
            add(format!(
                "something that cannot be read ({})",
                anomaly.detail
            ));
        }
    }
    // What the probers spent must not keep these few places from being looked at.
    let reader = Reader::new(bytes);
    for (name, from, distance, magic) in MEMBERS.iter().chain(OTHERS) {
        let at = match from {
            From::Start => Some(Bytes::new(*distance)),
            From::End => bytes.size().checked_sub(Bytes::new(*distance)),
        };
        if at.is_some_and(|at| holds(&reader, at, magic)) {
            add((*name).to_owned());
        }
    }
    // The older superblocks of md lie before the end: 0.90 in the last whole 64 KiB, 1.0 in the last 8 KiB, rounded down.
    let size = bytes.size().get();
    let old = (size & !0xffff).checked_sub(0x1_0000);
    let one = size.checked_sub(0x2000).map(|at| at & !0xfff);
    for at in [old, one].into_iter().flatten() {
        if holds(&reader, Bytes::new(at), b"\xfc\x4e\x2b\xa9") {
            add("an md array's member".to_owned());
        }
    }
    if has_zfs(&reader, size) {
        add("a ZFS pool's device".to_owned());
    }
    found
}

fn holds(reader: &Reader<'_>, at: Bytes, magic: &[u8]) -> bool {
    let mut buffer = [0; 32];
    let Some(buffer) = buffer.get_mut(..magic.len()) else {
        return false;
    };
    // Too short for it is not having it.
    reader.fill(at, buffer).is_ok() && buffer == magic
}

/// ZFS has four labels of 256 KiB, two at each end; an uberblock of 1 KiB or more is somewhere in the second half of each.
fn has_zfs(reader: &Reader<'_>, size: u64) -> bool {
    const LABEL: u64 = 256 << 10;
    let size = size & !(LABEL - 1);
    let labels = [
        Some(0),
        Some(LABEL),
        size.checked_sub(2 * LABEL),
        size.checked_sub(LABEL),
    ];
    let mut half = vec![0; 128 << 10];
    labels.into_iter().flatten().any(|label| {
        let at = Bytes::new(label + (128 << 10));
        reader.fill(at, &mut half).is_ok()
            && half.chunks(1024).any(|block| {
                block.starts_with(&0x00ba_b10c_u64.to_le_bytes())
                    || block.starts_with(&0x00ba_b10c_u64.to_be_bytes())
            })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_member_is_found_where_it_lies_and_nothing_on_noise() {
        let size = 4 << 20;
        for (name, from, distance, magic) in MEMBERS.iter().chain(OTHERS) {
            let mut bytes = vec![0; size];
            let distance = usize::try_from(*distance).expect("small");
            let at = match from {
                From::Start => distance,
                From::End => size - distance,
            };
            bytes[at..at + magic.len()].copy_from_slice(magic);
            let found = found(&bytes, None);
            assert!(
                found.iter().any(|found| found == name),
                "{name} at {at}: {found:?}"
            );
        }
        let mut noise = vec![0; size];
        super::super::create::noise(1, &mut noise);
        assert_eq!(found(&noise, None), [""; 0]);
    }

    #[test]
    fn superblocks_before_the_end_are_found() {
        for at in [(4 << 20) - 0x1_0000, (4 << 20) - 0x2000] {
            let mut bytes = vec![0; 4 << 20];
            bytes[at..at + 4].copy_from_slice(b"\xfc\x4e\x2b\xa9");
            assert_eq!(found(&bytes, None), ["an md array's member"]);
        }
        let mut bytes = vec![0; 4 << 20];
        let at = (4 << 20) - (128 << 10) + 3 * 1024;
        bytes[at..at + 8].copy_from_slice(&0x00ba_b10c_u64.to_le_bytes());
        assert_eq!(found(&bytes, None), ["a ZFS pool's device"]);
    }
}
