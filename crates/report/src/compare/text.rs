//! A comparison for people: as text, and as a section of a page.

use std::fmt::Write;

use super::{Change, Comparison, Proven};
use crate::bench::wording::{percent, rate_text};
use crate::escape::terminal;
use crate::pages::{Scale, Section, Table};
use crate::text::page::folded;
use crate::text::style::{ERROR, FAINT, GOOD, STRONG, paint};
use crate::text::table::{Cell, Column, render};
use crate::utc::when;

/// The comparison for people.
#[must_use]
pub fn text(comparison: &Comparison, width: usize) -> String {
    let mut out = String::new();
    for (name, side) in [
        ("earlier", &comparison.earlier),
        ("later", &comparison.later),
    ] {
        let machine = side
            .machine
            .as_deref()
            .filter(|machine| !machine.is_empty());
        let machine = machine
            .map(|machine| format!(" on {machine}"))
            .unwrap_or_default();
        let line = format!(
            "{}, {}{machine}: {}",
            side.name,
            when(side.began_unix_seconds),
            side.target
        );
        let _ = writeln!(
            out,
            "{} {}",
            paint(STRONG, format!("{name:<8}")),
            terminal(&line)
        );
        indented(&mut out, &side.headline, width, [9, 9]);
    }
    if !comparison.differs.is_empty() {
        let _ = writeln!(out, "\n{}", paint(STRONG, "what differs besides"));
    }
    for one in &comparison.differs {
        let side = |value: &Option<String>| value.clone().unwrap_or_else(|| "not there".to_owned());
        let line = format!(
            "{}: {} → {}",
            one.name,
            side(&one.earlier),
            side(&one.later)
        );
        indented(&mut out, &line, width, [2, 6]);
    }
    for quantity in quantities(&comparison.figures) {
        let rows: Vec<&Change> = comparison
            .figures
            .iter()
            .filter(|one| one.quantity == quantity)
            .collect();
        let _ = writeln!(out, "\n{}", paint(STRONG, quantity));
        let cells = |cell: &dyn Fn(&Change) -> Cell| {
            rows.iter().map(|row| cell(row)).collect::<Vec<Cell>>()
        };
        let labels = [Column::words(
            "",
            cells(&|row| terminal(&row.what).into_owned().into()),
        )];
        let columns = [
            Column::figures(
                "earlier",
                cells(&|row| figure(row.scale, row.earlier).into()),
            ),
            Column::figures("later", cells(&|row| figure(row.scale, row.later).into())),
            Column::figures("change", cells(&|row| changed(row).into())),
            Column::words("95% interval", cells(&|row| between(row).into())),
            Column::words(
                "",
                cells(&|row| match row.verdict {
                    Proven::Better => Cell::styled(row.verdict.words().to_owned(), GOOD),
                    Proven::Worse => Cell::styled(row.verdict.words().to_owned(), ERROR),
                    Proven::NoChange => row.verdict.words().into(),
                    Proven::Nothing => Cell::styled(row.verdict.words().to_owned(), FAINT),
                }),
            ),
        ];
        render(&labels, &columns, width, &mut out);
    }
    for (title, singles) in [("gone", &comparison.gone), ("new", &comparison.new)] {
        if !singles.is_empty() {
            let _ = writeln!(out, "\n{}", paint(STRONG, title));
        }
        for one in singles {
            let figure = figure(one.scale, one.value);
            let line = format!("  {}: {figure} ({})", one.what, one.quantity);
            let _ = writeln!(out, "{}", terminal(&line));
        }
    }
    if let Some(allowed) = comparison.allowed {
        out.push('\n');
        if comparison.worse.is_empty() {
            let _ = writeln!(
                out,
                "nothing is proven to be worse by more than {}",
                percent(allowed, 1)
            );
        }
        for one in &comparison.worse {
            let line = format!("worse by more than {}: {one}", percent(allowed, 1));
            let _ = writeln!(out, "{}", paint(ERROR, terminal(&line)));
        }
    }
    out
}

/// The comparison as a section of a page.
#[must_use]
pub fn section(comparison: &Comparison) -> Section {
    let Comparison { earlier, later, .. } = comparison;
    let mut section = Section::new("compare", format!("{} and {}", earlier.name, later.name));
    let count = |verdict| {
        comparison
            .figures
            .iter()
            .filter(|one| one.verdict == verdict)
            .count()
    };
    let (better, worse) = (count(Proven::Better), count(Proven::Worse));
    section.answer = format!(
        "Of {} figures {better} are proven to be better and {worse} to be worse; {} are new, {} are gone.",
        comparison.figures.len(),
        comparison.new.len(),
        comparison.gone.len()
    );
    // What is new is a finding where runs have findings, else something more that was measured.
    let found = match comparison.verb.as_str() {
        "check" | "fix" => comparison.new.len(),
        _ => 0,
    };
    section.tone = match (better, worse + found) {
        (_, 1..) => "bad",
        (1.., 0) => "good",
        (0, 0) => "",
    };
    let mut sides = Table::new(
        "The two runs",
        &["", "run", "began", "machine", "target", "what it came to"],
    );
    for (name, side) in [("earlier", earlier), ("later", later)] {
        sides.row([
            name.to_owned(),
            side.name.clone(),
            when(side.began_unix_seconds),
            side.machine.clone().unwrap_or_default(),
            side.target.clone(),
            side.headline.clone(),
        ]);
    }
    section.table(sides);
    let mut differs = Table::new("What differs besides", &["what", "earlier", "later"]);
    for one in &comparison.differs {
        let value =
            |value: &Option<String>| value.clone().unwrap_or_else(|| "not there".to_owned());
        differs.row([one.name.clone(), value(&one.earlier), value(&one.later)]);
    }
    section.table(differs);
    for quantity in quantities(&comparison.figures) {
        let mut table = Table::new(
            quantity,
            &[
                "of",
                ">earlier",
                ">later",
                ">change",
                ">95% interval",
                "proven",
            ],
        );
        for one in comparison
            .figures
            .iter()
            .filter(|one| one.quantity == quantity)
        {
            table.row([
                one.what.clone(),
                figure(one.scale, one.earlier),
                figure(one.scale, one.later),
                changed(one),
                between(one),
                one.verdict.words().to_owned(),
            ]);
        }
        section.table(table);
    }
    for (title, singles) in [("Gone", &comparison.gone), ("New", &comparison.new)] {
        let mut table = Table::new(title, &["of", "what", ">figure"]);
        for one in singles {
            let figure = figure(one.scale, one.value);
            table.row([one.what.clone(), one.quantity.to_owned(), figure]);
        }
        section.table(table);
    }
    section
}

/// Writes a text in lines of that width, the first and the others behind so many blanks.
fn indented(out: &mut String, text: &str, width: usize, [first, others]: [usize; 2]) {
    let room = width.saturating_sub(first.max(others)).max(20);
    let mut blanks = first;
    for line in folded(&terminal(text), room) {
        let _ = writeln!(out, "{:blanks$}{line}", "");
        blanks = others;
    }
}

fn quantities(figures: &[Change]) -> Vec<&'static str> {
    let mut out = Vec::new();
    for one in figures {
        if !out.contains(&one.quantity) {
            out.push(one.quantity);
        }
    }
    out
}

impl Proven {
    const fn words(self) -> &'static str {
        match self {
            Proven::Better => "better",
            Proven::Worse => "worse",
            Proven::NoChange => "no change proven",
            Proven::Nothing => "nothing proven",
        }
    }
}

fn figure(scale: Scale, value: f64) -> String {
    match scale {
        Scale::Points => percent(value, 1),
        Scale::Relative if value < 100.0 => format!("{value:.3}"),
        Scale::Relative => rate_text(value),
    }
}

fn changed(of: &Change) -> String {
    of.change.map_or("?".to_owned(), signed)
}

fn between(of: &Change) -> String {
    match of.interval {
        Some([low, high]) if low < high => format!("{} to {}", signed(low), signed(high)),
        Some(_) => "exact".to_owned(),
        None => "not known".to_owned(),
    }
}

fn signed(share: f64) -> String {
    let text = percent(share, 1);
    if share > 0.0 {
        format!("+{text}")
    } else {
        text
    }
}
