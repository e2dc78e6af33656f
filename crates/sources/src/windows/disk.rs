//! A disk: how long it is, its sectors, what it is attached by, and what its table says.

use straddle_geometry::{Bytes, Unit};
use straddle_stack::{Anomaly, AnomalyKind, GridFact, GridRole, Interval, Key, LayerKind, Value};

use super::answer::{
    AccessAlignment, Adapter, Dependencies, DriveLayout, Geometry, NvmeNamespace, PartitionKind,
    PartitionSeen, PointerWidth, Pointers, StorageDevice, Table, WriteCache, length, seek_penalty,
    trim,
};
use super::asked::{Asked, said};
use super::machine::Machine;
use super::question::{Ask, Of};
use crate::inventory::{Inventory, Name, Space, Thing};

/// How the remark begins that the system does not tell what is in the table of a disk.
pub(super) const NO_TABLE: &str = "its partition table is not read";

/// What a disk is called.
pub(super) fn title(number: u32) -> String {
    format!("disk {number}")
}

/// Notes a disk and its partitions.
pub(super) fn note(machine: Machine<'_>, number: u32, all: &mut Inventory) {
    let title = title(number);
    let name = Name::windows_disk(number.into());
    let mut thing = Thing::new(LayerKind::Device, title, name);
    let asked = Asked {
        machine,
        of: Of::Disk(number),
    };
    size_and_sectors(&asked, &mut thing);
    device(&asked, &mut thing);
    cache(&asked, &mut thing);
    namespace(&asked, &mut thing);
    host_file(&asked, &mut thing, all);
    if let Some(has_seek_penalty) = asked.get(&mut thing, Ask::SeekPenalty, seek_penalty) {
        let text = format!("IncursSeekPenalty {}", u8::from(has_seek_penalty));
        let fact = said(Ask::SeekPenalty, Value::Flag(has_seek_penalty), text);
        thing.set(Key::Rotational, fact);
    }
    if let Some(is_told) = asked.get(&mut thing, Ask::Trim, trim) {
        let text = format!("TrimEnabled {}", u8::from(is_told));
        let fact = said(Ask::Trim, Value::Flag(is_told), text);
        thing.set(Key::Trim, fact);
    }
    match asked.try_get(&mut thing, Ask::Layout, DriveLayout::decode) {
        Ok(Some(layout)) => table(number, &layout, thing, all),
        Ok(None) => all.add(thing),
        Err(why) => {
            let detail = match why.is_denied() {
                true => format!(
                    "{NO_TABLE}: {why}; an elevated prompt (Run as administrator) may read it"
                ),
                false => format!("{NO_TABLE}: {why}"),
            };
            thing
                .remarks
                .push(Anomaly::new(AnomalyKind::Missing, detail));
            all.add(thing);
        }
    }
}

fn size_and_sectors(asked: &Asked<'_>, thing: &mut Thing) {
    let geometry = asked.get(thing, Ask::Geometry, Geometry::decode);
    // Only who may read the disk is told its length; everybody its geometry, which drivers round to whole sectors.
    let exact = asked.get(thing, Ask::Length, length);
    let size = match (exact, &geometry) {
        (Some(size), _) => Some((Ask::Length, size)),
        (None, Some(geometry)) => Some((Ask::Geometry, geometry.size)),
        (None, None) => None,
    };
    // A reader without a medium has none.
    if let Some((ask, size)) = size.filter(|(_, size)| *size > Bytes::ZERO) {
        let text = format!("{} bytes", size.get());
        thing.size = Some(said(ask, Interval::exact(size), text));
    }
    if let Some(geometry) = &geometry {
        let text = format!("BytesPerSector {}", geometry.sector.get());
        thing.grid(
            GridRole::LogicalSector,
            said(Ask::Geometry, geometry.sector.unit(), text),
        );
    }
    let Some(found) = asked.get(thing, Ask::Alignment, AccessAlignment::decode) else {
        return;
    };
    let logical = format!("BytesPerLogicalSector {}", found.logical.get());
    if geometry.is_none() {
        thing.grid(
            GridRole::LogicalSector,
            said(Ask::Alignment, found.logical.unit(), logical),
        );
    }
    let text = format!(
        "BytesPerPhysicalSector {}, BytesOffsetForSectorAlignment {}",
        found.physical.get(),
        found.offset.get()
    );
    thing.grids.push(GridFact {
        role: GridRole::PhysicalSector,
        grid: said(Ask::Alignment, found.physical_grid(), text),
    });
}

fn device(asked: &Asked<'_>, thing: &mut Thing) {
    let with_serial = asked.machine.with_serials();
    let decode = |bytes: &[u8]| StorageDevice::decode(bytes, with_serial);
    let Some(found) = asked.get(thing, Ask::Device, decode) else {
        return;
    };
    for unread in &found.unread {
        let detail = format!("{}: {unread}", Ask::Device.call());
        thing
            .remarks
            .push(Anomaly::new(AnomalyKind::Damaged, detail));
    }
    // ATA disks have their vendor in the model's name, SCSI disks beside it.
    let words = [found.vendor.as_deref(), found.product.as_deref()];
    let model: Vec<&str> = words
        .into_iter()
        .flatten()
        .filter(|word| *word != "ATA")
        .collect();
    let model = model.join(" ");
    thing.set_text(Key::Model, said(Ask::Device, model.clone(), model));
    if let Some(most) = asked
        .get(thing, Ask::Adapter, Adapter::decode)
        .and_then(|adapter| adapter.max_transfer)
    {
        let text = format!("MaximumTransferLength {}", most.get());
        thing.set(
            Key::MaxRequest,
            said(Ask::Adapter, Value::Bytes(most), text),
        );
    }
    if let Some(transport) = found.bus.transport() {
        let text = format!("BusType {:?}", found.bus);
        thing.set_text(
            Key::Transport,
            said(Ask::Device, transport.to_owned(), text),
        );
    }
    if let Some(serial) = found.serial {
        thing.names.push(Name::new(Space::Serial, serial.clone()));
        thing.set_text(Key::Serial, said(Ask::Device, serial.clone(), serial));
    }
}

/// Whether the disk acknowledges writes that are in its cache only.
fn cache(asked: &Asked<'_>, thing: &mut Thing) {
    let found = asked.get(thing, Ask::Cache, WriteCache::decode);
    if let Some(is_enabled) = found.and_then(|cache| cache.is_enabled) {
        let value = match is_enabled {
            true => "write back",
            false => "write through",
        };
        let text = format!("WriteCacheEnabled {}", u8::from(is_enabled));
        thing.set_text(Key::WriteCache, said(Ask::Cache, value.to_owned(), text));
    }
}

/// The file that a mounted VHD or VHDX lies in, followed to the volume that has it.
fn host_file(asked: &Asked<'_>, thing: &mut Thing, all: &mut Inventory) {
    // Answers are kept with offsets in the place of pointers; those of a program of 32 bits are not kept by one of 64.
    let rebased = Pointers {
        width: PointerWidth::Bits64,
        base: 0,
    };
    let decode = |bytes: &[u8]| Dependencies::decode(bytes, rebased);
    let Some(found) = asked.get(thing, Ask::HostFiles, decode) else {
        return;
    };
    // The others are what a differencing disk is made of.
    let Some(own) = found.entries.iter().min_by_key(|entry| entry.ancestor) else {
        return;
    };
    let (Some(volume), Some(path)) = (&own.host_volume, &own.path) else {
        return;
    };
    let full = format!(
        "{}\\{}",
        volume.trim_end_matches('\\'),
        path.trim_start_matches('\\')
    );
    let name = Name::new(Space::Path, full.clone());
    thing.on = vec![name.clone()];
    let on = Name::new(Space::WindowsVolume, volume.clone());
    let mut file = Thing::new(LayerKind::File, full.clone(), name).on(on);
    super::extents::place(asked.machine, volume, &full, &mut file);
    all.add(file);
}

/// What an NVMe drive says of its namespace, as a capture of `nvme id-ns` is read.
fn namespace(asked: &Asked<'_>, thing: &mut Thing) {
    let Some(found) = asked.get(thing, Ask::NvmeNamespace, NvmeNamespace::decode) else {
        return;
    };
    let lengths = [
        ("NPWG", found.write_granularity, GridRole::MinimumIo),
        ("NOWS", found.optimal_write, GridRole::OptimalIo),
        (
            "NPDG",
            found.discard_granularity,
            GridRole::DiscardGranularity,
        ),
        ("NOIOB", found.boundary, GridRole::ChunkSectors),
    ];
    for (name, bytes, role) in lengths {
        if let Some(unit) = bytes.and_then(|bytes| Unit::new(bytes.get())) {
            let text = format!("{name} {} bytes", unit.get());
            thing.grid(role, said(Ask::NvmeNamespace, unit, text));
        }
    }
    if let Some(most) = found.atomic_power_fail {
        let text = format!("NAWUPF {} bytes", most.get());
        thing.set(
            Key::AtomicWriteMax,
            said(Ask::NvmeNamespace, Value::Bytes(most), text),
        );
    }
}

fn table(number: u32, layout: &DriveLayout, mut disk: Thing, all: &mut Inventory) {
    let (style, id) = match layout.table {
        Table::Mbr { signature } => ("mbr", (signature > 0).then(|| format!("{signature:08x}"))),
        Table::Gpt { disk, .. } => ("gpt", Some(disk.to_string())),
        Table::Raw => {
            // A volume without a table, or an empty disk: what is on it says the rest.
            all.add(disk);
            return;
        }
    };
    let text = format!("PartitionStyle {}", style.to_uppercase());
    disk.set_text(
        Key::PartitionTable,
        said(Ask::Layout, style.to_owned(), text),
    );
    if let Some(id) = id {
        disk.names.push(Name::new(Space::TableId, id.clone()));
        disk.set_text(Key::TableId, said(Ask::Layout, id.clone(), id));
    }
    if layout.missing > 0 {
        let detail = format!(
            "{} says that there are {} more partitions than it names",
            Ask::Layout.call(),
            layout.missing
        );
        disk.remarks
            .push(Anomaly::new(AnomalyKind::Truncated, detail));
    }
    all.add(disk);
    for partition in &layout.partitions {
        all.add(entry(number, partition));
    }
}

fn entry(disk: u32, partition: &PartitionSeen) -> Thing {
    let start = partition.extent.start();
    let (title, name) = match partition.number {
        // What is no device of its own: an extended partition.
        0 => (
            format!("partition at {} of disk {disk}", start.get()),
            Name::new(Space::WindowsPartition, format!("{disk}/@{}", start.get())),
        ),
        number => (
            format!("disk {disk} partition {number}"),
            Name::new(Space::WindowsPartition, format!("{disk}/{number}")),
        ),
    };
    let mut thing =
        Thing::new(LayerKind::Partition, title, name).on(Name::windows_disk(disk.into()));
    let text = format!("StartingOffset {}", start.get());
    thing.start = Some(said(Ask::Layout, Interval::exact(start), text));
    let len = partition.extent.len();
    let text = format!("PartitionLength {}", len.get());
    thing.size = Some(said(Ask::Layout, Interval::exact(len), text));
    let code = match &partition.kind {
        PartitionKind::Mbr { code, .. } => {
            if matches!(code, 0x05 | 0x0f) {
                let text = format!("PartitionType {code:#04x}");
                thing.set(
                    Key::HoldsPartitions,
                    said(Ask::Layout, Value::Flag(true), text),
                );
            }
            Some(format!("{code:02x}"))
        }
        PartitionKind::Gpt { code, id, .. } => {
            thing = thing.named(Name::new(Space::Uuid, id.to_string()));
            Some(code.to_string().to_uppercase())
        }
        PartitionKind::Raw => None,
    };
    if let Some(code) = code {
        let text = format!("PartitionType {code}");
        thing.set_text(Key::PartitionType, said(Ask::Layout, code, text));
    }
    thing
}
