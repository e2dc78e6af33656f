//! The walk from directory to directory, which all finders share.

use super::found::FindError;

/// How paths are written for a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PathStyle {
    /// `/` only; every other character can be part of a name.
    Unix,
    /// `\` and `/`, and a drive letter that is ignored.
    Windows,
}

/// No system's paths are longer, in bytes of UTF-8.
const MAX_PATH: usize = 96 << 10;
/// Directories can be nested deeper, but nothing that is made on purpose is.
const MAX_DEPTH: usize = 256;

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
        if path.len() > MAX_PATH {
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
        if names.len() > MAX_DEPTH {
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
}
