//! Tools of FreeBSD, and of what is made of it: TrueNAS CORE, pfSense, OPNsense; of OpenBSD, NetBSD and macOS, which have some of them in common;
//! and of Solaris, whose labels are of that family.

pub(super) mod diskinfo;
pub(super) mod disklabel;
pub(super) mod diskutil;
pub(super) mod fdisk;
pub(super) mod gpart;
pub(super) mod gpt;
pub(super) mod prtvtoc;

use straddle_geometry::{Bytes, Grid, Unit};
use straddle_stack::{Fact, GridFact, GridRole, Interval, Key, LayerKind, Trust, Value};

use super::row;
use super::text::Line;
use super::tool::{Context, Notes};
use crate::inventory::{Name, Space, Thing};

/// The largest physical sector of a disk. What prefers longer requests has them for another reason.
const MAX_SECTOR: u64 = 16 << 10;

fn name(device: &str) -> Name {
    Name::new(Space::Device, device.trim_start_matches("/dev/").to_owned())
}

/// A disk, or whatever else has a partition table.
fn disk(device: &str) -> Thing {
    Thing::new(LayerKind::Device, device, name(device))
}

fn size(thing: &mut Thing, bytes: u64, line: &Line<'_>, notes: &Notes<'_>) {
    if bytes > 0 {
        thing.size = Some(notes.said(line, Interval::exact(Bytes::new(bytes))));
    }
}

/// The logical sector of a disk.
fn sector(thing: &mut Thing, bytes: u64, line: &Line<'_>, notes: &Notes<'_>) {
    if let Some(unit) = Unit::new(bytes).filter(|_| bytes >= 512) {
        thing.grid(GridRole::LogicalSector, notes.said(line, unit));
    }
}

/// The device that a command was about, which is its last word: `gpt -r show disk2`, `fdisk /dev/rdisk2`.
fn asked(context: &Context<'_>, program: &str) -> Option<String> {
    let command = context.command.as_ref();
    let command = command.filter(|command| command.program() == program)?;
    node(command.last()?)
}

/// The block device of a path, which may be that of the raw one: `disk2` of `/dev/rdisk2`.
fn node(path: &str) -> Option<String> {
    let node = path.trim_start_matches("/dev/");
    let node = match node.strip_prefix('r') {
        Some(block) if block.starts_with("disk") => block,
        _ => node,
    };
    let plain = node.bytes().all(|b| b.is_ascii_alphanumeric());
    (plain && node.ends_with(|c: char| c.is_ascii_digit())).then(|| node.to_owned())
}

/// Says which system has what it calls a disk so: only that of macOS is `disk2`, and only this tells its tools from those of OpenBSD and NetBSD.
fn of_system(device: Option<&str>, notes: &mut Notes<'_>) {
    if device.is_some_and(|device| !device.starts_with("disk")) {
        notes.inventory.platform.get_or_insert("openbsd");
    }
}

/// What a partition is called: `disk2s1`. On other systems, entries of these tables are no devices.
fn entry(device: &str, number: u64) -> String {
    match device.starts_with("disk") && !device.contains(' ') {
        true => format!("{device}s{number}"),
        false => format!("{device} partition {number}"),
    }
}

/// The sectors of a partition: its first, how many, and its last where that is printed besides.
struct Sectors {
    first: u64,
    count: u64,
    last: Option<u64>,
}

impl From<(u64, u64)> for Sectors {
    fn from((first, count): (u64, u64)) -> Sectors {
        Sectors {
            first,
            count,
            last: None,
        }
    }
}

/// A partition that a table places by sectors. Where nothing says how long they are, 512 bytes are assumed.
fn partition(
    node: &str,
    device: &str,
    sectors: impl Into<Sectors>,
    sector: Option<u64>,
    line: &Line<'_>,
    notes: &mut Notes<'_>,
) -> Thing {
    let mut thing = Thing::new(LayerKind::Partition, node, name(node)).on(name(device));
    let bytes = sector.unwrap_or(512);
    let Sectors { first, count, last } = sectors.into();
    let end = last.and_then(|last| last.checked_add(1));
    let figures = row::Row {
        start: row::exact(first, bytes),
        end: end.and_then(|end| row::exact(end, bytes)),
        length: row::exact(count, bytes),
        ..row::Row::default()
    };
    figures.set(&mut thing, line, notes);
    if sector.is_none() {
        assumed(&mut thing);
    }
    thing
}

/// Marks start and size as counted in sectors of a size that was taken for granted.
fn assumed(thing: &mut Thing) {
    for fact in [&mut thing.start, &mut thing.size].into_iter().flatten() {
        fact.trust = Trust::Assumed;
    }
}

/// A stripe of GEOM: the physical sector of a disk, or what an array, a volume or flash prefers. `offset` is how far into a stripe the
/// device begins. None at all is 0.
fn stripe(thing: &mut Thing, bytes: u64, offset: u64, line: &Line<'_>, notes: &Notes<'_>) {
    let Some(unit) = Unit::new(bytes).filter(|_| bytes >= 512) else {
        return;
    };
    let role = match bytes <= MAX_SECTOR {
        true => GridRole::PhysicalSector,
        false => GridRole::OptimalIo,
    };
    let phase = (bytes - offset % bytes) % bytes;
    let grid: Fact<Grid> = notes.said(line, Grid::with_phase(unit, Bytes::new(phase)));
    thing.grids.push(GridFact { role, grid });
}

/// What a disk says of itself. A virtual one may say nothing.
fn identity(thing: Thing, serial: &str, line: &Line<'_>, notes: &Notes<'_>) -> Thing {
    let serial = serial.trim();
    if serial.is_empty() || serial == "(null)" {
        return thing;
    }
    let mut thing = thing.named(Name::new(Space::Serial, serial.to_owned()));
    thing.set_text(Key::Serial, notes.said(line, serial.to_owned()));
    thing
}

/// Revolutions per minute; flash has none.
fn rotation(thing: &mut Thing, text: &str, line: &Line<'_>, notes: &Notes<'_>) {
    if let Ok(rate) = text.trim().parse::<u64>() {
        thing.set(Key::Rotational, notes.said(line, Value::Flag(rate > 0)));
    }
}
