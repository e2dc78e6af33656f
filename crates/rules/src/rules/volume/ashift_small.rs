use straddle_stack::{GridRole, LayerId, Seen, SeenGrid, Trust};

use crate::context::{Findings, is_believable};
use crate::shared::vdev_sector::{members, vdevs};
use crate::wording::Correlation;
use crate::{Context, Finding, Page, Prices, Repair, RepairKind, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::ASHIFT_SMALL,
    name: "ashift-small",
    summary: "ZFS ashift is smaller than the unit that a member rewrites",
    status: Status::Stable,
    repair: Repair::By(&[RepairKind::Pool]),
    page: Page {
        checks: "Whether 2^ashift bytes, in which a ZFS vdev allocates and which RAID-Z deals to its disks, is at least the physical sector and the \
                 indirection unit of every member. Logs count too: every synchronous write goes through them.",
        why: "The disk reads a sector, changes a part and writes it back wherever a block starts or ends inside one. ZFS puts a block at \
              any multiple of 2^ashift: with ashift 9 on 4 KiB sectors, seven places of eight are inside a sector, and a compressed block \
              or a RAID-Z column ends in one. ashift is set when a vdev is created, from what the disk reports (true or not), and never \
              changes.",
        evidence: "ashift of the vdev's labels or of `zdb -C`; the physical sector and the indirection unit of each member.",
        example: "ashift 9: 2^9 = 512; 4,096 ÷ 512 = 8 places for a block to begin in each sector. `zpool status` then says `block size: 512B configured, \
                  4096B native`.",
        fix: "ashift cannot be changed, so the data move to a new pool: `zpool create -o ashift=12 NEW DISKS`, `zfs snapshot -r OLD@move`, \
              `zfs send -R OLD@move | zfs receive -F -d NEW`. Adding a vdev with another ashift and removing the old one does not work: a \
              pool whose vdevs differ in ashift refuses `zpool remove`, and the new vdev is stuck in it. A log device is the exception: \
              `zpool remove OLD LOG` and `zpool add -o ashift=12 OLD log LOG`. For a 16 KiB indirection unit ashift=14.",
        fix_safety: "`zpool replace` and `zpool attach` keep the ashift of the vdev. A larger ashift takes more space for small blocks, and \
                     on RAID-Z changes how much is lost to padding (STR615). Do not `zpool add` to try it: it cannot be taken back, but by a \
                     checkpoint of the pool made before.",
        references: &[
            "OpenZFS zpoolprops(7), ashift",
            "OpenZFS zpool-remove(8): all top-level vdevs have the same sector size",
            "https://github.com/openzfs/zfs/issues/6975",
            "https://github.com/openzfs/openzfs-docs/issues/583",
        ],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer, sector) in vdevs(context) {
        let step = sector.value.unit();
        for role in [GridRole::PhysicalSector, GridRole::IndirectionUnit] {
            let Some((worst, names)) = worst(context, id, role) else {
                continue;
            };
            let unit = worst.fact.value.unit();
            let Seen::Uniform(seen) = worst.seen else {
                continue;
            };
            if step >= unit {
                continue;
            }
            let prices = Prices::anywhere(role, seen, step, &context.options.io);
            let name = role.name();
            let title = format!(
                "{}: ZFS allocates in units of {step} (ashift {}), smaller than the {name} of {unit}",
                layer.name,
                step.get().trailing_zeros()
            );
            let ratio = Correlation::new("sector ÷ 2^ashift", unit.bytes(), step);
            let finding = Finding::priced(RULE.code, id, title, prices)
                .evidence(
                    &sector.source,
                    format!("ashift = {}", step.get().trailing_zeros()),
                )
                .evidence(&worst.fact.source, format!("{name} = {unit}"))
                .arithmetic(ratio.arithmetic() + " places for a block to begin in each of them")
                .note(format!("members with it: {names}"))
                .help(format!(
                    "send the data to a pool made with ashift={}: replacing disks keeps the old one, and beside a vdev with another no vdev can be removed",
                    unit.get().trailing_zeros().max(12)
                ));
            findings.push(if worst.fact.trust == Trust::Assumed {
                finding.at_most(
                    Severity::Warning,
                    "the physical sector is assumed; give --physical-sector for the disks that these are",
                )
            } else {
                finding
            });
        }
    }
}

/// The largest grid with this role of any member, and the members that have it.
fn worst<'c>(
    context: &'c Context<'_>,
    id: LayerId,
    role: GridRole,
) -> Option<(&'c SeenGrid<'c>, String)> {
    let members = members(context, id);
    let grids = members.iter().flat_map(|member| {
        let grids = context.seen(*member).iter();
        let grids = grids.filter(|grid| grid.role == role && is_believable(grid));
        grids.map(|grid| (*member, grid))
    });
    let grids: Vec<(LayerId, &SeenGrid<'_>)> = grids.collect();
    let unit = |grid: &SeenGrid<'_>| grid.fact.value.unit();
    let largest = grids.iter().map(|(_, grid)| unit(grid)).max()?;
    let with = || grids.iter().filter(|(_, grid)| unit(grid) == largest);
    let mut names: Vec<&str> = with()
        .map(|(member, _)| context.stack.layer(*member).name.as_str())
        .collect();
    names.dedup();
    let shown = names.len().min(8);
    let rest = names.len() - shown;
    let mut names = names[..shown].join(", ");
    if rest > 0 {
        names.push_str(&format!(" and {rest} more"));
    }
    Some((with().next()?.1, names))
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::GridRole;

    #[test]
    fn sectors_of_512_bytes_on_a_4k_disk() {
        let mut lab = Lab::new();
        lab.io(&[4096]);
        let disk = lab.disk(4096);
        lab.filesystem("zfs", disk, 512);
        let finding = lab.one(
            &RULE,
            Severity::Error,
            "4,096 ÷ 512 = 8 places for a block to begin in each of them",
        );
        let row = finding.prices.expect("priced").rows[0];
        // One place of eight costs one write, seven cost two reads and two writes: (1 + 7 × 4) ÷ 8 = 3.625.
        assert_eq!(row.write_now.to_string(), "362.5%");
    }

    #[test]
    fn the_worst_member_of_a_raidz_decides() {
        let mut lab = Lab::new();
        let members = [lab.disk(512), lab.disk(4096)];
        let array = lab.array(&members, 512, &[4 << 20; 2]);
        lab.stack.layer_mut(array).name = "tank/raidz1-0".into();
        lab.filesystem("zfs", array, 512);
        assert_eq!(lab.findings(&RULE).len(), 1);
    }

    #[test]
    fn an_indirection_unit_counts_and_equal_sizes_are_silent() {
        let mut lab = Lab::new();
        let disk = lab.disk(4096);
        lab.filesystem("zfs", disk, 4096);
        lab.none(&RULE);
        lab.grid(disk, GridRole::IndirectionUnit, 16_384);
        let finding = &lab.findings(&RULE)[0];
        assert!(finding.help[0].contains("ashift=14"));
    }
}
