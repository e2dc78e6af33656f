//! The shapes in which `wmic` prints: `Key=value` lines, tables, and cells behind the name of the computer. In a text they
//! may follow one another, and the output of other tools, without anything in between. Where its line ends, which are
//! two characters and a half, were made two, every other line is blank.

use std::borrow::Cow;

use crate::captured::records::{Field, Record, from_csv, from_list, is_csv_header};
use crate::captured::text::Line;

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
const MOST_PROPERTIES: usize = 64;

fn are_known(names: &[&str]) -> bool {
    let has = |key: &&str| names.iter().any(|name| name.eq_ignore_ascii_case(key));
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
        if !is_property(word) || !apart || columns.len() > MOST_PROPERTIES {
            return None;
        }
        columns.push((at, word));
        end = at + word.len();
    }
    let names: Vec<&str> = columns.iter().map(|(_, name)| *name).collect();
    (names.len() > 1 && are_known(&names)).then_some(columns)
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
    for line in rest.take(MOST_PROPERTIES) {
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
            let end = rest[1..].iter().position(|line| {
                line.is_blank() || property(line).is_some() || heading(line).is_some()
            });
            let end = end.map_or(rest.len(), |end| end + 1);
            found.extend(rest[1..end].iter().map(|line| row(line, &columns)));
            end
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
    let spaced = filled > 3 && blank.count() + 1 >= filled;
    let lines = lines.iter().filter(|line| !(spaced && line.is_blank()));
    lines.copied().collect()
}

/// A row of a table, cut where its columns begin.
fn row<'t>(line: &Line<'t>, columns: &[(usize, &'t str)]) -> Record<'t> {
    let chars: Vec<char> = line.text.chars().collect();
    let ends = columns.iter().skip(1).map(|(at, _)| *at);
    let ends = ends.chain(std::iter::once(usize::MAX));
    let fields = columns.iter().zip(ends).map(|((from, name), to)| {
        let part = chars.get(*from..to.min(chars.len())).unwrap_or_default();
        Field {
            key: Cow::Borrowed(*name),
            value: Cow::Owned(part.iter().collect::<String>().trim().to_owned()),
            line: *line,
        }
    });
    Record {
        fields: fields.collect(),
    }
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
        assert_eq!(of("StartingOffset"), None);
        assert_eq!(of("Index of the Model"), None);
        assert_eq!(of("Name  Size"), None);
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
