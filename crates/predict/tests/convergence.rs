//! A prediction does not depend on how long it was simulated: the gain from four and from sixteen times as many requests lies
//! where its interval says, and intervals are narrow.
//!
//! Every profile in several levels, with a write-back cache and without, reads, writes and requests in order; and small writes over a few
//! times a cache. A sample here;
//! `cargo xtask soak convergence` tries all, on every core. That takes a day on two cores, so what each setting came to is kept beside
//! the archived report, under a digest of everything that it depends on: each run takes up others for two hours
//! (`STRADDLE_SOAK_MINUTES=30` for 30 minutes), on any machine, and judges all that are kept, which have to be 400; another model starts from nothing.

use std::fmt::Write;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use straddle_geometry::{Bytes, Unit};
use straddle_predict::experiment::{Effort, compare};
use straddle_predict::profile::{Origin, Profile, registry};
use straddle_predict::{Arrivals, LEVEL, Scenario, prediction};
use straddle_workload::interval::Interval;
use straddle_workload::{Pattern, Percent, Workload};

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
                // Without anything in front of it, a cache takes no time at all.
                if !has(&of, "controller") {
                    of = set(of, "controller.read", "20 us");
                    of = set(of, "controller.write", "20 us");
                }
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
        arrivals: Arrivals::Even,
        script: None,
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
    all.extend(
        HOT.iter()
            .flat_map(|one| [2, 8].map(|times| hot(*one, times))),
    );
    all
}

/// Profiles that write back, and MiB of their caches.
const HOT: &[(&str, u64)] = &[
    ("perc5e-raid10", 256),
    ("msa60-p800", 512),
    ("raid10-600gb", 512),
    ("raid-adapter-cached", 1024),
    ("san-lun", 2048),
];

/// Small writes over so many times a cache: pages are written again and again while they are dirty.
fn hot((profile, cache): (&str, u64), times: u64) -> Setting {
    let Setting { name, mut pair } = setting(profile, 0, 0, 1);
    for scenario in &mut pair {
        scenario.workload.sizes = vec![(Unit::new(4096).expect("not zero"), 1)];
        scenario.span = Some(Bytes::new((times * cache) << 20));
    }
    Setting {
        name: format!("{name} of 4 KiB over {times} caches"),
        pair,
    }
}

/// What one setting came to.
struct Found {
    name: String,
    /// From some requests, from four times and from sixteen times as many.
    gains: [Interval; 3],
    /// Those in the middle say that they are no steady state.
    says_why: bool,
    /// Those in the middle took as many replicates as were allowed, which is said too.
    is_most: bool,
    /// Stores of work that filled or emptied.
    unlevel: Vec<String>,
}

impl Found {
    /// Half the width of the middle one, in points.
    fn half(&self) -> f64 {
        (self.gains[1].high - self.gains[1].low) * 50.0
    }

    /// Whether an interval holds a gain from more requests.
    fn holds(&self, interval: usize, other: usize) -> bool {
        let (interval, other) = (self.gains[interval], self.gains[other].mean);
        interval.low <= other && other <= interval.high
    }

    fn is_fine(&self) -> bool {
        let pairs = [(0, 1), (0, 2), (1, 2)];
        let holds = pairs.into_iter().all(|(one, other)| self.holds(one, other));
        holds && self.half() <= 5.0 && self.unlevel.is_empty()
    }
}

fn run(setting: &Setting, requests: u64) -> Found {
    let (mut says_why, mut is_most) = (false, false);
    let mut unlevel = Vec::new();
    let gains = [1, 4, 16].map(|times| {
        let mut effort = Effort {
            requests: requests * times,
            ..Effort::default()
        };
        if times == 16 {
            // What the others are compared with: its own error is not theirs.
            effort.precision /= 2.0;
            effort.most /= 2;
        }
        let trials = compare(&setting.pair, effort).expect("it can be simulated");
        for case in &trials.cases {
            says_why |= times == 4 && case.unsettled.is_some();
            is_most |= times == 4 && trials.replicates >= effort.most;
            let stores = case.stores.iter();
            let stores =
                stores.filter(|store| store.drift().abs() > LEVEL && case.unsettled.is_none());
            unlevel.extend(stores.map(|store| format!("{} {:+.4}", store.name, store.drift())));
        }
        trials.cases[1].gain.expect("not the baseline")
    });
    Found {
        name: setting.name.clone(),
        gains,
        says_why,
        is_most,
        unlevel,
    }
}

/// What the long form found so far: a line for each setting, below the digest of what it was found with.
struct Kept {
    file: Mutex<std::fs::File>,
    found: Vec<Found>,
}

/// A line of it: name, gains (mean, low, high), no steady state, most replicates, stores that filled or emptied.
type Line = (String, [[f64; 3]; 3], bool, bool, Vec<String>);

impl Kept {
    /// Takes up what the same model found before; starts over where another one did.
    fn open(requests: u64) -> Kept {
        let path = repository().join("tests/soak/convergence.jsonl");
        let heading = format!("{{\"model\":\"{:016x}\",\"requests\":{requests}}}", model());
        let before = std::fs::read_to_string(&path).unwrap_or_default();
        let found: Vec<Found> = match before.strip_prefix(&heading) {
            // The last line may have been cut where the run was interrupted.
            Some(lines) => lines.lines().filter_map(read).collect(),
            None => Vec::new(),
        };
        let mut text = format!("{heading}\n");
        for one in &found {
            let _ = writeln!(text, "{}", line(one));
        }
        std::fs::write(&path, text).expect("the archive can be written");
        let file = std::fs::OpenOptions::new().append(true).open(path);
        Kept {
            file: Mutex::new(file.expect("it was just written")),
            found,
        }
    }
}

fn line(found: &Found) -> String {
    let gains = found.gains.map(|gain| [gain.mean, gain.low, gain.high]);
    let line: Line = (
        found.name.clone(),
        gains,
        found.says_why,
        found.is_most,
        found.unlevel.clone(),
    );
    serde_json::to_string(&line).expect("plain figures")
}

fn read(line: &str) -> Option<Found> {
    let (name, gains, says_why, is_most, unlevel): Line = serde_json::from_str(line).ok()?;
    Some(Found {
        name,
        gains: gains.map(|[mean, low, high]| Interval { mean, low, high }),
        says_why,
        is_most,
        unlevel,
    })
}

fn repository() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// A digest of the sources that decide what a run comes to: simulations are the same to the bit everywhere.
fn model() -> u64 {
    let mut files = Vec::new();
    for folder in [
        "crates/geometry/src",
        "crates/workload/src",
        "crates/predict/src",
        "profiles",
    ] {
        list(&repository().join(folder), &mut files);
    }
    files.push(repository().join("crates/predict/tests/convergence.rs"));
    files.sort();
    // FNV-1a: the same in every version of the toolchain.
    let mut digest = 0xcbf2_9ce4_8422_2325_u64;
    for file in files {
        for byte in std::fs::read(file).expect("it can be read") {
            digest = (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    digest
}

fn list(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder of the repository") {
        let path = entry.expect("it can be read").path();
        // Tests beside the code decide nothing of what a run comes to.
        match path.file_stem().is_some_and(|name| name == "tests") {
            true => {}
            false if path.is_dir() => list(&path, files),
            false => files.push(path),
        }
    }
}

/// How long settings are taken up that nothing is kept of: two hours, or so many minutes.
fn budget() -> Duration {
    let asked = std::env::var("STRADDLE_SOAK_MINUTES").ok();
    let minutes = asked.and_then(|minutes| minutes.parse().ok());
    Duration::from_secs(60 * minutes.unwrap_or(120))
}

/// What is kept of them, and what is found of the others in the time that there is, on every core.
#[expect(clippy::print_stderr, reason = "it takes hours")]
fn run_or_recall(settings: &[Setting], requests: u64) -> Vec<Found> {
    let mut kept = Kept::open(requests);
    let is_new = |one: &&Setting| !kept.found.iter().any(|found| found.name == one.name);
    let left: Vec<&Setting> = settings.iter().filter(is_new).collect();
    let (began, most) = (Instant::now(), budget());
    let next = AtomicUsize::new(0);
    let made = Mutex::new(Vec::new());
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                while began.elapsed() < most
                    && let Some(setting) = left.get(next.fetch_add(1, Ordering::Relaxed))
                {
                    let start = Instant::now();
                    let found = run(setting, requests);
                    let mut file = kept.file.lock().expect("nobody panicked");
                    writeln!(file, "{}", line(&found)).expect("room for a line");
                    drop(file);
                    eprintln!("{}: {:.1} s", found.name, start.elapsed().as_secs_f64());
                    made.lock().expect("nobody panicked").push(found);
                }
            });
        }
    });
    kept.found
        .append(&mut made.into_inner().expect("nobody panicked"));
    let at = |found: &Found| {
        settings
            .iter()
            .position(|setting| setting.name == found.name)
    };
    kept.found.sort_by_key(at);
    kept.found
}

#[expect(clippy::print_stdout, reason = "the report of the long form")]
fn judge(found: &[Found], all: usize, requests: u64) {
    let mut text = String::new();
    for f in found.iter().filter(|f| !f.is_fine()) {
        let gain =
            |gain: Interval| format!("{:.4} ({:.4} to {:.4})", gain.mean, gain.low, gain.high);
        let gains = f.gains.map(gain).join(", ");
        let why = if f.says_why {
            ", said to be no steady state"
        } else {
            ""
        };
        let _ = writeln!(text, "{}: {gains}{why} {}", f.name, f.unlevel.join(", "));
    }
    let mut halves: Vec<f64> = found.iter().map(Found::half).collect();
    halves.sort_by(f64::total_cmp);
    let (median, most) = (halves[halves.len() / 2], halves[halves.len() * 95 / 100]);
    let outside = |one, other| found.iter().filter(|f| !f.holds(one, other)).count();
    let outside = [outside(0, 1), outside(0, 2), outside(1, 2)];
    let unsettled = found.iter().filter(|f| f.says_why).count();
    let [n, n4, n16] = [1, 4, 16].map(|times| requests * times);
    let _ = writeln!(
        text,
        "{} of {all} settings. Intervals from {n} requests leave out {} gains from {n4} and {} from {n16}; those from {n4} leave out {} \
         from {n16}. Half width of those from {n4}: {median:.2} points in the median, at most {most:.2} in 95%. {unsettled} are \
         said to be no steady state.",
        found.len(),
        outside[0],
        outside[1],
        outside[2]
    );
    println!("{text}");
    // 6%, and one more where there are few.
    let allowed = found.len() * 6 / 100 + usize::from(found.len() < 100);
    assert!(outside.into_iter().all(|count| count <= allowed), "{text}");
    // At the default length. The few count a fifth of it, where an interval is twice as wide, and the widest of them is no 5%.
    let (median_limit, most_limit) = match found.len() < 100 {
        true => (2.0, f64::INFINITY),
        false => (1.0, 5.0),
    };
    assert!(median <= median_limit && most <= most_limit, "{text}");
    for f in found {
        assert!(f.unlevel.is_empty(), "{}: {:?}", f.name, f.unlevel);
        assert!(
            f.half() <= 5.0 || f.says_why || f.is_most,
            "wide without a word: {}",
            f.name
        );
    }
}

#[test]
fn gains_do_not_depend_on_how_long_is_simulated() {
    // 1 as the long forms of other tests have it, or how many requests the shortest runs count.
    let soak = std::env::var("STRADDLE_SOAK").ok();
    let is_all = soak.is_some();
    let asked = soak.and_then(|soak| soak.parse::<u64>().ok());
    let (settings, requests) = match is_all {
        true => {
            let asked = asked.filter(|requests| *requests > 1);
            (all(), asked.unwrap_or(Effort::default().requests / 4))
        }
        // Those of arrays with caches, and two of the rest.
        false => {
            let own = ["msa60-p800", "perc5e-raid10", "raid10-600gb"];
            let own = own.into_iter().map(|name| (name, 2, 0, 1));
            let mut some: Vec<Setting> = own
                .map(|(name, level, cache, access)| setting(name, level, cache, access))
                .collect();
            some.extend(all().into_iter().step_by(230));
            (some, 1_000)
        }
    };
    let found: Vec<Found> = match is_all {
        true => run_or_recall(&settings, requests),
        false => settings.iter().map(|one| run(one, requests)).collect(),
    };
    if is_all {
        assert!(found.len() >= 400, "{} settings", found.len());
    }
    judge(&found, settings.len(), requests);
}
