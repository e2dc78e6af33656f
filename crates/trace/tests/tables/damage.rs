//! Files that were cut or changed, and the seeds of the fuzzers. For every commit each seventh byte is changed, in one of two ways; in a
//! soak each, in both.

use straddle_trace::Options;

use super::made::{Kind, Rows, file};
use crate::captures::{piped, read, repository};

const KINDS: [Kind; 5] = [
    Kind::Snappy,
    Kind::Zstd,
    Kind::ArrowFileLz4,
    Kind::ArrowStream,
    Kind::ArrowStreamZstd,
];

#[test]
fn a_file_that_was_cut_says_so() {
    let rows = Rows::many(90);
    for kind in KINDS {
        let bytes = file(&rows, kind, 30);
        let whole = read(&bytes, "rows", &Options::default()).expect("a table");
        for end in 16..bytes.len() {
            let name = format!("{kind:?} cut at {end} of {}", bytes.len());
            match read(&bytes[..end], "rows", &Options::default()) {
                // What is before the cut is found, and nothing else.
                Ok(found) => {
                    assert_eq!(found.file.format, "arrow", "{name}");
                    let had = found.requests.len();
                    assert_eq!(found.requests, whole.requests[..had], "{name}");
                    assert!(had.is_multiple_of(30), "{name}");
                    let is_whole = had == 90;
                    assert!(
                        is_whole || found.file.stopped.is_some() || end < bytes.len() - 8,
                        "{name}"
                    );
                }
                Err(error) => {
                    let says = error.to_string();
                    let is_told = ["damaged", "ends", "beyond its end"]
                        .iter()
                        .any(|word| says.contains(word));
                    assert!(is_told, "{name}: {says}");
                }
            }
        }
    }
}

#[test]
fn a_byte_that_was_changed_does_no_harm() {
    let rows = Rows::many(60);
    for kind in KINDS {
        let bytes = file(&rows, kind, 30);
        let mut told = 0;
        let is_soak = straddle_testkit::is_soak();
        for at in (0..bytes.len()).step_by(if is_soak { 1 } else { 7 }) {
            // For every commit one of the two, in turn.
            let changes = [0x80, 0xff].into_iter().enumerate();
            for (_, change) in changes.filter(|(turn, _)| is_soak || at % 2 == *turn) {
                let mut bytes = bytes.clone();
                bytes[at] ^= change;
                match read(&bytes, "rows", &Options::default()) {
                    Ok(found) => {
                        assert!(found.summary.counts.lines() <= 60, "{kind:?} at {at}");
                        told += usize::from(found.file.stopped.is_some());
                    }
                    Err(_) => told += 1,
                }
            }
        }
        let least = bytes.len() / if is_soak { 5 } else { 70 };
        assert!(told > least, "{kind:?}: {told} of {}", bytes.len());
    }
}

#[test]
fn a_group_that_is_damaged_costs_its_own_rows_only() {
    let bytes = file(&Rows::many(90), Kind::Snappy, 30);
    let whole = read(&bytes, "rows", &Options::default()).expect("a table");
    // The first header of a page of the first row group is behind the magic.
    let mut bytes = bytes;
    bytes[4..12].fill(0xff);
    let options = Options {
        columns: Some(
            "offset=offset,size=size,op=type,device=host+disk"
                .parse()
                .expect("a map"),
        ),
        ..Options::default()
    };
    let found = read(&bytes, "rows", &options).expect("a table without its times");
    assert_eq!(found.requests.len(), 90, "the damaged column is not read");
    let mut bytes = file(&Rows::many(90), Kind::Snappy, 30);
    let middle = bytes.len() / 3;
    bytes[middle..middle + 16].fill(0xff);
    let found = read(&bytes, "rows", &Options::default()).expect("a table");
    let stopped = found.file.stopped.expect("damage is told");
    let group = stopped.strip_prefix("row group ").expect("a row group");
    let (group, says) = group.split_once(": ").expect("what is damaged");
    assert!(says.starts_with("it is damaged: "), "{stopped}");
    let before = 30 * (group.parse::<usize>().expect("a number") - 1);
    assert_eq!(found.requests[..before], whole.requests[..before]);
    let behind = 60 - before;
    assert_eq!(
        found.requests[found.requests.len() - behind..],
        whole.requests[90 - behind..]
    );
    assert!(found.requests.len() < 90);
}

#[test]
fn what_a_packed_column_claims_is_not_believed() {
    let bytes = file(&Rows::many(60), Kind::ArrowStreamZstd, 60);
    // Each packed column begins with its length before it was packed, in eight bytes, and the magic of zstd.
    let at = memchr::memmem::find(&bytes, &[0x28, 0xb5, 0x2f, 0xfd]).expect("a packed column") - 8;
    for claim in [1_i64 << 40, i64::MAX, -2] {
        let mut bytes = bytes.clone();
        bytes[at..at + 8].copy_from_slice(&claim.to_le_bytes());
        let found = read(&bytes, "rows", &Options::default()).expect("a stream");
        let stopped = found.file.stopped.expect("it is told");
        assert!(
            stopped.contains("a packed column of no length that can be"),
            "{stopped}"
        );
    }
}

#[test]
fn the_seeds_of_the_fuzzers_do_no_harm() {
    let mut read_well = 0;
    for target in ["trace-parquet", "trace-arrow"] {
        let folder = repository().join("fuzz/corpus").join(target);
        let mut seeds = 0;
        for entry in std::fs::read_dir(&folder).expect("fuzz/seeds/tables.py makes them") {
            let path = entry.expect("a seed").path();
            let bytes = std::fs::read(&path).expect("readable");
            seeds += 1;
            let name = path.display();
            match read(&bytes, "rows", &Options::default()) {
                Ok(found) => {
                    assert!(found.requests.len() > 20, "{name}");
                    assert_eq!(found.file.stopped, None, "{name}");
                    read_well += 1;
                }
                Err(error) => assert!(path.to_string_lossy().contains("not-"), "{error}"),
            }
            for at in (0..bytes.len()).step_by(7) {
                let mut changed = bytes.clone();
                changed[at] ^= 0xff;
                let _ = read(&changed, "rows", &Options::default());
                if target == "trace-arrow" && at % 2 == 0 {
                    let _ = piped(bytes[..at].to_vec(), "rows", &Options::default());
                }
            }
        }
        assert!(seeds >= 4, "{target}: {seeds}");
    }
    assert!(read_well >= 8, "{read_well}");
}
