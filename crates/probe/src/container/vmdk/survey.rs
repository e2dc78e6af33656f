//! A look at the directory and the first tables of a sparse extent, before anything is believed.

use straddle_geometry::Bytes;
use straddle_io::ReadError;
use straddle_stack::AnomalyKind;

use super::grains::SECTOR;
use crate::Window;
use crate::record::{Place, Recorder};

/// Entries of a directory that are looked at: 2 TiB with the usual grains.
const MAX_ENTRIES: u64 = 1 << 16;
/// Tables that are looked into, and compared with their copies.
const MAX_TABLES: usize = 64;

/// A grain directory.
#[derive(Clone, Copy)]
pub(super) struct Directory {
    pub(super) sector: u64,
    /// The field that says so.
    pub(super) field: Place,
}

/// Where the tables are said to lie.
pub(super) struct Layout {
    /// Tables of the disk.
    pub(super) count: u64,
    /// Grains of a table.
    pub(super) per_table: u64,
    pub(super) first: Directory,
    /// A copy, with tables of its own.
    pub(super) second: Option<Directory>,
    /// An entry of 1 is no sector.
    pub(super) zeroes: bool,
}

impl Layout {
    /// Where a directory starts, when that is in the file.
    fn start(&self, directory: Directory, window: &Window<'_>) -> Option<u64> {
        let start = directory.sector.checked_mul(SECTOR)?;
        (directory.sector > 0 && start < window.size().get()).then_some(start)
    }

    fn table_len(&self) -> u64 {
        self.per_table.saturating_mul(4)
    }

    fn table_sectors(&self) -> u64 {
        self.table_len().div_ceil(SECTOR)
    }

    fn sectors_of_directory(&self, start: u64) -> std::ops::Range<u64> {
        let end = start.saturating_add(self.count.saturating_mul(4));
        start / SECTOR..end.div_ceil(SECTOR)
    }

    /// The entries of a directory, as many as are looked at and lie in the file.
    fn entries(&self, window: &Window<'_>, start: u64) -> Result<Vec<u32>, ReadError> {
        let left = window.size().get().saturating_sub(start) / 4;
        words(window, start, self.count.min(left).min(MAX_ENTRIES))
    }
}

fn words(window: &Window<'_>, start: u64, count: u64) -> Result<Vec<u32>, ReadError> {
    let mut raw = vec![0; usize::try_from(count.saturating_mul(4)).unwrap_or(0)];
    window.fill(start, &mut raw)?;
    let (words, _) = raw.as_chunks::<4>();
    Ok(words.iter().map(|raw| u32::from_le_bytes(*raw)).collect())
}

/// Chooses the directory to use and says what is odd about it; `None` when there is none to use.
pub(super) fn directory(
    window: &Window<'_>,
    record: &mut Recorder<'_>,
    layout: &Layout,
) -> Result<Option<u64>, ReadError> {
    let size = window.size();
    if layout.count == 0 {
        let detail = "a capacity of 0 sectors: a disk without anything in it";
        record.odd(AnomalyKind::Damaged, detail, layout.first.field);
        return Ok(None);
    }
    let first = layout.start(layout.first, window);
    let second = layout
        .second
        .and_then(|second| layout.start(second, window));
    let used = match (first, second) {
        (Some(first), _) => (first, layout.first.field),
        (None, Some(second)) => {
            let detail = format!(
                "the grain directory is said to start at sector {} of a file of {size}; the second one is used",
                Bytes::new(layout.first.sector).grouped()
            );
            record.odd(AnomalyKind::CopiesDiffer, detail, layout.first.field);
            (
                second,
                layout
                    .second
                    .map_or(layout.first.field, |second| second.field),
            )
        }
        (None, None) => {
            let detail = format!(
                "the grain directory is said to start at sector {} of a file of {size}; without it no grain is found. \
                 The file was cut short, or its header is damaged",
                Bytes::new(layout.first.sector).grouped()
            );
            record.odd(AnomalyKind::Damaged, detail, layout.first.field);
            return Ok(None);
        }
    };
    let (start, field) = used;
    let len = layout.count.saturating_mul(4);
    if start.saturating_add(len) > size.get() {
        let detail = format!(
            "a grain directory of {} bytes at byte {} of a file of {size}: it ends beyond the end",
            Bytes::new(len).grouped(),
            Bytes::new(start).grouped()
        );
        record.odd(AnomalyKind::Damaged, detail, field);
    }
    let entries = layout.entries(window, start)?;
    tables(window, record, layout, (start, field), &entries);
    grains(window, record, layout, (start, field), &entries)?;
    if let Some(other) = layout.second
        && first.is_some()
    {
        match second {
            Some(second) => copies(window, record, layout, &entries, (other, second))?,
            None => {
                let detail = format!(
                    "the second grain directory is said to start at sector {} of a file of {size}; the first one is used",
                    Bytes::new(other.sector).grouped()
                );
                record.odd(AnomalyKind::CopiesDiffer, detail, other.field);
            }
        }
    }
    Ok(Some(start))
}

/// Tables must lie in the file, behind the header, outside the directory and apart from each other.
fn tables(
    window: &Window<'_>,
    record: &mut Recorder<'_>,
    layout: &Layout,
    (start, field): (u64, Place),
    entries: &[u32],
) {
    let directory = layout.sectors_of_directory(start);
    let file = window.size().get().div_ceil(SECTOR);
    let step = layout.table_sectors();
    let mut used: Vec<(u64, u64)> = Vec::new();
    let (mut outside, mut inside) = (Told::default(), Told::default());
    for (index, sector) in (0..).zip(entries) {
        let (sector, end) = (u64::from(*sector), u64::from(*sector) + step);
        if sector == 0 {
            continue;
        }
        if end > file {
            outside.tell(index, sector);
        } else if sector < directory.end && directory.start < end {
            inside.tell(index, sector);
        } else {
            used.push((sector, index));
        }
    }
    used.sort_unstable();
    let mut shared = Told::default();
    for pair in used.windows(2) {
        if let [(a, _), (b, index)] = pair
            && b - a < step
        {
            shared.tell(*index, *b);
        }
    }
    let who = "grain table";
    let what = "lies beyond the end of the file";
    outside.say(record, AnomalyKind::Damaged, field, who, what);
    let what = "lies in the grain directory itself";
    inside.say(record, AnomalyKind::Overlap, field, who, what);
    let what = "lies over another grain table";
    shared.say(record, AnomalyKind::Overlap, field, who, what);
}

/// Grains must lie in the file, outside the directory and the tables; looked at in the first tables only, because there
/// may be many.
fn grains(
    window: &Window<'_>,
    record: &mut Recorder<'_>,
    layout: &Layout,
    (start, field): (u64, Place),
    entries: &[u32],
) -> Result<(), ReadError> {
    let end = window.size().get().div_ceil(SECTOR);
    let directory = layout.sectors_of_directory(start);
    let mut tables: Vec<u32> = entries.iter().copied().filter(|s| *s != 0).collect();
    tables.sort_unstable();
    let in_table = |sector: u64| {
        let after = tables.partition_point(|table| u64::from(*table) <= sector);
        let before = after.checked_sub(1).and_then(|index| tables.get(index));
        before.is_some_and(|table| sector - u64::from(*table) < layout.table_sectors())
    };
    let (mut outside, mut over) = (Told::default(), Told::default());
    let first = entries.iter().enumerate().filter(|(_, s)| **s != 0);
    for (index, sector) in first.take(MAX_TABLES) {
        let Some(table) = table(window, layout, *sector)? else {
            continue;
        };
        for (n, grain) in (0..).zip(&table) {
            let sector = u64::from(*grain);
            if sector == 0 || (layout.zeroes && sector == 1) {
                continue;
            }
            let at = u64::try_from(index).unwrap_or(0) * layout.per_table + n;
            if sector >= end {
                outside.tell(at, sector);
            } else if sector == 0 || directory.contains(&sector) || in_table(sector) {
                over.tell(at, sector);
            }
        }
    }
    let what = "lies beyond the end of the file";
    outside.say(record, AnomalyKind::Damaged, field, "grain", what);
    let what = "lies where the grain directory or a grain table is";
    over.say(record, AnomalyKind::Overlap, field, "grain", what);
    Ok(())
}

/// The entries of a table, if it lies in the file.
fn table(window: &Window<'_>, layout: &Layout, sector: u32) -> Result<Option<Vec<u32>>, ReadError> {
    let start = u64::from(sector) * SECTOR;
    if sector == 0 || start.saturating_add(layout.table_len()) > window.size().get() {
        return Ok(None);
    }
    words(window, start, layout.per_table).map(Some)
}

/// Both directories must know the same grains.
fn copies(
    window: &Window<'_>,
    record: &mut Recorder<'_>,
    layout: &Layout,
    entries: &[u32],
    (other, start): (Directory, u64),
) -> Result<(), ReadError> {
    let copy = layout.entries(window, start)?;
    let mut compared = 0;
    for (index, (a, b)) in entries.iter().zip(&copy).enumerate() {
        let mut differs = (*a == 0) != (*b == 0);
        if !differs && *a != 0 && compared < MAX_TABLES {
            compared += 1;
            differs = table(window, layout, *a)? != table(window, layout, *b)?;
        }
        if differs {
            let detail = format!(
                "grain table {index} differs from its copy by the second directory (sectors {a} and {b}); the first one \
                 is used, as VMware and QEMU do"
            );
            record.odd(AnomalyKind::CopiesDiffer, detail, other.field);
            return Ok(());
        }
    }
    Ok(())
}

/// How many tables or grains have a fault, and the first of them.
#[derive(Default)]
struct Told {
    count: u64,
    first: Option<(u64, u64)>,
}

impl Told {
    fn tell(&mut self, index: u64, sector: u64) {
        self.count += 1;
        self.first = self.first.or(Some((index, sector)));
    }

    fn say(
        &self,
        record: &mut Recorder<'_>,
        kind: AnomalyKind,
        field: Place,
        who: &str,
        what: &str,
    ) {
        let Some((index, sector)) = self.first else {
            return;
        };
        let others = match self.count {
            1 => String::new(),
            n => format!(", one of {}", Bytes::new(n).grouped()),
        };
        let detail = format!("{who} {index} (sector {sector}){others} {what}");
        record.odd(kind, detail, field);
    }
}
