//! Replays the fuzzers' corpora of other tools' words and of journals on a stable compiler, each seed also cut: at every byte
//! where it is short.

use std::path::PathBuf;

type Reader = fn(&[u8]);

const TARGETS: [(&str, Reader); 4] = [
    ("bench-journal", straddle_testkit::journal::journal),
    ("compat-sqlio", straddle_testkit::compat::sqlio),
    ("compat-diskspd", straddle_testkit::compat::diskspd),
    ("compat-fio-job", straddle_testkit::compat::fio_job),
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
            for end in (0..bytes.len()).step_by(bytes.len().div_ceil(1000).max(1)) {
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
    for (target, _) in TARGETS {
        assert!(
            fuzz().join(format!("fuzz_targets/{target}.rs")).exists(),
            "{target}"
        );
        assert!(
            manifest.contains(&format!("name = \"{target}\"")),
            "{target}"
        );
    }
    let entries = std::fs::read_dir(fuzz().join("fuzz_targets")).expect("targets");
    let ours = entries.filter(|entry| {
        let name = entry.as_ref().expect("a file").file_name();
        let name = name.to_string_lossy();
        name.starts_with("compat-") || name.starts_with("bench-")
    });
    assert_eq!(ours.count(), TARGETS.len());
}
