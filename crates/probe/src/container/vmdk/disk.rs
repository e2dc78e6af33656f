//! What a descriptor makes of its parts: facts, the parent, the files.

use straddle_geometry::Bytes;
use straddle_io::ReadError;
use straddle_stack::{AnomalyKind, Fact, Key};

use super::descriptor::{Descriptor, Field, Kind, Line, MAX_BYTES};
use super::grains::SECTOR;
use super::moved;
use crate::Window;
use crate::container::names::Names;
use crate::container::{Container, Content, Disk, ExtentOf, Opening, OpensAs, Reference, Role};
use crate::record::{Place, Recorder};

/// A file that is a descriptor.
pub(super) fn open(opening: &Opening<'_>) -> Result<Option<Container>, ReadError> {
    let window = &opening.window;
    let mut record = Recorder::new(window, 0);
    let size = window.size().get();
    if size > MAX_BYTES {
        let detail = format!(
            "a descriptor of {} bytes; those of the largest disks have {}, so this is a damaged one, or no descriptor",
            Bytes::new(size).grouped(),
            Bytes::new(MAX_BYTES / 2).grouped()
        );
        record.odd(AnomalyKind::LimitReached, detail, Place::new(0, 16));
        return Ok(Some(Container::unusable(record.finish())));
    }
    let text = read(window, 0, size)?;
    facts(&mut record, &text, 0);
    Ok(Some(parts(record, &text, 0)))
}

/// The descriptor of `len` bytes at byte `at`.
pub(super) fn read(window: &Window<'_>, at: u64, len: u64) -> Result<Descriptor, ReadError> {
    let mut raw = vec![0; usize::try_from(len.min(MAX_BYTES)).unwrap_or(0)];
    window.fill(at, &mut raw)?;
    Ok(Descriptor::parse(&raw))
}

/// Where a piece of the text lies in the file.
fn place(field: &Field, base: u64) -> Place {
    moved(Place::new(field.at, field.len), base)
}

/// Records what the descriptor at byte `base` says about the disk.
pub(super) fn facts(record: &mut Recorder<'_>, text: &Descriptor, base: u64) {
    for (name, key) in [
        ("createtype", Key::Subformat),
        ("version", Key::Version),
        ("ddb.adaptertype", Key::AdapterType),
        ("ddb.virtualhwversion", Key::HardwareVersion),
        ("ddb.toolsversion", Key::ToolsVersion),
        ("ddb.uuid", Key::DiskUuid),
        ("ddb.uuid.image", Key::DiskUuid),
        ("parentfilenamehint", Key::Parent),
    ] {
        let hint_without_parent = key == Key::Parent && text.parent_id().is_none();
        if let Some(field) = text.get(name)
            && !field.text.is_empty()
            && !hint_without_parent
        {
            let short: String = field.text.chars().take(256).collect();
            record.text(key, short, place(field, base));
        }
    }
    if let (Some(id), Some(field)) = (text.content_id("cid"), text.get("cid")) {
        record.text(Key::DiskId, id, place(field, base));
    }
    if let Some(field) = text.get("ddb.thinprovisioned") {
        let thin = !matches!(field.text.as_str(), "" | "0");
        record.flag(Key::ThinProvisioned, thin, place(field, base));
    }
    let side = |name: &str| text.get(name)?.text.parse::<u32>().ok();
    if let (Some(cylinders), Some(heads), Some(sectors), Some(field)) = (
        side("ddb.geometry.cylinders"),
        side("ddb.geometry.heads"),
        side("ddb.geometry.sectors"),
        text.get("ddb.geometry.cylinders"),
    ) {
        let geometry = format!("{cylinders}/{heads}/{sectors}");
        record.text(Key::DiskGeometry, geometry, place(field, base));
    }
}

/// The disk that holds what is absent in this one.
pub(super) fn parent(record: &Recorder<'_>, text: &Descriptor, base: u64) -> Option<Reference> {
    let id = text.parent_id()?;
    let named = text
        .get("parentfilenamehint")
        .filter(|hint| !hint.text.is_empty());
    let field = named.or_else(|| text.get("parentcid"))?;
    Some(Reference {
        role: Role::Parent,
        names: named.map_or(Vec::new(), |hint| names(&hint.text)),
        opens_as: OpensAs::Format("vmdk"),
        expects: Some(id),
        source: record.source(place(field, base)),
    })
}

/// The identity that a child of this disk expects.
pub(super) fn identities(text: &Descriptor) -> Vec<String> {
    text.content_id("cid").into_iter().collect()
}

/// Where a file may be that a descriptor names.
fn names(written: &str) -> Vec<String> {
    let mut names = Names::default();
    names.add(written);
    names.finish()
}

/// A device of the host, by its name: reading it because a text says so is not what somebody who checks a file asks for.
fn is_device(name: &str) -> bool {
    name.starts_with("/dev/") || name.starts_with(r"\\.\") || name.starts_with("/vmfs/devices/")
}

/// A disk whose parts are files, by the descriptor at byte `base`.
pub(super) fn parts(mut record: Recorder<'_>, text: &Descriptor, base: u64) -> Container {
    match assembled(&record, text, base) {
        Ok(disk) => Container {
            detected: record.finish(),
            disk: Some(disk),
        },
        Err((kind, detail, place)) => {
            record.odd(kind, detail, place);
            Container::unusable(record.finish())
        }
    }
}

type Refusal = (AnomalyKind, String, Place);

fn assembled(record: &Recorder<'_>, text: &Descriptor, base: u64) -> Result<Disk, Refusal> {
    let of = |line: &Line| moved(Place::new(line.at, line.len), base);
    let whole = moved(Place::new(0, 16), base);
    if let Some(bad) = &text.bad {
        let detail = format!(
            "`{}` is no part of a disk; expected `RW SECTORS TYPE \"FILE\" OFFSET` with a type such as FLAT, SPARSE or \
             VMFS. Without it the disk has a hole of unknown size",
            bad.text.escape_debug()
        );
        return Err((AnomalyKind::Damaged, detail, place(bad, base)));
    }
    if text.left_out {
        let detail = format!(
            "more than {} parts; a disk of 62 TB has 31,744",
            Bytes::new(u64::try_from(text.lines.len()).unwrap_or(u64::MAX)).grouped()
        );
        return Err((AnomalyKind::LimitReached, detail, whole));
    }
    let (Some(first), Some(last)) = (text.lines.first(), text.lines.last()) else {
        let detail =
            "a descriptor without a line `RW SECTORS TYPE \"FILE\"`; it was probably cut short";
        return Err((AnomalyKind::Damaged, detail.to_owned(), whole));
    };
    let mut references: Vec<Reference> = parent(record, text, base).into_iter().collect();
    let mut extents = Vec::new();
    let mut size = Bytes::ZERO;
    for line in &text.lines {
        let too_long = || {
            let detail = format!(
                "a part of {} sectors from sector {} of its file, {} before it: beyond 2⁶⁴ bytes",
                Bytes::new(line.sectors).grouped(),
                Bytes::new(line.start).grouped(),
                size.grouped()
            );
            (AnomalyKind::Damaged, detail, of(line))
        };
        let len = Bytes::new(SECTOR)
            .checked_mul(line.sectors)
            .ok_or_else(too_long)?;
        let start = Bytes::new(SECTOR)
            .checked_mul(line.start)
            .ok_or_else(too_long)?;
        start.checked_add(len).ok_or_else(too_long)?;
        let end = size.checked_add(len).ok_or_else(too_long)?;
        let name = line.name.escape_debug();
        let opens_as = match line.kind {
            Kind::Zero => None,
            _ if is_device(&line.name) => {
                let detail = format!(
                    "the disk lies on the device {name}, which is not opened because a text names it; check the device \
                     itself"
                );
                return Err((AnomalyKind::Unreadable, detail, of(line)));
            }
            Kind::Flat => Some((OpensAs::Raw, start)),
            // Where a sparse part starts is its own affair.
            Kind::Sparse => Some((OpensAs::Format("vmdk"), Bytes::ZERO)),
            Kind::SeSparse => {
                let detail = format!(
                    "{name} is a seSparse extent, whose layout VMware has not published; it is not followed. \
                     `vmkfstools -i DISK.vmdk -d thin COPY.vmdk` on the ESXi host makes one that can be"
                );
                return Err((AnomalyKind::Unreadable, detail, of(line)));
            }
            Kind::RawDevice => {
                let detail = format!(
                    "{name} ({}) maps a LUN through to the guest: the disk is the LUN, not this file; check the LUN, \
                     whose offsets are the guest's own",
                    line.word
                );
                return Err((AnomalyKind::Unreadable, detail, of(line)));
            }
        };
        let lies = opens_as.map(|(opens_as, start)| {
            references.push(Reference {
                role: Role::Part,
                names: names(&line.name),
                opens_as,
                expects: None,
                source: record.source(of(line)),
            });
            // Target 0 is the descriptor, so the n-th reference is target n.
            (references.len(), start)
        });
        extents.push(ExtentOf { len, lies });
        size = end;
    }
    let size = if text.lines.len() == 1 {
        record.fact(size, of(first))
    } else {
        let detail = format!(
            "the sum of {} parts, {} sectors to {} sectors",
            text.lines.len(),
            first.sectors,
            last.sectors
        );
        Fact::derived(size, detail)
    };
    Ok(Disk {
        size,
        content: Content::Extents(extents),
        references,
        identities: identities(text),
    })
}

/// What is wrong with a descriptor that lies inside a sparse extent, which does not need it.
pub(super) fn embedded(
    window: &Window<'_>,
    found: &mut Recorder<'_>,
    at: u64,
    len: u64,
    field: Place,
) -> Result<Option<Descriptor>, ReadError> {
    let end = at
        .checked_add(len)
        .filter(|end| *end <= window.size().get());
    if end.is_none() || len > MAX_BYTES {
        let detail = format!(
            "a descriptor of {} bytes at byte {} of a file of {}; it is left unread",
            Bytes::new(len).grouped(),
            Bytes::new(at).grouped(),
            window.size().grouped()
        );
        found.odd(AnomalyKind::Damaged, detail, field);
        return Ok(None);
    }
    let text = read(window, at, len)?;
    facts(found, &text, at);
    Ok(Some(text))
}
