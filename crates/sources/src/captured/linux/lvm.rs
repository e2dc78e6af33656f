//! `pvs`, `vgs`, `lvs` and `lvm fullreport`, as JSON or as tables.
//!
//! Fields and units: lvmreport(7). Units in small letters are powers of 1,024, those in capitals of 1,000 when `--units` asked for
//! them, `s` and `S` sectors of 512 bytes. Old versions print capitals for powers of 1,024.

use std::borrow::Cow;
use straddle_geometry::{Bytes, Unit};
use straddle_stack::{AnomalyKind, Fact, GridRole, Interval, Key, LayerKind, Value};

use super::lvm_volume::volumes;
use super::{lvm_table, lvm_text};
use crate::captured::json::{Json, Object};
use crate::captured::number::{self, Rounding};
use crate::captured::records::{Field, Record};
use crate::captured::text::Line;
use crate::captured::tool::{Anchor, Command, Context, Notes, Reader, Section, Tool};
use crate::inventory::{Name, Space, Thing};

pub(crate) static TOOL: Tool = Tool {
    name: "lvm",
    platform: "linux",
    commands: &[
        "pvs --reportformat json --units b -o +pe_start",
        "vgs --reportformat json --units b -o +vg_extent_size",
        "lvs -a --reportformat json --units b -o +segtype,stripes,stripe_size,chunk_size,devices,seg_pe_ranges",
        "lvm fullreport --reportformat json",
        "lvs -a -o +devices",
        "vgcfgbackup -f FILE GROUP",
        "lvdisplay -m",
        "vgdisplay",
        "pvdisplay",
    ],
    readers: &[
        Reader::Json {
            is: is_report,
            read: reports,
        },
        Reader::Text {
            anchors: &[
                Anchor::Start("LV "),
                Anchor::Start("PV "),
                Anchor::Start("VG "),
            ],
            begins: |lines| lvm_table::is_heading(&lines[0]),
            read: table,
        },
        Reader::Text {
            anchors: &[
                Anchor::Start("contents = \"Text"),
                Anchor::LooseShaped(is_section),
            ],
            begins: lvm_text::is_backup,
            read: |section, notes| {
                let rows = lvm_text::backup(section.lines, notes);
                for_people(&rows, notes);
            },
        },
        // `vgdisplay vg0 | grep 'PE Size'`.
        Reader::Text {
            anchors: &[Anchor::Loose("PE Size ")],
            begins: |_| true,
            read: |section, notes| {
                let command = section.context.command.as_ref();
                let asked = command.filter(|command| command.program() == "vgdisplay");
                let group = asked.and_then(Command::last);
                for_people(&lvm_text::display(section.lines, group), notes);
            },
        },
        Reader::Text {
            anchors: &[Anchor::Start("--- ")],
            begins: |lines| lvm_text::is_display(&lines[0]),
            read: |section, notes| for_people(&lvm_text::display(section.lines, None), notes),
        },
    ],
};

/// `vg0 {`, at the beginning of a line.
fn is_section(text: &str) -> bool {
    let name = text.strip_suffix(" {").unwrap_or_default();
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"._+-".contains(&b);
    !name.is_empty() && name.bytes().all(plain)
}

fn for_people(rows: &lvm_text::Rows<'_>, notes: &mut Notes<'_>) {
    let units = Units::default();
    all(
        &rows.groups,
        &rows.physical,
        &rows.logical,
        &[],
        None,
        units,
        notes,
    );
}

const PARTS: [&str; 5] = ["pv", "vg", "lv", "pvseg", "seg"];

fn is_report(object: &Object<'_>) -> bool {
    let Some(report) = object.get("report") else {
        return false;
    };
    let parts = report.items();
    let first = parts.first().and_then(Json::object);
    first.is_some_and(|part| PARTS.iter().any(|key| part.has(key)))
}

/// The rows of a part of a report. Lists, which `json_std` has, become text again.
fn rows<'t>(part: &Object<'t>, key: &str) -> Vec<Record<'t>> {
    let Some(list) = part.get(key) else {
        return Vec::new();
    };
    let row = |json: &Json<'t>| {
        let object = json.object()?;
        let fields = object.members().map(|(key, value)| {
            let text = value.text().unwrap_or_else(|| {
                let items = value.items();
                let texts: Vec<Cow<'_, str>> = items.iter().filter_map(Json::text).collect();
                Cow::Owned(texts.join(" "))
            });
            Field {
                key: Cow::Owned(key.to_owned()),
                value: text,
                line: value.line(),
            }
        });
        Some(Record {
            fields: fields.collect(),
        })
    };
    list.items().iter().filter_map(row).collect()
}

fn reports(json: &Json<'_>, context: &Context<'_>, notes: &mut Notes<'_>) {
    let units = Units::of(context);
    let Some(report) = json.object().and_then(|object| object.get("report")) else {
        return;
    };
    for part in report.items().iter().filter_map(Json::object) {
        let groups = rows(&part, "vg");
        let [pv, lv, seg] = ["pv", "lv", "seg"].map(|key| rows(&part, key));
        // In a full report the part is about one group, and its rows do not repeat its name.
        let group = match groups.as_slice() {
            [only] => only.filled("vg_name").map(|field| field.value.to_string()),
            _ => None,
        };
        all(&groups, &pv, &lv, &seg, group.as_deref(), units, notes);
    }
}

fn table(section: &Section<'_>, notes: &mut Notes<'_>) {
    let rows = lvm_table::rows(section.lines);
    if let ([], Some(heading)) = (rows.as_slice(), section.lines.first()) {
        let detail = "no row stands below this heading: what it names was lost";
        notes.remark(AnomalyKind::Missing, detail, heading);
    }
    // Where its data begin is known of every physical volume.
    let asked = section
        .lines
        .first()
        .filter(|line| line.text.contains("1st PE"));
    for row in rows.iter().filter(|row| row.get("pe_start").is_none()) {
        if let (Some(_), Some(field)) = (asked, row.fields.last()) {
            let detail = "the row is cut off: where its data begin is not known";
            notes.remark(AnomalyKind::Truncated, detail, &field.line);
        }
    }
    let units = Units::of(&section.context);
    let is_about = |key: &str| rows.first().is_some_and(|row| row.get(key).is_some());
    let (none, all_of): (&[Record<'_>], &[Record<'_>]) = (&[], &rows);
    if is_about("lv_name") {
        all(all_of, none, all_of, none, None, units, notes);
    } else if is_about("pv_name") {
        all(all_of, all_of, none, none, None, units, notes);
    } else {
        all(all_of, none, none, none, None, units, notes);
    }
}

fn all(
    vg: &[Record<'_>],
    pv: &[Record<'_>],
    lv: &[Record<'_>],
    seg: &[Record<'_>],
    group: Option<&str>,
    units: Units,
    notes: &mut Notes<'_>,
) {
    for row in vg.iter().chain(pv).chain(lv) {
        let name = row.filled("vg_name").map(|field| field.value.as_ref());
        if let (Some(name), Some(size)) = (name.or(group), extent_size(row, units, notes)) {
            notes.inventory.add_extent_size(name, size);
        }
    }
    for row in pv {
        physical_volume(row, group, units, notes);
    }
    volumes(lv, seg, group, units, notes);
}

/// How the command said that sizes are to be shown.
#[derive(Clone, Copy, Default)]
pub(super) struct Units {
    /// The letter after `--units`, for sizes that have none of their own.
    letter: Option<char>,
}

impl Units {
    fn of(context: &Context<'_>) -> Units {
        let command = context.command.as_ref();
        let words = command.map_or(&[][..], |command| command.words.as_slice());
        let mut letter = None;
        for (at, word) in words.iter().enumerate() {
            let text = match word.strip_prefix("--units") {
                Some("") => words.get(at + 1).copied(),
                Some(rest) => rest.strip_prefix('='),
                None => None,
            };
            if let Some(text) = text {
                letter = text.chars().next();
            }
        }
        Units { letter }
    }

    /// What a size can have been: `1073741824B`, `<9.99g`, `8s`, `4.00 MiB`.
    fn interval(self, text: &str) -> Option<Interval> {
        let text = text.trim();
        let below = text.starts_with('<');
        let above = text.starts_with('>');
        let text = text.trim_start_matches(['<', '>']);
        let end = text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | ',')));
        let (figure, unit) = text.split_at(end.unwrap_or(text.len()));
        let letter = unit.trim().chars().next().or(self.letter);
        // Nothing is nothing in any unit.
        if figure == "0" {
            return Some(Interval::exact(Bytes::ZERO));
        }
        let letter = letter?;
        let power = "bkmgtpe".find(letter.to_ascii_lowercase());
        let factor = match (letter, power) {
            ('s' | 'S', _) => {
                let sectors = Bytes::new(number::whole(figure)?);
                return sectors.checked_mul(512).map(Interval::exact);
            }
            ('B', _) => 1,
            (letter, Some(power)) => {
                // Old versions print capitals for powers of 1,024, and all those of 1,000 only when they are asked for them.
                let asked = self.letter.is_some_and(|asked| asked.is_ascii_uppercase());
                let base: u64 = match asked && letter.is_ascii_uppercase() {
                    true => 1000,
                    false => 1024,
                };
                base.checked_pow(u32::try_from(power).ok()?)?
            }
            _ => return None,
        };
        let shown = number::interval(figure, factor, Rounding::Nearest)?;
        let point = |rounding| number::interval(figure, factor, rounding).map(|i| i.from());
        match (below, above) {
            (true, _) => Interval::new(shown.from(), point(Rounding::Down)?),
            (_, true) => Interval::new(point(Rounding::Down)?, shown.to()),
            _ => Some(shown),
        }
    }

    /// The size in a field, as a fact. A size without a unit is remarked upon.
    pub(super) fn size(
        self,
        row: &Record<'_>,
        key: &str,
        notes: &mut Notes<'_>,
    ) -> Option<Fact<Interval>> {
        let field = row.filled(key)?;
        let found = self.interval(&field.value);
        let figure = field.value.trim().trim_start_matches(['<', '>']);
        if found.is_none() && !figure.contains(|c: char| !c.is_ascii_digit() && c != '.') {
            let detail = format!("{key} is {} without a unit", field.value.trim());
            notes.remark(AnomalyKind::UnitUnclear, detail, &field.line);
        }
        found.map(|interval| notes.said(&field.line, interval))
    }

    /// A stripe unit or chunk, which are powers of two or multiples of 64 KiB: what is rounded leaves one of them.
    pub(super) fn unit(
        self,
        row: &Record<'_>,
        key: &str,
        notes: &mut Notes<'_>,
    ) -> Option<Fact<Unit>> {
        let size = self.size(row, key, notes)?;
        let bytes = only_round(&size.value, 64 << 10)?;
        let unit = Unit::try_from(bytes).ok()?;
        Some(size.map(|_| unit))
    }
}

/// The only power of two, or else the only multiple of `step`, that an interval leaves.
fn only_round(interval: &Interval, step: u64) -> Option<Bytes> {
    if let Some(exact) = interval.known() {
        return Some(exact);
    }
    let (from, to) = (interval.from().get(), interval.to().get());
    let power = from.checked_next_power_of_two()?;
    if power <= to {
        return Some(Bytes::new(power));
    }
    only_multiple(interval, step)
}

/// The only multiple of `step` that an interval leaves.
fn only_multiple(interval: &Interval, step: u64) -> Option<Bytes> {
    let (from, to) = (interval.from().get(), interval.to().get());
    let first = from.div_ceil(step).checked_mul(step)?;
    (first <= to && first.checked_add(step)? > to).then_some(Bytes::new(first))
}

/// Extents are powers of two, or multiples of 128 KiB.
pub(super) fn extent_size(
    row: &Record<'_>,
    units: Units,
    notes: &mut Notes<'_>,
) -> Option<Fact<Bytes>> {
    let size = units.size(row, "vg_extent_size", notes)?;
    let bytes = only_round(&size.value, 128 << 10)?;
    (bytes > Bytes::ZERO).then(|| size.map(|_| bytes))
}

/// What a device is, as far as its name tells.
fn kind_of(device: &str) -> LayerKind {
    let follows = |prefix| {
        let rest = device.strip_prefix(prefix);
        rest.is_some_and(|rest: &str| rest.starts_with(|c: char| c.is_ascii_digit() || c == '/'))
    };
    if follows("md") {
        LayerKind::Array
    } else if device.starts_with("mapper/") || follows("dm-") {
        LayerKind::Volume
    } else {
        LayerKind::Device
    }
}

fn physical_volume(row: &Record<'_>, group: Option<&str>, units: Units, notes: &mut Notes<'_>) {
    let Some(field) = row.filled("pv_name") else {
        return;
    };
    // `[unknown]` stands for one that is missing.
    if !field.value.starts_with("/dev/") {
        return;
    }
    let name = Name::new(Space::Device, field.value.to_string());
    let mut thing = Thing::new(kind_of(&name.text), name.text.to_string(), name);
    if let Some(uuid) = row.filled("pv_uuid") {
        thing = thing.named(Name::new(Space::Uuid, uuid.value.to_string()));
    }
    thing.size = units.size(row, "dev_size", notes);
    // `pvs -a` lists every device; what is no physical volume has an extent at 0.
    let is_listed_only = row.filled("vg_name").is_none() && row.filled("pv_uuid").is_none();
    let start = units.size(row, "pe_start", notes);
    if let Some(start) = start.filter(|start| !is_listed_only || start.value.from() > Bytes::ZERO) {
        // It is a number of sectors of 512 bytes.
        let value =
            only_multiple(&start.value, 512).map_or(Value::Between(start.value), Value::Bytes);
        thing.set(Key::FirstExtent, start.map(|_| value));
    }
    let of = row.filled("vg_name");
    if let Some((group, line)) = named_group(of, group, &field.line) {
        thing.set_text(Key::VolumeGroup, notes.said(&line, group));
    }
    notes.add(thing);
}

/// The volume group that a field names, or else the one that the report is about.
pub(super) fn named_group<'t>(
    field: Option<&Field<'t>>,
    group: Option<&str>,
    line: &Line<'t>,
) -> Option<(String, Line<'t>)> {
    match (field, group) {
        (Some(field), _) => Some((field.value.to_string(), field.line)),
        (None, Some(group)) => Some((group.to_owned(), *line)),
        (None, None) => None,
    }
}

/// Adds a grid, if the unit is known.
pub(super) fn grid(thing: &mut Thing, role: GridRole, unit: Option<&Fact<Unit>>) {
    if let Some(unit) = unit {
        thing.grid(role, unit.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(text: &str) -> Option<(u64, u64)> {
        let interval = Units::default().interval(text)?;
        Some((interval.from().get(), interval.to().get()))
    }

    #[test]
    fn sizes_leave_open_what_they_round() {
        assert_eq!(ends("1073741824B"), Some((1 << 30, 1 << 30)));
        assert_eq!(ends("2048S"), Some((1 << 20, 1 << 20)));
        assert_eq!(ends("0 "), Some((0, 0)));
        assert_eq!(ends("1.00m"), Some((1_043_334, 1_053_818)));
        assert_eq!(ends("1.00M"), Some((1_043_334, 1_053_818)));
        let decimal = Units { letter: Some('M') }.interval("1.00M");
        let decimal = decimal.map(|found| (found.from().get(), found.to().get()));
        assert_eq!(decimal, Some((995_000, 1_005_000)));
        assert_eq!(ends("<1.00m"), Some((1_043_334, 1_048_576)));
        assert_eq!(ends(">1.00m"), Some((1_048_576, 1_053_818)));
        assert_eq!(ends("512"), None);
    }

    #[test]
    fn an_extent_that_is_rounded_is_known_all_the_same() {
        let round = |text| only_round(&Units::default().interval(text)?, 128 << 10);
        assert_eq!(round("4.00m"), Some(Bytes::mib(4)));
        assert_eq!(round("12.00m"), Some(Bytes::mib(12)));
        assert_eq!(round("1.00t"), Some(Bytes::new(1 << 40)));
        assert_eq!(round("3.00g"), None);
    }
}
