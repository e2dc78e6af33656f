//! Linux software RAID, from `/sys/block/mdN/md`.
//!
//! Source: Linux `Documentation/admin-guide/md.rst`; layouts from `md(4)` and `drivers/md/raid10.c`.

use std::borrow::Cow;
use straddle_geometry::{Bytes, SectorSize, Unit};
use straddle_stack::{Anomaly, AnomalyKind, Fact, Key, Layer, LayerKind, Value};

use super::host::{Device, Host, nowhere};
use crate::raid::{Member, Said, add_stripes, carry_up, layout_name};

/// Most members that are looked at; md itself stops at 384.
const MAX_MEMBERS: usize = 1024;

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
        let reshaped = self.number(&format!("{md}/reshape_position"));
        let used = self.number(&format!("{md}/component_size"));
        let used = used.and_then(|kib| Bytes::new(kib.value).checked_mul(1024));
        let said = Said {
            level: &level,
            layout: layout.map(|fact| fact.value),
            count,
            chunk: chunk.as_ref().map(|fact| fact.value),
            used,
        };
        // One data offset for each layer below, in the same order.
        for member in &members {
            let offset = member.said.clone();
            layer.set(Key::DataOffset, offset.map(Value::Bytes));
        }
        self.missing(name, &md, &said, &mut members, &mut layer);
        layer.below = members.iter().map(|member| member.layer).collect();
        if let Some(chunk) = &chunk {
            add_stripes(&mut layer, said.shape(), chunk, count);
        }
        if let Some(fact) = reshaped {
            // It changes while it is read, and the kernel has not said which way it goes: what is sure is the place.
            let detail = "it is being reshaped: up to where that has come it has the new geometry, beyond the old one";
            let source = fact.source.clone();
            layer
                .anomalies
                .push(Anomaly::at(AnomalyKind::Reshaping, detail, source));
            if let Some(bytes) = SectorSize::B512.sectors(fact.value).bytes() {
                layer.set(Key::ReshapePosition, fact.map(|_| Value::Bytes(bytes)));
            }
        } else {
            layer.map = said.map(&members);
        }
        if let Some(chunk) = chunk.filter(|_| layer.map == nowhere() && !members.is_empty()) {
            carry_up(&self.stack, &mut layer, chunk.value, &members);
        }
        layer
    }

    /// Notes that members are missing, and gives the map of an array with columns something to stand for each.
    fn missing(
        &mut self,
        name: &str,
        md: &str,
        said: &Said<'_>,
        members: &mut Vec<Member>,
        layer: &mut Layer,
    ) {
        let degraded = self.number(&format!("{md}/degraded"));
        let Some(degraded) = degraded.filter(|fact| fact.value > 0) else {
            return;
        };
        let detail = format!(
            "degraded: {} of its {} members {} not there",
            degraded.value,
            said.count,
            if degraded.value == 1 { "is" } else { "are" }
        );
        let source = degraded.source.clone();
        layer
            .anomalies
            .push(Anomaly::at(AnomalyKind::Degraded, detail, source));
        layer.set(Key::MissingMembers, degraded.map(Value::Count));
        let count = usize::try_from(said.count).unwrap_or(0);
        let Some(usual) = members.first().map(|first| first.offset) else {
            return;
        };
        if !said.has_columns() || count > MAX_MEMBERS {
            return;
        }
        for slot in 0..count {
            if members.get(slot).is_some_and(|member| member.slot == slot) {
                continue;
            }
            let absent = Layer::new(LayerKind::Device, format!("member {slot} of {name}"));
            let member = Member {
                slot,
                layer: self.stack.push(absent),
                offset: usual,
                said: Fact::derived(usual, "where the data of the first member start"),
                size: None,
            };
            members.insert(slot.min(members.len()), member);
        }
    }

    fn members(&mut self, md: &str, layer: &mut Layer) -> Vec<Member> {
        let mut members = Vec::new();
        let names = self.root.names(md, |name| name.starts_with("dev-"));
        for entry in names.into_iter().take(MAX_MEMBERS) {
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
                layer.anomalies.push(Anomaly::new(
                    AnomalyKind::Missing,
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
