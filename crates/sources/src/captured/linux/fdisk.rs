//! `fdisk -l`, of util-linux 2.10 to now, in any language: what stands where decides, not what it is called.
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
//! Blocks are 1,024 bytes; a `+` behind them says that half of one is left over. Counted in cylinders, a start is only
//! known to lie in one.
//!
//! Source: util-linux `disk-utils/fdisk-list.c`, and `fdisk/fdisk.c` of 2.17.

use straddle_geometry::Bytes;
use straddle_stack::{GridRole, Interval, Key, LayerKind, Value};

use super::device;
use crate::captured::text::Line;
use crate::captured::tool::{Anchor, Notes, Reader, Section, Tool};
use crate::inventory::Thing;

pub(crate) static TOOL: Tool = Tool {
    name: "fdisk",
    platform: "linux",
    commands: &["fdisk -l", "fdisk -lu", "sfdisk -l"],
    readers: &[Reader::Text {
        anchors: &[
            Anchor::Within("iB, "),
            Anchor::Within("iB，"),
            Anchor::Within("B, "),
            Anchor::Within(" heads, "),
        ],
        begins: |lines| begins(lines).is_some(),
        read,
    }],
};

/// A disk's first line.
struct Header<'t> {
    path: &'t str,
    bytes: Option<u64>,
}

/// A disk's first line, when it is one.
fn begins<'t>(lines: &[Line<'t>]) -> Option<Header<'t>> {
    let (path, rest) = device_line(lines.first()?)?;
    let numbers = integers(rest);
    let figure = rest.split_whitespace().next()?;
    let starts_with_figure = figure.starts_with(|c: char| c.is_ascii_digit());
    // Older than 2.13: the geometry stands in the first line, and no size.
    if rest.contains(" heads, ") {
        return Some(Header { path, bytes: None });
    }
    // sgdisk begins with the number of sectors.
    if !starts_with_figure || rest.split([',', '，']).count() < 2 || numbers.len() < 2 {
        return None;
    }
    let unit = rest.split_whitespace().nth(1)?;
    let unit = unit.split([',', '，']).next()?;
    if !unit.ends_with('B') && unit != "bytes" {
        return None;
    }
    // sg_readcap says `Device size: 4000787030016 bytes, 3815447.8 MiB, …`; fdisk is given paths, and says its units.
    let says_units = || {
        let mut near = lines.iter().skip(1).take(6);
        near.any(|line| units(line.text).is_some())
    };
    if !path.starts_with('/') && !says_units() {
        return None;
    }
    let bytes = numbers
        .into_iter()
        .max()
        .filter(|bytes| *bytes >= 1 << 16)?;
    Some(Header {
        path,
        bytes: Some(bytes),
    })
}

/// `Disk /dev/sda: …`: the path and what follows, whatever the word for a disk is.
pub(super) fn device_line<'t>(line: &Line<'t>) -> Option<(&'t str, &'t str)> {
    let text = line.text.trim();
    let (head, rest) = match text.split_once(": ") {
        Some(parts) => parts,
        None => text.split_once('：')?,
    };
    let (word, path) = head.trim().split_once(char::is_whitespace)?;
    let path = path.trim();
    let word_of_letters = word.chars().all(char::is_alphabetic);
    (word_of_letters && !path.is_empty()).then(|| (path, rest.trim()))
}

/// The whole numbers in a text; those with decimals count as two.
fn integers(text: &str) -> Vec<u64> {
    let words = text.split(|c: char| !c.is_ascii_digit());
    words.filter_map(|word| word.parse().ok()).collect()
}

/// What the lines above the table say.
#[derive(Default)]
struct Limits<'t> {
    /// Bytes of the unit that starts are counted in, and of a sector.
    unit: Option<(u64, u64)>,
    sectors: Option<(u64, u64, Line<'t>)>,
    io: Option<(u64, u64, Line<'t>)>,
    offset: Option<(u64, Line<'t>)>,
    label: Option<(&'t str, Line<'t>)>,
    id: Option<(&'t str, Line<'t>)>,
    model: Option<(&'t str, Line<'t>)>,
}

const MODEL: [&str; 6] = ["model", "modèle", "modeldisk", "モデル", "модель", "型号"];

impl<'t> Limits<'t> {
    fn read(lines: &[Line<'t>]) -> Limits<'t> {
        let mut limits = Limits::default();
        for line in lines {
            limits.line(line);
        }
        limits
    }

    fn line(&mut self, line: &Line<'t>) {
        let text = line.text.trim();
        if let Some((left, right)) = text.split_once([':', '：', '='])
            && let Some((count, unit)) = units(right).or_else(|| units(left))
        {
            self.unit.get_or_insert((count, unit));
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
            let place = if self.sectors.is_none() {
                &mut self.sectors
            } else {
                &mut self.io
            };
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
            (Some((logical, ..)), _) => logical,
            (None, Some((_, sector))) => sector,
            (None, None) => 512,
        }
    }

    /// How many sectors starts are counted in.
    fn count(&self) -> u64 {
        self.unit.map_or(1, |(count, _)| count)
    }
}

/// `sectors of 1 * 512 = 512 bytes`: how many sectors of how many bytes.
fn units(text: &str) -> Option<(u64, u64)> {
    let (left, right) = text.split_once(['*', '×'])?;
    let digits = |c: char| !c.is_ascii_digit();
    let count = left.trim_end().rsplit(digits).next()?.parse().ok()?;
    let size = right.trim_start().split(digits).next()?.parse().ok()?;
    (count != 0 && size != 0).then_some((count, size))
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

fn read(section: &Section<'_>, notes: &mut Notes<'_>) {
    let Some((first, rest)) = section.lines.split_first() else {
        return;
    };
    let Some(header) = begins(section.lines) else {
        return;
    };
    let path = header.path;
    let is_row = |line: &Line<'_>| line.text.trim_start().starts_with(path);
    let table = rest.iter().position(is_row).unwrap_or(rest.len());
    let limits = Limits::read(&rest[..table]);
    let mut thing = device::disk(path);
    if let Some(bytes) = header.bytes {
        thing.size = Some(notes.said(first, Interval::exact(Bytes::new(bytes))));
    }
    describe(&mut thing, path, &limits, notes);
    let rows = rows(&rest[table..], path);
    // Versions before 2.23 do not see the GPT that this entry protects.
    let guard = rows.iter().find(|row| row.is_protective());
    match (guard, limits.label) {
        (Some(guard), _) => device::table(&mut thing, "gpt", &guard.line, notes),
        (None, Some((label, line))) => device::table(&mut thing, label, &line, notes),
        // They know no table but one.
        (None, None) if rows.iter().any(|row| row.id().is_some()) => {
            device::table(&mut thing, "dos", &rows[0].line, notes);
        }
        (None, None) => {}
    }
    if let (Some((id, line)), None) = (limits.id, guard) {
        thing = device::table_id(thing, id, &line, notes);
    }
    notes.add(thing);
    for row in rows.iter().filter(|row| !row.is_protective()) {
        let thing = device::partition(row.node, path, &row.line, notes);
        add(thing, row, &limits, notes);
    }
    if limits.label.is_some_and(|(label, _)| label == "gpt") {
        numbered_rows(rest, path, &limits, notes);
    }
}

fn describe(thing: &mut Thing, path: &str, limits: &Limits<'_>, notes: &Notes<'_>) {
    let phase = limits.offset.map_or(0, |(bytes, _)| bytes);
    if let Some((bytes, line)) = limits.offset {
        let value = Value::SignedBytes(i64::try_from(bytes).unwrap_or(i64::MAX));
        thing.set(Key::AlignmentOffset, notes.said(&line, value));
    }
    // What a stacked device repeats from below would be counted twice.
    let own = thing.kind == LayerKind::Device && !device::is_image(path);
    if let Some((logical, physical, line)) = limits.sectors {
        device::grid(thing, GridRole::LogicalSector, logical, 0, &line, notes);
        if own {
            device::grid(
                thing,
                GridRole::PhysicalSector,
                physical,
                phase,
                &line,
                notes,
            );
        }
    }
    if let (Some((minimum, optimal, line)), true) = (limits.io, own) {
        device::grid(thing, GridRole::MinimumIo, minimum, phase, &line, notes);
        device::grid(thing, GridRole::OptimalIo, optimal, phase, &line, notes);
    }
    if let Some((model, line)) = limits.model {
        thing.set_text(Key::Model, notes.said(&line, model.to_owned()));
    }
}

/// A line of the table.
struct Row<'t> {
    line: Line<'t>,
    node: &'t str,
    /// What stands behind the node and the mark of the active partition.
    words: Vec<&'t str>,
}

impl<'t> Row<'t> {
    /// True for the columns of 2.26 and later, where the fourth is a size for people.
    fn is_new(&self) -> bool {
        let size = self.words.get(3).copied().unwrap_or_default();
        size.starts_with(|c: char| c.is_ascii_digit())
            && size.ends_with(['B', 'K', 'M', 'G', 'T', 'P'])
    }

    /// The type byte, where the table is an MBR's.
    fn id(&self) -> Option<&'t str> {
        let id = *self.words.get(if self.is_new() { 4 } else { 3 })?;
        (id.len() <= 2 && id.bytes().all(|b| b.is_ascii_hexdigit())).then_some(id)
    }

    fn is_protective(&self) -> bool {
        self.id().is_some_and(device::is_protective)
    }

    fn number(&self, index: usize) -> Option<u64> {
        let word = self.words.get(index)?;
        word.trim_end_matches(['+', '-']).parse().ok()
    }
}

/// The lines whose first word is a partition of the disk at `path`.
fn rows<'t>(lines: &[Line<'t>], path: &str) -> Vec<Row<'t>> {
    let mut rows = Vec::new();
    let mut lines = lines.iter().peekable();
    while let Some(line) = lines.next() {
        let text = line.text.trim_start();
        let Some(behind) = text.strip_prefix(path) else {
            continue;
        };
        let end = behind.find(char::is_whitespace).unwrap_or(behind.len());
        let node = &text[..path.len() + end];
        let mut words: Vec<&str> = behind[end..].split_whitespace().collect();
        let mut at = line;
        // Long names of devices had a line of their own.
        if words.is_empty()
            && let Some(next) = lines.next_if(|next| next.text.starts_with(' '))
        {
            words = next.text.split_whitespace().collect();
            at = next;
        }
        if words.first().is_some_and(|word| matches!(*word, "*" | "?")) {
            words.remove(0);
        }
        let row = Row {
            line: *at,
            node,
            words,
        };
        if node.len() > path.len() && row.number(0).is_some() && row.number(1).is_some() {
            rows.push(row);
        }
    }
    rows
}

fn add(mut thing: Thing, row: &Row<'_>, limits: &Limits<'_>, notes: &mut Notes<'_>) {
    let (sector, count) = (limits.sector(), limits.count());
    let line = &row.line;
    if let Some(start) = row.number(0) {
        match (count, Bytes::new(sector).checked_mul(count)) {
            (1, _) => device::start(&mut thing, start, sector, line, notes),
            // Cylinders count from 1; a start is somewhere in its one.
            (_, Some(unit)) => {
                let from = start.checked_sub(1).and_then(|n| unit.checked_mul(n));
                let to =
                    from.and_then(|from| from.checked_add(unit)?.checked_sub(Bytes::new(sector)));
                let within = from.zip(to).and_then(|(from, to)| Interval::new(from, to));
                thing.start = within.map(|within| notes.said(line, within));
            }
            (_, None) => {}
        }
    }
    if row.is_new() {
        if let Some(sectors) = row.number(2) {
            device::size(&mut thing, sectors, sector, line, notes);
        }
    } else if let Some(blocks) = row.number(2) {
        let half = row.words.get(2).is_some_and(|word| word.ends_with('+'));
        let bytes = blocks
            .checked_mul(1024)
            .and_then(|bytes| bytes.checked_add(if half { 512 } else { 0 }));
        if let Some(bytes) = bytes {
            thing.size = Some(notes.said(line, Interval::exact(Bytes::new(bytes))));
        }
    }
    if let Some(id) = row.id() {
        device::partition_type(&mut thing, id, line, notes);
    } else if let Some(name) = row.words.get(4..) {
        device::gpt_type(&mut thing, &name.join(" "), line, notes);
    }
    notes.add(thing);
}

/// 2.23 to 2.25 number the partitions of a GPT: ` 1   2048   2099199   1G  EFI System   EFI System Partition`.
fn numbered_rows(lines: &[Line<'_>], path: &str, limits: &Limits<'_>, notes: &mut Notes<'_>) {
    let Some(heading) = lines.iter().position(|line| line.text.starts_with('#')) else {
        return;
    };
    for line in &lines[heading + 1..] {
        let mut words = line.text.split_whitespace();
        let mut next = || words.next()?.parse::<u64>().ok();
        let (Some(number), Some(start), Some(end)) = (next(), next(), next()) else {
            break;
        };
        let mut thing = device::numbered_partition(path, number, line, notes);
        device::start(&mut thing, start, limits.sector(), line, notes);
        if let Some(sectors) = end.checked_sub(start).and_then(|n| n.checked_add(1)) {
            device::size(&mut thing, sectors, limits.sector(), line, notes);
        }
        notes.add(thing);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(text: &str) -> Option<(&str, Option<u64>)> {
        let line = Line { number: 1, text };
        begins(&[line]).map(|header| (header.path, header.bytes))
    }

    #[test]
    fn a_disk_is_a_disk_in_all_languages() {
        let disk = Some(("/dev/sda", Some(67_108_864)));
        for text in [
            "Disk /dev/sda: 64 MiB, 67108864 bytes, 131072 sectors",
            "Festplatte /dev/sda: 64 MiB, 67108864 Bytes, 131072 Sektoren",
            "Disque /dev/sda : 64 MiB, 67108864 octets, 131072 secteurs",
            "Disk /dev/sda：64 MiB，67108864 字节，131072 个扇区",
            "Dysk /dev/sda: 64 MiB, bajtów: 67108864, sektorów: 131072",
            "Disk /dev/sda: 67 MB, 67108864 bytes",
        ] {
            assert_eq!(header(text), disk, "{text}");
        }
        assert_eq!(
            header("Disk /dev/hda: 255 heads, 63 sectors, 2434 cylinders"),
            Some(("/dev/hda", None))
        );
        for text in [
            "Disk /dev/sda: 131072 sectors, 64.0 MiB",
            "Disk /dev/sda: 500GB",
            "Device size: 4000787030016 bytes, 3815447.8 MiB, 4000.79 GB",
            "Note: 12 GiB, 3 files",
        ] {
            assert_eq!(header(text), None, "{text}");
        }
    }

    #[test]
    fn units_are_read_from_their_arithmetic() {
        assert_eq!(
            units("cylinders of 16065 * 512 = 8225280 bytes"),
            Some((16_065, 512))
        );
        assert_eq!(units("secteur de 1 × 512 = 512 octets"), Some((1, 512)));
        assert_eq!(units("セクタ (1 * 512 = 512 バイト)"), Some((1, 512)));
        assert_eq!(units("sectors of 512 bytes"), None);
    }
}
