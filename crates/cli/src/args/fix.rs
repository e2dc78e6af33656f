use clap::{Args, ValueEnum};
use std::path::PathBuf;
use straddle::fix::change::KINDS;
use straddle::fix::script::{TOOLS, Tool, by_name};
use straddle::geometry::Unit;

use super::geometry::Geometry;
use super::predict::data_rate;

/// Is it worth fixing, and exactly what do I run?
///
/// Plans the cheapest steps that put every layer on the grids below it, lowest first, and says what they cure, what stays, how
/// much data they move, and whether that is worth it. Changes nothing: --script prints a script that does, for the tool of your
/// choice; it refuses any disk but the one that the plan was made for. Keep the plan (--json) to see afterwards, with --verify,
/// whether every promise was kept.
///
/// Exit status: 0 when the plan was made, or every promise kept; 1 when one was not; 2 when it could not be done.
#[derive(Debug, Args)]
#[command(after_help = concat!(
    "Examples:",
    "\n  straddle fix disk.img                           the plan: steps, space, time",
    "\n  straddle fix server.txt --profile raid10-600gb  with the gain, simulated",
    "\n  straddle fix disk.img --script sfdisk           the script for one tool",
    "\n  straddle fix disk.img --json > plan.json        the plan, to be kept",
    "\n  straddle fix disk.img --verify plan.json        afterwards: was every promise kept?",
))]
pub(crate) struct Fix {
    /// What is to be fixed: anything that `check` takes, several images where they belong together; this machine when none is given
    #[arg(value_name = "TARGET")]
    pub(crate) targets: Vec<PathBuf>,

    /// Print a script that does what this tool can do of it
    #[arg(long, value_name = "TOOL", value_parser = tool, conflicts_with = "json")]
    pub(crate) script: Option<&'static Tool>,

    /// Check again, and hold it against the plan in this file
    #[arg(long, value_name = "PLAN.json", conflicts_with = "script")]
    pub(crate) verify: Option<PathBuf>,

    /// Plan only these kinds of change: partitions, filesystem, array, … (docs/reference/repairs.md has all)
    #[arg(long, value_name = "CHANGE,…", value_delimiter = ',', value_parser = kind)]
    pub(crate) only: Vec<&'static str>,

    /// Request sizes to price
    #[arg(long, value_name = "SIZE,…", value_delimiter = ',', value_parser = super::sizes::unit, default_value = "4K,8K,64K")]
    pub(crate) io: Vec<Unit>,

    /// The array or device, as `straddle predict` knows it: the sectors are its, and what the plan gains is simulated and decides
    #[arg(long, value_name = "NAME|FILE.toml")]
    pub(crate) profile: Option<String>,

    /// What else is to be known of the simulation: options of `straddle predict`, in one word such as
    /// "--io 8K --rw 70/30 --outstanding 32"
    #[arg(
        long,
        value_name = "OPTIONS",
        requires = "profile",
        allow_hyphen_values = true
    )]
    pub(crate) workload: Option<String>,

    /// How fast data can be moved [default: 200MB/s]
    #[arg(long, value_name = "RATE", value_parser = data_rate)]
    pub(crate) move_rate: Option<f64>,

    /// Allocation unit of filesystems that are made again [default: what fits what lies below]
    #[arg(long, value_name = "SIZE", value_parser = super::sizes::unit)]
    pub(crate) allocation_unit: Option<Unit>,

    #[command(flatten)]
    pub(crate) geometry: Geometry,

    /// What to print
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = FixFormat::Text)]
    pub(crate) format: FixFormat,

    /// Print one JSON document (see `straddle schema fix`); the same as --format json
    #[arg(long, conflicts_with = "format")]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FixFormat {
    /// The verdict, the steps, what they cure, for people
    Text,
    /// One document, for programs
    Json,
}

fn kind(name: &str) -> Result<&'static str, String> {
    let known = KINDS.iter().find(|kind| kind.name == name);
    known.map(|kind| kind.name).ok_or_else(|| {
        let names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
        format!("changes are {}", names.join(", "))
    })
}

fn tool(name: &str) -> Result<&'static Tool, String> {
    by_name(name).ok_or_else(|| {
        let names: Vec<&str> = TOOLS.iter().map(|tool| tool.name).collect();
        format!("scripts are written for {}", names.join(", "))
    })
}
