//! `straddle predict` of what is no listed profile: an array made of its disks, a profile that the stack suggests, scenarios and
//! recordings; what decides where assumptions do, and what a measurement rules out.

use crate::support::{Run, copy_capture, scratch, straddle, unpack_image};
use std::fs;
use std::path::Path;

/// Enough to see what is printed.
const QUICK: &[&str] = &[
    "--requests",
    "1000",
    "--precision",
    "5%",
    "--sensitivity",
    "0",
];

fn predict(here: &Path, args: &[&str]) -> Run {
    straddle(here, &[&["predict"], args, QUICK].concat())
}

fn json(run: &Run) -> serde_json::Value {
    assert_eq!(run.code, Some(0), "{}", run.transcript());
    serde_json::from_str(&run.stdout).expect("JSON")
}

fn figure(document: &serde_json::Value, path: &str) -> serde_json::Value {
    let figures = &document["predictions"][0]["asked"]["profile"]["figures"];
    let mut figures = figures.as_array().expect("a list").iter();
    let found = figures.find(|figure| figure["path"] == path);
    found.unwrap_or_else(|| panic!("{path} is there"))["value"].clone()
}

#[test]
fn an_array_is_made_of_its_disks() {
    let here = scratch();
    let composed = |level: &str, more: &[&str]| {
        let base = [
            "--disk",
            "cheetah-15k7",
            "--raid",
            level,
            "--rw",
            "read",
            "--json",
        ];
        json(&predict(here.path(), &[&base[..], more].concat()))
    };
    for (level, disks, said) in [
        ("5", "8", "raid5"),
        ("RAID10", "4", "raid10"),
        ("1+0", "4", "raid10"),
        ("50", "6", "raid50"),
        ("raid-6", "4", "raid6"),
    ] {
        let document = composed(level, &["--disks", disks]);
        assert_eq!(figure(&document, "array.level"), said, "{level}");
    }
    let cached = composed(
        "5",
        &["--disks", "8", "--cache", "512M", "--stripe-unit", "256K"],
    );
    assert_eq!(figure(&cached, "cache.size"), 536_870_912.0);
    assert_eq!(figure(&cached, "array.stripe_unit"), 262_144.0);
    // The same with the level in a flag of its own.
    let set = predict(
        here.path(),
        &[
            "--profile",
            "fixed-service",
            "--set",
            "array.level=1+0",
            "--json",
            "--rw",
            "read",
        ],
    );
    assert_eq!(figure(&json(&set), "array.level"), "raid10");
}

#[test]
fn arrays_that_nobody_can_build_are_refused() {
    let here = scratch();
    for (args, said) in [
        (
            &["--disk", "cheetah-15k7", "--raid", "5", "--disks", "2"][..],
            "at least 3 members in raid5",
        ),
        (
            &["--disk", "cheetah-15k7", "--raid", "6", "--disks", "3"],
            "at least 4 members in raid6",
        ),
        (
            &["--disk", "cheetah-15k7", "--raid", "50", "--disks", "7"],
            "a multiple of 2 members in raid50",
        ),
        (
            &["--disk", "cheetah-15k7", "--raid", "7", "--disks", "7"],
            "array.level is \"7\"",
        ),
        (
            &["--disk", "eva8100", "--raid", "5", "--disks", "8"],
            "the profile of a single disk or SSD",
        ),
        (&["--disk", "cheetah-15k7", "--raid", "5"], "--disks"),
        (
            &["--profile", "md-hdd", "--set", "array.members=2"],
            "at least 3 members in raid5",
        ),
        (
            &["--profile", "md-hdd", "--compare", "disks=2,4"],
            "at least 3 members in raid5",
        ),
    ] {
        let run = predict(here.path(), args);
        assert_eq!(run.code, Some(2), "{}", run.transcript());
        assert!(run.stderr.contains(said), "{}", run.stderr);
    }
}

#[test]
fn default_offsets_are_legal_on_every_profile() {
    let here = scratch();
    let listed = straddle(here.path(), &["profile", "list", "--json"]);
    let listed: serde_json::Value = serde_json::from_str(&listed.stdout).expect("JSON");
    for profile in listed["profiles"].as_array().expect("a list") {
        let name = profile["name"].as_str().expect("a name");
        let few = [
            "--profile",
            name,
            "--rw",
            "read",
            "--requests",
            "100",
            "--precision",
            "50%",
            "--sensitivity",
            "0",
            "--json",
        ];
        let document = json(&straddle(here.path(), &[&["predict"], &few[..]].concat()));
        let unaligned = if name == "ultrastar-hc310-4kn" {
            63 * 4096
        } else {
            63 * 512
        };
        assert_eq!(
            document["predictions"][0]["offsets"][0]["bytes"], unaligned,
            "{name}"
        );
    }
}

#[test]
fn a_stack_without_a_profile_suggests_one_and_asks_for_what_decides() {
    let here = scratch();
    let image = unpack_image("mbr-63", here.path());
    let run = predict(here.path(), &["--stack", &image]);
    assert_eq!(run.code, Some(2), "{}", run.transcript());
    for said in [
        "The stack suggests san-lun",
        &format!("straddle predict --stack {image} --profile san-lun"),
        "cache.write: find it out by asking the adapter or array",
        "--disk NAME --raid LEVEL --disks N",
    ] {
        assert!(run.stderr.contains(said), "{said}: {}", run.stderr);
    }
    // What it suggests works as it is typed.
    let used = predict(
        here.path(),
        &[
            "--stack",
            &image,
            "--profile",
            "san-lun",
            "--size",
            "4M",
            "--rw",
            "read",
        ],
    );
    assert_eq!(used.code, Some(0), "{}", used.transcript());
    let server = copy_capture("raid/ssacli-sfdisk.server", here.path());
    let run = predict(here.path(), &["--stack", &server, "--partition", "sdc1"]);
    assert_eq!(run.code, Some(2), "{}", run.transcript());
    // Its tool says level, members and stripe unit, so these are not asked for.
    assert!(!run.stderr.contains("array.stripe_unit:"), "{}", run.stderr);
}

#[test]
fn scenarios_and_recordings_are_predicted() {
    let here = scratch();
    let plain = ["--profile", "fixed-service", "--size", "256M"];
    for name in ["oltp", "file-system", "backup", "log-structured"] {
        let run = predict(
            here.path(),
            &[&plain[..], &["--scenario", name, "--json"]].concat(),
        );
        let document = json(&run);
        let prediction = &document["predictions"][0];
        assert!(prediction["asked"]["scenario"].is_string(), "{name}");
        assert_eq!(
            prediction["mixes"].as_array().map(Vec::len),
            Some(0),
            "{name}"
        );
    }
    fs::write(
        here.path().join("mine.toml"),
        "title = \"mine\"\n[[phase]]\nio = \"64K\"\nrw = \"read\"\noutstanding = 64\n",
    )
    .expect("writable");
    let run = predict(
        here.path(),
        &[&plain[..], &["--scenario", "mine.toml"]].concat(),
    );
    assert!(
        run.stdout.contains("mine, up to 64 at once"),
        "{}",
        run.transcript()
    );
    assert!(
        run.stdout.contains("every request straddles a stripe unit"),
        "{}",
        run.transcript()
    );
    // The same as one workload says the same.
    let same = [
        "--io",
        "64K",
        "--rw",
        "read",
        "--outstanding",
        "64",
        "--json",
    ];
    let same = json(&predict(here.path(), &[&plain[..], &same].concat()));
    let mine = json(&predict(
        here.path(),
        &[&plain[..], &["--scenario", "mine.toml", "--json"]].concat(),
    ));
    let rate = |of: &serde_json::Value| {
        of["predictions"][0]["offsets"][0]["requests_per_second"]["mean"].as_f64()
    };
    let (same, mine) = (rate(&same).expect("a rate"), rate(&mine).expect("a rate"));
    assert!((same / mine - 1.0).abs() < 0.03, "{same} and {mine}");

    let records: String = (0..200)
        .map(|n| format!("f write {} 65536\n", n * 65_536))
        .collect();
    fs::write(
        here.path().join("trace.log"),
        format!("fio version 2 iolog\nf add\n{records}"),
    )
    .expect("writable");
    let run = predict(
        here.path(),
        &[&plain[..], &["--trace", "trace.log", "--json"]].concat(),
    );
    let offsets = &json(&run)["predictions"][0]["offsets"];
    assert_eq!(offsets[0]["mechanism"]["straddling"], 1.0);
    assert_eq!(offsets[1]["mechanism"]["straddling"], 0.0);
    // What `straddle trace` reads, one device of it.
    let records: String = (0..200)
        .map(|n| format!("{n},db,{},Write,{},65536,1\n", n % 2, n * 65_536))
        .collect();
    fs::write(here.path().join("several.csv"), &records).expect("writable");
    fs::write(
        here.path().join("damaged.csv"),
        format!("{records}7,db,0,Write,-1,4096,1\n"),
    )
    .expect("writable");
    let one = ["--trace", "several.csv", "--trace-device", "db.1", "--json"];
    let run = predict(here.path(), &[&plain[..], &one].concat());
    let offsets = &json(&run)["predictions"][0]["offsets"];
    assert_eq!(offsets[0]["mechanism"]["straddling"], 1.0);
    assert_eq!(offsets[1]["mechanism"]["straddling"], 0.0);
    let run = predict(
        here.path(),
        &[&plain[..], &["--trace", "several.csv"]].concat(),
    );
    let said = "requests of several devices: name one of db.0, db.1";
    assert!(run.stderr.contains(said), "{}", run.stderr);
    let run = predict(
        here.path(),
        &[&plain[..], &["--trace", "damaged.csv"]].concat(),
    );
    let said = "damaged.csv:201: the offset is no whole number below 2⁶⁴; 1 of its lines were not understood";
    assert!(run.stderr.contains(said), "{}", run.stderr);
    for args in [
        &["--scenario", "nobody"][..],
        &["--scenario", "missing.toml"],
        &["--scenario", "oltp", "--io", "8K"],
        &["--trace", "mine.toml"],
        &["--trace", "several.csv"],
        &["--trace", "damaged.csv"],
        &["--trace", "several.csv", "--trace-device", "db.7"],
    ] {
        let run = predict(here.path(), &[&plain[..], args].concat());
        assert_eq!(run.code, Some(2), "{}", run.transcript());
    }
}

/// One figure decides: stripe units as long as requests, or 32 times as long.
const OPEN: &str = r#"
title = "Members of a fixed service time"
[array]
level = { value = "raid0", source = "a test" }
members = { value = 8, source = "a test" }
stripe_unit = { value = "64 KiB", assumed = "a test", range = ["64 KiB", "2 MiB"] }
merge = { value = "adjacent", source = "a test" }
[server]
service = { value = "5 ms", source = "a test" }
capacity = { value = "1 GiB", source = "a test" }
"#;

#[test]
fn what_decides_is_named_with_what_tells_it() {
    let here = scratch();
    fs::write(here.path().join("open.toml"), OPEN).expect("writable");
    let base = [
        "predict",
        "--profile",
        "open.toml",
        "--io",
        "64K",
        "--rw",
        "read",
        "--outstanding",
        "128",
        "--data",
        "100G",
    ];
    let base = [
        &base[..],
        &["--requests", "2000", "--offsets", "unaligned,16M"],
    ]
    .concat();
    let run = straddle(here.path(), &base);
    for said in [
        "it depends on array.stripe_unit  (64 KiB random",
        "As assumed it would be: fix now",
        "With array.stripe_unit = 2 MiB it would be: at the next rebuild",
        "Find out array.stripe_unit by asking what built the array (mdadm --detail",
    ] {
        assert!(run.stdout.contains(said), "{said}: {}", run.transcript());
    }
    let document = json(&straddle(here.path(), &[&base[..], &["--json"]].concat()));
    let prediction = &document["predictions"][0];
    let decision = &prediction["decision"];
    assert_eq!(decision["call"], "it_depends");
    assert_eq!(decision["as_assumed"], "fix_now");
    assert_eq!(
        decision["depends"][0]["values"][0]["path"],
        "array.stripe_unit"
    );
    // The gain of the verdict and of the table are one number.
    let gain = &prediction["offsets"][1]["gain"]["ratio"]["mean"];
    assert_eq!(&prediction["sensitivity"]["nominal"], gain);
    // Said, it is no question any more.
    let said = json(&straddle(
        here.path(),
        &[&base[..], &["--json", "--set", "array.stripe_unit=64K"]].concat(),
    ));
    assert_eq!(said["predictions"][0]["decision"]["call"], "fix_now");
}

#[test]
fn a_study_in_which_the_profile_is_out_of_tolerance_is_named() {
    let here = scratch();
    let run = predict(
        here.path(),
        &["--profile", "f20", "--io", "4K", "--rw", "read"],
    );
    assert_eq!(run.code, Some(0), "{}", run.transcript());
    assert!(run.stdout.contains("beware"), "{}", run.transcript());
    assert!(run.stdout.contains("of study f20"), "{}", run.transcript());
    let clean = predict(here.path(), &["--profile", "fixed-service", "--rw", "read"]);
    assert!(!clean.stdout.contains("beware"), "{}", clean.transcript());
}

#[test]
fn a_measurement_rules_out_what_it_contradicts() {
    let here = scratch();
    fs::write(here.path().join("open.toml"), OPEN).expect("writable");
    // What `bench` would print of stripe units of 2 MiB.
    let set = [
        "--set",
        "array.stripe_unit=2M",
        "--offsets",
        "unaligned,16M",
        "--io",
        "64K",
        "--rw",
        "read",
        "--outstanding",
        "128",
    ];
    let document = json(&predict(
        here.path(),
        &[&["--profile", "open.toml", "--json"], &set[..]].concat(),
    ));
    let offsets = document["predictions"][0]["offsets"]
        .as_array()
        .expect("a list");
    let rates: Vec<String> = offsets
        .iter()
        .map(|offset| {
            format!(
                r#"{{"runs":5,"reads_per_second":{},"writes_per_second":0.0}}"#,
                offset["reads_per_second"]
            )
        })
        .collect();
    let text = format!(
        r#"{{"schema":"straddle.bench/1","plan":{{"cells":[{{"reads_percent":100,"pattern":"random","sizes":[{{"bytes":65536,"weight":1}}],"threads":1,"outstanding":128,"think_seconds":0.0,"offered_per_second":null}}],"offsets":[{{"name":"unaligned","bytes":32256}},{{"name":"16M","bytes":16777216}}]}},"setting":{{"span_bytes":536870912}},"cells":[{{"offsets":[{}]}}]}}"#,
        rates.join(",")
    );
    fs::write(here.path().join("measured.json"), text).expect("writable");
    let fit = [
        "profile",
        "fit",
        "measured.json",
        "--like",
        "open.toml",
        "--ranges",
        "--sets",
        "60",
        "-o",
        "mine.toml",
    ];
    let run = straddle(here.path(), &fit);
    assert_eq!(run.code, Some(0), "{}", run.transcript());
    assert!(
        run.stdout.contains("64 KiB to 2 MiB"),
        "{}",
        run.transcript()
    );
    assert!(run.stdout.contains("narrower"), "{}", run.transcript());
    // What was fix now as assumed, and might have been nothing, is known now.
    let base = [
        "predict",
        "--profile",
        "mine.toml",
        "--io",
        "64K",
        "--rw",
        "read",
        "--outstanding",
        "128",
        "--data",
        "100G",
    ];
    let base = [
        &base[..],
        &["--requests", "2000", "--offsets", "unaligned,16M", "--json"],
    ]
    .concat();
    let call =
        json(&straddle(here.path(), &base))["predictions"][0]["decision"]["as_assumed"].clone();
    assert_ne!(call, "fix_now");
}
