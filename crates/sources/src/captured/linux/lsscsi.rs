//! `lsscsi`: a line for each device, with its model, and with `-s` its size. Where anything begins on it, it does not know.
//!
//! ```text
//! [0:0:0:0]    disk    ATA      ST4000NM0033-9ZM SN03  /dev/sda   4.00TB
//! ```

use straddle_stack::{Key, LayerKind};

use crate::captured::number::{self, Prefix, Rounding};
use crate::captured::text::Line;
use crate::captured::tool::{Anchor, Notes, Reader, Section, Tool};
use crate::inventory::{Name, Space, Thing};

pub(crate) static TOOL: Tool = Tool {
    name: "lsscsi",
    platform: "linux",
    commands: &["lsscsi", "lsscsi -s", "lsscsi -L"],
    readers: &[Reader::Text {
        anchors: &[Anchor::Start("[")],
        begins: |lines| Row::of(lines[0].text).is_some(),
        read: |section: &Section<'_>, notes: &mut Notes<'_>| {
            for line in section.lines {
                if let Some(row) = Row::of(line.text) {
                    row.note(line, notes);
                }
            }
        },
    }],
};

/// A disk.
struct Row<'t> {
    device: &'t str,
    /// Maker, model and revision, or where it is plugged in.
    model: Vec<&'t str>,
    /// What stands behind the device.
    rest: &'t str,
    /// It has no revision.
    is_nvme: bool,
}

impl<'t> Row<'t> {
    fn of(text: &'t str) -> Option<Row<'t>> {
        let (place, rest) = text.trim().strip_prefix('[')?.split_once(']')?;
        // NVMe has a letter in place of the host.
        let numbered = |part: &str| part == "N" || part.bytes().all(|b| b.is_ascii_digit());
        if !place.split(':').all(numbered) || !place.contains(':') {
            return None;
        }
        let rest = rest.trim_start().strip_prefix("disk ")?;
        let (model, behind) = rest.split_once("/dev/")?;
        let (device, rest) = behind
            .split_once(char::is_whitespace)
            .unwrap_or((behind, ""));
        Some(Row {
            device,
            model: model.split_whitespace().collect(),
            rest,
            is_nvme: place.starts_with('N'),
        })
    }

    fn note(&self, line: &Line<'_>, notes: &mut Notes<'_>) {
        let name = Name::new(Space::Device, self.device.to_owned());
        let mut thing = Thing::new(LayerKind::Device, self.device, name);
        let model = match self.model.as_slice() {
            model if self.is_nvme => model,
            // The last word is a revision; one word alone is an address.
            [model @ .., _] => model,
            [] => &[],
        };
        if !model.is_empty() {
            thing.set_text(Key::Model, notes.said(line, model.join(" ")));
        }
        let sizes = self.rest.split_whitespace();
        let size = sizes
            .filter_map(|word| number::shown(word, Prefix::Decimal, Rounding::Any))
            .next();
        thing.size = size.map(|size| notes.said(line, size));
        notes.add(thing);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_disks_are_read() {
        let of = |text| Row::of(text).map(|row| (row.device, row.model.join(" "), row.rest.trim()));
        assert_eq!(
            of("[2:0:1:0]    disk    ACME     X4000            0120  /dev/sdb   4.00TB"),
            Some(("sdb", "ACME X4000 0120".to_owned(), "4.00TB"))
        );
        for text in [
            "[2:0:0:0]    cd/dvd  ACME     DVD              UMD0  /dev/sr0        -",
            "[root@db1 ~]# cat /dev/sda",
            "[0:0:32:0]   enclosu ACME     BACKPLANE        1.07  -          -",
            "[sda] disk /dev/sda",
        ] {
            assert_eq!(of(text), None, "{text}");
        }
    }
}
