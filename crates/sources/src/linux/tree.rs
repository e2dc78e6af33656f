//! The text form of a captured host, for fixtures and for reading by eye.
//!
//! One entry a line, paths of the host without the leading slash:
//! ```text
//! # comment
//! sys/block/sda/size = 2048
//! sys/block/sda -> ../devices/virtual/block/sda
//! sys/block/sda/slaves/
//! proc/self/mountinfo = first line\nsecond line
//! ```
//! In contents `\n`, `\t`, `\r`, `\\` and `\xHH` stand for what they stand for in C. Trailing newlines are left out.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::archive::clean_path;
use super::entry::{Entry, with_directories};

/// Reads the text form.
pub(crate) fn parse(text: &str) -> Result<BTreeMap<String, Entry>, String> {
    let mut entries = BTreeMap::new();
    for (number, line) in (1_usize..).zip(text.lines()) {
        let line = line.trim_end_matches('\r');
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let (path, entry) = if let Some((path, contents)) = split(line, " =") {
            let contents = contents.strip_prefix(' ').unwrap_or(contents);
            (path, Entry::File(unescape(contents)))
        } else if let Some((path, target)) = split(line, " -> ") {
            (path, Entry::Link(target.to_owned()))
        } else if let Some(path) = line.strip_suffix('/') {
            (path, Entry::Directory)
        } else {
            return Err(format!(
                "line {number} is not `path = contents`, `path -> target` or `path/`"
            ));
        };
        let path = clean_path(path).ok_or_else(|| format!("line {number} has no usable path"))?;
        entries.insert(path, entry);
    }
    Ok(with_directories(entries))
}

/// True for the beginning of the text form: its first entries lie below the directories that captures have, and one at least has a value
/// or leads somewhere.
pub(crate) fn looks_like(head: &[u8]) -> bool {
    // Asked of every image of a directory: most are told by their first line, and nothing is copied.
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) => {
            let valid = head.get(..error.valid_up_to()).unwrap_or_default();
            std::str::from_utf8(valid).unwrap_or_default()
        }
    };
    let is_whole = head.len() < WHOLE;
    let mut lines = text.lines().peekable();
    let mut is_first = true;
    let mut tells = false;
    while let Some(line) = lines.next() {
        let may_be_cut = !is_whole && !is_first && lines.peek().is_none();
        if may_be_cut {
            break;
        }
        is_first = false;
        let line = line.trim_end_matches('\r');
        if line.is_empty() || line.starts_with('#') || line.trim().is_empty() {
            continue;
        }
        let is_below = |top: &&str| {
            line.strip_prefix(*top)
                .is_some_and(|rest| rest.starts_with('/'))
        };
        if !TOPS.iter().any(is_below) {
            return false;
        }
        let path = match (split(line, " ="), split(line, " -> ")) {
            (Some((path, _)), _) | (None, Some((path, _))) => {
                tells = true;
                path
            }
            (None, None) if line.ends_with('/') => line,
            (None, None) => return false,
        };
        if path.contains(' ') && !path.starts_with(".straddle/") {
            return false;
        }
    }
    tells
}

/// As much of a text is looked at.
const WHOLE: usize = 8 << 10;
/// The directories that captures have.
const TOPS: [&str; 6] = [".straddle", "dev", "etc", "proc", "run", "sys"];

/// Splits at the first separator, unless the other kind of separator comes before it.
fn split<'a>(line: &'a str, separator: &str) -> Option<(&'a str, &'a str)> {
    let (path, rest) = line.split_once(separator)?;
    (!path.contains(" -> ")).then_some((path, rest))
}

/// Writes the text form; directories that hold something are left out.
pub(crate) fn write(entries: &BTreeMap<String, Entry>) -> String {
    let mut out = String::new();
    let mut rest = entries.iter().peekable();
    while let Some((path, entry)) = rest.next() {
        let _ = match entry {
            Entry::File(bytes) => writeln!(out, "{path} = {}", escape(bytes)),
            Entry::Link(target) => writeln!(out, "{path} -> {target}"),
            Entry::Directory => {
                let holds = rest
                    .peek()
                    .is_some_and(|(next, _)| next.starts_with(&format!("{path}/")));
                if holds {
                    Ok(())
                } else {
                    writeln!(out, "{path}/")
                }
            }
        };
    }
    out
}

fn escape(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut out = String::new();
    for c in text.trim_end().chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            '\\' => out.push_str("\\\\"),
            c if c.is_ascii_control() => {
                let _ = write!(out, "\\x{:02x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}

fn unescape(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        rest = tail;
        if *first != b'\\' {
            out.push(*first);
            continue;
        }
        let hex = tail
            .strip_prefix(b"x")
            .and_then(|hex| std::str::from_utf8(hex.get(..2)?).ok())
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match (tail.first(), hex) {
            (_, Some(byte)) => {
                out.push(byte);
                rest = tail.get(3..).unwrap_or(&[]);
                continue;
            }
            (Some(b'n'), _) => out.push(b'\n'),
            (Some(b't'), _) => out.push(b'\t'),
            (Some(b'r'), _) => out.push(b'\r'),
            (Some(other), _) => out.push(*other),
            (None, _) => out.push(b'\\'),
        }
        rest = tail.get(1..).unwrap_or(&[]);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_read_back(contents in "[ -~\\n\\t\\\\]{0,40}", name in "[a-z/]{1,12}") {
            let Some(path) = clean_path(&name) else { return Ok(()) };
            let contents = contents.trim_end().to_owned().into_bytes();
            let entries = with_directories(BTreeMap::from([(path, Entry::File(contents))]));
            prop_assert_eq!(parse(&write(&entries)), Ok(entries));
        }

        #[test]
        fn garbage_is_refused_or_read_but_never_fatal(text in "\\PC{0,200}") {
            let _ = parse(&text);
        }
    }

    #[test]
    fn the_text_form_is_told_from_other_text() {
        assert!(looks_like(
            b"# a host\n\nsys/block/sda/size = 2048\nsys/block/sda/slaves/\n"
        ));
        assert!(looks_like(
            b"sys/block/sda -> ../devices/virtual/block/sda\n"
        ));
        assert!(!looks_like(b"sys/block/\n"), "says nothing");
        assert!(!looks_like(b"sys = 1\n"), "a setting");
        assert!(!looks_like(b"[disk]\npath = /dev/sda\n"));
        assert!(
            !looks_like(b"/sys/block/sda/size = 2048\n"),
            "what grep prints"
        );
        assert!(!looks_like(b"\xff\xfe\0\0"));
        assert!(!looks_like(b""));
        let mut long = "sys/block/sda/size = 2048\n".repeat(400).into_bytes();
        long.truncate(WHOLE);
        assert!(looks_like(&long), "its last line is cut");
    }

    #[test]
    fn a_line_that_says_nothing_is_named() {
        assert_eq!(
            parse("a = 1\nhello\n"),
            Err("line 2 is not `path = contents`, `path -> target` or `path/`".into())
        );
        assert_eq!(parse("../a = 1\n"), Err("line 1 has no usable path".into()));
    }
}
