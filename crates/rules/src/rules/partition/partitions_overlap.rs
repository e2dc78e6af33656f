use straddle_stack::AnomalyKind;

use crate::context::Findings;
use crate::repair::DAMAGE;
use crate::shared::anomalies::report;
use crate::{Context, Page, Repair, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::PARTITIONS_OVERLAP,
    name: "partitions-overlap",
    summary: "partitions overlap, or reach beyond the end of the device",
    status: Status::Stable,
    repair: Repair::None(DAMAGE),
    page: Page {
        checks: "Whether any two partitions claim the same bytes, and whether each ends before its device does. An extended partition, which \
                 only holds others, is not counted.",
        why: "This is about data, not speed: what is written through one partition destroys the other. A partition that reaches beyond the \
              device works until the filesystem uses its last part. Both usually come from a damaged or hand-made table, a disk image cut \
              short, or a smaller disk that a larger one was copied to.",
        evidence: "The entries of the partition table, and the size of the device or image.",
        example: "Partition 1 from sector 2,048, 20,480 sectors long, ends at (2,048 + 20,480) × 512 = 11,534,336; partition 2 starts at \
                  20,000 × 512 = 10,240,000, inside it.",
        fix: "Find out which partition is right (the filesystem records its own size: STR308), back up what can be read, then correct the \
              other entry. For an image that was cut short, get the whole image.",
        fix_safety: "Do not mount any of the partitions for writing, and do not run a filesystem check on them, before that is clear. Save \
                     the table: `sfdisk --dump DISK`.",
        references: &[
            "UEFI 2.10, 5.3.3 GPT partition entry array: entries shall not overlap",
            "sfdisk(8), --dump",
        ],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    report(
        RULE.code,
        context,
        findings,
        &[(AnomalyKind::Overlap, Severity::Error)],
        "this endangers data, whatever it does to speed",
        "write to none of these partitions before it is clear which entry is right; save the table with sfdisk --dump",
    );
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::AnomalyKind;

    #[test]
    fn an_overlap_is_an_error() {
        let mut lab = Lab::new();
        let disk = lab.disk(512);
        lab.odd(
            disk,
            AnomalyKind::Overlap,
            "partition 2 starts inside partition 1",
        );
        let findings = lab.findings(&RULE);
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].severity, Severity::Error);
    }

    #[test]
    fn neighbours_are_fine() {
        let mut lab = Lab::new();
        let disk = lab.disk(512);
        lab.partition(disk, 2048);
        lab.none(&RULE);
    }
}
