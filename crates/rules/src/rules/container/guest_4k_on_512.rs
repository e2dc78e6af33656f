use straddle_stack::{GridRole, LayerKind};

use crate::context::Findings;
use crate::repair::GUEST;
use crate::shared::virtual_disk::{file_name, host_grids, is_parent};
use crate::wording::Correlation;
use crate::{Context, Finding, Page, Repair, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::GUEST_4K_ON_512,
    name: "guest-4k-on-512",
    summary: "guest sees larger logical sectors than the host's storage needs",
    status: Status::Stable,
    repair: Repair::None(GUEST),
    page: Page {
        checks: "Whether a virtual disk shows its guest logical sectors that are larger than the physical sectors of the storage below: 4,096 on \
                 512/512.",
        why: "No speed is lost: the guest's requests are whole sectors of the host. But the disk is hard to move. The guest's partition \
              table and filesystems are written for 4,096-byte sectors, so the disk cannot be attached as one with 512-byte sectors, \
              converted to VHD, qcow2 without a setting, VDI or VMDK, written to an ordinary drive, or booted by BIOS; and software that \
              insists on 512 does not install.",
        evidence: "The logical sector that the container records, and the physical sector of the host's storage as the kernel says it or a flag \
                   states it. Where the host's is only assumed (4,096 for an image by itself) the rule is silent.",
        example: "A VHDX with 4,096-byte logical sectors on an array of 512n disks: 4,096 ÷ 512 = 8 host sectors in each guest sector. Converted \
                  to raw and written to a 512n disk, its GPT header stands at byte 4,096, where no system with 512-byte sectors looks.",
        fix: "Nothing, where it runs well. When it must move: attach it beside a new disk with 512-byte sectors, partition that, and copy \
              filesystem by filesystem (`xfs_copy SOURCE TARGET`, `robocopy`, a backup and restore).",
        fix_safety: "qemu-img convert and Convert-VHD copy sectors, not partition tables: the result looks empty (STR408). Filesystems made \
                     for 4,096-byte sectors are not the obstacle on Linux: only a device sector larger than the filesystem's own is refused, \
                     so XFS with sectsz=4096 and FAT with sectors of 4,096 bytes can be mounted on 512 (whether Windows takes an NTFS with \
                     4,096-byte sectors on a disk with 512 was not verified).",
        references: &[
            "Microsoft MS-VHDX 2.6.2.4 Logical Sector Size",
            "https://learn.microsoft.com/en-us/troubleshoot/windows-server/backup-and-storage/support-policy-4k-sector-hard-drives",
            "UEFI 2.10, 5.3.2 GPT header: in logical block 1",
        ],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer) in context.of_kind(LayerKind::Container) {
        if is_parent(context.stack, id) {
            continue;
        }
        let Some(shown) = layer.grid(GridRole::LogicalSector) else {
            continue;
        };
        let guest = shown.value.unit();
        // Where storage of both kinds is below, the larger one wants the larger requests.
        let host = host_grids(context, id, GridRole::PhysicalSector)
            .max_by_key(|grid| grid.fact.value.unit());
        let Some(host) = host.filter(|host| host.fact.value.unit() < guest) else {
            continue;
        };
        let sector = host.fact.value.unit();
        let title = format!(
            "{}: the guest has logical sectors of {guest}, the host's storage needs only {sector}",
            file_name(context.stack, id)
        );
        findings.push(
            Finding::new(RULE.code, Severity::Note, id, title)
                .evidence_in(layer.below.first().copied(), &shown.source,
                    format!("logical sector of the guest = {guest}"),
                )
                .evidence(
                    &host.fact.source,
                    format!("physical sector of the host = {sector}"),
                )
                .arithmetic(
                    Correlation::new("guest sector ÷ host sector", guest.bytes(), sector)
                        .arithmetic()
                        + " host sectors in each",
                )
                .note("no request costs more; but BIOS does not boot it, and no disk with 512-byte sectors can take its partition table over")
                .help("to move it: copy filesystem by filesystem to a disk with 512-byte sectors, not sector by sector"),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::{GridRole, LayerKind};

    fn guest(physical: u64, logical: u64) -> Lab {
        let mut lab = Lab::new();
        let disk = lab.disk(physical);
        let file = lab.file(disk, &[(0, 1 << 30, 1 << 20)]);
        let id = lab.upper(LayerKind::Container, "vhdx", file, 0);
        lab.grid(id, GridRole::LogicalSector, logical);
        lab
    }

    #[test]
    fn large_sectors_on_small_ones_are_a_note() {
        guest(512, 4096).one(
            &RULE,
            Severity::Note,
            "4,096 ÷ 512 = 8 host sectors in each",
        );
    }

    #[test]
    fn large_sectors_on_large_ones_are_silent() {
        guest(4096, 4096).none(&RULE);
        guest(512, 512).none(&RULE);
    }
}
