use straddle_geometry::Bytes;
use straddle_stack::GridRole;

use crate::context::Findings;
use crate::shared::said::{self, Said};
use crate::shared::start::{off_grid, partition_starts};
use crate::{Context, Finding, Page, Repair, RepairKind, Rule, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::PARTITION_START_PHYSICAL_SECTOR,
    name: "partition-start-physical-sector",
    summary: "partition starts inside a physical sector",
    status: Status::Stable,
    repair: Repair::By(&[RepairKind::Partitions]),
    page: Page {
        checks: "Whether the first byte of a partition lies on a boundary of the device's physical sectors. The boundary counts from where \
                 the device says that it counts: a drive with `alignment_offset` 3584 has its boundaries at 3,584, 7,680, …",
        why: "A 4 KiB write becomes two reads and two writes, because every page of every file is cut at the same wrong place. A disk with \
              4,096-byte physical sectors (512e) or a flash device can only write whole ones. A write that covers a sector in part makes \
              the drive read it, change it and write it back: read-modify-write, on a spinning disk one more revolution.",
        evidence: "The start from the partition table (or sysfs `start`), the sector from sysfs `queue/physical_block_size` and \
                   `alignment_offset`. An image has no device: 4,096 bytes are assumed, and the finding says so; `--physical-sector` \
                   answers for a device you know.",
        example: "Sector 63 of a 512e disk: 63 × 512 = 32,256 = 7 × 4,096 + 3,584. Published measurements of two disks with 4,096-byte \
                  sectors: 4 KiB writes that start off a boundary took three times as long as aligned ones (`straddle study \
                  wd-advanced-format`, `wd-green-osync`).",
        fix: "Move the partition to the next boundary, usually 1 MiB (sector 2,048); `straddle fix` plans it. The defaults of today's \
              partitioners start at 1 MiB; sector 63 still comes with old images and templates, with disks that were copied from older \
              systems, and with scripts that state a start.",
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
    findings.extend(said_to_be_off(context));
}

/// Partitions of which no start is known, but how far they are from the next physical sector: `fsutil fsinfo sectorinfo` says it.
fn said_to_be_off(context: &Context<'_>) -> Vec<Finding> {
    let found = context.data_partitions().filter_map(|(id, layer)| {
        let said = Said::of(context, id, layer).filter(Said::is_off)?;
        let title = format!(
            "{} starts inside a {}-byte physical sector",
            layer.name,
            said.unit().bytes().grouped()
        );
        let finding = said.finding(RULE.code, context, id, &title);
        Some(finding.help(format!(
            "capture where it starts, to see where it should: {}",
            said::starts(context, id)
        )))
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::LayerKind;

    #[test]
    fn the_start_to_move_to_is_one_of_the_disk_with_the_table() {
        for (kind, format) in [
            (LayerKind::Volume, "lvm"),
            (LayerKind::Array, "raid1"),
            (LayerKind::Device, "loop"),
        ] {
            let mut lab = Lab::new();
            let disk = lab.disk(4096);
            let inner = lab.upper(kind, format, disk, 1 << 30);
            lab.partition(inner, 63);
            let findings = lab.findings(&RULE);
            assert_eq!(findings.len(), 1, "{format}: {findings:#?}");
            let name = &lab.stack.layer(inner).name;
            let help = format!("start it at 1 MiB = 2,048 sectors = 1,048,576 B of {name}: ");
            assert!(findings[0].help[0].starts_with(&help), "{findings:#?}");
            assert_eq!(findings[0].evidence[0].label, "first sector = 63");
            let counts =
                "the division counts from the start of sda; the partition table counts from";
            assert!(findings[0].notes[0].starts_with(counts), "{findings:#?}");
        }
    }

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
    fn a_partition_may_be_said_to_be_off_without_its_start() {
        use straddle_stack::{Key, Value};
        let mut lab = Lab::new();
        let disk = lab.disk(4096);
        let partition = lab.partition(disk, 63);
        lab.stack.layer_mut(partition).placement = None;
        lab.stack.layer_mut(partition).map = straddle_geometry::Map::Segments(Vec::new());
        lab.none(&RULE);
        lab.set(partition, Key::AlignmentOffset, Value::SignedBytes(512));
        let arithmetic = "start mod 4,096 = 3,584, 512 bytes before the next boundary";
        lab.one(&RULE, Severity::Error, arithmetic);
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
