//! Evidence as it was read: hexdump rows or a line of text, with carets under the field.
//!
//! A crate for compiler diagnostics would number every line; a hexdump row has its own number, the address.

use std::fmt::Write;

use straddle_stack::{ImageBytes, Source};

use super::page::folded;
use super::style::{FAINT, FRAME, paint};
use crate::escape::terminal;

/// Writes one piece of evidence: where, what, and a label at the carets.
pub(super) fn render(
    place: &str,
    source: &Source,
    label: &str,
    style: anstyle::Style,
    out: &mut String,
) {
    let bar = paint(FRAME, "|");
    let (at, lines) = match source {
        Source::Image(bytes) => (
            format!("{place}, byte {:#x}", bytes.offset().get()),
            hexdump(bytes),
        ),
        Source::HostFile { path, text } => (path.clone(), under_all(text)),
        Source::Call { call, text } => (format!("{place}, {call}"), under_all(text)),
        Source::Captured { file, line, text } => (format!("{file}, line {line}"), under_all(text)),
        Source::Flag { flag, text } => (
            "command line".to_owned(),
            under_all(&format!("{flag} {text}")),
        ),
        Source::Assumption { reason } => return said("assumed", label, reason, out),
        Source::Derived { from } => return said("derived", label, from, out),
    };
    let _ = writeln!(out, "  {} {}", paint(FRAME, "-->"), terminal(&at));
    let _ = writeln!(out, "   {bar}");
    let last = lines.len().saturating_sub(1);
    for (index, (text, carets)) in lines.iter().enumerate() {
        let _ = writeln!(out, "   {bar} {text}");
        if let Some((indent, width)) = carets {
            let tail = if index == last {
                format!(" {label}")
            } else {
                String::new()
            };
            let _ = writeln!(
                out,
                "   {bar} {}{}",
                " ".repeat(*indent),
                paint(style, "^".repeat(*width) + &tail)
            );
        }
    }
    if lines.is_empty() {
        let _ = writeln!(out, "   {bar} {}", paint(FAINT, label));
    }
}

/// Width of prose under a finding.
pub(crate) const WIDTH: usize = 92;
/// Width of the terminal that lines of a finding are made for.
const TERMINAL: usize = 100;

/// A line of arithmetic or of prices that is longer than the terminal by no more than this stays in one piece: the commonest
/// price, of a sector that is cut, is.
const TOLERATED: usize = 4;

/// Writes lines behind `=`, the name in front of the first. What is too long for a terminal goes on in the next, further
/// in.
pub(super) fn aside(out: &mut String, name: &str, lines: &[String]) {
    const MARGIN: usize = "   = ".len();
    const HANG: &str = "  ";
    let width = TERMINAL.saturating_sub(MARGIN + name.len() + ": ".len());
    let mut head = format!("{name}:");
    for line in lines {
        let mut rest = vec![terminal(line).into_owned()];
        if rest[0].chars().count() > width + TOLERATED {
            rest = clauses(&rest[0], width - HANG.len());
        }
        for (index, part) in rest.iter().enumerate() {
            let hang = if index == 0 { "" } else { HANG };
            let _ = writeln!(out, "   {} {head} {hang}{part}", paint(FRAME, "="));
            head = " ".repeat(name.len() + 1);
        }
    }
}

/// `text` cut into lines of at most `width` characters, behind a colon, a semicolon or a comma where that is possible.
fn clauses(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut clause = String::new();
    let mut words = text.split_whitespace().peekable();
    while let Some(word) = words.next() {
        if !clause.is_empty() {
            clause.push(' ');
        }
        clause.push_str(word);
        if !word.ends_with([':', ';', ',']) && words.peek().is_some() {
            continue;
        }
        let len = clause.chars().count();
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + len <= width => {
                line.push(' ');
                line.push_str(&clause);
            }
            _ => lines.extend(folded(&clause, width)),
        }
        clause.clear();
    }
    lines
}

/// Writes prose behind `=`, in lines that fit a terminal.
pub(super) fn prose(out: &mut String, name: &str, text: &str) {
    const MARGIN: usize = "   = ".len();
    let width = WIDTH.min(TERMINAL.saturating_sub(MARGIN + name.len() + ": ".len()));
    aside(out, name, &folded(&terminal(text), width));
}

/// A fact that was not read anywhere has no place to show.
fn said(how: &str, label: &str, why: &str, out: &mut String) {
    prose(out, how, &format!("{label}: {why}"));
}

type Marked = (String, Option<(usize, usize)>);

/// The rows of a field as `hexdump -C` prints their bytes, with the columns of the field's bytes.
fn hexdump(bytes: &ImageBytes) -> Vec<Marked> {
    let first = bytes.offset().get() - bytes.first_row().get();
    let len = u64::try_from(bytes.field().len()).unwrap_or(0);
    let mut out = Vec::new();
    for (index, row) in (0_u64..).zip(bytes.rows().chunks(16)) {
        let address = bytes.first_row().get().saturating_add(index * 16);
        let mut text = format!("{address:08x} ");
        for (column, byte) in row.iter().enumerate() {
            let gap = if column == 8 { "  " } else { " " };
            let _ = write!(text, "{gap}{byte:02x}");
        }
        // The part of the field in this row, in bytes of the row.
        let from = first.max(index * 16) - index * 16;
        let to = (first + len)
            .min(index * 16 + 16)
            .saturating_sub(index * 16);
        let carets = (from < to && from < 16).then(|| {
            let column = |byte: u64| 10 + byte * 3 + u64::from(byte >= 8);
            let indent = column(from);
            let end = column(to - 1) + 2;
            (
                usize::try_from(indent).unwrap_or(0),
                usize::try_from(end - indent).unwrap_or(1),
            )
        });
        if carets.is_some() {
            out.push((text, carets));
        }
    }
    out
}

/// A line of text with carets under all of it.
fn under_all(text: &str) -> Vec<Marked> {
    let text = terminal(text).into_owned();
    let width = text.chars().count().max(1);
    vec![(text, Some((0, width)))]
}

#[cfg(test)]
mod tests {
    use super::super::style::without_styles;
    use super::*;
    use straddle_geometry::Bytes;

    fn plain(source: &Source) -> String {
        let mut out = String::new();
        render(
            "mbr",
            source,
            "first sector = 63",
            anstyle::Style::new(),
            &mut out,
        );
        without_styles(&out)
    }

    #[test]
    fn carets_stand_under_the_bytes_of_the_field() {
        let row = [
            0x01, 0x00, 0x07, 0xfe, 0xff, 0xff, 0x3f, 0, 0, 0, 0x82, 0x3e, 0x5d, 0x05, 0, 0,
        ];
        let source = Source::Image(ImageBytes::new(Bytes::new(0x1c6), 4, &row));
        assert_eq!(
            plain(&source),
            "  --> mbr, byte 0x1c6\n   |\n   | 000001c0  01 00 07 fe ff ff 3f 00  00 00 82 3e 5d 05 00 00\n   \
             |                             ^^^^^^^^^^^^ first sector = 63\n"
        );
    }

    #[test]
    fn long_lines_go_on_further_in() {
        let mut out = String::new();
        let long = ["1,024 B (12.5%)"; 12].join(", ");
        aside(&mut out, "arithmetic", &["1 = 1".to_owned(), long]);
        let text = without_styles(&out);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "   = arithmetic: 1 = 1");
        let first = "   =             1,024 B (12.5%), 1,024 B (12.5%), ";
        assert!(lines[1].starts_with(first), "{text}");
        assert!(lines[2].starts_with("   =               1,024 B (12.5%), 1,"));
        assert_eq!(lines.len(), 4, "{text}");
        assert!(lines.iter().all(|line| line.chars().count() <= TERMINAL));
    }

    #[test]
    fn a_field_over_two_rows_is_marked_in_both() {
        let rows: Vec<u8> = (0..32).collect();
        let source = Source::Image(ImageBytes::new(Bytes::new(0x0e), 4, &rows));
        let text = plain(&source);
        assert_eq!(text.matches('^').count(), 5 + 5, "{text}");
        assert!(
            text.trim_end().ends_with("^^^^^ first sector = 63"),
            "{text}"
        );
    }

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        let source = Source::HostFile {
            path: "sys/x".into(),
            text: "a\u{1b}[31mb".into(),
        };
        assert!(!plain(&source).contains('\u{1b}'));
    }
}
