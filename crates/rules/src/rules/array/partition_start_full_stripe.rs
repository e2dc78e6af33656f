use straddle_geometry::Ratio;
use straddle_stack::GridRole;

use crate::context::Findings;
use crate::shared::start::{has_parity, off_grid, partition_starts};
use crate::{Context, Page, Repair, RepairKind, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::PARTITION_START_FULL_STRIPE,
    name: "partition-start-full-stripe",
    summary: "partition starts inside a full stripe of a parity array",
    status: Status::Stable,
    repair: Repair::By(&[RepairKind::Partitions]),
    page: Page {
        checks: "Whether a partition starts on a full stripe (stripe unit × data members) of RAID 5, RAID 6 or an array whose width is given \
                 with `--stripe-width`. RAID 0, 1 and 10 have no parity, so only their stripe unit counts.",
        why: "A write that covers a full stripe lets the array compute parity from the new data alone. One that covers parts of two \
              stripes makes it read old data or old parity of both first. A start at 1 MiB is on a full stripe only \
              if the full stripe divides 1 MiB: with a power of two of data members, and not wider than that.",
        evidence: "sysfs `md/level`, `md/raid_disks` and `md/chunk_size`, the device-mapper table, or the flag.",
        example: "Three data members of 64 KiB: 1,048,576 = 5 × 196,608 + 65,536. Measured on a six-disk RAID 5, full-stripe writes of \
                  320 KiB: 5.84 member requests each at sector 2,560 (a multiple of 5 × 64 KiB), 8.92 at 2,048, 14.81 at 63.",
        fix: "For streams of large writes (backup targets, bulk loads, logs of an append-only store) start at a common multiple of 1 MiB and \
              the width: 3 MiB for 192 KiB, 5 MiB for 320 KiB. For small random requests do nothing: they never fill a stripe.",
        fix_safety: "Moving a partition rewrites all its data; have a backup that was test-restored. A filesystem on top must be told the \
                     geometry as well, or its own allocation undoes the gain (STR302, STR303).",
        references: &["Linux md(4), RAID5", "mkfs.xfs(8), su and sw"],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    for start in partition_starts(context, GridRole::FullStripe) {
        if !has_parity(context, start.grid) {
            continue;
        }
        let title = format!(
            "{} starts inside a full stripe of {}",
            start.layer.name,
            start.unit()
        );
        let Some(finding) = off_grid(RULE.code, context, &start, title) else {
            continue;
        };
        let reached = context.options.io.iter().any(|io| *io >= start.unit());
        findings.push(if reached || finding.worst_price() == Ratio::ZERO {
            finding
        } else {
            finding.at_most(
                Severity::Note,
                "no request size asked for fills a stripe, so none can be written without reading first wherever it starts",
            )
        });
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::{GridRole, Key};

    fn raid(level: &'static str, sector: u64, io: &[u64]) -> Lab {
        let mut lab = Lab::new();
        lab.io(io);
        let array = lab.disk(512);
        lab.text(array, Key::Level, level);
        lab.grid(array, GridRole::FullStripe, 196_608);
        lab.partition(array, sector);
        lab
    }

    #[test]
    fn one_mebibyte_is_off_three_times_64_kib() {
        let line = "2,048 × 512 = 1,048,576 = 5 × 196,608 + 65,536";
        raid("raid5", 2048, &[8192]).one(&RULE, Severity::Note, line);
        let finding = raid("raid5", 2048, &[196_608]).one(&RULE, Severity::Error, line);
        // The 3 MiB boundary is the next that is both.
        assert!(finding.help[0].starts_with("start it at 3 MiB"));
    }

    #[test]
    fn common_multiples_and_arrays_without_parity_are_silent() {
        raid("raid5", 6144, &[196_608]).none(&RULE);
        raid("raid10", 2048, &[196_608]).none(&RULE);
    }
}
