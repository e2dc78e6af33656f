use straddle_stack::AnomalyKind;

use crate::context::Findings;
use crate::repair::STATE;
use crate::shared::anomalies::report;
use crate::{Context, Page, Repair, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::RESHAPING_ARRAY,
    name: "reshaping-array",
    summary: "array is being reshaped: part of it has the old geometry, part the new",
    status: Status::Stable,
    repair: Repair::None(STATE),
    page: Page {
        checks: "Whether the kernel or the metadata of an array say that a reshape is under way: members added or taken away, another chunk, \
                 another level or layout.",
        why: "A start or a full stripe that is right for one part of the array may be wrong for the other: up to the reshape position the \
              array has its new full stripe, beyond it the old. Requests compete with the reshape. Filesystems above keep the stride and \
              stripe width that they were created with.",
        evidence: "sysfs `md/reshape_position`, or the reshape fields of the superblock, and both geometries.",
        example: "RAID 5 grows from 4 to 6 disks with 64 KiB: the full stripe was 192 KiB, and becomes 320 KiB. A partition at 768 KiB is a \
                  multiple of 192 KiB and none of 320 KiB.",
        fix: "Wait until it is done (/proc/mdstat), then check again: what is reported now holds for the time of the reshape only.",
        fix_safety: "Stopping a reshape and starting it elsewhere needs the backup file that mdadm was given, where it was given one.",
        references: &[
            "mdadm(8), GROW MODE",
            "Linux Documentation/admin-guide/md.rst: reshape_position",
        ],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    report(
        RULE.code,
        context,
        findings,
        &[(AnomalyKind::Reshaping, Severity::Note)],
        "findings about full stripes hold for one of the two geometries at most",
        "wait until /proc/mdstat shows no reshape, then check again",
    );
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::Lab;
    use straddle_stack::AnomalyKind;

    #[test]
    fn a_reshape_is_told_and_nothing_else() {
        let mut lab = Lab::new();
        let disks = [lab.disk(512), lab.disk(512)];
        let array = lab.array(&disks, 65_536, &[0, 0]);
        lab.odd(array, AnomalyKind::Degraded, "degraded");
        lab.none(&RULE);
        lab.odd(
            array,
            AnomalyKind::Reshaping,
            "reshaping: it has come to byte 7",
        );
        assert!(
            lab.findings(&RULE)[0]
                .title
                .ends_with("it has come to byte 7")
        );
    }
}
