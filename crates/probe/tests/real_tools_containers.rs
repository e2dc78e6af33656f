//! Containers made by qemu-img: the map must be what `qemu-img map` says, and what lies where the map points must be
//! what `qemu-img convert` reads.

use crate::support::qemu_map::{Chain, Rng, Spec, convert, map};

#[test]
fn vdi_as_qemu_img_makes_it() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let path = folder.path().join("image");
    for (seed, fixed) in [(1, "off"), (2, "on")] {
        let spec = Spec::new("vdi", 9 << 20).with(format!("static={fixed}"));
        spec.create(&path);
        spec.actions(&path, &Rng(seed).actions(6, 9 << 20, 4096, 300, 0));
        let chain = Chain::open(&[("vdi", &path)]);
        let what = format!("vdi, static={fixed}");
        chain.must_agree(&what, &map("vdi", &path));
        chain.must_read_as(&what, &convert("vdi", &path, &folder.path().join("raw")));
    }
}
