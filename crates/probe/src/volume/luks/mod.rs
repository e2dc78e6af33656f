//! LUKS: one encrypted payload behind headers and key material.
//!
//! Sources: "LUKS1 On-Disk Format Specification" 1.2.3 and "LUKS2 On-Disk Format Specification" 1.1.1, both of the
//! cryptsetup project. Numbers in binary headers are high byte first.

mod json;
mod luks1;
mod luks2;
#[cfg(test)]
mod tests;

use straddle_geometry::{Bytes, Extent, Grid, Map, Segment, Unit};
use straddle_io::ReadError;
use straddle_stack::{Anomaly, AnomalyKind, Fact, GridRole, Key, Layer, LayerKind, Value};

use super::{Assembly, Below, Beside, Holds, Node, Part, Recognised, VolumeFormat, integrity};
use crate::record::printable;
use crate::{Detected, Magic, Window};

const MAGIC: [u8; 6] = *b"LUKS\xba\xbe";
/// Of the second header of LUKS2.
const SECOND_MAGIC: [u8; 6] = *b"SKUL\xba\xbe";
/// While LUKS1 is re-encrypted offline, the header is made unusable.
const BUSY_MAGIC: [u8; 6] = *b"LUKS\xde\xad";

pub(crate) static FORMAT: VolumeFormat = VolumeFormat {
    name: "luks",
    title: "LUKS encrypted volume",
    reads: "LUKS1; LUKS2 with both headers, of which a sound one is used; payloads of one or several segments, with integrity, and while \
            they are encrypted, re-encrypted or decrypted; headers apart from their data",
    refuses: "what is encrypted; the header of VeraCrypt and of plain dm-crypt, which look like random bytes",
    verified: "cryptsetup luksDump and blkid on files; dm-crypt and dm-integrity in the lab",
    min_size: 1024,
    magics: &[
        magic(0, &MAGIC),
        magic(0, &BUSY_MAGIC),
        // Where the second header stands tells how large the first was, and the other way round.
        // The text of a LUKS2 header whose first sector is gone: its second copy is then looked for, at up to nine places,
        // which is too much for every device.
        magic(4096, b"{\""),
    ],
    beside: Beside::Nothing,
    recognise,
    assemble,
};

const fn magic(offset: u64, bytes: &'static [u8]) -> Magic {
    Magic { offset, bytes }
}

/// What either version says of itself.
struct Header {
    version: u8,
    uuid: String,
    /// What is said of the device that has the header.
    detected: Detected,
    /// Where the data lie, in the order of the volume's addresses. Empty when that cannot be read.
    pieces: Vec<Piece>,
    /// What was begun and not finished.
    unfinished: Option<Fact<String>>,
}

/// A part of the volume.
struct Piece {
    offset: Fact<u64>,
    /// Up to the end of the device when it is not said.
    len: Option<Fact<u64>>,
    /// `None` where it is not, or no longer, encrypted.
    cipher: Option<Fact<String>>,
    sector: Option<Fact<u64>>,
    /// Tags lie between the data.
    integrity: Option<Fact<String>>,
    /// Kept by a drive that encrypts.
    by_the_drive: bool,
}

impl Piece {
    /// True when what lies here can be read without a key.
    fn is_plain(&self) -> bool {
        let null = |cipher: &Fact<String>| cipher.value.starts_with("cipher_null");
        !self.by_the_drive && self.integrity.is_none() && self.cipher.as_ref().is_none_or(null)
    }
}

fn read(window: &Window<'_>) -> Result<Option<Header>, ReadError> {
    let version = luks1::version(window)?;
    if version == Some(1) {
        return luks1::read(window).map(Some);
    }
    luks2::read(window)
}

fn recognise(window: &Window<'_>) -> Result<Option<Recognised>, ReadError> {
    Ok(read(window)?.map(|header| Recognised {
        detected: header.detected,
        set: String::new(),
        member: "header".to_owned(),
        of: Some(1),
    }))
}

/// A UUID as it is recorded, as text.
fn uuid_text(raw: &[u8]) -> String {
    let text = printable(raw);
    if text.is_empty() {
        "without-uuid".to_owned()
    } else {
        text
    }
}

fn assemble(parts: &[Part<'_>]) -> Result<Assembly, ReadError> {
    let mut assembly = Assembly::default();
    let Some(part) = parts.first() else {
        return Ok(assembly);
    };
    let Some(header) = read(&part.window)? else {
        return Ok(assembly);
    };
    let name = format!("luks-{}", header.uuid);
    if let [only] = header.pieces.as_slice()
        && only.integrity.is_some()
        && let Some(below) = integrity::behind(part, Bytes::new(only.offset.value))?
    {
        // The device that keeps the tags is one of its own, as device-mapper has it.
        let size = below.layer.size.clone();
        assembly.nodes.push(Node {
            holds: Holds::Nothing,
            ..below
        });
        let mut layer = described(&name, &header);
        layer.size = size;
        assembly.nodes.push(Node {
            layer,
            below: vec![Below::Node(0)],
            holds: Holds::Nothing,
        });
        return Ok(assembly);
    }
    assembly.nodes.push(payload(part, &name, &header));
    Ok(assembly)
}

/// The layer without its place.
fn described(name: &str, header: &Header) -> Layer {
    let mut layer = Layer::new(LayerKind::Encryption, name);
    layer.format = Some(
        if header.version == 1 {
            "luks1"
        } else {
            "luks2"
        }
        .into(),
    );
    let text = |fact: &Fact<String>| fact.clone().map(|text| Value::Text(text.into()));
    if let Some(cipher) = header.pieces.iter().find_map(|piece| piece.cipher.as_ref()) {
        layer.set(Key::Encryption, text(cipher));
    }
    if let Some(unfinished) = &header.unfinished {
        layer.set(Key::Reencryption, text(unfinished));
    }
    if let Some(first) = header.pieces.first() {
        let offset = first.offset.clone();
        layer.set(Key::DataOffset, offset.map(|n| Value::Bytes(Bytes::new(n))));
    }
    // During a change of the sector size there are two: the larger one is the one to be aligned to.
    let sectors = header.pieces.iter().filter_map(|piece| {
        let fact = piece.sector.as_ref()?;
        Some((Unit::new(fact.value)?, fact))
    });
    if let Some((unit, fact)) = sectors.max_by_key(|(unit, _)| unit.bytes()) {
        let grid = fact.clone().map(|_| Grid::new(unit));
        layer.add_grid(GridRole::EncryptionSector, grid);
    }
    layer
}

/// The layer, straight on the device.
fn payload(part: &Part<'_>, name: &str, header: &Header) -> Node {
    let mut layer = described(name, header);
    let device = part.window.size();
    let nowhere = |mut layer: Layer| {
        layer.map = Map::Segments(Vec::new());
        Node {
            layer,
            below: vec![Below::Part(0)],
            holds: Holds::Nothing,
        }
    };
    let Some(first) = header.pieces.first() else {
        return nowhere(layer);
    };
    // The header of a volume whose data lie elsewhere names no place, or one behind its own end.
    let ends_before = header.pieces.iter().all(|p| p.offset.value >= device.get());
    if first.offset.value == 0 && first.is_at_the_header(header) || ends_before {
        layer.map = Map::Linear {
            start: Bytes::new(first.offset.value),
        };
        return Node {
            layer,
            below: vec![Below::Missing(format!("data device of {name}"))],
            holds: Holds::Nothing,
        };
    }
    let mut at = Bytes::ZERO;
    let mut segments = Vec::new();
    for piece in &header.pieces {
        let lower = Bytes::new(piece.offset.value);
        let len = match &piece.len {
            Some(len) => Some(Bytes::new(len.value)),
            None => device.checked_sub(lower),
        };
        let extent = len.and_then(|len| Extent::new(at, len));
        let inside = len
            .and_then(|len| Extent::new(lower, len))
            .is_some_and(|extent| Extent::whole(device).contains(extent));
        if let (Some(upper), true) = (extent, inside) {
            at = upper.end();
            segments.push(Segment {
                upper,
                target: 0,
                lower,
            });
            continue;
        }
        let size = piece
            .len
            .as_ref()
            .map_or("all that follows".to_owned(), |len| {
                format!("{} bytes", Bytes::new(len.value).grouped())
            });
        layer.anomalies.push(Anomaly::at(
            AnomalyKind::Damaged,
            format!(
                "its header has {size} from byte {} on, but the device has {} bytes",
                lower.grouped(),
                device.grouped()
            ),
            piece.offset.source.clone(),
        ));
        return nowhere(layer);
    }
    let dynamic = header.pieces.iter().all(|piece| piece.len.is_none());
    layer.size = Some(match (&header.pieces.last(), dynamic) {
        (Some(Piece { len: Some(len), .. }), _) if header.pieces.len() == 1 => {
            len.clone().map(|_| at)
        }
        (_, true) => Fact::derived(at, "size of the device − data offset"),
        _ => Fact::derived(at, "sum of its segments"),
    });
    match segments.as_slice() {
        [only] => {
            layer.map = Map::Linear { start: only.lower };
            let extent = Extent::new(only.lower, only.upper.len());
            layer.placement = extent.map(|extent| first.offset.clone().map(|_| extent));
        }
        _ => layer.map = Map::segments(segments).unwrap_or(Map::Segments(Vec::new())),
    }
    let plain = header.pieces.iter().all(Piece::is_plain);
    Node {
        layer,
        below: vec![Below::Part(0)],
        holds: if plain { Holds::Volume } else { Holds::Nothing },
    }
}

impl Piece {
    /// True when the header itself would lie in it.
    fn is_at_the_header(&self, header: &Header) -> bool {
        header.unfinished.is_none() && header.pieces.len() == 1
    }
}
