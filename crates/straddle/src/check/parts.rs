//! Images in one archive that are members of one array, volume group or the like, or files of one virtual disk: they are put together, as
//! those in a directory are.

use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::boxed::{Boxed, taken};
use super::checker::Checker;
use super::jobs;
use super::sight::{Found, Sight};
use super::{CheckError, Kind, Report};
use crate::geometry::Bytes;
use crate::io::{Forward, ReadAt};
use crate::sources;
use crate::stack::{Key, LayerKind, Stack};

/// More members of sets in one archive than this are looked at each by itself: nobody's array has them.
const MAX_PARTS: usize = 128;
/// The same for those that have to be unpacked: each is unpacked by itself as far as it is looked at.
const MAX_UNPACKED: usize = 32;

/// An image that is a member of something.
pub(super) struct Part {
    name: String,
    /// Its path in the archive.
    path: String,
    size: Bytes,
    /// Itself; `None` of one with holes, which can be had only while the archive is gone through.
    inner: Option<Boxed>,
    /// What was found in it; `None` of one in which nothing was.
    stack: Option<Stack>,
    sets: Vec<String>,
}

/// Those of one archive.
#[derive(Default)]
pub(super) struct Parts(Vec<Part>);

impl Parts {
    /// Keeps an image that is a member of something until the others have been seen; gives back what is none.
    pub(super) fn keep(
        &mut self,
        name: &str,
        path: &str,
        size: Bytes,
        inner: Option<Boxed>,
        found: Found,
    ) -> Option<Found> {
        let sets = match &found {
            Ok(Sight::Taken(stack, _)) => sets(name, stack),
            // The later parts of a disk may have nothing in them that is known.
            Ok(Sight::Nothing) => sets(name, &Stack::default()),
            _ => Vec::new(),
        };
        if sets.is_empty() || self.0.len() >= MAX_PARTS {
            return Some(found);
        }
        let stack = match found {
            Ok(Sight::Taken(stack, _)) => Some(stack),
            _ => None,
        };
        self.0.push(Part {
            name: name.to_owned(),
            path: path.to_owned(),
            size,
            inner,
            stack,
            sets,
        });
        None
    }
}

/// What an image is a member of, and the files that it needs or may be: what a `.vmdk` is a part of, only the one that names it says.
fn sets(name: &str, stack: &Stack) -> Vec<String> {
    let members = stack
        .iter()
        .filter_map(|(_, layer)| layer.text(Key::MemberOf));
    let mut sets: Vec<String> = members.map(str::to_owned).collect();
    let folder = name.rfind('/').map_or("", |slash| &name[..=slash]);
    let needed: Vec<&str> = needed(stack).collect();
    let is_part = name.to_ascii_lowercase().ends_with(".vmdk");
    if is_part || !needed.is_empty() {
        sets.push(name.to_owned());
    }
    sets.extend(needed.iter().map(|file| format!("{folder}{file}")));
    sets
}

/// The names of files that an image refers to and that could not be had.
fn needed(stack: &Stack) -> impl Iterator<Item = &str> {
    let layers = stack.iter().skip(1).map(|(_, layer)| layer);
    let lost = layers.filter(|layer| layer.kind == LayerKind::File && layer.size.is_none());
    lost.filter_map(|layer| layer.name.rsplit(['/', '\\']).next())
}

impl Checker {
    /// The reports of images that are members of something: one for each set.
    pub(super) fn parts_in(&self, boxed: &Boxed, parts: Parts, each: &mut dyn FnMut(Report)) {
        let Parts(parts) = parts;
        let files = parts.iter().enumerate();
        let files = files.map(|(index, part)| (index, Path::new(&part.name), part.sets.clone()));
        let groups = match self.may_be(Kind::Archive) {
            true => jobs::groups(files.collect()),
            false => jobs::Groups::default(),
        };
        let mut parts: Vec<Option<Part>> = parts.into_iter().map(Some).collect();
        for index in 0..parts.len() {
            let members: Vec<Part> = match groups.firsts.get(&index) {
                Some(paths) => paths
                    .iter()
                    .filter_map(|path| take(&mut parts, path))
                    .collect(),
                None if groups.others.contains(&index) => continue,
                None => parts[index].take().into_iter().collect(),
            };
            self.set(boxed, members, each);
        }
    }

    fn set(&self, boxed: &Boxed, mut members: Vec<Part>, each: &mut dyn FnMut(Report)) {
        let count = members.len();
        let are_unpacked = boxed.lies.is_none() || members.iter().any(|part| part.inner.is_none());
        if count < 2 || are_unpacked && count > MAX_UNPACKED {
            for part in members {
                let Some(mut stack) = part.stack else {
                    each(self.report(part.name.clone(), Path::new(&part.name), Ok(Sight::Nothing)));
                    continue;
                };
                if count > 1 {
                    let detail = format!(
                        "it is one of {count} members of one set, too many to be unpacked side by side; to see them together: tar xf {}",
                        boxed.name
                    );
                    sources::left_out(&mut stack, detail);
                }
                let words = "an image in an archive".to_owned();
                let seen = Sight::Taken(stack, taken(Kind::Archive, words, None));
                each(self.report(part.name.clone(), Path::new(&part.name), Ok(seen)));
            }
            return;
        }
        let names: Vec<String> = members.iter().map(|part| part.name.clone()).collect();
        let name = names.join(" + ");
        // What refers to others comes before them, which are then no disks by themselves.
        members.sort_by_key(|part| {
            let stack = part.stack.as_ref();
            stack.is_none_or(|stack| needed(stack).next().is_none())
        });
        let opened = self.opened_parts(boxed, &mut members);
        let (found, damaged) = match opened {
            Ok(opened) => self.put_together(boxed, opened),
            Err(source) => (Err(boxed.unreadable(source)), Vec::new()),
        };
        each(self.report(name.clone(), Path::new(&name), found));
        for (name, failure) in damaged {
            let error = CheckError::Unpacked {
                name: name.clone(),
                source: io::Error::other(format!("damaged or cut short: {failure}")),
            };
            each(self.report(name.clone(), Path::new(&name), Err(error)));
        }
    }

    /// The stack of all of them, and those of which not all could be read.
    fn put_together(&self, boxed: &Boxed, opened: Vec<Opened>) -> (Found, Vec<(String, String)>) {
        let named = opened
            .iter()
            .map(|it| (it.name.clone(), Arc::clone(&it.bytes)));
        let mut stack = match sources::all_bytes(named.collect(), &self.settings) {
            Ok(stack) => stack,
            Err(error) => return (Err(error.into()), Vec::new()),
        };
        let mut damaged = Vec::new();
        for Opened {
            name,
            path,
            forward,
            ..
        } in opened
        {
            let Some((forward, failure)) = forward.and_then(|it| it.failure().map(|why| (it, why)))
            else {
                continue;
            };
            if forward.is_damaged() {
                damaged.push((name, failure));
            } else {
                let detail = format!(
                    "{name}: {failure}; to see the rest: tar xf {} {path}",
                    boxed.name
                );
                sources::left_out(&mut stack, detail);
            }
        }
        let words = "images in an archive that belong together".to_owned();
        (
            Ok(Sight::Taken(stack, taken(Kind::Archive, words, None))),
            damaged,
        )
    }

    /// Members that can be read side by side, all of them together in as much memory as one.
    fn opened_parts(&self, boxed: &Boxed, members: &mut [Part]) -> io::Result<Vec<Opened>> {
        let count = members.len();
        let mut opened = Vec::with_capacity(count);
        let mut holed: Vec<usize> = Vec::new();
        for part in members {
            let (bytes, forward): (Arc<dyn ReadAt>, _) = match part.inner.take() {
                Some(Boxed {
                    lies: Some(bytes), ..
                }) => (bytes, None),
                Some(Boxed { open, .. }) => {
                    let forward = Forward::new(Box::new(move || open()), Some(part.size));
                    let forward = Arc::new(forward.one_of(count));
                    (forward.clone(), Some(forward))
                }
                None => {
                    holed.push(opened.len());
                    (Arc::new(Vec::new()), None)
                }
            };
            opened.push(Opened {
                name: part.name.clone(),
                path: part.path.clone(),
                bytes,
                forward,
            });
        }
        if !holed.is_empty() {
            boxed.members(|member| {
                let wanted = |index: &&usize| opened[**index].path == member.path;
                if let Some(index) = holed.iter().find(wanted) {
                    let forward = Forward::filled_as_one_of(member.bytes, member.size, count);
                    let forward = Arc::new(forward);
                    opened[*index].bytes = forward.clone();
                    opened[*index].forward = Some(forward);
                }
                Ok(ControlFlow::Continue(()))
            })?;
        }
        Ok(opened)
    }
}

/// A member that can be read.
struct Opened {
    name: String,
    path: String,
    bytes: Arc<dyn ReadAt>,
    /// The same, where it comes one byte after the other.
    forward: Option<Arc<Forward>>,
}

fn take(parts: &mut [Option<Part>], path: &PathBuf) -> Option<Part> {
    let is_it = |part: &&mut Option<Part>| {
        part.as_ref()
            .is_some_and(|part| Path::new(&part.name) == path)
    };
    parts.iter_mut().find(is_it)?.take()
}
