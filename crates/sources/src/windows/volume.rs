//! A volume: where it lies on disks, and the filesystem in it.

use std::borrow::Cow;

use straddle_geometry::{Bytes, Grid, Unit};
use straddle_stack::{
    Anomaly, AnomalyKind, Fact, GridFact, GridRole, Interval, Key, LayerKind, Value,
};

use super::answer::{
    DeviceNumber, DiskExtent, FilesystemSize, NtfsVolume, Part, RefsVolume, SectorInfo,
    VolumeExtents, filesystem_name,
};
use super::asked::{Asked, said};
use super::machine::{Machine, Mounted};
use super::question::{Ask, Of};
use crate::inventory::{Inventory, MAX_BELOW, Name, Placing, Space, Thing};

/// What a volume is called.
pub(super) fn title(mounted: &Mounted) -> String {
    let title = mounted.at.first().unwrap_or(&mounted.path);
    title.trim_end_matches('\\').to_owned()
}

/// What is remarked of a volume of which only the extents are known.
pub(super) const HOW_UNKNOWN: &str = "a dynamic volume of several extents: the system does not say whether they are striped, mirrored or one after the \
     other; an elevated prompt (Run as administrator) reads it from the disks, and `detail volume` of diskpart says it";

/// Notes a volume, and its filesystem.
pub(super) fn note(machine: Machine<'_>, mounted: &Mounted, all: &mut Inventory) {
    let names = mounted.at.iter().chain([&mounted.path]);
    let names: Vec<Name> = names
        .map(|name| Name::new(Space::WindowsVolume, name.clone()))
        .collect();
    let Some(name) = names.first().cloned() else {
        return;
    };
    let title = title(mounted);
    let asked = Asked {
        machine,
        of: Of::Volume(mounted.path.clone()),
    };
    let mut thing = Thing::new(LayerKind::Partition, title.clone(), name.clone());
    for name in names {
        thing = thing.named(name);
    }
    match asked.try_get(&mut thing, Ask::Extents, VolumeExtents::decode) {
        Ok(Some(found)) => place(&asked, &mut thing, &found, &title, all),
        // What is wrong with the answer is remarked.
        Ok(None) => thing.placing = Placing::Unknown,
        Err(why) if why.is_of_the_medium() => return,
        Err(why) => {
            thing.placing = Placing::Unknown;
            let detail = format!("where it lies is not known: {why}");
            thing
                .remarks
                .push(Anomaly::new(AnomalyKind::Missing, detail));
        }
    }
    all.add(thing);
    filesystem(&asked, &title, &name, all);
}

fn place(
    asked: &Asked<'_>,
    thing: &mut Thing,
    found: &VolumeExtents,
    title: &str,
    all: &mut Inventory,
) {
    if let ([only], 0) = (found.extents.as_slice(), found.missing) {
        thing.on = vec![Name::windows_disk(only.disk.into())];
        let start = only.extent.start();
        thing.start = Some(said(
            Ask::Extents,
            Interval::exact(start),
            format!("StartingOffset {}", start.get()),
        ));
        let len = only.extent.len();
        thing.size = Some(said(
            Ask::Extents,
            Interval::exact(len),
            format!("ExtentLength {}", len.get()),
        ));
        let number = asked.get(thing, Ask::Number, DeviceNumber::decode);
        if let Some(DeviceNumber {
            number: Some(disk),
            part: Part::Partition(part),
            device_type: DeviceNumber::DISK,
            ..
        }) = number
            && disk == only.disk
        {
            let name = Name::new(Space::WindowsPartition, format!("{disk}/{part}"));
            thing.names.push(name);
        }
        return;
    }
    thing.kind = LayerKind::Volume;
    thing.placing = Placing::Unknown;
    if found.extents.is_empty() && found.missing == 0 {
        let detail = format!("{} names no disk that it lies on", Ask::Extents.call());
        thing
            .remarks
            .push(Anomaly::new(AnomalyKind::Missing, detail));
        return;
    }
    for extent in found.extents.iter().take(MAX_BELOW) {
        let below = part(extent, title, all);
        if !thing.on.contains(&below) {
            thing.on.push(below);
        }
    }
    let count = found.extents.len() as u64 + u64::from(found.missing);
    let text = format!("NumberOfDiskExtents {count}");
    thing.set(Key::Extents, said(Ask::Extents, Value::Count(count), text));
    thing
        .remarks
        .push(Anomaly::new(AnomalyKind::Missing, HOW_UNKNOWN));
}

/// Notes an extent of a volume that has several, and gives its name.
fn part(extent: &DiskExtent, volume: &str, all: &mut Inventory) -> Name {
    let (disk, start) = (extent.disk, extent.extent.start());
    let name = Name::new(Space::WmiPartition, format!("{disk}/@{}", start.get()));
    let title = format!("extent of {volume} on disk {disk}");
    let mut thing =
        Thing::new(LayerKind::Partition, title, name.clone()).on(Name::windows_disk(disk.into()));
    let text = |what: &str, bytes: Bytes| format!("{what} {}", bytes.get());
    thing.start = Some(said(
        Ask::Extents,
        Interval::exact(start),
        text("StartingOffset", start),
    ));
    let len = extent.extent.len();
    thing.size = Some(said(
        Ask::Extents,
        Interval::exact(len),
        text("ExtentLength", len),
    ));
    all.add(thing);
    name
}

/// What NTFS or ReFS says of itself; others say nothing here.
fn filesystem(asked: &Asked<'_>, title: &str, on: &Name, all: &mut Inventory) {
    let mut thing = Thing::new(LayerKind::Filesystem, title, on.clone()).on(on.clone());
    let found = match asked.get(&mut thing, Ask::Ntfs, NtfsVolume::decode) {
        Some(ntfs) => {
            let mft = ntfs.cluster.bytes().checked_mul(ntfs.mft_start);
            if let Some(mft) = mft {
                let text = format!("MftStartLcn {}", ntfs.mft_start);
                thing.set(Key::MftOffset, said(Ask::Ntfs, Value::Bytes(mft), text));
            }
            if let Some((major, minor)) = ntfs.version {
                let version = format!("{major}.{minor}");
                thing.set_text(Key::Version, said(Ask::Ntfs, version.clone(), version));
            }
            Some((Ask::Ntfs, "ntfs", ntfs.cluster))
        }
        None => asked
            .get(&mut thing, Ask::Refs, RefsVolume::decode)
            .map(|refs| {
                let version = format!("{}.{}", refs.version.0, refs.version.1);
                thing.set_text(Key::Version, said(Ask::Refs, version.clone(), version));
                (Ask::Refs, "refs", refs.cluster)
            })
            .or_else(|| other(asked, &mut thing)),
    };
    sectors(asked, &mut thing);
    let Some((ask, format, cluster)) = found else {
        if !thing.remarks.is_empty() {
            all.add(thing);
        }
        return;
    };
    let said_format: Fact<Cow<'static, str>> = said(ask, Cow::Borrowed(format), format);
    thing.format = Some(said_format);
    unit(&mut thing, ask, cluster);
    all.add(thing);
}

/// What every filesystem says of itself, for those that have no call of their own.
fn other(asked: &Asked<'_>, thing: &mut Thing) -> Option<(Ask, &'static str, Unit)> {
    let name = asked.get(thing, Ask::Name, filesystem_name)?;
    let format = match name.to_ascii_uppercase().as_str() {
        "FAT" | "FAT12" | "FAT16" | "FAT32" => "fat",
        "EXFAT" => "exfat",
        "NTFS" => "ntfs",
        "REFS" => "refs",
        // A network drive, a CD-ROM, what a driver of somebody's calls itself.
        _ => return None,
    };
    let size = asked.get(thing, Ask::Size, FilesystemSize::decode)?;
    Some((Ask::Size, format, size.cluster))
}

/// What the filesystem was told of the sectors below it: where the disk itself does not answer, it is all there is.
fn sectors(asked: &Asked<'_>, thing: &mut Thing) {
    let Some(found) = asked.get(thing, Ask::Sectors, SectorInfo::decode) else {
        return;
    };
    let logical = found.logical.unit();
    let mut pass_on = |role, unit: Unit, text: String| {
        thing.passed_on.push(GridFact {
            role,
            grid: said(Ask::Sectors, Grid::new(unit), text),
        });
    };
    let text = format!("LogicalBytesPerSector {}", logical.get());
    pass_on(GridRole::LogicalSector, logical, text);
    if let Some(physical) = found.performance {
        let text = format!("PhysicalBytesPerSectorForPerformance {}", physical.get());
        pass_on(GridRole::PhysicalSector, physical.unit(), text);
    }
}

fn unit(thing: &mut Thing, ask: Ask, cluster: Unit) {
    let text = format!("BytesPerCluster {}", cluster.get());
    thing.grid(GridRole::AllocationUnit, said(ask, cluster, text.clone()));
    thing.set(
        Key::BlockSize,
        said(ask, Value::Bytes(cluster.bytes()), text),
    );
}
