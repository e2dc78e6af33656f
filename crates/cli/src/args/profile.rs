use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Which models of arrays and devices are built in, what do they assume, and how well do they fit measurements?
#[derive(Debug, Args)]
#[command(after_help = concat!(
    "Examples:",
    "\n  straddle profile list                           all profiles",
    "\n  straddle profile show raid10-600gb              one profile: figures, ranges, sources",
))]
pub(crate) struct Profile {
    #[command(subcommand)]
    pub(crate) action: Action,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// Lists all profiles: name, kind, title
    List(List),
    /// Shows every parameter of a profile: value, unit, source, range
    Show(Show),
    /// Makes a profile from a measurement by fitting the parameters of a similar one
    ///
    /// Simulates every cell of a `straddle bench --format json` document and searches for the parameters that reproduce the
    /// measured rates. Prints the residual of every cell, and which parameters the measurement cannot determine.
    Fit(Fit),
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// Output format
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

    /// Output format
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = ProfileFormat::Text)]
    pub(crate) format: ProfileFormat,

    /// Print one JSON document (see `straddle schema profile`); the same as --format json
    #[arg(long, conflicts_with = "format")]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Fit {
    /// Output of `straddle bench --format json`
    #[arg(value_name = "RESULT.json")]
    pub(crate) result: PathBuf,

    /// Profile to start from: a name from `straddle profile list`, or a file
    #[arg(long, value_name = "NAME|FILE.toml")]
    pub(crate) like: String,

    /// Set a parameter to a fixed value, which is not fitted; may be repeated
    #[arg(long = "set", value_name = "SECTION.KEY=VALUE", value_parser = super::parameter::setting)]
    pub(crate) set: Vec<(String, String)>,

    /// Parameters to fit [default: up to four of those assumed with a range]
    #[arg(long, value_name = "SECTION.KEY,…", value_delimiter = ',')]
    pub(crate) fit: Vec<String>,

    /// Fit nothing: report which assumed values the measurement rules out, and narrow the ranges to the rest
    #[arg(long, conflicts_with = "fit")]
    pub(crate) ranges: bool,

    /// Number of parameter sets to try with --ranges
    #[arg(long, value_name = "N", default_value = "600", requires = "ranges", value_parser = clap::value_parser!(u32).range(10..=100_000))]
    pub(crate) sets: u32,

    /// File to write the fitted profile to; must not exist yet
    #[arg(short, long, value_name = "FILE.toml")]
    pub(crate) output: Option<PathBuf>,

    /// Requests to simulate per cell and offset
    #[arg(long, value_name = "N", default_value = "4000", value_parser = clap::value_parser!(u64).range(100..=10_000_000))]
    pub(crate) requests: u64,

    /// Random seed, for addresses, platter positions and everything else that is random
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) seed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProfileFormat {
    /// For reading
    Text,
    /// One document, for programs
    Json,
}
