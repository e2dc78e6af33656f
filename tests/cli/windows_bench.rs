//! `straddle bench`, `sqlio` and `diskspd` of the Windows build, run by Wine on files: what requests do, read from outside, and that
//! nothing of anybody's is touched.

use crate::support::wine::{compiled, straddle, straddle_exe, straddle_in, wine};
use crate::support::{Run, scratch};
use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

const FILE: &str = "straddle-bench.dat";
const JOURNAL: &str = "straddle-bench.dat.journal";
const SECTOR: usize = 512;

/// A run of a few seconds, in which many requests are under way.
fn bench(more: &str) -> Vec<String> {
    let line = format!(
        "bench . --size 8M --rw write,50/50 --io 4K --outstanding 8 --offsets 0,512B --blocks 3-3 --seed 7 {more}"
    );
    line.split_whitespace().map(str::to_owned).collect()
}

fn run(directory: &Path, more: &str) -> Run {
    let line = bench(more);
    let words: Vec<&str> = line.iter().map(String::as_str).collect();
    straddle(directory, &words)
}

/// A sector that was written with a stamp: how often, if it is where it says and what it says.
fn generation(sector: &[u8], at: usize) -> Option<u64> {
    let number = |from: usize| {
        let bytes = sector[from..from + 8].try_into().expect("8 bytes");
        u64::from_le_bytes(bytes)
    };
    if &sector[..8] != b"STRADDLE" {
        return None;
    }
    assert_eq!(number(8), at as u64, "the address in the sector at {at}");
    let mut sum = crc32fast::Hasher::new();
    sum.update(&sector[..32]);
    sum.update(&sector[36..]);
    assert_eq!(
        sector[32..36],
        sum.finalize().to_le_bytes(),
        "sector at {at}"
    );
    Some(number(24))
}

#[test]
fn every_request_is_where_it_says_to_a_reader_outside() {
    for engine in ["overlapped", "pread"] {
        let here = scratch();
        let more = format!("--runtime 300ms --warm-up 50ms --verify --keep --engine {engine}");
        let run = run(here.path(), &more);
        assert_eq!(run.code, Some(0), "{}", run.transcript());
        let said = run.stderr.split("verified: ").nth(1);
        let said = said.and_then(|said| said.split_whitespace().next());
        let said = said.map(|said| said.replace(',', ""));
        let written: u64 = said.and_then(|said| said.parse().ok()).expect("said");
        let bytes = fs::read(here.path().join(FILE)).expect("kept");
        let sectors = bytes.chunks_exact(SECTOR).enumerate();
        let generations = sectors.filter_map(|(n, sector)| generation(sector, n * SECTOR));
        // Each write counts its sectors up by one: what is in the file is the sum of all that were made, no more and no less.
        let (touched, sum) = generations.fold((0, 0), |(n, sum), one| (n + 1, sum + one));
        assert!(
            touched > 1000 && written > 8 * 1000,
            "{engine}: {touched}, {written}"
        );
        assert_eq!(sum, written, "{engine}");
    }
}

/// Starts a run that is long enough to be interfered with, and waits until some of it is in the journal.
fn started(directory: &Path) -> Child {
    let child = straddle_in(directory)
        .args(bench("--runtime 400ms --warm-up 50ms"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("wine");
    until_samples(directory);
    child
}

/// Waits until a few runs are in the journal.
fn until_samples(directory: &Path) {
    let begun = Instant::now();
    let samples = || {
        let journal = fs::read_to_string(directory.join(JOURNAL));
        journal.unwrap_or_default().matches("{\"sample\":").count()
    };
    while samples() < 4 {
        assert!(
            begun.elapsed() < Duration::from_secs(120),
            "no run was made"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn ended(child: Child) -> Run {
    let output = child.wait_with_output().expect("it runs");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).replace("\r\n", "\n");
    Run {
        code: output.status.code(),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("readable");
    let name = |entry: std::io::Result<fs::DirEntry>| entry.expect("readable").file_name();
    let mut names: Vec<String> = entries
        .map(|entry| name(entry).to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn strangers_can_only_read_while_a_run_goes_on() {
    straddle_exe();
    let stranger = compiled("tests/cli/windows_bench/stranger.c", "stranger.exe");
    let here = scratch();
    let child = started(here.path());
    for name in [FILE, JOURNAL] {
        let output = wine()
            .arg(&stranger)
            .arg(name)
            .current_dir(here.path())
            .output();
        let output = output.expect("wine").stdout;
        let said = String::from_utf8_lossy(&output).replace("\r\n", "\n");
        // Sharing violation is 32, access denied 5.
        let expected = "read 0\nwrite 32\nopen to delete 32\nreplace 5\nrename 32\ndelete 32\n";
        assert_eq!(said, expected, "{name}");
    }
    let second = run(here.path(), "--runtime 50ms --warm-up 0s");
    assert_eq!(second.code, Some(2), "{}", second.transcript());
    assert!(second.stderr.contains("in use"), "{}", second.stderr);
    let run = ended(child);
    assert_eq!(run.code, Some(0), "{}", run.transcript());
    assert_eq!(names(here.path()), [""; 0]);
}

#[test]
fn a_run_that_is_killed_is_gone_on_with_and_swapped_files_are_left_alone() {
    straddle_exe();
    let here = scratch();
    let (file, journal) = (here.path().join(FILE), here.path().join(JOURNAL));
    let mut child = started(here.path());
    child.kill().expect("runs");
    child.wait().expect("is gone");
    let resume = || straddle(here.path(), &["bench", "--resume", JOURNAL]);
    let refused = |what: &str, path: &Path, aside: &Path, expected: &str| {
        let before = [path, aside].map(|path| fs::read(path).expect("there"));
        let run = resume();
        assert_eq!(run.code, Some(2), "{what}\n{}", run.transcript());
        assert!(run.stderr.contains(expected), "{what}\n{}", run.stderr);
        let after = [path, aside].map(|path| fs::read(path).expect("there still"));
        assert!(before == after, "{what}: bytes were changed");
    };
    let aside = here.path().join("aside");

    // A stranger's file of the same length; a copy, which has the token; the file itself without it.
    let bytes = fs::read(&file).expect("kept");
    fs::rename(&file, &aside).expect("renames");
    fs::write(&file, vec![b's'; bytes.len()]).expect("writes");
    refused("another file", &file, &aside, "no longer what it was");
    fs::write(&file, &bytes).expect("writes");
    refused("a copy", &file, &aside, "no longer what it was");
    fs::rename(&aside, &file).expect("renames");
    let label = bytes.len() - 4096;
    let mut other = bytes.clone();
    other[label..].fill(b's');
    fs::write(&file, &other).expect("writes");
    fs::write(&aside, "").expect("writes");
    refused("without its label", &file, &aside, "no longer what it was");
    fs::write(&file, &bytes).expect("writes");

    // A stranger's text for the journal, and the journal of another experiment.
    fs::rename(&journal, &aside).expect("renames");
    fs::write(&journal, "Dear diary\n").expect("writes");
    refused("a diary", &journal, &aside, "journal");
    let null = "bench x --engine null --journal straddle-bench.dat.journal --keep --size 1M \
                --offsets 0,4K --runtime 1ms --warm-up 0s --blocks 3-3 -q";
    fs::remove_file(&journal).expect("removes");
    let words: Vec<&str> = null.split_whitespace().collect();
    let made = straddle(here.path(), &words);
    // Whether so short an experiment proves anything is chance; that it finished is not.
    assert!(matches!(made.code, Some(0 | 1)), "{}", made.transcript());
    let mut lines = fs::read_to_string(&journal).expect("kept");
    let ours = fs::read_to_string(&aside).expect("kept");
    // Its first line is what the file's label is compared with.
    let (_, rest) = ours.split_once('\n').expect("lines");
    lines.truncate(lines.find('\n').expect("lines") + 1);
    fs::write(&journal, lines + rest).expect("writes");
    refused("another's header", &journal, &aside, "");
    assert!(fs::read(&file).expect("kept") == bytes);
    fs::rename(&aside, &journal).expect("renames");

    let run = resume();
    assert_eq!(run.code, Some(0), "{}", run.transcript());
    let kept = run
        .stderr
        .split(" runs are kept")
        .next()
        .and_then(|text| text.rsplit(' ').next());
    let kept: u32 = kept.and_then(|kept| kept.parse().ok()).expect("said");
    assert!(kept >= 3, "{}", run.stderr);
    assert_eq!(names(here.path()), [""; 0]);
}

#[test]
fn what_takes_the_name_during_a_run_is_not_removed() {
    straddle_exe();
    let here = scratch();
    let child = started(here.path());
    // Windows does not let anybody do that; a disk that is swapped, or a host that shares a folder, may.
    for name in [FILE, JOURNAL] {
        let path = here.path().join(name);
        fs::rename(&path, here.path().join(format!("{name}.aside"))).expect("renames");
        fs::write(&path, "a stranger's").expect("writes");
    }
    let run = ended(child);
    assert_eq!(run.code, Some(2), "{}", run.transcript());
    for name in [FILE, JOURNAL] {
        let bytes = fs::read(here.path().join(name)).expect("still there");
        assert_eq!(bytes, b"a stranger's", "{name}");
        assert!(
            run.stderr.contains("another file has that name now"),
            "{}",
            run.stderr
        );
    }
}

#[test]
fn lines_of_sqlio_and_diskspd_run() {
    let here = scratch();
    let ok = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let run = straddle(here.path(), &words);
        assert_eq!(run.code, Some(0), "{line}\n{}", run.transcript());
        run.stdout
    };
    let parameters = "testfile.dat 2 0x0 4\r\nsecond.dat 1 0x0 2\r\n";
    fs::write(here.path().join("param.txt"), parameters).expect("writes");
    for _ in 0..2 {
        let report = ok("sqlio -kW -s1 -frandom -o8 -b8 -LS -BN -Fparam.txt");
        assert!(report.starts_with("sqlio v1.5.SG\n"), "{report}");
        assert!(report.contains("3 threads writing for 1 secs"), "{report}");
    }
    let len = |name: &str| fs::metadata(here.path().join(name)).expect("kept").len();
    assert_eq!(len("testfile.dat"), (4 << 20) + 4096);
    let report = ok("diskspd -b8K -d1 -W0 -o4 -t2 -r -w50 -Sh -L -c4M io.dat");
    assert!(report.contains("io.dat (4096KiB)"), "{report}");
    // Whoever writes to it makes it his own.
    let path = here.path().join("io.dat");
    fs::write(&path, vec![b'x'; 4 << 20]).expect("writes");
    let run = straddle(
        here.path(),
        &["diskspd", "-b8K", "-d1", "-W0", "-w50", "io.dat"],
    );
    assert_eq!(run.code, Some(2), "{}", run.transcript());
    assert!(
        fs::read(&path)
            .expect("kept")
            .iter()
            .all(|byte| *byte == b'x')
    );
}

#[test]
fn a_disk_is_no_place_for_a_file_and_needs_consent_twice() {
    let here = scratch();
    let disk = r"\\.\PhysicalDrive7";
    let bench = |more: &str| {
        let line = format!("bench --size 8M --rw write --offsets 0,4K --blocks 3-3 {more}");
        let words: Vec<&str> = line.split_whitespace().collect();
        straddle(here.path(), &words)
    };
    let twice = format!("--destroy-data {disk} --yes-destroy PhysicalDrive7");
    let other = format!("--destroy-data {disk} --yes-destroy PhysicalDrive1");
    for (more, expected) in [
        (
            disk,
            r"--destroy-data \\.\PhysicalDrive7 --yes-destroy PhysicalDrive7",
        ),
        (&other, "is called `PhysicalDrive7`; nothing was written"),
        // Both were said, and there is no such disk.
        (&twice, "cannot open"),
        ("--destroy-data D: --yes-destroy D:", "is no block device"),
    ] {
        let run = bench(more);
        assert_eq!(run.code, Some(2), "{more}\n{}", run.transcript());
        assert!(run.stderr.contains(expected), "{more}\n{}", run.stderr);
    }
    let run = straddle(
        here.path(),
        &["diskspd", "-b8K", "-d1", "-w50", "-c1M", disk],
    );
    assert_eq!(run.code, Some(2), "{}", run.transcript());
    assert_eq!(names(here.path()), [""; 0]);
}

#[test]
fn writes_are_written_through_and_what_only_linux_knows_is_refused() {
    let here = scratch();
    let short = "--runtime 100ms --warm-up 20ms";
    let written = run(here.path(), &format!("{short} --write-through"));
    assert_eq!(written.code, Some(0), "{}", written.transcript());
    let said = "as far as the device does that (FILE_FLAG_WRITE_THROUGH)";
    assert!(
        written.stdout.contains(said) && !written.stdout.contains("O_DSYNC"),
        "{}",
        written.stdout
    );
    for (flag, expected) in [
        ("--fua", "expected --write-through"),
        ("--atomic", "--atomic is known on Linux only"),
        ("--polled", "--polled is known on Linux only"),
    ] {
        let run = run(here.path(), &format!("{short} {flag}"));
        assert_eq!(run.code, Some(2), "{flag}\n{}", run.transcript());
        assert!(run.stderr.contains(expected), "{flag}\n{}", run.stderr);
        assert_eq!(names(here.path()), [""; 0], "{flag}");
    }
}

/// Wine answers from the counters of the machine below.
#[test]
fn processor_time_is_that_of_the_run() {
    let here = scratch();
    let run = run(here.path(), "--runtime 400ms --warm-up 50ms --json");
    assert_eq!(run.code, Some(0), "{}", run.transcript());
    let document: serde_json::Value = serde_json::from_str(&run.stdout).expect("JSON");
    let runs = document["samples"].as_array().expect("runs");
    let number = |run: &serde_json::Value, name: &str| run[name].as_f64().expect("a number");
    assert!(runs.len() > 6);
    let processors = std::thread::available_parallelism().expect("known");
    let processors = u32::try_from(processors.get()).expect("few");
    for run in runs {
        let used = number(run, "processor_seconds");
        // One thread makes the requests, another looks on. The end of a tick may fall into the run.
        let most = number(run, "took_seconds") * f64::from(processors.min(2)) + 0.05;
        assert!(used > 0.0 && used <= most, "{used} of {most}");
    }
    let line = "diskspd -b8K -d1 -W0 -o4 -t2 -r -w50 -Sh -L -c4M io.dat";
    let words: Vec<&str> = line.split_whitespace().collect();
    let report = straddle(here.path(), &words).stdout;
    // CPU |  Usage |  User  |  Kernel |  Idle
    let average = report.lines().find_map(|line| line.strip_prefix("avg.|"));
    let shares: Vec<f64> = average
        .expect("a line of averages")
        .split('|')
        .map(|share| share.trim().trim_end_matches('%').parse().expect("percent"))
        .collect();
    let &[usage, user, kernel, idle] = shares.as_slice() else {
        panic!("{report}");
    };
    assert!(
        usage > 0.0 && (user + kernel - usage).abs() < 0.02,
        "{report}"
    );
    assert!((usage + idle - 100.0).abs() < 0.02, "{report}");
}

#[test]
fn ctrl_c_ends_a_run_in_order_and_it_can_be_resumed() {
    use std::io::Write;
    straddle_exe();
    let here = scratch();
    let words = bench("--runtime 400ms --warm-up 50ms").join(" ");
    // A console is what Wine makes of a terminal.
    let mut terminal = wine_in_terminal(&words, here.path());
    let mut keys = terminal.stdin.take().expect("piped");
    until_samples(here.path());
    keys.write_all(b"\x03").expect("typed");
    keys.flush().expect("typed");
    let status = terminal.wait().expect("ends");
    assert_eq!(status.code(), Some(2), "it was not finished");
    assert_eq!(names(here.path()), [FILE, JOURNAL], "both are kept");
    let run = straddle(here.path(), &["bench", "--resume", JOURNAL]);
    assert_eq!(run.code, Some(0), "{}", run.transcript());
    assert_eq!(names(here.path()), [""; 0]);
}

/// `straddle.exe` with a terminal in front of it; the status is that of the program.
fn wine_in_terminal(words: &str, directory: &Path) -> Child {
    let wine = wine();
    let mut script = std::process::Command::new("script");
    for (name, value) in wine.get_envs() {
        match value {
            Some(value) => script.env(name, value),
            None => script.env_remove(name),
        };
    }
    // The shell gives way to the program: Ctrl-C would end one that waits, with a status of its own.
    let line = format!("exec wine '{}' {words}", straddle_exe().display());
    script
        .args(["-qec", &line, "/dev/null"])
        .env("SHELL", "/bin/sh")
        .current_dir(directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("this test needs `script` of the Debian package bsdutils")
}
