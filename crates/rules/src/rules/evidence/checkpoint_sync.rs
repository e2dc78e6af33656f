use straddle_stack::activity::{Quantity, Span};

use crate::context::Findings;
use crate::figures::{percent, time};
use crate::shared::activity::{active, show_largest, titled};
use crate::{Context, Finding, Page, Repair, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::CHECKPOINT_SYNC,
    name: "checkpoint-sync",
    summary: "checkpoints wait for the disk when they make their writes durable",
    status: Status::Stable,
    repair: Repair::None(
        "the disk is too slow for what a checkpoint brings at once, or its cache is not safe to use",
    ),
    page: Page {
        checks: "`checkpoint complete` in the log of PostgreSQL: how long a checkpoint waited in `sync`, and the longest wait for one file.",
        why: "`write` is spread over the time between checkpoints on purpose and says nothing of the disk: 270 s are \
              checkpoint_completion_target at work. `sync` is fsync, which waits until the device has everything: that is the disk, and while it \
              lasts, commits wait behind it.",
        evidence: "The lines of the log of PostgreSQL, each with its time.",
        example: "write=269.953 s, sync=4.210 s, total=274.301 s; longest=3.871 s: writing was spread, and then one file took 3.9 s to become durable.",
        fix: "Let the kernel write earlier (checkpoint_flush_after, vm.dirty_background_bytes), put the log of the database on a disk of its own, \
              and look at the latency of flushes of the device (iostat f_await, fio --fdatasync=1).",
        fix_safety: "None of these settings risks data. Turning fsync or full_page_writes off does.",
        references: &["https://www.postgresql.org/docs/current/wal-configuration.html"],
    },
    check,
};

/// Longer than a second is seen by whoever commits.
const LONG: f64 = 1.0;

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer, activity) in active(context) {
        let Some(sync) = activity.mean(Quantity::CheckpointSync, Span::Event) else {
            continue;
        };
        let longest = activity.mean(Quantity::CheckpointLongestSync, Span::Event);
        let worst = longest.unwrap_or(sync);
        if worst.max.value.get() < LONG {
            continue;
        }
        let above = worst.distribution.above(LONG);
        let severity = match above >= 0.05 {
            true => Severity::Warning,
            false => Severity::Note,
        };
        let what = if longest.is_some() {
            "one file"
        } else {
            "the disk"
        };
        let title = format!(
            "{} {} of {} checkpoints waited longer than {} for {what}, at most {}",
            titled(layer),
            percent(above),
            worst.count,
            time(LONG),
            time(worst.max.value.get())
        );
        let finding = Finding::new(RULE.code, severity, id, title);
        let label = format!("the longest wait = {}", time(worst.max.value.get()));
        findings.push(
            show_largest(finding, worst, label)
                .note("write= is spread over the time between checkpoints on purpose; sync= is the disk")
                .help("the latency of flushes: `iostat -x` (f_await), or `fio --fdatasync=1` on the same filesystem"),
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
    fn waiting_for_the_disk_counts_and_writing_does_not() {
        let lab = |sync: &[f64], longest: &[f64]| {
            let mut lab = Lab::new();
            let series = [
                (Quantity::CheckpointWrite, Span::Event, &[269.0][..]),
                (Quantity::CheckpointSync, Span::Event, sync),
                (Quantity::CheckpointLongestSync, Span::Event, longest),
            ];
            lab.active(LayerKind::Service, &[], &series);
            lab
        };
        lab(&[2.0], &[0.3]).none(&RULE);
        let found = lab(&[4.2, 0.1], &[3.9, 0.01]).findings(&RULE);
        assert_eq!(found[0].severity, Severity::Warning);
        assert!(
            found[0].title.contains("50% of 2 checkpoints"),
            "{}",
            found[0].title
        );
    }
}
