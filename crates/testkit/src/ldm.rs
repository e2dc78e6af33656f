//! Disks of Windows' Logical Disk Manager and of Storage Spaces, made by `tests/makers/{ldm,spaces}.pl` from descriptions:
//! there is no maker outside of Windows. What they write, and from which published descriptions, stands at their heads.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::repository;

fn makers() -> PathBuf {
    repository().join("tests/makers")
}

/// Names and texts of all descriptions.
pub fn descriptions() -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = fs::read_dir(makers().join("ldm"))
        .expect("a directory of descriptions")
        .map(|entry| entry.expect("readable").path())
        .map(|path| {
            let name = path.file_stem().expect("it has a name");
            let text = fs::read_to_string(&path).expect("readable");
            (name.to_string_lossy().into_owned(), text)
        })
        .collect();
    all.sort();
    all
}

/// Makes the dynamic disks of a description in `directory`; gives their names and contents, in its order.
///
/// # Panics
/// When perl is missing or does not like the description.
pub fn make(directory: &Path, description: &str) -> Vec<(String, Vec<u8>)> {
    make_with("ldm.pl", directory, description)
}

/// The same with another maker.
///
/// # Panics
/// As [`make`].
pub fn make_with(maker: &str, directory: &Path, description: &str) -> Vec<(String, Vec<u8>)> {
    let mut child = Command::new("perl")
        .arg(makers().join(maker))
        .arg(directory)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| {
            panic!("perl: {error}; this test needs the Debian package perl-base")
        });
    let mut input = child.stdin.take().expect("piped");
    input.write_all(description.as_bytes()).expect("it reads");
    drop(input);
    let status = child.wait().expect("it ends");
    assert!(status.success(), "perl {maker}: {status}");
    let disks = description
        .lines()
        .filter_map(|line| line.strip_prefix("disk "))
        .filter(|line| !line.contains("missing=1"))
        .map(|line| line.split(' ').next().expect("a name").to_owned());
    disks
        .map(|name| {
            let bytes = fs::read(directory.join(format!("{name}.img"))).expect("it was made");
            (name, bytes)
        })
        .collect()
}
