use straddle_stack::AnomalyKind;

use crate::context::Findings;
use crate::repair::STATE;
use crate::shared::anomalies::report;
use crate::{Context, Page, Repair, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::MEMBERS_DISAGREE,
    name: "members-disagree",
    summary: "metadata on the members of an array disagree",
    status: Status::Stable,
    repair: Repair::None(STATE),
    page: Page {
        checks: "Whether the metadata on all members that were given agree: how often they were written, level, layout, chunk, number of members, \
                 used size, and which member each is.",
        why: "Straddle believes the member with the newest metadata. A stale member (its event count is lower) holds old data: reading it, \
              or forcing it back into the array, mixes two states. Members that are equally new but differ in geometry were damaged or \
              assembled by hand, and what Straddle says of the array holds only if the first of them is right.",
        evidence: "The field on the member that differs, and the same field on the member that is believed.",
        example: "`sdc` records 1,204 events and `sda` 9,731: sdc dropped out of the array long ago, and its data are from then.",
        fix: "`mdadm --examine /dev/X` on every member shows all fields. A member that was left behind is added again with `mdadm --manage \
              /dev/mdN --re-add /dev/X` (with a bitmap), or with `mdadm --manage /dev/mdN --add /dev/X` (full rebuild).",
        fix_safety: "`mdadm --assemble --force /dev/mdN MEMBERS` writes to the metadata: take images of all members first, or work on \
                     overlays (https://raid.wiki.kernel.org/index.php/Recovering_a_failed_software_RAID).",
        references: &["md(4)", "mdadm(8), --examine, --re-add"],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    report(
        RULE.code,
        context,
        findings,
        &[(AnomalyKind::MembersDiffer, Severity::Warning)],
        "the newest metadata are believed",
        "compare them: mdadm --examine of every member",
    );
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::AnomalyKind;

    #[test]
    fn what_differs_is_a_warning() {
        let mut lab = Lab::new();
        let disks = [lab.disk(512), lab.disk(512)];
        let array = lab.array(&disks, 65_536, &[0, 0]);
        lab.none(&RULE);
        lab.odd(
            array,
            AnomalyKind::MembersDiffer,
            "chunk 65536 on sda, 32768 on sdb",
        );
        assert_eq!(lab.findings(&RULE)[0].severity, Severity::Warning);
    }
}
