use straddle_stack::activity::{Quantity, Role, Span};

use crate::context::Findings;
use crate::figures::{counted, number, whole};
use crate::shared::activity::{active, show_largest, titled};
use crate::{Context, Finding, Page, Repair, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::STALLED_REQUESTS,
    name: "stalled-requests",
    summary: "SQL Server waited 15 seconds or longer for requests to a file",
    status: Status::Stable,
    repair: Repair::None(
        "what stalls is found by looking at the storage at the times that are named",
    ),
    page: Page {
        checks: "Message 833 in the ERRORLOG: `SQL Server has encountered N occurrence(s) of I/O requests taking longer than 15 seconds to \
                 complete on file …`. Lines and occurrences are counted by file.",
        why: "The message is informational in form and serious in fact: a request that takes 15 seconds stops whoever waits for it. Nothing \
              that is off a grid makes a request 1,000 times slower; stalls come from paths that fail over, snapshots, backups that freeze a \
              disk, thin pools that are full, firmware, or a queue that others on the same disks have filled.",
        evidence: "The lines themselves, each with its file, database, and time. A line stands for all requests that one check found: every \
                   request is counted again at each check (every 5 s in newer versions) for as long as it waits, so that occurrences are no number of requests.",
        example: "37 occurrences on E:\\data\\sales.mdf in one line: when that line was written, 37 had been found waiting for 15 seconds or longer. \
                  Whether these are 37 requests or one that was found often, the line does not say.",
        fix: "Put the times beside what the storage team has: path failover, snapshots, backups, replication, thin provisioning. Look whether all \
              files of one volume stall at once (the volume, its path), or one file (a hot spot). On SQL Server 2005 and older a processor whose \
              clock drifts or changes with power saving makes false ones: then `Avg. Disk sec/Transfer` of the same minutes is low.",
        fix_safety: "Looking changes nothing; measure again after each change, one at a time.",
        references: &[
            "https://learn.microsoft.com/en-us/sql/relational-databases/errors-events/mssqlserver-833-database-engine-error",
            "https://bobsql.com/how-it-works-how-is-sql-server-error-833-15-sec-io-detected/: what is checked, and by which clock",
            "McBath, Database & Disk Configuration With SQL Server (SQL-DISK-005, 2007)",
        ],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer, activity) in active(context) {
        let Some(stalls) = activity.mean(Quantity::Stalled, Span::Event) else {
            continue;
        };
        let lines = stalls.count;
        // One line may be one failover; a log that stalls stops every transaction.
        let severity = match lines > 1 || activity.roles.contains(&Role::Log) {
            true => Severity::Error,
            false => Severity::Warning,
        };
        let sum = stalls.sum.get();
        let title = format!(
            "{} {} of requests that waited 15 s or longer, {} in all",
            titled(layer),
            counted(lines, "line"),
            counted(whole(sum), "occurrence")
        );
        let finding = Finding::new(RULE.code, severity, id, title).evidence(
            &stalls.first.source,
            format!(
                "the first line: occurrences = {}",
                number(stalls.first.value.get())
            ),
        );
        let mut finding = match lines {
            1 => finding,
            _ => show_largest(
                finding,
                stalls,
                format!(
                    "the most in one line: occurrences = {}",
                    number(stalls.max.value.get())
                ),
            )
            .arithmetic(format!(
                "{} ÷ {lines} lines = {} a check",
                number(sum),
                number(stalls.mean.get())
            )),
        };
        if let (Some(first), Some(last)) = (stalls.first.at, stalls.last.at) {
            finding = finding.note(match first == last {
                true => format!("at {first}"),
                false => format!("from {first} to {last}"),
            });
        }
        findings.push(
            finding
                .note(
                    "an occurrence is a request at one check: who waits longer is counted again at the next",
                )
                .help("what else the storage did at those times: failover, snapshots, backups, a full thin pool"),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::LayerKind;
    use straddle_stack::activity::{Quantity, Role, Span};

    #[test]
    fn one_line_is_a_warning_and_more_or_a_log_an_error() {
        let lab = |values: &[f64], roles: &[Role]| {
            let mut lab = Lab::new();
            lab.active(
                LayerKind::File,
                roles,
                &[(Quantity::Stalled, Span::Event, values)],
            );
            lab
        };
        assert!(lab(&[37.0], &[]).findings(&RULE)[0].severity == Severity::Warning);
        lab(&[37.0, 3.0], &[]).one(&RULE, Severity::Error, "40 ÷ 2 lines = 20 a check");
        assert!(lab(&[1.0], &[Role::Log]).findings(&RULE)[0].severity == Severity::Error);
        Lab::new().none(&RULE);
    }
}
