use straddle_stack::{Key, Layer, Value};

use crate::context::Findings;
use crate::repair::REPORTED;
use crate::{Context, Finding, Page, Repair, RepairKind, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::KERNEL_SAYS_MISALIGNED,
    name: "kernel-says-misaligned",
    summary: "kernel reports alignment_offset −1: the limits of the devices below contradict each other",
    status: Status::Stable,
    repair: Repair::ByOr(&[RepairKind::Array], REPORTED),
    page: Page {
        checks: "Whether the kernel says `alignment_offset` = −1. It does when a device is stacked from others, and what it expects of one \
                 of them does not fit what it has so far.",
        why: "cryptsetup and LVM treat −1 as 0, so what they place may be misaligned on some of the members, without a warning. It is not \
              an offset: the kernel gives up saying where a boundary is. As a rule no start is then aligned for everything below.",
        evidence: "sysfs `alignment_offset` of the device; only the lowest layer that says it is reported.",
        example: "md RAID 0 with a chunk of 64 KiB over drives whose first boundary is at 3,584. Where the two offsets differ, the kernel \
                  adds to each its own larger of physical sector and minimum I/O size, and asks whether the larger sum is a multiple of the \
                  smaller: 65,536 + 0 and 4,096 + 3,584 = 7,680; 65,536 = 8 × 7,680 + 4,096, so it answers −1. What that test stands for is \
                  right here: 3,584 mod 4,096 ≠ 0, so no chunk starts on a sector.",
        fix: "Look at the members: give them partitions that start on their own boundary (STR109 and STR206 name it), and build the array on \
              those.",
        fix_safety: "Rebuilding an array member by member lowers its redundancy meanwhile; have a backup that was test-restored.",
        references: &[
            "Linux block/blk-settings.c: blk_stack_limits, BLK_FLAG_MISALIGNED",
            "Linux Documentation/ABI/stable/sysfs-block: alignment_offset",
        ],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer) in context.stack.iter() {
        let Some(fact) = layer.attribute(Key::AlignmentOffset) else {
            continue;
        };
        let lower = context.stack.foundations(id);
        if !says_misaligned(layer)
            || lower
                .iter()
                .any(|below| says_misaligned(context.stack.layer(*below)))
        {
            continue;
        }
        let title = format!(
            "the kernel calls {} misaligned with what lies below it",
            layer.name
        );
        findings.push(
            Finding::new(RULE.code, Severity::Warning, id, title)
                .evidence(&fact.source, "alignment_offset = -1")
                .arithmetic("−1 is no offset: the limits of what lies below do not fit together")
                .note("cryptsetup and LVM take it for 0")
                .help("compare the physical sectors and data offsets of the members below"),
        );
    }
}

fn says_misaligned(layer: &Layer) -> bool {
    matches!(
        layer.attribute(Key::AlignmentOffset).map(|fact| &fact.value),
        Some(Value::SignedBytes(n)) if *n < 0
    )
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::{Key, Value};

    #[test]
    fn only_the_lowest_layer_is_named() {
        let mut lab = Lab::new();
        let members = [lab.disk(4096), lab.disk(4096)];
        let array = lab.array(&members, 65_536, &[0, 0]);
        let partition = lab.partition(array, 2048);
        for id in [array, partition] {
            lab.set(id, Key::AlignmentOffset, Value::SignedBytes(-1));
        }
        let finding = lab.one(
            &RULE,
            Severity::Warning,
            "−1 is no offset: the limits of what lies below do not fit together",
        );
        assert_eq!(finding.layer, array);
    }

    #[test]
    fn offsets_are_not_contradictions() {
        let mut lab = Lab::new();
        let disk = lab.disk(4096);
        lab.set(disk, Key::AlignmentOffset, Value::SignedBytes(3584));
        lab.none(&RULE);
    }
}
