//! What identifies a target, and what must be there when a plan has been carried out: layers with their places, sizes and identifiers, and
//! digests of samples of their bytes. A finding that is absent proves nothing where all is absent.

mod compare;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use straddle_geometry::{Bytes, Map};
use straddle_stack::{Key, Layer, LayerId, LayerKind, Source, Stack};

use crate::change::Change;
use crate::{How, Step, situation};

pub(crate) use compare::compare;

/// The SHA-256 of some bytes, in hexadecimal digits.
#[must_use]
pub fn sha256(bytes: &[u8]) -> String {
    let digest = hmac_sha256::Hash::hash(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads bytes of a layer, all that are asked for; false where they cannot be had.
pub type Reader<'a> = dyn FnMut(LayerId, Bytes, &mut [u8]) -> bool + 'a;

/// What must be there afterwards.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Survival {
    /// The layers around what the plan changes, as they will be; those below come first.
    pub layers: Vec<Kept>,
    /// Bytes that are the same before and after.
    pub samples: Vec<Sample>,
    /// What was not looked at when the plan was made, and why: nobody can tell afterwards whether it survived.
    pub unseen: Vec<String>,
}

/// A layer that must be there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Kept {
    /// What it was called.
    pub name: String,
    /// What it is: `partition`.
    pub kind: String,
    /// Its format: `ext4`.
    pub format: Option<String>,
    /// The layers that it rests on, by their places in this list.
    pub below: Vec<usize>,
    /// Where it begins in what it rests on; `null` where that is not one place, or not promised.
    pub start: Option<Bytes>,
    /// How long it is; `null` where that is not promised.
    pub size: Option<Bytes>,
    /// What it is known by: identifiers, type, name, by what they are called.
    pub marks: BTreeMap<String, String>,
}

/// Some bytes of a layer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sample {
    /// The layer, by its place in the list.
    pub layer: usize,
    /// What they are: `contents`.
    pub what: String,
    /// Where they begin in the layer.
    pub offset: Bytes,
    /// How many there are.
    pub length: Bytes,
    /// Their SHA-256.
    pub sha256: String,
}

/// What a layer is known by.
const MARKS: &[Key] = &[
    Key::PartitionTable,
    Key::TableId,
    Key::TableSectorSize,
    Key::PartitionNumber,
    Key::PartitionType,
    Key::PartitionName,
    Key::VolumeId,
    Key::Label,
    Key::Uuid,
    Key::SetUuid,
    Key::Role,
    Key::VolumeGroup,
    Key::PoolGuid,
    Key::VdevGuid,
];

/// Those that a layer gets again when what it belongs to is re-created.
const IDENTIFIERS: &[Key] = &[Key::VolumeId, Key::Uuid, Key::PoolGuid, Key::VdevGuid];

/// A sample of contents: one page.
const SAMPLE: u64 = 4096;
/// How many of a layer are wanted, in sections of the same length.
const SECTIONS: u64 = 16;
/// How many places of a section are looked at for one that is not all the same byte.
const TRIES: u64 = 64;
/// What is read for samples of one plan: of a fleet of disks, the first are sampled.
const LIMIT: u64 = 256 << 20;

impl Survival {
    /// What the steps must leave, from the stack as it is and as it will be.
    pub(crate) fn of(now: &Stack, after: &Stack, steps: &[Step]) -> Survival {
        let concerned = concerned(after, steps);
        let mut places: BTreeMap<LayerId, usize> = BTreeMap::new();
        let mut layers = Vec::new();
        for (id, layer) in after.iter().filter(|(id, _)| concerned.contains(id)) {
            let below = layer.below.iter().filter_map(|id| places.get(id).copied());
            let kept = Kept {
                name: layer.name.clone(),
                kind: layer.kind.name().to_owned(),
                format: layer.format.as_deref().map(str::to_owned),
                below: below.collect(),
                start: start(layer),
                size: layer.size.as_ref().map(|size| size.value),
                marks: marks(layer),
            };
            places.insert(id, layers.len());
            layers.push(without(now, layer, steps, id, kept));
        }
        Survival {
            layers,
            samples: Vec::new(),
            unseen: Vec::new(),
        }
    }

    /// Adds samples of what the steps keep as it is, read from the stack as it is now.
    pub fn sample(&mut self, now: &Stack, after: &Stack, steps: &[Step], read: &mut Reader<'_>) {
        let concerned = concerned(after, steps);
        if situation::platform(now).is_some() {
            let why =
                "the contents of everything: this plan was made from text, without the devices";
            self.unseen.push(why.to_owned());
            return;
        }
        let mut spent = 0;
        for (place, (id, layer)) in after
            .iter()
            .filter(|(id, _)| concerned.contains(id))
            .enumerate()
        {
            self.entry(now, id, place, read);
            let is_leaf = after.above(id).next().is_none() && !layer.below.is_empty();
            // An extended partition holds records of a table, which are written again when what is in it moves.
            let is_table = layer.attribute(Key::HoldsPartitions).is_some();
            if !is_leaf || is_table || layer.kind == LayerKind::DatabasePage {
                continue;
            }
            let size = layer.size.as_ref().map(|size| size.value.get());
            let below = layer
                .below
                .iter()
                .find_map(|below| after.layer(*below).size.as_ref());
            let size = size.or_else(|| below.map(|size| size.value.get()));
            match (kept_bytes(now, steps, id), size) {
                (Err(why), _) => self
                    .unseen
                    .push(format!("the contents of {}: {why}", layer.name)),
                (Ok(_), None) => self.unseen.push(format!(
                    "the contents of {}: its size is not known",
                    layer.name
                )),
                (Ok((head, tail)), Some(size)) if spent < LIMIT => {
                    let end = size.saturating_sub(tail);
                    spent += self.contents((id, place), head..end, read);
                }
                (Ok(_), Some(_)) => self.unseen.push(format!(
                    "the contents of {}: enough others were read",
                    layer.name
                )),
            }
        }
    }

    /// The bytes of the table that say what a partition of a GPT is: they stay where they are.
    fn entry(&mut self, now: &Stack, id: LayerId, place: usize, read: &mut Reader<'_>) {
        let layer = now.layer(id);
        let Some(below) = layer
            .below
            .first()
            .filter(|_| layer.kind == LayerKind::Partition)
        else {
            return;
        };
        let is_gpt = now.layer(*below).text(Key::PartitionTable) == Some("gpt");
        let (Some(kind), Some(on)) = (
            layer.attribute(Key::PartitionType).filter(|_| is_gpt),
            self.layers[place].below.first().copied(),
        ) else {
            return;
        };
        let Source::Image(image) = &kind.source else {
            return;
        };
        for (what, offset, length) in [
            ("type and identifier", 0, 32),
            ("attributes and name", 48, 80_usize),
        ] {
            let mut bytes = vec![0; length];
            let Some(offset) = image.offset().checked_add(Bytes::new(offset)) else {
                continue;
            };
            if read(*below, offset, &mut bytes) {
                let what = format!("{what} of {}", layer.name);
                self.add(on, what, offset, &bytes);
            }
        }
    }

    /// Samples of a layer, one of each section that has something in it; gives how many bytes were read.
    fn contents(
        &mut self,
        (id, place): (LayerId, usize),
        range: std::ops::Range<u64>,
        read: &mut Reader<'_>,
    ) -> u64 {
        let pages = range.end.saturating_sub(range.start) / SAMPLE;
        let sections = SECTIONS.min(pages);
        let mut bytes = vec![0; 4096];
        let mut looked = 0;
        let mut found = false;
        for section in 0..sections {
            let (first, last) = (pages * section / sections, pages * (section + 1) / sections);
            let tries = TRIES.min(last - first).max(1);
            for attempt in 0..tries {
                let page = first + (last - first) * attempt / tries;
                let offset = Bytes::new(range.start + page * SAMPLE);
                if !read(id, offset, &mut bytes) {
                    continue;
                }
                looked += SAMPLE;
                if bytes.iter().any(|byte| *byte != bytes[0]) {
                    found = true;
                    self.add(place, "contents".to_owned(), offset, &bytes);
                    break;
                }
            }
        }
        if !found {
            let name = &self.layers[place].name;
            let why = match looked {
                0 => "they could not be read",
                _ => "nothing was found in it that a sample could tell from nothing",
            };
            self.unseen.push(format!("the contents of {name}: {why}"));
        }
        looked
    }

    fn add(&mut self, layer: usize, what: String, offset: Bytes, bytes: &[u8]) {
        self.samples.push(Sample {
            layer,
            what,
            offset,
            length: Bytes::new(u64::try_from(bytes.len()).unwrap_or(u64::MAX)),
            sha256: sha256(bytes),
        });
    }

    /// What makes this useless for a verification.
    #[must_use]
    pub fn fault(&self) -> Option<&'static str> {
        let ahead = self
            .layers
            .iter()
            .enumerate()
            .any(|(at, layer)| layer.below.iter().any(|below| *below >= at));
        let count = self.layers.len();
        let beyond = |sample: &Sample| sample.layer >= count || sample.length.get() > 1 << 20;
        if self.layers.is_empty() {
            Some("it says nothing of what must be there afterwards")
        } else if ahead || self.samples.iter().any(beyond) {
            Some("what it says of layers and samples contradicts itself")
        } else {
            None
        }
    }
}

/// The layers that share a foundation with what is changed. The files of a virtual disk, its parents and what they lie on are no part
/// of it: another format has others.
fn concerned(stack: &Stack, steps: &[Step]) -> BTreeSet<LayerId> {
    let mut concerned: BTreeSet<LayerId> = BTreeSet::new();
    let is_disk = |id: LayerId| stack.layer(id).kind == LayerKind::Container;
    let packs = |id: LayerId| stack.above(id).filter(|above| is_disk(*above));
    let descend = |concerned: &mut BTreeSet<LayerId>, id: LayerId| {
        let mut next = vec![id];
        while let Some(id) = next.pop() {
            let is_new = concerned.insert(id);
            if is_new && !is_disk(id) {
                next.extend(&stack.layer(id).below);
            }
        }
    };
    for step in steps {
        let mut disks = packs(step.layer).peekable();
        match disks.peek() {
            Some(_) => disks.for_each(|disk| descend(&mut concerned, disk)),
            None => descend(&mut concerned, step.layer),
        }
    }
    for (id, layer) in stack.iter() {
        if layer.below.iter().any(|below| concerned.contains(below)) {
            descend(&mut concerned, id);
        }
    }
    concerned
}

/// Where a layer begins in the one below.
pub(crate) fn start(layer: &Layer) -> Option<Bytes> {
    match (&layer.placement, &layer.map) {
        (Some(placement), _) => Some(placement.value.start()),
        (None, Map::Linear { start }) => Some(*start),
        _ => None,
    }
}

pub(crate) fn marks(layer: &Layer) -> BTreeMap<String, String> {
    let known = MARKS
        .iter()
        .filter_map(|key| Some((key, layer.attribute(*key)?)));
    known
        .map(|(key, fact)| (key.name().to_owned(), fact.value.to_string()))
        .collect()
}

/// What is kept of a layer, without what the steps change or do not promise.
fn without(now: &Stack, layer: &Layer, steps: &[Step], id: LayerId, mut kept: Kept) -> Kept {
    // A new file has an identifier of its own.
    if layer.kind == LayerKind::Container {
        kept.marks.clear();
        kept.start = None;
    }
    for step in steps {
        let rests = now.rests_on(id, step.layer);
        let forget: &[Key] = match &step.change {
            Change::Array(array) => {
                if array.members.iter().any(|member| member.layer == id) {
                    &[Key::Uuid]
                } else if id == array.array {
                    kept.size = None;
                    kept.start = None;
                    &[]
                } else {
                    &[]
                }
            }
            // Its extents may be moved to another device: what is promised is the volumes.
            Change::VolumeGroup(group) if id == group.device => {
                kept.size = None;
                &[Key::Uuid]
            }
            Change::VolumeGroup(group) if now.rests_on(id, group.device) => {
                if layer.kind == LayerKind::Volume {
                    kept.start = None;
                }
                &[]
            }
            // Its own tool makes it fit, and may leave a last cluster out.
            Change::Partitions(partitions) if layer.kind == LayerKind::Filesystem => {
                let entries = &mut partitions.entries.iter();
                if entries.any(|entry| entry.shrinks() && now.rests_on(id, entry.layer)) {
                    kept.size = None;
                }
                &[]
            }
            Change::Pool(_) if rests || now.rests_on(step.layer, id) => IDENTIFIERS,
            // The one step that makes a filesystem again and gives it its old identifier; it fills its device as far as its blocks do.
            Change::Filesystem(filesystem) => {
                if layer.kind == LayerKind::Filesystem && now.rests_on(id, filesystem.device) {
                    kept.size = None;
                }
                &[]
            }
            _ if rests && matches!(step.how, How::Refill { .. }) && id != step.layer => IDENTIFIERS,
            _ => &[],
        };
        for key in forget {
            kept.marks.remove(key.name());
        }
    }
    kept
}

/// How much of a layer's beginning and end its steps may change, when they keep the rest; else why nothing of it can be sampled.
fn kept_bytes(now: &Stack, steps: &[Step], id: LayerId) -> Result<(u64, u64), &'static str> {
    let mut ends = (0, 0);
    if now.layer(id).attribute(Key::MountPoint).is_some() {
        return Err("it was mounted when the plan was made");
    }
    for step in steps.iter().filter(|step| step.how != How::ByHand) {
        let touches = now.rests_on(id, step.layer) || now.rests_on(step.layer, id);
        let written = step.change.written();
        if !touches && !written.iter().any(|written| now.rests_on(id, *written)) {
            continue;
        }
        match &step.change {
            Change::Partitions(partitions) => {
                let entry = partitions
                    .entries
                    .iter()
                    .find(|e| now.rests_on(id, e.layer));
                let Some(entry) = entry.filter(|entry| entry.changes()) else {
                    continue;
                };
                if matches!(step.how, How::Refill { .. }) {
                    return Err("it is re-created, and its files are copied back");
                }
                if entry.shrinks() {
                    return Err("it is made shorter, which moves what is in it");
                }
                if entry.records_start {
                    // Its boot sectors and their copies say where it begins.
                    ends = (128 << 10, 64 << 10);
                }
            }
            Change::Hints(_) => return Err("its own tool writes to it"),
            Change::EncryptionSector(_) => return Err("it is re-encrypted"),
            Change::Filesystem(_) | Change::Pool(_) => return Err("it is re-created"),
            _ if matches!(step.how, How::Refill { .. }) => return Err("it is re-created"),
            _ => {}
        }
    }
    Ok(ends)
}
