//! Lines of DiskPart's tables. They are read by their words and not by columns: translated cells are wider than their
//! columns, and characters of Chinese and Japanese are two columns wide in some of them.

use straddle_stack::Interval;

use crate::captured::number::{self, Prefix, Rounding};

/// A row of a table: `* Partition 2    Primary            118 GB   101 MB`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row<'t> {
    /// It is marked as the selected one.
    pub(super) selected: bool,
    /// The number behind the first words.
    pub(super) number: u64,
    /// What stands between the number and the first quantity, with its blanks.
    pub(super) middle: &'t str,
    /// Sizes and offsets, in their order.
    pub(super) quantities: Vec<Interval>,
    /// What stands behind the last quantity, with its blanks.
    pub(super) after: &'t str,
}

/// The words of a line and where they begin.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let start = text.as_ptr() as usize;
    text.split_whitespace()
        .map(move |word| (word.as_ptr() as usize - start, word))
}

impl<'t> Row<'t> {
    /// Reads a row that has `least` quantities or more.
    pub(super) fn new(line: &'t str, least: usize, rounding: Rounding) -> Option<Row<'t>> {
        let text = line.trim();
        let (selected, text) = match text.strip_prefix('*') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let digits = |word: &str| word.bytes().all(|b| b.is_ascii_digit());
        let (at, word) = words(text)
            .take(3)
            .find(|(_, word)| digits(word))
            .filter(|(at, _)| text[..*at].chars().any(char::is_alphabetic))?;
        let number = word.parse().ok()?;
        let rest = &text[at + word.len()..];
        let found = quantities(rest, rounding);
        if found.len() < least {
            return None;
        }
        let first = found.first().map_or(rest.len(), |quantity| quantity.from);
        let last = found.last().map_or(rest.len(), |quantity| quantity.to);
        Some(Row {
            selected,
            number,
            middle: &rest[..first],
            quantities: found.into_iter().map(|quantity| quantity.value).collect(),
            after: &rest[last..],
        })
    }
}

struct Quantity {
    value: Interval,
    from: usize,
    to: usize,
}

/// All numbers with a unit.
fn quantities(text: &str, rounding: Rounding) -> Vec<Quantity> {
    let words: Vec<(usize, &str)> = words(text).take(64).collect();
    let mut found = Vec::new();
    let mut index = 0;
    while let Some((from, word)) = words.get(index).copied() {
        index += 1;
        if !word.starts_with(|c: char| c.is_ascii_digit()) {
            continue;
        }
        let number = word
            .bytes()
            .all(|b| b.is_ascii_digit() || b == b'.' || b == b',');
        let mut to = from + word.len();
        let mut taken = 0;
        if number {
            let Some((at, unit)) = words.get(index).copied() else {
                break;
            };
            (to, taken) = (at + unit.len(), 1);
            // `G octets`
            if unit.chars().count() == 1
                && let Some((at, name)) = words.get(index + 1).copied()
                && number::shown(&format!("1 {name}"), Prefix::Binary, Rounding::Nearest)
                    .is_some_and(|one| one.to().get() == 1)
            {
                (to, taken) = (at + name.len(), 2);
            }
        }
        if let Some(value) = number::shown(&text[from..to], Prefix::Binary, rounding) {
            found.push(Quantity { value, from, to });
            index += taken;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(text: &str) -> (bool, u64, &str, Vec<String>, &str) {
        let row = Row::new(text, 1, Rounding::UpOrNearest).expect(text);
        let quantities = row.quantities.iter().map(ToString::to_string).collect();
        (
            row.selected,
            row.number,
            row.middle.trim(),
            quantities,
            row.after,
        )
    }

    #[test]
    fn rows_of_all_languages_have_one_shape() {
        let kib32 = "31,745 to 33,280 B".to_owned();
        let zero = "0 B".to_owned();
        let (_, number, kind, found, after) =
            row("  Partition 1    Primär              0 B    32 KB");
        assert_eq!(
            (number, kind, found, after),
            (1, "Primär", vec![zero.clone(), kib32.clone()], "")
        );
        let (selected, number, state, found, after) =
            row("* Disque 0    En ligne         32 K octets  0 octets   *    *");
        assert_eq!((selected, number, state), (true, 0, "En ligne"));
        assert_eq!(
            (found, after),
            (vec![kib32.clone(), zero.clone()], "   *    *")
        );
        let (_, number, state, found, _) =
            row("  磁盘 2    联机              32 KB      0B        *");
        assert_eq!(
            (number, state, found),
            (2, "联机", vec![kib32.clone(), zero])
        );
        let (_, _, middle, found, after) =
            row("  Volume 3     B   Data         NTFS   Partition     32 KB  Healthy    Boot");
        assert_eq!(
            (middle, found),
            ("B   Data         NTFS   Partition", vec![kib32])
        );
        assert_eq!(after, "  Healthy    Boot");
    }

    #[test]
    fn other_lines_are_no_rows() {
        for text in [
            "",
            "Disk ###  Status",
            "Disk M0   Missing           0 B      0 B",
            "12 MB",
            "There is no volume associated with this partition.",
            "Partition 1",
        ] {
            assert_eq!(Row::new(text, 1, Rounding::UpOrNearest), None, "{text}");
        }
    }
}
