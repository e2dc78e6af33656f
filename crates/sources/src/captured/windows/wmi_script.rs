//! What scripts over WMI print of partitions: `DiskIndex: 0 -- Name: Disk #0, Partition #0  -- StartingOffset: 32256`, one
//! line for each, which mail breaks; or the name in a line, and offset and size in lines of their own, as `msinfo32` and
//! `wmic /format:mof` have it too.

use std::borrow::Cow;

use crate::captured::number;
use crate::captured::records::{Field, Record};
use crate::captured::text::Line;
use crate::captured::tool::{Anchor, Notes, Reader, Section, Tool};
use crate::captured::windows::{unknown::Unknown, wmic};

pub(crate) static TOOL: Tool = Tool {
    name: "wmi-script",
    platform: "windows",
    commands: &[
        "cscript //nologo partitions.vbs",
        "msinfo32 /report FILE /categories +componentsstoragedisks",
        "wmic partition get Name,StartingOffset,Size /format:mof",
    ],
    readers: &[
        Reader::Text {
            anchors: &[
                Anchor::Within("DiskIndex:"),
                Anchor::Within("StartingOffset:"),
                Anchor::Within("#"),
            ],
            begins,
            read,
        },
        Reader::Text {
            anchors: &[Anchor::LooseShaped(|line| named(line).is_some())],
            begins: |lines| {
                let below = lines[1..].iter().take(MAX_BELOW);
                below
                    .filter_map(labelled)
                    .any(|(what, _)| what == Labelled::Start)
            },
            read: read_labelled,
        },
    ],
};

/// Most lines between a name and its offset.
const MAX_BELOW: usize = 6;

/// Disk and partition in a line that ends with them: `Disk #0, Partition #1`, with a label in front or not, in any language.
pub(in crate::captured) fn named(text: &str) -> Option<(u64, u64)> {
    let text = text.trim().trim_end_matches(['"', ';']);
    // `Name=Disk #0, …` and `Name : Disk #0, …` are other shapes of WMI's.
    let label = text.split(['=', ':']).next()?;
    let shaped = label.len() == text.len() || text[label.len()..].starts_with("= \"");
    // A line of a program has signs that no name of a partition has, in any language.
    let is_sign = |c: char| !c.is_alphanumeric() && !" \u{a0}#.,、，°º№-_:=\"".contains(c);
    if !shaped || !text.ends_with(|c: char| c.is_ascii_digit()) || text.contains(is_sign) {
        return None;
    }
    let (before, partition) = text.split_once([',', '、', '，'])?;
    let last = |text: &str| {
        let digits = text.rsplit(|c: char| !c.is_ascii_digit()).next()?;
        let named = text.len() > digits.len() && digits.len() < 4;
        named.then(|| digits.parse().ok())?
    };
    // Two names with a number each.
    let count = |text: &str| {
        text.split(|c: char| !c.is_ascii_digit())
            .filter(|n| !n.is_empty())
            .count()
    };
    let one_each = count(before) == 1 && count(partition) == 1;
    let lettered = partition.chars().any(char::is_alphabetic);
    (one_each && lettered).then(|| Some((last(before)?, last(partition)?)))?
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Labelled {
    Start,
    Size,
}

/// `Partition Starting Offset  32,256 bytes`, `Size: 73394625024`, `Größe  72,73 GB (78.089.840.640 Bytes)`, `Size = "1";`.
fn labelled(line: &Line<'_>) -> Option<(Labelled, u64)> {
    const START: [&str; 8] = [
        "offset",
        "décalage",
        "desplazamiento",
        "deslocamento",
        "przesunięci",
        "смещени",
        "オフセット",
        "偏移",
    ];
    const SIZE: [&str; 10] = [
        "size",
        "größe",
        "taille",
        "tamaño",
        "tamanho",
        "dimension",
        "rozmiar",
        "размер",
        "サイズ",
        "大小",
    ];
    let text = line.text.trim();
    let at = text.find(|c: char| c.is_ascii_digit())?;
    let label = text[..at].to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| label.contains(word));
    let what = match (has(&START), has(&SIZE)) {
        (true, _) => Labelled::Start,
        (_, true) if !label.contains("block") => Labelled::Size,
        _ => return None,
    };
    // The exact figure stands in brackets where there is a rounded one.
    let exact = text.split_once('(').map_or(&text[at..], |(_, exact)| exact);
    let bytes = exact.as_bytes();
    let digits = |from: usize| {
        bytes
            .iter()
            .skip(from)
            .take_while(|b| b.is_ascii_digit())
            .count()
    };
    let mut end = digits(0);
    // Thousands are apart by a comma, a point or a blank.
    while bytes.get(end).is_some_and(|b| b",. ".contains(b)) && digits(end + 1) == 3 {
        end += 4;
    }
    let figure = exact.get(..end)?;
    // A rounded one is none.
    let behind = exact[end..].trim_start();
    if behind.starts_with(['.', ',', 'K', 'k', 'M', 'G', 'T']) {
        return None;
    }
    Some((what, number::whole(figure)?))
}

/// A size in bytes with its label.
pub(in crate::captured) fn labelled_size(line: &Line<'_>) -> Option<u64> {
    labelled(line)
        .filter(|(what, _)| *what == Labelled::Size)
        .map(|(_, bytes)| bytes)
}

fn read_labelled(section: &Section<'_>, notes: &mut Notes<'_>) {
    let mut record = Record::default();
    let mut unknown = Unknown::default();
    for line in section.lines {
        if let Some((disk, partition)) = named(line.text) {
            flush(&mut record, &mut unknown, notes);
            record
                .fields
                .push(field("DiskIndex", disk.to_string(), line));
            record
                .fields
                .push(field("Index", partition.to_string(), line));
        } else if let Some((what, value)) = labelled(line)
            && !record.fields.is_empty()
        {
            let key = match what {
                Labelled::Start => "StartingOffset",
                Labelled::Size => "Size",
            };
            if record.get(key).is_none() {
                record.fields.push(field(key, value.to_string(), line));
            }
        }
    }
    flush(&mut record, &mut unknown, notes);
}

fn field<'t>(key: &'static str, value: String, line: &Line<'t>) -> Field<'t> {
    Field {
        key: Cow::Borrowed(key),
        value: Cow::Owned(value),
        line: *line,
    }
}

fn flush(record: &mut Record<'_>, unknown: &mut Unknown, notes: &mut Notes<'_>) {
    if record.get("StartingOffset").is_some() {
        wmic::partition(record, unknown, notes);
    }
    record.fields.clear();
}

/// A line in which the first of several fields stands; the others may have been broken off.
fn begins(lines: &[Line<'_>]) -> bool {
    let text = lines[0].text.trim();
    let known = ["DiskIndex:", "Name:", "DeviceID:", "StartingOffset:"];
    let goes_on = |line: &Line<'_>| line.text.trim_start().starts_with("-- ");
    known.iter().any(|key| text.starts_with(key))
        && (text.contains(" --") || lines.get(1).is_some_and(goes_on))
}

fn is_ruler(line: &Line<'_>) -> bool {
    line.text.trim().bytes().all(|b| b == b'-')
}

/// The fields of an object that may go over several lines, each with the line in which its value stands.
fn fields<'t>(lines: &[Line<'t>]) -> Vec<Field<'t>> {
    let mut joined = String::new();
    let mut starts: Vec<(usize, Line<'t>)> = Vec::new();
    for line in lines.iter().take(MAX_LINES) {
        if is_ruler(line) || line.text.contains("Win32_") {
            break;
        }
        starts.push((joined.len(), *line));
        joined.push_str(line.text.trim());
        joined.push(' ');
    }
    let mut fields = Vec::new();
    let mut at = 0;
    for part in joined.split("--") {
        if let Some((key, value)) = part.split_once(':') {
            let blanks = value.len() - value.trim_start().len();
            let place = at + key.len() + 1 + blanks;
            let line = starts.iter().rev().find(|(start, _)| *start <= place);
            if let Some((_, line)) = line {
                fields.push(Field {
                    key: Cow::Owned(key.trim().to_owned()),
                    value: Cow::Owned(value.trim().to_owned()),
                    line: *line,
                });
            }
        }
        at += part.len() + 2;
    }
    fields
}

/// Most lines that one object is broken into.
const MAX_LINES: usize = 12;

fn read(section: &Section<'_>, notes: &mut Notes<'_>) {
    let lines = section.lines;
    let end = lines.iter().position(Line::is_blank).unwrap_or(lines.len());
    let mut record = Record {
        fields: fields(&lines[..end]),
    };
    // What follows the last field on a line of its own is none of it.
    for field in &mut record.fields {
        let numeric = ["StartingOffset", "Size", "BlockSize", "DiskIndex", "Index"];
        if numeric.contains(&&*field.key) {
            let first = field.value.split_whitespace().next().unwrap_or_default();
            field.value = Cow::Owned(first.to_owned());
        }
    }
    if record.get("StartingOffset").is_some() {
        wmic::partition(&record, &mut Unknown::default(), notes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_figures_may_have_lines_of_their_own() {
        assert_eq!(named("Partition       Disk #0, Partition #1"), Some((0, 1)));
        assert_eq!(
            named("Partition Datenträgernr. 0, Partitionsnr. 2"),
            Some((0, 2))
        );
        assert_eq!(named("  Name = \"Disk #1, Partition #0\";"), Some((1, 0)));
        for text in [
            "Name=Disk #0, Partition #1",
            "Name : Disk #0, Partition #1",
            "Disk #0, Partition #0  32256",
            "#1",
            // Lines of programs.
            "MVC $rem, 0(R2 if rem > 1",
            "LMG -8(R1), R2",
            "add r1, r2 // 3, 4",
        ] {
            assert_eq!(named(text), None, "{text}");
        }
        let of = |text| {
            labelled(&Line { number: 1, text }).map(|(what, n)| (what == Labelled::Start, n))
        };
        assert_eq!(
            of("Partition Starting Offset 41,940,702,720 bytes"),
            Some((true, 41_940_702_720))
        );
        assert_eq!(
            of("Partitionsgröße  72,73 GB (78.089.840.640 Bytes)"),
            Some((false, 78_089_840_640))
        );
        assert_eq!(of("  StartingOffset = \"32256\";"), Some((true, 32_256)));
        assert_eq!(
            of("Offset de démarrage de la partition 41 940 702 720 octets"),
            Some((true, 41_940_702_720))
        );
        assert_eq!(of("Size 111.79 GB"), None);
        assert_eq!(of("Total Sectors  234,436,545"), None);
    }

    #[test]
    fn a_value_that_was_broken_off_is_in_the_line_where_it_stands() {
        let lines = [
            "DiskIndex: 1 -- Name: Disk #1,",
            "Partition #0 -- StartingOffset:",
            "32256",
        ];
        let lines: Vec<Line<'_>> = (1..)
            .zip(lines)
            .map(|(number, text)| Line { number, text })
            .collect();
        assert!(begins(&lines));
        let found: Vec<(String, String, u64)> = fields(&lines)
            .into_iter()
            .map(|field| {
                (
                    field.key.to_string(),
                    field.value.to_string(),
                    field.line.number,
                )
            })
            .collect();
        let expected = [
            ("DiskIndex", "1", 1),
            ("Name", "Disk #1, Partition #0", 1),
            ("StartingOffset", "32256", 3),
        ];
        let expected = expected.map(|(key, value, line)| (key.to_owned(), value.to_owned(), line));
        assert_eq!(found, expected);
    }
}
