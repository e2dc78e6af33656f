//! Files that were named, files in folders that were named, and standard input: one at a time, so that thousands are never open at once.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};

use crate::io::{OpenError, Target, TargetKind};

/// Folders in folders, as far as somebody keeps logs and traces.
const DEEPEST: usize = 16;

/// Something that was found.
pub(crate) enum Found {
    /// `-`.
    Stdin,
    /// A file that somebody named: it has to be something.
    Named(String, Target),
    /// A file of a folder, among which others lie about.
    Listed(String, Target),
    /// In a folder: a link, a socket and the like. They are not followed.
    PassedOver,
    /// What cannot be read, and why.
    Failed(String, String),
}

/// Hands over everything that `inputs` name, once however often it is named. `expected` is what a file should have been.
pub(crate) fn each(inputs: &[PathBuf], expected: &str, found: &mut dyn FnMut(Found)) {
    let mut seen = Seen::default();
    for input in inputs {
        let name = input.display().to_string();
        if name == "-" {
            if seen.is_new(input) {
                found(Found::Stdin);
            }
        } else if input.is_dir() {
            folder(input, 0, &mut seen, found);
        } else {
            named(input, name, expected, &mut seen, found);
        }
    }
}

/// Where files really are: one that is named twice, or named and in a folder, is one.
#[derive(Default)]
struct Seen(HashSet<PathBuf>);

impl Seen {
    fn is_new(&mut self, path: &Path) -> bool {
        let real = path.canonicalize();
        self.0.insert(real.unwrap_or_else(|_| path.to_owned()))
    }
}

fn named(path: &Path, name: String, expected: &str, seen: &mut Seen, found: &mut dyn FnMut(Found)) {
    let no_file =
        |what: &str| format!("{name} is {what}; expected {expected}, or `-` for standard input");
    let error = match Target::open(path) {
        Ok(target) if target.kind() == TargetKind::File => {
            if seen.is_new(path) {
                found(Found::Named(name, target));
            }
            return;
        }
        Ok(_) => no_file("a block device"),
        Err(OpenError::WrongType { found, .. }) => no_file(found),
        Err(error) => error.to_string(),
    };
    found(Found::Failed(name, error));
}

fn folder(path: &Path, depth: usize, seen: &mut Seen, found: &mut dyn FnMut(Found)) {
    let name = path.display().to_string();
    let entries = std::fs::read_dir(path).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let mut entries = match entries {
        Ok(entries) => entries,
        Err(error) => {
            let error = format!("{name}: {error}");
            return found(Found::Failed(name, error));
        }
    };
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        let name = path.display().to_string();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            if depth < DEEPEST {
                folder(&path, depth + 1, seen, found);
            } else {
                let error = format!("{name}: more than {DEEPEST} folders deep");
                found(Found::Failed(name, error));
            }
            continue;
        }
        match Target::open_listed(&path) {
            Ok(target) if target.kind() == TargetKind::File => {
                if seen.is_new(&path) {
                    found(Found::Listed(name, target));
                }
            }
            Ok(_) | Err(OpenError::WrongType { .. }) => found(Found::PassedOver),
            Err(error) => found(Found::Failed(name, error.to_string())),
        }
    }
}
