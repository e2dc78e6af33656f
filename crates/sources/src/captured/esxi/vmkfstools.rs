//! `vmkfstools -P`, with `-v 10` or without, `-h` or without: a VMFS volume, its file block, and the partitions it spans.

use straddle_geometry::{Bytes, Unit};
use straddle_stack::{AnomalyKind, GridRole, Interval, Key};

use super::partition_in;
use super::vmfs_extent::{format, volume};
use crate::captured::number::{self, Prefix, Rounding};
use crate::captured::text::Line;
use crate::captured::tool::{Anchor, Notes, Reader, Section, Tool};
use crate::inventory::{Placing, Thing};

pub(crate) static TOOL: Tool = Tool {
    name: "vmkfstools",
    platform: "esxi",
    commands: &[
        "vmkfstools -P -v 10 /vmfs/volumes/NAME",
        "vmkfstools -Ph /vmfs/volumes/NAME",
    ],
    readers: &[Reader::Text {
        anchors: &[Anchor::Start("VMFS-")],
        begins: |lines| lines[0].text.contains("file system spanning"),
        read,
    }],
};

fn value<'t>(lines: &[Line<'t>], key: &str) -> Option<(&'t str, Line<'t>)> {
    lines.iter().find_map(|line| {
        let rest = line.text.trim().strip_prefix(key)?;
        Some((rest.trim_start_matches(':').trim(), *line))
    })
}

fn read(section: &Section<'_>, notes: &mut Notes<'_>) {
    let Some((first, rest)) = section.lines.split_first() else {
        return;
    };
    let Some(version) = first.text.split_whitespace().next() else {
        return;
    };
    let Some(kind) = format(version) else { return };
    let label = value(rest, "File system label (if any)");
    let uuid = value(rest, "UUID").map_or("", |(uuid, _)| uuid);
    let mut thing = volume(uuid, label.map(|(label, _)| label));
    thing.names.retain(|name| !name.text.is_empty());
    thing.format = Some(notes.said(first, kind.into()));
    let number = version.trim_start_matches("VMFS-").to_owned();
    thing.set_text(Key::Version, notes.said(first, number));
    if let Some((label, line)) = label {
        thing.set_text(Key::Label, notes.said(&line, label.to_owned()));
    }
    let (size, block) = value(rest, "Capacity").map_or((None, None), |(text, line)| {
        let (size, block) = capacity(text);
        let exact = |bytes| notes.said(&line, bytes);
        (size.map(exact), block.map(|unit| notes.said(&line, unit)))
    });
    if let Some((text, line)) = value(rest, "Capacity")
        && let (Some(size), Some(block)) = (&size, &block)
        && let Some(count) = blocks(text)
        && block.value.get().checked_mul(count).map(Bytes::new) != size.value.known()
        && size.value.known().is_some()
    {
        let detail = format!(
            "{count} file blocks of {} are not {}",
            block.value, size.value
        );
        notes.contradicts(&mut thing, detail, &line, &line);
    }
    thing.size = size;
    if let Some(block) = block {
        thing.grid(GridRole::AllocationUnit, block);
    }
    let spanned = value(rest, "Partitions spanned").map(|(_, line)| line);
    for partition in spanned.iter().flat_map(|from| partitions(rest, from)) {
        thing.on.extend(partition.names.first().cloned());
        notes.add(partition);
    }
    if let [_, _, ..] = thing.on.as_slice() {
        thing.placing = Placing::Unknown;
    }
    if thing.names.is_empty() {
        // Cut off before its identity: the partition that it fills is what it is known by.
        match thing.on.first().cloned() {
            Some(name) => thing.names.push(name),
            None => return,
        }
    }
    if let (true, Some(last)) = (thing.on.is_empty(), rest.last()) {
        let detail = "the output of vmkfstools ends before the partitions that it spans";
        notes.remark(AnomalyKind::Truncated, detail, last);
    }
    notes.add(thing);
}

/// `246960619520 (235520 file blocks * 1048576), 233943597056 (223106 blocks) avail`, or with `-h` `99.8 GB, 98.3 GB
/// available, file block size 1 MB, max supported file size 64 TB`: size and file block.
fn capacity(text: &str) -> (Option<Interval>, Option<Unit>) {
    let bytes = |text: &str| {
        let end = text.find(|c: char| !c.is_ascii_digit());
        number::whole(&text[..end.unwrap_or(text.len())])
    };
    if let Some((_, block)) = text.split_once("file blocks *") {
        let size = bytes(text).map(|n| Interval::exact(Bytes::new(n)));
        return (size, bytes(block.trim()).and_then(Unit::new));
    }
    let (shown, rest) = text.split_once(',').unwrap_or((text, ""));
    // Rounded or cut: nothing tells.
    let nearest = number::shown(shown, Prefix::Binary, Rounding::Nearest);
    let down = number::shown(shown, Prefix::Binary, Rounding::Down);
    let size = nearest.zip(down).and_then(|(near, cut)| {
        Interval::new(near.from().min(cut.from()), near.to().max(cut.to()))
    });
    let block = rest
        .split_once("file block size")
        .and_then(|(_, block)| number::shown(block.trim(), Prefix::Binary, Rounding::Down));
    (
        size,
        block.and_then(|block| Unit::try_from(block.from()).ok()),
    )
}

/// 235520 of `246960619520 (235520 file blocks * 1048576)`.
fn blocks(text: &str) -> Option<u64> {
    let (count, _) = text.split_once(" file blocks *")?;
    number::whole(count.rsplit('(').next()?)
}

/// The lines below `Partitions spanned (on "lvm"):`.
fn partitions(lines: &[Line<'_>], from: &Line<'_>) -> Vec<Thing> {
    let below = lines.iter().skip_while(|line| line.number <= from.number);
    below
        .map_while(|line| partition_in(line.text))
        .take(32)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capacities_exact_and_for_people() {
        let (size, block) =
            capacity("246960619520 (235520 file blocks * 1048576), 1 (1 blocks) avail");
        assert_eq!(
            size.and_then(|s| s.known()),
            Some(Bytes::new(246_960_619_520))
        );
        assert_eq!(block.map(Unit::get), Some(1 << 20));
        let (size, block) = capacity("99.8 GB, 98.3 GB available, file block size 8 MB");
        assert!(size.is_some_and(|s| s.contains(Bytes::new(107_105_746_944))));
        assert_eq!(block.map(Unit::get), Some(8 << 20));
        assert_eq!(capacity("much"), (None, None));
    }
}
