//! What was done, on what, and how it ended.

use std::fmt::Write;
use straddle_geometry::both_ways;
use straddle_rules::figures::counted;

use straddle_bench::place::Devices;
use straddle_bench::results::{End, Experiment, Medium};
use straddle_bench::run::Options;
use straddle_io::engine::Durability;

use super::super::wording::{asked, offset_name, time};
use crate::escape::terminal;
use crate::text::page::folded;
use crate::text::style::{ERROR, STRONG, WARNING, paint};
use crate::utc::Utc;

/// Column at which the text behind a name begins.
const MARGIN: usize = 11;

/// Writes a line or two for each fact.
pub(super) fn render(experiment: &Experiment, width: usize, out: &mut String) {
    let setting = &experiment.setting;
    let mut line = |name: &str, text: String| {
        for (index, part) in folded(&terminal(&text), width - MARGIN).iter().enumerate() {
            let name = if index == 0 { name } else { "" };
            let padding = " ".repeat(MARGIN.saturating_sub(name.len()));
            let _ = writeln!(out, "{}{padding}{part}", paint(STRONG, name));
        }
    };
    line("target", target(experiment));
    line(
        "span",
        format!("{} for each offset", both_ways(setting.span)),
    );
    line("engine", engine(experiment));
    line("machine", machine(experiment));
    line("plan", plan(experiment));
    if let Some(replay) = &experiment.plan.replay {
        line("replay", replay.to_string());
    }
    line("order", order(experiment));
    line("begun", begun(experiment));
    let (style, text) = end(experiment);
    for (index, part) in folded(&terminal(&text), width - MARGIN).iter().enumerate() {
        let name = if index == 0 { "ended" } else { "" };
        let padding = " ".repeat(MARGIN - name.len());
        let part = style.map_or_else(|| part.clone(), |style| paint(style, part));
        let _ = writeln!(out, "{}{padding}{part}", paint(STRONG, name));
    }
}

fn target(experiment: &Experiment) -> String {
    let setting = &experiment.setting;
    let cached = setting.stack.as_ref().is_some_and(|stack| {
        stack
            .iter()
            .any(|(id, _)| !Devices::below(stack, id).cached.is_empty())
    });
    let how = match setting.medium {
        Medium::FileDirect if cached => {
            "a file, direct I/O: past one page cache, and through that below a loop device"
        }
        Medium::DeviceDirect if cached => {
            "a block device, direct I/O: through the page cache below a loop device"
        }
        Medium::FileDirect => "a file, direct I/O: past the page cache",
        Medium::FileBuffered => "a file, buffered: memory is measured, not storage",
        Medium::DeviceDirect => "a block device, direct I/O: past the page cache",
        Medium::DeviceBuffered => "a block device, buffered: memory is measured, not storage",
        Medium::Null => "nothing: the tool itself is measured",
    };
    format!("{}: {how}", setting.target)
}

fn engine(experiment: &Experiment) -> String {
    let setting = &experiment.setting;
    let engine = &setting.engine;
    let mut out = format!("{}: {}", engine.name, engine.reason);
    for said in promises(&setting.options, writes(experiment)) {
        out.push_str("; ");
        out.push_str(said);
    }
    out
}

/// True when the plan has workloads that write.
fn writes(experiment: &Experiment) -> bool {
    experiment.plan.cells.iter().any(|w| !w.is_read_only())
}

/// What is unusual about the requests.
pub(in super::super) fn promises(options: &Options, writes: bool) -> Vec<&'static str> {
    let mut out = Vec::new();
    if writes {
        out.push(match options.durability {
            Durability::Cached => "writes may end in the device's cache",
            // An experiment is shown on the machine that made it.
            Durability::WriteThrough if cfg!(windows) => {
                "writes are written through, as far as the device does that (FILE_FLAG_WRITE_THROUGH)"
            }
            Durability::WriteThrough => "writes are on stable storage when they end (O_DSYNC)",
            Durability::ForcedUnitAccess => {
                "each write is on stable storage when it ends (RWF_DSYNC)"
            }
        });
        if options.atomic {
            out.push("writes are atomic (RWF_ATOMIC)");
        }
    }
    if options.polled {
        out.push("completions are polled for");
    }
    if options.verify {
        out.push("every block is stamped and checked");
    }
    out
}

fn machine(experiment: &Experiment) -> String {
    let machine = &experiment.setting.machine;
    let memory = machine.memory.map(|m| format!("{} of memory", m.rounded()));
    let straddle = format!("straddle {}", machine.version);
    let parts = [
        Some(machine.host.clone()),
        Some(machine.system.clone()),
        Some(machine.processors.clone()),
        memory,
        Some(straddle),
    ];
    let parts = parts.into_iter().flatten().filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join(", ")
}

fn plan(experiment: &Experiment) -> String {
    let plan = &experiment.plan;
    let blocks = if plan.least_blocks == plan.most_blocks {
        counted(plan.most_blocks, "block")
    } else {
        let most = counted(plan.most_blocks, "block");
        format!("{} to {most}", plan.least_blocks)
    };
    let budget = plan
        .budget
        .map_or_else(String::new, |b| format!(", at most {}", time(b)));
    format!(
        "{} × {}, {blocks} of each cell, until each interval is within ±{}{budget}",
        counted(plan.cells.len(), "cell"),
        counted(plan.offsets.len(), "offset"),
        asked(plan.precision),
    )
}

fn order(experiment: &Experiment) -> String {
    let plan = &experiment.plan;
    let warm_up = if plan.warm_up.is_zero() {
        String::new()
    } else {
        format!(" after {} of warm-up", time(plan.warm_up))
    };
    if plan.offsets.len() < 2 {
        return format!(
            "runs of {}{warm_up}; seed {}",
            time(plan.measured),
            plan.seed
        );
    }
    format!(
        "runs of {}{warm_up}; {} before, between and after the others, which come in random order; seed {}",
        time(plan.measured),
        offset_name(plan, 0),
        plan.seed
    )
}

fn begun(experiment: &Experiment) -> String {
    let runs = counted(experiment.samples.len(), "run");
    let last = experiment.samples.iter().map(|s| s.began + s.took).max();
    let took = last.map_or_else(String::new, |last| format!(" in {}", time(last)));
    format!(
        "{}; {runs}{took}",
        Utc::new(experiment.setting.began).plain()
    )
}

fn end(experiment: &Experiment) -> (Option<anstyle::Style>, String) {
    let plan = &experiment.plan;
    let within = asked(plan.precision);
    match &experiment.end {
        End::Precise => (None, format!("every interval is within ±{within}")),
        End::OutOfTime => {
            let after = plan
                .budget
                .map_or_else(String::new, |b| format!(" of {}", time(b)));
            (
                None,
                format!("the time{after} was up; intervals may be wider than ±{within}"),
            )
        }
        End::OutOfBlocks => (
            None,
            format!("the most blocks were made; intervals may be wider than ±{within}"),
        ),
        End::Stopped => (
            Some(WARNING),
            "stopped by the user; what was measured until then follows".to_owned(),
        ),
        End::Failed(why) => (
            Some(ERROR),
            format!("a run failed: {why}; what was measured before it follows"),
        ),
    }
}
