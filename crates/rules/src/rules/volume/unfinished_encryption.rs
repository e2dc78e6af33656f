use straddle_geometry::Map;
use straddle_stack::{Key, LayerKind};

use crate::context::Findings;
use crate::{Context, Finding, Page, Repair, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::UNFINISHED_ENCRYPTION,
    name: "unfinished-encryption",
    summary: "encryption, re-encryption or decryption was started and not finished",
    status: Status::Stable,
    repair: Repair::None("cryptsetup reencrypt --resume-only finishes it"),
    page: Page {
        checks: "Whether the header of an encrypted volume (LUKS1, LUKS2, BitLocker) says that what it holds is being encrypted, re-encrypted or \
                 decrypted.",
        why: "Until it is finished the volume has several parts, each with its own place, key and perhaps sector size: addresses above are \
              not a fixed distance from those below, and alignment findings here hold for the parts as they are now. Every request to the \
              part being processed waits, and all data is read and written once more in the background.",
        evidence: "LUKS2: the requirement `online-reencrypt` and the mode of its key slot, the segments in force; LUKS1: the changed magic; \
                   BitLocker: the state in its metadata.",
        example: "`cryptsetup reencrypt --encrypt --reduce-device-size 32M` on 64 MiB, begun: 16 MiB from byte 50,331,648 on, then 16 MiB from byte \
                  16,777,216 on; 32 MiB and one place when it is finished.",
        fix: "Finish it: `cryptsetup reencrypt --resume-only DEVICE`; BitLocker: `manage-bde -resume C:`. Then check again. A bench or a \
              measurement before that measures the move as well.",
        fix_safety: "LUKS2 re-encryption can be interrupted and resumed. Back up the header first (`cryptsetup luksHeaderBackup DEVICE --header-backup-file FILE`), and do not copy or \
                     restore an older header meanwhile: it no longer fits the data.",
        references: &[
            "cryptsetup-reencrypt(8)",
            "LUKS2 On-Disk Format Specification 1.1.1: segments, reencryption",
            "https://learn.microsoft.com/windows-server/administration/windows-commands/manage-bde",
        ],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer) in context.of_kind(LayerKind::Encryption) {
        let Some(mode) = layer.attribute(Key::Reencryption) else {
            continue;
        };
        let what = match layer.text(Key::Reencryption) {
            Some("encrypt") => "its encryption",
            Some("decrypt") => "its decryption",
            _ => "its re-encryption",
        };
        let title = format!("{}: {what} was begun and is not finished", layer.name);
        let mut finding = Finding::new(RULE.code, Severity::Warning, id, title)
            .evidence(&mode.source, format!("unfinished: {}", mode.value));
        if let Map::Segments(segments) = &layer.map
            && layer.format.as_deref() != Some("bitlocker")
        {
            let parts: Vec<String> = segments
                .iter()
                .take(4)
                .map(|segment| {
                    format!(
                        "{} B from {} on",
                        segment.upper.len().grouped(),
                        segment.lower.grouped()
                    )
                })
                .collect();
            let more = segments.len().saturating_sub(parts.len());
            let more = if more > 0 {
                format!(" and {more} more")
            } else {
                String::new()
            };
            finding = finding.arithmetic(format!("parts now: {}{more}", parts.join(", ")));
        }
        let resume = if layer.format.as_deref() == Some("bitlocker") {
            "manage-bde -resume DRIVE:, and check again"
        } else {
            "cryptsetup reencrypt --resume-only DEVICE, and check again"
        };
        findings.push(finding.help(resume));
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::{Key, LayerKind};

    #[test]
    fn only_what_was_begun_is_said() {
        let mut lab = Lab::new();
        let disk = lab.disk(512);
        let crypt = lab.file(disk, &[(0, 1 << 20, 3 << 20), (1 << 20, 4096, 1 << 20)]);
        lab.stack.layer_mut(crypt).kind = LayerKind::Encryption;
        lab.none(&RULE);
        lab.text(crypt, Key::Reencryption, "decrypt");
        let line = "parts now: 1,048,576 B from 3,145,728 on, 4,096 B from 1,048,576 on";
        let finding = lab.one(&RULE, Severity::Warning, line);
        assert!(
            finding.title.contains("its decryption"),
            "{}",
            finding.title
        );
    }
}
