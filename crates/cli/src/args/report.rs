use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Show it to people: one self-contained file with the pictures, the figures behind them, and the findings.
///
/// A run is a number, `last`, `last:bench` or a baseline of the history, a file with a JSON document that check, bench, predict, study, fix
/// or evidence printed, or `-` for standard input. Nothing is measured or computed again. The HTML file needs nothing else: it opens
/// offline, prints, and can be read without scripts.
#[derive(Debug, Args)]
#[command(after_help = concat!(
    "Examples:",
    "\n  straddle report -o report.html                  the latest run",
    "\n  straddle report last:bench last:fix -o out.html the latest of two verbs on one page",
    "\n  straddle report check.json -o report.html       what check printed with --json",
    "\n  straddle report bench.json -o bench.md          Markdown, with every figure in a table",
    "\n  straddle report bench.json --figure 1 -o gain.svg   one picture",
))]
pub(crate) struct Report {
    /// Runs, in the order in which they are shown
    #[arg(value_name = "RUN", default_value = "last")]
    pub(crate) runs: Vec<String>,

    #[command(flatten)]
    pub(crate) place: super::history::Place,

    /// File to write; `-` is standard output [default: standard output, unless that is a terminal]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Replace a file that exists
    #[arg(long)]
    pub(crate) force: bool,

    /// What to write [default: by the end of the file's name, else html]
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<ReportFormat>,

    /// Which picture to write with --format svg, counted from 1 [default: the first]
    #[arg(long, value_name = "N")]
    pub(crate) figure: Option<usize>,

    /// Title of the page [default: that of its first section]
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// One file with everything in it, for browsers and printers
    Html,
    /// Text with tables, for wikis and tickets
    #[value(alias = "md")]
    Markdown,
    /// The documents as they are, in one
    Json,
    /// One picture
    Svg,
}

impl ReportFormat {
    /// What the end of a file's name says.
    pub(crate) fn of(path: &std::path::Path) -> Option<ReportFormat> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "html" | "htm" => Some(ReportFormat::Html),
            "md" | "markdown" => Some(ReportFormat::Markdown),
            "json" => Some(ReportFormat::Json),
            "svg" => Some(ReportFormat::Svg),
            _ => None,
        }
    }
}
