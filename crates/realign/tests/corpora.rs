//! Replays the fuzzer's corpus of journals on a stable compiler, each seed also cut.

use straddle_realign::Method;

use crate::case::{Case, forward};
use crate::disk::{Disk, Power};

const TARGET: &str = "realign-journal";

/// Journals that were stopped in the middle, of several shapes. With `STRADDLE_SEEDS` they are written, and become the seeds.
fn seeds() -> Vec<(&'static str, Vec<u8>)> {
    let stopped = |case: Case, after: u64| {
        let power = Power::until(after);
        let (disk, log) = (
            Disk::new(case.disk(), power.clone()),
            Disk::new(case.journal(), power),
        );
        let _ = case
            .create(&disk, &log)
            .and_then(|mut it| forward(&mut it, case.check));
        log.seen()
    };
    let edited = Case {
        has_edits: true,
        batch: 1,
        ..Case::new(&[(3, 5, 10), (13, 16, 9)], 2)
    };
    let journaled = Case {
        method: Method::Journaled,
        ..Case::new(&[(9, 7, 6)], 3)
    };
    vec![
        ("begun", stopped(Case::new(&[(3, 8, 5)], 2), 40)),
        ("journaled", stopped(journaled, 55)),
        ("two-parts-with-edits", stopped(edited.clone(), 90)),
        ("done", stopped(edited, u64::MAX)),
    ]
}

#[test]
fn every_seed_is_read() {
    let folder = straddle_testkit::repository()
        .join("fuzz/corpus")
        .join(TARGET);
    if std::env::var_os("STRADDLE_SEEDS").is_some() {
        std::fs::create_dir_all(&folder).expect("a folder");
        for (name, bytes) in seeds() {
            std::fs::write(folder.join(name), bytes).expect("written");
        }
    }
    let entries = std::fs::read_dir(&folder);
    let entries = entries.unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut found = 0;
    for entry in entries {
        let bytes = std::fs::read(entry.expect("a seed").path()).expect("readable");
        for end in (0..bytes.len()).step_by(bytes.len().div_ceil(100).max(1)) {
            straddle_testkit::realign::journal(&bytes[..end]);
        }
        straddle_testkit::realign::journal(&bytes);
        for at in (0..bytes.len()).step_by(37) {
            let mut edited = bytes.clone();
            edited[at] ^= 0x11;
            straddle_testkit::realign::journal(&edited);
        }
        found += 1;
    }
    assert!(found >= 4, "{found} seeds");
}
