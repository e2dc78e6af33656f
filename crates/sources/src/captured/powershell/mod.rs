//! Objects of PowerShell, in any shape: the Storage module and Hyper-V. Those of WMI have the fields of `wmic` and are read
//! there.

pub(super) mod get_disk;
pub(super) mod get_partition;
pub(super) mod get_physical_disk;
pub(super) mod get_vhd;
pub(super) mod get_virtual_disk;
pub(super) mod get_volume;

use straddle_geometry::{Bytes, SectorSize, Unit};
use straddle_stack::{Fact, GridRole, Interval, Key};

use super::number::{self, Prefix, Rounding};
use super::records::{Field, Record};
use super::tool::Notes;
use crate::inventory::{Name, Space, Thing};

/// The first of these fields that is a whole number.
fn first_number(record: &Record<'_>, keys: &[&str]) -> Option<u64> {
    keys.iter().find_map(|key| Some(record.number(key)?.0))
}

/// What a size can have been. Lists show bytes; tables divide by 1,024 until the figure is below 1,024, round it to two
/// decimals and leave zeroes at the end away: `350 MB` is 350.00.
fn size(text: &str) -> Option<Interval> {
    if let Some(bytes) = number::whole(text) {
        return Some(Interval::exact(Bytes::new(bytes)));
    }
    let (figure, unit) = text.trim().split_once(' ')?;
    let decimals = match figure.rfind(['.', ',']) {
        Some(at) => figure.len() - at - 1,
        None => 0,
    };
    let padded = match decimals {
        0 => format!("{figure}.00 {unit}"),
        1 => format!("{figure}0 {unit}"),
        _ => text.to_owned(),
    };
    match unit {
        "B" | "Bytes" => number::shown(text, Prefix::Binary, Rounding::Nearest),
        _ => number::shown(&padded, Prefix::Binary, Rounding::Nearest),
    }
}

/// A start that is shown in KB or MB. With decimals it is taken to be rounded at the last; without, nobody knows how.
pub(super) fn shown_start(
    record: &Record<'_>,
    key: &str,
    notes: &Notes<'_>,
) -> Option<Fact<Interval>> {
    let field = record.filled(key)?;
    let rounding = match field.value.contains(['.', ',']) {
        true => Rounding::Nearest,
        false => Rounding::Any,
    };
    let shown = number::shown(&field.value, Prefix::Binary, rounding)?;
    let start = shown.multiples_of(SectorSize::B512.unit())?;
    Some(notes.said(&field.line, start))
}

/// A size as it is shown, with its unit.
pub(super) fn shown_size(field: &Field<'_>, notes: &Notes<'_>) -> Option<Fact<Interval>> {
    Some(notes.said(&field.line, size(&field.value)?))
}

/// Notes the first of these fields that is a size.
fn set_size(thing: &mut Thing, record: &Record<'_>, keys: &[&str], notes: &Notes<'_>) {
    let found = keys.iter().find_map(|key| {
        let field = record.filled(key)?;
        Some(notes.said(&field.line, size(&field.value)?))
    });
    // A disk without a medium has none.
    thing.size = found.filter(|fact| fact.value.to() > Bytes::ZERO);
}

/// Notes a field that is a unit in bytes.
fn set_grid(thing: &mut Thing, role: GridRole, record: &Record<'_>, key: &str, notes: &Notes<'_>) {
    if let Some((bytes, line)) = record.number(key)
        && let Some(unit) = Unit::new(bytes)
    {
        thing.grid(role, notes.said(&line, unit));
    }
}

/// Notes the sectors of a device.
fn set_sectors(thing: &mut Thing, record: &Record<'_>, notes: &Notes<'_>) {
    let roles = [
        (GridRole::LogicalSector, "LogicalSectorSize"),
        (GridRole::PhysicalSector, "PhysicalSectorSize"),
    ];
    for (role, key) in roles {
        set_grid(thing, role, record, key, notes);
    }
}

/// Notes the first of these fields that is text and was not cut.
fn set_text(thing: &mut Thing, key: Key, record: &Record<'_>, keys: &[&str], notes: &Notes<'_>) {
    if let Some(field) = keys.iter().find_map(|key| record.uncut(key)) {
        thing.set_text(key, notes.said(&field.line, field.value.to_string()));
    }
}

/// The name of a value that is shown by its name or by its number: JSON and CLIXML may have either.
fn coded<'a>(value: &str, names: &[(u64, &'a str)]) -> Option<&'a str> {
    let number = number::whole(value);
    let mut names = names.iter();
    let same = |(code, name): &&(u64, &'a str)| {
        number == Some(*code) || name.eq_ignore_ascii_case(value.trim())
    };
    names.find(same).map(|(_, name)| *name)
}

/// `MSFT_Disk.BusType`, and what the transport is called elsewhere. What a controller presents as its own disk is left
/// out: `SCSI`, `ATA` and `RAID` say how the driver speaks, not what lies behind.
const BUSES: [(u64, &str, Option<&str>); 14] = [
    (1, "SCSI", None),
    (3, "ATA", Some("ata")),
    (6, "Fibre Channel", Some("fc")),
    (7, "USB", Some("usb")),
    (8, "RAID", Some("raid")),
    (9, "iSCSI", Some("iscsi")),
    (10, "SAS", Some("sas")),
    (11, "SATA", Some("sata")),
    (12, "SD", Some("mmc")),
    (13, "MMC", Some("mmc")),
    (15, "File Backed Virtual", None),
    (16, "Storage Spaces", None),
    (16, "Spaces", None),
    (17, "NVMe", Some("nvme")),
];

/// The bus of a disk by its name in [`BUSES`].
fn bus(record: &Record<'_>) -> Option<(&'static str, Option<&'static str>)> {
    let field = record.filled("BusType")?;
    let names = BUSES.map(|(code, name, _)| (code, name));
    let name = coded(&field.value, &names)?;
    let (_, _, transport) = BUSES.iter().find(|(_, other, _)| *other == name)?;
    Some((name, *transport))
}

fn set_transport(thing: &mut Thing, record: &Record<'_>, notes: &Notes<'_>) {
    if let Some((_, Some(transport))) = bus(record)
        && let Some(field) = record.filled("BusType")
    {
        let fact: Fact<String> = notes.said(&field.line, transport.to_owned());
        thing.set_text(Key::Transport, fact);
    }
}

/// Adds the names that a disk carries in itself: serial number and world-wide name.
fn identities(mut thing: Thing, record: &Record<'_>, notes: &Notes<'_>) -> Thing {
    if let Some(field) = record.uncut("SerialNumber") {
        for name in serials(&field.value) {
            thing = thing.named(name);
        }
        let text = field.value.trim().trim_end_matches('.').to_owned();
        thing.set_text(Key::Serial, notes.said(&field.line, text));
    }
    if let Some(field) = record.uncut("UniqueId")
        && let Some(wwn) = wwn(&field.value)
    {
        thing = thing.named(wwn);
    }
    thing
}

/// A world-wide name: 16 or 32 hexadecimal digits. What else `UniqueId` holds, such as
/// `SCSI\DISK&VEN_VMWARE…:HOST`, names a place.
fn wwn(text: &str) -> Option<Name> {
    let text = text.trim();
    let bare = ["eui.", "naa."]
        .into_iter()
        .find_map(|p| text.strip_prefix(p))
        .unwrap_or(text);
    let hex = bare.bytes().all(|b| b.is_ascii_hexdigit());
    let said = bare.bytes().any(|b| b != b'0');
    (hex && said && matches!(bare.len(), 16 | 32)).then(|| Name::new(Space::Wwn, bare.to_owned()))
}

/// The names that a serial number stands for. NVMe drives have their EUI here, in groups and with a dot behind
/// (`0025_38B9_71B0_C2F1.`). Older drivers show ATA's words with their bytes swapped, as text or in hexadecimal.
fn serials(text: &str) -> Vec<Name> {
    let text = text.trim().trim_end_matches('.').trim();
    let same = text.bytes().all(|b| Some(&b) == text.as_bytes().first());
    if text.len() < 4 || same {
        return Vec::new();
    }
    let eui: String = text.chars().filter(|c| *c != '_').collect();
    let groups = text.split('_').all(|group| group.len() == 4);
    if text.contains('_')
        && groups
        && let Some(name) = wwn(&eui)
    {
        return vec![name];
    }
    let mut names = vec![Name::new(Space::Serial, text.to_owned())];
    if let Some(plain) = from_hex(text) {
        names.push(Name::new(Space::Serial, plain));
    }
    names
}

/// `2020202057202d44…`: forty hexadecimal digits of twenty characters, each pair of them swapped.
fn from_hex(text: &str) -> Option<String> {
    if text.len() != 40 || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    let digit = |at: usize| u8::from_str_radix(text.get(at..at + 2)?, 16).ok();
    let bytes: Option<Vec<u8>> = (0..40).step_by(2).map(digit).collect();
    let mut bytes = bytes?;
    for pair in bytes.chunks_exact_mut(2) {
        pair.swap(0, 1);
    }
    let plain = String::from_utf8(bytes).ok()?;
    let plain = plain.trim();
    let printed = plain.bytes().all(|b| b.is_ascii_graphic() || b == b' ');
    (printed && !plain.is_empty()).then(|| plain.to_owned())
}

/// A disk signature or GUID as an identifier of its table. Signatures are printed as decimal numbers.
fn table_id(thing: &mut Thing, record: &Record<'_>, notes: &Notes<'_>) {
    let signature = record.number("Signature").filter(|(n, _)| *n > 0);
    let guid = record
        .uncut("Guid")
        .filter(|field| field.value.starts_with('{'));
    let (text, line) = match (guid, signature) {
        (Some(field), _) => (field.value.trim_matches(['{', '}']).to_owned(), field.line),
        (None, Some((number, line))) => (format!("{number:08x}"), line),
        (None, None) => return,
    };
    let name = Name::new(Space::TableId, text.clone());
    if !thing.names.contains(&name) {
        thing.names.push(name);
    }
    thing.set_text(Key::TableId, notes.said(&line, text));
}

/// Letters, mount folders and GUID paths in a value: `C`, `C:`, `{C:\, \\?\Volume{…}\}`.
fn volumes(text: &str) -> Vec<Name> {
    let text = text.trim();
    let inner = match text.strip_prefix('{') {
        Some(list) => list.strip_suffix('}').unwrap_or(list),
        None => text,
    };
    let one = |part: &str| {
        let part = part.trim();
        let bytes = part.as_bytes();
        let letter = bytes.first().is_some_and(u8::is_ascii_alphabetic)
            && (bytes.len() == 1 || bytes.get(1) == Some(&b':'));
        let path = part.starts_with(r"\\?\");
        let cut = part.ends_with("...") || part.contains('…');
        ((letter || path) && !cut).then(|| Name::new(Space::WindowsVolume, part.to_owned()))
    };
    inner.split(',').filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(text: &str) -> Option<(u64, u64)> {
        size(text).map(|i| (i.from().get(), i.to().get()))
    }

    #[test]
    fn sizes_of_tables_have_two_decimals() {
        assert_eq!(ends("366999552"), Some((366_999_552, 366_999_552)));
        let (from, to) = ends("350 MB").expect("a size");
        assert!(from < 350 << 20 && 350 << 20 < to && to - from < 11_000);
        let (from, to) = ends("39.66 GB").expect("a size");
        assert!(from <= 42_580_574_208 && 42_580_574_208 <= to);
        let (from, to) = ends("3.7 TB").expect("a size");
        assert!(to - from < 11_000_000_000);
        assert_eq!(ends("0 B"), Some((0, 0)));
        assert_eq!(ends("512 Bytes"), Some((512, 512)));
        assert_eq!(ends("..."), None);
    }

    #[test]
    fn serial_numbers_in_all_their_spellings() {
        let names = |text: &str| -> Vec<String> {
            let names = serials(text).into_iter();
            names
                .map(|name| format!("{:?} {}", name.space, name.text))
                .collect()
        };
        assert_eq!(names("  S2R6NX0H123456 "), ["Serial S2R6NX0H123456"]);
        assert_eq!(names("0025_38B9_71B0_C2F1."), ["Wwn 002538b971b0c2f1"]);
        let hex = "2020202020202020202056334c344245514b4250";
        assert_eq!(
            names(hex),
            [format!("Serial {hex}"), "Serial 3V4LEBKQPB".to_owned()]
        );
        assert!(names("0000000000000000").is_empty() && names("").is_empty());
    }

    #[test]
    fn unique_ids_are_identities_only_when_they_are_world_wide() {
        assert!(wwn("5002538D400C7B7D").is_some());
        assert!(wwn("eui.002538B971B0C2F1").is_some());
        assert!(wwn("0000000000000000").is_none());
        assert!(wwn(r"SCSI\DISK&VEN_VMWARE&PROD_VIRTUAL_DISK\5&1982005&0&000000:DB1").is_none());
    }

    #[test]
    fn volumes_by_all_their_names() {
        let names = |text: &str| -> Vec<String> {
            volumes(text)
                .into_iter()
                .map(|n| n.text.into_owned())
                .collect()
        };
        assert_eq!(names("C"), ["c:"]);
        assert_eq!(
            names(r"{D:\, D:\Data\, \\?\Volume{a1}\}"),
            ["d:", r"d:\data", r"\\?\volume{a1}"]
        );
        assert!(names("\0").is_empty() && names("System.String[]").is_empty());
    }
}
