use straddle_geometry::{Bytes, Error, Grid, Unit};
use straddle_stack::{GridRole, Key, Layer, LayerId, LayerKind, SeenGrid, Stack, Trust, Value};

use crate::known_lies::is_plausible;
use crate::{Finding, Prices, Targets};

/// What the user asked for.
#[derive(Clone, Debug)]
pub struct Options {
    /// Request sizes to price; the worst of them decides the severity.
    pub io: Vec<Unit>,
    /// Findings in full. Without, rules may leave out evidence, arithmetic, notes and help that take long to write:
    /// code, severity, title and price remain. For thousands of targets that get a line each.
    pub in_full: bool,
    /// What latencies are compared with.
    pub targets: Targets,
    /// How many disks serve a volume, where nothing else says so.
    pub spindles: Option<u32>,
}

impl Default for Options {
    /// 4 KiB, 8 KiB and 64 KiB: filesystem block, database page, database extent.
    fn default() -> Options {
        Options {
            io: [4096, 8192, 65_536]
                .into_iter()
                .filter_map(Unit::new)
                .collect(),
            in_full: true,
            targets: Targets::default(),
            spindles: None,
        }
    }
}

/// A stack, and what every layer of it sees below, worked out once for all rules.
pub struct Context<'a> {
    /// The stack.
    pub stack: &'a Stack,
    /// What the user asked for.
    pub options: &'a Options,
    seen: Vec<Vec<SeenGrid<'a>>>,
}

impl<'a> Context<'a> {
    /// Prepares a stack for the rules.
    #[must_use]
    pub fn new(stack: &'a Stack, options: &'a Options) -> Context<'a> {
        Context {
            stack,
            options,
            seen: stack.all_grids_seen(),
        }
    }

    /// Every grid at or below `layer`, in its own addresses.
    #[must_use]
    pub fn seen(&self, layer: LayerId) -> &[SeenGrid<'a>] {
        self.seen.get(layer.index()).map_or(&[], Vec::as_slice)
    }

    /// The grids with this role strictly below `layer`, in its addresses; doubtful ones left out.
    pub fn below(&self, layer: LayerId, role: GridRole) -> impl Iterator<Item = &SeenGrid<'a>> {
        self.seen(layer)
            .iter()
            .filter(move |grid| grid.layer != layer && grid.role == role && is_believable(grid))
    }

    /// Layers of a kind.
    pub fn of_kind(&self, kind: LayerKind) -> impl Iterator<Item = (LayerId, &'a Layer)> {
        self.stack
            .iter()
            .filter(move |(_, layer)| layer.kind == kind)
    }

    /// Partitions that hold data: extended partitions, which only hold others, are left out.
    pub fn data_partitions(&self) -> impl Iterator<Item = (LayerId, &'a Layer)> {
        self.of_kind(LayerKind::Partition)
            .filter(|(_, layer)| !is_extended(layer))
    }

    /// What requests that start at byte 0 of `layer` pay on a grid it sees.
    #[must_use]
    pub fn prices(&self, grid: &SeenGrid<'_>) -> Prices {
        self.prices_from(grid, Bytes::ZERO)
    }

    /// What requests that start at byte `start` of the layer pay on a grid it sees.
    #[must_use]
    pub fn prices_from(&self, grid: &SeenGrid<'_>, start: Bytes) -> Prices {
        Prices::of(
            grid.role,
            grid.fact.value.unit(),
            &grid.seen,
            start,
            &self.options.io,
        )
    }

    /// The grids that something which begins on `base` should begin on, in its addresses: those that can be believed and are
    /// the same everywhere.
    pub fn start_grids(&self, base: LayerId) -> impl Iterator<Item = (GridRole, Grid)> {
        let known = self.seen(base).iter().filter(|grid| {
            is_believable(grid)
                && matches!(
                    grid.role,
                    GridRole::LogicalSector
                        | GridRole::PhysicalSector
                        | GridRole::IndirectionUnit
                        | GridRole::StripeUnit
                        | GridRole::FullStripe
                )
        });
        known.filter_map(|grid| match grid.seen {
            straddle_stack::Seen::Uniform(seen) => Some((grid.role, seen)),
            straddle_stack::Seen::Pieces(_) => None,
        })
    }

    /// The places on all of [`Self::start_grids`].
    ///
    /// # Errors
    /// When they have no boundary in common.
    pub fn start_grid(&self, base: LayerId) -> Result<Grid, Error> {
        Grid::intersect_all(self.start_grids(base).map(|(_, grid)| grid))
    }

    /// The first good start for something that now starts at `start` of `base`: on every boundary known there, on a
    /// multiple of 1 MiB if that can be had, and not before `start`.
    ///
    /// # Errors
    /// When the grids of `base` have no boundary in common.
    pub fn good_start(&self, base: LayerId, start: Bytes) -> Result<Bytes, Error> {
        let all = self.start_grid(base)?;
        // A multiple of 1 MiB as well is what every partitioner makes; where it contradicts the device, the device wins.
        let usual = all.intersect(Grid::new(Unit::MIB));
        usual.unwrap_or(all).first_at_or_after(start)
    }

    /// The disk whose partition table describes `partition`: the first layer below that is no partition itself. It is a disk,
    /// an array, a logical volume, a loop device or a virtual disk; what a partition or a boot sector records counts from
    /// it, wherever it lies in turn.
    #[must_use]
    pub fn disk_of(&self, partition: LayerId) -> Option<LayerId> {
        let mut here = self.stack.only_below(partition)?;
        while self.stack.layer(here).kind == LayerKind::Partition {
            here = self.stack.only_below(here)?;
        }
        Some(here)
    }

    /// The device at the bottom, when the layer rests on exactly one. What the table of an outer disk records counts from it;
    /// for what the table of an inner one records see [`Self::disk_of`].
    #[must_use]
    pub fn device_of(&self, layer: LayerId) -> Option<(LayerId, &'a Layer)> {
        let mut here = layer;
        while let Some(below) = self.stack.only_below(here) {
            here = below;
        }
        let found = self.stack.layer(here);
        (found.below.is_empty() && found.kind == LayerKind::Device).then_some((here, found))
    }
}

/// The system whose tools described what a layer rests on; empty for what was not captured as text.
#[must_use]
pub(crate) fn platform_of(stack: &Stack, layer: LayerId) -> &str {
    std::iter::once(layer)
        .chain(stack.foundations(layer))
        .find_map(|id| stack.layer(id).text(Key::Platform))
        .unwrap_or_default()
}

/// False for facts that nothing may be built on: doubtful ones, and values that contradict what they are called.
#[must_use]
pub(crate) fn is_believable(grid: &SeenGrid<'_>) -> bool {
    grid.fact.trust != Trust::Doubtful && is_plausible(grid.role, grid.fact.value.unit())
}

/// True for an MBR extended partition.
#[must_use]
pub(crate) fn is_extended(layer: &Layer) -> bool {
    layer.attribute(Key::HoldsPartitions).is_some()
}

/// Partitions that a boot loader or an installer writes once and nothing reads in normal operation; their start does not
/// matter for speed.
#[must_use]
pub fn is_idle(layer: &Layer) -> bool {
    const IDLE: [&str; 6] = [
        // BIOS boot, FreeBSD boot, Microsoft reserved, EFI system (GPT and MBR), and what ZFS keeps free behind its own partition.
        "21686148-6449-6E6F-744E-656564454649",
        "83BD6B9D-7F41-11DC-BE0B-001560B84F0F",
        "E3C9E316-0B5C-4DB8-817D-F92DF00215AE",
        "C12A7328-F81F-11D2-BA4B-00A0C93EC93B",
        "6A945A3B-1DD2-11B2-99A6-080020736631",
        "ef",
    ];
    match layer.text(Key::PartitionType) {
        Some(kind) => IDLE.iter().any(|idle| idle.eq_ignore_ascii_case(kind)),
        None => is_reserved_by_windows(layer),
    }
}

/// Whether a partition of unknown type lies where Windows before version 10 put the Microsoft reserved one: from sector 34 to 16 or
/// 128 MiB. `Get-Partition` prints the type only when it is asked for.
fn is_reserved_by_windows(layer: &Layer) -> bool {
    const START: u64 = 34 * 512;
    const ENDS: [u64; 2] = [16 << 20, 128 << 20];
    let start = layer
        .placement
        .as_ref()
        .map(|fact| fact.value.start().get());
    let size = layer.size.as_ref().map(|fact| fact.value.get());
    start == Some(START) && size.is_some_and(|size| ENDS.contains(&(START + size)))
}

/// The start sector as the table records it, if it does.
#[must_use]
pub(crate) fn start_sector(layer: &Layer) -> Option<u64> {
    match layer.attribute(Key::StartSector)?.value {
        Value::Count(n) => Some(n),
        _ => None,
    }
}

/// Where findings go.
pub(crate) type Findings = Vec<Finding>;
