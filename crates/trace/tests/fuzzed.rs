//! Every recorder is fuzzed for itself.

use std::collections::BTreeSet;

use straddle_trace::{FORMATS, TABLES};

use crate::captures::repository;

#[test]
fn every_recorder_has_its_fuzz_target_and_every_target_its_recorder() {
    let fuzz = repository().join("fuzz");
    let listed = std::fs::read_to_string(fuzz.join("Cargo.toml")).expect("readable");
    let mut targets = BTreeSet::new();
    for entry in std::fs::read_dir(fuzz.join("fuzz_targets")).expect("fuzz targets") {
        let path = entry.expect("a file").path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let Some(format) = name.strip_prefix("trace-") else {
            continue;
        };
        let text = std::fs::read_to_string(&path).expect("readable");
        let call = format!("straddle_fuzz::trace!(\"{format}\");");
        assert!(text.contains(&call), "{name} does not call {call}");
        assert!(
            listed.contains(&format!("name = \"{name}\"")),
            "fuzz/Cargo.toml has no {name}; `cargo xtask docs` writes it"
        );
        targets.insert(format.to_owned());
    }
    let formats: BTreeSet<String> = FORMATS
        .iter()
        .chain(TABLES)
        .map(|f| f.name.to_owned())
        .collect();
    assert_eq!(formats, targets);
}

/// Every seed, also cut at every byte and read with other columns.
#[test]
fn seeds_of_tables_come_to_the_same_in_every_way() {
    let mut seeds = 0;
    for entry in std::fs::read_dir(repository().join("fuzz/corpus/table")).expect("seeds") {
        let mut data = std::fs::read(entry.expect("a file").path()).expect("readable");
        seeds += 1;
        for end in 0..=data.len() {
            straddle_testkit::table::table(&data[..end]);
        }
        for which in 0..=u8::MAX {
            data[2] = which;
            straddle_testkit::table::table(&data);
        }
    }
    assert!(seeds >= 4, "{seeds}");
}
