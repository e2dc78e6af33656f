//! Texts in which every line has a blank one below it, all of them or from a line on: what copies of pages, mails and forms
//! leave of a text whose line ends they counted twice.

/// Fewest lines that stand alone in a row.
const MIN: usize = 3;

/// Where the blank lines are that were added: true for each to be left out.
pub(super) fn added(lines: &[&str]) -> Vec<bool> {
    let mut added = vec![false; lines.len()];
    let filled: Vec<usize> = (0..lines.len())
        .filter(|at| !lines[*at].trim().is_empty())
        .collect();
    // Filled lines from `from` up to `to` stand alone, with blank ones on either side.
    let alone = |index: usize| {
        let at = filled[index];
        let above = index == 0 || filled[index - 1] + 1 < at;
        let below = filled.get(index + 1).is_none_or(|next| at + 1 < *next);
        above && below
    };
    let mut from = 0;
    while from < filled.len() {
        if !alone(from) {
            from += 1;
            continue;
        }
        let mut to = from + 1;
        while to < filled.len() && alone(to) {
            to += 1;
        }
        // The names of the columns may have lines above them that are not far apart, and the last row lines below.
        let text = |index: usize| lines[filled[index]];
        let first = from - usize::from(from > 0 && is_heading(text(from - 1)));
        let is_row = |index: usize| index < filled.len() && is_like(text(index - 1), text(index));
        let last = if is_row(to) { to } else { to - 1 };
        if last + 1 - first >= MIN {
            for index in first..last {
                if label(text(index)).is_some() && label(text(index)) == label(text(index + 1)) {
                    continue;
                }
                let blanks = filled[index] + 1..filled[index + 1];
                let more = blanks.len().div_ceil(2);
                added[blanks]
                    .iter_mut()
                    .take(more)
                    .for_each(|added| *added = true);
            }
        }
        from = to;
    }
    added
}

/// The names of columns: three words or more, and no figures.
fn is_heading(line: &str) -> bool {
    let words = line
        .split([' ', ',', ';', '\t', '|'])
        .filter(|word| !word.is_empty());
    words.take(3).count() == 3
        && !line.bytes().any(|b| b.is_ascii_digit() || b == b'.')
        && !line.trim_end().ends_with(':')
}

/// What stands before the colon of `Key : value`: each object of a list begins with the same.
fn label(line: &str) -> Option<&str> {
    let (key, _) = line.split_once(':')?;
    let key = key.trim();
    (!key.is_empty() && key.len() < 40).then_some(key)
}

/// True for two rows of a table, by their beginnings.
fn is_like(line: &str, other: &str) -> bool {
    let (one, other) = (super::text::beginning(line), super::text::beginning(other));
    one == other && matches!(one.first(), Some('9' | '/' | '├'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn closed(text: &str) -> String {
        let lines: Vec<&str> = text.split('\n').collect();
        let added = added(&lines);
        let left = lines.iter().zip(added).filter(|(_, added)| !added);
        left.map(|(line, _)| *line).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn every_second_line_is_left_out_when_it_is_blank() {
        assert_eq!(closed("a\n\nb\n\n\n\nc\n\nd"), "a\nb\n\nc\nd");
        let table = "Disk: 1\nTable: gpt\n\nNumber  Start  End\n\n 1  2s  3s\n\n 2  4s  5s\n\n";
        assert_eq!(
            closed(table),
            "Disk: 1\nTable: gpt\n\nNumber  Start  End\n 1  2s  3s\n 2  4s  5s\n\n"
        );
        assert_eq!(
            closed("$ lsblk\nNAME START TYPE\n\nsda disk\n\n├─sda1 63 part\n\n└─sda2 64 part\n$ x"),
            "$ lsblk\nNAME START TYPE\nsda disk\n├─sda1 63 part\n└─sda2 64 part\n$ x"
        );
    }

    #[test]
    fn other_blank_lines_stay() {
        for text in [
            "a\nb\n\nc\nd\n\ne\n\nf\ng",
            "Offset : 1\n\nOffset : 2\n\nOffset : 3\n\nOffset : 4",
        ] {
            assert_eq!(closed(text), text);
        }
    }
}
