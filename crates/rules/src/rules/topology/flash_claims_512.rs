use straddle_geometry::Bytes;
use straddle_stack::{GridRole, Key, LayerKind, Trust, Value};

use crate::context::Findings;
use crate::repair::REPORTED;
use crate::{Context, Finding, Page, Repair, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::FLASH_CLAIMS_512,
    name: "flash-claims-512",
    summary: "SSD reports 512-byte physical sectors, which is improbable",
    status: Status::Stable,
    repair: Repair::None(REPORTED),
    page: Page {
        checks: "Whether a flash drive (SATA, SAS, USB or NVMe, not rotational) reports a physical sector of 512 bytes.",
        why: "Tools see nothing wrong with sector 63, and ZFS chooses ashift 9 for good. Flash is programmed in pages of 4 to 16 KiB and \
              mapped in units of 4 KiB or more. A drive that says 512 does so for compatibility, or because its driver has nothing better \
              to say.",
        evidence: "sysfs `queue/physical_block_size` and `queue/rotational`. For NVMe the kernel takes the smaller of the preferred write \
                   granularity and the atomic write unit on power failure, which is often one block.",
        example: "A SATA SSD reporting 512/512 and a start at sector 63: no rule fires at 512, while at the 4,096 that the flash most likely \
                  uses 32,256 = 7 × 4,096 + 3,584.",
        fix: "Treat it as 4,096: `straddle check --physical-sector 4K`, `mkfs.xfs -s size=4096 DEVICE`, `zpool create -o ashift=12 NEW \
              DISKS`. Some drives can be formatted with 4K blocks (`nvme format --lbaf=N DEVICE`, `hdparm --please-destroy-my-drive \
              --set-sector-size 4096 DEVICE`).",
        fix_safety: "Changing the sector size of a drive erases it. Assuming 4,096 where the truth is 512 costs nothing but a little space.",
        references: &[
            "https://github.com/openzfs/zfs/issues/13917",
            "Linux drivers/nvme/host/core.c: nvme_update_disk_info, physical block size",
        ],
    },
    check,
};

const DRIVES: [&str; 5] = ["nvme", "sata", "ata", "sas", "usb"];

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer) in context.of_kind(LayerKind::Device) {
        let Some(physical) = layer.grid(GridRole::PhysicalSector) else {
            continue;
        };
        let flash = layer
            .attribute(Key::Rotational)
            .filter(|fact| fact.value == Value::Flag(false));
        let drive = layer
            .text(Key::Transport)
            .is_some_and(|transport| DRIVES.contains(&transport));
        let claimed =
            physical.trust == Trust::Reported && physical.value.unit().bytes() == Bytes::new(512);
        let Some(flash) = flash.filter(|_| drive && claimed) else {
            continue;
        };
        let title = format!(
            "{} claims physical sectors of 512 bytes, improbable for flash",
            layer.name
        );
        findings.push(
            Finding::new(RULE.code, Severity::Note, id, title)
                .evidence(&physical.source, "physical_block_size = 512")
                .evidence(&flash.source, "rotational = 0")
                .arithmetic("512 < 4,096, the smallest mapping unit of flash in use")
                .help("ask again as if it were 4K: --physical-sector 4K"),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::{Key, Value};

    fn drive(physical: u64, rotational: bool, transport: &'static str) -> Lab {
        let mut lab = Lab::new();
        let disk = lab.disk(physical);
        lab.set(disk, Key::Rotational, Value::Flag(rotational));
        lab.text(disk, Key::Transport, transport);
        lab
    }

    #[test]
    fn flash_has_no_512_byte_sectors() {
        drive(512, false, "sata").one(
            &RULE,
            Severity::Note,
            "512 < 4,096, the smallest mapping unit of flash in use",
        );
    }

    #[test]
    fn spinning_virtual_and_honest_drives_are_silent() {
        drive(512, true, "sata").none(&RULE);
        drive(512, false, "virtio").none(&RULE);
        drive(4096, false, "nvme").none(&RULE);
    }
}
