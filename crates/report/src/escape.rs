//! Text from outside as each form may hold it: names of files, labels, captured lines, words of profiles and job files.
//!
//! One function for each form, applied where text enters it. What none of them lets through raw are the characters that
//! [`is_unprintable`] names: a terminal obeys them, or shows the text in another order than it has, or shows nothing.

use std::borrow::Cow;
use std::fmt::Write;

/// True for control characters (C0, DEL, C1), for characters that change the direction or the lines of text, and for those
/// that are invisible (the format controls of Unicode's general category Cf that have no glyph).
#[must_use]
pub fn is_unprintable(c: char) -> bool {
    // Nearly all that is asked about is ASCII, where only controls are.
    if c.is_ascii() {
        return c.is_ascii_control();
    }
    c.is_control()
        || matches!(
            c,
            '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

/// Text for a terminal, in one line: `\n`, `\r`, `\t` and `\u{1b}` stand for what would not be shown. A backslash stays one.
#[must_use]
pub fn terminal(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unprintable) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_unprintable(c) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// A whole text for a terminal, made by this crate: line breaks, tabs and styles are its own. Whatever else a terminal would
/// obey is a name that passed [`terminal`] by, and is escaped here.
#[must_use]
pub fn page(text: &str) -> Cow<'_, str> {
    let is_foreign = |c: char| is_unprintable(c) && !matches!(c, '\n' | '\t');
    if !text.contains(is_foreign) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some((at, c)) = rest.char_indices().find(|(_, c)| is_foreign(*c)) {
        let (shown, from) = rest.split_at(at);
        out.push_str(shown);
        let taken = match style(from) {
            0 => {
                out.extend(c.escape_default());
                c.len_utf8()
            }
            style => {
                out.push_str(&from[..style]);
                style
            }
        };
        rest = &from[taken..];
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// The length of the style (`ESC [ 1 ; 31 m`) that a text begins with; 0 when it begins with none.
fn style(text: &str) -> usize {
    let Some(rest) = text.strip_prefix("\u{1b}[") else {
        return 0;
    };
    let figures = rest
        .bytes()
        .take_while(|b| b.is_ascii_digit() || *b == b';');
    let figures = figures.count();
    match rest.as_bytes().get(figures) {
        Some(b'm') => "\u{1b}[".len() + figures + 1,
        _ => 0,
    }
}

/// A cell of CSV. A spreadsheet takes a cell that begins with one of `= + - @` for a formula: such a cell, unless it is a
/// number, gets an apostrophe in front, also behind a semicolon, which is where some spreadsheets begin another cell.
/// Unprintable characters are written as on a [`terminal`].
#[must_use]
pub fn cell(text: &str) -> Cow<'_, str> {
    let text = terminal(text);
    if !text.contains(is_formula) || text.parse::<f64>().is_ok() {
        return text;
    }
    let mut out = String::with_capacity(text.len() + 1);
    let mut begins = true;
    for c in text.chars() {
        if begins && is_formula(c) {
            out.push('\'');
        }
        begins = c == ';' || (begins && (c.is_whitespace() || c == '"'));
        out.push(c);
    }
    Cow::Owned(out)
}

/// True for what makes a formula of a cell, also in its full-width form.
fn is_formula(c: char) -> bool {
    matches!(
        c,
        '=' | '+' | '-' | '@' | '\u{ff1d}' | '\u{ff0b}' | '\u{ff0d}' | '\u{ff20}'
    )
}

/// Text as XML holds it, between tags or in an attribute.
#[must_use]
pub fn xml(text: &str) -> String {
    let text = terminal(text);
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            // No XML document may hold these two.
            '\u{fffe}' | '\u{ffff}' => out.push(char::REPLACEMENT_CHARACTER),
            c => out.push(c),
        }
    }
    out
}

/// A character of a JSON string as `\uXXXX`, beyond the first plane as two of them. What a parser reads is the character.
pub(crate) fn json(c: char) -> String {
    let mut out = String::new();
    for unit in c.encode_utf16(&mut [0; 2]) {
        let _ = write!(out, "\\u{unit:04x}");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_shown() {
        assert_eq!(terminal("a\\b \u{e9}\u{4e2d}"), "a\\b \u{e9}\u{4e2d}");
        assert_eq!(terminal("a\u{1b}[31m\r\n\tb"), "a\\u{1b}[31m\\r\\n\\tb");
        assert_eq!(
            terminal("\u{7f}\u{9b}2J\u{202e}\u{61c}\u{2028}\u{feff}\u{e0041}"),
            "\\u{7f}\\u{9b}2J\\u{202e}\\u{61c}\\u{2028}\\u{feff}\\u{e0041}"
        );
    }

    #[test]
    fn a_page_keeps_its_styles_and_lines_and_nothing_else() {
        let own = "\u{1b}[1m\u{1b}[31merror\u{1b}[0m:\n\ta\u{1b}[m";
        assert_eq!(page(own), own);
        assert_eq!(
            page("\u{1b}[1m\u{1b}[2J\u{1b}]0;t\u{7}\r\u{1b}[1"),
            "\u{1b}[1m\\u{1b}[2J\\u{1b}]0;t\\u{7}\\r\\u{1b}[1"
        );
    }

    #[test]
    fn a_cell_is_no_formula_and_a_number_stays_one() {
        for number in ["-3.5", "+1", "0", "-1e-3"] {
            assert_eq!(cell(number), number);
        }
        for (text, expected) in [
            ("=1+1", "'=1+1"),
            ("-2+cmd|' /C calc'!A0", "'-2+cmd|' /C calc'!A0"),
            ("@SUM(1)", "'@SUM(1)"),
            ("+4K", "'+4K"),
            ("  =1", "  '=1"),
            ("\t=1", "\\t=1"),
            ("\r=1", "\\r=1"),
            ("\u{ff1d}1", "'\u{ff1d}1"),
            ("a;=1;b", "a;'=1;b"),
            ("\"=1", "\"'=1"),
            ("a-b=c", "a-b=c"),
        ] {
            assert_eq!(cell(text), expected, "{text:?}");
        }
    }

    #[test]
    fn xml_holds_no_markup() {
        assert_eq!(
            xml("<a b='\"'>&\u{1b}\u{ffff}"),
            "&lt;a b=&apos;&quot;&apos;&gt;&amp;\\u{1b}\u{fffd}"
        );
    }

    #[test]
    fn json_has_surrogates_beyond_the_first_plane() {
        assert_eq!(json('\u{9b}'), "\\u009b");
        assert_eq!(json('\u{e0041}'), "\\udb40\\udc41");
    }
}
