//! What was counted somewhere else is as if it had been counted here, and bytes that nobody counted do no harm.

use std::fmt::Write;

use proptest::prelude::*;
use straddle_geometry::{Access, Bytes, Family, Grid, Unit};
use straddle_trace::{
    Answer, Counter, Event, Input, JoinError, Options, Question, Record, Source, Statistics,
    WireError, answer, scan, sealed,
};

fn options(memory: usize) -> Options {
    Options {
        threads: 1,
        memory,
        window: Some(1_000_000),
        periods: vec![3 << 16],
        ..Options::default()
    }
}

/// A trace of a few disks, with lines that are none.
fn lines() -> impl Strategy<Value = Vec<String>> {
    let request = (
        0_u8..3,
        any::<bool>(),
        0_u64..1 << 22,
        1_u64..300_000,
        0_u64..100_000,
    );
    let request = request.prop_map(|(disk, writes, start, len, time)| {
        let word = if writes { "Write" } else { "Read" };
        format!("{time},host,{disk},{word},{start},{len},77")
    });
    let bad = prop_oneof![
        Just("1,host,0,Read,x,512,77".to_owned()),
        Just("1,host,0,Read,512".to_owned()),
        Just("1,host,0,Seek,0,512,77".to_owned()),
        Just("1,host,0,Read,0,4294967296,77".to_owned()),
    ];
    let line = prop_oneof![9 => request, 1 => bad];
    // It is recognised by its first lines.
    let first = Just("1,host,0,Read,0,512,77".to_owned());
    (first, proptest::collection::vec(line, 0..60))
        .prop_map(|(first, more)| std::iter::repeat_n(first, 70).chain(more).collect())
}

fn scanned(
    name: &str,
    lines: &[String],
    range: Option<(u64, u64)>,
    options: &Options,
) -> Statistics {
    let text = lines.join("\n");
    let bytes = text.as_bytes();
    let source = Source::At(&bytes, range);
    let input = Input {
        name: name.to_owned(),
        source,
    };
    let (statistics, failures) = scan(vec![input], options).expect("room on disk");
    assert!(failures.is_empty(), "{failures:?}");
    statistics
}

fn asked(statistics: &mut Statistics) -> Answer {
    let grid = |unit| Grid::new(Unit::new(unit).expect("not zero"));
    let question = Question {
        grids: vec![
            (grid(4096), Family::ReadModifyWrite),
            (grid(3 << 16), Family::Splitting),
            (grid(1 << 20), Family::Splitting),
        ],
        today: Bytes::new(32_256),
        is_absolute: false,
        starts: vec![Bytes::ZERO, Bytes::new(65_536)],
        only: Vec::new(),
        devices: 2,
    };
    answer(statistics, &question).expect("readable")
}

fn sent(statistics: &mut Statistics) -> Statistics {
    let bytes = statistics.to_bytes().expect("readable");
    Statistics::from_bytes(&bytes).expect("whole")
}

fn assert_same(a: &mut Statistics, b: &mut Statistics) {
    assert_eq!(
        (a.devices(), a.files(), a.window()),
        (b.devices(), b.files(), b.window())
    );
    assert_eq!(
        (a.counts(), a.span(), a.sequential()),
        (b.counts(), b.span(), b.sequential())
    );
    for number in 0..a.files().len() {
        assert_eq!(a.file(number), b.file(number));
    }
    assert_eq!(asked(a), asked(b));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_was_written_is_what_is_read(lines in lines(), memory in prop_oneof![Just(0_usize), Just(1 << 24)]) {
        let mut here = scanned("a trace", &lines, None, &options(memory));
        let bytes = here.to_bytes().expect("readable");
        let mut there = Statistics::from_bytes(&bytes).expect("whole");
        assert_same(&mut here, &mut there);
        prop_assert_eq!(there.to_bytes().expect("readable"), bytes);
    }

    /// Parts of one file, and another file, each sent or not.
    #[test]
    fn what_was_sent_is_joined_like_what_was_not(lines in lines(), cut in any::<prop::sample::Index>(), order in Just(vec![0_usize, 1, 2]).prop_shuffle(), is_sent in any::<[bool; 3]>()) {
        let options = options(1 << 24);
        let len = lines.join("\n").len() as u64;
        let cut = cut.index(usize::try_from(len).expect("small")) as u64;
        let one = |which: usize| match which {
            0 => scanned("a", &lines, Some((0, cut)), &options),
            1 => scanned("a", &lines, Some((cut, len)), &options),
            _ => scanned("b", &lines, None, &options),
        };
        let join = |parts: Vec<Statistics>| parts.into_iter().reduce(|mut all, part| {
            all.join(part).expect("they fit");
            all
        }).expect("three");
        let mut here = join(vec![one(0), one(1), one(2)]);
        let parts = order.iter().map(|which| match is_sent[*which] {
            true => sent(&mut one(*which)),
            false => one(*which),
        });
        let mut there = join(parts.collect());
        prop_assert_eq!((here.counts(), here.span()), (there.counts(), there.span()));
        prop_assert_eq!(asked(&mut here), asked(&mut there));
    }

    /// With a checksum that is right: what is in it must be found out by what it says, or do no harm.
    #[test]
    fn damage_under_a_right_checksum_is_harmless(lines in lines(), at in any::<prop::sample::Index>(), bit in 0_u8..8, cut in any::<bool>()) {
        let mut bytes = scanned("a", &lines[65..], None, &options(1 << 24)).to_bytes().expect("readable");
        bytes.truncate(bytes.len() - 4);
        let at = 12 + at.index(bytes.len() - 12);
        match cut {
            true => bytes.truncate(at),
            false => bytes[at] ^= 1 << bit,
        }
        bytes.extend(checksum(&bytes));
        match Statistics::from_bytes(&bytes) {
            Ok(mut read) => {
                let mut whole = scanned("b", &lines, None, &options(1 << 24));
                drop(asked(&mut read));
                let again = read.to_bytes().expect("readable");
                let again = Statistics::from_bytes(&again).expect("what was read can be written");
                drop(whole.join(again));
                drop(asked(&mut whole));
            }
            Err(WireError::Wrong { at, .. }) => prop_assert!(at <= bytes.len()),
            Err(other) => panic!("{other}"),
        }
    }

    #[test]
    fn any_bytes_are_no_harm(body in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut bytes = b"straddle\x01\0\0\0".to_vec();
        bytes.extend(body);
        bytes.extend(checksum(&bytes));
        drop(Statistics::from_bytes(&bytes));
    }
}

fn checksum(bytes: &[u8]) -> [u8; 4] {
    let mut rest = u32::MAX;
    for byte in bytes {
        rest ^= u32::from(*byte);
        for _ in 0..8 {
            rest = (rest >> 1) ^ (0xedb8_8320 & (rest & 1).wrapping_neg());
        }
    }
    (!rest).to_le_bytes()
}

fn some() -> Vec<u8> {
    let lines: Vec<String> = (0..80_u64)
        .map(|n| format!("{n},host,{},Write,{},4096,1", n % 2, n * 512))
        .collect();
    scanned("a", &lines, None, &options(1 << 24))
        .to_bytes()
        .expect("readable")
}

#[test]
fn every_cut_and_every_flipped_bit_is_noticed() {
    let bytes = some();
    Statistics::from_bytes(&bytes).expect("whole");
    for cut in 0..bytes.len() {
        Statistics::from_bytes(&bytes[..cut]).expect_err("cut");
    }
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut bytes = bytes.clone();
            bytes[at] ^= 1 << bit;
            Statistics::from_bytes(&bytes).expect_err("flipped");
        }
    }
    let longer = [&bytes[..], b"x"].concat();
    Statistics::from_bytes(&longer).expect_err("longer");
}

/// Bodies that are wrong in one way each, and what is said of them.
#[test]
fn contradictions_are_told() {
    // No window; device sda; file f; a part of 9 bytes with one request, then periods.
    let head: &[u8] = b"\0\x01\0\x03sda\x01\x01f\x03csv\0\0";
    let part: &[u8] = b"\x01\0\0\x09\0\x01\0\0\0\0\0\0\0\0";
    // 1 MiB: one request of 512 bytes at 0.
    let counts: &[u8] = b"\x01\x80\x80\x40\x01\0\x80\x04\0";
    let read = |parts: &[&[u8]]| {
        let mut bytes = b"straddle\x01\0\0\0".to_vec();
        bytes.extend(parts.concat());
        bytes.extend(checksum(&bytes));
        Statistics::from_bytes(&bytes)
    };
    read(&[head, part, counts]).expect("nothing wrong");
    let two = |first: &'static [u8], second: &'static [u8]| {
        [b"\x01\x80\x80\x40", first, second, b"\0"].concat()
    };
    let long = b"\xff\xff\xff\xff\x7f";
    let cases: &[(&[&[u8]], &str)] = &[
        (&[head, part, counts, b"\0"], "bytes behind the end"),
        (&[b"\0", long], "more than 1,048,576 devices"),
        (
            &[b"\0\x02\0\x03sda\0\x03sda"],
            "a device that is there twice",
        ),
        (&[b"\0\x01\x04\x03sda"], "a step that is none"),
        (&[b"\0\x01\0\x03s\nb"], "a name that no device has"),
        (
            &[b"\0\x01\0\x7fsda"],
            "a text that is longer than what is left",
        ),
        (&[b"\0\x01\0\x02\xff\xff"], "a text that is no UTF-8"),
        (
            &[b"\0\0\x02\x01f\x03csv\0\0\x01f"],
            "a file that is there twice",
        ),
        (
            &[b"\0\0\x01\x01f\x03xyz"],
            "a format that this program does not know",
        ),
        (&[b"\0\0\x01\x01f\x03csv\x05"], "a packing that is none"),
        (&[b"\0\0\x01\x01f\x03csv\0\x02"], "neither yes nor no"),
        (&[head, b"\x01\x01"], "a part of no file"),
        (&[head, b"\x01\0\0\0"], "a part of 0 bytes"),
        (
            &[head, b"\x01\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x01"],
            "a part that ends nowhere",
        ),
        (
            &[head, b"\x01\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02\0"],
            "a number of more than 64 bits",
        ),
        (
            &[
                head,
                b"\x02\0\0\x09\0\x01\0\0\0\0\0\0\0\0\0\x08\x09\0\x01\0\0\0\0\0\0\0\0",
            ],
            "parts of a file that overlap or do not ascend",
        ),
        (
            &[head, b"\x01\0\0\x09\0\x80\x80\x80\x80\x80\x80\x01"],
            "more requests than can be",
        ),
        (
            &[head, b"\x01\0\0\x09\0\x01\0\0\x02\0\0\0\0\0"],
            "more requests elsewhere than there are",
        ),
        (
            &[head, b"\x01\0\0\x09\0\x01\0\0\0\0\x01\x05\x05\x06\x07\0\0"],
            "times that cannot be",
        ),
        (
            &[head, b"\x01\0\0\x09\0\x01\0\x01\0\0\0\0"],
            "faults that are not as many as the bad lines",
        ),
        (
            &[head, b"\x01\0\0\x09\0\x01\0\x01\0\0\0\x01\x0f"],
            "a fault that is none",
        ),
        (
            &[head, b"\x01\0\0\x09\0\x01\0\0\0\0\0\0\x01"],
            "more bad lines than there are",
        ),
        (
            &[head, b"\x01\0\0\x09\0\x01\0\0\0\0\0\0\0\x01\x01"],
            "a course of no device",
        ),
        (
            &[head, b"\x01\0\0\x09\0\x01\0\0\0\0\0\0\0\x01\0\0\0\0\x02\0"],
            "more requests that follow each other than there are",
        ),
        (&[head, part, b"\0"], "no counts modulo 1 MiB"),
        (
            &[head, part, b"\x01\0"],
            "a period of 0 or of more than 4 GiB",
        ),
        (
            &[head, part, b"\x02\x80\x80\x40\0\x80\x80\x40\0"],
            "periods that do not ascend",
        ),
        (
            &[
                head,
                part,
                b"\x01\x80\x80\x40\x01\x80\x80\x80\x80\x80\x80\x04\x80\x04",
            ],
            "requests of no device",
        ),
        (
            &[head, part, b"\x01\x80\x80\x40\x01\x02\x80\x04"],
            "requests of a time, which is not counted",
        ),
        (
            &[head, part, b"\x01\x80\x80\x40\x01\0\0"],
            "requests of 0 bytes",
        ),
        (
            &[
                head,
                part,
                b"\x01\x80\x80\x40\x01\0\x80\x80\x80\x80\x80\x80\x80\x08",
            ],
            "requests that begin beyond the period",
        ),
        (
            &[head, part, b"\x01\x80\x80\x40\x01\x01\0"],
            "requests of 0 bytes",
        ),
        (
            &[head, part, b"\x01\x80\x80\x40\x01\0\x80\x04"],
            "a number without its end",
        ),
    ];
    for (parts, expected) in cases {
        match read(parts) {
            Err(error @ WireError::Wrong { .. }) => {
                let text = error.to_string();

                assert!(text.ends_with(expected), "{expected}: {text}");
            }
            other => panic!("{expected}: {other:?}"),
        }
    }
    let twice = two(b"\x01\0\x80\x04", b"\x01\0\0");
    let error = read(&[head, part, &twice]).expect_err("twice").to_string();
    assert!(error.ends_with("keys that do not ascend"), "{error}");
    let begun = Statistics::from_bytes(b"PAR1").expect_err("something else");
    assert!(matches!(begun, WireError::Magic));
    let newer = Statistics::from_bytes(b"straddle\x02\0\0\0xxxx").expect_err("another version");
    assert_eq!(
        newer.to_string(),
        "counts of requests in version 2; this program reads version 1"
    );
}

/// A few bytes may say that there is much.
#[test]
fn nothing_that_is_said_sizes_anything() {
    for what in [&b"\0"[..], b"\0\0", b"\0\0\0", b"\0\0\0\0"] {
        let mut bytes = b"straddle\x01\0\0\0".to_vec();
        bytes.extend(what);
        bytes.extend(b"\xff\xff\xff\xff\xff\xff\xff\xff\x7f");
        bytes.extend(checksum(&bytes));
        Statistics::from_bytes(&bytes).expect_err("there is nothing");
    }
}

#[test]
fn what_counts_something_else_is_not_joined() {
    let lines: Vec<String> = (0..80)
        .map(|n| format!("{n},host,0,Read,{},512,1", n * 512))
        .collect();
    let of = |range, change: fn(&mut Options)| {
        let mut options = options(1 << 24);
        change(&mut options);
        scanned("a", &lines, range, &options)
    };
    let mut all = of(Some((0, 1000)), |_| ());
    let window = all.join(of(Some((1000, 1200)), |options| options.window = None));
    assert!(matches!(window, Err(JoinError::Windows)), "{window:?}");
    let periods = all.join(of(Some((1000, 1200)), |options| options.periods.clear()));
    assert!(matches!(periods, Err(JoinError::Periods)), "{periods:?}");
    let twice = all.join(of(Some((999, 1200)), |_| ()));
    assert_eq!(
        twice.expect_err("one byte").to_string(),
        "bytes 999 to 1200 of a are counted in both"
    );
    all.join(of(Some((1000, 1200)), |_| ()))
        .expect("what is behind it");
    let twice = all.join(of(Some((100, 200)), |_| ()));
    assert!(matches!(twice, Err(JoinError::Twice { .. })), "{twice:?}");
}

/// Requests one by one are the same as the lines of a file.
#[test]
fn requests_that_are_handed_over_are_counted_like_lines() {
    let mut text = String::from("time,device,op,offset,size\n");
    let mut counter = Counter::new("rows", &options(1 << 24));
    let mut x = 7_u64;
    for n in 0..5000_u64 {
        x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let (start, len) = (x >> 40, (x >> 20 & 63) * 512);
        let access = if x >> 60 & 1 == 0 {
            Access::Read
        } else {
            Access::Write
        };
        let word = if access == Access::Read { "R" } else { "W" };
        writeln!(text, "{n},sd{},{word},{start},{len}", n % 3).expect("a string");
        let device = format!("sd{}", n % 3);
        counter.take(&Record {
            device: device.as_bytes(),
            event: Event::Recorded,
            access,
            start,
            len,
            time: Some(n),
        });
    }
    let options = Options {
        columns: Some(
            "offset=offset,size=size,op=op,device=device,time=time:ns"
                .parse()
                .expect("columns"),
        ),
        ..options(1 << 24)
    };
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let mut file = scanned("a", &lines, None, &options);
    let mut rows = counter.finish().expect("room on disk");
    let (counts, of_file) = (rows.counts(), file.counts());
    // The file has a heading.
    assert_eq!(
        (counts.requests, counts.other + 1, counts.bad),
        (of_file.requests, of_file.other, 0)
    );
    assert_eq!(
        (rows.span(), rows.sequential()),
        (file.span(), file.sequential())
    );
    assert_eq!(asked(&mut rows), asked(&mut file));
    assert_eq!(rows.file(0).bytes, 0);
    // Rows of one name are put behind each other.
    let (again, mut other) = (sent(&mut rows), sent(&mut rows));
    rows.join(again).expect("they fit");
    rows.join(sent(&mut other)).expect("they fit");
    assert_eq!(rows.counts().requests, 3 * counts.requests);
    assert_eq!(sent(&mut rows).counts(), rows.counts());
}

/// What the fuzzer begins with is read, or told to be wrong, on any compiler.
#[test]
fn seeds_of_the_fuzz_target_do_no_harm() {
    let folder = crate::captures::repository().join("fuzz/corpus/statistics");
    let mut right = 0;
    for entry in std::fs::read_dir(folder).expect("seeds") {
        let body = std::fs::read(entry.expect("a file").path()).expect("readable");
        drop(Statistics::from_bytes(&body));
        if let Ok(mut read) = Statistics::from_bytes(&sealed(&body)) {
            right += 1;
            drop(asked(&mut read));
            let again = sent(&mut read);
            assert_eq!(again.counts(), read.counts());
        }
    }
    assert!(right >= 3, "{right}");
}
