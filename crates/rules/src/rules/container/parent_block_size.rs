use straddle_geometry::{Bytes, Unit};
use straddle_stack::{GridRole, Key, Layer, LayerId, LayerKind};

use crate::context::Findings;
use crate::repair::CONVERTED;
use crate::shared::virtual_disk::{file_name, parent};
use crate::wording::Correlation;
use crate::{Context, Finding, Page, Repair, RepairKind, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::PARENT_BLOCK_SIZE,
    name: "parent-block-size",
    summary: "virtual disk and its parent have different block sizes",
    status: Status::Stable,
    repair: Repair::ByOr(&[RepairKind::Image], CONVERTED),
    page: Page {
        checks: "Whether a differencing disk or overlay has blocks (clusters, grains) of another size than the disk it rests on.",
        why: "With larger blocks than the parent's, the first write to a block copies the rest of it from several blocks of the parent, \
              which may lie anywhere; each is a read of its own. With smaller blocks, every write cuts a piece out of a parent's block, so \
              a later read of that block is split between both files, into up to as many pieces as small blocks fit. VHD and VHDX do not \
              copy: they keep a bitmap of the sectors that are here, and a large block costs space and mixed reads instead.",
        evidence: "Block sizes from the headers of both files. How often it happens depends on what the guest writes, so there is no price; what \
                   the places of the blocks cost on the host's storage is priced by itself, for each file.",
        example: "An overlay with clusters of 2 MiB over a base with 64 KiB: 2,097,152 ÷ 65,536 = 32 clusters of the base are read when the guest \
                  writes 4 KiB for the first time, and 2 MiB are written.",
        fix: "Make the overlay with the base's size: `qemu-img create -f qcow2 -b BASE -F qcow2 -o cluster_size=… NEW`, `New-VHD \
              -Differencing -ParentPath BASE -Path NEW -BlockSizeBytes …`; an existing one by `qemu-img convert -B BASE -F qcow2 -O qcow2 -o \
              cluster_size=… OLD NEW`. With `extended_l2=on` only a 32nd of a cluster is copied.",
        fix_safety: "Convert while the machine is off, into a new file, and compare (`qemu-img compare OLD NEW`) before the old one goes. \
                     Snapshots inside the file are not converted.",
        references: &[
            "QEMU docs/interop/qcow2.txt: cluster allocation, extended L2 entries",
            "Microsoft MS-VHDX 2.5.1 BAT: payload blocks, sector bitmap blocks",
        ],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer) in context.of_kind(LayerKind::Container) {
        let Some(base) = parent(context.stack, id) else {
            continue;
        };
        let below = context.stack.layer(base);
        let (Some(own), Some(theirs)) = (
            layer.grid(GridRole::ContainerBlock),
            below.grid(GridRole::ContainerBlock),
        ) else {
            continue;
        };
        let (block, parents) = (own.value.unit(), theirs.value.unit());
        if block == parents {
            continue;
        }
        let title = format!(
            "{}: blocks of {block} over a parent with blocks of {parents}",
            file_name(context.stack, id)
        );
        let finding = Finding::new(RULE.code, Severity::Note, id, title)
            .evidence_in(
                layer.below.first().copied(),
                &own.source,
                format!("block = {block}"),
            )
            .evidence_in(
                below.below.first().copied(),
                &theirs.source,
                format!("block of the parent = {parents}"),
            );
        let finding = if block > parents {
            larger(finding, layer, block, parents)
        } else {
            finding
                .arithmetic(
                    Correlation::new("parent's block ÷ block", parents.bytes(), block).arithmetic()
                        + " blocks here in each of the parent's",
                )
                .note("what is written here cuts pieces out of the parent's blocks: a read across them is split between the files")
        };
        findings.push(finding.help(advice(context, base, layer, id, parents)));
    }
}

fn larger(finding: Finding, layer: &Layer, block: Unit, parents: Unit) -> Finding {
    let ratio = Correlation::new("block ÷ parent's block", block.bytes(), parents).arithmetic();
    let keeps_bitmap = matches!(layer.format.as_deref(), Some("vhd" | "vhdx"));
    let finding = finding.arithmetic(ratio + " of the parent's blocks in each here");
    if keeps_bitmap {
        return finding
            .note("the first sector that is written takes a whole block of the file; nothing is copied, the rest is still read from the parent");
    }
    if let Some(part) = layer.bytes(Key::SubclusterSize) {
        return finding
            .evidence_in(layer.below.first().copied(), &part.source, format!("subcluster = {}", part.value))
            .note(format!(
                "only subclusters of {} are copied: the first write to one costs little more than itself",
                part.value
            ));
    }
    let written = Bytes::new(4096);
    let rest = block.bytes().checked_sub(written).unwrap_or(Bytes::ZERO);
    finding
        .arithmetic(format!(
            "first write of 4,096 bytes: read {} from the parent, write {} here",
            rest.grouped(),
            block.bytes().grouped()
        ))
        .note("the parent's blocks may lie anywhere: as many reads, unless they are neighbours")
}

fn advice(
    context: &Context<'_>,
    base: LayerId,
    layer: &Layer,
    id: LayerId,
    parents: Unit,
) -> String {
    let (file, base) = (file_name(context.stack, id), file_name(context.stack, base));
    // As recorded: a relative name counts from the folder of the disk, where the new one will be too.
    let base = layer.text(Key::Parent).unwrap_or(base);
    match layer.format.as_deref() {
        Some("vhd" | "vhdx") => format!(
            "new differencing disks: New-VHD -Differencing -ParentPath {base} -BlockSizeBytes {} …",
            parents.get()
        ),
        Some(format @ "qcow2") => format!(
            "qemu-img convert -O {format} -B {base} -F {format} -o cluster_size={} {file} NEW.{format}",
            parents.get()
        ),
        _ => "merge the two, and make new ones with the block size of the base".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::{Key, LayerId};

    fn overlay(format: &'static str, block: u64, base: u64) -> (Lab, LayerId) {
        let mut lab = Lab::new();
        let disk = lab.disk(4096);
        let below = lab.blocks(format, &[disk], base);
        let id = lab.blocks(format, &[disk, below], block);
        (lab, id)
    }

    #[test]
    fn a_large_block_copies_many_small_ones() {
        let (lab, _) = overlay("qcow2", 2 << 20, 65_536);
        let found = lab.one(
            &RULE,
            Severity::Note,
            "2,097,152 ÷ 65,536 = 32 of the parent's blocks in each here",
        );
        assert_eq!(
            found.arithmetic[1],
            "first write of 4,096 bytes: read 2,093,056 from the parent, write 2,097,152 here"
        );
    }

    #[test]
    fn bitmaps_and_subclusters_copy_less() {
        let (lab, _) = overlay("vhdx", 32 << 20, 1 << 20);
        assert_eq!(lab.findings(&RULE)[0].arithmetic.len(), 1);
        let (mut lab, id) = overlay("qcow2", 131_072, 65_536);
        lab.bytes(id, Key::SubclusterSize, 4096);
        assert_eq!(lab.findings(&RULE)[0].arithmetic.len(), 1);
    }

    #[test]
    fn small_blocks_cut_large_ones() {
        let (lab, _) = overlay("qcow2", 65_536, 2 << 20);
        lab.one(
            &RULE,
            Severity::Note,
            "2,097,152 ÷ 65,536 = 32 blocks here in each of the parent's",
        );
    }

    #[test]
    fn equal_blocks_and_raw_parents_are_silent() {
        let (lab, _) = overlay("qcow2", 65_536, 65_536);
        lab.none(&RULE);
        let mut lab = Lab::new();
        let disk = lab.disk(4096);
        lab.blocks("qcow2", &[disk, disk], 65_536);
        lab.none(&RULE);
    }
}
