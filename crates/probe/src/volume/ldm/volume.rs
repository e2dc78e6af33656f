//! One volume of a group: where its data lie, and what else is known about it.

use std::collections::BTreeMap;
use straddle_geometry::{
    Bytes, Extent, Grid, Map, Raid, RaidLayout, Rotation, Segment, Striping, Unit,
};
use straddle_stack::{Anomaly, AnomalyKind, Fact, GridRole, Key, Layer, LayerKind, Source, Value};

use super::assemble::{Group, Run};
use super::record::{Component, Partition, RAID, SPANNED, STRIPED, Volume};
use crate::volume::{Below, Holds, Node};

/// A mirror has no stripes; its map wants a unit all the same.
const ANY_UNIT: Unit = Unit::B4096;

/// A volume under construction.
pub(super) struct Building<'a, 'b> {
    group: &'b Group<'a>,
    volume: &'b Volume,
    /// What has been found wrong with it.
    wrong: Vec<Anomaly>,
    nodes: &'b mut Vec<Node>,
}

/// The data of a component: where they lie, and how much it is.
struct Shape {
    below: Vec<Below>,
    map: Map,
    capacity: Option<Bytes>,
}

impl<'a, 'b> Building<'a, 'b> {
    /// `nodes` takes the layers below the volume's own.
    pub(super) fn new(
        group: &'b Group<'a>,
        volume: &'b Volume,
        nodes: &'b mut Vec<Node>,
    ) -> Building<'a, 'b> {
        Building {
            group,
            volume,
            wrong: Vec::new(),
            nodes,
        }
    }

    /// The layer of the volume.
    pub(super) fn volume(
        mut self,
        components: &[&Component],
        partitions: &BTreeMap<u64, Vec<&Partition>>,
    ) -> Node {
        let group = self.group;
        let volume = self.volume;
        let name = match volume.name.value.as_str() {
            "" => format!("volume {}", volume.id),
            name => name.to_owned(),
        };
        if usize::try_from(volume.children).ok() != Some(components.len()) {
            let detail = format!(
                "{name} is said to have {} components; {} were found",
                volume.children,
                components.len()
            );
            self.damaged(group.source(&volume.size), detail);
        }
        let of =
            |component: &Component| partitions.get(&component.id).map_or(&[][..], Vec::as_slice);
        let mut layer = Layer::new(LayerKind::Volume, name.clone());
        let shape = match components {
            [] => None,
            [only] => self.component(only, of(only), &name, &mut layer),
            several => self.mirror(several, of, &name, &mut layer),
        };
        let shape = shape.unwrap_or(Shape {
            below: Vec::new(),
            map: Map::Segments(Vec::new()),
            capacity: None,
        });
        layer.format = Some("ldm".into());
        layer.map = shape.map;
        let known = shape.capacity.is_some();
        self.describe(&mut layer, components);
        let holds = self.measure(&mut layer, shape.capacity);
        let missing: Vec<&str> = shape
            .below
            .iter()
            .filter_map(|below| match below {
                Below::Missing(name) => Some(name.as_str()),
                _ => None,
            })
            .collect();
        if let Some(first) = missing.first() {
            let detail = format!(
                "{first} is not there: where on it {name} starts counts from the beginning of its data area, which only that disk knows"
            );
            self.wrong.push(Anomaly::new(AnomalyKind::Missing, detail));
        }
        layer.anomalies.append(&mut self.wrong);
        Node {
            layer,
            below: shape.below,
            holds: if known { holds } else { Holds::Nothing },
        }
    }

    fn damaged(&mut self, source: Source, detail: String) {
        self.wrong
            .push(Anomaly::at(AnomalyKind::Damaged, detail, source));
    }

    /// What is known besides where it lies.
    fn describe(&self, layer: &mut Layer, components: &[&Component]) {
        let (group, volume) = (self.group, self.volume);
        let (at, len) = group.catalogue.group_name_at();
        let name = Value::Text(group.catalogue.group_name().into());
        layer.set(Key::VolumeGroup, group.reader.window.fact(name, at, len));
        let text = |text: &str| Value::Text(text.to_owned().into());
        if let Some(hint) = volume.hint.as_ref().filter(|hint| !hint.value.is_empty()) {
            layer.set(Key::DriveLetter, group.fact(hint, text(&hint.value)));
        }
        let kind = format!("{:02x}", volume.kind.value);
        layer.set(Key::PartitionType, group.fact(&volume.kind, text(&kind)));
        let states = components.iter().map(|component| &component.state);
        // What is not in order is what is worth a word.
        let state = std::iter::once(&volume.state)
            .chain(states)
            .find(|state| !matches!(state.value.as_str(), "" | "ACTIVE"));
        let state = state.unwrap_or(&volume.state);
        if !state.value.is_empty() {
            let said = group.fact(state, text(&state.value.to_lowercase()));
            layer.set(Key::State, said);
        }
    }

    /// Gives the volume its size, and compares it with what its components have room for.
    fn measure(&mut self, layer: &mut Layer, capacity: Option<Bytes>) -> Holds {
        let (group, field) = (self.group, &self.volume.size);
        let source = group.source(field);
        let Some(size) = group.bytes(field.value) else {
            let detail = format!(
                "{} is said to have {} sectors; expected fewer than 2^64 bytes",
                layer.name, field.value
            );
            self.damaged(source, detail);
            return Holds::Nothing;
        };
        layer.size = Some(group.reader.window.fact(size, field.at, field.len));
        if let Some(capacity) = capacity.filter(|capacity| *capacity < size) {
            let detail = format!(
                "{} is said to have {} bytes; its partitions hold {}",
                layer.name,
                size.grouped(),
                capacity.grouped()
            );
            self.damaged(source, detail);
        }
        Holds::Volume
    }

    /// A volume of one component, or one copy of a mirror.
    fn component(
        &mut self,
        component: &Component,
        partitions: &[&Partition],
        name: &str,
        layer: &mut Layer,
    ) -> Option<Shape> {
        let group = self.group;
        if usize::try_from(component.children).ok() != Some(partitions.len()) {
            let detail = format!(
                "a component of {name} is said to have {} partitions; {} were found",
                component.children,
                partitions.len()
            );
            self.damaged(group.source(&component.shape), detail);
        }
        let level = |layer: &mut Layer, level: &'static str| {
            let value = Value::Text(level.into());
            layer.set(Key::Level, group.fact(&component.shape, value));
        };
        match component.shape.value {
            SPANNED => {
                let mut parts = partitions.to_vec();
                parts.sort_by_key(|part| part.offset);
                level(
                    layer,
                    if parts.len() == 1 {
                        "simple"
                    } else {
                        "spanned"
                    },
                );
                if let [only] = parts.as_slice() {
                    return self.simple(only, layer);
                }
                let shape = self.segments(&parts, name)?;
                let disks = u64::try_from(shape.below.len()).unwrap_or(u64::MAX);
                layer.set(
                    Key::Members,
                    Fact::derived(Value::Count(disks), "disks that its partitions lie on"),
                );
                Some(shape)
            }
            STRIPED | RAID => {
                let is_raid = component.shape.value == RAID;
                layer.kind = LayerKind::Array;
                level(layer, if is_raid { "raid5" } else { "raid0" });
                self.stripes(component, partitions, name, layer)
            }
            other => {
                let detail = format!(
                    "a component of {name} has shape {other}; expected striped (1), spanned (2) or RAID (3)"
                );
                self.damaged(group.source(&component.shape), detail);
                None
            }
        }
    }

    fn place(&mut self, partition: &Partition) -> Option<(Run, Bytes)> {
        let size = self.group.bytes(partition.size.value);
        match self.group.run(partition) {
            Ok(run) => Some((run, size?)),
            Err(detail) => {
                let source = self.group.source(&partition.start);
                self.damaged(source, detail);
                None
            }
        }
    }

    fn simple(&mut self, partition: &Partition, layer: &mut Layer) -> Option<Shape> {
        let (run, size) = self.place(partition)?;
        let window = &self.group.reader.window;
        let field = &partition.start;
        layer.placement =
            Extent::new(run.start, size).map(|extent| window.fact(extent, field.at, field.len));
        Some(Shape {
            below: vec![run.below],
            map: Map::Linear { start: run.start },
            capacity: Some(size),
        })
    }

    /// Partitions one after another.
    fn segments(&mut self, parts: &[&Partition], name: &str) -> Option<Shape> {
        let mut below: Vec<Below> = Vec::new();
        let mut pieces = Vec::new();
        let mut end = 0_u64;
        for part in parts {
            let (run, len) = self.place(part)?;
            if part.offset != end {
                let detail = format!(
                    "partition {} of {name} begins at its sector {}; expected {end}, where the one before it ends",
                    part.name.value, part.offset
                );
                let source = self.group.source(&part.start);
                self.damaged(source, detail);
            }
            end = part.offset.checked_add(part.size.value)?;
            let target = match below.iter().position(|known| *known == run.below) {
                Some(known) => known,
                None => {
                    below.push(run.below);
                    below.len() - 1
                }
            };
            pieces.push(Segment {
                upper: Extent::new(self.group.bytes(part.offset)?, len)?,
                target,
                lower: run.start,
            });
        }
        Some(Shape {
            below,
            map: Map::segments(pieces)?,
            capacity: self.group.bytes(end),
        })
    }

    /// Columns side by side, with parity or without.
    fn stripes(
        &mut self,
        component: &Component,
        partitions: &[&Partition],
        name: &str,
        layer: &mut Layer,
    ) -> Option<Shape> {
        let group = self.group;
        let mut columns: BTreeMap<u64, Vec<&Partition>> = BTreeMap::new();
        for partition in partitions {
            columns.entry(partition.column).or_default().push(partition);
        }
        let is_raid = component.shape.value == RAID;
        let count = u64::try_from(columns.len()).unwrap_or(u64::MAX);
        let wrong_columns = component
            .stripes
            .as_ref()
            .filter(|(_, said)| said.value != count || count < if is_raid { 3 } else { 2 });
        if let Some((_, said)) = wrong_columns {
            let detail = format!(
                "{name} is said to have {} columns; partitions of {count} were found",
                said.value
            );
            self.damaged(group.source(said), detail);
            return None;
        }
        let unit = component
            .stripes
            .as_ref()
            .and_then(|(field, _)| Some((Unit::try_from(group.bytes(field.value)?).ok()?, field)));
        let Some((unit, field)) = unit else {
            let detail = format!("{name} has columns and no stripe unit; expected 64 KiB");
            self.damaged(group.source(&component.shape), detail);
            return None;
        };
        let window = &group.reader.window;
        layer.add_grid(
            GridRole::StripeUnit,
            window.fact(Grid::new(unit), field.at, field.len),
        );
        let data = if is_raid {
            count.checked_sub(1)?
        } else {
            count
        };
        layer.set(
            Key::Members,
            Fact::derived(Value::Count(count), "columns of the component"),
        );
        let arithmetic = if is_raid {
            format!("{count} columns − 1 of parity")
        } else {
            format!("{count} columns of data")
        };
        layer.set(
            Key::DataMembers,
            Fact::derived(Value::Count(data), arithmetic),
        );
        if is_raid {
            layer.set(
                Key::Layout,
                Fact::derived(
                    Value::Text(Rotation::LeftSymmetric.name().into()),
                    "the only one that LDM has",
                ),
            );
            if let Some(full) = unit.checked_mul(data) {
                let from = format!("{data} columns of data × {} B", unit.bytes().grouped());
                layer.add_grid(GridRole::FullStripe, Fact::derived(Grid::new(full), from));
            }
        }
        let (mut below, mut starts) = (Vec::new(), Vec::new());
        let mut shortest: Option<Bytes> = None;
        for (number, (_, parts)) in (1..).zip(columns) {
            let (run, len) = self.column(parts, &format!("{name} column {number}"))?;
            below.push(run.below);
            starts.push(run.start);
            shortest = Some(shortest.map_or(len, |other: Bytes| other.min(len)));
        }
        let rows = shortest?.div_rem(unit).0;
        Some(Shape {
            below,
            map: if is_raid {
                Map::Raid(Raid {
                    layout: RaidLayout::Parity(Rotation::LeftSymmetric),
                    unit,
                    starts,
                })
            } else {
                Map::Striped(Striping { unit, starts })
            },
            capacity: unit
                .bytes()
                .checked_mul(rows)
                .and_then(|column| column.checked_mul(data)),
        })
    }

    /// A column: a partition, or several that are a layer of their own.
    fn column(&mut self, mut parts: Vec<&Partition>, name: &str) -> Option<(Run, Bytes)> {
        parts.sort_by_key(|part| part.offset);
        if let [only] = parts.as_slice() {
            return self.place(only);
        }
        let shape = self.segments(&parts, name)?;
        let layer = Layer::new(LayerKind::Volume, name);
        self.push(layer, shape)
    }

    /// Makes a layer of its own of a part of the volume.
    fn push(&mut self, mut layer: Layer, shape: Shape) -> Option<(Run, Bytes)> {
        let size = shape.capacity?;
        layer.format = Some("ldm".into());
        layer.map = shape.map;
        layer.size = Some(Fact::derived(size, "its partitions together"));
        self.nodes.push(Node {
            layer,
            below: shape.below,
            holds: Holds::Nothing,
        });
        let run = Run {
            below: Below::Node(self.nodes.len() - 1),
            start: Bytes::ZERO,
        };
        Some((run, size))
    }

    /// Several components with the same data.
    fn mirror<'c>(
        &mut self,
        components: &[&'c Component],
        of: impl Fn(&'c Component) -> &'c [&'c Partition],
        name: &str,
        layer: &mut Layer,
    ) -> Option<Shape> {
        layer.kind = LayerKind::Array;
        let first = components.first()?;
        let level = Value::Text("raid1".into());
        layer.set(Key::Level, self.group.fact(&first.shape, level));
        let count = Value::Count(u64::try_from(components.len()).ok()?);
        layer.set(
            Key::Members,
            Fact::derived(count, "components of the volume"),
        );
        let (mut below, mut starts) = (Vec::new(), Vec::new());
        let mut shortest: Option<Bytes> = None;
        for (number, component) in (1..).zip(components) {
            let name = format!("{name} copy {number}");
            let mut copy = Layer::new(LayerKind::Volume, name.clone());
            let shape = self.component(component, of(component), &name, &mut copy)?;
            let (run, len) = match (shape.below.as_slice(), &shape.map, shape.capacity) {
                ([only], Map::Linear { start }, Some(len)) => {
                    let run = Run {
                        below: only.clone(),
                        start: *start,
                    };
                    (run, len)
                }
                _ => self.push(copy, shape)?,
            };
            below.push(run.below);
            starts.push(run.start);
            shortest = Some(shortest.map_or(len, |other: Bytes| other.min(len)));
        }
        Some(Shape {
            below,
            map: Map::Raid(Raid {
                layout: RaidLayout::Mirror,
                unit: ANY_UNIT,
                starts,
            }),
            capacity: shortest,
        })
    }
}
