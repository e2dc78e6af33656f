use straddle_geometry::Unit;
use straddle_stack::{GridRole, Key, Layer, LayerKind, Trust, Value};

use crate::context::Findings;
use crate::known_lies::{LARGEST_OPTIMAL_IO, known};
use crate::repair::REPORTED;
use crate::{Context, Finding, Page, Repair, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::ARRAY_OPTIMAL_IO,
    name: "array-optimal-io",
    summary: "array's optimal_io_size is inflated by its members' and is not its full stripe",
    status: Status::Stable,
    repair: Repair::None(REPORTED),
    page: Page {
        checks: "Whether the `optimal_io_size` of an md array equals its stripe unit times its data members.",
        why: "LVM, parted and mkfs.xfs take the value for the stripe width and align, or stripe, to it. The kernel stacks limits by their \
              least common multiple. When a member reports a preferred size of its own (512 KiB, or one of the false values of STR501), \
              the array's becomes a multiple of both, up to gigabytes, and wraps.",
        evidence: "sysfs `queue/optimal_io_size` of the array beside `md/chunk_size`, `md/raid_disks` and `md/level`.",
        example: "RAID 0, 6 × 65,536 = 393,216; members report 524,288; the array says 1,572,864 = 4 × 393,216. Read as a stripe width it \
                  means 24 disks.",
        fix: "Give the true geometry: `mkfs.xfs -d su=64k,sw=6 DEVICE`, `mkfs.ext4 -E stride=16,stripe_width=96 DEVICE`, `pvcreate \
              --dataalignment 384k DEVICE` or a common multiple with 1 MiB.",
        fix_safety: "For filesystems that exist, STR302 and STR303 say whether they took the wrong value, and how to correct it in place.",
        references: &[
            "Linux block/blk-settings.c: blk_stack_limits",
            "https://bugs.debian.org/cgi-bin/bugreport.cgi?bug=1121006",
        ],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer) in context.of_kind(LayerKind::Array) {
        let (Some(optimal), Some((width, line))) =
            (layer.grid(GridRole::OptimalIo), stripe_width(layer))
        else {
            continue;
        };
        let size = optimal.value.unit();
        // What follows from the disks below is no report of the array.
        if optimal.trust >= Trust::Derived {
            continue;
        }
        if size == width || known(size.bytes()).is_some() {
            continue;
        }
        let severity = if size.bytes() > LARGEST_OPTIMAL_IO {
            Severity::Warning
        } else {
            Severity::Note
        };
        let relation = if size.bytes().is_multiple_of(width) {
            format!(
                "{} = {} × {}",
                size.bytes().grouped(),
                size.get() / width.get(),
                width.bytes().grouped()
            )
        } else {
            format!("{} ≠ {}", size.bytes().grouped(), width.bytes().grouped())
        };
        let title = format!(
            "{} reports an optimal I/O size of {size}; its stripes are {width} wide",
            layer.name
        );
        findings.push(
            Finding::new(RULE.code, severity, id, title)
                .evidence(&optimal.source, format!("optimal_io_size = {size}"))
                .arithmetic(line)
                .arithmetic(relation)
                .help("give tools the true geometry (su and sw, stride and stripe_width, --dataalignment)"),
        );
    }
}

/// The width of a full stripe, and its arithmetic.
fn stripe_width(layer: &Layer) -> Option<(Unit, String)> {
    let unit = layer.grid(GridRole::StripeUnit)?.value.unit();
    let Value::Count(members) = layer.attribute(Key::DataMembers)?.value else {
        return None;
    };
    let width = unit.checked_mul(members)?;
    Some((
        width,
        format!(
            "{members} × {} = {}",
            unit.bytes().grouped(),
            width.bytes().grouped()
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::{GridRole, Key, Value};

    fn array(optimal: u64) -> Lab {
        let mut lab = Lab::new();
        let members = [lab.disk(512), lab.disk(512)];
        let array = lab.array(&members, 65_536, &[0, 0]);
        lab.set(array, Key::DataMembers, Value::Count(6));
        lab.grid(array, GridRole::OptimalIo, optimal);
        lab
    }

    #[test]
    fn a_common_multiple_is_not_the_width() {
        let finding = array(1_572_864).one(&RULE, Severity::Note, "1,572,864 = 4 × 393,216");
        assert_eq!(finding.arithmetic[0], "6 × 65,536 = 393,216");
        array(393_216 * 64).one(&RULE, Severity::Warning, "25,165,824 = 64 × 393,216");
    }

    #[test]
    fn the_width_itself_is_silent() {
        array(393_216).none(&RULE);
    }
}
