//! Services worked out by hand, and what must hold of every disk.

use super::*;
use crate::profile::registry;

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
    Disk::build(&profile.complete()?, 1)
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

#[test]
fn every_profile_of_a_disk_reads_and_writes() {
    for (name, _) in registry::PROFILES {
        let profile = registry::load(name).and_then(|profile| profile.complete());
        let Ok(profile) = profile else { continue };
        let Ok(mut disk) = Disk::build(&profile, 1) else {
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
