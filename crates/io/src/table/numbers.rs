use super::digits::digits;
use super::places::LINE_BREAK;
#[cfg(target_arch = "x86_64")]
use super::wide::{self, Level};

/// Rows of more columns are read one by one by whoever asks.
pub(super) const MAX_COLUMNS: usize = 8;

/// Which three columns of a table are whole numbers.
#[derive(Clone, Copy, Debug)]
pub struct Numbers {
    pub(super) count: usize,
    pub(super) columns: [usize; 3],
}

impl Numbers {
    /// Three of `count` columns, one of which may be asked for more than once. `None` when there are too many for rows to be read together.
    #[must_use]
    pub fn of(count: usize, columns: [usize; 3]) -> Option<Numbers> {
        let is_possible =
            (1..=MAX_COLUMNS).contains(&count) && columns.iter().all(|column| *column < count);
        is_possible.then_some(Numbers { count, columns })
    }

    /// Reads the numbers of rows as they should be, the first of which begins at byte `begin` of the text. `ends` are the places of their
    /// separators and line breaks. How many rows were read comes back: the next one lacks a column or has one more, has anything but
    /// digits in one of these columns, is unusually long, or stands near the end; or `out` is full.
    #[cfg_attr(target_arch = "x86_64", allow(unsafe_code))]
    pub fn read(&self, text: &[u8], begin: usize, ends: &[u32], out: &mut [[u64; 3]]) -> usize {
        #[cfg(target_arch = "x86_64")]
        if Level::of_this_processor() == Some(Level::Packing) {
            // SAFETY: the processor has the instructions that the function is compiled for, as was just asked.
            return unsafe { wide::numbers(text, begin, ends, self, out) };
        }
        self.one_by_one(text, begin, ends, out)
    }

    fn one_by_one(&self, text: &[u8], begin: usize, ends: &[u32], out: &mut [[u64; 3]]) -> usize {
        let mut begin = begin;
        let rows = ends.chunks_exact(self.count);
        for (row, (ends, out)) in rows.zip(&mut *out).enumerate() {
            let Some((last, others)) = ends.split_last() else {
                return row;
            };
            let is_row =
                *last >= LINE_BREAK && others.iter().fold(0, |all, place| all | place) < LINE_BREAK;
            let number = |column: usize| {
                let from = column.checked_sub(1).and_then(|before| ends.get(before));
                let from = from.map_or(begin, |before| *before as usize + 1);
                digits(
                    text,
                    from,
                    ends.get(column)
                        .map_or(from, |end| (end & !LINE_BREAK) as usize),
                )
            };
            let [a, b, c] = self.columns.map(number);
            let (true, Some(a), Some(b), Some(c)) = (is_row, a, b, c) else {
                return row;
            };
            *out = [a, b, c];
            begin = (last & !LINE_BREAK) as usize + 1;
        }
        out.len().min(ends.len() / self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::places::{places, room};
    use proptest::prelude::*;

    /// What rows from the first on are, as the parser of the standard library says, up to the first that is none.
    fn expected(text: &str, numbers: &Numbers) -> Vec<[u64; 3]> {
        let whole = |cell: &str| match cell.starts_with('+') {
            true => None,
            false => cell.parse::<u64>().ok(),
        };
        let rows = text.split_inclusive('\n').map_while(|row| {
            let cells: Vec<&str> = row.strip_suffix('\n')?.split(',').collect();
            let [a, b, c] = numbers.columns.map(|column| whole(cells.get(column)?));
            (cells.len() == numbers.count).then_some([a?, b?, c?])
        });
        rows.collect()
    }

    type Way = fn(&Numbers, &[u8], &[u32], &mut [[u64; 3]]) -> usize;

    /// Every way that this processor has.
    #[cfg_attr(target_arch = "x86_64", allow(unsafe_code))]
    fn ways() -> Vec<Way> {
        let mut ways: Vec<Way> = vec![
            |numbers, text, ends, out| numbers.read(text, 0, ends, out),
            |numbers, text, ends, out| numbers.one_by_one(text, 0, ends, out),
        ];
        #[cfg(target_arch = "x86_64")]
        if Level::of_this_processor() == Some(Level::Packing) {
            // SAFETY: the processor has the instructions, as was just asked.
            ways.push(|numbers, text, ends, out| unsafe {
                wide::numbers(text, 0, ends, numbers, out)
            });
        }
        ways
    }

    fn found(way: Way, text: &str, numbers: &Numbers) -> Vec<[u64; 3]> {
        let mut ends = vec![0; room(text.len())];
        let count = places(text.as_bytes(), 0, text.len(), b',', &mut ends);
        let mut out = vec![[0; 3]; text.len()];
        let rows = way(numbers, text.as_bytes(), &ends[..count], &mut out);
        out.truncate(rows);
        out
    }

    proptest! {
        /// Cells of any length, digits mostly; rows with a cell more or less; the last one without an end.
        #[test]
        fn rows_are_what_the_parser_says_in_every_way(
            rows in proptest::collection::vec(proptest::collection::vec("[0-9]{1,20}|[0-9]{0,22}|[0-9]{0,9}[ -+./:-~][0-9]{0,9}", 3..=5), 0..12),
            columns in proptest::array::uniform3(0_usize..4),
            is_whole: bool,
        ) {
            let numbers = Numbers::of(4, columns).expect("few columns");
            let rows: Vec<String> = rows.iter().map(|cells| cells.join(",")).collect();
            let text = rows.join("\n") + if is_whole { "\n" } else { "" };
            let expected = expected(&text, &numbers);
            for way in ways() {
                let found = found(way, &text, &numbers);
                prop_assert!(expected.starts_with(&found), "{text:?}: {found:?}");
            }
        }

        #[test]
        fn rows_as_they_should_be_are_all_read_in_every_way(
            rows in proptest::collection::vec((0_u64..1_000_000_000_000_000_000, 0_u64..1_000_000_000_000_000, any::<u32>(), "[a-z]{1,8}"), 0..300),
        ) {
            let numbers = Numbers::of(4, [0, 2, 3]).expect("few columns");
            let lines = rows.iter().map(|(a, b, c, name)| format!("{a},{name},{b},{c}\n"));
            // Rows near the end of the text are left.
            let text = lines.collect::<String>() + &"x".repeat(64);
            let expected: Vec<[u64; 3]> = rows.iter().map(|(a, b, c, _)| [*a, *b, u64::from(*c)]).collect();
            for way in ways() {
                let found = found(way, &text, &numbers);
                prop_assert!(expected.starts_with(&found));
                prop_assert!(found.len() + 1 >= expected.len(), "{} of {}", found.len(), expected.len());
            }
        }
    }

    #[test]
    fn the_largest_numbers_are_exact_or_left() {
        let numbers = Numbers::of(3, [0, 1, 2]).expect("few columns");
        for (text, is_read) in [
            ("18446744073709551615,0,1\n", false),
            ("18446744073709551616,0,1\n", false),
            ("9999999999999999999,9999999999999999,1\n", true),
            ("1,99999999999999999,1\n", false),
            ("1,,1\n", false),
            ("1,2,\n", false),
            (",2,3\n", false),
            ("1,2,3\r\n", false),
        ] {
            // Rows near the end of the text are left.
            let text = format!("{text}{:>70}\n7,8,9\n", "7,8,9");
            for way in ways() {
                let found = found(way, &text, &numbers);
                assert!(expected(&text, &numbers).starts_with(&found), "{text}");
                assert!(!is_read || !found.is_empty(), "{text}");
            }
        }
    }

    #[test]
    fn there_are_columns_to_read() {
        for (count, columns) in [(0, [0; 3]), (9, [0; 3]), (4, [0, 1, 4])] {
            assert!(Numbers::of(count, columns).is_none());
        }
    }
}
