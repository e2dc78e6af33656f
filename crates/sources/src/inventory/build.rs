//! From joined things to layers.

use std::collections::HashMap;
use straddle_geometry::{Bytes, Extent, Grid, Map, SectorSize, Segment, Striping, Unit};
use straddle_stack::{
    Anomaly, AnomalyKind, Fact, GridRole, Interval, Key, Layer, LayerId, LayerKind, Source, Stack,
    Value,
};

use super::groups::Joined;
use super::{Name, Placing, Space, Thing, lower};
use crate::Overrides;
use crate::image::assume_sectors;

/// Deepest chain of things on things; a forged text may make a loop.
const MAX_DEPTH: usize = 32;

pub(super) fn stack(joined: Joined, overrides: &Overrides) -> Stack {
    let mut builder = Builder {
        placed: vec![Placed::No; joined.things.len()],
        joined,
        stack: Stack::new(),
        strangers: HashMap::new(),
        overrides,
    };
    for index in 0..builder.joined.things.len() {
        builder.place(index, 0);
    }
    builder.finish()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Placed {
    No,
    Now,
    As(LayerId),
}

struct Builder<'o> {
    joined: Joined,
    placed: Vec<Placed>,
    stack: Stack,
    /// Layers for what is only named as what something else lies on.
    strangers: HashMap<Name, LayerId>,
    overrides: &'o Overrides,
}

impl Builder<'_> {
    fn place(&mut self, index: usize, depth: usize) -> Option<LayerId> {
        match self.placed[index] {
            Placed::As(id) => return Some(id),
            Placed::Now => return None,
            Placed::No if depth > MAX_DEPTH => return None,
            Placed::No => {}
        }
        self.placed[index] = Placed::Now;
        let thing = self.joined.things[index].take()?;
        let below: Vec<(Name, LayerId)> = std::mem::take(&mut self.joined.on[index])
            .into_iter()
            .zip(&thing.on)
            .filter_map(|(found, name)| {
                let id = match found {
                    Some(found) => self.place(found, depth + 1)?,
                    None => self.stranger(name),
                };
                Some((name.clone(), id))
            })
            .collect();
        let mut layer = self.layer_of(thing, &below);
        fill(&mut layer, &self.stack);
        keep_alignment(&mut layer, &self.stack);
        let id = self.push(layer);
        self.placed[index] = Placed::As(id);
        Some(id)
    }

    /// The sector that the first of these layers is said to have; 512 bytes when nothing says so.
    fn sector_of(&self, below: &[LayerId]) -> Unit {
        let first = below.first().map(|id| self.stack.layer(*id));
        let sector = first.and_then(|layer| layer.grid(GridRole::LogicalSector));
        sector.map_or(SectorSize::B512.unit(), |fact| fact.value.unit())
    }

    /// The layer of something that is named and nowhere described.
    fn stranger(&mut self, name: &Name) -> LayerId {
        if let Some(id) = self.strangers.get(name) {
            return *id;
        }
        let (text, machine) = name.and_machine();
        let mut title = match name.space {
            Space::WindowsDisk => format!("disk {text}"),
            Space::EsxiDevice => text.to_owned(),
            // A drive letter.
            Space::WindowsVolume if text.len() == 2 => format!("volume {}", text.to_uppercase()),
            space => format!("{} {text}", space.word()),
        };
        if let Some(machine) = machine {
            title.push_str(" of ");
            title.push_str(machine);
        }
        // These start somewhere on a disk that is not even named, not at the beginning of one.
        let kind = match name.space {
            Space::WindowsVolume | Space::WindowsPartition | Space::WmiPartition => {
                LayerKind::Partition
            }
            Space::WindowsVolumeNumber | Space::MountPoint | Space::LogicalVolume | Space::Vmfs => {
                LayerKind::Volume
            }
            _ => LayerKind::Device,
        };
        let mut layer = Layer::new(kind, title);
        if kind != LayerKind::Device {
            layer.map = Map::Segments(Vec::new());
        }
        layer.anomalies.push(Anomaly::new(
            AnomalyKind::OnlyNamed,
            "it is only named: no capture describes it",
        ));
        let id = self.push(layer);
        self.strangers.insert(name.clone(), id);
        id
    }

    fn layer_of(&self, mut thing: Thing, reached: &[(Name, LayerId)]) -> Layer {
        let placing = std::mem::take(&mut thing.placing);
        let start = thing.start.take();
        let passed_on = std::mem::take(&mut thing.passed_on);
        let mut layer = described(thing);
        if reached.is_empty() {
            for grid in passed_on {
                if layer.grid(grid.role).is_none() {
                    layer.grids.push(grid);
                }
            }
            if layer.kind == LayerKind::Partition {
                layer.map = Map::Segments(Vec::new());
            }
            return layer;
        }
        let below: Vec<LayerId> = reached.iter().map(|(_, id)| *id).collect();
        match placing {
            Placing::Raid(raid) => lower::place_raid(&mut layer, &raid, reached, &self.stack),
            Placing::Chunks => {
                lower::place_chunks(&mut layer, &below, &self.stack);
                layer.below = below;
            }
            Placing::Extents(extents) => {
                let extent = self.extent_of(&layer);
                let had = layer.anomalies.len();
                lower::place_extents(&mut layer, &extents, extent.as_ref(), reached, &self.stack);
                // Where LVM's own figures are rounded, a table of device-mapper says it in sectors.
                let is_nowhere = matches!(&layer.map, Map::Segments(pieces) if pieces.is_empty());
                let is_exact = start.as_ref().is_some_and(|start| known(start).is_some());
                if let ([_], true, true) = (below.as_slice(), is_nowhere, is_exact) {
                    layer.anomalies.truncate(had);
                    let sector = self.sector_of(&below);
                    place(&mut layer, Placing::Linear, start, &below, sector);
                    layer.below = below;
                }
            }
            placing => {
                place(&mut layer, placing, start, &below, self.sector_of(&below));
                layer.below = below;
            }
        }
        layer
    }

    /// The length of an extent in the volume group of a volume.
    fn extent_of(&self, layer: &Layer) -> Option<Fact<Bytes>> {
        layer.bytes(Key::ExtentSize).or_else(|| {
            let group = layer.text(Key::VolumeGroup)?;
            self.joined.extents.get(group).cloned()
        })
    }

    /// Adds a layer. What lies on nothing gets the sectors that are assumed or stated at once: layers above see them.
    fn push(&mut self, layer: Layer) -> LayerId {
        let root = layer.below.is_empty();
        let id = self.stack.push(layer);
        if root {
            // A mapped device with a partition table is one that the kernel makes of several paths or disks.
            let layer = self.stack.layer(id);
            let mapped =
                layer.kind == LayerKind::Volume && layer.text(Key::PartitionTable).is_some();
            if layer.kind == LayerKind::Device || mapped {
                assume_sectors(&mut self.stack, id);
            }
            let layer = self.stack.layer_mut(id);
            self.overrides.apply(layer);
            if let Some(platform) = self.joined.platform {
                let fact = Fact::derived(
                    Value::Text(platform.into()),
                    "the system whose tools print such text",
                );
                layer.set(Key::Platform, fact);
            }
        }
        id
    }

    fn finish(mut self) -> Stack {
        if self.stack.layers().is_empty() && !self.joined.remarks.is_empty() {
            self.push(Layer::new(LayerKind::Device, "unknown disk"));
        }
        let first = self.stack.roots().next();
        if let Some(first) = first {
            let layer = self.stack.layer_mut(first);
            layer.anomalies.extend(self.joined.remarks);
        }
        self.stack
    }
}

/// A layer with everything but its place.
fn described(thing: Thing) -> Layer {
    // Whoever spoke of it first may not have known what it is.
    let title = match (&thing.format, thing.title.as_str()) {
        (Some(format), "filesystem") => format.value.to_string(),
        _ => thing.title.clone(),
    };
    let mut layer = Layer::new(thing.kind, title);
    layer.format = thing.format.map(|fact| fact.value);
    layer.grids = thing.grids;
    layer.attributes = thing.attributes;
    layer.anomalies = folded(thing.remarks);
    let size = thing.size;
    layer.size = size.as_ref().and_then(known);
    if let Some(shown) = &size
        && layer.size.is_none()
    {
        layer.set(Key::SizeShown, shown.clone().map(Value::Between));
    }
    layer
}

/// Most remarks of one kind about one thing that are told one by one. A disk may have the serial number of thousands.
const MAX_OF_ONE_KIND: usize = 4;

/// The first remarks of each kind, and how many more there are.
fn folded(remarks: Vec<Anomaly>) -> Vec<Anomaly> {
    let mut told: Vec<Anomaly> = Vec::new();
    let mut more: Vec<(AnomalyKind, usize)> = Vec::new();
    for remark in remarks {
        let kind = remark.kind;
        if told.iter().filter(|other| other.kind == kind).count() < MAX_OF_ONE_KIND {
            told.push(remark);
            continue;
        }
        match more.iter_mut().find(|(other, _)| *other == kind) {
            Some((_, count)) => *count += 1,
            None => more.push((kind, 1)),
        }
    }
    for (kind, count) in more {
        let plural = if count == 1 { "" } else { "s" };
        // What rules say of a kind goes on behind the name of the thing, with a colon or without.
        let detail = match kind {
            AnomalyKind::SameIdentity => {
                format!("shares an identity with {count} more device{plural}")
            }
            _ => format!("{count} more remark{plural} like this ({})", kind.name()),
        };
        told.push(Anomaly::new(kind, detail));
    }
    told
}

fn known(fact: &Fact<Interval>) -> Option<Fact<Bytes>> {
    let bytes = fact.value.known()?;
    Some(fact.clone().map(|_| bytes))
}

/// As for images: a filesystem of which no size was said is as long as its superblock says, if it fits into what it lies
/// on, and else as long as that.
fn fill(layer: &mut Layer, stack: &Stack) {
    let ([below], LayerKind::Filesystem, None) = (layer.below.as_slice(), layer.kind, &layer.size)
    else {
        return;
    };
    // A pool has less room than what it lies on.
    if layer.map != Map::IDENTITY {
        return;
    }
    let volume = stack.layer(*below).size.clone();
    let claimed = layer.bytes(Key::ClaimedSize);
    layer.size = match (claimed, volume) {
        (Some(claimed), Some(volume)) if claimed.value <= volume.value => Some(claimed),
        (Some(claimed), None) => Some(claimed),
        (_, volume) => volume,
    };
}

/// What the kernel says of a layer whose place is not known, kept as a grid: how far its first byte is from the next physical
/// sector. Whatever lies in it at a known place is judged by that.
fn keep_alignment(layer: &mut Layer, stack: &Stack) {
    let mapped = matches!(
        layer.kind,
        LayerKind::Partition | LayerKind::Volume | LayerKind::Encryption | LayerKind::Array
    );
    let Some(distance) = layer.alignment_offset() else {
        return;
    };
    if !mapped
        || layer.map != Map::Segments(Vec::new())
        || layer.grid(GridRole::PhysicalSector).is_some()
    {
        return;
    }
    let Some(sector) = largest_sector(layer, stack) else {
        return;
    };
    let unit = sector.value.unit();
    let phase = Bytes::new(distance.value.get() % unit.get());
    let from = format!(
        "alignment offset {} B, in physical sectors of {unit}",
        distance.value.grouped()
    );
    let mut fact = Fact::derived(Grid::with_phase(unit, phase), from);
    // What rests on an assumption is no better than that.
    fact.trust = fact.trust.max(sector.trust);
    layer.add_grid(GridRole::PhysicalSector, fact);
}

/// The largest physical sector of what a layer lies on; of each thing below, the one that is nearest.
fn largest_sector(layer: &Layer, stack: &Stack) -> Option<Fact<Grid>> {
    let nearest = |id: &LayerId| {
        let below = std::iter::once(*id).chain(stack.foundations(*id));
        let mut grids = below.filter_map(|id| stack.layer(id).grid(GridRole::PhysicalSector));
        grids.next().cloned()
    };
    let sectors = layer.below.iter().filter_map(nearest);
    sectors.max_by_key(|fact| fact.value.unit())
}

/// Sets the map of a layer. A partition that is said to start inside a sector of what is below starts elsewhere: the figure
/// is kept as a doubtful one, and nothing is built on it.
fn place(
    layer: &mut Layer,
    placing: Placing,
    start: Option<Fact<Interval>>,
    below: &[LayerId],
    sector: Unit,
) {
    let nowhere = Map::Segments(Vec::new());
    layer.map = match placing {
        Placing::Unknown | Placing::Raid(_) | Placing::Extents(_) | Placing::Chunks => nowhere,
        Placing::Striped { unit, mut starts } => {
            starts.resize(below.len(), Bytes::ZERO);
            Map::Striped(Striping { unit, starts })
        }
        Placing::Segments(pieces) => {
            let segments = pieces
                .into_iter()
                .filter(|(_, _, target, _)| *target < below.len())
                .filter_map(|(at, len, target, lower)| {
                    let upper = Extent::new(at, len)?;
                    Some(Segment {
                        upper,
                        target,
                        lower,
                    })
                });
            Map::segments(segments.collect()).unwrap_or(nowhere)
        }
        Placing::Linear => match (start, layer.kind) {
            (Some(fact), LayerKind::Partition) if fact.value.count(sector) == 0 => {
                layer.set(Key::StartShown, fact.doubted().map(Value::Between));
                nowhere
            }
            (Some(fact), _) => match known(&fact) {
                Some(start) => {
                    let size = layer.size.as_ref().map_or(Bytes::ZERO, |size| size.value);
                    layer.placement =
                        Extent::new(start.value, size).map(|extent| start.clone().map(|_| extent));
                    Map::Linear { start: start.value }
                }
                None => {
                    layer.set(Key::StartShown, fact.map(Value::Between));
                    nowhere
                }
            },
            (None, LayerKind::Partition | LayerKind::Container | LayerKind::File) => nowhere,
            (None, _) => Map::IDENTITY,
        },
    };
    if layer.placement.is_none() && layer.map == Map::IDENTITY {
        let extent = Extent::new(
            Bytes::ZERO,
            layer.size.as_ref().map_or(Bytes::ZERO, |size| size.value),
        );
        layer.placement = extent.map(|extent| Fact {
            value: extent,
            source: Source::Assumption {
                reason: "it starts where what it lies on starts".into(),
            },
            trust: straddle_stack::Trust::Assumed,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remarks_that_repeat_are_counted() {
        let of =
            |kind, count: usize| (0..count).map(move |n| Anomaly::new(kind, format!("said {n}")));
        let remarks = of(AnomalyKind::SameIdentity, 6)
            .chain(of(AnomalyKind::Stale, 5))
            .chain(of(AnomalyKind::Missing, 4));
        let told = folded(remarks.collect());
        let said = |kind| {
            let of_kind = told.iter().filter(|remark| remark.kind == kind);
            of_kind
                .map(|remark| remark.detail.as_str())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            said(AnomalyKind::SameIdentity),
            [
                "said 0",
                "said 1",
                "said 2",
                "said 3",
                "shares an identity with 2 more devices"
            ]
        );
        assert_eq!(
            said(AnomalyKind::Stale),
            [
                "said 0",
                "said 1",
                "said 2",
                "said 3",
                "1 more remark like this (stale)"
            ]
        );
        assert_eq!(
            said(AnomalyKind::Missing),
            ["said 0", "said 1", "said 2", "said 3"]
        );
    }
}
