//! Values of a job file's keys: numbers, sizes, times, and the words that some keys take.

use std::time::Duration;
use straddle_geometry::{Bytes, Unit};

use super::lines::Entry;
use super::terms::{Engine, Mode, Size};
use crate::compat::{MAX_REQUEST, MAX_RUN, Refused};
use straddle_workload::{Pattern, Percent};

pub(super) fn text(entry: &Entry) -> Result<String, Refused> {
    match &entry.value {
        Some(value) if !value.is_empty() => Ok(value.clone()),
        _ => Err(entry.refused("nothing is given", "give a name")),
    }
}

/// Keys that are true when nothing follows them.
pub(super) fn set(entry: &Entry) -> Result<bool, Refused> {
    match entry.value.as_deref() {
        None | Some("1") => Ok(true),
        Some("0") => Ok(false),
        Some(_) => Err(entry.refused("it is neither 0 nor 1", "write the key alone")),
    }
}

pub(super) fn whole(entry: &Entry, value: &str, least: u32, most: u32) -> Result<u32, Refused> {
    let digits = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    let number: Option<u32> = if digits { value.parse().ok() } else { None };
    number
        .filter(|number| (least..=most).contains(number))
        .ok_or_else(|| {
            entry.refused(
                format!("it is not a whole number from {least} to {most}"),
                "give one",
            )
        })
}

pub(super) fn percent(entry: &Entry, value: &str) -> Result<Percent, Refused> {
    let number = u8::try_from(whole(entry, value, 0, 100)?).ok();
    Ok(number.and_then(Percent::new).unwrap_or(Percent::ALL))
}

pub(super) fn mode(entry: &Entry, value: &str) -> Result<Mode, Refused> {
    let half = Percent::new(50).unwrap_or(Percent::ALL);
    // Behind the colon of a sequential order stands the gap behind each request; behind that of a random one, how many
    // requests follow each other.
    let (value, gap) = match value.split_once(':') {
        Some((order @ ("read" | "write"), gap)) => (order, Unit::try_from(bytes(entry, gap)?).ok()),
        Some(("rw" | "readwrite", _)) => {
            return Err(entry.refused(
                "fio keeps a place for reads and one for writes; here both follow one",
                "give read or write with the gap, or rw without",
            ));
        }
        _ => (value, None),
    };
    let (pattern, reads) = match value {
        "read" => (Pattern::Sequential, Percent::ALL),
        "write" => (Pattern::Sequential, Percent::NONE),
        "randread" => (Pattern::Random, Percent::ALL),
        "randwrite" => (Pattern::Random, Percent::NONE),
        "rw" | "readwrite" => (Pattern::Sequential, half),
        "randrw" => (Pattern::Random, half),
        _ => {
            return Err(entry.refused(
                "this order of requests is not made",
                "give read, write (also with a gap, as read:8k), randread, randwrite, rw or randrw",
            ));
        }
    };
    Ok(Mode {
        pattern,
        gap,
        reads,
        mixed: reads == half,
    })
}

pub(super) fn engine(entry: &Entry, value: &str) -> Result<Engine, Refused> {
    match value {
        "io_uring" => Ok(Engine::IoUring),
        "libaio" => Ok(Engine::LibAio),
        "psync" | "sync" | "pread" => Ok(Engine::Psync),
        "vsync" | "pvsync" | "pvsync2" => Ok(Engine::Vectored),
        "windowsaio" => Ok(Engine::Windows),
        "null" => Ok(Engine::Null),
        "posixaio" | "solarisaio" => Err(entry.refused(
            "its requests are made by threads of the C library",
            "give libaio or io_uring, which ask the same of the storage",
        )),
        "mmap" => Err(entry.refused(
            "memory-mapped I/O is not done: the kernel decides then what is asked of the storage",
            "give io_uring, libaio or psync",
        )),
        _ => Err(entry.refused(
            "there is no such engine here",
            "give io_uring, libaio, psync or null",
        )),
    }
}

pub(super) fn durable(entry: &Entry, value: &str) -> Result<bool, Refused> {
    match value {
        "dsync" => Ok(true),
        "none" | "0" => Ok(false),
        _ => Err(entry.refused(
            "writes that also put the file's times on stable storage (O_SYNC) are not made",
            "give sync=dsync",
        )),
    }
}

pub(super) fn seed(entry: &Entry, value: &str) -> Result<u64, Refused> {
    let number = match value.strip_prefix("0x") {
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
            u64::from_str_radix(digits, 16).ok()
        }
        _ if value.bytes().all(|byte| byte.is_ascii_digit()) => value.parse().ok(),
        _ => None,
    };
    number.ok_or_else(|| entry.refused("it is no number of 64 bits", "give one"))
}

/// A size: a whole number, and k, m, g or t, with or without b, behind it.
pub(super) fn bytes(entry: &Entry, value: &str) -> Result<Bytes, Refused> {
    let digits = value.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == '%');
    let suffix = value.get(digits.len()..).unwrap_or_default();
    let unit: u64 = match suffix.to_ascii_lowercase().as_str() {
        "" => 1,
        "k" | "kb" => 1 << 10,
        "m" | "mb" => 1 << 20,
        "g" | "gb" => 1 << 30,
        "t" | "tb" => 1 << 40,
        "kib" | "mib" | "gib" | "tib" => {
            return Err(entry.refused(
                "fio takes kib, mib and gib for powers of 1000, unlike everybody else",
                "write k, m or g, which fio takes for powers of 1024",
            ));
        }
        _ => {
            return Err(entry.refused(
                format!("`{value}` is not a whole number with k, m, g or t behind it"),
                "give a size such as 4096, 64k or 10g",
            ));
        }
    };
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let number: Option<u64> = if plain { digits.parse().ok() } else { None };
    let bytes = number.and_then(|number| number.checked_mul(unit));
    bytes
        .filter(|bytes| *bytes <= Unit::MAX.get())
        .map(Bytes::new)
        .ok_or_else(|| {
            entry.refused(
                format!("`{value}` is not a size"),
                "give one such as 4096, 64k or 10g",
            )
        })
}

fn block(entry: &Entry, value: &str) -> Result<Unit, Refused> {
    let unit = Unit::try_from(bytes(entry, value)?).ok();
    unit.filter(|unit| unit.get() <= MAX_REQUEST)
        .ok_or_else(|| {
            entry.refused(
                "a request has from 1 byte to 64 MiB",
                "give another block size",
            )
        })
}

/// Lengths of reads and of writes; those of trims are of no use. One that is left out is that of reads.
pub(super) fn blocks(entry: &Entry, value: &str) -> Result<[Unit; 2], Refused> {
    let mut each = value.split(',');
    let reads = block(entry, each.next().unwrap_or_default())?;
    let writes = match each.next().filter(|writes| !writes.is_empty()) {
        Some(writes) => block(entry, writes)?,
        None => reads,
    };
    for trims in each.filter(|trims| !trims.is_empty()) {
        block(entry, trims)?;
    }
    Ok([reads, writes])
}

/// Distance of the places of random requests. One for reads and another for writes are not done.
pub(super) fn align(entry: &Entry, value: &str) -> Result<Unit, Refused> {
    let [reads, writes] = blocks(entry, value)?;
    if reads != writes {
        return Err(entry.refused("reads and writes have one lattice", "give one size"));
    }
    Ok(reads)
}

/// Most lengths that a range may stand for.
const MAX_LENGTHS: u64 = 1024;

/// `4k-64k`: each multiple of the first length up to the second is equally likely, as fio draws them.
pub(super) fn block_range(entry: &Entry, value: &str) -> Result<Vec<(Unit, u32)>, Refused> {
    let (first, others) = value.split_once(',').unwrap_or((value, ""));
    if others
        .split(',')
        .any(|other| !other.is_empty() && other != first)
    {
        return Err(entry.refused(
            "reads and writes of different lengths are not mixed",
            "give one range",
        ));
    }
    let (least, most) = first
        .split_once('-')
        .ok_or_else(|| entry.refused("it is no range", "give two lengths, such as 4k-64k"))?;
    let (least, most) = (block(entry, least)?.get(), block(entry, most)?.get());
    if most < least {
        return Err(entry.refused(
            "the second length is below the first",
            "give the smaller one first, such as 4k-64k",
        ));
    }
    if !least.is_power_of_two() || !most.is_multiple_of(least) || most / least > MAX_LENGTHS {
        return Err(entry.refused(
            format!(
                "fio draws every multiple of the first length here; that is done where it is a power of two, the second is a multiple of it, and they are {MAX_LENGTHS} at most"
            ),
            "give such a range, or bssplit, such as bssplit=4k/50:64k/50",
        ));
    }
    let lengths = (1..=most / least).filter_map(|times| Unit::new(times * least));
    Ok(lengths.map(|length| (length, 1)).collect())
}

/// `10g`, or `100%` of what is there.
pub(super) fn share_or_size(entry: &Entry, value: &str) -> Result<Size, Refused> {
    let Some(share) = value.strip_suffix('%') else {
        return Ok(Size::Bytes(bytes(entry, value)?));
    };
    let share = u8::try_from(whole(entry, share, 1, 100)?).ok();
    Ok(Size::Share(
        share.and_then(Percent::new).unwrap_or(Percent::ALL),
    ))
}

/// Requests each second. Limits for reads, writes and trims have to be the same: one clock is for all.
pub(super) fn per_request(entry: &Entry, value: &str) -> Result<u32, Refused> {
    whole(entry, alike(entry, value)?, 1, u32::MAX)
}

/// Bytes each second.
pub(super) fn rate(entry: &Entry, value: &str) -> Result<u64, Refused> {
    let bytes = bytes(entry, alike(entry, value)?)?.get();
    if bytes == 0 {
        return Err(entry.refused("nothing would ever be due", "leave it out"));
    }
    Ok(bytes)
}

fn alike<'a>(entry: &Entry, value: &'a str) -> Result<&'a str, Refused> {
    let (first, others) = value.split_once(',').unwrap_or((value, ""));
    if others
        .split(',')
        .any(|other| !other.is_empty() && other != first)
    {
        return Err(entry.refused("reads and writes come at one rate", "give one figure"));
    }
    Ok(first)
}

/// `4k/50:64k/50`: lengths and their percentages; what is left is shared by those without one.
pub(super) fn split(entry: &Entry, value: &str) -> Result<Vec<(Unit, u32)>, Refused> {
    if value.contains(',') {
        return Err(entry.refused(
            "reads and writes of different lengths are not mixed",
            "give one list",
        ));
    }
    let mut sizes = Vec::new();
    for part in value.split(':') {
        let (length, share) = part.split_once('/').unwrap_or((part, ""));
        let share = match share {
            "" => None,
            share => Some(whole(entry, share, 0, 100)?),
        };
        sizes.push((block(entry, length)?, share));
    }
    let given: u32 = sizes.iter().filter_map(|(_, share)| *share).sum();
    let open = sizes.iter().filter(|(_, share)| share.is_none()).count();
    let open = u32::try_from(open).unwrap_or(u32::MAX);
    let left = 100_u32.checked_sub(given);
    let each = match (left, open) {
        (Some(0), 0) => 0,
        (Some(left), 1..) if left % open == 0 => left / open,
        _ => {
            return Err(entry.refused(
                format!("the percentages add up to {given}, and {open} lengths have none"),
                "make it 100 in whole percent",
            ));
        }
    };
    let weighted = sizes
        .into_iter()
        .map(|(unit, share)| (unit, share.unwrap_or(each)));
    Ok(weighted.filter(|(_, share)| *share > 0).collect())
}

/// A time: a whole number, and d, h, m, s, ms or us behind it.
pub(super) fn time(entry: &Entry, value: &str, unit: &str) -> Result<Duration, Refused> {
    let digits = value.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let suffix = value.get(digits.len()..).unwrap_or_default();
    let suffix = if suffix.is_empty() { unit } else { suffix };
    let micros: Option<u64> = match suffix {
        "d" => Some(86_400_000_000),
        "h" => Some(3_600_000_000),
        "m" => Some(60_000_000),
        "s" => Some(1_000_000),
        "ms" => Some(1000),
        "us" => Some(1),
        _ => None,
    };
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let number: Option<u64> = if plain { digits.parse().ok() } else { None };
    let all = number.and_then(|number| number.checked_mul(micros?));
    all.map(Duration::from_micros)
        .filter(|time| time.as_secs() <= MAX_RUN)
        .ok_or_else(|| {
            entry.refused(
                format!("`{value}` is not a time of a week at most"),
                "give one such as 60, 90s, 5m or 500ms",
            )
        })
}
