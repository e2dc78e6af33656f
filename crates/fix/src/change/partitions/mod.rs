//! Partitions begin elsewhere: on the first place that is on every boundary below and on a multiple of 1 MiB; where there is no
//! room for that, on the first that is on every boundary. They only ever move towards the end.

mod blocker;
mod places;
mod said;

use schemars::JsonSchema;
use serde::Serialize;
use straddle_geometry::{Bytes, Extent, Grid, Map, SectorSize, both_ways};
use straddle_rules::{RepairKind, is_idle};
use straddle_stack::{Fact, GridRole, Key, Layer, LayerId, LayerKind, Stack, Value};

use self::places::{Places, Room, Slot, pack};
use super::kind::{Kind, Proposal};
use crate::{How, Situation, situation};

pub(super) static KIND: Kind<Partitions> = Kind {
    name: "partitions",
    title: "where partitions begin",
    repair: RepairKind::Partitions,
    propose,
};

/// Type of the partition that Windows keeps on a GPT for itself: it holds nothing, and lies where it must.
pub(crate) const RESERVED: &str = "E3C9E316-0B5C-4DB8-817D-F92DF00215AE";

/// What a device of unknown size is taken for.
const ENDLESS: Bytes = Bytes::new(1 << 60);

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
    /// The extended partition of an MBR.
    pub extended: Option<Extended>,
}

/// The extended partition of an MBR, which holds the logical ones.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Extended {
    /// Its layer.
    pub layer: LayerId,
    /// Its number in the table.
    pub number: u64,
    /// Its type.
    pub kind: String,
    /// Where it lies.
    pub from: Extent,
    /// Where it will lie.
    pub to: Extent,
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
    /// True when the filesystem records where its partition begins: FAT and NTFS in bytes 28 to 31 of their first sector, exFAT
    /// in bytes 64 to 71.
    pub records_start: bool,
    /// What makes the filesystem shorter before the partition is; `null` when it need not be.
    pub resize: Option<Resize>,
}

/// What can make a filesystem shorter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Resize {
    /// `resize2fs`.
    Ext,
    /// `ntfsresize`.
    Ntfs,
}

impl Entry {
    /// True when something becomes of it.
    #[must_use]
    pub fn changes(&self) -> bool {
        self.from != self.to
    }

    /// True when it becomes shorter.
    #[must_use]
    pub fn shrinks(&self) -> bool {
        self.to.len() < self.from.len()
    }

    /// True for one in the extended partition of an MBR.
    #[must_use]
    pub fn is_logical(&self, table: &str) -> bool {
        table == "mbr" && self.number > 4
    }
}

fn propose(situation: &Situation<'_>, device: LayerId) -> Option<Proposal<Partitions>> {
    let base = situation.stack.layer(device);
    let partitions = situation.partitions(device);
    let table = said::table(base, &partitions)?;
    let is_off = |id: LayerId| situation.calls_for(id, KIND.repair);
    // What nothing reads in normal operation is moved along, and is no reason to move anything.
    let is_reason = |id: LayerId| is_off(id) && !is_idle(situation.stack.layer(id));
    if !partitions.iter().any(|(id, _)| is_reason(*id)) {
        return None;
    }
    let sector = sector(base);
    let size = situation
        .size(device)
        .or_else(|| said::size(base, &partitions));
    // Where nobody says how long it is, what is off is off all the same; only whether there is room behind is not known.
    let is_size_known = size.is_some();
    let size = size.unwrap_or(ENDLESS);
    let extended = partitions
        .iter()
        .find_map(|(id, layer)| Extended::of(*id, layer));
    let held: Vec<Held> = partitions
        .iter()
        .filter(|(_, layer)| layer.attribute(Key::HoldsPartitions).is_none())
        .filter_map(|(id, layer)| {
            let is_off = is_off(*id) && layer.text(Key::PartitionType) != Some(RESERVED);
            let runs_windows = said::runs_windows(base, (*id, layer), situation);
            let held = Held::of(situation.stack, *id, layer, is_off && !runs_windows)?;
            Some(Held {
                runs_windows,
                is_off_too: is_off && runs_windows,
                ..held
            })
        })
        .collect();
    let running: Vec<&Held> = held.iter().filter(|held| held.runs_windows).collect();
    let plan = Partitions {
        device,
        table: table.to_owned(),
        sector,
        entries: held.iter().map(|held| held.entry.clone()).collect(),
        extended,
    };
    let by_hand = |blockers| Some(by_hand(situation, plan.clone(), blockers));
    let blockers = blocker::of_table(situation, &plan, &partitions, size);
    if !blockers.is_empty() {
        return by_hand(blockers);
    }
    let Ok([needed, round]) = situation.starts(device) else {
        return by_hand(vec![
            "the grids below have no boundary in common: no start is right for all of them"
                .to_owned(),
        ]);
    };
    let room = Room {
        end: end(table, sector, size)?,
        sector,
        extended: plan.extended.as_ref().map(|extended| extended.from),
    };
    let slots: Vec<Slot> = held.iter().map(|held| held.slot(table)).collect();
    let moves = |places: &Places| {
        let mut both = slots.iter().zip(&places.to);
        both.any(|(slot, to)| slot.from != *to)
    };
    // Where no boundary is known but that of sectors, what is off a plausible one is on all that are needed.
    let stays = pack(&slots, needed, &room, false).is_some_and(|places| !moves(&places));
    let keeps = |places: &Places| {
        let mut both = held.iter().zip(&places.to);
        both.all(|(held, to)| !held.runs_windows || held.entry.from == *to)
    };
    let tries = [
        (round, false),
        (needed, false),
        (round, true),
        (needed, true),
    ];
    let mut packed = tries
        .into_iter()
        .filter_map(|(grid, cut)| pack(&slots, grid, &room, cut));
    let Some(places) = packed.find(|places| moves(places) && keeps(places)) else {
        // Of those that Windows runs from, the ones that are off; where others would have to pass one, that one.
        let off = running.iter().filter(|held| held.is_off_too || !stays);
        let off: Vec<String> = off.map(|held| runs_from(situation, held)).collect();
        if !off.is_empty() {
            return by_hand(off);
        }
        if stays {
            return None;
        }
        return by_hand(vec![
            "there is no room for it: make a partition smaller, or copy the data to a larger device".to_owned(),
        ]);
    };
    let left = running.iter().filter(|held| held.is_off_too);
    let left: Vec<String> = left.map(|held| runs_from(situation, held)).collect();
    let mut proposal = proposal(situation, &held, plan.placed(&held, places), needed);
    proposal.notes.extend(left);
    if !is_size_known {
        proposal.blockers.push(format!(
            "the size of {} is not known, and so not whether there is room for it: capture that as well",
            base.name
        ));
    }
    Some(proposal)
}

/// Why a partition that Windows runs from is not moved.
fn runs_from(situation: &Situation<'_>, held: &Held) -> String {
    format!(
        "{} is left where it is: Windows runs from it, or starts from it, and none of its tools deletes such a partition. It is repaired when \
         Windows is installed again, or by a program that moves it while another system runs",
        situation.stack.layer(held.entry.layer).name
    )
}

fn proposal(
    situation: &Situation<'_>,
    held: &[Held],
    plan: Partitions,
    needed: Grid,
) -> Proposal<Partitions> {
    let moved = plan.entries.iter().filter(|entry| entry.changes());
    let bytes = moved.clone().fold(Bytes::ZERO, |sum, entry| {
        sum.checked_add(entry.from.len()).unwrap_or(Bytes::MAX)
    });
    let how = situation.how_moved(plan.device, bytes);
    let mut arithmetic = Vec::new();
    let mut blockers = Vec::new();
    for entry in moved.clone() {
        let name = &situation.stack.layer(entry.layer).name;
        arithmetic.push(format!(
            "{name}: {} to {}",
            both_ways(entry.from.start()),
            both_ways(entry.to.start())
        ));
        if entry.shrinks() {
            let lost = entry.from.len().checked_sub(entry.to.len());
            let lost = lost.unwrap_or(Bytes::ZERO);
            arithmetic.push(format!(
                "{name}: no room behind it, so {} shorter: {}",
                both_ways(lost),
                both_ways(entry.to.len())
            ));
            if !matches!(how, How::Refill { .. }) {
                blockers.extend(blocker::of_shrinking(situation, entry, name));
            }
        }
    }
    if let Some(extended) = plan.extended.as_ref().filter(|e| e.from != e.to) {
        arithmetic.push(format!(
            "{}, the extended one: {} to {}, now {}",
            situation.stack.layer(extended.layer).name,
            both_ways(extended.from.start()),
            both_ways(extended.to.start()),
            both_ways(extended.to.len())
        ));
    }
    arithmetic.push(grids_line(situation, plan.device, needed));
    let pushed = held.iter().zip(&plan.entries);
    let pushed: Vec<&str> = pushed
        .filter(|(held, entry)| !held.is_off && entry.changes())
        .map(|(_, entry)| situation.stack.layer(entry.layer).name.as_str())
        .collect();
    if !pushed.is_empty() {
        arithmetic.push(format!(
            "only to make room for those before: {}",
            pushed.join(", ")
        ));
    }
    let what = moved.count();
    let (verb, to) = match how {
        How::Refill { .. } => ("make", "again where"),
        _ => ("move", "to where"),
    };
    Proposal {
        title: format!(
            "{verb} {what} partition{} of {} {to} the grids below have a boundary in common",
            if what == 1 { "" } else { "s" },
            situation.stack.layer(plan.device).name
        ),
        how,
        arithmetic,
        notes: match how {
            How::Refill { .. } => vec![recreated(situation)],
            _ => notes(situation, &plan),
        },
        blockers,
        change: plan,
    }
}

/// What is not given back to partitions that are deleted and re-created.
fn recreated(situation: &Situation<'_>) -> String {
    match situation::platform(situation.stack) {
        Some("esxi") => {
            "virtual machines are registered again when they have been copied back (vim-cmd solo/registervm)".to_owned()
        }
        Some("windows") => {
            "stop what uses the volumes first: services, databases, shares, the page file. The scripts give back letter or folder, label and \
              allocation unit; shares, shadow copies, permissions of the root folder and the volume's GUID are not given back. Windows \
              deletes no partition that it runs from: that waits for the next installation"
                .to_owned()
        }
        _ => "stop what uses the filesystems first, and unmount them. Copy owners, permissions and links of files as well; labels and entries of fstab are \
              recreated by hand. A system deletes no partition that it runs from: start another one from a medium"
            .to_owned(),
    }
}

fn notes(situation: &Situation<'_>, plan: &Partitions) -> Vec<String> {
    let mut notes = vec![
        "a boot loader that is on it must be installed again; Windows records the place of its boot volume (bcdedit, or bcdboot from \
         the recovery console)"
            .to_owned(),
    ];
    let moved = plan.entries.iter().filter(|entry| entry.changes());
    let mut above = moved.flat_map(|entry| situation.children(entry.layer));
    let runs = |kind| {
        matches!(
            kind,
            LayerKind::Array | LayerKind::Volume | LayerKind::Encryption
        )
    };
    if above.any(|(_, layer)| runs(layer.kind)) {
        notes.push(
            "what is on it is stopped first and started again afterwards: mdadm --stop and --assemble, vgchange -an and -ay, cryptsetup close \
             and open; `blockdev --rereadpt` before that, where the kernel did not take the new table"
                .to_owned(),
        );
    }
    notes
}

/// Where the last partition must have ended.
fn end(table: &str, sector: SectorSize, size: Bytes) -> Option<Bytes> {
    if table != "gpt" {
        let (sectors, _) = size.div_rem(sector.unit());
        return sector.sectors(sectors).bytes();
    }
    // A copy of the table lies at the end: as a rule 128 entries of 128 bytes, and a sector with the header.
    let entries = 16_384_u64.div_ceil(u64::from(sector.get()));
    let (sectors, _) = size.div_rem(sector.unit());
    let usable = sectors.checked_sub(entries.checked_add(1)?)?;
    sector.sectors(usable).bytes()
}

/// A partition, and whether it must go elsewhere.
struct Held {
    entry: Entry,
    is_off: bool,
    /// Whether Windows runs or starts from it, so that it stays.
    runs_windows: bool,
    /// Whether such a one is off a boundary.
    is_off_too: bool,
    /// How much of it what is on it needs; all of it when that is not known.
    fills: Bytes,
}

impl Held {
    fn of(stack: &Stack, id: LayerId, layer: &Layer, is_off: bool) -> Option<Held> {
        let from = layer.placement.as_ref()?.value;
        let from = match (from.is_empty(), said::shown(layer)) {
            (true, Some(len)) => Extent::new(from.start(), len)?,
            _ => from,
        };
        let number = number(layer)?;
        let above = stack.above(id).next().map(|above| stack.layer(above));
        let text = |layer: Option<&Layer>, key| layer.and_then(|l| l.text(key)).map(str::to_owned);
        let unit = above.and_then(|above| above.grid(GridRole::AllocationUnit));
        let records_start = above.is_some_and(|above| {
            let offset = above.bytes(Key::PartitionOffset);
            above.bytes(Key::HiddenSectors).is_some()
                || offset.is_some_and(|offset| offset.value != Bytes::ZERO)
        });
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
                resize: None,
            },
            is_off,
            runs_windows: false,
            is_off_too: false,
            fills: blocker::fills(above).unwrap_or(from.len()),
        })
    }

    fn slot(&self, table: &str) -> Slot {
        Slot {
            from: self.entry.from,
            is_off: self.is_off,
            is_logical: self.entry.is_logical(table),
        }
    }
}

impl Extended {
    fn of(id: LayerId, layer: &Layer) -> Option<Extended> {
        layer.attribute(Key::HoldsPartitions)?;
        let from = layer.placement.as_ref()?.value;
        let kind = layer.text(Key::PartitionType)?;
        Some(Extended {
            layer: id,
            number: number(layer)?,
            kind: kind.to_owned(),
            from,
            to: from,
        })
    }
}

fn number(layer: &Layer) -> Option<u64> {
    match layer.attribute(Key::PartitionNumber).map(|n| &n.value) {
        Some(Value::Count(number)) => Some(*number),
        _ => said::named_number(&layer.name),
    }
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

fn by_hand(
    situation: &Situation<'_>,
    plan: Partitions,
    blockers: Vec<String>,
) -> Proposal<Partitions> {
    Proposal {
        title: format!(
            "move partitions of {} to where the grids below have a boundary in common",
            situation.stack.layer(plan.device).name
        ),
        change: plan,
        how: How::ByHand,
        arithmetic: Vec::new(),
        notes: Vec::new(),
        blockers,
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
    /// The partitions of a device as they are, each to stay where it is. `None` where it has no table.
    #[must_use]
    pub fn at_rest(stack: &Stack, device: LayerId) -> Option<Partitions> {
        let base = stack.layer(device);
        let partitions = situation::partitions(stack, device);
        let held = partitions
            .iter()
            .filter(|(_, layer)| layer.attribute(Key::HoldsPartitions).is_none())
            .filter_map(|(id, layer)| Held::of(stack, *id, layer, false));
        Some(Partitions {
            device,
            table: said::table(base, &partitions)?.to_owned(),
            sector: sector(base),
            entries: held.map(|held| held.entry).collect(),
            extended: partitions
                .iter()
                .find_map(|(id, layer)| Extended::of(*id, layer)),
        })
    }

    /// The same with new places.
    fn placed(mut self, held: &[Held], places: Places) -> Partitions {
        for ((entry, held), to) in self.entries.iter_mut().zip(held).zip(places.to) {
            entry.to = to;
            if to.len() < entry.from.len() && held.fills > to.len() {
                entry.resize = match entry.filesystem.as_deref() {
                    Some("ext2" | "ext3" | "ext4") => Some(Resize::Ext),
                    Some("ntfs") => Some(Resize::Ntfs),
                    _ => None,
                };
            }
        }
        if let (Some(extended), Some(to)) = (&mut self.extended, places.extended) {
            extended.to = to;
        }
        self
    }

    pub(super) fn apply(&self, stack: &mut Stack) {
        if let Some(extended) = &self.extended {
            place(stack.layer_mut(extended.layer), extended.to, self.sector);
        }
        for entry in self.entries.iter().filter(|entry| entry.changes()) {
            let above: Vec<LayerId> = stack.above(entry.layer).collect();
            place(stack.layer_mut(entry.layer), entry.to, self.sector);
            for above in above {
                entry.apply_to_contents(stack.layer_mut(above), self.sector);
            }
        }
    }
}

impl Entry {
    /// What the script writes into the filesystem itself.
    fn apply_to_contents(&self, layer: &mut Layer, sector: SectorSize) {
        let start = self.to.start();
        let planned = |value| Fact::derived(Value::Bytes(value), "planned");
        // The field of FAT and NTFS has 32 bits; what does not fit is left as it is.
        let fits = u32::try_from(start.div_rem(sector.unit()).0).is_ok();
        if layer.attribute(Key::HiddenSectors).is_some() && fits {
            replace(layer, Key::HiddenSectors, planned(start));
        }
        let offset = layer.bytes(Key::PartitionOffset);
        if offset.is_some_and(|offset| offset.value != Bytes::ZERO) {
            replace(layer, Key::PartitionOffset, planned(start));
        }
        if self.resize.is_some() {
            layer.size = Some(Fact::derived(self.to.len(), "planned"));
            if layer.attribute(Key::ClaimedSize).is_some() {
                replace(layer, Key::ClaimedSize, planned(self.to.len()));
            }
        }
    }
}

/// Puts a partition elsewhere.
fn place(layer: &mut Layer, to: Extent, sector: SectorSize) {
    layer.map = Map::Linear { start: to.start() };
    layer.placement = Some(Fact::derived(to, "planned"));
    layer.size = Some(Fact::derived(to.len(), "planned"));
    let sectors = Value::Count(to.start().div_rem(sector.unit()).0);
    replace(layer, Key::StartSector, Fact::derived(sectors, "planned"));
    // What the kernel says of a start holds for the old one.
    layer
        .attributes
        .retain(|attribute| attribute.key != Key::AlignmentOffset);
}

fn replace(layer: &mut Layer, key: Key, value: Fact<Value>) {
    layer.attributes.retain(|attribute| attribute.key != key);
    layer.set(key, value);
}

#[cfg(test)]
mod tests;
