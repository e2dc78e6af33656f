use straddle_stack::AnomalyKind;

use crate::context::Findings;
use crate::shared::anomalies::report;
use crate::{Context, Page, Repair, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::PARTLY_GIVEN,
    name: "partly-given",
    summary: "members of an array or pool are missing from the targets, or one cannot be identified for certain",
    status: Status::Stable,
    repair: Repair::None("targets do not include all members: name all of them"),
    page: Page {
        checks: "Whether all members that the metadata of a set name were among what was looked at; and whether metadata at the end of a device \
                 (md 0.90) could belong to the whole disk as well as to its last partition.",
        why: "Partitions and filesystems may be missing from the report: the sectors and the data offset of a missing member are unknown, \
              and what lies on it alone cannot be read. A superblock of version 0.90 does not record where it is; when the last partition \
              ends with the disk, only the size that the array uses tells whose it is, and RAID 0 and linear arrays record none.",
        evidence: "The number of members in the newest metadata, and the roles that it lists.",
        example: "`straddle check sda.img` of a RAID 5 over four disks: numbers 1, 2 and 3 were not given.",
        fix: "Give all members in one command: `straddle check sda.img sdb.img sdc.img sdd.img`, or the folder that holds them. For a \
              superblock of version 0.90, `mdadm --examine /dev/X` of the disk and of its partition, and the history of the machine, decide.",
        fix_safety: "Nothing is written. Where a superblock is found for two devices, `mdadm --zero-superblock /dev/X` on the wrong one \
                     destroys the right one: they are the same bytes.",
        references: &["mdadm(8), --examine", "md(4), SUPER BLOCKS"],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    report(
        RULE.code,
        context,
        findings,
        &[(AnomalyKind::PartlyGiven, Severity::Note)],
        "findings about the members that are missing, and what can only be read from them, are not here",
        "name all members in one command, or the folder that holds their images",
    );
    report(
        RULE.code,
        context,
        findings,
        &[(AnomalyKind::UnclearOwner, Severity::Note)],
        "",
        "mdadm --examine of the disk and of the partition shows what each would make",
    );
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::Lab;
    use straddle_stack::AnomalyKind;

    #[test]
    fn both_are_notes() {
        let mut lab = Lab::new();
        let disk = lab.disk(512);
        lab.none(&RULE);
        lab.odd(
            disk,
            AnomalyKind::PartlyGiven,
            "1 of its 2 members was not given",
        );
        lab.odd(
            disk,
            AnomalyKind::UnclearOwner,
            "of the disk or of its partition",
        );
        assert_eq!(lab.findings(&RULE).len(), 2);
    }
}
