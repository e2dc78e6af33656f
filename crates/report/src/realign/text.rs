//! Moves for terminals: what moves, what is written besides, what it changes, and what is left to do.

use std::fmt::Write;

use straddle_fix::Cure;
use straddle_geometry::{Bytes, both_ways};
use straddle_realign::{Edit, Intent};
use straddle_rules::figures::counted;

use super::{Ended, Shown};
use crate::bench::text::{WIDTH, heading};
use crate::escape::terminal;
use crate::fix::text::{MIN_WIDTH, prices, prose};
use crate::text::style::{FAINT, GOOD, STRONG, paint};

/// Most edits that are listed one by one.
const MAX_LISTED: usize = 12;
/// Bytes of a row of a hexdump.
const ROW: usize = 16;

/// A move that is proposed. `next` are commands with what each does.
#[must_use]
pub fn proposal(shown: Shown<'_>, next: &[(String, String)], width: usize) -> String {
    let width = width.clamp(MIN_WIDTH, WIDTH);
    let mut out = String::new();
    let count = shown.intent.moved().count();
    let _ = writeln!(
        out,
        "{}  {} to move; nothing has been changed",
        paint(STRONG, terminal(shown.target)),
        counted(count, "partition")
    );
    moved(shown.intent, width, &mut out);
    let edits: Vec<&str> = shown
        .intent
        .job
        .edits()
        .iter()
        .map(|edit| edit.what.as_str())
        .collect();
    if !edits.is_empty() {
        heading(
            &mut out,
            width,
            "Also written",
            ", once the data has moved and was read back",
        );
        for what in edits.iter().take(MAX_LISTED) {
            prose(&mut out, width, 2, what);
        }
        if edits.len() > MAX_LISTED {
            let _ = writeln!(
                out,
                "  and {} more (--dry-run shows all bytes)",
                edits.len() - MAX_LISTED
            );
        }
    }
    costs(
        shown,
        "Extra operations by request size, now and afterwards (computed)",
        width,
        &mut out,
    );
    lists(shown.intent, width, &mut out);
    if !next.is_empty() {
        heading(&mut out, width, "Next", "");
        let longest = next.iter().map(|(what, _)| what.len()).max().unwrap_or(0);
        for (what, command) in next {
            let _ = writeln!(out, "  {what:longest$}  {}", terminal(command));
        }
    }
    out
}

/// A move that was done.
#[must_use]
pub fn done(shown: Shown<'_>, ended: &Ended, width: usize) -> String {
    let width = width.clamp(MIN_WIDTH, WIDTH);
    let mut out = String::new();
    let count = shown.intent.moved().count();
    let _ = writeln!(
        out,
        "{}  {}",
        paint(STRONG, terminal(shown.target)),
        paint(GOOD, words(ended, count))
    );
    moved(shown.intent, width, &mut out);
    costs(
        shown,
        "Extra operations by request size, before and now (checked again)",
        width,
        &mut out,
    );
    lists(shown.intent, width, &mut out);
    out
}

/// Every byte that is written besides the data, before and after, as `hexdump -C` shows them.
#[must_use]
pub fn bytes(intent: &Intent) -> String {
    let mut out = String::new();
    for edit in intent.job.edits() {
        let _ = writeln!(
            out,
            "{}, byte {}",
            paint(STRONG, &edit.what),
            edit.at.grouped()
        );
        rows(edit, &mut out);
    }
    out
}

fn words(ended: &Ended, count: usize) -> String {
    let moved = counted(count, "partition");
    match ended {
        Ended::Moved => format!("{moved} moved, and every byte read back"),
        Ended::Copied { new, format } => format!(
            "written to {} ({format}) with {moved} moved, and every byte compared; the target was only read",
            terminal(new)
        ),
    }
}

fn moved(intent: &Intent, width: usize, out: &mut String) {
    for entry in intent.moved() {
        let what = match (&entry.filesystem, &entry.label) {
            (Some(format), Some(label)) => format!(", {format} {}", terminal(label)),
            (Some(format), None) => format!(", {format}"),
            (None, _) => String::new(),
        };
        let line = format!(
            "partition {}: {} \u{2192} {}; {}{what}",
            entry.number,
            both_ways(entry.from.start()),
            both_ways(entry.to.start()),
            entry.from.len().rounded()
        );
        prose(out, width, 2, &line);
    }
}

fn costs(shown: Shown<'_>, title: &str, width: usize, out: &mut String) {
    let priced: Vec<&Cure> = shown
        .found
        .iter()
        .filter(|cure| !cure.prices.is_empty())
        .collect();
    if !priced.is_empty() {
        out.push('\n');
        let _ = writeln!(out, "{title}");
        prices(priced.into_iter(), width, out);
    }
    for cure in shown.new {
        let line = format!("only afterwards: {} {}", cure.code, cure.title);
        prose(out, width, 2, &line);
    }
}

fn lists(intent: &Intent, width: usize, out: &mut String) {
    for (title, rest, lines) in [
        ("Note", "", &intent.notes),
        ("Afterwards", ", by hand", &intent.follow_ups),
    ] {
        if !lines.is_empty() {
            heading(out, width, title, rest);
            for line in lines {
                prose(out, width, 2, line);
            }
        }
    }
}

/// Rows in which something changes, the old one above the new one.
fn rows(edit: &Edit, out: &mut String) {
    let start = edit.at.get() / ROW as u64 * ROW as u64;
    let lead = usize::try_from(edit.at.get() - start).unwrap_or(0);
    let count = (lead + edit.after.len()).div_ceil(ROW);
    let mut skipped = false;
    for row in 0..count {
        let first = (row * ROW).saturating_sub(lead);
        let last = ((row + 1) * ROW - lead).min(edit.after.len());
        let (before, after) = (&edit.before[first..last], &edit.after[first..last]);
        if before == after {
            if !skipped {
                let _ = writeln!(out, "  {}", paint(FAINT, "*"));
            }
            skipped = true;
            continue;
        }
        skipped = false;
        let address = Bytes::new(start + (row * ROW) as u64).get();
        let blanks = if row == 0 { lead } else { 0 };
        for (mark, bytes) in [("-", before), ("+", after)] {
            let _ = writeln!(out, "  {mark} {address:08x}  {}", row_of(bytes, blanks));
        }
    }
}

fn row_of(bytes: &[u8], blanks: usize) -> String {
    let mut hex = "   ".repeat(blanks);
    let mut text = " ".repeat(blanks);
    for byte in bytes {
        let _ = write!(hex, "{byte:02x} ");
        text.push(match byte {
            0x20..=0x7e => char::from(*byte),
            _ => '.',
        });
    }
    format!("{hex:48} |{text}|")
}
