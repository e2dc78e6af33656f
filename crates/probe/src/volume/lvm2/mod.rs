//! LVM2: physical volumes with a label and metadata areas, a volume group described by text, logical volumes made of segments.
//!
//! Sources: the on-disk format as libvslvm's "Logical Volume Manager (LVM) format" documents it, vgcfgbackup(8) and
//! lvm.conf(5) for the text, lvmraid(7), lvmthin(7) and lvmcache(7) for kinds of segments, Linux
//! `Documentation/admin-guide/device-mapper/` for what they become. Fields that these leave out are as LVM 2.03 writes them.

mod area;
mod crc;
mod group;
mod label;
mod nodes;
mod piece;
mod places;
mod shape;
mod superblock;
mod text;

use straddle_io::ReadError;
use straddle_stack::{Anomaly, AnomalyKind, Key};

use super::{Assembly, Beside, Part, Recognised, VolumeFormat};
use crate::record::{Place, Recorder};
use crate::{Magic, Window};
use area::{Found, Location, MAX_TEXT};
use group::{Group, SECTOR};
use label::Header;
use text::Tree;

/// Metadata areas of one device that are looked at; LVM makes at most two.
const MAX_AREAS: usize = 8;

pub(crate) static FORMAT: VolumeFormat = VolumeFormat {
    name: "lvm2",
    title: "LVM2 physical volume",
    reads: "labels, headers and metadata areas; the newest text of all areas and devices; linear, striped, mirrored and RAID volumes (levels \
            0, 1, 4, 5, 6, 10, all layouts, data offsets after reshaping), thin pools, caches, snapshots, integrity, several segments of \
            different kinds, volumes that are being moved",
    refuses: "where a thin volume's chunks lie in its pool, what a snapshot has copied, VDO, arrays while they are reshaped; metadata of more \
              than 4 MiB; the LVM1 format",
    verified: "LVM 2.03 and device-mapper of Linux 6.1: places, units and maps, and where written sectors arrive",
    min_size: label::SECTORS * label::SECTOR,
    magics: &[magic(0), magic(1), magic(2), magic(3)],
    beside: Beside::Nothing,
    recognise,
    assemble,
};

const fn magic(sector: u64) -> Magic {
    Magic {
        offset: sector * label::SECTOR,
        bytes: label::MAGIC,
    }
}

/// The newest text of a device.
struct Newest {
    location: Location,
    group: Group,
}

/// Reads what the metadata areas of a device say, and remarks on what is odd.
fn newest(
    window: &Window<'_>,
    header: &Header,
    say: &mut Recorder<'_>,
) -> Result<Option<Newest>, ReadError> {
    let mut locations: Vec<Location> = Vec::new();
    for (index, area) in header.metadata.iter().enumerate() {
        if index >= MAX_AREAS {
            let detail = format!(
                "{} metadata areas; {MAX_AREAS} are looked at",
                header.metadata.len()
            );
            at(say, area.at, |say| {
                say.odd(AnomalyKind::LimitReached, detail, Place::new(0, 16));
            });
            break;
        }
        if let Found::Text(location) = area::find(window, *area, say)?
            && !locations.iter().any(|other| other.is_alike(&location))
        {
            locations.push(location);
        }
    }
    let mut left = MAX_TEXT;
    let mut best: Option<Newest> = None;
    for location in locations {
        let Some(rest) = left.checked_sub(location.len()) else {
            let detail =
                format!("more than {MAX_TEXT} bytes of metadata that differ: the rest is not read");
            say.odd(AnomalyKind::LimitReached, detail, header.id_place());
            break;
        };
        left = rest;
        let Some(group) = read_text(window, &location, say)? else {
            continue;
        };
        let Some(other) = &best else {
            best = Some(Newest { location, group });
            continue;
        };
        let (older, newer) = (
            other.group.revision.min(group.revision),
            other.group.revision.max(group.revision),
        );
        let detail = if older == newer {
            format!(
                "two metadata areas hold different texts of revision {newer}; the first is used"
            )
        } else {
            format!(
                "a metadata area is of revision {older}, another of revision {newer}, which is used"
            )
        };
        say.odd(AnomalyKind::CopiesDiffer, detail, header.id_place());
        if group.revision > other.group.revision {
            best = Some(Newest { location, group });
        }
    }
    Ok(best)
}

/// Lets `add` record something that stands at byte `place` of the window.
fn at<'a>(say: &mut Recorder<'a>, place: u64, add: impl FnOnce(&mut Recorder<'a>)) {
    say.at_base(place, add);
}

fn read_text(
    window: &Window<'_>,
    location: &Location,
    say: &mut Recorder<'_>,
) -> Result<Option<Group>, ReadError> {
    let text = location.read(window)?;
    if !location.sum_is_right(&text) {
        let (place, recorded) = location.checksum();
        let detail = format!(
            "the checksum of the metadata text is {recorded:#010x}, computed {:#010x}; it is read all the same",
            crc::of(&text)
        );
        at(say, place, |say| {
            say.odd(AnomalyKind::Damaged, detail, Place::new(0, 4));
        });
    }
    let (tree, trouble) = Tree::parse(text);
    if let Some(trouble) = trouble {
        let kind = if trouble.is_limit {
            AnomalyKind::LimitReached
        } else {
            AnomalyKind::Damaged
        };
        let detail = format!(
            "byte {} of the metadata text: expected {}; what comes before is used",
            trouble.at, trouble.what
        );
        at(say, location.place_of(trouble.at), |say| {
            say.odd(kind, detail, Place::new(0, 1));
        });
    }
    let group = Group::of(tree);
    if group.is_none() {
        at(say, location.place_of(0), |say| {
            say.odd(
                AnomalyKind::Damaged,
                "the metadata text describes no volume group",
                Place::new(0, 16),
            );
        });
    }
    Ok(group)
}

fn recognise(window: &Window<'_>) -> Result<Option<Recognised>, ReadError> {
    let Some(header) = label::find(window)? else {
        return Ok(None);
    };
    let mut say = Recorder::new(window, header.base);
    header.remark(window, &mut say);
    say.text(Key::Uuid, header.id.clone(), header.id_place());
    if header.extension > 0 {
        say.count(
            Key::Version,
            header.extension.into(),
            header.extension_place(),
        );
    }
    if let Some(area) = header.metadata.first() {
        at(&mut say, area.at, |say| {
            say.bytes(Key::MetadataArea, area.size, Place::new(8, 8));
        });
    }
    if let Some(area) = header.boot.first() {
        at(&mut say, area.at, |say| {
            say.bytes(Key::BootLoaderArea, area.size, Place::new(8, 8));
        });
    }
    let found = newest(window, &header, &mut say)?;
    let Some(Newest { location, group }) = found else {
        if let Some(area) = header.data.first() {
            at(&mut say, area.at, |say| {
                say.bytes(Key::FirstExtent, area.offset, Place::new(0, 8));
            });
        }
        if header.in_use {
            say.odd(
                AnomalyKind::Missing,
                "it belongs to a volume group, which its own metadata do not name; another physical volume of that group does",
                header.extension_place(),
            );
        }
        return Ok(Some(Recognised {
            detected: say.finish(),
            set: header.id.clone(),
            member: header.id,
            of: Some(1),
        }));
    };
    describe(&header, &location, &group, &mut say);
    Ok(Some(Recognised {
        detected: say.finish(),
        set: group.id.clone(),
        member: header.id,
        of: u64::try_from(group.physical.len()).ok(),
    }))
}

/// What the group says of this physical volume.
fn describe(header: &Header, location: &Location, group: &Group, say: &mut Recorder<'_>) {
    let tree = &group.tree;
    let mut tell = |node, add: &mut dyn FnMut(&mut Recorder<'_>, Place)| {
        let range = tree.place(node);
        at(say, location.place_of(range.start), |say| {
            add(say, Place::new(0, range.len()));
        });
    };
    tell(group.section, &mut |say, place| {
        say.text(Key::VolumeGroup, group.name.clone(), place);
    });
    if let Some(node) = tree.get(group.section, "id") {
        tell(node, &mut |say, place| {
            say.text(Key::SetUuid, group.id.clone(), place);
        });
    }
    if let Some(node) = tree.get(group.section, "seqno") {
        tell(node, &mut |say, place| {
            say.count(Key::Events, group.revision, place);
        });
    }
    match tree.get(group.section, "extent_size") {
        Some(node) if group.extent.is_some() => {
            let size = group.extent.map_or(0, straddle_geometry::Unit::get);
            tell(node, &mut |say, place| {
                say.bytes(Key::ExtentSize, size, place);
            });
        }
        other => {
            tell(other.unwrap_or(group.section), &mut |say, place| {
                say.odd(
                    AnomalyKind::Damaged,
                    "the size of an extent is missing, nothing or too large: no volume has a place",
                    place,
                );
            });
        }
    }
    let Some(own) = group.physical_of(&header.id) else {
        tell(group.section, &mut |say, place| {
            say.odd(
                AnomalyKind::MembersDiffer,
                "the metadata do not know this physical volume as one of their group",
                place,
            );
        });
        return;
    };
    let Some(node) = tree.get(own.section, "pe_start") else {
        return;
    };
    let Some(start) = own.start.checked_mul(SECTOR) else {
        tell(node, &mut |say, place| {
            say.odd(
                AnomalyKind::Damaged,
                "the first extent lies beyond any device",
                place,
            );
        });
        return;
    };
    tell(node, &mut |say, place| {
        say.bytes(Key::FirstExtent, start, place);
        if let Some(data) = header.data.first()
            && data.offset != start
        {
            let detail = format!(
                "the first extent is at byte {start} by the metadata of the group, at byte {} by the header of the physical \
                 volume; the former is used",
                data.offset
            );
            say.odd(AnomalyKind::CopiesDiffer, detail, place);
        }
    });
}

fn assemble(parts: &[Part<'_>]) -> Result<Assembly, ReadError> {
    // Which physical volume each part is, and the newest text of all.
    let mut ids = Vec::new();
    let mut best: Option<(usize, Newest)> = None;
    let mut revisions: Vec<(usize, u64)> = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        let Some(header) = label::find(&part.window)? else {
            ids.push(String::new());
            continue;
        };
        // What is odd about one device was said when it was recognised.
        let mut say = Recorder::new(&part.window, header.base);
        let found = newest(&part.window, &header, &mut say)?;
        ids.push(header.id);
        let Some(found) = found else { continue };
        revisions.push((index, found.group.revision));
        if best
            .as_ref()
            .is_none_or(|(_, best)| found.group.revision > best.group.revision)
        {
            best = Some((index, found));
        }
    }
    let Some((index, newest)) = best else {
        return Ok(Assembly::default());
    };
    let mut assembly = nodes::build(parts, &ids, index, &newest.location, &newest.group);
    let revision = newest.group.revision;
    let older: Vec<String> = revisions
        .iter()
        .filter(|(_, old)| *old < revision)
        .filter_map(|(index, old)| Some(format!("{} {old}", parts.get(*index)?.name)))
        .take(8)
        .collect();
    if let (Some(first), false) = (assembly.nodes.first_mut(), older.is_empty()) {
        let name = parts.get(index).map_or("", |part| part.name);
        first.layer.anomalies.push(Anomaly::new(
            AnomalyKind::MembersDiffer,
            format!(
                "the metadata of the volume group are of revision {revision} on {name}, which is used; older: {}",
                older.join(", ")
            ),
        ));
    }
    Ok(assembly)
}

#[cfg(test)]
mod tests;
