//! Tools of Windows.

pub(super) mod diskext;
pub(super) mod diskpar;
pub(super) mod diskpart;
pub(super) mod fsutil;
pub(super) mod unknown;
pub(super) mod wmi_script;
pub(super) mod wmic;

use straddle_geometry::{Bytes, Unit};
use straddle_stack::{Anomaly, AnomalyKind, Interval, LayerKind};

use super::text::Line;
use super::tool::{Context, Notes};
use crate::inventory::{Name, Space, Thing};

/// The name of a disk of which nothing says the number: its like in another text is another disk.
pub(super) fn unknown_disk(line: &Line<'_>, notes: &Notes<'_>) -> Name {
    let text = format!("? ({}:{})", notes.file, line.number);
    Name::new(Space::WindowsDisk, text)
}

/// A disk by its number.
fn disk(number: u64) -> Thing {
    let title = format!("disk {number}");
    Thing::new(LayerKind::Device, title, Name::windows_disk(number))
}

/// A partition of a disk by its number as DiskPart counts.
pub(super) fn partition(disk: &Name, number: u64) -> Thing {
    let name = Name::new(Space::WindowsPartition, format!("{}/{number}", disk.text));
    let title = format!("disk {} partition {number}", disk.text);
    Thing::new(LayerKind::Partition, title, name).on(disk.clone())
}

/// Notes an exact start. Nothing starts inside a sector: a figure that says so was mistyped, and is not used.
pub(super) fn put_at(
    thing: &mut Thing,
    start: u64,
    sector: u64,
    line: &Line<'_>,
    notes: &Notes<'_>,
) {
    let unit = Unit::new(sector).filter(|unit| unit.get().is_power_of_two());
    let sector = unit.unwrap_or(SECTOR);
    let bytes = Bytes::new(start);
    if bytes.is_multiple_of(sector) {
        thing.start = Some(notes.said(line, Interval::exact(bytes)));
        return;
    }
    let (count, _) = bytes.div_rem(sector);
    let below = Bytes::new(count * sector.get());
    let above = below.checked_add(sector.bytes()).unwrap_or(below);
    let detail = format!(
        "{} cannot be the start of a partition: sectors of {} bytes start at {} and {}",
        bytes.grouped(),
        sector.bytes().grouped(),
        below.grouped(),
        above.grouped()
    );
    let anomaly = Anomaly::at(AnomalyKind::Misprint, detail, notes.source(line));
    thing.remarks.push(anomaly);
}

/// Remarks that a dynamic disk's partitions say nothing about its volumes: those are cut out of one large partition.
fn remark_dynamic(thing: &mut Thing, line: &Line<'_>, notes: &Notes<'_>) {
    const DETAIL: &str = "a dynamic disk: the offsets of its partitions are not those of its volumes; `diskext` lists where \
                          those lie, `dmdiag -v` on older systems";
    let said = thing.remarks.iter().any(|anomaly| anomaly.detail == DETAIL);
    if !said {
        let anomaly = Anomaly::at(AnomalyKind::Missing, DETAIL, notes.source(line));
        thing.remarks.push(anomaly);
    }
}

/// The size of a disk as old interfaces give it: of whole cylinders, which leaves less than one over at its end.
fn cylinders(size: u64, sector: u64) -> Interval {
    let exact = Interval::exact(Bytes::new(size));
    let Some(cylinder) = sector.checked_mul(255 * 63).filter(|n| *n > 0) else {
        return exact;
    };
    if size == 0 || !size.is_multiple_of(cylinder) {
        return exact;
    }
    let most = size.saturating_add(cylinder - sector);
    Interval::new(Bytes::new(size), Bytes::new(most)).unwrap_or(exact)
}

/// A filesystem's name as Windows prints it, as it is called here; `None` for discs and for what is none.
pub(super) fn filesystem(name: &str) -> Option<&'static str> {
    const KNOWN: [(&str, &str); 7] = [
        ("NTFS", "ntfs"),
        ("ReFS", "refs"),
        ("exFAT", "exfat"),
        ("FAT32", "fat"),
        ("FAT", "fat"),
        ("CSVFS", "csvfs"),
        ("CSVFS_NTFS", "csvfs"),
    ];
    let known = KNOWN
        .iter()
        .find(|(shown, _)| shown.eq_ignore_ascii_case(name));
    known.map(|(_, format)| *format)
}

/// The smallest sector that Windows knows.
const SECTOR: Unit = match Unit::new(512) {
    Some(unit) => unit,
    None => Unit::B4096,
};

/// The volume in the name of a file: `C:` of `ntfsinfo-C`, `fsutil_c`, `sectorinfo C`.
fn volume_of_file<'t>(context: &Context<'t>) -> Option<&'t str> {
    let stem = context.file_stem;
    let last = stem.rsplit(['-', '_', ' ', '.']).next()?;
    let letter = last.trim_end_matches(':');
    let single = letter.len() == 1 && letter.bytes().all(|b| b.is_ascii_alphabetic());
    (single && last.len() < stem.len()).then_some(letter)
}

/// The number at the end of a file's name that speaks of a disk: 1 of `diskpart-disk1`, `diskpar-1`.
fn disk_of_file(context: &Context<'_>) -> Option<u64> {
    let stem = context.file_stem.to_ascii_lowercase();
    let digits = stem.rsplit(|c: char| !c.is_ascii_digit()).next()?;
    let before = stem.strip_suffix(digits)?;
    let before = before.trim_end_matches(['-', '_', ' ', '.', '#']);
    let speaks = ["disk", "diskpar", "drive"]
        .iter()
        .any(|word| before.ends_with(word));
    speaks.then(|| digits.parse().ok())?
}
