//! What a file finder gives: a file with the places of its bytes, or why there is none.

use straddle_geometry::{Bytes, Extent, Map, Segment};
use straddle_io::ReadError;
use straddle_stack::{Anomaly, Fact};

use crate::Window;

/// Finds the file with the given path in the filesystem that fills the window.
pub type FileFinder = fn(&Window<'_>, &str) -> Result<FoundFile, FindError>;

/// A file inside a filesystem: how large it is and where its bytes lie.
#[derive(Clone, Debug)]
pub struct FoundFile {
    /// The path as the directories have it, from the root, with `/` between the names. It differs from the path asked
    /// for in case, where case does not matter. Control characters are replaced.
    pub path: String,
    /// Its length.
    pub size: Fact<Bytes>,
    /// How many bytes the filesystem has set aside for it.
    pub allocated: Fact<Bytes>,
    /// Where its bytes lie: `upper` counts from the beginning of the file, `lower` from that of the window; `target` is
    /// 0. Sorted by `upper`, joined where they continue each other, cut at the file's end. What is missing lies nowhere:
    /// holes, compressed parts, data inside the filesystem's own records; an anomaly says so.
    pub segments: Vec<Segment>,
    /// Where its first bytes lie, in the window, up to the end of their run; the provenance is the record of that run.
    /// For data inside the filesystem's own records it is their place there (in NTFS, the last two bytes of each 512 of a
    /// record are kept elsewhere). `None` for an empty file and for one that has no place.
    pub placement: Option<Fact<Extent>>,
    /// Parts of the file, counted from its beginning, that have a place but have never been written: they read as zeroes
    /// whatever lies there. Sorted.
    pub unwritten: Vec<Extent>,
    /// What is odd about it.
    pub anomalies: Vec<Anomaly>,
}

impl FoundFile {
    /// The segments as the map from the file to the window.
    #[must_use]
    pub fn map(&self) -> Map {
        Map::Segments(self.segments.clone())
    }
}

/// Why a file was not found, or could not be followed to its bytes.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FindError {
    /// The format has no files, or its files are not looked for.
    #[error("files are not looked for in {format}; they are in {supported}")]
    NoFinder {
        /// The format asked for.
        format: String,
        /// The formats that have a finder.
        supported: String,
    },
    /// The window does not hold what it is said to hold.
    #[error("there is no {format} here: {detail}")]
    NotThisFormat {
        /// The format asked for.
        format: &'static str,
        /// What was found and what was expected.
        detail: String,
    },
    /// The path cannot be that of a file.
    #[error("`{path}` is not the path of a file: {detail}")]
    BadPath {
        /// The path asked for.
        path: String,
        /// Why not.
        detail: String,
    },
    /// A directory of the path has no entry of that name.
    #[error("`{name}` is not in `{directory}`, {}", has(nearby))]
    NotFound {
        /// The component that is missing.
        name: String,
        /// The deepest directory of the path that exists.
        directory: String,
        /// Some of its entries, those first that resemble the name most.
        nearby: Vec<String>,
    },
    /// A component before the last is not a directory.
    #[error("`{path}` is {what}, not a directory")]
    NotADirectory {
        /// The path up to that component.
        path: String,
        /// What it is.
        what: &'static str,
    },
    /// The last component is not a file.
    #[error("`{path}` is {what}, not a file")]
    NotAFile {
        /// The path.
        path: String,
        /// What it is.
        what: &'static str,
    },
    /// A component is a link.
    #[error("`{path}` is a link to {target}: give the path that it leads to")]
    Link {
        /// The path up to that component.
        path: String,
        /// Where it leads, as far as is known.
        target: String,
    },
    /// The filesystem uses something that is not read.
    #[error("{detail}")]
    NotRead {
        /// What it uses.
        detail: String,
    },
    /// A limit was reached.
    #[error("{what}: more than {limit}, the most that is followed")]
    Limit {
        /// What there is too much of.
        what: String,
        /// The limit.
        limit: u64,
    },
    /// A structure contradicts itself.
    #[error("{what} at byte {} is damaged: {found}; expected {expected}", offset.grouped())]
    Damaged {
        /// What it is.
        what: String,
        /// Where it is, from the beginning of the target.
        offset: Bytes,
        /// What was found.
        found: String,
        /// What was expected.
        expected: String,
    },
    /// Bytes could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

fn has(nearby: &[String]) -> String {
    if nearby.is_empty() {
        return "which is empty".to_owned();
    }
    let quoted: Vec<String> = nearby.iter().map(|name| format!("`{name}`")).collect();
    format!("which has {}", quoted.join(", "))
}

/// What is wrong with a structure, by its own bytes: becomes [`FindError::Damaged`] where its place is known.
#[derive(Debug)]
pub(crate) struct Flaw {
    /// Where in the structure.
    pub(crate) at: usize,
    pub(crate) found: String,
    pub(crate) expected: String,
}

impl Flaw {
    pub(crate) fn new(at: usize, found: impl Into<String>, expected: impl Into<String>) -> Flaw {
        Flaw {
            at,
            found: found.into(),
            expected: expected.into(),
        }
    }

    /// The error, for a structure at `offset` of the window.
    pub(crate) fn inside(
        self,
        window: &Window<'_>,
        offset: u64,
        what: impl Into<String>,
    ) -> FindError {
        let within = u64::try_from(self.at).unwrap_or(u64::MAX);
        let start = window.extent().start().get();
        FindError::Damaged {
            what: what.into(),
            offset: Bytes::new(start.saturating_add(offset).saturating_add(within)),
            found: self.found,
            expected: self.expected,
        }
    }
}
