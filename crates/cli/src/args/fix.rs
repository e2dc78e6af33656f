use clap::{Args, ValueEnum};
use std::path::PathBuf;
use straddle::fix::change::KINDS;
use straddle::fix::script::{TOOLS, Tool, by_name};
use straddle::geometry::Unit;

use super::geometry::Geometry;
use super::rates;
use super::sizes::{allocation_unit, request};

/// Is it worth fixing, and what exactly do I run?
///
/// Plans the cheapest steps that align every layer to the ones below it, lowest layer first. Says what the steps fix, what
/// they leave, how much data they move, and whether that is worth it. Changes nothing: --script prints a script for the tool
/// of your choice, and the script refuses any disk but the one that the plan was made for. Save the plan (--json), and after
/// the repair --verify checks every promise in it.
///
/// Exit status: 0 if the plan was made, or every promise kept; 1 if a promise was not kept; 2 if it could not be done.
#[derive(Debug, Args)]
#[command(after_help = concat!(
    "Examples:",
    "\n  straddle fix disk.img                           the plan: steps, space, time",
    "\n  straddle fix server.txt --profile raid10-600gb  the plan, with the simulated gain",
    "\n  straddle fix disk.img --script sfdisk           the script for one tool",
    "\n  straddle fix disk.img --json > plan.json        the plan, saved for --verify",
    "\n  straddle fix disk.img --verify plan.json        after the repair: was every promise kept?",
))]
pub(crate) struct Fix {
    /// What to fix: anything that `check` takes, or several images that belong together [default: this machine]
    #[arg(value_name = "TARGET")]
    pub(crate) targets: Vec<PathBuf>,

    /// Print a script for this tool; it runs the steps that the tool can do
    #[arg(long, value_name = "TOOL", value_parser = tool, conflicts_with = "json")]
    pub(crate) script: Option<&'static Tool>,

    /// Check again, and compare the result with the plan in this file
    #[arg(long, value_name = "PLAN.json", conflicts_with = "script")]
    pub(crate) verify: Option<PathBuf>,

    /// Plan only these kinds of change: partitions, filesystem, array, … (docs/reference/repairs.md has all)
    #[arg(long, value_name = "CHANGE,…", value_delimiter = ',', value_parser = kind)]
    pub(crate) only: Vec<&'static str>,

    /// Request sizes to compute the cost for
    #[arg(long, visible_alias = "bs", value_name = "SIZE,…", value_delimiter = ',', value_parser = request, default_value = "4K,8K,64K")]
    pub(crate) io: Vec<Unit>,

    /// Profile of the array or device, from `straddle profile list` or a file: its sector sizes are used, and the simulated gain
    /// decides whether the plan is worth it
    #[arg(long, value_name = "NAME|FILE.toml")]
    pub(crate) profile: Option<String>,

    /// More options for the simulation, as for `straddle predict`, quoted as one argument: "--io 8K --rw 70/30 --outstanding
    /// 32"
    #[arg(
        long,
        value_name = "OPTIONS",
        requires = "profile",
        allow_hyphen_values = true
    )]
    pub(crate) workload: Option<String>,

    /// Rate at which data can be copied [default: 200MB/s]
    #[arg(long, value_name = "RATE", value_parser = rates::data)]
    pub(crate) move_rate: Option<f64>,

    /// Allocation unit of filesystems that are re-created [default: one that fits the layers below]
    #[arg(long, value_name = "SIZE", value_parser = allocation_unit)]
    pub(crate) allocation_unit: Option<Unit>,

    #[command(flatten)]
    pub(crate) geometry: Geometry,

    /// Output format
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = FixFormat::Text)]
    pub(crate) format: FixFormat,

    /// Print one JSON document (see `straddle schema fix`); the same as --format json
    #[arg(long, conflicts_with = "format")]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) keeping: super::history::Keeping,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FixFormat {
    /// The verdict, the steps, and what they fix, for reading
    Text,
    /// One document, for programs
    Json,
}

fn kind(name: &str) -> Result<&'static str, String> {
    let known = KINDS.iter().find(|kind| kind.name == name);
    known.map(|kind| kind.name).ok_or_else(|| {
        let names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
        format!("expected one of {}", names.join(", "))
    })
}

fn tool(name: &str) -> Result<&'static Tool, String> {
    by_name(name).ok_or_else(|| {
        let names: Vec<&str> = TOOLS.iter().map(|tool| tool.name).collect();
        format!("expected one of {}", names.join(", "))
    })
}
