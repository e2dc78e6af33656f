//! Short runs and scripts: what the exit status of `bench -q` tells, budgets that can prove something, experiments that go on; and
//! recorded requests in place of a workload.

use std::fs;
use std::path::Path;

use crate::bench::names;
use crate::natural::{Row, hold};
use crate::support::{Run, scratch, straddle};

fn run(here: &Path, line: &str) -> Run {
    let words: Vec<&str> = line.split_whitespace().collect();
    straddle(here, &words)
}

/// Two offsets on nothing at all, in little time.
const NULL: &str =
    "bench x --engine null --offsets 0,1M --runtime 10ms --warm-up 0s --history none";

#[test]
fn the_exit_status_tells_proven_unproven_and_unfinished_apart() {
    let here = scratch();
    for (more, quiet, loud) in [
        // As many requests are due at either offset, and any gain is known to within 100%.
        (
            "--blocks 3 --precision 100% --rate 500 --runtime 100ms",
            0,
            0,
        ),
        // No gain is known to within a hundred-thousandth.
        ("--blocks 3 --precision 0.001%", 1, 0),
        // Nothing is asked.
        ("--blocks 3 --precision 0.001% --offsets 0", 0, 0),
        ("--blocks 2", 2, 2),
    ] {
        // An option is given once.
        let mut line = NULL.to_owned();
        for given in ["--offsets 0,1M ", "--runtime 10ms "] {
            if more.contains(given.split(' ').next().expect("a flag")) {
                line = line.replace(given, "");
            }
        }
        let line = format!("{line} {more}");
        let found = run(here.path(), &line);
        assert_eq!(found.code, Some(loud), "{line}\n{}", found.transcript());
        let line = format!("{line} -q");
        let mut found = run(here.path(), &line);
        // What is due comes late on a busy machine, by a share of a run that its length decides.
        for longer in ["200ms", "400ms", "1s", "2s", "4s", "10s"] {
            if more.contains("--rate") && found.code != Some(quiet) {
                found = run(here.path(), &line.replace("100ms", longer));
            }
        }
        assert_eq!(found.code, Some(quiet), "{line}\n{}", found.transcript());
        assert!(found.stdout.is_empty(), "{}", found.transcript());
    }
}

const BUDGETS: [Row; 7] = [
    (
        "bench . --dry-run",
        0,
        &["54 s (5 blocks, 45 runs) in any case; at most 1 min 58 s"],
    ),
    // A minute for each run: nine runs a block.
    (
        "bench . --dry-run --runtime 1m --warm-up 0s",
        0,
        &[
            "5 blocks of 1 workload with 9 runs of 1 min each take 45 min, so --budget is 56 min 15 s unless it is said",
            "45 min (5 blocks, 45 runs) in any case",
        ],
    ),
    (
        "bench . --dry-run --runtime 1m --warm-up 0s --offsets 1M",
        0,
        &["1 run of 1 min"],
    ),
    (
        "bench . --budget 10s --rw read,write",
        2,
        &[
            "--budget 10 s proves nothing: 5 blocks of 2 workloads with 9 runs of 1.2 s each take 1 min 48 s; give --budget 2 min 15 s or more",
        ],
    ),
    (
        "bench . --dry-run --budget 1m",
        0,
        &["54 s (5 blocks, 45 runs) in any case"],
    ),
    (
        "bench . --dry-run --budget none",
        0,
        &["at most 3 h (1000 blocks) until each gain is known to 1%"],
    ),
    (
        "bench . --dry-run --budget 10s --blocks 3 --offsets 0,1M --runtime 500ms",
        0,
        &["6.3 s (3 blocks, 9 runs) in any case"],
    ),
];

#[test]
fn a_budget_is_enough_or_is_refused_before_anything_is_made() {
    let here = scratch();
    hold(here.path(), &BUDGETS);
    assert_eq!(names(here.path()), [""; 0]);
}

#[test]
fn a_finished_experiment_goes_on_with_more() {
    let here = scratch();
    let line = format!("{NULL} --journal j --keep --precision 0.001%");
    let first = run(here.path(), &format!("{line} --blocks 3-4 --json"));
    assert_eq!(first.code, Some(0), "{}", first.transcript());
    let runs = |run: &Run| {
        let document: serde_json::Value = serde_json::from_str(&run.stdout).expect("JSON");
        document["samples"].as_array().expect("a list").len()
    };
    assert_eq!(runs(&first), 12);
    assert!(
        first
            .stderr
            .contains("straddle bench --resume j --blocks N"),
        "{}",
        first.stderr
    );
    for (more, code, says) in [
        (
            "--blocks 3",
            2,
            "an experiment that goes on can be given more, not less",
        ),
        (
            "--budget 1s",
            2,
            "an experiment that goes on can be given more, not less",
        ),
        ("--blocks 5-9", 2, "the least number of blocks stays 3"),
        ("--precision 5%", 2, "cannot be used with"),
    ] {
        let refused = run(here.path(), &format!("bench --resume j {more}"));
        assert_eq!(refused.code, Some(code), "{}", refused.transcript());
        assert!(refused.stderr.contains(says), "{more}: {}", refused.stderr);
    }
    let same = run(here.path(), "bench --resume j --keep --history none --json");
    assert_eq!(runs(&same), 12, "nothing more was asked for");
    let more = run(
        here.path(),
        "bench --resume j --blocks 3-6 --keep --history none --json",
    );
    assert_eq!(runs(&more), 18, "{}", more.stderr);
    // What was raised is remembered.
    let again = run(
        here.path(),
        "bench --resume j --budget 1h --keep --history none --json",
    );
    assert_eq!(runs(&again), 18);
    let last = run(
        here.path(),
        "bench --resume j --blocks 8 --history none --json",
    );
    assert_eq!((runs(&last), last.code), (24, Some(0)));
    assert_eq!(names(here.path()), [""; 0]);
}

/// As blkparse prints them: two devices, sectors of 512 bytes.
const TRACE: &str = "  8,0    1        1     0.000000000   100  D   R 63 + 16 [db]
  8,0    1        2     0.000100000   100  D   R 191 + 128 [db]
  8,0    1        3     0.000300000   100  D   R 2111 + 16 [db]
  8,0    1        4     0.000400000   100  D   R 6291519 + 8 [db]
  8,16   1        5     0.000500000   100  D   W 64 + 8 [db]
";

const REPLAYS: [Row; 16] = [
    (
        "bench . --replay t.txt --device 8,0 --dry-run",
        0,
        &[
            "replay 4 requests of 8,0 from",
            "as fast as possible",
            "reads, recorded, 4 KiB to 64 KiB, 1 thread × 8 outstanding",
        ],
    ),
    (
        "bench . --replay t.txt --device 8,0 --replay-start 63s --dry-run",
        0,
        &["the last byte is 3,221,229,568"],
    ),
    (
        "bench . --replay t.txt --device 8,0 --replay-start 64s --dry-run",
        0,
        &["1 requests begin before --replay-start and are left out"],
    ),
    (
        "bench . --replay t.txt --device 8,0 --timed --dry-run",
        0,
        &["at 1 times the recorded speed", "compare latencies"],
    ),
    (
        "bench . --replay t.txt --device 8,0 --replay-speed 2.5 --dry-run",
        0,
        &["at 2.5 times the recorded speed"],
    ),
    (
        "bench . --replay t.txt --device 8,0 --replay-fit scale --dry-run",
        0,
        &["are scaled down by whole MiB"],
    ),
    (
        "bench . --replay t.txt --device 8,0 --threads 1,2 --qd 4 --dry-run",
        0,
        &["1 thread × 4 outstanding", "2 threads × 4 outstanding"],
    ),
    (
        "bench . --replay t.txt --device 8,16 --dry-run",
        0,
        &["writes, recorded, 4 KiB, 1 thread"],
    ),
    (
        "bench . --replay t.txt",
        2,
        &["requests of several devices: name one of 8,0, 8,16"],
    ),
    (
        "bench . --replay t.txt --device sdz",
        2,
        &["no requests; expected a recording with one at least"],
    ),
    ("bench . --replay none.txt", 2, &["none.txt"]),
    (
        "bench . --replay t.txt --device 8,0 --rw read",
        2,
        &["cannot be used with"],
    ),
    (
        "bench . --replay t.txt --device 8,0 --replay-speed 0",
        2,
        &["`0` is not a speed; write it like 1, 0.5 or 10"],
    ),
    ("bench . --timed", 2, &["--replay"]),
    (
        "bench . --replay untimed.iolog --timed",
        2,
        &["does not say when each request was made"],
    ),
    ("bench . --replay words.txt", 2, &["words.txt"]),
];

#[test]
fn recordings_are_taken_or_asked_about() {
    let here = scratch();
    fs::write(here.path().join("t.txt"), TRACE).expect("writable");
    fs::write(here.path().join("words.txt"), "no trace\nat all\n").expect("writable");
    let iolog = "fio version 2 iolog\n/dev/sdb add\n/dev/sdb open\n/dev/sdb read 4096 8192\n/dev/sdb write 65536 4096\n/dev/sdb close\n";
    fs::write(here.path().join("untimed.iolog"), iolog).expect("writable");
    hold(here.path(), &REPLAYS);
    assert_eq!(names(here.path()), ["t.txt", "untimed.iolog", "words.txt"]);
}

/// From a trace to a report, on a file; and an experiment that goes on has the same recording.
#[test]
fn a_recording_is_measured_at_each_offset() {
    let here = scratch();
    fs::write(here.path().join("t.txt"), TRACE).expect("writable");
    let line = "bench . --replay t.txt --device 8,0 --replay-start 63s --offsets 0,1M --size 16M --blocks 3 --runtime 30ms --warm-up 0s --buffered --history none";
    let done = run(here.path(), &format!("{line} --json --journal j --keep"));
    assert_eq!(done.code, Some(0), "{}", done.transcript());
    let document: serde_json::Value = serde_json::from_str(&done.stdout).expect("JSON");
    let plan = &document["plan"];
    assert_eq!(plan["replay"]["requests"], 4);
    assert_eq!(plan["replay"]["start"], 32_256);
    assert_eq!(plan["replay"]["fit"], "wrap");
    assert_eq!(plan["cells"][0]["pattern"]["recorded"], 4096);
    for sample in document["samples"].as_array().expect("runs") {
        // 8 KiB twice, 64 KiB and 4 KiB: 84 KiB in four requests.
        let reads = sample["reads"]["requests"].as_f64().expect("a number");
        let bytes = sample["reads"]["bytes"].as_f64().expect("a number");
        assert!(
            reads > 20.0 && (bytes / reads / 1024.0 - 21.0).abs() < 8.0,
            "{sample}"
        );
    }
    let text = run(here.path(), &line.replace("bench . ", "bench k.dat "));
    for part in [
        "replay     4 requests of 8,0",
        "4 KiB to 64 KiB recorded, reads only",
    ] {
        assert!(text.stdout.contains(part), "{part}\n{}", text.transcript());
    }
    // Another recording is not gone on with.
    fs::write(here.path().join("t.txt"), TRACE.replace("191 +", "199 +")).expect("writable");
    let refused = run(here.path(), "bench --resume j --blocks 5");
    assert_eq!(refused.code, Some(2), "{}", refused.transcript());
    assert!(
        refused
            .stderr
            .contains("other requests than when the experiment began"),
        "{}",
        refused.stderr
    );
    fs::write(here.path().join("t.txt"), TRACE).expect("writable");
    let more = run(here.path(), "bench --resume j --blocks 5 --history none -q");
    assert!(matches!(more.code, Some(0 | 1)), "{}", more.transcript());
    assert_eq!(names(here.path()), ["t.txt"]);
}
