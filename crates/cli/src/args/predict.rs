use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;
use straddle::geometry::Unit;
use straddle::predict::design::{Axis, MAX_OUTSTANDING, MAX_THREADS};
use straddle::workload::offset::Offset;
use straddle::workload::{Pattern, Percent};

use super::parameter::{axis, setting};
use super::shares::{self, Mix, Sizes, mix, pattern, percent, sizes};
use super::sizes::{cache, data, offset, stripe_unit, working_set};
use super::{rates, times};

/// How fast would each partition offset be, and is moving the data worth it?
///
/// Simulates the same workload at several partition offsets on a model of the array or device: a profile, corrected by what
/// --stack says about the real array. The first offset is the baseline. Says how fast each offset is, which mechanism makes
/// the difference, how much the gain depends on assumptions, and what to do. Touches nothing.
///
/// Exit status: 0 if it could be predicted, 2 if not.
#[derive(Debug, Args)]
#[command(after_help = concat!(
    "Examples:",
    "\n  straddle predict --profile raid10-600gb         reads, writes and 70/30 at three offsets",
    "\n  straddle predict --stack server.txt --profile raid10-600gb --rw 70/30",
    "\n  straddle predict --disk cheetah-15k7 --raid 5 --disks 8 --cache 512M",
    "\n  straddle predict --profile sata-tlc --compare io=4K,8K,64K",
))]
pub(crate) struct Predict {
    /// Storage stack that the partition is in: anything that `check` takes (an image, a device, a capture, captured text), or
    /// the output of `straddle check --format json` (`-` reads standard input)
    #[arg(long, value_name = "FILE|TARGET")]
    pub(crate) stack: Option<PathBuf>,

    /// Follow a virtual disk to every file that it names. Without this flag, only to files in its own directory and files that
    /// its owner may read
    #[arg(long, requires = "stack")]
    pub(crate) follow_outside: bool,

    /// Partition or volume of the stack to predict [default: every misaligned one]
    #[arg(long, value_name = "NAME", requires = "stack")]
    pub(crate) partition: Option<String>,

    /// Profile of the array or device: a name from `straddle profile list`, or your own file
    #[arg(long, value_name = "NAME|FILE.toml")]
    pub(crate) profile: Option<String>,

    /// Describe the array yourself instead of --profile: the profile of one of its disks
    #[arg(
        long,
        value_name = "NAME|FILE.toml",
        conflicts_with = "profile",
        help_heading = "Array"
    )]
    pub(crate) disk: Option<String>,

    /// RAID level of that array: 0, 1, 5, 6, 10, 1+0, 50, 60, raid5
    #[arg(
        long,
        alias = "level",
        value_name = "LEVEL",
        requires = "disk",
        requires = "disks",
        help_heading = "Array"
    )]
    pub(crate) raid: Option<String>,

    /// Number of disks in that array, without spares
    #[arg(long, value_name = "N", requires = "raid", help_heading = "Array",
          value_parser = clap::value_parser!(u64).range(1..=4096))]
    pub(crate) disks: Option<u64>,

    /// Stripe unit (chunk, strip) of that array: bytes on one disk before the next disk follows [default: 64 KiB, an assumption]
    #[arg(long, aliases = ["chunk", "chunk-size", "strip", "strip-size"], value_name = "SIZE", requires = "raid", value_parser = stripe_unit,
          help_heading = "Array")]
    pub(crate) stripe_unit: Option<Unit>,

    /// Size of the RAID controller's write-back cache [default: none]
    #[arg(long, value_name = "SIZE", requires = "raid", value_parser = cache, help_heading = "Array")]
    pub(crate) cache: Option<Unit>,

    /// Set a parameter of the profile to another value; may be repeated
    #[arg(long = "set", value_name = "SECTION.KEY=VALUE", value_parser = setting)]
    pub(crate) set: Vec<(String, String)>,

    /// Compare variants: members=6,8, level=raid10,raid5, stripe-unit=64K,256K, allocation-unit=4K,64K, io=8K,64K, threads=1,8,
    /// outstanding=1,32, or any SECTION.KEY of the profile; repeat it to compare all combinations
    #[arg(long, value_name = "KEY=A,B…", value_parser = axis)]
    pub(crate) compare: Vec<Axis>,

    /// Output format
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = PredictFormat::Text)]
    pub(crate) format: PredictFormat,

    /// Print one JSON document (see `straddle schema predict`); the same as --format json
    #[arg(long, conflicts_with = "format")]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) workload: Asked,

    #[command(flatten)]
    pub(crate) simulation: Simulation,

    #[command(flatten)]
    pub(crate) move_: Move,

    #[command(flatten)]
    pub(crate) keeping: super::history::Keeping,
}

/// The workload.
#[derive(Debug, Args)]
#[command(next_help_heading = "Workload")]
pub(crate) struct Asked {
    /// Request size; to mix sizes, give their shares: 8K:70+64K:30
    #[arg(long, visible_alias = "bs", aliases = ["blocksize", "block-size"], value_name = "SIZE", value_parser = sizes, default_value = "8K")]
    pub(crate) io: Sizes,

    /// Reads and writes: read, write, or the percentages of reads and writes, such as 70/30; randread, randwrite and randrw as in fio. With
    /// several, the first is shown in full and the verdicts of all side by side [default: read,write,70/30]
    #[arg(long, value_name = "MIX,…", value_delimiter = ',', value_parser = mix)]
    pub(crate) rw: Vec<Mix>,

    /// Scenario of several streams and phases instead of one workload: oltp, file-system, backup, log-structured, or your own file
    #[arg(long, value_name = "NAME|FILE.toml", conflicts_with_all = ["io", "rw", "pattern", "workers", "outstanding", "think", "rate", "trace"])]
    pub(crate) scenario: Option<String>,

    /// Replay a recorded trace, of any recorder that `straddle trace` reads. --threads and --outstanding set the queue depth
    #[arg(long, value_name = "FILE", conflicts_with_all = ["io", "rw", "pattern", "think", "rate"])]
    pub(crate) trace: Option<PathBuf>,

    /// The device of the trace whose requests are replayed, where there are several
    #[arg(long, value_name = "NAME", requires = "trace")]
    pub(crate) trace_device: Option<String>,

    /// Access pattern: random, sequential (seq), or strided:SIZE, which starts a request every SIZE bytes [default: random]
    #[arg(long, value_name = "ORDER", value_parser = pattern)]
    pub(crate) pattern: Option<Pattern>,

    /// Threads that issue requests; several numbers are compared, as with --compare
    #[arg(long = "threads", visible_aliases = ["workers", "numjobs"], value_name = "N,…", value_delimiter = ',', default_value = "1",
          value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_THREADS)))]
    pub(crate) workers: Vec<u32>,

    /// Queue depth: outstanding I/Os per thread; several numbers are compared too
    #[arg(long, visible_aliases = ["iodepth", "qd"], aliases = ["io-depth", "queue-depth"], value_name = "N,…", value_delimiter = ',', default_value = "8",
          value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_OUTSTANDING)))]
    pub(crate) outstanding: Vec<u32>,

    /// Think time: pause between a completion and the request that follows it
    #[arg(long, value_name = "TIME", value_parser = times::think, default_value = "0s")]
    pub(crate) think: Duration,

    /// Open loop: issue this many requests per second, whether or not earlier ones completed; the gain is then in latency
    #[arg(long, value_name = "IOPS", value_parser = rates::requests)]
    pub(crate) rate: Option<f64>,

    /// How the requests of an open loop arrive
    #[arg(long, value_enum, value_name = "HOW", default_value_t = ArrivalsArg::Even, requires = "rate")]
    pub(crate) arrivals: ArrivalsArg,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ArrivalsArg {
    /// At fixed intervals, as `bench` issues them
    Even,
    /// At random times, independent of each other, as from many users
    Random,
}

impl Asked {
    /// Shares of reads, and the pattern, which is one for all of them.
    pub(crate) fn streams(&self) -> Result<(Vec<Percent>, Pattern), String> {
        let asked: Vec<Pattern> = self.pattern.into_iter().collect();
        let streams = shares::streams(&self.rw, &asked)?;
        let pattern = match streams.first() {
            Some((_, pattern)) => *pattern,
            None => self.pattern.unwrap_or(Pattern::Random),
        };
        if streams.iter().any(|(_, other)| *other != pattern) {
            return Err(
                "--rw asks for random and for sequential requests, and one prediction has one access pattern; run once for each"
                    .to_owned(),
            );
        }
        Ok((
            streams.into_iter().map(|(reads, _)| reads).collect(),
            pattern,
        ))
    }
}

/// The simulation.
#[derive(Debug, Args)]
#[command(next_help_heading = "Simulation")]
pub(crate) struct Simulation {
    /// Partition offsets to compare, baseline first: sizes, `unaligned` (sector 63 of the disk), or `current`, the offset in --stack
    /// [default: current,64K,1M with --stack, else unaligned,64K,1M]
    #[arg(long, value_name = "OFFSET,…", value_delimiter = ',', value_parser = at)]
    pub(crate) offsets: Vec<At>,

    /// Working set: range of addresses that requests hit [default: the partition's length, else the whole capacity]
    #[arg(long, value_name = "SIZE", value_parser = working_set)]
    pub(crate) size: Option<Unit>,

    /// Stop when every gain is known to within this: half-width of the 95% confidence interval
    #[arg(long, value_name = "PERCENT", value_parser = percent, default_value = "0.5%")]
    pub(crate) precision: f64,

    /// Requests counted in each replicate
    #[arg(long, value_name = "N", default_value = "20000", value_parser = clap::value_parser!(u64).range(100..=100_000_000))]
    pub(crate) requests: u64,

    /// Maximum number of assumptions to vary within their ranges, one at a time and then the strongest together; 0 for none
    #[arg(long, value_name = "N", default_value = "24", value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub(crate) sensitivity: u32,

    /// Random seed, for addresses, platter positions and everything else that is random
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) seed: u64,
}

/// The effort of moving the data.
#[derive(Debug, Args)]
#[command(next_help_heading = "Effort")]
pub(crate) struct Move {
    /// Amount of data to move: copied away and back, unless a script for this stack can move it in place [default: the partition's
    /// length, with --stack]
    #[arg(long, value_name = "SIZE", value_parser = data)]
    pub(crate) data: Option<Unit>,

    /// Rate at which data can be copied
    #[arg(long, value_name = "RATE", value_parser = rates::data, default_value = "200MB/s")]
    pub(crate) move_rate: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PredictFormat {
    /// Tables, gains, reasons, and what to do, for reading
    Text,
    /// One document, for programs
    Json,
    /// One line per offset, for spreadsheets
    Csv,
}

/// An offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum At {
    /// Where the stack has it.
    Current,
    /// One that was given.
    Given(Offset),
}

/// `current`, `unaligned`, `64K`.
fn at(text: &str) -> Result<At, String> {
    match text.trim() {
        "current" => Ok(At::Current),
        _ => offset(text)
            .map(At::Given)
            .map_err(|error| format!("{error}, or `current`, the offset in --stack")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_places_or_that_of_the_stack() {
        assert_eq!(at("current"), Ok(At::Current));
        assert!(matches!(at("unaligned"), Ok(At::Given(_))));
        at("aligned").expect_err("which?");
        at("63").expect_err("of what?");
    }
}
