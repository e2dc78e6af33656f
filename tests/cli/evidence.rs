//! `straddle evidence` as a person types it.

use crate::support::{Run, repository, scratch, straddle, tool};
use std::fs;
use std::path::Path;
use std::process::Command;

/// A capture of the corpus, under its own name.
fn take(path: &str, directory: &Path) -> String {
    let name = path.rsplit('/').next().expect("a name").to_owned();
    fs::copy(
        repository().join("tests/evidence").join(path),
        directory.join(&name),
    )
    .expect(path);
    name
}

fn json(run: &Run) -> serde_json::Value {
    serde_json::from_str(&run.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", run.transcript()))
}

/// Packed by the usual tools. How much tells one from another differs: xz has six bytes, bzip2 seven.
#[test]
fn logs_and_traces_are_read_however_they_are_packed() {
    let here = scratch();
    let log = take("errorlog/errorlog-2019-utf16.log", here.path());
    let trace = "trace.csv";
    fs::copy(
        repository().join("tests/traces/msr/quoted.csv"),
        here.path().join(trace),
    )
    .expect("a trace");
    for (verb, name, code) in [("evidence", log.as_str(), 1), ("trace", trace, 0)] {
        let plain = straddle(here.path(), &[verb, "--json", name]);
        assert_eq!(plain.code, Some(code), "{}", plain.transcript());
        for (package, program, end) in [
            ("gzip", "gzip", "gz"),
            ("bzip2", "bzip2", "bz2"),
            ("xz-utils", "xz", "xz"),
            ("zstd", "zstd", "zst"),
        ] {
            let mut pack = Command::new(program);
            pack.args(["-q", "-k", name]).current_dir(here.path());
            tool(package, &mut pack);
            let packed = format!("{name}.{end}");
            let run = straddle(here.path(), &[verb, "--json", &packed]);
            assert_eq!(run.code, Some(code), "{}", run.transcript());
            // Of a trace it is said how it was packed.
            let unpacked = run
                .stdout
                .replace(&packed, name)
                .replace(&format!("\"{program}\""), "null");
            assert_eq!(unpacked, plain.stdout, "{verb} {packed}");
        }
    }
}

#[test]
fn findings_failures_and_silence_have_their_status() {
    let here = scratch();
    let stalls = take("errorlog/errorlog-2019-utf16.log", here.path());
    let quiet = take(
        "iostat/basic-report-partitions-repeated-headers.txt",
        here.path(),
    );
    let code = |args: &[&str]| {
        let run = straddle(here.path(), &[&["evidence"], args].concat());
        (run.code.expect("ends"), run)
    };
    assert_eq!(code(&[&stalls]).0, 1);
    assert_eq!(code(&[&stalls, "--fail-on", "never"]).0, 0);
    assert_eq!(code(&[&quiet]).0, 0);
    let (status, run) = code(&["-q", &stalls]);
    assert_eq!((status, run.stdout.as_str()), (1, ""));
    // What is known is still printed.
    let (status, run) = code(&[&stalls, "gone.txt"]);
    assert_eq!(status, 2, "{}", run.transcript());
    assert!(run.stdout.contains("error[STR801]"), "{}", run.transcript());
    for wrong in ["log", "log=0s", "speed=1ms"] {
        let (status, run) = code(&["--target", wrong, &stalls]);
        assert_eq!(status, 2);
        assert!(run.stderr.contains(wrong), "{}", run.stderr);
    }
}

/// As `pzstd` writes them, and as `cat` joins logs of several days.
#[test]
fn every_frame_of_a_packed_file_is_read() {
    let here = scratch();
    let log = take("errorlog/two-logs-clock-back-day-missing.log", here.path());
    let whole = straddle(here.path(), &["evidence", "--json", &log]);
    let lines =
        format!("head -n 4 {log} | zstd -q > two.zst && tail -n +5 {log} | zstd -q >> two.zst");
    crate::support::sh(here.path(), &lines);
    let packed = straddle(here.path(), &["evidence", "--json", "two.zst"]);
    let read = |run: &Run| (json(run)["lines"].clone(), json(run)["figures"].clone());
    assert_eq!(read(&packed), read(&whole));
    assert!(json(&whole)["lines"].as_u64() > Some(4));
}

/// Nothing was measured in any of them, and no finding of none would be a pass.
#[test]
fn what_nothing_is_found_in_is_said_and_no_pass() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    let here = scratch();
    let unknown = "no log, counter or result of a known tool was found in it; \
                   docs/reference/evidence.md lists what is read";
    let disks = "whose figures are not read; `iostat -xt 15 240`, or /proc/diskstats twice, has latency by disk; docs/reference/evidence.md lists what is";
    let cut =
        |tool: &str| format!("it looks like {tool}, and there is no figure in it; is it cut off?");
    let other = "nothing in it was measured; `straddle check` reads what tools say of storage";
    let no_file = |what: &str| {
        format!("is {what}; expected a file or a folder of logs, or `-` for standard input")
    };
    let lsblk = "NAME   MAJ:MIN RM  SIZE RO TYPE MOUNTPOINT\n\
                 sda      8:0    0   20G  0 disk \n\
                 `-sda1   8:1    0   20G  0 part /\n";
    let head = "Linux 5.10.0 (db01) \t06/22/2024 \t_x86_64_\t(8 CPU)\n\n\
                Device r/s w/s rkB/s wkB/s r_await w_await aqu-sz %util\n";
    // A figure of which a letter was made, and too few of them.
    let rows = format!("{head}sda 1.00 2.00 3.x 4.00 5.00\nsdb 1.00 2.00 3.x 4.00 5.00\n");
    fs::create_dir(here.path().join("rows")).expect("room");
    for (name, text) in [
        ("other.txt", "nothing that is known\n"),
        ("empty.txt", ""),
        (
            "mail.txt",
            "Date: Mon, 4 Mar 2024 10:00:00 +0000\n\nall is slow\n",
        ),
        (
            "solaris.txt",
            "    r/s    w/s   kr/s   kw/s wait actv wsvc_t asvc_t  %w  %b device\n    1.2   33.4   10.5  400.9  0.0  0.3    0.0    9.1   0  22 c1t0d0\n",
        ),
        (
            "pidstat.txt",
            "02:11:05 PM   UID       PID   kB_rd/s   kB_wr/s kB_ccwr/s iodelay  Command\n02:11:10 PM   112      2212   1204.00    402.00      0.00      91  postgres\n",
        ),
        (
            "cloudwatch.json",
            "{\n    \"Label\": \"VolumeTotalReadTime\",\n    \"Datapoints\": [\n        {\n            \"Sum\": 412.31,\n            \"Unit\": \"Seconds\"\n        }\n    ]\n}\n",
        ),
        ("head.txt", head),
        ("rows.txt", &rows),
        ("rows/rows.txt", &rows),
        ("lsblk.txt", lsblk),
    ] {
        fs::write(here.path().join(name), text).expect("room");
    }
    let fifo = here.path().join("fifo");
    mknodat(CWD, &fifo, FileType::Fifo, Mode::RWXU, 0).expect("a FIFO");
    fs::create_dir(here.path().join("none")).expect("room");
    for (input, expected, shown) in [
        (
            "other.txt",
            format!("other.txt: {unknown}"),
            "0 figures from 1 line; 1 input failed",
        ),
        (
            "solaris.txt",
            "solaris.txt: it has output of iostat of Solaris, whose figures are not read; docs/reference/evidence.md lists what is".to_owned(),
            "0 figures from 2 lines; 1 input failed",
        ),
        (
            "pidstat.txt",
            format!("pidstat.txt: it has output of pidstat, {disks}"),
            "0 figures from 2 lines; 1 input failed",
        ),
        (
            "cloudwatch.json",
            format!("cloudwatch.json: it has output of CloudWatch, {disks}"),
            "0 figures from 9 lines; 1 input failed",
        ),
        (
            "empty.txt",
            "empty.txt: it is empty".to_owned(),
            "0 figures from 0 lines; 1 input failed",
        ),
        (
            "mail.txt",
            format!("mail.txt: {unknown}"),
            "0 figures from 3 lines; 1 input failed",
        ),
        (
            "head.txt",
            format!("head.txt: {}", cut("iostat")),
            "0 figures from 3 lines (iostat); 1 input failed",
        ),
        (
            "rows.txt",
            "rows.txt: it looks like iostat, and no line of it could be understood".to_owned(),
            "0 figures from 5 lines (iostat); 1 input failed",
        ),
        (
            "rows",
            format!("rows: {other}"),
            "0 figures from 5 lines (iostat); 1 input failed",
        ),
        (
            "lsblk.txt",
            format!("lsblk.txt: {other}"),
            "0 figures from 3 lines; 1 input failed",
        ),
        (
            "none",
            format!("none: {other}"),
            "0 figures from 0 lines; 1 input failed",
        ),
        (
            "gone.txt",
            "cannot open gone.txt: No such file or directory (os error 2)".to_owned(),
            "0 figures from 0 lines; 1 input failed",
        ),
        (
            "fifo",
            format!("fifo {}", no_file("a FIFO")),
            "0 figures from 0 lines; 1 input failed",
        ),
        (
            "/dev/null",
            format!("/dev/null {}", no_file("a character device")),
            "0 figures from 0 lines; 1 input failed",
        ),
    ] {
        let run = straddle(here.path(), &["evidence", input]);
        assert_eq!(run.code, Some(2), "{}", run.transcript());
        assert_eq!(run.stderr, format!("error: {expected}\n"));
        let last = run.stdout.lines().last().unwrap_or_default();
        assert!(
            last.starts_with(&format!("{input}: ")) && last.ends_with(shown),
            "{last}"
        );
        // What tools say of a disk is judged all the same.
        let said = if input == "lsblk.txt" {
            "1 note"
        } else {
            "nothing was measured"
        };
        assert!(last.contains(said), "{last}");
    }
}

#[test]
fn a_folder_and_standard_input_are_inputs() {
    let here = scratch();
    let logs = here.path().join("logs/old");
    fs::create_dir_all(&logs).expect("room");
    take("errorlog/errorlog-2019-utf16.log", &logs);
    fs::write(here.path().join("logs/README"), "about these logs\n").expect("room");
    let run = straddle(here.path(), &["evidence", "--json", "logs"]);
    assert_eq!(run.code, Some(1), "{}", run.transcript());
    let document = json(&run);
    assert_eq!(document["figures"], 4);
    assert_eq!(document["formats"], serde_json::json!(["errorlog-stalls"]));
    assert_eq!(document["passed_over"], 1);
    let binary = env!("CARGO_BIN_EXE_straddle");
    let log = logs.join("errorlog-2019-utf16.log");
    let piped = std::process::Command::new(binary)
        .args(["evidence", "--json", "-"])
        .stdin(fs::File::open(log).expect("there"))
        .output()
        .expect("runs");
    let piped: serde_json::Value = serde_json::from_slice(&piped.stdout).expect("JSON");
    assert_eq!(piped["figures"], 4);
}

#[test]
fn json_obeys_its_schema_and_csv_has_a_line_for_each_series() {
    let here = scratch();
    let schema = straddle(here.path(), &["schema", "evidence"]).stdout;
    let schema: serde_json::Value = serde_json::from_str(&schema).expect("JSON");
    let mut schemas = boon::Schemas::new();
    let mut compiler = boon::Compiler::new();
    compiler
        .add_resource("schema.json", schema)
        .expect("a schema");
    let compiled = compiler
        .compile("schema.json", &mut schemas)
        .expect("a schema");
    let inputs = [
        take("errorlog/two-logs-clock-back-day-missing.log", here.path()),
        take("perfmon/all-disk-counters-one-disk.csv", here.path()),
        take("file-stats/two-snapshots-with-getdate.txt", here.path()),
        take("backups/cut-and-garbled.txt", here.path()),
        take(
            "fio/three-jobs-nanoseconds-to-milliseconds.txt",
            here.path(),
        ),
    ];
    let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
    let run = straddle(
        here.path(),
        &[&["evidence", "--json"], &inputs[..]].concat(),
    );
    let document = json(&run);
    if let Err(error) = schemas.validate(&document, compiled) {
        panic!("{error:#}");
    }
    let oddities: Vec<&str> = document["counted"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|oddity| oddity["what"].as_str())
        .collect();
    assert!(
        oddities.contains(&"at which the clock goes back"),
        "{oddities:?}"
    );
    assert!(oddities.contains(&"not understood"), "{oddities:?}");
    let series: usize = document["stack"]
        .as_array()
        .expect("layers")
        .iter()
        .filter_map(|layer| layer["activity"]["series"].as_array())
        .map(Vec::len)
        .sum();
    let csv = straddle(
        here.path(),
        &[&["evidence", "--format", "csv"], &inputs[..]].concat(),
    );
    assert_eq!(csv.stdout.lines().count(), series + 1, "{}", csv.stdout);
    // Every question has an answer, or what would answer it.
    let answers = document["answers"].as_array().expect("answers");
    assert!(answers.len() >= 8, "{answers:#?}");
    for answer in answers {
        assert!(
            answer["answer"]
                .as_str()
                .is_some_and(|text| text.len() > 20),
            "{answer}"
        );
    }
}

/// What a guest waits for is what the device takes and what the kernel adds: two of the three tell whose it is.
#[test]
fn two_of_three_latencies_say_whose_it_is() {
    let here = tempfile::tempdir().expect("a folder");
    let disk = |counter: &str| {
        let names = ["naa.60a98000486e2f34", "naa.60a98000486e2f35"];
        names.map(|name| format!(r#","\\esx7\Physical Disk SCSI Device({name})\Average {counter} MilliSec/Command""#)).concat()
    };
    for (figures, answer) in [
        (
            &[("Kernel", "0.30"), ("Guest", "31.20")][..],
            "GAVG 31.2 ms = DAVG 30.9 ms (array and path) + KAVG 300 µs (host). It is the array",
        ),
        (
            &[("Driver", "4.00"), ("Guest", "31.20")],
            "GAVG 31.2 ms = DAVG 4.00 ms (array and path) + KAVG 27.2 ms (host). It is the host",
        ),
        (
            &[("Driver", "25.00"), ("Kernel", "6.20"), ("Guest", "31.20")],
            "It is both: the array or the path to it takes most, and commands wait in the host's queue, too",
        ),
        (&[("Guest", "31.20")], "what the host adds is not told"),
    ] {
        let head: String = figures.iter().map(|(counter, _)| disk(counter)).collect();
        let row: String = figures
            .iter()
            .map(|(_, value)| format!(",\"{value}\",\"{value}\""))
            .collect();
        let text = format!(
            "\"(PDH-CSV 4.0) (UTC)(0)\"{head}\n\"03/02/2024 10:00:00\"{row}\n\"03/02/2024 10:00:05\"{row}\n"
        );
        std::fs::write(here.path().join("batch.csv"), &text).expect("room");
        let run = straddle(here.path(), &["evidence", "batch.csv"]);
        let said = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(answer), "{answer}\n{text}\n{}", run.stdout);
    }
}

#[test]
fn an_earlier_capture_is_compared_with_a_later_one() {
    let here = scratch();
    let capture = |name: &str, base: f64| {
        let mut text =
            "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\S\\LogicalDisk(E:)\\Avg. Disk sec/Read\"\n"
                .to_owned();
        for second in 0..8_u8 {
            let value = base + f64::from(second % 2) * 0.001;
            text.push_str(&format!("\"03/05/2024 10:00:0{second}.000\",\"{value}\"\n"));
        }
        fs::write(here.path().join(name), text).expect("room");
    };
    capture("before.csv", 0.030);
    capture("after.csv", 0.010);
    let args = ["evidence", "--json", "--before", "before.csv", "after.csv"];
    let run = straddle(here.path(), &args);
    let changes = &json(&run)["changes"];
    assert_eq!(changes.as_array().map(Vec::len), Some(1), "{changes}");
    assert_eq!(changes[0]["subject"], "volume E:");
    assert_eq!(changes[0]["before"], 0.0305);
    assert_eq!(changes[0]["after"], 0.0105);
    assert_eq!(changes[0]["stretches"], serde_json::json!([8, 8]));
    let run = straddle(
        here.path(),
        &["evidence", "--before", "before.csv", "after.csv"],
    );
    assert!(run.stdout.contains("−66%"), "{}", run.transcript());
    // What is missing before is a failure, and the rest is printed.
    let run = straddle(
        here.path(),
        &["evidence", "--before", "gone.csv", "after.csv"],
    );
    assert_eq!(run.code, Some(2), "{}", run.transcript());
    let expected = "filesystem E:\n";
    assert!(run.stdout.starts_with(expected), "{}", run.transcript());
    let expected = "after.csv: no finding; 8 figures from 9 lines (perfmon); 1 input failed\n";
    assert!(run.stdout.ends_with(expected), "{}", run.transcript());
    let expected = "error: cannot open gone.csv: No such file or directory (os error 2)\n";
    assert_eq!(run.stderr, expected);
}

#[test]
fn a_reading_whose_place_in_time_is_not_known_is_said() {
    let here = scratch();
    let run = |text: &str| {
        fs::write(here.path().join("log"), text).expect("room");
        straddle(here.path(), &["evidence", "log"])
    };
    const LOWER: &str = "1 line with counters that are lower than in the reading before: they started again, or the later reading is the first one here, the \
                         first log:3: ";
    let names = "physical_name,num_of_reads,io_stall_read_ms\n";
    let backwards = run(&format!(
        "{names}E:\\sales.mdf,2000,39000\nE:\\sales.mdf,1000,9000\n"
    ));
    assert!(
        backwards.stdout.contains(LOWER),
        "{}",
        backwards.transcript()
    );
    let onwards = run(&format!(
        "{names}E:\\sales.mdf,1000,9000\nE:\\sales.mdf,2000,39000\n"
    ));
    assert!(
        !onwards.stdout.contains("lower"),
        "{}",
        onwards.transcript()
    );
    let expected = "reads take 30.0 ms on average, of 1,000 between two readings";
    assert!(
        onwards.stdout.contains(expected),
        "{}",
        onwards.transcript()
    );

    const OPEN: &str = "1 line above the first report of iostat, of which no banner";
    let report =
        "Device r/s w/s r_await w_await aqu-sz %util\nsda 100.00 20.00 4.10 6.20 0.53 30.00\n\n";
    let banner = "Linux 6.1.0 (db) \t2024-05-14 \t_x86_64_\t(2 CPU)\n\n";
    for (text, is_open) in [
        (report.repeat(3), true),
        (format!("{banner}{}", report.repeat(3)), false),
        (format!("$ iostat -xy 5 3\n{}", report.repeat(3)), false),
    ] {
        let said = run(&text);
        assert_eq!(said.stdout.contains(OPEN), is_open, "{}", said.transcript());
    }
}

#[test]
fn what_cannot_be_compared_is_said() {
    let here = scratch();
    let iostat = |name: &str, disks: &[&str]| {
        let mut text = "Device r/s w/s r_await w_await aqu-sz %util\n".to_owned();
        for disk in disks {
            text.push_str(&format!("{disk} 100.00 20.00 4.10 6.20 0.53 30.00\n"));
        }
        fs::write(here.path().join(name), text).expect("room");
    };
    iostat("sda.txt", &["sda"]);
    iostat("nvme.txt", &["nvme0n1"]);
    iostat("both.txt", &["sda", "nvme0n1"]);
    let run =
        |before: &str, after: &str| straddle(here.path(), &["evidence", "--before", before, after]);
    let other = run("sda.txt", "nvme.txt");
    assert_eq!(other.code, Some(2), "{}", other.transcript());
    let expected = "error: sda.txt: nothing in it can be compared: it has figures of disk sda, the rest of disk nvme0n1; what is compared has the \
                    same name in both\n";
    assert_eq!(other.stderr, expected);
    let some = run("sda.txt", "both.txt");
    assert_eq!(some.code, Some(0), "{}", some.transcript());
    let expected = "  measured only after: disk nvme0n1\n";
    assert!(some.stdout.contains(expected), "{}", some.transcript());

    // Sums since the start: one reading in each is no comparison, two in each are.
    let reading = |reads: u32, time: u32| {
        format!("physical_name,num_of_reads,io_stall_read_ms\nE:\\sales.mdf,{reads},{time}\n")
    };
    let write = |name: &str, text: String| fs::write(here.path().join(name), text).expect("room");
    write("one.csv", reading(1000, 9000));
    write("two.csv", reading(2000, 39_000));
    let single = run("one.csv", "two.csv");
    assert_eq!(single.code, Some(2), "{}", single.transcript());
    let expected = "given together, without --before";
    assert!(single.stderr.contains(expected), "{}", single.transcript());
    write("slow.csv", reading(1000, 9000) + &reading(2000, 39_000));
    write("fast.csv", reading(500, 1000) + &reading(1500, 4000));
    let args = ["evidence", "--json", "--before", "slow.csv", "fast.csv"];
    let run = straddle(here.path(), &args);
    let changes = &json(&run)["changes"];
    assert_eq!(changes.as_array().map(Vec::len), Some(1), "{changes}");
    assert_eq!(changes[0]["quantity"], "read-latency");
    assert_eq!(changes[0]["before"], 0.03);
    assert_eq!(changes[0]["after"], 0.003);
}

#[test]
fn worked_figures_of_backups() {
    // Pages, seconds, and the rate that each message printed, from the published table.
    let published = [
        (68_113_u64, 7.373, "75.679"),
        (244_138_625, 5561.102, "359.638"),
        (302_810_923, 6010.430, "412.720"),
        (251_031_988, 3144.803, "653.921"),
        (14_105_792, 4593.810, "25.154"),
        (9_962_376, 1040.035, "78.470"),
        (202_986_177, 47_070.773, "35.326"),
        (8_259_522, 638.561, "105.960"),
        (9_497_102, 313.501, "248.165"),
        (15_018_185, 355.591, "345.984"),
        (10_059_329, 395.086, "208.577"),
        (10_172_177, 295.428, "282.066"),
    ];
    let here = scratch();
    for (pages, seconds, reported) in published {
        let log = format!(
            "BACKUP DATABASE successfully processed {pages} pages in {seconds:.3} seconds ({reported} MB/sec).\n"
        );
        fs::write(here.path().join("one.log"), log).expect("room");
        let run = straddle(here.path(), &["evidence", "one.log"]);
        let line = format!("s = {reported} million bytes a second");
        assert!(run.stdout.contains(&line), "{line}\n{}", run.transcript());
    }
    let both = "BACKUP DATABASE successfully processed 8259522 pages in 638.561 seconds (105.960 MB/sec).\n\
                BACKUP DATABASE successfully processed 9497102 pages in 313.501 seconds (248.165 MB/sec).\n";
    fs::write(here.path().join("both.log"), both).expect("room");
    let run = straddle(here.path(), &["evidence", "both.log"]);
    assert!(run.stdout.contains("= +134%"), "{}", run.transcript());
}

#[test]
fn captures_of_the_same_server_say_what_alignment_costs_at_its_load() {
    let here = scratch();
    let fixture = fs::read_to_string(repository().join("tests/rules/STR811.toml")).expect("there");
    let fixture: toml::Table = fixture.parse().expect("TOML");
    let text = |name: &str| fixture["triggers"][name].as_str().expect("text").to_owned();
    fs::write(here.path().join("fdisk.txt"), text("text")).expect("room");
    fs::write(here.path().join("iostat.txt"), text("log")).expect("room");
    let run = straddle(here.path(), &["evidence", "iostat.txt", "fdisk.txt"]);
    for code in ["STR811", "STR101"] {
        assert!(
            run.stdout.contains(&format!("[{code}]")),
            "{}",
            run.transcript()
        );
    }
    // Without them nothing is said of alignment.
    let run = straddle(here.path(), &["evidence", "iostat.txt"]);
    assert!(
        !run.stdout.contains("STR1") && !run.stdout.contains("STR811"),
        "{}",
        run.transcript()
    );
}
