use straddle_stack::AnomalyKind;

use crate::context::Findings;
use crate::repair::STATE;
use crate::shared::anomalies::report;
use crate::{Context, Page, Repair, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::DEGRADED_ARRAY,
    name: "degraded-array",
    summary: "array is degraded: a member is missing, stale or still rebuilding",
    status: Status::Stable,
    repair: Repair::None(STATE),
    page: Page {
        checks: "Whether the kernel, or the newest metadata of an array, say that a member is gone, was left behind, or is still being rebuilt.",
        why: "Requests cost extra I/Os until the array is whole again: to read a block of the missing member takes a read of every other \
              member of its row with parity, and of the other copy with mirrors; a write to its row reads too. A benchmark of a degraded \
              array does not show what the array can do, and one more failure may lose everything. Placement does not change: findings \
              about starts and stripes still hold.",
        evidence: "sysfs `md/degraded`, the device-mapper table, or the roles in the newest superblock.",
        example: "RAID 5 over 4 disks of which one failed: a read of 64 KiB that was one request becomes three, for one unit in four.",
        fix: "Replace the member: `mdadm --manage /dev/mdN --add /dev/X`, then wait for the rebuild (`mdadm --wait /dev/mdN`, `cat \
              /proc/mdstat`).",
        fix_safety: "Look at the remaining members first (`smartctl -a /dev/X`): the rebuild reads all of them from end to end. Have a \
                     backup that was test-restored.",
        references: &[
            "md(4), degraded operation",
            "Linux Documentation/admin-guide/md.rst: degraded",
        ],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    report(
        RULE.code,
        context,
        findings,
        &[(AnomalyKind::Degraded, Severity::Warning)],
        "what is measured now is not what the whole array does; where bytes lie has not changed",
        "mdadm --detail shows which members are there; after a rebuild, check again",
    );
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::AnomalyKind;

    #[test]
    fn a_member_that_is_gone_is_a_warning() {
        let mut lab = Lab::new();
        let disks = [lab.disk(512), lab.disk(512)];
        let array = lab.array(&disks, 65_536, &[0, 0]);
        lab.odd(
            array,
            AnomalyKind::Degraded,
            "degraded: 1 of its 2 members is not there",
        );
        let findings = lab.findings(&RULE);
        assert_eq!(
            (findings.len(), findings[0].severity),
            (1, Severity::Warning)
        );
        assert!(
            findings[0]
                .title
                .ends_with("1 of its 2 members is not there")
        );
    }

    #[test]
    fn a_whole_array_is_not() {
        let mut lab = Lab::new();
        let disks = [lab.disk(512), lab.disk(512)];
        let array = lab.array(&disks, 65_536, &[0, 0]);
        lab.odd(
            array,
            AnomalyKind::PartlyGiven,
            "1 of its members was not given",
        );
        lab.none(&RULE);
    }
}
