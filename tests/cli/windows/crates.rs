//! The tests of crates that have code for Windows, built for it and run in Wine.

use std::process::Command;

use crate::support::{repository, wine};

/// The engines, what a file is known by and what is exclusive are different code there, of which the command shows a part only.
#[test]
fn the_tests_of_io_pass_there() {
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .args(["test", "--quiet", "-p", "straddle-io", "--lib", "--tests"])
        .current_dir(repository());
    straddle_testkit::under_wine::builds(&mut cargo);
    wine::runs_in_wine(&mut cargo);
    // What fails is in the output, not among the errors.
    let run = wine::run(&mut cargo);
    let needed = wine::BUILDING;
    assert_eq!(run.code, Some(0), "{}(needed: {needed})", run.transcript());
    // Of each program: a target without a test passes, too.
    let passed = |line: &str| {
        let count = line.strip_prefix("test result: ok. ")?;
        count.split(' ').next()?.parse::<u32>().ok()
    };
    let counts: Vec<u32> = run.stdout.lines().filter_map(passed).collect();
    assert!(
        counts.len() == 2 && counts.iter().all(|count| *count > 0),
        "{}",
        run.transcript()
    );
}
