//! Repair plans for terminals: the verdict and what decided it, the steps in their order, what they cure, what stays.

use anstyle::Style;
use std::fmt::Write;
use straddle_fix::script::{Tool, Traffic};
use straddle_fix::{Cost, Cure, How, Plan, Recommendation, Step, Verification, duration, rate};
use straddle_geometry::{Bytes, Ratio, Unit};

use super::verdicts;
use crate::bench::text::{WIDTH, heading};
use crate::escape::terminal;
use crate::text::page::folded;
use crate::text::style::{ERROR, FAINT, GOOD, STRONG, WARNING, paint, severity_style};
use crate::text::table::{self, Cell, Column};

pub(crate) const MIN_WIDTH: usize = 60;

/// How a plan can be carried out.
#[derive(Clone, Copy, Debug)]
pub struct Ways<'a> {
    /// The command that makes the plan again.
    pub typed: &'a str,
    /// The command that says afterwards what became of the plan.
    pub again: &'a str,
    /// The command that moves the partitions, where that is a part of it.
    pub realign: Option<&'a str>,
    /// Those that a script can be written for.
    pub tools: &'a [&'static Tool],
}

/// A plan, in lines of at most `width` columns where a table permits that.
#[must_use]
pub fn plan(target: &str, plan: &Plan, ways: Ways<'_>, width: usize) -> String {
    let width = width.clamp(MIN_WIDTH, WIDTH);
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{}  {}",
        paint(STRONG, terminal(target)),
        paint(style_of(plan.worth.call), plan.worth.call.words())
    );
    for because in &plan.worth.because {
        prose(&mut out, width, 2, because);
    }
    if plan.is_empty() {
        left(plan, width, &mut out);
        return out;
    }
    verdicts::render(plan, width, &mut out);
    steps(plan, width, &mut out);
    optional(ways.typed, plan, width, &mut out);
    cured(plan, width, &mut out);
    if plan.worth.worst > Ratio::ZERO {
        out.push('\n');
        prose(&mut out, width, 2, &verdicts::measured(plan));
    }
    left(plan, width, &mut out);
    effort(plan, width, &mut out);
    next(plan, ways, width, &mut out);
    out
}

pub(super) fn style_of(call: Recommendation) -> Style {
    match call {
        Recommendation::Now => ERROR,
        Recommendation::NextRebuild
        | Recommendation::Undecided
        | Recommendation::FindOut
        | Recommendation::OutageUnknown => WARNING,
        Recommendation::NotWorthIt | Recommendation::Nothing => GOOD,
    }
}

/// Lines of prose, so many blanks in.
pub(crate) fn prose(out: &mut String, width: usize, blanks: usize, text: &str) {
    for line in folded(&terminal(text), width - blanks) {
        let _ = writeln!(out, "{:blanks$}{line}", "");
    }
}

fn steps(plan: &Plan, width: usize, out: &mut String) {
    heading(out, width, "Steps", ", in this order");
    for step in &plan.steps {
        let _ = writeln!(
            out,
            "  {}  {}",
            paint(STRONG, step.number),
            paint(STRONG, terminal(&step.title))
        );
        prose(out, width, 5, &data(step));
        for line in &step.arithmetic {
            prose(out, width, 5, line);
        }
        for line in &step.blockers {
            prose(out, width, 5, &format!("not by a script: {line}"));
        }
    }
}

/// Steps that are left out because nothing that they cure has a price.
fn optional(typed: &str, plan: &Plan, width: usize, out: &mut String) {
    if plan.optional.is_empty() {
        return;
    }
    heading(
        out,
        width,
        "Optional",
        ": what these cure has no price, and they are no part of this plan",
    );
    for step in &plan.optional {
        let _ = writeln!(out, "  -  {}", terminal(&step.title));
        prose(out, width, 5, &data(step));
        for line in &step.arithmetic {
            prose(out, width, 5, line);
        }
    }
    let mut kinds: Vec<&str> = plan.optional.iter().map(|step| step.kind).collect();
    kinds.dedup();
    let line = format!(
        "straddle fix {} --only {} plans them",
        terminal(typed),
        kinds.join(",")
    );
    prose(out, width, 5, &line);
}

/// `moved: 20 GiB`.
fn data(step: &Step) -> String {
    match step.how {
        How::InPlace => "no data are moved".to_owned(),
        How::ByHand => "by hand".to_owned(),
        how => {
            let Traffic {
                read,
                written,
                room,
            } = step.traffic;
            let most = at_most(step.is_at_most());
            let mut text = format!("data {}: {most}{}", how.words(), how.bytes().rounded());
            let _ = write!(
                text,
                "; {most}{} read and {} written",
                read.rounded(),
                written.rounded()
            );
            if room > Bytes::ZERO {
                let _ = write!(text, ", {most}{} free elsewhere", room.rounded());
            }
            text
        }
    }
}

/// What stands before a figure that is an upper bound.
fn at_most(is_bound: bool) -> &'static str {
    if is_bound { "at most " } else { "" }
}

/// The prices of findings, one row each, a column for each request size.
pub(crate) fn prices<'a>(
    cures: impl Iterator<Item = &'a Cure> + Clone,
    width: usize,
    out: &mut String,
) {
    let mut sizes: Vec<Unit> = cures
        .clone()
        .flat_map(|cure| cure.prices.iter().map(|cost| cost.io))
        .collect();
    sizes.sort_unstable();
    sizes.dedup();
    let labels = [
        Column::words(
            "",
            cures
                .clone()
                .map(|cure| Cell::styled(cure.code.to_string(), severity_style(cure.severity)))
                .collect(),
        ),
        Column::words(
            "",
            cures
                .clone()
                .map(|cure| terminal(&cure.layer).into_owned().into())
                .collect(),
        ),
    ];
    let columns: Vec<Column> = sizes
        .iter()
        .map(|size| {
            let cells = cures.clone().map(|cure| {
                let cost = cure.prices.iter().find(|cost| cost.io == *size);
                Cell::from(cost.map_or_else(String::new, change))
            });
            Column::figures(size.bytes().rounded(), cells.collect())
        })
        .collect();
    table::render(&labels, &columns, width, out);
}

/// `+100% → 0%`.
fn change(cost: &Cost) -> String {
    moved(cost.before, cost.after)
}

fn moved(before: Ratio, after: Ratio) -> String {
    format!("{before} \u{2192} {after}")
}

fn cured(plan: &Plan, width: usize, out: &mut String) {
    let (priced, others): (Vec<&Cure>, Vec<&Cure>) =
        plan.cured.iter().partition(|cure| !cure.prices.is_empty());
    if !priced.is_empty() {
        heading(
            out,
            width,
            "Cured",
            ": extra operations by request size, now and afterwards",
        );
        prices(priced.into_iter(), width, out);
    }
    if !others.is_empty() {
        heading(out, width, "Cured", ", which has no price");
    }
    for cure in others {
        finding(cure, "", width, out);
    }
}

fn left(plan: &Plan, width: usize, out: &mut String) {
    if plan.left.is_empty() && plan.unpromised.is_empty() {
        return;
    }
    heading(out, width, "Left as it is", "");
    for left in &plan.left {
        let new = if left.is_new { "new: " } else { "" };
        stays(&left.finding, new, &left.why, width, out);
    }
    for finding in &plan.unpromised {
        let why = "it may be gone too, which is not promised: check again afterwards";
        stays(finding, "", why, width, out);
    }
}

fn stays(left: &Cure, before: &str, why: &str, width: usize, out: &mut String) {
    finding(left, before, width, out);
    for line in folded(&terminal(why), width - 10) {
        let _ = writeln!(out, "          {}", paint(FAINT, line));
    }
}

/// The code and the title of a finding.
fn finding(finding: &Cure, before: &str, width: usize, out: &mut String) {
    let text = terminal(&format!("{before}{}", finding.title)).into_owned();
    for (index, line) in folded(&text, width - 10).iter().enumerate() {
        let code = match index {
            0 => paint(severity_style(finding.severity), finding.code),
            _ => "      ".to_owned(),
        };
        let _ = writeln!(out, "  {code}  {line}");
    }
}

fn effort(plan: &Plan, width: usize, out: &mut String) {
    heading(out, width, "Effort", "");
    let effort = &plan.effort;
    if plan.steps.iter().all(|step| step.how == How::ByHand) {
        prose(
            out,
            width,
            2,
            "all of it is work by hand, which is not counted",
        );
    } else if effort.data.get() == 0 {
        prose(
            out,
            width,
            2,
            "no data are moved, nothing has to be offline for longer than a moment",
        );
    } else {
        let Traffic {
            read,
            written,
            room,
        } = effort.traffic;
        let most = at_most(effort.is_at_most);
        let text = format!(
            "{most}{} in question; {most}{} read and {} written in all: {most}{} at {} of copying; {} elsewhere meanwhile",
            effort.data.rounded(),
            read.rounded(),
            written.rounded(),
            duration(effort.downtime.as_secs_f64()),
            rate(effort.rate),
            if room == Bytes::ZERO {
                "no space is needed".to_owned()
            } else {
                format!("{most}{} are needed", room.rounded())
            }
        );
        prose(out, width, 2, &text);
        if !effort.is_known {
            let more = "and data of which nobody says how many: the outage is longer than that";
            prose(out, width, 2, more);
        }
    }
    for again in &effort.again {
        prose(out, width, 2, &format!("by hand: {again}"));
    }
}

fn next(plan: &Plan, ways: Ways<'_>, width: usize, out: &mut String) {
    let tools = ways.tools;
    let Some(first) = tools.first() else {
        return;
    };
    heading(out, width, "Next", "");
    let typed = terminal(ways.typed);
    if let Some(realign) = ways.realign {
        let _ = writeln!(out, "  {:14}  {}", "move it here", terminal(realign));
    }
    let script = format!("fix.{}", first.language.extension());
    let lines = [
        ("keep the plan", format!("{typed} --json > plan.json")),
        (
            "write a script",
            format!("{typed} --script {} > {script}", first.name),
        ),
        ("afterwards", terminal(ways.again).into_owned()),
    ];
    for (what, line) in lines {
        let _ = writeln!(out, "  {what:14}  {line}");
    }
    if tools.len() > 1 {
        let names: Vec<&str> = tools.iter().map(|tool| tool.name).collect();
        prose(
            out,
            width,
            2,
            &format!("scripts are written for: {}", names.join(", ")),
        );
    }
    let refills = |tool: &&&'static Tool| {
        let mut steps = plan.steps.iter().filter(|step| (tool.does)(&step.change));
        steps.any(|step| matches!(tool.how(step), How::Refill { .. }) && tool.how(step) != step.how)
    };
    let refill: Vec<&str> = tools.iter().filter(refills).map(|tool| tool.name).collect();
    if !refill.is_empty() {
        let text = format!(
            "{}: nothing is moved; filesystems are re-created, and files copied away before and back afterwards",
            refill.join(", ")
        );
        prose(out, width, 2, &text);
    }
}

/// What became of a plan.
#[must_use]
pub fn verification(target: &str, verification: &Verification, width: usize) -> String {
    let width = width.clamp(MIN_WIDTH, WIDTH);
    let mut out = String::new();
    let (kept, all) = (verification.kept(), verification.outcomes.len());
    let style = if kept == all { GOOD } else { ERROR };
    let _ = writeln!(
        out,
        "{}  {}",
        paint(STRONG, terminal(target)),
        paint(style, format!("{kept} of {all} promises kept"))
    );
    for outcome in &verification.outcomes {
        let verdict = match &outcome.now {
            None if verification.is_whole() => paint(GOOD, "cured"),
            None => paint(
                WARNING,
                "not found any more, which does not count while something is missing",
            ),
            Some(now) => paint(ERROR, format!("still there: {}", terminal(now))),
        };
        let _ = writeln!(
            out,
            "  {}  {}: {verdict}",
            outcome.code,
            terminal(&outcome.title)
        );
        let prices: Vec<String> = outcome
            .prices
            .iter()
            .map(|price| {
                format!(
                    "{} {}",
                    price.io.bytes().rounded(),
                    moved(price.before, price.now)
                )
            })
            .collect();
        if !prices.is_empty() {
            prose(
                &mut out,
                width,
                10,
                &format!("extra operations: {}", prices.join(", ")),
            );
        }
    }
    let lists = [
        ("Missing or changed", ERROR, &verification.lost),
        (
            "Not looked at here, so not counted",
            WARNING,
            &verification.unseen,
        ),
        (
            "Not looked at when the plan was made, so nobody can tell",
            FAINT,
            &verification.unknown,
        ),
    ];
    for (title, style, lines) in lists {
        if !lines.is_empty() {
            let _ = writeln!(out, "  {}", paint(style, format!("{title}:")));
        }
        let shown = 20;
        for line in lines.iter().take(shown) {
            prose(&mut out, width, 4, line);
        }
        if lines.len() > shown {
            let _ = writeln!(out, "    and {} more (--json has all)", lines.len() - shown);
        }
    }
    out
}
