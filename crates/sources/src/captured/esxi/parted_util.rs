//! `partedUtil getptbl DEVICE` and `partedUtil get DEVICE` of ESXi: the kind of table, cylinders, heads, sectors of a track
//! and the number of sectors, then partitions: number, first sector, last sector, type, its name, attributes.
//!
//! Sectors have 512 bytes: ESXi emulates them for disks that have larger ones. The output does not name the device.

use straddle_geometry::{Bytes, SectorSize};
use straddle_stack::{Anomaly, AnomalyKind, Interval, Key, Value};

use super::{device, device_in, guid, is_device, partition};
use crate::captured::number;
use crate::captured::text::Line;
use crate::captured::tool::{Anchor, Context, Notes, Reader, Section, Tool};
use crate::inventory::Thing;

pub(crate) static TOOL: Tool = Tool {
    name: "partedutil",
    platform: "esxi",
    commands: &["partedUtil getptbl DEVICE", "partedUtil get DEVICE"],
    readers: &[Reader::Text {
        anchors: &[
            Anchor::Loose("gpt"),
            Anchor::Loose("msdos"),
            Anchor::Loose("unknown"),
            Anchor::Loose("/vmfs/devices/disks/"),
            Anchor::Loose("Device:"),
            Anchor::Loose("partedUtil get"),
            Anchor::Loose("1"),
            Anchor::Loose("2"),
            Anchor::Loose("3"),
            Anchor::Loose("4"),
            Anchor::Loose("5"),
            Anchor::Loose("6"),
            Anchor::Loose("7"),
            Anchor::Loose("8"),
            Anchor::Loose("9"),
        ],
        begins,
        read,
    }],
};

const TABLES: [&str; 3] = ["gpt", "msdos", "unknown"];

fn begins(lines: &[Line<'_>]) -> bool {
    let text = lines[0].text.trim();
    let next = |count: usize| lines.iter().skip(1).filter(|l| !l.is_blank()).take(count);
    if TABLES.contains(&text) {
        return next(1).any(|line| geometry(line).is_some());
    }
    // Scripts print the device above: `Device:  /vmfs/devices/disks/naa.…`.
    if named(text).is_some() {
        return next(3).any(|line| geometry(line).is_some());
    }
    // `get` prints no kind of table.
    is_a_disks(&lines[0]) && next(1).all(|line| entry(line).is_some() || is_cut(line))
}

fn named(text: &str) -> Option<&str> {
    // The command, without a prompt in front of it.
    if text.starts_with("partedUtil get") {
        return device_in(text.split_whitespace().nth(2)?);
    }
    let path = text.strip_prefix("Device:").unwrap_or(text).trim();
    path.starts_with("/vmfs/devices/disks/")
        .then(|| device_in(path.trim_end_matches(':')))?
}

/// `121601 255 63 1953525168`: how many sectors there are.
fn geometry(line: &Line<'_>) -> Option<u64> {
    let mut numbers = line.text.split_whitespace().map(number::whole);
    let [cylinders, heads, track, sectors] = [(); 4].map(|()| numbers.next().flatten());
    // What `setptbl` wrote is printed without a geometry.
    let none = [cylinders, heads, track, sectors]
        .iter()
        .all(|n| *n == Some(0));
    let plausible = numbers.next().is_none()
        && cylinders.is_some()
        && (none || (1..=255).contains(&heads?) && (1..=63).contains(&track?));
    plausible.then_some(sectors)?
}

/// Whether a geometry that nothing announces is one: with the heads and sectors of a track that BIOSes make up, or as many cylinders as fit in the
/// sectors. Any table of small numbers has rows of four.
fn is_a_disks(line: &Line<'_>) -> bool {
    let numbers: Vec<u64> = line
        .text
        .split_whitespace()
        .filter_map(number::whole)
        .collect();
    let [cylinders, heads, track, sectors] = numbers[..] else {
        return false;
    };
    let is_usual = USUAL.contains(&(heads, track));
    let held = cylinders.saturating_mul(heads).saturating_mul(track);
    let fits = held <= sectors && sectors - held < heads.saturating_mul(track) && sectors >= 2048;
    geometry(line).is_some() && (is_usual || fits)
}

/// Heads and sectors of a track.
const USUAL: [(u64, u64); 7] = [
    (255, 63),
    (240, 63),
    (128, 63),
    (64, 63),
    (16, 63),
    (128, 32),
    (64, 32),
];

struct Entry<'t> {
    number: u64,
    first: u64,
    last: u64,
    kind: &'t str,
}

/// True for the beginning of an entry: a number, and what a place can be.
fn is_cut(line: &Line<'_>) -> bool {
    let words: Vec<&str> = line.text.split_whitespace().take(6).collect();
    let plain = |word: &&str| word.bytes().all(|b| b.is_ascii_digit());
    (2..=4).contains(&words.len())
        && words.iter().take(3).all(plain)
        && words[0]
            .parse::<u64>()
            .is_ok_and(|n| (1..=256).contains(&n))
}

/// `1 2048 1146719699 AA31E02A400F11DB9590000C2911D1B8 vmfs 0`, `1 128 209712509 251 0`.
fn entry<'t>(line: &Line<'t>) -> Option<Entry<'t>> {
    let words: Vec<&str> = line.text.split_whitespace().take(7).collect();
    if !(5..=6).contains(&words.len()) {
        return None;
    }
    let plain = |index: usize| words[index].parse::<u64>().ok();
    let entry = Entry {
        number: plain(0)?,
        first: plain(1)?,
        last: plain(2)?,
        kind: words[3],
    };
    (1..=256).contains(&entry.number).then_some(entry)
}

/// What is left of an entry whose first and last sector are whole.
fn begun<'t>(line: &Line<'t>) -> Option<Entry<'t>> {
    let words: Vec<&str> = line.text.split_whitespace().take(5).collect();
    let [number, first, last, _] = words.as_slice() else {
        return None;
    };
    Some(Entry {
        number: number.parse().ok()?,
        first: first.parse().ok()?,
        last: last.parse().ok()?,
        kind: "",
    })
}

/// The device in the command, or in the name of the file.
fn device_of<'t>(context: &Context<'t>) -> Option<&'t str> {
    let typed = context.command.as_ref();
    let typed = typed.and_then(|command| {
        let mut words = command.words.iter().rev();
        words.find_map(|word| device_in(word))
    });
    typed.or_else(|| {
        let stem = context.file_stem;
        let at = ["naa.", "eui.", "t10.", "mpx."]
            .iter()
            .find_map(|prefix| stem.find(prefix))?;
        Some(stem[at..].trim_end_matches(|c: char| !c.is_ascii_alphanumeric()))
    })
}

/// One table, as far as it was read.
#[derive(Default)]
struct Table<'t> {
    device: Option<&'t str>,
    kind: Option<Line<'t>>,
    sectors: Option<(u64, Line<'t>)>,
    entries: Vec<(Entry<'t>, Line<'t>)>,
}

/// A loop over devices prints one table after the other.
fn read(section: &Section<'_>, notes: &mut Notes<'_>) {
    let mut table = Table {
        device: device_of(&section.context),
        ..Table::default()
    };
    // Rows stand directly below each other.
    let mut in_rows = false;
    for line in section.lines {
        let text = line.text.trim();
        let below = std::mem::replace(&mut in_rows, false);
        if let Some(id) = named(text) {
            std::mem::take(&mut table).finish(notes);
            table.device = Some(id);
        } else if TABLES.contains(&text) {
            if table.kind.is_some() || table.sectors.is_some() {
                std::mem::take(&mut table).finish(notes);
            }
            table.kind = Some(*line);
        } else if let Some(sectors) = geometry(line) {
            if table.sectors.is_some() {
                std::mem::take(&mut table).finish(notes);
            }
            table.sectors = Some((sectors, *line));
            in_rows = true;
        } else if let (true, Some(entry)) = (table.begins(), entry(line)) {
            table.entries.push((entry, *line));
            in_rows = true;
        } else if below && is_cut(line) {
            let detail = "the row of a partition ends before its type";
            notes.remark(AnomalyKind::Truncated, detail, line);
            // Figures before the last one are whole.
            table
                .entries
                .extend(begun(line).map(|entry| (entry, *line)));
            in_rows = true;
        }
    }
    table.finish(notes);
}

impl Table<'_> {
    /// Whether its rows may follow.
    fn begins(&self) -> bool {
        self.sectors.is_some() || self.kind.is_some()
    }

    fn finish(self, notes: &mut Notes<'_>) {
        // Where the line of the geometry is lost, rows below the kind of the table are rows all the same.
        let named = self.kind.filter(|_| !self.entries.is_empty());
        let (sectors, geometry) = match (self.sectors, named) {
            (Some(said), _) => said,
            (None, Some(kind)) => {
                let detail = "the line of the geometry of a table is lost, so how long its device is is not known";
                notes.remark(AnomalyKind::Truncated, detail, &kind);
                (0, kind)
            }
            (None, None) => return,
        };
        let known = self.device.filter(|id| is_device(id));
        // Two tables that name no device are two devices.
        let id = match known {
            Some(id) => id.to_owned(),
            None => format!("device ? ({}:{})", notes.file, geometry.number),
        };
        let id = id.as_str();
        let mut thing = device(id);
        let size = bytes(sectors).filter(|size| *size > Bytes::ZERO);
        thing.size = size.map(|size| notes.said(&geometry, Interval::exact(size)));
        if let Some(line) = self.kind.filter(|line| line.text.trim() != "unknown") {
            let kind = match line.text.trim() {
                "msdos" => "mbr",
                other => other,
            };
            thing.set_text(Key::PartitionTable, notes.said(&line, kind.to_owned()));
        }
        if known.is_none() {
            thing.remarks.push(Anomaly::at(
                AnomalyKind::Missing,
                "nothing says which device it is: neither the command nor the name of the file",
                notes.source(&geometry),
            ));
        }
        notes.add(thing);
        for (entry, line) in self.entries {
            notes.add(entry.partition(id, &line, notes));
        }
    }
}

impl Entry<'_> {
    fn partition(&self, id: &str, line: &Line<'_>, notes: &Notes<'_>) -> Thing {
        let mut thing = partition(id, self.number);
        let number = Value::Count(self.number);
        thing.set(Key::PartitionNumber, notes.said(line, number));
        let count = self
            .last
            .checked_sub(self.first)
            .and_then(|n| n.checked_add(1));
        if count.is_none() {
            let detail = format!(
                "ends at sector {}, before its start at {}",
                self.last, self.first
            );
            notes.contradicts(&mut thing, detail, line, line);
        }
        thing.start = bytes(self.first).map(|start| notes.said(line, Interval::exact(start)));
        let size = count.and_then(bytes);
        thing.size = size.map(|size| notes.said(line, Interval::exact(size)));
        thing.set(Key::StartSector, notes.said(line, Value::Count(self.first)));
        let kind = match self.kind.parse::<u8>() {
            // `get` has no types of GPT.
            Ok(0) => None,
            Ok(kind) => Some(format!("{kind:02x}")),
            Err(_) => guid(self.kind),
        };
        if matches!(kind.as_deref(), Some("05" | "0f" | "85")) {
            thing.set(Key::HoldsPartitions, notes.said(line, Value::Flag(true)));
        }
        if let Some(kind) = kind {
            thing.set_text(Key::PartitionType, notes.said(line, kind));
        }
        thing
    }
}

fn bytes(sectors: u64) -> Option<Bytes> {
    SectorSize::B512.sectors(sectors).bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn geometry_and_entries_are_told_apart() {
        let line = |text| Line { number: 1, text };
        assert_eq!(
            geometry(&line("71380 255 63 1146734896")),
            Some(1_146_734_896)
        );
        assert_eq!(geometry(&line("1 2048 1146719699 0 0")), None);
        assert_eq!(geometry(&line("10 300 63 100")), None);
        let found = entry(&line("1 128 209712509 251 0")).expect("an entry");
        assert_eq!((found.number, found.first, found.kind), (1, 128, "251"));
        assert!(entry(&line("71380 255 63 1146734896")).is_none());
        assert!(entry(&line("300 8 9 0 0")).is_none());
        assert_eq!(geometry(&line("0 0 0 0")), Some(0));
        assert!(is_cut(&line("2 52428")) && is_cut(&line("2 52428 60000 AA31")));
        assert!(!is_cut(&line("end of file")));
        let path = "partedUtil getptbl /dev/disks/naa.6000";
        assert_eq!(named(path), Some("naa.6000"));
    }

    #[test]
    fn rows_of_small_numbers_are_no_table() {
        let of = |text: &str| {
            let lines: Vec<Line<'_>> = (1..)
                .zip(text.lines())
                .map(|(number, text)| Line { number, text })
                .collect();
            begins(&lines)
        };
        assert!(of("71380 255 63 1146734896\n1 2048 1146719699 0 0"));
        assert!(of("1024 64 32 2097152\n1 128 2097151 251 0"));
        assert!(
            of("1023 100 50 5118000\n1 128 2097151 251 0"),
            "as many cylinders as fit"
        );
        assert!(!of("1023 100 50 5110000\n1 128 2097151 251 0"));
        assert!(!of("1  2  5  8\n2  3  6  9"));
        assert!(!of("0  1   4   7  10\n1  2   8  10 -6"));
        assert!(!of("15 90 14 2\n16 20 12"));
        assert!(of("gpt\n15 90 14 2\n1 2 5 8 9"), "where the kind is said");
    }

    #[test]
    fn the_file_may_be_named_after_the_device() {
        let context = Context {
            command: None,
            file_stem: "getptbl-naa.600508b1001c",
        };
        assert_eq!(device_of(&context), Some("naa.600508b1001c"));
        let context = Context {
            command: None,
            file_stem: "getptbl",
        };
        assert_eq!(device_of(&context), None);
    }
}
