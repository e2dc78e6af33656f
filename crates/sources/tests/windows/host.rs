//! A host that was captured: answers that the C program laid out, in the files of an archive.

use std::fs;
use std::path::Path;

use straddle_geometry::Bytes;
use straddle_sources::linux::Root;
use straddle_sources::{Settings, SourceError, windows};
use straddle_stack::{AnomalyKind, GridRole, Key, Layer, LayerKind, Stack, Value};

use straddle_testkit::windows::made::made;

const VOLUME: &str = "0f1e2d3c-0000-0000-0000-007e00000000";

fn put(folder: &Path, name: &str, bytes: &[u8]) {
    let path = folder.join(".straddle/windows").join(name);
    fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    fs::write(path, bytes).expect("written");
}

/// A server with one disk, whose first partition starts at sector 63 and is an NTFS.
fn server(folder: &Path) {
    let volume = |what: &str| format!("volume/{VOLUME}/{what}");
    put(folder, "disks", b"0\n");
    let volumes = format!("\\\\?\\Volume{{{VOLUME}}}\\\tC:\\\tD:\\data\\\n");
    put(folder, "volumes", volumes.as_bytes());
    for (name, answer) in [
        ("disk/0/geometry".to_owned(), "geometry_mbr"),
        ("disk/0/layout".to_owned(), "layout_mbr"),
        ("disk/0/alignment".to_owned(), "alignment_offset"),
        ("disk/0/device".to_owned(), "device_nvme"),
        ("disk/0/seek-penalty".to_owned(), "seek_penalty"),
        ("disk/0/write-cache".to_owned(), "cache"),
        (volume("extents"), "extents_mbr"),
        (volume("number"), "number_mbr"),
        (volume("ntfs"), "ntfs"),
    ] {
        put(folder, &name, &made(answer).bytes);
    }
    put(folder, "disk/0/length", b"refused: 5 Access is denied.");
}

fn read(folder: &Path) -> Stack {
    let root = Root::open(folder).expect("a folder");
    straddle_sources::host(&root, &Settings::default()).expect("a host")
}

fn named<'a>(stack: &'a Stack, kind: LayerKind, name: &str) -> &'a Layer {
    let found = stack
        .layers()
        .iter()
        .find(|layer| layer.kind == kind && layer.name == name);
    found.unwrap_or_else(|| {
        let all: Vec<_> = stack
            .layers()
            .iter()
            .map(|layer| (layer.kind, &layer.name))
            .collect();
        panic!("no {kind:?} {name} in {all:?}")
    })
}

fn grid(layer: &Layer, role: GridRole) -> Option<(u64, u64)> {
    let grid = layer.grid(role)?.value;
    Some((grid.unit().get(), grid.phase().get()))
}

#[test]
fn a_captured_server_has_its_disk_its_partitions_and_its_filesystem() {
    let folder = tempfile::tempdir().expect("a folder");
    server(folder.path());
    let stack = read(folder.path());
    let disk = named(&stack, LayerKind::Device, "disk 0");
    let size = disk.size.as_ref().map(|size| size.value);
    assert_eq!(size, Some(Bytes::new(500_107_862_016)));
    assert_eq!(grid(disk, GridRole::LogicalSector), Some((512, 0)));
    // The first logical sector lies 1,536 bytes into a physical one: boundaries are 2,560 bytes on.
    assert_eq!(grid(disk, GridRole::PhysicalSector), Some((4096, 2560)));
    let text = |key| match &disk.attribute(key)?.value {
        Value::Text(text) => Some(text.to_string()),
        _ => None,
    };
    assert_eq!(text(Key::Model).as_deref(), Some("NVMe EXAMPLE SSD 990"));
    assert_eq!(text(Key::Transport).as_deref(), Some("nvme"));
    assert_eq!(text(Key::TableId).as_deref(), Some("a1b2c3d4"));
    assert_eq!(text(Key::WriteCache).as_deref(), Some("write back"));
    assert_eq!(text(Key::Serial), None);
    let partition = named(&stack, LayerKind::Partition, "disk 0 partition 1");
    let place = partition.placement.as_ref().expect("placed").value;
    assert_eq!(
        (place.start().get(), place.len().get()),
        (32_256, 107_371_952_640)
    );
    let other = named(&stack, LayerKind::Partition, "disk 0 partition 2");
    let place = other.placement.as_ref().expect("placed").value;
    assert_eq!(place.start().get(), 107_375_230_976);
    let ntfs = named(&stack, LayerKind::Filesystem, "C:");
    assert_eq!(grid(ntfs, GridRole::AllocationUnit), Some((65_536, 0)));
    // It is on that partition, and the partition on that disk.
    let below = |layer: &Layer| {
        let [below] = layer.below.as_slice() else {
            panic!("{} lies on {:?}", layer.name, layer.below)
        };
        stack.layer(*below).name.clone()
    };
    assert_eq!(below(ntfs), "disk 0 partition 1");
    assert_eq!(below(partition), "disk 0");
}

#[test]
fn a_volume_of_exfat_has_its_allocation_unit() {
    let folder = tempfile::tempdir().expect("a folder");
    server(folder.path());
    let volume = |what: &str| format!("volume/{VOLUME}/{what}");
    put(
        folder.path(),
        &volume("ntfs"),
        b"refused: 87 The parameter is incorrect.",
    );
    for what in ["size", "name"] {
        put(folder.path(), &volume(what), &made(what).bytes);
    }
    let stack = read(folder.path());
    let exfat = named(&stack, LayerKind::Filesystem, "C:");
    assert_eq!(exfat.format.as_deref(), Some("exfat"));
    assert_eq!(grid(exfat, GridRole::AllocationUnit), Some((131_072, 0)));
}

/// A file of that server, with what it answers to the question about its compression.
fn file(compression: Option<&str>) -> Stack {
    let folder = tempfile::tempdir().expect("a folder");
    server(folder.path());
    let at = |what: &str| format!("file/D/data/sales.mdf/@{what}");
    put(folder.path(), &at("pointers"), &made("pointers_file").bytes);
    if let Some(answer) = compression {
        put(folder.path(), &at("compression"), &made(answer).bytes);
    }
    let root = Root::open(folder.path()).expect("a folder");
    let path = r"D:\data\sales.mdf";
    straddle_sources::file(&root, path, &Settings::default()).expect("followed")
}

#[test]
fn a_compressed_file_has_no_places_and_a_sparse_one_has_holes() {
    for (answer, kind, detail, is_placed) in [
        (
            Some("compression"),
            AnomalyKind::Compressed,
            "it is compressed",
            false,
        ),
        (
            Some("compression_none"),
            AnomalyKind::Sparse,
            "1 holes",
            true,
        ),
        (
            None,
            AnomalyKind::Sparse,
            "holes, or what compression saved",
            true,
        ),
    ] {
        let stack = file(answer);
        let (id, layer) = stack
            .iter()
            .find(|(_, layer)| layer.kind == LayerKind::File)
            .expect("a file");
        let mut anomalies = layer.anomalies.iter();
        let said = anomalies.find(|anomaly| anomaly.kind == kind);
        assert!(
            said.is_some_and(|said| said.detail.contains(detail)),
            "{answer:?}: {:?}",
            layer.anomalies
        );
        let path = stack.path_of(id, Bytes::ZERO);
        assert_eq!(path.len() > 1, is_placed, "{answer:?}");
        // Its length ends behind its last cluster, whatever is a hole of it.
        let size = layer.size.as_ref().map(|size| size.value.get());
        assert_eq!(size, Some(40 * 65_536));
    }
}

#[test]
fn a_file_is_followed_to_the_disk() {
    let folder = tempfile::tempdir().expect("a folder");
    server(folder.path());
    let file = r"D:\data\sales.mdf";
    put(
        folder.path(),
        "file/D/data/sales.mdf/@pointers",
        &made("pointers_file").bytes,
    );
    let root = Root::open(folder.path()).expect("a folder");
    let stack = straddle_sources::file(&root, file, &Settings::default()).expect("followed");
    let layer = named(&stack, LayerKind::File, file);
    let id = stack
        .iter()
        .find(|(_, other)| other.name == layer.name)
        .map(|(id, _)| id)
        .expect("there");
    // Cluster 7,000 of the volume, 3 clusters into the second piece.
    let path = stack.path_of(id, Bytes::new((32 + 3) * 65_536));
    let disk = path.last().expect("it has a place");
    assert_eq!(stack.layer(disk.0).name, "disk 0");
    assert_eq!(disk.1, Bytes::new(32_256 + 7_003 * 65_536));
    let small = windows::file(&root, r"C:\small.ini", &Settings::default());
    assert!(
        small.is_ok(),
        "what is not known of it is said in the stack"
    );
    let none = windows::file(&root, r"X:\no.mdf", &Settings::default());
    let Err(SourceError::File { detail, .. }) = none else {
        panic!("{none:?}")
    };
    assert_eq!(detail, "it is on no volume of this machine");
    // Whoever can do without the disks below is told so: a virtual disk on a share is looked at all the same.
    let followed = Settings {
        only_when_followed: true,
        ..Settings::default()
    };
    for path in [r"\\nas\vms\a.vhdx", r"C:\small.ini"] {
        let none = windows::file(&root, path, &followed);
        assert!(
            matches!(none, Err(SourceError::NotFollowed { .. })),
            "{none:?}"
        );
    }
}

#[test]
fn what_needs_an_elevated_prompt_is_said_to() {
    let folder = tempfile::tempdir().expect("a folder");
    server(folder.path());
    put(
        folder.path(),
        "disk/0/layout",
        b"refused: 5 Access is denied.",
    );
    let stack = read(folder.path());
    let disk = named(&stack, LayerKind::Device, "disk 0");
    let said: Vec<_> = disk
        .anomalies
        .iter()
        .map(|one| one.detail.clone())
        .collect();
    assert!(
        said.iter()
            .any(|one| one.contains("Access is denied. (error 5)")
                && one.contains("Run as administrator")),
        "{said:?}"
    );
    // Where the volume lies is known all the same.
    let volume = named(&stack, LayerKind::Partition, "C:");
    assert_eq!(
        volume.placement.as_ref().expect("placed").value.start(),
        Bytes::new(32_256)
    );
}

#[test]
fn a_volume_whose_place_is_refused_is_named_and_one_without_a_disk_is_not() {
    let folder = tempfile::tempdir().expect("a folder");
    for (refused, is_named) in [
        ("5 Access is denied.", true),
        ("2 The system cannot find the file specified.", true),
        ("1 Incorrect function.", false),
        ("21 The device is not ready.", false),
    ] {
        server(folder.path());
        let answer = format!("refused: {refused}");
        let name = format!("volume/{VOLUME}/extents");
        put(folder.path(), &name, answer.as_bytes());
        let stack = read(folder.path());
        let mut said = stack.layers().iter().flat_map(|layer| &layer.anomalies);
        let (code, _) = refused.split_once(' ').expect("a number");
        let words = format!("(error {code})");
        let is_said = said.any(|one| {
            one.detail.contains("where it lies is not known") && one.detail.contains(&words)
        });
        assert_eq!(is_said, is_named, "{refused}");
        // The disk and its partitions are there all the same.
        named(&stack, LayerKind::Partition, "disk 0 partition 1");
    }
}

#[test]
fn answers_that_cannot_be_are_named_and_the_rest_is_read() {
    let folder = tempfile::tempdir().expect("a folder");
    server(folder.path());
    let layout = &made("layout_mbr").bytes;
    for (name, bytes, words) in [
        (
            "disk/0/layout",
            &layout[..20],
            "8 more partitions than it names",
        ),
        ("disk/0/layout", &layout[..3], "answers what cannot be"),
        ("disk/0/alignment", &layout[..4], "answers what cannot be"),
        ("disk/0/geometry", &[][..], "answers what cannot be"),
    ] {
        server(folder.path());
        put(folder.path(), name, bytes);
        let stack = read(folder.path());
        let disk = named(&stack, LayerKind::Device, "disk 0");
        let said: Vec<_> = disk
            .anomalies
            .iter()
            .map(|one| one.detail.clone())
            .collect();
        assert!(
            said.iter().any(|one| one.contains(words)),
            "{name}: {said:?}"
        );
        named(&stack, LayerKind::Filesystem, "C:");
    }
    let empty = tempfile::tempdir().expect("a folder");
    put(empty.path(), "volumes", b"");
    let root = Root::open(empty.path()).expect("a folder");
    let none = straddle_sources::host(&root, &Settings::default());
    let Err(SourceError::NoDisks { why, .. }) = none else {
        panic!("{none:?}")
    };
    assert_eq!(why, "it was not captured");
    put(empty.path(), "disks", b"refused: 5 Access is denied.");
    let root = Root::open(empty.path()).expect("a folder");
    let refused = straddle_sources::host(&root, &Settings::default()).expect_err("no disk");
    assert!(
        refused
            .to_string()
            .ends_with(" names no disk: Access is denied. (error 5)"),
        "{refused}"
    );
}
