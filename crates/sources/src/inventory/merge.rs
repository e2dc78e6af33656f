//! Which things are one, and what is said about one thing twice.

use std::collections::HashMap;
use straddle_geometry::{Bytes, Grid, SectorSize, Unit};
use straddle_stack::{
    Attribute, Fact, GridFact, GridRole, Interval, Key, LayerKind, Oddity, OddityKind, Source,
    Trust, Value,
};

use super::{Inventory, Name, Placing, Space, Thing, partitions, raid};

/// An inventory in which every thing occurs once and knows the others that it lies on by their index.
pub(super) struct Joined {
    pub(super) platform: Option<&'static str>,
    /// Each is taken when its layer is made.
    pub(super) things: Vec<Option<Thing>>,
    /// For each thing, what it lies on; `None` for what nothing else describes.
    pub(super) on: Vec<Vec<Option<usize>>>,
    pub(super) remarks: Vec<Oddity>,
    /// How long an extent is in each LVM volume group.
    pub(super) extents: Vec<(String, Fact<Bytes>)>,
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

/// Most things of one name that are told apart. Clones and paths to one disk are fewer.
const MOST_OF_ONE_NAME: usize = 32;

/// Things under joining: those that are one have become one.
pub(super) struct Groups {
    pub(super) things: Vec<Option<Thing>>,
    by_name: HashMap<(Class, Name), Vec<usize>>,
    /// Where a thing went that another absorbed.
    gone_to: HashMap<usize, usize>,
    /// For each thing, which one it was in the order of the texts.
    order: Vec<usize>,
}

/// Joins what is one.
pub(super) fn joined(inventory: Inventory) -> Joined {
    let mut groups = Groups {
        things: Vec::new(),
        by_name: HashMap::new(),
        gone_to: HashMap::new(),
        order: Vec::new(),
    };
    let mut things: Vec<(usize, Thing)> = inventory.things.into_iter().enumerate().collect();
    // Numbers of partitions and letters mean something else on another disk, so disks that bear one number come first.
    things.sort_by_key(|(_, thing)| !has_name_in(thing, Space::WindowsDisk));
    for (order, thing) in things {
        groups.take(thing, order);
    }
    raid::members(&mut groups);
    partitions::join(&mut groups);
    partitions::disks_of_volumes(&mut groups);
    groups.join_contents();
    let mut joined = groups.finish(inventory.platform, inventory.remarks);
    joined.extents = inventory.extents;
    joined
}

impl Groups {
    /// Adds a thing to the one it is, or as a new one.
    fn take(&mut self, mut thing: Thing, order: usize) {
        let class = class_of(thing.kind);
        let mut into = None;
        let mut bare: Vec<usize> = Vec::new();
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
                for other in bare {
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
        if entry.len() < MOST_OF_ONE_NAME && !entry.contains(&index) {
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

    /// Adds grids and remarks to a thing, and holds them against what it has.
    pub(super) fn tell(&mut self, index: usize, said: (Vec<GridFact>, Vec<Oddity>)) {
        if let Some(thing) = self.things[index].as_mut() {
            for grid in said.0 {
                add_grid(thing, grid);
            }
            thing.remarks.extend(said.1);
        }
    }

    /// Joins the thing `from` to the thing `into`.
    pub(super) fn unite(&mut self, into: usize, from: usize) {
        if into == from {
            return;
        }
        if let Some(thing) = self.things[from].take() {
            self.gone_to.insert(from, into);
            self.order[into] = self.order[into].min(self.order[from]);
            self.absorb(into, thing);
        }
    }

    /// The filesystems and encryptions that are said to lie on one thing are one: there is room for one.
    fn join_contents(&mut self) {
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

    fn finish(mut self, platform: Option<&'static str>, remarks: Vec<Oddity>) -> Joined {
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
            extents: Vec::new(),
        }
    }
}

/// What two things that share a name are to each other.
enum Relation {
    Same,
    /// Names of one kind that they share mean nothing.
    Other,
    /// They are called the same and are not the same: identities of this kind differ.
    Replaced(Space),
    /// They share an identity of this kind, and one text says that they are two.
    Twin(Space),
}

fn relation(thing: &Thing, other: &Thing) -> Relation {
    let shared = thing
        .names
        .iter()
        .filter(|name| other.names.contains(name))
        .collect::<Vec<_>>();
    let Some(first) = shared.first() else {
        return Relation::Other;
    };
    if let Some(identity) = shared.iter().find(|name| name.space.is_identity()) {
        let two_slots = [Space::WindowsDisk, Space::Device, Space::EsxiDevice]
            .into_iter()
            .any(|space| differ(thing, other, space));
        let is_device = thing.kind == LayerKind::Device;
        // A table can be cloned to another disk, a serial number cannot.
        let other_serial = identity.space == Space::TableId && differ(thing, other, Space::Serial);
        let one_file = thing.file == other.file;
        return match thing.kind {
            LayerKind::Device if other_serial && !two_slots && shared.len() > 1 => {
                Relation::Replaced(Space::Serial)
            }
            _ if is_device && (other_serial || two_slots && one_file) => {
                Relation::Twin(identity.space)
            }
            _ if !two_slots || !one_file => Relation::Same,
            // Those of a cloned disk have the identities of the original's; the disks say so once.
            LayerKind::Partition => Relation::Other,
            LayerKind::Filesystem if !spans_devices(thing) => Relation::Other,
            _ => Relation::Same,
        };
    }
    // A partition's or volume's identity may be said in two spellings; that of a disk is told by its tools alike.
    if first.space.is_identity() || thing.kind != LayerKind::Device {
        return Relation::Same;
    }
    let other_disk = [Space::Serial, Space::TableId]
        .into_iter()
        .find(|space| differ(thing, other, *space));
    match other_disk {
        Some(space) => Relation::Replaced(space),
        None => Relation::Same,
    }
}

/// True for a volume of which nothing but letters and the like is known.
pub(super) fn is_bare_volume(thing: &Thing) -> bool {
    let numbered = [Space::WindowsPartition, Space::WmiPartition];
    thing.kind == LayerKind::Partition
        && thing.start.is_none()
        && !numbered.into_iter().any(|space| has_name_in(thing, space))
        && (has_name_in(thing, Space::WindowsVolume)
            || has_name_in(thing, Space::WindowsVolumeNumber))
}

pub(super) fn has_name_in(thing: &Thing, space: Space) -> bool {
    thing.names.iter().any(|name| name.space == space)
}

/// True for a filesystem that may lie on several devices.
fn spans_devices(thing: &Thing) -> bool {
    let format = thing.format.as_ref().map(|format| format.value.as_ref());
    matches!(format, Some("btrfs" | "zfs" | "bcachefs"))
}

/// True when both have names in `space`, and none in common.
fn differ(thing: &Thing, other: &Thing, space: Space) -> bool {
    let of = |thing: &Thing| -> Vec<String> {
        let names = thing.names.iter().filter(|name| name.space == space);
        names.map(|name| bare(&name.text)).collect()
    };
    let (a, b) = (of(thing), of(other));
    // Tools cut serial numbers, and pad them; `sda` is not `sdaa`.
    let alike = |a: &String, b: &String| match space {
        Space::Serial => a.starts_with(b.as_str()) || b.starts_with(a.as_str()),
        _ => a == b,
    };
    !a.is_empty() && !b.is_empty() && !a.iter().any(|a| b.iter().any(|b| alike(a, b)))
}

fn bare(text: &str) -> String {
    text.chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|c| c.to_ascii_lowercase())
        .collect()
}

/// A line in which a thing is spoken of, the one with its identity if there is one.
pub(super) fn line_of(thing: &Thing) -> Option<Source> {
    let keys = [Key::Serial, Key::TableId];
    let identity = thing
        .attributes
        .iter()
        .find(|attribute| keys.contains(&attribute.key))
        .map(|attribute| attribute.value.source.clone());
    identity
        .or_else(|| thing.size.as_ref().map(|fact| fact.source.clone()))
        .or_else(|| thing.attributes.first().map(|a| a.value.source.clone()))
        .or_else(|| thing.grids.first().map(|grid| grid.grid.source.clone()))
}

fn remark(kind: OddityKind, detail: String, thing: &Thing, other: &Thing) -> Oddity {
    match (line_of(thing), line_of(other)) {
        (Some(a), Some(b)) => Oddity::between(kind, detail, a, b),
        (Some(a), None) | (None, Some(a)) => Oddity::at(kind, detail, a),
        (None, None) => Oddity::new(kind, detail),
    }
}

fn name_in(thing: &Thing, space: Space) -> &str {
    let name = thing.names.iter().find(|name| name.space == space);
    name.map_or("", |name| &name.text)
}

fn replaced(thing: &Thing, other: &Thing, space: Space) -> Oddity {
    let detail = format!(
        "{} {} here, {} in another capture: not the same disk, so their facts are kept apart",
        space.word(),
        name_in(thing, space),
        name_in(other, space)
    );
    remark(OddityKind::Stale, detail, thing, other)
}

fn twin(thing: &Thing, other: &Thing, space: Space) -> Oddity {
    let detail = format!(
        "has the {} {} as {} has",
        space.word(),
        name_in(thing, space),
        other.title
    );
    remark(OddityKind::SameIdentity, detail, thing, other)
}

/// Sets the grids of which only the number of sectors was said.
fn in_bytes(mut thing: Thing) -> Thing {
    let blocks = std::mem::take(&mut thing.in_blocks);
    let sector = thing
        .grids
        .iter()
        .find(|grid| grid.role == GridRole::LogicalSector)
        .map(|grid| grid.grid.value.unit());
    for block in blocks {
        let (role, count) = (block.role, block.count.value);
        let Some(sector) = sector else {
            thing.remarks.push(Oddity::at(
                OddityKind::UnitUnclear,
                format!(
                    "{} of {count} blocks: nothing says how long a block is",
                    role.name()
                ),
                block.count.source,
            ));
            continue;
        };
        let Some(unit) = sector.checked_mul(count) else {
            continue;
        };
        let phase = sector.bytes().checked_mul(block.phase).unwrap_or_default();
        let mut one = Thing::new(thing.kind, "", Name::new(Space::Path, ""));
        one.names.clear();
        one.grids.push(GridFact {
            role,
            grid: block.count.map(|_| Grid::with_phase(unit, phase)),
        });
        add(&mut thing, one);
    }
    thing
}

/// How much the kind of a thing says: a device may turn out to be a partition, a volume or an array.
const fn says(kind: LayerKind) -> u8 {
    match kind {
        LayerKind::Device => 0,
        LayerKind::Volume => 1,
        _ => 2,
    }
}

/// Sets how a thing lies on others, from what two texts say.
fn place(thing: &mut Thing, on: Vec<Name>, placing: Placing, found: &mut Vec<Oddity>) {
    // The disk of a volume is any disk, until the volume's partition says which.
    let known = |on: &[Name]| on.iter().any(|name| name.space != Space::WindowsVolumeDisk);
    match (&mut thing.placing, placing) {
        (Placing::Raid(raid), Placing::Raid(other)) => {
            for (a, b) in raid.add(*other) {
                found.push(contradiction(
                    Key::DataOffset.name(),
                    (&a.value.to_string(), &a.source),
                    (&b.value.to_string(), &b.source),
                ));
            }
            thing.on = raid.members.iter().map(|m| m.name.clone()).collect();
        }
        (Placing::Raid(raid), _) => {
            raid.add_names(on);
            thing.on = raid.members.iter().map(|m| m.name.clone()).collect();
        }
        (_, Placing::Raid(mut raid)) => {
            raid.add_names(std::mem::take(&mut thing.on));
            thing.on = raid.members.iter().map(|m| m.name.clone()).collect();
            thing.placing = Placing::Raid(raid);
        }
        (Placing::Unknown | Placing::Linear, placing @ (Placing::Extents(_) | Placing::Chunks)) => {
            thing.on = on;
            thing.placing = placing;
        }
        (have, placing) if thing.on.is_empty() || !known(&thing.on) && known(&on) => {
            thing.on = on;
            *have = placing;
        }
        (have @ Placing::Unknown, placing) if on.len() == thing.on.len() => {
            thing.on = on;
            *have = placing;
        }
        _ => {}
    }
}

/// Adds what `from` says to `thing`; where both speak of the same, the more exact one stays, and a contradiction is
/// remarked.
fn add(thing: &mut Thing, from: Thing) {
    // DiskPart's number is what an administrator types; a letter does not say where the partition lies.
    let rank = |names: &[Name]| {
        let ranks = names.iter().map(|name| match name.space {
            Space::WindowsPartition => 2,
            Space::WmiPartition => 1,
            _ => 0,
        });
        ranks.max().unwrap_or(0)
    };
    if thing.kind == LayerKind::Partition && rank(&from.names) > rank(&thing.names) {
        thing.title = from.title;
    }
    for name in from.names {
        if !thing.names.contains(&name) {
            thing.names.push(name);
        }
    }
    if says(from.kind) > says(thing.kind) {
        thing.kind = from.kind;
    }
    thing.in_blocks.extend(from.in_blocks);
    let mut found = Vec::new();
    place(thing, from.on, from.placing, &mut found);
    narrow(&mut thing.size, from.size, "size", &mut found);
    narrow(&mut thing.start, from.start, "start", &mut found);
    if let Some(format) = from.format {
        match &thing.format {
            None => thing.format = Some(format),
            Some(have) if have.value == format.value => {}
            // What is often wrong contradicts nothing.
            Some(_) if format.trust == Trust::Doubtful => {}
            Some(have) if have.trust == Trust::Doubtful => thing.format = Some(format),
            Some(have) => found.push(contradiction(
                "format",
                (&have.value, &have.source),
                (&format.value, &format.source),
            )),
        }
    }
    for new in from.grids {
        add_grid(thing, new);
    }
    for new in from.attributes {
        attribute(&mut thing.attributes, new, &mut found);
    }
    for remark in from.remarks.into_iter().chain(found) {
        let mut said = thing.remarks.iter();
        if !said.any(|old| (old.kind, &old.detail) == (remark.kind, &remark.detail)) {
            thing.remarks.push(remark);
        }
    }
}

/// Adds a grid, unless the thing has one of that role that is better.
fn add_grid(thing: &mut Thing, new: GridFact) {
    let have = thing.grids.iter_mut().find(|grid| grid.role == new.role);
    match have {
        None => thing.grids.push(new),
        Some(have) if have.grid.value == new.grid.value => {
            // What was read is better evidence than what was worked out or taken for granted.
            if new.grid.trust < have.grid.trust {
                *have = new;
            }
        }
        // What was taken for granted gives way to what was read.
        Some(have) if have.grid.trust >= Trust::Assumed => *have = new,
        Some(_) if new.grid.trust >= Trust::Assumed => {}
        Some(have) if shown_as_4k(have, &new) => *have = new,
        Some(have) if shown_as_4k(&new, have) => {}
        // What follows from a figure differs where the figure does, and that is said already.
        Some(have) if have.grid.trust >= Trust::Derived => {
            if new.grid.trust < have.grid.trust {
                *have = new;
            }
        }
        Some(_) if new.grid.trust >= Trust::Derived => {}
        Some(have) => {
            let differ = contradiction(
                new.role.name(),
                (&have.grid.value.unit().to_string(), &have.grid.source),
                (&new.grid.value.unit().to_string(), &new.grid.source),
            );
            // Each member of an array repeats what it says of the array.
            let again = |said: &Oddity| said.kind == differ.kind && said.detail == differ.detail;
            if !thing.remarks.iter().any(again) {
                thing.remarks.push(differ);
            }
            // Controllers and bridges hide large physical sectors; nothing makes them up.
            let larger = new.grid.value.unit() > have.grid.value.unit();
            if new.role == GridRole::PhysicalSector && larger {
                *have = new;
            }
        }
    }
}

/// True when `less` is a physical sector of 4 KiB and `more` a larger one: drivers of Windows up to version 10 show 4 KiB
/// for whatever is larger, those of Windows 11 do not.
fn shown_as_4k(less: &GridFact, more: &GridFact) -> bool {
    let (small, large) = (less.grid.value.unit(), more.grid.value.unit());
    less.role == GridRole::PhysicalSector
        && more.role == GridRole::PhysicalSector
        && small == Unit::B4096
        && large > small
        && large.get().is_power_of_two()
}

/// Keeps what both leave possible.
fn narrow(
    have: &mut Option<Fact<Interval>>,
    new: Option<Fact<Interval>>,
    what: &str,
    found: &mut Vec<Oddity>,
) {
    let Some(new) = new else { return };
    let Some(old) = have else {
        *have = Some(new);
        return;
    };
    let width = |fact: &Fact<Interval>| fact.value.to().get() - fact.value.from().get();
    // A start inside a sector is a misprint, however exact.
    let possible =
        |fact: &Fact<Interval>| what != "start" || fact.value.count(SectorSize::B512.unit()) > 0;
    if possible(&new) != possible(old) {
        let (wrong, right) = if possible(&new) {
            (&*old, &new)
        } else {
            (&new, &*old)
        };
        found.push(Oddity::between(
            OddityKind::Misprint,
            format!(
                "{what} {} is no whole number of sectors; {} is used",
                wrong.value, right.value
            ),
            wrong.source.clone(),
            right.source.clone(),
        ));
        if possible(&new) {
            *have = Some(new);
        }
        return;
    }
    match old.value.intersect(&new.value) {
        Some(_) if width(&new) < width(old) => *have = Some(new),
        Some(_) => {}
        // A figure in a unit that was taken for granted contradicts nothing.
        None if new.trust >= Trust::Assumed => {}
        None if old.trust >= Trust::Assumed => *have = Some(new),
        None => {
            found.push(contradiction(
                what,
                (&old.value.to_string(), &old.source),
                (&new.value.to_string(), &new.source),
            ));
            // An exact figure is worth more than a rounded one, whichever came first.
            if width(&new) < width(old) {
                *have = Some(new);
            }
        }
    }
}

/// Attributes that describe the thing itself, so that two values of one cannot both be right.
const CANNOT_DIFFER: [Key; 8] = [
    Key::Level,
    Key::Layout,
    Key::Members,
    Key::DataMembers,
    Key::PartitionTable,
    Key::PartitionType,
    Key::ExtentSize,
    Key::Rotational,
];

fn attribute(have: &mut Vec<Attribute>, new: Attribute, found: &mut Vec<Oddity>) {
    let same = |old: &&Attribute| old.key == new.key;
    let Some(old) = have.iter().find(same) else {
        have.push(new);
        return;
    };
    let equal = match (&old.value.value, &new.value.value) {
        (Value::Text(a), Value::Text(b)) => a.eq_ignore_ascii_case(b),
        (a, b) => a == b,
    };
    if !equal && CANNOT_DIFFER.contains(&new.key) {
        found.push(contradiction(
            new.key.name(),
            (&old.value.value.to_string(), &old.value.source),
            (&new.value.value.to_string(), &new.value.source),
        ));
    }
}

fn contradiction(what: &str, a: (&str, &Source), b: (&str, &Source)) -> Oddity {
    let detail = format!("{what} is {} in one place and {} in another", a.0, b.0);
    Oddity::between(OddityKind::Contradiction, detail, a.1.clone(), b.1.clone())
}
