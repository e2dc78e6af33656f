use straddle_geometry::Unit;
use straddle_stack::GridRole;

use crate::context::{Findings, is_believable};
use crate::shared::vdev_sector::{members, vdevs};
use crate::{Context, Finding, Page, Repair, RepairKind, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::ASHIFT_LARGE,
    name: "ashift-large",
    summary: "ZFS ashift is far larger than any sector or indirection unit below",
    status: Status::Stable,
    repair: Repair::By(&[RepairKind::Pool]),
    page: Page {
        checks: "Whether 2^ashift bytes is at least four times the largest of 4 KiB and the physical sectors and indirection units of the members.",
        why: "Small files, compressed blocks and all metadata, three copies of it, are rounded up to 2^ashift bytes: nothing smaller is \
              ever allocated or written. RAID-Z adds as much for each parity, and a label's ring keeps fewer old states of the pool. ZFS \
              takes the figure from `physical_block_size`, in which thin LUNs and some drives report something else, and caps it at 16.",
        evidence: "ashift of the vdev's labels or of `zdb -C`, beside the physical sector and the indirection unit of each member.",
        example: "A LUN that reports 262,144 gets ashift 16 (2^18 would be 262,144): a 4 KiB block takes 65,536 ÷ 4,096 = 16 times its size. A pool whose \
                  ashift went from 12 to 15 needed twice the space for the same data.",
        fix: "Make another pool with `zpool create -o ashift=12 NEW DISKS` (13 or 14 where the flash maps 8 or 16 KiB), and send the data \
              there: `zfs send -R OLD@move | zfs receive -F -d NEW`. On Linux set the reported sector right first, or give ashift by hand \
              each time a vdev is added.",
        fix_safety: "A vdev with another ashift beside the old one cannot be removed again, nor the old one (STR613). Have a backup that was \
                     test-restored.",
        references: &[
            "https://github.com/openzfs/zfs/issues/13917",
            "https://github.com/openzfs/zfs/issues/14409",
            "OpenZFS zpoolprops(7), ashift",
        ],
    },
    check,
};

/// From this on what is rounded up is worth a warning whatever is stored.
const MUCH: u64 = 32 << 10;

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer, sector) in vdevs(context) {
        let unit = sector.value.unit();
        let members = members(context, id);
        let below = members.iter().flat_map(|member| context.seen(*member));
        let below = below.filter(|grid| {
            matches!(
                grid.role,
                GridRole::PhysicalSector | GridRole::IndirectionUnit
            ) && is_believable(grid)
        });
        let largest = below.max_by_key(|grid| grid.fact.value.unit());
        let needed = largest.map_or(Unit::B4096, |grid| grid.fact.value.unit().max(Unit::B4096));
        if unit.get() / 4 < needed.get() {
            continue;
        }
        let severity = if unit.get() >= MUCH {
            Severity::Warning
        } else {
            Severity::Note
        };
        let shift = unit.get().trailing_zeros();
        let title = format!(
            "{}: ZFS allocates in units of {unit} (ashift {shift}); nothing below asks for more than {needed}",
            layer.name
        );
        let mut finding = Finding::new(RULE.code, severity, id, title)
            .evidence(&sector.source, format!("ashift = {shift}"));
        if let Some(grid) = largest {
            let label = format!("{} = {}", grid.role.name(), grid.fact.value.unit());
            finding = finding.evidence(&grid.fact.source, label);
        }
        let rounded = |io: u64| {
            format!(
                "a block of {} takes {}: {} ÷ {} = {} times its size",
                straddle_geometry::Bytes::new(io),
                unit,
                unit.bytes().grouped(),
                straddle_geometry::Bytes::new(io).grouped(),
                unit.get() / io
            )
        };
        finding = finding.arithmetic(rounded(4096));
        if unit.get() > 8192 {
            finding = finding.arithmetic(rounded(8192));
        }
        findings.push(
            finding
                .note("blocks are compressed before they are rounded up: compression saves nothing below this size")
                .help(format!(
                    "send the data to a pool made with ashift={}; beside a vdev with another no vdev can be removed",
                    needed.get().trailing_zeros()
                )),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::GridRole;

    #[test]
    fn sixteen_on_4k_disks_is_a_warning_and_fourteen_a_note() {
        let mut lab = Lab::new();
        let disk = lab.disk(4096);
        lab.filesystem("zfs", disk, 65_536);
        lab.one(
            &RULE,
            Severity::Warning,
            "a block of 4 KiB takes 64 KiB: 65,536 ÷ 4,096 = 16 times its size",
        );
        let mut lab = Lab::new();
        let disk = lab.disk(512);
        lab.filesystem("zfs", disk, 16_384);
        let found = lab.findings(&RULE);
        assert_eq!(found[0].severity, Severity::Note);
    }

    #[test]
    fn what_flash_maps_as_a_whole_is_not_needless() {
        let mut lab = Lab::new();
        let disk = lab.disk(4096);
        lab.grid(disk, GridRole::IndirectionUnit, 16_384);
        lab.filesystem("zfs", disk, 16_384);
        let usual = lab.disk(4096);
        lab.filesystem("zfs", usual, 8192);
        lab.filesystem("ext", usual, 65_536);
        lab.none(&RULE);
    }
}
