use straddle_stack::{Key, LayerKind};

use crate::context::Findings;
use crate::{Context, Finding, Page, Repair, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::VMFS_UPGRADED,
    name: "vmfs-upgraded",
    summary: "VMFS 5 datastore was upgraded from VMFS 3 and keeps the old layout",
    status: Status::Stable,
    repair: Repair::None(
        "an upgraded datastore keeps its layout: empty it (Storage vMotion) and re-create it",
    ),
    page: Page {
        checks: "Whether a VMFS 5 datastore has another block than 1 MiB or another sub-block than 8 KiB: only one that was VMFS 3 before does.",
        why: "The upgrade changes the version and keeps the layout: the partition keeps its start (sector 128 as a rule, 63 if fdisk made \
              it) and its MBR, files keep blocks of up to 8 MiB and small ones sub-blocks of 64 KiB. Copies between datastores with \
              different block sizes are not offloaded to the array.",
        evidence: "Version, block size and sub-block size in the datastore's header.",
        example: "VMFS 5.54 with blocks of 2 MiB and sub-blocks of 64 KiB, in a partition at sector 128: 128 × 512 = 65,536, not a multiple of 1 MiB.",
        fix: "Make a new VMFS datastore (it starts at 1 MiB and has blocks of 1 MiB) and move the virtual machines there with Storage vMotion.",
        fix_safety: "Nothing has to be done for correctness. Moving virtual machines loads the array; do it one by one.",
        references: &[
            "https://docs.vmware.com/en/VMware-vSphere/6.5/com.vmware.vsphere.storage.doc/GUID-5E7B4EBC-2147-42F9-9CCD-B63315EE1C52.html",
            "http://blogs.vmware.com/vsphere/2011/12/upgraded-vmfs-5-automatic-partition-format-change.html",
        ],
    },
    check,
};

const BLOCK: u64 = 1 << 20;
const SUB_BLOCK: u64 = 8192;

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer) in context.of_kind(LayerKind::Filesystem) {
        if layer.format.as_deref() != Some("vmfs5") {
            continue;
        }
        let odd = [
            (Key::BlockSize, BLOCK, "block"),
            (Key::SubBlockSize, SUB_BLOCK, "sub-block"),
        ];
        let odd: Vec<_> = odd
            .into_iter()
            .filter_map(|(key, usual, what)| {
                let fact = layer.bytes(key)?;
                (fact.value.get() != usual).then_some((fact, usual, what))
            })
            .collect();
        if odd.is_empty() {
            continue;
        }
        let title = format!(
            "{}: VMFS 5 that was VMFS 3 before: it keeps the start and the blocks of then",
            layer.name
        );
        let mut finding = Finding::new(RULE.code, Severity::Note, id, title);
        for (fact, usual, what) in odd {
            finding = finding
                .evidence(&fact.source, format!("{what} = {}", fact.value))
                .arithmetic(format!(
                    "{what}: {} B; VMFS 5 makes {}",
                    fact.value.grouped(),
                    straddle_geometry::Bytes::new(usual).grouped()
                ));
        }
        findings.push(finding.help(
            "make a new datastore and move the virtual machines there: an upgrade never changes the layout",
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::Key;

    fn lab(format: &'static str, block: u64, sub_block: u64) -> Lab {
        let mut lab = Lab::new();
        let disk = lab.disk(4096);
        let id = lab.filesystem(format, disk, block);
        lab.bytes(id, Key::BlockSize, block);
        lab.bytes(id, Key::SubBlockSize, sub_block);
        lab
    }

    #[test]
    fn old_blocks_in_a_new_version() {
        let finding = lab("vmfs5", 2 << 20, 65_536).one(
            &RULE,
            Severity::Note,
            "block: 2,097,152 B; VMFS 5 makes 1,048,576",
        );
        assert_eq!(finding.evidence.len(), 2);
    }

    #[test]
    fn new_ones_and_other_versions_are_silent() {
        lab("vmfs5", 1 << 20, 8192).none(&RULE);
        lab("vmfs6", 1 << 20, 65_536).none(&RULE);
        lab("vmfs3", 8 << 20, 65_536).none(&RULE);
    }
}
