use straddle_stack::activity::{Activity, Quantity, Span, Statistic, Summary};
use straddle_stack::{Layer, LayerId, LayerKind};

use crate::context::Findings;
use crate::figures::time;
use crate::shared::activity::{active, show_largest, titled};
use crate::{Context, Finding, Page, Repair, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::FLUSH_TAIL,
    name: "flush-tail",
    summary: "the slowest flushes take longer than a log of commits can bear",
    status: Status::Stable,
    repair: Repair::None("another device, or one with a protected write cache"),
    page: Page {
        checks: "The 99th percentile of flushes (fsync, fdatasync), from fio, or the longest in etcd's log, against --target flush (10 ms). Where \
                 only means are known, these: most flushes are slower than one in a hundred may be.",
        why: "etcd, and every log of commits, waits for a flush at each step. Its makers ask for a 99th percentile below 10 ms; the mean says \
              nothing, since one slow flush delays all that wait behind it and may cost a leader its place.",
        evidence: "Percentiles that fio prints under `fsync/fdatasync/sync_file_range`; etcd's `slow fdatasync` messages; means of iostat \
                   (f_await), /proc/diskstats, pg_stat_wal and etcd's metrics.",
        example: "99.00th=[14746] µs: 14.7 ms is above 10 ms. It is not far off: a cluster with longer heartbeats lives with 15 ms, a loaded one \
                  does not.",
        fix: "A drive with power-loss protection acknowledges flushes from its memory. Consumer flash, disks behind a controller without a \
              battery, and network storage do not. Keep the log on a device of its own.",
        fix_safety: "Ignoring flushes (nobarrier, a volatile write cache said to be safe) loses commits when power fails.",
        references: &[
            "https://etcd.io/docs/v3.5/faq/: what does the etcd warning \"failed to send out heartbeat on time\" mean",
            "https://etcd.io/docs/v3.5/op-guide/hardware/",
        ],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    let target = context.options.targets.flush;
    for (id, layer, activity) in active(context) {
        let tail = Statistic::Percentile(99_000);
        let tail = activity.find(Quantity::FlushLatency, tail, Span::Run);
        if let Some(tail) = tail.filter(|tail| tail.max.value.get() > target) {
            let worst = tail.max.value.get();
            let title = format!(
                "{} one flush in 100 takes {} or longer, more than {}",
                titled(layer),
                time(worst),
                time(target)
            );
            let finding = Finding::new(RULE.code, Severity::Warning, id, title);
            findings.push(
                show_largest(finding, tail, format!("99th percentile = {}", time(worst)))
                    .arithmetic(format!(
                        "{} ÷ {} = {:.2}",
                        time(worst),
                        time(target),
                        worst / target
                    ))
                    .help("a device with power-loss protection, and nothing else on it"),
            );
        }
        let slow = activity.find(Quantity::FlushLatency, Statistic::Max, Span::Event);
        if let Some(slow) = slow.filter(|slow| slow.max.value.get() > target) {
            let title = format!(
                "{} {} flushes were so slow that the server said so, the longest took {}",
                titled(layer),
                slow.count,
                time(slow.max.value.get())
            );
            let finding = Finding::new(RULE.code, Severity::Error, id, title);
            let label = format!("took {}", time(slow.max.value.get()));
            findings.push(show_largest(finding, slow, label));
        }
        if !is_of_checkpoints(layer) {
            findings.extend(mean(activity).and_then(|mean| of_mean(id, layer, target, &mean)));
        }
    }
}

/// A row of pg_stat_io: nobody waits for the syncs of checkpoints.
fn is_of_checkpoints(layer: &Layer) -> bool {
    layer.kind == LayerKind::Service && layer.name.contains('/')
}

/// How long flushes take on average.
struct Mean<'a> {
    seconds: f64,
    /// The figures that say so.
    of: &'a Summary,
    when: &'static str,
}

fn mean(activity: &Activity) -> Option<Mean<'_>> {
    if let Some(of) = activity.mean(Quantity::FlushLatency, Span::Interval) {
        return Some(Mean {
            seconds: of.mean.get(),
            of,
            when: "",
        });
    }
    let counters = activity.cumulative(Quantity::FlushLatency)?;
    let (seconds, when) = match counters.between() {
        Some((seconds, _)) => (seconds, " between two readings"),
        None => (counters.mean(), " since the counters began"),
    };
    Some(Mean {
        seconds,
        of: counters.time,
        when,
    })
}

fn of_mean(id: LayerId, layer: &Layer, target: f64, mean: &Mean<'_>) -> Option<Finding> {
    let Mean { seconds, of, when } = mean;
    if *seconds <= target {
        return None;
    }
    let title = format!(
        "{} flushes take {} on average{when}, where one in a hundred may take {}",
        titled(layer),
        time(*seconds),
        time(target)
    );
    let finding = Finding::new(RULE.code, Severity::Warning, id, title);
    let label = match when.is_empty() {
        true => format!(
            "the longest mean of an interval = {}",
            time(of.max.value.get())
        ),
        false => format!("sum of the times = {}", time(of.max.value.get())),
    };
    Some(
        show_largest(finding, of, label)
            .help("a device with power-loss protection, and nothing else on it"),
    )
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::LayerKind;
    use straddle_stack::activity::{Quantity, Span, Statistic};

    #[test]
    fn the_99th_percentile_is_compared_with_the_target() {
        let lab = |value: f64| {
            let mut lab = Lab::new();
            let statistic = Statistic::Percentile(99_000);
            lab.active_as(
                LayerKind::Service,
                statistic,
                (Quantity::FlushLatency, Span::Run, &[value]),
            );
            lab
        };
        lab(0.010).none(&RULE);
        lab(0.014_746).one(&RULE, Severity::Warning, "14.7 ms ÷ 10.0 ms = 1.47");
    }

    #[test]
    fn a_mean_above_what_one_in_a_hundred_may_take_is_told() {
        let lab = |kind: LayerKind, series: &[(Quantity, Span, &[f64])]| {
            let mut lab = Lab::new();
            lab.active(kind, &[], series);
            lab.findings(&RULE)
        };
        let disk = LayerKind::Filesystem;
        let awaits = |values| lab(disk, &[(Quantity::FlushLatency, Span::Interval, values)]);
        assert!(awaits(&[0.009, 0.010]).is_empty());
        let found = awaits(&[0.002, 1.25]);
        assert_eq!(found.len(), 1);
        assert!(
            found[0]
                .title
                .contains("flushes take 626 ms on average, where"),
            "{}",
            found[0].title
        );
        let syncs = [
            (Quantity::Flushes, Span::SinceStart, &[100.0, 300.0][..]),
            (Quantity::FlushTime, Span::SinceStart, &[1.0, 9.0]),
        ];
        let found = lab(LayerKind::Service, &syncs);
        assert!(
            found[0]
                .title
                .contains("40.0 ms on average between two readings"),
            "{}",
            found[0].title
        );
    }

    #[test]
    fn what_the_server_said_itself_is_an_error() {
        let mut lab = Lab::new();
        lab.active_as(
            LayerKind::Service,
            Statistic::Max,
            (Quantity::FlushLatency, Span::Event, &[1.3, 2.5]),
        );
        let found = lab.findings(&RULE);
        assert_eq!(found[0].severity, Severity::Error);
        assert!(found[0].title.contains("2 flushes"), "{}", found[0].title);
    }
}
