//! `partx`: partitions as the kernel counts them, in sectors of 512 bytes whatever the disk's are.
//!
//! ```text
//! NR  START        END    SECTORS  SIZE NAME UUID             partx -s
//!  1     34     262177     262144  128M      4c1d0b0f-…
//! # 1:        63-   208844 (   208782 sectors,    106 MB)     partx -l
//! NR="1" START="63" END="208844" SECTORS="208782" …           partx -P
//! ```
//!
//! Source: util-linux `disk-utils/partx.c`.

use straddle_stack::{AnomalyKind, Interval, Key};

use super::{about, device, fdisk};
use crate::captured::number::{self, Prefix, Rounding};
use crate::captured::row;
use crate::captured::text::Line;
use crate::captured::tool::{Anchor, Context, Notes, Reader, Section, Tool};
use crate::inventory::{Name, Space};

pub(crate) static TOOL: Tool = Tool {
    name: "partx",
    platform: "linux",
    commands: &["partx -s DEVICE", "partx -l DEVICE", "partx -P DEVICE"],
    readers: &[
        Reader::Text {
            anchors: &[Anchor::Within("NR=\"")],
            begins: |lines| pairs(&lines[0]).is_some(),
            read: |section, notes| each(section, pairs, notes),
        },
        Reader::Text {
            anchors: &[Anchor::Start("# ")],
            begins: |lines| listed(&lines[0]).is_some(),
            read: |section, notes| each(section, listed, notes),
        },
        Reader::Text {
            anchors: &[Anchor::Within("START")],
            begins: |lines| columns(&lines[0]).is_some(),
            read: table,
        },
    ],
};

const SECTOR: u64 = 512;
/// Most columns.
const MAX_COLUMNS: usize = 16;

/// What is said of one partition.
#[derive(Default)]
struct Row {
    number: Option<u64>,
    start: Option<u64>,
    end: Option<u64>,
    sectors: Option<u64>,
    size: Option<Interval>,
    uuid: Option<String>,
    name: Option<String>,
    kind: Option<String>,
}

/// The names of columns. One with blanks in its values ends what is read from the left.
const COLUMNS: [&str; 9] = [
    "NR", "START", "END", "SECTORS", "SIZE", "NAME", "UUID", "TYPE", "SCHEME",
];

impl Row {
    fn set(&mut self, column: &str, text: &str) {
        let number = || text.parse().ok();
        match column {
            "NR" => self.number = number(),
            "START" => self.start = number(),
            "END" => self.end = number(),
            "SECTORS" => self.sectors = number(),
            "SIZE" => {
                let shown = number::shown(text, Prefix::Binary, Rounding::Any);
                self.size = shown.or_else(|| row::exact(number()?, 1));
            }
            "UUID" => self.uuid = Some(text.to_owned()),
            "NAME" => self.name = Some(text.to_owned()),
            "TYPE" => self.kind = Some(text.to_owned()),
            _ => {}
        }
    }

    /// Old versions list all four entries of an MBR.
    fn is_empty(&self) -> bool {
        self.sectors == Some(0)
    }
}

/// The columns that a line names: `NR` or an end makes it this tool's.
fn columns<'t>(line: &Line<'t>) -> Option<Vec<&'t str>> {
    let names: Vec<&str> = line.text.split_whitespace().take(MAX_COLUMNS + 1).collect();
    let has = |name: &str| names.contains(&name);
    let own = has("START") && (has("NR") || has("END") || has("SECTORS"));
    (own && names.len() <= MAX_COLUMNS && names.iter().all(|name| COLUMNS.contains(name)))
        .then_some(names)
}

/// A row below these names: from the left up to a column of text, and an identifier wherever it stands.
fn below(names: &[&str], line: &Line<'_>) -> Option<Row> {
    let mut row = Row::default();
    let mut words = line.text.split_whitespace();
    for name in names {
        match *name {
            "NAME" | "UUID" | "TYPE" | "SCHEME" => break,
            name => {
                let word = words.next()?;
                if !word.starts_with(|c: char| c.is_ascii_digit()) {
                    return None;
                }
                row.set(name, word);
            }
        }
    }
    let rest: Vec<&str> = words.collect();
    if names.last() == Some(&"UUID")
        && let Some(last) = rest
            .last()
            .filter(|last| last.len() > 8 && last.contains('-'))
    {
        row.set("UUID", last);
        if names.contains(&"NAME") {
            row.set("NAME", &rest[..rest.len() - 1].join(" "));
        }
    }
    row.start.is_some().then_some(row)
}

/// `# 1:        63-   208844 (   208782 sectors,    106 MB)`.
fn listed(line: &Line<'_>) -> Option<Row> {
    let (number, rest) = line.text.trim().strip_prefix('#')?.split_once(':')?;
    let (start, rest) = rest.split_once('-')?;
    let (end, rest) = rest.split_once('(')?;
    let (sectors, _) = rest.split_once(" sectors,")?;
    Some(Row {
        number: Some(number.trim().parse().ok()?),
        start: Some(start.trim().parse().ok()?),
        end: end.trim().parse().ok(),
        sectors: Some(sectors.trim().parse().ok()?),
        ..Row::default()
    })
}

/// `NR="1" START="63" END="208844"`.
fn pairs(line: &Line<'_>) -> Option<Row> {
    let mut row = Row::default();
    let mut rest = line.text.trim();
    while let Some((column, behind)) = rest.split_once("=\"") {
        let (value, behind) = behind.split_once('"')?;
        let column = column.trim();
        if !COLUMNS.contains(&column) && column != "FLAGS" {
            return None;
        }
        if !value.is_empty() {
            row.set(column, value);
        }
        rest = behind;
    }
    row.start.is_some().then_some(row)
}

/// The disk that the command was about.
fn disk(context: &Context<'_>) -> String {
    let path = about::path(context, &["partx"]);
    // Asked about one partition, it was given that one's node.
    fdisk::disk_of(&path).map_or(path.clone(), str::to_owned)
}

fn each(section: &Section<'_>, read: fn(&Line<'_>) -> Option<Row>, notes: &mut Notes<'_>) {
    let path = disk(&section.context);
    for line in section.lines {
        if let Some(row) = read(line) {
            add(&path, &row, line, notes);
        }
    }
}

fn table(section: &Section<'_>, notes: &mut Notes<'_>) {
    let Some((heading, lines)) = section.lines.split_first() else {
        return;
    };
    let Some(names) = columns(heading) else {
        return;
    };
    let path = disk(&section.context);
    for line in lines.iter().take_while(|line| !line.is_blank()) {
        match below(&names, line) {
            Some(row) => add(&path, &row, line, notes),
            None if line
                .text
                .trim_start()
                .starts_with(|c: char| c.is_ascii_digit()) =>
            {
                let detail = "the row of a partition is cut off, and was not read";
                notes.remark(AnomalyKind::Truncated, detail, line);
            }
            None => break,
        }
    }
}

fn add(path: &str, found: &Row, line: &Line<'_>, notes: &mut Notes<'_>) {
    if found.is_empty() {
        return;
    }
    let mut thing = match found.number {
        Some(number) => device::numbered_partition(path, number, line, notes),
        None => {
            let start = found.start.unwrap_or(0);
            device::partition_at(path, start)
        }
    };
    let exact = |count: u64| row::exact(count, SECTOR);
    let figures = row::Row {
        start: found.start.and_then(exact),
        end: found.end.and_then(|end| exact(end.checked_add(1)?)),
        length: found.sectors.and_then(exact),
        shown: found.size,
        ..row::Row::default()
    };
    figures.set(&mut thing, line, notes);
    if let Some(uuid) = &found.uuid {
        thing = thing.named(Name::new(Space::Uuid, uuid.clone()));
    }
    if let Some(name) = found.name.as_ref().filter(|name| !name.is_empty()) {
        thing.set_text(Key::PartitionName, notes.said(line, name.clone()));
    }
    if let Some(kind) = &found.kind {
        device::partition_type(&mut thing, kind, line, notes);
    }
    notes.add(device::disk(path));
    notes.add(thing);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(text: &str, read: impl Fn(&Line<'_>) -> Option<Row>) -> Option<[Option<u64>; 4]> {
        let row = read(&Line { number: 1, text })?;
        Some([row.number, row.start, row.end, row.sectors])
    }

    #[test]
    fn all_shapes_say_the_same() {
        let expected = Some([Some(1), Some(63), Some(208_844), Some(208_782)]);
        assert_eq!(
            places(
                "# 1:        63-   208844 (   208782 sectors,    106 MB)",
                listed
            ),
            expected
        );
        assert_eq!(
            places(
                "NR=\"1\" START=\"63\" END=\"208844\" SECTORS=\"208782\" NAME=\"\"",
                pairs
            ),
            expected
        );
        let names = ["NR", "START", "END", "SECTORS", "SIZE", "NAME", "UUID"];
        let row = " 1     63 208844  208782  102M Basic data 4c1d0b0f-2b7f-4cb1-9c35-0c6d5ae0a911";
        assert_eq!(places(row, |line| below(&names, line)), expected);
        let line = Line {
            number: 1,
            text: row,
        };
        let row = below(&names, &line).expect("a row");
        assert_eq!(row.name.as_deref(), Some("Basic data"));
    }

    #[test]
    fn other_tables_are_not_this_one() {
        let is = |text| columns(&Line { number: 1, text }).is_some();
        assert!(is("NR START SECTORS TYPE"));
        for text in [
            "NAME START SIZE TYPE",
            "START",
            "NR START x",
            "START END of it",
        ] {
            assert!(!is(text), "{text}");
        }
        assert!(
            places(
                "NAME=\"sda\" START=\"63\" TYPE=\"part\" PHY-SEC=\"512\"",
                pairs
            )
            .is_none()
        );
        assert!(places("# 1: a comment (of 3 sectors, or so)", listed).is_none());
    }
}
