//! Journals that `straddle bench --resume` is given: long ones that are genuine, and what is none. A clear error or a
//! resumed run, in bounded memory, and nothing of anybody's touched.

#![cfg(target_os = "linux")]

use crate::support::{straddle, tool};
use rustix::fs::{CWD, FileType, Mode};
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;

const NULL: &[&str] = &[
    "bench",
    "x",
    "--engine",
    "null",
    "--journal",
    "j",
    "--keep",
    "--size",
    "1M",
    "--offsets",
    "0,4K",
    "--runtime",
    "1ms",
    "--warm-up",
    "0s",
    "--blocks",
    "3-3",
    "--precision",
    "100%",
    "--seed",
    "1",
];

fn line(value: &Value) -> String {
    let text = value.to_string();
    format!("[\"{:08x}\",{text}]\n", crc32fast::hash(text.as_bytes()))
}

/// What the lines of a journal say.
fn values(journal: &Path) -> Vec<Value> {
    let text = fs::read_to_string(journal).expect("kept");
    let pairs = text.lines().map(serde_json::from_str::<(String, Value)>);
    pairs.map(|pair| pair.expect("a line").1).collect()
}

/// Exit status, standard error and peak memory in KiB of a resumed run.
fn resume(directory: &Path, journal: &str) -> (Option<i32>, String, u64) {
    let report = directory.join("memory");
    let output = Command::new("time")
        .args(["-f", "%M", "-o"])
        .arg(&report)
        .args(["timeout", "300", env!("CARGO_BIN_EXE_straddle")])
        .env("STRADDLE_HISTORY", "none")
        .args(["bench", "--resume", journal, "--keep"])
        .current_dir(directory)
        .output();
    let output = output.expect("this test needs `time` of the Debian package time");
    let memory = fs::read_to_string(&report).expect("written");
    let memory = memory.lines().last().and_then(|line| line.parse().ok());
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), stderr, memory.expect("KiB"))
}

/// What a process needs that reads no journal to speak of, and the bound on top of what a journal holds.
const BOUND: u64 = (16 + 64) << 10;

#[test]
fn a_journal_of_a_hundred_thousand_runs_is_gone_on_with() {
    const BLOCKS: u64 = 33_334;
    let here = tempfile::tempdir().expect("temporary directory");
    let run = straddle(here.path(), NULL);
    assert_eq!(run.code, Some(0), "{}", run.transcript());
    let mut values = values(&here.path().join("j"));
    let mut samples: Vec<Value> = values.split_off(3);
    samples.truncate(3);
    values[0]["header"]["plan"]["least_blocks"] = BLOCKS.into();
    values[0]["header"]["plan"]["most_blocks"] = BLOCKS.into();
    let path = here.path().join("long");
    let mut out = std::io::BufWriter::new(fs::File::create(&path).expect("writable"));
    for value in &values {
        out.write_all(line(value).as_bytes()).expect("writes");
    }
    // All but the last block, which is left to make.
    for block in 0..BLOCKS - 1 {
        for value in &mut samples {
            value["sample"]["slot"]["block"] = block.into();
            out.write_all(line(value).as_bytes()).expect("writes");
        }
    }
    drop(out);
    let size = fs::metadata(&path).expect("stats").len() >> 10;
    let (code, stderr, memory) = resume(here.path(), "long");
    assert_eq!(code, Some(0), "{stderr}");
    assert!(
        memory <= size + BOUND,
        "{memory} KiB for a journal of {size} KiB"
    );
    let text = fs::read_to_string(&path).expect("kept");
    assert_eq!(text.matches("{\"sample\":").count() as u64, BLOCKS * 3);
}

#[test]
fn what_is_no_journal_is_refused_in_little_memory() {
    let here = tempfile::tempdir().expect("temporary directory");
    let run = straddle(here.path(), NULL);
    assert_eq!(run.code, Some(0), "{}", run.transcript());
    let at = |name: &str| here.path().join(name);
    let text = fs::read_to_string(at("j")).expect("kept");
    let mode = Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(CWD, at("pipe"), FileType::Fifo, mode, 0).expect("a pipe");
    std::os::unix::fs::symlink(at("j"), at("link")).expect("links");
    fs::create_dir(at("folder")).expect("makes");
    fs::write(at("empty"), "").expect("writes");
    fs::write(at("text"), "Dear diary\n".repeat(1000)).expect("writes");
    fs::write(at("endless"), "x".repeat(32 << 20)).expect("writes");
    for (name, start) in [("giant", ""), ("giant behind a journal", text.as_str())] {
        fs::write(at(name), start).expect("writes");
        let file = fs::OpenOptions::new().write(true).open(at(name));
        file.and_then(|file| file.set_len(1 << 40)).expect("sparse");
    }
    fs::write(
        at("deep"),
        line_of(&format!("{{\"header\":{}", "[".repeat(1 << 20))),
    )
    .expect("writes");
    fs::write(at("earlier"), text.replace("journal/2", "journal/1")).expect("writes");
    for (name, expected) in [
        ("pipe", "it is a FIFO"),
        ("/dev/zero", "it is a character device"),
        ("link", "it is a symbolic link"),
        ("folder", "it is a directory"),
        ("missing", "No such file"),
        ("empty", "has no whole line"),
        ("text", "line 1: found `Dear diary"),
        ("endless", "line 1: found a line of more than 4194304 bytes"),
        ("giant", "line 1: found a line of more than 4194304 bytes"),
        (
            "giant behind a journal",
            "found a line of more than 16777216 bytes",
        ),
        ("deep", "line 1: found"),
        ("earlier", "line 1: found"),
    ] {
        let (code, stderr, memory) = resume(here.path(), name);
        assert_eq!(code, Some(2), "{name}: {stderr}");
        assert!(stderr.contains(expected), "{name}: {stderr}");
        assert!(memory <= BOUND, "{name}: {memory} KiB");
    }
    assert_eq!(fs::read_to_string(at("j")).expect("kept"), text);
    assert_eq!(fs::metadata(at("giant")).expect("kept").len(), 1 << 40);
}

fn line_of(text: &str) -> String {
    format!("[\"{:08x}\",{text}]\n", crc32fast::hash(text.as_bytes()))
}

/// Each absurd value is refused in the words of the command line, before anything is made.
#[test]
fn absurd_plans_are_refused_as_on_the_command_line() {
    let here = tempfile::tempdir().expect("temporary directory");
    let run = straddle(here.path(), NULL);
    assert_eq!(run.code, Some(0), "{}", run.transcript());
    let genuine = values(&here.path().join("j"));
    let plan = &genuine[0]["header"]["plan"];
    let many = |value: &Value, count: usize| Value::Array(vec![value.clone(); count]);
    let offsets: Vec<Value> = (0..100_000)
        .map(|number| serde_json::json!({"name": number.to_string(), "bytes": number * 512}))
        .collect();
    let time = |seconds: u64| serde_json::json!({"secs": seconds, "nanos": 0});
    for (pointer, value, expected) in [
        (
            "/cells/0/workers",
            Value::from(u32::MAX),
            "threads: 4294967295",
        ),
        (
            "/cells/0/outstanding",
            Value::from(u32::MAX),
            "outstanding requests: 4294967295",
        ),
        (
            "/cells/0/think",
            time(u64::MAX),
            "think time: 18446744073709551615 s",
        ),
        (
            "/measured",
            time(u64::MAX),
            "time of a run: 18446744073709551615 s",
        ),
        ("/warm_up", time(1 << 63), "warm-up: 9223372036854775808 s"),
        (
            "/budget",
            time(u64::MAX),
            "time for all runs: 18446744073709551615 s",
        ),
        (
            "/cells",
            many(&plan["cells"][0], 10_000),
            "workloads: 10000",
        ),
        (
            "/offsets",
            Value::Array(offsets.into_iter().take(30_000).collect()),
            "offsets: 30000",
        ),
        ("/least_blocks", Value::from(u32::MAX), "most blocks"),
        ("/precision", Value::from(1e300), "precision"),
    ] {
        let mut changed = genuine.clone();
        *changed[0]["header"]["plan"]
            .pointer_mut(pointer)
            .expect("there") = value;
        let lines: String = changed.iter().map(line).collect();
        fs::write(here.path().join("absurd"), lines).expect("writes");
        let (code, stderr, memory) = resume(here.path(), "absurd");
        assert_eq!(code, Some(2), "{pointer}: {stderr}");
        assert!(stderr.contains(expected), "{pointer}: {stderr}");
        assert!(memory <= BOUND, "{pointer}: {memory} KiB");
    }
}

/// A second run on the same place is told that one is going on, not that an earlier one left something to remove.
#[test]
fn a_run_that_is_going_on_is_said_to_be() {
    let here = tempfile::tempdir().expect("temporary directory");
    let mut first = Command::new(env!("CARGO_BIN_EXE_straddle"))
        .env("STRADDLE_HISTORY", "none")
        .args([
            "bench",
            ".",
            "--size",
            "1M",
            "--runtime",
            "30s",
            "--engine",
            "pread",
            "-q",
        ])
        .current_dir(here.path())
        .spawn()
        .expect("straddle runs");
    let file = here.path().join("straddle-bench.dat");
    while !file.exists() {
        assert_eq!(first.try_wait().expect("can be asked"), None, "it goes on");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    for arguments in [
        &["bench", "."][..],
        &["bench", ".", "--dry-run"],
        &["bench", "straddle-bench.dat"],
        &["bench", "--resume", "straddle-bench.dat.journal"],
        &["diskspd", "-w100", "-c1M", "-d1", "straddle-bench.dat"],
    ] {
        let run = straddle(here.path(), arguments);
        assert_eq!(run.code, Some(2), "{arguments:?}: {}", run.transcript());
        // Nobody is told to remove what a run is using.
        assert!(
            run.stderr.contains("another") && !run.stderr.contains("remove"),
            "{arguments:?}: {}",
            run.transcript()
        );
    }
    let pid = rustix::process::Pid::from_child(&first);
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("ends");
    first.wait().expect("ends");
    tool("coreutils", Command::new("test").arg("-f").arg(&file));
}
