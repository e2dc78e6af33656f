//! diskspd's reports: in text, the command line and what it means, then tables of requests, then percentiles of latency.
//!
//! Source: the layout of diskspd 2.1 (`ResultParser.cpp`, <https://github.com/microsoft/diskspd>, MIT licence) and its wiki. A row
//! is one thread on one target; sizes are binary, latencies milliseconds.

mod xml;

use crate::escape::terminal;
use crate::utc::Utc;
use std::fmt::Write as _;
use std::time::Duration;
use straddle_bench::compat::diskspd::{Buffer, Command, Order};
use straddle_bench::sample::{Sample, Side};
use straddle_geometry::Bytes;
use straddle_workload::histogram::Latencies;

/// A run of diskspd's kind.
#[derive(Clone, Debug)]
pub struct Run<'a> {
    /// The command line as it was typed.
    pub line: &'a str,
    /// What it means.
    pub command: &'a Command,
    /// What seeded the addresses.
    pub seed: u32,
    /// The machine.
    pub host: &'a str,
    /// When it began, since the first moment of 1970.
    pub began: Duration,
    /// Straddle's version.
    pub version: &'a str,
    /// Processors of the machine.
    pub processors: Vec<Processor>,
    /// What each thread measured on each target.
    pub rows: Vec<Row<'a>>,
}

/// How one processor spent the measured time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Processor {
    /// In programs.
    pub user: Duration,
    /// In the kernel, interrupts and the hypervisor's share too.
    pub kernel: Duration,
    /// Waiting.
    pub idle: Duration,
}

/// One thread on one target.
#[derive(Clone, Debug)]
pub struct Row<'a> {
    /// Number of the thread.
    pub thread: u32,
    /// The target.
    pub path: &'a str,
    /// Its length.
    pub size: Bytes,
    /// What was measured.
    pub sample: Sample,
}

impl Processor {
    /// Percent of its time in use, in programs, in the kernel, and waiting.
    fn shares(&self) -> [f64; 4] {
        let (user, kernel, idle) = (
            self.user.as_secs_f64(),
            self.kernel.as_secs_f64(),
            self.idle.as_secs_f64(),
        );
        let all = user + kernel + idle;
        let share = |part: f64| if all > 0.0 { 100.0 * part / all } else { 0.0 };
        [
            share(user + kernel),
            share(user),
            share(kernel),
            share(idle),
        ]
    }
}

/// The report, in text or, with `-Rxml`, in XML.
#[must_use]
pub fn report(run: &Run<'_>) -> String {
    if run.command.xml {
        return xml::document(run);
    }
    let mut out = String::new();
    let _ = writeln!(out, "\nCommand Line: {}\n", terminal(run.line));
    parameters(&mut out, run);
    let _ = writeln!(
        out,
        "System information:\n\n\tcomputer name: {}\n\tstart time: {} UTC\n\tmeasured by: straddle {} in place of diskspd",
        run.host,
        Utc::new(run.began).slashed(),
        run.version
    );
    out.push_str("\n\nResults for timespan 1:\n");
    let _ = writeln!(out, "{}", "*".repeat(79));
    let took = run.rows.iter().map(|row| row.sample.took).max();
    let took = took.unwrap_or_default();
    let threads = run.rows.iter().map(|row| row.thread + 1).max();
    let _ = writeln!(out, "\nactual test time:\t{:.2}s", took.as_secs_f64());
    let _ = writeln!(out, "thread count:\t\t{}", threads.unwrap_or(0));
    let _ = writeln!(out, "proc count:\t\t{}", run.processors.len());
    processors(&mut out, &run.processors);
    for (title, direction) in [
        ("Total", Direction::Both),
        ("Read", Direction::Reads),
        ("Write", Direction::Writes),
    ] {
        let _ = writeln!(out, "\n{title} IO");
        table(&mut out, run, direction, took);
    }
    if run.command.latency {
        out.push_str("\n\n");
        percentiles(&mut out, run);
    }
    out
}

fn parameters(out: &mut String, run: &Run<'_>) {
    let command = run.command;
    out.push_str("Input parameters:\n\n");
    if command.verbose {
        out.push_str("\tusing verbose mode\n");
    }
    out.push_str("\ttimespan:   1\n\t-------------\n");
    let _ = writeln!(out, "\tduration: {}s", command.runs.as_secs());
    let _ = writeln!(out, "\twarm up time: {}s", command.warm_up.as_secs());
    out.push_str("\tcool down time: 0s\n");
    if command.affinity_disabled {
        out.push_str("\taffinity disabled\n");
    }
    if command.latency {
        out.push_str("\tmeasuring latency\n");
    }
    let _ = writeln!(out, "\trandom seed: {}", run.seed);
    if command.buffer == Buffer::RandomEachTime {
        out.push_str("\tgenerating random data for each write IO\n");
        out.push_str(
            "\t  WARNING: this increases the CPU cost of issuing writes and should only\n",
        );
        out.push_str("\t           be compared to other results using the -Zr flag\n");
    }
    for target in &command.targets {
        parameters_of(out, command, target);
    }
    out.push('\n');
}

fn parameters_of(out: &mut String, command: &Command, target: &str) {
    let mut line = |text: String| {
        let _ = writeln!(out, "{text}");
    };
    line(format!("\tpath: '{}'", terminal(target)));
    line("\t\tthink time: 0ms".to_owned());
    line("\t\tburst size: 0".to_owned());
    let cache = if command.direct {
        "software cache disabled"
    } else {
        "using software cache"
    };
    line(format!("\t\t{cache}"));
    let through = match (command.write_through, command.direct) {
        (false, _) => "using hardware write cache, writethrough off",
        (true, true) => "hardware write cache disabled, writethrough on",
        (true, false) => "hardware and software write caches disabled, writethrough on",
    };
    line(format!("\t\t{through}"));
    if let Buffer::Random(size) = command.buffer {
        line(format!("\t\twrite buffer size: {}", size.get()));
    }
    let writes = command.writes.get();
    line(match writes {
        0 => "\t\tperforming read test".to_owned(),
        100 => "\t\tperforming write test".to_owned(),
        _ => format!(
            "\t\tperforming mix test (read/write ratio: {}/{writes})",
            100 - writes
        ),
    });
    let (block, stride) = (command.block.get(), command.stride.get());
    line(format!("\t\tblock size: {block}"));
    line(match command.order {
        Order::Random => format!("\t\tusing random I/O (alignment: {block})"),
        Order::Sequential => format!("\t\tusing sequential I/O (stride: {stride})"),
        Order::Interlocked => format!("\t\tusing interlocked sequential I/O (stride: {stride})"),
    });
    line(format!(
        "\t\tnumber of outstanding I/O operations: {}",
        command.outstanding
    ));
    if command.base > Bytes::ZERO {
        line(format!("\t\tbase file offset: {}", command.base.get()));
    }
    let most = [
        command.limit,
        command
            .length
            .and_then(|length| command.base.checked_add(length)),
    ];
    if let Some(most) = most.into_iter().flatten().min() {
        line(format!("\t\tmax file size: {}", most.get()));
    }
    line(format!(
        "\t\tthread stride size: {}",
        command.thread_stride.get()
    ));
    line(format!("\t\tthreads per file: {}", command.threads));
    line("\t\tIO priority: normal".to_owned());
}

fn processors(out: &mut String, processors: &[Processor]) {
    let rule = "-".repeat(43);
    let _ = writeln!(out, "\nCPU |  Usage |  User  |  Kernel |  Idle\n{rule}");
    let mut sums = [0.0; 4];
    for (number, processor) in processors.iter().enumerate() {
        let shares = processor.shares();
        let [usage, user, kernel, idle] = shares;
        let _ = writeln!(
            out,
            "{number:4}| {usage:6.2}%| {user:6.2}%|  {kernel:6.2}%| {idle:6.2}%"
        );
        for (sum, share) in sums.iter_mut().zip(shares) {
            *sum += share;
        }
    }
    let number = f64::from(u32::try_from(processors.len()).unwrap_or(u32::MAX).max(1));
    let [usage, user, kernel, idle] = sums.map(|sum| sum / number);
    let _ = writeln!(
        out,
        "{rule}\navg.| {usage:6.2}%| {user:6.2}%|  {kernel:6.2}%| {idle:6.2}%"
    );
}

/// Which requests a table counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Both,
    Reads,
    Writes,
}

impl Direction {
    fn of(self, sample: &Sample) -> Side {
        match self {
            Direction::Reads => sample.reads.clone(),
            Direction::Writes => sample.writes.clone(),
            Direction::Both => sum(&sample.reads, &sample.writes),
        }
    }
}

fn sum(one: &Side, other: &Side) -> Side {
    let mut latencies = one.latencies.clone();
    latencies.merge(&other.latencies);
    Side {
        requests: one.requests + other.requests,
        bytes: Bytes::new(one.bytes.get().saturating_add(other.bytes.get())),
        latencies,
    }
}

fn table(out: &mut String, run: &Run<'_>, direction: Direction, took: Duration) {
    let latency = run.command.latency;
    let (mean, deviation, longer) = if latency {
        ("|  AvgLat  ", "| LatStdDev ", "-".repeat(23))
    } else {
        ("", "", String::new())
    };
    let _ = writeln!(
        out,
        "thread |       bytes     |     I/Os     |    MiB/s   |  I/O per s {mean}{deviation}|  file"
    );
    let rule = format!("{}{longer}{}", "-".repeat(66), "-".repeat(12));
    let _ = writeln!(out, "{rule}");
    let mut total = Side::default();
    for row in &run.rows {
        let side = direction.of(&row.sample);
        let _ = write!(out, "{:6} | ", row.thread);
        figures(out, &side, took, latency);
        let _ = writeln!(out, " | {} ({})", terminal(row.path), size(row.size));
        total = sum(&total, &side);
    }
    let _ = writeln!(out, "{rule}");
    out.push_str("total:   ");
    figures(out, &total, took, latency);
    out.push('\n');
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts of bytes stay far below 2⁵³"
)]
fn figures(out: &mut String, side: &Side, took: Duration, latency: bool) {
    let seconds = took.as_secs_f64();
    let each = |count: f64| if seconds > 0.0 { count / seconds } else { 0.0 };
    let _ = write!(
        out,
        "{:15} | {:12} | {:10.2} | {:10.2}",
        side.bytes.get(),
        side.requests,
        each(side.bytes.get() as f64 / f64::from(1 << 20)),
        side.rate(took)
    );
    if latency {
        let _ = write!(out, " | {:8.3}", milliseconds(side.latencies.mean()));
        let _ = match side.latencies.count() {
            0 => write!(out, " |       N/A"),
            _ => write!(out, " |  {:8.3}", milliseconds(side.latencies.deviation())),
        };
    }
}

/// A length in the unit that leaves at least two digits.
fn size(bytes: Bytes) -> String {
    let bytes = bytes.get();
    for (name, shift) in [("GiB", 30), ("MiB", 20), ("KiB", 10)] {
        if bytes > 10 << shift {
            return format!("{}{name}", bytes >> shift);
        }
    }
    format!("{bytes}B")
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

/// diskspd's percentiles and their names.
const PERCENTILES: [(f64, &str); 13] = [
    (25.0, "25th"),
    (50.0, "50th"),
    (75.0, "75th"),
    (90.0, "90th"),
    (95.0, "95th"),
    (99.0, "99th"),
    (99.9, "3-nines"),
    (99.99, "4-nines"),
    (99.999, "5-nines"),
    (99.9999, "6-nines"),
    (99.999_99, "7-nines"),
    (99.999_999, "8-nines"),
    (99.999_999_9, "9-nines"),
];

fn percentiles(out: &mut String, run: &Run<'_>) {
    let chart = |out: &mut String, rows: &[&Row<'_>]| {
        let mut reads = Latencies::new();
        let mut writes = Latencies::new();
        for row in rows {
            reads.merge(&row.sample.reads.latencies);
            writes.merge(&row.sample.writes.latencies);
        }
        chart(out, &reads, &writes);
    };
    if run.command.targets.len() > 1 {
        for target in &run.command.targets {
            let rows: Vec<_> = run.rows.iter().filter(|row| row.path == target).collect();
            let _ = writeln!(out, "\n{}", terminal(target));
            chart(out, &rows);
        }
    }
    out.push_str("\ntotal:\n");
    let rows: Vec<_> = run.rows.iter().collect();
    chart(out, &rows);
}

fn chart(out: &mut String, reads: &Latencies, writes: &Latencies) {
    let mut all = reads.clone();
    all.merge(writes);
    out.push_str("  %-ile |  Read (ms) | Write (ms) | Total (ms)\n");
    let _ = writeln!(out, "{}", "-".repeat(46));
    let mut line = |name: &str, of: &dyn Fn(&Latencies) -> Duration| {
        let cell = |latencies: &Latencies| match latencies.count() {
            0 => "N/A".to_owned(),
            _ => format!("{:.3}", milliseconds(of(latencies))),
        };
        let _ = writeln!(
            out,
            "{name:>7} | {:>10} | {:>10} | {:10.3}",
            cell(reads),
            cell(writes),
            milliseconds(of(&all))
        );
    };
    let least = |latencies: &Latencies| match latencies.count() {
        0 => Duration::ZERO,
        _ => latencies.least(),
    };
    line("min", &least);
    for (percent, name) in PERCENTILES {
        line(name, &|latencies| latencies.percentile(percent));
    }
    line("max", &Latencies::most);
}

#[cfg(test)]
mod tests;
