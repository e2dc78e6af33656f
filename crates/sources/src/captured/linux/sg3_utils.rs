//! `sg_vpd -p bl`, `sg_vpd -p bdc` and `sg_readcap -l` of sg3_utils.
//!
//! Source: SBC-4, pages B0h and B1h, READ CAPACITY (16). Limits count logical blocks, and the page does not say how long
//! one is: what says so is joined to it, or nothing is made of them.

use straddle_geometry::{Bytes, Grid, Unit};
use straddle_stack::{GridFact, GridRole, Key, Value};

use super::about;
use super::disk::Disk;
use crate::captured::number;
use crate::captured::text::Line;
use crate::captured::tool::{Anchor, Notes, Reader, Section, Tool};

pub(crate) static TOOL: Tool = Tool {
    name: "sg3-utils",
    platform: "linux",
    commands: &[
        "sg_vpd -p bl DEVICE",
        "sg_vpd -p bdc DEVICE",
        "sg_readcap -l DEVICE",
        "sg_inq DEVICE",
    ],
    readers: &[
        Reader::Text {
            anchors: &[
                Anchor::Start("Block limits VPD page"),
                Anchor::Start("VPD INQUIRY: Block limits page"),
            ],
            begins: |_| true,
            read: limits,
        },
        Reader::Text {
            anchors: &[
                Anchor::Start("Block device characteristics VPD page"),
                Anchor::Start("VPD INQUIRY: Block device characteristics"),
            ],
            begins: |_| true,
            read: characteristics,
        },
        Reader::Text {
            anchors: &[Anchor::Start("standard INQUIRY:")],
            begins: |_| true,
            read: inquiry,
        },
        Reader::Text {
            anchors: &[Anchor::Start("Read Capacity results:")],
            begins: |_| true,
            read: capacity,
        },
    ],
};

const PROGRAMS: [&str; 3] = ["sg_vpd", "sg_inq", "sg_readcap"];

fn pair<'t>(line: &Line<'t>) -> Option<(&'t str, &'t str)> {
    let (key, value) = line.text.split_once(':')?;
    Some((key.trim(), value.trim()))
}

/// What a disk says of itself: that it is one, and not what lies on it.
fn inquiry(section: &Section<'_>, notes: &mut Notes<'_>) {
    let device = about::or_stranger(&section.context, &PROGRAMS, notes);
    let mut disk = Disk::new(Some(device));
    let is_disk = |line: &Line<'_>| line.text.contains("device type: disk");
    if !section.lines.iter().any(is_disk) {
        return;
    }
    let mut vendor = "";
    for line in section.lines {
        match pair(line) {
            Some(("Vendor identification", text)) => vendor = text,
            Some(("Product identification", text)) => {
                let model = format!("{vendor} {text}");
                disk.text(Key::Model, &model, line, notes);
            }
            Some(("Unit serial number", text)) => disk.serial(text, line, notes),
            _ => {}
        }
    }
    disk.note(notes);
}

fn limits(section: &Section<'_>, notes: &mut Notes<'_>) {
    let device = about::or_stranger(&section.context, &PROGRAMS, notes);
    let mut disk = Disk::new(Some(device));
    let value = |key: &str| {
        section.lines.iter().find_map(|line| {
            let (name, value) = pair(line)?;
            (name == key).then_some((value, *line))
        })
    };
    let number = |key: &str| {
        let (text, line) = value(key)?;
        Some((number::leading(text)?, line))
    };
    let valid = value("Unmap granularity alignment valid")
        .is_some_and(|(text, _)| text == "true" || text == "1");
    let alignment = number("Unmap granularity alignment").filter(|_| valid);
    for (keys, role) in [
        (
            [
                "Optimal transfer length granularity",
                "Optimal transfer length granularity (blocks)",
            ],
            GridRole::MinimumIo,
        ),
        (
            [
                "Optimal transfer length",
                "Optimal transfer length (blocks)",
            ],
            GridRole::OptimalIo,
        ),
        (
            [
                "Optimal unmap granularity",
                "Optimal unmap granularity (blocks)",
            ],
            GridRole::DiscardGranularity,
        ),
        (
            [
                "Maximum atomic transfer length",
                "Maximum atomic transfer length (blocks)",
            ],
            GridRole::AtomicWrite,
        ),
    ] {
        let Some((count, line)) = keys.into_iter().find_map(number) else {
            continue;
        };
        let (count, phase) = match role {
            GridRole::DiscardGranularity => (count, alignment.map_or(0, |(n, _)| n)),
            // Programs write powers of two; the largest sets the grid.
            GridRole::AtomicWrite => (count.checked_ilog2().map_or(0, |log| 1 << log), 0),
            _ => (count, 0),
        };
        disk.in_blocks(role, notes.said(&line, count), phase);
    }
    disk.note(notes);
}

fn characteristics(section: &Section<'_>, notes: &mut Notes<'_>) {
    let device = about::or_stranger(&section.context, &PROGRAMS, notes);
    let mut disk = Disk::new(Some(device));
    for line in section.lines {
        let text = line.text.trim();
        if text.starts_with("Non-rotating medium") {
            disk.set(Key::Rotational, Value::Flag(false), line, notes);
        } else if let Some(rate) = text.strip_prefix("Nominal rotation rate:")
            && number::leading(rate).is_some()
        {
            disk.set(Key::Rotational, Value::Flag(true), line, notes);
        } else if let Some(model) = text.strip_prefix("ZONED=") {
            let model = match number::leading(model) {
                Some(1) => "host-aware",
                Some(2) => "host-managed",
                _ => continue,
            };
            disk.text(Key::Zoned, model, line, notes);
        }
    }
    disk.note(notes);
}

/// `Logical block length=512 bytes`, `Logical blocks per physical block exponent=3 [so physical block length=4096 bytes]`,
/// `Lowest aligned LBA=7`.
fn capacity(section: &Section<'_>, notes: &mut Notes<'_>) {
    let device = about::or_stranger(&section.context, &PROGRAMS, notes);
    let mut disk = Disk::new(Some(device));
    let value = |key: &str| {
        section.lines.iter().find_map(|line| {
            let (_, rest) = line.text.split_once(key)?;
            Some((number::leading(rest)?, *line))
        })
    };
    let logical = value("Logical block length=").or(value("Block length="));
    let lowest = value("Lowest aligned LBA=").or(value("Lowest aligned logical block address="));
    if let Some((bytes, line)) = logical {
        disk.grid(GridRole::LogicalSector, bytes, &line, notes);
        let exponent = value("per physical block exponent=");
        let physical = exponent.and_then(|(exponent, line)| {
            let factor = 1_u64.checked_shl(u32::try_from(exponent).ok()?)?;
            Some((Unit::new(bytes.checked_mul(factor)?)?, line))
        });
        if let Some((unit, line)) = physical {
            let phase = lowest.and_then(|(lba, _)| Bytes::new(bytes).checked_mul(lba));
            let grid = Grid::with_phase(unit, phase.unwrap_or_default());
            disk.thing().grids.push(GridFact {
                role: GridRole::PhysicalSector,
                grid: notes.said(&line, grid),
            });
        }
        if let Some((blocks, line)) =
            value("Number of logical blocks=").or(value("Number of blocks="))
        {
            disk.size(Bytes::new(bytes).checked_mul(blocks), &line, notes);
        }
    }
    disk.note(notes);
}
