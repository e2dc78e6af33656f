//! Outputs as people paste them: every figure that is in them is read, from its line, and nothing else.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use straddle_evidence::{Gathered, Observation};
use straddle_stack::Source;
use straddle_stack::activity::{Quantity, Statistic};
use straddle_testkit::is_soak;

/// A figure, or a line that could not be read.
#[derive(Clone, Debug, PartialEq)]
struct Fact {
    line: u64,
    /// Subject and quantity; empty for a line that could not be read.
    what: String,
    value: f64,
    span: String,
    at: String,
}

impl Fact {
    fn is(&self, other: &Fact) -> bool {
        let near = (self.value - other.value).abs() <= 1e-6 * self.value.abs().max(1e-9);
        (self.line, &self.what, &self.span, &self.at)
            == (other.line, &other.what, &other.span, &other.at)
            && near
    }
}

fn expected(path: &Path) -> Vec<Fact> {
    let text = fs::read_to_string(path).expect("facts");
    let lines = text
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty());
    let fact = |line: &str| {
        let cells: Vec<&str> = line.split('\t').collect();
        let number = cells[0]
            .parse()
            .unwrap_or_else(|_| panic!("{}: {line}", path.display()));
        if cells[1] == "?" {
            return Fact {
                line: number,
                what: String::new(),
                value: 0.0,
                span: String::new(),
                at: String::new(),
            };
        }
        Fact {
            line: number,
            what: format!("{} {}", cells[1], cells[2]),
            value: cells[3]
                .parse()
                .unwrap_or_else(|_| panic!("{}: {line}", path.display())),
            span: cells[4].to_owned(),
            at: clock(cells[5]),
        }
    };
    lines.map(fact).collect()
}

/// A time without its zone, which only the file knows, and without zeroes at its end.
fn clock(text: &str) -> String {
    let end = text
        .get(19..)
        .and_then(|rest| rest.find(['+', '-', 'Z', ' ']));
    let text = &text[..end.map_or(text.len(), |end| end + 19)];
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    }
}

fn read(path: &Path, bytes: &[u8]) -> (Vec<Fact>, Gathered) {
    let facts = Rc::new(RefCell::new(Vec::new()));
    let into = Rc::clone(&facts);
    let mut gathered = Gathered::observed(move |figure: &Observation<'_>| {
        let statistic = match figure.statistic {
            Statistic::Mean => String::new(),
            other => format!("-{other}"),
        };
        into.borrow_mut().push(Fact {
            line: figure.line,
            what: format!("{} {}{statistic}", figure.subject, figure.quantity),
            value: figure.value.get(),
            span: figure.span.name().to_owned(),
            at: figure
                .at
                .map_or_else(|| "-".to_owned(), |at| at.to_string()),
        });
    });
    let name = path.display().to_string();
    straddle_evidence::read(&name, &mut &bytes[..], &mut gathered).expect("read");
    let mut facts = facts.borrow().clone();
    for counted in gathered
        .counted
        .iter()
        .filter(|counted| counted.what == "not understood")
    {
        let Source::Captured { line, .. } = &counted.first else {
            panic!("a line");
        };
        // Only the first is located; the others are counted.
        for _ in 0..counted.count {
            facts.push(Fact {
                line: *line,
                what: String::new(),
                value: 0.0,
                span: String::new(),
                at: String::new(),
            });
        }
    }
    (facts, gathered)
}

fn captures() -> Vec<(PathBuf, PathBuf)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/evidence");
    let mut found = Vec::new();
    for folder in fs::read_dir(root).expect("the corpus") {
        for entry in fs::read_dir(folder.expect("an entry").path()).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.extension().is_some_and(|end| end != "facts") {
                let facts = path.with_extension("facts");
                found.push((path, facts));
            }
        }
    }
    found.sort();
    found
}

fn differences(expected: &[Fact], found: &[Fact]) -> String {
    let mut out = String::new();
    let is_unread = |fact: &&Fact| fact.what.is_empty();
    let first = |facts: &[Fact]| facts.iter().filter(is_unread).map(|fact| fact.line).min();
    let count = |facts: &[Fact]| facts.iter().filter(is_unread).count();
    if (first(expected), count(expected)) != (first(found), count(found)) {
        let lines: Vec<u64> = expected
            .iter()
            .filter(is_unread)
            .map(|fact| fact.line)
            .collect();
        let _ = writeln!(
            out,
            "  not understood: {lines:?}, found {} from {:?} on",
            count(found),
            first(found)
        );
    }
    let mut rest: Vec<&Fact> = found.iter().filter(|fact| !fact.what.is_empty()).collect();
    for fact in expected.iter().filter(|fact| !fact.what.is_empty()) {
        match rest.iter().position(|other| fact.is(other)) {
            Some(at) => {
                rest.remove(at);
            }
            None => {
                let _ = writeln!(out, "  missing {fact:?}");
            }
        }
    }
    for fact in rest {
        let _ = writeln!(out, "  besides {fact:?}");
    }
    out
}

#[test]
fn every_figure_is_read_from_its_line() {
    let only = std::env::var("STRADDLE_CORPUS").unwrap_or_default();
    let (mut all, mut failed) = (0, String::new());
    for (path, facts) in captures() {
        if !path.display().to_string().contains(&only) {
            continue;
        }
        all += 1;
        let bytes = fs::read(&path).expect("a capture");
        let (found, _) = read(&path, &bytes);
        let differences = differences(&expected(&facts), &found);
        if !differences.is_empty() {
            let _ = writeln!(failed, "{}\n{differences}", path.display());
        }
    }
    assert!(failed.is_empty(), "{failed}");
    assert!(all >= 120 || !only.is_empty(), "{all} captures");
}

/// The text of a capture, where it is UTF-8 without a mark.
/// Captures in UTF-8 with the line ends of Unix, and what is read from them.
fn plain() -> impl Iterator<Item = (PathBuf, String, Vec<Fact>)> {
    captures().into_iter().filter_map(|(path, _)| {
        let text = String::from_utf8(fs::read(&path).expect("a capture")).ok()?;
        let is_plain = !text.starts_with('\u{feff}') && !text.contains('\r');
        is_plain.then(|| {
            let (whole, _) = read(&path, text.as_bytes());
            (path, text, whole)
        })
    })
}

fn figures(facts: &[Fact]) -> Vec<&Fact> {
    facts.iter().filter(|fact| !fact.what.is_empty()).collect()
}

fn same(a: &[&Fact], b: &[&Fact]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.is(b))
}

#[test]
fn encodings_line_ends_and_packing_make_no_difference() {
    let mut wrong = Vec::new();
    for (path, text, whole) in plain() {
        let wide: Vec<u8> = [0xfeff]
            .into_iter()
            .chain(text.encode_utf16())
            .flat_map(u16::to_le_bytes)
            .collect();
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut packed, text.as_bytes()).expect("memory");
        for (what, bytes) in [
            ("UTF-16", wide),
            ("CR LF", text.replace('\n', "\r\n").into_bytes()),
            ("gzip", packed.finish().expect("memory")),
        ] {
            let (other, _) = read(&path, &bytes);
            if !same(&figures(&whole), &figures(&other)) {
                wrong.push(format!("{what}: {}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// What collectors put before each line, by the number of the line.
const COLLECTED: [fn(usize) -> String; 7] = [
    |at| {
        format!(
            "Mar 14 10:{:02}:{:02} db05 watch[4711]: ",
            at / 60 % 60,
            at % 60
        )
    },
    |at| format!("2024-03-14T10:{:02}:{:02}.123456Z ", at / 60 % 60, at % 60),
    |_| "[pod/db-0/watch] ".to_owned(),
    |_| "db-1  | ".to_owned(),
    |at| format!("{:6}\t", at + 1),
    |at| format!("mon/a.log:{}:", at + 1),
    |_| "-- ".to_owned(),
];

#[test]
fn what_collectors_put_before_lines_makes_no_difference() {
    // Whose lines depend on each other by their width, or have a prompt, a page or a collector around them already.
    const OTHERS: [&str; 12] = [
        "quoted", "wrapped", "prompt", "prefix", "comment", "compose", "html", "fence", "markdown",
        "grep", "gist", "winevent",
    ];
    let mut wrong = Vec::new();
    let mut all = 0;
    for (path, text, whole) in plain() {
        let name = path.display().to_string();
        if OTHERS.iter().any(|other| name.contains(other)) || text.contains('\u{1b}') {
            continue;
        }
        let bare = |facts: &[Fact]| -> Vec<Fact> {
            // A line that says no time has that of its collector.
            let figures = facts.iter().filter(|fact| !fact.what.is_empty()).cloned();
            figures
                .map(|fact| Fact {
                    at: String::new(),
                    ..fact
                })
                .collect()
        };
        for (index, before) in COLLECTED.iter().enumerate() {
            all += 1;
            let lines = text.lines().enumerate();
            let lines: Vec<String> = lines.map(|(at, line)| before(at) + line).collect();
            let (other, _) = read(&path, lines.join("\n").as_bytes());
            let (expected, found) = (bare(&whole), bare(&other));
            let (expected, found): (Vec<_>, Vec<_>) =
                (expected.iter().collect(), found.iter().collect());
            if !same(&expected, &found) {
                wrong.push(format!(
                    "{index}: {name}: {} of {}",
                    found.len(),
                    expected.len()
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(all > 1_000, "{all}");
}

#[test]
fn what_is_cut_off_loses_its_end_only() {
    /// Lines before the cut that may belong to what was cut: a message over several lines, a row of one column a line.
    const NEAR: u64 = 48;
    let mut wrong = Vec::new();
    for (path, text, whole) in plain() {
        // Rates of an XML result stand at its beginning and are known at its end.
        let is_xml = path.extension().is_some_and(|end| end == "xml");
        for part in [2, 5] {
            let at = text.len() * part / 6;
            let at = (0..=at)
                .rev()
                .find(|at| text.is_char_boundary(*at))
                .unwrap_or_default();
            let cut = &text[..at];
            let last = u64::try_from(cut.matches('\n').count()).expect("few") + 1;
            let (found, _) = read(&path, cut.as_bytes());
            let before = |facts: &[Fact]| -> Vec<Fact> {
                let near = |fact: &&Fact| !fact.what.is_empty() && fact.line + NEAR < last;
                facts.iter().filter(near).cloned().collect()
            };
            let (kept, expected) = (before(&found), before(&whole));
            let (kept, expected): (Vec<_>, Vec<_>) =
                (kept.iter().collect(), expected.iter().collect());
            if !is_xml && !same(&kept, &expected) {
                wrong.push(format!(
                    "{} cut at byte {at}: {} of {}",
                    path.display(),
                    kept.len(),
                    expected.len()
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// For every commit one of three captures of each format, in a soak all.
#[test]
fn a_log_of_any_length_is_read_as_a_short_one() {
    // What mail, terminals and pages put around a text is taken off short ones only.
    const DRESSED: [&str; 9] = [
        "quoted", "mail", "ansi", "html", "wrapped", "markdown", "fence", "web", "blog",
    ];
    let padding = format!("{}\n", " ".repeat(4095)).repeat(257);
    let lines = 257;
    let mut wrong = Vec::new();
    let mut of: BTreeMap<PathBuf, usize> = BTreeMap::new();
    let mut all = 0;
    for (path, text, whole) in plain() {
        let name = path.display().to_string();
        if DRESSED.iter().any(|dress| name.contains(dress)) || text.contains(['\u{1b}', '\u{a0}']) {
            continue;
        }
        let format = of.entry(path.with_file_name("")).or_default();
        *format += 1;
        if *format % 3 != 1 && !is_soak() {
            continue;
        }
        all += 1;
        let (mut long, _) = read(&path, format!("{padding}{text}").as_bytes());
        for fact in &mut long {
            fact.line -= lines;
        }
        if !same(&figures(&whole), &figures(&long)) {
            wrong.push(format!(
                "{name}: {} of {}",
                figures(&long).len(),
                figures(&whole).len()
            ));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let most: usize = of.values().sum();
    assert!(most > 100 && of.len() > 15, "{of:?}");
    assert!(3 * all >= most, "{all}");
}

/// A line of a stall is English but for the file's name, which alone does not tell its code page; the lines around it do.
#[test]
fn a_long_log_is_decoded_by_more_than_one_line() {
    let other = "2024-03-05 10:11:12.34 Server      \u{30c9}\u{30e9}\u{30a4}\u{30d6} E: \u{30d0}\u{30a4}\u{30c8}\n";
    let stall = "2024-03-05 10:11:12.34 spid7s      SQL Server has encountered 3 occurrence(s) of I/O requests taking longer than 15 seconds to complete \
                 on file [E:\\\u{58f2}\u{4e0a}\\sales.mdf] in database [sales] (5).\n";
    let mut text = String::new();
    while text.len() < 3 << 20 {
        for _ in 0..50 {
            text.push_str(other);
        }
        text.push_str(stall);
    }
    let (bytes, _, _) = encoding_rs::SHIFT_JIS.encode(&text);
    assert!(bytes.len() > 2 << 20);
    let (facts, _) = read(Path::new("ERRORLOG"), &bytes);
    let stalls = text.matches("occurrence(s)").count();
    let named = |fact: &&Fact| fact.what.contains("E:\\\u{58f2}\u{4e0a}\\sales.mdf");
    assert_eq!(
        (facts.len(), facts.iter().filter(named).count()),
        (stalls, stalls),
        "{:?}",
        facts.first()
    );
}

#[test]
fn a_counter_that_started_over_is_compared_with_its_own_readings_only() {
    let text = "Mon Jun  2 08:00:00 UTC 2025\n   8      16 sdb 91000 0 1456000 364000 20000 0 320000 60000 0 200000 424000\n\
                Mon Jun  2 09:00:00 UTC 2025\n   8      16 sdb 400 0 6400 1600 300 0 4800 900 0 1200 2500\n\
                Mon Jun  2 10:00:00 UTC 2025\n   8      16 sdb 92400 0 1478400 371600 20300 0 324800 60900 0 210000 432500\n";
    let (_, gathered) = read(Path::new("diskstats"), text.as_bytes());
    let reads: Vec<(f64, f64)> = gathered
        .series()
        .flat_map(|(_, series)| series)
        .filter(|series| series.quantity == Quantity::Reads)
        .map(|series| {
            (
                series.summary.first.value.get(),
                series.summary.last.value.get(),
            )
        })
        .collect();
    assert_eq!(reads, [(400.0, 92_400.0)]);
}

#[test]
fn a_broken_archive_is_said_and_what_was_read_before_is_kept() {
    let log = fs::read_to_string(
        captures()[0]
            .0
            .parent()
            .expect("a folder")
            .join("../errorlog/bare-message-no-time.txt"),
    );
    let log = log.expect("a capture");
    let mut whole = Gathered::new();
    straddle_evidence::read("log.gz", &mut log.as_bytes(), &mut whole).expect("sound");
    assert_eq!(whole.figures, 1);
    // Read at once, and by a thread of its own.
    for lines in [20_000, 600_000] {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        let noise: String = (0..lines)
            .map(|n: u64| format!("{}\n", n * 7919 % 10_007))
            .collect();
        let log = log.clone() + &noise;
        std::io::Write::write_all(&mut packed, log.as_bytes()).expect("memory");
        let mut bytes = packed.finish().expect("memory");
        let mut gathered = Gathered::new();
        straddle_evidence::read("log.gz", &mut &bytes[..], &mut gathered).expect("sound");
        assert_eq!(gathered.figures, whole.figures, "{lines} lines, whole");
        bytes.truncate(bytes.len() - 10);
        let mut gathered = Gathered::new();
        let error =
            straddle_evidence::read("log.gz", &mut &bytes[..], &mut gathered).expect_err("broken");
        assert!(
            error
                .to_string()
                .contains("log.gz: the gzip stream is broken"),
            "{error}"
        );
        assert_eq!(gathered.figures, whole.figures, "{lines} lines");
    }
}

#[test]
fn times_that_a_server_did_not_measure_are_counted_where_there_should_be_some() {
    let database = |reads: u32, time: &str| {
        format!(
            " datname | blks_read | blk_read_time | blk_write_time \n---------+-----------+---------------+----------------\n \
             shop    | {reads} | {time} | 0\n"
        )
    };
    let wal = |writes: u32, time: &str| {
        format!(
            " wal_records | wal_write | wal_sync | wal_write_time | wal_sync_time \n-------------+-----------+----------+----------------+---------------\n \
             90210 | {writes} | 7 | {time} | 12.5\n"
        )
    };
    // With a time, without one, and without one of so few that it may have been none.
    for (text, has_time, line) in [
        (database(10_000, "31.5"), true, None),
        (database(10_000, "0"), false, Some(3)),
        (database(9_999, "0"), false, None),
        (wal(10_000, "31.5"), true, None),
        (wal(10_000, "0"), false, Some(3)),
        (wal(9_999, "0"), false, None),
    ] {
        let (facts, gathered) = read(Path::new("text"), text.as_bytes());
        let found: Vec<u64> = (gathered.counted.iter())
            .filter(|counted| counted.what.contains("the server did not measure"))
            .map(|counted| match &counted.first {
                Source::Captured { line, .. } => *line,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(found, Vec::from_iter(line), "{text}");
        let times = facts
            .iter()
            .filter(|fact| {
                fact.what.ends_with(" read-time") || fact.what.ends_with("wal write-time")
            })
            .count();
        assert_eq!(times, usize::from(has_time), "{text}");
    }
}

#[test]
fn lines_of_other_hosts_are_counted_and_located() {
    let iostat = |host: &str, await_: &str| {
        format!(
            "2024-07-02T09:00:15Z {host} iostat[7]: Device r/s w/s await %util\n\
             2024-07-02T09:00:15Z {host} iostat[7]: sda 1.00 2.00 {await_} 50.00\n"
        )
    };
    let banner = |host: &str, await_: &str| {
        format!(
            "Linux 6.1.0 ({host}) \t05/06/24 \t_x86_64_\t(2 CPU)\n\
             Device r/s w/s await %util\nsda 1.00 2.00 {await_} 50.00\n"
        )
    };
    let stall = |host: &str| {
        format!(
            "2024-07-02T09:00:15Z {host} sqlservr[7]: 2024-07-02 09:00:14.11 spid9s SQL Server has encountered 2 occurrence(s) of I/O \
             requests taking longer than 15 seconds to complete on file [/d/a.mdf] in database [a] (7).\n"
        )
    };
    for (text, expected) in [
        (iostat("db1", "3.00") + &iostat("db2", "9.00"), Some((2, 3))),
        (iostat("db1", "3.00") + &iostat("DB1", "9.00"), None),
        (stall("db1") + &stall("db1") + &stall("db2"), Some((1, 3))),
        // A zone and a severity are no host.
        (
            "2024-03-31 01:59:59 CET LOG:  checkpoint complete: wrote 1 buffers (0.1%); 0 WAL file(s) added, 0 removed, 0 recycled; \
             write=1.0 s, sync=0.1 s, total=1.2 s\n"
                .to_owned()
                + "2024-03-31 03:59:59 CEST LOG:  checkpoint complete: wrote 1 buffers (0.1%); 0 WAL file(s) added, 0 removed, 0 recycled; \
             write=1.0 s, sync=0.1 s, total=1.2 s\n",
            None,
        ),
        (
            "ServerName,PhysicalName,num_of_reads,io_stall_read_ms\nA,E:\\a.mdf,10,20\nB,E:\\a.mdf,10,30\nB,E:\\b.mdf,1,3\n".to_owned(),
            Some((2, 3)),
        ),
        (
            "\"(PDH-CSV 4.0)\",\"\\\\A\\LogicalDisk(E:)\\Avg. Disk sec/Read\",\"\\\\B\\LogicalDisk(E:)\\Avg. Disk sec/Read\"\n".to_owned(),
            Some((1, 1)),
        ),
        (
            "\"Timestamp\",\"Path\",\"CookedValue\"\n\"5/6/2024 2:00:15 PM\",\"\\\\a\\logicaldisk(e:)\\disk reads/sec\",\"7\"\n\
             \"5/6/2024 2:00:15 PM\",\"\\\\b\\logicaldisk(e:)\\disk reads/sec\",\"8\"\n"
                .to_owned(),
            Some((1, 3)),
        ),
        (
            "Timestamp            CounterSamples\n---------            --------------\n\
             5/6/2024 2:00:15 PM  \\\\a\\logicaldisk(e:)\\disk reads/sec :\n                     7\n\
             \x20                    \\\\b\\logicaldisk(e:)\\disk reads/sec :\n                     8\n"
                .to_owned(),
            Some((1, 6)),
        ),
        (
            banner("db1", "3.00") + &banner("db1.corp.example", "4.00") + &banner("db2.corp.example", "9.00"),
            Some((1, 7)),
        ),
        (
            "Date: 5/6/2024 2:00:15 PM\nComputer: A.x\nDate: 5/6/2024 2:00:16 PM\nComputer: B.x\nDescription:\n\
             There have been 256 misaligned log IOs which required falling back to synchronous IO.  The current IO is on file E:\\a.ldf.\n"
                .to_owned(),
            Some((1, 4)),
        ),
        (
            "db1;600;2024-07-02 09:10:01 UTC;sda;60.50;384.00;1164.00;0.00;25.59;0.44;7.25;21.30\n\
             db2;600;2024-07-02 09:10:01 UTC;sda;60.50;384.00;1164.00;0.00;25.59;0.44;7.25;21.30\n"
                .to_owned(),
            Some((1, 2)),
        ),
    ] {
        let (_, gathered) = read(Path::new("text"), text.as_bytes());
        let counted = gathered
            .counted
            .iter()
            .find(|counted| counted.what == "of another host than the first");
        let found = counted.map(|counted| match &counted.first {
            Source::Captured { line, .. } => (counted.count, *line),
            _ => panic!("a line"),
        });
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn events_without_figures_are_counted_and_located() {
    const FAILED: &str = "about a failed backup (message 3041)";
    const PAGED_OUT: &str = "about the server's memory, which was paged out (message 17890)";
    let counted = |bytes: &[u8]| -> Vec<(&str, u64, u64)> {
        let (_, gathered) = read(Path::new("log"), bytes);
        let counted = gathered.counted.iter().map(|counted| match &counted.first {
            Source::Captured { line, .. } => (counted.what, counted.count, *line),
            _ => panic!("a line"),
        });
        counted.collect()
    };
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/evidence/errorlog/events-xml-of-wevtutil.xml");
    let xml = fs::read(&path).expect("a capture");
    assert_eq!(counted(&xml), [(PAGED_OUT, 1, 2), (FAILED, 1, 4)]);
    let text = "\
2024-03-04 02:10:11.12 Backup      Error: 3041, Severity: 16, State: 1.
2024-03-04 02:10:11.12 Backup      BACKUP failed to complete the command BACKUP DATABASE a. Check the backup application log for detailed messages.
2024-03-04 02:12:11.12 spid2s      A significant part of sql server process memory has been paged out. This may result in a performance degradation.
2024-03-04 02:20:11.12 Backup      BACKUP failed to complete the command BACKUP LOG a. Check the backup application log for detailed messages.
";
    assert_eq!(
        counted(text.as_bytes()),
        [(FAILED, 2, 2), (PAGED_OUT, 1, 3)]
    );
    let text = r"
2024-05-06 03:01:48.10 spid14s     FlushCache: cleaned up 12773 bufs with 2061 writes in 96736 ms (avoided 11 new dirty bufs) for db 5:0
2024-05-06 03:01:48.10 spid14s                 average throughput:   1.03 MB/sec, I/O saturation: 3196, context switches 2913
2024-05-06 03:01:48.10 spid14s                 last target outstanding: 14, avgWriteLatency 8
2024-05-06 03:02:10.00 spid55      Error: 823, Severity: 24, State: 2.
2024-05-06 03:02:10.00 spid55      The operating system returned error 21(The device is not ready.) to SQL Server during a read at offset 0x14000 in file 'E:\x.mdf'.
2024-05-06 03:02:11.00 spid55      SQL Server detected a logical consistency-based I/O error: incorrect checksum (expected: 0x1; actual: 0x2).
2024-05-06 03:02:12.00 spid55      A read of the file 'E:\x.mdf' at offset 0x14000 succeeded after failing 2 time(s) with error: 121(x).
2024-05-06 03:02:13.00 spid9s      E:\x.ldf: Operating system error 112(There is not enough space on the disk.) encountered.
2024-05-06 03:02:14.00 spid55      I/O is frozen on database msdb. No user action is required.
2024-05-06 03:02:15.00 spid55      I/O was resumed on database msdb. No user action is required.
";
    let lines: Vec<u64> = counted(text.as_bytes())
        .iter()
        .map(|(_, _, line)| *line)
        .collect();
    assert_eq!(lines, [2, 6, 7, 8, 9, 10]);
    // The XML that Event Viewer copies below a message is of the same event.
    let copied = "Date: 5/6/2024 2:00:15 PM\nDescription:\nBACKUP failed to complete the command BACKUP DATABASE hr. Check the backup log.\n\
                  Event Xml:\n<Event xmlns=\"x\"><System><EventID Qualifiers=\"49152\">3041</EventID></System>\n\
                  <EventData><Data>BACKUP DATABASE hr</Data></EventData></Event>\n";
    assert_eq!(counted(copied.as_bytes()), [(FAILED, 1, 3)]);
}
