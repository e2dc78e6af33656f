//! A filesystem is re-created, with an allocation unit, sectors and a first cluster that fit what lies below. Its files have to be
//! copied away and back.

use schemars::JsonSchema;
use serde::Serialize;
use straddle_geometry::{Bytes, Grid, Unit, both_ways};
use straddle_rules::{Code, RepairKind, codes, division};
use straddle_stack::{Fact, GridRole, Key, Layer, LayerId, LayerKind, Seen, Stack, Value};

use super::hints;
use super::kind::{Kind, Proposal};
use crate::{How, Situation};

pub(super) static KIND: Kind<Filesystem> = Kind {
    name: "filesystem",
    title: "allocation unit, sectors and first cluster of a filesystem that is re-created",
    repair: RepairKind::Filesystem,
    propose,
};

/// Filesystems that are made by the same tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// ext2, ext3, ext4.
    Ext,
    /// XFS.
    Xfs,
    /// btrfs on one device.
    Btrfs,
    /// NTFS.
    Ntfs,
    /// FAT12, FAT16, FAT32.
    Fat,
    /// exFAT.
    Exfat,
}

impl Family {
    /// The family of a layer's format.
    #[must_use]
    pub fn of(layer: &Layer) -> Option<Family> {
        let format = layer.format.as_deref()?;
        let starts = |with: &str| format.starts_with(with);
        Some(match format {
            "xfs" => Family::Xfs,
            "btrfs" => Family::Btrfs,
            "ntfs" => Family::Ntfs,
            "exfat" => Family::Exfat,
            _ if starts("ext") => Family::Ext,
            _ if starts("fat") || format == "vfat" => Family::Fat,
            _ => return None,
        })
    }

    /// The smallest and the largest allocation unit that is chosen unless the user asks for one. Linux does not mount ext, XFS
    /// (before 6.12) and btrfs with blocks above the processor's page, which is 4 KiB on most; FAT above 32 KiB is not portable.
    const fn limits(self) -> (u64, u64) {
        match self {
            Family::Ext | Family::Xfs => (1024, 4096),
            Family::Btrfs => (4096, 4096),
            Family::Ntfs | Family::Exfat => (512, 65_536),
            Family::Fat => (512, 32_768),
        }
    }

    /// Whether it has no place for an array's stripe, so that only large clusters help.
    const fn cannot_be_told(self) -> bool {
        matches!(self, Family::Ntfs | Family::Fat | Family::Exfat)
    }
}

/// How a filesystem is to be made.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Filesystem {
    /// The filesystem.
    pub layer: LayerId,
    /// What it lies on.
    pub device: LayerId,
    /// What makes it.
    pub family: Family,
    /// Its format: `ext4`, `fat32`.
    pub format: String,
    /// What it is called by its users.
    pub label: Option<String>,
    /// What it allocates at once.
    pub allocation_unit: Bytes,
    /// Its sector, where it has one of its own.
    pub sector: Option<Bytes>,
    /// Stripe unit that it is told; 0 for none.
    pub stripe_unit: Bytes,
    /// Full stripe that it is told; 0 for none.
    pub full_stripe: Bytes,
    /// What the first cluster lies on a multiple of; FAT and exFAT.
    pub heap_unit: Option<Bytes>,
    /// Where the first cluster will lie at the earliest.
    pub heap: Option<Bytes>,
    /// Where its partition begins, for formats that record that.
    pub start: Bytes,
}

/// What is to be made of a filesystem; `None` when that cures nothing.
pub(super) fn propose(situation: &Situation<'_>, id: LayerId) -> Option<Proposal<Filesystem>> {
    let layer = situation.stack.layer(id);
    let family = Family::of(layer).filter(|_| layer.kind == LayerKind::Filesystem)?;
    let device = situation.stack.only_below(id)?;
    let found = |code: Code| situation.found(id, code);
    if !situation.calls_for(id, KIND.repair) {
        return None;
    }
    let old = layer.grid(GridRole::AllocationUnit)?.value.unit();
    let size = situation.size(id).or_else(|| situation.size(device))?;
    let physical = units(situation, id, GridRole::PhysicalSector).max();
    let unit = allocation_unit(situation, id, family, (old, size), physical)?;
    let sector = sector(layer, family, unit, physical);
    let (stripe_unit, full_stripe) = match family {
        Family::Ext | Family::Xfs => hints::known(situation, id, block(family, unit)),
        _ => (Bytes::ZERO, Bytes::ZERO),
    };
    let heap_unit = heap_unit(situation, id, layer, unit);
    let heap = heap_unit.and_then(|heap_unit| {
        let from = layer.bytes(Key::ClusterHeapOffset)?.value;
        Grid::new(heap_unit).first_at_or_after(from).ok()
    });
    let has_reason = unit != old
        || found(codes::CLUSTER_HEAP)
            && heap != layer.bytes(Key::ClusterHeapOffset).map(|fact| fact.value)
        || found(codes::XFS_SECTOR);
    // Files that begin at any cluster still straddle where a cluster is smaller than both the stripe unit and a request.
    let only_begins = KIND
        .repair
        .codes()
        .all(|code| code == codes::FILE_LATTICE || !found(code));
    let largest = situation.ask.options.io.iter().max();
    let still = units(situation, id, GridRole::StripeUnit)
        .any(|stripe| unit < stripe && largest.is_some_and(|largest| unit < *largest));
    let in_vain = only_begins && still && situation.ask.allocation_unit.is_none();
    if !has_reason || in_vain {
        return None;
    }
    let start = situation.stack.layer(device).placement.as_ref();
    let filesystem = Filesystem {
        layer: id,
        device,
        family,
        format: layer.format.as_deref().unwrap_or_default().to_owned(),
        label: layer.text(Key::Label).map(str::to_owned),
        allocation_unit: unit.bytes(),
        sector,
        stripe_unit,
        full_stripe,
        heap_unit: heap_unit.map(Unit::bytes),
        heap,
        start: start.map_or(Bytes::ZERO, |start| start.value.start()),
    };
    let mut blockers = Vec::new();
    // xfsprogs 5.19 and later make none that is smaller.
    if family == Family::Xfs && size < Bytes::mib(300) {
        blockers.push(format!(
            "mkfs.xfs makes no filesystem below 300 MiB, and this has {}; ext4 would do",
            size.rounded()
        ));
    }
    Some(Proposal {
        title: format!(
            "make {} again with {}",
            layer.name,
            filesystem.what_for(old)
        ),
        how: How::Refill { bytes: size },
        arithmetic: filesystem.arithmetic(situation, id, old),
        notes: filesystem.notes(),
        blockers,
        change: filesystem,
    })
}

fn units<'a>(
    situation: &'a Situation<'_>,
    id: LayerId,
    role: GridRole,
) -> impl Iterator<Item = Unit> + 'a {
    let grids = situation.context.below(id, role);
    grids.map(|grid| grid.fact.value.unit())
}

/// The largest power of two that is wanted, permitted, and divides each stripe unit below.
fn allocation_unit(
    situation: &Situation<'_>,
    id: LayerId,
    family: Family,
    (old, size): (Unit, Bytes),
    physical: Option<Unit>,
) -> Option<Unit> {
    if let Some(asked) = situation.ask.allocation_unit {
        let fits =
            asked.get().is_power_of_two() && (family.limits().0..=65_536).contains(&asked.get());
        return fits.then_some(asked);
    }
    let found = |code: Code| situation.found(id, code);
    let (least, most) = family.limits();
    let mut wanted = old.get();
    if found(codes::BLOCK_SMALLER_THAN_SECTOR) {
        wanted = wanted.max(physical?.get());
    }
    if found(codes::FILE_LATTICE) && family.cannot_be_told() {
        wanted = wanted.max(65_536);
    }
    // One that is there already may be larger than what would be chosen.
    wanted = wanted.min(most.max(old.get()));
    let fits = |unit: u64| {
        let divides = units(situation, id, GridRole::StripeUnit)
            .all(|stripe| stripe.get().is_multiple_of(unit));
        // FAT knows its variant by the number of its clusters.
        let clusters = size.get().checked_div(unit).unwrap_or(0);
        let format = situation.stack.layer(id).format.as_deref();
        let enough = match format {
            _ if unit <= old.get() => true,
            Some("fat32") => clusters > 66_000,
            Some("fat16") => clusters > 4_400,
            _ => true,
        };
        divides && enough
    };
    let mut unit = 1_u64 << (63 - wanted.leading_zeros());
    while unit >= least {
        if fits(unit) {
            return Unit::new(unit);
        }
        unit /= 2;
    }
    None
}

/// The block of a filesystem with such an allocation unit: ext has clusters of several blocks above 4 KiB.
fn block(family: Family, unit: Unit) -> Unit {
    match family {
        Family::Ext => unit.min(Unit::B4096),
        _ => unit,
    }
}

fn sector(layer: &Layer, family: Family, unit: Unit, physical: Option<Unit>) -> Option<Bytes> {
    let old = layer.bytes(Key::SectorSize).map(|fact| fact.value);
    match family {
        Family::Xfs => {
            let physical = physical.map_or(Bytes::ZERO, |physical| physical.min(unit).bytes());
            old.map(|old| old.max(physical).min(Bytes::kib(32)))
        }
        Family::Btrfs => Some(unit.bytes()),
        Family::Ext => None,
        Family::Ntfs | Family::Fat | Family::Exfat => old,
    }
}

/// What the first cluster should lie on: everything below that the volume itself begins on.
fn heap_unit(situation: &Situation<'_>, id: LayerId, layer: &Layer, unit: Unit) -> Option<Unit> {
    layer.bytes(Key::ClusterHeapOffset)?;
    let roles = [
        GridRole::PhysicalSector,
        GridRole::IndirectionUnit,
        GridRole::StripeUnit,
    ];
    let mut all = Grid::new(unit);
    for grid in roles
        .into_iter()
        .flat_map(|role| situation.context.below(id, role))
    {
        if let Seen::Uniform(seen) = grid.seen
            && seen.contains(Bytes::ZERO)
        {
            all = all.intersect(Grid::new(seen.unit())).unwrap_or(all);
        }
    }
    Some(all.unit())
}

impl Filesystem {
    /// Its block: what it counts in, where that is not its allocation unit.
    #[must_use]
    pub fn block(&self) -> Bytes {
        match self.family {
            Family::Ext => self.allocation_unit.min(Bytes::new(4096)),
            _ => self.allocation_unit,
        }
    }

    /// What is different about the new one, the most important of it.
    fn what_for(&self, old: Unit) -> String {
        let (unit, rounded) = (self.allocation_unit, self.allocation_unit.rounded());
        match (self.sector, self.heap_unit) {
            _ if unit != old.bytes() => format!("an allocation unit of {rounded}"),
            (Some(sector), _) if self.family == Family::Xfs => {
                format!(
                    "log sectors of {} (its blocks stay {rounded})",
                    sector.rounded()
                )
            }
            (_, Some(every)) => format!(
                "its first cluster on a multiple of {} (clusters stay {rounded})",
                every.rounded()
            ),
            _ => format!("an allocation unit of {rounded}"),
        }
    }

    fn arithmetic(&self, situation: &Situation<'_>, id: LayerId, old: Unit) -> Vec<String> {
        let mut lines = vec![match old.bytes() == self.allocation_unit {
            true => format!("allocation unit: it stays {}", both_ways(old.bytes())),
            false => format!(
                "allocation unit: {} to {}",
                both_ways(old.bytes()),
                both_ways(self.allocation_unit)
            ),
        }];
        let Ok(unit) = Unit::try_from(self.allocation_unit) else {
            return lines;
        };
        for stripe in units(situation, id, GridRole::StripeUnit) {
            lines.push(format!(
                "stripe unit: {}",
                division(stripe.bytes(), Grid::new(unit))
            ));
        }
        for sector in units(situation, id, GridRole::PhysicalSector) {
            lines.push(format!(
                "on physical sectors: {}",
                division(self.allocation_unit, Grid::new(sector))
            ));
        }
        if let (Family::Xfs, Some(sector)) = (self.family, self.sector) {
            lines.push(format!("sectors of its log: {}", both_ways(sector)));
        }
        if self.stripe_unit > Bytes::ZERO {
            lines.push(format!(
                "told: stripe unit {}, full stripe {}",
                both_ways(self.stripe_unit),
                both_ways(self.full_stripe)
            ));
        }
        if let (Some(every), Some(heap)) = (self.heap_unit, self.heap) {
            lines.push(format!(
                "first cluster on a multiple of {}: at {} or later",
                both_ways(every),
                both_ways(heap)
            ));
        }
        lines
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = vec![format!(
            "files of {} come back from a backup; label and identifier are kept, other options of the old filesystem are those that its tool \
             chooses today",
            self.format
        )];
        if self.allocation_unit > Bytes::new(4096) {
            match self.family {
                Family::Ext => notes.push(
                    "ext4 allocates more than 4 KiB at once by bigalloc, which small files pay with space".to_owned(),
                ),
                Family::Xfs => notes.push(
                    "Linux mounts XFS with blocks above the processor's page from 6.12 on".to_owned(),
                ),
                Family::Btrfs => notes.push(
                    "Linux mounts btrfs with such sectors only where the processor's page is not smaller".to_owned(),
                ),
                Family::Ntfs => notes.push(
                    "NTFS does not compress files with an allocation unit above 4 KiB, and small files take more space".to_owned(),
                ),
                Family::Fat | Family::Exfat => {}
            }
        }
        notes
    }

    pub(super) fn apply(&self, stack: &mut Stack) {
        let layer = stack.layer_mut(self.layer);
        let Ok(unit) = Unit::try_from(self.allocation_unit) else {
            return;
        };
        let phase = self.heap.map_or(Bytes::ZERO, |heap| heap.div_rem(unit).1);
        layer
            .grids
            .retain(|grid| grid.role != GridRole::AllocationUnit);
        let grid = Grid::with_phase(unit, phase);
        layer.add_grid(GridRole::AllocationUnit, Fact::derived(grid, "planned"));
        record(layer, Key::BlockSize, self.block());
        record(
            layer,
            Key::ClusterSize,
            match self.family {
                Family::Ext if self.block() < self.allocation_unit => self.allocation_unit,
                _ => Bytes::ZERO,
            },
        );
        record(layer, Key::FsStripeUnit, self.stripe_unit);
        record(layer, Key::FsFullStripe, self.full_stripe);
        if let Some(sector) = self.sector {
            record(layer, Key::SectorSize, sector);
        }
        if let Some(heap) = self.heap {
            record(layer, Key::ClusterHeapOffset, heap);
        }
        if self.family == Family::Xfs {
            // mkfs.xfs takes 32 KiB where the stripe unit is larger than a log buffer.
            layer
                .attributes
                .retain(|attribute| attribute.key != Key::LogStripeUnit);
        }
    }
}

/// Puts a planned number of bytes in the place of what was read; 0 stands for none.
pub(super) fn record(layer: &mut Layer, key: Key, bytes: Bytes) {
    layer.attributes.retain(|attribute| attribute.key != key);
    if bytes > Bytes::ZERO {
        layer.set(key, Fact::derived(Value::Bytes(bytes), "planned"));
    }
}
