//! Captures that were cut or changed: nothing panics, and what is before the damage is found all the same. For every commit each byte is
//! changed in one of four ways, in turn; in all of them in a soak.

use straddle_testkit::is_soak;
use straddle_trace::{Options, TraceError};

use crate::captures::{Capture, all, piped, read};

fn traces() -> impl Iterator<Item = &'static Capture> {
    all().iter().filter(|capture| capture.refused().is_none())
}

#[test]
fn a_capture_cut_at_any_byte_has_the_requests_before_the_cut() {
    for capture in traces() {
        let all = capture.requests();
        for end in 0..capture.bytes.len() {
            let options = Options {
                format: Some(capture.format().to_owned()),
                threads: 1,
                ..Options::default()
            };
            let cut = &capture.bytes[..end];
            let found = match read(cut, &capture.name, &options) {
                Ok(found) => found.requests,
                // Too little of it is there to be known.
                Err(
                    TraceError::Unknown { .. }
                    | TraceError::Empty { .. }
                    | TraceError::Refused { .. },
                ) => continue,
                Err(error) => panic!("{error}"),
            };
            // The line that was cut may be another request, or none.
            let sure = found.len().saturating_sub(1);
            let name = format!("{} cut at {end}", capture.name);
            if is_decided_by_all(capture) {
                continue;
            }
            assert!(sure <= all.len(), "{name}");
            assert_eq!(found[..sure], all[..sure], "{name}");
        }
    }
}

/// What a column or a block counts is found from all requests together, so that fewer may say something else.
fn is_decided_by_all(capture: &Capture) -> bool {
    matches!(capture.name.as_str(), "blkalgn/sectors.txt")
}

#[test]
fn a_byte_that_was_changed_costs_a_line_or_two() {
    for capture in traces() {
        let all = capture.requests();
        for at in 0..capture.bytes.len() {
            // For every commit one of the four, in turn.
            let changes = [0x01, 0x20, 0x80, 0xff].into_iter().enumerate();
            for (_, change) in changes.filter(|(turn, _)| is_soak() || at % 4 == *turn) {
                let mut bytes = capture.bytes.clone();
                bytes[at] ^= change;
                let options = Options {
                    format: Some(capture.format().to_owned()),
                    threads: 1,
                    ..Options::default()
                };
                let Ok(found) = read(&bytes, &capture.name, &options) else {
                    continue;
                };
                // A changed heading may say other units, and a changed magic is that of no record.
                let is_heading = at < bytes.iter().position(|b| *b == b'\n').unwrap_or(4).max(4);
                if is_heading || is_decided_by_all(capture) {
                    continue;
                }
                let same = all
                    .iter()
                    .filter(|request| found.requests.iter().any(|found| found == *request))
                    .count();
                assert!(
                    same + 3 >= all.len(),
                    "{} with byte {at} changed by {change:#x}: {same} of {}: {:#?}",
                    capture.name,
                    all.len(),
                    found.requests,
                );
            }
        }
    }
}

#[test]
fn garbage_between_lines_is_bad_and_costs_no_request() {
    const GARBAGE: [&[u8]; 4] = [
        b"Segmentation fault (core dumped)",
        b"\x00\x01\x02\xff\xfe\x80\x1b[31m",
        b"-bash: iostat: command not found",
        b"%%%%,,,;;;\t\t\t[[[((({{{",
    ];
    for capture in traces().filter(|capture| !capture.is_binary()) {
        let whole = read(&capture.bytes, &capture.name, &Options::default()).expect("a trace");
        // Joined lines stay together.
        if capture.name.contains("mail") {
            continue;
        }
        let mut bytes = Vec::new();
        let mut added = 0;
        for (at, line) in capture
            .bytes
            .split_inclusive(|byte| *byte == b'\n')
            .enumerate()
        {
            bytes.extend_from_slice(line);
            if at % 3 == 2 {
                bytes.extend_from_slice(GARBAGE[added % GARBAGE.len()]);
                bytes.push(b'\n');
                added += 1;
            }
        }
        let options = Options {
            format: Some(capture.format().to_owned()),
            ..Options::default()
        };
        for found in [
            read(&bytes, &capture.name, &options),
            piped(bytes.clone(), &capture.name, &options),
        ] {
            let Ok(found) = found else {
                continue;
            };
            assert_eq!(found.requests, whole.requests, "{}", capture.name);
            let bad = whole.summary.counts.bad + added as u64;
            assert_eq!(found.summary.counts.bad, bad, "{}", capture.name);
        }
    }
}
