//! Programs that write at once, and programs that are killed while they write: no run that was said to be kept is lost.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use straddle_history::{Filter, Store};

use crate::run;

/// Where the child of a test writes, and as which machine.
const PLACE: &str = "STRADDLE_TEST_HISTORY";
const MACHINE: &str = "STRADDLE_TEST_MACHINE";
/// How many runs it keeps at most.
const MOST: &str = "STRADDLE_TEST_MOST";

/// Not a test by itself: as the child of one, it keeps runs and says the number of each when it is kept.
#[test]
fn child() {
    let (Ok(place), Ok(machine)) = (std::env::var(PLACE), std::env::var(MACHINE)) else {
        return;
    };
    let most = std::env::var(MOST).ok().and_then(|n| n.parse().ok());
    let most = most.unwrap_or(100_000_u64);
    for number in 0..most {
        let mut store = Store::open(Path::new(&place)).expect("opens");
        store.add(&run(&machine, number)).expect("kept");
        // Past the harness, which would hold it back.
        use std::io::Write;
        writeln!(std::io::stderr(), "kept {number}").expect("a pipe");
    }
}

fn start(place: &Path, machine: &str, most: Option<u64>) -> Child {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command
        .args(["--exact", "kill::child", "--nocapture"])
        .env(PLACE, place)
        .env(MACHINE, machine)
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    if let Some(most) = most {
        command.env(MOST, most.to_string());
    }
    command.spawn().expect("starts")
}

#[test]
fn eight_programs_that_write_at_once_lose_nothing() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let path = folder.path().join("h.sqlite");
    let children: Vec<Child> = (0..8)
        .map(|n| start(&path, &format!("db{n}"), Some(12)))
        .collect();
    for child in children {
        let output = child.wait_with_output().expect("ends");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
    }
    let store = Store::read(&path).expect("opens");
    assert_eq!(store.count(&Filter::default()).expect("reads"), 96);
    for n in 0..8 {
        let of = Filter {
            machine: Some(format!("db{n}")),
            ..Filter::default()
        };
        let runs = store.list(&of, 100).expect("reads");
        assert_eq!(runs.len(), 12);
        for (entry, number) in runs.iter().rev().zip(0..) {
            assert_eq!(
                store.document(entry.id).expect("there"),
                run(&format!("db{n}"), number).document
            );
        }
    }
}

#[test]
fn a_program_that_is_killed_while_it_writes_loses_no_run_that_was_kept() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let path = folder.path().join("h.sqlite");
    let mut kept: BTreeSet<(String, u64)> = BTreeSet::new();
    // Two hundred writes, in the middle of which twenty programs are killed after a different number each.
    for round in 0..20_u64 {
        let machine = format!("db{round}");
        let mut child = start(&path, &machine, None);
        let stderr = BufReader::new(child.stderr.take().expect("piped"));
        let until = 1 + (round * 7) % 19;
        for line in stderr.lines() {
            let line = line.expect("text");
            let Some(number) = line.strip_prefix("kept ") else {
                continue;
            };
            kept.insert((machine.clone(), number.parse().expect("a number")));
            if kept.iter().filter(|(of, _)| *of == machine).count() as u64 == until {
                // At no point that it chose: wherever it is in the next write.
                std::thread::sleep(std::time::Duration::from_micros(round * 137 % 1900));
                child.kill().expect("runs");
                break;
            }
        }
        child.wait().expect("ends");
    }
    assert!(kept.len() >= 180, "{}", kept.len());
    let store = Store::open(&path).expect("opens after all that");
    let runs = store.list(&Filter::default(), 10_000).expect("reads");
    let mut found = BTreeSet::new();
    for entry in &runs {
        let number: u64 = entry
            .headline
            .trim_matches(['+', '%'])
            .parse()
            .expect("as written");
        assert_eq!(
            store.document(entry.id).expect("whole"),
            run(&entry.machine, number).document
        );
        found.insert((entry.machine.clone(), number));
    }
    let lost: Vec<_> = kept.difference(&found).collect();
    assert!(lost.is_empty(), "{lost:?}");
}
