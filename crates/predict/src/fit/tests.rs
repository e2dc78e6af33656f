use super::*;
use crate::profile::registry;
use straddle_geometry::Unit;
use straddle_workload::{Pattern, Percent};

const PROFILE: &str = r#"
title = "A controller before disks"
[controller]
processors = { value = 2, assumed = "not told", range = [1, 8] }
read = { value = "0.4 ms", assumed = "a guess", range = ["0.05 ms", "2 ms"] }
write = { value = "0.4 ms", assumed = "a guess", range = ["0.05 ms", "2 ms"] }
piece = { value = 0.2, assumed = "a guess", range = [0.05, 1.0] }
[server]
service = { value = "4 ms", assumed = "a guess", range = ["1 ms", "20 ms"] }
capacity = { value = "1 GiB", assumed = "any" }
[array]
level = { value = "raid0", source = "here" }
members = { value = 8, source = "here" }
stripe_unit = { value = "64 KiB", source = "here" }
"#;

const SEARCH: Search = Search {
    requests: 2_000,
    evaluations: 120,
    seed: 3,
};

fn profile() -> Profile {
    Profile::read("test", PROFILE).expect("it is sound")
}

fn set(profile: Profile, path: &str, text: &str) -> Profile {
    let value = crate::design::plain(text);
    profile.with(path, &value, Origin::Flag).expect(path)
}

/// A document of `bench` as it would come from the profile: at two offsets, with little and with much at once.
fn bench(profile: &Profile) -> String {
    let mut plan = Vec::new();
    let mut cells = Vec::new();
    for threads in [1_u32, 4, 64] {
        plan.push(format!(
            r#"{{"reads_percent":100,"pattern":"random","sizes":[{{"bytes":65536,"weight":1}}],"threads":{threads},"outstanding":1,"think_seconds":0.0,"offered_per_second":null}}"#
        ));
        let rates = [32_256_u64, 65_536].map(|at| {
            let scenario = Scenario {
                profile: profile.clone(),
                workload: Workload {
                    reads: Percent::ALL,
                    pattern: Pattern::Random,
                    sizes: vec![(Unit::new(65_536).expect("not zero"), 1)],
                    workers: threads,
                    outstanding: 1,
                    think: std::time::Duration::ZERO,
                    rate: None,
                },
                script: None,
                arrivals: Arrivals::Even,
                offset: Bytes::new(at),
                span: Some(Bytes::mib(512)),
            };
            let length = Length {
                warm_up: 500,
                measured: 10_000,
            };
            let rate = scenario.simulate(99, length).expect("it runs").rate();
            format!(r#"{{"runs":3,"reads_per_second":{rate},"writes_per_second":0.0}}"#)
        });
        cells.push(format!(r#"{{"offsets":[{}]}}"#, rates.join(",")));
    }
    format!(
        r#"{{"schema":"straddle.bench/1","plan":{{"cells":[{}],"offsets":[{{"name":"unaligned","bytes":32256}},{{"name":"64K","bytes":65536}}]}},"setting":{{"span_bytes":536870912}},"cells":[{}]}}"#,
        plan.join(","),
        cells.join(",")
    )
}

#[test]
fn parameters_that_made_a_measurement_are_found_again() {
    let truth = set(
        set(profile(), "server.service", "6 ms"),
        "controller.read",
        "1.2 ms",
    );
    let measured = Measured::read("b.json", &bench(&truth)).expect("a document");
    assert_eq!(measured.observations.len(), 6);
    let names = ["server.service".to_owned(), "controller.read".to_owned()];
    let fitted = fit(&profile(), &measured, &names, SEARCH, "b.json", |_| ()).expect("it fits");
    let found = |path: &str| {
        let mut parameters = fitted.parameters.iter();
        parameters.find(|p| p.path == path).expect(path).clone()
    };
    let service = found("server.service");
    assert!((service.after / 0.006 - 1.0).abs() < 0.03, "{service:?}");
    let read = found("controller.read");
    assert!((read.after / 0.0012 - 1.0).abs() < 0.05, "{read:?}");
    assert!(service.is_identified() && read.is_identified());
    let (before, after) = fitted.error;
    assert!(before > 0.2 && after < 0.02, "{before} {after}");
    let figure = fitted
        .profile
        .figures()
        .find(|(_, key, _)| key.name == "service");
    let origin = figure.map(|(_, _, figure)| figure.origin.clone());
    assert_eq!(origin, Some(Origin::Fitted("b.json, 6 cells".to_owned())));
    // What is written reads back as what was fitted.
    let text = toml_of(&fitted.profile);
    let back = Profile::read("test", &text).expect("its own text");
    for ((_, key, a), (_, _, b)) in fitted.profile.figures().zip(back.figures()) {
        match (&a.value, &b.value) {
            (Value::Number(a), Value::Number(b)) => {
                assert!((a / b - 1.0).abs() < 1e-4 || a == b, "{}", key.name);
            }
            (a, b) => assert_eq!(a, b),
        }
    }
}

#[test]
fn what_no_rate_depends_on_is_said_and_left_as_it_was() {
    let measured = Measured::read("b.json", &bench(&profile())).expect("a document");
    let names = ["controller.write".to_owned(), "server.service".to_owned()];
    let search = Search {
        evaluations: 40,
        ..SEARCH
    };
    let fitted = fit(&profile(), &measured, &names, search, "b.json", |_| ()).expect("it fits");
    let [write, service] = fitted.parameters.as_slice() else {
        panic!("two parameters");
    };
    assert!(
        !write.is_identified(),
        "only reads were measured: {write:?}"
    );
    assert!(service.is_identified());
    let figure = fitted
        .profile
        .figures()
        .find(|(_, key, _)| key.name == "write");
    let (_, _, figure) = figure.expect("it is still there");
    assert_eq!(figure.value, Value::Number(0.4 * 1e-3));
    assert!(figure.origin.is_assumed() && figure.range.is_some());
}

#[test]
fn what_cannot_be_fitted_is_refused() {
    let measured = Measured::read("b.json", &bench(&profile())).expect("a document");
    let refused = |profile: &Profile, names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let refusal = fit(profile, &measured, &names, SEARCH, "b.json", |_| ());
        refusal.expect_err("it cannot be").to_string()
    };
    let none = refused(&profile(), &["server.speed"]);
    assert!(
        none.contains("server.speed") && none.contains("server.service"),
        "{none}"
    );
    refused(&profile(), &["array.level"]);
    let plain = registry::load("fixed-service").expect("it is one of ours");
    refused(&plain, &[]);
    for text in ["", "{}", r#"{"schema":"straddle.check/1"}"#] {
        Measured::read("b.json", text).expect_err(text);
    }
}

#[test]
fn a_measurement_rules_out_values_and_never_the_true_ones() {
    let profile = profile();
    let truth = set(
        set(profile.clone(), "controller.read", "1 ms"),
        "server.service",
        "3 ms",
    );
    let measured = Measured::read("bench.json", &bench(&truth)).expect("it is one");
    let effort = ranges::Ranges {
        sets: 480,
        requests: 1_500,
        seed: 5,
    };
    let narrowed = ranges::narrow(&profile, &measured, effort, |_| {}).expect("it can be told");
    assert!(
        narrowed.is_telling(),
        "{} of {}",
        narrowed.kept,
        narrowed.sets
    );
    // Reads alone say nothing of writes.
    assert!(
        narrowed.untold.contains(&"controller.write".to_owned()),
        "{narrowed:?}"
    );
    let ends = |path: &str| {
        let mut figures = narrowed.profile.figures();
        let found =
            figures.find(|(model, key, _)| format!("{}.{}", model.section, key.name) == path);
        found.and_then(|(_, _, figure)| figure.ends()).expect(path)
    };
    let (least, most) = ends("server.service");
    assert!(least <= 0.003 && 0.003 <= most, "{least} to {most}");
    assert!(
        0.002 < least && most < 0.004,
        "{least} to {most}: 1 ms to 20 ms were possible"
    );
    // Processors and their time are told together only: a read of 1 ms on two is as one of 0.5 ms on one.
    let (least, most) = ends("controller.read");
    assert!(least <= 0.0011 && 0.0009 <= most, "{least} to {most}");
    let left = narrowed
        .assumptions
        .iter()
        .find(|left| left.path == "server.service");
    assert!(left.is_some_and(ranges::Left::is_narrower));
    // Nothing of the kind: no disks of 1 to 20 ms do a million requests.
    let impossible = Measured {
        observations: measured
            .observations
            .iter()
            .map(|o| Observation {
                rate: o.rate * 1_000.0,
                ..o.clone()
            })
            .collect(),
        ..measured
    };
    let none = ranges::narrow(&profile, &impossible, effort, |_| {}).expect("it can be said");
    assert!(!none.is_telling() && none.nearest > 0.5, "{none:?}");
    assert!(none.assumptions.iter().all(|left| !left.is_narrower()));
}
