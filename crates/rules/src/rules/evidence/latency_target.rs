use straddle_stack::activity::{Activity, Cumulative, Quantity, Span, Summary};
use straddle_stack::{Layer, LayerId, LayerKind};

use crate::context::Findings;
use crate::figures::{counted, number, percent, time};
use crate::shared::activity::{active, show_largest, titled};
use crate::{Context, Finding, Page, Repair, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::LATENCY_TARGET,
    name: "latency-target",
    summary: "requests take longer than the target for what is kept there",
    status: Status::Stable,
    repair: Repair::None(
        "latency has many causes; the other findings on the volume say which are there",
    ),
    page: Page {
        checks: "Latency of reads, of writes, or of both, or of a hypervisor's commands as its guests see them, against a target: 20 ms for data and \
                 tempdb, 10 ms for the writes of a log, or what --target says. Means of intervals by the share of intervals above it; sums of counters by the mean since they began, and between \
                 two readings.",
        why: "A database waits for its reads, and every commit for its log. A mean hides: of 99 requests at 1 ms and one at 2 s the mean is 21 ms. \
              So the share of time and the 95th percentile of the means are told too, as far as the data allow it.",
        evidence: "The figures of the captures, each with file and line: Performance Monitor, iostat, sar, esxtop, file statistics, status of InnoDB.",
        example: "avg. disk sec/write of a log: 180 of 1,440 intervals above 10 ms = 12.5%: a warning, even though the mean is 4 ms.",
        fix: "Look at what else is found on the volume: stripes that requests straddle, queues longer than its disks can serve, split requests, \
              large requests (a backup) beside small ones. Compare with what the device can do (straddle bench) and what alignment would gain \
              (straddle predict).",
        fix_safety: "Looking changes nothing; measure again after each change, one at a time.",
        references: &[
            "McBath, Database & Disk Configuration With SQL Server (SQL-DISK-005, 2007): 20 ms for data, 10 ms for the log",
            "https://learn.microsoft.com/en-us/troubleshoot/sql/database-engine/performance/troubleshoot-sql-io-performance",
        ],
    },
    check,
};

const LATENCIES: [(Quantity, &str); 5] = [
    (Quantity::ReadLatency, "reads"),
    (Quantity::WriteLatency, "writes"),
    (Quantity::TransferLatency, "requests"),
    (Quantity::GuestLatency, "commands of guests"),
    (Quantity::DeviceLatency, "commands of the host"),
];

/// A guest waits for the device as well: the device by itself is told where the guests' time is not known.
fn is_part_of_another(latency: Quantity, activity: &Activity) -> bool {
    latency == Quantity::DeviceLatency
        && activity
            .mean(Quantity::GuestLatency, Span::Interval)
            .is_some()
}

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer, activity) in active(context) {
        // A benchmark asks for as much as there is.
        if layer.kind == LayerKind::Service && activity.series.iter().any(|s| s.span == Span::Run) {
            continue;
        }
        for (latency, what) in LATENCIES {
            if is_part_of_another(latency, activity) {
                continue;
            }
            let Some((target, whose)) = context.options.targets.of(activity, latency) else {
                continue;
            };
            let about = About {
                id,
                layer,
                activity,
                what,
                target,
                whose,
            };
            let intervals = activity.mean(latency, Span::Interval);
            findings.extend(intervals.and_then(|summary| of_intervals(&about, summary)));
            let counters = activity.cumulative(latency);
            findings.extend(counters.and_then(|counters| of_counters(&about, &counters)));
            // What a tool divided itself is the same, rounded, and knows of no second reading.
            let since = activity
                .counter(latency)
                .filter(|_| activity.cumulative(latency).is_none());
            findings.extend(since.and_then(|summary| since_start(&about, summary)));
        }
    }
}

/// A mean of fewer requests says little.
const FEW: f64 = 30.0;

struct About<'a> {
    id: LayerId,
    layer: &'a Layer,
    activity: &'a Activity,
    what: &'static str,
    target: f64,
    whose: &'static str,
}

impl About<'_> {
    fn finding(&self, severity: Severity, title: &str) -> Finding {
        let title = format!("{} {} {title}", titled(self.layer), self.what);
        let finding = Finding::new(RULE.code, severity, self.id, title);
        match self.activity.roles.is_empty() {
            // What decides is then not known, only usual.
            true => finding.at_most(
                Severity::Warning,
                format!(
                    "compared with the target {}: {}; --target states another",
                    self.whose,
                    time(self.target)
                ),
            ),
            false => finding.note(format!(
                "the target {} is {}",
                self.whose,
                time(self.target)
            )),
        }
    }
}

fn of_intervals(about: &About<'_>, summary: &Summary) -> Option<Finding> {
    let share = summary.distribution.above(about.target);
    if share <= 0.0 {
        return None;
    }
    let severity = match share {
        s if s >= 0.5 => Severity::Error,
        s if s >= 0.05 => Severity::Warning,
        _ => Severity::Note,
    };
    let title = format!(
        "take longer than {} in {} of {}",
        time(about.target),
        percent(share),
        counted(summary.count, "interval")
    );
    let high = match summary.quantile(0.95) {
        Some(high) => format!(
            "; 95% of the intervals have a mean of at most {}",
            time(high)
        ),
        None => String::new(),
    };
    let mean = match summary.weighted {
        true => "mean of all requests",
        false => "mean of the intervals",
    };
    let finding = about.finding(severity, &title);
    let label = format!(
        "the longest mean of an interval = {}",
        time(summary.max.value.get())
    );
    let finding = show_largest(finding, summary, label)
        .note(format!("{mean} {}{high}", time(summary.mean.get())));
    Some(finding.note("each interval is a mean, which hides the slowest requests in it"))
}

fn of_counters(about: &About<'_>, counters: &Cumulative<'_>) -> Option<Finding> {
    let (mean, over) = match counters.between() {
        Some((mean, count)) => (
            mean,
            format!("on average, of {} between two readings", number(count)),
        ),
        None => (
            counters.mean(),
            "on average since the counters began".to_owned(),
        ),
    };
    if mean <= about.target {
        return None;
    }
    let title = format!("take {} {over}", time(mean));
    let time_sum = counters.time.last.value.get();
    let count = counters.count.last.value.get();
    let requests = counters.between().map_or(count, |(_, count)| count);
    let severity = match requests < FEW {
        true => Severity::Note,
        false => Severity::Warning,
    };
    let mut finding = about.finding(severity, &title);
    if requests < FEW {
        finding = finding.note("of so few requests one that is slow makes the mean");
    }
    for (summary, label) in [
        (counters.count, "number"),
        (counters.time, "sum of the times"),
    ] {
        let value = match label {
            "number" => number(summary.last.value.get()),
            _ => time(summary.last.value.get()),
        };
        let source = summary
            .last
            .source
            .as_ref()
            .unwrap_or(&summary.first.source);
        finding = finding.evidence(source, format!("{label} = {value}"));
    }
    finding = finding.arithmetic(format!(
        "{} ÷ {} = {} since the counters began",
        time(time_sum),
        number(count),
        time(counters.mean())
    ));
    if counters.between().is_some() {
        let (first_time, first_count) = (
            counters.time.first.value.get(),
            counters.count.first.value.get(),
        );
        finding = finding.arithmetic(format!(
            "({} − {}) ÷ ({} − {}) = {} between the readings",
            time(time_sum),
            time(first_time),
            number(count),
            number(first_count),
            time(mean)
        ));
    } else {
        finding = finding
            .note("an average since the start says nothing of now: nights and quiet weeks are in it")
            .help("take two readings some minutes apart, and give both: the difference is what goes on now");
    }
    Some(finding)
}

fn since_start(about: &About<'_>, summary: &Summary) -> Option<Finding> {
    let mean = summary.last.value.get();
    if mean <= about.target {
        return None;
    }
    let title = format!("take {} on average since the counters began", time(mean));
    let source = summary
        .last
        .source
        .as_ref()
        .unwrap_or(&summary.first.source);
    Some(
        about
            .finding(Severity::Warning, &title)
            .evidence(source, format!("latency = {}", time(mean)))
            .note(
                "an average since the start says nothing of now: nights and quiet weeks are in it",
            ),
    )
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::LayerKind;
    use straddle_stack::activity::{Quantity, Role, Span};

    fn lab(roles: &[Role], series: &[(Quantity, Span, &[f64])]) -> Lab {
        let mut lab = Lab::new();
        lab.active(LayerKind::Filesystem, roles, series);
        lab
    }

    #[test]
    fn the_share_of_intervals_above_the_target_decides() {
        let reads = |values: &[f64]| {
            let lab = lab(
                &[Role::Data],
                &[(Quantity::ReadLatency, Span::Interval, values)],
            );
            lab.findings(&RULE)
        };
        assert!(reads(&[0.020; 10]).is_empty());
        let mut values = [0.001; 100];
        values[7] = 0.5;
        assert_eq!(reads(&values)[0].severity, Severity::Note);
        values[..5].fill(0.021);
        let found = reads(&values);
        assert_eq!(found[0].severity, Severity::Warning);
        assert!(
            found[0]
                .title
                .contains("longer than 20.0 ms in 6.0% of 100 intervals"),
            "{}",
            found[0].title
        );
        values[..50].fill(0.021);
        assert_eq!(reads(&values)[0].severity, Severity::Error);
    }

    #[test]
    fn a_log_has_a_target_of_its_own_for_writes() {
        let writes = [(Quantity::WriteLatency, Span::Interval, &[0.015; 4][..])];
        assert_eq!(
            lab(&[Role::Log], &writes).findings(&RULE)[0].severity,
            Severity::Error
        );
        lab(&[Role::Data], &writes).none(&RULE);
        // Where nothing says what is kept there, the larger one, and no error.
        lab(&[], &writes).none(&RULE);
        let slow = [(Quantity::WriteLatency, Span::Interval, &[0.5; 4][..])];
        assert_eq!(
            lab(&[], &slow).findings(&RULE)[0].severity,
            Severity::Warning
        );
    }

    #[test]
    fn what_guests_wait_for_is_compared_with_the_target_and_the_device_alone_where_that_is_not_known()
     {
        let commands = |series: &[(Quantity, Span, &[f64])]| lab(&[], series).findings(&RULE);
        let device = (Quantity::DeviceLatency, Span::Interval, &[0.0349; 2][..]);
        let guest = (Quantity::GuestLatency, Span::Interval, &[0.0352; 2][..]);
        for (series, expected) in [
            (&[device, guest][..], "commands of guests take longer"),
            (&[device], "commands of the host take longer"),
        ] {
            let found = commands(series);
            assert_eq!(found.len(), 1);
            assert!(found[0].title.contains(expected), "{}", found[0].title);
        }
        let quick = (Quantity::GuestLatency, Span::Interval, &[0.003; 2][..]);
        assert!(commands(&[quick]).is_empty());
    }

    #[test]
    fn two_readings_count_for_more_than_the_time_since_the_start() {
        let counters = |reads, time| {
            lab(
                &[Role::Data],
                &[
                    (Quantity::Reads, Span::SinceStart, reads),
                    (Quantity::ReadTime, Span::SinceStart, time),
                ],
            )
        };
        // 100 ms on average, 10 ms now.
        counters(&[1000.0, 2000.0], &[190.0, 200.0]).none(&RULE);
        let line = "(130 s − 10.0 s) ÷ (3,000 − 1,000) = 60.0 ms between the readings";
        counters(&[1000.0, 3000.0], &[10.0, 130.0]).one(&RULE, Severity::Warning, line);
        let line = "100 s ÷ 1,000 = 100 ms since the counters began";
        counters(&[1000.0], &[100.0]).one(&RULE, Severity::Warning, line);
        // Eight reads in between, of which one was slow.
        let line = "(10.4 s − 10.0 s) ÷ (1,008 − 1,000) = 50.0 ms between the readings";
        counters(&[1000.0, 1008.0], &[10.0, 10.4]).one(&RULE, Severity::Note, line);
    }

    #[test]
    fn a_mean_beside_the_counters_that_it_was_made_of_is_not_told_twice() {
        let mean = (Quantity::ReadLatency, Span::SinceStart, &[0.1][..]);
        let series = [
            (Quantity::Reads, Span::SinceStart, &[1000.0][..]),
            (Quantity::ReadTime, Span::SinceStart, &[100.0]),
            mean,
        ];
        let line = "100 s ÷ 1,000 = 100 ms since the counters began";
        lab(&[Role::Data], &series).one(&RULE, Severity::Warning, line);
        assert_eq!(lab(&[Role::Data], &[mean]).findings(&RULE).len(), 1);
    }
}
