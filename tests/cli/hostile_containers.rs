//! Hostile virtual disks: whatever a file claims about parents, sizes, tables and compressed parts, the answer is a clear
//! statement that names layer and file, soon, in little memory.
//!
//! The limit on time guards against hangs, as in `hostile.rs`; speed is shown elsewhere.

use crate::support::qemu::{qemu_img, qemu_io};
use crate::support::tool;
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

/// Seconds after which a run hangs, on a machine that does other work, too. All but one take well below a second; a tree of files ends at
/// the 4,096th, which takes ten seconds or so in a build without optimisation.
const HANG: &str = "600";
/// Most memory that a run may have resident at any time.
const MEMORY: u64 = 300 << 20;
const MIB: u64 = 1 << 20;

struct Bench(tempfile::TempDir);

impl Bench {
    fn new() -> Bench {
        Bench(tempfile::tempdir().expect("temporary folder"))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn create(&self, args: &[&str]) {
        qemu_img(self.path(), ["create", "-q"].iter().chain(args));
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        fs::write(self.path().join(name), bytes).expect("a scratch file");
    }

    /// Lays bytes over a file.
    fn patch(&self, name: &str, patches: &[(u64, &[u8])]) {
        let file = File::options().write(true).open(self.path().join(name));
        let file = file.expect("a scratch file");
        for (at, bytes) in patches {
            file.write_all_at(bytes, *at).expect("written");
        }
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path().join(name)).expect("a scratch file")
    }

    /// What `straddle check ARGS` says, in the folder; its exit status and the limits are asserted.
    #[track_caller]
    fn check(&self, args: &[&str], code: i32) -> String {
        self.checked(&[], args, code)
    }

    /// The same below another program.
    #[track_caller]
    fn checked(&self, wrapper: &[&str], args: &[&str], code: i32) -> String {
        let used = self.path().join("used");
        let output = Command::new("/usr/bin/time")
            .args(["--quiet", "--format=%M", "--output"])
            .arg(&used)
            .args(["timeout", HANG])
            .args(wrapper)
            .arg(env!("CARGO_BIN_EXE_straddle"))
            .env("STRADDLE_HISTORY", "none")
            .args(["check", "--as", "image"])
            .args(args)
            .current_dir(self.path())
            .stdin(Stdio::null())
            .output()
            .unwrap_or_else(|error| {
                panic!("this test needs `time` of the Debian package time: {error}")
            });
        let text = String::from_utf8(output.stdout).expect("output is UTF-8")
            + &String::from_utf8(output.stderr).expect("messages are UTF-8");
        assert!(!text.contains("panicked"), "{text}");
        assert_ne!(output.status.code(), Some(124), "{args:?} hangs");
        let code = crate::support::status(code, &text);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {text}");
        let used = fs::read_to_string(&used).expect("what time measured");
        let kib: u64 = used.trim().parse().expect("kibibytes");
        assert!(kib << 10 < MEMORY, "{args:?}: {kib} KiB resident");
        text
    }

    /// Checks an image: its exit status and what must be said.
    #[track_caller]
    fn expect(&self, image: &str, code: i32, said: &[&str]) {
        let text = self.check(&[image], code);
        for words in said {
            assert!(
                text.contains(words),
                "{image} does not say `{words}` but:\n{text}"
            );
        }
    }
}

fn be32(n: u64) -> [u8; 4] {
    u32::try_from(n).expect("fits").to_be_bytes()
}

fn be64(n: u64) -> [u8; 8] {
    n.to_be_bytes()
}

/// A boot record with a partition at sector 64.
fn boot_record() -> [u8; 512] {
    let mut sector = [0; 512];
    sector[450] = 7;
    sector[454] = 64;
    sector[458..462].copy_from_slice(&1000_u32.to_le_bytes());
    sector[510..].copy_from_slice(&[0x55, 0xaa]);
    sector
}

#[test]
fn parents_that_lead_back() {
    let bench = Bench::new();
    let child = |name: &str, parent: &str| {
        bench.create(&["-f", "qcow2", "-u", "-b", parent, "-F", "qcow2", name, "1M"]);
    };
    child("one", "two");
    // qemu-img does not make this.
    let bytes = bench.read("one");
    let at = u64::from_be_bytes(bytes[8..16].try_into().expect("eight"));
    bench.patch("one", &[(at, b"one")]);
    bench.expect(
        "one",
        1,
        &[
            "STR9",
            "its parent is not followed",
            "one leads back to itself",
        ],
    );
    child("two-a", "two-b");
    child("two-b", "two-a");
    bench.expect("two-a", 1, &["two-a leads back to itself"]);
    child("three-a", "three-b");
    child("three-b", "three-c");
    child("three-c", "three-a");
    bench.expect("three-b", 1, &["three-b leads back to itself"]);
    // The same file by another name, and a folder that leads back.
    symlink("linked", bench.path().join("link")).expect("a link");
    child("linked", "link");
    bench.expect("linked", 1, &["link leads back to itself"]);
    bench.expect("link", 1, &["link leads back to itself"]);
    symlink(".", bench.path().join("again")).expect("a link");
    child("far", "again/again/again/far");
    bench.expect("far", 1, &["far leads back to itself"]);
    // Links that lead to each other are no file.
    symlink("loop-b", bench.path().join("loop-a")).expect("a link");
    symlink("loop-a", bench.path().join("loop-b")).expect("a link");
    child("to-loop", "loop-a");
    bench.expect(
        "to-loop",
        1,
        &[
            "its parent is not followed",
            "loop-a: Too many levels of symbolic links",
        ],
    );
    // A data file that is the image itself.
    bench.create(&["-f", "qcow2", "-o", "data_file=outside", "data", "1M"]);
    let mut bytes = bench.read("data");
    let at = bytes
        .windows(7)
        .position(|w| w == b"outside")
        .expect("its name");
    bytes[at..at + 7].copy_from_slice(b"./.data");
    symlink("data", bench.path().join(".data")).expect("a link");
    bench.write("data", &bytes);
    bench.expect("data", 1, &["data leads back to itself"]);
}

fn descriptor(parent: &str, extents: &str) -> String {
    format!(
        "# Disk DescriptorFile\nversion=1\nCID=11223344\nparentCID={}\n{}createType=\"custom\"\n\n{extents}\n",
        if parent.is_empty() {
            "ffffffff"
        } else {
            "11223344"
        },
        if parent.is_empty() {
            String::new()
        } else {
            format!("parentFileNameHint=\"{parent}\"\n")
        }
    )
}

#[test]
fn vmdks_that_lead_back() {
    let bench = Bench::new();
    bench.write("flat", &[0; 1 << 20]);
    bench.write(
        "own.vmdk",
        descriptor("own.vmdk", "RW 2048 FLAT \"flat\" 0").as_bytes(),
    );
    bench.expect("own.vmdk", 1, &["own.vmdk leads back to itself"]);
    bench.write(
        "extent.vmdk",
        descriptor("", "RW 2048 SPARSE \"extent.vmdk\"").as_bytes(),
    );
    bench.expect("extent.vmdk", 1, &["extent.vmdk leads back to itself"]);
    bench.write(
        "a.vmdk",
        descriptor("", "RW 2048 SPARSE \"b.vmdk\"").as_bytes(),
    );
    bench.write(
        "b.vmdk",
        descriptor("", "RW 2048 SPARSE \"a.vmdk\"").as_bytes(),
    );
    bench.expect("a.vmdk", 1, &["a.vmdk"]);
}

/// Thousands of parts that are the same file, and a tree of descriptors that would be 1000³ files.
#[test]
fn thousands_of_extents_in_one_file() {
    let bench = Bench::new();
    bench.write("flat", &[0; 1 << 20]);
    bench.create(&["-f", "vmdk", "sparse.vmdk", "1M"]);
    let lines = |count: usize, line: &str| format!("{line}\n").repeat(count);
    bench.write(
        "flats.vmdk",
        descriptor("", &lines(30_000, "RW 2048 FLAT \"flat\" 0")).as_bytes(),
    );
    bench.expect("flats.vmdk", 0, &["extents 30000", "flat  file, 1 MiB"]);
    bench.write(
        "sparses.vmdk",
        descriptor("", &lines(1500, "RW 2048 SPARSE \"sparse.vmdk\"")).as_bytes(),
    );
    bench.expect("sparses.vmdk", 0, &["extents 1500"]);
    bench.write(
        "tree-0.vmdk",
        descriptor("", &lines(1000, "RW 2048 FLAT \"flat\" 0")).as_bytes(),
    );
    for n in 1..4 {
        let line = format!("RW 2048 SPARSE \"tree-{}.vmdk\"", n - 1);
        bench.write(
            &format!("tree-{n}.vmdk"),
            descriptor("", &lines(1000, &line)).as_bytes(),
        );
    }
    bench.expect("tree-3.vmdk", 1, &["tree-3.vmdk"]);
}

#[test]
fn parents_that_cannot_be_read() {
    let bench = Bench::new();
    let child = |name: &str, parent: &str| {
        bench.create(&["-f", "qcow2", "-u", "-b", parent, "-F", "qcow2", name, "1M"]);
    };
    fs::create_dir(bench.path().join("folder")).expect("a folder");
    child("on-folder", "folder");
    bench.expect(
        "on-folder",
        1,
        &["its parent is not followed", "folder is a directory"],
    );
    tool(
        "coreutils",
        Command::new("mkfifo").arg(bench.path().join("fifo")),
    );
    child("on-fifo", "fifo");
    bench.expect(
        "on-fifo",
        1,
        &["its parent is not followed", "fifo is a FIFO"],
    );
    child("on-zero", "/dev/zero");
    bench.expect(
        "on-zero",
        1,
        &[
            "its parent is not followed",
            "/dev/zero is a character device",
        ],
    );
    child("on-nothing", "nothing");
    bench.expect(
        "on-nothing",
        1,
        &[
            "its parent is not followed",
            "nothing: No such file or directory",
            "in a file that could not be opened",
        ],
    );
    bench.write("empty", &[]);
    child("on-empty", "empty");
    bench.expect("on-empty", 1, &["empty"]);
    bench.write("words", b"no disk at all");
    child("on-words", "words");
    bench.expect(
        "on-words",
        1,
        &[
            "its parent is not followed",
            "words is not recognised; expected qcow2",
        ],
    );
    // Without permission, and with a disk that fails; strace answers in the kernel's place, also where the user is root.
    bench.create(&["-f", "qcow2", "parent", "1M"]);
    child("on-parent", "parent");
    let parent = bench.path().join("parent");
    let parent = parent.to_str().expect("UTF-8");
    for (call, answer, said) in [
        ("?open,openat", "error=EACCES", "parent: Permission denied"),
        ("pread64", "error=EIO", "Input/output error"),
        ("pread64", "error=EIO:when=2+", "Input/output error"),
        ("pread64", "retval=0", "fewer bytes"),
    ] {
        let inject = format!("inject={call}:{answer}");
        let wrapper = [
            "strace",
            "-f",
            "-o",
            "/dev/null",
            "-P",
            parent,
            "-P",
            "parent",
            "-e",
            &inject,
        ];
        let text = bench.checked(&wrapper, &["on-parent"], 1);
        assert!(text.contains(said), "{call} {answer}: {text}");
    }
}

#[test]
fn parents_that_were_changed() {
    let bench = Bench::new();
    bench.create(&["-f", "vmdk", "base.vmdk", "1M"]);
    bench.create(&["-f", "vmdk", "-b", "base.vmdk", "-F", "vmdk", "child.vmdk"]);
    // Which QEMU notes by another CID.
    qemu_io(
        bench.path(),
        "vmdk",
        "base.vmdk",
        &["write -q -P 1 0 4096".to_owned()],
    );
    bench.expect(
        "child.vmdk",
        1,
        &["base.vmdk is not the parent that was recorded, or was changed since: its identity is"],
    );
    // A differencing VHD whose parent is another.
    bench.create(&["-f", "vpc", "-o", "force_size=on", "base.vhd", "4M"]);
    let mut bytes = bench.read("base.vhd");
    let sum = |bytes: &mut [u8], at: usize| {
        bytes[at..at + 4].fill(0);
        let sum = !bytes.iter().map(|b| u32::from(*b)).sum::<u32>();
        bytes[at..at + 4].copy_from_slice(&sum.to_be_bytes());
    };
    bytes[60..64].copy_from_slice(&be32(4));
    bytes[68..84].fill(0x77);
    sum(&mut bytes[..512], 64);
    bytes[512 + 40..512 + 56].fill(0x55);
    for (n, unit) in "base.vhd".encode_utf16().enumerate() {
        bytes[576 + 2 * n..578 + 2 * n].copy_from_slice(&unit.to_be_bytes());
    }
    sum(&mut bytes[512..1536], 36);
    bytes.truncate(bytes.len() - 512);
    let footer = bytes[..512].to_vec();
    bytes.extend(footer);
    bench.write("child.vhd", &bytes);
    bench.expect(
        "child.vhd",
        1,
        &[
            "base.vhd is not the parent that was recorded",
            "expected 55555555-5555-5555-5555-555555555555",
        ],
    );
}

/// The usual image of each format, with a block written, and the field of its size: offset, and whether it is big-endian.
fn usual(bench: &Bench) -> [(&'static str, &'static str); 4] {
    let all = [
        ("qcow2", "a.qcow2"),
        ("vpc", "a.vhd"),
        ("vdi", "a.vdi"),
        ("vmdk", "a.vmdk"),
    ];
    for (format, name) in all {
        bench.create(&["-f", format, name, "20M"]);
        qemu_io(
            bench.path(),
            format,
            name,
            &["write -q -P 7 4M 4M".to_owned()],
        );
    }
    all
}

/// Makes the checksums of a dynamic VHD's header copy, dynamic header and footer right.
fn sum_vhd(bench: &Bench, name: &str) {
    let mut bytes = bench.read(name);
    let end = bytes.len();
    for (part, at) in [(0..512, 64), (512..1536, 36)] {
        let part = &mut bytes[part];
        part[at..at + 4].fill(0);
        let sum = !part.iter().map(|b| u32::from(*b)).sum::<u32>();
        part[at..at + 4].copy_from_slice(&sum.to_be_bytes());
    }
    let copy = bytes[..512].to_vec();
    bytes[end - 512..].copy_from_slice(&copy);
    bench.write(name, &bytes);
}

#[test]
fn sizes_without_end() {
    let bench = Bench::new();
    for size in [u64::MAX, u64::MAX - 511, 1 << 63, (1 << 63) - 512] {
        usual(&bench);
        bench.patch("a.qcow2", &[(0x18, &be64(size))]);
        bench.expect("a.qcow2", 1, &["STR9", "a.qcow2"]);
        bench.patch("a.vhd", &[(40, &be64(size)), (48, &be64(size))]);
        sum_vhd(&bench, "a.vhd");
        bench.expect("a.vhd", 1, &["STR9", "a.vhd"]);
        bench.patch("a.vdi", &[(0x170, &size.to_le_bytes())]);
        bench.expect("a.vdi", 1, &["STR9", "a.vdi"]);
        for sectors in [size, size / 512] {
            bench.patch("a.vmdk", &[(0x0c, &sectors.to_le_bytes())]);
            bench.expect("a.vmdk", 1, &["STR9", "a.vmdk"]);
        }
    }
}

#[test]
fn tables_beyond_the_file() {
    let bench = Bench::new();
    for at in [1 << 40, !0xffff_u64] {
        usual(&bench);
        bench.patch("a.qcow2", &[(0x28, &be64(at))]);
        bench.expect("a.qcow2", 1, &["STR9", "a.qcow2"]);
        bench.patch("a.vhd", &[(512 + 16, &be64(at))]);
        sum_vhd(&bench, "a.vhd");
        bench.expect("a.vhd", 1, &["STR9", "a.vhd"]);
        bench.patch("a.vdi", &[(0x154, &0xffff_fe00_u32.to_le_bytes())]);
        bench.expect("a.vdi", 1, &["STR9", "a.vdi"]);
        bench.patch("a.vmdk", &[(0x38, &(at / 512).to_le_bytes())]);
        bench.expect("a.vmdk", 1, &["STR9", "a.vmdk"]);
    }
    // Tables of a second level, and blocks.
    usual(&bench);
    let qcow2 = bench.read("a.qcow2");
    let l1 = u64::from_be_bytes(qcow2[0x28..0x30].try_into().expect("eight"));
    bench.patch("a.qcow2", &[(l1, &be64(1 << 63 | 1 << 50))]);
    bench.expect("a.qcow2", 1, &["STR9", "a.qcow2"]);
    let vmdk = bench.read("a.vmdk");
    let directory = u64::from_le_bytes(vmdk[0x38..0x40].try_into().expect("eight")) * 512;
    bench.patch("a.vmdk", &[(directory, &0xffff_0000_u32.to_le_bytes())]);
    bench.expect("a.vmdk", 1, &["STR9", "a.vmdk"]);
    bench.patch("a.vhd", &[(1536 + 8, &be32(0xffff_fff0))]);
    bench.expect("a.vhd", 1, &["STR9", "a.vhd"]);
}

#[test]
fn tables_that_point_at_each_other_and_blocks_that_overlap() {
    let bench = Bench::new();
    usual(&bench);
    let qcow2 = bench.read("a.qcow2");
    let l1 = u64::from_be_bytes(qcow2[0x28..0x30].try_into().expect("eight"));
    // The first table is its own second one; then all clusters are one.
    bench.patch("a.qcow2", &[(l1, &be64(1 << 63 | l1))]);
    let said = "puts an L2 table at byte 196,608, over the L1 table";
    bench.expect("a.qcow2", 1, &["warning[STR903]", said, "a.qcow2"]);
    bench.write("a.qcow2", &qcow2);
    let l2 = u64::from_be_bytes(qcow2[l1 as usize..][..8].try_into().expect("eight")) & !(1 << 63);
    let same = be64(1 << 63 | 0x5_0000).repeat(320);
    bench.patch("a.qcow2", &[(l2, &same)]);
    bench.expect(
        "a.qcow2",
        1,
        &["warning[STR901]", "share bytes of the file", "a.qcow2"],
    );
    let vmdk = bench.read("a.vmdk");
    let directory = u64::from_le_bytes(vmdk[0x38..0x40].try_into().expect("eight"));
    bench.patch(
        "a.vmdk",
        &[(directory * 512, &(directory as u32).to_le_bytes())],
    );
    bench.expect("a.vmdk", 1, &["STR9", "a.vmdk"]);
    bench.patch("a.vhd", &[(1536, &be32(4).repeat(10))]);
    bench.expect(
        "a.vhd",
        1,
        &["warning[STR901]", "share bytes of the file", "a.vhd"],
    );
    bench.patch("a.vdi", &[(0x200, &[0; 80])]);
    bench.expect(
        "a.vdi",
        1,
        &["warning[STR901]", "share bytes of the file", "a.vdi"],
    );
}

/// A stream that unpacks to a boot record and this many zeroes.
fn bomb(bench: &Bench, program: &str, size: &str) -> Vec<u8> {
    bench.write("record", &boot_record());
    let script = format!("{{ cat record; head -c {size} /dev/zero; }} | {program} -c > packed");
    tool(
        program,
        Command::new("sh")
            .args(["-ec", &script])
            .current_dir(bench.path()),
    );
    let packed = bench.read("packed");
    match program {
        // Ten bytes of header before the deflate stream.
        "gzip" => packed[10..].to_vec(),
        _ => packed,
    }
}

#[test]
fn compressed_clusters_that_unpack_to_very_much() {
    let bench = Bench::new();
    for (kind, program) in [("zlib", "gzip"), ("zstd", "zstd")] {
        let options = format!("cluster_size=2M,compression_type={kind}");
        bench.create(&["-f", "qcow2", "-o", &options, "bomb", "8M"]);
        qemu_io(
            bench.path(),
            "qcow2",
            "bomb",
            &["write -q -P 7 0 2M".to_owned()],
        );
        let bytes = bench.read("bomb");
        let l1 = u64::from_be_bytes(bytes[0x28..0x30].try_into().expect("eight"));
        let l2 = &bytes[l1 as usize..][..8];
        let l2 = u64::from_be_bytes(l2.try_into().expect("eight")) & !(1 << 63);
        let packed = bomb(&bench, program, "256M");
        let at = bytes.len().next_multiple_of(512) as u64;
        let sectors = packed.len().div_ceil(512) as u64;
        let entry = 1 << 62 | (sectors - 1) << 49 | at;
        bench.patch(
            "bomb",
            &[
                (at, &packed),
                (at + sectors * 512, &[0]),
                (l2, &be64(entry)),
            ],
        );
        // What the table of partitions needs is unpacked, and no more.
        bench.expect("bomb", 0, &["starts at 32 KiB"]);
        // And a stream that is none.
        bench.patch("bomb", &[(at, &[0xff; 4096])]);
        bench.expect("bomb", 1, &["STR9", "bomb"]);
    }
}

#[test]
fn a_compressed_grain_that_unpacks_to_very_much() {
    let bench = Bench::new();
    let mut file = vec![0; 8 * 512];
    file[..4].copy_from_slice(b"KDMV");
    for (at, n) in [(4, 3_u32), (8, 0x3_0001), (0x2c, 512)] {
        file[at..at + 4].copy_from_slice(&n.to_le_bytes());
    }
    for (at, n) in [
        (0x0c, 2048_u64),
        (0x14, 128),
        (0x1c, 1),
        (0x24, 1),
        (0x38, 2),
        (0x40, 8),
    ] {
        file[at..at + 8].copy_from_slice(&n.to_le_bytes());
    }
    file[0x49..0x4d].copy_from_slice(b"\n \r\n");
    file[0x4d] = 1;
    let text = descriptor("", "RW 2048 SPARSE \"bomb.vmdk\"").replace("custom", "streamOptimized");
    file[512..512 + text.len()].copy_from_slice(text.as_bytes());
    file[1024] = 3;
    file[1536] = 8;
    let packed = bomb(&bench, "gzip", "100M");
    file.extend([0; 8]);
    file.extend(
        u32::try_from(packed.len() + 2)
            .expect("small")
            .to_le_bytes(),
    );
    file.extend([0x78, 0x9c]);
    file.extend(&packed);
    file.resize(file.len().next_multiple_of(512), 0);
    bench.write("bomb.vmdk", &file);
    bench.expect(
        "bomb.vmdk",
        1,
        &[
            "warning[STR903]",
            "unpacks to more than the 64 KiB of a grain",
        ],
    );
    // A marker that says more than a grain can come to.
    bench.patch("bomb.vmdk", &[(4096 + 8, &u32::MAX.to_le_bytes())]);
    let said = "a compressed grain of 4294967295 bytes by its marker";
    bench.expect("bomb.vmdk", 1, &["warning[STR903]", said]);
}

#[test]
fn disks_in_disks_in_disks() {
    let bench = Bench::new();
    let mut disk = vec![0; MIB as usize];
    disk[..512].copy_from_slice(&boot_record());
    bench.write("0", &disk);
    for depth in 1..=10 {
        let (inner, outer) = ((depth - 1).to_string(), depth.to_string());
        let args = ["convert", "-f", "raw", "-O", "qcow2", &inner, &outer];
        qemu_img(bench.path(), args);
    }
    bench.expect("8", 0, &["starts at 32 KiB"]);
    bench.expect(
        "10",
        0,
        &["in 8 virtual disks one inside the other: not looked into"],
    );
}

/// Tables that are longer than any disk needs, in files that are holes.
#[test]
fn tables_of_a_tebibyte() {
    let bench = Bench::new();
    usual(&bench);
    let long = |name: &str| {
        let file = File::options().write(true).open(bench.path().join(name));
        file.and_then(|file| file.set_len(1 << 40))
            .expect("a sparse file");
    };
    // 2³² − 1 blocks of 1 MiB.
    let blocks = u64::from(u32::MAX);
    let size = (blocks << 20).to_le_bytes();
    let count = u32::MAX.to_le_bytes();
    bench.patch(
        "a.vdi",
        &[
            (0x170, &size),
            (0x180, &count),
            (0x158, &0xf000_0000_u32.to_le_bytes()),
        ],
    );
    long("a.vdi");
    bench.expect("a.vdi", 1, &["STR9", "a.vdi"]);
    bench.patch(
        "a.qcow2",
        &[
            (0x18, &be64(1 << 62)),
            (0x24, &be32(blocks)),
            (0x28, &be64(1 << 30)),
        ],
    );
    long("a.qcow2");
    bench.expect("a.qcow2", 1, &["STR9", "a.qcow2"]);
    bench.patch(
        "a.vmdk",
        &[
            (0x0c, &(1_u64 << 53).to_le_bytes()),
            (0x38, &(1_u64 << 20).to_le_bytes()),
        ],
    );
    long("a.vmdk");
    bench.expect("a.vmdk", 1, &["STR9", "a.vmdk"]);
}
