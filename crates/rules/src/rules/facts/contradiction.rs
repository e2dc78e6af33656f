use straddle_stack::AnomalyKind;

use crate::context::Findings;
use crate::repair::FACTS;
use crate::shared::anomalies::report;
use crate::{Context, Page, Repair, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::CONTRADICTION,
    name: "contradiction",
    summary: "captures of one machine contradict each other",
    status: Status::Stable,
    repair: Repair::None(FACTS),
    page: Page {
        checks: "Facts that several captures of one machine give about the same disk, partition, volume or filesystem: its size, start, \
                 sectors, stripe unit, allocation unit, level, format. Rounded figures agree when one value is possible for both.",
        why: "Both cannot be true, so a verdict that depends on either may be wrong. The usual causes: one capture is from before a \
              change, files of two servers are in one folder, or one figure was copied by hand.",
        evidence: "Both lines, each with its file and line number.",
        example: "`diskpar` says that partition 1 of disk 1 starts at 32,256, `wmic` that it starts at 1,048,576: the partition was re-created between the two captures.",
        fix: "Run both commands again, on the same machine and at the same time, and replace the old files. The exact figure is used \
              where the other is rounded; of two exact ones the one that was read first.",
        fix_safety: "Capturing again only reads. Change no partition on the ground of figures that contradict each other.",
        references: &["straddle check --help"],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    report(
        RULE.code,
        context,
        findings,
        &[(AnomalyKind::Contradiction, Severity::Warning)],
        "the exact one is used where the other is rounded; of two exact ones, the one that was read first",
        "run both commands again on the same machine, at the same time, and replace the older file",
    );
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::{Lab, captured};
    use straddle_stack::{Anomaly, AnomalyKind};

    #[test]
    fn both_sides_are_shown() {
        let mut lab = Lab::new();
        let disk = lab.disk(512);
        lab.stack.layer_mut(disk).anomalies.push(Anomaly::between(
            AnomalyKind::Contradiction,
            "start is 31.5 KiB in one place and 1 MiB in another",
            captured("diskpar.txt", 10, "StatringOffset = 32256"),
            captured("wmic.txt", 4, "StartingOffset=1048576"),
        ));
        let findings = lab.findings(&RULE);
        assert_eq!(findings[0].severity, Severity::Warning);
        let labels: Vec<&str> = findings[0]
            .evidence
            .iter()
            .map(|evidence| evidence.label.as_str())
            .collect();
        assert_eq!(labels, ["contradiction", "against this"]);
    }

    #[test]
    fn one_opinion_is_silent() {
        let mut lab = Lab::new();
        lab.disk(512);
        lab.none(&RULE);
    }
}
