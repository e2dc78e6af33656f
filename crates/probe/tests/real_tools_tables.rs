//! Partition tables made by sfdisk, parted, sgdisk and fdisk: every number, start, size, type, name and identifier must
//! be what `sfdisk -J` (or `fdisk -b 4096 -l`, which is the only one that takes files as 4K-native disks) says of the
//! same image, and none of these tables may look odd.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use straddle_geometry::{Bytes, SectorSize};
use straddle_io::{Reader, Target};
use straddle_probe::{Limits, inspect};
use straddle_stack::{Key, Layer, LayerKind, Stack, Value};

/// Mostly waiting: sgdisk sleeps for a second after each change, the others for their fsync.
const THREADS: usize = 16;
const STARTS: [u64; 6] = [34, 63, 64, 128, 2048, 4096];

/// How an image is made.
enum Maker {
    /// sfdisk reads this.
    Sfdisk(String),
    /// fdisk, told that sectors have 4,096 bytes, loads this sfdisk script.
    Fdisk4096(String),
    /// parted with these arguments after `-s -a ALIGN IMAGE`.
    Parted(&'static str, Vec<String>),
    /// sgdisk with these arguments before the image.
    Sgdisk(Vec<String>),
}

struct Case {
    name: String,
    maker: Maker,
}

/// A row of a table: start and size in sectors, type, name.
#[derive(Debug, PartialEq, Eq)]
struct Row {
    start: u64,
    size: u64,
    kind: String,
    name: String,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Listing {
    label: String,
    id: String,
    rows: BTreeMap<u64, Row>,
}

fn matrix() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |name: String, maker| cases.push(Case { name, maker });
    for start in STARTS {
        for size in [100, 2047, 4097, 8000] {
            let (second, third) = (start + size, start + size + 777);
            add(
                format!("sfdisk dos primaries {start}+{size}"),
                Maker::Sfdisk(format!(
                    "label: dos\nlabel-id: 0x{:08x}\nstart={start},size={size},type=83\nstart={second},size=700,type=7,bootable\nstart={third},size=4001,type=82\n",
                    start * size
                )),
            );
            let a = start + 63;
            let b = a + size + 64;
            let c = b + 333 + 1;
            add(
                format!("sfdisk dos logicals {start}+{size}"),
                Maker::Sfdisk(format!(
                    "label: dos\nstart={start},size={},type={}\nstart={},size=99,type=83\nstart={a},size={size},type=83\nstart={b},size=333,type=b\nstart={c},size=1000,type=8e\n",
                    size + 3000,
                    ["5", "f", "85"][(size % 3) as usize],
                    start + size + 3001,
                )),
            );
            add(
                format!("sfdisk gpt {start}+{size}"),
                Maker::Sfdisk(format!(
                    "label: gpt\nfirst-lba: 34\nstart={start},size={size},type=L,name=\"data {start}\"\nstart={second},size=700,type=U\nstart={third},size=4001,type=S,name=\"swap é\"\n",
                )),
            );
            if size != 8000 {
                add(
                    format!("sgdisk {start}+{size}"),
                    Maker::Sgdisk(vec![
                        "-a1".into(),
                        format!("-n3:{start}:{}", start + size - 1),
                        "-c3:first".into(),
                        format!("-n1:{second}:{}", second + 699),
                        "-t1:0700".into(),
                    ]),
                );
            }
        }
        for size in [99_u64, 1500] {
            let args = format!(
                "mklabel gpt mkpart one {start}s {}s mkpart two ext4 {}s {}s",
                start + size,
                start + size + 1,
                start + size + 10_000
            );
            let words = |args: String| args.split(' ').map(str::to_owned).collect::<Vec<_>>();
            add(
                format!("parted none gpt {start}+{size}"),
                Maker::Parted("none", words(args)),
            );
            let args = format!(
                "mklabel msdos mkpart primary {start}s {}s mkpart extended {}s {}s mkpart logical {}s {}s mkpart logical {}s {}s",
                start + size,
                start + size + 1,
                start + size + 9000,
                start + size + 3,
                start + size + 200,
                start + size + 264,
                start + size + 5000
            );
            add(
                format!("parted none msdos {start}+{size}"),
                Maker::Parted("none", words(args)),
            );
        }
    }
    for align in ["none", "min", "opt", "cyl"] {
        for label in ["msdos", "gpt"] {
            for (first, second, end) in [
                ("100kB", "5MB", "9.3MB"),
                ("1MB", "4.1MB", "12MB"),
                ("1.7MB", "3MB", "20MB"),
                ("2MB", "10.01MB", "30MB"),
                ("3.33MB", "7.77MB", "25.5MB"),
            ] {
                // "primary" is a kind to MBR and a name to GPT.
                let args = [
                    "mklabel", label, "mkpart", "primary", first, second, "mkpart", "primary",
                    second, end,
                ];
                add(
                    format!("parted {align} {label} {first} {second} {end}"),
                    Maker::Parted(align, args.map(str::to_owned).to_vec()),
                );
            }
        }
    }
    for start in [6_u64, 7, 16, 63, 64, 256, 257, 512] {
        for size in [9_u64, 100, 2049] {
            let second = start + size;
            add(
                format!("fdisk 4096 gpt {start}+{size}"),
                Maker::Fdisk4096(format!(
                    "label: gpt\nfirst-lba: 6\nstart={start},size={size},type=L\nstart={second},size=333,type=S,name=\"x\"\n"
                )),
            );
            let (a, b) = (second + 8, second + 8 + size + 3);
            add(
                format!("fdisk 4096 dos {start}+{size}"),
                Maker::Fdisk4096(format!(
                    "label: dos\nstart={start},size={size},type=83\nstart={second},size=9000,type=f\nstart={a},size={size},type=83\nstart={b},size=77,type=7\n"
                )),
            );
        }
    }
    cases
}

/// Runs a tool with `input`; gives its output.
fn run(program: &str, package: &str, args: &[&str], input: &str) -> String {
    let path = std::env::var("PATH").unwrap_or_default();
    let mut child = Command::new(program)
        .args(args)
        .env("PATH", format!("{path}:/usr/sbin:/sbin"))
        .env("LC_ALL", "C.UTF-8")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{program}: {error}; install the Debian package {package}"));
    let mut stdin = child.stdin.take().expect("piped");
    // A tool that does not read its input closes it.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    let output = child.wait_with_output().expect("the tool ends");
    assert!(
        output.status.success(),
        "{program} {args:?}: {}\n{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn make(case: &Case, image: &Path) {
    let size = match case.maker {
        Maker::Fdisk4096(_) => 64 << 20,
        _ => 40 << 20,
    };
    let file = File::create(image).expect("an image");
    file.set_len(size).expect("a sparse file");
    let path = image.to_str().expect("UTF-8");
    match &case.maker {
        Maker::Sfdisk(script) => {
            run("sfdisk", "fdisk", &["-q", path], script);
        }
        Maker::Fdisk4096(script) => {
            let file = image.with_extension("script");
            std::fs::write(&file, script).expect("written");
            let commands = format!("I\n{}\nw\n", file.display());
            run("fdisk", "fdisk", &["-b", "4096", path], &commands);
        }
        Maker::Parted(align, args) => {
            let mut all = vec!["-s", "-a", align, path];
            all.extend(args.iter().map(String::as_str));
            run("parted", "parted", &all, "");
        }
        Maker::Sgdisk(args) => {
            let mut all: Vec<&str> = args.iter().map(String::as_str).collect();
            all.push(path);
            run("sgdisk", "gdisk", &all, "");
        }
    }
}

/// A type as sfdisk prints it, made comparable: `5` and `05` are the same.
fn kind(text: &str) -> String {
    match u8::from_str_radix(text, 16) {
        Ok(byte) => format!("{byte:02x}"),
        Err(_) => text.to_owned(),
    }
}

fn by_sfdisk(image: &Path) -> Listing {
    let path = image.to_str().expect("UTF-8");
    let text = run("sfdisk", "fdisk", &["-J", path], "");
    let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let table = &json["partitiontable"];
    let text = |value: &serde_json::Value| value.as_str().unwrap_or("").to_owned();
    let row = |partition: &serde_json::Value| {
        let node = text(&partition["node"]);
        let number = node.strip_prefix(path).expect("named after its image");
        let row = Row {
            start: partition["start"].as_u64().expect("a start"),
            size: partition["size"].as_u64().expect("a size"),
            kind: kind(&text(&partition["type"])),
            name: text(&partition["name"]),
        };
        (number.parse().expect("a number"), row)
    };
    Listing {
        label: text(&table["label"]),
        id: text(&table["id"]).trim_start_matches("0x").to_owned(),
        rows: table["partitions"]
            .as_array()
            .expect("a list")
            .iter()
            .map(row)
            .collect(),
    }
}

fn by_fdisk_4096(image: &Path, gpt: bool) -> Listing {
    let path = image.to_str().expect("UTF-8");
    let columns = if gpt {
        "Device,Start,Sectors,Type-UUID,Name"
    } else {
        "Device,Start,Sectors,Id"
    };
    let args = ["-b", "4096", "-l", "-o", columns, path];
    let text = run("fdisk", "fdisk", &args, "");
    let mut listing = Listing::default();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["Disklabel", "type:", label] => listing.label = (*label).to_owned(),
            ["Disk", "identifier:", id] => {
                listing.id = id.trim_start_matches("0x").to_owned();
            }
            [device, start, sectors, id, name @ ..] if device.starts_with(path) => {
                let number = device[path.len()..].parse().expect("a number");
                let row = Row {
                    start: start.parse().expect("a start"),
                    size: sectors.parse().expect("a size"),
                    kind: kind(id),
                    name: name.join(" "),
                };
                listing.rows.insert(number, row);
            }
            _ => {}
        }
    }
    listing
}

/// What is found here, its anomalies, and how much was read.
fn by_us(image: &Path, sector: u64, told: Option<SectorSize>) -> (Listing, Vec<String>, Bytes) {
    let target = Target::open(image).expect("opens");
    let reader = Reader::new(&target);
    let mut stack = Stack::new();
    let base = stack.push(Layer::new(LayerKind::Device, "image"));
    inspect(&mut stack, base, &reader, told, Limits::default());
    let text = |layer: &Layer, key| layer.text(key).unwrap_or("").to_owned();
    let count = |layer: &Layer, key| match layer.attribute(key).map(|fact| &fact.value) {
        Some(Value::Count(n)) => *n,
        other => panic!("{key:?}: {other:?}"),
    };
    let device = stack.layer(base);
    let mut listing = Listing {
        label: text(device, Key::PartitionTable).replace("mbr", "dos"),
        id: text(device, Key::TableId),
        rows: BTreeMap::new(),
    };
    for id in stack.above(base).collect::<Vec<_>>() {
        let layer = stack.layer(id);
        let extent = layer.placement.as_ref().expect("a partition").value;
        let row = Row {
            start: extent.start().get() / sector,
            size: extent.len().get() / sector,
            kind: text(layer, Key::PartitionType),
            name: text(layer, Key::PartitionName),
        };
        assert_eq!(extent.start().get() % sector, 0);
        assert_eq!(
            layer.size.as_ref().map(|size| size.value),
            Some(extent.len())
        );
        listing.rows.insert(count(layer, Key::PartitionNumber), row);
    }
    let anomalies = stack.layers().iter().flat_map(|layer| &layer.anomalies);
    let anomalies = anomalies.map(|anomaly| anomaly.detail.clone()).collect();
    (listing, anomalies, reader.spent())
}

/// Number, first and last sector by `sgdisk -p`.
fn by_sgdisk(image: &Path) -> Vec<(u64, u64, u64)> {
    let text = run(
        "sgdisk",
        "gdisk",
        &["-p", image.to_str().expect("UTF-8")],
        "",
    );
    let table = text.lines().skip_while(|line| !line.starts_with("Number"));
    let row = |line: &str| {
        let mut words = line
            .split_whitespace()
            .map(|word| word.parse().expect("a number"));
        let mut next = || words.next().expect("three numbers");
        (next(), next(), next())
    };
    table.skip(1).map(row).collect()
}

/// What differs, if anything does.
fn compare(case: &Case, image: &Path) -> Option<String> {
    make(case, image);
    let gpt = case.name.contains("gpt") || case.name.contains("sgdisk");
    let (want, sector, told) = match case.maker {
        // Nothing in an MBR tells its sector size; a GPT's place does.
        Maker::Fdisk4096(_) => (
            by_fdisk_4096(image, gpt),
            4096,
            (!gpt).then_some(SectorSize::B4096),
        ),
        _ => (by_sfdisk(image), 512, None),
    };
    let (mut found, anomalies, spent) = by_us(image, sector, told);
    found.id.make_ascii_lowercase();
    let want = Listing {
        id: want.id.to_ascii_lowercase(),
        ..want
    };
    let name = &case.name;
    if want.rows.len() < 2 {
        return Some(format!("{name}: the tool made only {want:#?}"));
    }
    if found != want {
        return Some(format!("{name}: found {found:#?}, expected {want:#?}"));
    }
    if !anomalies.is_empty() {
        return Some(format!("{name}: {anomalies:?}"));
    }
    if spent > Bytes::kib(256) {
        return Some(format!("{name}: read {spent}"));
    }
    if matches!(case.maker, Maker::Sgdisk(_)) {
        let ours: Vec<_> = found
            .rows
            .iter()
            .map(|(number, row)| (*number, row.start, row.start + row.size - 1))
            .collect();
        let theirs = by_sgdisk(image);
        if ours != theirs {
            return Some(format!("{name}: found {ours:?}, sgdisk -p {theirs:?}"));
        }
    }
    None
}

/// In memory where that is possible: the tools wait for their data to be on the medium.
fn scratch() -> tempfile::TempDir {
    let memory = PathBuf::from("/dev/shm");
    tempfile::tempdir_in(&memory)
        .or_else(|_| tempfile::tempdir())
        .expect("a temporary directory")
}

#[test]
fn tables_of_real_tools_are_read_as_those_tools_read_them() {
    let cases = matrix();
    assert!(cases.len() >= 200, "{}", cases.len());
    let folder = scratch();
    let next = AtomicUsize::new(0);
    let differences = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while let Some((index, case)) = {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    cases.get(index).map(|case| (index, case))
                } {
                    let image = folder.path().join(format!("{index}.img"));
                    // Numbers follow the name: `0.img1`.
                    let difference = compare(case, &image);
                    let _ = std::fs::remove_file(&image);
                    if let Some(difference) = difference {
                        differences.lock().expect("no panic").push(difference);
                    }
                }
            });
        }
    });
    let differences = differences.into_inner().expect("no panic");
    assert!(
        differences.is_empty(),
        "{} of {} images differ; the first: {}",
        differences.len(),
        cases.len(),
        differences
            .join("\n")
            .chars()
            .take(4000)
            .collect::<String>()
    );
}

/// Start and length in sectors of everything that libblkid sees, nested tables included.
fn by_partx(image: &Path) -> Vec<(u64, u64)> {
    let path = image.to_str().expect("UTF-8");
    let args = ["-g", "-b", "-o", "START,SECTORS", "--show", path];
    let text = run("partx", "util-linux", &args, "");
    let row = |line: &str| {
        let mut words = line
            .split_whitespace()
            .map(|word| word.parse().expect("a number"));
        (
            words.next().expect("a start"),
            words.next().expect("a length"),
        )
    };
    let mut rows: Vec<_> = text.lines().map(row).collect();
    rows.sort_unstable();
    rows
}

/// The same by us, at any depth.
fn all_by_us(image: &Path) -> Vec<(u64, u64)> {
    let target = Target::open(image).expect("opens");
    let reader = Reader::new(&target);
    let mut stack = Stack::new();
    let base = stack.push(Layer::new(LayerKind::Device, "image"));
    inspect(&mut stack, base, &reader, None, Limits::default());
    let mut rows: Vec<_> = stack
        .iter()
        .filter(|(_, layer)| layer.kind == LayerKind::Partition)
        .map(|(id, layer)| {
            let start = stack.start_in(id, base).expect("linear").get();
            let size = layer.size.as_ref().expect("a size").value.get();
            (start / 512, size / 512)
        })
        .collect();
    rows.sort_unstable();
    rows
}

#[test]
fn nested_tables_are_read_as_libblkid_reads_them() {
    let folder = scratch();
    let image = folder.path().join("nested.img");
    let path = image.to_str().expect("UTF-8");
    let blank = || {
        let file = File::create(&image).expect("an image");
        file.set_len(40 << 20).expect("a sparse file");
    };
    for kind in ["a5", "a6", "a9"] {
        blank();
        let script = format!("label: dos\nstart=63,size=40000,type={kind}\nstart=50000,size=99\n");
        run("sfdisk", "fdisk", &["-q", path], &script);
        // Two slices in a new disklabel; fdisk asks for letter, first and last sector, then for letter and type.
        let commands = "b\ny\nn\na\n200\n9000\nn\nb\n9063\n12000\nt\na\n7\nt\nb\n8\nw\nr\nw\n";
        run("fdisk", "fdisk", &[path], commands);
        let found = all_by_us(&image);
        assert_eq!(found, by_partx(&image), "{kind}");
        assert_eq!(found.len(), 4, "{kind}: {found:?}");
    }

    blank();
    // libblkid looks for a VTOC in type 82 only, not in bf.
    let script = "label: dos\nstart=63,size=40000,type=82\n";
    run("sfdisk", "fdisk", &["-q", path], script);
    let mut disk = std::fs::read(&image).expect("the image");
    let label = 64 * 512;
    let mut put = |at: usize, bytes: &[u8]| {
        disk[label + at..label + at + bytes.len()].copy_from_slice(bytes);
    };
    put(12, &0x600d_deee_u32.to_le_bytes());
    put(16, &[1, 0, 0, 0]);
    put(28, &512_u16.to_le_bytes());
    put(30, &16_u16.to_le_bytes());
    for (index, tag, start, size) in [
        (0, 2_u16, 200_u32, 5000_u32),
        (2, 5, 0, 40_000),
        (7, 8, 5200, 1234),
    ] {
        put(72 + 12 * index, &tag.to_le_bytes());
        put(76 + 12 * index, &start.to_le_bytes());
        put(80 + 12 * index, &size.to_le_bytes());
    }
    std::fs::write(&image, &disk).expect("written");
    let found = all_by_us(&image);
    assert_eq!(found, [(63, 40_000), (263, 5000), (5263, 1234)]);
    assert_eq!(found, by_partx(&image));
}

#[test]
fn labels_of_other_machines_are_read_as_libblkid_reads_them() {
    let folder = scratch();
    let image = folder.path().join("label.img");
    let path = image.to_str().expect("UTF-8");
    for label in ["sun", "dvh", "mac", "atari"] {
        for (start, len) in [(16_128, 4_096), (32_256, 33_280), (65_536, 128)] {
            let file = File::create(&image).expect("an image");
            file.set_len(100 << 20).expect("a sparse file");
            // Whole cylinders of parted's Sun labels.
            let (second, end) = (start + len + 16_000, start + len + 50_047);
            let kind = if matches!(label, "dvh" | "atari") {
                "primary"
            } else {
                ""
            };
            let lines = format!(
                "mklabel {label} mkpart {kind} ext4 {start}s {}s mkpart {kind} ext4 {second}s {end}s",
                start + len - 1
            );
            let words: Vec<&str> = ["-s", "-a", "none", path]
                .into_iter()
                .chain(lines.split_whitespace())
                .collect();
            run("parted", "parted", &words, "");
            let is_data = |row: &(u64, u64)| row.0 != 0 && row.1 != 63;
            let theirs: Vec<_> = by_partx(&image).into_iter().filter(is_data).collect();
            let ours = all_by_us(&image);
            assert_eq!(ours.len(), 2, "{label}, {start}: {ours:?}");
            for row in &ours {
                assert!(
                    theirs.contains(row),
                    "{label}, {start}: {ours:?}, libblkid: {theirs:?}"
                );
            }
            // What else it lists is free space.
            let apart = |other: &(u64, u64)| {
                let is_apart =
                    |row: &(u64, u64)| other.0 + other.1 <= row.0 || row.0 + row.1 <= other.0;
                ours.contains(other) || ours.iter().all(is_apart)
            };
            assert!(theirs.iter().all(apart), "{label}: {theirs:?}");
        }
    }
}
