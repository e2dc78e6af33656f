//! What the tests need from Debian, and how it gets there.

use anyhow::{Context, Result};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::run::run;

/// Packages that tests call programs of, each with the reason.
const TESTS: &[(&str, &str)] = &[
    ("btrfs-progs", "mkfs.btrfs and dump-super: oracle for btrfs"),
    (
        "busybox",
        "its shell is that of ESXi: runs scripts of `fix` for it",
    ),
    (
        "gcc-mingw-w64-x86-64",
        "links straddle.exe, makes its driver and stubs of tools, and lays out answers of Windows",
    ),
    (
        "gcc-mingw-w64-i686",
        "lays out answers of Windows as a program of 32 bits gets them",
    ),
    (
        "bcache-tools",
        "make-bcache and bcache-super-show: oracle for bcache, in the lab",
    ),
    (
        "cryptsetup-bin",
        "cryptsetup, veritysetup, integritysetup: oracle for encryption, in the lab too",
    ),
    (
        "chromium",
        "the browser in which reports are looked at and clicked through",
    ),
    ("dislocker", "dislocker-metadata: oracle for BitLocker"),
    ("dmsetup", "oracle for device-mapper tables in the lab"),
    ("dosfstools", "mkfs.fat and fsck.fat: oracle for FAT"),
    (
        "e2fsprogs",
        "mkfs.ext4, dumpe2fs, filefrag: oracle for ext and for file extents",
    ),
    ("exfatprogs", "mkfs.exfat and dump.exfat: oracle for exFAT"),
    ("fdisk", "sfdisk: oracle for partition tables"),
    ("fonts-dejavu-core", "letters for the browser"),
    (
        "gcc",
        "builds what the lab preloads, and programs of its guests",
    ),
    (
        "fio",
        "its log is compared with what evidence reads, in the lab",
    ),
    ("gddrescue", "ddrescue: a command of the rules' pages"),
    (
        "gdisk",
        "sgdisk: oracle for GPT; gdisk: a command of the rules' pages",
    ),
    ("jq", "reads reports in the lab"),
    ("kmod", "modprobe: loads the modules of the lab's kernel"),
    ("ldmtool", "oracle for dynamic disks, in the lab too"),
    ("lvm2", "volumes in the lab, and pvs as their oracle"),
    ("mdadm", "arrays in the lab, and --examine as their oracle"),
    ("musl-tools", "compiler and linker for the static binary"),
    (
        "sosreport",
        "archives of guests in the lab, made by sos itself",
    ),
    (
        "mariadb-client-core",
        "mariadb: a load, and what the server says of it, in the lab",
    ),
    (
        "mariadb-server-core",
        "mariadbd: makes the tablespaces of InnoDB, and is a server in the lab",
    ),
    (
        "mount",
        "losetup: a device that vanishes; mount and losetup in the lab",
    ),
    (
        "mtools",
        "mdir and mcopy: what is in a FAT image, for scripts of fix",
    ),
    ("nodejs", "node: runs the tests in the browser"),
    ("ntfs-3g", "mkntfs, ntfsinfo, ntfscluster: oracle for NTFS"),
    (
        "openjdk-17-jre-headless",
        "java: Spark, whose tasks count requests",
    ),
    ("parted", "oracle for partition tables"),
    (
        "perl-base",
        "perl: makes dynamic disks and Storage Spaces, and writes the database of a lab case",
    ),
    (
        "postgresql-15",
        "initdb, postgres and pgbench: a server and its load in the lab",
    ),
    (
        "postgresql-client-15",
        "psql: what the server in the lab says",
    ),
    (
        "qemu-system-x86",
        "takes options that the rules' pages name; nothing is started in it",
    ),
    (
        "qemu-utils",
        "qemu-img and qemu-io: oracle for virtual disk containers",
    ),
    (
        "python3-venv",
        "keeps the packages that tests/python names to this repository",
    ),
    (
        "python3-libvhdi",
        "pyvhdi: reads chains of differencing VHD and VHDX",
    ),
    ("shellcheck", "reads the scripts that fix writes"),
    (
        "strace",
        "proves that targets are opened read-only and how much is read",
    ),
    (
        "smartmontools",
        "smartctl: a command of the rules' pages, in the lab",
    ),
    ("sysstat", "iostat: what evidence reads, in the lab"),
    ("systemd", "systemd-repart: carries out repair plans"),
    ("time", "peak memory of a run"),
    (
        "thin-provisioning-tools",
        "thin_check and cache_check: LVM wants them for pools in the lab",
    ),
    ("user-mode-linux", "the lab's kernel"),
    (
        "util-linux",
        "blkid, lsblk: oracle for signatures and for the live host",
    ),
    ("wiredtiger", "wt: makes files of WiredTiger"),
    (
        "wimtools",
        "fills NTFS images without mounting them, in the lab too",
    ),
    (
        "wine",
        "runs the collection script for the console of Windows",
    ),
    (
        "wine64",
        "runs the collection script for the console of Windows",
    ),
    (
        "valgrind",
        "callgrind: instructions that readers take, for the scale test",
    ),
    (
        "xfsdump",
        "xfsdump and xfsrestore: commands of the rules' pages, in the lab",
    ),
    ("xfsprogs", "mkfs.xfs and xfs_db: oracle for XFS"),
    (
        "vmfs-tools",
        "debugvmfs: oracle for VMFS 3 and 5 made by the generator",
    ),
    (
        "vmfs6-tools",
        "debugvmfs6: reads what the generator makes of VMFS 6",
    ),
    ("zfs-fuse", "zpool and zdb: oracle for ZFS"),
    ("zstd", "makes a decompression bomb"),
    ("bzip2", "packs images"),
    ("xz-utils", "packs images"),
];

/// Targets of the static and of the Windows build.
pub(crate) const MUSL: &str = straddle_testkit::shipped::TARGET;
pub(crate) const WINDOWS: &str = straddle_testkit::under_wine::TARGET;

/// Packages that the Windows build and the smoke test of both need.
const DIST: &[(&str, &str)] = &[
    ("binutils", "readelf: tells a static binary"),
    ("gcc-mingw-w64-x86-64", "linker for the Windows binary"),
    ("wine", "runs the Windows binary"),
    ("wine64", "runs the Windows binary"),
    ("zip", "what is copied to a server of Windows"),
];

/// Where the packages of the tests in a browser are named, and where they go.
const BROWSER_TESTS: &str = "tests/e2e";

/// Installs what the tests need.
pub(crate) fn for_tests() -> Result<()> {
    to_build_tests()?;
    to_run_tests()
}

/// Installs what the tests are built with, and tools of Debian that they run; targets of the toolchain among it, as they run
/// the static binary and that of Windows, too.
pub(crate) fn to_build_tests() -> Result<()> {
    install(TESTS)?;
    targets(&[MUSL, WINDOWS])
}

/// Installs what the tests run besides, after [`to_build_tests`].
pub(crate) fn to_run_tests() -> Result<()> {
    node_packages()?;
    python_packages("requirements.txt")?;
    python_packages("spark.txt")
}

/// Where packages of Python go.
pub(crate) const PYTHON: &str = "target/python";

/// Installs the packages of Python that a file of tests/python names, each with its version, for nobody else's use. Debian's Python:
/// another one that is found first may be of any version.
fn python_packages(list: &str) -> Result<()> {
    let list = Path::new("tests/python").join(list);
    let done = Path::new(PYTHON).join(list.file_name().unwrap_or_default());
    let wanted = std::fs::read(&list).with_context(|| list.display().to_string())?;
    if std::fs::read(&done).is_ok_and(|there| there == wanted) {
        return Ok(());
    }
    let hint = || format!("the tests need the packages that {} names", list.display());
    run(Command::new("/usr/bin/python3").args(["-m", "venv", PYTHON])).with_context(hint)?;
    run(Command::new(Path::new(PYTHON).join("bin/pip"))
        .args(["install", "--quiet", "--disable-pip-version-check"])
        // Most modules are never imported; those that are get compiled then.
        .args(["--no-compile", "--only-binary", ":all:", "--requirement"])
        .arg(&list))
    .with_context(hint)?;
    std::fs::write(&done, wanted)?;
    Ok(())
}

/// Installs what the tests of the module for Python need.
pub(crate) fn for_python() -> Result<()> {
    install(&[
        ("fdisk", "sfdisk: makes the image that is checked"),
        (
            "openjdk-17-jre-headless",
            "java: Spark, whose tasks count requests",
        ),
        ("python3-venv", "keeps the packages to this repository"),
    ])?;
    python_packages("requirements.txt")?;
    python_packages("spark.txt")
}

/// Installs what traces are read with beside `straddle trace`.
#[cfg(feature = "library")]
pub(crate) fn for_traces() -> Result<()> {
    install(&[("python3-venv", "keeps what is compared apart")])?;
    python_packages("bench.txt")
}

/// Installs the packages of the tests in a browser, as their lock file names them. Debian's `npm` is a package of its own; a node from
/// elsewhere brings one.
fn node_packages() -> Result<()> {
    let has_npm = Command::new("npm")
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !has_npm {
        install(&[("npm", "installs the packages of the tests in a browser")])?;
    }
    let modified = |name: &str| std::fs::metadata(Path::new(BROWSER_TESTS).join(name))?.modified();
    let installed = modified("node_modules/.package-lock.json");
    if installed.is_ok_and(|at| modified("package-lock.json").is_ok_and(|lock| lock <= at)) {
        return Ok(());
    }
    run(Command::new("npm")
        .args([
            "ci",
            "--ignore-scripts",
            "--no-audit",
            "--no-fund",
            "--silent",
        ])
        .args(["--prefix", BROWSER_TESTS]))
    .with_context(|| {
        format!("the tests need the packages that {BROWSER_TESTS}/package-lock.json names")
    })
}

/// Installs what logs and counters are read with beside `straddle evidence`.
#[cfg(feature = "library")]
pub(crate) fn for_evidence() -> Result<()> {
    install(&[
        ("gzip", "unpacks, beside what is read packed"),
        ("zstd", "unpacks, beside what is read packed"),
        ("python3-pandas", "what people read counters with"),
    ])
}

/// Installs what the Windows build needs, and the smoke test of both.
pub(crate) fn for_dist() -> Result<()> {
    install(DIST)?;
    targets(&[WINDOWS])
}

/// Installs what the static build needs.
pub(crate) fn for_static() -> Result<()> {
    install(&[("musl-tools", "compiler and linker for the static binary")])?;
    targets(&[MUSL])
}

/// Adds to the toolchain what it is to build for.
fn targets(targets: &[&str]) -> Result<()> {
    run(Command::new("rustup")
        .args(["--quiet", "target", "add"])
        .args(targets))
}

/// Installs those of `packages` that are missing. As another user than root, through sudo.
fn install(packages: &[(&'static str, &str)]) -> Result<()> {
    let missing: Vec<&str> = packages
        .iter()
        .map(|(name, _)| *name)
        .filter(|name| !is_installed(name))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    eprintln!("xtask: installing {}", missing.join(" "));
    let hint = || {
        format!(
            "the tests need these Debian packages: {}",
            missing.join(" ")
        )
    };
    run(as_root("apt-get").args(["update", "--quiet=2"])).with_context(hint)?;
    run(as_root("env")
        .args([
            "DEBIAN_FRONTEND=noninteractive",
            "apt-get",
            "install",
            "--yes",
            "--quiet=2",
            "--no-install-recommends",
        ])
        .args(&missing)
        .stdout(Stdio::null()))
    .with_context(hint)
}

fn is_installed(package: &str) -> bool {
    Command::new("dpkg-query")
        .args(["--show", "--showformat=${db:Status-Status}", package])
        .stderr(Stdio::null())
        .output()
        .is_ok_and(|output| output.stdout == b"installed")
}

fn as_root(program: &str) -> Command {
    let root = Command::new("id")
        .arg("-u")
        .output()
        .is_ok_and(|output| output.stdout.trim_ascii() == b"0");
    if root {
        Command::new(program)
    } else {
        let mut sudo = Command::new("sudo");
        sudo.arg(program);
        sudo
    }
}
