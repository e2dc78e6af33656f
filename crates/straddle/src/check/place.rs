//! A directory as a place: the filesystem that it lies on, and its largest files from below.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::fs;
use std::path::{Path, PathBuf};

use super::checker::Checker;
use super::directory::Directory;
use super::sight::Sight;
use super::{CheckError, Kind, Outcome, Report};
use crate::geometry::Bytes;
use crate::io::{Reader, Target};
use crate::probe::{Limits, inspect};
use crate::report::{FileBelow, FilesBelow, Taken};
use crate::sources;
use crate::stack::{Layer, LayerKind, Stack};

/// Directories nested deeper than this are not entered.
const MAX_DEPTH: usize = 64;

impl Checker {
    /// The filesystem of a directory, and its largest files.
    pub(super) fn place(&self, directory: &Directory) -> Report {
        let name = directory.path.display().to_string();
        match self.look_at_place(directory) {
            Ok((stack, files)) => {
                let words = match directory.path.as_os_str() == "/" {
                    true => "the place: the filesystem it is on".to_owned(),
                    false => format!("a place: the filesystem that {name} is on"),
                };
                let taken = Taken {
                    kind: Kind::Place.name(),
                    words,
                    host: None,
                    instead: Some(
                        "no image, capture or host was found in it; --as collection lists what was looked at".to_owned(),
                    ),
                };
                let mut report = self.report(name, &directory.path, Ok(Sight::Taken(stack, taken)));
                if let Ok(Outcome::Checked(checked)) = &mut report.outcome {
                    checked.files = Some(Box::new(files));
                }
                report
            }
            Err(error) => self.report(name, &directory.path, Err(error)),
        }
    }

    fn look_at_place(&self, directory: &Directory) -> Result<(Stack, FilesBelow), CheckError> {
        let real = fs::canonicalize(&directory.path)?;
        let path = real
            .to_str()
            .ok_or_else(|| CheckError::NotUtf8(real.clone()))?;
        let is_pseudo = directory.is_pseudo();
        let mut found = Largest::default();
        if !is_pseudo {
            let mounted = Directory::new(&real).mounted_below();
            found.go_through(&real, &mounted, self.files, 0);
        }
        let largest = found.largest();
        let names: Vec<String> = largest.iter().map(|(_, path)| path.clone()).collect();
        let place = sources::place(&self.root(), path, &names, &self.settings)?;
        let mut files = Vec::new();
        for (id, (size, path)) in place.files.iter().zip(&largest) {
            let database = database_of(Path::new(path));
            files.push(FileBelow::new(
                &place.with_files,
                *id,
                Bytes::new(*size),
                database,
            ));
        }
        let mut databases: BTreeMap<String, usize> = BTreeMap::new();
        for kind in files.iter().filter_map(|file| file.database.clone()) {
            *databases.entry(kind).or_default() += 1;
        }
        let below = FilesBelow {
            among: found.among,
            unread: found.unread,
            mounted: found.mounted,
            databases: databases.into_iter().collect(),
            largest: files,
        };
        Ok((place.stack, below))
    }
}

/// The largest files below a directory.
#[derive(Default)]
struct Largest {
    /// The smallest of them on top.
    files: BinaryHeap<Reverse<(u64, String)>>,
    among: usize,
    unread: usize,
    mounted: Vec<String>,
}

impl Largest {
    fn go_through(
        &mut self,
        directory: &Path,
        mounted: &BTreeSet<PathBuf>,
        most: usize,
        depth: usize,
    ) {
        let Ok(entries) = fs::read_dir(directory) else {
            self.unread += 1;
            return;
        };
        for entry in entries {
            let Ok(entry) = entry else {
                self.unread += 1;
                continue;
            };
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => {
                    let path = entry.path();
                    if mounted.contains(&path) {
                        self.mounted.push(path.display().to_string());
                    } else if depth < MAX_DEPTH {
                        self.go_through(&path, mounted, most, depth + 1);
                    }
                }
                Ok(kind) if kind.is_file() => {
                    self.among += 1;
                    match (entry.metadata(), entry.path().to_str()) {
                        (Ok(about), Some(path)) => self.add(about.len(), path, most),
                        _ => self.unread += 1,
                    }
                }
                // Links lead to files that are counted where they are; pipes and devices hold nothing.
                Ok(_) => {}
                Err(_) => self.unread += 1,
            }
        }
    }

    fn add(&mut self, size: u64, path: &str, most: usize) {
        let is_larger = self
            .files
            .peek()
            .is_none_or(|Reverse((least, _))| size > *least);
        if size > 0 && most > 0 && (self.files.len() < most || is_larger) {
            self.files.push(Reverse((size, path.to_owned())));
            if self.files.len() > most {
                self.files.pop();
            }
        }
    }

    /// The largest first; of two that are as long, by name.
    fn largest(&mut self) -> Vec<(u64, String)> {
        let files = std::mem::take(&mut self.files).into_iter();
        let mut files: Vec<(u64, String)> = files.map(|Reverse(file)| file).collect();
        files.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        files
    }
}

/// The kind of database that a file belongs to, by its first page.
fn database_of(path: &Path) -> Option<String> {
    let target = Target::open_listed(path).ok()?;
    let mut stack = Stack::new();
    let base = stack.push(Layer::new(LayerKind::File, "file"));
    inspect(
        &mut stack,
        base,
        &Reader::new(&target),
        None,
        Limits::default(),
    );
    let mut layers = stack.layers().iter();
    let page = layers.find(|layer| layer.kind == LayerKind::DatabasePage)?;
    Some(page.name.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_of_many_are_found_in_order() {
        let mut largest = Largest::default();
        for n in 0..1000_u64 {
            largest.add(n * 37 % 1000, &format!("{n:04}"), 3);
        }
        let found = largest.largest();
        let sizes: Vec<u64> = found.iter().map(|(size, _)| *size).collect();
        assert_eq!(sizes, [999, 998, 997]);
        largest.add(0, "empty", 3);
        largest.add(7, "b", 2);
        largest.add(7, "a", 2);
        let found = largest.largest();
        assert_eq!(found, [(7, "a".to_owned()), (7, "b".to_owned())]);
    }
}
