//! Who works parity out: md in pages of 4 KiB with a thread that takes time, or an adapter in sectors.

use straddle_geometry::{Bytes, Unit};
use straddle_predict::profile::{Origin, Profile};
use straddle_predict::{Length, Scenario, check, count};
use straddle_workload::{Pattern, Percent};

fn set(profile: Profile, path: &str, value: impl Into<toml::Value>) -> Profile {
    profile
        .with(path, &value.into(), Origin::Flag)
        .expect("it is allowed")
}

/// A RAID 5 of eight members with units of 64 KiB.
fn raid5() -> Profile {
    let profile = set(
        crate::common::stations(1, 1, "fixed"),
        "array.level",
        "raid5",
    );
    let profile = set(profile, "array.members", 8);
    set(profile, "array.stripe_unit", "64 KiB")
}

/// Writes of 8 KiB, one in each unit, the first at this byte.
fn writes(profile: Profile, offset: u64) -> Scenario {
    let mut scenario = crate::common::closed(profile, 64, 0.0);
    scenario.workload.reads = Percent::new(0).expect("a share");
    scenario.workload.pattern = Pattern::Strided(Unit::new(65_536).expect("not zero"));
    scenario.offset = Bytes::new(offset);
    scenario
}

#[test]
fn md_reads_and_writes_pages_and_an_adapter_sectors() {
    let bytes = |profile: &Profile| {
        let counts = count(&writes(profile.clone(), 512), 1, 1_000).expect("it can be counted");
        assert_eq!((counts.member_reads, counts.member_writes), (2_000, 2_000));
        counts.member_bytes / 1_000
    };
    // Data and parity, both read and written: three pages, or sixteen sectors of each.
    let (md, adapter) = (4 * 12_288, 4 * 8_192);
    assert_eq!(bytes(&raid5()), md);
    assert_eq!(bytes(&set(raid5(), "array.by", "adapter")), adapter);
    let controlled = set(raid5(), "controller.read", "1 us");
    let controlled = set(controlled, "controller.write", "1 us");
    assert_eq!(bytes(&controlled), adapter);
    assert_eq!(bytes(&set(controlled, "array.by", "md")), md);
}

#[test]
fn mds_thread_is_a_limit_of_its_own() {
    let profile = set(raid5(), "server.service", "1 us");
    let profile = set(profile, "array.granule_time", "10 us");
    let run = |offset| {
        let length = Length {
            warm_up: 1_000,
            measured: 10_000,
        };
        let scenario = writes(profile.clone(), offset);
        scenario.simulate(1, length).expect("it can be simulated")
    };
    // Two pages of 10 us each; three where the write is off their grid.
    let (aligned, misaligned) = (run(0), run(512));
    assert!((aligned.rate() / 50_000.0 - 1.0).abs() < 0.01);
    assert!((misaligned.rate() / 33_333.0 - 1.0).abs() < 0.01);
    let mut resources = aligned.resources.iter();
    let thread = resources.find(|used| used.name == "parity threads");
    assert!(thread.is_some_and(|thread| thread.mean > 0.99));
}

#[test]
fn writes_that_are_cut_at_rows_are_as_long_as_a_row() {
    let cut = |largest: &str| {
        let profile = set(raid5(), "array.cut", "rows");
        check(
            &set(profile, "array.largest", largest)
                .complete()
                .expect("complete"),
        )
    };
    assert_eq!(cut("448 KiB"), Ok(()));
    let refusal = cut("256 KiB").expect_err("seven units are a row");
    assert!(refusal.to_string().contains("458752"), "{refusal}");
}
