//! VMDK and VDI images made by qemu-img: the map must be what `qemu-img map` says, and what lies where the map points
//! must be what `qemu-img convert` reads.

use std::fs;
use std::path::Path;

use crate::support::qemu_map::{Action, Chain, Rng, Spec, arg, convert, map, qemu_img};
use straddle_geometry::Bytes;
use straddle_testkit::is_soak;

const GRAIN: u64 = 65_536;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
/// Guests up to this size are compared byte by byte.
const SMALL: u64 = 24 * MIB;

/// Compares an image with what qemu-img says about it; `paths` is the chain, the child first.
fn compare(what: &str, format: &str, paths: &[&Path]) {
    let with: Vec<(&str, &Path)> = paths.iter().map(|path| (format, *path)).collect();
    let chain = Chain::open(&with);
    chain.must_agree(what, &map(format, paths[0]));
    if chain.size() <= SMALL {
        let raw = paths[0].with_extension("raw");
        chain.must_read_as(what, &convert(format, paths[0], &raw));
    }
}

/// Writes at both ends, and some that straddle a boundary of `unit`.
fn corners(size: u64, unit: u64, rng: &mut Rng) -> Vec<Action> {
    let mut out = vec![
        Action::Write(0, 512, rng.value()),
        Action::Write(size - 512, 512, rng.value()),
    ];
    for _ in 0..4 {
        let at = rng.below(size / unit) * unit;
        if at >= 512 {
            out.push(Action::Write(at - 512, 1024, rng.value()));
        }
    }
    out
}

#[test]
fn vmdk_sparse_and_flat() {
    let mut count = 0;
    let mut rng = Rng(30);
    let adapters = ["ide", "buslogic", "lsilogic", "legacyESX"];
    for subformat in [
        "monolithicSparse",
        "twoGbMaxExtentSparse",
        "monolithicFlat",
        "twoGbMaxExtentFlat",
    ] {
        let sparse = subformat.ends_with("Sparse");
        for (size, writes) in [
            (8 * MIB, 0),
            (8 * MIB, 12),
            (8 * MIB + 3 * 512, 12),
            (17 * MIB + 512, 30),
            (5 * GIB, 20),
            (5 * GIB + 77 * 512, 40),
            (64 * GIB, 60),
        ] {
            for zeroed in [false, true] {
                if zeroed && !sparse {
                    continue;
                }
                let folder = tempfile::tempdir().expect("temporary folder");
                let path = folder.path().join("disk of a guest.vmdk");
                let mut spec = Spec::new("vmdk", size)
                    .with(format!("subformat={subformat}"))
                    .with(format!("adapter_type={}", adapters[count % 4]));
                spec = match (zeroed, count % 3) {
                    (true, _) => spec.with("zeroed_grain=on"),
                    (false, 0) => spec.with("compat6=on"),
                    (false, _) => spec,
                };
                spec.create(&path);
                if writes > 0 {
                    let mut actions = rng.actions(writes, size, 4096, 60, 0);
                    actions.extend(corners(size, GRAIN, &mut rng));
                    if zeroed {
                        for _ in 0..writes {
                            let (at, len) = rng.range(size / GRAIN * GRAIN, GRAIN, 3);
                            actions.push(Action::ZeroesUnmap(at, len));
                        }
                    }
                    spec.actions(&path, &actions);
                }
                compare(
                    &format!("{subformat}, {size} bytes, zeroed_grain={zeroed}"),
                    "vmdk",
                    &[&path],
                );
                count += 1;
            }
        }
    }
    assert_eq!(count, 42);
}

#[test]
fn vmdk_of_a_tebibyte() {
    let mut rng = Rng(31);
    // qemu-img looks at every grain of those that are sparse: for every commit one of them is as large.
    let sparse = if is_soak() { 1024 } else { 64 };
    for (subformat, gibibytes) in [
        ("monolithicSparse", 1024),
        ("twoGbMaxExtentSparse", sparse),
        ("monolithicFlat", 1024),
        ("twoGbMaxExtentFlat", 1024),
        ("streamOptimized", sparse),
    ] {
        let folder = tempfile::tempdir().expect("temporary folder");
        let path = folder.path().join("disk.vmdk");
        let size = gibibytes * GIB;
        let spec = Spec::new("vmdk", size).with(format!("subformat={subformat}"));
        spec.create(&path);
        if subformat != "streamOptimized" {
            let mut actions = rng.actions(60, size, 4096, 40, 0);
            actions.extend(corners(size, 2 * GIB, &mut rng));
            spec.actions(&path, &actions);
        }
        compare(&format!("{subformat} of {gibibytes} GiB"), "vmdk", &[&path]);
    }
}

#[test]
fn vmdk_streams() {
    let mut rng = Rng(32);
    for (number, size) in [
        64 * 1024,
        MIB,
        8 * MIB,
        8 * MIB + 512,
        11 * MIB + 33 * 512,
        20 * MIB + 65_024,
    ]
    .into_iter()
    .enumerate()
    {
        for random in [false, true] {
            let folder = tempfile::tempdir().expect("temporary folder");
            let raw = folder.path().join("in");
            let path = folder.path().join("out.vmdk");
            let mut bytes = vec![0; usize::try_from(size).expect("small")];
            for action in rng.actions(4 + 10 * number, size, 512, 300, 0) {
                let Action::Write(at, len, value) = action else {
                    panic!("only writes")
                };
                let range =
                    usize::try_from(at).expect("small")..usize::try_from(at + len).expect("small");
                for byte in &mut bytes[range] {
                    // What does not compress takes more room than its grain.
                    *byte = if random { rng.value() } else { value };
                }
            }
            fs::write(&raw, &bytes).expect("written");
            qemu_img([
                "convert",
                "-q",
                "-f",
                "raw",
                "-O",
                "vmdk",
                "-o",
                "subformat=streamOptimized",
                arg(&raw),
                arg(&path),
            ]);
            compare(
                &format!("stream of {size}, random={random}"),
                "vmdk",
                &[&path],
            );
        }
    }
}

#[test]
fn vmdk_chains() {
    let mut rng = Rng(33);
    let mut count = 0;
    for depth in [1, 2, 3] {
        for subformat in ["monolithicSparse", "twoGbMaxExtentSparse", "mixed"] {
            for size in [12 * MIB + 1024, 5 * GIB] {
                let folder = tempfile::tempdir().expect("temporary folder");
                let names: Vec<String> = (0..=depth).map(|n| format!("disk-{n}.vmdk")).collect();
                for (n, name) in names.iter().enumerate() {
                    let path = folder.path().join(name);
                    let kind = match (subformat, n) {
                        ("mixed", 0) => "twoGbMaxExtentFlat",
                        ("mixed", n) if n % 2 == 1 => "twoGbMaxExtentSparse",
                        ("mixed", _) => "monolithicSparse",
                        (kind, _) => kind,
                    };
                    let mut spec = Spec::new("vmdk", size).with(format!("subformat={kind}"));
                    if kind.ends_with("Sparse") && n % 2 == 1 {
                        spec = spec.with("zeroed_grain=on");
                    }
                    let parent = n
                        .checked_sub(1)
                        .map(|n| arg(&folder.path().join(&names[n])).to_owned());
                    let mut spec = match &parent {
                        Some(parent) => spec.on(parent, "vmdk"),
                        None => spec,
                    };
                    if parent.is_some() {
                        // It takes the size of its parent.
                        spec.size = None;
                    }
                    spec.create(&path);
                    let mut actions = rng.actions(12, size, 4096, 40, 0);
                    if spec
                        .options
                        .iter()
                        .any(|option| option == "zeroed_grain=on")
                    {
                        let (at, len) = rng.range(size / GRAIN * GRAIN, GRAIN, 3);
                        actions.push(Action::ZeroesUnmap(at, len));
                    }
                    spec.actions(&path, &actions);
                }
                let paths: Vec<_> = names
                    .iter()
                    .rev()
                    .map(|name| folder.path().join(name))
                    .collect();
                let paths: Vec<&Path> = paths.iter().map(AsRef::as_ref).collect();
                compare(
                    &format!("chain of {depth}, {subformat}, {size} bytes"),
                    "vmdk",
                    &paths,
                );
                // What the child expects is what the parent is.
                for pair in paths.windows(2) {
                    let child = Chain::open(&[("vmdk", pair[0])]);
                    let parent = Chain::open(&[("vmdk", pair[1])]);
                    let expects = child.disk().references[0].expects.clone();
                    assert_eq!(expects.as_ref(), parent.disk().identities.first());
                }
                count += 1;
            }
        }
    }
    assert_eq!(count, 18);
}

/// qemu-img makes no extents of ESX, but reads them.
#[test]
fn vmdk_delta_disk_of_esx() {
    for (seed, grain) in [(1, 1_u32), (2, 8), (3, 128)] {
        let mut rng = Rng(seed);
        let folder = tempfile::tempdir().expect("temporary folder");
        let path = folder.path().join("guest-000001-delta.vmdk");
        let sectors = 16_u32 * 2048 + 5;
        let tables = sectors.div_ceil(grain * 4096);
        let mut file = b"COWD".to_vec();
        for word in [1, 3, sectors, grain, 4, tables, 0] {
            file.extend(word.to_le_bytes());
        }
        file.resize(2048, 0);
        let first_table = 4 + (tables * 4).div_ceil(512);
        for table in 0..tables {
            // Every third table does not exist.
            let sector = if table % 3 == 2 {
                0
            } else {
                first_table + table * 32
            };
            file.extend(sector.to_le_bytes());
        }
        let data = first_table + tables * 32;
        file.resize(data as usize * 512, 0);
        let mut next = 0;
        for index in 0..sectors.div_ceil(grain) {
            if rng.below(3) == 0 && (index / 4096) % 3 != 2 {
                let at = first_table as usize * 512 + index as usize * 4;
                file[at..at + 4].copy_from_slice(&(data + next * grain).to_le_bytes());
                next += 1 + u32::try_from(rng.below(2)).expect("small");
            }
        }
        let end = (data + next * grain) as usize * 512;
        while file.len() < end {
            file.extend(rng.next().to_le_bytes());
        }
        fs::write(&path, file).expect("written");
        let disk = folder.path().join("guest-000001.vmdk");
        let text = format!(
            "# Disk DescriptorFile\nversion=1\nCID=12345678\nparentCID=ffffffff\ncreateType=\"vmfsSparse\"\n\
             RW {sectors} VMFSSPARSE \"guest-000001-delta.vmdk\"\n"
        );
        fs::write(&disk, text).expect("written");
        compare(&format!("COWD, grains of {grain}"), "vmdk", &[&disk]);
    }
}

#[test]
fn vdi_in_all_kinds() {
    let mut rng = Rng(34);
    let mut count = 0;
    for options in [&[][..], &[], &["static=on"]] {
        for (size, writes) in [
            (MIB, 0),
            (9 * MIB, 0),
            (9 * MIB, 8),
            (9 * MIB, 30),
            (12 * MIB + 65_024, 12),
            (20 * MIB + 512, 20),
            (130 * MIB, 40),
            (5 * GIB + 3 * 512, 40),
            (64 * GIB, 60),
            (300 * GIB + 1024, 60),
            (1024 * GIB, 60),
        ] {
            let folder = tempfile::tempdir().expect("temporary folder");
            let path = folder.path().join("disk.vdi");
            let mut spec = Spec::new("vdi", size);
            for option in options {
                spec = spec.with(*option);
            }
            spec.create(&path);
            if writes > 0 {
                let mut actions = rng.actions(writes, size, 4096, 600, 0);
                actions.extend(corners(size / MIB * MIB, MIB, &mut rng));
                spec.actions(&path, &actions);
            }
            compare(&format!("{options:?}, {size} bytes"), "vdi", &[&path]);
            // The oracle puts the data right behind the table.
            let said = map("vdi", &path);
            let offsets = said.iter().filter_map(|entry| entry.offset);
            let table = size.div_ceil(MIB) * 4;
            let data = (512 + table).next_multiple_of(512);
            for offset in offsets {
                assert!(Bytes::new(offset) >= Bytes::new(data), "{offset} {data}");
            }
            count += 1;
        }
    }
    assert_eq!(count, 33);
}

/// VirtualBox since 4.0 puts table and data at multiples of 1 MiB, older ones the data behind the table's last sector.
#[test]
fn vdi_as_virtualbox_lays_it_out() {
    let mut rng = Rng(35);
    for (table_at, data_at, sectors) in [(MIB, 2 * MIB, 0), (512, 1024, 0), (512, 4096, 7)] {
        let folder = tempfile::tempdir().expect("temporary folder");
        let path = folder.path().join("disk.vdi");
        let spec = Spec::new("vdi", 10 * MIB + sectors * 512);
        spec.create(&path);
        spec.actions(&path, &rng.actions(8, 10 * MIB, 4096, 300, 0));
        let made = fs::read(&path).expect("read");
        let size = |n: u64| usize::try_from(n).expect("small");
        let mut file = made[..512].to_vec();
        file[0x154..0x158]
            .copy_from_slice(&(u32::try_from(table_at).expect("small")).to_le_bytes());
        file[0x158..0x15c].copy_from_slice(&(u32::try_from(data_at).expect("small")).to_le_bytes());
        file.resize(size(table_at), 0);
        file.extend(&made[512..1024]);
        file.resize(size(data_at), 0);
        file.extend(&made[1024..]);
        fs::write(&path, file).expect("written");
        compare(&format!("data at {data_at}"), "vdi", &[&path]);
        let said = map("vdi", &path);
        let first = said.iter().find_map(|entry| entry.offset).expect("data");
        assert_eq!(first % MIB, data_at % MIB);
    }
}
