use crate::context::Findings;
use crate::repair::GUEST;
use crate::shared::guest::{blame, is_on};
use crate::shared::pieces::{HARD, off};
use crate::shared::start::say_what_is_free;
use crate::{Context, Finding, Page, Repair, RepairKind, Rule, Status, codes};
use straddle_geometry::both_ways;

pub(crate) static RULE: Rule = Rule {
    code: codes::GUEST_ALIGNED_HOST_OFF,
    name: "guest-aligned-host-off",
    summary: "guest's partition is aligned in its virtual disk, but the host's partition below is not",
    status: Status::Stable,
    repair: Repair::ByOr(&[RepairKind::Image], GUEST),
    page: Page {
        checks: "Guest partitions that begin on the grid inside their virtual disk and yet miss it, because the partition or volume of the host that the virtual \
                 disk lies on does not begin on it.",
        why: "Every request of every guest on the host's partition is off by that partition's start, although every tool inside the guest \
              says that all is well. What the guest sends to byte 1,048,576 of its disk arrives on the host's disk that far past the start \
              of the host's partition.",
        evidence: "The guest's table, the container's block table, the place of the file in the host's filesystem and the host's own table, composed.",
        example: "Host partition at sector 63, qcow2 on it, guest partition at 1 MiB: 1,048,576 = 256 × 4,096, but 32,256 = 7 × 4,096 + 3,584. Every 4 KiB write of \
                  the guest rewrites two sectors.",
        fix: "Move the host's partition: see the finding on it. The guests need no change.",
        fix_safety: "Move the virtual disks to other storage first; moving a partition under running guests is not possible.",
        references: &[
            "VMware, Recommendations for Aligning VMFS Partitions",
            "NetApp TR-3747: guest and host must both be aligned",
        ],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer) in context.data_partitions() {
        for grid in HARD.into_iter().flat_map(|role| context.below(id, role)) {
            let Some(blame) = blame(context, id, grid) else {
                continue;
            };
            let Some(host) = blame.host else {
                continue;
            };
            if blame.guest || blame.container || blame.file || is_on(&grid.seen) {
                continue;
            }
            let unit = grid.fact.value.unit();
            let name = grid.role.name();
            let below = context.stack.layer(host);
            let title = format!(
                "{} of the guest is aligned in its disk; {} of the host is off the {name} of {unit}",
                layer.name, below.name
            );
            let mut finding = Finding::priced(RULE.code, id, title, context.prices(grid));
            if let Some(placement) = &below.placement {
                let label = format!("the host's start = {}", both_ways(placement.value.start()));
                finding = finding.evidence_in(Some(host), &placement.source, label);
            }
            finding = finding.evidence(&grid.fact.source, format!("{name} = {unit}"));
            if let Some(line) = off(&grid.seen) {
                finding = finding.arithmetic(line);
            }
            let finding = finding.help(format!(
                "leave the guest alone; move {} of the host (see the finding on it)",
                below.name
            ));
            findings.push(say_what_is_free(finding));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;

    #[test]
    fn the_hosts_partition_is_named() {
        Lab::nested(63, 128).one(
            &RULE,
            Severity::Error,
            "131,072 of 131,072 bytes = 100% lie in pieces that are off the grid",
        );
    }

    #[test]
    fn an_aligned_host_and_a_guest_that_is_off_itself_are_silent() {
        Lab::nested(2048, 128).none(&RULE);
        Lab::nested(63, 63).none(&RULE);
    }
}
