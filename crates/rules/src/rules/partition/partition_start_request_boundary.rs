use straddle_stack::GridRole;

use crate::context::Findings;
use crate::shared::start::{Start, off_grid, partition_starts};
use crate::{Context, Page, Repair, RepairKind, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::PARTITION_START_REQUEST_BOUNDARY,
    name: "partition-start-request-boundary",
    summary: "partition does not start on a request boundary of the device (NOIOB, chunk_sectors)",
    status: Status::Stable,
    repair: Repair::By(&[RepairKind::Partitions]),
    page: Page {
        checks: "Whether a partition starts on a boundary that the device names for requests: on NVMe the Namespace Optimal I/O Boundary (NOIOB), \
                 in Linux `chunk_sectors`. Not zones, and not the stripe unit of an array, which has the same place in Linux (STR201).",
        why: "Linux splits a request that crosses such a boundary in two, because the drive would do so itself, and some drives take much \
              longer for it. Boundaries count from the start of the namespace. With the partition off them, even requests of exactly their \
              length, aligned within the partition, become two commands. There is no read-modify-write: the cost is in commands, not time.",
        evidence: "`nvme id-ns` (noiob, in logical blocks), or sysfs `queue/chunk_sectors` (512-byte sectors). Zero means that the device names none. \
                   Old Intel drives (P3500 to P3700) name it in a field of their own, which Linux knows and shows in sysfs.",
        example: "A boundary of 128 KiB and a start at sector 63: 63 × 512 = 32,256 = 0 × 131,072 + 32,256. Every request of 128 KiB at a multiple \
                  of 128 KiB of the partition is two commands; of those of 8 KiB one in sixteen is.",
        fix: "Start the partition at a multiple of the boundary; 1 MiB is one for every power of two up to it. `straddle fix` plans it. It is worth it for large \
              requests on drives that are slow at the boundary: measure both starts first.",
        fix_safety: "Moving a partition rewrites all its data; have a backup that was test-restored. Leave a system that boots from it to a \
                     rebuild, unless something else (STR101, STR103) asks for the move too.",
        references: &[
            "NVM Express NVM command set specification, Identify Namespace: NOIOB",
            "Linux Documentation/ABI/stable/sysfs-block: chunk_sectors",
            "Linux drivers/nvme/host/nvme.h: NVME_QUIRK_STRIPE_SIZE",
        ],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    for start in partition_starts(context, GridRole::ChunkSectors) {
        if says_no_more_than_another(context, &start) {
            continue;
        }
        let title = format!(
            "{} starts off the request boundaries of {}",
            start.layer.name,
            start.unit()
        );
        let Some(mut finding) = off_grid(RULE.code, context, &start, title) else {
            continue;
        };
        // A second command is no second operation of the medium: how much time it takes is known to the drive alone, so that
        // no outage is justified by counting.
        finding.prices = None;
        finding.severity = Severity::Note;
        findings.push(finding.note(
            "a request that crosses one becomes two commands, and nothing is read for it; what that takes differs from drive to drive: measure it \
             (straddle bench) before anything is moved for it alone",
        ));
    }
}

/// The kernel gives the stripe unit of its arrays here too, and a drive may name a unit that it has another word for.
fn says_no_more_than_another(context: &Context<'_>, start: &Start<'_>) -> bool {
    let device = context.stack.layer(start.grid.layer);
    let mut others = [
        GridRole::StripeUnit,
        GridRole::IndirectionUnit,
        GridRole::PhysicalSector,
    ]
    .into_iter()
    .filter_map(|role| device.grid(role));
    others.any(|other| other.value.unit() == start.unit())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::GridRole;

    #[test]
    fn a_start_off_the_boundary_is_a_note_without_a_price() {
        let mut lab = Lab::new();
        let disk = lab.disk(512);
        lab.grid(disk, GridRole::ChunkSectors, 128 << 10);
        lab.partition(disk, 63);
        let finding = lab.one(
            &RULE,
            Severity::Note,
            "63 × 512 = 32,256 = 0 × 131,072 + 32,256",
        );
        assert_eq!(finding.prices, None);
    }

    #[test]
    fn starts_on_it_and_stripe_units_of_arrays_are_silent() {
        let mut lab = Lab::new();
        let disk = lab.disk(512);
        lab.grid(disk, GridRole::ChunkSectors, 128 << 10);
        lab.partition(disk, 2048);
        let array = lab.disk(512);
        lab.grid(array, GridRole::ChunkSectors, 64 << 10);
        lab.grid(array, GridRole::StripeUnit, 64 << 10);
        lab.partition(array, 63);
        lab.none(&RULE);
    }
}
