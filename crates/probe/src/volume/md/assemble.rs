//! From superblocks to an array: whose is newest, who sits where, and what of that can be relied upon.

use std::borrow::Cow;

use straddle_geometry::{Bytes, Extent, Map, Raid, RaidLayout, Segment, Striping, Unit};
use straddle_io::ReadError;
use straddle_stack::{Fact, Key, Layer, LayerKind, Oddity, OddityKind, Source, Value};

use super::superblock::{self, MOST_MEMBERS, Role, Superblock};
use super::zones::{self, Column};
use crate::record::{Place, Recorder};
use crate::volume::{Assembly, Below, Holds, Node, Part};

/// Most remarks of one kind about members; the rest is counted.
const MOST_REMARKS: usize = 16;

/// A member that was given.
struct Given<'a> {
    part: usize,
    name: &'a str,
    say: Recorder<'a>,
    sb: Superblock,
}

impl Given<'_> {
    fn source(&self, place: Place) -> Source {
        self.say.source(place)
    }
}

/// Who sits where.
struct Table {
    /// For each place, an index into the members given.
    slots: Vec<Option<usize>>,
    oddities: Vec<Oddity>,
}

/// One geometry of an array.
struct Geometry {
    level: i32,
    layout: u32,
    chunk: Bytes,
    disks: usize,
}

pub(super) fn assemble(parts: &[Part<'_>]) -> Result<Assembly, ReadError> {
    let mut given = Vec::new();
    for (part, Part { window, name, .. }) in parts.iter().enumerate() {
        // The one that `recognise` believed.
        if let Some(sb) = superblock::find(window)?.into_iter().next() {
            let say = Recorder::new(window, sb.at);
            given.push(Given {
                part,
                name,
                say,
                sb,
            });
        }
    }
    let newest = given.iter().max_by_key(|one| one.sb.events);
    let Some(newest) = newest else {
        return Ok(Assembly::default());
    };
    // Of several that are as new, the first.
    let newest = given
        .iter()
        .find(|one| one.sb.events == newest.sb.events)
        .unwrap_or(newest);
    Ok(Builder::new(&given, newest).build())
}

struct Builder<'g, 'a> {
    given: &'g [Given<'a>],
    newest: &'g Given<'a>,
    layer: Layer,
    table: Table,
    nodes: Vec<Node>,
}

impl<'g, 'a> Builder<'g, 'a> {
    fn new(given: &'g [Given<'a>], newest: &'g Given<'a>) -> Builder<'g, 'a> {
        let layer = Layer::new(LayerKind::Array, newest.sb.device_name());
        Builder {
            given,
            newest,
            layer,
            table: seat(given, newest),
            nodes: Vec::new(),
        }
    }

    fn sb(&self) -> &'g Superblock {
        &self.newest.sb
    }

    fn say(&mut self, key: Key, value: Value, place: Place) {
        let fact = self.newest.say.fact(value, place);
        self.layer.set(key, fact);
    }

    fn odd(&mut self, kind: OddityKind, detail: String, place: Place) {
        let source = self.newest.source(place);
        self.layer.oddities.push(Oddity::at(kind, detail, source));
    }

    fn build(mut self) -> Assembly {
        let (sb, places) = (self.sb(), self.sb().places);
        let level = Superblock::level_name(sb.level);
        self.layer.format = Some(Cow::Owned(level.clone()));
        self.say(Key::Level, Value::Text(level.into()), places.level);
        self.say(
            Key::Members,
            Value::Count(u64::from(sb.disks)),
            places.disks,
        );
        let version = Cow::Borrowed(sb.version.name());
        self.say(Key::Version, Value::Text(version), places.magic);
        if !sb.name.is_empty() && sb.version.name() != "0.90" {
            self.say(Key::Label, Value::Text(sb.name.clone().into()), places.name);
        }
        self.say(
            Key::SetUuid,
            Value::Text(sb.uuid.clone().into()),
            places.uuid,
        );
        if sb.used > Bytes::ZERO {
            self.say(Key::UsedSize, Value::Bytes(sb.used), places.used);
        }
        if let Some(resync) = sb.resync.filter(|_| sb.level > 0) {
            self.say(Key::ResyncOffset, Value::Bytes(resync), places.resync);
        }
        let oddities = std::mem::take(&mut self.table.oddities);
        self.layer.oddities.extend(oddities);
        self.who_is_missing();
        let disks = usize::try_from(sb.disks).unwrap_or(usize::MAX);
        let here = Geometry {
            level: sb.level,
            layout: sb.layout,
            chunk: sb.chunk,
            disks,
        };
        if sb.disks == 0 || sb.disks > MOST_MEMBERS {
            let detail = format!(
                "an array of {} members; expected 1 to {MOST_MEMBERS}",
                sb.disks
            );
            self.odd(OddityKind::Damaged, detail, places.disks);
            self.layer.map = Map::Segments(Vec::new());
            return self.done(Vec::new());
        }
        match sb.level {
            _ if sb.reshape.is_some() => self.reshaping(&here),
            -1 => self.linear(&here),
            0 => self.striped(&here),
            _ => self.redundant(&here),
        }
    }

    /// The array, on `below`.
    fn done(mut self, below: Vec<Below>) -> Assembly {
        let mapped = self.layer.map != Map::Segments(Vec::new());
        let holds = if mapped && self.layer.size.is_some() {
            Holds::Volume
        } else {
            Holds::Nothing
        };
        self.nodes.push(Node {
            layer: self.layer,
            below,
            holds,
        });
        Assembly { nodes: self.nodes }
    }

    /// Places that are empty by the metadata, and members that are merely not here.
    fn who_is_missing(&mut self) {
        let places = self.sb().places;
        let (mut empty, mut absent) = (Vec::new(), Vec::new());
        for (slot, member) in self.table.slots.iter().enumerate() {
            let known = self.sb().occupied.get(slot).copied().unwrap_or(false);
            let stale = self
                .given
                .iter()
                .any(|one| one.sb.role == Role::Slot(u32::try_from(slot).unwrap_or(u32::MAX)));
            match (member, known && !stale) {
                (Some(_), _) => {}
                (None, true) => absent.push(slot),
                (None, false) => empty.push(slot),
            }
        }
        let of = self.table.slots.len();
        if !empty.is_empty() {
            let detail = format!(
                "degraded: {} of its {of} members, {}, {} not there by its own account",
                empty.len(),
                listed(&empty),
                if empty.len() == 1 { "is" } else { "are" }
            );
            let count = u64::try_from(empty.len()).unwrap_or(u64::MAX);
            self.layer.set(
                Key::MissingMembers,
                Fact::derived(Value::Count(count), "roles in the newest superblock"),
            );
            self.odd(OddityKind::Degraded, detail, places.disks);
        }
        if !absent.is_empty() {
            let detail = format!(
                "{} of its {of} members, {}, {} not given; give all of them together",
                absent.len(),
                listed(&absent),
                if absent.len() == 1 { "was" } else { "were" }
            );
            self.odd(OddityKind::PartlyGiven, detail, places.disks);
        }
        if self.sb().journal && !self.given.iter().any(|one| one.sb.role == Role::Journal) {
            let detail =
                "its journal was not given: what was written last may be there only".to_owned();
            self.odd(OddityKind::PartlyGiven, detail, places.disks);
        }
    }

    /// What the array lies on, place by place, and where data start there; a missing member is taken to start like the first
    /// that is there.
    fn columns(
        &mut self,
        disks: usize,
        start: impl Fn(&Superblock) -> Bytes,
    ) -> (Vec<Below>, Vec<Bytes>) {
        let seated = |slot: usize| {
            let index = self.table.slots.get(slot).copied().flatten()?;
            self.given.get(index)
        };
        let usual = (0..disks)
            .find_map(seated)
            .map_or(Bytes::ZERO, |one| start(&one.sb));
        let name = &self.layer.name;
        (0..disks)
            .map(|slot| match seated(slot) {
                Some(one) => (Below::Part(one.part), start(&one.sb)),
                None => (Below::Missing(format!("member {slot} of {name}")), usual),
            })
            .unzip()
    }

    /// Sets the data offset of each member that is there, in order.
    fn say_offsets(&mut self) {
        let seated: Vec<usize> = self.table.slots.iter().flatten().copied().collect();
        for one in seated.into_iter().filter_map(|index| self.given.get(index)) {
            let value = Value::Bytes(one.sb.data_offset);
            let fact = match one.sb.places.data_offset {
                Some(place) => one.say.fact(value, place),
                None => Fact::derived(value, "a superblock of version 0.90 has its data before it"),
            };
            self.layer.set(Key::DataOffset, fact);
        }
    }

    fn sizes(&mut self) -> Vec<Column> {
        let mut columns = Vec::new();
        let (_, starts) = self.columns(self.table.slots.len(), |sb| sb.data_offset);
        for (target, start) in starts.into_iter().enumerate() {
            let index = self.table.slots.get(target).copied().flatten();
            let size = index
                .and_then(|index| self.given.get(index))
                .map(|one| one.sb.data_size);
            columns.push(Column {
                target,
                start,
                size,
            });
        }
        columns
    }

    fn chunk(&mut self, geometry: &Geometry) -> Option<Fact<Unit>> {
        let place = self.sb().places.chunk;
        match Unit::try_from(geometry.chunk) {
            Ok(unit) => Some(self.newest.say.fact(unit, place)),
            Err(_) => {
                let detail = "a chunk of 0 bytes; expected one".to_owned();
                self.odd(OddityKind::Damaged, detail, place);
                None
            }
        }
    }

    fn linear(mut self, here: &Geometry) -> Assembly {
        let columns = self.sizes();
        let (segments, cut) = zones::linear(&columns, Unit::try_from(here.chunk).ok());
        let end = segments.last().map(|segment| segment.upper.end());
        if cut {
            self.layer.oddities.push(Oddity::new(
                OddityKind::Missing,
                "it goes on behind a member that was not given; how long that is, is not known",
            ));
        }
        self.layer.size = end.map(|end| Fact::derived(end, "data of its members together"));
        self.layer.map = Map::segments(segments).unwrap_or(Map::Segments(Vec::new()));
        self.say_offsets();
        let (below, _) = self.columns(here.disks, |sb| sb.data_offset);
        self.done(below)
    }

    fn striped(mut self, here: &Geometry) -> Assembly {
        let (below, starts) = self.columns(here.disks, |sb| sb.data_offset);
        self.layer.map = Map::Segments(Vec::new());
        let Some(chunk) = self.chunk(here) else {
            return self.done(below);
        };
        let unit = chunk.value;
        self.layer.add_stripes(&chunk, here.disks, None);
        self.say_offsets();
        let columns = self.sizes();
        let unknown = columns.iter().any(|column| column.size.is_none());
        let (mut all, cut) = zones::striped(&columns, unit, here.layout);
        if unknown {
            all.truncate(1);
            self.layer.oddities.push(Oddity::new(
                OddityKind::Missing,
                "of its members only some are known: where the smallest ends, and with it the stripes over all, is taken from those",
            ));
        }
        if cut {
            let detail = "its members are not of one size, and no layout says how it goes on where the smallest has ended; \
                          Linux starts it with raid0.default_layout=1 or 2 only"
                .to_owned();
            self.odd(OddityKind::Missing, detail, self.sb().places.layout);
        }
        let (Some(first), Some(last)) = (all.first(), all.last()) else {
            return self.done(below);
        };
        let end = last.extent.end();
        self.layer.size = Some(Fact::derived(
            end,
            if all.len() == 1 {
                "chunks of the smallest member × members"
            } else {
                "chunks of its members, zone by zone"
            },
        ));
        if all.len() == 1 && first.columns.len() == here.disks {
            self.layer.map = Map::Striped(Striping { unit, starts });
            return self.done(below);
        }
        let name = self.layer.name.clone();
        let mut segments = Vec::new();
        let mut targets = Vec::new();
        for (number, zone) in all.iter().enumerate() {
            let mut layer = Layer::new(LayerKind::Array, format!("{name}, zone {number}"));
            layer.format = Some("raid0".into());
            let starts = zone.columns.iter().map(|(_, start)| *start).collect();
            layer.map = Map::Striped(Striping { unit, starts });
            layer.size = Some(Fact::derived(
                zone.extent.len(),
                "chunks of the members that reach so far",
            ));
            let on = zone.columns.iter();
            let on = on.filter_map(|(target, _)| below.get(*target).cloned());
            segments.push(Segment {
                upper: zone.extent,
                target: number,
                lower: Bytes::ZERO,
            });
            targets.push(Below::Node(self.nodes.len()));
            self.nodes.push(Node {
                layer,
                below: on.collect(),
                holds: Holds::Nothing,
            });
        }
        self.layer.map = Map::segments(segments).unwrap_or(Map::Segments(Vec::new()));
        self.done(targets)
    }

    fn redundant(mut self, here: &Geometry) -> Assembly {
        let (below, starts) = self.columns(here.disks, |sb| sb.data_offset);
        self.say_offsets();
        match self.dealt(here, starts) {
            Some((map, size)) => {
                let text = format!(
                    "{} B of each of {} members",
                    self.sb().used.grouped(),
                    here.disks
                );
                self.layer.size = Some(Fact::derived(size, text));
                if let Map::Raid(Raid { layout, .. }) = &map {
                    let layout = *layout;
                    if layout != RaidLayout::Mirror {
                        let name = Value::Text(layout.name());
                        self.say(Key::Layout, name, self.sb().places.layout);
                    }
                    if let Some(chunk) = Some(layout)
                        .filter(|layout| *layout != RaidLayout::Mirror)
                        .and_then(|_| self.chunk(here))
                    {
                        self.layer.add_stripes(&chunk, here.disks, Some(layout));
                    }
                }
                self.layer.map = map;
            }
            None => self.layer.map = Map::Segments(Vec::new()),
        }
        self.done(below)
    }

    /// The map of a geometry and how much it holds; `None`, and why, for one that is not known.
    fn dealt(&mut self, geometry: &Geometry, starts: Vec<Bytes>) -> Option<(Map, Bytes)> {
        let places = self.sb().places;
        let used = self.sb().used;
        if geometry.level == -4 {
            // Every path leads to the same bytes.
            let start = starts.first().copied()?;
            return Some((Map::Linear { start }, used));
        }
        let unit = match geometry.level {
            1 => Unit::B4096,
            _ => self.chunk(geometry)?.value,
        };
        let level = u64::try_from(geometry.level).unwrap_or(u64::MAX);
        let number = u64::from(geometry.layout);
        if !matches!(level, 0 | 1 | 4 | 5 | 6 | 10) {
            let name = Superblock::level_name(geometry.level);
            let detail = format!(
                "how {name} deals its addresses is not known here; known are linear, raid0, 1, 4, 5, 6 and 10"
            );
            self.odd(OddityKind::Missing, detail, places.level);
            return None;
        }
        let layout = RaidLayout::from_md(level, number, geometry.disks, unit, used);
        let Some(layout) = layout else {
            let detail = format!(
                "layout {number:#x} of {} over {} members is none that md knows",
                Superblock::level_name(geometry.level),
                geometry.disks
            );
            self.odd(OddityKind::Damaged, detail, places.layout);
            return None;
        };
        let size = layout.capacity(geometry.disks, unit, used);
        let Some(size) = size.filter(|size| *size > Bytes::ZERO) else {
            let detail = format!(
                "{} B of each of {} members make no array",
                used.grouped(),
                geometry.disks
            );
            self.odd(OddityKind::Damaged, detail, places.used);
            return None;
        };
        let map = Map::Raid(Raid {
            layout,
            unit,
            starts,
        });
        Some((map, size))
    }

    /// Up to where it has come the one geometry holds, from there on the other.
    fn reshaping(mut self, here: &Geometry) -> Assembly {
        let places = self.sb().places;
        let Some(reshape) = self.sb().reshape else {
            return self.done(Vec::new());
        };
        self.say(
            Key::ReshapePosition,
            Value::Bytes(reshape.position),
            places.reshape,
        );
        let before = i64::try_from(here.disks)
            .ok()
            .and_then(|disks| disks.checked_sub(i64::from(reshape.delta)))
            .and_then(|disks| usize::try_from(disks).ok())
            .filter(|disks| {
                *disks > 0 && u32::try_from(*disks).is_ok_and(|disks| disks <= MOST_MEMBERS)
            });
        let Some(before) = before else {
            let detail = format!(
                "{} members, {:+} by the reshape: there were none before",
                here.disks, reshape.delta
            );
            self.odd(OddityKind::Damaged, detail, places.disks);
            self.layer.map = Map::Segments(Vec::new());
            return self.done(Vec::new());
        };
        let old = Geometry {
            disks: before,
            ..*here
        };
        let new = Geometry {
            level: reshape.level,
            layout: reshape.layout,
            chunk: reshape.chunk,
            disks: here.disks,
        };
        let detail = format!(
            "reshaping: {} over {} members with chunks of {} B becomes {} over {} members with chunks of {} B; it has come to byte {}",
            Superblock::level_name(old.level),
            old.disks,
            old.chunk.grouped(),
            Superblock::level_name(new.level),
            new.disks,
            new.chunk.grouped(),
            reshape.position.grouped(),
        );
        self.odd(OddityKind::Reshaping, detail, places.reshape);
        self.say_offsets();
        self.layer.map = Map::Segments(Vec::new());
        let old_columns = self.columns(old.disks, |sb| sb.data_offset);
        let new_columns = self.columns(new.disks, |sb| {
            let reshape = sb.reshape.and_then(|reshape| reshape.data_offset);
            reshape.unwrap_or(sb.data_offset)
        });
        let all = new_columns.0.clone();
        let old_dealt = self.dealt(&old, old_columns.1);
        let new_dealt = self.dealt(&new, new_columns.1);
        let (Some((old_map, old_size)), Some((new_map, new_size))) = (old_dealt, new_dealt) else {
            return self.done(all);
        };
        let size = old_size.min(new_size);
        let to = reshape.position.min(size);
        let head = Extent::new(Bytes::ZERO, to);
        let tail = size.checked_sub(to).and_then(|len| Extent::new(to, len));
        let (Some(head), Some(tail)) = (head, tail) else {
            return self.done(all);
        };
        let name = self.layer.name.clone();
        let node = |when: &str, map: Map, size: Bytes, below: Vec<Below>| {
            let mut layer = Layer::new(LayerKind::Array, format!("{name}, {when} its reshape"));
            layer.map = map;
            layer.size = Some(Fact::derived(size, "of each member × members with data"));
            Node {
                layer,
                below,
                holds: Holds::Nothing,
            }
        };
        self.nodes
            .push(node("before", old_map, old_size, old_columns.0));
        self.nodes
            .push(node("after", new_map, new_size, new_columns.0));
        let (of_head, of_tail) = if reshape.backwards { (0, 1) } else { (1, 0) };
        let segment = |upper: Extent, target: usize| Segment {
            upper,
            target,
            lower: upper.start(),
        };
        let segments = vec![segment(head, of_head), segment(tail, of_tail)];
        self.layer.map = Map::segments(segments).unwrap_or(Map::Segments(Vec::new()));
        self.layer.size = Some(Fact::derived(size, "the smaller of the two geometries"));
        self.done(vec![Below::Node(0), Below::Node(1)])
    }
}

/// `member 1 and member 3`.
fn listed(slots: &[usize]) -> String {
    let shown: Vec<String> = slots
        .iter()
        .take(MOST_REMARKS)
        .map(usize::to_string)
        .collect();
    let more = slots.len().saturating_sub(MOST_REMARKS);
    let shown = shown.join(", ");
    match more {
        0 => format!("number {shown}"),
        more => format!("number {shown} and {more} more"),
    }
}

/// Who sits where by the superblocks, and what does not fit together.
fn seat(given: &[Given<'_>], newest: &Given<'_>) -> Table {
    let places = newest.sb.places;
    let disks = newest.sb.disks;
    let delta = newest.sb.reshape.map_or(0, |reshape| reshape.delta);
    let mut slots: Vec<Option<usize>> = vec![None; superblock::seats(disks, delta)];
    let mut oddities = Vec::new();
    let mut differ = |one: &Given<'_>, detail: String, own: Place, other: Place| {
        if oddities.len() < MOST_REMARKS {
            oddities.push(Oddity::between(
                OddityKind::MembersDiffer,
                detail,
                one.source(own),
                newest.source(other),
            ));
        }
    };
    let mut replacements = Vec::new();
    for (index, one) in given.iter().enumerate() {
        let sb = &one.sb;
        let own = sb.places;
        let is_member = matches!(sb.role, Role::Slot(_) | Role::Replacement(_));
        if !is_member {
            continue;
        }
        // One write of the superblocks may have been cut short between members; md allows for that.
        if sb.events.saturating_add(1) < newest.sb.events {
            let detail = format!(
                "{} was left behind: its metadata were written {} times, those of {} {} times; what it holds is out of date",
                one.name, sb.events, newest.name, newest.sb.events
            );
            differ(one, detail, own.events, places.events);
            continue;
        }
        for (what, here, there, own, other) in [
            (
                "level",
                i64::from(sb.level),
                i64::from(newest.sb.level),
                own.level,
                places.level,
            ),
            (
                "layout",
                i64::from(sb.layout),
                i64::from(newest.sb.layout),
                own.layout,
                places.layout,
            ),
            (
                "members",
                i64::from(sb.disks),
                i64::from(newest.sb.disks),
                own.disks,
                places.disks,
            ),
            (
                "chunk",
                shown(sb.chunk),
                shown(newest.sb.chunk),
                own.chunk,
                places.chunk,
            ),
            (
                "size used of each member",
                shown(sb.used),
                shown(newest.sb.used),
                own.used,
                places.used,
            ),
        ] {
            if here != there {
                let detail = format!("{what} {here} on {}, {there} on {}", one.name, newest.name);
                differ(one, detail, own, other);
            }
        }
        match sb.role {
            Role::Slot(slot) => {
                let Some(place) = usize::try_from(slot)
                    .ok()
                    .and_then(|slot| slots.get_mut(slot))
                else {
                    let detail = format!("{} says that it is member {slot} of {disks}", one.name);
                    differ(one, detail, own.number, places.disks);
                    continue;
                };
                // Being rebuilt: what is read there is not the array's yet.
                if sb.recovery.is_some() {
                    continue;
                }
                match place.and_then(|index| given.get(index)) {
                    None => *place = Some(index),
                    Some(first) => {
                        let detail = format!(
                            "{} and {} both say that they are member {slot}; the first is used",
                            first.name, one.name
                        );
                        differ(one, detail, own.number, first.sb.places.number);
                    }
                }
            }
            Role::Replacement(slot) if sb.recovery.is_none() => replacements.push((slot, index)),
            _ => {}
        }
    }
    for (slot, index) in replacements {
        let place = usize::try_from(slot)
            .ok()
            .and_then(|slot| slots.get_mut(slot));
        if let Some(place) = place {
            place.get_or_insert(index);
        }
    }
    Table { slots, oddities }
}

/// For a comparison and its words.
fn shown(bytes: Bytes) -> i64 {
    i64::try_from(bytes.get()).unwrap_or(i64::MAX)
}
