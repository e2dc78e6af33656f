use straddle_stack::{Fact, GridRole, LayerId, SeenGrid};

use crate::context::{Findings, is_believable};
use crate::wording::Correlation;
use crate::{Context, Finding, Page, Repair, RepairKind, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::STRIPE_UNIT_PHYSICAL_SECTOR,
    name: "stripe-unit-physical-sector",
    summary: "stripe unit is not a multiple of its members' physical sector or indirection unit",
    status: Status::Stable,
    repair: Repair::By(&[RepairKind::Array, RepairKind::Rebuild]),
    page: Page {
        checks: "Whether the stripe unit of an array is a whole number of physical sectors, and of indirection units, of its members.",
        why: "The array itself splits sectors: the last sector of one stripe unit is shared with the next, and writing either one forces a \
              read-modify-write on the member. No partition start and no filesystem setting above can avoid that.",
        evidence: "The stripe unit from md, device-mapper or `--stripe-unit`; the sectors of the members from sysfs, or assumed to be 4,096 \
                   bytes for an image.",
        example: "A dm-striped volume with a chunk of 3 sectors on 4K-sector disks: 1,536 ÷ 4,096 = 0.375. A 16 KiB unit on QLC flash with \
                  64 KiB indirection units: 16,384 ÷ 65,536 = 0.25, four stripe units share one.",
        fix: "Rebuild the array with a stripe unit that is a multiple of the largest sector among its members; 64 KiB or more is one for \
              every device in use.",
        fix_safety: "Rebuilding destroys what is on the array; `mdadm --grow /dev/mdN --chunk=64 --backup-file=FILE` reshapes in place, for \
                     hours, with the backup file elsewhere. Have a backup that was test-restored.",
        references: &[
            "Linux Documentation/admin-guide/device-mapper/striped.rst",
            "mdadm(8), --chunk",
        ],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer) in context.stack.iter() {
        let Some(stripe) = layer.grid(GridRole::StripeUnit) else {
            continue;
        };
        // A RAID-Z deals sectors of 2^ashift bytes: STR613 says it of the vdev.
        if layer.name.contains("/raidz") {
            continue;
        }
        let Some(unit) = smallest_violated(context, id, stripe) else {
            continue;
        };
        let size = stripe.value.unit();
        let sector = unit.fact.value.unit();
        let title = format!(
            "{}: a stripe unit of {size} is not a whole number of {}s of {sector}",
            layer.name,
            unit.role.name()
        );
        findings.push(
            Finding::new(RULE.code, Severity::Warning, id, title)
                .evidence(&stripe.source, format!("stripe unit = {size}"))
                .evidence(&unit.fact.source, format!("{} = {sector}", unit.role.name()))
                .arithmetic(
                    Correlation::new("stripe unit ÷ sector", size.bytes(), sector).arithmetic(),
                )
                .help("rebuild with a stripe unit that is a multiple of it; no start above can cure this"),
        );
    }
}

/// The finest unit of the members that the stripe unit is not a multiple of.
fn smallest_violated<'a>(
    context: &'a Context<'a>,
    id: LayerId,
    stripe: &Fact<straddle_geometry::Grid>,
) -> Option<&'a SeenGrid<'a>> {
    // A LUN whose stripe unit is stated is its own member.
    let own = [id];
    let below = &context.stack.layer(id).below;
    let members: &[LayerId] = if below.is_empty() { &own } else { below };
    let roles = [GridRole::PhysicalSector, GridRole::IndirectionUnit];
    members
        .iter()
        .flat_map(|member| context.seen(*member))
        .filter(|grid| roles.contains(&grid.role) && is_believable(grid))
        .filter(|grid| {
            !stripe
                .value
                .unit()
                .bytes()
                .is_multiple_of(grid.fact.value.unit())
        })
        .min_by_key(|grid| grid.fact.value.unit())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::GridRole;

    #[test]
    fn an_array_can_cut_the_sectors_of_its_members() {
        let mut lab = Lab::new();
        let members = [lab.disk(4096), lab.disk(4096)];
        lab.array(&members, 1536, &[0, 0]);
        lab.one(&RULE, Severity::Warning, "1,536 ÷ 4,096 = 0.375");
    }

    #[test]
    fn a_stated_unit_is_compared_with_the_lun_s_own_sector() {
        let mut lab = Lab::new();
        let lun = lab.disk(4096);
        lab.stated(lun, GridRole::StripeUnit, 6144);
        lab.one(&RULE, Severity::Warning, "6,144 ÷ 4,096 = 1.5");
    }

    #[test]
    fn whole_numbers_are_silent() {
        let mut lab = Lab::new();
        let members = [lab.disk(4096), lab.disk(512)];
        lab.array(&members, 65_536, &[0, 0]);
        lab.none(&RULE);
    }
}
