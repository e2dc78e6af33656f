//! `detail partition` and `detail disk`: lines of `label: value` under a heading without one. Labels are translated, and
//! are recognised by what stands behind them and by their order.

use straddle_stack::{AnomalyKind, Key, LayerKind, Value};
use uuid::Uuid;

use crate::captured::number;
use crate::captured::text::{Bytes, Line};
use crate::captured::tool::{Notes, Section};
use crate::captured::windows;
use crate::inventory::{Name, Space, Thing};

/// `label: value`.
fn pair<'t>(line: &Line<'t>) -> Option<(&'t str, &'t str)> {
    // One byte is found faster than one of two characters, and most lines are looked at often.
    let (label, value) = if line.text.is_ascii() {
        line.text.split_once(':')?
    } else {
        line.text.split_once([':', '：'])?
    };
    let (label, value) = (label.trim(), value.trim());
    let plain = label.chars().next().is_some_and(char::is_alphabetic) && label.chars().count() < 60;
    (plain && !value.starts_with('\\')).then_some((label, value))
}

fn is_hex(text: &str, length: usize) -> bool {
    text.len() == length && text.bytes().all(|b| b.is_ascii_hexdigit())
}

/// `c12a7328-f81f-11d2-ba4b-00a0c93ec93b`, in braces or not.
fn guid(text: &str) -> Option<String> {
    let bare = text.trim_matches(['{', '}']);
    let fits = bare.len() == 36 && Uuid::try_parse(bare).is_ok();
    fits.then(|| bare.to_uppercase())
}

/// `Partition 1`, above `Type  : 07` or what is left of its details.
pub(super) fn is_partition(lines: &[Line<'_>]) -> bool {
    let [heading, kind, ..] = lines else {
        return false;
    };
    number_of(heading).is_some() && (is_type(kind) || is_headless(&lines[1..]))
}

fn is_type(line: &Line<'_>) -> bool {
    pair(line).is_some_and(|(_, value)| is_hex(value, 2) || guid(value).is_some())
}

/// `Offset in Bytes: 32256`, in any language.
fn is_offset(line: &Line<'_>) -> bool {
    const OFFSET: [&str; 12] = [
        "offset",
        "décalage",
        "desplaz",
        "смещ",
        "オフセット",
        "偏移",
        "位移",
        "오프셋",
        "przesuni",
        "förskj",
        "scostamento",
        "deslocamento",
    ];
    // `Offset` alone is PowerShell's.
    const BYTES: [&str; 8] = [
        "byte",
        "octet",
        "байт",
        "bajt",
        "バイト",
        "字节",
        "位元組",
        "바이트",
    ];
    pair(line).is_some_and(|(label, value)| {
        if number::whole(value).is_none() {
            return false;
        }
        let lower = label.to_lowercase();
        let bytes = Bytes::of(&lower);
        let has = |words: &[&str]| {
            let mut words = words.iter();
            words.any(|word| bytes.has_all(Bytes::of(word)) && lower.contains(word))
        };
        has(&OFFSET) && has(&BYTES)
    })
}

/// Most lines of details.
const MAX_DETAILS: usize = 10;

/// What the details of a partition can begin with when lines above are missing: a pair, and not one of other tools. Programs have pairs in
/// their comments: `a [2]byte // offset: 1`.
pub(super) fn is_loose(text: &str) -> bool {
    text.len() < 100
        && !text.contains("//")
        && text.contains([':', '：'])
        && !text.contains(['=', '"', '|', '\\'])
}

/// Details of a partition without the line that names it, up to its offset.
pub(super) fn is_headless(lines: &[Line<'_>]) -> bool {
    let pairs = lines.iter().take(MAX_DETAILS);
    let mut pairs = pairs.take_while(|line| pair(line).is_some());
    pairs.any(is_offset)
}

/// Reads them: the partition is the selected one, if one is.
pub(super) fn headless(section: &Section<'_>, notes: &mut Notes<'_>) {
    let Some(first) = section.lines.first() else {
        return;
    };
    let disk = super::disk_or_unknown(section, first, false, notes);
    let thing = match notes.focus.partition {
        Some(number) => windows::partition(&disk, number),
        None => {
            let name = Name::new(
                Space::WindowsPartition,
                format!("{}/?{}", disk.text, first.number),
            );
            let title = format!("a partition of disk {}", disk.text);
            Thing::new(LayerKind::Partition, title, name).on(disk)
        }
    };
    let known = super::disk_of(section, notes);
    describe(thing, (known, None), section.lines, first, notes);
}

fn number_of(heading: &Line<'_>) -> Option<u64> {
    let text = heading.text.trim();
    if text.len() > 60 || text.contains([':', '=', '.', '|']) {
        return None;
    }
    let (name, number) = text.rsplit_once(' ')?;
    let named = name.split_whitespace().count() <= 2 && name.chars().all(char::is_alphabetic);
    let digits = number.len() <= 3 && number.bytes().all(|b| b.is_ascii_digit());
    (named && digits).then(|| number.parse().ok())?
}

pub(super) fn partition(section: &Section<'_>, notes: &mut Notes<'_>) {
    let Some((heading, rest)) = section.lines.split_first() else {
        return;
    };
    let Some(number) = number_of(heading) else {
        return;
    };
    notes.focus.partition = Some(number);
    let disk = super::disk_or_unknown(section, heading, false, notes);
    let thing = windows::partition(&disk, number);
    let known = super::disk_of(section, notes);
    describe(thing, (known, Some(number)), rest, heading, notes);
}

/// Notes a partition with what these lines say of it.
fn describe<'t>(
    mut thing: Thing,
    (disk, number): (Option<u64>, Option<u64>),
    rest: &[Line<'t>],
    heading: &Line<'t>,
    notes: &mut Notes<'_>,
) {
    let fields: Vec<(&str, &str, Line<'_>)> = rest
        .iter()
        .filter(|line| !line.is_blank())
        .map_while(|line| pair(line).map(|(label, value)| (label, value, *line)))
        .collect();
    let first = fields.first().filter(|(_, _, line)| is_type(line));
    if let Some((_, value, line)) = first {
        let kind = guid(value).unwrap_or_else(|| value.to_ascii_lowercase());
        let extended = ["05", "0f", "85"].contains(&kind.as_str());
        let dynamic = ["42", "AF9B60A0-1431-4F62-BC68-3311714A69AD"].contains(&kind.as_str());
        // Only a GPT has types of this kind, and only an MBR those of the other.
        let table = if kind.len() > 2 { "gpt" } else { "mbr" };
        thing.set_text(Key::PartitionType, notes.said(line, kind));
        if extended {
            thing.set(Key::HoldsPartitions, notes.said(line, Value::Flag(true)));
        }
        if dynamic {
            windows::remark_dynamic(&mut thing, line, notes);
        }
        if let Some(disk) = disk {
            let mut disk = windows::disk(disk);
            disk.set_text(Key::PartitionTable, notes.said(line, table.to_owned()));
            notes.add(disk);
        }
    }
    // The attributes of a GPT entry are 16 digits too, and never last.
    let skip = usize::from(first.is_some());
    let offset = fields.iter().skip(skip).rev().find_map(|(_, value, line)| {
        let start = number::whole(value).filter(|_| value.len() != 16)?;
        Some((start, *line))
    });
    if let Some((start, line)) = offset {
        windows::put_at(&mut thing, start, 512, &line, notes);
    }
    notes.add(thing);
    let described = fields
        .last()
        .map_or(heading.number, |(_, _, line)| line.number);
    let number = number.or(notes.focus.partition);
    notes.focus.table = table_after(rest, described)
        .zip(number)
        .map(|(line, number)| (line, Some(number)));
}

/// The line in which the dashes of a table stand that follows after the line `described`, with nothing in between but
/// its heading, which is the last line here.
fn table_after(lines: &[Line<'_>], described: u64) -> Option<u64> {
    let mut after = lines
        .iter()
        .filter(|line| line.number > described && !line.is_blank());
    let heading = after.next()?;
    let ends = after.next().is_none() && pair(heading).is_none();
    ends.then(|| lines.last().map(|line| line.number.saturating_add(1)))?
}

/// The model, above `Disk ID: 7B5C4A2D` and `Type   : SATA`.
pub(super) fn is_disk(lines: &[Line<'_>]) -> bool {
    let [model, id, kind, ..] = lines else {
        return false;
    };
    let names_it = |label: &str| {
        let lower = label.to_lowercase();
        // Programs for virtual disks have a `UUID` below the command.
        (lower.contains("id") || lower.contains("ид")) && !lower.contains("uuid")
    };
    !model.is_blank()
        && pair(model).is_none()
        && pair(id).is_some_and(|(label, value)| {
            names_it(label) && (is_hex(value, 8) || guid(value).is_some())
        })
        && pair(kind).is_some()
}

pub(super) fn disk(section: &Section<'_>, notes: &mut Notes<'_>) {
    let [model, id, kind, ..] = section.lines else {
        return;
    };
    let mut thing = match super::disk_of(section, notes) {
        Some(number) => windows::disk(number),
        None => {
            let detail = "nothing says which disk this is; include `select disk` in the capture";
            notes.remark(AnomalyKind::Missing, detail, model);
            let title: String = model.text.trim().chars().take(60).collect();
            Thing::new(
                LayerKind::Device,
                title,
                windows::unknown_disk(model, notes),
            )
        }
    };
    thing.set_text(Key::Model, notes.said(model, model.text.trim().to_owned()));
    if notes.focus.windows_xp == Some(true) {
        let generation = super::OLD_WINDOWS.to_owned();
        thing.set_text(Key::SystemGeneration, notes.said(model, generation));
    }
    if let Some((_, value)) = pair(id) {
        let table = if value.starts_with('{') { "gpt" } else { "mbr" };
        let identity = guid(value).unwrap_or_else(|| value.to_ascii_lowercase());
        // A disk without a table has no signature.
        if identity.bytes().any(|b| b != b'0' && b != b'-') {
            thing = thing.named(Name::new(Space::TableId, identity.clone()));
            thing.set_text(Key::TableId, notes.said(id, identity));
            thing.set_text(Key::PartitionTable, notes.said(id, table.to_owned()));
        }
    }
    if let Some((_, value)) = pair(kind) {
        thing.set_text(Key::Transport, notes.said(kind, value.to_lowercase()));
    }
    notes.add(thing);
    let fields = section.lines.iter().skip(1);
    let described = fields
        .filter(|line| !line.is_blank())
        .take_while(|line| pair(line).is_some())
        .last()
        .map_or(kind.number, |line| line.number);
    notes.focus.table = table_after(section.lines, described).map(|line| (line, None));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn details_have_one_shape_in_all_languages() {
        let lines = |texts: &[&'static str]| -> Vec<Line<'static>> {
            let number = |(n, text): (usize, &&'static str)| Line {
                number: n as u64 + 1,
                text,
            };
            texts.iter().enumerate().map(number).collect()
        };
        assert!(is_partition(&lines(&["Partition 1", "Type  : 07"])));
        assert!(is_partition(&lines(&["Раздел 3", "Тип         : 07"])));
        assert!(is_partition(&lines(&[
            "パーティション 2",
            "種類    : ebd0a0a2-b9e5-4433-87c0-68b6b72699c7"
        ])));
        assert!(!is_partition(&lines(&["Partition 1", "Hidden: No"])));
        assert!(is_partition(&lines(&[
            "Partition 2",
            "Offset in Bytes: 106928640"
        ])));
        assert!(is_headless(&lines(&[
            "Caché  : Non",
            "Actif  : Non",
            "Décalage en octets : 32256"
        ])));
        assert!(!is_headless(&lines(&[
            "Offset : 32256",
            "Payload offset: 4096"
        ])));
        assert!(!is_partition(&lines(&["12 34", "Type: 07"])));
        assert!(is_disk(&lines(&[
            "磁盘 A",
            "磁盘 ID: 1A2B3C4D",
            "类型   : USB"
        ])));
        assert!(is_disk(&lines(&[
            "Samsung SSD 980",
            "Datenträger-ID: {6DA2A3F5-0000-0000-0000-1234567890AB}",
            "Typ : NVMe"
        ])));
        assert!(!is_disk(&lines(&["Log of", "Date: 20240101", "Type: x"])));
    }

    #[test]
    fn guids_have_one_spelling() {
        let upper = "C12A7328-F81F-11D2-BA4B-00A0C93EC93B";
        assert_eq!(
            guid(&format!("{{{}}}", upper.to_lowercase())).as_deref(),
            Some(upper)
        );
        assert_eq!(guid("c12a7328-f81f"), None);
    }
}
