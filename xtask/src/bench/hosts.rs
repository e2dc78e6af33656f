//! `cargo xtask bench hosts`: ten thousand hosts that `straddle capture` wrote, and archives of a support tool, beside unpacking them.

use anyhow::{Context, Result, ensure};
use std::fmt::Write as _;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::archive::Archive;
use super::measure::{Series, interleaved, peak_kib, summary};
use super::{Scratch, as_f64};
use crate::run::{cargo, repository, run};

/// Captures in the folder, and in the small one whose memory is compared.
const CAPTURES: usize = 10_000;
const FEW: usize = 1_000;
/// Support archives, and how much log each has in it: what support teams are sent has logs, and little else.
const ARCHIVES: usize = 20;
const LOG: usize = 48 << 20;
const ROUNDS: usize = 10;

/// Measures, and archives the figures under benches/.
pub(crate) fn hosts() -> Result<()> {
    run(cargo().args(["build", "--quiet", "--release", "--package", "straddle-cli"]))?;
    run(cargo()
        .args(["build", "--quiet", "--release", "--package", "straddle-io"])
        .args(["--example", "unpack"]))?;
    let release = repository().join("target/release");
    let (straddle, unpack) = (release.join("straddle"), release.join("examples/unpack"));
    let scratch = Scratch::new()?;
    let mut archive = Archive::new();
    captures(&straddle, &scratch.0, &mut archive)?;
    support(&straddle, &unpack, &scratch.0, &mut archive)?;
    archive.write("hosts", "cargo xtask bench hosts")
}

fn captures(straddle: &Path, scratch: &Path, archive: &mut Archive) -> Result<()> {
    let hosts = captured(straddle, scratch)?;
    let folder = copies(scratch, "captures", &hosts, CAPTURES)?;
    let few = copies(scratch, "few", &hosts, FEW)?;
    let (path, few, straddle) = (
        folder.to_string_lossy(),
        few.to_string_lossy(),
        straddle.to_string_lossy(),
    );
    let unpack = format!("find {path} -type f -print0 | xargs -0 gzip -dc > /dev/null");
    let tools = [
        ("gzip -dc", vec!["sh", "-c", &unpack]),
        ("straddle check --summary", summary(&straddle, &path)),
    ];
    let series = interleaved(&tools, ROUNDS)?;
    let median = |series: &Series| series.quartile(2);
    archive.section(
        "Captures",
        "s",
        &format!(
            "{CAPTURES} captures of {} different hosts in one folder, in the page cache",
            hosts.len()
        ),
        &series,
    );
    archive.text(&format!(
        "{:.0} captures a second are checked; {:.0} are unpacked by gzip.",
        as_f64(CAPTURES) / median(&series[1]),
        as_f64(CAPTURES) / median(&series[0])
    ));
    let mut memory = [
        (Series::new(&format!("{FEW} captures")), few),
        (Series::new(&format!("{CAPTURES} captures")), path.clone()),
    ];
    for _ in 0..3 {
        for (series, path) in &mut memory {
            series.push(peak_kib(&summary(&straddle, path))?);
        }
    }
    archive.section(
        "Peak memory",
        "KiB",
        "resident, a process each",
        &memory.map(|(series, _)| series),
    );
    Ok(())
}

/// Beside what people unpack with, and beside nothing but the decompressor that straddle has: what it adds, and what the library costs.
fn support(straddle: &Path, unpack: &Path, scratch: &Path, archive: &mut Archive) -> Result<()> {
    let (straddle, own) = (straddle.to_string_lossy(), unpack.to_string_lossy());
    for (packer, end) in [("xz", "xz"), ("gzip", "gz")] {
        let folder = scratch.join(format!("support-{end}"));
        std::fs::create_dir(&folder)?;
        for host in 0..ARCHIVES {
            sosreport(scratch, &folder, host, packer, end)?;
        }
        let path = folder.to_string_lossy();
        // As many at once as the other uses processors.
        let each = |program: &str| {
            format!("find {path} -type f -print0 | xargs -0 -n 1 -P 2 {program} > /dev/null")
        };
        let (unpack, alone) = (each(&format!("{packer} -dc")), each(&own));
        let tools = [
            ("unpacking alone", vec!["sh", "-c", &unpack]),
            ("straddle's decompressor alone", vec!["sh", "-c", &alone]),
            ("straddle check --summary", summary(&straddle, &path)),
        ];
        let series = interleaved(&tools, ROUNDS)?;
        archive.section(
            &format!("sosreports, packed by {packer}"),
            "s",
            &format!(
                "{ARCHIVES} archives with {} MiB of logs each, in the page cache; both use two processes or threads",
                LOG >> 20
            ),
            &series,
        );
        let mut memory = Series::new("straddle check --summary");
        for _ in 0..3 {
            memory.push(peak_kib(&summary(&straddle, &path))?);
        }
        archive.section(
            &format!("Peak memory: sosreports, packed by {packer}"),
            "KiB",
            "resident",
            &[memory],
        );
    }
    Ok(())
}

/// A capture of each host that the tests have.
fn captured(straddle: &Path, scratch: &Path) -> Result<Vec<PathBuf>> {
    let folder = scratch.join("hosts");
    std::fs::create_dir(&folder)?;
    let mut captures = Vec::new();
    for entry in std::fs::read_dir(repository().join("tests/hosts"))? {
        let tree = entry?.path();
        if tree.extension().is_none_or(|end| end != "tree") {
            continue;
        }
        let to = folder.join(format!("{}.tgz", captures.len()));
        let mut capture = Command::new(straddle);
        capture.args(["capture", "--sysroot"]).arg(&tree);
        let output = capture.arg("-o").arg(&to).output()?;
        ensure!(
            output.status.success(),
            "{}: {}",
            tree.display(),
            output.status
        );
        captures.push(to);
    }
    ensure!(!captures.is_empty(), "no hosts");
    Ok(captures)
}

fn copies(scratch: &Path, name: &str, of: &[PathBuf], count: usize) -> Result<PathBuf> {
    let folder = scratch.join(name);
    std::fs::create_dir(&folder)?;
    for (number, from) in of.iter().cycle().take(count).enumerate() {
        std::fs::copy(from, folder.join(format!("host{number:05}.tgz")))?;
    }
    Ok(folder)
}

/// An archive with the members that sos writes, most of which is logs; by name, as Python's tarfile orders them.
fn sosreport(scratch: &Path, folder: &Path, host: usize, packer: &str, end: &str) -> Result<()> {
    let top = format!("sosreport-host{host}-2026");
    let tree = scratch.join(&top);
    let put = |path: &str, text: &str| -> Result<()> {
        let path = tree.join(path);
        std::fs::create_dir_all(path.parent().context("a folder")?)?;
        Ok(std::fs::write(path, text)?)
    };
    let start = [63, 2048][host % 2];
    put(
        "sos_commands/block/lsblk",
        "NAME   MAJ:MIN RM SIZE RO TYPE MOUNTPOINTS\nsda      8:0    0  20G  0 disk \n└─sda1   8:1    0  19G  0 part /data\n",
    )?;
    put(
        "sos_commands/block/parted_-s_.dev.sda_unit_s_print",
        &format!(
            "Model: ATA ST20000 (scsi)\nDisk /dev/sda: 41943040s\nSector size (logical/physical): 512B/4096B\nPartition Table: msdos\nDisk Flags: \n\n\
             Number  Start  End        Size       Type     File system  Flags\n 1      {start}s    39845887s  {}s  primary  ext4\n\n",
            39_845_888 - start
        ),
    )?;
    put("version.txt", "sosreport: 4.5.0\n")?;
    put("sos_commands/host/hostname", &format!("host{host}\n"))?;
    let log = tree.join("var/log");
    std::fs::create_dir_all(&log)?;
    let mut log = BufWriter::new(std::fs::File::create(log.join("messages"))?);
    let (mut written, mut line, mut random) =
        (0, String::new(), 0x9e37_79b9_7f4a_7c15_u64 + host as u64);
    while written < LOG {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        line.clear();
        writeln!(
            line,
            "Nov 28 07:{:02}:{:02} host{host} systemd[{}]: session-{}.scope: consumed {} ms of processor time",
            written / 60 % 60,
            written % 60,
            random % 32_768,
            random >> 48,
            random >> 32 & 0xffff
        )?;
        log.write_all(line.as_bytes())?;
        written += line.len();
    }
    log.flush()?;
    let line = format!(
        "tar -C {} --sort=name -cf - {top} | {packer} -1 > {}/{top}.tar.{end} && rm -r {}",
        scratch.display(),
        folder.display(),
        tree.display()
    );
    run(Command::new("sh").args(["-c", &line]))
}
