//! `smartctl -i`, and what else begins like it, as text or JSON.

use straddle_geometry::Bytes;
use straddle_stack::{AnomalyKind, GridRole, Key, Value};

use super::about;
use super::disk::Disk;
use crate::captured::json::{Json, Object};
use crate::captured::number;
use crate::captured::text::Line;
use crate::captured::tool::{Anchor, Context, Notes, Reader, Section, Tool};
use crate::inventory::{Name, Space};

pub(crate) static TOOL: Tool = Tool {
    name: "smartctl",
    platform: "linux",
    commands: &["smartctl -i DEVICE", "smartctl -i -j DEVICE"],
    readers: &[
        Reader::Json {
            is: |object| object.has("smartctl") && object.has("device"),
            read: json,
        },
        Reader::Text {
            anchors: &[
                Anchor::Start("smartctl "),
                Anchor::Loose("=== START OF INFORMATION SECTION ==="),
                // What `grep` leaves of it.
                Anchor::Loose("Device Model:"),
                Anchor::Loose("Sector Size:"),
                Anchor::Loose("Sector Sizes:"),
            ],
            begins: |lines| {
                let text = lines[0].text.trim_start();
                // Controllers' tools tell of sectors too.
                match text.split([' ', ':']).next() {
                    Some("smartctl") => text.split_whitespace().any(|w| w.starts_with('[')),
                    Some("Sector") => text.contains(" logical"),
                    _ => true,
                }
            },
            read: text,
        },
    ],
};

const PROGRAMS: [&str; 1] = ["smartctl"];

/// `nvme0` is the controller; its first namespace is the disk.
fn namespace(device: Name) -> Vec<Name> {
    let bare = device
        .text
        .strip_prefix("nvme")
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()));
    let first = bare.then(|| Name::new(Space::Device, format!("{}n1", device.text)));
    first.into_iter().chain([device]).collect()
}

fn disk_of(device: Option<Name>) -> Disk {
    let mut disk = Disk::new(None);
    for name in device.into_iter().flat_map(namespace) {
        disk.name(Space::Device, &name.text);
    }
    disk
}

fn json(json: &Json<'_>, _: &Context<'_>, notes: &mut Notes<'_>) {
    let Some(object) = json.object() else { return };
    let inner = |key: &str| object.get(key).and_then(|value| value.object());
    let device = inner("device");
    let field = |key: &str| device.as_ref().and_then(|device| device.text(key));
    // Behind a RAID controller the name is that of a volume, or of the controller: `-d megaraid,5`.
    let behind = field("type").is_some_and(|kind| kind.contains(','));
    let name = field("name").filter(|_| !behind);
    let mut disk = disk_of(name.map(|name| Name::new(Space::Device, name.into_owned())));
    let said = |key: &str| {
        let value = object.get(key)?;
        Some((value.text()?.into_owned(), value.line()))
    };
    if let Some((serial, line)) = said("serial_number") {
        disk.serial(&serial, &line, notes);
    }
    for key in ["model_name", "scsi_model_name"] {
        if let Some((model, line)) = said(key) {
            disk.text(Key::Model, &model, &line, notes);
            break;
        }
    }
    if let Some(wwn) = inner("wwn").and_then(|wwn| naa(&wwn)) {
        disk.name(Space::Wwn, &wwn);
    }
    if let Some((id, _)) = said("logical_unit_id") {
        disk.name(Space::Wwn, &id);
    }
    if let Some(bytes) = inner("user_capacity").and_then(|object| object.get("bytes")) {
        disk.size(bytes.number().map(Bytes::new), &bytes.line(), notes);
    }
    for (key, role) in [
        ("logical_block_size", GridRole::LogicalSector),
        ("physical_block_size", GridRole::PhysicalSector),
    ] {
        if let Some(value) = object.get(key) {
            disk.grid(role, value.number().unwrap_or(0), &value.line(), notes);
        }
    }
    if let Some(value) = object.get("rotation_rate")
        && let Some(rate) = value.number()
    {
        disk.set(Key::Rotational, Value::Flag(rate > 0), &value.line(), notes);
    }
    if let Some(list) = object.get("nvme_namespaces") {
        first_namespace(&list, &mut disk, notes);
    }
    if disk.is_named() {
        disk.note(notes);
    }
}

/// `"wwn": {"naa": 5, "oui": 3152, "id": 12345}`: 4, 24 and 36 bits of a world-wide name.
fn naa(wwn: &Object<'_>) -> Option<String> {
    let (naa, oui, id) = (wwn.number("naa")?, wwn.number("oui")?, wwn.number("id")?);
    (naa < 16 && oui < 1 << 24 && id < 1 << 36).then(|| format!("{naa:x}{oui:06x}{id:09x}"))
}

fn first_namespace(list: &Json<'_>, disk: &mut Disk, notes: &Notes<'_>) {
    let objects = list.items();
    let Some(first) = objects.first().and_then(Json::object) else {
        return;
    };
    if let Some(sector) = first.get("formatted_lba_size") {
        let size = sector.number().unwrap_or(0);
        disk.grid(GridRole::LogicalSector, size, &sector.line(), notes);
    }
    let size = first
        .get("size")
        .and_then(|size| size.object()?.get("bytes"));
    if let Some(size) = size {
        disk.size(size.number().map(Bytes::new), &size.line(), notes);
    }
    if let Some(eui) = first.get("eui64").and_then(|value| value.object())
        && let (Some(oui), Some(id)) = (eui.number("oui"), eui.number("ext_id"))
        && oui < 1 << 24
        && id < 1 << 40
    {
        disk.name(Space::Wwn, &format!("{oui:06x}{id:010x}"));
    }
}

/// `Key:   value`.
fn pair<'t>(line: &Line<'t>) -> Option<(&'t str, &'t str)> {
    let (key, value) = line.text.split_once(':')?;
    Some((key.trim(), value.trim()))
}

/// `4,000,787,030,016 bytes [4.00 TB]`, grouped as the locale wants.
fn capacity(text: &str) -> Option<Bytes> {
    let end = text.find(|c: char| c.is_alphabetic() || c == '[');
    number::whole(text[..end.unwrap_or(text.len())].trim()).map(Bytes::new)
}

fn text(section: &Section<'_>, notes: &mut Notes<'_>) {
    let command = section.context.command.as_ref();
    let behind = command.is_some_and(|command| command.words.iter().any(|word| word.contains(',')));
    let device = about::of_section(section, &PROGRAMS).filter(|_| !behind);
    let mut disk = disk_of(device);
    let mut sectors = None;
    for line in section.lines {
        let Some((key, value)) = pair(line) else {
            continue;
        };
        match key {
            "Serial Number" | "Serial number" => disk.serial(value, line, notes),
            "Device Model" | "Model Number" | "Product" => {
                disk.text(Key::Model, value, line, notes);
            }
            "LU WWN Device Id" | "Logical Unit id" => {
                let wwn: String = value.split_whitespace().collect();
                disk.name(Space::Wwn, &wwn);
            }
            "Namespace 1 IEEE EUI-64" => {
                let eui: String = value.split_whitespace().collect();
                disk.name(Space::Wwn, &eui);
            }
            "User Capacity" | "Namespace 1 Size/Capacity" => {
                disk.size(capacity(value), line, notes);
            }
            "Logical block size" | "Namespace 1 Formatted LBA Size" => {
                let size = number::leading(value).unwrap_or(0);
                disk.grid(GridRole::LogicalSector, size, line, notes);
            }
            "Physical block size" => {
                let size = number::leading(value).unwrap_or(0);
                disk.grid(GridRole::PhysicalSector, size, line, notes);
            }
            // `512 bytes logical, 4096 bytes physical`, `512 bytes logical/physical`.
            "Sector Size" | "Sector Sizes" => {
                sectors = Some(*line);
                let logical = number::leading(value).unwrap_or(0);
                let physical = match value.split_once(',') {
                    Some((_, rest)) => number::leading(rest).unwrap_or(0),
                    None => logical,
                };
                disk.grid(GridRole::LogicalSector, logical, line, notes);
                disk.grid(GridRole::PhysicalSector, physical, line, notes);
            }
            "Rotation Rate" if value == "Solid State Device" => {
                disk.set(Key::Rotational, Value::Flag(false), line, notes);
            }
            "Rotation Rate" if number::leading(value).is_some() => {
                disk.set(Key::Rotational, Value::Flag(true), line, notes);
            }
            _ => {}
        }
    }
    if disk.is_named() {
        disk.note(notes);
    } else if let (Some(line), false) = (sectors, behind) {
        let detail = "what these lines say of a disk was not read: nothing says which one it is";
        notes.remark(AnomalyKind::Missing, detail, &line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capacities_are_grouped_as_the_locale_wants() {
        for text in [
            "4,000,787,030,016 bytes [4.00 TB]",
            "4.000.787.030.016 bytes [4,00 TB]",
            "4 000 787 030 016 bytes [4,00 TB]",
            "4000787030016 [4.00 TB]",
        ] {
            assert_eq!(
                capacity(text),
                Some(Bytes::new(4_000_787_030_016)),
                "{text}"
            );
        }
        assert_eq!(capacity("[No Information Found]"), None);
    }

    #[test]
    fn a_controller_stands_for_its_first_namespace() {
        let names = |text: &'static str| -> Vec<String> {
            let names = namespace(Name::new(Space::Device, text));
            names
                .into_iter()
                .map(|name| name.text.into_owned())
                .collect()
        };
        assert_eq!(names("/dev/nvme0"), ["nvme0n1", "nvme0"]);
        assert_eq!(names("/dev/nvme0n2"), ["nvme0n2"]);
        assert_eq!(names("/dev/sda"), ["sda"]);
    }
}
