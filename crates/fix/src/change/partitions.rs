//! Partitions begin elsewhere: on the first place that is on every boundary below and on a multiple of 1 MiB; where there is no
//! room for that, on the first that is on every boundary.

use schemars::JsonSchema;
use serde::Serialize;
use straddle_geometry::{Bytes, Extent, Grid, Map, SectorSize};
use straddle_rules::{Code, both_ways};
use straddle_stack::{Fact, GridRole, Key, Layer, LayerId, Stack, Value};

use super::{Change, Kind, Proposal};
use crate::{How, Situation};

pub(super) static KIND: Kind = Kind {
    name: "partitions",
    title: "where partitions begin",
    cures: CURES,
    propose,
};

const CURES: &[Code] = &[
    Code(101),
    Code(102),
    Code(103),
    Code(201),
    Code(202),
    Code(203),
    Code(616),
    Code(701),
];

/// What becomes of the partitions of one table.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Partitions {
    /// What is divided.
    pub device: LayerId,
    /// Format of the table: `mbr`, `gpt`.
    pub table: String,
    /// Sector that the table counts in.
    #[schemars(with = "u64")]
    pub sector: SectorSize,
    /// All partitions that hold data, by their start; those that stay where they are too.
    pub entries: Vec<Entry>,
}

/// One partition.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Entry {
    /// Its layer.
    pub layer: LayerId,
    /// Its number in the table.
    pub number: u64,
    /// Its type, as the table has it.
    pub kind: Option<String>,
    /// What is on it.
    pub filesystem: Option<String>,
    /// What that is called.
    pub label: Option<String>,
    /// What that allocates at once.
    pub allocation_unit: Option<Bytes>,
    /// Where it is known to the system: a drive letter, a mount point.
    pub mounted: Option<String>,
    /// Where it lies.
    pub from: Extent,
    /// Where it will lie.
    pub to: Extent,
    /// True when the filesystem records where its partition begins, in bytes 28 to 31 of its first sector.
    pub records_start: bool,
}

impl Entry {
    /// True when something becomes of it.
    #[must_use]
    pub fn changes(&self) -> bool {
        self.from != self.to
    }
}

fn propose(situation: &Situation<'_>, device: LayerId) -> Option<Proposal> {
    let base = situation.stack.layer(device);
    let partitions = situation.partitions(device);
    let table = table(base, &partitions)?;
    let is_off = |id: LayerId| situation.found(id, CURES);
    if !partitions.iter().any(|(id, _)| is_off(*id)) {
        return None;
    }
    let sector = sector(base);
    let [needed, round] = situation.starts(device).ok()?;
    let size = situation.size(device).or_else(|| shown(base))?;
    let end = match table {
        // A copy of the table lies at the end: 32 sectors of entries as a rule, and one of the header.
        "gpt" => size.checked_sub(sector.sectors(33).bytes()?)?,
        _ => size,
    };
    let held: Vec<Held> = partitions
        .iter()
        .filter_map(|(id, layer)| Held::of(situation, *id, layer, is_off(*id)))
        .collect();
    let packed = pack(&held, round, end, sector)
        .or_else(|| pack(&held, needed, end, sector))
        .or_else(|| shrunk(&held, needed, end, sector));
    let Some(to) = packed else {
        return Some(no_room(device, table, sector, &held));
    };
    let entries: Vec<Entry> = held
        .into_iter()
        .zip(to)
        .map(|(held, to)| Entry { to, ..held.entry })
        .collect();
    let moved = entries.iter().filter(|entry| entry.changes());
    let bytes = moved.clone().fold(Bytes::ZERO, |sum, entry| {
        sum.checked_add(entry.from.len()).unwrap_or(Bytes::MAX)
    });
    let mut arithmetic = Vec::new();
    let mut hindrances = Vec::new();
    for entry in moved.clone() {
        let name = &situation.stack.layer(entry.layer).name;
        arithmetic.push(format!(
            "{name}: {} to {}",
            both_ways(entry.from.start()),
            both_ways(entry.to.start())
        ));
        if entry.to.len() < entry.from.len() {
            let lost = entry.from.len().checked_sub(entry.to.len());
            hindrances.push(format!(
                "{name} has no room behind it and becomes {} shorter: make what is on it at most {} long first",
                both_ways(lost.unwrap_or(Bytes::ZERO)),
                both_ways(entry.to.len())
            ));
        }
    }
    arithmetic.push(grids_line(situation, device, needed));
    let what = moved.count();
    Some(Proposal {
        title: format!(
            "move {what} partition{} of {} to where the grids below have a boundary in common",
            if what == 1 { "" } else { "s" },
            base.name
        ),
        how: How::Move { bytes },
        arithmetic,
        notes: vec![
            "a boot loader that is on it must be installed again; Windows records the place of its boot volume (bcdedit, or bcdboot from \
             the recovery console)"
                .to_owned(),
        ],
        hindrances,
        change: Change::Partitions(Partitions {
            device,
            table: table.to_owned(),
            sector,
            entries,
        }),
    })
}

/// A partition, and whether it must go elsewhere.
struct Held {
    entry: Entry,
    is_off: bool,
}

impl Held {
    fn of(situation: &Situation<'_>, id: LayerId, layer: &Layer, is_off: bool) -> Option<Held> {
        let from = layer.placement.as_ref()?.value;
        let from = match (from.is_empty(), shown(layer)) {
            (true, Some(len)) => Extent::new(from.start(), len)?,
            _ => from,
        };
        let number = match layer.attribute(Key::PartitionNumber).map(|n| &n.value) {
            Some(Value::Count(number)) => *number,
            _ => named_number(&layer.name)?,
        };
        let above = situation.children(id).next().map(|(_, above)| above);
        let text = |layer: Option<&Layer>, key| layer.and_then(|l| l.text(key)).map(str::to_owned);
        let unit = above.and_then(|above| above.grid(GridRole::AllocationUnit));
        let records_start = above.is_some_and(|above| above.bytes(Key::HiddenSectors).is_some());
        Some(Held {
            entry: Entry {
                layer: id,
                number,
                kind: text(Some(layer), Key::PartitionType),
                filesystem: above.and_then(|above| above.format.as_deref().map(str::to_owned)),
                label: text(above, Key::Label),
                allocation_unit: unit.map(|unit| unit.value.unit().bytes()),
                mounted: text(Some(layer), Key::MountPoint)
                    .or_else(|| text(above, Key::MountPoint))
                    .or_else(|| text(Some(layer), Key::DriveLetter)),
                from,
                to: from,
                records_start,
            },
            is_off,
        })
    }
}

/// Format of the table: what is said of it, or what the types of its partitions belong to. Tools of Windows say of a GPT that it
/// is one, and nothing of the other.
fn table<'a>(device: &'a Layer, partitions: &[(LayerId, &Layer)]) -> Option<&'a str> {
    let of_types = || {
        let mut types = partitions
            .iter()
            .filter_map(|(_, layer)| layer.text(Key::PartitionType));
        match types.next() {
            Some(kind) => Some(if kind.len() > 2 { "gpt" } else { "mbr" }),
            None => (device.text(Key::Platform) == Some("windows")).then_some("mbr"),
        }
    };
    device.text(Key::PartitionTable).or_else(of_types)
}

/// The least that a rounded size can mean, in whole sectors.
fn shown(layer: &Layer) -> Option<Bytes> {
    match &layer.attribute(Key::SizeShown)?.value {
        Value::Between(size) => {
            let (sectors, _) = size.from().div_rem(SectorSize::B512.unit());
            SectorSize::B512.sectors(sectors).bytes()
        }
        _ => None,
    }
}

/// The number in what Windows calls a partition: 2 of `disk 1 partition 2` and of `partition 2 (E:) of vmware virtual disk`.
/// WMI counts from 0, and only those that hold something: `partition #0`.
fn named_number(name: &str) -> Option<u64> {
    let (_, rest) = name.split_once("partition ")?;
    let (counted, rest) = match rest.strip_prefix('#') {
        Some(rest) => (1, rest),
        None => (0, rest),
    };
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse::<u64>().ok()?.checked_add(counted)
}

fn sector(layer: &Layer) -> SectorSize {
    let table = layer.bytes(Key::TableSectorSize).map(|bytes| bytes.value);
    let logical = layer.grid(GridRole::LogicalSector);
    let bytes = table.or_else(|| logical.map(|grid| grid.value.unit().bytes()));
    bytes
        .and_then(|bytes| u32::try_from(bytes.get()).ok())
        .and_then(SectorSize::new)
        .unwrap_or(SectorSize::B512)
}

/// Places for all, in their order and of their length: each that is off goes to the next boundary that is free, and pushes on
/// those behind it. `None` when the last does not fit.
fn pack(held: &[Held], grid: Grid, end: Bytes, sector: SectorSize) -> Option<Vec<Extent>> {
    let mut free = Bytes::ZERO;
    let mut places = Vec::with_capacity(held.len());
    for Held { entry, is_off } in held {
        let pushed = entry.from.start() < free;
        let start = if *is_off || pushed {
            grid.first_at_or_after(entry.from.start().max(free)).ok()?
        } else {
            entry.from.start()
        };
        if !start.is_multiple_of(sector.unit()) {
            return None;
        }
        let place = Extent::new(start, entry.from.len())?;
        if place.end() > end.max(entry.from.end()) {
            return None;
        }
        free = place.end();
        places.push(place);
    }
    Some(places)
}

/// As [`pack`], but the last gives up what there is no room for.
fn shrunk(held: &[Held], grid: Grid, end: Bytes, sector: SectorSize) -> Option<Vec<Extent>> {
    let (last, before) = held.split_last()?;
    let mut places = pack(before, grid, end, sector)?;
    let free = places.last().map_or(Bytes::ZERO, |place| place.end());
    let start = grid
        .first_at_or_after(last.entry.from.start().max(free))
        .ok()?;
    let end = last.entry.from.end().min(end);
    let len = end.checked_sub(start)?;
    // Half a partition is no partition.
    let little = last.entry.from.len().get() / 64;
    let lost = last.entry.from.len().checked_sub(len)?;
    let place = Extent::new(start, len).filter(|_| lost.get() <= little.max(4 << 20))?;
    places.push(place);
    Some(places)
}

fn no_room(device: LayerId, table: &str, sector: SectorSize, held: &[Held]) -> Proposal {
    Proposal {
        change: Change::Partitions(Partitions {
            device,
            table: table.to_owned(),
            sector,
            entries: held.iter().map(|held| held.entry.clone()).collect(),
        }),
        title: "move partitions to where the grids below have a boundary in common".to_owned(),
        how: How::ByHand,
        arithmetic: Vec::new(),
        notes: Vec::new(),
        hindrances: vec![
            "there is no room for it: make a partition smaller, or copy the data to a larger device".to_owned(),
        ],
    }
}

/// `on all of: physical sector 4,096; stripe unit 65,536 → every 65,536 B from 0`.
fn grids_line(situation: &Situation<'_>, device: LayerId, needed: Grid) -> String {
    let mut parts: Vec<String> = Vec::new();
    for grid in situation.context.start_grids(device) {
        let part = format!("{} {}", grid.0.name(), grid.1.unit().bytes().grouped());
        if !parts.contains(&part) {
            parts.push(part);
        }
    }
    format!(
        "on all of {}: every {} B from {}",
        parts.join(", "),
        needed.unit().bytes().grouped(),
        needed.phase().grouped()
    )
}

impl Partitions {
    pub(super) fn apply(&self, stack: &mut Stack) {
        for entry in self.entries.iter().filter(|entry| entry.changes()) {
            let above: Vec<LayerId> = stack.above(entry.layer).collect();
            let planned = |value| Fact::derived(value, "planned");
            let layer = stack.layer_mut(entry.layer);
            layer.map = Map::Linear {
                start: entry.to.start(),
            };
            layer.placement = Some(planned_extent(entry.to));
            layer.size = Some(Fact::derived(entry.to.len(), "planned"));
            let sectors = entry.to.start().div_rem(self.sector.unit()).0;
            replace(layer, Key::StartSector, planned(Value::Count(sectors)));
            for above in above {
                let layer = stack.layer_mut(above);
                if layer.attribute(Key::HiddenSectors).is_some() {
                    let start = planned(Value::Bytes(entry.to.start()));
                    replace(layer, Key::HiddenSectors, start);
                }
            }
        }
        // What the kernel says of a start holds for the old one.
        for entry in &self.entries {
            if entry.changes() {
                let layer = stack.layer_mut(entry.layer);
                layer
                    .attributes
                    .retain(|attribute| attribute.key != Key::AlignmentOffset);
            }
        }
    }
}

fn planned_extent(extent: Extent) -> Fact<Extent> {
    Fact::derived(extent, "planned")
}

fn replace(layer: &mut Layer, key: Key, value: Fact<Value>) {
    layer.attributes.retain(|attribute| attribute.key != key);
    layer.set(key, value);
}
