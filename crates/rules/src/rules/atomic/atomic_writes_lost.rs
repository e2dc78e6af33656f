use straddle_geometry::{Bytes, Grid, Unit};
use straddle_stack::{Key, Layer};

use crate::context::Findings;
use crate::wording::{remainder_line, start_label};
use crate::{Context, Finding, Page, Repair, RepairKind, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::ATOMIC_WRITES_LOST,
    name: "atomic-writes-lost",
    summary: "device supports atomic writes, but not on this partition: its start is misaligned",
    status: Status::Stable,
    repair: Repair::By(&[RepairKind::Partitions]),
    page: Page {
        checks: "Whether a partition of a device with atomic writes starts on a multiple of the larger of its smallest atomic write and its \
                 atomic-write boundary. The kernel counts from the disk that the partition is one of, a loop device or logical volume too, \
                 and goes by the limits of that disk.",
        why: "Each write that asks to be atomic (RWF_ATOMIC) fails with EOPNOTSUPP, whatever the device can do: the kernel allows atomic \
              writes only where device and partition addresses agree modulo the device's atomic-write units, and opens other partitions \
              without them. An atomic write is all there or not there after a power failure, which lets databases drop their double \
              writes.",
        evidence: "sysfs `queue/atomic_write_unit_min_bytes` and `queue/atomic_write_boundary_bytes`, and the partition's start.",
        example: "Smallest atomic write 4,096, boundary 131,072; start at sector 2,080: 2,080 × 512 = 1,064,960 = 8 × 131,072 + 16,384: \
                  refused. 2,048 × 512 = 8 × 131,072 + 0: allowed.",
        fix: "Move the partition to a multiple of both; 1 MiB is one for all units in use.",
        fix_safety: "Until it is moved, keep the database's own protection on (`innodb_doublewrite`, `full_page_writes`). Moving a partition \
                     rewrites all its data; have a backup that was test-restored.",
        references: &[
            "Linux include/linux/blkdev.h: bdev_can_atomic_write",
            "Linux Documentation/ABI/stable/sysfs-block: atomic_write_unit_min_bytes, atomic_write_boundary_bytes",
        ],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer) in context.data_partitions() {
        // The kernel asks the disk that the partition is one of, whatever that lies on.
        let Some((device, needs)) = context
            .disk_of(id)
            .and_then(|disk| Some((disk, needs(context.stack.layer(disk))?)))
        else {
            continue;
        };
        let Some(start) = context.stack.start_in(id, device) else {
            continue;
        };
        let (unit, fact) = needs;
        if start.is_multiple_of(unit) {
            continue;
        }
        let title = format!(
            "{} loses the device's atomic writes: it does not start on a multiple of {unit}",
            layer.name
        );
        let mut finding = Finding::new(RULE.code, Severity::Warning, id, title);
        if let Some(placement) = &layer.placement {
            finding = finding.evidence(&placement.source, start_label(layer, start));
        }
        findings.push(
            finding
                .evidence(&fact, format!("must start on {unit}"))
                .arithmetic(remainder_line(layer, start, Grid::new(unit)))
                .help("start it at a multiple of 1 MiB; until then keep the database's torn-page protection on"),
        );
    }
}

/// What a start must be a multiple of, and where that is said; `None` without atomic writes.
fn needs(device: &Layer) -> Option<(Unit, straddle_stack::Source)> {
    let smallest = device
        .bytes(Key::AtomicWriteMin)
        .filter(|fact| fact.value > Bytes::ZERO)?;
    let boundary = device.bytes(Key::AtomicWriteBoundary);
    let larger = boundary
        .filter(|fact| fact.value > smallest.value)
        .unwrap_or(smallest);
    Some((Unit::try_from(larger.value).ok()?, larger.source))
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::{Key, LayerKind};

    fn drive(sector: u64, boundary: u64) -> Lab {
        let mut lab = Lab::new();
        let disk = lab.disk(4096);
        lab.bytes(disk, Key::AtomicWriteMin, 4096);
        lab.bytes(disk, Key::AtomicWriteBoundary, boundary);
        lab.partition(disk, sector);
        lab
    }

    #[test]
    fn the_larger_of_unit_and_boundary_decides() {
        drive(2080, 131_072).one(
            &RULE,
            Severity::Warning,
            "2,080 × 512 = 1,064,960 = 8 × 131,072 + 16,384",
        );
        drive(63, 0).one(
            &RULE,
            Severity::Warning,
            "63 × 512 = 32,256 = 7 × 4,096 + 3,584",
        );
    }

    #[test]
    fn the_disk_with_the_table_decides_in_every_nesting() {
        for (kind, format) in [
            (LayerKind::Volume, "lvm"),
            (LayerKind::Array, "raid1"),
            (LayerKind::Device, "loop"),
            (LayerKind::Container, "qcow2"),
        ] {
            let nested = |limits: bool, sector| {
                let mut lab = Lab::new();
                let disk = lab.disk(4096);
                lab.bytes(disk, Key::AtomicWriteMin, 4096);
                let inner = lab.upper(kind, format, disk, (1 << 30) + 512);
                if limits {
                    lab.bytes(inner, Key::AtomicWriteMin, 4096);
                }
                lab.partition(inner, sector);
                lab
            };
            // Without limits of its own it has no atomic writes to lose.
            nested(false, 63).none(&RULE);
            nested(true, 2048).none(&RULE);
            nested(true, 63).one(
                &RULE,
                Severity::Warning,
                "63 × 512 = 32,256 = 7 × 4,096 + 3,584",
            );
        }
    }

    #[test]
    fn aligned_starts_and_plain_devices_are_silent() {
        drive(2048, 131_072).none(&RULE);
        drive(2080, 0).none(&RULE);
        let mut lab = Lab::new();
        let disk = lab.disk(4096);
        lab.partition(disk, 63);
        lab.none(&RULE);
    }
}
