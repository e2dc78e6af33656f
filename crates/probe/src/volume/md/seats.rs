//! Who sits where by the superblocks, and what in them does not fit together.

use straddle_geometry::Bytes;
use straddle_stack::{Anomaly, AnomalyKind, Source};

use super::superblock::{self, Role, Superblock};
use crate::record::{Place, Recorder};

/// Most remarks of one kind about members; the rest is counted.
pub(super) const MAX_REMARKS: usize = 16;

/// A member that was given.
pub(super) struct Given<'a> {
    pub(super) part: usize,
    pub(super) name: &'a str,
    pub(super) say: Recorder<'a>,
    pub(super) sb: Superblock,
}

impl Given<'_> {
    pub(super) fn source(&self, place: Place) -> Source {
        self.say.source(place)
    }
}

/// Who sits where.
pub(super) struct Table {
    /// For each place, an index into the members given.
    pub(super) slots: Vec<Option<usize>>,
    pub(super) anomalies: Vec<Anomaly>,
}

/// Who sits where by the superblocks, and what does not fit together.
pub(super) fn seat(given: &[Given<'_>], newest: &Given<'_>) -> Table {
    let places = newest.sb.places;
    let disks = newest.sb.disks;
    let delta = newest.sb.reshape.map_or(0, |reshape| reshape.delta);
    let mut slots: Vec<Option<usize>> = vec![None; superblock::seats(disks, delta)];
    let mut anomalies = Vec::new();
    let mut differ = |one: &Given<'_>, detail: String, own: Place, other: Place| {
        if anomalies.len() < MAX_REMARKS {
            anomalies.push(Anomaly::between(
                AnomalyKind::MembersDiffer,
                detail,
                one.source(own),
                newest.source(other),
            ));
        }
    };
    let mut replacements = Vec::new();
    for (index, one) in given.iter().enumerate() {
        let sb = &one.sb;
        let own = sb.places;
        let is_member = matches!(sb.role, Role::Slot(_) | Role::Replacement(_));
        if !is_member {
            continue;
        }
        // One write of the superblocks may have been cut short between members; md allows for that.
        if sb.events.saturating_add(1) < newest.sb.events {
            let detail = format!(
                "{} was left behind: its metadata were written {} times, those of {} {} times; what it holds is out of date",
                one.name, sb.events, newest.name, newest.sb.events
            );
            differ(one, detail, own.events, places.events);
            continue;
        }
        for (what, here, there, own, other) in [
            (
                "level",
                i64::from(sb.level),
                i64::from(newest.sb.level),
                own.level,
                places.level,
            ),
            (
                "layout",
                i64::from(sb.layout),
                i64::from(newest.sb.layout),
                own.layout,
                places.layout,
            ),
            (
                "members",
                i64::from(sb.disks),
                i64::from(newest.sb.disks),
                own.disks,
                places.disks,
            ),
            (
                "chunk",
                shown(sb.chunk),
                shown(newest.sb.chunk),
                own.chunk,
                places.chunk,
            ),
            (
                "size used of each member",
                shown(sb.used),
                shown(newest.sb.used),
                own.used,
                places.used,
            ),
        ] {
            if here != there {
                let detail = format!("{what} {here} on {}, {there} on {}", one.name, newest.name);
                differ(one, detail, own, other);
            }
        }
        match sb.role {
            Role::Slot(slot) => {
                let Some(place) = usize::try_from(slot)
                    .ok()
                    .and_then(|slot| slots.get_mut(slot))
                else {
                    let detail = format!("{} says that it is member {slot} of {disks}", one.name);
                    differ(one, detail, own.number, places.disks);
                    continue;
                };
                // Being rebuilt: what is read there is not the array's yet.
                if sb.recovery.is_some() {
                    continue;
                }
                match place.and_then(|index| given.get(index)) {
                    None => *place = Some(index),
                    Some(first) => {
                        let detail = format!(
                            "{} and {} both say that they are member {slot}; the first is used",
                            first.name, one.name
                        );
                        differ(one, detail, own.number, first.sb.places.number);
                    }
                }
            }
            Role::Replacement(slot) if sb.recovery.is_none() => replacements.push((slot, index)),
            _ => {}
        }
    }
    for (slot, index) in replacements {
        let place = usize::try_from(slot)
            .ok()
            .and_then(|slot| slots.get_mut(slot));
        if let Some(place) = place {
            place.get_or_insert(index);
        }
    }
    Table { slots, anomalies }
}

/// For a comparison and its words.
fn shown(bytes: Bytes) -> i64 {
    i64::try_from(bytes.get()).unwrap_or(i64::MAX)
}
