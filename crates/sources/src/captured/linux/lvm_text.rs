//! What LVM prints for people and keeps for itself, as rows of a report: `vgcfgbackup` and the files below `/etc/lvm`, `lvdisplay -m`,
//! `vgdisplay`, `pvdisplay`.
//!
//! ```text
//! vgora {                                               --- Logical volume ---
//!     extent_size = 8192                                LV Path                /dev/vg0/db
//!     physical_volumes {                                --- Segments ---
//!         pv0 { device = "/dev/sdb1"  pe_start = 384 }  Logical extents 0 to 25599:
//!                                                         Type                linear
//! ```
//!
//! Source: LVM2 `lib/format_text/export.c`, `lib/display/display.c`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use straddle_stack::AnomalyKind;

use crate::captured::records::{Field, Record};
use crate::captured::text::Line;
use crate::captured::tool::Notes;

/// Deepest section of a volume group: the group, its volumes, a volume, a segment.
const MAX_DEPTH: usize = 8;
/// Most rows of one kind.
const MAX_ROWS: usize = 1 << 12;

/// Rows as reports have them.
#[derive(Default)]
pub(super) struct Rows<'t> {
    pub(super) groups: Vec<Record<'t>>,
    pub(super) physical: Vec<Record<'t>>,
    pub(super) logical: Vec<Record<'t>>,
}

fn set<'t>(
    record: &mut Record<'t>,
    key: &'static str,
    value: impl Into<Cow<'t, str>>,
    line: Line<'t>,
) {
    record.fields.push(Field {
        key: Cow::Borrowed(key),
        value: value.into(),
        line,
    });
}

fn push<'t>(rows: &mut Vec<Record<'t>>, record: Record<'t>) {
    if rows.len() < MAX_ROWS && !record.fields.is_empty() {
        rows.push(record);
    }
}

/// True for the first line of a backup, and for the section of a group where that is lost.
pub(super) fn is_backup(lines: &[Line<'_>]) -> bool {
    let first = lines[0].text.trim();
    if first == "contents = \"Text Format Volume Group\"" {
        return true;
    }
    let opens = first.ends_with('{') && !first.contains(['=', ':', '"', '(']);
    opens
        && lines.iter().skip(1).take(12).any(|line| {
            let text = line.text.trim();
            text.starts_with("extent_size = ") || text.starts_with("physical_volumes {")
        })
}

/// A section of a backup that is open.
struct Open<'t> {
    name: &'t str,
    values: BTreeMap<&'t str, (&'t str, Line<'t>)>,
}

/// `key = value`, without the comment behind it.
fn assignment(text: &str) -> Option<(&str, &str)> {
    let (key, value) = text.split_once('=')?;
    let value = value.split('#').next().unwrap_or(value);
    Some((key.trim(), value.trim().trim_matches('"')))
}

/// The rows of a backup. It ends in the middle where sections are left open.
pub(super) fn backup<'t>(lines: &[Line<'t>], notes: &mut Notes<'_>) -> Rows<'t> {
    let mut rows = Rows::default();
    let mut open: Vec<Open<'t>> = Vec::new();
    // Physical volumes by the names that segments call them by.
    let mut devices: BTreeMap<String, &'t str> = BTreeMap::new();
    let mut stripes: Option<Vec<&'t str>> = None;
    for line in lines {
        let text = line.text.trim();
        if let Some(list) = &mut stripes {
            match text.strip_suffix(']') {
                None => {
                    list.push(text);
                    continue;
                }
                Some(rest) => list.push(rest),
            }
            segment(
                &open,
                &stripes.take().unwrap_or_default(),
                &devices,
                *line,
                &mut rows,
            );
        } else if let Some(name) = text.strip_suffix('{') {
            if open.len() >= MAX_DEPTH {
                break;
            }
            open.push(Open {
                name: name.trim(),
                values: BTreeMap::new(),
            });
        } else if text.starts_with('}') {
            if let Some(section) = open.pop() {
                close(&section, &open, &mut rows, &mut devices);
            }
        } else if let Some((key, value)) = assignment(text) {
            if key == "stripes" && value.starts_with('[') {
                match value.strip_suffix(']') {
                    Some(whole) => {
                        let list = [whole.trim_start_matches('[')];
                        segment(&open, &list, &devices, *line, &mut rows);
                    }
                    None => stripes = Some(vec![value.trim_start_matches('[')]),
                }
            } else if let Some(section) = open.last_mut() {
                section.values.insert(key, (value, *line));
            }
        }
    }
    if let (Some(section), Some(last)) = (
        open.last(),
        lines.iter().rev().find(|line| !line.is_blank()),
    ) {
        let detail = format!(
            "the description of a volume group ends inside `{}`",
            section.name
        );
        notes.remark(AnomalyKind::Truncated, detail, last);
    }
    // What was open says what it said so far.
    while let Some(section) = open.pop() {
        close(&section, &open, &mut rows, &mut devices);
    }
    rows
}

/// What a section said, when it ends.
fn close<'t>(
    section: &Open<'t>,
    above: &[Open<'t>],
    rows: &mut Rows<'t>,
    devices: &mut BTreeMap<String, &'t str>,
) {
    let sectors = |key: &str| {
        let (value, line) = section.values.get(key)?;
        Some((format!("{value}s"), *line))
    };
    match above {
        [] => {
            if let Some((size, line)) = sectors("extent_size") {
                let mut row = Record::default();
                set(&mut row, "vg_name", section.name, line);
                set(&mut row, "vg_extent_size", size, line);
                push(&mut rows.groups, row);
            }
        }
        [group, part] if part.name == "physical_volumes" => {
            let Some((device, line)) = section.values.get("device") else {
                return;
            };
            if devices.len() < MAX_ROWS {
                devices.insert(section.name.to_owned(), device);
            }
            let mut row = Record::default();
            set(&mut row, "pv_name", *device, *line);
            set(&mut row, "vg_name", group.name, *line);
            for (key, field) in [("pe_start", "pe_start"), ("dev_size", "dev_size")] {
                if let Some((value, line)) = sectors(key) {
                    set(&mut row, field, value, line);
                }
            }
            push(&mut rows.physical, row);
        }
        _ => {}
    }
}

/// The stripes of a segment: `"pv0", 0, "pv1", 0`.
fn segment<'t>(
    open: &[Open<'t>],
    stripes: &[&'t str],
    devices: &BTreeMap<String, &'t str>,
    line: Line<'t>,
    rows: &mut Rows<'t>,
) {
    let [group, part, volume, segment] = open else {
        return;
    };
    if part.name != "logical_volumes" {
        return;
    }
    let number = |key: &str| segment.values.get(key)?.0.parse::<u64>().ok();
    let words: Vec<&str> = stripes
        .iter()
        .flat_map(|part| part.split(','))
        .map(|word| {
            word.split('#')
                .next()
                .unwrap_or(word)
                .trim()
                .trim_matches('"')
        })
        .filter(|word| !word.is_empty())
        .collect();
    let columns = u64::try_from(words.len() / 2).unwrap_or(u64::MAX);
    let (Some(first), Some(count)) = (number("start_extent"), number("extent_count")) else {
        return;
    };
    let Some(each) = count.checked_div(columns).filter(|each| *each > 0) else {
        return;
    };
    let ranges: Vec<String> = words
        .chunks_exact(2)
        .filter_map(|pair| {
            let from: u64 = pair[1].parse().ok()?;
            let device = devices.get(pair[0]).copied().unwrap_or(pair[0]);
            Some(format!(
                "{device}:{from}-{}",
                from.checked_add(each)?.checked_sub(1)?
            ))
        })
        .collect();
    let mut row = Record::default();
    set(&mut row, "lv_name", volume.name, line);
    set(&mut row, "vg_name", group.name, line);
    if let Some((kind, line)) = segment.values.get("type") {
        let kind = if *kind == "striped" && columns == 1 {
            "linear"
        } else {
            *kind
        };
        set(&mut row, "segtype", kind, *line);
    }
    if let Some((size, line)) = segment.values.get("stripe_size") {
        set(&mut row, "stripe_size", format!("{size}s"), *line);
    }
    set(&mut row, "seg_start_pe", first.to_string(), line);
    set(&mut row, "seg_size_pe", count.to_string(), line);
    set(&mut row, "seg_pe_ranges", ranges.join(" "), line);
    push(&mut rows.logical, row);
}

/// True for the first line of what a display command prints.
pub(super) fn is_display(line: &Line<'_>) -> bool {
    let text = line.text.trim();
    ["Logical volume", "Physical volume", "Volume group"]
        .iter()
        .any(|what| {
            text.strip_prefix("--- ")
                .and_then(|t| t.strip_suffix(" ---"))
                == Some(*what)
        })
}

/// `PV Name               /dev/sdb1`.
fn labelled<'t>(text: &'t str, labels: &[&str]) -> Option<&'t str> {
    labels.iter().find_map(|label| {
        let rest = text.strip_prefix(label)?;
        rest.starts_with([' ', '\t']).then(|| rest.trim())
    })
}

/// The rows of what `lvdisplay -m`, `vgdisplay` or `pvdisplay` print, about this group where they do not name it.
pub(super) fn display<'t>(lines: &[Line<'t>], asked: Option<&'t str>) -> Rows<'t> {
    let mut rows = Rows::default();
    let (mut volume, mut group) = (None, asked);
    let mut segment: Option<(Record<'t>, Vec<String>)> = None;
    let mut physical: Option<&'t str> = None;
    let mut one = Record::default();
    for line in lines {
        let text = line.text.trim();
        if let Some(value) = labelled(text, &["LV Path"]) {
            volume = value.rsplit('/').next();
        } else if let Some(value) = labelled(text, &["LV Name"]) {
            volume = value.rsplit('/').next();
        } else if let Some(value) = labelled(text, &["VG Name"]) {
            group = Some(value).filter(|value| !value.is_empty());
            if one.get("pv_name").is_some() && !value.is_empty() {
                set(&mut one, "vg_name", value, *line);
            }
        } else if let Some(value) = labelled(text, &["PV Name"]) {
            // In the list of a whole group there are several.
            push(&mut rows.physical, std::mem::take(&mut one));
            set(&mut one, "pv_name", value, *line);
        } else if let Some(value) = labelled(text, &["PE Size"]) {
            if let Some(name) = group {
                let mut row = Record::default();
                set(&mut row, "vg_name", name, *line);
                // Old versions print KiB without saying so.
                let value = match value.bytes().all(|b| b.is_ascii_digit()) {
                    true => Cow::Owned(format!("{value}k")),
                    false => Cow::Borrowed(value),
                };
                set(&mut row, "vg_extent_size", value, *line);
                push(&mut rows.groups, row);
            }
        } else if text.starts_with("Logical extent") && text.contains(" to ") {
            finish(segment.take(), &mut rows);
            let mut words = text.trim_end_matches(':').split_whitespace().rev();
            let (last, first) = (words.next(), words.nth(1));
            if let (Some(volume), Some(group), Some(first), Some(last)) = (
                volume,
                group,
                first.and_then(|word| word.parse::<u64>().ok()),
                last.and_then(|word| word.parse::<u64>().ok()),
            ) {
                let mut row = Record::default();
                set(&mut row, "lv_name", volume, *line);
                set(&mut row, "vg_name", group, *line);
                set(&mut row, "seg_start_pe", first.to_string(), *line);
                let count = last.saturating_sub(first).saturating_add(1);
                set(&mut row, "seg_size_pe", count.to_string(), *line);
                segment = Some((row, Vec::new()));
            }
        } else if let Some((row, ranges)) = &mut segment {
            if let Some(kind) = labelled(text, &["Type"]) {
                set(row, "segtype", kind, *line);
            } else if let Some(size) = labelled(text, &["Stripe size"]) {
                set(row, "stripe_size", size, *line);
            } else if let Some(device) = labelled(text, &["Physical volume"]) {
                physical = Some(device);
            } else if let Some(range) = labelled(text, &["Physical extents"])
                && let (Some(device), Some((first, last))) = (physical, range.split_once(" to "))
            {
                ranges.push(format!("{device}:{}-{}", first.trim(), last.trim()));
            }
        }
    }
    finish(segment, &mut rows);
    push(&mut rows.physical, one);
    rows
}

fn finish<'t>(segment: Option<(Record<'t>, Vec<String>)>, rows: &mut Rows<'t>) {
    let Some((mut row, ranges)) = segment else {
        return;
    };
    if let Some(line) = row.fields.last().map(|field| field.line) {
        set(&mut row, "seg_pe_ranges", ranges.join(" "), line);
    }
    push(&mut rows.logical, row);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<Line<'_>> {
        let lines = (1..).zip(text.lines());
        lines.map(|(number, text)| Line { number, text }).collect()
    }

    fn value(row: &Record<'_>, key: &str) -> String {
        row.filled(key)
            .map_or_else(String::new, |field| field.value.to_string())
    }

    #[test]
    fn segments_of_a_display() {
        let text = "  --- Logical volume ---\n  LV Path   /dev/vg0/db\n  LV Name   db\n  VG Name   vg0\n  --- Segments ---\n  Logical extents 0 to 99:\n    Type  striped\n    Stripes  2\n    Stripe size  64.00 KiB\n    Stripe 0:\n      Physical volume  /dev/sdb\n      Physical extents  0 to 49\n    Stripe 1:\n      Physical volume  /dev/sdc\n      Physical extents  10 to 59\n";
        let lines = lines(text);
        assert!(is_display(&lines[0]));
        let rows = display(&lines, None);
        assert_eq!(rows.logical.len(), 1);
        let row = &rows.logical[0];
        assert_eq!(value(row, "seg_pe_ranges"), "/dev/sdb:0-49 /dev/sdc:10-59");
        assert_eq!(value(row, "seg_size_pe"), "100");
        assert_eq!(value(row, "stripe_size"), "64.00 KiB");
        assert!(rows.physical.is_empty());
    }

    #[test]
    fn volumes_of_a_backup() {
        let text = "contents = \"Text Format Volume Group\"\nvg0 {\n extent_size = 8192 # 4 Megabytes\n physical_volumes {\n  pv0 {\n   device = \"/dev/sdb1\" # Hint only\n   pe_start = 384\n  }\n }\n logical_volumes {\n  data {\n   segment1 {\n    start_extent = 0\n    extent_count = 10\n    type = \"striped\"\n    stripe_count = 1 # linear\n    stripes = [\n     \"pv0\", 5\n    ]\n   }\n  }\n }\n}\n";
        let lines = lines(text);
        assert!(is_backup(&lines));
        assert!(is_backup(&lines[1..]));
        let file = std::sync::Arc::from("x");
        let mut notes = Notes {
            file: &file,
            number: 0,
            inventory: crate::inventory::Inventory::default(),
            focus: crate::captured::tool::Focus::default(),
            twins: crate::captured::twins::Twins::default(),
            begun: false,
            above: None,
        };
        let rows = backup(&lines, &mut notes);
        assert!(notes.inventory.remarks.is_empty());
        assert_eq!(value(&rows.groups[0], "vg_extent_size"), "8192s");
        assert_eq!(value(&rows.physical[0], "pe_start"), "384s");
        assert_eq!(value(&rows.physical[0], "pv_name"), "/dev/sdb1");
        assert_eq!(value(&rows.logical[0], "segtype"), "linear");
        assert_eq!(value(&rows.logical[0], "seg_pe_ranges"), "/dev/sdb1:5-14");
        backup(&lines[..8], &mut notes);
        assert_eq!(notes.inventory.remarks.len(), 1);
    }
}
