use straddle_geometry::{Bytes, Ratio};
use straddle_stack::{Key, LayerId, LayerKind, Stack};

use crate::context::Findings;
use crate::repair::CONVERTED;
use crate::shared::virtual_disk::{file_name, is_parent, parent};
use crate::{Context, Finding, Page, Repair, RepairKind, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::BACKING_CHAIN,
    name: "backing-chain",
    summary: "virtual disk is a chain of three or more files",
    status: Status::Stable,
    repair: Repair::ByOr(&[RepairKind::Image], CONVERTED),
    page: Page {
        checks: "How many files a virtual disk consists of, one on top of another (backing files, parents, snapshots), when they are three or more; and \
                 how much of the disk each of them holds.",
        why: "A read of data that the top file does not hold looks in the next file's table, and the next one's, down to the base. A long \
              read is split wherever another file holds the next block. The first write to a block that only a lower file has copies the \
              rest of the block up (qcow2, VDI, VMDK) or splits it by a bitmap (VHD, VHDX). And all files must be present and unchanged: \
              losing or writing to one breaks everything above it.",
        evidence: "The parents that the files name, followed; one pass over each table. A file's share counts what it holds itself, also where a \
                   file above it hides that.",
        example: "base.qcow2, monday.qcow2, tuesday.qcow2: a block that only the base holds is looked up in three tables. When tuesday.qcow2 holds \
                  5% of the disk, 95% of evenly spread reads go on to monday.qcow2.",
        fix: "Shorten it. Running under libvirt: `virsh blockcommit DOMAIN vda --active --pivot`, or `virsh blockpull DOMAIN vda`. Off: \
              `qemu-img commit TOP`, `qemu-img rebase -b BASE -F qcow2 TOP`, `Merge-VHD`, or delete snapshots in the hypervisor that made \
              them. A whole copy: `qemu-img convert -O qcow2 OLD NEW`.",
        fix_safety: "Committing writes into the lower file: every other disk that rests on it is destroyed by that. Use the hypervisor's own means for \
                     its snapshots, have a backup, and never change a file of a chain while a machine runs on it.",
        references: &[
            "https://libvirt.org/kbase/backing_chains.html",
            "qemu-img(1): commit, rebase",
            "https://learn.microsoft.com/en-us/powershell/module/hyper-v/merge-vhd",
        ],
    },
    check,
};

/// Files from which on a chain is long.
const LONG: usize = 3;
/// Files that are named; of longer chains the count is.
const MAX_NAMED: usize = 12;

fn check(context: &Context<'_>, findings: &mut Findings) {
    let stack = context.stack;
    for (id, layer) in context.of_kind(LayerKind::Container) {
        if is_parent(stack, id) {
            continue;
        }
        let chain = chain(stack, id);
        if chain.len() < LONG {
            continue;
        }
        let (file, count) = (file_name(stack, id), chain.len());
        let title = format!("{file}: {count} files behind each other hold this disk");
        let mut finding = Finding::new(RULE.code, Severity::Note, id, title);
        let linked = chain.iter().take(MAX_NAMED).filter_map(|link| {
            let fact = stack.layer(*link).attribute(Key::Parent)?;
            let file = stack.layer(*link).below.first().copied();
            Some((file, fact))
        });
        for (file, fact) in linked {
            let label = format!("{} = {}", Key::Parent.name(), fact.value);
            finding = finding.evidence_in(file, &fact.source, label);
        }
        let size = layer.size.as_ref().map_or(Bytes::ZERO, |size| size.value);
        for link in chain.iter().take(MAX_NAMED) {
            finding = finding.arithmetic(share(stack, *link, size));
        }
        if count > MAX_NAMED {
            finding = finding.arithmetic(format!("and {} files more", count - MAX_NAMED));
        }
        let shorten = match layer.format.as_deref() {
            Some("vhd" | "vhdx") => format!("machine off: Merge-VHD -Path {file}"),
            Some("qcow2") => format!(
                "running: virsh blockcommit DOMAIN TARGET --active --pivot; off, when nothing else rests on its parent: qemu-img commit {file}"
            ),
            _ => "merge snapshots in the hypervisor that made them".to_owned(),
        };
        findings.push(
            finding
                .note(format!(
                    "a read of what the top lacks looks through up to {count} tables; the first write to a block of a lower file copies or splits it"
                ))
                .help(shorten),
        );
    }
}

/// The disk and what it rests on, down to the base.
fn chain(stack: &Stack, top: LayerId) -> Vec<LayerId> {
    // Layers rest on lower ones only, so this ends. What stands for a file that was not found has no size.
    std::iter::successors(Some(top), |link| parent(stack, *link))
        .filter(|link| stack.layer(*link).size.is_some())
        .collect()
}

/// What a file holds itself.
fn share(stack: &Stack, link: LayerId, size: Bytes) -> String {
    let layer = stack.layer(link);
    if layer.kind != LayerKind::Container {
        return format!("{}: the base, all of it", layer.name);
    }
    let name = file_name(stack, link);
    let own = layer.survey.as_ref().and_then(|survey| {
        let own = survey.mapped.checked_sub(survey.in_parent)?;
        own.checked_add(survey.packed)
    });
    match own.zip(own.and_then(|own| Ratio::new(own.get(), size.get()))) {
        Some((own, share)) => format!(
            "{name}: {} of {} bytes = {share}",
            own.grouped(),
            size.grouped()
        ),
        None => format!("{name}: how much it holds is not known"),
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::LayerId;

    fn chain(files: usize) -> (Lab, Vec<LayerId>) {
        let mut lab = Lab::new();
        let disk = lab.disk(512);
        let mut links: Vec<LayerId> = Vec::new();
        for _ in 0..files {
            let below: Vec<LayerId> = [disk].into_iter().chain(links.last().copied()).collect();
            let id = lab.blocks("qcow2", &below, 65_536);
            links.push(id);
        }
        (lab, links)
    }

    #[test]
    fn three_files_are_named_with_their_shares() {
        let (mut lab, links) = chain(3);
        lab.surveyed(links[0], 1 << 29, 0, 0);
        lab.surveyed(links[1], 1 << 29, 1 << 28, 0);
        lab.surveyed(links[2], 1 << 29, 1 << 29, 0);
        let found = lab.one(&RULE, Severity::Note, "sda: 0 of 1,073,741,824 bytes = 0%");
        assert_eq!(
            found.arithmetic[1..],
            [
                "sda: 268,435,456 of 1,073,741,824 bytes = 25%",
                "sda: 536,870,912 of 1,073,741,824 bytes = 50%"
            ]
        );
        assert_eq!(found.layer, links[2]);
    }

    #[test]
    fn very_long_chains_are_cut() {
        let (lab, _) = chain(20);
        lab.one(&RULE, Severity::Note, "and 8 files more");
    }

    #[test]
    fn a_disk_and_its_base_are_silent() {
        let (lab, _) = chain(2);
        lab.none(&RULE);
    }
}
