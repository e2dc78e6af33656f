use super::*;
use crate::plan::Slot;
use crate::sample::Side;
use std::fs;
use straddle_geometry::Unit;
use straddle_workload::offset::Offset;
use straddle_workload::{Pattern, Percent, Workload};

fn header() -> Header {
    let offset = |name: &str, bytes| Offset {
        name: name.to_owned(),
        bytes: Bytes::new(bytes),
    };
    Header {
        schema: SCHEMA.to_owned(),
        version: "0.1.0".to_owned(),
        token: "0123456789abcdef0123456789abcdef".to_owned(),
        began: Duration::new(1_700_000_000, 5),
        named: "/mnt".to_owned(),
        path: PathBuf::from("/mnt/straddle-bench.dat"),
        role: Role::Own,
        direct: true,
        engine: None,
        durability: DurabilityName::Cached,
        atomic: false,
        polled: false,
        verify: false,
        span: Some(Bytes::mib(16)),
        stripe_unit: Unit::new(65_536),
        stripe_width: None,
        plan: Plan {
            cells: vec![Workload {
                reads: Percent::ALL,
                pattern: Pattern::Random,
                sizes: vec![(Unit::new(8192).expect("not zero"), 1)],
                workers: 1,
                outstanding: 1,
                think: Duration::ZERO,
                rate: None,
            }],
            names: Vec::new(),
            replay: None,
            offsets: vec![offset("unaligned", 32_256), offset("1M", 1 << 20)],
            measured: Duration::from_secs(1),
            warm_up: Duration::ZERO,
            least_blocks: 3,
            most_blocks: 9,
            precision: 0.01,
            budget: None,
            seed: 7,
        },
    }
}

fn sample(block: u32, position: u32, requests: u64) -> Sample {
    let mut reads = Side::default();
    for n in 0..requests {
        reads.latencies.record(1000 + n * 17);
    }
    reads.requests = requests;
    reads.bytes = Bytes::new(requests * 8192);
    Sample {
        slot: Slot {
            cell: 0,
            block,
            position,
            offset: position % 2,
        },
        began: Duration::from_millis(u64::from(block * 3 + position) * 1100),
        took: Duration::from_secs(1),
        reads,
        writes: Side::default(),
        ticks: vec![1, 2, 3],
        stamp_error: Duration::from_nanos(12),
        issued: crate::sample::Issued::default(),
        devices: Vec::new(),
        processor: Duration::from_millis(300),
    }
}

const IDENTITY: Identity = Identity {
    device: 5,
    inode: 77,
};

/// A journal with two whole blocks and one run of a third.
fn written(dir: &Path) -> PathBuf {
    fs::create_dir_all(dir).expect("a folder");
    let path = dir.join("journal");
    let mut journal = Journal::create(&path, header()).expect("is made");
    let (size, identity) = (Bytes::mib(32), IDENTITY);
    journal.ready(Ready { identity, size }).expect("writes");
    let placed = Arrangement {
        base: Bytes::mib(1),
        span: Bytes::mib(16),
        engine: "pread".to_owned(),
        reason: "--engine".to_owned(),
        trial: vec![("pread".to_owned(), 123.456)],
    };
    journal.placed(&placed).expect("writes");
    for block in 0..2 {
        for position in 0..3 {
            let sample = sample(block, position, 10 + u64::from(position));
            journal.sample(&sample).expect("writes");
        }
    }
    journal.sample(&sample(2, 0, 5)).expect("writes");
    path
}

fn resumed(path: &Path) -> Result<Recorded, JournalError> {
    Journal::resume(path).map(|(_, recorded)| recorded)
}

#[test]
fn what_is_written_reads_back_without_the_unfinished_block() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let path = written(dir.path());
    let recorded = resumed(&path).expect("reads");
    assert_eq!(recorded.header, header());
    assert_eq!(recorded.ready.map(|ready| ready.identity), Some(IDENTITY));
    assert_eq!(recorded.ready.map(|ready| ready.size), Some(Bytes::mib(32)));
    let slots: Vec<_> = recorded
        .samples
        .iter()
        .map(|s| (s.slot.block, s.slot.position))
        .collect();
    assert_eq!(slots, [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]);
    assert_eq!(recorded.samples[4], sample(1, 1, 11));
}

/// Limits that were raised hold for the blocks behind them; the header, whose digest the test file has, stays as it was.
#[test]
fn limits_are_raised_and_never_lowered() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let path = written(dir.path());
    let most = header().plan.most_blocks;
    let before = Limits::of(&header().plan);
    let raised = Limits {
        budget: None,
        most_blocks: most + 1,
    };
    let (mut journal, recorded) = Journal::resume(&path).expect("reads");
    assert_eq!(recorded.limits, before);
    journal.raised(raised).expect("writes");
    for position in 0..3 {
        journal.sample(&sample(most, position, 9)).expect("writes");
    }
    drop(journal);
    let recorded = resumed(&path).expect("reads");
    assert_eq!(recorded.header, header());
    assert_eq!(
        (recorded.limits, recorded.plan().most_blocks),
        (raised, most + 1)
    );
    assert_eq!(recorded.samples.last().map(|s| s.slot.block), Some(most));
    // Without the line, such a block is none of the plan's; and what is lower is no limit that was raised.
    let (mut journal, _) = Journal::resume(&path).expect("reads");
    journal.sample(&sample(most + 1, 0, 9)).expect("writes");
    drop(journal);
    assert!(matches!(resumed(&path), Err(JournalError::Damaged { .. })));
    let path = written(&dir.path().join("other"));
    for lower in [
        Limits {
            most_blocks: most - 1,
            ..before
        },
        Limits {
            budget: Some(Duration::from_millis(1)),
            ..before
        },
    ] {
        let (mut journal, _) = Journal::resume(&path).expect("reads");
        journal.raised(lower).expect("writes");
        drop(journal);
        assert!(
            matches!(resumed(&path), Err(JournalError::Damaged { .. })),
            "{lower:?}"
        );
        fs::remove_file(&path).expect("removes");
        written(&dir.path().join("other"));
    }
}

#[test]
fn torn_at_any_byte_it_is_a_shorter_journal() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let whole = fs::read(written(dir.path())).expect("reads");
    let first = whole.iter().position(|b| *b == b'\n').expect("a line") + 1;
    let path = dir.path().join("torn");
    let mut most = 0;
    for len in (0..whole.len()).step_by(13).chain([whole.len() - 1]) {
        fs::write(&path, &whole[..len]).expect("writes");
        match resumed(&path) {
            Ok(recorded) => {
                assert!(recorded.samples.len() >= most && recorded.samples.len() % 3 == 0);
                most = recorded.samples.len();
                let cut = fs::read(&path).expect("reads");
                assert!(cut.ends_with(b"\n") && whole.starts_with(&cut));
            }
            Err(error) => {
                assert!(len < first, "{len}: {error}");
                assert!(matches!(error, JournalError::Empty { .. }), "{error}");
            }
        }
    }
    assert_eq!(most, 6);
}

#[test]
fn zeros_behind_the_last_line_are_torn_too() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let path = written(dir.path());
    let mut bytes = fs::read(&path).expect("reads");
    bytes.extend([0; 5000]);
    fs::write(&path, bytes).expect("writes");
    assert_eq!(resumed(&path).expect("reads").samples.len(), 6);
}

#[test]
fn any_other_damage_is_found_and_its_line_named() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let whole = fs::read(written(dir.path())).expect("reads");
    let path = dir.path().join("damaged");
    for at in (0..whole.len() - 1).step_by(7) {
        let mut bytes = whole.clone();
        // A bit of the last line's end would make it torn, which is not damage.
        bytes[at] ^= 0x10;
        fs::write(&path, &bytes).expect("writes");
        let line = whole[..at].iter().filter(|b| **b == b'\n').count() + 1;
        match resumed(&path).expect_err("damaged") {
            JournalError::Damaged { line: named, .. } => assert_eq!(named, line, "at {at}"),
            other => panic!("{at}: {other}"),
        }
    }
}

#[test]
fn lines_out_of_order_are_refused() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let text = fs::read_to_string(written(dir.path())).expect("reads");
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let path = dir.path().join("shuffled");
    let refused = |order: &[usize]| {
        let text: String = order.iter().map(|n| lines[*n]).collect();
        fs::write(&path, text).expect("writes");
        resumed(&path).expect_err("out of order").to_string()
    };
    assert!(refused(&[1, 0]).contains("line 1: found `filled`, expected `header`"));
    assert!(refused(&[0, 2]).contains("line 2: found `placed`, expected `filled`"));
    assert!(refused(&[0, 1, 3]).contains("line 3: found `sample`, expected `placed`"));
    assert!(refused(&[0, 1, 2, 1]).contains("line 4: found `filled`, expected `sample`"));
    assert!(refused(&[0, 0]).contains("line 2: found `header`"));
    // Runs come in the order in which they are made.
    for order in [
        &[0, 1, 2, 4][..],
        &[0, 1, 2, 3, 5],
        &[0, 1, 2, 3, 4, 5, 5],
        &[0, 1, 2, 3, 4, 5, 3],
    ] {
        let error = refused(order);
        assert!(
            error.contains("the next run of its block"),
            "{order:?}: {error}"
        );
    }
}

#[test]
fn a_block_that_was_begun_again_counts_once() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let path = written(dir.path());
    let (mut journal, _) = Journal::resume(&path).expect("reads");
    for position in 0..3 {
        journal.sample(&sample(2, position, 30)).expect("writes");
    }
    drop(journal);
    let recorded = resumed(&path).expect("reads");
    assert_eq!(recorded.samples.len(), 9);
    assert_eq!(recorded.samples[6].reads.requests, 30);
}

#[test]
fn one_that_exists_is_not_overwritten_and_says_what_to_do() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let path = written(dir.path());
    let before = fs::read(&path).expect("reads");
    let error = Journal::create(&path, header())
        .expect_err("exists")
        .to_string();
    assert!(error.contains("of which 6 runs are kept"), "{error}");
    assert!(error.contains("--resume"), "{error}");
    assert_eq!(fs::read(&path).expect("reads"), before);
    fs::write(&path, "").expect("writes");
    let error = Journal::create(&path, header())
        .expect_err("exists")
        .to_string();
    assert!(error.contains("is no journal that can be read"), "{error}");
}

#[test]
fn a_journal_in_use_is_left_alone() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let path = written(dir.path());
    let open = Journal::resume(&path).expect("reads");
    let error = resumed(&path).expect_err("in use");
    assert!(matches!(error, JournalError::InUse { .. }), "{error}");
    drop(open);
    resumed(&path).expect("free again");
}

#[test]
fn what_somebody_else_wrote_is_neither_added_to_nor_removed() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let path = written(dir.path());
    let whole = fs::read(&path).expect("reads");
    let mut longer = whole.clone();
    longer.extend(b"a stranger's line\n");
    for other in [&b""[..], b"a stranger's", &longer] {
        fs::write(&path, &whole).expect("writes");
        let (mut journal, _) = Journal::resume(&path).expect("reads");
        // As `cp` and `>>` do it: the same file.
        fs::write(&path, other).expect("writes");
        let error = journal.sample(&sample(2, 0, 1)).expect_err("changed");
        assert!(matches!(error, JournalError::Changed { .. }), "{error}");
        let error = journal.remove().expect_err("changed");
        assert!(matches!(error, JournalError::NotRemoved { .. }), "{error}");
        assert_eq!(fs::read(&path).expect("is left"), other);
    }
}

#[test]
fn a_stranger_that_takes_its_name_stays() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let path = written(dir.path());
    let (mut journal, _) = Journal::resume(&path).expect("reads");
    fs::remove_file(&path).expect("removes");
    fs::write(&path, "a stranger's").expect("writes");
    assert!(!journal.has_its_name());
    journal
        .sample(&sample(2, 0, 1))
        .expect("into the file that is held");
    journal.remove().expect_err("another file has the name");
    assert_eq!(fs::read(&path).expect("is left"), b"a stranger's");
}

/// The line of a journal with this text.
fn line(text: &str) -> String {
    format!("[\"{:08x}\",{text}]\n", crc32fast::hash(text.as_bytes()))
}

/// Each field of each line with absurd values: an error that names the line, never a crash.
#[test]
fn absurd_values_are_refused_with_the_line_that_has_them() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let text = fs::read_to_string(written(dir.path())).expect("reads");
    let values: Vec<serde_json::Value> = text
        .lines()
        .map(|line| {
            let pair: (String, serde_json::Value) = serde_json::from_str(line).expect("a line");
            pair.1
        })
        .collect();
    let absurd = [
        "18446744073709551615",
        "4294967295",
        "9223372036854775807",
        "-1",
        "1e308",
        "null",
        "[]",
        "{}",
        "\"\"",
    ];
    let mut tried = 0;
    for (number, value) in values.iter().enumerate().take(4) {
        let mut pointers = Vec::new();
        leaves(value, String::new(), &mut pointers);
        for pointer in pointers {
            for text in absurd {
                let mut changed = values.clone();
                let leaf = changed[number].pointer_mut(&pointer).expect("it is there");
                *leaf = serde_json::from_str(text).expect("JSON");
                let lines: String = changed
                    .iter()
                    .map(|value| line(&value.to_string()))
                    .collect();
                tried += 1;
                match read(Path::new("journal"), lines.as_bytes()) {
                    Err(JournalError::Damaged {
                        line,
                        found,
                        expected,
                        ..
                    }) => {
                        assert!(line > number, "{pointer} = {text}: line {line}");
                        assert!(
                            !found.is_empty() && !expected.is_empty(),
                            "{pointer} = {text}"
                        );
                    }
                    Err(other) => panic!("{pointer} = {text}: {other}"),
                    // What is taken must be something that can be gone on with.
                    Ok(recorded) => {
                        let mut schedule = crate::plan::Schedule::new(recorded.header.plan)
                            .unwrap_or_else(|error| panic!("{pointer} = {text}: {error}"));
                        for sample in &recorded.samples {
                            schedule.record(sample.slot, sample.rate());
                        }
                    }
                }
            }
        }
    }
    assert!(tried > 500, "{tried} values");
}

/// Paths to everything that is no object and no list.
fn leaves(value: &serde_json::Value, at: String, out: &mut Vec<String>) {
    match value {
        serde_json::Value::Object(members) => {
            for (name, member) in members {
                leaves(member, format!("{at}/{name}"), out);
            }
        }
        serde_json::Value::Array(items) => {
            for (number, item) in items.iter().enumerate() {
                leaves(item, format!("{at}/{number}"), out);
            }
        }
        _ => out.push(at),
    }
}

#[test]
fn lines_without_end_are_refused_early() {
    struct Zeros;
    impl std::io::Read for Zeros {
        fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
            bytes.fill(0);
            Ok(bytes.len())
        }
    }
    let endless = super::read::parse(Path::new("journal"), Zeros);
    let error = endless.map(|_| ()).expect_err("endless").to_string();
    assert!(
        error.contains("line 1: found a line of more than 4194304 bytes"),
        "{error}"
    );
    let dir = tempfile::tempdir().expect("temporary directory");
    let whole = fs::read(written(dir.path())).expect("reads");
    let more = std::io::Read::chain(&whole[..], Zeros);
    let error = super::read::parse(Path::new("journal"), more);
    let error = error.map(|_| ()).expect_err("endless").to_string();
    assert!(
        error.contains("a line of more than 16777216 bytes"),
        "{error}"
    );
}
