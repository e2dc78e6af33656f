//! Why something could not be checked.

use std::io;
use std::path::PathBuf;

use crate::io::OpenError;
use crate::report::text;
use crate::rules::{COMMANDS, Coverage, Lack, Why};
use crate::sources::SourceError;
use crate::sources::captured::{Lacking, Next};

/// Why a target could not be checked. The others still are.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// A directory that could not be listed.
    #[error(transparent)]
    Unlisted(io::Error),
    /// It could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// It, or what it lies on, could not be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// Its real name could not be had, or standard input not be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The kernel's tables have names in UTF-8.
    #[error("{} is not valid UTF-8", .0.display())]
    NotUtf8(PathBuf),
    /// A file without bytes was named.
    #[error("{} is empty: 0 bytes found; expected a disk image, or a file with data", .0.display())]
    Empty(PathBuf),
    /// A drive of Windows, named on another system.
    #[error(
        "{} is a drive or path of Windows, and this is another system; run straddle there, or `straddle capture -o host.tgz` there and check that file here",
        .0.display()
    )]
    Drive(PathBuf),
    /// Something packed that could not be read.
    #[error("{name}: {source}")]
    Unpacked {
        /// What was named, with the member where it is one.
        name: String,
        /// What is wrong with it.
        source: io::Error,
    },
    /// An archive that other programs read.
    #[error(
        "{} is {is}, which is not looked into; unpack it (`{unpack} {}`) and check what comes out, or say `--as file` to see where the file itself lies",
        .name.display(), .name.display()
    )]
    Strange {
        /// What was named.
        name: PathBuf,
        /// What it is.
        is: &'static str,
        /// The command that unpacks it.
        unpack: &'static str,
    },
    /// It was said to be captured text, and no output of a known tool is in it.
    #[error("{name}: {}", nothing_known(*.why))]
    NothingKnown {
        /// What was named.
        name: String,
        /// Why nothing is known of it.
        why: Why,
    },
    /// What a tool printed that says of nothing where it begins.
    #[error("{name}: {}", lacks(.lacking))]
    Lacking {
        /// What was named.
        name: String,
        /// The tool, and what it lacks.
        lacking: &'static Lacking,
    },
}

/// What a tool does not print, and what to run instead.
fn lacks(lacking: &Lacking) -> String {
    let next = match lacking.next {
        Next::Run(next) => next.to_owned(),
        Next::On(platform) => {
            let known = COMMANDS
                .iter()
                .filter(|supply| supply.lack == Lack::Start && supply.platform == platform);
            let named: Vec<String> = known
                .map(|supply| format!("`{}`", supply.command))
                .collect();
            named.join(" or ")
        }
    };
    format!(
        "nothing was checked: this is of `{}`, which prints {}; run instead: {next}",
        lacking.tool, lacking.lacks
    )
}

/// That nothing is known of a file, and what to capture next.
#[must_use]
pub fn nothing_known(why: Why) -> String {
    match Coverage::of_nothing_known(why) {
        Coverage::Nothing { why, next } => text::unchecked(why, &next),
        Coverage::Starts { .. } | Coverage::Units | Coverage::Blank { .. } => String::new(),
    }
}
