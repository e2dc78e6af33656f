//! `/proc/mdstat`: arrays and their members, without the place of the data on them.
//!
//! Source: `md_seq_show` of `drivers/md/md.c` and the `status` functions of its levels.

use straddle_geometry::Bytes;

use super::md_array::{self, Array};
use crate::captured::text::Line;
use crate::captured::tool::{Anchor, Notes, Reader, Section, Tool};
use crate::inventory::Space;

pub(crate) static TOOL: Tool = Tool {
    name: "mdstat",
    platform: "linux",
    commands: &["cat /proc/mdstat"],
    readers: &[Reader::Text {
        anchors: &[Anchor::Start("md")],
        begins: |lines| heading(&lines[0]).is_some(),
        read,
    }],
};

/// Marks of what is in no place of the array: failed, spare, journal, what is filled to replace another.
const NO_PLACE: [&str; 4] = ["(F)", "(S)", "(J)", "(R)"];

/// `md5 : active (auto-read-only) raid5 sdg[2] sdf[1] sde[0]`: name, level, members. Inactive ones have no level.
fn heading<'t>(line: &Line<'t>) -> Option<(&'t str, &'t str, Vec<&'t str>)> {
    let (name, rest) = line.text.split_once(" : ")?;
    let mut words = rest.split_whitespace().peekable();
    if words.next()? != "active" || !name.starts_with("md") || name.contains(' ') {
        return None;
    }
    while words.next_if(|word| word.starts_with('(')).is_some() {}
    let level = words.next().filter(|word| !word.contains('['))?;
    let members: Vec<&str> = words.collect();
    let sound = !members.is_empty() && members.iter().all(|word| word.contains('['));
    sound.then_some((name.trim(), level, members))
}

fn read(section: &Section<'_>, notes: &mut Notes<'_>) {
    let Some((first, rest)) = section.lines.split_first() else {
        return;
    };
    let Some((name, level, members)) = heading(first) else {
        return;
    };
    let mut array = Array::default();
    array.name(Space::Device, name);
    array.level = Some((level.to_owned(), *first));
    for line in rest.iter().take_while(|line| !line.is_blank()) {
        if line.text.contains(" blocks") {
            blocks(&mut array, level, line);
        }
        array.moving |= line.text.contains("reshape");
    }
    let count = array.count.map_or(members.len(), |(count, _)| {
        usize::try_from(count).unwrap_or(usize::MAX)
    });
    // Numbers follow the order in which members came; they are places as long as none was replaced.
    let works: Vec<(&str, Option<usize>)> = members
        .iter()
        .filter(|word| !NO_PLACE.iter().any(|mark| word.contains(mark)))
        .filter_map(|word| {
            let (device, rest) = word.split_once('[')?;
            Some((device, rest.split_once(']')?.0.parse().ok()))
        })
        .collect();
    // Levels without redundancy have all their members, or do not run.
    if array.count.is_none() {
        array.count = u64::try_from(works.len()).ok().map(|n| (n, *first));
    }
    let in_place = works
        .iter()
        .all(|(_, slot)| slot.is_some_and(|slot| slot < count));
    for (device, slot) in works {
        array.member(device, slot.filter(|_| in_place));
    }
    array.note(notes);
}

/// `65408 blocks super 1.2 level 6, 64k chunk, algorithm 2 [4/4] [UUUU]`, `… 32K chunks 2 near-copies [4/4] [UUUU]`.
fn blocks<'t>(array: &mut Array<'t>, level: &str, line: &Line<'t>) {
    let words: Vec<&str> = line
        .text
        .split([' ', ','])
        .filter(|w| !w.is_empty())
        .collect();
    let after = |key: &str| {
        let at = words.iter().position(|word| *word == key)?;
        words.get(at + 1).copied()
    };
    let before = |keys: &[&str]| {
        let at = words.iter().position(|word| keys.contains(word))?;
        words.get(at.checked_sub(1)?).copied()
    };
    let size = before(&["blocks"]).and_then(|n| Bytes::new(n.parse().ok()?).checked_mul(1024));
    array.size = size.map(|size| (size, *line));
    let version = after("super").unwrap_or("0.90");
    array.version = Some((md_array::version(version), *line));
    let chunk = before(&["chunk", "chunks", "rounding"]).and_then(md_array::chunk);
    array.chunk = chunk.map(|chunk| (chunk, *line));
    let copies =
        |key: &str| before(&[key]).and_then(|n| n.parse::<u64>().ok().filter(|n| *n < 256));
    let layout = if level == "raid10" {
        let near = copies("near-copies");
        let far = copies("far-copies").map(|n| n << 8);
        let offset = copies("offset-copies").map(|n| 1 << 16 | n << 8);
        let others = far.or(offset);
        (near.is_some() || others.is_some()).then(|| near.unwrap_or(1) | others.unwrap_or(1 << 8))
    } else {
        after("algorithm").and_then(|n| n.parse().ok())
    };
    array.layout = layout.map(|layout| (layout, *line));
    // `[4/3]`: meant to be, are there.
    let count = words.iter().find_map(|word| {
        let (count, there) = word.strip_prefix('[')?.strip_suffix(']')?.split_once('/')?;
        Some((count.parse::<u64>().ok()?, there.parse::<u64>().ok()?))
    });
    array.count = count.map(|(count, _)| (count, *line));
    array.working = count.map(|(_, there)| (there, *line));
}

#[cfg(test)]
mod tests {
    use super::*;
    use straddle_geometry::Unit;

    #[test]
    fn a_line_of_blocks_says_layout_and_chunk() {
        let mut array = Array::default();
        let text = "      63488 blocks super 1.2 32K chunks 2 offset-copies [4/3] [UU_U]";
        let line = Line { number: 2, text };
        blocks(&mut array, "raid10", &line);
        assert_eq!(array.layout.map(|(l, _)| l), Some(0x1_0201));
        assert_eq!(array.chunk.map(|(c, _)| c), Unit::new(32 << 10));
        assert_eq!(array.count.map(|(c, _)| c), Some(4));
    }

    #[test]
    fn other_lines_are_no_arrays() {
        for text in [
            "md : active",
            "md0 : inactive sdb[0](S)",
            "mdadm : active x",
            "md5:",
        ] {
            assert!(heading(&Line { number: 1, text }).is_none(), "{text}");
        }
    }
}
