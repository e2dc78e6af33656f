//! Linux software RAID, from `/sys/block/mdN/md`.
//!
//! Source: Linux `Documentation/admin-guide/md.rst`; layouts from `md(4)` and `drivers/md/raid10.c`.

use std::borrow::Cow;
use straddle_geometry::{Bytes, Map, Unit};
use straddle_stack::{Key, Layer, LayerKind, Oddity, OddityKind, Value};

use super::host::{Device, Host, nowhere};
use crate::raid::{
    Member, Shape, add_stripes, carry_up, concatenated, layout_name, map_of, order_of,
};

/// Most members that are looked at; md itself stops at 384.
const MOST_MEMBERS: usize = 1024;

impl Host<'_> {
    /// An md array.
    pub(super) fn array(&mut self, name: &str, device: &Device) -> Layer {
        let md = format!("{}/md", device.path);
        let mut layer = Layer::new(LayerKind::Array, name);
        layer.map = nowhere();
        let level = self.text(&format!("{md}/level"));
        if let Some(level) = &level {
            layer.format = Some(Cow::Owned(level.value.clone()));
            let value = Value::Text(Cow::Owned(level.value.clone()));
            layer.set(Key::Level, level.clone().map(|_| value));
        }
        let raid_disks = self.number(&format!("{md}/raid_disks"));
        if let Some(fact) = &raid_disks {
            layer.set(Key::Members, fact.clone().map(Value::Count));
        }
        if let Some(fact) = self.text(&format!("{md}/metadata_version")) {
            layer.set(Key::Version, fact.map(|text| Value::Text(text.into())));
        }
        let layout = self.number(&format!("{md}/layout"));
        let count = raid_disks.map_or(0, |fact| fact.value);
        let level = level.map(|fact| fact.value).unwrap_or_default();
        if let Some(fact) = &layout
            && let Some(text) = layout_name(&level, fact.value)
        {
            layer.set(Key::Layout, fact.clone().map(|_| Value::Text(text)));
        }
        let mut members = self.members(&md, &mut layer);
        members.sort_by_key(|member| member.slot);
        // A slot that two members claim is a forgery or a race; the first is as good as the other.
        members.dedup_by_key(|member| member.slot);
        let chunk = self
            .number(&format!("{md}/chunk_size"))
            .and_then(|fact| Some((Unit::new(fact.value)?, fact)))
            .map(|(unit, fact)| fact.map(|_| unit));
        let moving = self
            .root
            .text(&format!("{md}/reshape_position"))
            .is_some_and(|text| text.parse::<u64>().is_ok());
        if moving {
            layer.oddities.push(Oddity::new(
                OddityKind::Missing,
                "it is being reshaped: until that is done, part of it has another geometry",
            ));
        }
        let shape = Shape::of(&level, layout.map(|fact| fact.value), count);
        let order = order_of(&shape, &members);
        // One data offset for each layer below, in the same order.
        for member in &order {
            let offset = member.said.clone();
            layer.set(Key::DataOffset, offset.map(Value::Bytes));
        }
        layer.below = order.iter().map(|member| member.layer).collect();
        if let Some(chunk) = chunk {
            add_stripes(&mut layer, shape, &chunk, count);
            if !moving {
                layer.map = map_of(&shape, chunk.value, count, &members);
            }
            if layer.map == nowhere() && !members.is_empty() {
                carry_up(&self.stack, &mut layer, chunk.value, &members);
            }
        } else if !moving {
            match shape {
                Shape::Mirror => {
                    if let Some(first) = members.first() {
                        layer.map = Map::Linear {
                            start: first.offset,
                        };
                    }
                }
                Shape::Concatenated => layer.map = concatenated(&members).unwrap_or_else(nowhere),
                _ => {}
            }
        }
        layer
    }

    fn members(&mut self, md: &str, layer: &mut Layer) -> Vec<Member> {
        let mut members = Vec::new();
        let names = self.root.names(md, |name| name.starts_with("dev-"));
        for entry in names.into_iter().take(MOST_MEMBERS) {
            let name = entry.trim_start_matches("dev-").to_owned();
            let path = format!("{md}/{entry}");
            // `none` for a spare.
            let slot = self.number(&format!("{path}/slot"));
            let Some(slot) = slot.and_then(|fact| usize::try_from(fact.value).ok()) else {
                continue;
            };
            let Some(id) = self.device(&name) else {
                continue;
            };
            let Some(said) = self.sectors(&format!("{path}/offset")) else {
                layer.oddities.push(Oddity::new(
                    OddityKind::Missing,
                    format!("{path}/offset does not say where the data of {name} starts"),
                ));
                continue;
            };
            let size = self
                .number(&format!("{path}/size"))
                .and_then(|kib| Bytes::new(kib.value).checked_mul(1024));
            members.push(Member {
                slot,
                layer: id,
                offset: said.value,
                said,
                size,
            });
        }
        members
    }
}
