use super::*;
use crate::decision::Quantity;
use crate::experiment::Effort;
use crate::profile::registry;
use crate::scenario::Scenario;
use crate::system::Length;

fn profile(name: &str) -> Profile {
    let profile = registry::load(name).expect("it is one of ours");
    profile.complete().expect("it is complete")
}

/// From a gain of 1, known to a point.
fn moved(by: f64) -> Moved {
    Moved {
        gain: 1.0 + by,
        half_width: 0.01,
        by: if by.abs() > 0.01 { by } else { 0.0 },
    }
}

fn paths(profile: &Profile) -> Vec<String> {
    let found = assumptions::of(profile, &mut Vec::new());
    found
        .into_iter()
        .map(|assumption| assumption.path)
        .collect()
}

#[test]
fn words_are_varied_like_numbers() {
    let found = assumptions::of(&profile("msa60-p800"), &mut Vec::new());
    let others = |path: &str| {
        let assumption = found.iter().find(|assumption| assumption.path == path);
        let assumption = assumption.unwrap_or_else(|| panic!("{path} is varied"));
        let others = assumption.others.iter();
        others
            .map(|value| shown(assumption.kind, value))
            .collect::<Vec<_>>()
    };
    assert_eq!(others("cache.write"), ["through"]);
    assert_eq!(others("cache.partial"), ["backfill"]);
    assert_eq!(others("cache.page"), ["4 KiB", "64 KiB"]);
    // Nobody says so much as what holds by default.
    assert_eq!(others("array.merge"), ["none"]);
    assert_eq!(others("array.parity"), ["rmw", "reconstruct"]);
}

#[test]
fn what_does_not_concern_a_level_or_is_said_is_not_varied() {
    let raid0 = profile("fixed-service");
    assert!(!paths(&raid0).contains(&"array.parity".to_owned()));
    assert!(paths(&raid0).contains(&"array.merge".to_owned()));
    let merge = Value::Word("none");
    let said = raid0.with("array.merge", &toml::Value::from("none"), Origin::Flag);
    let said = said.expect("a word that it knows");
    assert!(!paths(&said).contains(&"array.merge".to_owned()));
    let varied = with(said, "array.merge", &merge).expect("a word that it knows");
    assert!(!paths(&varied).contains(&"array.merge".to_owned()));
}

#[test]
fn corners_are_made_of_the_values_that_move_the_gain_furthest() {
    let assumption = |path: &str, others: &[f64]| Assumption {
        path: path.to_owned(),
        kind: Kind::Count(0.0, 100.0),
        meaning: "",
        value: Value::Number(1.0),
        others: others.iter().map(|n| Value::Number(*n)).collect(),
    };
    let pair = |path: &str, others: &[(f64, f64)]| {
        let end = |(value, gain): &(f64, f64)| End {
            value: value.to_string(),
            gain: Ok(moved(*gain - 1.0)),
        };
        let values: Vec<f64> = others.iter().map(|(value, _)| *value).collect();
        let varied = Varied {
            path: path.to_owned(),
            meaning: "",
            value: "1".to_owned(),
            ends: others.iter().map(end).collect(),
        };
        (varied, assumption(path, &values))
    };
    let (two, one) = (
        pair("a.b", &[(2.0, 1.5), (3.0, 0.5), (4.0, 1.0)]),
        pair("c.d", &[(5.0, 1.2)]),
    );
    let (two, one) = ((two.0, &two.1), (one.0, &one.1));
    let numbers = |strong: &[&(Varied, &Assumption)]| {
        let number = |value: &Value| match value {
            Value::Number(number) => *number,
            _ => f64::NAN,
        };
        let corners = corners(strong).into_iter();
        let corners = corners.map(|corner| corner.iter().map(|(_, v)| number(v)).collect());
        corners.collect::<Vec<Vec<f64>>>()
    };
    assert_eq!(numbers(&[&two, &one]), [[3.0, 5.0], [2.0, 5.0]]);
    assert_eq!(numbers(&[&two]), Vec::<Vec<f64>>::new());
}

#[test]
fn what_chance_may_have_moved_is_where_it_was() {
    let mut sensitivity = Sensitivity {
        nominal: 1.10,
        corners: vec![Corner {
            values: Vec::new(),
            gain: moved(0.005),
        }],
        ..Sensitivity::default()
    };
    assert_eq!(sensitivity.ends(), Some((1.10, 1.10)));
    sensitivity.corners[0].gain = moved(-0.05);
    assert_eq!(sensitivity.ends(), Some((1.05, 1.10)));
    assert_eq!(Sensitivity::default().ends(), None);
}

#[test]
fn every_assumption_of_every_profile_is_told_by_something() {
    for (name, _) in registry::PROFILES {
        for path in paths(&profile(name)) {
            assert!(tells(&path).len() > 20, "{name}: {path}");
        }
    }
    assert_ne!(tells("cache.write"), tells("controller.read"));
}

#[test]
fn the_same_setting_has_the_gain_of_the_headline_and_others_move_it() {
    let workload = straddle_workload::Workload {
        reads: straddle_workload::Percent::ALL,
        pattern: straddle_workload::Pattern::Random,
        sizes: vec![(straddle_geometry::Unit::new(65_536).expect("not zero"), 1)],
        workers: 1,
        outstanding: 64,
        think: std::time::Duration::ZERO,
        rate: None,
    };
    let scenario = |offset| Scenario {
        profile: profile("fixed-service"),
        workload: workload.clone(),
        script: None,
        arrivals: crate::requests::Arrivals::Even,
        offset: straddle_geometry::Bytes::new(offset),
        span: Some(straddle_geometry::Bytes::new(256 << 20)),
    };
    let pair = [scenario(32_256), scenario(65_536)];
    let look = Look {
        pair: &pair,
        quantity: Quantity::Rate,
        headline: 2.5,
        length: Length {
            warm_up: 500,
            measured: 4_000,
        },
        effort: Effort {
            requests: 4_000,
            ..Effort::default()
        },
        is_settled: true,
        is_whole: false,
        most: 10,
    };
    let nominal = look.nominal().expect("it runs");
    let (level, stripes) = (Value::Word("raid0"), Value::Number(1_048_576.0));
    let settings = [
        vec![("array.level", &level)],
        vec![("array.stripe_unit", &stripes)],
        vec![("array.stripe_unit", &Value::Number(-1.0))],
    ];
    let gains = look.gains(&settings, &nominal);
    let found = |at: usize| gains[at].clone().expect("it runs");
    assert_eq!(
        (found(0).gain, found(0).by, found(0).half_width),
        (2.5, 0.0, 0.0)
    );
    // Every 64K request is two operations off the boundary of 64K, and every sixteenth off that of 1M: half the gain.
    let moved = found(1);
    assert!((1.25..1.45).contains(&moved.gain), "{moved:?}");
    assert!((moved.gain - 2.5 - moved.by).abs() < 1e-12, "{moved:?}");
    gains[2].clone().expect_err("a stripe unit below zero");
}
