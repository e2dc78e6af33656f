use straddle_stack::{GridRole, LayerKind};

use crate::context::Findings;
use crate::known_lies::LARGEST_PHYSICAL_SECTOR;
use crate::repair::REPORTED;
use crate::{Context, Finding, Page, Repair, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::PHYSICAL_SECTOR_IMPLAUSIBLE,
    name: "physical-sector-implausible",
    summary: "reported physical sector size is implausibly large",
    status: Status::Stable,
    repair: Repair::None(REPORTED),
    page: Page {
        checks: "Whether `physical_block_size` is above 64 KiB. No disk has sectors that large, and no flash drive reports mapping units \
                 beyond it; such a value is another size put into the wrong field.",
        why: "Whatever aligns to the physical sector aligns to this value: ZFS derives its ashift from it (and stops at 16), mkfs tools \
              refuse or warn, partitioners leave gaps.",
        evidence: "sysfs `queue/physical_block_size`. Thin LUNs and virtual disks report their allocation granule this way.",
        example: "262,144 from a thin-provisioned LUN with 256 KiB granules: 262,144 > 65,536. A 4 KiB write does not rewrite 256 KiB there: \
                  granules are allocated once, not rewritten.",
        fix: "Judge the device by its true sector: `straddle check --physical-sector 4K`. Where the array has a setting for the sector that \
              it reports, set it to 4K.",
        fix_safety: "Changing what a LUN reports while it is in use confuses filesystems and pools: do it while it is detached.",
        references: &[
            "SBC-4, READ CAPACITY (16): LOGICAL BLOCKS PER PHYSICAL BLOCK EXPONENT",
            "https://github.com/openzfs/zfs/issues/6975",
        ],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer) in context.of_kind(LayerKind::Device) {
        let Some(physical) = layer.grid(GridRole::PhysicalSector) else {
            continue;
        };
        let size = physical.value.unit().bytes();
        if size <= LARGEST_PHYSICAL_SECTOR {
            continue;
        }
        let title = format!(
            "{} reports physical sectors of {size}, too large to be sectors",
            layer.name
        );
        findings.push(
            Finding::new(RULE.code, Severity::Warning, id, title)
                .evidence(
                    &physical.source,
                    format!("physical_block_size = {}", size.grouped()),
                )
                .arithmetic(format!(
                    "{} > {} = {LARGEST_PHYSICAL_SECTOR}",
                    size.grouped(),
                    LARGEST_PHYSICAL_SECTOR.grouped()
                ))
                .note("no other rule builds on this value")
                .help("ask again with the sector that it has: --physical-sector 4K"),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::rules::partition::partition_start_physical_sector;
    use crate::testing::Lab;

    #[test]
    fn a_granule_is_not_a_sector_and_nothing_is_built_on_it() {
        let mut lab = Lab::new();
        let lun = lab.disk(262_144);
        lab.partition(lun, 63);
        lab.one(&RULE, Severity::Warning, "262,144 > 65,536 = 64 KiB");
        lab.none(&partition_start_physical_sector::RULE);
    }

    #[test]
    fn sectors_and_large_flash_units_are_silent() {
        for size in [512, 4096, 16_384, 65_536] {
            let mut lab = Lab::new();
            lab.disk(size);
            lab.none(&RULE);
        }
    }
}
