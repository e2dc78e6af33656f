//! `dmsetup table`: how the addresses of mapped devices reach what lies below, in sectors of 512 bytes.
//!
//! ```text
//! vg0-swap: 0 8388608 linear 8:2 384
//! data: 0 4194304 striped 2 128 8:16 2048 8:32 2048
//! crypted: 0 1953520577 crypt aes-xts-plain64 :64:logon:… 0 8:17 32768 1 sector_size:4096
//! ```
//!
//! Source: Linux `Documentation/admin-guide/device-mapper`, `devices.txt` for the numbers of disks.

use std::collections::BTreeMap;
use straddle_geometry::{Bytes, SectorSize, Unit};
use straddle_stack::{AnomalyKind, GridRole, Interval, Key, LayerKind};

use crate::captured::text::Line;
use crate::captured::tool::{Anchor, Notes, Reader, Section, Tool};
use crate::inventory::{MAX_BELOW, Name, Placing, Space, Thing};

pub(crate) static TOOL: Tool = Tool {
    name: "dmsetup",
    platform: "linux",
    commands: &["dmsetup table"],
    readers: &[Reader::Text {
        anchors: &[Anchor::LooseShaped(|text| row(text).is_some())],
        begins: |_| true,
        read,
    }],
};

/// Most pieces of one device that are looked at.
const MAX_PIECES: usize = 1 << 10;

/// A line of a table.
struct Row<'t> {
    name: Option<&'t str>,
    start: u64,
    length: u64,
    target: &'t str,
    arguments: Vec<&'t str>,
}

fn row(text: &str) -> Option<Row<'_>> {
    // Most lines of other tools have none of these.
    let targets = [" linear ", " striped ", " crypt "];
    if !targets.iter().any(|target| text.contains(target)) {
        return None;
    }
    let (name, rest) = match text.trim().split_once(": ") {
        Some((name, rest)) if !name.contains(' ') => (Some(name), rest),
        _ => (None, text.trim()),
    };
    let mut words = rest.split_whitespace();
    let start = words.next()?.parse().ok()?;
    let length = words.next()?.parse().ok()?;
    let target = words.next()?;
    let arguments: Vec<&str> = words.collect();
    let enough = match target {
        "linear" => arguments.len() >= 2,
        "striped" => arguments.len() >= 4,
        "crypt" => arguments.len() >= 5,
        _ => false,
    };
    enough.then_some(Row {
        name,
        start,
        length,
        target,
        arguments,
    })
}

/// The beginning of a line of a table: where a piece starts, how long it is.
fn is_cut(text: &str) -> bool {
    let rest = text.trim();
    let rest = rest.split_once(": ").map_or(rest, |(_, rest)| rest);
    let mut words = rest.split_whitespace();
    words.next().is_some_and(|word| word.parse::<u64>().is_ok())
}

/// The device of a number, `8:2`, or of a path.
fn below(text: &str) -> Name {
    let by_number = || {
        let (major, minor) = text.split_once(':')?;
        let (major, minor): (u64, u64) = (major.parse().ok()?, minor.parse().ok()?);
        // Sixteen disks have one major number, each of them sixteen minor ones.
        let first = match major {
            8 => 0,
            65..=71 => (major - 64) * 16,
            128..=135 => (major - 120) * 16,
            9 => return Some(format!("md{minor}")),
            _ => return None,
        };
        let disk = first + minor / 16;
        let letter = |n: u64| char::from(b'a' + u8::try_from(n % 26).unwrap_or(0));
        let mut name = "sd".to_owned();
        if disk >= 26 {
            name.push(letter(disk / 26 - 1));
        }
        name.push(letter(disk));
        match minor % 16 {
            0 => {}
            part => name.push_str(&part.to_string()),
        }
        Some(name)
    };
    let name = by_number().unwrap_or_else(|| text.to_owned());
    Name::new(Space::Device, name)
}

fn bytes(sectors: u64) -> Option<Bytes> {
    SectorSize::B512.sectors(sectors).bytes()
}

fn read(section: &Section<'_>, notes: &mut Notes<'_>) {
    let typed = section.context.command.as_ref().and_then(|command| {
        let words = command.words.iter().position(|word| *word == "table")?;
        let name = command.words.get(words + 1)?;
        (!name.starts_with('-')).then_some(*name)
    });
    // The pieces of one device follow each other, and so do their lines.
    let mut devices: BTreeMap<&str, Vec<(Row<'_>, Line<'_>)>> = BTreeMap::new();
    for line in section.lines {
        let Some(row) = row(line.text) else {
            if is_cut(line.text) {
                let detail = "a piece of a mapped device is cut off, and was not read";
                notes.remark(AnomalyKind::Truncated, detail, line);
            }
            continue;
        };
        let Some(name) = row.name.or(typed) else {
            let detail = "what this table maps is not named, and was not read";
            notes.remark(AnomalyKind::Missing, detail, line);
            continue;
        };
        let pieces = devices.entry(name).or_default();
        if pieces.len() < MAX_PIECES {
            pieces.push((row, *line));
        }
    }
    for (name, pieces) in devices {
        device(name, &pieces, notes);
    }
}

fn device(name: &str, pieces: &[(Row<'_>, Line<'_>)], notes: &mut Notes<'_>) {
    let Some((first, line)) = pieces.first() else {
        return;
    };
    let title = format!("mapper/{name}");
    let kind = match first.target {
        "crypt" => LayerKind::Encryption,
        _ => LayerKind::Volume,
    };
    let mut thing = Thing::new(kind, name, Name::new(Space::Device, title));
    thing.format = Some(notes.said(line, first.target.to_owned().into()));
    thing.set_text(Key::Target, notes.said(line, first.target.to_owned()));
    let total: u64 = pieces
        .iter()
        .map(|(row, _)| row.length)
        .fold(0, u64::saturating_add);
    thing.size = bytes(total).map(|size| notes.said(line, Interval::exact(size)));
    thing.placing = Placing::Unknown;
    match (first.target, pieces) {
        ("crypt", [_]) => crypt(&mut thing, first, line, notes),
        ("striped", [_]) => striped(&mut thing, first, line, notes),
        ("linear", [_]) => {
            let [on, at, ..] = first.arguments.as_slice() else {
                return;
            };
            thing = thing.on(below(on));
            start(&mut thing, at, line, notes);
        }
        ("linear", _) if pieces.iter().all(|(row, _)| row.target == "linear") => {
            linear(&mut thing, pieces);
        }
        _ => {}
    }
    notes.add(thing);
}

/// Where it begins in the one thing below.
fn start(thing: &mut Thing, sectors: &str, line: &Line<'_>, notes: &Notes<'_>) {
    if let Some(at) = sectors.parse().ok().and_then(bytes) {
        thing.placing = Placing::Linear;
        thing.start = Some(notes.said(line, Interval::exact(at)));
    }
}

/// Pieces one after another.
fn linear(thing: &mut Thing, pieces: &[(Row<'_>, Line<'_>)]) {
    let mut placed = Vec::new();
    for (row, _) in pieces {
        let [on, at, ..] = row.arguments.as_slice() else {
            return;
        };
        let on = below(on);
        let index = thing.on.iter().position(|other| *other == on);
        let index = index.unwrap_or_else(|| {
            thing.on.push(on);
            thing.on.len() - 1
        });
        let places = (
            bytes(row.start),
            bytes(row.length),
            at.parse().ok().and_then(bytes),
        );
        let (Some(from), Some(length), Some(place)) = places else {
            return;
        };
        if thing.on.len() > MAX_BELOW {
            return;
        }
        placed.push((from, length, index, place));
    }
    thing.placing = Placing::Segments(placed);
}

/// `2 128 8:16 2048 8:32 2048`: how many, the stripe unit, and where each one begins.
fn striped(thing: &mut Thing, row: &Row<'_>, line: &Line<'_>, notes: &Notes<'_>) {
    let [_, chunk, columns @ ..] = row.arguments.as_slice() else {
        return;
    };
    let unit = chunk
        .parse()
        .ok()
        .and_then(bytes)
        .and_then(|b| Unit::try_from(b).ok());
    let Some(unit) = unit else { return };
    let mut starts = Vec::new();
    for pair in columns.chunks_exact(2).take(MAX_BELOW) {
        thing.on.push(below(pair[0]));
        let Some(at) = pair[1].parse().ok().and_then(bytes) else {
            return;
        };
        starts.push(at);
    }
    thing.kind = LayerKind::Array;
    thing.grid(GridRole::StripeUnit, notes.said(line, unit));
    thing.placing = Placing::Striped { unit, starts };
}

/// `aes-xts-plain64 KEY 0 8:17 32768 1 sector_size:4096`.
fn crypt(thing: &mut Thing, row: &Row<'_>, line: &Line<'_>, notes: &Notes<'_>) {
    let [cipher, _, _, on, at, options @ ..] = row.arguments.as_slice() else {
        return;
    };
    thing.on.push(below(on));
    thing.set_text(Key::Encryption, notes.said(line, (*cipher).to_owned()));
    let sector = options
        .iter()
        .find_map(|option| option.strip_prefix("sector_size:")?.parse().ok())
        .unwrap_or(512);
    if let Some(unit) = Unit::new(sector) {
        thing.grid(GridRole::EncryptionSector, notes.said(line, unit));
    }
    start(thing, at, line, notes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_devices() {
        let name = |text| below(text).text.into_owned();
        for (number, device) in [
            ("8:2", "sda2"),
            ("8:255", "sdp15"),
            ("65:0", "sdq"),
            ("65:160", "sdaa"),
            ("9:127", "md127"),
            ("253:3", "253:3"),
            ("/dev/sdb1", "sdb1"),
        ] {
            assert_eq!(name(number), device);
        }
    }

    #[test]
    fn lines_of_tables_are_known_by_their_targets() {
        let name = |text| row(text).map(|row| row.name);
        assert_eq!(
            name("vg0-swap: 0 8388608 linear 8:2 384"),
            Some(Some("vg0-swap"))
        );
        assert_eq!(name("0 8388608 linear 8:2 384"), Some(None));
        for text in [
            "md0: active linear sda1[0]",
            "a linear b",
            "x: 0 10 linear 8:2",
            "vg: 0 10 thin-pool 1 2",
        ] {
            assert_eq!(name(text), None, "{text}");
        }
    }
}
