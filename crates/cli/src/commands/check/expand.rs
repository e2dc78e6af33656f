//! From what was typed to what is checked: directories become the files in them, files of captured text are put together.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use straddle::io::Target;
use straddle::sources::{self, captured};

use super::Unlisted;
use super::text;

/// One thing to check.
pub(super) enum Job {
    /// The host as a whole.
    Host,
    /// An image, a device, or a file.
    Path(PathBuf, Origin),
    /// Captured text from standard input.
    Input,
    /// Images that are members of one array, volume group or the like.
    Images(Vec<PathBuf>),
    /// Files of captured text that were named together, which says that they are of one machine.
    Together(Vec<PathBuf>),
    /// Files of one folder that can be captured text, of one machine or of several.
    Folder(PathBuf, Vec<PathBuf>),
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
            Job::Path(path, _) | Job::Folder(path, _) => path.display().to_string(),
            Job::Input => "standard input".to_owned(),
            Job::Together(paths) | Job::Images(paths) => {
                let names = paths.iter().map(|path| path.display().to_string());
                names.collect::<Vec<_>>().join(" + ")
            }
        }
    }
}

/// Directories nested deeper than this are not entered: nobody keeps images there, and a bind mount can make a loop.
const DEEPEST: usize = 32;

/// A folder of more files than this is no machine's: each file in it is a target of its own, so that nothing has to be held
/// until the last of them is read.
const MOST_OF_ONE: usize = 128;

/// The jobs for `targets`, in their order, the files of a directory by name; and the directories that could not be read.
pub(super) fn jobs(targets: &[PathBuf], captured: bool, texts: bool) -> (Vec<Job>, Vec<Unlisted>) {
    let (mut jobs, mut unlisted) = (Vec::new(), Vec::new());
    if targets.is_empty() {
        jobs.push(Job::Host);
    }
    let together = if texts && !captured {
        named_together(targets)
    } else {
        Vec::new()
    };
    for target in targets {
        if together.contains(target) {
            if together.first() == Some(target) {
                jobs.push(Job::Together(together.clone()));
            }
        } else if target.as_os_str() == "-" {
            jobs.push(Job::Input);
        } else if !captured && target.is_dir() {
            list(target, 0, texts, &mut jobs, &mut unlisted);
        } else {
            // Paths on a captured host mean nothing here.
            jobs.push(Job::Path(target.clone(), Origin::Named));
        }
    }
    (jobs, unlisted)
}

/// Puts images that are members of one set together, where the first of them was. Among more than [`MOST_OF_ONE`] nobody
/// keeps the members of an array, and every file would be looked at twice.
pub(super) fn assembled(jobs: Vec<Job>) -> Vec<Job> {
    let paths = jobs.iter().filter(|job| matches!(job, Job::Path(..)));
    if !(2..=MOST_OF_ONE).contains(&paths.count()) {
        return jobs;
    }
    // For each group of images, the names of their sets.
    let mut groups: Vec<(Vec<usize>, Vec<String>)> = Vec::new();
    for (index, job) in jobs.iter().enumerate() {
        let Job::Path(path, _) = job else { continue };
        if !path.is_file() {
            continue;
        }
        let Ok(target) = Target::open(path) else {
            continue;
        };
        let mut group = (vec![index], sources::sets(&target));
        groups.retain(|(indices, sets)| {
            let shared = sets.iter().any(|set| group.1.contains(set));
            if shared {
                group.0.extend(indices);
                group.1.extend(sets.iter().cloned());
            }
            !shared
        });
        groups.push(group);
    }
    let mut of_first: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let mut others: BTreeSet<usize> = BTreeSet::new();
    for (mut indices, _) in groups {
        indices.sort_unstable();
        if let [first, rest @ ..] = indices.as_slice()
            && !rest.is_empty()
        {
            others.extend(rest);
            of_first.insert(*first, indices);
        }
    }
    let path = |index: &usize| match jobs.get(*index) {
        Some(Job::Path(path, _)) => Some(path.clone()),
        _ => None,
    };
    let together: BTreeMap<usize, Vec<PathBuf>> = of_first
        .into_iter()
        .map(|(first, indices)| (first, indices.iter().filter_map(path).collect()))
        .collect();
    jobs.into_iter()
        .enumerate()
        .filter(|(index, _)| !others.contains(index))
        .map(|(index, job)| match together.get(&index) {
            Some(paths) => Job::Images(paths.clone()),
            None => job,
        })
        .collect()
}

/// The targets that are files of text, when there are two or more.
fn named_together(targets: &[PathBuf]) -> Vec<PathBuf> {
    if targets.len() < 2 {
        return Vec::new();
    }
    let mut texts: Vec<PathBuf> = Vec::new();
    for target in targets {
        if target.is_file() && text::can_be(target) && !texts.contains(target) {
            texts.push(target.clone());
        }
    }
    if texts.len() < 2 { Vec::new() } else { texts }
}

fn list(
    directory: &Path,
    depth: usize,
    texts: bool,
    jobs: &mut Vec<Job>,
    unlisted: &mut Vec<Unlisted>,
) {
    let entries = fs::read_dir(directory).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let mut entries = match entries {
        Ok(entries) => entries,
        Err(error) => return unlisted.push((directory.to_owned(), error)),
    };
    entries.sort_by_key(fs::DirEntry::file_name);
    let few = texts && (2..=MOST_OF_ONE).contains(&entries.len());
    let mut candidates = Vec::new();
    if few {
        candidates.extend(
            entries
                .iter()
                .filter(|entry| is_small(entry))
                .map(fs::DirEntry::path),
        );
        if candidates.len() < 2 {
            candidates.clear();
        }
    }
    let mut rest = candidates.iter().peekable();
    for entry in entries {
        // Symbolic links are left alone: what they point to is listed where it is, or was not asked for.
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && depth < DEEPEST => {
                list(&entry.path(), depth + 1, texts, jobs, unlisted)
            }
            Ok(kind) if kind.is_file() => {
                let path = entry.path();
                match rest.next_if(|next| **next == path) {
                    None => jobs.push(Job::Path(path, Origin::Listed)),
                    Some(first) if candidates.first() == Some(first) => {
                        jobs.push(Job::Folder(directory.to_owned(), candidates.clone()));
                    }
                    Some(_) => {}
                }
            }
            Ok(_) => {}
            Err(error) => unlisted.push((entry.path(), error)),
        }
    }
}

/// True for a file that is not too long for captured text.
fn is_small(entry: &fs::DirEntry) -> bool {
    let most = u64::try_from(captured::MOST_BYTES).unwrap_or(u64::MAX);
    entry
        .metadata()
        .is_ok_and(|metadata| metadata.is_file() && metadata.len() <= most)
}
