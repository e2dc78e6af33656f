//! `lsblk` in any shape: a tree, a table, pairs (`-P`) or JSON (`-J`), with whatever columns were asked for.
//!
//! Sizes are in bytes with `-b`, else rounded to the nearest of one decimal, in powers of 1,024. `START` counts sectors of
//! 512 bytes; versions before 2.38 do not have it. A partition's row repeats its disk's limits, so limits are taken from
//! the rows of disks, and from arrays where they differ.
//!
//! Source: util-linux `misc-utils/lsblk.c`.

mod relate;
mod rows;
mod table;

use std::collections::{HashMap, HashSet};
use straddle_geometry::{Bytes, SectorSize};
use straddle_stack::{AnomalyKind, GridRole, Interval, Key, LayerKind, Value};

use super::device;
use crate::captured::json::Json;
use crate::captured::number::{self, Prefix, Rounding};
use crate::captured::tool::{Anchor, Context, Notes, Reader, Section, Tool};
use crate::inventory::{Name, Placing, Space, Thing};
use rows::{Kind, Row};

pub(crate) static TOOL: Tool = Tool {
    name: "lsblk",
    platform: "linux",
    commands: &[
        "lsblk -JO -b",
        "lsblk -J -o …",
        "lsblk -O -P",
        "lsblk -t",
        "lsblk -f",
        "lsblk",
    ],
    readers: &[
        Reader::Json {
            is: |object| object.has("blockdevices"),
            read: json,
        },
        Reader::Text {
            anchors: &[Anchor::Shaped(rows::is_pairs)],
            begins: |_| true,
            read: pairs,
        },
        Reader::Text {
            anchors: &[
                Anchor::Start("NAME "),
                Anchor::Start("KNAME "),
                Anchor::Start("PATH "),
            ],
            begins: |lines| table::is_heading(&lines[0]),
            read: |section, notes| {
                let (rows, unread) = table::rows(section.lines);
                if let Some(line) = unread {
                    let detail = "the row of a device could not be read, nor what stands below it";
                    notes.remark(AnomalyKind::Truncated, detail, &line);
                }
                let asked = section.lines[0].text.split_whitespace();
                if asked.into_iter().any(|name| name == "START") {
                    startless(&rows, notes);
                }
                note(rows, notes);
            },
        },
    ],
};

fn json(json: &Json<'_>, _: &Context<'_>, notes: &mut Notes<'_>) {
    let list = json.object().and_then(|object| object.get("blockdevices"));
    let mut found = Vec::new();
    for item in list.map(|list| list.items()).unwrap_or_default() {
        rows::from_json(&item, None, 0, &mut found);
    }
    note(found, notes);
}

fn pairs(section: &Section<'_>, notes: &mut Notes<'_>) {
    let lines = section.lines.iter().take(1);
    note(lines.filter_map(rows::from_pairs).collect(), notes);
}

/// Partitions that have no number in the column of starts: it stands elsewhere, as when the branches were taken out.
fn startless(rows: &[Row<'_>], notes: &mut Notes<'_>) {
    for row in rows {
        let parent = row.parent.and_then(|parent| rows.get(parent));
        let start = row.get("start").and_then(|cell| number::whole(&cell.text));
        if row.kind_below(parent) == Some(Kind::Partition) && start.is_none() {
            let detail = "the row of a partition has no number in the column of its start: the columns have slipped";
            notes.remark(AnomalyKind::Truncated, detail, &row.line);
        }
    }
}

/// Rows, and how they hang together.
struct Tree<'r, 't> {
    rows: &'r [Row<'t>],
    /// The path of each row's device.
    paths: Vec<Option<String>>,
    /// Rows by the path of their device: one that lies on several is printed below each.
    same: HashMap<String, Vec<usize>>,
    /// Rows with others below them.
    parents: HashSet<usize>,
    /// For a path to a multipath device, the row of that.
    multipath: HashMap<usize, usize>,
    /// The path of the device with these numbers; `None` where two have them, as when somebody has changed the text.
    numbers: HashMap<String, Option<String>>,
}

impl<'r, 't> Tree<'r, 't> {
    fn new(rows: &'r [Row<'t>]) -> Tree<'r, 't> {
        let path = |row: &Row<'_>| row.path(row.parent.and_then(|parent| rows.get(parent)));
        let paths: Vec<Option<String>> = rows.iter().map(path).collect();
        let mut tree = Tree {
            rows,
            same: HashMap::new(),
            parents: rows.iter().filter_map(|row| row.parent).collect(),
            multipath: HashMap::new(),
            numbers: HashMap::new(),
            paths,
        };
        for (index, row) in rows.iter().enumerate() {
            if let Some(path) = &tree.paths[index] {
                tree.same.entry(path.clone()).or_default().push(index);
            }
            if let (Some(path), Some(numbers)) = (&tree.paths[index], row.given_out()) {
                let only = tree.numbers.entry(numbers.to_owned());
                let only = only.or_insert_with(|| Some(path.clone()));
                if only.as_ref() != Some(path) {
                    *only = None;
                }
            }
            if let (Some(parent), Some(Kind::Multipath)) = (row.parent, row.kind()) {
                tree.multipath.insert(parent, index);
            }
        }
        tree
    }

    fn path(&self, index: usize) -> Option<&str> {
        self.paths.get(index)?.as_deref()
    }

    fn parent(&self, index: usize) -> Option<&Row<'t>> {
        self.rows.get(self.rows.get(index)?.parent?)
    }

    /// What the device of a row lies on.
    fn below(&self, index: usize) -> Vec<Name> {
        let mut below: Vec<Name> = Vec::new();
        let same = self.path(index).and_then(|path| self.same.get(path));
        for index in same.into_iter().flatten() {
            let row = &self.rows[*index];
            let name = match row.parent {
                Some(parent) => self.path(parent).map(device::name),
                None => row.get("pkname").map(|cell| device::name(&cell.text)),
            };
            below.extend(name.filter(|name| !below.contains(name)));
        }
        below
    }

    /// True for the first row of a device.
    fn is_first(&self, index: usize) -> bool {
        let same = self.path(index).and_then(|path| self.same.get(path));
        same.is_some_and(|same| same.first() == Some(&index))
    }
}

fn note(rows: Vec<Row<'_>>, notes: &mut Notes<'_>) {
    let rows = relate::related(rows);
    let tree = Tree::new(&rows);
    for index in 0..rows.len() {
        if tree.is_first(index) {
            if let Some(thing) = storage(&tree, index, notes) {
                notes.add(thing);
            }
            filesystem(&tree, index, notes);
        }
    }
}

fn storage(tree: &Tree<'_, '_>, index: usize, notes: &Notes<'_>) -> Option<Thing> {
    let (row, parent) = (&tree.rows[index], tree.parent(index));
    let path = tree.path(index)?;
    let kind = row.kind_below(parent)?;
    let layer = match kind {
        Kind::Disk | Kind::Loop | Kind::Multipath => LayerKind::Device,
        Kind::Partition => LayerKind::Partition,
        Kind::Volume => LayerKind::Volume,
        Kind::Encryption => LayerKind::Encryption,
        Kind::Array => LayerKind::Array,
    };
    let title = row.name().unwrap_or_else(|| device::title(path));
    let mut thing = Thing::new(layer, title, device::name(path));
    // The paths to a multipath device are one disk.
    let multipath = tree
        .multipath
        .get(&index)
        .and_then(|index| tree.path(*index));
    if let Some(multipath) = multipath {
        thing.title = device::title(multipath);
        thing = thing.named(device::name(multipath));
    }
    if let Some(kname) = row.get("kname") {
        thing = thing.named(device::name(&kname.text));
    }
    // Tables of device-mapper have the numbers of what is below.
    let is_only = |numbers: &&str| matches!(tree.numbers.get(*numbers), Some(Some(_)));
    if let Some(numbers) = row.given_out().filter(is_only) {
        thing = thing.named(device::name(numbers));
    }
    let is_mapped = kind.is_mapped() || path.starts_with("/dev/mapper/");
    // A list without types does not tell that it is mapped.
    if let Some(name) = row.name().filter(|_| is_mapped) {
        thing = thing.named(device::name(&name));
    }
    if let Some(number) = row.mapped().filter(|_| is_mapped) {
        thing = thing.named(device::name(&format!("dm-{number}")));
        // Others call it by its number alone; people do by its name.
        if let Some(name) = row.name().filter(|_| kind == Kind::Encryption) {
            thing.set_text(Key::Label, notes.said(&row.line, name));
        }
    }
    if kind == Kind::Volume
        && let Some((group, volume)) = row.name().as_deref().and_then(rows::volume)
    {
        thing = thing.named(Name::new(Space::LogicalVolume, format!("{group}/{volume}")));
    }
    if kind == Kind::Loop {
        let line = &row.line;
        thing.format = Some(notes.said(line, "loop".into()));
    }
    if let Some(size) = row.get("size") {
        thing.size = size_of(&size.text).map(|found| notes.said(&size.line, found));
    }
    if !matches!(kind, Kind::Disk | Kind::Loop | Kind::Multipath) {
        thing.on = tree.below(index);
        if kind != Kind::Partition {
            // Where it lies below, lsblk does not say.
            thing.placing = Placing::Unknown;
        }
    }
    match kind {
        Kind::Partition => {
            let disk = row.parent.and_then(|parent| tree.path(parent));
            partition(thing, row, path, disk, notes)
        }
        Kind::Disk | Kind::Multipath | Kind::Loop => disk(thing, row, notes),
        Kind::Array => {
            if let Some(level) = row.get("type") {
                thing.set_text(Key::Level, notes.said(&level.line, level.text.to_string()));
            }
            offset(&mut thing, row, notes);
            limits(&mut thing, row, parent, notes);
            Some(thing)
        }
        Kind::Volume | Kind::Encryption => {
            offset(&mut thing, row, notes);
            Some(thing)
        }
    }
}

/// `500107862016`, or `465.8G`. A whole figure was rounded to one decimal too: `512M` is 512.0.
///
/// lsblk takes the tenths from 1,024ths as if they were 1,000ths, so that 465.74 GiB is shown as 465.8: what a figure
/// stands for begins a quarter of a tenth earlier.
fn size_of(text: &str) -> Option<Interval> {
    if let Some(bytes) = number::whole(text) {
        return Some(Interval::exact(Bytes::new(bytes)));
    }
    let unit = text.find(|c: char| c.is_ascii_alphabetic())?;
    let (figure, unit) = text.split_at(unit);
    let tenths = if figure.contains(['.', ',']) {
        ""
    } else {
        ".0"
    };
    let shown = number::shown(
        &format!("{figure}{tenths}{unit}"),
        Prefix::Binary,
        Rounding::Nearest,
    )?;
    let earlier = (shown.to().get() - shown.from().get()) / 4;
    let from = Bytes::new(shown.from().get().saturating_sub(earlier));
    Interval::new(from, shown.to())
}

fn partition(
    mut thing: Thing,
    row: &Row<'_>,
    path: &str,
    disk: Option<&str>,
    notes: &Notes<'_>,
) -> Option<Thing> {
    if let Some(number) = row.number("partn") {
        thing.set(
            Key::PartitionNumber,
            notes.said(&number.1, Value::Count(number.0)),
        );
    } else if let Some(disk) = disk.map(str::to_owned).or_else(|| {
        let disk = row.text("pkname")?.trim_start_matches("/dev/");
        Some(format!("/dev/{disk}"))
    }) {
        let named = device::partition(path, &disk, &row.line, notes);
        thing.attributes.extend(named.attributes);
    }
    if let Some((sectors, line)) = row.number("start")
        && let Some(bytes) = SectorSize::B512.sectors(sectors).bytes()
    {
        thing.start = Some(notes.said(&line, Interval::exact(bytes)));
    }
    if let Some(kind) = row.get("parttype") {
        device::partition_type(&mut thing, &kind.text, &kind.line, notes);
    }
    if let Some(label) = row.get("partlabel") {
        thing.set_text(
            Key::PartitionName,
            notes.said(&label.line, label.text.to_string()),
        );
    }
    if let Some(uuid) = row.get("partuuid") {
        thing = thing.named(Name::new(Space::Uuid, uuid.text.to_string()));
    }
    offset(&mut thing, row, notes);
    Some(thing)
}

/// The kernel's alignment offset; −1 says that nothing fits.
fn offset(thing: &mut Thing, row: &Row<'_>, notes: &Notes<'_>) {
    if let Some(cell) = row.get("alignment")
        && let Ok(bytes) = cell.text.parse()
    {
        let value = Value::SignedBytes(bytes);
        thing.set(Key::AlignmentOffset, notes.said(&cell.line, value));
    }
}

fn disk(mut thing: Thing, row: &Row<'_>, notes: &Notes<'_>) -> Option<Thing> {
    for (column, key) in [
        ("model", Key::Model),
        ("tran", Key::Transport),
        ("zoned", Key::Zoned),
    ] {
        if let Some(cell) = row.get(column) {
            thing.set_text(key, notes.said(&cell.line, cell.text.to_string()));
        }
    }
    if let Some(rota) = row.get("rota") {
        let flag = match &*rota.text {
            "1" | "true" => Some(true),
            "0" | "false" => Some(false),
            _ => None,
        };
        if let Some(flag) = flag {
            thing.set(Key::Rotational, notes.said(&rota.line, Value::Flag(flag)));
        }
    }
    if let Some(serial) = row.get("serial") {
        thing = thing.named(Name::new(Space::Serial, serial.text.to_string()));
        thing.set_text(
            Key::Serial,
            notes.said(&serial.line, serial.text.to_string()),
        );
    }
    if let Some(wwn) = row.get("wwn") {
        thing = thing.named(Name::new(Space::Wwn, wwn.text.to_string()));
    }
    if let Some(table) = row.get("pttype") {
        device::table(&mut thing, &table.text, &table.line, notes);
    }
    if let Some(id) = row.get("ptuuid") {
        // The kernel writes it in lower case, every tool that prints a table in upper case.
        let text = if id.text.len() == 36 {
            id.text.to_ascii_uppercase()
        } else {
            id.text.to_string()
        };
        thing = device::table_id(thing, &text, &id.line, notes);
    }
    offset(&mut thing, row, notes);
    limits(&mut thing, row, None, notes);
    Some(thing)
}

const LIMITS: [(&str, GridRole); 6] = [
    ("log-sec", GridRole::LogicalSector),
    ("phy-sec", GridRole::PhysicalSector),
    ("min-io", GridRole::MinimumIo),
    ("opt-io", GridRole::OptimalIo),
    ("disc-gran", GridRole::DiscardGranularity),
    ("zone-sz", GridRole::Zone),
];

/// The limits of a device's queue, but for those that it repeats from the one below.
fn limits(thing: &mut Thing, row: &Row<'_>, parent: Option<&Row<'_>>, notes: &Notes<'_>) {
    let phase = |column: &str| row.number(column).map_or(0, |(bytes, _)| bytes);
    for (column, role) in LIMITS {
        let Some((bytes, line)) = row.bytes(column) else {
            continue;
        };
        let inherited = parent.and_then(|parent| parent.bytes(column));
        if inherited.is_some_and(|(other, _)| other == bytes) && role != GridRole::LogicalSector {
            continue;
        }
        let phase = match role {
            GridRole::PhysicalSector | GridRole::MinimumIo | GridRole::OptimalIo => {
                phase("alignment")
            }
            GridRole::DiscardGranularity => phase("disc-aln"),
            _ => 0,
        };
        device::grid(thing, role, bytes, phase, &line, notes);
    }
}

fn filesystem(tree: &Tree<'_, '_>, index: usize, notes: &mut Notes<'_>) {
    let row = &tree.rows[index];
    let Some(path) = tree.path(index) else { return };
    let on = device::name(path);
    let version = row.get("fsver").map(|cell| cell.text.to_string());
    let kind = row.get("fstype");
    let known = kind
        .as_ref()
        .and_then(|cell| device::filesystem(&cell.text, version.as_deref()));
    let mounted = row.get("mountpoint").or_else(|| row.get("mountpoints"));
    let mut thing = match (known, &kind, &mounted) {
        (Some(known), Some(cell), _) => device::filesystem_on(&known, &on, &cell.line, notes),
        (None, None, Some(cell)) if cell.text == "[SWAP]" => {
            device::filesystem_on("swap", &on, &cell.line, notes)
        }
        // Something is mounted from it, whatever it is called.
        (None, None, Some(cell))
            if !tree.parents.contains(&index) && cell.text.starts_with('/') =>
        {
            Thing::new(LayerKind::Filesystem, "filesystem", on.clone()).on(on)
        }
        _ => return,
    };
    if let Some(uuid) = row.get("uuid") {
        thing = thing.named(Name::new(Space::Uuid, uuid.text.to_string()));
    }
    if let Some(label) = row.get("label") {
        thing.set_text(Key::Label, notes.said(&label.line, label.text.to_string()));
    }
    if let Some(point) = mounted {
        if point.text.starts_with('/') {
            thing = thing.named(Name::new(Space::MountPoint, point.text.to_string()));
        }
        let text = point.text.trim_matches(['[', ']']);
        let text = if text == "SWAP" { "swap" } else { text };
        thing.set_text(Key::MountPoint, notes.said(&point.line, text.to_owned()));
    }
    notes.add(thing);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_hold_what_lsblk_shows_as_them() {
        let gib = 1_u64 << 30;
        // As lsblk rounds.
        let shown = |bytes: u64| {
            let thousandths = (bytes % gib) >> 20;
            match ((thousandths + 50) / 100, bytes / gib) {
                (0, whole) => format!("{whole}G"),
                (10, whole) => format!("{}G", whole + 1),
                (tenth, whole) => format!("{whole}.{tenth}G"),
            }
        };
        for bytes in (3 * gib..7 * gib).step_by(9_999_999) {
            let text = shown(bytes);
            let found = size_of(&text).expect("a size");
            assert!(found.contains(Bytes::new(bytes)), "{bytes} as {text}");
        }
        assert_eq!(size_of("4096"), Some(Interval::exact(Bytes::new(4096))));
        assert_eq!(size_of("-"), None);
    }
}
