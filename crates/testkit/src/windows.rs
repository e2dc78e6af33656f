//! Answers of Windows from bytes: every decoder is run over them, and what it finds is compared with the bytes.

pub mod made;

pub use made::{made, made_32};

use straddle_geometry::{Bytes, Extent, SectorSize, Unit};
use straddle_sources::windows::answer::{
    AccessAlignment, Adapter, BadAnswer, Dependencies, DeviceNumber, DriveLayout, FilesystemSize,
    Geometry, NtfsVolume, NvmeController, NvmeNamespace, PointerWidth, Pointers, Problem,
    RefsVolume, RetrievalPointers, SectorInfo, StorageDevice, VolumeExtents, WriteCache,
    filesystem_name, identify_without_serial, is_compressed, length, names, pointer_base,
    seek_penalty, trim, without_serial,
};

/// All of them.
pub fn all(data: &[u8]) {
    disk(data);
    property(data);
    nvme(data);
    volume(data);
    dependency(data);
    texts(data);
}

/// Layout, extents, numbers, length and geometry of disks.
///
/// # Panics
/// When a fact contradicts the bytes, as with the others.
pub fn disk(data: &[u8]) {
    if let Some(layout) = fine(data, DriveLayout::decode(data)) {
        let room = data.len().saturating_sub(48) / 144;
        let left = missing(data, 4, room);
        assert_eq!(layout.missing, left, "entries that are missing");
        let parts = layout.partitions.iter().map(|part| part.extent);
        each_is_there(data, 48, 144, parts);
    }
    if let Some(volume) = fine(data, VolumeExtents::decode(data)) {
        let room = data.len().saturating_sub(8) / 24;
        assert_eq!(
            volume.missing,
            missing(data, 0, room),
            "extents that are missing"
        );
        each_is_there(data, 8, 24, volume.extents.iter().map(|part| part.extent));
    }
    for number in [DeviceNumber::decode(data), DeviceNumber::decode_ex(data)] {
        if let Some(number) = fine(data, number) {
            assert_ne!(
                number.number,
                Some(u32::MAX),
                "the number that stands for none"
            );
        }
    }
    if let Some(length) = fine(data, length(data)) {
        assert_eq!(Some(length.get()), word(data, 0), "length");
    }
    if let Some(geometry) = fine(data, Geometry::decode(data)) {
        assert_eq!(Some(geometry.size.get()), word(data, 24), "size");
        let tail = data.len().saturating_sub(32);
        assert!(
            geometry.identity.is_none() || tail >= 24,
            "identity of nothing"
        );
        assert!(geometry.bios.is_none() || tail >= 80, "firmware of nothing");
    }
}

/// Descriptors of properties.
///
/// # Panics
/// When a fact contradicts the bytes.
pub fn property(data: &[u8]) {
    for with_serial in [false, true] {
        if let Some(device) = fine(data, StorageDevice::decode(data, with_serial)) {
            assert!(
                with_serial || device.serial.is_none(),
                "nobody asked for it"
            );
            let texts = [
                device.vendor,
                device.product,
                device.revision,
                device.serial,
            ];
            for text in texts.into_iter().flatten() {
                // What is not UTF-8 is replaced.
                let is_there = data.windows(text.len()).any(|part| part == text.as_bytes());
                assert!(
                    is_there || text.contains('\u{fffd}'),
                    "{text:?} is not there"
                );
            }
            for error in device.unread {
                let _ = fine::<()>(data, Err(error));
            }
        }
    }
    let facts = |bytes: &[u8], with_serial| StorageDevice::decode(bytes, with_serial);
    if facts(data, false).is_ok() {
        let mut kept = data.to_vec();
        without_serial(&mut kept);
        assert_eq!(facts(&kept, true), facts(data, false), "what is kept");
    }
    if let Some(adapter) = fine(data, Adapter::decode(data)) {
        assert!(adapter.memory_alignment.get().is_power_of_two(), "mask");
    }
    if let Some(sectors) = fine(data, AccessAlignment::decode(data)) {
        assert!(sectors.offset < sectors.physical.bytes(), "offset");
        let logical = sectors.logical.unit();
        assert!(sectors.physical.bytes().is_multiple_of(logical), "physical");
        assert!(
            sectors.physical_grid().phase().is_multiple_of(logical),
            "phase"
        );
    }
    fine(data, seek_penalty(data));
    fine(data, trim(data));
    fine(data, WriteCache::decode(data));
}

/// Identify.
///
/// # Panics
/// When a fact contradicts the bytes.
pub fn nvme(data: &[u8]) {
    if let Some(controller) = fine(data, NvmeController::decode(data, false)) {
        assert_eq!(controller.serial, None, "nobody asked for it");
        assert_ne!(controller.max_transfer_shift, Some(0), "no limit");
    }
    fine(data, NvmeController::decode(data, true));
    let controller = |bytes: &[u8], with_serial| NvmeController::decode(bytes, with_serial);
    let namespace = NvmeNamespace::decode(data);
    if controller(data, false).is_ok() || namespace.is_ok() {
        let mut kept = data.to_vec();
        identify_without_serial(&mut kept);
        assert_eq!(
            controller(&kept, true),
            controller(data, false),
            "what is kept"
        );
        assert_eq!(NvmeNamespace::decode(&kept), namespace, "what is kept");
    }
    if let Some(namespace) = fine(data, namespace) {
        let format = namespace.formats.get(usize::from(namespace.format));
        assert_eq!(
            format.and_then(|format| format.block),
            Some(namespace.block),
            "block"
        );
        let block = namespace.block.unit();
        let sizes = [
            namespace.write_granularity,
            namespace.write_alignment,
            namespace.discard_granularity,
            namespace.discard_alignment,
            namespace.optimal_write,
            namespace.boundary,
            namespace.atomic_power_fail,
            namespace.atomic_boundary_power_fail,
        ];
        for size in sizes.into_iter().flatten() {
            assert!(size > Bytes::ZERO && size.is_multiple_of(block), "{size}");
        }
    }
}

/// Filesystems, and where files lie.
///
/// # Panics
/// When a fact contradicts the bytes.
pub fn volume(data: &[u8]) {
    let whole = |cluster: Unit, sector: SectorSize| {
        assert!(cluster.bytes().is_multiple_of(sector.unit()), "cluster");
    };
    if let Some(ntfs) = fine(data, NtfsVolume::decode(data)) {
        whole(ntfs.cluster, ntfs.sectors.size);
        assert!(
            data.len() >= 108 || ntfs.physical.is_none(),
            "sector of nothing"
        );
    }
    if let Some(refs) = fine(data, RefsVolume::decode(data)) {
        whole(refs.cluster, refs.sectors.size);
    }
    fine(data, SectorInfo::decode(data));
    fine(data, pointer_base(data, SectorSize::B512));
    fine(data, is_compressed(data));
    if let Some(size) = fine(data, FilesystemSize::decode(data)) {
        whole(size.cluster, size.sector);
    }
    fine(data, filesystem_name(data));
    if let Some(pointers) = fine(data, RetrievalPointers::decode(data)) {
        let room = data.len().saturating_sub(16) / 16;
        assert_eq!(
            pointers.missing,
            missing(data, 0, room),
            "runs that are missing"
        );
        let mut next = word(data, 8);
        for run in &pointers.runs {
            assert_eq!(Some(run.vcn), next, "a gap");
            assert!(run.clusters > 0, "an empty run");
            next = run.vcn.checked_add(run.clusters);
            if let Some(extent) = run.on_volume(Unit::B4096, Bytes::ZERO) {
                assert_eq!(extent.start().get() / 4096, run.lcn.unwrap_or(u64::MAX));
                assert_eq!(extent.len().get() / 4096, run.clusters);
            }
            let _ = run.in_file(Unit::B4096);
        }
        assert!(
            pointers.runs.is_empty() || pointers.next_vcn() == next,
            "next"
        );
    }
}

/// Mounted virtual disks, with both widths of pointers and bases below, at and above the first of them.
///
/// # Panics
/// When a fact contradicts the bytes.
pub fn dependency(data: &[u8]) {
    let of_0 = Pointers {
        width: PointerWidth::Bits64,
        base: 0,
    };
    if fine(data, Dependencies::decode(data, of_0)).is_none() && data.first() != Some(&2) {
        return;
    }
    let first = word(data, 40).unwrap_or(0);
    for width in [PointerWidth::Bits32, PointerWidth::Bits64] {
        for base in [
            0,
            0x1020_3040,
            first,
            first & 0xffff_ffff,
            first.saturating_sub(100),
        ] {
            let pointers = Pointers { width, base };
            let found = fine(data, Dependencies::decode(data, pointers));
            let mut kept = data.to_vec();
            let rebased = pointers.rebase(&mut kept);
            let again = fine(data, Dependencies::decode(&kept, rebased));
            for (one, other) in found.iter().zip(&again) {
                assert_eq!(one, other, "after rebasing");
            }
            assert!(found.is_none() || again.is_some(), "lost by rebasing");
            for entry in found.into_iter().flat_map(|all| all.entries) {
                for text in [entry.device, entry.host_volume, entry.path]
                    .into_iter()
                    .flatten()
                {
                    let wide: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
                    let is_there = data.windows(wide.len()).any(|part| part == wide);
                    assert!(is_there || text.contains("\\u{"), "{text:?} is not there");
                }
            }
        }
    }
}

/// Lists of texts.
///
/// # Panics
/// When a fact contradicts the bytes.
pub fn texts(data: &[u8]) {
    if let Some(names) = fine(data, names("texts", data)) {
        assert!(
            names
                .iter()
                .all(|name| !name.is_empty() && !name.contains('\0'))
        );
        // Each unit is one letter, half of one, or an escape of its number.
        let units = names.iter().map(|name| name.encode_utf16().count() + 1);
        let least = names.iter().map(|name| name.matches("\\u{").count() * 7);
        let units = units.sum::<usize>().saturating_sub(least.sum());
        assert!(units * 2 + 2 <= data.len(), "more letters than bytes");
    }
}

/// What was found; an error must say where, and be right about the end.
fn fine<T>(data: &[u8], found: Result<T, BadAnswer>) -> Option<T> {
    match found {
        Ok(found) => Some(found),
        Err(error) => {
            let text = error.to_string();
            assert!(
                text.starts_with(error.structure) && text.contains(error.field),
                "{text}"
            );
            match error.problem {
                Problem::PastTheEnd { len } => assert!(len <= data.len(), "{text}"),
                Problem::Outside { len, .. } => assert!(len <= data.len(), "{text}"),
                Problem::Negative(found) => assert!(found < 0, "{text}"),
                Problem::Unexpected { .. } | Problem::Unterminated => {
                    assert!(error.at <= data.len(), "{text}");
                }
            }
            None
        }
    }
}

fn word(data: &[u8], at: usize) -> Option<u64> {
    let bytes = data.get(at..at.checked_add(8)?)?;
    bytes.try_into().ok().map(u64::from_le_bytes)
}

/// How many of those that the count at `at` has are more than there is room for.
fn missing(data: &[u8], at: usize, room: usize) -> u32 {
    let count = data.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
    let count = count.map_or(0, u32::from_le_bytes);
    count.saturating_sub(u32::try_from(room).unwrap_or(u32::MAX))
}

/// Every extent is in an entry of its own, in their order.
fn each_is_there(data: &[u8], first: usize, size: usize, extents: impl Iterator<Item = Extent>) {
    let mut entries = data.get(first..).unwrap_or(&[]).chunks_exact(size);
    for extent in extents {
        let is_there = entries.any(|entry| {
            let place = (word(entry, 8), word(entry, 16));
            place == (Some(extent.start().get()), Some(extent.len().get()))
        });
        assert!(is_there, "{extent:?} is not there");
    }
}
