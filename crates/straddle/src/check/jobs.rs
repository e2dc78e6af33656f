//! From what was typed to what is checked: directories become the files in them, files of captured text are put together.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::{CheckError, parallel, sos, text};
use crate::sources::captured;
use crate::stack::{Key, Layer, Stack};

/// A path that could not be listed, and why.
pub(super) type Unlisted = (PathBuf, std::io::Error);

/// The stack of a path that was looked at; none where nothing was recognised.
type Found = Result<Option<Stack>, CheckError>;

/// One thing to check.
pub(super) enum Job {
    /// The host as a whole.
    Host,
    /// An image, a device, or a file.
    Path(PathBuf, Origin),
    /// Captured text from standard input.
    Input,
    /// A path that was looked at already, because other images could have belonged to it.
    Looked(PathBuf, Looked),
    /// Images that are members of one array, volume group or the like.
    Images(Vec<PathBuf>),
    /// Files of captured text that were named together, which says that they are of one machine.
    Together(Vec<PathBuf>),
    /// Files of one folder that can be captured text, of one machine or of several.
    Folder(PathBuf, Vec<PathBuf>),
    /// A tree that `sos report` collected of one machine, and the files in it that tell of storage.
    Machine(PathBuf, Vec<PathBuf>),
}

/// How a path came into the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// Named on the command line.
    Named,
    /// Found in a directory.
    Listed,
}

/// What looking at a path came to: its stack, or that nothing was recognised. Taken once, by the thread that judges it.
pub(super) struct Looked(Mutex<Option<Found>>);

impl Looked {
    /// `None` when it was taken before.
    pub(super) fn take(&self) -> Option<Found> {
        let mut looked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        looked.take()
    }
}

impl Job {
    /// What it is called in the results.
    pub(super) fn name(&self, host: &str) -> String {
        match self {
            Job::Host => host.to_owned(),
            Job::Path(path, _)
            | Job::Looked(path, _)
            | Job::Folder(path, _)
            | Job::Machine(path, _) => path.display().to_string(),
            Job::Input => "standard input".to_owned(),
            Job::Together(paths) | Job::Images(paths) => {
                let names = paths.iter().map(|path| path.display().to_string());
                names.collect::<Vec<_>>().join(" + ")
            }
        }
    }
}

/// Directories nested deeper than this are not entered: nobody keeps images there, and a bind mount can make a loop.
const MAX_DEPTH: usize = 32;

/// A folder of more files than this is no machine's: each file in it is a target of its own, so that nothing has to be held
/// until the last of them is read.
const MAX_OF_ONE: usize = 128;

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

/// Looks at the paths among `jobs`, and puts images that are members of one set together, where the first of them was.
/// Devices only when they are to be taken for images: else the kernel knows what they are members of.
///
/// Among more than [`MAX_OF_ONE`] nobody keeps the members of an array: they are not looked at, so that no more has to be
/// held than what is being printed.
pub(super) fn assembled(
    jobs: Vec<Job>,
    devices: bool,
    look: impl Fn(&Path, Origin) -> Found + Sync,
) -> Vec<Job> {
    let paths: Vec<(usize, &Path, Origin)> = jobs
        .iter()
        .enumerate()
        .filter_map(|(index, job)| match job {
            Job::Path(path, origin) => Some((index, path.as_path(), *origin)),
            _ => None,
        })
        .collect();
    if !(2..=MAX_OF_ONE).contains(&paths.len()) {
        return jobs;
    }
    let mut looked = Vec::with_capacity(paths.len());
    let gathered: Result<(), Infallible> = parallel::in_order(
        &paths,
        |(_, path, origin)| look(path, *origin),
        |stack| {
            looked.push(stack);
            Ok(())
        },
        |_| (),
    );
    let Ok(()) = gathered;
    let files = paths.iter().zip(&looked);
    let files = files.map(|((index, path, _), stack)| (*index, *path, sets(path, stack, devices)));
    let Groups { firsts, others } = groups(files.collect());
    let mut looked: BTreeMap<usize, _> =
        paths.iter().map(|(index, ..)| *index).zip(looked).collect();
    jobs.into_iter()
        .enumerate()
        .filter(|(index, _)| !others.contains(index))
        .map(|(index, job)| {
            if let Some(members) = firsts.get(&index) {
                return Job::Images(members.clone());
            }
            match (job, looked.remove(&index)) {
                (Job::Path(path, _), Some(stack)) => {
                    Job::Looked(path, Looked(Mutex::new(Some(stack))))
                }
                (job, _) => job,
            }
        })
        .collect()
}

/// The sets that what is in the file or device at `path` has members of. What it rests on here does not count: the kernel
/// knows what that is a member of.
pub(super) fn sets(path: &Path, stack: &Found, devices: bool) -> Vec<String> {
    let Ok(Some(stack)) = stack else {
        return Vec::new();
    };
    // Of nearly all files there is nothing more to ask.
    let is_member = |layer: &Layer| layer.attribute(Key::MemberOf).is_some();
    if !stack.iter().any(|(_, layer)| is_member(layer)) {
        return Vec::new();
    }
    let mut sets = Vec::new();
    let mut inside = BTreeSet::new();
    for (id, layer) in stack.iter() {
        let is_it = || {
            let name = Path::new(&*layer.name);
            name == path || fs::canonicalize(path).is_ok_and(|real| name == real)
        };
        let above = layer.below.iter().any(|below| inside.contains(below));
        if above || (inside.is_empty() && is_it()) {
            inside.insert(id);
            sets.extend(layer.text(Key::MemberOf).map(str::to_owned));
        }
    }
    if sets.is_empty() || devices || path.is_file() {
        sets
    } else {
        Vec::new()
    }
}

/// Images that belong together.
#[derive(Default)]
pub(super) struct Groups {
    /// By the number of the first of them: all of them, in their order.
    pub(super) firsts: BTreeMap<usize, Vec<PathBuf>>,
    /// The numbers of those that are not first.
    pub(super) others: BTreeSet<usize>,
}

/// Files with their numbers, and the names of their sets.
type Group<'a> = (Vec<(usize, &'a Path)>, Vec<String>);

/// Which of these files, each with its number and the names of its sets, are members of one set.
pub(super) fn groups(files: Vec<(usize, &Path, Vec<String>)>) -> Groups {
    let mut found = Groups::default();
    let mut groups: Vec<Group<'_>> = Vec::new();
    for (index, path, names) in files {
        if names.is_empty() {
            continue;
        }
        let mut group = (vec![(index, path)], names);
        groups.retain(|(files, names)| {
            let shared = names.iter().any(|name| group.1.contains(name));
            if shared {
                group.0.extend(files);
                group.1.extend(names.iter().cloned());
            }
            !shared
        });
        groups.push(group);
    }
    for (mut files, _) in groups {
        files.sort_unstable();
        let indices: Vec<usize> = files.iter().map(|(index, _)| *index).collect();
        // A file that is named twice is one member.
        let mut real = BTreeSet::new();
        files.retain(|(_, path)| real.insert(fs::canonicalize(path).unwrap_or(path.to_path_buf())));
        if let ([first, rest @ ..], true) = (indices.as_slice(), files.len() > 1) {
            let members = files.iter().map(|(_, path)| path.to_path_buf());
            found.firsts.insert(*first, members.collect());
            found.others.extend(rest);
        }
    }
    found
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
    if texts
        && entries
            .iter()
            .any(|entry| entry.file_name() == sos::COMMANDS)
    {
        jobs.push(Job::Machine(directory.to_owned(), sos::files(directory)));
        return;
    }
    let few = texts && (2..=MAX_OF_ONE).contains(&entries.len());
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
            Ok(kind) if kind.is_dir() && depth < MAX_DEPTH => {
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
pub(super) fn is_small(entry: &fs::DirEntry) -> bool {
    let most = u64::try_from(captured::MAX_BYTES).unwrap_or(u64::MAX);
    entry
        .metadata()
        .is_ok_and(|metadata| metadata.is_file() && metadata.len() <= most)
}
