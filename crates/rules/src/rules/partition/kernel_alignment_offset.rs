use straddle_stack::{GridRole, Key, Value};

use crate::context::Findings;
use crate::repair::REPORTED;
use crate::shared::start::partition_starts;
use crate::wording::remainder_line;
use crate::{Context, Finding, Page, Repair, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::KERNEL_ALIGNMENT_OFFSET,
    name: "kernel-alignment-offset",
    summary: "kernel reports an aligned partition as misaligned: it compares with the minimum I/O size",
    status: Status::Stable,
    repair: Repair::None(REPORTED),
    page: Page {
        checks: "Whether the kernel's `alignment_offset` of a partition is above zero although the partition starts on a physical sector. \
                 The kernel counts from the start of the disk that the partition is one of, and knows that disk's limits only: of a loop \
                 device or a logical volume it does not know where it lies.",
        why: "It costs nothing at the physical sector. The kernel measures a partition against the larger of the physical sector and \
              `minimum_io_size`, so on a device that reports a stripe unit it does not answer `is it on a sector`. Tools that print only \
              this number (`lsblk -t`, column ALIGNMENT) then alarm people for the wrong reason, and mkfs tools warn.",
        evidence: "sysfs `alignment_offset` of the partition beside the disk's `physical_block_size` and `minimum_io_size`.",
        example: "A drive with alignment_offset 3,584 and a minimum I/O size of 65,536: the partition at sector 63 is on a sector boundary \
                  (32,256 = 3,584 + 7 × 4,096), yet the kernel reports 36,864, the distance to the next multiple of 64 KiB counted from 3,584.",
        fix: "Nothing for the sector. Where the minimum I/O size is a true stripe unit, STR102 or STR201 says what being off it costs.",
        fix_safety: "Do not move a partition to make this number zero unless a price is named for the stripe unit as well.",
        references: &[
            "Linux block/blk-settings.c: queue_limit_alignment_offset",
            "https://github.com/util-linux/util-linux/issues/1340",
        ],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    for start in partition_starts(context, GridRole::PhysicalSector) {
        let Some(fact) = start.layer.attribute(Key::AlignmentOffset) else {
            continue;
        };
        let off = match fact.value {
            Value::SignedBytes(n) if n > 0 => n.unsigned_abs(),
            Value::Bytes(bytes) => bytes.get(),
            _ => 0,
        };
        if off == 0 || !start.is_on_grid() {
            continue;
        }
        let title = format!(
            "the kernel reports an alignment offset for {}, which is on its physical sectors",
            start.layer.name
        );
        let mut finding = Finding::new(RULE.code, Severity::Note, start.id, title)
            .evidence(&fact.source, format!("alignment_offset = {off}"));
        // The kernel knows the disk that the partition is one of, with its own limits, and nothing of what that lies on.
        let disk = context.disk_of(start.id);
        let minimum = disk.and_then(|disk| context.stack.layer(disk).grid(GridRole::MinimumIo));
        if let Some(minimum) = minimum {
            finding = finding.evidence(
                &minimum.source,
                format!("minimum I/O size = {}", minimum.value.unit()),
            );
        }
        let note = match disk.filter(|disk| *disk != start.grid.layer) {
            None => "the kernel measures against the minimum I/O size, not the physical sector"
                .to_owned(),
            Some(disk) => format!(
                "the kernel counts from the start of {}, and does not know where that lies on {}",
                context.stack.layer(disk).name,
                context.stack.layer(start.grid.layer).name
            ),
        };
        findings.push(
            finding
                .arithmetic(remainder_line(start.layer, start.start, start.there))
                .note(note),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::{GridRole, Key, LayerKind, Value};

    #[test]
    fn the_kernel_measures_against_the_minimum() {
        let mut lab = Lab::new();
        let disk = lab.shifted_disk(3584);
        lab.grid(disk, GridRole::MinimumIo, 65_536);
        let partition = lab.partition(disk, 63);
        lab.set(partition, Key::AlignmentOffset, Value::SignedBytes(36_864));
        let finding = lab.one(
            &RULE,
            Severity::Note,
            "63 × 512 = 32,256 = 3,584 (first boundary) + 7 × 4,096 + 0",
        );
        assert_eq!(finding.evidence[0].label, "alignment_offset = 36864");
    }

    #[test]
    fn what_the_kernel_counts_from_is_named_in_every_nesting() {
        for (kind, format) in [
            (LayerKind::Volume, "lvm"),
            (LayerKind::Array, "raid1"),
            (LayerKind::Device, "loop"),
        ] {
            let mut lab = Lab::new();
            let disk = lab.disk(4096);
            // 512 bytes past a boundary, and sector 63 of it 4,096 + 3,584 − 512 further: on one.
            let inner = lab.upper(kind, format, disk, (1 << 30) + 512);
            lab.grid(inner, GridRole::MinimumIo, 4096);
            let partition = lab.partition(inner, 63);
            lab.set(partition, Key::AlignmentOffset, Value::SignedBytes(512));
            let findings = lab.findings(&RULE);
            assert_eq!(findings.len(), 1, "{format}: {findings:#?}");
            assert!(findings[0].notes[0].starts_with("the kernel counts from the start of"));
            assert!(findings[0].notes[0].ends_with("on sda"), "{findings:#?}");
        }
    }

    #[test]
    fn a_partition_that_is_off_is_another_rule_s() {
        let mut lab = Lab::new();
        let disk = lab.disk(4096);
        let off = lab.partition(disk, 63);
        lab.set(off, Key::AlignmentOffset, Value::SignedBytes(3584));
        let on = lab.partition(disk, 2048);
        lab.set(on, Key::AlignmentOffset, Value::SignedBytes(0));
        lab.none(&RULE);
    }
}
