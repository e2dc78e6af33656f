//! What `straddle check` asks of the kernel, from a log of its system calls: every target is opened for reading only,
//! nothing is changed or mounted, and of a raw image little is read. And what `straddle bench` changes: its own file and its
//! journal.

use crate::support::tool;
use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Most that may be read of a raw image with up to four partitions.
const MAX_READ: u64 = 320 << 10;
/// Most that may be read in addition for each part in which there is nothing: copies of all kinds of metadata are looked for.
const MAX_READ_FOR_COPIES: u64 = 32 << 10;
const MIB: u64 = 1 << 20;

/// One line of strace's log.
struct Call {
    name: String,
    /// Everything between the parentheses.
    arguments: String,
    /// What follows the equals sign.
    result: String,
}

impl Call {
    /// `openat(AT_FDCWD</tmp>, "disk.img", O_RDONLY|O_CLOEXEC) = 3</tmp/disk.img>`; `None` for lines that are no
    /// finished call (signals, exits).
    fn parse(line: &str) -> Option<Call> {
        let (call, result) = line.rsplit_once(" = ")?;
        let (name, arguments) = call.split_once('(')?;
        Some(Call {
            name: name.to_owned(),
            arguments: arguments.trim_end().trim_end_matches(')').to_owned(),
            result: result.to_owned(),
        })
    }

    /// The file that the first argument, a descriptor, is open on.
    fn file(&self) -> Option<&str> {
        let (_, rest) = self.arguments.split_once('<')?;
        rest.split_once('>').map(|(path, _)| path)
    }

    fn descriptor(&self) -> Option<u32> {
        let end = self.arguments.find(|c: char| !c.is_ascii_digit())?;
        self.arguments[..end].parse().ok()
    }

    fn bytes(&self) -> u64 {
        self.result.parse().unwrap_or(0)
    }
}

/// The calls of `straddle check ARGS` in `directory`.
fn calls(directory: &Path, args: &[&str]) -> Vec<Call> {
    traced(directory, &[&["check"], args].concat())
}

/// The same, whatever it comes to.
fn calls_of(directory: &Path, args: &[&str]) -> Vec<Call> {
    traced_to(directory, &[&["check"], args].concat(), &[0, 1, 2])
}

/// The calls of `straddle ARGS` in `directory`.
fn traced(directory: &Path, args: &[&str]) -> Vec<Call> {
    traced_to(directory, args, &[0, 1])
}

fn traced_to(directory: &Path, args: &[&str], codes: &[i32]) -> Vec<Call> {
    let logs = tempfile::tempdir().expect("temporary directory");
    let output = Command::new("strace")
        // A log for each thread (-ff), so that calls are not interleaved; without contents (-s 0).
        .args(["-ff", "-y", "-s", "0", "-o"])
        .arg(logs.path().join("log"))
        .arg(env!("CARGO_BIN_EXE_straddle"))
        .env("STRADDLE_HISTORY", "none")
        .args(args)
        .current_dir(directory)
        .output()
        .unwrap_or_else(|error| {
            panic!("this test needs `strace` of the Debian package strace: {error}")
        });
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        output
            .status
            .code()
            .is_some_and(|code| codes.contains(&code)),
        "{args:?}: {:?} {stderr}",
        output.status
    );
    let mut calls = Vec::new();
    for log in std::fs::read_dir(logs.path()).expect("a scratch directory") {
        let log = log.expect("a log").path();
        let log = std::fs::read_to_string(log).expect("a log in UTF-8");
        calls.extend(log.lines().filter_map(Call::parse));
    }
    assert!(calls.len() > 20, "strace logged next to nothing");
    calls
}

/// Calls that may appear. A list of what is allowed: a call that nobody thought of fails the test.
const ALLOWED: &[&str] = &[
    // Looking at files.
    "openat",
    "open",
    "close",
    "read",
    "pread64",
    "readv",
    "lseek",
    "fstat",
    "newfstatat",
    "statx",
    "stat",
    "lstat",
    "statfs",
    "fstatfs",
    "access",
    "faccessat",
    "faccessat2",
    "getxattr",
    "readlink",
    "readlinkat",
    "getdents64",
    "getcwd",
    "ioctl",
    "fcntl",
    "fadvise64",
    "poll",
    "ppoll",
    // Writing, to stdout and stderr only: see `nothing_is_changed`.
    "write",
    "writev",
    // The process itself.
    "execve",
    "brk",
    "mmap",
    "munmap",
    "mremap",
    "mprotect",
    "madvise",
    "arch_prctl",
    "set_tid_address",
    "set_robust_list",
    "rseq",
    "prlimit64",
    "getrandom",
    "sigaltstack",
    "rt_sigaction",
    "rt_sigprocmask",
    "gettid",
    "getpid",
    "getuid",
    "geteuid",
    "sched_getaffinity",
    "sched_yield",
    "clone",
    "clone3",
    "futex",
    "exit",
    "exit_group",
    "clock_gettime",
    "clock_nanosleep",
    "restart_syscall",
    "membarrier",
    "uname",
    "sysinfo",
    "prctl",
];

/// Requests to a device or filesystem that only ask.
const ASKING: &[&str] = &[
    "FS_IOC_FIEMAP",
    "FS_IOC_GETFLAGS",
    "FS_IOC_FSGETXATTR",
    "BLK",
    "HDIO_GET",
    "DM_VERSION",
    "DM_LIST_DEVICES",
    "DM_DEV_STATUS",
    "DM_TABLE_STATUS",
    "DM_TABLE_DEPS",
    "TCGETS",
    "TIOCGWINSZ",
    "LOOP_GET_STATUS",
];
/// Requests to a block device that change it, though their names begin with `BLK`.
const CHANGING: &[&str] = &[
    "BLKROSET",
    "BLKRRPART",
    "BLKFLSBUF",
    "BLKRASET",
    "BLKFRASET",
    "BLKBSZSET",
    "BLKPG",
    "BLKDISCARD",
    "BLKSECDISCARD",
    "BLKZEROOUT",
    "BLKTRACESETUP",
    "BLKTRACESTART",
    "BLKRESETZONE",
];

/// Asserts that nothing but stdout and stderr is written to, and that every file is opened for reading only.
fn nothing_is_changed(calls: &[Call]) {
    for call in calls {
        let shown = format!("{}({}) = {}", call.name, call.arguments, call.result);
        assert!(ALLOWED.contains(&call.name.as_str()), "unexpected: {shown}");
        match call.name.as_str() {
            "open" | "openat" => {
                assert!(call.arguments.contains("O_RDONLY"), "{shown}");
                for flag in [
                    "O_WRONLY",
                    "O_RDWR",
                    "O_CREAT",
                    "O_TRUNC",
                    "O_APPEND",
                    "O_TMPFILE",
                ] {
                    assert!(!call.arguments.contains(flag), "{shown}");
                }
            }
            "write" | "writev" => assert!(matches!(call.descriptor(), Some(1 | 2)), "{shown}"),
            "ioctl" => {
                let names = |list: &[&str]| list.iter().any(|name| call.arguments.contains(name));
                assert!(names(ASKING) && !names(CHANGING), "{shown}");
            }
            _ => {}
        }
    }
}

/// How many bytes of `path` the calls read, having made sure that no other way to its contents was taken.
fn bytes_read(calls: &[Call], path: &Path) -> u64 {
    let path = path.to_str().expect("a name in UTF-8");
    let on_it = |call: &&Call| call.file() == Some(path);
    let mapped = calls
        .iter()
        .any(|call| call.name == "mmap" && call.arguments.contains(&format!("<{path}>")));
    assert!(!mapped, "{path} is mapped into memory");
    calls
        .iter()
        .filter(on_it)
        .filter(|call| matches!(call.name.as_str(), "read" | "readv" | "pread64"))
        .map(Call::bytes)
        .sum()
}

fn opens(calls: &[Call], path: &Path) -> usize {
    let opened = format!("<{}>", path.display());
    let is_open = |call: &&Call| call.name == "openat" && call.result.ends_with(&opened);
    calls.iter().filter(is_open).count()
}

fn scratch() -> (tempfile::TempDir, PathBuf) {
    let here = tempfile::tempdir().expect("temporary directory");
    // strace prints the names that the kernel knows.
    let path = here.path().canonicalize().expect("it exists");
    (here, path)
}

/// Runs a shell command, whose first word is a tool of a Debian package, in `directory`.
fn shell(package: &str, directory: &Path, command: &str) {
    let program = command.split(' ').next().unwrap_or_default();
    let found = Command::new("sh")
        .args([
            "-c",
            "PATH=$PATH:/usr/sbin:/sbin command -v \"$0\"",
            program,
        ])
        .output()
        .is_ok_and(|output| output.status.success());
    assert!(
        found,
        "this test needs `{program}` of the Debian package {package}"
    );
    let script = format!("export PATH=$PATH:/usr/sbin:/sbin; {command}");
    tool(
        "dash",
        Command::new("sh")
            .args(["-ec", &script])
            .current_dir(directory),
    );
}

/// What a partition may hold: (name, Debian package, command that makes it in the file `part`).
const CONTENTS: &[(&str, &str, &str)] = &[
    ("nothing", "coreutils", "true"),
    (
        "ntfs",
        "ntfs-3g",
        "mkntfs -Q -F -q -s 512 -p 2048 -H 255 -S 63 part >/dev/null",
    ),
    ("ext4", "e2fsprogs", "mkfs.ext4 -q -F part"),
    ("xfs", "xfsprogs", "mkfs.xfs -q -f part"),
    ("btrfs", "btrfs-progs", "mkfs.btrfs -q -f part"),
];

/// Makes `disk.img` with a partition for each of `contents`, 320 MiB each, from byte `start` on.
fn disk(directory: &Path, table: &str, start: u64, contents: &[usize]) {
    const SIZE: u64 = 320 * MIB;
    let image = directory.join("disk.img");
    File::create(&image)
        .and_then(|file| file.set_len(start + SIZE * 4 + MIB))
        .expect("a sparse file");
    let mut script = format!("label: {table}\\n");
    for n in 0..contents.len() {
        let at = start / 512 + u64::try_from(n).expect("few") * (SIZE / 512);
        script.push_str(&format!("start={at}, size={}\\n", SIZE / 512));
    }
    shell("fdisk", directory, "sfdisk --version >/dev/null");
    let partition = format!("printf '{script}' | sfdisk --quiet --no-reread disk.img");
    shell("dash", directory, &format!("test -e disk.img; {partition}"));
    for (n, content) in contents.iter().enumerate() {
        let (_, package, make) = CONTENTS[*content];
        let at = start + u64::try_from(n).expect("few") * SIZE;
        let part = directory.join("part");
        File::create(&part)
            .and_then(|file| file.set_len(SIZE))
            .expect("a sparse file");
        shell(package, directory, make);
        // In sectors, because a start need not be a multiple of anything larger; without a write for blocks of zeroes.
        let copy = format!(
            "dd if=part of=disk.img bs=64K seek={at} oflag=seek_bytes conv=notrunc,sparse status=none"
        );
        shell("coreutils", directory, &copy);
    }
}

#[test]
fn little_is_read_of_an_image_and_nothing_is_changed() {
    let (_keep, here) = scratch();
    let image = here.join("disk.img");
    // Four of a kind, four different ones, and fewer.
    let all = [
        &[1, 2, 3, 4][..],
        &[0, 0, 0, 0],
        &[1, 1, 1, 1],
        &[2, 2, 2, 2],
        &[3, 3, 3, 3],
        &[4, 4, 4, 4],
        &[2, 0],
        &[],
    ];
    for (table, start) in [("dos", 63 * 512), ("gpt", MIB)] {
        for contents in all {
            disk(&here, table, start, contents);
            let names: Vec<&str> = contents.iter().map(|n| CONTENTS[*n].0).collect();
            let calls = calls(&here, &["disk.img"]);
            nothing_is_changed(&calls);
            assert_eq!(opens(&calls, &image), 1, "{table} {names:?}");
            let read = bytes_read(&calls, &image);
            let blank = names.iter().filter(|name| **name == "nothing").count();
            let most = MAX_READ + MAX_READ_FOR_COPIES * u64::try_from(blank).expect("few");
            assert!(read <= most, "{table} {names:?}: {read} bytes read");
            // The log is understood: the first block at least was read.
            assert!(read >= 4096, "{table} {names:?}: {read} bytes read");
        }
    }
}

/// Whole-disk filesystems, and images in which nothing is found: where every fallback is tried.
#[test]
fn little_is_read_where_there_is_no_table() {
    let (_keep, here) = scratch();
    let part = here.join("part");
    for (name, package, make) in CONTENTS {
        File::create(&part)
            .and_then(|file| file.set_len(320 * MIB))
            .expect("a sparse file");
        shell(package, &here, make);
        let calls = calls(&here, &["--as=image", "part"]);
        nothing_is_changed(&calls);
        let read = bytes_read(&calls, &part);
        assert!(
            (4096..=MAX_READ).contains(&read),
            "{name}: {read} bytes read"
        );
    }
}

#[test]
fn many_images_are_opened_for_reading_only() {
    let (_keep, here) = scratch();
    let images = here.join("images");
    std::fs::create_dir(&images).expect("a scratch directory");
    for n in 0..40 {
        disk_of_one(&images.join(format!("{n}.img")));
    }
    for args in [
        &["images"][..],
        &["--json", "images"],
        &["--quiet", "images"],
    ] {
        let calls = calls(&here, args);
        nothing_is_changed(&calls);
        for n in 0..40 {
            assert_eq!(opens(&calls, &images.join(format!("{n}.img"))), 1);
        }
        // Somebody may put a link in the place of what was listed: it would lead to what only this user may read.
        let by_name = calls.iter().filter(|call| {
            let is_open = call.name.starts_with("open") && call.result.ends_with(".img>");
            is_open && !call.arguments.contains("/fd>")
        });
        let (mut count, mut unsafe_ones) = (0, Vec::new());
        for call in by_name {
            count += 1;
            if !call.arguments.contains("O_PATH") || !call.arguments.contains("O_NOFOLLOW") {
                unsafe_ones.push(call.arguments.clone());
            }
        }
        assert!(count >= 40, "{count}");
        assert!(unsafe_ones.is_empty(), "{unsafe_ones:?}");
    }
}

fn disk_of_one(path: &Path) {
    let mut sector = [0; 512];
    sector[450] = 7;
    sector[454] = 63;
    sector[459] = 4;
    sector[510..].copy_from_slice(&[0x55, 0xaa]);
    std::fs::write(path, sector)
        .and_then(|()| File::options().write(true).open(path)?.set_len(MIB))
        .expect("a scratch file");
}

#[test]
fn nothing_is_changed_on_the_host() {
    let (_keep, here) = scratch();
    let file = here.join("database.bin");
    std::fs::write(&file, vec![1; 100_000]).expect("a scratch file");
    nothing_is_changed(&calls(&here, &[]));
    let calls = calls(&here, &["database.bin"]);
    nothing_is_changed(&calls);
    assert!(opens(&calls, &file) >= 1);
}

/// Logs and captures, by name and in a folder, among what is no file.
#[test]
fn evidence_is_only_read() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    let (_keep, here) = scratch();
    let log = here.join("logs/perfmon.csv");
    std::fs::create_dir(here.join("logs")).expect("room");
    let perfmon = "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\S\\LogicalDisk(E:)\\Avg. Disk sec/Read\"\n\
                   \"03/05/2024 10:00:00.000\",\"0.004\"\n";
    std::fs::write(&log, perfmon).expect("room");
    let fifo = here.join("logs/fifo");
    mknodat(CWD, &fifo, FileType::Fifo, Mode::RWXU, 0).expect("a FIFO");
    for (args, codes) in [
        (&["evidence", "logs/perfmon.csv"][..], [0]),
        (&["evidence", "--before", "logs/perfmon.csv", "logs"], [0]),
        (&["evidence", "--json", "logs/fifo"], [2]),
    ] {
        let calls = traced_to(&here, args, &codes);
        nothing_is_changed(&calls);
        for call in &calls {
            let is_fifo = call.name.starts_with("open") && call.result.ends_with("/fifo>");
            assert!(
                !is_fifo || call.arguments.contains("O_PATH"),
                "{args:?}: {}",
                call.arguments
            );
        }
        assert_eq!(opens(&calls, &log) > 0, codes == [0], "{args:?}");
    }
}

/// Traces, by name, in a folder among what is no file, and beside the image that they were recorded on.
#[test]
fn traces_are_only_read() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    let (_keep, here) = scratch();
    let trace = here.join("traces/db.csv");
    std::fs::create_dir(here.join("traces")).expect("room");
    std::fs::write(&trace, "1,db,0,Read,4096,8192,1\n".repeat(50_000)).expect("room");
    let mut disk = vec![0; 1 << 20];
    disk[446..462].copy_from_slice(&[0, 0, 2, 0, 7, 0, 3, 0, 63, 0, 0, 0, 0, 4, 0, 0]);
    disk[510..512].copy_from_slice(&[0x55, 0xaa]);
    std::fs::write(here.join("disk.img"), disk).expect("room");
    let fifo = here.join("traces/fifo");
    mknodat(CWD, &fifo, FileType::Fifo, Mode::RWXU, 0).expect("a FIFO");
    let with_stack = [
        "trace",
        "--stack",
        "disk.img",
        "--layer",
        "disk.img",
        "traces/db.csv",
    ];
    for (args, codes) in [
        (&["trace", "traces/db.csv"][..], [0]),
        (&["trace", "--window", "1s", "traces"], [0]),
        (&with_stack, [0]),
        (&["trace", "--json", "traces/fifo"], [2]),
    ] {
        let calls = traced_to(&here, args, &codes);
        nothing_is_changed(&calls);
        for call in &calls {
            let is_fifo = call.name.starts_with("open") && call.result.ends_with("/fifo>");
            assert!(
                !is_fifo || call.arguments.contains("O_PATH"),
                "{args:?}: {}",
                call.arguments
            );
        }
        assert_eq!(opens(&calls, &trace) > 0, codes == [0], "{args:?}");
    }
}

/// A FIFO, a character device and a socket, named, listed, and named by virtual disks.
#[test]
fn what_is_no_file_is_looked_at_and_never_opened() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    let (_keep, here) = scratch();
    let fifo = here.join("fifo");
    mknodat(CWD, &fifo, FileType::Fifo, Mode::RWXU, 0).expect("a FIFO");
    let _socket = std::os::unix::net::UnixListener::bind(here.join("socket")).expect("a socket");
    let shell_of = |line: String| shell("qemu-utils", &here, &line);
    shell_of("ln -s /dev/full full".to_owned());
    for name in ["fifo", "socket", "full"] {
        shell_of(format!(
            "printf '# Disk DescriptorFile\\nversion=1\\nCID=fffffffe\\nparentCID=ffffffff\\n\
             createType=\"monolithicFlat\"\\nRW 2048 FLAT \"{name}\" 0\\n' > {name}.vmdk"
        ));
        shell_of(format!(
            "qemu-img create -q -f qcow2 -u -b {name} -F raw {name}.qcow2 1M"
        ));
    }
    // A tree that poses as a host, with a FIFO in place of a file.
    shell_of("mkdir -p host/sys/block/sda host/proc/self && mkfifo host/sys/block/sda/size host/proc/self/mountinfo".to_owned());
    let waiting = std::thread::spawn({
        let fifo = fifo.clone();
        move || File::options().write(true).open(fifo).map(drop)
    });
    let mut runs: Vec<Vec<&str>> = vec![vec!["."], vec!["--sysroot", "host"]];
    for name in ["fifo", "socket", "full"] {
        runs.push(vec![name]);
    }
    for (a, b) in [
        ("fifo.vmdk", "fifo.qcow2"),
        ("socket.vmdk", "socket.qcow2"),
        ("full.vmdk", "full.qcow2"),
    ] {
        runs.extend([
            vec![a],
            vec![b],
            vec!["--follow-outside", "--as", "image", a],
        ]);
    }
    let mut looks = 0;
    for args in runs {
        let calls = calls_of(&here, &args);
        nothing_is_changed(&calls);
        for call in &calls {
            let is_one = ["/fifo>", "/socket>", "/dev/full>", "/size>", "/mountinfo>"];
            let in_host =
                call.result.contains(&*here.to_string_lossy()) || call.result.contains("/dev/full");
            let opened = call.name.starts_with("open") && in_host;
            if opened && is_one.iter().any(|name| call.result.ends_with(name)) {
                looks += 1;
                assert!(
                    call.arguments.contains("O_PATH"),
                    "{args:?}: {}",
                    call.arguments
                );
            }
        }
    }
    // Each that was named, and each that a virtual disk named.
    assert!(looks >= 12, "{looks}");
    assert!(!waiting.is_finished(), "the writer was let through");
    let reader = File::open(&fifo).expect("the writer waits");
    waiting.join().expect("no panic").expect("let through now");
    drop(reader);
}

/// Calls that change the file that their first argument is open on.
const CHANGING_OPEN_FILES: &[&str] = &[
    "write",
    "writev",
    "pwrite64",
    "pwritev",
    "pwritev2",
    "ftruncate",
    "fallocate",
    "fsetxattr",
    "fremovexattr",
    "fchmod",
    "fchown",
    "copy_file_range",
    "sendfile",
];
/// Beginnings of calls that change what their names stand for.
const CHANGING_NAMES: &[&str] = &[
    "creat",
    "unlink",
    "rename",
    "rmdir",
    "mkdir",
    "mknod",
    "truncate",
    "link",
    "symlink",
    "chmod",
    "fchmodat",
    "chown",
    "lchown",
    "fchownat",
    "setxattr",
    "lsetxattr",
    "removexattr",
    "lremovexattr",
    "utime",
    "mount",
    "umount",
];

impl Call {
    /// Every name among the arguments, from the root of the filesystem.
    fn names(&self, directory: &Path) -> Vec<PathBuf> {
        let mut names = Vec::new();
        // What stands before a name may be the directory that it counts from: `AT_FDCWD</tmp>, "a"`.
        let mut pieces = self.arguments.split('"');
        while let (Some(before), Some(name)) = (pieces.next(), pieces.next()) {
            let from = before
                .rsplit_once('<')
                .and_then(|(_, rest)| rest.split_once('>'))
                .map_or(directory, |(path, _)| Path::new(path));
            names.push(from.join(name));
        }
        names
    }

    /// Files that it opens for writing, makes, changes or removes.
    fn changes(&self, directory: &Path) -> Vec<PathBuf> {
        let name = self.name.as_str();
        if name.starts_with("open") {
            let writes = [
                "O_WRONLY",
                "O_RDWR",
                "O_CREAT",
                "O_TRUNC",
                "O_APPEND",
                "O_TMPFILE",
            ];
            if !writes.iter().any(|flag| self.arguments.contains(flag)) {
                return Vec::new();
            }
            // By whatever name it was opened: what the kernel says it is.
            let opened = self.result.split_once('<').map(|(_, path)| path);
            return match opened.and_then(|path| path.strip_suffix('>')) {
                Some(path) => vec![PathBuf::from(path)],
                None => self.names(directory),
            };
        }
        if CHANGING_OPEN_FILES.contains(&name) {
            let is_terminal = matches!(self.descriptor(), Some(1 | 2));
            let file = self
                .file()
                .filter(|path| !is_terminal && path.starts_with('/'));
            return file.map(PathBuf::from).into_iter().collect();
        }
        if CHANGING_NAMES.iter().any(|call| name.starts_with(call)) {
            return self.names(directory);
        }
        Vec::new()
    }
}

/// All files that are changed in any way.
fn changed(calls: &[Call], directory: &Path) -> BTreeSet<PathBuf> {
    calls
        .iter()
        .flat_map(|call| call.changes(directory))
        .collect()
}

/// Files that are removed.
fn removed(calls: &[Call], directory: &Path) -> BTreeSet<PathBuf> {
    let removing = calls.iter().filter(|call| call.name.starts_with("unlink"));
    removing.flat_map(|call| call.names(directory)).collect()
}

/// Whether a path is one that a run makes for itself in `directory`: its files of these names, a file that has no name yet, the
/// private folder in which a name is compared before it is removed, and its own descriptors.
fn is_own(path: &Path, directory: &Path, names: &[&str]) -> bool {
    if path.starts_with("/proc/self/fd") {
        return true;
    }
    let Ok(below) = path.strip_prefix(directory) else {
        return false;
    };
    let mut parts = below.iter().filter_map(|part| part.to_str());
    match parts.next() {
        // The directory itself, opened for a file without a name.
        None => true,
        Some(name) if name.starts_with(".straddle-") => true,
        Some(name) => (names.contains(&name) || name.starts_with('#')) && parts.next().is_none(),
    }
}

/// A short experiment.
const BENCH: &str =
    "--offsets unaligned,64K --size 4M --runtime 40ms --warm-up 10ms --blocks 3-3 --seed 1";

#[test]
fn a_benchmark_changes_its_own_file_and_journal_alone() {
    for engine in ["io_uring", "pread"] {
        let (_keep, here) = scratch();
        std::fs::write(here.join("database.bin"), vec![1; 100_000]).expect("a scratch file");
        let mut args = vec!["bench", ".", "--rw", "50/50", "--engine", engine];
        args.extend(BENCH.split(' '));
        let calls = traced(&here, &args);
        let own = ["straddle-bench.dat", "straddle-bench.dat.journal"];
        let changed = changed(&calls, &here);
        for name in own {
            assert!(changed.contains(&here.join(name)), "{engine}: {changed:?}");
        }
        for path in &changed {
            assert!(is_own(path, &here, &own), "{engine}: {}", path.display());
        }
        let gone = removed(&calls, &here);
        let aside = gone.iter().filter(|path| path.ends_with("file"));
        assert_eq!(
            aside.count(),
            2,
            "{engine}: both, by another name: {gone:?}"
        );
        let bytes = std::fs::read(here.join("database.bin")).expect("it is there");
        assert_eq!(bytes, vec![1; 100_000]);
    }
}

#[test]
fn a_file_that_is_only_read_is_never_opened_for_writing() {
    for engine in ["io_uring", "pread"] {
        let (_keep, here) = scratch();
        let file = here.join("database.bin");
        std::fs::write(&file, vec![1; 16 << 20]).expect("a scratch file");
        let mut args = vec!["bench", "database.bin", "--engine", engine];
        args.extend(BENCH.split(' '));
        let calls = traced(&here, &args);
        assert!(opens(&calls, &file) >= 1, "{engine}");
        let journal = "straddle-bench-database.bin.journal";
        for path in changed(&calls, &here) {
            assert!(
                is_own(&path, &here, &[journal]),
                "{engine}: {} is changed; only {journal} may be",
                path.display()
            );
        }
    }
}

#[test]
fn changes_are_seen_in_a_log() {
    let here = Path::new("/tmp");
    let changes = |line: &str| Call::parse(line).expect("a call").changes(here);
    for (line, path) in [
        (
            "openat(AT_FDCWD</tmp>, \"a\", O_RDWR|O_CLOEXEC) = 3</tmp/a>",
            "/tmp/a",
        ),
        (
            "openat(AT_FDCWD</tmp>, \"b/a\", O_WRONLY) = -1 ENOENT (No such file or directory)",
            "/tmp/b/a",
        ),
        ("unlink(\"a\") = 0", "/tmp/a"),
        ("unlinkat(5</var>, \"a\", 0) = 0", "/var/a"),
        ("pwrite64(4</tmp/a>, \"\"..., 8192, 0) = 8192", "/tmp/a"),
        ("fallocate(4</tmp/a>, 0, 0, 8192) = 0", "/tmp/a"),
    ] {
        assert_eq!(changes(line), [PathBuf::from(path)], "{line}");
    }
    assert!(changes("openat(AT_FDCWD</tmp>, \"a\", O_RDONLY) = 3</tmp/a>").is_empty());
    assert!(changes("write(2</dev/pts/0>, \"\"..., 5) = 5").is_empty());
}

#[test]
fn a_log_is_read_as_it_is_meant() {
    let call = Call::parse("openat(AT_FDCWD</tmp>, \"a\", O_RDONLY|O_CLOEXEC) = 3</tmp/a>")
        .expect("a call");
    assert_eq!(
        (call.name.as_str(), call.result.as_str()),
        ("openat", "3</tmp/a>")
    );
    let call = Call::parse("pread64(3</tmp/a>, \"\"..., 8192, 0) = 8192").expect("a call");
    assert_eq!(
        (call.file(), call.descriptor(), call.bytes()),
        (Some("/tmp/a"), Some(3), 8192)
    );
    assert!(Call::parse("+++ exited with 0 +++").is_none());
    let bad = Call::parse("openat(AT_FDCWD</tmp>, \"a\", O_RDWR) = 3</tmp/a>").expect("a call");
    assert!(std::panic::catch_unwind(|| nothing_is_changed(&[bad])).is_err());
}
