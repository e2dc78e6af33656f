use straddle_geometry::Unit;
use straddle_stack::{GridRole, Key, Layer, LayerId, LayerKind, SeenGrid};

use crate::context::Findings;
use crate::repair::GUEST;
use crate::shared::virtual_disk::{file_name, host_grids, is_parent};
use crate::wording::Correlation;
use crate::{Context, Finding, Page, Repair, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::GUEST_512_ON_4K,
    name: "guest-512-on-4k",
    summary: "guest sees smaller sectors than the host's storage has",
    status: Status::Stable,
    repair: Repair::None(GUEST),
    page: Page {
        checks: "Whether the logical sector that a virtual disk shows to its guest is smaller than the logical sector of the storage below \
                 (512 on 4Kn). And whether a VHDX tells its guest a physical sector of 512 while the host's is larger.",
        why: "On 4Kn storage nothing smaller than 4,096 bytes can be written. A guest that sees 512 may send such requests (boot loaders, \
              database logs, old filesystems), and the hypervisor must read the sector, change a part and write it back: two operations \
              for one, and not atomic, so a power failure can damage seven neighbours that the guest did not write. A physical sector of \
              512 costs nothing by itself; but the guest's tools then see no reason to align, and choose 512 for logs and ZFS's ashift.",
        evidence: "The logical sector that the container records (VHDX, VDI), or 512, which hypervisors show unless told otherwise; the sectors \
                   of the storage below as the kernel says them or a flag states them. For an image by itself the host's physical sector is \
                   assumed.",
        example: "A guest with 512-byte sectors on 4Kn: 4,096 ÷ 512 = 8 guest sectors in each host sector. One write of 512 bytes is a read \
                  and a write of 4,096 each: 8,192 bytes moved for 512.",
        fix: "New disks: a VHDX with 4,096-byte sectors (`New-VHD -Path NEW.vhdx -Dynamic -SizeBytes 100GB -LogicalSectorSizeBytes 4096`), \
              or with `logical_block_size='4096'` in libvirt's `<blockio>`. Existing disks: make the guest send whole sectors (4 KiB \
              clusters, partitions on 1 MiB), and tell it the physical sector, `Set-VHD -Path X.vhdx -PhysicalSectorSizeBytes 4096`, \
              `physical_block_size='4096'`; but read first what that does to SQL Server, below.",
        fix_safety: "The logical sector cannot be changed under a partition table: the guest would find none (STR408). The physical sector \
                     can, while the machine is off; but SQL Server formats a transaction log for the physical sector that it finds when \
                     the log is made. On a disk that says 4,096 from then on, a log made at 512, there or on a replica, is written in \
                     pieces that are no whole sectors: `There have been N misaligned log IOs which required falling back to synchronous \
                     IO`, and slow commits. So leave such a disk at 512, or start SQL Server with trace flag 1800 first (`-T1800`, on \
                     every server of an availability group or of log shipping), which writes logs for 4,096 bytes whatever the disk says; \
                     whether a log that exists follows at once was not verified. The reverse is harmless.",
        references: &[
            "https://learn.microsoft.com/en-us/previous-versions/windows/it-pro/windows-server-2012-R2-and-2012/hh831459(v=ws.11): Hyper-V support for large sector disks",
            "Microsoft MS-VHDX 2.6.2.4 Logical Sector Size, 2.6.2.5 Physical Sector Size",
            "https://libvirt.org/formatdomain.html: blockio",
            "https://support.microsoft.com/kb/3009974: misaligned log IOs, trace flag 1800",
        ],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer) in context.of_kind(LayerKind::Container) {
        if is_parent(context.stack, id) {
            continue;
        }
        let found = logical(context, id, layer).or_else(|| physical(context, id, layer));
        findings.extend(found);
    }
}

fn largest<'c, 's>(
    context: &'c Context<'s>,
    id: LayerId,
    role: GridRole,
) -> Option<&'c SeenGrid<'s>> {
    host_grids(context, id, role).max_by_key(|grid| grid.fact.value.unit())
}

fn logical(context: &Context<'_>, id: LayerId, layer: &Layer) -> Option<Finding> {
    let shown = layer.grid(GridRole::LogicalSector)?;
    let host = largest(context, id, GridRole::LogicalSector)?;
    let (guest, sector) = (shown.value.unit(), host.fact.value.unit());
    if guest >= sector {
        return None;
    }
    let title = format!(
        "{}: the guest has logical sectors of {guest}, the host's storage {sector}",
        file_name(context.stack, id)
    );
    // Read and written whole for each.
    let moved = sector.bytes().checked_mul(2)?;
    Some(
        Finding::new(RULE.code, Severity::Warning, id, title)
            .evidence_in(layer.below.first().copied(), &shown.source, format!("logical sector of the guest = {guest}"))
            .evidence(&host.fact.source, format!("logical sector of the host = {sector}"))
            .arithmetic(
                Correlation::new("host sector ÷ guest sector", sector.bytes(), guest).arithmetic()
                    + " guest sectors in each",
            )
            .arithmetic(format!(
                "one write of {}: read {} + write {} = {} bytes moved",
                guest.bytes().grouped(),
                sector.bytes().grouped(),
                sector.bytes().grouped(),
                moved.grouped()
            ))
            .note("what it costs depends on how many such requests the guest sends; whole sectors are not affected")
            .note("such a write is not atomic: a power failure can damage the neighbours in the same host sector")
            .help(advice(layer, sector)),
    )
}

fn physical(context: &Context<'_>, id: LayerId, layer: &Layer) -> Option<Finding> {
    let shown = layer.bytes(Key::GuestPhysicalSector)?;
    let host = largest(context, id, GridRole::PhysicalSector)?;
    let sector = host.fact.value.unit();
    if shown.value >= sector.bytes() {
        return None;
    }
    let file = file_name(context.stack, id);
    let title = format!(
        "{file}: the guest is told physical sectors of {}, the host has {sector}",
        shown.value
    );
    Some(
        Finding::new(RULE.code, Severity::Note, id, title)
            .evidence_in(layer.below.first().copied(), &shown.source,
                format!("physical sector shown to the guest = {}", shown.value),
            )
            .evidence(
                &host.fact.source,
                format!("physical sector of the host = {sector}"),
            )
            .arithmetic(format!(
                "{} < {}",
                shown.value.grouped(),
                sector.bytes().grouped()
            ))
            .note("the guest's tools see no reason to align to more than that, and databases write logs in such pieces")
            .note("SQL Server logs that were made at 512 are written slowly from then on: read `straddle explain STR406` first (trace flag 1800)")
            .help(format!(
                "machine off: Set-VHD -Path {file} -PhysicalSectorSizeBytes 4096"
            )),
    )
}

fn advice(layer: &Layer, sector: Unit) -> String {
    match layer.format.as_deref() {
        Some("vhd" | "vhdx") => format!(
            "new disks: New-VHD -Path NEW.vhdx -LogicalSectorSizeBytes {} …; this one: keep the guest to requests of whole {sector}",
            sector.get()
        ),
        _ => format!(
            "new disks: <blockio logical_block_size='{0}' physical_block_size='{0}'/>; this one: physical_block_size='{0}'",
            sector.get()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::{GridRole, Key, LayerId, LayerKind};

    fn guest(host: u64, logical: u64) -> (Lab, LayerId) {
        let mut lab = Lab::new();
        let disk = lab.disk(4096);
        lab.stack.layer_mut(disk).grids.clear();
        lab.grid(disk, GridRole::LogicalSector, host);
        lab.grid(disk, GridRole::PhysicalSector, 4096);
        let file = lab.file(disk, &[(0, 1 << 30, 1 << 20)]);
        let id = lab.upper(LayerKind::Container, "vhdx", file, 0);
        lab.grid(id, GridRole::LogicalSector, logical);
        (lab, id)
    }

    #[test]
    fn half_a_kibibyte_on_4kn() {
        let (lab, _) = guest(4096, 512);
        let found = lab.one(
            &RULE,
            Severity::Warning,
            "4,096 ÷ 512 = 8 guest sectors in each",
        );
        assert_eq!(
            found.arithmetic[1],
            "one write of 512: read 4,096 + write 4,096 = 8,192 bytes moved"
        );
    }

    #[test]
    fn a_guest_that_is_not_told_the_physical_sector() {
        let (mut lab, id) = guest(512, 512);
        lab.bytes(id, Key::GuestPhysicalSector, 512);
        lab.one(&RULE, Severity::Note, "512 < 4,096");
    }

    #[test]
    fn the_same_sectors_are_silent() {
        let (mut lab, id) = guest(4096, 4096);
        lab.bytes(id, Key::GuestPhysicalSector, 4096);
        lab.none(&RULE);
        let (mut lab, id) = guest(512, 512);
        lab.bytes(id, Key::GuestPhysicalSector, 4096);
        lab.none(&RULE);
    }

    #[test]
    fn a_parent_is_not_the_host() {
        let (mut lab, base) = guest(512, 4096);
        let disk = lab.stack.roots().next().expect("a disk");
        let file = lab.file(disk, &[(0, 1 << 30, 2 << 30)]);
        let child = lab.blocks("vhdx", &[file, base], 1 << 21);
        lab.grid(child, GridRole::LogicalSector, 512);
        lab.none(&RULE);
    }
}
