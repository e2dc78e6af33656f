//! What mail and terminals do to lines: requests may be lost by it, but none becomes another.

use straddle_trace::Options;

use crate::captures::{Capture, Found, all, read};

/// Recorders whose lines are long enough to be wrapped, and are read one by one.
fn texts() -> impl Iterator<Item = &'static Capture> {
    all().iter().filter(|capture| {
        matches!(
            capture.format(),
            "blkparse" | "ftrace" | "biosnoop" | "blkalgn" | "etw" | "iolog" | "fiu"
        ) && capture.refused().is_none()
            && !capture.name.contains("mail")
            && !capture.name.ends_with(".csv")
    })
}

/// A capture without its bad lines, which may become requests by what happens to them or to others.
fn good(capture: &Capture, whole: &Found) -> String {
    let bad: Vec<u64> = whole.summary.bad.iter().map(|bad| bad.line).collect();
    let text = std::str::from_utf8(&capture.bytes).expect("text");
    (1..)
        .zip(text.split_inclusive('\n'))
        .filter(|(number, _)| !bad.contains(number))
        .map(|(_, line)| line)
        .collect()
}

/// As mail does it: at the last blank before the width, each line with the mark of a quotation.
fn quoted(text: &str, width: usize) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let mut rest = line;
        while rest.len() > width
            && let Some(at) = rest[..width]
                .rfind(' ')
                .filter(|at| !rest[..*at].trim().is_empty())
        {
            out.push_str(&format!("> {}\n", &rest[..at]));
            rest = rest[at..].trim_start();
        }
        out.push_str(&format!("> {rest}\n"));
    }
    out
}

/// As a terminal does it: at the width.
fn cut(text: &str, width: usize) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let mut rest = line;
        while rest.len() > width {
            out.push_str(&format!("{}\n", &rest[..width]));
            rest = &rest[width..];
        }
        out.push_str(&format!("{rest}\n"));
    }
    out
}

/// Whether a request is the same, or the same without its time, which a line of its own may have.
fn is_same(this: &str, that: &str) -> bool {
    let (this, that) = (this.split(' '), that.split(' '));
    this.clone().count() == that.clone().count()
        && this
            .zip(that)
            .enumerate()
            .all(|(at, (this, that))| this == that || (at == 4 && this == "-"))
}

/// Whether all of these are in those, in this order.
fn is_part(these: &[String], those: &[String]) -> bool {
    let mut those = those.iter();
    these
        .iter()
        .all(|this| those.any(|that| is_same(this, that)))
}

#[test]
fn a_wrapped_line_is_no_other_request() {
    let (mut kept, mut all) = (0, 0);
    for capture in texts() {
        let options = Options {
            format: Some(capture.format().to_owned()),
            ..Options::default()
        };
        let whole = read(&capture.bytes, &capture.name, &options).expect("a trace");
        let text = good(capture, &whole);
        for width in 24..140 {
            for (how, wrapped) in [("quoted", quoted(&text, width)), ("cut", cut(&text, width))] {
                // A length at the end of a line says nothing of whether it goes on.
                if how == "cut" && capture.format() == "iolog" {
                    continue;
                }
                let Ok(found) = read(wrapped.as_bytes(), &capture.name, &options) else {
                    continue;
                };
                assert!(
                    is_part(&found.requests, &whole.requests),
                    "{} {how} at {width}: {:#?}\n{wrapped}",
                    capture.name,
                    found
                        .requests
                        .iter()
                        .filter(|request| !whole.requests.iter().any(|that| is_same(request, that)))
                        .collect::<Vec<_>>()
                );
                if width >= 72 {
                    kept += found.requests.len();
                    all += whole.requests.len();
                }
            }
        }
    }
    // Lines of xperf have 200 characters and become three.
    assert!(kept * 10 >= all * 9, "{kept} of {all}");
}

#[test]
fn a_line_that_was_cut_off_is_no_other_request() {
    // As `cut -c` and narrow windows do it.
    for capture in texts().filter(|capture| capture.format() != "iolog") {
        let options = Options {
            format: Some(capture.format().to_owned()),
            ..Options::default()
        };
        let whole = read(&capture.bytes, &capture.name, &options).expect("a trace");
        let text = good(capture, &whole);
        for width in 8..200 {
            let short: String = text
                .lines()
                .map(|line| format!("{}\n", &line[..line.len().min(width)]))
                .collect();
            let Ok(found) = read(short.as_bytes(), &capture.name, &options) else {
                continue;
            };
            assert!(
                is_part(&found.requests, &whole.requests),
                "{} at {width}: {:#?}\n{short}",
                capture.name,
                found
                    .requests
                    .iter()
                    .filter(|request| !whole.requests.iter().any(|that| is_same(request, that)))
                    .collect::<Vec<_>>()
            );
        }
    }
}
