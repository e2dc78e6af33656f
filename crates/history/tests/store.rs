use std::os::unix::fs::PermissionsExt;
use straddle_history::{Baseline, Error, Filter, Process, Progress, Store, Trouble};

use crate::run;

fn trouble<T: std::fmt::Debug>(result: Result<T, Error>) -> Trouble {
    result.expect_err("refused").trouble
}

#[test]
fn what_is_kept_comes_back_as_it_was() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let path = folder.path().join("deep/er/history.sqlite");
    let mut store = Store::open(&path).expect("made");
    for number in 0..7 {
        assert_eq!(
            store.add(&run("db1", number)).expect("kept"),
            (i64::try_from(number).expect("small") + 1, true)
        );
    }
    let listed = store.list(&Filter::default(), 3).expect("reads");
    let heads: Vec<&str> = listed.iter().map(|entry| entry.headline.as_str()).collect();
    assert_eq!(heads, ["+6%", "+5%", "+4%"], "the latest first");
    assert_eq!(store.document(7).expect("there"), run("db1", 6).document);
    let benches = Filter {
        verb: Some("bench".to_owned()),
        ..Filter::default()
    };
    assert_eq!(store.count(&benches).expect("reads"), 3);
    let of = Filter {
        target: Some("ata1".to_owned()),
        ..Filter::default()
    };
    let targets: Vec<String> = store
        .list(&of, 9)
        .expect("reads")
        .into_iter()
        .map(|e| e.target)
        .collect();
    assert_eq!(targets, ["/data1", "/data1"]);
    let mode = std::fs::metadata(&path)
        .expect("there")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn the_same_run_is_kept_once() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let mut store = Store::open(&folder.path().join("h.sqlite")).expect("made");
    assert_eq!(store.add(&run("db1", 1)).expect("kept"), (1, true));
    assert_eq!(store.add(&run("db1", 1)).expect("kept"), (1, false));
    assert_eq!(
        store.add(&run("db2", 1)).expect("kept"),
        (2, true),
        "of another machine"
    );
}

#[test]
fn runs_are_removed_all_or_none_and_numbers_are_not_used_again() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let mut store = Store::open(&folder.path().join("h.sqlite")).expect("made");
    for number in 0..3 {
        store.add(&run("db1", number)).expect("kept");
    }
    store
        .set_baseline(&Baseline {
            name: "good".to_owned(),
            run: 3,
            worse: 0.05,
        })
        .expect("kept");
    let error = trouble(store.remove(&[1, 9]));
    assert!(matches!(error, Trouble::NoRun(_)), "{error}");
    assert_eq!(store.count(&Filter::default()).expect("reads"), 3);
    store.remove(&[1, 3]).expect("removed");
    assert_eq!(store.count(&Filter::default()).expect("reads"), 1);
    assert_eq!(
        store.baseline("good").expect("reads"),
        None,
        "it named a run that is gone"
    );
    assert!(matches!(trouble(store.document(3)), Trouble::NoRun(_)));
    assert_eq!(store.add(&run("db1", 5)).expect("kept").0, 4);
}

#[test]
fn baselines_are_names_that_move() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let mut store = Store::open(&folder.path().join("h.sqlite")).expect("made");
    store.add(&run("db1", 0)).expect("kept");
    store.add(&run("db1", 1)).expect("kept");
    let baseline = |run, worse| Baseline {
        name: "good".to_owned(),
        run,
        worse,
    };
    store.set_baseline(&baseline(1, 0.05)).expect("kept");
    store.set_baseline(&baseline(2, 0.1)).expect("kept");
    assert_eq!(store.baselines().expect("reads"), [baseline(2, 0.1)]);
    assert!(matches!(
        trouble(store.set_baseline(&baseline(9, 0.1))),
        Trouble::NoRun(_)
    ));
    assert!(store.remove_baseline("good").expect("written"));
    assert!(!store.remove_baseline("good").expect("written"));
}

#[test]
fn what_is_under_way_is_known_by_its_journal() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let mut store = Store::open(&folder.path().join("h.sqlite")).expect("made");
    let journal = folder.path().join("x.journal");
    let progress = |pid| Progress {
        id: 0,
        process: Process { pid, started: 17 },
        verb: "bench".to_owned(),
        target: "/data".to_owned(),
        journal: journal.display().to_string(),
        began: 1,
    };
    let first = store.under_way(&progress(10)).expect("kept");
    let id = store.under_way(&progress(11)).expect("kept");
    assert_eq!(id, first, "it is the same run, resumed by another process");
    let listed = store.all_under_way().expect("reads");
    assert_eq!(
        listed,
        [Progress { id, ..progress(11) }],
        "resumed by another process"
    );
    // Another one, when the journal of the first, which never was there, is gone.
    let other = Progress {
        journal: folder.path().join("y.journal").display().to_string(),
        ..progress(12)
    };
    let second = store.under_way(&other).expect("kept");
    let listed = store.all_under_way().expect("reads");
    assert_eq!(listed.len(), 1, "{listed:?}");
    assert_eq!(listed[0].id, second);
    store.ended(second).expect("written");
    assert_eq!(store.all_under_way().expect("reads"), []);
    assert!(Process::this().is_there());
    let other = Process {
        started: Process::this().started + 1,
        ..Process::this()
    };
    assert!(!other.is_there(), "another process that has the number now");
}

#[test]
fn nothing_is_made_by_reading() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let path = folder.path().join("h.sqlite");
    assert!(matches!(trouble(Store::read(&path)), Trouble::Missing));
    assert!(!path.exists());
    std::fs::write(&path, "").expect("writable");
    assert!(matches!(trouble(Store::read(&path)), Trouble::Missing));
    assert_eq!(std::fs::read(&path).expect("there"), b"");
}

/// Root may write anywhere, so that only a read-only flag of the file itself stops it: another user is asked.
#[test]
fn a_file_that_cannot_be_written_can_be_read() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let path = folder.path().join("h.sqlite");
    let mut store = Store::open(&path).expect("made");
    store.add(&run("db1", 0)).expect("kept");
    drop(store);
    let reader = Store::read(&path).expect("opens");
    assert_eq!(reader.count(&Filter::default()).expect("reads"), 1);
    let mut reader = reader;
    let error = trouble(reader.add(&run("db1", 1)));
    assert!(matches!(error, Trouble::ReadOnly { .. }), "{error}");
    assert_eq!(reader.count(&Filter::default()).expect("reads"), 1);
}

#[test]
fn a_full_disk_loses_nothing() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let path = folder.path().join("h.sqlite");
    let mut store = Store::open(&path).expect("made");
    store.add(&run("db1", 0)).expect("kept");
    let pages: i64 = std::fs::metadata(&path)
        .expect("there")
        .len()
        .try_into()
        .expect("small");
    let error = crate::damage::with_room_for(&mut store, pages, |store| {
        let mut large = run("db1", 1);
        // Nothing that could be packed.
        large.document = (0..200_000_u64)
            .map(|n| format!("{:x}", n.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
            .collect();
        store.add(&large).expect_err("no room")
    });
    assert!(matches!(error.trouble, Trouble::Full), "{error}");
    assert_eq!(store.count(&Filter::default()).expect("reads"), 1);
    assert_eq!(store.document(1).expect("there"), run("db1", 0).document);
}
