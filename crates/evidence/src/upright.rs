//! A row that stands one column a line, or one key of an object of JSON after the other.

use crate::format::{Format, Shape};
use crate::json::{Event, Met};
use crate::marks::{Hits, marks};
use crate::notes::Notes;
use crate::table::Head;

/// Fields of one row, and characters of one.
const MAX_FIELDS: usize = 512;
const MAX_FIELD_LEN: usize = 4096;
/// Objects in each other.
const MAX_DEPTH: usize = 8;

/// Fields one a line, until the row ends.
#[derive(Default)]
pub(crate) struct Upright {
    keys: Vec<String>,
    values: Vec<(u64, String)>,
}

impl Upright {
    pub(crate) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    /// False when a row has no more fields than that.
    pub(crate) fn push(&mut self, number: u64, key: &str, value: &str) -> bool {
        if self.keys.len() >= MAX_FIELDS {
            return false;
        }
        self.keys.push(key.trim().to_owned());
        let value = value.trim().chars().take(MAX_FIELD_LEN).collect();
        self.values.push((number, value));
        true
    }

    /// Whether its fields so far are columns of a table.
    fn is_of_table(&self, formats: &[&'static Format]) -> bool {
        let head = Head::upright(&self.keys);
        let mut shapes = formats.iter().map(|format| &format.shape);
        shapes.any(|shape| matches!(shape, Shape::Table { is, .. } if is(&head)))
    }

    /// Gives the row to the table that has such columns; false when there is none.
    pub(crate) fn read(&self, formats: &[&'static Format], notes: &mut Notes<'_>) -> bool {
        if self.keys.len() < 2 {
            return false;
        }
        let head = Head::upright(&self.keys);
        for format in formats {
            if let Shape::Table { is, read, .. } = &format.shape
                && is(&head)
                && let Some(row) = head.upright_row(&self.values)
            {
                notes.found(format.name);
                read(&row, notes);
                return true;
            }
        }
        false
    }
}

/// The objects of a document that are open, from the outermost on.
#[derive(Default)]
pub(crate) struct Objects {
    open: Vec<(Upright, bool)>,
    depth: usize,
}

impl Objects {
    /// Takes what was met; the object that ended with it, when it has a column of a table.
    pub(crate) fn event(&mut self, event: &Event<'_>) -> Option<Upright> {
        let number;
        let value = match event.met {
            Met::Open => {
                self.depth += 1;
                if self.depth <= MAX_DEPTH {
                    self.open.push((Upright::default(), false));
                }
                return None;
            }
            Met::Close => {
                let ended = match self.depth <= MAX_DEPTH {
                    true => self.open.pop(),
                    false => None,
                };
                self.depth = self.depth.saturating_sub(1);
                return ended.and_then(|(row, is_of_table)| is_of_table.then_some(row));
            }
            Met::Text(text) => text,
            Met::Number(value) => {
                number = value.to_string();
                &number
            }
        };
        let key = event.key();
        if let Some((row, is_of_table)) = self.open.last_mut()
            && self.depth <= MAX_DEPTH
            && !key.is_empty()
        {
            *is_of_table |= is_column(key);
            row.push(event.line.number, key, value);
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

/// What stands above a row of one field a line.
pub(crate) fn is_mark(text: &str) -> bool {
    text.starts_with("***") && text.ends_with("***")
        || text.starts_with("-[ ") && text.contains(']')
}

/// The first field of a list, by one of the names that tell tables: `physical_name : E:\\data.mdf`.
pub(crate) fn begins_upright(text: &str, hits: Hits) -> bool {
    if marks().tables(hits).is_empty() {
        return false;
    }
    text.split_once(" : ")
        .is_some_and(|(key, _)| names_a_table(key.trim(), hits))
}
