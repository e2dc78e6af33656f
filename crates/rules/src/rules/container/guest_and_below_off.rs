use straddle_geometry::{Bytes, both_ways};

use crate::context::Findings;
use crate::repair::GUEST;
use crate::shared::guest::{alone, blame, container_below, in_view, is_on};
use crate::shared::pieces::{HARD, off};
use crate::shared::start::say_what_is_free;
use crate::{Context, Finding, Page, Prices, Repair, RepairKind, Rule, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::GUEST_AND_BELOW_OFF,
    name: "guest-and-below-off",
    summary: "guest's partition is misaligned in a virtual disk that is misaligned too",
    status: Status::Stable,
    repair: Repair::ByOr(&[RepairKind::Partitions], GUEST),
    page: Page {
        checks: "Guest partitions that do not begin on the grid inside their virtual disk, while that disk, its file or the host below is off the grid too.",
        why: "Fixing the guest alone may gain nothing at all, and so may fixing the container alone: in some blocks the two offsets \
              cancel, in others they add up, so neither side can be judged alone.",
        evidence: "The guest's table composed with every entry of the container's block table. The price is counted now, and counted again as if only the guest, or \
                   only what lies below, were fixed.",
        example: "A guest partition at sector 63 in a dynamic VHD: one block of eight is on 4 KiB for this guest, and one block of eight, another one, would be for \
                  a guest at 1 MiB. Moving the partition gains nothing; a VHDX alone gains nothing; both together gain everything.",
        fix: "Fix both: convert the virtual disk (STR401, STR402) and move the guest's partition to 1 MiB.",
        fix_safety: "Convert first, into a new file, and keep the old one; then move the partition in the copy.",
        references: &[
            "Virtual Hard Disk Image Format Specification 1.0",
            "NetApp TR-3747: guest and host must both be aligned",
        ],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer) in context.data_partitions() {
        for grid in HARD.into_iter().flat_map(|role| context.below(id, role)) {
            let both =
                blame(context, id, grid).is_some_and(|blame| blame.guest && blame.is_off_below());
            let Some(container) = container_below(context.stack, id).filter(|_| both) else {
                continue;
            };
            if is_on(&grid.seen) {
                continue;
            }
            let Some(start) = context.stack.start_in(id, container) else {
                continue;
            };
            let unit = grid.fact.value.unit();
            let name = grid.role.name();
            let title = format!(
                "{}: off the {name} of {unit} in its disk, which is off it too",
                layer.name
            );
            let prices = context.prices(grid);
            if prices.worst().is_zero() {
                continue;
            }
            let guest_moved = in_view(context, container, grid).map(|grid| context.prices(grid));
            let disk_converted = Prices::of(
                grid.role,
                unit,
                &alone(grid, start),
                Bytes::ZERO,
                &context.options.io,
            );
            let mut finding = Finding::priced(RULE.code, id, title, prices.clone());
            if let Some(placement) = &layer.placement {
                let label = format!("start in the virtual disk = {}", both_ways(start));
                finding = finding.evidence(&placement.source, label);
            }
            finding = finding.evidence(&grid.fact.source, format!("{name} = {unit}"));
            if let Some(line) = off(&grid.seen) {
                finding = finding.arithmetic(line);
            }
            let alone = guest_moved.map_or_else(String::new, |moved| {
                format!("the guest moved to 1 MiB alone: +{}; ", moved.worst())
            });
            finding = finding.arithmetic(format!(
                "worst price now: +{}; {alone}the virtual disk converted alone: +{}; both: +0%",
                prices.worst(),
                disk_converted.worst()
            ));
            let finding = finding.help(
                "fix both: convert the virtual disk, then move the guest's partition to 1 MiB",
            );
            findings.push(say_what_is_free(finding));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::LayerKind;

    fn drifting(guest: u64, bitmap: u64) -> Lab {
        let mut lab = Lab::new();
        let disk = lab.disk(4096);
        let file = lab.upper(LayerKind::File, "", disk, 0);
        let entries: Vec<u64> = (0..16).map(|i| 4096 + i * (65_536 + bitmap)).collect();
        let container = lab.container("vhd", file, 65_536, &entries);
        let guest = lab.upper(LayerKind::Partition, "", container, guest * 512);
        lab.size(guest, 8 * 65_536);
        lab
    }

    #[test]
    fn fixing_one_side_gains_nothing() {
        let mut lab = drifting(65, 512);
        lab.io(&[4096]);
        let finding = lab.findings(&RULE).remove(0);
        assert_eq!(finding.severity, Severity::Error);
        assert_eq!(
            finding.arithmetic[1],
            "worst price now: +≈274.22%; the guest moved to 1 MiB alone: +262.5%; the virtual disk converted alone: +300%; both: +0%"
        );
    }

    #[test]
    fn an_aligned_guest_or_aligned_blocks_are_silent() {
        drifting(128, 512).none(&RULE);
        drifting(65, 4096).none(&RULE);
    }
}
