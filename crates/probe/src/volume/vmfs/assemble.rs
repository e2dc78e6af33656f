//! From devices to the volume over them, and to the datastore on it.

use std::collections::BTreeSet;
use straddle_geometry::{Bytes, Extent, Grid, Map, Segment, Unit};
use straddle_io::ReadError;
use straddle_stack::{Anomaly, AnomalyKind, Fact, GridRole, Key, Layer, LayerKind, Value};
use zerocopy::byteorder::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{EXTENT, HEADER, Parts, VmfsUuid, Volume};
use crate::record::{Recorder, place, printable};
use crate::volume::{Assembly, Below, Holds, Node, Part};
use crate::{Detected, Window};

/// The filesystem's header: VMFS, and VMFS-L.
const MAGICS: [(u32, &str); 2] = [(0x2fab_f15e, "VMFS"), (0x2fab_f15f, "VMFS-L")];
/// A volume has 32 devices at most.
const MAX_DEVICES: usize = 32;
/// Blocks that VMFS has had: 1 to 8 MiB before version 5, 1 MiB since; 64 KiB where it is smallest.
const BLOCKS: std::ops::RangeInclusive<u64> = 1 << 16..=1 << 23;

/// The filesystem's header.
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Header {
    magic: U32,
    version: U32,
    minor: u8,
    uuid: VmfsUuid,
    mode: U32,
    label: [u8; 128],
    disk_block: U32,
    block: U64,
    created: U32,
    snapshot: U32,
    volume: [u8; 32],
    descriptors: U32,
    descriptor_bitmaps: U32,
    sub_block: U32,
}

/// The version that VMware gives to what the header records: major numbers up to 13 are VMFS 3, up to 23 VMFS 5.
fn generation(version: u32) -> u32 {
    match version {
        0..=13 => 3,
        14..=23 => 5,
        _ => 6,
    }
}

pub(super) fn assemble(parts: &[Part<'_>]) -> Result<Assembly, ReadError> {
    let mut read = Vec::new();
    for (index, part) in parts.iter().enumerate().take(MAX_DEVICES) {
        if let Some(this) = Parts::read(&part.window)? {
            read.push((index, part.window, this));
        }
    }
    read.sort_by_key(|(_, _, this)| this.volume.first.get());
    let mut assembly = Assembly::default();
    let Some((_, window, first)) = read.first() else {
        return Ok(assembly);
    };
    let say = Recorder::new(window, first.volume_at);
    let mut layer = Layer::new(LayerKind::Volume, format!("VMFS volume {}", first.set()));
    layer.format = Some("vmfs-volume".into());
    layer.set(
        Key::SetUuid,
        say.fact(
            Value::Text(first.volume.uuid.to_string().into()),
            place!(Volume.uuid),
        ),
    );
    let (segments, end) = segments(&read, &mut layer);
    let placed = Map::segments(segments);
    if placed.is_none() {
        layer.anomalies.push(Anomaly::at(
            AnomalyKind::Damaged,
            "two of its devices claim the same extent",
            say.source(place!(Volume.first)),
        ));
    }
    layer.map = placed.unwrap_or(Map::Segments(Vec::new()));
    layer.size = Bytes::new(EXTENT)
        .checked_mul(end)
        .filter(|size| *size > Bytes::ZERO)
        .map(|size| Fact::derived(size, format!("{end} extents of 256 MiB")));
    let mut below: Vec<Below> = read.iter().map(|(index, ..)| Below::Part(*index)).collect();
    below.extend(missing(&read, first));
    assembly.nodes.push(Node {
        layer,
        below,
        holds: Holds::Nothing,
    });
    if first.volume.first.get() == 0
        && let Some(mut datastore) = datastore(window, first)?
    {
        let volume = assembly.nodes.first();
        datastore.size = volume.and_then(|node| node.layer.size.clone());
        let size = datastore
            .size
            .as_ref()
            .map_or(Bytes::ZERO, |size| size.value);
        datastore.placement = Extent::new(Bytes::ZERO, size)
            .map(|extent| Fact::derived(extent, "its header lies 2 MiB into the volume"));
        assembly.nodes.push(Node {
            layer: datastore,
            below: vec![Below::Node(0)],
            holds: Holds::Nothing,
        });
    }
    Ok(assembly)
}

/// Where the extents of each device lie in the volume, and how many the volume has up to the last that is known.
fn segments(read: &[(usize, Window<'_>, Parts)], layer: &mut Layer) -> (Vec<Segment>, u64) {
    let mut segments = Vec::new();
    let mut end = 0;
    for (target, (_, window, this)) in read.iter().enumerate() {
        let (first, count) = this.extents();
        let bytes = |extents: u64| extents.checked_mul(EXTENT).map(Bytes::new);
        let upper = bytes(first)
            .zip(bytes(count))
            .and_then(|(start, len)| Extent::new(start, len));
        match upper {
            Some(upper) => {
                end = end.max(first.saturating_add(count));
                segments.push(Segment {
                    upper,
                    target,
                    lower: Bytes::new(this.device.data_start.get()),
                });
            }
            None => {
                let say = Recorder::new(window, this.volume_at);
                layer.anomalies.push(Anomaly::at(
                    AnomalyKind::Damaged,
                    format!("{count} extents from number {first}: they end beyond 2^64 bytes"),
                    say.source(place!(Volume.first)),
                ));
            }
        }
    }
    (segments, end)
}

/// The devices of the volume that were not given, by the extents between those that were.
fn missing(read: &[(usize, Window<'_>, Parts)], any: &Parts) -> Vec<Below> {
    let devices = usize::try_from(any.volume.devices.get()).unwrap_or(usize::MAX);
    let wanted = devices.min(MAX_DEVICES).saturating_sub(read.len());
    if wanted == 0 {
        return Vec::new();
    }
    let uuid = &any.volume.uuid;
    let mut names = BTreeSet::new();
    let mut next = 0;
    for (_, _, this) in read {
        let (first, count) = this.extents();
        if first > next && names.len() < wanted {
            names.insert(format!(
                "device of extents {next} to {} of {uuid}",
                first - 1
            ));
        }
        next = next.max(first.saturating_add(count));
    }
    let left = wanted.saturating_sub(names.len());
    if left > 0 {
        let word = if left == 1 { "device" } else { "devices" };
        names.insert(format!("{left} {word} from extent {next} on of {uuid}"));
    }
    names.into_iter().map(Below::Missing).collect()
}

/// The filesystem, by its header on the volume's first device.
fn datastore(window: &Window<'_>, parts: &Parts) -> Result<Option<Layer>, ReadError> {
    let at = parts.device.data_start.get().checked_add(HEADER);
    let len = u64::try_from(size_of::<Header>()).unwrap_or(u64::MAX);
    let inside = |at: &u64| {
        at.checked_add(len)
            .is_some_and(|end| end <= window.size().get())
    };
    let Some(at) = at.filter(inside) else {
        return Ok(None);
    };
    let header: Header = window.get(at)?;
    let magic = header.magic.get();
    let Some((_, title)) = MAGICS.iter().find(|(known, _)| *known == magic) else {
        return Ok(None);
    };
    let mut say = Recorder::new(window, at);
    let (version, minor) = (header.version.get(), header.minor);
    let text = format!("{}.{minor}", generation(version));
    say.text(Key::Version, text, place!(Header.version));
    let label = printable(&header.label);
    let evidence = crate::record::Place::new(core::mem::offset_of!(Header, label), 16);
    say.label(&header.label, evidence);
    say.text(Key::Uuid, header.uuid.to_string(), place!(Header.uuid));
    let block = header.block.get();
    say.bytes(Key::BlockSize, block, place!(Header.block));
    let sub_block = u64::from(header.sub_block.get());
    say.bytes_if_set(Key::SubBlockSize, sub_block, place!(Header.sub_block));
    let mut grid = None;
    if block.is_power_of_two() && BLOCKS.contains(&block) {
        let unit = Unit::new(block);
        grid = unit.map(|unit| say.fact(Grid::new(unit), place!(Header.block)));
    } else {
        let detail = format!("blocks of {block} bytes; expected 64 KiB to 8 MiB");
        say.odd(AnomalyKind::Damaged, detail, place!(Header.block));
    }
    let Detected {
        attributes,
        anomalies,
        ..
    } = say.finish();
    let name = match label.as_str() {
        "" => format!("{title} {}", header.uuid),
        label => label.to_owned(),
    };
    let mut layer = Layer::new(LayerKind::Filesystem, name);
    let format = match (*title, generation(version)) {
        ("VMFS-L", _) => "vmfs-l",
        (_, 3) => "vmfs3",
        (_, 5) => "vmfs5",
        _ => "vmfs6",
    };
    layer.format = Some(format.into());
    layer.attributes = attributes;
    layer.anomalies = anomalies;
    if let Some(grid) = grid {
        layer.add_grid(GridRole::AllocationUnit, grid);
    }
    layer.map = Map::IDENTITY;
    Ok(Some(layer))
}
