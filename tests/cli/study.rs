//! `straddle study` as a person types it: what is published beside what is simulated, and every refusal.

use std::fs;

use crate::support::{Run, repository, straddle};

/// Two offsets and their ratio on the simplest profile: its answers do not change with the models of real devices.
const STUDY: &str = r#"
title = "Requests on every boundary"
source = "worked out: eight members, 180 operations each second, two for each request that straddles"
configuration = "Eight members of a fixed service time, RAID 0, stripe unit 64 KiB."
profile = "fixed-service"
within = 4
identifies = "How many operations requests become."

[workload]
io = "64K"
rw = "read"
outstanding = 1024
threads = 1

[[cell]]
id = "unaligned"
mark = "calibration"
offset = "unaligned"
metric = "iops"
published = 720

[[cell]]
id = "aligned"
mark = "calibration"
offset = "64K"
metric = "iops"
published = [1300, 1440]
note = "A range, as some sources give it."

[[cell]]
id = "gain"
mark = "validation"
offset = "64K"
metric = "iops_ratio"
against = "unaligned"
published = 2
within = 1

[[cell]]
id = "operations"
mark = "validation"
offset = "unaligned"
metric = "pieces_per_io"
published = 1
misses = "A figure that is wrong on purpose."
"#;

fn snapshot(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(repository().join("tests/cli/snapshots"));
    settings.set_prepend_module_to_snapshot(false);
    settings.bind(|| insta::assert_snapshot!(name, text));
}

/// Runs `study` in a folder with the study above as `mine.toml`, `old` in it replaced by `new`.
fn study(args: &[&str], old: &str, new: &str) -> Run {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let text = STUDY.replacen(old, new, 1);
    fs::write(directory.path().join("mine.toml"), text).expect("writable");
    let args: Vec<&str> = ["study"].iter().chain(args).copied().collect();
    straddle(directory.path(), &args)
}

#[test]
fn published_stands_beside_simulated() {
    let run = study(&["mine.toml", "--quick"], "", "");
    assert_eq!(run.code, Some(1), "one cell is off on purpose");
    snapshot("study-text", &run.transcript());
    snapshot(
        "study-csv",
        &study(&["mine.toml", "--quick", "--format", "csv"], "", "").stdout,
    );
    let again = study(&["mine.toml", "--quick"], "", "");
    assert_eq!(run.stdout, again.stdout, "a run is the same every time");
    let other = study(&["mine.toml", "--quick", "--seed", "2"], "", "");
    assert_ne!(run.stdout, other.stdout, "other random numbers");
}

#[test]
fn json_says_the_same() {
    let run = study(&["mine.toml", "--quick", "--json"], "", "");
    let document: serde_json::Value = serde_json::from_str(&run.stdout).expect("JSON");
    assert_eq!(document["schema"], "straddle.study/1");
    let cells = &document["studies"][0]["cells"];
    assert_eq!(cells[2]["against"], "unaligned");
    assert_eq!(cells[3]["simulated"]["value"], 2.0);
    assert_eq!(cells[3]["simulated"]["error_percent"], 100.0);
    assert_eq!(document["score"]["validation"]["cells"], 2);
    assert_eq!(document["score"]["calibration"]["within"], 2);

    let schema = straddle(repository().as_path(), &["schema", "study"]).stdout;
    let schema: serde_json::Value = serde_json::from_str(&schema).expect("JSON");
    let mut schemas = boon::Schemas::new();
    let mut compiler = boon::Compiler::new();
    compiler.add_resource("study", schema).expect("a schema");
    let index = compiler.compile("study", &mut schemas).expect("a schema");
    schemas
        .validate(&document, index)
        .unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn nothing_off_is_success() {
    let run = study(
        &["mine.toml", "--quick", "--quiet"],
        "metric = \"pieces_per_io\"\npublished = 1",
        "metric = \"pieces_per_io\"\npublished = 2",
    );
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), ""));
}

#[test]
fn studies_that_make_no_sense_are_refused_by_name() {
    let mut said = String::new();
    for (old, new) in [
        ("within = 4", "wihtin = 4"),
        ("io = \"64K\"", "io = \"64X\""),
        ("io = \"64K\"", "io = \"8K:70,64K:40\""),
        ("rw = \"read\"", "rw = \"70/40\""),
        ("published = 720", "published = 0"),
        ("published = 720", "published = [3, 2, 1]"),
        (
            "mark = \"validation\"",
            "mark = \"validation\"\nfitted = true",
        ),
        ("against = \"unaligned\"", "against = \"nobody\""),
        ("metric = \"iops\"", "metric = \"speed\""),
        ("id = \"aligned\"", "id = \"unaligned\""),
        ("profile = \"fixed-service\"", "profile = \"nobody\""),
        ("[workload]", "[set]\n\"array.members\" = 0\n[workload]"),
        ("[workload]", "[set]\n\"array.member\" = 8\n[workload]"),
        ("offset = \"64K\"", "offset = \"900 T\""),
        ("[workload]", "[workload"),
        ("title", "\u{0}title"),
    ] {
        let run = study(&["mine.toml"], old, new);
        assert_eq!(run.code, Some(2), "{new}");
        let line = run.stderr.lines().next().unwrap_or("");
        // Lists of profiles and of parameters grow.
        let grows = ["the profile is", "array.member is"].iter();
        let (before, after) = line.split_once("; expected ").unwrap_or((line, ""));
        let after = if grows.into_iter().any(|one| before.contains(one)) {
            "…"
        } else {
            after
        };
        said += &format!("{before}; expected {after}\n");
    }
    snapshot("study-refusals", &said);
}

#[test]
fn there_is_a_list_and_a_way_to_find_it() {
    let list = study(&["--list"], "", "");
    assert_eq!(list.code, Some(0));
    assert!(list.stdout.contains("fixed-service  "), "{}", list.stdout);
    for wrong in ["nobody", "nobody.toml"] {
        let run = study(&[wrong], "", "");
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{wrong}");
        assert!(run.stderr.contains(wrong), "{}", run.stderr);
    }
}
