//! `mdcmd status` of Unraid, and `/proc/mdcmd` of its kernel: where the data of each disk of the array begins.
//!
//! ```text
//! rdevName.1=sdb
//! rdevOffset.1=64
//! rdevSize.1=2930266532
//! ```
//!
//! The offset counts sectors of 512 bytes, where the only partition of the disk begins; the size counts KiB.

use std::collections::BTreeMap;
use straddle_stack::AnomalyKind;

use super::device;
use crate::captured::row;
use crate::captured::text::Line;
use crate::captured::tool::{Anchor, Notes, Reader, Section, Tool};

pub(crate) static TOOL: Tool = Tool {
    name: "unraid",
    platform: "linux",
    commands: &["mdcmd status"],
    readers: &[Reader::Text {
        anchors: &[
            Anchor::Start("sbName="),
            Anchor::Loose("diskNumber."),
            Anchor::Loose("rdev"),
        ],
        begins: |lines| {
            lines[0].text.trim().starts_with("sbName=") || pair(lines[0].text).is_some()
        },
        read,
    }],
};

const SECTOR: u64 = 512;

/// `rdevOffset.1=64`: key, number of the disk in the array, value.
fn pair(text: &str) -> Option<(&str, u64, &str)> {
    let (key, value) = text.trim().split_once('=')?;
    let (key, number) = key.split_once('.')?;
    let known = key.starts_with("rdev") || key.starts_with("disk");
    known.then_some((key, number.parse().ok()?, value))
}

#[derive(Default)]
struct Disk<'t> {
    name: Option<(&'t str, Line<'t>)>,
    offset: Option<(u64, Line<'t>)>,
    size: Option<(u64, Line<'t>)>,
}

fn read(section: &Section<'_>, notes: &mut Notes<'_>) {
    let mut disks: BTreeMap<u64, Disk<'_>> = BTreeMap::new();
    for line in section.lines {
        let Some((key, number, value)) = pair(line.text) else {
            continue;
        };
        let disk = disks.entry(number).or_default();
        let figure = value.parse().ok().map(|figure| (figure, *line));
        match key {
            "rdevName" => disk.name = Some((value, *line)).filter(|_| !value.is_empty()),
            "rdevOffset" => disk.offset = figure,
            "rdevSize" => disk.size = figure,
            _ => {}
        }
    }
    for disk in disks.into_values() {
        let Some((name, named)) = disk.name else {
            // A slot without a disk has zeros.
            if let Some((_, line)) = disk.offset.filter(|(offset, _)| *offset > 0) {
                let detail =
                    "which disk begins here is missing: its line `rdevName` was lost or cut";
                notes.remark(AnomalyKind::Missing, detail, &line);
            }
            continue;
        };
        let Some((offset, line)) = disk.offset else {
            let detail = "where the data of this disk begin is missing: its line `rdevOffset` was lost or cut";
            notes.remark(AnomalyKind::Missing, detail, &named);
            continue;
        };
        // Later versions name the partition, and say nothing of where it begins.
        if offset == 0 {
            continue;
        }
        let path = format!("/dev/{name}");
        notes.add(device::disk(&path));
        let mut thing = device::numbered_partition(&path, 1, &line, notes);
        let figures = row::Row {
            start: row::exact(offset, SECTOR),
            length: disk.size.and_then(|(kib, _)| row::exact(kib, 1024)),
            ..row::Row::default()
        };
        figures.set(&mut thing, &line, notes);
        notes.add(thing);
    }
}
