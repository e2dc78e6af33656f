use straddle_stack::activity::{Activity, Quantity, Span};

use crate::context::Findings;
use crate::figures::{number, time};
use crate::shared::activity::{active, titled};
use crate::{Context, Finding, Page, Repair, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::LITTLE_LAW,
    name: "little-law",
    summary: "queue length, rate and latency of a capture contradict each other",
    status: Status::Stable,
    repair: Repair::None("a matter of what was captured, not of the storage"),
    page: Page {
        checks: "Whether the mean queue length is rate × latency (Little's law), where a capture has all three, and not shorter than that of reads or \
                 writes alone, where it has only these. A factor of about a thousand is a unit.",
        why: "The law holds for whatever is measured over the same time, without any assumption. Where it does not hold, one figure is of another \
              interval or another device, an instantaneous sample (Current Disk Queue Length), or was taken while requests were lost or stuck.",
        evidence: "Means over all intervals of the capture, those of latency by the number of requests.",
        example: "200 requests a second × 20 ms = 4 under way; a queue of 4.1 fits, a queue of 40 does not.",
        fix: "Take all counters at once, at one interval (Avg. Disk Queue Length, not Current), and trust none of the three alone.",
        fix_safety: "Looking changes nothing; measure again after each change, one at a time.",
        references: &[
            "Little, A Proof for the Queuing Formula L = λW, Operations Research 9 (1961)",
        ],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer, activity) in active(context) {
        let Some(queue) = activity.mean(Quantity::QueueLength, Span::Interval) else {
            continue;
        };
        let Some(Expected {
            value: expected,
            arithmetic,
            is_all,
        }) = expected(activity)
        else {
            continue;
        };
        let found = queue.mean.get();
        // Rounded figures of a quiet disk differ by chance.
        let is_quiet = expected.max(found) < 1.0;
        let is_short = found < expected / TOLERATED;
        // What else is in the queue is not known where only one direction was measured.
        let is_long = is_all && found > expected * TOLERATED;
        if is_quiet || !is_short && !is_long {
            continue;
        }
        let at_least = if is_all { "" } else { "at least " };
        let title = format!(
            "{} a queue of {} does not fit rate and latency, which make {at_least}{}",
            titled(layer),
            number(found),
            number(expected)
        );
        let times = expected.max(found) / expected.min(found);
        let (severity, note) = match (THOUSAND / TOLERATED..=THOUSAND * TOLERATED).contains(&times)
        {
            true => (
                Severity::Warning,
                "by about a thousand: the latencies are milliseconds where their names say seconds, or the other way round, and so is all that is \
                 found of them",
            ),
            false => (
                Severity::Note,
                "one of the three is of another time, or a sample of one instant instead of a mean",
            ),
        };
        findings.push(
            Finding::new(RULE.code, severity, id, title)
                .evidence(
                    &queue.max.source,
                    format!("the longest queue = {}", number(queue.max.value.get())),
                )
                .arithmetic(arithmetic)
                .note(note),
        );
    }
}

/// What is expected and found may differ so far: means over intervals of different lengths do, and rounded figures.
const TOLERATED: f64 = 1.5;
/// Between seconds and milliseconds.
const THOUSAND: f64 = 1000.0;

/// The queue that rates and latencies make.
struct Expected {
    value: f64,
    arithmetic: String,
    /// It is that of reads and writes; else the queue is longer by those that were not measured.
    is_all: bool,
}

/// Rate × latency, by direction where both directions are known.
fn expected(activity: &Activity) -> Option<Expected> {
    let mean = |quantity| {
        let summary = activity.mean(quantity, Span::Interval)?;
        Some((summary.mean.get(), summary.weighted))
    };
    let product = |rate, latency| {
        let (rate, _) = mean(rate)?;
        let (latency, weighted) = mean(latency)?;
        // A mean of means, without the number of requests, is not the latency of the mean request.
        weighted.then(|| {
            (
                rate * latency,
                format!("{}/s × {}", number(rate), time(latency)),
            )
        })
    };
    let reads = product(Quantity::ReadRate, Quantity::ReadLatency);
    let writes = product(Quantity::WriteRate, Quantity::WriteLatency);
    let both = product(Quantity::TransferRate, Quantity::TransferLatency);
    let is_all = both.is_some() || reads.is_some() && writes.is_some();
    let (mut value, mut terms) = match (reads, writes, both) {
        (_, _, Some(both)) => both,
        (Some((reads, r)), Some((writes, w)), None) => (reads + writes, format!("{r} + {w}")),
        (one, other, None) => one.or(other)?,
    };
    // Linux counts both in the queue, from the kernels on that tell them.
    for (rate, latency) in [
        (Quantity::DiscardRate, Quantity::DiscardLatency),
        (Quantity::FlushRate, Quantity::FlushLatency),
    ] {
        if let Some((more, term)) = product(rate, latency).filter(|(more, _)| *more > 0.0) {
            value += more;
            terms += &format!(" + {term}");
        }
    }
    Some(Expected {
        value,
        arithmetic: format!("{terms} = {}", number(value)),
        is_all,
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::LayerKind;
    use straddle_stack::activity::{Quantity, Span};

    #[test]
    fn a_queue_is_rate_times_latency() {
        let lab = |queue: f64| {
            let mut lab = Lab::new();
            let series = [
                (Quantity::TransferRate, Span::Interval, &[200.0][..]),
                (Quantity::TransferLatency, Span::Interval, &[0.020]),
                (Quantity::QueueLength, Span::Interval, &[queue]),
            ];
            lab.active(LayerKind::Device, &[], &series);
            lab
        };
        lab(4.1).none(&RULE);
        lab(40.0).one(&RULE, Severity::Note, "200/s × 20.0 ms = 4");
    }

    #[test]
    fn one_direction_alone_is_a_part_of_the_queue() {
        let lab = |queue: f64, latency: f64| {
            let mut lab = Lab::new();
            let series = [
                (Quantity::ReadRate, Span::Interval, &[100.0][..]),
                (Quantity::ReadLatency, Span::Interval, &[latency]),
                (Quantity::QueueLength, Span::Interval, &[queue]),
            ];
            lab.active(LayerKind::Filesystem, &[], &series);
            lab
        };
        // The rest may be writes.
        lab(9.0, 0.020).none(&RULE);
        lab(1.0, 0.040).one(&RULE, Severity::Note, "100/s × 40.0 ms = 4");
        // 12.5 ms in a column of seconds.
        lab(1.25, 12.5).one(&RULE, Severity::Warning, "100/s × 12.5 s = 1,250");
    }

    #[test]
    fn flushes_are_in_the_queue() {
        let lab = |queue: f64| {
            let mut lab = Lab::new();
            let series = [
                (Quantity::ReadRate, Span::Interval, &[100.0][..]),
                (Quantity::ReadLatency, Span::Interval, &[0.005]),
                (Quantity::WriteRate, Span::Interval, &[50.0]),
                (Quantity::WriteLatency, Span::Interval, &[0.010]),
                (Quantity::FlushRate, Span::Interval, &[20.0]),
                (Quantity::FlushLatency, Span::Interval, &[0.050]),
                (Quantity::QueueLength, Span::Interval, &[queue]),
            ];
            lab.active(LayerKind::Device, &[], &series);
            lab
        };
        lab(2.0).none(&RULE);
        let sum = "100/s × 5.00 ms + 50/s × 10.0 ms + 20/s × 50.0 ms = 2";
        lab(4.0).one(&RULE, Severity::Note, sum);
    }
}
