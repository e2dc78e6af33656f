use regex::Regex;
use std::time::Duration;
use straddle_bench::compat::sqlio::parse;
use straddle_bench::plan::Slot;
use straddle_bench::sample::Side;

use super::*;

/// A published report, the command line and parameter file that it came from, and the length of its file.
const PUBLISHED: [(&str, &str, &str, u64); 4] = [
    (
        include_str!("published-parameters.txt"),
        r"-kR -s15 -frandom -o8 -b8 -LS -FG:\param.txt",
        "G:\\testfile.dat 64 0x0 50000\n",
        50_000,
    ),
    (
        include_str!("published-synchronous.txt"),
        r"-kR -s15 -frandom -o0 -b8 -LS -FG:\param.txt",
        "G:\\testfile.dat 64 0x0 50000\n",
        50_000,
    ),
    (
        include_str!("published-caches.txt"),
        "-kW -t2 -s30 -o1 -frandom -b8 -BH -LS -Fparam.txt",
        "testfile.dat 4 0x0 2000\n",
        2000,
    ),
    (
        include_str!("published-file.txt"),
        r"-kW -t8 -s120 -o8 -frandom -b8 -BH -LS E:\TestFile.dat",
        "",
        24_576,
    ),
];

fn command(line: &str, parameters: &str) -> Command {
    let words: Vec<&str> = line.split_whitespace().collect();
    let command = parse(&words).expect(line);
    match command.parameter_file {
        Some(_) => command.with_parameters(parameters).expect(parameters),
        None => command,
    }
}

/// Requests of 8 KiB in 15 seconds: how many took how many microseconds.
fn sample(access: Access, latencies: &[(u64, u64)]) -> Sample {
    let mut side = Side::default();
    for &(count, microseconds) in latencies {
        for _ in 0..count {
            side.latencies.record(microseconds * 1000);
        }
        side.requests += count;
        side.bytes = Bytes::new(side.bytes.get() + count * 8192);
    }
    let (reads, writes) = match access {
        Access::Read => (side, Side::default()),
        Access::Write => (Side::default(), side),
    };
    Sample {
        slot: Slot {
            cell: 0,
            block: 0,
            position: 0,
            offset: 0,
        },
        began: Duration::ZERO,
        took: Duration::from_secs(15),
        reads,
        writes,
        ticks: Vec::new(),
        stamp_error: Duration::ZERO,
        issued: straddle_bench::sample::Issued::default(),
        devices: Vec::new(),
        processor: Duration::ZERO,
    }
}

/// What is the same in two reports of the same command line: all but numbers that were measured.
fn shape(report: &str) -> Vec<String> {
    let numbers = Regex::new(r"\d+(\.\d+)?").expect("valid");
    let blanks = Regex::new(" +").expect("valid");
    let lines = report.lines().filter(|line| !line.starts_with("straddle "));
    lines
        .map(|line| {
            let measured = ["IOs/sec", "MBs/sec", "M", "A", "%", "using system"];
            if line != "CUMULATIVE DATA:" && measured.iter().any(|word| line.starts_with(word)) {
                let line = numbers.replace_all(line, "0");
                blanks.replace_all(&line, " ").into_owned()
            } else {
                line.to_owned()
            }
        })
        .collect()
}

fn ours(line: &str, parameters: &str, megabytes: u64, latencies: &[(u64, u64)]) -> String {
    let command = command(line, parameters);
    let files: Vec<File<'_>> = command
        .files
        .iter()
        .map(|file| File {
            name: &file.name,
            threads: file.threads,
            size: Bytes::mib(megabytes),
            specified: file.size.is_some(),
            grown_from: None,
        })
        .collect();
    let samples = vec![sample(command.access, latencies); files.len()];
    head(&command, &files, "1.2.3") + &results(&command, &samples)
}

#[test]
fn the_layout_is_that_of_published_reports() {
    for (published, line, parameters, megabytes) in PUBLISHED {
        let ours = ours(line, parameters, megabytes, &[(1000, 250), (10, 30_000)]);
        assert_eq!(shape(&ours), shape(published), "{line}");
        // Ours has one line more, the second.
        let lines = (ours.lines().count(), published.lines().count());
        assert_eq!(lines.0, lines.1 + 1, "{line}");
        assert_eq!(
            ours.lines().nth(1),
            Some("straddle 1.2.3 in place of SQLIO")
        );
    }
}

#[test]
fn numbers_stand_where_they_stood() {
    let line = "-kW -s15 -frandom -b8 -LS x";
    let ours = ours(
        line,
        "",
        8,
        &[(9_000, 250), (900, 1999), (90, 23_500), (10, 900_000)],
    );
    let measured: Vec<&str> = ours.lines().skip(7).collect();
    assert_eq!(
        measured,
        [
            "CUMULATIVE DATA:",
            "throughput metrics:",
            "IOs/sec:   666.67",
            "MBs/sec:     5.21",
            "latency metrics:",
            "Min_Latency(ms): 0",
            "Avg_Latency(ms): 1",
            "Max_Latency(ms): 900",
            "histogram:",
            "ms: 0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24+",
            "%: 90  9  0  0  0  0  0  0  0  0  0  0  0  0  0  0  0  0  0  0  0  0  0  1  0",
        ]
    );
}

/// Three published histograms without anything in the last column, and the mean that SQLIO printed beside them.
#[test]
fn the_mean_is_cut_as_sqlio_cut_it() {
    let histograms: [(&[u64], u64); 3] = [
        (&[6, 7, 12, 16, 30, 19, 6, 2, 1], 3),
        (&[4, 2, 92, 1], 1),
        (&[20, 41, 24, 8, 3, 2, 1, 1], 1),
    ];
    for (percents, mean) in histograms {
        let latencies: Vec<(u64, u64)> = (0..)
            .zip(percents)
            .map(|(milliseconds, percent)| (*percent, milliseconds * 1000 + 500))
            .collect();
        let report = ours("-kR -frandom -b8 -LS x", "", 8, &latencies);
        let expected = format!("Avg_Latency(ms): {mean}\n");
        assert!(report.contains(&expected), "{percents:?}: {report}");
    }
}

#[test]
fn one_thread_many_files_and_a_file_that_grows() {
    let command = command(
        "-kR -s10 -fsequential -b64 -Fp.txt",
        "a 1 0x0 8\nb 2 0 16\nc 1\n",
    );
    let file = |name, threads, megabytes, specified| File {
        name,
        threads,
        size: Bytes::mib(megabytes),
        specified,
        grown_from: None,
    };
    let mut files = vec![
        file("a", 1, 8, true),
        file("b", 2, 16, true),
        file("c", 1, 4, false),
    ];
    files[1].grown_from = Some(Bytes::mib(12));
    assert_eq!(
        head(&command, &files, "1.2.3"),
        "sqlio v1.5.SG
straddle 1.2.3 in place of SQLIO
parameter file used: p.txt
\tfile a with 1 thread (0-0) using mask 0x0 (0)
\tfile b with 2 threads (1-2) using mask 0x0 (0)
\tfile c with 1 thread (3-3) using mask 0x0 (0)
4 threads reading for 10 secs from files a, b and c
\tusing 64KB sequential IOs
\tsize of file b needs to be: 16777216 bytes
\tcurrent file size:\t12582912 bytes
\tneed to expand by:\t4194304 bytes
\texpanding b ... done.
using specified size: 8 MB for file: a
using specified size: 16 MB for file: b
using current size: 4 MB for file: c
initialization done
"
    );
    let samples = [
        sample(Access::Read, &[(1500, 100)]),
        sample(Access::Read, &[]),
    ];
    assert_eq!(
        results(&command, &samples),
        "CUMULATIVE DATA:\nthroughput metrics:\nIOs/sec:   100.00\nMBs/sec:     0.78\n"
    );
}

/// What public parsers take out of a report.
#[derive(Debug, Default, PartialEq)]
struct Read {
    threads: u32,
    verb: String,
    seconds: u32,
    kilobytes: u32,
    order: String,
    outstanding: u32,
    megabytes: u32,
    requests: f64,
    bytes: f64,
    latencies: [u32; 3],
}

/// The expressions of the PowerShell script that writes SQLIO's results into Excel (Jonathan Kehayias, and many copies).
fn excel(report: &str) -> Vec<Read> {
    let runs = report
        .split("sqlio v1.5.SG")
        .filter(|run| !run.trim().is_empty());
    runs.map(|run| {
        let find = |expression: &str, group: usize| {
            let captures = Regex::new(expression).expect("valid").captures(run);
            let found = captures.and_then(|found| Some(found.get(group)?.as_str().to_owned()));
            found.unwrap_or_default()
        };
        let int = |expression: &str, group| find(expression, group).parse().unwrap_or(u32::MAX);
        let float = |expression: &str| find(expression, 1).parse().unwrap_or(f64::NAN);
        Read {
            threads: int(r"(\d+)?\sthreads\s(reading|writing)", 1),
            verb: find(r"(\d+)?\sthreads\s(reading|writing)", 2),
            seconds: int(r"for\s(\d+)?\ssecs", 1),
            kilobytes: int(r"\tusing\s(\d+)?KB\s(sequential|random)", 1),
            order: find(r"\tusing\s(\d+)?KB\s(sequential|random)", 2),
            outstanding: int(r"with\s(\d+)?\soutstanding", 1),
            megabytes: int(r"\s(\d+)?\sMB\sfor\sfile", 1),
            requests: float(r"IOs/sec:\s+(\d+\.\d+)?"),
            bytes: float(r"MBs/sec:\s+(\d+\.\d+)?"),
            latencies: [
                int(r"Min.{0,}?:\s(\d+)?", 1),
                int(r"Avg.{0,}?:\s(\d+)?", 1),
                int(r"Max.{0,}?:\s(\d+)?", 1),
            ],
        }
    })
    .collect()
}

/// What the importer of SQLIOToolSet (C#, Wes Brown) does: words counted from the beginning of lines that contain others.
fn tool_set(report: &str) -> Read {
    let mut read = Read::default();
    let decimal = Regex::new(r"[0-9]+(?:\.[0-9]*)?").expect("valid");
    for line in report.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let int = |at: usize| words[at].parse::<u32>().expect(line);
        let float = || {
            decimal
                .find(line)
                .expect(line)
                .as_str()
                .parse()
                .expect(line)
        };
        if [
            "threads writing",
            "threads reading",
            "thread writing",
            "thread reading",
        ]
        .iter()
        .any(|part| line.contains(part))
        {
            (read.threads, read.seconds) = (int(0), int(4));
            read.verb = words[2].to_owned();
        }
        if line.contains("IOs") && line.contains("using") {
            let kilobytes = words[1].strip_suffix("KB").expect(line);
            read.kilobytes = kilobytes.parse().expect(line);
            read.order = words[2].to_owned();
        }
        if line.contains("outstanding") {
            read.outstanding = int(6);
        }
        if line.contains("IOs/sec:") {
            read.requests = float();
        }
        if line.contains("MBs/sec:") {
            read.bytes = float();
        }
        for (at, name) in ["Min_Latency(ms):", "Avg_Latency(ms):", "Max_Latency(ms):"]
            .iter()
            .enumerate()
        {
            if line.contains(name) {
                read.latencies[at] = int(1);
            }
        }
        if line.contains("using specified size:") {
            read.megabytes = int(3);
        }
    }
    read
}

#[test]
fn public_parsers_read_it() {
    let line = "-kR -s15 -frandom -o8 -b8 -LS -Fparam.txt";
    let report = ours(
        line,
        "d:\\testfile.dat 2 0x0 100\n",
        100,
        &[(9_000, 1250), (100, 30_000)],
    );
    let expected = || Read {
        threads: 2,
        verb: "reading".to_owned(),
        seconds: 15,
        kilobytes: 8,
        order: "random".to_owned(),
        outstanding: 8,
        megabytes: 100,
        requests: 606.67,
        bytes: 4.74,
        latencies: [1, 1, 30],
    };
    assert_eq!(excel(&report), [expected()]);
    // Results are appended to one file, run after run.
    assert_eq!(excel(&(report.clone() + &report)), [expected(), expected()]);
    assert_eq!(tool_set(&report), expected());

    // Scripts that cut at fixed places: a value after its name, and three characters for each column of the histogram.
    let line = |begin: &str| report.lines().find(|line| line.starts_with(begin));
    let after = |name: &str| line(name).and_then(|line| line.get(name.len()..));
    assert_eq!(after("IOs/sec:").map(str::trim), Some("606.67"));
    assert_eq!(after("Avg_Latency(ms):").map(str::trim), Some("1"));
    let histogram = line("%:").expect("it is there");
    let columns: Vec<u32> = (0..25)
        .map(|column| {
            let at = 2 + 3 * column;
            histogram[at..at + 3].trim().parse().expect("a number")
        })
        .collect();
    assert_eq!((columns[1], columns[24]), (99, 1));
    assert_eq!(histogram.len(), 2 + 3 * 25);
}
