use straddle_stack::AnomalyKind;

use crate::context::Findings;
use crate::repair::DAMAGE;
use crate::shared::anomalies::report;
use crate::{Context, Page, Repair, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::HYBRID_MBR,
    name: "hybrid-mbr",
    summary: "device has a hybrid MBR: two partition tables that can disagree",
    status: Status::Stable,
    repair: Repair::None(DAMAGE),
    page: Page {
        checks: "Whether the MBR beside a GPT holds more than the one protective entry: a hybrid table, as made for old Macs and for boards \
                 whose firmware reads only the MBR.",
        why: "Different systems believe different tables, and the two can disagree. A partition that was moved to a better start in the \
              GPT is still at its old place for whoever reads the MBR.",
        evidence: "The entries of the MBR in sector 0 and the GPT header in sector 1.",
        example: "The MBR says partition 2 starts at sector 63, the GPT says 2,048: Linux uses 2,048 × 512 = 1,048,576, an old Windows \
                  63 × 512 = 32,256.",
        fix: "Where nothing needs the MBR any more, put a protective one in its place: gdisk's expert menu does that, `printf \
              'x\\nn\\nw\\ny\\n' | gdisk DISK` (sgdisk has no option for it). Otherwise change both tables together, and check both \
              afterwards.",
        fix_safety: "A system that boots through the MBR no longer does after it is made protective. Keep a copy of the first sector.",
        references: &[
            "https://www.rodsbooks.com/gdisk/hybrid.html",
            "UEFI 2.10, 5.2.3 Protective MBR",
        ],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    report(
        RULE.code,
        context,
        findings,
        &[(AnomalyKind::HybridTable, Severity::Note)],
        "what follows is judged by the GPT",
        "change both tables together, or make the MBR a protective one (gdisk, expert menu, n) when nothing boots through it",
    );
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::AnomalyKind;

    #[test]
    fn two_tables_are_a_note() {
        let mut lab = Lab::new();
        let disk = lab.disk(512);
        lab.odd(disk, AnomalyKind::HybridTable, "mbr and gpt");
        assert_eq!(lab.findings(&RULE)[0].severity, Severity::Note);
    }

    #[test]
    fn a_protective_mbr_is_not_a_second_table() {
        let mut lab = Lab::new();
        lab.disk(512);
        lab.none(&RULE);
    }
}
