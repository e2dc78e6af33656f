use straddle_stack::{GridRole, Key, LayerId, SeenGrid};

use crate::context::Findings;
use crate::shared::start::{off_grid, partition_starts};
use crate::{Context, Page, Repair, RepairKind, Rule, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::PARTITION_START_PREFERRED_IO,
    name: "partition-start-preferred-io",
    summary: "partition does not start on a multiple of the device's preferred I/O size",
    status: Status::Stable,
    repair: Repair::By(&[RepairKind::Partitions]),
    page: Page {
        checks: "Whether a partition starts on a multiple of `minimum_io_size` and `optimal_io_size`, where no stripe unit is known and \
                 the values can be believed: multiples of the physical sector, at most 16 MiB, and not on the list of known lies (STR501).",
        why: "Requests of the preferred sizes that start off their multiples are split over two members, or two stripes. An array that \
              presents itself as one disk has only this way to report its geometry: `minimum_io_size` is then the stripe unit and \
              `optimal_io_size` the full stripe.",
        evidence: "sysfs `queue/minimum_io_size` and `queue/optimal_io_size`, taken by the kernel from the device (SCSI VPD page B0, NVMe \
                   NPWG and NOWS). The values are hints. Many controllers report none, some report nonsense, and an SSD may mean its write \
                   granularity instead.",
        example: "A LUN reports minimum 65,536 and optimal 393,216 (6 × 64 KiB). Sector 63: 32,256 = 0 × 65,536 + 32,256: every 64 KiB \
                  request goes to two members. 1 MiB = 16 × 65,536: on the stripe unit, but 1,048,576 ÷ 393,216 = 2.667: not on the full stripe.",
        fix: "Start the partition at the next multiple of both. Where only full-stripe writes matter (backup targets, bulk loads), the \
              full stripe decides; for small random requests the stripe unit is enough.",
        fix_safety: "Confirm the geometry with the array's own tool before moving anything for its sake: a false hint has sent data \
                     gigabytes into a device. Have a backup that was test-restored.",
        references: &[
            "Linux Documentation/ABI/stable/sysfs-block: minimum_io_size, optimal_io_size",
            "SBC-4, Block Limits VPD page (B0h): OPTIMAL TRANSFER LENGTH GRANULARITY, OPTIMAL TRANSFER LENGTH",
        ],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    let mut said: Vec<LayerId> = Vec::new();
    // Off the smaller implies off the larger: one finding is enough.
    for role in [GridRole::MinimumIo, GridRole::OptimalIo] {
        for start in partition_starts(context, role) {
            if said.contains(&start.id) || !is_geometry(context, start.id, start.grid) {
                continue;
            }
            let title = format!(
                "{} starts off the {} of {}",
                start.layer.name,
                role.name(),
                start.unit()
            );
            if let Some(finding) = off_grid(RULE.code, context, &start, title) {
                said.push(start.id);
                findings.push(finding);
            }
        }
    }
}

/// True when the device below tells what may be its stripe unit.
pub(crate) fn tells_its_geometry(context: &Context<'_>, partition: LayerId) -> bool {
    context
        .below(partition, GridRole::MinimumIo)
        .any(|grid| is_geometry(context, partition, grid))
}

/// True when a preferred request size says something that no better fact says.
fn is_geometry(context: &Context<'_>, partition: LayerId, grid: &SeenGrid<'_>) -> bool {
    let known = context
        .below(partition, GridRole::StripeUnit)
        .next()
        .is_some();
    let device = context.stack.layer(grid.layer);
    // On flash that says so it is the indirection unit: STR103.
    let flash = device.text(Key::Transport) == Some("nvme");
    let physical = device
        .grid(GridRole::PhysicalSector)
        .map(|fact| fact.value.unit());
    let size = grid.fact.value.unit();
    !known
        && !flash
        && physical.is_none_or(|physical| size > physical && size.bytes().is_multiple_of(physical))
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::GridRole;

    #[test]
    fn a_lun_that_tells_its_geometry_is_believed() {
        let mut lab = Lab::new();
        let disk = lab.disk(512);
        lab.grid(disk, GridRole::MinimumIo, 65_536);
        lab.grid(disk, GridRole::OptimalIo, 393_216);
        lab.partition(disk, 63);
        let finding = lab.one(
            &RULE,
            Severity::Error,
            "63 × 512 = 32,256 = 0 × 65,536 + 32,256",
        );
        assert_eq!(finding.worst_price().to_string(), "100%");
    }

    #[test]
    fn lies_sectors_and_better_facts_are_not_geometry() {
        for (role, size) in [
            (GridRole::OptimalIo, 33_553_920),
            (GridRole::OptimalIo, 64 << 20),
            (GridRole::MinimumIo, 4096),
            (GridRole::MinimumIo, 6000),
        ] {
            let mut lab = Lab::new();
            let disk = lab.disk(4096);
            lab.grid(disk, role, size);
            lab.partition(disk, 63);
            lab.none(&RULE);
        }
        let mut lab = Lab::new();
        let disk = lab.disk(4096);
        lab.grid(disk, GridRole::OptimalIo, 393_216);
        lab.stated(disk, GridRole::StripeUnit, 65_536);
        lab.partition(disk, 2048);
        lab.none(&RULE);
    }
}
