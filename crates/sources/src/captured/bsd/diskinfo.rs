//! `diskinfo -v`: a number or a word in each line, and what it is behind a `#`.
//!
//! ```text
//! /dev/ada0
//!         512             # sectorsize
//!         500107862016    # mediasize in bytes (466G)
//!         4096            # stripesize
//! ```
//!
//! Source: FreeBSD `usr.sbin/diskinfo/diskinfo.c`.

use straddle_stack::Key;

use super::{disk, identity, rotation, sector, size, stripe};
use crate::captured::text::Line;
use crate::captured::tool::{Anchor, Notes, Reader, Section, Tool};
use crate::inventory::Thing;

pub(crate) static TOOL: Tool = Tool {
    name: "diskinfo",
    platform: "freebsd",
    commands: &["diskinfo -v DISK"],
    readers: &[Reader::Text {
        anchors: &[Anchor::Start("/dev/"), Anchor::Shaped(is_bare)],
        begins,
        read,
    }],
};

/// `ada0`, as it is printed where it was typed so.
fn is_bare(text: &str) -> bool {
    let text = text.trim();
    (2..=16).contains(&text.len())
        && text.ends_with(|c: char| c.is_ascii_digit())
        && text.bytes().all(|b| b.is_ascii_alphanumeric())
}

fn begins(lines: &[Line<'_>]) -> bool {
    let is_device = lines
        .first()
        .is_some_and(|line| line.text.split_whitespace().count() == 1);
    let next = lines.get(1).and_then(|line| field(line.text));
    is_device && matches!(next, Some((_, "sectorsize")))
}

/// `512  # sectorsize`: the value, and what it is.
fn field(text: &str) -> Option<(&str, &str)> {
    let (value, what) = text.split_once('#')?;
    Some((value.trim(), what.trim()))
}

fn read(section: &Section<'_>, notes: &mut Notes<'_>) {
    let Some((first, lines)) = section.lines.split_first() else {
        return;
    };
    let mut thing: Thing = disk(first.text.trim().trim_start_matches("/dev/"));
    let mut stripes: Option<(u64, Line<'_>)> = None;
    for line in lines {
        let Some((value, what)) = field(line.text) else {
            break;
        };
        let number = value.parse::<u64>();
        match (what, number) {
            ("sectorsize", Ok(bytes)) => sector(&mut thing, bytes, line, notes),
            ("stripesize", Ok(bytes)) => stripes = Some((bytes, *line)),
            ("stripeoffset", Ok(offset)) => {
                if let Some((bytes, line)) = stripes.take() {
                    stripe(&mut thing, bytes, offset, &line, notes);
                }
            }
            ("Disk descr.", _) => thing.set_text(Key::Model, notes.said(line, value.to_owned())),
            ("Disk ident.", _) => thing = identity(thing, value, line, notes),
            ("Rotation rate in RPM", _) => rotation(&mut thing, value, line, notes),
            (what, Ok(bytes)) if what.starts_with("mediasize in bytes") => {
                size(&mut thing, bytes, line, notes);
            }
            _ => {}
        }
    }
    // Without the offset, which comes next, the output was cut.
    if let Some((bytes, line)) = stripes {
        stripe(&mut thing, bytes, 0, &line, notes);
    }
    notes.add(thing);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_and_its_sector_begin_it() {
        let is = |first: &'static str, second: &'static str| {
            begins(&[
                Line {
                    number: 1,
                    text: first,
                },
                Line {
                    number: 2,
                    text: second,
                },
            ])
        };
        assert!(is("/dev/ada0", "\t512         \t# sectorsize"));
        assert!(is("da12", "\t4096\t# sectorsize"));
        assert!(!is("/dev/ada0", "\t512 sectors"));
        assert!(!is("/dev/ada0 is a disk", "\t512\t# sectorsize"));
        assert!(is_bare("nda0") && !is_bare("sectors") && !is_bare("512 512"));
    }
}
