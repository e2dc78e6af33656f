//! Hostile captures: text made to cost time or memory. Each is answered soon, within 64 MiB, by the program
//! that is shipped.
//!
//! For every commit those are tried of which something is kept, each with one of four commands in turn, and of the others one of each
//! form; `STRADDLE_SOAK=1` tries all, and all four commands where something is kept.
//!
//! The limit on time guards against hangs, as in `hostile.rs`; speed is shown elsewhere.

use std::ffi::OsStr;
use std::fs;
use std::ops::RangeInclusive;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use straddle_testkit::is_soak;

use crate::support::shipped;

/// Seconds after which a run hangs, on a machine that does other work, too.
const HANG: &str = "600";
/// Most memory that a run may have resident at any time, in KiB. The pages of the program that is shipped are in it.
const MEMORY: u64 = 64 << 10;
/// As much of a file as is read, and a little.
const LONG: usize = (4 << 20) + 4096;

fn filled(pattern: &str) -> String {
    pattern.repeat(LONG / pattern.len() + 1)
}

/// A pattern that counts: every line names another thing.
fn counted(line: impl Fn(usize) -> String) -> String {
    let mut text = String::new();
    let mut n = 0;
    while text.len() < LONG {
        text.push_str(&line(n));
        n += 1;
    }
    text
}

/// A heading that a tool is recognised by, in front of what follows.
const KNOWN: &str = "---- Drive 0 Geometry Infomation ----\nBytesPerSector = 512\n\n";

fn captures() -> Vec<(&'static str, String)> {
    let lsblk = |inner: &str| format!("{{\"blockdevices\": {inner}");
    vec![
        ("empty-lines", format!("{KNOWN}{}", filled("\n"))),
        ("one-line", format!("{KNOWN}{}", filled("x"))),
        ("escapes", format!("{KNOWN}{}", filled("\x1b["))),
        ("tabs", format!("{KNOWN}{}", filled("\t"))),
        ("returns", format!("{KNOWN}{}", filled("\r"))),
        ("quotes", filled(">")),
        (
            "eighty",
            format!("{KNOWN}{}", filled(&format!("{}\n", "y".repeat(80)))),
        ),
        ("headings", filled(KNOWN)),
        (
            "partitions",
            counted(|n| {
                format!(
                    "---- Drive Partition {n} Infomation ----\nStatringOffset = {}\nPartitionNumber = {n}\n",
                    n * 512
                )
            }),
        ),
        (
            "disks",
            counted(|n| format!("---- Drive {n} Geometry Infomation ----\nDiskSize = {n}\n")),
        ),
        (
            "records",
            counted(|n| format!("DiskNumber : {n}\nPartitionNumber : 1\nOffset : 512\n\n")),
        ),
        (
            "one-disk",
            counted(|n| format!("DiskNumber : 0\nPartitionNumber : {n}\nOffset : 512\n\n")),
        ),
        (
            "csv",
            format!(
                "DiskNumber,PartitionNumber,Offset\n{}",
                counted(|n| format!("{n},1,512\n"))
            ),
        ),
        ("csv-names", format!("{}\n1,2\n", filled("a,"))),
        ("brackets", lsblk(&filled("["))),
        ("objects", lsblk(&filled("{\"a\":"))),
        ("numbers", lsblk(&format!("[{}", filled("1,")))),
        (
            "members",
            format!("{{{}", counted(|n| format!("\"{n}\":1,"))),
        ),
        ("strings", lsblk(&format!("[\"{}", filled("\\")))),
        (
            "json-partitions",
            format!(
                "{{\"partitiontable\":{{\"device\":\"/dev/sda\",\"partitions\":[{}",
                counted(|n| format!("{{\"node\":\"/dev/sda{n}\",\"start\":{n},\"size\":1}},\n"))
            ),
        ),
        ("keys", counted(|n| format!("Key{n} : 1\n"))),
        (
            "table",
            format!(
                "DiskNumber PartitionNumber Offset\n---------- --------------- ------\n{}",
                counted(|n| format!("{n:<10} {n:<15} 512\n"))
            ),
        ),
        (
            "clixml-objects",
            format!(
                "#< CLIXML\n<Objs>{}",
                counted(|n| format!(
                    "<Obj><Props><U32 N=\"DiskNumber\">{n}</U32><U32 N=\"PartitionNumber\">1</U32><U64 N=\"Offset\">512</U64></Props></Obj>\n"
                ))
            ),
        ),
        (
            "clixml-fields",
            format!(
                "#< CLIXML\n<Objs><Obj><Props>{}",
                counted(|n| format!("<U32 N=\"K{n}\">1</U32>\n"))
            ),
        ),
        ("clixml", format!("#< CLIXML\n{}", filled("<Obj><MS>"))),
        ("prompts", filled("C:\\>x\n")),
        ("dashes", format!("{}\n{}\n", filled("a "), filled("- "))),
        ("colons", format!("{KNOWN}{}", filled("a:\n"))),
    ]
}

/// Those of which something is kept, so that there is a report to be made of it.
const HEAVY: [&str; 8] = [
    "partitions",
    "disks",
    "records",
    "one-disk",
    "csv",
    "json-partitions",
    "table",
    "clixml-objects",
];

/// Of those of which nothing is kept, the ones that are tried for every commit: lines, columns, escapes, CSV, each part of JSON, CLIXML, prompts.
const LIGHT: [&str; 12] = [
    "empty-lines",
    "one-line",
    "tabs",
    "escapes",
    "csv-names",
    "objects",
    "numbers",
    "members",
    "strings",
    "clixml",
    "prompts",
    "keys",
];

/// Runs `straddle` and says what was wrong with the way it ended, if anything was.
fn judged(
    folder: &Path,
    name: &str,
    arguments: &[&OsStr],
    expected: RangeInclusive<i32>,
) -> Option<String> {
    let used = folder.join(format!("{name}.used"));
    let output = Command::new("/usr/bin/time")
        .args(["--quiet", "--format=%M %e", "--output"])
        .arg(&used)
        .args(["timeout", HANG])
        .arg(shipped::program())
        .env("STRADDLE_HISTORY", "none")
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap_or_else(|error| {
            panic!("this test needs `time` of the Debian package time: {error}")
        });
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!said.contains("panicked"), "{name}: {said}");
    let used = fs::read_to_string(&used).expect("what time measured");
    let kib: u64 = used
        .split(' ')
        .next()
        .and_then(|kib| kib.parse().ok())
        .expect("kibibytes");
    let code = output.status.code();
    let bad = kib > MEMORY || !code.is_some_and(|code| expected.contains(&code));
    bad.then(|| format!("{name} {arguments:?}: exit {code:?}, {kib} KiB, {used}"))
}

#[test]
fn no_capture_takes_long_or_much_memory() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let mut all = captures();
    assert!(
        HEAVY
            .iter()
            .chain(&LIGHT)
            .all(|name| all.iter().any(|(known, _)| known == name))
    );
    if !is_soak() {
        all.retain(|(name, _)| HEAVY.contains(name) || LIGHT.contains(name));
    }
    let todo = Mutex::new(all.into_iter());
    let failures = Mutex::new(Vec::new());
    // Each run is judged by its own process, so that they may go side by side.
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let next = todo.lock().expect("no panic while held").next();
                    let Some((name, text)) = next else { break };
                    let wrong = of_capture(folder.path(), name, &text);
                    failures.lock().expect("no panic while held").extend(wrong);
                }
            });
        }
    });
    let failures = failures.into_inner().expect("no panic while held");
    assert!(failures.is_empty(), "{failures:#?}");
}

/// What is wrong with the runs on one capture.
fn of_capture(folder: &Path, name: &str, text: &str) -> Vec<String> {
    let path = folder.join(format!("{name}.txt"));
    fs::write(&path, text).expect("a scratch file");
    let [check, fix, summary, json] = ["check", "fix", "--summary", "--json"].map(OsStr::new);
    let path = path.as_os_str();
    let mut runs = vec![vec![check, summary, path]];
    if let Some(turn) = HEAVY.iter().position(|heavy| *heavy == name) {
        runs.extend([vec![check, path], vec![check, json, path], vec![fix, path]]);
        if !is_soak() {
            runs = vec![runs.swap_remove(turn % 4)];
        }
    }
    let wrong = runs
        .iter()
        .filter_map(|run| judged(folder, name, run, 0..=2));
    let wrong = wrong.collect();
    fs::remove_file(path).expect("a scratch file");
    wrong
}

#[test]
fn no_folder_of_captures_takes_long_or_much_memory() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let captured = folder.path().join("captured");
    fs::create_dir(&captured).expect("a scratch folder");
    // All of them, whatever is sampled elsewhere: what is kept of several files adds up.
    let several: Vec<&str> = HEAVY.into_iter().collect();
    for (name, text) in captures() {
        if several.contains(&name) {
            let path = captured.join(format!("{name}.txt"));
            fs::write(&path, text).expect("a scratch file");
        }
    }
    let whole = [OsStr::new("check"), captured.as_os_str()];
    let failure = judged(folder.path(), "folder", &whole, 0..=2);
    assert_eq!(failure, None);
}

/// Logs of any length are read; what is kept of them does not grow with it, and names of columns are not compared with each other.
#[test]
fn no_log_takes_long_or_much_memory() {
    /// As many columns as fit into the longest line that is read.
    const COLUMNS: usize = 250_000;
    let folder = tempfile::tempdir().expect("temporary folder");
    let pdh = |columns: usize, name: &dyn Fn(usize) -> String| {
        let names: String = (0..columns).map(|n| format!(",{}", name(n))).collect();
        format!("\"(PDH-CSV 4.0) (UTC)(0)\"{names}\n")
    };
    // Looking for the rate of each latency among all columns would take minutes for each of these lines.
    let alike = pdh(COLUMNS, &|_| {
        "\\\\S\\LogicalDisk(E:)\\Avg. Disk sec/Read".to_owned()
    });
    let mut volumes = pdh(COLUMNS / 3, &|n| {
        format!("\\\\S\\LogicalDisk(E:\\{n})\\Avg. Disk sec/Read")
    });
    // Figures that lie far apart, of more volumes than are kept.
    for row in 0..40_i32 {
        volumes.push_str(&format!("\"03/01/2024 00:00:{row:02}.000\""));
        let value = 1e-8 * 3_f64.powi(row);
        volumes.push_str(&format!(",{value}").repeat(COLUMNS / 3));
        volumes.push('\n');
    }
    let mut devices = "Device r/s w/s rkB/s wkB/s r_await w_await aqu-sz %util\n".to_owned();
    for n in 0..300_000_u64 {
        let figures: String = (1..9).map(|k| format!(" {}.00", n * n * k)).collect();
        devices.push_str(&format!("sd{}{figures}\n", n % 100_000));
    }
    let logs = [
        ("alike", alike.repeat(8), 2),
        ("volumes", volumes, 1),
        ("devices", devices, 1),
        ("one-line", "1.00 ".repeat(40_000_000), 2),
        ("quotes", "\"".repeat(100_000_000), 2),
    ];
    for (name, text, status) in logs {
        let path = folder.path().join(format!("{name}.txt"));
        fs::write(&path, text).expect("a scratch file");
        let run = [
            OsStr::new("evidence"),
            OsStr::new("--quiet"),
            path.as_os_str(),
        ];
        let wrong = judged(folder.path(), name, &run, status..=status);
        assert_eq!(wrong, None);
        fs::remove_file(&path).expect("a scratch file");
    }
}
