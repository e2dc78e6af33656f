//! A prediction does not depend on how long it was simulated: the gain from four and from sixteen times as many requests lies
//! where its interval says, and intervals are narrow.
//!
//! Every profile in several levels, with a write-back cache and without, reads, writes and requests in order. A sample here;
//! `cargo xtask soak convergence` tries all.

use std::fmt::Write;
use std::time::Duration;
use straddle_bench::results::Interval;
use straddle_bench::workload::{Pattern, Percent, Workload};
use straddle_geometry::{Bytes, Unit};
use straddle_predict::experiment::{Effort, compare};
use straddle_predict::profile::{Origin, Profile, registry};
use straddle_predict::{Arrivals, LEVEL, Scenario, prediction};

/// One array and one workload.
struct Setting {
    name: String,
    pair: [Scenario; 2],
}

/// A level and its members; the profile's own where it is empty.
const LEVELS: &[(&str, i64)] = &[
    ("", 0),
    ("raid0", 4),
    ("raid10", 8),
    ("raid5", 5),
    ("raid6", 8),
];
const CACHES: &[&str] = &["own", "back"];
/// Share of reads, and whether in order.
const ACCESSES: &[(&str, u8, bool)] = &[
    ("reads", 100, false),
    ("writes", 0, false),
    ("reads in order", 100, true),
    ("writes in order", 0, true),
    ("70/30", 70, false),
];

fn set(profile: Profile, path: &str, value: impl Into<toml::Value>) -> Profile {
    profile
        .with(path, &value.into(), Origin::Flag)
        .expect("it is allowed")
}

fn has(profile: &Profile, section: &str) -> bool {
    profile
        .figures()
        .any(|(model, ..)| model.section == section)
}

/// The offset in question and one on all grids: legal for the device.
fn setting(profile: &str, level: usize, cache: usize, access: usize) -> Setting {
    let mut of = registry::load(profile).expect("one of ours");
    let (level, members) = LEVELS[level];
    let is_array = has(&of, "array");
    if !level.is_empty() {
        of = set(of, "array.level", level);
        of = set(of, "array.members", members);
        if !is_array {
            of = set(of, "array.stripe_unit", "64 KiB");
        }
    }
    if CACHES[cache] == "back" {
        match has(&of, "cache") {
            // The other way round where there is one.
            true => of = set(of, "cache.write", "through"),
            false => {
                of = set(of, "cache.size", "64 MiB");
                of = set(of, "cache.page", "16 KiB");
                of = set(of, "cache.destages", 32);
            }
        }
    }
    let (what, reads, is_sequential) = ACCESSES[access];
    let workload = Workload {
        reads: Percent::new(reads).expect("a share"),
        pattern: if is_sequential {
            Pattern::Sequential
        } else {
            Pattern::Random
        },
        sizes: vec![(Unit::new(8192).expect("not zero"), 1)],
        workers: 4,
        outstanding: 4,
        think: Duration::ZERO,
        rate: None,
    };
    let capacity = prediction::capacity(&of).expect("it can be built").get();
    let span = Bytes::new(((capacity - (2 << 20)) / 2).min(32 << 30));
    let first = if profile.contains("4kn") {
        32_768 - 4096
    } else {
        32_256
    };
    let at = |offset| Scenario {
        profile: of.clone(),
        workload: workload.clone(),
        script: None,
        arrivals: Arrivals::Even,
        offset: Bytes::new(offset),
        span: Some(span),
    };
    Setting {
        name: format!(
            "{profile} {} {} {what}",
            if level.is_empty() { "as it is" } else { level },
            CACHES[cache]
        ),
        pair: [at(first), at(1 << 20)],
    }
}

/// Every profile, level and cache, each with one of the accesses in turn.
fn all() -> Vec<Setting> {
    let mut all = Vec::new();
    for (number, (profile, _)) in registry::PROFILES.iter().enumerate() {
        for level in 0..LEVELS.len() {
            for cache in 0..CACHES.len() {
                // Each access meets each level and each cache.
                let access = (number + 2 * level + cache * (1 + level)) % ACCESSES.len();
                all.push(setting(profile, level, cache, access));
            }
        }
    }
    all
}

/// What one setting came to.
struct Found {
    name: String,
    gain: Interval,
    /// The gain from four and from sixteen times as many requests.
    longer: [f64; 2],
    says_why: bool,
    law: Vec<String>,
}

impl Found {
    fn half(&self) -> f64 {
        (self.gain.high - self.gain.low) / 2.0
    }

    fn holds(&self, gain: f64) -> bool {
        self.gain.low <= gain && gain <= self.gain.high
    }
}

fn run(setting: &Setting, requests: u64) -> Found {
    let usual = Effort {
        requests,
        ..Effort::default()
    };
    let trials = compare(&setting.pair, usual).expect("it can be simulated");
    let gain = trials.cases[1].gain.expect("not the baseline");
    let says_why = trials.cases.iter().any(|case| case.unsettled.is_some());
    let stores = trials.cases.iter().flat_map(|case| &case.stores);
    let law = stores.filter(|store| store.drift().abs() > LEVEL);
    let law = law.map(|store| format!("{} {:+.4}", store.name, store.drift()));
    let law = law.collect();
    let longer = [4, 16].map(|times| {
        let effort = Effort {
            requests: requests * times,
            least: 2,
            most: 2,
            ..usual
        };
        let trials = compare(&setting.pair, effort).expect("it can be simulated");
        trials.cases[1].gain.expect("not the baseline").mean
    });
    Found {
        name: setting.name.clone(),
        gain,
        longer,
        says_why,
        law,
    }
}

#[expect(clippy::print_stdout, reason = "the report of the long form")]
fn judge(found: &[Found]) {
    let mut text = String::new();
    let outside = |at: usize| found.iter().filter(move |f| !f.holds(f.longer[at]));
    for f in found {
        let is_outside = !f.longer.iter().all(|gain| f.holds(*gain));
        if is_outside || f.half() > 0.05 || !f.law.is_empty() {
            let _ = writeln!(
                text,
                "{}: {:.4} ({:.4} to {:.4}), 4N {:.4}, 16N {:.4}{} {:?}",
                f.name,
                f.gain.mean,
                f.gain.low,
                f.gain.high,
                f.longer[0],
                f.longer[1],
                if f.says_why { ", unsettled" } else { "" },
                f.law
            );
        }
    }
    let mut halves: Vec<f64> = found.iter().map(Found::half).collect();
    halves.sort_by(f64::total_cmp);
    let at = |share: f64| {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "an index"
        )]
        let index = (share * (halves.len() - 1) as f64).round() as usize;
        halves[index] * 100.0
    };
    let (median, most) = (at(0.5), at(0.95));
    let [at_4, at_16] = [0, 1].map(|at| outside(at).count());
    let unsettled = found.iter().filter(|f| f.says_why).count();
    let _ = writeln!(
        text,
        "{} settings: at 4N {at_4} outside, at 16N {at_16}; half width {median:.3} points in the median, {most:.3} in 95%; \
         {unsettled} say that they are no steady state",
        found.len()
    );
    println!("{text}");
    // 6%, and one more for a sample that is small.
    let allowed = found.len() * 6 / 100 + usize::from(found.len() < 100);
    assert!(at_4 <= allowed && at_16 <= allowed, "{text}");
    assert!(median <= 1.0 && most <= 5.0, "{text}");
    for f in found {
        assert!(f.law.is_empty() || f.says_why, "{}: {:?}", f.name, f.law);
        assert!(
            f.half() <= 0.05 || f.says_why,
            "wide without a word: {}",
            f.name
        );
    }
}

#[test]
fn gains_do_not_depend_on_how_long_is_simulated() {
    let is_all = std::env::var_os("STRADDLE_SOAK").is_some();
    let (settings, requests) = match is_all {
        true => (all(), Effort::default().requests),
        // Those of arrays with caches, and every 41st of the rest.
        false => {
            let own = ["msa60-p800", "perc5e-raid10", "raid10-600gb"];
            let own = own
                .into_iter()
                .flat_map(|name| [(name, 2, 0, 1), (name, 3, 0, 4)]);
            let mut some: Vec<Setting> = own
                .map(|(name, level, cache, access)| setting(name, level, cache, access))
                .collect();
            some.extend(all().into_iter().step_by(41));
            (some, 4_000)
        }
    };
    if is_all {
        assert!(settings.len() >= 400, "{}", settings.len());
    }
    let found: Vec<Found> = settings.iter().map(|one| run(one, requests)).collect();
    judge(&found);
}
