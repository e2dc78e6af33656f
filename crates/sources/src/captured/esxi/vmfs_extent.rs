//! `esxcli storage vmfs extent list` and `esxcli storage filesystem list`: which datastore lies on which partition.

use straddle_geometry::Bytes;
use straddle_stack::{Interval, Key, LayerKind};

use super::{is_device, partition, partition_name, table};
use crate::captured::number;
use crate::captured::records::{Field, Record};
use crate::captured::tool::{Anchor, Context, Notes, Reader, Section, Tool};
use crate::inventory::{Name, Placing, Space, Thing};

pub(crate) static TOOL: Tool = Tool {
    name: "esxcli-vmfs-extent",
    platform: "esxi",
    commands: &[
        "esxcli storage vmfs extent list",
        "esxcli storage filesystem list",
        "esxcli --formatter=csv storage vmfs extent list",
        "esxcli --formatter=json storage vmfs extent list",
    ],
    readers: &[
        Reader::Text {
            anchors: &[Anchor::Start("Volume Name"), Anchor::Start("Mount Point")],
            begins: |lines| {
                table::begins(lines, &["Volume Name", "VMFS UUID", "Device Name"])
                    || table::begins(lines, &["Mount Point", "Volume Name", "UUID", "Mounted"])
            },
            read: |section: &Section<'_>, notes: &mut Notes<'_>| {
                add_all(&table::rows(section.lines), notes);
            },
        },
        Reader::Records {
            keys: &["VMFSUUID", "DeviceName", "Partition"],
            read: records,
        },
        Reader::Records {
            keys: &["MountPoint", "VolumeName", "UUID", "Mounted"],
            read: records,
        },
    ],
};

fn records(records: &[Record<'_>], _: &Context<'_>, notes: &mut Notes<'_>) {
    add_all(records, notes);
}

fn either<'r, 't>(record: &'r Record<'t>, a: &str, b: &str) -> Option<&'r Field<'t>> {
    record.filled(a).or(record.filled(b))
}

fn add_all(records: &[Record<'_>], notes: &mut Notes<'_>) {
    let mut found: Vec<Thing> = Vec::new();
    for record in records {
        let uuid = either(record, "VMFS UUID", "VMFSUUID").or(record.filled("UUID"));
        let Some(uuid) = uuid else { continue };
        let label = either(record, "Volume Name", "VolumeName");
        let mut thing = volume(&uuid.value, label.map(|label| &*label.value));
        if let Some(label) = label {
            thing.set_text(Key::Label, notes.said(&label.line, label.value.to_string()));
        }
        if let Some(kind) = record.filled("Type") {
            let Some(format) = format(&kind.value) else {
                continue;
            };
            thing.format = Some(notes.said(&kind.line, format.into()));
        }
        if let Some((size, line)) = record.number("Size") {
            thing.size = Some(notes.said(&line, Interval::exact(Bytes::new(size))));
        }
        if let Some(mount) = either(record, "Mount Point", "MountPoint") {
            let path = mount.value.to_string();
            thing.set_text(Key::MountPoint, notes.said(&mount.line, path));
        }
        let device = either(record, "Device Name", "DeviceName");
        if let Some(device) = device.filter(|device| is_device(&device.value))
            && let Some((number, _)) = record.number("Partition")
        {
            let name = partition_name(&device.value, number);
            notes.add(partition(&device.value, number));
            // A datastore of several extents has a row for each, one after the other.
            match found.last_mut() {
                Some(last) if last.names.first() == thing.names.first() => {
                    if last.on.len() < 32 {
                        last.on.push(name);
                        last.placing = Placing::Unknown;
                    }
                    continue;
                }
                _ => thing = thing.on(name),
            }
        }
        found.push(thing);
    }
    for thing in found {
        notes.add(thing);
    }
}

/// A VMFS volume.
pub(super) fn volume(uuid: &str, label: Option<&str>) -> Thing {
    let label = label.filter(|label| !label.is_empty());
    let title = label.unwrap_or(uuid).to_owned();
    let thing = Thing::new(
        LayerKind::Filesystem,
        title,
        Name::new(Space::Uuid, uuid.to_owned()),
    );
    match label {
        Some(label) => thing.named(Name::new(Space::Vmfs, label.to_owned())),
        None => thing,
    }
}

/// `vmfs5` of `VMFS-5` and `VMFS-5.60`; nothing else is a filesystem on a device of its own.
pub(super) fn format(text: &str) -> Option<String> {
    let version = text.trim().strip_prefix("VMFS-")?;
    let major = number::leading(version.split('.').next()?)?;
    Some(format!("vmfs{major}"))
}
