use straddle_stack::{AnomalyKind, LayerKind};

use crate::context::Findings;
use crate::repair::FOREIGN_TABLE;
use crate::shared::anomalies::report;
use crate::{Context, Page, Repair, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::FOREIGN_SECTOR_SIZE,
    name: "foreign-sector-size",
    summary: "partition table was written for another sector size",
    status: Status::Stable,
    repair: Repair::None(FOREIGN_TABLE),
    page: Page {
        checks: "Whether the partition table counts in the device's own logical sectors. A GPT's header lies in sector 1: at byte 512 when \
                 it was written for 512-byte sectors, at byte 4,096 for 4,096-byte ones. Tables in virtual disks are the matter of STR408.",
        why: "Every start and length is wrong by a factor of eight, or the table is not seen at all: the disk looks empty, and an \
              installer offers to use it. A table holds sector numbers, not bytes, and was read with the other sector size.",
        evidence: "The place where the table's signature was found, and the logical sector size of the device (sysfs \
                   `queue/logical_block_size`, or `--logical-sector`).",
        example: "A 512e disk moved out of a USB bridge that presented 4,096-byte sectors: the header is at byte 4,096, the kernel looks at \
                  byte 512. Start 256 × 4,096 = 1,048,576, but 256 × 512 = 131,072.",
        fix: "Attach the disk the way it was partitioned, or read it through a loop device with the table's sector size (`losetup \
              --sector-size 4096 --partscan --find --show DISK`), and copy. To convert, write a new table with the same starts and lengths \
              in bytes.",
        fix_safety: "Do not let a partitioner `repair` the table: it would write one with wrong positions. Save the first and last 34 \
                     sectors of both sizes before any change.",
        references: &[
            "UEFI 2.10, 5.3.2 GPT header: in logical block 1",
            "https://github.com/systemd/systemd/issues/35258",
            "https://github.com/cloud-hypervisor/cloud-hypervisor/issues/8595",
        ],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    let mut found = Findings::new();
    report(
        RULE.code,
        context,
        &mut found,
        &[(AnomalyKind::ForeignSectorSize, Severity::Error)],
        "the operating system reads the table with the device's sectors, and finds other partitions or none",
        "attach it with the table's sector size (losetup --sector-size), or rewrite the table with the same positions in bytes",
    );
    // Virtual disks have other remedies: STR408.
    found.retain(|finding| context.stack.layer(finding.layer).kind != LayerKind::Container);
    findings.append(&mut found);
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::AnomalyKind;

    #[test]
    fn a_foreign_table_is_an_error() {
        let mut lab = Lab::new();
        let disk = lab.disk(4096);
        lab.odd(
            disk,
            AnomalyKind::ForeignSectorSize,
            "gpt for 4,096-byte sectors",
        );
        let findings = lab.findings(&RULE);
        assert_eq!(findings[0].severity, Severity::Error);
        assert_eq!(findings[0].title, "sda: gpt for 4,096-byte sectors");
    }

    #[test]
    fn other_anomalies_are_not_its_business() {
        let mut lab = Lab::new();
        let disk = lab.disk(4096);
        lab.odd(disk, AnomalyKind::Damaged, "x");
        lab.none(&RULE);
    }
}
