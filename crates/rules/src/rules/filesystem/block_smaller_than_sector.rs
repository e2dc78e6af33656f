use straddle_stack::{GridRole, LayerKind, Seen};

use crate::context::{Findings, is_idle};
use crate::wording::Correlation;
use crate::{Context, Finding, Page, Prices, Repair, RepairKind, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::BLOCK_SMALLER_THAN_SECTOR,
    name: "block-smaller-than-sector",
    summary: "filesystem's blocks are smaller than the physical sector",
    status: Status::Stable,
    repair: Repair::By(&[RepairKind::Filesystem]),
    page: Page {
        checks: "Whether a filesystem's block or cluster is smaller than the physical sector below it: 512-byte to 2 KiB blocks on a 4K disk.",
        why: "A block written alone always costs a read-modify-write of its sector. And files may start inside a sector, so that even \
              requests of 4 KiB and more cover sectors in part at both ends, although partition and filesystem start on one.",
        evidence: "The block or cluster size from the superblock, the physical sector from sysfs, a flag, or assumed for an image.",
        example: "1 KiB blocks on 4 KiB sectors: 4,096 ÷ 1,024 = 4 places for a file to begin, 3 of them inside a sector. A 4 KiB write there \
                  covers two sectors in part: two reads and two writes instead of one write.",
        fix: "Reformat with blocks of 4 KiB (`mkfs.ext4 -b 4096 DEVICE`, `mkfs.fat -s 8 DEVICE`). mkfs.ext4 chooses 1 KiB for volumes below 512 MiB \
              unless told otherwise.",
        fix_safety: "The block size cannot be changed in place: copy the data away and back. Small boot volumes are not worth it.",
        references: &[
            "mke2fs.conf(5), blocksize",
            "https://learn.microsoft.com/en-us/troubleshoot/windows-server/backup-and-storage/support-policy-4k-sector-hard-drives",
        ],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer) in context.of_kind(LayerKind::Filesystem) {
        let Some(block) = layer.grid(GridRole::AllocationUnit) else {
            continue;
        };
        // STR613 speaks of ZFS, member by member.
        if crate::shared::vdev_sector::is_zfs(layer) {
            continue;
        }
        let step = block.value.unit();
        let below = context.stack.only_below(id);
        for grid in context.below(id, GridRole::PhysicalSector) {
            let Seen::Uniform(seen) = grid.seen else {
                continue;
            };
            if step >= seen.unit() {
                continue;
            }
            let prices = Prices::anywhere(grid.role, seen, step, &context.options.io);
            let title = format!(
                "{}: blocks of {step} are smaller than the physical sector of {}",
                layer.name,
                seen.unit()
            );
            let finding = Finding::priced(RULE.code, id, title, prices)
                .evidence(&block.source, format!("block = {step}"))
                .evidence(
                    &grid.fact.source,
                    format!("physical sector = {}", seen.unit()),
                )
                .arithmetic(
                    Correlation::new("sector ÷ block", seen.unit().bytes(), step).arithmetic()
                        + " places for a file to begin in each sector",
                )
                .help("reformat with blocks of 4 KiB when the volume is worth it")
                .at_most(
                    Severity::Warning,
                    "a mean over all places where a file may begin; yours may lie better",
                );
            let idle = below.is_some_and(|below| is_idle(context.stack.layer(below)));
            findings.push(if idle {
                finding.at_most(
                    Severity::Note,
                    "it is a partition that only a boot loader or an installer uses",
                )
            } else {
                finding
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;

    #[test]
    fn blocks_of_1_kib_on_4_kib_sectors() {
        let mut lab = Lab::new();
        lab.io(&[4096]);
        let disk = lab.disk(4096);
        lab.filesystem("ext", disk, 1024);
        let finding = lab.one(
            &RULE,
            Severity::Warning,
            "4,096 ÷ 1,024 = 4 places for a file to begin in each sector",
        );
        let row = finding.prices.expect("priced").rows[0];
        assert_eq!(row.straddling.to_string(), "75%");
        // One place costs one write, three cost two reads and two writes: (1 + 3 × 4) ÷ 4 = 3.25.
        assert_eq!(row.write_now.to_string(), "325%");
    }

    #[test]
    fn blocks_of_a_sector_are_silent() {
        let mut lab = Lab::new();
        let disk = lab.disk(4096);
        lab.filesystem("ext", disk, 4096);
        let old = lab.disk(512);
        lab.filesystem("ext", old, 1024);
        lab.none(&RULE);
    }
}
