//! Device-mapper devices: names from sysfs, maps from their tables.

mod maker;
mod redact;
mod table;

pub(crate) use maker::maker;
#[cfg(target_os = "linux")]
pub(super) use redact::redact;
pub(super) use table::redacted;

use std::borrow::Cow;
use std::collections::HashSet;
use straddle_geometry::{Bytes, Extent, Grid, Map, SectorSize, Segment, Striping, Unit};
use straddle_stack::{Anomaly, AnomalyKind, Fact, GridRole, Key, Layer, LayerId, LayerKind, Value};

use super::answer::Question;
use super::host::{Device, Host, nowhere};
use super::words::device_number;
use crate::raid::{Member, Said, add_stripes, carry_through, carry_up};
use table::{Place, Target};

impl Host<'_> {
    /// A device-mapper device.
    pub(super) fn mapped(&mut self, name: &str, device: &Device) -> Layer {
        let path = device.path.clone();
        let uuid = self.root.text(&format!("{path}/dm/uuid"));
        let mut layer = Layer::new(kind_of(uuid.as_deref().unwrap_or("")), name);
        if let Some(fact) = self.text(&format!("{path}/dm/name")) {
            layer.set(Key::Label, fact.map(|text| Value::Text(text.into())));
        }
        layer.map = nowhere();
        let number = self
            .root
            .text(&format!("{path}/dev"))
            .and_then(|text| device_number(&text));
        let question = Question::Table {
            name: name.to_owned(),
            device: number.unwrap_or_default(),
        };
        match self.root.answer(&question) {
            Ok(text) => {
                let targets = table::parse(&text);
                if targets.is_empty() {
                    layer.anomalies.push(Anomaly::new(
                        AnomalyKind::Missing,
                        "its device-mapper table is empty or cannot be read",
                    ));
                }
                self.add_targets(&mut layer, &targets, &question);
            }
            Err(error) => {
                layer.anomalies.push(Anomaly::new(
                    AnomalyKind::Missing,
                    format!(
                        "its device-mapper table, which says where it lies below, is not known: {}; a capture or a check by root has it",
                        error.why()
                    ),
                ));
            }
        }
        if layer.below.is_empty() {
            layer.below = self.slaves(device);
        }
        layer
    }

    fn add_targets(&mut self, layer: &mut Layer, targets: &[Target], question: &Question) {
        let Some(first) = targets.first() else { return };
        let said = |value: Value, line: &str| Fact::answered(value, question.call(), line);
        let mut names: Vec<&str> = targets.iter().map(|target| target.kind.as_str()).collect();
        names.dedup();
        let name = names.join("+");
        layer.format = Some(Cow::Owned(name.clone()));
        layer.set(
            Key::Target,
            said(Value::Text(Cow::Owned(name)), &first.line),
        );
        if let ([target], false) = (targets, first.kind == "linear") {
            self.add_target(layer, target, question);
            return;
        }
        // Several targets, or linear ones: each is a piece that lies somewhere.
        let mut below: Vec<LayerId> = Vec::new();
        let mut segments = Vec::new();
        let mut dark = HashSet::new();
        for target in targets {
            let place = target.linear_place();
            let piece = place.as_ref().and_then(|place| {
                let id = self.below(place)?;
                let index = below.iter().position(|other| *other == id);
                let index = index.unwrap_or_else(|| {
                    below.push(id);
                    below.len() - 1
                });
                Some(Segment {
                    upper: target.extent,
                    target: index,
                    lower: place.start,
                })
            });
            match piece {
                Some(piece) => segments.push(piece),
                None => {
                    dark.insert(target.kind.as_str());
                }
            }
        }
        let mut dark: Vec<&str> = dark.into_iter().collect();
        dark.sort_unstable();
        if !dark.is_empty() {
            layer.anomalies.push(Anomaly::new(
                AnomalyKind::Missing,
                format!(
                    "where its {} parts lie below is not known",
                    dark.join(" and ")
                ),
            ));
        }
        layer.below = below;
        match segments.as_slice() {
            [only] if only.upper.start() == Bytes::ZERO && dark.is_empty() => {
                layer.map = Map::Linear { start: only.lower };
                layer.placement = Extent::new(only.lower, only.upper.len())
                    .map(|extent| Fact::answered(extent, question.call(), first.line.clone()));
            }
            _ => match Map::segments(segments) {
                Some(map) => layer.map = map,
                None => layer.anomalies.push(Anomaly::new(
                    AnomalyKind::Damaged,
                    "two targets of its table claim the same sectors",
                )),
            },
        }
    }

    fn below(&mut self, place: &Place) -> Option<LayerId> {
        let name = match place.device {
            table::DeviceName::Number(number) => self.name_of(number)?.to_owned(),
            table::DeviceName::Path(ref path) => self.name_of_path(path)?,
        };
        self.device(&name)
    }

    /// All of `places` that exist, in order.
    fn all_below(&mut self, places: &[Place]) -> Vec<LayerId> {
        let mut out = Vec::new();
        for place in places {
            if let Some(id) = self.below(place)
                && !out.contains(&id)
            {
                out.push(id);
            }
        }
        out
    }

    fn add_target(&mut self, layer: &mut Layer, target: &Target, question: &Question) {
        let said = |value: Value| Fact::answered(value, question.call(), target.line.clone());
        let grid =
            |unit: Unit| Fact::answered(Grid::new(unit), question.call(), target.line.clone());
        let places = target.places();
        layer.below = self.all_below(&places);
        let found_all = layer.below.len() == places.len();
        let linear = |layer: &mut Layer| {
            if let Some(place) = places.first().filter(|_| found_all) {
                layer.map = Map::Linear { start: place.start };
                layer.placement = Extent::new(place.start, target.extent.len())
                    .map(|extent| Fact::answered(extent, question.call(), target.line.clone()));
            }
        };
        match target.kind.as_str() {
            "striped" => {
                let Some(unit) = target.sectors(1) else {
                    return;
                };
                layer.kind = LayerKind::Array;
                layer.add_grid(GridRole::StripeUnit, grid(unit));
                let count = u64::try_from(places.len()).unwrap_or(u64::MAX);
                layer.set(Key::DataMembers, said(Value::Count(count)));
                if found_all && !places.is_empty() {
                    let starts = places.iter().map(|place| place.start).collect();
                    layer.map = Map::Striped(Striping { unit, starts });
                }
            }
            "crypt" => {
                layer.kind = LayerKind::Encryption;
                let size = target
                    .option("sector_size")
                    .and_then(|text| text.parse().ok());
                let size = size.and_then(Unit::new).unwrap_or(SectorSize::B512.unit());
                layer.add_grid(GridRole::EncryptionSector, grid(size));
                if let Some(place) = places.first() {
                    layer.set(Key::DataOffset, said(Value::Bytes(place.start)));
                }
                linear(layer);
            }
            "multipath" => {
                if let Some(selector) = target.path_selector() {
                    let value = Value::Text(Cow::Owned(selector.to_owned()));
                    layer.set(Key::PathSelector, said(value));
                }
                // Every path leads to the same unit: the first stands for all.
                if !layer.below.is_empty() {
                    layer.map = Map::IDENTITY;
                }
            }
            "thin-pool" => {
                if let Some(unit) = target.sectors(2) {
                    layer.add_grid(GridRole::ThinChunk, grid(unit));
                }
                linear(layer);
            }
            "thin" => {
                // The pool deals out chunks in any order, but each lies at a multiple of the chunk size.
                let pool = layer.below.first().copied();
                let chunk = pool.and_then(|pool| {
                    let fact = self.stack.layer(pool).grid(GridRole::ThinChunk)?;
                    Some(fact.clone())
                });
                if let Some((pool, chunk)) = pool.zip(chunk) {
                    let unit = chunk.value.unit();
                    layer.add_grid(GridRole::ThinChunk, chunk);
                    carry_through(&self.stack, layer, unit, vec![Bytes::ZERO], &[pool]);
                }
            }
            "cache" => {
                if let Some(unit) = target.sectors(3) {
                    layer.add_grid(GridRole::ThinChunk, grid(unit));
                }
                linear(layer);
            }
            "writecache" => {
                if let Some(size) = target.word(3).and_then(|text| text.parse().ok()) {
                    layer.set(Key::BlockSize, said(Value::Bytes(Bytes::new(size))));
                }
                linear(layer);
            }
            "snapshot" => {
                if let Some(unit) = target.sectors(3) {
                    layer.add_grid(GridRole::ThinChunk, grid(unit));
                }
                linear(layer);
            }
            "integrity" => {
                layer.kind = LayerKind::Encryption;
                let size = target
                    .option("block_size")
                    .and_then(|text| text.parse().ok());
                let size = size.and_then(Unit::new).unwrap_or(SectorSize::B512.unit());
                layer.add_grid(GridRole::EncryptionSector, grid(size));
                let mode = match target.word(3) {
                    Some("J") => Some("journal"),
                    Some("B") => Some("bitmap"),
                    Some("D") => Some("direct"),
                    Some("I") => Some("inline"),
                    _ => None,
                };
                if let Some(mode) = mode {
                    layer.set(Key::IntegrityMode, said(Value::Text(mode.into())));
                }
                layer.anomalies.push(Anomaly::new(
                    AnomalyKind::Missing,
                    "checksums lie between its data, so its addresses have no regular place below",
                ));
            }
            "verity" => {
                layer.kind = LayerKind::Encryption;
                let size = target.word(3).and_then(|text| text.parse().ok());
                if let Some(size) = size.and_then(Unit::new) {
                    layer.add_grid(GridRole::EncryptionSector, grid(size));
                }
                linear(layer);
            }
            "raid" => self.add_raid(layer, target, question, found_all),
            "mirror" | "snapshot-origin" | "delay" | "flakey" | "log-writes" | "dust" | "era" => {
                linear(layer);
            }
            _ => layer.anomalies.push(Anomaly::new(
                AnomalyKind::Missing,
                format!(
                    "how a `{}` target reaches the devices below is not known here",
                    target.kind
                ),
            )),
        }
    }

    fn add_raid(
        &mut self,
        layer: &mut Layer,
        target: &Target,
        question: &Question,
        found_all: bool,
    ) {
        layer.kind = LayerKind::Array;
        let said = |value: Value| Fact::answered(value, question.call(), target.line.clone());
        let Some(name) = target.word(0).map(str::to_owned) else {
            return;
        };
        layer.set(Key::Level, said(Value::Text(Cow::Owned(name))));
        let count = target.raid_devices();
        layer.set(Key::Members, said(Value::Count(count)));
        let (level, layout) = target.raid_level().unwrap_or(("", 0));
        let chunk = target.sectors(2);
        let slots = target.raid_slots();
        let each = |sectors: Bytes| {
            // What each member has of RAID 10, which alone depends on it.
            let copies = (layout & 0xff).checked_mul(layout >> 8 & 0xff)?;
            Some(Bytes::new(
                sectors.get().checked_mul(copies)? / count.max(1),
            ))
        };
        let array = Said {
            level,
            layout: Some(layout),
            count,
            chunk,
            used: each(target.extent.len()),
        };
        if let Some(chunk) = chunk {
            let fact = Fact::answered(chunk, question.call(), target.line.clone());
            add_stripes(layer, array.shape(), &fact, count);
        }
        let offset = target.raid_option("data_offset").unwrap_or(0);
        let Some(start) = SectorSize::B512.sectors(offset).bytes() else {
            return;
        };
        let mut members = Vec::new();
        let failed = slots.iter().filter(|slot| slot.is_none()).count();
        for (slot, place) in slots.into_iter().enumerate() {
            let id = match &place {
                Some(place) => self.below(place),
                // The map of a mirror does without.
                None if array.has_columns() => {
                    let name = format!("member {slot} of {}", layer.name);
                    Some(self.stack.push(Layer::new(LayerKind::Device, name)))
                }
                None => None,
            };
            if let Some(layer) = id {
                members.push(Member {
                    slot,
                    layer,
                    offset: start,
                    said: Fact::derived(start, "the table of the array"),
                    size: None,
                });
            }
        }
        if failed > 0 {
            let detail = format!("degraded: {failed} of its {count} members are not there");
            let source = said(Value::Count(count)).source;
            layer
                .anomalies
                .push(Anomaly::at(AnomalyKind::Degraded, detail, source));
            let failed = Value::Count(u64::try_from(failed).unwrap_or(u64::MAX));
            layer.set(Key::MissingMembers, said(failed));
        }
        if !found_all || members.is_empty() {
            return;
        }
        layer.below = members.iter().map(|member| member.layer).collect();
        layer.map = array.map(&members);
        if let Some(unit) = chunk.filter(|_| layer.map == nowhere()) {
            carry_up(&self.stack, layer, unit, &members);
        }
    }
}

/// What made a device, by the prefix that its tool gives to its UUID.
fn kind_of(uuid: &str) -> LayerKind {
    if uuid.starts_with("CRYPT-") {
        LayerKind::Encryption
    } else if uuid.starts_with("part") {
        LayerKind::Partition
    } else {
        LayerKind::Volume
    }
}
