use straddle_geometry::{Bytes, both_ways};

use crate::context::Findings;
use crate::repair::GUEST;
use crate::shared::guest::{blame, is_on};
use crate::shared::pieces::HARD;
use crate::{Context, Finding, Page, Repair, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::GUEST_AND_HOST_CANCEL,
    name: "guest-and-host-cancel",
    summary: "guest's partition and the layers below are both misaligned, but cancel out",
    status: Status::Stable,
    repair: Repair::None(GUEST),
    page: Page {
        checks: "Guest partitions that do not begin on the grid inside their virtual disk, nor does what lies below, but whose offsets add up to the grid.",
        why: "Nothing is lost now. But tools that look at the guest alone report it as misaligned, and whoever fixes one side, or moves \
              the virtual disk to aligned storage, makes it worse: the other side's offset then stands alone.",
        evidence: "The guest's table, the container's block table, the place of the file and the host's own table, composed.",
        example: "Host partition at sector 63, guest partition at sector 65: 32,256 + 33,280 = 65,536 = 16 × 4,096. On a host partition at 1 MiB the same guest would \
                  be off by 512 bytes.",
        fix: "Leave it as it is until the virtual disk moves; then move the guest's partition too.",
        fix_safety: "Write it down where whoever migrates the virtual disk will read it.",
        references: &["NetApp TR-3747: guest and host must both be aligned"],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer) in context.data_partitions() {
        for grid in HARD.into_iter().flat_map(|role| context.below(id, role)) {
            let Some(blame) = blame(context, id, grid) else {
                continue;
            };
            if !(blame.guest && is_on(&grid.seen)) {
                continue;
            }
            let unit = grid.fact.value.unit();
            let name = grid.role.name();
            let container = crate::shared::guest::container_below(context.stack, id);
            let start = container.and_then(|container| context.stack.start_in(id, container));
            let start = start.unwrap_or(Bytes::ZERO);
            let title = format!(
                "{}: off the {name} of {unit} in its disk, which is off it too; together they are on it",
                layer.name
            );
            let path = context.stack.path_of(id, Bytes::ZERO);
            let there = path.iter().find(|(below, _)| *below == grid.layer);
            let mut finding = Finding::new(RULE.code, Severity::Note, id, title);
            if let Some(placement) = &layer.placement {
                let label = format!("start in the virtual disk = {}", both_ways(start));
                finding = finding.evidence(&placement.source, label);
            }
            let in_disk = format!(
                "in the virtual disk: {} = {} × {} + {}",
                start.grouped(),
                start.div_rem(unit).0,
                unit.bytes().grouped(),
                start.div_rem(unit).1.grouped()
            );
            finding = finding
                .evidence(&grid.fact.source, format!("{name} = {unit}"))
                .arithmetic(in_disk);
            if let Some((below, at)) = there {
                finding = finding.arithmetic(format!(
                    "in {}: {} = {} × {} + {}",
                    context.stack.layer(*below).name,
                    at.grouped(),
                    Bytes::new(at.div_rem(unit).0).grouped(),
                    unit.bytes().grouped(),
                    at.div_rem(unit).1.grouped()
                ));
            }
            findings.push(finding.help("leave both as they are; when the virtual disk moves to aligned storage, move the guest's partition"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;

    #[test]
    fn two_wrongs_that_make_a_right_are_named() {
        Lab::nested(63, 65).one(
            &RULE,
            Severity::Note,
            "in the virtual disk: 33,280 = 8 × 4,096 + 512",
        );
    }

    #[test]
    fn one_wrong_and_no_wrong_are_silent() {
        Lab::nested(63, 128).none(&RULE);
        Lab::nested(2048, 65).none(&RULE);
        Lab::nested(2048, 128).none(&RULE);
    }
}
