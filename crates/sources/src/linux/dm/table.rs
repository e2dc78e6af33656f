//! The text of a device-mapper table, as `dmsetup table` prints it: a line
//! `[NAME:] START LENGTH TARGET PARAMETERS` for each target, in sectors of 512 bytes.
//!
//! Source: Linux `Documentation/admin-guide/device-mapper/`, one file for each target.

use straddle_geometry::{Bytes, Extent, SectorSize, Unit};

use super::redact::redact;
use crate::linux::words::device_number;

const SECTOR: u64 = 512;

/// Most lines of one table that are looked at.
const MAX_TARGETS: usize = 1 << 16;
/// Most devices of one target that are looked at.
const MAX_DEVICES: usize = 1 << 10;

/// One target of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    /// The addresses it serves.
    pub(super) extent: Extent,
    /// Its kind: `linear`, `crypt`.
    pub(super) kind: String,
    /// The line, as far as anything in it is used: see [`redact`].
    pub(super) line: String,
    words: Vec<String>,
}

/// A device below, and where the data starts there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) device: DeviceName,
    pub(super) start: Bytes,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum DeviceName {
    Number((u32, u32)),
    Path(String),
}

pub(super) fn parse(text: &str) -> Vec<Target> {
    text.lines()
        .take(MAX_TARGETS)
        .filter_map(parse_line)
        .collect()
}

/// A table as far as it is used, for a capture.
pub(in crate::linux) fn redacted(text: &str) -> String {
    let targets = parse(text);
    targets
        .iter()
        .fold(String::new(), |out, target| out + &target.line + "\n")
}

fn parse_line(line: &str) -> Option<Target> {
    let mut words = line.split_ascii_whitespace().peekable();
    // `dmsetup table` without a device prefixes each line with the name.
    if words.peek().is_some_and(|word| word.ends_with(':')) {
        words.next();
    }
    let mut sectors = || {
        SectorSize::B512
            .sectors(words.next()?.parse().ok()?)
            .bytes()
    };
    let extent = Extent::new(sectors()?, sectors()?)?;
    let kind = words.next()?.to_owned();
    let words: Vec<&str> = words.collect();
    let kept = redact(&kind, &words.join(" "));
    let start = extent.start().get() / SECTOR;
    let len = extent.len().get() / SECTOR;
    let line = format!("{start} {len} {kind} {kept}");
    Some(Target {
        extent,
        words: kept.split_ascii_whitespace().map(str::to_owned).collect(),
        line: line.trim_end().to_owned(),
        kind,
    })
}

impl Target {
    /// Parameter number `index`, from 0.
    pub(super) fn word(&self, index: usize) -> Option<&str> {
        self.words.get(index).map(String::as_str)
    }

    fn number(&self, index: usize) -> Option<u64> {
        self.word(index)?.parse().ok()
    }

    /// Parameter number `index`, a count of sectors, as a unit.
    pub(super) fn sectors(&self, index: usize) -> Option<Unit> {
        let bytes = SectorSize::B512.sectors(self.number(index)?).bytes()?;
        Unit::try_from(bytes).ok()
    }

    /// The value of an optional parameter `key:value`.
    pub(super) fn option(&self, key: &str) -> Option<&str> {
        self.words
            .iter()
            .find_map(|word| word.strip_prefix(key)?.strip_prefix(':'))
    }

    fn device(&self, index: usize) -> Option<DeviceName> {
        let word = self.word(index)?;
        if word.starts_with('/') {
            return Some(DeviceName::Path(word.to_owned()));
        }
        device_number(word).map(DeviceName::Number)
    }

    /// The device at `index`, data starting at the sector that the next parameter says.
    fn pair(&self, index: usize) -> Option<Place> {
        let start = SectorSize::B512.sectors(self.number(index + 1)?).bytes()?;
        Some(Place {
            device: self.device(index)?,
            start,
        })
    }

    fn whole(&self, index: usize) -> Option<Place> {
        Some(Place {
            device: self.device(index)?,
            start: Bytes::ZERO,
        })
    }

    /// Where a linear target lies.
    pub(super) fn linear_place(&self) -> Option<Place> {
        (self.kind == "linear").then(|| self.pair(0)).flatten()
    }

    /// The devices below; the one that the data lies on first.
    pub(super) fn places(&self) -> Vec<Place> {
        let list = |places: Vec<Option<Place>>| places.into_iter().flatten().collect();
        match self.kind.as_str() {
            "linear" | "delay" | "flakey" => list(vec![self.pair(0)]),
            "striped" => {
                let count = self.number(0).and_then(|n| usize::try_from(n).ok());
                let count = count.unwrap_or(0).min(MAX_DEVICES);
                let found: Vec<Place> = (0..count)
                    .map_while(|column| self.pair(2 + 2 * column))
                    .collect();
                // Stripes over fewer devices than the table promises lie somewhere else.
                if found.len() == count {
                    found
                } else {
                    Vec::new()
                }
            }
            "crypt" => list(vec![self.pair(3)]),
            "thin-pool" => list(vec![self.whole(1), self.whole(0)]),
            "thin" => list(vec![self.whole(0)]),
            // metadata, cache, origin: the origin's addresses are the cached device's.
            "cache" => list(vec![self.whole(2), self.whole(1), self.whole(0)]),
            "writecache" => list(vec![self.whole(1), self.whole(2)]),
            "snapshot" => list(vec![self.whole(0), self.whole(1)]),
            "verity" => list(vec![self.whole(1)]),
            "integrity" => list(vec![self.pair(0)]),
            "snapshot-origin" | "log-writes" => list(vec![self.whole(0)]),
            "dust" => list(vec![self.pair(0)]),
            "era" => list(vec![self.whole(1)]),
            "mirror" => self.mirror_places(),
            "raid" => self.raid_places(),
            "multipath" => self.paths(),
            // For the rest, whatever looks like a device number.
            _ => (0..self.words.len().min(MAX_DEVICES))
                .filter_map(|index| self.whole(index))
                .collect(),
        }
    }

    /// `LOG #LOGARGS ARGS… #DEVICES DEVICE OFFSET …`
    fn mirror_places(&self) -> Vec<Place> {
        let first = self
            .number(1)
            .and_then(|n| usize::try_from(n).ok())
            .and_then(|n| n.checked_add(2));
        let Some(at) = first else { return Vec::new() };
        let count = self.number(at).and_then(|n| usize::try_from(n).ok());
        (0..count.unwrap_or(0).min(MAX_DEVICES))
            .map_while(|copy| self.pair(at + 1 + 2 * copy))
            .collect()
    }

    /// `TYPE #PARAMETERS CHUNK PARAMETERS… #DEVICES META DATA META DATA …`: index of `#DEVICES`.
    fn raid_devices_at(&self) -> Option<usize> {
        usize::try_from(self.number(1)?).ok()?.checked_add(2)
    }

    /// Number of members, present or not.
    pub(super) fn raid_devices(&self) -> u64 {
        self.raid_devices_at()
            .and_then(|at| self.number(at))
            .unwrap_or(0)
    }

    fn raid_places(&self) -> Vec<Place> {
        self.raid_slots().into_iter().flatten().collect()
    }

    /// The data device of each member; `None` for `-`, one that failed.
    pub(super) fn raid_slots(&self) -> Vec<Option<Place>> {
        let Some(at) = self.raid_devices_at() else {
            return Vec::new();
        };
        let count = usize::try_from(self.raid_devices()).unwrap_or(0);
        (0..count.min(MAX_DEVICES))
            .map(|member| self.whole(at.checked_add(2 + 2 * member)?))
            .collect()
    }

    /// The value after an optional parameter of a raid target.
    pub(super) fn raid_option(&self, key: &str) -> Option<u64> {
        let at = self.words.iter().position(|word| word == key)?;
        self.number(at + 1)
    }

    /// The level and the layout of a raid target, by the names and numbers of md: `raid5_la` is level 5 with layout 0.
    ///
    /// Source: `raid_types` and `raid10_format_to_md_layout` in Linux `drivers/md/dm-raid.c`. RAID 4 is level 5 with its
    /// parity on the first device there.
    pub(super) fn raid_level(&self) -> Option<(&'static str, u64)> {
        let name = self.word(0)?;
        let copies = self.raid_option("raid10_copies").unwrap_or(2) & 0xff;
        let format = self.words.iter().position(|word| word == "raid10_format");
        let format = format.and_then(|at| self.word(at + 1));
        // Far copies go around in sets, unless they are told not to.
        let sets = if self.words.iter().any(|word| word == "raid10_use_near_sets") {
            0
        } else {
            1 << 18
        };
        Some(match (name, format) {
            ("raid0" | "raid0_meta", _) => ("raid0", 0),
            ("raid1", _) => ("raid1", 0),
            ("raid10", Some("far")) | ("raid10_far", _) => ("raid10", sets | copies << 8 | 1),
            ("raid10", Some("offset")) | ("raid10_offset", _) => {
                ("raid10", sets | 1 << 16 | copies << 8 | 1)
            }
            ("raid10" | "raid10_near", _) => ("raid10", 1 << 8 | copies),
            ("raid4", _) => ("raid5", 4),
            ("raid5_la", _) => ("raid5", 0),
            ("raid5_ra", _) => ("raid5", 1),
            ("raid5_ls", _) => ("raid5", 2),
            ("raid5_rs", _) => ("raid5", 3),
            ("raid5_n", _) => ("raid5", 5),
            ("raid6_zr", _) => ("raid6", 8),
            ("raid6_nr", _) => ("raid6", 9),
            ("raid6_nc", _) => ("raid6", 10),
            ("raid6_n_6", _) => ("raid6", 5),
            ("raid6_la_6", _) => ("raid6", 16),
            ("raid6_ra_6", _) => ("raid6", 17),
            ("raid6_ls_6", _) => ("raid6", 18),
            ("raid6_rs_6", _) => ("raid6", 19),
            _ => return None,
        })
    }

    /// The path selector of the first group of a multipath target, after its features and hardware handler:
    /// `#FEATURES … #HANDLER … #GROUPS FIRST SELECTOR #ARGS … #PATHS #PATHARGS DEVICE ARGS…`.
    pub(super) fn path_selector(&self) -> Option<&str> {
        self.word(self.first_group()?)
    }

    fn skip_counted(&self, at: usize) -> Option<usize> {
        let count = usize::try_from(self.number(at)?).ok()?;
        at.checked_add(1)?.checked_add(count)
    }

    fn first_group(&self) -> Option<usize> {
        let handler = self.skip_counted(0)?;
        let groups = self.skip_counted(handler)?;
        groups.checked_add(2)
    }

    fn paths(&self) -> Vec<Place> {
        let mut out = Vec::new();
        let Some(mut at) = self.first_group() else {
            return out;
        };
        // Each round consumes at least one word, so the table's length bounds the loop.
        while let Some(counts) = at.checked_add(1).and_then(|args| self.skip_counted(args)) {
            let paths = self.number(counts).and_then(|n| usize::try_from(n).ok());
            let extra = counts.checked_add(1).and_then(|at| self.number(at));
            let step = extra
                .and_then(|n| usize::try_from(n).ok())
                .and_then(|n| n.checked_add(1));
            let (Some(paths), Some(step), Some(first)) = (paths, step, counts.checked_add(2))
            else {
                break;
            };
            at = first;
            for _ in 0..paths {
                let Some(place) = self.whole(at).filter(|_| out.len() < MAX_DEVICES) else {
                    return out;
                };
                out.push(place);
                at = at.saturating_add(step);
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn target(line: &str) -> Target {
        parse_line(line).expect("a table line")
    }

    fn numbers(target: &Target) -> Vec<(u32, u64)> {
        let number = |place: Place| match place.device {
            DeviceName::Number((_, minor)) => (minor, place.start.get()),
            DeviceName::Path(_) => (u32::MAX, place.start.get()),
        };
        target.places().into_iter().map(number).collect()
    }

    #[test]
    fn tables_as_dmsetup_prints_them() {
        let striped = target("vg-st: 0 393216 striped 3 128 8:0 2048 8:16 2048 8:32 63");
        assert_eq!(
            numbers(&striped),
            [(0, 1 << 20), (16, 1 << 20), (32, 32_256)]
        );
        assert_eq!(striped.sectors(1), Unit::new(65_536));
        let crypt = target(
            "0 98304 crypt aes-xts-plain64 :64:logon:cryptsetup:x-d0 0 9:0 32768 2 sector_size:4096 iv_large_sectors",
        );
        assert_eq!(numbers(&crypt), [(0, 32_768 * 512)]);
        assert_eq!(crypt.option("sector_size"), Some("4096"));
        let multipath = target(
            "0 2097152 multipath 1 queue_if_no_path 1 alua 2 1 service-time 0 2 2 8:16 1 1 8:48 1 1 service-time 0 1 2 8:32 1 1",
        );
        assert_eq!(multipath.path_selector(), Some("service-time"));
        assert_eq!(numbers(&multipath), [(16, 0), (48, 0), (32, 0)]);
        let raid = target(
            "0 131072 raid raid5_ls 3 128 region_size 1024 3 253:0 253:1 - 253:3 253:4 253:5",
        );
        assert_eq!(raid.raid_devices(), 3);
        assert_eq!(numbers(&raid), [(1, 0), (3, 0), (5, 0)]);
        assert_eq!(raid.raid_level(), Some(("raid5", 2)));
        let present: Vec<bool> = raid.raid_slots().iter().map(Option::is_some).collect();
        assert_eq!(present, [true, true, true]);
        let degraded = target(
            "0 131072 raid raid10 7 128 region_size 1024 raid10_copies 3 raid10_format far 3 253:0 253:1 - - 253:4 253:5",
        );
        assert_eq!(degraded.raid_level(), Some(("raid10", 0x4_0301)));
        assert_eq!(degraded.raid_slots()[1], None);
        let cache = target("0 98304 cache 253:2 253:1 253:0 128 1 writethrough smq 0");
        assert_eq!(numbers(&cache), [(0, 0), (1, 0), (2, 0)]);
        assert_eq!(cache.sectors(3), Unit::new(65_536));
    }

    proptest! {
        #[test]
        fn garbage_gives_no_panic(text in "([a-z]{0,9}|[0-9]{0,21}|[0-9]{1,3}:[0-9]{1,3}| ){0,40}",
            kind in prop::sample::select(vec!["striped", "raid", "mirror", "multipath", "cache", "crypt", "zzz"])) {
            for target in parse(&format!("0 8 {kind} {text}")) {
                target.places();
                target.path_selector();
                target.raid_devices();
                redact(&target.kind, &text);
            }
        }
    }
}
