//! Lines as the tools printed them, where something on their way took them apart: a page put them into the cells of a table,
//! `cat` and `tail` apart from the names of their files, `-n` apart from the names of their columns, or somebody marked a row.

mod cells;
mod files;
mod marks;
mod names;

use std::borrow::Cow;

/// A line, and its number in the file. What is restored has the number of the line that it stood in.
pub(super) type Numbered<'t> = (u64, Cow<'t, str>);

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

/// The words of a command that stands in a line, from the program on: behind a prompt, `sudo`, or at its beginning. `None` when the
/// line has no such program.
fn words_from<'t>(line: &'t str, programs: &[&str]) -> Option<Vec<&'t str>> {
    if !programs.iter().any(|program| line.contains(program)) {
        return None;
    }
    let ends = |word: &&str| {
        !matches!(
            *word,
            "|" | "||" | "&&" | ";" | ">" | "2>&1" | "2>/dev/null"
        )
    };
    let mut words = line.split_whitespace().peekable();
    while let Some(word) = words.peek() {
        let name = word.rsplit('/').next().unwrap_or(word);
        if programs.contains(&name) {
            return Some(words.take_while(ends).collect());
        }
        words.next();
    }
    None
}

/// How wide the columns of a table are.
#[derive(Default)]
struct Widths(Vec<usize>);

impl Widths {
    fn add(&mut self, cells: &[&str]) {
        for (at, cell) in cells.iter().enumerate() {
            let width = cell.trim().chars().count();
            match self.0.get_mut(at) {
                Some(widest) => *widest = width.max(*widest),
                None => self.0.push(width),
            }
        }
    }

    /// The cells below their columns, two blanks apart.
    fn padded(&self, cells: &[&str]) -> String {
        let mut text = String::new();
        for (cell, width) in cells.iter().zip(&self.0) {
            let cell = cell.trim();
            text.push_str(cell);
            text.extend(std::iter::repeat_n(' ', width + 2 - cell.chars().count()));
        }
        text.truncate(text.trim_end().len());
        text
    }
}

/// True for a line that somebody typed: it ends one output.
fn is_typed(line: &str) -> bool {
    let text = line.trim_start();
    text.starts_with(['#', '$', '>'])
        || text.starts_with('[') && text.contains('@')
        || text.split(['#', '$']).next().is_some_and(|prompt| {
            prompt.len() < text.len() && prompt.contains('@') && !prompt.contains(' ')
        })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

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

    #[test]
    fn programs_stand_behind_prompts() {
        let words = words_from("root@db1:~# sudo /bin/lsblk -n -o NAME | less", &["lsblk"]);
        assert_eq!(words, Some(vec!["/bin/lsblk", "-n", "-o", "NAME"]));
        assert_eq!(words_from("the lsblks of this", &["lsblk"]), None);
    }
}
