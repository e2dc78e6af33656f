use straddle_stack::{GridRole, Key};

use crate::context::Findings;
use crate::repair::CONVERTED;
use crate::shared::guest::{disks_and_grids, holder, is_on, phases};
use crate::shared::pieces::{HARD, off};
use crate::shared::start::say_what_is_free;
use crate::{Context, Finding, Page, Repair, RepairKind, Rule, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::VHD_DRIFT,
    name: "vhd-drift",
    summary: "blocks of a dynamic VHD drift out of alignment with the storage below",
    status: Status::Stable,
    repair: Repair::ByOr(&[RepairKind::Image], CONVERTED),
    page: Page {
        checks: "Whether the blocks of a dynamic or differencing VHD lie on the physical sectors, indirection units and stripe units below. Every \
                 block is looked at, not the first alone.",
        why: "Seven blocks of eight cannot be on 4 KiB, wherever the guest's partitions start: the guest writes 4 KiB that it believes \
              aligned, and the host's disk rewrites two sectors. A dynamic VHD puts a bitmap of 512 bytes in front of each block of 2 MiB, \
              so every block starts 512 bytes further off than the one before it. Windows Server 2012 and later pad the bitmap of a new \
              VHD so that blocks are on 4 KiB; a VHD created without the padding keeps getting misaligned blocks.",
        evidence: "The block allocation table, entry by entry, and the place of the file on its disk where it is known. The distance between blocks is \
                   block size plus bitmap, from the dynamic header.",
        example: "Blocks at 2,560 + i × (2,097,152 + 512): modulo 4,096 they start at 2,560, 3,072, 3,584, 0, 512, … One block of \
                  eight is on the grid. A guest that writes 4 KiB pays 4 operations instead of 1 in seven blocks of eight: (7 × 4 + 1) ÷ 8 = 3.625, \
                  262.5% more.",
        fix: "Convert to VHDX, whose blocks lie on 1 MiB by definition (`Convert-VHD -Path old.vhd -DestinationPath new.vhdx`, or \
              `qemu-img convert -O vhdx old.vhd new.vhdx`), or to a fixed VHD where the platform takes no VHDX (Azure).",
        fix_safety: "Shut the guest down. A differencing VHD must be merged first; saved states and snapshots refer to the old file. Keep it until the \
                     guest has started from the new one.",
        references: &[
            "Virtual Hard Disk Image Format Specification 1.0: Block Allocation Table and Data Blocks",
            "Microsoft, Msvm_VirtualHardDiskState.Alignment; Get-VHD: Alignment",
        ],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    for disk in disks_and_grids(context, |grid| HARD.contains(&grid.role)) {
        let layer = context.stack.layer(disk.id);
        let block = layer.grid(GridRole::ContainerBlock);
        let (Some(stride), Some(block)) = (layer.bytes(Key::BlockStride), block) else {
            continue;
        };
        let unit = disk.grid.fact.value.unit();
        let drifts = layer.format.as_deref() == Some("vhd")
            && !stride.value.is_multiple_of(unit)
            && stride.value > block.value.unit().bytes();
        if !drifts || is_on(&disk.grid.seen) {
            continue;
        }
        let file = holder(context.stack, disk.id);
        let name = disk.grid.role.name();
        let title = format!("blocks of the VHD drift off the {name} of {unit}");
        let bitmap = stride
            .value
            .checked_sub(block.value.unit().bytes())
            .unwrap_or(stride.value);
        let mut finding = Finding::priced(RULE.code, disk.id, title, context.prices(disk.grid))
            .evidence_in(
                file,
                &block.source,
                format!("block size = {}", block.value.unit()),
            )
            .evidence(&disk.grid.fact.source, format!("{name} = {unit}"))
            .arithmetic(format!(
                "distance of two blocks: {} + {} (bitmap) = {} = {} × {} + {}",
                block.value.unit().bytes().grouped(),
                bitmap.grouped(),
                stride.value.grouped(),
                stride.value.div_rem(unit).0,
                unit.bytes().grouped(),
                stride.value.div_rem(unit).1.grouped()
            ));
        if let Some(line) = phases(&disk.grid.seen) {
            finding = finding.arithmetic(line);
        }
        if let Some(line) = off(&disk.grid.seen) {
            finding = finding.arithmetic(line);
        }
        findings.push(say_what_is_free(finding.help(
            "convert it to VHDX, or to a fixed VHD: qemu-img convert -O vhdx, or Convert-VHD",
        )));
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::{GridRole, Key, LayerKind};

    /// Sixteen blocks of 64 KiB, each behind a bitmap of `bitmap` bytes, the first at `start`.
    fn vhd(start: u64, bitmap: u64) -> Lab {
        let mut lab = Lab::new();
        let disk = lab.disk(4096);
        let file = lab.upper(LayerKind::File, "", disk, 0);
        let entries: Vec<u64> = (0..16).map(|i| start + i * (65_536 + bitmap)).collect();
        let container = lab.container("vhd", file, 65_536, &entries);
        lab.grid(container, GridRole::ContainerBlock, 65_536);
        lab.bytes(container, Key::BlockStride, 65_536 + bitmap);
        lab
    }

    #[test]
    fn seven_blocks_of_eight_pay() {
        let finding = vhd(2560, 512).one(
            &RULE,
            Severity::Error,
            "distance of two blocks: 65,536 + 512 (bitmap) = 66,048 = 16 × 4,096 + 512",
        );
        // (7 × 4 + 1) ÷ 8 − 1.
        assert_eq!(finding.worst_price().to_string(), "262.5%");
    }

    #[test]
    fn padded_bitmaps_are_silent() {
        vhd(4096, 4096).none(&RULE);
    }
}
