//! Names of columns of sysstat. They are the same in all languages.

use straddle_stack::activity::Quantity;

/// What a column is, and by what its figures are multiplied.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Meaning {
    pub(super) quantity: Quantity,
    pub(super) factor: f64,
}

/// What the column is; `None` in it for one that says nothing about how a disk did.
pub(super) fn known(name: &str) -> Option<Option<Meaning>> {
    let is_it = |known: &str| known.as_bytes().first() == name.as_bytes().first() && known == name;
    if let Some((_, quantity, factor)) = NAMES.iter().find(|(known, _, _)| is_it(known)) {
        return Some(Some(Meaning {
            quantity: *quantity,
            factor: *factor,
        }));
    }
    OTHERS.contains(&name).then_some(None)
}

/// The name of a column as sysstat writes it.
pub(super) fn in_any_case(name: &str) -> Option<&'static str> {
    let name = match name {
        "util" | "util%" => "%util",
        name => name,
    };
    let mut names = NAMES.iter().map(|(known, _, _)| *known);
    names.find(|known| known.eq_ignore_ascii_case(name))
}

/// As [`known`], for keys of JSON: before sysstat 12 they have no `/s`, and never a sign.
pub(super) fn known_key(key: &str) -> Option<Meaning> {
    match key {
        "util" | "util-percent" => return known("%util").flatten(),
        "r" => return known("r/s").flatten(),
        "w" => return known("w/s").flatten(),
        _ => {}
    }
    if let Some(meaning) = known(key) {
        return meaning;
    }
    let stem = key.strip_suffix("_per_sec").unwrap_or(key);
    let rate = |(known, _, _): &&(&str, Quantity, f64)| known.strip_suffix("/s") == Some(stem);
    let (_, quantity, factor) = NAMES.iter().find(rate)?;
    Some(Meaning {
        quantity: *quantity,
        factor: *factor,
    })
}

/// The names of columns in a line, where a line that was broken and joined again may have run two together.
pub(super) fn split(word: &str) -> Option<(&str, &str)> {
    // Most words that are none are longer than two.
    if word.len() > 2 * LONGEST {
        return None;
    }
    let places = word.char_indices().map(|(at, _)| at).skip(1);
    let halves = |at: usize| (&word[..at], &word[at..]);
    places
        .map(halves)
        .find(|(first, second)| known(first).is_some() && known(second).is_some())
}

/// Characters of the longest name of a column.
const LONGEST: usize = 10;
const KIB: f64 = 1024.0;
const MIB: f64 = 1024.0 * 1024.0;
/// iostat counts sectors, and busybox blocks, of so many bytes, whatever the disk has.
const SECTOR: f64 = 512.0;
const MILLI: f64 = 1e-3;

const NAMES: &[(&str, Quantity, f64)] = &[
    ("r/s", Quantity::ReadRate, 1.0),
    ("w/s", Quantity::WriteRate, 1.0),
    ("d/s", Quantity::DiscardRate, 1.0),
    ("f/s", Quantity::FlushRate, 1.0),
    ("tps", Quantity::TransferRate, 1.0),
    ("rkB/s", Quantity::ReadThroughput, KIB),
    ("wkB/s", Quantity::WriteThroughput, KIB),
    ("kB/s", Quantity::TransferThroughput, KIB),
    ("rMB/s", Quantity::ReadThroughput, MIB),
    ("wMB/s", Quantity::WriteThroughput, MIB),
    ("MB/s", Quantity::TransferThroughput, MIB),
    ("rsec/s", Quantity::ReadThroughput, SECTOR),
    ("wsec/s", Quantity::WriteThroughput, SECTOR),
    ("sec/s", Quantity::TransferThroughput, SECTOR),
    ("rd_sec/s", Quantity::ReadThroughput, SECTOR),
    ("wr_sec/s", Quantity::WriteThroughput, SECTOR),
    ("kB_read/s", Quantity::ReadThroughput, KIB),
    ("kB_wrtn/s", Quantity::WriteThroughput, KIB),
    ("MB_read/s", Quantity::ReadThroughput, MIB),
    ("MB_wrtn/s", Quantity::WriteThroughput, MIB),
    ("Blk_read/s", Quantity::ReadThroughput, SECTOR),
    ("Blk_wrtn/s", Quantity::WriteThroughput, SECTOR),
    ("kB_read", Quantity::ReadBytes, KIB),
    ("kB_wrtn", Quantity::WrittenBytes, KIB),
    ("MB_read", Quantity::ReadBytes, MIB),
    ("MB_wrtn", Quantity::WrittenBytes, MIB),
    ("Blk_read", Quantity::ReadBytes, SECTOR),
    ("Blk_wrtn", Quantity::WrittenBytes, SECTOR),
    ("avgrq-sz", Quantity::TransferSize, SECTOR),
    ("areq-sz", Quantity::TransferSize, KIB),
    ("rareq-sz", Quantity::ReadSize, KIB),
    ("wareq-sz", Quantity::WriteSize, KIB),
    ("avgqu-sz", Quantity::QueueLength, 1.0),
    ("aqu-sz", Quantity::QueueLength, 1.0),
    ("await", Quantity::TransferLatency, MILLI),
    ("r_await", Quantity::ReadLatency, MILLI),
    ("w_await", Quantity::WriteLatency, MILLI),
    ("d_await", Quantity::DiscardLatency, MILLI),
    ("f_await", Quantity::FlushLatency, MILLI),
    ("%util", Quantity::Utilization, 0.01),
];

/// Merged requests, what was discarded, and a service time that says nothing.
const OTHERS: &[&str] = &[
    "rrqm/s",
    "wrqm/s",
    "drqm/s",
    "rqm/s",
    "%rrqm",
    "%wrqm",
    "%drqm",
    "svctm",
    "dkB/s",
    "dMB/s",
    "dsec/s",
    "dc_sec/s",
    "dareq-sz",
    "kB_dscd/s",
    "MB_dscd/s",
    "Blk_dscd/s",
    "kB_dscd",
    "MB_dscd",
    "Blk_dscd",
    "kB_w+d/s",
    "MB_w+d/s",
    "Blk_w+d/s",
    "kB_w+d",
    "MB_w+d",
    "Blk_w+d",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_ran_together_are_told_apart() {
        assert_eq!(split("d_awaitdareq-sz"), Some(("d_await", "dareq-sz")));
        assert_eq!(split("avgqu"), None);
        assert_eq!(split("µ"), None);
    }

    #[test]
    fn keys_are_names_without_signs() {
        let quantity = |key: &str| known_key(key).map(|meaning| meaning.quantity);
        assert_eq!(quantity("r/s"), Some(Quantity::ReadRate));
        assert_eq!(quantity("rkB"), Some(Quantity::ReadThroughput));
        assert_eq!(quantity("kB_read_per_sec"), Some(Quantity::ReadThroughput));
        assert_eq!(quantity("kB_read"), Some(Quantity::ReadBytes));
        assert_eq!(quantity("util-percent"), Some(Quantity::Utilization));
        // A rate before sysstat 12, a share of requests since.
        assert_eq!(quantity("rrqm"), None);
    }
}
