//! Ways to lie on something that take facts about several things: members of an array, extents of a volume group.

use straddle_geometry::{Bytes, Extent, Map, Segment, Striping, Unit};
use straddle_stack::{
    Anomaly, AnomalyKind, Fact, GridRole, Interval, Key, Layer, LayerId, Source, Stack, Value,
};

use super::{Name, Space};
use crate::raid::{self, Member, Said, Shape, nowhere};

/// Why a volume whose extents are known has no place.
const ROUNDED: &str =
    "where its parts begin is known only from rounded figures; `--units b` makes them exact";
/// Most members of one array; md itself stops at 384.
const MAX_MEMBERS: usize = 1 << 10;
/// Most extents below one volume that are looked at.
const MAX_PIECES: usize = 1 << 12;

/// An array as far as texts have described it. Each may know another part: one the chunk, others a member each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Raid {
    /// Level: `raid5`; empty when it was not said.
    pub level: String,
    /// Layout as md counts it.
    pub layout: Option<u64>,
    /// Number of members that it is meant to have; 0 when it was not said.
    pub count: u64,
    /// Chunk.
    pub chunk: Option<Fact<Unit>>,
    /// It is being reshaped.
    pub moving: bool,
    /// Its members.
    pub members: Vec<RaidMember>,
}

/// A member of a [`Raid`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RaidMember {
    /// What it is called.
    pub name: Name,
    /// Its place, from 0.
    pub slot: Option<usize>,
    /// Where its data starts.
    pub start: Option<Fact<Bytes>>,
    /// How much of it the array uses.
    pub size: Option<Bytes>,
}

/// A volume of LVM: its extents, in numbers that mean nothing without the size of an extent and the place of the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extents {
    /// Stripe unit, when the pieces are columns that take turns; without it, they follow each other.
    pub unit: Option<Unit>,
    /// Its pieces.
    pub pieces: Vec<Piece>,
    /// The line that says so.
    pub source: Source,
}

/// Extents of a volume that lie one after another on one thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Number of the first one in the volume.
    pub at: u64,
    /// How many; `None` for all that are left.
    pub len: Option<u64>,
    /// What they lie on.
    pub on: Name,
    /// Number of the first one there.
    pub first: u64,
}

impl Raid {
    /// Adds what another text says about the same array. Returns members whose data starts at two places by them.
    pub(super) fn add(&mut self, other: Raid) -> Vec<(Fact<Bytes>, Fact<Bytes>)> {
        let mut differ = Vec::new();
        if self.level.is_empty() {
            self.level = other.level;
        }
        if self.count == 0 {
            self.count = other.count;
        }
        self.layout = self.layout.or(other.layout);
        self.chunk = self.chunk.take().or(other.chunk);
        self.moving |= other.moving;
        for member in other.members {
            let Some(have) = self.members.iter_mut().find(|m| m.name == member.name) else {
                if self.members.len() < MAX_MEMBERS {
                    self.members.push(member);
                }
                continue;
            };
            have.slot = have.slot.or(member.slot);
            have.size = have.size.or(member.size);
            match (&have.start, member.start) {
                (Some(a), Some(b)) if a.value != b.value => differ.push((a.clone(), b)),
                (None, start) => have.start = start,
                _ => {}
            }
        }
        differ
    }

    /// Adds members that are known by name only.
    pub(super) fn add_names(&mut self, names: Vec<Name>) {
        let all = usize::try_from(self.count).is_ok_and(|count| self.members.len() >= count);
        if all && self.count > 0 {
            return;
        }
        for name in names {
            let room = self.members.len() < MAX_MEMBERS;
            if room && !self.members.iter().any(|member| member.name == name) {
                self.members.push(RaidMember {
                    name,
                    slot: None,
                    start: None,
                    size: None,
                });
            }
        }
    }
}

/// The layer with this name among those that a thing was found to lie on.
fn layer_of(name: &Name, reached: &[(Name, LayerId)]) -> Option<LayerId> {
    let found = reached.iter().find(|(other, _)| other == name);
    found.map(|(_, id)| *id)
}

/// Sets what an array lies on, and how.
pub(super) fn place_raid(
    layer: &mut Layer,
    raid: &Raid,
    reached: &[(Name, LayerId)],
    stack: &Stack,
) {
    layer.map = nowhere();
    // Two texts may call one member by two names.
    let mut merged: Vec<(LayerId, RaidMember)> = Vec::new();
    for member in &raid.members {
        let Some(id) = layer_of(&member.name, reached) else {
            continue;
        };
        match merged.iter_mut().find(|(other, _)| *other == id) {
            None => merged.push((id, member.clone())),
            Some((_, have)) => {
                have.slot = have.slot.or(member.slot);
                have.size = have.size.or(member.size);
                have.start = have.start.take().or(member.start.clone());
            }
        }
    }
    let shape = Shape::of(&raid.level, raid.layout, raid.count);
    let mut members = Vec::new();
    let mut silent = Vec::new();
    let mut rest = Vec::new();
    for (id, member) in merged {
        let Some(slot) = member.slot else {
            rest.push(id);
            continue;
        };
        let said = member.start.clone().unwrap_or_else(|| {
            silent.push(id);
            Fact::assumed(Bytes::ZERO, "nothing says where its data starts")
        });
        members.push(Member {
            slot,
            layer: id,
            offset: said.value,
            said,
            size: member.size,
        });
    }
    members.sort_by_key(|member| member.slot);
    members.dedup_by(|second, first| {
        let twice = second.slot == first.slot;
        if twice {
            rest.push(second.layer);
            layer.anomalies.push(Anomaly::between(
                AnomalyKind::Contradiction,
                format!("two members are said to be number {}", first.slot),
                first.said.source.clone(),
                second.said.source.clone(),
            ));
        }
        twice
    });
    layer.below = members.iter().map(|member| member.layer).collect();
    layer.below.extend(rest);
    for member in &members {
        if !silent.contains(&member.layer) {
            let offset = member.said.clone();
            layer.set(Key::DataOffset, offset.map(Value::Bytes));
        }
    }
    if raid.moving {
        layer.anomalies.push(Anomaly::new(
            AnomalyKind::Reshaping,
            "it is being reshaped: until that is done, part of it has another geometry",
        ));
    }
    if !silent.is_empty() {
        let names: Vec<&str> = silent
            .iter()
            .map(|id| stack.layer(*id).name.as_str())
            .collect();
        layer.anomalies.push(Anomaly::new(
            AnomalyKind::Missing,
            format!(
                "nothing says where the data of {} starts; `mdadm --examine` of the members does",
                names.join(", ")
            ),
        ));
        // One copy of a mirror is as good as another.
        if shape == Shape::Mirror {
            members.retain(|member| !silent.contains(&member.layer));
        } else {
            return;
        }
    }
    let chunk = raid.chunk.as_ref().map(|fact| fact.value);
    if !raid.moving {
        let said = Said {
            level: &raid.level,
            layout: raid.layout,
            count: raid.count,
            chunk,
            used: members.iter().filter_map(|member| member.size).min(),
        };
        layer.map = said.map(&members);
    }
    // A mirror's map has the members of which it is known where they begin, and they come first.
    if let Map::Raid(_) = layer.map {
        let mapped: Vec<LayerId> = members.iter().map(|member| member.layer).collect();
        layer.below.retain(|id| !mapped.contains(id));
        layer.below.splice(0..0, mapped);
    }
    if let Some(chunk) = chunk
        && layer.map == nowhere()
        && !members.is_empty()
    {
        raid::carry_up(stack, layer, chunk, &members);
    }
}

/// Sets where the pieces that a pool deals out lie: anywhere, but each at a multiple of its length.
pub(super) fn place_chunks(layer: &mut Layer, below: &[LayerId], stack: &Stack) {
    layer.map = nowhere();
    let chunk = below.first().and_then(|pool| {
        let fact = stack.layer(*pool).grid(GridRole::ThinChunk)?;
        Some((*pool, fact.clone()))
    });
    if let Some((pool, chunk)) = chunk {
        let unit = chunk.value.unit();
        if layer.grid(GridRole::ThinChunk).is_none() {
            layer.add_grid(GridRole::ThinChunk, chunk);
        }
        raid::carry_through(stack, layer, unit, vec![Bytes::ZERO], &[pool]);
    }
}

/// Where the first extent of an LVM physical volume lies in it.
fn first_extent(stack: &Stack, id: LayerId) -> Option<Fact<Interval>> {
    let fact = stack.layer(id).attribute(Key::FirstExtent)?;
    let interval = match &fact.value {
        Value::Bytes(bytes) => Interval::exact(*bytes),
        Value::Between(interval) => *interval,
        _ => return None,
    };
    Some(fact.clone().map(|_| interval))
}

fn place_name(source: &Source) -> String {
    match source {
        Source::Captured { file, line, .. } => format!(" ({file}:{line})"),
        _ => String::new(),
    }
}

/// Where extent number `piece.first` begins on what it lies on, with the arithmetic.
fn begins(
    piece: &Piece,
    extent: &Fact<Bytes>,
    id: LayerId,
    stack: &Stack,
) -> Option<Result<Fact<Interval>, LayerId>> {
    // Extents of an internal volume count from its beginning; only a physical volume has something in front of them.
    let inner = piece.on.space == Space::LogicalVolume;
    let start = match first_extent(stack, id) {
        Some(start) => start,
        None if inner => Fact::derived(Interval::exact(Bytes::ZERO), "a volume inside a volume"),
        None => return Some(Err(id)),
    };
    let step = extent.value.checked_mul(piece.first)?;
    let from = start.value.from().checked_add(step)?;
    let to = start.value.to().checked_add(step)?;
    let text = format!(
        "first extent at {}{} + {} × {} B{}",
        start.value,
        place_name(&start.source),
        piece.first,
        extent.value.grouped(),
        place_name(&extent.source),
    );
    Interval::new(from, to).map(|interval| Ok(Fact::derived(interval, text)))
}

/// Sets where the extents of a volume lie, once the size of an extent is known.
pub(super) fn place_extents(
    layer: &mut Layer,
    extents: &Extents,
    extent: Option<&Fact<Bytes>>,
    reached: &[(Name, LayerId)],
    stack: &Stack,
) {
    layer.map = nowhere();
    let pieces = &extents.pieces[..extents.pieces.len().min(MAX_PIECES)];
    let mut below: Vec<LayerId> = Vec::new();
    for piece in pieces {
        if let Some(id) = layer_of(&piece.on, reached)
            && (extents.unit.is_some() || !below.contains(&id))
        {
            below.push(id);
        }
    }
    layer.below.clone_from(&below);
    let missing = |layer: &mut Layer, detail: String| {
        layer.anomalies.push(Anomaly::at(
            AnomalyKind::Missing,
            detail,
            extents.source.clone(),
        ));
    };
    let Some(extent) = extent else {
        missing(
            layer,
            "nothing says how long an extent is; `vgs -o +vg_extent_size --units b` does".into(),
        );
        return;
    };
    let mut places = Vec::new();
    for piece in pieces {
        let Some(id) = layer_of(&piece.on, reached) else {
            return;
        };
        match begins(piece, extent, id, stack) {
            Some(Ok(fact)) => places.push((piece, id, fact)),
            Some(Err(id)) => {
                let detail = format!(
                    "nothing says where the first extent of {} lies; `pvs -o +pe_start --units b` does",
                    stack.layer(id).name
                );
                missing(layer, detail);
                return;
            }
            None => return,
        }
    }
    if let Some(unit) = extents.unit {
        let starts: Option<Vec<Bytes>> =
            places.iter().map(|(.., fact)| fact.value.known()).collect();
        if let Some(starts) = starts.filter(|starts| !starts.is_empty()) {
            layer.map = Map::Striped(Striping { unit, starts });
        } else {
            missing(layer, ROUNDED.into());
        }
        return;
    }
    if let [(piece, _, fact)] = places.as_slice()
        && piece.at == 0
    {
        match fact.value.known() {
            Some(start) => {
                let size = layer.size.as_ref().map_or(Bytes::ZERO, |size| size.value);
                layer.map = Map::Linear { start };
                layer.placement = Extent::new(start, size).map(|e| fact.clone().map(|_| e));
            }
            None => layer.set(Key::StartShown, fact.clone().map(Value::Between)),
        }
        return;
    }
    let segment = |(piece, id, fact): &(&Piece, LayerId, Fact<Interval>)| {
        let len = extent.value.checked_mul(piece.len?)?;
        Some(Segment {
            upper: Extent::new(extent.value.checked_mul(piece.at)?, len)?,
            target: below.iter().position(|other| other == id)?,
            lower: fact.value.known()?,
        })
    };
    let segments: Option<Vec<Segment>> = places.iter().map(segment).collect();
    match segments.and_then(Map::segments) {
        Some(map) => layer.map = map,
        None => missing(layer, ROUNDED.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use straddle_geometry::Location;
    use straddle_stack::{LayerKind, Trust};

    fn device(stack: &mut Stack, name: &str) -> (Name, LayerId) {
        let id = stack.push(Layer::new(LayerKind::Device, name));
        (Name::new(Space::Device, name.to_owned()), id)
    }

    fn member(name: &str, slot: usize, start: Option<u64>) -> RaidMember {
        RaidMember {
            name: Name::new(Space::Device, name.to_owned()),
            slot: Some(slot),
            start: start.map(|start| Fact::derived(Bytes::new(start), "said")),
            size: None,
        }
    }

    fn raid(level: &str, count: u64, members: Vec<RaidMember>) -> Raid {
        Raid {
            level: level.to_owned(),
            count,
            chunk: Unit::new(65_536).map(|unit| Fact::derived(unit, "said")),
            members,
            ..Raid::default()
        }
    }

    fn target(layer: &Layer, at: u64) -> Option<(usize, u64)> {
        let Location { target, offset, .. } = layer.map.locate(Bytes::new(at))?;
        Some((target, offset.get()))
    }

    #[test]
    fn an_array_that_two_texts_describe_in_part_is_whole() {
        let mut stack = Stack::new();
        let reached = [device(&mut stack, "sda"), device(&mut stack, "sdb")];
        // One says the places of the members, the other where their data starts, in another order.
        let silent = vec![member("sda", 0, None), member("sdb", 1, None)];
        let mut array = raid("raid0", 2, silent);
        let mut layer = Layer::new(LayerKind::Array, "md0");
        place_raid(&mut layer, &array, &reached, &stack);
        assert_eq!(layer.map, nowhere());
        assert_eq!(layer.anomalies[0].kind, AnomalyKind::Missing);
        let offsets = vec![member("sdb", 1, Some(4096)), member("sda", 0, Some(8192))];
        assert_eq!(array.add(raid("raid0", 2, offsets)), []);
        let mut layer = Layer::new(LayerKind::Array, "md0");
        place_raid(&mut layer, &array, &reached, &stack);
        assert_eq!(target(&layer, 0), Some((0, 8192)));
        assert_eq!(target(&layer, 65_536), Some((1, 4096)));
        assert!(layer.anomalies.is_empty());
        // A third one contradicts.
        let other = vec![member("sda", 0, Some(512))];
        assert_eq!(array.add(raid("raid0", 2, other)).len(), 1);
    }

    #[test]
    fn extents_lie_behind_the_first_one() {
        let mut stack = Stack::new();
        let reached = [device(&mut stack, "sda"), device(&mut stack, "sdb")];
        let first = Fact::derived(Value::Bytes(Bytes::kib(192)), "said");
        stack.layer_mut(reached[0].1).set(Key::FirstExtent, first);
        let piece = |at, on: usize, first| Piece {
            at,
            len: Some(2),
            on: reached[on].0.clone(),
            first,
        };
        let extents = |pieces| Extents {
            unit: None,
            pieces,
            source: Source::Derived {
                from: "said".into(),
            },
        };
        let size = Fact::derived(Bytes::mib(4), "said");
        let placed = |pieces| {
            let mut layer = Layer::new(LayerKind::Volume, "vg/lv");
            place_extents(&mut layer, &extents(pieces), Some(&size), &reached, &stack);
            layer
        };
        let linear = placed(vec![piece(0, 0, 3)]);
        assert_eq!(target(&linear, 512), Some((0, (12 << 20) + 196_608 + 512)));
        assert_eq!(linear.placement.map(|p| p.trust), Some(Trust::Derived));
        let pieces = placed(vec![piece(0, 0, 3), piece(2, 0, 0)]);
        assert_eq!(target(&pieces, 8 << 20), Some((0, 196_608)));
        // Nothing says where the first extent of the other lies.
        let silent = placed(vec![piece(0, 0, 3), piece(2, 1, 0)]);
        assert_eq!((silent.map, silent.anomalies.len()), (nowhere(), 1));
    }
}
