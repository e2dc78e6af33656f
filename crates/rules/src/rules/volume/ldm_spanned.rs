use straddle_geometry::Map;
use straddle_stack::{Fact, LayerId};

use crate::context::Findings;
use crate::repair::END_TO_END;
use crate::{Context, Finding, Page, Repair, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::LDM_SPANNED,
    name: "ldm-spanned",
    summary: "spanned dynamic volume is concatenated, not striped: a sequential range keeps only one disk busy",
    status: Status::Stable,
    repair: Repair::None(END_TO_END),
    page: Page {
        checks: "Whether a volume of Windows' Logical Disk Manager is spanned over several disks: parts concatenated, not striped.",
        why: "A database file of a few gigabytes on a spanned volume of four disks has the throughput and the queue of one of them, while \
              the others are idle: what is read or written at one time usually lies in one part. The failure of any disk loses the volume. \
              NTFS fills it from the beginning, so the last disk may not be used for years.",
        evidence: "The partitions of the volume's component in the LDM database, and the disks that they lie on.",
        example: "Two parts of 100 GiB: of the addresses 0 to 100 GiB all lie on the first disk. A striped volume has every second 64 KiB on the other.",
        fix: "Where throughput matters, make a striped volume (`create volume stripe disk=1,2` in diskpart), or a RAID 10 below, and restore into it. \
              Where only room matters, this is as good as anything.",
        fix_safety: "A spanned volume cannot be turned into a striped one: it is deleted, and its data come from a backup that was test-restored.",
        references: &[
            "Microsoft, diskpart: create volume stripe, extend",
            "J. May and D. Lee, Disk Partition Alignment Best Practices for SQL Server",
        ],
    },
    check,
};

/// Most parts that are listed.
const MAX: usize = 8;

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer) in context.stack.iter() {
        let (Map::Segments(parts), Some("ldm")) = (&layer.map, layer.format.as_deref()) else {
            continue;
        };
        // A column of a striped volume, or a copy of a mirror, is not where requests come to.
        let is_inner = context
            .stack
            .above(id)
            .any(|above| context.stack.layer(above).format.as_deref() == Some("ldm"));
        let mut disks: Vec<LayerId> = parts
            .iter()
            .filter_map(|part| layer.below.get(part.target).copied())
            .collect();
        disks.sort_unstable();
        disks.dedup();
        if is_inner || disks.len() < 2 {
            continue;
        }
        let title = format!(
            "{} lies on {} disks one after another: they do not share its load",
            layer.name,
            disks.len()
        );
        let said = Fact::derived((), "the records of its partitions");
        let mut finding = Finding::new(RULE.code, Severity::Note, id, title).evidence(
            &said.source,
            format!("{} parts on {} disks", parts.len(), disks.len()),
        );
        for (number, part) in (1..).zip(parts.iter().take(MAX)) {
            let name = layer
                .below
                .get(part.target)
                .map_or("", |disk| context.stack.layer(*disk).name.as_str());
            finding = finding.arithmetic(format!(
                "part {number}: bytes {} to {} of the volume lie on {name}",
                part.upper.start().grouped(),
                part.upper.end().grouped()
            ));
        }
        if parts.len() > MAX {
            finding = finding.arithmetic(format!("and {} more", parts.len() - MAX));
        }
        findings.push(
            finding
                .note("what lies close together shares one disk: its throughput and its queue are those of one")
                .help("where throughput matters, re-create it as a striped volume (diskpart: create volume stripe disk=1,2) and restore into it"),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_geometry::{Bytes, Extent, Map, Segment};
    use straddle_stack::{LayerId, LayerKind};

    fn spanned(lab: &mut Lab, below: &[LayerId], format: &'static str) {
        let pieces = (0_u64..).zip(below).map(|(n, _)| Segment {
            upper: Extent::new(Bytes::mib(n), Bytes::mib(1)).expect("small"),
            target: usize::try_from(n).expect("small"),
            lower: Bytes::mib(1 + 2 * n),
        });
        let map = Map::segments(pieces.collect()).expect("no overlap");
        let id = lab.over(LayerKind::Volume, below, map);
        lab.stack.layer_mut(id).format = Some(format.into());
    }

    #[test]
    fn two_disks_one_after_the_other_are_told() {
        let mut lab = Lab::new();
        let disks = [lab.disk(512), lab.disk(512)];
        spanned(&mut lab, &disks, "ldm");
        let finding = lab.one(
            &RULE,
            Severity::Note,
            "part 2: bytes 1,048,576 to 2,097,152 of the volume lie on sda",
        );
        assert!(finding.title.contains("2 disks"));
    }

    #[test]
    fn one_disk_and_other_volume_managers_are_silent() {
        let mut lab = Lab::new();
        let disk = lab.disk(512);
        spanned(&mut lab, &[disk, disk], "ldm");
        lab.none(&RULE);
        let mut lab = Lab::new();
        let disks = [lab.disk(512), lab.disk(512)];
        spanned(&mut lab, &disks, "lvm2");
        lab.none(&RULE);
    }
}
