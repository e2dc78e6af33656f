//! `Get-VHD` of PowerShell's Hyper-V module, in any shape.
//!
//! `Alignment` is 0 when the blocks lie on 512 bytes, 1 when they lie on 4 KiB (`Msvm_VirtualHardDiskState.Alignment`). A
//! dynamic VHD has a bitmap in front of each block: 512 bytes for blocks of 2 MiB when they are not aligned.

use straddle_geometry::Bytes;
use straddle_stack::{Anomaly, AnomalyKind, Fact, GridRole, Key, LayerKind, Value};

use super::{coded, first_number, set_grid, set_size, set_text};
use crate::captured::records::Record;
use crate::captured::tool::{Context, Notes, Reader, Tool};
use crate::inventory::{Name, Placing, Space, Thing};

pub(crate) static TOOL: Tool = Tool {
    name: "get-vhd",
    platform: "windows",
    commands: &[
        "Get-VHD FILE",
        "Get-VHD FILE | Format-List *",
        "Get-VHD FILE | ConvertTo-Json",
        "Get-VHD FILE | Export-Clixml FILE",
    ],
    readers: &[
        Reader::Records {
            keys: &["Path", "VhdFormat"],
            read,
        },
        Reader::Records {
            keys: &["Path", "VhdType"],
            read,
        },
    ],
};

fn read(records: &[Record<'_>], _: &Context<'_>, notes: &mut Notes<'_>) {
    for record in records {
        if let Some(path) = record.uncut("Path") {
            let path = Name::new(Space::Path, path.value.to_string());
            attached(record, &path, notes);
            let container = container(record, &path, notes);
            notes.add(container);
        }
    }
}

fn container(record: &Record<'_>, path: &Name, notes: &mut Notes<'_>) -> Thing {
    let title = path.text.rsplit('\\').next().unwrap_or(&path.text);
    let mut thing = Thing::new(LayerKind::Container, title.to_owned(), path.clone());
    // Where the file's blocks are in its volume is not said.
    thing.placing = Placing::Unknown;
    let format = record.filled("VhdFormat").and_then(|field| {
        let formats = [(2, "vhd"), (3, "vhdx"), (4, "vhdset")];
        Some((coded(&field.value, &formats)?, field.line))
    });
    if let Some((format, line)) = &format {
        thing.format = Some(notes.said(line, (*format).into()));
    }
    let kind = record.filled("VhdType").and_then(|field| {
        let kinds = [(2, "fixed"), (3, "dynamic"), (4, "differencing")];
        Some((coded(&field.value, &kinds)?, field.line))
    });
    if let Some((kind, line)) = &kind {
        thing.set_text(Key::Subformat, notes.said(line, (*kind).to_owned()));
    }
    set_size(&mut thing, record, &["Size"], notes);
    if let (Some(("fixed", _)), Some((file, a)), Some((size, b))) =
        (kind, record.number("FileSize"), record.number("Size"))
        && file < size
    {
        let detail = format!("a fixed disk of {size} bytes does not fit into a file of {file}");
        notes.contradicts(&mut thing, detail, &a, &b);
    }
    set_grid(
        &mut thing,
        GridRole::LogicalSector,
        record,
        "LogicalSectorSize",
        notes,
    );
    if let Some((bytes, line)) = record.number("PhysicalSectorSize") {
        let value = Value::Bytes(Bytes::new(bytes));
        thing.set(Key::GuestPhysicalSector, notes.said(&line, value));
    }
    set_grid(
        &mut thing,
        GridRole::ContainerBlock,
        record,
        "BlockSize",
        notes,
    );
    set_text(&mut thing, Key::DiskId, record, &["DiskIdentifier"], notes);
    let in_blocks = kind.is_some_and(|(kind, _)| kind != "fixed");
    alignment(&mut thing, record, format.map(|(f, _)| f), in_blocks, notes);
    if let Some(volume) = volume_of(&path.text) {
        thing = thing.on(volume);
        if let Some(parent) = record.uncut("ParentPath") {
            thing = thing.on(Name::new(Space::Path, parent.value.to_string()));
        }
    }
    set_text(&mut thing, Key::Parent, record, &["ParentPath"], notes);
    thing
}

/// What the flag says of where blocks are.
fn alignment(
    thing: &mut Thing,
    record: &Record<'_>,
    format: Option<&str>,
    in_blocks: bool,
    notes: &Notes<'_>,
) {
    let Some((flag, line)) = record.number("Alignment") else {
        return;
    };
    let blocks = match flag {
        0 => Bytes::new(512),
        1 => Bytes::kib(4),
        _ => return,
    };
    thing.set(Key::BlockAlignment, notes.said(&line, Value::Bytes(blocks)));
    if flag == 0 && in_blocks {
        let detail = "Alignment 0: its blocks lie on 512 bytes, not on 4 KiB; which of them are off is in its table: check \
                      the file itself on its host";
        thing.remarks.push(Anomaly::at(
            AnomalyKind::Missing,
            detail,
            notes.source(&line),
        ));
    }
    let Some((block, _)) = record.number("BlockSize").filter(|(n, _)| *n > 0) else {
        return;
    };
    // One bit for each sector of 512 bytes, rounded up to what blocks lie on.
    let bitmap = block.div_ceil(512 * 8).next_multiple_of(blocks.get());
    if format == Some("vhd")
        && in_blocks
        && let Some(stride) = block.checked_add(bitmap)
    {
        let from = format!(
            "block of {block} + bitmap of {bitmap} bytes, as blocks lie on {} bytes",
            blocks.grouped()
        );
        let fact = Fact::derived(Value::Bytes(Bytes::new(stride)), from);
        thing.set(Key::BlockStride, fact);
    }
}

/// An attached disk is a disk of this system.
fn attached(record: &Record<'_>, path: &Name, notes: &mut Notes<'_>) {
    let is_attached = record
        .get("Attached")
        .is_some_and(|field| field.value.eq_ignore_ascii_case("true"));
    if let Some(disk) = first_number(record, &["DiskNumber", "Number"])
        && is_attached
    {
        let title = format!("disk {disk}");
        let thing = Thing::new(LayerKind::Device, title, Name::windows_disk(disk));
        notes.add(thing.on(path.clone()));
    }
}

/// The volume in `D:\VMs\a.vhdx` or `C:\ClusterStorage\Volume1\a.vhdx`; none for a share.
fn volume_of(path: &str) -> Option<Name> {
    let bytes = path.as_bytes();
    if !(bytes.first()?.is_ascii_alphabetic() && bytes.get(1..3)? == b":\\") {
        return None;
    }
    let mut parts = path.split('\\');
    let (drive, folder, mount) = (parts.next()?, parts.next(), parts.next());
    let volume = match (folder, mount) {
        (Some("clusterstorage"), Some(mount)) => format!("{drive}\\clusterstorage\\{mount}"),
        _ => drive.to_owned(),
    };
    Some(Name::new(Space::WindowsVolume, volume))
}

#[cfg(test)]
mod tests {
    use super::volume_of;

    #[test]
    fn a_file_lies_on_its_drive_or_cluster_volume() {
        let of = |path| volume_of(path).map(|name| name.text.into_owned());
        assert_eq!(of(r"d:\vms\a.vhdx").as_deref(), Some("d:"));
        let cluster = of(r"c:\clusterstorage\volume1\a\a.vhdx");
        assert_eq!(cluster.as_deref(), Some(r"c:\clusterstorage\volume1"));
        assert_eq!(of(r"\\nas\vms\a.vhdx"), None);
    }
}
