//! A volume of a RAID controller while its lines are read, and what follows from them together.

use straddle_geometry::{Bytes, Grid, Unit};
use straddle_stack::{
    Anomaly, AnomalyKind, Fact, GridFact, GridRole, Interval, Key, LayerKind, Trust, Value,
};

use super::level::Level;
use crate::captured::number::{self, Prefix, Rounding};
use crate::captured::text::Line;
use crate::captured::tool::Notes;
use crate::inventory::{Name, Space, Thing};

/// What is known so far of a volume.
pub(super) struct Volume<'t> {
    pub(super) thing: Thing,
    pub(super) level: Option<(Level, Line<'t>)>,
    pub(super) strip: Option<(Unit, Line<'t>)>,
    /// The full stripe that the tool prints.
    pub(super) full: Option<(Unit, Line<'t>)>,
    /// Spans, or parity groups.
    pub(super) spans: Option<(u64, Line<'t>)>,
    pub(super) per_span: Option<(u64, Line<'t>)>,
    /// Members of all spans.
    pub(super) drives: Option<(u64, Line<'t>)>,
    /// `VD has Emulated PD`, `Is VD emulated`: whether its members emulate 512-byte sectors on sectors of 4,096 bytes.
    pub(super) emulated: Option<(bool, Line<'t>)>,
    /// Sectors by which members are addressed, where the volume does not say its own.
    pub(super) member_sector: Option<Unit>,
    /// How many members were listed, and where.
    pub(super) listed: Option<(u64, Line<'t>)>,
}

impl<'t> Volume<'t> {
    pub(super) fn new(name: impl Into<String>, title: impl Into<String>) -> Volume<'t> {
        let name = Name::new(Space::RaidVolume, name.into());
        Volume {
            thing: Thing::new(LayerKind::Device, title, name),
            level: None,
            strip: None,
            full: None,
            spans: None,
            per_span: None,
            drives: None,
            emulated: None,
            member_sector: None,
            listed: None,
        }
    }

    /// Adds a name by which the system knows it.
    pub(super) fn also(&mut self, name: Name) {
        if !name.text.is_empty() && !self.thing.names.contains(&name) {
            self.thing.names.push(name);
        }
    }

    /// What the system calls it: `/dev/sda`, `\\.\PHYSICALDRIVE0`, `Disk 0`, `naa.6…`. The rest of the line may say more.
    pub(super) fn system_name(&mut self, text: &str) {
        let word = text.split_whitespace().next().unwrap_or_default();
        let lower = text.trim().to_ascii_lowercase();
        let number = |prefix: &str| {
            let rest = lower.strip_prefix(prefix)?.trim_start();
            number::leading(rest)
        };
        let disk = ["\\\\.\\physicaldrive", "windows disk ", "disk "]
            .into_iter()
            .find_map(number);
        if let Some(disk) = disk {
            self.also(Name::windows_disk(disk));
            self.thing.title = format!("disk {disk} ({})", self.thing.title);
        } else if let Some(device) = word.strip_prefix("/dev/") {
            let device = device.trim_end_matches([',', ';']);
            self.also(Name::new(Space::Device, device.to_owned()));
            let title = &mut self.thing.title;
            if !title.contains(device) {
                *title = format!("{device} ({title})");
            }
        } else if word.starts_with("naa.") || word.starts_with("eui.") {
            self.also(Name::new(Space::EsxiDevice, word.to_owned()));
            self.also(Name::new(Space::Wwn, word.to_owned()));
        }
    }

    /// Notes an identifier of the volume that the system sees as its WWN.
    pub(super) fn wwn(&mut self, text: &str) {
        let id = text.trim();
        if id.len() >= 16 && id.bytes().all(|b| b.is_ascii_hexdigit()) {
            self.also(Name::new(Space::Wwn, id.to_owned()));
        }
    }

    /// Reads a strip or full stripe; one without a unit, or that cannot be, is remarked.
    pub(super) fn stripe(
        &mut self,
        text: &str,
        line: &Line<'t>,
        notes: &Notes<'_>,
    ) -> Option<(Unit, Line<'t>)> {
        let odd = match stripe_unit(text) {
            Ok(unit) => return Some((unit, *line)),
            Err(odd) => odd?,
        };
        let detail = match odd {
            AnomalyKind::UnitUnclear => format!(
                "`{}` without its unit: sectors, KiB and, on some interfaces, units of 512 bytes are all printed so; it is not used",
                text.trim()
            ),
            _ => format!("no controller has strips of {}", text.trim()),
        };
        let remark = Anomaly::at(odd, detail, notes.source(line));
        self.thing.remarks.push(remark);
        None
    }

    /// A shown size, when nothing better is known.
    pub(super) fn size(&mut self, fact: Fact<Interval>) {
        let width = |fact: &Fact<Interval>| fact.value.to().get() - fact.value.from().get();
        if self
            .thing
            .size
            .as_ref()
            .is_none_or(|have| width(&fact) < width(have))
        {
            self.thing.size = Some(fact);
        }
    }

    pub(super) fn text(
        &mut self,
        key: Key,
        text: impl Into<String>,
        line: &Line<'t>,
        notes: &Notes<'_>,
    ) {
        self.thing.set_text(key, notes.said(line, text.into()));
    }

    pub(super) fn set_emulated(&mut self, text: &str, line: &Line<'t>) {
        self.emulated = match text.trim() {
            "Yes" => Some((true, *line)),
            "No" => Some((false, *line)),
            _ => return,
        };
    }

    /// It says what kind of disks the members are, not what their sectors are: what the disks say themselves is better.
    fn add_emulated(&mut self, notes: &Notes<'_>) {
        let has = |role| self.thing.grids.iter().find(|grid| grid.role == role);
        let logical = has(GridRole::LogicalSector).map(|grid| grid.grid.value.unit());
        let Some((emulated, line)) = self.emulated else {
            return;
        };
        // Sectors of 512 bytes are emulated on sectors of 4,096 bytes and no others.
        let (unit, trust) = match emulated {
            true => (Some(Unit::B4096), Trust::Reported),
            false => (logical.or(self.member_sector), Trust::Assumed),
        };
        if let (None, Some(unit)) = (has(GridRole::PhysicalSector), unit) {
            self.thing.grids.push(GridFact {
                role: GridRole::PhysicalSector,
                grid: Fact {
                    trust,
                    ..notes.said(&line, Grid::new(unit))
                },
            });
        }
    }

    /// Adds what follows from the lines together, and notes the volume.
    pub(super) fn finish(mut self, notes: &mut Notes<'_>) {
        let spans = self.spans.map(|(spans, _)| spans);
        let drives = self.members();
        self.add_emulated(notes);
        if let (Some((said, line)), Some((listed, list))) = (drives, self.listed)
            && listed > said
        {
            let detail =
                format!("has {said} members in one place, and {listed} are listed in another");
            self.contradiction(detail, &line, &list, notes);
        }
        let drives = drives.or(self.listed);
        let count = drives.map(|(drives, _)| drives);
        if let Some((level, line)) = self.level {
            self.text(Key::Level, level.name(count, spans), &line, notes);
        }
        if let Some((drives, line)) = drives {
            let fact = match (self.drives.or(self.listed), self.per_span, spans) {
                (None, Some((per_span, _)), Some(spans)) if spans > 1 => {
                    let from = format!("{spans} spans × {per_span} drives");
                    Fact::derived(Value::Count(drives), from)
                }
                _ => notes.said(&line, Value::Count(drives)),
            };
            self.thing.set(Key::Members, fact);
        }
        self.add_stripes(drives, spans, notes);
        notes.add(self.thing);
    }

    /// True when its printed full stripe takes more than `drives` members.
    pub(super) fn lacks_members(&self, drives: u64) -> bool {
        let (Some((full, _)), Some((strip, _)), Some((level, _))) =
            (self.full, self.strip, self.level)
        else {
            return false;
        };
        let (columns, _) = full.bytes().div_rem(strip);
        let data = level.data_members(drives, self.spans.map(|(spans, _)| spans));
        data.is_none_or(|(data, _)| data < columns)
    }

    /// Members of all spans.
    fn members(&self) -> Option<(u64, Line<'t>)> {
        self.drives.or_else(|| {
            let (per_span, line) = self.per_span?;
            let spans = self.spans.map_or(1, |(spans, _)| spans.max(1));
            Some((per_span.checked_mul(spans)?, line))
        })
    }

    /// Remarks that its blocks are not its size, whatever sectors they are.
    pub(super) fn blocks_contradict(&mut self, blocks: u64, line: &Line<'t>, notes: &Notes<'_>) {
        let Some(shown) = &self.thing.size else {
            return;
        };
        let detail = format!("{blocks} blocks are not {}", shown.value);
        let (a, b) = (notes.source(line), shown.source.clone());
        let remark = Anomaly::between(AnomalyKind::Contradiction, detail, a, b);
        self.thing.remarks.push(remark);
    }

    fn contradiction(&mut self, detail: String, a: &Line<'t>, b: &Line<'t>, notes: &Notes<'_>) {
        let remark = Anomaly::between(
            AnomalyKind::Contradiction,
            detail,
            notes.source(a),
            notes.source(b),
        );
        self.thing.remarks.push(remark);
    }

    fn add_stripes(
        &mut self,
        drives: Option<(u64, Line<'t>)>,
        spans: Option<u64>,
        notes: &Notes<'_>,
    ) {
        let Some((strip, strip_line)) = self.strip else {
            return;
        };
        let level = self.level.map(|(level, _)| level);
        let count = drives.map(|(drives, _)| drives);
        // A plain mirror has a strip that is set and never used: each disk holds everything.
        if level.is_some_and(|level| !level.is_striped(count)) {
            return;
        }
        self.thing
            .grid(GridRole::StripeUnit, notes.said(&strip_line, strip));
        let data = level
            .zip(count)
            .and_then(|(level, drives)| level.data_members(drives, spans));
        let printed = self.full.and_then(|(full, line)| {
            let (columns, rest) = full.bytes().div_rem(strip);
            if rest != Bytes::ZERO {
                let detail = format!(
                    "a full stripe of {} is not a whole number of strips of {}",
                    full, strip
                );
                self.contradiction(detail, &line, &strip_line, notes);
                return None;
            }
            Some((columns, full, line))
        });
        let spans = spans.unwrap_or(1).max(1);
        if let (Some((data, how)), Some((columns, full, line))) = (&data, printed) {
            // Of spans, some tools print the stripe of one, others that of all.
            if columns != *data && columns.checked_mul(spans) != Some(*data) {
                let detail = format!(
                    "a full stripe of {full} is {columns} strips of {strip}, but {how} hold data"
                );
                let drives = drives.map_or(line, |(_, line)| line);
                self.contradiction(detail, &line, &drives, notes);
            }
        }
        let parity = level.is_some_and(Level::has_parity);
        match (data, printed) {
            (Some((data, how)), _) => {
                self.thing
                    .set(Key::DataMembers, Fact::derived(Value::Count(data), how));
                let in_span = data / spans;
                if parity
                    && data % spans == 0
                    && let Some(full) = strip.checked_mul(in_span)
                {
                    let fact = match printed {
                        Some((_, said, line)) if said == full => notes.said(&line, full),
                        _ => Fact::derived(full, width(in_span, spans, strip)),
                    };
                    self.thing.grid(GridRole::FullStripe, fact);
                }
            }
            // Of a spanned volume nobody knows whether it is the stripe of one span or of all.
            (None, Some((columns, full, line))) if !level.is_some_and(Level::is_spanned_parity) => {
                let from = format!("{full} ÷ {strip}");
                self.thing
                    .set(Key::DataMembers, Fact::derived(Value::Count(columns), from));
                if parity {
                    self.thing
                        .grid(GridRole::FullStripe, notes.said(&line, full));
                }
            }
            (None, _) => {}
        }
    }
}

fn width(in_span: u64, spans: u64, strip: Unit) -> String {
    let bytes = strip.bytes().grouped();
    match spans {
        1 => format!("{in_span} data members × {bytes} B"),
        _ => format!(
            "{in_span} data members of each of {spans} spans × {bytes} B: each span has its own parity"
        ),
    }
}

/// `64 KB`, `64kB`, `1.0 MB`. `Err` with a kind for what is to be remarked, without one for words like `N/A`.
pub(super) fn stripe_unit(text: &str) -> Result<Unit, Option<AnomalyKind>> {
    let text = text.trim();
    if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
        return Err(Some(AnomalyKind::UnitUnclear));
    }
    let shown = number::shown(text, Prefix::Binary, Rounding::Down).ok_or(None)?;
    let unit = Unit::try_from(shown.from()).map_err(|_| Some(AnomalyKind::Misprint))?;
    // 3 × 64 KiB is a full stripe; nothing smaller than a sector or larger than 1 GiB is either.
    let possible = unit.get().is_multiple_of(512) && unit.get() <= 1 << 30;
    possible.then_some(unit).ok_or(Some(AnomalyKind::Misprint))
}

/// A size of which nobody knows whether it is rounded or cut, in binary units: `838.33 GB`.
pub(super) fn rounded_size(text: &str) -> Option<Interval> {
    let nearest = number::shown(text, Prefix::Binary, Rounding::Nearest)?;
    let cut = number::shown(text, Prefix::Binary, Rounding::Down)?;
    Interval::new(nearest.from().min(cut.from()), nearest.to().max(cut.to()))
}

/// A size as MegaRAID tools show it: whole units of the next smaller kind, divided by 1,024 and cut to three decimals.
/// `3.637 TB` is 3,725 GiB or a little more; trailing zeros may be missing.
pub(super) fn megaraid_size(text: &str) -> Option<Interval> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
    let unit = text[end..].trim().to_ascii_uppercase();
    let power = match unit.split_whitespace().next()? {
        "B" => return number::whole(&text[..end]).map(|n| Interval::exact(Bytes::new(n))),
        "KB" | "KIB" => 1,
        "MB" | "MIB" => 2,
        "GB" | "GIB" => 3,
        "TB" | "TIB" => 4,
        "PB" | "PIB" => 5,
        _ => return None,
    };
    let Some((whole, decimals)) = text[..end].split_once('.') else {
        // Old versions print whole MB.
        return number::shown(text, Prefix::Binary, Rounding::Down);
    };
    if decimals.len() > 3 {
        return None;
    }
    let thousandths: u64 = format!("{whole}{decimals:0<3}").parse().ok()?;
    let smaller = 1024_u64.checked_pow(power - 1)?;
    let at = |thousandths: u64| {
        let units = thousandths.checked_mul(1024)?.div_ceil(1000);
        units.checked_mul(smaller)
    };
    let first = at(thousandths)?;
    let last = at(thousandths.checked_add(1)?)?.checked_sub(1)?;
    Interval::new(Bytes::new(first), Bytes::new(last))
}

/// `512B`, `4 KB`, `4096`, `512/4096`: logical and physical sector.
pub(super) fn sector(text: &str) -> Option<Unit> {
    let text = text.trim();
    let bytes = match number::whole(text) {
        Some(number) => Bytes::new(number),
        None => number::shown(text, Prefix::Binary, Rounding::Nearest)
            .and_then(|shown| stripe_floor(text).or(shown.known()))?,
    };
    let unit = Unit::try_from(bytes).ok()?;
    (128..=65_536).contains(&unit.get()).then_some(unit)
}

fn stripe_floor(text: &str) -> Option<Bytes> {
    number::shown(text, Prefix::Binary, Rounding::Down).map(|shown| shown.from())
}

/// A disk behind a controller: what it says about its sectors goes to the volumes that are made of it.
pub(super) fn disk(name: impl Into<String>) -> Thing {
    let name = name.into();
    Thing::new(
        LayerKind::Device,
        name.clone(),
        Name::new(Space::RaidDisk, name),
    )
}

/// Sets a sector of a disk or volume that has none of that kind yet.
pub(super) fn set_sector(thing: &mut Thing, role: GridRole, unit: Fact<Unit>) {
    if thing.grids.iter().all(|grid| grid.role != role) {
        thing.grid(role, unit);
    }
}

/// `Key : value`, `Key: value`, `Key = value`, indented or not.
pub(super) fn field<'t>(line: &Line<'t>) -> Option<(&'t str, &'t str)> {
    let text = line.text.trim();
    let at = text.find([':', '='])?;
    let key = text[..at].trim();
    (!key.is_empty()).then(|| (key, text[at + 1..].trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strips_in_all_dresses() {
        for text in ["64 KB", "64kB", "64K", "65536 B"] {
            assert_eq!(stripe_unit(text).map(Unit::get), Ok(65_536), "{text}");
        }
        assert_eq!(stripe_unit("1.0 MB").map(Unit::get), Ok(1 << 20));
        assert_eq!(stripe_unit("256"), Err(Some(AnomalyKind::UnitUnclear)));
        assert_eq!(stripe_unit("0 KB"), Err(Some(AnomalyKind::Misprint)));
        assert_eq!(stripe_unit("100 B"), Err(Some(AnomalyKind::Misprint)));
        assert_eq!(stripe_unit("N/A"), Err(None));
    }

    /// Pairs of what one output shows and the sectors that it prints elsewhere.
    #[test]
    fn megaraid_sizes_hold_the_sectors_printed_beside_them() {
        let pairs = [
            ("3.638 TB", 0x1_d1c0_beb0_u64),
            ("3.637 TB", 0x1_d1b0_beb0),
            ("3.637 TB", 0x1_d1b0_0000),
            ("45.738 TB", 98_224_250_880),
            ("99.996 GB", 209_707_008),
            ("558.406 GB", 1_171_062_784),
            ("1.089 TB", 2_342_125_568),
            ("1.818 TB", 3_905_945_600),
            ("100.0 GB", 209_715_200),
        ];
        for (text, sectors) in pairs {
            let interval = megaraid_size(text).expect(text);
            assert!(interval.contains(Bytes::new(sectors * 512)), "{text}");
        }
        let old = megaraid_size("1427649MB").expect("whole MB");
        assert_eq!(old.from(), Bytes::mib(1_427_649));
        assert_eq!(old.to().get() + 1, Bytes::mib(1_427_650).get());
        assert_eq!(megaraid_size("much"), None);
    }

    #[test]
    fn sectors_in_all_dresses() {
        assert_eq!(sector("512B").map(Unit::get), Some(512));
        assert_eq!(sector("4 KB").map(Unit::get), Some(4096));
        assert_eq!(sector("4096").map(Unit::get), Some(4096));
        assert_eq!(sector("520 Bytes").map(Unit::get), Some(520));
        assert_eq!(sector("N/A"), None);
        assert_eq!(sector("7"), None);
    }
}
