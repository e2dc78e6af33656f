//! Replays the fuzzer's corpora of journals and tables on a stable compiler, each seed also with changes.

use straddle_realign::Method;

use crate::case::{Case, forward};
use crate::disk::{Disk, Power};

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

/// Whole disks with tables of every kind.
fn disks() -> Vec<(&'static str, Vec<u8>)> {
    let dos = "label: dos\nstart=63,size=4000,type=7\n";
    let rows = [
        (
            "mbr",
            8 << 20,
            format!("{dos}start=6000,size=2000,type=83\n"),
        ),
        (
            "mbr-logical",
            12 << 20,
            format!(
                "{dos}start=4100,size=16000,type=5\nstart=4163,size=3000,type=83\nstart=9063,size=3000,type=83\n"
            ),
        ),
        (
            "gpt",
            8 << 20,
            "label: gpt\nfirst-lba: 34\nstart=63,size=4000\nstart=5001,size=3000\n".to_owned(),
        ),
        (
            "gpt-of-8-entries",
            8 << 20,
            "label: gpt\ntable-length: 8\nfirst-lba: 34\nstart=63,size=4000\n".to_owned(),
        ),
    ];
    let dir = tempfile::tempdir().expect("temporary folder");
    let rows = rows.into_iter().map(|(name, size, script)| {
        let path = dir.path().join(name);
        let file = std::fs::File::create(&path).expect("creates");
        file.set_len(size).expect("it is sparse");
        crate::tables::tool(
            "sfdisk",
            &["-q", "--no-reread", path.to_str().expect("plain")],
            &script,
        );
        (
            name,
            straddle_testkit::realign::sectors(&std::fs::read(&path).expect("reads")),
        )
    });
    rows.collect()
}

/// The corpus of a target; `STRADDLE_SEEDS` writes the seeds.
fn corpus(target: &str, made: fn() -> Vec<(&'static str, Vec<u8>)>) -> Vec<(String, Vec<u8>)> {
    let folder = straddle_testkit::repository()
        .join("fuzz/corpus")
        .join(target);
    if std::env::var_os("STRADDLE_SEEDS").is_some() {
        std::fs::create_dir_all(&folder).expect("a folder");
        for (name, bytes) in made() {
            std::fs::write(folder.join(name), bytes).expect("written");
        }
    }
    let entries = std::fs::read_dir(&folder);
    let entries = entries.unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let seeds: Vec<_> = entries
        .map(|entry| {
            let path = entry.expect("a seed").path();
            let bytes = std::fs::read(&path).expect("readable");
            (path.display().to_string(), bytes)
        })
        .collect();
    assert!(seeds.len() >= 4, "{target}: {} seeds", seeds.len());
    seeds
}

#[test]
fn every_journal_is_taken_up_or_refused() {
    for (_, bytes) in corpus("realign-journal", seeds) {
        for end in (0..bytes.len()).step_by(bytes.len().div_ceil(100).max(1)) {
            straddle_testkit::realign::journal(&bytes[..end]);
        }
        straddle_testkit::realign::journal(&bytes);
        for at in (0..bytes.len()).step_by(37) {
            let mut edited = bytes.clone();
            edited[at] ^= 0x11;
            straddle_testkit::realign::journal(&edited);
        }
    }
}

#[test]
fn every_table_is_changed_as_intended_or_refused() {
    for (name, bytes) in corpus("realign-table", disks) {
        assert!(
            straddle_testkit::realign::table(&bytes) > 0,
            "{name}: nothing could be moved"
        );
        // Whatever field of it is another one.
        let fields = (0..bytes.len()).filter(|at| at % 7 == 0 || bytes[*at] != 0);
        let step = if straddle_testkit::is_soak() { 1 } else { 23 };
        for at in fields.step_by(step) {
            for flip in [0x01, 0x80, 0xff] {
                let mut edited = bytes.clone();
                edited[at] ^= flip;
                straddle_testkit::realign::table(&edited);
            }
        }
    }
}
