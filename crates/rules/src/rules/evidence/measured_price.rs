use straddle_geometry::{Bytes, Unit};
use straddle_stack::activity::{Activity, Quantity, Span};
use straddle_stack::{GridRole, LayerId, LayerKind, SeenGrid};

use crate::context::{Findings, is_believable};
use crate::figures::{number, whole};
use crate::shared::activity::{active, titled};
use crate::{Context, Finding, Page, Prices, Repair, Rule, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::MEASURED_PRICE,
    name: "measured-price",
    summary: "misalignment costs operations at the load that was measured",
    status: Status::Stable,
    repair: Repair::None("what is off a grid is repaired by the finding that says so"),
    page: Page {
        checks: "For a volume whose place is known and whose load was measured: what its requests, in the mean size that was measured, cost on the \
                 grids below, in operations a second.",
        why: "The price of misalignment is a share of the work. This is the work: what the disks do each second only because the volume begins \
              off a boundary.",
        evidence: "Rates and sizes of the capture, of a whole disk where it has one partition and nothing else, grids and start of the stack; both captures have to be given together.",
        example: "Partition at sector 63 on a stripe unit of 64 KiB, 800 reads a second of 8 KiB each: one in eight straddles, 800 × 12.5% = 100 \
                  operations a second more.",
        fix: "`straddle fix` of the same captures. Whether it is worth it depends on how busy the disks are: see the latency and the queue.",
        fix_safety: "Looking changes nothing; measure again after each change, one at a time.",
        references: &["Microsoft, Disk Partition Alignment Best Practices for SQL Server"],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer, activity) in active(context) {
        for (rate, size, what, writes) in [
            (Quantity::ReadRate, Quantity::ReadSize, "reads", false),
            (Quantity::WriteRate, Quantity::WriteSize, "writes", true),
            (
                Quantity::TransferRate,
                Quantity::TransferSize,
                "requests",
                false,
            ),
        ] {
            let Some(load) = load(activity, rate, size) else {
                continue;
            };
            let is_shown_above = || {
                active(context).any(|(above, _, activity)| {
                    above != id
                        && context.stack.rests_on(above, id)
                        && self::load(activity, rate, size).is_some()
                })
            };
            let carrier = match carrier(context, id) {
                only if only != id && is_shown_above() => continue,
                carrier => carrier,
            };
            for grid in grids(context, carrier, writes) {
                let unit = grid.fact.value.unit();
                let prices = Prices::of(grid.role, unit, &grid.seen, Bytes::ZERO, &[load.size]);
                let worst = prices.worst();
                if worst.is_zero() {
                    continue;
                }
                let extra = load.rate * worst.to_f64();
                let title = format!(
                    "{} {} more operations a second at the measured {} {what} of {} each",
                    titled(layer),
                    number(extra),
                    number(load.rate),
                    load.size
                );
                let mut finding =
                    Finding::priced(RULE.code, id, title, prices)
                        .evidence(&grid.fact.source, format!("{} = {unit}", grid.role.name()))
                        .evidence(load.source, format!("the highest rate = {}/s", number(load.highest)))
                        .arithmetic(format!(
                            "{}/s × {worst} = {}/s",
                            number(load.rate),
                            number(extra)
                        ))
                        .note("the price is that of requests back to back of the mean size; rates and sizes are means of the intervals");
                if carrier != id {
                    finding = finding.note(format!(
                        "the load was measured on the whole disk: it is taken for that of {}, the only thing on it",
                        context.stack.layer(carrier).name
                    ));
                }
                findings.push(finding);
            }
        }
    }
}

/// What was asked of a layer.
/// The layer whose requests those of a disk are: its partition, where it has one and nothing else. Counters of partitions are seldom captured.
fn carrier(context: &Context<'_>, id: LayerId) -> LayerId {
    let mut above = context.stack.above(id);
    match (above.next(), above.next()) {
        (Some(only), None) if context.stack.layer(only).kind == LayerKind::Partition => only,
        _ => id,
    }
}

struct Load<'a> {
    rate: f64,
    highest: f64,
    size: Unit,
    source: &'a straddle_stack::Source,
}

fn load(activity: &Activity, rate: Quantity, size: Quantity) -> Option<Load<'_>> {
    let rate = activity.mean(rate, Span::Interval)?;
    let size = activity.mean(size, Span::Interval)?;
    // Means of sizes are seldom whole sectors; requests are.
    let sectors = (size.mean.get() / 512.0).round();
    let size = Unit::new(whole(sectors.max(1.0)).saturating_mul(512))?;
    (rate.mean.get() > 0.0).then(|| Load {
        rate: rate.mean.get(),
        highest: rate.max.value.get(),
        size,
        source: &rate.max.source,
    })
}

/// The grids below that cost something when they are crossed, or written in part.
fn grids<'a>(
    context: &'a Context<'a>,
    id: LayerId,
    writes: bool,
) -> impl Iterator<Item = &'a SeenGrid<'a>> {
    let seen = context.seen(id).iter();
    seen.filter(move |grid| {
        let counts = match grid.role {
            GridRole::StripeUnit => true,
            GridRole::PhysicalSector | GridRole::IndirectionUnit => writes,
            _ => false,
        };
        grid.layer != id && counts && is_believable(grid)
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::GridRole;
    use straddle_stack::activity::{Quantity, Span};

    #[test]
    fn one_read_in_eight_costs_one_more() {
        let lab = |start: u64| {
            let mut lab = Lab::new();
            let disk = lab.disk(512);
            lab.grid(disk, GridRole::StripeUnit, 65_536);
            let partition = lab.partition(disk, start);
            let series = [
                (Quantity::ReadRate, Span::Interval, &[800.0][..]),
                (Quantity::ReadSize, Span::Interval, &[8192.0]),
            ];
            lab.make_active(partition, &[], &series);
            lab
        };
        lab(63).one(&RULE, Severity::Warning, "800/s × 12.5% = 100/s");
        lab(2048).none(&RULE);
    }

    #[test]
    fn the_load_of_a_disk_is_that_of_its_only_partition() {
        let lab = |starts: &[u64]| {
            let mut lab = Lab::new();
            let disk = lab.disk(512);
            lab.grid(disk, GridRole::StripeUnit, 65_536);
            for start in starts {
                lab.partition(disk, *start);
            }
            let series = [
                (Quantity::ReadRate, Span::Interval, &[800.0][..]),
                (Quantity::ReadSize, Span::Interval, &[8192.0]),
            ];
            lab.make_active(disk, &[], &series);
            lab
        };
        lab(&[63]).one(&RULE, Severity::Warning, "800/s × 12.5% = 100/s");
        lab(&[2048]).none(&RULE);
        // Whose requests they are is not known.
        lab(&[63, 409_600]).none(&RULE);
        // Once, where the partition was measured as well.
        let mut both = lab(&[63]);
        let (partition, _) = both.stack.iter().next_back().expect("a partition");
        let series = [
            (Quantity::ReadRate, Span::Interval, &[800.0][..]),
            (Quantity::ReadSize, Span::Interval, &[8192.0]),
        ];
        both.make_active(partition, &[], &series);
        both.one(&RULE, Severity::Warning, "800/s × 12.5% = 100/s");
    }
}
