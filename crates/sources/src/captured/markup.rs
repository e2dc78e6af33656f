//! Text out of pages of the web, and text that was decoded by the wrong table on its way.

use std::borrow::Cow;

/// Without tags and entities, when it is a piece of a page.
pub(super) fn plain(text: Cow<'_, str>) -> Cow<'_, str> {
    let marks = [
        "&nbsp;",
        "&quot;",
        "&lt;",
        "<pre",
        "<code",
        "<br",
        "</p>",
        "</div>",
        "&#160;",
        "</b>",
        "</i>",
        "</u>",
        "</em>",
        "</strong>",
        "</span>",
        "</font>",
        "</mark>",
        "</td>",
        "</th>",
    ];
    let text = objects(forum(text));
    let page = text.contains(['<', '&'])
        && marks.iter().any(|mark| text.contains(mark))
        && !text.contains("<Objs");
    match page {
        true => Cow::Owned(entities(&tags(&text))),
        false => text,
    }
}

/// Objects in XML as `Key=value` lines: `wmic … /format:rawxml`, `ConvertTo-Xml`.
fn objects(text: Cow<'_, str>) -> Cow<'_, str> {
    let has = |name: &str| text.contains(name);
    if has("<MsInfo>") {
        return Cow::Owned(items(&text));
    }
    if !(has("<PROPERTY ") && has("<INSTANCE ") || has("<Property ") && has("<Object")) {
        return text;
    }
    let mut out = String::with_capacity(text.len() / 2);
    let mut rest = &*text;
    // The line of a property that is open.
    let mut open = false;
    while let Some(at) = rest.find('<') {
        if open {
            out.push_str(rest[..at].trim());
        }
        let inner = &rest[at + 1..];
        let Some(end) = inner.find('>') else { break };
        let tag = &inner[..end];
        rest = &inner[end + 1..];
        let name = tag.split([' ', '\n', '\t']).next().unwrap_or_default();
        match name.trim_end_matches('/').to_ascii_lowercase().as_str() {
            "instance" | "object" => {
                end_line(&mut out);
                out.push('\n');
            }
            "results" => {
                if let Some(node) = attribute(tag, "NODE") {
                    end_line(&mut out);
                    out.push_str("### host: ");
                    out.push_str(node);
                    out.push('\n');
                }
            }
            "property" => {
                end_line(&mut out);
                if let Some(key) = attribute(tag, "NAME").or_else(|| attribute(tag, "Name")) {
                    out.push_str(key);
                    out.push('=');
                    open = !tag.ends_with('/');
                }
            }
            "/property" => {
                open = false;
                end_line(&mut out);
            }
            _ => {}
        }
    }
    Cow::Owned(out)
}

/// The file that `msinfo32` saves, as its report has it: `Item`, a tab, `Value`.
fn items(text: &str) -> String {
    let mut out = String::with_capacity(text.len() / 2);
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        let inner = &rest[at + 1..];
        if let Some(data) = inner.strip_prefix("![CDATA[") {
            let end = data.find("]]>").unwrap_or(data.len());
            out.extend(data[..end].chars().filter(|c| *c != '\n'));
            rest = &data[end..];
            continue;
        }
        let Some(end) = inner.find('>') else { break };
        match &inner[..end] {
            "/Item" => out.push('\t'),
            "/Data" => end_line(&mut out),
            tag => {
                if let Some(name) = attribute(tag, "name").filter(|_| tag.starts_with("Category "))
                {
                    end_line(&mut out);
                    out.push_str(&format!("\n[{name}]\n"));
                }
            }
        }
        rest = &inner[end + 1..];
    }
    out
}

/// The value of an attribute of a tag.
fn attribute<'t>(tag: &'t str, name: &str) -> Option<&'t str> {
    let at = tag.match_indices(name).find(|(at, _)| {
        tag[..*at].ends_with([' ', '\n', '\t']) && tag[at + name.len()..].starts_with("=\"")
    });
    let value = &tag[at?.0 + name.len() + 2..];
    value.split('"').next()
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

/// Text without tags. Rows of tables become those of Markdown.
fn tags(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut in_row = false;
    while let Some(at) = rest.find('<') {
        push(&mut out, &rest[..at], in_row);
        let inner = &rest[at + 1..];
        let Some(end) = tag_end(inner) else {
            out.push('<');
            rest = inner;
            continue;
        };
        let tag = inner[..end].to_ascii_lowercase();
        rest = &inner[end + 1..];
        let name = tag
            .split([' ', '/', '\n', '\t'])
            .find(|part| !part.is_empty());
        let closes = tag.starts_with('/');
        match name.unwrap_or_default() {
            // Where the source has a line of its own for each, it is one line.
            "br" if !in_row && rest.trim_start_matches([' ', '\r']).starts_with('\n') => {}
            "br" => out.push(if in_row { ' ' } else { '\n' }),
            "p" if closes => out.push('\n'),
            // Editors make one of each line.
            "div" if closes && !in_row && !rest.starts_with(['\n', '\r']) => end_line(&mut out),
            "tr" => {
                if in_row {
                    out.push_str(" |");
                }
                end_line(&mut out);
                in_row = !closes;
            }
            // What stands in a cell as it is has lines of its own.
            "pre" if !closes && in_row => {
                in_row = false;
                end_line(&mut out);
            }
            "table" => {
                in_row = false;
                end_line(&mut out);
                out.push('\n');
            }
            "td" | "th" if !closes && in_row => {
                let first = out.is_empty() || out.ends_with('\n');
                out.push_str(if first { "| " } else { " | " });
            }
            // `wmic` keeps empty cells open with a dot that nobody sees.
            "span" if tag.contains("height:1px") => {
                let near = rest.as_bytes();
                let near = &near[..near.len().min(LONGEST_TAG)];
                let close = near.windows(7).position(|part| part == b"</span>");
                rest = close.map_or(rest, |at| &rest[at..]);
            }
            _ => {}
        }
    }
    push(&mut out, rest, false);
    out
}

/// Where the tag ends that a text begins with behind its `<`.
fn tag_end(text: &str) -> Option<usize> {
    let named = text.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '/' | '!'));
    let near = text
        .bytes()
        .take(LONGEST_TAG)
        .position(|b| matches!(b, b'>' | b'\n'))?;
    (named && text.as_bytes()[near] == b'>').then_some(near)
}

/// Adds a piece of text; in a row of a table the end of a line is a blank.
fn push(out: &mut String, text: &str, in_row: bool) {
    match in_row {
        true => out.extend(text.chars().map(|c| if c == '\n' { ' ' } else { c })),
        false => out.push_str(text),
    }
}

/// Ends the line, if there is anything in it.
fn end_line(out: &mut String) {
    if !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
}

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
mod tests {
    use super::*;

    #[test]
    fn pages_become_text() {
        let page = "<pre>\nDisk &quot;x&quot;&nbsp; 1 &lt; 2<br>a &amp; b</pre>";
        assert_eq!(plain(page.into()), "\nDisk \"x\"  1 < 2\na & b");
        let forum = "[b]sda[/b] [color=red]63[/color] [SWAP] [Color=#f00]x[/COLOR] [u]";
        assert_eq!(plain(forum.into()), "sda 63 [SWAP] x [u]");
        assert_eq!(plain("<b>63</b> 4".into()), "63 4");
        let editor = "<div>a&nbsp; b</div><div>c</div>\n<div>d</div>\n";
        assert_eq!(plain(editor.into()), "a  b\nc\nd\n");
        let table = "<table><tr><th>Name</th><th>Size</th></tr>\n<tr><td>a\nb<span style=\"height:1px\">.</span></td><td>5</td></tr></table>x";
        assert_eq!(plain(table.into()), "\n| Name | Size |\n\n| a b | 5 |\n\nx");
        let xml = "<RESULTS NODE=\"A\"><CIM><INSTANCE CLASSNAME=\"X\"><PROPERTY NAME=\"Index\" TYPE=\"uint32\"><VALUE>1</VALUE>\
                   </PROPERTY><PROPERTY NAME=\"Model\"></PROPERTY></INSTANCE></CIM></RESULTS>";
        let nfo = "<MsInfo><Data>\n<Item><![CDATA[Size]]></Item>\n<Value><![CDATA[5 bytes]]></Value>\n</Data></MsInfo>";
        assert_eq!(plain(nfo.into()), "Size\t5 bytes\n");
        assert_eq!(plain(xml.into()), "### host: A\n\nIndex=1\nModel=\n");
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
