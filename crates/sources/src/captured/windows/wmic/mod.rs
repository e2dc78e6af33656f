//! `wmic`: partitions, disks, volumes and which letter is which partition, as a list, a table or comma-separated. WMI
//! counts partitions from 0, and leaves out those that Microsoft reserves.

mod output;

use std::borrow::Cow;
use std::collections::HashMap;
use straddle_geometry::{Bytes, Unit};
use straddle_stack::{Anomaly, AnomalyKind, GridRole, Interval, Key, LayerKind, Value};

use crate::captured::powershell::{shown_size, shown_start};
use crate::captured::records::{self, Field, Record};
use crate::captured::text::Line;
use crate::captured::tool::{Anchor, Context, Notes, Reader, Section, Tool};
use crate::captured::windows::{self, unknown::Unknown};
use crate::inventory::{Name, Space, Thing};

/// Objects with these fields are read here.
macro_rules! records {
    ($($key:literal),+) => {
        Reader::Records { keys: &[$($key),+], read }
    };
}

pub(crate) static TOOL: Tool = Tool {
    name: "wmic",
    platform: "windows",
    commands: &[
        "wmic partition list full",
        "wmic partition get Name,StartingOffset,Size,BlockSize /format:csv",
        "wmic diskdrive list full",
        "wmic volume get BlockSize,Capacity,DriveLetter,FileSystem,Name /format:list",
        "wmic logicaldisk list full",
        "wmic path Win32_LogicalDiskToPartition get Antecedent,Dependent",
        "Get-CimInstance Win32_DiskPartition",
        "Get-WmiObject Win32_DiskDrive | Format-List *",
    ],
    readers: &[
        records!("StartingOffset"),
        records!("NumberOfBlocks", "PrimaryPartition"),
        records!("Antecedent", "Dependent"),
        records!("Index", "InterfaceType"),
        records!("Index", "BytesPerSector"),
        records!("Index", "Model"),
        records!("Index", "SerialNumber"),
        records!("Index", "Signature"),
        records!("DeviceID", "InterfaceType"),
        records!("DeviceID", "Partitions", "Model"),
        records!("DeviceID", "BytesPerSector"),
        records!("DeviceID", "Signature"),
        records!("BlockSize", "Capacity"),
        records!("BlockSize", "DriveLetter"),
        records!("BlockSize", "FileSystem"),
        records!("Capacity", "DriveLetter"),
        records!("DeviceID", "FileSystem", "Size"),
        records!("Caption", "FileSystem", "Size"),
        records!("DriveType", "FileSystem", "VolumeSerialNumber"),
        Reader::Text {
            anchors: &[
                Anchor::Loose("Node,"),
                Anchor::Loose("Access="),
                Anchor::Loose("Antecedent="),
                Anchor::Loose("Automount="),
                Anchor::Loose("Availability="),
                Anchor::Loose("BlockSize="),
                Anchor::Loose("BytesPerSector="),
                Anchor::Loose("Capacity="),
                Anchor::Loose("Caption="),
                Anchor::Loose("DeviceID="),
                Anchor::Loose("DiskIndex="),
                Anchor::Loose("DriveLetter="),
                Anchor::Loose("FileSystem="),
                Anchor::Loose("Index="),
                Anchor::Loose("InterfaceType="),
                Anchor::Loose("Model="),
                Anchor::Loose("Name="),
            ],
            begins: |lines| output::is_list(lines) || output::is_cells(&lines[0]),
            read: text,
        },
        Reader::Text {
            anchors: &[Anchor::LooseShaped(output::is_bare_row)],
            begins: |_| true,
            read: bare_rows,
        },
        Reader::Text {
            anchors: &[
                Anchor::Within("StartingOffset"),
                Anchor::Within(" Start"),
                Anchor::Within("Antecedent"),
                Anchor::Within("InterfaceType"),
                Anchor::Within("BytesPerSector"),
                Anchor::Within("Signature"),
                Anchor::Within("SerialNumber"),
                Anchor::Within("Model"),
                Anchor::Within("BlockSize"),
                Anchor::Within("Capacity"),
                Anchor::Within("FileSystem"),
            ],
            begins: |lines| output::is_table(lines),
            read: text,
        },
    ],
};

fn text(section: &Section<'_>, notes: &mut Notes<'_>) {
    let records = output::records(section.lines);
    records::tell_cut(&records, notes);
    read(&records, &section.context, notes);
}

fn bare_rows(section: &Section<'_>, notes: &mut Notes<'_>) {
    let first = |line: &Line<'_>| line.text.split_whitespace().next().map(str::to_owned);
    let word = section.lines.first().and_then(first);
    let cut = |line: &&Line<'_>| first(line) == word && !output::is_bare_row(line.text.trim());
    if let Some(line) = section.lines.iter().find(cut) {
        let detail = "the row of a partition ends before its figures";
        notes.remark(AnomalyKind::Truncated, detail, line);
    }
    match output::bare_rows(section.lines, section.context.command.as_ref()) {
        Some(records) => read(&records, &section.context, notes),
        None => {
            let detail = "rows of wmic without the line of names above them, and without the command: nothing says which figure is a start";
            notes.remark(AnomalyKind::UnitUnclear, detail, &section.lines[0]);
        }
    }
}

fn read(records: &[Record<'_>], _: &Context<'_>, notes: &mut Notes<'_>) {
    let letters = letters(records);
    let mut unknown = Unknown::default();
    for record in records {
        if let Some(node) = record.filled("Node") {
            notes.host(&node.value);
        }
        let cut = || {
            record
                .fields
                .last()
                .is_some_and(|f| output::is_cut_start(&f.key))
        };
        if record.get("StartingOffset").is_some()
            || cut()
            || record.get("PrimaryPartition").is_some()
        {
            partition(record, &mut unknown, notes);
        } else if record.has(&["Antecedent", "Dependent"]) {
            let count = antecedent(record).and_then(|partition| letters.get(&partition));
            letter_of_partition(record, count.is_some_and(|count| *count > 1), notes);
        } else if let Some(number) = disk_number(record) {
            disk(record, number, notes);
        } else {
            volume(record, notes);
        }
    }
}

/// All whole numbers in a text.
fn numbers(text: &str) -> Vec<u64> {
    text.split(|c: char| !c.is_ascii_digit())
        .filter_map(|digits| digits.parse().ok())
        .take(4)
        .collect()
}

/// Disk and partition of `Disk #0, Partition #1`, whatever the language.
fn disk_and_partition(text: &str) -> Option<(u64, u64)> {
    match numbers(text).as_slice() {
        [disk, partition] => Some((*disk, *partition)),
        _ => None,
    }
}

/// A partition as WMI counts.
fn wmi_partition(disk: u64, index: u64) -> Thing {
    let name = Name::new(Space::WmiPartition, format!("{disk}/{index}"));
    let title = format!("disk {disk} partition #{index}");
    Thing::new(LayerKind::Partition, title, name).on(Name::windows_disk(disk))
}

/// What is said of a partition. One whose name is missing, or cut, is kept with what is left of it.
pub(super) fn partition(record: &Record<'_>, unknown: &mut Unknown, notes: &mut Notes<'_>) {
    let by_fields = || {
        let (disk, _) = record.number("DiskIndex")?;
        Some((disk, record.number("Index")?.0))
    };
    let by_name = || {
        let keys = ["DeviceID", "Name", "Caption"];
        let mut fields = keys.iter().filter_map(|key| record.filled(key));
        fields.find_map(|field| disk_and_partition(&field.value))
    };
    let (mut thing, mut disk) = match by_fields().or_else(by_name) {
        Some((disk, index)) => (wmi_partition(disk, index), windows::disk(disk)),
        None => match of_volume(record).or_else(|| nameless(record, unknown, notes)) {
            Some(both) => both,
            None => {
                if let Some(field) = record.get("StartingOffset").filter(|f| f.value.is_empty()) {
                    let detail = "the row of a partition ends before its start";
                    notes.remark(AnomalyKind::Truncated, detail, &field.line);
                }
                return;
            }
        },
    };
    let block = record
        .number("BlockSize")
        .or_else(|| record.number("PartitionBlockSize"))
        .filter(|(n, _)| n.is_power_of_two());
    let sector = block.map_or(512, |(sector, _)| sector);
    if let Some((sector, line)) = block
        && let Some(unit) = Unit::new(sector)
    {
        disk.grid(GridRole::LogicalSector, notes.said(&line, unit));
    }
    if let Some((start, line)) = record.number("StartingOffset") {
        windows::put_at(&mut thing, start, sector, &line, notes);
    } else if let Some(start) = shown_start(record, "StartingOffset", notes) {
        thing.start = Some(start);
    } else if let Some(field) = record
        .fields
        .last()
        .filter(|f| output::is_cut_start(&f.key))
    {
        let detail = format!(
            "the column StartingOffset is cut off: `{}` is the beginning of a longer figure",
            field.value
        );
        let cut = Anomaly::at(AnomalyKind::Misprint, detail, notes.source(&field.line));
        thing.remarks.push(cut);
    } else if let Some(field) = record.get("StartingOffset") {
        let detail = "the row ends before the start of its partition";
        let cut = Anomaly::at(AnomalyKind::Truncated, detail, notes.source(&field.line));
        thing.remarks.push(cut);
    }
    if let Some(size) = record
        .filled("PartitionSize")
        .and_then(|field| shown_size(field, notes))
    {
        thing.size = Some(size);
    }
    if let Some((size, line)) = record.number("Size") {
        thing.size = Some(notes.said(&line, Interval::exact(Bytes::new(size))));
        if let (Some((blocks, at)), Some(_)) = (record.number("NumberOfBlocks"), block)
            && sector.checked_mul(blocks) != Some(size)
        {
            let detail = format!("{blocks} blocks of {sector} bytes are not {size} bytes");
            notes.contradicts(&mut thing, detail, &line, &at);
        }
    } else if let Some((blocks, line)) = record.number("NumberOfBlocks")
        && block.is_some()
        && let Some(size) = Bytes::new(sector).checked_mul(blocks)
    {
        thing.size = Some(notes.said(&line, Interval::exact(size)));
    }
    if let Some((hidden, line)) = record.number("HiddenSectors")
        && let Some(bytes) = Bytes::new(sector).checked_mul(hidden)
    {
        thing.set(Key::HiddenSectors, notes.said(&line, Value::Bytes(bytes)));
    }
    if let Some(kind) = record.filled("Type") {
        partition_type(&mut thing, &mut disk, kind, notes);
    }
    notes.add(disk);
    notes.add(thing);
}

/// A partition of which the volume is said, and nothing else: `Test-DbaDiskAlignment` of dbatools. Its disk is the one below that.
fn of_volume(record: &Record<'_>) -> Option<(Thing, Thing)> {
    let letter = record
        .filled("Name")?
        .value
        .trim_end_matches('\\')
        .to_owned();
    let lettered = matches!(letter.as_bytes(), [letter, b':'] if letter.is_ascii_alphabetic());
    record.filled("StartingOffset").filter(|_| lettered)?;
    let on = Name::new(Space::WindowsVolumeDisk, letter.clone());
    let disk = Thing::new(LayerKind::Device, format!("disk of {letter}"), on.clone());
    let name = Name::new(Space::WindowsVolume, letter.clone());
    Some((Thing::new(LayerKind::Partition, letter, name).on(on), disk))
}

/// A partition whose number is not said, and its disk, of which the number may be: `Disk #0, Partition...`.
fn nameless(
    record: &Record<'_>,
    unknown: &mut Unknown,
    notes: &mut Notes<'_>,
) -> Option<(Thing, Thing)> {
    let (start, line) = record.number("StartingOffset")?;
    let mut names = ["DeviceID", "Name", "Caption"].into_iter();
    let named = names.find_map(|key| match numbers(&record.filled(key)?.value).as_slice() {
        [disk] => Some(*disk),
        _ => None,
    });
    let disk = named.or(record.number("DiskIndex").map(|(disk, _)| disk));
    let disk = match disk {
        Some(disk) => windows::disk(disk),
        None => {
            let name = unknown.disk(None, start, &line, notes);
            Thing::new(LayerKind::Device, format!("disk {}", name.text), name)
        }
    };
    let on = disk.names.first()?.clone();
    let name = Name::new(Space::WmiPartition, format!("{}/@{start}", on.text));
    let title = format!("partition at {start} of {}", disk.title);
    let thing = Thing::new(LayerKind::Partition, title, name).on(on);
    Some((thing, disk))
}

/// WMI's words for types of partitions, and the types.
const TYPES: [(&str, &str); 9] = [
    ("gpt: system", "C12A7328-F81F-11D2-BA4B-00A0C93EC93B"),
    ("gpt: basic data", "EBD0A0A2-B9E5-4433-87C0-68B6B72699C7"),
    (
        "gpt: microsoft reserved",
        "E3C9E316-0B5C-4DB8-817D-F92DF00215AE",
    ),
    (
        "gpt: logical disk manager metadata",
        "5808C8AA-7E8F-42E0-85D2-E1E90434CFB3",
    ),
    (
        "gpt: logical disk manager data",
        "AF9B60A0-1431-4F62-BC68-3311714A69AD",
    ),
    ("installable file system", "07"),
    ("extended w/extended int 13", "0f"),
    ("extended partition", "05"),
    ("logical disk manager", "42"),
];

fn partition_type(thing: &mut Thing, disk: &mut Thing, kind: &Field<'_>, notes: &Notes<'_>) {
    let lower = kind.value.to_lowercase();
    if lower.starts_with("gpt:") {
        let gpt = notes.said(&kind.line, "gpt".to_owned());
        disk.set_text(Key::PartitionTable, gpt);
    }
    if let Some((_, known)) = TYPES.iter().find(|(word, _)| *word == lower) {
        let known = notes.said(&kind.line, (*known).to_owned());
        thing.set_text(Key::PartitionType, known);
    }
    if lower.starts_with("extended") {
        let yes = notes.said(&kind.line, Value::Flag(true));
        thing.set(Key::HoldsPartitions, yes);
    }
    if lower.contains("logical disk manager") {
        windows::remark_dynamic(disk, &kind.line, notes);
    }
}

/// `\\DB1\root\cimv2:Win32_DiskPartition.DeviceID="Disk #0, Partition #1"`: what stands in the quotes.
fn quoted(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once('"')?;
    Some(
        rest.trim_end_matches(['"', '}', ' '])
            .trim_end_matches('\\'),
    )
}

/// The partition that an object gives a letter to.
fn antecedent(record: &Record<'_>) -> Option<(u64, u64)> {
    let field = record.filled("Antecedent")?;
    disk_and_partition(quoted(&field.value)?)
}

/// How many letters each partition has: for WMI all volumes in an extended partition belong to that.
fn letters(records: &[Record<'_>]) -> HashMap<(u64, u64), usize> {
    let mut letters = HashMap::new();
    for partition in records.iter().filter_map(antecedent) {
        *letters.entry(partition).or_default() += 1;
    }
    letters
}

/// The letter of a partition. One of several in an extended partition is a partition of its own, where its first byte is
/// said to be.
fn letter_of_partition(record: &Record<'_>, shared: bool, notes: &mut Notes<'_>) {
    let fields = ["Antecedent", "Dependent"].map(|key| record.filled(key));
    let mut partition = None;
    let mut letter = None;
    for field in fields.into_iter().flatten() {
        let Some(value) = quoted(&field.value) else {
            continue;
        };
        match disk_and_partition(value) {
            Some(found) => partition = Some(found),
            None if value.len() == 2 && value.ends_with(':') => letter = Some(value.to_owned()),
            None => {}
        }
    }
    let (Some((disk, index)), Some(letter)) = (partition, letter) else {
        return;
    };
    let name = Name::new(Space::WindowsVolume, letter.clone());
    if !shared {
        notes.add(wmi_partition(disk, index).named(name));
        return;
    }
    let title = format!("disk {disk} partition #{index} ({letter})");
    let mut thing = Thing::new(LayerKind::Partition, title, name).on(Name::windows_disk(disk));
    let start = record.number("StartingAddress");
    if let Some((start, line)) = start {
        windows::put_at(&mut thing, start, windows::SECTOR.get(), &line, notes);
    }
    if let (Some((start, _)), Some((end, line))) = (start, record.number("EndingAddress"))
        && let Some(size) = end.checked_sub(start).and_then(|len| len.checked_add(1))
    {
        thing.size = Some(notes.said(&line, Interval::exact(Bytes::new(size))));
    }
    notes.add(thing);
}

/// The number of the disk that an object is, if it is one.
fn disk_number(record: &Record<'_>) -> Option<u64> {
    if let Some((index, _)) = record.number("Index") {
        return Some(index);
    }
    let keys = ["DeviceID", "Name"];
    let mut fields = keys.iter().filter_map(|key| record.filled(key));
    fields.find_map(|field| {
        let lower = field.value.to_ascii_lowercase();
        lower.rsplit_once("physicaldrive")?.1.parse().ok()
    })
}

pub(in crate::captured) fn disk(record: &Record<'_>, number: u64, notes: &mut Notes<'_>) {
    // A reader without a card has a size that is empty.
    if record.get("Size").is_some() && record.filled("Size").is_none() {
        return;
    }
    let mut thing = windows::disk(number);
    let sector = record.number("BytesPerSector");
    if let Some((size, line)) = record.number("Size") {
        // Where the sector is not said, the larger one of which these are whole cylinders.
        let usual = match size.is_multiple_of(255 * 63 * 4096) {
            true => 4096,
            false => 512,
        };
        let sector = sector.map_or(usual, |(sector, _)| sector);
        thing.size = Some(notes.said(&line, windows::cylinders(size, sector)));
    }
    if let Some((sector, line)) = sector
        && let Some(unit) = Unit::new(sector)
    {
        thing.grid(GridRole::LogicalSector, notes.said(&line, unit));
    }
    if let Some(model) = record.filled("Model").or_else(|| record.filled("Caption")) {
        thing.set_text(Key::Model, notes.said(&model.line, model.value.to_string()));
    }
    if let Some(serial) = record.filled("SerialNumber") {
        let text = serial_number(&serial.value);
        if text.bytes().any(|b| b != b'0') {
            thing = thing.named(Name::new(Space::Serial, text.clone()));
            thing.set_text(Key::Serial, notes.said(&serial.line, text));
        }
    }
    if let Some((signature, line)) = record.number("Signature")
        && signature > 0
    {
        let text = format!("{signature:08x}");
        thing = thing.named(Name::new(Space::TableId, text.clone()));
        thing.set_text(Key::TableId, notes.said(&line, text));
    }
    if let Some(bus) = record.filled("InterfaceType") {
        thing.set_text(
            Key::Transport,
            notes.said(&bus.line, bus.value.to_lowercase()),
        );
    }
    notes.add(thing);
}

/// A serial number as the drive says it. Windows Vista and 7 print that of an ATA drive as 40 hexadecimal digits, with
/// the letters of each pair in the wrong order.
fn serial_number(text: &str) -> String {
    let text = text.trim();
    let plain = || text.trim_end_matches('.').to_owned();
    if text.len() != 40 || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
        return plain();
    }
    let byte = |pair: &str| u8::from_str_radix(pair, 16).ok();
    let bytes: Option<Vec<u8>> = (0..40)
        .step_by(2)
        .map(|at| text.get(at..at + 2).and_then(byte))
        .collect();
    let Some(mut bytes) = bytes else {
        return plain();
    };
    bytes.chunks_exact_mut(2).for_each(|pair| pair.swap(0, 1));
    if !bytes.iter().all(|b| b.is_ascii_graphic() || *b == b' ') {
        return plain();
    }
    bytes
        .iter()
        .map(|b| char::from(*b))
        .collect::<String>()
        .trim()
        .to_owned()
}

/// A volume or a logical disk: what is known of it is its filesystem.
fn volume(record: &Record<'_>, notes: &mut Notes<'_>) {
    let Some(format) = record.filled("FileSystem") else {
        return;
    };
    // Of the network, and discs.
    if matches!(record.number("DriveType"), Some((4 | 5, _))) {
        return;
    }
    let Some(known) = windows::filesystem(&format.value) else {
        return;
    };
    let keys = ["DriveLetter", "Name", "DeviceID", "Caption"];
    let fields: Vec<&Field<'_>> = keys.iter().filter_map(|key| record.filled(key)).collect();
    let mut names = fields
        .iter()
        .filter(|field| field.value.contains(':') || field.value.starts_with("\\\\?\\"))
        .map(|field| Name::new(Space::WindowsVolume, field.value.to_string()));
    let Some(first) = names.next() else { return };
    let title = fields
        .iter()
        .find(|field| field.value.contains(':'))
        .map_or_else(
            || first.text.to_string(),
            |field| field.value.trim_end_matches('\\').to_owned(),
        );
    let mut thing = Thing::new(LayerKind::Filesystem, title, first.clone()).on(first);
    for name in names {
        thing = thing.named(name);
    }
    thing.format = Some(notes.said(&format.line, Cow::Borrowed(known)));
    let unit = record
        .number("BlockSize")
        .and_then(|(n, line)| Some((Unit::new(n)?, line)));
    if let Some((unit, line)) = &unit {
        thing.grid(GridRole::AllocationUnit, notes.said(line, *unit));
        thing.set(Key::BlockSize, notes.said(line, Value::Bytes(unit.bytes())));
    }
    // Whole clusters: what is left of the last one is not counted.
    let left = unit
        .map_or(65_536, |(unit, _)| unit.get())
        .saturating_sub(1);
    let size = record.number("Capacity").or_else(|| record.number("Size"));
    if let Some((size, line)) = size.filter(|(size, _)| *size > 0) {
        let most = Bytes::new(size.saturating_add(left));
        thing.size = Interval::new(Bytes::new(size), most).map(|size| notes.said(&line, size));
    }
    if let Some(label) = record
        .filled("Label")
        .or_else(|| record.filled("VolumeName"))
    {
        thing.set_text(Key::Label, notes.said(&label.line, label.value.to_string()));
    }
    notes.add(thing);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_are_numbered_alike_in_all_languages() {
        for text in [
            "Disk #1, Partition #2",
            "Datenträgernr. 1, Partitionsnr. 2",
            "Disque n° 1, partition n° 2",
            "ディスク #1、パーティション #2",
        ] {
            assert_eq!(disk_and_partition(text), Some((1, 2)), "{text}");
        }
        assert_eq!(disk_and_partition("Disk #1"), None);
        assert_eq!(disk_and_partition("1 2 3"), None);
    }

    #[test]
    fn serial_numbers_of_windows_7_are_turned_round() {
        let printed = "2020202057202d4443575856314136364c32304335";
        assert_eq!(serial_number(&printed[..40]), "WD-WCVXA1662LC0");
        assert_eq!(serial_number(" S3Z8NB0K123456 "), "S3Z8NB0K123456");
        assert_eq!(serial_number("0025_38B1_11B0_1234."), "0025_38B1_11B0_1234");
    }

    #[test]
    fn what_stands_in_quotes_is_a_key() {
        let text = r#"\\DB1\root\cimv2:Win32_LogicalDisk.DeviceID="C:""#;
        assert_eq!(quoted(text), Some("C:"));
        let script = r#"{Win32_DiskPartition.DeviceID="Disk #0, Partition #0"}"#;
        assert_eq!(quoted(script), Some("Disk #0, Partition #0"));
        assert_eq!(quoted("C:"), None);
    }
}
