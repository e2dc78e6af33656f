//! Which column is what, in which type and unit.

use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BooleanArray, Decimal128Array, DurationMillisecondArray, Float64Array, Int8Array,
    Int16Array, Int64Array, LargeStringArray, ListArray, StringArray, StringViewArray,
    TimestampMicrosecondArray, TimestampSecondArray, UInt32Array, UInt64Array,
};
use straddle_trace::{Options, TraceError};

use super::made::{Kind, batch, dictionary, written};
use crate::captures::{Found, read};

fn found(columns: Vec<(&str, ArrayRef)>, map: Option<&str>) -> Result<Found, TraceError> {
    let options = Options {
        columns: map.map(|map| map.parse().expect(map)),
        ..Options::default()
    };
    let batch = batch(columns);
    let parquet = read(&written(&batch, Kind::Snappy, 2), "table.x", &options);
    let arrow = read(&written(&batch, Kind::ArrowFile, 2), "table.x", &options);
    match (&parquet, &arrow) {
        (Ok(parquet), Ok(arrow)) => {
            assert_eq!(parquet.requests, arrow.requests);
            assert_eq!(parquet.summary.faults, arrow.summary.faults);
        }
        (Err(parquet), Err(arrow)) => assert_eq!(parquet.to_string(), arrow.to_string()),
        _ => panic!("one is read and the other is not"),
    }
    parquet
}

fn requests(columns: Vec<(&str, ArrayRef)>, map: Option<&str>) -> Vec<String> {
    let found = found(columns, map).expect("a table");
    assert_eq!(found.summary.counts.bad, 0);
    found.requests
}

fn numbers(numbers: &[i64]) -> ArrayRef {
    Arc::new(Int64Array::from(numbers.to_vec()))
}

fn words(words: &[&str]) -> ArrayRef {
    Arc::new(StringArray::from(words.to_vec()))
}

#[test]
fn a_name_says_the_unit() {
    let columns = vec![
        ("lba", numbers(&[63, 128])),
        ("size_kb", numbers(&[4, 8])),
        ("op", words(&["R", "W"])),
        ("time_us", numbers(&[5, 9])),
    ];
    let want = [
        "recorded read 32256 4096 5000 table",
        "recorded write 65536 8192 9000 table",
    ];
    assert_eq!(requests(columns, None), want);
}

#[test]
fn columns_are_what_they_are_said_to_be() {
    let columns = || {
        vec![
            ("a", numbers(&[7, 8])),
            ("b", numbers(&[1, 2])),
            ("Wo", words(&["x", "y"])),
            ("t", numbers(&[1, 2])),
        ]
    };
    let want = [
        "recorded write 28672 512 1000000 x.1",
        "recorded write 32768 1024 2000000 y.2",
    ];
    let map = "offset=A:4096,size=2:sectors,op=write,time=4:ms,device=wo+2";
    assert_eq!(requests(columns(), Some(map)), want);
    for (map, says) in [
        (
            "offset=z,size=b,op=read",
            "no column is called z; there are a, b, Wo, t",
        ),
        (
            "offset=9,size=b,op=read",
            "column 9 is asked for; there are a, b, Wo, t",
        ),
        (
            "offset=a,size=b,op=read,time=t",
            "the time in column t has no unit, and may be anything",
        ),
    ] {
        let error = found(columns(), Some(map)).err().expect(map).to_string();
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn every_type_of_number_is_a_number() {
    let offsets: Vec<ArrayRef> = vec![
        numbers(&[64, 96]),
        Arc::new(Int8Array::from(vec![64, 96])),
        Arc::new(Int16Array::from(vec![64, 96])),
        Arc::new(UInt32Array::from(vec![64, 96])),
        Arc::new(UInt64Array::from(vec![64, 96])),
        Arc::new(Float64Array::from(vec![64.0, 96.0])),
        Arc::new(
            Decimal128Array::from(vec![6400, 9600])
                .with_precision_and_scale(20, 2)
                .expect("a decimal"),
        ),
        words(&["64", "0x60"]),
        Arc::new(LargeStringArray::from(vec!["64", "96.0"])),
        Arc::new(StringViewArray::from(vec![" 64", "96"])),
    ];
    let want = [
        "recorded read 32768 512 - table",
        "recorded read 49152 512 - table",
    ];
    for offset in offsets {
        let kind = offset.data_type().clone();
        let columns = vec![("sector", offset), ("size", numbers(&[512, 512]))];
        let map = "offset=sector,size=size,op=read";
        assert_eq!(requests(columns, Some(map)), want, "{kind}");
    }
}

#[test]
fn every_type_of_operation_says_what_is_done() {
    let of = |name: &'static str, operation: ArrayRef| {
        let columns = vec![
            ("offset", numbers(&[0, 4096])),
            ("size", numbers(&[512, 512])),
            (name, operation),
        ];
        requests(columns, None)
    };
    let want = [
        "recorded write 0 512 - table",
        "recorded read 4096 512 - table",
    ];
    let flags = || Arc::new(BooleanArray::from(vec![true, false]));
    assert_eq!(of("is_write", flags()), want);
    let reads = Arc::new(BooleanArray::from(vec![false, true]));
    assert_eq!(of("is_read", reads), want);
    assert_eq!(of("op", numbers(&[1, 0])), want);
    assert_eq!(of("op", words(&["Write", "r"])), want);
    assert_eq!(of("op", words(&["0x2a", "28"])), want);
    assert_eq!(of("op", dictionary(&["W", "R"])), want);
    assert_eq!(
        of("op", Arc::new(StringViewArray::from(vec!["W", "R"]))),
        want
    );
}

#[test]
fn a_time_with_a_unit_of_its_own_is_taken_in_it() {
    let of = |time: ArrayRef| {
        let columns = vec![
            ("offset", numbers(&[0])),
            ("size", numbers(&[512])),
            ("op", words(&["R"])),
            ("time", time),
        ];
        let request = requests(columns, None).remove(0);
        request.split(' ').nth(4).expect("a time").to_owned()
    };
    assert_eq!(
        of(Arc::new(TimestampSecondArray::from(vec![7]))),
        "7000000000"
    );
    assert_eq!(
        of(Arc::new(TimestampMicrosecondArray::from(vec![7]))),
        "7000"
    );
    assert_eq!(
        of(Arc::new(DurationMillisecondArray::from(vec![7]))),
        "7000000"
    );
    // As in a table of text: as large as a number of 1601 is now, or a date.
    assert_eq!(
        of(numbers(&[128_166_372_003_061_629])),
        "1172163600306162900"
    );
    assert_eq!(of(words(&["1970-01-01 00:00:02"])), "2000000000");
    assert_eq!(of(Arc::new(Float64Array::from(vec![0.25]))), "250000000");
    // Nobody knows what it counts.
    assert_eq!(of(numbers(&[17])), "-");
}

#[test]
fn a_row_that_is_no_request_is_counted_and_located() {
    let some = |numbers: Vec<Option<i64>>| -> ArrayRef { Arc::new(Int64Array::from(numbers)) };
    let columns = vec![
        (
            "offset",
            some(vec![
                Some(0),
                None,
                Some(-512),
                Some(512),
                Some(1024),
                Some(i64::MAX),
                Some(8),
                Some(9),
            ]),
        ),
        (
            "size",
            some(vec![
                Some(512),
                Some(512),
                Some(512),
                None,
                Some(0),
                Some(512),
                Some(1 << 33),
                Some(512),
            ]),
        ),
        (
            "op",
            Arc::new(StringArray::from(vec![
                Some("R"),
                Some("R"),
                Some("R"),
                Some("W"),
                Some("R"),
                Some("flush"),
                Some("R"),
                None,
            ])),
        ),
    ];
    let batch = batch(columns);
    let found = read(
        &written(&batch, Kind::Snappy, 3),
        "table",
        &Options::default(),
    )
    .expect("a table");
    assert_eq!(found.requests, ["recorded read 0 512 - table"]);
    assert_eq!(found.summary.counts.other, 2);
    let bad: Vec<(u64, &str)> = found
        .summary
        .bad
        .iter()
        .map(|bad| (bad.line, bad.text.as_str()))
        .collect();
    assert_eq!(
        bad,
        [
            (2, "row group 1, row 2: offset null"),
            (3, "row group 1, row 3: offset -512"),
            (4, "row group 2, row 1: size null"),
            (7, "row group 3, row 1: size 8589934592"),
            (8, "row group 3, row 2: op null"),
        ]
    );
    let begins: Vec<u64> = found.summary.bad.iter().map(|bad| bad.at).collect();
    assert!(
        begins[0] == 4 && begins[0] == begins[1] && begins[1] < begins[2],
        "{begins:?}"
    );
    let found = read(
        &written(&batch, Kind::ArrowStream, 3),
        "table",
        &Options::default(),
    );
    let found = found.expect("a table");
    assert_eq!(
        found.summary.bad[3].text,
        "record batch 3, row 1: size 8589934592"
    );
    assert_eq!(found.summary.bad[3].line, 7);
}

#[test]
fn half_a_sector_is_no_offset_and_a_byte_within_one_is_told_as_in_csv() {
    let columns = |offset: f64| {
        vec![
            (
                "sector",
                Arc::new(Float64Array::from(vec![offset])) as ArrayRef,
            ),
            ("size", numbers(&[512])),
            ("op", words(&["R"])),
        ]
    };
    let half = found(columns(0.501), None).expect("a table");
    assert_eq!(half.summary.bad[0].text, "row group 1, row 1: sector 0.501");
    let columns = vec![
        ("offset", numbers(&[100])),
        ("size", numbers(&[512])),
        ("op", words(&["R"])),
    ];
    let text = read(
        b"offset,size,op\n100,512,R\n",
        "table.x",
        &Options::default(),
    )
    .expect("a table");
    assert_eq!(requests(columns, None), text.requests);
}

#[test]
fn what_is_no_table_of_requests_is_told_so() {
    let list = ListArray::from_iter_primitive::<Int32Type, _, _>(vec![Some(vec![Some(1)])]);
    for (columns, says) in [
        (
            vec![("a", numbers(&[1])), ("b", numbers(&[1]))],
            "no table of requests",
        ),
        (
            vec![("offset", numbers(&[1])), ("size", numbers(&[1]))],
            "no column says whether requests read or write",
        ),
        (
            vec![
                ("offset", Arc::new(list) as ArrayRef),
                ("size", numbers(&[1])),
                ("op", words(&["R"])),
            ],
            "column offset is of type List(Int32); expected numbers",
        ),
    ] {
        let error = found(columns, None).err().expect(says).to_string();
        assert!(error.contains(says), "{error}");
    }
}
