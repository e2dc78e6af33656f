//! `sgdisk -p` and `gdisk -l`: a GPT in sectors.
//!
//! On a disk with an MBR they print the GPT that they would make of it: its GUID and types are on no disk.
//!
//! Source: gptfdisk `gpt.cc`, `DisplayGPTData`.

use straddle_geometry::Bytes;
use straddle_stack::{GridRole, Interval, Key, LayerKind};

use super::{device, fdisk};
use crate::captured::text::Line;
use crate::captured::tool::{Anchor, Notes, Reader, Section, Tool};

pub(crate) static TOOL: Tool = Tool {
    name: "sgdisk",
    platform: "linux",
    commands: &["sgdisk -p DEVICE", "gdisk -l DEVICE"],
    readers: &[Reader::Text {
        anchors: &[Anchor::Within(" sectors, ")],
        begins: |lines| heading(&lines[0]).is_some(),
        read,
    }],
};

/// `Disk /dev/sda: 976773168 sectors, 465.8 GiB`.
fn heading<'t>(line: &Line<'t>) -> Option<(&'t str, u64)> {
    let (path, rest) = fdisk::device_line(line)?;
    let (count, size) = rest.split_once(" sectors, ")?;
    let sectors = count.parse().ok()?;
    size.ends_with('B').then_some((path, sectors))
}

/// The numbers behind the colon of a line that begins like this.
fn sizes<'t>(lines: &[Line<'t>], starts: &[&str]) -> Option<(u64, Option<u64>, Line<'t>)> {
    lines.iter().find_map(|line| {
        let text = line.text.trim();
        starts.iter().find(|start| text.starts_with(**start))?;
        let (_, value) = text.split_once(':')?;
        let mut numbers = value.split(|c: char| !c.is_ascii_digit());
        let mut next = || numbers.find(|word| !word.is_empty())?.parse().ok();
        Some((next()?, next(), *line))
    })
}

fn read(section: &Section<'_>, notes: &mut Notes<'_>) {
    let Some((first, lines)) = section.lines.split_first() else {
        return;
    };
    let Some((path, count)) = heading(first) else {
        return;
    };
    let converted = |line: &Line<'_>| {
        line.text.contains("converting MBR to GPT")
            || line.text.trim() == "MBR: MBR only"
            || line.text.contains("Creating new GPT entries")
    };
    let made_up = section.before.iter().any(converted);
    let sector = sizes(lines, &["Sector size (logical", "Logical sector size"]);
    let bytes = sector.map_or(512, |(logical, ..)| logical);
    let mut thing = device::disk(path);
    if let Some(size) = Bytes::new(bytes).checked_mul(count) {
        thing.size = Some(notes.said(first, Interval::exact(size)));
    }
    let own = thing.kind == LayerKind::Device && !device::is_image(path);
    if let Some((logical, physical, line)) = sector {
        device::grid(
            &mut thing,
            GridRole::LogicalSector,
            logical,
            0,
            &line,
            notes,
        );
        if let (Some(physical), true) = (physical, own) {
            device::grid(
                &mut thing,
                GridRole::PhysicalSector,
                physical,
                0,
                &line,
                notes,
            );
        }
    }
    let id = lines.iter().find_map(|line| {
        let text = line.text.trim();
        let id = text.strip_prefix("Disk identifier (GUID): ")?;
        Some((id, *line))
    });
    if let (Some((id, line)), false) = (id, made_up) {
        device::table(&mut thing, "gpt", &line, notes);
        thing = device::table_id(thing, id, &line, notes);
    }
    if let Some(line) = lines.iter().find(|line| line.text.starts_with("Model: ")) {
        let model = line.text.trim_start_matches("Model: ").trim();
        thing.set_text(Key::Model, notes.said(line, model.to_owned()));
    }
    notes.add(thing);
    let table = lines
        .iter()
        .position(|line| line.text.trim_start().starts_with("Number "));
    let Some(table) = table else { return };
    for line in &lines[table + 1..] {
        let words: Vec<&str> = line.text.split_whitespace().collect();
        let [number, start, end, ..] = words.as_slice() else {
            break;
        };
        let (Ok(number), Ok(start), Ok(end)) = (number.parse(), start.parse(), end.parse()) else {
            break;
        };
        let mut thing = device::numbered_partition(path, number, line, notes);
        device::start(&mut thing, start, bytes, line, notes);
        let length: u64 = end;
        if let Some(sectors) = length.checked_sub(start).and_then(|n| n.checked_add(1)) {
            device::size(&mut thing, sectors, bytes, line, notes);
        }
        if let (Some(code), false) = (words.get(5), made_up) {
            device::gpt_type(&mut thing, code, line, notes);
        }
        // `   1   2048   1050623   512.0 MiB   EF00  EFI System Partition`.
        if words.len() > 6 && !made_up {
            thing.set_text(Key::PartitionName, notes.said(line, words[6..].join(" ")));
        }
        notes.add(thing);
    }
}
