//! `pvereport` of Proxmox VE: a text with a title above each subject and each command above what it printed.
//!
//! ```text
//! ==== info about disks ====
//!
//! # lsblk --ascii -M -o +HOTPLUG,ROTA,PHY-SEC,FSTYPE,MODEL,TRAN
//! NAME        MAJ:MIN RM  SIZE RO TYPE MOUNTPOINTS HOTPLUG ROTA PHY-SEC FSTYPE MODEL TRAN
//! ```
//!
//! Proxmox Backup Server and Datacenter Manager write theirs in Markdown:
//!
//! ```text
//! ## COMMANDS
//!
//! $ `lsblk --ascii -M -o +HOTPLUG,ROTA,PHY-SEC,FSTYPE,MODEL,TRAN`
//! ```
//!
//! No command in it prints where partitions start.
//!
//! Source: pve-manager `PVE/Report.pm`; proxmox-backup `src/server/report.rs`.

use super::part::{Part, Report};
use crate::captured::text::Line;
use crate::missing::Missing;

pub(super) static REPORT: Report = Report {
    name: "pvereport",
    is,
    host,
    parts,
    besides: |_, _| {},
    missing: &[
        (
            Missing::Start,
            "`fdisk -l` or `straddle capture`; no Proxmox report has it",
        ),
        (
            Missing::Sectors,
            "a Proxmox report of version 7.2 or later, or `lsblk -t`",
        ),
        (
            Missing::Volume,
            "`lvs --segments -o +devices,stripes,stripesize`, or `dmsetup table`",
        ),
        (Missing::Encryption, "`cryptsetup luksDump DEVICE`"),
        (Missing::Array, "`mdadm --detail DEVICE`"),
        (Missing::Ext, "`tune2fs -l DEVICE`"),
        (Missing::Xfs, "`xfs_info MOUNTPOINT`"),
    ],
};

/// Programs whose output tells of storage. Others print files, such as the settings of guests, whose disks are none of the host's.
const PROGRAMS: [&str; 14] = [
    "blkid",
    "fdisk",
    "findmnt",
    "lsblk",
    "lvs",
    "mount",
    "multipath",
    "nvme",
    "parted",
    "pvs",
    "sfdisk",
    "smartctl",
    "vgs",
    "zpool",
];

/// `==== info about storage ====`.
fn title<'t>(line: &Line<'t>) -> Option<&'t str> {
    let text = line.text.trim();
    text.strip_prefix("==== ")?.strip_suffix(" ====")
}

fn is(lines: &[Line<'_>]) -> bool {
    let titles = lines.iter().filter_map(title);
    let is_its = |title: &str| title == "general system info" || title.starts_with("info about ");
    titles.filter(|title| is_its(title)).take(2).count() == 2 || is_markdown(lines)
}

/// True for the form with files and commands; a manual page may have such headings too, but not a product's files.
fn is_markdown(lines: &[Line<'_>]) -> bool {
    let has = |is: fn(&str) -> bool| lines.iter().any(|line| is(line.text.trim()));
    has(|text| text == "## FILES")
        && has(|text| text == "## COMMANDS")
        && has(|text| text.starts_with("`$ cat '/etc/proxmox-"))
}

/// The command in the line above an output.
fn command<'t>(line: &Line<'t>) -> Option<&'t str> {
    let quoted = || line.text.strip_prefix("$ `")?.strip_suffix('`');
    let typed = line.text.strip_prefix("# ").or_else(quoted);
    typed.map(str::trim)
}

fn is_fence(line: &Line<'_>) -> bool {
    line.text.trim() == "```"
}

fn host<'t>(lines: &[Line<'t>]) -> Option<&'t str> {
    let at = lines.iter().position(|line| {
        command(line) == Some("hostname") || line.text.trim() == "`$ cat '/etc/hostname'`"
    })?;
    let mut said = lines.get(at + 1..)?.iter();
    let said = said.find(|line| !line.is_blank() && !is_fence(line))?;
    let name = said.text.trim();
    let is_name = !name.is_empty() && !name.contains([' ', '#', '=']);
    is_name.then_some(name)
}

fn parts<'t>(lines: &[Line<'t>]) -> Vec<Part<'t>> {
    let mut parts: Vec<Part<'t>> = Vec::new();
    let mut is_read = false;
    for line in lines {
        if is_fence(line) {
            // The first stands above an output, the second ends it.
            is_read &= parts.last().is_some_and(|part| part.lines.is_empty());
        } else if let Some(typed) = command(line) {
            let program = typed.split_whitespace().next().unwrap_or_default();
            is_read = PROGRAMS.contains(&program);
            if is_read {
                parts.push(Part {
                    command: Some(typed),
                    lines: Vec::new(),
                });
            }
        } else if title(line).is_some() {
            is_read = false;
        } else if let (true, Some(part)) = (is_read, parts.last_mut()) {
            part.lines.push(*line);
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<Line<'_>> {
        (1..)
            .zip(text.lines())
            .map(|(number, text)| Line { number, text })
            .collect()
    }

    #[test]
    fn commands_are_apart_and_files_are_left_out() {
        let text = "\n==== general system info ====\n\n# hostname\npve1\n\n# cat /etc/hosts\n127.0.0.1 localhost\n\n\
                    ==== info about disks ====\n\n# lsblk --ascii\nNAME\nsda\n\n# ls -l /dev/disk/by-*/\ntotal 0\n";
        let lines = lines(text);
        assert!(is(&lines));
        assert_eq!(host(&lines), Some("pve1"));
        let found = parts(&lines);
        let [disks] = found.as_slice() else {
            panic!("{}", found.len());
        };
        assert_eq!(disks.command, Some("lsblk --ascii"));
        assert_eq!(disks.lines.first().map(|line| line.number), Some(13));
        assert_eq!(disks.lines.len(), 3);
    }

    #[test]
    fn one_title_is_no_report() {
        assert!(!is(&lines("==== info about disks ====\nnothing\n")));
        assert_eq!(host(&lines("# hostname\n")), None);
    }
}
