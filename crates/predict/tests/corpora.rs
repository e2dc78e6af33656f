//! Replays the fuzzers' corpora of profiles, studies and documents on a stable compiler, each seed also cut: at every byte where
//! it is short.

use std::path::PathBuf;

type Reader = fn(&[u8]);

const TARGETS: [(&str, Reader); 4] = [
    ("predict-profile", straddle_testkit::predict::profile),
    ("predict-study", straddle_testkit::predict::study),
    ("predict-outline", straddle_testkit::predict::outline),
    ("predict-measured", straddle_testkit::predict::measured),
];

fn fuzz() -> PathBuf {
    straddle_testkit::repository().join("fuzz")
}

#[test]
fn every_seed_is_read() {
    for (target, read) in TARGETS {
        let folder = fuzz().join("corpus").join(target);
        let entries = std::fs::read_dir(&folder);
        let entries = entries.unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let mut seeds = 0;
        for entry in entries {
            let bytes = std::fs::read(entry.expect("a seed").path()).expect("readable");
            for end in (0..bytes.len()).step_by(bytes.len().div_ceil(300).max(1)) {
                read(&bytes[..end]);
            }
            read(&bytes);
            seeds += 1;
        }
        assert!(seeds >= 3, "{target} has {seeds} seeds");
    }
}

#[test]
fn every_target_is_built() {
    let manifest = std::fs::read_to_string(fuzz().join("Cargo.toml")).expect("readable");
    let entries = std::fs::read_dir(fuzz().join("fuzz_targets")).expect("targets");
    let mut ours: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.path().file_stem()?.to_str().map(str::to_owned))
        .filter(|name| name.starts_with("predict-"))
        .collect();
    ours.sort();
    let mut known: Vec<&str> = TARGETS.iter().map(|(target, _)| *target).collect();
    known.sort_unstable();
    assert_eq!(ours, known);
    for target in known {
        assert!(
            manifest.contains(&format!("name = \"{target}\"")),
            "{target}"
        );
    }
}
