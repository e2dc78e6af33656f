//! The cells of a line, as they are separated.

use std::borrow::Cow;

/// Most cells of a line: counters of the largest hosts are a hundred thousand.
pub(crate) const MAX_CELLS: usize = 1 << 18;

/// What stands between cells: people draw tables of the other ones, too.
pub(crate) const BARS: [char; 4] = ['|', '│', '┃', '║'];

/// Cells that are separated by one character, and may be quoted; what is behind the most that are taken is left out.
pub(crate) fn separated(text: &str, separator: u8) -> Vec<Cow<'_, str>> {
    let mut cells = Vec::with_capacity(32);
    let mut rest = text;
    loop {
        let (cell, more) = one(rest, separator);
        cells.push(cell);
        match more.filter(|_| cells.len() < MAX_CELLS) {
            Some(more) => rest = more,
            None => return cells,
        }
    }
}

/// The first cell, and what stands behind its separator.
pub(crate) fn one(text: &str, separator: u8) -> (Cow<'_, str>, Option<&str>) {
    let bytes = text.as_bytes();
    if bytes.first() != Some(&b'"') {
        return match memchr::memchr(separator, bytes) {
            Some(at) => (Cow::Borrowed(&text[..at]), Some(&text[at + 1..])),
            None => (Cow::Borrowed(text), None),
        };
    }
    let mut from = 1;
    let mut doubled = false;
    let end = loop {
        match memchr::memchr(b'"', &bytes[from..]) {
            Some(at) if bytes.get(from + at + 1) == Some(&b'"') => {
                doubled = true;
                from += at + 2;
            }
            Some(at) => break from + at,
            // Cut off: what is there is the cell.
            None => break bytes.len(),
        }
    };
    let inner = &text[1..end];
    let cell = match doubled {
        true => Cow::Owned(inner.replace("\"\"", "\"")),
        false => Cow::Borrowed(inner),
    };
    let behind = end.min(bytes.len().saturating_sub(1)) + 1;
    let more = memchr::memchr(separator, &bytes[behind..]);
    (cell, more.map(|at| &text[behind + at + 1..]))
}

/// What stands between the bars at both ends of a line, with one kind of bar between cells.
pub(crate) fn in_bars(text: &str) -> Option<String> {
    let inner = text.trim().strip_prefix(BARS)?;
    let inner = inner.strip_suffix(BARS).unwrap_or(inner);
    Some(inner.replace(BARS, "|").trim().to_owned())
}

/// As [`str::trim`], which takes characters apart: most texts have ASCII at both ends.
pub(crate) fn trimmed(text: &str) -> &str {
    let inner = text.trim_ascii();
    match ends(inner, u8::is_ascii_graphic) {
        true => inner,
        false => text.trim(),
    }
}

/// Without the blanks and the quotes around it.
pub(crate) fn bare(cell: &str) -> &str {
    if ends(cell, u8::is_ascii_alphanumeric) {
        return cell;
    }
    trimmed(trimmed(cell).trim_matches(['"', '\'', '`']))
}

/// Whether the first and the last byte are such.
fn ends(text: &str, are: impl Fn(&u8) -> bool) -> bool {
    let bytes = text.as_bytes();
    bytes.first().is_some_and(&are) && bytes.last().is_some_and(are)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn blanks_of_all_kinds_are_taken_off(text in "[ \\t\\n\\x0b\\x0c\\r\\x1c\\u{85}\\u{a0}\\u{2003}a7é\"]{0,8}") {
            prop_assert_eq!(trimmed(&text), text.trim());
            prop_assert_eq!(bare(&text), text.trim().trim_matches(['"', '\'', '`']).trim());
        }
    }

    #[test]
    fn quotes_hold_separators() {
        assert_eq!(
            separated("a,\"b,c\",\"d\"\"e\",", b','),
            ["a", "b,c", "d\"e", ""]
        );
        assert_eq!(separated("\"a\";\"b", b';'), ["a", "b"]);
        assert_eq!(separated("\"a", b','), ["a"]);
        assert_eq!(separated("\"", b','), [""]);
        assert_eq!(separated("", b','), [""]);
    }
}
