//! Format-Table: names, dashes below them, and one object a line.
//!
//! ```text
//!    DiskPath: \\?\scsi#disk&ven_vmware&prod_virtual_disk#…         what a group has in common
//!
//! PartitionNumber  DriveLetter Offset                                        Size Type
//! ---------------  ----------- ------                                        ---- ----
//! 1                            1048576                                     350 MB IFS
//! 2                C           368050176                                 39.66 GB IFS
//! ```
//!
//! Only the dashes tell where columns are, and only how wide their names are: words to the left of the dashes belong to a
//! column of numbers, words to the right to one of text. Names may take several lines.

use std::borrow::Cow;

use super::{Field, MAX_FIELDS, MAX_RECORDS, Record};
use crate::captured::text::Line;
use crate::captured::width::width;

/// Most lines that names take.
const HEADER: usize = 4;
/// Most columns; a line of a forged text may be all dashes.
const MAX_COLUMNS: usize = 64;

/// A column: where its dashes are, in characters.
struct Column {
    from: usize,
    to: usize,
    name: String,
}

/// The records in a table that begins in the first of these lines, and how many lines it takes. `before` are the lines above.
/// `known` is asked with the names of its columns before any row is read, so that a text of many tables is not gone over again
/// for each.
pub(crate) fn from_table<'t>(
    before: &[Line<'t>],
    lines: &[Line<'t>],
    known: impl Fn(&Record<'t>) -> bool,
) -> Option<(Vec<Record<'t>>, usize)> {
    let group = group(lines);
    let skip = group.as_ref().map_or(0, |(_, skip)| *skip);
    let group = group.or_else(|| Some((group_above(before)?, 0)));
    let rest = lines.get(skip..)?;
    let dashes = rest
        .iter()
        .take(HEADER)
        .take_while(|line| !line.is_blank())
        .position(|line| is_dashes(line.text))
        .filter(|at| *at > 0)?;
    // Dashes are as long as names: where all stand in the line above them, what stands above that is something else.
    let own = columns(&rest[dashes - 1..dashes], rest[dashes].text);
    let whole = |column: &Column| column.name.chars().count() == column.to - column.from;
    if dashes > 1 && own.iter().all(whole) {
        return None;
    }
    let columns = columns(&rest[..dashes], rest[dashes].text);
    if !(2..=MAX_FIELDS).contains(&columns.len()) {
        return None;
    }
    let empty = vec![String::new(); columns.len()];
    let mut names = record(&columns, empty, rest[dashes]);
    super::units::from_names(std::slice::from_mut(&mut names));
    names
        .fields
        .extend(group.iter().map(|(field, _)| field.clone()));
    if !known(&names) {
        return None;
    }
    // Blanks were lost: nothing stands below its name any more, except where it is the first.
    let single = |line: &Line<'_>| !line.text.contains("  ");
    let body = || rest[dashes..].iter().take_while(|line| !line.is_blank());
    if dashes == 1
        && columns.len() > 2
        && single(&rest[0])
        && body().all(single)
        && let Some((mut records, taken)) = super::from_shapes(&[], rest, |_| true)
    {
        for record in &mut records {
            let group = group.iter().map(|(field, _)| field.clone());
            record.fields.splice(0..0, group);
        }
        return Some((records, skip + taken));
    }
    let mut records: Vec<Record<'t>> = Vec::new();
    let mut taken = skip + dashes + 1;
    let body = || rest[dashes + 1..].iter().take_while(|l| !l.is_blank());
    // What people write below rows says nothing of where columns are.
    let has_figures = |text: &&str| text.split_whitespace().any(is_digits);
    let rows = body().map(|line| line.text);
    let places = match rows.clone().any(|text| has_figures(&text)) {
        true => Places::of(&columns, rows.filter(has_figures)),
        false => Places::of(&columns, rows),
    };
    let mut last: Option<&str> = None;
    for line in body() {
        let cells = places.cells(&columns, line.text);
        taken += 1;
        // People write below what they show, and between it.
        if super::shape::is_prose(&columns[0].name, &cells[0], line.text)
            || last.is_some_and(|last| are_words(&columns, last, line.text))
        {
            continue;
        }
        last = Some(line.text);
        let full = records.len() >= MAX_RECORDS;
        match records.last_mut() {
            _ if full => {}
            Some(last) if goes_on(&cells) => join(last, &cells, &columns),
            _ => records.push(record(&columns, cells, *line)),
        }
    }
    super::units::from_names(&mut records);
    if let Some((field, _)) = group {
        for record in &mut records {
            record.fields.insert(0, field.clone());
        }
    }
    Some((records, taken))
}

/// What all rows have in common, `   DiskPath: …` or `   Disk Number: 0`, and how many lines up to the names. Only a table
/// may follow.
fn group<'t>(lines: &[Line<'t>]) -> Option<(Field<'t>, usize)> {
    let first = lines.first()?;
    if !first.text.starts_with("   ") {
        return None;
    }
    let (key, value) = first.text.split_once(':')?;
    let mut value = Cow::Borrowed(value.trim());
    let mut skip = 1;
    // A long one goes on in the next line, where the console ended.
    if let Some(line) = lines.get(skip)
        && !line.is_blank()
        && !lines.get(skip + 1).is_some_and(|l| is_dashes(l.text))
    {
        value.to_mut().push_str(line.text.trim());
        skip += 1;
    }
    while lines.get(skip).is_some_and(Line::is_blank) && skip < HEADER {
        skip += 1;
    }
    let key: String = key.split_whitespace().collect();
    let field = Field {
        key: Cow::Owned(key),
        value,
        line: *first,
    };
    Some((field, skip))
}

/// As [`group`] from the last lines above a table: without its blanks, or with something in front of it. It may have gone on in
/// a second line.
pub(super) fn group_above<'t>(before: &[Line<'t>]) -> Option<Field<'t>> {
    let mut above = before
        .iter()
        .rev()
        .take(HEADER + 1)
        .skip_while(|l| l.is_blank());
    let [last, first] = [above.next()?, above.next().unwrap_or(before.last()?)];
    let field = |line: &Line<'t>| {
        let text = line.text.trim_start_matches(|c: char| !c.is_alphanumeric());
        let (key, value) = text.split_once(':')?;
        let key: String = key.split_whitespace().collect();
        let known = ["DiskPath", "DiskNumber", "DiskId"];
        known.contains(&&*key).then(|| Field {
            key: Cow::Owned(key),
            value: Cow::Borrowed(value.trim()),
            line: *line,
        })
    };
    field(last).or_else(|| {
        let mut field = field(first)?;
        let goes_on = !last.text.trim().contains(' ') && !first.is_blank();
        goes_on.then(|| {
            field.value.to_mut().push_str(last.text.trim());
            field
        })
    })
}

/// True for the line of dashes of a table whose names are not above it, or not all: PowerShell makes dashes as long as names.
pub(crate) fn lacks_names(above: Option<&Line<'_>>, line: &Line<'_>) -> bool {
    let runs: Vec<(usize, usize)> = match is_dashes(line.text) {
        true => columns(&[], line.text)
            .iter()
            .map(|c| (c.from, c.to))
            .collect(),
        false => return false,
    };
    let Some(above) = above.filter(|above| !above.is_blank() && runs.len() >= 3) else {
        return runs.len() >= 3;
    };
    let chars: Vec<char> = above.text.chars().collect();
    let stands = |at: usize| chars.get(at).is_some_and(|c| !c.is_whitespace());
    // Names of two lines fill theirs in either.
    let named = runs.iter().filter(|(from, to)| (*from..*to).any(stands));
    above.text.contains(':') || named.count() < runs.len().div_ceil(2)
}

/// Nothing but groups of dashes.
fn is_dashes(text: &str) -> bool {
    text.contains("--") && text.bytes().all(|b| b == b'-' || b == b' ')
}

fn columns(header: &[Line<'_>], dashes: &str) -> Vec<Column> {
    let header: Vec<Vec<char>> = header.iter().map(|l| l.text.chars().collect()).collect();
    let mut columns = Vec::new();
    let bytes = dashes.as_bytes();
    let mut at = 0;
    while at < bytes.len() && columns.len() < MAX_COLUMNS {
        let len = bytes[at..].iter().take_while(|b| **b == b'-').count();
        if len == 0 {
            at += 1;
            continue;
        }
        let to = at + len;
        // The parts of a name that takes two lines are put together; blanks in it do not count.
        let name = header
            .iter()
            .flat_map(|line| line.get(at..to.min(line.len())).unwrap_or_default())
            .filter(|c| !c.is_whitespace())
            .collect();
        columns.push(Column { from: at, to, name });
        at = to;
    }
    columns
}

struct Word<'t> {
    from: usize,
    to: usize,
    text: &'t str,
}

/// Where the words of the rows of a table stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Places {
    /// Below their names, counted in characters.
    Characters,
    /// The same, counted as a terminal shows them: characters of some scripts take two columns.
    Shown,
    /// Anywhere: blanks were lost. There are as many words in each row as names.
    Lost,
}

impl Places {
    fn of<'t>(columns: &[Column], rows: impl Iterator<Item = &'t str> + Clone) -> Places {
        let score = |place: fn(char) -> usize| -> usize {
            let words = rows.clone().flat_map(|row| words(row, place));
            let numbers = words.filter(|word| is_digits(word.text));
            numbers.map(|word| standing(columns, &word)).sum()
        };
        // Numbers stand at one end of what is below their name, or below it at least.
        if rows.clone().any(|row| row.chars().any(|c| width(c) > 1)) {
            return match score(width) > score(|_| 1) {
                true => Places::Shown,
                false => Places::Characters,
            };
        }
        let mut rows = rows.take(MAX_RECORDS).peekable();
        let mut shifted = rows.peek().is_some();
        let mut any_shifted = false;
        for row in rows {
            if row.split_whitespace().count() != columns.len() {
                shifted = false;
                break;
            }
            // No cell has two numbers.
            any_shifted |= cells(columns, row, |_| 1)
                .iter()
                .any(|cell| cell.contains(' ') && cell.split(' ').all(is_digits));
        }
        match shifted && any_shifted {
            true => Places::Lost,
            false => Places::Characters,
        }
    }

    /// What stands in each column of a line.
    fn cells(self, columns: &[Column], text: &str) -> Vec<String> {
        match self {
            Places::Characters => cells(columns, text, |_| 1),
            Places::Shown => cells(columns, text, width),
            Places::Lost => text.split_whitespace().map(str::to_owned).collect(),
        }
    }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// How well a number stands below a name.
fn standing(columns: &[Column], word: &Word<'_>) -> usize {
    let at = columns.partition_point(|column| column.to <= word.from);
    columns.get(at).map_or(0, |column| {
        let below = column.from < word.to;
        let ends = column.from == word.from || column.to == word.to;
        usize::from(below) + 4 * usize::from(ends)
    })
}

/// The words of a line, each character as wide as `place` says.
fn words(text: &str, place: impl Fn(char) -> usize) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let mut start: Option<(usize, usize)> = None;
    let mut column = 0;
    for (at, char) in text.char_indices() {
        match (char.is_whitespace(), start) {
            (true, Some((byte, from))) => {
                let text = &text[byte..at];
                words.push(Word {
                    from,
                    to: column,
                    text,
                });
                start = None;
            }
            (false, None) => start = Some((at, column)),
            _ => {}
        }
        column += place(char);
    }
    if let Some((byte, from)) = start {
        let text = &text[byte..];
        words.push(Word {
            from,
            to: column,
            text,
        });
    }
    words
}

/// What stands in each column of a line.
fn cells(columns: &[Column], text: &str, place: impl Fn(char) -> usize) -> Vec<String> {
    let words = words(text, place);
    let mut cells = vec![String::new(); columns.len()];
    let mut last = 0;
    for (index, word) in words.iter().enumerate() {
        let overlaps = |column: &Column| word.from < column.to && column.from < word.to;
        let column = match columns[last..].iter().position(overlaps) {
            Some(at) => last + at,
            None => between(columns, &words, index, last),
        };
        let cell = &mut cells[column];
        if !cell.is_empty() {
            cell.push(' ');
        }
        cell.push_str(word.text);
        last = column;
    }
    cells
}

/// The column of a word that stands between the dashes of two: that of the word it keeps company with.
fn between(columns: &[Column], words: &[Word<'_>], index: usize, last: usize) -> usize {
    let word = &words[index];
    let right = columns.iter().position(|column| column.from >= word.to);
    let Some(right) = right else {
        return columns.len() - 1;
    };
    let left = right.saturating_sub(1);
    let next = words.get(index + 1).filter(|next| next.from == word.to + 1);
    let is_number = word
        .text
        .bytes()
        .all(|b| b.is_ascii_digit() || b == b'.' || b == b',');
    if is_number && next.is_some_and(|next| super::units::is_unit(next.text)) {
        return right;
    }
    let previous = index.checked_sub(1).and_then(|at| words.get(at));
    if previous.is_some_and(|previous| previous.to + 1 == word.from) {
        return last.max(left.min(last));
    }
    if next.is_some_and(|next| columns[right].from < next.to) {
        return right;
    }
    // Alone: to the nearer one.
    let to_left = word.from.saturating_sub(columns[left].to);
    let to_right = columns[right].from.saturating_sub(word.to);
    if to_left <= to_right && left >= last {
        left
    } else {
        right
    }
}

/// True for a line without any figure below a row of figures that it does not begin as.
fn are_words(columns: &[Column], last: &str, text: &str) -> bool {
    let first = |text: &str| text.split_whitespace().next().map(str::to_owned);
    !text.starts_with(' ')
        && !text.bytes().any(|b| b.is_ascii_digit())
        && last.bytes().any(|b| b.is_ascii_digit())
        && first(text) != first(last)
        && columns.iter().any(|c| super::shape::is_of_numbers(&c.name))
        && text.split_whitespace().nth(2).is_some()
}

/// True for the further lines of a row whose cells were wrapped: nothing in the first column, and little elsewhere.
fn goes_on(cells: &[String]) -> bool {
    let filled = cells.iter().filter(|cell| !cell.is_empty()).count();
    cells.first().is_some_and(String::is_empty) && filled > 0 && filled * 3 <= cells.len()
}

fn join(record: &mut Record<'_>, cells: &[String], columns: &[Column]) {
    for (cell, column) in cells.iter().zip(columns).filter(|(c, _)| !c.is_empty()) {
        let field = record.fields.iter_mut().find(|f| f.key == column.name);
        if let Some(field) = field {
            let value = field.value.to_mut();
            // Text breaks at blanks, paths and numbers anywhere.
            if value.contains(' ') || cell.contains(' ') {
                value.push(' ');
            }
            value.push_str(cell);
        }
    }
}

fn record<'t>(columns: &[Column], cells: Vec<String>, line: Line<'t>) -> Record<'t> {
    let fields = columns.iter().zip(cells).map(|(column, cell)| Field {
        key: Cow::Owned(column.name.clone()),
        value: Cow::Owned(cell),
        line,
    });
    Record {
        fields: fields.collect(),
    }
}

#[cfg(test)]
mod tests;
