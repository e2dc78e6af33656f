//! What a VHDX says about its disk.
//!
//! ```text
//! 0x00  "metadata"   0x0a  u16 items, at most 2,047
//! 0x20  items of 32 bytes: GUID, u32 offset in the region, u32 length, u32 flags (4: required)
//! parent locator: GUID, u16, u16 pairs; pairs of 12 bytes: u32 key offset, u32 value offset, u16 and u16 lengths
//! ```

use straddle_geometry::{Bytes, Extent, SectorSize, Unit};
use straddle_io::ReadError;
use straddle_stack::{AnomalyKind, Fact, GridRole, Key};
use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::header::MIB;
use crate::Window;
use crate::container::names::{Names, utf16_le};
use crate::container::{OpensAs, Reference, Role};
use crate::record::{Place, Recorder, guid};

const MAX: usize = 2047;
const TABLE_LEN: u64 = 64 << 10;
/// Longest parent locator that is read: paths of Windows have at most 32,767 characters.
const MAX_LEN: u64 = 256 << 10;
/// Largest disk by the specification.
const LARGEST: u64 = 64 << 40;

const PARAMETERS: &str = "caa16737-fa36-4d43-b3b6-33f0aa44e76b";
const SIZE: &str = "2fa54224-cd1b-4876-b211-5dbed83bf4b8";
const DISK_ID: &str = "beca12ab-b2e6-4523-93ef-c309e000c746";
const LOGICAL: &str = "8141bf1d-a96f-4709-ba47-f233a8faab5f";
const PHYSICAL: &str = "cda348c7-445d-4471-9cc9-e9885251c556";
const PARENT: &str = "a8d35f2d-b30b-454d-abf7-d3d84834ab0c";
/// The only type of locator.
const LOCATOR: &str = "b04aefb7-d19e-4a81-b789-25b8e9445913";

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Item {
    id: [u8; 16],
    offset: U32,
    len: U32,
    flags: U32,
    reserved: U32,
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Pair {
    key: U32,
    value: U32,
    key_len: U16,
    value_len: U16,
}

/// What is needed to follow the disk.
pub(super) struct Metadata {
    pub(super) size: Fact<Bytes>,
    pub(super) block: Unit,
    pub(super) sector: SectorSize,
    pub(super) differencing: bool,
    pub(super) parent: Option<Reference>,
}

/// Where an item lies in the file.
#[derive(Clone, Copy, Default)]
struct Lies {
    at: u64,
    len: u64,
}

#[derive(Default)]
struct Items {
    parameters: Option<Lies>,
    size: Option<Lies>,
    id: Option<Lies>,
    logical: Option<Lies>,
    physical: Option<Lies>,
    parent: Option<Lies>,
}

/// Reads the metadata; `None` when the disk cannot be followed, an anomaly then says why.
pub(super) fn read(
    window: &Window<'_>,
    record: &mut Recorder<'_>,
    region: Extent,
) -> Result<Option<Metadata>, ReadError> {
    let base = region.start().get();
    let Some(items) = items(window, record, region)? else {
        return Ok(None);
    };
    let mut fail = |at: u64, len: usize, detail: String| {
        record.at_base(at, |record| {
            record.odd(AnomalyKind::Unreadable, detail, Place::new(0, len));
        });
        Ok(None)
    };
    let (Some(parameters), Some(size), Some(logical)) =
        (items.parameters, items.size, items.logical)
    else {
        let missing = [
            ("file parameters", items.parameters),
            ("virtual disk size", items.size),
            ("logical sector size", items.logical),
        ];
        let names: Vec<&str> = missing
            .iter()
            .filter(|(_, item)| item.is_none())
            .map(|(name, _)| *name)
            .collect();
        return fail(base, 12, format!("the metadata lack: {}", names.join(", ")));
    };
    let [a, b, c, d, flags, ..]: [u8; 8] = window.get(parameters.at)?;
    let bytes = u64::from(u32::from_le_bytes([a, b, c, d]));
    let block =
        Unit::new(bytes).filter(|_| bytes.is_power_of_two() && (MIB..=256 * MIB).contains(&bytes));
    let Some(block) = block else {
        let detail = format!(
            "block size {}; expected a power of two from 1 MiB to 256 MiB",
            Bytes::new(bytes).grouped()
        );
        return fail(parameters.at, 4, detail);
    };
    let sector = u32::from_le_bytes(window.get(logical.at)?);
    let Some(sector) = SectorSize::new(sector).filter(|_| sector == 512 || sector == 4096) else {
        let detail = format!("logical sectors of {sector} bytes; expected 512 or 4,096");
        return fail(logical.at, 4, detail);
    };
    let disk = u64::from_le_bytes(window.get(size.at)?);
    let differencing = flags & 2 != 0;
    let subformat = match (differencing, flags & 1 != 0) {
        (true, _) => "differencing",
        (false, true) => "fixed",
        (false, false) => "dynamic",
    };
    record.at_base(parameters.at, |record| {
        record.text(Key::Subformat, subformat, Place::new(4, 4));
        record.grid(GridRole::ContainerBlock, bytes, 0, Place::new(0, 4));
        record.bytes(Key::BlockStride, bytes, Place::new(0, 4));
    });
    record.at_base(logical.at, |record| {
        let sector = u64::from(sector.get());
        record.grid(GridRole::LogicalSector, sector, 0, Place::new(0, 4));
    });
    if let Some(physical) = items.physical {
        let sector = u64::from(u32::from_le_bytes(window.get(physical.at)?));
        record.at_base(physical.at, |record| {
            record.bytes(Key::GuestPhysicalSector, sector, Place::new(0, 4));
            if sector != 512 && sector != 4096 {
                let detail = format!("physical sectors of {sector} bytes; expected 512 or 4,096");
                record.odd(AnomalyKind::Damaged, detail, Place::new(0, 4));
            }
        });
    }
    if let Some(id) = items.id {
        let raw: [u8; 16] = window.get(id.at)?;
        record.at_base(id.at, |record| {
            record.text(Key::DiskId, guid(raw), Place::new(0, 16))
        });
    }
    let multiple = disk.is_multiple_of(u64::from(sector.get()));
    if disk > LARGEST || !multiple {
        let detail = format!(
            "a disk of {} bytes; expected a multiple of its sectors of {} bytes, and at most 64 TiB",
            Bytes::new(disk).grouped(),
            sector.get()
        );
        record.at_base(size.at, |record| {
            record.odd(AnomalyKind::Damaged, detail, Place::new(0, 8))
        });
    }
    let parent = match (differencing, items.parent) {
        (false, _) => None,
        (true, Some(locator)) => parent(window, record, locator)?,
        (true, None) => {
            let detail = "the file has a parent, and no parent locator that names it";
            record.at_base(parameters.at, |record| {
                record.odd(AnomalyKind::Damaged, detail, Place::new(4, 4));
            });
            None
        }
    };
    let parent = parent.or_else(|| {
        differencing.then(|| Reference {
            role: Role::Parent,
            names: Vec::new(),
            opens_as: OpensAs::Format("vhdx"),
            expects: None,
            source: window.source(parameters.at + 4, 4),
        })
    });
    Ok(Some(Metadata {
        size: window.fact(Bytes::new(disk), size.at, 8),
        block,
        sector,
        differencing,
        parent,
    }))
}

/// Where the known items lie.
fn items(
    window: &Window<'_>,
    record: &mut Recorder<'_>,
    region: Extent,
) -> Result<Option<Items>, ReadError> {
    let base = region.start().get();
    let file = window.size().get();
    let grouped = |n: u64| Bytes::new(n).grouped();
    if base.saturating_add(TABLE_LEN) > file || region.len().get() < TABLE_LEN {
        let detail = format!(
            "the metadata at byte {} have no room for their table of 64 KiB: the region has {} bytes, the file {}",
            grouped(base),
            region.len().grouped(),
            grouped(file)
        );
        record.odd(AnomalyKind::Unreadable, detail, Place::new(0, 4));
        return Ok(None);
    }
    let mut raw = vec![0; usize::try_from(TABLE_LEN).unwrap_or(0)];
    window.fill(base, &mut raw)?;
    let count = usize::from(u16::from_le_bytes([raw[10], raw[11]]));
    if !raw.starts_with(b"metadata") || count > MAX {
        let detail = format!(
            "the metadata begin with \"{}\" and {count} items; expected \"metadata\" and at most {MAX}",
            raw[..8].escape_ascii()
        );
        record.at_base(base, |record| {
            record.odd(AnomalyKind::Unreadable, detail, Place::new(0, 12))
        });
        return Ok(None);
    }
    let mut found = Items::default();
    for (index, raw) in raw
        .as_chunks::<32>()
        .0
        .iter()
        .skip(1)
        .take(count)
        .enumerate()
    {
        let Ok(item) = Item::read_from_bytes(raw) else {
            continue;
        };
        let field = 32 + index * 32;
        let id = guid(item.id);
        // What users add is theirs, whatever its name.
        let known = item.flags.get() & 1 == 0;
        let (slot, least) = match id.as_str() {
            PARAMETERS if known => (&mut found.parameters, 8),
            SIZE if known => (&mut found.size, 8),
            DISK_ID if known => (&mut found.id, 16),
            LOGICAL if known => (&mut found.logical, 4),
            PHYSICAL if known => (&mut found.physical, 4),
            PARENT if known => (&mut found.parent, 20),
            _ if item.flags.get() & 4 == 0 => continue,
            _ => {
                let detail = format!(
                    "the metadata item {id} is required to understand the file, and unknown here"
                );
                record.at_base(base, |record| {
                    record.odd(AnomalyKind::Unreadable, detail, Place::new(field, 16));
                });
                return Ok(None);
            }
        };
        let (offset, len) = (u64::from(item.offset.get()), u64::from(item.len.get()));
        let inside = offset >= TABLE_LEN && offset + len <= region.len().get() && len >= least;
        let at = base.saturating_add(offset);
        let detail = if !inside || at.saturating_add(len) > file {
            format!(
                "the metadata item {id} has {} bytes at byte {} of the region; expected at least {least} from byte 65,536 on, \
                 inside the region of {} bytes and the file",
                grouped(len),
                grouped(offset),
                region.len().grouped()
            )
        } else if slot.is_some() {
            format!("the metadata item {id} is listed twice; the first is used")
        } else {
            *slot = Some(Lies { at, len });
            continue;
        };
        record.at_base(base, |record| {
            record.odd(AnomalyKind::Damaged, detail, Place::new(field + 16, 8));
        });
    }
    Ok(Some(found))
}

/// What the parent locator says; `None` when it cannot be believed.
fn parent(
    window: &Window<'_>,
    record: &mut Recorder<'_>,
    locator: Lies,
) -> Result<Option<Reference>, ReadError> {
    let odd = |record: &mut Recorder<'_>, detail: String, place: Place| {
        record.at_base(locator.at, |record| {
            record.odd(AnomalyKind::Damaged, detail, place)
        });
    };
    let mut raw = vec![0; usize::try_from(locator.len.min(MAX_LEN)).unwrap_or(0)];
    window.fill(locator.at, &mut raw)?;
    let Some((start, pairs)) = raw.split_first_chunk::<20>() else {
        return Ok(None);
    };
    let mut kind = [0; 16];
    kind.copy_from_slice(&start[..16]);
    let kind = guid(kind);
    if kind != LOCATOR {
        let detail = format!("a parent locator of type {kind}; expected {LOCATOR}");
        odd(record, detail, Place::new(0, 16));
        return Ok(None);
    }
    let count = usize::from(u16::from_le_bytes([start[18], start[19]]));
    let text = |at: U32, len: U16| {
        let at = usize::try_from(at.get()).ok()?;
        raw.get(at..at.checked_add(usize::from(len.get()))?)
            .map(utf16_le)
    };
    let mut values: Vec<(String, String, usize)> = Vec::new();
    for (index, pair) in pairs.as_chunks::<12>().0.iter().take(count).enumerate() {
        let field = 20 + index * 12;
        let Ok(pair) = Pair::read_from_bytes(pair) else {
            continue;
        };
        match (
            text(pair.key, pair.key_len),
            text(pair.value, pair.value_len),
        ) {
            (Some(key), Some(value)) => values.push((key, value, field)),
            _ => {
                let detail = format!(
                    "entry {index} of the parent locator points beyond its {} bytes",
                    Bytes::new(locator.len).grouped()
                );
                odd(record, detail, Place::new(field, 12));
                // One statement is enough for 65,535 of them.
                break;
            }
        }
    }
    let value = |name: &str| values.iter().find(|(key, ..)| key == name);
    let mut names = Names::default();
    for key in ["relative_path", "volume_path", "absolute_win32_path"] {
        if let Some((_, path, _)) = value(key) {
            names.add(path);
        }
    }
    let names = names.finish();
    if let Some(first) = names.first() {
        let field = value("relative_path").map_or(0, |(.., field)| *field);
        record.at_base(locator.at, |record| {
            record.name(Key::Parent, first.as_bytes(), Place::new(field, 12));
        });
    }
    let linkage = value("parent_linkage").or_else(|| value("parent_linkage2"));
    let bare = |text: &str| text.trim_matches(['{', '}']).to_ascii_lowercase();
    if linkage.is_none() {
        let detail = "the parent locator has no parent_linkage, so any file of the right name would be taken for the parent";
        odd(record, detail.to_owned(), Place::new(16, 4));
    }
    let field = linkage.map_or(16, |(.., field)| *field);
    Ok(Some(Reference {
        role: Role::Parent,
        names,
        opens_as: OpensAs::Format("vhdx"),
        expects: linkage.map(|(_, value, _)| bare(value)),
        source: window.source(locator.at + u64::try_from(field).unwrap_or(0), 12),
    }))
}
