//! Everything that can be typed.

pub(crate) mod bench;
pub(crate) mod fix;
mod geometry;
pub(crate) mod predict;
pub(crate) mod profile;
mod sizes;
pub(crate) mod study;

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use straddle::geometry::{Extent, Unit};
use straddle::rules::Severity;

pub(crate) use geometry::Geometry;
use sizes::{extent, unit};

/// Finds I/O misalignment in a storage stack, says what it costs and shows its evidence.
///
/// Exit status: 0 when there is no finding at or above --fail-on, 1 when there is one, 2 when something could not be
/// finished, or no start of anything was checked (what is known is still printed). A rounded start counts as checked where
/// a usual one explains it: a multiple of 1 MiB, or of 64 KiB below 1 MiB.
#[derive(Debug, Parser)]
#[command(
    name = "straddle",
    version,
    max_term_width = 100,
    disable_help_subcommand = true
)]
pub(crate) struct Cli {
    /// None: a guide is printed.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// What `straddle` alone prints: the verbs by question.
pub(crate) const GUIDE: &str = "\
Is it aligned, and what does it cost?     straddle check [TARGET…]   (this machine without one)
What does each offset deliver here?       straddle bench DIRECTORY
What would a move gain, before it?        straddle predict --stack TARGET --profile NAME
What do I run to repair it?               straddle fix TARGET
What does a finding mean?                 straddle explain CODE

All commands: straddle --help. Options and examples of one: straddle COMMAND --help.
";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Check(Check),
    Bench(Box<bench::Bench>),
    Predict(Box<predict::Predict>),
    Fix(fix::Fix),
    Profile(profile::Profile),
    Study(study::Study),
    Explain(Explain),
    Capture(Capture),
    Sqlio(Sqlio),
    Diskspd(Diskspd),
    Schema(Schema),
    Completions(Completions),
    Man(Man),
}

/// Is it aligned, layer by layer, and what does it cost?
///
/// Without a target, checks this machine. A target is a disk image (raw, or a virtual disk: qcow2, VHD, VHDX, VMDK, VDI),
/// a block device, a file on a mounted filesystem (a database file: its own extents are followed down to the disks), a file
/// of captured text (what diskpart, wmic, lsblk, storcli and other tools printed on some machine; `-` reads it from standard
/// input), or a directory of any of these. Files of captured text that are named together are of one machine.
/// Everything is opened read-only.
///
/// Exit status: 0 when there is no finding at or above --fail-on, 1 when there is one, 2 when something could not be
/// finished, or no start of anything was checked. A rounded start counts as checked where a usual one explains it: a
/// multiple of 1 MiB, or of 64 KiB below 1 MiB.
#[derive(Debug, Args)]
#[command(after_help = concat!(
    "Examples:",
    "\n  straddle check                                  this machine",
    "\n  straddle check guest.vhdx                       a virtual disk, and the partitions in it",
    "\n  straddle check /var/lib/mysql/ibdata1           a database file, down to the disks",
    "\n  straddle check fdisk.txt mdadm.txt              what tools printed on one other machine",
    "\n  straddle check --json images/ > report.json     a directory, for programs",
))]
pub(crate) struct Check {
    /// Images, devices, files, captured text or directories; this machine when none is given
    #[arg(value_name = "TARGET")]
    pub(crate) targets: Vec<PathBuf>,

    /// Check a captured host: a directory, or an archive made by `straddle capture`
    #[arg(long, value_name = "PATH")]
    pub(crate) sysroot: Option<PathBuf>,

    /// How to take a file: as a disk image by itself, or as a file with extents on this machine's disks
    #[arg(long = "as", value_enum, value_name = "KIND", default_value_t = As::Auto)]
    pub(crate) take_as: As,

    /// Request sizes to price; the worst of them decides the severity
    #[arg(long, value_name = "SIZE,…", value_delimiter = ',', value_parser = unit, default_value = "4K,8K,64K")]
    pub(crate) io: Vec<Unit>,

    #[command(flatten)]
    pub(crate) geometry: Geometry,

    /// File inside the guest's filesystem to follow to the disk, such as /data/db.mdf; may be repeated
    #[arg(long = "guest-file", value_name = "PATH")]
    pub(crate) guest_files: Vec<String>,

    /// Print where this byte of each topmost layer lies in every layer below, and with a length, what a write of so many
    /// bytes changes on the disks: data, copies and parities; may be repeated
    #[arg(long = "where", value_name = "OFFSET[+LENGTH]", value_parser = extent)]
    pub(crate) at: Vec<Extent>,

    /// Print that of the layer with this name, such as md0 or vg-data, instead of the topmost ones
    #[arg(long, value_name = "LAYER")]
    pub(crate) of: Option<String>,

    /// What to print
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Format::Text)]
    pub(crate) format: Format,

    /// Print one JSON document (see `straddle schema check`); the same as --format json
    #[arg(long, conflicts_with = "format")]
    pub(crate) json: bool,

    /// Print the whole report for every target, also when there are many
    #[arg(long)]
    pub(crate) details: bool,

    /// Print only what all targets come to: the worst ten by price, what was found how often. With --format csv, a line
    /// per target
    #[arg(long, conflicts_with = "details")]
    pub(crate) summary: bool,

    /// Least severity that makes the exit status 1
    #[arg(long, value_enum, value_name = "SEVERITY", default_value_t = FailOn::Warning)]
    pub(crate) fail_on: FailOn,

    /// Print nothing; the exit status speaks
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum As {
    /// A disk image when one is recognised in it, else a file; a virtual disk that is named is followed
    /// to this machine's disks too, where they are known
    Auto,
    /// A disk image by itself
    Image,
    /// A file on this machine: its extents, and what they rest on
    File,
    /// Captured text: what tools printed about the storage of some machine
    Text,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Findings and the stack, for people
    Text,
    /// One document, for programs
    Json,
    /// A line per partition, for spreadsheets
    Csv,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    /// Any finding
    Note,
    /// Findings that cost 5% or more
    Warning,
    /// Findings that cost 50% or more
    Error,
    /// No finding
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

/// What does this rule mean, why does it cost, how is it fixed?
#[derive(Debug, Args)]
#[command(after_help = concat!(
    "Examples:",
    "\n  straddle explain                                all rules",
    "\n  straddle explain STR101                         one of them",
    "\n  straddle explain tracks                         a belief, and what is true of it",
))]
pub(crate) struct Explain {
    /// A code such as STR101, or a belief such as `tracks`; without one, all are listed
    #[arg(value_name = "CODE")]
    pub(crate) topic: Option<String>,
}

/// Collects this host's configuration for offline analysis: an archive that `straddle check --sysroot` reads elsewhere.
///
/// Writes exactly the files that `check` reads. Serial numbers and other identities are left out unless asked for.
#[derive(Debug, Args)]
#[command(after_help = concat!(
    "Examples:",
    "\n  straddle capture                                this machine, into straddle-capture.tar.gz",
    "\n  straddle capture /data/db.mdf                   with the extents of a file",
    "\n  straddle check --sysroot straddle-capture.tar.gz     elsewhere, later",
))]
pub(crate) struct Capture {
    /// Archive to write (.tar.gz); it must not exist yet
    #[arg(
        short,
        long,
        value_name = "FILE",
        default_value = "straddle-capture.tar.gz"
    )]
    pub(crate) output: PathBuf,

    /// Files whose extents are captured too, so that they can be checked elsewhere
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// Host to capture: / or an unpacked capture
    #[arg(long, value_name = "PATH")]
    pub(crate) sysroot: Option<PathBuf>,

    /// Include serial numbers
    #[arg(long)]
    pub(crate) with_serials: bool,
}

/// Runs SQLIO's command line: its switches, its parameter file, its report.
///
/// Scripts that drive SQLIO and parse what it prints go on working. A file that does not exist is made and stays for later
/// runs; a file that straddle did not make is read, never written to. What is not done in the same way is refused by name.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
#[command(after_help = concat!(
    "Examples:",
    "\n  straddle sqlio -kR -s120 -frandom -o8 -b8 -LS testfile.dat",
))]
pub(crate) struct Sqlio {
    /// Switches and files as SQLIO takes them, such as -kR -s120 -frandom -o8 -b8 -LS -Fparam.txt
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

/// Runs diskspd's command line: its switches, its report.
///
/// A file is made with -c and its size, and stays for later runs; a file that straddle did not make is read, never written
/// to. What is not done in the same way is refused by name.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
#[command(after_help = concat!(
    "Examples:",
    "\n  straddle diskspd -c1G -b8K -d30 -o4 -t8 -r -w25 -L iotest.dat",
))]
pub(crate) struct Diskspd {
    /// Switches and targets as diskspd takes them, such as -b8K -d30 -o4 -t8 -Sh -r -w25 -L -c20G iotest.dat
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

/// What is in that JSON? Prints its JSON Schema.
#[derive(Debug, Args)]
#[command(after_help = concat!(
    "Examples:",
    "\n  straddle schema check > check.schema.json",
))]
pub(crate) struct Schema {
    /// The command whose --json output is described
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
    /// `straddle profile show --json`
    Profile,
    /// `straddle study --json`
    Study,
}

/// Prints a completion script for a shell
#[derive(Debug, Args)]
#[command(after_help = concat!(
    "Examples:",
    "\n  straddle completions bash > /etc/bash_completion.d/straddle",
))]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

/// Prints the manual page of straddle or of one of its commands (roff)
#[derive(Debug, Args)]
#[command(after_help = concat!(
    "Examples:",
    "\n  straddle man                                    the page of straddle",
    "\n  straddle man check                              the page of one command",
))]
pub(crate) struct Man {
    /// The command; straddle itself when none is given
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
        assert_eq!(guide.len(), 7, "five questions, and where the rest is");
        for line in &guide[..5] {
            let (question, typed) = line.split_once("?  ").expect("a question");
            assert!(!question.is_empty());
            let verb = typed.split_whitespace().nth(1).expect("straddle VERB");
            assert!(Cli::command().find_subcommand(verb).is_some(), "{verb}");
            assert!(line.len() <= 100, "{line}");
        }
    }
}
