//! `prtvtoc` of Solaris and illumos: the slices of a disk.
//!
//! ```text
//! * /dev/rdsk/c0t0d0s2 partition map
//! *     512 bytes/sector
//! *                          First     Sector    Last
//! * Partition  Tag  Flags    Sector     Count    Sector  Mount Directory
//!        0      2    00    4202688  40978752  45181439   /
//! ```
//!
//! On a PC a label without EFI lies in a partition of the disk's own table, and counts from there: it has a slice for the boot block, with tag 1,
//! at its beginning.
//!
//! Source: illumos `cmd/prtvtoc/prtvtoc.c`, `uts/common/sys/vtoc.h` (tags).

use straddle_stack::{Key, LayerKind, Value};

use super::{Sectors, name, sector, size};
use crate::captured::text::Line;
use crate::captured::tool::{Anchor, Notes, Reader, Section, Tool};
use crate::inventory::{Placing, Thing};

pub(crate) static TOOL: Tool = Tool {
    name: "prtvtoc",
    platform: "solaris",
    commands: &["prtvtoc /dev/rdsk/DISKs2"],
    readers: &[Reader::Text {
        anchors: &[
            Anchor::Within(" partition map"),
            Anchor::Loose("* Partition "),
        ],
        begins: |lines| path(lines[0].text).is_some() || is_heading(lines[0].text),
        read,
    }],
};

/// Tags: boot block, the whole disk, what EFI labels and old ones keep for themselves.
const BOOT: u64 = 1;
const WHOLE: u64 = 5;
const RESERVED: [u64; 2] = [9, 11];

/// `* /dev/rdsk/c0t0d0s2 partition map`
fn path(text: &str) -> Option<&str> {
    let path = text
        .trim()
        .strip_prefix('*')?
        .trim()
        .strip_suffix(" partition map")?;
    path.rsplit('/').next().filter(|node| !node.is_empty())
}

fn is_heading(text: &str) -> bool {
    let words = text.split_whitespace().take(4);
    words.eq(["*", "Partition", "Tag", "Flags"])
}

/// A disk without the letter of a slice, or of the whole of it: `c0t0d0` of `c0t0d0s2`.
fn disk_of(node: &str) -> &str {
    let digits = node.trim_end_matches(|c: char| c.is_ascii_digit());
    match digits.strip_suffix(['s', 'p']) {
        Some(disk) if digits.len() < node.len() && disk.contains('d') => disk,
        _ => node,
    }
}

struct Slice {
    number: u64,
    tag: u64,
    first: u64,
    count: u64,
    last: u64,
}

fn slice(text: &str) -> Option<Slice> {
    let mut words = text.split_whitespace();
    let mut figure = || words.next()?.parse().ok();
    Some(Slice {
        number: figure()?,
        tag: figure()?,
        // Flags are two digits.
        first: figure()
            .filter(|flags: &u64| *flags < 100)
            .and_then(|_| figure())?,
        count: figure()?,
        last: figure()?,
    })
}

fn read(section: &Section<'_>, notes: &mut Notes<'_>) {
    let node = section.lines.iter().find_map(|line| path(line.text));
    let asked = || {
        let command = section.context.command.as_ref()?;
        let path = (command.program() == "prtvtoc").then(|| command.last())??;
        path.rsplit('/').next()
    };
    let device = match node.or_else(asked) {
        Some(node) => disk_of(node).to_owned(),
        None => format!("disk of {}", notes.file),
    };
    let said = |unit: &str| {
        section.lines.iter().find_map(|line| {
            let text = line.text.trim().strip_prefix('*')?.trim();
            let figure = text.strip_suffix(unit)?.trim_end();
            Some((figure.parse::<u64>().ok()?, *line))
        })
    };
    let bytes = said("bytes/sector");
    let slices: Vec<(Slice, Line<'_>)> = section
        .lines
        .iter()
        .filter_map(|line| Some((slice(line.text)?, *line)))
        .collect();
    let mut whole = super::disk(&device);
    if let Some((bytes, line)) = bytes {
        sector(&mut whole, bytes, &line, notes);
        if let Some((sectors, line)) = said(" sectors") {
            size(&mut whole, sectors.saturating_mul(bytes), &line, notes);
        }
    }
    notes.add(whole);
    let boots = |slice: &Slice| slice.tag == BOOT && slice.first == 0;
    let in_partition = slices.iter().find(|(slice, _)| boots(slice));
    let below = in_partition.map_or_else(
        || device.clone(),
        |_| format!("Solaris partition of {device}"),
    );
    if let Some((_, line)) = in_partition {
        let mut thing = Thing::new(LayerKind::Partition, &*below, name(&below)).on(name(&device));
        thing.set(Key::HoldsPartitions, notes.said(line, Value::Flag(true)));
        thing.placing = Placing::Unknown;
        notes.add(thing);
    }
    for (slice, line) in slices {
        if slice.count == 0 || slice.tag == WHOLE || RESERVED.contains(&slice.tag) || boots(&slice)
        {
            continue;
        }
        let node = format!("{device}s{}", slice.number);
        let sectors = Sectors {
            first: slice.first,
            count: slice.count,
            last: Some(slice.last),
        };
        // `prtvtoc -h` does not say how long they are.
        let unit = bytes.map(|(bytes, _)| bytes);
        let mut thing = super::partition(&node, &below, sectors, unit, &line, notes);
        thing.set(
            Key::PartitionNumber,
            notes.said(&line, Value::Count(slice.number)),
        );
        notes.add(thing);
    }
}
