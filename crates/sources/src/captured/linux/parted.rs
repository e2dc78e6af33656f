//! `parted … print`, for people, for machines (`-m`) and as JSON (`-j`), in any unit, and `align-check`.
//!
//! ```text
//! BYT;
//! /dev/sda:500GB:scsi:512:4096:gpt:ATA Samsung SSD 860:;
//! 1:1049kB:538MB:537MB:fat32:EFI System Partition:boot, esp;
//! ```
//!
//! Unless told otherwise, parted rounds to the nearest of three digits: kB, MB and GB are powers of 1,000, KiB, MiB and
//! GiB of 1,024.
//!
//! Source: parted `parted/parted.c`, `libparted/unit.c`.

mod alone;
mod columns;
mod figures;
mod minor;
mod table;

use straddle_stack::{AnomalyKind, GridRole, Interval, Key, LayerKind, Trust, Value};

use super::{device, fdisk};
use crate::captured::json::{Json, Object};
use crate::captured::row;
use crate::captured::text::Line;
use crate::captured::tool::{Anchor, Context, Notes, Reader, Section, Tool};
use crate::inventory::{Name, Space, Thing};
use figures::{behind, figure, whole_sectors};
use table::{row, rows};

pub(crate) static TOOL: Tool = Tool {
    name: "parted",
    platform: "linux",
    commands: &[
        "parted -lm",
        "parted -m DEVICE unit B print",
        "parted -l",
        "parted DEVICE print",
        "parted -j DEVICE print",
        "parted DEVICE align-check optimal N",
    ],
    readers: &[
        Reader::Text {
            // The line of the disk stands for itself, as the one above it may be lost.
            anchors: &[Anchor::Start("BYT;"), Anchor::Start("/")],
            begins: |lines| lines[0].text.trim() == "BYT;" || is_disk(&lines[0]),
            read: machine,
        },
        Reader::Text {
            anchors: &[Anchor::Within(": "), Anchor::Within("：")],
            begins: |lines| heading(lines).is_some() || is_nameless(lines),
            read: people,
        },
        Reader::Text {
            anchors: &[Anchor::Start("Minor ")],
            begins: |lines| minor::is_heading(&lines[0]),
            read: minor::read,
        },
        // The table without what stands above it: what `grep -A9 Number` or `grep '^ '` leaves.
        Reader::Text {
            anchors: &[
                Anchor::LooseShaped(alone::is_names),
                Anchor::LooseShaped(alone::is_row),
            ],
            begins: |lines| {
                lines
                    .iter()
                    .take(3)
                    .any(|line| alone::begins_as_row(line.text))
            },
            read: alone::read,
        },
        Reader::Text {
            anchors: &[Anchor::Within(" aligned")],
            begins: |lines| alone::alignment(&lines[0]).is_some(),
            read: alone::read_alignment,
        },
        Reader::Json {
            is: |object| {
                let disk = object.get("disk").and_then(|disk| disk.object());
                disk.is_some_and(|disk| disk.has("path") && disk.has("logical-sector-size"))
            },
            read: json,
        },
    ],
};

/// Most partitions of one disk that are looked at; a GPT has room for 128.
const MAX_PARTITIONS: usize = 1024;

/// A disk, in whichever shape it was printed.
struct Disk<'t> {
    path: String,
    size: Option<(String, Line<'t>)>,
    sectors: Option<(u64, u64, Line<'t>)>,
    label: Option<(String, Line<'t>)>,
    transport: Option<(String, Line<'t>)>,
    model: Option<(String, Line<'t>)>,
    id: Option<(String, Line<'t>)>,
    partitions: Vec<Partition<'t>>,
}

#[derive(Default)]
struct Partition<'t> {
    number: u64,
    start: Option<(String, Line<'t>)>,
    end: Option<(String, Line<'t>)>,
    size: Option<(String, Line<'t>)>,
    filesystem: Option<(String, Line<'t>)>,
    name: Option<(String, Line<'t>)>,
    kind: Option<(String, Line<'t>)>,
    uuid: Option<(String, Line<'t>)>,
    flags: Option<(String, Line<'t>)>,
    extended: bool,
}

impl Disk<'_> {
    fn note(mut self, notes: &mut Notes<'_>) {
        self.partitions.truncate(MAX_PARTITIONS);
        let path = std::mem::take(&mut self.path);
        let mut thing = device::disk(&path);
        let own = thing.kind == LayerKind::Device && !device::is_image(&path);
        let sector = self.sectors.map_or(512, |(logical, ..)| logical);
        if let Some((text, line)) = &self.size
            && let Some(size) = figure(text, sector)
        {
            thing.size = Some(notes.said(line, whole_sectors(size, sector)));
        }
        if let Some((logical, physical, line)) = self.sectors {
            device::grid(
                &mut thing,
                GridRole::LogicalSector,
                logical,
                0,
                &line,
                notes,
            );
            device::limit(
                &mut thing,
                &path,
                GridRole::PhysicalSector,
                physical,
                0,
                &line,
                notes,
            );
        }
        // A filesystem without a table is shown as one partition that fills the disk.
        let loops = self
            .label
            .as_ref()
            .is_some_and(|(label, _)| label == "loop");
        if let Some((label, line)) = &self.label
            && !loops
            && label != "unknown"
        {
            device::table(&mut thing, label, line, notes);
        }
        if let Some((id, line)) = &self.id {
            thing = device::table_id(thing, id, line, notes);
        }
        // A driver's name is no transport: disks of SATA and of virtual machines are `scsi` here.
        if let Some((transport, line)) = &self.transport
            && matches!(transport.as_str(), "nvme" | "virtblk")
        {
            let name = if transport == "virtblk" {
                "virtio"
            } else {
                "nvme"
            };
            thing.set_text(Key::Transport, notes.said(line, name.to_owned()));
        }
        if let Some((model, line)) = &self.model
            && own
        {
            thing.set_text(Key::Model, notes.said(line, model.clone()));
        }
        notes.add(thing);
        if loops {
            if let Some((kind, line)) = self.partitions.first().and_then(|p| p.filesystem.as_ref())
                && let Some(kind) = device::filesystem(kind, None)
            {
                let on = device::name(&path);
                notes.add(filesystem(&kind, &on, line, notes));
            }
            return;
        }
        self.find_extended(sector);
        let is_gpt = self.label.as_ref().is_some_and(|(label, _)| label == "gpt");
        for partition in &self.partitions {
            partition.note(&path, sector, is_gpt, notes);
        }
    }

    /// Machines are not told which partition is the extended one: it is the primary in which all logical ones start.
    fn find_extended(&mut self, sector: u64) {
        let is_mbr = self
            .label
            .as_ref()
            .is_some_and(|(label, _)| label == "msdos");
        if !is_mbr || self.partitions.iter().any(|partition| partition.extended) {
            return;
        }
        let bytes = |text: &Option<(String, Line<'_>)>| {
            let (text, _) = text.as_ref()?;
            figure(text, sector)
        };
        let logical: Vec<Interval> = self
            .partitions
            .iter()
            .filter(|partition| partition.number > 4)
            .filter_map(|partition| bytes(&partition.start))
            .collect();
        let holds_all = |partition: &&mut Partition<'_>| {
            let (Some(start), Some(end)) = (bytes(&partition.start), bytes(&partition.end)) else {
                return false;
            };
            let holds = |place: &Interval| start.from() <= place.to() && place.from() <= end.to();
            partition.number <= 4 && logical.iter().all(holds)
        };
        // Rounded, one may seem to end where the next begins.
        let candidates = self.partitions.iter_mut().filter(holds_all);
        let last = candidates.max_by_key(|partition| bytes(&partition.end).map(|end| end.to()));
        if let (Some(partition), false) = (last, logical.is_empty()) {
            partition.extended = true;
        }
    }
}

impl Partition<'_> {
    fn note(&self, path: &str, sector: u64, is_gpt: bool, notes: &mut Notes<'_>) {
        let Some((start, line)) = &self.start else {
            return;
        };
        let mut thing = device::numbered_partition(path, self.number, line, notes);
        let said = |text: &Option<(String, Line<'_>)>| text.as_ref().map(|(text, _)| text.clone());
        let whole = |found: Interval| whole_sectors(found, sector);
        let figures = row::Row {
            start: figure(start, sector).map(whole),
            end: said(&self.end).and_then(|end| behind(&end, sector)),
            length: said(&self.size)
                .and_then(|size| figure(&size, sector))
                .map(whole),
            ..row::Row::default()
        };
        // Objects of JSON have a line for each figure.
        let size_line = self.size.as_ref().map(|(_, line)| *line);
        figures.set(&mut thing, line, notes);
        if let (Some(size), Some(line)) = (&mut thing.size, size_line) {
            size.source = notes.source(&line);
        }
        if let Some(bytes) = thing.start.as_ref().and_then(|start| start.value.known())
            && let Some(first) = bytes.get().checked_div(sector)
        {
            thing.set(Key::StartSector, notes.said(line, Value::Count(first)));
        }
        if let Some((name, line)) = &self.name {
            thing.set_text(Key::PartitionName, notes.said(line, name.clone()));
        }
        if let Some((kind, line)) = &self.kind {
            device::partition_type(&mut thing, kind, line, notes);
        }
        if let (Some((flags, line)), None, true) = (&self.flags, &self.kind, is_gpt) {
            for flag in flags.split(',') {
                device::gpt_type(&mut thing, flag, line, notes);
            }
        }
        if let Some((uuid, _)) = &self.uuid {
            let name = Name::new(Space::Uuid, uuid.clone());
            thing = thing.named(name);
        }
        if self.extended
            && !thing
                .attributes
                .iter()
                .any(|a| a.key == Key::HoldsPartitions)
        {
            device::holds_partitions(&mut thing, line, notes);
        }
        let on = thing.names.first().cloned();
        notes.add(thing);
        if let Some((kind, line)) = &self.filesystem
            && let Some(kind) = device::filesystem(kind, None)
            && let Some(on) = on
        {
            notes.add(filesystem(&kind, &on, line, notes));
        }
    }
}

/// A filesystem as parted calls it. It calls all of the ext family without a journal `ext2`.
fn filesystem(kind: &str, on: &Name, line: &Line<'_>, notes: &Notes<'_>) -> Thing {
    let mut thing = device::filesystem_on(kind, on, line, notes);
    if kind == "ext2"
        && let Some(format) = &mut thing.format
    {
        format.trust = Trust::Doubtful;
    }
    thing
}

fn text<'t>(text: &str, line: &Line<'t>) -> Option<(String, Line<'t>)> {
    let text = text.trim();
    (!text.is_empty()).then(|| (text.to_owned(), *line))
}

/// The fields of a line for machines. A colon in a name has a backslash before it.
fn fields(line: &Line<'_>) -> Vec<String> {
    let body = line.text.trim().trim_end_matches(';');
    let mut fields = vec![String::new()];
    let mut escaped = false;
    for c in body.chars() {
        match c {
            '\\' if !escaped => {
                escaped = true;
                continue;
            }
            ':' if !escaped => fields.push(String::new()),
            c => {
                if let Some(last) = fields.last_mut() {
                    last.push(c);
                }
            }
        }
        escaped = false;
    }
    fields
}

/// `/dev/sda:500GB:scsi:512:4096:gpt:ATA Samsung SSD 860:;`.
fn is_disk(line: &Line<'_>) -> bool {
    let text = line.text.trim();
    let colons = text.bytes().filter(|byte| *byte == b':').count();
    text.ends_with(';') && colons >= 6 && {
        let head = fields(line);
        // Cylinder, head and sector of an end are no length.
        figure(&head[1], 512).is_some() && head[3..5].iter().all(|size| size.parse::<u64>().is_ok())
    }
}

fn machine(section: &Section<'_>, notes: &mut Notes<'_>) {
    let named = |line: &&Line<'_>| !line.is_blank() && line.text.trim() != "BYT;";
    let mut lines = section.lines.iter().filter(named);
    let Some(first) = lines.next() else { return };
    let head = fields(first);
    let [path, size, transport, logical, physical, label, rest @ ..] = head.as_slice() else {
        notes.remark(
            AnomalyKind::Truncated,
            "the line of the disk is cut off: its partitions were not read",
            first,
        );
        return;
    };
    let sectors = logical.parse().ok().zip(physical.parse().ok());
    let mut disk = Disk {
        path: path.clone(),
        size: text(size, first),
        sectors: sectors.map(|(logical, physical)| (logical, physical, *first)),
        label: text(label, first),
        transport: text(transport, first),
        model: rest.first().and_then(|model| text(model, first)),
        id: None,
        partitions: Vec::new(),
    };
    let mut cylinder = None;
    for line in lines {
        let row = fields(line);
        // `1044:255:63:8225kB;`: the geometry, when places are counted in cylinders.
        if let [_, heads, sectors, length] = row.as_slice()
            && let (Ok(heads), Ok(sectors), true) = (
                heads.parse::<u64>(),
                sectors.parse::<u64>(),
                length.ends_with("kB"),
            )
        {
            cylinder = heads.checked_mul(sectors).and_then(|n| n.checked_mul(512));
            continue;
        }
        let [number, start, end, size, rest @ ..] = row.as_slice() else {
            break;
        };
        // `print free` numbers the room between partitions as it does them.
        if matches!(rest, [free] if free == "free") {
            continue;
        }
        let in_bytes = |text: &str| match cylinder {
            Some(unit) if text.ends_with("cyl") => format!("{text}{unit}"),
            _ => text.to_owned(),
        };
        let Ok(number) = number.parse() else { break };
        disk.partitions.push(Partition {
            number,
            start: text(&in_bytes(start), line),
            end: text(&in_bytes(end), line),
            size: text(&in_bytes(size), line),
            filesystem: rest.first().and_then(|kind| text(kind, line)),
            name: rest.get(1).and_then(|name| text(name, line)),
            flags: rest.get(2).and_then(|flags| text(flags, line)),
            ..Partition::default()
        });
    }
    disk.note(notes);
}

/// `Disk /dev/sda: 500GB`, with a line soon behind it that ends in two sizes of sectors, or where that was lost, with rows.
fn heading<'t>(lines: &[Line<'t>]) -> Option<(&'t str, &'t str)> {
    let (path, size) = fdisk::device_line(lines.first()?)?;
    let is_size = figure(size, 512).is_some() || figures::triple(size).is_some();
    if !is_size || !path.starts_with('/') || size.contains(' ') {
        return None;
    }
    let is_followed =
        sectors_near(lines).is_some() || lines.iter().take(8).any(|l| row(l).is_some());
    is_followed.then_some((path, size))
}

/// `Model: … (scsi)` with sizes of sectors behind it, and between them what is left of the line that names the disk.
fn is_nameless(lines: &[Line<'_>]) -> bool {
    let is_model = lines[0].text.trim_end().ends_with(')') && value(&lines[0]).is_some();
    let named = |line: &Line<'_>| fdisk::device_line(line).is_some();
    is_model && sectors_near(lines).is_some_and(|at| at < 3 && !lines[..at].iter().any(named))
}

/// Which of the next lines says how long sectors are.
fn sectors_near(lines: &[Line<'_>]) -> Option<usize> {
    let mut near = lines.iter().take(4).skip(1);
    near.position(|line| sector_sizes(line).is_some())
        .map(|at| at + 1)
}

/// `Sector size (logical/physical): 512B/4096B`.
fn sector_sizes(line: &Line<'_>) -> Option<(u64, u64)> {
    let (_, value) = line.text.rsplit_once([':', '：'])?;
    let (logical, physical) = value.trim().split_once('/')?;
    let bytes = |text: &str| text.trim().strip_suffix('B')?.parse().ok();
    Some((bytes(logical)?, bytes(physical)?))
}

/// The value behind the last colon of a line.
fn value<'t>(line: &Line<'t>) -> Option<&'t str> {
    let (_, value) = line.text.rsplit_once([':', '：'])?;
    Some(value.trim())
}

fn people(section: &Section<'_>, notes: &mut Notes<'_>) {
    let lines = section.lines;
    let at = sectors_near(lines);
    let sectors = at.and_then(|at| {
        let (logical, physical) = sector_sizes(&lines[at])?;
        Some((logical, physical, lines[at]))
    });
    // The geometry has a line of its own where places are counted in cylinders.
    let mut below = lines.iter().skip(at.unwrap_or(0) + 1);
    let label = below.find(|line| figures::geometry(line).is_none());
    let (path, size) = heading(lines).unzip();
    if path.is_none() {
        let detail = "the line that names the disk was lost";
        notes.remark(AnomalyKind::Missing, detail, &lines[0]);
    }
    let mut disk = Disk {
        path: path.unwrap_or("disk ?").to_owned(),
        size: size.and_then(|size| text(size, &lines[0])),
        sectors,
        label: label.and_then(|line| text(value(line)?, line)),
        transport: None,
        model: None,
        id: None,
        partitions: Vec::new(),
    };
    // `Model: ATA Samsung SSD 860 (scsi)`.
    let model = match path {
        Some(_) => section.before.last(),
        None => lines.first(),
    };
    if let Some(line) = model
        && let Some((_, said)) = line.text.split_once([':', '：'])
        && let Some((model, transport)) = said.trim().trim_end_matches(')').rsplit_once('(')
    {
        disk.model = text(model, line);
        disk.transport = text(transport, line);
    }
    let geometry = lines.iter().find_map(figures::geometry);
    let typed = disk
        .label
        .as_ref()
        .is_some_and(|(label, _)| label == "msdos");
    disk.partitions = rows(lines, typed, notes);
    for found in &mut disk.partitions {
        for (text, _) in [&mut found.start, &mut found.end, &mut found.size]
            .into_iter()
            .flatten()
        {
            if let Some(geometry) = geometry {
                geometry.spell_out(text);
            }
        }
    }
    if let (Some(geometry), Some((text, _))) = (geometry, &mut disk.size) {
        geometry.spell_out_length(text);
    }
    disk.note(notes);
}

fn said<'t>(object: &Object<'t>, key: &str) -> Option<(String, Line<'t>)> {
    let value = object.get(key)?;
    text(&value.text()?, &value.line())
}

fn json_partition<'t>(object: &Object<'t>) -> Option<Partition<'t>> {
    Some(Partition {
        number: object.number("number")?,
        start: said(object, "start"),
        end: said(object, "end"),
        size: said(object, "size"),
        filesystem: said(object, "filesystem"),
        name: said(object, "name"),
        kind: said(object, "type-uuid").or_else(|| said(object, "type-id")),
        uuid: said(object, "uuid"),
        flags: object.get("flags").and_then(|list| {
            let flags: Vec<_> = list.items().iter().filter_map(Json::text).collect();
            text(&flags.join(","), &list.line())
        }),
        extended: object.text("type").as_deref() == Some("extended"),
    })
}

fn json(json: &Json<'_>, _: &Context<'_>, notes: &mut Notes<'_>) {
    let disk = json
        .object()
        .and_then(|object| object.get("disk")?.object());
    let Some(object) = disk else { return };
    let said = |key: &str| said(&object, key);
    let logical = object.get("logical-sector-size");
    let sectors = logical.and_then(|value| {
        let physical = object.number("physical-sector-size");
        let logical = value.number()?;
        Some((logical, physical.unwrap_or(0), value.line()))
    });
    let Some((path, _)) = said("path") else {
        return;
    };
    let list = object.get("partitions").map(|list| list.items());
    let objects: Vec<_> = list
        .unwrap_or_default()
        .iter()
        .filter_map(Json::object)
        .collect();
    let disk = Disk {
        path,
        size: said("size"),
        sectors,
        label: said("label"),
        transport: said("transport"),
        model: said("model"),
        id: said("uuid"),
        partitions: objects.iter().filter_map(json_partition).collect(),
    };
    disk.note(notes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_colon_in_a_name_has_a_backslash() {
        let line = Line {
            number: 1,
            text: r"2:2048s:4095s:2048s:xfs:a\:b:boot, esp;",
        };
        let expected = ["2", "2048s", "4095s", "2048s", "xfs", "a:b", "boot, esp"];
        assert_eq!(fields(&line), expected);
    }
}
