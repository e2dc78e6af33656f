//! `straddle trace`.

use clap::Args;
use std::path::PathBuf;
use std::time::Duration;
use straddle::geometry::{Bytes, Family, Grid, Unit};
use straddle::trace::{ColumnMap, FORMATS};
use straddle::typed::{OFFSETS, UNITS};

use super::shares::tolerance;
use super::times::window;
use super::{Format, Geometry, sizes};

/// What would each offset cost on my own recorded workload?
///
/// Reads recorded requests and counts, for each grid and each place where the data could begin, how many of them straddle a
/// boundary, and how many operations they come to below. Nothing is sampled: every request counts, whatever the length of the
/// trace. Files of any size, packed (gzip, bzip2, xz, zstd) or not, folders of them, or `-` for standard input; docs/reference/traces.md
/// lists the recorders.
///
/// With --stack, the grids are those of that storage stack, and requests are followed down to it: through volumes and virtual
/// disks to the layer from which all grids look the same, and to the partition of a disk that they lie in.
///
/// Exit status: 0 if all inputs were read, 2 if one was not, or more of its lines than --max-bad were not understood (what is
/// known is still printed).
#[derive(Debug, Args)]
#[command(after_help = concat!(
    "Examples:",
    "\n  straddle trace src1_0.csv                       a block trace, on the usual units",
    "\n  blkparse -i sda | straddle trace -              what blktrace recorded of a disk",
    "\n  straddle trace --stack /dev/sda sda.blkparse    on the grids below, for each partition",
    "\n  straddle trace --start 63s --offsets 64K,1M vm.csv.gz  as a disk with its partition at sector 63",
    "\n  straddle trace --units 4K,192K traces/          other units: a stripe of 3 x 64 KiB",
    "\n  straddle trace --columns offset=3:sectors,size=4:sectors,op=2 own.csv  a table of your own",
    "\n  straddle trace --window 1h --json month.csv     over time, as JSON",
))]
pub(crate) struct Trace {
    /// Traces, or folders of them
    #[arg(value_name = "FILE", required = true)]
    pub(crate) inputs: Vec<PathBuf>,

    /// What the recorded devices rest on: any target of `straddle check`
    #[arg(long, value_name = "TARGET", conflicts_with_all = ["units", "start", "relative"])]
    pub(crate) stack: Option<PathBuf>,

    /// The layer of that stack that was recorded, such as sda or vg-data [default: the one with the name of the device]
    #[arg(long, value_name = "LAYER", requires = "stack")]
    pub(crate) layer: Option<String>,

    #[command(flatten)]
    pub(crate) geometry: Geometry,

    /// Units of grids below. `:rmw` where a unit that is written in part has to be read first, `:split` where a request over a
    /// boundary is only split [default: rmw below 64K, split from there on]
    #[arg(long, value_name = "SIZE,…", value_delimiter = ',', value_parser = grid, default_value = UNITS)]
    pub(crate) units: Vec<(Grid, Family)>,

    /// Where the data begin today
    #[arg(long, value_name = "OFFSET", value_parser = start, default_value = "0")]
    pub(crate) start: Bytes,

    /// Recorded offsets count from --start, because a partition, a volume or a file was recorded, not the whole disk
    #[arg(long)]
    pub(crate) relative: bool,

    /// Places where the data could begin
    #[arg(long, value_name = "OFFSET,…", value_delimiter = ',', value_parser = start, default_value = OFFSETS)]
    pub(crate) offsets: Vec<Bytes>,

    /// Only these devices
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub(crate) device: Vec<String>,

    /// Look for the best start of so many devices, those with most requests
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) devices: usize,

    /// Count requests apart by stretches of time
    #[arg(long, value_name = "TIME", value_parser = window)]
    pub(crate) window: Option<Duration>,

    /// What wrote the traces [default: told by their contents]
    #[arg(long = "as", value_name = "RECORDER", value_parser = recorder)]
    pub(crate) recorder: Option<&'static str>,

    /// Which column of a table is what, by number from 1 or by name: offset=5,size=6:sectors,op=4,time=1:us,device=2+3
    ///
    /// offset and size must be there. Their units are bytes (where none is given), sectors (of 512 bytes), kib, mib, or any number of
    /// bytes, such as :4096; those of a time are s, ms, us, ns and filetime. op may be read or write, for all requests.
    #[arg(long, value_name = "MAP", conflicts_with = "recorder")]
    pub(crate) columns: Option<ColumnMap>,

    /// Largest share of lines that may be none of the recorder's
    #[arg(long, value_name = "SHARE", value_parser = tolerance, default_value = "0.1%")]
    pub(crate) max_bad: f64,

    /// Threads [default: one for each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,

    /// Memory for counts; what needs more goes to temporary files
    #[arg(long, value_name = "SIZE", value_parser = sizes::cache, default_value = "128M")]
    pub(crate) memory: Unit,

    /// Output format; csv has a line for each device, grid, start and direction
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Format::Text)]
    pub(crate) format: Format,

    /// Print one JSON document (see `straddle schema trace`); the same as --format json
    #[arg(long, conflicts_with = "format")]
    pub(crate) json: bool,

    /// Print nothing; only set the exit status
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// A place at a sector: shifts are counted in sectors.
fn start(text: &str) -> Result<Bytes, String> {
    straddle::typed::at_a_sector(text, sizes::start)
}

fn grid(text: &str) -> Result<(Grid, Family), String> {
    straddle::typed::grid_of(text, sizes::stripe_unit)
}

fn recorder(text: &str) -> Result<&'static str, String> {
    let names: Vec<&'static str> = FORMATS.iter().map(|format| format.name).collect();
    let found = names.iter().find(|name| name.eq_ignore_ascii_case(text));
    found.copied().ok_or_else(|| {
        format!(
            "no recorder is called `{text}`; there are {}",
            names.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_may_say_what_crossing_it_costs() {
        let unit = |n: u64| Grid::new(Unit::new(n).expect("not zero"));
        assert_eq!(grid("4K"), Ok((unit(4096), Family::ReadModifyWrite)));
        assert_eq!(grid("64K"), Ok((unit(65_536), Family::Splitting)));
        assert_eq!(grid("64K:rmw"), Ok((unit(65_536), Family::ReadModifyWrite)));
        assert_eq!(grid("192K"), Ok((unit(196_608), Family::Splitting)));
        for text in ["4K:x", "0", "64", "520", "1G", "K", ":rmw"] {
            grid(text).expect_err(text);
        }
    }

    #[test]
    fn starts_are_sectors() {
        assert_eq!(start("63s"), Ok(Bytes::new(32_256)));
        start("100").expect_err("inside a sector");
    }
}
