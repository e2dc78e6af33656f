//! `gpart show`, `gpart list` and `geom disk list`, and `glabel status`, which says what else partitions are called.
//!
//! ```text
//! =>       34  976773101  ada0  GPT  (466G)
//!          34       1024     1  freebsd-boot  (512K)
//! ```
//!
//! `show` counts sectors of the disk, and does not say how long one is: the size for people does. The first line is about the part of the
//! disk that the table deals out. A BSD label lies in a slice, and counts from its beginning. `list` has bytes.
//!
//! Source: FreeBSD `lib/geom/part/geom_part.c`, `sbin/geom/core/geom.c`, `sys/geom/part/g_part_*.c`.

use straddle_geometry::Bytes;
use straddle_stack::{AnomalyKind, Interval, Key, LayerKind, Value};

use super::{disk, identity, name, rotation, sector, size, stripe};
use crate::captured::number::{self, Prefix, Rounding};
use crate::captured::text::Line;
use crate::captured::tool::{Anchor, Notes, Reader, Section, Tool};
use crate::inventory::{Name, Space, Thing};

pub(crate) static TOOL: Tool = Tool {
    name: "gpart",
    platform: "freebsd",
    commands: &[
        "gpart show",
        "gpart show -p",
        "gpart list",
        "geom disk list",
        "glabel status",
    ],
    readers: &[
        Reader::Text {
            anchors: &[Anchor::Start("=>")],
            begins: |lines| Table::new(&lines[0]).is_some(),
            read: show,
        },
        Reader::Text {
            anchors: &[Anchor::Start("Geom name:")],
            begins: |_| true,
            read: list,
        },
        Reader::Text {
            anchors: &[Anchor::Within("Components")],
            begins: |lines| {
                lines[0]
                    .text
                    .split_whitespace()
                    .eq(["Name", "Status", "Components"])
            },
            read: labels,
        },
    ],
};

/// Most lines of one disk that are looked at: a GPT may have more than 128 entries, and `list` has 17 lines for each.
const MAX_LINES: usize = 8_192;

/// What `list` prints where there is nothing.
const NOTHING: &str = "(null)";

/// The first line of a table.
struct Table<'t> {
    device: &'t str,
    scheme: &'t str,
    /// Bytes of a sector; `None` where it does not follow from the size.
    sector: Option<u64>,
}

impl<'t> Table<'t> {
    /// `=>       34  976773101  ada0  GPT  (466G)`, with `[CORRUPT]` behind it where the table is damaged.
    fn new(line: &Line<'t>) -> Option<Table<'t>> {
        let mut words = line.text.trim().strip_prefix("=>")?.split_whitespace();
        let _: u64 = words.next()?.parse().ok()?;
        let sectors: u64 = words.next()?.parse().ok()?;
        let (device, scheme) = (words.next()?, words.next()?);
        let shown = words.find_map(|word| word.strip_prefix('(')?.strip_suffix(')'))?;
        let shown = number::shown(shown, Prefix::Binary, Rounding::Any);
        let fits = |sector: &u64| {
            let bytes = sectors.checked_mul(*sector).map(Bytes::new);
            shown.is_some_and(|shown| bytes.is_some_and(|b| shown.from() <= b && b <= shown.to()))
        };
        scheme
            .starts_with(|c: char| c.is_ascii_uppercase())
            .then(|| Table {
                device,
                scheme,
                sector: [512, 4_096].into_iter().find(fits),
            })
    }

    /// What its partition of this number is called.
    fn node(&self, index: u64) -> Option<String> {
        let device = self.device;
        match self.scheme {
            "GPT" => Some(format!("{device}p{index}")),
            "MBR" | "APM" => Some(format!("{device}s{index}")),
            "BSD" | "BSD64" | "VTOC8" => {
                let letter = b'a'.checked_add(u8::try_from(index.checked_sub(1)?).ok()?)?;
                letter
                    .is_ascii_lowercase()
                    .then(|| format!("{device}{}", char::from(letter)))
            }
            _ => None,
        }
    }
}

/// `34  1024  1  freebsd-boot  (512K)`, or with `-p` `34  1024  ada0p1  freebsd-boot  (512K)`: start, sectors, number or name, type or label.
fn row_of<'t>(line: &Line<'t>) -> Option<(u64, u64, &'t str, &'t str)> {
    let mut words = line.text.split_whitespace();
    let start = words.next()?.parse().ok()?;
    let sectors = words.next()?.parse().ok()?;
    let partition = words.next()?;
    let kind = words.next()?;
    line.text
        .contains('(')
        .then_some((start, sectors, partition, kind))
}

fn show(section: &Section<'_>, notes: &mut Notes<'_>) {
    let Some((first, lines)) = section.lines.split_first() else {
        return;
    };
    let Some(table) = Table::new(first) else {
        return;
    };
    let mut whole = disk(table.device);
    let is_disk = !table.scheme.starts_with("BSD");
    if is_disk {
        whole.set_text(
            Key::PartitionTable,
            notes.said(first, table.scheme.to_ascii_lowercase()),
        );
        if let Some(bytes) = table.sector {
            sector(&mut whole, bytes, first, notes);
        }
        notes.add(whole);
    }
    for line in lines
        .iter()
        .take(MAX_LINES)
        .take_while(|line| !line.is_blank())
    {
        let Some((start, sectors, partition, kind)) = row_of(line) else {
            if line
                .text
                .trim_start()
                .starts_with(|c: char| c.is_ascii_digit())
            {
                let detail = "the row of a partition is cut off, and was not read";
                notes.remark(AnomalyKind::Truncated, detail, line);
                continue;
            }
            break;
        };
        // What is free has a hyphen in place of a number.
        if partition == "-" {
            continue;
        }
        // A logical drive begins one track behind the sector that is printed, or wherever its own table says.
        if table.scheme == "EBR" {
            let detail =
                "gpart prints where the table of a logical drive is, not where the drive begins";
            notes.remark(AnomalyKind::Missing, detail, line);
            continue;
        }
        let index = partition.parse::<u64>().ok();
        let node = match index {
            Some(index) => table.node(index),
            None => Some(partition.to_owned()),
        };
        let node = node.unwrap_or_else(|| format!("{} at sector {start}", table.device));
        let places = (start, sectors);
        let mut thing = super::partition(&node, table.device, places, table.sector, line, notes);
        thing.set(Key::StartSector, notes.said(line, Value::Count(start)));
        partition_type(&mut thing, kind, line, notes);
        if let Some(index) = index {
            thing.set(Key::PartitionNumber, notes.said(line, Value::Count(index)));
        }
        notes.add(thing);
    }
}

/// Types by what gpart calls them: those that other systems know by their GUIDs.
const TYPES: [(&str, &str); 7] = [
    ("efi", "C12A7328-F81F-11D2-BA4B-00A0C93EC93B"),
    ("bios-boot", "21686148-6449-6E6F-744E-656564454649"),
    ("freebsd-boot", "83BD6B9D-7F41-11DC-BE0B-001560B84F0F"),
    ("freebsd-swap", "516E7CB5-6ECF-11D6-8FF8-00022D09712B"),
    ("freebsd-ufs", "516E7CB6-6ECF-11D6-8FF8-00022D09712B"),
    ("freebsd-zfs", "516E7CBA-6ECF-11D6-8FF8-00022D09712B"),
    ("ms-basic-data", "EBD0A0A2-B9E5-4433-87C0-68B6B72699C7"),
];

fn partition_type(thing: &mut Thing, kind: &str, line: &Line<'_>, notes: &Notes<'_>) {
    let known = TYPES.iter().find(|(called, _)| *called == kind);
    if let Some((_, guid)) = known {
        thing.set_text(Key::PartitionType, notes.said(line, (*guid).to_owned()));
    }
}

/// One device of `list`, with the lines below its name.
#[derive(Default)]
struct Provider<'t> {
    name: &'t str,
    fields: Vec<(&'t str, &'t str, Line<'t>)>,
}

impl<'t> Provider<'t> {
    fn text(&self, key: &str) -> Option<(&'t str, Line<'t>)> {
        let mut fields = self.fields.iter();
        let (_, value, line) = fields.find(|(known, ..)| *known == key)?;
        (!value.is_empty()).then_some((value, *line))
    }

    /// `500107862016 (466G)`.
    fn number(&self, key: &str) -> Option<(u64, Line<'t>)> {
        let (value, line) = self.text(key)?;
        Some((value.split_whitespace().next()?.parse().ok()?, line))
    }

    fn describe(&self, thing: &mut Thing, notes: &Notes<'_>) {
        if let Some((bytes, line)) = self.number("Mediasize") {
            size(thing, bytes, &line, notes);
        }
        if let Some((bytes, line)) = self.number("Sectorsize") {
            sector(thing, bytes, &line, notes);
        }
        if let Some((bytes, line)) = self.number("Stripesize") {
            let offset = self.number("Stripeoffset").map_or(0, |(offset, _)| offset);
            stripe(thing, bytes, offset, &line, notes);
        }
    }
}

fn list(section: &Section<'_>, notes: &mut Notes<'_>) {
    let mut geom = "";
    let mut scheme = None;
    let mut providers: Vec<Provider<'_>> = Vec::new();
    for line in section.lines.iter().take(MAX_LINES) {
        let Some((key, value)) = line.text.split_once(':') else {
            if line.is_blank() {
                continue;
            }
            break;
        };
        let (key, value) = (key.trim(), value.trim());
        match key {
            "Geom name" => geom = value,
            "scheme" => scheme = Some((value, *line)),
            "Providers" | "Consumers" => {}
            // `1. Name`
            key if key.ends_with(". Name") => {
                providers.push(Provider {
                    name: value,
                    ..Provider::default()
                });
            }
            key => {
                if let Some(provider) = providers.last_mut() {
                    provider.fields.push((key, value, *line));
                }
            }
        }
    }
    for provider in &providers {
        if provider.name == geom {
            let mut whole = disk(geom);
            provider.describe(&mut whole, notes);
            if let Some((scheme, line)) = scheme {
                whole.set_text(
                    Key::PartitionTable,
                    notes.said(&line, scheme.to_ascii_lowercase()),
                );
            }
            if let Some((model, line)) = provider
                .text("descr")
                .filter(|(model, _)| *model != NOTHING)
            {
                whole.set_text(Key::Model, notes.said(&line, model.to_owned()));
            }
            if let Some((serial, line)) = provider.text("ident") {
                whole = identity(whole, serial, &line, notes);
            }
            if let Some((id, _)) = provider.text("lunid") {
                whole = whole.named(Name::new(Space::Wwn, id.to_owned()));
            }
            if let Some((rate, line)) = provider.text("rotationrate") {
                rotation(&mut whole, rate, &line, notes);
            }
            notes.add(whole);
        } else if let Some((offset, line)) = provider.number("offset") {
            partition(geom, provider, offset, &line, notes);
        }
    }
}

/// A partition: what it has of stripes follows from its disk, and is not said again.
fn partition(
    geom: &str,
    provider: &Provider<'_>,
    offset: u64,
    line: &Line<'_>,
    notes: &mut Notes<'_>,
) {
    let mut thing = Thing::new(LayerKind::Partition, provider.name, name(provider.name));
    thing = thing.on(name(geom));
    thing.start = Some(notes.said(line, Interval::exact(Bytes::new(offset))));
    if let Some((bytes, line)) = provider.number("length").or(provider.number("Mediasize")) {
        size(&mut thing, bytes, &line, notes);
    }
    if let Some((start, line)) = provider.number("start") {
        thing.set(Key::StartSector, notes.said(&line, Value::Count(start)));
    }
    if let Some((index, line)) = provider.number("index") {
        thing.set(Key::PartitionNumber, notes.said(&line, Value::Count(index)));
    }
    if let Some((kind, line)) = provider.text("type") {
        partition_type(&mut thing, kind, &line, notes);
    }
    // Pools and mounts call it by these.
    if let Some((id, _)) = provider.text("rawuuid") {
        thing = thing.named(Name::new(Space::Uuid, id.to_owned()));
        thing = thing.named(name(&format!("gptid/{id}")));
    }
    if let Some((label, line)) = provider
        .text("label")
        .filter(|(label, _)| *label != NOTHING)
    {
        thing = thing.named(name(&format!("gpt/{label}")));
        thing.set_text(Key::PartitionName, notes.said(&line, label.to_owned()));
    }
    notes.add(thing);
}

/// `gptid/6d2f3a11-…     N/A  ada0p2`: two names of one partition.
fn labels(section: &Section<'_>, notes: &mut Notes<'_>) {
    for line in section.lines.iter().skip(1).take(MAX_LINES) {
        let words: Vec<&str> = line.text.split_whitespace().take(4).collect();
        let [label, _, component] = words.as_slice() else {
            break;
        };
        // Where in what it lies, a table says; a label of a whole disk is its last sector.
        let is_partition = component
            .trim_start_matches(|c: char| c.is_ascii_alphabetic())
            .contains(['p', 's']);
        if label.contains('/') && is_partition {
            let thing = Thing::new(LayerKind::Partition, *component, name(component));
            notes.add(thing.named(name(label)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> Option<(&str, &str, Option<u64>)> {
        let table = Table::new(&Line { number: 1, text })?;
        Some((table.device, table.scheme, table.sector))
    }

    #[test]
    fn the_size_for_people_tells_the_sector() {
        assert_eq!(
            table("=>       34  976773101  ada0  GPT  (466G)"),
            Some(("ada0", "GPT", Some(512)))
        );
        assert_eq!(
            table("=>        6  976754635  da1  GPT  (3.6T)"),
            Some(("da1", "GPT", Some(4_096)))
        );
        assert_eq!(
            table("=>      63  8388545  ada0  MBR  (400G) [CORRUPT]"),
            Some(("ada0", "MBR", None))
        );
        for text in [
            "=> see ada0 GPT (1G)",
            "=> 1 2 ada0",
            "=> 1 2 ada0 GPT",
            "-> 1 2 a GPT (1G)",
        ] {
            assert_eq!(table(text), None, "{text}");
        }
    }

    #[test]
    fn partitions_are_called_after_their_table() {
        let of = |scheme, index| {
            let table = Table {
                device: "ada0",
                scheme,
                sector: None,
            };
            table.node(index)
        };
        assert_eq!(of("GPT", 12).as_deref(), Some("ada0p12"));
        assert_eq!(of("MBR", 1).as_deref(), Some("ada0s1"));
        assert_eq!(of("BSD", 4).as_deref(), Some("ada0d"));
        assert_eq!(of("BSD", 0), None);
        assert_eq!(of("BSD", 60), None);
        assert_eq!(of("EBR", 1), None);
    }

    #[test]
    fn rows_have_a_start_a_length_and_a_number_or_a_name() {
        let of = |text| row_of(&Line { number: 1, text });
        assert_eq!(
            of("   34   1024   1  freebsd-boot  (512K)"),
            Some((34, 1024, "1", "freebsd-boot"))
        );
        assert_eq!(of(" 40 8 ada0p1 efi (4K)"), Some((40, 8, "ada0p1", "efi")));
        assert_eq!(
            of(" 1953525105  63  - free -  (32K)"),
            Some((1_953_525_105, 63, "-", "free"))
        );
        assert_eq!(of(" 1953525105  63"), None);
    }
}
