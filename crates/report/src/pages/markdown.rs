//! A page as Markdown: the figures of every picture as a table.

use std::fmt::Write;

use super::{Block, Page, Table};
use crate::escape::terminal;

/// The page.
#[must_use]
pub fn markdown(page: &Page) -> String {
    let mut out = format!("# {}\n", plain(&page.title));
    for part in &page.parts {
        let facts = part
            .about
            .facts
            .iter()
            .map(|(name, value)| format!("{}: {}", plain(name), plain(value)));
        let facts: Vec<String> = facts.collect();
        let _ = write!(out, "\n{}", plain(&part.about.name));
        if !facts.is_empty() {
            let _ = write!(out, " ({})", facts.join("; "));
        }
        out.push('\n');
        for section in &part.sections {
            let _ = write!(
                out,
                "\n## {}: {}\n\n**{}**\n",
                section.verb,
                plain(&section.title),
                plain(&section.answer)
            );
            for part in &section.blocks {
                block(part, &mut out);
            }
        }
    }
    out
}

fn block(block: &Block, out: &mut String) {
    match block {
        Block::Heading(text) => {
            let _ = write!(out, "\n### {}\n", plain(text));
        }
        Block::Text(text) => {
            let _ = write!(out, "\n{}\n", plain(text));
        }
        Block::Facts(facts) => {
            out.push('\n');
            for (name, value) in facts {
                let _ = writeln!(out, "- {}: {}", plain(name), plain(value));
            }
        }
        Block::Commands(commands) => {
            out.push('\n');
            for (what, command) in commands {
                let _ = writeln!(out, "- {}: `{}`", plain(what), code(command));
            }
        }
        Block::Answers(answers) => {
            for one in answers {
                let _ = write!(
                    out,
                    "\n#### {}\n\n{}\n",
                    plain(&one.question),
                    plain(&one.answer)
                );
                if let Some(needs) = &one.needs {
                    let _ = write!(out, "\nWhat would answer the rest: {}\n", plain(needs));
                }
            }
        }
        Block::Table(one) => table(one, out),
        Block::Figure(figure) => {
            let _ = write!(
                out,
                "\n### {}\n\n{}\n",
                plain(&figure.title),
                plain(&figure.caption)
            );
            table(&figure.table, out);
        }
        Block::Ruler(ruler) => table(&ruler.table, out),
        Block::Finding(finding) => {
            let _ = write!(
                out,
                "\n#### {}[{}]: {}\n\non {}\n\n",
                finding.severity,
                finding.code,
                plain(&finding.title),
                plain(&finding.layer)
            );
            for (place, label) in &finding.evidence {
                let _ = writeln!(out, "- {}: `{}`", plain(label), code(place));
            }
            let said = [
                ("arithmetic", &finding.arithmetic),
                ("note", &finding.notes),
                ("help", &finding.help),
            ];
            for (name, lines) in said {
                for line in lines {
                    let _ = writeln!(out, "- {name}: {}", plain(line));
                }
            }
            let _ = writeln!(out, "- more: `straddle explain {}`", finding.code);
            if let Some(prices) = &finding.prices {
                table(prices, out);
            }
        }
        Block::Fleet(fleet) => {
            let mut rules = Table::new(
                "Rules that found something",
                &["rule", "worst", ">targets", ">findings"],
            );
            for (code, severity, targets, findings) in &fleet.rules {
                rules.row([
                    code.clone(),
                    severity.clone(),
                    targets.to_string(),
                    findings.to_string(),
                ]);
            }
            table(&rules, out);
            table(&fleet.worst, out);
        }
    }
}

fn table(table: &Table, out: &mut String) {
    let _ = write!(out, "\n{}\n\n", plain(&table.caption));
    let names = table.columns.iter().map(|column| plain(&column.name));
    let rules = table
        .columns
        .iter()
        .map(|column| if column.right { "---:" } else { "---" });
    let _ = writeln!(out, "| {} |", names.collect::<Vec<_>>().join(" | "));
    let _ = writeln!(out, "| {} |", rules.collect::<Vec<_>>().join(" | "));
    for row in &table.rows {
        let cells: Vec<String> = row.iter().map(|cell| plain(cell)).collect();
        let _ = writeln!(out, "| {} |", cells.join(" | "));
    }
}

/// Text in which nothing is taken for Markdown or HTML.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in terminal(text).chars() {
        match c {
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' => {
                out.push('\\');
                out.push(c);
            }
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            _ => out.push(c),
        }
    }
    out
}

/// Text between backticks.
fn code(text: &str) -> String {
    terminal(text).replace('`', "'").replace('|', "\\|")
}
