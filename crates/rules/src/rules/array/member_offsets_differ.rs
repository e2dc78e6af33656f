use straddle_geometry::{Bytes, both_ways};
use straddle_stack::{Fact, GridRole, Key, Layer, LayerKind, Seen, Value};

use crate::context::{Findings, is_believable};
use crate::repair::DATA_OFFSET;
use crate::wording::division;
use crate::{Context, Finding, Page, Repair, RepairKind, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::MEMBER_OFFSETS_DIFFER,
    name: "member-offsets-differ",
    summary: "data offset differs between the members of an array",
    status: Status::Stable,
    repair: Repair::ByOr(&[RepairKind::Array], DATA_OFFSET),
    page: Page {
        checks: "Whether the data of an array start at the same offset on every member, and where they do not, whether each of them is on \
                 the grids of what the member lies on.",
        why: "A start that is right for one member may be wrong for another, and no partition above can make up for both. The array works: \
              a member that was added later, by another version of mdadm or with less room, may have another data offset than the rest. It \
              also shows that the members were not created alike, which is worth knowing before the next one is replaced.",
        evidence: "The data offset in the superblock of each member, or sysfs `md/dev-*/offset`; the grids below each member.",
        example: "Two members of an array with data at 2,048 sectors, the third, replaced years later, at 264,192 sectors. Both are multiples \
                  of 1 MiB: the array is as good as before. At 2,050 sectors the third would be off every grid.",
        fix: "None is needed while every offset is on the grids below. Otherwise take the member that is off out of the array and let it be \
              added again: `mdadm /dev/mdN --fail /dev/X --remove /dev/X`, `mdadm --zero-superblock /dev/X`, `mdadm --manage /dev/mdN --add \
              /dev/X`. It then gets the offset of the others (tried with mdadm 4.2). An offset of your own cannot be given there: \
              --data-offset is not valid with --add. Where the others are off too, see STR206.",
        fix_safety: "While the member is rebuilt the array has less redundancy or none: `echo check > /sys/block/mdN/md/sync_action` first, \
                     and have a backup.",
        references: &[
            "mdadm(8), --data-offset",
            "Linux Documentation/admin-guide/md.rst: dev-XXX/offset",
        ],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer) in context.stack.iter() {
        if layer.kind != LayerKind::Array {
            continue;
        }
        let offsets = offsets(layer);
        let Some(first) = offsets.first() else {
            continue;
        };
        let Some(other) = offsets.iter().find(|other| other.value != first.value) else {
            continue;
        };
        // What is off a sector is another rule's, with its price.
        let mut off = None;
        for member in &layer.below {
            for grid in context
                .seen(*member)
                .iter()
                .filter(|grid| is_believable(grid))
            {
                let Seen::Uniform(seen) = grid.seen else {
                    continue;
                };
                let outside = offsets.iter().find(|offset| !seen.contains(offset.value));
                if let Some(outside) = outside.filter(|_| off.is_none()) {
                    off = Some((grid.role, seen, outside.value, *member));
                }
            }
        }
        if off.is_some_and(|(role, ..)| {
            matches!(role, GridRole::PhysicalSector | GridRole::IndirectionUnit)
        }) {
            continue;
        }
        let title = format!(
            "{}: its members begin their data at different offsets, {} and {}",
            layer.name, first.value, other.value
        );
        let severity = match off {
            Some(_) => Severity::Warning,
            None => Severity::Note,
        };
        let mut finding = Finding::new(RULE.code, severity, id, title)
            .evidence(
                &first.source,
                format!("data offset = {}", both_ways(first.value)),
            )
            .evidence(
                &other.source,
                format!("data offset = {}", both_ways(other.value)),
            );
        finding = match off {
            Some((role, grid, offset, member)) => finding
                .arithmetic(division(offset, grid))
                .note(format!(
                    "with {} of {} below {}, no start on the array is right for all members",
                    role.name(),
                    grid.unit(),
                    context.stack.layer(member).name
                ))
                .help("remove the member that is off, mdadm --zero-superblock it, and mdadm --add it again: it gets the offset of the others"),
            None => finding.note("all of them are on every boundary that is known below: this costs nothing"),
        };
        findings.push(finding);
    }
}

/// What is said of the members, in their order.
fn offsets(layer: &Layer) -> Vec<Fact<Bytes>> {
    let said = layer.attributes.iter().filter(|a| a.key == Key::DataOffset);
    said.filter_map(|attribute| match attribute.value.value {
        Value::Bytes(bytes) => Some(attribute.value.clone().map(|_| bytes)),
        _ => None,
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::{GridRole, Key};

    fn array(offsets: [u64; 2]) -> Lab {
        let mut lab = Lab::new();
        let members = [lab.disk(4096), lab.disk(4096)];
        for member in members {
            lab.grid(member, GridRole::EraseBlock, 16_384);
        }
        let array = lab.array(&members, 65_536, &offsets);
        for offset in offsets {
            lab.bytes(array, Key::DataOffset, offset);
        }
        lab
    }

    #[test]
    fn offsets_that_differ_are_told() {
        let even = array([1 << 20, 129 << 20]);
        let findings = even.findings(&RULE);
        assert_eq!((findings.len(), findings[0].severity), (1, Severity::Note));
        array([1 << 20, (1 << 20) + 4096]).one(
            &RULE,
            Severity::Warning,
            "1,052,672 = 64 × 16,384 + 4,096",
        );
    }

    #[test]
    fn off_a_sector_is_what_another_rule_says() {
        array([1 << 20, 2050 * 512]).none(&RULE);
    }

    #[test]
    fn equal_ones_are_not() {
        array([4096, 4096]).none(&RULE);
    }
}
