use straddle_stack::{GridRole, LayerKind};

use super::smaller_than_sector::{finding, larger_sector};
use crate::context::Findings;
use crate::{Code, Context, Page, Rule, Severity, Status};

pub(crate) static RULE: Rule = Rule {
    code: Code(601),
    name: "encryption-sector",
    summary: "encryption or integrity sector is smaller than the physical sector",
    status: Status::Stable,
    page: Page {
        checks: "Whether dm-crypt, LUKS or dm-integrity works in sectors smaller than the physical sector of the device below.",
        why: "Each encryption sector has its own initialisation vector, so small ones cost processor time: eight set-ups for 4 KiB instead of \
              one. The mapped device also presents the small size as its logical sector, so that layers above may write 512 bytes, which \
              the disk answers with a read-modify-write. With dm-integrity each sector has its own tag as well.",
        evidence: "The header or the device-mapper table (512 bytes unless a `sector_size` is given), and the physical sector below.",
        example: "LUKS1 always has 512-byte sectors: 4,096 ÷ 512 = 8 in each physical sector.",
        fix: "New volumes: `cryptsetup luksFormat --type luks2 --sector-size 4096` (the default since 2.4.0 where the disk reports 4K). Existing \
              LUKS2 volumes: `cryptsetup reencrypt --sector-size 4096`, offline.",
        fix_safety: "The filesystem on top must have blocks of at least 4 KiB, or it can no longer be mounted. Re-encryption rewrites \
                     everything; it is resumable, but back up header and data first (`luksHeaderBackup`).",
        references: &[
            "cryptsetup(8), --sector-size",
            "cryptsetup docs/v2.4.0-ReleaseNotes",
        ],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer) in context.of_kind(LayerKind::Encryption) {
        let Some(grid) = layer.grid(GridRole::EncryptionSector) else {
            continue;
        };
        let size = grid.clone().map(|grid| grid.unit().bytes());
        if let Some(sector) = larger_sector(context, id, size.value) {
            let found = finding(
                RULE.code,
                Severity::Note,
                (id, layer),
                "encryption sectors",
                &size,
                sector,
            );
            findings.extend(found.map(|found| match layer.format.as_deref() {
                // It takes the sectors that the disk reports.
                Some("bitlocker") => found,
                Some("integrity") => found.help(
                    "integritysetup format --sector-size 4096, which destroys what is there; all blocks above must be 4 KiB or more",
                ),
                _ => found.help("LUKS2: cryptsetup reencrypt --sector-size 4096, when all blocks above are 4 KiB or more"),
            }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::{GridRole, LayerKind};

    fn crypt(sector: u64) -> Lab {
        let mut lab = Lab::new();
        let disk = lab.disk(4096);
        let crypt = lab.upper(LayerKind::Encryption, "crypt", disk, 16 << 20);
        lab.grid(crypt, GridRole::EncryptionSector, sector);
        lab
    }

    #[test]
    fn eight_small_sectors_share_one() {
        crypt(512).one(&RULE, Severity::Note, "4,096 ÷ 512 = 8");
    }

    #[test]
    fn sectors_of_4_kib_are_silent() {
        crypt(4096).none(&RULE);
    }
}
