use straddle_geometry::{Bytes, Map, Unit};
use straddle_stack::{GridRole, Key, Layer, LayerId, LayerKind, Stack};

use crate::context::Findings;
use crate::repair::CONVERTED;
use crate::shared::virtual_disk::{file_name, is_parent};
use crate::wording::Correlation;
use crate::{Context, Finding, Page, Repair, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::DISCARD_GRANULARITY,
    name: "discard-granularity",
    summary: "virtual disk frees space in larger blocks than its guest's filesystem does",
    status: Status::Stable,
    repair: Repair::None(CONVERTED),
    page: Page {
        checks: "Whether a virtual disk that grows (qcow2, dynamic VHDX or VDI) frees space in blocks that are larger than the allocation unit of a \
                 filesystem in it. Fixed, preallocated and raw disks are left out.",
        why: "The file keeps growing although the guest has freed the space: the container frees whole blocks only and drops the rest of a \
              trim, so ranges smaller than a block, and both ends of larger ones, stay allocated. A guest that knows the granularity \
              rounds its ranges itself and sends them again when more around them is free. It does not know: only the machine's \
              configuration can tell it the file's block size.",
        evidence: "The container's block from its header, the filesystem's from its superblock, and one pass over the table to see whether \
                   anything is unallocated. What the machine's configuration says is not in the file.",
        example: "A qcow2 with 64 KiB clusters, ext4 with 4 KiB blocks: 65,536 ÷ 4,096 = 16 blocks must be free side by side, from a boundary of \
                  the cluster on, before anything is freed. With VHDX blocks of 32 MiB it is 8,192.",
        fix: "libvirt: `<driver name='qemu' type='qcow2' discard='unmap'/>` and `<blockio logical_block_size='512' physical_block_size='4096' \
              discard_granularity='65536'/>`. QEMU: `discard_granularity=65536` of the device. Incus sets it since #3922. New VHDX for \
              Linux guests: `New-VHD -BlockSizeBytes 1MB`, and `mkfs.ext4 -G 4096 DEVICE`. VirtualBox: `--nonrotational on --discard on`.",
        fix_safety: "Changing the granularity needs a restart of the machine and moves no data. Then `fstrim -av` once. Trim gives up what deleted \
                     files held: no undelete afterwards.",
        references: &[
            "https://libvirt.org/formatdomain.html: blockio, discard_granularity",
            "https://github.com/lxc/incus/pull/3922",
            "https://github.com/cloud-hypervisor/cloud-hypervisor/pull/7858",
            "https://learn.microsoft.com/en-us/windows-server/virtualization/hyper-v/best-practices-for-running-linux-on-hyper-v: file systems on dynamic VHDX",
        ],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer) in context.of_kind(LayerKind::Container) {
        let frees = matches!(layer.format.as_deref(), Some("qcow2" | "vhdx" | "vdi"));
        if !frees || is_whole(layer) || is_parent(context.stack, id) {
            continue;
        }
        let Some(block) = layer.grid(GridRole::ContainerBlock) else {
            continue;
        };
        let Some((name, unit, source)) = smallest_unit(context.stack, id) else {
            continue;
        };
        let granule = block.value.unit();
        if granule <= unit {
            continue;
        }
        let title = format!(
            "{}: space is freed in blocks of {granule}, {name} in it has units of {unit}",
            file_name(context.stack, id)
        );
        findings.push(
            Finding::new(RULE.code, Severity::Note, id, title)
                .evidence_in(layer.below.first().copied(), &block.source, format!("block = {granule}"))
                .evidence(source, format!("allocation unit = {unit}"))
                .arithmetic(
                    Correlation::new("block ÷ allocation unit", granule.bytes(), unit).arithmetic()
                        + " units must be free side by side before anything is freed",
                )
                .note("the guest does not know unless the machine's configuration says so, which is not in the file")
                .help(advice(layer, granule)),
        );
    }
}

/// True when nothing of it is left to be allocated.
fn is_whole(layer: &Layer) -> bool {
    if !matches!(layer.map, Map::Blocks(_)) || layer.text(Key::Subformat) == Some("fixed") {
        return true;
    }
    layer.survey.as_ref().is_some_and(|survey| {
        [survey.absent, survey.zero, survey.packed, survey.in_parent]
            .iter()
            .all(|part| *part == Bytes::ZERO)
    })
}

/// The filesystem in the disk with the smallest allocation unit; those of disks inside it count there.
fn smallest_unit(stack: &Stack, disk: LayerId) -> Option<(&str, Unit, &straddle_stack::Source)> {
    let filesystems = stack
        .iter()
        .filter(|(_, layer)| layer.kind == LayerKind::Filesystem);
    filesystems
        .filter(|(id, _)| {
            let below = stack.foundations(*id);
            let nearest = below
                .iter()
                .find(|below| stack.layer(**below).kind == LayerKind::Container);
            nearest == Some(&disk)
        })
        .filter_map(|(_, layer)| {
            let unit = layer.grid(GridRole::AllocationUnit)?;
            let name = layer.format.as_deref().unwrap_or(&layer.name);
            Some((name, unit.value.unit(), &unit.source))
        })
        .min_by_key(|(_, unit, _)| *unit)
}

fn advice(layer: &Layer, granule: Unit) -> String {
    let sector = layer
        .grid(GridRole::LogicalSector)
        .map_or(512, |sector| sector.value.unit().get());
    match layer.format.as_deref() {
        Some("vhdx") => {
            "new disks: New-VHD -BlockSizeBytes 1MB; in the guest mkfs.ext4 -G 4096; afterwards Optimize-VHD".to_owned()
        }
        Some("vdi") => {
            "VBoxManage storageattach … --nonrotational on --discard on, then fstrim -av in the guest; the granularity cannot be told"
                .to_owned()
        }
        _ => format!(
            "libvirt: <driver name='qemu' type='qcow2' discard='unmap'/> and <blockio logical_block_size='{sector}' physical_block_size='4096' discard_granularity='{}'/>",
            granule.get()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::{Key, LayerId};

    fn guest(format: &'static str, block: u64, unit: u64) -> (Lab, LayerId) {
        let mut lab = Lab::new();
        let disk = lab.disk(512);
        let id = lab.blocks(format, &[disk], block);
        let part = lab.partition(id, 2048);
        lab.filesystem("ext", part, unit);
        (lab, id)
    }

    #[test]
    fn units_that_must_be_free_together_are_counted() {
        let (lab, _) = guest("qcow2", 65_536, 4096);
        let found = lab.one(
            &RULE,
            Severity::Note,
            "65,536 ÷ 4,096 = 16 units must be free side by side before anything is freed",
        );
        assert!(found.help[0].contains("discard_granularity='65536'"));
    }

    #[test]
    fn a_filesystem_of_a_nested_disk_is_that_disks_matter() {
        let (mut lab, id) = guest("vdi", 1 << 20, 1 << 20);
        let inner = lab.blocks("qcow2", &[id], 65_536);
        lab.filesystem("ext", inner, 4096);
        let found = lab.findings(&RULE);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].layer, inner);
    }

    #[test]
    fn whole_disks_and_large_units_are_silent() {
        let (lab, _) = guest("qcow2", 65_536, 65_536);
        lab.none(&RULE);
        let (mut lab, id) = guest("vhdx", 1 << 25, 4096);
        lab.text(id, Key::Subformat, "fixed");
        lab.none(&RULE);
        let (mut lab, id) = guest("qcow2", 65_536, 4096);
        lab.surveyed(id, 1 << 30, 0, 0);
        lab.none(&RULE);
    }
}
