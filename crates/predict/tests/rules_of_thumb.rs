//! What every storage engineer expects: rates of single disks, what a misaligned write costs on 512e, write penalties.

use std::fmt::Write;
use std::time::Duration;
use straddle_geometry::{Bytes, Unit};
use straddle_predict::profile::{Origin, Profile, registry};
use straddle_predict::{Arrivals, Length, Outcome, Scenario};
use straddle_workload::{Pattern, Percent, Workload};

/// How far a rule of thumb may be off.
const THUMB: f64 = 0.3;

fn set(profile: Profile, path: &str, value: impl Into<toml::Value>) -> Profile {
    profile
        .with(path, &value.into(), Origin::Flag)
        .expect("it is allowed")
}

/// Random requests of so many bytes, so many under way, on the whole of what is there.
fn run(profile: &Profile, io: u64, reads: u8, outstanding: u32, offset: u64) -> Outcome {
    let scenario = Scenario {
        profile: profile.clone(),
        workload: Workload {
            reads: Percent::new(reads).expect("a share"),
            pattern: Pattern::Random,
            sizes: vec![(Unit::new(io).expect("not zero"), 1)],
            workers: 1,
            outstanding,
            think: Duration::ZERO,
            rate: None,
        },
        arrivals: Arrivals::Even,
        script: None,
        offset: Bytes::new(offset),
        span: None,
    };
    let length = Length {
        warm_up: 1_000,
        measured: 10_000,
    };
    scenario.simulate(3, length).expect("it can be simulated")
}

fn is_near(found: f64, rule: f64) -> bool {
    (found / rule - 1.0).abs() <= THUMB
}

#[test]
fn a_disk_does_as_many_requests_as_its_speed_allows() {
    for (profile, rule) in [
        ("cheetah-15k7", 180.0),
        ("ultrastar-15k450-450", 180.0),
        ("ultrastar-c15k600", 180.0),
        ("ultrastar-7k4000", 77.5),
        ("barracuda-es2", 77.5),
        ("ultrastar-hc310-512e", 77.5),
    ] {
        let disk = registry::load(profile).expect("one of ours");
        let rate = run(&disk, 8192, 100, 1, 1 << 20).rate();
        assert!(is_near(rate, rule), "{profile}: {rate:.0}, about {rule}");
    }
}

#[test]
fn a_misaligned_write_takes_one_revolution_more_on_512e() {
    let disk = registry::load("ultrastar-hc310-512e").expect("one of ours");
    let latency = |offset| run(&disk, 4096, 0, 1, offset).mean_latency() * 1e3;
    let more = latency(32_256) - latency(1 << 20);
    // 7,200 revolutions a minute.
    assert!(is_near(more, 60_000.0 / 7_200.0), "{more:.2} ms");
}

#[test]
fn writes_cost_two_four_and_six_operations() {
    let mut wrong = String::new();
    for (level, penalty) in [("raid10", 2.0), ("raid5", 4.0), ("raid6", 6.0)] {
        let array = registry::load("cheetah-15k7").expect("one of ours");
        let array = set(array, "array.level", level);
        let array = set(array, "array.members", 8);
        let array = set(array, "array.stripe_unit", "64 KiB");
        let cached = set(array.clone(), "cache.size", "64 MiB");
        let cached = set(cached, "cache.page", "16 KiB");
        // As many as keep members as busy as the same requests without a cache.
        for (name, array, is_cached) in [("", array, false), (" cached", cached, true)] {
            for outstanding in [8, 32, 256] {
                let array = match is_cached {
                    true => set(array.clone(), "cache.destages", i64::from(outstanding)),
                    false => array.clone(),
                };
                let writes = run(&array, 8192, 0, outstanding, 1 << 20);
                #[expect(clippy::cast_precision_loss, reason = "a ratio")]
                let operations = (writes.counts.member_reads + writes.counts.member_writes) as f64
                    / writes.requests() as f64;
                let reads = run(&array, 8192, 100, outstanding, 1 << 20);
                let cost = reads.rate() / writes.rate();
                if !is_near(operations, penalty) || !is_near(cost, penalty) {
                    let _ = writeln!(
                        wrong,
                        "{level}{name}, {outstanding} under way: {operations:.2} operations, {cost:.2} times as slow as reads"
                    );
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
