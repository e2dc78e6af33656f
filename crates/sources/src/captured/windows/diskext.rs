//! `diskext` of Sysinternals: where volumes lie on disks, in bytes, also those of dynamic disks and those without a letter.

use straddle_geometry::Bytes;
use straddle_stack::{Anomaly, AnomalyKind, Interval, Key, LayerKind, Value};

use crate::captured::number;
use crate::captured::text::Line;
use crate::captured::tool::{Anchor, Notes, Reader, Section, Tool};
use crate::captured::windows;
use crate::inventory::{MAX_BELOW, Name, Placing, Space, Thing};

pub(crate) static TOOL: Tool = Tool {
    name: "diskext",
    platform: "windows",
    commands: &["diskext"],
    readers: &[Reader::Text {
        anchors: &[Anchor::Start("Volume:")],
        begins: |lines| volume_path(&lines[0]).is_some(),
        read,
    }],
};

/// `\\?\Volume{…}\` or `C:` behind `Volume:`.
fn volume_path<'t>(line: &Line<'t>) -> Option<&'t str> {
    let path = line.text.trim().strip_prefix("Volume:")?.trim();
    let lettered = matches!(path.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic());
    (lettered || path.starts_with("\\\\?\\")).then_some(path)
}

/// A place on a disk.
struct Extent<'t> {
    disk: Name,
    offset: Option<(u64, Line<'t>)>,
    length: Option<(u64, Line<'t>)>,
    line: Line<'t>,
}

/// Most extents of one volume.
const MAX_EXTENTS: usize = 256;
/// Most folders that one volume is mounted in.
const MAX_FOLDERS: usize = 64;

fn read(section: &Section<'_>, notes: &mut Notes<'_>) {
    let Some((first, rest)) = section.lines.split_first() else {
        return;
    };
    let Some(path) = volume_path(first) else {
        return;
    };
    let mut paths: Vec<&str> = Vec::new();
    let mut extents: Vec<Extent<'_>> = Vec::new();
    for line in rest {
        let text = line.text.trim();
        let mounted = text.strip_prefix("Mounted at:").unwrap_or(text).trim();
        if matches!(mounted.as_bytes(), [letter, b':', b'\\', ..] if letter.is_ascii_alphabetic()) {
            if paths.len() < MAX_FOLDERS {
                paths.push(mounted);
            }
            continue;
        }
        let words: Vec<&str> = text.split_whitespace().take(64).collect();
        for pair in words.windows(2) {
            let Some(value) = number::whole(pair[1]) else {
                continue;
            };
            let new = |disk| Extent {
                disk,
                offset: None,
                length: None,
                line: *line,
            };
            let room = extents.len() < MAX_EXTENTS;
            let has_place = extents.last().is_none_or(|last| last.offset.is_some());
            if pair[0] == "Offset:" && has_place && room {
                // The line that names its disk is missing.
                let detail = "nothing says on which disk this extent lies";
                notes.remark(AnomalyKind::Missing, detail, line);
                extents.push(new(windows::unknown_disk(line, notes)));
            }
            let last = extents.last_mut();
            match (pair[0], last) {
                ("Disk:", _) if room => extents.push(new(Name::windows_disk(value))),
                ("Offset:", Some(last)) => last.offset = Some((value, *line)),
                ("Length:", Some(last)) => last.length = Some((value, *line)),
                _ => {}
            }
        }
    }
    let Some(extent) = extents.first() else {
        return;
    };
    paths.push(path);
    let names = paths
        .iter()
        .map(|path| Name::new(Space::WindowsVolume, (*path).to_owned()));
    let names: Vec<Name> = names.collect();
    let title = paths
        .first()
        .map_or(path, |path| path.trim_end_matches('\\'));
    let Some(name) = names.first().cloned() else {
        return;
    };
    let mut thing = Thing::new(LayerKind::Partition, title, name);
    if let [only] = extents.as_slice() {
        thing = thing.on(only.disk.clone());
        if let Some((offset, line)) = only.offset {
            windows::put_at(&mut thing, offset, 512, &line, notes);
        }
        if let Some((length, line)) = only.length {
            thing.size = Some(notes.said(&line, Interval::exact(Bytes::new(length))));
        }
    } else {
        thing.kind = LayerKind::Volume;
        thing.placing = Placing::Unknown;
        for extent in &extents {
            // Where it begins on its disk is the start of a partition, whatever the volume makes of it.
            let below = match extent.offset {
                Some((offset, line)) => placed(extent, offset, &line, title, notes),
                None => extent.disk.clone(),
            };
            if thing.on.len() <= MAX_BELOW && !thing.on.contains(&below) {
                thing = thing.on(below);
            }
        }
        let count = u64::try_from(extents.len()).unwrap_or(u64::MAX);
        thing.set(Key::Extents, notes.said(first, Value::Count(count)));
        let detail = "a dynamic volume of several extents: nothing here says whether they are striped, mirrored or one after the \
                      other; `detail volume` of diskpart does";
        let anomaly = Anomaly::at(AnomalyKind::Missing, detail, notes.source(&extent.line));
        thing.remarks.push(anomaly);
    }
    for name in names {
        thing = thing.named(name);
    }
    notes.add(thing);
}

/// Notes an extent of a volume that has several, and returns its name.
fn placed(
    extent: &Extent<'_>,
    offset: u64,
    line: &Line<'_>,
    volume: &str,
    notes: &mut Notes<'_>,
) -> Name {
    let disk = &extent.disk;
    let name = Name::new(Space::WmiPartition, format!("{}/@{offset}", disk.text));
    let title = format!("extent of {volume} on disk {}", disk.text);
    let mut thing = Thing::new(LayerKind::Partition, title, name.clone()).on(disk.clone());
    windows::put_at(&mut thing, offset, windows::SECTOR.get(), line, notes);
    if let Some((length, line)) = extent.length {
        thing.size = Some(notes.said(&line, Interval::exact(Bytes::new(length))));
    }
    notes.add(thing);
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volumes_are_known_by_their_paths() {
        let of = |text| volume_path(&Line { number: 1, text });
        assert_eq!(of("Volume: C:"), Some("C:"));
        let guid = "\\\\?\\Volume{d9b9c1a2-0000-0000-0000-100000000000}\\";
        assert_eq!(
            volume_path(&Line {
                number: 1,
                text: &format!("Volume: {guid}")
            }),
            Some(guid)
        );
        assert_eq!(of("Volume: System"), None);
        assert_eq!(of("Volumes: C:"), None);
    }
}
