//! Everything said about one machine.

use std::collections::BTreeMap;
use straddle_geometry::Bytes;
use straddle_stack::{Anomaly, AnomalyKind, Fact};

use super::Thing;

/// Most things of one inventory. A server has hundreds; a forged text has no say in how much memory is taken.
pub const MAX_THINGS: usize = 2000;

/// Everything said about one machine.
#[derive(Clone, Debug, Default)]
pub struct Inventory {
    /// Its name, where something says it.
    pub host: Option<String>,
    /// System whose tools spoke: `windows`, `linux`, `esxi`, `raid`.
    pub platform: Option<&'static str>,
    pub(super) things: Vec<Thing>,
    /// Something was left out.
    pub(super) full: bool,
    /// How long an extent is in each LVM volume group.
    pub(super) extents: BTreeMap<String, Fact<Bytes>>,
    /// What is odd about the texts themselves rather than about one thing.
    pub remarks: Vec<Anomaly>,
}

/// How far things had been said at some time.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    things: usize,
    extents: usize,
}

impl Inventory {
    /// Adds a thing. Beyond [`MAX_THINGS`] it is dropped, which is remarked once.
    pub fn add(&mut self, mut thing: Thing) {
        if self.things.len() < MAX_THINGS {
            thing.bound();
            self.things.push(thing);
        } else if !self.full {
            self.full = true;
            let detail = format!(
                "more than {MAX_THINGS} disks, partitions and volumes; the rest was left out"
            );
            self.remarks
                .push(Anomaly::new(AnomalyKind::LimitReached, detail));
        }
    }

    /// Adds the length of an extent in an LVM volume group.
    pub fn add_extent_size(&mut self, group: &str, size: Fact<Bytes>) {
        if self.extents.len() < MAX_THINGS && !self.extents.contains_key(group) {
            self.extents.insert(group.to_owned(), size);
        }
    }

    /// How far things have been said.
    #[must_use]
    pub fn mark(&self) -> Mark {
        Mark {
            things: self.things.len(),
            extents: self.extents.len(),
        }
    }

    /// True when something was said since then that is more than a name.
    #[must_use]
    pub fn says_since(&self, mark: Mark) -> bool {
        let things = self.things.get(mark.things..).unwrap_or(&[]);
        self.extents.len() > mark.extents || things.iter().any(Thing::has_values)
    }

    /// Takes back the things that were said since then.
    pub fn take_back(&mut self, mark: Mark) {
        self.things.truncate(mark.things);
    }

    /// Where some things are of another machine, those that are of none become this one's.
    pub fn rest_of_machine(&mut self, machine: &str) {
        if self.things.iter().all(|thing| thing.machine.is_none()) {
            return;
        }
        for thing in self.things.iter_mut().filter(|t| t.machine.is_none()) {
            thing.of_machine(machine);
        }
    }

    /// Drops what is no longer so.
    pub fn retain(&mut self, keep: impl FnMut(&Thing) -> bool) {
        self.things.retain(keep);
    }

    /// What has been said so far.
    #[must_use]
    pub fn things(&self) -> &[Thing] {
        &self.things
    }

    /// Adds everything that another text says about the same machine.
    pub fn append(&mut self, other: Inventory) {
        self.host = self.host.take().or(other.host);
        // A RAID controller's tool runs on any system; whatever else speaks says which.
        self.platform = match (self.platform, other.platform) {
            (None | Some("raid"), Some(other)) => Some(other),
            (first, _) => first,
        };
        for thing in other.things {
            self.add(thing);
        }
        for (group, size) in other.extents {
            self.add_extent_size(&group, size);
        }
        self.remarks.extend(other.remarks);
    }
}
