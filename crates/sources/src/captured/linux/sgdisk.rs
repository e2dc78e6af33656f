//! `sgdisk -p` and `gdisk -l`: a GPT in sectors; `sgdisk -i`: one of its partitions.
//!
//! On a disk with an MBR they print the GPT that they would make of it: its GUID and types are on no disk.
//!
//! Source: gptfdisk `gpt.cc`, `DisplayGPTData`.

mod info;

use straddle_geometry::Bytes;
use straddle_stack::{AnomalyKind, GridRole, Interval, Key, Value};

use super::{about, device, fdisk};
use crate::captured::number::{self, Prefix, Rounding};
use crate::captured::row;
use crate::captured::text::Line;
use crate::captured::tool::{Anchor, Context, Notes, Reader, Section, Tool};

pub(crate) static TOOL: Tool = Tool {
    name: "sgdisk",
    platform: "linux",
    commands: &["sgdisk -p DEVICE", "sgdisk -i N DEVICE", "gdisk -l DEVICE"],
    readers: &[
        Reader::Text {
            anchors: &[
                Anchor::Within(" sectors, "),
                Anchor::Loose("Number "),
                Anchor::LooseShaped(stands_alone),
            ],
            begins: |lines| {
                heading(&lines[0]).is_some() || is_columns(&lines[0]) || stands_alone(lines[0].text)
            },
            read,
        },
        Reader::Text {
            anchors: &[
                Anchor::Start("Partition GUID code: "),
                Anchor::Loose("First sector: "),
            ],
            begins: |_| true,
            read: info::read,
        },
    ],
};

/// `Disk /dev/sda: 976773168 sectors, 465.8 GiB`.
fn heading<'t>(line: &Line<'t>) -> Option<(&'t str, u64)> {
    let (path, rest) = fdisk::device_line(line)?;
    let (count, size) = rest.split_once(" sectors, ")?;
    let sectors = count.parse().ok()?;
    let size = size.trim();
    let is_size =
        size.ends_with(['B', 'K', 'M', 'G', 'T']) && size.starts_with(|c: char| c.is_ascii_digit());
    is_size.then_some((path, sectors))
}

/// `Number  Start (sector)    End (sector)  Size       Code  Name`.
fn is_columns(line: &Line<'_>) -> bool {
    let text = line.text.trim();
    text.starts_with("Number ") && text.contains("Start (sector)")
}

/// A row of the table, with its heading or without.
struct Row<'t> {
    number: u64,
    start: u64,
    end: u64,
    size: Option<Interval>,
    /// What stands behind the size.
    rest: Vec<&'t str>,
}

fn row<'t>(line: &Line<'t>) -> Option<Row<'t>> {
    let words: Vec<&str> = line.text.split_whitespace().collect();
    let [number, start, end, rest @ ..] = words.as_slice() else {
        return None;
    };
    let (size, rest) = match rest {
        [figure, unit, rest @ ..] if unit.ends_with('B') || *unit == "bytes" => {
            (format!("{figure} {unit}"), rest)
        }
        [size, rest @ ..] => ((*size).to_owned(), rest),
        [] => return None,
    };
    Some(Row {
        number: number
            .parse()
            .ok()
            .filter(|number| *number <= MAX_PARTITIONS)?,
        start: number::whole(start)?,
        end: number::whole(end)?,
        size: number::shown(&size, Prefix::Binary, Rounding::Any),
        rest: rest.to_vec(),
    })
}

/// A row that can stand without the lines above it: behind the size it has a type.
fn stands_alone(text: &str) -> bool {
    let row = row(&Line { number: 0, text });
    row.is_some_and(|row| {
        let code = row.rest.first().copied().unwrap_or_default();
        row.number > 0
            && row.start < row.end
            && row.size.is_some()
            && code.len() == 4
            && code.bytes().all(|b| b.is_ascii_hexdigit())
    })
}

/// The beginning of a row: nothing but whole numbers, its own, its start, and what is left of its end; or a row of which one is illegible:
/// with two more among its first words.
fn is_cut(line: &Line<'_>) -> bool {
    let words = || line.text.split_whitespace();
    let is_figure = |word: &str| word.bytes().all(|b| b.is_ascii_digit() || b == b',');
    let figures = words().take(4).filter(|word| number::whole(word).is_some());
    (1..4).contains(&words().count()) && words().all(is_figure)
        || words().count() > 3 && figures.count() >= 2 && !line.text.contains([':', '/'])
}

/// A GPT has room for 128; sgdisk makes larger ones.
const MAX_PARTITIONS: u64 = 4096;

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

/// Without its first line, the table is that of the disk that the command named, or of one whose name is lost.
fn named(context: &Context<'_>) -> String {
    about::path(context, &["sgdisk", "gdisk", "fdisk"])
}

fn read(section: &Section<'_>, notes: &mut Notes<'_>) {
    let Some((first, below)) = section.lines.split_first() else {
        return;
    };
    let header = heading(first);
    let below = match header.is_some() || is_columns(first) {
        true => below,
        false => section.lines,
    };
    let named = named(&section.context);
    let path = header.map_or(named.as_str(), |(path, _)| path);
    let all: Vec<Line<'_>>;
    let lines = match header {
        Some(_) => below,
        None => {
            all = [section.before, below].concat();
            &all
        }
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
    let size = header.and_then(|(_, count)| Bytes::new(bytes).checked_mul(count));
    if let Some(size) = size {
        thing.size = Some(notes.said(first, Interval::exact(size)));
    }
    if let Some((logical, physical, line)) = sector {
        device::grid(
            &mut thing,
            GridRole::LogicalSector,
            logical,
            0,
            &line,
            notes,
        );
        if let Some(physical) = physical {
            device::limit(
                &mut thing,
                path,
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
    for line in below {
        let Some(row) = row(line) else {
            if is_cut(line) {
                let detail = "the row of a partition is cut off, and was not read";
                notes.remark(AnomalyKind::Truncated, detail, line);
            }
            continue;
        };
        let mut thing = device::numbered_partition(path, row.number, line, notes);
        let figures = row::Row {
            start: row::exact(row.start, bytes),
            end: row
                .end
                .checked_add(1)
                .and_then(|end| row::exact(end, bytes)),
            shown: row.size,
            ..row::Row::default()
        };
        figures.set(&mut thing, line, notes);
        thing.set(Key::StartSector, notes.said(line, Value::Count(row.start)));
        if let (Some(code), false) = (row.rest.first(), made_up) {
            device::gpt_type(&mut thing, code, line, notes);
        }
        // `   1   2048   1050623   512.0 MiB   EF00  EFI System Partition`.
        if row.rest.len() > 1 && !made_up {
            thing.set_text(
                Key::PartitionName,
                notes.said(line, row.rest[1..].join(" ")),
            );
        }
        notes.add(thing);
    }
}
