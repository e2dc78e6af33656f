use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;
use straddle::geometry::Unit;
use straddle::io::engine::Kind;
use straddle::workload::offset::Offset;
use straddle::workload::{Pattern, Percent};

use super::shares::{self, Mix, Sizes, mix, pattern, percent, sizes};
use super::sizes::{full_stripe, offset, stripe_unit, working_set};
use super::{rates, times};

/// How fast is each partition offset on this storage?
///
/// Measures the same workload at several partition offsets without repartitioning: it shifts the requests inside one test
/// file. The first offset is the baseline; it is measured again between the others, so that drift is not mistaken for a
/// difference. Runs repeat until every gain is known to within --precision, or --budget runs out.
///
/// TARGET is a directory or a new path: bench creates a file of --size there, fills it, and removes it at the end. An
/// existing file or device is only read; writing to a device requires --destroy-data.
///
/// Exit status: 0 if the experiment finished, 2 if not (what was measured is still printed). With --quiet, 1 if it finished and
/// proved nothing of at least one offset.
#[derive(Debug, Args)]
#[command(after_help = concat!(
    "Examples:",
    "\n  straddle bench /data                            a test file there: 8 KiB reads at five offsets",
    "\n  straddle bench /data --rw read,write,70/30 --threads 1,8",
    "\n  straddle bench /data --replay trace.blkparse     the requests of a recording, at five offsets",
    "\n  straddle bench /data --dry-run                  what it would do, and how long it takes",
))]
pub(crate) struct Bench {
    /// Directory or new path for the test file; with --rw read, also an existing file or device
    #[arg(value_name = "TARGET", required_unless_present_any = ["resume", "destroy_data", "job"])]
    pub(crate) target: Option<PathBuf>,

    /// Print the plan, where its requests would land and how long it takes; do no I/O
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Keep the test file and the journal
    #[arg(long)]
    pub(crate) keep: bool,

    /// Resume an interrupted experiment from its journal, which holds all its options; with a longer --budget or more --blocks,
    /// also one that finished and was kept (--keep)
    #[arg(long, value_name = "JOURNAL", conflicts_with_all = [
        "target", "WorkloadArgs", "replay", "offsets", "size", "runtime", "warm_up", "precision", "seed", "How", "dry_run", "journal", "job",
    ])]
    pub(crate) resume: Option<PathBuf>,

    /// Where to write the journal [default: next to the test file, or in the current directory]
    #[arg(long, value_name = "FILE")]
    pub(crate) journal: Option<PathBuf>,

    /// Take the target and the workloads from a fio job file
    #[arg(long, value_name = "FILE.fio", conflicts_with = "WorkloadArgs")]
    pub(crate) job: Option<PathBuf>,

    /// Output format
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = BenchFormat::Text)]
    pub(crate) format: BenchFormat,

    /// Print one JSON document (see `straddle schema bench`); the same as --format json
    #[arg(long, conflicts_with = "format")]
    pub(crate) json: bool,

    /// Print only errors; otherwise just set the exit status: 0 every gain is proven, or proven to be below --precision; 1 finished,
    /// and some gain is not; 2 not finished
    #[arg(short, long)]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) workload: WorkloadArgs,

    #[command(flatten)]
    pub(crate) recorded: RecordedArgs,

    #[command(flatten)]
    pub(crate) plan: PlanArgs,

    #[command(flatten)]
    pub(crate) how: How,

    #[command(flatten)]
    pub(crate) devices: Devices,

    #[command(flatten)]
    pub(crate) keeping: super::history::Keeping,
}

/// The workload. Several values of an option are measured in all combinations.
#[derive(Debug, Args)]
#[command(next_help_heading = "Workload")]
pub(crate) struct WorkloadArgs {
    /// Request sizes; to mix sizes in one workload, give their shares: 8K:70+64K:30
    #[arg(long, visible_alias = "bs", aliases = ["blocksize", "block-size"], value_name = "SIZE,…", value_delimiter = ',', value_parser = sizes, default_value = "8K")]
    pub(crate) io: Vec<Sizes>,

    /// Reads and writes: read, write, or the percentages of reads and writes, such as 70/30; randread, randwrite and randrw as in fio
    #[arg(long, value_name = "MIX,…", value_delimiter = ',', value_parser = mix, default_value = "read")]
    pub(crate) rw: Vec<Mix>,

    /// Access pattern: random, sequential (seq), or strided:SIZE, which starts a request every SIZE bytes [default: random]
    #[arg(long, value_name = "ORDER,…", value_delimiter = ',', value_parser = pattern)]
    pub(crate) pattern: Vec<Pattern>,

    /// Threads that issue requests
    #[arg(long = "threads", visible_aliases = ["workers", "numjobs"], value_name = "N,…", value_delimiter = ',', default_value = "1",
          value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) workers: Vec<u32>,

    /// Queue depth: outstanding I/Os per thread
    #[arg(long, visible_aliases = ["iodepth", "qd"], aliases = ["io-depth", "queue-depth"], value_name = "N,…", value_delimiter = ',', default_value = "8",
          value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(crate) outstanding: Vec<u32>,

    /// Think time: pause between a completion and the request that follows it
    #[arg(long, value_name = "TIME", value_parser = times::think, default_value = "0s")]
    pub(crate) think: Duration,

    /// Open loop: issue this many requests per second at fixed times, whether or not earlier ones completed
    #[arg(long, value_name = "IOPS", value_parser = rates::requests)]
    pub(crate) rate: Option<f64>,
}

impl WorkloadArgs {
    /// Reads and the pattern of each workload.
    pub(crate) fn streams(&self) -> Result<Vec<(Percent, Pattern)>, String> {
        shares::streams(&self.rw, &self.pattern)
    }
}

/// A recording in place of a workload.
#[derive(Debug, Args)]
#[command(next_help_heading = "Recorded requests")]
pub(crate) struct RecordedArgs {
    /// Make the requests of a recorded trace, of any recorder that `straddle trace` reads, at each offset; --threads and
    /// --outstanding set the queue depth. An existing file is only read, so a trace with writes needs a new test file or a device
    #[arg(long, value_name = "TRACE", conflicts_with_all = ["io", "rw", "pattern", "think", "rate", "job"])]
    pub(crate) replay: Option<PathBuf>,

    /// The device of the trace whose requests are made, where there are several
    #[arg(
        long,
        value_name = "NAME",
        requires = "replay",
        conflicts_with = "resume"
    )]
    pub(crate) device: Option<String>,

    /// Keep the recorded times: each request is due when it was recorded, and latency counts from there [default: as fast as possible]
    #[arg(long, requires = "replay")]
    pub(crate) timed: bool,

    /// How many times as fast as recorded; implies --timed
    #[arg(long, value_name = "TIMES", requires = "replay", value_parser = speed)]
    pub(crate) replay_speed: Option<f64>,

    /// What becomes of requests beyond the working set: `wrap` takes addresses modulo its whole MiB, `scale` multiplies the numbers
    /// of MiB down; the place within a MiB always stays
    #[arg(long, value_enum, value_name = "RULE", requires = "replay", default_value_t = FitArg::Wrap)]
    pub(crate) replay_fit: FitArg,

    /// Where the data begin in what was recorded, such as 63s for a whole disk with its partition there: offsets shift the data, so
    /// requests before it are left out
    #[arg(long, value_name = "OFFSET", requires = "replay", value_parser = offset)]
    pub(crate) replay_start: Option<Offset>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FitArg {
    Wrap,
    Scale,
}

/// The experiment.
#[derive(Debug, Args)]
#[command(next_help_heading = "Experiment")]
pub(crate) struct PlanArgs {
    /// Partition offsets to compare, baseline first: sizes, or `unaligned` (sector 63)
    #[arg(long, value_name = "OFFSET,…", value_delimiter = ',', value_parser = offset,
          default_value = "unaligned,64K,128K,1M,2M")]
    pub(crate) offsets: Vec<Offset>,

    /// Working set: range of addresses that requests hit [default: 1G for a new test file, all of an existing one]
    #[arg(long, value_name = "SIZE", value_parser = working_set)]
    pub(crate) size: Option<Unit>,

    /// Measured time of each run; a bare number is seconds
    #[arg(long, value_name = "TIME", value_parser = times::run, default_value = "1s")]
    pub(crate) runtime: Duration,

    /// Warm-up of each run, not measured; a bare number is seconds
    #[arg(long, value_name = "TIME", value_parser = times::warm_up, default_value = "200ms")]
    pub(crate) warm_up: Duration,

    /// Stop when every gain is known to within this: half-width of the 95% confidence interval
    #[arg(long, value_name = "PERCENT", value_parser = percent, default_value = "1%")]
    pub(crate) precision: f64,

    /// Start no new block of runs after this time; `none` for no limit [default: 2m, or 5/4 of what the minimum of --blocks takes]
    #[arg(long, value_name = "TIME", value_parser = budget)]
    pub(crate) budget: Option<Budget>,

    /// Minimum and maximum blocks per workload, such as 6 or 6-20; a block runs every offset once, with the baseline in between
    /// [default: 5-1000]
    #[arg(long, value_name = "MIN[-MAX]", value_parser = blocks)]
    pub(crate) blocks: Option<Blocks>,

    /// Random seed for the order of runs and for addresses [default: from the clock]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
}

/// How requests are issued.
#[derive(Debug, Args)]
#[command(next_help_heading = "Requests")]
pub(crate) struct How {
    /// How requests are submitted to the kernel; `auto` tries which is fastest here
    #[arg(long, value_name = "ENGINE", value_parser = engine, default_value = "auto")]
    pub(crate) engine: EngineArg,

    /// Use the page cache: measures memory, not storage
    #[arg(long)]
    pub(crate) buffered: bool,

    /// A write completes once it is on stable storage (O_DSYNC, FILE_FLAG_WRITE_THROUGH)
    #[arg(long, conflicts_with = "fua")]
    pub(crate) write_through: bool,

    /// The same per write: forced unit access (FUA) if the device supports it (RWF_DSYNC, Linux)
    #[arg(long)]
    pub(crate) fua: bool,

    /// Atomic writes, never torn (RWF_ATOMIC, Linux only); the device must support them
    #[arg(long)]
    pub(crate) atomic: bool,

    /// Poll for completions (direct I/O on devices with polled queues, Linux only)
    #[arg(long)]
    pub(crate) polled: bool,

    /// Stamp every block written, and verify every block read
    #[arg(long)]
    pub(crate) verify: bool,

    /// Stripe unit (chunk, strip) of the array below: bytes on one disk before the next disk follows
    #[arg(long, aliases = ["chunk", "chunk-size", "strip", "strip-size"], value_name = "SIZE", value_parser = stripe_unit)]
    pub(crate) stripe_unit: Option<Unit>,

    /// Full stripe of the array below: stripe unit × data disks
    #[arg(long, value_name = "SIZE", value_parser = full_stripe)]
    pub(crate) stripe_width: Option<Unit>,
}

/// Writing to a device.
#[derive(Debug, Args)]
#[command(next_help_heading = "Devices")]
pub(crate) struct Devices {
    /// Measure on this block device and destroy its data
    #[arg(long, value_name = "DEVICE", requires = "yes_destroy")]
    pub(crate) destroy_data: Option<PathBuf>,

    /// Confirm --destroy-data: repeat the last component of the device's path
    #[arg(long, value_name = "NAME", requires = "destroy_data")]
    pub(crate) yes_destroy: Option<String>,

    /// Go ahead even if the device is not blank: it holds a partition table, a filesystem, a volume or unrecognised data
    #[arg(long, requires = "destroy_data")]
    pub(crate) overwrite_signatures: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum BenchFormat {
    /// Tables, gains and what they mean, for reading
    Text,
    /// One document, for programs
    Json,
    /// One line per workload and offset, for spreadsheets
    Csv,
    /// One line per run: raw figures
    Runs,
    /// fio's json+ format, for tools that read it
    Fio,
    /// A chart of the gains and their confidence intervals
    Svg,
}

/// How long an experiment may take; `None` is as long as it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Budget(pub(crate) Option<Duration>);

/// Least and most blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Blocks {
    pub(crate) least: u32,
    pub(crate) most: u32,
}

/// An engine; `None` is the one that a trial finds best.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EngineArg(pub(crate) Option<Kind>);

fn budget(text: &str) -> Result<Budget, String> {
    super::times::budget(text).map(Budget)
}

/// `5`, `5-20`.
fn blocks(text: &str) -> Result<Blocks, String> {
    let fail = || format!("`{text}` is not a number of blocks; write it like 6 or 6-20");
    let (least, most) = text.split_once('-').unwrap_or((text, text));
    let blocks = Blocks {
        least: least.parse().map_err(|_| fail())?,
        most: most.parse().map_err(|_| fail())?,
    };
    if blocks.least == 0 || blocks.most < blocks.least {
        return Err(fail());
    }
    Ok(blocks)
}

fn engine(text: &str) -> Result<EngineArg, String> {
    match text {
        "auto" => Ok(EngineArg(None)),
        _ => {
            let kind = text.parse::<Kind>().map_err(|error| error.to_string())?;
            Ok(EngineArg(Some(kind)))
        }
    }
}

/// `2`, `0.5`, `2x`.
fn speed(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix(['x', '×']).unwrap_or(text);
    match number.parse::<f64>() {
        Ok(speed) if speed.is_finite() && (1e-6..=1e6).contains(&speed) => Ok(speed),
        _ => Err(format!(
            "`{text}` is not a speed; write it like 1, 0.5 or 10"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_a_number_or_a_range() {
        assert_eq!(blocks("6"), Ok(Blocks { least: 6, most: 6 }));
        assert_eq!(blocks("6-20"), Ok(Blocks { least: 6, most: 20 }));
        for text in ["0", "6-5", "6-", "-6", "x"] {
            blocks(text).expect_err(text);
        }
    }
}
