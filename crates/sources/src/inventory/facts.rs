//! What is said about one thing twice: the more exact figure stays, and what contradicts it is remarked.

use straddle_geometry::{Bytes, Grid, SectorSize, Unit};
use straddle_stack::{
    Anomaly, AnomalyKind, Attribute, Fact, GridFact, GridRole, Interval, Key, LayerKind, Source,
    Trust, Value,
};

use super::{MAX_FACTS, MAX_NAMES, Name, Placing, Space, Thing};

/// Sets the grids of which only the number of sectors was said.
pub(super) fn in_bytes(mut thing: Thing) -> Thing {
    let blocks = std::mem::take(&mut thing.in_blocks);
    let sector = thing
        .grids
        .iter()
        .find(|grid| grid.role == GridRole::LogicalSector)
        .map(|grid| grid.grid.value.unit());
    for block in blocks {
        let (role, count) = (block.role, block.count.value);
        let Some(sector) = sector else {
            thing.remarks.push(Anomaly::at(
                AnomalyKind::UnitUnclear,
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

/// True for a disk that is reached by way of device-mapper, and by at least one path of its own.
fn is_path(names: &[Name]) -> bool {
    let is_mapped = |name: &&Name| name.text.starts_with("mapper/");
    let is_disk = |name: &&Name| {
        let kinds = ["sd", "nvme", "dasd", "vd", "hd", "xvd"];
        name.space == Space::Device && kinds.iter().any(|kind| name.text.starts_with(kind))
    };
    names.iter().any(|name| is_disk(&name)) && names.iter().any(|name| is_mapped(&name))
}

/// Sets how a thing lies on others, from what two texts say.
fn place(thing: &mut Thing, on: Vec<Name>, placing: Placing, found: &mut Vec<Anomaly>) {
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
pub(super) fn add(thing: &mut Thing, from: Thing) {
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
        thing.title.clone_from(&from.title);
    }
    // A disk that is reached several ways is known by what they come to.
    if !is_path(&thing.names) && from.kind == LayerKind::Device && is_path(&from.names) {
        thing.title.clone_from(&from.title);
    }
    let is_path = thing.kind == LayerKind::Device && is_path(&thing.names)
        || from.kind == LayerKind::Device && is_path(&from.names);
    for name in from.names {
        if thing.names.len() < MAX_NAMES && !thing.names.contains(&name) {
            thing.names.push(name);
        }
    }
    if says(from.kind) > says(thing.kind) {
        thing.kind = from.kind;
    }
    if is_path && thing.kind == LayerKind::Volume {
        thing.kind = LayerKind::Device;
    }
    thing.in_blocks.extend(from.in_blocks);
    thing.in_blocks.truncate(MAX_FACTS);
    thing.passed_on.extend(from.passed_on);
    thing.passed_on.truncate(MAX_FACTS);
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
        if thing.remarks.len() < MAX_FACTS
            && !said.any(|old| (old.kind, &old.detail) == (remark.kind, &remark.detail))
        {
            thing.remarks.push(remark);
        }
    }
}

/// Adds a grid, unless the thing has one of that role that is better.
pub(super) fn add_grid(thing: &mut Thing, new: GridFact) {
    let have = thing.grids.iter_mut().find(|grid| grid.role == new.role);
    match have {
        None => thing.grids.push(new),
        Some(have) if have.grid.value == new.grid.value => {
            // What was read is better evidence than what was worked out or taken for granted.
            if new.grid.trust < have.grid.trust {
                *have = new;
            }
        }
        // Few tools say where the first boundary lies. That it is not at 0 is said, that it is there is not.
        Some(have) if says_more(have, &new) => {}
        Some(have) if says_more(&new, have) => *have = new,
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
            let again = |said: &Anomaly| said.kind == differ.kind && said.detail == differ.detail;
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

/// True when `more` and `less` are of one length, and only `more` says where the first boundary lies.
fn says_more(more: &GridFact, less: &GridFact) -> bool {
    let (a, b) = (more.grid.value, less.grid.value);
    a.unit() == b.unit()
        && a.phase() > Bytes::ZERO
        && b.phase() == Bytes::ZERO
        && more.grid.trust < Trust::Assumed
        && less.grid.trust < Trust::Assumed
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
    found: &mut Vec<Anomaly>,
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
        found.push(Anomaly::between(
            AnomalyKind::Misprint,
            format!(
                "{what} {} is not a whole number of sectors; {} is used",
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
        // Counted in sectors that were taken to be of 512 bytes: with those of 4,096 it may be the same.
        None if is_assumed(&new) && !is_assumed(old) && in_long_sectors(&new, old) => {}
        None if is_assumed(old) && !is_assumed(&new) && in_long_sectors(old, &new) => {
            *have = Some(new);
        }
        None => {
            found.push(contradiction(
                what,
                (&old.value.to_string(), &old.source),
                (&new.value.to_string(), &new.source),
            ));
            // An exact figure is worth more than a rounded one, whichever came first.
            let rank = |fact: &Fact<Interval>| (is_assumed(fact), width(fact));
            if rank(&new) < rank(old) {
                *have = Some(new);
            }
        }
    }
}

fn is_assumed(fact: &Fact<Interval>) -> bool {
    fact.trust >= Trust::Assumed
}

/// Whether a figure in sectors of 512 bytes is another one when they have 4,096.
fn in_long_sectors(assumed: &Fact<Interval>, other: &Fact<Interval>) -> bool {
    let eight = |bytes: Bytes| bytes.checked_mul(8);
    let long = eight(assumed.value.from()).zip(eight(assumed.value.to()));
    let long = long.and_then(|(from, to)| Interval::new(from, to));
    long.is_some_and(|long| long.intersect(&other.value).is_some())
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

fn attribute(have: &mut Vec<Attribute>, new: Attribute, found: &mut Vec<Anomaly>) {
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

fn contradiction(what: &str, a: (&str, &Source), b: (&str, &Source)) -> Anomaly {
    let detail = format!("{what} is {} in one place and {} in another", a.0, b.0);
    Anomaly::between(AnomalyKind::Contradiction, detail, a.1.clone(), b.1.clone())
}
