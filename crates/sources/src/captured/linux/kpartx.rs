//! `kpartx -l`: partitions as device-mapper would map them, in sectors of 512 bytes.
//!
//! ```text
//! win2003p1 : 0 208782 /dev/vg_guests/win2003 63
//! ```
//!
//! Source: multipath-tools `kpartx/kpartx.c`.

use super::device;
use crate::captured::row;
use crate::captured::text::Line;
use crate::captured::tool::{Anchor, Notes, Reader, Section, Tool};

pub(crate) static TOOL: Tool = Tool {
    name: "kpartx",
    platform: "linux",
    commands: &["kpartx -l DEVICE"],
    readers: &[Reader::Text {
        anchors: &[Anchor::Within(" : 0 ")],
        begins: |lines| row(&lines[0]).is_some(),
        read,
    }],
};

const SECTOR: u64 = 512;

struct Row<'t> {
    number: u64,
    sectors: u64,
    path: &'t str,
    start: u64,
}

fn row<'t>(line: &Line<'t>) -> Option<Row<'t>> {
    let mut words = line.text.split_whitespace();
    let mut next = || words.next();
    let (name, ":", "0") = (next()?, next()?, next()?) else {
        return None;
    };
    let digits = name.trim_start_matches(|c: char| !c.is_ascii_digit());
    let number = digits.rsplit(|c: char| !c.is_ascii_digit()).next()?;
    let row = Row {
        number: number.parse().ok()?,
        sectors: next()?.parse().ok()?,
        path: next().filter(|path| path.starts_with('/'))?,
        start: next()?.parse().ok()?,
    };
    next().is_none().then_some(row)
}

fn read(section: &Section<'_>, notes: &mut Notes<'_>) {
    for line in section.lines {
        let Some(row) = row(line) else { continue };
        notes.add(device::disk(row.path));
        let mut thing = device::numbered_partition(row.path, row.number, line, notes);
        let figures = row::Row {
            start: row::exact(row.start, SECTOR),
            length: row::exact(row.sectors, SECTOR),
            ..row::Row::default()
        };
        figures.set(&mut thing, line, notes);
        notes.add(thing);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_six_words() {
        let of = |text| row(&Line { number: 1, text }).map(|row| (row.number, row.start));
        assert_eq!(of("loop0p12 : 0 208782 /dev/loop0 63"), Some((12, 63)));
        assert_eq!(
            of("mpatha2 : 0 41720805 /dev/dm-3 208845"),
            Some((2, 208_845))
        );
        assert_eq!(of("loop deleted : /dev/loop0"), None);
        assert_eq!(of("a1 : 0 5 /dev/b 6 7"), None);
    }
}
