use straddle_stack::GridRole;

use super::start::{Start, off_grid};
use crate::context::Findings;
use crate::{Code, Context, Page, Rule, Status};

pub(crate) static RULE: Rule = Rule {
    code: Code(101),
    name: "partition-start-physical-sector",
    summary: "partition starts inside a physical sector",
    status: Status::Stable,
    page: Page {
        checks: "Whether the first byte of a partition lies on a boundary of the device's physical sectors. The boundary counts from where \
                 the device says that it counts: a drive with `alignment_offset` 3584 has its boundaries at 3,584, 7,680, …",
        why: "A disk with 4,096-byte physical sectors (512e) or a flash device can only write whole ones. A write that covers a sector in \
              part makes the drive read it, change it and write it back: read-modify-write, on a spinning disk one more revolution. When \
              a partition starts off the grid, every page of every file is cut at the same wrong place, so a 4 KiB write becomes two \
              reads and two writes.",
        evidence: "The start from the partition table (or sysfs `start`), the sector from sysfs `queue/physical_block_size` and \
                   `alignment_offset`. An image has no device: 4,096 bytes are assumed, and the finding says so; `--physical-sector` \
                   answers for a device you know.",
        example: "Sector 63 of a 512e disk: 63 × 512 = 32,256 = 7 × 4,096 + 3,584. Measured on real 4K-sector disks, small random \
                  writes at sector 63 ran at a quarter of the aligned rate.",
        fix: "Move the partition to the next boundary, usually 1 MiB (sector 2,048). New partitions: any partitioner since 2010 starts \
              at 1 MiB by itself.",
        fix_safety: "Moving a partition rewrites all its data; have a backup that was test-restored. Boot loaders record sector numbers \
                     and must be reinstalled; Windows records the partition's offset in its boot configuration.",
        references: &[
            "T13 ACS-4, IDENTIFY DEVICE word 106 and LOGICAL SECTORS PER PHYSICAL SECTOR",
            "Linux Documentation/ABI/stable/sysfs-block: physical_block_size, alignment_offset",
            "https://learn.microsoft.com/en-us/troubleshoot/windows-server/backup-and-storage/support-policy-4k-sector-hard-drives",
        ],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer) in context.data_partitions() {
        for grid in context.below(id, GridRole::PhysicalSector) {
            let Some(start) = Start::of(context, id, layer, grid) else {
                continue;
            };
            let title = format!(
                "{} starts inside a {}-byte physical sector",
                layer.name,
                start.unit().bytes().grouped()
            );
            findings.extend(off_grid(RULE.code, context, &start, title));
        }
    }
}
