//! A row that stands one column a line, or one key of an object of JSON after the other.

use crate::fields::BARS;
use crate::format::{Format, Shape};
use crate::json::{Event, Met};
use crate::marks::{Hits, marks};
use crate::notes::Notes;
use crate::number;
use crate::table::Head;
use std::fmt::Write;

/// Fields of one row, and characters of one.
const MAX_FIELDS: usize = 512;
const MAX_FIELD_LEN: usize = 4096;
/// Objects in each other.
const MAX_DEPTH: usize = 8;

/// Fields one a line, until the row ends.
#[derive(Default)]
pub(crate) struct Upright {
    /// The first `len` are of this row; behind them are those of rows before it, whose memory is used again.
    keys: Vec<String>,
    values: Vec<(u64, String)>,
    /// Values that are numbers, which are written when the row turns out to be one of a table: most objects are something else.
    numbers: Vec<(usize, f64)>,
    len: usize,
    /// The keys of the row before, and the table that has them as its columns.
    before: Vec<String>,
    table: Option<(&'static Format, Head)>,
}

impl Upright {
    pub(crate) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// Begins a new row.
    pub(crate) fn clear(&mut self) {
        self.len = 0;
        self.numbers.clear();
    }

    /// False when a row has no more fields than that.
    pub(crate) fn push(&mut self, number: u64, key: &str, value: &str) -> bool {
        let Some(into) = self.field(number, key) else {
            return false;
        };
        let value = value.trim();
        match value.len() <= MAX_FIELD_LEN {
            true => into.push_str(value),
            false => into.extend(value.chars().take(MAX_FIELD_LEN)),
        }
        true
    }

    /// As [`Self::push`], for a number.
    fn push_number(&mut self, number: u64, key: &str, value: f64) -> bool {
        if self.field(number, key).is_none() {
            return false;
        }
        self.numbers.push((self.len - 1, value));
        true
    }

    /// Where the value of the next field is put; `None` when a row has no more fields than that.
    fn field(&mut self, number: u64, key: &str) -> Option<&mut String> {
        let at = self.len;
        if at >= MAX_FIELDS {
            return None;
        }
        self.len += 1;
        if at == self.keys.len() {
            self.keys.push(String::new());
            self.values.push((0, String::new()));
        }
        key.trim().clone_into(&mut self.keys[at]);
        let (line, value) = &mut self.values[at];
        *line = number;
        value.clear();
        Some(value)
    }

    /// Whether its fields so far are columns of a table.
    fn is_of_table(&self, formats: &[&'static Format]) -> bool {
        let head = Head::upright(&self.keys[..self.len]);
        formats.iter().any(|format| format.has_columns(&head))
    }

    /// Gives the row to the table that has such columns; false when there is none.
    pub(crate) fn read(&mut self, formats: &[&'static Format], notes: &mut Notes<'_>) -> bool {
        if self.len < 2 {
            return false;
        }
        for (at, value) in self.numbers.drain(..) {
            let (_, into) = &mut self.values[at];
            // Counts are written as such: figures with fractions take far longer.
            let _: std::fmt::Result = match number::exact_count(value) {
                Some(count) => write!(into, "{count}"),
                None => write!(into, "{value}"),
            };
        }
        let (keys, values) = (&self.keys[..self.len], &self.values[..self.len]);
        // Rows of one table have the same keys.
        if self.before != keys {
            let head = Head::upright(keys);
            let of = formats.iter().find(|format| format.has_columns(&head));
            self.table = of.map(|format| (*format, head));
            self.before.clear();
            self.before.extend_from_slice(keys);
        }
        if let Some((format, head)) = &self.table
            && let Shape::Table { read, .. } = &format.shape
            && let Some(row) = head.upright_row(values)
        {
            notes.found(format.name);
            read(&row, notes);
            return true;
        }
        false
    }
}

/// The objects of a document that are open, from the outermost on.
#[derive(Default)]
pub(crate) struct Objects {
    open: Vec<(Upright, bool)>,
    depth: usize,
    /// Those that have ended, whose memory is used again.
    spare: Vec<Upright>,
}

impl Objects {
    /// Takes another document from here on.
    pub(crate) fn begin(&mut self) {
        self.spare.extend(self.open.drain(..).map(|(row, _)| row));
        self.spare.truncate(MAX_DEPTH);
        self.depth = 0;
    }

    /// Takes what was met; the object that ended with it, when it has a column of a table.
    pub(crate) fn event(&mut self, event: &Event<'_>) -> Option<&mut Upright> {
        match event.met {
            Met::Open => {
                self.depth += 1;
                if self.depth <= MAX_DEPTH {
                    let mut row = self.spare.pop().unwrap_or_default();
                    row.clear();
                    self.open.push((row, false));
                }
                return None;
            }
            Met::Close => {
                let ended = match self.depth <= MAX_DEPTH {
                    true => self.open.pop(),
                    false => None,
                };
                self.depth = self.depth.saturating_sub(1);
                let (row, is_of_table) = ended?;
                self.spare.push(row);
                return self.spare.last_mut().filter(|_| is_of_table);
            }
            Met::Text(_) | Met::Number(_) => {}
        }
        let key = event.key();
        if let Some((row, is_of_table)) = self.open.last_mut()
            && self.depth <= MAX_DEPTH
            && !key.is_empty()
        {
            *is_of_table = *is_of_table || is_column(key);
            match event.met {
                Met::Number(value) => row.push_number(event.line.number, key, value),
                Met::Text(text) => row.push(event.line.number, key, text),
                Met::Open | Met::Close => false,
            };
        }
        None
    }

    /// The line in which a row begins that was cut.
    pub(crate) fn cut(&self, formats: &[&'static Format]) -> Option<u64> {
        let mut rows = self.open.iter().filter(|(_, is_of_table)| *is_of_table);
        let (row, _) = rows.find(|(row, _)| row.is_of_table(formats))?;
        row.values.first().map(|(line, _)| *line)
    }
}

/// Whether a name is one by which tables are told.
fn is_column(key: &str) -> bool {
    names_a_table(key, marks().of(key.as_bytes()))
}

fn names_a_table(key: &str, hits: Hits) -> bool {
    let mut formats = marks().tables(hits).formats();
    formats.any(|format| match &format.shape {
        Shape::Table { marks, .. } => marks.iter().any(|mark| key.eq_ignore_ascii_case(mark)),
        _ => false,
    })
}

/// What stands above a row of one field a line: of mysql, and of psql with or without borders.
pub(crate) fn is_mark(text: &str) -> bool {
    let inner = text.trim_start_matches(['+', '┌', '├', '╔', '╠']);
    let of_psql = inner.strip_prefix(['-', '─', '═']);
    text.starts_with("***") && text.ends_with("***")
        || of_psql.is_some_and(|rest| rest.starts_with("[ ") && rest.contains(']'))
}

/// The name of a field, and what is in it.
pub(crate) fn field(text: &str) -> Option<(&str, &str)> {
    let bordered = text
        .strip_prefix(BARS)
        .and_then(|rest| rest.strip_suffix(BARS));
    if let Some(inner) = bordered {
        return inner.split_once(BARS);
    }
    let pair = text.split_once(" | ").or_else(|| text.split_once(" │ "));
    // Nothing in a field, and the blank behind the bar is gone.
    let pair = pair.or_else(|| Some((text.strip_suffix(BARS)?.strip_suffix(' ')?, "")));
    pair.or_else(|| text.split_once(':'))
}

/// The first field of a list, by one of the names that tell tables: `physical_name : E:\\data.mdf`.
pub(crate) fn begins_upright(text: &str, hits: Hits) -> bool {
    if marks().tables(hits).is_empty() {
        return false;
    }
    text.split_once(" : ")
        .is_some_and(|(key, _)| names_a_table(key.trim(), hits))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(row: &mut Upright, fields: &[(&str, Option<f64>)]) -> (bool, Vec<String>) {
        row.clear();
        for (number, (key, value)) in (1..).zip(fields) {
            let is_room = match value {
                Some(value) => row.push_number(number, key, *value),
                None => row.push(number, key, "E:\\a.mdf"),
            };
            assert!(is_room, "{key}");
        }
        let mut gathered = crate::Gathered::new();
        let is_table = row.read(crate::FORMATS, &mut Notes::new("f", &mut gathered));
        let series = gathered.series().flat_map(|(_, series)| series);
        let figures = series.map(|of| format!("{:?} {}", of.quantity, of.summary.sum.get()));
        (is_table, figures.collect())
    }

    #[test]
    fn fields_of_psql_have_bars_between_and_around_them() {
        for mark in [
            "-[ RECORD 1 ]-+---",
            "+-[ RECORD 2 ]-+---+",
            "┌─[ RECORD 3 ]─┬───┐",
            "─[ RECORD 4 ]─┬──",
        ] {
            assert!(is_mark(mark), "{mark}");
        }
        assert!(!is_mark("+------+-----+") && !is_mark("[ RECORD ]"));
        for (text, expected) in [
            ("reads | 12", ("reads", "12")),
            ("reads │ 12", ("reads", "12")),
            ("reads |", ("reads", "")),
            ("| reads  | 12 |", (" reads  ", " 12 ")),
            ("║ reads  │ 12 ║", (" reads  ", " 12 ")),
            ("reads: 12", ("reads", " 12")),
        ] {
            assert_eq!(field(text), Some(expected), "{text}");
        }
    }

    /// A row has nothing of the one before it, whose memory and table it uses.
    #[test]
    fn rows_follow_each_other() {
        let mut row = Upright::default();
        let first = [
            ("physical_name", None),
            ("num_of_reads", Some(7.0)),
            ("num_of_writes", Some(1.5e20)),
        ];
        let both = ["Reads 7", "Writes 150000000000000000000"]
            .map(str::to_owned)
            .to_vec();
        assert_eq!(read(&mut row, &first), (true, both));
        let second = [("physical_name", None), ("num_of_writes", Some(2.5))];
        let one = vec!["Writes 2.5".to_owned()];
        assert_eq!(read(&mut row, &second), (true, one.clone()));
        assert_eq!(read(&mut row, &second), (true, one));
        assert_eq!(read(&mut row, &second[..1]), (false, Vec::new()));
        assert_eq!(
            read(&mut row, &[("a", None), ("b", Some(1.0))]),
            (false, Vec::new())
        );
    }
}
