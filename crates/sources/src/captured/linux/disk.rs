//! What the tools that identify disks have in common.

use straddle_geometry::{Bytes, Unit};
use straddle_stack::{Fact, GridRole, Interval, Key, LayerKind, Value};

use crate::captured::text::Line;
use crate::captured::tool::Notes;
use crate::inventory::{InBlocks, MAX_NAMES, Name, Space, Thing};

/// A disk of which facts are collected. It may have no other name than its serial number.
pub(super) struct Disk {
    names: Vec<Name>,
    thing: Thing,
}

impl Disk {
    pub(super) fn new(device: Option<Name>) -> Disk {
        let blank = Name::new(Space::Device, "");
        Disk {
            names: device.into_iter().collect(),
            thing: Thing::new(LayerKind::Device, "", blank),
        }
    }

    pub(super) fn name(&mut self, space: Space, text: &str) {
        let name = Name::new(space, text.to_owned());
        if !name.text.is_empty() && self.names.len() <= MAX_NAMES && !self.names.contains(&name) {
            self.names.push(name);
        }
    }

    pub(super) fn serial(&mut self, text: &str, line: &Line<'_>, notes: &Notes<'_>) {
        self.name(Space::Serial, text);
        self.text(Key::Serial, text, line, notes);
    }

    pub(super) fn text(&mut self, key: Key, text: &str, line: &Line<'_>, notes: &Notes<'_>) {
        self.thing
            .set_text(key, notes.said(line, text.trim().to_owned()));
    }

    pub(super) fn set(&mut self, key: Key, value: Value, line: &Line<'_>, notes: &Notes<'_>) {
        self.thing.set(key, notes.said(line, value));
    }

    pub(super) fn size(&mut self, bytes: Option<Bytes>, line: &Line<'_>, notes: &Notes<'_>) {
        if let Some(bytes) = bytes.filter(|bytes| *bytes > Bytes::ZERO) {
            self.thing.size = Some(notes.said(line, Interval::exact(bytes)));
        }
    }

    /// A grid, unless the number is 0: devices say so when they say nothing.
    pub(super) fn grid(&mut self, role: GridRole, bytes: u64, line: &Line<'_>, notes: &Notes<'_>) {
        if let Some(unit) = Unit::new(bytes) {
            self.thing.grid(role, notes.said(line, unit));
        }
    }

    /// A grid in logical blocks, whose length is said elsewhere or nowhere.
    pub(super) fn in_blocks(&mut self, role: GridRole, count: Fact<u64>, phase: u64) {
        if count.value > 0 {
            self.thing.in_blocks.push(InBlocks { role, count, phase });
        }
    }

    pub(super) fn thing(&mut self) -> &mut Thing {
        &mut self.thing
    }

    /// True when something tells it from others.
    pub(super) fn is_named(&self) -> bool {
        !self.names.is_empty()
    }

    pub(super) fn note(mut self, notes: &mut Notes<'_>) {
        let first = self.names.iter().find(|name| name.space == Space::Device);
        let Some(first) = first.or(self.names.first()) else {
            return;
        };
        self.thing.title = match first.space {
            Space::Device => first.text.to_string(),
            space => format!("disk with {} {}", space.word(), first.text),
        };
        self.thing.names = self.names;
        notes.add(self.thing);
    }
}
