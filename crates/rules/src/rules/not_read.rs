use straddle_stack::OddityKind;

use super::oddities::report;
use crate::context::Findings;
use crate::{Code, Context, Page, Rule, Severity, Status};

pub(crate) static RULE: Rule = Rule {
    code: Code(903),
    name: "not-read",
    summary: "a part could not be read or was not looked at, so the answer is incomplete",
    status: Status::Stable,
    page: Page {
        checks: "What is missing from the picture: parts of a device that gave an error, lists longer than the limit, facts that the system does \
                 not give to this user or this kernel, parents of a virtual disk that were not found, parts of a file inside a guest that \
                 lie nowhere by themselves (holes, compressed or encrypted parts).",
        why: "Silence about a layer that was not read is no verdict. This says which layers the report has no opinion about, and what would \
              supply it.",
        evidence: "The error of the read, the limit that was reached, or the file that is absent.",
        example: "Without root the device nodes cannot be opened, so boot sectors on them are not read; sysfs still gives starts, sectors and \
                  stripe units.",
        fix: "Do what the finding says: run it as root, capture the host where it is allowed (`straddle capture`), give the missing fact by a \
              flag, or get the whole image.",
        fix_safety: "Reading changes nothing. When a device gives read errors, stop and copy it first (`ddrescue`): every further read \
                     of a dying disk is a risk.",
        references: &["ddrescue(1)", "straddle capture --help"],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    report(
        RULE.code,
        context,
        findings,
        &[
            (OddityKind::Unreadable, Severity::Warning),
            (OddityKind::LimitReached, Severity::Note),
            (OddityKind::Missing, Severity::Note),
            // Parts of a file that have no place of their own, or none that says what a program reads there.
            (OddityKind::Inline, Severity::Note),
            (OddityKind::Sparse, Severity::Note),
            (OddityKind::Compressed, Severity::Note),
            (OddityKind::Encrypted, Severity::Note),
            (OddityKind::Unwritten, Severity::Note),
            (OddityKind::Pending, Severity::Note),
            (OddityKind::Elsewhere, Severity::Note),
        ],
        "",
        "",
    );
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::OddityKind;

    #[test]
    fn errors_weigh_more_than_limits() {
        let mut lab = Lab::new();
        let disk = lab.disk(512);
        lab.odd(disk, OddityKind::Unreadable, "input/output error at byte 0");
        lab.odd(disk, OddityKind::LimitReached, "more than 256 entries");
        let severities: Vec<Severity> = lab
            .findings(&RULE)
            .iter()
            .map(|finding| finding.severity)
            .collect();
        assert_eq!(severities, [Severity::Warning, Severity::Note]);
    }

    #[test]
    fn what_was_read_is_silent() {
        let mut lab = Lab::new();
        let disk = lab.disk(512);
        lab.odd(disk, OddityKind::Damaged, "x");
        lab.none(&RULE);
    }
}
