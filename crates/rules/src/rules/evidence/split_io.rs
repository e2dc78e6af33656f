use straddle_stack::activity::{Quantity, Span};

use crate::context::Findings;
use crate::figures::{number, percent};
use crate::shared::activity::{active, show_largest, titled};
use crate::{Context, Finding, Page, Repair, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::SPLIT_IO,
    name: "split-io",
    summary: "Windows cuts requests in two before it sends them",
    status: Status::Stable,
    repair: Repair::None("the file is fragmented, or requests are larger than the adapter takes"),
    page: Page {
        checks: "`Split IO/Sec` of Performance Monitor as a share of `Disk Transfers/sec`: from 5% on.",
        why: "Windows splits a request when the file's next cluster lies elsewhere, or when it is larger than the adapter takes at once. The \
              counter does not see what controllers and arrays split below: a request that straddles a stripe is one for Windows.",
        evidence: "The means of both counters over the same intervals of one capture, with the file and line of each.",
        example: "60 of 1,200 transfers a second are split: 5%.",
        fix: "`contig -a FILE` or `fsutil file queryextents FILE` tells how many fragments a file has; make database files in full size, once. For \
              requests that straddle stripes see what straddle check says of the volume: this counter is no witness for alignment.",
        fix_safety: "Defragmenting a database file while it is in use costs as much I/O as it has bytes; back up first.",
        references: &[
            "https://learn.microsoft.com/en-us/archive/blogs/askcore/windows-performance-monitor-disk-counters-explained",
        ],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer, activity) in active(context) {
        let Some(split) = activity.mean(Quantity::SplitRate, Span::Interval) else {
            continue;
        };
        let mean = |quantity| {
            activity
                .mean(quantity, Span::Interval)
                .map(|rate| rate.mean.get())
        };
        let transfers = mean(Quantity::TransferRate)
            .or_else(|| Some(mean(Quantity::ReadRate)? + mean(Quantity::WriteRate)?));
        let Some(transfers) = transfers.filter(|rate| *rate > 0.0) else {
            continue;
        };
        let share = split.mean.get() / transfers;
        if share < 0.05 {
            continue;
        }
        let title = format!(
            "{} Windows splits {} of the requests",
            titled(layer),
            percent(share)
        );
        let finding = Finding::new(RULE.code, Severity::Warning, id, title);
        let label = format!(
            "the most split requests a second = {}",
            number(split.max.value.get())
        );
        findings.push(
            show_largest(finding, split, label)
                .arithmetic(format!(
                    "{} ÷ {} = {}",
                    number(split.mean.get()),
                    number(transfers),
                    percent(share)
                ))
                .note("splits below Windows, at stripes and flash pages, are not in this counter")
                .help("fragments of the files on it: fsutil file queryextents FILE"),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::LayerKind;
    use straddle_stack::activity::{Quantity, Span};

    #[test]
    fn from_one_in_twenty_on() {
        let lab = |split: f64| {
            let mut lab = Lab::new();
            let series = [
                (Quantity::TransferRate, Span::Interval, &[1200.0][..]),
                (Quantity::SplitRate, Span::Interval, &[split]),
            ];
            lab.active(LayerKind::Filesystem, &[], &series);
            lab
        };
        lab(59.0).none(&RULE);
        lab(60.0).one(&RULE, Severity::Warning, "60 ÷ 1,200 = 5.0%");
    }
}
