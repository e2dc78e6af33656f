//! Tables in Parquet and Arrow IPC: the same rows as in CSV come to the same, and what is damaged does no harm.

mod columns;
mod damage;
mod made;
mod ranges;

use std::collections::BTreeMap;

use straddle_trace::{Input, Options, PERIOD, Source, Statistics, TraceError, scan};

use crate::captures::{piped, read};
use made::{Kind, Rows, csv, file};

pub(crate) fn counted(bytes: &[u8], range: Option<(u64, u64)>, options: &Options) -> Statistics {
    let input = Input {
        name: "rows".to_owned(),
        source: Source::At(&bytes, range),
    };
    let (statistics, failures) = scan(vec![input], options).expect("no spill");
    assert!(failures.is_empty(), "{failures:?}");
    statistics
}

/// All that is counted, by the names of devices: their numbers depend on who saw them first.
pub(crate) fn known(
    mut statistics: Statistics,
) -> (BTreeMap<String, u64>, BTreeMap<String, [u64; 2]>) {
    let names: Vec<String> = statistics
        .devices()
        .iter()
        .map(|device| device.name.clone())
        .collect();
    let sequential = names.iter().cloned().zip(statistics.sequential()).collect();
    let mut keys = BTreeMap::new();
    for entry in statistics.counted(PERIOD).expect("in memory") {
        let (key, count) = entry.expect("in memory");
        let name = &names[key.device() as usize];
        let text = format!(
            "{name} {} {:?} {} {}",
            key.window(),
            key.access(),
            key.place(),
            key.length()
        );
        *keys.entry(text).or_default() += count;
    }
    (keys, sequential)
}

#[test]
fn the_same_rows_come_to_the_same_as_in_csv() {
    let rows = Rows::many(3_000);
    let plain = read(csv(&rows).as_bytes(), "rows", &Options::default()).expect("a table");
    assert_eq!(plain.requests.len(), 3_000);
    assert!(plain.requests[7].contains("web.3") || plain.requests[7].contains('.'));
    for kind in Kind::ALL {
        let bytes = file(&rows, kind, 700);
        let found = read(&bytes, "rows", &Options::default());
        let found = found.unwrap_or_else(|error| panic!("{kind:?}: {error}"));
        assert_eq!(found.requests, plain.requests, "{kind:?}");
        assert_eq!(found.summary.counts.bad, 0, "{kind:?}");
        assert_eq!(found.summary.times, plain.summary.times, "{kind:?}");
        assert_eq!(found.summary.bytes, bytes.len() as u64, "{kind:?}");
        assert_eq!(found.file.format, kind.format());
        assert_eq!(found.file.stopped, None, "{kind:?}");
    }
}

#[test]
fn any_number_of_threads_counts_the_same() {
    let rows = Rows::many(5_000);
    let options = |threads| Options {
        threads,
        window: Some(1_000_000_000),
        periods: vec![192 << 10],
        ..Options::default()
    };
    let plain = counted(csv(&rows).as_bytes(), None, &options(1));
    let plain = known(plain);
    assert!(plain.1.values().any(|[reads, writes]| reads + writes > 0));
    for kind in Kind::ALL {
        let bytes = file(&rows, kind, 300);
        for threads in [1, 2, 8] {
            let found = counted(&bytes, None, &options(threads));
            assert_eq!(known(found), plain, "{kind:?}, {threads} threads");
        }
    }
}

#[test]
fn a_stream_may_come_through_a_pipe_and_packed() {
    let rows = Rows::many(500);
    let plain = read(csv(&rows).as_bytes(), "rows", &Options::default()).expect("a table");
    for kind in [Kind::ArrowStream, Kind::ArrowStreamZstd, Kind::ArrowFile] {
        let bytes = file(&rows, kind, 100);
        let found = piped(bytes.clone(), "rows", &Options::default()).expect("a stream");
        assert_eq!(found.requests, plain.requests, "{kind:?}");
        let packed = ruzstd::encoding::compress_to_vec(
            bytes.as_slice(),
            ruzstd::encoding::CompressionLevel::Fastest,
        );
        let found = read(&packed, "rows", &Options::default()).expect("a stream");
        assert_eq!(found.requests, plain.requests, "{kind:?}, packed");
        assert_eq!(found.file.packing, Some("zstd"));
    }
    let parquet = file(&rows, Kind::Snappy, 100);
    match piped(parquet, "rows", &Options::default()) {
        Err(TraceError::Refused { why, .. }) => {
            assert!(why.contains("read from its end"), "{why}");
        }
        _ => panic!("Parquet was read from a pipe"),
    }
}

#[test]
fn what_is_never_read_is_named() {
    for (head, says) in [
        (&b"PAR1 is no more than that"[..], "it is damaged"),
        (b"PARE....", "an encrypted Parquet file"),
        (b"FEA1....", "a Feather file in version 1"),
        (b"ARROW1\0\0....................", "its end is missing"),
    ] {
        let Err(error) = read(head, "rows", &Options::default()) else {
            panic!("{says}");
        };
        assert!(error.to_string().contains(says), "{error}");
    }
}

#[test]
fn a_file_without_rows_has_no_request() {
    for kind in Kind::ALL {
        let bytes = file(&Rows::default(), kind, 100);
        let found = read(&bytes, "rows", &Options::default()).expect("a table");
        assert!(found.requests.is_empty());
        assert_eq!(found.summary.counts.lines(), 0, "{kind:?}");
    }
}
