//! `dumpe2fs -h` and `tune2fs -l`: the superblock of ext2, ext3 and ext4.
//!
//! They do not print which device they read: the command does, or the file's name (`dumpe2fs-sda1.txt`), or another
//! capture with the same UUID.
//!
//! Source: e2fsprogs `lib/e2p/ls.c`, `list_super2`; names of features from `lib/e2p/feature.c`.

use straddle_geometry::Bytes;
use straddle_stack::{GridRole, Key, LayerKind, Trust, Value};

use super::device;
use crate::captured::number;
use crate::captured::text::Line;
use crate::captured::tool::{Anchor, Context, Notes, Reader, Section, Tool};
use crate::inventory::{Name, Space, Thing};

pub(crate) static TOOL: Tool = Tool {
    name: "dumpe2fs",
    platform: "linux",
    commands: &["dumpe2fs -h DEVICE", "tune2fs -l DEVICE"],
    readers: &[
        Reader::Text {
            anchors: &[Anchor::Start("Filesystem volume name:")],
            begins: |_| true,
            read,
        },
        Reader::Text {
            anchors: &[
                Anchor::Loose("Block count:"),
                Anchor::Loose("Block size:"),
                Anchor::Loose("RAID stride:"),
                Anchor::Loose("RAID stripe"),
            ],
            begins: grepped,
            read,
        },
    ],
};

/// How many lines `grep` may leave of the fields of a superblock, at most.
const GREPPED: usize = 12;

/// True for what `grep` leaves of a superblock: the size of a block, beside how many there are or the geometry of an array.
/// `stat -f` and others print a line of that name too.
fn grepped(lines: &[Line<'_>]) -> bool {
    let near = &lines[..lines.len().min(GREPPED)];
    let end = near.iter().position(Line::is_blank).unwrap_or(near.len());
    let near = &near[..end];
    let has =
        |key: &str| field(near, &[key]).is_some_and(|(value, _)| number::whole(value).is_some());
    let geometry = ["RAID stride", "RAID stripe width", "RAID stripe_width"];
    has("Block size")
        && (geometry.into_iter().any(has) || has("Block count") && has("Blocks per group"))
}

/// Features that ext2 and ext3 had; any other that is not merely compatible makes it ext4.
const OLD: [&str; 8] = [
    "filetype",
    "needs_recovery",
    "meta_bg",
    "sparse_super",
    "large_file",
    "btree_dir",
    "journal_dev",
    "has_journal",
];
/// Features that every driver may ignore.
const COMPATIBLE: [&str; 12] = [
    "dir_prealloc",
    "imagic_inodes",
    "has_journal",
    "ext_attr",
    "resize_inode",
    "dir_index",
    "lazy_bg",
    "sparse_super2",
    "fast_commit",
    "stable_inodes",
    "orphan_file",
    "snapshot_bitmap",
];

/// The generation that features belong to: the oldest driver that can mount it.
fn generation(features: &str) -> &'static str {
    let has = |name: &str| features.split_whitespace().any(|feature| feature == name);
    let new = |feature: &str| !OLD.contains(&feature) && !COMPATIBLE.contains(&feature);
    if has("journal_dev") {
        "ext-journal"
    } else if features.split_whitespace().any(new) {
        "ext4"
    } else if has("has_journal") {
        "ext3"
    } else {
        "ext2"
    }
}

fn field<'t>(lines: &[Line<'t>], keys: &[&str]) -> Option<(&'t str, Line<'t>)> {
    lines.iter().find_map(|line| {
        let (key, value) = line.text.split_once(':')?;
        keys.contains(&key.trim()).then_some((value.trim(), *line))
    })
}

/// The device or image file that a command names last, or that the file's name ends in.
pub(super) fn device_of(context: &Context<'_>, tools: &[&str]) -> Option<Name> {
    if let Some(command) = &context.command
        && tools.contains(&command.program().as_str())
        && let Some(path) = command.last()
        && !path.starts_with('-')
    {
        return Some(device::name(path));
    }
    let stem = context.file_stem;
    let rest = tools.iter().find_map(|tool| stem.strip_prefix(tool))?;
    let rest = rest.trim_start_matches(['-', '_', '.', ' ']);
    let rest = rest.strip_prefix("dev-").unwrap_or(rest);
    let kernel = ["sd", "hd", "vd", "xvd", "nvme", "md", "dm-", "mmcblk"];
    kernel
        .iter()
        .any(|prefix| rest.starts_with(prefix) && rest.len() <= 16)
        .then(|| device::name(rest))
}

fn read(section: &Section<'_>, notes: &mut Notes<'_>) {
    let lines = section.lines;
    let number = |keys: &[&str]| {
        let (value, line) = field(lines, keys)?;
        Some((number::leading(value)?, line))
    };
    let uuid = field(lines, &["Filesystem UUID"]).filter(|(value, _)| *value != "<none>");
    let on = device_of(&section.context, &["dumpe2fs", "tune2fs"]);
    let name = match (&uuid, &on) {
        (Some((uuid, _)), _) => Name::new(Space::Uuid, (*uuid).to_owned()),
        (None, Some(on)) => on.clone(),
        // What `grep` left of it, and no command above: the place in the text is its name.
        (None, None) => {
            let Some(line) = lines.first() else { return };
            Name::new(Space::Path, format!("{}:{}", notes.file, line.number))
        }
    };
    let features = field(lines, &["Filesystem features"]);
    let format = features.map(|(features, line)| (generation(features), line));
    let title = format.map_or("ext", |(format, _)| format);
    let mut thing = Thing::new(LayerKind::Filesystem, title, name);
    if let Some(on) = on {
        thing = thing.named(on.clone()).on(on);
    }
    if let Some((format, line)) = format {
        thing.format = Some(notes.said(&line, format.into()));
        thing.set_text(Key::Version, notes.said(&line, format.to_owned()));
    }
    if format.is_none()
        && let Some((_, line)) = field(
            lines,
            &["Filesystem magic number", "Block count", "Block size"],
        )
    {
        // Without its features, which of the family it is stays open.
        let mut said = notes.said(&line, "ext".into());
        said.trust = Trust::Doubtful;
        thing.format = Some(said);
    }
    if let Some((block, line)) = number(&["Block size"]) {
        let value = Value::Bytes(Bytes::new(block));
        thing.set(Key::BlockSize, notes.said(&line, value));
        geometry(&mut thing, lines, block, &line, notes);
    }
    if let Some((first, line)) = number(&["First block"]) {
        thing.set(Key::FirstDataBlock, notes.said(&line, Value::Count(first)));
    }
    if let Some((label, line)) = field(lines, &["Filesystem volume name"])
        && label != "<none>"
    {
        thing.set_text(Key::Label, notes.said(&line, label.to_owned()));
    }
    notes.add(thing);
}

/// What is counted in blocks.
fn geometry(
    thing: &mut Thing,
    lines: &[Line<'_>],
    block: u64,
    block_line: &Line<'_>,
    notes: &Notes<'_>,
) {
    let number = |keys: &[&str]| {
        let (value, line) = field(lines, keys)?;
        Some((number::leading(value)?, line))
    };
    // Without the feature `bigalloc` older versions print no cluster, or one of a block.
    match number(&["Cluster size"]).filter(|(cluster, _)| *cluster != block) {
        Some((cluster, line)) => {
            let value = Value::Bytes(Bytes::new(cluster));
            thing.set(Key::ClusterSize, notes.said(&line, value));
            device::grid(thing, GridRole::AllocationUnit, cluster, 0, &line, notes);
        }
        None => device::grid(thing, GridRole::AllocationUnit, block, 0, block_line, notes),
    }
    let blocks = [
        (&["RAID stride"][..], Key::FsStripeUnit),
        (
            &["RAID stripe width", "RAID stripe_width"],
            Key::FsFullStripe,
        ),
        (&["Block count"], Key::ClaimedSize),
    ];
    for (keys, key) in blocks {
        if let Some((count, line)) = number(keys)
            && let Some(bytes) = Bytes::new(block).checked_mul(count)
            && count != 0
        {
            thing.set(key, notes.said(&line, Value::Bytes(bytes)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_tell_the_generation() {
        let base = "ext_attr resize_inode dir_index filetype sparse_super large_file";
        assert_eq!(generation(base), "ext2");
        assert_eq!(generation(&format!("has_journal {base}")), "ext3");
        assert_eq!(generation(&format!("has_journal {base} extent")), "ext4");
        assert_eq!(generation(&format!("{base} uninit_bg")), "ext4");
    }

    #[test]
    fn the_device_is_in_the_name_of_the_file() {
        let of = |stem| {
            let context = Context {
                command: None,
                file_stem: stem,
            };
            device_of(&context, &["dumpe2fs"]).map(|name| name.text.into_owned())
        };
        assert_eq!(of("dumpe2fs-sda1").as_deref(), Some("sda1"));
        assert_eq!(of("dumpe2fs-nvme0n1p2").as_deref(), Some("nvme0n1p2"));
        assert_eq!(of("dumpe2fs-old"), None);
        assert_eq!(of("notes"), None);
    }
}
