use straddle_stack::activity::{Quantity, Role, Span};

use crate::context::Findings;
use crate::figures::number;
use crate::shared::activity::{active, show_largest, titled};
use crate::{Context, Finding, Page, Repair, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::QUEUE_PER_DISK,
    name: "queue-per-disk",
    summary: "more requests wait than the disks of the volume serve at once",
    status: Status::Stable,
    repair: Repair::None(
        "more disks, or less work for these; layout is decided with `straddle predict`",
    ),
    page: Page {
        checks: "The mean queue length against the number of disks that serve the volume: more than 2 a disk is trouble. The number comes from \
                 the stack, or from --spindles.",
        why: "A queue says nothing by itself: 10 requests on 5 disks are 2 each, which keeps them busy; on 2 disks they are 5 each, of which 4 \
              wait. Behind a controller or a SAN the number of disks is not seen, others use the same ones, and flash serves dozens at once.",
        evidence: "Queue lengths of Performance Monitor (Avg. Disk Queue Length; Current Disk Queue Length, a sample of one instant, only where that is \
                   missing), iostat (aqu-sz), sar; the number of disks from the array below, where captures of it are given too.",
        example: "10 ÷ 5 disks = 2 each: fine. 10 ÷ 2 disks = 5 each: a warning.",
        fix: "Find what fills the queue (a backup, a scan, a checkpoint) before disks are bought. A log volume rarely shows more than 3: SQL Server \
              keeps 8 (32 bits) or 32 (64 bits) log writes under way, each up to 60 KiB, and mostly one.",
        fix_safety: "Looking changes nothing; measure again after each change, one at a time.",
        references: &[
            "McBath, Database & Disk Configuration With SQL Server (SQL-DISK-005, 2007): at most 2 for each disk",
        ],
    },
    check,
};

/// Requests that a disk may have, by the rule of thumb of spinning disks.
const A_DISK: f64 = 2.0;

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer, activity) in active(context) {
        let of = |quantity| activity.mean(quantity, Span::Interval);
        let sampled = of(Quantity::SampledQueueLength);
        let Some(queue) = of(Quantity::QueueLength).or(sampled) else {
            continue;
        };
        let mean = queue.mean.get();
        let disks = disks_below(context, id);
        let largest = format!("the longest queue = {}", number(queue.max.value.get()));
        let Some((disks, whence)) = disks else {
            if mean > A_DISK {
                let title = format!(
                    "{} {} requests wait or are served on average; whether that is much depends on how many disks serve them",
                    titled(layer),
                    number(mean)
                );
                let finding = Finding::new(RULE.code, Severity::Note, id, title);
                findings.push(show_largest(finding, queue, largest).note(
                    "behind a controller or a SAN the disks are not seen, and others use the same ones",
                ).help("--spindles N says how many; `straddle check` of the server's captures may know"));
            }
            continue;
        };
        let each = mean / f64::from(disks);
        if each <= A_DISK {
            continue;
        }
        let title = format!(
            "{} {} requests for each of {disks} disks, of which all but one wait",
            titled(layer),
            number(each)
        );
        let finding = Finding::new(RULE.code, Severity::Warning, id, title);
        let finding = show_largest(finding, queue, largest).arithmetic(format!(
            "{} ÷ {disks} disks = {}, more than {}",
            number(mean),
            number(each),
            number(A_DISK)
        ));
        let finding = finding.note(format!("the number of disks is {whence}; flash serves many at once, for which this rule does not hold"));
        findings.push(match activity.roles.contains(&Role::Log) {
            true => finding.note(
                "a log rarely has more than 3 under way, so that other files on the volume do this",
            ),
            false => finding,
        });
    }
}

/// How many disks are below, and how that is known.
fn disks_below(context: &Context<'_>, id: straddle_stack::LayerId) -> Option<(u32, &'static str)> {
    if let Some(disks) = context.options.spindles {
        return Some((disks, "what --spindles says"));
    }
    let foundations = context.stack.foundations(id);
    let devices = foundations
        .iter()
        .filter(|id| context.stack.layer(**id).below.is_empty());
    let count = u32::try_from(devices.count()).ok()?;
    // A single device may be a LUN of any number of disks.
    (count > 1).then_some((count, "that of the devices below"))
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::LayerKind;
    use straddle_stack::activity::{Quantity, Span};

    #[test]
    fn ten_are_fine_on_five_disks_and_not_on_two() {
        let lab = |spindles| {
            let mut lab = Lab::new();
            lab.options.spindles = spindles;
            lab.active(
                LayerKind::Filesystem,
                &[],
                &[(Quantity::QueueLength, Span::Interval, &[10.0])],
            );
            lab
        };
        lab(Some(5)).none(&RULE);
        lab(Some(2)).one(&RULE, Severity::Warning, "10 ÷ 2 disks = 5, more than 2");
        assert_eq!(lab(None).findings(&RULE)[0].severity, Severity::Note);
    }

    #[test]
    fn samples_of_one_instant_count_only_where_there_is_no_mean() {
        let mean = (Quantity::QueueLength, Span::Interval, &[3.0][..]);
        let sample = (Quantity::SampledQueueLength, Span::Interval, &[40.0][..]);
        let lab = |series: &[(Quantity, Span, &[f64])]| {
            let mut lab = Lab::new();
            lab.options.spindles = Some(2);
            lab.active(LayerKind::Filesystem, &[], series);
            lab
        };
        lab(&[sample, mean]).none(&RULE);
        lab(&[sample]).one(&RULE, Severity::Warning, "40 ÷ 2 disks = 20, more than 2");
    }
}
