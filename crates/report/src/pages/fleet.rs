//! Many targets: what was found how often, the worst against the rules, and every one of them in a row.

use std::collections::BTreeMap;

use super::block::{Block, Fleet, FleetRows, Section, Table};
use super::check::{Target, grade, thousandths};
use super::measure::Measure;
use crate::bench::wording::percent;
use straddle_geometry::Bytes;

/// Targets that can be read without scripts.
const READABLE: usize = 1000;
/// Targets and rules of the heat map.
const HOT: usize = 40;
const RULES: usize = 24;

/// A row for each target.
#[derive(Default)]
pub(super) struct Rows {
    rows: Vec<Row>,
    codes: Vec<String>,
    /// By rule: severity of its worst finding, targets, findings.
    rules: BTreeMap<String, (u8, usize, usize)>,
    unchecked: usize,
}

struct Row {
    name: String,
    severity: u8,
    /// Of the worst finding: an index into the codes.
    code: Option<usize>,
    /// Thousandths.
    cost: u64,
    /// Errors, warnings, notes.
    counts: [usize; 3],
    /// Each rule that found something, with its worst severity. Short lists: what a target has.
    found: Vec<(usize, u8)>,
    checked: bool,
}

impl Rows {
    /// Of how many nothing was checked.
    pub(super) fn unchecked(&self) -> usize {
        self.unchecked
    }

    pub(super) fn count(&self) -> usize {
        self.rows.len()
    }

    /// What the worst finding on each target costs.
    #[expect(clippy::cast_precision_loss, reason = "thousandths of a price")]
    pub(super) fn measures(&self) -> Vec<Measure> {
        let with = self.rows.iter().filter(|row| row.severity > 0);
        let measure = |row: &Row| {
            let (what, price) = (row.name.clone(), row.cost as f64 / 1000.0);
            Measure::share(what, "extra operations for each, worst finding", price)
        };
        with.map(measure).collect()
    }

    pub(super) fn add(&mut self, target: &Target) {
        let mut found: Vec<(usize, u8)> = Vec::new();
        let mut worst: Option<(u8, u64, usize)> = None;
        for finding in &target.findings {
            let code = self.code(&finding.code);
            let severity = grade(&finding.severity);
            let is_first = !found.iter().any(|(other, _)| *other == code);
            match found.iter_mut().find(|(other, _)| *other == code) {
                Some((_, most)) => *most = severity.max(*most),
                None => found.push((code, severity)),
            }
            let rule = self.rules.entry(finding.code.clone()).or_default();
            rule.0 = rule.0.max(severity);
            rule.1 += usize::from(is_first);
            rule.2 += 1;
            let this = (severity, thousandths(finding.worst_price()), code);
            if worst.is_none_or(|(s, cost, _)| (s, cost) < (this.0, this.1)) {
                worst = Some(this);
            }
        }
        let checked = !target.coverage_is_nothing();
        self.unchecked += usize::from(!checked);
        self.rows.push(Row {
            name: target.target.clone(),
            severity: worst.map_or(0, |w| w.0),
            code: worst.map(|w| w.2),
            cost: worst.map_or(0, |w| w.1),
            counts: target.counts(),
            found,
            checked,
        });
    }

    fn code(&mut self, code: &str) -> usize {
        match self.codes.iter().position(|other| other == code) {
            Some(at) => at,
            None => {
                self.codes.push(code.to_owned());
                self.codes.len() - 1
            }
        }
    }
}

const SEVERITIES: [&str; 4] = ["", "note", "warning", "error"];

fn severity(grade: u8) -> &'static str {
    SEVERITIES
        .get(usize::from(grade))
        .copied()
        .unwrap_or_default()
}

pub(super) fn count(number: usize) -> String {
    Bytes::new(u64::try_from(number).unwrap_or(u64::MAX))
        .grouped()
        .to_string()
}

/// What all names begin with, up to the last sign between folders: the same on every row, it hides what tells them apart.
fn folder(rows: &[Row]) -> &str {
    let Some((first, others)) = rows.split_first().filter(|(_, others)| !others.is_empty()) else {
        return "";
    };
    let common = |a: &str, b: &str| a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    let len = others
        .iter()
        .map(|row| common(&first.name, &row.name))
        .min();
    let ends = first
        .name
        .char_indices()
        .filter(|(_, c)| matches!(c, '/' | '\\'));
    let ends = ends.map(|(at, _)| at + 1);
    let end = ends
        .take_while(|end| len.is_some_and(|len| *end <= len))
        .fold(0, |_, end| end);
    &first.name[..end]
}

/// The section of a fleet; `shown` of its targets follow whole.
pub(super) fn fleet(mut of: Rows, shown: usize) -> Section {
    of.rows.sort_by(|a, b| {
        let key = |row: &Row| (row.severity, row.cost, !row.checked);
        key(b).cmp(&key(a)).then_with(|| a.name.cmp(&b.name))
    });
    let all = of.rows.len();
    let with = |grade: u8| of.rows.iter().filter(|row| row.severity == grade).count();
    let mut section = Section::new("check", format!("{} targets", count(all)));
    let mut parts: Vec<String> = [
        (with(3), "with errors"),
        (with(2), "with warnings"),
        (with(1), "with notes only"),
        (with(0), "without a finding"),
    ]
    .into_iter()
    .filter(|(targets, _)| *targets > 0)
    .map(|(targets, what)| format!("{} {what}", count(targets)))
    .collect();
    if parts.is_empty() {
        parts.push("no target".to_owned());
    }
    section.answer = parts.join(", ");
    if of.unchecked > 0 {
        let unchecked = count(of.unchecked);
        section.answer += &format!("; of {unchecked} nothing was checked, which is no pass");
    }
    section.answer.push('.');
    section.tone = match (with(3) + with(2), of.unchecked) {
        (0, 0) => "good",
        (0, _) => "open",
        _ => "bad",
    };
    let folder = folder(&of.rows).to_owned();
    if !folder.is_empty() {
        for row in &mut of.rows {
            row.name.drain(..folder.len());
        }
        section.text(format!("All of them are in {folder}"));
    }
    if shown < all {
        section.text(format!("The {shown} worst follow one by one below."));
    }
    let mut rules: Vec<(String, (u8, usize, usize))> = of.rules.into_iter().collect();
    rules.sort_by(|a, b| (b.1.0, b.1.1, &a.0).cmp(&(a.1.0, a.1.1, &b.0)));
    let columns: Vec<usize> = rules
        .iter()
        .take(RULES)
        .filter_map(|(code, _)| of.codes.iter().position(|other| other == code))
        .collect();
    let heat = of
        .rows
        .iter()
        .filter(|row| row.severity > 0)
        .take(HOT)
        .map(|row| {
            let at = |column: &usize| {
                let found = row.found.iter().find(|(code, _)| code == column);
                severity(found.map_or(0, |(_, grade)| *grade)).to_owned()
            };
            (row.name.clone(), columns.iter().map(at).collect())
        });
    let heat = heat.collect();
    let mut worst = Table::new(
        if all > READABLE {
            format!("The {READABLE} worst of {} targets", count(all))
        } else {
            "All targets, worst first".to_owned()
        },
        &[
            "target",
            "worst",
            "rule",
            ">extra operations",
            ">errors",
            ">warnings",
            ">notes",
        ],
    );
    for row in of.rows.iter().take(READABLE) {
        let code = row.code.and_then(|code| of.codes.get(code));
        worst.row([
            row.name.clone(),
            match (row.severity, row.checked) {
                (0, false) => "nothing checked".to_owned(),
                (0, true) => "no finding".to_owned(),
                (grade, _) => severity(grade).to_owned(),
            },
            code.cloned().unwrap_or_default(),
            price(row.cost),
            row.counts[0].to_string(),
            row.counts[1].to_string(),
            row.counts[2].to_string(),
        ]);
    }
    let rows = (all > READABLE).then(|| FleetRows {
        folder,
        codes: of.codes.clone(),
        names: of.rows.iter().map(|row| row.name.clone()).collect(),
        severity: of.rows.iter().map(|row| row.severity).collect(),
        code: of
            .rows
            .iter()
            .map(|row| {
                row.code
                    .map_or(-1, |code| i32::try_from(code).unwrap_or(-1))
            })
            .collect(),
        cost: of.rows.iter().map(|row| row.cost).collect(),
        findings: of.rows.iter().map(|row| row.counts.iter().sum()).collect(),
    });
    section.blocks.push(Block::Fleet(Box::new(Fleet {
        count: all,
        rules: rules
            .into_iter()
            .map(|(code, (grade, targets, findings))| {
                (code, severity(grade).to_owned(), targets, findings)
            })
            .collect(),
        heat,
        worst,
        all: rows,
    })));
    section
}

/// `+300%`, nothing where it costs nothing.
#[expect(
    clippy::cast_precision_loss,
    reason = "thousandths, of which three digits are shown"
)]
fn price(thousandths: u64) -> String {
    match thousandths {
        0 => String::new(),
        n => format!("+{}", percent(n as f64 / 1000.0, 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_folders_are_left_out_of_names() {
        for (names, expected) in [
            (vec!["/data/a/host1.txt", "/data/a/host2.txt"], "/data/a/"),
            (vec!["/data/ab/x", "/data/ac/x"], "/data/"),
            (vec![r"C:\hosts\db1.txt", r"C:\hosts\db2.txt"], r"C:\hosts\"),
            (vec!["/datä/x", "/datö/x"], "/"),
            (vec!["db1", "db2"], ""),
            (vec!["/data/host1.txt"], ""),
        ] {
            let row = |name: &&str| Row {
                name: (*name).to_owned(),
                severity: 0,
                code: None,
                cost: 0,
                counts: [0; 3],
                found: Vec::new(),
                checked: true,
            };
            let rows: Vec<Row> = names.iter().map(row).collect();
            assert_eq!(folder(&rows), expected, "{names:?}");
        }
    }
}
