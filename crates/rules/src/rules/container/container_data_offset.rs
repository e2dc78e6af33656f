use straddle_geometry::{Bytes, both_ways};
use straddle_stack::{GridRole, Key, Layer, Seen};

use crate::context::Findings;
use crate::repair::CONVERTED;
use crate::shared::guest::{Below, disks_and_grids, fits, holder, is_on, phases};
use crate::shared::pieces::{HARD, off};
use crate::shared::start::say_what_is_free;
use crate::wording::division;
use crate::{Context, Finding, Page, Repair, RepairKind, Rule, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::CONTAINER_DATA_OFFSET,
    name: "container-data-offset",
    summary: "data area of a virtual disk starts misaligned in its own file",
    status: Status::Stable,
    repair: Repair::ByOr(&[RepairKind::Image], CONVERTED),
    page: Page {
        checks: "Whether the data of a virtual disk (VDI, sparse VMDK, qcow2, VHDX, the fixed ones too) begins on the physical sectors, indirection units and \
                 stripe units that the file itself lies on. Blocks of dynamic VHDs, which drift, have a rule of their own (STR401).",
        why: "One wrong number in a header misaligns every aligned request of the guest, because the start of the data decides the phase \
              of every block. qemu-img puts the data of a VDI directly after its table, at 1,024 bytes for small disks; VirtualBox before \
              4.0 rounded to 512 bytes. The guest cannot see it, and moving one of its partitions does not help the others.",
        evidence: "The data offset in the container's header and every entry of its block table; the place of the file on its disk where it is known.",
        example: "A VDI from qemu-img: blocks of 1 MiB at 1,024 + n × 1,048,576. 1,024 = 0 × 4,096 + 1,024, so every block is off by 1 KiB, and a guest \
                  that writes 4 KiB pays 4 operations instead of 1.",
        fix: "Convert into a format or with a program that aligns the data: `qemu-img convert -O qcow2 OLD NEW`, -O vhdx or -O raw; \
              VirtualBox itself (`VBoxManage clonemedium old.vdi new.vdi`, 4.0 and later) begins the data of a new VDI at 1 MiB.",
        fix_safety: "Shut the guest down and convert into a new file; snapshots are not carried over unless they are merged first. Keep the old file until \
                     the guest has started from the new one.",
        references: &[
            "VirtualBox src/VBox/Storage/VDI.cpp: vdiSetupImageDesc, VDI_DATA_ALIGN",
            "QEMU block/vdi.c: vdi_co_do_create",
            "VirtualBox ticket 5582",
        ],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    for disk in disks_and_grids(context, |grid| HARD.contains(&grid.role)) {
        let layer = context.stack.layer(disk.id);
        let unit = disk.grid.fact.value.unit();
        // Blocks that do not fit the grid cannot all be on it (STR404, STR412).
        let block = layer.grid(GridRole::ContainerBlock);
        if block.is_some_and(|block| !fits(block.value.unit(), disk.grid.role, unit)) {
            continue;
        }
        if has_a_rule_of_its_own(layer) || !is_on(&disk.from_file.seen) || is_on(&disk.grid.seen) {
            continue;
        }
        findings.push(finding(context, &disk, layer));
    }
}

/// Dynamic VHDs drift (STR401), and streams of compressed grains are not meant to be written to (STR410).
fn has_a_rule_of_its_own(layer: &Layer) -> bool {
    let block = layer.grid(GridRole::ContainerBlock);
    let stride = layer.bytes(Key::BlockStride);
    let drifts = stride
        .zip(block)
        .is_some_and(|(stride, block)| stride.value > block.value.unit().bytes());
    drifts || layer.text(Key::Subformat) == Some("streamOptimized")
}

fn finding(context: &Context<'_>, disk: &Below<'_>, layer: &Layer) -> Finding {
    let unit = disk.grid.fact.value.unit();
    let file = holder(context.stack, disk.id);
    let name = disk.grid.role.name();
    let format = layer.format.as_deref().unwrap_or("virtual disk");
    let title = format!("data of the {format} begins off the {name} of {unit}");
    let mut finding = Finding::priced(RULE.code, disk.id, title, context.prices(disk.grid));
    let start = layer.bytes(Key::DataOffset);
    if let Some(start) = &start {
        let label = format!("data offset = {}", both_ways(start.value));
        finding = finding.evidence_in(file, &start.source, label);
    }
    finding = finding.evidence(&disk.grid.fact.source, format!("{name} = {unit}"));
    if let (Some(start), Seen::Uniform(grid)) = (start, &disk.from_file.seen)
        && !start.value.is_multiple_of(unit)
    {
        finding = finding.arithmetic(division(start.value, *grid));
    }
    for line in [phases(&disk.grid.seen), off(&disk.grid.seen)]
        .into_iter()
        .flatten()
    {
        finding = finding.arithmetic(line);
    }
    if let Seen::Uniform(grid) = disk.grid.seen {
        let behind = grid.remainder(Bytes::ZERO);
        finding = finding.note(format!(
            "every block is equally far off, so a guest whose partitions begin {} B before a multiple of {unit} would not pay; that helps no one else",
            behind.grouped()
        ));
    }
    say_what_is_free(finding.help("convert it: qemu-img convert -O qcow2, -O vhdx or -O raw"))
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::{Key, LayerKind};

    fn vdi(offset: u64, file_at: u64) -> Lab {
        let mut lab = Lab::new();
        let disk = lab.disk(4096);
        let file = lab.upper(LayerKind::File, "", disk, file_at);
        let entries = [2_u64, 0, 1].map(|n| offset + n * 65_536);
        let container = lab.container("vdi", file, 65_536, &entries);
        lab.bytes(container, Key::DataOffset, offset);
        lab
    }

    #[test]
    fn a_vdi_that_begins_at_1024_is_off_everywhere() {
        let lab = vdi(1024, 1 << 20);
        let finding = lab.one(&RULE, Severity::Error, "1,024 = 0 × 4,096 + 1,024");
        assert_eq!(finding.worst_price().to_string(), "300%");
    }

    #[test]
    fn data_on_boundaries_is_silent() {
        vdi(1 << 20, 1 << 20).none(&RULE);
    }

    #[test]
    fn a_file_that_is_off_itself_is_not_the_containers_fault() {
        vdi(1 << 20, 512).none(&RULE);
    }
}
