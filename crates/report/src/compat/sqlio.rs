//! SQLIO's report: what is asked for in words, then rates, then latencies in whole milliseconds with their histogram.
//!
//! Source: SQLIO's `readme.txt` and published reports of version 1.5.SG. SQLIO cuts the latency of each request to whole
//! milliseconds before it counts, so its mean is that of the cut values, cut again; three published reports whose rate,
//! outstanding requests and histogram are known show it. The lines about a file that is made longer have not been seen in a
//! published report; no known parser reads them.

use crate::escape::terminal;
use std::fmt::Write as _;
use straddle_bench::compat::sqlio::{Buffering, Command, Order};
use straddle_bench::sample::Sample;
use straddle_geometry::{Access, Bytes};
use straddle_rules::figures::counted;

/// Columns of the histogram: 0 to 23 ms, and 24 and more.
const COLUMNS: usize = 25;

/// A file as it was found or made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File<'a> {
    /// As it was named.
    pub name: &'a str,
    /// Threads that use it.
    pub threads: u32,
    /// Bytes of it that are used.
    pub size: Bytes,
    /// Whether the parameter file says so.
    pub specified: bool,
    /// Its length before, where it had to be made or made longer.
    pub grown_from: Option<Bytes>,
}

/// The head of a report, which stands before the run; `version` is Straddle's.
#[must_use]
pub fn head(command: &Command, files: &[File<'_>], version: &str) -> String {
    let mut out = String::from("sqlio v1.5.SG\n");
    let _ = writeln!(out, "straddle {version} in place of SQLIO");
    if command.latency {
        out.push_str("using system counter for latency timings, 1000000000 counts per second\n");
    }
    if let Some(parameters) = &command.parameter_file {
        let _ = writeln!(out, "parameter file used: {}", terminal(parameters));
        let mut first = 0;
        for file in files {
            let last = first + file.threads.saturating_sub(1);
            let (name, threads) = (terminal(file.name), counted(file.threads, "thread"));
            let _ = writeln!(
                out,
                "\tfile {name} with {threads} ({first}-{last}) using mask 0x0 (0)"
            );
            first = last + 1;
        }
    }
    let threads = match &command.parameter_file {
        Some(_) => files.iter().map(|file| file.threads).sum(),
        // Without a parameter file, the same threads use all files.
        None => files.first().map_or(0, |file| file.threads),
    };
    let (verb, preposition) = match command.access {
        Access::Read => ("reading", "from"),
        Access::Write => ("writing", "to"),
    };
    let _ = writeln!(
        out,
        "{} {verb} for {} secs {preposition} {}",
        counted(threads, "thread"),
        command.runs.as_secs(),
        list(files)
    );
    let kilobytes = command.block.get() >> 10;
    let _ = match command.order {
        Order::Random => writeln!(out, "\tusing {kilobytes}KB random IOs"),
        Order::Sequential => writeln!(out, "\tusing {kilobytes}KB sequential IOs"),
        Order::Stripe { factor, per_run } => writeln!(
            out,
            "\tusing {kilobytes}KB IOs over {}KB stripes with {per_run} IOs per run",
            kilobytes.saturating_mul(factor)
        ),
    };
    if let Some(outstanding) = command.outstanding {
        let _ = writeln!(
            out,
            "\tenabling multiple I/Os per thread with {outstanding} outstanding"
        );
    }
    if let Some(caches) = caches(command.buffering) {
        let _ = writeln!(out, "\tbuffering set to {caches}");
    }
    for file in files {
        if let Some(before) = file.grown_from {
            let (name, size) = (terminal(file.name), file.size.get());
            let more = size.saturating_sub(before.get());
            let _ = writeln!(out, "\tsize of file {name} needs to be: {size} bytes");
            let _ = writeln!(out, "\tcurrent file size:\t{} bytes", before.get());
            let _ = writeln!(out, "\tneed to expand by:\t{more} bytes");
            let _ = writeln!(out, "\texpanding {name} ... done.");
        }
    }
    for file in files {
        let which = if file.specified {
            "specified"
        } else {
            "current"
        };
        let _ = writeln!(
            out,
            "using {which} size: {} MB for file: {}",
            file.size.get() >> 20,
            terminal(file.name)
        );
    }
    out.push_str("initialization done\n");
    out
}

/// What was measured, which stands behind the run: one sample for each file, all made at the same time.
#[must_use]
#[expect(
    clippy::cast_precision_loss,
    reason = "counts and bytes stay far below 2⁵³"
)]
pub fn results(command: &Command, samples: &[Sample]) -> String {
    let mut out = String::from("CUMULATIVE DATA:\nthroughput metrics:\n");
    let bytes = |sample: &Sample| {
        let bytes = sample.reads.bytes.get() + sample.writes.bytes.get();
        let seconds = sample.took.as_secs_f64();
        if seconds > 0.0 {
            bytes as f64 / seconds
        } else {
            0.0
        }
    };
    let requests: f64 = samples.iter().map(Sample::rate).sum();
    let bytes: f64 = samples.iter().map(bytes).sum();
    let _ = writeln!(out, "IOs/sec: {requests:8.2}");
    let _ = writeln!(out, "MBs/sec: {:8.2}", bytes / f64::from(1 << 20));
    if command.latency {
        latencies(&mut out, samples);
    }
    out
}

fn latencies(out: &mut String, samples: &[Sample]) {
    let mut columns = [0_u64; COLUMNS];
    let (mut all, mut milliseconds) = (0_u64, 0_u128);
    let (mut least, mut most) = (None, 0);
    for sample in samples {
        let latencies = sample.latencies();
        // Latencies are known to three digits, so one just below a whole millisecond may count as that.
        for (latency, count) in latencies.buckets() {
            let cut = latency.as_millis();
            let column = usize::try_from(cut).unwrap_or(COLUMNS).min(COLUMNS - 1);
            if let Some(column) = columns.get_mut(column) {
                *column += count;
            }
            all += count;
            milliseconds += cut * u128::from(count);
        }
        if latencies.count() > 0 {
            let shortest = latencies.least().as_millis();
            least = Some(least.map_or(shortest, |least: u128| least.min(shortest)));
            most = most.max(latencies.most().as_millis());
        }
    }
    let mean = milliseconds / u128::from(all.max(1));
    let _ = writeln!(out, "latency metrics:");
    let _ = writeln!(out, "Min_Latency(ms): {}", least.unwrap_or(0));
    let _ = writeln!(out, "Avg_Latency(ms): {mean}");
    let _ = writeln!(out, "Max_Latency(ms): {most}");
    out.push_str("histogram:\nms:");
    for column in 0..COLUMNS - 1 {
        let width = if column == 0 { 2 } else { 3 };
        let _ = write!(out, "{column:width$}");
    }
    out.push_str(" 24+\n%:");
    for count in columns {
        let _ = write!(out, "{:3}", percent(count, all));
    }
    out.push('\n');
}

/// The nearest whole percent.
fn percent(part: u64, all: u64) -> u128 {
    let all = u128::from(all.max(1));
    (u128::from(part) * 200 + all) / (2 * all)
}

/// `file a`, `files a, b and c`.
fn list(files: &[File<'_>]) -> String {
    let names: Vec<_> = files.iter().map(|file| terminal(file.name)).collect();
    match names.as_slice() {
        [] => "no file".to_owned(),
        [one] => format!("file {one}"),
        [most @ .., last] => format!("files {} and {last}", most.join(", ")),
    }
}

/// That of `-BH` is in published reports. For the others none was at hand, and no known parser reads them.
fn caches(buffering: Buffering) -> Option<&'static str> {
    match buffering {
        Buffering::Unsaid => None,
        Buffering::None => Some("not use file nor disk caches (as is SQL Server)"),
        Buffering::Both => Some("use both file and disk caches"),
        Buffering::Hardware => Some("use hardware disk cache (but not file cache)"),
        Buffering::Software => Some("use software file cache (but not disk cache)"),
    }
}

#[cfg(test)]
mod tests;
