//! The first extent of an LVM physical volume lies elsewhere, and with it all extents: what they hold is copied away and back, and
//! the metadata of the group say the new place. Everything else of the group stays, its identifiers too.

use schemars::JsonSchema;
use serde::Serialize;
use straddle_geometry::{Bytes, Grid, Map, Unit, both_ways};
use straddle_rules::{RepairKind, codes};
use straddle_stack::{Fact, GridRole, Key, Layer, LayerId, LayerKind, Stack, Value};

use super::kind::{Kind, Proposal};
use crate::{How, Situation};

pub(super) static KIND: Kind<VolumeGroup> = Kind {
    name: "volume-group",
    title: "where the first extent of an LVM physical volume lies",
    repair: RepairKind::VolumeGroup,
    propose,
};

/// Least place of a first extent: what LVM left for metadata before it aligned to 1 MiB.
const LEAST: Bytes = Bytes::kib(192);

/// What becomes of a physical volume.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct VolumeGroup {
    /// Its layer.
    pub device: LayerId,
    /// The group that it belongs to.
    pub group: String,
    /// Its identifier, which stays.
    pub uuid: String,
    /// Length of an extent.
    pub extent: Unit,
    /// Where its first extent lies.
    pub from: Bytes,
    /// Where it will lie.
    pub to: Bytes,
    /// Extents up to the last one that a volume is known to use.
    pub used: u64,
    /// What the first extent lies on a multiple of, behind the offset: all boundaries below.
    pub alignment: Unit,
    /// Where the first of those boundaries is.
    pub alignment_offset: Bytes,
}

fn propose(situation: &Situation<'_>, device: LayerId) -> Option<Proposal<VolumeGroup>> {
    let layer = situation.stack.layer(device);
    let from = layer.bytes(Key::FirstExtent)?.value;
    let extent = Unit::new(layer.bytes(Key::ExtentSize)?.value.get())?;
    let group = layer.text(Key::VolumeGroup)?.to_owned();
    let [needed, round] = situation.starts(device).ok()?;
    if needed.contains(from) && !situation.found(device, codes::FIRST_EXTENT_FAR) {
        return None;
    }
    let size = situation.size(device)?;
    let used = used(situation, device, from, extent);
    let bytes = extent.bytes().checked_mul(used)?;
    let mut blockers = Vec::new();
    let candidates = [
        round.first_at_or_after(Bytes::mib(1)).ok()?,
        needed.first_at_or_after(LEAST).ok()?,
    ];
    let fits = |start: &Bytes| start.checked_add(bytes).is_some_and(|end| end <= size);
    let to = candidates.into_iter().find(fits).unwrap_or_else(|| {
        blockers.push(format!(
            "there is no room: free the last extent of {} first (pvmove --alloc anywhere {0}:LAST)",
            layer.name
        ));
        from
    });
    let mut arithmetic = vec![
        format!("first extent: {} to {}", both_ways(from), both_ways(to)),
        format!(
            "on all of {}: every {} B from {}",
            grids(situation, device),
            needed.unit().bytes().grouped(),
            needed.phase().grouped()
        ),
        format!(
            "{used} extents of {extent}, to the last that a volume uses: {}",
            both_ways(bytes)
        ),
    ];
    arithmetic.extend(lost(size, from, to, extent));
    arithmetic.push("all identifiers, names, sizes and kinds of volumes stay: the metadata are restored with another pe_start".to_owned());
    arithmetic.push(format!(
        "or without downtime, where there is an empty device of {} or more on the same kind of disks: the script with --onto DEVICE makes \
         it a physical volume (pvcreate --dataalignment {}), and moves the extents there while the volumes are in use",
        bytes.rounded(),
        alignment(needed.unit(), needed.phase())
    ));
    arithmetic.extend(drifting(situation, device, extent));
    Some(Proposal {
        title: format!(
            "put the first extent of {} (group {group}) where the grids below have a boundary in common",
            layer.name
        ),
        how: How::Restore { bytes },
        arithmetic,
        notes: Vec::new(),
        blockers,
        change: VolumeGroup {
            device,
            group,
            uuid: layer.text(Key::Uuid)?.to_owned(),
            extent,
            from,
            to,
            used,
            alignment: needed.unit(),
            alignment_offset: needed.phase(),
        },
    })
}

/// Where the pieces of a layer begin on another, and how long they are.
fn pieces(layer: &Layer, device: LayerId) -> Vec<(Bytes, Bytes)> {
    let here = |target: usize| layer.below.get(target) == Some(&device);
    let size = layer.size.as_ref().map_or(Bytes::ZERO, |size| size.value);
    match &layer.map {
        Map::Linear { start } if here(0) => vec![(*start, size)],
        Map::Segments(segments) => segments
            .iter()
            .filter(|segment| here(segment.target))
            .map(|segment| (segment.lower, segment.upper.len()))
            .collect(),
        Map::Striped(striping) => {
            let columns = u64::try_from(striping.starts.len()).unwrap_or(1).max(1);
            let each = Bytes::new(size.get().div_ceil(columns));
            let starts = striping.starts.iter().enumerate();
            starts
                .filter(|(target, _)| here(*target))
                .map(|(_, start)| (*start, each))
                .collect()
        }
        _ => Vec::new(),
    }
}

/// Extents up to the last one that is known to be used.
fn used(situation: &Situation<'_>, device: LayerId, from: Bytes, extent: Unit) -> u64 {
    let pieces = situation
        .children(device)
        .flat_map(|(_, above)| pieces(above, device));
    let ends = pieces.filter_map(|(start, len)| start.checked_add(len)?.checked_sub(from));
    let end = ends.max().unwrap_or(Bytes::ZERO);
    end.get().div_ceil(extent.get())
}

fn grids(situation: &Situation<'_>, device: LayerId) -> String {
    let mut parts: Vec<String> = Vec::new();
    for (role, grid) in situation.context.start_grids(device) {
        let part = format!("{} {}", role.name(), grid.unit().bytes().grouped());
        if !parts.contains(&part) {
            parts.push(part);
        }
    }
    parts.join(", ")
}

/// What `pvcreate --dataalignment` wants, with the offset where there is one.
pub(crate) fn alignment(unit: Unit, offset: Bytes) -> String {
    let kib = |bytes: Bytes| match bytes.get() % 1024 {
        0 => format!("{}k", bytes.get() / 1024),
        _ => format!("{}b", bytes.get()),
    };
    if offset == Bytes::ZERO {
        kib(unit.bytes())
    } else {
        format!(
            "{} --dataalignmentoffset {}",
            kib(unit.bytes()),
            kib(offset)
        )
    }
}

/// Extents that no longer fit at the end.
fn lost(size: Bytes, from: Bytes, to: Bytes, extent: Unit) -> Option<String> {
    let count = |start: Bytes| Some(size.checked_sub(start)?.div_rem(extent).0);
    let (before, after) = (count(from)?, count(to)?);
    (after < before).then(|| format!("room for {after} extents afterwards, {before} now"))
}

/// Extents that are not a whole number of full stripes begin at another place in each: STR214.
fn drifting(situation: &Situation<'_>, device: LayerId, extent: Unit) -> Option<String> {
    let mut grids = situation.context.start_grids(device);
    let (_, stripe) = grids.find(|(role, grid)| {
        *role == GridRole::FullStripe && !extent.bytes().is_multiple_of(grid.unit())
    })?;
    let common = Grid::new(extent)
        .intersect(Grid::new(stripe.unit()))
        .ok()?
        .unit();
    Some(format!(
        "extents of {extent} are no whole full stripes of {}: one in {} begins on one. A new group would need extents that are a multiple of it \
         (straddle explain STR214)",
        stripe.unit(),
        common.get() / extent.get()
    ))
}

impl VolumeGroup {
    pub(super) fn apply(&self, stack: &mut Stack) {
        let shifted = |place: Bytes| {
            let within = place.checked_sub(self.from)?;
            self.to.checked_add(within)
        };
        let layer = stack.layer_mut(self.device);
        for attribute in &mut layer.attributes {
            if attribute.key == Key::FirstExtent {
                attribute.value = Fact::derived(Value::Bytes(self.to), "planned");
            }
        }
        let above: Vec<LayerId> = stack.above(self.device).collect();
        for id in above {
            let layer = stack.layer_mut(id);
            // A striped volume is an array to who reads the tables of a live host.
            if !matches!(layer.kind, LayerKind::Volume | LayerKind::Array) {
                continue;
            }
            let below = layer.below.clone();
            let here = |target: usize| below.get(target) == Some(&self.device);
            match &mut layer.map {
                Map::Linear { start } if here(0) => *start = shifted(*start).unwrap_or(*start),
                Map::Segments(segments) => {
                    for segment in segments.iter_mut().filter(|s| here(s.target)) {
                        segment.lower = shifted(segment.lower).unwrap_or(segment.lower);
                    }
                }
                Map::Striped(striping) => {
                    for (target, start) in striping.starts.iter_mut().enumerate() {
                        if here(target) {
                            *start = shifted(*start).unwrap_or(*start);
                        }
                    }
                }
                _ => {}
            }
            layer.placement = None;
            // The kernel works it out again.
            layer.attributes.retain(|a| a.key != Key::AlignmentOffset);
        }
    }
}
