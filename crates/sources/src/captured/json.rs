//! JSON in which every value knows its line.

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt;

use super::text::Line;

/// A value in a JSON text. Nothing below it is looked at before it is asked for.
#[derive(Clone, Copy)]
pub(crate) struct Json<'t> {
    raw: &'t str,
    place: Place<'t>,
}

/// The whole text that a value is part of, and the lines that it came from.
#[derive(Clone, Copy)]
struct Place<'t> {
    whole: &'t str,
    lines: &'t [Line<'t>],
    /// Where each line begins in `whole`.
    starts: &'t [usize],
}

/// The members of a JSON object, in their order.
pub(crate) struct Object<'t> {
    /// The line it begins in.
    pub(crate) line: Line<'t>,
    members: Vec<(Cow<'t, str>, Json<'t>)>,
}

/// Most members of an object and elements of a list that are looked at. Tools list hundreds.
const MAX: usize = 1 << 14;

struct Members<'t>(Vec<(Key<'t>, &'t RawValue)>);

/// The name of a member; it has to be copied only where it is escaped.
struct Key<'t>(Cow<'t, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Take;
        impl<'de> Visitor<'de> for Take {
            type Value = Key<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(Take)
    }
}

struct Elements<'t>(Vec<&'t RawValue>);

impl<'de> Deserialize<'de> for Elements<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Elements<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut elements = Vec::new();
                while let Some(element) = list.next_element()? {
                    if elements.len() < MAX {
                        elements.push(element);
                    }
                }
                Ok(Elements(elements))
            }
        }
        deserializer.deserialize_seq(Collect)
    }
}

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Members<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    if members.len() < MAX {
                        members.push(entry);
                    }
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Collect)
    }
}

impl<'t> Json<'t> {
    /// The value that `whole` is. `lines` are those that it was joined from, and `starts` where each begins in it; what was
    /// added behind their end to close it belongs to the last one.
    pub(crate) fn new(
        whole: &'t str,
        lines: &'t [Line<'t>],
        starts: &'t [usize],
    ) -> Option<Json<'t>> {
        let raw: &RawValue = serde_json::from_str(whole).ok()?;
        Some(Json {
            raw: raw.get(),
            place: Place {
                whole,
                lines,
                starts,
            },
        })
    }

    fn at(&self, raw: &'t RawValue) -> Json<'t> {
        Json {
            raw: raw.get(),
            place: self.place,
        }
    }

    /// The members of an object.
    pub(crate) fn object(&self) -> Option<Object<'t>> {
        if !self.raw.starts_with('{') {
            return None;
        }
        let Members(members) = serde_json::from_str(self.raw).ok()?;
        Some(Object {
            line: self.line(),
            members: members
                .into_iter()
                .map(|(Key(key), raw)| (key, self.at(raw)))
                .collect(),
        })
    }

    /// The elements of a list; empty for anything else.
    pub(crate) fn items(&self) -> Vec<Json<'t>> {
        // Most values are no lists, and an error of the parser costs more than the value.
        if !self.raw.starts_with('[') {
            return Vec::new();
        }
        let Ok(Elements(elements)) = serde_json::from_str(self.raw) else {
            return Vec::new();
        };
        elements.into_iter().map(|raw| self.at(raw)).collect()
    }

    /// The objects in a list, or the one object that it is.
    pub(crate) fn objects(&self) -> Vec<Object<'t>> {
        match self.object() {
            Some(object) => vec![object],
            None => self.items().iter().filter_map(Json::object).collect(),
        }
    }

    /// A string, number or flag as text; `None` for null, lists and objects.
    pub(crate) fn text(&self) -> Option<Cow<'t, str>> {
        match self.raw.as_bytes().first()? {
            b'"' => serde_json::from_str::<String>(self.raw)
                .ok()
                .map(Cow::Owned),
            b'{' | b'[' | b'n' => None,
            _ => Some(Cow::Borrowed(self.raw)),
        }
    }

    /// A whole number, also when it stands in quotes.
    pub(crate) fn number(&self) -> Option<u64> {
        super::number::whole(&self.text()?)
    }

    /// A flag: `true`, `1`, `"1"`, `"yes"`.
    pub(crate) fn flag(&self) -> Option<bool> {
        match &*self.text()? {
            "true" | "1" | "yes" => Some(true),
            "false" | "0" | "no" => Some(false),
            _ => None,
        }
    }

    /// The line it begins in.
    pub(crate) fn line(&self) -> Line<'t> {
        let whole = self.place.whole;
        let offset = (self.raw.as_ptr() as usize).saturating_sub(whole.as_ptr() as usize);
        let index = self.place.starts.partition_point(|start| *start <= offset);
        let lines = self.place.lines;
        let line = lines.get(index.saturating_sub(1)).or(lines.last()).copied();
        line.unwrap_or(Line {
            number: 1,
            text: "",
        })
    }
}

impl<'t> Object<'t> {
    /// A member by its name.
    pub(crate) fn get(&self, key: &str) -> Option<Json<'t>> {
        let found = self.members.iter().find(|(name, _)| name == key);
        found.map(|(_, value)| *value)
    }

    /// True when it has a member of this name.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// A member that is text, a number or a flag.
    pub(crate) fn text(&self, key: &str) -> Option<Cow<'t, str>> {
        self.get(key)?.text()
    }

    /// A member that is a whole number.
    pub(crate) fn number(&self, key: &str) -> Option<u64> {
        self.get(key)?.number()
    }

    /// All members in their order.
    pub(crate) fn members(&self) -> impl Iterator<Item = (&str, Json<'t>)> {
        self.members
            .iter()
            .map(|(key, value)| (key.as_ref(), *value))
    }
}

/// Where a document begins in a line: at its first sign, or at its last one behind the name of what it is the result of.
pub(crate) fn opens(text: &str) -> Option<usize> {
    let at = text.len() - text.trim_start().len();
    if text[at..].starts_with(['{', '[']) {
        return (!is_stamped(&text[at..])).then_some(at);
    }
    text.find("=> {\"")
        .map(|at| at + 3)
        .or_else(|| text.ends_with("=> {").then(|| text.len() - 1))
}

/// `[   15.102231] sd 0:0:0:0: …`: a time of the kernel's log, and text behind it.
fn is_stamped(text: &str) -> bool {
    let Some((time, behind)) = text.strip_prefix('[').and_then(|rest| rest.split_once(']')) else {
        return false;
    };
    let is_number = time.trim().bytes().all(|b| b.is_ascii_digit() || b == b'.');
    is_number
        && !time.is_empty()
        && behind
            .trim_start()
            .starts_with(|c: char| c.is_alphabetic() || c == '/')
}

/// Lines as one text, and where each begins in it.
pub(crate) fn joined(lines: &[Line<'_>]) -> (String, Vec<usize>) {
    let mut text = String::new();
    let mut starts = Vec::with_capacity(lines.len());
    for line in lines {
        starts.push(text.len());
        text.push_str(line.text);
        text.push('\n');
    }
    text.pop();
    (text, starts)
}

/// Where a JSON value ends that a text begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Behind this byte it is whole.
    Whole(usize),
    /// The text ends before it does.
    Cut,
    /// At this byte stands what cannot be in it.
    Broken(usize),
}

/// Behind which byte more brackets are open than any tool's output has, if that happens before the value ends that `text`
/// begins with. Such a value is not looked at: what is forged has one in every line, and each costs as much as all the text.
pub(crate) fn too_deep(text: &str) -> Option<usize> {
    let mut scan = Scan::default();
    for (at, byte) in text.bytes().enumerate() {
        scan.byte(byte);
        match scan.open.len() {
            0 => return None,
            MAX_DEPTH => return Some(at + 1),
            _ => {}
        }
    }
    None
}

/// Where the value ends that `text` begins with. What cannot be one is known where it breaks off, so that many beginnings
/// cost no more than one.
pub(crate) fn end(text: &str) -> End {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    match values.next() {
        Some(Ok(_)) => End::Whole(values.byte_offset()),
        None => End::Cut,
        Some(Err(error)) if error.is_eof() => End::Cut,
        Some(Err(error)) => {
            let before = text
                .split_inclusive('\n')
                .take(error.line().saturating_sub(1));
            let line: usize = before.map(str::len).sum();
            // A column counts from 1; a line break that stands where it must not is column 0 of the next line.
            let column = error.column().saturating_sub(1);
            let mut at = (line + column).min(text.len());
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            End::Broken(at)
        }
    }
}

/// `text`, the beginning of a JSON value, cut after its last whole part and closed.
pub(crate) fn completed(text: &str) -> Option<String> {
    // Where a value may end: after a bracket, and before a comma. Only the last few places matter.
    let mut ends = VecDeque::new();
    scan(text, |at, byte, scan| {
        let end = match byte {
            b',' => Some(at),
            b'}' | b']' | b'{' | b'[' => Some(at + 1),
            _ => None,
        };
        if let (Some(end), false) = (end, scan.in_string) {
            ends.push_back(end);
            if ends.len() > MAX_ENDS {
                ends.pop_front();
            }
        }
    });
    // What is open there.
    let mut open: Vec<(usize, Vec<u8>)> = Vec::with_capacity(ends.len());
    scan(text, |at, byte, scan| {
        let end = if byte == b',' { at } else { at + 1 };
        if ends.front() == Some(&end) && matches!(byte, b',' | b'}' | b']' | b'{' | b'[') {
            ends.pop_front();
            open.push((end, scan.open.clone()));
        }
    });
    // A fault inside the text is in all that is longer.
    let mut fault = usize::MAX;
    open.into_iter().rev().find_map(|(end, open)| {
        if end > fault {
            return None;
        }
        let mut closed = text.get(..end)?.to_owned();
        closed.extend(open.iter().rev().map(|b| match b {
            b'{' => '}',
            _ => ']',
        }));
        match serde_json::from_str::<&RawValue>(&closed) {
            Ok(_) => Some(closed),
            Err(error) => {
                fault = place(&closed, &error);
                None
            }
        }
    })
}

/// The byte behind the one at which an error was found, or a little more.
fn place(text: &str, error: &serde_json::Error) -> usize {
    let before = text
        .split_inclusive('\n')
        .take(error.line().saturating_sub(1));
    let start: usize = before.map(str::len).sum();
    start.saturating_add(error.column()).saturating_add(1)
}

/// How many places are tried. One or two are enough for what was merely cut off.
const MAX_ENDS: usize = 16;

/// Shows every byte of `text`, and what is open behind it.
fn scan(text: &str, mut see: impl FnMut(usize, u8, &Scan)) {
    let mut scan = Scan::default();
    for (at, byte) in text.bytes().enumerate() {
        scan.byte(byte);
        see(at, byte, &scan);
    }
}

/// What brackets are open.
#[derive(Default)]
struct Scan {
    open: Vec<u8>,
    in_string: bool,
    escaped: bool,
}

/// Brackets nested deeper than this are no tool's output.
const MAX_DEPTH: usize = 128;

impl Scan {
    fn byte(&mut self, byte: u8) {
        if self.in_string {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_string = false,
                _ => {}
            }
            return;
        }
        match byte {
            b'"' => self.in_string = true,
            b'{' | b'[' if self.open.len() < MAX_DEPTH => self.open.push(byte),
            b'}' | b']' => {
                self.open.pop();
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::captured::text::Text;

    #[test]
    fn times_of_the_kernel_open_no_list() {
        for text in [
            "[   15.1022] device-mapper: table: 254:2",
            "[3.5] /dev/sdb1 alignment",
        ] {
            assert_eq!(opens(text), None, "{text}");
        }
        for text in [
            "[15.1022]",
            "[1, 2]",
            "[{\"a\": 1}]",
            "[",
            "[]",
            " [1], [2]",
        ] {
            assert!(opens(text).is_some(), "{text}");
        }
    }

    #[test]
    fn values_know_their_lines() {
        let text = Text::new(
            b"{\n \"a\": [1,\n  {\"b\": \"2\"}],\n \"c\": null\n}\n",
            false,
        );
        let lines = text.lines();
        let (whole, starts) = joined(&lines);
        let json = Json::new(&whole, &lines, &starts).expect("sound");
        let object = json.object().expect("an object");
        let list = object.get("a").expect("there").items();
        let inner = list[1].object().expect("an object");
        assert_eq!(inner.number("b"), Some(2));
        assert_eq!(inner.get("b").expect("there").line().number, 3);
        assert_eq!(object.get("c").and_then(|c| c.text()), None);
        assert_eq!(end(&whole), End::Whole(whole.trim_end().len()));
    }

    #[test]
    fn what_is_nested_deeper_than_any_output_is_known_early() {
        let deep = "[1,\n".repeat(1000);
        assert_eq!(too_deep(&deep), Some(4 * (MAX_DEPTH - 1) + 1));
        let deepest = "[".repeat(MAX_DEPTH - 1) + &"]".repeat(MAX_DEPTH - 1);
        assert_eq!(too_deep(&(deepest + &deep)), None);
        assert_eq!(too_deep("{\"a\": \"[[[["), None);
    }

    #[test]
    fn a_value_ends_where_it_is_whole_or_cannot_go_on() {
        for (text, expected) in [
            ("{\"a\":1}\nC:\\>dir", End::Whole(7)),
            ("[1,\n2", End::Cut),
            ("[1\n[1\n", End::Broken(3)),
            ("{\"a\nb\":1}", End::Broken(2)),
            ("[x]", End::Broken(1)),
        ] {
            assert_eq!(end(text), expected, "{text}");
        }
        let deep = "[\n".repeat(10_000);
        assert_eq!(end(&deep), End::Cut);
    }

    #[test]
    fn a_value_that_was_cut_off_is_closed_after_its_last_whole_part() {
        let whole = r#"{"a":[{"b":1,"c":"x{"},{"b":2,"c":"y"}],"d":3}"#;
        for cut in 1..whole.len() {
            let completed = completed(&whole[..cut]).expect("an open bracket can be closed");
            let value: serde_json::Value = serde_json::from_str(&completed).expect("sound");
            assert!(value.is_object(), "{completed}");
        }
        assert_eq!(
            completed(r#"{"a":1,"b":"unfinis"#).as_deref(),
            Some(r#"{"a":1}"#)
        );
        assert_eq!(completed("no json"), None);
    }

    #[test]
    fn a_fault_rules_out_only_what_it_is_in() {
        // After the last sound part, more ends than one, in one line and in several.
        for fault in ["x", "\n\n x", "\u{e9}", "\"b\" 1"] {
            let text = format!("{{\"a\":[1,2],\n{fault},{{}},[],{{}},3");
            assert_eq!(completed(&text).as_deref(), Some("{\"a\":[1,2]}"), "{text}");
        }
        // Too far back.
        let text = format!("{{\"a\":[1,2],x{}", ",[]".repeat(MAX_ENDS));
        assert_eq!(completed(&text), None);
    }
}
