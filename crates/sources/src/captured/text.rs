//! From the bytes of a file to lines: encodings, what mail and terminals did to them.

use std::borrow::Cow;
use std::collections::HashSet;

use super::codepage::{CP437, CP1252, CodePage};
use super::grouped::Titles;
use super::{annotation, cast, folded, margin, markup, restore, spacing};

/// Most of a file that is read. Tools print kilobytes; a forged file has no say in how much memory is taken.
pub const MAX_BYTES: usize = 4 << 20;
/// Most lines that are read: what a line costs to remember is more than a short one has bytes.
const MAX_LINES: usize = 200_000;
/// Where consoles of old wrap.
const COLUMNS: usize = 80;

/// A text, and where its lines are.
pub(crate) struct Text {
    body: String,
    /// Start and end in `body`, and the line's number in the file.
    lines: Vec<(usize, usize, u64)>,
    /// The file has more bytes or lines than what was read.
    pub(crate) cut: bool,
    /// The first line that says that others were left out.
    pub(crate) left_out: Option<u64>,
    /// Tabs stay what they are: they stand between the cells of a table that was copied.
    tabs: bool,
    /// The lines that had tabs: no console broke them.
    tabbed: Vec<usize>,
}

/// A line of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line<'t> {
    /// Its number in the file, from 1; the first one when a line was wrapped.
    pub(crate) number: u64,
    /// The line, without blanks at its end. Blanks at its beginning are kept: they may mean something.
    pub(crate) text: &'t str,
}

impl Line<'_> {
    pub(crate) fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }
}

/// True for the beginning of a file that can be text in any encoding that is read here.
pub(crate) fn looks_like_text(head: &[u8]) -> bool {
    if head.is_empty() {
        return false;
    }
    if wide(head).is_some() {
        return true;
    }
    // The letter of a partition without one is a character of number 0 for PowerShell, and printed; prompts set the title of
    // their window between an escape and a bell.
    let is_control = |byte: &u8| match byte {
        b'\t' | b'\n' | b'\r' | 0x0c | 0x1b | 0x08 | 0x1a => false,
        byte => *byte < 0x20 || *byte == 0x7f,
    };
    let allowed = head.len() / 32;
    // Most images show in their first bytes that they are none.
    let controls = head.iter().filter(|byte| is_control(byte));
    if controls.take(allowed + 1).count() > allowed {
        return false;
    }
    // Erased flash has no such characters, which every tool prints; a file of blank lines is a capture of nothing.
    let speaks = head.iter().any(u8::is_ascii_alphanumeric);
    let is_blank = head.iter().all(u8::is_ascii_whitespace);
    speaks || is_blank
}

/// Which byte of a unit of UTF-16 comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wide {
    /// The low one, as on Windows.
    LowFirst,
    /// The high one.
    HighFirst,
}

/// How UTF-16 is laid out, when the beginning of a text is that: by its mark, or because every second byte of Latin text is zero.
#[must_use]
pub fn wide(bytes: &[u8]) -> Option<Wide> {
    match bytes {
        [0xff, 0xfe, ..] => return Some(Wide::LowFirst),
        [0xfe, 0xff, ..] => return Some(Wide::HighFirst),
        _ => {}
    }
    let pairs = bytes.chunks_exact(2).take(128);
    let (mut little, mut big, mut all) = (0, 0, 0);
    for pair in pairs {
        all += 1;
        little += usize::from(pair[1] == 0 && pair[0] != 0);
        big += usize::from(pair[0] == 0 && pair[1] != 0);
    }
    if all >= 8 && little * 10 >= all * 7 {
        Some(Wide::LowFirst)
    } else if all >= 8 && big * 10 >= all * 7 {
        Some(Wide::HighFirst)
    } else {
        None
    }
}

pub(super) fn decode(bytes: &[u8]) -> Cow<'_, str> {
    if let Some(wide) = wide(bytes) {
        let order = match wide {
            Wide::LowFirst => u16::from_le_bytes,
            Wide::HighFirst => u16::from_be_bytes,
        };
        let units = bytes.chunks_exact(2).map(|pair| order([pair[0], pair[1]]));
        let text: String = char::decode_utf16(units)
            .map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER))
            .collect();
        return Cow::Owned(text.trim_start_matches('\u{feff}').to_owned());
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        // Cut in the middle of a character at the end.
        Err(error) if error.error_len().is_none() => String::from_utf8_lossy(bytes),
        Err(_) => Cow::Owned(CodePage::of(bytes).decode(bytes)),
    }
}

/// Characters without a width: pages put them where a long word may be broken.
const WIDTHLESS: [char; 6] = [
    '\u{ad}', '\u{200b}', '\u{200c}', '\u{200d}', '\u{2060}', '\u{feff}',
];

/// Without what terminals obey and what has no width, and with plain blanks for special ones.
fn bare(text: Cow<'_, str>) -> Cow<'_, str> {
    if text.is_ascii() && !text.contains('\x1b')
        || !text.contains(['\x1b', '\u{a0}', '\u{202f}']) && !text.contains(WIDTHLESS)
    {
        return text;
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\x1b' if chars.next_if_eq(&'[').is_some() => {
                while chars
                    .next_if(|c| !c.is_ascii_alphabetic() && *c != '\n')
                    .is_some()
                {}
                chars.next_if(char::is_ascii_alphabetic);
            }
            '\u{a0}' | '\u{202f}' => out.push(' '),
            c if WIDTHLESS.contains(&c) => {}
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

impl Text {
    /// The lines of a file of which `bytes` are the beginning, at most [`MAX_BYTES`].
    pub(crate) fn new(bytes: &[u8], cut: bool) -> Text {
        Text::of(bytes, cut, false)
    }

    /// As [`Self::new`], for logs and counters: times, hosts and numbers before lines stay, since they say when and whose.
    pub(super) fn of_log(bytes: &[u8]) -> Text {
        Text::of(bytes, false, true)
    }

    fn of(bytes: &[u8], cut: bool, is_log: bool) -> Text {
        let decoded = bare(cast::shown(decode(bytes)));
        // Tables of logs and counters have readers of their own.
        let decoded = match is_log {
            true => folded::mail(decoded, decode),
            false => folded::unfolded(decoded, decode),
        };
        let decoded = markup::redecoded(markup::plain(decoded), CP1252, CP437);
        let decoded = annotation::taken_off(decoded);
        let mut lines: Vec<&str> = decoded.split('\n').take(MAX_LINES + 1).collect();
        let mut numbers = folded::numbered(&mut lines);
        let hosts = if is_log {
            margin::quotes_taken_off(&mut lines);
            None
        } else if let Some(hosts) =
            folded::hosts(&mut lines).or_else(|| margin::logging_hosts(&mut lines))
        {
            Some(hosts)
        } else {
            margin::taken_off(&mut lines);
            margin::items_taken_off(&mut lines);
            let minions = margin::minions(&mut lines);
            margin::indents_taken_off(&mut lines);
            minions.or_else(|| margin::hosts(&mut lines))
        };
        let titles;
        if let Some(hosts) = &hosts {
            titles = Titles::of(hosts);
            (lines, numbers) = titles.grouped(&lines, hosts, &numbers);
        }
        let added = spacing::added(&lines);
        let mut text = Text {
            body: String::with_capacity(decoded.len()),
            // Lines of tools have some forty characters.
            lines: Vec::with_capacity(decoded.len() / 32),
            cut,
            left_out: None,
            tabs: is_log,
            tabbed: Vec::new(),
        };
        // Most texts have nothing that was taken apart.
        let mut apart = restore::is_needed(&lines).then(Vec::new);
        for (index, line) in lines.iter().enumerate() {
            let number = u64::try_from(numbers[index]).unwrap_or(u64::MAX);
            if added[index] || annotation::is_pointer(line) || annotation::is_pager(line) {
                continue;
            }
            if annotation::is_left_out(line) {
                text.left_out = text.left_out.or(Some(number));
                continue;
            }
            let line = line.trim_end_matches('\r');
            // Blanks that a console broke off the end of the line above are no blank line.
            let above = index.checked_sub(1).and_then(|above| lines.get(above));
            let of_above = !line.is_empty()
                && line.trim().is_empty()
                && above
                    .is_some_and(|above| above.trim_end_matches('\r').chars().count() == COLUMNS);
            match &mut apart {
                _ if of_above => {}
                Some(apart) => apart.push((number, Cow::Borrowed(line))),
                // The blank between two words may be what fills the line.
                None if is_log && is_filled_by_a_blank(line) => text.add(line, number),
                None => text.add_parts(line, number),
            }
        }
        for (number, line) in restore::restored(apart.unwrap_or_default()) {
            text.add_parts(&line, number);
        }
        text.unwrap_console();
        text
    }

    fn add_parts(&mut self, line: &str, number: u64) {
        if is_plain(line) {
            return self.add(line.trim_end(), number);
        }
        // A lone carriage return starts the line again, or ends it on old systems.
        for part in line.split('\r') {
            let before = self.lines.len();
            let clean = clean(part, self.tabs);
            self.add(clean.trim_end_matches(' '), number);
            if part.contains('\t') && self.lines.len() > before {
                self.tabbed.push(before);
            }
        }
    }

    fn add(&mut self, line: &str, number: u64) {
        if self.lines.len() >= MAX_LINES {
            self.cut = true;
            return;
        }
        let start = self.body.len();
        self.body.push_str(line);
        self.lines.push((start, self.body.len(), number));
        self.body.push('\n');
    }

    /// Joins lines that a console of 80 columns broke: they have exactly 80 characters, no line has more, and what follows
    /// does not begin as they do. A row of a table may have 80 characters by chance.
    fn unwrap_console(&mut self) {
        let width = |(start, end, _): &(usize, usize, u64)| match self.body.get(*start..*end) {
            // A console has no tabs, only the blanks that they come to.
            Some(line) if line.len() >= COLUMNS && !(self.tabs && line.contains('\t')) => {
                line.chars().count()
            }
            _ => 0,
        };
        let longest = self.lines.iter().map(width).max();
        if longest != Some(COLUMNS) {
            return;
        }
        let full: Vec<bool> = self
            .lines
            .iter()
            .enumerate()
            .map(|(at, line)| width(line) == COLUMNS && self.tabbed.binary_search(&at).is_err())
            .collect();
        let text = |line: &(usize, usize, u64)| &self.body[line.0..line.1];
        let dashes = |line| !text(line).trim().is_empty() && is_ruler(text(line));
        let rulers: Vec<bool> = self.lines.iter().map(dashes).collect();
        let blank = |line| text(line).trim().is_empty();
        let blanks: Vec<bool> = self.lines.iter().map(blank).collect();
        let pieces = pieces_of_tables(&rulers, &full, &blanks);
        let mut body = String::with_capacity(self.body.len());
        let mut lines: Vec<(usize, usize, u64)> = Vec::with_capacity(self.lines.len());
        let mut goes_on = false;
        let mut above = None;
        let mut ends: Vec<usize> = Vec::new();
        for (index, (line, full)) in self.lines.iter().zip(&full).enumerate() {
            let text = &self.body[line.0..line.1];
            let starts_over = text.trim().is_empty()
                || begins_with_label(text)
                || above.is_some_and(|above| is_heading(above) && is_row(text))
                // The dashes under the heading of a table may be 80 long, and their line ends there.
                || above.is_some_and(is_ruler) || is_ruler(text)
                || above.is_some_and(|above| beginning(above) == beginning(text))
                || ends_below(&ends, text);
            if (goes_on && !starts_over || pieces.contains(&index))
                && let Some(last) = lines.last_mut()
            {
                body.pop();
                if pieces.contains(&index) {
                    // Blanks at the end of a piece hold the columns behind it in their places.
                    let had = above.map_or(0, |above| above.chars().count());
                    body.extend(std::iter::repeat_n(' ', COLUMNS.saturating_sub(had)));
                }
                body.push_str(text);
                last.1 = body.len();
            } else {
                let start = body.len();
                body.push_str(text);
                lines.push((start, body.len(), line.2));
            }
            body.push('\n');
            goes_on = *full;
            above = Some(text);
            if has_no_figures(text) {
                ends = word_ends(text);
            }
        }
        (self.body, self.lines) = (body, lines);
    }

    /// The lines.
    pub(crate) fn lines(&self) -> Vec<Line<'_>> {
        let line = |&(start, end, number): &(usize, usize, u64)| Line {
            number,
            text: &self.body[start..end],
        };
        self.lines.iter().map(line).collect()
    }
}

impl Text {
    /// The lines of a text that stands in another, each with the number that it has there.
    pub(crate) fn renumbered(&self, numbers: &[u64]) -> Vec<Line<'_>> {
        let mut lines = self.lines();
        for line in &mut lines {
            let index = usize::try_from(line.number).unwrap_or(usize::MAX) - 1;
            line.number = numbers.get(index).or(numbers.last()).copied().unwrap_or(1);
        }
        lines
    }
}

/// The lines that go on with what the line above them begins, where a console broke the names of columns and the dashes below
/// them: several lines of dashes, of which all but the last are full, have as many lines of names above them, and each row below.
fn pieces_of_tables(rulers: &[bool], full: &[bool], blanks: &[bool]) -> HashSet<usize> {
    let mut pieces = HashSet::new();
    let mut at = 0;
    while at < rulers.len() {
        let count = rulers[at..].iter().take_while(|ruler| **ruler).count();
        let whole = full[at..]
            .iter()
            .take(count)
            .take_while(|full| **full)
            .count();
        let names = at.checked_sub(count).map(|from| &full[from..at]);
        let names_too = names.is_some_and(|names| names.iter().rev().skip(1).all(|full| *full));
        if count > 1 && whole + 1 == count && names_too {
            pieces.extend(at + 1 - count..at);
            pieces.extend(at + 1..at + count);
            let rows = blanks[at + count..]
                .iter()
                .take_while(|blank| !**blank)
                .count();
            let rest = (0..rows / count * count).filter(|row| row % count > 0);
            pieces.extend(rest.map(|row| at + count + row));
        }
        at += count.max(1);
    }
    pieces
}

/// As wide as a console, by one blank at its end. Consoles that fill all lines up have more of them.
fn is_filled_by_a_blank(line: &str) -> bool {
    let text = line.strip_suffix(' ').filter(|_| is_plain(line));
    text.is_some_and(|text| !text.ends_with(' ') && line.chars().count() == COLUMNS)
}

/// `Key : value` and `Key=value` stand at the beginning of a line, not at its end; so does the path of a device.
fn begins_with_label(line: &str) -> bool {
    if line.starts_with('/') && line.contains(" : ") {
        return true;
    }
    let Some(at) = line.find([':', '=']) else {
        return false;
    };
    let key = line[..at].trim();
    !key.is_empty()
        && at < 40
        && key
            .chars()
            .all(|c| c.is_alphanumeric() || " _-.()#".contains(c))
}

/// The names of columns, with two blanks or more between some. A table may be as wide as a console.
fn is_heading(line: &str) -> bool {
    let columns = line.trim().split("  ").filter(|part| !part.is_empty());
    columns.take(3).count() == 3 && !line.bytes().any(|b| b.is_ascii_digit())
}

/// May be the names of columns.
fn has_no_figures(line: &str) -> bool {
    !line.bytes().any(|b| b.is_ascii_digit())
}

/// Where the words of a line end, counted in characters.
fn word_ends(line: &str) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut blank = true;
    for (at, c) in line.chars().take(COLUMNS).enumerate() {
        if c == ' ' && !blank {
            ends.push(at);
        }
        blank = c == ' ';
    }
    ends
}

/// A row whose figures end where the names of four columns do: numbers stand at the right of their columns.
fn ends_below(ends: &[usize], line: &str) -> bool {
    ends.len() >= 4 && {
        let below = word_ends(line);
        let same = below.iter().filter(|end| ends.binary_search(end).is_ok());
        same.count() >= 4
    }
}

/// Begins like a row of a table, with figures in three words at least; what a console broke off the names of columns has none.
fn is_row(line: &str) -> bool {
    let has_digit = |word: &&str| word.bytes().any(|b| b.is_ascii_digit());
    matches!(beginning(line).first(), Some('9' | '/' | '├'))
        && line.split_whitespace().filter(has_digit).take(3).count() == 3
}

/// The shape of a line's first two words, of a path or a branch of a tree alone: rows of one table have one. Marks of a tree,
/// digits and letters are all alike.
pub(super) fn beginning(line: &str) -> Vec<char> {
    let mut shape: Vec<char> = Vec::new();
    let mut words = 0;
    let mut blank = true;
    for c in line.trim_start().chars().take(64) {
        let class = match c {
            c if c.is_ascii_digit() => '9',
            '├' | '└' | '│' | '─' | '`' | '|' => '├',
            ' ' => ' ',
            c if c.is_alphabetic() => 'a',
            c => c,
        };
        if class == ' ' {
            words += usize::from(!blank);
            let tells = matches!(shape.first(), Some('/' | '├'));
            if words == 2 || words == 1 && tells {
                break;
            }
        }
        blank = class == ' ';
        if shape.last() != Some(&class) {
            shape.push(class);
        }
    }
    shape
}

fn is_ruler(line: &str) -> bool {
    line.bytes()
        .all(|b| matches!(b, b'-' | b'=' | b' ' | b'+' | b'|' | b','))
}

/// True for a line in which nothing has to be changed: neither control characters nor the first bytes of special blanks.
fn is_plain(line: &str) -> bool {
    !line
        .bytes()
        .any(|byte| matches!(byte, 0..0x20 | 0xc2 | 0xe2))
}

/// Without escape sequences; special blanks become plain ones.
fn clean(line: &str, tabs: bool) -> Cow<'_, str> {
    if is_plain(line) {
        return Cow::Borrowed(line);
    }
    let mut out = String::with_capacity(line.len());
    let mut column = 0_usize;
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\x1b' => {
                if chars.next_if_eq(&'[').is_some() {
                    while chars.next_if(|c| !c.is_ascii_alphabetic()).is_some() {}
                    chars.next();
                }
            }
            '\x08' => column -= usize::from(out.pop().is_some()),
            '\t' if tabs => out.push('\t'),
            '\t' => {
                let to = column / 8 * 8 + 8;
                out.extend(std::iter::repeat_n(' ', to - column));
                column = to;
            }
            c if c < ' ' => {}
            c => {
                out.push(match c {
                    '\u{a0}' | '\u{202f}' => ' ',
                    // Word processors turn the quotes of JSON.
                    '“' | '”' | '„' => '"',
                    c => c,
                });
                column += 1;
            }
        }
    }
    Cow::Owned(dashed(out))
}

/// Pages for the web make one dash of two or three hyphens: rulers and titles have hyphens.
fn dashed(line: String) -> String {
    let is_dash = |c: char| matches!(c, '-' | '–' | '—');
    let count = |c: char| match c {
        '—' => 3,
        '–' => 2,
        _ => usize::from(c == '-'),
    };
    let text = line.trim_start();
    let run: usize = text.chars().take_while(|c| is_dash(*c)).map(count).sum();
    let ruler = run > 0 && text.chars().all(|c| is_dash(c) || c == ' ');
    if !line.contains(['–', '—']) || !(ruler || run >= 4) {
        return line;
    }
    line.replace('—', "---").replace('–', "--")
}

/// Which bytes a text has. Most lines lack a byte of most anchors, and that is soon seen.
#[derive(Clone, Copy)]
pub(super) struct Bytes([u64; 4]);

impl Bytes {
    pub(super) fn of(text: &str) -> Bytes {
        let mut set = [0; 4];
        for byte in text.bytes() {
            set[usize::from(byte >> 6)] |= 1 << (byte & 63);
        }
        Bytes(set)
    }

    pub(super) fn has_all(self, other: Bytes) -> bool {
        let mut pairs = self.0.iter().zip(other.0);
        pairs.all(|(mine, others)| others & !mine == 0)
    }

    pub(super) fn has_none(self, other: Bytes) -> bool {
        let mut pairs = self.0.iter().zip(other.0);
        pairs.all(|(mine, others)| others & mine == 0)
    }
}

#[cfg(test)]
mod tests;
