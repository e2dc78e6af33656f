//! qcow2 images made by qemu-img and qemu-io, at least 80 of them: the map must be what `qemu-img map` says, byte for
//! byte, and what lies where it points must be what `qemu-img convert` reads.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::qemu_map::{
    Action, Chain, Rng, Spec, arg, convert, map, parsed, qemu_img, tool,
};

/// Disks up to this size are also read.
const READ: u64 = 48 << 20;

/// A temporary folder in which one test makes its images.
struct Lab {
    folder: tempfile::TempDir,
    made: usize,
}

impl Lab {
    fn new() -> Lab {
        Lab {
            folder: tempfile::tempdir().expect("temporary folder"),
            made: 0,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Compares the chain of `names`, the child first, with qemu-img.
    fn check(&mut self, what: &str, names: &[(&str, &str)]) {
        let paths: Vec<(&str, PathBuf)> = names.iter().map(|(f, n)| (*f, self.path(n))).collect();
        let paths: Vec<(&str, &Path)> = paths.iter().map(|(f, p)| (*f, p.as_path())).collect();
        let (format, child) = paths[0];
        let chain = Chain::open(&paths);
        chain.must_agree(what, &map(format, child));
        if chain.size() <= READ {
            chain.must_read_as(what, &convert(format, child, &self.path("raw")));
        }
        self.made += 1;
    }

    /// Makes one image, does `actions` to it, compares and removes it.
    fn one(&mut self, what: &str, spec: &Spec<'_>, actions: &[Action]) {
        let path = self.path("image");
        spec.create(&path);
        spec.actions(&path, actions);
        self.check(what, &[("qcow2", "image")]);
        fs::remove_file(path).expect("removed");
        let _ = fs::remove_file(self.path("data"));
    }
}

/// A disk on which `clusters` of `1 << bits` bytes are a good part, not all too small.
fn size_for(bits: u32, clusters: u64) -> u64 {
    // 5 sectors more: the last cluster is not whole.
    ((clusters << bits).max(1 << 20)) + 2560
}

#[test]
fn every_cluster_size_in_both_versions() {
    let mut lab = Lab::new();
    for bits in 9..=21 {
        for compat in ["0.10", "1.1"] {
            let size = size_for(bits, 20);
            let spec = Spec::new("qcow2", size)
                .with(format!("cluster_size={}", 1_u64 << bits))
                .with(format!("compat={compat}"));
            let mut rng = Rng(u64::from(bits) << 8 | u64::from(compat == "1.1"));
            let mut actions = rng.actions(24, size, 1 << bits, 3, 4);
            actions.extend(rng.actions(8, size, 512, 50, 3));
            lab.one(&format!("2^{bits}, {compat}"), &spec, &actions);
        }
    }
    assert_eq!(lab.made, 26);
}

#[test]
fn extended_l2() {
    let mut lab = Lab::new();
    for bits in 14..=21 {
        let size = size_for(bits, 12);
        let spec = Spec::new("qcow2", size)
            .with(format!("cluster_size={}", 1_u64 << bits))
            .with("extended_l2=on");
        let mut rng = Rng(u64::from(bits));
        let mut actions = rng.actions(30, size, 1 << (bits - 5), 40, 3);
        actions.extend(rng.actions(6, size, 512, 20, 3));
        lab.one(&format!("extended, 2^{bits}"), &spec, &actions);
    }
    assert_eq!(lab.made, 8);
}

#[test]
fn external_data_files() {
    let mut lab = Lab::new();
    for raw in ["off", "on"] {
        for (bits, extended) in [
            (9, "off"),
            (12, "off"),
            (16, "off"),
            (16, "on"),
            (21, "off"),
        ] {
            let size = size_for(bits, 20);
            let data = lab.path("data");
            let spec = Spec::new("qcow2", size)
                .with(format!("cluster_size={}", 1_u64 << bits))
                .with(format!("extended_l2={extended}"))
                .with(format!("data_file={}", arg(&data)))
                .with(format!("data_file_raw={raw}"));
            let actions = Rng(u64::from(bits)).actions(20, size, 1 << bits, 3, 4);
            let what = format!("data file, raw {raw}, 2^{bits}, extended {extended}");
            lab.one(&what, &spec, &actions);
        }
    }
    assert_eq!(lab.made, 10);
}

#[test]
fn preallocation() {
    let mut lab = Lab::new();
    for mode in ["off", "metadata", "falloc", "full"] {
        for (bits, extended) in [(9, "off"), (16, "off"), (16, "on"), (21, "off")] {
            let size = size_for(bits, 20);
            let spec = Spec::new("qcow2", size)
                .with(format!("cluster_size={}", 1_u64 << bits))
                .with(format!("extended_l2={extended}"))
                .with(format!("preallocation={mode}"));
            // With a discard, so that there are zero clusters that keep their place.
            let mut actions = Rng(u64::from(bits)).actions(6, size, 1 << bits, 3, 0);
            actions.push(Action::Zeroes(2 << bits, 3 << bits));
            actions.push(Action::Discard(7 << bits, 2 << bits));
            let what = format!("preallocation {mode}, 2^{bits}, extended {extended}");
            lab.one(&what, &spec, &actions);
        }
    }
    assert_eq!(lab.made, 16);
}

#[test]
fn compressed_clusters() {
    let mut lab = Lab::new();
    for compression in ["zlib", "zstd"] {
        for (bits, extended) in [
            (9, "off"),
            (12, "off"),
            (16, "off"),
            (16, "on"),
            (21, "off"),
        ] {
            let cluster = 1_u64 << bits;
            let mut rng = Rng(u64::from(bits));
            // Text that compresses, text that does not, and nothing.
            let size = usize::try_from(size_for(bits, 12)).expect("small");
            let mut guest = vec![0; size];
            for (n, cluster) in guest.chunks_mut(1 << bits).enumerate() {
                match n % 5 {
                    0 | 1 => cluster.fill_with({
                        let mut at = rng.below(90);
                        move || {
                            at += 1;
                            u8::try_from(at % 90 + 32 + at / 1000 % 3).expect("below 125")
                        }
                    }),
                    2 => cluster.fill_with(|| (rng.next() >> 56) as u8),
                    3 => cluster[..200].fill_with(|| (rng.next() >> 56) as u8),
                    _ => {}
                }
            }
            let (source, image) = (lab.path("source"), lab.path("image"));
            fs::write(&source, &guest).expect("written");
            let options = format!(
                "compression_type={compression},cluster_size={cluster},extended_l2={extended}"
            );
            let (from, to) = (arg(&source), arg(&image));
            qemu_img([
                "convert", "-q", "-c", "-f", "raw", "-O", "qcow2", "-o", &options, from, to,
            ]);
            let what = format!("{compression}, 2^{bits}, extended {extended}");
            lab.check(&what, &[("qcow2", "image")]);
            let chain = Chain::open(&[("qcow2", &image)]);
            chain.must_read_as(&what, &guest);
            // Then ordinary writes among them; a compressed one goes only where nothing is allocated.
            let size = chain.size();
            let spec = Spec::new("qcow2", size);
            let mut actions = vec![Action::Compressed(4 * cluster, cluster, 77)];
            actions.extend(rng.actions(6, size, 512, 30, 3));
            spec.actions(&image, &actions);
            lab.check(&format!("{what}, mixed"), &[("qcow2", "image")]);
        }
    }
    assert_eq!(lab.made, 20);
}

/// Chains of up to four files, each of another cluster size, version and length than the one below; the base in turn raw,
/// VDI or qcow2.
#[test]
fn backing_chains() {
    let mut lab = Lab::new();
    const SIZES: [u64; 4] = [6 << 20, 9 << 20, 4 << 20, (7 << 20) + 512];
    for seed in 0..12_u64 {
        let mut rng = Rng(seed);
        let depth = 2 + seed % 3;
        let mut names: Vec<(&str, String)> = Vec::new();
        for level in 0..depth {
            let size = SIZES[usize::try_from((seed + level) % 4).expect("small")];
            let name = format!("{seed}-{level}");
            let bits = 12 + rng.below(8);
            let format = match (level, seed % 4) {
                (0, 0) => "raw",
                (0, 1) => "vdi",
                _ => "qcow2",
            };
            let below = names.first().cloned();
            let mut spec = Spec::new(format, size);
            if format == "qcow2" {
                spec = spec.with(format!("cluster_size={}", 1 << bits));
                spec = spec.with(match rng.below(3) {
                    0 => "compat=0.10",
                    1 if bits >= 14 => "extended_l2=on",
                    _ => "compat=1.1",
                });
            }
            if let Some((format, name)) = &below {
                spec = spec.on(name, format);
            }
            let path = lab.path(&name);
            spec.create(&path);
            // VDI has no discard.
            let odd = if format == "qcow2" { 3 } else { 0 };
            spec.actions(&path, &rng.actions(10, size, 4096, 120, odd));
            names.insert(0, (format, name));
        }
        let names: Vec<(&str, &str)> = names.iter().map(|(f, n)| (*f, n.as_str())).collect();
        lab.check(&format!("chain {names:?}"), &names);
        // As recorded, the parents are where the test knows them to be.
        for pair in names.windows(2).filter(|pair| pair[0].0 == "qcow2") {
            let chain = Chain::open(&[(pair[0].0, &lab.path(pair[0].1))]);
            assert_eq!(chain.disk().references[0].names, [pair[1].1]);
        }
    }
    assert_eq!(lab.made, 12);
}

#[test]
fn large_and_sparse() {
    let mut lab = Lab::new();
    for (bits, size) in [
        (9_u32, 1 << 36),
        (12, 1 << 40),
        (16, 1 << 40),
        (16, 1_u64 << 44),
        (18, (1 << 40) + 512),
        (21, 1 << 40),
    ] {
        for extended in ["off", "on"] {
            if extended == "on" && bits < 14 {
                continue;
            }
            let spec = Spec::new("qcow2", size)
                .with(format!("cluster_size={}", 1_u64 << bits))
                .with(format!("extended_l2={extended}"));
            let actions = Rng(u64::from(bits)).actions(40, size, 4096, 8, 0);
            lab.one(&format!("2^{bits}, {size}, {extended}"), &spec, &actions);
        }
    }
    assert_eq!(lab.made, 10);
}

#[test]
fn snapshots_share_clusters() {
    let mut lab = Lab::new();
    let path = lab.path("image");
    let spec = Spec::new("qcow2", 8 << 20);
    spec.create(&path);
    let mut rng = Rng(5);
    for name in ["one", "two"] {
        spec.actions(&path, &rng.actions(10, 8 << 20, 4096, 100, 4));
        qemu_img(["snapshot", "-c", name, arg(&path)]);
    }
    spec.actions(&path, &rng.actions(10, 8 << 20, 4096, 100, 4));
    lab.check("with snapshots", &[("qcow2", "image")]);
}

/// QEMU gives no offsets of an encrypted image; what is where is the same as in any other.
#[test]
fn encryption_keeps_the_map() {
    let lab = Lab::new();
    let path = lab.path("image");
    let secret = "secret,id=s,data=abc";
    let options = "encrypt.format=luks,encrypt.key-secret=s,encrypt.iter-time=10,cluster_size=4096";
    qemu_img([
        "create",
        "-q",
        "--object",
        secret,
        "-f",
        "qcow2",
        "-o",
        options,
        arg(&path),
        "1M",
    ]);
    let image = format!(
        "driver=qcow2,file.driver=file,file.filename={},encrypt.key-secret=s",
        arg(&path)
    );
    tool(
        "qemu-io",
        "qemu-utils",
        [
            "--object",
            secret,
            "-c",
            "write -q -P 7 8k 20k",
            "-c",
            "write -q -z 64k 8k",
            "--image-opts",
            &image,
        ],
    );
    let said = qemu_img([
        "map",
        "--output=json",
        "--object",
        secret,
        "--image-opts",
        &image,
    ]);
    let said = parsed(&said);
    assert_eq!(said.len(), 5, "{said:?}");
    Chain::open(&[("qcow2", &path)]).must_agree("LUKS", &said);
}
