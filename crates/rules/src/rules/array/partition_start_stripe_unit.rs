use straddle_stack::GridRole;

use crate::context::Findings;
use crate::shared::start::{off_grid, partition_starts};
use crate::wording::Correlation;
use crate::{Context, Page, Repair, RepairKind, Rule, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::PARTITION_START_STRIPE_UNIT,
    name: "partition-start-stripe-unit",
    summary: "partition starts inside a stripe unit",
    status: Status::Stable,
    repair: Repair::By(&[RepairKind::Partitions]),
    page: Page {
        checks: "The first classical correlation: partition offset ÷ stripe unit must be an integer. The unit comes from md, device-mapper \
                 or `--stripe-unit`; where it is unknown, STR203 answers for every plausible one.",
        why: "A request that crosses a stripe unit's boundary occupies two members instead of one, so an array of n spindles does the work \
              of fewer. The stripe unit is what lies on one member before the next follows. Requests of exactly one unit suffer most: \
              misaligned, every one of them is split.",
        evidence: "sysfs `md/chunk_size`, the device-mapper table, or the flag. Hardware arrays do not tell the operating system; ask their \
                   management tool (`Strip Size`), and give it with `--stripe-unit`.",
        example: "32,256 ÷ 65,536 = 0.492…: 8 KiB requests straddle 12.5% of the time, 64 KiB requests always. At 32,768 the quotient is 0.5, \
                  still no integer: requests up to 32 KiB on their own lattice now never cross, 64 KiB requests still always do. Measured on \
                  md RAID 0, 6 disks, 64 KiB reads: 947 a second at sector 2,048, 504 at 63.",
        fix: "Start at a multiple of the stripe unit: 64 KiB, 128 KiB, 1 MiB and 2 MiB are equally good for a 64 KiB unit.",
        fix_safety: "Moving a partition rewrites all its data; have a backup that was test-restored. The gain depends on the load: \
                     it is largest for random requests near the size of the unit when all members are busy.",
        references: &[
            "J. May and D. Lee, Disk Partition Alignment Best Practices for SQL Server",
            "Linux md(4), chunk size",
        ],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    for start in partition_starts(context, GridRole::StripeUnit) {
        let title = format!(
            "{} starts inside a stripe unit of {}",
            start.layer.name,
            start.unit()
        );
        let correlation =
            Correlation::new("partition offset ÷ stripe unit", start.start, start.unit());
        let finding = off_grid(RULE.code, context, &start, title);
        findings.extend(finding.map(|finding| finding.arithmetic(correlation.arithmetic())));
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::{GridRole, Source};

    fn lun(sector: u64, io: &[u64]) -> Lab {
        let mut lab = Lab::new();
        lab.io(io);
        let disk = lab.disk(512);
        lab.stated(disk, GridRole::StripeUnit, 65_536);
        lab.partition(disk, sector);
        lab
    }

    #[test]
    fn the_classical_case_by_hand() {
        let finding = lun(63, &[8192]).one(
            &RULE,
            Severity::Warning,
            "63 × 512 = 32,256 = 0 × 65,536 + 32,256",
        );
        assert_eq!(finding.arithmetic[1], "32,256 ÷ 65,536 = 0.492…");
        let prices = finding.prices.as_ref().expect("priced");
        assert_eq!(prices.rows[0].straddling.to_string(), "12.5%");
        let unit = prices.at_unit.expect("not asked for");
        assert_eq!(unit.straddling.to_string(), "100%");
        assert!(matches!(finding.evidence[1].source, Source::Flag { .. }));
    }

    #[test]
    fn half_a_unit_is_off_and_free_for_small_requests() {
        let finding =
            lun(64, &[4096, 8192, 32_768]).one(&RULE, Severity::Note, "32,768 ÷ 65,536 = 0.5");
        assert!(finding.notes[0].contains("requests of 64 KiB would pay 100%"));
        lun(64, &[65_536]).one(&RULE, Severity::Error, "32,768 ÷ 65,536 = 0.5");
    }

    #[test]
    fn every_multiple_is_equally_good() {
        for sector in [128, 256, 2048, 4096] {
            lun(sector, &[4096, 8192, 65_536]).none(&RULE);
        }
    }
}
