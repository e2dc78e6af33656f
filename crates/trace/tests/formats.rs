//! What each capture comes to: every request, and every line that is none.

use std::collections::BTreeMap;

use straddle_trace::{FORMATS, Options, TraceError};

use crate::captures::{all, piped, read};

#[test]
fn every_capture_comes_to_what_was_recorded() {
    for capture in all() {
        match (
            capture.refused(),
            read(&capture.bytes, &capture.name, &Options::default()),
        ) {
            (None, Ok(read)) => assert_eq!(read.text(), capture.want, "{}", capture.name),
            (Some(reason), Err(TraceError::Refused { why, .. })) => {
                assert!(why.starts_with(reason), "{}: {why}", capture.name);
            }
            (_, Ok(read)) => panic!("{}: {}", capture.name, read.text()),
            (_, Err(error)) => panic!("{error}"),
        }
    }
}

#[test]
fn every_new_recorder_has_three_captures_at_least() {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for capture in all() {
        *counts.entry(capture.format().to_owned()).or_default() += 1;
    }
    for format in FORMATS {
        let least = match format.name {
            "msr" | "alibaba" | "tencent" | "spc" => 1,
            _ => 3,
        };
        let count = counts.remove(format.name).unwrap_or(0);
        assert!(count >= least, "{}: {count}", format.name);
    }
    assert!(counts.is_empty(), "{counts:?}");
}

#[test]
fn a_trace_in_another_encoding_is_the_same_trace() {
    for capture in all() {
        if capture.refused().is_some() || capture.is_binary() {
            continue;
        }
        let text = std::str::from_utf8(&capture.bytes).expect("text");
        let plain = read(&capture.bytes, &capture.name, &Options::default()).expect("a trace");
        let little =
            |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
        let big =
            |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_be_bytes).collect() };
        let windows = text.replace("\r\n", "\n").replace('\n', "\r\n");
        // Only some lines end as on Windows.
        let mixed: String = text
            .lines()
            .enumerate()
            .map(|(at, line)| format!("{line}{}", if at % 2 == 0 { "\r\n" } else { "\n" }))
            .collect();
        let with_mark = format!("\u{feff}{text}");
        let others = [
            ("utf-16le with a mark", little(&with_mark)),
            ("utf-16be with a mark", big(&with_mark)),
            ("utf-16le", little(text)),
            ("utf-16be", big(text)),
            ("utf-8 with a mark", with_mark.clone().into_bytes()),
            ("lines of Windows", windows.clone().into_bytes()),
            (
                "lines of Windows in utf-16",
                little(&format!("\u{feff}{windows}")),
            ),
            ("lines of both", mixed.into_bytes()),
        ];
        for (encoding, bytes) in others {
            // Columns without letters of ASCII in the first bytes are told by a mark only.
            let name = format!("{} in {encoding}", capture.name);
            for found in [
                read(&bytes, &capture.name, &Options::default()),
                piped(bytes, &capture.name, &Options::default()),
            ] {
                let found = found.unwrap_or_else(|error| panic!("{name}: {error}"));
                assert_eq!(found.requests, plain.requests, "{name}");
                assert_eq!(found.summary.counts, plain.summary.counts, "{name}");
                assert_eq!(found.summary.faults, plain.summary.faults, "{name}");
                let lines = |read: &crate::captures::Found| -> Vec<u64> {
                    read.summary.bad.iter().map(|bad| bad.line).collect()
                };
                assert_eq!(lines(&found), lines(&plain), "{name}");
            }
        }
    }
}

#[test]
fn whoever_looks_at_requests_may_break_off() {
    use std::ops::ControlFlow;
    use straddle_trace::{Input, Source, records};
    for capture in all() {
        let all = capture.requests();
        if capture.refused().is_some() || all.len() < 2 {
            continue;
        }
        let mut seen = 0;
        let input = Input {
            name: capture.name.clone(),
            source: Source::At(&capture.bytes.as_slice(), None),
        };
        let mut visit = |_: &straddle_trace::Record<'_>| {
            seen += 1;
            match seen {
                2 => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        };
        records(input, &Options::default(), &mut visit).expect("a trace");
        assert_eq!(seen, 2, "{}", capture.name);
    }
}

#[test]
fn a_line_longer_than_any_is_one_bad_line() {
    for capture in all() {
        if capture.refused().is_some() || capture.is_binary() || capture.requests().is_empty() {
            continue;
        }
        let plain = read(&capture.bytes, &capture.name, &Options::default()).expect("a trace");
        let mut bytes = capture.bytes.clone();
        bytes.extend_from_slice("x ".repeat(200_000).as_bytes());
        bytes.push(b'\n');
        let found = read(&bytes, &capture.name, &Options::default()).expect("a trace");
        assert_eq!(found.requests, plain.requests, "{}", capture.name);
        assert_eq!(
            found.summary.counts.bad,
            plain.summary.counts.bad + 1,
            "{}",
            capture.name
        );
    }
}
