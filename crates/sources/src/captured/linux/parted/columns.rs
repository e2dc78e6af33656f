//! Columns of a table as a terminal shows them.

use crate::captured::width::width;

/// Where the columns of a table begin, two blanks or more between them.
pub(super) fn columns_of(text: &str) -> Vec<usize> {
    let mut starts = Vec::new();
    let (mut at, mut blanks) = (0, 2);
    for c in text.chars() {
        if c == ' ' {
            blanks += 1;
        } else {
            if blanks >= 2 {
                starts.push(at);
            }
            blanks = 0;
        }
        at += width(c);
    }
    starts
}

/// The characters from one column up to another.
pub(super) fn part(text: &str, from: usize, to: usize) -> String {
    let mut at = 0;
    let mut found = String::new();
    for c in text.chars() {
        if (from..to).contains(&at) {
            found.push(c);
        }
        at += width(c);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_as_a_terminal_shows_them() {
        let starts = columns_of("番号  開始    終了    サイズ  ファイルシステム  名前  フラグ");
        assert_eq!(starts, [0, 6, 14, 22, 30, 48, 54]);
        let row = " 2    2560kB  13.0MB  10.5MB  xfs               data  lvm";
        assert_eq!(part(row, starts[5], starts[6]).trim(), "data");
    }
}
