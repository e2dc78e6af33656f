//! `xfs_info`, `xfs_growfs -n` and what `mkfs.xfs` prints: the geometry of an XFS filesystem.
//!
//! ```text
//! meta-data=/dev/sdb1              isize=512    agcount=4, agsize=61047552 blks
//!          =                       sectsz=512   attr=2, projid32bit=1
//! data     =                       bsize=4096   blocks=244190208, imaxpct=25
//!          =                       sunit=16     swidth=48 blks
//! log      =internal               bsize=4096   blocks=119233, version=2
//!          =                       sectsz=512   sunit=16 blks, lazy-count=1
//! ```
//!
//! Where the first lines are lost, the command says which device it is.
//!
//! Source: xfsprogs `libfrog/fsgeom.c`, `xfs_report_geom`.

use straddle_geometry::Bytes;
use straddle_stack::{GridRole, Key, Value};

use super::{device, ext};
use crate::captured::text::Line;
use crate::captured::tool::{Anchor, Notes, Reader, Section, Tool};
use crate::inventory::Name;

pub(crate) static TOOL: Tool = Tool {
    name: "xfs-info",
    platform: "linux",
    commands: &["xfs_info DEVICE", "xfs_growfs -n MOUNTPOINT"],
    readers: &[Reader::Text {
        anchors: &[Anchor::Start("meta-data="), Anchor::Loose("data ")],
        begins: |lines| {
            part(&lines[0]).is_some_and(|(part, _)| matches!(part, "meta-data" | "data"))
        },
        read,
    }],
};

/// The part of the filesystem that a line is about, and what it says; the part is empty where the one above goes on.
fn part<'t>(line: &Line<'t>) -> Option<(&'t str, &'t str)> {
    let (part, rest) = line.text.split_once('=')?;
    let part = part.trim();
    matches!(
        part,
        "" | "meta-data" | "data" | "naming" | "log" | "realtime"
    )
    .then_some((part, rest))
}

/// Each line with the part that it belongs to.
fn parts<'t>(lines: &[Line<'t>]) -> Vec<(&'t str, &'t str, Line<'t>)> {
    let mut current = "";
    let mut found = Vec::new();
    for line in lines {
        let Some((part, rest)) = part(line) else {
            break;
        };
        if !part.is_empty() {
            current = part;
        }
        found.push((current, rest, *line));
    }
    found
}

fn number<'t>(
    parts: &[(&'t str, &'t str, Line<'t>)],
    part: &str,
    key: &str,
) -> Option<(u64, Line<'t>)> {
    let mut lines = parts.iter().filter(|(of, ..)| *of == part);
    lines.find_map(|(_, rest, line)| {
        let words = rest.split([' ', ',']);
        let value = words.filter_map(|word| word.strip_prefix(key)?.strip_prefix('='));
        Some((value.flat_map(str::parse).next()?, *line))
    })
}

fn device<'t>(parts: &[(&'t str, &'t str, Line<'t>)], section: &Section<'_>) -> Option<Name> {
    let said = parts.iter().find_map(|(part, rest, _)| {
        let word = rest.split_whitespace().next()?;
        (*part == "meta-data" && !word.starts_with("isize=")).then(|| device::name(word))
    });
    said.or_else(|| {
        let tools = ["xfs_info", "xfs_growfs", "mkfs.xfs", "xfs_db"];
        ext::device_of(&section.context, &tools)
    })
}

fn read(section: &Section<'_>, notes: &mut Notes<'_>) {
    let parts = parts(section.lines);
    let Some(on) = device(&parts, section) else {
        return;
    };
    let Some(first) = parts.first().map(|(_, _, line)| *line) else {
        return;
    };
    let mut thing = device::filesystem_on("xfs", &on, &first, notes);
    let get = |part, key| number(&parts, part, key);
    if let Some((crc, line)) = get("meta-data", "crc") {
        let version = if crc == 1 { "v5" } else { "v4" };
        thing.set_text(Key::Version, notes.said(&line, version.to_owned()));
    }
    let mut bytes = |key, (bytes, line): (u64, Line<'_>)| {
        let value = Value::Bytes(Bytes::new(bytes));
        thing.set(key, notes.said(&line, value));
    };
    if let Some(sector) = get("meta-data", "sectsz") {
        bytes(Key::SectorSize, sector);
    }
    let block = get("data", "bsize");
    if let Some(block) = block {
        bytes(Key::BlockSize, block);
    }
    if let Some((block, _)) = block {
        let counted = [
            ("meta-data", "agsize", Key::AllocationGroupSize),
            ("data", "sunit", Key::FsStripeUnit),
            ("data", "swidth", Key::FsFullStripe),
            ("data", "blocks", Key::ClaimedSize),
            ("log", "sunit", Key::LogStripeUnit),
        ];
        for (part, name, key) in counted {
            if let Some((count, line)) = get(part, name).filter(|(count, _)| *count != 0)
                && let Some(product) = count.checked_mul(block)
            {
                bytes(key, (product, line));
            }
        }
    }
    if let Some(sector) = get("log", "sectsz") {
        bytes(Key::LogSectorSize, sector);
    }
    if let Some((block, line)) = block {
        device::grid(&mut thing, GridRole::AllocationUnit, block, 0, &line, notes);
    }
    notes.add(thing);
}
