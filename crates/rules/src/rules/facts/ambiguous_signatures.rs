use straddle_stack::AnomalyKind;

use crate::context::Findings;
use crate::repair::DAMAGE;
use crate::shared::anomalies::report;
use crate::{Context, Page, Repair, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::AMBIGUOUS_SIGNATURES,
    name: "ambiguous-signatures",
    summary: "signatures of more than one format match in the same place",
    status: Status::Stable,
    repair: Repair::None(DAMAGE),
    page: Page {
        checks: "Whether a volume or device carries signatures of more than one format, such as an old filesystem's superblock beside a \
                 new one, or a filesystem beside a partition table.",
        why: "Another tool may choose the other format: a boot script mounts the stale filesystem, an installer wipes the live one. In \
              this report too, the facts may come from the wrong format.",
        evidence: "The names of the formats that matched, and which of them this report goes by (the first in the documented order).",
        example: "mkfs.xfs over an old ext4 leaves ext4's backup superblocks; a swap signature at byte 4,086 beside a FAT boot sector at byte 0.",
        fix: "When it is clear which one is stale, erase its signature only: `wipefs --all --types ext4 --backup DEVICE` (`wipefs --no-act \
              --all --types ext4 DEVICE` shows what it would do).",
        fix_safety: "wipefs keeps a copy with --backup; without it the signature is gone. Mount the right one read-only and look before \
                     erasing anything.",
        references: &[
            "wipefs(8)",
            "libblkid: BLKID_FLTR, ambivalent low-level probing result",
        ],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    report(
        RULE.code,
        context,
        findings,
        &[(AnomalyKind::Ambiguous, Severity::Warning)],
        "other tools may choose the other one",
        "when it is clear which one is stale: wipefs --backup --types … erases its signature only",
    );
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::AnomalyKind;

    #[test]
    fn two_formats_are_a_warning() {
        let mut lab = Lab::new();
        let disk = lab.disk(512);
        lab.odd(disk, AnomalyKind::Ambiguous, "both ext and xfs match");
        let findings = lab.findings(&RULE);
        assert_eq!(findings[0].severity, Severity::Warning);
        assert_eq!(findings[0].title, "sda: both ext and xfs match");
    }

    #[test]
    fn one_format_is_silent() {
        let mut lab = Lab::new();
        let disk = lab.disk(512);
        lab.filesystem("ext", disk, 4096);
        lab.none(&RULE);
    }
}
