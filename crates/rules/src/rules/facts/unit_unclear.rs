use straddle_stack::AnomalyKind;

use crate::context::Findings;
use crate::repair::FACTS;
use crate::shared::anomalies::report;
use crate::{Context, Page, Repair, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::UNIT_UNCLEAR,
    name: "unit-unclear",
    summary: "captured number has no unit, or an ambiguous one",
    status: Status::Stable,
    repair: Repair::None(FACTS),
    page: Page {
        checks: "Numbers in captured text whose unit the text does not tell: sectors of unknown size, `64` without KB, a stripe size that \
                 may be of one disk or of all.",
        why: "The verdict depends on the unit: 64 sectors are 32 KiB, 64 KB are 64 KiB, and a stripe of 64 KiB over four disks has a \
              stripe unit of 16 KiB. So the number is left out, or the range that it can mean is kept.",
        evidence: "The line of the capture in which the number stands.",
        example: "`Stripe Size: 64` of a tool that prints KB in one version and sectors in the next.",
        fix: "Run the command again with the option that prints bytes, or another command for the same fact; STR906 names them. What is known \
              otherwise can be stated by a flag: `--stripe-unit 64K`.",
        fix_safety: "Capturing again only reads; nothing on the server changes.",
        references: &["https://github.com/dell/iDRAC-Redfish-Scripting/issues/235"],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    report(
        RULE.code,
        context,
        findings,
        &[(AnomalyKind::UnitUnclear, Severity::Note)],
        "",
        "print it in bytes, or state it: --stripe-unit 64K, --physical-sector 4K",
    );
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::AnomalyKind;

    #[test]
    fn a_number_without_a_unit_is_a_note() {
        let mut lab = Lab::new();
        let disk = lab.disk(512);
        lab.odd(disk, AnomalyKind::UnitUnclear, "stripe size 64 of what?");
        assert_eq!(lab.findings(&RULE)[0].severity, Severity::Note);
    }

    #[test]
    fn other_anomalies_are_silent() {
        let mut lab = Lab::new();
        let disk = lab.disk(512);
        lab.odd(disk, AnomalyKind::Misprint, "x");
        lab.none(&RULE);
    }
}
