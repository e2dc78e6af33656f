use straddle_geometry::{Grid, both_ways};
use straddle_stack::{GridRole, LayerId, LayerKind};

use crate::context::Findings;
use crate::wording::division;
use crate::{Context, Finding, Page, Repair, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::PAYLOAD_SIZE,
    name: "payload-size",
    summary: "encrypted payload is not a whole number of its encryption sectors",
    status: Status::Stable,
    repair: Repair::None(
        "the device below must be grown; that does not bring back what was cut off",
    ),
    page: Page {
        checks: "Whether the payload of an encrypted volume, from its data offset to the end of what carries it, is a whole number of encryption \
                 sectors. Where a partition's own length is the cause, STR104 says so.",
        why: "A volume with sectors of 4,096 bytes cannot be opened on a device that is 512 bytes short of a multiple: dm-crypt maps whole \
              encryption sectors only, and refuses a device that ends inside one. It happens when a volume, an image or a disk was cut or \
              copied to a place of another size, or when a header was made for another device.",
        evidence: "Sector size and data offset from the header; the length of what carries it.",
        example: "4 MiB − 512 bytes behind an offset of 1 MiB: 3,145,216 = 767 × 4,096 + 3,584. `cryptsetup open` answers that the device size is \
                  not aligned to the encryption sector size.",
        fix: "Let what carries it grow to the next multiple: `lvextend -l +1 LV`, `truncate --size=%4096 IMAGE` (which rounds up), a larger \
              partition. What was cut off cannot come back by that; if the filesystem inside was made for the larger size, restore the \
              missing end first.",
        fix_safety: "Growing is harmless where the space behind is free. Do not shrink: the filesystem inside may reach to the last byte.",
        references: &[
            "cryptsetup docs/v2.4.0-ReleaseNotes: encryption sector size",
            "Linux Documentation/admin-guide/device-mapper/dm-crypt.rst: sector_size",
        ],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer) in context.of_kind(LayerKind::Encryption) {
        let (Some(grid), Some(size)) = (layer.grid(GridRole::EncryptionSector), &layer.size) else {
            continue;
        };
        let sector = grid.value.unit();
        if size.value.is_multiple_of(sector) || partition_is_odd(context, id) {
            continue;
        }
        let title = format!(
            "{}: its payload is not a whole number of {}-byte encryption sectors; it cannot be opened",
            layer.name,
            sector.bytes().grouped()
        );
        let rest = size.value.div_rem(sector).1;
        let missing = sector.bytes().checked_sub(rest).unwrap_or(rest);
        findings.push(
            Finding::new(RULE.code, Severity::Error, id, title)
                .evidence(&size.source, format!("size = {}", both_ways(size.value)))
                .evidence(&grid.source, format!("encryption sector = {sector}"))
                .arithmetic(division(size.value, Grid::new(sector)))
                .help(format!(
                    "make what carries it {} longer",
                    both_ways(missing)
                )),
        );
    }
}

/// True when the volume fills a partition whose own length is the cause.
fn partition_is_odd(context: &Context<'_>, id: LayerId) -> bool {
    let sector = context.stack.layer(id).grid(GridRole::EncryptionSector);
    let below = context
        .stack
        .only_below(id)
        .map(|id| context.stack.layer(id));
    below
        .filter(|below| below.kind == LayerKind::Partition)
        .is_some_and(|partition| {
            sector
                .zip(partition.size.as_ref())
                .is_some_and(|(sector, size)| !size.value.is_multiple_of(sector.value.unit()))
        })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::{GridRole, LayerKind};

    fn crypt(size: u64, sector: u64, partition: Option<u64>) -> Lab {
        let mut lab = Lab::new();
        let disk = lab.disk(512);
        let below = match partition {
            Some(size) => {
                let partition = lab.partition(disk, 2048);
                lab.size(partition, size);
                partition
            }
            None => disk,
        };
        let crypt = lab.upper(LayerKind::Encryption, "luks2", below, 1 << 20);
        lab.size(crypt, size);
        lab.grid(crypt, GridRole::EncryptionSector, sector);
        lab
    }

    #[test]
    fn a_cut_image_ends_inside_a_sector() {
        let finding = crypt(3_145_216, 4096, None).one(
            &RULE,
            Severity::Error,
            "3,145,216 = 767 × 4,096 + 3,584",
        );
        assert!(finding.help[0].contains("512 B"), "{:?}", finding.help);
    }

    #[test]
    fn whole_sectors_and_partitions_that_are_odd_themselves_are_silent() {
        crypt(3_145_216, 512, None).none(&RULE);
        crypt(3 << 20, 4096, None).none(&RULE);
        crypt(3_145_216, 4096, Some(4_193_792)).none(&RULE);
    }
}
