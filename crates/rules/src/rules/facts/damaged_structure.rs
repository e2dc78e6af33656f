use straddle_stack::AnomalyKind;

use crate::context::Findings;
use crate::repair::DAMAGE;
use crate::shared::anomalies::report;
use crate::{Context, Page, Repair, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::DAMAGED_STRUCTURE,
    name: "damaged-structure",
    summary: "table or superblock is damaged, differs from its copy, or is in an unusual place",
    status: Status::Stable,
    repair: Repair::None(DAMAGE),
    page: Page {
        checks: "Whether what was read agrees with itself: checksums and limits, the two copies of a GPT or superblock, chains of tables that \
                 loop, run backwards or never end, superblocks that were found but not where they belong, block tables of virtual disks whose \
                 entries overlap or lie beyond the file.",
        why: "Facts from a damaged structure may be wrong, so every finding that depends on them is less certain. The damage itself may be \
              more urgent than any misalignment.",
        evidence: "The structure's own bytes, shown with the value found and the value expected.",
        example: "A GPT whose header checksum is 0x1234abcd while the bytes give 0x5f3a9c01; the copy at the end of the disk is intact.",
        fix: "Find out first which copy is right. `sgdisk --verify DISK` compares, `sgdisk --backup=FILE DISK` saves; gdisk's recovery menu \
              writes one copy over the other. An image that was grown has its backup table in the middle: `sgdisk --move-second-header \
              DISK`.",
        fix_safety: "Do not let a tool repair anything before the first and last megabyte are saved. On a failing disk copy the whole of it \
                     first (`ddrescue DISK COPY MAP`).",
        references: &[
            "UEFI 2.10, 5.3.2 GPT header: HeaderCRC32, AlternateLBA",
            "sgdisk(8), --verify",
        ],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    report(
        RULE.code,
        context,
        findings,
        &[
            (AnomalyKind::Damaged, Severity::Warning),
            (AnomalyKind::CopiesDiffer, Severity::Warning),
            (AnomalyKind::Chain, Severity::Warning),
            (AnomalyKind::UnusualPlace, Severity::Note),
        ],
        "findings that rest on this structure are less certain",
        "",
    );
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::AnomalyKind;

    #[test]
    fn damage_is_a_warning_and_an_odd_place_a_note() {
        let mut lab = Lab::new();
        let disk = lab.disk(512);
        lab.odd(disk, AnomalyKind::CopiesDiffer, "the two GPTs differ");
        lab.odd(disk, AnomalyKind::UnusualPlace, "backup superblock");
        let severities: Vec<Severity> = lab
            .findings(&RULE)
            .iter()
            .map(|finding| finding.severity)
            .collect();
        assert_eq!(severities, [Severity::Warning, Severity::Note]);
    }

    #[test]
    fn sound_structures_are_silent() {
        let mut lab = Lab::new();
        let disk = lab.disk(512);
        lab.odd(disk, AnomalyKind::Missing, "x");
        lab.none(&RULE);
    }
}
