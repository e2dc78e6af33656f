//! Damaged answers: cut at every byte, grown, with bytes changed. Nothing panics, and nothing is found that is not there; what that
//! means for each is in `straddle_testkit::windows`.

use proptest::prelude::*;
use straddle_geometry::SectorSize;
use straddle_sources::windows::answer::{
    AccessAlignment, Adapter, BadAnswer, Dependencies, DeviceNumber, DriveLayout, FilesystemSize,
    Geometry, NtfsVolume, NvmeController, NvmeNamespace, PointerWidth, Pointers, RefsVolume,
    RetrievalPointers, SectorInfo, StorageDevice, VolumeExtents, WriteCache, filesystem_name,
    is_compressed, length, names, pointer_base, seek_penalty, trim,
};
use straddle_testkit::{is_soak, windows};

use straddle_testkit::windows::made::{answers, made};

/// What the decoder that an answer is for finds in `bytes`, as text.
fn found(name: &str, bytes: &[u8]) -> Result<String, BadAnswer> {
    fn text<T: std::fmt::Debug>(found: Result<T, BadAnswer>) -> Result<String, BadAnswer> {
        found.map(|found| format!("{found:?}"))
    }
    let family = name.split('_').next().unwrap_or_default();
    match (family, name) {
        ("layout", _) => text(DriveLayout::decode(bytes)),
        ("extents", _) => text(VolumeExtents::decode(bytes)),
        (_, "number_ex") => text(DeviceNumber::decode_ex(bytes)),
        ("number", _) => text(DeviceNumber::decode(bytes)),
        ("length", _) => text(length(bytes)),
        ("geometry", _) => text(Geometry::decode(bytes)),
        ("device", _) => text(StorageDevice::decode(bytes, true)),
        ("adapter", _) => text(Adapter::decode(bytes)),
        ("alignment", _) => text(AccessAlignment::decode(bytes)),
        ("seek", _) => text(seek_penalty(bytes)),
        ("trim", _) => text(trim(bytes)),
        ("cache", _) => text(WriteCache::decode(bytes)),
        (_, "nvme_controller") => text(NvmeController::decode(bytes, true)),
        ("nvme", _) => text(NvmeNamespace::decode(bytes)),
        ("ntfs", _) => text(NtfsVolume::decode(bytes)),
        ("refs", _) => text(RefsVolume::decode(bytes)),
        ("sector", _) => text(SectorInfo::decode(bytes)),
        ("pointers", _) => text(RetrievalPointers::decode(bytes)),
        ("compression" | "compression_none", _) => text(is_compressed(bytes)),
        ("size", _) => text(FilesystemSize::decode(bytes)),
        ("name", _) => text(filesystem_name(bytes)),
        ("base", _) => text(pointer_base(bytes, SectorSize::B512)),
        ("dependency", _) => {
            let width = PointerWidth::Bits64;
            let base = made("constants").number("BASE");
            text(Dependencies::decode(bytes, Pointers { width, base }))
        }
        ("names" | "constants", _) => text(names("names", bytes)),
        _ => panic!("no decoder for {name}"),
    }
}

/// Those whose facts may get fewer with the end of the answer: lists, and tails that need not be there.
const MAY_LOSE: [&str; 7] = [
    "layout",
    "extents",
    "geometry",
    "device",
    "ntfs",
    "pointers",
    "dependency",
];

#[test]
fn an_answer_cut_at_any_byte_is_an_error_or_says_what_is_missing() {
    for (name, answer) in answers(0) {
        let whole = found(name, &answer.bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        // The longest is 18 KiB of entries that are all alike; a soak cuts it everywhere, too.
        let ends = 0..answer.bytes.len();
        for end in ends.filter(|end| *end < 1500 || end % 11 == 0 || is_soak()) {
            let cut = &answer.bytes[..end];
            // Identify is 4 KiB of mostly nothing, and a layout of 128 partitions is long.
            if end < 250 || end % 211 == 0 {
                windows::all(cut);
            }
            match found(name, cut) {
                Ok(cut) => {
                    let is_less = MAY_LOSE.iter().any(|start| name.starts_with(start));
                    assert!(cut == whole || is_less, "{name} cut at {end}: {cut}");
                }
                Err(error) => assert!(!error.to_string().is_empty()),
            }
        }
    }
}

#[test]
fn an_answer_is_taken_from_the_length_on_that_its_head_has() {
    let heads = [
        ("layout_gpt_1", 44),
        ("layout_mbr", 12),
        ("layout_raw", 8),
        ("extents_1", 4),
        ("number_disk", 12),
        ("number_ex", 40),
        ("length", 8),
        ("geometry_mbr", 32),
        ("device_nvme", 32),
        ("adapter", 30),
        ("alignment_4kn", 28),
        ("seek_penalty", 9),
        ("trim", 9),
        ("cache", 27),
        ("nvme_controller", 48 + 530),
        ("nvme_namespace", 48 + 140),
        ("ntfs", 96),
        ("refs", 72),
        ("sector", 28),
        ("pointers", 16),
        ("base", 8),
        ("dependency", 8),
    ];
    for (name, head) in heads {
        let bytes = &made(name).bytes;
        for end in 0..head {
            assert!(found(name, &bytes[..end]).is_err(), "{name} of {end}");
        }
        assert!(found(name, &bytes[..head]).is_ok(), "{name} of {head}");
    }
}

#[test]
fn what_follows_an_answer_is_not_read() {
    for (name, answer) in answers(0) {
        let whole = found(name, &answer.bytes);
        for with in [0, 0xff, b'A'] {
            let mut grown = answer.bytes.clone();
            grown.resize(grown.len() + 300, with);
            assert_eq!(found(name, &grown), whole, "{name} and {with}");
            windows::all(&grown);
        }
    }
}

#[test]
fn every_byte_of_every_answer_can_be_anything() {
    for (name, answer) in answers(0) {
        // Of the long ones the heads, and samples.
        for at in (0..answer.bytes.len()).filter(|at| *at < 100 || at % 97 == 0 || is_soak()) {
            for value in [0, 1, 0x80, 0xff] {
                let mut bytes = answer.bytes.clone();
                bytes[at] = value;
                windows::all(&bytes);
                let _ = found(name, &bytes);
            }
        }
    }
}

proptest! {
    #[test]
    fn changed_bytes_do_no_harm(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
        end in any::<prop::sample::Index>(),
        is_cut in any::<bool>(),
    ) {
        let all: Vec<_> = answers(0).iter().collect();
        let (name, answer) = all[which.index(all.len())];
        let mut bytes = answer.bytes.clone();
        for (at, value) in changes {
            // Most fields are in the first bytes.
            let len = if value % 2 == 0 { bytes.len().min(256) } else { bytes.len() };
            bytes[at.index(len)] = value;
        }
        if is_cut {
            bytes.truncate(end.index(bytes.len()));
        }
        windows::all(&bytes);
        let _ = found(name, &bytes);
    }

    #[test]
    fn any_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        windows::all(&bytes);
    }
}
