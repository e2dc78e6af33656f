//! Captured and hand-made hosts: starts, grids and maps, by hand arithmetic.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use straddle_geometry::{
    Bytes, Copies, Extent, FarCopies, FarSets, Grid, Map, Raid, RaidLayout, Rotation, Segment,
    Striping, Unit,
};
use straddle_sources::linux::{Root, file, host};
use straddle_sources::{CaptureOptions, capture, capture_tree};
use straddle_sources::{Overrides, Settings, SourceError};
use straddle_stack::{
    AnomalyKind, Fact, GridRole, Key, Layer, LayerId, LayerKind, Seen, Stack, Trust, Value,
};

fn hosts() -> PathBuf {
    straddle_testkit::repository().join("tests/hosts")
}

fn tree(name: &str) -> Root {
    Root::open(&hosts().join(format!("{name}.tree"))).expect("a tree in tests/hosts")
}

fn stack(name: &str) -> Stack {
    host(&tree(name), &Settings::default()).expect("a host")
}

#[track_caller]
fn id(stack: &Stack, name: &str) -> LayerId {
    let found = stack.iter().find(|(_, layer)| layer.name == name);
    found.unwrap_or_else(|| panic!("no layer {name}")).0
}

#[track_caller]
fn layer<'a>(stack: &'a Stack, name: &str) -> &'a Layer {
    stack.layer(id(stack, name))
}

/// Unit and phase of a grid.
fn grid(layer: &Layer, role: GridRole) -> Option<(u64, u64)> {
    layer
        .grid(role)
        .map(|fact| (fact.value.unit().get(), fact.value.phase().get()))
}

fn bytes(layer: &Layer, key: Key) -> Option<u64> {
    layer.bytes(key).map(|fact| fact.value.get())
}

fn value(layer: &Layer, key: Key) -> Option<Value> {
    layer.attribute(key).map(|fact| fact.value.clone())
}

fn below(stack: &Stack, name: &str) -> Vec<String> {
    let below = &layer(stack, name).below;
    below
        .iter()
        .map(|id| stack.layer(*id).name.clone())
        .collect()
}

fn linear(start: u64) -> Map {
    Map::Linear {
        start: Bytes::new(start),
    }
}

fn striped(unit: u64, starts: &[u64]) -> Map {
    Map::Striped(Striping {
        unit: Unit::new(unit).expect("not zero"),
        starts: starts.iter().copied().map(Bytes::new).collect(),
    })
}

fn raid(layout: RaidLayout, unit: u64, starts: &[u64]) -> Map {
    Map::Raid(Raid {
        layout,
        unit: Unit::new(unit).expect("not zero"),
        starts: starts.iter().copied().map(Bytes::new).collect(),
    })
}

const NOWHERE: Map = Map::Segments(Vec::new());

#[test]
fn a_virtual_machine_is_a_disk_and_a_filesystem() {
    let stack = stack("virtio-vm");
    assert_eq!(stack.layers().len(), 2);
    let disk = layer(&stack, "vda");
    let size = disk.size.as_ref().map(|s| s.value.get());
    assert_eq!(size, Some(536_870_912 * 512));
    assert_eq!(grid(disk, GridRole::DiscardGranularity), Some((4096, 0)));
    assert_eq!(grid(disk, GridRole::OptimalIo), None);
    assert_eq!(disk.text(Key::Transport), Some("virtio"));
    assert_eq!(
        disk.grid(GridRole::PhysicalSector),
        Some(&Fact::reported(
            Grid::new(Unit::B4096),
            "/sys/block/vda/queue/physical_block_size",
            "4096"
        ))
    );
    assert_eq!(layer(&stack, "ext4").text(Key::MountPoint), Some("/"));
}

#[test]
fn a_partition_at_sector_63_and_what_is_mounted_from_it() {
    let stack = stack("sata-512e-63");
    let partition = layer(&stack, "sda1");
    // 63 × 512.
    assert_eq!(partition.map, linear(32_256));
    let extent = Extent::new(Bytes::new(32_256), Bytes::new(1_953_514_552 * 512));
    assert_eq!(
        partition.placement,
        extent.map(|extent| Fact::reported(extent, "/sys/block/sda/sda1/start", "63"))
    );
    let xfs = layer(&stack, "xfs");
    // sunit and swidth count 512-byte units.
    assert_eq!(bytes(xfs, Key::FsStripeUnit), Some(64 << 10));
    assert_eq!(bytes(xfs, Key::FsFullStripe), Some(256 << 10));
    let ext4 = layer(&stack, "ext4");
    assert_eq!(ext4.text(Key::MountPoint), Some("/srv/with blank"));
    // 32 blocks of 4 KiB.
    assert_eq!(bytes(ext4, Key::FsFullStripe), Some(128 << 10));
    assert_eq!(layer(&stack, "sda").attribute(Key::Serial), None);
}

#[test]
fn a_jumpered_disk_has_its_physical_sectors_off_by_seven() {
    let stack = stack("uml-jumper");
    let disk = layer(&stack, "sda");
    assert_eq!(grid(disk, GridRole::PhysicalSector), Some((4096, 3584)));
    let offset = value(disk, Key::AlignmentOffset);
    assert_eq!(offset, Some(Value::SignedBytes(3584)));
    let partition = layer(&stack, "sda1");
    assert_eq!(partition.map, linear(32_256));
    // The kernel measures against minimum_io_size (64 KiB): 65,536 + 3,584 − 32,256.
    let offset = value(partition, Key::AlignmentOffset);
    assert_eq!(offset, Some(Value::SignedBytes(36_864)));
    let seen = stack.grids_seen_from(id(&stack, "sda1"));
    let sector = seen.iter().find(|g| g.role == GridRole::PhysicalSector);
    // 32,256 = 3,584 + 7 × 4,096: sector 63 is right on this disk.
    let sector = sector.map(|g| g.seen.clone());
    assert_eq!(sector, Some(Seen::Uniform(Grid::new(Unit::B4096))));
}

#[test]
fn raid0_tells_its_stripe_from_the_least_common_multiple() {
    let stack = stack("uml-raid0-lcm");
    let array = layer(&stack, "md0");
    assert_eq!(array.kind, LayerKind::Array);
    assert_eq!(array.format.as_deref(), Some("raid0"));
    assert_eq!(array.map, striped(65_536, &[1 << 20; 6]));
    let members = ["sda", "sdb", "sdc", "sdd", "sde", "sdf"];
    assert_eq!(below(&stack, "md0"), members);
    assert_eq!(grid(array, GridRole::StripeUnit), Some((65_536, 0)));
    // 6 × 64 KiB = 384 KiB; with the members' 512 KiB the kernel reports 1.5 MiB.
    assert_eq!(grid(array, GridRole::OptimalIo), Some((1_572_864, 0)));
    // RAID 0 rewrites nothing, so its width is no unit of rewriting.
    assert_eq!(grid(array, GridRole::FullStripe), None);
    // The members' sectors come up through the map and are not counted again.
    assert_eq!(grid(array, GridRole::PhysicalSector), None);
    let seen = stack.grids_seen_from(id(&stack, "md0"));
    let sectors = seen.iter().filter(|g| g.role == GridRole::PhysicalSector);
    assert_eq!(sectors.count(), 1);
}

#[test]
fn raid10_has_two_copies_side_by_side() {
    let stack = stack("uml-raid10");
    let array = layer(&stack, "md0");
    let near = RaidLayout::Copies(Copies {
        near: 2,
        far: 1,
        distance: FarCopies::NextRow,
        sets: FarSets::All,
    });
    assert_eq!(array.map, raid(near, 65_536, &[1 << 20; 6]));
    let members = ["sda", "sdb", "sdc", "sdd", "sde", "sdf"];
    assert_eq!(below(&stack, "md0"), members);
    assert_eq!(array.text(Key::Layout), Some("near=2"));
}

#[test]
fn raid5_has_a_full_stripe_and_members_of_their_own_offsets() {
    let stack = stack("uml-raid5-offsets");
    let array = layer(&stack, "md0");
    let want = [1_048_576, 2_097_152, 1_049_600, 1_048_576];
    let parity = RaidLayout::Parity(Rotation::LeftSymmetric);
    assert_eq!(array.map, raid(parity, 65_536, &want));
    assert_eq!(below(&stack, "md0"), ["sda1", "sdb", "sdc", "sdd"]);
    assert_eq!(grid(array, GridRole::StripeUnit), Some((65_536, 0)));
    // 3 data members × 64 KiB.
    assert_eq!(grid(array, GridRole::FullStripe), Some((196_608, 0)));
    let offsets = array
        .attributes
        .iter()
        .filter(|a| a.key == Key::DataOffset)
        .map(|a| a.value.value.clone());
    let want = want.map(|n| Value::Bytes(Bytes::new(n)));
    assert_eq!(offsets.collect::<Vec<_>>(), want);
    // 32,256 + 1 MiB on one member, 1,025 KiB on another: no phase of 4 KiB is right, and the kernel says so too.
    let offset = value(array, Key::AlignmentOffset);
    assert_eq!(offset, Some(Value::SignedBytes(-1)));
    let seen = stack.grids_seen_from(id(&stack, "md0"));
    let sectors = seen.iter().filter(|g| g.role == GridRole::PhysicalSector);
    assert_eq!(sectors.map(|g| g.seen.clone()).collect::<Vec<_>>(), []);
}

#[test]
fn a_file_under_encryption_on_a_volume_on_a_mirror() {
    let root = tree("uml-crypt-lvm-md");
    let path = "/tmp/m/table.ibd";
    let stack = file(&root, path, &Settings::default()).expect("captured");
    let names: Vec<&str> = stack.layers().iter().map(|l| l.name.as_str()).collect();
    assert_eq!(names, ["sda", "sdb", "md0", "dm-0", "dm-1", "ext4", path]);
    let crypt = layer(&stack, "dm-1");
    assert_eq!(crypt.kind, LayerKind::Encryption);
    assert_eq!(crypt.map, linear(16 << 20));
    assert_eq!(grid(crypt, GridRole::EncryptionSector), Some((4096, 0)));
    let table = layer(&stack, path);
    assert_eq!(bytes(table, Key::MappedBytes), Some(512 << 10));
    let first = table.map.locate(Bytes::ZERO).expect("mapped").offset;
    // Extent + LUKS payload + start of the volume's data + the array's data offset.
    let want = first.get() + (16 << 20) + (1 << 20) + (1 << 20);
    let start = stack.start_in(id(&stack, path), id(&stack, "sda"));
    assert_eq!(start, Some(Bytes::new(want)));
}

#[test]
fn logical_volumes_of_every_shape() {
    let stack = stack("uml-lvm");
    let by_label = |label: &str| {
        let mut layers = stack.layers().iter();
        let found = layers.find(|l| l.text(Key::Label) == Some(label));
        found.unwrap_or_else(|| panic!("no volume {label}"))
    };
    let stripes = by_label("vg-stripes");
    assert_eq!(stripes.map, striped(65_536, &[1 << 20; 3]));
    assert_eq!(grid(stripes, GridRole::StripeUnit), Some((65_536, 0)));
    let raid = by_label("vg-r5");
    assert_eq!(raid.format.as_deref(), Some("raid"));
    assert_eq!(grid(raid, GridRole::StripeUnit), Some((65_536, 0)));
    assert_eq!(grid(raid, GridRole::FullStripe), Some((196_608, 0)));
    // Four images that all start at multiples of 4 KiB: their sectors show through.
    let below = stack.grids_seen_from(id(&stack, &raid.name));
    let sectors = below.iter().find(|g| g.role == GridRole::PhysicalSector);
    let sector = sectors.map(|g| g.seen.clone());
    assert_eq!(sector, Some(Seen::Uniform(Grid::new(Unit::B4096))));
    let thin = by_label("vg-thin");
    assert_eq!(thin.map, NOWHERE);
    assert_eq!(grid(thin, GridRole::ThinChunk), Some((65_536, 0)));
    assert_eq!(grid(thin, GridRole::PhysicalSector), Some((4096, 0)));
    let pool = by_label("vg-pool-tpool");
    assert_eq!((pool.map.clone(), pool.below.len()), (linear(0), 2));
    let snapshot = by_label("vg-snap");
    assert_eq!(grid(snapshot, GridRole::ThinChunk), Some((4096, 0)));
}

#[test]
fn multipath_names_its_path_selector() {
    let stack = stack("uml-multipath");
    let device = layer(&stack, "dm-0");
    assert_eq!(device.text(Key::PathSelector), Some("service-time"));
    assert_eq!(below(&stack, "dm-0"), ["sda", "sdb"]);
    assert_eq!(device.map, linear(0));
    // The WWID did not travel.
    let text = std::fs::read_to_string(hosts().join("uml-multipath.tree")).expect("readable");
    assert!(!text.contains("3600508b4"));
    assert!(text.contains("dm/uuid = mpath-\n"));
}

#[test]
fn a_loop_device_leads_to_its_files_extents() {
    let stack = stack("uml-loop-ext4");
    assert_eq!(layer(&stack, "loop0").map, linear(32_256));
    let path = "/tmp/m/disk.img";
    assert_eq!(below(&stack, "loop0"), [path]);
    let image = layer(&stack, path);
    let Map::Segments(segments) = &image.map else {
        panic!("segments expected")
    };
    assert!(segments.len() > 1, "the recipe makes it fragmented");
    assert_eq!(segments[0].upper.start(), Bytes::ZERO);
    assert_eq!(below(&stack, path), ["ext4"]);
    assert_eq!(below(&stack, "ext4"), ["sda"]);
}

#[test]
fn zram_names_its_compression() {
    let stack = stack("uml-zram");
    let device = layer(&stack, "zram0");
    assert_eq!(device.text(Key::Compression), Some("lzo-rle"));
    assert_eq!(grid(device, GridRole::LogicalSector), Some((4096, 0)));
    assert_eq!(device.size.as_ref().map(|s| s.value), Some(Bytes::mib(64)));
}

#[test]
fn nvme_units_are_recorded_as_reported() {
    let stack = stack("nvme-16k");
    let disk = layer(&stack, "nvme0n1");
    assert_eq!(grid(disk, GridRole::MinimumIo), Some((16_384, 0)));
    assert_eq!(grid(disk, GridRole::AtomicWrite), Some((16_384, 0)));
    assert_eq!(bytes(disk, Key::AtomicWriteMin), Some(4096));
    assert_eq!(disk.attribute(Key::AtomicWriteBoundary), None);
    assert_eq!(disk.text(Key::Transport), Some("nvme"));
    // sysfs counts 512-byte units on a drive of 4,096-byte sectors too: 2,099,208 × 512 is 4 KiB into a unit.
    assert_eq!(layer(&stack, "nvme0n1p2").map, linear(2_099_208 * 512));
}

#[test]
fn limits_that_are_no_stripes_are_recorded_and_not_judged() {
    for (name, disk, transport, optimal) in [
        ("mpt3sas-opt", "sdb", "sas", 16_773_120),
        ("usb-opt", "sdc", "usb", 33_553_920),
    ] {
        let stack = stack(name);
        let disk = layer(&stack, disk);
        assert_eq!(grid(disk, GridRole::OptimalIo), Some((optimal, 0)));
        assert_eq!(grid(disk, GridRole::StripeUnit), None);
        assert_eq!(disk.text(Key::Transport), Some(transport));
    }
}

#[test]
fn bcache_starts_where_the_sizes_say() {
    let stack = stack("bcache");
    let device = layer(&stack, "bcache0");
    assert_eq!(below(&stack, "bcache0"), ["sda1", "sdb"]);
    // 3,907,027,120 − 3,907,027,104 = 16 sectors.
    assert_eq!(device.map, linear(8_192));
    assert_eq!(bytes(device, Key::BucketSize), Some(512 << 10));
    let trust = device.attribute(Key::DataOffset).map(|f| f.trust);
    assert_eq!(trust, Some(Trust::Derived));
}

#[test]
fn zones_are_zones_and_not_chunks() {
    let stack = stack("zoned-smr");
    let disk = layer(&stack, "sdd");
    assert_eq!(grid(disk, GridRole::Zone), Some((268_435_456, 0)));
    assert_eq!(grid(disk, GridRole::ChunkSectors), None);
    assert_eq!(disk.text(Key::Zoned), Some("host-managed"));
}

#[test]
fn a_file_on_btrfs_has_no_wrong_answer() {
    let root = tree("btrfs-two");
    let stack = file(&root, "/data/db.mdf", &Settings::default()).expect("captured");
    let table = layer(&stack, "/data/db.mdf");
    assert_eq!(table.map, NOWHERE);
    let kinds: Vec<_> = table.anomalies.iter().map(|o| o.kind).collect();
    assert_eq!(kinds, [AnomalyKind::Missing]);
    assert_eq!(below(&stack, "btrfs"), ["vda1", "vdb"]);
}

#[test]
fn flags_override_the_roots_only() {
    let said = |n, flag| Unit::new(n).map(|u| Fact::stated(u, flag, ""));
    let overrides = Overrides {
        physical_sector: said(16_384, "--physical-sector"),
        stripe_unit: said(131_072, "--stripe-unit"),
        ..Overrides::default()
    };
    let settings = Settings {
        overrides,
        ..Settings::default()
    };
    let stack = host(&tree("uml-raid0-lcm"), &settings).expect("a host");
    let disk = layer(&stack, "sda");
    assert_eq!(grid(disk, GridRole::PhysicalSector), Some((16_384, 0)));
    assert_eq!(disk.text(Key::Overridden), Some("physical sector 4 KiB"));
    let array = layer(&stack, "md0");
    assert_eq!(grid(array, GridRole::StripeUnit), Some((65_536, 0)));
}

#[test]
fn pieces_of_a_volume_lie_where_the_table_says() {
    let text = r"sys/block/sda/dev = 8:0
sys/block/sda/size = 20480
sys/block/sdb/dev = 8:16
sys/block/sdb/size = 20480
sys/block/dm-0/dev = 253:0
sys/block/dm-0/size = 4096
sys/block/dm-0/dm/uuid = LVM-x
.straddle/dm/dm-0/table = 0 2048 linear 8:16 2048\n2048 2048 linear 8:0 63
";
    let root = Root::from_tree("pieces", text).expect("a tree");
    let stack = host(&root, &Settings::default()).expect("a host");
    let piece = |start, target, lower| Segment {
        upper: Extent::new(Bytes::mib(start), Bytes::mib(1)).expect("small"),
        target,
        lower: Bytes::new(lower),
    };
    let want = vec![piece(0, 0, 1 << 20), piece(1, 1, 32_256)];
    assert_eq!(layer(&stack, "dm-0").map, Map::Segments(want));
    assert_eq!(below(&stack, "dm-0"), ["sdb", "sda"]);
}

#[test]
fn a_table_that_cannot_be_read_is_said_to_be_missing() {
    let text = "sys/block/sda/dev = 8:0
sys/block/sda/size = 20480
sys/block/dm-0/dev = 253:0
sys/block/dm-0/size = 4096
sys/block/dm-0/dm/uuid = CRYPT-LUKS2-
sys/block/dm-0/slaves/sda -> ../../sda
.straddle/dm/dm-0/table = refused: permission denied
";
    let root = Root::from_tree("unprivileged", text).expect("a tree");
    let stack = host(&root, &Settings::default()).expect("a host");
    let crypt = layer(&stack, "dm-0");
    assert_eq!(crypt.kind, LayerKind::Encryption);
    assert_eq!(crypt.map, NOWHERE);
    assert_eq!(below(&stack, "dm-0"), ["sda"]);
    assert_eq!(
        crypt.anomalies[0].detail,
        "its device-mapper table, which says where it lies below, is not known: permission denied; a capture or a check by root has it"
    );
}

/// Every tree, with the files that were captured in it.
fn all_trees() -> BTreeMap<String, CaptureOptions> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(hosts()).expect("tests/hosts") {
        let name = entry.expect("readable").file_name();
        let name = name.to_str().expect("plain name");
        if let Some(name) = name.strip_suffix(".tree") {
            let files: &[&str] = match name {
                "uml-crypt-lvm-md" => &["/tmp/m/table.ibd"],
                "uml-loop-ext4" => &["/tmp/m/disk.img"],
                "btrfs-two" => &["/data/db.mdf"],
                _ => &[],
            };
            let files = files.iter().map(|f| (*f).to_owned()).collect();
            found.insert(
                name.to_owned(),
                CaptureOptions {
                    files,
                    ..CaptureOptions::default()
                },
            );
        }
    }
    assert!(found.len() >= 17, "{} trees", found.len());
    found
}

#[test]
fn a_capture_of_a_captured_host_is_that_host() {
    let defaults = Settings::default();
    for (name, options) in all_trees() {
        let root = tree(&name);
        let want = host(&root, &defaults).expect("a host");
        let mut archive = Vec::new();
        let report = capture(&root, &options, &mut archive).expect("writes to memory");
        assert!(report.files > 3 && report.unknown.is_empty(), "{name}");
        let again = Root::from_archive("again", &archive).expect("reads");
        let got = host(&again, &defaults).expect("a host");
        if matches!(&*name, "btrfs-two" | "rule-btrfs-page") {
            // The pool's UUID is in the paths of its facts, and was replaced.
            let text = |stack: &Stack| serde_json::to_string(stack).expect("serialises");
            let uuid = "2f0d2a5e-6b5c-4a53-9d4f-1c2e3b4a5d6f";
            let pseudonym = "00000000-0000-0000-0000-000000000001";
            assert_eq!(text(&got), text(&want).replace(uuid, pseudonym));
            assert_eq!(report.replaced, 1);
        } else {
            assert_eq!(got, want, "{name}");
        }
        for path in &options.files {
            let want = file(&root, path, &defaults).expect("a file");
            let got = file(&again, path, &defaults).expect("a file");
            assert_eq!(got.layers().last(), want.layers().last(), "{name} {path}");
        }
        // Unpacked, it is the same again.
        let dir = tempfile::tempdir().expect("temporary directory");
        let mut tar = Command::new("tar")
            .args(["-xzf", "-", "-C"])
            .arg(dir.path())
            .stdin(Stdio::piped())
            .spawn()
            .expect("tar runs (Debian: tar)");
        let mut input = tar.stdin.take().expect("piped");
        input.write_all(&archive).expect("tar reads");
        drop(input);
        assert!(tar.wait().expect("tar ends").success(), "{name}");
        let directory = Root::open(dir.path()).expect("opens");
        assert_eq!(host(&directory, &defaults).expect("a host"), got, "{name}");
        // What the recipe captured holds nothing that is not read.
        if name.starts_with("uml-") {
            let path = hosts().join(format!("{name}.tree"));
            let source = std::fs::read_to_string(path).expect("tree");
            let captured = capture_tree(&root, &options).expect("a tree");
            assert_eq!(captured, source, "{name}");
        }
    }
}

#[test]
fn nothing_secret_travels() {
    let secrets = [
        "ZFL0SECRET01",
        "secret01",
        "3600508b400105e210000900000490000",
        "d2f1a9c3b4e5d6f708192a3b4c5d6e7f",
        "4f0c6a52-9f0e-4a5b-8d9c-0123456789ab",
        "VPDSERIAL7",
        "TOKENINOTHERMOUNT",
    ];
    let text = r"sys/block/sda/dev = 8:0
sys/block/sda/size = 2048000
sys/block/sda/serial = ZFL0SECRET01
sys/block/sda/wwid = naa.5000c500secret01
sys/block/sda/device/serial = ZFL0SECRET01
sys/block/sda/device/vpd_pg80 = VPDSERIAL7
sys/block/sda/device/model = Model X
sys/block/dm-0/dev = 253:0
sys/block/dm-0/size = 2048000
sys/block/dm-0/dm/name = 3600508b400105e210000900000490000
sys/block/dm-0/dm/uuid = mpath-3600508b400105e210000900000490000
sys/block/dm-0/slaves/sda -> ../../sda
sys/block/dm-1/dev = 253:1
sys/block/dm-1/size = 2000000
sys/block/dm-1/dm/name = luks-4f0c6a52-9f0e-4a5b-8d9c-0123456789ab
sys/block/dm-1/dm/uuid = CRYPT-LUKS2-d2f1a9c3b4e5d6f708192a3b4c5d6e7f-luks-4f0c6a52-9f0e-4a5b-8d9c-0123456789ab
sys/block/dm-1/slaves/dm-0 -> ../../dm-0
.straddle/dm/dm-1/table = 0 2000000 crypt aes-xts-plain64 - 0 253:0 32768
proc/self/mountinfo = 22 1 253:1 / / rw - ext4 /dev/mapper/luks-4f0c6a52-9f0e-4a5b-8d9c-0123456789ab rw\n23 22 0:50 / /net rw - nfs4 server:/x rw,TOKENINOTHERMOUNT
";
    let root = Root::from_tree("planted", text).expect("a tree");
    let options = CaptureOptions::default();
    let captured = capture_tree(&root, &options).expect("captures");
    for secret in secrets {
        assert!(!captured.contains(secret), "{secret} in {captured}");
    }
    assert!(captured.contains("sys/block/dm-1/dm/uuid = CRYPT-LUKS2-\n"));
    assert!(captured.contains("Model X"));
    // The archive is the same text, packed: look at what unpacks, not at compressed bytes.
    let mut archive = Vec::new();
    capture(&root, &options, &mut archive).expect("captures");
    let mut unpacked = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&*archive), &mut unpacked)
        .expect("gzip");
    let unpacked = String::from_utf8_lossy(&unpacked);
    for secret in secrets {
        assert!(!unpacked.contains(secret), "{secret}");
    }
    // The filesystem is still found, through the device number.
    let again = Root::from_tree("again", &captured).expect("a tree");
    let stack = host(&again, &Settings::default()).expect("a host");
    assert_eq!(layer(&stack, "dm-1").map, linear(32_768 * 512));
    assert_eq!(below(&stack, "ext4"), ["dm-1"]);
    // With leave, the serial number is there.
    let root = root.with_serials(true);
    let captured = capture_tree(&root, &options).expect("captures");
    assert!(captured.contains("ZFL0SECRET01"));
    let stack = host(&root, &Settings::default()).expect("a host");
    assert_eq!(layer(&stack, "sda").text(Key::Serial), Some("ZFL0SECRET01"));
}

#[test]
fn a_root_that_is_no_host_is_named() {
    let root = Root::from_tree("empty", "etc/passwd = x\n").expect("a tree");
    let error = host(&root, &Settings::default()).expect_err("no host");
    assert!(matches!(error, SourceError::NotAHost { .. }));
    let error = file(&tree("virtio-vm"), "/nowhere", &Settings::default());
    let error = error.expect_err("unknown");
    assert_eq!(error.to_string(), "/nowhere: it was not captured");
}

#[test]
fn a_loop_device_over_a_device_is_followed_into_it() {
    let text = r"sys/block/sda/size = 2097152
sys/block/sda/dev = 8:0
sys/block/loop0/size = 2097089
sys/block/loop0/dev = 7:0
sys/block/loop0/loop/backing_file = /dev/sda
sys/block/loop0/loop/offset = 32256
";
    let root = Root::from_tree("loop", text).expect("a tree");
    let stack = host(&root, &Settings::default()).expect("a host");
    assert_eq!(below(&stack, "loop0"), ["sda"]);
    assert_eq!(layer(&stack, "loop0").map, linear(32256));
}

#[test]
fn garbage_loops_and_absurd_numbers_do_no_harm() {
    let text = r"sys/block/sda/size = 18446744073709551615
sys/block/sda/dev = 8:0
sys/block/sda/queue/physical_block_size = 9223372036854775809
sys/block/sda/queue/logical_block_size = 0
sys/block/sda/queue/optimal_io_size = -1
sys/block/sda/queue/zoned =
sys/block/sda/alignment_offset = banana
sys/block/sda/sda1/partition = 1
sys/block/sda/sda1/start = 36028797018963967
sys/block/sda/sda1/size = 36028797018963967
sys/block/sdb/size = 100
sys/block/sdb/sdb1/partition = 99999999999999999999999
sys/block/sdb/sdb1/size = 10
sys/block/dm-0/size = 8
sys/block/dm-0/dm/name = a
sys/block/dm-0/dev = 253:0
sys/block/dm-0/slaves/dm-1 -> ../../dm-1
sys/block/dm-1/size = 8
sys/block/dm-1/dev = 253:1
sys/block/dm-1/dm/name = b
sys/block/dm-1/slaves/dm-0 -> ../../dm-0
.straddle/dm/dm-0/table = 0 8 linear 253:1 0
.straddle/dm/dm-1/table = 0 8 striped 4000000000 8 253:0 0 253:1 0
sys/block/md0/size = 80
sys/block/md0/md/level = raid5
sys/block/md0/md/raid_disks = 18446744073709551615
sys/block/md0/md/chunk_size = 4611686018427387904
sys/block/md0/md/dev-sdb/slot = 18446744073709551615
sys/block/md0/md/dev-sdb/offset = 18446744073709551615
sys/block/md0/md/dev-md0/slot = 0
sys/block/md0/md/dev-md0/offset = 0
sys/block/loop0/size = 8
sys/block/loop0/dev = 7:0
sys/block/loop0/loop/backing_file = /self
.straddle/of/self/@stat = dev=7:0 size=99999999999999999999 blksize=x
.straddle/of/self/@extents = 0 0 4096 0x1
sys/block/loop1 -> loop1
sys/block/loop2/size = 8
sys/block/loop2/loop/backing_file = /dev/loop3
sys/block/loop3/size = 8
sys/block/loop3/loop/backing_file = /dev/loop2
proc/self/mountinfo = 1 1 7:0 / / rw - ext4 /dev/loop0 rw\n\n- - -\n1 2 3:4\n1 1 8:0 / \777 rw - xfs /dev/sda rw,sunit=99999999999999999999
sys/block/bcache0/size = 500
sys/block/bcache0/slaves/sdb -> ../../sdb
";
    let root = Root::from_tree("hostile", text).expect("a tree");
    let stack = host(&root, &Settings::default()).expect("a host");
    assert_eq!(layer(&stack, "sda").size, None);
    assert_eq!(grid(layer(&stack, "sda"), GridRole::PhysicalSector), None);
    assert_eq!(layer(&stack, "bcache0").map, NOWHERE);
    for (id, layer) in stack.iter() {
        assert!(layer.below.iter().all(|below| *below < id));
        let _ = stack.grids_seen_from(id);
    }
}

#[test]
fn every_single_file_may_be_missing_or_garbled() {
    // One at a time, as on a machine whose devices come and go.
    for name in ["uml-crypt-lvm-md", "uml-loop-ext4", "bcache", "btrfs-two"] {
        let text = std::fs::read_to_string(hosts().join(format!("{name}.tree"))).expect("tree");
        let lines: Vec<&str> = text.lines().collect();
        for at in 0..lines.len() {
            for with in ["", "-1", "4294967296 0:0 \u{fffd}", "gone"] {
                let mut changed = lines.clone();
                let line;
                match lines[at].split_once(" = ") {
                    Some((path, _)) if with != "gone" => {
                        line = format!("{path} = {with}");
                        changed[at] = &line;
                    }
                    _ => {
                        changed.remove(at);
                    }
                }
                let root = Root::from_tree("changed", &changed.join("\n")).expect("a tree");
                if let Ok(stack) = host(&root, &Settings::default()) {
                    assert!(!stack.layers().is_empty());
                }
            }
        }
    }
}
