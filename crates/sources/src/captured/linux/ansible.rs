//! What Ansible collects of a host's disks: `ansible_devices` of the module `setup`.
//!
//! ```text
//! "ansible_facts": {"ansible_devices": {"sda": {"partitions": {"sda1": {"start": "2048", "sectors": "1024000", "sectorsize": 512}}}}}
//! ```
//!
//! Starts count sectors of 512 bytes. Lengths are in sectors of `sectorsize` bytes or of 512, depending on the version: only where that is
//! 512 are they taken.
//!
//! Source: ansible `lib/ansible/module_utils/facts/hardware/linux.py`, `get_device_facts`.

use straddle_geometry::SectorSize;
use straddle_stack::{AnomalyKind, GridRole, Key, Value};

use super::device;
use crate::captured::json::{Json, Object};
use crate::captured::tool::{Context, Notes, Reader, Tool};
use crate::inventory::{Name, Space, Thing};

pub(crate) static TOOL: Tool = Tool {
    name: "ansible",
    platform: "linux",
    commands: &["ansible HOST -m setup"],
    readers: &[Reader::Json {
        is: |object| devices(object).is_some(),
        read,
    }],
};

const SECTOR: u64 = 512;

/// The devices, wherever they stand: among all facts or alone, with a prefix or without.
fn devices<'t>(object: &Object<'t>) -> Option<Object<'t>> {
    let inner = object.get("ansible_facts").and_then(|facts| facts.object());
    let facts = inner.as_ref().unwrap_or(object);
    let found = facts.get("ansible_devices").or_else(|| {
        let plain = inner.as_ref()?.get("devices")?;
        Some(plain)
    })?;
    found.object()
}

fn read(json: &Json<'_>, _: &Context<'_>, notes: &mut Notes<'_>) {
    let Some(object) = json.object() else { return };
    let Some(devices) = devices(&object) else {
        return;
    };
    for (name, value) in devices.members() {
        if let Some(object) = value.object() {
            disk(name, &object, notes);
        }
    }
}

fn disk(name: &str, object: &Object<'_>, notes: &mut Notes<'_>) {
    let path = format!("/dev/{name}");
    let mut thing = device::disk(&path);
    let number = |key: &str| {
        let value = object.get(key)?;
        Some((value.number()?, value.line()))
    };
    if let Some((SECTOR, line)) = number("sectorsize") {
        device::grid(&mut thing, GridRole::LogicalSector, SECTOR, 0, &line, notes);
        if let Some((sectors, line)) = number("sectors") {
            device::size(&mut thing, sectors, SECTOR, &line, notes);
        }
    }
    for (key, attribute) in [("model", Key::Model), ("serial", Key::Serial)] {
        let Some(value) = object.get(key) else {
            continue;
        };
        if let Some(text) = value.text().filter(|text| !text.trim().is_empty()) {
            if attribute == Key::Serial {
                thing = thing.named(Name::new(Space::Serial, text.trim().to_owned()));
            }
            thing.set_text(attribute, notes.said(&value.line(), text.trim().to_owned()));
        }
    }
    if let Some((flag, line)) = number("rotational") {
        thing.set(Key::Rotational, notes.said(&line, Value::Flag(flag != 0)));
    }
    notes.add(thing);
    let partitions = object.get("partitions").and_then(|value| value.object());
    for (node, value) in partitions.iter().flat_map(|object| object.members()) {
        let Some(object) = value.object() else {
            continue;
        };
        let thing = device::partition(&format!("/dev/{node}"), &path, &value.line(), notes);
        partition(thing, node, &object, notes);
    }
}

fn partition(mut thing: Thing, node: &str, object: &Object<'_>, notes: &mut Notes<'_>) {
    match object.get("start") {
        Some(value) => match value.number() {
            // A file that could not be read counts as 0.
            Some(start) if start > 0 => {
                device::start(&mut thing, start, SECTOR, &value.line(), notes);
            }
            _ => {
                let detail = format!("where {node} starts is not a number");
                notes.remark(AnomalyKind::Missing, detail, &value.line());
            }
        },
        None => {
            let detail = format!("what is said of {node} ends before where it starts");
            notes.remark(AnomalyKind::Truncated, detail, &object.line);
        }
    }
    // The table counts in the disk's own sectors, which may be larger.
    if object.number("sectorsize") != Some(u64::from(SectorSize::B512.get())) {
        thing.attributes.retain(|a| a.key != Key::StartSector);
    } else if let Some(value) = object.get("sectors")
        && let Some(sectors) = value.number()
    {
        device::size(&mut thing, sectors, SECTOR, &value.line(), notes);
    }
    notes.add(thing);
}
