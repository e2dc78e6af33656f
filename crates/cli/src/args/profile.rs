use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Which models of arrays and devices are there, what is in them, and how well do they fit what was measured?
#[derive(Debug, Args)]
#[command(after_help = concat!(
    "Examples:",
    "\n  straddle profile list                           all profiles",
    "\n  straddle profile show raid10-600gb              figures, ranges and sources of one",
))]
pub(crate) struct Profile {
    #[command(subcommand)]
    pub(crate) action: Action,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// Lists all profiles: name, kind, title
    List(List),
    /// Shows every parameter of a profile: value, unit, how it is known, range
    Show(Show),
    /// Makes a profile from a measurement: fits the parameters of one that is alike
    ///
    /// Simulates every cell of a `straddle bench --format json` document and looks for the parameters with which rates come
    /// out as they were measured. Prints the residuals of every cell, and which parameters the measurement cannot tell.
    Fit(Fit),
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// What to print
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = ProfileFormat::Text)]
    pub(crate) format: ProfileFormat,

    /// Print one JSON document (see `straddle schema profile`); the same as --format json
    #[arg(long, conflicts_with = "format")]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Show {
    /// A name from `straddle profile list`, or a file
    #[arg(value_name = "NAME|FILE.toml")]
    pub(crate) profile: String,

    /// What to print
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = ProfileFormat::Text)]
    pub(crate) format: ProfileFormat,

    /// Print one JSON document (see `straddle schema profile`); the same as --format json
    #[arg(long, conflicts_with = "format")]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Fit {
    /// A document that `straddle bench --format json` printed
    #[arg(value_name = "RESULT.json")]
    pub(crate) result: PathBuf,

    /// The profile to begin with: a name from `straddle profile list`, or a file
    #[arg(long, value_name = "NAME|FILE.toml")]
    pub(crate) like: String,

    /// A parameter of it with another value, which is not fitted; may be repeated
    #[arg(long = "set", value_name = "SECTION.KEY=VALUE", value_parser = super::predict::setting)]
    pub(crate) set: Vec<(String, String)>,

    /// Parameters to fit [default: up to four that are assumed with a range]
    #[arg(long, value_name = "SECTION.KEY,…", value_delimiter = ',')]
    pub(crate) fit: Vec<String>,

    /// Fit nothing: say which values of what is assumed the measurement rules out, and narrow the ranges to the rest
    #[arg(long, conflicts_with = "fit")]
    pub(crate) ranges: bool,

    /// Sets of values that are tried with --ranges
    #[arg(long, value_name = "N", default_value = "600", requires = "ranges", value_parser = clap::value_parser!(u32).range(10..=100_000))]
    pub(crate) sets: u32,

    /// Write the fitted profile to this file, which must not exist yet
    #[arg(short, long, value_name = "FILE.toml")]
    pub(crate) output: Option<PathBuf>,

    /// Requests that are simulated for each cell and offset
    #[arg(long, value_name = "N", default_value = "4000", value_parser = clap::value_parser!(u64).range(100..=10_000_000))]
    pub(crate) requests: u64,

    /// Seed of addresses, platters and everything else that is random
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) seed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProfileFormat {
    /// For people
    Text,
    /// One document, for programs
    Json,
}
