//! What holds in every run of every system: nothing is lost or served twice, Little's law, no server does more than it can.

use crate::common::{closed, open, stations};
use proptest::prelude::*;
use straddle_geometry::{Access, Bytes};
use straddle_predict::model;
use straddle_predict::profile::{Kind, Origin, Profile, registry};
use straddle_predict::{Length, Next, Outcome, Requests, Time, replay};

/// Requests that were written down, for each stream in its order.
#[derive(Clone, Debug)]
struct Recorded {
    streams: Vec<Vec<Next>>,
    is_open: bool,
    /// For each stream, how many were taken.
    taken: Vec<usize>,
    /// How often a stream was asked after its end.
    ends: Vec<usize>,
    /// The last time at which each was asked.
    asked: Vec<Time>,
}

impl Recorded {
    fn new(streams: Vec<Vec<Next>>, is_open: bool) -> Recorded {
        let count = streams.len();
        Recorded {
            streams,
            is_open,
            taken: vec![0; count],
            ends: vec![0; count],
            asked: vec![Time::ZERO; count],
        }
    }

    fn requests(&self) -> u64 {
        self.streams.iter().map(|stream| stream.len() as u64).sum()
    }
}

impl Requests for Recorded {
    fn streams(&self) -> u32 {
        u32::try_from(self.streams.len()).expect("a few")
    }

    fn next(&mut self, now: Time, stream: u32) -> Option<Next> {
        let stream = stream as usize;
        assert!(now >= self.asked[stream], "time runs forward");
        self.asked[stream] = now;
        let next = self.streams[stream].get(self.taken[stream]).copied();
        match next {
            Some(_) => self.taken[stream] += 1,
            None => self.ends[stream] += 1,
        }
        // In a closed loop, a pause counts from the last answer.
        next.map(|next| Next {
            due: if self.is_open {
                next.due
            } else {
                now + next.due
            },
            ..next
        })
    }

    fn is_open(&self) -> bool {
        self.is_open
    }
}

const ALL: Length = Length {
    warm_up: 0,
    measured: u64::MAX,
};

/// All words that a key of the array allows.
fn words(key: &str) -> &'static [&'static str] {
    let array = model::find("array").expect("a model");
    match array.key(key).expect("a key").kind {
        Kind::Word(words) => words,
        _ => &[],
    }
}

/// Keys of the array that matter to some levels only, each with a value now and then.
fn options() -> impl Strategy<Value = Vec<(&'static str, toml::Value)>> {
    let word = |key: &'static str| {
        let word = proptest::sample::select(words(key));
        let word = word.prop_map(move |word| (key, toml::Value::from(word)));
        proptest::option::weighted(0.3, word)
    };
    let number = |key: &'static str, range: std::ops::Range<i64>| {
        let number = range.prop_map(move |number| (key, toml::Value::from(number)));
        proptest::option::weighted(0.2, number)
    };
    let words = (
        word("layout"),
        word("parity"),
        word("balance"),
        word("merge"),
    );
    let numbers = (
        number("copies", 2..4),
        number("row", 3..6),
        number("failed", 0..12),
    );
    (words, numbers)
        .prop_map(|((a, b, c, d), (e, f, g))| [a, b, c, d, e, f, g].into_iter().flatten().collect())
}

/// Those levels that are made of several sets are made of two.
fn leveled(profile: Profile, level: &str, members: i64) -> Profile {
    let profile = set(profile, "array.level", level);
    let profile = set(profile, "array.members", members);
    match level {
        "raid50" | "raid60" => set(profile, "array.spans", 2),
        _ => profile,
    }
}

fn set(profile: Profile, path: &str, value: impl Into<toml::Value>) -> Profile {
    let value = value.into();
    profile
        .with(path, &value, Origin::Flag)
        .expect("it is allowed")
}

/// Members and their level, servers, unit in sectors, distribution, ports, controller.
fn systems() -> impl Strategy<Value = Profile> {
    let level = proptest::sample::select(words("level"));
    let distribution = proptest::sample::select(&["fixed", "exponential"][..]);
    let port = proptest::option::of((1_i64..3, 1_i64..20));
    let processors = proptest::option::of(1_i64..3);
    let array = (level, 1_i64..13, options());
    let base = (array, 1_i64..4, 1_u32..9, distribution, port, processors);
    base.prop_map(
        |((level, members, options), servers, unit, distribution, port, processors)| {
            let mut profile = leveled(stations(1, 1, distribution), level, members);
            for (key, value) in options {
                profile = set(profile, &format!("array.{key}"), value);
            }
            profile = set(profile, "array.stripe_unit", 512_i64 << unit);
            profile = set(profile, "server.servers", servers);
            profile = set(profile, "server.capacity", 1_i64 << 24);
            if let Some((count, depth)) = port {
                profile = set(profile, "port.count", count);
                profile = set(profile, "port.depth", depth);
                profile = set(profile, "port.command", "100 us");
            }
            if let Some(processors) = processors {
                profile = set(profile, "controller.processors", processors);
                profile = set(profile, "controller.read", "1 ms");
                profile = set(profile, "controller.write", "2 ms");
                profile = set(profile, "controller.piece", 0.5);
            }
            profile
        },
    )
}

/// Requests within 4 MiB: less than the smallest system holds.
fn recorded() -> impl Strategy<Value = Recorded> {
    let request = (0_u64..8000, 1_u64..64, any::<bool>(), 0_u64..20_000_000);
    let request = request.prop_map(|(sector, sectors, reads, due)| Next {
        due: Time::nanoseconds(due),
        access: if reads { Access::Read } else { Access::Write },
        start: Bytes::new(sector * 512),
        len: Bytes::new(sectors * 512),
    });
    let stream = proptest::collection::vec(request, 0..40);
    let streams = proptest::collection::vec(stream, 1..6);
    (streams, any::<bool>()).prop_map(|(mut streams, is_open)| {
        if is_open {
            for stream in &mut streams {
                stream.sort_by_key(|next| next.due);
            }
        }
        Recorded::new(streams, is_open)
    })
}

/// Time of requests under way, added up, is that of their latencies: exactly, as both are whole numbers.
fn little(outcome: &Outcome) -> bool {
    #[expect(clippy::cast_precision_loss, reason = "compared as shares")]
    let (waited, elapsed) = (outcome.waited as f64, outcome.elapsed.get() as f64);
    (outcome.mean_outstanding * elapsed - waited).abs() <= 1e-9 * waited
}

fn is_possible(outcome: &Outcome) -> bool {
    let mut resources = outcome.resources.iter();
    resources
        .all(|used| used.mean >= 0.0 && used.mean <= used.most + 1e-9 && used.most <= 1.0 + 1e-9)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_request_is_answered_once(profile in systems(), mut recorded in recorded(), seed: u64) {
        let again = recorded.clone();
        // Some levels want more members, or an even number: those are refused, and said so.
        let Ok(outcome) = replay(&profile, &mut recorded, seed, ALL) else {
            return Ok(());
        };
        let requests = recorded.requests();
        prop_assert_eq!(outcome.requests(), requests);
        let all = || recorded.streams.iter().flatten();
        let reads = all().filter(|next| next.access == Access::Read).count() as u64;
        prop_assert_eq!(outcome.reads.count(), reads);
        prop_assert_eq!(outcome.bytes, all().map(|next| next.len.get()).sum::<u64>());
        prop_assert!(recorded.ends.iter().all(|ends| *ends == 1), "asked for the next once, and at the end once more");
        prop_assert_eq!(outcome.counts.commands, requests);
        prop_assert!(outcome.counts.units >= requests);
        prop_assert!(outcome.counts.straddling <= requests);
        if requests > 0 {
            prop_assert!(little(&outcome), "{}", outcome.mean_outstanding);
            prop_assert!(is_possible(&outcome), "{:?}", outcome.resources);
        }
        let again = replay(&profile, &mut again.clone(), seed, ALL).expect("as before");
        prop_assert!(outcome == again, "a run is the same every time");
    }

    #[test]
    fn a_request_beyond_the_end_is_refused(
        start in prop_oneof![Just(0), Just(1 << 30), Just((1 << 30) - 512), Just(u64::MAX), any::<u64>()],
        len in prop_oneof![Just(0), Just(1), Just(512), Just(1 << 30), Just(u64::MAX), any::<u64>()],
    ) {
        let profile = stations(1, 1, "fixed");
        let next = Next {
            due: Time::ZERO,
            access: Access::Write,
            start: Bytes::new(start),
            len: Bytes::new(len),
        };
        let fits = len > 0 && u128::from(start) + u128::from(len) <= 1 << 30;
        // Pieces are as many as stripe units: a gigabyte in one request is no matter of this test.
        prop_assume!(!fits || len <= 1 << 20);
        let found = replay(&profile, &mut Recorded::new(vec![vec![next]], false), 1, ALL);
        prop_assert_eq!(found.is_ok(), fits);
        if let Err(refusal) = found {
            prop_assert!(refusal.to_string().contains("bytes"), "{}", refusal);
        }
    }
}

#[test]
fn every_level_is_tried() {
    for level in words("level") {
        let mut answered = 0;
        for members in 1..=12_i64 {
            let profile = leveled(stations(1, 1, "fixed"), level, members);
            let mut one = Recorded::new(vec![vec![]], false);
            answered += u32::from(replay(&profile, &mut one, 1, ALL).is_ok());
        }
        assert!(answered > 0, "{level}: refused with up to 12 members");
    }
}

#[test]
fn littles_law_holds_in_runs_of_every_profile() {
    for (name, _) in registry::PROFILES {
        let profile = registry::load(name).expect("one of ours");
        for scenario in [
            closed(profile.clone(), 24, 0.0),
            closed(profile.clone(), 8, 0.002),
            open(profile, 20.0),
        ] {
            let length = Length {
                warm_up: 500,
                measured: 2_000,
            };
            let outcome = match scenario.simulate(1, length) {
                Ok(outcome) => outcome,
                Err(refusal) => panic!("{name}: {refusal}"),
            };
            assert_eq!(outcome.requests(), 2_000);
            assert!(is_possible(&outcome), "{name}: {:?}", outcome.resources);
            // At both ends of the window, requests lie across: at most those under way, for at most the longest latency.
            let longest = outcome
                .reads
                .most()
                .max(outcome.writes.most())
                .as_secs_f64();
            let inside = outcome.mean_outstanding * outcome.elapsed.to_seconds();
            let latencies = outcome.mean_latency() * 2_000.0;
            let edge = longest * outcome.mean_outstanding.max(1.0) * 2.0;
            assert!(
                (inside - latencies).abs() <= edge,
                "{name}: {inside} {latencies} {edge}"
            );
            assert!(edge < inside * 0.5, "{name}: the bound says something");
        }
    }
}
