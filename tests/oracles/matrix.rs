//! The images: every partitioner, start, filesystem and kind of end, made by the tools themselves.

use std::collections::HashMap;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub(crate) const STARTS: [u64; 6] = [34, 63, 64, 128, 2048, 4096];
const MIB: u64 = 1 << 20;
const SECTOR: u64 = 512;

/// Runs a tool with `input`; gives what it printed on both channels. A missing tool fails the test, named.
pub(crate) fn run(program: &str, package: &str, args: &[&str], input: &str) -> String {
    let (ok, text) = run_unchecked(program, package, args, input);
    assert!(ok, "{program} {args:?}: {text}");
    text
}

/// The same for a tool that says something by its exit status.
pub(crate) fn run_unchecked(
    program: &str,
    package: &str,
    args: &[&str],
    input: &str,
) -> (bool, String) {
    let mut child = Command::new(program)
        .args(args)
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .env("LC_ALL", "C.UTF-8")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| {
            panic!("this test needs `{program}` of the Debian package {package}: {error}")
        });
    // A tool that does not read its input closes it early.
    let _ = child
        .stdin
        .take()
        .expect("was asked for")
        .write_all(input.as_bytes());
    let output = child.wait_with_output().expect("the tool ends");
    let text = [output.stdout, output.stderr].concat();
    (
        output.status.success(),
        String::from_utf8_lossy(&text).into_owned(),
    )
}

/// Who writes the partition table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Partitioner {
    SfdiskDos,
    SfdiskGpt,
    PartedDos,
    PartedGpt,
    Sgdisk,
}

const PARTITIONERS: [Partitioner; 5] = [
    Partitioner::SfdiskDos,
    Partitioner::SfdiskGpt,
    Partitioner::PartedDos,
    Partitioner::PartedGpt,
    Partitioner::Sgdisk,
];

/// A filesystem to put into the first partition. `START` in the arguments is the partition's first sector.
#[derive(Debug)]
pub(crate) struct Filesystem {
    pub(crate) name: &'static str,
    tool: &'static str,
    package: &'static str,
    args: &'static str,
    mib: u64,
}

const fn fs(
    name: &'static str,
    tool: &'static str,
    package: &'static str,
    args: &'static str,
    mib: u64,
) -> Filesystem {
    Filesystem {
        name,
        tool,
        package,
        args,
        mib,
    }
}

/// mkfs.xfs takes nothing below 300 MiB, and nothing below about 600 MiB with a stripe unit. The images are sparse.
const FILESYSTEMS: [Filesystem; 15] = [
    fs("none", "", "", "", 8),
    fs(
        "ntfs-512",
        "mkntfs",
        "ntfs-3g",
        "-q -Q -F -s 512 -p START -H 255 -S 63 -c 512",
        16,
    ),
    fs(
        "ntfs-4096",
        "mkntfs",
        "ntfs-3g",
        "-q -Q -F -s 512 -p START -H 255 -S 63 -c 4096",
        16,
    ),
    fs(
        "ntfs-65536",
        "mkntfs",
        "ntfs-3g",
        "-q -Q -F -s 512 -p START -H 255 -S 63 -c 65536",
        32,
    ),
    fs(
        "ext4-1024",
        "mkfs.ext4",
        "e2fsprogs",
        "-q -F -b 1024 -L data",
        16,
    ),
    fs("ext4-4096", "mkfs.ext4", "e2fsprogs", "-q -F -b 4096", 16),
    fs(
        "ext4-stripe",
        "mkfs.ext4",
        "e2fsprogs",
        "-q -F -b 4096 -E stride=16,stripe_width=64 -L on_raid",
        32,
    ),
    fs("xfs", "mkfs.xfs", "xfsprogs", "-q -L scratch", 320),
    fs(
        "xfs-1024",
        "mkfs.xfs",
        "xfsprogs",
        "-q -b size=1024 -s size=1024 -m crc=0",
        320,
    ),
    fs(
        "xfs-stripe",
        "mkfs.xfs",
        "xfsprogs",
        "-q -d su=64k,sw=3 -L on_raid",
        600,
    ),
    fs(
        "btrfs",
        "mkfs.btrfs",
        "btrfs-progs",
        "-q -s 4096 -L pool",
        128,
    ),
    fs(
        "fat16",
        "mkfs.vfat",
        "dosfstools",
        "-F 16 -s 4 -h START -n USB",
        32,
    ),
    fs(
        "fat32",
        "mkfs.vfat",
        "dosfstools",
        "-F 32 -s 1 -h START",
        40,
    ),
    fs(
        "exfat",
        "mkfs.exfat",
        "exfatprogs",
        "-c 32K -b 64K -n CARD",
        32,
    ),
    fs("swap", "mkswap", "util-linux", "-p 4096 -L spare", 4),
];

/// One image to make.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) partitioner: Partitioner,
    pub(crate) filesystem: &'static Filesystem,
    pub(crate) start: u64,
    /// Whether the first partition ends on a multiple of 4,096 bytes.
    pub(crate) end_on_grid: bool,
}

impl Case {
    pub(crate) fn file_name(&self) -> String {
        format!(
            "{:?}-{}-{}-{}.img",
            self.partitioner,
            self.start,
            self.filesystem.name,
            if self.end_on_grid { "on" } else { "off" }
        )
    }
}

/// All combinations in a soak; else a third, in which every two of partitioner, start and filesystem meet. Of the two ends, a filesystem
/// gets one with each partitioner and start, in turns.
pub(crate) fn cases() -> Vec<Case> {
    static ALL: [Filesystem; 15] = FILESYSTEMS;
    let mut cases = Vec::new();
    for (p, partitioner) in PARTITIONERS.into_iter().enumerate() {
        for (s, start) in STARTS.into_iter().enumerate() {
            for (f, filesystem) in ALL.iter().enumerate() {
                if !straddle_testkit::is_soak() && (p + s + f) % 3 != 0 {
                    continue;
                }
                let ends: &[bool] = match (filesystem.name, (p + s + f) % 2 == 0) {
                    ("none", _) => &[true, false],
                    (_, true) => &[true],
                    (_, false) => &[false],
                };
                cases.extend(ends.iter().map(|end_on_grid| Case {
                    partitioner,
                    filesystem,
                    start,
                    end_on_grid: *end_on_grid,
                }));
            }
        }
    }
    cases
}

/// What a new filesystem consists of: the blocks that are not all zeroes.
struct Template(Vec<(u64, Vec<u8>)>);

/// A filesystem is made once for each start that it records, and copied into the images.
pub(crate) struct Templates(HashMap<(&'static str, u64), Template>);

impl Templates {
    pub(crate) fn make(directory: &Path) -> Templates {
        let mut all = HashMap::new();
        for case in cases() {
            let filesystem = case.filesystem;
            let start = recorded_start(&case);
            if filesystem.tool.is_empty() {
                continue;
            }
            all.entry((filesystem.name, start))
                .or_insert_with(|| Template::make(filesystem, start, directory));
        }
        Templates(all)
    }
}

fn recorded_start(case: &Case) -> u64 {
    if case.filesystem.args.contains("START") {
        case.start
    } else {
        0
    }
}

impl Template {
    fn make(filesystem: &Filesystem, start: u64, directory: &Path) -> Template {
        let path = directory.join("template");
        let file = sparse(&path, filesystem.mib * MIB);
        let args = filesystem.args.replace("START", &start.to_string());
        let mut args: Vec<&str> = args.split_whitespace().collect();
        args.push(path.to_str().expect("UTF-8"));
        run(filesystem.tool, filesystem.package, &args, "");
        let mut blocks = Vec::new();
        for (at, len) in data_areas(&file, 0, filesystem.mib * MIB) {
            let mut bytes = vec![0; usize::try_from(len).expect("small")];
            file.read_exact_at(&mut bytes, at).expect("is there");
            let chunks = bytes.chunks(4096).zip((at..).step_by(4096));
            let set = chunks.filter(|(chunk, _)| chunk.iter().any(|byte| *byte != 0));
            blocks.extend(set.map(|(chunk, at)| (at, chunk.to_vec())));
        }
        std::fs::remove_file(&path).expect("is there");
        Template(blocks)
    }

    fn write(&self, file: &File, start: u64) {
        for (at, bytes) in &self.0 {
            file.write_all_at(bytes, start + at).expect("has room");
        }
    }
}

pub(crate) fn sparse(path: &Path, size: u64) -> File {
    let file = File::options()
        .create_new(true)
        .read(true)
        .write(true)
        .open(path)
        .expect("the directory is writable");
    file.set_len(size).expect("a sparse file");
    file
}

/// The parts of `file` between `from` and `to` that are no holes: offset and length.
pub(crate) fn data_areas(file: &File, from: u64, to: u64) -> Vec<(u64, u64)> {
    use rustix::fs::{SeekFrom, seek};
    let mut areas = Vec::new();
    let mut at = from;
    // No data behind the last area is the error ENXIO.
    while let Ok(data) = seek(file, SeekFrom::Data(at)) {
        if data >= to {
            break;
        }
        let hole = seek(file, SeekFrom::Hole(data)).expect("data end somewhere");
        at = hole.min(to);
        areas.push((data, at - data));
    }
    areas
}

/// Makes the image of `case`: the table, then the filesystem at the first partition's start.
pub(crate) fn make(case: &Case, templates: &Templates, directory: &Path) -> PathBuf {
    let image = directory.join(case.file_name());
    let start = case.start;
    let at_least = case.filesystem.mib * MIB / SECTOR;
    let round = (8 - (start + at_least) % 8) % 8;
    let size = at_least + round + if case.end_on_grid { 0 } else { 3 };
    let second = start + size;
    // Room for a third partition and for the backup of a GPT.
    let file = sparse(&image, (second + 8192) * SECTOR);
    partition(case, &image, size);
    if let Some(template) = templates
        .0
        .get(&(case.filesystem.name, recorded_start(case)))
    {
        template.write(&file, start * SECTOR);
    }
    image
}

/// Three partitions: the first as the case wants it, one for a boot loader directly behind it, and one that holds data: a
/// logical one where the table has such.
fn partition(case: &Case, image: &Path, size: u64) {
    let path = image.to_str().expect("UTF-8");
    let start = case.start;
    let second = start + size;
    let third = second + 1001;
    match case.partitioner {
        Partitioner::SfdiskDos => {
            let kind = match case.filesystem.name {
                name if name.starts_with("ntfs") => "7",
                "swap" => "82",
                "fat32" => "c",
                _ => "83",
            };
            let script = format!(
                "label: dos\nstart={start},size={size},type={kind}\nstart={second},size=1001,type=ef\n\
                 start={third},size=4000,type=f\nstart={},size=700,type=83\nstart={},size=2048,type=8e\n",
                third + 63,
                third + 63 + 700 + 64
            );
            run("sfdisk", "fdisk", &["-q", path], &script);
        }
        Partitioner::SfdiskGpt => {
            let script = format!(
                "label: gpt\nfirst-lba: 34\nstart={start},size={size},type=L,name=\"data\"\n\
                 start={second},size=1001,type=U\nstart={third},size=4001,type=S\n"
            );
            run("sfdisk", "fdisk", &["-q", path], &script);
        }
        Partitioner::PartedDos => {
            let script = format!(
                "mklabel msdos mkpart primary {start}s {}s mkpart primary {second}s {}s set 2 esp on \
                 mkpart extended {third}s {}s mkpart logical {}s {}s",
                second - 1,
                third - 1,
                third + 4000,
                third + 65,
                third + 3000
            );
            parted(path, &script);
        }
        Partitioner::PartedGpt => {
            let script = format!(
                "mklabel gpt mkpart data {start}s {}s mkpart boot {second}s {}s set 2 esp on mkpart more {third}s {}s",
                second - 1,
                third - 1,
                third + 4000
            );
            parted(path, &script);
        }
        Partitioner::Sgdisk => {
            let first = format!("-n1:{start}:{}", second - 1);
            let boot = format!("-n7:{second}:{}", third - 1);
            let more = format!("-n3:{third}:{}", third + 4000);
            let kinds = ["-t1:0700", "-t7:ef02", "-t3:8300"];
            let [a, b, c] = kinds;
            let args = ["-a1", &first, &boot, &more, a, b, c, path];
            run("sgdisk", "gdisk", &args, "");
        }
    }
}

fn parted(path: &str, script: &str) {
    let mut args = vec!["-s", "-a", "none", path];
    args.extend(script.split_whitespace());
    run("parted", "parted", &args, "");
}
