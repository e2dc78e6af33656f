use straddle_geometry::{Bytes, Unit, both_ways};
use straddle_stack::{Fact, Key, Layer, LayerId, LayerKind, Value};

use crate::context::Findings;
use crate::{Context, Finding, Page, Repair, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::HIDDEN_SECTORS,
    name: "hidden-sectors",
    summary: "boot sector's hidden-sectors field disagrees with the partition table",
    status: Status::Stable,
    repair: Repair::None(
        "it is a record for old boot loaders; Windows does not need it, ms-sys or a repair from the installation medium sets it",
    ),
    page: Page {
        checks: "Whether the start that a volume records of itself equals the start of its partition: the `hidden sectors` field of NTFS \
                 and FAT boot sectors (byte 0x1c), the `PartitionOffset` of exFAT (byte 0x40). Both count from the disk whose table \
                 describes the partition, as the system that uses it sees that disk: a loop device, a logical volume, an md array or a \
                 guest's virtual disk, not what these lie on. Zero means `not recorded`.",
        why: "No speed is lost. But boot code computes absolute sectors from this field: after a move that did not update it, the volume \
              no longer boots, with `NTLDR is missing` or a blinking cursor. The field also records a move: it says where the volume was \
              when it was formatted.",
        evidence: "The field in the boot sector and the start in the partition table, both read from the medium.",
        example: "A volume formatted at sector 63 and moved to 2,048: the field still says 63 × 512 = 32,256, the table 2,048 × 512 = \
                  1,048,576. Data is intact, booting from it is not. The same volume at sector 2,048 of a disk image whose file begins \
                  1 GiB into the host's disk still has to say 2,048.",
        fix: "For a boot volume of NTFS or FAT, write the real start, in the volume's own sectors and little-endian, into the four bytes at \
              0x1c of its boot sector, with the partition unmounted. For sector 2,048: \
              `printf '\\0\\010\\0\\0' | dd of=PARTITION bs=1 seek=28 conv=notrunc`. Scripts of `straddle fix` that move a partition \
              do so by themselves. For a data volume nothing need be done, nor for exFAT, whose boot sector has a checksum.",
        fix_safety: "Keep a copy of the sector first. NTFS keeps another copy of its boot sector in the last sector of the partition, FAT32 in \
                     sector 6: change both, so that a repair does not bring the old number back. The field has 32 bits: a start beyond 2 TiB \
                     with sectors of 512 bytes has no room in it, and no finding. In a logical partition, some tools count from the extended \
                     partition's own table: both ways are accepted, as for a table inside a partition (BSD).",
        references: &[
            "Microsoft FAT specification (fatgen103): BPB_HiddSec",
            "Microsoft exFAT specification, 3.1.4 PartitionOffset",
            "https://learn.microsoft.com/en-us/windows/win32/fileio/exfat-specification",
        ],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer) in context.of_kind(LayerKind::Filesystem) {
        let Some(record) = Record::of(context, id, layer) else {
            continue;
        };
        if record.is_right(context) {
            continue;
        }
        let place = context.stack.layer(record.below);
        let disk = context.stack.layer(record.disk);
        let (severity, title, help) = if place.kind == LayerKind::Partition {
            (
                if layer.format.as_deref() == Some("exfat") {
                    Severity::Note
                } else {
                    Severity::Warning
                },
                format!(
                    "{} on {} believes that it starts elsewhere",
                    layer.name, place.name
                ),
                format!(
                    "if anything boots from it, write its start on {} into the field; otherwise leave it alone",
                    disk.name
                ),
            )
        } else {
            (
                Severity::Note,
                format!(
                    "{} was made for a partition that started at {}",
                    layer.name, record.said.value
                ),
                "put it at that start when it goes back into a partition that it must boot from"
                    .to_owned(),
            )
        };
        findings.push(
            Finding::new(RULE.code, severity, id, title)
                .evidence(
                    &record.said.source,
                    format!("recorded start = {}", both_ways(record.said.value)),
                )
                .arithmetic(record.line(&disk.name))
                .help(help),
        );
    }
}

/// What a volume records of its start, and where it starts.
struct Record {
    said: Fact<Bytes>,
    /// The volume's own sector, in which hidden sectors count.
    sector: Unit,
    /// What the volume lies on: a partition, or a disk without a table.
    below: LayerId,
    /// The disk that starts count from.
    disk: LayerId,
    start: Bytes,
}

impl Record {
    fn of(context: &Context<'_>, id: LayerId, layer: &Layer) -> Option<Record> {
        let hidden = layer.bytes(Key::HiddenSectors);
        let has_32_bits = hidden.is_some();
        let said = hidden.or_else(|| layer.bytes(Key::PartitionOffset))?;
        let below = context.stack.only_below(id)?;
        let disk = context.disk_of(id)?;
        if !matches!(
            context.stack.layer(below).kind,
            LayerKind::Partition | LayerKind::Device
        ) {
            return None;
        }
        let start = context.stack.start_in(id, disk)?;
        let sector = layer
            .bytes(Key::SectorSize)
            .and_then(|fact| Unit::try_from(fact.value).ok())
            .or(Unit::new(512))?;
        let fits = u32::try_from(start.div_rem(sector).0).is_ok();
        (fits || !has_32_bits).then_some(Record {
            said,
            sector,
            below,
            disk,
            start,
        })
    }

    fn is_right(&self, context: &Context<'_>) -> bool {
        let said = self.said.value;
        // Zero is "not recorded" in FAT and exFAT; an NTFS with 0 was made on an image or a whole disk.
        said == self.start
            || said == Bytes::ZERO
            || self.counts_from_outside(context)
            || self.counts_from_inside(context)
            || self.is_in_extended(context)
    }

    /// A loop device that shows one partition of the disk in its file, by an offset.
    fn counts_from_outside(&self, context: &Context<'_>) -> bool {
        let file = context.stack.only_below(self.disk);
        self.below == self.disk
            && file
                .filter(|file| context.stack.layer(*file).kind == LayerKind::File)
                .and_then(|file| context.stack.start_in(self.disk, file))
                .is_some_and(|offset| offset == self.said.value)
    }

    /// A table inside a partition: some systems count from its beginning.
    fn counts_from_inside(&self, context: &Context<'_>) -> bool {
        let mut here = self.below;
        while let Some(outer) = context.stack.only_below(here).filter(|_| here != self.disk) {
            if context.stack.start_in(self.below, outer) == Some(self.said.value) {
                return true;
            }
            here = outer;
        }
        false
    }

    /// True when the field counts from the table that describes a logical partition, as some tools have it: at most a track
    /// or the usual 1 MiB.
    fn is_in_extended(&self, context: &Context<'_>) -> bool {
        let number = context
            .stack
            .layer(self.below)
            .attribute(Key::PartitionNumber);
        let logical = matches!(number.map(|fact| &fact.value), Some(Value::Count(n)) if *n > 4);
        let mbr = context.stack.layer(self.disk).text(Key::PartitionTable) == Some("mbr");
        let said = self.said.value;
        logical && mbr && (said == Bytes::new(63 * 512) || said == Bytes::mib(1))
    }

    fn line(&self, disk: &str) -> String {
        let sectors = |bytes: Bytes| match bytes.div_rem(self.sector) {
            (count, Bytes::ZERO) => format!(
                "{} × {} = {}",
                Bytes::new(count).grouped(),
                self.sector.bytes().grouped(),
                bytes.grouped()
            ),
            _ => bytes.grouped().to_string(),
        };
        format!(
            "recorded {}, real {} (counted from the start of {disk})",
            sectors(self.said.value),
            sectors(self.start)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_geometry::Map;
    use straddle_stack::{Key, LayerId, LayerKind, Value};

    const GIB: u64 = 1 << 30;

    #[test]
    fn a_moved_volume_remembers_where_it_was() {
        let mut lab = Lab::new();
        let disk = lab.disk(512);
        let partition = lab.partition(disk, 2048);
        let ntfs = lab.filesystem("ntfs", partition, 4096);
        lab.bytes(ntfs, Key::HiddenSectors, 32_256);
        let finding = lab.one(
            &RULE,
            Severity::Warning,
            "recorded 63 × 512 = 32,256, real 2,048 × 512 = 1,048,576 (counted from the start of sda)",
        );
        assert!(finding.help[0].contains("its start on sda"));
    }

    #[test]
    fn an_image_of_a_volume_tells_its_old_place() {
        let mut lab = Lab::new();
        let disk = lab.disk(512);
        let ntfs = lab.filesystem("ntfs", disk, 4096);
        lab.bytes(ntfs, Key::HiddenSectors, 32_256);
        let finding = lab.one(
            &RULE,
            Severity::Note,
            "recorded 63 × 512 = 32,256, real 0 × 512 = 0 (counted from the start of sda)",
        );
        assert!(finding.title.contains("31.5 KiB"));
    }

    #[test]
    fn agreement_and_not_recorded_are_silent() {
        for recorded in [0, 1 << 20] {
            let mut lab = Lab::new();
            let disk = lab.disk(512);
            let partition = lab.partition(disk, 2048);
            let fat = lab.filesystem("fat32", partition, 4096);
            lab.bytes(fat, Key::HiddenSectors, recorded);
            lab.none(&RULE);
        }
    }

    type Nesting = (&'static str, fn(&mut Lab) -> LayerId);

    /// What a partition table can lie on, each 1 GiB and more into the disk at the bottom.
    const NESTINGS: [Nesting; 6] = [
        ("loop device", |lab| {
            let disk = lab.disk(512);
            let partition = lab.partition(disk, 2048);
            let file = lab.upper(LayerKind::File, "", partition, GIB);
            lab.upper(LayerKind::Device, "loop", file, 0)
        }),
        ("logical volume", |lab| {
            let disk = lab.disk(512);
            let partition = lab.partition(disk, 2048);
            lab.upper(LayerKind::Volume, "lvm", partition, GIB)
        }),
        ("md array of one place", |lab| {
            let disk = lab.disk(512);
            let partition = lab.partition(disk, 2048);
            lab.upper(LayerKind::Array, "raid1", partition, GIB)
        }),
        ("md array over two disks", |lab| {
            let members = [lab.disk(512), lab.disk(512)];
            lab.array(&members, 65_536, &[GIB, GIB])
        }),
        ("nested guest", |lab| {
            let disk = lab.disk(512);
            let partition = lab.partition(disk, 63);
            let file = lab.upper(LayerKind::File, "", partition, GIB);
            lab.container("qcow2", file, GIB, &[GIB, 3 * GIB])
        }),
        ("virtual disk in a guest's volume on a loop device", |lab| {
            let disk = lab.disk(512);
            let file = lab.upper(LayerKind::File, "", disk, GIB);
            let outer = lab.upper(LayerKind::Device, "loop", file, 0);
            let partition = lab.partition(outer, 2048);
            let inner = lab.upper(LayerKind::File, "", partition, GIB);
            lab.upper(LayerKind::Container, "raw", inner, 0)
        }),
    ];

    #[test]
    fn starts_count_from_the_disk_that_holds_the_table_in_every_nesting() {
        for (name, disk_in) in NESTINGS {
            for (recorded, right) in [(1 << 20, true), (32_256, false), (GIB + (1 << 20), false)] {
                let mut lab = Lab::new();
                let disk = disk_in(&mut lab);
                let partition = lab.partition(disk, 2048);
                let fat = lab.filesystem("fat16", partition, 4096);
                lab.bytes(fat, Key::HiddenSectors, recorded);
                let findings = lab.findings(&RULE);
                assert_eq!(
                    findings.is_empty(),
                    right,
                    "{name}, {recorded}: {findings:#?}"
                );
                let real = "real 2,048 × 512 = 1,048,576 (counted from";
                assert!(right || findings[0].arithmetic[0].contains(real), "{name}");
            }
        }
    }

    #[test]
    fn a_logical_partition_counts_from_either_table_in_every_nesting() {
        for (name, disk_in) in NESTINGS {
            for (recorded, right) in [(63, true), (20_543, true), (64, false)] {
                let mut lab = Lab::new();
                let disk = disk_in(&mut lab);
                lab.text(disk, Key::PartitionTable, "mbr");
                let partition = lab.partition(disk, 20_543);
                lab.set(partition, Key::PartitionNumber, Value::Count(5));
                let fat = lab.filesystem("fat16", partition, 4096);
                lab.bytes(fat, Key::HiddenSectors, recorded * 512);
                assert_eq!(lab.findings(&RULE).is_empty(), right, "{name}, {recorded}");
            }
        }
    }

    #[test]
    fn a_table_in_a_partition_counts_from_either_beginning() {
        for (recorded, right) in [(16, true), (2064, true), (2048, false)] {
            let mut lab = Lab::new();
            let disk = lab.disk(512);
            let outer = lab.partition(disk, 2048);
            let inner = lab.partition(outer, 16);
            let fat = lab.filesystem("fat16", inner, 4096);
            lab.bytes(fat, Key::HiddenSectors, recorded * 512);
            assert_eq!(lab.findings(&RULE).is_empty(), right, "{recorded}");
        }
    }

    /// `losetup --offset 1048576` over the image of a disk.
    #[test]
    fn a_loop_device_may_show_one_partition_of_its_file() {
        for (recorded, right) in [(2048, true), (63, false), (2048 + 2_097_152, false)] {
            let mut lab = Lab::new();
            let disk = lab.disk(512);
            let file = lab.upper(LayerKind::File, "", disk, GIB);
            let shown = lab.upper(LayerKind::Device, "loop", file, 1 << 20);
            let fat = lab.filesystem("fat16", shown, 4096);
            lab.bytes(fat, Key::HiddenSectors, recorded * 512);
            assert_eq!(lab.findings(&RULE).is_empty(), right, "{recorded}");
        }
    }

    #[test]
    fn the_field_counts_in_the_volumes_sectors_and_has_32_bits() {
        let on = |sector: u64, start: u64| {
            let mut lab = Lab::new();
            let disk = lab.disk(512);
            let start = straddle_geometry::Bytes::new(start);
            let partition = lab.over(LayerKind::Partition, &[disk], Map::Linear { start });
            let fat = lab.filesystem("fat32", partition, 4096);
            lab.bytes(fat, Key::SectorSize, sector);
            lab.bytes(fat, Key::HiddenSectors, 63 * sector);
            lab
        };
        on(4096, 1 << 20).one(
            &RULE,
            Severity::Warning,
            "recorded 63 × 4,096 = 258,048, real 256 × 4,096 = 1,048,576 (counted from the start of sda)",
        );
        // 2 TiB: no number in the field could be right.
        on(512, 1 << 41).none(&RULE);
        assert_eq!(on(4096, 1 << 41).findings(&RULE).len(), 1);
    }
}
