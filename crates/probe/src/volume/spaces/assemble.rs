//! From the extents of a pool to its spaces: copies of columns, columns of a space.

use std::collections::BTreeMap;
use straddle_geometry::{
    Bytes, Extent, Grid, Map, Raid, RaidLayout, Rotation, Segment, Striping, Unit,
};
use straddle_io::ReadError;
use straddle_stack::{Anomaly, AnomalyKind, Fact, GridRole, Key, Layer, LayerKind, Value};

use super::Header;
use super::database::{Database, Slabs, Space};
use crate::record::uuid;
use crate::volume::{Assembly, Below, Holds, Node, Part};

/// Where slabs begin on a disk, and how long one is.
const DATA: Bytes = Bytes::mib(512);
const SLAB: Bytes = Bytes::mib(256);
/// Most layers of one pool.
const MAX_NODES: usize = 4096;
/// Most columns of a space; Windows makes at most 64.
const MAX_COLUMNS: u64 = 256;
/// Most copies of one.
const MAX_COPIES: u64 = 4;

pub(super) fn assemble(parts: &[Part<'_>]) -> Result<Assembly, ReadError> {
    let mut assembly = Assembly::default();
    let mut members = BTreeMap::new();
    let mut best: Option<(usize, Database)> = None;
    for (index, part) in parts.iter().enumerate() {
        let header: Header = part.window.get(0)?;
        members.insert(uuid(header.disk), index);
        if let Some(database) = Database::read(&part.window)?
            && best
                .as_ref()
                .is_none_or(|(_, other)| other.sequence < database.sequence)
        {
            best = Some((index, database));
        }
    }
    let Some((reader, database)) = best else {
        return Ok(assembly);
    };
    let Some(reader) = parts.get(reader) else {
        return Ok(assembly);
    };
    let mut by_space: BTreeMap<u64, Vec<&Slabs>> = BTreeMap::new();
    for slabs in &database.slabs {
        by_space.entry(slabs.space).or_default().push(slabs);
    }
    for space in &database.spaces {
        let layers = space
            .columns
            .min(MAX_COLUMNS)
            .saturating_mul(space.copies.min(MAX_COPIES) + 1);
        let needed = usize::try_from(layers).unwrap_or(usize::MAX);
        if assembly.nodes.len().saturating_add(needed) >= MAX_NODES {
            break;
        }
        let mut pool = Pool {
            reader,
            database: &database,
            members: &members,
            nodes: &mut assembly.nodes,
        };
        let slabs = by_space.get(&space.id).map_or(&[][..], Vec::as_slice);
        let node = pool.space(space, slabs);
        assembly.nodes.push(node);
    }
    Ok(assembly)
}

struct Pool<'a, 'b> {
    reader: &'b Part<'a>,
    database: &'b Database,
    members: &'b BTreeMap<String, usize>,
    nodes: &'b mut Vec<Node>,
}

impl Pool<'_, '_> {
    fn space(&mut self, space: &Space, slabs: &[&Slabs]) -> Node {
        let said = |value: Value| self.reader.window.fact(value, space.at, 64);
        let mut layer = Layer::new(LayerKind::Array, space.name.clone());
        layer.format = Some("spaces".into());
        layer.size = Some(self.reader.window.fact(space.size, space.at, 64));
        let parity = match (space.resiliency, space.redundancy) {
            (3, n) => n,
            _ => 0,
        };
        let level = match (space.resiliency, parity, space.columns) {
            (1, ..) => "raid0",
            (2, _, 1) => "raid1",
            (2, ..) => "raid10",
            (3, 1, _) => "raid5",
            (3, ..) => "raid6",
            _ => "unknown",
        };
        layer.set(Key::Level, said(Value::Text(level.into())));
        layer.set(Key::Members, said(Value::Count(space.columns)));
        layer.set(Key::ThinProvisioned, said(Value::Flag(space.thin)));
        if let Some(pool) = &self.database.pool {
            layer.set(Key::VolumeGroup, pool.clone());
        }
        let odd = |detail: &str| {
            let source = self.reader.window.source(space.at, 64);
            Anomaly::at(AnomalyKind::Missing, detail.to_owned(), source)
        };
        let unit = 1_u64
            .checked_shl(u32::from(space.interleave))
            .and_then(Unit::new);
        let data = space.columns.checked_sub(parity).filter(|data| *data > 0);
        let (Some(unit), Some(data)) = (
            unit,
            data.filter(|_| space.columns <= MAX_COLUMNS && space.copies <= MAX_COPIES),
        ) else {
            layer.map = Map::Segments(Vec::new());
            layer.anomalies.push(odd(
                "interleave or columns of the space are not what any has: `Get-VirtualDisk` prints them",
            ));
            return nowhere(layer);
        };
        layer.set(
            Key::DataMembers,
            Fact::derived(
                Value::Count(data),
                format!("{} columns − {parity} of parity", space.columns),
            ),
        );
        if space.columns > 1 {
            let grid = self.reader.window.fact(Grid::new(unit), space.at, 64);
            layer.add_grid(GridRole::StripeUnit, grid);
        }
        if parity > 0
            && let Some(full) = unit.checked_mul(data)
        {
            let from = format!("{data} columns of data × {} B", unit.bytes().grouped());
            layer.add_grid(GridRole::FullStripe, Fact::derived(Grid::new(full), from));
        }
        if self.database.parents.contains(&space.id) {
            layer.map = Map::Segments(Vec::new());
            layer.anomalies.push(odd(
                "the space has tiers: where its data lie is not followed",
            ));
            return nowhere(layer);
        }
        // Parity starts over in each run of slabs; in one run, and without parity, all rows follow one rule.
        let runs = slabs.iter().filter(|slabs| slabs.column == 0).count();
        if parity > 1 || (parity == 1 && runs > 1) {
            layer.map = Map::Segments(Vec::new());
            layer.anomalies.push(odd(
                "the space has two parities, or parity in several runs of slabs: where its data lie is not followed",
            ));
            return nowhere(layer);
        }
        let Some((below, starts)) = self.columns(space, slabs, data) else {
            layer.map = Map::Segments(Vec::new());
            layer.anomalies.push(odd(
                "the extents of the space do not cover its columns: where its data lie is not known",
            ));
            return nowhere(layer);
        };
        layer.map = if parity == 1 {
            layer.set(
                Key::Layout,
                Fact::derived(
                    Value::Text(Rotation::LeftSymmetric.name().into()),
                    "the only one of single parity",
                ),
            );
            Map::Raid(Raid {
                layout: RaidLayout::Parity(Rotation::LeftSymmetric),
                unit,
                starts,
            })
        } else {
            Map::Striped(Striping { unit, starts })
        };
        Node {
            layer,
            below,
            holds: Holds::Volume,
        }
    }

    /// A layer for each column: its slabs, or a mirror of them.
    fn columns(
        &mut self,
        space: &Space,
        slabs: &[&Slabs],
        data: u64,
    ) -> Option<(Vec<Below>, Vec<Bytes>)> {
        let (mut below, mut starts) = (Vec::new(), Vec::new());
        for column in 0..space.columns {
            let mut copies = Vec::new();
            for copy in 0..space.copies.max(1) {
                let own: Vec<&Slabs> = slabs
                    .iter()
                    .filter(|slabs| slabs.column == column && slabs.copy == copy)
                    .copied()
                    .collect();
                let name = match space.copies {
                    0 | 1 => format!("{} column {}", space.name, column + 1),
                    _ => format!("{} column {} copy {}", space.name, column + 1, copy + 1),
                };
                copies.push(self.column(name, &own, data)?);
            }
            let index = match copies.as_slice() {
                [only] => *only,
                several => {
                    let name = format!("{} column {}", space.name, column + 1);
                    let mut layer = Layer::new(LayerKind::Array, name);
                    layer.format = Some("spaces".into());
                    layer.map = Map::Raid(Raid {
                        layout: RaidLayout::Mirror,
                        unit: Unit::B4096,
                        starts: vec![Bytes::ZERO; several.len()],
                    });
                    let first = several.first().and_then(|index| self.nodes.get(*index));
                    layer.size = first.and_then(|node| node.layer.size.clone());
                    layer.set(
                        Key::Level,
                        Fact::derived(Value::Text("raid1".into()), "copies of a column"),
                    );
                    let below = several.iter().map(|index| Below::Node(*index)).collect();
                    self.nodes.push(Node {
                        layer,
                        below,
                        holds: Holds::Nothing,
                    });
                    self.nodes.len() - 1
                }
            };
            below.push(Below::Node(index));
            starts.push(Bytes::ZERO);
        }
        Some((below, starts))
    }

    /// The slabs of one copy of a column, one after another.
    fn column(&mut self, name: String, slabs: &[&Slabs], data: u64) -> Option<usize> {
        let mut below: Vec<Below> = Vec::new();
        let mut pieces = Vec::new();
        for slabs in slabs {
            let disk = self.database.disks.get(&slabs.disk)?;
            let lower = match self.members.get(&disk.guid) {
                Some(index) => Below::Part(*index),
                None => Below::Missing(format!("{} ({})", disk.name, disk.guid)),
            };
            let target = match below.iter().position(|known| *known == lower) {
                Some(known) => known,
                None => {
                    below.push(lower);
                    below.len() - 1
                }
            };
            let row = slabs.first.checked_div(data)?;
            pieces.push(Segment {
                upper: Extent::new(SLAB.checked_mul(row)?, SLAB.checked_mul(slabs.count)?)?,
                target,
                lower: DATA.checked_add(SLAB.checked_mul(slabs.physical)?)?,
            });
        }
        let end = pieces.iter().map(|piece| piece.upper.end()).max()?;
        let mut layer = Layer::new(LayerKind::Volume, name);
        layer.format = Some("spaces".into());
        layer.size = Some(Fact::derived(end, "its slabs of 256 MiB together"));
        layer.map = Map::segments(pieces)?;
        self.nodes.push(Node {
            layer,
            below,
            holds: Holds::Nothing,
        });
        Some(self.nodes.len() - 1)
    }
}

/// A space whose data have no place that is known.
fn nowhere(layer: Layer) -> Node {
    Node {
        layer,
        below: Vec::new(),
        holds: Holds::Nothing,
    }
}
