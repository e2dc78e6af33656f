use straddle_stack::AnomalyKind;

use crate::context::Findings;
use crate::repair::FACTS;
use crate::shared::anomalies::report;
use crate::{Context, Page, Repair, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::TRUNCATED_OUTPUT,
    name: "truncated-output",
    summary: "captured text is cut off, so the rest is missing from the report",
    status: Status::Stable,
    repair: Repair::None(FACTS),
    page: Page {
        checks: "Outputs that are certainly not whole: a JSON document that is not closed, a table without the lines that its heading counts, a \
                 list that stops inside an entry.",
        why: "A partition that was cut off is not found to be aligned; it was not checked. Everything before the cut was read.",
        evidence: "The last line that is there, with its file and line number.",
        example: "A terminal that kept 300 lines, a mail that cut an attachment, a disk that was full while the output was written.",
        fix: "Capture it again into a file (`command > file.txt`), not from a window, and send the file itself. The collection scripts do so.",
        fix_safety: "Capturing again only reads; nothing on the server changes.",
        references: &["straddle check --help"],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    report(
        RULE.code,
        context,
        findings,
        &[(AnomalyKind::Truncated, Severity::Warning)],
        "what stands before the cut was read",
        "capture it again into a file: command > file.txt",
    );
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::{Lab, captured};
    use straddle_stack::{Anomaly, AnomalyKind};

    #[test]
    fn the_file_is_named_not_the_disk() {
        let mut lab = Lab::new();
        let disk = lab.disk(512);
        lab.stack.layer_mut(disk).anomalies.push(Anomaly::at(
            AnomalyKind::Truncated,
            "the JSON document ends in the middle",
            captured("lsblk.json", 30, "\"name\": \"sd"),
        ));
        let findings = lab.findings(&RULE);
        assert_eq!(findings[0].severity, Severity::Warning);
        assert!(findings[0].title.starts_with("lsblk.json: "));
    }

    #[test]
    fn other_anomalies_are_silent() {
        let mut lab = Lab::new();
        let disk = lab.disk(512);
        lab.odd(disk, AnomalyKind::LimitReached, "x");
        lab.none(&RULE);
    }
}
