//! The texts of SUSE's `supportconfig`: a title that says what follows, the command or the path of a file, and what it printed or has.
//!
//! ```text
//! #==[ Command ]======================================#
//! # /sbin/parted -s /dev/sda print
//! ```
//!
//! Source: supportutils `bin/supportconfig`.

use std::collections::BTreeMap;

use super::part::Part;
use crate::captured::text::Line;

/// What a title calls it: `Command`, `Configuration File`, `Log File`.
fn title<'t>(line: &Line<'t>) -> Option<&'t str> {
    let (title, rule) = line.text.trim().strip_prefix("#==[ ")?.split_once(" ]=")?;
    rule.ends_with('#').then_some(title)
}

/// Where LVM keeps the metadata of each volume group, and what they were before each change: `vg0_00017-123456789.vg`.
const BACKUP: &str = "/etc/lvm/backup/";
const ARCHIVE: &str = "/etc/lvm/archive/";

/// Files of which the content tells of storage.
const FILES: [&str; 7] = [
    ARCHIVE,
    BACKUP,
    "/etc/mtab",
    "/proc/mdstat",
    "/proc/mounts",
    "/proc/partitions",
    "/proc/self/mounts",
];

/// The outputs, each with its command, without those that tell of something else.
pub(in crate::captured) fn parts<'t>(lines: &[Line<'t>]) -> Vec<Part<'t>> {
    let mut parts: Vec<Part<'t>> = Vec::new();
    let (mut is_read, mut kind) = (false, None);
    for line in lines {
        if let Some(title) = title(line) {
            (is_read, kind) = (false, Some(title));
        } else if let Some(kind) = kind.take() {
            let what = line.text.trim().strip_prefix("# ").unwrap_or_default();
            let command = match kind {
                "Command" => Some(what),
                "Configuration File" => FILES
                    .iter()
                    .find(|file| what.starts_with(**file))
                    .map(|_| what),
                _ => None,
            };
            is_read = command.is_some();
            if is_read {
                parts.push(Part {
                    command,
                    lines: Vec::new(),
                });
            }
        } else if let (true, Some(part)) = (is_read, parts.last_mut()) {
            part.lines.push(*line);
        }
    }
    leave_latest(&mut parts);
    parts
}

/// The volume group whose metadata a file has, and how late they are.
fn state(path: &str) -> Option<(&str, u64)> {
    if let Some(group) = path.strip_prefix(BACKUP) {
        return Some((group, u64::MAX));
    }
    let (group, rest) = path.strip_prefix(ARCHIVE)?.rsplit_once('_')?;
    Some((group, rest.split('-').next()?.parse().ok()?))
}

/// Takes out what volume groups were before: it would contradict what they are.
fn leave_latest(parts: &mut Vec<Part<'_>>) {
    let states = || parts.iter().filter_map(|part| state(part.command?));
    let mut latest: BTreeMap<&str, u64> = BTreeMap::new();
    for (group, number) in states() {
        let last = latest.entry(group).or_default();
        *last = number.max(*last);
    }
    parts.retain(|part| match part.command.and_then(state) {
        Some((group, number)) => latest.get(group) == Some(&number),
        None => !part.command.is_some_and(|path| path.starts_with(ARCHIVE)),
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_and_files_of_storage_are_parts() {
        let text = "#==[ Command ]====#\n# /sbin/lsblk -i\nNAME\n\n#==[ Log File ]====#\n# /var/log/messages\nDisk /dev/sdz: 1 GB\n\
                    #==[ Configuration File ]===#\n# /proc/mdstat\nPersonalities :\n#==[ Configuration File ]==#\n# /etc/fstab\nx\n";
        let lines: Vec<Line<'_>> = (1..)
            .zip(text.lines())
            .map(|(number, text)| Line { number, text })
            .collect();
        let found: Vec<(Option<&str>, usize)> = parts(&lines)
            .into_iter()
            .map(|part| (part.command, part.lines.len()))
            .collect();
        assert_eq!(
            found,
            [(Some("/sbin/lsblk -i"), 2), (Some("/proc/mdstat"), 1)]
        );
    }

    #[test]
    fn of_a_volume_group_the_latest_state_counts() {
        let files = [
            "/etc/lvm/archive/vg_a_00009-11.vg",
            "/etc/lvm/archive/vg_a_00010-7.vg",
            "/etc/lvm/backup/vg_b",
            "/etc/lvm/archive/vg_b_00002-3.vg",
            "/etc/lvm/archive/readme",
        ];
        let text: String = files
            .iter()
            .map(|file| format!("#==[ Configuration File ]==#\n# {file}\nx\n"))
            .collect();
        let lines: Vec<Line<'_>> = (1..)
            .zip(text.lines())
            .map(|(number, text)| Line { number, text })
            .collect();
        let found: Vec<_> = parts(&lines).iter().map(|part| part.command).collect();
        assert_eq!(found, [Some(files[1]), Some(files[2])]);
    }
}
