//! The few styles that are used; meaning is never carried by colour alone.

use anstyle::{AnsiColor, Style};
use straddle_rules::Severity;

/// Errors, and what is off the grid.
pub const ERROR: Style = AnsiColor::Red.on_default().bold();
pub(crate) const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const NOTE: Style = AnsiColor::Cyan.on_default().bold();
/// Frames, arrows, tree lines.
pub(crate) const FRAME: Style = AnsiColor::Blue.on_default();
/// Titles and names.
pub(crate) const STRONG: Style = Style::new().bold();
/// What is fine.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
/// What is less important.
pub(crate) const FAINT: Style = Style::new().dimmed();

/// The style of a severity.
#[must_use]
pub const fn severity_style(severity: Severity) -> Style {
    match severity {
        Severity::Error => ERROR,
        Severity::Warning => WARNING,
        Severity::Note => NOTE,
    }
}

/// `text` in `style`.
pub(crate) fn paint(style: Style, text: impl std::fmt::Display) -> String {
    format!("{style}{text}{style:#}")
}

/// `text` without its styles.
#[cfg(test)]
pub(crate) fn without_styles(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' {
            let _ = chars.find(|c| *c == 'm');
        } else {
            out.push(c);
        }
    }
    out
}
