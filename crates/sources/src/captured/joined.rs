//! An output of which all lines became one: a page that shows text without its ends of lines, a field of a form that has one line.
//!
//! ```text
//! Model: ATA ACME (scsi) Disk /dev/sda: 3907029168s Sector size (logical/physical): 512B/4096B Partition Table: msdos Number Start End …
//! ```
//! It is taken apart where a line of fdisk, parted or sfdisk begins. What a line has is known by its words, so that the blanks
//! between columns are not missed.

use std::borrow::Cow;

/// Shorter and longer lines are none.
const LEN: std::ops::RangeInclusive<usize> = 120..=64 << 10;
/// Fewest beginnings of lines above rows, each of another kind.
const MIN_HEADS: usize = 2;

/// The words that a line above the rows begins with. `*` stands for any word, `#` for a number, `/` for the path of a device.
const HEADS: [&[&str]; 23] = [
    &["Model:"],
    &["Disk", "/"],
    &["Disk", "Flags:"],
    &["Disk", "model:"],
    &["Disk", "identifier:"],
    &["Disklabel", "type:"],
    &["Sector", "size", "(logical/physical):"],
    &["I/O", "size", "(minimum/optimal):"],
    &["Partition", "Table:"],
    &["Partition", "#", "does"],
    &["Units", "="],
    &["Units:"],
    &["Units", "of"],
    &["Number", "Start", "End"],
    &["Device", "Boot"],
    &["Device", "Start", "End"],
    &["#", "heads,"],
    &["label:"],
    &["label-id:"],
    &["device:"],
    &["unit:"],
    &["first-lba:"],
    &["sector-size:"],
];

/// The text with such lines taken apart, with `soft` at the end of each part but the last.
pub(super) fn apart(text: Cow<'_, str>, soft: char) -> Cow<'_, str> {
    if !text.lines().any(|line| LEN.contains(&line.len())) {
        return text;
    }
    let between = format!("{soft}\n");
    let mut found = String::new();
    let mut is_changed = false;
    for line in text.split_inclusive('\n') {
        match parts(line) {
            Some(parts) => {
                is_changed = true;
                found.push_str(&parts.join(&between));
            }
            None => found.push_str(line),
        }
    }
    match is_changed {
        true => Cow::Owned(found),
        false => text,
    }
}

/// The lines that are in one.
fn parts(line: &str) -> Option<Vec<&str>> {
    if !LEN.contains(&line.len()) {
        return None;
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    let mut heads = [false; HEADS.len()];
    let mut rows = 0;
    let mut begins = Vec::new();
    for at in 0..words.len() {
        let rest = &words[at..];
        let head = HEADS.iter().position(|head| is(rest, head));
        if let Some(head) = head {
            heads[head] = true;
        } else if is_row(rest) && heads.contains(&true) {
            rows += 1;
        } else {
            continue;
        }
        begins.push(words[at].as_ptr().addr() - line.as_ptr().addr());
    }
    let kinds = heads.iter().filter(|head| **head).count();
    if kinds < MIN_HEADS || rows == 0 {
        return None;
    }
    let mut parts = Vec::with_capacity(begins.len() + 1);
    let mut from = 0;
    for begin in begins {
        if !line[from..begin].trim().is_empty() {
            parts.push(&line[from..begin]);
        }
        from = begin;
    }
    parts.push(&line[from..]);
    (parts.len() > 1).then_some(parts)
}

fn is(words: &[&str], head: &[&str]) -> bool {
    let fits = |(word, wanted): (&&str, &&str)| match *wanted {
        "#" => is_number(word),
        "/" => word.starts_with("/dev/"),
        wanted => *word == wanted,
    };
    words.len() >= head.len() && words.iter().zip(head).all(fits)
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

/// The row of a partition or a device.
fn is_row(words: &[&str]) -> bool {
    let is_size = |word: &&str| {
        let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        digits.len() < word.len()
            && digits.starts_with(|c: char| c.is_ascii_digit())
            && digits
                .bytes()
                .all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b','))
    };
    match words {
        // `/dev/sda1 * 63 …`, `/dev/sda1 : start= …`
        [path, next, ..]
            if path.starts_with("/dev/") && path.ends_with(|c: char| c.is_ascii_digit()) =>
        {
            *next == "*" || *next == ":" || is_number(next)
        }
        // ` 1 63s 208844s 208782s …`
        [number, start, end, size, ..] if is_number(number) => {
            [start, end, size].into_iter().all(is_size)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        let apart = apart(Cow::Borrowed(text), '|');
        apart.lines().map(str::to_owned).collect()
    }

    #[test]
    fn what_was_joined_is_lines_again() {
        let parted = "$ sudo parted /dev/sda unit s print Model: ATA ACME (scsi) Disk /dev/sda: 3907029168s Sector size (logical/physical): \
                      512B/4096B Partition Table: msdos Disk Flags: Number Start End Size Type File system Flags 1 63s 3907024064s \
                      3907024002s primary ntfs boot 2 3907024065s 3907029167s 5103s primary ext4";
        assert_eq!(
            lines(parted),
            [
                "$ sudo parted /dev/sda unit s print |",
                "Model: ATA ACME (scsi) |",
                "Disk /dev/sda: 3907029168s |",
                "Sector size (logical/physical): 512B/4096B |",
                "Partition Table: msdos |",
                "Disk Flags: |",
                "Number Start End Size Type File system Flags |",
                "1 63s 3907024064s 3907024002s primary ntfs boot |",
                "2 3907024065s 3907029167s 5103s primary ext4",
            ]
        );
        let fdisk = "Disk /dev/sdb: 250.1 GB, 250059350016 bytes 255 heads, 63 sectors/track, 30401 cylinders, total 488397168 sectors Units = \
                     sectors of 1 * 512 = 512 bytes Device Boot Start End Blocks Id System /dev/sdb1 * 63 488392064 244196001 7 HPFS/NTFS\n";
        assert_eq!(
            lines(fdisk),
            [
                "Disk /dev/sdb: 250.1 GB, 250059350016 bytes |",
                "255 heads, 63 sectors/track, 30401 cylinders, total 488397168 sectors |",
                "Units = sectors of 1 * 512 = 512 bytes |",
                "Device Boot Start End Blocks Id System |",
                "/dev/sdb1 * 63 488392064 244196001 7 HPFS/NTFS",
            ]
        );
    }

    #[test]
    fn other_long_lines_stay() {
        for text in [
            // No row.
            &format!("Disk /dev/sda: 1 GB Units: sectors {}", "x ".repeat(100)),
            // No head.
            &format!("{} /dev/sda1 63 100", "x ".repeat(100)),
            &format!("Disk /dev/sda: 1 GB /dev/sda1 63 100 {}", "x ".repeat(100)),
            &"y".repeat(1000),
        ] {
            assert_eq!(apart(Cow::Borrowed(text), '|'), *text);
        }
    }
}
