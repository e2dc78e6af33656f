//! What `msinfo32` saves, `.nfo`, or exports as text: categories of items with values, named in the language of that Windows.
//!
//! ```text
//! [Disks]
//! Description             Disk drive
//! Model                   ACME 4000
//! Bytes/Sector            512
//! Size                    931.51 GB (1,000,202,273,280 bytes)
//! Partition               Disk #0, Partition #0
//! Partition Size          100.00 MB (104,857,600 bytes)
//! Partition Starting Offset   1,048,576 bytes
//! ```
//!
//! Their order is the same in all languages: the model stands above the sector, both above the partitions, which alone say the disk's
//! number. Partitions are read as those of scripts over WMI are; `msinfo32` asks WMI too.

use std::borrow::Cow;

use super::part::{Part, Report};
use crate::captured::records::{Field, Record};
use crate::captured::text::Line;
use crate::captured::tool::Notes;
use crate::captured::windows::wmi_script::{labelled_size, named};
use crate::captured::windows::wmic;

pub(super) static REPORT: Report = Report {
    name: "msinfo32 report",
    is,
    host,
    parts: |lines| {
        vec![Part {
            command: None,
            lines: lines.to_vec(),
        }]
    },
    besides: disks,
    missing: &[],
};

/// What the item is called that holds the machine's name.
const SYSTEM_NAME: [&str; 14] = [
    "System Name",
    "Systemname",
    "Nom du système",
    "Nombre del sistema",
    "Nome do sistema",
    "Nome sistema",
    "Nazwa systemu",
    "Systeemnaam",
    "Systemnamn",
    "Název systému",
    "Имя системы",
    "システム名",
    "系统名称",
    "시스템 이름",
];

/// What the item is called that holds a disk's model.
const MODEL: [&str; 8] = [
    "Modell",
    "Modèle",
    "Modelo",
    "Modello",
    "Model",
    "Модель",
    "モデル",
    "型号",
];

/// How many lines tell what it is.
const HEAD: usize = 64;

fn is(lines: &[Line<'_>]) -> bool {
    let head = &lines[..lines.len().min(HEAD)];
    let is_category = |line: &Line<'_>| {
        let text = line.text.trim();
        text.len() > 2 && text.starts_with('[') && text.ends_with(']')
    };
    // Without its summary, as `/categories +componentsdisks` writes it, no line names Microsoft, and a disk has to be there.
    head.iter().any(is_category)
        && host(head).is_some()
        && (head.iter().any(|line| line.text.contains("Microsoft"))
            || lines.iter().any(|line| sector(line).is_some())
                && lines.iter().any(|line| named(line.text).is_some()))
}

fn host<'t>(lines: &[Line<'t>]) -> Option<&'t str> {
    lines.iter().take(HEAD).find_map(|line| {
        let text = line.text.trim();
        let name = SYSTEM_NAME.iter().find_map(|key| text.strip_prefix(key))?;
        // The heading of the text form has a colon.
        let name = name.trim_start_matches(':').trim();
        (!name.is_empty() && !name.contains(' ')).then_some(name)
    })
}

/// The size of a sector: the only power of two from 512 on in an item of the kind of `Bytes/Sector`.
fn sector<'t>(line: &Line<'t>) -> Option<&'t str> {
    let (label, value) = line.text.trim().rsplit_once([' ', '\t'])?;
    let digits: String = value.chars().filter(char::is_ascii_digit).collect();
    let bytes: u64 = digits.parse().ok()?;
    let is_one =
        label.contains(['/', '／']) && bytes.is_power_of_two() && (512..=65_536).contains(&bytes);
    (is_one && digits == value).then_some(value)
}

/// Notes the disks: what stands between the sector of one and its first partition is about it.
fn disks(lines: &[Line<'_>], notes: &mut Notes<'_>) {
    let mut record = Record::default();
    for (index, line) in lines.iter().enumerate() {
        if let Some(bytes) = sector(line) {
            record = Record::default();
            push(&mut record, "BytesPerSector", bytes, line);
            let above = index.checked_sub(1).and_then(|above| lines.get(above));
            if let Some(above) = above
                && let Some(model) = MODEL
                    .iter()
                    .find_map(|key| above.text.trim().strip_prefix(key))
            {
                push(&mut record, "Model", model.trim(), above);
            }
        } else if record.fields.is_empty() {
            continue;
        } else if let Some((disk, _)) = named(line.text) {
            push(&mut record, "Index", &disk.to_string(), line);
            wmic::disk(&record, disk, notes);
            record = Record::default();
        } else if let Some(bytes) = labelled_size(line)
            && record.get("Size").is_none()
        {
            push(&mut record, "Size", &bytes.to_string(), line);
        }
    }
}

fn push<'t>(record: &mut Record<'t>, key: &'static str, value: &str, line: &Line<'t>) {
    record.fields.push(Field {
        key: Cow::Borrowed(key),
        value: Cow::Owned(value.to_owned()),
        line: *line,
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Line<'_> {
        Line { number: 1, text }
    }

    #[test]
    fn sectors_are_told_from_what_else_is_divided() {
        for (text, found) in [
            ("Bytes/Sector    512", Some("512")),
            ("Octets/secteur  4096", Some("4096")),
            ("Байт/сектор 512", Some("512")),
            ("Sectors/Track   63", None),
            ("Tracks/Cylinder 255", None),
            ("Total Sectors   512", None),
            ("", None),
        ] {
            assert_eq!(sector(&line(text)), found, "{text}");
        }
    }

    #[test]
    fn without_a_summary_a_disk_shows_what_it_is() {
        let texts = [
            "System Name: SQL01",
            "[Disks]",
            "Bytes/Sector 512",
            "Partition Disk #0, Partition #0",
        ];
        let lines = texts.map(line);
        assert!(is(&lines));
        assert!(!is(&lines[..3]));
        assert!(!is(&lines[1..]));
    }

    #[test]
    fn machines_are_named_in_many_languages() {
        for text in [
            "System Name     SQL01",
            "System Name: SQL01",
            "Имя системы SQL01",
        ] {
            assert_eq!(host(&[line(text)]), Some("SQL01"), "{text}");
        }
        assert_eq!(host(&[line("System Name")]), None);
    }
}
