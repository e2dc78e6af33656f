//! `storcli`, `storcli64` of Broadcom and its copies `perccli` (Dell) and `storcli2`, `perccli2`: tables and properties as
//! text, or all of it as JSON (`J`).
//!
//! Sizes are cut, not rounded; `Number of Blocks` counts sectors of the drives.

mod json;
mod text;

use straddle_geometry::{Bytes, SectorSize};
use straddle_stack::{GridRole, Interval, Key, Value};

use super::level::Level;
use super::volume::{Volume, disk, megaraid_size, sector, set_sector};
use crate::captured::number;
use crate::captured::records::{Field, Record};
use crate::captured::text::Line;
use crate::captured::tool::{Anchor, Notes, Reader, Tool};
use crate::inventory::Thing;

pub(crate) static TOOL: Tool = Tool {
    name: "storcli",
    platform: "raid",
    commands: &[
        "storcli /cx/vall show all",
        "storcli /cx show",
        "storcli /cx/vall show all J",
        "storcli /cx/eall/sall show all",
        "perccli /cx/vall show all",
    ],
    readers: &[
        Reader::Text {
            anchors: &[
                Anchor::Start("CLI Version ="),
                Anchor::Loose("Controller ="),
                Anchor::Loose("/c"),
                Anchor::Loose("DG/VD"),
                Anchor::Loose("VD"),
                Anchor::Loose("EID:Slt"),
            ],
            begins: text::begins,
            read: text::read,
        },
        Reader::Json {
            is: |object| object.has("Controllers"),
            read: json::read,
        },
    ],
};

/// Most volumes and disks of one controller: more than any has.
const MAX_VOLUMES: usize = 256;
const MAX_DISKS: usize = 1024;
/// Most members that a volume is joined with by name. They say their sectors alike, or not.
const MAX_NAMED: usize = 128;

/// What one controller's output says, before it is noted.
struct Controller<'t> {
    number: u64,
    volumes: Vec<Seen<'t>>,
    disks: Vec<Disk<'t>>,
}

/// A volume and the drive group that it lies in.
struct Seen<'t> {
    number: u64,
    group: Option<u64>,
    volume: Volume<'t>,
    blocks: Option<(u64, Line<'t>)>,
}

struct Disk<'t> {
    thing: Thing,
    group: Option<u64>,
    /// A spare of the group.
    spare: bool,
    /// Its row in a table.
    row: Option<Line<'t>>,
}

impl<'t> Controller<'t> {
    fn new(number: u64) -> Controller<'t> {
        Controller {
            number,
            volumes: Vec::new(),
            disks: Vec::new(),
        }
    }

    fn volume(&mut self, number: u64) -> Option<&mut Seen<'t>> {
        let known = self.volumes.iter().position(|seen| seen.number == number);
        if known.is_none() && self.volumes.len() >= MAX_VOLUMES {
            return None;
        }
        let index = known.unwrap_or_else(|| {
            let name = format!("c{}/v{number}", self.number);
            self.volumes.push(Seen {
                number,
                group: None,
                volume: Volume::new(name.clone(), name),
                blocks: None,
            });
            self.volumes.len() - 1
        });
        self.volumes.get_mut(index)
    }

    fn disk(&mut self, enclosure: &str, slot: &str) -> Option<&mut Disk<'t>> {
        let slot: u64 = slot.trim().parse().ok()?;
        let name = match enclosure.trim().parse::<u64>() {
            Ok(enclosure) => format!("c{}/e{enclosure}/s{slot}", self.number),
            Err(_) => format!("c{}/s{slot}", self.number),
        };
        let known = self.disks.iter().position(|d| d.thing.title == name);
        if known.is_none() && self.disks.len() >= MAX_DISKS {
            return None;
        }
        let index = known.unwrap_or_else(|| {
            self.disks.push(Disk {
                thing: disk(name),
                group: None,
                spare: false,
                row: None,
            });
            self.disks.len() - 1
        });
        self.disks.get_mut(index)
    }

    /// A row of the table of virtual drives.
    fn vd_row(&mut self, row: &Record<'t>, notes: &Notes<'_>) {
        let Some(place) = row.get("DG/VD") else {
            return;
        };
        let Some((group, number)) = place.value.split_once('/') else {
            return;
        };
        let Ok(number) = number.trim().parse() else {
            return;
        };
        let Some(seen) = self.volume(number) else {
            return;
        };
        seen.group = group.trim().parse().ok().or(seen.group);
        let volume = &mut seen.volume;
        if let Some(kind) = row.filled("TYPE") {
            volume.level = Level::parse(&kind.value).map(|level| (level, kind.line));
        }
        if let Some(state) = row.filled("State") {
            let word = match &*state.value {
                "Optl" => "optimal",
                "Dgrd" => "degraded",
                "Pdgd" => "partially degraded",
                "OfLn" => "offline",
                "Rec" => "recovery",
                other => other,
            };
            volume.text(Key::State, word, &state.line, notes);
        }
        if let Some(cache) = row.filled("Cache").or(row.filled("CurrentCache")) {
            cache_letters(volume, cache, notes);
        }
        if let Some(size) = row.filled("Size")
            && let Some(interval) = megaraid_size(&size.value)
        {
            volume.size(notes.said(&size.line, interval));
        }
        if let Some(name) = row.filled("Name") {
            volume.text(Key::Label, name.value.to_string(), &name.line, notes);
        }
    }

    /// A row of a table of drives.
    fn pd_row(&mut self, row: &Record<'t>, notes: &Notes<'_>) {
        let Some(place) = row.get("EID:Slt") else {
            return;
        };
        let Some((enclosure, slot)) = place.value.split_once(':') else {
            return;
        };
        let group = row
            .get("DG")
            .and_then(|group| group.value.trim().parse().ok());
        let Some(disk) = self.disk(enclosure, slot) else {
            return;
        };
        disk.group = group.or(disk.group);
        disk.spare = row.get("State").is_some_and(|s| s.value == "DHS");
        disk.row = disk.row.or(Some(place.line));
        if let Some(field) = row.filled("SeSz")
            && let Some(unit) = sector(&field.value)
        {
            let fact = notes.said(&field.line, unit);
            set_sector(&mut disk.thing, GridRole::LogicalSector, fact);
        }
    }

    /// One of a drive's detailed properties.
    fn pd_property(&mut self, place: (&str, &str), field: &Field<'t>, notes: &Notes<'_>) {
        let role = match field.key.trim() {
            "Logical Sector Size" => GridRole::LogicalSector,
            "Physical Sector Size" => GridRole::PhysicalSector,
            _ => return,
        };
        let (enclosure, slot) = place;
        if let Some(disk) = self.disk(enclosure, slot)
            && let Some(unit) = sector(&field.value)
        {
            set_sector(&mut disk.thing, role, notes.said(&field.line, unit));
        }
    }

    /// One of a virtual drive's properties.
    fn vd_property(&mut self, number: u64, field: &Field<'t>, notes: &Notes<'_>) {
        let Some(seen) = self.volume(number) else {
            return;
        };
        let volume = &mut seen.volume;
        let (value, line) = (&*field.value, &field.line);
        let count = || {
            number::leading(value)
                .filter(|n| *n > 0)
                .map(|n| (n, *line))
        };
        match field.key.trim() {
            "Strip Size" => volume.strip = volume.stripe(value, line, notes),
            "Number of Blocks" => seen.blocks = count(),
            "Block Size" => {
                if let Some(unit) = sector(value) {
                    let fact = notes.said(line, unit);
                    set_sector(&mut volume.thing, GridRole::LogicalSector, fact);
                }
            }
            "VD has Emulated PD" => volume.set_emulated(value, line),
            "Span Depth" => volume.spans = count(),
            "Number of Drives Per Span" => volume.per_span = count(),
            "OS Drive Name" => volume.system_name(value),
            "SCSI NAA Id" => volume.wwn(value),
            // The table above the properties has what is in force now; this is what was asked for.
            "Write Cache(initial setting)" => {
                let has = |key| volume.thing.attributes.iter().any(|a| a.key == key);
                let word = match value {
                    "WriteBack" => "write-back",
                    "WriteThrough" => "write-through",
                    _ => return,
                };
                if !has(Key::WriteCache) {
                    volume.text(Key::WriteCache, word, line, notes);
                }
            }
            _ => {}
        }
    }

    fn finish(self, notes: &mut Notes<'_>) {
        for mut seen in self.volumes {
            let members: Vec<&Disk<'t>> = self
                .disks
                .iter()
                .filter(|disk| seen.group.is_some() && disk.group == seen.group && !disk.spare)
                .collect();
            if seen.volume.thing.on.is_empty() {
                let names = members.iter().flat_map(|disk| &disk.thing.names);
                seen.volume.thing.on.extend(names.take(MAX_NAMED).cloned());
            }
            let logical = |thing: &Thing| {
                let mut grids = thing.grids.iter();
                let grid = grids.find(|grid| grid.role == GridRole::LogicalSector)?;
                Some(grid.grid.value.unit())
            };
            let of_members = members.iter().find_map(|disk| logical(&disk.thing));
            seen.volume.member_sector = of_members;
            if let Some((blocks, line)) = seen.blocks {
                let sector = logical(&seen.volume.thing).or(of_members);
                let sector = sector.and_then(|unit| u32::try_from(unit.get()).ok());
                let exact = sized(&seen.volume, blocks, sector);
                let shown = seen.volume.thing.size.clone();
                let fits = |bytes: Bytes| shown.as_ref().is_none_or(|s| s.value.contains(bytes));
                match exact {
                    Some(bytes) if fits(bytes) => {
                        seen.volume.size(notes.said(&line, Interval::exact(bytes)));
                    }
                    _ => seen.volume.blocks_contradict(blocks, &line, notes),
                }
            }
            if let Some(row) = members.iter().find_map(|disk| disk.row) {
                let count = u64::try_from(members.len()).unwrap_or(u64::MAX);
                seen.volume.listed = Some((count, row));
            }
            seen.volume.finish(notes);
        }
        for disk in self.disks {
            // A spare or a disk that is not set up has a row without a group.
            if disk.group.is_some() && !disk.spare || disk.row.is_none() {
                notes.add(disk.thing);
            }
        }
    }
}

/// `blocks` in bytes: of the members' sectors where they are said, or else of those with which they fit the shown size.
fn sized(volume: &Volume<'_>, blocks: u64, sector: Option<u32>) -> Option<Bytes> {
    let bytes = |sector| SectorSize::new(sector)?.sectors(blocks).bytes();
    if let Some(sector) = sector {
        return bytes(sector);
    }
    let shown = volume.thing.size.as_ref()?;
    let fits = |bytes: &Bytes| shown.value.contains(*bytes);
    [512, 4096].into_iter().filter_map(bytes).find(fits)
}

/// `RWBD`, `NRWTD`, `RAWBC`, `NR,WB`: read-ahead, what is done with writes, direct or cached reads.
fn cache_letters(volume: &mut Volume<'_>, cache: &Field<'_>, notes: &Notes<'_>) {
    let letters = cache.value.trim();
    let (ahead, rest) = match letters.strip_prefix("NR") {
        Some(rest) => ("none", rest),
        None => match letters.strip_prefix('R') {
            Some(rest) => ("always", rest),
            None => return,
        },
    };
    let rest = rest.trim_start_matches(',');
    let write = if rest.starts_with("AWB") || rest.starts_with("FWB") {
        "write-back, also without a good battery"
    } else if rest.starts_with("WB") {
        "write-back"
    } else if rest.starts_with("WT") {
        "write-through"
    } else {
        return;
    };
    let said = |text: &str| notes.said(&cache.line, Value::Text(text.to_owned().into()));
    volume.thing.set(Key::ReadAhead, said(ahead));
    volume.thing.set(Key::WriteCache, said(write));
}

/// Drive groups that this names: `PDs for VD 3` stands above the members of one volume.
fn vd_of_heading(heading: &str) -> Option<u64> {
    let rest = heading.trim().strip_prefix("PDs for VD ")?;
    number::leading(rest)
}

/// `VD0 Properties`.
fn vd_of_properties(heading: &str) -> Option<u64> {
    let rest = heading.trim().strip_prefix("VD")?.trim_start();
    let (number, rest) = rest.split_once(' ')?;
    rest.starts_with("Properties")
        .then(|| number.parse().ok())?
}

/// Enclosure and slot of `Drive /c0/e252/s0 Device attributes`, `Drive /c0/s0`.
fn place_of_drive(heading: &str) -> Option<(&str, &str)> {
    let path = heading.trim().strip_prefix("Drive /c")?;
    let path = path.split([' ', ':']).next()?;
    let mut parts = path.split('/').skip(1);
    let first = parts.next()?;
    match first.strip_prefix('e') {
        Some(enclosure) => Some((enclosure, parts.next()?.strip_prefix('s')?)),
        None => Some(("", first.strip_prefix('s')?)),
    }
}

/// `0` of `/c0/v0`, `/c0`.
fn controller_of_path(path: &str) -> Option<u64> {
    number::leading(path.trim().strip_prefix("/c")?)
}

/// Adds what a drive is a member of, when only the heading says it.
fn member_of(controller: &mut Controller<'_>, vd: Option<u64>, row: &Record<'_>) {
    let (Some(vd), Some(place)) = (vd, row.get("EID:Slt")) else {
        return;
    };
    let Some((enclosure, slot)) = place.value.split_once(':') else {
        return;
    };
    let Some(name) = controller
        .disk(enclosure, slot)
        .and_then(|disk| disk.thing.names.first().cloned())
    else {
        return;
    };
    if let Some(seen) = controller.volume(vd)
        && seen.volume.thing.on.len() < MAX_NAMED
        && !seen.volume.thing.on.contains(&name)
    {
        seen.volume.thing.on.push(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_name_what_they_stand_above() {
        assert_eq!(vd_of_properties("VD0 Properties :"), Some(0));
        assert_eq!(vd_of_properties("VD12 Properties"), Some(12));
        assert_eq!(vd_of_properties("VD LIST :"), None);
        assert_eq!(vd_of_heading("PDs for VD 3 :"), Some(3));
        let place = place_of_drive("Drive /c0/e252/s7 Device attributes :");
        assert_eq!(place, Some(("252", "7")));
        assert_eq!(place_of_drive("Drive /c0/s7 :"), Some(("", "7")));
        assert_eq!(controller_of_path("/c1/v0 :"), Some(1));
        assert_eq!(controller_of_path("/cx"), None);
    }
}
