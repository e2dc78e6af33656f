//! CLIXML: what Export-Clixml writes, and what PowerShell writes to the error stream of another program.
//!
//! ```text
//! <Objs Version="1.1.0.1" xmlns="http://schemas.microsoft.com/powershell/2004/04">
//!   <Obj RefId="0">
//!     <TN RefId="0"><T>…CimInstance#ROOT/Microsoft/Windows/Storage/MSFT_Disk</T></TN>
//!     <ToString>…</ToString>
//!     <Props>                                   adapted properties
//!       <U32 N="Number">0</U32>
//!       <C N="DriveLetter">67</C>               a character by its number
//!       <Obj N="AccessPaths" RefId="2"><LST><S>C:\</S></LST></Obj>
//!       <Obj N="VhdType" RefId="3"><ToString>Dynamic</ToString><I32>3</I32></Obj>
//!       <Nil N="Guid" />
//!     </Props>
//!     <MS> … </MS>                              notes and script properties
//! ```
//!
//! Source: [MS-PSRP] 2.2.5, Serialization of Objects.

use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::reader::Reader;
use std::borrow::Cow;

use super::{Field, MAX_RECORDS, Record};
use crate::captured::text::Line;

/// Objects in objects that are looked at; PowerShell goes two deep unless it is told otherwise.
const MAX_DEPTH: usize = 64;

/// The records in a CLIXML document.
pub(crate) struct Clixml<'t> {
    /// They, in their order.
    pub(crate) records: Vec<Record<'t>>,
    /// How many lines they take.
    pub(crate) taken: usize,
    /// The document ends where it should.
    pub(crate) whole: bool,
}

/// True for a line in which CLIXML begins.
pub(crate) fn is_clixml(line: &Line<'_>) -> bool {
    let text = line.text.trim_start();
    text.starts_with("#< CLIXML") || text.starts_with("<Objs ")
}

/// What stands in CLIXML that begins in the first of these lines, up to its end or as far as it goes.
pub(crate) fn from_clixml<'t>(lines: &[Line<'t>]) -> Clixml<'t> {
    let end = lines.iter().position(|line| line.text.contains("</Objs>"));
    let lines = &lines[..end.map_or(lines.len(), |end| end + 1)];
    let mut body = String::new();
    let mut starts = Vec::with_capacity(lines.len());
    for line in lines {
        starts.push(body.len());
        // What comes before the document on the marker's line is no XML.
        let text = line.text;
        body.push_str(text.strip_prefix("#< CLIXML").unwrap_or(text));
        body.push('\n');
    }
    let mut reader = Reader::from_str(&body);
    reader.config_mut().check_end_names = false;
    let mut walk = Walk::default();
    let mut index = 0;
    loop {
        let at = usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX);
        // A tag may begin on the next line: blanks before it belong to the text that was just read.
        while starts.get(index + 1).is_some_and(|start| *start <= at) {
            index += 1;
        }
        let line = lines.get(index).copied().unwrap_or(Line {
            number: 1,
            text: "",
        });
        match reader.read_event() {
            Ok(Event::Start(tag)) => walk.start(&tag, line),
            Ok(Event::Empty(tag)) => {
                walk.start(&tag, line);
                walk.end();
            }
            Ok(Event::End(_)) => walk.end(),
            Ok(Event::Text(text)) => walk.text(&text),
            Ok(Event::CData(text)) => walk.text(&text),
            Ok(Event::GeneralRef(entity)) => walk.reference(&entity),
            Ok(Event::Eof) | Err(_) => break,
            Ok(_) => {}
        }
    }
    let whole = end.is_some() && walk.open.is_empty();
    Clixml {
        records: walk.finish(),
        taken: lines.len(),
        whole,
    }
}

/// What an open element is to the reader.
enum Open<'t> {
    /// The document, or a list of objects.
    List,
    /// An object that becomes a record.
    Object,
    /// The properties of such an object.
    Properties,
    /// A property that is an object itself: a list or the name of a number.
    Nested(Box<Nested<'t>>),
    /// A property.
    Scalar {
        field: Field<'t>,
        /// Its value is the number of a character.
        is_char: bool,
    },
    /// An entry of a list that is a property.
    Item(String),
    /// The name of what is a number.
    Named(String),
    /// The list in a property.
    Items,
    /// Anything else.
    Other,
}

struct Nested<'t> {
    field: Field<'t>,
    items: Vec<String>,
}

#[derive(Default)]
struct Walk<'t> {
    open: Vec<Open<'t>>,
    /// Elements within one that was not looked at.
    deeper: usize,
    /// Objects that are not closed yet: a list may hold others.
    unfinished: Vec<Record<'t>>,
    done: Vec<Record<'t>>,
}

impl<'t> Walk<'t> {
    fn start(&mut self, tag: &BytesStart<'_>, line: Line<'t>) {
        if self.deeper > 0 || self.open.len() >= MAX_DEPTH {
            self.deeper += 1;
            return;
        }
        let name = tag.local_name();
        let name: &str = name.as_ref();
        let key = attribute(tag, "N");
        let next = match (self.open.last(), name) {
            (None, "Objs") => Open::List,
            (Some(Open::List), "Obj") if is_output(tag) => {
                self.unfinished.push(Record::default());
                Open::Object
            }
            (Some(Open::Object), "Props" | "MS") => Open::Properties,
            (Some(Open::Object), "LST" | "IE" | "QUE" | "STK") => Open::List,
            (Some(Open::Properties), "Obj") => Open::Nested(Box::new(Nested {
                field: field(key.unwrap_or_default(), line),
                items: Vec::new(),
            })),
            (Some(Open::Properties), _) if key.is_some() => Open::Scalar {
                field: field(key.unwrap_or_default(), line),
                is_char: name == "C",
            },
            (Some(Open::Nested(_)), "ToString") => Open::Named(String::new()),
            (Some(Open::Nested(_)), "LST" | "IE") => Open::Items,
            (Some(Open::Items), "Obj" | "Ref") => Open::Other,
            (Some(Open::Items), _) => Open::Item(String::new()),
            _ => Open::Other,
        };
        self.open.push(next);
    }

    fn text(&mut self, text: &str) {
        if self.deeper > 0 {
            return;
        }
        match self.open.last_mut() {
            Some(Open::Scalar { field, .. }) => field.value.to_mut().push_str(text),
            Some(Open::Item(into) | Open::Named(into)) => into.push_str(text),
            _ => {}
        }
    }

    /// `&amp;`, `&#xA;`.
    fn reference(&mut self, entity: &BytesRef<'_>) {
        let char = match entity.resolve_char_ref() {
            Ok(Some(char)) => char,
            _ => match entity.as_ref() {
                "amp" => '&',
                "lt" => '<',
                "gt" => '>',
                "quot" => '"',
                "apos" => '\'',
                _ => return,
            },
        };
        self.text(char.encode_utf8(&mut [0; 4]));
    }

    fn end(&mut self) {
        if self.deeper > 0 {
            self.deeper -= 1;
            return;
        }
        match self.open.pop() {
            Some(Open::Object) => self.close(),
            Some(Open::Scalar { mut field, is_char }) => {
                if is_char {
                    let number = field.value.trim().parse().ok();
                    let char = number.and_then(char::from_u32).filter(|c| *c != '\0');
                    field.value = Cow::Owned(char.map(String::from).unwrap_or_default());
                } else {
                    field.value = Cow::Owned(unescaped(field.value.trim()));
                }
                self.add(field);
            }
            Some(Open::Item(text)) => {
                if let Some(Open::Nested(nested)) = self.open.iter_mut().rev().nth(1) {
                    nested.items.push(unescaped(text.trim()));
                }
            }
            Some(Open::Named(text)) => {
                if let Some(Open::Nested(nested)) = self.open.last_mut() {
                    nested.field.value = Cow::Owned(unescaped(text.trim()));
                }
            }
            Some(Open::Nested(nested)) => {
                let Nested { mut field, items } = *nested;
                if !items.is_empty() {
                    field.value = Cow::Owned(format!("{{{}}}", items.join(", ")));
                }
                self.add(field);
            }
            _ => {}
        }
    }

    fn add(&mut self, field: Field<'t>) {
        if let Some(record) = self.unfinished.last_mut() {
            // A script property has the name of the number that it explains, and comes later.
            match record.fields.iter_mut().find(|have| have.key == field.key) {
                Some(have) => *have = field,
                None => record.add(field),
            }
        }
    }

    /// An object ends. A list of objects has no properties and is none.
    fn close(&mut self) {
        if let Some(record) = self.unfinished.pop()
            && !record.fields.is_empty()
            && self.done.len() < MAX_RECORDS
        {
            self.done.push(record);
        }
    }

    fn finish(mut self) -> Vec<Record<'t>> {
        while !self.unfinished.is_empty() {
            self.close();
        }
        self.done
    }
}

fn field(key: String, line: Line<'_>) -> Field<'_> {
    Field {
        key: Cow::Owned(key),
        value: Cow::Borrowed(""),
        line,
    }
}

fn attribute(tag: &BytesStart<'_>, name: &str) -> Option<String> {
    let found = tag.try_get_attribute(name).ok()??;
    Some(unescaped(&found.value))
}

/// Progress, warnings and errors come in the same way, with the name of their stream.
fn is_output(tag: &BytesStart<'_>) -> bool {
    attribute(tag, "S").is_none_or(|stream| stream.eq_ignore_ascii_case("output"))
}

/// `_x000A_` stands for a character that XML cannot hold.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("_x") {
        let code = rest
            .get(at + 2..at + 6)
            .filter(|_| rest[at..].get(6..7) == Some("_"));
        let char = code
            .and_then(|code| u32::from_str_radix(code, 16).ok())
            .and_then(char::from_u32);
        let (keep, skip) = if char.is_some() { (at, 7) } else { (at + 2, 0) };
        out.push_str(&rest[..keep]);
        out.extend(char.filter(|c| *c != '\0'));
        rest = &rest[keep + skip..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::captured::text::Text;

    const DOCUMENT: &str = r#"<Objs Version="1.1.0.1" xmlns="http://schemas.microsoft.com/powershell/2004/04">
  <Obj RefId="0">
    <TN RefId="0"><T>Microsoft.Management.Infrastructure.CimInstance</T></TN>
    <ToString>MSFT_Partition (ObjectId = "{1}\\DB1")</ToString>
    <Props>
      <U32 N="DiskNumber">0</U32>
      <C N="DriveLetter">67</C>
      <U64 N="Offset">1048576</U64>
      <S N="Label">R&amp;D_x000A_x</S>
      <Obj N="AccessPaths" RefId="1"><TN RefId="1"><T>System.String[]</T></TN><LST><S>C:\</S><S>D:\x</S></LST></Obj>
      <Obj N="Kind" RefId="2"><ToString>Dynamic</ToString><I32>3</I32></Obj>
      <Nil N="Guid" />
      <U16 N="BusType">11</U16>
    </Props>
    <MS><S N="BusType">SATA</S><Obj N="__ClassMetadata" RefId="3"><LST><Obj RefId="4"><MS><S N="Offset">no</S></MS></Obj></LST></Obj></MS>
  </Obj>
</Objs>
"#;

    /// Key, value and line of a field.
    type Read = (String, String, u64);

    fn read(text: &str) -> (Vec<Vec<Read>>, usize, bool) {
        let text = Text::new(text.as_bytes(), false);
        let found = from_clixml(&text.lines());
        let records = found.records.iter().map(|record| {
            let fields = record.fields.iter();
            fields
                .map(|f| (f.key.to_string(), f.value.to_string(), f.line.number))
                .collect()
        });
        (records.collect(), found.taken, found.whole)
    }

    #[test]
    fn properties_have_their_values_and_lines() {
        let (records, taken, whole) = read(DOCUMENT);
        assert_eq!((records.len(), taken, whole), (1, 17, true));
        let expected = [
            ("DiskNumber", "0", 6),
            ("DriveLetter", "C", 7),
            ("Offset", "1048576", 8),
            ("Label", "R&D\nx", 9),
            ("AccessPaths", r"{C:\, D:\x}", 10),
            ("Kind", "Dynamic", 11),
            ("Guid", "", 12),
            ("BusType", "SATA", 15),
            ("__ClassMetadata", "", 15),
        ];
        let found: Vec<_> = records[0]
            .iter()
            .map(|(k, v, n)| (&**k, &**v, *n))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_list_of_objects_on_one_line_behind_the_marker() {
        let text = "#< CLIXML\n<Objs Version=\"1.1\"><Obj S=\"progress\" RefId=\"9\"><MS><I64 N=\"SourceId\">1</I64></MS></Obj>\
                    <Obj RefId=\"0\"><LST><Obj RefId=\"1\"><MS><I32 N=\"A\">1</I32></MS></Obj><Obj RefId=\"2\"><MS><I32 N=\"A\">2</I32>\
                    </MS></Obj></LST></Obj></Objs>\n";
        let (records, taken, whole) = read(text);
        assert_eq!((taken, whole), (2, true));
        let values: Vec<&str> = records.iter().map(|r| &*r[0].1).collect();
        assert_eq!(values, ["1", "2"]);
    }

    #[test]
    fn what_stands_before_a_cut_is_kept_and_half_a_value_is_not() {
        for cut in 0..DOCUMENT.len() {
            let (records, _, whole) = read(&DOCUMENT[..cut]);
            assert!(!whole || cut > DOCUMENT.len() - 3, "{cut}");
            for (key, value, _) in records.iter().flatten() {
                if key == "Offset" {
                    assert_eq!(value, "1048576");
                }
            }
        }
    }

    #[test]
    fn depth_is_bounded() {
        let deep = format!("<Objs >{}", "<Obj><LST>".repeat(100_000));
        let (records, _, whole) = read(&deep);
        assert!(records.is_empty() && !whole);
    }
}
