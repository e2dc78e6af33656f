//! The table that parted prints for people.

use std::collections::BTreeSet;
use straddle_stack::AnomalyKind;

use super::columns::{columns_of, part};
use super::figures::{figure, triple};
use super::{MAX_PARTITIONS, Partition, text};
use crate::captured::text::Line;
use crate::captured::tool::Notes;

const UNREADABLE: &str = "the row of a partition could not be read";

/// Most lines between two rows: what was broken off the one above, blanks, free space.
const MAX_BETWEEN: usize = 4;

/// The rows of the table in these lines. What mail broke off them stands in lines of its own.
pub(super) fn rows<'t>(
    lines: &[Line<'t>],
    typed: bool,
    notes: &mut Notes<'_>,
) -> Vec<Partition<'t>> {
    let first = lines.iter().position(|line| row(line).is_some());
    // Those above the first that can be read, or all of them.
    let cut = lines.iter().take(first.unwrap_or(lines.len()));
    for line in cut.filter(|line| is_cut_row(line)) {
        notes.remark(AnomalyKind::Truncated, UNREADABLE, line);
    }
    let Some(first) = first else {
        return Vec::new();
    };
    // Free space has rows without a number.
    let begins_with_figure = |line: &Line<'_>| {
        line.text
            .trim_start()
            .starts_with(|c: char| c.is_ascii_digit())
    };
    let mut above = lines[..first]
        .iter()
        .rev()
        .filter(|line| !line.is_blank() && !begins_with_figure(line));
    let mut starts = Vec::new();
    if let Some(names) = above.next() {
        starts = columns_of(names.text);
        // The last names were broken off; what stands below them is not told from
        // what stands below the last one that is left, and neither is read.
        if starts.len() < 4
            && let Some(names) = above.next().map(|line| columns_of(line.text))
            && names.len() >= 4
        {
            let last = names.last().copied();
            starts = names;
            starts.extend(last.into_iter().chain(last));
        }
    }
    let mut found: Vec<Partition<'t>> = Vec::new();
    let mut numbers = BTreeSet::new();
    let mut between = 0;
    for line in &lines[first..] {
        let Some(words) = row(line) else {
            let mut words = line.text.split_whitespace();
            let number = words.next();
            // What has two places or lengths is a row, whatever stands before them.
            let figures = words.filter(|word| word.len() > 1 && figure(word, 512).is_some());
            let is_marked = !begins_with_figure(line) && figures.count() > 1;
            if is_marked || number.is_some_and(|word| word.parse::<u64>().is_ok()) {
                notes.remark(AnomalyKind::Truncated, UNREADABLE, line);
            } else if !begins_with_figure(line) {
                between += 1;
            }
            continue;
        };
        if between > MAX_BETWEEN || between > 0 && numbers.contains(words[0]) {
            let detail = "rows of another table, without the lines above them, were not read";
            notes.remark(AnomalyKind::Missing, detail, line);
            break;
        }
        between = 0;
        if found.len() < MAX_PARTITIONS {
            numbers.insert(words[0]);
            found.push(partition(line, &words, &starts, typed));
        }
    }
    found
}

/// True for a number, and a place or a length, where the rest of a row is missing. Above the first row stands what is no table,
/// so that a number alone says nothing there.
fn is_cut_row(line: &Line<'_>) -> bool {
    let mut words = line.text.split_whitespace();
    let number = words.next().and_then(|word| word.parse::<u64>().ok());
    let is_place = |word: &str| word.len() > 1 && figure(word, 512).is_some();
    number.is_some() && words.next().is_some_and(is_place)
}

/// Number, start, end and size, where a line begins with these. The size is empty where none is printed.
pub(super) fn row<'t>(line: &Line<'t>) -> Option<[&'t str; 4]> {
    let mut words = line.text.split_whitespace();
    let [number, start, end] = [words.next()?, words.next()?, words.next()?];
    let _: u64 = number.parse().ok()?;
    // Places by cylinder, head and sector have no length behind them.
    if triple(start).is_some() && triple(end).is_some() {
        return Some([number, start, end, ""]);
    }
    let row = [number, start, end, words.next()?];
    row[1..]
        .iter()
        .all(|word| figure(word, 512).is_some())
        .then_some(row)
}

fn partition<'t>(
    line: &Line<'t>,
    words: &[&str; 4],
    starts: &[usize],
    typed: bool,
) -> Partition<'t> {
    let no_size = usize::from(words[3].is_empty());
    let cell = |index: usize| {
        let index = index - no_size;
        let from = *starts.get(index)?;
        let to = starts.get(index + 1).copied().unwrap_or(usize::MAX);
        text(&part(line.text, from, to), line)
    };
    let kind = if typed { cell(4) } else { None };
    Partition {
        number: words[0].parse().unwrap_or(0),
        start: text(words[1], line),
        end: text(words[2], line),
        size: text(words[3], line),
        filesystem: cell(if typed { 5 } else { 4 }),
        name: if typed { None } else { cell(5) },
        flags: cell(6),
        // Translations of parted's three words begin alike.
        extended: kind.is_some_and(|(kind, _)| {
            let lower = kind.to_lowercase();
            ["ext", "erw", "éten", "est", "roz", "拡張", "扩展", "расш"]
                .iter()
                .any(|start| lower.starts_with(start))
        }),
        ..Partition::default()
    }
}
