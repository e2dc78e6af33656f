//! `fdisk -l` of util-linux 2.10 to now and of BusyBox, and `sfdisk -l`, in any language: what stands where decides, not what it
//! is called.
//!
//! ```text
//! Disk /dev/sda: 465.8 GiB, 500107862016 bytes, 976773168 sectors
//! Units: sectors of 1 * 512 = 512 bytes                             cylinders of 16065 * 512, until 2.22
//! Sector size (logical/physical): 512 bytes / 4096 bytes
//! I/O size (minimum/optimal): 4096 bytes / 4096 bytes
//! Device     Boot  Start    End Sectors  Size Id Type               until 2.25: … End Blocks Id System
//! /dev/sda1  *      2048 206847  204800  100M  7 HPFS/NTFS/exFAT
//! ```
//!
//! Blocks are 1,024 bytes; a `+` behind them says that half of one is left over. Counted in cylinders, start, end and blocks
//! together still give the exact start of most partitions. Where the line of units is lost, blocks ÷ (end − start + 1) is the unit.
//!
//! Source: util-linux `disk-utils/fdisk-list.c`, `fdisk/fdisk.c` of 2.17, `fdisk/sfdisk.c` and `fdisk/cfdisk.c` of 2.20.

mod cfdisk;
mod header;
mod table;
mod units;

use std::collections::HashSet;
use straddle_geometry::Bytes;
use straddle_stack::{Anomaly, AnomalyKind, GridRole, Interval, Key, Value};

use super::device;
use crate::captured::number::{self, Prefix, Rounding};
use crate::captured::row;
use crate::captured::text::Line;
use crate::captured::tool::{Anchor, Notes, Reader, Section, Tool};
use crate::inventory::Thing;
pub(super) use header::device_line;
use header::{Header, begins, integers};
pub(super) use table::disk_of;
use table::{Column, Row};
use units::{Geometry, Units, geometry, units};

pub(crate) static TOOL: Tool = Tool {
    name: "fdisk",
    platform: "linux",
    commands: &[
        "fdisk -l",
        "fdisk -lu",
        "sfdisk -l",
        "cfdisk -P t DEVICE",
        "cfdisk -P s DEVICE",
    ],
    readers: &[
        Reader::Text {
            anchors: &[Anchor::Start("Partition Table for ")],
            begins: |lines| cfdisk::path(&lines[0]).is_some(),
            read: cfdisk::read,
        },
        Reader::Text {
            anchors: &[
                Anchor::Within("B, "),
                Anchor::Within("B，"),
                Anchor::Within("yte, "),
                Anchor::Within("o, "),
                Anchor::Within("Б, "),
                Anchor::Within(" heads, "),
            ],
            begins: |lines| begins(lines).is_some(),
            read,
        },
        // The table without what stands above it: what `grep ^/dev` leaves.
        Reader::Text {
            anchors: &[Anchor::Loose("/dev/"), Anchor::Loose(">>")],
            begins: |lines| {
                let row = table::row(lines, None, None);
                row.is_some_and(|(row, _)| table::stands_alone(&row))
            },
            read,
        },
    ],
};

/// What the lines above the table say.
#[derive(Default)]
struct Limits<'t> {
    unit: Option<Units>,
    geometry: Option<Geometry>,
    sectors: Option<(u64, u64, Line<'t>)>,
    io: Option<(u64, u64, Line<'t>)>,
    offset: Option<(u64, Line<'t>)>,
    label: Option<(&'t str, Line<'t>)>,
    id: Option<(&'t str, Line<'t>)>,
    model: Option<(&'t str, Line<'t>)>,
    columns: Option<Vec<Column>>,
}

const MODEL: [&str; 6] = ["model", "modèle", "modeldisk", "モデル", "модель", "型号"];

impl<'t> Limits<'t> {
    fn line(&mut self, line: &Line<'t>) {
        let text = line.text.trim();
        if let Some(columns) = table::columns(line) {
            self.columns = Some(columns);
            return;
        }
        if self.geometry.is_none() {
            self.geometry = geometry(text);
        }
        if let Some((left, right)) = text.split_once([':', '：', '='])
            && let Some(unit) = units(right).or_else(|| units(left))
        {
            self.unit.get_or_insert(unit);
            return;
        }
        let Some((key, value)) = text.rsplit_once([':', '：']) else {
            return;
        };
        let value = value.trim();
        if let Some((first, second)) = value.split_once('/')
            && let (Some(first), Some(second)) = (only(first), only(second))
        {
            // Sector size comes first, I/O size after it.
            let io = self.sectors.is_some() || key.contains("I/O") || key.contains("E/S");
            let place = if io { &mut self.io } else { &mut self.sectors };
            place.get_or_insert((first, second, *line));
        } else if is_identifier(value) {
            self.id.get_or_insert((value, *line));
        } else if matches!(value, "dos" | "gpt" | "sun" | "sgi" | "bsd") {
            self.label.get_or_insert((value, *line));
        } else if key.starts_with("Alignment offset") {
            self.offset = only(value).map(|bytes| (bytes, *line));
        } else if MODEL.iter().any(|word| key.to_lowercase().contains(word)) && !value.is_empty() {
            self.model.get_or_insert((value, *line));
        }
    }

    fn sector(&self) -> u64 {
        match (self.sectors, self.unit) {
            (Some((logical, ..)), _) if logical >= 512 => logical,
            (_, Some(unit)) => unit.sector,
            _ => 512,
        }
    }
}

/// The one number in a text.
fn only(text: &str) -> Option<u64> {
    match integers(text).as_slice() {
        [number] => Some(*number),
        _ => None,
    }
}

fn is_identifier(text: &str) -> bool {
    let hex = |text: &str| text.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
    match text.strip_prefix("0x") {
        Some(digits) => digits.len() == 8 && hex(digits),
        None => text.len() == 36 && hex(text),
    }
}

/// A disk with its table, as far as it was captured.
struct Table<'t> {
    header: Option<(Header<'t>, Line<'t>)>,
    path: Option<&'t str>,
    limits: Limits<'t>,
    rows: Vec<Row<'t>>,
    /// Nodes whose rows are there, each with its place.
    numbered: Vec<Line<'t>>,
    heading: bool,
}

impl<'t> Table<'t> {
    fn new(header: Option<(Header<'t>, Line<'t>)>) -> Table<'t> {
        Table {
            path: header.as_ref().map(|(header, _)| header.path),
            header,
            limits: Limits::default(),
            rows: Vec::new(),
            numbered: Vec::new(),
            heading: false,
        }
    }
}

fn read(section: &Section<'_>, notes: &mut Notes<'_>) {
    let header = begins(section.lines);
    let skip = usize::from(header.is_some());
    let mut table = Table::new(header.map(|header| (header, section.lines[0])));
    if skip == 1 {
        // Old versions say the geometry there.
        table.limits.geometry = geometry(section.lines[0].text);
    } else {
        // What was left of the lines above.
        let above = section.before.iter().rev();
        let above: Vec<_> = above
            .take_while(|line| !line.text.trim_start().starts_with("/dev/"))
            .collect();
        for line in above.into_iter().rev() {
            table.limits.line(line);
        }
    }
    let mut lines = &section.lines[skip..];
    // How many rows stood above the last line that is none.
    let mut above = 0;
    // Below the names of columns or a row, with no blank line between.
    let mut is_among = false;
    while let Some(line) = lines.first() {
        let found = table::row(lines, table.path, table.limits.columns.as_deref());
        let Some((row, taken)) = found else {
            above = table.rows.len();
            is_among &= !line.is_blank();
            lone(line, &table, is_among, notes);
            // The first line of the next disk is lost: what it says is about that one.
            let next_disk = !table.rows.is_empty()
                && line
                    .text
                    .split_once([':', '='])
                    .is_some_and(|(_, right)| units(right).is_some());
            if next_disk {
                note(std::mem::replace(&mut table, Table::new(None)), notes);
                above = 0;
            }
            table.heading |= line.text.starts_with('#');
            if table.heading {
                table.numbered.push(*line);
            }
            table.limits.line(line);
            is_among |= table::columns(line).is_some();
            lines = &lines[1..];
            continue;
        };
        is_among = true;
        lines = &lines[taken..];
        let of_this = table.path.is_some_and(|path| row.node.starts_with(path));
        if !of_this {
            let Some(disk) = disk_of(row.node) else {
                continue;
            };
            if table.path.is_some() {
                note(std::mem::replace(&mut table, Table::new(None)), notes);
                above = 0;
            }
            table.path = Some(disk);
        }
        // The same again, with nothing between: another machine's, or one from another time.
        let beside = table.rows.iter().skip(above).take(MAX_BESIDE);
        if beside.clone().any(|other| other.node == row.node) {
            note(std::mem::replace(&mut table, Table::new(None)), notes);
            table.path = disk_of(row.node);
            above = 0;
        }
        table.rows.push(row);
    }
    note(table, notes);
}

/// Most rows of one table that a row is compared with.
const MAX_BESIDE: usize = 16;

/// A line that ends in the middle of a row, or a row whose name is lost or is none. `is_among` rows, a line has their columns.
fn lone(line: &Line<'_>, table: &Table<'_>, is_among: bool, notes: &mut Notes<'_>) {
    let text = line.text.trim();
    let mut words = text.split_whitespace();
    let node = words.next().unwrap_or_default();
    let cut = table.path.is_some_and(|path| {
        node.len() > path.len()
            && node.starts_with(path)
            && node[path.len()..]
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || c == '-')
    });
    let is_figure = |word: &&str| number::whole(word.trim_end_matches('+')).is_some();
    let figures = text.split_whitespace().take(3).filter(is_figure).count();
    let nameless =
        line.text.starts_with(' ') && figures == 3 && table.path.is_some() && !table.heading;
    // What stands among rows and has as many figures is a row, whatever became of its node.
    let is_row = is_among && text.split_whitespace().filter(is_figure).count() >= 3;
    if cut {
        notes.remark(
            AnomalyKind::Truncated,
            format!("the row of {node} is cut off: where it starts or ends is not known"),
            line,
        );
    } else if nameless {
        notes.remark(
            AnomalyKind::Truncated,
            "a row of the table has lost the name of its partition: it was not read",
            line,
        );
    } else if is_row {
        notes.remark(
            AnomalyKind::Truncated,
            "a row of the table begins with no partition: it was not read",
            line,
        );
    }
}

fn note(table: Table<'_>, notes: &mut Notes<'_>) {
    let Some(path) = table.path else { return };
    let mut limits = table.limits;
    let rows = latest(table.rows);
    let mut thing = device::disk(path);
    if let Some((header, line)) = &table.header {
        describe_size(&mut thing, header, &limits, line, notes);
    }
    describe(&mut thing, path, &limits, notes);
    // Versions before 2.23 do not see the GPT that this entry protects.
    let guard = rows.iter().find(|row| is_protective(row));
    match (guard, limits.label) {
        (Some(guard), _) => device::table(&mut thing, "gpt", &guard.line, notes),
        (None, Some((label, line))) => device::table(&mut thing, label, &line, notes),
        // They know no table but one.
        (None, None) => {
            if let Some(row) = rows.iter().find(|row| row.id.is_some()) {
                device::table(&mut thing, "dos", &row.line, notes);
            }
        }
    }
    if let (Some((id, line)), None) = (limits.id, guard) {
        thing = device::table_id(thing, id, &line, notes);
    }
    if limits.unit.is_none()
        && let Some(found) = units::deduced(&rows, limits.geometry)
    {
        if let (Some(geometry), Some(row)) = (found.geometry, rows.first()) {
            let detail = format!(
                "nothing says what starts are counted in: blocks ÷ (end − start + 1) fits cylinders of {} bytes, which is taken",
                found.units.bytes
            );
            let anomaly = Anomaly::at(AnomalyKind::UnitUnclear, detail, notes.source(&row.line));
            thing.remarks.push(anomaly);
            limits.geometry = Some(geometry);
        }
        limits.unit = Some(found.units);
    }
    if limits.unit.is_none()
        && limits.sectors.is_none()
        && let Some((sector, line)) = units::sector_by_size(&rows)
    {
        device::grid(&mut thing, GridRole::LogicalSector, sector, 0, &line, notes);
        limits.unit = Some(Units::sectors(sector));
    }
    notes.add(thing);
    for row in rows
        .iter()
        .filter(|row| !is_protective(row) && !row.is_empty())
    {
        let thing = device::partition(row.node, path, &row.line, notes);
        add(thing, row, &limits, notes);
    }
    if limits.label.is_some_and(|(label, _)| label == "gpt") {
        numbered_rows(&table.numbered, path, &limits, notes);
    }
}

fn is_protective(row: &Row<'_>) -> bool {
    row.id.is_some_and(device::is_protective)
}

/// `sfdisk` prints an old situation and a new one: the later row of a partition counts.
fn latest(rows: Vec<Row<'_>>) -> Vec<Row<'_>> {
    let mut seen = HashSet::new();
    let mut kept: Vec<Row<'_>> = rows
        .into_iter()
        .rev()
        .filter(|row| seen.insert(row.node))
        .collect();
    kept.reverse();
    kept
}

fn describe_size(
    thing: &mut Thing,
    header: &Header<'_>,
    limits: &Limits<'_>,
    line: &Line<'_>,
    notes: &Notes<'_>,
) {
    let Some(bytes) = header.bytes else { return };
    thing.size = Some(notes.said(line, Interval::exact(Bytes::new(bytes))));
    let sector = limits.sector();
    if let Some(sectors) = header.sectors
        && sectors.checked_mul(sector) != Some(bytes)
    {
        let detail = format!(
            "its line contradicts itself: {sectors} sectors of {sector} bytes are not {bytes} bytes"
        );
        let anomaly = Anomaly::at(AnomalyKind::Misprint, detail, notes.source(line));
        thing.remarks.push(anomaly);
    }
}

fn describe(thing: &mut Thing, path: &str, limits: &Limits<'_>, notes: &Notes<'_>) {
    let phase = limits.offset.map_or(0, |(bytes, _)| bytes);
    if let Some((bytes, line)) = limits.offset {
        let value = Value::SignedBytes(i64::try_from(bytes).unwrap_or(i64::MAX));
        thing.set(Key::AlignmentOffset, notes.said(&line, value));
    }
    if let Some((logical, physical, line)) = limits.sectors {
        device::grid(thing, GridRole::LogicalSector, logical, 0, &line, notes);
        device::limit(
            thing,
            path,
            GridRole::PhysicalSector,
            physical,
            phase,
            &line,
            notes,
        );
    }
    if let Some((minimum, optimal, line)) = limits.io {
        device::limit(
            thing,
            path,
            GridRole::MinimumIo,
            minimum,
            phase,
            &line,
            notes,
        );
        device::limit(
            thing,
            path,
            GridRole::OptimalIo,
            optimal,
            phase,
            &line,
            notes,
        );
    }
    if let Some((model, line)) = limits.model {
        thing.set_text(Key::Model, notes.said(&line, model.to_owned()));
    }
}

fn add(mut thing: Thing, row: &Row<'_>, limits: &Limits<'_>, notes: &mut Notes<'_>) {
    let sector = limits.sector();
    let unit = limits.unit.unwrap_or_else(|| Units::sectors(sector));
    let line = &row.line;
    let length = match (row.count, row.blocks) {
        (_, Some(blocks)) => units::kib(blocks),
        // Counted in cylinders, both ends may lie inside one.
        (Some(count), None) if unit.bytes == sector || row.span() != Some(count) => {
            row::exact(count, sector)
        }
        _ => None,
    };
    let mut figures = row::Row {
        start: row.start.and_then(|start| unit.start(start)),
        end: row.end.and_then(|end| unit.end(end)),
        length,
        shown: row
            .size
            .and_then(|size| number::shown(size, Prefix::Binary, Rounding::Any)),
        track: limits
            .geometry
            .map(|geometry| Bytes::new(geometry.sectors * 512)),
    };
    let cut = row.end.is_none() && figures.length.is_none() && figures.shown.is_none();
    let asked = limits
        .columns
        .as_ref()
        .is_some_and(|columns| !columns.contains(&Column::End));
    // The figure that a line was cut in may have lost digits.
    let half = cut && !asked;
    if half {
        let detail = format!(
            "the row of {} is cut off: where it starts and ends is not known",
            row.node
        );
        notes.remark(AnomalyKind::Truncated, detail, line);
        figures.start = None;
    }
    figures.set(&mut thing, line, notes);
    if let (Some(start), true) = (row.start, unit.bytes == sector && !half) {
        thing.set(
            Key::StartSector,
            notes.said(line, Value::Count(start.count)),
        );
    }
    if let Some(id) = row.id {
        device::partition_type(&mut thing, id, line, notes);
    } else if let Some(name) = &row.kind {
        device::gpt_type(&mut thing, name, line, notes);
    }
    notes.add(thing);
}

/// 2.23 to 2.25 number the partitions of a GPT: ` 1   2048   2099199   1G  EFI System   EFI System Partition`.
fn numbered_rows(lines: &[Line<'_>], path: &str, limits: &Limits<'_>, notes: &mut Notes<'_>) {
    for line in lines.iter().skip(1) {
        let mut words = line.text.split_whitespace();
        let mut next = || words.next()?.parse::<u64>().ok();
        let (Some(number), Some(start), Some(end)) = (next(), next(), next()) else {
            break;
        };
        let sector = limits.sector();
        let mut thing = device::numbered_partition(path, number, line, notes);
        let size = words.next();
        let figures = row::Row {
            start: row::exact(start, sector),
            end: end.checked_add(1).and_then(|end| row::exact(end, sector)),
            shown: size.and_then(|size| number::shown(size, Prefix::Binary, Rounding::Any)),
            ..row::Row::default()
        };
        figures.set(&mut thing, line, notes);
        thing.set(Key::StartSector, notes.said(line, Value::Count(start)));
        notes.add(thing);
    }
}
