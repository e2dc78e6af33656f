use straddle_stack::GridRole;

use crate::context::Findings;
use crate::repair::CONVERTED;
use crate::shared::guest::{disks_and_grids, holder};
use crate::shared::start::say_what_is_free;
use crate::wording::Correlation;
use crate::{Context, Finding, Page, Repair, RepairKind, Rule, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::CONTAINER_BLOCK_SMALL,
    name: "container-block-small",
    summary: "virtual disk's blocks are smaller than the unit that the storage below rewrites",
    status: Status::Stable,
    repair: Repair::ByOr(&[RepairKind::Image], CONVERTED),
    page: Page {
        checks: "Whether the block (cluster, grain) of a virtual disk is at least the physical sector, indirection unit and thin-provisioning chunk below.",
        why: "Each write of a block rewrites a disk sector that also holds parts of other blocks. Neighbouring blocks may lie anywhere in \
              the file, so a request that is a whole sector to the guest may be assembled from several places.",
        evidence: "The block size from the container's header, and every entry of its table: what lies side by side in spite of its small blocks does not pay, \
                   and the price says so.",
        example: "qcow2 with clusters of 512 bytes on 4 KiB sectors: a 4 KiB write to eight clusters that lie apart rewrites eight sectors, each after \
                  reading it: 16 operations instead of 1.",
        fix: "Convert into larger blocks: `qemu-img convert -O qcow2 -o cluster_size=64k OLD NEW`; for VHDX a block of at least 1 MiB is the \
              rule.",
        fix_safety: "Shut the guest down and convert into a new file; a backing chain must be converted as a whole.",
        references: &[
            "QEMU docs/interop/qcow2.rst: cluster_bits",
            "qemu-img(1): cluster_size",
        ],
    },
    check,
};

const REWRITTEN: [GridRole; 3] = [
    GridRole::PhysicalSector,
    GridRole::IndirectionUnit,
    GridRole::ThinChunk,
];

fn check(context: &Context<'_>, findings: &mut Findings) {
    for disk in disks_and_grids(context, |grid| REWRITTEN.contains(&grid.role)) {
        let Some(block) = context.stack.layer(disk.id).grid(GridRole::ContainerBlock) else {
            continue;
        };
        let unit = disk.grid.fact.value.unit();
        let size = block.value.unit();
        if size >= unit {
            continue;
        }
        let file = holder(context.stack, disk.id);
        let name = disk.grid.role.name();
        let title = format!("blocks of {size} are smaller than the {name} of {unit}");
        let ratio = Correlation::new("grid ÷ block", unit.bytes(), size);
        let finding = Finding::priced(RULE.code, disk.id, title, context.prices(disk.grid))
            .evidence_in(file, &block.source, format!("block = {size}"))
            .evidence(&disk.grid.fact.source, format!("{name} = {unit}"))
            .arithmetic(ratio.arithmetic())
            .help("convert it into larger blocks: qemu-img convert -o cluster_size=64k");
        findings.push(say_what_is_free(finding));
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::{GridRole, LayerKind};

    fn qcow2(cluster: u64, entries: &[u64]) -> Lab {
        let mut lab = Lab::new();
        let disk = lab.disk(4096);
        let file = lab.upper(LayerKind::File, "", disk, 0);
        let container = lab.container("qcow2", file, cluster, entries);
        lab.grid(container, GridRole::ContainerBlock, cluster);
        lab
    }

    #[test]
    fn clusters_that_lie_apart_cost_a_sector_each() {
        // Eight clusters of 512 bytes, each in a sector of its own: 8 writes and 8 reads instead of 1 write.
        let apart: Vec<u64> = (0..8).map(|i| i * 8192).collect();
        let finding = qcow2(512, &apart).one(&RULE, Severity::Error, "4,096 ÷ 512 = 8");
        let at_4k = finding.prices.expect("priced").rows[0];
        assert_eq!(at_4k.write_now.to_string(), "1600%");
    }

    #[test]
    fn clusters_side_by_side_are_a_note() {
        let together: Vec<u64> = (0..64).map(|i| 4096 + i * 512).collect();
        qcow2(512, &together).one(&RULE, Severity::Note, "4,096 ÷ 512 = 8");
    }

    #[test]
    fn usual_clusters_are_silent() {
        qcow2(65_536, &[65_536, 0]).none(&RULE);
    }
}
