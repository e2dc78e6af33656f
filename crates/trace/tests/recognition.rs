//! Whose a file is: a capture is its own recorder's and no other's, and what is no trace is nobody's.

use std::path::Path;

use straddle_trace::{FORMATS, Options, TraceError};

use crate::captures::{all, read, repository};

#[test]
fn a_capture_is_no_other_recorders() {
    for capture in all() {
        for format in FORMATS {
            // The last one takes every table that names its columns, which is why it is the last.
            if format.name == capture.format() || format.name == "csv" {
                continue;
            }
            let options = Options {
                format: Some(format.name.to_owned()),
                ..Options::default()
            };
            let found = read(&capture.bytes, &capture.name, &options);
            assert!(
                matches!(found, Err(TraceError::Unknown { .. })),
                "{} is taken for {}",
                capture.name,
                format.name
            );
        }
    }
}

#[test]
fn a_name_that_is_given_is_enough_to_choose_a_recorder() {
    for capture in all() {
        let options = Options {
            format: Some(capture.format().to_owned()),
            ..Options::default()
        };
        let found = read(&capture.bytes, "pipe", &options);
        assert_eq!(
            found.is_ok(),
            capture.refused().is_none(),
            "{}",
            capture.name
        );
    }
}

#[test]
fn ordinary_text_is_no_trace() {
    let root = repository();
    let mut files = 0;
    for start in [
        "README.md",
        "ARCHITECTURE.md",
        "Cargo.lock",
        "Cargo.toml",
        "LICENSE-MIT",
        "tests/evidence",
        "tests/captured",
        "tests/README.md",
        "docs",
        "studies",
        "profiles",
        "crates/trace/src",
    ] {
        each_file(&root.join(start), &mut |path| {
            files += 1;
            is_none(path);
        });
    }
    assert!(files > 200, "{files}");
    for path in [
        "/etc/passwd",
        "/etc/group",
        "/etc/services",
        "/etc/fstab",
        "/etc/mtab",
        "/proc/diskstats",
        "/proc/mounts",
    ] {
        is_none(Path::new(path));
    }
}

fn is_none(path: &Path) {
    let Ok(bytes) = std::fs::read(path) else {
        return;
    };
    if bytes.is_empty() {
        return;
    }
    let name = path.display().to_string();
    match read(&bytes, &name, &Options::default()) {
        Err(TraceError::Unknown { .. }) => {}
        Err(error) => panic!("{error}"),
        Ok(read) => panic!("{name} is taken for {}", read.file.format),
    }
}

fn each_file(path: &Path, see: &mut impl FnMut(&Path)) {
    if !path.is_dir() {
        return see(path);
    }
    for entry in std::fs::read_dir(path).expect("a folder") {
        each_file(&entry.expect("an entry").path(), see);
    }
}
