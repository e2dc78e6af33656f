use straddle_geometry::Ratio;
use straddle_stack::{GridRole, Key, LayerKind};

use crate::context::Findings;
use crate::repair::CONVERTED;
use crate::shared::virtual_disk::{file_name, renamed};
use crate::{Context, Finding, Page, Repair, RepairKind, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::STREAM_OPTIMIZED,
    name: "stream-optimized",
    summary: "streamOptimized VMDK, a format for transport, is used as a disk",
    status: Status::Stable,
    repair: Repair::ByOr(&[RepairKind::Image], CONVERTED),
    page: Page {
        checks: "Whether a VMDK is of the subformat streamOptimized: its grains are compressed and lie one after another, each with a marker in \
                 front. It is how OVA files carry disks.",
        why: "Every random read unpacks a whole grain, and no grain can be rewritten in place, since newly compressed data has another \
              length: such a file is meant to be read once from front to end. QEMU answers a write to a grain that exists with an error, \
              ESXi does not start a machine from it (`Unsupported or invalid disk type 7. Ensure that the disk has been imported`). Grains \
              start at any multiple of 512 bytes, so alignment does not apply: a place in the disk has no fixed place in the file.",
        evidence: "`createType` in the descriptor, the flag for compressed grains (bit 16) and the algorithm in the header; how much of the disk is \
                   compressed from one pass over its tables.",
        example: "A read of 4,096 bytes unpacks a grain of 65,536: 16 times as much. The next read elsewhere unpacks another.",
        fix: "Convert it to a disk: on ESXi `vmkfstools -i DISK.vmdk -d thin COPY.vmdk` or a deployment of the OVF; elsewhere `qemu-img \
              convert -O vmdk -o subformat=monolithicSparse OLD NEW`, or -O qcow2. Keep the streamOptimized file as the archive that it is.",
        fix_safety: "Conversion reads the old file and writes a new one. Check the new one (`qemu-img compare OLD NEW`) before the old one \
                     goes. Only blocks that hold something take space, but they take all of it.",
        references: &[
            "VMware, Virtual Disk Format 5.0: Stream-Optimized Compressed Sparse Extents",
            "QEMU block/vmdk.c: vmdk_write_extent, compressed extents",
        ],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer) in context.of_kind(LayerKind::Container) {
        let is_stream = layer.text(Key::Subformat) == Some("streamOptimized");
        if layer.format.as_deref() != Some("vmdk") || !is_stream {
            continue;
        }
        let file = file_name(context.stack, id);
        let title = format!("{file} is a streamOptimized VMDK: for transport, not to run from");
        let mut finding = Finding::new(RULE.code, Severity::Warning, id, title);
        for key in [Key::Subformat, Key::Compression] {
            if let Some(fact) = layer.attribute(key) {
                finding = finding.evidence_in(
                    layer.below.first().copied(),
                    &fact.source,
                    format!("{} = {}", key.name(), fact.value),
                );
            }
        }
        if let Some(grain) = layer.grid(GridRole::ContainerBlock) {
            let unit = grain.value.unit();
            let times = unit.get() / 4096;
            finding = finding.evidence_in(
                layer.below.first().copied(),
                &grain.source,
                format!("grain = {unit}"),
            );
            if times > 1 {
                finding = finding.arithmetic(format!(
                    "a read of 4,096 bytes unpacks {} = {times} × 4,096",
                    unit.bytes().grouped()
                ));
            }
        }
        if let (Some(survey), Some(size)) = (&layer.survey, &layer.size)
            && let Some(share) = Ratio::new(survey.packed.get(), size.value.get())
        {
            finding = finding.arithmetic(format!(
                "{} of {} bytes = {share} are compressed",
                survey.packed.grouped(),
                size.value.grouped()
            ));
        }
        let new = renamed(file, "-disk.vmdk");
        findings.push(
            finding
                .note("as an archive or inside an OVA it is right; ESXi does not start from it, QEMU cannot write to what it holds")
                .help(format!(
                    "qemu-img convert -f vmdk -O vmdk -o subformat=monolithicSparse {file} {new}"
                ))
                .help(format!("on ESXi: vmkfstools -i {file} -d thin {new}")),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::Key;

    #[test]
    fn streams_are_found_with_the_price_of_a_read() {
        let mut lab = Lab::new();
        let disk = lab.disk(512);
        let id = lab.blocks("vmdk", &[disk], 65_536);
        lab.text(id, Key::Subformat, "streamOptimized");
        lab.surveyed(id, 0, 0, 1 << 29);
        let found = lab.one(
            &RULE,
            Severity::Warning,
            "a read of 4,096 bytes unpacks 65,536 = 16 × 4,096",
        );
        assert_eq!(
            found.arithmetic[1],
            "536,870,912 of 1,073,741,824 bytes = 50% are compressed"
        );
    }

    #[test]
    fn other_subformats_are_silent() {
        let mut lab = Lab::new();
        let disk = lab.disk(512);
        let id = lab.blocks("vmdk", &[disk], 65_536);
        lab.text(id, Key::Subformat, "monolithicSparse");
        lab.none(&RULE);
    }
}
