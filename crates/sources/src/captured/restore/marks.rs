//! Marks that somebody put at the row that a question is about, and what put itself before it: bullets, arrows, backticks, links, names
//! of files. A row is known by its own shape, so whatever stands before that goes.
//!
//! ```text
//! - /dev/sda2       2099201 209715199 …        `/dev/sda2  2099201 209715199 …`
//! [/dev/sda2](file:///dev/sda2)  2099201 …     | /dev/sda2 | 2099201 | 209715199 | …
//! web2.txt:/dev/sda1  *  63  208844 …          >  2   411649   7814037134 …
//! ```

use std::borrow::Cow;

use super::lines::Numbered;
use crate::captured::number;

/// Longest that is taken for a mark.
const MAX_LEN: usize = 80;
/// Figures that a row of fdisk has behind its node.
const FIGURES: usize = 3;
/// What people point at a row of numbers with. A bullet is a part of some tools' tables.
const ARROWS: [&str; 9] = ["-->", "->", "==>", "=>", ">>", ">", "→", "»", "!"];

/// The lines without marks.
pub(super) fn taken_off(lines: Vec<Numbered<'_>>) -> Vec<Numbered<'_>> {
    let each = lines.into_iter().map(|(number, line)| {
        let bare = unmarked(&line);
        (number, bare.map_or(line, Cow::Owned))
    });
    each.collect()
}

/// The line without its mark; `None` where it has none.
pub(super) fn unmarked(line: &str) -> Option<String> {
    device_row(line).or_else(|| numbered_row(line))
}

/// `/dev/sda2 * 63 208844 104391 …` behind something else.
fn device_row(line: &str) -> Option<String> {
    let at = line.find("/dev/")?;
    let (before, rest) = line.split_at(at);
    // What a diff took away counts no more; strings of JSON and YAML are read as such.
    let is_string = before.ends_with(['"', '\'']);
    if before.trim().is_empty() || before == "-" || is_string || before.len() > MAX_LEN {
        return None;
    }
    let end = rest.find(|c: char| c.is_whitespace() || "]()<>`|".contains(c))?;
    let (node, behind) = rest.split_at(end);
    if !node.ends_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let behind = match behind.strip_prefix("](") {
        Some(link) => link.split_once(')')?.1,
        None => behind.trim_start_matches(['`', '>', ']', ')']),
    };
    let behind = behind.replace('|', " ");
    let behind = behind.trim_end().trim_end_matches('`');
    let words = behind
        .split_whitespace()
        .skip_while(|word| matches!(*word, "*" | "?"));
    let figures = words
        .take(FIGURES)
        .filter(|word| number::whole(word.trim_end_matches(['+', '-'])).is_some());
    (figures.count() == FIGURES).then(|| format!("{node} {}", behind.trim_start()))
}

/// `> 2  411649  7814037134`: the mark becomes blanks, so that all stays below its column.
fn numbered_row(line: &str) -> Option<String> {
    let text = line.trim_start();
    let mark = ARROWS.iter().find(|mark| text.starts_with(**mark))?;
    let rest = &text[mark.len()..];
    let mut words = rest.split_whitespace();
    let _: u32 = words.next()?.parse().ok()?;
    let is_figure = |word: &str| word.starts_with(|c: char| c.is_ascii_digit());
    let are_figures = words.next().is_some_and(is_figure) && words.next().is_some_and(is_figure);
    let blanks = line.chars().count() - rest.chars().count();
    are_figures.then(|| format!("{}{rest}", " ".repeat(blanks)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_known_by_its_shape() {
        let row = "/dev/sda2 2099201 209715199 207615999  99G 83 Linux";
        let rest = "2099201 209715199 207615999  99G 83 Linux";
        for line in [
            format!("- /dev/sda2  {rest}"),
            format!("`/dev/sda2  {rest}`"),
            format!("[/dev/sda2](file:///dev/sda2)  {rest}"),
            format!("</dev/sda2> {rest}"),
            format!("8:/dev/sda2 {rest}"),
            format!("web2.txt:/dev/sda2 {rest}"),
            format!("20210504-184347 DBG 4435: /dev/sda2  {rest}"),
            format!("+/dev/sda2 {rest}"),
        ] {
            assert_eq!(unmarked(&line).as_deref(), Some(row), "{line}");
        }
        let cells = "| /dev/sda2 | | 2099201 | 209715199 | 207615999 |";
        let words: Vec<String> = unmarked(cells)
            .unwrap_or_default()
            .split_whitespace()
            .map(str::to_owned)
            .collect();
        assert_eq!(words, ["/dev/sda2", "2099201", "209715199", "207615999"]);
        assert_eq!(
            unmarked("> /dev/sda1 * 63 208844 104391 83 Linux").as_deref(),
            Some("/dev/sda1 * 63 208844 104391 83 Linux")
        );
        assert_eq!(
            unmarked(">2      1050625s   976773134s").as_deref(),
            Some(" 2      1050625s   976773134s")
        );
        assert_eq!(
            unmarked("  → 2  411649  7814037134").as_deref(),
            Some("    2  411649  7814037134")
        );
    }

    #[test]
    fn what_is_no_row_keeps_what_stands_before_it() {
        for line in [
            "/dev/sda2  2099201 209715199 207615999",
            "  /dev/sda2  2099201 209715199 207615999",
            "-/dev/sda2  2099201 209715199 207615999",
            "Disk /dev/sda: 100 GiB, 107374182400 bytes",
            "rw   256   512  4096   63   106896384   /dev/sda1",
            "$ dd if=/dev/sda1 of=x bs=1 count=2 skip=3",
            "> select disk 1",
            "  \"/dev/sdb1  63 3907024064 3907024002  1.8T 83 Linux\"",
            "* 1 2048 4096",
            "-   0  0  1  removed",
        ] {
            assert_eq!(unmarked(line), None, "{line}");
        }
    }
}
