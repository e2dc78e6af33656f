//! What a long report begins with: what is wrong, how much it costs, what to type next. The evidence follows.

use std::fmt::Write;

use straddle_rules::Severity;
use straddle_stack::Source;

use super::style::{FAINT, STRONG, paint};
use super::summary::{severity_and_price, verdict};
use crate::Checked;
use crate::escape::terminal;

/// Lines of a report from which on it needs an opening: more than a terminal shows at once.
const SCREEN: usize = 40;
/// Most findings that are listed. Those that cost most come first.
const MAX_LISTED: usize = 8;

/// The opening of a report whose rest is `body`; empty where that fits a screen or has one finding.
pub(super) fn opening(checked: &Checked, next: Option<&str>, body: &str) -> String {
    let findings = &checked.findings;
    if findings.len() < 2 || body.lines().count() <= SCREEN {
        return String::new();
    }
    let mut out = format!("{}\n", verdict(checked));
    // Notes cost little: they are counted above, and listed only where there is nothing worse.
    let worst = findings.iter().map(|finding| finding.severity).max();
    let is_listed = |severity: Severity| severity > Severity::Note || worst == Some(Severity::Note);
    let listed: Vec<_> = findings.iter().filter(|f| is_listed(f.severity)).collect();
    for finding in listed.iter().take(MAX_LISTED) {
        let is_assumed = |source: &Source| matches!(source, Source::Assumption { .. });
        let assumed = match finding.evidence.iter().any(|e| is_assumed(&e.source)) {
            true => paint(FAINT, " (assumed)"),
            false => String::new(),
        };
        let _ = writeln!(
            out,
            "  {}  {} {}{assumed}",
            severity_and_price(finding.severity, finding.worst_price()),
            finding.code,
            terminal(&finding.title)
        );
    }
    let more = listed.len().saturating_sub(MAX_LISTED);
    if more > 0 {
        let _ = writeln!(out, "  {}", paint(FAINT, format!("and {more} more")));
    }
    if let Some(next) = next {
        let _ = writeln!(out, "{}: {next}", paint(STRONG, "next"));
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Asked;
    use crate::text::style::without_styles;
    use straddle_rules::{Coverage, Finding, Options, codes};
    use straddle_stack::{Layer, LayerKind, Stack};

    fn checked(severities: &[Severity]) -> Checked {
        let mut stack = Stack::new();
        let disk = stack.push(Layer::new(LayerKind::Device, "sda"));
        let mut checked = Checked::new("a.img", stack, &Options::default(), Asked::default());
        let findings = severities.iter().zip(1..);
        let finding = |(severity, n): (&Severity, u32)| {
            Finding::new(
                codes::PARTITION_START_PHYSICAL_SECTOR,
                *severity,
                disk,
                format!("fault {n}"),
            )
        };
        checked.findings = findings.map(finding).collect();
        checked.coverage = Coverage::Units;
        checked
    }

    #[test]
    fn a_long_report_begins_with_what_is_wrong_and_what_to_type() {
        let long = "a line\n".repeat(SCREEN + 1);
        let (error, note) = (Severity::Error, Severity::Note);
        let of = |severities: &[Severity]| {
            without_styles(&opening(
                &checked(severities),
                Some("straddle fix a.img"),
                &long,
            ))
        };
        assert_eq!(
            of(&[error, Severity::Warning, note, note]),
            "a.img: 1 error, 1 warning, 2 notes\n  error                STR101 fault 1\n  warning              STR101 fault 2\n\
             next: straddle fix a.img\n\n"
        );
        let many = of(&[error; 11]);
        assert!(
            many.contains("STR101 fault 8\n  and 3 more\nnext: "),
            "{many}"
        );
        assert!(
            of(&[note, note]).contains("STR101 fault 2"),
            "nothing worse"
        );
    }

    #[test]
    fn what_rests_on_an_assumption_is_said_to() {
        let mut two = checked(&[Severity::Error; 2]);
        let because = Source::Assumption {
            reason: "as 512e disks have".into(),
        };
        let first = two.findings.remove(0);
        let first = first.evidence(&because, "physical sector = 4 KiB");
        two.findings.insert(0, first);
        let text = without_styles(&opening(&two, None, &"a line\n".repeat(SCREEN + 1)));
        assert!(text.contains("STR101 fault 1 (assumed)\n"), "{text}");
        assert!(text.contains("STR101 fault 2\n"), "{text}");
    }

    #[test]
    fn a_report_that_fits_a_screen_needs_none() {
        let two = checked(&[Severity::Error; 2]);
        assert_eq!(opening(&two, None, &"a line\n".repeat(SCREEN)), "");
        let one = checked(&[Severity::Error]);
        assert_eq!(opening(&one, None, &"a line\n".repeat(SCREEN + 1)), "");
    }
}
