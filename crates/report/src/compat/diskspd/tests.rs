use regex::Regex;
use straddle_bench::compat::diskspd::parse;
use straddle_bench::plan::Slot;

use super::*;

fn side(count: u64, block: u64, microseconds: std::ops::Range<u64>) -> Side {
    let mut side = Side {
        requests: count,
        bytes: Bytes::new(count * block),
        latencies: Latencies::new(),
    };
    let span = microseconds.end - microseconds.start;
    for at in 0..count {
        side.latencies
            .record((microseconds.start + at * span / count) * 1000);
    }
    side
}

fn sample(reads: Side, writes: Side) -> Sample {
    Sample {
        slot: Slot {
            cell: 0,
            block: 0,
            position: 0,
            offset: 0,
        },
        began: Duration::ZERO,
        took: Duration::from_secs(10),
        reads,
        writes,
        ticks: Vec::new(),
        stamp_error: Duration::ZERO,
        issued: straddle_bench::sample::Issued::default(),
        devices: Vec::new(),
        processor: Duration::ZERO,
    }
}

fn ours(line: &str, mut make: impl FnMut(u32) -> Sample) -> String {
    let words: Vec<&str> = line.split_whitespace().skip(1).collect();
    let command = parse(&words).expect(line);
    let (threads, _) = command.workload();
    let mut rows = Vec::new();
    for path in &command.targets {
        for _ in 0..threads {
            let thread = u32::try_from(rows.len()).expect("few");
            rows.push(Row {
                thread,
                path,
                size: Bytes::mib(1024),
                sample: make(thread),
            });
        }
    }
    report(&Run {
        line,
        command: &command,
        seed: command.seed.unwrap_or(0),
        host: "lab1",
        began: Duration::from_secs(1_795_332_600),
        version: "1.2.3",
        processors: vec![
            Processor {
                user: Duration::from_millis(1500),
                kernel: Duration::from_millis(3500),
                idle: Duration::from_secs(5),
            },
            Processor {
                user: Duration::ZERO,
                kernel: Duration::ZERO,
                idle: Duration::from_secs(10),
            },
        ],
        rows,
    })
}

/// Holds a report against the one that is kept; `STRADDLE_UPDATE=1` rewrites it.
fn expect(name: &str, kept: &str, report: &str) {
    if std::env::var_os("STRADDLE_UPDATE").is_some() {
        let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/src/compat/diskspd/");
        std::fs::write(format!("{directory}{name}"), report).expect("writable");
        return;
    }
    assert_eq!(report, kept, "{report}");
}

const MIX: &str = "diskspd -b8K -d10 -o4 -t2 -h -r -w25 -L -Z1G -c1G iotest.dat";

fn mix() -> String {
    ours(MIX, |thread| {
        let more = u64::from(thread) * 1000;
        sample(
            side(30_000 + more, 8192, 100..900),
            side(10_000 + more, 8192, 500..20_000),
        )
    })
}

#[test]
fn a_mix_with_latencies() {
    let report = mix();
    expect("mix.txt", include_str!("mix.txt"), &report);
}

#[test]
fn reads_of_two_files_without_latencies() {
    let report = ours("diskspd -b64K -d10 -s -n -v -B32256 a.dat b.dat", |_| {
        sample(side(12_345, 65_536, 100..900), Side::default())
    });
    expect("reads.txt", include_str!("reads.txt"), &report);
}

#[test]
fn latencies_of_reads_only_and_of_each_target() {
    let report = ours("diskspd -b64K -d10 -L -Su a.dat b.dat", |_| {
        sample(side(100, 65_536, 100..900), Side::default())
    });
    assert!(report.contains("\na.dat\n  %-ile |"), "{report}");
    assert!(report.contains("\nb.dat\n  %-ile |"), "{report}");
    assert!(report.contains("\ntotal:\n  %-ile |"), "{report}");
    assert!(
        report.contains("    min |      0.100 |        N/A |      0.100\n"),
        "{report}"
    );
    assert!(
        report.contains("     0 |               0 |            0 |       0.00 |       0.00 |    0.000 |       N/A | a.dat (1024MiB)\n"),
        "{report}"
    );
}

#[test]
fn sizes_have_two_digits_at_least() {
    let cases = [
        (0, "0B"),
        (10_240, "10240B"),
        (10_241, "10KiB"),
        (10 << 20, "10240KiB"),
        ((10 << 20) + 1, "10MiB"),
        (1 << 30, "1024MiB"),
        (20 << 30, "20GiB"),
    ];
    for (bytes, text) in cases {
        assert_eq!(size(Bytes::new(bytes)), text);
    }
}

/// `DiskSpdParser.ps1`: the second line is the command, the first line with `total` has the figures between bars.
#[test]
fn the_parser_that_takes_the_first_total() {
    let report = mix();
    let second = report.lines().nth(1);
    assert_eq!(second, Some(format!("Command Line: {MIX}").as_str()));
    let total = report.lines().find(|line| line.contains("total"));
    let total = total.expect("it is there").replace("total:", "");
    let figures: Vec<&str> = total.split('|').map(str::trim).collect();
    let [bytes, requests, mebibytes, rate, mean, deviation] = figures.as_slice() else {
        panic!("{total}");
    };
    assert_eq!((*bytes, *requests), ("671744000", "82000"));
    assert_eq!((*mebibytes, *rate), ("64.06", "8200.00"));
    assert!(
        mean.parse::<f64>()
            .is_ok_and(|mean| (1.0..6.0).contains(&mean))
    );
    assert!(deviation.parse::<f64>().is_ok());
}

/// What scripts search with `Select-String`, `-match` and `split`, by the sections of the report.
#[test]
fn parsers_by_sections() {
    let report = mix();
    let find = |expression: &str| {
        let captures = Regex::new(expression).expect("valid").captures(&report);
        captures.map(|found| found[1].to_owned())
    };
    // The row of totals behind each title.
    let total = r"IO\nthread[^\n]*\n-+\n(?:\s+\d+ \|[^\n]*\n)+-+\ntotal:\s+\d+ \|\s+(\d+) \|";
    assert_eq!(find(&format!("Total {total}")).as_deref(), Some("82000"));
    assert_eq!(find(&format!("Read {total}")).as_deref(), Some("61000"));
    assert_eq!(find(&format!("Write {total}")).as_deref(), Some("21000"));
    assert_eq!(find(r"avg\.\|\s+([\d.]+)%").as_deref(), Some("25.00"));
    assert_eq!(
        find(r"actual test time:\s+([\d.]+)s").as_deref(),
        Some("10.00")
    );
    assert_eq!(find(r"thread count:\s+(\d+)").as_deref(), Some("2"));
    assert_eq!(
        find(r"(?m)^\s+99th \|\s+([\d.]+) \|").as_deref(),
        Some("0.891")
    );
    assert_eq!(find(r"block size: (\d+)").as_deref(), Some("8192"));
    assert_eq!(
        find(r"read/write ratio: (\d+/\d+)").as_deref(),
        Some("75/25")
    );
    assert_eq!(find(r"threads per file: (\d+)").as_deref(), Some("2"));
}
