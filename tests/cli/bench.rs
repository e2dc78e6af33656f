//! `straddle bench` as a person types it: the plan, every refusal, and what is left behind however it ends.

#![cfg(target_os = "linux")]

use crate::support::{Run, repository, scratch, straddle, tool};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

const FILE: &str = "straddle-bench.dat";
const JOURNAL: &str = "straddle-bench.dat.journal";

/// A small experiment: three blocks of three runs.
const QUICK: &[&str] = &[
    "--size",
    "16M",
    "--offsets",
    "unaligned,64K",
    "--runtime",
    "40ms",
    "--warm-up",
    "10ms",
    "--blocks",
    "3-3",
    "--engine",
    "pread",
    "--outstanding",
    "2",
    "--seed",
    "1",
];

/// With so many blocks it has to be interrupted.
const LONG: &[&str] = &["--blocks", "20-20"];

/// The arguments of `bench`. An option of [`QUICK`] that is given again replaces it.
fn merged<'a>(args: &[&[&'a str]]) -> Vec<&'a str> {
    let all: Vec<&str> = args.iter().copied().flatten().copied().collect();
    let mut merged = vec!["bench"];
    let mut at = 0;
    while let Some(arg) = all.get(at) {
        let is_option = QUICK.contains(arg) && arg.starts_with("--");
        if is_option && all.iter().skip(at + 1).any(|later| later == arg) {
            at += 2;
        } else {
            merged.push(*arg);
            at += 1;
        }
    }
    merged
}

fn snapshot(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(repository().join("tests/cli/snapshots"));
    settings.set_prepend_module_to_snapshot(false);
    settings.bind(|| insta::assert_snapshot!(name, text));
}

fn bench(directory: &Path, args: &[&[&str]]) -> Run {
    straddle(directory, &merged(args))
}

/// A transcript in which `directory` has another name.
fn transcript(run: &Run, directory: &Path) -> String {
    let name = directory.to_str().expect("UTF-8");
    run.transcript().replace(name, "[DIR]")
}

pub(crate) fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("readable");
    let mut names: Vec<String> = entries
        .map(|entry| {
            entry
                .expect("readable")
                .file_name()
                .into_string()
                .expect("UTF-8")
        })
        .collect();
    names.sort();
    names
}

/// Starts an experiment that goes on for a while.
fn start(directory: &Path, args: &[&[&str]]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_straddle"));
    command.env("STRADDLE_HISTORY", "none");
    command.args(merged(args));
    command.current_dir(directory);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    child.spawn().expect("straddle runs")
}

/// Waits until the journal has `count` lines with `member`.
fn wait_for(child: &mut Child, journal: &Path, member: &str, count: usize) {
    let pattern = format!("\",{{\"{member}\":");
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(120) {
        let text = fs::read_to_string(journal).unwrap_or_default();
        if text.matches(&pattern).count() >= count {
            return;
        }
        let ended = child.try_wait().expect("can be asked");
        assert_eq!(ended, None, "it ended before it was interrupted");
        sleep(Duration::from_millis(2));
    }
    panic!("no {count} `{member}` lines in {}", journal.display());
}

/// Waits until a file is there.
fn wait_for_file(child: &mut Child, file: &Path) {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(120) {
        if file.exists() {
            return;
        }
        let ended = child.try_wait().expect("can be asked");
        assert_eq!(ended, None, "it ended before it was interrupted");
        sleep(Duration::from_millis(2));
    }
    panic!("no {}", file.display());
}

/// Runs of a `--format runs` table.
fn runs_in(text: &str) -> usize {
    text.lines().count().saturating_sub(1)
}

#[test]
fn the_plan_of_a_new_file_is_printed_and_nothing_is_touched() {
    let here = scratch();
    let run = bench(here.path(), &[&[".", "--dry-run", "--seed", "7"]]);
    snapshot("bench-dry-run", &transcript(&run, here.path()));
    let many = bench(
        here.path(),
        &[&[
            "new.dat",
            "--dry-run",
            "--seed",
            "7",
            "--io",
            "8K,8K:70+64K:30",
            "--rw",
            "read,70/30",
            "--threads",
            "1,4",
            "--think",
            "1ms",
            "--rate",
            "500",
            "--budget",
            "none",
            "--blocks",
            "6-20",
            "--precision",
            "0.5%",
            "--offsets",
            "63s,1M",
            "--buffered",
            "--pattern",
            "sequential",
        ]],
    );
    snapshot("bench-dry-run-axes", &transcript(&many, here.path()));
    let short = bench(
        here.path(),
        &[&[".", "--dry-run", "--seed", "7", "--budget", "30s"]],
    );
    assert_eq!(short.code, Some(2), "{}", short.transcript());
    assert!(
        short.stderr.contains(
            "--budget 30 s proves nothing: 5 blocks of 1 workload with 9 runs of 1.2 s each take 54 s; give --budget 1 min 7 s or more"
        ),
        "{}",
        short.transcript()
    );
    assert_eq!(names(here.path()), [""; 0]);
}

#[test]
fn the_places_of_an_existing_file_are_part_of_the_plan() {
    let here = scratch();
    fs::write(here.path().join("data"), vec![1; 8 << 20]).expect("writes");
    let run = bench(
        here.path(),
        &[&["data", "--dry-run", "--offsets", "unaligned,1M"]],
    );
    assert_eq!(run.code, Some(0), "{}", run.transcript());
    for expected in [
        "only read, past the page cache",
        "requests ",
        "unaligned: ",
        "1M: ",
    ] {
        assert!(
            run.stdout.contains(expected),
            "{expected}: {}",
            run.transcript()
        );
    }
    assert_eq!(names(here.path()), ["data"]);
}

#[test]
fn what_cannot_be_measured_is_refused_and_says_what_to_do() {
    let here = scratch();
    fs::write(here.path().join("precious"), vec![1; 4 << 20]).expect("writes");
    fs::write(here.path().join("job.fio"), "[a]\nrw=read\nioengine=rbd\n").expect("writes");
    let mut text = String::new();
    for args in [
        &[][..],
        &["precious", "--rw", "write"],
        &["precious", "--rw", "70/30", "--dry-run"],
        &["missing/file"],
        &[".", "--size", "1E"],
        &[".", "--offsets", "1M,1024K"],
        &[".", "--blocks", "2"],
        &[".", "--io", "1000B", "--size", "1000000B"],
        &[".", "--rw", "60/60"],
        &[".", "--runtime", "fast"],
        &[".", "--engine", "warp"],
        &[".", "--yes-destroy", "sdb"],
        &["--destroy-data", "precious", "--yes-destroy", "precious"],
        &["--destroy-data", "/dev/null", "--yes-destroy", "null"],
        &[
            "other",
            "--destroy-data",
            "precious",
            "--yes-destroy",
            "precious",
        ],
        &["--job", "job.fio"],
        &["--job", "missing.fio"],
        &["--resume", "missing.journal"],
        &["--resume", "precious"],
        &["--resume", "x", "--io", "8K"],
        &["/dev/tty"],
    ] {
        let run = bench(here.path(), &[args]);
        assert_eq!(run.code, Some(2), "{args:?}: {}", run.transcript());
        assert_eq!(run.stdout, "", "{args:?}");
        text.push_str(&format!("$ straddle bench {}\n", args.join(" ")));
        // What is printed before the refusal is the plan, which another test has.
        let refusal = run.stderr.find("error: ").unwrap_or_default();
        text.push_str(&run.stderr[refusal..]);
        text.push('\n');
    }
    let text = text.replace(here.path().to_str().expect("UTF-8"), "[DIR]");
    let mut settings = insta::Settings::clone_current();
    settings.add_filter("has [≈0-9.,]+ [A-Z]iB left", "has [SPACE] left");
    settings.bind(|| snapshot("bench-refusals", &text));
    assert_eq!(names(here.path()), ["job.fio", "precious"]);
    let bytes = fs::read(here.path().join("precious")).expect("readable");
    assert!(
        bytes == vec![1; 4 << 20],
        "somebody else's file is left alone"
    );
}

#[test]
fn a_short_experiment_counts_its_runs_and_leaves_nothing_behind() {
    let here = scratch();
    // Long enough that a disk which others keep busy answers within each run.
    let run = bench(
        here.path(),
        &[&[".", "--json"], QUICK, &["--runtime", "400ms"]],
    );
    assert_eq!(run.code, Some(0), "{}", run.transcript());
    let document: serde_json::Value = serde_json::from_str(&run.stdout).expect("JSON");
    let samples = document["samples"].as_array().expect("samples");
    assert_eq!(samples.len(), 9, "three blocks of three runs");
    for sample in samples {
        assert!(sample["reads"]["requests"].as_u64() > Some(0), "{sample}");
    }
    assert_eq!(names(here.path()), [""; 0]);
    let schema = straddle(here.path(), &["schema", "bench"]);
    let schema: serde_json::Value = serde_json::from_str(&schema.stdout).expect("JSON");
    let mut schemas = boon::Schemas::new();
    let mut compiler = boon::Compiler::new();
    compiler
        .add_resource("bench.json", schema)
        .expect("a schema");
    let index = compiler
        .compile("bench.json", &mut schemas)
        .expect("a schema");
    schemas
        .validate(&document, index)
        .unwrap_or_else(|error| panic!("{error:#}"));
}

#[test]
fn reads_writes_and_every_form_work_through_the_page_cache_and_past_it() {
    let here = scratch();
    for (args, expected) in [
        (
            &["--rw", "70/30", "--format", "csv"][..],
            "reads_per_second",
        ),
        (
            &["--rw", "write", "--write-through", "--format", "fio"],
            "\"jobs\"",
        ),
        (&["--buffered", "--format", "text"], "page cache"),
        (&["--format", "svg"], "<title>Gain over unaligned</title>"),
        (
            &["--rw", "50/50", "--verify", "--format", "runs"],
            "unaligned",
        ),
    ] {
        let run = bench(here.path(), &[&["."], QUICK, args]);
        assert_eq!(run.code, Some(0), "{args:?}: {}", run.transcript());
        assert!(
            run.stdout.contains(expected),
            "{args:?}: {}",
            run.transcript()
        );
        assert_eq!(names(here.path()), [""; 0]);
    }
    let verified = bench(here.path(), &[&[".", "--rw", "50/50", "--verify"], QUICK]);
    assert!(
        verified.stderr.contains("verified: "),
        "{}",
        verified.transcript()
    );
    let quiet = bench(here.path(), &[&[".", "-q"], QUICK]);
    // So short a run proves something or nothing.
    assert!(matches!(quiet.code, Some(0 | 1)), "{}", quiet.transcript());
    assert_eq!((quiet.stdout.as_str(), quiet.stderr.as_str()), ("", ""));
}

#[test]
fn a_job_file_says_what_is_asked_of_which_file() {
    let here = scratch();
    let job = "[global]\nfilename=made.dat\ndirect=1\nsize=16m\nruntime=1\ntime_based\nbs=8k\n\
               [reads]\nrw=randread\niodepth=4\n[mixed]\nstonewall\nrw=randrw\nrwmixread=70\n";
    fs::write(here.path().join("job.fio"), job).expect("writes");
    let args = [
        "--job",
        "job.fio",
        "--dry-run",
        "--seed",
        "7",
        "--blocks",
        "3-3",
    ];
    let run = bench(here.path(), &[&args]);
    snapshot("bench-job", &transcript(&run, here.path()));
    let run = bench(here.path(), &[&["--job", "job.fio", "--io", "8K"]]);
    assert_eq!(
        run.code,
        Some(2),
        "two sources of one thing: {}",
        run.transcript()
    );
    assert_eq!(names(here.path()), ["job.fio"]);
}

#[test]
fn nothing_at_all_can_be_measured() {
    let here = scratch();
    let run = bench(here.path(), &[&["x"], QUICK, &["--engine", "null"]]);
    assert_eq!(run.code, Some(0), "{}", run.transcript());
    assert_eq!(names(here.path()), [""; 0]);
}

#[test]
fn killed_while_the_file_is_filled_nothing_misleads_a_later_run() {
    let here = scratch();
    let journal = here.path().join(JOURNAL);
    let large = ["--size", "512M"];
    let mut child = start(here.path(), &[&["."], QUICK, LONG, &large]);
    wait_for_file(&mut child, &here.path().join(FILE));
    child.kill().expect("SIGKILL");
    child.wait().expect("ends");
    let text = fs::read_to_string(&journal).expect("readable");
    assert!(
        !text.contains("\"filled\""),
        "killed too late for this test: {text}"
    );
    assert_eq!(names(here.path()), [FILE, JOURNAL]);
    for args in [&["."][..], &[FILE], &[".", "--dry-run"]] {
        let run = bench(here.path(), &[args]);
        assert_eq!(run.code, Some(2), "{}", run.transcript());
        assert!(
            run.stderr.contains("had not come to its first run"),
            "{}",
            run.transcript()
        );
        assert!(run.stderr.contains("--resume"), "{}", run.transcript());
    }
    assert_eq!(names(here.path()), [FILE, JOURNAL]);
    // Somebody else's file in its place is not touched.
    let file = here.path().join(FILE);
    fs::rename(&file, here.path().join("aside")).expect("renames");
    fs::write(&file, "somebody else's").expect("writes");
    let run = bench(here.path(), &[&["--resume", JOURNAL]]);
    assert_eq!(run.code, Some(2), "{}", run.transcript());
    assert!(
        run.stderr.contains("is no longer what it was"),
        "{}",
        run.transcript()
    );
    assert_eq!(fs::read(&file).expect("readable"), b"somebody else's");
    fs::rename(here.path().join("aside"), &file).expect("renames");
    let run = bench(here.path(), &[&["--resume", JOURNAL, "--format", "runs"]]);
    assert_eq!(run.code, Some(0), "{}", run.transcript());
    assert_eq!(runs_in(&run.stdout), 60);
    assert_eq!(names(here.path()), [""; 0]);
}

#[test]
fn killed_between_runs_it_goes_on_where_it_stood() {
    let here = scratch();
    let journal = here.path().join(JOURNAL);
    for kills in 1..=3 {
        let args: &[&[&str]] = match kills {
            1 => &[&["."], QUICK, LONG],
            _ => &[&["--resume", JOURNAL]],
        };
        let mut child = start(here.path(), args);
        wait_for(&mut child, &journal, "sample", kills * 7);
        child.kill().expect("SIGKILL");
        child.wait().expect("ends");
        let run = bench(here.path(), &[&["."], QUICK]);
        assert_eq!(run.code, Some(2), "{}", run.transcript());
        assert!(run.stderr.contains("runs are kept"), "{}", run.transcript());
    }
    assert_eq!(names(here.path()), [FILE, JOURNAL]);
    let run = bench(here.path(), &[&["--resume", JOURNAL, "--format", "runs"]]);
    assert_eq!(run.code, Some(0), "{}", run.transcript());
    assert_eq!(runs_in(&run.stdout), 60, "20 blocks of three runs");
    assert_eq!(names(here.path()), [""; 0]);
}

#[test]
fn ctrl_c_prints_what_was_measured_and_says_how_to_go_on() {
    let here = scratch();
    let journal = here.path().join(JOURNAL);
    let mut child = start(here.path(), &[&[".", "--format", "runs"], QUICK, LONG]);
    wait_for(&mut child, &journal, "sample", 5);
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("SIGINT");
    let output = child.wait_with_output().expect("ends");
    let (stdout, stderr) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    let kept = runs_in(&stdout);
    assert!((5..60).contains(&kept), "{kept}");
    assert!(
        stderr.contains("resume with: straddle bench --resume"),
        "{stderr}"
    );
    assert_eq!(names(here.path()), [FILE, JOURNAL]);
    let run = bench(here.path(), &[&["--resume", JOURNAL, "--format", "runs"]]);
    assert_eq!(
        (run.code, runs_in(&run.stdout)),
        (Some(0), 60),
        "{}",
        run.transcript()
    );
    assert_eq!(names(here.path()), [""; 0]);
}

#[test]
fn ctrl_c_while_the_file_is_filled_leaves_nothing() {
    let here = scratch();
    let mut child = start(here.path(), &[&[".", "--size", "2G"]]);
    wait_for_file(&mut child, &here.path().join(FILE));
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("SIGINT");
    let output = child.wait_with_output().expect("ends");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("stopped while"), "{stderr}");
    assert_eq!(names(here.path()), [""; 0]);
}

#[test]
fn kept_files_are_not_taken_for_somebody_elses_nor_written_again() {
    let here = scratch();
    let run = bench(here.path(), &[&[".", "--keep"], QUICK]);
    assert_eq!(run.code, Some(0), "{}", run.transcript());
    assert_eq!(names(here.path()), [FILE, JOURNAL]);
    // A finished experiment can be printed again in another form.
    let again = bench(
        here.path(),
        &[&["--resume", JOURNAL, "--keep", "--format", "runs"]],
    );
    assert_eq!(
        (again.code, runs_in(&again.stdout)),
        (Some(0), 9),
        "{}",
        again.transcript()
    );
    fs::remove_file(here.path().join(JOURNAL)).expect("removes");
    for args in [&["."][..], &[FILE, "--rw", "write"]] {
        let run = bench(here.path(), &[args, QUICK]);
        assert_eq!(run.code, Some(2), "{}", run.transcript());
        assert!(
            run.stderr.contains("is the test file of an earlier run"),
            "{}",
            run.transcript()
        );
    }
    let before = fs::read(here.path().join(FILE)).expect("readable");
    let reads = bench(here.path(), &[&[FILE], QUICK]);
    assert_eq!(reads.code, Some(0), "{}", reads.transcript());
    let after = fs::read(here.path().join(FILE)).expect("stays: it was only read");
    assert!(before == after);
    assert_eq!(names(here.path()), [FILE]);
}

#[test]
fn a_damaged_journal_is_an_error_that_names_the_line() {
    let here = scratch();
    let run = bench(here.path(), &[&[".", "--keep"], QUICK]);
    assert_eq!(run.code, Some(0), "{}", run.transcript());
    let journal = here.path().join(JOURNAL);
    let mut bytes = fs::read(&journal).expect("readable");
    let lines = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    let fourth = lines.map(|(at, _)| at).nth(3).expect("four lines");
    bytes[fourth + 40] ^= 1;
    fs::write(&journal, &bytes).expect("writes");
    let run = bench(here.path(), &[&["--resume", JOURNAL]]);
    assert_eq!(run.code, Some(2));
    assert!(
        run.stderr.contains("line 5: found text with the CRC-32"),
        "{}",
        run.transcript()
    );
    assert_eq!(names(here.path()), [FILE, JOURNAL]);
    // Another file in place of the test file is noticed too.
    bytes[fourth + 40] ^= 1;
    fs::write(&journal, &bytes).expect("writes");
    let file = here.path().join(FILE);
    let copy = fs::read(&file).expect("readable");
    fs::rename(&file, here.path().join("aside")).expect("renames");
    fs::write(&file, copy).expect("writes");
    let run = bench(here.path(), &[&["--resume", JOURNAL]]);
    assert_eq!(run.code, Some(2));
    assert!(
        run.stderr.contains("is no longer what it was: inode"),
        "{}",
        run.transcript()
    );
    assert!(file.exists(), "it is left alone");
    // So is one that the system gave the number of the test file's inode to: the token is not in it.
    fs::write(here.path().join("aside"), "somebody else's").expect("writes");
    fs::rename(here.path().join("aside"), &file).expect("renames");
    let run = bench(here.path(), &[&["--resume", JOURNAL]]);
    assert_eq!(run.code, Some(2));
    assert!(
        run.stderr.contains("does not belong to this journal"),
        "{}",
        run.transcript()
    );
    assert_eq!(fs::read(&file).expect("readable"), b"somebody else's");
}

/// Fails by name without root: a test that is not run must not look like one that passes.
fn needs_root(test: &str) {
    assert!(
        rustix::process::geteuid().is_root(),
        "{test} needs root, for mounts and loop devices; run it with sudo, or leave it out with --skip {test}"
    );
}

/// A mount that ends with the test.
struct Mount(PathBuf);

impl Mount {
    fn new(at: &Path, args: &[&str]) -> Mount {
        tool("mount", Command::new("mount").args(args).arg(at));
        Mount(at.to_owned())
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

/// A loop device that ends with the test.
struct Loop(String);

impl Loop {
    fn new(file: &Path, args: &[&str]) -> Loop {
        let mut command = Command::new("losetup");
        command.args(["--find", "--show"]).args(args).arg(file);
        let output = tool("mount", &mut command);
        Loop(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    fn name(&self) -> &str {
        self.0.trim_start_matches("/dev/")
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.0]).status();
    }
}

fn sparse(path: &Path, len: u64) {
    let file = fs::File::create(path).expect("is made");
    file.set_len(len).expect("grows");
}

#[test]
fn a_full_or_read_only_filesystem_is_an_error_and_nothing_stays() {
    needs_root("a_full_or_read_only_filesystem_is_an_error_and_nothing_stays");
    let here = scratch();
    let small = here.path().join("small");
    fs::create_dir(&small).expect("is made");
    // 64 MiB to find a place in are not asked for where there are fewer.
    let mount = Mount::new(&small, &["-t", "tmpfs", "-o", "size=32m", "none"]);
    let run = bench(&small, &[&["."], QUICK]);
    assert_eq!(run.code, Some(0), "{}", run.transcript());
    assert_eq!(names(&small), [""; 0]);
    drop(mount);
    let mount = Mount::new(&small, &["-t", "tmpfs", "-o", "size=4m", "none"]);
    let run = bench(&small, &[&["."], QUICK]);
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("4.00 MiB left"), "{}", run.transcript());
    assert_eq!(names(&small), [""; 0]);
    tool(
        "mount",
        Command::new("mount").args(["-o", "remount,ro"]).arg(&small),
    );
    let run = bench(&small, &[&["."], QUICK]);
    assert_eq!(run.code, Some(2));
    assert!(
        run.stderr.contains("Read-only file system"),
        "{}",
        run.transcript()
    );
    drop(mount);
    assert_eq!(names(&small), [""; 0]);
}

#[test]
fn devices_are_protected_by_everything_that_is_known_about_them() {
    needs_root("devices_are_protected_by_everything_that_is_known_about_them");
    let here = scratch();
    let image = here.path().join("image");
    sparse(&image, 160 << 20);
    let disk = Loop::new(&image, &[]);
    let (path, name) = (disk.0.as_str(), disk.name().to_owned());
    let mut text = String::new();
    let mut refuse = |title: &str, args: &[&str]| {
        let run = bench(here.path(), &[args, QUICK]);
        assert_eq!(run.code, Some(2), "{args:?}: {}", run.transcript());
        let refusal = run.stderr.find("error: ").unwrap_or_default();
        text.push_str(&format!("# {title}\n{}\n", &run.stderr[refusal..]));
    };
    let consent = ["--destroy-data", path, "--yes-destroy", &name];
    let write =
        |more: &[&'static str]| -> Vec<&str> { [&consent[..], &["--rw", "write"], more].concat() };
    refuse("no consent", &[path, "--rw", "write"]);
    refuse(
        "consent for another",
        &[
            "--destroy-data",
            path,
            "--yes-destroy",
            "sdz",
            "--rw",
            "write",
        ],
    );
    tool("e2fsprogs", Command::new("mkfs.ext4").args(["-q", path]));
    refuse("a filesystem", &write(&[]));
    let point = here.path().join("point");
    fs::create_dir(&point).expect("is made");
    let mount = Mount::new(&point, &[path]);
    refuse("mounted", &write(&["--overwrite-signatures"]));
    drop(mount);
    let other = Loop::new(Path::new(path), &[]);
    let other_name = other.name().to_owned();
    refuse("a loop device on it", &write(&["--overwrite-signatures"]));
    drop(other);
    tool(
        "util-linux",
        Command::new("wipefs").args(["-q", "--all", path]),
    );
    tool("util-linux", Command::new("mkswap").args(["-q", path]));
    refuse("swap space", &write(&[]));
    tool("util-linux", Command::new("swapon").arg(path));
    let run = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        refuse("swapped on", &write(&["--overwrite-signatures"]));
    }));
    tool("util-linux", Command::new("swapoff").arg(path));
    run.expect("refused");
    let text = text
        .replace(here.path().to_str().expect("UTF-8"), "[DIR]")
        .replace(&other_name, "[OTHER]")
        .replace(&name, "[LOOP]");
    snapshot("bench-refusals-device", &text);

    // With everything agreed to, it is measured; and reading needs no consent.
    for args in [
        write(&["--overwrite-signatures"]),
        [&[path][..], &["--rw", "read"]].concat(),
    ] {
        let run = bench(here.path(), &[&args, QUICK]);
        assert_eq!(run.code, Some(0), "{args:?}: {}", run.transcript());
    }
    assert_eq!(names(here.path()), ["image", "point"]);
}

#[test]
fn a_device_of_4k_sectors_refuses_sector_63_and_names_another_offset() {
    needs_root("a_device_of_4k_sectors_refuses_sector_63_and_names_another_offset");
    let here = scratch();
    let image = here.path().join("image");
    sparse(&image, 160 << 20);
    let disk = Loop::new(&image, &["--sector-size", "4096"]);
    let run = bench(here.path(), &[&[&disk.0], QUICK]);
    assert_eq!(run.code, Some(2), "{}", run.transcript());
    let refusal = run.stderr.find("error: ").unwrap_or_default();
    snapshot(
        "bench-refusal-4kn",
        &run.stderr[refusal..].replace(&disk.0, "[LOOP]"),
    );
    let run = bench(here.path(), &[&[&disk.0], QUICK, &["--offsets", "28K,1M"]]);
    assert_eq!(run.code, Some(0), "{}", run.transcript());
}

#[test]
fn a_file_in_memory_is_labelled() {
    needs_root("a_file_in_memory_is_labelled");
    let here = scratch();
    let memory = here.path().join("memory");
    fs::create_dir(&memory).expect("is made");
    let _mount = Mount::new(&memory, &["-t", "tmpfs", "-o", "size=128m", "none"]);
    let run = bench(&memory, &[&["."], QUICK]);
    assert_eq!(run.code, Some(0), "{}", run.transcript());
    assert!(run.stdout.contains("memory"), "{}", run.transcript());
    assert_eq!(names(&memory), [""; 0]);
}

#[test]
fn a_device_is_only_written_to_again_with_consent_given_again() {
    needs_root("a_device_is_only_written_to_again_with_consent_given_again");
    let here = scratch();
    let image = here.path().join("image");
    sparse(&image, 160 << 20);
    let disk = Loop::new(&image, &[]);
    let consent = ["--destroy-data", &disk.0, "--yes-destroy", disk.name()];
    let writes = ["--rw", "write", "--format", "runs"];
    let mut child = start(here.path(), &[&consent, &writes, QUICK, LONG]);
    let journal = format!("straddle-bench-{}.journal", disk.name());
    wait_for(&mut child, &here.path().join(&journal), "sample", 4);
    // As long as it is there, nobody else gets the device. It is halted, so that it is not done before that is seen.
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::STOP).expect("SIGSTOP");
    let other = bench(
        here.path(),
        &[&consent, &writes, QUICK, &["--journal", "other"]],
    );
    assert_eq!(other.code, Some(2), "{}", other.transcript());
    assert!(other.stderr.contains("is in use"), "{}", other.transcript());
    child.kill().expect("SIGKILL");
    child.wait().expect("ends");
    let run = bench(here.path(), &[&["--resume", &journal]]);
    assert_eq!(run.code, Some(2), "{}", run.transcript());
    assert!(
        run.stderr.contains("if it may be lost, add --destroy-data"),
        "{}",
        run.transcript()
    );
    let run = bench(
        here.path(),
        &[&["--resume", &journal, "--format", "runs"], &consent],
    );
    assert_eq!(run.code, Some(0), "{}", run.transcript());
    assert_eq!(runs_in(&run.stdout), 60);
    assert_eq!(names(here.path()), ["image"]);
}

/// A filesystem of 300 MiB on a sparse image, in 40 MiB of memory.
fn promising(here: &Path) -> (PathBuf, [Mount; 2]) {
    let (small, point) = (here.join("small"), here.join("point"));
    fs::create_dir(&small).expect("is made");
    fs::create_dir(&point).expect("is made");
    let memory = Mount::new(&small, &["-t", "tmpfs", "-o", "size=40m", "none"]);
    let image = small.join("image");
    sparse(&image, 300 << 20);
    tool("e2fsprogs", Command::new("mkfs.ext4").arg("-q").arg(&image));
    let image = image.to_str().expect("UTF-8");
    let mount = Mount::new(&point, &["-o", "loop", image]);
    (point, [mount, memory])
}

#[test]
fn a_disk_that_cannot_hold_what_it_promised_ends_the_filling() {
    needs_root("a_disk_that_cannot_hold_what_it_promised_ends_the_filling");
    let here = scratch();
    // The kernel tells of it as any of these, by what it noticed first.
    let known = [
        "No space left on device",
        "Input/output error",
        "Read-only file system",
    ];
    let (point, _mounts) = promising(here.path());
    let run = bench(&point, &[&["."], QUICK]);
    assert_eq!(run.code, Some(2), "{}", run.transcript());
    assert_eq!(run.stdout, "", "nothing was measured");
    assert!(
        known.iter().any(|error| run.stderr.contains(error)),
        "{}",
        run.transcript()
    );
}

/// A filesystem that fails turns read-only, so that its files cannot be removed either: here names can only be added.
#[test]
fn what_went_wrong_is_said_before_what_cannot_be_removed() {
    needs_root("what_went_wrong_is_said_before_what_cannot_be_removed");
    let here = scratch();
    let (point, _mounts) = promising(here.path());
    tool("e2fsprogs", Command::new("chattr").arg("+a").arg(&point));
    let run = bench(&point, &[&["."], QUICK]);
    assert_eq!(run.code, Some(2), "{}", run.transcript());
    // Or as an error of the device, by what the kernel noticed first.
    let stderr = run.stderr.replace("cannot fill", "does not fit");
    let said: Vec<usize> = [
        "does not fit",
        "straddle-bench.dat is not removed",
        "the journal ",
    ]
    .into_iter()
    .map(|part| {
        stderr
            .find(part)
            .unwrap_or_else(|| panic!("{part}: {}", run.transcript()))
    })
    .collect();
    assert!(said.is_sorted(), "{}", run.transcript());
    let left = |name: &str| assert!(point.join(name).exists(), "{name}");
    left("straddle-bench.dat");
    left("straddle-bench.dat.journal");
}
