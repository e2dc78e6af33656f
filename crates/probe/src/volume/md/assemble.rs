//! From superblocks to an array: whose is newest, who sits where, and what of that can be relied upon.

use std::borrow::Cow;

use straddle_geometry::{Bytes, Map, Raid, RaidLayout, Segment, Striping, Unit};
use straddle_io::ReadError;
use straddle_stack::{Anomaly, AnomalyKind, Fact, Key, Layer, LayerKind, Value};

use super::seats::{Given, MAX_REMARKS, Table, seat};
use super::superblock::{self, MAX_MEMBERS, Role, Superblock};
use super::zones::{self, Column};
use crate::record::{Place, Recorder};
use crate::volume::{Assembly, Below, Holds, Node, Part};

/// One geometry of an array.
pub(super) struct Geometry {
    pub(super) level: i32,
    pub(super) layout: u32,
    pub(super) chunk: Bytes,
    pub(super) disks: usize,
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

pub(super) struct Builder<'g, 'a> {
    pub(super) given: &'g [Given<'a>],
    pub(super) newest: &'g Given<'a>,
    pub(super) layer: Layer,
    pub(super) table: Table,
    pub(super) nodes: Vec<Node>,
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

    pub(super) fn sb(&self) -> &'g Superblock {
        &self.newest.sb
    }

    pub(super) fn say(&mut self, key: Key, value: Value, place: Place) {
        let fact = self.newest.say.fact(value, place);
        self.layer.set(key, fact);
    }

    pub(super) fn odd(&mut self, kind: AnomalyKind, detail: String, place: Place) {
        let source = self.newest.source(place);
        self.layer.anomalies.push(Anomaly::at(kind, detail, source));
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
        let anomalies = std::mem::take(&mut self.table.anomalies);
        self.layer.anomalies.extend(anomalies);
        self.who_is_missing();
        let disks = usize::try_from(sb.disks).unwrap_or(usize::MAX);
        let here = Geometry {
            level: sb.level,
            layout: sb.layout,
            chunk: sb.chunk,
            disks,
        };
        if sb.disks == 0 || sb.disks > MAX_MEMBERS {
            let detail = format!(
                "an array of {} members; expected 1 to {MAX_MEMBERS}",
                sb.disks
            );
            self.odd(AnomalyKind::Damaged, detail, places.disks);
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
    pub(super) fn done(mut self, below: Vec<Below>) -> Assembly {
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
            self.odd(AnomalyKind::Degraded, detail, places.disks);
        }
        if !absent.is_empty() {
            let detail = format!(
                "{} of its {of} members, {}, {} not given; give all of them together",
                absent.len(),
                listed(&absent),
                if absent.len() == 1 { "was" } else { "were" }
            );
            self.odd(AnomalyKind::PartlyGiven, detail, places.disks);
        }
        if self.sb().journal && !self.given.iter().any(|one| one.sb.role == Role::Journal) {
            let detail =
                "its journal was not given: what was written last may be there only".to_owned();
            self.odd(AnomalyKind::PartlyGiven, detail, places.disks);
        }
    }

    /// What the array lies on, place by place, and where data start there; a missing member is taken to start like the first
    /// that is there.
    pub(super) fn columns(
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
    pub(super) fn say_offsets(&mut self) {
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
                self.odd(AnomalyKind::Damaged, detail, place);
                None
            }
        }
    }

    fn linear(mut self, here: &Geometry) -> Assembly {
        let columns = self.sizes();
        let (segments, cut) = zones::linear(&columns, Unit::try_from(here.chunk).ok());
        let end = segments.last().map(|segment| segment.upper.end());
        if cut {
            self.layer.anomalies.push(Anomaly::new(
                AnomalyKind::Missing,
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
            self.layer.anomalies.push(Anomaly::new(
                AnomalyKind::Missing,
                "of its members only some are known: where the smallest ends, and with it the stripes over all, is taken from those",
            ));
        }
        if cut {
            let detail = "its members are not of one size, and no layout says how it goes on where the smallest has ended; \
                          Linux starts it with raid0.default_layout=1 or 2 only"
                .to_owned();
            self.odd(AnomalyKind::Missing, detail, self.sb().places.layout);
        }
        let (Some(first), Some(last)) = (all.first(), all.last()) else {
            return self.done(below);
        };
        let end = last.extent.end();
        let kernel = zones::size(&columns, unit).filter(|_| !cut);
        self.layer.size = Some(Fact::derived(
            kernel.map_or(end, |size| size.min(end)),
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
                    // RAID 4 has one.
                    if layout != RaidLayout::Mirror && here.level != 4 {
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
    pub(super) fn dealt(
        &mut self,
        geometry: &Geometry,
        starts: Vec<Bytes>,
    ) -> Option<(Map, Bytes)> {
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
            self.odd(AnomalyKind::Missing, detail, places.level);
            return None;
        }
        let layout = RaidLayout::from_md(level, number, geometry.disks, unit, used);
        let Some(layout) = layout else {
            let detail = format!(
                "layout {number:#x} of {} over {} members is none that md knows",
                Superblock::level_name(geometry.level),
                geometry.disks
            );
            self.odd(AnomalyKind::Damaged, detail, places.layout);
            return None;
        };
        let size = layout.capacity(geometry.disks, unit, used);
        let Some(size) = size.filter(|size| *size > Bytes::ZERO) else {
            let detail = format!(
                "{} B of each of {} members make no array",
                used.grouped(),
                geometry.disks
            );
            self.odd(AnomalyKind::Damaged, detail, places.used);
            return None;
        };
        let map = Map::Raid(Raid {
            layout,
            unit,
            starts,
        });
        Some((map, size))
    }
}

/// `member 1 and member 3`.
fn listed(slots: &[usize]) -> String {
    let shown: Vec<String> = slots
        .iter()
        .take(MAX_REMARKS)
        .map(usize::to_string)
        .collect();
    let more = slots.len().saturating_sub(MAX_REMARKS);
    let shown = shown.join(", ");
    match more {
        0 => format!("number {shown}"),
        more => format!("number {shown} and {more} more"),
    }
}
