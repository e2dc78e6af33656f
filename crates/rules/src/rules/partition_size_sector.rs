use straddle_geometry::{Bytes, Grid, Unit};
use straddle_stack::{Fact, GridRole, Key, Layer, LayerId, LayerKind};

use crate::context::Findings;
use crate::wording::{both_ways, division};
use crate::{Code, Context, Finding, Page, Rule, Severity, Status};

pub(crate) static RULE: Rule = Rule {
    code: Code(104),
    name: "partition-size-sector",
    summary: "partition's length is not a whole number of encryption or physical sectors",
    status: Status::Stable,
    page: Page {
        checks: "Whether a partition is a whole number of the largest sectors that are, or may be put, on it: the encryption sector of a \
                 LUKS, dm-crypt or verity layer (4,096 bytes unless known), otherwise the device's physical sector.",
        why: "Partitioners align starts and leave ends where they fall. dm-crypt with 4,096-byte sectors refuses a device whose size is no \
              multiple of them, so a partition that worked with 512-byte encryption cannot be converted or re-created. A filesystem \
              simply leaves the rest unused, but the next partition then begins off the grid when a tool packs it right behind.",
        evidence: "The length from the partition table; the sector from the encryption header or from sysfs `queue/physical_block_size`; \
                   partition type codes for LUKS and verity.",
        example: "20,481 sectors: 20,481 × 512 = 10,486,272 = 2,560 × 4,096 + 512. `cryptsetup luksFormat --sector-size 4096` answers that \
                  the device size is not aligned to the requested sector size.",
        fix: "Shrink the partition by the remainder, after the filesystem in it, or grow it to the next multiple where free space follows. \
              For new partitions give sizes with a unit suffix (`+10M`): partitioners then round.",
        fix_safety: "Shrinking a partition below the size of what it holds cuts data off. Shrink the contents first, check, then the \
                     table. Growing by less than one sector is harmless where the space is free.",
        references: &[
            "cryptsetup docs/v2.4.0-ReleaseNotes: encryption sector size",
            "https://github.com/systemd/systemd/issues/39151",
        ],
    },
    check,
};

/// LUKS and the two verity types of x86-64, by the Discoverable Partitions Specification.
const ENCRYPTED_TYPES: [&str; 3] = [
    "CA7D7CCB-63ED-4C53-861C-1742536059CC",
    "2C7357ED-EBD2-46D9-AEC1-23D437EC2BF5",
    "77FF5F63-E7B6-4633-ACF4-1565B864C0E6",
];

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer) in context.data_partitions() {
        let Some(size) = &layer.size else { continue };
        let encryption = encryption_sector(context, id, layer);
        let (sector, severity, name) = match (&encryption, physical(context, id)) {
            (Some(sector), _) => (sector.clone(), Severity::Warning, "encryption"),
            (None, Some(sector)) => (sector, Severity::Note, "physical"),
            (None, None) => continue,
        };
        if size.value.is_multiple_of(sector.value) {
            continue;
        }
        let title = format!(
            "{} is not a whole number of {}-byte {name} sectors long",
            layer.name,
            sector.value.bytes().grouped()
        );
        let finding = Finding::new(RULE.code, severity, id, title);
        if !context.options.in_full {
            findings.push(finding);
            continue;
        }
        let rest = size.value.div_rem(sector.value).1;
        let finding = finding
            .evidence(&size.source, format!("size = {}", both_ways(size.value)))
            .evidence(&sector.source, format!("{name} sector = {}", sector.value))
            .arithmetic(division(size.value, Grid::new(sector.value)))
            .help(format!(
                "make it {} shorter, its contents first; or let it grow to the next multiple",
                both_ways(rest)
            ));
        findings.push(finding);
    }
}

/// The sector of the encryption that sits, or by the partition's type is to sit, on a partition.
fn encryption_sector(context: &Context<'_>, id: LayerId, layer: &Layer) -> Option<Fact<Unit>> {
    let usual = |reason: &'static str| Fact::assumed(Unit::B4096, reason);
    let above = context.stack.above(id).find_map(|above| {
        let upper = context.stack.layer(above);
        let known = upper.grid(GridRole::EncryptionSector);
        known
            .map(|fact| fact.clone().map(|grid| grid.unit()))
            .or_else(|| {
                (upper.kind == LayerKind::Encryption)
                    .then(|| usual("the sector that cryptsetup chooses since 2.4.0"))
            })
    });
    above.or_else(|| {
        let kind = layer.text(Key::PartitionType)?;
        ENCRYPTED_TYPES
            .iter()
            .any(|known| known.eq_ignore_ascii_case(kind))
            .then(|| usual("the partition type says LUKS or verity, whose usual sector this is"))
    })
}

fn physical(context: &Context<'_>, id: LayerId) -> Option<Fact<Unit>> {
    let grid = context.below(id, GridRole::PhysicalSector).next()?;
    let unit = grid.fact.value.unit();
    (unit.bytes() > Bytes::new(512)).then(|| grid.fact.clone().map(|_| unit))
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::{GridRole, Key, LayerKind};

    #[test]
    fn encryption_needs_whole_sectors() {
        let mut lab = Lab::new();
        let disk = lab.disk(512);
        let partition = lab.partition(disk, 2048);
        lab.size(partition, 20_481 * 512);
        lab.text(
            partition,
            Key::PartitionType,
            "ca7d7ccb-63ed-4c53-861c-1742536059cc",
        );
        lab.one(&RULE, Severity::Warning, "10,486,272 = 2,560 × 4,096 + 512");
    }

    #[test]
    fn without_encryption_it_is_a_note() {
        let mut lab = Lab::new();
        let disk = lab.disk(4096);
        let partition = lab.partition(disk, 2048);
        lab.size(partition, 20_481 * 512);
        lab.one(&RULE, Severity::Note, "10,486,272 = 2,560 × 4,096 + 512");
    }

    #[test]
    fn small_encryption_sectors_fit() {
        let mut lab = Lab::new();
        let disk = lab.disk(4096);
        let partition = lab.partition(disk, 2048);
        lab.size(partition, 20_481 * 512);
        let crypt = lab.upper(LayerKind::Encryption, "luks1", partition, 2 << 20);
        lab.grid(crypt, GridRole::EncryptionSector, 512);
        lab.none(&RULE);
    }
}
