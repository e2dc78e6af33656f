//! `disklabel` of OpenBSD and NetBSD, `bsdlabel` of FreeBSD: the partitions that a BSD label names.
//!
//! ```text
//! # /dev/rsd0c:
//! bytes/sector: 512
//! 16 partitions:
//! #                size           offset  fstype [fsize bsize   cpg]
//!   a:          1433664               64  4.2BSD   2048 16384 11190 # /
//! ```
//!
//! OpenBSD and NetBSD count from the beginning of the disk, and have a letter for the whole of it. FreeBSD counts from the slice that
//! it names.

use straddle_stack::{Key, LayerKind};

use super::{name, sector, size};
use crate::captured::number;
use crate::captured::text::Line;
use crate::captured::tool::{Anchor, Notes, Reader, Section, Tool};
use crate::inventory::Thing;

pub(crate) static TOOL: Tool = Tool {
    name: "disklabel",
    platform: "openbsd",
    commands: &["disklabel DISK", "bsdlabel SLICE"],
    readers: &[Reader::Text {
        anchors: &[Anchor::Start("# /dev/"), Anchor::LooseShaped(count)],
        begins,
        read,
    }],
};

/// How many lines a label has above its rows.
const HEAD: usize = 40;

fn begins(lines: &[Line<'_>]) -> bool {
    let head = || lines.iter().take(HEAD);
    let named = path(lines[0].text).is_some();
    (named || count(lines[0].text))
        && head().any(|line| row(line.text).is_some())
        && head().any(|line| count(line.text))
}

/// `16 partitions:`
fn count(text: &str) -> bool {
    let number = text.trim().strip_suffix(" partitions:");
    number.is_some_and(|number| number.parse::<u8>().is_ok())
}

/// `# /dev/rsd0c:`
fn path(text: &str) -> Option<&str> {
    let path = text.trim().strip_prefix("# /dev/")?.strip_suffix(':')?;
    let plain = path.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'/');
    plain.then_some(path)
}

/// What a label lies on.
struct Place {
    device: String,
    /// The letter of the whole disk; none on FreeBSD, where it is a slice's.
    whole: Option<char>,
}

impl Place {
    /// `rsd0c` is disk `sd0`, `ada0s1` a slice.
    fn of(path: &str) -> Place {
        let node = path.rsplit('/').next().unwrap_or(path);
        let letter = node.chars().next_back().filter(|_| {
            let before = node
                .len()
                .checked_sub(2)
                .and_then(|at| node.as_bytes().get(at));
            before.is_some_and(u8::is_ascii_digit)
        });
        match letter.filter(char::is_ascii_lowercase) {
            Some(letter) => Place {
                device: node
                    .trim_start_matches('r')
                    .trim_end_matches(letter)
                    .to_owned(),
                whole: Some(letter),
            },
            None => Place {
                device: node.to_owned(),
                whole: None,
            },
        }
    }
}

/// A row: its letter, sectors, first sector and type.
fn row(text: &str) -> Option<(char, u64, u64, &str)> {
    let (letter, rest) = text.trim_start().split_once(':')?;
    let mut letters = letter.chars();
    let letter = letters.next().filter(char::is_ascii_lowercase)?;
    let mut words = rest.split_whitespace();
    let mut figure = || words.next()?.trim_end_matches('*').parse().ok();
    let (sectors, first) = (figure()?, figure()?);
    letters.next().is_none().then_some(())?;
    Some((letter, sectors, first, words.next()?))
}

fn read(section: &Section<'_>, notes: &mut Notes<'_>) {
    let named = || section.lines.iter().find_map(|line| path(line.text));
    let asked = || {
        let command = section.context.command.as_ref()?;
        let known = matches!(command.program().as_str(), "disklabel" | "bsdlabel");
        known.then(|| command.last())?
    };
    let place = match named().or_else(asked) {
        Some(path) => Place::of(path),
        None => Place {
            device: format!("disk of {}", notes.file),
            whole: Some('c'),
        },
    };
    let said = |key: &str| {
        section.lines.iter().find_map(|line| {
            let figure = line.text.trim().strip_prefix(key)?.strip_prefix(':')?;
            Some((number::leading(figure.trim_start())?, line))
        })
    };
    let bytes = said("bytes/sector");
    let rows: Vec<_> = section
        .lines
        .iter()
        .filter_map(|line| Some((row(line.text)?, line)))
        .collect();
    // A slice is itself a partition of the disk, which a table places.
    let is_slice = place.whole.is_none() && place.device.contains('s');
    let kind = if is_slice {
        LayerKind::Partition
    } else {
        LayerKind::Device
    };
    let mut whole = Thing::new(kind, &*place.device, name(&place.device));
    if let Some((disk, _)) = place.device.rsplit_once('s').filter(|_| is_slice) {
        whole = whole.on(name(disk));
    }
    if let Some((bytes, line)) = bytes.filter(|_| !is_slice) {
        sector(&mut whole, bytes, line, notes);
        if let Some((sectors, line)) = said("total sectors") {
            size(&mut whole, sectors.saturating_mul(bytes), line, notes);
        }
    }
    if let Some(first) = section.lines.first() {
        whole.set_text(Key::PartitionTable, notes.said(first, "bsd".to_owned()));
    }
    if place.whole.is_none() {
        notes.inventory.platform.get_or_insert("freebsd");
    }
    notes.add(whole);
    // What a slice counts from: its letter for the whole of it, which old labels did not begin with 0.
    let base = rows
        .iter()
        .find(|((letter, ..), _)| place.whole.is_none() && *letter == 'c');
    let base = base.map_or(0, |((_, _, first, _), _)| *first);
    for ((letter, sectors, first, kind), line) in rows {
        // `unused` is the whole disk, or the part of it that the system may use.
        if sectors == 0 || kind == "unused" || place.whole == Some(letter) {
            continue;
        }
        let node = format!("{}{letter}", place.device);
        let places = (first.saturating_sub(base), sectors);
        let unit = bytes.map(|(bytes, _)| bytes);
        let mut thing = super::partition(&node, &place.device, places, unit, line, notes);
        thing.set_text(Key::PartitionType, notes.said(line, kind.to_owned()));
        notes.add(thing);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_a_letter_a_size_and_an_offset() {
        assert_eq!(
            row("  a:          1433664               64  4.2BSD   2048 16384 11190 # /"),
            Some(('a', 1_433_664, 64, "4.2BSD"))
        );
        assert_eq!(
            row(" b: 1286929 1433728 swap"),
            Some(('b', 1_286_929, 1_433_728, "swap"))
        );
        for other in [
            "#        size    offset  fstype",
            "type: SCSI",
            "ab: 1 2 x",
            "a: x 2 y",
        ] {
            assert_eq!(row(other), None, "{other}");
        }
    }

    #[test]
    fn paths_name_the_disk_or_the_slice() {
        let of = |path| {
            let place = Place::of(path);
            (place.device, place.whole)
        };
        assert_eq!(of("rsd0c"), ("sd0".to_owned(), Some('c')));
        assert_eq!(of("rwd1d"), ("wd1".to_owned(), Some('d')));
        assert_eq!(of("ada0s1"), ("ada0s1".to_owned(), None));
        assert_eq!(of("sd0"), ("sd0".to_owned(), None));
    }
}
