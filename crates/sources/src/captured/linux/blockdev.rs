//! `blockdev --report`: where the kernel has each partition start.
//!
//! ```text
//! RO    RA   SSZ   BSZ   StartSec            Size   Device
//! rw   256   512  4096         63   1099511595520   /dev/sdb1
//! ```
//!
//! `StartSec` counts sectors of 512 bytes, `SSZ` is the logical sector, sizes are in bytes.
//!
//! Source: util-linux `disk-utils/blockdev.c`.

use straddle_stack::{AnomalyKind, GridRole};

use super::{device, fdisk};
use crate::captured::row;
use crate::captured::text::Line;
use crate::captured::tool::{Anchor, Notes, Reader, Section, Tool};

pub(crate) static TOOL: Tool = Tool {
    name: "blockdev",
    platform: "linux",
    commands: &["blockdev --report"],
    readers: &[Reader::Text {
        anchors: &[
            Anchor::Start("RO "),
            Anchor::LooseShaped(|text| row_of(text).is_some()),
        ],
        begins: |lines| is_heading(lines[0].text) || row_of(lines[0].text).is_some(),
        read,
    }],
};

const SECTOR: u64 = 512;

fn is_heading(text: &str) -> bool {
    let names = ["RO", "RA", "SSZ", "BSZ"];
    text.split_whitespace().take(4).eq(names) && text.contains("StartSec")
}

struct Row<'t> {
    sector: u64,
    start: Option<u64>,
    size: u64,
    device: &'t str,
}

/// `rw   256   512  4096         63   1099511595520   /dev/sdb1`.
fn row_of(text: &str) -> Option<Row<'_>> {
    let words: Vec<&str> = text.split_whitespace().take(8).collect();
    let [mode, ahead, sector, block, start, size, device] = words.as_slice() else {
        return None;
    };
    let number = |word: &str| word.parse::<u64>().ok();
    (matches!(*mode, "rw" | "ro") && device.starts_with("/dev/")).then_some(())?;
    (number(ahead).is_some() && number(block).is_some()).then_some(())?;
    Some(Row {
        sector: number(sector)?,
        // What is no partition has none, for later versions.
        start: number(start),
        size: number(size)?,
        device,
    })
}

/// True for a heading above sizes in bytes: their column is wide. What stands below a narrower one is not known for sure.
fn counts_bytes(heading: &str) -> bool {
    let between = heading
        .split_once("StartSec")
        .and_then(|(_, rest)| rest.split_once("Size"));
    between.is_some_and(|(blanks, _)| blanks.len() >= 8)
}

fn read(section: &Section<'_>, notes: &mut Notes<'_>) {
    let heading = section.lines.first().filter(|line| is_heading(line.text));
    let in_bytes = heading.is_some_and(|line| counts_bytes(line.text));
    for line in &section.lines[usize::from(heading.is_some())..] {
        match row_of(line.text) {
            Some(row) => add(&row, in_bytes, line, notes),
            None if line.text.starts_with("rw ") || line.text.starts_with("ro ") => {
                let detail = "the row of a device is cut off, and was not read";
                notes.remark(AnomalyKind::Truncated, detail, line);
            }
            None => break,
        }
    }
}

fn add(row: &Row<'_>, in_bytes: bool, line: &Line<'_>, notes: &mut Notes<'_>) {
    let length = row::exact(row.size, 1).filter(|_| in_bytes);
    let start = row.start.and_then(|start| row::exact(start, SECTOR));
    match fdisk::disk_of(row.device) {
        Some(path) if row.start.is_some_and(|start| start > 0) => {
            let mut thing = device::partition(row.device, path, line, notes);
            let figures = row::Row {
                start,
                length,
                ..row::Row::default()
            };
            figures.set(&mut thing, line, notes);
            notes.add(thing);
        }
        _ => {
            let mut thing = device::disk(row.device);
            thing.size = length.map(|length| notes.said(line, length));
            device::grid(
                &mut thing,
                GridRole::LogicalSector,
                row.sector,
                0,
                line,
                notes,
            );
            notes.add(thing);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_known_by_themselves() {
        let row = row_of("rw   256   512  4096         63   1099511595520   /dev/sdb1");
        let row = row.expect("a row");
        assert_eq!(
            (row.sector, row.start, row.size, row.device),
            (512, Some(63), 1_099_511_595_520, "/dev/sdb1")
        );
        let row = row_of("rw   256  4096  4096        N/A   1099511595520   /dev/dm-0");
        assert_eq!(row.expect("a row").start, None);
        for text in [
            "rw 1 2",
            "rx 256 512 4096 63 10 /dev/sdb1",
            "rw a 512 4096 63 10 /dev/sdb1",
        ] {
            assert!(row_of(text).is_none(), "{text}");
        }
    }

    #[test]
    fn the_heading_tells_what_sizes_are_counted_in() {
        assert!(counts_bytes(
            "RO    RA   SSZ   BSZ   StartSec            Size   Device"
        ));
        assert!(!counts_bytes(
            "RO    RA   SSZ   BSZ   StartSec     Size    Device"
        ));
        assert!(!counts_bytes("RO RA SSZ BSZ StartSec Size Device"));
    }
}
