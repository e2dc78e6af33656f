use straddle_stack::activity::{Quantity, Span, Summary};

use crate::context::Findings;
use crate::figures::number;
use crate::shared::activity::{active, show_largest, titled};
use crate::{Context, Finding, Page, Repair, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::SECTOR_CHANGED,
    name: "sector-changed",
    summary: "database file lies on other physical sectors than those it was made for",
    status: Status::Stable,
    repair: Repair::None(
        "back to sectors of the old size, or a disk that reports at most 4,096 bytes",
    ),
    page: Page {
        checks: "Messages of SQL Server: 5178 (`originally formatted with sector size A and is now on a volume with sector size B`), 5179 (a volume \
                 with larger sectors than SQL Server takes) and 9013 (`the tail of the log is being rewritten to match the new sector size`).",
        why: "SQL Server writes its log in whole physical sectors of the disk on which a database was made. On a disk with larger ones it would write \
              parts of sectors, which a loss of power can tear, so it does not open the file: the database is down, or after an upgrade to \
              Windows 11 or Server 2022 with such an NVMe drive, the instance. More than 4,096 bytes it never takes.",
        evidence: "The message, with the file and both sizes. 9013 names only the new size, and the database was opened.",
        example: "master.mdf was made for 4,096-byte sectors and lies on a volume with 16,384: the instance does not start.",
        fix: "Put the files on a disk with sectors of the old size or smaller; `fsutil fsinfo sectorinfo L:` says PhysicalBytesPerSectorForAtomicity \
              of each. Where an NVMe drive reports more than 4,096 to Windows 11 or Server 2022, Microsoft names a registry value for its driver, \
              ForcedPhysicalSectorSizeInBytes = `* 4095`. Virtual disks can be told to report 512 or 4,096 \
              (`Set-VHD -Path X.vhdx -PhysicalSectorSizeBytes 4096`).",
        fix_safety: "Files are moved while the instance is stopped or the database offline; nothing in them changes. The registry value hides the \
                     real sectors: writes of 4,096 bytes then cost the drive a read-modify-write.",
        references: &[
            "https://learn.microsoft.com/en-us/troubleshoot/sql/database-engine/database-file-operations/troubleshoot-os-4kb-disk-sector-size",
            "https://learn.microsoft.com/en-us/sql/relational-databases/errors-events/database-engine-events-and-errors: 5178, 5179, 9013",
        ],
    },
    check,
};

/// The largest sectors that SQL Server takes, in bytes.
const MAX_SECTOR: f64 = 4096.0;

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer, activity) in active(context) {
        let Some(volume) = activity.mean(Quantity::VolumeSector, Span::Event) else {
            continue;
        };
        let made_for = activity.mean(Quantity::FormattedSector, Span::Event);
        let file = titled(layer);
        let size = |summary: &Summary| number(summary.max.value.get());
        let lies_on = size(volume);
        let (severity, title, help) = match made_for {
            Some(made_for) => (
                Severity::Error,
                format!(
                    "{file} made for sectors of {} bytes, lies on {lies_on}: SQL Server does not open it",
                    size(made_for)
                ),
                "a volume with sectors of the old size: fsutil fsinfo sectorinfo X:",
            ),
            None if volume.max.value.get() > MAX_SECTOR => (
                Severity::Error,
                format!(
                    "{file} lies on sectors of {lies_on} bytes: SQL Server takes at most 4,096"
                ),
                "a volume with sectors of 512 or 4,096 bytes: fsutil fsinfo sectorinfo X:",
            ),
            None => (
                Severity::Note,
                format!(
                    "{file} the end of the log was written again for sectors of {lies_on} bytes"
                ),
                "the same sectors on every replica: fsutil fsinfo sectorinfo X:",
            ),
        };
        // One message says both.
        let made_for = made_for.map_or_else(String::new, |size_then| {
            format!("made for {} B, ", size(size_then))
        });
        let label = format!("{made_for}the volume's sector = {lies_on} B");
        let finding = Finding::new(RULE.code, severity, id, title);
        findings.push(show_largest(finding, volume, label).help(help));
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::LayerKind;
    use straddle_stack::activity::{Quantity, Span};

    #[test]
    fn what_is_not_opened_is_an_error_and_what_was_adapted_a_note() {
        let found = |made_for: Option<f64>, volume: f64| {
            let mut lab = Lab::new();
            let volume = [volume];
            let made_for: Vec<f64> = made_for.into_iter().collect();
            let mut series = vec![(Quantity::VolumeSector, Span::Event, &volume[..])];
            if !made_for.is_empty() {
                series.push((Quantity::FormattedSector, Span::Event, &made_for));
            }
            lab.active(LayerKind::File, &[], &series);
            let finding = lab.findings(&RULE).remove(0);
            (finding.severity, finding.title)
        };
        let (severity, title) = found(Some(512.0), 4096.0);
        assert_eq!(severity, Severity::Error);
        assert!(
            title.contains("sectors of 512 bytes, lies on 4,096"),
            "{title}"
        );
        assert_eq!(found(None, 8192.0).0, Severity::Error);
        assert_eq!(found(None, 4096.0).0, Severity::Note);
        Lab::new().none(&RULE);
    }
}
