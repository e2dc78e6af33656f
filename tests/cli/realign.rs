//! Partitions that `realign` moves itself: every table and filesystem, every container, stopped anywhere, refused where it must not.

mod containers;
mod follow_ups;
mod generated;
mod refusals;
mod stopped;

use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::fix_partitions::ways::{WAYS, Way};
use crate::fix_partitions::{assert_carried_out, check, made, places, with};
use crate::support::{in_memory, straddle};

/// Codes that moving a partition can cure.
const CURED: &[&str] = &["STR101", "STR102", "STR201", "STR202", "STR203"];

/// A disk with an NTFS at sector 63, with room behind it.
pub(crate) fn legacy(folder: &Path) -> &'static Way {
    let way = WAYS
        .iter()
        .find(|way| way.name == "one-ntfs")
        .expect("the first");
    made(folder, way);
    way
}

fn shrinks(way: &Way) -> bool {
    way.name.contains("shrinks")
}

fn moved(way: &Way) {
    let folder = in_memory();
    let folder = folder.path();
    let before = made(folder, way);
    let bytes = fs::read(folder.join("disk.img")).expect("readable");
    let proposed = straddle(folder, &with(way, &["realign", "disk.img"]));
    let shown = straddle(folder, &with(way, &["realign", "disk.img", "--dry-run"]));
    let is_untouched = || fs::read(folder.join("disk.img")).expect("readable") == bytes;
    assert!(is_untouched(), "{}: nothing was agreed to", way.name);
    let run = straddle(
        folder,
        &with(
            way,
            &["realign", "disk.img", "--yes", "--plan", "plan.json"],
        ),
    );
    if shrinks(way) {
        for run in [&proposed, &shown, &run] {
            assert_eq!(run.code, Some(2), "{}: {}", way.name, run.transcript());
            assert!(
                run.stderr.contains("no room behind it"),
                "{}",
                run.transcript()
            );
        }
        assert!(is_untouched(), "{}: it was refused", way.name);
        return;
    }
    for run in [&proposed, &shown, &run] {
        assert_eq!(run.code, Some(0), "{}: {}", way.name, run.transcript());
    }
    assert!(
        run.stdout.contains("every byte read back"),
        "{}",
        run.transcript()
    );
    assert!(
        !folder.join("disk.img.realign-journal").exists(),
        "it is done"
    );
    assert_carried_out(folder, way, before);
    let left = check(folder, way.flags);
    let left: Vec<_> = left
        .iter()
        .filter(|(code, _)| CURED.contains(&code.as_str()))
        .collect();
    let expected = way.name.contains("no-room");
    assert!(left.is_empty() || expected, "{}: {left:?}", way.name);
}

#[test]
fn every_way_is_moved_and_keeps_its_contents() {
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(Vec::new());
    // Scripts of several tools are for one and the same disk, as a rule: it is moved once.
    let is_same = |one: &Way, other: &Way| {
        (one.table == other.table, one.sectors, one.flags) == (true, other.sectors, other.flags)
            && one.partitions == other.partitions
    };
    let ways = WAYS.iter().enumerate();
    let ways: Vec<&Way> = ways
        .filter(|(n, way)| !WAYS[..*n].iter().any(|before| is_same(before, way)))
        .map(|(_, way)| way)
        .collect();
    assert!(ways.len() >= 30, "{}", ways.len());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(way) = ways.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if std::panic::catch_unwind(|| moved(way)).is_err() {
                        failed.lock().expect("no panic").push(way.name);
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().expect("no panic");
    assert!(
        failed.is_empty(),
        "what was wrong with these is said above: {failed:?}"
    );
}

#[test]
fn one_partition_goes_where_it_is_told_to_either_way() {
    let folder = in_memory();
    let folder = folder.path();
    let way = WAYS
        .iter()
        .find(|way| way.name == "pushed")
        .expect("one of them");
    made(folder, way);
    let disk = folder.join("disk.img");
    let before = fs::read(&disk).expect("readable");
    let run = |args: &[&str]| {
        let run = straddle(folder, args);
        assert_eq!(run.code, Some(0), "{}", run.transcript());
        run
    };
    run(&[
        "realign",
        "disk.img",
        "--partition",
        "3",
        "--to",
        "30720s",
        "--yes",
    ]);
    assert_eq!(
        places(&disk),
        [(1, 63, 4033), (2, 4096, 20_480), (3, 30_720, 8192)]
    );
    run(&[
        "realign",
        "disk.img",
        "--partition",
        "3",
        "--to",
        "20MiB",
        "--yes",
        "--verify",
        "each",
    ]);
    assert_eq!(places(&disk)[2], (3, 40_960, 8192));
    let mut after = fs::read(&disk).expect("readable");
    // Where it was in between is free space.
    let between = 30_720 * 512..(30_720 + 8192) * 512;
    assert!(after[between.clone()] == after[40_960 * 512..(40_960 + 8192) * 512]);
    after[between.clone()].copy_from_slice(&before[between]);
    assert!(after == before, "it is where it was, and so is all else");
    // Several partitions, and one place.
    let refused = straddle(folder, &["realign", "disk.img", "--to", "1MiB"]);
    assert_eq!(refused.code, Some(2));
    assert!(
        refused.stderr.contains("name one with --partition"),
        "{}",
        refused.transcript()
    );
}

#[test]
fn proposals_and_results_are_as_they_are_read() {
    let folder = in_memory();
    let folder = folder.path();
    legacy(folder);
    let mut shown = String::new();
    for args in [
        &["realign", "disk.img"][..],
        &["realign", "disk.img", "--dry-run"],
        &["realign", "disk.img", "--yes"],
        &["realign", "disk.img"],
    ] {
        shown += &straddle(folder, args).transcript();
    }
    insta::assert_snapshot!(shown);
    let aligned = straddle(folder, &["realign", "disk.img", "--yes"]);
    assert_eq!(aligned.code, Some(0), "nothing is to be done");
    assert!(!folder.join("disk.img.realign-journal").exists());
}

#[test]
fn json_is_as_its_schema_says() {
    let folder = in_memory();
    let folder = folder.path();
    legacy(folder);
    let schema = straddle(folder, &["schema", "realign"]);
    let schema: serde_json::Value = serde_json::from_str(&schema.stdout).expect("JSON");
    assert_eq!(schema["title"], "straddle realign");
    let document = |args: &[&str]| -> serde_json::Value {
        let run = straddle(folder, args);
        assert_eq!(run.code, Some(0), "{}", run.transcript());
        let document: serde_json::Value = serde_json::from_str(&run.stdout).expect("JSON");
        let required = schema["required"].as_array().expect("names");
        let fields = document.as_object().expect("an object");
        assert_eq!(required.len(), fields.len(), "{document}");
        for field in required {
            assert!(
                fields.contains_key(field.as_str().expect("a name")),
                "{field}"
            );
        }
        document
    };
    let proposed = document(&["realign", "disk.img", "--json"]);
    assert_eq!(proposed["state"], "proposed");
    assert_eq!(proposed["partitions"][0]["from"], 32_256);
    assert_eq!(proposed["partitions"][0]["to"], 1_048_576);
    let edits = proposed["edits"].as_array().expect("edits");
    // The entry, and two boot sectors of NTFS.
    assert_eq!(edits.len(), 3);
    assert_eq!(
        (&edits[1]["before"], &edits[1]["after"]),
        (&"3f000000".into(), &"00080000".into())
    );
    let done = document(&["realign", "disk.img", "--yes", "--json"]);
    assert_eq!(done["state"], "done");
    let price = &done["found"][0]["prices"][0];
    assert_eq!(price["after"]["numerator"], 0);
    assert_eq!(price["before"]["value"], 3.0);
}
