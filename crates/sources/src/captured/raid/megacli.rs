//! `MegaCli` of LSI, also under the names `CmdTool2` and `megasasctl`'s successors: `-LDInfo`, `-LdPdInfo`, `-PDList`,
//! `-CfgDsply`. Old versions say `Virtual Disk`, `Stripe Size` and sizes in whole MB.
//!
//! `Number Of Drives` counts the drives of one span.

use straddle_stack::{AnomalyKind, GridRole, Key};

use super::level::Level;
use super::volume::{Volume, disk, field, megaraid_size, sector, set_sector};
use crate::captured::number;
use crate::captured::text::Line;
use crate::captured::tool::{Anchor, Notes, Reader, Section, Tool};
use crate::inventory::{Name, Space, Thing};

pub(crate) static TOOL: Tool = Tool {
    name: "megacli",
    platform: "raid",
    commands: &[
        "MegaCli -LDInfo -Lall -aALL",
        "MegaCli -LdPdInfo -aALL",
        "MegaCli -PDList -aALL",
        "MegaCli -CfgDsply -aALL",
    ],
    readers: &[Reader::Text {
        anchors: &[
            Anchor::Start("Adapter"),
            Anchor::Loose("Virtual D"),
            Anchor::Loose("Enclosure Device ID"),
        ],
        begins: |lines| adapter(&lines[0]).is_some() || is_excerpt(lines),
        read,
    }],
};

/// `Adapter 0 -- Virtual Drive Information:`, `Adapter #0`, `Adapter: 0`.
fn adapter(line: &Line<'_>) -> Option<u64> {
    let rest = line.text.trim().strip_prefix("Adapter")?;
    let rest = rest.trim_start_matches([':', '#', ' ']);
    let end = rest.find(|c: char| !c.is_ascii_digit());
    let (number, rest) = rest.split_at(end.unwrap_or(rest.len()));
    let rest = rest.trim();
    let known = rest.is_empty() || rest.starts_with("--") || rest.starts_with(':');
    known.then(|| number.parse().ok())?
}

/// A volume or disk without the heading that says on which adapter it is.
fn is_excerpt(lines: &[Line<'_>]) -> bool {
    let mut fields = lines.iter().take(12).filter_map(field);
    match volume_number(&lines[0]) {
        Some(_) => fields.any(|(key, _)| key.eq_ignore_ascii_case("RAID Level")),
        None => fields.any(|(key, _)| key == "Slot Number"),
    }
}

/// `Virtual Drive: 0 (Target Id: 0)`, also with `Disk` and in front of it `CacheCade`.
fn volume_number(line: &Line<'_>) -> Option<u64> {
    let (key, value) = field(line)?;
    matches!(key, "Virtual Drive" | "Virtual Disk").then(|| number::leading(value))?
}

fn read(section: &Section<'_>, notes: &mut Notes<'_>) {
    let mut reader = Ld {
        adapter: section.context.command.as_ref().and_then(|command| {
            let word = command.word("-a").or(command.word("-A"))?;
            word[2..].parse().ok()
        }),
        volume: None,
        disk: None,
        ignored: false,
        members: 0,
        span: None,
        ended: false,
    };
    for line in section.lines {
        reader.line(line, notes);
    }
    reader.close(notes);
    // The exit code is the last line of every output.
    let last = section.lines.iter().rev().find(|line| !line.is_blank());
    if let (Some((listed, said)), false, Some(last)) = (reader.span, reader.ended, last)
        && listed < said
    {
        let detail = format!("ends after {listed} of the {said} disks of a span");
        notes.remark(AnomalyKind::Truncated, detail, last);
    }
}

/// What is being read.
struct Ld<'t> {
    adapter: Option<u64>,
    volume: Option<Volume<'t>>,
    disk: Option<Disk>,
    /// A CacheCade volume: an SSD cache that no system sees.
    ignored: bool,
    /// Members listed under the volume.
    members: u64,
    /// Members of the span that is being read, how many there are to be, and whether the output came to its end.
    span: Option<(u64, u64)>,
    ended: bool,
}

struct Disk {
    enclosure: Option<String>,
    slot: Option<String>,
    thing: Thing,
    /// Part of a volume, as far as its state says.
    used: bool,
}

impl<'t> Ld<'t> {
    fn adapter(&self) -> u64 {
        self.adapter.unwrap_or(0)
    }

    fn close_disk(&mut self, notes: &mut Notes<'_>) {
        let Some(disk) = self.disk.take() else { return };
        let Some(slot) = disk.slot else { return };
        let name = match disk.enclosure {
            Some(enclosure) => format!("c{}/e{enclosure}/s{slot}", self.adapter()),
            None => format!("c{}/s{slot}", self.adapter()),
        };
        let name = Name::new(Space::RaidDisk, name);
        let mut thing = disk.thing;
        if let Some(volume) = &mut self.volume {
            volume.thing.on.push(name.clone());
        } else if !disk.used {
            return;
        }
        thing.title = name.text.to_string();
        thing.names = vec![name];
        notes.add(thing);
    }

    fn close(&mut self, notes: &mut Notes<'_>) {
        self.close_disk(notes);
        if let Some(volume) = self.volume.take() {
            volume.finish(notes);
        }
        self.members = 0;
    }

    fn line(&mut self, line: &Line<'t>, notes: &mut Notes<'_>) {
        if let Some(number) = adapter(line) {
            self.close(notes);
            self.adapter = Some(number);
            return;
        }
        let Some((key, value)) = field(line) else {
            return;
        };
        if let Some(number) = volume_number(line) {
            self.close(notes);
            self.ignored = false;
            let name = format!("c{}/v{number}", self.adapter());
            self.volume = Some(Volume::new(name.clone(), name));
            return;
        }
        match key {
            "Exit Code" => self.ended = true,
            // `Span: 0 - Number of PDs: 2`
            "Span" => {
                let said = value.rsplit_once(':');
                self.span = said.and_then(|(_, said)| Some((0, number::leading(said)?)));
            }
            "CacheCade Virtual Drive" => {
                self.close(notes);
                self.ignored = true;
            }
            "PD" | "Enclosure Device ID" | "Physical Disk" => {
                // `PD: 0 Information` stands above `Enclosure Device ID`.
                let begun = self
                    .disk
                    .as_ref()
                    .is_some_and(|disk| disk.enclosure.is_none());
                if !(begun && key == "Enclosure Device ID") {
                    self.close_disk(notes);
                    self.disk = Some(Disk {
                        enclosure: None,
                        slot: None,
                        thing: disk(""),
                        used: false,
                    });
                    self.count_member(line);
                }
                if let Some(disk) = &mut self.disk
                    && key == "Enclosure Device ID"
                {
                    disk.enclosure = value.parse::<u64>().ok().map(|n| n.to_string());
                }
            }
            _ if self.disk.is_some() => self.disk_line(key, value, line, notes),
            _ if !self.ignored => self.volume_line(key, value, line, notes),
            _ => {}
        }
    }

    fn count_member(&mut self, line: &Line<'t>) {
        self.members += 1;
        if let Some((listed, _)) = &mut self.span {
            *listed += 1;
        }
        let members = self.members;
        if let Some(volume) = &mut self.volume {
            let at = volume.listed.map_or(*line, |(_, at)| at);
            volume.listed = Some((members, at));
        }
    }

    fn disk_line(&mut self, key: &str, value: &str, line: &Line<'t>, notes: &Notes<'_>) {
        let Some(disk) = &mut self.disk else { return };
        match key {
            "Slot Number" => disk.slot = value.parse::<u64>().ok().map(|n| n.to_string()),
            "Firmware state" => {
                let state = value.to_ascii_lowercase();
                disk.used = ["online", "rebuild", "failed", "offline"]
                    .iter()
                    .any(|word| state.starts_with(word));
            }
            // Old versions know one sector size, that by which a disk is addressed.
            "Sector Size" | "Logical Sector Size" => {
                if let Some(unit) = sector(value) {
                    set_sector(
                        &mut disk.thing,
                        GridRole::LogicalSector,
                        notes.said(line, unit),
                    );
                }
            }
            "Physical Sector Size" => {
                if let Some(unit) = sector(value) {
                    set_sector(
                        &mut disk.thing,
                        GridRole::PhysicalSector,
                        notes.said(line, unit),
                    );
                }
            }
            _ => {}
        }
    }

    fn volume_line(&mut self, key: &str, value: &str, line: &Line<'t>, notes: &Notes<'_>) {
        let Some(volume) = &mut self.volume else {
            return;
        };
        let count = || {
            number::leading(value)
                .filter(|n| *n > 0)
                .map(|n| (n, *line))
        };
        match key.to_ascii_lowercase().as_str() {
            "name" => volume.text(Key::Label, value, line, notes),
            "raid level" => {
                let level = Level::parse_primary(value).or_else(|| Level::parse(value));
                volume.level = level.map(|level| (level, *line));
            }
            "size" => {
                if let Some(size) = megaraid_size(value) {
                    volume.size(notes.said(line, size));
                }
            }
            "sector size" => {
                if let Some(unit) = sector(value) {
                    let fact = notes.said(line, unit);
                    set_sector(&mut volume.thing, GridRole::LogicalSector, fact);
                }
            }
            "is vd emulated" => volume.set_emulated(value, line),
            "state" => volume.text(Key::State, value.to_ascii_lowercase(), line, notes),
            "strip size" | "stripe size" => volume.strip = volume.stripe(value, line, notes),
            "number of drives" | "number of drives per span" => volume.per_span = count(),
            "span depth" => volume.spans = count(),
            "current cache policy" => {
                let mut words = value.split(',').map(str::trim);
                let write = match words.next() {
                    Some("WriteBack") => "write-back",
                    Some("WriteThrough") => "write-through",
                    _ => return,
                };
                let bad = words
                    .clone()
                    .any(|word| word == "Write Cache OK if Bad BBU");
                let write = match (write, bad) {
                    ("write-back", true) => "write-back, also without a good battery",
                    _ => write,
                };
                volume.text(Key::WriteCache, write, line, notes);
                let ahead = match words.next() {
                    Some("ReadAheadNone") => "none",
                    Some("ReadAhead") => "always",
                    Some("ReadAdaptive") => "adaptive",
                    _ => return,
                };
                volume.text(Key::ReadAhead, ahead, line, notes);
            }
            _ => {}
        }
    }
}
