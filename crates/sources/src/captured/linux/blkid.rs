//! What libblkid says of partitions: `blkid -p`, in pairs, for udev (`-o udev`) or as variables (`-o export`), and `udevadm info`.
//!
//! ```text
//! /dev/sda1: UUID="…" TYPE="ext4" PART_ENTRY_NUMBER="1" PART_ENTRY_OFFSET="63" PART_ENTRY_SIZE="208782" PART_ENTRY_DISK="8:0"
//! ID_PART_ENTRY_OFFSET=63
//! E: ID_PART_ENTRY_OFFSET=63
//! ```
//!
//! Offsets and sizes count sectors of 512 bytes. Without `-p`, blkid tells of filesystems alone.
//!
//! Source: util-linux `libblkid/src/partitions/partitions.c`, `blkid_partitions_probe_partition`.

use std::borrow::Cow;
use straddle_stack::Key;

use super::{about, device, fdisk};
use crate::captured::row;
use crate::captured::text::Line;
use crate::captured::tool::{Anchor, Notes, Reader, Section, Tool};
use crate::inventory::{Name, Space};

pub(crate) static TOOL: Tool = Tool {
    name: "blkid",
    platform: "linux",
    commands: &[
        "blkid",
        "blkid -p DEVICE",
        "blkid -p -o udev DEVICE",
        "udevadm info DEVICE",
    ],
    readers: &[
        Reader::Text {
            anchors: &[Anchor::Start("/dev/")],
            begins: |lines| line_of(&lines[0]).is_some(),
            read: in_lines,
        },
        Reader::Text {
            anchors: &[
                Anchor::Start("P: /devices/"),
                Anchor::Start("DEVNAME=/dev/"),
                Anchor::Loose("E: "),
                Anchor::Loose("ID_PART_ENTRY_"),
                Anchor::Loose("PART_ENTRY_"),
                Anchor::Loose("ID_FS_"),
            ],
            begins: |lines| variable(&lines[0]).is_some() || is_path(&lines[0]),
            read: in_variables,
        },
    ],
};

const SECTOR: u64 = 512;
/// Most variables of one device that are remembered.
const MAX: usize = 512;

/// What is said of one device.
#[derive(Default)]
struct Block<'t> {
    node: Option<Cow<'t, str>>,
    fields: Vec<(&'t str, &'t str, Line<'t>)>,
}

impl<'t> Block<'t> {
    fn add(&mut self, key: &'t str, value: &'t str, line: Line<'t>) {
        if key == "DEVNAME" {
            self.node = Some(Cow::Borrowed(value));
        } else if !value.is_empty() && self.fields.len() < MAX {
            self.fields.push((key, value, line));
        }
    }

    /// A field by its name in pairs, or for udev.
    fn get(&self, key: &str) -> Option<(&'t str, Line<'t>)> {
        let is = |name: &str| {
            let bare = name.strip_prefix("ID_").unwrap_or(name);
            bare == key || bare.strip_prefix("FS_") == Some(key)
        };
        let mut fields = self.fields.iter();
        let (_, value, line) = fields.find(|(name, ..)| is(name))?;
        Some((value, *line))
    }

    fn number(&self, key: &str) -> Option<(u64, Line<'t>)> {
        let (text, line) = self.get(key)?;
        Some((text.parse().ok()?, line))
    }
}

/// `/dev/sda1: UUID="…" TYPE="ext4"`.
fn line_of<'t>(line: &Line<'t>) -> Option<Block<'t>> {
    let (node, mut rest) = line.text.trim().split_once(": ")?;
    if node.contains(' ') {
        return None;
    }
    let mut block = Block {
        node: Some(Cow::Borrowed(node)),
        fields: Vec::new(),
    };
    while let Some((key, behind)) = rest.split_once("=\"") {
        let key = key.trim();
        let plain = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_';
        if key.is_empty() || !key.bytes().all(plain) {
            return None;
        }
        let (value, behind) = behind.split_once('"')?;
        block.add(key, value, *line);
        rest = behind;
    }
    (!block.fields.is_empty()).then_some(block)
}

fn in_lines(section: &Section<'_>, notes: &mut Notes<'_>) {
    for line in section.lines.iter().take(1) {
        if let Some(block) = line_of(line) {
            add(&block, notes);
        }
    }
}

/// `E: ID_FS_TYPE=ext4`, `ID_FS_TYPE=ext4`.
fn variable<'t>(line: &Line<'t>) -> Option<(&'t str, &'t str)> {
    let text = line.text.trim();
    let (key, value) = text.strip_prefix("E: ").unwrap_or(text).split_once('=')?;
    let plain = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_';
    (!key.is_empty() && key.bytes().all(plain)).then_some((key, value.trim_matches('"')))
}

/// `P: /devices/pci0000:00/…/block/sda/sda1`.
fn is_path(line: &Line<'_>) -> bool {
    line.text.trim_start().starts_with("P: /devices/")
}

fn in_variables(section: &Section<'_>, notes: &mut Notes<'_>) {
    let mut block = Block::default();
    for line in section.lines {
        if line.is_blank() {
            flush(&mut block, section, notes);
        } else if is_path(line) {
            flush(&mut block, section, notes);
            let path = line.text.trim();
            let node = path.contains("/block/").then(|| path.rsplit('/').next());
            block.node = node
                .flatten()
                .map(|node| Cow::Owned(format!("/dev/{}", node.replace('!', "/"))));
        } else if let Some((key, value)) = variable(line) {
            block.add(key, value, *line);
        }
    }
    flush(&mut block, section, notes);
}

fn flush<'t>(block: &mut Block<'t>, section: &Section<'t>, notes: &mut Notes<'_>) {
    let mut whole = std::mem::take(block);
    if whole.fields.is_empty() {
        return;
    }
    if whole.node.is_none() {
        let name = about::of(&section.context, &["blkid", "udevadm"]);
        whole.node =
            name.map(|name| Cow::Owned(format!("/dev/{}", name.text.trim_start_matches("/dev/"))));
    }
    add(&whole, notes);
}

fn add(block: &Block<'_>, notes: &mut Notes<'_>) {
    let number = block.number("PART_ENTRY_NUMBER");
    let named = block.node.as_deref().and_then(fdisk::disk_of);
    let disk = named.unwrap_or("/dev/?");
    if let Some((start, line)) = block.number("PART_ENTRY_OFFSET") {
        let mut thing = match (&block.node, number) {
            (Some(node), _) if named.is_some() => device::partition(node, disk, &line, notes),
            (_, Some((number, line))) => device::numbered_partition(disk, number, &line, notes),
            _ => device::partition_at(disk, start),
        };
        let size = block.number("PART_ENTRY_SIZE");
        let figures = row::Row {
            start: row::exact(start, SECTOR),
            length: size.and_then(|(size, _)| row::exact(size, SECTOR)),
            ..row::Row::default()
        };
        figures.set(&mut thing, &line, notes);
        if let (Some(length), Some((_, line))) = (&mut thing.size, size) {
            length.source = notes.source(&line);
        }
        if let Some((kind, line)) = block.get("PART_ENTRY_TYPE") {
            device::partition_type(&mut thing, kind, &line, notes);
        }
        if let Some((name, line)) = block.get("PART_ENTRY_NAME") {
            thing.set_text(Key::PartitionName, notes.said(&line, name.to_owned()));
        }
        if let Some((uuid, _)) = block.get("PART_ENTRY_UUID") {
            thing = thing.named(Name::new(Space::Uuid, uuid.to_owned()));
        }
        let mut below = device::disk(disk);
        if let Some((scheme, line)) = block.get("PART_ENTRY_SCHEME") {
            device::table(&mut below, scheme, &line, notes);
        }
        notes.add(below);
        notes.add(thing);
    }
    let Some(node) = &block.node else { return };
    let known = block.get("TYPE").and_then(|(kind, line)| {
        let version = block.get("VERSION").map(|(version, _)| version);
        Some((device::filesystem(kind, version)?, line))
    });
    if let Some((kind, line)) = known {
        let mut thing = device::filesystem_on(&kind, &device::name(node), &line, notes);
        if let Some((uuid, _)) = block.get("UUID") {
            thing = thing.named(Name::new(Space::Uuid, uuid.to_owned()));
        }
        if let Some((label, line)) = block.get("LABEL") {
            thing.set_text(Key::Label, notes.said(&line, label.to_owned()));
        }
        notes.add(thing);
    }
    if let Some((table, line)) = block.get("PTTYPE").filter(|_| named.is_none()) {
        let mut thing = device::disk(node);
        device::table(&mut thing, table, &line, notes);
        if let Some((id, line)) = block.get("PTUUID") {
            thing = match id.len() {
                36 => device::table_id(thing, &id.to_ascii_uppercase(), &line, notes),
                _ => device::table_id(thing, id, &line, notes),
            };
        }
        notes.add(thing);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Line<'_> {
        Line { number: 1, text }
    }

    #[test]
    fn pairs_belong_to_the_device_before_them() {
        let line = line("/dev/sda1: LABEL=\"a b\" TYPE=\"ext4\" PART_ENTRY_OFFSET=\"63\"");
        let block = line_of(&line).expect("a device");
        assert_eq!(block.node.as_deref(), Some("/dev/sda1"));
        assert_eq!(block.get("LABEL").map(|found| found.0), Some("a b"));
        assert_eq!(
            block.number("PART_ENTRY_OFFSET").map(|found| found.0),
            Some(63)
        );
    }

    #[test]
    fn other_lines_about_devices_are_not_these() {
        for text in [
            "/dev/sda1: clean, 11/128016 files",
            "/dev/sda: 500GB",
            "/dev/sda1 : start=\"63\"",
            "/dev/sda1: data a=\"b\"",
        ] {
            assert!(line_of(&line(text)).is_none(), "{text}");
        }
        assert_eq!(
            variable(&line("E: ID_FS_TYPE=ext4")),
            Some(("ID_FS_TYPE", "ext4"))
        );
        assert_eq!(variable(&line("Name=x")), None);
    }
}
