use straddle_geometry::{Bytes, Grid, Unit};
use straddle_stack::{GridRole, Key, Layer, LayerId};

use crate::context::Findings;
use crate::wording::{division, start_label};
use crate::{Context, Finding, Page, Repair, RepairKind, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::VMFS_START,
    name: "vmfs-start",
    summary: "VMFS partition is aligned to sectors but not to 1 MiB, as versions before 5 made it",
    status: Status::Stable,
    repair: Repair::By(&[RepairKind::Partitions]),
    page: Page {
        checks: "Whether a partition for VMFS starts at a multiple of 1 MiB, where no stripe unit is known below and its start is on the physical sectors. \
                 What is known is judged by STR101 and STR201.",
        why: "Every virtual disk inherits the remainder of the partition's start: VMFS puts its data 17 MiB into the partition and places \
              virtual disks in blocks of 1 to 8 MiB. The VI client of ESX 3 and 4 started at sector 128 (64 KiB), which is aligned to \
              stripe units and array pages up to 64 KiB and to none larger. fdisk and VirtualCenter 1 started at sector 63, aligned to \
              nothing. ESXi 5 and later start at sector 2,048.",
        evidence: "The start and the type of the partition, or the VMFS header in it.",
        example: "Sector 128: 128 × 512 = 65,536 = 0 × 131,072 + 65,536. A 128 KiB request of a guest then always takes two stripe units of 128 KiB.",
        fix: "Make a new datastore on the array (ESXi 5 or later starts it at 1 MiB) and move the virtual machines there with Storage vMotion.",
        fix_safety: "The start cannot be changed in place: making a datastore there erases the datastore. Move everything off it first.",
        references: &[
            "VMware, Recommendations for Aligning VMFS Partitions (2006)",
            "https://blogs.vmware.com/vsphere/2011/08/vsphere-50-storage-features-part-7-gpt.html",
        ],
    },
    check,
};

const MIB: u64 = 1 << 20;
/// Stripe units and pages of arrays that a start may be off.
const PLAUSIBLE: [u64; 4] = [128 << 10, 256 << 10, 512 << 10, MIB];

/// True for a partition that VMFS is in, or whose type says so.
fn is_vmfs(context: &Context<'_>, id: LayerId, layer: &Layer) -> bool {
    let by_type = layer.text(Key::PartitionType).is_some_and(|kind| {
        ["fb", "AA31E02A-400F-11DB-9590-000C2911D1B8"]
            .iter()
            .any(|vmfs| vmfs.eq_ignore_ascii_case(kind))
    });
    let mut above = context.stack.above(id);
    by_type
        || above.any(|above| {
            let format = context.stack.layer(above).format.as_deref();
            format.is_some_and(|format| format.starts_with("vmfs"))
        })
}

/// True for a partition that this rule has something to say about.
pub(crate) fn speaks_of(context: &Context<'_>, id: LayerId, layer: &Layer) -> bool {
    let start = layer
        .placement
        .as_ref()
        .map(|placement| placement.value.start());
    if start.is_none_or(|start| start.get().is_multiple_of(MIB)) || !is_vmfs(context, id, layer) {
        return false;
    }
    let known = context.below(id, GridRole::StripeUnit).next().is_some();
    let off_sectors = context
        .below(id, GridRole::PhysicalSector)
        .any(|grid| match grid.seen {
            straddle_stack::Seen::Uniform(seen) => !seen.contains(Bytes::ZERO),
            straddle_stack::Seen::Pieces(_) => true,
        });
    !known && !off_sectors
}

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer) in context.data_partitions() {
        let Some(placement) = &layer.placement else {
            continue;
        };
        if !speaks_of(context, id, layer) {
            continue;
        }
        let start = placement.value.start();
        let title = format!(
            "{}: VMFS starts at {start}, off every stripe unit and array page larger than {}",
            layer.name,
            Bytes::new(1 << start.get().trailing_zeros())
        );
        let mut finding = Finding::new(RULE.code, Severity::Note, id, title)
            .evidence(&placement.source, start_label(layer, start));
        for unit in PLAUSIBLE.into_iter().filter_map(Unit::new) {
            if !start.is_multiple_of(unit) {
                finding = finding.arithmetic(division(start, Grid::new(unit)));
            }
        }
        findings.push(
            finding
                .note("the array's stripe unit is not known; with --stripe-unit STR201 answers for it, and gives the price")
                .help("new datastores of ESXi 5 and later start at 1 MiB: make one, and move the virtual machines there"),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::{GridRole, Key};

    fn lab(sector: u64, stripe: Option<u64>, kind: &'static str) -> Lab {
        let mut lab = Lab::new();
        let disk = lab.disk(4096);
        if let Some(stripe) = stripe {
            lab.stated(disk, GridRole::StripeUnit, stripe);
        }
        let partition = lab.partition(disk, sector);
        lab.text(partition, Key::PartitionType, kind);
        lab
    }

    #[test]
    fn the_default_of_version_3_is_a_note_with_each_unit_that_it_is_off() {
        let finding =
            lab(128, None, "fb").one(&RULE, Severity::Note, "65,536 = 0 × 131,072 + 65,536");
        assert_eq!(finding.arithmetic.len(), 4);
        assert!(finding.title.ends_with("larger than 64 KiB"));
    }

    #[test]
    fn what_others_judge_and_what_is_right_is_silent() {
        lab(2048, None, "fb").none(&RULE);
        lab(128, Some(131_072), "fb").none(&RULE);
        lab(63, None, "fb").none(&RULE);
        lab(128, None, "83").none(&RULE);
    }
}
