//! What a device that may be written to must not carry: everything that `straddle-probe` recognises, and members of
//! volume managers, arrays and encryption, which no prober reads because their devices are looked at from above.

use std::path::Path;
use straddle_geometry::{Bytes, SectorSize};
use straddle_io::{OpenError, ReadAt, Reader, Target};
use straddle_probe::{Limits, inspect};
use straddle_stack::{Key, Layer, LayerKind, OddityKind, Stack};

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

const BCACHE: &[u8] = &[
    0xc6, 0x85, 0x73, 0xf6, 0x4e, 0x1a, 0x45, 0xca, 0x82, 0x65, 0xf5, 0x7f, 0x48, 0xba, 0x6d, 0x81,
];

/// What a device carries, in words, each once.
///
/// # Errors
/// Those of opening it. What cannot be read counts as carried.
pub(super) fn signatures(path: &Path) -> Result<Vec<String>, OpenError> {
    let target = Target::open(path)?;
    Ok(found(&target, sector(&target)))
}

#[cfg(target_os = "linux")]
fn sector(target: &Target) -> Option<SectorSize> {
    straddle_io::linux::logical_sector(target.file()).ok()
}

#[cfg(not(target_os = "linux"))]
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
        let mut oddities = layer.oddities.iter();
        if let Some(oddity) = oddities.find(|oddity| oddity.kind == OddityKind::Unreadable) {
            add(format!("something that cannot be read ({})", oddity.detail));
        }
    }
    // What the probers spent must not keep these few places from being looked at.
    let reader = Reader::new(bytes);
    for (name, from, distance, magic) in MEMBERS {
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
        for (name, from, distance, magic) in MEMBERS {
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
