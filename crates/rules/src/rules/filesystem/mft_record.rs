use straddle_stack::{Key, LayerKind};

use crate::context::Findings;
use crate::shared::smaller_than_sector::{finding, larger_sector};
use crate::{Context, Page, Repair, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::MFT_RECORD,
    name: "mft-record",
    summary: "NTFS file records are smaller than the physical sector",
    status: Status::Stable,
    repair: Repair::None(
        "only re-creating the volume on Windows (format /L) enlarges file records; worth it for very many small files alone",
    ),
    page: Page {
        checks: "Whether the records of the NTFS master file table (1,024 bytes unless the volume was formatted for 4K sectors) are smaller \
                 than the physical sector.",
        why: "Each update of a file record rewrites part of a sector: the drive reads and merges. The file cache gathers many such \
              updates, so only loads with very many small files notice. A torn sector can also damage the neighbours' records.",
        evidence: "Boot sector byte 0x40 (size of a file record) and the physical sector from sysfs, a flag, or assumed for an image.",
        example: "4,096 ÷ 1,024 = 4 records in each sector; `format /L` or a 4K-native disk gives records of 4,096 bytes: one in each.",
        fix: "Nothing for databases: they have few files. For a file server on a 4K disk, format with `format /L` (large records).",
        fix_safety: "Formatting destroys the contents. Records cannot be enlarged in place.",
        references: &[
            "https://learn.microsoft.com/en-us/windows-server/administration/windows-commands/format: /l",
            "Linux fs/ntfs3/ntfs.h: record_size of the boot sector",
        ],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer) in context.of_kind(LayerKind::Filesystem) {
        let Some(size) = layer.bytes(Key::MftRecordSize) else {
            continue;
        };
        if let Some(sector) = larger_sector(context, id, size.value) {
            findings.extend(
                finding(
                    RULE.code,
                    Severity::Note,
                    (id, layer),
                    "file records",
                    &size,
                    sector,
                )
                .map(|finding| {
                    finding.help("worth reformatting (format /L) only for very many small files")
                }),
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

    fn ntfs(record: u64, physical: u64) -> Lab {
        let mut lab = Lab::new();
        let disk = lab.disk(physical);
        let fs = lab.filesystem("ntfs", disk, 4096);
        lab.bytes(fs, Key::MftRecordSize, record);
        lab
    }

    #[test]
    fn four_records_share_a_sector() {
        ntfs(1024, 4096).one(&RULE, Severity::Note, "4,096 ÷ 1,024 = 4");
    }

    #[test]
    fn records_of_a_sector_are_silent() {
        ntfs(4096, 4096).none(&RULE);
        ntfs(1024, 512).none(&RULE);
    }
}
