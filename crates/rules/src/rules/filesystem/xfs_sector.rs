use straddle_geometry::Bytes;
use straddle_stack::{Key, LayerKind};

use crate::context::Findings;
use crate::shared::smaller_than_sector::{finding, larger_sector};
use crate::{Context, Finding, Page, Repair, RepairKind, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::XFS_SECTOR,
    name: "xfs-sector",
    summary: "XFS sector is smaller than the physical sector, or its log stripe unit is out of range",
    status: Status::Stable,
    repair: Repair::By(&[RepairKind::Filesystem]),
    page: Page {
        checks: "Whether the sector size in an XFS superblock is at least the physical sector, and whether the log stripe unit is at most \
                 256 KiB, the largest log buffer.",
        why: "Each synchronous commit becomes a read-modify-write of the drive when XFS has 512-byte sectors on a 4K disk, because log \
              writes end inside physical sectors: XFS writes its log and the headers of allocation groups in its own sectors.",
        evidence: "Superblock bytes 102 (sector size) and 196 (log stripe unit); the physical sector from sysfs, a flag, or assumed for an \
                   image.",
        example: "sectsz=512 on a 512e disk: 4,096 ÷ 512 = 8 log sectors in each physical one. mkfs.xfs takes the physical sector of a device by \
                  itself; an image made in a file has 512 unless `-s size=4096` is given.",
        fix: "Make the filesystem with `mkfs.xfs -s size=4096 -l su=32k DEVICE` and copy. For images that are deployed to disks, put the \
              option into the image build.",
        fix_safety: "The sector size cannot be changed in place. `xfsdump -l 0 -f FILE DIR` and `xfsrestore -f FILE DIR`, or a plain copy, \
                     keep the data; a copy of the device (dd, `xfs_copy SOURCE TARGET`) keeps the fault too.",
        references: &[
            "mkfs.xfs(8), -s size and -l su",
            "https://github.com/scylladb/scylladb/issues/16200",
        ],
    },
    check,
};

/// Largest log buffer, and so the largest log stripe unit that is of use.
const LARGEST_LOG_UNIT: Bytes = Bytes::kib(256);

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer) in context.of_kind(LayerKind::Filesystem) {
        if layer.format.as_deref() != Some("xfs") {
            continue;
        }
        if let Some(size) = layer.bytes(Key::SectorSize)
            && let Some(sector) = larger_sector(context, id, size.value)
        {
            findings.extend(
                finding(
                    RULE.code,
                    Severity::Warning,
                    (id, layer),
                    "sectors",
                    &size,
                    sector,
                )
                .map(|finding| {
                    finding.help("re-create it with mkfs.xfs -s size=4096 and copy the files")
                }),
            );
        }
        if let Some(log) = layer.bytes(Key::LogStripeUnit)
            && log.value > LARGEST_LOG_UNIT
        {
            let title = format!(
                "{}: a log stripe unit of {} exceeds the largest log buffer",
                layer.name, log.value
            );
            findings.push(
                Finding::new(RULE.code, Severity::Note, id, title)
                    .evidence(&log.source, format!("log stripe unit = {}", log.value))
                    .arithmetic(format!(
                        "{} > {} = 256 KiB",
                        log.value.grouped(),
                        LARGEST_LOG_UNIT.grouped()
                    )),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::Key;

    fn xfs(sector: u64, log: u64) -> Lab {
        let mut lab = Lab::new();
        let disk = lab.disk(4096);
        let fs = lab.filesystem("xfs", disk, 4096);
        lab.bytes(fs, Key::SectorSize, sector);
        lab.bytes(fs, Key::LogStripeUnit, log);
        lab
    }

    #[test]
    fn small_sectors_and_large_log_units_are_found() {
        xfs(512, 32_768).one(&RULE, Severity::Warning, "4,096 ÷ 512 = 8");
        xfs(4096, 524_288).one(&RULE, Severity::Note, "524,288 > 262,144 = 256 KiB");
    }

    #[test]
    fn sectors_of_4_kib_are_silent() {
        xfs(4096, 32_768).none(&RULE);
    }
}
