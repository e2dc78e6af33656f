//! `losetup -l`, `losetup -a` and `losetup -J`: loop devices, what lies behind them, and from which byte of it on.
//!
//! ```text
//! NAME       SIZELIMIT  OFFSET AUTOCLEAR RO BACK-FILE            DIO LOG-SEC
//! /dev/loop0         0 4194304         0  0 /srv/images/card.img   0     512
//! ```
//!
//! Source: util-linux `sys-utils/losetup.c`; places and lengths are in bytes.

use std::borrow::Cow;
use straddle_geometry::Bytes;
use straddle_stack::{AnomalyKind, GridRole, Interval, Key, LayerKind, Value};

use super::device;
use crate::captured::json::Json;
use crate::captured::text::Line;
use crate::captured::tool::{Anchor, Context, Notes, Reader, Section, Tool};
use crate::inventory::Thing;

pub(crate) static TOOL: Tool = Tool {
    name: "losetup",
    platform: "linux",
    commands: &["losetup -l", "losetup -a", "losetup -J"],
    readers: &[
        Reader::Json {
            is: |object| object.has("loopdevices"),
            read: json,
        },
        Reader::Text {
            anchors: &[Anchor::Start("NAME "), Anchor::Start("SIZELIMIT ")],
            begins: |lines| Columns::of(lines[0].text).is_some(),
            read: table,
        },
        Reader::Text {
            anchors: &[Anchor::Start("/dev/loop")],
            begins: |lines| attached(lines[0].text).is_some(),
            read: list,
        },
    ],
};

/// What is said of a loop device.
#[derive(Default)]
struct Loop<'t> {
    name: Cow<'t, str>,
    file: Cow<'t, str>,
    offset: Option<u64>,
    limit: Option<u64>,
    sector: Option<u64>,
    direct: Option<bool>,
}

impl Loop<'_> {
    fn set(&mut self, column: &str, value: &str) {
        let number = value.parse().ok();
        match column {
            "OFFSET" => self.offset = number,
            "SIZELIMIT" => self.limit = number,
            "LOG-SEC" => self.sector = number,
            "DIO" => self.direct = Some(matches!(value, "1" | "true")),
            _ => {}
        }
    }

    fn note(self, line: &Line<'_>, notes: &mut Notes<'_>) {
        if !self.name.starts_with("/dev/loop") || self.file.is_empty() {
            return;
        }
        let title = device::title(&self.name);
        let mut thing = Thing::new(LayerKind::Device, title, device::name(&self.name));
        thing.format = Some(notes.said(line, "loop".into()));
        thing = thing.on(device::name(&self.file));
        if let Some(offset) = self.offset {
            let offset = Bytes::new(offset);
            thing.start = Some(notes.said(line, Interval::exact(offset)));
            thing.set(Key::DataOffset, notes.said(line, Value::Bytes(offset)));
        }
        // 0 is the whole file.
        if let Some(limit) = self.limit.filter(|limit| *limit > 0) {
            thing.size = Some(notes.said(line, Interval::exact(Bytes::new(limit))));
        }
        if let Some(sector) = self.sector {
            device::grid(&mut thing, GridRole::LogicalSector, sector, 0, line, notes);
        }
        if let Some(direct) = self.direct {
            thing.set(Key::DirectIo, notes.said(line, Value::Flag(direct)));
        }
        notes.add(thing);
    }
}

/// The columns of a table. Names of files may have blanks, so what stands behind the file is counted from the end.
struct Columns<'t> {
    before: Vec<&'t str>,
    behind: Vec<&'t str>,
}

impl<'t> Columns<'t> {
    fn of(heading: &'t str) -> Option<Columns<'t>> {
        const KNOWN: [&str; 10] = [
            "NAME",
            "SIZELIMIT",
            "OFFSET",
            "AUTOCLEAR",
            "RO",
            "DIO",
            "LOG-SEC",
            "BACK-INO",
            "BACK-MAJ:MIN",
            "MAJ:MIN",
        ];
        let words: Vec<&str> = heading.split_whitespace().collect();
        let file = words.iter().position(|word| *word == "BACK-FILE")?;
        let others = || words[..file].iter().chain(&words[file + 1..]);
        let is_known = others().all(|word| KNOWN.contains(word));
        let has_name = words[..file].contains(&"NAME");
        (is_known && has_name).then(|| Columns {
            before: words[..file].to_vec(),
            behind: words[file + 1..].to_vec(),
        })
    }

    fn row<'r>(&self, text: &'r str) -> Option<Loop<'r>> {
        let mut found = Loop::default();
        let mut rest = text.trim();
        for column in &self.before {
            let (word, behind) = rest.split_once(char::is_whitespace)?;
            if *column == "NAME" {
                found.name = word.into();
            }
            found.set(column, word);
            rest = behind.trim_start();
        }
        for column in self.behind.iter().rev() {
            // Rows may end before their last columns.
            let Some((before, word)) = rest.rsplit_once(char::is_whitespace) else {
                break;
            };
            if word.parse::<u64>().is_err() {
                break;
            }
            found.set(column, word);
            rest = before.trim_end();
        }
        found.file = rest.strip_suffix(" (deleted)").unwrap_or(rest).into();
        Some(found)
    }
}

fn cut(line: &Line<'_>, notes: &mut Notes<'_>) {
    let detail = "the line of a loop device ends before the file behind it";
    notes.remark(AnomalyKind::Truncated, detail, line);
}

fn table(section: &Section<'_>, notes: &mut Notes<'_>) {
    let Some((heading, rows)) = section.lines.split_first() else {
        return;
    };
    let Some(columns) = Columns::of(heading.text) else {
        return;
    };
    for line in rows.iter().take_while(|line| !line.is_blank()) {
        match columns.row(line.text) {
            Some(row) if row.file.starts_with('/') => row.note(line, notes),
            _ if line.text.trim_start().starts_with("/dev/loop") => cut(line, notes),
            _ => {}
        }
    }
}

/// `/dev/loop0: [2049]:131 (/srv/images/card.img), offset 32256, sizelimit 1048576`; `[]: (…)` for who may not see it.
fn attached(text: &str) -> Option<Loop<'_>> {
    let (name, rest) = text.trim().split_once(": [")?;
    let (_, rest) = rest.split_once(" (")?;
    // The name of a file may have brackets.
    let (file, rest) = match rest.rsplit_once("), ") {
        Some(parts) if parts.1.starts_with("offset ") || parts.1.starts_with("sizelimit ") => parts,
        _ => (rest.strip_suffix(')')?, ""),
    };
    let mut found = Loop {
        name: name.into(),
        file: file.strip_suffix(" (deleted)").unwrap_or(file).into(),
        offset: Some(0),
        ..Loop::default()
    };
    for part in rest.split(", ") {
        if let Some((key, value)) = part.split_once(' ') {
            found.set(&key.to_uppercase(), value);
        }
    }
    name.starts_with("/dev/loop").then_some(found)
}

fn list(section: &Section<'_>, notes: &mut Notes<'_>) {
    for line in section.lines {
        match attached(line.text) {
            Some(found) => found.note(line, notes),
            None if line.text.trim_start().starts_with("/dev/loop") => cut(line, notes),
            None => {}
        }
    }
}

fn json(json: &Json<'_>, _: &Context<'_>, notes: &mut Notes<'_>) {
    let list = json.object().and_then(|object| object.get("loopdevices"));
    for object in list.map(|list| list.objects()).unwrap_or_default() {
        let text = |key: &str| object.text(key);
        let (Some(name), Some(file)) = (text("name"), text("back-file")) else {
            continue;
        };
        let mut found = Loop {
            name,
            file,
            ..Loop::default()
        };
        for key in ["offset", "sizelimit", "log-sec", "dio"] {
            if let Some(value) = text(key) {
                found.set(&key.to_uppercase(), &value);
            }
        }
        found.note(&object.line, notes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADING: &str = "NAME SIZELIMIT OFFSET AUTOCLEAR RO BACK-FILE DIO LOG-SEC";

    #[test]
    fn files_may_have_blanks_and_be_gone() {
        let columns = Columns::of(HEADING).expect("columns");
        let row = |text| {
            let row = columns.row(text).expect("a row");
            (row.file.into_owned(), row.offset, row.sector, row.direct)
        };
        assert_eq!(
            row("/dev/loop1         0  32256         0  0 /srv/old disk.img   1     512"),
            (
                "/srv/old disk.img".to_owned(),
                Some(32_256),
                Some(512),
                Some(true)
            )
        );
        assert_eq!(
            row("/dev/loop0 0 0 1 0 /var/r.img (deleted) 0 4096").0,
            "/var/r.img"
        );
        // Older versions have a heading for columns that they leave empty.
        assert_eq!(
            row("/dev/loop0 0 0 0 0 /home/x.dd"),
            ("/home/x.dd".to_owned(), Some(0), None, None)
        );
        for heading in [
            "NAME MAJ:MIN RM SIZE RO TYPE MOUNTPOINT",
            "NAME OFFSET",
            "BACK-FILE NAME X",
        ] {
            assert!(Columns::of(heading).is_none(), "{heading}");
        }
    }

    #[test]
    fn old_versions_print_a_sentence() {
        let of = |text| {
            let found = attached(text)?;
            Some((found.file.into_owned(), found.offset, found.limit))
        };
        let path = || "/srv/card.img".to_owned();
        assert_eq!(
            of("/dev/loop0: [2049]:131 (/srv/card.img), offset 32256, sizelimit 1048576"),
            Some((path(), Some(32_256), Some(1_048_576)))
        );
        assert_eq!(
            of("/dev/loop3: []: (/srv/card.img)"),
            Some((path(), Some(0), None))
        );
        assert_eq!(of("/dev/loop0: block special (7/0)"), None);
    }
}
