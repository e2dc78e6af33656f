//! `sfdisk -d` and `sfdisk -J`: a partition table in sectors.
//!
//! How large a sector is, versions before 2.35 do not say: then 512 bytes are assumed, and what else is known of the disk
//! corrects that.

use std::borrow::Cow;
use straddle_geometry::Unit;
use straddle_stack::{AnomalyKind, GridRole, Key};

use super::device;
use super::fdisk::disk_of;
use crate::captured::json::{Json, Object};
use crate::captured::number;
use crate::captured::text::Line;
use crate::captured::tool::{Anchor, Context, Notes, Reader, Section, Tool};
use crate::inventory::{Name, Space};

pub(crate) static TOOL: Tool = Tool {
    name: "sfdisk",
    platform: "linux",
    commands: &["sfdisk -J DEVICE", "sfdisk -d DEVICE"],
    readers: &[
        Reader::Json {
            is: |object| object.has("partitiontable"),
            read: json,
        },
        Reader::Text {
            anchors: &[
                Anchor::Start("label: "),
                Anchor::Start("# partition table of "),
                // Rows without what stands above them.
                Anchor::Loose("/dev/"),
            ],
            begins,
            read: dump,
        },
    ],
};

const USUAL_SECTOR: u64 = 512;

fn json(json: &Json<'_>, _: &Context<'_>, notes: &mut Notes<'_>) {
    let Some(table) = json
        .object()
        .and_then(|object| object.get("partitiontable")?.object())
    else {
        return;
    };
    let partitions = table.get("partitions").map(|list| list.items());
    let partitions = partitions.unwrap_or_default();
    // Nodes tell what the disk is called.
    let of_nodes = || {
        let node = partitions
            .iter()
            .find_map(|json| json.object()?.text("node"))?;
        Some(Cow::Owned(disk_of(&node)?.to_owned()))
    };
    let Some(path) = table.text("device").or_else(of_nodes) else {
        return;
    };
    let mut thing = device::disk(&path);
    let sector = table.number("sectorsize");
    if let Some(said) = table.get("sectorsize")
        && let Some(unit) = said.number().and_then(Unit::new)
    {
        thing.grid(GridRole::LogicalSector, notes.said(&said.line(), unit));
    }
    if let Some(label) = table.get("label")
        && let Some(text) = label.text()
    {
        device::table(&mut thing, &text, &label.line(), notes);
    }
    if let Some(id) = table.get("id")
        && let Some(text) = id.text()
    {
        thing = device::table_id(thing, &text, &id.line(), notes);
    }
    let objects = || partitions.iter().filter_map(Json::object);
    let protective = |object: &Object<'_>| {
        let kind = object.text("type");
        kind.is_some_and(|kind| device::is_protective(&kind))
    };
    if let Some(guard) = objects().find(protective) {
        thing.attributes.clear();
        device::table(&mut thing, "gpt", &guard.line, notes);
    }
    notes.add(thing);
    for object in objects().filter(|object| !protective(object)) {
        add_object(&object, &path, sector, notes);
    }
}

fn add_object(object: &Object<'_>, path: &str, sector: Option<u64>, notes: &mut Notes<'_>) {
    let Some(node) = object.get("node") else {
        let detail = "an entry of the table has lost the name of its partition: it was not read";
        notes.remark(AnomalyKind::Truncated, detail, &object.line);
        return;
    };
    let Some(text) = node.text() else { return };
    let mut thing = device::partition(&text, path, &node.line(), notes);
    // Each fact points at its own member's line.
    let count = |key: &str| {
        let said = object.get(key)?;
        Some((said.number()?, said.line()))
    };
    let bytes = sector.unwrap_or(USUAL_SECTOR);
    if let Some((sectors, line)) = count("start") {
        device::start(&mut thing, sectors, bytes, &line, notes);
    }
    if let Some((sectors, line)) = count("size") {
        device::size(&mut thing, sectors, bytes, &line, notes);
    }
    if sector.is_none() {
        device::assumed(&mut thing);
    }
    if let Some(said) = object.get("type")
        && let Some(text) = said.text()
    {
        device::partition_type(&mut thing, &text, &said.line(), notes);
    }
    if let Some(said) = object.get("name")
        && let Some(text) = said.text()
    {
        thing.set_text(
            Key::PartitionName,
            notes.said(&said.line(), text.into_owned()),
        );
    }
    if let Some(uuid) = object.text("uuid") {
        thing = thing.named(Name::new(Space::Uuid, uuid.into_owned()));
    }
    notes.add(thing);
}

/// `label: dos` is two words of plain English: what follows must be an sfdisk dump.
fn begins(lines: &[Line<'_>]) -> bool {
    let first = lines[0].text.trim_start();
    if first.starts_with("/dev/") {
        let row = row(&lines[0]);
        return row.is_some_and(|row| row.get(&["size"]).is_some() && disk_of(row.node).is_some());
    }
    let header = |line: &Line<'_>| {
        ["device: ", "unit: ", "label-id: "]
            .iter()
            .any(|start| line.text.starts_with(start))
    };
    first.starts_with('#') || lines.iter().skip(1).take(6).any(header)
}

/// The value of `key: value`.
fn header<'t>(line: &Line<'t>, key: &str) -> Option<&'t str> {
    let rest = line.text.trim_start().strip_prefix(key)?;
    Some(rest.strip_prefix(':')?.trim())
}

fn dump(section: &Section<'_>, notes: &mut Notes<'_>) {
    let find = |key: &str| {
        let mut lines = section.lines.iter();
        lines.find_map(|line| Some((header(line, key)?, *line)))
    };
    let of_comment = || {
        let first = section.lines.first()?;
        let path = first
            .text
            .trim_start()
            .strip_prefix("# partition table of ")?;
        Some(path.trim())
    };
    let of_rows = || {
        section
            .lines
            .iter()
            .find_map(|line| disk_of(row(line)?.node))
    };
    let of_command = || section.context.command.as_ref()?.word("/");
    let path = find("device").map(|(path, _)| path);
    let Some(path) = path
        .or_else(of_comment)
        .or_else(of_command)
        .or_else(of_rows)
    else {
        return;
    };
    let mut thing = device::disk(path);
    let sector = find("sector-size")
        .and_then(|(text, line)| Some((text.parse::<u64>().ok()?, line)))
        .filter(|(bytes, _)| *bytes != 0);
    if let Some((bytes, line)) = &sector {
        device::grid(&mut thing, GridRole::LogicalSector, *bytes, 0, line, notes);
    }
    let rows: Vec<Row<'_>> = section.lines.iter().filter_map(|line| row(line)).collect();
    let guard = rows
        .iter()
        .find(|row| row.get(&["type", "Id"]).is_some_and(device::is_protective));
    match (guard, find("label")) {
        // An old sfdisk does not see the GPT that this entry protects.
        (Some(guard), _) => device::table(&mut thing, "gpt", &guard.line, notes),
        (None, Some((label, line))) => device::table(&mut thing, label, &line, notes),
        // Old versions know no other table, and do not say so.
        (None, None) => {
            if let Some(row) = rows.iter().find(|row| row.get(&["Id"]).is_some()) {
                device::table(&mut thing, "dos", &row.line, notes);
            }
        }
    }
    if let (Some((id, line)), None) = (find("label-id"), guard) {
        thing = device::table_id(thing, id, &line, notes);
    }
    notes.add(thing);
    let sector = sector.map(|(bytes, _)| bytes);
    let last = section.lines.iter().rev().find(|line| !line.is_blank());
    let typed = |row: &Row<'_>| row.get(&["type", "Id"]).is_some();
    let any_typed = rows.iter().any(typed);
    for row in &rows {
        let short = row.get(&["size"]).is_none() || (!typed(row) && any_typed);
        let cut = short && last.is_some_and(|line| line.number == row.line.number);
        // Rows of another disk, whose own lines are lost.
        let of = match row.node.starts_with(path) {
            true => path,
            false => disk_of(row.node).unwrap_or(path),
        };
        add_row(row, of, sector, cut, notes);
        if cut {
            notes.remark(
                AnomalyKind::Truncated,
                "the table ends in the middle of a line; what stands before was read",
                &row.line,
            );
        }
    }
}

/// `/dev/sda1 : start=63, size=208782, Id=83, bootable`.
struct Row<'t> {
    line: Line<'t>,
    node: &'t str,
    fields: Vec<(&'t str, &'t str)>,
}

impl<'t> Row<'t> {
    fn get(&self, keys: &[&str]) -> Option<&'t str> {
        let mut fields = self.fields.iter();
        fields
            .find(|(key, _)| keys.contains(key))
            .map(|(_, value)| *value)
    }
}

fn row<'t>(line: &Line<'t>) -> Option<Row<'t>> {
    let (node, rest) = line.text.trim().split_once(" : ")?;
    if !rest.contains("start=") {
        return None;
    }
    let field = |field: &'t str| {
        let (key, value) = field.split_once('=')?;
        Some((key.trim(), value.trim()))
    };
    Some(Row {
        line: *line,
        node: node.trim(),
        fields: split(rest).into_iter().filter_map(field).collect(),
    })
}

/// The parts between commas; a name stands in quotes and may have a comma.
fn split(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut quoted = false;
    let mut from = 0;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'"' => quoted = !quoted,
            b',' if !quoted => {
                parts.push(&text[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[from..]);
    parts
}

fn add_row(row: &Row<'_>, path: &str, sector: Option<u64>, cut: bool, notes: &mut Notes<'_>) {
    let count = |key: &str| row.get(&[key]).and_then(number::whole);
    let kind = row.get(&["type", "Id"]);
    // The old version lists unused entries too.
    if count("size") == Some(0) || kind.is_some_and(device::is_protective) {
        return;
    }
    let mut thing = device::partition(row.node, path, &row.line, notes);
    let bytes = sector.unwrap_or(USUAL_SECTOR);
    if let Some(start) = count("start") {
        device::start(&mut thing, start, bytes, &row.line, notes);
    }
    // Of a number at the end of a line that was cut, digits may be missing.
    if let Some(size) = count("size").filter(|_| !cut) {
        device::size(&mut thing, size, bytes, &row.line, notes);
    }
    if sector.is_none() {
        device::assumed(&mut thing);
    }
    if let Some(kind) = kind {
        device::partition_type(&mut thing, kind, &row.line, notes);
    }
    if let Some(name) = row.get(&["name"]) {
        let name = name.trim_matches('"').to_owned();
        thing.set_text(Key::PartitionName, notes.said(&row.line, name));
    }
    if let Some(uuid) = row.get(&["uuid"]) {
        thing = thing.named(Name::new(Space::Uuid, uuid.to_owned()));
    }
    notes.add(thing);
}
