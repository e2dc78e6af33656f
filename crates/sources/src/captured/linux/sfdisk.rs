//! `sfdisk -d` and `sfdisk -J`: a partition table in sectors.

use straddle_geometry::{SectorSize, Unit};
use straddle_stack::{GridRole, Interval, Key, LayerKind, Value};

use crate::captured::json::{Json, Object};
use crate::captured::tool::{Context, Notes, Reader, Tool};
use crate::inventory::{Name, Space, Thing};

pub(crate) static TOOL: Tool = Tool {
    name: "sfdisk",
    platform: "linux",
    commands: &["sfdisk -J DEVICE"],
    readers: &[Reader::Json {
        is: |object| object.has("partitiontable"),
        read: json,
    }],
};

fn json(json: &Json<'_>, _: &Context<'_>, notes: &mut Notes<'_>) {
    let Some(table) = json
        .object()
        .and_then(|object| object.get("partitiontable")?.object())
    else {
        return;
    };
    let Some(device) = table.text("device") else {
        return;
    };
    let disk = Name::new(Space::Device, device.to_string());
    let mut thing = Thing::new(LayerKind::Device, disk.text.to_string(), disk.clone());
    let sector = table.number("sectorsize").unwrap_or(512);
    if let Some(said) = table.get("sectorsize")
        && let Some(unit) = said.number().and_then(Unit::new)
    {
        thing.grid(GridRole::LogicalSector, notes.said(&said.line(), unit));
    }
    if let Some(label) = table.get("label")
        && let Some(text) = label.text()
    {
        let kind = if text == "dos" { "mbr" } else { &text };
        thing.set_text(
            Key::PartitionTable,
            notes.said(&label.line(), kind.to_owned()),
        );
    }
    if let Some(id) = table.get("id")
        && let Some(text) = id.text()
    {
        thing = thing.named(Name::new(Space::TableId, text.to_string()));
        thing.set_text(Key::TableId, notes.said(&id.line(), text.into_owned()));
    }
    notes.add(thing);
    let Some(size) = u32::try_from(sector).ok().and_then(SectorSize::new) else {
        return;
    };
    let partitions = table.get("partitions").map(|list| list.items());
    for partition in partitions.unwrap_or_default() {
        if let Some(object) = partition.object() {
            add_partition(&object, &disk, size, notes);
        }
    }
}

fn add_partition(object: &Object<'_>, disk: &Name, sector: SectorSize, notes: &mut Notes<'_>) {
    let Some(node) = object.text("node") else {
        return;
    };
    let name = Name::new(Space::Device, node.to_string());
    let mut thing = Thing::new(LayerKind::Partition, name.text.to_string(), name).on(disk.clone());
    // Each fact points at its own member's line.
    let sectors = |key: &str| {
        let said = object.get(key)?;
        let count = said.number()?;
        Some((count, sector.sectors(count).bytes()?, said.line()))
    };
    if let Some((count, start, line)) = sectors("start") {
        thing.start = Some(notes.said(&line, Interval::exact(start)));
        thing.set(Key::StartSector, notes.said(&line, Value::Count(count)));
    }
    if let Some((_, size, line)) = sectors("size") {
        thing.size = Some(notes.said(&line, Interval::exact(size)));
    }
    for (member, key) in [("type", Key::PartitionType), ("name", Key::PartitionName)] {
        if let Some(said) = object.get(member)
            && let Some(text) = said.text()
        {
            thing.set_text(key, notes.said(&said.line(), text.into_owned()));
        }
    }
    if let Some(uuid) = object.text("uuid") {
        thing = thing.named(Name::new(Space::Uuid, uuid.into_owned()));
    }
    notes.add(thing);
}
