use straddle_geometry::{Bytes, Grid, Unit, both_ways};
use straddle_stack::{Fact, GridRole, Key, Layer, LayerId, LayerKind};

use crate::context::Findings;
use crate::wording::division;
use crate::{Context, Finding, Page, Repair, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::PARTITION_SIZE_SECTOR,
    name: "partition-size-sector",
    summary: "partition's length is not a whole number of encryption or physical sectors",
    status: Status::Stable,
    repair: Repair::None(
        "a partition's length depends on what is in it: resize that first, then grow or shrink the partition",
    ),
    page: Page {
        checks: "Whether a partition is a whole number of the largest sectors that are, or may be put, on it: the encryption sector of a \
                 LUKS, dm-crypt or verity layer (4,096 bytes unless known), otherwise the device's physical sector.",
        why: "dm-crypt with 4,096-byte sectors refuses a device whose size is not a multiple of them, so a partition that worked with \
              512-byte encryption cannot be converted or re-created. Partitioners align starts and leave ends where they fall. A \
              filesystem simply leaves the rest unused, but the next partition starts misaligned if a tool packs it directly after.",
        evidence: "The length from the partition table; the sector from the encryption header or from sysfs `queue/physical_block_size`; \
                   partition type codes for LUKS and verity.",
        example: "20,481 sectors: 20,481 × 512 = 10,486,272 = 2,560 × 4,096 + 512. `cryptsetup luksFormat --sector-size 4096` answers that \
                  the device size is not aligned to the requested sector size.",
        fix: "Shrink the partition by the remainder, after the filesystem in it, or grow it to the next multiple where free space follows. \
              For new partitions give sizes with a unit suffix (`+10M`): partitioners then round.",
        fix_safety: "Shrinking a partition below the size of what it holds cuts data off. Shrink the contents first, check, then the \
                     table. Growing by less than one sector is harmless where the space is free, but not for a member of an md array with \
                     metadata 0.90 or 1.0: md looks for its superblock at a distance from the end (0.90: the last whole 64 KiB of the \
                     device; 1.0: 8 KiB before the end, on 4 KiB). Such a member may only get lengths at which that is the same place; for any \
                     other it must leave the array first, and be added and rebuilt afterwards.",
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
            .help(match end_of_member(context, id) {
                Some(version) => keep_superblock(version, size.value, sector.value),
                None => format!(
                    "make it {} shorter, its contents first; or let it grow to the next multiple",
                    both_ways(rest)
                ),
            });
        findings.push(finding);
    }
}

/// The version of an md superblock at the end of a partition.
fn end_of_member<'a>(context: &Context<'a>, id: LayerId) -> Option<&'a str> {
    let stack = context.stack;
    let mut arrays = stack.above(id).map(|above| stack.layer(above));
    let version = arrays
        .find(|layer| layer.kind == LayerKind::Array)?
        .text(Key::Version)?;
    matches!(version, "0.90" | "1.0").then_some(version)
}

/// Where md looks for its superblock on a device of this length (Linux `drivers/md/md.c`).
fn superblock(version: &str, size: Bytes) -> Option<Bytes> {
    let down = |bytes: Bytes, unit: Unit| bytes.checked_sub(bytes.div_rem(unit).1);
    match version {
        // The last whole 64 KiB.
        "0.90" => down(size, Unit::new(64 << 10)?)?.checked_sub(Bytes::kib(64)),
        _ => down(size.checked_sub(Bytes::kib(8))?, Unit::B4096),
    }
}

/// What may be done with the end of a member whose superblock is found from there.
fn keep_superblock(version: &str, size: Bytes, sector: Unit) -> String {
    let rest = size.div_rem(sector).1;
    let place = superblock(version, size);
    let keeps = |other: Option<Bytes>| {
        let there = other.and_then(|size| superblock(version, size));
        place.is_some() && there == place
    };
    let shorter = size.checked_sub(rest);
    let longer = shorter.and_then(|size| size.checked_add(sector.bytes()));
    let place = place.unwrap_or(Bytes::ZERO).grouped();
    let is = format!(
        "it is a member of an md array with metadata {version}, whose superblock is found from the end"
    );
    let otherwise = "take it out of the array, change it, and add it again, which rebuilds it (one member at a time), or re-create the array";
    match (keeps(shorter), keeps(longer)) {
        (true, true) => format!(
            "{is}: made {} shorter, or longer up to the next multiple and no further, it keeps it at byte {place}; stop the array first",
            both_ways(rest)
        ),
        (true, false) => format!(
            "{is}: made {} shorter it keeps it at byte {place}; made longer, md does not find it any more; stop the array first",
            both_ways(rest)
        ),
        (false, true) => format!(
            "{is}: made longer up to the next multiple and no further, it keeps it at byte {place}; made shorter, md does not find it any \
             more; stop the array first"
        ),
        (false, false) => format!(
            "{is}: with any other whole number of sectors md does not find it any more at byte {place}; {otherwise}"
        ),
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
    use super::{RULE, superblock};
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_geometry::Bytes;
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
    fn superblocks_at_the_end_must_stay_where_md_looks_for_them() {
        let place = |version, sectors: u64| {
            superblock(version, Bytes::new(sectors * 512)).map(|place| place.get() / 512)
        };
        assert_eq!(place("0.90", 20_481), Some(20_352));
        assert_eq!(place("1.0", 20_481), Some(20_464));
        let help = |version: &'static str, sectors: u64, sector: u64| {
            let mut lab = Lab::new();
            let disk = lab.disk(sector);
            let partition = lab.partition(disk, 2048);
            lab.size(partition, sectors * 512);
            let array = lab.upper(LayerKind::Array, "raid1", partition, 0);
            lab.text(array, Key::Version, version);
            let found = lab.findings(&RULE);
            found[0].help[0].to_string()
        };
        let text = help("0.90", 20_481, 4096);
        assert!(
            text.contains("made 1 sector = 512 B shorter, or longer up to the next"),
            "{text}"
        );
        // 65,535 bytes of the last 64 KiB: one sector more is another 64 KiB.
        let text = help("0.90", 20_607, 4096);
        assert!(
            text.contains("made longer, md does not find it any more"),
            "{text}"
        );
        let text = help("1.0", 20_481, 4096);
        assert!(
            text.contains("made longer, md does not find it any more"),
            "{text}"
        );
        let text = help("1.0", 20_489, 16_384);
        assert!(text.contains("take it out of the array"), "{text}");
        // Elsewhere the superblock is at the front.
        let text = help("1.2", 20_481, 4096);
        assert!(
            text.ends_with("or let it grow to the next multiple"),
            "{text}"
        );
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
