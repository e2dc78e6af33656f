//! Readers and rules are linear in their input: four times the text takes at most five times the instructions.
//!
//! Instructions are counted by cachegrind (Debian: valgrind), not timed: they are the same on a busy machine. Captures of several readers
//! and the forged texts are grown to 120 kB and to 480 kB; to 1 MB and to 4 MB where that is more lines than are read, and with
//! `STRADDLE_SOAK=1` every capture of the corpus, where 4 MB have to be read in less than 2 s of processor time, too. Counted and timed is
//! the release build: what a line costs whatever stands above it is least there, and what it costs more with each line is seen soonest.

#![expect(
    clippy::print_stderr,
    reason = "the figures are for whoever reads the log of a soak"
)]

use crate::support::{repository, shipped};
use std::fs;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Most that four times as long a text may cost.
const MAX: f64 = 5.0;
/// What is checked, and how.
const TEXT: &str = "capture.txt";
const CHECK: [&str; 4] = ["check", "--as", "text", TEXT];
/// Lengths of the two texts, in bytes, and in a soak.
const SIZES: [usize; 2] = [120_000, 480_000];
const SIZES_IN_SOAK: [usize; 2] = [1_000_000, 4_000_000];
/// Longest rows that repeat are looked for up to this many lines.
const PERIOD: usize = 40;
/// In a soak, most processor time for 4 MB.
const SECONDS: Duration = Duration::from_secs(2);
/// The longest report on 4 MB, in bytes.
const MAX_LEN: usize = 16_000_000;

fn files_below(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("readable") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            files_below(&path, files);
        } else if path.extension().is_none_or(|extension| extension != "snap") {
            files.push(path);
        }
    }
    files.sort();
}

/// A capture as text, whatever it is written in.
fn text_of(path: &Path) -> String {
    let bytes = fs::read(path).expect("readable");
    match bytes.as_slice() {
        [0xff, 0xfe, rest @ ..] => {
            let (units, _) = rest.as_chunks::<2>();
            let units: Vec<u16> = units.iter().map(|unit| u16::from_le_bytes(*unit)).collect();
            String::from_utf16_lossy(&units)
        }
        bytes => String::from_utf8_lossy(bytes).into_owned(),
    }
}

/// What a line looks like: its words and numbers alike.
fn shape(line: &str) -> String {
    let mut out = String::new();
    for c in line.chars() {
        let class = match c {
            c if c.is_ascii_digit() => '0',
            c if c.is_alphabetic() => 'a',
            c if c.is_whitespace() => ' ',
            c => c,
        };
        if !out.ends_with(class) || !matches!(class, '0' | 'a' | ' ') {
            out.push(class);
        }
    }
    out
}

/// Where the rows of data are: the longest run of lines that look alike in turns of so many; all but the first line where
/// none do.
fn rows(lines: &[&str]) -> (usize, usize) {
    let shapes: Vec<String> = lines.iter().map(|line| shape(line)).collect();
    let mut best = (
        0,
        usize::from(lines.len() > 1),
        lines.len().saturating_sub(1).max(1),
    );
    for period in 1..=PERIOD.min(lines.len() / 2) {
        let mut at = 0;
        while at + period < lines.len() {
            let alike = (at..lines.len() - period).take_while(|i| shapes[*i] == shapes[i + period]);
            let run = alike.count();
            let is_text = lines[at..at + period]
                .iter()
                .any(|line| !line.trim().is_empty());
            if run >= period && is_text && run > best.0 {
                best = (run, at, period);
            }
            at += run.max(1);
        }
    }
    (best.1, best.2)
}

/// `text` with its rows repeated in place up to `size` bytes; their first number is counted on when `counted`.
fn grown(text: &str, size: usize, counted: bool) -> String {
    let broken;
    let text = if text.lines().count() < 3 {
        // JSON in one line.
        broken = text.replace("},", "},\n").replace('[', "[\n");
        &broken
    } else {
        text
    };
    let lines: Vec<&str> = text.lines().collect();
    let (at, count) = rows(&lines);
    let end = (at + count).min(lines.len());
    let mut out = lines[..end].join("\n") + "\n";
    let rest: usize = lines[end..].iter().map(|line| line.len() + 1).sum();
    let mut number = 0_u64;
    while out.len() + rest < size {
        number += 1;
        for line in &lines[at..end] {
            let digits = line.find(|c: char| c.is_ascii_digit()).filter(|_| counted);
            match digits {
                Some(first) => {
                    let len = line[first..].bytes().take_while(u8::is_ascii_digit).count();
                    let value: u64 = line[first..first + len].parse().unwrap_or(0);
                    let value = value.wrapping_add(number) % 1_000_000;
                    out += &format!("{}{value}{}\n", &line[..first], &line[first + len..]);
                }
                None => out += &format!("{line}\n"),
            }
        }
    }
    out + &lines[end..].join("\n") + "\n"
}

/// One check: how much it reported, in bytes, and how often the processor executed an instruction.
fn counted(program: &Path, folder: &Path) -> (usize, u64) {
    let counts = folder.join("counts");
    let output = Command::new("valgrind")
        .args(["--tool=cachegrind", "--cache-sim=no", "--quiet"])
        .arg(format!("--cachegrind-out-file={}", counts.display()))
        .arg(program)
        .args(CHECK)
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .unwrap_or_else(|error| {
            panic!("this test needs `valgrind` of the Debian package valgrind: {error}")
        });
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.code().is_some_and(|code| code <= 2),
        "{stderr}"
    );
    let counts = fs::read_to_string(counts).expect("what cachegrind counted");
    let total = counts
        .lines()
        .find_map(|line| line.strip_prefix("summary: "));
    let total = total.and_then(|n| n.trim().parse().ok());
    (output.stdout.len(), total.expect("a number"))
}

/// Text made so that it costs time, and not only rows that repeat.
fn hostile(size: usize) -> Vec<(&'static str, String)> {
    let counted = |line: &dyn Fn(usize) -> String| {
        let mut text = String::new();
        for number in 0.. {
            if text.len() >= size {
                break;
            }
            text += &line(number);
        }
        text
    };
    let detail = "/dev/md0:\n           Version : 1.2\n        Raid Level : raid5\n      Raid Devices : 9\n\n    Number   Major   Minor   RaidDevice State\n";
    vec![
        (
            "mdadm members",
            detail.to_owned() + &counted(&|n| format!("   {n} 8 {n} {n} active sync /dev/sd{n}\n")),
        ),
        (
            "truncated sfdisk",
            counted(&|n| {
                format!(
                    "{{\"partitiontable\":{{\"device\":\"/dev/sda\",\"partitions\":[{{\"node\":\"/dev/sda{n}\"\n"
                )
            }),
        ),
        ("objects", counted(&|n| format!("{{\"a{n}\": [\n"))),
        ("arrays", counted(&|_| "[1,\n".to_owned())),
        (
            "serial numbers",
            "smartctl 7.0 [x]\n=== START OF INFORMATION SECTION ===\n".to_owned()
                + &counted(&|n| format!("Serial Number: S{n}\n")),
        ),
    ]
}

/// Captures that stand for the others: JSON of ESXi and of sfdisk, a table of PowerShell, a session of DiskPart, LVM, a list of
/// records of WMI, and JSON of more lines than are read of a text.
const SAMPLE: [&str; 7] = [
    "esxi/esxcli-capacity-list.json",
    "linux/sfdisk-json-extended.txt",
    "powershell/get-partition-table-properties.txt",
    "volumes/lvm-json-cut.txt",
    MANY_LINES,
    "windows/diskpart-2003-session.txt",
    "windows/wmic-logicaldisk-list.txt",
];

/// At 4 MB it has more lines than are read of a text.
const MANY_LINES: &str = "volumes/smartctl-sata-json.txt";

/// A text that can be made as long as one likes.
enum Case {
    Capture(PathBuf),
    Forged(usize),
}

impl Case {
    fn of_length(&self, size: usize) -> (String, String) {
        match self {
            Case::Capture(path) => (name_of(path), grown(&text_of(path), size, true)),
            Case::Forged(index) => {
                let (name, text) = hostile(size).swap_remove(*index);
                (name.to_owned(), text)
            }
        }
    }
}

/// The path of a capture in the repository.
fn name_of(path: &Path) -> String {
    let inside = path.strip_prefix(repository());
    inside.unwrap_or(path).display().to_string()
}

/// What is wrong with the costs of a case, if anything is; with its seconds, too, where they are `timed`.
fn costs(case: &Case, program: &Path, timed: bool) -> Option<String> {
    let folder = tempfile::tempdir().expect("temporary folder");
    let mut counts = [0; 2];
    let mut said = String::new();
    let mut report = 0;
    let is_whole = matches!(case, Case::Capture(path) if path.ends_with(MANY_LINES));
    let sizes = if timed || is_whole {
        SIZES_IN_SOAK
    } else {
        SIZES
    };
    for (size, count) in sizes.into_iter().zip(&mut counts) {
        let (name, text) = case.of_length(size);
        fs::write(folder.path().join(TEXT), text).expect("a scratch file");
        (report, *count) = counted(program, folder.path());
        said = name;
    }
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2⁵³")]
    let ratio = counts[1] as f64 / counts[0] as f64;
    said += &format!(": {counts:?} instructions, {ratio:.2} times, {report} bytes of report");
    let mut is_slow = false;
    if timed {
        let took = seconds(program, folder.path());
        said += &format!(", {took:?}");
        is_slow = took > SECONDS;
    }
    eprintln!("{said}");
    (ratio > MAX || report > MAX_LEN || is_slow).then_some(said)
}

/// Processor time of the check of the text in `folder`: the shortest of three runs, as others use the machine, too.
fn seconds(program: &Path, folder: &Path) -> Duration {
    let used = folder.join("used");
    let runs = (0..3).map(|_| {
        let mut check = Command::new("/usr/bin/time");
        check.args(["--quiet", "--format=%U %S", "--output"]);
        check.arg(&used).arg(program).args(CHECK);
        check.current_dir(folder).stdin(Stdio::null());
        check.output().unwrap_or_else(|error| {
            panic!("this test needs `time` of the Debian package time: {error}")
        });
        let used = fs::read_to_string(&used).expect("what time measured");
        let parts = used.split_whitespace();
        let parts = parts.map(|part| part.parse::<f64>().expect("seconds"));
        Duration::from_secs_f64(parts.sum())
    });
    runs.min().expect("three runs")
}

#[test]
fn four_times_the_text_takes_at_most_five_times_the_instructions() {
    let soak = straddle_testkit::is_soak();
    let captured = repository().join("tests/captured");
    let mut files = Vec::new();
    if soak {
        files_below(&captured, &mut files);
        assert!(files.len() > 200, "{}", files.len());
    } else {
        files.extend(SAMPLE.map(|name| captured.join(name)));
    }
    let forged = (0..hostile(0).len()).map(Case::Forged);
    let cases: Vec<Case> = files.into_iter().map(Case::Capture).chain(forged).collect();
    let program = shipped::program();
    let next = AtomicUsize::new(0);
    let failures: Mutex<Vec<String>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, NonZero::get) {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let failure = costs(case, program, soak);
                    failures.lock().expect("no panic").extend(failure);
                }
            });
        }
    });
    let failures = failures.into_inner().expect("no panic");
    assert!(failures.is_empty(), "{failures:#?}");
}
