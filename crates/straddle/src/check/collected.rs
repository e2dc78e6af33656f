//! Hosts of which a support tool collected what their commands print.

use std::fs;
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::path::Path;

use super::boxed::{self, Boxed};
use super::checker::Checker;
use super::sight::Sight;
use super::{CheckError, Kind, Report};
use crate::io::Target;
use crate::sources;
use crate::sources::archive::Member;
use crate::sources::captured;
use crate::sources::collected::{Collected, Collector, Gathering};

/// Directories of a collection are entered so deep: those of sysfs are the deepest.
const MAX_DEPTH: usize = 24;

impl Checker {
    /// The host that a directory was collected of.
    pub(super) fn collected_tree(&self, path: &Path, collector: &'static Collector) -> Report {
        let name = path.display().to_string();
        let named = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let named = named
            .file_name()
            .map(|name| name.to_string_lossy().into_owned());
        let mut gathering = Gathering::new(collector, "", &named.unwrap_or_default());
        take_in(path, "", &mut gathering, 0);
        self.collected(name, gathering.finish(&self.settings))
    }

    /// The host that an archive was collected of, of which nothing is taken in yet.
    pub(super) fn collected_again(
        &self,
        boxed: &Boxed,
        mut gathering: Gathering,
        each: &mut dyn FnMut(Report),
    ) -> Result<(), CheckError> {
        let went = boxed.members(|member: Member<'_>| {
            if gathering.wants(member.path) {
                let mut bytes = Vec::new();
                member.bytes.take(most()).read_to_end(&mut bytes)?;
                gathering.add(member.path, bytes);
            }
            Ok(ControlFlow::Continue(()))
        });
        self.collected_archive(boxed, gathering, went, each)
    }

    /// The host that an archive was collected of, and whether that could be read to its end.
    pub(super) fn collected_archive(
        &self,
        boxed: &Boxed,
        gathering: Gathering,
        went: io::Result<()>,
        each: &mut dyn FnMut(Report),
    ) -> Result<(), CheckError> {
        each(self.collected(boxed.name.clone(), gathering.finish(&self.settings)));
        went.map_err(|source| boxed.unreadable(source))
    }

    fn collected(&self, name: String, found: Collected) -> Report {
        let Some(mut stack) = found.stack else {
            return self.unknown_text(name);
        };
        for next in found.wanting {
            sources::left_out(
                &mut stack,
                format!("not in this {}: {next}", found.collector),
            );
        }
        if found.left_out > 0 {
            let detail = format!(
                "{} files of it could not be read, or were too many",
                found.left_out
            );
            sources::left_out(&mut stack, detail);
        }
        let host = found.host.unwrap_or_else(|| boxed::stem(&name).to_owned());
        let words = format!("a {} of host {host}", found.collector);
        let taken = boxed::taken(Kind::Support, words, Some(&host));
        let path = Path::new(&name).to_owned();
        self.report(name, &path, Ok(Sight::Taken(stack, taken)))
    }
}

/// As much of one file as is read, and a byte that says that there is more.
fn most() -> u64 {
    u64::try_from(captured::MAX_BYTES + 1).unwrap_or(u64::MAX)
}

/// Takes in the files below a directory. Links are left alone: what they lead to lies elsewhere.
fn take_in(directory: &Path, below: &str, gathering: &mut Gathering, depth: usize) {
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    let mut entries: Vec<_> = entries.flatten().collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (Ok(kind), Some(name)) = (
            entry.file_type(),
            entry.file_name().to_str().map(str::to_owned),
        ) else {
            continue;
        };
        let path = format!("{below}{name}");
        if kind.is_dir() && depth < MAX_DEPTH {
            take_in(&entry.path(), &format!("{path}/"), gathering, depth + 1);
        } else if kind.is_file() && gathering.wants(&path) {
            let mut bytes = Vec::new();
            // A link that has taken its place is not followed.
            let opened = Target::open_listed(&entry.path()).map_err(io::Error::other);
            let read = opened.and_then(|file| file.file().take(most()).read_to_end(&mut bytes));
            match read {
                Ok(_) => gathering.add(&path, bytes),
                Err(_) => gathering.miss(),
            }
        }
    }
}
