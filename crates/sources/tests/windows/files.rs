//! Filesystems, where files lie, mounted virtual disks and names.

use straddle_geometry::{Bytes, Extent, SectorSize, Unit};
use straddle_sources::windows::answer::{
    Dependencies, Dependency, FilesystemSize, NtfsVolume, PointerWidth, Pointers, Problem,
    RefsVolume, RetrievalPointers, Run, SectorInfo, VirtualDiskKind, filesystem_name,
    is_compressed, names, pointer_base,
};

use straddle_testkit::windows::made::{Made, made, made_32};

fn sector(n: u64) -> Option<SectorSize> {
    SectorSize::new(u32::try_from(n).expect("32 bits"))
}

fn bytes(start: u64, len: u64) -> Option<Extent> {
    Extent::new(Bytes::new(start), Bytes::new(len))
}

#[test]
fn an_ntfs_volume_has_its_fields_with_and_without_the_tail() {
    for made in [made("ntfs"), made_32("ntfs")] {
        let expected = NtfsVolume {
            serial: made.number("head.VolumeSerialNumber.QuadPart"),
            sectors: SectorSize::B512.sectors(made.number("head.NumberSectors.QuadPart")),
            cluster: Unit::new(made.number("head.BytesPerCluster")).expect("a unit"),
            clusters: made.number("head.TotalClusters.QuadPart"),
            free_clusters: made.number("head.FreeClusters.QuadPart"),
            file_record: Bytes::new(made.number("head.BytesPerFileRecordSegment")),
            mft_start: made.number("head.MftStartLcn.QuadPart"),
            version: Some((3, 1)),
            physical: sector(made.number("extended.BytesPerPhysicalSector")),
        };
        assert_eq!(NtfsVolume::decode(&made.bytes), Ok(expected));
        for end in 96..made.bytes.len() {
            let cut = NtfsVolume {
                version: expected.version.filter(|_| end >= 104),
                physical: expected.physical.filter(|_| end >= 108),
                ..expected
            };
            assert_eq!(NtfsVolume::decode(&made.bytes[..end]), Ok(cut), "{end}");
        }
        // The tail says how much of it was filled.
        for count in 0..40_u8 {
            let mut short = made.bytes.clone();
            short[96] = count;
            let short = NtfsVolume::decode(&short).expect("a volume");
            assert_eq!(short.version.is_some(), count >= 8, "{count}");
            assert_eq!(short.physical.is_some(), count >= 12, "{count}");
        }
    }
}

#[test]
fn a_refs_volume_has_its_fields() {
    let made = made("refs");
    let expected = RefsVolume {
        version: (3, 7),
        physical: sector(made.number("BytesPerPhysicalSector")),
        serial: made.number("VolumeSerialNumber.QuadPart"),
        sectors: SectorSize::B512.sectors(made.number("NumberSectors.QuadPart")),
        cluster: Unit::new(made.number("BytesPerCluster")).expect("a unit"),
        clusters: made.number("TotalClusters.QuadPart"),
        free_clusters: made.number("FreeClusters.QuadPart"),
    };
    assert_eq!(RefsVolume::decode(&made.bytes), Ok(expected));
    for count in 0..=200_u8 {
        let mut bytes = made.bytes.clone();
        bytes[0] = count;
        assert_eq!(RefsVolume::decode(&bytes).is_ok(), count >= 72, "{count}");
    }
}

#[test]
fn what_a_filesystem_knows_of_sectors_is_what_was_filled() {
    let filled = made("sector");
    let offset = |field: &str| Some(Bytes::new(filled.number(field)));
    let expected = SectorInfo {
        logical: SectorSize::B512,
        atomicity: sector(filled.number("PhysicalBytesPerSectorForAtomicity")),
        performance: sector(filled.number("PhysicalBytesPerSectorForPerformance")),
        effective: sector(filled.number("FileSystemEffectivePhysicalBytesPerSectorForAtomicity")),
        is_device_aligned: true,
        is_partition_aligned: false,
        has_no_seek_penalty: false,
        trims: true,
        device_offset: offset("ByteOffsetForSectorAlignment"),
        partition_offset: offset("ByteOffsetForPartitionAlignment"),
    };
    assert_eq!(SectorInfo::decode(&filled.bytes), Ok(expected));
    let expected = SectorInfo {
        logical: SectorSize::B4096,
        atomicity: None,
        performance: None,
        effective: None,
        is_device_aligned: false,
        is_partition_aligned: true,
        has_no_seek_penalty: true,
        trims: false,
        device_offset: None,
        partition_offset: None,
    };
    assert_eq!(
        SectorInfo::decode(&made("sector_unknown").bytes),
        Ok(expected)
    );
}

#[test]
fn holes_and_what_compression_saved_lie_nowhere() {
    for made in [made("pointers"), made_32("pointers")] {
        let filled = [("head.Extents", 0), ("rest", 0), ("rest", 1), ("rest", 2)];
        let mut vcn = made.number("head.StartingVcn.QuadPart");
        let runs = filled.map(|(array, n)| {
            let next = made.nth(&format!("{array}.NextVcn.QuadPart"), n);
            let lcn = made.nth(&format!("{array}.Lcn.QuadPart"), n);
            let run = Run {
                vcn,
                clusters: next - vcn,
                lcn: (lcn != u64::MAX).then_some(lcn),
            };
            vcn = next;
            run
        });
        let found = RetrievalPointers::decode(&made.bytes).expect("runs");
        assert_eq!((found.runs.as_slice(), found.missing), (&runs[..], 0));
        assert_eq!(found.next_vcn(), Some(vcn));
    }
    let found = RetrievalPointers::decode(&made("pointers").bytes).expect("runs");
    let cluster = Unit::new(65536).expect("a unit");
    let base = Bytes::mib(8);
    let places = found.runs.iter().map(|run| run.on_volume(cluster, base));
    let first = bytes((8 << 20) + (786_432 << 16), 5 << 16);
    let expected = [first, None, None, bytes(8 << 20, 1 << 16)];
    assert_eq!(places.collect::<Vec<_>>(), expected);
    assert_eq!(found.runs[1].in_file(cluster), bytes(21 << 16, 11 << 16));
    // The start of the last run in bytes has 49 bits; with the largest unit it has no number.
    assert_eq!(found.runs[3].in_file(Unit::MAX), None);
}

#[test]
fn a_run_that_does_not_go_on_or_lies_below_zero_is_an_error() {
    let bytes = &made("pointers").bytes;
    let set = |at: usize, number: i64| {
        let mut bytes = bytes.clone();
        bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
        let error = RetrievalPointers::decode(&bytes).expect_err("a number");
        (error.field, error.at, error.problem)
    };
    assert_eq!(set(8, -1), ("StartingVcn", 8, Problem::Negative(-1)));
    assert_eq!(set(24, -2), ("Lcn", 24, Problem::Negative(-2)));
    assert_eq!(set(32, -1), ("NextVcn", 32, Problem::Negative(-1)));
    for next in [0, 20, 21] {
        let (field, at, problem) = set(32, next);
        assert_eq!((field, at), ("NextVcn", 32));
        assert!(matches!(problem, Problem::Unexpected { .. }));
    }
}

#[test]
fn cluster_0_starts_at_a_sector_of_the_volume() {
    let made = made("base");
    let sectors = made.number("FileAreaOffset.QuadPart");
    let base = |sector| pointer_base(&made.bytes, sector);
    assert_eq!(base(SectorSize::B512), Ok(Bytes::new(sectors * 512)));
    assert_eq!(base(SectorSize::B4096), Ok(Bytes::new(sectors * 4096)));
    let most = i64::MAX.to_le_bytes();
    let error = pointer_base(&most, SectorSize::B512).expect_err("too far");
    assert!(
        matches!(error.problem, Problem::Unexpected { .. }),
        "{error}"
    );
}

fn expected(made: &Made) -> [Dependency; 2] {
    let one = |array: &str, kind, path: &str| Dependency {
        flags: u32::try_from(made.nth(&format!("{array}.DependencyTypeFlags"), 0)).expect("flags"),
        kind,
        ancestor: u32::try_from(made.nth(&format!("{array}.AncestorLevel"), 0)).expect("a level"),
        device: Some(made.text("device", 0)),
        host_volume: Some(made.text("volume", 0)),
        dependent_volume: None,
        path: Some(made.text(path, 0)),
    };
    [
        one("head.Version2Entries", VirtualDiskKind::Vhdx, "path"),
        one("rest", VirtualDiskKind::Vhd, "parent"),
    ]
}

#[test]
fn the_file_behind_a_mounted_disk_is_found_by_pointers_of_both_widths() {
    let base = made("constants").number("BASE");
    let both = [
        (made("dependency"), PointerWidth::Bits64),
        (made_32("dependency"), PointerWidth::Bits32),
    ];
    for (made, width) in both {
        let pointers = Pointers { width, base };
        let found = Dependencies::decode(&made.bytes, pointers).expect("dependencies");
        assert_eq!(
            (found.entries.as_slice(), found.missing),
            (&expected(made)[..], 0)
        );
        let mut kept = made.bytes.clone();
        let rebased = pointers.rebase(&mut kept);
        assert_eq!(rebased, Pointers { width, base: 0 });
        assert_eq!(Dependencies::decode(&kept, rebased), Ok(found));
        // Once more, as the address of another process: nothing of the buffer's address is left.
        assert_eq!(rebased.rebase(&mut kept), rebased);
        let address = base.to_le_bytes();
        assert!(
            !kept.windows(2).any(|part| part == &address[2..4]),
            "an address"
        );
    }
}

#[test]
fn pointers_to_elsewhere_are_errors_and_are_not_followed() {
    let filled = made("dependency");
    let base = made("constants").number("BASE");
    let width = PointerWidth::Bits64;
    for address in [
        1,
        base - 1,
        base,
        base + 8,
        base + 135,
        base + 100_000,
        u64::MAX,
    ] {
        let mut bytes = filled.bytes.clone();
        bytes[48..56].copy_from_slice(&address.to_le_bytes());
        let pointers = Pointers { width, base };
        let error = Dependencies::decode(&bytes, pointers).expect_err("an address");
        let len = bytes.len();
        let outside = Problem::Outside {
            target: address,
            len,
        };
        assert_eq!((error.field, error.at), ("HostVolumeName", 48));
        assert_eq!(error.problem, outside);
    }
    let other = Pointers {
        width,
        base: base + (1 << 40),
    };
    assert!(Dependencies::decode(&filled.bytes, other).is_err());
    let mut first = filled.bytes.clone();
    first[0] = 1;
    let error = Dependencies::decode(&first, Pointers { width, base }).expect_err("version 1");
    assert_eq!((error.field, error.at), ("Version", 0));
}

#[test]
fn names_are_those_that_were_filled() {
    for made in [made("names"), made_32("names")] {
        let found = names("GetVolumePathNamesForVolumeNameW", &made.bytes);
        assert_eq!(found, Ok(made.texts("text")));
        assert_eq!(found.map(|names| names.len()), Ok(2));
    }
    assert_eq!(names("none", &made("names_none").bytes), Ok(vec![]));
}

#[test]
fn compression_is_told_by_its_format() {
    assert_eq!(is_compressed(&made("compression").bytes), Ok(true));
    assert_eq!(is_compressed(&made("compression_none").bytes), Ok(false));
    let short = is_compressed(&made("compression").bytes[..1]);
    assert!(short.is_err(), "{short:?}");
}

#[test]
fn every_filesystem_tells_its_allocation_unit_and_its_name() {
    let made_size = made("size");
    let size = FilesystemSize::decode(&made_size.bytes).expect("whole");
    assert_eq!(size.cluster.get(), 256 * 512);
    assert_eq!(
        u64::from(size.sector.get()),
        made_size.number("BytesPerSector")
    );
    let mut none = made_size.bytes.clone();
    none[16..20].fill(0);
    assert!(FilesystemSize::decode(&none).is_err(), "no sector");
    let name = &made("name").bytes;
    assert_eq!(filesystem_name(name), Ok("exFAT".to_owned()));
    // Its length is that of the name, whatever is behind it; what is longer than the answer is none.
    let mut long = name.clone();
    long[8..12].copy_from_slice(&14_u32.to_le_bytes());
    assert!(filesystem_name(&long).is_err());
}
