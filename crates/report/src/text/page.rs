//! Pages of rules and folklore, for `explain`.

use std::fmt::Write;

use straddle_rules::search::Topic;
use straddle_rules::{FOLKLORE, Folklore, RULES, Rule};

use super::style::{STRONG, paint};

/// Width of prose on a terminal.
const WIDTH: usize = 88;

/// The page of a rule.
#[must_use]
pub fn rule_page(rule: &Rule) -> String {
    let mut out = format!(
        "{}\n",
        paint(STRONG, format!("{}: {}", rule.code, rule.summary))
    );
    for (heading, text) in rule.page.sections() {
        section(&mut out, heading, text);
    }
    references(&mut out, rule.page.references);
    out
}

/// A page about a belief.
#[must_use]
pub fn folklore(page: &Folklore) -> String {
    let mut out = format!("{}\n", paint(STRONG, format!("\"{}\"", page.belief)));
    section(&mut out, "What is true of it", page.truth);
    references(&mut out, page.references);
    out
}

/// The page of a rule or about a belief.
#[must_use]
pub fn topic(topic: Topic) -> String {
    match topic {
        Topic::Rule(rule) => rule_page(rule),
        Topic::Folklore(page) => folklore(page),
    }
}

/// Pages to choose from, a line each, and how to see the first of them.
#[must_use]
pub fn topics(topics: &[Topic]) -> String {
    let keys: Vec<String> = topics.iter().map(|topic| topic.key()).collect();
    let width = keys.iter().map(String::len).max().unwrap_or(0);
    let mut out = String::new();
    for (key, topic) in keys.iter().zip(topics) {
        let key = paint(STRONG, format!("{key:<width$}"));
        let _ = writeln!(out, "{key}  {}", topic.summary());
    }
    if let Some(first) = keys.first() {
        let _ = writeln!(out, "\nmore: straddle explain {first}");
    }
    out
}

/// All codes and pages, a line each.
#[must_use]
pub fn rule_list() -> String {
    let mut out = String::new();
    for rule in RULES {
        let _ = writeln!(out, "{}  {}", paint(STRONG, rule.code), rule.summary);
    }
    let _ = writeln!(out, "\nBeliefs, and what is true of them:");
    for page in FOLKLORE {
        let _ = writeln!(
            out,
            "{}  {}",
            paint(STRONG, format!("{:<11}", page.name)),
            page.belief
        );
    }
    out
}

fn section(out: &mut String, heading: &str, text: &str) {
    let _ = writeln!(out, "\n{}", paint(STRONG, heading));
    for (index, paragraph) in text.split("\n\n").enumerate() {
        if index > 0 {
            out.push('\n');
        }
        wrap(out, paragraph, "  ");
    }
}

fn references(out: &mut String, references: &[&str]) {
    let _ = writeln!(out, "\n{}", paint(STRONG, "References"));
    for reference in references {
        let _ = writeln!(out, "  - {reference}");
    }
}

/// Writes `text` in lines of at most [`WIDTH`] characters, each behind `indent`.
fn wrap(out: &mut String, text: &str, indent: &str) {
    for line in folded(text, WIDTH - indent.len()) {
        out.push_str(indent);
        out.push_str(&line);
        out.push('\n');
    }
}

/// `text` cut between words into lines of at most `width` characters. A longer word gets a line of its own.
pub(crate) fn folded(text: &str, width: usize) -> Vec<String> {
    joined(text.split_whitespace(), " ", width)
}

/// Items with `between` them, in lines of at most `width` characters. A longer item gets a line of its own.
pub(super) fn joined<'i>(
    items: impl IntoIterator<Item = &'i str>,
    between: &str,
    width: usize,
) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut column = 0;
    for item in items {
        let len = item.chars().count();
        match lines.last_mut() {
            Some(line) if column + between.len() + len <= width => {
                line.push_str(between);
                line.push_str(item);
                column += between.len() + len;
            }
            _ => {
                lines.push(item.to_owned());
                column = len;
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_wrapped_and_nothing_is_lost() {
        let words: Vec<String> = (0..200).map(|n| "x".repeat(n % 13 + 1)).collect();
        let mut out = String::new();
        wrap(&mut out, &words.join(" "), "  ");
        assert!(
            out.lines()
                .all(|line| line.chars().count() <= WIDTH && line.starts_with("  "))
        );
        assert_eq!(out.split_whitespace().collect::<Vec<_>>(), words);
    }

    #[test]
    fn every_page_has_its_headings_and_fits_a_screen() {
        for rule in RULES {
            let page = rule_page(rule);
            let lines = page.lines().count();
            assert!(lines <= 50, "{}: {lines} lines", rule.code);
            for (heading, _) in rule.page.sections() {
                assert!(page.contains(heading), "{}: {heading}", rule.code);
            }
        }
    }
}
