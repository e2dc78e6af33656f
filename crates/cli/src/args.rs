//! Everything that can be typed.

pub(crate) mod bench;
pub(crate) mod evidence;
pub(crate) mod fix;
pub(crate) mod foreign;
mod geometry;
pub(crate) mod history;
mod number;
mod parameter;
pub(crate) mod predict;
pub(crate) mod profile;
mod rates;
pub(crate) mod realign;
pub(crate) mod report;
pub(crate) mod serve;
mod shares;
mod sizes;
pub(crate) mod study;
mod times;
pub(crate) mod trace;

use clap::{Args, FromArgMatches, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use straddle::check::{FILES, KINDS, Kind};
use straddle::geometry::{Extent, Unit};
use straddle::rules::Severity;

pub(crate) use geometry::Geometry;
use sizes::{extent, request};

/// Finds I/O misalignment in a storage stack, says what it costs and shows the evidence.
///
/// Exit status: 0 if no finding reaches --fail-on, 1 if one does, 2 if something could not be completed or no starting
/// offset was checked (what is known is still printed). A rounded offset counts as checked if a usual one explains it: a
/// multiple of 1 MiB, or below 1 MiB a multiple of 64 KiB.
#[derive(Debug, Parser)]
#[command(name = "straddle", version, max_term_width = 100)]
pub(crate) struct Cli {
    /// Without one, a short guide is printed.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// What `straddle` alone prints: the verbs by question.
pub(crate) const GUIDE: &str = "\
Is it aligned, and what does it cost?     straddle check [TARGET…]   (default: this machine)
How fast is each offset on this storage?  straddle bench DIRECTORY
What would moving the data gain?          straddle predict --stack TARGET --profile NAME
What do I run to fix it?                  straddle fix TARGET, or straddle realign TARGET
What do my logs and counters say?         straddle evidence FILE…
What would offsets cost on my workload?   straddle trace FILE…
What does a finding mean?                 straddle explain CODE

All commands: straddle --help. Options and examples of one command: straddle COMMAND --help.
";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Check(Check),
    Bench(Box<bench::Bench>),
    Predict(Box<predict::Predict>),
    Fix(fix::Fix),
    Realign(Box<realign::Realign>),
    Evidence(evidence::Evidence),
    Trace(Box<trace::Trace>),
    Profile(profile::Profile),
    Study(study::Study),
    Report(report::Report),
    History(history::History),
    Compare(history::Compare),
    Baseline(history::Baseline),
    Serve(serve::Serve),
    Explain(Explain),
    Capture(Capture),
    Sqlio(Sqlio),
    Diskspd(Diskspd),
    Schema(Schema),
    Completions(Completions),
    Man(Man),
}

/// Is each layer aligned, and what does misalignment cost?
///
/// Without a target, checks this machine. A target is one of:
/// a disk image (raw, or a virtual disk: qcow2, VHD, VHDX, VMDK, VDI);
/// a block device;
/// a file on a mounted filesystem, such as a database file, whose extents are traced down to the disks;
/// a file of captured text: the output of diskpart, wmic, lsblk, storcli and other tools on any machine (`-` reads
/// standard input);
/// a directory of any of these.
/// Captured text files named together describe one machine. Everything is opened read-only.
///
/// Exit status: 0 if no finding reaches --fail-on, 1 if one does, 2 if something could not be completed or no starting
/// offset was checked. A rounded offset counts as checked if a usual one explains it: a multiple of 1 MiB, or below 1 MiB
/// a multiple of 64 KiB.
#[derive(Debug, Args)]
#[command(after_help = concat!(
    "Examples:",
    "\n  straddle check                                  this machine",
    "\n  straddle check guest.vhdx                       a virtual disk, and the partitions in it",
    "\n  straddle check /var/lib/mysql/ibdata1           a database file, down to the disks",
    "\n  straddle check fdisk.txt mdadm.txt              tool output captured on another machine",
    "\n  straddle check --json images/ > report.json     a directory, as JSON",
))]
pub(crate) struct Check {
    /// Images, devices, files, directories, captures and archives of hosts, captured text; - is standard input [default: this machine]
    #[arg(value_name = "TARGET")]
    pub(crate) targets: Vec<PathBuf>,

    /// Check a captured host: a directory, or an archive made by `straddle capture`
    #[arg(long, value_name = "PATH")]
    pub(crate) sysroot: Option<PathBuf>,

    /// What a target is taken for, whatever its content says: image, file, text, capture, support, archive, place or collection (see
    /// docs/targets.md)
    #[arg(long = "as", value_name = "KIND", value_parser = kind, default_value = "auto")]
    pub(crate) take_as: TakeAs,

    /// How many of a directory's largest files are looked at from below
    #[arg(long, value_name = "N", default_value_t = FILES)]
    pub(crate) files: usize,

    /// Request sizes to compute the cost for; the worst one sets the severity
    #[arg(long, visible_alias = "bs", value_name = "SIZE,…", value_delimiter = ',', value_parser = request, default_value = "4K,8K,64K")]
    pub(crate) io: Vec<Unit>,

    #[command(flatten)]
    pub(crate) geometry: Geometry,

    /// Trace this file inside the guest's filesystem down to the disk, such as /data/db.mdf; may be repeated
    #[arg(long = "guest-file", value_name = "PATH")]
    pub(crate) guest_files: Vec<String>,

    /// Print where this byte of each top layer lies in every layer below it; with a length, also which bytes a write of that
    /// length changes on the disks: data, mirror copies and parity; may be repeated
    #[arg(long = "where", value_name = "OFFSET[+LENGTH]", value_parser = extent)]
    pub(crate) at: Vec<Extent>,

    /// With --where, start from the layer of this name, such as md0 or vg-data, instead of the top layers
    #[arg(long, value_name = "LAYER")]
    pub(crate) of: Option<String>,

    /// Output format
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Form::Text)]
    pub(crate) format: Form,

    /// Print one JSON document (see `straddle schema check`); the same as --format json
    #[arg(long, conflicts_with = "format")]
    pub(crate) json: bool,

    /// Print the full report for every target, even if there are many
    #[arg(short = 'v', long, alias = "verbose", overrides_with = "details")]
    pub(crate) details: bool,

    /// Print only a summary of all targets: the ten worst by cost, and how often each rule fired. With --format csv, one line
    /// per target
    #[arg(long, conflicts_with = "details")]
    pub(crate) summary: bool,

    /// Minimum severity that makes the exit status 1
    #[arg(long, value_enum, value_name = "SEVERITY", default_value_t = FailOn::Warning)]
    pub(crate) fail_on: FailOn,

    /// Print nothing; only set the exit status
    #[arg(short, long)]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) keeping: history::Keeping,
}

impl Check {
    /// The command line where it is a `check` without a fault. Scripts start one for every image, and making the options of all other
    /// verbs would be a quarter of its instructions. What this does not take, the whole command line explains.
    pub(crate) fn alone() -> Option<Check> {
        let mut words = std::env::args_os().skip(1).peekable();
        if words.peek()? != "check" {
            return None;
        }
        let command = Check::augment_args(clap::Command::new("check"));
        let mut matches = command.try_get_matches_from(words).ok()?;
        Check::from_arg_matches_mut(&mut matches).ok()
    }
}

/// What a target is taken for; `None` where its content decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TakeAs(pub(crate) Option<Kind>);

fn kind(typed: &str) -> Result<TakeAs, String> {
    if typed == "auto" {
        return Ok(TakeAs(None));
    }
    let kind = Kind::named(typed).ok_or_else(|| {
        let names: Vec<&str> = KINDS.iter().map(|about| about.name).collect();
        format!("it is none of auto, {}", names.join(", "))
    });
    kind.map(|kind| TakeAs(Some(kind)))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Findings and the stack, for reading
    Text,
    /// One document, for programs
    Json,
    /// One line per partition, for spreadsheets
    Csv,
}

/// The forms of what `check` prints, which may be about many hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// Findings and the stack, for reading
    Text,
    /// One document, for programs
    Json,
    /// One document a line, each target as soon as it is done
    Ndjson,
    /// One line per partition, for spreadsheets
    Csv,
    /// CSV with one line per target and finding; a target without one has a line, too
    Findings,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    /// Any finding
    Note,
    /// Findings that cost 5% or more
    Warning,
    /// Findings that cost 50% or more
    Error,
    /// None: a finding never sets it
    #[value(aliases = ["none", "off"])]
    Never,
}

impl FailOn {
    pub(crate) fn is_reached_by(self, severity: Severity) -> bool {
        match self {
            FailOn::Note => true,
            FailOn::Warning => severity >= Severity::Warning,
            FailOn::Error => severity >= Severity::Error,
            FailOn::Never => false,
        }
    }
}

/// What does a finding mean, why does it cost performance, and how do I fix it?
#[derive(Debug, Args)]
#[command(after_help = concat!(
    "Examples:",
    "\n  straddle explain                                all rules",
    "\n  straddle explain STR101                         one rule",
    "\n  straddle explain STR101 STR201 tracks           several pages",
    "\n  straddle explain tracks                         a common belief, and what is true of it",
    "\n  straddle explain mount point                    the same, in two words",
    "\n  straddle explain stripe unit alignment          all pages in which these words stand",
))]
pub(crate) struct Explain {
    /// Rule codes such as STR101, common beliefs such as `tracks`, or words to look for [default: list all]
    ///
    /// A page with this code, name or title is printed; of several codes and names, all their pages. Otherwise the pages that contain all words are listed, best first: words in
    /// the name, then in the title, then in the text. If there is only one, it is printed. `64K`, `64 KB` and `64 KiB` are the same.
    #[arg(value_name = "CODE|WORD")]
    pub(crate) words: Vec<String>,
}

/// Collects this host's configuration for offline analysis: an archive that `check`, `fix` and `predict --stack` read elsewhere.
///
/// Archives exactly the files that `check` reads. Leaves out serial numbers and other identifiers unless --with-serials is
/// given.
#[derive(Debug, Args)]
#[command(after_help = concat!(
    "Examples:",
    "\n  straddle capture                                this machine, into straddle-capture.tar.gz",
    "\n  straddle capture /data/db.mdf                   the same, with the extents of a file",
    "\n  straddle capture -o - | ssh HOST straddle check -    straight to another machine",
    "\n  straddle check straddle-capture.tar.gz          later, on another machine",
))]
pub(crate) struct Capture {
    /// Archive to write (.tar.gz); must not exist yet; - is standard output
    #[arg(
        short,
        long,
        value_name = "FILE",
        default_value = "straddle-capture.tar.gz"
    )]
    pub(crate) output: PathBuf,

    /// Files whose extents to capture as well, so that they can be checked elsewhere
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// Root of the host to capture: / or an unpacked capture
    #[arg(long, value_name = "PATH")]
    pub(crate) sysroot: Option<PathBuf>,

    /// Include serial numbers
    #[arg(long)]
    pub(crate) with_serials: bool,

    /// Include the tables and superblocks of the disks, with the labels and identifiers in them: `straddle fix` needs them to plan for
    /// a captured host
    #[arg(long)]
    pub(crate) with_metadata: bool,
}

/// Accepts SQLIO's command line: same switches, same parameter file, same report.
///
/// Scripts that run SQLIO and parse its output keep working. A file that does not exist is created and kept for later
/// runs; a file that straddle did not create is only read, never written. A switch that straddle cannot honour the way SQLIO
/// does is refused by name.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
#[command(after_help = concat!(
    "Examples:",
    "\n  straddle sqlio -kR -s120 -frandom -o8 -b8 -LS testfile.dat",
))]
pub(crate) struct Sqlio {
    /// SQLIO's switches and files, such as -kR -s120 -frandom -o8 -b8 -LS -Fparam.txt
    #[arg(
        value_name = "SQLIO",
        trailing_var_arg = true,
        allow_hyphen_values = true,
        required = true
    )]
    pub(crate) arguments: Vec<String>,

    /// Print help
    #[arg(long, action = clap::ArgAction::Help)]
    help: Option<bool>,
}

/// Accepts diskspd's command line: same switches, same report.
///
/// -cSIZE creates the file, which is kept for later runs; a file that straddle did not create is only read, never written.
/// A switch that straddle cannot honour the way diskspd does is refused by name.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
#[command(after_help = concat!(
    "Examples:",
    "\n  straddle diskspd -c1G -b8K -d30 -o4 -t8 -r -w25 -L iotest.dat",
))]
pub(crate) struct Diskspd {
    /// diskspd's switches and targets, such as -b8K -d30 -o4 -t8 -Sh -r -w25 -L -c20G iotest.dat
    #[arg(
        value_name = "DISKSPD",
        trailing_var_arg = true,
        allow_hyphen_values = true,
        required = true
    )]
    pub(crate) arguments: Vec<String>,

    /// Print help
    #[arg(long, action = clap::ArgAction::Help)]
    help: Option<bool>,
}

/// Prints the JSON Schema of a command's --json output
#[derive(Debug, Args)]
#[command(after_help = concat!(
    "Examples:",
    "\n  straddle schema check > check.schema.json",
))]
pub(crate) struct Schema {
    /// Command whose --json output to describe
    #[arg(value_enum)]
    pub(crate) verb: Verb,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Verb {
    /// `straddle check --json`
    Check,
    /// `straddle bench --json`
    Bench,
    /// `straddle predict --json`
    Predict,
    /// `straddle fix --json`
    Fix,
    /// `straddle realign --json`
    Realign,
    /// `straddle evidence --json`
    Evidence,
    /// `straddle trace --json`
    Trace,
    /// `straddle profile show --json`
    Profile,
    /// `straddle study --json`
    Study,
    /// `straddle compare --json`
    Compare,
    /// `straddle history list --format json`
    History,
}

/// Prints a shell completion script
#[derive(Debug, Args)]
#[command(after_help = concat!(
    "Examples:",
    "\n  straddle completions bash > /etc/bash_completion.d/straddle",
))]
pub(crate) struct Completions {
    /// Shell to complete for
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

/// Prints the manual page of straddle or of one command (roff)
#[derive(Debug, Args)]
#[command(after_help = concat!(
    "Examples:",
    "\n  straddle man                                    the page for straddle",
    "\n  straddle man check                              the page for one command",
))]
pub(crate) struct Man {
    /// Command to print the page of [default: straddle itself]
    #[arg(value_name = "COMMAND")]
    pub(crate) command: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_help_of_every_command_has_examples_that_can_be_typed() {
        for command in Cli::command().get_subcommands() {
            let name = command.get_name();
            let help = command.get_after_help().map(ToString::to_string);
            let help = help.unwrap_or_default();
            let lines: Vec<&str> = help.lines().skip(1).collect();
            assert!(help.starts_with("Examples:") && !lines.is_empty(), "{name}");
            for line in lines {
                let (typed, _) = line.trim().split_once("  ").unwrap_or((line.trim(), ""));
                let (typed, _) = typed.split_once(" > ").unwrap_or((typed, ""));
                let own = |part: &&str| part.starts_with("straddle ");
                let typed = typed.split(" | ").find(own).unwrap_or(typed);
                assert!(line.chars().count() <= 100, "too wide: {line}");
                if let Err(error) = Cli::try_parse_from(typed.split_whitespace()) {
                    panic!("{typed}: {error}");
                }
            }
        }
    }

    #[test]
    fn the_guide_names_the_verbs_by_question() {
        let guide: Vec<&str> = GUIDE.lines().collect();
        assert_eq!(guide.len(), 9, "seven questions, and where the rest is");
        for line in &guide[..7] {
            let (question, typed) = line.split_once("?  ").expect("a question");
            assert!(!question.is_empty());
            let verb = typed.split_whitespace().nth(1).expect("straddle VERB");
            assert!(Cli::command().find_subcommand(verb).is_some(), "{verb}");
            assert!(line.len() <= 100, "{line}");
        }
    }
}
