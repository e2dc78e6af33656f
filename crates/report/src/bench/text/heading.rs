//! Headings of reports, and how wide those are.

use std::fmt::Write;

use crate::text::page::folded;
use crate::text::style::{STRONG, paint};

/// Columns that a report has where the width of the terminal is not known.
pub const WIDTH: usize = 100;

/// A heading with an empty line before it: a name, and behind it what it is about.
pub(crate) fn heading(out: &mut String, width: usize, name: &str, rest: &str) {
    out.push('\n');
    for (index, line) in folded(&format!("{name}{rest}"), width - 2)
        .iter()
        .enumerate()
    {
        let _ = match line.strip_prefix(name) {
            Some(rest) if index == 0 => writeln!(out, "{}{rest}", paint(STRONG, name)),
            _ => writeln!(out, "  {line}"),
        };
    }
}
