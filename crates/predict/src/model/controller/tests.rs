//! What processors are busy with, and what rounds save.

use super::*;
use crate::profile::Profile;

fn controller(text: &str) -> Controller {
    let text = format!(
        "title = \"t\"\nsummary = \"t\"\n[controller]\n{}",
        text.lines()
            .filter_map(|line| line.split_once('='))
            .map(|(key, value)| format!("{key} = {{ value = {value}, assumed = \"test\" }}\n"))
            .collect::<String>()
    );
    let profile = Profile::read("test", &text).and_then(|profile| profile.complete());
    let profile = profile.expect("a profile");
    Controller::build(profile.section("controller").expect("it has one"))
}

fn us(count: u64) -> Time {
    Time::nanoseconds(count * 1000)
}

#[test]
fn pieces_bytes_and_what_is_owed_take_time() {
    let mut controller = controller(
        "read = \"40 us\"\nwrite = \"60 us\"\npiece = 0.5\noperation = \"10 us\"\nbandwidth = \"100 MB/s\"",
    );
    let mut ends = Vec::new();
    let mut now = Time::ZERO;
    for (operation, pieces, owed) in [
        (Operation::read(0, 1000), 1, 0),
        (Operation::read(0, 1000), 3, 0),
        (Operation::write(0, 1000), 2, 4),
    ] {
        controller.owe(owed);
        controller.submit(now, 1, operation, pieces);
        ends.push(controller.next() - now);
        now = controller.next();
        assert_eq!(controller.take(now), Some(1));
    }
    assert_eq!(ends, [us(50), us(90), us(140)]);
    assert_eq!(controller.busy_until(now), us(280));
    assert_eq!(controller.next(), Time::NEVER);
}

/// Commands that come back as soon as they have been served, so many at once: how long each takes on average.
fn closed(controller: &mut Controller, commands: u32) -> f64 {
    for command in 0..commands {
        controller.submit(Time::ZERO, command, Operation::read(0, 512), 1);
    }
    let mut now = Time::ZERO;
    let served = 100_000_u32;
    for _ in 0..served {
        now = controller.next();
        let command = controller.take(now).expect("one is done");
        controller.submit(now, command, Operation::read(0, 512), 1);
    }
    let share = controller.busy_until(now).to_seconds() / now.to_seconds();
    let processors = f64::from(u32::try_from(controller.count()).expect("few"));
    assert!(share <= processors * 1.000_001, "{share}");
    now.to_seconds() * 1e6 / f64::from(served)
}

#[test]
fn a_round_is_shared_by_all_that_it_serves() {
    // In a closed loop without delay, all commands are served in each round: service + round / commands.
    for (commands, expected) in [(1, 150.0), (10, 60.0), (100, 51.0)] {
        let mut controller = controller("read = \"50 us\"\nwrite = \"0 us\"\nround = \"100 us\"");
        let time = closed(&mut controller, commands);
        assert!(
            (time / expected - 1.0).abs() < 0.02,
            "{time} for {commands}"
        );
    }
    let mut controller =
        controller("processors = 4\nread = \"50 us\"\nwrite = \"0 us\"\nround = \"100 us\"");
    let time = closed(&mut controller, 400);
    assert!((time / (51.0 / 4.0) - 1.0).abs() < 0.03, "{time}");
}

#[test]
fn a_controller_without_rounds_serves_one_by_one() {
    for (processors, expected) in [(1, 50.0), (2, 25.0), (4, 12.5)] {
        let text = format!("processors = {processors}\nread = \"50 us\"\nwrite = \"0 us\"");
        let time = closed(&mut controller(&text), 16);
        assert!((time / expected - 1.0).abs() < 0.001, "{time}");
    }
}
