//! libguestfs: `virt-alignment-scan`, in bytes, and the answer of `part-list`.
//!
//! ```text
//! rhel5:/dev/sda1        32256          512    bad (alignment < 4K)
//! [0] = {
//!   part_num: 1
//!   part_start: 32256
//!   part_end: 8587192319
//!   part_size: 8587160064
//! }
//! ```
//!
//! Source: libguestfs `align/scan.c`; virt-alignment-scan(1), guestfs(3).

use straddle_geometry::Bytes;
use straddle_stack::{AnomalyKind, Interval, LayerKind};

use super::{about, device, fdisk};
use crate::captured::row;
use crate::captured::text::Line;
use crate::captured::tool::{Anchor, Notes, Reader, Section, Tool};
use crate::inventory::Thing;

pub(crate) static TOOL: Tool = Tool {
    name: "libguestfs",
    platform: "linux",
    commands: &[
        "virt-alignment-scan -a IMAGE",
        "guestfish: part-list DEVICE",
    ],
    readers: &[
        Reader::Text {
            anchors: &[Anchor::Within("/dev/")],
            begins: |lines| scanned(&lines[0]).is_some(),
            read: scan,
        },
        Reader::Text {
            anchors: &[Anchor::Start("part_num: ")],
            begins: |_| true,
            read: list,
        },
    ],
};

/// A row of the scan: the guest, the partition's node, and where it starts.
fn scanned<'t>(line: &Line<'t>) -> Option<(Option<&'t str>, &'t str, u64)> {
    let mut words = line.text.split_whitespace();
    let first = words.next()?;
    let (guest, node) = match first.find("/dev/")? {
        0 => (None, first),
        at => (Some(first[..at].strip_suffix(':')?), &first[at..]),
    };
    let start = words.next()?.parse().ok()?;
    let alignment = words.next()?.trim_end_matches(['K', 'M', 'G']);
    let verdict = words.next()?;
    let is_row = alignment.parse::<u64>().is_ok() && matches!(verdict, "ok" | "bad");
    is_row.then_some((guest, node, start))
}

fn scan(section: &Section<'_>, notes: &mut Notes<'_>) {
    for line in section.lines {
        let Some((guest, node, start)) = scanned(line) else {
            continue;
        };
        let disk = fdisk::disk_of(node).unwrap_or(node);
        let own = |path: &str| match guest {
            None => path.to_owned(),
            Some(guest) => format!("{guest}:{path}"),
        };
        let title = |path: &str| match guest {
            None => device::title(path),
            Some(guest) => format!("{guest} {}", device::title(path)),
        };
        let named = |kind, path: &str| Thing::new(kind, title(path), device::name(&own(path)));
        notes.add(named(LayerKind::Device, disk));
        let mut thing = named(LayerKind::Partition, node).on(device::name(&own(disk)));
        let figures = row::Row {
            start: Some(Interval::exact(Bytes::new(start))),
            ..row::Row::default()
        };
        figures.set(&mut thing, line, notes);
        notes.add(thing);
    }
}

fn list(section: &Section<'_>, notes: &mut Notes<'_>) {
    let value = |key: &str| {
        let of = |line: &Line<'_>| {
            line.text
                .trim()
                .strip_prefix(key)?
                .trim()
                .parse::<u64>()
                .ok()
        };
        let mut own = section.lines.iter().take(4);
        own.find_map(|line| Some((of(line)?, *line)))
    };
    let Some((number, first)) = value("part_num:") else {
        return;
    };
    let Some((start, line)) = value("part_start:") else {
        let detail = "the entry of a partition is cut off, and was not read";
        notes.remark(AnomalyKind::Truncated, detail, &first);
        return;
    };
    let typed = section.before.iter().rev().find_map(|line| {
        let (_, path) = line.text.split_once("part-list ")?;
        path.trim().starts_with("/dev/").then(|| path.trim())
    });
    let asked = about::path(&section.context, &["part-list", "guestfish"]);
    let path = typed.unwrap_or(&asked);
    notes.add(device::disk(path));
    let mut thing = device::numbered_partition(path, number, &first, notes);
    let exact = |bytes: u64| Interval::exact(Bytes::new(bytes));
    let figures = row::Row {
        start: Some(exact(start)),
        end: value("part_end:").and_then(|(end, _)| Some(exact(end.checked_add(1)?))),
        length: value("part_size:").map(|(size, _)| exact(size)),
        ..row::Row::default()
    };
    figures.set(&mut thing, &line, notes);
    notes.add(thing);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_the_scan() {
        let of = |text| scanned(&Line { number: 1, text });
        assert_eq!(
            of("/dev/sda1        32256          512    bad (alignment < 4K)"),
            Some((None, "/dev/sda1", 32_256))
        );
        assert_eq!(
            of("web:/dev/vda2      1048576         1024K   ok"),
            Some((Some("web"), "/dev/vda2", 1_048_576))
        );
        for text in [
            "/dev/sda1 63 208844 104391 83 Linux",
            "/dev/sda1 5 6K yes",
            "x/dev/sda1 5 6 ok",
        ] {
            assert_eq!(of(text), None, "{text}");
        }
    }
}
