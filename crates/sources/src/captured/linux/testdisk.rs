//! `testdisk`: the table of a disk as it stands, in cylinders, heads and sectors, or in sectors.
//!
//! ```text
//! Disk /dev/sdb - 500 GB / 465 GiB - CHS 60801 255 63
//!      Partition                  Start        End    Size in sectors
//!  1 * HPFS - NTFS              0   1  1 12747 254 63  204796557 [System]
//! >P MS Data                     2048  409602047  409600000 [Data]
//! ```
//!
//! What it found of deleted partitions has a D, and is none of the table.

use super::device;
use crate::captured::row;
use crate::captured::tool::{Anchor, Notes, Reader, Section, Tool};

pub(crate) static TOOL: Tool = Tool {
    name: "testdisk",
    platform: "linux",
    commands: &["testdisk /list DEVICE"],
    readers: &[Reader::Text {
        anchors: &[Anchor::Start("Disk "), Anchor::Loose("Partition ")],
        begins: |lines| {
            let near = lines.iter().take(LOOK_AHEAD);
            (heading(lines[0].text).is_some() || is_columns(lines[0].text))
                && near.clone().any(|line| is_columns(line.text))
        },
        read,
    }],
};

/// How far below the name of the disk the names of the columns stand.
const LOOK_AHEAD: usize = 8;
/// Where it does not say how long they are.
const SECTOR: u64 = 512;

/// What `Disk /dev/sdb - 500 GB / 465 GiB - CHS 60801 255 63, sector size=512` says.
struct Disk<'t> {
    path: &'t str,
    /// Heads, and sectors of a track.
    geometry: Option<(u64, u64)>,
    sector: Option<u64>,
}

fn heading(text: &str) -> Option<Disk<'_>> {
    let (path, rest) = text.trim().strip_prefix("Disk ")?.split_once(" - ")?;
    if !rest.contains(" / ") {
        return None;
    }
    let geometry = rest.split_once("CHS ").and_then(|(_, chs)| {
        let mut figures = chs.split([' ', ',']).skip(1).map(str::parse);
        Some((figures.next()?.ok()?, figures.next()?.ok()?))
    });
    let sector = rest.split_once("sector size=").and_then(|(_, size)| {
        let size = size.split(|c: char| !c.is_ascii_digit()).next()?;
        size.parse().ok()
    });
    Some(Disk {
        path,
        geometry,
        sector,
    })
}

fn is_columns(text: &str) -> bool {
    let words = text.split_whitespace();
    words.eq(["Partition", "Start", "End", "Size", "in", "sectors"])
}

/// A partition: its number where it has one, first sector and sectors.
fn partition(text: &str, geometry: Option<(u64, u64)>) -> Option<(Option<u64>, u64, u64)> {
    let text = text.trim_start().trim_start_matches('>').trim_start();
    let text = text.split(" [").next()?;
    let mut words: Vec<&str> = text.split_whitespace().collect();
    let number = words.first()?.parse().ok();
    if number.is_some() {
        words.remove(0);
    }
    // Primary, bootable, logical; extended ones hold others, and deleted ones are gone.
    if !matches!(*words.first()?, "P" | "*" | "L") {
        return None;
    }
    let count = words
        .iter()
        .rev()
        .map_while(|word| word.parse::<u64>().ok());
    let mut figures: Vec<u64> = count.collect();
    figures.reverse();
    let lba = |cylinder: u64, head: u64, sector: u64| {
        let (heads, sectors) = geometry?;
        let track = cylinder.checked_mul(heads)?.checked_add(head)?;
        track
            .checked_mul(sectors)?
            .checked_add(sector.checked_sub(1)?)
    };
    let (start, end, length) = match *figures.as_slice() {
        [.., c, h, s, to_c, to_h, to_s, length] => (lba(c, h, s)?, lba(to_c, to_h, to_s)?, length),
        [.., start, end, length] => (start, end, length),
        _ => return None,
    };
    // Figures in the name of a type are none of these.
    (end.checked_sub(start)?.checked_add(1)? == length).then_some((number, start, length))
}

fn read(section: &Section<'_>, notes: &mut Notes<'_>) {
    let mut near = section.lines.iter().chain(section.before.iter().rev());
    let disk = near.find_map(|line| heading(line.text));
    let path = disk.as_ref().map_or("disk", |disk| disk.path);
    let geometry = disk.as_ref().and_then(|disk| disk.geometry);
    let said = disk.as_ref().and_then(|disk| disk.sector);
    let sector = said.unwrap_or(SECTOR);
    notes.add(device::disk(path));
    for line in section.lines {
        let Some((number, start, length)) = partition(line.text, geometry) else {
            continue;
        };
        let mut thing = match number {
            Some(number) => device::numbered_partition(path, number, line, notes),
            None => device::partition_at(path, start.saturating_mul(sector) / 512),
        };
        let figures = row::Row {
            start: row::exact(start, sector),
            length: row::exact(length, sector),
            ..row::Row::default()
        };
        figures.set(&mut thing, line, notes);
        if said.is_none() {
            device::assumed(&mut thing);
        }
        notes.add(thing);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_are_placed_by_cylinders_or_by_sectors() {
        let chs = Some((255, 63));
        for (text, expected) in [
            (
                " 1 * HPFS - NTFS              0   1  1 12747 254 63  204796557 [System]",
                Some((Some(1), 63, 204_796_557)),
            ),
            (
                ">P MS Data                     2048  409602047  409600000 [A b]",
                Some((None, 2048, 409_600_000)),
            ),
            (" 5 L FAT32 LBA 12748 0 1 60800 254 63 771971440", None),
            (
                " 5 L FAT32 LBA 12748 1 1 60800 254 63 771971382",
                Some((Some(5), 204_796_683, 771_971_382)),
            ),
            (
                " 3 E extended LBA          1024   0  1 14592 254 63  217985985",
                None,
            ),
            (
                " D Linux                     2048  409602047  409600000",
                None,
            ),
        ] {
            assert_eq!(partition(text, chs), expected, "{text}");
        }
    }

    #[test]
    fn the_disk_says_its_geometry() {
        let of = |text| heading(text).map(|disk| (disk.path, disk.geometry, disk.sector));
        assert_eq!(
            of("Disk /dev/sdb - 500 GB / 465 GiB - CHS 60801 255 63, sector size=512"),
            Some(("/dev/sdb", Some((255, 63)), Some(512)))
        );
        assert_eq!(
            of("Disk /dev/sdb - 500 GB / 465 GiB - WDC WD5000AAKX"),
            Some(("/dev/sdb", None, None))
        );
        assert_eq!(of("Disk /dev/sdb: 500.1 GB, 500107862016 bytes"), None);
    }
}
