use std::fmt::Write;
use straddle_geometry::{Bytes, Grid, Unit};
use straddle_stack::{GridRole, Layer, LayerId, Seen};

use crate::context::{Findings, is_idle};
use crate::rules::partition::partition_start_preferred_io::tells_its_geometry;
use crate::rules::volume::vmfs_start;
use crate::shared::plausible::{is_single_drive, plausible};
use crate::wording::{Correlation, start_label};
use crate::{Context, Finding, Page, Prices, Repair, RepairKind, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::STRIPE_UNIT_UNKNOWN,
    name: "stripe-unit-unknown",
    summary: "stripe unit is unknown, and the partition would be misaligned for some or all of the common ones",
    status: Status::Stable,
    repair: Repair::By(&[RepairKind::Partitions]),
    page: Page {
        checks: "The first correlation where the stripe unit cannot be read: on an image, a SAN LUN, a disk behind a RAID controller or a \
                 virtual disk. It is answered for 16, 32, 64, 128, 256 and 512 KiB and 1 MiB. Off for all of them is a warning, off for some \
                 a note, on all of them nothing. Devices that are no array (NVMe, SATA, USB), volumes that are a mirror or one disk by what \
                 the RAID controller says, and those that tell their geometry themselves (STR102), are left out.",
        why: "A request that crosses a stripe unit's boundary occupies two members instead of one (STR201). Whether that happens depends \
              on the stripe unit below, and no operating system can ask a hardware array for it.",
        evidence: "The start from the partition table. The stripe unit is unknown, and is said to be unknown: the table is arithmetic, not \
                   a finding about your array.",
        example: "Start 32,768 (sector 64): 32,768 ÷ 16,384 = 2 and ÷ 32,768 = 1, but ÷ 65,536 = 0.5. Sector 63 is off for all seven.",
        fix: "Find the unit with the array's tool (`storcli /c0/v0 show all`: Strip Size; `ssacli ctrl slot=0 ld all show detail`: Strip Size; the \
              SAN's volume page), then ask again with `--stripe-unit 64K`. Starting at 1 MiB is on every unit listed.",
        fix_safety: "Do not move data for a unit that was guessed. Some tools print the full stripe where the strip is meant, some print \
                     twice the size: compare two sources.",
        references: &[
            "J. May and D. Lee, Disk Partition Alignment Best Practices for SQL Server",
            "https://github.com/dell/iDRAC-Redfish-Scripting/issues/235",
        ],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer) in context.data_partitions() {
        // STR616 says it of VMFS, and where it comes from.
        if vmfs_start::speaks_of(context, id, layer) {
            continue;
        }
        let Some((device, start)) = hidden_array(context, id) else {
            continue;
        };
        let candidates: Vec<Unit> = plausible().collect();
        let off = candidates
            .iter()
            .filter(|unit| !start.is_multiple_of(**unit))
            .count();
        if off == 0 {
            continue;
        }
        findings.push(finding(
            context,
            (id, layer),
            device,
            start,
            &candidates,
            off,
        ));
    }
}

/// The device and the start on it, when an array of unknown geometry may lie below.
fn hidden_array(context: &Context<'_>, id: LayerId) -> Option<(LayerId, Bytes)> {
    let known = [GridRole::StripeUnit, GridRole::FullStripe]
        .into_iter()
        .any(|role| context.below(id, role).next().is_some());
    let (device, layer) = context.device_of(id)?;
    if known || is_single_drive(layer) || tells_its_geometry(context, id) {
        return None;
    }
    Some((device, context.stack.start_in(id, device)?))
}

fn finding(
    context: &Context<'_>,
    (id, layer): (LayerId, &Layer),
    device: LayerId,
    start: Bytes,
    candidates: &[Unit],
    off: usize,
) -> Finding {
    let all = off == candidates.len();
    let title = format!(
        "{} is off {} plausible stripe units, and the true one is unknown",
        layer.name,
        if all {
            format!("all {off}")
        } else {
            format!("{off} of {}", candidates.len())
        }
    );
    let severity = if all {
        Severity::Warning
    } else {
        Severity::Note
    };
    let mut finding = Finding::new(RULE.code, severity, id, title);
    if let Some(placement) = &layer.placement {
        finding = finding.evidence(
            &placement.source,
            start_label(layer, placement.value.start()),
        );
    }
    // Seven units with a price for every request size: more text than all other rules write together.
    let rows = if context.options.in_full {
        candidates
    } else {
        &[]
    };
    for unit in rows {
        finding = finding.arithmetic(row(context, start, *unit));
    }
    if context
        .disk_of(finding.layer)
        .is_some_and(|disk| disk != device)
    {
        finding = finding.note(format!(
            "the divisions count from the start of {}, where the array would be",
            context.stack.layer(device).name
        ));
    }
    let finding = finding
        .note(format!(
            "if no array lies below {}, this costs nothing",
            context.stack.layer(device).name
        ))
        .help("find the stripe unit (strip size) with the array's own tool and give it: --stripe-unit 64K");
    if is_idle(layer) {
        return finding.at_most(
            Severity::Note,
            "it is a partition that only a boot loader or an installer uses; its start does not matter for speed",
        );
    }
    finding
}

/// `64 KiB: 32,256 ÷ 65,536 = 0.492…; 8 KiB +12.5%, 64 KiB +100%`.
fn row(context: &Context<'_>, start: Bytes, unit: Unit) -> String {
    let seen = Seen::Uniform(Grid::new(unit).seen_from(start));
    let prices = Prices::of(
        GridRole::StripeUnit,
        unit,
        &seen,
        Bytes::ZERO,
        &context.options.io,
    );
    let division = Correlation::new("partition offset ÷ stripe unit", start, unit).arithmetic();
    if start.is_multiple_of(unit) {
        return format!("{unit}: {division}");
    }
    let mut line = format!("{unit}: {division}");
    for (n, row) in prices.rows.iter().enumerate() {
        let mark = if n == 0 { ';' } else { ',' };
        // Writing to a String cannot fail.
        let _ = write!(line, "{mark} {} +{}", row.io, row.extra);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::{GridRole, Key, LayerKind, Value};

    fn lun(transport: &'static str, sector: u64) -> Lab {
        let mut lab = Lab::new();
        let disk = lab.disk(512);
        lab.text(disk, Key::Transport, transport);
        lab.partition(disk, sector);
        lab
    }

    #[test]
    fn sector_63_is_off_whatever_lies_below() {
        let finding = lun("fc", 63).one(
            &RULE,
            Severity::Warning,
            "64 KiB: 32,256 ÷ 65,536 = 0.492…; 4 KiB +6.25%, 8 KiB +12.5%, 64 KiB +100%",
        );
        assert_eq!(finding.arithmetic.len(), 7);
    }

    #[test]
    fn a_table_on_something_else_is_told_what_the_divisions_count_from() {
        for (kind, format) in [(LayerKind::Volume, "lvm"), (LayerKind::Device, "loop")] {
            let mut lab = Lab::new();
            let disk = lab.disk(512);
            lab.text(disk, Key::Transport, "fc");
            let inner = lab.upper(kind, format, disk, 1 << 30);
            lab.partition(inner, 63);
            let findings = lab.findings(&RULE);
            assert_eq!(findings[0].evidence[0].label, "first sector = 63");
            assert_eq!(
                findings[0].notes[0],
                "the divisions count from the start of sda, where the array would be"
            );
        }
        assert_eq!(lun("fc", 63).findings(&RULE)[0].notes.len(), 1);
    }

    #[test]
    fn half_a_unit_is_off_for_some() {
        let finding = lun("virtio", 64).one(&RULE, Severity::Note, "32 KiB: 32,768 ÷ 32,768 = 1");
        assert!(finding.title.contains("5 of 7"));
    }

    #[test]
    fn single_drives_known_units_and_round_starts_are_silent() {
        lun("nvme", 63).none(&RULE);
        lun("fc", 2048).none(&RULE);
        let mut lab = Lab::new();
        let disk = lab.disk(512);
        lab.grid(disk, GridRole::MinimumIo, 65_536);
        lab.partition(disk, 63);
        lab.none(&RULE);
        let mut lab = Lab::new();
        let disk = lab.disk(512);
        lab.stated(disk, GridRole::StripeUnit, 65_536);
        lab.partition(disk, 63);
        lab.none(&RULE);
    }

    #[test]
    fn volumes_without_stripes_are_silent() {
        let volume = |level, members| {
            let mut lab = Lab::new();
            let disk = lab.disk(512);
            lab.text(disk, Key::Level, level);
            lab.set(disk, Key::Members, Value::Count(members));
            lab.partition(disk, 63);
            lab
        };
        volume("raid1", 2).none(&RULE);
        volume("raid0", 1).none(&RULE);
        assert_eq!(volume("raid5", 4).findings(&RULE).len(), 1);
    }
}
