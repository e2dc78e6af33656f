//! The text that LVM2 keeps its metadata in: sections in braces, numbers, strings and lists of both.
//!
//! Source: lvm.conf(5), "Syntax"; the same language, as vgcfgbackup(8) writes it. Sections lie in one list, each entry
//! knowing the next one beside it and the first one in it, so that nothing recurses.

use std::ops::Range;

/// Most entries and list elements of a text: a volume takes some twenty.
const MAX_ENTRIES: usize = 1 << 18;
/// Sections in sections; real texts have five.
const MAX_DEPTH: usize = 16;
/// Longest name or string that means anything here; identifiers and names are at most 128.
const MAX_WORD: usize = 1024;

/// A text that was understood.
pub(super) struct Tree {
    text: Vec<u8>,
    entries: Vec<Entry>,
}

/// What stands under a name.
struct Entry {
    name: Range<usize>,
    kind: Kind,
    next: Option<usize>,
}

enum Kind {
    Number(u64, Range<usize>),
    /// Without its quotes, escapes not yet resolved.
    Text(Range<usize>),
    /// Floating-point numbers: nothing that matters here.
    Other,
    /// Index of the first element; elements have no name.
    List(Option<usize>),
    Section(Option<usize>),
}

/// Why a text was not understood.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Trouble {
    /// Byte of the text.
    pub(super) at: usize,
    /// What was expected there, or which limit it exceeds.
    pub(super) what: &'static str,
    /// A limit, not an error.
    pub(super) is_limit: bool,
}

/// An entry of a [`Tree`], by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Node(usize);

/// The outermost section.
pub(super) const ROOT: Node = Node(0);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Word(Range<usize>),
    Text(Range<usize>),
    Open,
    Close,
    Equals,
    ListOpen,
    ListClose,
    Comma,
    End,
}

struct Lexer<'t> {
    text: &'t [u8],
    at: usize,
}

impl Lexer<'_> {
    fn trouble(&self, what: &'static str) -> Trouble {
        Trouble {
            at: self.at,
            what,
            is_limit: false,
        }
    }

    fn limit(&self, what: &'static str) -> Trouble {
        Trouble {
            is_limit: true,
            ..self.trouble(what)
        }
    }

    fn skip(&mut self) {
        while let Some(byte) = self.text.get(self.at) {
            match byte {
                b'#' => {
                    let rest = self.text.get(self.at..).unwrap_or(&[]);
                    let line = rest.iter().position(|b| *b == b'\n');
                    self.at += line.unwrap_or(rest.len());
                }
                byte if byte.is_ascii_whitespace() => self.at += 1,
                _ => break,
            }
        }
    }

    /// The next token, and where it starts.
    fn next(&mut self) -> Result<(Token, usize), Trouble> {
        self.skip();
        let start = self.at;
        // The writer ends its text with a zero, which belongs to it.
        let Some(byte) = self.text.get(self.at).filter(|byte| **byte != 0) else {
            return Ok((Token::End, start));
        };
        let single = match byte {
            b'{' => Some(Token::Open),
            b'}' => Some(Token::Close),
            b'=' => Some(Token::Equals),
            b'[' => Some(Token::ListOpen),
            b']' => Some(Token::ListClose),
            b',' => Some(Token::Comma),
            _ => None,
        };
        if let Some(token) = single {
            self.at += 1;
            return Ok((token, start));
        }
        if *byte == b'"' {
            return self.string().map(|text| (Token::Text(text), start));
        }
        let ends = |b: &u8| {
            b.is_ascii_whitespace()
                || matches!(b, b'{' | b'}' | b'=' | b'[' | b']' | b',' | b'"' | b'#' | 0)
        };
        let rest = self.text.get(start..).unwrap_or(&[]);
        let len = rest.iter().position(ends).unwrap_or(rest.len());
        if len > MAX_WORD {
            return Err(self.limit("a name of at most 1,024 bytes"));
        }
        self.at += len;
        Ok((Token::Word(start..self.at), start))
    }

    fn string(&mut self) -> Result<Range<usize>, Trouble> {
        let start = self.at + 1;
        let mut at = start;
        loop {
            match self.text.get(at) {
                Some(b'"') => break,
                Some(b'\\') => at += 2,
                Some(0) | None => return Err(self.trouble("the end of this string")),
                Some(_) => at += 1,
            }
        }
        self.at = at + 1;
        Ok(start..at)
    }
}

struct Parser<'t> {
    lexer: Lexer<'t>,
    entries: Vec<Entry>,
    /// Sections that are open, and the last entry in each.
    open: Vec<(usize, Option<usize>)>,
}

impl Parser<'_> {
    fn push(&mut self, name: Range<usize>, kind: Kind) -> Result<usize, Trouble> {
        if self.entries.len() >= MAX_ENTRIES {
            return Err(self.lexer.limit("at most 262,144 entries"));
        }
        self.entries.push(Entry {
            name,
            kind,
            next: None,
        });
        Ok(self.entries.len() - 1)
    }

    /// Adds an entry to the section that is open.
    fn add(&mut self, name: Range<usize>, kind: Kind) -> Result<usize, Trouble> {
        let new = self.push(name, kind)?;
        if let Some((section, last)) = self.open.last_mut() {
            let before = last.replace(new);
            let section = *section;
            self.link(section, before, new);
        }
        Ok(new)
    }

    /// Puts `new` behind `before`, or first into `parent`.
    fn link(&mut self, parent: usize, before: Option<usize>, new: usize) {
        match before {
            Some(before) => {
                if let Some(entry) = self.entries.get_mut(before) {
                    entry.next = Some(new);
                }
            }
            None => {
                if let Some(Entry {
                    kind: Kind::Section(first) | Kind::List(first),
                    ..
                }) = self.entries.get_mut(parent)
                {
                    *first = Some(new);
                }
            }
        }
    }

    fn value(&mut self, token: Token) -> Result<Kind, Trouble> {
        match token {
            Token::Text(range) => Ok(Kind::Text(range)),
            Token::Word(range) => {
                let word = self.lexer.text.get(range.clone()).unwrap_or(&[]);
                let text = std::str::from_utf8(word).unwrap_or("");
                Ok(match text.parse() {
                    Ok(number) => Kind::Number(number, range),
                    Err(_) => Kind::Other,
                })
            }
            _ => Err(self.lexer.trouble("a value")),
        }
    }

    fn list(&mut self, list: usize) -> Result<(), Trouble> {
        let mut last = None;
        loop {
            match self.lexer.next()? {
                (Token::ListClose, _) => return Ok(()),
                (Token::Comma, _) => {}
                (token, at) => {
                    let value = self.value(token)?;
                    let new = self.push(at..at, value)?;
                    self.link(list, last, new);
                    last = Some(new);
                }
            }
        }
    }

    fn run(&mut self) -> Result<(), Trouble> {
        loop {
            let (token, at) = self.lexer.next()?;
            let name = match token {
                Token::Word(name) | Token::Text(name) => name,
                Token::Close if self.open.len() > 1 => {
                    self.open.pop();
                    continue;
                }
                Token::End if self.open.len() == 1 => return Ok(()),
                Token::End => return Err(self.lexer.trouble("the end of a section")),
                _ => {
                    self.lexer.at = at;
                    return Err(self.lexer.trouble("a name"));
                }
            };
            match self.lexer.next()? {
                (Token::Open, _) => {
                    if self.open.len() >= MAX_DEPTH {
                        return Err(self.lexer.limit("at most 16 sections in each other"));
                    }
                    let new = self.add(name, Kind::Section(None))?;
                    self.open.push((new, None));
                }
                (Token::Equals, _) => match self.lexer.next()? {
                    (Token::ListOpen, _) => {
                        let list = self.add(name, Kind::List(None))?;
                        self.list(list)?;
                    }
                    (token, _) => {
                        let value = self.value(token)?;
                        self.add(name, value)?;
                    }
                },
                (_, at) => {
                    self.lexer.at = at;
                    return Err(self.lexer.trouble("`=` or `{`"));
                }
            }
        }
    }
}

impl Tree {
    /// Understands a text, or as much of it as there is: what came before the trouble is kept.
    pub(super) fn parse(text: Vec<u8>) -> (Tree, Option<Trouble>) {
        let mut parser = Parser {
            lexer: Lexer { text: &text, at: 0 },
            entries: vec![Entry {
                name: 0..0,
                kind: Kind::Section(None),
                next: None,
            }],
            open: vec![(0, None)],
        };
        let trouble = parser.run().err();
        let entries = parser.entries;
        (Tree { text, entries }, trouble)
    }

    fn entry(&self, node: Node) -> Option<&Entry> {
        self.entries.get(node.0)
    }

    fn bytes(&self, range: &Range<usize>) -> &[u8] {
        self.text.get(range.clone()).unwrap_or(&[])
    }

    /// The entries of a section, or the elements of a list, in order.
    pub(super) fn children(&self, node: Node) -> impl Iterator<Item = Node> {
        let first = match self.entry(node) {
            Some(Entry {
                kind: Kind::Section(first) | Kind::List(first),
                ..
            }) => *first,
            _ => None,
        };
        std::iter::successors(first, |at| self.entries.get(*at)?.next).map(Node)
    }

    /// The entry with this name; the first one, should there be several.
    pub(super) fn get(&self, section: Node, name: &str) -> Option<Node> {
        self.children(section)
            .find(|child| self.name_bytes(*child) == name.as_bytes())
    }

    fn name_bytes(&self, node: Node) -> &[u8] {
        self.entry(node)
            .map_or(&[], |entry| self.bytes(&entry.name))
    }

    /// The name of an entry; what is not printable is replaced.
    pub(super) fn name(&self, node: Node) -> String {
        crate::record::printable(self.name_bytes(node))
    }

    pub(super) fn is_section(&self, node: Node) -> bool {
        matches!(self.entry(node), Some(entry) if matches!(entry.kind, Kind::Section(_)))
    }

    /// The value of an entry, when it is a number.
    pub(super) fn value(&self, node: Node) -> Option<u64> {
        match self.entry(node)?.kind {
            Kind::Number(number, _) => Some(number),
            _ => None,
        }
    }

    /// The value of an entry, when it is a string: escapes resolved, what is not printable replaced.
    pub(super) fn string(&self, node: Node) -> Option<String> {
        let Kind::Text(range) = &self.entry(node)?.kind else {
            return None;
        };
        let raw = self.bytes(range);
        let mut out = Vec::with_capacity(raw.len().min(MAX_WORD));
        let mut bytes = raw.iter();
        while let Some(byte) = bytes.next() {
            let byte = if *byte == b'\\' {
                bytes.next()
            } else {
                Some(byte)
            };
            out.extend(byte);
            if out.len() >= MAX_WORD {
                break;
            }
        }
        Some(crate::record::printable(&out))
    }

    /// The number under a name.
    pub(super) fn number(&self, section: Node, name: &str) -> Option<u64> {
        self.value(self.get(section, name)?)
    }

    /// The string under a name.
    pub(super) fn text(&self, section: Node, name: &str) -> Option<String> {
        self.string(self.get(section, name)?)
    }

    /// True when the list under a name has this string.
    pub(super) fn has(&self, section: Node, name: &str, want: &str) -> bool {
        let list = self.get(section, name);
        list.is_some_and(|list| {
            self.children(list)
                .any(|child| self.string(child).as_deref() == Some(want))
        })
    }

    /// Where an entry stands in the text: its value when it is a number or a string, otherwise its name.
    pub(super) fn place(&self, node: Node) -> Range<usize> {
        match self.entry(node) {
            Some(Entry {
                kind: Kind::Number(_, range) | Kind::Text(range),
                ..
            }) => range.clone(),
            Some(entry) => entry.name.clone(),
            None => 0..0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(text: &str) -> (Tree, Option<Trouble>) {
        Tree::parse(text.as_bytes().to_vec())
    }

    #[test]
    fn sections_numbers_strings_and_lists() {
        let (tree, trouble) = parse(
            "# comment {\nvg {\nid = \"a\\\"b\\\\c\" # x\nseqno = 7\nlist=[\"p\", 1,\n 2]\nempty = []\ninner { x = 1.5 }\n}\nversion = 1\n\0",
        );
        assert_eq!(trouble, None);
        let vg = tree.get(ROOT, "vg").expect("a section");
        assert!(tree.is_section(vg));
        assert_eq!(tree.text(vg, "id").as_deref(), Some("a\"b\\c"));
        assert_eq!(tree.number(vg, "seqno"), Some(7));
        let list = tree.get(vg, "list").expect("a list");
        let values: Vec<_> = tree.children(list).map(|node| tree.value(node)).collect();
        assert_eq!(values, [None, Some(1), Some(2)]);
        assert!(tree.has(vg, "list", "p") && !tree.has(vg, "empty", "p"));
        let inner = tree.get(vg, "inner").expect("a section");
        assert_eq!(tree.number(inner, "x"), None);
        assert_eq!(tree.number(ROOT, "version"), Some(1));
    }

    #[test]
    fn what_comes_before_the_trouble_is_kept() {
        for (text, at, what) in [
            ("vg { seqno = 1", 14, "the end of a section"),
            ("vg { seqno = 1 x", 16, "`=` or `{`"),
            ("vg { seqno = 1 x = }", 20, "a value"),
            ("vg { seqno = 1 x = \"abc", 19, "the end of this string"),
            ("vg { seqno = 1 }}", 16, "a name"),
        ] {
            let (tree, trouble) = parse(text);
            let trouble = trouble.expect("trouble");
            assert_eq!(
                (trouble.at, trouble.what, trouble.is_limit),
                (at, what, false),
                "{text}"
            );
            let vg = tree.get(ROOT, "vg").expect("a section");
            assert_eq!(tree.number(vg, "seqno"), Some(1), "{text}");
        }
    }

    #[test]
    fn depth_entries_and_names_are_bounded() {
        let deep = "a {".repeat(100_000);
        assert!(parse(&deep).1.is_some_and(|t| t.is_limit && t.at < 100));
        let many = "a=1\n".repeat(MAX_ENTRIES + 1);
        assert!(parse(&many).1.is_some_and(|t| t.is_limit));
        let list = format!("a=[{}]", "1,".repeat(MAX_ENTRIES + 1));
        assert!(parse(&list).1.is_some_and(|t| t.is_limit));
        assert!(parse(&"n".repeat(2000)).1.is_some_and(|t| t.is_limit));
    }

    proptest! {
        #[test]
        fn any_text_is_read_to_its_end_or_to_its_trouble(text in "([a-z]{1,3}|[0-9]{1,22}|[{}=,#\"\\\\\n]|\\[|\\]| ){0,60}") {
            let (tree, trouble) = parse(&text);
            if let Some(trouble) = trouble {
                prop_assert!(trouble.at <= text.len());
            }
            for child in tree.children(ROOT) {
                tree.name(child);
                tree.string(child);
            }
        }
    }
}
