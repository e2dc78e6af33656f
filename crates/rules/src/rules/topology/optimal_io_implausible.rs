use straddle_geometry::{Bytes, Unit};
use straddle_stack::{GridRole, Layer, LayerKind};

use crate::context::Findings;
use crate::known_lies::{LARGEST_OPTIMAL_IO, known};
use crate::repair::REPORTED;
use crate::wording::Correlation;
use crate::{Context, Finding, Page, Repair, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::OPTIMAL_IO_IMPLAUSIBLE,
    name: "optimal-io-implausible",
    summary: "reported optimal_io_size contradicts the device's other limits",
    status: Status::Stable,
    repair: Repair::None(REPORTED),
    page: Page {
        checks: "Whether `optimal_io_size` is a multiple of the physical sector and of `minimum_io_size`, and at most 16 MiB. Values known to \
                 be false have their own rule (STR501), md's common multiples too (STR507).",
        why: "Tools that believe the value put partitions and volumes off sector boundaries; very large values push the first extent far \
              into the device. A size that is not a whole number of sectors cannot be anything's preferred request.",
        evidence: "sysfs `queue/optimal_io_size` beside `physical_block_size` and `minimum_io_size`.",
        example: "optimal_io_size 12,582,400 on 4K sectors: 12,582,400 ÷ 4,096 = 3,071.875. A start aligned to it lies 3,584 bytes into \
                  a sector.",
        fix: "Ignore the value and align to 1 MiB: `parted -a minimal DISK mkpart data 1MiB 100%`, `pvcreate --dataalignment 1m DEVICE` for a new physical volume. \
              Newer kernels round it down to the physical sector; firmware updates of bridges and controllers sometimes correct it. It is \
              read-only: no setting of the running system changes it.",
        fix_safety: "Nothing needs to be moved for the value's sake; look at the findings for what was created with it.",
        references: &[
            "Linux drivers/scsi/sd.c: sd_validate_opt_xfer_size",
            "https://github.com/util-linux/util-linux/pull/1224",
        ],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer) in context.of_kind(LayerKind::Device) {
        let Some(optimal) = layer.grid(GridRole::OptimalIo) else {
            continue;
        };
        let size = optimal.value.unit().bytes();
        let lines = contradictions(layer, size);
        if lines.is_empty() || known(size).is_some() {
            continue;
        }
        let title = format!(
            "{} reports an optimal I/O size of {}, which contradicts its other limits",
            layer.name,
            size.grouped()
        );
        let mut finding = Finding::new(RULE.code, Severity::Warning, id, title).evidence(
            &optimal.source,
            format!("optimal_io_size = {}", size.grouped()),
        );
        finding.arithmetic = lines;
        findings.push(finding.help("align to 1 MiB whatever a tool suggests"));
    }
}

fn contradictions(layer: &Layer, size: Bytes) -> Vec<String> {
    let unit = |role| layer.grid(role).map(|fact| fact.value.unit());
    let mut lines: Vec<String> = [GridRole::PhysicalSector, GridRole::MinimumIo]
        .into_iter()
        .filter_map(|role| Some((role, unit(role)?)))
        .filter(|(_, unit): &(GridRole, Unit)| !size.is_multiple_of(*unit))
        .map(|(role, unit)| {
            let line = Correlation::new("optimal ÷ unit", size, unit).arithmetic();
            format!("{line} {}s", role.name())
        })
        .collect();
    if size > LARGEST_OPTIMAL_IO {
        lines.push(format!(
            "{} > {} = {LARGEST_OPTIMAL_IO}",
            size.grouped(),
            LARGEST_OPTIMAL_IO.grouped()
        ));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::GridRole;

    fn reports(optimal: u64, minimum: u64) -> Lab {
        let mut lab = Lab::new();
        let disk = lab.disk(4096);
        lab.grid(disk, GridRole::MinimumIo, minimum);
        lab.grid(disk, GridRole::OptimalIo, optimal);
        lab
    }

    #[test]
    fn each_contradiction_is_shown() {
        reports(12_582_400, 4096).one(
            &RULE,
            Severity::Warning,
            "12,582,400 ÷ 4,096 = 3,071.875 physical sectors",
        );
        reports(98_304, 65_536).one(
            &RULE,
            Severity::Warning,
            "98,304 ÷ 65,536 = 1.5 minimum I/O sizes",
        );
        reports(64 << 20, 65_536).one(&RULE, Severity::Warning, "67,108,864 > 16,777,216 = 16 MiB");
    }

    #[test]
    fn multiples_and_known_lies_are_silent() {
        reports(393_216, 65_536).none(&RULE);
        reports(33_553_920, 4096).none(&RULE);
    }
}
