use straddle_stack::{GridRole, LayerKind};

use crate::context::Findings;
use crate::known_lies::known;
use crate::repair::REPORTED;
use crate::{Context, Finding, Page, Repair, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::OPTIMAL_IO_LIE,
    name: "optimal-io-lie",
    summary: "reported optimal_io_size is a value known to be false",
    status: Status::Stable,
    repair: Repair::None(REPORTED),
    page: Page {
        checks: "Whether `optimal_io_size` of a device or array is one of the values that firmware or drivers are known to make up.",
        why: "Partitioners, LVM, LUKS, mkfs.xfs and libstorage align data to this value. A false one sends the first extent megabytes or \
              gigabytes into the device, leaves starts that are not a multiple of anything useful, or makes an installer fail. The value \
              itself slows down no request.",
        evidence: "sysfs `queue/optimal_io_size`, compared with a table of exact values, each with its known origin.",
        example: "33,553,920 = 65,535 × 512: a USB bridge that puts 0xFFFF into its VPD page. 33,553,920 ÷ 1,048,576 = 31.999…: \
                  aligning to it loses the 1 MiB grid.",
        fix: "Ignore the value and place things by hand: `parted -a minimal DISK mkpart data 1MiB 100%` (with 0% instead of 1MiB it starts \
              at sector 34, or with -a optimal at a multiple of the value), sgdisk's default, `pvcreate --dataalignment 1m DEVICE` for a new physical volume, \
              `cryptsetup luksFormat --offset 32768 DEVICE`, `mkfs.xfs -d noalign DEVICE` (or the true geometry). `optimal_io_size` itself \
              is read-only, and no udev rule changes it; what corrects it is another firmware, bridge or kernel.",
        fix_safety: "Nothing needs to be moved for the value's sake. What was already created with it may be badly placed: the other \
                     findings of this report say whether it is.",
        references: &[
            "https://github.com/util-linux/util-linux/pull/1224",
            "https://bugs.debian.org/cgi-bin/bugreport.cgi?bug=1121006",
            "cryptsetup docs/v2.3.4-ReleaseNotes",
            "SBC-4, Block Limits VPD page (B0h): OPTIMAL TRANSFER LENGTH",
        ],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer) in context.stack.iter() {
        if !matches!(layer.kind, LayerKind::Device | LayerKind::Array) {
            continue;
        }
        let Some(optimal) = layer.grid(GridRole::OptimalIo) else {
            continue;
        };
        let size = optimal.value.unit().bytes();
        let Some(lie) = known(size) else { continue };
        let title = format!(
            "{} reports an optimal I/O size of {}, which is known to be false",
            layer.name,
            size.grouped()
        );
        findings.push(
            Finding::new(RULE.code, Severity::Warning, id, title)
                .evidence(&optimal.source, format!("optimal_io_size = {}", size.grouped()))
                .arithmetic(format!("{}: {}", size.grouped(), lie.origin))
                .note(format!("believed by {}", lie.believed_by))
                .note("no other rule builds on this value")
                .help("align to 1 MiB whatever a tool suggests: parted -a minimal DISK mkpart data 1MiB 100%; pvcreate --dataalignment 1m for a new physical volume"),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::known_lies::LIES;
    use crate::testing::Lab;
    use straddle_stack::GridRole;

    fn reports(size: u64) -> Lab {
        let mut lab = Lab::new();
        let disk = lab.disk(512);
        lab.grid(disk, GridRole::OptimalIo, size);
        lab
    }

    #[test]
    fn every_known_lie_is_called_one() {
        for lie in LIES {
            let line = format!("{}: {}", lie.value.grouped(), lie.origin);
            reports(lie.value.get()).one(&RULE, Severity::Warning, &line);
        }
    }

    #[test]
    fn ordinary_values_are_silent() {
        reports(1 << 20).none(&RULE);
        reports(393_216).none(&RULE);
    }
}
