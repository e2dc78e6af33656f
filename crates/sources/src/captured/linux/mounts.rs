//! What is mounted: `/proc/mounts`, `/proc/self/mountinfo`, `mount -l`, `findmnt`. Read where a support tool says that a file is one of
//! them: the lines alone stand in many a manual.
//!
//! ```text
//! /dev/mapper/vg-db /db xfs rw,relatime,sunit=128,swidth=512,noquota 0 0
//! /dev/mapper/vg-db on /db type xfs (rw,relatime,sunit=128,swidth=512,noquota)
//! 36 1 253:2 / /db rw,relatime shared:1 - xfs /dev/mapper/vg-db rw,sunit=128,swidth=512,noquota
//! /db    /dev/mapper/vg-db xfs    rw,relatime,sunit=128,swidth=512,noquota
//! ```
//!
//! `sunit` and `swidth` of XFS count sectors of 512 bytes.
//!
//! Source: Linux `fs/proc_namespace.c`, `fs/xfs/xfs_super.c` (`xfs_fs_show_options`); util-linux `sys-utils/mount.c`.

use std::collections::HashSet;

use straddle_geometry::Bytes;
use straddle_stack::{Key, Value};

use super::device;
use crate::captured::text::Line;
use crate::captured::tool::Notes;
use crate::inventory::{Name, Space};

/// The name of what is read.
pub(in crate::captured) const NAME: &str = "mounts";

/// Filesystems that lie on a device.
const KINDS: [&str; 18] = [
    "btrfs", "exfat", "ext2", "ext3", "ext4", "f2fs", "gfs2", "iso9660", "jfs", "nilfs2", "ntfs",
    "ntfs3", "ocfs2", "reiserfs", "udf", "vfat", "vxfs", "xfs",
];

struct Mount<'t> {
    device: &'t str,
    point: &'t str,
    kind: &'t str,
    options: &'t str,
}

fn mount(text: &str) -> Option<Mount<'_>> {
    let text = text.trim_start_matches(|c: char| !c.is_ascii_alphanumeric() && c != '/');
    let words: Vec<&str> = text.split_whitespace().take(16).collect();
    let mount = match words.as_slice() {
        [device, "on", point, "type", kind, options, ..] => Mount {
            device,
            point,
            kind,
            options: options.trim_matches(['(', ')']),
        },
        // Between the options and this sign there may be any number of fields.
        [_, _, place, root, point, _, rest @ ..] if place.contains(':') => {
            let at = rest.iter().position(|word| *word == "-")?;
            let [kind, device, options, ..] = rest.get(at + 1..)? else {
                return None;
            };
            // Another root is a directory of it that is mounted elsewhere.
            if *root != "/" && *kind != "btrfs" {
                return None;
            }
            Mount {
                device,
                point,
                kind,
                options,
            }
        }
        [point, device, kind, options, ..] if device.starts_with("/dev/") => Mount {
            // `findmnt` shows subvolumes in brackets.
            device: device.split('[').next()?,
            point,
            kind,
            options,
        },
        [device, point, kind, options, ..] => Mount {
            device,
            point,
            kind,
            options,
        },
        _ => return None,
    };
    let is_one = mount.device.starts_with("/dev/")
        && mount.device != "/dev/root"
        && mount.point.starts_with('/')
        && KINDS.contains(&mount.kind);
    is_one.then_some(mount)
}

/// Notes each filesystem, once: what is mounted again elsewhere is the same.
pub(in crate::captured) fn read(lines: &[Line<'_>], notes: &mut Notes<'_>) {
    let mut seen = HashSet::new();
    for line in lines {
        let Some(mount) = mount(line.text) else {
            continue;
        };
        if !seen.insert(mount.device) {
            continue;
        }
        let on = device::name(mount.device);
        let Some(kind) = device::filesystem(mount.kind, None) else {
            continue;
        };
        let mut thing = device::filesystem_on(&kind, &on, line, notes);
        let point = mount.point.replace("\\040", " ");
        thing = thing.named(Name::new(Space::MountPoint, point.clone()));
        thing.set_text(Key::MountPoint, notes.said(line, point));
        for (option, key) in [
            ("sunit=", Key::FsStripeUnit),
            ("swidth=", Key::FsFullStripe),
        ] {
            let value = mount
                .options
                .split(',')
                .find_map(|word| word.strip_prefix(option));
            if let Some(sectors) = value.and_then(|value| value.parse::<u64>().ok())
                && mount.kind == "xfs"
                && sectors > 0
                && let Some(bytes) = Bytes::new(512).checked_mul(sectors)
            {
                thing.set(key, notes.said(line, Value::Bytes(bytes)));
            }
        }
        notes.add(thing);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Option<String> {
        let mount = mount(text)?;
        let Mount {
            device,
            point,
            kind,
            options,
        } = mount;
        Some(format!("{device} {point} {kind} {options}"))
    }

    #[test]
    fn every_form_says_the_same() {
        for text in [
            "/dev/mapper/vg-db /db xfs rw,sunit=128 0 0",
            "/dev/mapper/vg-db on /db type xfs (rw,sunit=128) [data]",
            "36 1 253:2 / /db rw,relatime shared:1 - xfs /dev/mapper/vg-db rw,sunit=128",
            "├─/db      /dev/mapper/vg-db   xfs    rw,sunit=128",
            "|-/db      /dev/mapper/vg-db[/a]   xfs    rw,sunit=128",
        ] {
            let expected = "/dev/mapper/vg-db /db xfs rw,sunit=128";
            assert_eq!(shown(text).as_deref(), Some(expected), "{text}");
        }
        for text in [
            "tmpfs /run tmpfs rw 0 0",
            "/dev/root / ext4 rw 0 0",
            "36 1 253:2 /sub /db rw - xfs /dev/mapper/vg-db rw",
            "TARGET SOURCE FSTYPE OPTIONS",
            "",
            "36 1 253:2 / /db rw - xfs",
        ] {
            assert_eq!(shown(text), None, "{text}");
        }
    }
}
