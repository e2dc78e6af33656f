use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

use super::shares::tolerance;

/// Where runs are kept, for verbs that make some.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "History")]
pub(crate) struct Keeping {
    /// Database to keep the run in; `none` keeps nothing [default: STRADDLE_HISTORY, the settings, or the user's data directory]
    #[arg(long, value_name = "PATH|none")]
    pub(crate) history: Option<String>,

    /// Compare with this baseline afterwards; exit status 1 if a figure is worse by more than it allows
    #[arg(long, value_name = "NAME")]
    pub(crate) baseline: Option<String>,
}

/// Which database, for verbs that read it.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Place {
    /// Database of runs [default: STRADDLE_HISTORY, the settings, or the user's data directory]
    #[arg(long, value_name = "PATH", global = true)]
    pub(crate) history: Option<String>,
}

/// What was run before, and what came of it?
///
/// bench, predict, study and fix keep every run, check only when it is asked to (`--history PATH`, STRADDLE_HISTORY, or the setting
/// `check = true`). A run is a number, `last`, `last:bench` (the last of that verb), or the name of a baseline.
#[derive(Debug, Args)]
#[command(after_help = concat!(
    "Examples:",
    "\n  straddle history list                           the latest runs",
    "\n  straddle history list --verb bench --target /data",
    "\n  straddle history show last                      what the last run came to",
    "\n  straddle history show 12 --json                 its document, as it was printed",
    "\n  straddle history export -o runs.jsonl           all runs, to be imported on another machine",
    "\n  straddle history import runs.jsonl              those that are not known yet",
))]
pub(crate) struct History {
    #[command(flatten)]
    pub(crate) place: Place,

    /// Without one, the list
    #[command(subcommand)]
    pub(crate) action: Option<Action>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// The latest runs, a line each
    #[command(alias = "ls")]
    List(List),
    /// One run: what it came to, or its document
    Show {
        /// Which run
        #[arg(value_name = "RUN", default_value = "last")]
        run: String,
        /// Print the document, byte for byte as it was stored
        #[arg(long)]
        json: bool,
    },
    /// Remove runs, and baselines that name them
    Rm {
        /// Which runs
        #[arg(value_name = "RUN", required = true)]
        runs: Vec<String>,
    },
    /// Write runs as lines of JSON
    Export {
        /// Which runs [default: all]
        #[arg(value_name = "RUN")]
        runs: Vec<String>,
        /// File to write; must not exist yet [default: standard output]
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Keep exported runs, or documents that a command printed with --json, unless they are known already
    Import {
        /// Files to read; `-` is standard input
        #[arg(value_name = "FILE", required = true)]
        files: Vec<PathBuf>,
    },
    /// Where the database is
    Path,
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// Only runs of this verb
    #[arg(long, value_name = "VERB")]
    pub(crate) verb: Option<String>,

    /// Only runs about what has this in its name
    #[arg(long, value_name = "TEXT")]
    pub(crate) target: Option<String>,

    /// Only runs made on this machine
    #[arg(long, value_name = "NAME")]
    pub(crate) machine: Option<String>,

    /// How many at most
    #[arg(long, value_name = "N", default_value_t = LISTED)]
    pub(crate) limit: u64,

    /// Output format
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = ListFormat::Text)]
    pub(crate) format: ListFormat,
}

/// Runs of a list, unless another number is asked for.
const LISTED: u64 = 50;

impl Default for List {
    fn default() -> List {
        List {
            verb: None,
            target: None,
            machine: None,
            limit: LISTED,
            format: ListFormat::Text,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListFormat {
    /// A table
    Text,
    /// One document
    Json,
    /// One line for each run
    Csv,
}

/// What changed between two runs, and is it proven?
///
/// Figures with their 95% intervals, findings that are new or gone, and what the runs were made on, where that differs. A run is a number,
/// `last`, `last:bench`, the name of a baseline, a file with a JSON document, or `-`.
///
/// Exit status: 0, or 1 if a figure of the later run is proven to be worse by more than --worse, or than the baseline allows; 2 if the
/// runs cannot be compared.
#[derive(Debug, Args)]
#[command(after_help = concat!(
    "Examples:",
    "\n  straddle compare 12 14                          two runs",
    "\n  straddle compare before.json after.json         two documents",
    "\n  straddle compare good --worse 5%                a baseline and the latest run of its kind",
))]
pub(crate) struct Compare {
    #[command(flatten)]
    pub(crate) place: Place,

    /// One run
    #[arg(value_name = "RUN")]
    pub(crate) one: String,

    /// The other [default: the latest other run of the same verb and target]
    #[arg(value_name = "RUN")]
    pub(crate) other: Option<String>,

    /// By how much a figure of the later run may be worse
    #[arg(long, value_name = "PERCENT", value_parser = tolerance)]
    pub(crate) worse: Option<f64>,

    /// Print one JSON document (see `straddle schema compare`)
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which run are later ones compared with?
#[derive(Debug, Args)]
#[command(after_help = concat!(
    "Examples:",
    "\n  straddle baseline set                           the last run, by the name of `baseline`",
    "\n  straddle baseline set 12 good --worse 3%",
    "\n  straddle bench /data --baseline good            a run that is compared with it",
))]
pub(crate) struct Baseline {
    #[command(flatten)]
    pub(crate) place: Place,

    /// Without one, the list
    #[command(subcommand)]
    pub(crate) action: Option<BaselineAction>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BaselineAction {
    /// Give a run a name; a name that was given is moved
    Set {
        /// Which run, a number, `last` or `last:VERB`, and the name, in either order [default: last baseline]
        #[arg(value_name = "RUN|NAME", num_args = 0..=2)]
        words: Vec<String>,
        /// The name; RUN may then be the name of another baseline
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
        /// By how much a later run may be worse
        #[arg(long, value_name = "PERCENT", value_parser = tolerance, default_value = "5%")]
        worse: f64,
    },
    /// All baselines
    List,
    /// Forget a name; the run stays
    Rm {
        /// The name
        #[arg(value_name = "NAME")]
        name: String,
    },
}
