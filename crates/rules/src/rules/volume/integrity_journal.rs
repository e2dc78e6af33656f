use straddle_geometry::{Bytes, both_ways};
use straddle_stack::{GridRole, Key, LayerKind};

use crate::context::Findings;
use crate::{Context, Finding, Page, Repair, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::INTEGRITY_JOURNAL,
    name: "integrity-journal",
    summary: "dm-integrity writes all data twice, first to its journal",
    status: Status::Stable,
    repair: Repair::None(
        "integritysetup open --integrity-bitmap-mode writes data once, and is a choice about what a crash may cost",
    ),
    page: Page {
        checks: "Whether a dm-integrity device, alone or below LUKS2, works with a journal, and what tags it keeps between the data.",
        why: "Half of the device's write throughput is gone in journal mode, which is the default: a sector and its tag lie in different \
              places and must change together, so both go to a journal first and to their places later. With a bitmap, data and tags are \
              written once; after a crash, the regions that were being written are trusted and get new tags. Tags lie in runs between the \
              data, so a write also changes a block of tags elsewhere.",
        evidence: "The superblock's flags, tag size, interleave and journal sections, or the mode in the device-mapper table.",
        example: "A write of 4,096 bytes: 4,096 to the journal + 4,096 to their place = 8,192. Tags of 32 bytes for sectors of 4,096 with an interleave \
                  of 16 MiB: 4,096 × 32 = 131,072 bytes of tags in front of each 16 MiB.",
        fix: "Where a crash may leave tags that were just recomputed, open it with a bitmap: `integritysetup open --integrity-bitmap-mode DEVICE \
              NAME`. Below RAID, which repairs what a tag finds, this is the usual choice. For LUKS2 with authenticated encryption there is \
              only `cryptsetup open --integrity-no-journal DEVICE NAME`. Tag sizes and interleave are chosen by `integritysetup format \
              DEVICE`.",
        fix_safety: "Changing the mode loses nothing on a device that was closed cleanly. Without a journal, a crash in the middle of a \
                     write leaves sectors that fail their check until they are written again (--integrity-no-journal), or are accepted as \
                     they are (bitmap).",
        references: &[
            "Linux Documentation/admin-guide/device-mapper/dm-integrity.rst",
            "integritysetup(8), --integrity-bitmap-mode",
        ],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer) in context.of_kind(LayerKind::Encryption) {
        let Some(mode) = layer.attribute(Key::IntegrityMode) else {
            continue;
        };
        if layer.text(Key::IntegrityMode) != Some("journal") {
            continue;
        }
        let title = format!(
            "{}: everything is written twice, first to the journal",
            layer.name
        );
        let mut finding = Finding::new(RULE.code, Severity::Note, id, title)
            .evidence(&mode.source, "mode: journal")
            .arithmetic("a write of 4,096 B: 4,096 to the journal + 4,096 to its place = 8,192");
        // The device below a superblock of its own has these; below LUKS2 and on a live host the layer itself.
        let below = layer.below.iter().map(|id| context.stack.layer(*id));
        let fact = |key| {
            let mut layers = std::iter::once(layer).chain(below.clone());
            layers.find_map(|layer| layer.bytes(key))
        };
        let sector = layer.grid(GridRole::EncryptionSector);
        if let (Some(tag), Some(interleave), Some(sector)) =
            (fact(Key::TagSize), fact(Key::Interleave), sector)
        {
            let sectors = interleave.value.get() / sector.value.unit().get();
            if let Some(tags) = tag.value.checked_mul(sectors) {
                finding = finding
                    .evidence(&tag.source, format!("tag = {}", both_ways(tag.value)))
                    .note(format!(
                        "tags of {} B for each of {} sectors are {} B before every {} of data; each write changes some of them, too",
                        tag.value.grouped(),
                        Bytes::new(sectors).grouped(),
                        tags.grouped(),
                        interleave.value
                    ));
            }
        }
        findings.push(finding.help(
            "integritysetup open --integrity-bitmap-mode writes them once; below LUKS2: cryptsetup open --integrity-no-journal",
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::{Key, LayerKind};

    #[test]
    fn a_journal_is_said_and_a_bitmap_is_not() {
        for (mode, speaks) in [("journal", true), ("bitmap", false), ("inline", false)] {
            let mut lab = Lab::new();
            let disk = lab.disk(512);
            let layer = lab.upper(LayerKind::Encryption, "integrity", disk, 1 << 20);
            lab.text(layer, Key::IntegrityMode, mode);
            if speaks {
                let line = "a write of 4,096 B: 4,096 to the journal + 4,096 to its place = 8,192";
                lab.one(&RULE, Severity::Note, line);
            } else {
                lab.none(&RULE);
            }
        }
    }
}
