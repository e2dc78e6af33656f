//! `arcconf` of Adaptec, Microsemi and Microchip: `getconfig N`, `getconfig N LD`. Sizes are MiB that are cut, not rounded.

use straddle_stack::{GridRole, Key};

use super::level::Level;
use super::volume::{Volume, disk, field, sector, set_sector};
use crate::captured::number::{self, Prefix, Rounding};
use crate::captured::text::Line;
use crate::captured::tool::{Anchor, Command, Notes, Reader, Section, Tool};
use crate::inventory::{Name, Space, Thing};

pub(crate) static TOOL: Tool = Tool {
    name: "arcconf",
    platform: "raid",
    commands: &["arcconf getconfig N", "arcconf getconfig N LD"],
    readers: &[Reader::Text {
        anchors: &[
            Anchor::Start("Controllers found:"),
            Anchor::Start("Controllers Found:"),
            Anchor::Loose("Logical device number"),
            Anchor::Loose("Logical Device number"),
            Anchor::Loose("Logical Device Number"),
        ],
        begins: |lines| {
            let text = lines[0].text.trim();
            text.starts_with("Controllers") || volume_number(text).is_some()
        },
        read,
    }],
};

/// `Logical device number 0`
fn volume_number(text: &str) -> Option<u64> {
    let lower = text.trim().to_ascii_lowercase();
    lower
        .strip_prefix("logical device number")?
        .trim_start_matches([':', ' '])
        .parse()
        .ok()
}

/// The controller is named by the command only: `arcconf getconfig 1`.
fn controller(command: &Command<'_>) -> Option<u64> {
    let mut words = command.words.iter();
    words.find(|word| word.eq_ignore_ascii_case("getconfig"))?;
    words.next()?.parse().ok()
}

struct Config<'t> {
    controller: u64,
    volume: Option<Volume<'t>>,
    groups: u64,
    drive: Option<Drive>,
}

struct Drive {
    thing: Thing,
    serial: Option<String>,
    used: bool,
}

fn read(section: &Section<'_>, notes: &mut Notes<'_>) {
    let mut config = Config {
        controller: section
            .context
            .command
            .as_ref()
            .and_then(controller)
            .unwrap_or(1),
        volume: None,
        groups: 0,
        drive: None,
    };
    for line in section.lines {
        config.line(line, notes);
    }
    config.close(notes);
}

impl<'t> Config<'t> {
    fn close(&mut self, notes: &mut Notes<'_>) {
        if let Some(mut volume) = self.volume.take() {
            if let Some((_, line)) = volume.drives
                && self.groups > 1
            {
                volume.spans = Some((self.groups, line));
            }
            volume.finish(notes);
        }
        self.groups = 0;
        if let Some(drive) = self.drive.take()
            && let (true, Some(serial)) = (drive.used, drive.serial)
        {
            let name = self.disk_name(&serial);
            let mut thing = drive.thing;
            thing.title = name.text.to_string();
            thing.names = vec![name];
            notes.add(thing);
        }
    }

    fn disk_name(&self, serial: &str) -> Name {
        Name::new(Space::RaidDisk, format!("c{}/{serial}", self.controller))
    }

    fn line(&mut self, line: &Line<'t>, notes: &mut Notes<'_>) {
        let text = line.text.trim();
        if let Some(number) = volume_number(text) {
            self.close(notes);
            let name = format!("c{}/ld{number}", self.controller);
            let title = format!("controller {} logical device {number}", self.controller);
            self.volume = Some(Volume::new(name, title));
            return;
        }
        let lower = text.to_ascii_lowercase();
        if lower == "physical device information" {
            self.close(notes);
            return;
        }
        if text.starts_with("Device #") {
            self.close(notes);
            self.drive = Some(Drive {
                thing: disk(""),
                serial: None,
                used: false,
            });
            return;
        }
        let Some((key, value)) = field(line) else {
            return;
        };
        let key = key.to_ascii_lowercase();
        if self.drive.is_some() {
            self.drive_line(&key, value, line, notes);
        } else if key.contains("segment ") || key.starts_with("device ") && is_place(value) {
            self.segment(&key, value, line);
        } else {
            self.volume_line(&key, value, line, notes);
        }
    }

    /// `Group 0, Segment 1 : Present (…) SERIAL`, `Segment 3 : Missing`, `Device 0 : Present (…) SERIAL`.
    fn segment(&mut self, key: &str, value: &str, line: &Line<'t>) {
        let group = key.strip_prefix("group ").and_then(number::leading);
        let serial = value.rsplit_once(')').map_or("", |(_, rest)| rest.trim());
        let name = self.disk_name(serial);
        let Some(volume) = &mut self.volume else {
            return;
        };
        let (count, first) = volume.drives.unwrap_or((0, *line));
        volume.drives = Some((count + 1, first));
        if !serial.is_empty() && volume.thing.on.len() < 512 {
            volume.thing.on.push(name);
        }
        if let Some(group) = group {
            self.groups = self.groups.max(group.saturating_add(1).min(count + 1));
        }
    }

    fn volume_line(&mut self, key: &str, value: &str, line: &Line<'t>, notes: &Notes<'_>) {
        let Some(volume) = &mut self.volume else {
            return;
        };
        match key {
            "logical device name" => volume.text(Key::Label, value, line, notes),
            "block size of member drives" => {
                if let Some(unit) = sector(value) {
                    let fact = notes.said(line, unit);
                    set_sector(&mut volume.thing, GridRole::LogicalSector, fact);
                }
            }
            "raid level" => volume.level = Level::parse(value).map(|level| (level, *line)),
            "status of logical device" => {
                let word = value.split([',', '(']).next().unwrap_or_default();
                volume.text(Key::State, word.trim().to_ascii_lowercase(), line, notes);
            }
            "size" => {
                if let Some(size) = number::shown(value, Prefix::Binary, Rounding::Down) {
                    volume.size(notes.said(line, size));
                }
            }
            "stripe-unit size" => volume.strip = volume.stripe(value, line, notes),
            "full stripe size" => volume.full = volume.stripe(value, line, notes),
            "unique identifier" | "volume unique identifier" => volume.wwn(value),
            "disk name" | "os device" => volume.system_name(value),
            // The setting is what was asked for; the status, on a later line, what is in force.
            "write-cache setting" | "write-cache status" | "write-cache mode" => {
                if let Some(on) = switch(value) {
                    let word = if on { "write-back" } else { "write-through" };
                    replace(volume, Key::WriteCache, word, line, notes);
                }
            }
            "read-cache setting" | "read-cache status" | "read-cache mode" => {
                if let Some(on) = switch(value) {
                    let word = if on { "on" } else { "none" };
                    replace(volume, Key::ReadAhead, word, line, notes);
                }
            }
            _ => {}
        }
    }

    fn drive_line(&mut self, key: &str, value: &str, line: &Line<'t>, notes: &Notes<'_>) {
        let Some(drive) = &mut self.drive else { return };
        let role = match key {
            "block size" => GridRole::LogicalSector,
            "physical block size" => GridRole::PhysicalSector,
            "serial number" => {
                drive.serial = (!value.is_empty()).then(|| value.to_owned());
                return;
            }
            "state" => {
                let state = value.to_ascii_lowercase();
                let idle = state.contains("spare") || state.contains("ready");
                drive.used = !idle && !state.contains("raw");
                return;
            }
            _ => return,
        };
        if let Some(unit) = sector(value) {
            set_sector(&mut drive.thing, role, notes.said(line, unit));
        }
    }
}

/// `Present (572325MB, SAS, HDD, Connector:CN2, Backplane:0, Slot:1) 63M0A0BYFJPF`, `Missing`.
fn is_place(value: &str) -> bool {
    ["Present", "Missing", "Inconsistent", "Rebuilding"]
        .iter()
        .any(|word| value.starts_with(word))
}

/// `Enabled`, `Enabled (write-back)`, `On`, `Disabled (write-through)`, `Off`.
fn switch(value: &str) -> Option<bool> {
    if value.starts_with("Enabled") || value.starts_with("On") {
        Some(true)
    } else if value.starts_with("Disabled") || value.starts_with("Off") {
        Some(false)
    } else {
        None
    }
}

fn replace<'t>(
    volume: &mut Volume<'t>,
    key: Key,
    word: &'static str,
    line: &Line<'t>,
    notes: &Notes<'_>,
) {
    volume.thing.attributes.retain(|a| a.key != key);
    volume.text(key, word, line, notes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_a_volume_has_many_spellings() {
        for text in [
            "Logical device number 3",
            "Logical Device Number 3",
            "Logical Device number: 3",
        ] {
            assert_eq!(volume_number(text), Some(3), "{text}");
        }
        assert_eq!(volume_number("Logical device name : 3"), None);
        assert_eq!(volume_number("Logical device number x"), None);
    }

    #[test]
    fn switches_as_versions_print_them() {
        assert_eq!(switch("Enabled (write-back)"), Some(true));
        assert_eq!(switch("Off"), Some(false));
        assert_eq!(switch("Not Applicable"), None);
    }
}
