//! Lines as the tools printed them, where something on their way took them apart: a page put them into the cells of a table,
//! `cat` and `tail` apart from the names of their files, `-n` apart from the names of their columns, or somebody marked a row.

mod cells;
mod files;
mod lines;
mod marks;
mod names;

use lines::Numbered;

/// True where one of these lines tells of something that was taken apart.
pub(super) fn is_needed(lines: &[&str]) -> bool {
    lines.iter().any(|line| {
        cells::is_heading(line)
            || line.contains("/sys/")
            || names::is_asked(line)
            || marks::unmarked(line).is_some()
    })
}

/// The lines as they were printed. Those in which nothing was taken apart stay what they are.
pub(super) fn restored(lines: Vec<Numbered<'_>>) -> Vec<Numbered<'_>> {
    let lines = cells::aligned(lines);
    let lines = marks::taken_off(lines);
    let lines = files::joined(lines);
    names::added(lines)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::borrow::Cow;

    pub(in super::super) fn numbered(text: &str) -> Vec<Numbered<'_>> {
        (1..).zip(text.split('\n').map(Cow::Borrowed)).collect()
    }

    /// The lines with their numbers, as one text.
    pub(in super::super) fn shown(lines: &[Numbered<'_>]) -> String {
        let lines: Vec<String> = lines
            .iter()
            .map(|(number, line)| format!("{number} {line}"))
            .collect();
        lines.join("\n")
    }

    #[test]
    fn what_was_not_taken_apart_stays() {
        for text in [
            "NAME START\nsda 63\n\n| a | b |\n$ cat /etc/fstab\n# x\n==> x <==\n",
            "{\"stdout\": 1}\nDevice  Start\n/dev/sda1 63 4 2 1K\n",
        ] {
            let before = numbered(text);
            assert_eq!(restored(before.clone()), before, "{text}");
        }
    }
}
