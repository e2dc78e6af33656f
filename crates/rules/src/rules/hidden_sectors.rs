use straddle_geometry::{Bytes, Unit};
use straddle_stack::{Key, Layer, LayerId, LayerKind};

use crate::context::Findings;
use crate::wording::both_ways;
use crate::{Code, Context, Finding, Page, Rule, Severity, Status};

pub(crate) static RULE: Rule = Rule {
    code: Code(106),
    name: "hidden-sectors",
    summary: "boot sector records another partition start than the partition table",
    status: Status::Stable,
    page: Page {
        checks: "Whether the start that a volume records of itself equals the start of its partition: the `hidden sectors` field of NTFS \
                 and FAT boot sectors (byte 0x1c), the `PartitionOffset` of exFAT (byte 0x40). Zero means `not recorded` in FAT and exFAT.",
        why: "It costs nothing in speed. But boot code computes absolute sectors from this field: after a move that did not correct it, the \
              volume no longer boots, with `NTLDR is missing` or a blinking cursor. It also is the memory of a move: it says where the volume \
              lay when it was formatted.",
        evidence: "The field in the boot sector and the start in the partition table, both read from the medium.",
        example: "A volume formatted at sector 63 and moved to 2,048: the field still says 63 × 512 = 32,256, the table 2,048 × 512 = \
                  1,048,576. Data is intact, booting from it is not.",
        fix: "For a boot volume, write the real start into the field: `ntfsreloc -w`, or Windows' `bootrec /fixboot`. For \
              a data volume nothing need be done.",
        fix_safety: "The field lies in the boot sector, of which NTFS keeps a copy at the end of the volume; change both. Keep a copy of the \
                     sector first. In a logical partition, some tools count from the extended partition's own table: both ways are accepted.",
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
        let Some((recorded, start, below)) = recorded_and_real(context, id, layer) else {
            continue;
        };
        let (value, real) = (recorded.value, start);
        // FAT and exFAT write 0 for "not recorded"; an NTFS with 0 was made on an image or a whole disk.
        if value == real || value == Bytes::ZERO || is_relative(context, below, value) {
            continue;
        }
        let place = context.stack.layer(below);
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
                "if anything boots from it, write the real start into the field; otherwise leave it alone",
            )
        } else {
            (
                Severity::Note,
                format!(
                    "{} was made for a partition that started at {value}",
                    layer.name
                ),
                "put it at that start when it goes back into a partition that it must boot from",
            )
        };
        findings.push(
            Finding::new(RULE.code, severity, id, title)
                .evidence(
                    &recorded.source,
                    format!("recorded start = {}", both_ways(value)),
                )
                .arithmetic(line(value, real))
                .help(help),
        );
    }
}

/// The recorded start of a volume, its real start, and what it lies on: a partition, or a whole device.
fn recorded_and_real(
    context: &Context<'_>,
    id: LayerId,
    layer: &Layer,
) -> Option<(straddle_stack::Fact<Bytes>, Bytes, LayerId)> {
    let recorded = layer
        .bytes(Key::HiddenSectors)
        .or_else(|| layer.bytes(Key::PartitionOffset))?;
    let below = context.stack.only_below(id)?;
    let (device, _) = context.device_of(id)?;
    matches!(
        context.stack.layer(below).kind,
        LayerKind::Partition | LayerKind::Device
    )
    .then_some((recorded, context.stack.start_in(id, device)?, below))
}

/// True when the field counts from the table that describes a logical partition, as some tools have it: at most a track
/// or the usual 1 MiB.
fn is_relative(context: &Context<'_>, partition: LayerId, value: Bytes) -> bool {
    let number = context
        .stack
        .layer(partition)
        .attribute(Key::PartitionNumber);
    let logical =
        matches!(number.map(|fact| &fact.value), Some(straddle_stack::Value::Count(n)) if *n > 4);
    let device = context.device_of(partition).map(|(_, device)| device);
    let mbr = device.and_then(|device| device.text(Key::PartitionTable)) == Some("mbr");
    logical && mbr && (value == Bytes::new(63 * 512) || value == Bytes::mib(1))
}

fn line(recorded: Bytes, real: Bytes) -> String {
    let sectors = |bytes: Bytes| match Unit::new(512).map(|unit| bytes.div_rem(unit)) {
        Some((count, Bytes::ZERO)) => format!(
            "{} × 512 = {}",
            Bytes::new(count).grouped(),
            bytes.grouped()
        ),
        _ => bytes.grouped().to_string(),
    };
    format!("recorded {}, real {}", sectors(recorded), sectors(real))
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::Key;

    #[test]
    fn a_moved_volume_remembers_where_it_was() {
        let mut lab = Lab::new();
        let disk = lab.disk(512);
        let partition = lab.partition(disk, 2048);
        let ntfs = lab.filesystem("ntfs", partition, 4096);
        lab.bytes(ntfs, Key::HiddenSectors, 32_256);
        lab.one(
            &RULE,
            Severity::Warning,
            "recorded 63 × 512 = 32,256, real 2,048 × 512 = 1,048,576",
        );
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
            "recorded 63 × 512 = 32,256, real 0 × 512 = 0",
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
}
