//! `list disk`, `list partition`, `list volume`, and the tables of volumes under details.

use std::borrow::Cow;
use straddle_geometry::Bytes;
use straddle_stack::{Anomaly, AnomalyKind, Fact, Interval, Key, LayerKind, Value};

use super::row::Row;
use crate::captured::number::Rounding;
use crate::captured::text::Line;
use crate::captured::tool::{Notes, Section};
use crate::captured::windows;
use crate::inventory::{Name, Space, Thing};

/// Most folders that the volumes of one table are mounted in.
const MAX_FOLDERS: usize = 256;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Disks,
    Partitions,
    Volumes,
}

impl Kind {
    /// How many sizes and offsets a row has.
    const fn quantities(self) -> usize {
        match self {
            Kind::Disks | Kind::Partitions => 2,
            Kind::Volumes => 1,
        }
    }
}

/// What a table lists, by the runs of dashes under its heading. Headings are translated, and in Japanese two lines long.
fn kind(line: &Line<'_>) -> Option<Kind> {
    let text = line.text.trim();
    if !text.bytes().all(|b| b == b'-' || b == b' ') {
        return None;
    }
    let runs: Vec<usize> = text.split_whitespace().take(10).map(str::len).collect();
    let size = |run: usize| (5..=12).contains(&run);
    match runs.as_slice() {
        [_, kind, a, b] if *kind >= 8 && size(*a) && size(*b) => Some(Kind::Partitions),
        [_, _, a, b, dynamic] | [_, _, a, b, dynamic, _]
            if size(*a) && size(*b) && *dynamic <= 5 =>
        {
            Some(Kind::Disks)
        }
        [_, 3, _, _, _, size_run, ..] if (7..=8).contains(&runs.len()) && size(*size_run) => {
            Some(Kind::Volumes)
        }
        _ => None,
    }
}

/// The state of a disk has 10 columns in Windows XP and 13 in later versions; in some languages always 10.
fn by_dashes(line: &Line<'_>) -> Option<bool> {
    let mut runs = line.text.split_whitespace().map(str::len);
    match (runs.next()?, runs.next()?) {
        (8, 10) => Some(true),
        (_, 13) => Some(false),
        _ => None,
    }
}

pub(super) fn begins(lines: &[Line<'_>]) -> bool {
    kind(&lines[0]).is_some_and(|kind| first_is_row(lines, kind))
}

/// True when the first line below these is a row, or was one before it was cut.
fn first_is_row(lines: &[Line<'_>], kind: Kind) -> bool {
    // Half a line of dashes may be left.
    let passed = |line: &Line<'_>| line.is_blank() || is_dashes(line);
    let first = lines[1..].iter().take(3).find(|line| !passed(line));
    first.is_some_and(|line| {
        Row::new(line.text, kind.quantities(), Rounding::Any).is_some() || head(line.text).is_some()
    })
}

fn is_dashes(line: &Line<'_>) -> bool {
    line.text.bytes().all(|b| b == b'-' || b == b' ')
}

/// The word and the number that a row begins with: `Partition 2`.
fn head(text: &str) -> Option<&str> {
    let text = text.trim().trim_start_matches('*').trim_start();
    let end = text.find(|c: char| c.is_ascii_digit())?;
    let rest = text[end..].trim_start_matches(|c: char| c.is_ascii_digit());
    let words = text[..end].trim_end();
    let named = !words.is_empty() && words.chars().all(char::is_alphabetic);
    (named && (rest.is_empty() || rest.starts_with(' '))).then_some(words)
}

/// True for what people write below a table about one of its rows: rows end with figures, and their types have few words.
fn is_sentence(text: &str) -> bool {
    let text = text.trim();
    text.ends_with(['.', '!', '?', ':']) || text.split_whitespace().nth(MAX_WORDS).is_some()
}

/// Most words of a row that was cut before its figures.
const MAX_WORDS: usize = 6;

/// Words for a volume, in the languages of Windows.
const VOLUME: [&str; 10] = [
    "volum",
    "том",
    "ボリューム",
    "卷",
    "磁碟區",
    "볼륨",
    "wolumin",
    "svazek",
    "kötet",
    "birim",
];

/// What a heading is above: `Partition ###  Type  Size  Offset`. Its line of dashes is missing where this is asked.
fn heading(line: &Line<'_>) -> Option<Kind> {
    let (what, rest) = line.text.split_once("###")?;
    if rest.trim().is_empty() {
        return None;
    }
    let what = what.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| what.contains(word));
    Some(match () {
        () if has(&super::PARTITION) => Kind::Partitions,
        () if has(&VOLUME) => Kind::Volumes,
        () if has(&super::DISK) => Kind::Disks,
        () => Kind::Volumes,
    })
}

pub(super) fn begins_without_dashes(lines: &[Line<'_>]) -> bool {
    // With them, the output begins there.
    let dashes = lines[1..].iter().take(2).any(|line| kind(line).is_some());
    !dashes && heading(&lines[0]).is_some_and(|kind| first_is_row(lines, kind))
}

pub(super) fn read_without_dashes(section: &Section<'_>, notes: &mut Notes<'_>) {
    if let Some((first, rest)) = section.lines.split_first()
        && let Some(kind) = heading(first)
    {
        read_rows(section, first, kind, rest, notes);
    }
}

/// True for a row of a list of partitions, whatever stands in front of it.
pub(super) fn is_bare_row(text: &str) -> bool {
    let mut words = text.split_whitespace().take(5).skip_while(|word| {
        let lower = word.to_lowercase();
        !super::PARTITION
            .iter()
            .any(|known| lower.starts_with(known))
    });
    words.next().is_some()
        && words
            .next()
            .is_some_and(|number| number.bytes().all(|b| b.is_ascii_digit()))
        && Row::new(text, 2, Rounding::Any).is_some()
}

/// Rows of partitions without their heading.
pub(super) fn read_bare_rows(section: &Section<'_>, notes: &mut Notes<'_>) {
    if let Some(first) = section.lines.first() {
        read_rows(section, first, Kind::Partitions, section.lines, notes);
    }
}

pub(super) fn read(section: &Section<'_>, notes: &mut Notes<'_>) {
    if let Some((underline, rest)) = section.lines.split_first()
        && let Some(kind) = kind(underline)
    {
        read_rows(section, underline, kind, rest, notes);
    }
}

fn read_rows<'t>(
    section: &Section<'t>,
    underline: &Line<'t>,
    kind: Kind,
    rest: &[Line<'t>],
    notes: &mut Notes<'_>,
) {
    let table = notes.focus.table.take();
    let disk = notes.focus.disk.map(|(disk, _)| Name::windows_disk(disk));
    let owner = match (table, disk) {
        (Some((line, partition)), Some(disk)) if line == underline.number => {
            Some(Owner { disk, partition })
        }
        _ => None,
    };
    if let (Kind::Disks, None) = (kind, notes.focus.windows_xp) {
        notes.focus.windows_xp = by_dashes(underline);
    }
    let rounding = super::rounding(notes);
    let mut rows: Vec<(Row<'_>, Line<'_>)> = Vec::new();
    let mut folders: Vec<(usize, Cow<'_, str>)> = Vec::new();
    let mut words = None;
    for line in rest.iter().filter(|line| !line.is_blank()) {
        if let Some(row) = Row::new(line.text, kind.quantities(), rounding) {
            words = words.or_else(|| head(line.text));
            rows.push((row, *line));
        } else if kind == Kind::Volumes && is_folder(line.text) && !rows.is_empty() {
            if folders.len() < MAX_FOLDERS {
                folders.push((rows.len() - 1, line.text.trim().into()));
            }
        } else if kind != Kind::Volumes
            && !is_missing_disk(line.text)
            && head(line.text).is_some_and(|its| words.is_none_or(|words| words == its))
            && !is_sentence(line.text)
        {
            let detail = "the row ends before its figures";
            notes.remark(AnomalyKind::Truncated, detail, line);
        } else if !(is_missing_disk(line.text) || rows.is_empty() && is_dashes(line)) {
            break;
        }
    }
    match kind {
        Kind::Disks => disks(&rows, notes),
        Kind::Partitions => partitions(section, &rows, notes),
        Kind::Volumes => {
            for (index, (row, line)) in rows.iter().enumerate() {
                let mine = folders.iter().filter(|(of, _)| *of == index);
                let folders: Vec<&str> = mine.map(|(_, folder)| folder.as_ref()).collect();
                volume(row, line, &folders, owner.as_ref(), notes);
            }
        }
    }
}

/// What the details are about that a table of volumes belongs to.
struct Owner {
    disk: Name,
    partition: Option<u64>,
}

/// A folder that a volume is mounted in has a line of its own.
fn is_folder(text: &str) -> bool {
    let text = text.trim().as_bytes();
    matches!(text, [letter, b':', b'\\', ..] if letter.is_ascii_alphabetic())
}

/// `Disk M0   Missing`: a dynamic disk that is not there.
fn is_missing_disk(text: &str) -> bool {
    let mut words = text
        .trim()
        .trim_start_matches('*')
        .split_whitespace()
        .take(4);
    words.any(|word| {
        let digits = word.strip_prefix('M').unwrap_or_default();
        !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
    })
}

/// A start as it is shown: partitions start at whole sectors.
fn start_of(shown: Interval) -> Option<Interval> {
    shown.multiples_of(windows::SECTOR)
}

fn disks(rows: &[(Row<'_>, Line<'_>)], notes: &mut Notes<'_>) {
    if let ([(row, line)], None) = (rows, notes.focus.disk) {
        notes.focus.disk = Some((row.number, line.number));
    }
    for (row, line) in rows {
        if row.selected {
            notes.focus.disk = Some((row.number, line.number));
        }
        let size = row.quantities.first().copied();
        // A reader without a card.
        let Some(size) = size.filter(|size| size.to() > Bytes::ZERO) else {
            continue;
        };
        let mut thing = windows::disk(row.number);
        thing.size = Some(notes.said(line, size));
        let (dynamic, gpt) = stars(row.after);
        if gpt {
            thing.set_text(Key::PartitionTable, notes.said(line, "gpt".to_owned()));
        }
        if dynamic {
            windows::remark_dynamic(&mut thing, line, notes);
        }
        notes.add(thing);
    }
}

/// The marks in the columns `Dyn` and `Gpt`: three columns wide, two apart, the mark in the middle. Where blanks were
/// lost, one mark may be either, and says nothing.
fn stars(after: &str) -> (bool, bool) {
    let at: Vec<usize> = after
        .chars()
        .enumerate()
        .filter(|(_, c)| *c == '*')
        .map(|(at, _)| at)
        .collect();
    match at.as_slice() {
        [_, _, ..] => (true, true),
        [only] if (2..=5).contains(only) => (true, false),
        [only] if *only >= 6 => (false, true),
        _ => (false, false),
    }
}

fn partitions(section: &Section<'_>, rows: &[(Row<'_>, Line<'_>)], notes: &mut Notes<'_>) {
    let Some((_, first)) = rows.first() else {
        return;
    };
    let disk = super::disk_or_unknown(section, first, true, notes);
    for (row, line) in rows {
        let [size, offset] = row.quantities.as_slice() else {
            continue;
        };
        if row.selected {
            notes.focus.partition = Some(row.number);
        }
        let mut thing = windows::partition(&disk, row.number);
        thing.size = Some(notes.said(line, *size));
        thing.start = start_of(*offset).map(|start| notes.said(line, start));
        let kind = row.middle.trim().to_lowercase();
        if row.number == 0 || EXTENDED.iter().any(|word| kind.starts_with(word)) {
            thing.set(Key::HoldsPartitions, notes.said(line, Value::Flag(true)));
        }
        if DYNAMIC_PARTITION.iter().any(|word| kind.starts_with(word)) {
            windows::remark_dynamic(&mut thing, line, notes);
        }
        // Words that stand for one type of a GPT and no other.
        let known = GPT_TYPES
            .iter()
            .find(|(words, _)| words.contains(&kind.as_str()));
        if let Some((_, guid)) = known {
            let kind: Fact<String> = notes.said(line, (*guid).to_owned());
            thing.set_text(Key::PartitionType, kind);
        }
        notes.add(thing);
    }
}

const EXTENDED: [&str; 10] = [
    "extended",
    "erweitert",
    "étendu",
    "extendid",
    "estes",
    "estendid",
    "дополнит",
    "расширен",
    "拡張",
    "扩展",
];
const DYNAMIC_PARTITION: [&str; 5] = ["dynamic", "dynamisch", "dynami", "dinám", "динамич"];
const GPT_TYPES: [(&[&str], &str); 2] = [
    (
        &[
            "system",
            "système",
            "sistema",
            "системный",
            "システム",
            "系统",
            "системы",
        ],
        "C12A7328-F81F-11D2-BA4B-00A0C93EC93B",
    ),
    (
        &[
            "reserved",
            "reserviert",
            "réservé",
            "reservado",
            "riservato",
            "зарезервирован",
            "予約",
            "予約済み",
            "保留",
        ],
        "E3C9E316-0B5C-4DB8-817D-F92DF00215AE",
    ),
];

/// What stands before the size of a volume.
#[derive(Debug, Default, PartialEq, Eq)]
struct Columns {
    letter: Option<char>,
    label: String,
    format: Option<&'static str>,
    kind: String,
}

/// Volumes of which nothing is asked: discs, and what has no filesystem.
const PASSED_OVER: [&str; 3] = ["CDFS", "UDF", "RAW"];

/// `     C   System       NTFS   Partition    `: what follows the number of a volume. A letter stands in the column next
/// to the number, a label further right.
fn columns(middle: &str) -> Columns {
    let mut columns = Columns::default();
    let mut rest = middle;
    let blanks = middle.chars().take_while(|c| *c == ' ').count();
    let mut words = middle.split_whitespace();
    if let Some(first) = words.next()
        && first.len() == 1
        && blanks <= 6
        && let Some(letter) = first.chars().next().filter(char::is_ascii_alphabetic)
    {
        columns.letter = Some(letter.to_ascii_uppercase());
        let at = middle.find(first).unwrap_or(0);
        rest = &middle[at + 1..];
    }
    let words: Vec<&str> = rest.split_whitespace().take(32).collect();
    let is_format = |word: &&str| windows::filesystem(word).is_some() || PASSED_OVER.contains(word);
    let at = words.iter().rposition(is_format);
    if let Some(at) = at {
        columns.format = windows::filesystem(words[at]);
        columns.label = words[..at].join(" ");
        columns.kind = words[at + 1..].join(" ").to_lowercase();
    } else {
        columns.kind = words.join(" ").to_lowercase();
    }
    columns
}

const DYNAMIC_VOLUME: [&str; 17] = [
    "simple",
    "spanned",
    "stripe",
    "mirror",
    "raid-5",
    "einfach",
    "übergreifend",
    "gespiegelt",
    "spiegel",
    "fractionné",
    "agrégé",
    "miroir",
    "distribuido",
    "seccionado",
    "reflejado",
    "простой",
    "зеркал",
];

/// A volume. In the details of a partition it is that partition; in a list it is one of which only the size is known.
fn volume(
    row: &Row<'_>,
    line: &Line<'_>,
    folders: &[&str],
    owner: Option<&Owner>,
    notes: &mut Notes<'_>,
) {
    let Some(size) = row.quantities.last().copied() else {
        return;
    };
    let columns = columns(row.middle);
    let disc = columns.kind.contains("-rom") || columns.kind.contains("dvd");
    if size.to() == Bytes::ZERO || disc {
        return;
    }
    let letter = columns.letter.map(|letter| format!("{letter}:"));
    let path = letter
        .clone()
        .or_else(|| folders.first().map(|path| (*path).to_owned()));
    let by_number = Name::new(Space::WindowsVolumeNumber, row.number.to_string());
    let by_path = path
        .clone()
        .map(|path| Name::new(Space::WindowsVolume, path));
    let title = path.unwrap_or_else(|| format!("volume {}", row.number));
    let volume = Thing::new(LayerKind::Partition, title.clone(), by_number.clone());
    let mut thing = match owner {
        Some(owner) => match owner.partition {
            Some(number) => windows::partition(&owner.disk, number).named(by_number.clone()),
            None => volume.on(owner.disk.clone()),
        },
        None => volume,
    };
    if DYNAMIC_VOLUME
        .iter()
        .any(|word| columns.kind.starts_with(word))
    {
        thing.kind = LayerKind::Volume;
        thing.on = Vec::new();
        let detail = "a volume of dynamic disks: nothing here says where on them it lies; `diskext` lists its extents";
        let anomaly = Anomaly::at(AnomalyKind::Missing, detail, notes.source(line));
        thing.remarks.push(anomaly);
    }
    for path in letter
        .iter()
        .map(String::as_str)
        .chain(folders.iter().copied())
    {
        thing = thing.named(Name::new(Space::WindowsVolume, path.to_owned()));
    }
    thing.size = Some(notes.said(line, size));
    notes.add(thing);
    let Some(format) = columns.format else { return };
    let on = by_path.clone().unwrap_or_else(|| by_number.clone());
    let mut content = Thing::new(LayerKind::Filesystem, title, on.clone()).on(on);
    content.format = Some(notes.said(line, Cow::Borrowed(format)));
    content.set_text(Key::Label, notes.said(line, columns.label));
    notes.add(content);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind_of(text: &str) -> Option<Kind> {
        kind(&Line { number: 1, text })
    }

    #[test]
    fn tables_are_told_by_their_dashes() {
        let disks = "  ---------------  -------------  -------  -------  ---  ---";
        assert_eq!(kind_of(disks), Some(Kind::Disks));
        let partitions = "  -------------  ----------------  -------  -------";
        assert_eq!(kind_of(partitions), Some(Kind::Partitions));
        let volumes =
            "  ----------  ---  -----------  -----  ----------  -------  ---------  --------";
        assert_eq!(kind_of(volumes), Some(Kind::Volumes));
        for other in [
            "-----------------------------------",
            "---- Drive 0",
            "  --------  --------  --------------------  ---------  ----",
            "----------- ------------ -------------- ---------",
        ] {
            assert_ne!(kind_of(other), Some(Kind::Disks), "{other}");
            assert_ne!(kind_of(other), Some(Kind::Volumes), "{other}");
        }
    }

    #[test]
    fn rows_are_known_without_their_heading() {
        for text in [
            "Partition 1    Primary           1397 GB    31 KB",
            "* Partition 2    Primary           1397 GB    31 KB",
            "| Partition 1 | Primary | 931 GB | 31 KB |",
            "diskpart.txt:12:  Partition 1    Primary            931 GB    31 KB",
            "Раздел 1    Основной          931 Гб    31 Кб",
        ] {
            assert!(is_bare_row(text), "{text}");
        }
        for text in [
            "Partition 1",
            "Partition 1 is 931 GB large",
            "Volume 1 C NTFS 1 GB 2 KB",
        ] {
            assert!(!is_bare_row(text), "{text}");
        }
        let heading = |text| heading(&Line { number: 1, text });
        assert_eq!(
            heading("  Partition ###  Type  Size  Offset"),
            Some(Kind::Partitions)
        );
        assert_eq!(
            heading("  Datenträger ###  Status  Größe"),
            Some(Kind::Disks)
        );
        assert_eq!(heading("  Volume ###  Ltr  Label"), Some(Kind::Volumes));
        assert_eq!(head("  Partition 2    Pri"), Some("Partition"));
        assert_eq!(head("There are 2 partitions here"), None);
    }

    #[test]
    fn marks_stand_in_two_columns() {
        assert_eq!(stars("   *"), (true, false));
        assert_eq!(stars("        *"), (false, true));
        assert_eq!(stars("   *    *"), (true, true));
        assert_eq!(stars(" *"), (false, false));
        assert_eq!(stars(""), (false, false));
    }

    #[test]
    fn a_letter_stands_nearer_to_the_number_than_a_label() {
        let of = |text| {
            let found = columns(text);
            (found.letter, found.label, found.format)
        };
        let expected = (Some('C'), "Daten".to_owned(), Some("ntfs"));
        assert_eq!(of("     C   Daten        NTFS   Partition    "), expected);
        let expected = (None, "X".to_owned(), Some("fat"));
        assert_eq!(of("         X            FAT32  Partition    "), expected);
        let expected = (Some('E'), String::new(), None);
        assert_eq!(
            of("     E                       DVD-ROM         "),
            expected
        );
    }
}
