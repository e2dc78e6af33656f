use clap::{Args, ValueEnum};

/// Does the model reproduce a published experiment?
///
/// Prints what was published beside what is simulated, cell by cell, with the error and the tolerance of each. Cells marked
/// calibration may be what parameters were fitted on; nothing is fitted on those marked validation, and their errors are
/// reported apart.
///
/// Exit status: 0 when every cell is within its tolerance, 1 when one is not, 2 when something could not be simulated.
#[derive(Debug, Args)]
#[command(after_help = concat!(
    "Examples:",
    "\n  straddle study --list                           published experiments",
    "\n  straddle study --all --quick                    each of them against the model",
))]
pub(crate) struct Study {
    /// A study, as --list names them, or a file (.toml)
    #[arg(value_name = "NAME", required_unless_present_any = ["all", "list"])]
    pub(crate) name: Option<String>,

    /// Every study: the scoreboard
    #[arg(long, conflicts_with = "name")]
    pub(crate) all: bool,

    /// List the studies
    #[arg(long, conflicts_with_all = ["name", "all"])]
    pub(crate) list: bool,

    /// Fewer requests and replicates: a first look
    #[arg(long)]
    pub(crate) quick: bool,

    /// Seed of the first replicate
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,

    /// What to print
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = StudyFormat::Text)]
    pub(crate) format: StudyFormat,

    /// Print one JSON document (see `straddle schema study`); the same as --format json
    #[arg(long, conflicts_with = "format")]
    pub(crate) json: bool,

    /// Print nothing but errors; the exit status speaks
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum StudyFormat {
    /// Tables, for people
    Text,
    /// One document, for programs
    Json,
    /// A line per cell, for spreadsheets
    Csv,
}
