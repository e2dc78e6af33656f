use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;
use straddle::geometry::Unit;
use straddle::predict::design::{Axis, MAX_OUTSTANDING, MAX_THREADS};
use straddle::workload::offset::Offset;
use straddle::workload::{Pattern, Percent};

use super::bench::{Sizes, duration, mix, offset, pattern, percent, rate, sizes};

/// What would each offset deliver, and is moving the data worth it?
///
/// Simulates the same workload at several partition offsets on a model of the array or device: a profile, with what a stack
/// says of the array in its place. The first offset is the baseline. Says what each delivers, which mechanism makes the
/// difference, how far the gain rests on what is assumed, and what to do. Touches nothing.
///
/// Exit status: 0 when it could be predicted, 2 when not.
#[derive(Debug, Args)]
#[command(after_help = concat!(
    "Examples:",
    "\n  straddle predict --profile raid10-600gb         reads, writes and 70/30 at three offsets",
    "\n  straddle predict --stack server.txt --profile raid10-600gb --rw 70/30",
    "\n  straddle predict --disk cheetah-15k7 --raid 5 --disks 8 --cache 512M",
    "\n  straddle predict --profile sata-tlc --compare io=4K,8K,64K",
))]
pub(crate) struct Predict {
    /// Where the partition lies: anything that `check` takes (an image, a device, a capture, captured text), or a document
    /// that `straddle check --format json` printed (`-` reads it from standard input)
    #[arg(long, value_name = "FILE|TARGET")]
    pub(crate) stack: Option<PathBuf>,

    /// Follow a virtual disk to every file that it names; without this only to files of its folder, and files that its owner
    /// may read
    #[arg(long, requires = "stack")]
    pub(crate) follow_outside: bool,

    /// The partition or volume of the stack to predict [default: all that are misaligned]
    #[arg(long, value_name = "NAME", requires = "stack")]
    pub(crate) partition: Option<String>,

    /// The array or device: a name from `straddle profile list`, or a file of one's own
    #[arg(long, value_name = "NAME|FILE.toml")]
    pub(crate) profile: Option<String>,

    /// The disks of an array that one knows: a profile of a single device, in place of --profile
    #[arg(
        long,
        value_name = "NAME|FILE.toml",
        conflicts_with = "profile",
        help_heading = "Array"
    )]
    pub(crate) disk: Option<String>,

    /// The level of that array: 0, 1, 5, 6, 10, 1+0, 50, 60, raid5
    #[arg(
        long,
        value_name = "LEVEL",
        requires = "disk",
        requires = "disks",
        help_heading = "Array"
    )]
    pub(crate) raid: Option<String>,

    /// How many disks it has, spares not counted
    #[arg(long, value_name = "N", requires = "raid", help_heading = "Array",
          value_parser = clap::value_parser!(u64).range(1..=4096))]
    pub(crate) disks: Option<u64>,

    /// Bytes on one disk before the next takes over [default: 64 KiB, an assumption]
    #[arg(long, value_name = "SIZE", requires = "raid", value_parser = super::sizes::unit, help_heading = "Array")]
    pub(crate) stripe_unit: Option<Unit>,

    /// Write-back cache of the adapter [default: none]
    #[arg(long, value_name = "SIZE", requires = "raid", value_parser = super::sizes::unit, help_heading = "Array")]
    pub(crate) cache: Option<Unit>,

    /// A parameter of the profile with another value; may be repeated
    #[arg(long = "set", value_name = "SECTION.KEY=VALUE", value_parser = setting)]
    pub(crate) set: Vec<(String, String)>,

    /// Hold variants against each other: members=6,8, level=raid10,raid5, stripe-unit=64K,256K, allocation-unit=4K,64K,
    /// io=8K,64K, threads=1,8, outstanding=1,32, or any SECTION.KEY of the profile; may be repeated, for all combinations
    #[arg(long, value_name = "KEY=A,B…", value_parser = Axis::read)]
    pub(crate) compare: Vec<Axis>,

    /// What to print
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
}

/// What is asked of the storage.
#[derive(Debug, Args)]
#[command(next_help_heading = "Workload")]
pub(crate) struct Asked {
    /// Request size; several mixed as 8K:70+64K:30
    #[arg(long, value_name = "SIZE", value_parser = sizes, default_value = "8K")]
    pub(crate) io: Sizes,

    /// Reads, writes or both: read, write, or the share of reads and writes, such as 70/30. Of several, the first is shown, with the verdicts
    /// side by side [default: read,write,70/30]
    #[arg(long, value_name = "MIX,…", value_delimiter = ',', value_parser = mix)]
    pub(crate) rw: Vec<Percent>,

    /// Several streams and phases in place of one workload: oltp, file-system, backup, log-structured, or a file of one's own
    #[arg(long, value_name = "NAME|FILE.toml", conflicts_with_all = ["io", "rw", "pattern", "workers", "outstanding", "think", "rate", "trace"])]
    pub(crate) scenario: Option<String>,

    /// Requests as they were recorded, as many at once as --threads and --outstanding say: an iolog of fio, or a table with the columns
    /// offset, size and type
    #[arg(long, value_name = "FILE", conflicts_with_all = ["io", "rw", "pattern", "think", "rate"])]
    pub(crate) trace: Option<PathBuf>,

    /// Order of addresses: random, sequential, or strided:SIZE, one request every so many bytes
    #[arg(long, value_name = "ORDER", value_parser = pattern, default_value = "random")]
    pub(crate) pattern: Pattern,

    /// Threads that issue requests; several numbers are held against each other, as by --compare
    #[arg(long = "threads", visible_alias = "workers", value_name = "N,…", value_delimiter = ',', default_value = "1",
          value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_THREADS)))]
    pub(crate) workers: Vec<u32>,

    /// Requests that each thread keeps under way; several likewise
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "8",
          value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_OUTSTANDING)))]
    pub(crate) outstanding: Vec<u32>,

    /// Pause before the next request takes the place of one that ended
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "0s")]
    pub(crate) think: Duration,

    /// Requests each second, due whether earlier ones have ended or not (open loop); what is gained is latency then
    #[arg(long, value_name = "IOPS", value_parser = rate)]
    pub(crate) rate: Option<f64>,

    /// How requests of an open loop arrive
    #[arg(long, value_enum, value_name = "HOW", default_value_t = ArrivalsArg::Even, requires = "rate")]
    pub(crate) arrivals: ArrivalsArg,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ArrivalsArg {
    /// At fixed distances, as `bench` makes them
    Even,
    /// At random, independent of each other: many users
    Random,
}

/// What is simulated.
#[derive(Debug, Args)]
#[command(next_help_heading = "Simulation")]
pub(crate) struct Simulation {
    /// Partition offsets to compare, the baseline first: sizes, `unaligned` (sector 63 of the disk), or `current`, where the stack has it
    /// [default: current,64K,1M with --stack, else unaligned,64K,1M]
    #[arg(long, value_name = "OFFSET,…", value_delimiter = ',', value_parser = at)]
    pub(crate) offsets: Vec<At>,

    /// Bytes that requests are spread over [default: the partition's length, else all that the system holds]
    #[arg(long, value_name = "SIZE", value_parser = super::sizes::unit)]
    pub(crate) size: Option<Unit>,

    /// Stop when gains are known this closely: half the width of the 95% interval
    #[arg(long, value_name = "PERCENT", value_parser = percent, default_value = "0.5%")]
    pub(crate) precision: f64,

    /// Requests that count in each replicate
    #[arg(long, value_name = "N", default_value = "20000", value_parser = clap::value_parser!(u64).range(100..=100_000_000))]
    pub(crate) requests: u64,

    /// Most assumptions that are varied within their range, one at a time, and the strongest together; 0 for none
    #[arg(long, value_name = "N", default_value = "24", value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub(crate) sensitivity: u32,

    /// Seed of addresses, platters and everything else that is random
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) seed: u64,
}

/// What moving the data takes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Effort")]
pub(crate) struct Move {
    /// Data to move; copied away and back, unless the stack is one whose scripts move them in place [default: the partition's length, with
    /// --stack]
    #[arg(long, value_name = "SIZE", value_parser = super::sizes::unit)]
    pub(crate) data: Option<Unit>,

    /// How fast it can be moved
    #[arg(long, value_name = "RATE", value_parser = data_rate, default_value = "200MB/s")]
    pub(crate) move_rate: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PredictFormat {
    /// Tables, gains, why, and what to do, for people
    Text,
    /// One document, for programs
    Json,
    /// A line per offset, for spreadsheets
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
            .map_err(|error| format!("{error}, `current` for the place in --stack")),
    }
}

/// `array.members=6`.
pub(super) fn setting(text: &str) -> Result<(String, String), String> {
    let fail = || format!("`{text}` is no setting; write it like array.members=6");
    let (path, value) = text.split_once('=').ok_or_else(fail)?;
    let (path, value) = (path.trim(), value.trim());
    if path.is_empty() || value.is_empty() {
        return Err(fail());
    }
    Ok((path.to_owned(), value.to_owned()))
}

/// `200MB/s`, `1GiB/s`.
pub(super) fn data_rate(text: &str) -> Result<f64, String> {
    let kind = straddle::predict::profile::Kind::Rate(1.0, 1e15);
    let value = straddle::predict::profile::value::parse(kind, &text.into());
    match value {
        Some(straddle::predict::profile::Value::Number(rate)) => Ok(rate),
        _ => Err(format!(
            "`{text}` is no rate above zero; write it like 200MB/s or 1GiB/s"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_settings_and_rates_are_read() {
        assert_eq!(at("current"), Ok(At::Current));
        assert!(matches!(at("unaligned"), Ok(At::Given(_))));
        at("aligned").expect_err("which?");
        assert_eq!(
            setting("array.members=6"),
            Ok(("array.members".to_owned(), "6".to_owned()))
        );
        for text in ["array.members", "=6", "array.members="] {
            setting(text).expect_err(text);
        }
        assert_eq!(data_rate("200MB/s"), Ok(200e6));
        for text in ["0MB/s", "-1MB/s", "fast", "200 MPH"] {
            data_rate(text).expect_err(text);
        }
    }
}
