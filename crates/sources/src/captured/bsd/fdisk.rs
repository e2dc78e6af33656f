//! `fdisk` of macOS and OpenBSD, which is another program than that of Linux.
//!
//! ```text
//! Disk: /dev/disk2        geometry: 3893/255/63 [62543872 sectors]
//!  #: id  cyl  hd sec -  cyl  hd sec [     start -       size]
//! *1: 0C    0   1   1 - 1023 254  63 [        63 -   62540002] Win95 FAT32L
//! ```
//!
//! OpenBSD has a colon between start and size.

use straddle_stack::{Key, Trust, Value};

use super::{asked, disk, entry, node, size};
use crate::captured::number;
use crate::captured::tool::{Anchor, Notes, Reader, Section, Tool};

pub(crate) static TOOL: Tool = Tool {
    name: "bsd-fdisk",
    platform: "macos",
    commands: &["fdisk DISK"],
    readers: &[Reader::Text {
        anchors: &[Anchor::Start("Disk:"), Anchor::Loose("#: id")],
        begins: |lines| lines[0].text.contains("geometry:") || lines[0].text.contains("start"),
        read,
    }],
};

/// It does not say how long its sectors are.
const SECTOR: u64 = 512;

/// Nothing, tables of logical drives, and what a GPT is hidden behind.
const NO_DATA: [&str; 5] = ["00", "05", "0f", "85", "ee"];

/// An entry: its number, its type, first sector and sectors.
fn row_of(text: &str) -> Option<(u64, String, u64, u64)> {
    let (number, rest) = text.trim().trim_start_matches('*').split_once(": ")?;
    let kind = rest.split_whitespace().next()?;
    let (_, place) = rest.split_once('[')?;
    let (start, length) = place.split_once(']')?.0.split_once([':', '-'])?;
    let is_kind = kind.len() == 2 && kind.bytes().all(|b| b.is_ascii_hexdigit());
    let figure = |text: &str| text.trim().parse().ok();
    let kind = kind.to_ascii_lowercase();
    is_kind.then_some((figure(number)?, kind, figure(start)?, figure(length)?))
}

/// `Disk: /dev/disk2  geometry: 3893/255/63 [62543872 sectors]`: the disk and its sectors.
fn heading(text: &str) -> Option<(&str, u64)> {
    let (path, rest) = text
        .trim()
        .strip_prefix("Disk:")?
        .trim_start()
        .split_once(char::is_whitespace)?;
    let (_, sectors) = rest.split_once('[')?;
    Some((path, number::leading(sectors)?))
}

fn read(section: &Section<'_>, notes: &mut Notes<'_>) {
    let Some(first) = section.lines.first() else {
        return;
    };
    let said = heading(first.text);
    let named = said.and_then(|(path, _)| node(path));
    let device = named.or_else(|| asked(&section.context, "fdisk"));
    super::of_system(device.as_deref(), notes);
    let device = device.unwrap_or_else(|| format!("disk of {}", notes.file));
    let rows = section
        .lines
        .iter()
        .filter_map(|line| Some((row_of(line.text)?, line)));
    let rows: Vec<_> = rows.collect();
    let mut whole = disk(&device);
    if let Some((_, sectors)) = said {
        size(&mut whole, sectors.saturating_mul(SECTOR), first, notes);
        if let Some(size) = &mut whole.size {
            size.trust = Trust::Assumed;
        }
    }
    // Behind a GPT's own entry the table is a copy of a part of it, or holds nothing.
    let is_gpt = rows.iter().any(|((_, kind, ..), _)| kind == "ee");
    let table = if is_gpt { "gpt" } else { "mbr" };
    whole.set_text(Key::PartitionTable, notes.said(first, table.to_owned()));
    notes.add(whole);
    for ((index, kind, start, sectors), line) in rows {
        if NO_DATA.contains(&&*kind) || sectors == 0 {
            continue;
        }
        let node = entry(&device, index);
        let places = (start, sectors);
        let mut thing = super::partition(&node, &device, places, None, line, notes);
        thing.set(Key::PartitionNumber, notes.said(line, Value::Count(index)));
        thing.set_text(Key::PartitionType, notes.said(line, kind));
        notes.add(thing);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_have_their_place_in_brackets() {
        assert_eq!(
            row_of("*1: 0C    0   1   1 - 1023 254  63 [        63 -   62540002] Win95 FAT32L"),
            Some((1, "0c".to_owned(), 63, 62_540_002))
        );
        assert_eq!(
            row_of(" 3: A6      0   1   2 -   2609 254  63 [          64:    41929586 ] OpenBSD"),
            Some((3, "a6".to_owned(), 64, 41_929_586))
        );
        assert_eq!(
            row_of(" #: id  cyl  hd sec -  cyl  hd sec [     start -       size]"),
            None
        );
        assert_eq!(
            heading("Disk: sd0       geometry: 2610/255/63 [41943040 Sectors]"),
            Some(("sd0", 41_943_040))
        );
    }
}
