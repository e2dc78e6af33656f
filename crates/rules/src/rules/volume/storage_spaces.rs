use straddle_stack::{Fact, GridRole, Key, Layer, LayerId, LayerKind, Stack};

use crate::context::Findings;
use crate::wording::Correlation;
use crate::{Context, Finding, Page, Repair, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::STORAGE_SPACES,
    name: "storage-spaces",
    summary: "interleave and columns of a storage space are unknown, or its full stripe does not fit the allocation unit",
    status: Status::Stable,
    repair: Repair::None(
        "interleave and columns of a storage space are set when it is made: New-VirtualDisk -Interleave -NumberOfColumns",
    ),
    page: Page {
        checks: "For disks of a pool of Windows' Storage Spaces, and for its spaces: whether interleave, columns and resiliency are known at all. For spaces with \
                 parity: whether the allocation unit of the filesystem is a whole number of full stripes (interleave × columns of data).",
        why: "A space with parity writes whole rows of its interleave without reading; anything less goes through its journal and cache and is written \
              again later. With the defaults of Windows (256 KiB in three columns, NTFS clusters of 4 KiB) no write of one allocation unit is ever a whole \
              row, which is why such spaces are known for 30 MB/s. Without interleave and columns neither that nor anything else can be said about \
              the disks below.",
        evidence: "The header of the pool on the disk and its database, where this can be read; `Get-VirtualDisk` where it was captured; the allocation \
                   unit from the filesystem.",
        example: "Parity over 3 columns with an interleave of 32 KiB: 2 × 32,768 = 65,536. With an allocation unit of 64 KiB: 65,536 ÷ 65,536 = 1, each \
                  cluster is a whole row. With the default of 256 KiB: 65,536 ÷ 524,288 = 0.125.",
        fix: "Ask Windows: `Get-VirtualDisk | Select-Object FriendlyName, ResiliencySettingName, NumberOfColumns, Interleave`. For spaces with parity that are re-created: `New-VirtualDisk … -ResiliencySettingName Parity -NumberOfColumns 3 -Interleave 32KB`, formatted with 64 KiB.",
        fix_safety: "Interleave and columns of a space cannot be changed: make another in the same pool, copy, verify, and remove the old one. Check that the \
                     pool has room for both.",
        references: &[
            "Microsoft, Get-VirtualDisk, New-VirtualDisk: Interleave, NumberOfColumns",
            "Microsoft, Storage Spaces Frequently Asked Questions: columns and interleave",
        ],
    },
    check,
};

const COMMAND: &str = "Get-VirtualDisk | Select-Object FriendlyName, ResiliencySettingName, NumberOfColumns, Interleave";
/// What a member of a pool is called on its layer.
const MEMBER: &str = "Storage Spaces disk";

fn check(context: &Context<'_>, findings: &mut Findings) {
    unknown(context, findings);
    unknown_spaces(context, findings);
    for (id, layer) in context.of_kind(LayerKind::Filesystem) {
        let Some(cluster) = layer.grid(GridRole::AllocationUnit) else {
            continue;
        };
        for grid in context.below(id, GridRole::FullStripe) {
            let space = context.stack.layer(grid.layer);
            let (full, size) = (grid.fact.value.unit(), cluster.value.unit());
            if !is_space(space) || size.bytes().is_multiple_of(full) {
                continue;
            }
            let line = Correlation::new("allocation unit ÷ full stripe", size.bytes(), full);
            let title = format!(
                "{}: allocation units of {size} are no whole full stripes of {full} of the space {}",
                layer.name, space.name
            );
            findings.push(
                Finding::new(RULE.code, Severity::Note, id, title)
                    .evidence(&cluster.source, format!("allocation unit = {size}"))
                    .evidence(&grid.fact.source, format!("full stripe = {full}"))
                    .arithmetic(line.arithmetic())
                    .note("writes of whole full stripes go straight to the disks; smaller ones through the journal of the space, twice")
                    .help("when the space is re-created: New-VirtualDisk … -NumberOfColumns 3 -Interleave 32KB, formatted with an allocation unit of 64 KiB"),
            );
        }
    }
}

/// A space of a pool, as its database or Windows describes it.
fn is_space(layer: &Layer) -> bool {
    layer.format.as_deref() == Some("spaces")
        || layer
            .text(Key::Model)
            .is_some_and(|model| model.contains("Storage Space"))
}

/// Pools of which no space is known.
fn unknown(context: &Context<'_>, findings: &mut Findings) {
    let mut told: Vec<&str> = Vec::new();
    let is_member = |layer: &Layer| layer.text(Key::Holds) == Some(MEMBER);
    for (id, layer) in context.stack.iter().filter(|(_, layer)| is_member(layer)) {
        let pool = layer.text(Key::SetUuid).unwrap_or_default();
        let of_pool = |(_, other): &(LayerId, &Layer)| {
            is_member(other) && other.text(Key::SetUuid) == Some(pool)
        };
        let known = context
            .stack
            .iter()
            .filter(of_pool)
            .any(|(member, _)| holds_known_space(context.stack, member));
        if known || told.contains(&pool) {
            continue;
        }
        told.push(pool);
        let source = layer.attribute(Key::Holds).map_or_else(
            || Fact::derived((), "the partition's contents").source,
            |holds| holds.source.clone(),
        );
        let title = format!(
            "{} belongs to a pool of Storage Spaces whose interleave and columns are not known",
            layer.name
        );
        findings.push(
            Finding::new(RULE.code, Severity::Note, id, title)
                .evidence(&source, "header of the pool")
                .note("what the spaces look like decides which starts and allocation units are good; nothing is said about them here")
                .help(format!("ask Windows, and give what it prints to `straddle check`: {COMMAND}")),
        );
    }
}

/// Spaces that the system shows as disks, of which nothing else is known.
fn unknown_spaces(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer) in context.of_kind(LayerKind::Device) {
        let Some(model) = layer.attribute(Key::Model).filter(|_| is_space(layer)) else {
            continue;
        };
        if layer.grid(GridRole::StripeUnit).is_some() || !layer.below.is_empty() {
            continue;
        }
        let title = format!(
            "{} is a space of Storage Spaces whose interleave and columns are not known",
            layer.name
        );
        findings.push(
            Finding::new(RULE.code, Severity::Note, id, title)
                .evidence(&model.source, "a space")
                .note("what it looks like decides which starts and allocation units are good; nothing is said about the disks below it")
                .help(format!("ask Windows, and give what it prints to `straddle check`: {COMMAND}")),
        );
    }
}

/// True when a space rests on a member, columns and copies between.
fn holds_known_space(stack: &Stack, member: LayerId) -> bool {
    // Columns, copies and the space: three layers at most.
    let mut here = vec![member];
    for _ in 0..4 {
        here = here.iter().flat_map(|id| stack.above(*id)).collect();
        here.sort_unstable();
        here.dedup();
        let known = |id: &LayerId| stack.layer(*id).grid(GridRole::StripeUnit).is_some();
        if here.iter().any(known) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::{MEMBER, RULE};
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::{GridRole, Key, LayerKind};

    fn space(full: u64, cluster: u64) -> Lab {
        let mut lab = Lab::new();
        let disk = lab.disk(512);
        lab.text(disk, Key::Model, "Storage Space");
        lab.grid(disk, GridRole::StripeUnit, full / 2);
        lab.stated(disk, GridRole::FullStripe, full);
        let partition = lab.partition(disk, 2048);
        lab.filesystem("ntfs", partition, cluster);
        lab
    }

    #[test]
    fn an_allocation_unit_is_compared_with_the_full_stripe() {
        space(524_288, 65_536).one(&RULE, Severity::Note, "65,536 ÷ 524,288 = 0.125");
        space(65_536, 65_536).none(&RULE);
        space(65_536, 131_072).none(&RULE);
    }

    #[test]
    fn a_space_that_windows_shows_as_a_disk_is_asked_for() {
        let mut lab = Lab::new();
        let disk = lab.disk(512);
        lab.text(disk, Key::Model, "Msft Storage Space");
        let findings = lab.findings(&RULE);
        assert_eq!(findings.len(), 1);
        assert!(findings[0].help[0].contains("NumberOfColumns, Interleave"));
        lab.grid(disk, GridRole::StripeUnit, 262_144);
        lab.none(&RULE);
        let mut other = Lab::new();
        let disk = other.disk(512);
        other.text(disk, Key::Model, "Msft Virtual Disk");
        other.none(&RULE);
    }

    #[test]
    fn a_pool_of_which_nothing_is_known_is_told_once() {
        let mut lab = Lab::new();
        let disk = lab.disk(512);
        for sector in [2048, 4096] {
            let member = lab.partition(disk, sector);
            lab.text(member, Key::Holds, MEMBER);
            lab.text(member, Key::SetUuid, "11111111");
        }
        let findings = lab.findings(&RULE);
        assert_eq!(findings.len(), 1);
        assert!(findings[0].help[0].contains("Get-VirtualDisk"));
    }

    #[test]
    fn a_pool_with_a_space_that_is_known_is_silent() {
        let mut lab = Lab::new();
        let disk = lab.disk(512);
        let member = lab.partition(disk, 2048);
        lab.text(member, Key::Holds, MEMBER);
        lab.text(member, Key::SetUuid, "11111111");
        let space = lab.upper(LayerKind::Array, "spaces", member, 0);
        lab.grid(space, GridRole::StripeUnit, 262_144);
        lab.none(&RULE);
    }
}
