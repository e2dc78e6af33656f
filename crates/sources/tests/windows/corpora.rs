//! Replays the fuzzer's corpora of answers on a stable compiler, each seed also cut and with bytes changed.

use std::path::PathBuf;
use straddle_testkit::windows;

use straddle_testkit::windows::made::{answers, made_32};

type Reader = fn(&[u8]);

/// Each target, and how the answers start that are its seeds.
const TARGETS: [(&str, Reader, &[&str]); 6] = [
    (
        "windows-disk",
        windows::disk,
        &["layout", "extents", "number", "length", "geometry"],
    ),
    (
        "windows-property",
        windows::property,
        &["device", "adapter", "alignment", "seek", "trim", "cache"],
    ),
    ("windows-nvme", windows::nvme, &["nvme"]),
    (
        "windows-volume",
        windows::volume,
        &["ntfs", "refs", "sector", "pointers", "base"],
    ),
    ("windows-dependency", windows::dependency, &["dependency"]),
    ("windows-texts", windows::texts, &["names"]),
];

fn fuzz() -> PathBuf {
    straddle_testkit::repository().join("fuzz")
}

/// The seeds of a target: what the C program laid out, for both widths where they differ.
fn seeds(starts: &[&str]) -> Vec<(String, Vec<u8>)> {
    let of_64 = answers(0)
        .iter()
        .filter(|(name, _)| starts.iter().any(|start| name.starts_with(start)));
    let mut seeds = Vec::new();
    for (name, answer) in of_64 {
        let narrow = &made_32(name).bytes;
        if *narrow != answer.bytes {
            seeds.push((format!("{name}-32"), narrow.clone()));
        }
        seeds.push((name.clone(), answer.bytes.clone()));
    }
    seeds
}

/// With `STRADDLE_SEEDS` they are written; else they must be what the C program lays out now, beside those from elsewhere.
#[test]
fn every_seed_is_read_and_is_what_the_c_program_lays_out() {
    for (target, read, starts) in TARGETS {
        let folder = fuzz().join("corpus").join(target);
        let seeds = seeds(starts);
        if std::env::var_os("STRADDLE_SEEDS").is_some() {
            std::fs::create_dir_all(&folder).expect("a folder");
            for (name, bytes) in &seeds {
                std::fs::write(folder.join(name), bytes).expect("written");
            }
        }
        for (name, bytes) in &seeds {
            let path = folder.join(name);
            let there = std::fs::read(&path);
            let there = there.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            assert_eq!(&there, bytes, "{}", path.display());
        }
        let entries = std::fs::read_dir(&folder).expect("a folder");
        for entry in entries {
            let bytes = std::fs::read(entry.expect("a seed").path()).expect("readable");
            for end in (0..=bytes.len()).step_by(bytes.len().div_ceil(300).max(1)) {
                read(&bytes[..end]);
            }
            read(&bytes);
            for at in (0..bytes.len()).step_by(37) {
                let mut edited = bytes.clone();
                edited[at] ^= 0x11;
                read(&edited);
            }
        }
    }
}

#[test]
fn every_target_is_built_and_replayed() {
    let manifest = std::fs::read_to_string(fuzz().join("Cargo.toml")).expect("readable");
    let entries = std::fs::read_dir(fuzz().join("fuzz_targets")).expect("a folder");
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.expect("a target").path();
        let name = path
            .file_stem()
            .and_then(|stem| stem.to_str())
            .unwrap_or_default();
        if name.starts_with("windows-") {
            assert!(manifest.contains(&format!("name = \"{name}\"")), "{name}");
            found.push(name.to_owned());
        }
    }
    found.sort();
    let mut expected = TARGETS.map(|(target, ..)| target);
    expected.sort_unstable();
    assert_eq!(found, expected);
}

#[test]
fn both_compilers_lay_out_the_same_bytes_but_for_pointers() {
    let (wide, narrow) = (answers(0), answers(1));
    let list = include_str!("../../../testkit/src/windows/answers.h").lines();
    let listed = list.filter(|line| line.starts_with("BEGIN(")).count();
    assert_eq!((wide.len(), narrow.len()), (listed, listed));
    for (name, answer) in wide {
        let other = &narrow[name];
        assert_eq!(answer.bytes == other.bytes, name != "dependency", "{name}");
        assert!(
            name == "dependency" || answer.fields == other.fields,
            "{name}"
        );
        assert!(!answer.fields.is_empty(), "{name}");
    }
}
