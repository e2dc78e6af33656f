//! `file`: the entries of an MBR, in sectors of 512 bytes.
//!
//! ```text
//! old.img: DOS/MBR boot sector; partition 1 : ID=0x7, active, start-CHS (0x0,1,1), end-CHS (0x3ff,254,63), startsector 63, 20948697 sectors
//! ```
//!
//! Source: file `magic/Magdir/filesystems`; before 5.14 it says `x86 boot sector`, and `starthead` in place of the two CHS.

use straddle_stack::AnomalyKind;

use super::device;
use crate::captured::row;
use crate::captured::text::Line;
use crate::captured::tool::{Anchor, Notes, Reader, Section, Tool};

pub(crate) static TOOL: Tool = Tool {
    name: "file",
    platform: "linux",
    commands: &["file -s DEVICE"],
    readers: &[Reader::Text {
        anchors: &[Anchor::Within("startsector ")],
        begins: |lines| path(&lines[0]).is_some(),
        read,
    }],
};

const SECTOR: u64 = 512;

/// The file or device that a line with partitions is about.
fn path<'t>(line: &Line<'t>) -> Option<&'t str> {
    let (path, rest) = line.text.trim().split_once(": ")?;
    (rest.contains("boot sector") && rest.contains("partition ")).then_some(path.trim())
}

/// An entry: its number, type, first sector and sectors.
fn entry(text: &str) -> Option<(u64, &str, u64, Option<u64>)> {
    let (number, rest) = text.split_once(':')?;
    let kind = rest.split_once("ID=")?.1.split([',', ' ']).next()?;
    let place = rest.split_once("startsector ")?.1;
    let (start, rest) = place.split_once(',')?;
    let sectors = rest.trim_start().split(' ').next()?;
    Some((
        number.trim().parse().ok()?,
        kind,
        start.trim().parse().ok()?,
        sectors.parse().ok(),
    ))
}

fn read(section: &Section<'_>, notes: &mut Notes<'_>) {
    let line = &section.lines[0];
    let Some(path) = path(line) else { return };
    let entries = || line.text.split("partition ").skip(1);
    let guards = |text: &str| entry(text).is_some_and(|(_, kind, ..)| device::is_protective(kind));
    let label = if entries().any(guards) { "gpt" } else { "dos" };
    let mut disk = device::disk(path);
    device::table(&mut disk, label, line, notes);
    notes.add(disk);
    for text in entries() {
        // `extended partition table` is said of entries too.
        if !text.starts_with(|c: char| c.is_ascii_digit()) {
            continue;
        }
        let Some((number, kind, start, sectors)) = entry(text) else {
            let detail = "an entry of the MBR is cut off, and was not read";
            notes.remark(AnomalyKind::Truncated, detail, line);
            continue;
        };
        if device::is_protective(kind) {
            continue;
        }
        let mut thing = device::numbered_partition(path, number, line, notes);
        let figures = row::Row {
            start: row::exact(start, SECTOR),
            length: sectors.and_then(|sectors| row::exact(sectors, SECTOR)),
            ..row::Row::default()
        };
        figures.set(&mut thing, line, notes);
        device::partition_type(&mut thing, kind, line, notes);
        notes.add(thing);
    }
}

#[cfg(test)]
mod tests {
    use super::entry;

    #[test]
    fn entries_of_old_and_new_versions() {
        let new = "1 : ID=0x7, active, start-CHS (0x0,1,1), end-CHS (0x3ff,254,63), startsector 63, 20948697 sectors";
        assert_eq!(entry(new), Some((1, "0x7", 63, Some(20_948_697))));
        let old = "2: ID=0x83, starthead 0, startsector 208845, 41720805 sectors, code offset 0x48";
        assert_eq!(entry(old), Some((2, "0x83", 208_845, Some(41_720_805))));
        assert_eq!(entry("1 : ID=0x7, active, startsec"), None);
    }
}
