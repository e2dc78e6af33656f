use straddle_stack::activity::{Quantity, Span};

use crate::context::Findings;
use crate::figures::number;
use crate::shared::activity::{active, titled};
use crate::{Context, Finding, Page, Repair, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::MISALIGNED_LOG_IO,
    name: "misaligned-log-io",
    summary: "log blocks were made for smaller physical sectors than the log lies on now",
    status: Status::Stable,
    repair: Repair::None(
        "trace flag 1800 on every server, or logs on disks of one physical sector size",
    ),
    page: Page {
        checks: "Message 9012 in the ERRORLOG: `There have been N misaligned log IOs which required falling back to synchronous IO`.",
        why: "The blocks of a transaction log are multiples of the physical sector of the disk on which it was made. Sent to a replica whose \
              disk has larger sectors (512 bytes here, 4,096 there), or after the file was moved to such a disk, a block covers sectors in part: \
              SQL Server writes it synchronously, and the disk reads, changes and writes the sector.",
        evidence: "The message, with the file that was written. The number counts since the start of the instance.",
        example: "256 misaligned log IOs on L:\\log\\sales.ldf: the primary's log lies on 512-byte sectors, this replica's on 4,096.",
        fix: "Start SQL Server with trace flag 1800 (`-T1800`) on every server of the availability group or of log shipping: logs are then written \
              for 4,096 bytes whatever the disk says. What it changes is where the sectors are smaller; Microsoft asks for it on all servers. Or put \
              all logs on disks of one physical sector size: `fsutil fsinfo sectorinfo L:` on every replica says which has which.",
        fix_safety: "The flag changes no data. With it, small commits take 4,096 bytes of log each instead of 512.",
        references: &[
            "https://learn.microsoft.com/en-us/troubleshoot/sql/database-engine/performance/performance-degradation-misaligned-io-sector-error",
            "https://support.microsoft.com/kb/3009974: trace flag 1800, on all servers",
        ],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer, activity) in active(context) {
        let Some(writes) = activity.mean(Quantity::MisalignedLogIo, Span::Event) else {
            continue;
        };
        let title = format!(
            "{} {} log writes did not lie on physical sectors and were made synchronous",
            titled(layer),
            number(writes.max.value.get())
        );
        findings.push(
            Finding::new(RULE.code, Severity::Warning, id, title)
                .evidence(&writes.max.source, format!("misaligned log writes = {}", number(writes.max.value.get())))
                .note("the number counts since the instance started; the lines are not to be added up")
                .help("compare `fsutil fsinfo sectorinfo` of the log's volume on every replica; trace flag 1800 is set on all of them"),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::Lab;
    use straddle_stack::LayerKind;
    use straddle_stack::activity::{Quantity, Span};

    #[test]
    fn the_largest_number_is_the_last_one_of_a_counter() {
        let mut lab = Lab::new();
        lab.active(
            LayerKind::File,
            &[],
            &[(Quantity::MisalignedLogIo, Span::Event, &[256.0, 512.0])],
        );
        let found = lab.findings(&RULE);
        assert!(
            found[0].title.contains(": 512 log writes"),
            "{}",
            found[0].title
        );
        Lab::new().none(&RULE);
    }
}
