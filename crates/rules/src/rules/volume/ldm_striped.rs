use straddle_geometry::{Bytes, Map, Unit, both_ways};
use straddle_stack::{Fact, GridRole, Layer, LayerId, Seen, SeenGrid};

use crate::context::{Findings, is_believable};
use crate::repair::WINDOWS_DYNAMIC;
use crate::shared::plausible::{is_single_drive, plausible};
use crate::wording::{Correlation, division};
use crate::{Context, Finding, Page, Prices, Repair, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::LDM_STRIPED,
    name: "ldm-striped",
    summary: "columns of a striped dynamic volume start inside a stripe unit of the arrays below",
    status: Status::Stable,
    repair: Repair::None(WINDOWS_DYNAMIC),
    page: Page {
        checks: "Where the columns of a striped volume of Windows' Logical Disk Manager start on their disks, against the stripe unit of the \
                 array that such a disk may be: where it is known, by it; where it is not, by 16, 32, 64, 128, 256, 512 KiB and 1 MiB, as STR203 \
                 does for partitions. Physical sectors are the business of STR206.",
        why: "What LDM sends to one disk as a single request becomes two: every unit of 64 KiB crosses a boundary of the LUN or virtual \
              disk below. LDM's stripe unit is 64 KiB and cannot be chosen, and dynamic disks made before Windows Server 2008 start their \
              data at sector 63. A 64 KiB allocation unit fits the unit of LDM exactly, and inherits that.",
        evidence: "The private header of each disk (start of its data area), the records of the database (start of the partition, stripe unit), \
                   and the stripe unit of the disk where it is known.",
        example: "Columns at sector 63 on LUNs with a stripe unit of 64 KiB: 32,256 ÷ 65,536 = 0.492…; each 64 KiB unit takes two of their members.",
        fix: "Re-create the volume on disks whose data area begins at 1 MiB (converted by Windows Server 2008 or later, or partitioned there first), \
              and restore from a backup. Neither the start nor the stripe unit can be changed in place.",
        fix_safety: "A striped volume has no redundancy: losing one disk while data are moved loses all. Have a backup that was test-restored before \
                     `delete volume`.",
        references: &[
            "Microsoft, Disk Partition Alignment Best Practices for SQL Server: dynamic disks",
            "Linux Documentation/admin-guide/ldm.rst",
        ],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer) in context.stack.iter() {
        let (Map::Striped(striping), Some("ldm")) = (&layer.map, layer.format.as_deref()) else {
            continue;
        };
        let columns = || layer.below.iter().copied().zip(&striping.starts);
        for (member, start) in columns() {
            for grid in known(context, member) {
                findings.extend(on_known(context, (id, layer), member, *start, grid));
            }
        }
        let hidden: Vec<(LayerId, Bytes)> = columns()
            .filter(|(member, _)| hides_an_array(context, *member))
            .map(|(member, start)| (member, *start))
            .collect();
        findings.extend(on_unknown(context, (id, layer), &hidden));
    }
}

/// The stripe units of what a member is.
fn known<'a>(context: &'a Context<'a>, member: LayerId) -> impl Iterator<Item = &'a SeenGrid<'a>> {
    let grids = context.seen(member).iter();
    grids.filter(|grid| grid.role == GridRole::StripeUnit && is_believable(grid))
}

/// True for a whole disk that may be an array of which nobody told.
fn hides_an_array(context: &Context<'_>, member: LayerId) -> bool {
    let layer = context.stack.layer(member);
    known(context, member).next().is_none()
        && layer.below.is_empty()
        && layer.size.is_some()
        && !is_single_drive(layer)
}

fn on_known(
    context: &Context<'_>,
    (id, layer): (LayerId, &Layer),
    member: LayerId,
    start: Bytes,
    grid: &SeenGrid<'_>,
) -> Option<Finding> {
    let Seen::Uniform(seen) = grid.seen else {
        return None;
    };
    if seen.contains(start) {
        return None;
    }
    let unit = seen.unit();
    let up = Seen::Uniform(seen.seen_from(start));
    let prices = Prices::of(grid.role, unit, &up, Bytes::ZERO, &context.options.io);
    let title = format!(
        "{}: the column on {} starts inside a stripe unit of {unit}",
        layer.name,
        context.stack.layer(member).name
    );
    let finding = Finding::priced(RULE.code, id, title, prices)
        .evidence(
            &Fact::derived((), "data area of the disk + start of the partition").source,
            format!("start of the column = {}", both_ways(start)),
        )
        .evidence(&grid.fact.source, format!("stripe unit = {unit}"))
        .arithmetic(division(start, seen));
    Some(with_units(context, (id, layer), finding).help(HELP))
}

const HELP: &str =
    "re-create the volume on disks whose data area begins at 1 MiB, and restore into it";

fn on_unknown(
    context: &Context<'_>,
    (id, layer): (LayerId, &Layer),
    columns: &[(LayerId, Bytes)],
) -> Option<Finding> {
    let candidates: Vec<Unit> = plausible().collect();
    let off = candidates
        .iter()
        .filter(|unit| {
            columns
                .iter()
                .any(|(_, start)| !start.is_multiple_of(**unit))
        })
        .count();
    if off == 0 {
        return None;
    }
    let (severity, how_many) = if off == candidates.len() {
        (Severity::Warning, format!("all {off}"))
    } else {
        (Severity::Note, format!("{off} of {}", candidates.len()))
    };
    let title = format!(
        "{}: its columns are off {how_many} plausible stripe units of the disks below, and the true ones are unknown",
        layer.name
    );
    let mut finding = Finding::new(RULE.code, severity, id, title).evidence(
        &Fact::derived((), "data area of each disk + start of its partition").source,
        "starts of the columns",
    );
    for (number, (member, start)) in (1..).zip(columns.iter().take(8)) {
        let own = layer
            .grid(GridRole::StripeUnit)
            .map(|grid| grid.value.unit());
        let unit = own.unwrap_or(Unit::B4096);
        let division = Correlation::new("start of the column ÷ stripe unit of LDM", *start, unit);
        finding = finding.arithmetic(format!(
            "column {number} on {}: {}",
            context.stack.layer(*member).name,
            division.arithmetic()
        ));
    }
    let finding = finding.note("where a disk is a single drive, this costs nothing");
    Some(with_units(context, (id, layer), finding).help(HELP).help(
        "find the stripe unit of the LUNs with the array's own tool and give it: --stripe-unit 64K",
    ))
}

/// Adds how the allocation unit of what is on the volume fits the stripe unit of LDM.
fn with_units(context: &Context<'_>, (id, layer): (LayerId, &Layer), finding: Finding) -> Finding {
    let stripe = layer.grid(GridRole::StripeUnit);
    let cluster = context
        .stack
        .above(id)
        .find_map(|above| context.stack.layer(above).grid(GridRole::AllocationUnit));
    let Some((stripe, cluster)) = stripe.zip(cluster) else {
        return finding;
    };
    let (unit, size) = (stripe.value.unit(), cluster.value.unit());
    let line = Correlation::new("stripe unit ÷ allocation unit", unit.bytes(), size);
    finding
        .evidence(&stripe.source, format!("stripe unit of LDM = {unit}"))
        .evidence(&cluster.source, format!("allocation unit = {size}"))
        .arithmetic(format!("stripe unit ÷ allocation unit: {}", line.arithmetic()))
        .note("the stripe unit of LDM cannot be chosen: an allocation unit that divides it is all that can be had above")
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::{GridRole, Key, LayerId};

    fn striped(lab: &mut Lab, members: &[LayerId], starts: &[u64]) -> LayerId {
        for member in members {
            lab.size(*member, 1 << 30);
        }
        let id = lab.array(members, 65_536, starts);
        lab.stack.layer_mut(id).format = Some("ldm".into());
        lab.text(id, Key::Level, "raid0");
        lab.filesystem("ntfs", id, 65_536);
        id
    }

    #[test]
    fn columns_off_the_stripe_units_of_luns_are_priced() {
        let mut lab = Lab::new();
        let disks = [lab.disk(512), lab.disk(512)];
        for disk in disks {
            lab.stated(disk, GridRole::StripeUnit, 65_536);
        }
        striped(&mut lab, &disks, &[63 * 512, 1 << 20]);
        let finding = lab.one(&RULE, Severity::Error, "32,256 = 0 × 65,536 + 32,256");
        assert!(finding.title.contains("the column on sda"));
    }

    #[test]
    fn unknown_disks_are_answered_for_plausible_units() {
        let mut lab = Lab::new();
        let disks = [lab.disk(512), lab.disk(512)];
        striped(&mut lab, &disks, &[63 * 512, 63 * 512]);
        let finding = lab.one(
            &RULE,
            Severity::Warning,
            "column 1 on sda: 32,256 ÷ 65,536 = 0.492…",
        );
        assert!(finding.title.contains("all 7"));
    }

    #[test]
    fn single_drives_round_starts_and_other_arrays_are_silent() {
        let mut lab = Lab::new();
        let disks = [lab.disk(512), lab.disk(512)];
        striped(&mut lab, &disks, &[1 << 20, 2 << 20]);
        lab.none(&RULE);
        let mut lab = Lab::new();
        let disks = [lab.disk(512), lab.disk(512)];
        for disk in disks {
            lab.text(disk, Key::Transport, "sata");
        }
        striped(&mut lab, &disks, &[63 * 512, 63 * 512]);
        lab.none(&RULE);
        let mut lab = Lab::new();
        let disks = [lab.disk(512), lab.disk(512)];
        lab.array(&disks, 65_536, &[63 * 512, 63 * 512]);
        lab.none(&RULE);
    }
}
