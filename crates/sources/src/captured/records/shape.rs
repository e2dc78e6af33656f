//! Tables whose columns are lost: tabs, blanks that a page made one, a line of dashes that is missing. Names stand in the first
//! line, and each cell is known by what it looks like: a number, a size with its unit, a letter, yes or no, text.

use std::borrow::Cow;

use super::{Field, MAX_RECORDS, Record};
use crate::captured::number;
use crate::captured::text::Line;

/// Most columns and most words of a row; no table that is pasted has more.
const MAX_COLUMNS: usize = 24;
const MAX_WORDS: usize = 40;
/// Most words of one cell.
const MAX_IN_CELL: usize = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Number,
    Size,
    Letter,
    Flag,
    Text,
}

impl Shape {
    /// What stands in the column of this name.
    fn of(name: &str) -> Shape {
        let lower = name.to_ascii_lowercase();
        match lower.as_str() {
            "size" | "capacity" | "totalsize" | "allocatedsize" | "sizeremaining" | "freespace" => {
                Shape::Size
            }
            "driveletter" => Shape::Letter,
            "bootable" | "bootpartition" | "primarypartition" | "isactive" | "isboot"
            | "issystem" | "ishidden" | "isreadonly" | "isoffline" => Shape::Flag,
            "number" | "disknumber" | "partitionnumber" | "index" | "diskindex" | "offset"
            | "startingoffset" | "blocksize" | "numberofblocks" | "hiddensectors" | "signature"
            | "bytespersector" | "logicalsectorsize" | "physicalsectorsize" | "partitions" => {
                Shape::Number
            }
            _ => Shape::Text,
        }
    }

    fn fits(self, words: &[&str]) -> bool {
        let is_number = |word: &str| {
            word.starts_with(|c: char| c.is_ascii_digit())
                && word
                    .bytes()
                    .all(|b| b.is_ascii_digit() || matches!(b, b',' | b'.'))
        };
        match (self, words) {
            (Shape::Number, [word]) => number::whole(word).is_some(),
            (Shape::Size, [word]) => is_number(word),
            (Shape::Size, [number, unit]) => is_number(number) && super::units::is_unit(unit),
            (Shape::Letter, [word]) => {
                let bare = word.trim_end_matches(':');
                bare.len() == 1 && bare.bytes().all(|b| b.is_ascii_alphabetic())
            }
            (Shape::Flag, [word]) => ["true", "false", "yes", "no"]
                .iter()
                .any(|flag| flag.eq_ignore_ascii_case(word)),
            (Shape::Text, [_, ..]) => true,
            _ => false,
        }
    }

    /// What leaving the cell empty costs: numbers are seldom missing.
    const fn empty(self) -> u32 {
        match self {
            Shape::Number | Shape::Size => 100,
            Shape::Flag => 10,
            Shape::Letter | Shape::Text => 1,
        }
    }
}

/// The names in a line that has nothing else.
pub(super) fn names<'t>(line: &Line<'t>) -> Option<Vec<&'t str>> {
    let words: Vec<&str> = line.text.split_whitespace().take(MAX_COLUMNS + 1).collect();
    let is_name = |word: &&str| {
        word.starts_with(|c: char| c.is_ascii_uppercase())
            && word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    };
    ((2..=MAX_COLUMNS).contains(&words.len()) && words.iter().all(is_name)).then_some(words)
}

/// The records in a table that begins in the first of these lines, and how many lines it takes. `before` are the lines above.
/// `known` is asked with the names before any row is read.
pub(crate) fn from_shapes<'t>(
    before: &[Line<'t>],
    lines: &[Line<'t>],
    known: impl Fn(&Record<'t>) -> bool,
) -> Option<(Vec<Record<'t>>, usize)> {
    let (header, rest) = lines.split_first()?;
    let names = names(header)?;
    let record = |cells: Vec<String>, line: Line<'t>| {
        let fields = names.iter().zip(cells).map(|(name, cell)| Field {
            key: Cow::Borrowed(*name),
            value: Cow::Owned(cell),
            line,
        });
        Record {
            fields: fields.collect(),
        }
    };
    let group = super::table::group_above(before);
    if !known(&record(vec![String::new(); names.len()], *header)) {
        return None;
    }
    let mut records = Vec::new();
    let (mut taken, mut blanks) = (1, 0);
    for (index, line) in rest.iter().enumerate() {
        if line.is_blank() {
            blanks += 1;
            // A blank line may stand below the names, and below each row.
            if blanks > 1 {
                break;
            }
            continue;
        }
        let is_ruler = line.text.bytes().all(|b| matches!(b, b'-' | b' '));
        let fits = |line: &Line<'t>| cells(&names, line.text);
        let first = |line: &Line<'t>| line.text.split_whitespace().next().map(str::to_owned);
        // A row that is cut begins as its neighbours do; what is left of it is kept, without its figures.
        let of_table = || {
            let next = rest.get(index + 1).filter(|next| fits(next).is_some());
            let before = index.checked_sub(1).and_then(|at| rest.get(at));
            let alike = [next, before.filter(|_| !records.is_empty())];
            alike
                .into_iter()
                .flatten()
                .any(|other| first(other) == first(line))
        };
        let cells = match fits(line) {
            _ if is_ruler => Vec::new(),
            Some(cells) => cells,
            None if of_table() => vec![String::new(); names.len()],
            None => break,
        };
        if !is_ruler && records.len() < MAX_RECORDS {
            records.push(record(cells, *line));
        }
        (taken, blanks) = (index + 2, 0);
    }
    for record in &mut records {
        record.fields.splice(0..0, group.iter().cloned());
    }
    (!records.is_empty()).then_some((records, taken))
}

/// True when a row that was cut where columns begin has something else than a number in a column of numbers.
pub(crate) fn is_shifted(record: &Record<'_>) -> bool {
    record.fields.iter().any(|field| {
        let words: Vec<&str> = field.value.split_whitespace().take(MAX_IN_CELL).collect();
        let shape = Shape::of(&field.key);
        // Thousands may be apart.
        let grouped = shape == Shape::Number && number::whole(&field.value).is_some();
        matches!(shape, Shape::Number | Shape::Flag)
            && !words.is_empty()
            && !grouped
            && !shape.fits(&words)
    })
}

/// True for a cell that is no number in a column of numbers.
pub(super) fn is_misplaced(name: &str, cell: &str) -> bool {
    let shape = Shape::of(name);
    let words: Vec<&str> = cell.split_whitespace().take(MAX_IN_CELL).collect();
    matches!(shape, Shape::Number | Shape::Size) && !words.is_empty() && !shape.fits(&words)
}

/// True for a column of numbers.
pub(super) fn is_of_numbers(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let begins = ["startingoffset", "offset"]
        .iter()
        .any(|known| lower.starts_with(known));
    begins || Shape::of(name) == Shape::Number
}

/// True for a line that has words where the first column has numbers, and no figures elsewhere.
pub(super) fn is_prose(name: &str, cell: &str, text: &str) -> bool {
    let is_number = |word: &str| word.len() > 1 && word.bytes().all(|b| b.is_ascii_digit());
    Shape::of(name) == Shape::Number
        && cell.starts_with(char::is_alphabetic)
        && text
            .split_whitespace()
            .filter(|word| is_number(word))
            .count()
            < 2
}

/// A row of these columns, its cells known by what they look like.
pub(crate) fn by_shape<'t>(names: &[&'t str], line: &Line<'t>) -> Option<Record<'t>> {
    let fields = names.iter().zip(cells(names, line.text)?);
    let fields = fields.map(|(name, cell)| Field {
        key: Cow::Borrowed(*name),
        value: Cow::Owned(cell),
        line: *line,
    });
    Some(Record {
        fields: fields.collect(),
    })
}

/// The cell of each column: the way to cut the words that leaves the fewest cells empty, numbers least of all.
fn cells(names: &[&str], text: &str) -> Option<Vec<String>> {
    let words: Vec<&str> = text.split_whitespace().take(MAX_WORDS + 1).collect();
    if words.is_empty() || words.len() > MAX_WORDS {
        return None;
    }
    let shapes: Vec<Shape> = names.iter().map(|name| Shape::of(name)).collect();
    // For each column, from the last: what the words from each on cost at least, and how many the cell takes.
    let mut best = vec![vec![None; words.len() + 1]; shapes.len() + 1];
    best[shapes.len()][words.len()] = Some((0_u32, 0_usize));
    for (column, shape) in shapes.iter().enumerate().rev() {
        for at in 0..=words.len() {
            for take in 0..=MAX_IN_CELL.min(words.len() - at) {
                let cost = match take {
                    0 => shape.empty(),
                    _ if shape.fits(&words[at..at + take]) => 0,
                    _ => continue,
                };
                let Some((rest, _)) = best[column + 1][at + take] else {
                    continue;
                };
                let total = rest + cost;
                let have = best[column][at];
                // A unit belongs to the figure before it.
                let longer = |have| total == have && *shape == Shape::Size;
                if have.is_none_or(|(have, _)| total < have || longer(have)) {
                    best[column][at] = Some((total, take));
                }
            }
        }
    }
    let mut found = Vec::with_capacity(shapes.len());
    let mut at = 0;
    for of_column in &best[..shapes.len()] {
        let (_, take) = of_column[at]?;
        found.push(words[at..at + take].join(" "));
        at += take;
    }
    // A row of a table of numbers that has none is something else.
    let numbers = shapes.iter().zip(&found);
    let has_number = numbers
        .clone()
        .any(|(shape, cell)| matches!(shape, Shape::Number | Shape::Size) && !cell.is_empty());
    let wants_number = numbers
        .clone()
        .any(|(shape, _)| matches!(shape, Shape::Number | Shape::Size));
    (has_number || !wants_number).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::captured::text::Text;

    fn rows(text: &str) -> Vec<Vec<String>> {
        let text = Text::new(text.as_bytes(), false);
        let (records, _) = from_shapes(&[], &text.lines(), |_| true).expect("a table");
        let values = |record: &Record<'_>| {
            let fields = record.fields.iter();
            fields.map(|field| field.value.to_string()).collect()
        };
        records.iter().map(values).collect()
    }

    #[test]
    fn cells_are_known_by_what_they_look_like() {
        let found = rows(
            "PartitionNumber DriveLetter Offset Size Type\n\
             --------------- ----------- ------ ---- ----\n\
             1 1048576 260 MB System\n\
             3 C 290455552 475.84 GB Basic\n",
        );
        assert_eq!(found[0], ["1", "", "1048576", "260 MB", "System"]);
        assert_eq!(found[1], ["3", "C", "290455552", "475.84 GB", "Basic"]);
    }

    #[test]
    fn names_of_several_words_stand_between_numbers() {
        let found = rows(
            "BlockSize Index Name StartingOffset\n\
             512 0 Disk #1, Partition #0 1048576\n\n\
             512 1 Disk #1, Partition #1 105906176\n",
        );
        assert_eq!(found[0], ["512", "0", "Disk #1, Partition #0", "1048576"]);
        assert_eq!(found[1][3], "105906176");
        let tabs = rows("Name\tStartingOffset\tSize\nDisk #0, Partition #0\t32256\t73394625024\n");
        assert_eq!(tabs[0], ["Disk #0, Partition #0", "32256", "73394625024"]);
    }

    #[test]
    fn a_row_that_is_cut_does_not_end_the_table() {
        let found = rows(
            "Name StartingOffset\nDisk #0, Part\nDisk #1, Partition #0 32256\nDisk #2,\nThat is all.\n",
        );
        assert_eq!(found.len(), 3);
        assert_eq!(found[0], ["", ""]);
        assert_eq!(found[1][1], "32256");
    }

    #[test]
    fn prose_is_no_table() {
        let none = |text: &str| {
            let text = Text::new(text.as_bytes(), false);
            from_shapes(&[], &text.lines(), |_| true).is_none()
        };
        assert!(none("Size Offset\nnothing of the kind here\n"));
        assert!(none("the size and offset\n1 2\n"));
        assert!(none("Offset\n1\n"));
    }
}
