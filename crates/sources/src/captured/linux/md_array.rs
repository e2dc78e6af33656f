//! What the tools of Linux software RAID say about an array, however they print it.

use straddle_geometry::{Bytes, Grid, Unit};
use straddle_stack::{
    Anomaly, AnomalyKind, Fact, GridFact, GridRole, Interval, Key, Layer, LayerKind, Value,
};

use crate::captured::text::Line;
use crate::captured::tool::Notes;
use crate::inventory::{MAX_NAMES, Name, Placing, Raid, RaidMember, Space, Thing};
use crate::raid::{Shape, add_stripes, layout_name};

/// An array as one text describes it.
#[derive(Default)]
pub(super) struct Array<'t> {
    pub(super) names: Vec<Name>,
    pub(super) level: Option<(String, Line<'t>)>,
    /// As md counts it.
    pub(super) layout: Option<(u64, Line<'t>)>,
    pub(super) count: Option<(u64, Line<'t>)>,
    pub(super) chunk: Option<(Unit, Line<'t>)>,
    pub(super) size: Option<(Bytes, Line<'t>)>,
    pub(super) version: Option<(String, Line<'t>)>,
    pub(super) state: Option<(String, Line<'t>)>,
    pub(super) moving: bool,
    /// How many of its members work, where some do not.
    pub(super) working: Option<(u64, Line<'t>)>,
    pub(super) members: Vec<RaidMember>,
    /// What cannot be right.
    wrong: Option<(String, Line<'t>)>,
}

impl<'t> Array<'t> {
    pub(super) fn name(&mut self, space: Space, text: &str) {
        let name = Name::new(space, text.to_owned());
        if !name.text.is_empty() && self.names.len() <= MAX_NAMES && !self.names.contains(&name) {
            self.names.push(name);
        }
    }

    /// Adds a member by its device and place.
    pub(super) fn member(&mut self, device: &str, slot: Option<usize>) {
        self.members.push(RaidMember {
            name: Name::new(Space::Device, device.to_owned()),
            slot,
            start: None,
            size: None,
        });
    }

    /// Compares its size with what its members come to: as many data members as the level leaves, each as long as `used`.
    pub(super) fn data_size(&mut self, used: Option<Bytes>) {
        let (Some((level, _)), Some((count, _)), Some((size, line)), Some(used)) =
            (&self.level, self.count, self.size, used)
        else {
            return;
        };
        let data = match level.as_str() {
            "raid4" | "raid5" => count.checked_sub(1),
            "raid6" => count.checked_sub(2),
            "raid1" => Some(1),
            _ => None,
        };
        let Some(expected) = data.and_then(|data| used.checked_mul(data)) else {
            return;
        };
        // Chunks that are left over at the ends of members are not used.
        let slack = self
            .chunk
            .map_or(1 << 20, |(chunk, _)| chunk.get())
            .saturating_mul(count);
        if !self.moving && expected.get().abs_diff(size.get()) > slack {
            self.wrong = Some((
                format!(
                    "contradicts itself: {count} members of {used} each as {level} come to {expected}, its size is {size}"
                ),
                line,
            ));
        }
    }

    /// Notes it, under the first of its names.
    pub(super) fn note(self, notes: &mut Notes<'_>) {
        let mut names = self.names.into_iter();
        let Some(first) = names.next() else { return };
        let title = match first.space {
            Space::Uuid => format!("array {}", first.text),
            _ => first.text.to_string(),
        };
        let mut thing = Thing::new(LayerKind::Array, title, first);
        for name in names {
            thing = thing.named(name);
        }
        if let Some((size, line)) = self.size {
            thing.size = Some(notes.said(&line, Interval::exact(size)));
        }
        let level = self.level.as_ref().map_or("", |(level, _)| level.as_str());
        let mut attributes = Vec::new();
        if let Some((layout, line)) = self.layout
            && let Some(name) = layout_name(level, layout)
        {
            attributes.push((Key::Layout, notes.said(&line, Value::Text(name))));
        }
        if let Some((version, line)) = &self.version {
            let text = Value::Text(version.clone().into());
            attributes.push((Key::Version, notes.said(line, text)));
        }
        if let Some((state, line)) = &self.state {
            let text = Value::Text(state.clone().into());
            attributes.push((Key::State, notes.said(line, text)));
        }
        let count = self.count.map_or(0, |(count, _)| count);
        if let Some((count, line)) = self.count {
            attributes.push((Key::Members, notes.said(&line, Value::Count(count))));
        }
        if let Some((level, line)) = &self.level {
            thing.format = Some(notes.said(line, level.clone().into()));
            let text = Value::Text(level.clone().into());
            thing.set(Key::Level, notes.said(line, text));
        }
        if let Some((wrong, line)) = self.wrong {
            let anomaly = Anomaly::at(AnomalyKind::Misprint, wrong, notes.source(&line));
            thing.remarks.push(anomaly);
        }
        if let Some((working, line)) = self.working.filter(|(working, _)| *working < count) {
            let detail = format!("runs with {working} of {count} members");
            let anomaly = Anomaly::at(AnomalyKind::Degraded, detail, notes.source(&line));
            thing.remarks.push(anomaly);
        }
        for (key, value) in attributes {
            thing.set(key, value);
        }
        let layout = self.layout.map(|(layout, _)| layout);
        let chunk = self.chunk.map(|(chunk, line)| notes.said(&line, chunk));
        if let (Some(chunk), Some((_, line)), true) = (&chunk, self.chunk, level.is_empty()) {
            // Only levels with stripes have chunks.
            let detail = "its level was not captured, or is cut";
            thing.remarks.push(Anomaly::at(
                AnomalyKind::Missing,
                detail,
                notes.source(&line),
            ));
            let grid = chunk.clone().map(Grid::new);
            thing.grids.push(GridFact {
                role: GridRole::StripeUnit,
                grid,
            });
        } else if let Some(chunk) = &chunk {
            let mut layer = Layer::new(LayerKind::Array, "");
            add_stripes(&mut layer, Shape::of(level, layout, count), chunk, count);
            thing.grids.append(&mut layer.grids);
            thing.attributes.append(&mut layer.attributes);
        }
        let mut raid = Raid {
            level: level.to_owned(),
            layout,
            count,
            chunk,
            moving: self.moving,
            members: self.members,
        };
        // The oldest superblock stands at the end of each member, and nothing in front of the data.
        if self.version.as_ref().is_some_and(|(v, _)| v == "0.90") {
            for member in &mut raid.members {
                member.start.get_or_insert_with(|| {
                    Fact::derived(Bytes::ZERO, "superblocks of version 0.90 stand at the end")
                });
            }
        }
        thing.on = raid.members.iter().map(|m| m.name.clone()).collect();
        thing.placing = Placing::Raid(Box::new(raid));
        notes.add(thing);
    }
}

/// md's number for a layout as tools print it: `left-symmetric`, `near=2`, `near=2, far=1`, `offset=2`.
pub(super) fn layout(level: &str, text: &str) -> Option<u64> {
    const PARITY: [&str; 4] = [
        "left-asymmetric",
        "right-asymmetric",
        "left-symmetric",
        "right-symmetric",
    ];
    let text = text.trim();
    if level != "raid10" {
        let at = PARITY.iter().position(|name| *name == text)?;
        return u64::try_from(at).ok();
    }
    let (mut near, mut far, mut offset) = (1, 1, 0);
    for part in text.split([',', ' ']).filter(|part| !part.is_empty()) {
        let (key, copies) = part.split_once('=')?;
        let copies: u64 = copies.parse().ok().filter(|copies| *copies < 256)?;
        match key {
            "near" => near = copies,
            "far" => far = copies,
            "offset" => (far, offset) = (copies, 1),
            _ => return None,
        }
    }
    Some(offset << 16 | far << 8 | near)
}

/// `64K`, `1M`, `128 KiB`: a chunk.
pub(super) fn chunk(text: &str) -> Option<Unit> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit())?;
    let factor = match text[end..].trim_start().bytes().next()? {
        b'K' | b'k' => 1024,
        b'M' | b'm' => 1 << 20,
        _ => return None,
    };
    Unit::new(text[..end].parse::<u64>().ok()?.checked_mul(factor)?)
}

/// `1.2`, `00.90.03`, `0.90.00`: version of the superblock, as the kernel writes it.
pub(super) fn version(text: &str) -> String {
    let mut parts = text.trim().split('.').map(str::parse::<u32>);
    match (parts.next(), parts.next()) {
        (Some(Ok(0)), Some(Ok(90))) => "0.90".to_owned(),
        (Some(Ok(1)), Some(Ok(minor))) => format!("1.{minor}"),
        _ => text.trim().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_versions_and_chunks_in_all_spellings() {
        assert_eq!(layout("raid10", "near=2"), Some(0x102));
        assert_eq!(layout("raid10", "near=2, far=1"), Some(0x102));
        assert_eq!(layout("raid10", "far=2"), Some(0x201));
        assert_eq!(layout("raid10", "offset=3"), Some(0x1_0301));
        assert_eq!(layout("raid5", "left-symmetric"), Some(2));
        assert_eq!(layout("raid0", "-unknown-"), None);
        assert_eq!(version("00.90.03"), "0.90");
        assert_eq!(version("1.2"), "1.2");
        assert_eq!(version("imsm"), "imsm");
        assert_eq!(chunk("512K"), Unit::new(512 << 10));
        assert_eq!(chunk("128 KiB"), Unit::new(128 << 10));
        assert_eq!(chunk("0K"), None);
        assert_eq!(chunk("64"), None);
    }
}
