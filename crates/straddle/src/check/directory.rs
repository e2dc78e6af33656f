//! A directory that was named: what it is by its names, and what is mounted in it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::sources::archive;
use crate::sources::collected::{self, Collector};

/// A directory that was named.
#[derive(Clone, Debug)]
pub(super) struct Directory {
    pub(super) path: PathBuf,
}

/// The tree of one host.
pub(super) enum Tree {
    /// What `straddle capture` wrote, unpacked.
    Capture,
    /// What a support tool collected.
    Support(&'static Collector),
}

impl Tree {
    /// What the names in a directory say that it is.
    pub(super) fn of(directory: &Path, entries: &[fs::DirEntry]) -> Option<Tree> {
        let has = |name: &str| entries.iter().any(|entry| entry.file_name() == name);
        // A mark is looked for only where its first name is there.
        let is_there = |mark: &str| {
            let first = mark.split('/').next().unwrap_or(mark);
            has(first) && directory.join(mark).exists()
        };
        if let Some(collector) = collected::of_directory(is_there) {
            return Some(Tree::Support(collector));
        }
        // The root of this machine has these directories, too; there they are what the kernel mounts.
        let is_captured = |below: &str| {
            let path = directory.join(below);
            path.is_dir() && !is_pseudo(&path)
        };
        let is_one =
            has(".straddle") && is_captured(archive::OWN) || has("sys") && is_captured("sys/block");
        is_one.then_some(Tree::Capture)
    }
}

/// The tree of a host that a directory is a part of, `sos_commands` or a folder in it, by the marks of its collector, and where that
/// tree begins.
pub(super) fn enclosing(directory: &Path) -> Option<(PathBuf, &'static Collector)> {
    let real = fs::canonicalize(directory).ok()?;
    let inside = |top: &Path, mark: &str| {
        let below = real
            .strip_prefix(top)
            .is_ok_and(|below| below.starts_with(mark));
        below && top.join(mark).is_dir()
    };
    real.ancestors().skip(1).take(MAX_INSIDE).find_map(|top| {
        let collector = collected::of_directory(|mark| mark.ends_with('/') && inside(top, mark))?;
        Some((top.to_owned(), collector))
    })
}

/// How deep a folder lies in what was collected of one host.
const MAX_INSIDE: usize = 2;

impl Directory {
    pub(super) fn new(path: &Path) -> Directory {
        Directory {
            path: path.to_owned(),
        }
    }

    /// True for what the kernel makes up: no file in it lies anywhere.
    pub(super) fn is_pseudo(&self) -> bool {
        is_pseudo(&self.path)
    }

    /// Where other filesystems are mounted below it, by the names that they have from here.
    pub(super) fn mounted_below(&self) -> BTreeSet<PathBuf> {
        let Ok(real) = fs::canonicalize(&self.path) else {
            return BTreeSet::new();
        };
        let points = mount_points().into_iter();
        let below = points.filter_map(|point| {
            let rest = point.strip_prefix(&real).ok()?;
            let is_below = rest.components().next().is_some();
            is_below.then(|| self.path.join(rest))
        });
        below.collect()
    }
}

#[cfg(target_os = "linux")]
fn mount_points() -> Vec<PathBuf> {
    crate::sources::linux::Root::live()
        .mount_points()
        .into_iter()
        .map(PathBuf::from)
        .collect()
}

#[cfg(not(target_os = "linux"))]
fn mount_points() -> Vec<PathBuf> {
    Vec::new()
}

#[cfg(target_os = "linux")]
fn is_pseudo(path: &Path) -> bool {
    crate::io::linux::is_pseudo(path)
}

#[cfg(not(target_os = "linux"))]
fn is_pseudo(_: &Path) -> bool {
    false
}
