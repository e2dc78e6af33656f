use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;
use straddle::geometry::{Bytes, Unit};
use straddle::io::engine::Kind;
use straddle::workload::offset::{Offset, OffsetListError};
use straddle::workload::{Pattern, Percent};

/// How fast is each partition offset on this storage?
///
/// Measures the same workload at several partition offsets without repartitioning: it shifts the requests inside one test
/// file. The first offset is the baseline; it is measured again between the others, so that drift is not mistaken for a
/// difference. Runs repeat until every gain is known to within --precision, or --budget runs out.
///
/// TARGET is a directory or a new path: bench creates a file of --size there, fills it, and removes it at the end. An
/// existing file or device is only read; writing to a device requires --destroy-data.
///
/// Exit status: 0 if the experiment finished, 2 if not (what was measured is still printed).
#[derive(Debug, Args)]
#[command(after_help = concat!(
    "Examples:",
    "\n  straddle bench /data                            a test file there: 8 KiB reads at five offsets",
    "\n  straddle bench /data --rw read,write,70/30 --threads 1,8",
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

    /// Resume an interrupted experiment from its journal, which holds all its options
    #[arg(long, value_name = "JOURNAL", conflicts_with_all = [
        "target", "WorkloadArgs", "PlanArgs", "How", "dry_run", "journal", "job",
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

    /// Print only errors; otherwise just set the exit status
    #[arg(short, long)]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) workload: WorkloadArgs,

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
    /// Request sizes; to mix sizes in one workload, give weights: 8K:70+64K:30
    #[arg(long, value_name = "SIZE,…", value_delimiter = ',', value_parser = sizes, default_value = "8K")]
    pub(crate) io: Vec<Sizes>,

    /// Reads and writes: read, write, or the percentages of reads and writes, such as 70/30
    #[arg(long, value_name = "MIX,…", value_delimiter = ',', value_parser = mix, default_value = "read")]
    pub(crate) rw: Vec<Percent>,

    /// Access pattern: random, sequential, or strided:SIZE, which starts a request every SIZE bytes
    #[arg(long, value_name = "ORDER,…", value_delimiter = ',', value_parser = pattern, default_value = "random")]
    pub(crate) pattern: Vec<Pattern>,

    /// Threads that issue requests
    #[arg(long = "threads", visible_alias = "workers", value_name = "N,…", value_delimiter = ',', default_value = "1",
          value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) workers: Vec<u32>,

    /// Queue depth: outstanding I/Os per thread
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "8",
          value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(crate) outstanding: Vec<u32>,

    /// Think time: pause between a completion and the request that follows it
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "0s")]
    pub(crate) think: Duration,

    /// Open loop: issue this many requests per second at fixed times, whether or not earlier ones completed
    #[arg(long, value_name = "IOPS", value_parser = rate)]
    pub(crate) rate: Option<f64>,
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
    #[arg(long, value_name = "SIZE", value_parser = super::sizes::unit)]
    pub(crate) size: Option<Unit>,

    /// Measured time of each run
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "1s")]
    pub(crate) runtime: Duration,

    /// Warm-up of each run, not measured
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "200ms")]
    pub(crate) warm_up: Duration,

    /// Stop when every gain is known to within this: half-width of the 95% confidence interval
    #[arg(long, value_name = "PERCENT", value_parser = percent, default_value = "1%")]
    pub(crate) precision: f64,

    /// Start no new block of runs after this time; `none` for no limit
    #[arg(long, value_name = "TIME", value_parser = budget, default_value = "2m")]
    pub(crate) budget: Budget,

    /// Minimum and maximum blocks per workload, such as 6 or 6-20; a block runs every offset once, with the baseline in between
    #[arg(long, value_name = "MIN[-MAX]", value_parser = blocks, default_value = "5-1000")]
    pub(crate) blocks: Blocks,

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
    #[arg(long, value_name = "SIZE", value_parser = super::sizes::unit)]
    pub(crate) stripe_unit: Option<Unit>,

    /// Full stripe of the array below: stripe unit × data disks
    #[arg(long, value_name = "SIZE", value_parser = super::sizes::unit)]
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

/// Request sizes, and how often each comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sizes(pub(crate) Vec<(Unit, u32)>);

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

/// `unaligned`, `64K`, `63s`.
pub(super) fn offset(text: &str) -> Result<Offset, String> {
    text.parse()
        .map_err(|error: OffsetListError| error.to_string())
}

/// `8K`, `8K:70+64K:30`.
pub(super) fn sizes(text: &str) -> Result<Sizes, String> {
    let one = |part: &str| {
        let (size, weight) = match part.split_once(':') {
            Some((size, weight)) => {
                let weight: Result<u32, _> = weight.parse();
                let weight = weight
                    .ok()
                    .filter(|weight| (1..=1_000_000).contains(weight));
                (
                    size,
                    weight.ok_or_else(|| {
                        format!("`{part}` needs a weight from 1 to 1,000,000; write it like 8K:70+64K:30")
                    })?,
                )
            }
            None => (part, 1),
        };
        let size = super::sizes::unit(size)?;
        if size.bytes() > Bytes::mib(64) {
            return Err(format!(
                "`{part}` is larger than 64 MiB, the maximum request size"
            ));
        }
        Ok((size, weight))
    };
    text.split('+')
        .map(one)
        .collect::<Result<_, _>>()
        .map(Sizes)
}

/// `random`, `sequential`, `strided:64K`.
pub(super) fn pattern(text: &str) -> Result<Pattern, String> {
    match text.split_once(':') {
        None if text == "random" => Ok(Pattern::Random),
        None if text == "sequential" => Ok(Pattern::Sequential),
        Some(("strided", stride)) => super::sizes::unit(stride).map(Pattern::Strided),
        _ => Err(format!(
            "`{text}` is not an access pattern; expected random, sequential, or strided with the distance between requests, such as strided:64K"
        )),
    }
}

/// `read`, `write`, `70/30`.
pub(super) fn mix(text: &str) -> Result<Percent, String> {
    let fail = || {
        format!(
            "`{text}` is not a mix; expected read, write, or two percentages that add up to 100, such as 70/30 (reads first)"
        )
    };
    match text {
        "read" => return Ok(Percent::ALL),
        "write" => return Ok(Percent::NONE),
        _ => {}
    }
    let (reads, writes) = text.split_once('/').ok_or_else(fail)?;
    let reads: u8 = reads.parse().map_err(|_| fail())?;
    let writes: u8 = writes.parse().map_err(|_| fail())?;
    if u32::from(reads) + u32::from(writes) != 100 {
        return Err(fail());
    }
    Percent::new(reads).ok_or_else(fail)
}

/// `2s`, `500ms`, `1.5m`.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let fail = || format!("`{text}` is not a time; write it like 500ms, 2s, 10m or 1h");
    let at = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (number, unit) = text.split_at(at.ok_or_else(fail)?);
    let seconds = match unit {
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(fail()),
    };
    let number: f64 = number.parse().map_err(|_| fail())?;
    Duration::try_from_secs_f64(number * seconds).map_err(|_| fail())
}

fn budget(text: &str) -> Result<Budget, String> {
    match text {
        "none" => Ok(Budget(None)),
        _ => duration(text).map(|time| Budget(Some(time))),
    }
}

/// `5000`, `12.5K` is not: requests are counted in tens.
pub(super) fn rate(text: &str) -> Result<f64, String> {
    let rate: Option<f64> = text.parse().ok();
    rate.filter(|rate| rate.is_finite() && *rate > 0.0)
        .ok_or_else(|| {
            format!("`{text}` is not a rate in requests per second above zero; write it like 5000")
        })
}

/// `1%`, as a share.
pub(super) fn percent(text: &str) -> Result<f64, String> {
    let number = text
        .strip_suffix('%')
        .and_then(|number| number.parse().ok());
    number
        .filter(|percent: &f64| percent.is_finite() && *percent > 0.0 && *percent <= 100.0)
        .map(|percent| percent / 100.0)
        .ok_or_else(|| format!("`{text}` is not a percentage; write it like 1% or 0.5%"))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_keep_the_name_they_were_given() {
        let unaligned = offset("unaligned").expect("is known");
        assert_eq!(unaligned.bytes, Bytes::new(32_256));
        let sectors = offset("63s").expect("63 sectors");
        assert_eq!(
            (sectors.name.as_str(), sectors.bytes),
            ("63s", unaligned.bytes)
        );
        offset("aligned").expect_err("which?");
    }

    #[test]
    fn distributions_mixes_and_times_are_read() {
        let kib = |n: u64| Unit::new(n << 10).expect("not zero");
        assert_eq!(
            sizes("8K:70+64K:30"),
            Ok(Sizes(vec![(kib(8), 70), (kib(64), 30)]))
        );
        assert_eq!(sizes("8K"), Ok(Sizes(vec![(kib(8), 1)])));
        for text in ["", "8K:", "8K:0", "8K+", "1G", "8K:70,64K"] {
            sizes(text).expect_err(text);
        }
        assert_eq!(pattern("random"), Ok(Pattern::Random));
        assert_eq!(pattern("strided:64K"), Ok(Pattern::Strided(kib(64))));
        for text in [
            "",
            "strided",
            "strided:",
            "strided:0",
            "random:4K",
            "Random",
        ] {
            pattern(text).expect_err(text);
        }
        assert_eq!(mix("70/30"), Ok(Percent::new(70).expect("a share")));
        for text in ["70", "70/40", "101/-1", "reads", "/"] {
            mix(text).expect_err(text);
        }
        assert_eq!(duration("1.5m"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        for text in [
            "10",
            "s",
            "-1s",
            "1.2.3s",
            "1e9s",
            "9999999999999999999999h",
            "",
        ] {
            duration(text).expect_err(text);
        }
        assert_eq!(blocks("6"), Ok(Blocks { least: 6, most: 6 }));
        for text in ["0", "6-5", "6-", "-6", "x"] {
            blocks(text).expect_err(text);
        }
        assert_eq!(percent("0.5%"), Ok(0.005));
        for text in ["1", "0%", "101%", "nan%", "%"] {
            percent(text).expect_err(text);
        }
        assert_eq!(budget("none"), Ok(Budget(None)));
        for text in ["0", "-1", "inf", "x"] {
            rate(text).expect_err(text);
        }
    }
}
