//! Whether all that a plan says must be there is there.

use std::collections::BTreeSet;
use straddle_geometry::Bytes;
use straddle_stack::{Layer, LayerId, LayerKind, Stack};

use super::{Kept, Reader, Survival, marks, sha256, start};
use crate::situation;

/// What is missing, and what could not be looked at.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Missing {
    pub(crate) lost: Vec<String>,
    pub(crate) unseen: Vec<String>,
}

/// Looks for every layer in its place, and for every sample in its layer.
pub(crate) fn compare(survival: &Survival, stack: &Stack, read: &mut Reader<'_>) -> Missing {
    let mut missing = Missing::default();
    let is_text = situation::platform(stack).is_some();
    let mut found: Vec<Option<LayerId>> = Vec::new();
    let mut taken: BTreeSet<LayerId> = BTreeSet::new();
    for kept in &survival.layers {
        let below: Option<Vec<LayerId>> = kept
            .below
            .iter()
            .map(|below| found.get(*below).copied().flatten())
            .collect();
        let best = below.and_then(|below| {
            let may_be = stack.iter().filter(|(id, layer)| {
                // What a virtual disk lies in is no part of it.
                let is_packed = layer.kind == LayerKind::Container && kept.below.is_empty();
                let is_there = is_packed || layer.below == below;
                !taken.contains(id) && layer.kind.name() == kept.kind && is_there
            });
            let rated = may_be.map(|(id, layer)| {
                let differences = Differences::of(kept, layer, is_text);
                ((id, layer.name != kept.name), differences)
            });
            // Another number is another partition, whatever else is the same.
            let rated = rated.filter(|(_, differences)| !differences.is_another);
            // Of those that are alike, the one of the same name.
            rated.min_by_key(|((_, is_other), differences)| (differences.lost.len(), *is_other))
        });
        let Some(((id, _), differences)) = best else {
            found.push(None);
            // Tools print whole tables, but not what lies on partitions.
            let is_table = kept.kind == LayerKind::Partition.name() || kept.below.is_empty();
            match is_text && !is_table {
                true => missing
                    .unseen
                    .push(format!("{} is not in the text", called(kept))),
                false => missing.lost.push(format!("{} is not there", called(kept))),
            }
            continue;
        };
        missing.lost.extend(differences.lost);
        missing.unseen.extend(differences.unseen);
        taken.insert(id);
        found.push(Some(id));
    }
    for sample in &survival.samples {
        let name = survival
            .layers
            .get(sample.layer)
            .map_or("", |kept| &kept.name);
        let Some(id) = found.get(sample.layer).copied().flatten() else {
            continue;
        };
        let place = format!("{} of {name} at byte {}", sample.what, sample.offset.get());
        let mut bytes = vec![0; usize::try_from(sample.length.get()).unwrap_or(0)];
        if read(id, sample.offset, &mut bytes) {
            if sha256(&bytes) != sample.sha256 {
                missing
                    .lost
                    .push(format!("{place}: not the bytes that were there"));
            }
        } else if is_text {
            missing
                .unseen
                .push(format!("{place}: text does not hold them"));
        } else {
            missing.lost.push(format!("{place}: cannot be read"));
        }
    }
    missing
}

fn called(kept: &Kept) -> String {
    match &kept.format {
        Some(format) => format!("{} ({format})", kept.name),
        None => kept.name.clone(),
    }
}

/// What is other about a layer than was promised.
struct Differences {
    lost: Vec<String>,
    unseen: Vec<String>,
    is_another: bool,
}

impl Differences {
    fn of(kept: &Kept, layer: &Layer, is_text: bool) -> Differences {
        let (mut lost, mut unseen) = (Vec::new(), Vec::new());
        let name = called(kept);
        if kept.format.as_deref() != layer.format.as_deref() {
            let now = layer.format.as_deref().unwrap_or("nothing known");
            lost.push(format!("{name} is {now} now"));
        }
        let mut place = |what: &str, then: Option<Bytes>, now: Option<Bytes>| {
            let Some(then) = then else { return };
            match now {
                Some(now) if now == then => {}
                Some(now) => lost.push(format!(
                    "{name}: {what} is {} bytes, not {}",
                    now.get(),
                    then.get()
                )),
                None if is_text => unseen.push(format!("{name}: its {what} is not in the text")),
                None => lost.push(format!("{name}: its {what} is not known")),
            }
        };
        place("start", kept.start, start(layer));
        place(
            "size",
            kept.size,
            layer.size.as_ref().map(|size| size.value),
        );
        let now = marks(layer);
        for (key, then) in &kept.marks {
            match now.get(key) {
                Some(now) if now == then => {}
                Some(now) => lost.push(format!("{name}: {key} is {now}, not {then}")),
                None if is_text => unseen.push(format!("{name}: its {key} is not in the text")),
                None => lost.push(format!("{name} has no {key}")),
            }
        }
        let number = straddle_stack::Key::PartitionNumber.name();
        let is_another =
            kept.marks.contains_key(number) && kept.marks.get(number) != now.get(number);
        Differences {
            lost,
            unseen,
            is_another,
        }
    }
}
