//! Tables without rules: columns, two blanks apart, under a quiet head. What is wider than the terminal is broken into
//! tables one below the other, each with its label columns.

use anstyle::Style;
use comfy_table::{CellAlignment, Table, presets};

use crate::text::style::{FAINT, paint};

/// Blanks before every line, and between columns.
const GAP: usize = 2;

/// One column: its head and a cell for each row.
pub(crate) struct Column {
    head: String,
    cells: Vec<Cell>,
    align: CellAlignment,
}

/// A text and its style.
#[derive(Clone)]
pub(crate) struct Cell {
    text: String,
    style: Option<Style>,
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Cell {
        Cell {
            text: text.into(),
            style: None,
        }
    }
}

impl Cell {
    /// `text` in `style`.
    pub(crate) fn styled(text: String, style: Style) -> Cell {
        Cell {
            text,
            style: Some(style),
        }
    }
}

impl Column {
    /// A column of words.
    pub(crate) fn words(head: impl Into<String>, cells: Vec<Cell>) -> Column {
        Column {
            head: head.into(),
            cells,
            align: CellAlignment::Left,
        }
    }

    /// A column of figures, flush right. They have to have the same number of decimals.
    pub(crate) fn figures(head: impl Into<String>, cells: Vec<Cell>) -> Column {
        Column {
            align: CellAlignment::Right,
            ..Column::words(head, cells)
        }
    }

    fn width(&self) -> usize {
        let texts = self.cells.iter().map(|cell| cell.text.as_str());
        let texts = texts.chain(self.head.lines());
        texts.map(|t| t.chars().count()).max().unwrap_or(0)
    }
}

/// Writes `labels` and `columns` side by side; in several tables, each with the labels, where they do not fit.
pub(crate) fn render(labels: &[Column], columns: &[Column], width: usize, out: &mut String) {
    let room = |columns: &[Column]| -> usize { columns.iter().map(|c| c.width() + GAP).sum() };
    let left = width.saturating_sub(room(labels));
    let tables = room(columns).div_ceil(left.max(1)).max(1);
    // Parts of about the same number of columns are easier to read than one that is full and a narrow rest.
    let mut each = columns.len().div_ceil(tables).max(1);
    while each > 1 && columns.chunks(each).any(|part| room(part) > left) {
        each -= 1;
    }
    for (index, part) in columns.chunks(each).enumerate() {
        if index > 0 {
            out.push('\n');
        }
        let all: Vec<&Column> = labels.iter().chain(part).collect();
        one(&all, out);
    }
}

fn one(columns: &[&Column], out: &mut String) {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let lines = |c: &&Column| c.head.lines().count();
    let heads = columns.iter().map(lines).max().unwrap_or(1);
    for line in 0..heads {
        // Heads stand on their last line.
        let head = |c: &&Column| {
            let skipped = heads - c.head.lines().count();
            let text = line.checked_sub(skipped);
            let text = text.and_then(|n| c.head.lines().nth(n));
            text.unwrap_or("").to_owned()
        };
        table.add_row(columns.iter().map(head).collect::<Vec<_>>());
    }
    let rows = columns.iter().map(|c| c.cells.len()).max().unwrap_or(0);
    let at = |c: &&Column, row: usize| c.cells.get(row).cloned().unwrap_or_else(|| "".into());
    for row in 0..rows {
        let texts = columns.iter().map(|c| at(c, row).text);
        table.add_row(texts.collect::<Vec<_>>());
    }
    for (column, from) in table.column_iter_mut().zip(columns) {
        column.set_cell_alignment(from.align);
        column.set_padding((u16::try_from(GAP).unwrap_or(2), 0));
    }
    for (index, line) in table.lines().enumerate() {
        let line = line.trim_end();
        match index.checked_sub(heads) {
            None => out.push_str(&paint(FAINT, line)),
            Some(row) => {
                let cells: Vec<Cell> = columns.iter().map(|c| at(c, row)).collect();
                out.push_str(&styled(line, &cells));
            }
        }
        out.push('\n');
    }
}

/// `line` with its cells in their styles. The table measures texts without them; cells come in order, so each is found
/// behind the one before.
fn styled(line: &str, cells: &[Cell]) -> String {
    let mut out = String::new();
    let mut rest = line;
    for cell in cells.iter().filter(|cell| !cell.text.is_empty()) {
        let Some((before, after)) = rest.split_once(cell.text.as_str()) else {
            continue;
        };
        out.push_str(before);
        match cell.style {
            Some(style) => out.push_str(&paint(style, &cell.text)),
            None => out.push_str(&cell.text),
        }
        rest = after;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::style::{GOOD, without_styles};

    fn columns(n: usize, text: &str) -> Vec<Column> {
        (0..n)
            .map(|n| Column::figures(format!("c{n}"), vec![text.into(), "1".into()]))
            .collect()
    }

    #[test]
    fn a_wide_table_is_broken_evenly() {
        let labels = [Column::words("name", vec!["a".into(), "bb".into()])];
        let mut out = String::new();
        render(&labels, &columns(5, "12345678"), 40, &mut out);
        let plain = without_styles(&out);
        assert_eq!(
            plain,
            "  name        c0        c1        c2\n  \
               a     12345678  12345678  12345678\n  \
               bb           1         1         1\n\n  \
               name        c3        c4\n  \
               a     12345678  12345678\n  \
               bb           1         1\n"
        );
    }

    #[test]
    fn styles_do_not_move_columns() {
        let column = |style: Option<Style>| {
            let cell = |text: &str| Cell {
                text: text.to_owned(),
                style,
            };
            Column::figures("two\nlines", vec![cell("1"), cell("1.5")])
        };
        let (mut with, mut without) = (String::new(), String::new());
        render(&[column(None)], &[column(Some(GOOD))], 80, &mut with);
        render(&[column(None)], &[column(None)], 80, &mut without);
        assert_ne!(with, without);
        assert_eq!(without_styles(&with), without_styles(&without));
    }
}
