//! qemu-img and qemu-io as makers of virtual disks, and as oracles for what is in them.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::process::Command;

use crate::support::tool;

/// Runs qemu-img in `folder` and gives what it prints.
#[track_caller]
pub(crate) fn qemu_img<I>(folder: &Path, args: I) -> String
where
    I: IntoIterator,
    I::Item: AsRef<OsStr>,
{
    let mut command = Command::new("qemu-img");
    command.args(args).current_dir(folder);
    String::from_utf8(tool("qemu-utils", &mut command).stdout).expect("output is UTF-8")
}

/// Runs commands of qemu-io on an image, in one process.
#[track_caller]
pub(crate) fn qemu_io(folder: &Path, format: &str, image: &str, commands: &[String]) {
    let mut command = Command::new("qemu-io");
    command
        .args(["-f", format, "-d", "unmap"])
        .current_dir(folder);
    for line in commands {
        command.args(["-c", line]);
    }
    let output = tool("qemu-utils", command.arg(image));
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(!said.contains("failed"), "{image}: {said}");
}

/// Numbers that look random and are the same for the same seed (SplitMix64).
#[derive(Clone, Debug)]
pub(crate) struct Rng(pub(crate) u64);

impl Rng {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// One below `n`, which is not 0.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            items.swap(at, self.below(at as u64 + 1) as usize);
        }
    }
}

/// A part of a virtual disk that lies in one piece of a file, by `qemu-img map`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mapped {
    pub(crate) start: u64,
    pub(crate) len: u64,
    pub(crate) offset: u64,
}

/// Where the data of a virtual disk lie, by `qemu-img map`: sorted, holes left out.
pub(crate) fn map(folder: &Path, format: &str, image: &str) -> Vec<Mapped> {
    let said = qemu_img(folder, ["map", "--output=json", "-f", format, image]);
    let rows: serde_json::Value = serde_json::from_str(&said).expect("JSON");
    let rows = rows.as_array().expect("a list");
    let rows = rows.iter().filter(|row| row["data"] == true);
    rows.map(|row| {
        let number = |key: &str| {
            let number = row[key].as_u64();
            number.unwrap_or_else(|| panic!("{image}: no {key} in {row}"))
        };
        Mapped {
            start: number("start"),
            len: number("length"),
            offset: number("offset"),
        }
    })
    .collect()
}

/// Copies a file into another from byte `at` on, leaving out blocks of zeroes.
pub(crate) fn copy_into(target: &mut File, at: u64, source: &Path) {
    const BLOCK: usize = 65_536;
    let bytes = fs::read(source).expect("a scratch file");
    for (n, block) in bytes.chunks(BLOCK).enumerate() {
        if block.iter().any(|byte| *byte != 0) {
            target
                .seek(SeekFrom::Start(at + (n * BLOCK) as u64))
                .and_then(|_| target.write_all(block))
                .expect("room for it");
        }
    }
}
