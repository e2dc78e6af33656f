//! `mdadm --detail` and `mdadm --examine`, also with `--export`, `--scan` and `--brief`.
//!
//! Units are those of mdadm's `Detail.c`, `super0.c`, `super1.c` and `super-intel.c`.

use std::collections::BTreeSet;
use straddle_geometry::{Bytes, SectorSize};
use straddle_stack::{AnomalyKind, Interval, Key, LayerKind, Value};

use super::about;
use super::md_array::{self, Array};
use crate::captured::number::{self, Prefix, Rounding};
use crate::captured::records::Record;
use crate::captured::text::Line;
use crate::captured::tool::{Anchor, Context, Notes, Reader, Section, Tool};
use crate::inventory::{Name, RaidMember, Space, Thing};

pub(crate) static TOOL: Tool = Tool {
    name: "mdadm",
    platform: "linux",
    commands: &[
        "mdadm --detail DEVICE",
        "mdadm --examine DEVICE",
        "mdadm --detail --export DEVICE",
        "mdadm --detail --scan",
    ],
    readers: &[
        Reader::Text {
            anchors: &[Anchor::Start("/dev/")],
            begins: |lines| kind(lines).is_some(),
            read,
        },
        // The line with its name is lost; the command may have it.
        Reader::Text {
            anchors: &[
                Anchor::Loose("Version : "),
                Anchor::Loose("Creation Time : "),
                Anchor::Loose("Magic : "),
                Anchor::Loose("Raid Level : "),
                Anchor::Loose("Raid Devices : "),
                Anchor::Loose("Chunk Size : "),
                Anchor::Loose("Data Offset : "),
            ],
            begins: |lines| kind_below(lines).is_some(),
            read: |section, notes| {
                let device = about::or_stranger(&section.context, &["mdadm"], notes);
                of_kind(
                    kind_below(section.lines),
                    &device.text,
                    section.lines,
                    notes,
                );
            },
        },
        Reader::Text {
            anchors: &[Anchor::Start("ARRAY "), Anchor::Start("INACTIVE-ARRAY ")],
            begins: |lines| lines[0].text.contains("UUID="),
            read: |section, notes| {
                section
                    .lines
                    .iter()
                    .take(1)
                    .for_each(|line| scan(line, notes))
            },
        },
        Reader::Records {
            keys: &["MD_LEVEL", "MD_DEVICES"],
            read: export,
        },
    ],
};

/// Most lines below `/dev/sda:` that are looked at to see what it heads.
const LOOK_AHEAD: usize = 6;

enum Kind {
    Detail,
    Examine,
    Imsm,
}

/// What `/dev/md0:` heads.
fn kind(lines: &[Line<'_>]) -> Option<Kind> {
    let heading = lines[0].text.trim();
    if !heading.ends_with(':') || heading.contains(' ') {
        return None;
    }
    kind_below(&lines[1..])
}

/// What keys follow a heading.
fn kind_below(lines: &[Line<'_>]) -> Option<Kind> {
    let near = || {
        let next = |line: &&Line<'_>| !line.text.trim_end().ends_with(':');
        lines
            .iter()
            .take(LOOK_AHEAD)
            .take_while(next)
            .filter_map(pair)
    };
    // What only a member says; `grep` may leave it alone.
    let of_member = ["Data Offset", "Device Role", "Super Offset", "Array UUID"];
    let is_examined = near().any(|(key, _)| of_member.contains(&key));
    near().find_map(|(key, value)| match key {
        "Magic" if value.starts_with("Intel") => Some(Kind::Imsm),
        "Magic" => Some(Kind::Examine),
        _ if is_examined => Some(Kind::Examine),
        "Raid Level" | "Creation Time" | "Container" | "Working Devices" | "Raid Devices"
        | "Chunk Size" => Some(Kind::Detail),
        _ => None,
    })
}

/// `Key : value`; blanks in front line the keys up.
fn pair<'t>(line: &Line<'t>) -> Option<(&'t str, &'t str)> {
    let (key, value) = line.text.split_once(" : ")?;
    Some((key.trim(), value.trim()))
}

fn read(section: &Section<'_>, notes: &mut Notes<'_>) {
    let Some((first, rest)) = section.lines.split_first() else {
        return;
    };
    let device = first.text.trim().trim_end_matches(':');
    of_kind(kind(section.lines), device, rest, notes);
}

fn of_kind(kind: Option<Kind>, device: &str, lines: &[Line<'_>], notes: &mut Notes<'_>) {
    match kind {
        Some(Kind::Detail) => detail(device, lines, notes),
        Some(Kind::Examine) => examine(device, lines, notes),
        Some(Kind::Imsm) => imsm(device, lines, notes),
        None => {}
    }
}

/// What both outputs say of an array.
fn common<'t>(array: &mut Array<'t>, key: &str, value: &'t str, line: &Line<'t>) {
    match key {
        "Version" => array.version = Some((md_array::version(value), *line)),
        "Raid Level" => array.level = Some((value.to_owned(), *line)),
        "Raid Devices" => array.count = number::leading(value).map(|count| (count, *line)),
        "Chunk Size" => array.chunk = md_array::chunk(value).map(|chunk| (chunk, *line)),
        "Layout" => {
            let level = array.level.as_ref().map_or("", |(level, _)| level.as_str());
            array.layout = md_array::layout(level, value).map(|layout| (layout, *line));
        }
        "Reshape Status" | "Reshape pos'n" => array.moving = true,
        _ => {}
    }
}

/// A size with the same in other units behind it: `63488 (62.00 MiB 65.01 MB)`, `63488 sectors (…)`, `31744 KiB (…)`.
/// Old versions print sectors or kibibytes without saying which; then what stands in brackets tells.
fn size(text: &str, otherwise: u64) -> Option<Bytes> {
    let count = number::leading(text)?;
    let (plain, shown) = text.split_once('(').unwrap_or((text, ""));
    let factor = if plain.contains("sectors") {
        512
    } else if plain.contains("KiB") {
        1024
    } else {
        let shown = number::shown(shown, Prefix::Binary, Rounding::Nearest);
        let fits = |factor: &u64| {
            let bytes = Bytes::new(count).checked_mul(*factor);
            shown
                .zip(bytes)
                .is_some_and(|(s, b): (Interval, _)| s.contains(b))
        };
        [512, 1024].into_iter().find(fits).unwrap_or(otherwise)
    };
    Bytes::new(count).checked_mul(factor)
}

/// The array that a partition of it is on: `/dev/md0` of `/dev/md0p1`. Asked for one, mdadm says all that it says of the array, which is what
/// `mdadm --detail /dev/md*` does.
fn whole(device: &str) -> &str {
    let Some((array, partition)) = device.rsplit_once('p') else {
        return device;
    };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let name = array.rsplit('/').next().unwrap_or(array);
    let number = name.strip_prefix("md_d").or(name.strip_prefix("md"));
    match digits(partition) && number.is_some_and(digits) {
        true => array,
        false => device,
    }
}

fn detail(device: &str, lines: &[Line<'_>], notes: &mut Notes<'_>) {
    let mut array = Array::default();
    array.name(Space::Device, whole(device));
    let (mut used, mut active) = (None, None);
    let mut below = false;
    let mut members = Vec::new();
    for line in lines {
        if below && let Some(found) = member(line) {
            members.push(found);
            continue;
        }
        below |= line.text.contains("RaidDevice");
        let Some((key, value)) = pair(line) else {
            continue;
        };
        match key {
            // Of a partition of it, its own.
            "Array Size" if whole(device) != device => {}
            "Array Size" => array.size = size(value, 1024).map(|size| (size, *line)),
            "Used Dev Size" | "Device Size" => used = size(value, 1024),
            "State" => array.state = Some((value.to_owned(), *line)),
            "Active Devices" => active = number::leading(value).map(|count| (count, *line)),
            "UUID" => array.name(Space::Uuid, uuid(value)),
            "Name" => array_name(&mut array, value),
            _ => common(&mut array, key, value, line),
        }
    }
    // A container holds arrays and is none.
    if array.level.as_ref().is_some_and(|(l, _)| l == "container") {
        return;
    }
    // What is filled in the place of another one is not that one yet.
    members.sort_by_key(|member| !member.is_active);
    let mut taken = BTreeSet::new();
    for member in members {
        if taken.insert(member.slot) || member.is_active {
            array.member(member.device, Some(member.slot));
        }
    }
    for member in &mut array.members {
        member.size = used;
    }
    if array
        .state
        .as_ref()
        .is_some_and(|(state, _)| state.contains("degraded"))
    {
        array.working = active;
    }
    array.data_size(used);
    array.note(notes);
}

/// `7609fca3:bfda0425:27761b7f:8fcee109 (local to host db1)`.
fn uuid(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or("")
}

/// `db1:data  (local to host db1)`: the array's link in `/dev/md` is called `data`.
fn array_name(array: &mut Array<'_>, value: &str) {
    let name = value.split_whitespace().next().unwrap_or("");
    let bare = name.rsplit(':').next().unwrap_or(name);
    if !bare.is_empty() {
        array.name(Space::Device, &format!("md/{bare}"));
    }
}

/// `   0       8        0        0      active sync   /dev/sda`: number, major, minor, place, state, device. Spares and
/// faulty members have no place.
fn member<'t>(line: &Line<'t>) -> Option<MemberRow<'t>> {
    let mut words = line.text.split_whitespace();
    let slot = words.nth(3)?.parse().ok()?;
    let state: Vec<&str> = words.collect();
    let device = state.last().filter(|word| word.starts_with("/dev/"))?;
    let is_active = state.contains(&"active");
    let works = is_active || state.contains(&"rebuilding");
    (works && !state.contains(&"replacement")).then_some(MemberRow {
        device,
        slot,
        is_active,
    })
}

/// A member in its place.
struct MemberRow<'t> {
    device: &'t str,
    slot: usize,
    is_active: bool,
}

fn examine(device: &str, lines: &[Line<'_>], notes: &mut Notes<'_>) {
    let mut array = Array::default();
    let mut link = String::new();
    let (mut slot, mut start, mut available, mut used) = (None, None, None, None);
    let (mut says_offsets, mut says_role) = (None, false);
    for line in lines {
        // Version 0.90 prints a table, with `this` before its own row.
        if let Some(row) = line.text.trim_start().strip_prefix("this ") {
            let row = Line { text: row, ..*line };
            slot = slot.or(member(&row).map(|member| member.slot));
            says_role = true;
        }
        let Some((key, value)) = pair(line) else {
            continue;
        };
        match key {
            "Array UUID" | "UUID" => array.name(Space::Uuid, uuid(value)),
            "Name" => value.clone_into(&mut link),
            "Preferred Minor" => link = format!("md{value}"),
            "Array Size" => array.size = size(value, 512).map(|size| (size, *line)),
            "Used Dev Size" | "Used Size" => used = size(value, 512),
            "Avail Dev Size" | "Device Size" => available = size(value, 512),
            "Super Offset" => says_offsets = Some(*line),
            "Data Offset" => {
                let sectors = number::leading(value).map(|n| SectorSize::B512.sectors(n));
                let bytes = sectors.and_then(straddle_geometry::Sectors::bytes);
                start = bytes.map(|bytes| notes.said(line, bytes));
            }
            "Device Role" | "Array Slot" => {
                slot = role(value);
                says_role = true;
            }
            _ => common(&mut array, key, value, line),
        }
    }
    if array.names.is_empty() {
        let said = start
            .as_ref()
            .is_some_and(|start| start.value > Bytes::ZERO);
        if let Some(line) = lines.iter().find(|line| !line.is_blank()) {
            let detail = match said {
                true => format!(
                    "what {device} is a member of has lost its UUID: only where its data begin was read"
                ),
                false => {
                    format!("what {device} is a member of has lost its UUID: it was not read")
                }
            };
            notes.remark(AnomalyKind::Truncated, detail, line);
        }
        // That holds whatever array it is a member of.
        if let Some(start) = start.filter(|_| said) {
            let title = format!("data of {}", device.trim_start_matches("/dev/"));
            let name = Name::new(Space::Device, title.clone());
            let mut thing = Thing::new(LayerKind::Array, title, name);
            thing = thing.on(Name::new(Space::Device, device.to_owned()));
            thing.set(Key::DataOffset, start.clone().map(Value::Bytes));
            thing.start = Some(start.map(Interval::exact));
            notes.add(thing);
        }
        return;
    }
    if link.starts_with("md") && !link.contains(':') {
        array.name(Space::Device, &link);
    } else {
        array_name(&mut array, &link);
    }
    // A name that people use is a better title than the UUID.
    array.names.sort_by_key(|name| name.space.is_identity());
    // Nothing is printed for an offset of 0.
    let start = start.or_else(|| says_offsets.map(|line| notes.said(&line, Bytes::ZERO)));
    // Striped levels may use all of each member, the others as much as the smallest has.
    let level = array.level.as_ref().map_or("", |(level, _)| level.as_str());
    let own = matches!(level, "raid0" | "linear");
    let size = if own {
        available.or(used)
    } else {
        used.or(available)
    };
    // A spare has a role without a place.
    if slot.is_some() || !says_role {
        array.members.push(RaidMember {
            name: Name::new(Space::Device, device.to_owned()),
            slot,
            start,
            size,
        });
    }
    if let (false, Some(last)) = (says_role, lines.iter().rev().find(|line| !line.is_blank())) {
        notes.remark(
            AnomalyKind::Truncated,
            format!(
                "nothing says which member of its array {device} is: the output has lost its end"
            ),
            last,
        );
    }
    array.note(notes);
}

/// `Active device 2`; of old versions `3 (0, 1, failed, 2)`, an index into a list of places.
fn role(text: &str) -> Option<usize> {
    if let Some(number) = text.strip_prefix("Active device ") {
        return number.trim().parse().ok();
    }
    let (index, list) = text.split_once('(')?;
    let index: usize = index.trim().parse().ok()?;
    let places = list.trim_end_matches(')').split(", ");
    places.take(index + 1).nth(index)?.trim().parse().ok()
}

/// Metadata of Intel's RAID in BIOS: volumes in brackets, each over a part of the disk.
fn imsm(device: &str, lines: &[Line<'_>], notes: &mut Notes<'_>) {
    let mut volume: Option<Array<'_>> = None;
    let mut member = RaidMember {
        name: Name::new(Space::Device, device.to_owned()),
        slot: None,
        start: None,
        size: None,
    };
    let empty = member.clone();
    let finish = |volume: &mut Option<Array<'_>>, member: RaidMember, notes: &mut Notes<'_>| {
        if let Some(mut array) = volume.take() {
            array.members.push(member);
            array.note(notes);
        }
    };
    for line in lines {
        let text = line.text.trim();
        if let Some(name) = text.strip_prefix('[').and_then(|t| t.strip_suffix("]:")) {
            finish(
                &mut volume,
                std::mem::replace(&mut member, empty.clone()),
                notes,
            );
            let mut array = Array::default();
            array.name(Space::Device, &format!("md/{name}"));
            volume = Some(array);
            continue;
        }
        // The other disks are described below the volumes.
        if text.starts_with("Disk") && text.contains(" Serial : ") {
            finish(
                &mut volume,
                std::mem::replace(&mut member, empty.clone()),
                notes,
            );
        }
        let (Some(array), Some((key, value))) = (volume.as_mut(), pair(line)) else {
            continue;
        };
        match key {
            "UUID" => array.name(Space::Uuid, uuid(value)),
            "RAID Level" => {
                // While it migrates, the new one stands before an arrow.
                array.moving |= value.contains("<--");
                let level = number::leading(value);
                array.level = level.map(|level| (format!("raid{level}"), *line));
            }
            "Members" => array.count = number::leading(value).map(|count| (count, *line)),
            "Chunk Size" => array.chunk = md_array::chunk(value).map(|chunk| (chunk, *line)),
            "Array Size" => array.size = size(value, 512).map(|size| (size, *line)),
            "Per Dev Size" => member.size = size(value, 512),
            "This Slot" => {
                member.slot = number::leading(value).and_then(|slot| usize::try_from(slot).ok());
            }
            "Sector Offset" => {
                let sectors = number::leading(value).map(|n| SectorSize::B512.sectors(n));
                let bytes = sectors.and_then(straddle_geometry::Sectors::bytes);
                member.start = bytes.map(|bytes| notes.said(line, bytes));
            }
            "Migrate State" => array.moving |= value != "idle",
            "Map State" => array.state = Some((value.to_owned(), *line)),
            _ => {}
        }
    }
    finish(&mut volume, member, notes);
}

/// `ARRAY /dev/md0 metadata=1.2 name=db1:0 UUID=…`: names of one array.
fn scan(line: &Line<'_>, notes: &mut Notes<'_>) {
    let mut array = Array::default();
    for word in line.text.split_whitespace().skip(1) {
        if word.starts_with("/dev/") {
            array.name(Space::Device, word);
        } else if let Some(uuid) = word.strip_prefix("UUID=") {
            array.name(Space::Uuid, uuid);
        } else if let Some(version) = word.strip_prefix("metadata=") {
            array.version = Some((md_array::version(version), *line));
        } else if let Some(name) = word.strip_prefix("name=") {
            array_name(&mut array, name);
        } else if let Some(level) = word.strip_prefix("level=") {
            array.level = Some((level.to_owned(), *line));
        } else if let Some(count) = word.strip_prefix("num-devices=") {
            array.count = number::whole(count).map(|count| (count, *line));
        }
    }
    let container = array.level.as_ref().is_some_and(|(l, _)| l == "container");
    let named = array.names.iter().any(|name| name.space == Space::Device);
    let bare = matches!(array.version.as_ref(), Some((v, _)) if v == "imsm" || v == "ddf");
    if !container && !bare && named {
        array.note(notes);
    }
}

/// `MD_LEVEL=raid5` and so on: of `--detail --export` with members and their places, of `--examine --export` without.
fn export(records: &[Record<'_>], context: &Context<'_>, notes: &mut Notes<'_>) {
    for record in records {
        let mut array = Array::default();
        let text = |key: &str| record.filled(key).map(|f| (f.value.to_string(), f.line));
        array.level = text("MD_LEVEL");
        if array.level.as_ref().is_some_and(|(l, _)| l == "container") {
            continue;
        }
        let member_of = record.get("MD_DEV_UUID").is_some();
        if !member_of && let Some(device) = super::about::of(context, &["mdadm"]) {
            array.names.push(device);
        }
        if let Some((name, _)) = text("MD_DEVNAME") {
            array.name(Space::Device, &format!("md/{name}"));
        }
        if let Some((name, _)) = text("MD_NAME") {
            array_name(&mut array, &name);
        }
        if let Some((uuid, _)) = text("MD_UUID") {
            array.name(Space::Uuid, &uuid);
        }
        array.count = record.number("MD_DEVICES");
        let version = text("MD_METADATA");
        array.version = version.map(|(text, line)| (md_array::version(&text), line));
        for field in &record.fields {
            let Some(device) = field.key.strip_suffix("_ROLE") else {
                continue;
            };
            let path = text(&format!("{device}_DEV"));
            if let (Some((path, _)), Ok(slot)) = (path, field.value.parse()) {
                array.member(&path, Some(slot));
            }
        }
        array.note(notes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partition_of_an_array_is_asked_about_for_the_array() {
        assert_eq!(whole("/dev/md0p1"), "/dev/md0");
        assert_eq!(whole("/dev/md127p12"), "/dev/md127");
        assert_eq!(whole("/dev/md_d1p2"), "/dev/md_d1");
        for device in [
            "/dev/md0",
            "/dev/md/backup1",
            "/dev/md/p1",
            "/dev/md/tank",
            "/dev/mdp",
        ] {
            assert_eq!(whole(device), device);
        }
    }

    #[test]
    fn sizes_without_a_unit_are_what_stands_in_brackets() {
        let kib = |n| Some(Bytes::kib(n));
        assert_eq!(size("63488 (62.00 MiB 65.01 MB)", 512), kib(63_488));
        assert_eq!(
            size("63488 sectors (31.00 MiB 32.51 MB)", 1024),
            kib(31_744)
        );
        assert_eq!(size("31744 KiB (31.00 MiB 32.51 MB)", 512), kib(31_744));
        assert_eq!(
            size("976768002 (465.76 GiB 500.11 GB)", 1024),
            kib(488_384_001)
        );
        assert_eq!(size("100", 1024), kib(100));
        assert_eq!(size("", 1024), None);
    }

    #[test]
    fn roles_of_old_and_new_versions() {
        assert_eq!(role("Active device 2"), Some(2));
        assert_eq!(role("3 (0, 1, failed, 2)"), Some(2));
        assert_eq!(role("2 (0, 1, failed, 2)"), None);
        assert_eq!(role("spare"), None);
        assert_eq!(role("999999999999 (0)"), None);
    }

    #[test]
    fn an_offset_is_a_fact_of_its_own_line() {
        let text = crate::captured::read(
            "x.txt",
            b"/dev/sdb1:\n          Magic : a92b4efc\n        Version : 1.2\n     Array UUID : a:b:c:d\n     Raid Level : raid1\n   Raid Devices : 2\n    Data Offset : 2047 sectors\n   Super Offset : 8 sectors\n   Device Role : Active device 1\n",
            false,
            0,
        );
        let [array] = text.inventory.things() else {
            panic!("one array");
        };
        let crate::inventory::Placing::Raid(raid) = &array.placing else {
            panic!("an array");
        };
        let start = raid.members[0].start.clone().expect("said");
        assert_eq!(start.value, Bytes::new(2047 * 512));
        assert!(matches!(
            start.source,
            straddle_stack::Source::Captured { line: 7, .. }
        ));
        assert_eq!(raid.members[0].slot, Some(1));
    }
}
