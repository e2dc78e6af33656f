//! The program under a kernel that has arrays, device-mapper and loop devices: every script in `cases/` runs in a
//! guest of its own. A script asserts what it finds, and what it prints is what its snapshot beside it says.
//!
//! Matrices of arrays, volumes and scripts are whole in a soak only: there a case that says `# More in a soak.` is given the word `soak`,
//! and prints what `NAME-soak.snap` says. Each has in its head what it keeps for every commit.

#![cfg(target_os = "linux")]

use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use straddle_testkit::guest::Guest;
use straddle_testkit::repository;
use straddle_testkit::shipped::under_test;

/// Lines of cases that a soak alone runs, and of those that do more in one.
const ONLY_IN_SOAK: &str = "# Only in a soak.";
const MORE_IN_SOAK: &str = "# More in a soak.";

/// What a script printed, and what became of it.
struct Outcome {
    stdout: String,
    stderr: String,
    status: Result<u8, String>,
}

fn run(script: &Path, limit: u64, arguments: &[String]) -> Outcome {
    let guest = Guest {
        repository: repository(),
        // Disks of scsi_debug are in it; what a case does not touch costs nothing.
        memory: "1G".to_owned(),
        limit: Duration::from_secs(limit),
        out: None,
        disks: Vec::new(),
        programs: std::iter::once(under_test(env!("CARGO_BIN_EXE_straddle")))
            .chain(examples(script))
            .collect(),
    };
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let status = guest
        .run(script, arguments, &mut stdout, &mut stderr)
        .map_err(|error| format!("{error:#}"));
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is UTF-8");
    Outcome {
        stdout: text(stdout),
        stderr: text(stderr),
        status,
    }
}

#[test]
fn every_case_holds() {
    let cases = repository().join("tests/lab/cases");
    let mut scripts: Vec<PathBuf> = std::fs::read_dir(&cases)
        .expect("a directory of cases")
        .map(|entry| entry.expect("readable").path())
        .filter(|path| path.extension().is_some_and(|end| end == "sh"))
        .collect();
    scripts.sort();
    // The others run for every commit.
    let in_soak = straddle_testkit::is_soak();
    scripts.retain(|script| match in_soak {
        true => says(script, ONLY_IN_SOAK) || says(script, MORE_IN_SOAK),
        false => !says(script, ONLY_IN_SOAK),
    });
    let fewest = if in_soak { 1 } else { 20 };
    assert!(scripts.len() >= fewest, "only {} cases", scripts.len());
    let outcomes = in_parallel(&scripts);

    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(&cases);
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    let mut failed = String::new();
    for (script, outcome) in scripts.iter().zip(&outcomes) {
        if outcome.status != Ok(0) {
            let Outcome {
                stdout,
                stderr,
                status,
            } = outcome;
            failed += &format!("{}: {status:?}\n{stdout}{stderr}\n", script.display());
        }
    }
    assert!(failed.is_empty(), "{failed}");
    // All are compared, so that one run tells every snapshot that is another.
    let other: Vec<_> = scripts
        .iter()
        .zip(outcomes)
        .filter_map(|(script, outcome)| {
            let mut name = script
                .file_stem()
                .expect("has a name")
                .display()
                .to_string();
            if in_soak && says(script, MORE_IN_SOAK) {
                name += "-soak";
            }
            // The C library of a debug build has another name for it than that of what is shipped.
            let said = outcome.stdout.replace("Input/output error", "I/O error");
            let compare = || insta::assert_snapshot!(name.as_str(), said);
            std::panic::catch_unwind(AssertUnwindSafe(|| settings.bind(compare)))
                .is_err()
                .then_some(name)
        })
        .collect();
    assert!(other.is_empty(), "other snapshots: {}", other.join(", "));
}

/// A guest has one processor, and waits much of its time.
#[expect(
    clippy::print_stderr,
    reason = "how long each took, for who looks for what makes it slow"
)]
fn in_parallel(scripts: &[PathBuf]) -> Vec<Outcome> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    // Of what hangs only: all other tests run beside.
    let limit = 3600;
    // None of these is to run alone at the end.
    let mut order: Vec<(usize, &PathBuf)> = scripts.iter().enumerate().collect();
    order.sort_by_key(|(_, script)| !says(script, "# Takes long."));
    let todo = Mutex::new(order.into_iter());
    let done = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let next = todo.lock().expect("no panic while held").next();
                    let Some((index, script)) = next else { break };
                    let start = Instant::now();
                    let more = straddle_testkit::is_soak() && says(script, MORE_IN_SOAK);
                    let arguments = more.then(|| "soak".to_owned());
                    let outcome = run(script, limit, arguments.as_slice());
                    let name = script.file_stem().unwrap_or_default().display();
                    eprintln!("lab: {name}: {} s", start.elapsed().as_secs());
                    let mut done = done.lock().expect("no panic while held");
                    done.push((index, outcome));
                }
            });
        }
    });
    let mut done = done.into_inner().expect("no panic while held");
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, outcome)| outcome).collect()
}

/// The programs that a case takes from the examples of the crates, in lines `# Example NAME`. They are built first, as all tests are.
fn examples(script: &Path) -> Vec<PathBuf> {
    let text = std::fs::read_to_string(script).expect("readable");
    let lines = text
        .lines()
        .filter_map(|line| line.strip_prefix("# Example "));
    let built = lines.map(|name| {
        let status = std::process::Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--workspace", "--all-features"])
            .args(["--example", name])
            .current_dir(repository())
            .status()
            .expect("cargo runs");
        assert!(status.success(), "{name}: {status}");
        // Beside the program itself, wherever that is.
        let own = Path::new(env!("CARGO_BIN_EXE_straddle"));
        own.with_file_name("examples").join(name)
    });
    built.collect()
}

/// Whether a case has this line in it.
fn says(script: &Path, what: &str) -> bool {
    let text = std::fs::read_to_string(script).expect("readable");
    text.lines().any(|line| line == what)
}

fn script(directory: &Path, text: &str) -> PathBuf {
    let path = directory.join("a script.sh");
    std::fs::write(&path, text).expect("writable");
    path
}

#[test]
fn output_and_status_are_the_scripts() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let text =
        "echo out; echo err > /dev/stderr; printf '\\0\\r\\n'; straddle explain STR999; exit 7";
    let outcome = run(&script(dir.path(), text), 600, &[]);
    assert_eq!(outcome.status, Ok(7), "{}", outcome.stderr);
    assert_eq!(outcome.stdout, "out\n\0\r\n");
    assert!(outcome.stderr.starts_with("err\n"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("STR999"), "{}", outcome.stderr);
}

#[test]
fn registers_come_back_after_a_signal() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let outcome = run(&script(dir.path(), "lab-registers"), 600, &[]);
    assert_eq!(outcome.status, Ok(0), "{}", outcome.stderr);
    assert_eq!(outcome.stdout, "1000 signals, 0 registers lost\n");
}

#[test]
fn a_guest_that_dies_is_reported_with_its_last_words() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let outcome = run(
        &script(dir.path(), "echo before; echo c > /proc/sysrq-trigger"),
        600,
        &[],
    );
    assert_eq!(outcome.stdout, "before\n");
    let error = outcome.status.expect_err("it died");
    assert!(
        error.starts_with("the guest died before the script ended"),
        "{error}"
    );
    assert!(error.contains("Kernel panic"), "{error}");
}

#[test]
fn a_guest_that_hangs_is_ended() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let outcome = run(&script(dir.path(), "echo before; sleep 600"), 60, &[]);
    assert_eq!(outcome.stdout, "before\n");
    let error = outcome.status.expect_err("it was ended");
    assert!(
        error.starts_with("the guest was ended after 60 s"),
        "{error}"
    );
}
