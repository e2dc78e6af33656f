//! Whatever the order in which blocks, files and machines are counted, the counts are those of looking at each request.

use std::collections::BTreeMap;
use std::fmt::Write;

use proptest::prelude::*;
use straddle_geometry::{Access, Bytes, Family, Grid, Unit};
use straddle_trace::{
    Answer, DeviceAnswer, Input, Load, Options, PERIOD, Question, Source, Statistics, answer, scan,
};

#[derive(Clone, Copy, Debug)]
struct One {
    device: u8,
    access: Access,
    start: u64,
    len: u64,
    time: u64,
}

fn text(requests: &[One]) -> String {
    let mut text = String::new();
    for one in requests {
        let word = match one.access {
            Access::Read => "Read",
            Access::Write => "Write",
        };
        let One {
            device,
            start,
            len,
            time,
            ..
        } = one;
        writeln!(text, "{time},host,{device},{word},{start},{len},77").expect("a string");
    }
    text
}

fn options(threads: usize, memory: usize) -> Options {
    Options {
        threads,
        memory,
        window: Some(10_000),
        periods: vec![3 << 16],
        ..Options::default()
    }
}

fn scanned(name: &str, text: &str, range: Option<(u64, u64)>, options: &Options) -> Statistics {
    let bytes = text.as_bytes();
    let input = Input {
        name: name.to_owned(),
        source: Source::At(&bytes, range),
    };
    let (statistics, failures) = scan(vec![input], options).expect("room on disk");
    assert!(failures.is_empty(), "{failures:?}");
    statistics
}

fn grid(unit: u64, phase: u64) -> Grid {
    Grid::with_phase(Unit::new(unit).expect("not zero"), Bytes::new(phase))
}

fn question() -> Question {
    Question {
        grids: vec![
            (grid(4096, 0), Family::ReadModifyWrite),
            (grid(4096, 3584), Family::ReadModifyWrite),
            (grid(65_536, 100), Family::Splitting),
            (grid(3 << 16, 512), Family::Splitting),
            (grid(1 << 20, 0), Family::Splitting),
        ],
        today: Bytes::new(32_256),
        is_absolute: true,
        starts: vec![Bytes::ZERO, Bytes::new(1 << 20), Bytes::new(65_536 + 512)],
        only: Vec::new(),
        devices: 2,
    }
}

/// Looks at every boundary there is.
fn slowly(one: &One, grid: Grid, start: Bytes, question: &Question) -> Load {
    // Far enough from zero that nothing is negative.
    let begin = one.start + (1 << 40) - question.today.get() + start.get();
    let end = begin + one.len;
    let unit = grid.unit().get();
    // The boundaries are moved as far.
    let phase = (grid.phase().get() + (1 << 40)) % unit;
    let mut boundary = (begin / unit - 2) * unit + phase;
    let (mut inside, mut on_begin, mut on_end) = (0, false, false);
    while boundary <= end {
        on_begin |= boundary == begin;
        on_end |= boundary == end;
        inside += u64::from(boundary > begin && boundary < end);
        boundary += unit;
    }
    let (head, tail) = (u64::from(!on_begin), u64::from(!on_end));
    Load {
        requests: 1,
        straddling: u64::from(inside > 0),
        granules: inside + 1,
        partial: if inside == 0 {
            head | tail
        } else {
            head + tail
        },
    }
}

fn sum(requests: &[One], grid: Grid, start: Bytes, question: &Question) -> [Load; 2] {
    let mut loads = [Load::default(); 2];
    for one in requests {
        let side = usize::from(one.access == Access::Write);
        loads[side].add(slowly(one, grid, start, question));
    }
    loads
}

fn assert_device(device: &DeviceAnswer, requests: &[One], question: &Question, is_close: bool) {
    let writes = requests
        .iter()
        .filter(|one| one.access == Access::Write)
        .count() as u64;
    let all = requests.len() as u64;
    assert_eq!(device.requests, [all - writes, writes]);
    let bytes: u64 = requests.iter().map(|one| one.len).sum();
    assert_eq!(device.bytes[0] + device.bytes[1], bytes);
    assert_eq!(device.grids.len(), question.grids.len());
    for ((grid, _), found) in question.grids.iter().zip(&device.grids) {
        assert_eq!(found.today, sum(requests, *grid, question.today, question));
        if is_close {
            for (start, found) in question.starts.iter().zip(&found.starts) {
                assert_eq!(*found, sum(requests, *grid, *start, question));
            }
            let best = Bytes::new(device.best.expect("looked for"));
            assert_eq!(found.best, Some(sum(requests, *grid, best, question)));
        }
    }
}

fn assert_answer(answer: &Answer, requests: &[One], question: &Question) {
    assert_device(&answer.all, requests, question, true);
    let mut of: BTreeMap<u8, Vec<One>> = BTreeMap::new();
    for one in requests {
        of.entry(one.device).or_default().push(*one);
    }
    assert_eq!(answer.devices.len(), of.len());
    for (at, device) in answer.devices.iter().enumerate() {
        let name = &device.device.as_ref().expect("a device").name;
        let number = name
            .strip_prefix("host.")
            .expect("the host comes first")
            .parse::<u8>()
            .expect("a disk");
        let requests = &of[&number];
        assert_device(&device, requests, question, at < question.devices);
        // In the order of the file.
        let follows = requests
            .windows(2)
            .filter(|two| two[0].start + two[0].len == two[1].start)
            .count() as u64;
        assert_eq!(device.sequential[0] + device.sequential[1], follows);
    }
    let mut windows: BTreeMap<u64, Vec<One>> = BTreeMap::new();
    for one in requests {
        windows
            .entry(one.time * 100 / 10_000)
            .or_default()
            .push(*one);
    }
    assert_eq!(answer.windows.len(), windows.len());
    for (found, (number, requests)) in answer.windows.iter().zip(&windows) {
        assert_eq!(found.from, number * 10_000);
        for ((grid, _), (today, best)) in question.grids.iter().zip(&found.grids) {
            assert_eq!(*today, sum(requests, *grid, question.today, question));
            let at = Bytes::new(answer.all.best.expect("looked for"));
            assert_eq!(*best, Some(sum(requests, *grid, at, question)));
        }
    }
}

/// Mostly sectors, some bytes; runs of requests that follow each other.
fn requests() -> impl Strategy<Value = Vec<One>> {
    let one = (
        0_u8..5,
        any::<bool>(),
        prop_oneof![(0_u64..8192).prop_map(|n| n * 512), 0_u64..4_000_000],
        prop_oneof![(1_u64..300).prop_map(|n| n * 512), 1_u64..9000],
        any::<bool>(),
        0_u64..300,
    );
    proptest::collection::vec(one, 1..120).prop_map(|all| {
        let mut ends = [0; 5];
        let each = all
            .into_iter()
            .map(|(device, is_write, start, len, follows, time)| {
                let end = &mut ends[usize::from(device)];
                let start = if follows { *end } else { start };
                *end = start + len;
                One {
                    device,
                    access: if is_write {
                        Access::Write
                    } else {
                        Access::Read
                    },
                    start,
                    len,
                    time,
                }
            });
        each.collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn counts_are_those_of_each_request(requests in requests()) {
        let text = text(&requests);
        let question = question();
        for memory in [0, 1 << 26] {
            let mut statistics = scanned("a", &text, None, &options(2, memory));
            prop_assert_eq!(statistics.counts().requests, requests.len() as u64);
            assert_answer(&answer(&mut statistics, &question).expect("readable"), &requests, &question);
        }
    }

    /// Ranges that end anywhere, counted apart and joined in any order.
    #[test]
    fn parts_of_a_file_are_the_whole(requests in requests(), mut cuts in proptest::collection::vec(0_usize..7000, 0..6), turn in 0_usize..6) {
        let text = text(&requests);
        let question = question();
        let mut whole = scanned("a", &text, None, &options(1, 1 << 26));
        let expected = answer(&mut whole, &question).expect("readable");
        cuts.extend([0, text.len()]);
        cuts.sort_unstable();
        cuts.retain(|cut| *cut <= text.len());
        let mut ranges: Vec<(u64, u64)> = cuts.windows(2).map(|two| (two[0] as u64, two[1] as u64)).collect();
        let turn = turn % ranges.len();
        ranges.rotate_left(turn);
        if turn.is_multiple_of(2) {
            ranges.reverse();
        }
        let parts = ranges.iter().map(|range| scanned("a", &text, Some(*range), &options(1, 0)));
        let mut joined = parts.reduce(|mut all, part| {
            all.join(part).expect("room on disk");
            all
        }).expect("a range");
        prop_assert_eq!(joined.counts(), whole.counts());
        prop_assert_eq!(joined.file(0), whole.file(0));
        prop_assert_eq!(answer(&mut joined, &question).expect("readable"), expected);
    }

    /// Files are joined in any order, and do not follow each other.
    #[test]
    fn files_come_in_any_order(first in requests(), second in requests()) {
        let question = question();
        let (first, second) = (text(&first), text(&second));
        let one = |name, text| scanned(name, text, None, &options(1, 1 << 26));
        let (mut forwards, mut backwards) = (one("a", &first), one("b", &second));
        forwards.join(one("b", &second)).expect("room on disk");
        backwards.join(one("a", &first)).expect("room on disk");
        let expected = answer(&mut forwards, &question).expect("readable");
        prop_assert_eq!(&answer(&mut backwards, &question).expect("readable"), &expected);
        let both = [("a", first.as_bytes()), ("b", second.as_bytes())];
        let inputs = both.iter().map(|(name, text)| Input { name: (*name).to_owned(), source: Source::At(text, None) });
        let (mut together, _) = scan(inputs.collect(), &options(2, 1 << 26)).expect("room on disk");
        prop_assert_eq!(answer(&mut together, &question).expect("readable"), expected);
    }
}

/// Long enough for several blocks.
fn long() -> (Vec<One>, String) {
    let mut x = 0x9e37_79b9_7f4a_7c15_u64;
    let mut end = [0_u64; 5];
    let requests: Vec<One> = (0..200_000)
        .map(|time| {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            let device = usize::try_from(x % 5).expect("small");
            let start = match x >> 8 & 1 {
                0 => end[device],
                _ => 512 * (x >> 20 & 0xf_ffff),
            };
            let len = 512 << (x >> 50 & 7);
            end[device] = start + len;
            One {
                device: u8::try_from(device).expect("small"),
                access: if x >> 60 & 1 == 0 {
                    Access::Read
                } else {
                    Access::Write
                },
                start,
                len,
                time: time / 100,
            }
        })
        .collect();
    let text = text(&requests);
    (requests, text)
}

#[test]
fn threads_packing_and_pipes_change_nothing() {
    let (requests, text) = long();
    assert!(text.len() > 6 << 20, "several blocks");
    let question = question();
    let mut one = scanned("a", &text, None, &options(1, 1 << 26));
    let expected = answer(&mut one, &question).expect("readable");
    assert_eq!(
        expected.all.requests[0] + expected.all.requests[1],
        requests.len() as u64
    );
    let follows: u64 = expected.all.sequential.iter().sum();
    let mut ends = [u64::MAX; 5];
    let slowly = requests.iter().filter(|one| {
        let end = &mut ends[usize::from(one.device)];
        let follows = *end == one.start;
        *end = one.start + one.len;
        follows
    });
    assert_eq!(follows, slowly.count() as u64);
    for threads in [2, 8] {
        let mut many = scanned("a", &text, None, &options(threads, 1 << 26));
        assert_eq!(
            answer(&mut many, &question).expect("readable"),
            expected,
            "{threads} threads"
        );
        assert_eq!(many.file(0), one.file(0));
    }
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gzip, text.as_bytes()).expect("memory");
    let gzip = gzip.finish().expect("memory");
    let whole = std::io::Cursor::new(text.clone().into_bytes());
    for (source, what) in [
        (Source::At(&gzip, None), "gzip"),
        (
            Source::Stream(Box::new(std::io::Cursor::new(gzip.clone()))),
            "gzip through a pipe",
        ),
        (Source::Stream(Box::new(whole)), "a pipe"),
    ] {
        let input = Input {
            name: "a".to_owned(),
            source,
        };
        let (mut statistics, failures) =
            scan(vec![input], &options(2, 1 << 26)).expect("room on disk");
        assert!(failures.is_empty());
        assert_eq!(
            answer(&mut statistics, &question).expect("readable"),
            expected,
            "{what}"
        );
        assert_eq!(statistics.file(0), one.file(0), "{what}");
    }
}

#[test]
fn bad_lines_have_the_same_places_however_a_file_is_read() {
    let (_, mut text) = long();
    let end = |text: &str, from: usize| from + text[from..].find('\n').expect("more lines") + 1;
    let at = end(&text, 2_000_000);
    text.insert_str(at, "garbage\n1,host,0,Read,-4096,512,7\n");
    let long_line = format!("{}\n", "9,".repeat(70_000));
    // Over the end of the second block, and far from any.
    for near in [4 << 20, 5_000_000] {
        let at = end(&text, near - 30_000);
        text.insert_str(at, &long_line);
    }
    text.push_str("128166372003061629,host,0,Read,40");
    let one = scanned("a", &text, None, &options(1, 1 << 26)).file(0);
    assert_eq!(one.counts.bad, 5);
    for bad in &one.bad {
        let begin = usize::try_from(bad.at).expect("small");
        assert!(text[begin..].starts_with(bad.text.as_str()));
        assert_eq!(bad.line, text[..begin].lines().count() as u64 + 1);
    }
    let many = scanned("a", &text, None, &options(8, 1 << 26)).file(0);
    assert_eq!(many, one);
    let pipe = Source::Stream(Box::new(std::io::Cursor::new(text.into_bytes())));
    let input = Input {
        name: "a".to_owned(),
        source: pipe,
    };
    let (statistics, _) = scan(vec![input], &options(2, 1 << 26)).expect("room on disk");
    assert_eq!(statistics.file(0), one);
}

#[test]
fn the_period_of_a_power_of_two_has_them_all() {
    let text = text(&[One {
        device: 0,
        access: Access::Read,
        start: (5 << 20) + 7 * 512,
        len: 4096,
        time: 0,
    }]);
    let mut statistics = scanned("a", &text, None, &options(1, 1 << 20));
    let counted: Vec<(u64, u64, u64)> = statistics
        .counted(PERIOD)
        .expect("readable")
        .map(|entry| {
            entry
                .map(|(key, count)| (key.place(), key.length(), count))
                .expect("readable")
        })
        .collect();
    assert_eq!(counted, [(7 * 512, 4096, 1)]);
}
