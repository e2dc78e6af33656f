use straddle_geometry::Unit;
use straddle_stack::{GridRole, Key, Layer, LayerKind};

use crate::context::Findings;
use crate::shared::smaller_than_sector::{finding, larger_sector};
use crate::{
    Context, Finding, Page, Repair, RepairKind, Rule, Severity, Status, codes, refused_above,
};

pub(crate) static RULE: Rule = Rule {
    code: codes::ENCRYPTION_SECTOR,
    name: "encryption-sector",
    summary: "encryption or integrity sector is smaller than the physical sector",
    status: Status::Stable,
    repair: Repair::ByOr(
        &[RepairKind::EncryptionSector],
        "LUKS2 that is open: unmount what is in it and cryptsetup reencrypt --sector-size 4096 DEVICE with it open, or close it and plan again; \
         LUKS1: close it and cryptsetup convert --type luks2 DEVICE first; plain dm-crypt, BitLocker and what is left: re-create it",
    ),
    page: Page {
        checks: "Whether dm-crypt, LUKS or dm-integrity works in sectors smaller than the physical sector of the device below.",
        why: "Each encryption sector has its own initialisation vector, so small ones cost processor time: eight set-ups for 4 KiB instead of \
              one. The mapped device also presents the small size as its logical sector, so that layers above may write 512 bytes, which \
              the disk answers with a read-modify-write. With dm-integrity each sector has its own tag as well.",
        evidence: "The header or the device-mapper table (512 bytes unless a `sector_size` is given), and the physical sector below.",
        example: "LUKS1 always has 512-byte sectors: 4,096 ÷ 512 = 8 in each physical sector.",
        fix: "New volumes: `cryptsetup luksFormat --type luks2 --sector-size 4096 DEVICE` (the default since 2.4.0 where the disk reports \
              4K). Existing LUKS2 volumes: unmount what is in it, but activate the volume first (`cryptsetup open DEVICE NAME`), then \
              `cryptsetup reencrypt --sector-size 4096 DEVICE`. On a closed volume cryptsetup refuses to make sectors larger, unless it is \
              forced to (`--force-offline-reencrypt`), since it then cannot see what is in it. LUKS1 has no larger sectors, and reencrypt \
              cannot give it any: convert the header first, with the volume closed (`cryptsetup convert --type luks2 DEVICE`), or make a new \
              volume. Plain dm-crypt has no header, so nothing is there to re-encrypt by: copy what is in it away, open it with sectors of \
              4,096 bytes from then on, and re-create what was in it.",
        fix_safety: "What is in it must be usable on logical sectors of 4,096 bytes, or it can no longer be mounted: blocks of at least 4 \
                     KiB are not enough. XFS goes by its own sectors (`xfs_info`: sectsz), which are 512 in many a filesystem with blocks of \
                     4 KiB; FAT, exFAT and NTFS have sectors too, and a partition table written for 512 is no longer found. cryptsetup looks \
                     at a filesystem that lies directly in an active volume, not at what lies in LVM or partitions there. Re-encryption \
                     rewrites everything; it is resumable, but back up header and data first (`cryptsetup luksHeaderBackup DEVICE --header-backup-file FILE`).",
        references: &[
            "cryptsetup-reencrypt(8), --sector-size, --force-offline-reencrypt",
            "Linux fs/xfs/xfs_buf.c, xfs_setsize_buftarg: a device sector larger than the filesystem's is refused",
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
            let found = found.map(|found| match layer.format.as_deref() {
                // It takes the sectors that the disk reports.
                Some("bitlocker") => found,
                Some("integrity") => found.help(
                    "integritysetup format --sector-size 4096, which destroys what is there; what lies above must have sectors of 4,096 bytes",
                ),
                _ => found.help(format!("{}; {ABOVE}", help(layer))),
            });
            let refused = refused_above(context.stack, id, Unit::B4096);
            findings.extend(found.map(|found| refused.into_iter().fold(found, Finding::note)));
        }
    }
}

const ABOVE: &str = "what lies above must have sectors of 4,096 bytes";

/// How what dm-crypt has made gets larger sectors. Only LUKS2 can be re-encrypted in them.
fn help(layer: &Layer) -> &'static str {
    let version = match layer.format.as_deref() {
        Some("luks1") => Some("1"),
        Some("luks2") => Some("2"),
        _ => layer.text(Key::Version),
    };
    match version {
        Some("2") => {
            "unmount what is in it, leave the volume open, and cryptsetup reencrypt --sector-size 4096 DEVICE"
        }
        Some("1") => {
            "LUKS1 has no larger sectors: close the volume and cryptsetup convert --type luks2 DEVICE first; then, with the volume open \
             and what is in it unmounted, cryptsetup reencrypt --sector-size 4096 DEVICE"
        }
        Some("plain") => PLAIN,
        // The table of a mapped device does not say which it is.
        _ => {
            "LUKS2: unmount what is in it, leave the volume open, and cryptsetup reencrypt --sector-size 4096 DEVICE; LUKS1: close it and \
             cryptsetup convert --type luks2 DEVICE before that; plain dm-crypt has no header: copy what is in it away, open it with \
             --sector-size 4096, and re-create what was in it (cryptsetup status NAME says which it is)"
        }
    }
}

const PLAIN: &str = "plain dm-crypt has no header, so it cannot be re-encrypted: copy what is in it away, open it with --sector-size 4096, and \
                     re-create what was in it";

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::{GridRole, Key, LayerKind};

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
    fn what_could_not_be_mounted_any_more_is_named() {
        for (sector, notes) in [(512, 1), (4096, 0)] {
            let mut lab = crypt(512);
            let crypt = lab.stack.iter().last().expect("the volume").0;
            let xfs = lab.filesystem("xfs", crypt, 4096);
            lab.bytes(xfs, Key::SectorSize, sector);
            let finding = lab.one(&RULE, Severity::Note, "4,096 ÷ 512 = 8");
            assert_eq!(finding.notes.len(), notes, "{finding:#?}");
        }
    }

    #[test]
    fn only_luks2_is_told_to_reencrypt_at_once() {
        let help = |format: &'static str, version: &'static str| {
            let mut lab = crypt(512);
            let crypt = lab.stack.iter().last().expect("the volume").0;
            lab.stack.layer_mut(crypt).format = Some(format.into());
            if !version.is_empty() {
                lab.text(crypt, Key::Version, version);
            }
            let finding = lab.one(&RULE, Severity::Note, "4,096 ÷ 512 = 8");
            finding.help[0].to_string()
        };
        for (format, version) in [("luks2", ""), ("crypt", "2")] {
            let text = help(format, version);
            assert!(text.starts_with("unmount what is in it"), "{text}");
            assert!(!text.contains("convert"), "{text}");
        }
        for (format, version) in [("luks1", ""), ("crypt", "1")] {
            let text = help(format, version);
            let convert = text.find("cryptsetup convert --type luks2");
            assert!(convert < text.find("cryptsetup reencrypt"), "{text}");
            assert!(convert.is_some(), "{text}");
        }
        let text = help("crypt", "plain");
        assert!(text.contains("cannot be re-encrypted"), "{text}");
        assert!(!text.contains("cryptsetup reencrypt"), "{text}");
        // The device-mapper table does not tell them apart: all three are told.
        let text = help("crypt", "");
        for part in [
            "LUKS2: unmount",
            "LUKS1: close it",
            "plain dm-crypt has no header",
        ] {
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn sectors_of_4_kib_are_silent() {
        crypt(4096).none(&RULE);
    }
}
