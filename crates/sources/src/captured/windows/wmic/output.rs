//! The shapes in which `wmic` prints: `Key=value` lines, tables, and cells behind the name of the computer. In a text they
//! may follow one another, and the output of other tools, without anything in between. Where its line ends, which are
//! two characters and a half, were made two, every other line is blank.

use std::borrow::Cow;

use crate::captured::records::{
    Field, Record, by_shape, from_csv, from_list, is_csv_header, is_shifted,
};
use crate::captured::text::Line;
use crate::captured::tool::Command;
use crate::captured::width::width;

/// Properties that its objects are known by, when they have one of these sets.
const SETS: [&[&str]; 17] = [
    &["StartingOffset"],
    &["Antecedent", "Dependent"],
    &["Index", "InterfaceType"],
    &["Index", "BytesPerSector"],
    &["Index", "Model"],
    &["Index", "SerialNumber"],
    &["Index", "Signature"],
    &["DeviceID", "InterfaceType"],
    &["DeviceID", "BytesPerSector"],
    &["DeviceID", "Signature"],
    &["BlockSize", "Capacity"],
    &["BlockSize", "DriveLetter"],
    &["BlockSize", "FileSystem"],
    &["Capacity", "DriveLetter"],
    &["DeviceID", "FileSystem", "Size"],
    &["Caption", "FileSystem", "Size"],
    &["DriveType", "FileSystem", "VolumeSerialNumber"],
];
/// Most properties of an object.
const MAX_PROPERTIES: usize = 64;

/// The name of the column of starts, as far as it is there when a console cut lines.
pub(super) fn is_cut_start(name: &str) -> bool {
    (5..14).contains(&name.len()) && "StartingOffset".starts_with(name)
}

fn are_known(names: &[&str]) -> bool {
    let has = |key: &&str| names.iter().any(|name| name.eq_ignore_ascii_case(key));
    let cut = names.len() > 2 && names.last().is_some_and(|name| is_cut_start(name));
    if cut
        && names
            .iter()
            .any(|name| *name == "Name" || *name == "DeviceID")
    {
        return true;
    }
    SETS.iter().any(|set| set.iter().all(has))
}

fn is_property(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// The name in front of `=`.
fn property<'t>(line: &Line<'t>) -> Option<&'t str> {
    let (name, _) = line.text.split_once('=')?;
    is_property(name).then_some(name)
}

/// Where the columns of a table begin, and what they are called: names two blanks apart.
fn heading<'t>(line: &Line<'t>) -> Option<Vec<(usize, &'t str)>> {
    let mut columns: Vec<(usize, &str)> = Vec::new();
    let mut end = 0;
    for word in line.text.split(' ').filter(|word| !word.is_empty()) {
        let at = (word.as_ptr() as usize).checked_sub(line.text.as_ptr() as usize)?;
        let apart = columns.is_empty() || at >= end + 2;
        if !is_property(word) || !apart || columns.len() > MAX_PROPERTIES {
            return None;
        }
        columns.push((at, word));
        end = at + word.len();
    }
    let names: Vec<&str> = columns.iter().map(|(_, name)| *name).collect();
    // One alone is what was asked for when it is this.
    let alone = names == ["StartingOffset"];
    ((alone || names.len() > 1) && are_known(&names)).then_some(columns)
}

/// `Node,BlockSize,DeviceID`: the computer comes first.
pub(super) fn is_cells(line: &Line<'_>) -> bool {
    if !line.text.starts_with("Node,") || !is_csv_header(line) {
        return false;
    }
    let names: Vec<&str> = line.text.split(',').map(str::trim).collect();
    are_known(&names)
}

/// `Key=value` lines of one object of those known here.
pub(super) fn is_list(lines: &[Line<'_>]) -> bool {
    let Some(first) = lines.first().and_then(property) else {
        return false;
    };
    let mut names = vec![first];
    let rest = lines[1..].iter().filter(|line| !line.is_blank());
    for line in rest.take(MAX_PROPERTIES) {
        match property(line) {
            Some(name) if name != first => names.push(name),
            _ => break,
        }
    }
    are_known(&names)
}

pub(super) fn is_table(lines: &[Line<'_>]) -> bool {
    if lines[0].text.contains('=') {
        return false;
    }
    // Dashes below a heading are PowerShell's.
    let below = lines[1..].iter().take(3).find(|line| !line.is_blank());
    let ruled = below.is_none_or(|line| line.text.trim_start().starts_with("--"));
    !ruled && heading(&lines[0]).is_some()
}

/// All objects in a section.
pub(super) fn records<'t>(lines: &[Line<'t>]) -> Vec<Record<'t>> {
    let lines = single_spaced(lines);
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        let rest = &lines[at..];
        let taken = if is_cells(line) {
            let (records, taken) = from_csv(rest, |_| true);
            found.extend(records);
            taken
        } else if let Some(columns) = heading(line) {
            rows(rest, &columns, &mut found)
        } else if property(line).is_some() {
            let (record, taken) = from_list(rest);
            found.push(record);
            taken
        } else {
            1
        };
        at += taken.max(1);
    }
    found
}

/// The lines without the blank ones, if those are every other line.
fn single_spaced<'t>(lines: &[Line<'t>]) -> Vec<Line<'t>> {
    let blank = lines
        .windows(2)
        .filter(|pair| !pair[0].is_blank() && pair[1].is_blank());
    let filled = lines.iter().filter(|line| !line.is_blank()).count();
    let spaced = filled > 2 && blank.count() + 1 >= filled;
    let lines = lines.iter().filter(|line| !(spaced && line.is_blank()));
    lines.copied().collect()
}

/// The rows of a table below its names, and how many lines it takes. Where a page or a terminal made two ends of each line, a
/// blank line follows each row.
fn rows<'t>(
    lines: &[Line<'t>],
    columns: &[(usize, &'t str)],
    found: &mut Vec<Record<'t>>,
) -> usize {
    let mut after_blank = false;
    let mut last: Option<&Line<'_>> = None;
    for (index, line) in lines.iter().enumerate().skip(1) {
        if line.is_blank() {
            if after_blank {
                return index;
            }
            after_blank = true;
            continue;
        }
        if property(line).is_some() || heading(line).is_some() {
            return index;
        }
        let record = row(line, columns);
        // What follows after a blank line is a row only if it looks like one, and what begins as none does and has no figure is none.
        let has_number = || line.text.split_whitespace().any(is_number);
        let other = || last.is_some_and(|last| first_word(last) != first_word(line));
        if after_blank && (is_shifted(&record) || !has_number()) {
            return index;
        }
        if other() && !has_number() {
            continue;
        }
        found.push(record);
        last = Some(line);
        after_blank = false;
    }
    lines.len()
}

fn first_word<'t>(line: &Line<'t>) -> Option<&'t str> {
    line.text.split_whitespace().next()
}

fn is_number(word: &str) -> bool {
    word.bytes().all(|b| b.is_ascii_digit())
}

/// `Disk #0, Partition #1  1048576`: a row of which the names were left out, by `findstr` as a rule.
pub(super) fn is_bare_row(text: &str) -> bool {
    let mut words = text.split_whitespace();
    let named = text.starts_with(char::is_alphabetic)
        && text.bytes().filter(|b| *b == b'#').count() == 2
        && !text.contains(['=', ':', '"', '|']);
    named && words.next_back().is_some_and(is_number)
}

/// Rows without names: the command says what was asked for, and `wmic` sorts that by name. Without the command nothing tells
/// what the numbers are.
pub(super) fn bare_rows<'t>(
    lines: &[Line<'t>],
    command: Option<&Command<'t>>,
) -> Option<Vec<Record<'t>>> {
    let words = &command?.words;
    let from = words
        .iter()
        .position(|word| word.eq_ignore_ascii_case("get"))?;
    let asked = words[from + 1..]
        .iter()
        .take_while(|word| !word.starts_with(['|', '/', '>']));
    let mut names: Vec<&str> = asked
        .flat_map(|word| word.split(','))
        .filter(|name| is_property(name))
        .take(MAX_PROPERTIES)
        .collect();
    names.sort_unstable_by_key(|name| name.to_ascii_lowercase());
    if !are_known(&names) {
        return None;
    }
    let rows = lines
        .iter()
        .take_while(|line| is_bare_row(line.text.trim()));
    rows.map(|line| by_shape(&names, line)).collect()
}

/// A row of a table, cut where its columns begin; where that cuts words, its cells are known by what they look like. Columns are
/// counted in characters or, where some are wider, as a console shows them: as more numbers stand where numbers belong.
fn row<'t>(line: &Line<'t>, columns: &[(usize, &'t str)]) -> Record<'t> {
    let chars: Vec<char> = line.text.chars().collect();
    let (record, whole) = cut(line, columns, &chars);
    let numbers = |record: &Record<'_>| {
        let fields = record.fields.iter();
        fields
            .filter(|field| !field.value.is_empty() && is_number(&field.value))
            .count()
    };
    if chars.iter().any(|c| width(*c) > 1) {
        // A second place that is taken has no character of its own.
        let fill = |c: char| std::iter::once(c).chain(std::iter::repeat_n('\0', width(c) - 1));
        let shown: Vec<char> = chars.iter().flat_map(|c| fill(*c)).collect();
        let (as_shown, shown_whole) = cut(line, columns, &shown);
        if shown_whole && (!whole || numbers(&as_shown) > numbers(&record)) {
            return as_shown;
        }
    }
    if whole {
        return record;
    }
    let names: Vec<&str> = columns.iter().map(|(_, name)| *name).collect();
    // What is left of a row that was cut is its name.
    let left = || {
        let mut record = record;
        for (at, field) in record.fields.iter_mut().enumerate() {
            let text = line.text.trim().to_owned();
            field.value = Cow::Owned(if at == 0 { text } else { String::new() });
        }
        record
    };
    by_shape(&names, line).unwrap_or_else(left)
}

/// A row cut where its columns begin, and whether that cut no word and put numbers where numbers belong.
fn cut<'t>(line: &Line<'t>, columns: &[(usize, &'t str)], chars: &[char]) -> (Record<'t>, bool) {
    let in_word = |at: usize| {
        let is_word = |at: usize| chars.get(at).is_some_and(|c| !c.is_whitespace());
        at > 0 && is_word(at - 1) && is_word(at)
    };
    let ends = columns.iter().skip(1).map(|(at, _)| *at);
    let ends = ends.chain(std::iter::once(usize::MAX));
    let fields = columns.iter().zip(ends).map(|((from, name), to)| {
        let part = chars.get(*from..to.min(chars.len())).unwrap_or_default();
        let value: String = part.iter().filter(|c| **c != '\0').collect();
        Field {
            key: Cow::Borrowed(*name),
            value: Cow::Owned(value.trim().to_owned()),
            line: *line,
        }
    });
    let record = Record {
        fields: fields.collect(),
    };
    let whole = !columns.iter().any(|(at, _)| in_word(*at)) && !is_shifted(&record);
    (record, whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::captured::text::Text;

    #[test]
    fn a_table_is_known_by_its_columns() {
        let of = |text| heading(&Line { number: 1, text }).map(|columns| columns.len());
        let table = "BlockSize  Name                   Size          StartingOffset  ";
        assert_eq!(of(table), Some(4));
        assert_eq!(of("Antecedent     Dependent"), Some(2));
        assert_eq!(of("StartingOffset"), Some(1));
        assert_eq!(of("Index of the Model"), None);
        assert_eq!(of("Name  Size"), None);
    }

    #[test]
    fn rows_may_be_apart_or_shifted_or_without_names() {
        let starts = |text: &str| -> Vec<String> {
            let text = Text::new(text.as_bytes(), false);
            let found = records(&text.lines());
            let starts = found.iter().filter_map(|r| r.filled("StartingOffset"));
            starts.map(|field| field.value.to_string()).collect()
        };
        let apart = "Name                   StartingOffset  \n\nDisk #0, Partition #0  1048576\n\nDisk #1, Partition #0  32256\n\nend of it\n";
        assert_eq!(starts(apart), ["1048576", "32256"]);
        let shifted = "Name    StartingOffset  Size\nDisk #0, Partition #0   32256   73394625024\n";
        assert_eq!(starts(shifted), ["32256"]);
        let prose = "Name                   StartingOffset\nDisk #0, Partition #0  1048576\nlooks good to me\n";
        assert_eq!(starts(prose), ["1048576"]);
        let text = Text::new(prose.as_bytes(), false);
        assert_eq!(records(&text.lines()).len(), 1);
        let wide = "Name               StartingOffset\n磁盘 #0，分区 #0   1048576\n磁盘 #1，分区 #0   32256\n";
        assert_eq!(starts(wide), ["1048576", "32256"]);
        let line = |text| Line { number: 1, text };
        let command = Command {
            line: line(""),
            words: "wmic partition get StartingOffset,Size,Name | findstr #"
                .split(' ')
                .collect(),
        };
        let rows = [line("Disk #1, Partition #0  73394625024  32256")];
        let found = bare_rows(&rows, Some(&command)).expect("rows");
        assert_eq!(
            found[0].number("StartingOffset").map(|(n, _)| n),
            Some(32_256)
        );
        assert!(bare_rows(&rows, None).is_none());
        assert!(is_bare_row(rows[0].text) && !is_bare_row("Disk #1, Partition #0"));
    }

    #[test]
    fn shapes_follow_one_another() {
        let text =
            "Index  Model\n0      A\n1      B\n\n\nIndex=2\nModel=C\n\nNode,Index,Model\nDB1,3,D\n";
        let text = Text::new(text.as_bytes(), false);
        let lines = text.lines();
        assert!(is_table(&lines) && is_list(&lines[5..]) && is_cells(&lines[8]));
        let models: Vec<String> = records(&lines)
            .iter()
            .filter_map(|record| Some(record.filled("Model")?.value.to_string()))
            .collect();
        assert_eq!(models, ["A", "B", "C", "D"]);
    }

    #[test]
    fn blank_lines_between_all_lines_are_none_of_the_output() {
        let text = "Index=0\n\nModel=A\n\n\n\nIndex=1\n\nModel=B\n\n";
        let text = Text::new(text.as_bytes(), false);
        let found = records(&text.lines());
        let sizes: Vec<usize> = found.iter().map(|record| record.fields.len()).collect();
        assert_eq!(sizes, [2, 2]);
    }
}
