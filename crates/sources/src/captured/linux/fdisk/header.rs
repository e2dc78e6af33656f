//! The first line of a disk, in any language: its path and how long it is.

use super::units::units;
use crate::captured::number::{self, Prefix, Rounding};
use crate::captured::text::Line;

/// A disk's first line.
pub(super) struct Header<'t> {
    pub(super) path: &'t str,
    pub(super) bytes: Option<u64>,
    /// How many sectors, where it says so.
    pub(super) sectors: Option<u64>,
}

/// A disk's first line, when it is one.
pub(super) fn begins<'t>(lines: &[Line<'t>]) -> Option<Header<'t>> {
    let (path, rest) = device_line(lines.first()?)?;
    let numbers = integers(rest);
    let mut words = rest.split_whitespace();
    let figure = words.next()?;
    let hidden = |c: char| matches!(c, '*' | 'X' | 'x' | '#' | '?' | '.');
    let starts_with_figure =
        figure.starts_with(|c: char| c.is_ascii_digit()) || figure.chars().all(hidden);
    // Older than 2.13: the geometry stands in the first line, and no size.
    if rest.contains(" heads, ") {
        return Some(Header {
            path,
            bytes: None,
            sectors: None,
        });
    }
    // sgdisk begins with the number of sectors.
    if !starts_with_figure || rest.split([',', '，']).count() < 2 {
        return None;
    }
    let unit = words.next()?.split([',', '，']).next()?;
    number::shown(&format!("1 {unit}"), Prefix::Decimal, Rounding::Any)?;
    // sg_readcap says `Device size: 4000787030016 bytes, 3815447.8 MiB, …`; fdisk is given paths, and says its units.
    let says_units = || {
        let mut near = lines.iter().skip(1).take(6);
        near.any(|line| units(line.text).is_some())
    };
    if !path.starts_with('/') && !says_units() {
        return None;
    }
    let bytes = numbers.iter().max().copied().unwrap_or(0);
    // Some do not want to show how large their disks are: `4.0 TB, XXXXXXXXXXXXX bytes`.
    if bytes < SMALLEST && path.starts_with('/') && says_units() {
        return Some(Header {
            path,
            bytes: None,
            sectors: None,
        });
    }
    let of_sectors = |n: &&u64| {
        bytes
            .checked_div(**n)
            .is_some_and(|size| (256..16_384).contains(&size))
    };
    let last = numbers
        .last()
        .filter(|n| numbers.len() > 2 && of_sectors(n));
    (numbers.len() > 1 && bytes >= SMALLEST).then_some(Header {
        path,
        bytes: Some(bytes),
        sectors: last.copied(),
    })
}

/// Smallest disk; figures below are what is left of one.
const SMALLEST: u64 = 1 << 16;

/// `Disk /dev/sda: …`: the path and what follows, whatever the word for a disk is.
pub(in super::super) fn device_line<'t>(line: &Line<'t>) -> Option<(&'t str, &'t str)> {
    let text = line.text.trim();
    let (head, rest) = match text.split_once(": ") {
        Some(parts) => parts,
        None => text.split_once('：')?,
    };
    let (word, path) = head.trim().split_once(char::is_whitespace)?;
    let path = path.trim();
    let word_of_letters = word.chars().all(char::is_alphabetic);
    // `Unpartitioned space /dev/sda: …` is no disk.
    let is_path = !path.is_empty() && !path.contains(" /dev/");
    (word_of_letters && is_path).then(|| (path, rest.trim()))
}

/// The whole numbers in a text, also with their digits in groups of three; those with decimals count as two.
pub(super) fn integers(text: &str) -> Vec<u64> {
    let words = text.split(|c: char| !(c.is_ascii_digit() || matches!(c, ',' | '.')));
    let mut found = Vec::new();
    for word in words {
        let word = word.trim_matches([',', '.']);
        // `1,863` may be a decimal, `320,073,216` is not.
        let groups = word.split([',', '.']).count();
        match number::whole(word).filter(|_| groups != 2 || word.contains(',')) {
            Some(number) => found.push(number),
            None => found.extend(
                word.split([',', '.'])
                    .filter_map(|part| part.parse::<u64>().ok()),
            ),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(text: &str) -> Option<(&str, Option<u64>)> {
        let line = Line { number: 1, text };
        begins(&[line]).map(|header| (header.path, header.bytes))
    }

    #[test]
    fn a_disk_is_a_disk_in_all_languages() {
        let disk = Some(("/dev/sda", Some(67_108_864)));
        for text in [
            "Disk /dev/sda: 64 MiB, 67108864 bytes, 131072 sectors",
            "Festplatte /dev/sda: 64 MiB, 67108864 Bytes, 131072 Sektoren",
            "Disque /dev/sda : 64 MiB, 67108864 octets, 131072 secteurs",
            "Disk /dev/sda：64 MiB，67108864 字节，131072 个扇区",
            "Dysk /dev/sda: 64 MiB, bajtów: 67108864, sektorów: 131072",
            "Disk /dev/sda: 67 MB, 67108864 bytes",
        ] {
            assert_eq!(header(text), disk, "{text}");
        }
        assert_eq!(
            header("Disk /dev/hda: 255 heads, 63 sectors, 2434 cylinders"),
            Some(("/dev/hda", None))
        );
        for text in [
            "Disk /dev/sda: 131072 sectors, 64.0 MiB",
            "Disk /dev/sda: 500GB",
            "Device size: 4000787030016 bytes, 3815447.8 MiB, 4000.79 GB",
            "Note: 12 GiB, 3 files",
        ] {
            assert_eq!(header(text), None, "{text}");
        }
    }
}
