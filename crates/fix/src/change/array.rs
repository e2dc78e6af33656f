//! The data of an md array begin elsewhere on its members, or its stripe unit is another: the array is re-created with the same
//! members in the same order, and its contents are copied away and back.

use schemars::JsonSchema;
use serde::Serialize;
use straddle_geometry::{Bytes, Grid, Map, Unit, both_ways};
use straddle_rules::{RepairKind, Severity, codes};
use straddle_stack::{
    AnomalyKind, Fact, GridRole, Key, Layer, LayerId, LayerKind, Seen, Stack, Value,
};

use super::kind::{Kind, Proposal};
use crate::{How, Situation};

pub(super) static KIND: Kind<Array> = Kind {
    name: "array",
    title: "where the data of an md array begin on its members, and its stripe unit",
    repair: RepairKind::Array,
    propose,
};

/// Levels that are re-created; the others have no places that could be chosen, or none that are known.
const LEVELS: [&str; 6] = ["raid0", "raid1", "raid4", "raid5", "raid6", "raid10"];

/// Least stripe unit of a new array: one for every device in use.
const MIN_UNIT: Unit = match Unit::new(65_536) {
    Some(unit) => unit,
    None => Unit::MIB,
};

/// Room for a superblock, a bitmap and a log of bad blocks before the data.
const HEADROOM: Bytes = Bytes::kib(256);

/// What becomes of an array.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Array {
    /// Its layer.
    pub array: LayerId,
    /// What it is called: `md0`.
    pub name: String,
    /// `raid5`.
    pub level: String,
    /// Where copies and parity go, as mdadm calls it.
    pub layout: Option<String>,
    /// Version of its metadata: `1.2`.
    pub version: String,
    /// Its identifier, which stays.
    pub uuid: String,
    /// Its name in the metadata, which stays: `host:name`.
    pub label: Option<String>,
    /// Its length, which stays.
    pub size: Bytes,
    /// Bytes that are used of each member afterwards; `null` where the members decide (RAID 0).
    pub component: Option<Bytes>,
    /// Its stripe unit now; `null` for a mirror.
    pub unit_from: Option<Unit>,
    /// Its stripe unit afterwards.
    pub unit_to: Option<Unit>,
    /// Its members, in their order.
    pub members: Vec<Member>,
}

/// A member.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Member {
    /// Its layer.
    pub layer: LayerId,
    /// Where the data begin on it.
    pub from: Bytes,
    /// Where they will begin.
    pub to: Bytes,
}

fn propose(situation: &Situation<'_>, id: LayerId) -> Option<Proposal<Array>> {
    let layer = situation.stack.layer(id);
    let level = layer.text(Key::Level)?.to_owned();
    let version = layer.text(Key::Version)?.to_owned();
    let is_md = layer.kind == LayerKind::Array && layer.attribute(Key::FirmwareRaid).is_none();
    if !is_md || !LEVELS.contains(&level.as_str()) {
        return None;
    }
    let size = situation.size(id)?;
    let from = offsets(layer)?;
    let unit_from = layer
        .grid(GridRole::StripeUnit)
        .map(|grid| grid.value.unit());
    let unit_to = unit_from.map(|unit| unit_for(situation, layer, unit));
    let needed: Vec<Grid> = layer
        .below
        .iter()
        .map(|member| situation.context.start_grid(*member).ok())
        .collect::<Option<_>>()?;
    let is_off = needed
        .iter()
        .zip(&from)
        .any(|(grid, start)| !grid.contains(*start));
    // Offsets that differ cost nothing while each is on every grid below: a note.
    let differs = situation.severity(id, codes::MEMBER_OFFSETS_DIFFER) > Some(Severity::Note);
    let movable = !matches!(version.as_str(), "1.0" | "0.90");
    let moves = (is_off || differs) && movable;
    if !moves && unit_from == unit_to {
        return None;
    }
    let component = component(layer, &level, size, unit_from, unit_to);
    let to = if moves {
        match component {
            Some(component) => places(situation, layer, &needed, component),
            None => places_of_striped(situation, layer, &needed, &from, (unit_from?, unit_to?)),
        }
    } else {
        Some(from.clone())
    };
    let mut blockers = states(layer);
    let to = to.unwrap_or_else(|| {
        blockers.push(
            "there is no room for it on a member: make what is on the array shorter, and the array with it (mdadm --grow --size), first"
                .to_owned(),
        );
        from.clone()
    });
    let members: Vec<Member> = layer
        .below
        .iter()
        .zip(from.iter().zip(&to))
        .map(|(layer, (from, to))| Member {
            layer: *layer,
            from: *from,
            to: *to,
        })
        .collect();
    let mut notes = notes(unit_from != unit_to);
    if component.is_none() {
        let len = length_of_striped(situation, &members, unit_to).unwrap_or(Bytes::ZERO);
        if len < size {
            blockers.push(format!(
                "{} would become shorter: make what is on it shorter first",
                layer.name
            ));
        } else if len > size {
            notes.push(format!(
                "{} becomes {} long; what is kept at its end, as a copy of a partition table, must be put there again (sgdisk -e)",
                layer.name,
                both_ways(len)
            ));
        }
    }
    let first = situation.stack.layer(members.first()?.layer);
    let mut arithmetic: Vec<String> = Vec::new();
    for member in members.iter().filter(|member| member.from != member.to) {
        arithmetic.push(format!(
            "{}: data offset {} to {}",
            situation.stack.layer(member.layer).name,
            both_ways(member.from),
            both_ways(member.to)
        ));
    }
    if let (Some(from), Some(to)) = (unit_from, unit_to)
        && from != to
    {
        arithmetic.push(format!(
            "stripe unit {from} to {to}: a whole number of the sectors of each member"
        ));
    }
    arithmetic.extend(may_begin(situation, &members, &needed));
    if let Some(component) = component {
        arithmetic.push(format!(
            "{} of each member are used: the array stays {} long",
            both_ways(component),
            both_ways(size)
        ));
    }
    arithmetic.extend(stays(&level));
    Some(Proposal {
        title: format!(
            "make {} again with {}",
            layer.name,
            match (moves, unit_from == unit_to) {
                (true, true) => "its data on a boundary of every member",
                (true, false) =>
                    "its data on a boundary of every member and a stripe unit that fits their sectors",
                _ => "a stripe unit that fits the sectors of its members",
            }
        ),
        how: How::Restore { bytes: size },
        arithmetic,
        notes,
        blockers,
        change: Array {
            array: id,
            name: layer.name.clone(),
            level,
            layout: layer.text(Key::Layout).map(str::to_owned),
            version,
            uuid: first.text(Key::SetUuid)?.to_owned(),
            label: first.text(Key::Label).map(str::to_owned),
            size,
            component,
            unit_from,
            unit_to,
            members,
        },
    })
}

/// Where the data begin on each member.
fn offsets(layer: &Layer) -> Option<Vec<Bytes>> {
    let said: Vec<Bytes> = layer
        .attributes
        .iter()
        .filter_map(|attribute| match attribute.value.value {
            Value::Bytes(bytes) if attribute.key == Key::DataOffset => Some(bytes),
            _ => None,
        })
        .collect();
    if said.len() == layer.below.len() && !said.is_empty() {
        return Some(said);
    }
    let starts = match &layer.map {
        Map::Striped(striping) => striping.starts.clone(),
        Map::Raid(raid) => raid.starts.clone(),
        Map::Linear { start } => vec![*start; layer.below.len()],
        _ => return None,
    };
    (starts.len() == layer.below.len()).then_some(starts)
}

/// The sectors and indirection units of the members.
fn sectors(situation: &Situation<'_>, layer: &Layer) -> Vec<Unit> {
    let grids = layer.below.iter().flat_map(|member| {
        let seen = situation.context.seen(*member).iter();
        seen.filter(|grid| {
            let hard = matches!(
                grid.role,
                GridRole::PhysicalSector | GridRole::IndirectionUnit
            );
            hard && matches!(grid.seen, Seen::Uniform(_))
        })
    });
    grids.map(|grid| grid.fact.value.unit()).collect()
}

/// The stripe unit itself where it fits; otherwise the least power of two from 64 KiB on that does.
fn unit_for(situation: &Situation<'_>, layer: &Layer, unit: Unit) -> Unit {
    let sectors = sectors(situation, layer);
    let fits = |unit: Unit| {
        sectors
            .iter()
            .all(|sector| unit.bytes().is_multiple_of(*sector))
    };
    if fits(unit) {
        return unit;
    }
    let doubled = std::iter::successors(Some(MIN_UNIT), |unit| unit.checked_mul(2));
    doubled.take(16).find(|unit| fits(*unit)).unwrap_or(unit)
}

/// What of each member is used, in whole stripe units, so that the array is no shorter than now.
fn component(
    layer: &Layer,
    level: &str,
    size: Bytes,
    from: Option<Unit>,
    to: Option<Unit>,
) -> Option<Bytes> {
    let used = match level {
        "raid0" => return None,
        "raid1" => size.get(),
        _ => {
            let members = u64::try_from(layer.below.len()).ok()?;
            let (data, copies) = match (&layer.map, level) {
                (Map::Raid(raid), "raid10") => (members, copies_of(raid.layout)?),
                (_, "raid6") => (members.checked_sub(2)?, 1),
                _ => (members.checked_sub(1)?, 1),
            };
            let used = size.get().checked_mul(copies)?.div_ceil(data.max(1));
            let unit = from?.get();
            used.div_ceil(unit).checked_mul(unit)?
        }
    };
    // mdadm takes it in KiB.
    let whole = to.map_or(1024, Unit::get);
    Some(Bytes::new(used.div_ceil(whole).checked_mul(whole)?))
}

fn copies_of(layout: straddle_geometry::RaidLayout) -> Option<u64> {
    match layout {
        straddle_geometry::RaidLayout::Copies(copies) => {
            u64::try_from(copies.near.checked_mul(copies.far)?).ok()
        }
        _ => None,
    }
}

/// The same place on all members where there is one, otherwise one for each: a multiple of 1 MiB where there is room for it.
fn places(
    situation: &Situation<'_>,
    layer: &Layer,
    needed: &[Grid],
    component: Bytes,
) -> Option<Vec<Bytes>> {
    let rooms: Vec<Bytes> = layer
        .below
        .iter()
        .map(|member| {
            let size = situation.size(*member)?;
            size.checked_sub(component)
        })
        .collect::<Option<_>>()?;
    let room = rooms.iter().min()?;
    if let Ok(all) = Grid::intersect_all(needed.iter().copied())
        && let Some(start) = place(all, *room)
    {
        return Some(vec![start; needed.len()]);
    }
    needed
        .iter()
        .zip(&rooms)
        .map(|(grid, room)| place(*grid, *room))
        .collect()
}

fn place(grid: Grid, room: Bytes) -> Option<Bytes> {
    // mdadm takes offsets in KiB.
    let kib = Grid::new(Unit::new(1024)?);
    let round = grid.intersect(Grid::new(Unit::MIB)).ok();
    let round = round.and_then(|round| round.first_at_or_after(Bytes::mib(1)).ok());
    let least = grid.intersect(kib).ok()?.first_at_or_after(HEADROOM).ok();
    let mut both = [round, least].into_iter().flatten();
    both.find(|start| *start <= room)
}

/// The same for RAID 0, whose members are used to their ends: first of all a place that
/// leaves as much as now.
fn places_of_striped(
    situation: &Situation<'_>,
    layer: &Layer,
    needed: &[Grid],
    from: &[Bytes],
    (now, then): (Unit, Unit),
) -> Option<Vec<Bytes>> {
    let members = layer.below.iter().zip(needed.iter().zip(from));
    members
        .map(|(member, (grid, from))| {
            let size = situation.size(*member)?;
            let len = |start: Bytes, unit: Unit| {
                let units = size.checked_sub(start)?.div_rem(unit).0;
                unit.bytes().checked_mul(units)
            };
            let grid = grid.intersect(Grid::new(Unit::new(1024)?)).ok()?;
            let round = grid.intersect(Grid::new(Unit::MIB)).ok();
            let candidates = [
                round.and_then(|round| round.first_at_or_after(Bytes::mib(1)).ok()),
                grid.first_at_or_after((*from).max(HEADROOM)).ok(),
                grid.last_at_or_before(*from)
                    .filter(|start| *start >= HEADROOM),
            ];
            let now = len(*from, now)?;
            let all = || candidates.iter().flatten().copied();
            all()
                .find(|start| len(*start, then) == Some(now))
                .or_else(|| all().find(|start| len(*start, then) > Some(now)))
        })
        .collect()
}

/// How long RAID 0 becomes.
fn length_of_striped(
    situation: &Situation<'_>,
    members: &[Member],
    unit: Option<Unit>,
) -> Option<Bytes> {
    members.iter().try_fold(Bytes::ZERO, |sum, member| {
        let len = situation.size(member.layer)?.checked_sub(member.to)?;
        let (_, rest) = len.div_rem(unit?);
        sum.checked_add(len.checked_sub(rest)?)
    })
}

/// On which boundaries the data may begin: once where it is the same for all members.
fn may_begin(situation: &Situation<'_>, members: &[Member], needed: &[Grid]) -> Vec<String> {
    let same = needed.windows(2).all(|two| matches!(two, [a, b] if a == b));
    let count = if same { 1 } else { needed.len() };
    let lines = members.iter().zip(needed).take(count);
    lines
        .map(|(member, grid)| {
            let name = &situation.stack.layer(member.layer).name;
            format!(
                "on {}: data may begin every {} B from {}",
                if same { "each member" } else { name },
                grid.unit().bytes().grouped(),
                grid.phase().grouped()
            )
        })
        .collect()
}

/// What must be over before the array can be re-created.
fn states(layer: &Layer) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for anomaly in &layer.anomalies {
        let what = match anomaly.kind {
            AnomalyKind::Degraded => "replace the missing member, and wait until it is rebuilt",
            AnomalyKind::Reshaping => "wait until the reshape is done",
            AnomalyKind::MembersDiffer => "bring its members to one state",
            AnomalyKind::PartlyGiven => "name all of its members",
            _ => continue,
        };
        let line = format!("{} is {}: {what} first", layer.name, anomaly.kind.name());
        if !out.contains(&line) {
            out.push(line);
        }
    }
    out
}

/// What stays, and what is so for a while.
fn stays(level: &str) -> Vec<String> {
    let mut lines = vec![
        "UUID, name, order of members, level, layout and version of the metadata stay, so mdadm.conf does too".to_owned(),
    ];
    if level != "raid0" {
        lines.push("until /proc/mdstat shows that the new array is synchronised, it has no full redundancy".to_owned());
    }
    lines
}

fn notes(chunk: bool) -> Vec<String> {
    let set = "filesystems above keep the stride and stripe width that they were made with: set them again (tune2fs -E stride=…, mount option \
               sunit=…)";
    chunk.then(|| set.to_owned()).into_iter().collect()
}

impl Array {
    /// Members on which the data begin elsewhere afterwards.
    #[must_use]
    pub fn same_offset(&self) -> Option<Bytes> {
        let first = self.members.first()?.to;
        let all = self.members.iter().all(|member| member.to == first);
        all.then_some(first)
    }

    pub(super) fn apply(&self, stack: &mut Stack) {
        let planned = |value| Fact::derived(value, "planned");
        let starts: Vec<Bytes> = self.members.iter().map(|member| member.to).collect();
        for member in &self.members {
            let layer = stack.layer_mut(member.layer);
            for attribute in &mut layer.attributes {
                if attribute.key == Key::DataOffset {
                    attribute.value = planned(Value::Bytes(member.to));
                }
            }
        }
        let above: Vec<LayerId> = stack.above(self.array).collect();
        for id in above.into_iter().chain([self.array]) {
            // The kernel works it out again from where the data begin.
            let layer = stack.layer_mut(id);
            layer.attributes.retain(|a| a.key != Key::AlignmentOffset);
        }
        let layer = stack.layer_mut(self.array);
        layer.attributes.retain(|a| a.key != Key::DataOffset);
        for start in &starts {
            layer.set(Key::DataOffset, planned(Value::Bytes(*start)));
        }
        let unit = self.unit_to;
        match &mut layer.map {
            Map::Linear { start } => *start = starts.first().copied().unwrap_or(*start),
            Map::Striped(striping) => {
                striping.starts = starts;
                striping.unit = unit.unwrap_or(striping.unit);
            }
            Map::Raid(raid) => {
                raid.starts = starts;
                raid.unit = unit.unwrap_or(raid.unit);
            }
            _ => {}
        }
        let (Some(from), Some(to)) = (self.unit_from, unit) else {
            return;
        };
        for grid in &mut layer.grids {
            let old = grid.grid.value.unit();
            let new = match grid.role {
                GridRole::StripeUnit => Some(to),
                GridRole::MinimumIo if old == from => Some(to),
                // Stripe units times data members.
                GridRole::FullStripe => to.checked_mul(old.get() / from.get()),
                _ => None,
            };
            if let Some(new) = new.filter(|_| from != to) {
                grid.grid = Fact::derived(Grid::new(new), "planned");
            }
        }
    }
}
