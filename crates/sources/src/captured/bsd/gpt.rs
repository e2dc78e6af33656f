//! `gpt show` of macOS, NetBSD and DragonFly: first sector, sectors, number and contents of each part of a disk.
//!
//! ```text
//!       start        size  index  contents
//!          34           6
//!          40      409600      1  GPT part - C12A7328-F81F-11D2-BA4B-00A0C93EC93B
//! ```

use straddle_stack::{Key, Value};

use super::{asked, disk, entry, node, sector};
use crate::captured::number;
use crate::captured::text::Line;
use crate::captured::tool::{Anchor, Notes, Reader, Section, Tool};

pub(crate) static TOOL: Tool = Tool {
    name: "gpt-show",
    platform: "macos",
    commands: &["gpt -r show DISK"],
    readers: &[Reader::Text {
        anchors: &[Anchor::Within("contents")],
        begins: |lines| {
            let words = lines[0].text.split_whitespace();
            words.eq(["start", "size", "index", "contents"])
        },
        read,
    }],
};

/// What it says above its table: `gpt show: /dev/disk0: mediasize=…; sectorsize=512; blocks=…`.
fn remark<'t>(line: &Line<'t>) -> Option<(&'t str, &'t str)> {
    let (path, said) = line
        .text
        .trim()
        .strip_prefix("gpt show: ")?
        .split_once(": ")?;
    Some((path, said))
}

fn figure(said: &str, key: &str) -> Option<u64> {
    let (_, value) = said.split_once(key)?;
    number::leading(value)
}

fn read(section: &Section<'_>, notes: &mut Notes<'_>) {
    let Some((first, lines)) = section.lines.split_first() else {
        return;
    };
    let remarks = || {
        section
            .before
            .iter()
            .rev()
            .map_while(|line| Some((remark(line)?, *line)))
    };
    let named = remarks().find_map(|((path, _), _)| node(path));
    let device = named.or_else(|| asked(&section.context, "gpt"));
    super::of_system(device.as_deref(), notes);
    let device = device.unwrap_or_else(|| format!("disk of {}", notes.file));
    let mut whole = disk(&device);
    let said = remarks().find_map(|((_, said), line)| {
        Some((
            figure(said, "sectorsize=")?,
            figure(said, "mediasize=")?,
            line,
        ))
    });
    if let Some((bytes, size, line)) = said {
        sector(&mut whole, bytes, &line, notes);
        super::size(&mut whole, size, &line, notes);
    }
    let bytes = said.map(|(bytes, ..)| bytes);
    let is_gpt = lines.iter().any(|line| line.text.contains("GPT header"));
    let table = if is_gpt { "gpt" } else { "mbr" };
    whole.set_text(Key::PartitionTable, notes.said(first, table.to_owned()));
    notes.add(whole);
    for line in lines {
        let mut words = line.text.split_whitespace();
        let (Some(Ok(start)), Some(Ok(sectors))) =
            (words.next().map(str::parse), words.next().map(str::parse))
        else {
            break;
        };
        let Some(Ok(index)) = words.next().map(str::parse::<u64>) else {
            continue;
        };
        let node = entry(&device, index);
        let mut thing = super::partition(&node, &device, (start, sectors), bytes, line, notes);
        thing.set(Key::PartitionNumber, notes.said(line, Value::Count(index)));
        // A label stands in its place where it was asked for.
        let kind = words.next_back().filter(|word| word.len() == 36);
        if let Some(kind) = kind {
            thing.set_text(Key::PartitionType, notes.said(line, kind.to_owned()));
        }
        notes.add(thing);
    }
}
