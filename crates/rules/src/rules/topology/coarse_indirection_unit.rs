use straddle_geometry::{Ratio, Unit};
use straddle_stack::{Fact, GridRole, Key, Layer, LayerKind};

use crate::context::Findings;
use crate::{Context, Finding, Page, Repair, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::COARSE_INDIRECTION_UNIT,
    name: "coarse-indirection-unit",
    summary: "requests are smaller than the drive's indirection unit: read-modify-write wherever they start",
    status: Status::Stable,
    repair: Repair::None(
        "no layout makes requests larger: only the application can, or a filesystem with blocks of that size",
    ),
    page: Page {
        checks: "Whether an NVMe drive's preferred write granularity (`minimum_io_size`) is larger than its physical sector, and larger than \
                 request sizes asked for.",
        why: "A write smaller than the indirection unit makes the drive read the unit, merge and write it whole. Dense flash (QLC) keeps \
              one map entry for 16 or 64 KiB to save memory. This is not misalignment and no start fixes it, but it costs the same kind of \
              operations, and `physical_block_size` does not show it: the kernel clamps that to the atomic write size.",
        evidence: "sysfs `queue/minimum_io_size` = LBA × (NPWG + 1), beside `queue/physical_block_size`. Never `optimal_io_size`.",
        example: "A 16 KiB unit: a random 4 KiB write rewrites 16,384 ÷ 4,096 = 4 times what was asked for, after reading it.",
        fix: "Let the layers above write whole units: ZFS `ashift=14`, a database page or filesystem block of 16 KiB where there is the \
              choice, a log-structured engine, or a write cache that merges. Otherwise put random small writes on another drive.",
        fix_safety: "Larger blocks waste space with small files and cannot be changed later without formatting.",
        references: &[
            "NVM Express NVM command set specification: NPWG",
            "https://github.com/ceph/ceph/pull/71954",
            "https://github.com/ceph/ceph/pull/70622",
        ],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer) in context.of_kind(LayerKind::Device) {
        let Some(unit) = indirection_unit(layer) else {
            continue;
        };
        let size = unit.value;
        let smaller: Vec<&Unit> = context.options.io.iter().filter(|io| **io < size).collect();
        // What is smaller is rewritten as a whole, always: from twice the amount on, half of the work is waste.
        let severity = if smaller.is_empty() {
            Severity::Note
        } else {
            Severity::Warning
        };
        let title = format!(
            "{} maps its flash in units of {size}: smaller writes are read-modify-write wherever they start",
            layer.name
        );
        let mut finding = Finding::new(RULE.code, severity, id, title)
            .evidence(&unit.source, format!("indirection unit = {size}"));
        if let Some(physical) = layer.grid(GridRole::PhysicalSector) {
            let label = format!("physical sector = {}", physical.value.unit());
            finding = finding.evidence(&physical.source, label);
        }
        for io in smaller {
            finding = finding.arithmetic(format!(
                "a write of {io}: {} ÷ {} = {} times the bytes, and a read before",
                size.bytes().grouped(),
                io.bytes().grouped(),
                times(size, *io)
            ));
        }
        findings.push(finding.help(
            "write whole units where there is the choice: ashift, database page, filesystem block",
        ));
    }
}

fn indirection_unit(layer: &Layer) -> Option<Fact<Unit>> {
    let nvme = layer.text(Key::Transport) == Some("nvme");
    let physical = layer
        .grid(GridRole::PhysicalSector)
        .map(|fact| fact.value.unit());
    let fact = layer
        .grid(GridRole::IndirectionUnit)
        .or_else(|| layer.grid(GridRole::MinimumIo).filter(|_| nvme))?;
    let unit = fact.value.unit();
    physical
        .is_none_or(|physical| unit > physical)
        .then(|| fact.clone().map(|grid| grid.unit()))
}

/// `4`, or `2.67` where it is no integer.
fn times(size: Unit, io: Unit) -> String {
    let ratio = Ratio::new(size.get(), io.get()).unwrap_or(Ratio::ZERO);
    if size.bytes().is_multiple_of(io) {
        format!("{}", size.get() / io.get())
    } else {
        format!("{:.2}", ratio.to_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::{GridRole, Key};

    fn drive(transport: &'static str, minimum: u64, io: &[u64]) -> Lab {
        let mut lab = Lab::new();
        lab.io(io);
        let disk = lab.disk(4096);
        lab.text(disk, Key::Transport, transport);
        lab.grid(disk, GridRole::MinimumIo, minimum);
        lab
    }

    #[test]
    fn small_writes_are_rewritten_whole() {
        let finding = drive("nvme", 16_384, &[4096, 65_536]).one(
            &RULE,
            Severity::Warning,
            "a write of 4 KiB: 16,384 ÷ 4,096 = 4 times the bytes, and a read before",
        );
        assert_eq!(finding.arithmetic.len(), 1);
        let large = drive("nvme", 16_384, &[65_536]).findings(&RULE);
        assert_eq!(large[0].severity, Severity::Note);
    }

    #[test]
    fn stripe_units_and_sectors_are_not_indirection_units() {
        drive("fc", 65_536, &[4096]).none(&RULE);
        drive("nvme", 4096, &[4096]).none(&RULE);
    }
}
