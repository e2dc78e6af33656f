//! The static Linux binary, the Windows binary and its archive, and a smoke test of both.

use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Mutex;

use straddle_testkit::{shipped, under_wine};

use crate::packages::{self, WINDOWS};
use crate::run::{cargo, output, run};

/// Builds all; with `smoke`, runs both on an image and on bad input and compares what they print.
pub(crate) fn build(smoke: bool) -> Result<()> {
    packages::for_dist()?;
    let musl = shipped()?;
    let windows = program_for_windows(smoke)?;
    is_static(&musl)?;
    needs_the_system_only(&windows)?;
    let archive = archive(&windows)?;
    for made in [&musl, &windows, &archive] {
        println!("dist: {}", made.display());
    }
    if smoke {
        compare(&musl, &windows)
    } else {
        Ok(())
    }
}

/// The static binary for Linux.
pub(crate) fn shipped() -> Result<PathBuf> {
    packages::for_static()?;
    let mut cargo = cargo();
    let program = shipped::build(&mut cargo);
    run(&mut cargo)?;
    Ok(Path::new("target").join(program))
}

/// The program for Windows: small and fast, or the one that tests run.
fn program_for_windows(of_tests: bool) -> Result<PathBuf> {
    let mut cargo = cargo();
    let program = if of_tests {
        under_wine::build(&mut cargo)
    } else {
        cargo
            .args(["build", "--quiet", "--package", "straddle-cli"])
            .args(["--profile", shipped::PROFILE, "--target", WINDOWS]);
        Path::new(WINDOWS)
            .join(shipped::PROFILE)
            .join("straddle.exe")
    };
    run(&mut cargo)?;
    Ok(Path::new("target").join(program))
}

/// What somebody copies to a server of Windows: the program, its licences and the page to begin with.
fn archive(windows: &Path) -> Result<PathBuf> {
    let version = output(cargo().args(["pkgid", "--package", "straddle-cli"]))?;
    let version = version.trim().rsplit(['@', '#']).next().unwrap_or_default();
    let name = format!("straddle-{version}-windows-x86_64");
    let all = PathBuf::from("target/dist");
    let folder = all.join(&name);
    std::fs::create_dir_all(&folder)?;
    for (from, to) in [
        (windows, "straddle.exe"),
        (
            Path::new("docs/sql-server.md"),
            "SQL Server in ten minutes.md",
        ),
        (Path::new("LICENSE-MIT"), "LICENSE-MIT.txt"),
        (Path::new("LICENSE-APACHE"), "LICENSE-APACHE.txt"),
    ] {
        let to = folder.join(to);
        std::fs::copy(from, &to)
            .with_context(|| format!("{} to {}", from.display(), to.display()))?;
    }
    // Into one that is there already, files would be added.
    let archive = all.join(format!("{name}.zip"));
    if archive.exists() {
        std::fs::remove_file(&archive)?;
    }
    run(Command::new("zip")
        .args([
            "--quiet",
            "--recurse-paths",
            "-X",
            &format!("{name}.zip"),
            &name,
        ])
        .current_dir(&all))?;
    Ok(archive)
}

fn is_static(binary: &Path) -> Result<()> {
    let headers = output(
        Command::new("readelf")
            .args(["--program-headers", "--wide"])
            .arg(binary),
    )?;
    if headers.contains("Requesting program interpreter") {
        bail!(
            "{} is not static: it asks for a program interpreter",
            binary.display()
        );
    }
    Ok(())
}

/// Every Windows has these, Server Core too.
const OF_THE_SYSTEM: [&str; 11] = [
    "advapi32.dll",
    "api-ms-win-core-synch-l1-2-0.dll",
    "bcrypt.dll",
    "bcryptprimitives.dll",
    "cfgmgr32.dll",
    "kernel32.dll",
    "msvcrt.dll",
    "ntdll.dll",
    "userenv.dll",
    "virtdisk.dll",
    "ws2_32.dll",
];

fn needs_the_system_only(binary: &Path) -> Result<()> {
    let headers = output(
        Command::new("x86_64-w64-mingw32-objdump")
            .arg("--private-headers")
            .arg(binary),
    )?;
    let names = headers
        .lines()
        .filter_map(|line| line.trim().strip_prefix("DLL Name: "));
    for name in names {
        let name = name.to_lowercase();
        if !OF_THE_SYSTEM.contains(&name.as_str()) {
            bail!(
                "{} needs {name}, which not every Windows has",
                binary.display()
            );
        }
    }
    Ok(())
}

/// Both must say the same about the same image, byte for byte.
fn compare(musl: &Path, windows: &Path) -> Result<()> {
    let folder = PathBuf::from("target/smoke");
    std::fs::create_dir_all(&folder)?;
    let image = folder.join("legacy.img");
    std::fs::write(&image, image_at_sector_63())?;
    std::fs::write(folder.join("empty.img"), [])?;
    let prefix = wine_prefix(&folder)?;
    let wine = |args: &[&str]| -> Result<(Option<i32>, String)> {
        let once = || -> Result<Output> {
            Command::new("wine")
                .arg(std::env::current_dir()?.join(windows))
                .args(args)
                .current_dir(&folder)
                .env("WINEPREFIX", &prefix)
                .env("WINEDEBUG", "-all")
                .output()
                .context("cannot run wine; install the Debian packages wine and wine64")
        };
        let mut output = once()?;
        // On a busy machine Wine's server may not be up in time; Wine then ends without starting the program, which would
        // have printed something on one stream or the other.
        if output.stdout.is_empty() && output.stderr.is_empty() {
            output = once()?;
        }
        let text = String::from_utf8(output.stdout)?.replace("\r\n", "\n");
        // What moves partitions in place here makes a new file there.
        Ok((output.status.code(), text.replace(" -o NEW", "")))
    };
    let linux = |args: &[&str]| -> Result<(Option<i32>, String)> {
        let output = Command::new(std::env::current_dir()?.join(musl))
            .args(args)
            .current_dir(&folder)
            .output()?;
        Ok((output.status.code(), String::from_utf8(output.stdout)?))
    };
    std::fs::copy("tests/hosts/sata-512e-63.tree", folder.join("host.tree"))?;
    for fixture in ["vhd-dynamic", "nested-host-63", "qcow2-chain"] {
        let archive = format!("tests/images/{fixture}.tgz");
        run(Command::new("tar")
            .args(["-xzf", &archive, "-C"])
            .arg(&folder))?;
    }
    let cases: [(&[&str], i32); 13] = [
        (&["check", "--as", "image", "vhd-dynamic.img"], 1),
        (
            &["check", "--guest-file", "/vm.qcow2", "nested-host-63.img"],
            1,
        ),
        (&["check", "--as", "image", "--json", "qcow2-chain.img"], 0),
        (&["check", "legacy.img"], 1),
        (&["check", "--json", "legacy.img"], 1),
        (&["check", "--sysroot", "host.tree"], 1),
        (
            &[
                "check",
                "--format",
                "csv",
                "legacy.img",
                "--sysroot",
                "host.tree",
            ],
            2,
        ),
        (&["check", "--as", "image", "empty.img"], 2),
        (&["check", "no-such-file.img"], 2),
        (&["explain", "STR101"], 0),
        // Simulated figures are the same to the bit on every platform.
        (
            &split(
                "predict --profile eva8100 --io 8K --rw 70/30 --threads 4 --outstanding 32 --offsets unaligned,64K --requests 2000 --format json",
            ),
            0,
        ),
        (
            &split(
                "predict --profile barracuda-es2 --io 4K:50+64K:50 --rw 50/50 --threads 1 --outstanding 16 --offsets unaligned,1M --requests 2000 --format json",
            ),
            0,
        ),
        (
            &split(
                "predict --profile qlc-16k --io 8K --rw 30/70 --threads 4 --outstanding 16 --offsets unaligned,1M --size 1GiB --requests 2000 --format json",
            ),
            0,
        ),
    ];
    let agree = |(args, want): (&[&str], i32)| -> Result<()> {
        let (here, there) = (linux(args)?, wine(args)?);
        if here.0 != Some(want) || here != there {
            bail!(
                "`straddle {}`: expected exit status {want} and the same output twice; static binary: {here:?}; Windows binary: {there:?}",
                args.join(" ")
            );
        }
        Ok(())
    };
    // Wine waits for its server half of the time.
    let todo = Mutex::new(cases.into_iter());
    let next = || todo.lock().expect("no panic while held").next();
    let some = || std::iter::from_fn(next).try_for_each(agree);
    std::thread::scope(|scope| {
        let lanes = [scope.spawn(some), scope.spawn(some)];
        lanes
            .into_iter()
            .try_for_each(|lane| lane.join().expect("no panic"))
    })?;
    println!("dist: both binaries agree on {} smoke tests", cases.len());
    Ok(())
}

/// The words of a command line without quotes.
fn split(line: &str) -> Vec<&str> {
    line.split(' ').collect()
}

/// An MBR with one partition at sector 63, 1 MiB long in all.
fn image_at_sector_63() -> Vec<u8> {
    let mut image = vec![0; 1 << 20];
    image[446..462].copy_from_slice(&[0, 1, 1, 0, 7, 0, 0, 0, 63, 0, 0, 0, 0, 7, 0, 0]);
    image[510..512].copy_from_slice(&[0x55, 0xaa]);
    image
}

/// A Wine prefix in which a Rust program starts: Wine 8 lacks a DLL that the standard library imports, so one that
/// forwards to its older equivalent is built and put there.
fn wine_prefix(folder: &Path) -> Result<PathBuf> {
    let prefix = std::env::current_dir()?.join(folder).join("wine");
    let system = prefix.join("drive_c/windows/system32");
    if !system.join("bcryptprimitives.dll").exists() {
        let mut boot = Command::new("wine");
        boot.args(["wineboot", "--init"])
            .env("WINEPREFIX", &prefix)
            .env("WINEDEBUG", "-all")
            .env("DISPLAY", "");
        run(boot
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null()))?;
        run(Command::new("x86_64-w64-mingw32-gcc")
            .args(["-O2", "-shared", "-o"])
            .arg(system.join("bcryptprimitives.dll"))
            .args(["xtask/wine/bcryptprimitives.c", "-ladvapi32"]))?;
    }
    Ok(prefix)
}
