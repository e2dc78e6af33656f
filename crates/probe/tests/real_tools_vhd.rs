//! VHD and VHDX against the tools: images made by qemu-img must be mapped as `qemu-img map` says, where it prints offsets,
//! and what lies where the map points must be what the guest wrote.

use std::path::Path;

use crate::support::qemu_map::{Chain, Rng, Spec, convert, map};

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// One VHD: made, written to in random order, mapped and compared.
fn vhd(folder: &Path, seed: u64, subformat: &str, force: &str, size: u64, writes: usize) {
    let path = folder.join("image.vhd");
    let what = format!("vhd {subformat}, force_size={force}, {size} bytes, seed {seed}");
    let spec = Spec::new("vpc", size)
        .with(format!("subformat={subformat}"))
        .with(format!("force_size={force}"));
    spec.create(&path);
    let mut rng = Rng(seed);
    spec.actions(&path, &rng.actions(writes, size, 512, 5000, 0));
    let chain = Chain::open(&[("vhd", &path)]);
    assert!(chain.size() >= size, "{what}");
    chain.must_agree(&what, &map("vpc", &path));
    if size <= 64 * MIB {
        chain.must_read_as(&what, &convert("vpc", &path, &folder.join("raw")));
    }
    std::fs::remove_file(&path).expect("removed");
}

#[test]
fn vhd_as_qemu_img_makes_it() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let mut images = 0;
    let sizes = [
        512,
        MIB,
        2 * MIB,
        5 * MIB + 512,
        9 * MIB,
        33 * MIB,
        GIB,
        40 * GIB,
    ];
    for (index, size) in (0_u64..).zip(sizes) {
        for force in ["on", "off"] {
            for round in 0..3 {
                let seed = 100 * index + round;
                vhd(
                    folder.path(),
                    seed,
                    "dynamic",
                    force,
                    size,
                    3 + 7 * index as usize,
                );
                images += 1;
            }
            if size <= 33 * MIB {
                vhd(folder.path(), 1000 + index, "fixed", force, size, 5);
                images += 1;
            }
        }
    }
    assert!(images >= 50, "{images}");
}

#[test]
fn the_largest_vhds_that_qemu_img_makes() {
    let folder = tempfile::tempdir().expect("temporary folder");
    for (seed, size) in [(1, 1 << 40), (2, 127 * GIB), (3, 2040 * GIB)] {
        vhd(folder.path(), seed, "dynamic", "on", size, 60);
    }
    vhd(folder.path(), 4, "dynamic", "off", 1 << 40, 60);
}
