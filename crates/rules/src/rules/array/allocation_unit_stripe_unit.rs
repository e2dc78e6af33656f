use straddle_geometry::{Bytes, Grid, Lattice, Ratio, Unit};
use straddle_stack::{GridRole, LayerKind};

use crate::context::Findings;
use crate::wording::Correlation;
use crate::{Context, Finding, Page, Repair, RepairKind, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::ALLOCATION_UNIT_STRIPE_UNIT,
    name: "allocation-unit-stripe-unit",
    summary: "stripe unit is not a multiple of the filesystem's allocation unit",
    status: Status::Stable,
    repair: Repair::By(&[RepairKind::Rebuild, RepairKind::Filesystem]),
    page: Page {
        checks: "The second classical correlation: stripe unit ÷ allocation unit (cluster, block) must be an integer.",
        why: "Some clusters span two members wherever the partition starts, and no move can fix that: clusters are laid end to end and do \
              not divide the stripe unit evenly. A cluster that is itself a multiple of the stripe unit only guarantees what its size \
              implies: a whole cluster always takes several members.",
        evidence: "The allocation unit from the filesystem's superblock, the stripe unit from md, device-mapper or `--stripe-unit`.",
        example: "96 KiB ÷ 64 KiB = 1.5: of every three clusters, one is cut by a boundary, so 64 KiB requests cost 33% more than they need. \
                  64 KiB ÷ 4 KiB = 16 is an integer; 32 KiB ÷ 64 KiB = 0.5 is none, but each cluster then takes exactly two units.",
        fix: "Choose the allocation unit so that it divides the stripe unit: 4 KiB divides every usual one, 64 KiB those of 64 KiB and more, \
              not 16 or 32 KiB. Or choose the stripe unit of a new array so that it is a power of two and at least the allocation unit.",
        fix_safety: "Neither can be changed in place: changing the allocation unit means formatting, changing the stripe unit means \
                     rebuilding the array or a long reshape. Have a backup that was test-restored.",
        references: &[
            "J. May and D. Lee, Disk Partition Alignment Best Practices for SQL Server",
            "mdadm(8), --chunk",
        ],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer) in context.of_kind(LayerKind::Filesystem) {
        let Some(cluster) = layer.grid(GridRole::AllocationUnit) else {
            continue;
        };
        for grid in context.below(id, GridRole::StripeUnit) {
            let (stripe, size) = (grid.fact.value.unit(), cluster.value.unit());
            let correlation =
                Correlation::new("stripe unit ÷ allocation unit", stripe.bytes(), size);
            let Some(extra) = extra(size, stripe).filter(|_| !correlation.integer) else {
                continue;
            };
            let title = format!(
                "{}: a stripe unit of {stripe} is not a whole number of {size} allocation units",
                layer.name
            );
            let finding = Finding::new(RULE.code, Severity::of_price(extra), id, title)
                .evidence(&grid.fact.source, format!("stripe unit = {stripe}"))
                .evidence(&cluster.source, format!("allocation unit = {size}"))
                .arithmetic(correlation.arithmetic());
            findings.push(if extra.is_zero() {
                finding.note("each allocation unit is a whole number of stripe units, so none is cut more often than its size implies")
            } else {
                finding
                    .arithmetic(format!("requests of one allocation unit take {extra} more operations than they need"))
                    .help("no start cures this: choose an allocation unit that divides the stripe unit when reformatting")
            });
        }
    }
}

/// Extra operations for requests of one allocation unit, relative to the fewest that its size allows.
fn extra(cluster: Unit, stripe: Unit) -> Option<Ratio> {
    let now = Lattice::back_to_back(Bytes::ZERO, cluster).mean_units(Grid::new(stripe));
    let fewest = Ratio::new(cluster.get().div_ceil(stripe.get()), 1)?;
    now.saturating_sub(fewest)?.checked_div(fewest)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::GridRole;

    fn on_stripes(stripe: u64, cluster: u64) -> Lab {
        let mut lab = Lab::new();
        let disk = lab.disk(512);
        lab.stated(disk, GridRole::StripeUnit, stripe);
        lab.filesystem("ntfs", disk, cluster);
        lab
    }

    #[test]
    fn one_cluster_in_three_is_cut() {
        let lab = on_stripes(98_304, 65_536);
        let finding = lab.one(&RULE, Severity::Warning, "98,304 ÷ 65,536 = 1.5");
        assert!(finding.arithmetic[1].contains("33.33%"));
    }

    #[test]
    fn a_cluster_of_two_units_is_a_note() {
        on_stripes(32_768, 65_536).one(&RULE, Severity::Note, "32,768 ÷ 65,536 = 0.5");
    }

    #[test]
    fn integers_are_silent() {
        on_stripes(65_536, 4096).none(&RULE);
        on_stripes(65_536, 65_536).none(&RULE);
    }
}
