//! Layouts, extents, numbers, length and geometry.

use straddle_geometry::{Bytes, Extent, SectorSize};
use straddle_sources::windows::answer::{
    Bios, DeviceNumber, DriveLayout, Geometry, Media, Part, PartitionKind, PartitionSeen, Problem,
    Table, TableIdentity, VolumeExtents, length,
};

use straddle_testkit::windows::made::{Made, made, made_32};

fn extent(made: &Made, start: &str, length: &str, n: u64) -> Extent {
    let (start, len) = (made.nth(start, n), made.nth(length, n));
    Extent::new(Bytes::new(start), Bytes::new(len)).expect("an extent")
}

/// The entry that was filled as number `n` of an array.
fn partition(made: &Made, array: &str, n: u64) -> PartitionSeen {
    let field = |name: &str| format!("{array}.{name}");
    let number = |name: &str| made.nth(&field(name), n);
    let kind = match number("PartitionStyle") {
        0 => PartitionKind::Mbr {
            code: u8::try_from(number("Mbr.PartitionType")).expect("a type"),
            is_active: number("Mbr.BootIndicator") == 1,
            is_recognised: number("Mbr.RecognizedPartition") == 1,
            hidden_sectors: u32::try_from(number("Mbr.HiddenSectors")).expect("sectors"),
            // Only the first one was given one.
            id: array
                .contains("PartitionEntry")
                .then(|| made.id(&field("Mbr.PartitionId"), n)),
        },
        _ => PartitionKind::Gpt {
            code: made.id(&field("Gpt.PartitionType"), n),
            id: made.id(&field("Gpt.PartitionId"), n),
            attributes: number("Gpt.Attributes"),
            name: made.text(&field("Gpt.Name"), n),
        },
    };
    PartitionSeen {
        number: u32::try_from(number("PartitionNumber")).expect("a number"),
        extent: extent(
            made,
            &field("StartingOffset.QuadPart"),
            &field("PartitionLength.QuadPart"),
            n,
        ),
        kind,
    }
}

fn gpt(made: &Made, prefix: &str) -> Table {
    let field = |name: &str| format!("{prefix}Gpt.{name}");
    Table::Gpt {
        disk: made.id(&field("DiskId"), 0),
        usable: extent(
            made,
            &field("StartingUsableOffset.QuadPart"),
            &field("UsableLength.QuadPart"),
            0,
        ),
        max_partitions: made.small(&field("MaxPartitionCount")),
    }
}

#[test]
fn a_gpt_with_one_partition_has_its_fields() {
    for made in [made("layout_gpt_1"), made_32("layout_gpt_1")] {
        let layout = DriveLayout::decode(&made.bytes).expect("a layout");
        assert_eq!(layout.table, gpt(made, ""));
        assert_eq!(layout.partitions, [partition(made, "PartitionEntry", 0)]);
        assert_eq!(layout.missing, 0);
        let PartitionKind::Gpt { name, .. } = &layout.partitions[0].kind else {
            panic!("a GPT");
        };
        assert_eq!(name.encode_utf16().count(), 36, "{name}");
    }
}

#[test]
fn a_gpt_with_any_number_of_partitions_has_all_of_them() {
    let made = made("layout_gpt_128");
    let first = [partition(made, "head.PartitionEntry", 0)];
    let rest = (0..127).map(|n| partition(made, "rest", n));
    let all: Vec<PartitionSeen> = first.into_iter().chain(rest).collect();
    let layout = DriveLayout::decode(&made.bytes).expect("a layout");
    assert_eq!(layout.table, gpt(made, "head."));
    assert_eq!((layout.partitions, layout.missing), (all.clone(), 0));
    for count in 0..=128_u8 {
        let mut bytes = made.bytes.clone();
        bytes[4] = count;
        let layout = DriveLayout::decode(&bytes).expect("a layout");
        assert_eq!(layout.partitions, all[..count.into()], "{count}");
        bytes.truncate(48 + 144 * usize::from(count));
        assert_eq!(DriveLayout::decode(&bytes).as_ref(), Ok(&layout), "{count}");
    }
}

#[test]
fn a_count_larger_than_the_answer_says_how_many_are_missing() {
    let mut bytes = made("layout_gpt_128").bytes.clone();
    bytes[4..8].fill(0xff);
    let layout = DriveLayout::decode(&bytes).expect("a layout");
    assert_eq!(
        (layout.partitions.len(), layout.missing),
        (128, u32::MAX - 128)
    );
    bytes.truncate(48 + 144 * 5 - 1);
    let layout = DriveLayout::decode(&bytes).expect("a layout");
    assert_eq!((layout.partitions.len(), layout.missing), (4, u32::MAX - 4));
}

#[test]
fn an_entry_of_a_gpt_without_a_type_is_skipped() {
    let mut bytes = made("layout_gpt_128").bytes.clone();
    let mut all = DriveLayout::decode(&bytes).expect("a layout").partitions;
    bytes[48 + 2 * 144 + 32..][..16].fill(0);
    all.remove(2);
    let layout = DriveLayout::decode(&bytes).expect("a layout");
    assert_eq!((layout.partitions, layout.missing), (all, 0));
}

#[test]
fn empty_entries_of_an_mbr_are_skipped_and_the_extended_one_is_not() {
    for made in [made("layout_mbr"), made_32("layout_mbr")] {
        let layout = DriveLayout::decode(&made.bytes).expect("a layout");
        let signature = made.small("head.Mbr.Signature");
        assert_eq!(layout.table, Table::Mbr { signature });
        let expected = [
            partition(made, "head.PartitionEntry", 0),
            partition(made, "rest", 0),
            partition(made, "rest", 3),
        ];
        assert_eq!((layout.partitions, layout.missing), (expected.into(), 0));
    }
}

#[test]
fn a_disk_without_a_table_is_raw() {
    let layout = DriveLayout::decode(&made("layout_raw").bytes).expect("a layout");
    assert_eq!((layout.table, layout.partitions), (Table::Raw, vec![]));
}

#[test]
fn an_error_names_the_entry_at_its_place_in_the_answer() {
    let mut bytes = made("layout_mbr").bytes.clone();
    bytes[48 + 144 + 15] = 0x80;
    let error = DriveLayout::decode(&bytes).expect_err("negative");
    assert_eq!((error.at, error.field), (48 + 144 + 8, "StartingOffset"));
    assert!(
        matches!(error.problem, Problem::Negative(n) if n < 0),
        "{error}"
    );
    bytes[48 + 144] = 9;
    let error = DriveLayout::decode(&bytes).expect_err("a style");
    let text = "PARTITION_INFORMATION_EX: PartitionStyle at byte 192 is 9; expected 0 (MBR), 1 (GPT) or 2 (RAW)";
    assert_eq!(error.to_string(), text);
}

#[test]
fn extents_of_a_volume_are_those_that_were_filled() {
    for made in [made("extents_1"), made_32("extents_1")] {
        let volume = VolumeExtents::decode(&made.bytes).expect("extents");
        let [only] = volume.extents.as_slice() else {
            panic!("one extent");
        };
        assert_eq!(u64::from(only.disk), made.nth("Extents.DiskNumber", 0));
        let (start, length) = (
            "Extents.StartingOffset.QuadPart",
            "Extents.ExtentLength.QuadPart",
        );
        assert_eq!(only.extent, extent(made, start, length, 0));
    }
    let made = made("extents_3");
    let volume = VolumeExtents::decode(&made.bytes).expect("extents");
    let expected = [("head.Extents", 0), ("rest", 0), ("rest", 1)];
    assert_eq!((volume.extents.len(), volume.missing), (3, 0));
    for (found, (array, n)) in volume.extents.iter().zip(expected) {
        let field = |name: &str| format!("{array}.{name}");
        assert_eq!(u64::from(found.disk), made.nth(&field("DiskNumber"), n));
        let place = extent(
            made,
            &field("StartingOffset.QuadPart"),
            &field("ExtentLength.QuadPart"),
            n,
        );
        assert_eq!(found.extent, place);
    }
    let cut = VolumeExtents::decode(&made.bytes[..56]).expect("extents");
    assert_eq!(
        (cut.extents.as_slice(), cut.missing),
        (&volume.extents[..2], 1)
    );
}

#[test]
fn device_numbers_tell_disks_partitions_and_what_has_none() {
    let number = |name: &str| {
        let made = made(name);
        let number = DeviceNumber::decode(&made.bytes).expect("a number");
        assert_eq!(number.device_type, made.small("DeviceType"));
        (number.number, number.part)
    };
    assert_eq!(number("number_disk"), (Some(12), Part::Whole));
    assert_eq!(number("number_partition"), (Some(0), Part::Partition(4)));
    assert_eq!(number("number_path"), (None, Part::Unpartitionable));
    let ex = made("number_ex");
    let found = DeviceNumber::decode_ex(&ex.bytes).expect("a number");
    let expected = DeviceNumber {
        device_type: DeviceNumber::DISK,
        number: Some(ex.small("DeviceNumber")),
        part: Part::Partition(ex.small("PartitionNumber")),
        id: Some(ex.id("DeviceGuid", 0)),
    };
    assert_eq!(found, expected);
}

#[test]
fn length_and_geometry_are_those_that_were_filled() {
    let bytes = &made("length").bytes;
    assert_eq!(
        length(bytes),
        Ok(Bytes::new(made("length").number("Length.QuadPart")))
    );
    for (name, media) in [
        ("geometry_mbr", Media::Fixed),
        ("geometry_gpt", Media::Removable),
    ] {
        let made = made(name);
        let geometry = Geometry::decode(&made.bytes).expect("a geometry");
        assert_eq!(geometry.media, media);
        assert_eq!(
            geometry.cylinders,
            made.number("Geometry.Cylinders.QuadPart")
        );
        assert_eq!(geometry.tracks, made.small("Geometry.TracksPerCylinder"));
        assert_eq!(geometry.sectors, made.small("Geometry.SectorsPerTrack"));
        assert_eq!(geometry.sector.get(), made.small("Geometry.BytesPerSector"));
        assert_eq!(geometry.size.get(), made.number("DiskSize.QuadPart"));
        let (identity, bios) = match media {
            Media::Fixed => (
                TableIdentity::Mbr {
                    signature: made.small("partition.Mbr.Signature"),
                    checksum: made.small("partition.Mbr.CheckSum"),
                },
                Bios::ExInt13 {
                    cylinders: made.small("detection.ExInt13.ExCylinders"),
                    heads: made.small("detection.ExInt13.ExHeads"),
                    sectors: made.small("detection.ExInt13.ExSectorsPerTrack"),
                    all_sectors: made.number("detection.ExInt13.ExSectorsPerDrive"),
                    sector: SectorSize::new(made.small("detection.ExInt13.ExSectorSize")),
                },
            ),
            _ => (
                TableIdentity::Gpt(made.id("partition.Gpt.DiskId", 0)),
                Bios::Int13 {
                    max_cylinder: made.small("detection.Int13.MaxCylinders"),
                    sectors: u16::try_from(made.small("detection.Int13.SectorsPerTrack"))
                        .expect("sectors"),
                    max_head: u16::try_from(made.small("detection.Int13.MaxHeads")).expect("heads"),
                },
            ),
        };
        assert_eq!(
            (geometry.identity, geometry.bios),
            (Some(identity), Some(bios))
        );
    }
}

#[test]
fn a_tail_of_a_geometry_that_is_not_there_or_lies_is_left_out() {
    let bytes = &made("geometry_mbr").bytes;
    let whole = Geometry::decode(bytes).expect("a geometry");
    for end in 32..bytes.len() {
        let cut = Geometry::decode(&bytes[..end]).expect("a geometry");
        let expected = Geometry {
            identity: whole.identity.filter(|_| end >= 56),
            bios: whole.bios.filter(|_| end >= 112),
            ..whole
        };
        assert_eq!(cut, expected, "{end}");
    }
    let mut short = bytes.clone();
    short[56] = 55;
    let expected = Geometry {
        bios: None,
        ..whole
    };
    assert_eq!(Geometry::decode(&short), Ok(expected));
    for size in [0, 23, 25, 200, u32::MAX] {
        let mut lying = bytes.clone();
        lying[32..36].copy_from_slice(&size.to_le_bytes());
        let found = Geometry::decode(&lying).expect("a geometry");
        let expected = Geometry {
            identity: whole.identity.filter(|_| size >= 24),
            bios: None,
            ..whole
        };
        assert_eq!(found, expected, "{size}");
    }
}
