use straddle_geometry::Bytes;
use straddle_stack::{AnomalyKind, GridRole, Key, Layer, LayerId, LayerKind, Trust};

use crate::context::Findings;
use crate::repair::FOREIGN_TABLE;
use crate::shared::virtual_disk::{file_name, is_parent};
use crate::{Context, Finding, Page, Repair, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::GPT_FOREIGN_SECTOR_IN_GUEST,
    name: "gpt-foreign-sector-in-guest",
    summary: "partition table in a virtual disk was written for another sector size than the disk presents",
    status: Status::Stable,
    repair: Repair::None(FOREIGN_TABLE),
    page: Page {
        checks: "Whether the partition table in a virtual disk counts in the sectors that the disk shows to its guest: a VHDX of 4,096-byte \
                 sectors that holds a GPT for 512, a VHDX of 512 that was converted from a 4Kn disk, a qcow2 with a table for 4,096 that nothing \
                 but the machine's configuration can show. Disks that are no container are the matter of STR105.",
        why: "The guest finds no partition table: its firmware does not boot, its installer offers an empty disk. A GPT's header is in \
              sector 1, counted in the sectors that it was written for, and the guest looks in sector 1 of those it is shown. Conversion \
              tools copy bytes and keep the table as it is. Hypervisors that take the sector size from the host's storage change it under \
              the guest when the file moves.",
        evidence: "The place of the table's signature in the virtual disk, and the logical sector size: as the container records it (VHDX), or \
                   512, which hypervisors show unless told otherwise.",
        example: "A raw image of a 4Kn disk, `qemu-img convert -O vhdx`: the GPT stands at byte 4,096, and the VHDX records sectors of 512, so the \
                  guest looks at byte 512. Partition 1 at 256 × 4,096 = 1,048,576 would be read as 256 × 512 = 131,072.",
        fix: "Show the guest the sectors of the table: in libvirt `<blockio logical_block_size='4096' physical_block_size='4096'/>`, for \
              QEMU `-device virtio-blk-pci,drive=D,logical_block_size=4096,physical_block_size=4096` (QEMU refuses a logical block that is \
              larger than the physical one), for Cloud Hypervisor its sector size option. VHDX: `New-VHD -Path NEW.vhdx -Dynamic -SizeBytes \
              SIZE -LogicalSectorSizeBytes 4096` (or 512), and copy into it. Or write a new table with the same starts and lengths in bytes; \
              a loop device reads the old one (`losetup --sector-size 4096 --partscan --find --show DISK`, on the raw disk).",
        fix_safety: "Let no partitioner or installer in the guest `repair` or `initialise` the disk: it would write over the table. Keep a \
                     copy of the first and last MiB. A filesystem can be mounted where the device's sector is no larger than its own: one \
                     made with 4,096-byte sectors on a disk with 512, not one made with 512 (XFS with sectsz=512, FAT with 512) on a disk \
                     with 4,096. On Linux that was tried; of Windows it was not verified.",
        references: &[
            "UEFI 2.10, 5.3.2 GPT header: in logical block 1",
            "Microsoft MS-VHDX 2.6.2.4 Logical Sector Size",
            "https://github.com/cloud-hypervisor/cloud-hypervisor/issues/8477",
            "https://github.com/cloud-hypervisor/cloud-hypervisor/pull/8595",
        ],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer) in context.of_kind(LayerKind::Container) {
        if is_parent(context.stack, id) {
            continue;
        }
        let foreign = layer
            .anomalies
            .iter()
            .find(|anomaly| anomaly.kind == AnomalyKind::ForeignSectorSize);
        let file = file_name(context.stack, id);
        if let Some(anomaly) = foreign {
            let title = format!("{file}: {}", anomaly.detail);
            let mut finding = Finding::new(RULE.code, Severity::Error, id, title);
            if let Some(source) = &anomaly.source {
                finding = finding.evidence(source, anomaly.kind.name());
            }
            if let Some(shown) = layer.grid(GridRole::LogicalSector) {
                let label = format!("logical sector = {}", shown.value.unit());
                finding = finding.evidence_in(layer.below.first().copied(), &shown.source, label);
            }
            findings.push(
                finding
                    .note("the guest reads the table with the sectors it is shown, and finds other partitions or none")
                    .help(advice(layer, file))
                    .help("or rewrite the table with the same positions in bytes, on a copy"),
            );
        } else {
            findings.extend(only_assumed(id, layer, file));
        }
    }
}

/// A table for other sectors than hypervisors show, in a disk that does not say what it shows.
fn only_assumed(id: LayerId, layer: &Layer, file: &str) -> Option<Finding> {
    let shown = layer
        .grid(GridRole::LogicalSector)
        .filter(|shown| shown.trust == Trust::Assumed)?;
    let table = layer.bytes(Key::TableSectorSize)?;
    let (sector, guest) = (table.value, shown.value.unit());
    if sector == guest.bytes() || sector == Bytes::ZERO {
        return None;
    }
    let title = format!(
        "{file}: the partition table is for sectors of {sector}; hypervisors show {guest} unless told otherwise"
    );
    Some(
        Finding::new(RULE.code, Severity::Warning, id, title)
            .evidence(&table.source, format!("table for sectors of {sector}"))
            .evidence_in(layer.below.first().copied(), &shown.source, format!("logical sector = {guest}"))
            .arithmetic(format!(
                "LBA 1: byte {} of the table, byte {} for a guest with sectors of {guest}",
                sector.grouped(),
                guest.bytes().grouped()
            ))
            .note("the file does not record the sectors that its guest is shown: the machine's configuration decides")
            .help(format!(
                "libvirt: <blockio logical_block_size='{0}' physical_block_size='{0}'/>; QEMU: -device virtio-blk-pci,logical_block_size={0},physical_block_size={0}",
                sector.get()
            )),
    )
}

fn advice(layer: &Layer, file: &str) -> String {
    let table = layer
        .bytes(Key::TableSectorSize)
        .map_or(4096, |size| size.value.get());
    match layer.format.as_deref() {
        Some("vhdx") => format!(
            "copy it into a VHDX that shows the table's sectors: New-VHD -Path NEW.vhdx -Dynamic -SizeBytes … -LogicalSectorSizeBytes {table}; qemu-img convert -O raw {file} and write that"
        ),
        Some("vhd" | "vdi" | "vmdk") => {
            "this format shows 512-byte sectors only: copy it into a qcow2 or a VHDX whose guest is shown the table's".to_owned()
        }
        _ => format!(
            "libvirt: <blockio logical_block_size='{table}' physical_block_size='{table}'/>"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_geometry::{Grid, Unit};
    use straddle_stack::{AnomalyKind, Fact, GridRole, Key, LayerId, LayerKind};

    fn guest(format: &'static str) -> (Lab, LayerId) {
        let mut lab = Lab::new();
        let disk = lab.disk(512);
        let file = lab.file(disk, &[(0, 1 << 30, 1 << 20)]);
        let id = lab.upper(LayerKind::Container, format, file, 0);
        (lab, id)
    }

    #[test]
    fn a_foreign_table_in_a_guest_is_an_error_here_and_not_for_the_disk() {
        let (mut lab, id) = guest("vhdx");
        lab.grid(id, GridRole::LogicalSector, 512);
        lab.odd(id, AnomalyKind::ForeignSectorSize, "GPT for 4,096");
        let found = lab.findings(&RULE);
        assert_eq!(found[0].severity, Severity::Error);
        assert!(found[0].title.ends_with(": GPT for 4,096"), "{found:#?}");
        lab.none(&crate::rules::partition::foreign_sector_size::RULE);
    }

    #[test]
    fn a_table_for_large_sectors_where_nothing_says_so() {
        let (mut lab, id) = guest("qcow2");
        let shown = Fact::assumed(Grid::new(Unit::new(512).expect("512")), "as usual");
        lab.stack
            .layer_mut(id)
            .add_grid(GridRole::LogicalSector, shown);
        lab.bytes(id, Key::TableSectorSize, 4096);
        lab.one(
            &RULE,
            Severity::Warning,
            "LBA 1: byte 4,096 of the table, byte 512 for a guest with sectors of 512 B",
        );
    }

    #[test]
    fn tables_for_the_sectors_shown_and_bare_disks_are_silent() {
        let (mut lab, id) = guest("vhdx");
        lab.grid(id, GridRole::LogicalSector, 4096);
        lab.bytes(id, Key::TableSectorSize, 4096);
        let disk = lab.disk(512);
        lab.odd(disk, AnomalyKind::ForeignSectorSize, "bare");
        lab.none(&RULE);
    }
}
