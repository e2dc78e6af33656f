use std::fmt::Write;

use straddle_geometry::{Family, Ratio, Unit};
use straddle_rules::{Finding, PriceRow, Prices, by_code};
use straddle_stack::{LayerId, LayerKind, Source};

use super::page::folded;
use super::snippet::{self, WIDTH, aside, prose};
use super::style::{FRAME, STRONG, paint, severity_style};
use crate::escape::terminal;
use crate::{Checked, Folded};

/// Says how many more findings of a rule there are.
pub(crate) fn render_folded(folded: &Folded, out: &mut String) {
    let head = format!("{}[{}]", folded.severity.name(), folded.code);
    let about = by_code(folded.code).map_or("", |rule| rule.summary);
    let cost = if folded.worst_extra.is_zero() {
        String::new()
    } else {
        format!("; the worst costs +{}", folded.worst_extra)
    };
    let said = format!(": {} more like these: {about}{cost}", folded.more);
    let head = paint(severity_style(folded.severity), head);
    let _ = writeln!(out, "{head}{}\n", paint(STRONG, said));
}

/// Writes a finding: code and title, the evidence with carets, the arithmetic, the price, what to do.
pub(crate) fn render(checked: &Checked, finding: &Finding, out: &mut String) {
    let style = severity_style(finding.severity);
    let head = paint(
        style,
        format!("{}[{}]", finding.severity.name(), finding.code),
    );
    let _ = writeln!(
        out,
        "{head}{}",
        paint(STRONG, format!(": {}", terminal(&finding.title)))
    );
    let place = place(checked, finding.layer);
    // What was read comes first; what was assumed is a line of its own after it.
    let read =
        |source: &Source| !matches!(source, Source::Assumption { .. } | Source::Derived { .. });
    let (shown, said): (Vec<_>, Vec<_>) = finding
        .evidence
        .iter()
        .partition(|evidence| read(&evidence.source));
    if shown.is_empty() {
        let _ = writeln!(out, "  {} {place}", paint(FRAME, "-->"));
    }
    for evidence in shown.into_iter().chain(said) {
        let other = evidence.layer.map(|layer| self::place(checked, layer));
        let place = other.as_ref().unwrap_or(&place);
        snippet::render(place, &evidence.source, &evidence.label, style, out);
    }
    aside(out, "arithmetic", &finding.arithmetic);
    if let Some(prices) = &finding.prices {
        aside(out, "cost", &cost_lines(prices));
    }
    for note in &finding.notes {
        prose(out, "note", note);
    }
    for advice in &finding.help {
        for (index, line) in folded(&terminal(advice), WIDTH).iter().enumerate() {
            let head = if index == 0 {
                paint(STRONG, "help") + ": "
            } else {
                " ".repeat(6)
            };
            let _ = writeln!(out, "{head}{line}");
        }
    }
    let _ = writeln!(
        out,
        "{}: straddle explain {}",
        paint(STRONG, "more"),
        finding.code
    );
}

/// `legacy.img: mbr, partition 1`.
fn place(checked: &Checked, layer: LayerId) -> String {
    let mut names: Vec<&str> = vec![&checked.stack.layer(layer).name];
    let mut here = layer;
    while let Some(below) = under(checked, here) {
        names.push(&checked.stack.layer(below).name);
        here = below;
    }
    names.reverse();
    let joined = names.join(", ");
    let joined = terminal(&joined);
    let name = terminal(&checked.name);
    let is_other_file = checked.stack.layer(here).kind == LayerKind::File;
    match joined.strip_prefix(&*name) {
        None if is_other_file => joined.into_owned(),
        Some("") => name.into_owned(),
        Some(rest) => format!("{name}: {}", rest.trim_start_matches(", ")),
        None => format!("{name}: {joined}"),
    }
}

/// The layer that this one lies in: of a virtual disk its own file, which is the first, not its parent.
fn under(checked: &Checked, layer: LayerId) -> Option<LayerId> {
    let stack = &checked.stack;
    match stack.layer(layer).kind {
        LayerKind::Container => stack.layer(layer).below.first().copied(),
        _ => stack.only_below(layer),
    }
}

/// One line per request size; sizes that pay nothing share one.
pub(super) fn cost_lines(prices: &Prices) -> Vec<String> {
    let mut out = Vec::new();
    let (free, paying): (Vec<_>, Vec<_>) = prices.rows.iter().partition(|row| row.extra.is_zero());
    for row in paying {
        out.push(row_line(prices, row));
    }
    if !free.is_empty() {
        let sizes: Vec<String> = free.iter().map(|row| row.io.to_string()).collect();
        out.push(format!(
            "nothing extra for requests of {}, lying end to end from its start",
            sizes.join(", ")
        ));
    }
    if !prices.left_out.is_empty() {
        let sizes: Vec<String> = prices.left_out.iter().map(Unit::to_string).collect();
        out.push(format!(
            "not counted for requests of {}: they fit the blocks of the virtual disk too oddly",
            sizes.join(", ")
        ));
    }
    if let Some(row) = prices.at_unit.filter(|row| !row.extra.is_zero()) {
        let line = row_line(prices, &row);
        out.push(format!("at the {} itself, {line}", prices.role.name()));
    }
    out
}

fn row_line(prices: &Prices, row: &PriceRow) -> String {
    let straddling = if row.straddling_aligned == row.straddling {
        String::new()
    } else if row.straddling_aligned.is_zero() {
        format!("{} straddle; ", row.straddling)
    } else {
        format!(
            "{} straddle instead of {}; ",
            row.straddling, row.straddling_aligned
        )
    };
    let what = match prices.role.family() {
        Family::ReadModifyWrite if row.write_now != row.write_aligned => {
            let now = operations(row.read_now, row.write_now);
            let aligned = operations(row.read_aligned, row.write_aligned);
            format!("a write becomes {now} instead of {aligned}")
        }
        _ => format!(
            "a request becomes {} operations instead of {}",
            decimal(row.read_now),
            decimal(row.read_aligned)
        ),
    };
    format!("{} requests: {straddling}{what} (+{})", row.io, row.extra)
}

/// `2 reads + 2 writes`: the granules read because they are written in part, and the granules written.
fn operations(touched: Ratio, with_reads: Ratio) -> String {
    let reads = with_reads.saturating_sub(touched).unwrap_or(Ratio::ZERO);
    let count = |n: Ratio, word: &str| {
        let s = if n == Ratio::ONE { "" } else { "s" };
        format!("{} {word}{s}", decimal(n))
    };
    if reads.is_zero() {
        count(touched, "write")
    } else {
        format!("{} + {}", count(reads, "read"), count(touched, "write"))
    }
}

/// A mean count with at most three decimals; what is not exact is marked.
pub(super) fn decimal(ratio: Ratio) -> String {
    let scaled = u128::from(ratio.numerator()) * 1000;
    let denominator = u128::from(ratio.denominator());
    let thousandths = (scaled + denominator / 2) / denominator;
    let mark = if scaled % denominator == 0 { "" } else { "≈" };
    let fraction = format!("{:03}", thousandths % 1000);
    let fraction = fraction.trim_end_matches('0');
    let dot = if fraction.is_empty() { "" } else { "." };
    format!("{mark}{}{dot}{fraction}", thousandths / 1000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use straddle_geometry::{Bytes, Grid, Unit};
    use straddle_stack::{GridRole, Seen};

    fn lines(role: GridRole, unit: u64, start: u64) -> Vec<String> {
        let units = |list: &[u64]| {
            list.iter()
                .filter_map(|n| Unit::new(*n))
                .collect::<Vec<_>>()
        };
        let unit = Unit::new(unit).expect("not zero");
        let seen = Seen::Uniform(Grid::new(unit).seen_from(Bytes::new(start)));
        cost_lines(&Prices::of(
            role,
            unit,
            &seen,
            Bytes::ZERO,
            &units(&[4096, 8192, 65_536]),
        ))
    }

    #[test]
    fn read_modify_write_is_told_in_reads_and_writes() {
        assert_eq!(
            lines(GridRole::PhysicalSector, 4096, 32_256),
            [
                "4 KiB requests: 100% straddle; a write becomes 2 reads + 2 writes instead of 1 write (+300%)",
                "8 KiB requests: a write becomes 2 reads + 3 writes instead of 2 writes (+150%)",
                "64 KiB requests: a write becomes 2 reads + 17 writes instead of 16 writes (+18.75%)",
            ]
        );
    }

    #[test]
    fn splitting_is_told_in_operations() {
        assert_eq!(
            lines(GridRole::StripeUnit, 65_536, 32_256),
            [
                "4 KiB requests: 6.25% straddle; a request becomes ≈1.063 operations instead of 1 (+6.25%)",
                "8 KiB requests: 12.5% straddle; a request becomes 1.125 operations instead of 1 (+12.5%)",
                "64 KiB requests: 100% straddle; a request becomes 2 operations instead of 1 (+100%)",
            ]
        );
    }

    #[test]
    fn off_the_grid_but_free_is_said_both_ways() {
        assert_eq!(
            lines(GridRole::StripeUnit, 131_072, 65_536),
            [
                "nothing extra for requests of 4 KiB, 8 KiB, 64 KiB, lying end to end from its start",
                "at the stripe unit itself, 128 KiB requests: 100% straddle; a request becomes 2 operations instead of 1 (+100%)",
            ]
        );
    }
}
