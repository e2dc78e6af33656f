//! What is wrong with a place, in words.

use std::collections::BTreeMap;
use straddle_geometry::{Bytes, Extent, Map, Ratio, Unit, both_ways, gcd};
use straddle_stack::{AnomalyKind, LayerKind, SeenGrid};

use super::base::{Base, MAX_SKIPPED};
use super::ground::{Look, Stretch};
use super::{Ground, Region, Spacing, Wanted};
use crate::validity::{Warning, WarningKind};

/// Shares of costs, bytes and requests below this one, 1%, are not worth a warning: no experiment tells them from noise.
fn worth_saying() -> Ratio {
    Ratio::new(1, 100).unwrap_or(Ratio::ONE)
}

/// Nothing is known of the layers below.
pub(super) fn unknown(ground: Option<Ground<'_>>) -> Warning {
    let reason = match ground {
        None => "no stack of storage layers is known for it".to_owned(),
        Some(ground) => {
            let layer = ground.stack.layer(ground.layer);
            let mut anomalies = layer.anomalies.iter();
            let missing = anomalies.find(|anomaly| anomaly.kind == AnomalyKind::Missing);
            let detail = missing.map_or("no layer below says what its units are", |o| &o.detail);
            format!("{}: {detail}", layer.name)
        }
    };
    Warning {
        kind: WarningKind::StackUnknown,
        cause: format!(
            "Nothing is known of the layers below the target ({reason}). Offsets are counted from its first byte, and which of them stand alike is not known."
        ),
        advice: "Measure on a file of a filesystem that lies on a block device of this machine (ext4, XFS), or on a device itself (--destroy-data); \
                 `straddle check` on the target says what is missing. Where the stripe unit is known from the array's own tools, state it with --stripe-unit."
            .to_owned(),
    }
}

/// A place and what it was found from.
pub(super) struct Scene<'a> {
    pub(super) ground: Option<Ground<'a>>,
    pub(super) grids: &'a [SeenGrid<'a>],
    pub(super) looks: &'a [Look],
    pub(super) costs: &'a [Ratio],
    pub(super) stretches: &'a [Stretch],
    pub(super) wanted: &'a Wanted<'a>,
    pub(super) region: Region,
}

impl Scene<'_> {
    /// Grids of which offset 0 is not on a boundary, and that could matter.
    pub(super) fn misplaced(&self, base: &Base) -> Option<Warning> {
        let placeable: Vec<&SeenGrid<'_>> = self.placeable();
        let off: Vec<String> = base
            .left_out
            .iter()
            .filter(|look| self.matters(**look))
            .filter_map(|look| {
                let grid = self.looks.get(*look)?.at(base.at)?;
                let behind = grid.remainder(base.at);
                let differs = self.differs(grid.unit(), behind);
                differs.then_some(())?;
                Some(format!(
                    "{} behind a boundary of the {}, where being off costs up to {}",
                    both_ways(behind),
                    self.name(placeable.get(*look)?),
                    self.costs.get(*look)?
                ))
            })
            .collect();
        if off.is_empty() {
            return None;
        }
        Some(Warning {
            kind: WarningKind::Misplaced,
            cause: format!(
                "No place within {} of the target lies on every known grid at once. Offset 0 stands for byte {} of it, which lies {}: there an offset does \
                 not stand as a partition at that offset of a disk would.",
                MAX_SKIPPED,
                base.at.grouped(),
                off.join("; and "),
            ),
            advice: "Read the standings of each offset beside its figures, they are of the true place. To measure what a partition would get, take a device \
                     itself (--destroy-data), or a filesystem in a partition that `straddle check` finds nothing wrong with."
                .to_owned(),
        })
    }

    /// Pieces that stand differently, or are so short that requests are cut where they end.
    pub(super) fn fragmented(&self) -> Option<Warning> {
        let window = self.window()?;
        let pieces = self.pieces_in(window);
        let mut facts = Vec::new();
        for (index, grid) in self.placeable().into_iter().enumerate() {
            if self.matters(index)
                && let Some(shares) = self.shares(index, window)
            {
                facts.push(format!("on the {} {shares}", self.name(grid)));
            }
        }
        if let Some((cut, size)) = self.cut_requests(&pieces) {
            facts.push(format!(
                "{cut} of its requests of {size} are cut where a piece ends"
            ));
        }
        if facts.is_empty() {
            return None;
        }
        let in_window = |stretch: &&Stretch| stretch.extent.overlaps(window);
        let count = pieces
            .len()
            .max(self.stretches.iter().filter(in_window).count());
        let is_file = self
            .ground
            .is_some_and(|ground| ground.stack.layer(ground.layer).kind == LayerKind::File);
        Some(Warning {
            kind: WarningKind::Fragmented,
            cause: format!(
                "The target lies in {} pieces within the {} that are measured on: {}. Every figure is a mixture of these, so differences between offsets look smaller than they are.",
                Bytes::new(u64::try_from(count).unwrap_or(u64::MAX)).grouped(),
                window.len().rounded(),
                facts.join("; "),
            ),
            advice: if is_file {
                "Re-create the file on an emptier filesystem, all of its space in one go (`fallocate -l SIZE FILE`; `filefrag -v FILE` shows the pieces), ask for a \
                 smaller span, or measure on a device itself (--destroy-data)."
            } else {
                "Ask for a span that fits into one of its segments (`straddle check` on the device shows them), or put the volume together first (`pvmove`, or a new \
                 volume with --contiguous y)."
            }
            .to_owned(),
        })
    }

    /// Everything that requests of any offset touch.
    fn window(&self) -> Option<Extent> {
        let largest = self.wanted.offsets.iter().map(|o| o.bytes).max()?;
        Extent::new(self.region.base, largest.checked_add(self.region.len)?)
    }

    /// The grids that have a look, in the order of the looks.
    fn placeable(&self) -> Vec<&SeenGrid<'_>> {
        let grids = self.grids.iter();
        grids.filter(|grid| Look::of(grid).is_some()).collect()
    }

    /// `4 KiB physical sector of sda`.
    fn name(&self, grid: &SeenGrid<'_>) -> String {
        let layer = self.ground.map_or("the stack", |ground| {
            ground.stack.layer(grid.layer).name.as_str()
        });
        format!("{} {} of {layer}", grid.fact.value.unit(), grid.role.name())
    }

    /// Whether being off a grid costs enough to be seen.
    fn matters(&self, look: usize) -> bool {
        self.costs
            .get(look)
            .is_some_and(|cost| *cost >= worth_saying())
    }

    /// Whether a shift by so many bytes changes how some request meets a unit.
    fn differs(&self, unit: Unit, shift: Bytes) -> bool {
        let mut requests = self.wanted.requests.iter();
        requests.any(|request| {
            let alike = gcd(unit.get(), request.step().get());
            !shift.get().is_multiple_of(alike)
        })
    }

    /// How the parts of `window` stand on one grid; `None` when all stand alike.
    fn shares(&self, look: usize, window: Extent) -> Option<String> {
        let mut by_phase: BTreeMap<Bytes, u64> = BTreeMap::new();
        let first = self
            .stretches
            .partition_point(|stretch| stretch.extent.end() <= window.start());
        for stretch in &self.stretches[first..] {
            if stretch.extent.start() >= window.end() {
                break;
            }
            let Some(grid) = stretch.grids.get(look).copied().flatten() else {
                continue;
            };
            let start = stretch.extent.start().max(window.start()).get();
            let end = stretch.extent.end().min(window.end()).get();
            *by_phase.entry(grid.remainder(window.start())).or_insert(0) += end - start;
        }
        let unit = self.looks.get(look)?.unit;
        let (most, _) = by_phase.iter().max_by_key(|(_, bytes)| **bytes)?;
        let shift = |phase: &Bytes| Bytes::new(phase.get().abs_diff(most.get()));
        let all: u64 = by_phase.values().sum();
        let differing = by_phase
            .iter()
            .filter(|(phase, _)| self.differs(unit, shift(phase)));
        if Ratio::new(differing.map(|(_, bytes)| *bytes).sum(), all)? < worth_saying() {
            return None;
        }
        let mut shares: Vec<(Bytes, u64)> = by_phase.into_iter().collect();
        shares.sort_by_key(|(phase, bytes)| (std::cmp::Reverse(*bytes), *phase));
        let count = shares.len();
        let shown = shares
            .into_iter()
            .take(MAX_SHARES)
            .filter_map(|(phase, bytes)| {
                let share = Ratio::new(bytes, all)?;
                let place = if phase == Bytes::ZERO {
                    "on a boundary".to_owned()
                } else {
                    format!("{phase} behind one")
                };
                Some(format!("{share} stands {place}"))
            });
        let mut text = shown.collect::<Vec<_>>().join(", ");
        if count > MAX_SHARES {
            text.push_str(&format!(
                ", the rest at {} other places",
                count - MAX_SHARES
            ));
        }
        Some(text)
    }

    /// The parts of `window` that are in one piece on what lies right below the file.
    fn pieces_in(&self, window: Extent) -> Vec<Extent> {
        let Some(ground) = self.ground else {
            return vec![window];
        };
        let layer = ground.stack.layer(ground.layer);
        let segments = match &layer.map {
            Map::Segments(segments) if layer.kind == LayerKind::File => segments,
            _ => return vec![window],
        };
        let from = segments.partition_point(|piece| piece.upper.end() <= window.start());
        segments[from..]
            .iter()
            .take_while(|piece| piece.upper.start() < window.end())
            .map(|piece| piece.upper)
            .collect()
    }

    /// The largest share of requests of one size, at the first offset, that do not lie in one of `pieces`; `None` when it is too
    /// small to be seen.
    fn cut_requests(&self, pieces: &[Extent]) -> Option<(Ratio, Unit)> {
        let start = self.wanted.offsets.first()?.bytes;
        let region = self.region.at(start)?;
        let share = |spacing: &Spacing| {
            let (size, step) = (spacing.size, spacing.step());
            // Two ends in one request cut it once.
            let mut last = None;
            let mut count = 0_u64;
            for end in pieces.iter().map(|piece| piece.end()) {
                if end <= region.start() || end >= region.end() {
                    continue;
                }
                let (request, behind) = end.checked_sub(region.start())?.div_rem(step);
                let cut = behind > Bytes::ZERO && behind < size.bytes();
                if cut && last.replace(request) != Some(request) {
                    count += 1;
                }
            }
            Some((Ratio::new(count, region.len().div_rem(step).0)?, size))
        };
        let worst = self.wanted.requests.iter().filter_map(share).max()?;
        (worst.0 >= worth_saying()).then_some(worst)
    }
}

/// Most places that are named one by one.
const MAX_SHARES: usize = 4;
