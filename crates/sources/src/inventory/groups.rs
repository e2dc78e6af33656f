//! Things that become one.

use std::collections::{BTreeMap, HashMap};
use straddle_geometry::Bytes;
use straddle_stack::{Anomaly, AnomalyKind, Fact, GridFact, LayerKind};

use super::facts::{add, add_grid, in_bytes};
use super::relation::{Relation, has_name_in, is_bare_volume, relation, replaced, twin};
use super::{Name, Space, Thing};

/// An inventory in which every thing occurs once and knows the others that it lies on by their index.
pub(super) struct Joined {
    pub(super) platform: Option<&'static str>,
    /// Each is taken when its layer is made.
    pub(super) things: Vec<Option<Thing>>,
    /// For each thing, what it lies on; `None` for what nothing else describes.
    pub(super) on: Vec<Vec<Option<usize>>>,
    pub(super) remarks: Vec<Anomaly>,
    /// How long an extent is in each LVM volume group.
    pub(super) extents: BTreeMap<String, Fact<Bytes>>,
}

/// Names mean different things for what holds data and for what is held: `C:` is a partition and its filesystem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Class {
    Storage,
    Filesystem,
    File,
}

const fn class_of(kind: LayerKind) -> Class {
    match kind {
        LayerKind::Filesystem => Class::Filesystem,
        LayerKind::File | LayerKind::DatabasePage => Class::File,
        _ => Class::Storage,
    }
}

/// True for two disks, or what maps them, that share a name of the system's.
fn share_device(thing: &Thing, other: &Thing) -> bool {
    let is_disk = |thing: &Thing| matches!(thing.kind, LayerKind::Device | LayerKind::Volume);
    let mut names = thing.names.iter();
    is_disk(thing)
        && is_disk(other)
        && names.any(|name| name.space == Space::Device && other.names.contains(name))
}

/// Takes back that a thing has the identity of another one.
fn not_twins(thing: &mut Thing, other: &Thing) {
    let told = format!("as {} has", other.title);
    thing.remarks.retain(|remark| {
        remark.kind != AnomalyKind::SameIdentity || !remark.detail.ends_with(&told)
    });
}

/// Most things of one name that are told apart. Clones and paths to one disk are fewer.
const MAX_OF_ONE_NAME: usize = 32;

/// Things under joining: those that are one have become one.
#[derive(Default)]
pub(super) struct Groups {
    pub(super) things: Vec<Option<Thing>>,
    by_name: HashMap<(Class, Name), Vec<usize>>,
    /// Where a thing went that another absorbed.
    gone_to: HashMap<usize, usize>,
    /// For each thing, which one it was in the order of the texts.
    order: Vec<usize>,
}

impl Groups {
    /// Adds a thing to the one it is, or as a new one.
    pub(super) fn take(&mut self, mut thing: Thing, order: usize) {
        let class = class_of(thing.kind);
        let mut into = None;
        let mut bare: Vec<usize> = Vec::new();
        let mut others: Vec<usize> = Vec::new();
        let candidates = self.candidates(class, &thing);
        for index in candidates {
            if self.on_different_ground(&thing, index) {
                continue;
            }
            let Some(other) = self.things[index].as_ref() else {
                continue;
            };
            if self.stand_apart(&thing, other) {
                continue;
            }
            match relation(&thing, other) {
                Relation::Same if is_bare_volume(other) => bare.push(index),
                Relation::Same if into.is_none() => into = Some(index),
                // One row that calls a disk by two names says that these are one.
                Relation::Same if share_device(&thing, other) => others.push(index),
                _ if into.is_some() => {}
                Relation::Same => {}
                Relation::Other => {}
                Relation::Replaced(space) => {
                    let remark = replaced(&thing, other, space);
                    thing.remarks.push(remark);
                }
                Relation::Twin(space) => {
                    let remark = twin(&thing, other, space);
                    thing.remarks.push(remark);
                }
            }
        }
        // Volumes that were known by different names turn out to be this one.
        let mut bare = bare.into_iter();
        match into.or_else(|| bare.next()) {
            Some(index) => {
                self.order[index] = self.order[index].min(order);
                self.absorb(index, thing);
                for other in bare.chain(others) {
                    self.unite(index, other);
                }
            }
            None => {
                let index = self.things.len();
                self.order.push(order);
                for name in &thing.names {
                    self.enter(class, name.clone(), index);
                }
                self.things.push(Some(thing));
            }
        }
    }

    /// True when what names the two is only where they stand, and they stand on two disks.
    fn stand_apart(&self, thing: &Thing, other: &Thing) -> bool {
        let placed = |thing: &Thing| {
            thing.kind == LayerKind::Partition || has_name_in(thing, Space::WindowsVolume)
        };
        let base = |thing: &Thing| match thing.on.as_slice() {
            [only] if only.space != Space::WindowsVolumeDisk => self.find(only, thing.file),
            _ => None,
        };
        let mut shared = thing.names.iter().filter(|name| other.names.contains(name));
        placed(thing)
            && placed(other)
            && !shared.any(|name| name.space.is_identity())
            && matches!((base(thing), base(other)), (Some(a), Some(b)) if a != b)
    }

    /// True for what lies on two disks that were in one place one after the other, and for two filesystems that were
    /// mounted in one place.
    fn on_different_ground(&self, thing: &Thing, index: usize) -> bool {
        let Some(other) = &self.things[index] else {
            return false;
        };
        let ([a], [b]) = (thing.on.as_slice(), other.on.as_slice()) else {
            return false;
        };
        let (Some(a), Some(b)) = (self.find(a, thing.file), self.find(b, other.file)) else {
            return false;
        };
        let (Some(first), Some(second)) = (&self.things[a], &self.things[b]) else {
            return false;
        };
        let shared = |a: &Thing, b: &Thing, identity: bool| {
            let mut names = a.names.iter();
            names.any(|name| name.space.is_identity() >= identity && b.names.contains(name))
        };
        let mounted = thing.kind == LayerKind::Filesystem && !shared(thing, other, true);
        a != b && (mounted || shared(first, second, false))
    }

    fn enter(&mut self, class: Class, name: Name, index: usize) {
        let entry = self.by_name.entry((class, name)).or_default();
        if entry.len() < MAX_OF_ONE_NAME && !entry.contains(&index) {
            entry.push(index);
        }
    }

    /// Things that share a name with `thing`: identities first, then those of the same file.
    fn candidates(&self, class: Class, thing: &Thing) -> Vec<usize> {
        let mut names: Vec<&Name> = thing.names.iter().collect();
        names.sort_by_key(|name| !name.space.is_identity());
        let mut found: Vec<usize> = Vec::new();
        for name in names {
            for index in self
                .by_name
                .get(&(class, name.clone()))
                .into_iter()
                .flatten()
            {
                let index = self.now(*index);
                if !found.contains(&index) {
                    found.push(index);
                }
            }
        }
        // Of two disks with one signature, the one that has the number too.
        found.sort_by_key(|index| {
            let other = self.things[*index].as_ref();
            let shared = other.map_or(0, |other| {
                let names = thing.names.iter();
                names.filter(|name| other.names.contains(name)).count()
            });
            let other_file = other.is_none_or(|other| other.file != thing.file);
            (other_file, std::cmp::Reverse(shared))
        });
        found
    }

    /// Where the thing `index` is now.
    fn now(&self, mut index: usize) -> usize {
        while let Some(next) = self.gone_to.get(&index) {
            index = *next;
        }
        index
    }

    /// The thing that `name` means to a thing of `file`.
    pub(super) fn find(&self, name: &Name, file: u32) -> Option<usize> {
        let all = self.by_name.get(&(Class::Storage, name.clone()))?;
        let same_file = all.iter().map(|index| self.now(*index)).find(|index| {
            self.things[*index]
                .as_ref()
                .is_some_and(|thing| thing.file == file)
        });
        same_file.or_else(|| all.first().map(|index| self.now(*index)))
    }

    /// Adds what `from` says to the thing `into`.
    fn absorb(&mut self, into: usize, from: Thing) {
        let class = class_of(from.kind);
        for name in &from.names {
            self.enter(class, name.clone(), into);
        }
        if let Some(thing) = self.things[into].as_mut() {
            add(thing, from);
        }
    }

    /// Adds grids and remarks to a thing, and compares them with what it has.
    pub(super) fn tell(&mut self, index: usize, said: (Vec<GridFact>, Vec<Anomaly>)) {
        if let Some(thing) = self.things[index].as_mut() {
            for grid in said.0 {
                add_grid(thing, grid);
            }
            thing.remarks.extend(said.1);
        }
    }

    /// Gives a thing another name, under which nothing is known.
    pub(super) fn call(&mut self, index: usize, name: Name, title: String) {
        if let Some(thing) = self.things[index].as_mut() {
            thing.names.push(name.clone());
            thing.title = title;
            let class = class_of(thing.kind);
            self.enter(class, name, index);
        }
    }

    /// Joins the thing `from` to the thing `into`.
    pub(super) fn unite(&mut self, into: usize, from: usize) {
        if into == from {
            return;
        }
        if let Some(mut thing) = self.things[from].take() {
            if let Some(into) = self.things[into].as_mut() {
                // What was taken for two with one identity is one.
                not_twins(&mut thing, into);
                not_twins(into, &thing);
            }
            self.gone_to.insert(from, into);
            self.order[into] = self.order[into].min(self.order[from]);
            self.absorb(into, thing);
        }
    }

    /// The filesystems and encryptions that are said to lie on one thing are one: there is room for one.
    pub(super) fn join_contents(&mut self) {
        for kind in [LayerKind::Encryption, LayerKind::Filesystem] {
            let mut first: HashMap<usize, usize> = HashMap::new();
            for index in 0..self.things.len() {
                let Some(thing) = &self.things[index] else {
                    continue;
                };
                let [only] = thing.on.as_slice() else {
                    continue;
                };
                if thing.kind != kind {
                    continue;
                }
                let Some(base) = self.find(only, thing.file) else {
                    continue;
                };
                match first.get(&base) {
                    Some(other) => self.unite(*other, index),
                    None => {
                        first.insert(base, index);
                    }
                }
            }
        }
    }

    pub(super) fn finish(
        mut self,
        platform: Option<&'static str>,
        remarks: Vec<Anomaly>,
    ) -> Joined {
        let mut in_order: Vec<usize> = (0..self.things.len())
            .filter(|index| self.things[*index].is_some())
            .collect();
        in_order.sort_by_key(|index| self.order[*index]);
        let new_index: HashMap<usize, usize> = in_order
            .iter()
            .enumerate()
            .map(|(new, old)| (*old, new))
            .collect();
        let on = in_order
            .iter()
            .filter_map(|index| self.things[*index].as_ref())
            .map(|thing| {
                let below = thing.on.iter().map(|name| {
                    let found = self.find(name, thing.file)?;
                    new_index.get(&found).copied()
                });
                below.collect()
            })
            .collect();
        Joined {
            platform,
            on,
            things: in_order
                .iter()
                .filter_map(|index| self.things[*index].take())
                .map(|thing| Some(in_bytes(thing)))
                .collect(),
            remarks,
            extents: BTreeMap::new(),
        }
    }
}
