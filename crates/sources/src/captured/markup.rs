//! Text out of pages of the web, and text that was decoded by the wrong table on its way.

use std::borrow::Cow;

/// Without tags and entities, when it is a piece of a page.
pub(super) fn plain(text: Cow<'_, str>) -> Cow<'_, str> {
    let marks = [
        "</td>",
        "&nbsp;",
        "&quot;",
        "&lt;",
        "<pre",
        "<code",
        "<br",
        "</p>",
        "&#160;",
        "</b>",
        "</i>",
        "</u>",
        "</em>",
        "</strong>",
        "</span>",
        "</font>",
        "</mark>",
    ];
    let text = forum(text);
    let page = text.contains(['<', '&'])
        && marks.iter().any(|mark| text.contains(mark))
        && !text.contains("<Objs");
    match page {
        true => Cow::Owned(entities(&tags(&text))),
        false => text,
    }
}

/// Tags of forums: `[color=red]63[/color]`.
const FORUM: [&str; 16] = [
    "color",
    "b",
    "i",
    "u",
    "s",
    "size",
    "code",
    "quote",
    "font",
    "pre",
    "highlight",
    "mark",
    "bg",
    "strong",
    "em",
    "spoiler",
];

/// Without the tags of forums. Tools have words in brackets too, but none that are closed.
fn forum(text: Cow<'_, str>) -> Cow<'_, str> {
    if !text.contains("[/") {
        return text;
    }
    let name = |tag: &str| {
        let name = tag.split('=').next().unwrap_or(tag);
        FORUM
            .iter()
            .position(|known| known.eq_ignore_ascii_case(name))
    };
    let tag = |rest: &str| {
        let end = rest
            .bytes()
            .take(LONGEST_TAG)
            .position(|b| matches!(b, b']' | b'\n'))?;
        (rest.as_bytes()[end] == b']').then_some(end)
    };
    let mut closed = [false; FORUM.len()];
    for (at, _) in text.match_indices("[/") {
        let rest = &text[at + 2..];
        if let Some(known) = tag(rest).and_then(|end| name(&rest[..end])) {
            closed[known] = true;
        }
    }
    if !closed.contains(&true) {
        return text;
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = &*text;
    while let Some(at) = rest.find('[') {
        out.push_str(&rest[..at]);
        let inner = &rest[at + 1..];
        let end = tag(inner).filter(|end| {
            let inner = &inner[..*end];
            name(inner.strip_prefix('/').unwrap_or(inner)).is_some_and(|known| closed[known])
        });
        rest = match end {
            Some(end) => &inner[end + 1..],
            None => {
                out.push('[');
                inner
            }
        };
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Longest tag.
const LONGEST_TAG: usize = 200;

fn tags(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    // Cells of the row of a table that is open, and the ends of lines within it.
    let mut cells: Option<usize> = None;
    let mut broken = 0;
    while let Some(at) = rest.find('<') {
        match cells {
            Some(_) => {
                broken += rest[..at].matches('\n').count();
                out.push_str(&rest[..at].replace(['\n', '\r'], " "));
            }
            None => out.push_str(&rest[..at]),
        }
        let tag = &rest[at + 1..];
        let named = tag.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '/' | '!'));
        let near = tag
            .bytes()
            .take(LONGEST_TAG)
            .position(|b| matches!(b, b'>' | b'\n'));
        match near.filter(|end| named && tag.as_bytes()[*end] == b'>') {
            Some(end) => {
                let tag_text = tag[..end].to_ascii_lowercase();
                let name = tag_text.split([' ', '/']).find(|name| !name.is_empty());
                let closes = tag_text.starts_with('/');
                rest = &tag[end + 1..];
                match (name.unwrap_or_default(), closes) {
                    ("br", _) | ("p", true) => out.push('\n'),
                    ("tr", false) => cells = Some(0),
                    ("td" | "th", false) => {
                        if let Some(cells) = &mut cells {
                            *cells += 1;
                            out.push('|');
                        }
                    }
                    // Cells may have lines of their own in the page, and are one line of the table.
                    ("tr", true) => {
                        if let Some(1..) = cells.take() {
                            out.push('|');
                            if !ends_line(rest) {
                                out.push('\n');
                            }
                        }
                        out.extend(std::iter::repeat_n('\n', std::mem::take(&mut broken)));
                    }
                    _ => {}
                }
            }
            None => {
                out.push('<');
                rest = tag;
            }
        }
    }
    out.push_str(rest);
    out
}

/// True when nothing but tags that close something stands before the end of the line.
fn ends_line(mut rest: &str) -> bool {
    for _ in 0..MOST_CLOSED {
        rest = rest.trim_start_matches([' ', '\t']);
        let Some(tag) = rest.strip_prefix("</") else {
            break;
        };
        let Some(end) = tag.bytes().take(LONGEST_TAG).position(|b| b == b'>') else {
            break;
        };
        rest = &tag[end + 1..];
    }
    rest.is_empty() || rest.starts_with(['\r', '\n'])
}

/// Most tags that are closed behind a row.
const MOST_CLOSED: usize = 8;

const ENTITIES: [(&str, char); 6] = [
    ("nbsp", ' '),
    ("lt", '<'),
    ("gt", '>'),
    ("amp", '&'),
    ("quot", '"'),
    ("apos", '\''),
];

fn entities(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        let behind = &rest[at + 1..];
        let end = behind.bytes().take(10).position(|b| b == b';');
        let found = end.and_then(|end| {
            let name = &behind[..end];
            let number = name
                .strip_prefix('#')
                .and_then(|digits| match digits.strip_prefix('x') {
                    Some(hex) => u32::from_str_radix(hex, 16).ok(),
                    None => digits.parse().ok(),
                });
            let named = ENTITIES.iter().find(|(known, _)| *known == name);
            let c = named.map(|(_, c)| *c).or(number.and_then(char::from_u32))?;
            Some((c, end))
        });
        match found {
            Some((c, end)) => {
                out.push(if c == '\u{a0}' { ' ' } else { c });
                rest = &behind[end + 1..];
            }
            None => {
                out.push('&');
                rest = behind;
            }
        }
    }
    out.push_str(rest);
    out
}

/// Lines of a tree whose marks were decoded by code page 1252, 437 or 850 instead of UTF-8: `â”œâ”€sda1`.
pub(super) fn redecoded<'t>(text: Cow<'t, str>, cp1252: &str, cp437: &str) -> Cow<'t, str> {
    let (western, dos) = ("â”", ["Γö", "Ôö"]);
    let is_western = text.contains(western);
    if !is_western && !dos.iter().any(|mark| text.contains(mark)) {
        return text;
    }
    let upper: Vec<char> = match is_western {
        true => cp1252.chars().chain('\u{a0}'..='\u{ff}').collect(),
        false => cp437.chars().collect(),
    };
    let byte = |c: char| -> Option<u8> {
        if c.is_ascii() {
            return u8::try_from(c).ok();
        }
        // Code page 850 has another letter where 437 has a Greek one.
        if c == 'Ô' && !is_western {
            return Some(0xe2);
        }
        let at = upper.iter().position(|other| *other == c)?;
        u8::try_from(at + 0x80).ok()
    };
    let line = |line: &str| -> Option<String> {
        let bytes: Option<Vec<u8>> = line.chars().map(byte).collect();
        String::from_utf8(bytes?).ok()
    };
    let lines = text
        .split('\n')
        .map(|text| line(text).unwrap_or_else(|| text.to_owned()));
    Cow::Owned(lines.collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod table_tests {
    use super::plain;

    #[test]
    fn rows_of_tables_are_lines_with_bars() {
        let text = "<table><thead><tr><th>NAME</th><th>START</th></tr></thead>\n<tbody>\n<tr>\n <td>sda1</td>\n <td>63</td>\n</tr>\n<tr><td>sda2</td><td></td></tr><tr><td>a</td></tr></tbody></table>";
        let lines: Vec<String> = plain(text.into())
            .split('\n')
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        let expected = [
            "|NAME|START|",
            "",
            "|sda1 |63 |",
            "",
            "",
            "",
            "|sda2||",
            "|a|",
        ];
        assert_eq!(lines, expected);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_become_text() {
        let page = "<pre>\nDisk &quot;x&quot;&nbsp; 1 &lt; 2<br>a &amp; b</pre>";
        assert_eq!(plain(page.into()), "\nDisk \"x\"  1 < 2\na & b");
        let forum = "[b]sda[/b] [color=red]63[/color] [SWAP] [Color=#f00]x[/COLOR] [u]";
        assert_eq!(plain(forum.into()), "sda 63 [SWAP] x [u]");
        assert_eq!(plain("<b>63</b> 4".into()), "63 4");
        for text in ["a < b & c", "<none>  x", "1 <2> 3", "[b] [/dev/sda]"] {
            assert_eq!(plain(text.into()), text);
        }
    }

    #[test]
    fn marks_of_trees_are_decoded_again() {
        let cp1252: String = "€\u{81}‚ƒ„…†‡ˆ‰Š‹Œ\u{8d}Ž\u{8f}\u{90}‘’“”•–—˜™š›œ\u{9d}žŸ".into();
        let found = redecoded("sda\nâ”œâ”€sda1".into(), &cp1252, "");
        assert_eq!(found, "sda\n├─sda1");
        assert_eq!(redecoded("Größe".into(), &cp1252, ""), "Größe");
    }
}
