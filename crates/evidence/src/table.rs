//! Rows of named columns, however a client printed them: ruled, bordered, separated, or one column a line.

use std::borrow::Cow;
use std::cell::{OnceCell, RefCell};
use std::rc::Rc;
use straddle_stack::activity::Quantity;

use crate::fields::{self, BARS};
use crate::format::Format;
use crate::line::Line;

/// Names of which a column may have any.
pub(crate) type Names = &'static [&'static str];

/// What the figures of a column are, and by what they are multiplied.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Meaning {
    pub(crate) quantity: Quantity,
    pub(crate) factor: f64,
    /// The name says that it is the difference of two readings.
    pub(crate) is_difference: bool,
}

/// Finds out what a column says by the words of its name.
pub(crate) type Meant = fn(&str) -> Option<Meaning>;

/// The names of columns, and how rows are cut into cells.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    /// The line of the names; nothing where they stand one a line.
    text: String,
    /// In lower case, words joined by `_`.
    columns: Vec<String>,
    style: Style,
    /// Where columns of these names stand: every row asks for the same ones.
    places: RefCell<Places>,
    /// What the columns say whose names are read word by word.
    meanings: OnceCell<Vec<(usize, Meaning)>>,
}

#[derive(Clone, Debug, Default)]
struct Places {
    of: Vec<(Names, Vec<usize>)>,
    /// Those that were asked for last: the next ones follow, as in the row before.
    last: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Style {
    /// By one character, with quotes.
    Separated(u8),
    /// By bars, with blanks around cells; with one at each end of a line, or with none there.
    Bars { bordered: bool },
    /// By blanks; cells have none in them.
    Blanks,
    /// From character to character, as the ruler below the names says.
    Ruled(Vec<(usize, usize)>),
    /// One column a line.
    Upright,
}

/// Names of columns that were read before: what asks again and again prints the same ones each time.
#[derive(Default)]
pub(crate) struct Heads {
    known: Vec<Known>,
    /// The one that is given up next.
    oldest: usize,
}

struct Known {
    format: &'static Format,
    head: Rc<Head>,
    /// The ruler that stood below, and the names by it; `None` when they are no table's.
    ruled: Option<(String, Option<Rc<Head>>)>,
}

/// Tables that one output has, and some.
const MAX_KNOWN: usize = 8;

impl Heads {
    /// The place of the table whose names are in a line, which `find` looks for when they are new.
    pub(crate) fn place(
        &mut self,
        text: &str,
        find: impl FnOnce() -> Option<(&'static Format, Head)>,
    ) -> Option<usize> {
        if let Some(at) = self.known.iter().position(|known| known.head.text == text) {
            return Some(at);
        }
        let (format, head) = find()?;
        let known = Known {
            format,
            head: Rc::new(head),
            ruled: None,
        };
        if self.known.len() < MAX_KNOWN {
            self.known.push(known);
            return Some(self.known.len() - 1);
        }
        self.oldest = (self.oldest + 1) % MAX_KNOWN;
        self.known[self.oldest] = known;
        Some(self.oldest)
    }

    /// The table at a place, with the ruler below its names; `None` when the names are no table's by it.
    pub(crate) fn table(
        &mut self,
        place: usize,
        ruler: Option<&str>,
    ) -> Option<(&'static Format, Rc<Head>)> {
        let known = self.known.get_mut(place)?;
        let Some(ruler) = ruler else {
            return Some((known.format, Rc::clone(&known.head)));
        };
        if known.ruled.as_ref().is_none_or(|(text, _)| text != ruler) {
            let head = Head::clone(&known.head).ruled(ruler);
            let head = known.format.has_columns(&head).then(|| Rc::new(head));
            known.ruled = Some((ruler.to_owned(), head));
        }
        let (_, head) = known.ruled.as_ref()?;
        Some((known.format, Rc::clone(head.as_ref()?)))
    }
}

/// A row.
pub(crate) struct Row<'r> {
    head: &'r Head,
    cells: Vec<Cow<'r, str>>,
    /// Its (first) line.
    pub(crate) line: Line<'r>,
    /// The lines of its cells, where each has its own.
    lines: &'r [(u64, String)],
    /// What stands before fractions, once somebody asked.
    point: OnceCell<u8>,
}

/// Longer than any row of a view.
const LONGEST_ROW: usize = 1 << 16;
/// More columns than any view has.
const MAX_COLUMNS: usize = 512;

impl Head {
    fn new(text: &str, columns: Vec<String>, style: Style) -> Head {
        Head {
            text: text.to_owned(),
            columns,
            style,
            places: RefCell::default(),
            meanings: OnceCell::new(),
        }
    }

    /// What columns say by the words of their names, each thing once: where several say it, the first. Only one reader has such words.
    pub(crate) fn meanings(&self, by: Meant) -> &[(usize, Meaning)] {
        self.meanings.get_or_init(|| {
            let mut found: Vec<(usize, Meaning)> = Vec::new();
            for (at, column) in self.columns.iter().enumerate() {
                if let Some(meaning) = by(column)
                    && found.iter().all(|(_, known)| {
                        (known.quantity, known.is_difference)
                            != (meaning.quantity, meaning.is_difference)
                    })
                {
                    found.push((at, meaning));
                }
            }
            found
        })
    }

    /// Gives `use_them` the columns that have these names, in the order of the names.
    fn at<T>(&self, names: Names, use_them: impl FnOnce(&[usize]) -> T) -> T {
        let places = &mut *self.places.borrow_mut();
        // Names are constants: the same ones lie at the same place.
        let is = |(known, _): &(Names, Vec<usize>)| std::ptr::eq(*known, names);
        let next = places.last + 1;
        let known = match places.of.get(next).is_some_and(is) {
            true => Some(next),
            false => places.of.iter().position(is),
        };
        places.last = known.unwrap_or_else(|| {
            let of = |name: &&str| self.columns.iter().position(|column| column == name);
            places
                .of
                .push((names, names.iter().filter_map(of).collect()));
            places.of.len() - 1
        });
        use_them(
            places
                .of
                .get(places.last)
                .map_or(&[], |(_, columns)| columns),
        )
    }

    /// Names of columns that stand in one line.
    pub(crate) fn of(text: &str) -> Option<Head> {
        if text.len() > LONGEST_ROW {
            return None;
        }
        let style = match text {
            text if text.contains('\t') => Style::Separated(b'\t'),
            text if text.contains(BARS) => Style::Bars {
                bordered: text.trim_start().starts_with(BARS),
            },
            text if text.contains(',') => Style::Separated(b','),
            text if text.contains(';') => Style::Separated(b';'),
            _ => Style::Blanks,
        };
        let columns: Vec<String> = cells(text, &style)
            .iter()
            .map(|cell| normal(cell))
            .collect();
        let named = columns.iter().filter(|name| !name.is_empty()).count();
        (named >= 2 && columns.len() <= MAX_COLUMNS).then(|| Head::new(text, columns, style))
    }

    /// Names of columns, with blanks in them, above a ruler.
    pub(crate) fn of_ruled(text: &str, ruler: &str) -> Option<Head> {
        let head = Head::of(text).filter(|head| head.style == Style::Blanks)?;
        Some(head.ruled(ruler))
    }

    /// Names of columns that stand one a line.
    pub(crate) fn upright(keys: &[String]) -> Head {
        let columns = keys.iter().map(|key| normal(key)).collect();
        Head::new("", columns, Style::Upright)
    }

    /// The names again, now that the ruler below them is known.
    fn ruled(self, ruler: &str) -> Head {
        if self.style != Style::Blanks {
            return self;
        }
        let mut places = Vec::new();
        let mut from = None;
        let chars: Vec<char> = ruler.chars().collect();
        for (at, c) in chars.iter().enumerate() {
            match (*c == '-', from) {
                (true, None) => from = Some(at),
                (false, Some(start)) => {
                    places.push((start, at));
                    from = None;
                }
                _ => {}
            }
        }
        places.extend(from.map(|start| (start, chars.len())));
        let style = Style::Ruled(places);
        let columns: Vec<String> = cells(&self.text, &style)
            .iter()
            .map(|cell| normal(cell))
            .collect();
        Head::new(&self.text, columns, style)
    }

    /// Whether there are columns with all these names.
    pub(crate) fn has(&self, names: &[&str]) -> bool {
        names
            .iter()
            .all(|name| self.columns.iter().any(|column| column == name))
    }

    /// Whether there is one of them.
    pub(crate) fn has_any(&self, names: &[&str]) -> bool {
        names
            .iter()
            .any(|name| self.columns.iter().any(|column| column == name))
    }

    /// False for a line that is no row, not even a part of one.
    pub(crate) fn may_be_row(&self, text: &str) -> bool {
        !matches!(self.style, Style::Bars { .. }) || text.contains(BARS)
    }

    /// A row; `None` for a line that is none.
    pub(crate) fn row<'r>(&'r self, line: &Line<'r>) -> Option<Row<'r>> {
        if line.text.len() > LONGEST_ROW {
            return None;
        }
        let mut found = cells(line.text, &self.style);
        if let (Style::Ruled(_), true) = (&self.style, found.len() != self.columns.len()) {
            found = cells(line.text, &Style::Blanks);
        }
        if found.len() != self.columns.len() {
            // Blanks without a ruler: what is too many belongs to the first cell.
            return None;
        }
        Some(Row {
            head: self,
            cells: found,
            line: *line,
            lines: &[],
            point: OnceCell::new(),
        })
    }

    /// A row of one column a line.
    pub(crate) fn upright_row<'r>(&'r self, values: &'r [(u64, String)]) -> Option<Row<'r>> {
        let (number, text) = values.first()?;
        let cells = values.iter().map(|(_, text)| fields::bare(text).into());
        Some(Row {
            head: self,
            cells: cells.collect(),
            line: Line {
                number: *number,
                text,
            },
            lines: values,
            point: OnceCell::new(),
        })
    }
}

impl<'r> Row<'r> {
    /// Whether it is the names of the columns once more.
    pub(crate) fn is_names(&self) -> bool {
        if self.line.text == self.head.text {
            return true;
        }
        let mut pairs = self.cells.iter().zip(&self.head.columns);
        pairs.all(|(cell, name)| is_called(cell, name))
    }

    /// Whether there is a number in it.
    pub(crate) fn has_figures(&self) -> bool {
        let is_number = |cell: &Cow<'_, str>| crate::number::plain(fields::bare(cell)).is_some();
        self.cells.iter().any(is_number)
    }

    /// The cell of the first of these columns that has something in it.
    pub(crate) fn text(&self, names: Names) -> Option<&str> {
        self.cell(names).map(|(_, text)| text)
    }

    /// As [`Self::text`], with the line that it stands in.
    pub(crate) fn cell_of(&self, names: Names) -> Option<(&str, Line<'r>)> {
        let (column, text) = self.cell(names)?;
        Some((text, self.line_of(column)))
    }

    /// The first of these columns that has something in it.
    fn cell(&self, names: Names) -> Option<(usize, &str)> {
        self.head.at(names, |columns| {
            let of = |column: &usize| Some((*column, self.cells.get(*column)?.as_ref()));
            let mut cells = columns.iter().filter_map(of);
            cells.find(|(_, text)| !is_nothing(text))
        })
    }

    /// What its columns say by the words of their names, with the figure and its line.
    pub(crate) fn meant(&self, by: Meant) -> impl Iterator<Item = (Meaning, f64, Line<'r>)> {
        let meanings = self.head.meanings(by).iter();
        meanings.filter_map(|(column, meaning)| {
            let cell = self.cells.get(*column)?.as_ref();
            if is_nothing(cell) {
                return None;
            }
            let text = fields::bare(cell);
            let has_no_fractions =
                meaning.quantity.is_counter() || meaning.quantity == Quantity::FileSize;
            let counted = has_no_fractions.then(|| count(text)).flatten();
            let value = counted.or_else(|| self.any(text))?;
            Some((*meaning, value, self.line_of(*column)))
        })
    }

    fn line_of(&self, column: usize) -> Line<'r> {
        match self.lines.get(column) {
            Some((number, text)) => Line {
                number: *number,
                text,
            },
            None => self.line,
        }
    }

    /// As [`Self::number`], in columns that count and have no fractions.
    pub(crate) fn count(&self, names: Names) -> Option<(f64, Line<'r>)> {
        let (column, text) = self.cell(names)?;
        let text = fields::bare(text);
        Some((
            count(text).or_else(|| self.any(text))?,
            self.line_of(column),
        ))
    }

    /// The number in the first of these columns that has one, and its line.
    pub(crate) fn number(&self, names: Names) -> Option<(f64, Line<'r>)> {
        let (column, text) = self.cell(names)?;
        let text = fields::bare(text);
        Some((self.any(text)?, self.line_of(column)))
    }

    /// A number, in the form of whatever language: a comma with three digits behind it stands between thousands, unless the other figures
    /// of the row, or what stands between its cells, say that it stands before a fraction.
    fn any(&self, text: &str) -> Option<f64> {
        if let Some(number) = crate::number::plain(text) {
            return Some(number);
        }
        let point = *self.point.get_or_init(|| self.shown_point());
        crate::number::with_point(text, Some(point))
    }

    /// What stands before fractions, by the figures of the row or by what stands between its cells.
    fn shown_point(&self) -> u8 {
        let mut cells = self.cells.iter();
        let shown = cells.find_map(|cell| crate::number::point_of(fields::bare(cell)));
        let of_style = || matches!(self.head.style, Style::Separated(b';')).then_some(b',');
        shown.or_else(of_style).unwrap_or(b'.')
    }
}

/// A count, whose points can only stand between thousands.
fn count(text: &str) -> Option<f64> {
    if !text.contains('.') {
        return None;
    }
    let mut groups = text.split('.');
    let first = groups.next()?;
    let is_group = |group: &str, least: usize| {
        (least..=3).contains(&group.len()) && group.bytes().all(|byte| byte.is_ascii_digit())
    };
    let grouped = is_group(first, 1) && groups.all(|group| is_group(group, 3));
    grouped.then(|| crate::number::whole(text).map(crate::number::figure))?
}

fn is_nothing(cell: &str) -> bool {
    let is_number = cell.as_bytes().first().is_some_and(u8::is_ascii_digit);
    !is_number
        && matches!(
            fields::bare(cell),
            "" | "NULL" | "null" | "(null)" | "[null]" | "-" | "\\N"
        )
}

fn cells<'t>(text: &'t str, style: &Style) -> Vec<Cow<'t, str>> {
    match style {
        Style::Separated(separator) => {
            let mut cells = fields::separated(text.trim_end_matches(['\r', '\n']), *separator);
            for cell in &mut cells {
                if let Cow::Borrowed(text) = cell {
                    *text = fields::bare(text);
                }
            }
            cells
        }
        Style::Bars { bordered } => {
            // Without borders, a bar at the beginning or the end stands beside an empty cell.
            let mut inner = fields::trimmed(text);
            if *bordered {
                inner = inner.strip_prefix(BARS).unwrap_or(inner);
                inner = inner.strip_suffix(BARS).unwrap_or(inner);
            }
            let mut cells = Vec::with_capacity(32);
            match inner.is_ascii() {
                // Of the bars one is ASCII, which is found without taking characters apart.
                true => cells.extend(
                    inner
                        .split('|')
                        .map(|cell| Cow::Borrowed(fields::trimmed(cell))),
                ),
                false => cells.extend(
                    inner
                        .split(BARS)
                        .map(|cell| Cow::Borrowed(fields::trimmed(cell))),
                ),
            }
            cells
        }
        Style::Blanks | Style::Upright => {
            let mut cells = Vec::with_capacity(32);
            cells.extend(text.split_whitespace().map(Cow::Borrowed));
            cells
        }
        Style::Ruled(places) if is_narrow(places) => cells_below_names(text, places),
        Style::Ruled(places) => {
            let mut cells = Vec::with_capacity(places.len());
            let byte = begins(text);
            for (index, (from, to)) in places.iter().enumerate() {
                // The last column goes to the end of the line.
                let end = match index + 1 == places.len() {
                    true => text.len(),
                    false => byte(*to),
                };
                let cut = |at: usize| {
                    at > 0
                        && at < text.len()
                        && !text[..at].ends_with(char::is_whitespace)
                        && !text[at..].starts_with(char::is_whitespace)
                };
                if cut(byte(*from)) || cut(end) {
                    return text.split_whitespace().map(Cow::Borrowed).collect();
                }
                let cell = &text[byte(*from)..end.max(byte(*from))];
                cells.push(Cow::Borrowed(fields::trimmed(cell)));
            }
            cells
        }
    }
}

/// Where a character of a line begins, by its number; the end of the line behind the last.
fn begins(text: &str) -> impl Fn(usize) -> usize {
    let all = || text.char_indices().map(|(at, _)| at).collect();
    let known: Option<Vec<usize>> = (!text.is_ascii()).then(all);
    let end = text.len();
    move |number| match &known {
        Some(known) => known.get(number).copied().unwrap_or(end),
        None => number.min(end),
    }
}

/// Whether a ruler is as wide as the names, as PowerShell draws it, and not as wide as the columns.
fn is_narrow(places: &[(usize, usize)]) -> bool {
    places.windows(2).any(|pair| match pair {
        [(_, end), (next, _)] => *next > end + 1,
        _ => false,
    })
}

/// Cells that begin where their names begin; or that end where these end, and may begin before them.
fn cells_below_names<'t>(text: &'t str, places: &[(usize, usize)]) -> Vec<Cow<'t, str>> {
    let byte = begins(text);
    let begin = |(from, _): &(usize, usize)| {
        let at = byte(*from);
        let is_within = text[at..].starts_with(|c: char| !c.is_whitespace());
        match text[..at].rfind(char::is_whitespace) {
            _ if !is_within => at,
            Some(blank) => blank + text[blank..].chars().next().map_or(1, char::len_utf8),
            None => 0,
        }
    };
    let mut begins: Vec<usize> = places.iter().map(begin).collect();
    begins.push(text.len());
    let cells = begins.windows(2).map(|pair| match pair {
        [from, to] => Cow::Borrowed(fields::trimmed(text.get(*from..*to).unwrap_or_default())),
        _ => Cow::Borrowed(""),
    });
    cells.collect()
}

/// A name of a column as readers know it.
fn normal(name: &str) -> String {
    let name = inner(name);
    match name.is_ascii() {
        true => {
            let mut name = name.replace([' ', '-', '.'], "_");
            name.make_ascii_lowercase();
            name
        }
        false => letters(name).collect(),
    }
}

/// Whether a cell says the name of its column.
fn is_called(cell: &str, name: &str) -> bool {
    let cell = inner(cell);
    let first = |text: &str| text.as_bytes().first().map(u8::to_ascii_lowercase);
    // Few cells of rows begin as the name of their column does; these may, in other signs.
    let is_other = cell.is_empty() || cell.starts_with([' ', '-', '.']) || !cell.is_ascii();
    (is_other || first(cell) == first(name)) && letters(cell).eq(name.chars())
}

fn inner(name: &str) -> &str {
    fields::bare(name).trim_matches(['[', ']']).trim()
}

fn letters(name: &str) -> impl Iterator<Item = char> {
    name.chars().flat_map(|c| {
        let c = match c {
            ' ' | '-' | '.' => '_',
            c => c,
        };
        c.to_lowercase()
    })
}

/// A line of nothing but what rulers and borders are made of.
pub(crate) fn is_ruler(text: &str) -> bool {
    let text = fields::trimmed(text);
    // Most lines are told by their first character.
    text.len() >= 3
        && text
            .chars()
            .all(|c| matches!(c, '-' | ' ' | '+' | '|' | ':' | '\t' | ',' | '─'..='╿'))
        && ["--", "──", "━━", "══"]
            .iter()
            .any(|line| text.contains(line))
}

#[cfg(test)]
mod tests;
