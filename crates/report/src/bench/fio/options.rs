//! Options as a job file would give them.

use std::collections::BTreeMap;

use straddle_bench::results::{Experiment, Medium};
use straddle_geometry::Unit;
use straddle_io::engine::Durability;
use straddle_workload::{Pattern, Percent, Workload};

use super::Options;

/// What all jobs have in common.
pub(super) fn global(experiment: &Experiment) -> Options {
    let (plan, setting) = (&experiment.plan, &experiment.setting);
    let direct = matches!(setting.medium, Medium::FileDirect | Medium::DeviceDirect);
    // fio's own names of the engines.
    let engine = match setting.engine.name.as_str() {
        "pread" => "psync",
        name => name,
    };
    let mut out = BTreeMap::from([
        ("direct", u8::from(direct).to_string()),
        ("filename", setting.target.clone()),
        ("group_reporting", "1".to_owned()),
        ("ioengine", engine.to_owned()),
        ("ramp_time", format!("{}ms", plan.warm_up.as_millis())),
        ("randseed", plan.seed.to_string()),
        ("runtime", format!("{}ms", plan.measured.as_millis())),
        ("size", setting.span.get().to_string()),
        ("time_based", "1".to_owned()),
    ]);
    if let Some(replay) = &plan.replay {
        out.insert("read_iolog", replay.file.display().to_string());
        out.insert(
            "replay_no_stall",
            u8::from(replay.speed.is_none()).to_string(),
        );
    }
    if setting.options.durability != Durability::Cached {
        out.insert("sync", "dsync".to_owned());
    }
    out
}

/// `8K-randread-t4-o32-off64K`, or `oltp-off64K` where it has a name.
pub(super) fn job_name(name: Option<&str>, workload: &Workload, offset: &str) -> String {
    let offset: String = offset.chars().map(plain).collect();
    match name {
        Some(name) => {
            let name: String = name.chars().map(plain).collect();
            format!("{name}-off{offset}")
        }
        None => format!("{}-off{offset}", unnamed(workload)),
    }
}

/// The name becomes a file's.
fn plain(c: char) -> char {
    match c {
        c if c.is_alphanumeric() || matches!(c, '.' | '-' | '_') => c,
        _ => '_',
    }
}

fn unnamed(workload: &Workload) -> String {
    let sizes = workload.sizes.iter().map(|(size, _)| short(*size));
    let mut sizes: Vec<String> = sizes.collect();
    // A recording may have any number of lengths.
    sizes.truncate(8);
    let share = match workload.reads {
        Percent::ALL | Percent::NONE => String::new(),
        share => share.get().to_string(),
    };
    let stride = match workload.pattern {
        Pattern::Random | Pattern::Sequential => String::new(),
        Pattern::RandomEvery(step) => format!("-every{}", short(step)),
        Pattern::Strided(step) => format!("-stride{}", short(step)),
        Pattern::Columns(row) => format!("-columns{}", short(row)),
        Pattern::Recorded(_) => "-recorded".to_owned(),
    };
    format!(
        "{}-{}{share}{stride}-t{}-o{}",
        sizes.join("+"),
        direction(workload),
        workload.workers,
        workload.outstanding
    )
}

/// A size as options of fio give it: `8K`, `512`.
fn short(size: Unit) -> String {
    match size.get() {
        n if n.is_multiple_of(1 << 20) => format!("{}M", n >> 20),
        n if n.is_multiple_of(1 << 10) => format!("{}K", n >> 10),
        n => n.to_string(),
    }
}

/// fio's `rw` without what may follow a colon.
fn direction(workload: &Workload) -> &'static str {
    match (workload.pattern.is_random(), workload.reads) {
        (true, Percent::ALL) => "randread",
        (true, Percent::NONE) => "randwrite",
        (true, _) => "randrw",
        (false, Percent::ALL) => "read",
        (false, Percent::NONE) => "write",
        (false, _) => "rw",
    }
}

/// fio's `rw`. What is behind the colon of a sequential one is the gap that it leaves behind each request.
fn rw(workload: &Workload) -> String {
    let direction = direction(workload);
    let largest = workload.largest();
    let gap = match workload.pattern {
        Pattern::Random | Pattern::RandomEvery(_) | Pattern::Recorded(_) | Pattern::Sequential => {
            None
        }
        Pattern::Strided(step) | Pattern::Columns(step) => {
            step.get().checked_sub(largest.get()).and_then(Unit::new)
        }
    };
    gap.map_or_else(
        || direction.to_owned(),
        |gap| format!("{direction}:{}", short(gap)),
    )
}

/// What tells a job from others, but for its name and offset.
pub(super) fn of_job(workload: &Workload) -> Options {
    let mut out = BTreeMap::from([
        ("bs", short(workload.largest())),
        ("iodepth", workload.outstanding.to_string()),
        ("numjobs", workload.workers.to_string()),
        ("rw", rw(workload)),
    ]);
    if workload.sizes.len() > 1 {
        let all: u64 = workload.sizes.iter().map(|(_, n)| u64::from(*n)).sum();
        let parts = workload.sizes.iter().map(|(size, n)| {
            let share = (u64::from(*n) * 100 + all / 2).checked_div(all);
            format!("{}/{}", short(*size), share.unwrap_or(0))
        });
        out.insert("bssplit", parts.collect::<Vec<_>>().join(":"));
    }
    if !matches!(workload.reads, Percent::ALL | Percent::NONE) {
        out.insert("rwmixread", workload.reads.get().to_string());
    }
    if let Pattern::RandomEvery(step) = workload.pattern {
        out.insert("blockalign", short(step));
    }
    if !workload.think.is_zero() {
        out.insert("thinktime", format!("{}us", workload.think.as_micros()));
    }
    if let Some(rate) = workload.rate {
        out.insert("rate_iops", format!("{rate:.0}"));
    }
    out
}
