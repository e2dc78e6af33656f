use straddle_geometry::{Bytes, both_ways};
use straddle_stack::{GridRole, Key, LayerKind, Seen};

use crate::context::Findings;
use crate::shared::start::say_what_is_free;
use crate::wording::{division, with_article};
use crate::{Context, Finding, Page, Repair, RepairKind, Rule, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::CLUSTER_HEAP,
    name: "cluster-heap",
    summary: "clusters of a FAT or exFAT volume are misaligned although its partition is aligned",
    status: Status::Stable,
    repair: Repair::By(&[RepairKind::Filesystem]),
    page: Page {
        checks: "Whether the first cluster of a FAT12/16/32 or exFAT volume lies on a physical sector, indirection unit and stripe unit. In \
                 these formats the clusters begin after the allocation tables, whose length depends on the size of the volume.",
        why: "All file data is in clusters, so the start of the clusters is what matters, not that of the partition. A perfectly placed \
              partition with 32 reserved sectors and tables of an odd length has all its data misaligned.",
        evidence: "The boot sector: reserved sectors, number and length of the tables, root directory; exFAT says the place outright \
                   (`ClusterHeapOffset`).",
        example: "Partition at 1 MiB, 1 reserved sector, two tables of 20 sectors, 32 sectors of root directory: 73 × 512 = 37,376 = 9 × 4,096 \
                  + 512. Every 4 KiB write then covers two physical sectors in part.",
        fix: "Reformat with a tool that aligns the heap: `mkfs.fat -F 32 DEVICE` does so unless told not to (-a), and -R sets the \
              reserved sectors; `mkfs.exfat -b 1M DEVICE` sets the boundary. SD cards are best formatted by the SD Association's tool.",
        fix_safety: "Formatting destroys the contents: copy them away and compare before and after.",
        references: &[
            "Microsoft FAT specification (fatgen103): first data sector",
            "Microsoft exFAT specification, 3.1.7 ClusterHeapOffset",
            "mkfs.fat(8), -a and -R",
        ],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer) in context.of_kind(LayerKind::Filesystem) {
        let Some(heap) = layer.bytes(Key::ClusterHeapOffset) else {
            continue;
        };
        for role in [
            GridRole::PhysicalSector,
            GridRole::IndirectionUnit,
            GridRole::StripeUnit,
        ] {
            for grid in context.below(id, role) {
                let Seen::Uniform(seen) = grid.seen else {
                    continue;
                };
                // Where the volume's own start is off, that is the finding.
                if !seen.contains(Bytes::ZERO) || seen.contains(heap.value) {
                    continue;
                }
                let prices = context.prices_from(grid, heap.value);
                let title = format!(
                    "{}: the clusters start inside {} of {}",
                    layer.name,
                    with_article(role),
                    seen.unit()
                );
                let finding = Finding::priced(RULE.code, id, title, prices)
                    .evidence(
                        &heap.source,
                        format!("first cluster at {}", both_ways(heap.value)),
                    )
                    .evidence(&grid.fact.source, format!("{} = {}", role.name(), seen.unit()))
                    .arithmetic(division(heap.value, seen))
                    .help("reformat with aligned clusters (mkfs.fat without -a, mkfs.exfat -b 1M); moving the partition only moves the fault");
                findings.push(say_what_is_free(finding));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::Key;

    fn fat(sector: u64, heap: u64) -> Lab {
        let mut lab = Lab::new();
        let disk = lab.disk(4096);
        let partition = lab.partition(disk, sector);
        let fs = lab.filesystem("fat", partition, 4096);
        lab.bytes(fs, Key::ClusterHeapOffset, heap);
        lab
    }

    #[test]
    fn tables_of_odd_length_push_the_clusters_off() {
        fat(2048, 37_376).one(&RULE, Severity::Error, "37,376 = 9 × 4,096 + 512");
    }

    #[test]
    fn aligned_heaps_and_misaligned_partitions_are_silent() {
        fat(2048, 40_960).none(&RULE);
        fat(63, 37_376).none(&RULE);
    }
}
