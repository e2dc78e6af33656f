//! Systems with a cache: what is answered early, what is destaged when, and what that costs.

use straddle_geometry::{Bytes, Grid, Lattice, Unit};
use straddle_predict::experiment::{Effort, compare};
use straddle_predict::profile::{Origin, Profile};
use straddle_predict::{Length, Outcome, Scenario};
use straddle_workload::{Pattern, Percent};

/// Servers of 5 ms under a cache of 64 pages of 8 KiB; `settings` besides.
fn cached(members: u32, settings: &[(&str, &str)]) -> Profile {
    let mut profile = crate::common::stations(members, 1, "fixed");
    let cache = [
        ("cache.size", "512 KiB"),
        ("cache.page", "8 KiB"),
        ("cache.destages", "16"),
    ];
    for (key, value) in cache.iter().chain(settings) {
        let value = value.parse::<i64>().map_or_else(
            |_| toml::Value::String((*value).to_owned()),
            toml::Value::Integer,
        );
        let value = match (*key, value) {
            ("cache.low" | "cache.high", toml::Value::String(text)) => {
                toml::Value::Float(text.parse().expect("a number"))
            }
            (_, value) => value,
        };
        profile = profile
            .with(key, &value, Origin::Assumed("of the test".to_owned()))
            .expect("a known key");
    }
    profile
}

fn workload(profile: Profile, io: u64, reads: u8, pattern: Pattern, offset: u64) -> Scenario {
    let mut scenario = crate::common::closed(profile, 4, 0.0);
    scenario.workload.sizes = vec![(Unit::new(io).expect("not zero"), 1)];
    scenario.workload.reads = Percent::new(reads).expect("a share");
    scenario.workload.pattern = pattern;
    scenario.offset = Bytes::new(offset);
    scenario.span = Some(Bytes::new(512 << 20));
    scenario
}

fn run(scenario: &Scenario, warm_up: u64, measured: u64) -> Outcome {
    let length = Length { warm_up, measured };
    scenario.simulate(7, length).expect("it runs")
}

#[test]
fn a_full_cache_takes_writes_as_fast_as_the_array_does() {
    let profile = cached(4, &[]);
    let outcome = run(
        &workload(profile, 8192, 0, Pattern::Random, 0),
        2_000,
        20_000,
    );
    // Four members do 800 operations a second at most; 16 destages keep nearly all of them busy.
    assert!(
        (700.0..=801.0).contains(&outcome.rate()),
        "{}",
        outcome.rate()
    );
    for resource in &outcome.resources {
        assert!(resource.most <= 1.000_001, "{resource:?}");
    }
}

#[test]
fn little_is_answered_at_once_and_destaged_later() {
    let settings = [
        ("controller.read", "1 ms"),
        ("controller.write", "10 ms"),
        ("cache.mirror", "2 ms"),
    ];
    let profile = cached(4, &settings);
    let outcome = run(
        &workload(profile, 8192, 0, Pattern::Random, 0),
        1_000,
        5_000,
    );
    // The controller is the limit: a hundred writes a second, which the members easily do.
    assert!((outcome.rate() - 100.0).abs() < 0.1, "{}", outcome.rate());
    let destaged = outcome.counts.cache_destages;
    assert!((4_990..=5_010).contains(&destaged), "{destaged}");
    assert_eq!(outcome.counts.member_writes, destaged);
    // Four are under way in a loop of which 2 ms are the mirror's.
    let latency = outcome.writes.mean().as_secs_f64();
    assert!((latency - 0.040).abs() < 0.0001, "{latency}");
}

#[test]
fn overwrites_coalesce() {
    let settings = [
        ("cache.low", "0.5"),
        ("controller.read", "1 ms"),
        ("controller.write", "1 ms"),
    ];
    let profile = cached(4, &settings);
    let mut scenario = workload(profile, 8192, 0, Pattern::Random, 0);
    // Sixteen pages, of which 32 may stay: none is ever destaged.
    scenario.span = Some(Bytes::new(16 * 8192));
    let outcome = run(&scenario, 100, 10_000);
    assert_eq!(outcome.counts.cache_destages, 0);
    assert_eq!(outcome.counts.member_writes, 0);
}

#[test]
fn backfills_are_the_partial_pages_of_geometry() {
    for (io, offset) in [
        (8192, 0),
        (8192, 32_256),
        (8192, 4096),
        (4096, 0),
        (16_384, 512),
        (12_288, 4096),
    ] {
        let settings = [
            ("array.stripe_unit", "64 KiB"),
            ("cache.partial", "backfill"),
            ("controller.read", "1 ms"),
            ("controller.write", "20 ms"),
        ];
        let profile = cached(1, &settings);
        // Places far apart, so that no page is touched twice: every fourth place of the lattice.
        let pattern = Pattern::Strided(Unit::new(4 * 16_384).expect("not zero"));
        let mut scenario = workload(profile, io, 0, pattern, offset);
        scenario.workload.outstanding = 1;
        let counts = run(&scenario, 0, 1_000).counts;
        let unit = |bytes| Unit::new(bytes).expect("not zero");
        let lattice = Lattice::new(Bytes::new(offset), unit(4 * 16_384), unit(io));
        let partial = lattice.partial(Grid::new(unit(8192)));
        // Each request is a run of its own, as its neighbours are far.
        assert!(counts.cache_destages > 900);
        assert_eq!(
            counts.cache_backfills * partial.denominator(),
            counts.cache_destages * partial.numerator(),
            "{io} at {offset}"
        );
    }
}

#[test]
fn a_sequential_stream_is_read_ahead() {
    let rate = |read_ahead| {
        let settings = [("cache.read_ahead", read_ahead), ("cache.read", "on")];
        let profile = cached(4, &settings);
        let mut scenario = workload(profile, 8192, 100, Pattern::Sequential, 0);
        scenario.workload.outstanding = 1;
        run(&scenario, 100, 5_000)
    };
    let (without, with) = (rate("0 B"), rate("64 KiB"));
    assert!((without.rate() - 200.0).abs() < 1.0, "{}", without.rate());
    assert!(with.rate() > 700.0, "{}", with.rate());
    assert!(with.counts.cache_hits > 4_900);
    assert_eq!(without.counts.cache_hits, 0);
}

#[test]
fn hits_are_the_share_of_places_that_are_kept() {
    let profile = cached(4, &[("cache.read", "on")]);
    let mut scenario = workload(profile, 8192, 100, Pattern::Random, 0);
    scenario.span = Some(Bytes::new(256 * 8192));
    let outcome = run(&scenario, 100, 40_000);
    // 64 of 256 places are there.
    assert!((9_600..=10_400).contains(&outcome.counts.cache_hits));
}

#[test]
fn offsets_on_all_grids_are_equal_on_the_eva() {
    let profile = straddle_predict::profile::registry::load("eva8100").expect("one of ours");
    let rate = |reads, offset| {
        let mut scenario = workload(profile.clone(), 8192, reads, Pattern::Random, offset);
        scenario.workload.workers = 8;
        scenario.workload.outstanding = 32;
        scenario.span = Some(Bytes::new(32 << 30));
        run(&scenario, 4_000, 20_000).rate()
    };
    for reads in [0, 100] {
        let aligned = rate(reads, 65_536);
        for offset in [131_072, 1 << 20, 2 << 20] {
            let ratio = rate(reads, offset) / aligned;
            assert!((ratio - 1.0).abs() < 0.003, "{ratio} at {offset}");
        }
        let ratio = aligned / rate(reads, 32_256);
        assert!((1.01..1.04).contains(&ratio), "{ratio}");
    }
}

/// Full, nearly idle, and in between: what members did in the counted part is what the counted requests brought, and no store of
/// work filled or emptied.
#[test]
fn members_do_what_the_counted_requests_bring() {
    for (level, copies) in [("raid10", 2), ("raid0", 1)] {
        for (offset, controller) in [
            (0, "10 us"),
            (32_256, "10 us"),
            (0, "20 ms"),
            (32_256, "3 ms"),
        ] {
            let settings = [
                ("array.level", level),
                ("array.stripe_unit", "64 KiB"),
                ("cache.size", "16 MiB"),
                ("controller.read", "1 ms"),
                ("controller.write", controller),
            ];
            let profile = cached(4, &settings);
            let scenario = workload(profile, 8192, 0, Pattern::Random, offset);
            let effort = Effort {
                requests: 4_000,
                ..Effort::default()
            };
            let trials = compare(&[scenario], effort).expect("it runs");
            let case = &trials.cases[0];
            let name = format!("{level} at {offset}, {controller}");
            assert_eq!(case.unsettled, None, "{name}");
            for store in &case.stores {
                assert!(store.is_level(), "{name}: {store:?}");
            }
            let unit = |bytes| Unit::new(bytes).expect("not zero");
            let lattice = Lattice::new(Bytes::new(offset), unit(8192), unit(8192));
            let crossed = lattice.mean_crossings(Grid::new(unit(65_536)));
            #[expect(clippy::cast_precision_loss, reason = "a share")]
            let (brought, did) = {
                let crossed = crossed.numerator() as f64 / crossed.denominator() as f64;
                let did = case.counts.member_writes as f64 / case.requests as f64;
                (f64::from(copies) * (1.0 + crossed), did)
            };
            // A write to a page that is dirty already, or beside one on either side, is no operation of its own: 1,638 of the
            // span's 65,536 are.
            let joined = if controller == "10 us" {
                3.0 * 1_638.0 / 65_536.0
            } else {
                0.0
            };
            let ratio = did / brought;
            assert!(
                ratio < 1.01 && ratio > 0.99 - joined,
                "{name}: {did} {brought}"
            );
        }
    }
}

#[test]
fn a_cache_that_is_a_small_part_of_the_array_begins_as_full_as_it_stays() {
    // 16,384 pages, of which half are made before time begins, and a full cache: what comes in waits for what goes out. Half of the
    // unaligned requests are in two pages, so that a run takes one or two.
    let settings = [
        ("cache.size", "256 MiB"),
        ("cache.page", "16 KiB"),
        ("array.stripe_unit", "64 KiB"),
        ("server.capacity", "1 TiB"),
        ("server.service", "1 ms"),
        ("cache.read", "on"),
    ];
    let profile = cached(4, &settings);
    let pair = [32_256, 1 << 20].map(|offset| {
        let mut scenario = workload(profile.clone(), 8192, 0, Pattern::Random, offset);
        scenario.span = Some(Bytes::new(1 << 40));
        scenario
    });
    let effort = Effort {
        requests: 20_000,
        ..Effort::default()
    };
    let found = compare(&pair, effort).expect("they run");
    assert_eq!(found.length.measured, effort.requests, "steady at once");
    // Four members of 1,000 operations a second at most; one in eight unaligned requests is split over two of them.
    let rates = [0, 1].map(|case| found.cases[case].rate.mean);
    assert!((3_100.0..=3_557.0).contains(&rates[0]), "{rates:?}");
    assert!((3_600.0..=4_001.0).contains(&rates[1]), "{rates:?}");
    for case in &found.cases {
        assert_eq!(case.unsettled, None);
        let names: Vec<_> = case.stores.iter().map(|store| store.name).collect();
        assert_eq!(names.len(), 3, "{names:?}");
        for store in &case.stores {
            assert!(store.drift().abs() < 0.01, "{store:?}");
        }
    }
}
