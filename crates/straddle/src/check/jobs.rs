//! From what was typed to what is checked: directories become the files in them, files of captured text are put together.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::boxed::{Wrapping, wrapping};
use super::directory::{self, Directory, Tree};
use super::sight::{Found, Origin, Sight};
use super::{Kind, parallel, text};
use crate::io::{ReadAt, Target};
use crate::sources::captured;
use crate::sources::collected::Collector;
use crate::stack::{Key, Stack};

/// A path that could not be listed, and why.
pub(super) type Unlisted = (PathBuf, std::io::Error);

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
    /// A tree that a support tool collected of one machine.
    Support(PathBuf, &'static Collector),
    /// The tree of a captured host.
    Captured(PathBuf),
    /// The filesystem that a directory lies on.
    Place(Directory),
}

/// A job, and which of the directories it is for, where it is one's.
pub(super) struct Task {
    pub(super) job: Job,
    pub(super) of: Option<usize>,
}

/// What is to be done.
#[derive(Default)]
pub(super) struct Plan {
    pub(super) tasks: Vec<Task>,
    /// Directories of which it is not known yet what they are: places, unless something is recognised in them.
    pub(super) directories: Vec<Directory>,
    /// What could not be listed.
    pub(super) unlisted: Vec<Unlisted>,
    /// Other filesystems that are mounted in a directory. They are not gone into: that would be another place.
    pub(super) not_entered: Vec<PathBuf>,
}

/// What looking at a path came to: its stack, or that nothing was recognised. Taken once, by the thread that judges it.
pub(super) struct Looked(Mutex<Option<Found>>);

impl Looked {
    /// `None` when it was taken before.
    pub(super) fn take(&self) -> Option<Found> {
        let mut looked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        looked.take()
    }

    /// True for something packed, or an archive, of this length at least.
    fn is_packed(&self, least: u64) -> bool {
        let looked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        matches!(&*looked, Some(Ok(Sight::Boxed(target, _))) if target.size().get() >= least)
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
            | Job::Support(path, _)
            | Job::Captured(path) => path.display().to_string(),
            Job::Place(directory) => directory.path.display().to_string(),
            Job::Input => "standard input".to_owned(),
            Job::Together(paths) | Job::Images(paths) => {
                let names = paths.iter().map(|path| path.display().to_string());
                names.collect::<Vec<_>>().join(" + ")
            }
        }
    }
}

/// What is packed and as long as this takes longer to unpack than several threads to start.
const LONG: u64 = 128 << 10;

impl Job {
    /// True for what takes long enough to be worth a thread.
    pub(super) fn is_long(&self) -> bool {
        match self {
            Job::Looked(_, looked) => looked.is_packed(LONG),
            Job::Path(path, _) => {
                fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() >= LONG)
                    && begins_packed(path)
            }
            // Thousands of files, as a rule.
            Job::Support(..) | Job::Captured(_) => true,
            Job::Host
            | Job::Input
            | Job::Images(_)
            | Job::Together(_)
            | Job::Folder(..)
            | Job::Place(_) => false,
        }
    }
}

/// Ends of names that say that a file is packed. They save opening all the others: each that has one is looked into.
const PACKED: [&str; 10] = [
    "gz", "tgz", "xz", "txz", "bz2", "tbz", "zst", "tzst", "tar", "ova",
];

/// True for what is packed, or an archive: no text that could belong to the others of its folder, nor a member of what they are.
fn is_packed(path: &Path) -> bool {
    let end = path.extension().and_then(|end| end.to_str());
    end.is_some_and(|end| PACKED.iter().any(|known| end.eq_ignore_ascii_case(known)))
        && begins_packed(path)
}

fn begins_packed(path: &Path) -> bool {
    let target = Target::open_listed(path);
    target.is_ok_and(|target| {
        target
            .head()
            .is_ok_and(|head| matches!(wrapping(head), Some(Wrapping::Read)))
    })
}

/// Directories nested deeper than this are not entered: nobody keeps images there, and a bind mount can make a loop.
const MAX_DEPTH: usize = 32;

/// A folder of more files than this is no machine's: each file in it is a target of its own, so that nothing has to be held
/// until the last of them is read.
const MAX_OF_ONE: usize = 128;

/// The jobs for `targets`, in their order, the files of a directory by name; and the directories that could not be read.
pub(super) fn plan(targets: &[PathBuf], captured: bool, take_as: Option<Kind>) -> Plan {
    let mut plan = Plan::default();
    if targets.is_empty() {
        plan.add(Job::Host, None);
    }
    let texts = matches!(take_as, None | Some(Kind::Text | Kind::Collection));
    let together = if texts && !captured {
        named_together(targets)
    } else {
        Vec::new()
    };
    for target in targets {
        if together.contains(target) {
            if together.first() == Some(target) {
                plan.add(Job::Together(together.clone()), None);
            }
        } else if target.as_os_str() == "-" {
            plan.add(Job::Input, None);
        } else if !captured && target.is_dir() {
            plan.directory(target, take_as, texts);
        } else {
            // Paths on a captured host mean nothing here.
            plan.add(Job::Path(target.clone(), Origin::Named), None);
        }
    }
    plan
}

impl Plan {
    fn add(&mut self, job: Job, of: Option<usize>) {
        self.tasks.push(Task { job, of });
    }

    /// What is to be done for a directory that was named.
    fn directory(&mut self, path: &Path, take_as: Option<Kind>, texts: bool) {
        let directory = Directory::new(path);
        match take_as {
            Some(Kind::Place | Kind::File) => return self.add(Job::Place(directory), None),
            Some(Kind::Capture) => return self.add(Job::Captured(path.to_owned()), None),
            None if directory.is_pseudo() => return self.add(Job::Place(directory), None),
            None | Some(Kind::Support) => {
                if let Some((top, collector)) = directory::enclosing(path) {
                    return self.add(Job::Support(top, collector), None);
                }
            }
            _ => {}
        }
        let of = take_as.is_none().then_some(self.directories.len());
        let before = self.tasks.len();
        let mut walk = Walk {
            plan: self,
            mounted: directory.mounted_below(),
            take_as,
            texts,
            of,
        };
        walk.list(path, 0);
        // One host that is the whole directory needs no telling apart.
        let is_host = |task: &Task| matches!(&task.job, Job::Captured(at) | Job::Support(at, _) if at == path);
        if of.is_some() {
            if let [only] = &mut self.tasks[before..]
                && is_host(only)
            {
                only.of = None;
            } else if self.tasks.len() == before {
                self.add(Job::Place(directory), None);
            } else {
                self.directories.push(directory);
            }
        }
    }
}

/// Looks at the paths among the tasks, and puts images that are members of one set together, where the first of them was.
/// Devices only when they are to be taken for images: else the kernel knows what they are members of.
///
/// Among more than [`MAX_OF_ONE`] nobody keeps the members of an array: they are not looked at, so that no more has to be
/// held than what is being printed.
pub(super) fn assembled(
    tasks: Vec<Task>,
    devices: bool,
    look: impl Fn(&Path, Origin) -> Found + Sync,
) -> Vec<Task> {
    let paths: Vec<(usize, &Path, Origin)> = tasks
        .iter()
        .enumerate()
        .filter_map(|(index, task)| match &task.job {
            Job::Path(path, origin) => Some((index, path.as_path(), *origin)),
            _ => None,
        })
        .collect();
    if !(2..=MAX_OF_ONE).contains(&paths.len()) {
        return tasks;
    }
    let mut looked = Vec::with_capacity(paths.len());
    let gathered: Result<(), Infallible> = parallel::in_order(
        &paths,
        // Looking at a file is soon done; what is in it comes later.
        |_| false,
        |(_, path, origin)| look(path, *origin),
        |found| {
            looked.push(found);
            Ok(())
        },
        |_| (),
    );
    let Ok(()) = gathered;
    let files = paths.iter().zip(&looked);
    let files = files.map(|((index, path, _), found)| (*index, *path, sets(path, found, devices)));
    let Groups { firsts, others } = groups(files.collect());
    let mut looked: BTreeMap<usize, _> =
        paths.iter().map(|(index, ..)| *index).zip(looked).collect();
    tasks
        .into_iter()
        .enumerate()
        .filter(|(index, _)| !others.contains(index))
        .map(|(index, Task { job, of })| {
            let job = match (firsts.get(&index), job, looked.remove(&index)) {
                (Some(members), ..) => Job::Images(members.clone()),
                (None, Job::Path(path, _), Some(found)) => {
                    Job::Looked(path, Looked(Mutex::new(Some(found))))
                }
                (None, job, _) => job,
            };
            Task { job, of }
        })
        .collect()
}

/// True where something is a member of an array, a volume group or the like.
pub(super) fn has_members(stack: &Stack) -> bool {
    let mut layers = stack.iter();
    layers.any(|(_, layer)| layer.attribute(Key::MemberOf).is_some())
}

/// The sets that what is in the file or device at `path` has members of. What it rests on here does not count: the kernel
/// knows what that is a member of.
pub(super) fn sets(path: &Path, found: &Found, devices: bool) -> Vec<String> {
    let Some(stack) = found.as_ref().ok().and_then(Sight::stack) else {
        return Vec::new();
    };
    // Of nearly all files there is nothing more to ask.
    if !has_members(stack) {
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

/// A directory that is gone through.
struct Walk<'p> {
    plan: &'p mut Plan,
    /// Where other filesystems are mounted in it.
    mounted: BTreeSet<PathBuf>,
    take_as: Option<Kind>,
    texts: bool,
    of: Option<usize>,
}

impl Walk<'_> {
    fn list(&mut self, directory: &Path, depth: usize) {
        let entries = fs::read_dir(directory).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let mut entries = match entries {
            Ok(entries) => entries,
            Err(error) => return self.plan.unlisted.push((directory.to_owned(), error)),
        };
        entries.sort_by_key(fs::DirEntry::file_name);
        match Tree::of(directory, &entries) {
            Some(Tree::Capture) if matches!(self.take_as, None | Some(Kind::Collection)) => {
                return self.plan.add(Job::Captured(directory.to_owned()), self.of);
            }
            Some(Tree::Support(collector)) if self.texts || self.take_as == Some(Kind::Support) => {
                let job = Job::Support(directory.to_owned(), collector);
                return self.plan.add(job, self.of);
            }
            _ => {}
        }
        let few = self.texts && (2..=MAX_OF_ONE).contains(&entries.len());
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
            // One thread reads what may belong together; what is packed is by itself.
            candidates.retain(|path| !is_packed(path));
        }
        let mut rest = candidates.iter().peekable();
        for entry in entries {
            // Symbolic links are left alone: what they point to is listed where it is, or was not asked for.
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && self.mounted.contains(&entry.path()) => {
                    self.plan.not_entered.push(entry.path());
                }
                Ok(kind) if kind.is_dir() && depth < MAX_DEPTH => {
                    self.list(&entry.path(), depth + 1)
                }
                Ok(kind) if kind.is_file() => {
                    let path = entry.path();
                    let job = match rest.next_if(|next| **next == path) {
                        None => Job::Path(path, Origin::Listed),
                        Some(first) if candidates.first() == Some(first) => {
                            Job::Folder(directory.to_owned(), candidates.clone())
                        }
                        Some(_) => continue,
                    };
                    self.plan.add(job, self.of);
                }
                Ok(_) => {}
                Err(error) => self.plan.unlisted.push((entry.path(), error)),
            }
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
