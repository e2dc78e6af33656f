//! Why a script should not move partitions: tables that contradict themselves, and contents that cannot be made shorter.

use straddle_geometry::{Bytes, both_ways};
use straddle_stack::{AnomalyKind, Key, Layer, LayerId};

use super::{Entry, Partitions};
use crate::Situation;

/// What is wrong with a table.
pub(super) fn of_table(
    situation: &Situation<'_>,
    plan: &Partitions,
    partitions: &[(LayerId, &Layer)],
    size: Bytes,
) -> Vec<String> {
    let base = situation.stack.layer(plan.device);
    let mut out = Vec::new();
    if !matches!(plan.table.as_str(), "mbr" | "gpt") {
        out.push(format!(
            "its table is of the kind {}: scripts are written for mbr and gpt",
            plan.table
        ));
    }
    let odd = |kind| base.anomalies.iter().any(|anomaly| anomaly.kind == kind);
    if odd(AnomalyKind::HybridTable) {
        out.push(
            "the MBR beside the GPT describes partitions too (hybrid): remove one of the two descriptions first".to_owned(),
        );
    }
    if odd(AnomalyKind::Damaged) || odd(AnomalyKind::Chain) {
        out.push("the table is damaged: repair it first; `straddle check` says where".to_owned());
    }
    let mut containers = 0;
    for (_, layer) in partitions {
        let Some(kind) = layer.text(Key::PartitionType) else {
            continue;
        };
        if layer.attribute(Key::HoldsPartitions).is_some() {
            containers += 1;
            if !matches!(kind, "05" | "0f" | "85") {
                out.push(format!(
                    "{} has a table of its own, which counts from the beginning of the disk",
                    layer.name
                ));
            }
        }
        if layer
            .placement
            .as_ref()
            .is_some_and(|p| p.value.end() > size)
        {
            out.push(format!("{} ends behind the end of the disk", layer.name));
        }
    }
    if containers > 1 {
        out.push("there is more than one partition that holds others".to_owned());
    }
    out.extend(overlaps(situation, plan));
    out
}

fn overlaps(situation: &Situation<'_>, plan: &Partitions) -> Vec<String> {
    let name = |id: LayerId| situation.stack.layer(id).name.clone();
    let mut out = Vec::new();
    for (index, entry) in plan.entries.iter().enumerate() {
        let others = plan.entries.iter().skip(index + 1);
        for other in others.filter(|other| other.from.overlaps(entry.from)) {
            out.push(format!(
                "{} and {} overlap: find out which of them is right before anything is moved",
                name(entry.layer),
                name(other.layer)
            ));
        }
        let Some(extended) = &plan.extended else {
            continue;
        };
        let is_logical = entry.is_logical(&plan.table);
        if is_logical && !extended.from.contains(entry.from)
            || !is_logical && extended.from.overlaps(entry.from)
        {
            out.push(format!(
                "{} lies {} the extended partition",
                name(entry.layer),
                if is_logical { "outside" } else { "inside" }
            ));
        }
    }
    out
}

/// How much of a partition its filesystem needs.
pub(super) fn fills(above: Option<&Layer>) -> Option<Bytes> {
    let above = above?;
    let claimed = above.bytes(Key::ClaimedSize)?.value;
    match above.format.as_deref() {
        // Its last sector, with a copy of the first, is not counted.
        Some("ntfs") => claimed.checked_add(Bytes::new(4096)),
        _ => Some(claimed),
    }
}

/// What must be done before a partition can become shorter.
pub(super) fn of_shrinking(situation: &Situation<'_>, entry: &Entry, name: &str) -> Option<String> {
    let above = situation.children(entry.layer).next().map(|(_, l)| l);
    if entry.resize.is_some() || fills(above).is_some_and(|fills| fills <= entry.to.len()) {
        return None;
    }
    let len = both_ways(entry.to.len());
    let to = match entry.filesystem.as_deref() {
        Some("xfs") => "XFS cannot be made smaller: copy it away with xfsdump, make it again at that length, and xfsrestore".to_owned(),
        Some("btrfs") => format!(
            "mount it, and `btrfs filesystem resize {} MOUNTPOINT`",
            entry.to.len().get()
        ),
        Some("swap") => format!(
            "swapoff, and mkswap again with the same UUID at that length: `mkswap -U UUID DEVICE {}`",
            entry.to.len().get() / 1024
        ),
        Some("lvm2") => format!(
            "`pvresize --setphysicalvolumesize {}b DEVICE`, after pvmove where its end is in use",
            entry.to.len().get()
        ),
        Some("luks" | "luks1" | "luks2") => {
            "make smaller what is inside; LUKS itself records no length".to_owned()
        }
        Some("fat") => format!("`fatresize --size {} DEVICE`", entry.to.len().get()),
        Some(other) => format!("nothing is known here that makes {other} smaller; copy it away, make it again, and copy it back"),
        None => "what is on it was not recognised, and may use all of it; delete it, or make it smaller yourself".to_owned(),
    };
    Some(format!(
        "{name} has no room behind it, and what is on it must be at most {len} long first: {to}"
    ))
}
