//! What lines are before they are restored, and what is asked of them.

use std::borrow::Cow;

/// A line, and its number in the file. What is restored has the number of the line that it stood in.
pub(in super::super) type Numbered<'t> = (u64, Cow<'t, str>);

/// The words of a command that stands in a line, from the program on: behind a prompt, `sudo`, or at its beginning. `None` when the
/// line has no such program.
pub(super) fn words_from<'t>(line: &'t str, programs: &[&str]) -> Option<Vec<&'t str>> {
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
pub(super) struct Widths(Vec<usize>);

impl Widths {
    pub(super) fn add(&mut self, cells: &[&str]) {
        for (at, cell) in cells.iter().enumerate() {
            let width = cell.trim().chars().count();
            match self.0.get_mut(at) {
                Some(widest) => *widest = width.max(*widest),
                None => self.0.push(width),
            }
        }
    }

    /// The cells below their columns, two blanks apart.
    pub(super) fn padded(&self, cells: &[&str]) -> String {
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
pub(super) fn is_typed(line: &str) -> bool {
    let text = line.trim_start();
    text.starts_with(['#', '$', '>'])
        || text.starts_with('[') && text.contains('@')
        || text.split(['#', '$']).next().is_some_and(|prompt| {
            prompt.len() < text.len() && prompt.contains('@') && !prompt.contains(' ')
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_stand_behind_prompts() {
        let words = words_from("root@db1:~# sudo /bin/lsblk -n -o NAME | less", &["lsblk"]);
        assert_eq!(words, Some(vec!["/bin/lsblk", "-n", "-o", "NAME"]));
        assert_eq!(words_from("the lsblks of this", &["lsblk"]), None);
    }
}
