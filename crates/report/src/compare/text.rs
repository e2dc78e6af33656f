//! A comparison for people: as text, and as a section of a page.

use std::fmt::Write;

use super::{Change, Comparison, Proven, is_share, when};
use crate::bench::wording::{percent, rate_text};
use crate::escape::terminal;
use crate::pages::{Section, Table};
use crate::text::style::{ERROR, FAINT, GOOD, STRONG, paint};
use crate::text::table::{Cell, Column, render};

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
        if !side.headline.is_empty() {
            let _ = writeln!(out, "         {}", terminal(&side.headline));
        }
    }
    if !comparison.differs.is_empty() {
        let _ = writeln!(out, "\n{}", paint(STRONG, "what differs besides"));
    }
    for one in &comparison.differs {
        let side = |value: &Option<String>| value.clone().unwrap_or_else(|| "not there".to_owned());
        let line = format!(
            "  {}: {} → {}",
            one.name,
            side(&one.earlier),
            side(&one.later)
        );
        let _ = writeln!(out, "{}", terminal(&line));
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
        let figure = |value: f64| {
            if is_share(quantity) {
                percent(value, 1)
            } else {
                number(value)
            }
        };
        let labels = [Column::words(
            "",
            cells(&|row| terminal(&row.what).into_owned().into()),
        )];
        let columns = [
            Column::figures("earlier", cells(&|row| figure(row.earlier).into())),
            Column::figures("later", cells(&|row| figure(row.later).into())),
            Column::figures(
                "change",
                cells(&|row| row.change.map_or("?".to_owned(), signed).into()),
            ),
            Column::words(
                "95% interval",
                cells(&|row| match row.interval {
                    Some([low, high]) if low < high => {
                        format!("{} to {}", signed(low), signed(high)).into()
                    }
                    Some(_) => "exact".into(),
                    None => Cell::styled("not known".to_owned(), FAINT),
                }),
            ),
            Column::words(
                "",
                cells(&|row| match row.verdict {
                    Proven::Better => Cell::styled("better".to_owned(), GOOD),
                    Proven::Worse => Cell::styled("worse".to_owned(), ERROR),
                    Proven::NoChange => "no change proven".into(),
                    Proven::Nothing => Cell::styled("nothing proven".to_owned(), FAINT),
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
            let figure = if is_share(one.quantity) {
                percent(one.value, 1)
            } else {
                number(one.value)
            };
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
    section.tone = match (better, worse + comparison.new.len()) {
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
            let figure = |value: f64| {
                if is_share(quantity) {
                    percent(value, 1)
                } else {
                    number(value)
                }
            };
            table.row([
                one.what.clone(),
                figure(one.earlier),
                figure(one.later),
                one.change.map_or("?".to_owned(), signed),
                match one.interval {
                    Some([low, high]) if low < high => {
                        format!("{} to {}", signed(low), signed(high))
                    }
                    Some(_) => "exact".to_owned(),
                    None => "not known".to_owned(),
                },
                match one.verdict {
                    Proven::Better => "better",
                    Proven::Worse => "worse",
                    Proven::NoChange => "no change proven",
                    Proven::Nothing => "nothing proven",
                }
                .to_owned(),
            ]);
        }
        section.table(table);
    }
    for (title, singles) in [("Gone", &comparison.gone), ("New", &comparison.new)] {
        let mut table = Table::new(title, &["of", "what", ">figure"]);
        for one in singles {
            let figure = if is_share(one.quantity) {
                percent(one.value, 1)
            } else {
                number(one.value)
            };
            table.row([one.what.clone(), one.quantity.to_owned(), figure]);
        }
        section.table(table);
    }
    section
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

fn number(value: f64) -> String {
    if value < 100.0 {
        return format!("{value:.3}");
    }
    rate_text(value)
}

fn signed(share: f64) -> String {
    let text = percent(share, 1);
    if share > 0.0 {
        format!("+{text}")
    } else {
        text
    }
}
