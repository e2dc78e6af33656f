use super::*;
use crate::profile::registry as profiles;
use crate::requests::Arrivals;
use crate::scenario::Scenario;
use crate::system::{Length, Outcome};
use straddle_geometry::Bytes;

const TWO: &str = r#"
title = "Two phases"
[[phase]]
requests = 100
io = "4K"
rw = "read"
outstanding = 3
[[phase]]
requests = 50
[[phase.stream]]
name = "data"
io = "8K"
rw = "write"
threads = 2
outstanding = 4
part = [0, 0.5]
[[phase.stream]]
name = "log"
io = "16K"
rw = "write"
pattern = "sequential"
part = [0.5, 1]
"#;

fn scenario(script: Script, offset: u64) -> Scenario {
    Scenario {
        profile: profiles::load("fixed-service").expect("it is one of ours"),
        workload: script.summary(4),
        script: Some(script),
        arrivals: Arrivals::Even,
        offset: Bytes::new(offset),
        span: Some(Bytes::new(256 << 20)),
    }
}

fn run(scenario: &Scenario, requests: u64) -> Outcome {
    let length = Length {
        warm_up: 0,
        measured: requests,
    };
    scenario.simulate(1, length).expect("it runs")
}

#[test]
fn phases_follow_each_other_and_their_streams_are_at_work_at_once() {
    let script = Script::read("two", TWO).expect("it is one");
    let summary = script.summary(1);
    assert_eq!((summary.outstanding, summary.sizes.len()), (9, 3));
    let outcome = run(&scenario(script, 1 << 20), 3_000);
    // Two thirds of all requests read, but for what is under way at the end.
    let reads = outcome.reads.count();
    assert!((1_900..=2_100).contains(&reads), "{reads}");
    // Nine are under way in a third of the requests, three in the rest; each takes as long.
    let mean = outcome.mean_outstanding;
    assert!((3.2..8.0).contains(&mean), "{mean}");
    let only = |rw: &str| {
        let text = TWO
            .replace("requests = 100", "requests = 1")
            .replace("rw = \"read\"", rw);
        run(
            &scenario(Script::read("x", &text).expect("it is one"), 1 << 20),
            3_000,
        )
    };
    assert!(only("rw = \"read\"").reads.count() < 100);
}

#[test]
fn every_offset_draws_the_same_places() {
    let script = Script::read("two", TWO).expect("it is one");
    let counts = |offset| run(&scenario(script.clone(), offset), 2_000).counts;
    let (here, there) = (counts(1 << 20), counts(9 << 20));
    assert_eq!(
        (here.units, here.straddling),
        (there.units, there.straddling)
    );
    assert_eq!(
        here.straddling, 0,
        "no request is longer than what it is aligned to"
    );
    // At sector 63, all of 8K that begin on the last 8K of a unit of 64K straddle, and so on.
    let off = counts(32_256);
    assert!(off.straddling > 100, "{off:?}");
}

#[test]
fn recordings_are_replayed() {
    let record = |access, start, len| Record { access, start, len };
    let records = vec![
        record(Access::Read, 0, 4096),
        record(Access::Write, 65_536, 8192),
    ];
    let script = Script::recorded("trace", records.clone()).expect("sound");
    assert_eq!(script.kind, Kind::Recorded(Arc::new(records)));
    let outcome = run(&scenario(script, 1 << 20), 1_000);
    let reads = outcome.reads.count();
    assert!((498..=502).contains(&reads), "{reads}");
    for wrong in [
        vec![],
        vec![record(Access::Read, 0, 0)],
        vec![record(Access::Write, 0, (64 << 20) + 1)],
        vec![record(Access::Write, u64::MAX - 4095, 4096)],
    ] {
        Script::recorded("trace", wrong).expect_err("nonsense");
    }
}

#[test]
fn nonsense_is_refused_by_name() {
    for (old, new) in [
        ("requests = 100", "requests = 0"),
        ("io = \"4K\"", ""),
        ("io = \"4K\"", "io = \"4K\"\nrate = 100"),
        ("io = \"4K\"", "io = \"4K\"\noffset = 512"),
        ("part = [0, 0.5]", "part = [0.5, 0]"),
        ("part = [0, 0.5]", "part = [0, 1.5]"),
        ("title", "titel"),
    ] {
        let text = TWO.replacen(old, new, 1);
        assert_ne!(text, TWO);
        Script::read("two", &text).expect_err(new);
    }
    Script::read("none", "title = \"none\"").expect_err("no phase");
    let small = Script::read("two", TWO).expect("it is one");
    let scenario = Scenario {
        span: Some(Bytes::new(1 << 20)),
        ..scenario(small, 0)
    };
    let length = Length {
        warm_up: 0,
        measured: 10,
    };
    scenario
        .simulate(1, length)
        .expect_err("half a MiB holds no stream");
}

#[test]
fn every_script_of_ours_runs_on_every_kind_of_array() {
    for (name, _) in registry::SCRIPTS {
        let script = registry::load(name).unwrap_or_else(|refusal| panic!("{refusal}"));
        for profile in ["fixed-service", "raid-adapter-cached", "nvme-tlc"] {
            let scenario = Scenario {
                profile: profiles::load(profile).expect("it is one of ours"),
                span: Some(Bytes::new(1 << 30).min(Bytes::new(512 << 20))),
                ..scenario(script.clone(), 1 << 20)
            };
            let outcome = run(&scenario, 2_000);
            assert_eq!(outcome.requests(), 2_000, "{name} on {profile}");
        }
    }
}
