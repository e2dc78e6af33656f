//! From what was typed to what is checked: directories become the files in them.

use std::fs;
use std::path::{Path, PathBuf};

use super::Unlisted;

/// One thing to check.
pub(super) enum Job {
    /// The host as a whole.
    Host,
    /// An image, a device, or a file.
    Path(PathBuf, Origin),
}

/// How a path came into the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// Named on the command line.
    Named,
    /// Found in a directory.
    Listed,
}

impl Job {
    /// What it is called in the results.
    pub(super) fn name(&self, host: &str) -> String {
        match self {
            Job::Host => host.to_owned(),
            Job::Path(path, _) => path.display().to_string(),
        }
    }
}

/// Directories nested deeper than this are not entered: nobody keeps images there, and a bind mount can make a loop.
const DEEPEST: usize = 32;

/// The jobs for `targets`, in their order, the files of a directory by name; and the directories that could not be read.
pub(super) fn jobs(targets: &[PathBuf], captured: bool) -> (Vec<Job>, Vec<Unlisted>) {
    let (mut jobs, mut unlisted) = (Vec::new(), Vec::new());
    if targets.is_empty() {
        jobs.push(Job::Host);
    }
    for target in targets {
        // Paths on a captured host mean nothing here.
        if !captured && target.is_dir() {
            list(target, 0, &mut jobs, &mut unlisted);
        } else {
            jobs.push(Job::Path(target.clone(), Origin::Named));
        }
    }
    (jobs, unlisted)
}

fn list(directory: &Path, depth: usize, jobs: &mut Vec<Job>, unlisted: &mut Vec<Unlisted>) {
    let entries = fs::read_dir(directory).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let mut entries = match entries {
        Ok(entries) => entries,
        Err(error) => return unlisted.push((directory.to_owned(), error)),
    };
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        // Symbolic links are left alone: what they point to is listed where it is, or was not asked for.
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && depth < DEEPEST => {
                list(&entry.path(), depth + 1, jobs, unlisted)
            }
            Ok(kind) if kind.is_file() => jobs.push(Job::Path(entry.path(), Origin::Listed)),
            Ok(_) => {}
            Err(error) => unlisted.push((entry.path(), error)),
        }
    }
}
