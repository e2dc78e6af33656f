use straddle_geometry::Bytes;
use straddle_stack::GridRole;

use super::start::{off_grid, partition_starts};
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
    for start in partition_starts(context, GridRole::PhysicalSector) {
        let title = format!(
            "{} starts inside a {}-byte physical sector",
            start.layer.name,
            start.unit().bytes().grouped()
        );
        let finding = off_grid(RULE.code, context, &start, title);
        // The usual advice, 1 MiB, is wrong on a drive whose sectors do not start at address 0: say why.
        findings.extend(finding.map(|finding| match start.there.phase() {
            Bytes::ZERO => finding,
            phase => finding.note(format!(
                "the device's physical sectors begin at byte {} (alignment_offset), so round starts such as 1 MiB are off \
                 its grid",
                phase.grouped()
            )),
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;

    #[test]
    fn sector_63_cuts_4096_byte_sectors() {
        let mut lab = Lab::new();
        let disk = lab.disk(4096);
        lab.partition(disk, 63);
        let finding = lab.one(
            &RULE,
            Severity::Error,
            "63 × 512 = 32,256 = 7 × 4,096 + 3,584",
        );
        assert_eq!(
            finding.help,
            [
                "start it at 1 MiB = 2,048 sectors = 1,048,576 B: the first place from here on that is on every boundary known"
            ]
        );
    }

    #[test]
    fn one_mebibyte_is_off_where_the_sectors_are_shifted() {
        let mut lab = Lab::new();
        let disk = lab.shifted_disk(3584);
        lab.partition(disk, 2048);
        let finding = lab.one(
            &RULE,
            Severity::Error,
            "2,048 × 512 = 1,048,576 = 3,584 (first boundary) + 255 × 4,096 + 512",
        );
        assert!(finding.notes[0].contains("begin at byte 3,584"));
    }

    #[test]
    fn boundaries_cost_nothing() {
        let mut lab = Lab::new();
        let disk = lab.disk(4096);
        lab.partition(disk, 64);
        lab.partition(disk, 2048);
        lab.none(&RULE);
    }
}
