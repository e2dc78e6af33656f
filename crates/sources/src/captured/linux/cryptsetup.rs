//! `cryptsetup luksDump`, also with `--dump-json-metadata`, and `cryptsetup status`.
//!
//! Units: a payload of LUKS1 begins at a number of sectors of 512 bytes, data segments of LUKS2 at a number of bytes,
//! `status` counts sectors of 512 bytes whatever its `sector size` says.

use straddle_geometry::{Bytes, SectorSize, Unit};
use straddle_stack::{Anomaly, AnomalyKind, Fact, GridRole, Interval, Key, LayerKind, Value};

use super::about;
use crate::captured::json::{Json, Object};
use crate::captured::number;
use crate::captured::text::Line;
use crate::captured::tool::{Anchor, Context, Notes, Reader, Section, Tool};
use crate::inventory::{Name, Placing, Space, Thing};

pub(crate) static TOOL: Tool = Tool {
    name: "cryptsetup",
    platform: "linux",
    commands: &[
        "cryptsetup luksDump DEVICE",
        "cryptsetup luksDump --dump-json-metadata DEVICE",
        "cryptsetup status NAME",
    ],
    readers: &[
        Reader::Text {
            anchors: &[
                Anchor::Start("LUKS header information"),
                // Without its first line.
                Anchor::Loose("Version:"),
            ],
            begins: |lines| {
                let keys = ["LUKS header", "Cipher name:", "Epoch:", "Payload offset:"];
                let is_key = |line: &Line<'_>| {
                    keys.iter()
                        .any(|key| line.text.trim_start().starts_with(key))
                };
                lines.iter().take(4).any(is_key)
            },
            read: dump,
        },
        Reader::Text {
            anchors: &[Anchor::Start("/dev/mapper/")],
            begins: |lines| active(&lines[0]).is_some(),
            read: status,
        },
        Reader::Json {
            is: |object| object.has("segments") && object.has("keyslots"),
            read: metadata,
        },
    ],
};

const PROGRAMS: [&str; 1] = ["cryptsetup"];

/// Parts of a header of version 2. Another key without a value has lost it.
const PARTS: [&str; 4] = ["Data segments", "Keyslots", "Tokens", "Digests"];

/// The data of an encrypted device.
#[derive(Default)]
struct Segment<'t> {
    /// Its number in the header.
    number: u64,
    start: Option<Fact<Bytes>>,
    size: Option<Fact<Bytes>>,
    sector: Option<Fact<Unit>>,
    cipher: Option<(String, Line<'t>)>,
    integrity: Option<(String, Line<'t>)>,
}

/// What else a header says.
#[derive(Default)]
struct Header<'t> {
    version: Option<(String, Line<'t>)>,
    uuid: Option<(String, Line<'t>)>,
    label: Option<(String, Line<'t>)>,
    /// The cipher of version 1, which says it in two lines.
    cipher: Option<(String, Line<'t>)>,
}

/// `Key:<tab>value`.
fn pair<'t>(line: &Line<'t>) -> Option<(&'t str, &'t str)> {
    let (key, value) = line.text.split_once(':')?;
    Some((key.trim(), value.trim()))
}

fn bytes_said(notes: &Notes<'_>, line: &Line<'_>, text: &str) -> Option<Fact<Bytes>> {
    number::leading(text).map(|n| notes.said(line, Bytes::new(n)))
}

fn sectors_said(notes: &Notes<'_>, line: &Line<'_>, text: &str) -> Option<Fact<Bytes>> {
    let bytes = SectorSize::B512.sectors(number::leading(text)?).bytes()?;
    Some(notes.said(line, bytes))
}

fn unit_said(notes: &Notes<'_>, line: &Line<'_>, text: &str) -> Option<Fact<Unit>> {
    let unit = number::leading(text).and_then(Unit::new)?;
    Some(notes.said(line, unit))
}

/// `LUKS header information for /dev/sda2` of version 1 names the device; that of version 2 does not.
fn dump(section: &Section<'_>, notes: &mut Notes<'_>) {
    let Some((first, below)) = section.lines.split_first() else {
        return;
    };
    let headed = first.text.trim_start().starts_with("LUKS header");
    let rest = if headed { below } else { section.lines };
    let named = first
        .text
        .split_whitespace()
        .find(|word| word.starts_with("/dev/"));
    let device = match named {
        Some(path) => Name::new(Space::Device, path.to_owned()),
        None => about::or_stranger(&section.context, &PROGRAMS, notes),
    };
    let mut header = Header::default();
    let mut segments: Vec<Segment<'_>> = Vec::new();
    let mut part = "";
    for line in rest {
        let Some((key, value)) = pair(line) else {
            continue;
        };
        let said = || Some((value.to_owned(), *line));
        if !line.text.starts_with(' ') && value.is_empty() && PARTS.contains(&key) {
            part = key;
            continue;
        }
        match (part, key) {
            ("", "Version") => header.version = said(),
            ("", "UUID") => header.uuid = said(),
            ("", "Label") if !value.starts_with('(') => header.label = said(),
            ("", "Cipher name") => header.cipher = said(),
            ("", "Cipher mode") => {
                if let Some((name, _)) = header.cipher.take() {
                    header.cipher = Some((format!("{name}-{value}"), *line));
                }
            }
            ("", "Payload offset") => segments.push(Segment {
                start: sectors_said(notes, line, value),
                ..Segment::default()
            }),
            ("Data segments", _) => {
                let kind = key.parse().ok().zip(Some(value));
                data_segment(&mut segments, kind, (key, value), line, notes);
            }
            _ => {}
        }
    }
    if segments.is_empty() {
        let detail = "where its data begin was not captured, or is cut";
        notes.remark(AnomalyKind::Missing, detail, first);
    }
    note(device, Vec::new(), &header, segments, notes);
}

/// A line below `Data segments:`.
fn data_segment<'t>(
    segments: &mut Vec<Segment<'t>>,
    kind: Option<(u64, &str)>,
    (key, value): (&str, &'t str),
    line: &Line<'t>,
    notes: &Notes<'_>,
) {
    if let Some((number, "crypt" | "linear")) = kind {
        segments.push(Segment {
            number,
            ..Segment::default()
        });
        return;
    }
    let Some(segment) = segments.last_mut() else {
        return;
    };
    match key {
        "offset" => segment.start = bytes_said(notes, line, value),
        // `(whole device)` is no number.
        "length" => segment.size = bytes_said(notes, line, value),
        "sector" => segment.sector = unit_said(notes, line, value),
        "cipher" => segment.cipher = Some((value.to_owned(), *line)),
        "integrity" => segment.integrity = Some((value.to_owned(), *line)),
        _ => {}
    }
}

/// The same as JSON, with numbers in quotes.
fn metadata(json: &Json<'_>, context: &Context<'_>, notes: &mut Notes<'_>) {
    let Some(list) = json.object().and_then(|o| o.get("segments")?.object()) else {
        return;
    };
    let mut segments = Vec::new();
    for (number, segment) in list.members() {
        let (Ok(number), Some(object)) = (number.parse(), segment.object()) else {
            continue;
        };
        segments.push(json_segment(number, &object, notes));
    }
    let device = about::or_stranger(context, &PROGRAMS, notes);
    note(device, Vec::new(), &Header::default(), segments, notes);
}

fn json_segment<'t>(number: u64, object: &Object<'t>, notes: &Notes<'_>) -> Segment<'t> {
    let bytes = |key| {
        let value = object.get(key)?;
        let bytes = Bytes::new(value.number()?);
        Some(notes.said(&value.line(), bytes))
    };
    let sector = object.get("sector_size").and_then(|value| {
        let unit = value.number().and_then(Unit::new)?;
        Some(notes.said(&value.line(), unit))
    });
    let text = |value: Json<'t>| Some((value.text()?.into_owned(), value.line()));
    let integrity = object.get("integrity").and_then(|value| value.object());
    Segment {
        number,
        start: bytes("offset"),
        size: bytes("size"),
        sector,
        cipher: object.get("encryption").and_then(text),
        integrity: integrity.and_then(|object| object.get("type").and_then(text)),
    }
}

/// `/dev/mapper/secret is active.`, `… is active and is in use.`
fn active<'t>(line: &Line<'t>) -> Option<&'t str> {
    let (path, rest) = line.text.trim().split_once(' ')?;
    (rest.starts_with("is active")).then_some(path)
}

fn status(section: &Section<'_>, notes: &mut Notes<'_>) {
    let Some((first, rest)) = section.lines.split_first() else {
        return;
    };
    let Some(path) = active(first) else { return };
    let mut header = Header::default();
    let mut segment = Segment::default();
    let mut device = None;
    for line in rest {
        let Some((key, value)) = pair(line) else {
            continue;
        };
        match key {
            "type" => {
                let version = match value {
                    // No header, and so no version: what it is decides what can be done with it.
                    "PLAIN" => Some("plain"),
                    value => value.strip_prefix("LUKS"),
                };
                header.version = version.map(|version| (version.to_owned(), *line));
            }
            "device" => device = Some(Name::new(Space::Device, value.to_owned())),
            // `0 sectors`; old versions print `0`.
            "offset" => segment.start = sectors_said(notes, line, value),
            // `59392 sectors`, or `59392 [512-byte units] (30408704 [bytes])`.
            "size" => segment.size = sectors_said(notes, line, value),
            "sector size" => segment.sector = unit_said(notes, line, value),
            "cipher" => segment.cipher = Some((value.to_owned(), *line)),
            "integrity" => segment.integrity = Some((value.to_owned(), *line)),
            _ => {}
        }
    }
    let Some(device) = device else { return };
    let name = Name::new(Space::Device, path.to_owned());
    note(device, vec![name], &header, vec![segment], notes);
}

/// Notes what lies encrypted on `device`. A header may have several segments while it is being re-encrypted; then no
/// single place is right.
fn note(
    device: Name,
    mut names: Vec<Name>,
    header: &Header<'_>,
    mut segments: Vec<Segment<'_>>,
    notes: &mut Notes<'_>,
) {
    if let Some((uuid, _)) = &header.uuid {
        names.push(Name::new(Space::Uuid, uuid.clone()));
    }
    // Without a name of its own it is known by what it fills.
    let title = match names.iter().find(|name| name.space == Space::Device) {
        Some(name) => name.text.to_string(),
        None => format!("LUKS on {}", device.text),
    };
    if names.is_empty() {
        names.push(Name::new(Space::Device, title.clone()));
    }
    let mut names = names.into_iter();
    let Some(first) = names.next() else { return };
    let mut thing = Thing::new(LayerKind::Encryption, title, first).on(device);
    for name in names {
        thing = thing.named(name);
    }
    if let Some((version, line)) = &header.version {
        thing.set_text(Key::Version, notes.said(line, version.clone()));
    }
    if let Some((label, line)) = &header.label {
        thing.set_text(Key::Label, notes.said(line, label.clone()));
    }
    segments.sort_by_key(|segment| segment.number);
    thing.placing = Placing::Unknown;
    let many = segments.len() > 1;
    let Some(segment) = segments.into_iter().next() else {
        notes.add(thing);
        return;
    };
    let source = segment.start.as_ref().map(|start| start.source.clone());
    if let Some(start) = &segment.start {
        thing.set(Key::DataOffset, start.clone().map(Value::Bytes));
    }
    if let Some((cipher, line)) = segment.cipher.as_ref().or(header.cipher.as_ref()) {
        thing.set_text(Key::Encryption, notes.said(line, cipher.clone()));
        thing.format = Some(notes.said(line, "crypt".into()));
    }
    if let Some(sector) = segment.sector {
        thing.grid(GridRole::EncryptionSector, sector);
    } else if let Some((version, line)) = header.version.as_ref().filter(|(v, _)| v == "1") {
        // LUKS1 knows no other sector.
        let from = format!(
            "LUKS{version} encrypts sectors of 512 bytes ({}:{})",
            notes.file, line.number
        );
        thing.grid(
            GridRole::EncryptionSector,
            Fact::derived(SectorSize::B512.unit(), from),
        );
    }
    let remark = |detail: &str| match &source {
        Some(source) => Anomaly::at(AnomalyKind::Missing, detail, source.clone()),
        None => Anomaly::new(AnomalyKind::Missing, detail),
    };
    if many {
        thing.remarks.push(remark(
            "it has several segments: it is being re-encrypted, and parts of it lie elsewhere until that is done",
        ));
    } else {
        thing.size = segment.size.map(|size| size.map(Interval::exact));
        if let Some((integrity, _)) = &segment.integrity
            && integrity != "none"
            && integrity != "(no integrity)"
        {
            thing.remarks.push(remark(
                "checksums lie between its data, so its addresses have no regular place below",
            ));
        } else if let Some(start) = segment.start {
            thing.placing = Placing::Linear;
            thing.start = Some(start.map(Interval::exact));
        }
    }
    notes.add(thing);
}
