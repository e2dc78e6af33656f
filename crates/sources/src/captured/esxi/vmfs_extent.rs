//! `esxcli storage vmfs extent list`, `esxcli storage filesystem list` and `esxcfg-scsidevs -m`: which datastore lies on which partition.

use straddle_geometry::Bytes;
use straddle_stack::{Interval, Key, LayerKind};

use super::{NAMED, is_device, partition, partition_name, table};
use crate::captured::number;
use crate::captured::records::{Field, Record};
use crate::captured::text::Line;
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
        "esxcfg-scsidevs -m",
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
        Reader::Text {
            anchors: &NAMED,
            begins: |lines| mapped(&lines[0]).is_some(),
            read: |section: &Section<'_>, notes: &mut Notes<'_>| {
                let rows: Vec<Record<'_>> = section.lines.iter().filter_map(mapped).collect();
                add_all(&rows, notes);
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

/// A row of `esxcfg-scsidevs -m`, which has no heading: partition, its path, UUID, number of the extent, and the name of the datastore.
fn mapped<'t>(line: &Line<'t>) -> Option<Record<'t>> {
    let text = line.text.trim();
    let (partition, rest) = text.split_once(char::is_whitespace)?;
    let (path, rest) = rest.trim_start().split_once(char::is_whitespace)?;
    let (uuid, rest) = rest.trim_start().split_once(char::is_whitespace)?;
    let (extent, label) = rest.trim_start().split_once(char::is_whitespace)?;
    let (device, number) = partition.rsplit_once(':')?;
    let is_row = is_device(device)
        && path.ends_with(partition)
        && number::whole(number).is_some()
        && number::whole(extent).is_some();
    let field = |key: &'static str, value: &'t str| Field {
        key: key.into(),
        value: value.trim().into(),
        line: *line,
    };
    is_row.then(|| Record {
        fields: vec![
            field("VMFS UUID", uuid),
            field("Volume Name", label),
            field("Device Name", device),
            field("Partition", number),
        ],
    })
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_without_a_heading_have_a_partition_twice() {
        let row = |text| {
            let record = mapped(&Line { number: 1, text })?;
            let get = |key| record.get(key).map(|field| field.value.to_string());
            Some((get("Device Name")?, get("Partition")?, get("Volume Name")?))
        };
        let found = row(
            "mpx.vmhba1:C0:T0:L0:3   /vmfs/devices/disks/mpx.vmhba1:C0:T0:L0:3 551af5af-ec996c3b-1447-000c29b96d8d  0  my store",
        );
        let wanted = ("mpx.vmhba1:C0:T0:L0", "3", "my store");
        let wanted = (wanted.0.into(), wanted.1.into(), wanted.2.into());
        assert_eq!(found, Some(wanted));
        assert_eq!(
            row("naa.5000c500a1b2c3d4:1 /vmfs/devices/disks/naa.5000c500a1b2c3d4 5 0 a"),
            None
        );
        assert_eq!(
            row("naa.5000c500a1b2c3d4 Direct-Access /vmfs/devices/disks/naa 10MB NMP"),
            None
        );
    }
}
