//! BitLocker: a volume encrypted in its place, with three copies of its metadata inside.
//!
//! Source: "BitLocker Drive Encryption (BDE) format specification" of libbde; cryptsetup's documentation of BITLK. All
//! numbers are low byte first.
//!
//! From Windows 7 on, the first sectors of the volume lie elsewhere, and the metadata and that place read as zeroes:
//!
//! ```text
//! volume header (in plain) | data | metadata 64 KiB | data | moved sectors | data | metadata | data | metadata | data
//! ```

use straddle_geometry::{Bytes, Extent, Grid, Map, Segment, Unit};
use straddle_io::ReadError;
use straddle_stack::{Anomaly, AnomalyKind, Fact, GridRole, Key, Layer, LayerKind, Value};
use zerocopy::byteorder::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::{Assembly, Below, Beside, Holds, Node, Part, Recognised, VolumeFormat};
use crate::record::{Place, Recorder, guid, place};
use crate::{Detected, Magic, Window};

const SIGNATURE: [u8; 8] = *b"-FVE-FS-";
/// The volume header of a removable disk is that of a small FAT volume with a program to open it.
const TO_GO: [u8; 8] = *b"MSWIN4.1";
/// 4967d63b-2e29-4ad8-8399-f6a339e3d001, as it is recorded.
const GUID: [u8; 16] = [
    0x3b, 0xd6, 0x67, 0x49, 0x29, 0x2e, 0xd8, 0x4a, 0x83, 0x99, 0xf6, 0xa3, 0x39, 0xe3, 0xd0, 0x01,
];
/// 92a84d3b-dd80-4d0e-9e4e-b1e3284eaed8: each sector is encrypted when it is first written.
const ON_WRITE_GUID: [u8; 16] = [
    0x3b, 0x4d, 0xa8, 0x92, 0x80, 0xdd, 0x0e, 0x4d, 0x9e, 0x4e, 0xb1, 0xe3, 0x28, 0x4e, 0xae, 0xd8,
];
/// The entry for the first sectors of the volume.
const MOVED: u16 = 15;
/// What one copy of the metadata takes.
const METADATA: u64 = 64 << 10;

pub(crate) static FORMAT: VolumeFormat = VolumeFormat {
    name: "bitlocker",
    title: "BitLocker encrypted volume",
    reads: "volumes of Windows Vista, of Windows 7 and later, and To Go: sector size, method, state, three copies of the metadata, and \
            what lies elsewhere or reads as zeroes",
    refuses: "what is encrypted; volumes that are encrypted as they are written",
    verified: "cryptsetup bitlkDump, dislocker-metadata and blkid, on volumes from a documented generator",
    min_size: METADATA,
    magics: &[
        Magic {
            offset: 3,
            bytes: &SIGNATURE,
        },
        Magic {
            offset: 424,
            bytes: &GUID,
        },
    ],
    beside: Beside::Nothing,
    recognise,
    assemble,
};

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct VolumeHeader {
    jump: [u8; 3],
    signature: [u8; 8],
    sector_size: U16,
    sectors_per_cluster: u8,
    unused: [u8; 42],
    /// Vista: the cluster of the first copy of the metadata.
    metadata_cluster: U64,
    unused_2: [u8; 96],
    guid: [u8; 16],
    metadata: [U64; 3],
    unused_3: [u8; 224],
    to_go_guid: [u8; 16],
    to_go_metadata: [U64; 3],
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Metadata {
    signature: [u8; 8],
    /// In bytes (version 1) or in 16 bytes (version 2).
    size: U16,
    version: U16,
    state: U16,
    next_state: U16,
    /// What of the volume is encrypted.
    encrypted: U64,
    unused: U32,
    moved_sectors: U32,
    offsets: [U64; 3],
    /// Version 2: where the first sectors of the volume lie.
    moved_to: U64,
    metadata_size: U32,
    metadata_version: U32,
    header_size: U32,
    metadata_size_copy: U32,
    volume_guid: [u8; 16],
    next_nonce: U32,
    method: U16,
    method_copy: U16,
    created: U64,
}

/// A volume header and the copy of the metadata that is used.
struct Found {
    variant: &'static str,
    header: VolumeHeader,
    at: u64,
    metadata: Option<Metadata>,
    /// Its entry for the first sectors of the volume.
    moved: Option<Moved>,
    anomalies: Vec<Anomaly>,
}

/// Where the first sectors of the volume lie, and where in the metadata that is said.
#[derive(Clone, Copy)]
struct Moved {
    offset: u64,
    len: u64,
    entry: u64,
}

impl Moved {
    /// The entry of type 15 in a copy of the metadata.
    fn of(bytes: &[u8]) -> Option<Moved> {
        let mut at = size_of::<Metadata>();
        // Each step is eight bytes or more.
        loop {
            let (head, value) = bytes.get(at..)?.split_first_chunk::<8>()?;
            let word = |index: usize| {
                Some(u16::from_le_bytes([
                    *head.get(index)?,
                    *head.get(index + 1)?,
                ]))
            };
            let size = usize::from(word(0)?);
            if word(2)? == MOVED && size >= 24 {
                let (offset, rest) = value.split_first_chunk()?;
                return Some(Moved {
                    offset: u64::from_le_bytes(*offset),
                    len: u64::from_le_bytes(*rest.first_chunk()?),
                    entry: u64::try_from(at).ok()?,
                });
            }
            if size < 8 {
                return None;
            }
            at = at.checked_add(size)?;
        }
    }
}

impl Metadata {
    fn method(&self) -> String {
        match self.method.get() {
            0x1000..=0x1005 => "stretch key",
            0x2000..=0x2005 => "AES-CCM-256",
            0x8000 => "AES-CBC-128 with Elephant diffuser",
            0x8001 => "AES-CBC-256 with Elephant diffuser",
            0x8002 => "AES-CBC-128",
            0x8003 => "AES-CBC-256",
            0x8004 => "AES-XTS-128",
            0x8005 => "AES-XTS-256",
            other => return format!("unknown ({other:#06x})"),
        }
        .to_owned()
    }

    /// What was begun and not finished.
    fn unfinished(&self) -> Option<&'static str> {
        match (self.state.get(), self.next_state.get()) {
            (2 | 5, 1) => Some("decrypt"),
            (2 | 5, _) => Some("encrypt"),
            _ => None,
        }
    }
}

/// Where the copies of the metadata are said to stand.
fn copies(header: &VolumeHeader) -> (&'static str, Vec<u64>) {
    let all = |offsets: &[U64; 3]| offsets.iter().map(|offset| offset.get()).collect();
    if header.to_go_guid == GUID && header.signature == TO_GO {
        return ("To Go", all(&header.to_go_metadata));
    }
    if header.guid == GUID {
        return ("Windows 7", all(&header.metadata));
    }
    if header.guid == ON_WRITE_GUID {
        return ("encrypt on write", Vec::new());
    }
    let cluster = u64::from(header.sector_size.get()) * u64::from(header.sectors_per_cluster);
    let at = header.metadata_cluster.get().checked_mul(cluster);
    ("Windows Vista", at.into_iter().collect())
}

fn read(window: &Window<'_>) -> Result<Option<Found>, ReadError> {
    let header: VolumeHeader = window.get(0)?;
    let (variant, offsets) = copies(&header);
    let is_to_go = header.signature == TO_GO;
    if header.signature != SIGNATURE && !(is_to_go && variant == "To Go") {
        return Ok(None);
    }
    let mut found = Found {
        variant,
        header,
        at: 0,
        metadata: None,
        moved: None,
        anomalies: Vec::new(),
    };
    let mut damaged = None;
    let mut sound = None;
    let mut faults = Vec::new();
    for at in offsets {
        match metadata(window, at)? {
            Ok(read) => {
                sound = Some((at, read));
                break;
            }
            Err((fault, read)) => {
                faults.push(format!("at byte {at}: {fault}"));
                damaged = damaged.or(read.map(|read| (at, read)));
            }
        }
    }
    if let Some((at, (metadata, moved))) = sound.or(damaged) {
        (found.at, found.metadata, found.moved) = (at, Some(metadata), moved);
    }
    if !faults.is_empty() {
        let detail = format!("copies of the BitLocker metadata: {}", faults.join("; "));
        let place = place!(VolumeHeader.metadata);
        let source = Recorder::new(window, 0).source(place);
        found
            .anomalies
            .push(Anomaly::at(AnomalyKind::Damaged, detail, source));
    }
    Ok(Some(found))
}

/// A copy of the metadata, and where it has the first sectors.
type Read = (Metadata, Option<Moved>);
/// What is wrong with a copy, and what can still be read of it.
type Checked = Result<Read, (String, Option<Read>)>;

fn metadata(window: &Window<'_>, at: u64) -> Result<Checked, ReadError> {
    let fits = at
        .checked_add(METADATA)
        .is_some_and(|end| end <= window.size().get());
    if !fits {
        return Ok(Err(("beyond the end of the device".to_owned(), None)));
    }
    let read: Metadata = window.get(at)?;
    if read.signature != SIGNATURE {
        return Ok(Err(("no `-FVE-FS-`".to_owned(), None)));
    }
    let size = match read.version.get() {
        1 => u64::from(read.size.get()),
        2 => u64::from(read.size.get()) << 4,
        other => {
            return Ok(Err((format!("version {other}, not 1 or 2"), None)));
        }
    };
    if size < size_of::<Metadata>() as u64 || size + 8 > METADATA {
        let fault = format!("{size} bytes long; 112 to 65,528 are possible");
        return Ok(Err((fault, Some((read, None)))));
    }
    let mut bytes = vec![0; usize::try_from(size).unwrap_or(0)];
    window.prefetch(at, size + 8);
    window.fill(at, &mut bytes)?;
    // Behind it: its own size and version, then the checksum.
    let recorded: U32 = window.get(at + size + 4)?;
    let computed = crc32fast::hash(&bytes);
    let moved = Moved::of(&bytes);
    if recorded.get() != computed {
        let fault = format!(
            "CRC-32 {:#010x}, but it records {:#010x}",
            computed,
            recorded.get()
        );
        return Ok(Err((fault, Some((read, moved)))));
    }
    Ok(Ok((read, moved)))
}

fn recognise(window: &Window<'_>) -> Result<Option<Recognised>, ReadError> {
    let Some(found) = read(window)? else {
        return Ok(None);
    };
    let mut detected = Detected {
        anomalies: found.anomalies,
        ..Detected::default()
    };
    let mut say = Recorder::resumed(window, 0, detected);
    say.text(Key::Version, found.variant, place!(VolumeHeader.guid));
    say.bytes_if_set(
        Key::SectorSize,
        found.header.sector_size.get().into(),
        place!(VolumeHeader.sector_size),
    );
    if let Some(metadata) = &found.metadata {
        say.at_base(found.at, |say| {
            say.text(
                Key::Uuid,
                guid(metadata.volume_guid),
                place!(Metadata.volume_guid),
            );
            say.text(Key::Encryption, metadata.method(), place!(Metadata.method));
        });
    }
    detected = say.finish();
    Ok(Some(Recognised {
        detected,
        set: String::new(),
        member: "volume".to_owned(),
        of: Some(1),
    }))
}

fn assemble(parts: &[Part<'_>]) -> Result<Assembly, ReadError> {
    let mut assembly = Assembly::default();
    let Some(part) = parts.first() else {
        return Ok(assembly);
    };
    let Some(found) = read(&part.window)? else {
        return Ok(assembly);
    };
    let say = Recorder::new(&part.window, 0);
    let mut layer = Layer::new(LayerKind::Encryption, "bitlocker");
    layer.format = Some("bitlocker".into());
    let sector = u64::from(found.header.sector_size.get());
    if matches!(sector, 512 | 1024 | 2048 | 4096)
        && let Some(unit) = Unit::new(sector)
    {
        let fact = say.fact(Grid::new(unit), place!(VolumeHeader.sector_size));
        layer.add_grid(GridRole::EncryptionSector, fact);
    }
    match &found.metadata {
        Some(metadata) => volume(part, &found, metadata, &mut layer),
        None => {
            layer.map = Map::Segments(Vec::new());
            let why = if found.variant == "encrypt on write" {
                "it is encrypted as it is written; where its metadata lie is not followed"
            } else {
                "none of its metadata can be read"
            };
            let anomaly = Anomaly::at(
                AnomalyKind::Missing,
                format!("{why}: what lies where in it is not known"),
                say.source(place!(VolumeHeader.guid)),
            );
            layer.anomalies.push(anomaly);
        }
    }
    assembly.nodes.push(Node {
        layer,
        below: vec![Below::Part(0)],
        holds: Holds::Nothing,
    });
    Ok(assembly)
}

fn volume(part: &Part<'_>, found: &Found, metadata: &Metadata, layer: &mut Layer) {
    let sector = u64::from(found.header.sector_size.get());
    let say = Recorder::new(&part.window, found.at);
    let method = Value::Text(metadata.method().into());
    layer.set(Key::Encryption, say.fact(method, place!(Metadata.method)));
    let device = part.window.size();
    let encrypted = Bytes::new(metadata.encrypted.get());
    let place = place!(Metadata.encrypted);
    if let Some(unfinished) = metadata.unfinished() {
        let fact = say.fact(Value::Text(unfinished.into()), place!(Metadata.state));
        layer.set(Key::Reencryption, fact);
    }
    let size = if metadata.unfinished().is_none() && encrypted > Bytes::ZERO && encrypted <= device
    {
        say.fact(encrypted, place)
    } else {
        Fact::derived(device, "size of the device")
    };
    let end = size.value;
    let zone = |start: u64, len: u64| Extent::new(Bytes::new(start), Bytes::new(len));
    let mut zones: Vec<Extent> = metadata
        .offsets
        .iter()
        .filter_map(|offset| zone(offset.get(), METADATA))
        .collect();
    // Metadata without that entry have the same in their header.
    let (start, len, said) = match found.moved {
        Some(moved) => {
            let entry = usize::try_from(moved.entry).unwrap_or(0);
            (moved.offset, Some(moved.len), Place::new(entry, 24))
        }
        None => {
            let sectors = u64::from(metadata.moved_sectors.get());
            let len = sectors.checked_mul(sector);
            (metadata.moved_to.get(), len, place!(Metadata.moved_to))
        }
    };
    let moved = len.filter(|len| *len > 0 && metadata.version.get() == 2);
    layer.size = Some(size);
    let mut first = Bytes::ZERO;
    let mut segments = Vec::new();
    if let Some(len) = moved {
        let inside = zone(start, len).filter(|moved| Extent::whole(end).contains(*moved));
        let Some(moved) = inside else {
            let detail = format!(
                "{} bytes that begin the volume lie at byte {}, beyond its end at {}",
                Bytes::new(len).grouped(),
                Bytes::new(start).grouped(),
                end.grouped()
            );
            let anomaly = Anomaly::at(AnomalyKind::Damaged, detail, say.source(said));
            layer.anomalies.push(anomaly);
            layer.map = Map::Segments(Vec::new());
            return;
        };
        first = moved.len();
        segments.extend(zone(0, len).map(|upper| Segment {
            upper,
            target: 0,
            lower: moved.start(),
        }));
        zones.push(moved);
    }
    // All else lies where it would without encryption; the zones read as zeroes.
    zones.sort_by_key(|zone| zone.start());
    let mut from = first;
    let behind = Extent::new(end, Bytes::ZERO);
    for zone in zones.into_iter().chain(behind) {
        let to = zone.start().min(end);
        if let Some(upper) = to.checked_sub(from).and_then(|len| Extent::new(from, len)) {
            segments.push(Segment {
                upper,
                target: 0,
                lower: from,
            });
        }
        from = from.max(zone.end());
    }
    layer.map = Map::segments(segments).unwrap_or(Map::Segments(Vec::new()));
}

#[cfg(test)]
mod tests;
