//! `diskutil info` and `diskutil list` of macOS.
//!
//! ```text
//!    Device Identifier:         disk2s1
//!    Whole:                     No
//!    Part of Whole:             disk2
//!    Partition Offset:          1048576 Bytes (2048 512-Byte-Device-Blocks)
//!    Disk Size:                 31.9 GB (31913410560 Bytes) (exactly 62330880 512-Byte-Units)
//! ```
//!
//! `list` has the disks and rounded sizes, and says of nothing where it begins. Disks that APFS makes out of others are left out: they
//! have no place of their own.

use straddle_geometry::{Bytes, Unit};
use straddle_stack::{GridRole, Interval, Key, LayerKind, Value};

use super::{disk, name, sector, size};
use crate::captured::number::{self, Prefix, Rounding};
use crate::captured::text::Line;
use crate::captured::tool::{Anchor, Notes, Reader, Section, Tool};
use crate::inventory::Thing;

pub(crate) static TOOL: Tool = Tool {
    name: "diskutil",
    platform: "macos",
    commands: &["diskutil info -all", "diskutil info DISK", "diskutil list"],
    readers: &[
        Reader::Text {
            anchors: &[Anchor::Start("Device Identifier:")],
            begins: |_| true,
            read: info,
        },
        Reader::Text {
            anchors: &[Anchor::Start("/dev/disk")],
            begins: |lines| {
                let heading = lines.iter().skip(1).find(|line| !line.is_blank());
                heading.is_some_and(|line| line.text.trim_start().starts_with("#:"))
            },
            read: list,
        },
    ],
};

/// What one device says of itself.
struct Info<'t>(Vec<(&'t str, &'t str, Line<'t>)>);

impl<'t> Info<'t> {
    fn of(section: &Section<'t>) -> Info<'t> {
        let fields = section.lines.iter().filter_map(|line| {
            let (key, value) = line.text.split_once(':')?;
            Some((key.trim(), value.trim(), *line))
        });
        Info(fields.collect())
    }

    fn text(&self, key: &str) -> Option<(&'t str, Line<'t>)> {
        let field = self.0.iter().find(|(known, ..)| *known == key);
        field.map(|(_, value, line)| (*value, *line))
    }

    fn is(&self, key: &str, value: &str) -> bool {
        self.text(key).is_some_and(|(said, _)| said == value)
    }

    /// `31.9 GB (31913410560 Bytes) (exactly …)`, `512 Bytes`.
    fn bytes(&self, key: &str) -> Option<(u64, Line<'t>)> {
        let (text, line) = self.text(key)?;
        let (before, _) = text.split_once(" Bytes").or(text.split_once(" B"))?;
        let digits = before.rsplit(['(', ' ']).next()?;
        Some((number::whole(digits)?, line))
    }
}

fn info(section: &Section<'_>, notes: &mut Notes<'_>) {
    let info = Info::of(section);
    let Some((device, _)) = info.text("Device Identifier") else {
        return;
    };
    if device.is_empty() {
        return;
    }
    match info.bytes("Partition Offset") {
        Some(offset) => partition(device, offset, &info, notes),
        None if info.is("Whole", "Yes") => whole(device, &info, notes),
        None => {}
    }
}

/// Older versions have the second.
const SIZES: [&str; 2] = ["Disk Size", "Total Size"];

fn whole(device: &str, info: &Info<'_>, notes: &mut Notes<'_>) {
    let store = ["APFS Physical Store", "APFS Container"];
    if store.iter().any(|key| info.text(key).is_some()) {
        return;
    }
    let mut thing = disk(device);
    if let Some((bytes, line)) = SIZES.iter().find_map(|key| info.bytes(key)) {
        size(&mut thing, bytes, &line, notes);
    }
    if let Some((bytes, line)) = info.bytes("Device Block Size") {
        sector(&mut thing, bytes, &line, notes);
    }
    if let Some((model, line)) = info.text("Device / Media Name") {
        thing.set_text(Key::Model, notes.said(&line, model.to_owned()));
    }
    if let Some((scheme, line)) = info.text("Content (IOContent)") {
        let table = match scheme {
            "GUID_partition_scheme" => Some("gpt"),
            "FDisk_partition_scheme" => Some("mbr"),
            "Apple_partition_scheme" => Some("apm"),
            _ => None,
        };
        if let Some(table) = table {
            thing.set_text(Key::PartitionTable, notes.said(&line, table.to_owned()));
        }
    }
    if let Some((solid, line)) = info
        .text("Solid State")
        .filter(|(text, _)| matches!(*text, "Yes" | "No"))
    {
        thing.set(
            Key::Rotational,
            notes.said(&line, Value::Flag(solid == "No")),
        );
    }
    notes.add(thing);
}

fn partition(
    device: &str,
    (offset, line): (u64, Line<'_>),
    info: &Info<'_>,
    notes: &mut Notes<'_>,
) {
    let mut thing = Thing::new(LayerKind::Partition, device, name(device));
    if let Some((whole, _)) = info.text("Part of Whole") {
        thing = thing.on(name(whole));
    }
    thing.start = Some(notes.said(&line, Interval::exact(Bytes::new(offset))));
    if let Some((bytes, line)) = SIZES.iter().find_map(|key| info.bytes(key)) {
        size(&mut thing, bytes, &line, notes);
    }
    if let Some((_, line)) = info
        .text("Partition Type")
        .filter(|(kind, _)| *kind == "EFI")
    {
        let efi = "C12A7328-F81F-11D2-BA4B-00A0C93EC93B";
        thing.set_text(Key::PartitionType, notes.said(&line, efi.to_owned()));
    }
    notes.add(thing);
    filesystem(device, info, notes);
}

/// What is mounted from a partition. The block is the filesystem's unit of space.
fn filesystem(device: &str, info: &Info<'_>, notes: &mut Notes<'_>) {
    let (Some((format, line)), Some((block, of_block))) = (
        info.text("Type (Bundle)"),
        info.bytes("Allocation Block Size"),
    ) else {
        return;
    };
    let format = match format {
        "msdos" => "fat",
        "hfs" => "hfs+",
        other => other,
    };
    let mut thing = Thing::new(LayerKind::Filesystem, format, name(device)).on(name(device));
    thing.format = Some(notes.said(&line, format.to_owned().into()));
    if let Some(unit) = Unit::new(block).filter(|_| block >= 512) {
        thing.grid(GridRole::AllocationUnit, notes.said(&of_block, unit));
    }
    notes.add(thing);
}

/// `/dev/disk2 (external, physical):`, names of columns, then `0:  FDisk_partition_scheme  *4.0 TB  disk2` and partitions.
fn list(section: &Section<'_>, notes: &mut Notes<'_>) {
    let Some(first) = section.lines.first() else {
        return;
    };
    if first.text.contains("synthesized") {
        return;
    }
    let mut device = None;
    for line in section.lines.iter().skip(2) {
        let Some((number, rest)) = line.text.trim().split_once(": ") else {
            break;
        };
        let (Ok(number), Some((size, id))) = (number.parse::<u32>(), size_and_name(rest)) else {
            break;
        };
        let mut thing = match (number, device) {
            (0, _) => {
                device = Some(id);
                disk(id)
            }
            (_, Some(device)) => Thing::new(LayerKind::Partition, id, name(id)).on(name(device)),
            (_, None) => break,
        };
        thing.size = number::shown(size, Prefix::Decimal, Rounding::Nearest)
            .map(|size| notes.said(line, size));
        notes.add(thing);
    }
}

/// `FDisk_partition_scheme    *4.0 TB     disk2`.
fn size_and_name(text: &str) -> Option<(&str, &str)> {
    let (rest, id) = text.trim_end().rsplit_once(' ')?;
    let rest = rest.trim_end();
    let unit = rest.rfind(' ')?;
    let digits = rest[..unit].rfind([' ', '*', '+']).map_or(0, |at| at + 1);
    id.starts_with("disk").then_some((&rest[digits..], id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_stand_before_names() {
        assert_eq!(
            size_and_name("     FDisk_partition_scheme           *4.0 TB     disk2"),
            Some(("4.0 TB", "disk2"))
        );
        assert_eq!(
            size_and_name("EFI NO NAME 209.7 MB   disk0s1"),
            Some(("209.7 MB", "disk0s1"))
        );
        assert_eq!(size_and_name("Physical Store disk0s2 x"), None);
    }
}
