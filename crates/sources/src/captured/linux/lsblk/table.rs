//! The tree or table that lsblk prints for people.

use std::borrow::Cow;
use straddle_stack::disk_of;

use super::rows::{Cell, Row};
use crate::captured::text::Line;

/// Columns that no other tool with a column `NAME` has.
const OWN: [&str; 9] = [
    "MAJ:MIN",
    "FSTYPE",
    "ALIGNMENT",
    "PHY-SEC",
    "LOG-SEC",
    "PKNAME",
    "MOUNTPOINT",
    "MOUNTPOINTS",
    "ROTA",
];
/// Columns that other tools have as well: a heading of nothing but such and `START` or `TYPE` is lsblk's.
const SHARED: [&str; 24] = [
    "NAME",
    "KNAME",
    "PATH",
    "START",
    "TYPE",
    "SIZE",
    "RM",
    "RO",
    "LABEL",
    "UUID",
    "MODEL",
    "SERIAL",
    "STATE",
    "MIN-IO",
    "OPT-IO",
    "PARTTYPE",
    "PARTUUID",
    "PARTLABEL",
    "PTTYPE",
    "TRAN",
    "WWN",
    "VENDOR",
    "REV",
    "HCTL",
];
/// Most columns, and most rows, that are looked at.
const MAX_COLUMNS: usize = 128;
const MAX_ROWS: usize = 1 << 13;
/// Columns of `swapon` and `losetup`.
const OTHERS: [&str; 2] = ["PRIO", "BACK-FILE"];

/// True for the names of columns.
pub(super) fn is_heading(line: &Line<'_>) -> bool {
    let has = |names: &[&str]| {
        let mut words = line.text.split_whitespace();
        words.any(|word| names.contains(&word))
    };
    let mut words = line.text.split_whitespace();
    let known = words.all(|word| OWN.contains(&word) || SHARED.contains(&word));
    (has(&OWN) || known && has(&["START", "TYPE"])) && !has(&OTHERS)
}

/// True for more names of columns, as programs list them that ask for some.
fn goes_on_with_names(line: &Line<'_>) -> bool {
    let is_name = |word: &&str| OWN.contains(word) || SHARED.contains(word);
    line.text.split_whitespace().filter(is_name).take(3).count() == 3
}

/// A column's name and the characters that its heading takes.
struct Column<'t> {
    name: &'t str,
    from: usize,
    to: usize,
}

/// The words of a line with their places, counted in characters.
fn words(text: &str) -> Vec<(usize, usize, &str)> {
    let mut found = Vec::new();
    let mut start: Option<(usize, usize)> = None;
    for (place, (at, c)) in text.char_indices().enumerate() {
        match (c.is_whitespace(), start) {
            (false, None) => start = Some((place, at)),
            (true, Some((from, begins))) => {
                found.push((from, place, &text[begins..at]));
                start = None;
            }
            _ => {}
        }
    }
    if let Some((from, begins)) = start {
        found.push((from, text.chars().count(), &text[begins..]));
    }
    found
}

/// What a tree draws before a name, and what other code pages make of that: those of DOS, and `?` for what they lack.
fn is_branch(c: char) -> bool {
    matches!(c, ' ' | '│' | '├' | '└' | '─' | '|' | '`' | '-') || is_lost_branch(c) || is_foreign(c)
}

/// `ÃÄsda1`: code page 437 taken for Latin-1.
fn is_foreign(c: char) -> bool {
    matches!(c, 'Ã' | 'À' | 'Ä' | '³')
}

fn is_lost_branch(c: char) -> bool {
    matches!(c, '?' | char::REPLACEMENT_CHARACTER)
}

/// The rows below the heading in the first line, and the first line that seems to be one of them and could not be read.
pub(super) fn rows<'t>(lines: &[Line<'t>]) -> (Vec<Row<'t>>, Option<Line<'t>>) {
    let mut unread = None;
    let Some((heading, lines)) = lines.split_first() else {
        return (Vec::new(), None);
    };
    let column = |(from, to, name)| Column { name, from, to };
    let columns: Vec<Column<'t>> = words(heading.text)
        .into_iter()
        .take(MAX_COLUMNS)
        .map(column)
        .collect();
    let layout = Layout::of(heading, lines, columns.len());
    let mut rows: Vec<Row<'t>> = Vec::new();
    // The last row of each depth, and how much is drawn before it.
    let mut above: Vec<(usize, usize)> = Vec::new();
    for (at, line) in lines.iter().enumerate().take(MAX_ROWS) {
        if line.is_blank() {
            // A branch has something that it grows from.
            let grows = |line: &Line<'_>| {
                let text = line.text.trim_start();
                text.starts_with(['├', '└', '│', '?'])
                    || text.starts_with("|-")
                    || text.starts_with("`-")
            };
            match lines.get(at + 1).is_some_and(grows) {
                true => continue,
                false => break,
            }
        }
        if goes_on_with_names(line) {
            break;
        }
        let drawn = line.text.chars().take_while(|c| is_branch(*c)).count();
        let first = line.text.chars().nth(drawn);
        if first.is_none_or(|c| !c.is_ascii_alphanumeric() && c != '/') {
            let figures = |word: &&str| word.bytes().any(|b| b.is_ascii_digit());
            let is_row = line.text.split_whitespace().filter(figures).take(3).count() == 3;
            unread = is_row.then_some(*line);
            break;
        }
        while above.last().is_some_and(|(before, _)| *before >= drawn) {
            above.pop();
        }
        // What stands deeper than one branch has lost the row that it hangs on. A branch may have become a sign for each of its bytes.
        let lost = line.text.trim_start().starts_with(is_lost_branch);
        let branch = if lost { 6 } else { 2 };
        let parent = above.last().filter(|(before, _)| drawn - before <= branch);
        let parent = parent.map(|(_, row)| *row);
        above.push((drawn, rows.len()));
        rows.push(Row {
            parent,
            line: *line,
            cells: match layout {
                Layout::Aligned => cells(line, drawn, &columns),
                Layout::Raw => raw(line, &columns),
                Layout::Squeezed => squeezed(line, &columns),
            },
        });
    }
    (rows, unread)
}

/// How rows stand under their heading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    /// In columns.
    Aligned,
    /// `-r`: one blank between cells, two where one is empty.
    Raw,
    /// Runs of blanks were made one: empty cells are gone.
    Squeezed,
}

impl Layout {
    fn of(heading: &Line<'_>, lines: &[Line<'_>], columns: usize) -> Layout {
        if heading.text.trim().contains("  ") {
            return Layout::Aligned;
        }
        let rows = || {
            lines
                .iter()
                .take_while(|line| !line.is_blank())
                .take(MAX_ROWS)
        };
        let names: Vec<&str> = heading.text.split_whitespace().collect();
        let fits = |line: &Line<'_>| {
            let mut cells = line.text.split(' ');
            let first = cells.next().unwrap_or_default();
            !first.starts_with(is_branch)
                && !first.is_empty()
                && line.text.split(' ').count() <= columns
                && names
                    .iter()
                    .zip(line.text.split(' '))
                    .all(|(name, cell)| cell.is_empty() || can_be(name, cell))
        };
        let ends = |line: &Line<'_>| line.text.split(' ').count() == columns;
        if rows().next().is_some() && rows().all(fits) && rows().any(ends) {
            return Layout::Raw;
        }
        let no_runs = |line: &Line<'_>| !line.text.trim_start_matches(is_branch).contains("  ");
        let short = |line: &Line<'_>| line.text.split_whitespace().count() < columns;
        let places = words(heading.text);
        // As many words as names, and some not below theirs.
        let astray = |line: &Line<'_>| {
            let words = values(line.text);
            words.len() == columns
                && words
                    .iter()
                    .zip(&places)
                    .any(|(word, name)| word.0 >= name.1 || name.0 >= word.1)
        };
        match rows().all(no_runs) && rows().any(|line| short(line) || astray(line)) {
            true => Layout::Squeezed,
            false => Layout::Aligned,
        }
    }
}

/// True when a value can be one of this column.
fn can_be(column: &str, text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    match column {
        "MAJ:MIN" => text
            .split_once(':')
            .is_some_and(|(a, b)| digits(a) && digits(b)),
        "RM" | "RO" | "ROTA" | "RAND" | "HOTPLUG" | "DAX" | "DISC-ZERO" => {
            matches!(text, "0" | "1")
        }
        "START" | "PARTN" | "RA" | "RQ-SIZE" => digits(text),
        "SIZE" | "FSSIZE" | "FSUSED" | "FSAVAIL" => {
            text.starts_with(|c: char| c.is_ascii_digit()) && !text.contains(':')
        }
        "PHY-SEC" | "LOG-SEC" => text.len() >= 3 && digits(text),
        "MIN-IO" | "OPT-IO" | "ALIGNMENT" | "DISC-ALN" => digits(text.trim_start_matches('-')),
        "MOUNTPOINT" | "MOUNTPOINTS" => text.starts_with(['/', '[']),
        "FSTYPE" | "TRAN" | "PTTYPE" | "PKNAME" | "KNAME" | "STATE" => {
            !digits(text) && !text.contains(':')
        }
        "TYPE" => text.bytes().all(|b| b.is_ascii_alphanumeric()) && !digits(text),
        _ => true,
    }
}

fn raw<'t>(line: &Line<'t>, columns: &[Column<'t>]) -> Vec<Cell<'t>> {
    let cells = columns.iter().zip(line.text.split(' '));
    cells
        .filter(|(_, text)| !text.is_empty())
        .map(|(column, text)| Cell {
            column: Cow::Owned(column.name.to_lowercase()),
            text: Cow::Borrowed(text),
            line: *line,
        })
        .collect()
}

/// The words of a row without the branches before its name.
fn values(text: &str) -> Vec<(usize, usize, &str)> {
    let mut words = words(text);
    let branches = words
        .iter()
        .take_while(|(.., word)| word.chars().all(is_branch))
        .count();
    words.drain(..branches);
    if let Some((_, _, name)) = words.first_mut() {
        *name = name.trim_start_matches(is_branch);
    }
    words
}

/// Only partitions have a start.
fn has_start(words: &[(usize, usize, &str)]) -> bool {
    let types = words.iter().skip(1).rev();
    let typed = types.map(|(.., word)| *word).find_map(|word| match word {
        "part" | "md" => Some(true),
        "disk" | "lvm" | "crypt" | "loop" | "rom" | "mpath" | "dm" | "linear" => Some(false),
        word if word.starts_with("raid") => Some(false),
        _ => None,
    });
    typed.unwrap_or_else(|| {
        let name = words.first().map_or("", |(.., name)| name);
        disk_of(name.strip_prefix("/dev/").unwrap_or(name)).is_some()
    })
}

/// Each word goes to the next column that it can be a value of; where there is a word for every name, to that one.
fn squeezed<'t>(line: &Line<'t>, columns: &[Column<'t>]) -> Vec<Cell<'t>> {
    let words = values(line.text);
    let cell = |column: &Column<'t>, word: &'t str| Cell {
        column: Cow::Owned(column.name.to_lowercase()),
        text: Cow::Borrowed(word),
        line: *line,
    };
    let pairs = || columns.iter().zip(&words);
    if words.len() == columns.len() && pairs().all(|(column, word)| can_be(column.name, word.2)) {
        return pairs().map(|(column, word)| cell(column, word.2)).collect();
    }
    let has_start = has_start(&words);
    let mut cells = Vec::new();
    let mut rest = columns;
    for (_, _, word) in words {
        let fits = |column: &Column<'_>| {
            can_be(column.name, word) && (has_start || column.name != "START")
        };
        let Some(at) = rest.iter().position(fits) else {
            continue;
        };
        cells.push(cell(&rest[at], word));
        rest = &rest[at + 1..];
    }
    cells
}

fn cells<'t>(line: &Line<'t>, drawn: usize, columns: &[Column<'t>]) -> Vec<Cell<'t>> {
    let mut cells: Vec<Cell<'t>> = Vec::new();
    for (from, to, word) in words(line.text) {
        let word = if cells.is_empty() {
            word.trim_start_matches(is_branch)
        } else {
            word
        };
        if word.is_empty() || to <= drawn {
            continue;
        }
        let meets = |column: &&Column<'t>| from < column.to && column.from < to;
        let column = columns
            .iter()
            .find(meets)
            .or_else(|| columns.iter().rev().find(|column| column.from <= from));
        let Some(column) = column else { continue };
        let name = column.name.to_lowercase();
        match cells.last_mut() {
            // A model has blanks in its name.
            Some(last) if last.column == name => {
                let text = last.text.to_mut();
                text.push(' ');
                text.push_str(word);
            }
            _ => cells.push(Cell {
                column: Cow::Owned(name),
                text: Cow::Borrowed(word),
                line: *line,
            }),
        }
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::captured::text::Text;

    #[test]
    fn a_tree_says_what_lies_on_what() {
        let text = "\
NAME        MAJ:MIN RM   SIZE RO TYPE  MOUNTPOINTS
sda           8:0    0 465.8G  0 disk
├─sda1        8:1    0   512M  0 part  /boot/efi
└─sda2        8:2    0 465.3G  0 part
  └─vg-root 254:0    0   100G  0 lvm   /
sdb           8:16   0   1.8T  0 disk
";
        let text = Text::new(text.as_bytes(), false);
        let lines = text.lines();
        assert!(is_heading(&lines[0]));
        let (rows, unread) = rows(&lines);
        assert_eq!(unread, None);
        let row = |index: usize| {
            let row: &Row<'_> = &rows[index];
            (
                row.text("name").unwrap_or("").to_owned(),
                row.parent,
                row.text("size").unwrap_or("").to_owned(),
                row.text("mountpoints").unwrap_or("").to_owned(),
            )
        };
        let expected = |name: &str, parent, size: &str, mounted: &str| {
            (name.to_owned(), parent, size.to_owned(), mounted.to_owned())
        };
        assert_eq!(row(0), expected("sda", None, "465.8G", ""));
        assert_eq!(row(1), expected("sda1", Some(0), "512M", "/boot/efi"));
        assert_eq!(row(3), expected("vg-root", Some(2), "100G", "/"));
        assert_eq!(row(4), expected("sdb", None, "1.8T", ""));
        assert_eq!(rows.len(), 5);
    }
}
