//! Services worked out by hand, and what must hold of every disk.

use super::*;
use crate::profile::{Profile, registry};
use proptest::prelude::*;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use straddle_geometry::{Bytes, Grid, Lattice, Unit};

/// A disk of one zone at 6,000 revolutions per minute, so that a revolution takes 10 ms and one of its 1,000 sectors 10 µs.
const PLAIN: &str = r#"
title = "Plain"
[disk]
capacity = { value = "1 GB", assumed = "a test" }
format = { value = "512n", assumed = "a test" }
rotation = { value = 6000, assumed = "a test" }
surfaces = { value = 2, assumed = "a test" }
zones = { value = [[1.0, 1000]], assumed = "a test" }
single_cylinder_seek = { value = "1 ms", assumed = "a test" }
average_seek = { value = "2 ms", assumed = "a test" }
full_stroke_seek = { value = "3 ms", assumed = "a test" }
head_switch = { value = "0.5 ms", assumed = "a test" }
command_overhead = { value = "0 ms", assumed = "a test" }
bus = { value = 1e11, assumed = "a test" }
queue_depth = { value = 32, assumed = "a test" }
read_ahead = { value = 0, assumed = "a test" }
write_cache = { value = 0, assumed = "a test" }
"#;

fn disk(changes: &[(&str, &str)]) -> Result<Disk, Refusal> {
    let mut profile = Profile::read("plain", PLAIN)?;
    for (path, value) in changes {
        let value: toml::Table = format!("value = {value}").parse().expect("it is TOML");
        profile = profile.with(path, &value["value"], crate::profile::Origin::Flag)?;
    }
    Disk::build(profile.complete()?.required(Disk::SECTION)?, 1)
}

/// How long each operation takes when it is the only one, in seconds.
fn alone(disk: &mut Disk, operations: &[Operation]) -> Vec<f64> {
    let mut now = Time::ZERO;
    let mut ended = Vec::new();
    let mut times = Vec::new();
    for (ticket, operation) in (0..).zip(operations) {
        let came = now;
        disk.submit(now, ticket, *operation);
        while !ended.contains(&ticket) {
            now = disk.next();
            assert!(now < Time::NEVER);
            disk.advance(now, &mut ended);
        }
        times.push((now - came).to_seconds());
    }
    times
}

/// How many operations of a closed loop end each second, so many outstanding at a time.
fn rate(disk: &mut Disk, operations: &[Operation], outstanding: usize) -> f64 {
    let mut rest = (0..).zip(operations);
    for (ticket, operation) in rest.by_ref().take(outstanding) {
        disk.submit(Time::ZERO, ticket, *operation);
    }
    let (mut now, mut seen) = (Time::ZERO, vec![false; operations.len()]);
    let mut ended = Vec::new();
    while disk.queued() > 0 {
        assert!(now <= disk.next() && disk.next() < Time::NEVER);
        now = disk.next();
        disk.advance(now, &mut ended);
        for ticket in ended.drain(..) {
            let was = std::mem::replace(&mut seen[ticket as usize], true);
            assert!(!was, "an operation ends once");
            if let Some((ticket, operation)) = rest.next() {
                disk.submit(now, ticket, *operation);
            }
        }
    }
    assert!(seen.iter().all(|seen| *seen), "all end");
    operations.len() as f64 / now.to_seconds()
}

/// Numbers below `most`, the same every time.
fn numbers(count: usize, most: u64) -> impl Iterator<Item = u64> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
    (0..count).map(move |_| random.next_u64() % most)
}

fn registered(name: &str) -> Disk {
    let profile = registry::load(name).and_then(|profile| profile.complete());
    let profile = profile.expect("it is complete");
    let section = profile.required(Disk::SECTION).expect("it is there");
    Disk::build(section, 1).expect("it is one")
}

#[test]
fn every_profile_of_a_disk_reads_and_writes() {
    for (name, _) in registry::PROFILES {
        let profile = registry::load(name).and_then(|profile| profile.complete());
        let Ok(profile) = profile else { continue };
        let Ok(mut disk) = profile
            .required(Disk::SECTION)
            .and_then(|section| Disk::build(section, 1))
        else {
            continue;
        };
        let half = disk.capacity() / 8192 * 4096;
        let last = disk.capacity() / 4096 * 4096 - 4096;
        let times = alone(
            &mut disk,
            &[
                Operation::read(0, 4096),
                Operation::write(half, 4096),
                Operation::read(last, 4096),
            ],
        );
        for time in times {
            assert!((1e-6..0.06).contains(&time), "{name}: {time}");
        }
    }
}

#[test]
fn a_write_in_part_takes_one_revolution_more() {
    let aligned = Operation::write(1_000_448, 4096);
    let misaligned = Operation::write(1_000_448 + 512, 4096);
    let time = |operation| {
        let changes = [("disk.format", "\"512e\"")];
        let mut disk = disk(&changes).expect("it is one");
        alone(&mut disk, &[operation])[0]
    };
    assert_eq!(1_000_448 % 4096, 1024, "it is in part already");
    let (whole, part) = (time(Operation::write(999_424, 4096)), time(misaligned));
    // Two sectors are written instead of one, a revolution later.
    assert!(
        (part - whole - 0.010 - 10e-6).abs() < 1e-7,
        "{whole} {part}"
    );
    assert!((time(aligned) - part).abs() < 1e-7);
}

#[test]
fn seeks_of_every_profile_average_to_what_was_published() {
    let mut disks = 0;
    for (name, _) in registry::PROFILES {
        let profile = registry::load(name).expect("it is one of ours");
        let Some(section) = profile.section("disk") else {
            continue;
        };
        let Some(published) = section.optional(&keys::AVERAGE) else {
            panic!("{name}: no average");
        };
        let disk = registered(name);
        let zones = &disk.mechanics.zones;
        // Two cylinders drawn at random, different ones: the definition.
        let cylinders = u64::from(zones.cylinders());
        let drawn: Vec<u64> = numbers(200_000, cylinders).collect();
        let seeks = drawn.chunks(2).filter(|pair| pair[0] != pair[1]);
        let steps = seeks.map(|pair| {
            let distance = i32::try_from(pair[0].abs_diff(pair[1])).expect("few");
            f64::from(disk.mechanics.moves.steps(distance, false, 0))
        });
        let (sum, count) = steps.fold((0.0, 0.0), |(sum, count), steps| (sum + steps, count + 1.0));
        let turn = f64::from(clock::TURN);
        let revolution = 60.0 / section.number(&keys::SPEED);
        let mean = sum / count / turn * revolution;
        let off = mean / published - 1.0;
        // Fits of measured curves are not exact; sampling adds half a percent.
        let is_fitted = section.optional(&keys::ROOT).is_some();
        let within = if is_fitted { 0.04 } else { 0.008 };
        assert!(off.abs() < within, "{name}: {mean} beside {published}");
        disks += 1;
    }
    assert!(disks >= 20, "{disks}");
}

#[test]
fn a_random_read_waits_half_a_revolution() {
    let mut disk = disk(&[]).expect("it is one");
    let operations: Vec<Operation> = numbers(20_000, 1_900_000)
        .map(|sector| Operation::read(sector * 512, 512))
        .collect();
    let mut seeks = 0.0;
    let mut from = Place::default();
    for operation in &operations {
        let to = disk.mechanics.zones.place(operation.start >> 9);
        let distance = (to.cylinder.cast_signed() - from.cylinder.cast_signed()).abs();
        let steps = disk
            .mechanics
            .moves
            .steps(distance, to.head != from.head, 0);
        seeks += f64::from(steps) / f64::from(clock::TURN) * 0.010;
        from = to;
    }
    let times = alone(&mut disk, &operations);
    let mean = times.iter().sum::<f64>() / 20_000.0;
    let wait = mean - seeks / 20_000.0 - 10e-6;
    assert!((wait - 0.005).abs() < 0.000_1, "{wait}");
}

#[test]
fn reading_on_and_on_is_as_fast_as_the_zone() {
    for name in [
        "cheetah-15k7",
        "barracuda-es2",
        "atlas-10k-v",
        "wd-green-2tb",
    ] {
        for outstanding in [1, 4] {
            let mut disk = registered(name);
            let run = disk.mechanics.zones.run(0);
            let per_track = f64::from(run.left) * f64::from(1 << disk.sector_bits);
            let clock = &disk.mechanics.clock;
            let revolution = clock.span(u64::from(clock::TURN)).to_seconds();
            let skew = |steps: u32| f64::from(steps) / f64::from(clock::TURN) * revolution;
            let zones = &disk.mechanics.zones;
            let surfaces = f64::from(zones.surfaces());
            let skews = (surfaces - 1.0) * skew(zones.track_skew) + skew(zones.cylinder_skew);
            let expected = per_track * surfaces / (surfaces * revolution + skews);
            let reads: Vec<Operation> = (0..2_000)
                .map(|number| Operation::read(number * 65_536, 65_536))
                .collect();
            let found = rate(&mut disk, &reads, outstanding) * 65_536.0;
            let off = found / expected - 1.0;
            assert!(
                off.abs() < 0.03,
                "{name}, {outstanding}: {found} beside {expected}"
            );
        }
    }
}

#[test]
fn reading_on_without_memory_loses_a_revolution_each_time() {
    let changes = [("disk.command_overhead", "\"0.1 ms\"")];
    let mut disk = disk(&changes).expect("it is one");
    let reads: Vec<Operation> = (0..10).map(|n| Operation::read(n * 5120, 5120)).collect();
    let times = alone(&mut disk, &reads);
    for time in &times[1..] {
        assert!((time - 0.010).abs() < 0.000_2, "{time}");
    }
}

#[test]
fn sectors_of_512_bytes_are_the_same_at_any_offset() {
    // The same places, a whole number of tracks further on: the same to the nanosecond, but for where the platter stands.
    let time = |offset: u64| {
        let mut disk = disk(&[]).expect("it is one");
        let writes: Vec<Operation> = numbers(4_000, 100_000)
            .map(|place| Operation::write(place * 4096 + offset, 4096))
            .collect();
        rate(&mut disk, &writes, 4)
    };
    let aligned = time(0);
    for offset in [512, 32_256, 65_536, 1 << 20] {
        let ratio = time(offset) / aligned;
        assert!((0.98..1.02).contains(&ratio), "{offset}: {ratio}");
    }
}

#[test]
fn an_offset_of_the_sectors_is_met_by_a_partition_at_sector_63() {
    let time = |alignment: &str, start| {
        let changes = [
            ("disk.format", "\"512e\""),
            ("disk.alignment_offset", alignment),
        ];
        let mut disk = disk(&changes).expect("it is one");
        disk.submit(Time::ZERO, 0, Operation::write(start, 4096));
        (disk.tally().granules, disk.tally().granules_read)
    };
    assert_eq!(time("3584", 32_256), (1, 0));
    assert_eq!(time("3584", 32_768), (2, 2));
    assert_eq!(time("0", 32_256), (2, 2));
    let refusal = disk(&[("disk.alignment_offset", "3584")]).expect_err("its sectors have 512");
    assert_eq!(refusal.key, "disk.alignment_offset");
}

#[test]
fn more_at_once_is_faster_in_the_order_of_positions() {
    let rates = |scheduling: &str, outstanding| {
        let scheduling = format!("\"{scheduling}\"");
        let changes = [("disk.scheduling", scheduling.as_str())];
        let mut disk = disk(&changes).expect("it is one");
        let reads: Vec<Operation> = numbers(4_000, 1_900_000)
            .map(|sector| Operation::read(sector * 512, 512))
            .collect();
        rate(&mut disk, &reads, outstanding)
    };
    let one = rates("position", 1);
    let fifo = rates("fifo", 16);
    let elevator = rates("elevator", 16);
    let position = rates("position", 16);
    assert!((fifo / one - 1.0).abs() < 0.01, "{one} {fifo}");
    assert!(elevator > 1.1 * fifo, "{fifo} {elevator}");
    assert!(position > 1.3 * elevator, "{elevator} {position}");
}

#[test]
fn nobody_waits_longer_than_said() {
    let longest = |patience: Option<&str>| {
        let changes: Vec<(&str, &str)> = patience
            .map(|patience| ("disk.longest_wait", patience))
            .into_iter()
            .collect();
        let mut disk = disk(&changes).expect("it is one");
        // Many near the outer edge, one far inside.
        let mut now = Time::ZERO;
        let mut ended = Vec::new();
        disk.submit(now, 0, Operation::read(0, 512));
        disk.submit(now, 1, Operation::read(900_000_000, 512));
        for ticket in 2..10 {
            disk.submit(
                now,
                ticket,
                Operation::read(u64::from(ticket) * 51_200, 512),
            );
        }
        for (ticket, sector) in (10..2_000).zip(numbers(2_000, 1_000)) {
            disk.submit(now, ticket, Operation::read(sector * 512, 512));
            let count = ended.len();
            while ended.len() == count {
                now = disk.next();
                disk.advance(now, &mut ended);
            }
            if ended.contains(&1) {
                return now.to_seconds();
            }
        }
        f64::INFINITY
    };
    assert!(longest(None) > 1.0);
    let bounded = longest(Some("\"100 ms\""));
    assert!((0.1..0.13).contains(&bounded), "{bounded}");
}

proptest! {
    #[test]
    fn sectors_written_in_part_are_as_many_as_geometry_says(
        sectors in 1_u64..40, offset in 0_u64..64, step in 1_u64..40, shift in 0_u64..8,
    ) {
        let (len, offset, step) = (sectors * 512, offset * 512, step * 512);
        let shift = shift * 512;
        let value = shift.to_string();
        let changes = [("disk.format", "\"512e\""), ("disk.alignment_offset", value.as_str())];
        let mut disk = disk(&changes).expect("it is one");
        // As many as it takes until everything comes again.
        for number in 0..8_u64 {
            let ticket = u32::try_from(number).expect("few");
            disk.submit(Time::ZERO, ticket, Operation::write(offset + number * step, len));
        }
        let unit = |bytes| Unit::new(bytes).expect("not zero");
        let lattice = Lattice::new(Bytes::new(offset), unit(step), unit(len));
        let mean = lattice.partial(Grid::with_phase(unit(4096), Bytes::new(shift)));
        let found = disk.tally().granules_read * mean.denominator();
        prop_assert_eq!(found, 8 * mean.numerator());
    }

    #[test]
    fn the_nearest_is_the_nearest(
        places in proptest::collection::vec((0_u32..400, 0_u32..4, 0_u32..clock::TURN, any::<bool>()), 1..70),
        from in (0_u32..400, 0_u32..4, 0_u32..clock::TURN),
    ) {
        let disk = disk(&[("disk.write_settle", "\"0.3 ms\"")]).expect("it is one");
        let mechanics = &disk.mechanics;
        let from = Place { cylinder: from.0, head: from.1, angle: from.2 };
        let mut queue = Queue::new(queue::Scheduling::Position, None);
        let mut spent = Vec::new();
        for (ticket, (cylinder, head, angle, is_write)) in (0..).zip(places) {
            let place = Place { cylinder, head, angle };
            let sectors = Sectors::of(0, 512, 9);
            let run = mechanics.zones.run(0);
            let entry = Entry { ticket, came: Time::ZERO, sectors, is_write };
            queue.push(entry, run, place, if is_write { mechanics.moves.settle } else { 0 });
            let mut motion = Motion::new(mechanics, from);
            motion.go(place, is_write);
            spent.push(motion.spent);
        }
        let (taken, _) = queue.take(Time::ZERO, &mechanics.moves, from).expect("there are some");
        let least = spent.iter().min().expect("there are some");
        // What a head may come late by is not told apart from what comes next.
        prop_assert!(spent[taken.ticket as usize] <= least + 64);
        prop_assert_eq!(queue.len() + 1, spent.len());
    }
}

#[test]
fn a_read_far_behind_what_is_read_ahead_goes_there_itself() {
    let changes = [("disk.read_ahead", "\"100 MB\"")];
    let mut disk = disk(&changes).expect("it is one");
    let far = Operation::read(50_000_000, 512);
    let times = alone(&mut disk, &[Operation::read(0, 512), far]);
    assert!(times[1] < 0.0135, "{}", times[1]);
    // What was read ahead until then is still there.
    assert_eq!(alone(&mut disk, &[Operation::read(512, 512)]).len(), 1);
}

#[test]
fn cached_writes_are_answered_at_once_and_written_in_passes() {
    let changes = [
        ("disk.format", "\"512e\""),
        ("disk.write_cache", "\"1 MiB\""),
        ("disk.destage_batch", "16"),
        ("disk.destage_order", "\"sorted\""),
        ("disk.destage_gap", "\"1 ms\""),
        ("disk.command_overhead", "\"0.1 ms\""),
    ];
    let run = |offset: u64| {
        let mut disk = disk(&changes).expect("it is one");
        let writes: Vec<Operation> = (0..4_000)
            .map(|number| Operation::write(number * 16_384 + offset, 4096))
            .collect();
        let first = alone(&mut disk, &writes[..1])[0];
        assert!((first - 0.0001).abs() < 1e-6, "{first}");
        let rate = rate(&mut disk, &writes[1..], 1);
        (rate, disk.tally())
    };
    // Sixteen runs of one sector in four each pass: 64 sectors further on after a revolution.
    let (whole, counted) = run(0);
    assert_eq!(counted.granules_read, 0);
    let pass = 0.010 + 0.010 * 64.0 / 1000.0;
    assert!((whole * pass / 16.0 - 1.0).abs() < 0.1, "{whole}");
    // Half as many runs, of sixteen sectors, which are read in one revolution and written in the next.
    let (part, counted) = run(512);
    assert!(counted.granules_read > 7_000, "{counted:?}");
    let pass = 0.020 + 0.010 * 32.0 / 1000.0;
    assert!((part * pass / 8.0 - 1.0).abs() < 0.1, "{part}");
    // Twice as long, a run is no more than one of sixteen.
    let mut long = disk(&changes).expect("it is one");
    let writes: Vec<Operation> = (0..4_000)
        .map(|number| Operation::write(number * 16_384, 8192))
        .collect();
    let double = rate(&mut long, &writes, 1);
    assert!((double / whole - 1.0).abs() < 0.05, "{double} {whole}");
}

#[test]
fn writes_that_follow_each_other_become_whole_sectors_in_the_cache() {
    let changes = [
        ("disk.format", "\"512e\""),
        ("disk.write_cache", "\"8 MiB\""),
    ];
    let mut disk = disk(&changes).expect("it is one");
    let writes: Vec<Operation> = (0..20_000)
        .map(|number| Operation::write(number * 4096 + 512, 4096))
        .collect();
    rate(&mut disk, &writes, 8);
    let tally = disk.tally();
    assert!(tally.granules_read < 400, "{tally:?}");
}
