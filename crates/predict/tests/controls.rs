//! Verdicts where the answer is known without a simulation: nothing can be gained, a gain is certain whatever the ranges
//! hold, or exactly one assumption decides.

use std::collections::BTreeSet;
use std::time::Duration;

use straddle_geometry::{Bytes, Unit};
use straddle_predict::Arrivals;
use straddle_predict::decision::{Recommendation, Work};
use straddle_predict::experiment::Effort;
use straddle_predict::prediction::{Prediction, Question, predict, predict_mixes};
use straddle_predict::profile::{Origin, Profile, registry};
use straddle_predict::sensitivity::NotKnown;
use straddle_workload::offset::Offset;
use straddle_workload::{Pattern, Percent, Workload};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// What is asked, and of what.
struct Control {
    profile: Profile,
    io: u64,
    reads: u8,
    pattern: Pattern,
    outstanding: u32,
    offsets: [u64; 2],
    span: u64,
    sensitivities: usize,
}

impl Control {
    fn new(profile: Profile, io: u64, reads: u8, offsets: [u64; 2]) -> Control {
        Control {
            profile,
            io,
            reads,
            pattern: Pattern::Random,
            outstanding: 16,
            offsets,
            span: 512 * MIB,
            sensitivities: 24,
        }
    }

    fn name(&self) -> String {
        format!(
            "{}, {} B, {}% reads, {:?}, {} outstanding, {:?}",
            self.profile.title, self.io, self.reads, self.pattern, self.outstanding, self.offsets
        )
    }

    fn question(&self) -> Question {
        let offset = |bytes: u64| Offset {
            name: bytes.to_string(),
            bytes: Bytes::new(bytes),
        };
        Question {
            profile: self.profile.clone(),
            workload: Workload {
                reads: Percent::new(self.reads).expect("a share"),
                pattern: self.pattern,
                sizes: vec![(Unit::new(self.io).expect("not zero"), 1)],
                workers: 1,
                outstanding: self.outstanding,
                think: Duration::ZERO,
                rate: None,
            },
            script: None,
            arrivals: Arrivals::Even,
            offsets: self.offsets.map(offset).to_vec(),
            span: Some(Bytes::new(self.span)),
            effort: Effort {
                requests: 4_000,
                ..Effort::default()
            },
            sensitivities: self.sensitivities,
            work: Work {
                data: Some(Bytes::new(100 << 30)),
                passes: 2,
                rate: 200e6,
            },
        }
    }

    fn predict(&self) -> Prediction {
        predict(self.question(), |_| {})
            .unwrap_or_else(|refusal| panic!("{}: {refusal}", self.name()))
    }
}

fn ours(name: &str) -> Profile {
    registry::load(name).unwrap_or_else(|refusal| panic!("{refusal}"))
}

/// Members of a fixed service time with stripes, nothing of it assumed but what is put in.
fn striped(level: &str, members: u64, unit: u64, more: &str) -> Profile {
    let text = format!(
        r#"
title = "{level}, {members} members, {unit} B"
{more}
[array]
level = {{ value = "{level}", source = "a control" }}
members = {{ value = {members}, source = "a control" }}
stripe_unit = {{ value = {unit}, source = "a control" }}
merge = {{ value = "adjacent", source = "a control" }}
balance = {{ value = "shortest", source = "a control" }}
parity = {{ value = "rmw", source = "a control" }}
[server]
service = {{ value = "5 ms", source = "a control" }}
capacity = {{ value = "1 GiB", source = "a control" }}
"#
    );
    Profile::read("control", &text).unwrap_or_else(|refusal| panic!("{refusal}"))
}

/// The same profile with another line in place of the one that begins so.
fn ranged(profile: &Profile, line: &str, with: &str) -> Profile {
    let text = straddle_predict::fit::toml_of(profile);
    let changed: Vec<&str> = text
        .lines()
        .map(|l| if l.starts_with(line) { with } else { l })
        .collect();
    Profile::read("control", &changed.join("\n")).unwrap_or_else(|refusal| panic!("{refusal}"))
}

fn gain(prediction: &Prediction) -> f64 {
    prediction
        .trials
        .cases
        .last()
        .and_then(|case| case.gain)
        .map_or(f64::NAN, |gain| gain.mean)
}

/// Of so many controls one is asked for every commit. Kinds that come in turns of eight are all among them.
const STEP: usize = 5;

/// Every control has its verdict; says which have not. For every commit those are asked whose turn it is, and those with a word in their
/// name (a level, a depth, an offset) that none asked before them has. What is asked has its place among all.
fn hold(controls: &[Control], least: usize, is_right: impl Fn(usize, &Prediction) -> bool) {
    assert!(controls.len() >= least, "{} controls", controls.len());
    let mut wrong = String::new();
    let mut asked = BTreeSet::new();
    for (place, control) in controls.iter().enumerate() {
        let name = control.name();
        let is_new = name.split(' ').any(|word| !asked.contains(word));
        if !straddle_testkit::is_soak() && place % STEP != 0 && !is_new {
            continue;
        }
        asked.extend(name.split(' ').map(str::to_owned));
        let prediction = control.predict();
        if !is_right(place, &prediction) {
            let decision = prediction.decision.as_ref();
            let call = decision.map(|decision| (decision.call, decision.as_assumed));
            let turns = decision.map(|decision| decision.turns(&prediction.sensitivity));
            wrong += &format!(
                "{}: gain {}, {call:?}, {turns:?}\n",
                control.name(),
                gain(&prediction)
            );
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

fn is_not_worth_it(_: usize, prediction: &Prediction) -> bool {
    let call = prediction.decision.map(|decision| decision.call);
    (gain(prediction) - 1.0).abs() <= 0.01 && call == Some(Recommendation::NotWorthIt)
}

/// Both offsets are on all grids, or there is no grid.
#[test]
fn where_nothing_can_be_gained_nothing_is_worth_it() {
    let mut controls = Vec::new();
    // Sector by sector on what is addressed by bytes: 4 volumes, 5 steps, reads and writes.
    for volume in ["aws-gp3", "aws-io2", "azure-premium-v2", "gcp-pd-balanced"] {
        for sectors in [1, 7, 63, 65, 127] {
            for reads in [0, 100] {
                controls.push(Control::new(
                    ours(volume),
                    8 * KIB,
                    reads,
                    [sectors * 512, MIB],
                ));
            }
        }
    }
    // Aligned on all grids.
    for (level, members) in [("raid0", 8), ("raid10", 8), ("raid5", 5), ("raid6", 6)] {
        for unit in [16 * KIB, 64 * KIB, 256 * KIB] {
            for reads in [0, 100] {
                controls.push(Control::new(
                    striped(level, members, unit, ""),
                    8 * KIB,
                    reads,
                    [MIB, 16 * MIB],
                ));
            }
        }
    }
    hold(&controls, 60, is_not_worth_it);
}

/// A command of the cache's is a page and more, whatever the requests were that filled it in order.
#[test]
fn requests_in_order_behind_a_cache_gain_nothing() {
    let mut controls = Vec::new();
    for array in ["raid-adapter-cached", "san-lun", "msa60-p800"] {
        for io in [2 * KIB, 4 * KIB] {
            controls.push(Control {
                pattern: Pattern::Sequential,
                sensitivities: 0,
                ..Control::new(ours(array), io, 0, [32_256, MIB])
            });
        }
    }
    hold(&controls, 6, |_, prediction| {
        (gain(prediction) - 1.0).abs() <= 0.01
    });
}

/// Every request is split in two, or every write reads and rewrites what it covers in part.
#[test]
fn where_a_gain_is_certain_it_is_fixed_now() {
    let mut controls = Vec::new();
    for unit in [16 * KIB, 32 * KIB, 64 * KIB, 128 * KIB] {
        for (level, members) in [("raid0", 4), ("raid0", 8), ("raid10", 8), ("raid5", 5)] {
            for reads in [0, 100] {
                for outstanding in [64, 256] {
                    // A request of a unit that begins anywhere but on a boundary touches two.
                    controls.push(Control {
                        outstanding,
                        ..Control::new(
                            striped(level, members, unit, ""),
                            unit,
                            reads,
                            [unit / 2 + 512, MIB],
                        )
                    });
                }
            }
        }
    }
    hold(&controls, 60, |_, prediction| {
        let call = prediction.decision.map(|decision| decision.call);
        gain(prediction) > 1.5 && call == Some(Recommendation::FixNow)
    });
}

/// How fast members are, how many there are and how far away: all assumed, and whatever they are, every request is two, or every write
/// of a sector reads a granule first.
#[test]
fn where_a_gain_is_certain_no_range_turns_it() {
    let far = r#"[port]
latency = { value = "50 us", assumed = "a control", range = ["10 us", "200 us"] }"#;
    let mut controls = Vec::new();
    for unit in [16 * KIB, 64 * KIB, 256 * KIB] {
        for (level, members, range) in [
            ("raid0", 4, "[3, 16]"),
            ("raid10", 8, "[4, 16]"),
            ("raid5", 5, "[5, 9]"),
            ("raid6", 8, "[6, 12]"),
        ] {
            for reads in [0, 50, 100] {
                for outstanding in [64, 256] {
                    let profile = striped(level, members, unit, far);
                    let profile = ranged(
                        &profile,
                        "service",
                        r#"service = { value = "5 ms", assumed = "a control", range = ["1 ms", "10 ms"] }"#,
                    );
                    let members = format!(
                        r#"members = {{ value = {members}, assumed = "a control", range = {range} }}"#
                    );
                    let profile = ranged(&profile, "members", &members);
                    controls.push(Control {
                        outstanding,
                        ..Control::new(profile, unit, reads, [unit / 2 + 512, MIB])
                    });
                }
            }
        }
    }
    for disk in ["ultrastar-hc310-512e", "wd-green-2tb"] {
        for reads in [0, 20] {
            for outstanding in [1, 4] {
                controls.push(Control {
                    outstanding,
                    ..Control::new(ours(disk), 4 * KIB, reads, [32_256, MIB])
                });
            }
        }
    }
    hold(&controls, 80, |_, prediction| {
        let varied = prediction.sensitivity.varied.iter();
        let known = varied.filter(|varied| varied.ends.iter().any(|end| end.gain.is_ok()));
        let decision = prediction.decision.as_ref();
        let turns = decision.map(|decision| decision.turns(&prediction.sensitivity).len());
        gain(prediction) > 1.2
            && known.count() >= 2
            && turns == Some(0)
            && decision.map(|decision| decision.call) == Some(Recommendation::FixNow)
    });
}

/// Writes at one offset and another, of an array with a cache.
fn written(profile: Profile, outstanding: u32, span: Option<u64>) -> Question {
    let mut control = Control::new(profile, 8 * KIB, 0, [32_256, MIB]);
    control.outstanding = outstanding;
    let mut question = control.question();
    question.span = span.map(Bytes::new);
    question
}

#[test]
fn pages_that_are_written_again_and_again_are_as_dirty_as_they_stay() {
    // From 400,000 requests: 12.9% (12.6 to 13.2), wherever they began.
    let mut question = written(ours("raid-adapter-cached"), 8, Some(2 << 30));
    question.workload.sizes = vec![(Unit::new(4 * KIB).expect("not zero"), 1)];
    question.sensitivities = 0;
    question.effort.most = 12;
    let found = predict(question, |_| {}).expect("it runs");
    assert_eq!(found.trials.length.measured, 4_000);
    let gain = found.trials.cases[1].gain.expect("not the baseline");
    assert!((1.11..1.15).contains(&gain.mean), "{gain:?}");
}

#[test]
fn a_cache_that_writes_back_more_slowly_than_through_says_so() {
    let of = |profile: Profile| {
        let mut question = written(profile, 32, Some(8 << 30));
        question.sensitivities = 0;
        let found = predict(question, |_| {}).expect("it runs");
        found.written_through.map(|through| through.rate.mean)
    };
    let back = of(ours("raid10-600gb")).expect("7 destages, and 8 disks with a queue each");
    assert!((1.4..2.2).contains(&back), "{back}");
    let set = |key: &str, value: &str| {
        let profile = ours("raid10-600gb");
        profile
            .with(key, &value.into(), Origin::Flag)
            .expect("it is allowed")
    };
    assert_eq!(of(set("cache.write", "through")), None);
    assert_eq!(of(ours("md-hdd")), None, "no cache");
}

#[test]
fn a_cache_that_writes_back_more_slowly_in_some_mix_says_in_which() {
    let mut question = written(ours("raid10-600gb"), 32, Some(8 << 30));
    question.sensitivities = 0;
    let mixes = [100, 0].map(|reads| Percent::new(reads).expect("a share"));
    let found = predict_mixes(question, &mixes, |_| {}).expect("it runs");
    let through = found.written_through.expect("destages are what is busy");
    assert_eq!(through.reads, mixes[1], "reads alone destage nothing");
    assert!((1.4..2.2).contains(&through.rate.mean), "{through:?}");
    assert_eq!(found.mixes.len(), 2);
}

#[test]
fn a_value_has_the_gain_that_it_has_by_itself() {
    // With smaller pages, the cache of a headline that begins full would begin empty.
    let mut question = written(ours("raid10-600gb"), 32, Some(8 << 30));
    question.sensitivities = 64;
    let found = predict(question.clone(), |_| {}).expect("it runs");
    let varied = found.sensitivity.varied.iter();
    let pages = varied.clone().find(|varied| varied.path == "cache.page");
    let end = pages
        .expect("it is assumed")
        .ends
        .first()
        .expect("one of them");
    let there = end.gain.clone().expect("it is a steady state");
    question.sensitivities = 0;
    question.profile = question
        .profile
        .with("cache.page", &end.value.as_str().into(), Origin::Flag)
        .expect("it is allowed");
    let alone = predict(question, |_| {}).expect("it runs");
    let alone = alone.trials.cases[1].gain.expect("not the baseline");
    let apart = (there.gain - alone.mean).abs();
    assert!(
        apart <= there.half_width + alone.high - alone.mean + 0.01,
        "{there:?}, {alone:?}"
    );
    // Nothing is known to worse than what would be known without a run.
    for end in varied.flat_map(|varied| &varied.ends) {
        if let Ok(moved) = &end.gain {
            assert!(moved.half_width < 0.5, "{}: {moved:?}", end.value);
        }
    }
}

#[test]
fn values_that_leave_less_room_are_tried_over_what_there_is() {
    let mut question = written(ours("raid-adapter-cached"), 8, None);
    question.effort.requests = 1_000;
    question.effort.most = question.effort.least;
    let found = predict(question, |_| {}).expect("it runs");
    for path in ["array.level", "array.members"] {
        let varied = found
            .sensitivity
            .varied
            .iter()
            .find(|varied| varied.path == path);
        for end in &varied.expect("it is assumed").ends {
            let impossible = matches!(end.gain, Err(NotKnown::Impossible(_)));
            assert!(!impossible, "{path} = {}: {:?}", end.value, end.gain);
        }
    }
}

/// One figure is assumed with a range, and the verdict turns within it.
#[test]
fn the_one_assumption_that_decides_is_named() {
    let mut controls: Vec<(Control, &str)> = Vec::new();
    let members = [4, 6, 8, 12, 16];
    for (at, members) in members.into_iter().enumerate() {
        let reads = if at % 2 == 0 { 100 } else { 0 };
        // Stripe units as long as requests, or 32 times as long.
        let stripes = ranged(
            &striped("raid0", members, 64 * KIB, ""),
            "stripe_unit",
            r#"stripe_unit = { value = "64 KiB", assumed = "a control", range = ["64 KiB", "2 MiB"] }"#,
        );
        controls.push((
            Control {
                outstanding: 256,
                ..Control::new(stripes, 64 * KIB, reads, [32_256, 16 * MIB])
            },
            "array.stripe_unit",
        ));
        // A controller that is no limit, or the only one.
        let slow = "[controller]\nread = { value = \"10 us\", assumed = \"a control\", range = [\"1 us\", \"20 ms\"] }\n\
                    write = { value = \"10 us\", source = \"a control\" }\npiece = { value = 0, source = \"a control\" }";
        controls.push((
            Control {
                outstanding: 256,
                ..Control::new(
                    striped("raid0", members, 64 * KIB, slow),
                    64 * KIB,
                    100,
                    [32_256, MIB],
                )
            },
            "controller.read",
        ));
        let slow = "[controller]\nwrite = { value = \"10 us\", assumed = \"a control\", range = [\"1 us\", \"20 ms\"] }\n\
                    read = { value = \"10 us\", source = \"a control\" }\npiece = { value = 0, source = \"a control\" }";
        controls.push((
            Control {
                outstanding: 256,
                ..Control::new(
                    striped("raid0", members, 64 * KIB, slow),
                    64 * KIB,
                    0,
                    [32_256, MIB],
                )
            },
            "controller.write",
        ));
        // Latency on the way that is nothing, or all of it: at a depth at which nothing queues.
        let far = "[port]\nlatency = { value = \"10 us\", assumed = \"a control\", range = [\"1 us\", \"900 ms\"] }";
        controls.push((
            Control {
                outstanding: 256,
                ..Control::new(
                    striped("raid0", members, 64 * KIB, far),
                    64 * KIB,
                    reads,
                    [32_256, MIB],
                )
            },
            "port.latency",
        ));
        // Disks that are the limit, or a port that is.
        let port = "[port]\nbandwidth = { value = \"1 GB/s\", assumed = \"a control\", range = [\"10 MB/s\", \"1 GB/s\"] }";
        controls.push((
            Control {
                outstanding: 256,
                ..Control::new(
                    striped("raid0", members, 64 * KIB, port),
                    64 * KIB,
                    reads,
                    [32_256, MIB],
                )
            },
            "port.bandwidth",
        ));
        // As many as are let in, or one at a time.
        let depth = "[port]\ndepth = { value = 256, assumed = \"a control\", range = [1, 256] }";
        controls.push((
            Control {
                outstanding: 256,
                ..Control::new(
                    striped("raid0", members, 64 * KIB, depth),
                    64 * KIB,
                    reads,
                    [32_256, MIB],
                )
            },
            "port.depth",
        ));
        // Disks that take 5 ms, or next to nothing beside a controller of 1 ms.
        let controller = "[controller]\nread = { value = \"1 ms\", source = \"a control\" }\n\
                          write = { value = \"1 ms\", source = \"a control\" }\npiece = { value = 0, source = \"a control\" }";
        let service = ranged(
            &striped("raid0", members, 64 * KIB, controller),
            "service",
            r#"service = { value = "50 ms", assumed = "a control", range = ["0.01 ms", "50 ms"] }"#,
        );
        controls.push((
            Control {
                outstanding: 256,
                ..Control::new(service, 64 * KIB, reads, [32_256, MIB])
            },
            "server.service",
        ));
        // A level with stripes, or copies without.
        let level = ranged(
            &striped("raid0", members, 64 * KIB, ""),
            "level",
            r#"level = { value = "raid0", assumed = "a control", range = ["raid0", "raid1"] }"#,
        );
        controls.push((
            Control {
                outstanding: 256,
                ..Control::new(level, 64 * KIB, reads, [32_256, MIB])
            },
            "array.level",
        ));
    }
    let paths: Vec<&str> = controls.iter().map(|(_, path)| *path).collect();
    let controls: Vec<Control> = controls.into_iter().map(|(control, _)| control).collect();
    hold(&controls, 40, |place, prediction| {
        let path = paths[place];
        let Some(decision) = prediction.decision else {
            return false;
        };
        let turns = decision.turns(&prediction.sensitivity);
        let named: Vec<&str> = turns
            .iter()
            .flat_map(|turn| &turn.values)
            .map(|(path, _)| path.as_str())
            .collect();
        decision.call == Recommendation::ItDepends && named == [path]
    });
}
