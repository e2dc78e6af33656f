//! RAID levels of hardware controllers, and how many of their members hold data.

/// A level, as far as alignment is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    /// RAID 0 and 00.
    Striped,
    /// RAID 1, or RAID 10 when strips are dealt over several mirrors.
    Mirrored {
        /// How often everything is kept.
        copies: u64,
        /// The text says that it is RAID 10.
        dealt: bool,
    },
    /// RAID 1E: copies of each strip on the next disk, on any number of disks.
    Interleaved,
    /// RAID 5 and 6, or RAID 50 and 60 over several spans.
    Parity {
        /// Members of each span that hold parity.
        parity: u64,
        /// The text says that it is RAID 50 or 60.
        dealt: bool,
    },
    /// One disk as it is, or one after the other.
    Plain,
}

impl Level {
    /// `5`, `RAID5`, `RAID-10`, `raid 1+0`, `6 (ADG)`, `1 (ADM)`, `6 Reed-Solomon`, `1E`.
    pub(super) fn parse(text: &str) -> Option<Level> {
        let lower = text.trim().to_ascii_lowercase();
        let bare = lower
            .trim_start_matches("raid")
            .trim_start_matches(['-', ' ']);
        let copies = if bare.contains("adm") || bare.contains("triple") {
            3
        } else {
            2
        };
        let parity = |parity, dealt| Level::Parity { parity, dealt };
        let mirrored = |dealt| Level::Mirrored { copies, dealt };
        Some(match bare.split([' ', '(', ',']).next()? {
            "0" | "00" => Level::Striped,
            "1" | "adm" => mirrored(false),
            "10" | "1+0" => mirrored(true),
            "1e" => Level::Interleaved,
            "5" => parity(1, false),
            "50" | "5+0" => parity(1, true),
            "6" | "adg" => parity(2, false),
            "60" | "6+0" => parity(2, true),
            "jbod" | "volume" | "simple_volume" | "simple" => Level::Plain,
            _ => return None,
        })
    }

    /// `Primary-5, Secondary-0, RAID Level Qualifier-3`: how members of a span, and spans, are put together.
    pub(super) fn parse_primary(text: &str) -> Option<Level> {
        let number = |word: &str| {
            let at = text.find(word)? + word.len();
            let digits = text[at..].find(|c: char| !c.is_ascii_digit());
            let end = digits.map_or(text.len(), |digits| at + digits);
            text[at..end].parse::<u64>().ok()
        };
        let dealt = number("Secondary-").is_some_and(|secondary| secondary > 0);
        Some(match number("Primary-")? {
            0 => Level::Striped,
            1 => Level::Mirrored { copies: 2, dealt },
            5 => Level::Parity { parity: 1, dealt },
            6 => Level::Parity { parity: 2, dealt },
            17 => Level::Interleaved,
            _ => return None,
        })
    }

    /// True where strips are dealt over members: for a mirror of more disks than copies too, whatever the tool calls it, and
    /// not for RAID 0 of one disk.
    pub(super) fn is_striped(self, drives: Option<u64>) -> bool {
        match self {
            Level::Striped => drives != Some(1),
            Level::Interleaved | Level::Parity { .. } => true,
            Level::Mirrored { copies, dealt } => dealt || drives.is_some_and(|n| n > copies),
            Level::Plain => false,
        }
    }

    /// The level's name over `drives` members in `spans` spans.
    pub(super) fn name(self, drives: Option<u64>, spans: Option<u64>) -> &'static str {
        let spanned = spans.is_some_and(|spans| spans > 1);
        match self {
            Level::Striped => "raid0",
            Level::Mirrored { .. } if spanned || self.is_striped(drives) => "raid10",
            Level::Mirrored { .. } => "raid1",
            Level::Interleaved => "raid1e",
            Level::Parity { parity: 1, dealt } if dealt || spanned => "raid50",
            Level::Parity { parity: 1, .. } => "raid5",
            Level::Parity { dealt, .. } if dealt || spanned => "raid60",
            Level::Parity { .. } => "raid6",
            Level::Plain => "jbod",
        }
    }

    /// How many of `drives` members in `spans` spans hold data, and how that is worked out.
    pub(super) fn data_members(self, drives: u64, spans: Option<u64>) -> Option<(u64, String)> {
        let (data, how) = match self {
            Level::Striped => (drives, format!("all of {drives} members")),
            Level::Mirrored { copies, .. } if drives.is_multiple_of(copies) => (
                drives / copies,
                format!("{drives} members ÷ {copies} copies"),
            ),
            Level::Parity { parity, dealt } => {
                let spans = match spans {
                    Some(spans) if spans > 1 || !dealt => spans.max(1),
                    None if !dealt => 1,
                    _ => return None,
                };
                let how = match spans {
                    1 => format!("{drives} members − {parity} parity"),
                    _ => format!("{drives} members − {spans} spans × {parity} parity"),
                };
                (drives.checked_sub(parity.checked_mul(spans)?)?, how)
            }
            _ => return None,
        };
        (data > 0).then_some((data, how))
    }

    /// True where a write of less than a full stripe is a read-modify-write.
    pub(super) const fn has_parity(self) -> bool {
        matches!(self, Level::Parity { .. })
    }

    /// True for parity over several spans, each with its own.
    pub(super) const fn is_spanned_parity(self) -> bool {
        matches!(self, Level::Parity { dealt: true, .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn mirror(dealt: bool) -> Level {
        Level::Mirrored { copies: 2, dealt }
    }

    const fn parity(parity: u64, dealt: bool) -> Level {
        Level::Parity { parity, dealt }
    }

    #[test]
    fn levels_as_tools_write_them() {
        let three = Level::Mirrored {
            copies: 3,
            dealt: false,
        };
        let cases = [
            ("RAID5", parity(1, false)),
            ("RAID-50", parity(1, true)),
            ("6 Reed-Solomon", parity(2, false)),
            ("6 (ADG)", parity(2, false)),
            ("1+0", mirror(true)),
            ("RAID 1+0", mirror(true)),
            ("1 (ADM)", three),
            ("RAID 1 (ADM)", three),
            ("1E", Level::Interleaved),
            ("RAID0", Level::Striped),
            ("Simple_volume", Level::Plain),
        ];
        for (text, level) in cases {
            assert_eq!(Level::parse(text), Some(level), "{text}");
        }
        assert_eq!(Level::parse("7"), None);
        assert_eq!(Level::parse(""), None);
        let primary = "Primary-6, Secondary-3, RAID Level Qualifier-3";
        assert_eq!(Level::parse_primary(primary), Some(parity(2, true)));
        assert_eq!(Level::parse_primary("Primary-"), None);
    }

    #[test]
    fn data_members_of_all_levels() {
        let data = |level: Level, drives, spans| level.data_members(drives, spans).map(|d| d.0);
        assert_eq!(data(Level::Striped, 3, None), Some(3));
        assert_eq!(data(mirror(true), 8, Some(4)), Some(4));
        assert_eq!(data(mirror(false), 3, Some(1)), None);
        assert_eq!(data(parity(1, false), 5, Some(1)), Some(4));
        assert_eq!(data(parity(1, true), 6, Some(2)), Some(4));
        assert_eq!(data(parity(1, true), 6, None), None);
        assert_eq!(data(parity(2, true), 12, Some(2)), Some(8));
        assert_eq!(data(parity(2, false), 2, None), None);
        assert_eq!(data(parity(2, false), 9, Some(u64::MAX)), None);
    }

    #[test]
    fn a_mirror_of_many_disks_is_raid_10() {
        assert_eq!(mirror(false).name(Some(2), Some(1)), "raid1");
        assert_eq!(mirror(false).name(Some(8), Some(1)), "raid10");
        assert_eq!(mirror(true).name(None, None), "raid10");
        assert_eq!(parity(1, false).name(Some(6), Some(2)), "raid50");
        assert_eq!(parity(2, true).name(None, None), "raid60");
        assert_eq!(parity(2, false).name(Some(6), Some(1)), "raid6");
        assert!(!mirror(false).is_striped(Some(2)) && mirror(false).is_striped(Some(4)));
        assert!(!Level::Striped.is_striped(Some(1)) && Level::Striped.is_striped(None));
    }
}
