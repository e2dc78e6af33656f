//! The texts of SUSE's `supportconfig`: a title that says what follows, the command or the path of a file, and what it printed or has.
//!
//! ```text
//! #==[ Command ]======================================#
//! # /sbin/parted -s /dev/sda print
//! ```
//!
//! Source: supportutils `bin/supportconfig`.

use super::part::Part;
use crate::captured::text::Line;

/// What a title calls it: `Command`, `Configuration File`, `Log File`.
fn title<'t>(line: &Line<'t>) -> Option<&'t str> {
    let (title, rule) = line.text.trim().strip_prefix("#==[ ")?.split_once(" ]=")?;
    rule.ends_with('#').then_some(title)
}

/// Files of which the content tells of storage.
const FILES: [&str; 6] = [
    "/etc/lvm/backup/",
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
    parts
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
}
