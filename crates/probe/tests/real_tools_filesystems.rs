//! Filesystems made by the real tools: every value must be the one that an independent tool reads from the same image,
//! on the whole image and inside partitions at sectors 63 and 2048.
//!
//! Needs e2fsprogs, xfsprogs, btrfs-progs, dosfstools, exfatprogs, ntfs-3g, util-linux, fdisk and coreutils from Debian.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Stdio};
use straddle_geometry::{Bytes, SectorSize};
use straddle_io::{ReadAt, Reader, Target};
use straddle_probe::{Limits, inspect};
use straddle_stack::{AnomalyKind, Fact, GridRole, Key, Layer, LayerKind, Source, Stack, Value};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// A tool and the Debian package that has it.
type Tool = (&'static str, &'static str);

/// Runs a tool to its end and returns what it printed, on both channels.
fn run(tool: Tool, args: &[&str], file: &Path) -> String {
    run_with_input(tool, args, file, "")
}

fn run_with_input((name, package): Tool, args: &[&str], file: &Path, input: &str) -> String {
    use std::io::Write;
    let child = Command::new(name)
        .args(args)
        .arg(file)
        .env("LC_ALL", "C")
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = child.unwrap_or_else(|error| {
        panic!("cannot run {name}: {error}; it is in the Debian package {package}")
    });
    // A tool that does not read its input closes it early.
    let _ = child
        .stdin
        .take()
        .expect("was asked for")
        .write_all(input.as_bytes());
    let output = child.wait_with_output().expect("the tool ends");
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    // fsck.fat -n says 1 when it would have corrected something.
    assert!(output.status.success(), "{name} {args:?}: {text}");
    text
}

/// What a case was made with, and what the maker printed.
struct Made<'a> {
    image: &'a Path,
    printed: String,
    args: Vec<&'a str>,
    size: u64,
}

/// What must be found: the attributes by key, and the allocation unit with its phase.
#[derive(Debug, Default)]
struct Expected {
    format: String,
    attributes: BTreeMap<Key, String>,
    grid: (u64, u64),
}

impl Expected {
    fn new(format: &str) -> Expected {
        Expected {
            format: format.to_owned(),
            ..Expected::default()
        }
    }

    fn bytes(&mut self, key: Key, n: u64) {
        self.text(key, &Value::Bytes(Bytes::new(n)).to_string());
    }

    fn bytes_if_set(&mut self, key: Key, n: u64) {
        if n != 0 {
            self.bytes(key, n);
        }
    }

    fn text(&mut self, key: Key, text: &str) {
        self.attributes.insert(key, text.to_owned());
    }
}

/// The rest of the line that contains `label`, or of the first one if there are several.
fn after<'t>(text: &'t str, label: &str) -> Option<&'t str> {
    let line = text.lines().find(|line| line.contains(label))?;
    Some(line[line.find(label)? + label.len()..].trim())
}

/// The first number behind `label`.
fn number(text: &str, label: &str) -> u64 {
    number_if_any(text, label).unwrap_or_else(|| panic!("no {label:?} in {text}"))
}

fn number_if_any(text: &str, label: &str) -> Option<u64> {
    let rest = after(text, label)?.trim_start_matches(['=', ' ', '\t', '(']);
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

/// The value of `option` among the arguments.
fn option<'a>(made: &Made<'a>, option: &str) -> Option<&'a str> {
    let at = made.args.iter().position(|arg| *arg == option)?;
    made.args.get(at + 1).copied()
}

fn blkid(image: &Path) -> BTreeMap<String, String> {
    let text = run(("blkid", "util-linux"), &["-p", "-o", "export"], image);
    text.lines()
        .filter_map(|line| line.split_once('='))
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect()
}

struct Case {
    tool: Tool,
    args: &'static str,
    size: u64,
}

fn case(tool: Tool, args: &'static str, size: u64) -> Case {
    Case { tool, args, size }
}

/// Makes every case, asks the oracle and compares, in the three places.
fn compare(cases: &[Case], oracle: impl Fn(&Made<'_>) -> Expected) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    for case in cases {
        let image = dir.path().join("image");
        sparse(&image, case.size);
        let args: Vec<&str> = case.args.split_whitespace().collect();
        let printed = run(case.tool, &args, &image);
        let made = Made {
            image: &image,
            printed,
            args,
            size: case.size,
        };
        let expected = oracle(&made);
        let what = format!("{} {} on {} bytes", case.tool.0, case.args, case.size);
        for sector in [None, Some(SectorSize::B512), Some(SectorSize::B4096)] {
            let stack = look(&image, sector);
            assert_eq!(stack.layers().len(), 2, "{what}: {stack:#?}");
            check(&stack, &expected, &image, 0, &what);
        }
        for start in [63, 2048] {
            let disk = dir.path().join("disk");
            in_partition(&image, case.size, start, &disk);
            let stack = look(&disk, None);
            let what = format!("{what}, partition at sector {start}");
            assert_eq!(stack.layers().len(), 3, "{what}: {stack:#?}");
            check(&stack, &expected, &disk, start * 512, &what);
            std::fs::remove_file(&disk).expect("it is there");
        }
        std::fs::remove_file(&image).expect("it is there");
    }
}

fn sparse(path: &Path, size: u64) {
    let file = File::create_new(path).expect("the directory is writable");
    file.set_len(size).expect("sparse files can be that long");
}

/// A disk with one partition, which holds a copy of `image`.
fn in_partition(image: &Path, size: u64, start: u64, disk: &Path) {
    sparse(disk, start * 512 + size);
    let sectors = size / 512;
    let table = format!("label: dos\nstart={start}, size={sectors}, type=83\n");
    run_with_input(
        ("sfdisk", "fdisk"),
        &["-q", "--no-reread", "--no-tell-kernel"],
        disk,
        &table,
    );
    let input = format!("if={}", image.display());
    let seek = format!("seek={}", start * 512);
    let output = format!("of={}", disk.display());
    let args = [
        input.as_str(),
        "bs=256K",
        "conv=notrunc,sparse",
        "oflag=seek_bytes",
        "status=none",
        &seek,
    ];
    run(("dd", "coreutils"), &args, Path::new(&output));
}

fn look(path: &Path, sector: Option<SectorSize>) -> Stack {
    let target = Target::open(path).expect("it is a file");
    let reader = Reader::new(&target);
    let mut stack = Stack::new();
    let mut base = Layer::new(LayerKind::Device, "image");
    base.size = Some(Fact::derived(target.size(), "its length"));
    let base = stack.push(base);
    inspect(&mut stack, base, &reader, sector, Limits::default());
    let formats = stack.layers().iter().filter_map(|l| l.format.as_deref());
    let divided = stack.layers().len() > 2;
    let odd = stack.layers().iter().any(|l| !l.anomalies.is_empty());
    // Beside the head and the block at 64 KiB: NTFS's record of the volume, the end of a large page of swap, and for btrfs,
    // which leaves its beginning blank as ZFS does, ZFS's other labels; what lies across two blocks behind sector 63. Where
    // nothing is in its place, the copies, and the heads of where partitions would start with other sectors.
    let more = formats.map(|format| match format {
        _ if odd => 40,
        "ntfs" if divided => 12,
        "ntfs" => 4,
        "swap" => 12,
        "btrfs" if divided => 20,
        "btrfs" => 12,
        _ => 0,
    });
    let ends_with_a_block = target.size().get().is_multiple_of(4096);
    let limit = match (divided, ends_with_a_block) {
        // The head, the last blocks (md 1.0, DDF, Intel Matrix; a GPT keeps its backup there), and a block each for md 0.90,
        // ZFS, VMFS and btrfs.
        (false, true) => 8 + 12 + 4 * 4,
        (false, false) => 8 + 16 + 4 * 4,
        // Of the disk the head, the last blocks and that of md 0.90; of the partition, which shares most of its places with the
        // disk, the others.
        (true, true) => 8 + 12 + 4 + 24,
        // A partition whose blocks are not those of the reader.
        (true, false) => 8 + 16 + 4 + 32,
    };
    // The label of a mainframe disk would stand at 8 KiB.
    let limit = Bytes::kib(4 + limit + more.sum::<u64>());
    assert!(
        reader.spent() <= limit,
        "{} were read: {stack:#?}",
        reader.spent()
    );
    stack
}

/// The identifier of a filesystem, from blkid.
fn identifier(file: &Path, start: u64) -> String {
    let start = start.to_string();
    let args = ["-p", "-O", &start, "-s", "UUID", "-o", "value"];
    run(("blkid", "util-linux"), &args, file).trim().to_owned()
}

fn check(stack: &Stack, expected: &Expected, file: &Path, start: u64, what: &str) {
    let layer = stack.layers().last().expect("there are layers");
    assert_eq!(layer.kind, LayerKind::Filesystem, "{what}");
    assert_eq!(
        layer.format.as_deref(),
        Some(expected.format.as_str()),
        "{what}"
    );
    let mut found: BTreeMap<Key, String> = layer
        .attributes
        .iter()
        .map(|attribute| (attribute.key, attribute.value.value.to_string()))
        .collect();
    if let Some(id) = found.remove(&Key::VolumeId) {
        assert_eq!(id, identifier(file, start), "{what}");
    }
    assert_eq!(found, expected.attributes, "{what}");
    let grid = layer
        .grid(GridRole::AllocationUnit)
        .unwrap_or_else(|| panic!("{what}: no allocation unit"))
        .value;
    let grid = (grid.unit().get(), grid.phase().get());
    assert_eq!(grid, expected.grid, "{what}");
    for layer in stack.layers() {
        assert_eq!(layer.anomalies, [], "{what}");
    }
    let placed = match layer.below.first().map(|id| stack.layer(*id)) {
        Some(below) if below.kind == LayerKind::Partition => {
            below.placement.as_ref().expect("recorded").value.start()
        }
        _ => Bytes::ZERO,
    };
    assert_eq!(placed.get(), start, "{what}");
    let file = File::open(file).expect("it is there");
    for attribute in &layer.attributes {
        if let Source::Image(evidence) = &attribute.value.source {
            let mut bytes = vec![0; evidence.field().len()];
            file.read_exact_at(&mut bytes, evidence.offset().get())
                .expect("evidence is in the file");
            assert_eq!(evidence.field(), bytes, "{what}: {:?}", attribute.key);
            assert!(evidence.offset().get() >= start, "{what}");
            assert!(!bytes.is_empty(), "{what}: {:?}", attribute.key);
        }
    }
}

#[test]
fn ntfs_is_read_as_ntfsinfo_does() {
    let mkntfs = |args, size| case(("mkntfs", "ntfs-3g"), args, size);
    let cases = [
        mkntfs("-q -Q -F -s 512 -p 63 -H 255 -S 63", 32 * MIB),
        mkntfs("-q -Q -F -s 512 -p 63 -H 255 -S 63 -c 512", 32 * MIB),
        mkntfs("-q -Q -F -s 512 -p 2048 -H 255 -S 63 -c 1024", 32 * MIB),
        mkntfs("-q -Q -F -s 512 -p 0 -H 255 -S 63 -c 4096", 32 * MIB + 512),
        mkntfs("-q -Q -F -s 512 -p 34 -H 255 -S 63 -c 65536", 64 * MIB),
        mkntfs("-q -Q -F -s 512 -p 63 -H 255 -S 63 -c 131072", 64 * MIB),
        mkntfs("-q -Q -F -s 512 -p 128 -H 255 -S 63 -c 2097152", 64 * MIB),
        mkntfs("-q -Q -F -s 1024 -p 63 -H 255 -S 63 -c 4096", 32 * MIB),
        mkntfs("-q -Q -F -s 2048 -p 63 -H 255 -S 63 -c 8192", 32 * MIB),
        mkntfs("-q -Q -F -s 4096 -p 256 -H 255 -S 63 -c 4096", 32 * MIB),
        mkntfs("-q -Q -F -s 4096 -p 63 -H 255 -S 63 -c 65536", 64 * MIB),
        mkntfs("-q -Q -F -s 4096 -p 63 -H 255 -S 63 -c 1048576", 64 * MIB),
    ];
    compare(&cases, |made| {
        let info = run(("ntfsinfo", "ntfs-3g"), &["-m"], made.image);
        let sector = number(&info, "Sector Size:");
        let cluster = number(&info, "Cluster Size:");
        let mut expected = Expected::new("ntfs");
        expected.grid = (cluster, 0);
        expected.bytes(Key::SectorSize, sector);
        expected.bytes(Key::BlockSize, cluster);
        expected.text(
            Key::Version,
            after(&info, "Volume Version:").expect("printed"),
        );
        expected.bytes(Key::MftRecordSize, number(&info, "MFT Record Size:"));
        expected.bytes(Key::IndexRecordSize, number(&info, "Index Block Size:"));
        let mft = number(&info, "LCN of Data Attribute for FILE_MFT:");
        expected.bytes(Key::MftOffset, mft * cluster);
        // The two that ntfsinfo does not show: what was asked for, and all sectors but the one for the backup.
        let hidden: u64 = option(made, "-p").expect("given").parse().expect("number");
        expected.bytes(Key::HiddenSectors, hidden * sector);
        let sectors = made.size / sector - 1;
        expected.bytes(Key::ClaimedSize, sectors * sector);
        assert_eq!(
            number(&info, "Volume Size in Clusters:"),
            sectors * sector / cluster
        );
        let blkid = blkid(made.image);
        assert_eq!(blkid["TYPE"], "ntfs");
        assert_eq!(blkid["BLOCK_SIZE"], sector.to_string());
        expected
    });
}

#[test]
fn ext_is_read_as_dumpe2fs_does() {
    let mkfs = |version: u32, args, size| {
        let tools = ["mkfs.ext2", "mkfs.ext3", "mkfs.ext4"];
        case((tools[version as usize - 2], "e2fsprogs"), args, size)
    };
    let cases = [
        mkfs(2, "-q -F -b 1024", 16 * MIB),
        mkfs(2, "-q -F -b 4096 -L first", 16 * MIB),
        mkfs(3, "-q -F -b 1024", 32 * MIB),
        mkfs(3, "-q -F -b 2048", 32 * MIB),
        mkfs(4, "-q -F -b 1024", 32 * MIB),
        mkfs(4, "-q -F -b 2048 -E stride=8", 32 * MIB),
        mkfs(4, "-q -F -b 4096 -L sixteen.letters.", 32 * MIB),
        mkfs(4, "-q -F -b 4096 -E stride=16,stripe_width=48", 64 * MIB),
        mkfs(4, "-q -F -b 1024 -E stride=64,stripe_width=320", 64 * MIB),
        mkfs(4, "-q -F -b 4096 -E stride=7,stripe_width=21", 64 * MIB),
        mkfs(4, "-q -F -b 4096 -O bigalloc -C 16384", 64 * MIB),
        mkfs(
            4,
            "-q -F -b 4096 -O bigalloc -C 65536 -E stride=16,stripe_width=64",
            128 * MIB,
        ),
        mkfs(4, "-q -F -b 1024 -O bigalloc -C 1048576", 256 * MIB),
        mkfs(4, "-q -F -b 4096 -O ^has_journal", 32 * MIB),
        mkfs(
            4,
            "-q -F -b 4096 -O ^64bit,^extents,^flex_bg,^metadata_csum",
            32 * MIB + 3 * KIB,
        ),
    ];
    compare(&cases, |made| {
        let dump = run(("dumpe2fs", "e2fsprogs"), &["-h"], made.image);
        let block = number(&dump, "Block size:");
        let cluster = number_if_any(&dump, "Cluster size:").unwrap_or(0);
        let blkid = blkid(made.image);
        let mut expected = Expected::new(&blkid["TYPE"]);
        expected.grid = (if cluster == 0 { block } else { cluster }, 0);
        expected.text(Key::Version, &blkid["TYPE"]);
        assert_eq!(blkid["BLOCK_SIZE"], block.to_string());
        expected.bytes(Key::BlockSize, block);
        expected.bytes_if_set(Key::ClusterSize, cluster);
        let first = number(&dump, "First block:");
        expected.text(Key::FirstDataBlock, &Value::Count(first).to_string());
        let blocks = |label| number_if_any(&dump, label).unwrap_or(0) * block;
        expected.bytes_if_set(Key::FsStripeUnit, blocks("RAID stride:"));
        expected.bytes_if_set(Key::FsFullStripe, blocks("RAID stripe width:"));
        expected.bytes(Key::ClaimedSize, blocks("Block count:"));
        match after(&dump, "Filesystem volume name:") {
            Some("<none>") | None => {}
            Some(label) => expected.text(Key::Label, label),
        }
        expected
    });
}

#[test]
fn xfs_is_read_as_xfs_db_does() {
    let mkfs = |args, size| case(("mkfs.xfs", "xfsprogs"), args, size);
    let cases = [
        mkfs("-q", 320 * MIB),
        mkfs("-q -b size=1024 -L scratch", 320 * MIB),
        mkfs("-q -s size=4096", 320 * MIB),
        mkfs("-q -m crc=0 -b size=512", 320 * MIB),
        mkfs("-q -m crc=0 -s size=4096 -d su=32k,sw=2", 600 * MIB),
        mkfs("-q -d su=64k,sw=4", 600 * MIB),
        mkfs("-q -d su=64k,sw=3 -l su=32k", 600 * MIB),
        mkfs("-q -d su=256k,sw=5 -s size=4096 -l su=256k", 600 * MIB),
        mkfs("-q -d su=1m,sw=6", 600 * MIB),
        mkfs("-q -d agcount=7", 600 * MIB),
    ];
    compare(&cases, |made| {
        let args = ["-r", "-c", "sb 0", "-c", "p"];
        let dump = run(("xfs_db", "xfsprogs"), &args, made.image);
        let dump = format!("\n{dump}");
        let field = |name: &str| {
            let at = format!("\n{name} = ");
            let start = dump.find(&at).unwrap_or_else(|| panic!("no {name}")) + at.len();
            let rest = &dump[start..];
            rest.lines().next().expect("a value").trim().to_owned()
        };
        let n = |name| field(name).parse::<u64>().expect("a number");
        let block = n("blocksize");
        let mut expected = Expected::new("xfs");
        expected.grid = (block, 0);
        let version = field("versionnum");
        let version = version.strip_prefix("0x").expect("hexadecimal");
        let version = u16::from_str_radix(version, 16).expect("hexadecimal") & 15;
        expected.text(Key::Version, &format!("v{version}"));
        expected.bytes(Key::SectorSize, n("sectsize"));
        expected.bytes(Key::BlockSize, block);
        expected.bytes(Key::AllocationGroupSize, n("agblocks") * block);
        expected.bytes_if_set(Key::FsStripeUnit, n("unit") * block);
        expected.bytes_if_set(Key::FsFullStripe, n("width") * block);
        expected.bytes_if_set(
            Key::LogStripeUnit,
            Some(n("logsunit")).filter(|n| *n > 1).unwrap_or(0),
        );
        expected.bytes(Key::LogSectorSize, n("logsectsize").max(512));
        expected.bytes(Key::ClaimedSize, n("dblocks") * block);
        let name = field("fname");
        let name = name.trim_matches('"').replace("\\000", "");
        if !name.is_empty() {
            expected.text(Key::Label, &name);
        }
        let blkid = blkid(made.image);
        assert_eq!(blkid["TYPE"], "xfs");
        assert_eq!(blkid["BLOCK_SIZE"], n("sectsize").to_string());
        expected
    });
}

#[test]
fn btrfs_is_read_as_its_own_dump_does() {
    let mkfs = |args, size| case(("mkfs.btrfs", "btrfs-progs"), args, size);
    let cases = [
        mkfs("-q", 128 * MIB),
        mkfs("-q -s 4096 -n 4096 -L pool", 128 * MIB),
        mkfs("-q -s 4096 -n 65536", 128 * MIB),
        mkfs("-q -s 16384 -n 16384", 128 * MIB),
        mkfs("-q -s 65536 -n 65536", 256 * MIB),
        mkfs("-q -M -s 4096 -n 4096", 64 * MIB),
        mkfs("-q -m single -d dup", 256 * MIB + 4096),
        mkfs("-q --csum sha256", 128 * MIB),
        mkfs("-q --csum xxhash", 128 * MIB),
    ];
    compare(&cases, |made| {
        let tool = ("btrfs", "btrfs-progs");
        let dump = run(tool, &["inspect-internal", "dump-super", "-f"], made.image);
        let sector = number(&dump, "\nsectorsize".trim_start());
        let mut expected = Expected::new("btrfs");
        expected.grid = (sector, 0);
        expected.bytes(Key::SectorSize, sector);
        expected.bytes(Key::BlockSize, sector);
        expected.bytes(Key::NodeSize, number(&dump, "nodesize"));
        expected.bytes(Key::LeafSize, number(&dump, "leafsize (deprecated)"));
        expected.bytes(Key::StripeSizeField, number(&dump, "stripesize"));
        expected.bytes(Key::StripeLength, number(&dump, "stripe_len"));
        let devices = number(&dump, "num_devices");
        expected.text(Key::DeviceCount, &Value::Count(devices).to_string());
        expected.bytes(Key::TotalSize, number(&dump, "total_bytes"));
        expected.bytes(Key::ClaimedSize, number(&dump, "dev_item.total_bytes"));
        let label = after(&dump, "label").expect("printed");
        if !label.is_empty() {
            expected.text(Key::Label, label);
        }
        let blkid = blkid(made.image);
        assert_eq!(blkid["TYPE"], "btrfs");
        assert_eq!(blkid["BLOCK_SIZE"], sector.to_string());
        expected
    });
}

#[test]
fn fat_is_read_as_fsck_does() {
    let mkfs = |args, size| case(("mkfs.vfat", "dosfstools"), args, size);
    let cases = [
        mkfs("-F 12 -s 1", 1440 * KIB),
        mkfs("-F 12 -s 8", 8 * MIB),
        mkfs("-F 12 -s 4 -R 3 -f 1", 4 * MIB),
        mkfs("-F 16 -s 4", 32 * MIB),
        mkfs("-F 16 -s 8 -h 63 -a", 64 * MIB),
        mkfs("-F 16 -s 4 -R 33 -r 112", 64 * MIB),
        mkfs("-F 16 -S 4096 -s 1", 64 * MIB),
        mkfs("-F 32", 20 * MIB),
        mkfs("-F 32 -s 1", 40 * MIB),
        mkfs("-F 32 -s 8 -R 63 -a", 300 * MIB),
        mkfs("-F 32 -s 1 -R 34 -h 2048", 64 * MIB),
        mkfs("-F 32 -s 64 -f 1", 64 * MIB),
        mkfs("-F 32 -s 128 --mbr=n", 128 * MIB),
        mkfs("-F 32 -s 2 --mbr=y", 80 * MIB),
        mkfs("-F 32 -S 4096 -s 8", 600 * MIB),
    ];
    compare(&cases, |made| {
        let check = run(("fsck.fat", "dosfstools"), &["-v", "-n"], made.image);
        let before = |label: &str| {
            let line = check.lines().find(|line| line.contains(label));
            let line = line.unwrap_or_else(|| panic!("no {label:?} in {check}"));
            let end = line.find(label).expect("just found");
            let word = line[..end].split_whitespace().next_back();
            word.and_then(|word| word.parse::<u64>().ok())
                .unwrap_or_else(|| panic!("no number before {label:?}"))
        };
        let (sector, cluster) = (before(" bytes per logical"), before(" bytes per cluster"));
        let heap = number(&check, "Data area starts at byte");
        let blkid = blkid(made.image);
        let mut expected = Expected::new(&blkid["VERSION"].to_lowercase());
        expected.grid = (cluster, heap % cluster);
        expected.text(Key::Version, &blkid["VERSION"]);
        expected.bytes(Key::SectorSize, sector);
        expected.bytes(Key::BlockSize, cluster);
        expected.bytes(Key::ClusterHeapOffset, heap);
        expected.bytes(Key::HiddenSectors, before(" hidden sectors") * sector);
        expected.bytes(Key::ClaimedSize, before(" sectors total") * sector);
        assert_eq!(blkid["TYPE"], "vfat");
        assert_eq!(blkid["BLOCK_SIZE"], sector.to_string());
        expected
    });
}

#[test]
fn exfat_is_read_as_its_own_dump_does() {
    let mkfs = |args, size| case(("mkfs.exfat", "exfatprogs"), args, size);
    let cases = [
        mkfs("-b 1M", 64 * MIB),
        mkfs("-c 4K -b 1M", 64 * MIB),
        mkfs("-c 32K -b 64K", 64 * MIB),
        mkfs("-c 128K -b 4M", 256 * MIB),
        mkfs("-c 512 -b 512", 16 * MIB),
        mkfs("-c 1M -b 1M", 128 * MIB),
        mkfs("-c 32M -b 32M", 600 * MIB),
    ];
    compare(&cases, |made| {
        let dump = run(("dump.exfat", "exfatprogs"), &[], made.image);
        let sector = 1 << number(&dump, "Sector Size Bits:");
        let cluster = number(&dump, "Cluster size:");
        let heap = number(&dump, "Cluster Heap Offset (sector offset):") * sector;
        let blkid = blkid(made.image);
        let mut expected = Expected::new("exfat");
        expected.grid = (cluster, heap % cluster);
        expected.text(Key::Version, &blkid["VERSION"]);
        expected.bytes(Key::SectorSize, sector);
        expected.bytes(Key::BlockSize, cluster);
        // dump.exfat does not show it; mkfs writes 0 for a file, which has no partition.
        expected.bytes(Key::PartitionOffset, 0);
        expected.bytes(Key::ClusterHeapOffset, heap);
        expected.bytes(Key::BoundaryUnit, 1 << heap.trailing_zeros());
        let sectors = number(&dump, "Volume Length(sectors):");
        expected.bytes(Key::ClaimedSize, sectors * sector);
        assert_eq!(blkid["TYPE"], "exfat");
        assert_eq!(blkid["BLOCK_SIZE"], sector.to_string());
        expected
    });
}

#[test]
fn swap_is_read_as_mkswap_wrote_it() {
    let mkswap = |args, size| case(("mkswap", "util-linux"), args, size);
    let cases = [
        mkswap("-p 4096", 16 * MIB),
        mkswap("-p 4096 -L spare", 16 * MIB + 512),
        mkswap("-p 8192", 16 * MIB),
        mkswap("-p 16384", 16 * MIB),
        mkswap("-p 32768", 16 * MIB + 4096),
        mkswap("-p 65536 -L arm", 16 * MIB),
    ];
    compare(&cases, |made| {
        let page: u64 = option(made, "-p").expect("given").parse().expect("number");
        // The size that mkswap prints is without the header page.
        let usable = after(&made.printed, "size =").expect("printed");
        let usable = usable.split_once('(').expect("in bytes too").1;
        let usable: u64 = usable
            .split_once(' ')
            .and_then(|(n, _)| n.parse().ok())
            .expect("a number");
        let blkid = blkid(made.image);
        assert_eq!(blkid["TYPE"], "swap");
        let mut expected = Expected::new("swap");
        expected.grid = (page, 0);
        expected.text(Key::Version, &blkid["VERSION"]);
        expected.bytes(Key::PageSize, page);
        expected.bytes(Key::ClaimedSize, usable + page);
        if let Some(label) = blkid.get("LABEL") {
            expected.text(Key::Label, label);
        }
        expected
    });
}

#[test]
fn a_filesystem_with_a_destroyed_superblock_is_found_by_its_copy() {
    let cases = [
        (
            case(("mkfs.ext4", "e2fsprogs"), "-q -F -b 1024", 32 * MIB),
            "ext4",
            8193 * 1024,
        ),
        (
            case(("mkfs.ext4", "e2fsprogs"), "-q -F -b 2048", 64 * MIB),
            "ext4",
            32 * MIB,
        ),
        (
            case(("mkfs.ext4", "e2fsprogs"), "-q -F -b 4096", 256 * MIB),
            "ext4",
            128 * MIB,
        ),
        (
            case(
                ("mkntfs", "ntfs-3g"),
                "-q -Q -F -s 512 -p 63 -H 255 -S 63",
                32 * MIB,
            ),
            "ntfs",
            32 * MIB - 512,
        ),
        (
            case(
                ("mkntfs", "ntfs-3g"),
                "-q -Q -F -s 4096 -p 63 -H 255 -S 63",
                32 * MIB,
            ),
            "ntfs",
            32 * MIB - 4096,
        ),
        (
            case(("mkfs.btrfs", "btrfs-progs"), "-q", 256 * MIB),
            "btrfs",
            64 * MIB,
        ),
        (
            case(("mkfs.vfat", "dosfstools"), "-F 32 -s 1", 40 * MIB),
            "fat32",
            3072,
        ),
        (
            case(("mkfs.exfat", "exfatprogs"), "-b 1M", 64 * MIB),
            "exfat",
            6144,
        ),
    ];
    let dir = tempfile::tempdir().expect("a temporary directory");
    for (case, format, copy) in cases {
        let image = dir.path().join("image");
        sparse(&image, case.size);
        let args: Vec<&str> = case.args.split_whitespace().collect();
        run(case.tool, &args, &image);
        let whole = look(&image, None);
        let file = File::options()
            .write(true)
            .open(&image)
            .expect("it is there");
        // As an accident with `dd` would: the first sectors, and btrfs's 64 KiB on.
        file.write_all_at(&[0; 3072], 0).expect("writable");
        if format == "btrfs" {
            file.write_all_at(&[0; 4096], 64 * KIB).expect("writable");
        }
        let damaged = look(&image, None);
        let what = format!("{} {}", case.tool.0, case.args);
        let (before, after) = (whole.layers().last(), damaged.layers().last());
        let (before, after) = (before.expect("a layer"), after.expect("a layer"));
        assert_eq!(after.format.as_deref(), Some(format), "{what}");
        let facts = |layer: &Layer| -> Vec<(Key, String)> {
            let facts = layer.attributes.iter();
            facts.map(|a| (a.key, a.value.value.to_string())).collect()
        };
        assert_eq!(facts(after), facts(before), "{what}");
        let kinds: Vec<AnomalyKind> = after.anomalies.iter().map(|o| o.kind).collect();
        assert_eq!(kinds, [AnomalyKind::UnusualPlace], "{what}");
        let Some(Source::Image(evidence)) = &after.anomalies[0].source else {
            panic!("{what}: no evidence")
        };
        let at = evidence.offset().get();
        assert!((copy..copy + 512).contains(&at), "{what}: {at}");
        let disk = dir.path().join("disk");
        in_partition(&image, case.size, 63, &disk);
        let stack = look(&disk, None);
        let inside = stack.layers().last().expect("a layer");
        assert_eq!(inside.format.as_deref(), Some(format), "{what}");
        assert_eq!(facts(inside), facts(before), "{what}");
        std::fs::remove_file(&disk).expect("it is there");
        std::fs::remove_file(&image).expect("it is there");
    }
}

#[test]
fn a_filesystem_in_a_bigger_or_shorter_volume_is_noted() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    for (size, detail) in [
        (96, "33,554,432 bytes are unused"),
        (32, "33,554,432 bytes are missing"),
    ] {
        let image = dir.path().join("image");
        sparse(&image, 64 * MIB);
        run(("mkfs.ext4", "e2fsprogs"), &["-q", "-F"], &image);
        let file = File::options()
            .write(true)
            .open(&image)
            .expect("it is there");
        file.set_len(size * MIB).expect("sparse");
        let stack = look(&image, None);
        let layer = stack.layers().last().expect("a layer");
        let kinds: Vec<AnomalyKind> = layer.anomalies.iter().map(|o| o.kind).collect();
        assert_eq!(kinds, [AnomalyKind::SizeDiffers]);
        assert!(layer.anomalies[0].detail.ends_with(detail), "{layer:?}");
        let claimed = layer.bytes(Key::ClaimedSize).expect("recorded").value;
        assert_eq!(claimed, Bytes::mib(64));
        std::fs::remove_file(&image).expect("it is there");
    }
}
