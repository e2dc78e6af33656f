//! The descriptor: a text that says what a disk consists of, in a file of its own or inside a sparse extent.
//!
//! ```text
//! # Disk DescriptorFile
//! version=1
//! CID=8f2c1a30                 changes with every first write after opening
//! parentCID=ffffffff           ffffffff: no parent
//! parentFileNameHint="base.vmdk"
//! createType="twoGbMaxExtentSparse"
//! RW 4192256 SPARSE "disk-s001.vmdk"        access, sectors, type, file
//! RW 2097152 FLAT "disk-f001.vmdk" 63       and the sector where it starts there
//! ddb.adapterType = "lsilogic"
//! ```

/// Descriptors are a few hundred bytes; one of 62 TB in parts of 2 GB has 1 MiB.
pub(super) const MAX_BYTES: u64 = 2 << 20;
/// Parts of a disk; 62 TB in parts of 2 GB are 31,744.
const MAX_EXTENTS: usize = 1 << 15;

/// A piece of the text and where it lies in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) text: String,
    pub(super) at: usize,
    pub(super) len: usize,
}

/// How a part of the disk is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Its bytes are those of the file.
    Flat,
    /// A file with a grain directory.
    Sparse,
    /// Zeroes, without a file.
    Zero,
    /// A delta disk with 4 KiB grains, whose layout is not published.
    SeSparse,
    /// A LUN that the host maps through.
    RawDevice,
}

/// A line that describes a part of the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) sectors: u64,
    pub(super) kind: Kind,
    /// The type as it is written.
    pub(super) word: String,
    /// Empty for zeroes.
    pub(super) name: String,
    /// The sector of the file where the part starts.
    pub(super) start: u64,
    pub(super) at: usize,
    pub(super) len: usize,
}

/// What a descriptor says.
#[derive(Debug, Default)]
pub(super) struct Descriptor {
    pub(super) lines: Vec<Line>,
    /// The first line of a part that cannot be understood.
    pub(super) bad: Option<Field>,
    /// There are more parts than are read.
    pub(super) left_out: bool,
    fields: Vec<(String, Field)>,
}

/// The names that are looked for, in lower case; others are passed over.
const NAMES: &[&str] = &[
    "version",
    "cid",
    "parentcid",
    "parentfilenamehint",
    "createtype",
    "ddb.adaptertype",
    "ddb.geometry.cylinders",
    "ddb.geometry.heads",
    "ddb.geometry.sectors",
    "ddb.virtualhwversion",
    "ddb.thinprovisioned",
    "ddb.uuid",
    "ddb.uuid.image",
    "ddb.toolsversion",
];

impl Descriptor {
    /// Reads the text up to its first zero byte.
    pub(super) fn parse(raw: &[u8]) -> Descriptor {
        let end = raw.iter().position(|byte| *byte == 0).unwrap_or(raw.len());
        let mut found = Descriptor::default();
        let mut at = 0;
        for line in raw.get(..end).unwrap_or(&[]).split(|byte| *byte == b'\n') {
            found.line(line, at);
            at += line.len() + 1;
        }
        found
    }

    fn line(&mut self, raw: &[u8], at: usize) {
        let trimmed = raw.trim_ascii();
        if trimmed.is_empty() || trimmed.starts_with(b"#") {
            return;
        }
        let at = at + (raw.len() - raw.trim_ascii_start().len());
        let text = decode(trimmed);
        let word = text.split_ascii_whitespace().next().unwrap_or("");
        if ["RW", "RDONLY", "NOACCESS"]
            .iter()
            .any(|known| word.eq_ignore_ascii_case(known))
        {
            if self.lines.len() >= MAX_EXTENTS {
                self.left_out = true;
                return;
            }
            match part(&text) {
                Some(line) => self.lines.push(Line {
                    at,
                    len: trimmed.len(),
                    ..line
                }),
                None if self.bad.is_none() => {
                    let text = text.chars().take(80).collect();
                    self.bad = Some(Field {
                        text,
                        at,
                        len: trimmed.len(),
                    });
                }
                None => {}
            }
            return;
        }
        let Some((name, value)) = text.split_once('=') else {
            return;
        };
        let name = name.trim().to_ascii_lowercase();
        // The first one counts, as in VMware's own reader.
        if NAMES.contains(&name.as_str()) && self.get(&name).is_none() {
            let text = value.trim().trim_matches('"').chars().map(plain).collect();
            self.fields.push((
                name,
                Field {
                    text,
                    at,
                    len: trimmed.len(),
                },
            ));
        }
    }

    /// What stands behind a name of [`NAMES`].
    pub(super) fn get(&self, name: &str) -> Option<&Field> {
        let found = self.fields.iter().find(|(known, _)| known == name)?;
        Some(&found.1)
    }

    /// A content identifier, as eight hexadecimal digits; `None` when it is not one.
    pub(super) fn content_id(&self, name: &str) -> Option<String> {
        let id = u32::from_str_radix(&self.get(name)?.text, 16).ok()?;
        Some(format!("{id:08x}"))
    }

    /// The identifier of the parent's content, if there is a parent.
    pub(super) fn parent_id(&self) -> Option<String> {
        self.content_id("parentcid").filter(|id| id != "ffffffff")
    }
}

/// UTF-8; what is not is one of the Windows encodings, whose letters are mostly those of Latin-1.
fn decode(raw: &[u8]) -> String {
    match str::from_utf8(raw) {
        Ok(text) => text.to_owned(),
        Err(_) => raw.iter().map(|byte| char::from(*byte)).collect(),
    }
}

/// Control characters would reach a terminal.
fn plain(c: char) -> char {
    if c.is_control() {
        char::REPLACEMENT_CHARACTER
    } else {
        c
    }
}

/// `RW 4192256 SPARSE "name" 0`, without its place.
fn part(text: &str) -> Option<Line> {
    let (head, rest) = match text.split_once('"') {
        Some((head, rest)) => (head, Some(rest)),
        None => (text, None),
    };
    let mut words = head.split_ascii_whitespace().skip(1);
    let sectors = words.next()?.parse().ok()?;
    let word = words.next()?.to_ascii_uppercase();
    let kind = match word.as_str() {
        "FLAT" | "VMFS" | "VMFSTHIN" => Kind::Flat,
        "SPARSE" | "VMFSSPARSE" => Kind::Sparse,
        "ZERO" => Kind::Zero,
        "SESPARSE" => Kind::SeSparse,
        "VMFSRDM" | "VMFSRDMP" | "VMFSRAW" => Kind::RawDevice,
        _ => return None,
    };
    let (name, start) = match rest.and_then(|rest| rest.split_once('"')) {
        Some((name, behind)) => {
            let start = match behind.split_ascii_whitespace().next() {
                Some(word) => word.parse().ok()?,
                None => 0,
            };
            (name.to_owned(), start)
        }
        None if kind == Kind::Zero => (String::new(), 0),
        None => return None,
    };
    if name.is_empty() && kind != Kind::Zero {
        return None;
    }
    Some(Line {
        sectors,
        kind,
        word,
        name,
        start,
        at: 0,
        len: 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# Disk DescriptorFile\r\nversion=1\r\nCID=0D249BE9\r\nparentCID=ffffffff\r\n\
        createType=\"twoGbMaxExtentFlat\"\r\n\r\n# Extent description\r\n\
        RW 4192256 FLAT \"My \u{e4} disk-f001.vmdk\" 63\r\nrdonly 5 zero\r\nRW 7 VMFSSPARSE \"a-delta.vmdk\"\r\n\
        ddb.adapterType = \"lsilogic\"\r\nddb.AdapterType = \"ide\"\r\n\0RW 9 FLAT \"not-part-of-it\" 0\n";

    #[test]
    fn lines_are_read_with_their_places() {
        let found = Descriptor::parse(TEXT.as_bytes());
        assert_eq!(found.content_id("cid").as_deref(), Some("0d249be9"));
        assert_eq!(found.parent_id(), None);
        let adapter = found.get("ddb.adaptertype").expect("there");
        assert_eq!(adapter.text, "lsilogic");
        assert_eq!(
            TEXT.as_bytes()[adapter.at..adapter.at + adapter.len],
            *b"ddb.adapterType = \"lsilogic\""
        );
        let short: Vec<_> = found
            .lines
            .iter()
            .map(|line| (line.sectors, line.kind, line.name.as_str(), line.start))
            .collect();
        assert_eq!(
            short,
            [
                (4_192_256, Kind::Flat, "My \u{e4} disk-f001.vmdk", 63),
                (5, Kind::Zero, "", 0),
                (7, Kind::Sparse, "a-delta.vmdk", 0),
            ]
        );
        assert!(found.bad.is_none());
    }

    #[test]
    fn a_part_that_makes_no_sense_is_kept_as_bad() {
        for bad in [
            "RW 18446744073709551616 FLAT \"a\" 0",
            "RW -1 FLAT \"a\" 0",
            "RW 1 FLAT",
            "RW 1 FLAT \"\" 0",
            "RW 1 FLAT \"a\" x",
            "RW 1 ROUND \"a\" 0",
            "RW",
        ] {
            let found = Descriptor::parse(bad.as_bytes());
            assert_eq!(found.bad.map(|field| field.text).as_deref(), Some(bad));
            assert!(found.lines.is_empty());
        }
    }

    #[test]
    fn names_in_a_windows_encoding_are_read_as_latin_1() {
        let found = Descriptor::parse(b"RW 1 FLAT \"K\xe4se.vmdk\" 0");
        assert_eq!(found.lines[0].name, "K\u{e4}se.vmdk");
    }

    #[test]
    fn parts_without_end_are_bounded() {
        let text = "RW 1 ZERO\n".repeat(40_000);
        let found = Descriptor::parse(text.as_bytes());
        assert_eq!(found.lines.len(), 32_768);
        assert!(found.left_out);
    }
}
