use straddle_geometry::{Bytes, Ratio};
use straddle_stack::{GridRole, Key, LayerKind};

use crate::context::Findings;
use crate::repair::CONVERTED;
use crate::shared::virtual_disk::{file_name, is_parent, renamed};
use crate::{Context, Finding, Page, Repair, RepairKind, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::COMPRESSED_CLUSTERS,
    name: "compressed-clusters",
    summary: "virtual disk that a guest writes to has compressed clusters",
    status: Status::Stable,
    repair: Repair::ByOr(&[RepairKind::Image], CONVERTED),
    page: Page {
        checks: "How much of a virtual disk lies in compressed clusters, when the disk is one that a guest writes to. A disk that others rest on \
                 is only read and is left out; streamOptimized VMDKs have a rule of their own (STR410).",
        why: "The first write into a compressed cluster unpacks it and writes the whole cluster, uncompressed, to a new place; it cannot \
              be changed in place. Any read, however small, unpacks the whole cluster. Once written, the cluster is like any other, so the \
              cost is paid once for each, and the file grows. Compressed clusters start at any byte: no alignment is possible for them.",
        evidence: "One pass over the disk's tables, which mark compressed clusters; the algorithm from the header.",
        example: "qcow2 from `qemu-img convert -c`, 64 KiB clusters: a write of 4,096 bytes reads and unpacks one cluster and writes 65,536, \
                  16 times what was asked. A read of 4,096 unpacks 65,536 too, each time unless QEMU still has it.",
        fix: "For a disk in use: `qemu-img convert -O qcow2 OLD NEW` without -c. For a template: leave it as it is and let machines run on \
              overlays (`qemu-img create -f qcow2 -b BASE -F qcow2 NEW`), which only read it; or unpack it once when it is deployed.",
        fix_safety: "Convert while the machine is off, into a new file; the new one needs the space of the uncompressed data. `qemu-img \
                     compare OLD NEW` shows that both hold the same.",
        references: &[
            "QEMU docs/interop/qcow2.txt: Compressed Clusters Descriptor",
            "qemu-img(1): convert -c, \"compressed clusters are read-only\"",
        ],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer) in context.of_kind(LayerKind::Container) {
        let (Some(survey), Some(size)) = (&layer.survey, &layer.size) else {
            continue;
        };
        let has_own_rule = layer.text(Key::Subformat) == Some("streamOptimized");
        if survey.packed == Bytes::ZERO || has_own_rule || is_parent(context.stack, id) {
            continue;
        }
        let Some(share) = Ratio::new(survey.packed.get(), size.value.get()) else {
            continue;
        };
        let file = file_name(context.stack, id);
        let title = format!("{file}: {share} of the disk lies in compressed clusters");
        let mut finding = Finding::new(RULE.code, Severity::Note, id, title);
        if let Some(how) = layer.attribute(Key::ClusterCompression) {
            finding = finding.evidence_in(
                layer.below.first().copied(),
                &how.source,
                format!("compression = {}", how.value),
            );
        }
        finding = finding.arithmetic(format!(
            "{} of {} bytes = {share}",
            survey.packed.grouped(),
            size.value.grouped()
        ));
        let block = layer.grid(GridRole::ContainerBlock);
        if let Some(block) = block.filter(|block| block.value.unit().get() > 4096) {
            let cluster = block.value.unit();
            finding = finding
                .evidence_in(layer.below.first().copied(), &block.source, format!("cluster = {cluster}"))
                .arithmetic(format!(
                    "first write of 4,096 bytes into one: unpack {0}, write {0} elsewhere = {1} × 4,096",
                    cluster.bytes().grouped(),
                    cluster.get() / 4096
                ));
        }
        let format = layer.format.as_deref().unwrap_or("qcow2");
        let new = renamed(file, &format!("-plain.{format}"));
        findings.push(
            finding
                .note("once for each cluster: afterwards it lies uncompressed; every read of a compressed one unpacks all of it")
                .note("as a template, or as a base that is only read, it is fine")
                .help(format!(
                    "in use: qemu-img convert -f {format} -O {format} {file} {new}"
                )),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;

    #[test]
    fn the_share_and_the_first_write_are_said() {
        let mut lab = Lab::new();
        let disk = lab.disk(512);
        let id = lab.blocks("qcow2", &[disk], 65_536);
        lab.surveyed(id, 1 << 28, 0, 1 << 28);
        let found = lab.one(
            &RULE,
            Severity::Note,
            "268,435,456 of 1,073,741,824 bytes = 25%",
        );
        assert_eq!(
            found.arithmetic[1],
            "first write of 4,096 bytes into one: unpack 65,536, write 65,536 elsewhere = 16 × 4,096"
        );
    }

    #[test]
    fn plain_disks_and_bases_are_silent() {
        let mut lab = Lab::new();
        let disk = lab.disk(512);
        let base = lab.blocks("qcow2", &[disk], 65_536);
        lab.surveyed(base, 0, 0, 1 << 28);
        let top = lab.blocks("qcow2", &[disk, base], 65_536);
        lab.surveyed(top, 1 << 20, 0, 0);
        lab.none(&RULE);
    }
}
