//! What a verdict depends on: one for each plausible value, and what decides between them; and what operations do not say.

use std::fmt::Write;
use straddle_fix::{Alternative, Plan, Question, Unknown};
use straddle_geometry::{Bytes, Ratio};
use straddle_rules::{Code, Family, codes, plausible_stripe_units};

use super::text::{prose, style_of};
use crate::bench::text::heading;
use crate::escape::terminal;
use crate::text::style::{STRONG, paint};
use crate::text::table::{self, Cell, Column};

/// Writes the verdicts and the questions; nothing where all values come to one.
pub(super) fn render(plan: &Plan, width: usize, out: &mut String) {
    if plan.worth.alternatives.is_empty() {
        return;
    }
    heading(out, width, "One verdict for each plausible value", "");
    alternatives(&plan.worth.alternatives, width, out);
    if plan.worth.questions.is_empty() {
        return;
    }
    heading(out, width, "Find out first", ", by one of these");
    for question in &plan.worth.questions {
        self::question(question, width, out);
    }
}

fn alternatives(all: &[Alternative], width: usize, out: &mut String) {
    let column = |cell: &dyn Fn(&Alternative) -> Cell| all.iter().map(cell).collect::<Vec<Cell>>();
    let mut columns = Vec::new();
    if all.iter().any(|one| one.workload.is_some()) {
        let cells = column(&|one| Cell::from(one.workload.clone().unwrap_or_default()));
        columns.push(Column::words("workload", cells));
    }
    if all.iter().any(|one| one.physical_sector.is_some()) {
        let cells = column(&|one| {
            let sector = one.physical_sector;
            Cell::from(sector.map_or_else(String::new, |bytes| bytes.rounded().to_string()))
        });
        columns.push(Column::words(Unknown::PhysicalSector.name(), cells));
    }
    if all.iter().any(|one| !one.stripe_units.is_empty()) {
        let cells = column(&|one| Cell::from(stripes(&one.stripe_units)));
        columns.push(Column::words(Unknown::StripeUnit.name(), cells));
    }
    columns.push(Column::words(
        "verdict",
        column(&|one| Cell::styled(one.call.words().to_owned(), style_of(one.call))),
    ));
    let prices = column(&|one| Cell::from(range(one.least, one.most)));
    let prices = Column::words("extra operations", prices);
    table::render(&columns, &[prices], width, out);
}

/// `16 KiB to 64 KiB`, `no array`, `any`.
fn stripes(units: &[Bytes]) -> String {
    if units.is_empty() {
        return "any".to_owned();
    }
    let plausible: Vec<Bytes> = plausible_stripe_units().map(|unit| unit.bytes()).collect();
    let mut parts: Vec<String> = Vec::new();
    if units.contains(&Bytes::ZERO) {
        parts.push("no array".to_owned());
    }
    // Neighbours in the list of those in use are one range.
    let mut run: Option<(Bytes, Bytes)> = None;
    for unit in plausible {
        match (units.contains(&unit), run) {
            (true, None) => run = Some((unit, unit)),
            (true, Some((first, _))) => run = Some((first, unit)),
            (false, Some(ended)) => {
                parts.push(span(ended));
                run = None;
            }
            (false, None) => {}
        }
    }
    parts.extend(run.map(span));
    parts.join(", ")
}

fn span((first, last): (Bytes, Bytes)) -> String {
    match first == last {
        true => first.rounded().to_string(),
        false => format!("{} to {}", first.rounded(), last.rounded()),
    }
}

fn range(least: Ratio, most: Ratio) -> String {
    match least == most {
        true => format!("up to {most}"),
        false => format!("up to {least} to {most}"),
    }
}

fn question(question: &Question, width: usize, out: &mut String) {
    let name = format!("{} of {}", question.unknown.name(), question.of.join(", "));
    let _ = writeln!(out, "  {}", paint(STRONG, terminal(&name)));
    for line in question.evidence.iter().chain(&question.commands) {
        prose(out, width, 5, line);
    }
    let state = format!(
        "then again, with what it printed, or with {}",
        question.flag
    );
    prose(out, width, 5, &state);
}

/// Operations in sectors: partitions, and what is smaller than a sector or begins inside one.
fn is_sector(code: &Code) -> bool {
    code.family() == Some(Family::Partition)
        || matches!(
            *code,
            codes::MEMBER_DATA_OFFSET
                | codes::BLOCK_SMALLER_THAN_SECTOR
                | codes::ENCRYPTION_SECTOR
                | codes::ASHIFT_SMALL
        )
}

fn is_stripe(code: &Code) -> bool {
    code.family() == Some(Family::Array) && *code != codes::MEMBER_DATA_OFFSET
}

/// What was measured of operations such as a plan removes. Each figure is a cell of the study that is named.
pub(super) fn measured(plan: &Plan) -> String {
    let known = plan
        .cured
        .iter()
        .chain(plan.left.iter().map(|left| &left.finding));
    let priced = known.filter(|cure| cure.worst() > Ratio::ZERO);
    let priced: Vec<Code> = priced.map(|cure| cure.code).collect();
    let (sectors, stripes) = (priced.iter().any(is_sector), priced.iter().any(is_stripe));
    if !sectors && !stripes {
        return "Operations are not time. No study here measured such as these: `straddle bench` measures, `--profile` simulates.".to_owned();
    }
    let mut text = String::from("Operations are not time. Measured elsewhere: ");
    let mut parts = Vec::new();
    if sectors {
        parts.push(
            "4 KiB synchronous writes off the sectors of one disk, +300% operations, took 2.8 to 3.4 times as long (straddle study \
             wd-green-osync), and reads off them cost next to nothing",
        );
    }
    if stripes {
        parts.push(
            "64 KiB reads off the stripe unit, +100% operations, took 1.3 to 1.7 times as long (perc-raid10), and 8 KiB reads from a large array, \
             +6%, 1.02 times (eva8100)",
        );
    }
    text += &parts.join("; ");
    text + ". Nothing was measured here: `straddle bench` measures, `--profile` simulates."
}
