//! Virtual disks that need other files: parents, extents, data files. Where `straddle check --where` says that a byte
//! lies, that byte lies: the file it names is read there, and compared with the disk as `qemu-img convert` reads it. What
//! it places nowhere reads as zeroes.
//!
//! qemu-img neither makes nor follows differencing VHD and VHDX; those are made here by hand on parents that it made, so
//! that their contents are known.
//!
//! Half of the chains are tried for every commit: every depth, every kind of cluster, every format, every kind of name; all with
//! `STRADDLE_SOAK=1`.

use crate::support::qemu::{Rng, qemu_img, qemu_io};
use crate::support::{in_memory, straddle};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use straddle_testkit::is_soak;

const MIB: u64 = 1 << 20;
const SECTOR: u64 = 512;
/// Bytes compared at each place.
const WINDOW: usize = 48;

/// How many chains are made by hand of each format; one of them has two files, and one three.
fn seeds() -> u64 {
    if is_soak() { 4 } else { 2 }
}

/// A folder with the files of one disk.
struct Bench {
    folder: tempfile::TempDir,
    rng: Rng,
    /// Sectors at the ends of what was written.
    edges: Vec<u64>,
    written: u64,
}

impl Bench {
    fn new(seed: u64) -> Bench {
        Bench {
            folder: in_memory(),
            rng: Rng(seed),
            edges: Vec::new(),
            written: 0,
        }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// `name` as an absolute name, or as it is.
    fn named(&self, name: &str, absolute: bool) -> String {
        match absolute {
            true => self.path().join(name).to_str().expect("UTF-8").to_owned(),
            false => name.to_owned(),
        }
    }

    fn create(&self, format: &str, name: &str, options: &[&str], size: u64) {
        let mut args = vec!["create", "-q", "-f", format];
        args.extend(options);
        let size = size.to_string();
        args.push(name);
        if !options.contains(&"-b") || size != "0" {
            args.push(&size);
        }
        qemu_img(self.path(), args);
    }

    /// `count` writes to a disk of `size` bytes. Every eight bytes tell their address and which write they are of.
    fn write(&mut self, format: &str, name: &str, size: u64, count: u64) {
        let sectors = size / SECTOR;
        let mut commands = Vec::new();
        for n in 0..count {
            let at = self.rng.below(sectors);
            let most = [3, 140, 900][self.rng.below(3) as usize];
            let len = (1 + self.rng.below(most)).min(sectors - at);
            self.command(n, at, len, &mut commands);
        }
        qemu_io(self.path(), format, name, &commands);
    }

    fn command(&mut self, n: u64, at: u64, len: u64, commands: &mut Vec<String>) {
        self.written += 1;
        let bytes = stamps(self.written, at, len);
        let from = self.path().join(format!("write-{n}"));
        fs::write(&from, bytes).expect("a scratch file");
        let (at_byte, bytes) = (at * SECTOR, len * SECTOR);
        commands.push(format!("write -q -s {} {at_byte} {bytes}", from.display()));
        self.edges.extend([at, at + len - 1]);
        self.edges.push((at + len).min(at + len / 2));
        self.edges.extend(at.checked_sub(1));
    }

    /// A byte of a disk so long: anywhere, at the ends of a write, and at those of one of the last.
    fn sample(&mut self, number: u64, size: u64) -> u64 {
        let edges = self.edges.len() as u64;
        let sector = match number % 3 {
            0 => self.rng.below(size / SECTOR),
            1 => self.edges[self.rng.below(edges) as usize],
            _ => self.edges[(edges - 1 - self.rng.below(edges / 4)) as usize],
        };
        let within = self.rng.below(SECTOR - WINDOW as u64 + 1);
        sector.min(size / SECTOR - 1) * SECTOR + within
    }

    /// Compares `samples` places of the disk in `name` with what `raw` holds; which files they lay in, and how often.
    fn compare_with(&mut self, name: &str, raw: &Path, samples: u64) -> BTreeMap<PathBuf, u64> {
        let raw = File::open(raw).expect("the raw disk");
        let size = raw.metadata().expect("a size").len();
        let mut found = BTreeMap::new();
        let asked: Vec<u64> = (0..samples).map(|n| self.sample(n, size)).collect();
        for (at, place) in asked.iter().zip(places(self.path(), name, &asked)) {
            let mut expected = [0; WINDOW];
            raw.read_exact_at(&mut expected, *at).expect("inside");
            let what = format!("{name}, byte {at}");
            match place {
                Ok((file, offset)) => {
                    let mut bytes = [0; WINDOW];
                    let opened = File::open(&file).expect("the file that is named");
                    let n = opened.read_at(&mut bytes, offset).expect("readable");
                    assert!(n == WINDOW, "{what}: beyond the end of {}", file.display());
                    assert_eq!(bytes, expected, "{what}: {} at {offset}", file.display());
                    *found.entry(file).or_insert(0) += 1;
                }
                Err(why) => {
                    assert!(
                        !why.contains("compressed") && !why.contains("no place"),
                        "{what}: {why}"
                    );
                    assert_eq!(expected, [0; WINDOW], "{what}: {why}");
                }
            }
        }
        found
    }

    /// The same with what qemu-img makes of it. Samples must have lain in each of the `files`, and in no other.
    #[track_caller]
    fn compare(&mut self, format: &str, name: &str, files: &[&str]) {
        let raw = self.path().join("expected.raw");
        qemu_img(
            self.path(),
            ["convert", "-f", format, "-O", "raw", name, "expected.raw"],
        );
        let found = self.compare_with(name, &raw, 36);
        self.assert_files(&found, files);
    }

    #[track_caller]
    fn assert_files(&self, found: &BTreeMap<PathBuf, u64>, files: &[&str]) {
        let real = |path: &Path| path.canonicalize().expect("it exists");
        let expected: BTreeSet<PathBuf> =
            files.iter().map(|f| real(&self.path().join(f))).collect();
        let found: BTreeSet<PathBuf> = found.keys().map(|path| real(path)).collect();
        assert_eq!(found, expected);
    }
}

/// `len` sectors from sector `at` on, of write number `tag`.
fn stamps(tag: u64, at: u64, len: u64) -> Vec<u8> {
    let words = (at * 64..(at + len) * 64).map(|word| (tag << 40 | word) + 1);
    words.flat_map(u64::to_be_bytes).collect()
}

/// The file that each of these bytes of the disk in `name` lies in and where, or why it is nowhere; asked of one run.
fn places(folder: &Path, name: &str, asked: &[u64]) -> Vec<Result<(PathBuf, u64), String>> {
    let mut args = vec!["check", "--as", "image", "--fail-on", "never", "--json"];
    let words: Vec<String> = asked.iter().map(|at| format!("--where={at}")).collect();
    args.extend(words.iter().map(String::as_str));
    args.push(name);
    let run = straddle(folder, &args);
    assert_eq!(run.code, Some(0), "{name}: {}", run.stderr);
    let report: Value = serde_json::from_str(&run.stdout).expect("JSON");
    let target = &report["targets"][0];
    let places = target["places"].as_array().expect("a list");
    assert_eq!(places.len(), asked.len(), "{name}");
    let of_one = |(place, at): (&Value, &u64)| {
        let steps = place["steps"].as_array().expect("steps");
        let first = steps.first().expect("the byte itself");
        assert_eq!(first["offset"], *at, "{name}: in the order of the question");
        if let Some(why) = place["ends"].as_str() {
            return Err(why.to_owned());
        }
        let last = steps.last().expect("a step");
        let layer = &target["stack"][last["layer"].as_u64().expect("an index") as usize];
        assert_eq!(layer["kind"], "file", "{name}: {layer}");
        let file = folder.join(layer["name"].as_str().expect("a name"));
        Ok((file, last["offset"].as_u64().expect("an offset")))
    };
    places.iter().zip(asked).map(of_one).collect()
}

/// Backing chains of qcow2: depths, kinds of names, kinds of clusters; children longer and shorter than their parents.
#[test]
fn qcow2_on_qcow2() {
    let mut images = 0;
    for depth in 1..=4_usize {
        for absolute in [false, true] {
            // The name of a parent is read in one way at every depth.
            if !is_soak() && absolute == (depth % 2 == 0) {
                continue;
            }
            for (n, options) in ["cluster_size=64k", "extended_l2=on", "cluster_size=512"]
                .into_iter()
                .enumerate()
            {
                let mut bench =
                    Bench::new(100 * depth as u64 + 10 * n as u64 + u64::from(absolute));
                let names: Vec<String> = (0..=depth).map(|n| format!("disk{n}.qcow2")).collect();
                let mut size = 6 * MIB;
                bench.create("qcow2", &names[0], &["-o", options], size);
                bench.write("qcow2", &names[0], size, 12);
                for (level, two) in names.windows(2).enumerate() {
                    size = size + MIB - 2 * MIB * (level as u64 % 2);
                    let parent = bench.named(&two[0], absolute);
                    let options = ["-o", options, "-b", &parent, "-F", "qcow2"];
                    bench.create("qcow2", &two[1], &options, size);
                    bench.write("qcow2", &two[1], size, 5);
                }
                let raw = bench.path().join("expected.raw");
                let last = &names[depth];
                qemu_img(
                    bench.path(),
                    ["convert", "-f", "qcow2", "-O", "raw", last, "expected.raw"],
                );
                let found = bench.compare_with(last, &raw, 24);
                // A short chain is met in all of its files; of a long one the bottom may be covered.
                assert!(found.len() >= 2, "{depth} {options}: {found:?}");
                images += 1;
            }
        }
    }
    assert_eq!(images, if is_soak() { 24 } else { 12 });
}

#[test]
fn qcow2_on_other_formats() {
    for (seed, format) in ["raw", "vpc", "vdi", "vmdk", "vhdx"]
        .into_iter()
        .enumerate()
    {
        for absolute in [false, true] {
            if !is_soak() && absolute == (seed % 2 == 0) {
                continue;
            }
            let mut bench = Bench::new(900 + 2 * seed as u64 + u64::from(absolute));
            let options: &[&str] = if format == "vpc" {
                &["-o", "force_size=on"]
            } else {
                &[]
            };
            bench.create(format, "base", options, 8 * MIB);
            bench.write(format, "base", 8 * MIB, 20);
            let base = bench.named("base", absolute);
            bench.create("qcow2", "top", &["-b", &base, "-F", format], 0);
            bench.write("qcow2", "top", 8 * MIB, 4);
            bench.compare("qcow2", "top", &["base", "top"]);
        }
    }
}

/// Without a recorded format QEMU looks at the file, as it did for all files once.
#[test]
fn qcow2_on_a_parent_of_no_recorded_format() {
    for (seed, format) in ["raw", "qcow2", "vdi"].into_iter().enumerate() {
        let mut bench = Bench::new(950 + seed as u64);
        bench.create(format, "base", &[], 5 * MIB);
        bench.write(format, "base", 5 * MIB, 15);
        bench.create("qcow2", "top", &["-b", "base", "-F", format], 0);
        bench.write("qcow2", "top", 5 * MIB, 4);
        // qemu-img no longer makes these: its header extension gets a type that nobody knows.
        let top = bench.path().join("top");
        let mut bytes = fs::read(&top).expect("the child");
        let extension = bytes[..4096]
            .windows(4)
            .position(|b| b == b"\xe2\x79\x2a\xca");
        bytes[extension.expect("the format is recorded")] = 0x12;
        fs::write(&top, bytes).expect("written");
        bench.compare("qcow2", "top", &["base", "top"]);
    }
}

/// Names count from the folder of the file that records them, wherever the program is started.
#[test]
fn relative_names_count_from_the_file() {
    let mut bench = Bench::new(970);
    for folder in ["deep/er", "images"] {
        fs::create_dir_all(bench.path().join(folder)).expect("a scratch folder");
    }
    bench.create("qcow2", "images/base", &[], 4 * MIB);
    bench.write("qcow2", "images/base", 4 * MIB, 10);
    let options = ["-b", "../images/base", "-F", "qcow2"];
    bench.create("qcow2", "deep/middle", &options, 0);
    bench.write("qcow2", "deep/middle", 4 * MIB, 4);
    let options = ["-b", "../middle", "-F", "qcow2"];
    bench.create("qcow2", "deep/er/top", &options, 0);
    bench.write("qcow2", "deep/er/top", 4 * MIB, 3);
    let files = ["images/base", "deep/middle", "deep/er/top"];
    bench.compare("qcow2", "deep/er/top", &files);
}

#[test]
fn qcow2_with_a_data_file() {
    for on_parent in [false, true] {
        let mut bench = Bench::new(980 + u64::from(on_parent));
        let mut options = vec!["-o", "data_file=outside"];
        let mut files = vec!["outside"];
        if on_parent {
            bench.create("raw", "base", &[], 6 * MIB);
            bench.write("raw", "base", 6 * MIB, 15);
            options.extend(["-b", "base", "-F", "raw"]);
            files.push("base");
        }
        bench.create("qcow2", "top", &options, 6 * MIB);
        bench.write("qcow2", "top", 6 * MIB, 6);
        bench.compare("qcow2", "top", &files);
    }
}

#[test]
fn vmdk_chains() {
    for depth in 1..=3_usize {
        for absolute in [false, true] {
            let mut bench = Bench::new(1000 + 10 * depth as u64 + u64::from(absolute));
            let names: Vec<String> = (0..=depth).map(|n| format!("disk{n}.vmdk")).collect();
            bench.create("vmdk", &names[0], &[], 8 * MIB);
            bench.write("vmdk", &names[0], 8 * MIB, 25);
            for two in names.windows(2) {
                let parent = bench.named(&two[0], absolute);
                bench.create("vmdk", &two[1], &["-b", &parent, "-F", "vmdk"], 0);
                bench.write("vmdk", &two[1], 8 * MIB, 3);
            }
            let files: Vec<&str> = names.iter().map(String::as_str).collect();
            bench.compare("vmdk", &names[depth], &files);
        }
    }
}

/// Disks of several extents, written on both sides of where one ends, and children on them.
#[test]
fn vmdk_of_several_files() {
    const END: u64 = 2 << 30;
    let cases = [
        (
            "twoGbMaxExtentSparse",
            &["disk-s001.vmdk", "disk-s002.vmdk"][..],
        ),
        ("twoGbMaxExtentFlat", &["disk-f001.vmdk", "disk-f002.vmdk"]),
        ("monolithicFlat", &["disk-flat.vmdk"]),
    ];
    for (seed, (subformat, files)) in cases.into_iter().enumerate() {
        let mut bench = Bench::new(1100 + seed as u64);
        let option = format!("subformat={subformat}");
        bench.create("vmdk", "disk.vmdk", &["-o", &option], END + 100 * MIB);
        bench.write("vmdk", "disk.vmdk", END + 100 * MIB, 6);
        let mut commands = Vec::new();
        bench.command(90, END / SECTOR - 70, 200, &mut commands);
        bench.command(91, END / SECTOR + 100_000, 300, &mut commands);
        qemu_io(bench.path(), "vmdk", "disk.vmdk", &commands);
        bench.edges.extend([END / SECTOR - 1, END / SECTOR, 0]);
        bench.compare("vmdk", "disk.vmdk", files);
        bench.create("vmdk", "child.vmdk", &["-b", "disk.vmdk", "-F", "vmdk"], 0);
        bench.write("vmdk", "child.vmdk", END + 100 * MIB, 4);
        bench
            .edges
            .extend([END / SECTOR - 1, END / SECTOR, END / SECTOR + 100_001]);
        let files: Vec<&str> = files.iter().copied().chain(["child.vmdk"]).collect();
        bench.compare("vmdk", "child.vmdk", &files);
        // A child of several parts: what they lack lies in the parent of the whole.
        let option = "subformat=twoGbMaxExtentSparse";
        let options = ["-o", option, "-b", "disk.vmdk", "-F", "vmdk"];
        bench.create("vmdk", "split.vmdk", &options, 0);
        let mut commands = Vec::new();
        bench.command(92, END / SECTOR - 60, 100, &mut commands);
        bench.command(93, 5000, 700, &mut commands);
        qemu_io(bench.path(), "vmdk", "split.vmdk", &commands);
        let raw = bench.path().join("expected.raw");
        let args = ["convert", "-f", "vmdk", "-O", "raw"];
        qemu_img(
            bench.path(),
            args.into_iter().chain(["split.vmdk", "expected.raw"]),
        );
        let found = bench.compare_with("split.vmdk", &raw, 36);
        assert!(found.len() >= 2, "{subformat}: {found:?}");
    }
}

/// A disk as it must read: that of its parent, and what was laid over it.
fn raw_of(bench: &Bench, format: &str, name: &str) -> Vec<u8> {
    let args = ["convert", "-f", format, "-O", "raw", name, "parent.raw"];
    qemu_img(bench.path(), args);
    fs::read(bench.path().join("parent.raw")).expect("the raw disk")
}

/// Bits in runs of random length.
fn random_bits(rng: &mut Rng, count: usize) -> Vec<bool> {
    let mut bits: Vec<bool> = Vec::new();
    while bits.len() < count {
        let here = rng.below(2) == 1;
        let most = [3, 70, 1000][rng.below(3) as usize];
        let run = 1 + rng.below(most) as usize;
        bits.extend(std::iter::repeat_n(here, run.min(count - bits.len())));
    }
    bits
}

/// A differencing VHD `child` on the VHD `parent`, and the disk that both make of `disk`.
fn differencing_vhd(bench: &mut Bench, child: &str, parent: &str, disk: &mut [u8]) {
    let base = fs::read(bench.path().join(parent)).expect("the parent");
    let mut file = base[..1536].to_vec();
    let sum = |bytes: &mut [u8], at: usize| {
        bytes[at..at + 4].fill(0);
        let sum = !bytes.iter().map(|b| u32::from(*b)).sum::<u32>();
        bytes[at..at + 4].copy_from_slice(&sum.to_be_bytes());
    };
    let id: Vec<u8> = file[68..84].to_vec();
    file[60..64].copy_from_slice(&4_u32.to_be_bytes());
    file[68..84].copy_from_slice(&stamps(bench.rng.next() >> 30, 0, 1)[..16]);
    sum(&mut file[..512], 64);
    file[512 + 40..512 + 56].copy_from_slice(&id);
    let name: Vec<u8> = parent.encode_utf16().flat_map(u16::to_be_bytes).collect();
    file[512 + 64..512 + 576].fill(0);
    file[512 + 64..512 + 64 + name.len()].copy_from_slice(&name);
    sum(&mut file[512..1536], 36);
    file.resize(2048, 0xff);
    let blocks = disk.len().div_ceil(2 * MIB as usize);
    let mut order: Vec<usize> = (0..blocks).filter(|_| bench.rng.below(4) > 0).collect();
    bench.rng.shuffle(&mut order);
    for block in order {
        let sector = u32::try_from(file.len() / 512).expect("small");
        file[1536 + 4 * block..1540 + 4 * block].copy_from_slice(&sector.to_be_bytes());
        let bits = random_bits(&mut bench.rng, 4096);
        let packed = bits.chunks(8).map(|bits| {
            let bits = bits.iter();
            bits.fold(0_u8, |byte, bit| byte << 1 | u8::from(*bit))
        });
        file.extend(packed);
        bench.written += 1;
        for (n, here) in bits.iter().enumerate() {
            let at = block as u64 * 4096 + n as u64;
            let bytes = stamps(bench.written, at, 1);
            file.extend(&bytes);
            let Some(place) = disk.get_mut(at as usize * 512..(at as usize + 1) * 512) else {
                continue;
            };
            if *here {
                place.copy_from_slice(&bytes);
            }
            if n > 0 && bits[n - 1] != *here {
                bench.edges.extend([at - 1, at]);
            }
        }
    }
    let footer = file[..512].to_vec();
    file.extend(footer);
    fs::write(bench.path().join(child), file).expect("written");
}

#[test]
fn differencing_vhds() {
    for seed in 0..seeds() {
        let mut bench = Bench::new(1200 + seed);
        let size = 10 * MIB - 512 * seed;
        let options = ["-o", "force_size=on", "-o", "subformat=dynamic"];
        bench.create("vpc", "disk0.vhd", &options, size);
        bench.write("vpc", "disk0.vhd", size, 20);
        let mut disk = raw_of(&bench, "vpc", "disk0.vhd");
        let mut files = vec!["disk0.vhd", "disk1.vhd"];
        differencing_vhd(&mut bench, "disk1.vhd", "disk0.vhd", &mut disk);
        if seed % 2 == 1 {
            differencing_vhd(&mut bench, "disk2.vhd", "disk1.vhd", &mut disk);
            files.push("disk2.vhd");
        }
        let raw = bench.path().join("expected.raw");
        fs::write(&raw, &disk).expect("written");
        let top = files[files.len() - 1];
        let found = bench.compare_with(top, &raw, 40);
        bench.assert_files(&found, &files);
    }
}

fn number(bytes: &[u8], at: usize, len: usize) -> usize {
    let bytes = bytes[at..at + len].iter().rev();
    bytes.fold(0, |n, byte| n << 8 | usize::from(*byte))
}

/// Makes the VHDX `child`, whose blocks were written, a differencing one on `parent`: some of its blocks become partially
/// present. `disk` is what the parent holds, and then what both do.
fn differencing_vhdx(bench: &mut Bench, child: &str, parent: &str, disk: &mut [u8]) {
    let own = raw_of(bench, "vhdx", child);
    let utf16 =
        |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
    let base = fs::read(bench.path().join(parent)).expect("the parent");
    // The DataWriteGuid of the current header is what children know their parent by.
    let header = (1..=2)
        .map(|n| n * 0x1_0000)
        .filter(|at| &base[*at..*at + 4] == b"head")
        .max_by_key(|at| number(&base, at + 8, 8))
        .expect("a header");
    let guid = &base[header + 32..header + 48];
    let linkage = format!(
        "{{{:08x}-{:04x}-{:04x}-{:02x}{:02x}-{}}}",
        number(guid, 0, 4),
        number(guid, 4, 2),
        number(guid, 6, 2),
        guid[8],
        guid[9],
        guid[10..]
            .iter()
            .map(|b| format!("{b:02x}"))
            .collect::<String>()
    );
    let path = bench.path().join(child);
    let mut file = fs::read(&path).expect("the child");
    let region = |id: usize| {
        let mut entries = (0..2).map(|n| 0x3_0010 + 32 * n);
        let at = entries.find(|at| number(&file, *at, 4) == id);
        number(&file, at.expect("a region") + 16, 8)
    };
    let (table, metadata) = (region(0x2dc2_7766), region(0x8b7c_a206));
    let count = number(&file, metadata + 10, 2);
    let parameters = (1..=count)
        .map(|n| metadata + 32 * n)
        .find(|at| number(&file, *at, 4) == 0xcaa1_6737);
    let parameters = metadata + number(&file, parameters.expect("parameters") + 16, 4);
    file[parameters + 4] = 2;
    let mut locator = vec![
        0xb7, 0xef, 0x4a, 0xb0, 0x9e, 0xd1, 0x81, 0x4a, 0xb7, 0x89, 0x25, 0xb8, 0xe9, 0x44, 0x59,
        0x13, 0, 0, 2, 0,
    ];
    let mut strings = Vec::new();
    for (key, value) in [
        ("parent_linkage", linkage),
        ("relative_path", format!(".\\{parent}")),
    ] {
        let (key, value) = (utf16(key), utf16(&value));
        let field = |n: usize| u32::try_from(n).expect("small").to_le_bytes();
        let at = 44 + strings.len();
        locator.extend(field(at));
        locator.extend(field(at + key.len()));
        locator.extend(&field(key.len())[..2]);
        locator.extend(&field(value.len())[..2]);
        strings.extend(key);
        strings.extend(value);
    }
    locator.extend(strings);
    let entry = metadata + 32 * (count + 1);
    let id = [
        0x2d, 0x5f, 0xd3, 0xa8, 0x0b, 0xb3, 0x4d, 0x45, 0xab, 0xf7, 0xd3, 0xd8, 0x48, 0x34, 0xab,
        0x0c,
    ];
    file[entry..entry + 16].copy_from_slice(&id);
    file[entry + 16..entry + 20].copy_from_slice(&0x1_8000_u32.to_le_bytes());
    let len = u32::try_from(locator.len()).expect("small");
    file[entry + 20..entry + 24].copy_from_slice(&len.to_le_bytes());
    file[entry + 24..entry + 28].copy_from_slice(&4_u32.to_le_bytes());
    file[metadata + 10] = u8::try_from(count + 1).expect("few");
    file[metadata + 0x1_8000..][..locator.len()].copy_from_slice(&locator);
    // The sector bitmap of the only chunk goes to the end.
    file.resize(file.len().next_multiple_of(MIB as usize), 0);
    let bitmap = file.len();
    file.resize(bitmap + MIB as usize, 0);
    let mut partial = 0;
    for block in 0..disk.len() / MIB as usize {
        let at = table + 8 * block;
        if number(&file, at, 1) & 7 != 6 {
            continue;
        }
        let mut bits = vec![true; 2048];
        if bench.rng.below(4) > 0 {
            file[at] |= 1;
            partial += 1;
            bits = random_bits(&mut bench.rng, 2048);
            for (n, bits) in bits.chunks(8).enumerate() {
                let bits = bits.iter().rev();
                let packed = bits.fold(0_u8, |byte, bit| byte << 1 | u8::from(*bit));
                file[bitmap + block * 256 + n] = packed;
            }
        }
        for (n, here) in bits.iter().enumerate() {
            let sector = block * 2048 + n;
            let place = sector * 512..(sector + 1) * 512;
            if *here {
                disk[place.clone()].copy_from_slice(&own[place]);
            }
            if n > 0 && bits[n - 1] != *here {
                bench.edges.extend([sector as u64 - 1, sector as u64]);
            }
        }
    }
    assert!(partial > 1, "{partial} blocks");
    file[table + 8 * 4096..][..8].copy_from_slice(&(bitmap as u64 | 6).to_le_bytes());
    fs::write(path, file).expect("written");
}

#[test]
fn differencing_vhdxs() {
    for seed in 0..seeds() {
        let mut bench = Bench::new(1300 + seed);
        let options = ["-o", "block_size=1M", "-o", "block_state_zero=off"];
        let names = ["disk0.vhdx", "disk1.vhdx", "disk2.vhdx"];
        let names = &names[..2 + seed as usize % 2];
        let mut disk = Vec::new();
        for (n, name) in names.iter().enumerate() {
            bench.create("vhdx", name, &options, 12 * MIB);
            bench.write("vhdx", name, 12 * MIB, 20);
            match n {
                0 => disk = raw_of(&bench, "vhdx", name),
                n => differencing_vhdx(&mut bench, name, names[n - 1], &mut disk),
            }
        }
        let raw = bench.path().join("expected.raw");
        fs::write(&raw, &disk).expect("written");
        let found = bench.compare_with(names[names.len() - 1], &raw, 40);
        bench.assert_files(&found, names);
    }
}
