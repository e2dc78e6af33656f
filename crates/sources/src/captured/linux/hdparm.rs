//! `hdparm -I`: what an ATA disk says of itself.

use straddle_geometry::{Bytes, Grid, Unit};
use straddle_stack::{AnomalyKind, GridFact, GridRole, Key, Value};

use super::about;
use super::disk::Disk;
use crate::captured::number;
use crate::captured::text::Line;
use crate::captured::tool::{Anchor, Notes, Reader, Section, Tool};
use crate::inventory::{Name, Space};

pub(crate) static TOOL: Tool = Tool {
    name: "hdparm",
    platform: "linux",
    commands: &["hdparm -I DEVICE"],
    readers: &[Reader::Text {
        anchors: &[
            Anchor::Start("/dev/"),
            // Without its first line.
            Anchor::Loose("ATA device"),
            Anchor::Loose("CompactFlash ATA"),
            // What `grep` leaves of it.
            Anchor::Loose("Logical "),
            Anchor::Loose("Logical/Physical Sector"),
            Anchor::Loose("Physical Sector"),
        ],
        begins: |lines| {
            let is_named = lines[0].text.trim_end().ends_with(':');
            let head = |line: &Line<'_>| is_ata(line) || sector_line(line);
            head(&lines[0]) || is_named && lines.iter().take(4).any(head)
        },
        read,
    }],
};

const PROGRAMS: [&str; 1] = ["hdparm"];

/// `ATA device, with non-removable media`.
fn is_ata(line: &Line<'_>) -> bool {
    let text = line.text.trim_start();
    text.starts_with("ATA device") || text.starts_with("CompactFlash ATA")
}

/// `Physical Sector size:   4096 bytes`.
fn sector_line(line: &Line<'_>) -> bool {
    let Some((key, value)) = line.text.split_once(':') else {
        return false;
    };
    let key: Vec<&str> = key.split_whitespace().collect();
    let known = [
        &["Logical", "Sector", "size"][..],
        &["Physical", "Sector", "size"],
        &["Logical/Physical", "Sector", "size"],
        &["Logical", "Sector-0", "offset"],
    ];
    known.contains(&key.as_slice()) && value.trim_end().ends_with("bytes")
}

fn read(section: &Section<'_>, notes: &mut Notes<'_>) {
    let Some(first) = section.lines.first() else {
        return;
    };
    let device = match is_ata(first) || sector_line(first) {
        true => about::of_section(section, &PROGRAMS),
        false => {
            let path = first.text.trim().trim_end_matches(':');
            Some(Name::new(Space::Device, path.to_owned()))
        }
    };
    let mut disk = Disk::new(device);
    let (mut logical, mut physical, mut offset, mut sectors) = (None, None, 0, None);
    for line in section.lines {
        let Some((key, value)) = line.text.split_once(':') else {
            continue;
        };
        let key: Vec<&str> = key.split_whitespace().collect();
        let (key, value) = (key.join(" "), value.trim());
        let number = number::leading(value);
        match key.as_str() {
            "Model Number" => disk.text(Key::Model, value, line, notes),
            "Serial Number" => disk.serial(value, line, notes),
            "Logical Unit WWN Device Identifier" => disk.name(Space::Wwn, value),
            "Logical Sector size" => logical = number.map(|n| (n, *line)),
            "Physical Sector size" => physical = number.map(|n| (n, *line)),
            // Disks with one size for both.
            "Logical/Physical Sector size" => {
                logical = number.map(|n| (n, *line));
                physical = logical;
            }
            "Logical Sector-0 offset" => offset = number.unwrap_or(0),
            "LBA48 user addressable sectors" => sectors = number.map(|n| (n, *line)),
            "LBA user addressable sectors" => sectors = sectors.or(number.map(|n| (n, *line))),
            "Nominal Media Rotation Rate" => {
                let solid = value == "Solid State Device";
                if solid || number.is_some() {
                    disk.set(Key::Rotational, Value::Flag(!solid), line, notes);
                }
            }
            _ => {}
        }
    }
    if let Some((bytes, line)) = logical {
        disk.grid(GridRole::LogicalSector, bytes, &line, notes);
        if let Some((count, line)) = sectors {
            disk.size(Bytes::new(bytes).checked_mul(count), &line, notes);
        }
    }
    if let Some((bytes, line)) = physical
        && let Some(unit) = Unit::new(bytes)
    {
        // Sector 0 lies this far inside the first physical one, so the next begins at what is left of it.
        let phase = match offset % unit.get() {
            0 => 0,
            inside => unit.get() - inside,
        };
        disk.thing().grids.push(GridFact {
            role: GridRole::PhysicalSector,
            grid: notes.said(&line, Grid::with_phase(unit, Bytes::new(phase))),
        });
    }
    if !disk.is_named() {
        let detail = "what these lines say of a disk was not read: nothing says which one it is";
        notes.remark(AnomalyKind::Missing, detail, first);
    }
    disk.note(notes);
}
