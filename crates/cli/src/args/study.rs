use clap::{Args, ValueEnum};

/// Does the model reproduce a published experiment?
///
/// Compares published with simulated figures, cell by cell, with the error and the tolerance of each. Parameters may have
/// been fitted to cells marked calibration; none is fitted to cells marked validation, whose errors are reported
/// separately.
///
/// Exit status: 0 if every cell is within its tolerance, 1 if one is not, 2 if something could not be simulated.
#[derive(Debug, Args)]
#[command(after_help = concat!(
    "Examples:",
    "\n  straddle study                                  published experiments, with their titles",
    "\n  straddle study eva8100 --quick                  one of them, cell by cell",
    "\n  straddle study --all --quick                    compare all of them with the model",
))]
pub(crate) struct Study {
    /// A study, by its name or a part that no other name has, or a file (.toml) [default: list the studies]
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,

    /// Run every study and print the scoreboard
    #[arg(long, conflicts_with = "name")]
    pub(crate) all: bool,

    /// List the studies
    #[arg(long, conflicts_with_all = ["name", "all"])]
    pub(crate) list: bool,

    /// Use fewer requests and replicates, for a first look
    #[arg(long)]
    pub(crate) quick: bool,

    /// Random seed of the first replicate
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,

    /// Output format
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = StudyFormat::Text)]
    pub(crate) format: StudyFormat,

    /// Print one JSON document (see `straddle schema study`); the same as --format json
    #[arg(long, conflicts_with = "format")]
    pub(crate) json: bool,

    /// Print only errors; otherwise just set the exit status
    #[arg(short, long)]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) keeping: super::history::Keeping,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum StudyFormat {
    /// Tables, for reading
    Text,
    /// One document, for programs
    Json,
    /// One line per cell, for spreadsheets
    Csv,
}
