//! `straddle sqlio` and `straddle diskspd` as scripts call them: real runs on small files, their reports, and what is never
//! written to.

use crate::support::{Run, scratch, straddle};
use std::fs;
use std::path::Path;

/// Runs a command line as it is written in a script.
fn run(directory: &Path, line: &str) -> Run {
    let words: Vec<&str> = line.split_whitespace().collect();
    straddle(directory, &words)
}

fn ok(directory: &Path, line: &str) -> Run {
    let run = run(directory, line);
    assert_eq!(run.code, Some(0), "{line}\n{}", run.transcript());
    run
}

/// The number behind a name at the beginning of a line.
fn value(report: &str, name: &str) -> f64 {
    let line = report.lines().find_map(|line| line.strip_prefix(name));
    let value = line.and_then(|rest| rest.split_whitespace().next());
    let value = value.and_then(|value| value.trim_end_matches('s').parse().ok());
    value.unwrap_or_else(|| panic!("no `{name}` in {report}"))
}

#[test]
fn sqlio_with_a_parameter_file() {
    let here = scratch();
    let parameters = "testfile.dat 2 0x0 4\n#other.dat 2 0x0 4\nsecond.dat 1 0x0 2\n";
    fs::write(here.path().join("param.txt"), parameters).expect("writable");
    let line = "sqlio -kR -s1 -frandom -o8 -b8 -LS -Fparam.txt";
    let report = ok(here.path(), line).stdout;
    let lines: Vec<&str> = report.lines().collect();
    assert_eq!(lines[0], "sqlio v1.5.SG");
    assert!(lines[1].starts_with("straddle ") && lines[1].ends_with(" in place of SQLIO"));
    for expected in [
        "parameter file used: param.txt",
        "\tfile testfile.dat with 2 threads (0-1) using mask 0x0 (0)",
        "\tfile second.dat with 1 thread (2-2) using mask 0x0 (0)",
        "3 threads reading for 1 secs from files testfile.dat and second.dat",
        "\tusing 8KB random IOs",
        "\tenabling multiple I/Os per thread with 8 outstanding",
        "using specified size: 4 MB for file: testfile.dat",
        "initialization done",
        "CUMULATIVE DATA:",
        "ms: 0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24+",
    ] {
        assert!(lines.contains(&expected), "{expected}\n{report}");
    }
    let (requests, megabytes) = (value(&report, "IOs/sec:"), value(&report, "MBs/sec:"));
    assert!(requests > 0.0);
    assert!(
        (megabytes - requests * 8192.0 / 1_048_576.0).abs() < 0.01,
        "{report}"
    );
    assert!(value(&report, "Min_Latency(ms):") <= value(&report, "Avg_Latency(ms):"));
    assert!(value(&report, "Avg_Latency(ms):") <= value(&report, "Max_Latency(ms):"));
    // The files stay, with a page behind their data that says whose they are, and the next run takes them as they are.
    let size = |name: &str| fs::metadata(here.path().join(name)).expect("kept").len();
    assert_eq!(
        (size("testfile.dat"), size("second.dat")),
        ((4 << 20) + 4096, (2 << 20) + 4096)
    );
    let again = ok(here.path(), line).stdout;
    assert!(!again.contains("need to expand"), "{again}");
    assert!(
        report.contains("need to expand by:\t4194304 bytes"),
        "{report}"
    );
}

#[test]
fn sqlio_writes_again_to_the_file_that_it_made() {
    let here = scratch();
    let path = here.path().join("testfile.dat");
    // No name and no size: SQLIO's own file, as long as its defaults reach.
    let made = ok(
        here.path(),
        "sqlio -kW -s1 -fsequential -o4 -b64 -t2 -BH -LS",
    );
    assert_eq!(
        fs::metadata(&path).expect("kept").len(),
        (8 << 20) + 4096,
        "{}",
        made.transcript()
    );
    let before = fs::read(&path).expect("readable");
    // In a second a busy disk may complete nothing.
    let written = |seconds: u32| {
        let line = format!("sqlio -kW -s{seconds} -frandom -b4 testfile.dat");
        ok(here.path(), &line).stdout
    };
    let mut reports = [1, 10, 60].into_iter().map(written);
    let report = reports
        .find(|report| value(report, "IOs/sec:") > 0.0)
        .expect("a minute is enough for a write");
    assert!(!report.contains("latency metrics"), "no -L: {report}");
    let after = fs::read(&path).expect("readable");
    assert_eq!(before.len(), after.len());
    assert!(before != after, "it was written to");
    // Somebody puts something else there: it is no longer ours.
    fs::write(&path, vec![b'x'; 8 << 20]).expect("writable");
    let refused = run(here.path(), "sqlio -kW -s1 -frandom -b4 testfile.dat");
    assert_eq!(refused.code, Some(2), "{}", refused.transcript());
    assert!(
        refused.stderr.contains("was not made by straddle"),
        "{}",
        refused.stderr
    );
    assert!(
        fs::read(&path)
            .expect("readable")
            .iter()
            .all(|byte| *byte == b'x')
    );
}

#[test]
fn a_file_that_is_named_twice_is_measured_on_twice() {
    let here = scratch();
    let report = ok(
        here.path(),
        "diskspd -d1 -W0 -w100 -c1M same.dat ./same.dat",
    )
    .stdout;
    assert_eq!(report.matches("same.dat (1024KiB)").count(), 6, "{report}");
    let again = ok(here.path(), "diskspd -d1 -W0 -w100 -c1M same.dat");
    assert!(!again.stderr.contains("making"), "{}", again.transcript());
}

/// The file of somebody else: read, never written to, never made longer.
#[test]
fn files_of_others_are_only_read() {
    let here = scratch();
    let path = here.path().join("payroll.mdf");
    let content: Vec<u8> = (0..1_u32 << 18).flat_map(u32::to_le_bytes).collect();
    fs::write(&path, &content).expect("writable");
    fs::write(here.path().join("longer.txt"), "payroll.mdf 1 0x0 2\n").expect("writable");
    for line in [
        "sqlio -kW -s1 -frandom -b8 payroll.mdf",
        "sqlio -kR -s1 -frandom -b8 -Flonger.txt",
        "diskspd -d1 -W0 -w1 payroll.mdf",
        "diskspd -d1 -W0 -w100 -c1M payroll.mdf",
        "diskspd -d1 -W0 -c2M payroll.mdf",
    ] {
        let refused = run(here.path(), line);
        assert_eq!(refused.code, Some(2), "{line}\n{}", refused.transcript());
        assert!(
            refused.stderr.contains("was not made by straddle"),
            "{line}\n{}",
            refused.stderr
        );
        assert_eq!(fs::read(&path).expect("readable"), content, "{line}");
    }
    for line in [
        "sqlio -kR -s1 -frandom -b8 -BY payroll.mdf",
        "diskspd -d1 -W0 -b8K -r payroll.mdf",
    ] {
        ok(here.path(), line);
        assert_eq!(fs::read(&path).expect("readable"), content, "{line}");
    }
}

#[test]
fn diskspd_has_a_row_for_each_thread() {
    let here = scratch();
    let line = "diskspd -b8K -d1 -W0 -o4 -t3 -h -r -w25 -L -Z1M -c8M iotest.dat";
    let report = ok(here.path(), line).stdout;
    assert_eq!(
        report.lines().nth(1),
        Some(format!("Command Line: {line}").as_str())
    );
    assert_eq!(value(&report, "actual test time:") as u64, 1);
    assert_eq!(value(&report, "thread count:") as u64, 3);
    let mut totals = Vec::new();
    for title in ["\nTotal IO\n", "\nRead IO\n", "\nWrite IO\n"] {
        let (_, table) = report.split_once(title).expect(title);
        let figures = |line: &str| -> Vec<f64> {
            let (_, rest) = line.split_once(['|', ':']).expect(line);
            let cells = rest.split('|').filter_map(|cell| cell.trim().parse().ok());
            cells.collect()
        };
        let rows: Vec<Vec<f64>> = table.lines().skip(2).take(3).map(figures).collect();
        let total = table.lines().find(|line| line.starts_with("total:"));
        let total = figures(total.expect(title));
        // Bytes and requests of the threads add up to the total; each had some.
        for column in [0, 1] {
            let sum: f64 = rows.iter().map(|row| row[column]).sum();
            assert!((sum - total[column]).abs() < 0.5, "{title}\n{report}");
            assert!(
                rows.iter().all(|row| row[column] > 0.0),
                "{title}\n{report}"
            );
        }
        assert!(
            (total[0] - total[1] * 8192.0).abs() < 0.5,
            "{title}\n{report}"
        );
        totals.push(total[1]);
    }
    assert!((totals[0] - totals[1] - totals[2]).abs() < 0.5);
    let writes = totals[2] / totals[0];
    assert!((0.15..0.35).contains(&writes), "a quarter writes: {writes}");
    assert!(report.contains("\ntotal:\n  %-ile |  Read (ms) | Write (ms) | Total (ms)\n"));
    assert!(report.ends_with('\n') && report.contains("\n    max | "));
}

#[test]
fn what_is_not_done_is_refused_before_anything_is_made() {
    let here = scratch();
    fs::write(here.path().join("mask.txt"), "x.dat 2 0xf 4\n").expect("writable");
    for (line, what) in [
        ("sqlio -kW -s1 -frandom -a0xf x.dat", "`-a0xf`"),
        (
            "sqlio -kW -s1 -frandom -Fmask.txt",
            "line 1 of the parameter file: mask `0xf`",
        ),
        ("sqlio -kW -s1 -frandom -Fnone.txt", "reading none.txt"),
        ("sqlio -kW -s1 -dE x.dat", "`-dE`"),
        ("sqlio -kW -s1 -frandom E:", "`E:`"),
        ("diskspd -d1 -Rcsv -c1M x.dat", "`-Rcsv`"),
        ("diskspd -d1 -c1M #1", "`#1`"),
        ("diskspd -d1 x.dat", "x.dat does not exist"),
    ] {
        let refused = run(here.path(), line);
        assert_eq!(refused.code, Some(2), "{line}\n{}", refused.transcript());
        assert!(refused.stderr.contains(what), "{line}\n{}", refused.stderr);
        assert_eq!(refused.stdout, "", "{line}");
        assert!(!here.path().join("x.dat").exists(), "{line}");
    }
    if cfg!(unix) {
        let refused = run(here.path(), r"sqlio -kW -s1 -frandom C:\testfile.dat");
        assert!(
            refused.stderr.contains("a path of Windows"),
            "{}",
            refused.stderr
        );
    }
}

/// A run that is broken off leaves a file that the next run knows.
#[test]
#[cfg(unix)]
fn ctrl_c_leaves_a_file_that_can_be_used_again() {
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};
    let here = scratch();
    let made = ok(here.path(), "sqlio -kW -s1 -frandom -b4 x.dat");
    if made.stderr.contains("extended attributes") {
        return;
    }
    let mut child = Command::new(env!("CARGO_BIN_EXE_straddle"))
        .env("STRADDLE_HISTORY", "none")
        .args(["sqlio", "-kW", "-s600", "-frandom", "-b4", "x.dat"])
        .current_dir(here.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("straddle runs");
    let modified = || {
        let metadata = fs::metadata(here.path().join("x.dat"));
        metadata
            .and_then(|metadata| metadata.modified())
            .expect("a time")
    };
    let (before, began) = (modified(), Instant::now());
    while modified() == before && began.elapsed() < Duration::from_secs(120) {
        std::thread::sleep(Duration::from_millis(20));
    }
    let pid = child.id().to_string();
    let killed = Command::new("kill").args(["-INT", &pid]).status();
    assert!(killed.is_ok_and(|status| status.success()));
    let status = child.wait().expect("it ends");
    assert_eq!(status.code(), Some(2));
    assert!(
        began.elapsed() < Duration::from_secs(300),
        "it was broken off"
    );
    ok(here.path(), "sqlio -kW -s1 -frandom -b4 x.dat");
}

/// "Upon ctrl-C, stops the initiation of new I/Os, waits for the completion of any I/Os in progress, and then prints all the
/// normal end of execution output" (SQLIO's documentation).
#[cfg(unix)]
#[test]
fn ctrl_c_prints_what_was_measured() {
    use std::process::{Command, Stdio};
    let here = scratch();
    for (line, rate, head) in [
        (
            "sqlio -kR -s600 -f8 -i8 -o4 -b8 -t2 -LS test.dat",
            "IOs/sec:",
            "over 64KB stripes with 8 IOs per run",
        ),
        (
            "diskspd -b8K -d600 -W0 -o4 -t2 -s64K -L -c4M disk.dat",
            "actual test time:",
            "using sequential I/O (stride: 65536)",
        ),
    ] {
        let child = Command::new(env!("CARGO_BIN_EXE_straddle"))
            .env("STRADDLE_HISTORY", "none")
            .args(line.split(' '))
            .current_dir(here.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        // The trial of engines takes less than a second, and on a busy machine a few.
        std::thread::sleep(std::time::Duration::from_secs(5));
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("it runs");
        let output = child.wait_with_output().expect("it ends");
        let (report, said) = (
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
        );
        assert_eq!(output.status.code(), Some(2), "{line}\n{report}{said}");
        assert!(report.contains(head), "{report}");
        let figure = value(&report, rate);
        assert!(
            figure > 0.0 && (figure < 100.0 || rate == "IOs/sec:"),
            "{report}"
        );
        assert!(said.contains("stopped; the report is about the"), "{said}");
        // The file is still known for one of ours.
        let again = line.replace("-s600", "-s1").replace("-d600", "-d1");
        let again = again.replace("-kR", "-kW").replace("-L ", "-w100 ");
        ok(here.path(), &again);
    }
}
