//! What of a device-mapper table may leave the machine: the words that this crate reads, and nothing else.
//!
//! A table holds keys (crypt, integrity), descriptions of keys in the kernel's keyring, digests, and whatever a module takes.
//! Each kind has its list of the words that are used, by place; every other word is `-`, and what follows the last word that is
//! used is cut off. A word that is used is kept only when it is what stands there: a number, a device, one of a few names.
//!
//! Source: Linux `Documentation/admin-guide/device-mapper/`, one file for each target.

use crate::linux::words::device_number;

/// What may stand in a place.
#[derive(Clone, Copy)]
enum May {
    /// A number.
    Number,
    /// `MAJ:MIN`, or a path below `/dev`.
    Device,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A word that is not used.
    Hidden,
}

use May::{Device, Hidden, Number, Word};

const INTEGRITY_MODES: &[&str] = &["J", "B", "D", "R", "I"];
const SELECTORS: &[&str] = &[
    "round-robin",
    "queue-length",
    "service-time",
    "historical-service-time",
    "io-affinity",
];
const RAID_LEVELS: &[&str] = &[
    "raid0",
    "raid0_meta",
    "raid1",
    "raid10",
    "raid10_far",
    "raid10_offset",
    "raid10_near",
    "raid4",
    "raid5_la",
    "raid5_ra",
    "raid5_ls",
    "raid5_rs",
    "raid5_n",
    "raid6_zr",
    "raid6_nr",
    "raid6_nc",
    "raid6_n_6",
    "raid6_la_6",
    "raid6_ra_6",
    "raid6_ls_6",
    "raid6_rs_6",
];
/// Optional parameters of a raid target that are used, with what follows them.
const RAID_PARAMETERS: &[(&str, Option<May>)] = &[
    ("raid10_copies", Some(Number)),
    ("raid10_format", Some(Word(&["near", "far", "offset"]))),
    ("raid10_use_near_sets", None),
    ("data_offset", Some(Number)),
];

impl May {
    fn keep(self, word: &str) -> &str {
        let is_kept = match self {
            Number => is_number(word),
            Device => is_device(word),
            Word(words) => words.contains(&word),
            Hidden => false,
        };
        if is_kept { word } else { "-" }
    }
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_device(word: &str) -> bool {
    device_number(word).is_some() || word.starts_with("/dev/")
}

/// Leaves of a target's parameters what is used.
pub(in crate::linux) fn redact(kind: &str, parameters: &str) -> String {
    let words: Vec<&str> = parameters.split_ascii_whitespace().collect();
    let mut kept = Kept {
        words: &words,
        out: Vec::new(),
    };
    match kind {
        "linear" | "delay" | "flakey" | "dust" => kept.all(&[Device, Number]),
        "striped" => {
            kept.all(&[Number, Number]);
            kept.repeated(&[Device, Number]);
        }
        "crypt" => {
            kept.all(&[Hidden, Hidden, Number, Device, Number]);
            kept.options(&["sector_size"]);
        }
        "integrity" => {
            kept.all(&[Device, Number, Number, Word(INTEGRITY_MODES)]);
            kept.options(&["block_size", "interleave_sectors"]);
        }
        "thin-pool" | "era" => kept.all(&[Device, Device, Number]),
        "thin" => kept.all(&[Device, Number]),
        "cache" => kept.all(&[Device, Device, Device, Number]),
        "writecache" => kept.all(&[Word(&["p", "s"]), Device, Device, Number]),
        "snapshot" => kept.all(&[Device, Device, Word(&["P", "PO", "N", "NO"]), Number]),
        "snapshot-origin" | "log-writes" => kept.all(&[Device]),
        "verity" => kept.all(&[Number, Device, Device, Number, Number, Number, Number]),
        "mirror" => {
            kept.all(&[Hidden]);
            kept.counted();
            kept.all(&[Number]);
            kept.repeated(&[Device, Number]);
        }
        "raid" => kept.raid(),
        "multipath" => kept.paths(),
        // How these reach the devices below is not known: only that they do.
        _ => {
            let devices = words.iter().filter(|word| device_number(word).is_some());
            return devices.copied().collect::<Vec<_>>().join(" ");
        }
    }
    kept.out.join(" ")
}

/// Words that are gone through from the first to the last.
struct Kept<'a> {
    words: &'a [&'a str],
    out: Vec<&'a str>,
}

impl<'a> Kept<'a> {
    fn next(&mut self) -> Option<&'a str> {
        let (first, rest) = self.words.split_first()?;
        self.words = rest;
        Some(first)
    }

    fn all(&mut self, places: &[May]) {
        for may in places {
            if let Some(word) = self.next() {
                self.out.push(may.keep(word));
            }
        }
    }

    /// The same places again and again, as long as the first of them is what it may be. A member that failed is `-`.
    fn repeated(&mut self, places: &[May]) {
        while let Some(first) = self.words.first() {
            if *first != "-" && places.first().is_none_or(|may| may.keep(first) == "-") {
                return;
            }
            self.all(places);
        }
    }

    /// A number and as many words, all of them hidden. Gives the number.
    fn counted(&mut self) -> Option<usize> {
        let count = self.next().filter(|word| is_number(word))?;
        self.out.push(count);
        let count = count.parse().ok()?;
        for _ in 0..count {
            self.next()?;
            self.out.push("-");
        }
        Some(count)
    }

    /// `#OPTIONS NAME:VALUE…`: those of these names with a number.
    fn options(&mut self, names: &[&str]) {
        let kept: Vec<&str> = self
            .words
            .iter()
            .copied()
            .filter(|word| {
                let option = word.split_once(':');
                option.is_some_and(|(name, value)| names.contains(&name) && is_number(value))
            })
            .collect();
        if !kept.is_empty() {
            const COUNTS: [&str; 3] = ["0", "1", "2"];
            self.out
                .push(COUNTS.get(kept.len()).copied().unwrap_or("-"));
            self.out.extend(kept);
        }
        self.words = &[];
    }

    /// `TYPE #PARAMETERS CHUNK PARAMETERS… #DEVICES META DATA META DATA …`
    fn raid(&mut self) {
        self.all(&[Word(RAID_LEVELS)]);
        let count = self.words.first().and_then(|word| word.parse().ok());
        self.all(&[Number, Number]);
        let count = usize::saturating_sub(count.unwrap_or(0), 1);
        let end = count.min(self.words.len());
        let mut follows = None;
        for word in self.words.iter().take(end) {
            let known = RAID_PARAMETERS.iter().find(|(name, _)| name == word);
            let shown = match (follows.take(), known) {
                (Some(may), _) => May::keep(may, word),
                (None, Some((_, next))) => {
                    follows = *next;
                    word
                }
                (None, None) => "-",
            };
            self.out.push(shown);
        }
        self.words = self.words.get(end..).unwrap_or(&[]);
        self.all(&[Number]);
        self.repeated(&[Device, Device]);
    }

    /// `#FEATURES … #HANDLER … #GROUPS FIRST` and for each group
    /// `SELECTOR #ARGUMENTS … #PATHS #PATHARGUMENTS (DEVICE ARGUMENT…)…`.
    fn paths(&mut self) {
        if self.counted().is_none() || self.counted().is_none() {
            return;
        }
        self.all(&[Number, Number]);
        while !self.words.is_empty() {
            self.all(&[Word(SELECTORS)]);
            if self.counted().is_none() {
                return;
            }
            let number = |word: Option<&&str>| word.and_then(|word| word.parse::<usize>().ok());
            let (paths, arguments) = (number(self.words.first()), number(self.words.get(1)));
            self.all(&[Number, Number]);
            for _ in 0..paths.unwrap_or(0) {
                if self.words.is_empty() {
                    return;
                }
                self.all(&[Device]);
                for _ in 0..arguments.unwrap_or(0) {
                    if self.next().is_none() {
                        return;
                    }
                    self.out.push("-");
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_stays_and_nothing_else() {
        for (kind, text, kept) in [
            ("linear", "8:0 2048", "8:0 2048"),
            ("linear", "/dev/sda 2048 SECRET", "/dev/sda 2048"),
            ("linear", "SECRET SECRET", "- -"),
            (
                "striped",
                "2 128 8:0 0 8:16 63 SECRET",
                "2 128 8:0 0 8:16 63",
            ),
            (
                "crypt",
                "capi:SECRET SECRET 0 8:0 32768 3 allow_discards sector_size:4096 iv:SECRET",
                "- - 0 8:0 32768 1 sector_size:4096",
            ),
            (
                "crypt",
                "aes-xts-plain64 :64:logon:cryptsetup:SECRET 0 8:0 0 1 sector_size:SECRET",
                "- - 0 8:0 0",
            ),
            (
                "integrity",
                "8:0 0 32 J 5 internal_hash:hmac(sha256):SECRET block_size:4096 journal_crypt:ctr(aes):SECRET \
                 journal_mac:hmac(sha256):SECRET interleave_sectors:32768",
                "8:0 0 32 J 2 block_size:4096 interleave_sectors:32768",
            ),
            (
                "verity",
                "1 8:0 8:16 4096 4096 100 1 sha256 SECRET SECRET 1 root_hash_sig_key_desc SECRET",
                "1 8:0 8:16 4096 4096 100 1",
            ),
            ("thin-pool", "253:0 253:1 128 0 1 SECRET", "253:0 253:1 128"),
            ("thin", "253:2 1 8:0", "253:2 1"),
            (
                "cache",
                "253:2 253:1 253:0 128 1 writethrough smq 2 SECRET SECRET",
                "253:2 253:1 253:0 128",
            ),
            (
                "writecache",
                "s 8:0 8:16 4096 2 SECRET SECRET",
                "s 8:0 8:16 4096",
            ),
            ("snapshot", "8:0 8:16 P 8 1 SECRET", "8:0 8:16 P 8"),
            ("log-writes", "8:0 8:16 SECRET", "8:0"),
            (
                "mirror",
                "userspace 4 SECRET SECRET 1024 1 2 8:0 0 8:16 0 1 SECRET",
                "- 4 - - - - 2 8:0 0 8:16 0",
            ),
            (
                "raid",
                "raid10 8 128 region_size SECRET raid10_copies 3 raid10_format far SECRET 2 253:0 253:1 - - SECRET",
                "raid10 8 128 - - raid10_copies 3 raid10_format far - 2 253:0 253:1 - -",
            ),
            ("raid", "SECRET 1 128 1 - 8:0", "- 1 128 1 - 8:0"),
            (
                "multipath",
                "1 SECRET 1 alua 2 1 service-time 1 SECRET 1 2 8:16 SECRET 1 SECRET 0 1 1 8:32 1",
                "1 - 1 - 2 1 service-time 1 - 1 2 8:16 - - - 0 1 1 8:32 -",
            ),
            ("multipath", "SECRET", ""),
            ("unheard-of", "8:0 SECRET 8:16", "8:0 8:16"),
        ] {
            let shown = redact(kind, text);
            assert_eq!(shown, kept, "{kind} {text}");
            assert_eq!(redact(kind, &shown), kept, "{kind}: once is enough");
        }
    }
}
