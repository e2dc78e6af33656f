use straddle_stack::{GridRole, Key};

use crate::context::Findings;
use crate::shared::start::{Start, off_grid, partition_starts};
use crate::wording::with_article;
use crate::{Context, Page, Repair, RepairKind, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::PARTITION_START_FLASH_UNIT,
    name: "partition-start-flash-unit",
    summary: "partition starts inside an indirection unit, an erase block or a discard granule",
    status: Status::Stable,
    repair: Repair::By(&[RepairKind::Partitions]),
    page: Page {
        checks: "Whether a partition starts on the units in which flash and thin storage manage their space: the indirection unit (on NVMe \
                 `minimum_io_size`, from NPWG), the erase block, the discard granularity. Only units larger than the physical sector count here.",
        why: "A write that covers an indirection unit in part makes the drive read it, merge it and rewrite all of it: bandwidth is lost \
              and the flash wears. Flash drives map their pages in these units. A discard frees whole granules only; the partial ones at \
              both ends of a misaligned range are never given back.",
        evidence: "sysfs `queue/minimum_io_size` of an NVMe device, `queue/discard_granularity`, `preferred_erase_size` of an SD card. \
                   Erase blocks of SSDs are not reported by anyone; a flag can state one.",
        example: "A QLC drive with a 16 KiB unit and a start at 1,044,480 (sector 2,040): 1,044,480 = 63 × 16,384 + 12,288. A 16 KiB write \
                  then covers 4 KiB of one unit and 12 KiB of the next: two reads and two writes of 16 KiB instead of one write.",
        fix: "Start at a multiple of the unit; 1 MiB is one for every unit in use except some erase blocks of SD cards (4 MiB and \
              more), which want 4 or 16 MiB.",
        fix_safety: "Moving a partition rewrites all its data; have a backup that was test-restored. On SD cards keep the \
                     manufacturer's layout if you can: the first blocks are often tuned for FAT.",
        references: &[
            "NVM Express NVM command set specification: NPWG, NPWA, NPDG, NPDA",
            "https://github.com/ceph/ceph/pull/71954",
            "Linux Documentation/ABI/stable/sysfs-block: discard_granularity, discard_alignment",
        ],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    for role in [
        GridRole::IndirectionUnit,
        GridRole::MinimumIo,
        GridRole::EraseBlock,
        GridRole::DiscardGranularity,
    ] {
        for start in partition_starts(context, role) {
            if !is_flash_unit(context, &start) {
                continue;
            }
            // What NVMe calls its minimum is its indirection unit.
            let named = match role {
                GridRole::MinimumIo => GridRole::IndirectionUnit,
                other => other,
            };
            let title = format!(
                "{} starts inside {} of {}",
                start.layer.name,
                with_article(named),
                start.unit()
            );
            let Some(mut finding) = off_grid(RULE.code, context, &start, title) else {
                continue;
            };
            if role == GridRole::DiscardGranularity {
                // Requests cross it for nothing: only discards are lost.
                finding.prices = None;
                finding.severity = Severity::Note;
                finding = finding.note(
                    "reads and writes do not pay for this; a discard leaves the incomplete granules at its ends allocated",
                );
            }
            findings.push(finding);
        }
    }
}

fn is_flash_unit(context: &Context<'_>, start: &Start<'_>) -> bool {
    let device = context.stack.layer(start.grid.layer);
    // A sector-sized unit is STR101's.
    let coarse = device
        .grid(GridRole::PhysicalSector)
        .is_none_or(|physical| start.unit() > physical.value.unit());
    let nvme = device.text(Key::Transport) == Some("nvme");
    coarse && (start.grid.role != GridRole::MinimumIo || nvme)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::{GridRole, Key};

    #[test]
    fn an_nvme_minimum_is_its_indirection_unit() {
        let mut lab = Lab::new();
        let disk = lab.disk(4096);
        lab.text(disk, Key::Transport, "nvme");
        lab.grid(disk, GridRole::MinimumIo, 16_384);
        lab.partition(disk, 2040);
        lab.one(
            &RULE,
            Severity::Error,
            "2,040 × 512 = 1,044,480 = 63 × 16,384 + 12,288",
        );
    }

    #[test]
    fn discards_that_lose_their_ends_are_a_note() {
        let mut lab = Lab::new();
        let disk = lab.disk(4096);
        lab.grid(disk, GridRole::DiscardGranularity, 1 << 20);
        lab.partition(disk, 64);
        let finding = lab.one(
            &RULE,
            Severity::Note,
            "64 × 512 = 32,768 = 0 × 1,048,576 + 32,768",
        );
        assert_eq!(finding.prices, None);
    }

    #[test]
    fn starts_on_the_unit_and_stripes_of_scsi_are_not_its_business() {
        let mut lab = Lab::new();
        let disk = lab.disk(4096);
        lab.grid(disk, GridRole::DiscardGranularity, 4096);
        lab.grid(disk, GridRole::MinimumIo, 65_536);
        lab.grid(disk, GridRole::IndirectionUnit, 16_384);
        lab.partition(disk, 2048);
        lab.partition(disk, 4128);
        lab.none(&RULE);
    }
}
