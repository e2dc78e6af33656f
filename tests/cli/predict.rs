//! `straddle predict` and `straddle profile` as a person types them: tables, reasons, decisions, and every refusal.

use crate::support::{Run, copy_capture, repository, straddle, unpack_image};
use std::fs;
use std::path::Path;

/// A controller before disks, most of it guessed: what sensitivity and fits are about.
const GUESSED: &str = r#"
title = "A controller before eight disks"
summary = "Made up for tests."

[controller]
processors = { value = 1, assumed = "not told" }
read = { value = "0.4 ms", assumed = "a guess", range = ["0.05 ms", "2 ms"] }
write = { value = "0.4 ms", assumed = "a guess", range = ["0.05 ms", "2 ms"] }
piece = { value = 0.2, assumed = "a guess", range = [0.05, 1.0] }

[array]
level = { value = "raid0", source = "a test" }
members = { value = 8, source = "a test" }
stripe_unit = { value = "64 KiB", source = "a test" }

[server]
service = { value = "5 ms", assumed = "a guess", range = ["1 ms", "20 ms"] }
capacity = { value = "1 GiB", assumed = "any" }
"#;

/// Enough to see what is printed.
const QUICK: &[&str] = &["--requests", "2000"];

fn snapshot(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(repository().join("tests/cli/snapshots"));
    settings.set_prepend_module_to_snapshot(false);
    settings.bind(|| insta::assert_snapshot!(name, text));
}

fn scratch() -> tempfile::TempDir {
    let here = tempfile::tempdir().expect("temporary directory");
    fs::write(here.path().join("guessed.toml"), GUESSED).expect("writable");
    here
}

fn predict(here: &Path, args: &[&str]) -> Run {
    let args = [&["predict"], args, QUICK].concat();
    straddle(here, &args)
}

fn json(run: &Run) -> serde_json::Value {
    assert_eq!(run.code, Some(0), "{}", run.transcript());
    serde_json::from_str(&run.stdout).expect("JSON")
}

#[test]
fn the_report_says_what_why_how_sure_and_what_to_do() {
    let here = scratch();
    let run = predict(
        here.path(),
        &[
            "--profile",
            "guessed.toml",
            "--io",
            "8K",
            "--rw",
            "70/30",
            "--threads",
            "8",
            "--outstanding",
            "8",
            "--offsets",
            "unaligned,64K,1M",
            "--data",
            "500G",
        ],
    );
    snapshot("predict", &run.transcript());
}

#[test]
fn an_open_loop_gains_latency_or_keeps_up_at_all() {
    let here = scratch();
    let base = ["--profile", "fixed-service", "--io", "64K"];
    let calm = predict(here.path(), &[&base[..], &["--rate", "300"]].concat());
    snapshot("predict-open", &calm.transcript());
    let busy = predict(here.path(), &[&base[..], &["--rate", "1000"]].concat());
    snapshot("predict-overloaded", &busy.transcript());
}

#[test]
fn lists_of_threads_and_of_outstanding_requests_are_variants() {
    let here = scratch();
    let base = [
        "predict",
        "--profile",
        "fixed-service",
        "--rw",
        "read",
        "--requests",
        "500",
    ];
    let with = |more: &[&str]| straddle(here.path(), &[&base[..], more].concat());
    let listed = with(&["--threads", "1,4", "--outstanding", "1,2"]);
    let named = with(&["--compare", "threads=1,4", "--compare", "outstanding=1,2"]);
    assert_eq!(listed.code, Some(0), "{}", listed.transcript());
    assert_eq!(listed.stdout, named.stdout);
    let one = with(&["--threads", "1,4", "--outstanding", "1,2", "--json"]);
    let document: serde_json::Value = serde_json::from_str(&one.stdout).expect("JSON");
    let variants = document["comparison"]["variants"]
        .as_array()
        .expect("variants");
    let values: Vec<String> = variants.iter().map(|v| v["values"].to_string()).collect();
    assert_eq!(
        values,
        [
            r#"["1","1"]"#,
            r#"["1","2"]"#,
            r#"["4","1"]"#,
            r#"["4","2"]"#
        ]
    );
    let twice = with(&["--threads", "1,4", "--compare", "threads=2,8"]);
    assert_eq!((twice.code, twice.stdout.as_str()), (Some(2), ""));
    assert!(
        twice.stderr.contains("it is compared twice"),
        "{}",
        twice.stderr
    );
    for text in ["threads=0,1", "outstanding=1,5000", "threads=a,b"] {
        let refused = with(&["--compare", text]);
        assert_eq!(
            (refused.code, refused.stdout.as_str()),
            (Some(2), ""),
            "{text}"
        );
        assert!(
            refused.stderr.contains("a number from 1 to "),
            "{}",
            refused.stderr
        );
    }
}

#[test]
fn variants_are_compared_for_one_mix() {
    let here = scratch();
    let args = [
        "predict",
        "--profile",
        "fixed-service",
        "--compare",
        "io=4K,8K",
        "--rw",
    ];
    let two = straddle(here.path(), &[&args[..], &["read,write"]].concat());
    assert_eq!((two.code, two.stdout.as_str()), (Some(2), ""));
    assert!(
        two.stderr
            .contains("variants are compared with one mix of reads and writes, and --rw has 2"),
        "{}",
        two.stderr
    );
    let one = straddle(
        here.path(),
        &[&args[..], &["write", "--requests", "500"]].concat(),
    );
    assert_eq!(one.code, Some(0), "{}", one.stderr);
}

#[test]
fn mixes_are_a_list_as_in_bench() {
    let here = scratch();
    let of = |rw: &str| {
        let args = ["--profile", "wd-green-2tb", "--io", "4K", "--rw", rw];
        predict(here.path(), &args).stdout
    };
    // The first is the one that is shown, as if it had been given alone.
    let alone = of("write");
    let several = of("write,70/30");
    let gain = |text: &str| {
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let from = words.find("brings ").expect("what a move gains");
        let to = words[from..]
            .find(" requests each second")
            .expect("its end");
        words[from..from + to].to_owned()
    };
    assert!(gain(&alone).contains('%'), "{alone}");
    assert_eq!(gain(&several), gain(&alone), "{several}");
    assert_ne!(gain(&of("read,write")), gain(&alone), "reads come first");
    assert!(!alone.contains("of these mixes"), "{alone}");
    assert!(several.contains("of these mixes"), "{several}");
    assert!(
        several.contains("70/30") || several.contains("70% reads"),
        "{several}"
    );
    assert!(!several.contains("No mix of reads"), "{several}");
}

#[test]
fn a_stack_gives_the_offset_and_what_it_knows_of_the_array() {
    let here = scratch();
    let image = unpack_image("mbr-63", here.path());
    let run = predict(
        here.path(),
        &[
            "--stack",
            &image,
            "--profile",
            "fixed-service",
            "--io",
            "64K",
        ],
    );
    snapshot("predict-stack", &run.transcript());
    // What `check` prints says the same as what it is printed from.
    let document = straddle(here.path(), &["check", "--json", &image]);
    fs::write(here.path().join("stack.json"), &document.stdout).expect("writable");
    let again = predict(
        here.path(),
        &[
            "--stack",
            "stack.json",
            "--profile",
            "fixed-service",
            "--io",
            "64K",
        ],
    );
    assert_eq!(again.stdout, run.stdout);

    let server = copy_capture("raid/ssacli-sfdisk.server", here.path());
    let stack = ["--stack", server.as_str(), "--profile", "guessed.toml"];
    let captured = predict(
        here.path(),
        &[&stack[..], &["--partition", "sdc1"]].concat(),
    );
    snapshot("predict-captured", &captured.transcript());
    // Both are aligned, so both are in question.
    let both = json(&predict(here.path(), &[&stack[..], &["--json"]].concat()));
    let places = both["predictions"].as_array().expect("a list");
    let names: Vec<_> = places.iter().map(|p| p["place"]["name"].as_str()).collect();
    assert_eq!(names, [Some("sdc1"), Some("sde1")]);
}

#[test]
fn variants_are_compared_with_each_other() {
    let here = scratch();
    let run = predict(
        here.path(),
        &[
            "--profile",
            "fixed-service",
            "--io",
            "64K",
            "--outstanding",
            "64",
            "--offsets",
            "unaligned,64K",
            "--compare",
            "members=6,8",
        ],
    );
    snapshot("predict-compare", &run.transcript());
    let io = predict(
        here.path(),
        &[
            "--profile",
            "fixed-service",
            "--offsets",
            "unaligned,64K",
            "--outstanding",
            "64",
            "--compare",
            "io=64K,96K",
        ],
    );
    snapshot("predict-compare-io", &io.transcript());
}

#[test]
fn the_documents_obey_their_schemas() {
    let here = scratch();
    let check = |verb: &str, document: &serde_json::Value| {
        let schema = straddle(here.path(), &["schema", verb]);
        let schema: serde_json::Value = serde_json::from_str(&schema.stdout).expect("JSON");
        let mut schemas = boon::Schemas::new();
        let mut compiler = boon::Compiler::new();
        compiler.add_resource("s.json", schema).expect("a schema");
        let index = compiler.compile("s.json", &mut schemas).expect("a schema");
        schemas
            .validate(document, index)
            .unwrap_or_else(|error| panic!("{verb}: {error:#}"));
    };
    let image = unpack_image("mbr-63", here.path());
    let plain = ["--profile", "guessed.toml", "--json"];
    check("predict", &json(&predict(here.path(), &plain)));
    let stack = ["--stack", image.as_str()];
    check(
        "predict",
        &json(&predict(here.path(), &[&plain[..], &stack].concat())),
    );
    let compare = ["--compare", "members=6,8", "--rw", "70/30"];
    check(
        "predict",
        &json(&predict(here.path(), &[&plain[..], &compare].concat())),
    );
    for args in [
        &["profile", "list", "--json"][..],
        &["profile", "show", "guessed.toml", "--json"],
    ] {
        check("profile", &json(&straddle(here.path(), args)));
    }
    let csv = predict(
        here.path(),
        &["--profile", "guessed.toml", "--format", "csv"],
    );
    snapshot("predict-csv", &csv.transcript());
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let here = scratch();
    let with = |seed: &str| {
        let args = ["--profile", "guessed.toml", "--json", "--seed", seed];
        predict(here.path(), &args).stdout
    };
    let first = with("7");
    assert_eq!(first, with("7"));
    assert_ne!(first, with("8"));
}

#[test]
fn nonsense_is_refused_with_what_would_be_allowed() {
    let here = scratch();
    fs::write(
        here.path().join("broken.toml"),
        "[server]\nspeed = { value = 1, assumed = \"x\" }\n",
    )
    .expect("writable");
    fs::write(here.path().join("empty.toml"), "title = \"nothing\"\n").expect("writable");
    fs::write(
        here.path().join("plain.toml"),
        "[server]\nservice = \"5 ms\"\n",
    )
    .expect("writable");
    fs::write(
        here.path().join("other.json"),
        "{\"schema\": \"straddle.check/9\", \"targets\": []}",
    )
    .expect("writable");
    let server = copy_capture("raid/ssacli-sfdisk.server", here.path());
    let fixed = |set: &'static str| vec!["--profile", "fixed-service", "--set", set];
    let mut transcript = String::new();
    for args in [
        vec!["--profile", "missing.toml"],
        vec!["--profile", "broken.toml"],
        vec!["--profile", "empty.toml"],
        vec!["--profile", "plain.toml"],
        fixed("array.members=0"),
        fixed("array.members=NaN"),
        fixed("array.members=-1"),
        fixed("array.stripe_unit=2G"),
        fixed("members=2"),
        fixed("server.service=0 ms"),
        fixed("server.service=fast"),
        vec!["--profile", "fixed-service", "--offsets", "current"],
        vec!["--profile", "fixed-service", "--offsets", "64K,65536"],
        vec!["--profile", "fixed-service", "--offsets", "100T"],
        vec!["--profile", "fixed-service", "--size", "100T"],
        vec!["--profile", "fixed-service", "--size", "4K"],
        vec!["--profile", "fixed-service", "--rate", "100000"],
        vec!["--profile", "fixed-service", "--compare", "members=6,0"],
        vec!["--profile", "fixed-service", "--compare", "colour=red,blue"],
        vec!["--profile", "fixed-service", "--stack", "other.json"],
        vec![
            "--profile",
            "fixed-service",
            "--stack",
            &server,
            "--partition",
            "sdz1",
        ],
    ] {
        let run = predict(here.path(), &args);
        assert_eq!(run.code, Some(2), "{args:?}: {}", run.transcript());
        assert_eq!(run.stdout, "", "{args:?}");
        transcript.push_str(&format!(
            "$ straddle predict {}\n{}",
            args.join(" "),
            run.stderr
        ));
    }
    snapshot("predict-refusals", &transcript);
    let many: Vec<String> = (1..=257).map(|n| format!("{}K", n * 4)).collect();
    let run = predict(
        here.path(),
        &["--profile", "fixed-service", "--offsets", &many.join(",")],
    );
    assert_eq!(run.code, Some(2), "{}", run.transcript());
    let said = "257 offsets; at most 256 are compared in one run, as each is a simulation of its own: give fewer, or make \
                several runs with the same first offset";
    assert!(run.stderr.contains(said), "{}", run.stderr);
    // What there is grows, so the lists themselves are in no snapshot.
    for (args, expected) in [
        (["--profile", "fixed-time"], "fixed-service"),
        (["--set", "array.units=2"], "stripe_unit"),
        (["--set", "raid.members=2"], "controller"),
    ] {
        let base: &[&str] = if args[0] == "--set" {
            &["--profile", "fixed-service"]
        } else {
            &[]
        };
        let run = predict(here.path(), &[base, &args].concat());
        assert_eq!(run.code, Some(2), "{}", run.transcript());
        assert!(run.stderr.contains(expected), "{}", run.stderr);
    }
    let none = predict(here.path(), &["--io", "8K"]);
    assert_eq!(none.code, Some(2));
    assert!(
        none.stderr
            .contains("fixed-service        Disks of a fixed"),
        "{}",
        none.stderr
    );
}

#[test]
fn profiles_are_listed_and_shown() {
    let here = scratch();
    let list = straddle(here.path(), &["profile", "list"]);
    assert_eq!(list.code, Some(0));
    assert!(list.stdout.contains("Disks of a fixed service time"));
    let listed = json(&straddle(here.path(), &["profile", "list", "--json"]));
    for profile in listed["profiles"].as_array().expect("a list") {
        let name = profile["name"].as_str().expect("a name");
        let shown = straddle(here.path(), &["profile", "show", name]);
        assert_eq!(shown.code, Some(0), "{}", shown.transcript());
    }
    let shown = straddle(here.path(), &["profile", "show", "guessed.toml"]);
    snapshot("profile-show", &shown.transcript());
}

/// What `bench` would print of a controller whose processor takes 1 ms for a read, by the profile itself.
fn measurement(here: &Path) -> String {
    let mut plan = Vec::new();
    let mut cells = Vec::new();
    for threads in ["1", "16", "64"] {
        let set = [
            "--set",
            "controller.read=1 ms",
            "--set",
            "server.service=8 ms",
        ];
        let load = ["--io", "64K", "--threads", threads, "--outstanding", "1"];
        let plain = ["--profile", "guessed.toml", "--json", "--sensitivity", "0"];
        let offsets = ["--offsets", "unaligned,64K"];
        let args = [&set[..], &load, &plain, &offsets].concat();
        let document = json(&predict(here, &args));
        let rates = document["predictions"][0]["offsets"]
            .as_array()
            .expect("a list");
        let offsets: Vec<String> = rates
            .iter()
            .map(|offset| {
                let rate = &offset["reads_per_second"];
                format!(r#"{{"runs":5,"reads_per_second":{rate},"writes_per_second":0.0}}"#)
            })
            .collect();
        plan.push(format!(
            r#"{{"reads_percent":100,"pattern":"random","sizes":[{{"bytes":65536,"weight":1}}],"threads":{threads},"outstanding":1,"think_seconds":0.0,"offered_per_second":null}}"#
        ));
        cells.push(format!(r#"{{"offsets":[{}]}}"#, offsets.join(",")));
    }
    format!(
        r#"{{"schema":"straddle.bench/1","plan":{{"cells":[{}],"offsets":[{{"name":"unaligned","bytes":32256}},{{"name":"64K","bytes":65536}}]}},"setting":{{"span_bytes":1073741824}},"cells":[{}]}}"#,
        plan.join(","),
        cells.join(",")
    )
}

#[test]
fn a_fit_says_what_it_found_and_what_the_measurement_does_not_tell() {
    let here = scratch();
    let text = measurement(here.path());
    fs::write(here.path().join("result.json"), text).expect("writable");
    let fit = [
        "profile",
        "fit",
        "result.json",
        "--like",
        "guessed.toml",
        "--requests",
        "1000",
    ];
    let named = ["--fit", "controller.read,controller.write,server.service"];
    let output = ["--output", "mine.toml"];
    let run = straddle(here.path(), &[&fit[..], &named, &output].concat());
    snapshot("profile-fit", &run.transcript());
    let shown = straddle(here.path(), &["profile", "show", "mine.toml"]);
    assert!(
        shown.stdout.contains("(fitted: result.json, 6 cells)"),
        "{}",
        shown.transcript()
    );
    let used = predict(here.path(), &["--profile", "mine.toml"]);
    assert_eq!(used.code, Some(0), "{}", used.transcript());
    // The file is not written a second time.
    let again = straddle(here.path(), &[&fit[..], &named, &output].concat());
    assert_eq!(again.code, Some(2), "{}", again.transcript());
    for args in [
        &["profile", "fit", "guessed.toml", "--like", "guessed.toml"][..],
        &["profile", "fit", "result.json", "--like", "fixed-service"],
        &[
            "profile",
            "fit",
            "result.json",
            "--like",
            "guessed.toml",
            "--fit",
            "array.level",
        ],
    ] {
        let run = straddle(here.path(), args);
        assert_eq!(run.code, Some(2), "{}", run.transcript());
    }
}
