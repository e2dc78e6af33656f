use straddle_stack::AnomalyKind;

use crate::context::Findings;
use crate::repair::FACTS;
use crate::shared::anomalies::report;
use crate::{Context, Page, Repair, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::STALE_CAPTURE,
    name: "stale-capture",
    summary: "captures show different disks in the same place: one predates a disk replacement",
    status: Status::Stable,
    repair: Repair::None(FACTS),
    page: Page {
        checks: "Captures that give the same disk number or device name to disks of different identity: another serial number, disk signature \
                 or disk GUID.",
        why: "At least one of the stacks in the report is not what the machine has now: a disk was replaced, or a capture belongs to \
              another server. The facts of the two disks are kept separate.",
        evidence: "The lines with the two identities, each with its file.",
        example: "`disk 1` has the signature 1c2d3e4f in a capture of 2011 and 8a2b6c7d in one of this year.",
        fix: "Find out which of them is in the machine (the newer file, as a rule), and delete or move away the files about the other. Files of \
              two servers belong in two folders.",
        fix_safety: "Only files with captures are moved; nothing on the server changes.",
        references: &["straddle check --help"],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    report(
        RULE.code,
        context,
        findings,
        &[(AnomalyKind::Stale, Severity::Warning)],
        "both are in the report; at least one of them is not what the machine has now",
        "take away the captures from before the change; files of two servers belong in two folders",
    );
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::AnomalyKind;

    #[test]
    fn a_replaced_disk_is_a_warning() {
        let mut lab = Lab::new();
        let disk = lab.disk(512);
        lab.odd(disk, AnomalyKind::Stale, "serial number A here, B there");
        assert_eq!(lab.findings(&RULE)[0].severity, Severity::Warning);
    }

    #[test]
    fn other_anomalies_are_silent() {
        let mut lab = Lab::new();
        let disk = lab.disk(512);
        lab.odd(disk, AnomalyKind::SameIdentity, "x");
        lab.none(&RULE);
    }
}
