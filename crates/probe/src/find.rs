//! Finds a file by its path inside a filesystem that is not mounted, and says where its bytes lie.
//!
//! Each format brings a [`FileFinder`]; what they share is here: the result, the errors, and the walk from directory to
//! directory. Symbolic links are not followed: the error names where they lead.

use straddle_geometry::{Bytes, Extent, Map, Segment};
use straddle_io::ReadError;
use straddle_stack::{Fact, Oddity};

use crate::{Window, registry};

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
    /// holes, compressed parts, data inside the filesystem's own records; an oddity says so.
    pub segments: Vec<Segment>,
    /// Where its first bytes lie, in the window, up to the end of their run; the provenance is the record of that run.
    /// For data inside the filesystem's own records it is their place there (in NTFS, the last two bytes of each 512 of a
    /// record are kept elsewhere). `None` for an empty file and for one that has no place.
    pub placement: Option<Fact<Extent>>,
    /// Parts of the file, counted from its beginning, that have a place but have never been written: they read as zeroes
    /// whatever lies there. Sorted.
    pub unwritten: Vec<Extent>,
    /// What is odd about it.
    pub oddities: Vec<Oddity>,
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

/// Finds the file at `path` in the filesystem of the given format that fills the window.
///
/// `format` is the name of a prober or of a member of its family: `ntfs`, `ext`, `ext4`. NTFS takes both kinds of
/// slash, and a drive letter in front is ignored; what comes from Linux has only `/`.
///
/// # Errors
/// [`FindError`].
pub fn find_file(window: &Window<'_>, format: &str, path: &str) -> Result<FoundFile, FindError> {
    let family = format.trim_end_matches(|c: char| c.is_ascii_digit());
    let finder = registry::FILESYSTEMS
        .iter()
        .find(|prober| prober.name == format || prober.name == family)
        .and_then(|prober| prober.find);
    match finder {
        Some(find) => find(window, path),
        None => Err(FindError::NoFinder {
            format: format.to_owned(),
            supported: registry::FILESYSTEMS
                .iter()
                .filter(|prober| prober.find.is_some())
                .map(|prober| prober.name)
                .collect::<Vec<_>>()
                .join(", "),
        }),
    }
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

/// How paths are written for a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PathStyle {
    /// `/` only; every other character can be part of a name.
    Unix,
    /// `\` and `/`, and a drive letter that is ignored.
    Windows,
}

/// No system's paths are longer, in bytes of UTF-8.
const LONGEST_PATH: usize = 96 << 10;
/// Directories can be nested deeper, but nothing that is made on purpose is.
const DEEPEST: usize = 256;

impl PathStyle {
    /// The names of the path; `.` is dropped and `..` goes back.
    fn names(self, path: &str) -> Result<Vec<&str>, FindError> {
        let bad = |detail: &str| {
            let shown: String = path.chars().take(200).collect();
            Err(FindError::BadPath {
                path: cleaned(&shown),
                detail: detail.to_owned(),
            })
        };
        if path.len() > LONGEST_PATH {
            return bad("it is longer than 96 KiB");
        }
        let windows = self == PathStyle::Windows;
        let rest = match path.as_bytes() {
            [letter, b':', ..] if windows && letter.is_ascii_alphabetic() => &path[2..],
            _ => path,
        };
        let mut names = Vec::new();
        for name in rest.split(|c| c == '/' || (windows && c == '\\')) {
            match name {
                "" | "." => {}
                ".." if names.pop().is_none() => return bad("it leaves the root directory"),
                ".." => {}
                name => names.push(name),
            }
        }
        if names.is_empty() {
            return bad("it names no file");
        }
        if names.len() > DEEPEST {
            return bad("it has more than 256 directories");
        }
        Ok(names)
    }
}

/// What an entry of a directory is.
pub(crate) enum NodeKind {
    File,
    Directory,
    /// With where it leads.
    Link(String),
    /// With what it is: "a socket".
    Other(&'static str),
}

impl NodeKind {
    /// By the upper bits of a mode, as all filesystems of Unix have them. `target` says where a link leads.
    pub(crate) fn of_mode(
        mode: u16,
        target: impl FnOnce() -> Result<String, FindError>,
    ) -> Result<NodeKind, FindError> {
        Ok(match mode >> 12 {
            0x8 => NodeKind::File,
            0x4 => NodeKind::Directory,
            0xa => NodeKind::Link(target()?),
            0x2 | 0x6 => NodeKind::Other("a device"),
            0x1 => NodeKind::Other("a named pipe"),
            0xc => NodeKind::Other("a socket"),
            _ => NodeKind::Other("of no known type"),
        })
    }
}

/// An entry of a directory.
pub(crate) struct Entry<N> {
    pub(crate) node: N,
    /// The name as the directory has it.
    pub(crate) name: String,
}

/// A filesystem whose directories can be looked into.
pub(crate) trait Tree {
    /// A file or directory, read.
    type Node;

    fn root(&self) -> Result<Self::Node, FindError>;
    fn kind(&self, node: &Self::Node) -> Result<NodeKind, FindError>;
    /// The entry of `directory` that is called `name`. Other entries that are passed on the way are offered to `nearby`.
    fn look_up(
        &self,
        directory: &Self::Node,
        name: &str,
        nearby: &mut Nearby<'_>,
    ) -> Result<Option<Entry<Self::Node>>, FindError>;
}

/// Walks from the root to the file at `path`; returns it and its path as the directories have it.
pub(crate) fn walk<T: Tree>(
    tree: &T,
    style: PathStyle,
    path: &str,
) -> Result<(T::Node, String), FindError> {
    let names = style.names(path)?;
    let mut walked = String::new();
    let mut node = tree.root()?;
    for name in names {
        let directory = if walked.is_empty() { "/" } else { &walked };
        match tree.kind(&node)? {
            NodeKind::Directory => {}
            NodeKind::Link(target) => return Err(link(walked, &target)),
            NodeKind::File => return Err(not_a_directory(walked, "a file")),
            NodeKind::Other(what) => return Err(not_a_directory(walked, what)),
        }
        let mut nearby = Nearby::new(name);
        let Some(entry) = tree.look_up(&node, name, &mut nearby)? else {
            return Err(FindError::NotFound {
                name: cleaned(name),
                directory: directory.to_owned(),
                nearby: nearby.best(),
            });
        };
        walked.push('/');
        walked.push_str(&cleaned(&entry.name));
        node = entry.node;
    }
    let what = match tree.kind(&node)? {
        NodeKind::File => return Ok((node, walked)),
        NodeKind::Link(target) => return Err(link(walked, &target)),
        NodeKind::Directory => "a directory",
        NodeKind::Other(what) => what,
    };
    Err(FindError::NotAFile { path: walked, what })
}

fn link(path: String, target: &str) -> FindError {
    let target = cleaned(target);
    FindError::Link { path, target }
}

fn not_a_directory(path: String, what: &'static str) -> FindError {
    FindError::NotADirectory { path, what }
}

/// A name from a medium, fit for a terminal.
pub(crate) fn cleaned(name: &str) -> String {
    let replace = |c: char| match c {
        c if c.is_control() => char::REPLACEMENT_CHARACTER,
        c => c,
    };
    name.chars().map(replace).collect()
}

/// The few entries of a directory that resemble a name most.
pub(crate) struct Nearby<'n> {
    name: &'n str,
    /// With the number of characters in common, most first.
    best: Vec<(usize, String)>,
}

impl<'n> Nearby<'n> {
    const KEPT: usize = 5;

    pub(crate) fn new(name: &'n str) -> Nearby<'n> {
        Nearby {
            name,
            best: Vec::new(),
        }
    }

    /// Considers an entry.
    pub(crate) fn offer(&mut self, entry: &str) {
        let lower = |s: &'n str| s.chars().flat_map(char::to_lowercase);
        let common = lower(self.name)
            .zip(entry.chars().flat_map(char::to_lowercase))
            .take_while(|(a, b)| a == b)
            .count();
        let at = self.best.partition_point(|(n, _)| *n >= common);
        if at < Nearby::KEPT && self.best.iter().all(|(_, known)| known != entry) {
            self.best.insert(at, (common, entry.to_owned()));
            self.best.truncate(Nearby::KEPT);
        }
    }

    fn best(self) -> Vec<String> {
        self.best
            .into_iter()
            .map(|(_, name)| cleaned(&name))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn windows(path: &str) -> Result<Vec<&str>, String> {
        PathStyle::Windows.names(path).map_err(|e| e.to_string())
    }

    #[test]
    fn both_slashes_and_a_drive_letter_are_understood_where_windows_is() {
        assert_eq!(windows(r"D:\Data\db.mdf"), Ok(vec!["Data", "db.mdf"]));
        assert_eq!(windows("//Data/./x/../db.mdf"), Ok(vec!["Data", "db.mdf"]));
        let unix = PathStyle::Unix.names(r"/a\b/c:").expect("legal names");
        assert_eq!(unix, [r"a\b", "c:"]);
    }

    #[test]
    fn paths_of_no_file_are_refused() {
        for (path, want) in [
            ("", "it names no file"),
            ("C:\\", "it names no file"),
            ("/a/../..", "it leaves the root directory"),
            (&"a/".repeat(257), "it has more than 256 directories"),
            (&"a".repeat(100_000), "it is longer than 96 KiB"),
        ] {
            let error = windows(path).expect_err("refused");
            assert!(error.ends_with(want), "{error}");
        }
    }

    #[test]
    fn the_entries_most_like_the_name_are_kept() {
        let mut nearby = Nearby::new("db.mdf");
        for entry in ["a", "b", "c", "DB.ldf", "e", "f", "db.md", "g", "\u{1b}[2J"] {
            nearby.offer(entry);
        }
        assert_eq!(nearby.best(), ["db.md", "DB.ldf", "a", "b", "c"]);
        assert_eq!(cleaned("a\u{1b}[2J"), "a\u{fffd}[2J");
    }

    #[test]
    fn formats_without_a_finder_say_which_have_one() {
        let bytes = vec![0; 16];
        let reader = straddle_io::Reader::new(&bytes);
        let window = Window::whole(&reader, None);
        let error = find_file(&window, "swap", "/a").expect_err("swap has no files");
        let text = error.to_string();
        assert!(
            text.starts_with("files are not looked for in swap; they are in ntfs"),
            "{text}"
        );
    }
}
