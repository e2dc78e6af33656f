//! Replays the fuzzer's corpus of collected trees on a stable compiler, each seed also cut and with bytes changed.

use straddle_testkit::{collected, repository};

#[test]
fn every_seed_is_read_whole_cut_and_changed() {
    let folder = repository().join("fuzz/corpus/collected");
    let entries = std::fs::read_dir(&folder).expect("a folder");
    let mut seeds = 0;
    for entry in entries {
        let bytes = std::fs::read(entry.expect("a seed").path()).expect("readable");
        seeds += 1;
        for end in (0..=bytes.len()).step_by(bytes.len().div_ceil(60).max(1)) {
            collected::tree(&bytes[..end]);
        }
        collected::tree(&bytes);
        for at in (0..bytes.len()).step_by(23) {
            let mut edited = bytes.clone();
            edited[at] ^= 0x11;
            collected::tree(&edited);
        }
    }
    assert!(seeds >= 6, "a seed for each kind of collection");
}
