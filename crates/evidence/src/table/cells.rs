//! The cells of a row, by what stands between them or by the columns that they stand in.

use std::borrow::Cow;

use super::{BARS, Style};
use crate::fields;

/// Where the characters of a text begin.
struct Characters<'t> {
    text: &'t str,
    /// Of a text in which a character can be more than a byte.
    begins: Vec<usize>,
}

impl Characters<'_> {
    fn of(text: &str) -> Characters<'_> {
        let begins = match text.is_ascii() {
            true => Vec::new(),
            false => text.char_indices().map(|(at, _)| at).collect(),
        };
        Characters { text, begins }
    }

    /// Of one behind the last, the end.
    fn at(&self, number: usize) -> usize {
        let end = self.text.len();
        match self.begins.is_empty() {
            true => number.min(end),
            false => self.begins.get(number).copied().unwrap_or(end),
        }
    }
}

/// Room for the cells of most rows.
const USUAL: usize = 32;

/// The cells of a row.
pub(super) fn cells<'t>(text: &'t str, style: &Style) -> Vec<Cow<'t, str>> {
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
            let mut inner = text.trim();
            if *bordered {
                inner = inner.strip_prefix(BARS).unwrap_or(inner);
                inner = inner.strip_suffix(BARS).unwrap_or(inner);
            }
            let mut cells = Vec::with_capacity(USUAL);
            let cell = |cell| Cow::Borrowed(fields::trimmed(cell));
            match inner.is_ascii() {
                true => cells.extend(inner.split('|').map(cell)),
                false => cells.extend(inner.split(BARS).map(cell)),
            }
            cells
        }
        Style::Blanks | Style::Upright => {
            let mut cells = Vec::with_capacity(USUAL);
            cells.extend(text.split_whitespace().map(Cow::Borrowed));
            cells
        }
        Style::Ruled(places) if is_narrow(places) => cells_below_names(text, places),
        Style::Ruled(places) => {
            let mut cells = Vec::with_capacity(places.len());
            let characters = Characters::of(text);
            for (index, (from, to)) in places.iter().enumerate() {
                let from = characters.at(*from);
                // The last column goes to the end of the line.
                let end = match index + 1 == places.len() {
                    true => text.len(),
                    false => characters.at(*to),
                };
                let cut = |at: usize| {
                    at > 0
                        && at < text.len()
                        && !text[..at].ends_with(char::is_whitespace)
                        && !text[at..].starts_with(char::is_whitespace)
                };
                if cut(from) || cut(end) {
                    return text.split_whitespace().map(Cow::Borrowed).collect();
                }
                let cell = fields::trimmed(&text[from..end.max(from)]);
                cells.push(Cow::Borrowed(cell));
            }
            cells
        }
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
    let characters = Characters::of(text);
    let begin = |(from, _): &(usize, usize)| {
        let at = characters.at(*from);
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
        [from, to] => {
            let cell = text.get(*from..*to).unwrap_or_default();
            Cow::Borrowed(fields::trimmed(cell))
        }
        _ => Cow::Borrowed(""),
    });
    cells.collect()
}
