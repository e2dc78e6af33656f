//! Images to measure on, made by the tools that make them in the field.

use anyhow::{Context, Result};
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::quietly;

const MIB: u64 = 1 << 20;
const BLOCK: usize = 4096;

/// One image of an ordinary size, and a directory of small ones.
pub(super) struct Images {
    pub(super) one: PathBuf,
    pub(super) directory: PathBuf,
    pub(super) kinds: Vec<Kind>,
}

/// Images that differ in nothing but their names.
pub(super) struct Kind {
    /// The blocks that are not all zeroes.
    blocks: Vec<(u64, Vec<u8>)>,
    /// What straddle reads of it.
    pub(super) reads: Vec<Read>,
}

/// One read.
pub(super) struct Read {
    pub(super) offset: u64,
    pub(super) len: usize,
}

impl Images {
    pub(super) fn make(scratch: &Path, count: usize, straddle: &Path) -> Result<Images> {
        let one = scratch.join("one.img");
        disk(&one, 256 * MIB, "dos", 63, "ext4")?;
        let mut kinds = Vec::new();
        let model = scratch.join("model.img");
        for (table, start) in [
            ("dos", 63),
            ("dos", 64),
            ("dos", 128),
            ("gpt", 34),
            ("gpt", 128),
        ] {
            for filesystem in ["ext4", "fat", "none"] {
                disk(&model, MIB, table, start, filesystem)?;
                kinds.push(Kind {
                    blocks: blocks(&model)?,
                    reads: reads(&model, straddle)?,
                });
            }
        }
        let directory = scratch.join("images");
        std::fs::create_dir(&directory)?;
        let images = Images {
            one,
            directory,
            kinds,
        };
        for n in 0..count {
            let file = File::create(images.path(n))?;
            file.set_len(MIB)?;
            for (offset, bytes) in &images.kind(n).blocks {
                file.write_all_at(bytes, *offset)?;
            }
        }
        Ok(images)
    }

    pub(super) fn path(&self, n: usize) -> PathBuf {
        self.directory.join(format!("{n:05}.img"))
    }

    pub(super) fn kind(&self, n: usize) -> &Kind {
        &self.kinds[n % self.kinds.len()]
    }
}

/// A sparse image with one partition from sector `start` to near its end.
fn disk(path: &Path, size: u64, table: &str, start: u64, filesystem: &str) -> Result<()> {
    File::create(path)?.set_len(size)?;
    let sectors = size / 512 - start - 64;
    let mut sfdisk = Command::new("sfdisk")
        .args(["--quiet", "--label", table])
        .arg(path)
        .stdin(Stdio::piped())
        .spawn()
        .context("cannot run `sfdisk` (Debian package fdisk)")?;
    let script = format!("first-lba: 34\nstart={start}, size={sectors}\n");
    let script = if table == "gpt" {
        script
    } else {
        format!("start={start}, size={sectors}\n")
    };
    sfdisk
        .stdin
        .take()
        .context("sfdisk has no input")?
        .write_all(script.as_bytes())?;
    anyhow::ensure!(sfdisk.wait()?.success(), "sfdisk failed");
    let name = path.to_string_lossy();
    let (offset, kib) = ((start * 512).to_string(), (sectors / 2).to_string());
    match filesystem {
        "ext4" => quietly(&[
            "mkfs.ext4",
            "-q",
            "-F",
            "-E",
            &format!("offset={offset}"),
            &name,
            &format!("{kib}k"),
        ]),
        "fat" => {
            let start = start.to_string();
            quietly(&["mkfs.fat", "--offset", &start, "-h", &start, &name, &kib])
        }
        _ => Ok(()),
    }
}

fn blocks(path: &Path) -> Result<Vec<(u64, Vec<u8>)>> {
    let bytes = std::fs::read(path)?;
    let blocks = (0_u64..).step_by(BLOCK).zip(bytes.chunks(BLOCK));
    Ok(blocks
        .filter(|(_, block)| block.iter().any(|b| *b != 0))
        .map(|(at, block)| (at, block.to_vec()))
        .collect())
}

/// What straddle reads of an image, by strace's log of it.
fn reads(path: &Path, straddle: &Path) -> Result<Vec<Read>> {
    let output = Command::new("strace")
        .args(["-f", "-qq", "-s", "0", "-e", "trace=pread64", "-P"])
        .arg(path)
        .arg(straddle)
        .args(["check", "-q"])
        .arg(path)
        .output()
        .context("cannot run `strace` (Debian package strace)")?;
    let log = String::from_utf8(output.stderr)?;
    // pread64(3, ""..., 8192, 0) = 8192
    let read = |line: &str| {
        let (call, _) = line.rsplit_once(" = ")?;
        let (rest, offset) = call.trim_end().strip_suffix(')')?.rsplit_once(", ")?;
        let (_, len) = rest.rsplit_once(", ")?;
        Some(Read {
            offset: offset.parse().ok()?,
            len: len.parse().ok()?,
        })
    };
    let reads: Vec<Read> = log.lines().filter_map(read).collect();
    anyhow::ensure!(!reads.is_empty(), "strace logged no read: {log}");
    Ok(reads)
}
