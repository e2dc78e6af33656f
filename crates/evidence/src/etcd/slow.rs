//! `slow fdatasync`: one sync that took longer than a second. Shorter ones are not told, so that it is a maximum.

use straddle_stack::activity::{Quantity, Span, Statistic};

use crate::format::{Format, Reading, Shape};
use crate::line::Line;
use crate::notes::Notes;
use crate::number;
use crate::stamp;

pub(crate) static FORMAT: Format = Format {
    name: "etcd-slow-syncs",
    commands: &["journalctl -u etcd", "kubectl logs etcd-…"],
    says: "syncs of the write-ahead log that took longer than a second",
    shape: Shape::Messages {
        marks: &[SLOW, SYNC],
        of_errorlog: false,
        read,
    },
};

/// From 3.4 on, and before.
const SLOW: &str = "slow fdatasync";
const SYNC: &str = "sync duration of ";

fn read(line: &Line<'_>, notes: &mut Notes<'_>) -> Reading {
    let text = line.text;
    let (start, rest) = if let Some(at) = text.find(SYNC) {
        (at, Some(&text[at + SYNC.len()..]))
    } else if let Some(at) = text.find(SLOW) {
        let behind = &text[at + SLOW.len()..];
        // The quotes of JSON, which may be escaped, and how consoles write it.
        let rest = behind.split_once("took").map(|(_, rest)| rest);
        let rest = rest.map(|rest| rest.trim_start_matches(['\\', '"', ':', '=', ' ']));
        if rest.is_none() && !behind.trim_start_matches('\\').starts_with('"') {
            return Reading::Other;
        }
        (at, rest)
    } else {
        return Reading::Other;
    };
    let Some(rest) = rest.filter(|rest| !rest.is_empty()) else {
        // The document ends without it, or the next line has it.
        return match text.trim_end().ends_with('}') {
            true => Reading::Other,
            false => Reading::Unfinished,
        };
    };
    let end = rest.find(['\\', '"', ',', ' ', '}']);
    match end.and_then(|end| duration(&rest[..end])) {
        Some(seconds) => {
            let at = notes.at(*line, stamp::last(&text[..start]));
            let meaning = (Quantity::FlushLatency, Statistic::Max, Span::Event);
            let server = notes.server(line);
            notes.add_as(at, &server, meaning, seconds);
            Reading::Done
        }
        None if rest.starts_with(|c: char| c.is_ascii_digit()) => {
            notes.unread(line);
            Reading::Done
        }
        None => Reading::Other,
    }
}

/// A duration as Go prints it: `1m2.5s`, `850.1ms`.
fn duration(text: &str) -> Option<f64> {
    let mut seconds = 0.0;
    let mut rest = text;
    while !rest.is_empty() {
        let (value, behind) = number::leading(rest)?;
        let end = behind.find(|c: char| c.is_ascii_digit());
        let (unit, next) = behind.split_at(end.unwrap_or(behind.len()));
        seconds += value
            * match unit {
                "h" => 3600.0,
                "m" => 60.0,
                "s" => 1.0,
                "ms" => 1e-3,
                "µs" | "μs" | "us" => 1e-6,
                "ns" => 1e-9,
                _ => return None,
            };
        rest = next;
    }
    (!text.is_empty()).then_some(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_those_of_go() {
        for (text, seconds) in [
            ("1.5s", Some(1.5)),
            ("1m2.5s", Some(62.5)),
            ("1h0m1s", Some(3601.0)),
            ("500ms", Some(0.5)),
            ("1.5", None),
            ("", None),
            ("s", None),
        ] {
            assert_eq!(duration(text), seconds, "{text}");
        }
    }
}
