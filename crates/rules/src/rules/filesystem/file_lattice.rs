use straddle_stack::{GridRole, Key, LayerKind, Seen};

use crate::context::Findings;
use crate::{Context, Finding, Page, Prices, Repair, RepairKind, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::FILE_LATTICE,
    name: "file-lattice",
    summary: "files may start inside a stripe unit, because the allocation unit is smaller",
    status: Status::Stable,
    repair: Repair::ByOr(
        &[RepairKind::Hints, RepairKind::Filesystem],
        "the cost is a mean over all files: straddle check FILE answers for one of them",
    ),
    page: Page {
        checks: "Whether the filesystem's allocation unit is smaller than the stripe unit and than a request size asked for. Then an aligned \
                 partition does not make aligned requests: a file may begin at any cluster.",
        why: "With 4 KiB clusters on 64 KiB stripe units there are sixteen places for a file to start, and from fifteen of them every 64 \
              KiB request crosses a boundary: a file's pages lie end to end from where the file starts.",
        evidence: "The allocation unit from the superblock and the stripe unit from md, device-mapper or `--stripe-unit`. It is a mean over \
                   all places where a file may begin, not a measurement of your files.",
        example: "4 KiB clusters, 64 KiB stripe units, 64 KiB requests: 15 of 16 places straddle, 93.75%. With 64 KiB clusters there is \
                  one place, and it is on the boundary.",
        fix: "Ask for the file itself: `straddle check FILE` looks at its extents (STR309). For new filesystems that hold databases choose \
              64 KiB clusters (NTFS), or tell ext4 and XFS the stripe unit so that large files begin on one.",
        fix_safety: "Changing the allocation unit means formatting. Copying a file after freeing space may place it better, or worse; \
                     check its extents afterwards.",
        references: &[
            "J. May and D. Lee, Disk Partition Alignment Best Practices for SQL Server: file allocation unit size",
            "mkfs.ext4(8), stride; mkfs.xfs(8), sunit",
        ],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer) in context.of_kind(LayerKind::Filesystem) {
        // Where a file was asked about, its extents answer (STR309); what others may do is beside the point.
        if context
            .stack
            .above(id)
            .any(|above| context.stack.layer(above).kind == LayerKind::File)
        {
            continue;
        }
        // A filesystem that knows the stripe unit begins large files on it.
        let knows = [Key::FsStripeUnit, Key::FsFullStripe]
            .into_iter()
            .any(|key| layer.bytes(key).is_some());
        let Some(cluster) = layer.grid(GridRole::AllocationUnit).filter(|_| !knows) else {
            continue;
        };
        let step = cluster.value.unit();
        for grid in context.below(id, GridRole::StripeUnit) {
            let Seen::Uniform(seen) = grid.seen else {
                continue;
            };
            // A partition that is off itself is reported by itself (STR201), a division with a rest by STR204.
            let on_grid = seen.contains(cluster.value.phase());
            let nested = step < seen.unit() && seen.unit().bytes().is_multiple_of(step);
            let prices = Prices::anywhere(grid.role, seen, step, &context.options.io);
            if !on_grid || !nested || prices.worst().is_zero() {
                continue;
            }
            let lines: Vec<String> = prices
                .rows
                .iter()
                .map(|row| {
                    format!(
                        "{} requests of files that begin at any {step}: {} straddle",
                        row.io, row.straddling
                    )
                })
                .collect();
            let title = format!(
                "{}: files may begin at any {step}, inside a stripe unit of {}",
                layer.name,
                seen.unit()
            );
            let mut finding = Finding::priced(RULE.code, id, title, prices)
                .evidence(&cluster.source, format!("allocation unit = {step}"))
                .evidence(&grid.fact.source, format!("stripe unit = {}", seen.unit()));
            finding.arithmetic = lines;
            findings.push(
                finding
                    .help("straddle check FILE answers for a given file, from its extents")
                    .at_most(
                        Severity::Note,
                        "a mean over all places where a file may begin; yours may all lie well",
                    ),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::{GridRole, Key, LayerId};

    fn lun() -> (Lab, LayerId) {
        let mut lab = Lab::new();
        let disk = lab.disk(512);
        lab.stated(disk, GridRole::StripeUnit, 65_536);
        (lab, disk)
    }

    #[test]
    fn fifteen_of_sixteen_places_straddle() {
        let (mut lab, disk) = lun();
        lab.filesystem("ntfs", disk, 4096);
        let finding = lab.one(
            &RULE,
            Severity::Note,
            "64 KiB requests of files that begin at any 4 KiB: 93.75% straddle",
        );
        assert_eq!(finding.worst_price().to_string(), "93.75%");
    }

    #[test]
    fn large_clusters_and_filesystems_that_know_are_silent() {
        let (mut lab, disk) = lun();
        lab.filesystem("ntfs", disk, 65_536);
        let ext = lab.filesystem("ext", disk, 4096);
        lab.bytes(ext, Key::FsStripeUnit, 65_536);
        lab.none(&RULE);
    }
}
